//! The two bit sets of the protocol: what both ends can do, and the state a reply reports.

use std::ops::{BitAnd, BitOr};

macro_rules! flags {
    ($(#[$doc:meta])* $name:ident : $repr:ty { $($(#[$flag_doc:meta])* $flag:ident = $bit:expr;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
        pub struct $name(pub $repr);

        impl $name {
            $($(#[$flag_doc])* pub const $flag: Self = Self(1 << $bit);)*

            /// True if every bit of `flags` is set.
            pub const fn has(self, flags: Self) -> bool {
                self.0 & flags.0 == flags.0
            }

            /// These bits and those of `flags`.
            #[must_use]
            pub(crate) const fn with(self, flags: Self) -> Self {
                Self(self.0 | flags.0)
            }

            /// These bits but for those of `flags`.
            #[must_use]
            pub const fn without(self, flags: Self) -> Self {
                Self(self.0 & !flags.0)
            }
        }

        impl BitOr for $name {
            type Output = Self;
            fn bitor(self, other: Self) -> Self {
                self.with(other)
            }
        }

        impl BitAnd for $name {
            type Output = Self;
            fn bitand(self, other: Self) -> Self {
                Self(self.0 & other.0)
            }
        }
    };
}

flags! {
    /// Capability flags (`CLIENT_*`): the server offers some in its greeting, the client answers
    /// with those it uses, and the intersection rules the connection.
    Capabilities: u32 {
        /// Set by MySQL since 4.1; MariaDB reads its absence as "this peer knows MariaDB's
        /// extensions".
        LONG_PASSWORD = 0;
        /// `affected_rows` counts rows found, not only those changed.
        FOUND_ROWS = 1;
        /// Column flags take two bytes.
        LONG_FLAG = 2;
        /// The handshake response names a database.
        CONNECT_WITH_DB = 3;
        /// `database.table.column` is refused.
        NO_SCHEMA = 4;
        /// zlib compression.
        COMPRESS = 5;
        /// No effect since 3.22.
        ODBC = 6;
        /// The client can send a file for `LOAD DATA LOCAL`.
        LOCAL_FILES = 7;
        /// Spaces are allowed before `(`, as in `sql_mode=IGNORE_SPACE`.
        IGNORE_SPACE = 8;
        /// The protocol since 4.1; a client without it is refused.
        PROTOCOL_41 = 9;
        /// `interactive_timeout` rules instead of `wait_timeout`.
        INTERACTIVE = 10;
        /// TLS before the handshake response.
        SSL = 11;
        /// The client survives SIGPIPE; no effect.
        IGNORE_SIGPIPE = 12;
        /// Status flags in OK packets.
        TRANSACTIONS = 13;
        /// Once meant the 4.1 protocol; no effect.
        RESERVED = 14;
        /// The authentication response carries its length in one byte.
        SECURE_CONNECTION = 15;
        /// One COM_QUERY may hold several statements.
        MULTI_STATEMENTS = 16;
        /// A reply may hold several results.
        MULTI_RESULTS = 17;
        /// The same for prepared statements.
        PS_MULTI_RESULTS = 18;
        /// Authentication plugins are named and may be switched.
        PLUGIN_AUTH = 19;
        /// Connection attributes follow the handshake response.
        CONNECT_ATTRS = 20;
        /// The authentication response carries a length-encoded length.
        PLUGIN_AUTH_LENENC = 21;
        /// The client can go on with an expired password, to change it.
        CAN_HANDLE_EXPIRED_PASSWORDS = 22;
        /// OK packets report changes of the session's state.
        SESSION_TRACK = 23;
        /// An OK packet with header 0xfe replaces EOF.
        DEPRECATE_EOF = 24;
        /// Column definitions may be omitted, if the client wishes so (`resultset_metadata`).
        OPTIONAL_RESULTSET_METADATA = 25;
        /// Packets may be compressed by Zstandard.
        ZSTD_COMPRESSION = 26;
        /// COM_QUERY carries named attributes before its text.
        QUERY_ATTRIBUTES = 27;
        /// More than one authentication factor; never offered.
        MULTI_FACTOR_AUTHENTICATION = 28;
        /// Set by clients only: the server's certificate will be verified.
        SSL_VERIFY_SERVER_CERT = 30;
        /// Set by clients only: keep the options after a failed connect.
        REMEMBER_OPTIONS = 31;
    }
}

impl Capabilities {
    /// What this crate can do on any connection; TLS comes with an identity, local files with the
    /// server's setting.
    pub const SERVER: Self = Self(
        Self::LONG_PASSWORD.0
            | Self::FOUND_ROWS.0
            | Self::LONG_FLAG.0
            | Self::CONNECT_WITH_DB.0
            | Self::NO_SCHEMA.0
            | Self::COMPRESS.0
            | Self::ODBC.0
            | Self::IGNORE_SPACE.0
            | Self::PROTOCOL_41.0
            | Self::INTERACTIVE.0
            | Self::IGNORE_SIGPIPE.0
            | Self::TRANSACTIONS.0
            | Self::RESERVED.0
            | Self::SECURE_CONNECTION.0
            | Self::MULTI_STATEMENTS.0
            | Self::MULTI_RESULTS.0
            | Self::PS_MULTI_RESULTS.0
            | Self::PLUGIN_AUTH.0
            | Self::CONNECT_ATTRS.0
            | Self::PLUGIN_AUTH_LENENC.0
            | Self::CAN_HANDLE_EXPIRED_PASSWORDS.0
            | Self::SESSION_TRACK.0
            | Self::DEPRECATE_EOF.0
            | Self::OPTIONAL_RESULTSET_METADATA.0
            | Self::ZSTD_COMPRESSION.0
            | Self::QUERY_ATTRIBUTES.0,
    );
}

flags! {
    /// Server status flags (`SERVER_*`), sent with every OK and EOF packet.
    Status: u16 {
        /// A transaction is open.
        IN_TRANSACTION = 0;
        /// Each statement commits by itself.
        AUTOCOMMIT = 1;
        /// Another result of the same command follows.
        MORE_RESULTS_EXISTS = 3;
        /// The statement used no good index.
        NO_GOOD_INDEX_USED = 4;
        /// The statement used no index.
        NO_INDEX_USED = 5;
        /// A read-only cursor is open.
        CURSOR_EXISTS = 6;
        /// The cursor is exhausted.
        LAST_ROW_SENT = 7;
        /// The database was dropped.
        DB_DROPPED = 8;
        /// `sql_mode` has NO_BACKSLASH_ESCAPES.
        NO_BACKSLASH_ESCAPES = 9;
        /// A prepared statement was prepared anew and its columns changed.
        METADATA_CHANGED = 10;
        /// The statement took longer than `long_query_time`.
        QUERY_WAS_SLOW = 11;
        /// This result set carries OUT parameters.
        PS_OUT_PARAMS = 12;
        /// The open transaction is read-only.
        IN_TRANSACTION_READONLY = 13;
        /// This OK packet reports changes of the session's state.
        SESSION_STATE_CHANGED = 14;
    }
}
