//! `duramen binlog verify`: is a log whole, and is anything missing?
//!
//! 1. bytes      checksums, lengths, `end_log_pos` (the reader, and
//!    [`Verifier::check_end_log_pos`])
//! 2. content    every event is decoded, every row to its last value ([`decode_all`])
//! 3. structure  transactions begin, end, and have the length that they say
//!    ([`group`](super::group))
//! 4. order      logical timestamps, GTIDs, Previous_gtids, Rotate to the next file
//!    ([`Verifier::order`])

use super::arguments::Arguments;
use super::group::{GroupMembership, Groups};
use super::input::{LogFile, log_files};
use super::{EXPANDED_MAX, Outcome, ToolError};
use crate::remote;
use binlog::event::{Decoder, Event, EventError, FormatDescription, GtidEvent, MariadbGtid, PurgedGtids};
use binlog::file::{FileEnd, FileError, FileReader, RawEvent};
use binlog::gtid::GtidSet;
use binlog::log::whole_groups_after;
use env::{Env, OpenMode};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The most problems that are printed for one file.
const PROBLEMS_SHOWN: u64 = 20;

pub(super) fn run(env: &Arc<dyn Env>, args: &[String]) -> Result<Outcome, ToolError> {
    let arguments = Arguments::parse("verify", args, &remote::OPTIONS, &[])?;
    let files = log_files(env, &arguments)?;
    let mut log = Log::default();
    let mut problems = 0;
    for file in &files {
        let mut reader = file.open(&**env)?;
        let mut verifier = Verifier::new(&mut log, file, &**env);
        verifier.read(&mut reader)?;
        problems += verifier.problems;
    }
    let (n, events, transactions) = (files.len(), log.events, log.transactions);
    let verdict = if problems == 0 { "sound".to_owned() } else { format!("{problems} problems") };
    println!("{n} files, {events} events, {transactions} transactions: {verdict}");
    if let Some(gtids) = log.gtids.filter(|set| !set.is_empty()) {
        println!("GTIDs up to their end: {gtids}");
    }
    Ok(if problems == 0 { Outcome::Done } else { Outcome::Bad })
}

/// What goes on from file to file.
#[derive(Default)]
struct Log {
    events: u64,
    transactions: u64,
    /// All up to here; `None` where no file said what was before it.
    gtids: Option<GtidSet>,
    /// MariaDB's: the last number of each domain and server.
    mariadb: Option<BTreeMap<(u32, u32), u64>>,
    /// What the last file's Rotate event names.
    next_file: Option<Vec<u8>>,
    /// The file being read is the one that was named.
    is_next: bool,
}

struct Verifier<'a> {
    log: &'a mut Log,
    file: &'a LogFile,
    env: &'a dyn Env,
    decoder: Decoder,
    groups: Groups,
    sequence_number: u64,
    events: u64,
    transactions: u64,
    problems: u64,
    /// GTIDs that Previous_gtids has, at this offset, and no file: the next event may say that they
    /// were set as purged.
    missing: Option<(u64, GtidSet)>,
    /// Duramen wrote the file.
    is_ours: bool,
    /// Rotate or Stop.
    closed_by: Option<&'static str>,
}

impl<'a> Verifier<'a> {
    fn new(log: &'a mut Log, file: &'a LogFile, env: &'a dyn Env) -> Self {
        let decoder = Decoder::new(FormatDescription::new("", 0));
        Self {
            log,
            file,
            env,
            decoder,
            groups: Groups::default(),
            sequence_number: 0,
            events: 0,
            transactions: 0,
            problems: 0,
            missing: None,
            is_ours: false,
            closed_by: None,
        }
    }

    fn problem(&mut self, at: u64, what: impl std::fmt::Display) {
        self.problems += 1;
        match self.problems.cmp(&PROBLEMS_SHOWN) {
            std::cmp::Ordering::Less => println!("{}: at {at}: {what}", self.file.name),
            std::cmp::Ordering::Equal => println!("{}: at {at}: {what}; more are not told", self.file.name),
            std::cmp::Ordering::Greater => {}
        }
    }

    fn read(&mut self, reader: &mut FileReader) -> Result<(), ToolError> {
        let named = self.log.next_file.take();
        self.log.is_next = named.as_deref() == Some(self.file.name.as_bytes());
        if let Some(named) = named
            && !self.log.is_next
            && self.file.path.is_some()
        {
            let named = String::from_utf8_lossy(&named).into_owned();
            self.problem(0, format_args!("the file before says that {named} comes next"));
        }
        let end = loop {
            match reader.next_event() {
                Ok(Some(event)) => self.event(event),
                Ok(None) => break Ok(()),
                Err(FileError::Event { at, source }) => break Err((at, source)),
                Err(e) => return Err(self.file.error(e)),
            }
        };
        self.end(reader, end)?;
        self.log.events += self.events;
        self.log.transactions += self.transactions;
        let (name, size) = (&self.file.name, reader.at());
        let closed = match self.closed_by {
            Some(event) => format!("closed by {event}"),
            None => "not closed".to_owned(),
        };
        let verdict =
            if self.problems == 0 { "sound".to_owned() } else { format!("{} problems", self.problems) };
        let (events, transactions) = (self.events, self.transactions);
        println!("{name}: {events} events in {size} bytes, {transactions} transactions, {closed}: {verdict}");
        self.print_cut_files(size)
    }

    /// Prints what starts of a server have cut off this file's end: what remains may be sound, but
    /// is not all.
    fn print_cut_files(&self, size: u64) -> Result<(), ToolError> {
        let Some(path) = &self.file.path else { return Ok(()) };
        let mut nth = 1;
        loop {
            let mut cut = path.clone().into_os_string();
            cut.push(if nth == 1 { ".cut".to_owned() } else { format!(".cut-{nth}") });
            let cut = PathBuf::from(cut);
            if !self.env.exists(&cut) {
                return Ok(());
            }
            let file = self.env.open(&cut, OpenMode::Read).and_then(|file| file.len());
            let len = file.map_err(|e| ToolError::io("read", &cut, e))?;
            let (name, cut) = (&self.file.name, cut.display());
            println!(
                "{name}: at {size}: a start of the server cut {len} bytes off here, which are kept in {cut}"
            );
            nth += 1;
        }
    }

    /// A note on the whole transactions after a damaged offset.
    fn groups_after(&self, from: u64) -> Result<String, ToolError> {
        let Some(path) = self.file.path.as_ref().filter(|_| !self.decoder.format().is_mariadb()) else {
            return Ok(String::new());
        };
        let file = self.env.open(path, OpenMode::Read);
        let found = file.and_then(|file| whole_groups_after(file, self.decoder.format(), from));
        let found = found.map_err(|e| ToolError::io("read", path, e))?;
        let up_to = found.last_gtid.map_or_else(String::new, |gtid| format!(", up to {gtid}"));
        Ok(match found.count {
            0 => String::new(),
            n => format!(
                "; {n} whole transactions lie behind it{up_to}: damage, unless the power was cut while they were written"
            ),
        })
    }

    fn event(&mut self, raw: RawEvent<'_>) {
        self.events += 1;
        self.check_end_log_pos(&raw);
        let mut decoder = std::mem::replace(&mut self.decoder, Decoder::new(FormatDescription::new("", 0)));
        match decode_all(&mut decoder, raw.bytes) {
            Ok(event) => self.order(&raw, &event),
            Err(e) => self.problem(raw.start, e),
        }
        self.decoder = decoder;
    }

    /// Whether the event is where it says that it is. What a source made up for a replica says
    /// nothing, nor do events that MariaDB 11.4 and later have inside transactions.
    fn check_end_log_pos(&mut self, raw: &RawEvent<'_>) {
        use binlog::event::{EventType, flags};
        let header = &raw.header;
        let elsewhere = header.flags & (flags::ARTIFICIAL | flags::RELAY_LOG) != 0
            || header.end_log_pos == 0 && self.decoder.format().is_mariadb();
        if !elsewhere && header.end_log_pos != raw.end() as u32 {
            let (says, is) = (header.end_log_pos, raw.end());
            self.problem(raw.start, format_args!("end_log_pos is {says}, but the event ends at {is}"));
        }
        if raw.start == 4 && header.event_type != EventType::FORMAT_DESCRIPTION {
            self.problem(raw.start, "the first event is no format description");
        }
        if let Some(event) = self.closed_by {
            self.problem(raw.start, format_args!("an event behind {event}"));
        }
    }

    fn order(&mut self, raw: &RawEvent<'_>, event: &Event<'_>) {
        match self.groups.advance(raw.start, raw.end(), event) {
            Ok(GroupMembership::Ended) => self.transactions += 1,
            Ok(GroupMembership::Inside | GroupMembership::Outside) => {}
            Err(what) => self.problem(raw.start, what),
        }
        self.judge_missing(event);
        match event {
            Event::FormatDescription(format) => self.is_ours = format.server_version.contains("-duramen-"),
            Event::Gtid(gtid) => self.gtid(raw.start, gtid),
            Event::PreviousGtids(previous) => self.previous(raw.start, &previous.0),
            Event::MariadbGtid(gtid) => self.mariadb_gtid(raw.start, gtid.gtid),
            Event::MariadbGtidList(list) => self.mariadb_list(raw.start, &list.gtids),
            Event::Rotate(rotate) if raw.header.timestamp != 0 || raw.header.end_log_pos != 0 => {
                self.closed_by = Some("Rotate");
                self.log.next_file = Some(rotate.file_name.to_vec());
            }
            Event::Stop => self.closed_by = Some("Stop"),
            _ => {}
        }
    }

    fn gtid(&mut self, at: u64, event: &GtidEvent) {
        let (last, sequence) = (event.last_committed, event.sequence_number);
        if sequence != 0 && last >= sequence {
            self.problem(at, format_args!("last_committed {last} is not below sequence_number {sequence}"));
        }
        if sequence != 0 && sequence <= self.sequence_number {
            let before = self.sequence_number;
            self.problem(at, format_args!("sequence_number {sequence} comes behind {before}"));
        }
        self.sequence_number = sequence;
        let (Some(gtid), Some(all)) = (event.gtid, &mut self.log.gtids) else { return };
        let is_there = all.contains(gtid);
        all.add(gtid);
        if is_there {
            self.problem(at, format_args!("GTID {gtid} was there before"));
        }
    }

    fn previous(&mut self, at: u64, previous: &GtidSet) {
        if let Some(all) = &self.log.gtids
            && all != previous
        {
            let (mut missing, mut more) = (previous.clone(), all.clone());
            missing.subtract(all);
            more.subtract(previous);
            if !missing.is_empty() {
                self.missing = Some((at, missing));
            }
            if !more.is_empty() {
                let more = one_line(&more);
                self.problem(at, format_args!("the files before have {more}, which Previous_gtids lacks"));
            }
        }
        self.log.gtids = Some(previous.clone());
    }

    /// Whether GTIDs that came before this file, and are in none, are a gap. Duramen's logs say
    /// which were set as purged. For others nothing shows that, but a Rotate event that names this
    /// file shows that no file is missing.
    fn judge_missing(&mut self, event: &Event<'_>) {
        let Some((at, mut missing)) = self.missing.take() else { return };
        let purged = match event {
            Event::Ignorable(body) => PurgedGtids::decode(body).ok().flatten(),
            _ => None,
        };
        let name = &self.file.name;
        let mut set = GtidSet::new();
        if let Some(PurgedGtids(purged)) = purged {
            set = missing.clone();
            missing.subtract(&purged);
            set.subtract(&missing);
        } else if !self.is_ours && self.log.is_next {
            set = std::mem::take(&mut missing);
        }
        if !set.is_empty() {
            println!("{name}: at {at}: gtid_purged was set: {} are in no file", one_line(&set));
        }
        if !missing.is_empty() {
            self.problem(at, format_args!("a gap: the files before lack {}", one_line(&missing)));
        }
    }

    fn mariadb_gtid(&mut self, at: u64, gtid: MariadbGtid) {
        let Some(last) = &mut self.log.mariadb else { return };
        let before = last.insert((gtid.domain_id, gtid.server_id), gtid.sequence).unwrap_or(0);
        if before >= gtid.sequence {
            self.problem(at, format_args!("GTID {gtid} comes behind number {before}"));
        }
    }

    fn mariadb_list(&mut self, at: u64, list: &[MariadbGtid]) {
        let list: BTreeMap<_, _> = list.iter().map(|g| ((g.domain_id, g.server_id), g.sequence)).collect();
        if self.log.mariadb.as_ref().is_some_and(|known| *known != list) {
            self.problem(at, "a gap: the GTID list is not what the files before end with");
        }
        self.log.mariadb = Some(list);
    }

    /// Tells how the file ends, if not as a closed one does.
    fn end(&mut self, reader: &mut FileReader, end: Result<(), (u64, EventError)>) -> Result<(), ToolError> {
        let (at, in_use) = (reader.at(), reader.in_use());
        let whole = self.groups.open().unwrap_or(at);
        let hint = if in_use {
            "the file was not closed: a crash, or a server that is writing it, leaves such an end, and a start of the \
             server cuts it"
        } else {
            "the file counts as closed"
        };
        let failed = |e| self.file.error(e);
        self.judge_missing(&Event::Stop);
        if self.events == 0 {
            self.problem(at, "no format description, and no other event");
        }
        if let Err((at, what)) = end {
            let after = self.groups_after(whole)?;
            self.problem(at, format_args!("{what}; whole up to {whole} ({hint}){after}"));
            return Ok(());
        }
        if reader.end() == Some(FileEnd::Zeros) {
            let bytes = reader.bytes_after_zeros().map_err(failed)?;
            if bytes > 0 {
                let after = self.groups_after(whole)?;
                self.problem(
                    at,
                    format_args!(
                        "no event, and {bytes} bytes behind it; whole up to {whole} ({hint}){after}"
                    ),
                );
            } else if in_use && whole == at {
                println!("{}: at {at}: zeros up to the end, space made ahead: {hint}", self.file.name);
            } else if !in_use {
                self.problem(at, format_args!("zeros up to the end; {hint}"));
            }
        }
        if whole < at {
            self.problem(
                at,
                format_args!("the file ends inside a transaction; whole up to {whole} ({hint})"),
            );
        }
        Ok(())
    }
}

fn one_line(set: &GtidSet) -> String {
    set.to_string().replace('\n', "")
}

/// Decodes an event, and all that is in it.
fn decode_all<'a>(decoder: &mut Decoder, bytes: &'a [u8]) -> Result<Event<'a>, EventError> {
    let (header, event) = decoder.decode(bytes)?;
    decoder.walk(&header, &event, EXPANDED_MAX, |decoder, _, event, _| decode_values(decoder, event))?;
    Ok(event)
}

fn decode_values(decoder: &Decoder, event: &Event<'_>) -> Result<(), EventError> {
    match event {
        Event::MariadbQueryCompressed(query) => query.uncompress(EXPANDED_MAX).map(drop),
        Event::Rows(rows) if rows.columns > 0 => {
            let table = decoder.table_of(rows)?;
            let bytes = rows.rows.bytes(EXPANDED_MAX)?;
            for change in rows.iter(table, &bytes)? {
                let change = change?;
                for image in [change.before, change.after].into_iter().flatten() {
                    image.fields().try_for_each(|field| field.value().map(drop))?;
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
