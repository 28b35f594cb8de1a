//! The variables that code asks for by name. A wrong name here does not compile.

use super::definition::VariableId;
use super::table::id;

macro_rules! names {
    ($($name:ident = $text:literal;)*) => {$(
        #[doc = concat!("`", $text, "`")]
        pub const $name: VariableId = id($text);
    )*};
}

names! {
    AUTO_INCREMENT_INCREMENT = "auto_increment_increment";
    AUTO_INCREMENT_OFFSET = "auto_increment_offset";
    AUTOCOMMIT = "autocommit";
    BIND_ADDRESS = "bind_address";
    BLOCK_ENCRYPTION_MODE = "block_encryption_mode";
    BINLOG_EXPIRE_LOGS_AUTO_PURGE = "binlog_expire_logs_auto_purge";
    BINLOG_EXPIRE_LOGS_SECONDS = "binlog_expire_logs_seconds";
    BINLOG_GROUP_COMMIT_SYNC_DELAY = "binlog_group_commit_sync_delay";
    BINLOG_GROUP_COMMIT_SYNC_NO_DELAY_COUNT = "binlog_group_commit_sync_no_delay_count";
    BINLOG_LARGE_COMMIT_THRESHOLD = "binlog_large_commit_threshold";
    BINLOG_PREALLOC_NUM = "binlog_prealloc_num";
    BINLOG_ROW_EVENT_MAX_SIZE = "binlog_row_event_max_size";
    BINLOG_ROW_IMAGE = "binlog_row_image";
    BINLOG_ROW_METADATA = "binlog_row_metadata";
    BINLOG_ROWS_QUERY_LOG_EVENTS = "binlog_rows_query_log_events";
    BINLOG_TRANSACTION_COMPRESSION = "binlog_transaction_compression";
    BINLOG_TRANSACTION_DEPENDENCY_HISTORY_SIZE = "binlog_transaction_dependency_history_size";
    CHARACTER_SET_CLIENT = "character_set_client";
    CHARACTER_SET_CONNECTION = "character_set_connection";
    CHARACTER_SET_DATABASE = "character_set_database";
    CHARACTER_SET_RESULTS = "character_set_results";
    CHARACTER_SET_SERVER = "character_set_server";
    COLLATION_CONNECTION = "collation_connection";
    COLLATION_DATABASE = "collation_database";
    COLLATION_SERVER = "collation_server";
    COMPLETION_TYPE = "completion_type";
    CONNECT_TIMEOUT = "connect_timeout";
    DATADIR = "datadir";
    DEFAULT_STORAGE_ENGINE = "default_storage_engine";
    DEFAULT_WEEK_FORMAT = "default_week_format";
    DIV_PRECISION_INCREMENT = "div_precision_increment";
    DURAMEN_GATHER_HOT_ROWS = "duramen_gather_hot_rows";
    DURAMEN_MARIADB_PORT = "duramen_mariadb_port";
    DURAMEN_MEMTABLE_SIZE = "duramen_memtable_size";
    DURAMEN_MEMTABLES_MAX = "duramen_memtables_max";
    DURAMEN_RECOVERY_DISTANCE_MAX = "duramen_recovery_distance_max";
    DURAMEN_METRICS_ADDRESS = "duramen_metrics_address";
    DURAMEN_ROW_LOCKS_MAX = "duramen_row_locks_max";
    DURAMEN_SLOW_COMMIT_TIME = "duramen_slow_commit_time";
    DURAMEN_STATEMENT_MEMORY_MAX = "duramen_statement_memory_max";
    DURAMEN_TRANSACTION_SIZE_MAX = "duramen_transaction_size_max";
    ERROR_COUNT = "error_count";
    EXPLAIN_FORMAT = "explain_format";
    FOREIGN_KEY_CHECKS = "foreign_key_checks";
    GENERAL_LOG = "general_log";
    GENERAL_LOG_FILE = "general_log_file";
    GROUP_CONCAT_MAX_LEN = "group_concat_max_len";
    GTID_EXECUTED = "gtid_executed";
    GTID_NEXT = "gtid_next";
    GTID_OWNED = "gtid_owned";
    GTID_PURGED = "gtid_purged";
    HOSTNAME = "hostname";
    IDENTITY = "identity";
    INNODB_BUFFER_POOL_SIZE = "innodb_buffer_pool_size";
    INNODB_FLUSH_LOG_AT_TRX_COMMIT = "innodb_flush_log_at_trx_commit";
    INNODB_LOCK_WAIT_TIMEOUT = "innodb_lock_wait_timeout";
    INNODB_ROLLBACK_ON_TIMEOUT = "innodb_rollback_on_timeout";
    INSERT_ID = "insert_id";
    INTERACTIVE_TIMEOUT = "interactive_timeout";
    JOIN_BUFFER_SIZE = "join_buffer_size";
    LC_TIME_NAMES = "lc_time_names";
    LAST_INSERT_ID = "last_insert_id";
    LOCAL_INFILE = "local_infile";
    LOG_BIN_TRUST_FUNCTION_CREATORS = "log_bin_trust_function_creators";
    LOCK_WAIT_TIMEOUT = "lock_wait_timeout";
    LOG_BIN_BASENAME = "log_bin_basename";
    LOG_BIN_INDEX = "log_bin_index";
    LOG_ERROR_VERBOSITY = "log_error_verbosity";
    PERFORMANCE_SCHEMA_DIGESTS_SIZE = "performance_schema_digests_size";
    LOG_QUERIES_NOT_USING_INDEXES = "log_queries_not_using_indexes";
    LOG_SLOW_ADMIN_STATEMENTS = "log_slow_admin_statements";
    MIN_EXAMINED_ROW_LIMIT = "min_examined_row_limit";
    LOG_OUTPUT = "log_output";
    LONG_QUERY_TIME = "long_query_time";
    MAX_ALLOWED_PACKET = "max_allowed_packet";
    MAX_BINLOG_SIZE = "max_binlog_size";
    MAX_CONNECTIONS = "max_connections";
    MAX_ERROR_COUNT = "max_error_count";
    MAX_EXECUTION_TIME = "max_execution_time";
    MAX_PREPARED_STMT_COUNT = "max_prepared_stmt_count";
    MAX_SP_RECURSION_DEPTH = "max_sp_recursion_depth";
    MAX_USER_CONNECTIONS = "max_user_connections";
    NET_READ_TIMEOUT = "net_read_timeout";
    NET_WRITE_TIMEOUT = "net_write_timeout";
    OFFLINE_MODE = "offline_mode";
    OPEN_FILES_LIMIT = "open_files_limit";
    ORIGINAL_COMMIT_TIMESTAMP = "original_commit_timestamp";
    ORIGINAL_SERVER_VERSION = "original_server_version";
    PID_FILE = "pid_file";
    PORT = "port";
    PSEUDO_THREAD_ID = "pseudo_thread_id";
    READ_ONLY = "read_only";
    REPORT_PORT = "report_port";
    REQUIRE_SECURE_TRANSPORT = "require_secure_transport";
    RESULTSET_METADATA = "resultset_metadata";
    RPL_SEMI_SYNC_SOURCE_ENABLED = "rpl_semi_sync_source_enabled";
    RPL_SEMI_SYNC_SOURCE_TIMEOUT = "rpl_semi_sync_source_timeout";
    RPL_SEMI_SYNC_SOURCE_WAIT_FOR_REPLICA_COUNT = "rpl_semi_sync_source_wait_for_replica_count";
    RPL_SEMI_SYNC_SOURCE_WAIT_NO_REPLICA = "rpl_semi_sync_source_wait_no_replica";
    RPL_SEMI_SYNC_SOURCE_WAIT_POINT = "rpl_semi_sync_source_wait_point";
    SECURE_FILE_PRIV = "secure_file_priv";
    SERVER_ID = "server_id";
    SERVER_UUID = "server_uuid";
    SESSION_TRACK_GTIDS = "session_track_gtids";
    SESSION_TRACK_SCHEMA = "session_track_schema";
    SESSION_TRACK_STATE_CHANGE = "session_track_state_change";
    SESSION_TRACK_SYSTEM_VARIABLES = "session_track_system_variables";
    SESSION_TRACK_TRANSACTION_INFO = "session_track_transaction_info";
    SHOW_GENERATED_KEY = "show_gipk_in_create_table_and_information_schema";
    SKIP_NETWORKING = "skip_networking";
    SLOW_QUERY_LOG = "slow_query_log";
    SLOW_QUERY_LOG_FILE = "slow_query_log_file";
    SOCKET = "socket";
    SORT_BUFFER_SIZE = "sort_buffer_size";
    SQL_LOG_BIN = "sql_log_bin";
    SQL_LOG_OFF = "sql_log_off";
    SQL_MODE = "sql_mode";
    SQL_GENERATE_INVISIBLE_PRIMARY_KEY = "sql_generate_invisible_primary_key";
    SQL_NOTES = "sql_notes";
    SQL_REQUIRE_PRIMARY_KEY = "sql_require_primary_key";
    SQL_SELECT_LIMIT = "sql_select_limit";
    SQL_SAFE_UPDATES = "sql_safe_updates";
    SSL_CERT = "ssl_cert";
    SSL_KEY = "ssl_key";
    SUPER_READ_ONLY = "super_read_only";
    SYNC_BINLOG = "sync_binlog";
    SYSTEM_TIME_ZONE = "system_time_zone";
    TEMPTABLE_MAX_RAM = "temptable_max_ram";
    THREAD_CACHE_SIZE = "thread_cache_size";
    THREAD_STACK = "thread_stack";
    TIME_ZONE = "time_zone";
    TIMESTAMP = "timestamp";
    TMPDIR = "tmpdir";
    TMP_TABLE_SIZE = "tmp_table_size";
    TRANSACTION_ISOLATION = "transaction_isolation";
    TRANSACTION_READ_ONLY = "transaction_read_only";
    UNIQUE_CHECKS = "unique_checks";
    VERSION = "version";
    WAIT_TIMEOUT = "wait_timeout";
    WARNING_COUNT = "warning_count";
}

/// The bits of `sql_mode`; their numbers are in the binary log, so they are MySQL's.
#[allow(missing_docs, reason = "each name is the mode's own")]
pub mod sql_mode {
    pub const REAL_AS_FLOAT: u64 = 1 << 0;
    pub const PIPES_AS_CONCAT: u64 = 1 << 1;
    pub const ANSI_QUOTES: u64 = 1 << 2;
    pub const IGNORE_SPACE: u64 = 1 << 3;
    pub const ONLY_FULL_GROUP_BY: u64 = 1 << 5;
    pub const NO_UNSIGNED_SUBTRACTION: u64 = 1 << 6;
    pub const NO_DIR_IN_CREATE: u64 = 1 << 7;
    pub const ANSI: u64 = 1 << 18;
    pub const NO_AUTO_VALUE_ON_ZERO: u64 = 1 << 19;
    pub const NO_BACKSLASH_ESCAPES: u64 = 1 << 20;
    pub const STRICT_TRANS_TABLES: u64 = 1 << 21;
    pub const STRICT_ALL_TABLES: u64 = 1 << 22;
    pub const NO_ZERO_IN_DATE: u64 = 1 << 23;
    pub const NO_ZERO_DATE: u64 = 1 << 24;
    pub const ALLOW_INVALID_DATES: u64 = 1 << 25;
    pub const ERROR_FOR_DIVISION_BY_ZERO: u64 = 1 << 26;
    pub const TRADITIONAL: u64 = 1 << 27;
    pub const HIGH_NOT_PRECEDENCE: u64 = 1 << 29;
    pub const NO_ENGINE_SUBSTITUTION: u64 = 1 << 30;
    pub const PAD_CHAR_TO_FULL_LENGTH: u64 = 1 << 31;
    pub const TIME_TRUNCATE_FRACTIONAL: u64 = 1 << 32;

    /// The default of MySQL 8.4.
    pub const DEFAULT: u64 = ONLY_FULL_GROUP_BY
        | STRICT_TRANS_TABLES
        | NO_ZERO_IN_DATE
        | NO_ZERO_DATE
        | ERROR_FOR_DIVISION_BY_ZERO
        | NO_ENGINE_SUBSTITUTION;

    /// What changes how a text is read: which characters quote, escape and join, what binds closer,
    /// what a type's name means.
    pub const SYNTAX: u64 = REAL_AS_FLOAT
        | PIPES_AS_CONCAT
        | ANSI_QUOTES
        | IGNORE_SPACE
        | ANSI
        | NO_BACKSLASH_ESCAPES
        | HIGH_NOT_PRECEDENCE;

    /// The words by bit; bits that no mode has any more are `NOT_USED_n`.
    pub const NAMES: [&str; 33] = [
        "REAL_AS_FLOAT",
        "PIPES_AS_CONCAT",
        "ANSI_QUOTES",
        "IGNORE_SPACE",
        "NOT_USED",
        "ONLY_FULL_GROUP_BY",
        "NO_UNSIGNED_SUBTRACTION",
        "NO_DIR_IN_CREATE",
        "NOT_USED_9",
        "NOT_USED_10",
        "NOT_USED_11",
        "NOT_USED_12",
        "NOT_USED_13",
        "NOT_USED_14",
        "NOT_USED_15",
        "NOT_USED_16",
        "NOT_USED_17",
        "NOT_USED_18",
        "ANSI",
        "NO_AUTO_VALUE_ON_ZERO",
        "NO_BACKSLASH_ESCAPES",
        "STRICT_TRANS_TABLES",
        "STRICT_ALL_TABLES",
        "NO_ZERO_IN_DATE",
        "NO_ZERO_DATE",
        "ALLOW_INVALID_DATES",
        "ERROR_FOR_DIVISION_BY_ZERO",
        "TRADITIONAL",
        "NOT_USED_29",
        "HIGH_NOT_PRECEDENCE",
        "NO_ENGINE_SUBSTITUTION",
        "PAD_CHAR_TO_FULL_LENGTH",
        "TIME_TRUNCATE_FRACTIONAL",
    ];

    /// The modes that a combined mode's word stands for.
    pub(in crate::variables) fn expand(word: &str) -> Option<u64> {
        if word.eq_ignore_ascii_case("ANSI") {
            Some(ANSI | REAL_AS_FLOAT | PIPES_AS_CONCAT | ANSI_QUOTES | IGNORE_SPACE | ONLY_FULL_GROUP_BY)
        } else if word.eq_ignore_ascii_case("TRADITIONAL") {
            Some(
                TRADITIONAL
                    | STRICT_TRANS_TABLES
                    | STRICT_ALL_TABLES
                    | NO_ZERO_IN_DATE
                    | NO_ZERO_DATE
                    | ERROR_FOR_DIVISION_BY_ZERO
                    | NO_ENGINE_SUBSTITUTION,
            )
        } else if word.eq_ignore_ascii_case("NO_AUTO_CREATE_USER") {
            // GRANT never makes accounts; dumps of servers where it could say so.
            Some(0)
        } else {
            None
        }
    }
}
