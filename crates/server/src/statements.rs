//! Prepared statements on the wire: COM_STMT_PREPARE and what follows it.
//!
//! The session keeps the statement itself; here is what only the protocol knows of: the types that
//! the client bound last, the long data it has sent ahead, and the cursor that is open.
//!
//! (S1) A statement's long data together is at most `max_allowed_packet` for each parameter; what
//!      is beyond is not kept, and the execution fails, as COM_STMT_SEND_LONG_DATA has no reply.
//! (S2) A cursor keeps its rows as packets would have them. All of a statement's are made when it
//!      is opened, so that it neither holds locks nor sees later changes; beyond `tmp_table_size`
//!      they are in a temporary file.

use crate::results::{self, Format, Names, Results};
use crate::session::Client;
use datum::value::temporal::{Date, DateTime, Time};
use datum::value::{Datum, Decimal};
use protocol::binary::{BinaryDateTime, BinaryTime, BinaryType, BinaryValue, code};
use protocol::statement::{Argument, Prepared, Reading, execute_flags};
use protocol::{Attribute, ErrorReply, OkReply, Status};
use sql::Parameter;
use sql::RecordQueue;
use std::collections::{BTreeMap, HashMap};

/// A connection's prepared statements, by id.
pub(crate) type Statements = BTreeMap<u32, Statement>;

/// What the protocol knows of a prepared statement.
#[derive(Default)]
pub(crate) struct Statement {
    parameters: usize,
    /// As bound last.
    types: Vec<BinaryType>,
    /// By parameter; few statements have any.
    long: HashMap<usize, Vec<u8>>,
    /// What went wrong with the long data.
    long_error: Option<ErrorReply>,
    cursor: Option<Box<Cursor>>,
}

/// Rows that wait to be fetched.
pub(crate) struct Cursor {
    pub(crate) rows: RecordQueue,
    /// Memory for a row that is put in.
    pub(crate) row: Vec<u8>,
}

impl Statement {
    fn forget_long_data(&mut self) {
        self.long.clear();
        self.long_error = None;
    }
}

/// COM_STMT_PREPARE.
pub(crate) fn prepare(client: &mut Client<'_>, text: &[u8]) {
    match client.session.prepare(text) {
        Ok(description) => {
            let statement = Statement { parameters: description.parameters, ..Statement::default() };
            client.statements.insert(description.id, statement);
            let names: Vec<_> = description.columns.iter().map(Names::of).collect();
            let columns: Vec<_> = names.iter().map(Names::definition).collect();
            let parameters = u16::try_from(description.parameters).unwrap_or(u16::MAX);
            let reply = Prepared { id: description.id, parameters, warnings: 0 };
            client.connection.write_prepared(&reply, &columns, Status(client.session.status()));
        }
        Err(e) => {
            let reply = client.failed(&e);
            client.connection.write_error(&reply);
        }
    }
}

/// COM_STMT_EXECUTE.
pub(crate) fn execute(client: &mut Client<'_>, id: u32, flags: u8, packet: &[u8]) {
    if let Err(reply) = try_execute(client, id, flags, packet) {
        client.connection.write_error(&reply);
    }
}

fn try_execute(client: &mut Client<'_>, id: u32, flags: u8, packet: &[u8]) -> Result<(), ErrorReply> {
    let Some(statement) = client.statements.get_mut(&id) else {
        return Err(ErrorReply::unknown_statement(id, "mysqld_stmt_execute"));
    };
    statement.cursor = None;
    let Statement { parameters, types, long, .. } = statement;
    let mut reading = Reading {
        capabilities: client.connection.capabilities(),
        flags,
        parameters: *parameters,
        types,
        is_long: &|i| long.contains_key(&i),
    };
    let mut values = client.session.parameters_to_fill();
    let mut wrong = None;
    let session = &client.session;
    let attributes = reading.read(packet, |argument| {
        let value = match argument {
            Argument::Value(ty, value) => parameter(session, ty, &value),
            Argument::LongData(ty) => {
                let bytes = long.get(&values.len()).map_or(&[][..], Vec::as_slice);
                parameter(session, ty, &BinaryValue::Bytes(bytes))
            }
        };
        values.push(value.unwrap_or_else(|e| {
            wrong.get_or_insert(e);
            Parameter::plain(Datum::Null)
        }));
    });
    statement.long.clear();
    if let Some(error) = statement.long_error.take() {
        return Err(error);
    }
    let attributes = attributes?;
    if let Some(error) = wrong {
        return Err(error);
    }
    let wants_cursor = flags & execute_flags::CURSOR_ANY != 0 && client.session.may_have_cursor(id);
    let format = match wants_cursor {
        true => Format::Cursor(Box::new(Cursor { rows: client.session.row_queue(), row: Vec::new() })),
        false => Format::Binary,
    };
    if !attributes.is_empty() {
        with_attributes(client, &attributes)?;
    }
    let mut results = Results::new(&mut client.connection, client.session.status()).in_format(format);
    let outcome = client.session.execute_prepared(id, values, &mut results);
    if !attributes.is_empty() {
        client.session.set_query_attributes(std::iter::empty());
    }
    let cursor = results.into_cursor();
    outcome.map_err(|e| client.failed(&e))?;
    if cursor.is_some()
        && let Some(statement) = client.statements.get_mut(&id)
    {
        statement.cursor = cursor;
    }
    Ok(())
}

/// Gives the session the named values of the statement that it is to run.
pub(crate) fn with_attributes(
    client: &mut Client<'_>,
    attributes: &[Attribute<'_>],
) -> Result<(), ErrorReply> {
    const TEXT: BinaryType = BinaryType { code: code::VAR_STRING, unsigned: false };
    let mut values = Vec::with_capacity(attributes.len());
    for (name, value) in attributes {
        values.push((*name, parameter(&client.session, TEXT, value)?));
    }
    client.session.set_query_attributes(values.into_iter());
    Ok(())
}

/// A value that a client sent, as the session takes it. What is no date or time is error 1210.
fn parameter(
    session: &sql::Session,
    ty: BinaryType,
    value: &BinaryValue<'_>,
) -> Result<Parameter, ErrorReply> {
    let wrong = || ErrorReply::wrong_arguments("mysqld_stmt_execute");
    Ok(Parameter::plain(match *value {
        BinaryValue::Null => Datum::Null,
        BinaryValue::Int(v) => Datum::Int(v),
        BinaryValue::UInt(v) => Datum::UInt(v),
        BinaryValue::Float(v) => Datum::Double(v.into()),
        BinaryValue::Double(v) => Datum::Double(v),
        BinaryValue::DateTime(v) => {
            let moment = date_time(&v).ok_or_else(wrong)?;
            if ty.code == code::DATE { Datum::Date(moment.date) } else { Datum::DateTime(moment) }
        }
        BinaryValue::Time(v) => Datum::Time(time(&v).ok_or_else(wrong)?),
        BinaryValue::Bytes(digits) if matches!(ty.code, code::DECIMAL | code::NEWDECIMAL) => {
            Datum::Decimal(Decimal::parse(digits).0)
        }
        BinaryValue::Bytes(bytes) if (code::TINY_BLOB..=code::BLOB).contains(&ty.code) => {
            return Ok(session.binary_parameter(bytes));
        }
        BinaryValue::Bytes(bytes) => return Ok(session.text_parameter(bytes)),
    }))
}

fn date_time(sent: &BinaryDateTime) -> Option<DateTime> {
    let date = Date { year: sent.year, month: sent.month, day: sent.day };
    if date.year > 9999 || date.month > 12 || date.day > 31 {
        return None;
    }
    let micros = clock(sent.hour.into(), sent.minute, sent.second, sent.micros).filter(|_| sent.hour < 24)?;
    Some(DateTime { date, micros, fsp: if sent.micros > 0 { 6 } else { 0 } })
}

fn time(sent: &BinaryTime) -> Option<Time> {
    // A TIME ends long before; no number of days overflows.
    let hours = i64::from(sent.days.min(100)) * 24 + i64::from(sent.hour);
    let micros = clock(hours, sent.minute, sent.second, sent.micros)?;
    let micros = if sent.negative { -micros } else { micros };
    Some(Time { micros, fsp: if sent.micros > 0 { 6 } else { 0 } }.clamp().0)
}

fn clock(hours: i64, minute: u8, second: u8, micros: u32) -> Option<i64> {
    let seconds = (hours * 60 + i64::from(minute)) * 60 + i64::from(second);
    (minute < 60 && second < 60 && micros < 1_000_000).then_some(seconds * 1_000_000 + i64::from(micros))
}

/// COM_STMT_SEND_LONG_DATA, which has no reply: errors are reported by the execution.
pub(crate) fn send_long_data(client: &mut Client<'_>, id: u32, parameter: u16, data: &[u8]) {
    let max = client.packet_max();
    let Some(statement) = client.statements.get_mut(&id) else { return };
    let number = usize::from(parameter);
    if number >= statement.parameters {
        statement.long_error = Some(ErrorReply::wrong_arguments("mysqld_stmt_send_long_data"));
        return;
    }
    let long_data = statement.long.entry(number).or_default();
    if long_data.len() + data.len() > max {
        *long_data = Vec::new();
        statement.long_error = Some(ErrorReply::long_data_too_large());
    } else if statement.long_error.is_none() {
        long_data.extend_from_slice(data);
    }
}

/// COM_STMT_CLOSE, which has no reply.
pub(crate) fn close(client: &mut Client<'_>, id: u32) {
    client.statements.remove(&id);
    client.session.close_prepared(id);
}

/// COM_STMT_RESET.
pub(crate) fn reset(client: &mut Client<'_>, id: u32) {
    let Some(statement) = client.statements.get_mut(&id) else {
        return client.connection.write_error(&ErrorReply::unknown_statement(id, "mysqld_stmt_reset"));
    };
    statement.forget_long_data();
    statement.cursor = None;
    client.ok();
}

/// COM_STMT_FETCH.
pub(crate) fn fetch(client: &mut Client<'_>, id: u32, rows: u32) -> std::io::Result<()> {
    let Some(statement) = client.statements.get_mut(&id) else {
        client.connection.write_error(&ErrorReply::unknown_statement(id, "mysqld_stmt_fetch"));
        return Ok(());
    };
    let Some(cursor) = &mut statement.cursor else {
        client.connection.write_error(&ErrorReply::no_open_cursor(id));
        return Ok(());
    };
    let mut status = Status(client.session.status()) | Status::CURSOR_EXISTS;
    for _ in 0..rows {
        match cursor.rows.take() {
            Ok(Some(row)) => client.connection.write_row(|out| out.extend_from_slice(row))?,
            Ok(None) => {
                status = status.without(Status::CURSOR_EXISTS) | Status::LAST_ROW_SENT;
                statement.cursor = None;
                break;
            }
            Err(e) => {
                statement.cursor = None;
                client.connection.write_error(&results::error(&e, client.session.results_charset()));
                return Ok(());
            }
        }
    }
    client.connection.write_eof(&OkReply { status, ..OkReply::default() });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_clock_shows_is_refused() {
        let good = BinaryDateTime {
            year: 2024,
            month: 2,
            day: 29,
            hour: 23,
            minute: 59,
            second: 59,
            micros: 999_999,
        };
        assert_eq!(date_time(&good).map(|d| d.to_string()), Some("2024-02-29 23:59:59.999999".into()));
        for bad in [
            BinaryDateTime { hour: 24, ..good },
            BinaryDateTime { minute: 60, ..good },
            BinaryDateTime { micros: 1_000_000, ..good },
            BinaryDateTime { month: 13, ..good },
            BinaryDateTime { year: 10_000, ..good },
        ] {
            assert_eq!(date_time(&bad), None, "{bad:?}");
        }
        let long =
            BinaryTime { negative: true, days: u32::MAX, hour: 255, minute: 59, second: 59, micros: 0 };
        assert_eq!(time(&long).map(|t| t.to_string()), Some("-838:59:59".into()));
    }
}
