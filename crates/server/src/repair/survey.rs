//! What each log file says by itself: its header, its transactions. An examination of the log as a
//! whole stops at the first file that it can't use; what is lost must be reported all the same, and
//! so must what the files after it still have.

use crate::tool::log_number;
use binlog::LogPosition;
use binlog::event::{Event, EventType, FormatDescription, LogResetEvent, PreviousGtids, PurgedGtids};
use binlog::event::{decode, decode_format_description};
use binlog::file::{FileError, FileReader, Input};
use binlog::gtid::{Gtid, GtidSet, Interval};
use binlog::log::whole_groups_after;
use env::{Env, OpenMode};
use std::path::Path;

/// All files with a log file's name, oldest first.
pub(super) struct Survey {
    files: Vec<Surveyed>,
    /// What is added to the number in a name for the number in positions.
    shift: i64,
}

/// A log file.
struct Surveyed {
    name: String,
    named: u32,
    /// `None` if it can't be read.
    header: Option<Header>,
    /// Of its transactions, as far as they can be read.
    gtids: GtidSet,
    /// Of these, the ones that end at the offset of the tables' position at the latest.
    before_offset: GtidSet,
    /// It was read to its end.
    is_whole: bool,
}

#[derive(Default)]
struct Header {
    previous: GtidSet,
    purged_by_order: GtidSet,
    reset: Option<LogResetEvent>,
}

impl Survey {
    /// Reads the files; `tables` is the position that the tables are at. A file that can't be read
    /// counts as one without header.
    pub(super) fn read(
        env: &dyn Env,
        dir: &Path,
        names: &[String],
        base_name: &str,
        tables: LogPosition,
    ) -> Survey {
        let read = |name: &String| {
            let named = log_number(name, base_name)?;
            let mut file = Surveyed {
                name: name.clone(),
                named,
                header: None,
                gtids: GtidSet::new(),
                before_offset: GtidSet::new(),
                is_whole: false,
            };
            file.is_whole = file.read(env, &dir.join(name), tables.offset()).is_ok();
            Some(file)
        };
        let files: Vec<Surveyed> = names.iter().filter_map(read).collect();
        let mut survey = Survey { files, shift: 0 };
        survey.shift = survey.reset().map_or(0, |r| r.first as i64 - r.named as i64);
        survey
    }

    /// The last reset that a file names: the log is the files that name it.
    fn reset(&self) -> Option<&LogResetEvent> {
        let resets = self.files.iter().filter_map(|file| file.header.as_ref()?.reset.as_ref());
        resets.max_by_key(|reset| reset.first)
    }

    /// Files of a log of before the last reset.
    pub(super) fn before_reset(&self) -> Vec<String> {
        let is_older = |file: &&Surveyed| {
            file.header.as_ref().is_some_and(|header| header.reset.as_ref() != self.reset())
        };
        self.files.iter().filter(is_older).map(|file| file.name.clone()).collect()
    }

    fn of_log(&self) -> impl Iterator<Item = &Surveyed> {
        let reset = self.reset();
        let is_of_it =
            move |file: &&Surveyed| file.header.as_ref().is_none_or(|header| header.reset.as_ref() == reset);
        self.files.iter().filter(is_of_it)
    }

    /// The number in positions of the file with this number in its name.
    pub(super) fn position_number(&self, named: u32) -> i64 {
        i64::from(named) + self.shift
    }

    /// Every GTID that the log is known to have had.
    pub(super) fn logged_gtids(&self) -> GtidSet {
        let mut logged = GtidSet::new();
        for file in self.of_log() {
            logged.union(&file.gtids);
            file.header.iter().for_each(|header| logged.union(&header.previous));
        }
        logged
    }

    /// The transactions in front of the tables' position, as far as the files show.
    pub(super) fn in_front(&self, tables: LogPosition) -> GtidSet {
        let (mut found, last) = (GtidSet::new(), i64::from(tables.file().0));
        for file in self.of_log() {
            let number = self.position_number(file.named);
            if number <= last {
                file.header.iter().for_each(|header| found.union(&header.previous));
                found.union(if number < last { &file.gtids } else { &file.before_offset });
            }
        }
        found
    }

    /// The first of these files, from the one that the tables' position is in on, whose header
    /// names transactions that are not in the files in front of it.
    pub(super) fn gap(&self, files: &[String], tables: LogPosition) -> Option<(String, GtidSet)> {
        let is_needed = |file: &&Surveyed| {
            self.position_number(file.named) >= i64::from(tables.file().0) && files.contains(&file.name)
        };
        let needed: Vec<&Surveyed> = self.files.iter().filter(is_needed).collect();
        needed.windows(2).find_map(|pair| {
            let (Some(before), Some(header)) = (&pair[0].header, &pair[1].header) else { return None };
            let mut lacking = header.previous.clone();
            for known in [&header.purged_by_order, &before.previous, &pair[0].gtids] {
                lacking.subtract(known);
            }
            let is_gap = pair[0].is_whole && !lacking.is_empty();
            is_gap.then(|| (pair[1].name.clone(), lacking))
        })
    }
}

impl Surveyed {
    fn read(&mut self, env: &dyn Env, path: &Path, offset: u64) -> Result<(), FileError> {
        let file = env.open(path, OpenMode::Read)?;
        let mut reader = FileReader::new(Input::file(file.clone()))?;
        let mut format = FormatDescription::new("", 0);
        let walked = self.walk(&mut reader, offset);
        let (at, is_past_header) = (reader.at(), self.header.is_some());
        if is_past_header {
            format = reader.format().clone();
        }
        if walked.is_err() {
            // Whole transactions after the damage: their numbers grow by one.
            let after = whole_groups_after(file, &format, at)?;
            if let Some(last) = after.last_gtid {
                let start = last.gno.saturating_sub(after.count.saturating_sub(1)).max(1);
                self.gtids.add_interval(last.source, Interval { start, end: last.gno + 1 });
            }
        }
        walked
    }

    fn walk(&mut self, reader: &mut FileReader, offset: u64) -> Result<(), FileError> {
        // The transaction that is open, and where it ends.
        let mut open: Option<(Option<Gtid>, u64)> = None;
        let mut format = FormatDescription::new("", 0);
        while let Some(raw) = reader.next_event()? {
            let (start, end) = (raw.start, raw.end());
            let broken = |source| FileError::Event { at: start, source };
            if raw.header.event_type == EventType::FORMAT_DESCRIPTION {
                format = decode_format_description(raw.bytes).map_err(broken)?;
                continue;
            }
            match decode(raw.bytes, &format).map_err(broken)? {
                Event::PreviousGtids(PreviousGtids(previous)) => {
                    self.header = Some(Header { previous, ..Header::default() });
                }
                Event::Ignorable(body) => {
                    if let Some(header) = &mut self.header {
                        if let Ok(Some(purged)) = PurgedGtids::decode(body) {
                            header.purged_by_order = purged.0;
                        } else if let Ok(Some(reset)) = LogResetEvent::decode(body) {
                            header.reset = Some(reset);
                        }
                    }
                }
                Event::Gtid(gtid) => {
                    let length = gtid.commit.map_or(0, |commit| commit.transaction_length);
                    open = Some((gtid.gtid, start.saturating_add(length)));
                }
                // What is behind a closed file's last event is no part of the log.
                Event::Rotate(_) | Event::Stop => break,
                _ => {}
            }
            if let Some((gtid, group_end)) = open
                && end >= group_end
            {
                open = None;
                if let Some(gtid) = gtid {
                    self.gtids.add(gtid);
                    if end <= offset {
                        self.before_offset.add(gtid);
                    }
                }
            }
        }
        Ok(())
    }
}
