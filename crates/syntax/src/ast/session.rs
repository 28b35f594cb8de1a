//! What a session says about itself: SET, transactions, XA, LOCK TABLES, PREPARE.

use super::{Account, Expr, Ident, ObjectName, Text, VariableName, VariableScope};

/// One item of a SET statement, which are done in order.
#[derive(Debug, Clone, PartialEq)]
pub enum SetItem {
    /// `@name = value`
    UserVariable { name: Ident, value: Expr },
    /// `[scope] name = value`. Without a scope it's the session's value, or inside a routine a
    /// variable of that name; `NEW.x` of a trigger is a name with a component. `None` is DEFAULT.
    Variable { scope: Option<VariableScope>, name: VariableName, value: Option<Expr> },
    /// `NAMES charset [COLLATE collation]`; `None` is DEFAULT.
    Names { charset: Option<Ident>, collation: Option<Ident> },
    /// `CHARACTER SET charset`; `None` is DEFAULT.
    CharacterSet(Option<Ident>),
    /// `[GLOBAL | SESSION] TRANSACTION ..`; without a scope it's for the next transaction only.
    Transaction { scope: Option<VariableScope>, isolation: Option<Isolation>, read_only: Option<bool> },
    /// `PASSWORD [FOR user] = 'text'`; `None` is TO RANDOM.
    Password { user: Option<Account>, password: Option<Text>, replace: Option<Text>, retain_current: bool },
    /// `RESOURCE GROUP name`
    ResourceGroup(Ident),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

/// START TRANSACTION's options; `BEGIN` has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionOptions {
    pub consistent_snapshot: bool,
    pub read_only: Option<bool>,
}

/// `[AND [NO] CHAIN] [[NO] RELEASE]`; what wasn't said is up to `completion_type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Completion {
    pub chain: Option<bool>,
    pub release: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Xa {
    /// `XA START xid`, `XA BEGIN xid`
    Start {
        xid: Xid,
        join: bool,
        resume: bool,
    },
    End {
        xid: Xid,
        suspend: bool,
        for_migrate: bool,
    },
    Prepare(Xid),
    Commit {
        xid: Xid,
        one_phase: bool,
    },
    Rollback(Xid),
    Recover {
        convert_xid: bool,
    },
}

/// An XA transaction's name: at most 64 bytes each, which the executor checks.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Xid {
    pub gtrid: Text,
    pub bqual: Text,
    pub format: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LockTable {
    pub table: ObjectName,
    pub alias: Option<Ident>,
    pub mode: TableLock,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TableLock {
    Read,
    ReadLocal,
    Write,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PrepareSource {
    Text(Text),
    Variable(Ident),
}
