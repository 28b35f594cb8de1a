//! The system variables that a function's body names, checked when the function is created: one
//! that there is not is error 1193, and `autocommit` is not to be set (1445), whether the function
//! ever comes to the statement or not.

use super::{Action, Routine};
use crate::variables::{self, ids};
use datum::error::{self, Result, SqlError};
use syntax::ast::visit::{self, Visitor};
use syntax::ast::{Expr, ExprKind, IntoTarget, IntoVariable, Query, SetItem, StatementKind, VariableName};

impl Routine {
    /// Errors 1193, 1327 and 1445.
    pub(crate) fn check_variables(&self) -> Result<()> {
        for (at, action) in self.code.iter().enumerate() {
            let mut names = Names { routine: self, at, wrong: None };
            match action {
                Action::Statement(statement) => self.check_statement(&statement.kind, &mut names)?,
                Action::Assign(_, Some(expr)) => names.expr(expr),
                Action::JumpUnless(expr, _) | Action::Return(expr) => names.expr(expr),
                Action::DeclareCursor(_, query) => self.check_statement(&query.kind, &mut names)?,
                _ => {}
            }
            names.wrong.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    fn check_statement(&self, kind: &StatementKind, names: &mut Names<'_>) -> Result<()> {
        use StatementKind as S;
        match kind {
            S::Query(query) => names.query(query),
            S::Insert(insert) => visit::walk_insert(names, insert),
            S::Update(update) => visit::walk_update(names, update),
            S::Delete(delete) => visit::walk_delete(names, delete),
            S::Do(list) => list.iter().for_each(|expr| names.expr(expr)),
            S::Set(items) => {
                for item in items {
                    self.check_item(item, names)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn check_item(&self, item: &SetItem, names: &mut Names<'_>) -> Result<()> {
        match item {
            SetItem::Variable { scope, name, value } => {
                let is_local = scope.is_none()
                    && name.component.is_none()
                    && self.variables.find(&name.name, names.at).is_some();
                // SET PASSWORD would commit.
                let may_set = self.kind == super::ProgramKind::Procedure;
                if !is_local && !may_set && (name.name.is("password") || find(name)? == ids::AUTOCOMMIT) {
                    return Err(error::SP_CANT_SET_AUTOCOMMIT.plain());
                }
                if !is_local && may_set && !name.name.is("password") {
                    find(name)?;
                }
                value.iter().for_each(|value| names.expr(value));
            }
            SetItem::UserVariable { value, .. } => names.expr(value),
            SetItem::Password { .. } if self.kind == super::ProgramKind::Procedure => {}
            SetItem::Password { .. } => return Err(error::SP_CANT_SET_AUTOCOMMIT.plain()),
            SetItem::Names { .. }
            | SetItem::CharacterSet(_)
            | SetItem::Transaction { .. }
            | SetItem::ResourceGroup(_) => {}
        }
        Ok(())
    }
}

/// What an instruction names.
struct Names<'r> {
    routine: &'r Routine,
    at: usize,
    /// The first that there is not.
    wrong: Option<SqlError>,
}

impl<'a> Visitor<'a> for Names<'_> {
    fn query(&mut self, query: &'a Query) {
        if let Some(IntoTarget::Variables(list)) = query.into.as_deref() {
            for variable in list {
                if let IntoVariable::Local(name) = variable
                    && self.routine.variables.find(name, self.at).is_none()
                {
                    self.wrong.get_or_insert_with(|| error::SP_UNDECLARED_VAR.with(&[name]));
                }
            }
        }
        visit::walk_query(self, query);
    }

    fn expr(&mut self, expr: &'a Expr) {
        if let ExprKind::SystemVariable(variable) = &expr.kind
            && let Err(e) = find(&variable.name)
        {
            self.wrong.get_or_insert(e);
        }
        visit::walk_expr(self, expr);
    }
}

fn find(name: &VariableName) -> Result<variables::VariableId> {
    let shown = match &name.component {
        None => match variables::find(&name.name) {
            Some(id) => return Ok(id),
            None => name.name.to_string(),
        },
        Some(component) => format!("{component}.{}", name.name),
    };
    Err(error::UNKNOWN_SYSTEM_VARIABLE.with(&[&shown]))
}
