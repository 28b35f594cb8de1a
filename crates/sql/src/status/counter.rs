//! The names of what sessions count. MySQL's names where it counts the same thing.

macro_rules! counters {
    ($($variant:ident = $name:literal $($global:ident)?;)*) => {
        /// Something that sessions count.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each variant is named as its row of SHOW STATUS")]
        pub enum Counter { $($variant,)* }

        /// How many counters there are.
        pub(crate) const COUNTERS: usize = [$(Counter::$variant),*].len();

        impl Counter {
            /// Every counter.
            pub(crate) const ALL: [Counter; COUNTERS] = [$(Counter::$variant),*];

            /// The name that `SHOW STATUS` shows.
            pub fn name(self) -> &'static str {
                match self { $(Counter::$variant => $name,)* }
            }

            /// True if a session has no count of its own.
            pub(crate) fn is_global(self) -> bool {
                match self { $(Counter::$variant => counters!(@global $($global)?),)* }
            }
        }
    };
    (@global global) => { true };
    (@global) => { false };
}

counters! {
    AbortedClients = "Aborted_clients" global;
    AbortedConnects = "Aborted_connects" global;
    BytesReceived = "Bytes_received";
    BytesSent = "Bytes_sent";
    Connections = "Connections" global;
    ConnectionErrorsAccept = "Connection_errors_accept" global;
    ConnectionErrorsInternal = "Connection_errors_internal" global;
    ConnectionErrorsMaxConnections = "Connection_errors_max_connections" global;
    CreatedTmpDiskTables = "Created_tmp_disk_tables";
    CreatedTmpFiles = "Created_tmp_files" global;
    CreatedTmpTables = "Created_tmp_tables";
    HandlerCommit = "Handler_commit";
    HandlerDelete = "Handler_delete";
    HandlerReadFirst = "Handler_read_first";
    HandlerReadKey = "Handler_read_key";
    HandlerReadLast = "Handler_read_last";
    HandlerReadNext = "Handler_read_next";
    HandlerReadPrev = "Handler_read_prev";
    HandlerReadRnd = "Handler_read_rnd";
    HandlerReadRndNext = "Handler_read_rnd_next";
    HandlerRollback = "Handler_rollback";
    HandlerSavepoint = "Handler_savepoint";
    HandlerSavepointRollback = "Handler_savepoint_rollback";
    HandlerUpdate = "Handler_update";
    HandlerWrite = "Handler_write";
    InnodbRowsRead = "Innodb_rows_read" global;
    Questions = "Questions";
    Queries = "Queries" global;
    SelectFullJoin = "Select_full_join";
    SelectFullRangeJoin = "Select_full_range_join";
    SelectRange = "Select_range";
    SelectRangeCheck = "Select_range_check";
    SelectScan = "Select_scan";
    SlowQueries = "Slow_queries";
    SortMergePasses = "Sort_merge_passes";
    SortRange = "Sort_range";
    SortRows = "Sort_rows";
    SortScan = "Sort_scan";
    ComAdminCommands = "Com_admin_commands";
    ComAlterDatabase = "Com_alter_database";
    ComAlterEvent = "Com_alter_event";
    ComAlterFunction = "Com_alter_function";
    ComAlterInstance = "Com_alter_instance";
    ComAlterProcedure = "Com_alter_procedure";
    ComAlterTable = "Com_alter_table";
    ComAlterUser = "Com_alter_user";
    ComAnalyze = "Com_analyze";
    ComAssignToKeycache = "Com_assign_to_keycache";
    ComBegin = "Com_begin";
    ComBinlog = "Com_binlog";
    ComCallProcedure = "Com_call_procedure";
    ComChangeDb = "Com_change_db";
    ComChangeReplFilter = "Com_change_repl_filter";
    ComChangeReplicationSource = "Com_change_replication_source";
    ComCheck = "Com_check";
    ComCommit = "Com_commit";
    ComCreateDb = "Com_create_db";
    ComCreateEvent = "Com_create_event";
    ComCreateFunction = "Com_create_function";
    ComCreateIndex = "Com_create_index";
    ComCreateProcedure = "Com_create_procedure";
    ComCreateTable = "Com_create_table";
    ComCreateTrigger = "Com_create_trigger";
    ComCreateUser = "Com_create_user";
    ComCreateView = "Com_create_view";
    ComDeallocSql = "Com_dealloc_sql";
    ComDelete = "Com_delete";
    ComDeleteMulti = "Com_delete_multi";
    ComDo = "Com_do";
    ComDropDb = "Com_drop_db";
    ComDropEvent = "Com_drop_event";
    ComDropFunction = "Com_drop_function";
    ComDropIndex = "Com_drop_index";
    ComDropProcedure = "Com_drop_procedure";
    ComDropRole = "Com_drop_role";
    ComDropServer = "Com_drop_server";
    ComDropTable = "Com_drop_table";
    ComDropTrigger = "Com_drop_trigger";
    ComDropUser = "Com_drop_user";
    ComDropView = "Com_drop_view";
    ComEmptyQuery = "Com_empty_query";
    ComExecuteSql = "Com_execute_sql";
    ComExplainOther = "Com_explain_other";
    ComFlush = "Com_flush";
    ComGrant = "Com_grant";
    ComInsert = "Com_insert";
    ComInsertSelect = "Com_insert_select";
    ComKill = "Com_kill";
    ComLoad = "Com_load";
    ComLockTables = "Com_lock_tables";
    ComOptimize = "Com_optimize";
    ComPreloadKeys = "Com_preload_keys";
    ComPrepareSql = "Com_prepare_sql";
    ComPurge = "Com_purge";
    ComPurgeBeforeDate = "Com_purge_before_date";
    ComReleaseSavepoint = "Com_release_savepoint";
    ComRenameTable = "Com_rename_table";
    ComRenameUser = "Com_rename_user";
    ComRepair = "Com_repair";
    ComReplace = "Com_replace";
    ComReplicaStart = "Com_replica_start";
    ComReplicaStop = "Com_replica_stop";
    ComReplaceSelect = "Com_replace_select";
    ComReset = "Com_reset";
    ComRevoke = "Com_revoke";
    ComRollback = "Com_rollback";
    ComRollbackToSavepoint = "Com_rollback_to_savepoint";
    ComSavepoint = "Com_savepoint";
    ComSelect = "Com_select";
    ComSetOption = "Com_set_option";
    ComSetPassword = "Com_set_password";
    ComShowBinaryLogStatus = "Com_show_binary_log_status";
    ComShowBinlogEvents = "Com_show_binlog_events";
    ComShowBinlogs = "Com_show_binlogs";
    ComShowCharsets = "Com_show_charsets";
    ComShowCollations = "Com_show_collations";
    ComShowCreateDb = "Com_show_create_db";
    ComShowCreateFunc = "Com_show_create_func";
    ComShowCreateProc = "Com_show_create_proc";
    ComShowCreateTable = "Com_show_create_table";
    ComShowCreateTrigger = "Com_show_create_trigger";
    ComShowCreateUser = "Com_show_create_user";
    ComShowDatabases = "Com_show_databases";
    ComShowEngineStatus = "Com_show_engine_status";
    ComShowErrors = "Com_show_errors";
    ComShowEvents = "Com_show_events";
    ComShowFields = "Com_show_fields";
    ComShowFunctionStatus = "Com_show_function_status";
    ComShowGrants = "Com_show_grants";
    ComShowKeys = "Com_show_keys";
    ComShowOpenTables = "Com_show_open_tables";
    ComShowPlugins = "Com_show_plugins";
    ComShowPrivileges = "Com_show_privileges";
    ComShowProcedureStatus = "Com_show_procedure_status";
    ComShowProcesslist = "Com_show_processlist";
    ComShowProfile = "Com_show_profile";
    ComShowProfiles = "Com_show_profiles";
    ComShowRelaylogEvents = "Com_show_relaylog_events";
    ComShowReplicaStatus = "Com_show_replica_status";
    ComShowReplicas = "Com_show_replicas";
    ComShowStatus = "Com_show_status";
    ComShowStorageEngines = "Com_show_storage_engines";
    ComShowTableStatus = "Com_show_table_status";
    ComShowTables = "Com_show_tables";
    ComShowTriggers = "Com_show_triggers";
    ComShowVariables = "Com_show_variables";
    ComShowWarnings = "Com_show_warnings";
    ComSignal = "Com_signal";
    ComGetDiagnostics = "Com_get_diagnostics";
    ComResignal = "Com_resignal";
    ComStmtClose = "Com_stmt_close";
    ComStmtExecute = "Com_stmt_execute";
    ComStmtFetch = "Com_stmt_fetch";
    ComStmtPrepare = "Com_stmt_prepare";
    ComStmtReset = "Com_stmt_reset";
    ComStmtSendLongData = "Com_stmt_send_long_data";
    ComTruncate = "Com_truncate";
    ComUnlockTables = "Com_unlock_tables";
    ComUpdate = "Com_update";
    ComUpdateMulti = "Com_update_multi";
    ComXaCommit = "Com_xa_commit";
    ComXaEnd = "Com_xa_end";
    ComXaPrepare = "Com_xa_prepare";
    ComXaRecover = "Com_xa_recover";
    ComXaRollback = "Com_xa_rollback";
    ComXaStart = "Com_xa_start";
}
