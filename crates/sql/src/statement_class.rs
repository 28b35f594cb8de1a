//! What kind of statement a statement is: its class, and the properties that the session, the
//! executor and the privileges ask for. Each is decided here, once for all of them.

use syntax::ast::{ResetWhat, SetItem, ShowWhat, StatementKind, VariableScope};

use crate::executor::temporary;

/// What a statement is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StatementClass {
    /// Computes values, or calls what does.
    Query,
    /// Changes rows.
    Change,
    /// DDL that [`crate::catalog::ddl::plan`] knows.
    Definition,
    /// DDL that is refused by name, once its privileges are checked.
    UnsupportedDefinition,
    /// Begins, ends and divides transactions.
    TransactionControl,
    /// Locks by name.
    Locking,
    /// About prepared statements.
    PreparedStatement,
    /// About the session's own state.
    Session,
    /// Shows something.
    Inspection,
    /// Administers the server.
    Administration,
    /// Administers a replica.
    Replication,
}

impl StatementClass {
    /// The class of a statement. Every kind is listed, so that who adds one decides.
    pub(crate) fn of(kind: &StatementKind) -> Self {
        use StatementKind as S;
        match kind {
            S::Query(_) | S::Do(_) | S::Call { .. } => Self::Query,
            S::Insert(_) | S::Update(_) | S::Delete(_) | S::LoadData(_) => Self::Change,
            S::CreateDatabase(_)
            | S::AlterDatabase { .. }
            | S::DropDatabase { .. }
            | S::CreateTable(_)
            | S::DropTable(_)
            | S::TruncateTable(_)
            | S::RenameTable(_)
            | S::AlterTable(_)
            | S::CreateIndex(_)
            | S::DropIndex(_)
            | S::CreateRoutine(_)
            | S::AlterRoutine { .. }
            | S::CreateTrigger(_)
            | S::DropRoutine { .. }
            | S::CreateUser(_)
            | S::AlterUser(_)
            | S::DropUser { .. }
            | S::RenameUser(_)
            | S::Grant(_)
            | S::Revoke(_)
            | S::CreateView(_)
            | S::DropView { .. }
            | S::DropTrigger { .. }
            | S::CreateEvent(_)
            | S::AlterEvent(_)
            | S::DropEvent { .. }
            | S::DropServer { .. }
            | S::DropRole { .. } => Self::Definition,
            S::CreateRole { .. } => Self::UnsupportedDefinition,
            S::Begin(_)
            | S::Commit(_)
            | S::Rollback(_)
            | S::Savepoint(_)
            | S::RollbackTo(_)
            | S::ReleaseSavepoint(_)
            | S::Xa(_) => Self::TransactionControl,
            S::LockTables(_) | S::UnlockTables | S::LockInstance | S::UnlockInstance => Self::Locking,
            S::Prepare { .. } | S::Execute { .. } | S::Deallocate(_) => Self::PreparedStatement,
            S::Use(_)
            | S::Set(_)
            | S::SetRole(_)
            | S::Signal(_)
            | S::GetDiagnostics(_)
            | S::Handler(_)
            | S::Compound(_) => Self::Session,
            S::Show(_) | S::Explain(_) | S::Help(_) => Self::Inspection,
            S::Kill { .. }
            | S::Flush(_)
            | S::PurgeBinaryLogs(_)
            | S::Reset(_)
            | S::ResetPersist { .. }
            | S::TableMaintenance(_)
            | S::RotateMasterKey(_)
            | S::InstallPlugin { .. }
            | S::UninstallPlugin(_)
            | S::Shutdown
            | S::Restart
            | S::Binlog(_)
            | S::SetDefaultRole { .. } => Self::Administration,
            S::ChangeReplicationSource { .. }
            | S::ChangeReplicationFilter { .. }
            | S::StartReplica(_)
            | S::StopReplica { .. } => Self::Replication,
        }
    }
}

/// DDL that the server executes.
pub(crate) fn is_ddl(kind: &StatementKind) -> bool {
    StatementClass::of(kind) == StatementClass::Definition
}

/// DDL that concerns more than the session's temporary tables.
fn is_shared_ddl(kind: &StatementKind) -> bool {
    is_ddl(kind) && !temporary::is_temporary(kind)
}

/// Statements that end an open transaction before they run.
pub(crate) fn commits_implicitly(kind: &StatementKind) -> bool {
    use StatementKind as S;
    is_shared_ddl(kind)
        || matches!(kind, S::Begin(_) | S::LockTables(_) | S::TableMaintenance(_) | S::RotateMasterKey(_))
        || matches!(kind, S::Flush(flush) if !flush.local)
        || StatementClass::of(kind) == StatementClass::Replication
        || matches!(kind, S::Reset(what) if what.iter().any(|w| matches!(w, ResetWhat::Replica { .. })))
}

/// Statements that a transaction whose GTID is set does not survive: error 1778.
pub(crate) fn is_refused_while_owning_gtid(kind: &StatementKind) -> bool {
    use StatementKind as S;
    commits_implicitly(kind) && !matches!(kind, S::LockTables(_)) || matches!(kind, S::Flush(_) | S::Reset(_))
}

/// Statements that the log may get something of: they need a GTID, and are skipped if the log has
/// the transaction.
pub(crate) fn is_logged(kind: &StatementKind) -> bool {
    use StatementKind as S;
    is_shared_ddl(kind)
        || StatementClass::of(kind) == StatementClass::Change
        || matches!(kind, S::Binlog(_) | S::TableMaintenance(_) | S::Xa(_))
        || is_logged_setting(kind)
}

/// SET PASSWORD, which is a definition.
pub(crate) fn is_logged_setting(kind: &StatementKind) -> bool {
    let is_password = |item: &SetItem| matches!(item, SetItem::Password { .. });
    matches!(kind, StatementKind::Set(items) if items.iter().any(is_password))
}

/// The name of a statement that administers the server or locks it as a whole, by whoever's hand.
pub(crate) fn administers(kind: &StatementKind) -> Option<&'static str> {
    use StatementKind as S;
    Some(match kind {
        S::Kill { .. } => "KILL",
        S::Flush(_) => "FLUSH",
        S::PurgeBinaryLogs(_) => "PURGE BINARY LOGS",
        S::Reset(_) => "RESET",
        S::ResetPersist { .. } => "RESET PERSIST",
        S::InstallPlugin { .. } => "INSTALL PLUGIN",
        S::UninstallPlugin(_) => "UNINSTALL PLUGIN",
        S::Shutdown => "SHUTDOWN",
        S::Restart => "RESTART",
        S::Binlog(_) => "BINLOG",
        S::ChangeReplicationSource { .. } => "CHANGE REPLICATION SOURCE TO",
        S::ChangeReplicationFilter { .. } => "CHANGE REPLICATION FILTER",
        S::StartReplica(_) => "START REPLICA",
        S::StopReplica { .. } => "STOP REPLICA",
        S::RotateMasterKey(_) => "ALTER INSTANCE",
        S::LockTables(_) => "LOCK TABLES",
        S::LockInstance => "LOCK INSTANCE",
        S::Set(items) if items.iter().any(is_of_server) => "SET GLOBAL",
        _ => return None,
    })
}

/// An assignment that outlives the session.
fn is_of_server(item: &SetItem) -> bool {
    match item {
        SetItem::Variable { scope, .. } | SetItem::Transaction { scope, .. } => {
            matches!(scope, Some(VariableScope::Global | VariableScope::Persist | VariableScope::PersistOnly))
        }
        _ => false,
    }
}

/// The manual's list of statements that can be prepared, turned round.
pub(crate) fn can_be_prepared(kind: &StatementKind) -> bool {
    use StatementClass as C;
    use StatementKind as S;
    match StatementClass::of(kind) {
        C::PreparedStatement | C::Locking => false,
        C::TransactionControl => matches!(kind, S::Commit(_) | S::Rollback(_)),
        _ => !matches!(
            kind,
            S::Use(_)
                | S::LoadData(_)
                | S::Handler(_)
                | S::Signal(_)
                | S::GetDiagnostics(_)
                | S::Help(_)
                | S::Binlog(_)
                | S::CreateRoutine(_)
                | S::AlterRoutine { .. }
                | S::CreateTrigger(_)
                | S::CreateEvent(_)
                | S::AlterEvent(_)
        ),
    }
}

/// Statements that are worth a place among the cached ones, should their text come again.
/// Definitions are seldom repeated, and may hold passwords.
pub(crate) fn can_be_cached(kind: &StatementKind) -> bool {
    !is_ddl(kind) && !matches!(kind, StatementKind::Set(_))
}

/// Statements that show the list of warnings leave it as it is.
pub(crate) fn keeps_diagnostics(kind: &StatementKind) -> bool {
    match kind {
        StatementKind::Show(show) => matches!(
            show.what,
            ShowWhat::Warnings { .. }
                | ShowWhat::Errors { .. }
                | ShowWhat::CountWarnings
                | ShowWhat::CountErrors
        ),
        StatementKind::GetDiagnostics(_) => true,
        _ => false,
    }
}
