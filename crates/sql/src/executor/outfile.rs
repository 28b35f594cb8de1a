//! SELECT .. INTO OUTFILE and DUMPFILE: rows into a file of the server's machine, which must not
//! exist yet.
//!
//! What is written is what LOAD DATA with the same FIELDS and LINES reads back. A file that could
//! not be finished is removed.

use std::io;
use std::path::Path;
use std::sync::Arc;

use env::{File, OpenMode};

use super::query;
use super::server_file::{self, Delimiters};
use crate::planner::Query;
use crate::session::Context;
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Family, Type};
use datum::value::{Datum, text};
use syntax::ast::{FileFormat, Ident, Text};

/// Bytes that are gathered before they are written.
const PIECE: usize = 256 << 10;

/// A file being written.
struct Output<'p> {
    file: Arc<dyn File>,
    path: &'p Path,
    at: u64,
    buffer: Vec<u8>,
}

impl Output<'_> {
    fn write_if(&mut self, wanted: bool) -> Result<()> {
        if wanted && !self.buffer.is_empty() {
            self.file.write_at(&self.buffer, self.at).map_err(|e| cannot_write(self.path, &e))?;
            self.at += self.buffer.len() as u64;
            self.buffer.clear();
        }
        Ok(())
    }
}

fn cannot_write(path: &Path, e: &io::Error) -> SqlError {
    let number = e.raw_os_error().unwrap_or(0);
    error::ERROR_ON_WRITE.with(&[&path.display(), &format_args!("{number} - {e}")])
}

/// Makes the file, has it written, and removes it if that failed.
fn with_file(
    cx: &mut Context,
    path: &Text,
    write: impl FnOnce(&mut Context, &mut Output<'_>) -> Result<u64>,
) -> Result<()> {
    let whole = server_file::allowed(cx, path)?;
    let env = cx.instance.env().clone();
    let file = env.open(&whole, OpenMode::CreateNew).map_err(|e| match e.kind() {
        io::ErrorKind::AlreadyExists => error::FILE_EXISTS_ERROR.with(&[&path.to_str_lossy()]),
        _ => cannot_write(&whole, &e),
    })?;
    let mut output = Output { file, path: &whole, at: 0, buffer: Vec::new() };
    let outcome = write(cx, &mut output).and_then(|rows| output.write_if(true).map(|()| rows));
    match outcome {
        Ok(rows) => {
            cx.statement.status.affected = rows;
            cx.statement.status.found_rows = cx.statement.rows_found;
            Ok(())
        }
        Err(e) => {
            // The statement's own error is what the client is to get.
            let _ = env.remove_file(&whole);
            Err(e)
        }
    }
}

/// INTO OUTFILE.
pub(super) fn delimited(
    cx: &mut Context,
    plan: &Query,
    path: &Text,
    charset: Option<&Ident>,
    format: &FileFormat,
) -> Result<()> {
    let charset = match charset {
        Some(name) => Charset::by_name(name).ok_or_else(|| error::UNKNOWN_CHARACTER_SET.with(&[name]))?,
        None => Charset::Binary,
    };
    let writer = Fields {
        delimiters: Delimiters::new(
            format,
            cx.settings.statement_charset(),
            cx.settings.connection_collation().charset(),
        )?,
        charset,
    };
    let types: Vec<Type> = plan.columns.iter().map(|c| c.ty).collect();
    with_file(cx, path, |cx, output| {
        query::run(cx, plan, &mut |_, values| {
            writer.line(values, &types, &mut output.buffer);
            output.write_if(output.buffer.len() >= PIECE)?;
            Ok(true)
        })
    })
}

/// INTO DUMPFILE: the values of one row, one after the other.
pub(super) fn dump(cx: &mut Context, plan: &Query, path: &Text) -> Result<()> {
    with_file(cx, path, |cx, output| {
        let mut rows = 0;
        query::run(cx, plan, &mut |_, values| {
            rows += 1;
            if rows > 1 {
                return Err(error::TOO_MANY_ROWS.plain());
            }
            values.iter().filter(|v| !v.is_null()).for_each(|value| text::write(value, &mut output.buffer));
            Ok(true)
        })
    })
}

struct Fields {
    delimiters: Delimiters,
    charset: Charset,
}

impl Fields {
    fn line(&self, values: &[Datum<'_>], types: &[Type], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.delimiters.start);
        for (number, (value, ty)) in values.iter().zip(types).enumerate() {
            if number > 0 {
                out.extend_from_slice(&self.delimiters.field);
            }
            self.field(value, ty, out);
        }
        out.extend_from_slice(&self.delimiters.line);
    }

    fn field(&self, value: &Datum<'_>, ty: &Type, out: &mut Vec<u8>) {
        let d = &self.delimiters;
        let is_number =
            matches!(ty.family, Family::Integer | Family::Decimal | Family::Float | Family::Double);
        let enclosed = d.enclosed.filter(|_| !d.only_text || !is_number);
        if value.is_null() {
            match d.escape {
                Some(escape) => out.extend_from_slice(&[escape, b'N']),
                None => out.extend_from_slice(b"NULL"),
            }
            return;
        }
        out.extend(enclosed);
        let bytes = value.to_bytes();
        let bytes = match ty.family.is_text() {
            true => ty.collation.charset().convert(bytes, self.charset).0,
            false => bytes,
        };
        match d.escape {
            Some(escape) => self.escape(&bytes, escape, enclosed, out),
            None => out.extend_from_slice(&bytes),
        }
        out.extend(enclosed);
    }

    /// Text in which nothing reads as a delimiter.
    fn escape(&self, bytes: &[u8], escape: u8, enclosed: Option<u8>, out: &mut Vec<u8>) {
        let d = &self.delimiters;
        let ends = [d.field.first().copied(), d.line.first().copied()];
        for &byte in bytes {
            let is_end = match enclosed {
                Some(mark) => byte == mark,
                None => ends.contains(&Some(byte)),
            };
            match byte {
                0 => out.extend_from_slice(&[escape, b'0']),
                _ if byte == escape || is_end || d.line.first() == Some(&byte) => {
                    out.extend_from_slice(&[escape, byte]);
                }
                _ => out.push(byte),
            }
        }
    }
}
