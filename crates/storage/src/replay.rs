//! Crash recovery: the log after the store's checkpoint is applied to the store again.
//!
//! The log has cut what was incomplete; each remaining group is a committed transaction. Its row
//! events go through the same functions as when they were made ([`crate::schema::row_changes`],
//! into a [`WriteSet`]), and the result is written at the group's position, so that the store
//! becomes what it was, version for version. DDL goes to the catalog, which says what that changes
//! in its own trees.
//!
//! The target is asked for tables as they are at that place of the log: it applies each DDL
//! statement when it comes.
//!
//! A row event may lack columns (`binlog_row_image`): they are those of the row as it was, which
//! the store has, as of the group before, since groups come in order and the checkpoint holds
//! nothing after its position.
//!
//! A table that a group can't be applied to is set aside by the target (there is no such table, or
//! its rows are others), and its row events are stepped over from then on: everything else goes on.
//! Damage that concerns more than one table stops replay.
//!
//! (Z1) A group is written to the store when all its events were read and understood, or not at
//!      all.
//! (Z2) Nothing here depends on anything but the log, the store as of its checkpoint, and the
//!      target's catalog, which came from them.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use binlog::event::{
    EVENT_LENGTH_MAX, Event, FormatDescription, QueryEvent, RowChange, RowsEvent, SourcePositionEvent,
    TableMapEvent, TransactionPayloadEvent, decode,
};
use binlog::log::{Examined, Log, LogError, ReplayedEvent};
use binlog::row::{RowError, RowImage, RowImageBuilder};
use binlog::{FileNumber, LogPosition};
use parking_lot::Mutex;

use crate::batch::WriteBatch;
use crate::entry::{TreeId, Value};
use crate::error::StoreError;
use crate::layout::Layouts;
use crate::prepared::{self, Content, Xid};
use crate::schema::{KeyPart, Row, TableSchema, row_changes};
use crate::source_position::SourcePosition;
use crate::store::Store;
use crate::write_set::{Mark, WriteSet};

/// Why the log could not be replayed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ReplayError {
    /// The log's reason.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The store's reason.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A group means nothing to this server.
    #[error("the transaction that ends at {} can't be replayed: {what}", place(*position, file.as_deref()))]
    Event {
        /// The group's end.
        position: LogPosition,
        /// The name of its file, where it is known.
        file: Option<String>,
        /// What is wrong with it.
        #[source]
        what: Cause,
    },
    /// A statement would mean nothing to this server, which has changed nothing yet.
    #[error(
        "the transaction that ends at {file}:{} can't be replayed: {what}. Nothing was changed. Start the version that \
         wrote it, or restore a backup; `duramen repair` makes a new data directory of what can be read",
        position.offset()
    )]
    Rehearsed {
        /// The group's end.
        position: LogPosition,
        /// The name of its file.
        file: String,
        /// What is wrong with it.
        #[source]
        what: Cause,
    },
}

/// Why an event can't be replayed: an error of the layers below or of the target, in its own type,
/// or a text.
#[derive(Debug, Clone)]
pub struct Cause(Arc<dyn Error + Send + Sync>);

impl Cause {
    /// A cause that has no type of its own.
    pub fn text(what: impl Into<String>) -> Self {
        Self(Arc::from(Box::<dyn Error + Send + Sync>::from(what.into())))
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Cause {
    fn from(error: E) -> Self {
        Self(Arc::new(error))
    }
}

impl Deref for Cause {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

fn place(position: LogPosition, file: Option<&str>) -> String {
    match file {
        Some(file) => format!("{file}:{}", position.offset()),
        None => format!("binary log position {position}"),
    }
}

impl ReplayError {
    /// A group that means nothing to this server, and why; `position` is its end.
    pub fn event(position: LogPosition, what: impl Into<Cause>) -> Self {
        Self::Event { position, file: None, what: what.into() }
    }

    /// With the name of the log file in it, which `name` gives.
    fn in_file(mut self, name: impl FnOnce(FileNumber) -> String) -> Self {
        if let Self::Event { position, file, .. } = &mut self {
            file.get_or_insert_with(|| name(position.file()));
        }
        self
    }
}

/// What the catalog does during replay.
pub trait ReplayTarget {
    /// Called first: the store is as of its checkpoint. The target reads its catalog.
    ///
    /// # Errors
    /// What can't be read: it stops the start.
    fn begin(&mut self, store: &Arc<Store>) -> Result<(), ReplayError>;

    /// A DDL statement of the moment `timestamp` (seconds since 1970) that was committed at
    /// `position`: adds to `batch` what it changes in trees, and knows the new definitions from now
    /// on. Everything before `position` is in the store.
    ///
    /// # Errors
    /// What can't be done: it stops the start.
    fn ddl(
        &mut self,
        query: &QueryEvent<'_>,
        timestamp: u32,
        position: LogPosition,
        batch: &mut WriteBatch,
    ) -> Result<(), Cause>;

    /// The table's schema at this place of the log; `None` if there is no such table, or if it is
    /// set aside.
    fn table(&mut self, database: &str, name: &str) -> Option<Arc<TableSchema>>;

    /// The table can't follow the log at the group that ends at `position`, for this reason: it is
    /// out of use from now on, and `batch` says so to the next start. A table that is set aside
    /// already stays so.
    fn set_aside(
        &mut self,
        database: &str,
        name: &str,
        reason: &str,
        position: LogPosition,
        batch: &mut WriteBatch,
    );

    /// What the table's rows were before instant ALTERs.
    fn layouts(&mut self, schema: &TableSchema) -> Option<Arc<Layouts>>;

    /// A row that was inserted or changed: for counters that go by rows, as AUTO_INCREMENT does.
    fn row_seen(&mut self, schema: &TableSchema, after: &[u8]);

    /// The checkpoint's notes as of what was replayed so far: a long replay makes checkpoints of
    /// its own. See [`crate::engine::Engine::set_notes_source`].
    fn notes(&self) -> Vec<u8>;
}

/// What a replay did.
#[derive(Debug, Clone, Default)]
pub struct Replayed {
    /// Where it began: the store's checkpoint.
    pub from: LogPosition,
    /// Groups applied.
    pub groups: u64,
    /// Rows changed.
    pub rows: u64,
    /// Bytes of events read.
    pub bytes: u64,
}

/// Applies to the store what it lacks of the log, which goes back to `log_start`.
pub(crate) fn replay(
    log: &Log,
    log_start: LogPosition,
    store: &Arc<Store>,
    target: &mut dyn ReplayTarget,
) -> Result<(Replayed, BTreeMap<Xid, Content>), ReplayError> {
    let from = store.checkpoint_position();
    let damaged = || ReplayError::event(from, Cause::text("a prepared transaction is damaged"));
    let prepared = prepared::load(store, from).map_err(|e| e.map_or_else(damaged, ReplayError::Store))?;
    let notes = Arc::new(Mutex::new(Vec::new()));
    let noted = notes.clone();
    store.set_notes_source(move |_| noted.lock().clone());
    let done = Replayed { from, ..Replayed::default() };
    let mut replay = Replay { store, target, group: Group::default(), prepared, notes, done };
    let name = |number| log.file_name(number);
    log.replay(from.max(log_start), &mut |event| replay.event(&event).map_err(|e| e.in_file(name)))?;
    if replay.done.groups > 0 {
        tracing::info!(done = ?replay.done, "binary log replayed");
    }
    Ok((replay.done, replay.prepared))
}

/// Gives the statements that [`replay`] will do again to `statement`, before anything is changed.
pub(crate) fn rehearse(
    log: &Examined,
    tables: LogPosition,
    statement: &mut dyn FnMut(&QueryEvent<'_>, u32, LogPosition) -> Result<(), Cause>,
) -> Result<(), ReplayError> {
    let log_start = log.recovered.reset.map_or(LogPosition::ZERO, |r| LogPosition::new(r.first, 0));
    log.statements(tables.max(log_start), &mut |query, timestamp, position| {
        if is_bracket(&query.sql) || query.sql.starts_with(b"XA ") {
            return Ok(());
        }
        let refused = |what| {
            let file = log.file_name(position.file());
            ReplayError::Rehearsed { position, file, what }
        };
        statement(query, timestamp, position).map_err(refused)
    })
}

struct Replay<'a> {
    store: &'a Arc<Store>,
    target: &'a mut dyn ReplayTarget,
    group: Group,
    /// XA transactions that are prepared at this place of the log.
    prepared: BTreeMap<Xid, Content>,
    /// What the store notes if it freezes its memtable at the end of the next write.
    notes: Arc<Mutex<Vec<u8>>>,
    done: Replayed,
}

/// A table that rows are in.
struct Mapped {
    map: TableMapEvent,
    schema: Arc<TableSchema>,
    layouts: Option<Arc<Layouts>>,
}

/// What the group being read does.
#[derive(Default)]
struct Group {
    /// `None`: it is set aside.
    tables: HashMap<u64, Option<Mapped>>,
    /// Records for the next start which tables were set aside here.
    aside: WriteBatch,
    writes: WriteSet,
    ddl: Option<WriteBatch>,
    /// It ends with XA PREPARE.
    prepares: Option<Xid>,
    /// It is XA COMMIT (true) or ROLLBACK.
    finishes: Option<(Xid, bool)>,
    /// Keys that its rows have, and its tables: what it locks if it is prepared.
    locks: Vec<(TreeId, Vec<u8>)>,
    named: Vec<(String, String)>,
    /// Where it ends in the log of a source.
    source_position: Option<SourcePosition>,
}

impl Replay<'_> {
    fn event(&mut self, replayed: &ReplayedEvent<'_>) -> Result<(), ReplayError> {
        let position = replayed.position;
        self.done.bytes += replayed.event.bytes.len() as u64;
        let event = decode(replayed.event.bytes, replayed.event.fde);
        let outcome = event.map_err(Cause::from).and_then(|event| match event {
            Event::TransactionPayload(payload) => self.expand(&payload, replayed.event.fde, position),
            event => self.understand(event, timestamp_of(replayed.event.bytes), position),
        });
        outcome.map_err(|what| ReplayError::event(position, what))?;
        if replayed.is_last { self.finish(position) } else { Ok(()) }
    }

    /// The events that were compressed into one.
    fn expand(
        &mut self,
        payload: &TransactionPayloadEvent<'_>,
        fde: &FormatDescription,
        position: LogPosition,
    ) -> Result<(), Cause> {
        let format = TransactionPayloadEvent::inner_format(fde);
        let mut events = payload.events(EVENT_LENGTH_MAX as usize)?;
        while let Some(bytes) = events.next_event()? {
            self.understand(decode(bytes, &format)?, timestamp_of(bytes), position)?;
        }
        Ok(())
    }

    fn understand(&mut self, event: Event<'_>, timestamp: u32, position: LogPosition) -> Result<(), Cause> {
        match event {
            Event::TableMap(map) => self.map(map, position),
            Event::Rows(rows) => self.rows(&rows, position),
            Event::Query(query) if is_bracket(&query.sql) => Ok(()),
            Event::Query(query) if query.sql.starts_with(b"XA ") => {
                let (word, commit) =
                    if query.sql.starts_with(XA_COMMIT) { (XA_COMMIT, true) } else { (XA_ROLLBACK, false) };
                let xid = query.sql.strip_prefix(word).and_then(Xid::parse);
                self.group.finishes =
                    Some((xid.ok_or_else(|| Cause::text("an unknown XA statement"))?, commit));
                Ok(())
            }
            Event::XaPrepare(end) => {
                if !end.one_phase {
                    let (gtrid, bqual) = (end.gtrid.to_vec(), end.bqual.to_vec());
                    self.group.prepares = Some(Xid { format: end.format_id as u32, gtrid, bqual });
                }
                Ok(())
            }
            Event::Query(query) => {
                if self.group.ddl.is_some() || !self.group.writes.is_empty() {
                    return Err(Cause::text("a statement among others"));
                }
                let mut batch = WriteBatch::new();
                self.target.ddl(&query, timestamp, position, &mut batch)?;
                self.group.ddl = Some(batch);
                Ok(())
            }
            Event::Ignorable(body) => {
                let position = SourcePositionEvent::decode(body)?;
                self.group.source_position = position
                    .map(|event| SourcePosition::of_event(&event))
                    .or(self.group.source_position.take());
                Ok(())
            }
            Event::Gtid(_) | Event::Xid(_) | Event::RowsQuery(_) => Ok(()),
            _ => Err(Cause::text("an event that this server does not write")),
        }
    }

    fn map(&mut self, map: TableMapEvent, position: LogPosition) -> Result<(), Cause> {
        let (database, table) = (utf8(&map.database)?, utf8(&map.table)?);
        let Some(schema) = self.target.table(database, table) else {
            let reason = "the binary log has rows of it, and there is no such table";
            self.target.set_aside(database, table, reason, position, &mut self.group.aside);
            self.group.tables.insert(map.table_id, None);
            return Ok(());
        };
        // Signs and collations are optional in a table map; codes and sizes say how the rows lie.
        let layout =
            |types: &[binlog::row::ColumnType]| types.iter().map(|t| (t.code, t.meta)).collect::<Vec<_>>();
        if layout(&map.columns) != layout(schema.types()) {
            let reason = "its rows in the binary log have other columns";
            self.target.set_aside(database, table, reason, position, &mut self.group.aside);
            self.group.tables.insert(map.table_id, None);
            return Ok(());
        }
        self.group.named.push((database.to_owned(), table.to_owned()));
        let layouts = self.target.layouts(&schema);
        self.group.tables.insert(map.table_id, Some(Mapped { map, schema, layouts }));
        Ok(())
    }

    fn rows(&mut self, event: &RowsEvent<'_>, position: LogPosition) -> Result<(), Cause> {
        let table = self.group.tables.get(&event.table_id);
        let table = table.ok_or_else(|| Cause::text("rows of a table that is not mapped"))?;
        let Some(table) = table else { return Ok(()) };
        let schema = table.schema.clone();
        if let Err(what) = self.rows_of_table(event) {
            let reason = format!("its rows in the binary log can't be applied: {what}");
            self.target.set_aside(&schema.database, &schema.name, &reason, position, &mut self.group.aside);
            self.group.tables.insert(event.table_id, None);
        }
        Ok(())
    }

    /// Every error is one of this table alone: the event's checksum was right.
    fn rows_of_table(&mut self, event: &RowsEvent<'_>) -> Result<(), Cause> {
        let Some(Some(table)) = self.group.tables.get(&event.table_id) else { return Ok(()) };
        let (map, schema) = (&table.map, &table.schema);
        let bytes = event.rows.bytes(EVENT_LENGTH_MAX as usize)?;
        for row in event.iter(map, &bytes)? {
            let row = row?;
            let whole = whole_rows(self.store, &self.group.writes, table, &row)?;
            let (before, after) = match &whole {
                Some((before, after)) => (Some(&before[..]), after.as_deref()),
                None => (full_row(row.before)?, full_row(row.after)?),
            };
            let old = before.map(|image| schema.keys(image)).transpose()?;
            let new = after.map(|image| schema.keys(image)).transpose()?;
            for keys in [&old, &new].into_iter().flatten() {
                self.group.locks.push((schema.primary.tree(), keys.primary().to_vec()));
                let unique = schema.indexes().enumerate().skip(1);
                let unique = unique.filter_map(|(n, index)| Some((index.tree(), keys.unique(n)?.to_vec())));
                self.group.locks.extend(unique);
            }
            let before = before.zip(old.as_ref()).map(|(image, keys)| Row { image, keys });
            let after = after.zip(new.as_ref()).map(|(image, keys)| Row { image, keys });
            row_changes(schema, before, after, &mut self.group.writes);
            if let Some(after) = after {
                self.target.row_seen(schema, after.image);
            }
            self.done.rows += 1;
        }
        Ok(())
    }

    /// The group is complete: it goes to the store at its position (Z1).
    fn finish(&mut self, position: LogPosition) -> Result<(), ReplayError> {
        let group = std::mem::take(&mut self.group);
        let missing = || ReplayError::event(position, Cause::text("no such XA transaction is prepared"));
        let batch = match (group.prepares, group.finishes) {
            (Some(xid), _) => {
                let content = Content::new(group.writes.to_batch(), group.locks, group.named);
                let records = content.record(&xid);
                self.prepared.insert(xid, content);
                records
            }
            (None, Some((xid, commit))) => {
                self.prepared.remove(&xid).ok_or_else(missing)?.finish(&xid, commit)
            }
            (None, None) => {
                let mut batch = group.writes.to_batch();
                if let Some(ddl) = &group.ddl {
                    // CREATE TABLE .. START TRANSACTION, and its rows.
                    batch.append(ddl);
                }
                batch
            }
        };
        let mut batch = batch;
        if let Some(position) = &group.source_position {
            position.record(&mut batch);
        }
        if !group.aside.is_empty() {
            batch.append(&group.aside);
        }
        self.store.admit(batch.size())?;
        *self.notes.lock() = self.target.notes();
        self.store.write(&batch, position);
        self.done.groups += 1;
        Ok(())
    }
}

const XA_COMMIT: &[u8] = b"XA COMMIT ";
const XA_ROLLBACK: &[u8] = b"XA ROLLBACK ";

/// An event's timestamp, seconds since 1970.
fn timestamp_of(event: &[u8]) -> u32 {
    event.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// `BEGIN` and `COMMIT` around row events mean nothing here, nor do `XA START` and `XA END`.
fn is_bracket(sql: &[u8]) -> bool {
    [&b"BEGIN"[..], b"COMMIT"].iter().any(|word| sql.eq_ignore_ascii_case(word))
        || [&b"XA START "[..], b"XA END "].iter().any(|start| sql.starts_with(start))
}

fn utf8(name: &[u8]) -> Result<&str, Cause> {
    std::str::from_utf8(name).map_err(|e| Cause::text(format!("a table's name is no UTF-8: {e}")))
}

/// A row as it was, and as it became unless it went.
type WholeRows = (Value, Option<Vec<u8>>);

/// A row as it was and as it became, if the log has not all of it (`binlog_row_image`): the row as
/// it was is what the group has written under its primary key, or the store as of the group before.
fn whole_rows(
    store: &Store,
    writes: &WriteSet,
    table: &Mapped,
    row: &RowChange<'_>,
) -> Result<Option<WholeRows>, Cause> {
    let lacks = |image: &RowImage<'_>| image.fields().count() < image.types().len();
    let Some(before) = &row.before else { return Ok(None) };
    if !lacks(before) && !row.after.as_ref().is_some_and(lacks) {
        return Ok(None);
    }
    let primary = &table.schema.primary;
    let no_key = || Cause::text("a row image lacks the primary key");
    let part = |part: &KeyPart| before.field(part.column).map(|field| field.raw).ok_or_else(no_key);
    let values = primary.parts().iter().map(part).collect::<Result<Vec<_>, _>>()?;
    let mut key = Vec::new();
    primary.encode_values(&values, &mut key)?;
    let found = match writes.get(primary.tree(), &key, Mark::NOW) {
        Some(own) => own.value().map(Value::copied),
        None => match store.latest(primary.tree(), &key)? {
            Some((position, Some(stored))) => match &table.layouts {
                Some(layouts) => Some(layouts.upgrade(position, &stored)?.unwrap_or(stored)),
                None => Some(stored),
            },
            _ => None,
        },
    };
    let found = found.ok_or_else(|| Cause::text("a row that is changed is not there"))?;
    let stored = RowImage::full(table.schema.types(), &found)?;
    if before.fields().any(|field| stored.field(field.column).map(|f| f.raw) != Some(field.raw)) {
        return Err(Cause::text("a row that is changed is another one"));
    }
    let after = row.after.as_ref().map(|after| overlay(&stored, after)).transpose()?;
    Ok(Some((found, after)))
}

/// A whole row with other values for some columns.
fn overlay(row: &RowImage<'_>, changed: &RowImage<'_>) -> Result<Vec<u8>, RowError> {
    let mut out = Vec::with_capacity(row.bytes().len() + changed.bytes().len());
    let mut builder = RowImageBuilder::new(row.types(), &mut out);
    let mut changed = changed.fields().peekable();
    for field in row.fields() {
        let new = changed.next_if(|new| new.column == field.column);
        builder.push_raw(new.map_or(field.raw, |new| new.raw))?;
    }
    builder.finish()?;
    Ok(out)
}

/// The image's bytes; rows are stored as full images, and so are they logged.
fn full_row<'a>(image: Option<RowImage<'a>>) -> Result<Option<&'a [u8]>, Cause> {
    match image {
        Some(image) if image.fields().count() < image.types().len() => {
            Err(Cause::text("a row image is not full"))
        }
        image => Ok(image.map(|image| image.bytes())),
    }
}

impl fmt::Display for Replayed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} transactions, {} rows, {} bytes of log from {}",
            self.groups, self.rows, self.bytes, self.from
        )
    }
}
