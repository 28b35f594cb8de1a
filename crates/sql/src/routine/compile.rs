//! From a function's text to instructions.

use std::sync::Arc;

use super::trigger::{RowColumn, Subject};
use super::variables::Variables;
use super::{Action, ProgramKind, Routine};
use crate::catalog::{FunctionDef, parse_one};
use datum::bounds::Ticker;
use datum::error::{self, Result, SqlError};
use datum::types::{Collation, DataType};
use syntax::ast::{
    self, Block, Compound, Declaration, Expr, ExprKind, Ident, Remarks, SetItem, Span, SqlSecurity,
    Statement, StatementKind, VariableName,
};

impl Routine {
    /// Compiles a function; errors are those that CREATE FUNCTION gives.
    pub(crate) fn compile(function: &FunctionDef) -> Result<Routine> {
        let text = function.text();
        let statement = parse_one(&text, function.sql_mode)?;
        let StatementKind::CreateRoutine(create) = statement.kind else {
            return Err(SqlError::internal("a function's text makes no function"));
        };
        let default = function.database_collation;
        let returns =
            create.returns.as_ref().ok_or_else(|| SqlError::internal("a function without RETURNS"))?;
        let returns = DataType::resolve(returns, &function.name, default)?;
        let mut compiler = Compiler::new(default, ProgramKind::Function);
        for parameter in &create.parameters {
            if compiler.variables.find(&parameter.name, 0).is_some() {
                return Err(error::SP_DUP_PARAM.with(&[&parameter.name]));
            }
            let ty = DataType::resolve(&parameter.ty, &parameter.name, default)?;
            compiler.declare(&parameter.name, ty)?;
        }
        let parameters = compiler.variables.len();
        compiler.statement(create.body)?;
        if !compiler.returns {
            return Err(error::SP_NORETURN.with(&[&function.name]));
        }
        let (variables, row_columns, code) = compiler.into_parts();
        Ok(Routine {
            kind: ProgramKind::Function,
            name: function.name.clone(),
            database: function.database.clone(),
            parameters,
            returns: Some(returns),
            row_columns,
            variables: Arc::new(variables),
            code,
            text,
            sql_mode: function.sql_mode,
            definer: (function.characteristics.security != Some(SqlSecurity::Invoker))
                .then(|| function.definer.clone()),
            connection: function.connection,
        })
    }
}

pub(super) struct Compiler<'a> {
    kind: ProgramKind,
    default: Collation,
    code: Vec<Action>,
    pub(super) variables: Variables,
    /// The trigger, if it is one.
    pub(super) subject: Option<Subject<'a>>,
    /// The columns of its rows that are named so far.
    pub(super) row_columns: Vec<RowColumn>,
    ticker: Ticker,
    labels: Vec<Label>,
    returns: bool,
}

/// A block or loop that LEAVE and ITERATE can name.
struct Label {
    name: Option<Ident>,
    /// Where ITERATE goes; none for a block.
    start: Option<usize>,
    /// Jumps to its end, to be filled in.
    leaves: Vec<usize>,
}

impl<'a> Compiler<'a> {
    pub(super) fn new(default: Collation, kind: ProgramKind) -> Self {
        Compiler {
            kind,
            default,
            code: Vec::new(),
            variables: Variables::default(),
            subject: None,
            row_columns: Vec::new(),
            ticker: Ticker::default(),
            labels: Vec::new(),
            returns: false,
        }
    }

    /// Lets it know of the trigger's rows.
    pub(super) fn of(self, subject: Subject<'a>) -> Self {
        Compiler { subject: Some(subject), ..self }
    }

    pub(super) fn into_parts(self) -> (Variables, Vec<RowColumn>, Vec<Action>) {
        (self.variables, self.row_columns, self.code)
    }

    fn emit(&mut self, action: Action) -> usize {
        self.code.push(action);
        self.code.len() - 1
    }

    /// Lets the jump at `at` go to what comes next.
    fn land(&mut self, at: usize) {
        let next = self.code.len();
        match &mut self.code[at] {
            Action::JumpUnless(_, target) | Action::Jump(target) => *target = next,
            _ => {}
        }
    }

    fn declare(&mut self, name: &Ident, ty: DataType) -> Result<()> {
        self.variables.declare(name, ty, self.code.len());
        self.ticker.step()
    }

    fn statements(&mut self, list: Vec<Statement>) -> Result<()> {
        list.into_iter().try_for_each(|s| self.statement(s))
    }

    pub(super) fn statement(&mut self, statement: Statement) -> Result<()> {
        self.ticker.step()?;
        let compound = match statement.kind {
            StatementKind::Compound(compound) => *compound,
            StatementKind::Set(items) if self.assigns(&items)? => {
                return items.into_iter().try_for_each(|item| self.assignment(item, statement.span));
            }
            kind => {
                check_allowed(&kind, self.kind)?;
                self.declare_columns_in(&kind)?;
                self.emit(Action::Statement(Box::new(Statement { kind, ..statement })));
                return Ok(());
            }
        };
        match compound {
            Compound::Block(block) => self.block(block),
            Compound::If { branches, otherwise } => self.branches(branches, otherwise),
            Compound::Case { operand, branches, otherwise } => {
                let branches = match operand {
                    None => branches,
                    Some(x) => {
                        let branch = |(when, then)| {
                            // Each has a copy of the operand, however large that is.
                            datum::bounds::check()?;
                            Ok((equal(x.clone(), when), then))
                        };
                        branches.into_iter().map(branch).collect::<Result<_>>()?
                    }
                };
                self.case(branches, otherwise)
            }
            Compound::Loop { label, body } => self.repeat(label, None, body, None),
            Compound::While { label, condition, body } => self.repeat(label, Some(condition), body, None),
            Compound::Repeat { label, body, until } => self.repeat(label, None, body, Some(until)),
            Compound::Leave(name) => self.compile_leave(&name),
            Compound::Iterate(name) => self.iterate(&name),
            Compound::Return(value) => {
                self.declare_columns_of(&value)?;
                self.returns = true;
                self.emit(Action::Return(value));
                Ok(())
            }
            Compound::Open(_) | Compound::Fetch { .. } | Compound::Close(_) => {
                Err(SqlError::unsupported("cursors"))
            }
        }
    }

    /// True if a SET assigns to variables of the routine, or columns of NEW.
    fn assigns(&mut self, items: &[SetItem]) -> Result<bool> {
        for item in items {
            if let SetItem::Variable { scope: None, name, .. } = item
                && self.assigned_place(name)?.is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The place in the frame that a name in SET means; `None` for other names.
    fn assigned_place(&mut self, name: &VariableName) -> Result<Option<usize>> {
        match &name.component {
            None => Ok(self.variables.find(&name.name, self.code.len())),
            Some(_) => self.assigned_of_row(name),
        }
    }

    /// One item of such a SET: each is done before the next is evaluated.
    fn assignment(&mut self, item: SetItem, span: Span) -> Result<()> {
        if let SetItem::Variable { scope: None, name, value } = &item
            && let Some(place) = self.assigned_place(name)?
        {
            if let Some(value) = value {
                self.declare_columns_of(value)?;
            } else if name.component.is_some() {
                return Err(SqlError::unsupported("DEFAULT for a column of NEW"));
            }
            self.emit(Action::Assign(place, value.clone().map(Arc::new)));
            return Ok(());
        }
        let kind = StatementKind::Set(vec![item]);
        check_allowed(&kind, self.kind)?;
        self.declare_columns_in(&kind)?;
        let (remarks, algorithm_and_lock) = (Remarks::default(), Vec::new());
        let statement = Statement { kind, span, parameters: 0, remarks, algorithm_and_lock };
        self.emit(Action::Statement(Box::new(statement)));
        Ok(())
    }

    fn block(&mut self, block: Block) -> Result<()> {
        let first = self.variables.len();
        self.labels.push(Label { name: block.label, start: None, leaves: Vec::new() });
        for declaration in block.declarations {
            match declaration {
                Declaration::Variables { names, ty, default } => {
                    default.as_ref().map_or(Ok(()), |default| self.declare_columns_of(default))?;
                    let default = default.map(Arc::new);
                    let shown = names.first().map_or("", |name| name.as_str());
                    let ty = DataType::resolve(&ty, shown, self.default)?;
                    for name in &names {
                        if self.variables.find(name, self.code.len()).is_some_and(|found| found >= first) {
                            return Err(error::SP_DUP_VAR.with(&[name]));
                        }
                        // The default is computed before the name is known.
                        self.emit(Action::Assign(self.variables.len(), default.clone()));
                        self.declare(name, ty.clone())?;
                    }
                }
                Declaration::Condition { .. } => return Err(SqlError::unsupported("DECLARE .. CONDITION")),
                Declaration::Cursor { .. } => return Err(SqlError::unsupported("cursors")),
                Declaration::Handler { .. } => return Err(SqlError::unsupported("DECLARE .. HANDLER")),
            }
        }
        self.statements(block.body)?;
        self.end_label();
        self.variables.end_block(first..self.variables.len(), self.code.len());
        Ok(())
    }

    fn end_label(&mut self) {
        if let Some(label) = self.labels.pop() {
            label.leaves.into_iter().for_each(|at| self.land(at));
        }
    }

    fn branches(
        &mut self,
        branches: Vec<(Expr, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    ) -> Result<()> {
        let mut ends = Vec::new();
        for (condition, body) in branches {
            self.declare_columns_of(&condition)?;
            let skip = self.emit(Action::JumpUnless(condition, 0));
            self.statements(body)?;
            ends.push(self.emit(Action::Jump(0)));
            self.land(skip);
        }
        if let Some(body) = otherwise {
            self.statements(body)?;
        }
        ends.into_iter().for_each(|at| self.land(at));
        Ok(())
    }

    fn case(
        &mut self,
        branches: Vec<(Expr, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    ) -> Result<()> {
        let mut ends = Vec::new();
        for (condition, body) in branches {
            self.declare_columns_of(&condition)?;
            let skip = self.emit(Action::JumpUnless(condition, 0));
            self.statements(body)?;
            ends.push(self.emit(Action::Jump(0)));
            self.land(skip);
        }
        match otherwise {
            Some(body) => self.statements(body)?,
            None => drop(self.emit(Action::CaseNotFound)),
        }
        ends.into_iter().for_each(|at| self.land(at));
        Ok(())
    }

    /// LOOP, WHILE and REPEAT.
    fn repeat(
        &mut self,
        label: Option<Ident>,
        condition: Option<Expr>,
        body: Vec<Statement>,
        until: Option<Expr>,
    ) -> Result<()> {
        let start = self.code.len();
        self.labels.push(Label { name: label, start: Some(start), leaves: Vec::new() });
        if let Some(condition) = condition {
            self.declare_columns_of(&condition)?;
            let end = self.emit(Action::JumpUnless(condition, 0));
            self.labels.last_mut().expect("it was pushed above").leaves.push(end);
        }
        self.statements(body)?;
        match until {
            Some(until) => {
                self.declare_columns_of(&until)?;
                self.emit(Action::JumpUnless(until, start));
            }
            None => drop(self.emit(Action::Jump(start))),
        }
        self.end_label();
        Ok(())
    }

    fn compile_leave(&mut self, name: &Ident) -> Result<()> {
        let at = self.emit(Action::Jump(0));
        let label = self.labels.iter_mut().rev().find(|l| l.name.as_ref().is_some_and(|n| n.is(name)));
        match label {
            Some(label) => label.leaves.push(at),
            None => return Err(error::SP_LILABEL_MISMATCH.with(&[&"LEAVE", name])),
        }
        Ok(())
    }

    fn iterate(&mut self, name: &Ident) -> Result<()> {
        let label = self.labels.iter().rev().find(|l| l.name.as_ref().is_some_and(|n| n.is(name)));
        match label.and_then(|l| l.start) {
            Some(start) => {
                self.emit(Action::Jump(start));
                Ok(())
            }
            None => Err(error::SP_LILABEL_MISMATCH.with(&[&"ITERATE", name])),
        }
    }
}

fn equal(left: Expr, right: Expr) -> Expr {
    let span = right.span;
    let (left, right) = (Box::new(left), Box::new(right));
    Expr { span, kind: ExprKind::Binary { op: ast::BinaryOp::Equal, left, right } }
}

/// (F1) What a function's or trigger's body may hold besides control flow.
fn check_allowed(kind: &StatementKind, of: ProgramKind) -> Result<()> {
    use StatementKind as S;
    match kind {
        S::Query(query) if query.into.is_some() => Ok(()),
        S::Query(_) | S::Show(_) | S::Explain(_) => Err(error::SP_NO_RETSET.with(&[&of.name()])),
        S::Insert(_) | S::Update(_) | S::Delete(_) | S::Set(_) | S::Do(_) => Ok(()),
        S::Flush(_) => Err(error::STMT_NOT_ALLOWED_IN_SF_OR_TRG.with(&[&"FLUSH"])),
        S::LoadData(_) => Err(error::SP_BADSTATEMENT.with(&[&"LOAD DATA"])),
        S::LockTables(_) => Err(error::SP_BADSTATEMENT.with(&[&"LOCK"])),
        S::UnlockTables => Err(error::SP_BADSTATEMENT.with(&[&"UNLOCK"])),
        S::Commit(_) | S::Rollback(_) | S::Begin(_) | S::Savepoint(_) | S::RollbackTo(_) => {
            Err(error::COMMIT_NOT_ALLOWED_IN_SF_OR_TRG.plain())
        }
        kind if crate::statement_class::commits_implicitly(kind) => {
            Err(error::COMMIT_NOT_ALLOWED_IN_SF_OR_TRG.plain())
        }
        S::Use(_) => Err(error::SP_BADSTATEMENT.with(&[&"USE"])),
        S::Prepare { .. } | S::Execute { .. } | S::Deallocate(_) => {
            Err(error::STMT_NOT_ALLOWED_IN_SF_OR_TRG.with(&[&"Dynamic SQL"]))
        }
        _ => Err(SqlError::unsupported(format_args!("this statement in a stored {}", of.name()))),
    }
}
