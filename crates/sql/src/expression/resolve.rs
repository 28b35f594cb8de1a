//! From syntax trees to expressions: names get places, nodes get types, operands get their way of
//! comparing.
//!
//! - this file: operators. `choices`: CASE and what else chooses. `names`: columns, variables,
//!   literals. `calls`: functions. `aggregates`: COUNT and its like. `rows`: comparisons of rows.
//!   `json`: what JSON operands need. [`collate`]: bringing texts to one collation.

mod adopt;
mod aggregate_arguments;
mod aggregates;
mod calls;
mod choices;
pub(crate) mod collate;
mod json;
mod names;
mod rows;
pub(crate) mod windows;

use adopt::{Other, adopt, without_day};
use std::ops::Range;
use std::sync::Arc;

pub(crate) use calls::is_stored;
pub(crate) use collate::common_type;
pub(crate) use names::unknown_column;

use windows::WindowScope;

use super::aggregate::Aggregate;
use super::functions::string;
use super::like::Like;
use super::members::Members;
use super::{Expr, Node, arithmetic, cast, compare, interval};
use crate::catalog::TableDef;
use crate::output::OutputColumn;
use crate::planner::recorded::RecordedNames;
use crate::planner::view::ViewUses;
use crate::routine::Locals;
use crate::session::Context;
use datum::bounds::Ticker;
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Coercibility, Collation, DataType, Family, NOT_FIXED, Type};
use datum::value::Datum;
use datum::value::json::convert::Origin;
use stdx::memory::Unfinished;
use syntax::ast::{self, BinaryOp, ExprKind, UnaryOp, WeightCast};
use syntax::unparse::binary_text;

/// Where names are looked up.
#[derive(Default)]
pub(crate) struct Scope {
    /// Tables and derived tables, as they stand in FROM.
    pub sources: Vec<Source>,
    /// What unqualified names find, where NATURAL or USING made that other than the sources'
    /// columns.
    pub visible: Option<Vec<Visible>>,
    /// The sources that names may mean, for what stands inside of FROM.
    pub(crate) window: Range<usize>,
    /// Aliases of the select list, for ORDER BY, GROUP BY and HAVING.
    pub(crate) aliases: Vec<(Box<str>, Expr)>,
    /// Aliases go before columns (ORDER BY).
    pub(crate) aliases_first: bool,
    /// Variables and parameters that the routine's instruction sees.
    pub(crate) locals: Locals,
    /// Where aggregates go; `None` where there may be none.
    pub aggregates: Option<Vec<Aggregate>>,
    /// The block's windows, and where its window functions go.
    pub(crate) windows: WindowScope,
    /// An aggregate's argument, which may have GROUPING() of a row: always 0.
    pub(crate) in_aggregate: bool,
    /// The columns that HAVING may name: those that are selected or grouped by; all if absent.
    pub(crate) having_columns: Option<Vec<Expr>>,
    /// The words in error 1054: `field list`, `where clause`.
    pub(crate) clause: &'static str,
    /// In ON DUPLICATE KEY UPDATE: the source that VALUES(column) reads.
    pub(crate) values_source: Option<usize>,
    /// The scope around a subquery's or derived table's.
    pub parent: Option<Box<Scope>>,
    /// What the subquery or derived table takes from the scopes around it: expressions in the
    /// parent's terms.
    pub parameters: Vec<Expr>,
}

/// A table or derived table in a scope.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Its alias, or its name.
    pub alias: Box<str>,
    /// The table's database; empty for a derived table.
    pub database: Box<str>,
    /// What its columns are.
    pub columns: Columns,
    /// Which of the row's sources it is.
    pub slot: usize,
    /// An outer join may complement it by NULLs.
    pub nullable: bool,
}

/// What a source's columns are.
#[derive(Debug, Clone)]
pub(crate) enum Columns {
    /// Of a table that has a definition, in its order.
    Table(Arc<TableDef>),
    /// Those of rows made as a whole.
    Made(Arc<[OutputColumn]>),
    /// Expressions over other sources.
    Merged(Arc<[OutputColumn]>, Arc<[Expr]>),
}

/// A name and what it means.
#[derive(Debug, Clone)]
pub(crate) struct Visible {
    pub(crate) name: Box<str>,
    /// The column.
    pub expr: Expr,
}

impl Scope {
    /// A scope without tables.
    pub(crate) fn empty() -> Self {
        Scope { clause: "field list", window: 0..usize::MAX, ..Scope::default() }
    }

    pub(crate) fn of_table(table: Arc<TableDef>, alias: &str) -> Self {
        Scope { sources: vec![Source::table(table, alias, 0)], ..Scope::empty() }
    }

    /// A scope within another one: that of a subquery or derived table.
    pub(crate) fn within(around: Scope) -> Self {
        Scope { locals: around.locals.clone(), parent: Some(Box::new(around)), ..Scope::empty() }
    }

    /// Forgets the block that was bound; the next one of the same query takes from the same scopes
    /// around it.
    pub(crate) fn reset(&mut self) {
        *self = Scope {
            locals: std::mem::take(&mut self.locals),
            parent: self.parent.take(),
            parameters: std::mem::take(&mut self.parameters),
            ..Scope::empty()
        };
    }
}

/// Turns syntax trees into expressions.
pub(crate) struct Resolver<'c> {
    /// The session.
    pub(crate) cx: &'c mut Context,
    /// Where names are looked up.
    pub scope: Scope,
    /// What the trees' spans point into: the columns of subqueries and derived tables are named
    /// after it.
    pub text: &'c [u8],
    /// The tables that the statement changes, which its subqueries may not read.
    pub(crate) targets: Vec<Arc<TableDef>>,
    /// They may read them under another name, as those of INSERT may.
    pub(crate) targets_by_name: bool,
    /// The tables that queries were found to read.
    pub tables: Vec<Arc<TableDef>>,
    /// The tables of WITH that can be named here, the innermost last. Each may name those before
    /// it.
    pub common: Vec<Arc<ast::CommonTable>>,
    /// How often they were named: each time they are bound anew.
    pub(crate) common_uses: usize,
    /// Those of them that were made as a whole, and may give other rows each time: one for all who
    /// name it.
    pub(crate) made_common: Vec<(Arc<ast::CommonTable>, Arc<crate::planner::Derived>)>,
    /// The SELECT that the options of the whole query stand in was bound.
    pub(crate) beyond_first: bool,
    /// The sources of that SELECT.
    pub(crate) first_sources: Vec<Source>,
    /// What names mean, for the query of a view that is created.
    pub(crate) recorded: Option<Box<RecordedNames>>,
    /// The views that are used.
    pub(crate) views: ViewUses,
    /// The expression is a part of a table's definition, which is the same for all sessions, and
    /// after a replay: `default_week_format` and `div_precision_increment` are taken for what they
    /// are by default.
    pub(crate) of_definition: bool,
    /// If texts that are made can be NULL though no operand can, as in a strict `sql_mode`.
    pub(crate) strict: bool,
    /// Nodes that were copied for row comparisons.
    copied: usize,
}

impl<'c> Resolver<'c> {
    /// A resolver for one scope.
    pub(crate) fn new(cx: &'c mut Context, scope: Scope) -> Self {
        let strict = cx.settings.modes().strict;
        Self {
            cx,
            scope,
            text: &[],
            targets: Vec::new(),
            targets_by_name: false,
            tables: Vec::new(),
            common: Vec::new(),
            common_uses: 0,
            made_common: Vec::new(),
            beyond_first: false,
            first_sources: Vec::new(),
            recorded: None,
            views: ViewUses::default(),
            of_definition: false,
            strict,
            copied: 0,
        }
    }

    /// The same for trees whose spans point into `text`.
    pub(crate) fn with_text(self, text: &'c [u8]) -> Self {
        Self { text, ..self }
    }

    /// Resolves an expression.
    pub(crate) fn expr(&mut self, ast: &ast::Expr) -> Result<Expr> {
        datum::stack::check()?;
        match &ast.kind {
            ExprKind::Literal(literal) => self.literal(literal),
            ExprKind::Column(name) => self.column(name),
            ExprKind::UserVariable(name) => {
                let ty = self.cx.settings.user_variable_type(name);
                Ok(Expr { node: Node::UserVariable(name.to_ascii_lowercase().into()), ty })
            }
            ExprKind::AssignUserVariable { name, value } => {
                let value = self.expr(value)?;
                let ty = assigned_type(&value.ty, self.typing());
                Ok(Expr { node: Node::Assign(name.to_ascii_lowercase().into(), Box::new(value)), ty })
            }
            ExprKind::SystemVariable(variable) => {
                let ty = self.cx.system_variable_type(variable)?;
                Ok(Expr { node: Node::SystemVariable(variable.clone()), ty })
            }
            ExprKind::Unary { op, operand } => self.unary(*op, operand),
            ExprKind::Binary { op, left, right } => self.binary(*op, left, right),
            ExprKind::And(list) => Ok(boolean(Node::And(self.conditions(list)?))),
            ExprKind::Or(list) => Ok(boolean(Node::Or(self.conditions(list)?))),
            ExprKind::Is { operand, test, negated } => {
                let operand = self.expr(operand)?;
                let node = Node::Is(Box::new(operand), *test, *negated);
                Ok(Expr { node, ty: Type::BOOL.not_null() })
            }
            ExprKind::Between { operand, low, high, negated } => self.between(operand, low, high, *negated),
            ExprKind::InList { operand, list, negated } => self.in_list(operand, list, *negated),
            ExprKind::Like { operand, pattern, escape, negated } => {
                self.like(operand, pattern, escape.as_deref(), *negated)
            }
            ExprKind::Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())
            }
            ExprKind::Cast { operand, ty } => self.cast(operand, ty),
            ExprKind::ConvertUsing { operand, charset } => {
                let charset =
                    Charset::by_name(charset).ok_or_else(|| error::UNKNOWN_CHARACTER_SET.with(&[charset]))?;
                let mut operand = self.expr(operand)?;
                let length = cast::text_length(&operand.ty, charset);
                self.as_digits(&mut operand);
                let from = collate::charset_of(&operand.ty, self.typing());
                let ty = Type::text(charset.default_collation(), Coercibility::Implicit, length);
                let ty = Type { nullable: self.cast_is_nullable(&operand, &ty), ..ty };
                Ok(Expr { node: Node::Cast(cast::To::Char(from, charset, None), Box::new(operand)), ty })
            }
            ExprKind::Collate { operand, collation } => self.collate(operand, collation),
            ExprKind::DateArithmetic { date, amount, unit, subtract } => {
                let (date, amount) = (self.expr(date)?, self.expr(amount)?);
                let ty =
                    interval::result_type(&date.ty, &amount, *unit, self.cx.settings.connection_collation());
                let node = Node::DateArithmetic(Box::new([date, amount]), *unit, *subtract);
                Ok(Expr { node, ty })
            }
            ExprKind::Extract { unit: ast::IntervalUnit::Week, operand } if self.of_definition => {
                let date = self.expr(operand)?;
                self.native("week", vec![date, self.week_mode()])
            }
            ExprKind::Extract { unit, operand } => {
                let ty = Type { length: interval::extracted_width(*unit), ..Type::INT };
                Ok(Expr { node: Node::Extract(*unit, Box::new(self.expr(operand)?)), ty })
            }
            ExprKind::TimestampDiff { unit, from, to } => {
                let pair = Box::new([self.expr(from)?, self.expr(to)?]);
                Ok(Expr { node: Node::TimestampDiff(*unit, pair), ty: Type::INT })
            }
            ExprKind::Trim { side, remove, operand } => {
                let operand = self.expr(operand)?;
                let remove = match remove {
                    Some(remove) => self.expr(remove)?,
                    None => Expr::constant(Datum::borrowed(b" "), operand.ty),
                };
                let mut pair = [operand, remove];
                pair.iter_mut().for_each(json::as_text);
                self.as_digits(&mut pair[0]);
                let collation = collate::collation_of(&pair[0].ty, self.typing());
                collate::convert_text(&mut pair[1], collation)?;
                let nullable = self.typing().text_is_nullable(&pair);
                let ty = Type::text(collation, pair[0].ty.coercibility, pair[0].ty.text_length());
                let ty = Type { nullable, ..ty };
                Ok(Expr { node: Node::Trim(*side, Box::new(pair)), ty })
            }
            ExprKind::Function(call) => self.call(call),
            ExprKind::Aggregate(aggregate) => self.aggregate(aggregate),
            ExprKind::Values(name) => self.values(name),
            ExprKind::Default(Some(name)) => self.default_of(name),
            ExprKind::Default(None) => Err(error::NO_DEFAULT_FOR_FIELD.with(&[&"DEFAULT"])),
            ExprKind::Parameter(number) => self.parameter(*number),
            ExprKind::Regexp { operand, pattern, negated } => {
                let arguments = vec![self.expr(operand)?, self.expr(pattern)?];
                let matches = self.native("regexp_like", arguments)?;
                Ok(if *negated { boolean(Node::Not(Box::new(matches))) } else { matches })
            }
            ExprKind::InQuery { operand, query, negated } => self.in_query(operand, query, *negated),
            ExprKind::Quantified { op, operand, all, query } => self.quantified(*op, operand, *all, query),
            ExprKind::Exists(query) => self.exists(query),
            ExprKind::Subquery(query) => self.scalar_subquery(query),
            ExprKind::Row(_) => Err(error::OPERAND_COLUMNS.with(&[&1])),
            ExprKind::Window(call) => self.window_call(call),
            ExprKind::Char { codes, charset } => self.char(codes, charset.as_deref()),
            ExprKind::GetFormat { of, region } => {
                let region = self.expr(region)?;
                let is_known = region.as_constant().is_some();
                let call = self.native_call(super::functions::date_format::get_format(*of), vec![region])?;
                // What it gives is most often a format, whose parts are of interest before the
                // first row.
                if is_known {
                    let value = call.eval(self.cx, super::Row::None)?.into_owned();
                    return Ok(Expr::constant(value, call.ty));
                }
                Ok(call)
            }
            ExprKind::WeightString { operand, cast } => self.weight_string(operand, *cast),
            ExprKind::Match { .. } => Err(SqlError::unsupported("MATCH .. AGAINST")),
            ExprKind::JsonValue(call) => self.json_value(call),
        }
    }

    /// Resolves several conditions.
    fn conditions(&mut self, list: &[ast::Expr]) -> Result<Vec<Expr>> {
        let mut list = self.list(list)?;
        list.iter_mut().for_each(Expr::read_once);
        Ok(list)
    }

    /// Resolves several.
    pub(crate) fn list(&mut self, list: &[ast::Expr]) -> Result<Vec<Expr>> {
        let mut resolved = Unfinished::new(Vec::with_capacity(list.len()));
        for e in list {
            resolved.push(self.expr(e)?);
        }
        Ok(resolved.finish())
    }

    fn unary(&mut self, op: UnaryOp, operand: &ast::Expr) -> Result<Expr> {
        // -9223372036854775808 is an integer, though its digits alone are not.
        if let (UnaryOp::Minus, ExprKind::Literal(ast::Literal::Integer(n))) = (op, &operand.kind)
            && let Ok(n) = i64::try_from(-i128::from(*n))
        {
            return Ok(names::integer(Datum::Int(n), false));
        }
        let x = self.expr(operand)?;
        Ok(match op {
            UnaryOp::Minus => {
                let ty = self.negated_type(&x);
                if let Some(value) = x.as_constant().filter(|v| !v.is_text()) {
                    // There is no operator left to name.
                    let value =
                        arithmetic::negate(self.cx, value.borrow(), &ty).map_err(SqlError::complete)?;
                    return Ok(Expr::constant(value, ty));
                }
                Expr { node: Node::Negate(Box::new(x)), ty }
            }
            UnaryOp::BitNot => {
                let x = arithmetic::bits::by_branch(self.seconds_cut(x)?);
                let ty = match arithmetic::bits::is_byte_string(&x) {
                    true => Type { code: 0, nullable: true, ..x.ty.computed() },
                    false => Type { nullable: x.ty.nullable, ..Type::UINT },
                };
                Expr { node: Node::BitNot(Box::new(x)), ty }
            }
            UnaryOp::Not => {
                let mut x = x;
                x.read_once();
                boolean(Node::Not(Box::new(x)))
            }
        })
    }

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<Expr> {
        if op.is_comparison()
            && (matches!(left.kind, ExprKind::Row(_)) || matches!(right.kind, ExprKind::Row(_)))
        {
            let (left, right) = (self.row_operands(left)?, self.row_operands(right)?);
            return self.row_comparison(op, left, right);
        }
        let (left, right) = (self.expr(left)?, self.expr(right)?);
        if op.is_comparison() {
            return self.comparison(op, left, right);
        }
        match op {
            BinaryOp::Xor => Ok(boolean(Node::Xor(Box::new([left, right])))),
            BinaryOp::MemberOf => self.member_of(left, right),
            BinaryOp::SoundsLike => {
                let (left, right) =
                    (self.native("soundex", vec![left])?, self.native("soundex", vec![right])?);
                self.comparison(BinaryOp::Equal, left, right)
            }
            _ => {
                let (left, right) = match arithmetic::bits::is_bitwise(op) {
                    true => {
                        let [left, right] = [left, right].map(|e| self.seconds_cut(e));
                        (arithmetic::bits::by_branch(left?), arithmetic::bits::by_branch(right?))
                    }
                    false => (left, right),
                };
                let (operation, ty) = arithmetic::choose(op, &left, &right, self.division_digits());
                let (mut left, mut right) = (left, right);
                for operand in [&mut left, &mut right] {
                    match operation.numbers {
                        arithmetic::Numbers::Double => {
                            choices::by_branch(operand);
                            operand.read_quietly();
                        }
                        arithmetic::Numbers::Decimal => operand.read_as_decimal(),
                        _ => {}
                    }
                }
                Ok(Expr { node: Node::Arithmetic(operation, Box::new([left, right])), ty })
            }
        }
    }

    /// `left op right`.
    pub(crate) fn comparison(&mut self, op: BinaryOp, left: Expr, right: Expr) -> Result<Expr> {
        let mut pair = [left, right];
        let by = self.choose(&mut pair, binary_text(op).trim())?;
        let node = Node::Compare(op, by, Box::new(pair));
        let mut expr = boolean(node);
        expr.ty.nullable &= op != BinaryOp::NullSafeEqual;
        Ok(expr)
    }

    /// How two operands compare; texts are brought to one collation.
    pub(crate) fn choose(&mut self, pair: &mut [Expr; 2], operation: &str) -> Result<compare::By> {
        if pair.iter().any(|e| e.ty.family == Family::Json) {
            for operand in &mut *pair {
                self.json_scalar(operand)?;
            }
        }
        let both_text = pair[0].ty.family.is_text() && pair[1].ty.family.is_text();
        let collation = if both_text { self.unify(pair, operation)? } else { pair[0].ty.collation };
        for (one, other) in [(0, 1), (1, 0)] {
            let beside = Other::of(&pair[other]);
            self.fold(&mut pair[one], beside)?;
        }
        let others = [Other::of(&pair[0]), Other::of(&pair[1])];
        let is_no_date =
            self.check_constant(&pair[0], &pair[1])? | self.check_constant(&pair[1], &pair[0])?;
        self.check_date(&pair[0], &pair[1].ty)?;
        self.check_date(&pair[1], &pair[0].ty)?;
        without_day(&mut pair[0], others[1]);
        without_day(&mut pair[1], others[0]);
        adopt(&mut pair[0], others[1], self.cx.settings.zone());
        adopt(&mut pair[1], others[0], self.cx.settings.zone());
        // A number that is no date is compared with those of a column as a number.
        if is_no_date && pair.iter().any(|e| matches!(e.ty.family, Family::Date | Family::DateTime)) {
            return Ok(compare::By::Double);
        }
        // Numbers that rows give are not read as dates, nor any next to dates that no column has.
        for (date, number) in [(0, 1), (1, 0)] {
            let is_exact = match pair[number].ty.family {
                Family::Integer | Family::Decimal => true,
                // What YEAR() gives is a number, and no year as a column has it.
                Family::Year => {
                    matches!(pair[number].node, Node::Call(..)) && !pair[number].is_row_independent()
                }
                _ => false,
            };
            if pair[date].ty.family.is_temporal()
                && is_exact
                && (!others[date].is_column || !pair[number].is_row_independent())
            {
                return Ok(compare::By::Double);
            }
        }
        // Texts that are stored are not read as times, nor constants that are none.
        for (time, text) in [(0, 1), (1, 0)] {
            if pair[time].ty.family == Family::Time
                && pair[text].ty.family.is_text()
                && is_read_as_text(&pair[text])
            {
                return Ok(compare::By::Text(pair[text].ty.collation));
            }
        }
        let by = compare::choose(&pair[0].ty, &pair[1].ty, collation);
        if by == compare::By::Double {
            pair.iter_mut().for_each(choices::by_branch);
            pair.iter_mut().for_each(Expr::read_once);
        }
        if by == compare::By::DateTime {
            let [left, right] = pair;
            choices::as_compared_date(left, right);
            choices::as_compared_date(right, left);
        }
        Ok(by)
    }

    fn between(
        &mut self,
        operand: &ast::Expr,
        low: &ast::Expr,
        high: &ast::Expr,
        negated: bool,
    ) -> Result<Expr> {
        let mut three = [self.expr(operand)?, self.expr(low)?, self.expr(high)?];
        // MySQL has no JSON order here: its text is compared.
        three.iter_mut().for_each(json::as_text);
        let is_textual = three.iter().all(|e| e.ty.family.is_text() || e.ty.family == Family::Null);
        let collation = if is_textual { self.unify(&mut three, "between")? } else { three[0].ty.collation };
        let x = three[0].ty;
        let other = Other::of(&three[0]);
        let [operand, ends @ ..] = &three;
        for end in ends {
            self.check_constant(end, operand)?;
        }
        let was_text = [1, 2].map(|i: usize| three[i].ty.family == Family::Text);
        for end in &mut three[1..] {
            self.fold(end, other)?;
            adopt(end, other, self.cx.settings.zone());
        }
        let by = match self.between_as(&three, other, was_text) {
            Some(by) => [by; 2],
            None => [1, 2].map(|i: usize| match &three[i] {
                text if x.family == Family::Time && text.ty.family.is_text() && is_read_as_text(text) => {
                    compare::By::Text(text.ty.collation)
                }
                end => compare::choose(&x, &end.ty, collation),
            }),
        };
        if by == [compare::By::Double; 2] {
            three.iter_mut().for_each(Expr::read_once);
        }
        Ok(boolean(Node::Between(Box::new(three), by, negated)))
    }

    /// What all three operands of BETWEEN compare as, where the type of one decides for the others:
    /// dates beside times, texts and NULL are dates, times beside texts and NULL are texts, numbers
    /// beside anything else are doubles. `None`: each end compares as it would alone, as the
    /// constants beside a column of dates or times do. `was_text` says which ends were texts before
    /// they were read as times.
    fn between_as(&self, three: &[Expr; 3], other: Other, was_text: [bool; 2]) -> Option<compare::By> {
        let count = |is: fn(Family) -> bool| three.iter().filter(|e| is(e.ty.family)).count();
        let dates = count(|f| matches!(f, Family::Date | Family::DateTime));
        let times = count(|f| f == Family::Time);
        let x = three[0].ty.family;
        if count(Family::is_numeric) > 0 {
            let has_others = dates + times + count(|f| f == Family::Text) > 0;
            let beside_column =
                x.is_temporal() && other.is_column && three[1..].iter().all(Expr::is_row_independent);
            let is_double = has_others && !beside_column && count(|f| f == Family::Label) == 0;
            return is_double.then_some(compare::By::Double);
        }
        if dates > 0 {
            return Some(compare::By::DateTime);
        }
        let was_read = (0..2).any(|i| was_text[i] && three[i + 1].ty.family == Family::Time);
        if times == 0 || times == 3 && !was_read || x == Family::Time && other.is_column && was_read {
            return None;
        }
        let text = three.iter().find(|e| e.ty.family.is_text());
        Some(compare::By::Text(text.map_or(self.cx.settings.connection_collation(), |e| e.ty.collation)))
    }

    fn in_list(&mut self, operand: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Expr> {
        if matches!(operand.kind, ExprKind::Row(_)) {
            return self.row_in_list(operand, list, negated);
        }
        let mut x = self.expr(operand)?;
        let mut candidates = Vec::with_capacity(list.len());
        for candidate in list {
            let mut candidate = self.expr(candidate)?;
            if x.ty.family == Family::Json {
                self.json_scalar(&mut candidate)?;
            }
            candidates.push(candidate);
        }
        // Texts are brought to one collation all together, so that the operand is held once.
        let mut collation = x.ty.collation;
        if x.ty.family.is_text() || x.ty.family == Family::Null {
            candidates.push(x);
            candidates.rotate_right(1);
            let operation = if candidates.len() == 2 { "=" } else { " IN " };
            collation = self.unify(&mut candidates, operation)?;
            x = candidates.remove(0);
        }
        let mut other = Other::of(&x);
        let is_single = candidates.len() == 1;
        if let [only] = &mut candidates[..] {
            self.fold(only, other)?;
            self.fold(&mut x, Other::of(only))?;
            self.check_constant(only, &x)?;
            self.check_constant(&x, only)?;
            without_day(only, other);
            self.check_date(only, &x.ty)?;
            self.check_date(&x, &only.ty)?;
        } else {
            // Years of two digits get no century in a list.
            other.is_column &= x.ty.family != Family::Year;
        }
        let with_order = |mut candidate: Expr| {
            adopt(&mut candidate, other, self.cx.settings.zone());
            let by = match x.ty.family == Family::Time && is_single && candidate.ty.family.is_text() {
                true if is_read_as_text(&candidate) => compare::By::Text(candidate.ty.collation),
                _ if is_single
                    && !other.is_column
                    && x.ty.family.is_temporal()
                    && matches!(candidate.ty.family, Family::Integer | Family::Decimal) =>
                {
                    compare::By::Double
                }
                _ if is_single
                    && candidate.ty.family == Family::Time
                    && x.ty.family.is_text()
                    && is_read_as_text(&x) =>
                {
                    compare::By::Text(x.ty.collation)
                }
                _ => compare::choose(&x.ty, &candidate.ty, collation),
            };
            (by, candidate)
        };
        let mut ticker = Ticker::default();
        let bounded = |candidate| ticker.step().map(|()| with_order(candidate));
        let mut candidates: Vec<_> = candidates.into_iter().map(bounded).collect::<Result<_>>()?;
        if candidates.iter().all(|(by, e)| *by == compare::By::Double && e.ty.family.is_text()) {
            candidates.iter_mut().for_each(|(_, candidate)| candidate.read_once());
            x.read_quietly();
        }
        Ok(boolean(Node::In(Box::new(x), Members::new(candidates), negated)))
    }

    fn like(
        &mut self,
        operand: &ast::Expr,
        pattern: &ast::Expr,
        escape: Option<&ast::Expr>,
        negated: bool,
    ) -> Result<Expr> {
        let mut pair = [self.expr(operand)?, self.expr(pattern)?];
        pair.iter_mut().for_each(json::as_text);
        pair.iter_mut().for_each(|e| self.as_digits(e));
        let collation = self.unify(&mut pair, "like")?;
        let escape = match escape {
            Some(escape) => {
                let escape = self.expr(escape)?;
                let bytes = escape.as_constant().map(|c| c.to_bytes().into_owned());
                match bytes.as_deref() {
                    Some([]) => None,
                    Some([b]) => Some(*b),
                    _ => return Err(error::WRONG_ARGUMENTS.with(&[&"ESCAPE"])),
                }
            }
            None if self.cx.settings.modes().no_backslash_escapes => None,
            None => Some(b'\\'),
        };
        let [operand, pattern] = pair;
        Ok(boolean(Node::Like(Box::new(Like { operand, pattern, escape, collation, negated }))))
    }

    /// `CHAR(codes [USING charset])`: bytes, or text.
    fn char(&mut self, codes: &[ast::Expr], charset: Option<&str>) -> Result<Expr> {
        let collation = match charset {
            Some(name) => {
                let found = Charset::by_name(name);
                found.ok_or_else(|| error::UNKNOWN_CHARACTER_SET.with(&[&name]))?.default_collation()
            }
            None => Collation::BINARY,
        };
        let codes = self.list(codes)?;
        let ty = Type::text(collation, Coercibility::Literal, 4 * codes.len() as u32);
        let ty = Type { nullable: self.typing().text_is_nullable(&codes), ..ty };
        Ok(Expr { node: Node::Call(&super::functions::CHAR, codes), ty })
    }

    fn weight_string(&mut self, operand: &ast::Expr, cast: Option<WeightCast>) -> Result<Expr> {
        let mut operand = self.expr(operand)?;
        let weights = match cast {
            // Of bytes there are as few as of a number.
            Some(WeightCast::Binary(_)) => string::weight_length(&Type::NULL),
            _ => string::weight_length(&operand.ty),
        };
        json::as_text(&mut operand);
        let length = match cast {
            None => None,
            Some(WeightCast::Char(length)) => Some(length),
            Some(WeightCast::Binary(length)) => {
                if operand.ty.family.is_text() {
                    operand.ty.family = Family::Text;
                    operand.ty.collation = Collation::BINARY;
                } else if operand.ty.family != Family::Null {
                    let to = cast::To::Binary(None);
                    let ty = cast::result_type(&to, &operand.ty, Collation::BINARY);
                    operand = Expr { node: Node::Cast(to, Box::new(operand)), ty };
                }
                Some(length)
            }
        };
        let length = length.map(|n| names::integer(Datum::UInt(n), true));
        let ty = Type::text(Collation::BINARY, Coercibility::Implicit, weights);
        let arguments = std::iter::once(operand).chain(length).collect();
        Ok(Expr { node: Node::Call(&super::functions::WEIGHT_STRING, arguments), ty })
    }

    fn cast(&mut self, operand: &ast::Expr, ty: &ast::CastType) -> Result<Expr> {
        if ty.array || ty.time_zone.is_some() {
            return Err(SqlError::unsupported("CAST .. ARRAY and AT TIME ZONE"));
        }
        let mut x = self.expr(operand)?;
        let connection = self.cx.settings.connection_collation();
        let mut collation = connection;
        use ast::DataType as D;
        let of = x.ty;
        if let D::Char { .. } | D::Binary { .. } = &ty.ty {
            self.as_digits(&mut x);
        }
        let to = match &ty.ty {
            D::Integer { sign, .. } if sign.unsigned => cast::To::Unsigned,
            D::Integer { .. } => cast::To::Signed,
            D::Char { length, charset }
                if datum::types::resolve_collation(charset, connection)? == Collation::BINARY =>
            {
                collation = Collation::BINARY;
                cast::To::Binary(length.map(|n| n.min(u64::from(u32::MAX)) as u32))
            }
            D::Char { length, charset } => {
                collation = datum::types::resolve_collation(charset, connection)?;
                let from = collate::charset_of(&x.ty, self.typing());
                cast::To::Char(from, collation.charset(), length.map(|n| n.min(u64::from(u32::MAX)) as u32))
            }
            D::Binary { length } => cast::To::Binary(length.map(|n| n.min(u64::from(u32::MAX)) as u32)),
            D::Json => cast::To::Json(Origin::of(&x.ty)),
            other => {
                // Errors call it by its text.
                let text = String::from_utf8_lossy(operand.span.of(self.text)).into_owned();
                let ty = DataType::resolve(other, text.trim(), connection).map_err(|e| {
                    if e.is(error::M_BIGGER_THAN_D) { error::M_BIGGER_THAN_D.with(&[&""]) } else { e }
                })?;
                cast::To::of(&ty).ok_or_else(|| SqlError::unsupported(format_args!("CAST AS {ty}")))?
            }
        };
        let mut ty = cast::result_type(&to, &of, collation);
        match to {
            cast::To::Char(..) | cast::To::Binary(_) => {
                ty.nullable = self.cast_is_nullable(&x, &ty);
            }
            cast::To::Decimal(..) => x.read_as_decimal(),
            cast::To::Signed | cast::To::Unsigned => x = self.seconds_cut(x)?,
            _ => {}
        }
        Ok(Expr { node: Node::Cast(to, Box::new(x)), ty })
    }

    /// If a value can be NULL as a text of this type: what is longer than any text is.
    fn cast_is_nullable(&self, x: &Expr, text: &Type) -> bool {
        let characters = u32::MAX / text.collation.charset().char_len_max();
        self.typing().text_is_nullable(std::slice::from_ref(x)) || text.length >= characters
    }

    fn collate(&mut self, operand: &ast::Expr, name: &str) -> Result<Expr> {
        let x = self.expr(operand)?;
        let collation = Collation::by_name(name).ok_or_else(|| error::UNKNOWN_COLLATION.with(&[&name]))?;
        if x.ty.family == Family::Null && x.as_constant().is_some() {
            return Err(error::COLLATION_CHARSET_MISMATCH.with(&[&name, &Charset::Binary.name()]));
        }
        let charset = match x.ty.family {
            Family::Bit => Charset::Binary,
            _ => collate::charset_of(&x.ty, self.typing()),
        };
        if x.ty.family == Family::Bit && collation != Collation::BINARY
            || charset != collation.charset() && !(x.ty.family != Family::Text && charset == Charset::Binary)
        {
            return Err(error::COLLATION_CHARSET_MISMATCH.with(&[&name, &charset.name()]));
        }
        let length = x.ty.text_length();
        let ty = Type {
            collation,
            coercibility: Coercibility::Explicit,
            code: 0,
            length,
            nullable: self.typing().text_is_nullable(std::slice::from_ref(&x)),
            ..x.ty.computed()
        };
        if x.ty.family == Family::Text {
            return Ok(Expr { ty, ..x });
        }
        let ty = Type { family: Family::Text, decimals: NOT_FIXED, unsigned: false, ..ty };
        Ok(Expr { node: Node::Cast(cast::To::Char(charset, charset, None), Box::new(x)), ty })
    }

    /// The seconds of UNIX_TIMESTAMP() as an integer are cut, other decimals rounded.
    pub(super) fn seconds_cut(&mut self, x: Expr) -> Result<Expr> {
        if !x.is_seconds() {
            return Ok(x);
        }
        let places = Expr::constant(Datum::Int(0), Type::INT.not_null());
        self.native("truncate", vec![x, places])
    }

    /// Brings texts to one collation; see [`collate::unify`].
    pub(crate) fn unify(&mut self, list: &mut [Expr], operation: &str) -> Result<Collation> {
        collate::unify(list, self.typing(), operation)
    }

    pub(crate) fn typing(&self) -> super::functions::Typing {
        super::functions::Typing { connection: self.cx.settings.connection_collation(), strict: self.strict }
    }
}

/// True for a text that is not read as a time next to one: it is known, and is none, or each row
/// has another one.
fn is_read_as_text(text: &Expr) -> bool {
    text.as_constant().is_some() || !text.is_row_independent()
}

/// What a user variable is once a value was assigned to it: it has no dates and times, and keeps no
/// column's type.
fn assigned_type(value: &Type, typing: super::functions::Typing) -> Type {
    let ty = Type { code: 0, boolean: false, ..value.computed() };
    match value.family {
        Family::Float | Family::Double => Type { nullable: value.nullable, ..Type::DOUBLE },
        Family::Null => Type::text(Collation::BINARY, Coercibility::Implicit, 0),
        Family::Date | Family::Time | Family::DateTime => Type {
            nullable: value.nullable,
            ..Type::text(typing.connection, Coercibility::Implicit, value.length)
        },
        Family::Year | Family::Bit => Type { family: Family::Integer, collation: Collation::BINARY, ..ty },
        Family::Label => Type { family: Family::Text, ..ty },
        _ => ty,
    }
}

/// A truth value; it is NULL only where an operand can be.
fn boolean(node: Node) -> Expr {
    let mut expr = Expr { node, ty: Type::BOOL };
    expr.ty.nullable = expr.children().iter().any(|operand| operand.ty.nullable);
    expr
}
