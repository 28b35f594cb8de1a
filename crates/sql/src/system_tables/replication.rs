//! The tables of `performance_schema` about replication from a source and in groups. This server is
//! in no group: those tables are empty. The rows of the others are made in [`channels`].

use super::column::{ASCII, MB4, MB4_BIN, NAMES, WORDS, YES_NO, columns};
use super::{SystemTable, channels, none};

const NOTHING: [&str; 2] = ["", ""];
/// The members of what runs or does not.
const ON_OFF: &[&str] = &["ON", "OFF"];
/// The members of what the source's options switch.
const ONE_ZERO: &[&str] = &["1", "0"];
/// Who made a filter of all channels, or of one.
const CONFIGURED: &[&str] = &[
    "STARTUP_OPTIONS",
    "CHANGE_REPLICATION_FILTER",
    "STARTUP_OPTIONS_FOR_CHANNEL",
    "CHANGE_REPLICATION_FILTER_FOR_CHANNEL",
];

/// The tables, by name.
pub(super) const TABLES: &[SystemTable] = &[
    SystemTable {
        name: "replication_applier_configuration",
        columns: columns! {
            CHANNEL_NAME: Char(64, MB4), DESIRED_DELAY: Int, PRIVILEGE_CHECKS_USER: TextOf(NAMES) or_null,
            REQUIRE_ROW_FORMAT: Enum(YES_NO, MB4),
            REQUIRE_TABLE_PRIMARY_KEY_CHECK: Enum(&["STREAM", "ON", "OFF", "GENERATE"], MB4),
            ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_TYPE: Enum(&["OFF", "LOCAL", "UUID"], MB4),
            ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS_VALUE: TextOf(NAMES) or_null,
        },
        keys: NOTHING,
        rows: channels::applier_configuration,
    },
    SystemTable {
        name: "replication_applier_filters",
        columns: columns! {
            CHANNEL_NAME: Char(64, MB4), FILTER_NAME: Char(64, MB4), FILTER_RULE: LongtextOf(MB4),
            CONFIGURED_BY: Enum(CONFIGURED, MB4),
            ACTIVE_SINCE: Timestamp6, COUNTER: Biguint,
        },
        keys: NOTHING,
        rows: channels::applier_filters,
    },
    SystemTable {
        name: "replication_applier_global_filters",
        columns: columns! {
            FILTER_NAME: Char(64, MB4), FILTER_RULE: LongtextOf(MB4),
            CONFIGURED_BY: Enum(&["STARTUP_OPTIONS", "CHANGE_REPLICATION_FILTER"], MB4),
            ACTIVE_SINCE: Timestamp6,
        },
        keys: NOTHING,
        rows: channels::applier_global_filters,
    },
    SystemTable {
        name: "replication_applier_status",
        columns: columns! {
            CHANNEL_NAME: Char(64, MB4), SERVICE_STATE: Enum(ON_OFF, MB4),
            REMAINING_DELAY: Uint or_null, COUNT_TRANSACTIONS_RETRIES: Biguint,
        },
        keys: NOTHING,
        rows: channels::applier_status,
    },
    SystemTable {
        name: "replication_applier_status_by_coordinator",
        columns: columns! {
            CHANNEL_NAME: Char(64, MB4), THREAD_ID: Biguint or_null, SERVICE_STATE: Enum(ON_OFF, MB4),
            LAST_ERROR_NUMBER: Int, LAST_ERROR_MESSAGE: VarcharOf(1024, MB4), LAST_ERROR_TIMESTAMP: Timestamp6,
            LAST_PROCESSED_TRANSACTION: Char(90, MB4) or_null,
            LAST_PROCESSED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: Timestamp6,
            LAST_PROCESSED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: Timestamp6,
            LAST_PROCESSED_TRANSACTION_START_BUFFER_TIMESTAMP: Timestamp6,
            LAST_PROCESSED_TRANSACTION_END_BUFFER_TIMESTAMP: Timestamp6,
            PROCESSING_TRANSACTION: Char(90, MB4) or_null,
            PROCESSING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: Timestamp6,
            PROCESSING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: Timestamp6,
            PROCESSING_TRANSACTION_START_BUFFER_TIMESTAMP: Timestamp6,
        },
        keys: NOTHING,
        rows: channels::applier_status_by_coordinator,
    },
    SystemTable {
        name: "replication_applier_status_by_worker",
        columns: columns! {
            CHANNEL_NAME: Char(64, MB4), WORKER_ID: Biguint, THREAD_ID: Biguint or_null,
            SERVICE_STATE: Enum(ON_OFF, MB4), LAST_ERROR_NUMBER: Int,
            LAST_ERROR_MESSAGE: VarcharOf(1024, MB4), LAST_ERROR_TIMESTAMP: Timestamp6,
            LAST_APPLIED_TRANSACTION: Char(90, MB4) or_null,
            LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: Timestamp6,
            LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: Timestamp6,
            LAST_APPLIED_TRANSACTION_START_APPLY_TIMESTAMP: Timestamp6,
            LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP: Timestamp6,
            APPLYING_TRANSACTION: Char(90, MB4) or_null,
            APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: Timestamp6,
            APPLYING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: Timestamp6,
            APPLYING_TRANSACTION_START_APPLY_TIMESTAMP: Timestamp6,
            LAST_APPLIED_TRANSACTION_RETRIES_COUNT: Biguint,
            LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER: Int,
            LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE: VarcharOf(1024, MB4) or_null,
            LAST_APPLIED_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP: Timestamp6,
            APPLYING_TRANSACTION_RETRIES_COUNT: Biguint, APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_NUMBER: Int,
            APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_MESSAGE: VarcharOf(1024, MB4) or_null,
            APPLYING_TRANSACTION_LAST_TRANSIENT_ERROR_TIMESTAMP: Timestamp6,
        },
        keys: NOTHING,
        rows: channels::applier_status_by_worker,
    },
    SystemTable {
        name: "replication_asynchronous_connection_failover",
        columns: columns! {
            CHANNEL_NAME: Char(64, WORDS), HOST: Char(255, ASCII), PORT: Int,
            NETWORK_NAMESPACE: Char(64, MB4) or_null, WEIGHT: Uint, MANAGED_NAME: Char(64, WORDS),
        },
        keys: NOTHING,
        rows: channels::failover_sources,
    },
    SystemTable {
        name: "replication_asynchronous_connection_failover_managed",
        columns: columns! {
            CHANNEL_NAME: Char(64, WORDS), MANAGED_NAME: Char(64, WORDS), MANAGED_TYPE: Char(64, WORDS),
            CONFIGURATION: Json or_null,
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "replication_connection_configuration",
        columns: columns! {
            CHANNEL_NAME: Char(64, MB4), HOST: Char(255, ASCII), PORT: Int, USER: Char(32, MB4_BIN),
            NETWORK_INTERFACE: Char(60, MB4_BIN), AUTO_POSITION: Enum(ONE_ZERO, MB4),
            SSL_ALLOWED: Enum(&["YES", "NO", "IGNORED"], MB4), SSL_CA_FILE: VarcharOf(512, MB4),
            SSL_CA_PATH: VarcharOf(512, MB4), SSL_CERTIFICATE: VarcharOf(512, MB4),
            SSL_CIPHER: VarcharOf(512, MB4), SSL_KEY: VarcharOf(512, MB4),
            SSL_VERIFY_SERVER_CERTIFICATE: Enum(YES_NO, MB4), SSL_CRL_FILE: VarcharOf(255, MB4),
            SSL_CRL_PATH: VarcharOf(255, MB4), CONNECTION_RETRY_INTERVAL: Int, CONNECTION_RETRY_COUNT: Biguint,
            HEARTBEAT_INTERVAL: Double, TLS_VERSION: VarcharOf(255, MB4), PUBLIC_KEY_PATH: VarcharOf(512, MB4),
            GET_PUBLIC_KEY: Enum(YES_NO, MB4), NETWORK_NAMESPACE: VarcharOf(64, MB4),
            COMPRESSION_ALGORITHM: Char(64, MB4_BIN), ZSTD_COMPRESSION_LEVEL: Int,
            TLS_CIPHERSUITES: TextOf(NAMES) or_null, SOURCE_CONNECTION_AUTO_FAILOVER: Enum(ONE_ZERO, MB4),
            GTID_ONLY: Enum(ONE_ZERO, MB4),
        },
        keys: NOTHING,
        rows: channels::connection_configuration,
    },
    SystemTable {
        name: "replication_connection_status",
        columns: columns! {
            CHANNEL_NAME: Char(64, MB4), GROUP_NAME: Char(36, MB4_BIN), SOURCE_UUID: Char(36, MB4_BIN),
            THREAD_ID: Biguint or_null, SERVICE_STATE: Enum(&["ON", "OFF", "CONNECTING"], MB4),
            COUNT_RECEIVED_HEARTBEATS: Biguint, LAST_HEARTBEAT_TIMESTAMP: Timestamp6,
            RECEIVED_TRANSACTION_SET: LongtextOf(MB4), LAST_ERROR_NUMBER: Int,
            LAST_ERROR_MESSAGE: VarcharOf(1024, MB4), LAST_ERROR_TIMESTAMP: Timestamp6,
            LAST_QUEUED_TRANSACTION: Char(90, MB4) or_null,
            LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: Timestamp6,
            LAST_QUEUED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: Timestamp6,
            LAST_QUEUED_TRANSACTION_START_QUEUE_TIMESTAMP: Timestamp6,
            LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP: Timestamp6,
            QUEUEING_TRANSACTION: Char(90, MB4) or_null,
            QUEUEING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP: Timestamp6,
            QUEUEING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP: Timestamp6,
            QUEUEING_TRANSACTION_START_QUEUE_TIMESTAMP: Timestamp6,
        },
        keys: NOTHING,
        rows: channels::connection_status,
    },
    SystemTable {
        name: "replication_group_member_stats",
        columns: columns! {
            CHANNEL_NAME: Char(64, MB4), VIEW_ID: Char(60, MB4_BIN), MEMBER_ID: Char(36, MB4_BIN),
            COUNT_TRANSACTIONS_IN_QUEUE: Biguint, COUNT_TRANSACTIONS_CHECKED: Biguint,
            COUNT_CONFLICTS_DETECTED: Biguint, COUNT_TRANSACTIONS_ROWS_VALIDATING: Biguint,
            TRANSACTIONS_COMMITTED_ALL_MEMBERS: LongtextOf(MB4), LAST_CONFLICT_FREE_TRANSACTION: TextOf(MB4),
            COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE: Biguint, COUNT_TRANSACTIONS_REMOTE_APPLIED: Biguint,
            COUNT_TRANSACTIONS_LOCAL_PROPOSED: Biguint, COUNT_TRANSACTIONS_LOCAL_ROLLBACK: Biguint,
        },
        keys: NOTHING,
        rows: none,
    },
    SystemTable {
        name: "replication_group_members",
        columns: columns! {
            CHANNEL_NAME: Char(64, MB4), MEMBER_ID: Char(36, MB4_BIN), MEMBER_HOST: Char(255, ASCII),
            MEMBER_PORT: Int or_null, MEMBER_STATE: Char(64, MB4_BIN), MEMBER_ROLE: Char(64, MB4_BIN),
            MEMBER_VERSION: Char(64, MB4_BIN), MEMBER_COMMUNICATION_STACK: Char(64, MB4_BIN),
        },
        keys: NOTHING,
        rows: none,
    },
];
