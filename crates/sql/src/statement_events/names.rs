//! EVENT_NAME: what MySQL calls a statement in `performance_schema`.

use syntax::ast::{
    EngineReport, Explain, GrantWhat, HandlerStatement, InsertSource, MaintenanceVerb, PurgeTo, RoutineKind,
    SetItem, Show, ShowWhat, StatementKind, TableReference, Xa,
};

/// The name of a statement's event, as MySQL 9.7 has it.
pub(crate) fn event_name(kind: &StatementKind) -> &'static str {
    use StatementKind as S;
    match kind {
        S::Query(_) => "statement/sql/select",
        S::Insert(insert) => match (insert.replace, &insert.source) {
            (false, InsertSource::Values(_)) => "statement/sql/insert",
            (false, InsertSource::Query(_)) => "statement/sql/insert_select",
            (true, InsertSource::Values(_)) => "statement/sql/replace",
            (true, InsertSource::Query(_)) => "statement/sql/replace_select",
        },
        S::Update(update) => match update.tables.as_slice() {
            [TableReference::Table(_)] => "statement/sql/update",
            _ => "statement/sql/update_multi",
        },
        S::Delete(delete) if delete.targets.is_empty() => "statement/sql/delete",
        S::Delete(_) => "statement/sql/delete_multi",
        S::LoadData(_) => "statement/sql/load",
        S::Call { .. } => "statement/sql/call_procedure",
        S::Do(_) => "statement/sql/do",
        S::Handler(handler) => match &**handler {
            HandlerStatement::Open { .. } => "statement/sql/ha_open",
            HandlerStatement::Close(_) => "statement/sql/ha_close",
            HandlerStatement::Read(_) => "statement/sql/ha_read",
        },
        S::Set(items) => match items.iter().any(|item| matches!(item, SetItem::Password { .. })) {
            true => "statement/sql/set_password",
            false => "statement/sql/set_option",
        },
        S::Begin(_) => "statement/sql/begin",
        S::Commit(_) => "statement/sql/commit",
        S::Rollback(_) => "statement/sql/rollback",
        S::Savepoint(_) => "statement/sql/savepoint",
        S::RollbackTo(_) => "statement/sql/rollback_to_savepoint",
        S::ReleaseSavepoint(_) => "statement/sql/release_savepoint",
        S::Xa(xa) => match xa {
            Xa::Start { .. } => "statement/sql/xa_start",
            Xa::End { .. } => "statement/sql/xa_end",
            Xa::Prepare(_) => "statement/sql/xa_prepare",
            Xa::Commit { .. } => "statement/sql/xa_commit",
            Xa::Rollback(_) => "statement/sql/xa_rollback",
            Xa::Recover { .. } => "statement/sql/xa_recover",
        },
        S::LockTables(_) => "statement/sql/lock_tables",
        S::UnlockTables => "statement/sql/unlock_tables",
        S::LockInstance => "statement/sql/lock_instance",
        S::UnlockInstance => "statement/sql/unlock_instance",
        S::Use(_) => "statement/sql/change_db",
        S::Prepare { .. } => "statement/sql/prepare_sql",
        S::Execute { .. } => "statement/sql/execute_sql",
        S::Deallocate(_) => "statement/sql/dealloc_sql",
        S::Signal(signal) if signal.resignal => "statement/sql/resignal",
        S::Signal(_) => "statement/sql/signal",
        S::GetDiagnostics(_) => "statement/sql/get_diagnostics",
        S::Show(show) => of_show(show),
        S::Explain(explain) => match &**explain {
            Explain::Table { .. } => "statement/sql/show_fields",
            Explain::Statement { statement, .. } => event_name(&statement.kind),
            Explain::Connection { .. } => "statement/sql/explain_other",
        },
        S::Help(_) => "statement/sql/help",
        _ => of_definition(kind),
    }
}

/// That of what defines something, or administers the server.
fn of_definition(kind: &StatementKind) -> &'static str {
    use StatementKind as S;
    match kind {
        S::CreateDatabase(_) => "statement/sql/create_db",
        S::AlterDatabase { .. } => "statement/sql/alter_db",
        S::DropDatabase { .. } => "statement/sql/drop_db",
        S::CreateTable(_) => "statement/sql/create_table",
        S::AlterTable(_) => "statement/sql/alter_table",
        S::DropTable(_) => "statement/sql/drop_table",
        S::TruncateTable(_) => "statement/sql/truncate",
        S::RenameTable(_) => "statement/sql/rename_table",
        S::CreateIndex(_) => "statement/sql/create_index",
        S::DropIndex(_) => "statement/sql/drop_index",
        S::CreateView(_) => "statement/sql/create_view",
        S::DropView { .. } => "statement/sql/drop_view",
        S::CreateRoutine(routine) => {
            of_routine(routine.kind, "statement/sql/create_function", "statement/sql/create_procedure")
        }
        S::AlterRoutine { kind, .. } => {
            of_routine(*kind, "statement/sql/alter_function", "statement/sql/alter_procedure")
        }
        S::DropRoutine { kind, .. } => {
            of_routine(*kind, "statement/sql/drop_function", "statement/sql/drop_procedure")
        }
        S::CreateTrigger(_) => "statement/sql/create_trigger",
        S::DropTrigger { .. } => "statement/sql/drop_trigger",
        S::CreateEvent(_) => "statement/sql/create_event",
        S::AlterEvent(_) => "statement/sql/alter_event",
        S::DropEvent { .. } => "statement/sql/drop_event",
        S::DropServer { .. } => "statement/sql/drop_server",
        S::CreateUser(_) => "statement/sql/create_user",
        S::AlterUser(_) => "statement/sql/alter_user",
        S::DropUser { .. } => "statement/sql/drop_user",
        S::RenameUser(_) => "statement/sql/rename_user",
        S::CreateRole { .. } => "statement/sql/create_role",
        S::DropRole { .. } => "statement/sql/drop_role",
        S::SetRole(_) => "statement/sql/set_role",
        S::SetDefaultRole { .. } => "statement/sql/alter_user_default_role",
        S::Grant(grant) => match &grant.what {
            GrantWhat::Roles(_) => "statement/sql/grant_roles",
            _ => "statement/sql/grant",
        },
        S::Revoke(revoke) => match &revoke.what {
            GrantWhat::Roles(_) => "statement/sql/revoke_roles",
            _ => "statement/sql/revoke",
        },
        S::RotateMasterKey(_) => "statement/sql/alter_instance",
        S::Kill { .. } => "statement/sql/kill",
        S::Flush(_) => "statement/sql/flush",
        S::PurgeBinaryLogs(PurgeTo::File(_)) => "statement/sql/purge",
        S::PurgeBinaryLogs(PurgeTo::Before(_)) => "statement/sql/purge_before_date",
        S::Reset(_) => "statement/sql/reset",
        S::TableMaintenance(maintenance) => match maintenance.verb {
            MaintenanceVerb::Analyze => "statement/sql/analyze",
            MaintenanceVerb::AssignToKeycache => "statement/sql/assign_to_keycache",
            MaintenanceVerb::Check => "statement/sql/check",
            MaintenanceVerb::Checksum => "statement/sql/checksum",
            MaintenanceVerb::Optimize => "statement/sql/optimize",
            MaintenanceVerb::PreloadKeys => "statement/sql/preload_keys",
            MaintenanceVerb::Repair => "statement/sql/repair",
        },
        S::InstallPlugin { .. } => "statement/sql/install_plugin",
        S::UninstallPlugin(_) => "statement/sql/uninstall_plugin",
        S::Shutdown => "statement/sql/shutdown",
        S::Restart => "statement/sql/restart",
        S::Binlog(_) => "statement/sql/binlog",
        S::ChangeReplicationSource { .. } => "statement/sql/change_replication_source",
        S::ChangeReplicationFilter { .. } => "statement/sql/change_repl_filter",
        S::StartReplica(_) => "statement/sql/replica_start",
        S::StopReplica { .. } => "statement/sql/replica_stop",
        _ => "statement/com/Query",
    }
}

fn of_routine(kind: RoutineKind, function: &'static str, procedure: &'static str) -> &'static str {
    match kind {
        RoutineKind::Function => function,
        RoutineKind::Procedure => procedure,
    }
}

fn of_show(show: &Show) -> &'static str {
    use ShowWhat as W;
    match &show.what {
        W::Databases => "statement/sql/show_databases",
        W::Tables { .. } => "statement/sql/show_tables",
        W::TableStatus { .. } => "statement/sql/show_table_status",
        W::OpenTables { .. } => "statement/sql/show_open_tables",
        W::Columns { .. } => "statement/sql/show_fields",
        W::Index { .. } => "statement/sql/show_keys",
        W::Triggers { .. } => "statement/sql/show_triggers",
        W::Events { .. } => "statement/sql/show_events",
        W::CreateDatabase { .. } => "statement/sql/show_create_db",
        W::CreateTable(_) | W::CreateView(_) => "statement/sql/show_create_table",
        W::CreateRoutine(kind, _) => {
            of_routine(*kind, "statement/sql/show_create_func", "statement/sql/show_create_proc")
        }
        W::CreateTrigger(_) => "statement/sql/show_create_trigger",
        W::CreateEvent(_) => "statement/sql/show_create_event",
        W::CreateUser(_) => "statement/sql/show_create_user",
        W::RoutineStatus(kind) => {
            of_routine(*kind, "statement/sql/show_function_status", "statement/sql/show_procedure_status")
        }
        W::RoutineCode(kind, _) => {
            of_routine(*kind, "statement/sql/show_function_code", "statement/sql/show_procedure_code")
        }
        W::Variables { .. } => "statement/sql/show_variables",
        W::Status { .. } => "statement/sql/show_status",
        W::BinaryLogs => "statement/sql/show_binlogs",
        W::BinaryLogStatus => "statement/sql/show_binary_log_status",
        W::BinlogEvents(_) => "statement/sql/show_binlog_events",
        W::RelaylogEvents { .. } => "statement/sql/show_relaylog_events",
        W::Warnings { .. } => "statement/sql/show_warnings",
        W::Errors { .. } => "statement/sql/show_errors",
        // SELECT @@warning_count, for MySQL.
        W::CountWarnings | W::CountErrors => "statement/sql/select",
        W::ProcessList { .. } => "statement/sql/show_processlist",
        W::Engines => "statement/sql/show_storage_engines",
        W::EngineStatus { what, .. } => match what {
            EngineReport::Status => "statement/sql/show_engine_status",
            EngineReport::Mutex => "statement/sql/show_engine_mutex",
            EngineReport::Logs => "statement/sql/show_engine_logs",
        },
        W::CharacterSets => "statement/sql/show_charsets",
        W::Collations => "statement/sql/show_collations",
        W::Grants { .. } => "statement/sql/show_grants",
        W::Plugins => "statement/sql/show_plugins",
        W::Privileges => "statement/sql/show_privileges",
        W::Replicas => "statement/sql/show_replicas",
        W::ReplicaStatus { .. } => "statement/sql/show_replica_status",
        W::Profiles => "statement/sql/show_profiles",
        W::Profile { .. } => "statement/sql/show_profile",
        W::ParseTree(_) => "statement/sql/show_parse_tree",
    }
}
