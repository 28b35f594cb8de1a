//! What the parser says about a statement.
//!
//! A [`Statement`] is an owned tree (`Box`, `Vec`): it outlives its text, so that prepared
//! statements, cached statements and routine bodies can be kept, and a point SELECT costs about a
//! dozen small allocations.
//!
//! 1. Names are kept as written; whether `x` is a column, a routine's variable or an alias is the
//!    executor's business.
//! 2. A [`Span`] is a byte range of the text that was parsed. Expressions have one, for a result
//!    column is named after its source text; statements have one, for the binary log keeps their
//!    text; routine bodies have one, for the catalog keeps theirs.
//! 3. Two trees are equal if they mean the same, wherever they stood: spans don't take part in
//!    `==`.
//! 4. Synonyms are folded where MySQL itself folds them: `CURRENT_TIMESTAMP` is the function `now`,
//!    `SUBSTRING(a FROM b)` is `substr(a,b)`, `a -> '$.x'` is `json_extract(a,'$.x')`, `SCHEMA` is
//!    `DATABASE`.
//! 5. Chains of AND and OR are flat, so that a list of thousands of them is no deep tree. The
//!    height of everything else is bounded by the parser, so that walking and dropping a tree can
//!    be recursive.
//!
//! Reading order: [`expression`], [`query`], [`change`] (INSERT, UPDATE, ..), [`data_type`],
//! [`table`] (CREATE and ALTER TABLE), [`routine`], [`session`] (SET, transactions), [`admin`]
//! (SHOW, users, maintenance), [`hint`]; [`visit`] walks over all of it, [`visit_mut`] changes
//! queries.
#![allow(missing_docs)] // variants and fields carry the grammar's own words; a comment where those don't say it all

mod admin;
mod change;
mod data_type;
mod event;
mod expression;
mod hint;
mod query;
mod remark;
mod routine;
mod session;
mod table;
pub mod visit;
pub mod visit_mut;
mod walk;

pub use admin::*;
pub use change::*;
pub use data_type::*;
pub use event::*;
pub use expression::*;
pub use hint::*;
pub use query::*;
pub use remark::*;
pub use routine::*;
pub use session::*;
pub use table::*;

use std::fmt;
use std::ops::{Deref, Range};

/// A byte range of the parsed text. All spans are equal to each other (see the module's third
/// point).
#[derive(Debug, Clone, Copy, Default)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    /// The range, for slicing the text.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The part of `text` that this names; empty if it isn't the text that was parsed.
    pub fn of(self, text: &[u8]) -> &[u8] {
        text.get(self.range()).unwrap_or_default()
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

/// An identifier, without its quotes. Case is kept; how it compares depends on what it names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ident(Box<str>);

impl Ident {
    pub fn new(text: impl Into<Box<str>>) -> Ident {
        Ident(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Compares without regard to ASCII case, as keywords, function and variable names do.
    pub fn is(&self, other: &str) -> bool {
        self.0.eq_ignore_ascii_case(other)
    }
}

impl Deref for Ident {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Ident {
    fn from(text: &str) -> Ident {
        Ident(text.into())
    }
}

impl fmt::Display for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Ident {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The content of a string that is no expression (a comment, a password, a file name), as bytes of
/// the statement's character set ([`crate::types::Charset::of_statements`]).
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text(Box<[u8]>);

impl Text {
    pub fn new(bytes: impl Into<Box<[u8]>>) -> Text {
        Text(bytes.into())
    }

    /// As UTF-8, wrong bytes replaced.
    pub fn to_str_lossy(&self) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(&self.0)
    }
}

impl Deref for Text {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_str_lossy(), f)
    }
}

/// The name of a table, view, routine or trigger, with its database if one was given.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ObjectName {
    pub database: Option<Ident>,
    pub name: Ident,
}

/// `'name'@'host'`, or `CURRENT_USER`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Account {
    CurrentUser,
    /// The host is `%` if none was given.
    Named {
        user: Text,
        host: Text,
    },
}

/// One statement and where it stood, without the delimiter.
#[derive(Debug, Clone, PartialEq)]
pub struct Statement {
    pub kind: StatementKind,
    pub span: Span,
    /// How many `?` it has; they are numbered from 0 in order of appearance.
    pub parameters: u32,
    /// What is to be said of its text, and what the text says of how it is run.
    pub remarks: Remarks,
    /// Where it names an ALGORITHM other than COPY, or a LOCK. They are for this server alone: the
    /// log says DEFAULT there.
    pub algorithm_and_lock: Vec<Span>,
}

/// Whose master key is rotated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MasterKey {
    /// `INNODB`
    Tables,
    /// `BINLOG`
    Log,
}

/// What a statement does. Large ones are boxed, so that the enum stays small.
#[derive(Debug, Clone, PartialEq)]
pub enum StatementKind {
    // Queries and changes.
    Query(Box<Query>),
    Insert(Box<Insert>),
    Update(Box<Update>),
    Delete(Box<Delete>),
    LoadData(Box<LoadData>),
    Call {
        name: ObjectName,
        arguments: Vec<Expr>,
    },
    Do(Vec<Expr>),
    Handler(Box<HandlerStatement>),

    // Databases, tables, indexes, views.
    CreateDatabase(Box<CreateDatabase>),
    AlterDatabase {
        name: Option<Ident>,
        options: DatabaseOptions,
    },
    DropDatabase {
        name: Ident,
        if_exists: bool,
    },
    CreateTable(Box<CreateTable>),
    AlterTable(Box<AlterTable>),
    DropTable(DropTable),
    TruncateTable(ObjectName),
    RenameTable(Vec<(ObjectName, ObjectName)>),
    CreateIndex(Box<CreateIndex>),
    DropIndex(Box<DropIndex>),
    CreateView(Box<CreateView>),
    DropView {
        names: Vec<ObjectName>,
        if_exists: bool,
    },

    // Routines and triggers.
    CreateRoutine(Box<CreateRoutine>),
    AlterRoutine {
        kind: RoutineKind,
        name: ObjectName,
        characteristics: Characteristics,
    },
    DropRoutine {
        kind: RoutineKind,
        name: ObjectName,
        if_exists: bool,
    },
    CreateTrigger(Box<CreateTrigger>),
    DropTrigger {
        name: ObjectName,
        if_exists: bool,
    },
    CreateEvent(Box<CreateEvent>),
    AlterEvent(Box<AlterEvent>),
    DropEvent {
        name: ObjectName,
        if_exists: bool,
    },
    /// The name of a foreign server.
    DropServer {
        name: Ident,
        if_exists: bool,
    },
    /// A statement that only a routine's body can hold.
    Compound(Box<Compound>),

    // The session.
    Use(Ident),
    Set(Vec<SetItem>),
    Begin(TransactionOptions),
    Commit(Completion),
    Rollback(Completion),
    Savepoint(Ident),
    RollbackTo(Ident),
    ReleaseSavepoint(Ident),
    Xa(Xa),
    LockTables(Vec<LockTable>),
    UnlockTables,
    LockInstance,
    UnlockInstance,
    /// `ALTER INSTANCE ROTATE .. MASTER KEY`
    RotateMasterKey(MasterKey),
    Prepare {
        name: Ident,
        source: PrepareSource,
    },
    Execute {
        name: Ident,
        using: Vec<Ident>,
    },
    Deallocate(Ident),
    Signal(Box<Signal>),
    GetDiagnostics(Box<GetDiagnostics>),

    // Looking and maintaining.
    Show(Box<Show>),
    Explain(Box<Explain>),
    Help(Text),
    Kill {
        what: KillWhat,
        id: Expr,
    },
    Flush(Box<Flush>),
    PurgeBinaryLogs(PurgeTo),
    Reset(Vec<ResetWhat>),
    ResetPersist {
        name: Option<VariableName>,
        if_exists: bool,
    },
    TableMaintenance(Box<TableMaintenance>),
    InstallPlugin {
        name: Ident,
        library: Text,
    },
    UninstallPlugin(Ident),
    Shutdown,
    Restart,
    Binlog(Text),

    // Accounts.
    CreateUser(Box<CreateUser>),
    AlterUser(Box<AlterUser>),
    DropUser {
        names: Vec<Account>,
        if_exists: bool,
    },
    RenameUser(Vec<(Account, Account)>),
    CreateRole {
        names: Vec<Account>,
        if_not_exists: bool,
    },
    DropRole {
        names: Vec<Account>,
        if_exists: bool,
    },
    SetRole(RoleChoice),
    SetDefaultRole {
        roles: RoleChoice,
        users: Vec<Account>,
    },
    Grant(Box<Grant>),
    Revoke(Box<Revoke>),

    // Replication.
    ChangeReplicationSource {
        options: Vec<SourceOption>,
        channel: Option<Text>,
    },
    ChangeReplicationFilter {
        filters: Vec<ReplicationFilter>,
        channel: Option<Text>,
    },
    StartReplica(Box<StartReplica>),
    StopReplica {
        threads: ReplicaThreads,
        channel: Option<Text>,
    },
}
