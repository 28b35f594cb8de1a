//! The rows: chunk by chunk, in several sessions that read one snapshot.

use super::Ignored;
use super::local::{Local, LocalSession};
use super::say;
use crate::log_tool::ToolError;
use crate::progress::{Progress, Unit};
use crate::remote::checksum::Compared;
use crate::remote::chunks::{Chunk, Chunks, literal};
use crate::remote::place::LogPlace;
use crate::remote::snapshot::Snapshot;
use crate::remote::tables::{self, Class, Column, Table};
use crate::remote::{RemoteSession, Runs};
use env::Env;
use parking_lot::Mutex;
use protocol::client::Row;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A statement with rows is run at this length, in bytes.
const STATEMENT: usize = 1 << 20;

/// A table, and what of it is not handed out yet.
struct Job {
    table: Table,
    chunks: Mutex<Chunks>,
    /// It has rows of an earlier try.
    is_kept: bool,
}

/// What the sessions share.
struct Work<'a> {
    jobs: Vec<Job>,
    /// Chunks of an earlier try whose rows are not the source's, and are deleted here: which table,
    /// and which rows.
    differing: Mutex<Vec<(usize, Chunk)>>,
    progress: Mutex<Progress<'a>>,
    copied: AtomicU64,
    unchanged: AtomicU64,
    /// The first error: the others stop.
    failed: Mutex<Option<ToolError>>,
}

/// Copies all rows; returns the place of the snapshot.
///
/// # Errors
/// The servers'.
pub(super) fn rows(
    env: &Arc<dyn Env>,
    local: &Local,
    mut snapshot: Snapshot,
    databases: &[String],
    ignored: &Ignored,
    kept: &BTreeSet<String>,
) -> Result<LogPlace, ToolError> {
    let jobs = jobs(local, &mut snapshot.sessions[0], databases, ignored, kept)?;
    let total = jobs.iter().fold(0_u64, |total, job| total.saturating_add(job.table.rows_estimate));
    let tables = jobs.len();
    let work = Work {
        jobs,
        differing: Mutex::default(),
        progress: Mutex::new(Progress::new(&**env, "copying", Unit::Rows, total)),
        copied: AtomicU64::new(0),
        unchanged: AtomicU64::new(0),
        failed: Mutex::new(None),
    };
    let started = env.monotonic();
    // What differs goes before anything comes: a row may have a unique key that another one had.
    work.in_all(&mut snapshot.sessions, local, |source, session| work.delete_differing(source, session));
    work.in_all(&mut snapshot.sessions, local, |source, session| work.copy(source, session));
    let (copied, unchanged) = (work.copied.load(Relaxed), work.unchanged.load(Relaxed));
    drop(work.progress);
    if let Some(error) = work.failed.into_inner() {
        return Err(error);
    }
    let seconds = env.monotonic().saturating_sub(started).as_secs();
    say(&match unchanged {
        0 => format!("{copied} rows of {tables} tables are copied, in {seconds} s"),
        _ => format!(
            "{copied} rows of {tables} tables are copied, in {seconds} s; {unchanged} of an earlier try were as they are now"
        ),
    });
    Ok(snapshot.place)
}

fn jobs(
    local: &Local,
    source: &mut RemoteSession,
    databases: &[String],
    ignored: &Ignored,
    kept: &BTreeSet<String>,
) -> Result<Vec<Job>, ToolError> {
    let mut jobs = Vec::new();
    for database in databases {
        let ours = local.with_session(|session| tables::of(session, database))?;
        for table in
            tables::of(source, database)?.into_iter().filter(|t| !ignored.tables.contains(&t.place()))
        {
            let is_kept = kept.contains(&table.place());
            let own = ours.iter().find(|own| own.name == table.name);
            let Some(own) = own else {
                return Err(ToolError::Refused(format!(
                    "{} was made on the source after its definitions were read: call the command again",
                    table.place()
                )));
            };
            let chunks = match is_kept {
                true => Chunks::of_both(&table, own, None),
                false => Chunks::of(&table, None),
            };
            jobs.push(Job { table, chunks: Mutex::new(chunks), is_kept });
        }
    }
    Ok(jobs)
}

impl Work<'_> {
    /// Runs a step with each session of the source at once.
    fn in_all(
        &self,
        sessions: &mut [RemoteSession],
        local: &Local,
        step: impl Fn(&mut RemoteSession, &mut LocalSession) -> Result<(), ToolError> + Sync,
    ) {
        std::thread::scope(|scope| {
            for source in sessions {
                let step = &step;
                scope.spawn(move || {
                    if let Err(e) = local.with_session(|session| step(source, session)) {
                        self.failed.lock().get_or_insert(e);
                    }
                });
            }
        });
    }

    fn has_failed(&self) -> bool {
        self.failed.lock().is_some()
    }

    /// Deletes the chunks of an earlier try whose rows are not what the source has now.
    fn delete_differing(
        &self,
        source: &mut RemoteSession,
        local: &mut LocalSession,
    ) -> Result<(), ToolError> {
        for (number, job) in self.jobs.iter().enumerate().filter(|(_, job)| job.is_kept) {
            let (compared, key) = (Compared::all(&job.table), &job.table.chunk_key);
            while !self.has_failed() {
                let next = job.chunks.lock().next(source, &job.table)?;
                let Some(chunk) = next else { break };
                let theirs = compared.checksum(source, key, &chunk)?;
                let ours = compared.checksum(local, key, &chunk)?;
                if ours == theirs {
                    self.unchanged.fetch_add(ours.rows, Relaxed);
                    self.progress.lock().add(ours.rows);
                    continue;
                }
                if ours.rows > 0 {
                    let condition = chunk.condition(key);
                    local.run_again(&format!("DELETE FROM {} WHERE {condition}", job.table.quoted()))?;
                }
                self.differing.lock().push((number, chunk));
            }
        }
        Ok(())
    }

    fn copy(&self, source: &mut RemoteSession, local: &mut LocalSession) -> Result<(), ToolError> {
        while !self.has_failed() {
            let next = self.differing.lock().pop();
            let Some((number, chunk)) = next else { break };
            self.chunk(&self.jobs[number], &chunk, source, local)?;
        }
        for job in self.jobs.iter().filter(|job| !job.is_kept) {
            while !self.has_failed() {
                let next = job.chunks.lock().next(source, &job.table)?;
                let Some(chunk) = next else { break };
                self.chunk(job, &chunk, source, local)?;
            }
        }
        Ok(())
    }

    fn chunk(
        &self,
        job: &Job,
        chunk: &Chunk,
        source: &mut RemoteSession,
        local: &mut LocalSession,
    ) -> Result<(), ToolError> {
        let table = &job.table;
        let columns: Vec<&Column> = table.columns.iter().filter(|c| !c.is_generated).collect();
        let mut statement = Statement::of(table, &columns);
        // A table of generated columns alone has rows, too.
        let list: Vec<String> = columns.iter().map(|column| column.exact()).collect();
        let list = if list.is_empty() { "1".to_owned() } else { list.join(", ") };
        let sql =
            format!("SELECT {list} FROM {} WHERE {}", table.quoted(), chunk.condition(&table.chunk_key));
        source.each_row(&sql, &mut |row| {
            statement.push(&columns, &row);
            if statement.text.len() >= STATEMENT {
                self.flush(&mut statement, local)?;
            }
            Ok(())
        })?;
        self.flush(&mut statement, local)
    }

    fn flush(&self, statement: &mut Statement, local: &mut LocalSession) -> Result<(), ToolError> {
        if statement.rows > 0 {
            local.run_again(&statement.text)?;
            self.copied.fetch_add(statement.rows, Relaxed);
            self.progress.lock().add(statement.rows);
        }
        statement.text.truncate(statement.head);
        statement.rows = 0;
        Ok(())
    }
}

/// An INSERT that grows.
struct Statement {
    text: String,
    /// Where the rows begin.
    head: usize,
    rows: u64,
}

impl Statement {
    fn of(table: &Table, columns: &[&Column]) -> Self {
        let names: Vec<String> = columns.iter().map(|column| column.quoted()).collect();
        let text = format!("INSERT INTO {} ({}) VALUES ", table.quoted(), names.join(", "));
        Self { head: text.len(), text, rows: 0 }
    }

    fn push(&mut self, columns: &[&Column], row: &Row) {
        self.text.push_str(if self.rows == 0 { "(" } else { ",(" });
        for (at, (column, value)) in columns.iter().zip(row).enumerate() {
            if at > 0 {
                self.text.push(',');
            }
            match value {
                None => self.text.push_str("NULL"),
                Some(value) => push_value(&mut self.text, column, value),
            }
        }
        self.text.push(')');
        self.rows += 1;
    }
}

/// Character sets in which ASCII is not ASCII.
const WIDE: [&str; 4] = ["ucs2", "utf16", "utf16le", "utf32"];

fn push_value(out: &mut String, column: &Column, value: &[u8]) {
    let is_text =
        matches!(column.class, Class::Text | Class::Long | Class::Json | Class::Bytes | Class::Other);
    let is_wide = column.collation.as_ref().is_some_and(|(charset, _)| WIDE.contains(&charset.as_str()));
    // Readable, and half as long.
    if is_text && !is_wide && value.iter().all(|b| (0x20..0x7f).contains(b)) {
        out.push('\'');
        for &byte in value {
            if byte == b'\'' {
                out.push('\'');
            }
            out.push(char::from(byte));
        }
        out.push('\'');
    } else if column.class == Class::Json {
        out.push_str("_utf8mb4 ");
        out.push_str(&literal(&Column { collation: None, class: Class::Bytes, ..column.clone() }, value));
    } else {
        out.push_str(&literal(column, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(class: Class, charset: Option<&str>, value: &[u8]) -> String {
        let column = Column {
            name: "a".into(),
            class,
            data_type: String::new(),
            is_generated: false,
            is_nullable: true,
            collation: charset.map(|c| (c.to_owned(), String::new())),
        };
        let mut out = String::new();
        push_value(&mut out, &column, value);
        out
    }

    #[test]
    fn values_are_written_so_that_they_are_stored_as_they_are() {
        assert_eq!(written(Class::Text, Some("latin1"), b"it's \\n"), "'it''s \\n'");
        assert_eq!(written(Class::Text, Some("latin1"), b"\xe9"), "_latin1 0xe9");
        assert_eq!(written(Class::Text, Some("ucs2"), b"ab"), "_ucs2 0x6162");
        assert_eq!(written(Class::Long, None, b"\0"), "0x00");
        assert_eq!(written(Class::Json, None, "\"é\"".as_bytes()), "_utf8mb4 0x22c3a922");
        assert_eq!(written(Class::Number, None, b"-1.50"), "-1.50");
        assert_eq!(written(Class::Time, None, b"0000-00-00"), "'0000-00-00'");
        assert_eq!(written(Class::Bytes, None, b""), "''");
    }
}
