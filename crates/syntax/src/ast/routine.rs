//! Stored functions, procedures and triggers, and the statements that only their bodies can hold.

use super::{Account, DataType, Expr, Ident, ObjectName, Query, Span, Statement, Text};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoutineKind {
    Function,
    Procedure,
}

impl RoutineKind {
    /// `FUNCTION` or `PROCEDURE`.
    pub fn name(self) -> &'static str {
        match self {
            RoutineKind::Function => "FUNCTION",
            RoutineKind::Procedure => "PROCEDURE",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateRoutine {
    pub kind: RoutineKind,
    pub definer: Option<Account>,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub parameters: Vec<RoutineParameter>,
    /// The text between the parentheses, for the catalog.
    pub parameters_span: Span,
    /// What a function returns; a procedure has none.
    pub returns: Option<DataType>,
    pub characteristics: Characteristics,
    pub body: Statement,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoutineParameter {
    pub mode: ParameterMode,
    pub name: Ident,
    pub ty: DataType,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ParameterMode {
    In,
    Out,
    InOut,
}

/// What was said of a routine; the last of a kind counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Characteristics {
    pub comment: Option<Text>,
    pub language: Option<Ident>,
    pub deterministic: Option<bool>,
    pub data_access: Option<DataAccess>,
    pub security: Option<SqlSecurity>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataAccess {
    ContainsSql,
    NoSql,
    ReadsSqlData,
    ModifiesSqlData,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SqlSecurity {
    Definer,
    Invoker,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTrigger {
    pub definer: Option<Account>,
    pub if_not_exists: bool,
    pub name: ObjectName,
    pub time: TriggerTime,
    pub event: TriggerEvent,
    pub table: ObjectName,
    pub order: Option<TriggerOrder>,
    pub body: Statement,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TriggerTime {
    Before,
    After,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TriggerEvent {
    Insert,
    Update,
    Delete,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TriggerOrder {
    Follows(Ident),
    Precedes(Ident),
}

/// The statements of a routine's body that can't stand alone.
#[derive(Debug, Clone, PartialEq)]
pub enum Compound {
    Block(Block),
    If {
        branches: Vec<(Expr, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    },
    /// Without a matching branch and without ELSE, error 1339.
    Case {
        operand: Option<Expr>,
        branches: Vec<(Expr, Vec<Statement>)>,
        otherwise: Option<Vec<Statement>>,
    },
    Loop {
        label: Option<Ident>,
        body: Vec<Statement>,
    },
    While {
        label: Option<Ident>,
        condition: Expr,
        body: Vec<Statement>,
    },
    Repeat {
        label: Option<Ident>,
        body: Vec<Statement>,
        until: Expr,
    },
    Leave(Ident),
    Iterate(Ident),
    Return(Expr),
    Open(Ident),
    Fetch {
        cursor: Ident,
        into: Vec<Ident>,
    },
    Close(Ident),
}

/// `BEGIN .. END` with its declarations, in the order that MySQL demands: variables and conditions,
/// cursors, handlers.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    pub label: Option<Ident>,
    pub declarations: Vec<Declaration>,
    pub body: Vec<Statement>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Declaration {
    Variables { names: Vec<Ident>, ty: DataType, default: Option<Expr> },
    Condition { name: Ident, value: ConditionValue },
    Cursor { name: Ident, query: Box<Query> },
    Handler { action: HandlerAction, conditions: Vec<ConditionValue>, body: Box<Statement> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HandlerAction {
    Continue,
    Exit,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConditionValue {
    Error(u64),
    SqlState([u8; 5]),
    Named(Ident),
    SqlWarning,
    NotFound,
    SqlException,
}

/// SIGNAL and RESIGNAL.
#[derive(Debug, Clone, PartialEq)]
pub struct Signal {
    pub resignal: bool,
    /// RESIGNAL can do without.
    pub condition: Option<ConditionValue>,
    /// `MESSAGE_TEXT = ..`, the name in upper case.
    pub items: Vec<(Ident, Expr)>,
}

/// GET DIAGNOSTICS. The targets are user variables ([`super::ExprKind::UserVariable`]) or a
/// routine's variables.
#[derive(Debug, Clone, PartialEq)]
pub struct GetDiagnostics {
    pub stacked: bool,
    /// `CONDITION number`; absent for the statement's own items.
    pub condition: Option<Expr>,
    pub items: Vec<(Expr, Ident)>,
}
