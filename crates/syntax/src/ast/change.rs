//! Statements that change rows: INSERT, REPLACE, UPDATE, DELETE, LOAD DATA; and HANDLER, which
//! reads them one by one.

use super::{
    ColumnName, Expr, FileFormat, Ident, Limit, ObjectName, OrderItem, Query, TableReference, Text, With,
};

/// INSERT and REPLACE.
#[derive(Debug, Clone, PartialEq)]
pub struct Insert {
    /// The optimizer hints about it, if it has rows of its own and no query.
    pub hints: Vec<super::PlanHint>,
    pub replace: bool,
    pub ignore: bool,
    pub priority: Priority,
    pub table: ObjectName,
    pub partitions: Vec<Ident>,
    /// Empty: all columns in their order.
    pub columns: Vec<Ident>,
    pub source: InsertSource,
    /// `AS new(a, b)`
    pub row_alias: Option<RowAlias>,
    pub on_duplicate: Vec<Assignment>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum InsertSource {
    /// `VALUES (..), (..)`, and `SET a = ..`, whose names are in `columns`. A row may be empty: all
    /// defaults.
    Values(Vec<Vec<Expr>>),
    Query(Box<Query>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowAlias {
    pub name: Ident,
    pub columns: Vec<Ident>,
}

/// `LOW_PRIORITY`, `HIGH_PRIORITY`, `DELAYED`, `CONCURRENT`: kept for completeness, without effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Priority {
    #[default]
    Normal,
    Low,
    High,
    Delayed,
    Concurrent,
}

/// `column = value`; a value of `DEFAULT` is [`ExprKind::Default`](super::ExprKind::Default).
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub column: ColumnName,
    pub value: Expr,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// The optimizer hints about it.
    pub hints: Vec<super::PlanHint>,
    pub with: Option<Box<With>>,
    pub low_priority: bool,
    pub ignore: bool,
    /// One table, or a join (or several) in the multi-table form, which has neither ORDER BY nor
    /// LIMIT.
    pub tables: Vec<TableReference>,
    pub assignments: Vec<Assignment>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Delete {
    /// The optimizer hints about it.
    pub hints: Vec<super::PlanHint>,
    pub with: Option<Box<With>>,
    pub low_priority: bool,
    pub quick: bool,
    pub ignore: bool,
    /// The tables to delete from in the multi-table form; empty in the single-table form.
    pub targets: Vec<ObjectName>,
    pub from: Vec<TableReference>,
    pub filter: Option<Expr>,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct LoadData {
    pub xml: bool,
    pub priority: Priority,
    pub local: bool,
    pub path: Text,
    pub on_duplicate: LoadDuplicates,
    pub table: ObjectName,
    pub partitions: Vec<Ident>,
    pub charset: Option<Ident>,
    /// `ROWS IDENTIFIED BY`, LOAD XML only.
    pub rows_identified: Option<Text>,
    pub format: FileFormat,
    pub ignore_lines: u64,
    pub targets: Vec<LoadTarget>,
    pub assignments: Vec<Assignment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadDuplicates {
    Error,
    Ignore,
    Replace,
}

/// Where a field of the file goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoadTarget {
    Column(Ident),
    Variable(Ident),
}

#[derive(Debug, Clone, PartialEq)]
pub enum HandlerStatement {
    Open { table: ObjectName, alias: Option<Ident> },
    Close(Ident),
    Read(Box<HandlerRead>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct HandlerRead {
    pub table: Ident,
    pub index: Option<Ident>,
    pub step: HandlerStep,
    pub filter: Option<Expr>,
    pub limit: Option<Limit>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum HandlerStep {
    First,
    Next,
    Prev,
    Last,
    /// `index = (1, 2)` and the other comparisons.
    Key(super::BinaryOp, Vec<Expr>),
}
