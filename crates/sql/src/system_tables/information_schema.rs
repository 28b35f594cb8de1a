//! The tables of `information_schema`: names, columns and their order as in the manual's chapter on
//! it.

use super::column::{SystemColumn, columns};
use super::{SystemTable, accounts, columns, events, keys, none, routines, schemas, server, triggers, views};

const TABLE: [&str; 2] = ["TABLE_SCHEMA", "TABLE_NAME"];
const CONSTRAINT: [&str; 2] = ["CONSTRAINT_SCHEMA", "TABLE_NAME"];
const NOTHING: [&str; 2] = ["", ""];

/// A role that somebody may take on.
const APPLICABLE_ROLE: &[SystemColumn] = columns! {
    USER: Varchar(97) or_null, HOST: Varchar(256) or_null, GRANTEE: Varchar(97) or_null,
    GRANTEE_HOST: Varchar(256) or_null, ROLE_NAME: Varchar(255) or_null, ROLE_HOST: Varchar(256) or_null,
    IS_GRANTABLE: Varchar(3), IS_DEFAULT: Varchar(3) or_null, IS_MANDATORY: Varchar(3),
};

/// The tables, by name.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "ADMINISTRABLE_ROLE_AUTHORIZATIONS",
        columns: APPLICABLE_ROLE,
        keys: NOTHING,
        rows: none,
    },
    SystemTable { name: "APPLICABLE_ROLES", columns: APPLICABLE_ROLE, keys: NOTHING, rows: none },
    SystemTable {
        name: "CHARACTER_SETS",
        columns: columns! {
            CHARACTER_SET_NAME: Varchar(64), DEFAULT_COLLATE_NAME: Varchar(64), DESCRIPTION: Varchar(2048),
            MAXLEN: Uint,
        },
        keys: NOTHING,
        rows: server::character_sets,
    },
    SystemTable {
        name: "CHECK_CONSTRAINTS",
        columns: columns! {
            CONSTRAINT_CATALOG: Name, CONSTRAINT_SCHEMA: Name, CONSTRAINT_NAME: Varchar(64), CHECK_CLAUSE: CaseText,
        },
        keys: ["CONSTRAINT_SCHEMA", ""],
        rows: keys::check_constraints,
    },
    SystemTable {
        name: "COLLATIONS",
        columns: columns! {
            COLLATION_NAME: Varchar(64), CHARACTER_SET_NAME: Varchar(64), ID: Biguint, IS_DEFAULT: Varchar(3),
            IS_COMPILED: Varchar(3), SORTLEN: Uint, PAD_ATTRIBUTE: Varchar(9),
        },
        keys: NOTHING,
        rows: server::collations,
    },
    SystemTable {
        name: "COLLATION_CHARACTER_SET_APPLICABILITY",
        columns: columns! { COLLATION_NAME: Varchar(64), CHARACTER_SET_NAME: Varchar(64) },
        keys: NOTHING,
        rows: server::collation_charsets,
    },
    SystemTable {
        name: "COLUMNS",
        columns: columns! {
            TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name, COLUMN_NAME: Varchar(64) or_null,
            ORDINAL_POSITION: Uint, COLUMN_DEFAULT: CaseText or_null, IS_NULLABLE: Varchar(3),
            DATA_TYPE: CaseText or_null, CHARACTER_MAXIMUM_LENGTH: Bigint or_null,
            CHARACTER_OCTET_LENGTH: Bigint or_null, NUMERIC_PRECISION: Biguint or_null,
            NUMERIC_SCALE: Biguint or_null, DATETIME_PRECISION: Uint or_null,
            CHARACTER_SET_NAME: Varchar(64) or_null, COLLATION_NAME: Varchar(64) or_null, COLUMN_TYPE: CaseText,
            COLUMN_KEY: Varchar(3), EXTRA: Varchar(256) or_null, PRIVILEGES: Varchar(154) or_null,
            COLUMN_COMMENT: Text, GENERATION_EXPRESSION: CaseText, SRS_ID: Uint or_null,
        },
        keys: TABLE,
        rows: columns::columns,
    },
    SystemTable {
        name: "COLUMNS_EXTENSIONS",
        columns: columns! {
            TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name, COLUMN_NAME: Varchar(64) or_null,
            ENGINE_ATTRIBUTE: Json or_null, SECONDARY_ENGINE_ATTRIBUTE: Json or_null,
        },
        keys: TABLE,
        rows: columns::columns_extensions,
    },
    SystemTable {
        name: "COLUMN_PRIVILEGES",
        columns: columns! {
            GRANTEE: Varchar(292), TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name,
            COLUMN_NAME: Varchar(64), PRIVILEGE_TYPE: Varchar(64), IS_GRANTABLE: Varchar(3),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "COLUMN_STATISTICS",
        columns: columns! { SCHEMA_NAME: Name, TABLE_NAME: Name, COLUMN_NAME: Varchar(64), HISTOGRAM: Json },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "ENABLED_ROLES",
        columns: columns! {
            ROLE_NAME: Varchar(255) or_null, ROLE_HOST: Varchar(255) or_null, IS_DEFAULT: Varchar(3) or_null,
            IS_MANDATORY: Varchar(3),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "ENGINES",
        columns: columns! {
            ENGINE: Varchar(64), SUPPORT: Varchar(8), COMMENT: Varchar(80), TRANSACTIONS: Varchar(3) or_null,
            XA: Varchar(3) or_null, SAVEPOINTS: Varchar(3) or_null,
        },
        keys: NOTHING,
        rows: server::engines,
    },
    SystemTable {
        name: "EVENTS",
        columns: columns! {
            EVENT_CATALOG: Name, EVENT_SCHEMA: Name, EVENT_NAME: Varchar(64), DEFINER: Varchar(288),
            TIME_ZONE: Varchar(64), EVENT_BODY: Varchar(3), EVENT_DEFINITION: CaseText, EVENT_TYPE: Varchar(9),
            EXECUTE_AT: Datetime or_null, INTERVAL_VALUE: Varchar(256) or_null,
            INTERVAL_FIELD: Varchar(18) or_null, SQL_MODE: Varchar(520), STARTS: Datetime or_null,
            ENDS: Datetime or_null, STATUS: Varchar(21), ON_COMPLETION: Varchar(12), CREATED: Timestamp,
            LAST_ALTERED: Timestamp, LAST_EXECUTED: Datetime or_null, EVENT_COMMENT: Varchar(2048),
            ORIGINATOR: Uint, CHARACTER_SET_CLIENT: Varchar(64), COLLATION_CONNECTION: Varchar(64),
            DATABASE_COLLATION: Varchar(64),
        },
        keys: ["EVENT_SCHEMA", ""],
        rows: events::events,
    },
    SystemTable {
        name: "FILES",
        columns: columns! {
            FILE_ID: Bigint or_null, FILE_NAME: CaseText or_null, FILE_TYPE: Varchar(256) or_null,
            TABLESPACE_NAME: Varchar(268), TABLE_CATALOG: Varchar(0), TABLE_SCHEMA: Name or_null,
            TABLE_NAME: Name or_null, LOGFILE_GROUP_NAME: Varchar(256) or_null,
            LOGFILE_GROUP_NUMBER: Bigint or_null, ENGINE: Varchar(64), FULLTEXT_KEYS: Varchar(64) or_null,
            DELETED_ROWS: Bigint or_null, UPDATE_COUNT: Bigint or_null, FREE_EXTENTS: Bigint or_null,
            TOTAL_EXTENTS: Bigint or_null, EXTENT_SIZE: Bigint or_null, INITIAL_SIZE: Bigint or_null,
            MAXIMUM_SIZE: Bigint or_null, AUTOEXTEND_SIZE: Bigint or_null, CREATION_TIME: Datetime or_null,
            LAST_UPDATE_TIME: Datetime or_null, LAST_ACCESS_TIME: Datetime or_null, RECOVER_TIME: Bigint or_null,
            TRANSACTION_COUNTER: Bigint or_null, VERSION: Bigint or_null, ROW_FORMAT: Varchar(256) or_null,
            TABLE_ROWS: Bigint or_null, AVG_ROW_LENGTH: Bigint or_null, DATA_LENGTH: Bigint or_null,
            MAX_DATA_LENGTH: Bigint or_null, INDEX_LENGTH: Bigint or_null, DATA_FREE: Bigint or_null,
            CREATE_TIME: Datetime or_null, UPDATE_TIME: Datetime or_null, CHECK_TIME: Datetime or_null,
            CHECKSUM: Bigint or_null, STATUS: Varchar(256) or_null, EXTRA: Varchar(256) or_null,
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "KEYWORDS",
        columns: columns! { WORD: Varchar(128) or_null, RESERVED: Int or_null },
        keys: NOTHING,
        rows: server::keywords,
    },
    SystemTable {
        name: "KEY_COLUMN_USAGE",
        columns: columns! {
            CONSTRAINT_CATALOG: Name, CONSTRAINT_SCHEMA: Name, CONSTRAINT_NAME: Varchar(64) or_null,
            TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name, COLUMN_NAME: Varchar(64) or_null,
            ORDINAL_POSITION: Uint, POSITION_IN_UNIQUE_CONSTRAINT: Uint or_null,
            REFERENCED_TABLE_SCHEMA: Name or_null, REFERENCED_TABLE_NAME: Name or_null,
            REFERENCED_COLUMN_NAME: Varchar(64) or_null,
        },
        keys: TABLE,
        rows: keys::key_column_usage,
    },
    SystemTable {
        name: "PARAMETERS",
        columns: columns! {
            SPECIFIC_CATALOG: Name, SPECIFIC_SCHEMA: Name, SPECIFIC_NAME: Varchar(64), ORDINAL_POSITION: Biguint,
            PARAMETER_MODE: Varchar(5) or_null, PARAMETER_NAME: Varchar(64) or_null, DATA_TYPE: CaseText or_null,
            CHARACTER_MAXIMUM_LENGTH: Bigint or_null, CHARACTER_OCTET_LENGTH: Bigint or_null,
            NUMERIC_PRECISION: Uint or_null, NUMERIC_SCALE: Bigint or_null, DATETIME_PRECISION: Uint or_null,
            CHARACTER_SET_NAME: Varchar(64) or_null, COLLATION_NAME: Varchar(64) or_null,
            DTD_IDENTIFIER: CaseText, ROUTINE_TYPE: Varchar(9),
        },
        keys: ["SPECIFIC_SCHEMA", ""],
        rows: routines::parameters,
    },
    SystemTable {
        name: "PARTITIONS",
        columns: columns! {
            TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name, PARTITION_NAME: Varchar(64) or_null,
            SUBPARTITION_NAME: Varchar(64) or_null, PARTITION_ORDINAL_POSITION: Uint or_null,
            SUBPARTITION_ORDINAL_POSITION: Uint or_null, PARTITION_METHOD: Varchar(13) or_null,
            SUBPARTITION_METHOD: Varchar(13) or_null, PARTITION_EXPRESSION: Varchar(2048) or_null,
            SUBPARTITION_EXPRESSION: Varchar(2048) or_null, PARTITION_DESCRIPTION: CaseText or_null,
            TABLE_ROWS: Biguint or_null, AVG_ROW_LENGTH: Biguint or_null, DATA_LENGTH: Biguint or_null,
            MAX_DATA_LENGTH: Biguint or_null, INDEX_LENGTH: Biguint or_null, DATA_FREE: Biguint or_null,
            CREATE_TIME: Timestamp or_null, UPDATE_TIME: Datetime or_null, CHECK_TIME: Datetime or_null,
            CHECKSUM: Bigint or_null, PARTITION_COMMENT: Text, NODEGROUP: Varchar(256) or_null,
            TABLESPACE_NAME: Varchar(268) or_null,
        },
        keys: TABLE,
        rows: schemas::partitions,
    },
    SystemTable {
        name: "PLUGINS",
        columns: columns! {
            PLUGIN_NAME: Varchar(64), PLUGIN_VERSION: Varchar(20), PLUGIN_STATUS: Varchar(10),
            PLUGIN_TYPE: Varchar(80), PLUGIN_TYPE_VERSION: Varchar(20), PLUGIN_LIBRARY: Varchar(64) or_null,
            PLUGIN_LIBRARY_VERSION: Varchar(20) or_null, PLUGIN_AUTHOR: Varchar(64) or_null,
            PLUGIN_DESCRIPTION: Varchar(20000) or_null, PLUGIN_LICENSE: Varchar(80) or_null,
            LOAD_OPTION: Varchar(64),
        },
        keys: NOTHING,
        rows: server::plugins,
    },
    SystemTable {
        name: "PROCESSLIST",
        columns: columns! {
            ID: Biguint, USER: Varchar(32), HOST: Varchar(261), DB: Varchar(64) or_null, COMMAND: Varchar(16),
            TIME: Int, STATE: Varchar(64) or_null, INFO: Text or_null,
        },
        keys: NOTHING,
        rows: server::processlist,
    },
    SystemTable {
        name: "REFERENTIAL_CONSTRAINTS",
        columns: columns! {
            CONSTRAINT_CATALOG: Name, CONSTRAINT_SCHEMA: Name, CONSTRAINT_NAME: Varchar(64) or_null,
            UNIQUE_CONSTRAINT_CATALOG: Name, UNIQUE_CONSTRAINT_SCHEMA: Name,
            UNIQUE_CONSTRAINT_NAME: Varchar(64) or_null, MATCH_OPTION: Varchar(7), UPDATE_RULE: Varchar(11),
            DELETE_RULE: Varchar(11), TABLE_NAME: Name, REFERENCED_TABLE_NAME: Name,
        },
        keys: CONSTRAINT,
        rows: keys::referential_constraints,
    },
    SystemTable {
        name: "ROUTINES",
        columns: columns! {
            SPECIFIC_NAME: Varchar(64), ROUTINE_CATALOG: Name, ROUTINE_SCHEMA: Name, ROUTINE_NAME: Varchar(64),
            ROUTINE_TYPE: Varchar(9), DATA_TYPE: CaseText or_null, CHARACTER_MAXIMUM_LENGTH: Bigint or_null,
            CHARACTER_OCTET_LENGTH: Bigint or_null, NUMERIC_PRECISION: Uint or_null,
            NUMERIC_SCALE: Uint or_null, DATETIME_PRECISION: Uint or_null, CHARACTER_SET_NAME: Varchar(64) or_null,
            COLLATION_NAME: Varchar(64) or_null, DTD_IDENTIFIER: CaseText or_null, ROUTINE_BODY: Varchar(3),
            ROUTINE_DEFINITION: CaseText or_null, EXTERNAL_NAME: Varchar(0) or_null,
            EXTERNAL_LANGUAGE: Varchar(64), PARAMETER_STYLE: Varchar(3), IS_DETERMINISTIC: Varchar(3),
            SQL_DATA_ACCESS: Varchar(17), SQL_PATH: Varchar(0) or_null, SECURITY_TYPE: Varchar(7),
            CREATED: Timestamp or_null, LAST_ALTERED: Timestamp or_null, SQL_MODE: Varchar(520),
            ROUTINE_COMMENT: Text, DEFINER: Varchar(288), CHARACTER_SET_CLIENT: Varchar(64),
            COLLATION_CONNECTION: Varchar(64), DATABASE_COLLATION: Varchar(64),
        },
        keys: ["ROUTINE_SCHEMA", ""],
        rows: routines::routines,
    },
    SystemTable {
        name: "SCHEMATA",
        columns: columns! {
            CATALOG_NAME: Name, SCHEMA_NAME: Name, DEFAULT_CHARACTER_SET_NAME: Varchar(64),
            DEFAULT_COLLATION_NAME: Varchar(64), SQL_PATH: Varchar(0) or_null, DEFAULT_ENCRYPTION: Varchar(3),
        },
        keys: ["SCHEMA_NAME", ""],
        rows: schemas::schemata,
    },
    SystemTable {
        name: "SCHEMATA_EXTENSIONS",
        columns: columns! { CATALOG_NAME: Name, SCHEMA_NAME: Name, OPTIONS: Varchar(256) or_null },
        keys: ["SCHEMA_NAME", ""],
        rows: schemas::schemata_extensions,
    },
    SystemTable {
        name: "SCHEMA_PRIVILEGES",
        columns: columns! {
            GRANTEE: Varchar(292), TABLE_CATALOG: Name, TABLE_SCHEMA: Name, PRIVILEGE_TYPE: Varchar(64),
            IS_GRANTABLE: Varchar(3),
        },
        keys: NOTHING,
        rows: accounts::schema_privileges,
    },
    SystemTable {
        name: "STATISTICS",
        columns: columns! {
            TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name, NON_UNIQUE: Int, INDEX_SCHEMA: Name,
            INDEX_NAME: Varchar(64) or_null, SEQ_IN_INDEX: Uint, COLUMN_NAME: Varchar(64) or_null,
            COLLATION: Varchar(1) or_null, CARDINALITY: Bigint or_null, SUB_PART: Bigint or_null,
            PACKED: Varchar(1) or_null, NULLABLE: Varchar(3), INDEX_TYPE: Varchar(11), COMMENT: Varchar(8),
            INDEX_COMMENT: Varchar(2048), IS_VISIBLE: Varchar(3), EXPRESSION: CaseText or_null,
        },
        keys: TABLE,
        rows: keys::statistics,
    },
    SystemTable {
        name: "ST_GEOMETRY_COLUMNS",
        columns: columns! {
            TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name, COLUMN_NAME: Varchar(64) or_null,
            SRS_NAME: Varchar(80) or_null, SRS_ID: Uint or_null, GEOMETRY_TYPE_NAME: CaseText or_null,
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "ST_SPATIAL_REFERENCE_SYSTEMS",
        columns: columns! {
            SRS_NAME: Varchar(80), SRS_ID: Uint, ORGANIZATION: Varchar(256) or_null,
            ORGANIZATION_COORDSYS_ID: Uint or_null, DEFINITION: Varchar(4096), DESCRIPTION: Varchar(2048) or_null,
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "ST_UNITS_OF_MEASURE",
        columns: columns! {
            UNIT_NAME: Varchar(255) or_null, UNIT_TYPE: Varchar(7) or_null,
            CONVERSION_FACTOR: Varchar(64) or_null, DESCRIPTION: Varchar(255) or_null,
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "TABLES",
        columns: columns! {
            TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name, TABLE_TYPE: Varchar(11),
            ENGINE: Varchar(64) or_null, VERSION: Int or_null, ROW_FORMAT: Varchar(10) or_null,
            TABLE_ROWS: Biguint or_null, AVG_ROW_LENGTH: Biguint or_null, DATA_LENGTH: Biguint or_null,
            MAX_DATA_LENGTH: Biguint or_null, INDEX_LENGTH: Biguint or_null, DATA_FREE: Biguint or_null,
            AUTO_INCREMENT: Biguint or_null, CREATE_TIME: Timestamp or_null, UPDATE_TIME: Datetime or_null,
            CHECK_TIME: Datetime or_null, TABLE_COLLATION: Varchar(64) or_null, CHECKSUM: Bigint or_null,
            CREATE_OPTIONS: Varchar(256) or_null, TABLE_COMMENT: Text or_null,
        },
        keys: TABLE,
        rows: schemas::tables,
    },
    SystemTable {
        name: "TABLESPACES_EXTENSIONS",
        columns: columns! { TABLESPACE_NAME: Varchar(268), ENGINE_ATTRIBUTE: Json or_null },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "TABLES_EXTENSIONS",
        columns: columns! {
            TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name, ENGINE_ATTRIBUTE: Json or_null,
            SECONDARY_ENGINE_ATTRIBUTE: Json or_null,
        },
        keys: TABLE,
        rows: schemas::tables_extensions,
    },
    SystemTable {
        name: "TABLE_CONSTRAINTS",
        columns: columns! {
            CONSTRAINT_CATALOG: Name, CONSTRAINT_SCHEMA: Name, CONSTRAINT_NAME: Varchar(64) or_null,
            TABLE_SCHEMA: Name, TABLE_NAME: Name, CONSTRAINT_TYPE: Varchar(11), ENFORCED: Varchar(3),
        },
        keys: TABLE,
        rows: keys::table_constraints,
    },
    SystemTable {
        name: "TABLE_CONSTRAINTS_EXTENSIONS",
        columns: columns! {
            CONSTRAINT_CATALOG: Name, CONSTRAINT_SCHEMA: Name, CONSTRAINT_NAME: Varchar(64), TABLE_NAME: Name,
            ENGINE_ATTRIBUTE: Json or_null, SECONDARY_ENGINE_ATTRIBUTE: Json or_null,
        },
        keys: CONSTRAINT,
        rows: keys::table_constraints_extensions,
    },
    SystemTable {
        name: "TABLE_PRIVILEGES",
        columns: columns! {
            GRANTEE: Varchar(292), TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name,
            PRIVILEGE_TYPE: Varchar(64), IS_GRANTABLE: Varchar(3),
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "TRIGGERS",
        columns: columns! {
            TRIGGER_CATALOG: Name, TRIGGER_SCHEMA: Name, TRIGGER_NAME: Varchar(64), EVENT_MANIPULATION: Varchar(6),
            EVENT_OBJECT_CATALOG: Name, EVENT_OBJECT_SCHEMA: Name, EVENT_OBJECT_TABLE: Name, ACTION_ORDER: Uint,
            ACTION_CONDITION: Varchar(0) or_null, ACTION_STATEMENT: CaseText, ACTION_ORIENTATION: Varchar(3),
            ACTION_TIMING: Varchar(6), ACTION_REFERENCE_OLD_TABLE: Varchar(0) or_null,
            ACTION_REFERENCE_NEW_TABLE: Varchar(0) or_null, ACTION_REFERENCE_OLD_ROW: Varchar(3),
            ACTION_REFERENCE_NEW_ROW: Varchar(3), CREATED: Timestamp2, SQL_MODE: Varchar(520),
            DEFINER: Varchar(288), CHARACTER_SET_CLIENT: Varchar(64), COLLATION_CONNECTION: Varchar(64),
            DATABASE_COLLATION: Varchar(64),
        },
        keys: ["TRIGGER_SCHEMA", "EVENT_OBJECT_TABLE"],
        rows: triggers::triggers,
    },
    SystemTable {
        name: "USER_ATTRIBUTES",
        columns: columns! { USER: Varchar(32), HOST: Varchar(255), ATTRIBUTE: Text or_null },
        keys: NOTHING,
        rows: accounts::user_attributes,
    },
    SystemTable {
        name: "USER_PRIVILEGES",
        columns: columns! {
            GRANTEE: Varchar(292), TABLE_CATALOG: Name, PRIVILEGE_TYPE: Varchar(64), IS_GRANTABLE: Varchar(3),
        },
        keys: NOTHING,
        rows: accounts::user_privileges,
    },
    SystemTable {
        name: "VIEWS",
        columns: columns! {
            TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name, VIEW_DEFINITION: CaseText or_null,
            CHECK_OPTION: Varchar(8) or_null, IS_UPDATABLE: Varchar(3) or_null, DEFINER: Varchar(288) or_null,
            SECURITY_TYPE: Varchar(7) or_null, CHARACTER_SET_CLIENT: Varchar(64),
            COLLATION_CONNECTION: Varchar(64),
        },
        keys: TABLE,
        rows: views::views,
    },
    SystemTable {
        name: "VIEW_ROUTINE_USAGE",
        columns: columns! {
            TABLE_CATALOG: Name, TABLE_SCHEMA: Name, TABLE_NAME: Name, SPECIFIC_CATALOG: Name,
            SPECIFIC_SCHEMA: Name, SPECIFIC_NAME: Varchar(64),
        },
        keys: TABLE,
        rows: views::view_routine_usage,
    },
    SystemTable {
        name: "VIEW_TABLE_USAGE",
        columns: columns! {
            VIEW_CATALOG: Name, VIEW_SCHEMA: Name, VIEW_NAME: Name, TABLE_CATALOG: Name, TABLE_SCHEMA: Name,
            TABLE_NAME: Name,
        },
        keys: ["VIEW_SCHEMA", "VIEW_NAME"],
        rows: views::view_table_usage,
    },
];
