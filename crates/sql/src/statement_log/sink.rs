//! Where one of the logs goes: a file, and the rows of its table.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use env::{Env, File, OpenMode, UnixMicros};
use parking_lot::Mutex;

use super::variables::{FILE, TABLE};
use crate::variables::{GlobalVariables, ids};
use datum::value::temporal::DateTime;

/// Bytes of rows that a log's table keeps at most.
const ROWS_BYTES_MAX: usize = 16 << 20;
/// Bytes of a statement that a row keeps at most.
const ROW_TEXT_MAX: usize = 1 << 20;

/// A statement, or another command, in a log.
#[derive(Debug, Default)]
pub(crate) struct LogRow {
    /// When it was logged.
    pub at: UnixMicros,
    /// Seconds since 1970 when the statement began.
    pub began: u64,
    /// `user[account] @ host [address]`
    pub(crate) user_host: Box<str>,
    /// The connection's id.
    pub thread: u64,
    /// `server_id`
    pub server: u64,
    /// `Query`, `Connect`, ..
    pub command: &'static str,
    /// How long the statement took.
    pub took: Duration,
    /// How long it waited for locks on rows and tables.
    pub(crate) lock_time: Duration,
    /// Rows sent to the client.
    pub(crate) rows_sent: u64,
    /// Rows read of tables and indexes.
    pub(crate) rows_examined: u64,
    /// The default database.
    pub database: Box<str>,
    pub(crate) last_insert_id: u64,
    /// The first number that AUTO_INCREMENT gave.
    pub(crate) insert_id: u64,
    /// The statement, in UTF-8 but for what a client sent otherwise.
    pub text: Box<[u8]>,
}

impl LogRow {
    fn time(&self) -> String {
        let at = DateTime::from_unix_micros(self.at as i64, 6);
        at.map_or_else(String::new, |at| format!("{}Z", at.to_string().replacen(' ', "T", 1)))
    }

    pub(super) fn general_line(&self) -> Vec<u8> {
        let mut line = format!("{}\t{:>5} {}\t", self.time(), self.thread, self.command).into_bytes();
        line.extend_from_slice(&self.text);
        line.push(b'\n');
        line
    }

    /// What programs that read slow query logs look for.
    pub(super) fn slow_lines(&self) -> Vec<u8> {
        let mut out = format!(
            "# Time: {}\n# User@Host: {}  Id: {:>5}\n# Query_time: {:.6}  Lock_time: {:.6} Rows_sent: {}  \
             Rows_examined: {}\n",
            self.time(),
            self.user_host,
            self.thread,
            self.took.as_secs_f64(),
            self.lock_time.as_secs_f64(),
            self.rows_sent,
            self.rows_examined
        );
        if !self.database.is_empty() {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "use {};", self.database);
        }
        let _ = writeln!(out, "SET timestamp={};", self.began);
        let mut out = out.into_bytes();
        out.extend_from_slice(&self.text);
        out.extend_from_slice(b";\n");
        out
    }

    fn memory(&self) -> usize {
        size_of::<Self>() + self.user_host.len() + self.database.len() + self.text.len()
    }
}

/// One log's file and table.
pub(super) struct LogSink {
    env: Arc<dyn Env>,
    datadir: PathBuf,
    /// For the error log.
    name: &'static str,
    file: Mutex<LogFile>,
    table: Mutex<LogTable>,
}

#[derive(Default)]
struct LogFile {
    path: PathBuf,
    /// With its length.
    open: Option<(Arc<dyn File>, u64)>,
    /// The error log has a message that it can't be written.
    failed: bool,
}

#[derive(Default)]
struct LogTable {
    rows: VecDeque<Arc<LogRow>>,
    bytes: usize,
}

impl LogSink {
    pub(super) fn new(env: Arc<dyn Env>, datadir: &Path, name: &'static str) -> Self {
        let (file, table) = Default::default();
        Self { env, datadir: datadir.to_owned(), name, file, table }
    }

    pub(super) fn set_path(&self, path: &str) {
        let path = self.datadir.join(path);
        *self.file.lock() = LogFile { path, ..LogFile::default() };
    }

    /// True if there is such a file, or can be.
    pub(super) fn can_open(&self, path: &str) -> bool {
        self.env.open(&self.datadir.join(path), OpenMode::Create).is_ok()
    }

    pub(super) fn close_file(&self) {
        self.file.lock().open = None;
    }

    pub(super) fn rows(&self) -> Vec<Arc<LogRow>> {
        self.table.lock().rows.iter().cloned().collect()
    }

    pub(super) fn clear(&self) {
        *self.table.lock() = LogTable::default();
    }

    pub(super) fn write(
        &self,
        globals: &GlobalVariables,
        mut row: LogRow,
        lines: impl FnOnce(&LogRow) -> Vec<u8>,
    ) {
        let output = globals.uint(ids::LOG_OUTPUT);
        if output & FILE != 0 {
            self.append(&lines(&row), globals);
        }
        if output & TABLE != 0 {
            if row.text.len() > ROW_TEXT_MAX {
                row.text = row.text[..ROW_TEXT_MAX].into();
            }
            self.put(row);
        }
    }

    fn put(&self, row: LogRow) {
        let mut table = self.table.lock();
        table.bytes += row.memory();
        table.rows.push_back(Arc::new(row));
        while table.bytes > ROWS_BYTES_MAX {
            let Some(oldest) = table.rows.pop_front() else { return };
            table.bytes -= oldest.memory();
        }
    }

    /// (Q1)
    fn append(&self, lines: &[u8], globals: &GlobalVariables) {
        let mut file = self.file.lock();
        let written = file.append(&*self.env, lines, globals);
        match written {
            Ok(()) => file.failed = false,
            Err(e) => {
                // What was written of a line that did not fit is overwritten by the next one.
                if !std::mem::replace(&mut file.failed, true) {
                    let path = file.path.display();
                    tracing::error!("the {} '{path}' can't be written; statements go on: {e}", self.name);
                }
            }
        }
    }
}

impl LogFile {
    fn append(&mut self, env: &dyn Env, lines: &[u8], globals: &GlobalVariables) -> io::Result<()> {
        if self.open.is_none() {
            let file = env.open(&self.path, OpenMode::Create)?;
            let len = file.len()?;
            let header = format!(
                "duramen, Version: {}. started with:\nTcp port: {}  Unix socket: {}\nTime                 Id Command    \
                 Argument\n",
                globals.text(ids::VERSION),
                globals.uint(ids::PORT),
                globals.text(ids::SOCKET)
            );
            file.write_at(header.as_bytes(), len)?;
            self.open = Some((file, len + header.len() as u64));
        }
        if let Some((file, len)) = &mut self.open {
            file.write_at(lines, *len)?;
            *len += lines.len() as u64;
        }
        Ok(())
    }
}
