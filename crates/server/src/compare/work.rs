//! Chunk by chunk through all tables, in several sessions of each server.

use super::Options;
use super::align::Aligned;
use super::pairs::Pair;
use super::report::{Report, TableReport};
use super::rows;
use crate::log_tool::ToolError;
use crate::progress::{Progress, Unit};
use crate::remote::RemoteSession;
use crate::remote::checksum::Compared;
use crate::remote::chunks::Chunk;
use env::Env;
use parking_lot::Mutex;
use std::sync::Arc;

/// What the sessions share.
struct Work<'a> {
    pairs: &'a [Pair],
    tables: Vec<Mutex<TableReport>>,
    progress: Mutex<Progress<'a>>,
    /// The first error: the others stop.
    failed: Mutex<Option<ToolError>>,
    shown: usize,
}

/// Compares all tables, and puts what differs into the report.
///
/// # Errors
/// The servers'.
pub(super) fn compare(
    env: &Arc<dyn Env>,
    aligned: Aligned,
    pairs: Vec<Pair>,
    options: &Options,
    report: &mut Report,
) -> Result<(), ToolError> {
    let total = pairs.iter().fold(0_u64, |total, pair| total.saturating_add(pair.source.rows_estimate));
    let work = Work {
        pairs: &pairs,
        tables: pairs.iter().map(|pair| Mutex::new(TableReport::of(pair.source.place()))).collect(),
        progress: Mutex::new(Progress::new(&**env, "comparing", Unit::Rows, total)),
        failed: Mutex::new(None),
        shown: options.shown,
    };
    std::thread::scope(|scope| {
        for (mut source, mut replica) in aligned.source.into_iter().zip(aligned.replica) {
            let work = &work;
            scope.spawn(move || {
                if let Err(e) = work.run(&mut source, &mut replica) {
                    work.failed.lock().get_or_insert(e);
                }
            });
        }
    });
    match work.failed.into_inner() {
        Some(error) => Err(error),
        None => {
            report.tables = work.tables.into_iter().map(Mutex::into_inner).collect();
            Ok(())
        }
    }
}

impl Work<'_> {
    fn run(&self, source: &mut RemoteSession, replica: &mut RemoteSession) -> Result<(), ToolError> {
        for (pair, table) in self.pairs.iter().zip(&self.tables) {
            let sides = Sides::of(pair);
            loop {
                if self.failed.lock().is_some() {
                    return Ok(());
                }
                let next = pair.chunks.lock().next(source, &pair.source)?;
                let Some(chunk) = next else { break };
                self.chunk(&sides, &chunk, source, replica, table)?;
            }
        }
        Ok(())
    }

    fn chunk(
        &self,
        sides: &Sides<'_>,
        chunk: &Chunk,
        source: &mut RemoteSession,
        replica: &mut RemoteSession,
        table: &Mutex<TableReport>,
    ) -> Result<(), ToolError> {
        let key = &sides.source.table.chunk_key;
        let ours = sides.source.checksum(source, key, chunk)?;
        let theirs = sides.replica.checksum(replica, key, chunk)?;
        self.progress.lock().add(ours.rows);
        if ours == theirs {
            table.lock().add(ours.rows);
            return Ok(());
        }
        let room = {
            let mut table = table.lock();
            table.add(ours.rows);
            table.differing_chunks += 1;
            self.shown.saturating_sub(table.differences.len())
        };
        if room > 0 {
            let rows = ours.rows.max(theirs.rows);
            let found = rows::differing(sides, chunk, rows, room, source, replica)?;
            let mut table = table.lock();
            table.is_cut |= found.is_cut;
            table.differences.extend(found.differences);
            // Other sessions have found some meanwhile.
            table.is_cut |= table.differences.len() > self.shown;
            table.differences.truncate(self.shown);
        } else {
            table.lock().is_cut = true;
        }
        Ok(())
    }
}

/// What is compared of a table on both servers, column for column.
pub(super) struct Sides<'a> {
    pub(super) source: Compared<'a>,
    pub(super) replica: Compared<'a>,
}

impl<'a> Sides<'a> {
    fn of(pair: &'a Pair) -> Self {
        let source = pair.columns.iter().map(|&(ours, _)| &pair.source.columns[ours]).collect();
        let replica = pair.columns.iter().map(|&(_, theirs)| &pair.replica.columns[theirs]).collect();
        Self {
            source: Compared { table: &pair.source, columns: source },
            replica: Compared { table: &pair.replica, columns: replica },
        }
    }
}
