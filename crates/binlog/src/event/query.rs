//! The query event: a statement, and the session variables its meaning depends on.

use std::borrow::Cow;

use stdx::cursor::Cursor;

use super::{EncodeEvent, EventError, EventType};

/// The query event. `BEGIN` before row events, DDL, and in foreign files any statement.
///
/// | bytes | field |
/// | --- | --- |
/// | 4 | thread id |
/// | 4 | seconds the statement took |
/// | 1 | length of the database name |
/// | 2 | error code the statement is expected to end with |
/// | 2 | length of the status variables |
/// | n | status variables, see [`StatusVars`] |
/// | n+1 | database name, NUL |
/// | rest | statement |
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryEvent<'a> {
    /// The connection that ran it (`pseudo_thread_id`).
    pub thread_id: u32,
    /// How long it took, in seconds.
    pub exec_time: u32,
    /// The error it ended with; 0 for none.
    pub error_code: u16,
    /// The session's settings.
    pub status: StatusVars<'a>,
    /// The default database; empty for none. At most 255 bytes.
    pub database: Cow<'a, [u8]>,
    /// The statement's text, in the session's `character_set_client`.
    pub sql: Cow<'a, [u8]>,
    /// The text means the same whatever the default database is, as that of `BEGIN` and
    /// `CREATE DATABASE` does: a flag of the header.
    pub suppress_use: bool,
}

/// Bits of [`StatusVars::flags2`].
pub mod flags2 {
    /// `explicit_defaults_for_timestamp`, of MariaDB.
    pub const MARIADB_EXPLICIT_TIMESTAMPS: u32 = 1 << 24;
    /// `sql_auto_is_null`.
    pub const AUTO_IS_NULL: u32 = 1 << 14;
    /// Autocommit is off.
    pub const NOT_AUTOCOMMIT: u32 = 1 << 19;
    /// `foreign_key_checks` is off.
    pub const NO_FOREIGN_KEY_CHECKS: u32 = 1 << 26;
    /// `unique_checks` is off.
    pub const RELAXED_UNIQUE_CHECKS: u32 = 1 << 27;
}

/// The status variables of a query event, each absent or set. Each is one byte of code, then its
/// value.
///
/// Written in the order of these fields, which is MySQL's.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StatusVars<'a> {
    /// 0: option bits, see [`flags2`].
    pub flags2: Option<u32>,
    /// 1: `sql_mode`.
    pub sql_mode: Option<u64>,
    /// 6: catalog, always `std`.
    pub catalog: Option<Cow<'a, [u8]>>,
    /// 3: `auto_increment_increment`, `auto_increment_offset`; written where not 1 and 1.
    pub auto_increment: Option<(u16, u16)>,
    /// 4: `character_set_client`, `collation_connection`, `collation_server` by number.
    pub charset: Option<[u16; 3]>,
    /// 5: `time_zone`.
    pub time_zone: Option<Cow<'a, [u8]>>,
    /// 7: `lc_time_names` by number; written where not 0.
    pub lc_time_names: Option<u16>,
    /// 8: `collation_database`; written where not the default.
    pub charset_database: Option<u16>,
    /// 9: tables that a multi-table update changes, as bits.
    pub table_map_for_update: Option<u64>,
    /// 10: length of the original event on the source; obsolete.
    pub master_data_written: Option<u32>,
    /// 11: user and host of the definer.
    pub invoker: Option<Account<'a>>,
    /// 12: databases that the statement changes.
    pub updated_databases: Option<UpdatedDatabases<'a>>,
    /// 13: microseconds of the statement's start.
    pub microseconds: Option<u32>,
    /// 16: `explicit_defaults_for_timestamp`.
    pub explicit_defaults_for_timestamp: Option<bool>,
    /// 17: engine transaction of an atomic DDL statement.
    pub ddl_xid: Option<u64>,
    /// 18: `default_collation_for_utf8mb4` by number.
    pub default_collation_for_utf8mb4: Option<u16>,
    /// 19: `sql_require_primary_key`.
    pub sql_require_primary_key: Option<u8>,
    /// 20: `default_table_encryption`.
    pub default_table_encryption: Option<u8>,
    /// 128, MariaDB: microseconds of the statement's start.
    pub mariadb_microseconds: Option<u32>,
    /// 129, MariaDB: XID of a DDL statement.
    pub mariadb_xid: Option<u64>,
    /// 131, MariaDB: `character_set_collations`, pairs of character set and collation by number.
    pub mariadb_collations: Option<&'a [u8]>,
    /// What stands after a variable this code does not know, that variable included.
    pub unknown: Cow<'a, [u8]>,
}

/// A user and host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account<'a> {
    /// The user's name.
    pub user: Cow<'a, [u8]>,
    /// The host part of the account.
    pub host: Cow<'a, [u8]>,
}

/// Which databases a statement changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpdatedDatabases<'a> {
    /// At most 16, without NULs in their names.
    Names(Vec<Cow<'a, [u8]>>),
    /// More than 16 (code 254).
    TooMany,
}

/// More updated databases than this are not named.
const UPDATED_DATABASES_MAX: usize = 16;
const UPDATED_DATABASES_OVERFLOW: u8 = 254;

impl<'a> QueryEvent<'a> {
    /// A statement without any status variable.
    pub fn new(thread_id: u32, database: &'a [u8], sql: &'a [u8]) -> Self {
        Self {
            thread_id,
            exec_time: 0,
            error_code: 0,
            status: StatusVars::default(),
            database: Cow::Borrowed(database),
            sql: Cow::Borrowed(sql),
            suppress_use: false,
        }
    }

    /// False for what only bounds a transaction: BEGIN, COMMIT, ROLLBACK, SAVEPOINT and XA.
    pub fn is_in_database(&self) -> bool {
        let word = self.sql.split(|b| !b.is_ascii_alphabetic()).next().unwrap_or_default();
        !["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "XA"]
            .iter()
            .any(|w| word.eq_ignore_ascii_case(w.as_bytes()))
    }

    /// Reads the body of a query event; the statement is what is left. The header has these
    /// `flags`.
    pub(super) fn decode(body: &'a [u8], flags: u16) -> Result<Self, EventError> {
        const FIXED: usize = 13;
        let (fixed, rest) = body.split_at_checked(FIXED).ok_or(EventError::Truncated)?;
        Self::decode_parts(fixed, rest, flags)
    }

    /// Reads the fixed part, and what comes after it.
    pub(super) fn decode_parts(fixed: &[u8], rest: &'a [u8], flags: u16) -> Result<Self, EventError> {
        let mut c = Cursor::new(fixed);
        let thread_id = c.u32()?;
        let exec_time = c.u32()?;
        let database_len = usize::from(c.u8()?);
        let error_code = c.u16()?;
        let status_len = usize::from(c.u16()?);
        let mut c = Cursor::new(rest);
        let status = StatusVars::decode(c.take(status_len)?)?;
        let database = c.take(database_len)?;
        if c.u8()? != 0 {
            return Err(EventError::Malformed("no NUL behind the database name"));
        }
        let (database, sql) = (Cow::Borrowed(database), Cow::Borrowed(c.take_remaining()));
        let suppress_use = flags & super::flags::SUPPRESS_USE != 0;
        Ok(Self { thread_id, exec_time, error_code, status, database, sql, suppress_use })
    }
}

impl EncodeEvent for QueryEvent<'_> {
    fn event_type(&self) -> EventType {
        EventType::QUERY
    }

    fn header_flags(&self) -> u16 {
        if self.suppress_use { super::flags::SUPPRESS_USE } else { 0 }
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        let database = &self.database[..self.database.len().min(255)];
        out.extend_from_slice(&self.thread_id.to_le_bytes());
        out.extend_from_slice(&self.exec_time.to_le_bytes());
        out.push(database.len() as u8);
        out.extend_from_slice(&self.error_code.to_le_bytes());
        let length_at = out.len();
        out.extend_from_slice(&[0, 0]);
        self.status.encode(out);
        let status_len = out.len() - length_at - 2;
        assert!(status_len <= usize::from(u16::MAX), "status variables take {status_len} bytes");
        out[length_at..length_at + 2].copy_from_slice(&(status_len as u16).to_le_bytes());
        out.extend_from_slice(database);
        out.push(0);
        out.extend_from_slice(&self.sql);
    }
}

/// A query event as the log has it: made once for many transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedQuery {
    header_flags: u16,
    body: Box<[u8]>,
}

impl From<&QueryEvent<'_>> for EncodedQuery {
    fn from(query: &QueryEvent<'_>) -> Self {
        let mut body = Vec::new();
        query.encode_body(&mut body);
        Self { header_flags: query.header_flags(), body: body.into() }
    }
}

impl EncodeEvent for EncodedQuery {
    fn event_type(&self) -> EventType {
        EventType::QUERY
    }

    fn header_flags(&self) -> u16 {
        self.header_flags
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.body);
    }
}

impl<'a> StatusVars<'a> {
    fn decode(bytes: &'a [u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(bytes);
        let mut vars = Self::default();
        while !c.is_empty() {
            let from_here = c.remaining_slice();
            if !vars.decode_one(&mut c)? {
                vars.unknown = Cow::Borrowed(from_here);
                break;
            }
        }
        Ok(vars)
    }

    /// False if the code is not known, and with it where the next one starts.
    fn decode_one(&mut self, c: &mut Cursor<'a>) -> Result<bool, EventError> {
        match c.u8()? {
            0 => self.flags2 = Some(c.u32()?),
            1 => self.sql_mode = Some(c.u64()?),
            2 => {
                self.catalog = Some(short(c)?);
                c.take(1)?; // the old form ends with a NUL
            }
            3 => self.auto_increment = Some((c.u16()?, c.u16()?)),
            4 => self.charset = Some([c.u16()?, c.u16()?, c.u16()?]),
            5 => self.time_zone = Some(short(c)?),
            6 => self.catalog = Some(short(c)?),
            7 => self.lc_time_names = Some(c.u16()?),
            8 => self.charset_database = Some(c.u16()?),
            9 => self.table_map_for_update = Some(c.u64()?),
            10 => self.master_data_written = Some(c.u32()?),
            11 => self.invoker = Some(Account { user: short(c)?, host: short(c)? }),
            12 => self.updated_databases = Some(UpdatedDatabases::decode(c)?),
            13 => self.microseconds = Some(c.u24()?),
            16 => self.explicit_defaults_for_timestamp = Some(c.u8()? != 0),
            17 => self.ddl_xid = Some(c.u64()?),
            18 => self.default_collation_for_utf8mb4 = Some(c.u16()?),
            19 => self.sql_require_primary_key = Some(c.u8()?),
            20 => self.default_table_encryption = Some(c.u8()?),
            128 => self.mariadb_microseconds = Some(c.u24()?),
            129 => self.mariadb_xid = Some(c.u64()?),
            131 => {
                let n = usize::from(c.u8()?);
                self.mariadb_collations = Some(c.take(4 * n)?);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn encode(&self, out: &mut Vec<u8>) {
        put(out, 0, self.flags2.map(u32::to_le_bytes));
        put(out, 1, self.sql_mode.map(u64::to_le_bytes));
        put_short(out, 6, self.catalog.as_deref());
        if let Some((increment, offset)) = self.auto_increment {
            put(out, 3, Some(increment.to_le_bytes()));
            out.extend_from_slice(&offset.to_le_bytes());
        }
        if let Some([client, connection, server]) = self.charset {
            put(out, 4, Some(client.to_le_bytes()));
            out.extend_from_slice(&connection.to_le_bytes());
            out.extend_from_slice(&server.to_le_bytes());
        }
        put_short(out, 5, self.time_zone.as_deref());
        put(out, 7, self.lc_time_names.map(u16::to_le_bytes));
        put(out, 8, self.charset_database.map(u16::to_le_bytes));
        put(out, 9, self.table_map_for_update.map(u64::to_le_bytes));
        put(out, 10, self.master_data_written.map(u32::to_le_bytes));
        if let Some(Account { user, host }) = &self.invoker {
            put_short(out, 11, Some(user));
            out.push(host.len().min(255) as u8);
            out.extend_from_slice(&host[..host.len().min(255)]);
        }
        if let Some(databases) = &self.updated_databases {
            databases.encode(out);
        }
        put(out, 13, self.microseconds.map(u24));
        put(out, 16, self.explicit_defaults_for_timestamp.map(|on| [u8::from(on)]));
        put(out, 17, self.ddl_xid.map(u64::to_le_bytes));
        put(out, 18, self.default_collation_for_utf8mb4.map(u16::to_le_bytes));
        put(out, 19, self.sql_require_primary_key.map(|v| [v]));
        put(out, 20, self.default_table_encryption.map(|v| [v]));
        put(out, 128, self.mariadb_microseconds.map(u24));
        put(out, 129, self.mariadb_xid.map(u64::to_le_bytes));
        if let Some(pairs) = self.mariadb_collations {
            put(out, 131, Some([(pairs.len() / 4) as u8]));
            out.extend_from_slice(pairs);
        }
        out.extend_from_slice(&self.unknown);
    }
}

impl<'a> UpdatedDatabases<'a> {
    fn decode(c: &mut Cursor<'a>) -> Result<Self, EventError> {
        match c.u8()? {
            UPDATED_DATABASES_OVERFLOW => Ok(Self::TooMany),
            n => (0..n).map(|_| Ok(Cow::Borrowed(c.take_nul()?))).collect::<Result<_, _>>().map(Self::Names),
        }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Names(names) if names.len() <= UPDATED_DATABASES_MAX => {
                put(out, 12, Some([names.len() as u8]));
                for name in names {
                    out.extend_from_slice(name);
                    out.push(0);
                }
            }
            _ => put(out, 12, Some([UPDATED_DATABASES_OVERFLOW])),
        }
    }
}

fn short<'a>(c: &mut Cursor<'a>) -> Result<Cow<'a, [u8]>, EventError> {
    let n = usize::from(c.u8()?);
    Ok(Cow::Borrowed(c.take(n)?))
}

fn u24(v: u32) -> [u8; 3] {
    let [a, b, c, _] = v.to_le_bytes();
    [a, b, c]
}

fn put<const N: usize>(out: &mut Vec<u8>, code: u8, value: Option<[u8; N]>) {
    if let Some(bytes) = value {
        out.push(code);
        out.extend_from_slice(&bytes);
    }
}

fn put_short(out: &mut Vec<u8>, code: u8, value: Option<&[u8]>) {
    if let Some(bytes) = value {
        let bytes = &bytes[..bytes.len().min(255)];
        out.extend_from_slice(&[code, bytes.len() as u8]);
        out.extend_from_slice(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_query_is_written_as_the_query_is() {
        let mut query = QueryEvent::new(7, b"db", b"BEGIN");
        query.status.sql_mode = Some(1 << 22);
        for suppress_use in [false, true] {
            query.suppress_use = suppress_use;
            let encoded = EncodedQuery::from(&query);
            let (mut plain, mut again) = (Vec::new(), Vec::new());
            query.encode_body(&mut plain);
            encoded.encode_body(&mut again);
            assert_eq!(plain, again);
            assert_eq!(
                (query.event_type(), query.header_flags()),
                (encoded.event_type(), encoded.header_flags())
            );
        }
    }
}
