//! `duramen binlog cut`: the part of a log between two points, as a file of its own.
//!
//! The file has the format description of the first one read, Previous_gtids that name all before
//! the part, the part's transactions, and Stop. Events are moved, not changed: `end_log_pos` and
//! checksum are those of their new offsets. After the first file read, logical timestamps are
//! raised, so that they grow on.

use super::arguments::{Arguments, Takes};
use super::input::{LogFile, log_files, opens_group};
use super::output::NewFile;
use super::point::{Side, UNTIL, Until};
use super::transactions::{WalkItem, walk};
use super::{Outcome, ToolError};
use binlog::event::{
    ChecksumAlgorithm, Event, EventHeader, EventOrigin, EventType, FormatDescription, GtidEvent, MAGIC,
    PreviousGtids, StopEvent, append_event, decode, decode_format_description, flags, move_event,
};
use binlog::file::{FileError, RawEvent};
use binlog::gtid::GtidSet;
use env::Env;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

const OPTIONS: [Takes; 6] = [
    Takes::Value("output"),
    Takes::Value("from-position"),
    Takes::Value("from-gtid"),
    UNTIL[0],
    UNTIL[1],
    UNTIL[2],
];

pub(super) fn run(env: &Arc<dyn Env>, args: &[String]) -> Result<Outcome, ToolError> {
    let arguments = Arguments::parse("cut", args, &OPTIONS, &[("-o", "output")])?;
    let files = log_files(env, &arguments)?;
    let Some(path) = arguments.value("output").map(Path::new) else {
        return Err(arguments.wrong("--output says which file to make".to_owned()));
    };
    let until = Until::of(&arguments)?;
    let from = From { position: arguments.number("from-position")?, gtid: arguments.gtids("from-gtid")? };
    let made = Cut::new(&**env, path, from, until).and_then(|mut cut| {
        files.iter().try_for_each(|file| cut.add(&**env, file))?;
        cut.finish()
    });
    match made {
        Ok(told) => println!("{}: {told}", path.display()),
        Err(error) => {
            // What is there is no log file yet; one that was there before is kept.
            let is_ours = !matches!(&error, ToolError::Io { action: "make", .. });
            if is_ours && let Err(e) = env.remove_file(path) {
                eprintln!("duramen binlog cut: can't remove '{}': {e}", path.display());
            }
            return Err(error);
        }
    }
    Ok(Outcome::Done)
}

/// Where the part begins.
struct From {
    /// In the first file.
    position: Option<u64>,
    gtid: Option<GtidSet>,
}

struct Cut<'a> {
    env: &'a dyn Env,
    out: NewFile,
    from: From,
    until: Until,
    /// The format of the first file; `None` before it.
    format: Option<FormatDescription>,
    /// Every GTID before the part.
    previous: GtidSet,
    /// The part's first transaction was found.
    begun: bool,
    /// And its last.
    over: bool,
    /// Added to the logical timestamps of this file.
    shift: u64,
    last_sequence: u64,
    transactions: u64,
    last_origin: EventOrigin,
}

impl<'a> Cut<'a> {
    fn new(env: &'a dyn Env, path: &Path, from: From, until: Until) -> Result<Self, ToolError> {
        let mut out = NewFile::create(env, path)?;
        out.append(&MAGIC)?;
        let begun = from.position.is_none() && from.gtid.is_none();
        Ok(Self {
            env,
            out,
            from,
            until,
            format: None,
            previous: GtidSet::new(),
            begun,
            over: false,
            shift: 0,
            last_sequence: 0,
            transactions: 0,
            last_origin: EventOrigin::default(),
        })
    }

    /// Adds what is wanted of a file: once to learn which transactions those are, once to take
    /// them.
    fn add(&mut self, env: &dyn Env, file: &LogFile) -> Result<(), ToolError> {
        if self.over {
            return Ok(());
        }
        if file.path.is_none() {
            return Err(ToolError::Refused("a pipe can't be cut: files are read twice".into()));
        }
        let (mut first, mut end) = (None, 0);
        let (mut begun, mut over) = (self.begun, false);
        let mut before = GtidSet::new();
        let is_first_file = self.format.is_none();
        let walked = walk(env, file, &mut |item| {
            let WalkItem::Transaction(transaction) = item else { return Ok(ControlFlow::Continue(())) };
            if !begun {
                let mut this = GtidSet::new();
                transaction.name.add_to(&mut this);
                begun = self.from.position.is_some_and(|from| is_first_file && transaction.start >= from)
                    || self.from.gtid.as_ref().is_some_and(|from| this.is_subset(from) && !this.is_empty());
            }
            let side = self.until.side(file, transaction);
            if side == Side::After {
                over = true;
                return Ok(ControlFlow::Break(()));
            }
            if begun {
                first.get_or_insert(transaction.start);
                end = transaction.end;
            } else {
                transaction.name.add_to(&mut before);
            }
            over = side == Side::Last;
            Ok(if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        self.over = over || self.until.ends_with(file);
        if let (true, Some(previous)) = (is_first_file, &walked.previous) {
            self.previous = previous.clone();
        }
        if !self.begun {
            self.previous.union(&before);
        }
        self.begun = begun;
        match first {
            Some(first) => self.take(file, first, end),
            None if is_first_file => self.take(file, u64::MAX, 0),
            None => Ok(()),
        }
    }

    /// Takes the events from `first` to `end`.
    fn take(&mut self, file: &LogFile, first: u64, end: u64) -> Result<(), ToolError> {
        let mut reader = file.open(self.env)?;
        self.shift = self.last_sequence;
        loop {
            let raw = match reader.next_event() {
                Ok(Some(raw)) => raw,
                Ok(None) => return Ok(()),
                Err(e) => return Err(file.error(e)),
            };
            if raw.header.event_type == EventType::FORMAT_DESCRIPTION {
                self.header(file, &raw)?;
            }
            if raw.start >= first && raw.start < end {
                self.event(file, &raw)?;
            }
            if raw.end() >= end && self.has_header() {
                return Ok(());
            }
        }
    }

    fn has_header(&self) -> bool {
        self.format.is_some()
    }

    /// The first file's format description and our Previous_gtids; those of later files must agree.
    fn header(&mut self, file: &LogFile, raw: &RawEvent<'_>) -> Result<(), ToolError> {
        let broken = |source| file.error(FileError::Event { at: raw.start, source });
        let format = decode_format_description(raw.bytes).map_err(broken)?;
        if format.is_mariadb() {
            return Err(ToolError::Refused(format!("{}: files of MariaDB are not cut", file.name)));
        }
        match &self.format {
            None => {
                let mut bytes = raw.bytes.to_vec();
                // Closed, which the checksum does not count.
                bytes[EventHeader::FLAGS_OFFSET] &= !(flags::BINLOG_IN_USE as u8);
                self.out.append(&bytes)?;
                self.last_origin = origin(raw);
                self.append_artificial(&PreviousGtids(self.previous.clone()), format.checksum)?;
                self.format = Some(format);
                Ok(())
            }
            Some(first) if first.checksum == format.checksum => Ok(()),
            Some(_) => Err(ToolError::Refused(format!(
                "{}: the files differ in their checksums; cut them one by one",
                file.name
            ))),
        }
    }

    fn append_artificial(
        &mut self,
        event: &impl binlog::event::EncodeEvent,
        checksum: ChecksumAlgorithm,
    ) -> Result<(), ToolError> {
        let mut bytes = Vec::new();
        append_event(&mut bytes, event, self.last_origin, self.out.len(), checksum);
        self.out.append(&bytes)
    }

    fn event(&mut self, file: &LogFile, raw: &RawEvent<'_>) -> Result<(), ToolError> {
        let broken = |source| file.error(FileError::Event { at: raw.start, source });
        let Some(format) = &self.format else { return Ok(()) };
        let mut bytes = raw.bytes.to_vec();
        if opens_group(raw.header.event_type)
            && let Event::Gtid(gtid) = decode(raw.bytes, format).map_err(broken)?
        {
            self.transactions += 1;
            self.last_sequence = gtid.sequence_number.saturating_add(self.shift);
            if self.shift > 0 && gtid.sequence_number > 0 {
                GtidEvent::raise_logical_timestamps(&mut bytes, self.shift, format).map_err(broken)?;
            }
        }
        move_event(&mut bytes, self.out.len(), format.checksum).map_err(broken)?;
        self.last_origin = origin(raw);
        self.out.append(&bytes)
    }

    fn finish(mut self) -> Result<String, ToolError> {
        if !self.begun {
            return Err(ToolError::Refused("the beginning is not in these files".into()));
        }
        if self.until.must_be_found() && !self.over {
            return Err(ToolError::Refused(format!("{} is not in these files", self.until)));
        }
        let checksum = self.format.as_ref().map_or(ChecksumAlgorithm::Crc32, |f| f.checksum);
        self.append_artificial(&StopEvent, checksum)?;
        let transactions = self.transactions;
        let bytes = self.out.finish()?;
        Ok(format!("{transactions} transactions, {bytes} bytes"))
    }
}

fn origin(raw: &RawEvent<'_>) -> EventOrigin {
    EventOrigin { timestamp: raw.header.timestamp, server_id: raw.header.server_id, flags: 0 }
}
