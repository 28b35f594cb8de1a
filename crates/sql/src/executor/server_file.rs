//! Files that statements name: LOAD DATA INFILE and SELECT .. INTO OUTFILE and DUMPFILE on the
//! server's machine.
//!
//! `secure_file_priv` says where they may be: nowhere if it is NULL, below one folder, or anywhere
//! if it is empty. Names are compared as they are written, after `.` and `..` are resolved:
//! symbolic links inside of the folder are its owner's doing.

use std::io;
use std::path::{Component, Path, PathBuf};

use crate::session::Context;
use crate::variables::{Value, ids};
use datum::error::{self, Result};
use datum::types::Charset;
use syntax::ast::{FileFormat, Text};

/// The path that a statement means: relative ones start at the data directory. Error 1290 if it is
/// not allowed.
pub(super) fn allowed(cx: &Context, path: &Text) -> Result<PathBuf> {
    let globals = cx.instance.globals();
    let whole = plain(&Path::new(&*globals.text(ids::DATADIR)).join(&*path.to_str_lossy()));
    let is_allowed = match globals.get(ids::SECURE_FILE_PRIV) {
        Value::Text(folder) if folder.is_empty() => true,
        Value::Text(folder) => whole.starts_with(plain(Path::new(&*folder))),
        _ => false,
    };
    is_allowed.then_some(whole).ok_or_else(|| error::OPTION_PREVENTS_STATEMENT.with(&[&"--secure-file-priv"]))
}

/// A path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// A file that can't be read.
pub(super) fn cannot_read(path: &Path, e: &io::Error) -> error::SqlError {
    let number = e.raw_os_error().unwrap_or(0);
    match e.kind() {
        io::ErrorKind::NotFound => {
            error::CANT_GET_STAT.with(&[&path.display(), &2, &"No such file or directory"])
        }
        _ => error::ERROR_ON_READ.with(&[&path.display(), &format_args!("{number} - {e}")]),
    }
}

/// How a file's fields and lines are divided, with MySQL's defaults.
pub(super) struct Delimiters {
    /// Between fields.
    pub(super) field: Vec<u8>,
    /// After lines.
    pub(super) line: Vec<u8>,
    /// Before lines.
    pub(super) start: Vec<u8>,
    /// Around fields.
    pub(super) enclosed: Option<u8>,
    /// Around those that are text only.
    pub(super) only_text: bool,
    /// Before characters that would mean something else.
    pub(super) escape: Option<u8>,
}

impl Delimiters {
    /// What FIELDS and LINES say, of a statement in the set `from`, in the character set `to`,
    /// which is the connection's; error 1083 where a single character is asked for.
    pub(super) fn new(format: &FileFormat, from: Charset, to: Charset) -> Result<Self> {
        let text = |text: &Option<Text>, default: &[u8]| match text {
            Some(text) => from.convert(text.to_vec().into(), to).0.into_owned(),
            None => default.to_vec(),
        };
        let single = |bytes: Vec<u8>| match bytes[..] {
            [] => Ok(None),
            [byte] => Ok(Some(byte)),
            _ => Err(error::WRONG_FIELD_TERMINATORS.plain()),
        };
        let delimiters = Self {
            field: text(&format.fields_terminated, b"\t"),
            line: text(&format.lines_terminated, b"\n"),
            start: text(&format.lines_starting, b""),
            enclosed: single(text(&format.enclosed, b""))?,
            only_text: format.optionally_enclosed,
            escape: single(text(&format.escaped, b"\\"))?,
        };
        if delimiters.field.is_empty() {
            return Err(error::SqlError::unsupported("files with fields of fixed size"));
        }
        Ok(delimiters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_do_not_leave_the_folder() {
        let check = |path: &str, expected: &str| assert_eq!(plain(Path::new(path)), Path::new(expected));
        check("/files/a.txt", "/files/a.txt");
        check("/files/../etc/passwd", "/etc/passwd");
        check("/files/./a/../b", "/files/b");
        check("/../../a", "/a");
    }
}
