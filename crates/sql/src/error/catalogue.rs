//! The error numbers of MySQL 8.4 that Duramen uses, each with symbol, SQLSTATE and message shape.
//!
//! Source: the manual's "Server Error Message Reference". Sorted by number; a new error gets its line here first.

use super::Code;

macro_rules! catalogue {
    ($($name:ident = $number:literal, $state:literal, $shape:literal;)*) => {
        $(
            #[doc = $shape]
            pub const $name: Code = Code {
                number: $number,
                sqlstate: sqlstate($state),
                symbol: concat!("ER_", stringify!($name)),
                shape: $shape,
            };
        )*
        /// Every entry, by number.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

const fn sqlstate(text: &str) -> [u8; 5] {
    let b = text.as_bytes();
    assert!(b.len() == 5, "a SQLSTATE has five characters");
    [b[0], b[1], b[2], b[3], b[4]]
}

catalogue! {
    CANT_CREATE_TABLE = 1005, "HY000", "Can't create table '%' (errno: %)";
    DB_CREATE_EXISTS = 1007, "HY000", "Can't create database '%'; database exists";
    DB_DROP_EXISTS = 1008, "HY000", "Can't drop database '%'; database doesn't exist";
    CHECKREAD = 1020, "HY000", "Record has changed since last read in table '%'";
    DISK_FULL = 1021, "HY000", "Disk full (%); waiting for someone to free some space...";
    DUP_KEY = 1022, "23000", "Can't write; duplicate key in table '%'";
    ERROR_ON_READ = 1024, "HY000", "Error reading file '%' (errno: %)";
    ERROR_ON_WRITE = 1026, "HY000", "Error writing file '%' (errno: %)";
    OUT_OF_SORTMEMORY = 1038, "HY001", "Out of sort memory, consider increasing server sort buffer size";
    OUT_OF_RESOURCES = 1041, "HY000", "Out of memory; check if mysqld or some other process uses all available memory; if not, you may have to use 'ulimit' to allow mysqld to use more memory or you can add more swap space";
    HANDSHAKE_ERROR = 1043, "08S01", "Bad handshake";
    DBACCESS_DENIED_ERROR = 1044, "42000", "Access denied for user '%'@'%' to database '%'";
    ACCESS_DENIED_ERROR = 1045, "28000", "Access denied for user '%'@'%' (using password: %)";
    NO_DB_SELECTED = 1046, "3D000", "No database selected";
    UNKNOWN_COM_ERROR = 1047, "08S01", "Unknown command";
    BAD_NULL_ERROR = 1048, "23000", "Column '%' cannot be null";
    BAD_DB_ERROR = 1049, "42000", "Unknown database '%'";
    TABLE_EXISTS_ERROR = 1050, "42S01", "Table '%' already exists";
    BAD_TABLE_ERROR = 1051, "42S02", "Unknown table '%'";
    NON_UNIQ_ERROR = 1052, "23000", "Column '%' in % is ambiguous";
    SERVER_SHUTDOWN = 1053, "08S01", "Server shutdown in progress";
    BAD_FIELD_ERROR = 1054, "42S22", "Unknown column '%' in '%'";
    WRONG_FIELD_WITH_GROUP = 1055, "42000", "Expression #% of SELECT list is not in GROUP BY clause and contains nonaggregated column '%' which is not functionally dependent on columns in GROUP BY clause; this is incompatible with sql_mode=only_full_group_by";
    WRONG_GROUP_FIELD = 1056, "42000", "Can't group on '%'";
    TOO_LONG_IDENT = 1059, "42000", "Identifier name '%' is too long";
    DUP_FIELDNAME = 1060, "42S21", "Duplicate column name '%'";
    DUP_KEYNAME = 1061, "42000", "Duplicate key name '%'";
    DUP_ENTRY = 1062, "23000", "Duplicate entry '%' for key '%'";
    WRONG_FIELD_SPEC = 1063, "42000", "Incorrect column specifier for column '%'";
    PARSE_ERROR = 1064, "42000", "% near '%' at line %";
    EMPTY_QUERY = 1065, "42000", "Query was empty";
    NONUNIQ_TABLE = 1066, "42000", "Not unique table/alias: '%'";
    INVALID_DEFAULT = 1067, "42000", "Invalid default value for '%'";
    MULTIPLE_PRI_KEY = 1068, "42000", "Multiple primary key defined";
    TOO_MANY_KEYS = 1069, "42000", "Too many keys specified; max % keys allowed";
    TOO_MANY_KEY_PARTS = 1070, "42000", "Too many key parts specified; max % parts allowed";
    TOO_LONG_KEY = 1071, "42000", "Specified key was too long; max key length is % bytes";
    KEY_COLUMN_DOES_NOT_EXIST = 1072, "42000", "Key column '%' doesn't exist in table";
    BLOB_USED_AS_KEY = 1073, "42000", "BLOB column '%' can't be used in key specification with the used table type";
    TOO_BIG_FIELDLENGTH = 1074, "42000", "Column length too big for column '%' (max = %); use BLOB or TEXT instead";
    WRONG_AUTO_KEY = 1075, "42000", "Incorrect table definition; there can be only one auto column and it must be defined as a key";
    WRONG_SUB_KEY = 1089, "HY000", "Incorrect prefix key; the used key part isn't a string, the used length is longer than the key part, or the storage engine doesn't support unique prefix keys";
    CANT_REMOVE_ALL_FIELDS = 1090, "42000", "You can't delete all columns with ALTER TABLE; use DROP TABLE instead";
    CANT_DROP_FIELD_OR_KEY = 1091, "42000", "Can't DROP '%'; check that column/key exists";
    NO_SUCH_THREAD = 1094, "HY000", "Unknown thread id: %";
    KILL_DENIED_ERROR = 1095, "HY000", "You are not owner of thread %";
    NO_TABLES_USED = 1096, "HY000", "No tables used";
    TOO_BIG_SET = 1097, "HY000", "Too many strings for column % and SET";
    TABLE_NOT_LOCKED_FOR_WRITE = 1099, "HY000", "Table '%' was locked with a READ lock and can't be updated";
    TABLE_NOT_LOCKED = 1100, "HY000", "Table '%' was not locked with LOCK TABLES";
    BLOB_CANT_HAVE_DEFAULT = 1101, "42000", "BLOB, TEXT, GEOMETRY or JSON column '%' can't have a default value";
    WRONG_DB_NAME = 1102, "42000", "Incorrect database name '%'";
    WRONG_TABLE_NAME = 1103, "42000", "Incorrect table name '%'";
    UNKNOWN_ERROR = 1105, "HY000", "%";
    UNKNOWN_PROCEDURE = 1106, "42000", "Unknown procedure '%'";
    UNKNOWN_TABLE = 1109, "42S02", "Unknown table '%' in %";
    FIELD_SPECIFIED_TWICE = 1110, "42000", "Column '%' specified twice";
    INVALID_GROUP_FUNC_USE = 1111, "HY000", "Invalid use of group function";
    TABLE_MUST_HAVE_COLUMNS = 1113, "42000", "A table must have at least 1 column";
    RECORD_FILE_FULL = 1114, "HY000", "The table '%' is full";
    UNKNOWN_CHARACTER_SET = 1115, "42000", "Unknown character set: '%'";
    TOO_MANY_FIELDS = 1117, "HY000", "Too many columns";
    TOO_BIG_ROWSIZE = 1118, "42000", "Row size too large. The maximum row size for the used table type, not counting BLOBs, is %. This includes storage overhead, check the manual. You have to change some columns to TEXT or BLOBs";
    PASSWORD_NO_MATCH = 1133, "42000", "Can't find any matching row in the user table";
    WRONG_VALUE_COUNT_ON_ROW = 1136, "21S01", "Column count doesn't match value count at row %";
    REGEXP_ERROR = 1139, "42000", "Got error '%' from regexp";
    MIX_OF_GROUP_FUNC_AND_FIELDS = 1140, "42000", "In aggregated query without GROUP BY, expression #% of SELECT list contains nonaggregated column '%'; this is incompatible with sql_mode=only_full_group_by";
    NONEXISTING_GRANT = 1141, "42000", "There is no such grant defined for user '%' on host '%'";
    TABLEACCESS_DENIED_ERROR = 1142, "42000", "% command denied to user '%'@'%' for table '%'";
    NO_SUCH_TABLE = 1146, "42S02", "Table '%.%' doesn't exist";
    SYNTAX_ERROR = 1149, "42000", "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right syntax to use";
    NET_PACKET_TOO_LARGE = 1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes";
    WRONG_COLUMN_NAME = 1166, "42000", "Incorrect column name '%'";
    DUP_UNIQUE = 1169, "23000", "Can't write, because of unique constraint, to table '%'";
    BLOB_KEY_WITHOUT_LENGTH = 1170, "42000", "BLOB/TEXT column '%' used in key specification without a key length";
    PRIMARY_CANT_HAVE_NULL = 1171, "42000", "All parts of a PRIMARY KEY must be NOT NULL; if you need NULL in a key, use UNIQUE instead";
    TOO_MANY_ROWS = 1172, "42000", "Result consisted of more than one row";
    REQUIRES_PRIMARY_KEY = 1173, "42000", "This table type requires a primary key";
    KEY_DOES_NOT_EXIST = 1176, "42000", "Key '%' doesn't exist in table '%'";
    CANT_DO_THIS_DURING_TRANSACTION = 1179, "25000", "You are not allowed to execute this command in a transaction";
    ERROR_DURING_COMMIT = 1180, "HY000", "Got error % during COMMIT";
    LOCK_OR_ACTIVE_TRANSACTION = 1192, "HY000", "Can't execute the given command because you have active locked tables or an active transaction";
    UNKNOWN_SYSTEM_VARIABLE = 1193, "HY000", "Unknown system variable '%'";
    TRANS_CACHE_FULL = 1197, "HY000", "Multi-statement transaction required more than % bytes of storage; increase duramen_transaction_size_max and try again";
    TOO_MANY_USER_CONNECTIONS = 1203, "42000", "User % already has more than 'max_user_connections' active connections";
    SET_CONSTANTS_ONLY = 1204, "HY000", "You may only use constant expressions with SET";
    LOCK_WAIT_TIMEOUT = 1205, "HY000", "Lock wait timeout exceeded; try restarting transaction";
    LOCK_TABLE_FULL = 1206, "HY000", "The total number of locks exceeds the lock table size";
    WRONG_ARGUMENTS = 1210, "HY000", "Incorrect arguments to %";
    LOCK_DEADLOCK = 1213, "40001", "Deadlock found when trying to get lock; try restarting transaction";
    ERROR_WHEN_EXECUTING_COMMAND = 1220, "HY000", "Error when executing command %: %";
    WRONG_USAGE = 1221, "HY000", "Incorrect usage of % and %";
    WRONG_NUMBER_OF_COLUMNS_IN_SELECT = 1222, "21000", "The used SELECT statements have a different number of columns";
    CANT_UPDATE_WITH_READLOCK = 1223, "HY000", "Can't execute the query because you have a conflicting read lock";
    USER_LIMIT_REACHED = 1226, "42000", "User '%' has exceeded the '%' resource (current value: %)";
    SPECIFIC_ACCESS_DENIED_ERROR = 1227, "42000", "Access denied; you need (at least one of) the % privilege(s) for this operation";
    LOCAL_VARIABLE = 1228, "HY000", "Variable '%' is a SESSION variable and can't be used with SET GLOBAL";
    GLOBAL_VARIABLE = 1229, "HY000", "Variable '%' is a GLOBAL variable and should be set with SET GLOBAL";
    NO_DEFAULT = 1230, "42000", "Variable '%' doesn't have a default value";
    WRONG_VALUE_FOR_VAR = 1231, "42000", "Variable '%' can't be set to the value of '%'";
    WRONG_TYPE_FOR_VAR = 1232, "42000", "Incorrect argument type to variable '%'";
    VAR_CANT_BE_READ = 1233, "HY000", "Variable '%' can only be set, not read";
    NOT_SUPPORTED_YET = 1235, "42000", "This version of Duramen doesn't yet support '%'";
    INCORRECT_GLOBAL_LOCAL_VAR = 1238, "HY000", "Variable '%' is a % variable";
    OPERAND_COLUMNS = 1241, "21000", "Operand should contain % column(s)";
    SUBQUERY_NO_1_ROW = 1242, "21000", "Subquery returns more than 1 row";
    UNKNOWN_STMT_HANDLER = 1243, "HY000", "Unknown prepared statement handler (%) given to %";
    DERIVED_MUST_HAVE_ALIAS = 1248, "42000", "Every derived table must have its own alias";
    COLLATION_CHARSET_MISMATCH = 1253, "42000", "COLLATION '%' is not valid for CHARACTER SET '%'";
    WARN_DATA_OUT_OF_RANGE = 1264, "22003", "Out of range value for column '%' at row %";
    WARN_DATA_TRUNCATED = 1265, "01000", "Data truncated for column '%' at row %";
    CANT_AGGREGATE_2COLLATIONS = 1267, "HY000", "Illegal mix of collations (%) and (%) for operation '%'";
    UNKNOWN_COLLATION = 1273, "HY000", "Unknown collation: '%'";
    WRONG_NAME_FOR_INDEX = 1280, "42000", "Incorrect index name '%'";
    UNKNOWN_STORAGE_ENGINE = 1286, "42000", "Unknown storage engine '%'";
    WARN_DEPRECATED_SYNTAX = 1287, "HY000", "'%' is deprecated and will be removed in a future release. Please use % instead";
    OPTION_PREVENTS_STATEMENT = 1290, "HY000", "The MySQL server is running with the % option so it cannot execute this statement";
    DUPLICATED_VALUE_IN_TYPE = 1291, "HY000", "Column '%' has duplicated value '%' in %";
    TRUNCATED_WRONG_VALUE = 1292, "22007", "Truncated incorrect % value: '%'";
    INCORRECT_VALUE = 1292, "22007", "Incorrect % value: '%' for column '%' at row %";
    INVALID_ON_UPDATE = 1294, "HY000", "Invalid ON UPDATE clause for '%' column";
    UNSUPPORTED_PS = 1295, "HY000", "This command is not supported in the prepared statement protocol yet";
    GET_ERRMSG = 1296, "HY000", "Got error % '%' from %";
    UNKNOWN_TIME_ZONE = 1298, "HY000", "Unknown or incorrect time zone: '%'";
    INVALID_CHARACTER_STRING = 1300, "HY000", "Invalid % character string: '%'";
    WARN_ALLOWED_PACKET_OVERFLOWED = 1301, "HY000", "Result of %() was larger than max_allowed_packet (%) - truncated";
    SP_ALREADY_EXISTS = 1304, "42000", "% % already exists";
    SP_DOES_NOT_EXIST = 1305, "42000", "% % does not exist";
    SP_LILABEL_MISMATCH = 1308, "42000", "% with no matching label: %";
    SP_LABEL_REDEFINE = 1309, "42000", "Redefining label %";
    SP_BADSELECT = 1312, "0A000", "PROCEDURE % can't return a result set in the given context";
    SP_BADRETURN = 1313, "42000", "RETURN is only allowed in a FUNCTION";
    SP_BADSTATEMENT = 1314, "0A000", "% is not allowed in stored procedures";
    QUERY_INTERRUPTED = 1317, "70100", "Query execution was interrupted";
    SP_WRONG_NO_OF_ARGS = 1318, "42000", "Incorrect number of arguments for % %; expected %, got %";
    SP_NORETURN = 1320, "42000", "No RETURN found in FUNCTION %";
    SP_NORETURNEND = 1321, "2F005", "FUNCTION % ended without RETURN";
    SP_UNDECLARED_VAR = 1327, "42000", "Undeclared variable: %";
    SP_FETCH_NO_DATA = 1329, "02000", "No data - zero rows fetched, selected, or processed";
    SP_DUP_PARAM = 1330, "42000", "Duplicate parameter: %";
    SP_DUP_VAR = 1331, "42000", "Duplicate variable: %";
    STMT_NOT_ALLOWED_IN_SF_OR_TRG = 1336, "0A000", "% is not allowed in stored function or trigger";
    SP_CASE_NOT_FOUND = 1339, "20000", "Case not found for CASE statement";
    WRONG_OBJECT = 1347, "HY000", "'%.%' is not %";
    TRG_DOES_NOT_EXIST = 1360, "HY000", "Trigger does not exist";
    NO_DEFAULT_FOR_FIELD = 1364, "HY000", "Field '%' doesn't have a default value";
    DIVISION_BY_ZERO = 1365, "22012", "Division by 0";
    TRUNCATED_WRONG_VALUE_FOR_FIELD = 1366, "HY000", "Incorrect % value: '%' for column '%' at row %";
    ILLEGAL_VALUE_FOR_TYPE = 1367, "22007", "Illegal % '%' value found during parsing";
    PROCACCESS_DENIED_ERROR = 1370, "42000", "% command denied to user '%'@'%' for routine '%'";
    PASSWD_LENGTH = 1372, "HY000", "Password hash should be a %-digit hexadecimal number";
    BINLOG_PURGE_UNKNOWN_LOG = 1373, "HY000", "Target log not found in binlog index";
    LOG_IN_USE = 1378, "HY000", "A purgeable log is in use, will not purge";
    NO_BINARY_LOGGING = 1381, "HY000", "You are not using binary logging";
    PS_MANY_PARAM = 1390, "HY000", "Prepared statement contains too many placeholders";
    KEY_PART_0 = 1391, "HY000", "Key part '%' length cannot be 0";
    CANNOT_USER = 1396, "HY000", "Operation % failed for %";
    XAER_NOTA = 1397, "XAE04", "XAER_NOTA: Unknown XID";
    XAER_INVAL = 1398, "XAE05", "XAER_INVAL: Invalid arguments (or unsupported command)";
    XAER_RMFAIL = 1399, "XAE07", "XAER_RMFAIL: The command cannot be executed when global transaction is in the  % state";
    XAER_OUTSIDE = 1400, "XAE09", "XAER_OUTSIDE: Some work is done outside global transaction";
    XAER_RMERR = 1401, "XAE03", "XAER_RMERR: Fatal error occurred in the transaction branch - check your data for consistency";
    XA_RBROLLBACK = 1402, "XA100", "XA_RBROLLBACK: Transaction branch was rolled back";
    DATA_TOO_LONG = 1406, "22001", "Data too long for column '%' at row %";
    CANT_CREATE_USER_WITH_GRANT = 1410, "42000", "You are not allowed to create a user with GRANT";
    SP_NO_RETSET = 1415, "0A000", "Not allowed to return a result set from a %";
    COMMIT_NOT_ALLOWED_IN_SF_OR_TRG = 1422, "HY000", "Explicit or implicit commit is not allowed in stored function or trigger.";
    SP_NO_RECURSION = 1424, "HY000", "Recursive stored functions and triggers are not allowed.";
    TOO_BIG_SCALE = 1425, "42000", "Too big scale % specified for column '%'. Maximum is %.";
    TOO_BIG_PRECISION = 1426, "42000", "Too-big precision % specified for '%'. Maximum is %.";
    M_BIGGER_THAN_D = 1427, "42000", "For float(M,D), double(M,D) or decimal(M,D), M must be >= D (column '%').";
    STACK_OVERRUN_NEED_MORE = 1436, "HY000", "Thread stack overrun:  % bytes used of a % byte stack, and % bytes needed.  Use 'mysqld --thread_stack=#' to specify a bigger stack.";
    TOO_BIG_DISPLAYWIDTH = 1439, "42000", "Display width out of range for column '%' (max = %)";
    XAER_DUPID = 1440, "XAE08", "XAER_DUPID: The XID already exists";
    DATETIME_FUNCTION_OVERFLOW = 1441, "22008", "Datetime function: % field overflow";
    CANT_UPDATE_USED_TABLE_IN_SF_OR_TRG = 1442, "HY000", "Can't update table '%' in stored function/trigger because it is already used by statement which invoked this stored function/trigger.";
    SP_CANT_SET_AUTOCOMMIT = 1445, "HY000", "Not allowed to set autocommit from a stored function or trigger";
    NO_SUCH_USER = 1449, "HY000", "The user specified as a definer ('%'@'%') does not exist";
    SP_WRONG_NAME = 1458, "42000", "Incorrect routine name '%'";
    MAX_PREPARED_STMT_COUNT_REACHED = 1461, "42000", "Can't create more than max_prepared_stmt_count statements (current value: %)";
    AUTOINC_READ_FAILED = 1467, "HY000", "Failed to read auto-increment value from storage engine";
    PLUGIN_IS_NOT_LOADED = 1524, "HY000", "Plugin '%' is not loaded";
    WRONG_VALUE = 1525, "HY000", "Incorrect % value: '%'";
    EVENT_DOES_NOT_EXIST = 1539, "HY000", "Unknown event '%'";
    CANT_CHANGE_TX_CHARACTERISTICS = 1568, "25001", "Transaction characteristics can't be changed while a transaction is in progress";
    WRONG_PARAMCOUNT_TO_NATIVE_FCT = 1582, "42000", "Incorrect parameter count in the call to native function '%'";
    WRONG_PARAMETERS_TO_NATIVE_FCT = 1583, "42000", "Incorrect parameters in the call to native function '%'";
    NATIVE_FCT_NAME_COLLISION = 1585, "HY000", "This function '%' has the same name as a native function";
    ERROR_ON_LOG = 1598, "HY000", "Binary logging not possible. Message: %";
    XA_RBDEADLOCK = 1614, "XA102", "XA_RBDEADLOCK: Transaction branch was rolled back: deadlock was detected";
    DATA_OUT_OF_RANGE = 1690, "22003", "% value is out of range in '%'";
    INDEX_COLUMN_TOO_LONG = 1709, "HY000", "Index column size too large. The maximum column size is % bytes.";
    CANT_EXECUTE_IN_READ_ONLY_TRANSACTION = 1792, "25006", "Cannot execute statement in a READ ONLY transaction.";
    INTERNAL_ERROR = 1815, "HY000", "Internal error: %";
    MUST_CHANGE_PASSWORD = 1820, "HY000", "You must reset your password using ALTER USER statement before executing this statement.";
    MUST_CHANGE_PASSWORD_LOGIN = 1862, "HY000", "Your password has expired. To log in you must change it using a client that supports expired passwords.";
    INNODB_READ_ONLY = 1874, "HY000", "InnoDB is in read only mode.";
    INVALID_ARGUMENT_FOR_LOGARITHM = 3020, "2201E", "Invalid argument for logarithm";
    QUERY_TIMEOUT = 3024, "HY000", "Query execution was interrupted, maximum statement execution time exceeded";
    GENERATED_COLUMN_FUNCTION_IS_NOT_ALLOWED = 3102, "HY000", "Expression of generated column '%' contains a disallowed function.";
    INVALID_JSON_TEXT = 3140, "22032", "Invalid JSON text: \"%\" at position % in value for column '%'.";
    USER_DOES_NOT_EXIST = 3162, "HY000", "Authorization ID % does not exist.";
    USER_ALREADY_EXISTS = 3163, "HY000", "Authorization ID % already exists.";
    CAPACITY_EXCEEDED = 3170, "HY000", "Memory capacity of % bytes for '%' exceeded. %";
    LOCK_NOWAIT = 3572, "HY000", "Statement aborted because lock(s) could not be acquired immediately and NOWAIT is set.";
    ILLEGAL_PRIVILEGE_LEVEL = 3619, "HY000", "Illegal privilege level specified for %";
    TABLE_MUST_HAVE_A_VISIBLE_COLUMN = 4028, "HY000", "A table must have at least one visible column.";
    GIPK_COLUMN_EXISTS = 4108, "HY000", "Failed to generate invisible primary key. Column 'my_row_id' already exists.";
}
