//! From what a session produces to packets.

use crate::statements::Cursor;
use datum::sink::{ColumnMeta, OkInfo, ResultSink, StateChange};
use datum::types::Charset;
use protocol::{Capabilities, ColumnDefinition, Connection, ErrorReply, OkReply, SessionChange, Status};
use smallvec::SmallVec;
use sql::{Datum, SqlError};
use std::borrow::Cow;
use std::io;

mod binary;

/// The form that rows take.
pub(crate) enum Format {
    /// Values as text.
    Text,
    /// The binary protocol's.
    Binary,
    /// The same, stored until COM_STMT_FETCH asks for them.
    Cursor(Box<Cursor>),
}

/// Inline capacity: type codes of up to 16 columns need no allocation.
const TYPES_INLINE: usize = 16;

/// Writes one command's results into a connection's buffer.
pub(crate) struct Results<'a> {
    connection: &'a mut Connection,
    /// A result set has begun and not ended.
    in_rows: bool,
    /// Values that have to be printed first.
    scratch: Vec<u8>,
    status: Status,
    format: Format,
    /// The columns' types, if values are binary.
    types: SmallVec<[u8; TYPES_INLINE]>,
    /// The columns, as long as a cursor's end is not known.
    columns: Vec<ColumnMeta>,
}

impl<'a> Results<'a> {
    /// Nothing written yet. `status` goes where no statement's status is known.
    pub(crate) fn new(connection: &'a mut Connection, status: u16) -> Self {
        let (scratch, types, columns) = Default::default();
        let (status, format) = (Status(status), Format::Text);
        Self { connection, in_rows: false, scratch, status, format, types, columns }
    }

    /// The same with rows in another form.
    pub(crate) fn in_format(self, format: Format) -> Self {
        Self { format, ..self }
    }

    /// The cursor, if rows went to one.
    pub(crate) fn into_cursor(self) -> Option<Box<Cursor>> {
        match self.format {
            Format::Cursor(cursor) if !self.columns.is_empty() => Some(cursor),
            _ => None,
        }
    }

    fn text_row(&mut self, values: &[Datum<'_>]) -> io::Result<()> {
        let mut row = self.connection.row();
        for value in values {
            match value {
                Datum::Null => row.null(),
                Datum::Int(v) => row.int(*v),
                Datum::UInt(v) => row.uint(*v),
                Datum::Bytes(b) | Datum::Bits(b) | Datum::Label(_, b) => row.bytes(b),
                other => {
                    self.scratch.clear();
                    datum::value::text::write(other, &mut self.scratch);
                    row.bytes(&self.scratch);
                }
            }
        }
        row.end()
    }
}

impl ResultSink for Results<'_> {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.in_rows = true;
        if !matches!(self.format, Format::Text) {
            self.types.clear();
            self.types.extend(columns.iter().map(|c| c.type_code));
        }
        if let Format::Cursor(_) = self.format {
            self.columns = columns.to_vec();
        } else {
            if columns.iter().all(|column| column.names.is_none()) {
                self.connection.write_columns(columns.iter().map(definition), self.status);
            } else {
                let names: Vec<_> = columns.iter().map(Names::of).collect();
                self.connection.write_columns(names.iter().map(Names::definition), self.status);
            }
        }
        Ok(())
    }

    fn row(&mut self, values: &[Datum<'_>]) -> io::Result<()> {
        let (types, scratch) = (&self.types, &mut self.scratch);
        match &mut self.format {
            Format::Text => self.text_row(values),
            Format::Binary => self.connection.write_row(|out| binary::put_row(out, types, values, scratch)),
            Format::Cursor(cursor) => {
                cursor.row.clear();
                binary::put_row(&mut cursor.row, types, values, scratch);
                cursor.rows.push(&cursor.row).map_err(io::Error::other)
            }
        }
    }

    fn finish(&mut self, ok: &OkInfo<'_>) -> io::Result<()> {
        let changes: Vec<_> = ok.changes.iter().map(change).collect();
        let reply = OkReply {
            affected_rows: ok.affected_rows,
            last_insert_id: ok.last_insert_id,
            status: Status(ok.status),
            warnings: ok.warnings,
            info: ok.info.as_bytes(),
            changes: &changes,
        };
        let in_rows = std::mem::take(&mut self.in_rows);
        if in_rows && let Format::Cursor(_) = self.format {
            let names: Vec<_> = self.columns.iter().map(Names::of).collect();
            let columns: Vec<_> = names.iter().map(Names::definition).collect();
            let reply = OkReply { status: reply.status | Status::CURSOR_EXISTS, ..reply };
            self.connection.write_cursor_opened(&columns, &reply);
        } else if in_rows {
            self.connection.write_eof(&reply);
        } else {
            self.connection.write_ok(&reply);
        }
        Ok(())
    }

    fn out_parameters(&mut self) {
        // Where an EOF packet ends the columns, clients look for it there.
        self.status = self.status | Status::PS_OUT_PARAMS | Status::MORE_RESULTS_EXISTS;
    }

    fn request_file(&mut self, name: &[u8]) -> io::Result<()> {
        if !self.connection.capabilities().has(Capabilities::LOCAL_FILES) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.connection.write_local_infile_request(name)
    }

    fn read_file(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        self.scratch.clear();
        self.connection.read_local_infile(&mut self.scratch).map_err(io::Error::other)?;
        out.extend_from_slice(&self.scratch);
        Ok(())
    }
}

/// A change of the session as the OK packet reports it.
pub(crate) fn change(change: &StateChange) -> SessionChange<'_> {
    match change {
        StateChange::Variable(name, value) => {
            SessionChange::SystemVariable { name: name.as_bytes(), value: value.as_bytes() }
        }
        StateChange::Schema(name) => SessionChange::Schema(name.as_bytes()),
        StateChange::State => SessionChange::State(true),
        StateChange::Gtids(set) => SessionChange::Gtids(set.as_bytes()),
        StateChange::TransactionState(letters) => SessionChange::TransactionState(letters),
        StateChange::TransactionCharacteristics(text) => {
            SessionChange::TransactionCharacteristics(text.as_bytes())
        }
    }
}

/// A column with its names in the client's character set.
pub(crate) struct Names<'a> {
    column: &'a ColumnMeta,
    database: Cow<'a, [u8]>,
    table: Cow<'a, [u8]>,
    org_table: Cow<'a, [u8]>,
    name: Cow<'a, [u8]>,
    org_name: Cow<'a, [u8]>,
}

impl<'a> Names<'a> {
    pub(crate) fn of(column: &'a ColumnMeta) -> Self {
        Self {
            column,
            database: column.encoded(&column.database),
            table: column.encoded(&column.table),
            org_table: column.encoded(&column.org_table),
            name: column.encoded(&column.name),
            org_name: column.encoded(&column.org_name),
        }
    }

    /// As the protocol describes it.
    pub(crate) fn definition(&self) -> ColumnDefinition<'_> {
        ColumnDefinition {
            schema: &self.database,
            table: &self.table,
            original_table: &self.org_table,
            name: &self.name,
            original_name: &self.org_name,
            ..definition(self.column)
        }
    }
}

/// A column as the protocol describes it, for a client that has names in UTF-8.
fn definition(column: &ColumnMeta) -> ColumnDefinition<'_> {
    ColumnDefinition {
        schema: column.database.as_bytes(),
        table: column.table.as_bytes(),
        original_table: column.org_table.as_bytes(),
        name: column.name.as_bytes(),
        original_name: column.org_name.as_bytes(),
        collation: column.collation,
        length: column.length,
        column_type: column.type_code,
        flags: column.flags,
        decimals: column.decimals,
    }
}

/// An error as the protocol carries it, to a client that wants its results in this character set.
pub(crate) fn error(e: &SqlError, results: Option<Charset>) -> ErrorReply {
    ErrorReply::new(e.number, &e.sqlstate, datum::sink::encoded_message(&e.message, results))
}

/// Captures a result set's columns and discards its rows; for commands that are executed as a
/// statement of which the client sees no rows, such as COM_FIELD_LIST.
#[derive(Default)]
pub(crate) struct ColumnCapture {
    /// Those of the last result set; empty if there was none.
    pub columns: Vec<ColumnMeta>,
}

impl ResultSink for ColumnCapture {
    fn columns(&mut self, columns: &[ColumnMeta]) -> io::Result<()> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn row(&mut self, _values: &[Datum<'_>]) -> io::Result<()> {
        Ok(())
    }

    fn finish(&mut self, _ok: &OkInfo<'_>) -> io::Result<()> {
        Ok(())
    }
}
