//! The BINLOG statement: events of a binary log as base64 text, which is how `mysqlbinlog` prints
//! rows.
//!
//! 1. decode  The text becomes events, one after the other. The first statement of a file brings
//!    the format description, which the session keeps: it says how the others are to be read (error
//!    1609 without).
//! 2. map     A table map is kept until the row event that ends its statement.
//! 3. apply   A row event changes its rows in the session's transaction, like a statement that
//!    names them ([`apply`]): under row locks, logged anew, with this server's own table numbers.
//!
//! What is not a row event stands as a statement of its own in what `mysqlbinlog` prints. A
//! statement whose second event fails takes the first one back.

pub(crate) mod apply;
mod check;
mod conversion;

use apply::RowsOptions;
use binlog::event::{Decoder, Event, EventHeader, EventType, RowsEvent};

use crate::session::Context;
use datum::error::{self, Result, SqlError};

/// What a session knows of the log that its BINLOG statements come from.
pub(crate) type LogReader = Option<Box<Decoder>>;

/// Runs a BINLOG statement.
pub(super) fn execute(cx: &mut Context, text: &[u8]) -> Result<()> {
    if text.is_empty() {
        return Err(error::SYNTAX_ERROR.plain());
    }
    let bytes = decode_base64(text)?;
    let mut reader = cx.log.reader.take();
    let before = cx.storage_transaction().savepoint();
    let outcome = events(cx, &mut reader, &bytes);
    if outcome.is_err()
        && let Some(open) = &mut cx.transactions.open
    {
        open.storage_transaction.rollback_to(before);
    }
    cx.log.reader = reader;
    outcome
}

fn events(cx: &mut Context, reader: &mut LogReader, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        if bytes.len() < EventHeader::LEN {
            return Err(error::SYNTAX_ERROR.plain());
        }
        // MySQL asks for the type before the length.
        let kind = EventType(bytes[4]);
        let is_format = kind == EventType::FORMAT_DESCRIPTION;
        if !is_format && kind != EventType::TABLE_MAP && !RowsEvent::is_rows(kind) {
            return Err(error::ONLY_FD_AND_RBR_EVENTS_ALLOWED_IN_BINLOG_STATEMENT.with(&[&kind.name()]));
        }
        let length = EventHeader::decode(bytes).map_or(0, |header| header.event_length as usize);
        let (event, rest) = bytes
            .split_at_checked(length)
            .filter(|_| length > 0)
            .ok_or_else(|| error::SYNTAX_ERROR.plain())?;
        bytes = rest;
        if is_format {
            let format = binlog::event::decode_format_description(event).map_err(corrupt)?;
            *reader = Some(Box::new(Decoder::new(format)));
            continue;
        }
        let Some(decoder) = reader else {
            let name = kind.name();
            return Err(error::NO_FORMAT_DESCRIPTION_EVENT_BEFORE_BINLOG_STATEMENT.with(&[&name]));
        };
        let (header, event) = decoder.decode(event).map_err(corrupt)?;
        if let Event::Rows(rows) = event {
            let map = decoder.table_of(&rows).map_err(corrupt)?.clone();
            cx.begin_row_event(header.timestamp);
            let is_mariadb = decoder.format().server_version.contains("MariaDB");
            let options = RowsOptions { is_mariadb, ..RowsOptions::default() };
            let outcome = cx.with_own_results(|cx| apply::rows(cx, &map, &rows, options));
            cx.end_statement(outcome.is_ok());
            outcome?;
        }
    }
    Ok(())
}

/// Error 1610, with the reason: the client alone has a use for it.
fn corrupt(e: impl std::fmt::Display) -> SqlError {
    let mut error = error::SLAVE_CORRUPT_EVENT.plain();
    error.message += &format!(": {e}");
    error
}

/// Base64 with blanks anywhere, in any number of pieces, each of which may end with padding. Error
/// 1575 for what is none.
fn decode_base64(text: &[u8]) -> Result<Vec<u8>> {
    let wrong = || error::BASE64_DECODE_ERROR.plain();
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut digits, mut padding) = (0_u32, 0, 0);
    for &byte in text {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            b'=' if digits >= 2 => {
                padding += 1;
                0
            }
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => continue,
            _ => return Err(wrong()),
        };
        if padding > 0 && byte != b'=' {
            return Err(wrong());
        }
        bits = bits << 6 | u32::from(value);
        digits += 1;
        if digits == 4 {
            out.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
            (bits, digits, padding) = (0, 0, 0);
        }
    }
    if digits == 0 { Ok(out) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn base64_in_pieces() {
        let check = |text: &str, expected: &[u8]| {
            assert_eq!(decode_base64(text.as_bytes()).unwrap(), expected, "{text}");
        };
        check("", b"");
        check(" \n", b"");
        check("QUJD", b"ABC");
        check("QU\nJD\n", b"ABC");
        check("QQ==\nQUI=\nQUJD", b"AABABC");
        for text in ["Q", "QQ", "QQ=", "====", "Q===", "QQ=Q", "Q!Jj", "QUJD="] {
            assert_eq!(decode_base64(text.as_bytes()).unwrap_err().number, 1575, "{text}");
        }
    }
}
