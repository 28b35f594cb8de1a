//! Expressions.

use super::{DataType, Ident, Query, Span, Text};

/// An expression and the text that it was made from.
#[derive(Debug, Clone, PartialEq)]
pub struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ExprKind {
    Literal(Literal),
    /// A column, or inside a routine a variable or parameter.
    Column(ColumnName),
    /// `@name`
    UserVariable(Ident),
    /// `@name := value` inside an expression.
    AssignUserVariable {
        name: Ident,
        value: Box<Expr>,
    },
    /// `@@name`
    SystemVariable(Box<SystemVariable>),
    /// `?`, numbered from 0.
    Parameter(u32),

    Unary {
        op: UnaryOp,
        operand: Box<Expr>,
    },
    Binary {
        op: BinaryOp,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// At least two; no operand is itself an `And` unless it stood in parentheses.
    And(Vec<Expr>),
    /// At least two; no operand is itself an `Or` unless it stood in parentheses.
    Or(Vec<Expr>),
    Is {
        operand: Box<Expr>,
        test: Truth,
        negated: bool,
    },
    Between {
        operand: Box<Expr>,
        low: Box<Expr>,
        high: Box<Expr>,
        negated: bool,
    },
    InList {
        operand: Box<Expr>,
        list: Vec<Expr>,
        negated: bool,
    },
    InQuery {
        operand: Box<Expr>,
        query: Box<Query>,
        negated: bool,
    },
    Like {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        escape: Option<Box<Expr>>,
        negated: bool,
    },
    Regexp {
        operand: Box<Expr>,
        pattern: Box<Expr>,
        negated: bool,
    },
    /// `operand op ANY (query)`, `ALL`; `SOME` is `ANY`.
    Quantified {
        op: BinaryOp,
        operand: Box<Expr>,
        all: bool,
        query: Box<Query>,
    },
    Exists(Box<Query>),
    Subquery(Box<Query>),
    /// `(a, b)` or `ROW(a, b)`: at least two.
    Row(Vec<Expr>),
    Case {
        operand: Option<Box<Expr>>,
        branches: Vec<CaseBranch>,
        otherwise: Option<Box<Expr>>,
    },
    /// `CAST(operand AS ty)`, `CONVERT(operand, ty)`, `BINARY operand`. The unary plus is dropped,
    /// as MySQL does.
    Cast {
        operand: Box<Expr>,
        ty: Box<CastType>,
    },
    /// `CONVERT(operand USING charset)`
    ConvertUsing {
        operand: Box<Expr>,
        charset: Ident,
    },
    Collate {
        operand: Box<Expr>,
        collation: Ident,
    },
    /// `date ± INTERVAL amount unit`, `DATE_ADD(date, INTERVAL ..)` and their like.
    DateArithmetic {
        date: Box<Expr>,
        amount: Box<Expr>,
        unit: IntervalUnit,
        subtract: bool,
    },

    /// A call whose arguments are plain expressions.
    Function(Box<FunctionCall>),
    /// COUNT, SUM and the other aggregates, also as window functions.
    Aggregate(Box<Aggregate>),
    /// ROW_NUMBER, LAG and the others that exist as window functions only.
    Window(Box<WindowCall>),
    Trim {
        side: TrimSide,
        remove: Option<Box<Expr>>,
        operand: Box<Expr>,
    },
    Extract {
        unit: IntervalUnit,
        operand: Box<Expr>,
    },
    /// `TIMESTAMPADD(unit, amount, date)` is a `DateArithmetic`; this is
    /// `TIMESTAMPDIFF(unit, from, to)`.
    TimestampDiff {
        unit: IntervalUnit,
        from: Box<Expr>,
        to: Box<Expr>,
    },
    /// `GET_FORMAT(DATE, 'EUR')`: the first word and the expression.
    GetFormat {
        of: GetFormatOf,
        region: Box<Expr>,
    },
    /// `CHAR(65, 66 USING utf8mb4)`
    Char {
        codes: Vec<Expr>,
        charset: Option<Ident>,
    },
    WeightString {
        operand: Box<Expr>,
        cast: Option<WeightCast>,
    },
    Match {
        columns: Vec<ColumnName>,
        against: Box<Expr>,
        mode: MatchMode,
    },
    JsonValue(Box<JsonValue>),
    /// `DEFAULT` as a value, and `DEFAULT(column)`.
    Default(Option<Box<ColumnName>>),
    /// `VALUES(column)` of ON DUPLICATE KEY UPDATE.
    Values(Box<ColumnName>),
}

/// Bytes of strings are the client's, escapes resolved; which character set they have is the
/// session's business, unless an introducer names one.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    Null,
    Bool(bool),
    /// An integer of at most 64 bits. The minus sign is an operator, so this has none.
    Integer(u64),
    /// Any other number without exponent: digits and at most one point, as written.
    Decimal(Box<str>),
    /// A number with exponent, as written; it reads as a double.
    Float(Box<str>),
    String {
        bytes: Box<[u8]>,
        introducer: Option<Ident>,
    },
    /// `x'4D'`, `0x4D`
    Hex {
        bytes: Box<[u8]>,
        introducer: Option<Ident>,
    },
    /// `b'01'`, `0b01`: the bits, padded at the front to whole bytes.
    Bit {
        bytes: Box<[u8]>,
        introducer: Option<Ident>,
    },
    /// `DATE '2020-01-01'`: its text, unchecked.
    Date(Text),
    Time(Text),
    Timestamp(Text),
}

impl Literal {
    /// True for a date or a time with its word before it.
    pub fn is_temporal(&self) -> bool {
        matches!(self, Literal::Date(_) | Literal::Time(_) | Literal::Timestamp(_))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnName {
    pub database: Option<Ident>,
    pub table: Option<Ident>,
    pub column: Ident,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum VariableScope {
    Global,
    Session,
    /// SET only.
    Persist,
    /// SET only.
    PersistOnly,
}

/// A system variable's name: `x`, or with the component or key cache it belongs to, `component.x`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct VariableName {
    pub component: Option<Ident>,
    pub name: Ident,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SystemVariable {
    /// `@@x` without a scope reads the session's value if there is one, else the global one.
    pub scope: Option<VariableScope>,
    pub name: VariableName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnaryOp {
    Minus,
    /// `~`
    BitNot,
    /// `NOT`, `!`
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    Xor,
    Equal,
    /// `<=>`
    NullSafeEqual,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    SoundsLike,
    MemberOf,
    BitOr,
    BitAnd,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    /// `DIV`
    IntDivide,
    /// `%`, `MOD`
    Modulo,
    /// `^`
    BitXor,
}

impl BinaryOp {
    /// True for `=`, `<=>`, `<>`, `<`, `<=`, `>`, `>=`.
    pub fn is_comparison(self) -> bool {
        use BinaryOp::*;
        self.is_ordering() || matches!(self, Equal | NullSafeEqual | NotEqual)
    }

    /// True for `<`, `<=`, `>`, `>=`.
    pub fn is_ordering(self) -> bool {
        use BinaryOp::*;
        matches!(self, Less | LessOrEqual | Greater | GreaterOrEqual)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Truth {
    Null,
    True,
    False,
    Unknown,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CaseBranch {
    pub when: Expr,
    pub then: Expr,
}

/// A call by name. The name is lower case unless a database is given, so that a built-in one can be
/// looked up at once.
#[derive(Debug, Clone, PartialEq)]
pub struct FunctionCall {
    pub database: Option<Ident>,
    pub name: Ident,
    pub arguments: Vec<Expr>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    pub function: AggregateFunction,
    pub distinct: bool,
    /// Empty for `COUNT(*)`; several for `COUNT(DISTINCT a, b)`, GROUP_CONCAT and JSON_OBJECTAGG.
    pub arguments: Vec<Expr>,
    /// GROUP_CONCAT only.
    pub order_by: Vec<OrderItem>,
    /// GROUP_CONCAT only; a comma if absent.
    pub separator: Option<Text>,
    pub over: Option<Box<Over>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateFunction {
    Count,
    Sum,
    Avg,
    Min,
    Max,
    GroupConcat,
    BitAnd,
    BitOr,
    BitXor,
    StddevPop,
    StddevSamp,
    VarPop,
    VarSamp,
    JsonArrayAgg,
    JsonObjectAgg,
    AnyValue,
    StCollect,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WindowCall {
    pub function: WindowFunction,
    pub arguments: Vec<Expr>,
    /// `NTH_VALUE(..) FROM LAST`
    pub from_last: bool,
    pub ignore_nulls: bool,
    pub over: Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WindowFunction {
    RowNumber,
    Rank,
    DenseRank,
    CumeDist,
    PercentRank,
    Ntile,
    Lead,
    Lag,
    FirstValue,
    LastValue,
    NthValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Over {
    Named(Ident),
    Window(WindowSpec),
}

#[derive(Debug, Clone, PartialEq)]
pub struct WindowSpec {
    pub base: Option<Ident>,
    pub partition_by: Vec<Expr>,
    pub order_by: Vec<OrderItem>,
    pub frame: Option<WindowFrame>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct WindowFrame {
    pub unit: FrameUnit,
    pub start: FrameBound,
    /// The current row where none is written.
    pub end: FrameBound,
    /// `EXCLUDE ..`
    pub exclude: Option<FrameExclusion>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameUnit {
    Rows,
    Range,
    Groups,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameExclusion {
    CurrentRow,
    Group,
    Ties,
    NoOthers,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FrameBound {
    CurrentRow,
    UnboundedPreceding,
    UnboundedFollowing,
    Preceding(Expr, Option<IntervalUnit>),
    Following(Expr, Option<IntervalUnit>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    pub expr: Expr,
    pub descending: bool,
}

/// What CAST makes.
#[derive(Debug, Clone, PartialEq)]
pub struct CastType {
    pub ty: DataType,
    /// `AS UNSIGNED ARRAY`, for multi-valued indexes.
    pub array: bool,
    /// `CAST(x AT TIME ZONE '+00:00' AS DATETIME)`: the zone.
    pub time_zone: Option<Text>,
    /// Written `BINARY x`, which names the column after `x`'s text with it.
    pub prefix: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TrimSide {
    Both,
    Leading,
    Trailing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GetFormatOf {
    Date,
    Time,
    Datetime,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MatchMode {
    NaturalLanguage,
    Boolean,
    /// `WITH QUERY EXPANSION`, which implies natural language.
    QueryExpansion,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum WeightCast {
    Char(u64),
    Binary(u64),
}

#[derive(Debug, Clone, PartialEq)]
pub struct JsonValue {
    pub document: Expr,
    pub path: Expr,
    pub returning: Option<DataType>,
    pub on_empty: Option<JsonOn>,
    pub on_error: Option<JsonOn>,
}

/// The answer of JSON_VALUE and JSON_TABLE where there is none.
#[derive(Debug, Clone, PartialEq)]
pub enum JsonOn {
    Null,
    Error,
    Default(Expr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IntervalUnit {
    Microsecond,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    SecondMicrosecond,
    MinuteMicrosecond,
    MinuteSecond,
    HourMicrosecond,
    HourSecond,
    HourMinute,
    DayMicrosecond,
    DaySecond,
    DayMinute,
    DayHour,
    YearMonth,
}
