//! SELECT and what stands for it: VALUES, TABLE, set operations; the tables they read.

use super::{DataType, Expr, Ident, JsonOn, ObjectName, OrderItem, Span, Text, WindowSpec};

/// A query expression: a body, and what applies to the whole of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub span: Span,
    pub with: Option<Box<With>>,
    pub body: QueryBody,
    pub order_by: Vec<OrderItem>,
    pub limit: Option<Limit>,
    pub locking: Vec<Locking>,
    pub into: Option<Box<IntoTarget>>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum QueryBody {
    Select(Box<Select>),
    /// `VALUES ROW(1,2), ROW(3,4)`
    Values(Vec<Vec<Expr>>),
    /// `TABLE t`
    Table(ObjectName),
    SetOperation {
        op: SetOp,
        all: bool,
        left: Box<QueryBody>,
        right: Box<QueryBody>,
    },
    /// A body in parentheses that has an ORDER BY, LIMIT, .. of its own.
    Nested(Box<Query>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SetOp {
    Union,
    Except,
    Intersect,
}

#[derive(Debug, Clone, PartialEq)]
pub struct With {
    pub recursive: bool,
    pub tables: Vec<std::sync::Arc<CommonTable>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CommonTable {
    pub name: Ident,
    pub columns: Vec<Ident>,
    pub query: Query,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Select {
    /// The optimizer hints about it.
    pub hints: Vec<super::PlanHint>,
    pub options: SelectOptions,
    pub items: Vec<SelectItem>,
    /// Tables separated by commas; empty without FROM and for `FROM DUAL`.
    pub from: Vec<TableReference>,
    pub filter: Option<Expr>,
    pub group_by: Vec<Expr>,
    pub with_rollup: bool,
    pub having: Option<Expr>,
    pub windows: Vec<(Ident, WindowSpec)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SelectOptions {
    pub distinct: bool,
    pub high_priority: bool,
    pub straight_join: bool,
    pub small_result: bool,
    pub big_result: bool,
    pub buffer_result: bool,
    pub calc_found_rows: bool,
    /// `SQL_NO_CACHE`: accepted and without meaning.
    pub no_cache: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SelectItem {
    /// `*`
    All,
    /// `t.*`, `db.t.*`
    AllOf(ObjectName),
    Expr {
        expr: Expr,
        alias: Option<Ident>,
    },
}

/// `LIMIT count`, `LIMIT offset, count`, `LIMIT count OFFSET offset`: integers, parameters or a
/// routine's variables.
#[derive(Debug, Clone, PartialEq)]
pub struct Limit {
    pub count: Expr,
    pub offset: Option<Expr>,
}

/// `FOR UPDATE`, `FOR SHARE`, `LOCK IN SHARE MODE`
#[derive(Debug, Clone, PartialEq)]
pub struct Locking {
    pub strength: LockStrength,
    /// All tables if empty.
    pub tables: Vec<ObjectName>,
    pub wait: LockWait,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockStrength {
    Share,
    Update,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LockWait {
    Wait,
    NoWait,
    SkipLocked,
}

/// Where SELECT .. INTO puts its rows.
#[derive(Debug, Clone, PartialEq)]
pub enum IntoTarget {
    /// User variables and a routine's variables.
    Variables(Vec<IntoVariable>),
    OutFile {
        path: Text,
        charset: Option<Ident>,
        format: FileFormat,
    },
    DumpFile(Text),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IntoVariable {
    User(Ident),
    Local(Ident),
}

/// FIELDS and LINES of SELECT .. INTO OUTFILE and LOAD DATA; absent ones have MySQL's defaults.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FileFormat {
    pub fields_terminated: Option<Text>,
    pub enclosed: Option<Text>,
    pub optionally_enclosed: bool,
    pub escaped: Option<Text>,
    pub lines_starting: Option<Text>,
    pub lines_terminated: Option<Text>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TableReference {
    Table(TableFactor),
    Derived(Box<Derived>),
    JsonTable(Box<JsonTable>),
    Join(Box<Join>),
    /// `(t1, t2)`: a cross join of at least two.
    Group(Vec<TableReference>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableFactor {
    pub name: ObjectName,
    pub partitions: Vec<Ident>,
    pub alias: Option<Ident>,
    pub hints: Vec<IndexHint>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Derived {
    pub lateral: bool,
    pub query: Query,
    pub alias: Ident,
    pub columns: Vec<Ident>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Join {
    pub kind: JoinKind,
    pub natural: bool,
    pub left: TableReference,
    pub right: TableReference,
    pub condition: JoinCondition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JoinKind {
    /// `JOIN`, `INNER JOIN`, `CROSS JOIN`
    Inner,
    Left,
    Right,
    /// `STRAIGHT_JOIN`: inner, the left table first.
    Straight,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JoinCondition {
    None,
    On(Expr),
    Using(Vec<Ident>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexHint {
    pub action: IndexHintAction,
    pub scope: IndexHintScope,
    /// `PRIMARY` is a name too; `USE INDEX ()` has none.
    pub indexes: Vec<Ident>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexHintAction {
    Use,
    Ignore,
    Force,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexHintScope {
    All,
    Join,
    OrderBy,
    GroupBy,
}

#[derive(Debug, Clone, PartialEq)]
pub struct JsonTable {
    pub document: Expr,
    pub path: Text,
    pub columns: Vec<JsonTableColumn>,
    pub alias: Ident,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JsonTableColumn {
    Ordinality(Ident),
    Value {
        name: Ident,
        ty: DataType,
        /// `EXISTS PATH`
        exists: bool,
        path: Text,
        on_empty: Option<JsonOn>,
        on_error: Option<JsonOn>,
    },
    Nested {
        path: Text,
        columns: Vec<JsonTableColumn>,
    },
}

impl Query {
    /// A query that is nothing but `body`.
    pub fn of(body: QueryBody, span: Span) -> Query {
        Query { span, with: None, body, order_by: Vec::new(), limit: None, locking: Vec::new(), into: None }
    }

    /// The body's SELECT, if it is a plain one.
    #[cfg(test)]
    pub(crate) fn as_select(&self) -> Option<&Select> {
        match &self.body {
            QueryBody::Select(select) => Some(select),
            _ => None,
        }
    }
}
