//! INSERT and REPLACE.
//!
//! 1. plan     The table is opened, the column list becomes numbers, expressions are resolved. A
//!    prepared or repeated statement does this once ([`plan`]).
//! 2. values   Each row's values come from the statement's text and parameters, or from a query.
//! 3. write    The [`Writer`] makes rows of them.

use std::sync::Arc;

use smallvec::SmallVec;

use super::on_duplicate::{self, Into, Selected};
use super::query;
use super::through_view::{Change, ChangedView};
use super::view_check::ThroughView;
use super::writer::{
    ColumnInput, Columns, OnDuplicate, RowDraft, Writer, charset_of, charset_of_type, reads_columns,
};
use crate::catalog::{ColumnDef, TableDef};
use crate::expression::resolve::Scope;
use crate::expression::{Expr, Node, Resolver, Row, cast};
use crate::planner::plan::{self, Basis, Planning};
use crate::planner::{Body, Query};
use crate::privilege::Privileges;
use crate::routine;
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, DataType, Family, Type};
use datum::value::{Datum, Decimal, store};
use syntax::ast::{self, ExprKind, InsertSource, Literal, LoadDuplicates, UnaryOp};

/// Runs an INSERT or REPLACE.
pub(super) fn execute(cx: &mut Context, insert: &ast::Insert, text: &[u8]) -> Result<()> {
    if !insert.partitions.is_empty() {
        return Err(SqlError::unsupported("partitions"));
    }
    cx.statement.storing = !insert.ignore;
    if insert.priority == ast::Priority::Delayed {
        let word = if insert.replace { "REPLACE" } else { "INSERT" };
        cx.warn(error::WARN_LEGACY_SYNTAX_CONVERTED.with(&[&format_args!("{word} DELAYED"), &word]));
    }
    plan::run(
        cx,
        |cx, basis| Insertion::plan(cx, basis, insert, text),
        |cx, plan| {
            let mut image = std::mem::take(&mut plan.image);
            let outcome = match (&plan.source, &insert.source) {
                (Source::Rows(computed), InsertSource::Values(rows)) => {
                    values(cx, insert, plan, rows, computed, &mut image)
                }
                (Source::Query(query), _) => selected(cx, insert, plan, query),
                (Source::Rows(_), InsertSource::Query(_)) => {
                    Err(SqlError::internal("another statement's plan"))
                }
            };
            plan.image = image;
            outcome
        },
    )
}

/// What an INSERT or REPLACE does.
struct Insertion {
    table: Arc<TableDef>,
    /// The columns that it gives values.
    columns: Columns,
    on_duplicate: OnDuplicate,
    /// How often it says VALUES(column), which is to be warned of.
    values_calls: usize,
    source: Source,
    /// What a view that it writes through asks of the rows.
    view: ThroughView,
    /// Of the last execution, for its memory.
    image: Vec<u8>,
}

/// Where the values come from.
enum Source {
    /// The statement's rows. Those that have more than bare values, by their numbers.
    Rows(Vec<(usize, Computed)>),
    /// A query, which gives what ON DUPLICATE KEY UPDATE reads of it after the columns' values.
    Query(Box<Query>),
}

/// A row with expressions.
struct Computed {
    /// `None` for a bare value, or for DEFAULT where columns are read.
    exprs: Vec<Option<Expr>>,
    /// They read the columns before them.
    reads_row: bool,
    /// They may read the table, where they see the statement's earlier rows.
    has_subqueries: bool,
}

/// A statement, and what it writes to.
struct InsertTarget<'a> {
    insert: &'a ast::Insert,
    table: Arc<TableDef>,
    /// The columns that get values, by number.
    columns: Vec<usize>,
    /// The view that it writes through.
    view: Option<ChangedView>,
}

impl Insertion {
    fn plan(cx: &mut Context, basis: &mut Basis, insert: &ast::Insert, text: &[u8]) -> Result<Self> {
        let target = match cx.open_to_change(insert.table.database.as_deref(), &insert.table.name)? {
            Some(table) => {
                cx.check_writable_table(&table)?;
                basis.writes(&table);
                let columns = column_numbers(&table, &insert.columns)?;
                InsertTarget { insert, table, columns, view: None }
            }
            None => Self::of_view(cx, basis, insert)?,
        };
        match &insert.source {
            InsertSource::Values(rows) => Self::of_rows(cx, basis, target, rows, text),
            InsertSource::Query(query) => Self::of_query(cx, basis, target, query, text),
        }
    }

    /// INSERT into a view.
    fn of_view<'a>(cx: &mut Context, basis: &mut Basis, insert: &'a ast::Insert) -> Result<InsertTarget<'a>> {
        let more = match (insert.replace, insert.on_duplicate.is_empty()) {
            (true, _) => Privileges::DELETE,
            (_, false) => Privileges::UPDATE,
            _ => Privileges::NONE,
        };
        let change = Change {
            verb: "INSERT",
            privileges: Privileges::INSERT | more,
            shown: &insert.table.name,
            names_columns: !insert.columns.is_empty(),
            replaces: insert.replace,
        };
        let view = ChangedView::open_to_insert(cx, basis, &insert.table, &insert.columns, change)?;
        let columns = view.inserted(&insert.columns, change)?;
        Ok(InsertTarget { insert, table: view.table.clone(), columns, view: Some(view) })
    }

    /// INSERT .. VALUES, and .. SET.
    fn of_rows(
        cx: &mut Context,
        basis: &mut Basis,
        InsertTarget { insert, table, columns, view }: InsertTarget<'_>,
        rows: &[Vec<ast::Expr>],
        text: &[u8],
    ) -> Result<Self> {
        // `VALUES ()`: all defaults.
        let fits =
            |row: &Vec<ast::Expr>| row.len() == columns.len() || row.is_empty() && insert.columns.is_empty();
        if let Some(wrong) = rows.iter().position(|row| !fits(row)) {
            return Err(error::WRONG_VALUE_COUNT_ON_ROW.with(&[&(wrong + 1)]));
        }
        let nothing = Selected::default();
        let into = Into { table: &table, view: view.as_ref(), columns: &columns };
        let on_duplicate = on_duplicate::resolve(cx, insert, into, &nothing, Planning { basis, text })?;
        let bare = Bare::new(cx);
        let mut computed = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            if row.iter().any(|value| !bare.is(value)) {
                let resolver = match &view {
                    Some(view) => resolver_of_view(cx, view, &insert.table.name, text),
                    None => resolver(cx, &table, text),
                };
                let row = Computed::resolve(resolver, basis, row, &bare)?;
                if let Some(view) = &view {
                    row.exprs.iter().flatten().try_for_each(|e| view.check_reads(e))?;
                }
                computed.push((number, row));
            } else {
                row.iter().filter_map(parameter).for_each(|number| basis.takes(number));
            }
        }
        let values_calls = on_duplicate::count_values(insert);
        let columns = Columns::new(&table, columns);
        let source = Source::Rows(computed);
        let view = ThroughView::new(view, insert.replace);
        Ok(Self { table, columns, on_duplicate, values_calls, source, view, image: Vec::new() })
    }

    /// INSERT .. SELECT.
    fn of_query(
        cx: &mut Context,
        basis: &mut Basis,
        InsertTarget { insert, table, columns, view }: InsertTarget<'_>,
        query: &ast::Query,
        text: &[u8],
    ) -> Result<Self> {
        let into = Into { table: &table, view: view.as_ref(), columns: &columns };
        let names = on_duplicate::read_of_query(into, insert, query);
        let widened = on_duplicate::widened(query, &names);
        let ast = widened.as_ref().unwrap_or(query);
        let (mut query, sources) = plan::query_with_sources(cx, basis, ast, text)?;
        on_duplicate::check_names(into, insert, ast, &sources)?;
        if query.columns.len() != columns.len() + names.len() {
            return Err(error::WRONG_VALUE_COUNT_ON_ROW.with(&[&1]));
        }
        let read = Selected { names: &names, columns: &query.columns[columns.len()..] };
        let on_duplicate = on_duplicate::resolve(cx, insert, into, &read, Planning { basis, text })?;
        times_as_numbers(&mut query, &table, &columns);
        let columns = Columns::new(&table, columns);
        let source = Source::Query(Box::new(query));
        let view = ThroughView::new(view, insert.replace);
        Ok(Self { table, columns, on_duplicate, values_calls: 0, source, view, image: Vec::new() })
    }
}

/// A column with a time goes into a YEAR as its number, and a YEAR into a text, unlike expressions,
/// of which the year and the four digits are taken.
fn times_as_numbers(query: &mut Query, table: &TableDef, columns: &[usize]) {
    let Body::Block(block) = &mut query.body else { return };
    for (item, &column) in block.items.iter_mut().zip(columns) {
        let is_number = match item.ty.family {
            Family::Time | Family::DateTime => table.columns[column].ty == DataType::Year,
            Family::Year => {
                matches!(table.columns[column].ty, DataType::Char { .. } | DataType::VarChar { .. })
            }
            _ => false,
        };
        if is_number && matches!(item.node, Node::Column { .. }) {
            let time = item.clone();
            *item = Expr { node: Node::Cast(cast::To::Signed, Box::new(time)), ty: Type::INT };
        }
    }
}

impl Computed {
    fn resolve(
        mut resolver: Resolver<'_>,
        basis: &mut Basis,
        row: &[ast::Expr],
        bare: &Bare,
    ) -> Result<Self> {
        let is_bare: Vec<bool> = row.iter().map(|value| bare.is(value)).collect();
        let mut exprs = Vec::with_capacity(row.len());
        for (ast, is_bare) in row.iter().zip(&is_bare) {
            exprs.push(if *is_bare { None } else { Some(resolver.expr(ast)?) });
        }
        let reads_row = exprs.iter().flatten().any(reads_columns);
        if reads_row {
            let bare = row.iter().zip(&mut exprs).filter(|(_, expr)| expr.is_none());
            for (ast, expr) in bare.filter(|(ast, _)| !matches!(ast.kind, ExprKind::Default(None))) {
                *expr = Some(resolver.expr(ast)?);
            }
        } else {
            row.iter().filter_map(parameter).for_each(|number| basis.takes(number));
        }
        basis.reads(&mut resolver);
        exprs.iter().flatten().for_each(|expr| basis.evaluates(expr));
        let is_subquery = |e: &Expr| matches!(e.node, Node::Subquery(_));
        let has_subqueries = exprs.iter().flatten().any(|e| e.contains(&mut |e| is_subquery(e)));
        Ok(Computed { exprs, reads_row, has_subqueries })
    }
}

/// The number of the parameter that a value is, if it is nothing but that.
fn parameter(value: &ast::Expr) -> Option<u32> {
    match value.kind {
        ExprKind::Parameter(number) => Some(number),
        _ => None,
    }
}

/// The columns named, or all visible ones.
pub(super) fn column_numbers(table: &TableDef, names: &[ast::Ident]) -> Result<Vec<usize>> {
    if names.is_empty() {
        return Ok((0..table.columns.len()).filter(|&c| table.columns[c].visible).collect());
    }
    let mut numbers = Vec::with_capacity(names.len());
    for name in names {
        let number = table.column_index(name);
        let number = number.ok_or_else(|| error::BAD_FIELD_ERROR.with(&[name, &"field list"]))?;
        if numbers.contains(&number) {
            return Err(error::FIELD_SPECIFIED_TWICE.with(&[name]));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

/// INSERT .. VALUES, and .. SET.
fn values(
    cx: &mut Context,
    insert: &ast::Insert,
    plan: &Insertion,
    rows: &[Vec<ast::Expr>],
    computed: &[(usize, Computed)],
    image: &mut Vec<u8>,
) -> Result<()> {
    on_duplicate::warn_of_values(cx, plan.values_calls);
    let table = &plan.table;
    let mut given: SmallVec<[ColumnInput<'_>; 8]> =
        SmallVec::from_elem(ColumnInput::Default, table.columns.len());
    let mut writer = Writer::new(cx, table, &plan.on_duplicate, insert.ignore, rows.len() as u64)
        .of_columns(&plan.columns)
        .through(&plan.view)
        .with_memory(std::mem::take(image));
    let bare = Bare::new(cx);
    let mut computed = computed.iter().peekable();
    let outcome = rows.iter().enumerate().try_for_each(|(number, row)| {
        let computed = computed.next_if(|(of, _)| *of == number).map(|(_, computed)| computed);
        let exprs = computed.map_or(&[][..], |computed| &computed.exprs);
        let sees_rows = number > 0 && computed.is_some_and(|computed| computed.has_subqueries);
        if computed.is_some_and(|computed| computed.reads_row) {
            return draft(cx, &mut writer, &plan.columns.numbers, exprs, sees_rows);
        }
        writer.is_empty_row = row.is_empty();
        for (at, (ast, &column)) in row.iter().zip(&plan.columns.numbers).enumerate() {
            given[column] = match (exprs.get(at), parameter(ast)) {
                (Some(Some(expr)), _) => {
                    let value = seeing_rows(cx, sees_rows, |cx| expr.eval_with_own_digits(cx, Row::None))?;
                    ColumnInput::Value(store::of_expression(value, &expr.ty), charset_of(expr))
                }
                (_, Some(number)) => {
                    let (value, charset) = cx.statement.take_parameter(number as usize);
                    ColumnInput::Value(value, charset)
                }
                _ => bare.value(ast).ok_or_else(|| SqlError::internal("a value is not bare any more"))?,
            };
        }
        writer.write(cx, &mut given)
    });
    let outcome = writer.finish(cx, outcome);
    if outcome.is_ok() && rows.len() > 1 {
        writer.report_counts(cx);
    }
    *image = writer.into_memory();
    outcome
}

/// A row whose expressions read the columns before them.
fn draft(
    cx: &mut Context,
    writer: &mut Writer<'_>,
    columns: &[usize],
    exprs: &[Option<Expr>],
    sees_rows: bool,
) -> Result<()> {
    let mut draft = writer.draft(cx)?;
    for (expr, &column) in exprs.iter().zip(columns) {
        seeing_rows(cx, sees_rows, |cx| set(cx, writer, &mut draft, column, expr.as_ref()))?;
    }
    writer.write_draft(cx, draft)
}

/// Evaluates what reads the rows that the statement has written so far, too: as a statement inside
/// of it would.
fn seeing_rows<T>(
    cx: &mut Context,
    sees_rows: bool,
    eval: impl FnOnce(&mut Context) -> Result<T>,
) -> Result<T> {
    if sees_rows { routine::as_statement(cx, eval) } else { eval(cx) }
}

/// Values that need no evaluation: literals and parameters, and DEFAULT. Most rows have no others.
struct Bare {
    /// The character set that text is in, if it needs no conversion.
    charset: Option<Charset>,
}

impl Bare {
    fn new(cx: &Context) -> Self {
        let connection = cx.settings.connection_collation().charset();
        Self { charset: (cx.settings.statement_charset() == connection).then_some(connection) }
    }

    fn is(&self, expr: &ast::Expr) -> bool {
        use Literal as L;
        match &expr.kind {
            // Known without making the value.
            ExprKind::Parameter(_) | ExprKind::Literal(L::Integer(_) | L::Decimal(_) | L::Null) => true,
            _ => self.value(expr).is_some(),
        }
    }

    /// The value of one that is no parameter.
    fn value<'a>(&self, expr: &'a ast::Expr) -> Option<ColumnInput<'a>> {
        let (value, charset) = match &expr.kind {
            ExprKind::Literal(literal) => self.literal(literal)?,
            ExprKind::Default(None) => return Some(ColumnInput::Default),
            ExprKind::Unary { op: UnaryOp::Minus, operand } => match &operand.kind {
                ExprKind::Literal(Literal::Integer(n)) => {
                    (Datum::Int(i64::try_from(-i128::from(*n)).ok()?), Charset::Ascii)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(ColumnInput::Value(value, charset))
    }

    fn literal<'a>(&self, literal: &'a Literal) -> Option<(Datum<'a>, Charset)> {
        let value = match literal {
            Literal::Null => Datum::Null,
            Literal::Bool(b) => Datum::from_bool(*b),
            Literal::Integer(n) => i64::try_from(*n).map_or(Datum::UInt(*n), Datum::Int),
            Literal::Decimal(digits) => Datum::Decimal(Decimal::parse(digits.as_bytes()).0),
            Literal::Float(text) => Datum::Double(text.parse().ok().filter(|v: &f64| v.is_finite())?),
            Literal::String { bytes, introducer: None } => {
                return Some((Datum::borrowed(bytes), self.charset?));
            }
            Literal::String { bytes, introducer: Some(name) }
                if Charset::by_name(name) == Some(Charset::Binary) =>
            {
                return Some((Datum::borrowed(bytes), Charset::Binary));
            }
            Literal::Hex { bytes, introducer: None } | Literal::Bit { bytes, introducer: None } => {
                return Some((Datum::Bits(bytes[..].into()), Charset::Binary));
            }
            _ => return None,
        };
        Some((value, Charset::Ascii))
    }
}

/// Resolves expressions that may read the row that is being made, as source 0.
pub(super) fn resolver<'c>(cx: &'c mut Context, table: &Arc<TableDef>, text: &'c [u8]) -> Resolver<'c> {
    let locals = routine::locals(cx);
    let scope = Scope { locals, ..Scope::of_table(table.clone(), &table.name) };
    let mut resolver = Resolver::new(cx, scope).with_text(text);
    resolver.targets = vec![table.clone()];
    resolver.targets_by_name = true;
    resolver
}

/// The same through a view, whose columns have names of their own.
pub(super) fn resolver_of_view<'c>(
    cx: &'c mut Context,
    view: &ChangedView,
    alias: &str,
    text: &'c [u8],
) -> Resolver<'c> {
    let locals = routine::locals(cx);
    let scope = Scope { locals, sources: vec![view.source(alias)], ..Scope::empty() };
    let mut resolver = Resolver::new(cx, scope).with_text(text);
    resolver.targets = vec![view.table.clone()];
    resolver.targets_by_name = true;
    resolver
}

/// Gives a draft's column the value of an expression, or its default.
pub(super) fn set(
    cx: &mut Context,
    writer: &mut Writer<'_>,
    draft: &mut RowDraft,
    column: usize,
    expr: Option<&Expr>,
) -> Result<()> {
    let given = match expr {
        Some(expr) => writer.evaluate(cx, draft, expr)?,
        None => ColumnInput::Default,
    };
    writer.set(cx, draft, column, given)
}

/// INSERT .. SELECT.
fn selected(cx: &mut Context, insert: &ast::Insert, plan: &Insertion, query: &Query) -> Result<()> {
    let types: Vec<_> = query.columns.iter().map(|c| c.ty).collect();
    let (columns, width) = (&plan.columns.numbers, plan.table.columns.len());
    let mut writer = Writer::new(cx, &plan.table, &plan.on_duplicate, insert.ignore, 0)
        .of_columns(&plan.columns)
        .through(&plan.view);
    let outcome = query::run(cx, query, &mut |cx, values| {
        let mut given = selected_row(values, &types, columns, width);
        if values.len() > columns.len() {
            writer.selected = values[columns.len()..].iter().map(|v| v.clone().into_owned()).collect();
        }
        writer.write(cx, &mut given)?;
        Ok(true)
    });
    cx.statement.status.found_rows = cx.statement.rows_found;
    if !insert.on_duplicate.is_empty() {
        writer.last_number = 0; // which of them it was is not reported
    }
    writer.finish(cx, outcome.map(drop))?;
    writer.report_counts(cx);
    Ok(())
}

/// What a query's row gives each of a table's columns.
fn selected_row<'a>(
    values: &'a [Datum<'_>],
    types: &[Type],
    columns: &[usize],
    width: usize,
) -> Vec<ColumnInput<'a>> {
    let mut given = vec![ColumnInput::Default; width];
    for ((value, ty), &column) in values.iter().zip(types).zip(columns) {
        let value = store::of_expression(value.borrow(), ty);
        given[column] = ColumnInput::Value(value, charset_of_type(ty));
    }
    given
}

/// Fills a new table with a query's rows: `selected` are the table's columns that they are for.
pub(super) fn fill(
    cx: &mut Context,
    table: Arc<TableDef>,
    selected: &[ColumnDef],
    query: &Query,
    duplicates: LoadDuplicates,
) -> Result<()> {
    let ignore = duplicates == LoadDuplicates::Ignore;
    cx.statement.storing = !ignore;
    let columns: Vec<_> = selected.iter().filter_map(|column| table.column_index(&column.name)).collect();
    let on_duplicate = without_update(duplicates == LoadDuplicates::Replace);
    let width = table.columns.len();
    let mut writer = Writer::new(cx, &table, &on_duplicate, ignore, 0);
    let types: Vec<Type> = query.columns.iter().map(|column| column.ty).collect();
    let around = std::mem::replace(&mut cx.statement.lenient_calls, ignore);
    let outcome = query::run(cx, query, &mut |cx, values| {
        writer.write(cx, &mut selected_row(values, &types, &columns, width)).map(|()| true)
    });
    cx.statement.lenient_calls = around;
    writer.finish(cx, outcome.map(drop))?;
    writer.report_counts(cx);
    Ok(())
}

/// What an INSERT without ON DUPLICATE KEY UPDATE does about duplicates.
pub(super) fn without_update(replace: bool) -> OnDuplicate {
    if replace { OnDuplicate::Replace } else { OnDuplicate::Fail }
}
