//! Listings: what SHOW shows, as a table that exists only for one statement.
//!
//! Each SHOW makes a [`Listing`], columns and rows; LIKE and WHERE are applied here, once for all
//! of them. LIKE tests one column, the first unless the listing says otherwise; WHERE is an
//! expression over all columns, by the names that the client sees.
//!
//! What system tables have of the same, they take from here: [`definitions`], [`server`],
//! [`variables`].

pub(crate) mod definitions;
pub(crate) mod server;
pub(crate) mod variables;

use std::borrow::Cow;
use std::sync::Arc;

use crate::expression::{Expr, Node, Resolver, Row, Scope};
use crate::like;
use crate::output::{Described, Output, OutputColumn};
use crate::session::Context;
use datum::error::Result;
use datum::sink::ResultSink;
use datum::types::{Coercibility, Collation, Type};
use datum::value::{DateTime, Datum};
use syntax::ast::{self, ShowFilter};

/// `utf8mb4_bin`: names of databases and tables differ in case.
const NAMES: Collation = Collation(46);

/// A column of a listing.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Its name, as the client sees it and WHERE uses it.
    pub name: Cow<'static, str>,
    /// Its type.
    pub ty: Type,
}

/// Text of at most so many characters, never NULL.
pub(crate) fn text(name: impl Into<Cow<'static, str>>, length: u32) -> Column {
    let ty = Type::text(Collation::UTF8MB4_0900_AI_CI, Coercibility::Implicit, length);
    Column { name: name.into(), ty: ty.not_null() }
}

/// The name of a database or table.
pub(crate) fn name(name: impl Into<Cow<'static, str>>) -> Column {
    Column { name: name.into(), ty: Type::text(NAMES, Coercibility::Implicit, 64).not_null() }
}

/// A signed number, never NULL.
pub(crate) fn int(name: &'static str) -> Column {
    Column { name: name.into(), ty: Type::INT.not_null() }
}

/// An unsigned number, never NULL.
pub(crate) fn uint(name: &'static str) -> Column {
    Column { name: name.into(), ty: Type::UINT.not_null() }
}

/// A date and time, never NULL.
pub(crate) fn moment(name: &'static str) -> Column {
    Column { name: name.into(), ty: Type::datetime(0).not_null() }
}

/// The same with hundredths of seconds.
pub(crate) fn moment_with_hundredths(name: &'static str) -> Column {
    Column { name: name.into(), ty: Type::datetime(2).not_null() }
}

impl Column {
    /// The same, which can be NULL.
    pub(crate) fn or_null(mut self) -> Self {
        self.ty.nullable = true;
        self
    }
}

/// A cell made of what listings are made of.
pub(crate) trait IntoCell {
    /// The value.
    fn into_cell(self) -> Datum<'static>;
}

impl IntoCell for &str {
    fn into_cell(self) -> Datum<'static> {
        Datum::owned(self)
    }
}

impl IntoCell for String {
    fn into_cell(self) -> Datum<'static> {
        Datum::owned(self)
    }
}

impl IntoCell for Vec<u8> {
    fn into_cell(self) -> Datum<'static> {
        Datum::owned(self)
    }
}

impl IntoCell for Cow<'_, str> {
    fn into_cell(self) -> Datum<'static> {
        Datum::owned(self.into_owned())
    }
}

impl IntoCell for u64 {
    fn into_cell(self) -> Datum<'static> {
        Datum::UInt(self)
    }
}

impl IntoCell for i64 {
    fn into_cell(self) -> Datum<'static> {
        Datum::Int(self)
    }
}

impl IntoCell for f64 {
    fn into_cell(self) -> Datum<'static> {
        Datum::Double(self)
    }
}

impl IntoCell for DateTime {
    fn into_cell(self) -> Datum<'static> {
        Datum::DateTime(self)
    }
}

impl<T: IntoCell> IntoCell for Option<T> {
    fn into_cell(self) -> Datum<'static> {
        self.map_or(Datum::Null, T::into_cell)
    }
}

/// A row of cells, each of a type of its own.
macro_rules! cells {
    ($($cell:expr),* $(,)?) => {
        vec![$($crate::listing::IntoCell::into_cell($cell)),*]
    };
}
pub(crate) use cells;

/// Columns and rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    columns: Vec<Column>,
    rows: Vec<Vec<Datum<'static>>>,
    /// The column that LIKE tests.
    pattern_column: usize,
    /// The pattern is shown after the tested column's name: `Database (a%)`.
    shows_pattern: bool,
}

impl Listing {
    /// An empty listing of these columns.
    pub(crate) fn new(columns: impl Into<Vec<Column>>) -> Self {
        Listing { columns: columns.into(), ..Listing::default() }
    }

    /// LIKE tests this column instead of the first.
    pub(crate) fn pattern_on(mut self, column: usize) -> Self {
        self.pattern_column = column;
        self
    }

    /// A pattern is shown after the tested column's name.
    pub(crate) fn showing_pattern(mut self) -> Self {
        self.shows_pattern = true;
        self
    }

    /// Adds a row: a cell for each column.
    pub(crate) fn push(&mut self, row: Vec<Datum<'static>>) {
        debug_assert_eq!(row.len(), self.columns.len(), "a cell for each column");
        self.rows.push(row);
    }

    pub(crate) fn rows(&self) -> &[Vec<Datum<'static>>] {
        &self.rows
    }

    /// The rows, to be used otherwise.
    pub(crate) fn into_rows(self) -> Vec<Vec<Datum<'static>>> {
        self.rows
    }

    /// Keeps the rows that the statement asked for.
    pub(crate) fn filter(&mut self, filter: &ShowFilter, cx: &mut Context) -> Result<()> {
        match filter {
            ShowFilter::None => {}
            ShowFilter::Like(pattern) => {
                let column = self.pattern_column;
                self.rows.retain(|row| matches(&row[column].to_bytes(), pattern, self.columns[column].ty));
                if self.shows_pattern {
                    let name = &mut self.columns[column].name;
                    *name = format!("{name} ({})", pattern.to_str_lossy()).into();
                }
            }
            ShowFilter::Where(condition) => self.keep_where(condition, cx)?,
        }
        Ok(())
    }

    /// Keeps `count` rows from the row `offset` on.
    pub(crate) fn limit(&mut self, offset: u64, count: u64) {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.rows.len());
        self.rows.drain(..offset);
        self.rows.truncate(usize::try_from(count).unwrap_or(usize::MAX));
    }

    fn keep_where(&mut self, condition: &ast::Expr, cx: &mut Context) -> Result<()> {
        let condition = Resolver::new(cx, self.scope()).expr(condition)?;
        let mut failed = None;
        self.rows.retain(|row| {
            failed.is_none()
                && condition.truth(cx, Row::Values(row)).unwrap_or_else(|e| {
                    failed = Some(e);
                    None
                }) == Some(true)
        });
        failed.map_or(Ok(()), Err)
    }

    /// The columns as names of expressions.
    fn scope(&self) -> Scope {
        let columns = self.columns.iter().enumerate().map(|(column, of)| {
            (of.name.as_ref().into(), Expr { node: Node::Column { source: 0, column }, ty: of.ty })
        });
        Scope { aliases: columns.collect(), clause: "where clause", ..Scope::empty() }
    }

    /// Sends all of it.
    pub(crate) fn send(self, cx: &Context, sink: &mut dyn ResultSink) -> Result<()> {
        let mut output = self.begin(cx, sink)?;
        for mut row in self.rows {
            output.row(&mut row)?;
        }
        Ok(())
    }

    /// Sends the columns; the caller sends rows as it finds them.
    pub(crate) fn begin<'s>(&self, cx: &Context, sink: &'s mut dyn ResultSink) -> Result<Output<'s>> {
        let columns: Vec<_> = self.columns.iter().map(|c| OutputColumn::computed(&c.name, c.ty)).collect();
        Output::begin(sink, Arc::new(Described::new(cx.settings.results_collation(), &columns)))
    }
}

/// LIKE under the column's collation.
fn matches(value: &[u8], pattern: &[u8], ty: Type) -> bool {
    like::name_matches(value, pattern, Some(b'\\'), ty.collation)
}
