//! The applier: does a source's event groups again, one after the other, in a session of its own.
//!
//! 1. begin   A GTID event begins a group. One that this server has already is passed over.
//! 2. rows    Row events change their tables as BINLOG statements do ([`row_events::apply`]): by
//!    row images, without SQL. They keep their timestamps and flags.
//! 3. text    A statement is run with the settings that its event says ([`statements`]), once all
//!    before it is visible; what it changes is logged as rows.
//! 4. commit  The group goes to the log under its own GTID, with the source's `server_id` and first
//!    commit time. The applier does not wait for the flush ([`pending`]): its row locks are free as
//!    soon as its place in the log is fixed, so the next group can follow.
//!
//! (A1) Groups are enqueued in the source's order, and so are in this server's log in that order.
//! (A2) A group is committed as a whole, or not at all: what a broken connection has left of one is
//!      rolled back, and the group fetched again.
//! (A3) What can't be done as the source did it stops the applier, with the group rolled back. It
//!      goes on from there when it is started again.
//! (A4) Where a source is not followed by GTIDs, each group's place in the source's log is
//!      committed with it ([`coordinates`]).
//! (A5) Rows that are not known by a primary key are looked for without locks, which may be before
//!      the enqueued transactions are in the tables: what is not found so is looked for again when
//!      these are.

use std::sync::Arc;
use std::time::Duration;

use binlog::event::{
    ChecksumAlgorithm, Decoder, EVENT_LENGTH_MAX, Event, EventHeader, EventType, FormatDescription,
    MariadbGtid, RowsEvent, RowsKind, TransactionPayloadEvent, rows_flags,
};
use binlog::gtid::Gtid;
use storage::source_position::{self, SourcePosition as StoredPosition};

use super::channel::{Channel, SourcePosition, Until};
use super::coordinates::Coordinates;
use super::error::ApplyError;
use super::pending::{PendingCommits, Reached};
use super::received::ReceivedEvent;
use crate::executor::LoggedFile;
use crate::executor::row_events::apply::{self, RowsOptions};
use crate::instance::Instance;
use crate::session::{Connection, Session};
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use rules::Rules;
use statements::StatementValues;
use temporary::SourceTemporaryTables;

mod beginning;
pub(super) mod dialect;
mod ending;
mod filtering;
mod loading;
mod members;
mod pieces;
mod portable;
mod replaced;
mod rules;
mod settings;
mod statements;
pub(crate) mod temporary;
mod texts;

/// Events of a group that are kept to do it again after a deadlock, in bytes.
const RETAINED_MAX: usize = 32 << 20;

/// What became of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Applied {
    /// More may come.
    Done,
    /// START REPLICA UNTIL: here it ends.
    UntilReached,
}

/// What a group is called at the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupName {
    Mysql(Gtid),
    Anonymous,
    Mariadb(MariadbGtid),
}

impl std::fmt::Display for GroupName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Mysql(gtid) => gtid.fmt(f),
            Self::Anonymous => f.write_str("ANONYMOUS"),
            Self::Mariadb(gtid) => gtid.fmt(f),
        }
    }
}

/// The group that is being applied.
struct Group {
    name: GroupName,
    /// This server has it, or it is to be skipped.
    is_passed_over: bool,
    /// It is to be skipped: it is logged empty.
    is_skipped: bool,
    /// BEGIN came, or stands in the GTID event.
    in_transaction: bool,
    /// Texts that change rows were among its statements.
    has_changes: bool,
    /// A temporary table was made or dropped.
    has_temporary: bool,
    /// A statement of row events has begun and not ended.
    in_rows: bool,
    /// Text of the statement whose rows come next.
    rows_text: Option<Vec<u8>>,
    /// Its events so far, to be done again; `None` once they are too many.
    kept: Option<Vec<Arc<ReceivedEvent>>>,
    kept_bytes: usize,
}

/// One channel's applier.
pub struct Applier {
    session: Session,
    instance: Arc<Instance>,
    channel: Arc<Channel>,
    decoder: Option<Decoder>,
    group: Option<Group>,
    pending: PendingCommits,
    /// Up to where groups were enqueued.
    reached: Coordinates,
    /// Where the event ends that is being applied.
    at: SourcePosition,
    /// The next groups are skipped, so many.
    skip: u64,
    rules: Rules,
    /// The number that an anonymous group got last.
    last_named: u64,
    /// What the next statement's functions return.
    values: StatementValues,
    /// What the next LOAD DATA reads.
    file: Option<LoggedFile>,
    temporary: SourceTemporaryTables,
    /// What a MariaDB said last of a statement of this group that has rows.
    annotation: Vec<u8>,
    is_mariadb: bool,
    is_mysql_5: bool,
    is_duramen: bool,
    /// 80410 for MySQL 8.4.10.
    source_version: u32,
    /// The error log says that the source logs changes as statements.
    has_warned_of_statements: bool,
}

impl Applier {
    /// An applier that goes on where the channel's transactions in this server's log end.
    ///
    /// # Errors
    /// 1040 and its like; 1201 if what the log says of the channel can't be read.
    pub fn new(instance: &Arc<Instance>, channel: &Arc<Channel>) -> Result<Self> {
        let id = instance.reserve_id();
        let mut session = instance.connect(Connection::local(id, "system user"))?;
        session.begin_applying();
        let reached = committed_position(instance, channel)?;
        let skip = channel.with(|state| {
            state.applier.process = id;
            state.progress.applying_since = 0;
            if !reached.position.file.is_empty() {
                state.progress.executed = reached.position.clone();
            }
            state.progress.mariadb_gtids = reached.gtids_text();
            std::mem::take(&mut state.skip)
        });
        Ok(Self {
            session,
            instance: instance.clone(),
            channel: channel.clone(),
            decoder: None,
            group: None,
            pending: PendingCommits::default(),
            at: reached.position.clone(),
            reached,
            skip,
            rules: Rules::of(instance, channel),
            last_named: 0,
            values: StatementValues::default(),
            file: None,
            temporary: Self::temporary_of(instance, channel),
            annotation: Vec::new(),
            is_mariadb: false,
            is_mysql_5: false,
            is_duramen: false,
            source_version: 0,
            has_warned_of_statements: false,
        })
    }

    /// What ends a wait of its session.
    pub fn interrupter(&mut self) -> impl Fn() + Send + 'static {
        let interrupt = self.session.context().interrupt.clone();
        move || interrupt.kill(storage::lock::Killed::Query)
    }

    /// The source's events begin anew behind what was committed: what there is of a group is rolled
    /// back (A2).
    ///
    /// # Errors
    /// Of the first group that was enqueued and is not in the log.
    pub fn begin_stream(&mut self) -> std::result::Result<(), ApplyError> {
        self.abandon_group();
        self.decoder = None;
        self.await_pending().map_err(|e| ApplyError::of_commit(&e))
    }

    /// Applies the next event.
    ///
    /// # Errors
    /// Why the applier stops; the group is rolled back.
    pub fn apply(&mut self, event: &Arc<ReceivedEvent>) -> std::result::Result<Applied, ApplyError> {
        self.session.context().interrupt.statement_begins();
        let outcome = self.try_event(event);
        let outcome = match outcome {
            Err(e) if is_temporary(&e) => self.again(e),
            outcome => outcome,
        };
        outcome.map_err(|e| {
            let gtid = self.group.as_ref().map(|group| group.name.to_string());
            self.abandon_group();
            // What came before it stays: it is told first if it failed too.
            let earlier = self.await_pending().err();
            match earlier {
                Some(earlier) => ApplyError::of_commit(&earlier),
                None => ApplyError::new(&e, gtid.as_deref(), event),
            }
        })
    }

    /// Nothing comes: what is durable by now is released.
    ///
    /// # Errors
    /// Of the first group that was enqueued and is not in the log.
    pub fn idle(&mut self) -> std::result::Result<(), ApplyError> {
        self.pending.collect(self.session.context()).map_err(|e| ApplyError::of_commit(&e))
    }

    /// Waits until all that was enqueued is durable.
    ///
    /// # Errors
    /// Of the first that is not.
    pub fn finish(mut self) -> std::result::Result<(), ApplyError> {
        self.abandon_group();
        self.await_pending().map_err(|e| ApplyError::of_commit(&e))
    }

    fn await_pending(&mut self) -> Result<()> {
        self.pending.await_all(self.session.context())
    }

    /// Does the group again that a deadlock or a lock wait has ended, up to its newest event.
    fn again(&mut self, first: SqlError) -> Result<Applied> {
        let retries = self.instance.globals().uint(ids::REPLICA_TRANSACTION_RETRIES);
        let mut error = first;
        for retry in 0..retries {
            let Some(kept) = self.group.as_mut().and_then(|group| group.kept.take()) else { break };
            self.abandon_group();
            if !self.channel.is_wanted(super::ReplicaThread::Applier) {
                break;
            }
            tracing::info!(channel = self.channel.name(), retry, "a transaction is applied again: {error}");
            self.session.context().interrupt.sleep(Duration::from_millis((retry * 10).min(1000)));
            let mut events = kept.into_iter();
            let outcome = events.try_fold(Applied::Done, |_, event| self.try_event(&event));
            match outcome {
                Err(e) if is_temporary(&e) => error = e,
                outcome => return outcome,
            }
        }
        Err(error)
    }

    fn abandon_group(&mut self) {
        self.group = None;
        self.values = StatementValues::default();
        self.forget_file();
        let cx = self.session.context();
        cx.rollback_all();
        cx.set_origin(None);
    }

    fn try_event(&mut self, received: &Arc<ReceivedEvent>) -> Result<Applied> {
        if let Some(group) = &mut self.group
            && let Some(kept) = &mut group.kept
        {
            group.kept_bytes += received.memory();
            if group.kept_bytes > RETAINED_MAX {
                group.kept = None;
            } else {
                kept.push(received.clone());
            }
        }
        let mut decoder = match self.decoder.take() {
            Some(decoder) => decoder,
            None => {
                let format = binlog::event::decode_format_description(&received.bytes).map_err(corrupt)?;
                self.read_version(&format);
                Decoder::new(format)
            }
        };
        let outcome = decoder
            .decode(&received.bytes)
            .map_err(corrupt)
            .and_then(|(header, event)| self.event(&decoder, &header, event, received));
        self.decoder = Some(decoder);
        outcome
    }

    fn read_version(&mut self, format: &FormatDescription) {
        self.is_mariadb = format.server_version.contains("MariaDB");
        self.is_duramen = format.server_version.contains("-duramen-");
        self.is_mysql_5 = !self.is_mariadb && format.server_version.starts_with("5.");
        self.source_version = dialect::number_of(&format.server_version);
        self.source_started(format.create_timestamp);
    }

    fn event(
        &mut self,
        decoder: &Decoder,
        header: &EventHeader,
        event: Event<'_>,
        received: &Arc<ReceivedEvent>,
    ) -> Result<Applied> {
        if self.group.is_none() && self.begins_at_until(received) {
            return Ok(Applied::UntilReached);
        }
        if received.end != 0 {
            self.at = SourcePosition { file: received.file.to_string(), offset: received.end };
        }
        match event {
            Event::Gtid(gtid) => return self.begin_gtid(header, &gtid, received),
            Event::MariadbGtid(gtid) => return self.begin_mariadb(header, &gtid, received),
            Event::TransactionPayload(payload) => {
                self.expand(&payload, decoder.format())?;
                return self.end_of_event();
            }
            Event::FormatDescription(ref format) => self.read_version(format),
            Event::Rotate(_)
            | Event::PreviousGtids(_)
            | Event::Stop
            | Event::MariadbGtidList(_)
            | Event::MariadbBinlogCheckpoint(_)
            | Event::Heartbeat(_)
            | Event::Ignorable(_) => {}
            event => {
                self.part(decoder, header, event)?;
                return self.end_of_event();
            }
        }
        if self.group.is_none() && received.end != 0 && self.at.is_after(&self.reached.position) {
            self.advance_executed_position()?;
            return self.end_of_event();
        }
        Ok(Applied::Done)
    }

    /// A part of a group.
    fn part(&mut self, decoder: &Decoder, header: &EventHeader, event: Event<'_>) -> Result<()> {
        if self.group.is_none() {
            // An old log, without GTID events.
            self.begin_group(GroupName::Anonymous, header, None)?;
        }
        let passed_over = self.group.as_ref().is_some_and(|group| group.is_passed_over);
        match event {
            Event::Query(query) => self.query(header, &query, passed_over),
            Event::MariadbQueryCompressed(query) => {
                let query = query.uncompress(EVENT_LENGTH_MAX as usize).map_err(corrupt)?;
                self.query(header, &query, passed_over)
            }
            Event::LoadQuery(load) if !passed_over => self.load(header, &load),
            Event::LoadQuery(load) => self.query(header, &load.query, true),
            Event::Xid(_) => self.end_group(passed_over),
            Event::XaPrepare(end) => self.xa_prepare(&end, passed_over),
            _ if passed_over => Ok(()),
            Event::TableMap(map) => {
                self.rules.count(&map);
                Ok(())
            }
            Event::Rows(rows) => self.rows(decoder, header, &rows),
            Event::RowsQuery(text) => {
                self.rows_text(text.sql);
                Ok(())
            }
            Event::MariadbAnnotateRows(text) => {
                self.annotation.clear();
                self.annotation.extend_from_slice(text);
                self.rows_text(text);
                Ok(())
            }
            Event::Intvar(value) => {
                self.values.intvar(&value);
                Ok(())
            }
            Event::Rand(seeds) => {
                self.values.rand(&seeds);
                Ok(())
            }
            Event::UserVar(variable) => self.values.user_variable(&variable),
            Event::LoadBlock(block) => self.load_block(&block),
            Event::LoadDelete(_) => {
                self.forget_file();
                Ok(())
            }
            Event::Unknown(body) if header.event_type == EventType::INCIDENT => Err(incident(body)),
            _ => match header.flags & binlog::event::flags::IGNORABLE {
                0 => Err(error::SLAVE_RELAY_LOG_READ_FAILURE.with(&[&format_args!(
                    "an event of type {} is not known to this version",
                    header.event_type.name()
                )])),
                _ => Ok(()),
            },
        }
    }

    fn rows_text(&mut self, text: &[u8]) {
        if self.instance.globals().bool(ids::BINLOG_ROWS_QUERY_LOG_EVENTS)
            && let Some(group) = &mut self.group
        {
            group.rows_text = Some(text.to_vec());
        }
    }

    fn expand(&mut self, payload: &TransactionPayloadEvent<'_>, format: &FormatDescription) -> Result<()> {
        let format = FormatDescription { checksum: ChecksumAlgorithm::Off, ..format.clone() };
        let mut decoder = Decoder::new(format);
        let mut events = payload.events(EVENT_LENGTH_MAX as usize).map_err(corrupt)?;
        while let Some(bytes) = events.next_event().map_err(corrupt)? {
            if self.group.is_none() {
                // What follows would be a transaction of this server's own.
                return Err(corrupt("a transaction payload with events behind the transaction's end"));
            }
            let (header, event) = decoder.decode(bytes).map_err(corrupt)?;
            self.part(&decoder, &header, event)?;
        }
        Ok(())
    }

    fn rows(&mut self, decoder: &Decoder, header: &EventHeader, rows: &RowsEvent<'_>) -> Result<()> {
        // What says that a statement ends, and has no rows: its tables were dropped or filtered.
        const DUMMY: u64 = 0x00ff_ffff;
        let is_dummy = rows.table_id == DUMMY && decoder.table(rows.table_id).is_none();
        let Some(group) = &mut self.group else { return Ok(()) };
        let cx = self.session.context();
        if !group.in_rows {
            let text = group.rows_text.take();
            cx.begin_replicated_rows(header.timestamp, rows.flags, text.as_deref());
            group.in_rows = true;
        }
        if !is_dummy {
            let map = decoder.table_of(rows).map_err(corrupt)?;
            let pending = &mut self.pending;
            let is_mariadb = self.is_mariadb;
            let checks_virtual = !is_mariadb && !self.is_duramen;
            let may_lack_defaults = is_mariadb && replaced::may_lack_defaults(&self.annotation, rows, map);
            let source =
                RowsOptions { is_mariadb, checks_virtual, may_lack_defaults, ..RowsOptions::default() };
            let outcome = match self.rules.rows_options(map, source) {
                Some(options) => {
                    // A row that is passed over would not be looked for again (A5).
                    if options.idempotent {
                        pending.await_all(cx)?;
                    }
                    let before = cx.storage_transaction().savepoint();
                    match cx.with_own_results(|cx| apply::rows(cx, map, rows, options)) {
                        Err(e) if may_be_too_early(&e) && !pending.is_empty() => {
                            cx.storage_transaction().rollback_to(before);
                            pending.await_all(cx)?;
                            cx.with_own_results(|cx| apply::rows(cx, map, rows, options))
                        }
                        outcome => outcome,
                    }
                }
                None => Ok(()),
            };
            if let Err(e) = outcome {
                cx.end_statement(false);
                group.in_rows = false;
                if !self.rules.passes_over(&e) {
                    return Err(in_event(rows.kind, map, e));
                }
                tracing::warn!(
                    channel = self.channel.name(),
                    number = e.number,
                    "an event is passed over: {e}"
                );
                return Ok(());
            }
        }
        if rows.flags & rows_flags::STMT_END != 0 {
            cx.end_statement(true);
            group.in_rows = false;
        }
        Ok(())
    }

    /// The group has all its events: it is enqueued for the log.
    fn end_group(&mut self, passed_over: bool) -> Result<()> {
        let Some(group) = &mut self.group else { return Ok(()) };
        group.in_transaction = false;
        if group.in_rows {
            group.in_rows = false;
            self.session.context().end_statement(true);
        }
        if passed_over && !group.is_skipped {
            self.reached = self.reached_now();
            self.group = None;
            // It is not told to be there before all in front of it is.
            self.await_pending()?;
            self.shown(&self.reached).show(&self.channel);
            return Ok(());
        }
        self.commit()
    }
}

fn domain_of(name: GroupName) -> u32 {
    match name {
        GroupName::Mariadb(gtid) => gtid.domain_id,
        _ => 0,
    }
}

/// An error that a row gives which the transactions before have not made or changed yet (A5).
fn may_be_too_early(e: &SqlError) -> bool {
    e.is(error::KEY_NOT_FOUND) || e.is(error::DUP_ENTRY)
}

/// Up to where the channel's transactions are in this server's log, by the source's coordinates.
///
/// # Errors
/// 1201 if what is kept of it can't be read.
pub fn committed_position(instance: &Instance, channel: &Channel) -> Result<Coordinates> {
    let kept =
        source_position::load(instance.engine().store(), channel.name()).map_err(SqlError::internal)?;
    let kept = match kept {
        None => Coordinates::default(),
        Some(bytes) => {
            Coordinates::decode(&bytes).ok_or_else(|| error::MASTER_INFO.with(&[&channel.name()]))?
        }
    };
    Ok(channel.with(|state| kept.of_source(&state.source)))
}

/// A lock was not to be had: the group can be done again.
fn is_temporary(e: &SqlError) -> bool {
    e.is(error::LOCK_WAIT_TIMEOUT) || e.is(error::LOCK_DEADLOCK)
}

/// Error 1594: the event is none, or not one that can be applied.
fn corrupt(e: impl std::fmt::Display) -> SqlError {
    error::SLAVE_RELAY_LOG_READ_FAILURE.with(&[&e])
}

/// Error 1590: the source says that its log lacks something, and why. Its form: a number of two
/// bytes, then a text after its length in one byte.
fn incident(body: &[u8]) -> SqlError {
    let (number, rest) = body.split_at_checked(2).unwrap_or((&[0, 0], &[]));
    let name = match number {
        [0, 0] => "NONE",
        [1, 0] => "LOST_EVENTS",
        _ => "UNKNOWN",
    };
    let text = rest.split_first().map_or(&[][..], |(length, text)| &text[..text.len().min((*length).into())]);
    error::SLAVE_INCIDENT.with(&[&name, &String::from_utf8_lossy(text)])
}

/// An error with the event and the table that it came from.
fn in_event(kind: RowsKind, map: &binlog::event::TableMapEvent, e: SqlError) -> SqlError {
    if e.is(error::SERVER_REPLICA_CONVERSION_FAILED) {
        return e; // it names the table itself
    }
    let kind = match kind {
        RowsKind::Write => "Write_rows",
        RowsKind::Update => "Update_rows",
        RowsKind::Delete => "Delete_rows",
    };
    let (database, table) = (String::from_utf8_lossy(&map.database), String::from_utf8_lossy(&map.table));
    let message = format!(
        "Could not execute {kind} event on table {database}.{table}; {}, Error_code: {}",
        e.message, e.number
    );
    SqlError { message, ..e }
}
