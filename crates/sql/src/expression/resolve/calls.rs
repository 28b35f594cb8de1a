//! Function calls: the ones that are control flow, built-in ones from the table, stored ones from the catalog.

use super::{Resolver, collate};
use crate::ast::{self, BinaryOp, Truth};
use crate::error::{self, Result};
use crate::expression::functions::json::Role;
use crate::expression::{Expr, Node, functions};
use crate::session::tracking;
use crate::types::{Family, Type};

impl Resolver<'_> {
    pub(super) fn call(&mut self, call: &ast::FunctionCall) -> Result<Expr> {
        if call.database.is_none() {
            if let Some(expr) = self.control_flow(call)? {
                return Ok(expr);
            }
            if let Some(function) = functions::find(&call.name) {
                return self.built_in(function, call);
            }
        }
        self.stored(call)
    }

    fn built_in(&mut self, function: &'static functions::Function, call: &ast::FunctionCall) -> Result<Expr> {
        let given = call.arguments.len();
        let half_pair = |roles: fn(usize) -> Role| roles(given) == Role::PairedValue;
        if !(function.arguments_min..=function.arguments_max).contains(&given)
            || function.roles.is_some_and(half_pair)
        {
            return Err(error::WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&call.name]));
        }
        let arguments = self.list(&call.arguments)?;
        self.native_call(function, arguments)
    }

    /// A call of a built-in function by name, of which operators are made.
    pub(super) fn native(&mut self, name: &str, arguments: Vec<Expr>) -> Result<Expr> {
        let missing = || error::SP_DOES_NOT_EXIST.with(&[&"FUNCTION", &name]);
        self.native_call(functions::find(name).ok_or_else(missing)?, arguments)
    }

    /// A call of a built-in function with as many arguments as it takes.
    pub(super) fn native_call(
        &mut self,
        function: &'static functions::Function,
        mut arguments: Vec<Expr>,
    ) -> Result<Expr> {
        if function.volatile || tracking::is_unsafe(function.name) {
            self.cx.tracker.transactions.is_unsafe();
        }
        if let Some(roles) = function.roles {
            super::json::prepare(&mut arguments, roles);
        }
        if function.unify {
            arguments.iter_mut().for_each(super::json::as_text);
            if !matches!(function.name, "greatest" | "least" | "field") {
                arguments.iter_mut().for_each(|e| self.as_digits(e));
            }
            match function.name {
                // They compare, and need one collation; the others only join, search and choose.
                "find_in_set" | "strcmp" => self.unify(&mut arguments, function.name)?,
                _ => collate::join(&mut arguments, self.typing())?,
            };
        }
        if function.name.starts_with("regexp_")
            && let Some(texts) = arguments.get_mut(..2)
            && texts[0].ty.collation.charset() == texts[1].ty.collation.charset()
        {
            self.unify(texts, function.name)?;
        }
        let ty = (function.ty)(&arguments, &self.typing());
        Ok(Expr { node: Node::Call(function, arguments), ty })
    }

    /// Functions that are written in terms of other nodes.
    fn control_flow(&mut self, call: &ast::FunctionCall) -> Result<Option<Expr>> {
        let arguments = call.arguments.as_slice();
        let name = call.name.to_ascii_lowercase();
        let wrong_count = || error::WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&call.name]);
        Ok(Some(match (name.as_str(), arguments) {
            ("if", [condition, yes, no]) => {
                let condition = self.expr(condition)?;
                let results = vec![self.expr(yes)?, self.expr(no)?];
                self.choice(vec![condition], results, true)?
            }
            ("ifnull", [a, b]) => {
                let list = vec![self.expr(a)?, self.expr(b)?];
                self.coalesce(list)?
            }
            ("coalesce", [_, ..]) => {
                let list = self.list(arguments)?;
                self.coalesce(list)?
            }
            ("nullif", [a, b]) => {
                let mut pair = [self.expr(a)?, self.expr(b)?];
                let ty = Type { nullable: true, ..pair[0].ty };
                let by = self.choose(&mut pair, "nullif")?;
                let value = Expr { node: Node::NullIf(Box::new(pair), by), ty };
                match ty.family {
                    Family::Label => {
                        collate::convert(value, &Type { family: Family::Text, ..ty }, self.typing())?
                    }
                    _ => value,
                }
            }
            ("grouping", [_, ..]) => {
                // Which of GROUP BY's expressions these are is found out when those are known.
                let list = self.list(arguments)?;
                Expr { node: Node::Grouping(list, Vec::new()), ty: Type::INT.not_null() }
            }
            ("isnull", [x]) => {
                let x = self.expr(x)?;
                Expr { node: Node::Is(Box::new(x), Truth::Null, false), ty: Type::BOOL.not_null() }
            }
            ("mod", [a, b]) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                let (operation, ty) = crate::expression::arithmetic::choose(BinaryOp::Modulo, &a, &b, 0);
                Expr { node: Node::Arithmetic(operation, Box::new([a, b])), ty }
            }
            // The value; the name is the result column's where it stands alone.
            ("name_const", [name, value]) => {
                let (name, value) = (self.expr(name)?, self.expr(value)?);
                if name.as_constant().is_none() || value.as_constant().is_none() {
                    return Err(error::WRONG_ARGUMENTS.with(&[&"NAME_CONST"]));
                }
                value
            }
            ("if" | "ifnull" | "coalesce" | "nullif" | "isnull" | "mod" | "name_const", _) => {
                return Err(wrong_count());
            }
            _ => return Ok(None),
        }))
    }

    fn coalesce(&mut self, list: Vec<Expr>) -> Result<Expr> {
        let nullable = list.iter().all(|e| e.ty.nullable);
        let (mut list, ty) = self.same_type(list)?;
        if ty.family == Family::Decimal {
            list.iter_mut().for_each(|e| collate::with_digits(e, ty.decimals));
        }
        Ok(Expr { node: Node::Coalesce(list), ty: Type { nullable, ..ty } })
    }

    fn stored(&mut self, call: &ast::FunctionCall) -> Result<Expr> {
        let database = match &call.database {
            Some(database) => database.to_string(),
            None => match self.cx.default_database() {
                Some(database) => database.to_owned(),
                None => return Err(error::SP_DOES_NOT_EXIST.with(&[&"FUNCTION", &call.name])),
            },
        };
        let routine = self.cx.routine(&database, &call.name)?;
        let arguments = self.list(&call.arguments)?;
        if arguments.len() != routine.parameters() {
            let shown = format!("{database}.{}", routine.name());
            return Err(error::SP_WRONG_NO_OF_ARGS.with(&[
                &"FUNCTION",
                &shown,
                &routine.parameters(),
                &arguments.len(),
            ]));
        }
        let ty = Type::of_column(routine.returns(), true);
        Ok(Expr { node: Node::Stored(routine, arguments), ty })
    }
}
