//! Window functions: they belong to the block that they stand in, and stand in its select list or
//! ORDER BY.
//!
//! 1. The WINDOW clause is resolved first ([`Resolver::name_windows`]), each window after the one
//!    that it builds on.
//! 2. A call takes a copy of the window that it names, or one of its own, and goes to the scope's
//!    list ([`WindowScope`]); [`Node::Window`] is its place there.

mod bounds;

use super::{Columns, Resolver, Scope, Source};
use crate::expression::aggregate::Aggregate;
use crate::expression::window::{self, Frame, Function, Window, WindowCall};
use crate::expression::{Expr, Node, OrderTerm};
use datum::error::{self, Result, SqlError};
use datum::types::{Family, Made, Type};
use syntax::ast::{self, AggregateFunction, ExprKind, Ident, Literal, Over, WindowFunction, WindowSpec};
use syntax::unparse;

/// A block has as many windows at most.
const WINDOWS_MAX: usize = 127;

/// The windows of the block that is being bound.
#[derive(Default)]
pub(crate) struct WindowScope {
    /// Those of the WINDOW clause.
    named: Vec<(Ident, Window)>,
    /// The calls so far.
    calls: Vec<WindowCall>,
    /// Windows without a name.
    unnamed: usize,
    /// Whether there may be calls here.
    pub(crate) place: WindowPlace,
}

/// Where an expression stands, as far as window functions are concerned.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) enum WindowPlace {
    /// Where there may be none.
    #[default]
    Refused,
    /// In the select list or in ORDER BY.
    Allowed,
    /// In the window of that name.
    Specification(Box<str>),
}

impl WindowScope {
    /// The calls of the block, once it is bound.
    ///
    /// # Errors
    /// 4086 for too many windows.
    pub(crate) fn take_calls(&mut self) -> Result<Vec<WindowCall>> {
        let windows = self.named.len() + self.unnamed;
        if windows > WINDOWS_MAX {
            return Err(error::TOO_MANY_WINDOWS.with(&[&windows, &WINDOWS_MAX]));
        }
        self.named.clear();
        Ok(std::mem::take(&mut self.calls))
    }

    fn find(&self, name: &Ident) -> Result<&Window> {
        let found = self.named.iter().find(|(known, _)| known.is(name));
        found.map(|(_, window)| window).ok_or_else(|| error::WINDOW_NO_SUCH_WINDOW.with(&[name]))
    }
}

impl Resolver<'_> {
    /// Resolves the WINDOW clause.
    ///
    /// # Errors
    /// 3591 for a name that is there twice, 3580 for windows that build on each other in a circle,
    /// those of [`Self::window`].
    pub(crate) fn name_windows(&mut self, list: &[(Ident, WindowSpec)]) -> Result<()> {
        if list.len() > WINDOWS_MAX {
            return Err(error::TOO_MANY_WINDOWS.with(&[&list.len(), &WINDOWS_MAX]));
        }
        for (number, (name, _)) in list.iter().enumerate() {
            if list.iter().take(number).any(|(other, _)| other.is(name)) {
                return Err(error::WINDOW_DUPLICATE_NAME.with(&[name]));
            }
        }
        // Each round resolves the windows whose base is known; there are few.
        let mut waiting: Vec<_> = list.iter().collect();
        while !waiting.is_empty() {
            let before = waiting.len();
            let mut left = Vec::with_capacity(before);
            for entry in waiting {
                let (name, spec) = entry;
                let waits = |base: &Ident| self.scope.windows.find(base).is_err();
                match spec.base.as_ref().filter(|base| waits(base)) {
                    Some(base) if list.iter().any(|(other, _)| other.is(base)) => left.push(entry),
                    Some(base) => return Err(error::WINDOW_NO_SUCH_WINDOW.with(&[base])),
                    None => {
                        let window = self.window(spec, Some(name))?;
                        self.scope.windows.named.push((name.clone(), window));
                    }
                }
            }
            if left.len() == before {
                return Err(error::WINDOW_CIRCULARITY_IN_WINDOW_GRAPH.plain());
            }
            waiting = left;
        }
        Ok(())
    }

    /// A call of a function that needs a window.
    ///
    /// # Errors
    /// 1235 for FROM LAST and IGNORE NULLS, 1210 and 1327 for arguments, 3593 and 3595 where there
    /// may be no call, those of [`Self::window`].
    pub(super) fn window_call(&mut self, ast: &ast::WindowCall) -> Result<Expr> {
        if ast.from_last {
            return Err(SqlError::unsupported("FROM LAST"));
        }
        if ast.ignore_nulls {
            return Err(SqlError::unsupported("IGNORE NULLS"));
        }
        self.check_window_place(unparse::window_name(ast.function))?;
        let (arguments, ty) = self.with_window_place(WindowPlace::Refused, |r| r.window_arguments(ast))?;
        self.add_window_call(Function::Native(ast.function, arguments), ty, &ast.over)
    }

    /// An aggregate of a frame's rows.
    ///
    /// # Errors
    /// 1235 for GROUP_CONCAT and DISTINCT, otherwise as of [`Self::window_call`].
    pub(super) fn window_aggregate(&mut self, ast: &ast::Aggregate, over: &Over) -> Result<Expr> {
        use AggregateFunction as F;
        if ast.function == F::GroupConcat {
            return Err(SqlError::unsupported("group_concat as window function"));
        }
        if ast.distinct && !matches!(ast.function, F::Min | F::Max) {
            return Err(SqlError::unsupported("<window function>(DISTINCT ..)"));
        }
        self.check_window_place(unparse::aggregate_name(ast.function))?;
        let aggregate = self.with_window_place(WindowPlace::Refused, |r| r.aggregate_of(ast))?;
        let aggregate = Aggregate { distinct: false, ..aggregate };
        let ty = match ast.function {
            F::Min | F::Max => buffered_type(aggregate.ty),
            _ => aggregate.ty,
        };
        self.add_window_call(Function::Aggregate(aggregate), ty, over)
    }

    fn add_window_call(&mut self, function: Function, ty: Type, over: &Over) -> Result<Expr> {
        let window = match over {
            Over::Named(name) => self.scope.windows.find(name)?.clone(),
            Over::Window(spec) => {
                self.scope.windows.unnamed += 1;
                self.window(spec, None)?
            }
        };
        let call = WindowCall { function, window, ty };
        let calls = &mut self.scope.windows.calls;
        // What ORDER BY repeats of the select list is computed once, and known to be the same.
        let mut repeated = None;
        if self.scope.clause == "order clause" {
            let shown = format!("{call:?}");
            for (number, known) in calls.iter().enumerate() {
                datum::bounds::check()?;
                if repeated.is_none() && format!("{known:?}") == shown {
                    repeated = Some(number);
                }
            }
        }
        let number = repeated.unwrap_or_else(|| {
            calls.push(call);
            calls.len() - 1
        });
        Ok(Expr { node: Node::Window(number), ty })
    }

    fn check_window_place(&self, function: &str) -> Result<()> {
        match &self.scope.windows.place {
            WindowPlace::Allowed => Ok(()),
            WindowPlace::Refused => Err(error::WINDOW_INVALID_WINDOW_FUNC_USE.with(&[&function])),
            WindowPlace::Specification(window) => {
                Err(error::WINDOW_NESTED_WINDOW_FUNC_USE_IN_WINDOW_SPEC.with(&[window]))
            }
        }
    }

    /// Error 3594 for the alias of a window function where there may be none.
    pub(super) fn check_window_alias(&self, alias: &str, of: &Expr) -> Result<()> {
        // GROUP BY has an error of its own.
        let is_allowed =
            self.scope.windows.place == WindowPlace::Allowed || self.scope.clause == "group statement";
        match is_allowed || self.scope.windows.calls.is_empty() || !of.has_window() {
            true => Ok(()),
            false => Err(error::WINDOW_INVALID_WINDOW_FUNC_ALIAS_USE.with(&[&alias])),
        }
    }

    /// Resolves what belongs to a call, with other window functions allowed or not: names are
    /// columns, even where the clause prefers the select list's.
    fn with_window_place<T>(
        &mut self,
        place: WindowPlace,
        resolve: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<T> {
        let place = std::mem::replace(&mut self.scope.windows.place, place);
        let aliases_first = std::mem::take(&mut self.scope.aliases_first);
        let resolved = resolve(self);
        self.scope.aliases_first = aliases_first;
        self.scope.windows.place = place;
        resolved
    }

    /// What defines a window.
    ///
    /// # Errors
    /// 3579, 3581 to 3583 for what it builds on, 3592 for a number in the place of an expression,
    /// 6432 for a bare column or aggregate of a block around, those of its frame.
    fn window(&mut self, spec: &WindowSpec, name: Option<&Ident>) -> Result<Window> {
        let shown = window::shown_name(name.map(Ident::as_str)).to_owned();
        let base = spec.base.as_ref().map(|base| self.scope.windows.find(base).cloned()).transpose()?;
        if base.is_some() && !spec.partition_by.is_empty() {
            return Err(error::WINDOW_NO_CHILD_PARTITIONING.plain());
        }
        let mut partition = Vec::with_capacity(spec.partition_by.len());
        for ast in &spec.partition_by {
            partition.push(self.window_term(ast, &shown, "window partition by")?);
        }
        let mut order = Vec::with_capacity(spec.order_by.len());
        for item in &spec.order_by {
            let expr = self.window_term(&item.expr, &shown, "window order by")?;
            order.push(OrderTerm { expr, descending: item.descending });
        }
        if let Some(base) = base {
            if base.frame.is_written {
                return Err(error::WINDOW_NO_INHERIT_FRAME.with(&[&base.shown_name()]));
            }
            if !base.order.is_empty() && !order.is_empty() {
                return Err(error::WINDOW_NO_REDEFINE_ORDER_BY.with(&[&shown, &base.shown_name()]));
            }
            partition = base.partition;
            if order.is_empty() {
                order = base.order;
            }
        }
        let frame = match &spec.frame {
            Some(frame) => self.window_frame(frame, &order, &shown)?,
            None => Frame::default(),
        };
        let changes = |e: &Expr| matches!(&e.node, Node::Call(function, _) if function.volatile);
        if !frame.by_rows && order.iter().any(|term| term.expr.contains(&mut |e| changes(e))) {
            return Err(error::WINDOW_RANGE_FRAME_ORDER_TYPE.with(&[&shown]));
        }
        let name = name.map(|name| name.as_str().into());
        Ok(Window { name, partition, order, frame })
    }

    /// An expression of PARTITION BY or ORDER BY.
    fn window_term(&mut self, ast: &ast::Expr, window: &str, clause: &'static str) -> Result<Expr> {
        if matches!(ast.kind, ExprKind::Literal(Literal::Integer(_))) {
            return Err(error::WINDOW_ILLEGAL_ORDER_BY.with(&[&window]));
        }
        let around = std::mem::replace(&mut self.scope.clause, clause);
        let aliases = std::mem::take(&mut self.scope.aliases);
        let place = WindowPlace::Specification(window.into());
        let resolved = self.with_window_place(place, |r| r.expr(ast));
        self.scope.aliases = aliases;
        self.scope.clause = around;
        let term = resolved?;
        // What is computed of it may stand there.
        match term.node {
            Node::Outer(number) => {
                let written = || String::from_utf8_lossy(ast.span.of(self.text).trim_ascii()).into_owned();
                let column = self.scope.outer_name(number).unwrap_or_else(written);
                Err(error::WINDOW_OUTER_REFERENCE.with(&[&column]))
            }
            _ => Ok(term),
        }
    }

    /// The arguments of a function that needs a window, and its type.
    fn window_arguments(&mut self, ast: &ast::WindowCall) -> Result<(Vec<Expr>, Type)> {
        use WindowFunction as F;
        let name = unparse::window_name(ast.function);
        let value = |r: &mut Self| ast.arguments.first().map(|e| r.expr(e)).transpose();
        Ok(match ast.function {
            F::RowNumber | F::Rank | F::DenseRank => (Vec::new(), Type::UINT.not_null()),
            F::PercentRank | F::CumeDist => (Vec::new(), Type::DOUBLE.not_null()),
            F::Ntile => {
                let buckets = self.stable_integer(ast.arguments.first(), name, 1)?;
                (vec![buckets], Type::UINT.not_null())
            }
            F::FirstValue | F::LastValue => {
                let value: Vec<Expr> = value(self)?.into_iter().collect();
                let ty = value_type(value.first());
                (value, ty)
            }
            F::NthValue => {
                let mut arguments: Vec<Expr> = value(self)?.into_iter().collect();
                let ty = value_type(arguments.first());
                if let Some(ast) = ast.arguments.get(1) {
                    let number = self.expr(ast)?;
                    if !number.is_row_independent() {
                        return Err(error::WRONG_ARGUMENTS.with(&[&name]));
                    }
                    self.check_count(&number, name, 1)?;
                    arguments.push(number);
                }
                (arguments, ty)
            }
            F::Lead | F::Lag => {
                let mut arguments: Vec<Expr> = value(self)?.into_iter().collect();
                let mut ty = value_type(arguments.first());
                if let Some(default) = ast.arguments.get(2) {
                    arguments.push(self.expr(default)?);
                    let nullable = arguments.iter().any(|e| e.ty.nullable);
                    let chosen = self.coalesce(std::mem::take(&mut arguments), "coalesce")?;
                    ty = Type { nullable, ..buffered_type(chosen.ty) };
                    if let Node::Coalesce(list) = chosen.node {
                        arguments = list;
                    }
                }
                if let Some(ast) = ast.arguments.get(1) {
                    let rows = self.stable_integer(Some(ast), name, 0)?;
                    arguments.insert(1, rows);
                }
                (arguments, ty)
            }
        })
    }

    /// An integer that is the same for all rows.
    ///
    /// # Errors
    /// 1327 for a name that is no variable's, 1210 for user variables and for what is no such
    /// number.
    fn stable_integer(&mut self, ast: Option<&ast::Expr>, call: &str, least: u64) -> Result<Expr> {
        let wrong = || error::WRONG_ARGUMENTS.with(&[&call]);
        let ast = ast.ok_or_else(wrong)?;
        match &ast.kind {
            ExprKind::UserVariable(_) => return Err(wrong()),
            ExprKind::Column(name) if self.scope.locals.find(&name.column).is_none() => {
                return Err(error::SP_UNDECLARED_VAR.with(&[&name.column]));
            }
            _ => {}
        }
        let number = self.expr(ast)?;
        self.check_count(&number, call, least)?;
        Ok(number)
    }

    /// Checks a number that is known before the statement runs.
    fn check_count(&mut self, number: &Expr, call: &str, least: u64) -> Result<()> {
        match number.as_constant() {
            Some(_) => window::count(self.cx, call, least, number).map(|_| ()),
            None => Ok(()),
        }
    }
}

/// The type of what one of the rows gives.
fn value_type(value: Option<&Expr>) -> Type {
    let of = value.map_or(Type::NULL, |e| e.ty);
    Type { nullable: true, ..buffered_type(of.computed()) }
}

/// The type of values that are buffered with a partition's rows: integers are BIGINT, and an ENUM
/// or SET is a text.
fn buffered_type(ty: Type) -> Type {
    let ty = Type { boolean: false, made: Made::OfSubquery, ..ty };
    match ty.family {
        Family::Integer => Type { code: 0, ..ty },
        Family::Label => Type { family: Family::Text, code: 0, ..ty },
        _ => ty,
    }
}

impl Scope {
    /// What the column that a parameter of the block stands for is called in full; `None` if it is
    /// no column.
    fn outer_name(&self, number: usize) -> Option<String> {
        let (mut scope, mut number) = (self, number);
        loop {
            let (expr, around) = (scope.parameters.get(number)?, scope.parent.as_deref()?);
            match expr.node {
                Node::Outer(further) => (scope, number) = (around, further),
                Node::Column { source, column } => {
                    let of = around.sources.iter().find(|s| s.slot == source);
                    return Some(of.map_or_else(String::new, |s| s.full_name(column)));
                }
                _ => return None,
            }
        }
    }
}

impl Source {
    fn full_name(&self, column: usize) -> String {
        let visible = match &self.columns {
            Columns::Table(table) => table.columns.get(column).map_or("", |c| c.name.as_str()),
            Columns::Made(columns) | Columns::Merged(columns, _) => {
                columns.get(column).map_or("", |c| c.meta.name.as_str())
            }
        };
        match self.database.is_empty() {
            true => format!("{}.{visible}", self.alias),
            false => format!("{}.{}.{visible}", self.database, self.alias),
        }
    }
}
