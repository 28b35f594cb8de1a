//! Where a statement's results go.
//!
//! For each statement of a text the session calls, in this order: [`ResultSink::columns`] and then
//! [`ResultSink::row`] any number of times, if the statement has a result set;
//! [`ResultSink::finish`] once, if it succeeded. An error ends the text: it is the return value of
//! `execute`, and a result set that had begun is cut short there.

use std::borrow::Cow;
use std::io;

use crate::types::Charset;
use crate::value::Datum;

/// A column of a result set, as the protocol describes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ColumnMeta {
    /// The database of its table, or empty.
    pub database: String,
    /// The table's alias, or empty.
    pub table: String,
    /// The table's name, or empty.
    pub org_table: String,
    /// The column's alias.
    pub name: String,
    /// The column's name in its table, or empty.
    pub org_name: String,
    /// The collation's id; 63 for what is not text.
    pub collation: u16,
    /// The longest value in bytes.
    pub length: u32,
    /// MYSQL_TYPE_*; see [`crate::types::code`].
    pub type_code: u8,
    /// Column flags; see [`column_flag`].
    pub flags: u16,
    /// Digits after the point; 31 if there is no fixed number of them.
    pub decimals: u8,
    /// The character set that the client wants the names in, if that is not UTF-8.
    pub names: Option<Charset>,
}

impl ColumnMeta {
    /// A name of the column as the client wants it.
    pub fn encoded<'a>(&self, name: &'a str) -> Cow<'a, [u8]> {
        encoded(name, self.names)
    }
}

/// A name for a client that wants its results in this character set.
pub(crate) fn encoded(name: &str, results: Option<Charset>) -> Cow<'_, [u8]> {
    Charset::Utf8mb4.convert(name.as_bytes().into(), results.unwrap_or(Charset::Utf8mb4)).0
}

/// A message for a client that wants its results in this character set. A character that the set
/// lacks is shown by its number, as MySQL does it.
pub fn encoded_message(message: &str, results: Option<Charset>) -> Cow<'_, [u8]> {
    let results = results.filter(|to| !message.is_ascii() && *to != to.of_statements());
    let Some(to) = results else { return message.as_bytes().into() };
    let mut out = Vec::with_capacity(message.len());
    for c in message.chars() {
        let (bytes, lost) = Charset::Utf8mb4.convert(c.to_string().into_bytes().into(), to);
        if lost {
            out.extend_from_slice(format!("\\{:04X}", u32::from(c)).as_bytes());
        } else {
            out.extend_from_slice(&bytes);
        }
    }
    out.into()
}

/// Bits of [`ColumnMeta::flags`], as in the protocol.
#[allow(missing_docs)]
pub mod column_flag {
    pub const NOT_NULL: u16 = 1;
    pub const PRI_KEY: u16 = 2;
    pub const UNIQUE_KEY: u16 = 4;
    pub const MULTIPLE_KEY: u16 = 8;
    pub const BLOB: u16 = 16;
    pub const UNSIGNED: u16 = 32;
    pub const ZEROFILL: u16 = 64;
    pub const BINARY: u16 = 128;
    pub const ENUM: u16 = 256;
    pub const AUTO_INCREMENT: u16 = 512;
    pub const TIMESTAMP: u16 = 1024;
    pub const SET: u16 = 2048;
    pub const NO_DEFAULT_VALUE: u16 = 4096;
    pub const ON_UPDATE_NOW: u16 = 8192;
    pub const PART_KEY: u16 = 16384;
    pub const NUM: u16 = 32768;
}

/// Bits of [`OkInfo::status`], as in the protocol.
#[allow(missing_docs)]
pub mod status_flag {
    pub const IN_TRANS: u16 = 1;
    pub const AUTOCOMMIT: u16 = 2;
    pub const MORE_RESULTS_EXISTS: u16 = 8;
    pub const DB_DROPPED: u16 = 256;
    pub const NO_BACKSLASH_ESCAPES: u16 = 512;
    pub const SESSION_STATE_CHANGED: u16 = 0x4000;
    pub const IN_TRANS_READONLY: u16 = 0x2000;
    pub const PS_OUT_PARAMS: u16 = 0x1000;
}

/// How a statement ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OkInfo<'a> {
    /// Rows changed, or found where the client asked for CLIENT_FOUND_ROWS.
    pub affected_rows: u64,
    /// The first AUTO_INCREMENT value made by the statement, or what LAST_INSERT_ID(x) was given.
    pub last_insert_id: u64,
    /// Server status; see [`status_flag`].
    pub status: u16,
    /// Entries that SHOW WARNINGS has, at most 65535.
    pub warnings: u16,
    /// `Rows matched: 1  Changed: 1  Warnings: 0` and its like, or empty.
    pub info: Cow<'a, str>,
    /// What changed in the session, if the client tracks it.
    pub changes: Vec<StateChange>,
}

/// A change of the session's state, as the protocol says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StateChange {
    /// A system variable was set: its name and its value now.
    Variable(&'static str, String),
    /// The default database is now this one.
    Schema(String),
    /// Something changed that another session would have to be given too.
    State,
    /// The GTIDs of what was committed.
    Gtids(String),
    /// What the open transaction did so far, in eight letters.
    TransactionState([u8; 8]),
    /// The statements that would open the same transaction elsewhere.
    TransactionCharacteristics(String),
}

/// Takes one text's results; the server's side writes packets. An error means that the client is
/// gone.
pub trait ResultSink {
    /// A result set begins.
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()>;
    /// Its next row: a value for each column. [`crate::value::text::write`] prints one.
    fn row(&mut self, values: &[Datum<'_>]) -> io::Result<()>;
    /// The statement succeeded: the result set ends, or there was none. With
    /// [`status_flag::MORE_RESULTS_EXISTS`] another statement of the same text follows.
    fn finish(&mut self, ok: &OkInfo<'_>) -> io::Result<()>;

    /// The next result set has the values of a procedure's OUT parameters.
    fn out_parameters(&mut self) {}

    /// LOAD DATA LOCAL: asks the client for a file of its machine, which [`ResultSink::read_file`]
    /// then reads to its end. `Unsupported` where there is no client that would send one.
    fn request_file(&mut self, _name: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Appends the next bytes of the file that was asked for; nothing at its end.
    fn read_file(&mut self, _out: &mut Vec<u8>) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
