//! LOAD DATA that a server logged as a statement: the file in blocks, then the statement.
//!
//! | event | bytes |
//! | --- | --- |
//! | begin | 4 file id, the first block |
//! | append | 4 file id, the next block |
//! | execute | as a query event up to the length of its status variables; 4 file id, 4 and 4 where the file's name begins and ends in the statement, 1 what is done with rows that are there; then as a query event |
//! | delete | 4 file id: the statement failed before it changed anything |

use stdx::cursor::Cursor;

use super::{EncodeEvent, EventError, EventType, QueryEvent};

/// A block of the file; the first of them begins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadBlockEvent<'a> {
    /// Begins the file, or goes on.
    pub begins: bool,
    /// Which file: good until its statement, or its end.
    pub file_id: u32,
    /// What comes next in it.
    pub block: &'a [u8],
}

impl<'a> LoadBlockEvent<'a> {
    pub(super) fn decode(kind: EventType, body: &'a [u8]) -> Result<Self, EventError> {
        let mut c = Cursor::new(body);
        let begins = kind == EventType::BEGIN_LOAD_QUERY;
        Ok(Self { begins, file_id: c.u32()?, block: c.take_remaining() })
    }
}

impl EncodeEvent for LoadBlockEvent<'_> {
    fn event_type(&self) -> EventType {
        if self.begins { EventType::BEGIN_LOAD_QUERY } else { EventType::APPEND_BLOCK }
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.file_id.to_le_bytes());
        out.extend_from_slice(self.block);
    }
}

/// The file is not needed: its statement failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoadDeleteEvent {
    /// Which file.
    pub file_id: u32,
}

impl EncodeEvent for LoadDeleteEvent {
    fn event_type(&self) -> EventType {
        EventType::DELETE_FILE
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.file_id.to_le_bytes());
    }
}

/// What LOAD DATA does with rows that are there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)] // the names are MySQL's
pub enum LoadDuplicates {
    Error,
    Ignore,
    Replace,
}

/// The statement that loads the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadQueryEvent<'a> {
    /// The statement as the source ran it, and its settings.
    pub query: QueryEvent<'a>,
    /// Which file.
    pub file_id: u32,
    /// The part of the statement that says the file and what is done with duplicates, up to the
    /// end of INTO.
    pub file_part: std::ops::Range<u32>,
    /// What is done with rows that are there already.
    pub duplicates: LoadDuplicates,
}

/// Bytes between a query event's fixed part and its status variables.
const MORE: usize = 13;
/// Bytes of a query event's fixed part.
const FIXED: usize = 13;

impl<'a> LoadQueryEvent<'a> {
    pub(super) fn decode(body: &'a [u8], flags: u16) -> Result<Self, EventError> {
        let (fixed, rest) = body.split_at_checked(FIXED).ok_or(EventError::Truncated)?;
        let mut c = Cursor::new(rest);
        let (file_id, start, end) = (c.u32()?, c.u32()?, c.u32()?);
        let duplicates = match c.u8()? {
            0 => LoadDuplicates::Error,
            1 => LoadDuplicates::Ignore,
            2 => LoadDuplicates::Replace,
            _ => return Err(EventError::Malformed("what LOAD DATA does with duplicates")),
        };
        let query = QueryEvent::decode_parts(fixed, c.take_remaining(), flags)?;
        if start > end || end as usize > query.sql.len() {
            return Err(EventError::Malformed("where LOAD DATA names its file"));
        }
        Ok(Self { query, file_id, file_part: start..end, duplicates })
    }

    /// The statement with another name of the file, of the server that runs it.
    pub fn with_file(&self, name: &str) -> Vec<u8> {
        let sql = &self.query.sql;
        let part = self.file_part.start as usize..self.file_part.end as usize;
        let duplicates = match self.duplicates {
            LoadDuplicates::Error => "",
            LoadDuplicates::Ignore => " IGNORE",
            LoadDuplicates::Replace => " REPLACE",
        };
        let file = format!(" INFILE '{name}'{duplicates} INTO");
        [sql[..part.start].trim_ascii_end(), file.as_bytes(), &sql[part.end..]].concat()
    }
}

impl EncodeEvent for LoadQueryEvent<'_> {
    fn event_type(&self) -> EventType {
        EventType::EXECUTE_LOAD_QUERY
    }

    fn header_flags(&self) -> u16 {
        self.query.header_flags()
    }

    fn encode_body(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.query.encode_body(out);
        let mut more = Vec::with_capacity(MORE);
        for number in [self.file_id, self.file_part.start, self.file_part.end] {
            more.extend_from_slice(&number.to_le_bytes());
        }
        more.push(self.duplicates as u8);
        out.splice(start + FIXED..start + FIXED, more);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn event(sql: &str, part: std::ops::Range<u32>, duplicates: LoadDuplicates) -> LoadQueryEvent<'_> {
        let query = QueryEvent {
            thread_id: 7,
            exec_time: 1,
            error_code: 0,
            status: Default::default(),
            database: b"d".as_slice().into(),
            sql: sql.as_bytes().into(),
            suppress_use: false,
        };
        LoadQueryEvent { query, file_id: 3, file_part: part, duplicates }
    }

    #[test]
    fn the_statement_gets_another_file() {
        let sql = "LOAD DATA LOCAL INFILE '/tmp/x' INTO TABLE t";
        let load = event(sql, 9..36, LoadDuplicates::Replace);
        assert_eq!(load.with_file("f"), b"LOAD DATA INFILE 'f' REPLACE INTO TABLE t");
    }

    #[test]
    fn bytes_and_back() {
        let load = event("LOAD DATA INFILE 'x' INTO TABLE t", 9..25, LoadDuplicates::Ignore);
        let mut body = Vec::new();
        load.encode_body(&mut body);
        assert_eq!(LoadQueryEvent::decode(&body, 0).unwrap(), load);
        for end in 0..body.len() {
            let _ = LoadQueryEvent::decode(&body[..end], 0);
        }
        body[FIXED + 4] = 200;
        assert!(LoadQueryEvent::decode(&body, 0).is_err(), "the file's name ends before it begins");
    }
}
