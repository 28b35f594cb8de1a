//! Looking around and keeping house: SHOW, EXPLAIN, FLUSH, accounts, replication.

use super::{Account, Expr, Ident, ObjectName, Query, Statement, Text};

#[derive(Debug, Clone, PartialEq)]
pub struct Show {
    pub what: ShowWhat,
    pub filter: ShowFilter,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ShowFilter {
    None,
    Like(Text),
    Where(Expr),
}

#[derive(Debug, Clone, PartialEq)]
pub enum ShowWhat {
    Databases,
    Tables {
        database: Option<Ident>,
        full: bool,
        extended: bool,
    },
    TableStatus {
        database: Option<Ident>,
    },
    OpenTables {
        database: Option<Ident>,
    },
    Columns {
        table: ObjectName,
        full: bool,
        extended: bool,
    },
    Index {
        table: ObjectName,
        extended: bool,
    },
    Triggers {
        database: Option<Ident>,
        full: bool,
    },
    Events {
        database: Option<Ident>,
    },
    CreateDatabase {
        name: Ident,
        if_not_exists: bool,
    },
    CreateTable(ObjectName),
    CreateView(ObjectName),
    CreateRoutine(super::RoutineKind, ObjectName),
    CreateTrigger(ObjectName),
    CreateEvent(ObjectName),
    CreateUser(Account),
    RoutineStatus(super::RoutineKind),
    RoutineCode(super::RoutineKind, ObjectName),
    Variables {
        global: bool,
    },
    Status {
        global: bool,
    },
    BinaryLogs,
    BinaryLogStatus,
    BinlogEvents(LogEvents),
    RelaylogEvents {
        events: LogEvents,
        channel: Option<Text>,
    },
    Warnings {
        limit: Option<super::Limit>,
    },
    Errors {
        limit: Option<super::Limit>,
    },
    CountWarnings,
    CountErrors,
    ProcessList {
        full: bool,
    },
    Engines,
    EngineStatus {
        engine: Option<Ident>,
        what: EngineReport,
    },
    CharacterSets,
    Collations,
    Grants {
        user: Option<Account>,
        using: Vec<Account>,
    },
    Plugins,
    Privileges,
    Replicas,
    /// `old_names`: SHOW SLAVE STATUS, whose columns say master and slave.
    ReplicaStatus {
        channel: Option<Text>,
        old_names: bool,
    },
    Profiles,
    Profile {
        query: Option<u64>,
    },
    ParseTree(Box<Statement>),
}

/// `[IN 'file'] [FROM position] [LIMIT ..]`
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LogEvents {
    pub file: Option<Text>,
    pub from: Option<u64>,
    pub limit: Option<super::Limit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EngineReport {
    Status,
    Mutex,
    Logs,
}

/// EXPLAIN, DESCRIBE, DESC.
#[derive(Debug, Clone, PartialEq)]
pub enum Explain {
    /// `DESC t [column | 'pattern']`
    Table {
        table: ObjectName,
        column: Option<Text>,
    },
    Statement {
        analyze: bool,
        format: Option<Ident>,
        into: Option<Ident>,
        schema: Option<Ident>,
        statement: Statement,
    },
    Connection {
        format: Option<Ident>,
        id: u64,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KillWhat {
    Connection,
    Query,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Flush {
    /// `NO_WRITE_TO_BINLOG`, `LOCAL`
    pub local: bool,
    pub what: FlushWhat,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FlushWhat {
    /// All tables if empty.
    Tables {
        tables: Vec<ObjectName>,
        lock: FlushLock,
    },
    Options(Vec<FlushOption>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FlushLock {
    None,
    Read,
    Export,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlushOption {
    BinaryLogs,
    EngineLogs,
    ErrorLogs,
    GeneralLogs,
    Logs,
    RelayLogs { channel: Option<Text> },
    SlowLogs,
    Privileges,
    Status,
    UserResources,
    OptimizerCosts,
    Hosts,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PurgeTo {
    File(Text),
    Before(Expr),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResetWhat {
    /// `BINARY LOGS AND GTIDS [TO number]`, `MASTER`
    BinaryLogsAndGtids {
        to: Option<u64>,
    },
    Replica {
        all: bool,
        channel: Option<Text>,
    },
    QueryCache,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableMaintenance {
    pub verb: MaintenanceVerb,
    pub local: bool,
    pub tables: Vec<ObjectName>,
    /// `QUICK`, `EXTENDED`, `FOR UPGRADE`, .. in upper case.
    pub options: Vec<Ident>,
    pub histogram: Option<Histogram>,
    /// CACHE INDEX: the key cache.
    pub key_cache: Option<Ident>,
    /// CACHE INDEX and LOAD INDEX INTO CACHE: `PARTITION (..)` was given.
    pub partitions: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MaintenanceVerb {
    Analyze,
    /// `CACHE INDEX`
    AssignToKeycache,
    Check,
    Checksum,
    Optimize,
    /// `LOAD INDEX INTO CACHE`
    PreloadKeys,
    Repair,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Histogram {
    Update { columns: Vec<Ident>, buckets: Option<u64>, auto_update: Option<bool>, data: Option<Text> },
    Drop { columns: Vec<Ident> },
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateUser {
    pub if_not_exists: bool,
    pub users: Vec<UserSpec>,
    pub default_roles: Vec<Account>,
    pub options: UserOptions,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterUser {
    pub if_exists: bool,
    pub users: Vec<UserSpec>,
    pub default_role: Option<RoleChoice>,
    pub options: UserOptions,
}

#[derive(Debug, Clone, PartialEq)]
pub struct UserSpec {
    pub user: Account,
    /// The first, second and third factor; empty if nothing was said.
    pub factors: Vec<Authentication>,
    /// `REPLACE 'current password'`
    pub replace: Option<Text>,
    pub retain_current: bool,
    pub discard_old: bool,
}

/// `IDENTIFIED [WITH plugin] BY 'password'`, `AS 'hash'`, `BY RANDOM PASSWORD`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Authentication {
    pub plugin: Option<Ident>,
    pub secret: Secret,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Secret {
    None,
    Password(Text),
    Hash(Text),
    Random,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct UserOptions {
    pub require: Option<Require>,
    /// `MAX_QUERIES_PER_HOUR 3` and the like, the name in upper case.
    pub resources: Vec<(Ident, u64)>,
    pub password: Vec<PasswordOption>,
    pub locked: Option<bool>,
    pub comment: Option<Text>,
    /// `ATTRIBUTE 'json'`
    pub attribute: Option<Text>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Require {
    None,
    Ssl,
    X509,
    /// `SUBJECT`, `ISSUER`, `CIPHER` and their texts, the names in upper case.
    Items(Vec<(Ident, Text)>),
}

/// `None` is DEFAULT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PasswordOption {
    Expire,
    ExpireDefault,
    ExpireNever,
    ExpireDays(u64),
    History(Option<u64>),
    ReuseInterval(Option<u64>),
    RequireCurrent(Option<bool>),
    FailedLoginAttempts(u64),
    /// `None` is UNBOUNDED.
    LockTime(Option<u64>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RoleChoice {
    Default,
    None,
    All,
    AllExcept(Vec<Account>),
    Roles(Vec<Account>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Grant {
    pub what: GrantWhat,
    pub to: Vec<Account>,
    /// `WITH GRANT OPTION`, `WITH ADMIN OPTION`
    pub with_option: bool,
    /// `AS user [WITH ROLE ..]`
    pub grantor: Option<(Account, Option<RoleChoice>)>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Revoke {
    pub if_exists: bool,
    pub ignore_unknown_user: bool,
    pub what: GrantWhat,
    pub from: Vec<Account>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantWhat {
    Privileges {
        privileges: Vec<Privilege>,
        object: GrantObject,
    },
    Roles(Vec<Account>),
    Proxy(Account),
    /// `REVOKE ALL PRIVILEGES, GRANT OPTION`, of everything.
    Everything,
}

/// A privilege by its words in upper case, `CREATE TEMPORARY TABLES`; `ALL` is all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Privilege {
    pub name: Ident,
    pub columns: Vec<Ident>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GrantObject {
    /// `*.*`
    Global,
    /// `*`, and `db.*`
    Database(Option<Ident>),
    Table(ObjectName),
    Routine(super::RoutineKind, ObjectName),
}

/// `SOURCE_HOST = 'x'`: the name of today, in upper case.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceOption {
    pub name: Ident,
    pub value: SourceValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum SourceValue {
    Text(Text),
    /// Digits and perhaps a point, as written.
    Number(Box<str>),
    /// `NULL`, `OFF`, `ON`, `STREAM`, `LOCAL`, .. as written.
    Word(Ident),
    List(Vec<u64>),
    Account(Account),
}

/// `REPLICATE_DO_DB = (a, b)`: the name in upper case.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplicationFilter {
    pub name: Ident,
    pub values: Vec<FilterValue>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FilterValue {
    Database(Ident),
    Table(ObjectName),
    Pattern(Text),
    Rewrite(Ident, Ident),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplicaThreads {
    pub io: bool,
    pub sql: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct StartReplica {
    pub threads: ReplicaThreads,
    /// `UNTIL ..`: `SQL_AFTER_GTIDS`, `SOURCE_LOG_FILE`, .. in upper case; empty values for
    /// SQL_AFTER_MTS_GAPS.
    pub until: Vec<(Ident, Text)>,
    /// `USER`, `PASSWORD`, `DEFAULT_AUTH`, `PLUGIN_DIR`, in upper case.
    pub connection: Vec<(Ident, Text)>,
    pub channel: Option<Text>,
}

/// The query that EXPLAIN or SHOW works on, if it is one.
impl Explain {
    pub fn query(&self) -> Option<&Query> {
        match self {
            Explain::Statement { statement, .. } => match &statement.kind {
                super::StatementKind::Query(query) => Some(query),
                _ => None,
            },
            _ => None,
        }
    }
}
