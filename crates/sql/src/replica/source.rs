//! What CHANGE REPLICATION SOURCE says of a source: where it is, how to log in, where to begin.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

/// A channel's source.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceConfig {
    /// SOURCE_HOST: a name or an address; empty where none was said.
    pub host: String,
    /// SOURCE_PORT, 3306 by default.
    pub port: u16,
    /// SOURCE_USER: the account there, without its host.
    pub user: String,
    /// SOURCE_PASSWORD, as it was typed; at most 32 characters.
    pub password: String,
    /// SOURCE_LOG_FILE: where to begin; empty for its first file.
    pub log_file: String,
    /// SOURCE_LOG_POS
    pub log_position: u64,
    /// Where this server's log ended when the position was given or forgotten last
    /// (`LogPosition::to_u64`): coordinates of the source that the log has with transactions before
    /// it are of another source, or void.
    pub position_given_at: u64,
    /// Where this server's log ended when the channel was made, or reset: what the log has of it
    /// before is void altogether, MariaDB's GTIDs, too.
    pub begun_at: u64,
    /// SOURCE_AUTO_POSITION: begin behind what this server has, by GTIDs.
    pub auto_position: bool,
    /// SOURCE_CONNECTION_AUTO_FAILOVER: when it is lost, the receiver goes to another source of the
    /// channel's list.
    pub auto_failover: bool,
    /// SOURCE_CONNECT_RETRY: the wait before it connects again.
    pub connect_retry: Duration,
    /// SOURCE_RETRY_COUNT: how often in a row; 0 for ever.
    pub retry_count: u64,
    /// SOURCE_HEARTBEAT_PERIOD; zero for no heartbeats.
    pub heartbeat_period: Duration,
    /// SOURCE_DELAY: how long after its commit there a transaction is applied.
    pub delay: Duration,
    /// IGNORE_SERVER_IDS: events of these servers are not applied.
    pub ignored_server_ids: BTreeSet<u32>,
    /// SOURCE_SSL
    pub tls: bool,
    /// SOURCE_SSL_CA; empty for none.
    pub tls_ca: String,
    /// SOURCE_SSL_VERIFY_SERVER_CERT
    pub tls_verify: bool,
    /// GET_SOURCE_PUBLIC_KEY: without TLS, ask the source for the key that the password is sent
    /// with.
    pub get_public_key: bool,
    /// SOURCE_COMPRESSION_ALGORITHMS, as written.
    pub compression: String,
    /// SOURCE_ZSTD_COMPRESSION_LEVEL
    pub zstd_level: u32,
    /// REQUIRE_ROW_FORMAT: a text that changes rows stops the applier.
    pub requires_row_format: bool,
    /// ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS: OFF, LOCAL, or a UUID.
    pub anonymous: AnonymousGtids,
}

impl SourceConfig {
    /// RESET REPLICA, or a new channel.
    pub(crate) fn begin_anew(&mut self, given_at: u64) {
        self.forget_position(given_at);
        self.begun_at = given_at;
    }

    /// Another server is the source, whose log begins at its start.
    pub(super) fn move_to(&mut self, host: &str, port: u16, given_at: u64) {
        self.host = host.to_owned();
        self.port = port;
        self.forget_position(given_at);
    }

    /// The source's log begins at its start, until another position is given. `given_at` is where
    /// this server's log ends.
    pub(crate) fn forget_position(&mut self, given_at: u64) {
        self.log_file.clear();
        self.log_position = SourceConfig::default().log_position;
        self.position_given_at = given_at;
    }
}

/// What GTIDs the transactions get that have none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AnonymousGtids {
    /// This server's next ones: every transaction of its log has a GTID.
    #[default]
    Off,
    /// LOCAL: of this server's UUID.
    Local,
    /// Numbers of this UUID, counted on from those in `gtid_executed`.
    Uuid(String),
}

impl fmt::Display for AnonymousGtids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AnonymousGtids::Off => "OFF",
            AnonymousGtids::Local => "LOCAL",
            AnonymousGtids::Uuid(uuid) => uuid,
        })
    }
}

impl Default for SourceConfig {
    fn default() -> Self {
        Self {
            host: String::new(),
            port: 3306,
            user: String::new(),
            password: String::new(),
            log_file: String::new(),
            log_position: 4,
            position_given_at: 0,
            begun_at: 0,
            auto_position: false,
            auto_failover: false,
            requires_row_format: false,
            connect_retry: Duration::from_secs(60),
            retry_count: 10,
            heartbeat_period: Duration::from_secs(30),
            delay: Duration::ZERO,
            ignored_server_ids: BTreeSet::new(),
            tls: false,
            tls_ca: String::new(),
            tls_verify: false,
            get_public_key: false,
            compression: "uncompressed".to_owned(),
            zstd_level: 3,
            anonymous: AnonymousGtids::Off,
        }
    }
}
