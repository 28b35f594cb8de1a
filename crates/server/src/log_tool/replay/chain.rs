//! Step 1 of a replay: the base's log and the later files in one row, and where the point is in it.

use super::super::ToolError;
use super::super::input::{LogFile, indexed};
use super::super::point::{Side, Until};
use super::super::transactions::{Name, Transaction, WalkItem, Walked, walk};
use super::{Base, refuse_unreadable, say};
use crate::tool::log_number;
use binlog::event::EventHeader;
use binlog::file::RawEvent;
use binlog::gtid::GtidSet;
use env::{Env, File, OpenMode};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Files are compared in pieces of so many bytes.
const PIECE: usize = 1 << 20;

/// A file of the log by its number.
type Numbered = BTreeMap<u32, LogFile>;

/// The base's log, and the files that continue it.
pub(super) struct Chain {
    base_name: String,
    /// All files, the base's and the later ones, without gaps.
    files: Numbered,
    /// Number of the base's last file, and where the base's log ends in it.
    base_last: u32,
    base_end: u64,
    /// What the base has executed, where that is known.
    base_executed: Option<GtidSet>,
}

/// What is copied and replayed.
pub(super) struct Plan {
    /// What log files are called before their number.
    pub(super) base_name: String,
    /// The log's files, oldest first.
    pub(super) files: Vec<LogFile>,
    /// Bytes of the last one.
    pub(super) last_end: u64,
    /// The last transaction after the base; `None` if there is none.
    pub(super) last: Option<Transaction>,
    /// How many are after the base.
    pub(super) transactions: u64,
    /// Bytes of log after the base.
    pub(super) bytes_after_base: u64,
    /// What is executed at the point.
    pub(super) executed: GtidSet,
}

impl Plan {
    pub(super) fn last_name(&self) -> &str {
        self.files.last().map_or("", |file| &file.name)
    }
}

impl Chain {
    /// Examines the base and the files.
    pub(super) fn of(env: &dyn Env, base: &Path, logs: &[PathBuf]) -> Result<Self, ToolError> {
        let inside = env.read_dir(base).map_err(|e| ToolError::io("read the base", base, e))?;
        refuse_running(env, base)?;
        refuse_unreadable(env, base)?;
        let listed = indexed(env, base, &inside)?;
        let first = listed.first().ok_or_else(|| refused("the base's index lists no log file"))?;
        let base_name = first.name.rsplit_once('.').map_or("", |(name, _)| name).to_owned();
        let first = number(first, &base_name)?;
        // The folder knows files that the index does not know yet.
        let mut files = Numbered::new();
        for path in inside {
            let file = LogFile::at(path);
            if let Ok(number) = number(&file, &base_name)
                && number >= first
            {
                files.insert(number, file);
            }
        }
        let (&base_last, base_file) =
            files.last_key_value().ok_or_else(|| refused("the base has no log file"))?;
        let base_end = walk(env, base_file, &mut |_| Ok(ControlFlow::Continue(())))?.end;
        let mut chain = Self { base_name, files, base_last, base_end, base_executed: None };
        chain.add_logs(env, logs)?;
        Ok(chain)
    }

    /// The log files of one folder, of which the base's are those up to `base.last`.
    pub(super) fn of_files(env: &dyn Env, folder: &Path, base: &Base<'_>) -> Result<Self, ToolError> {
        let inside = env.read_dir(folder).map_err(|e| ToolError::io("read the folder", folder, e))?;
        let mut files = Numbered::new();
        for file in inside.into_iter().map(LogFile::at) {
            if let Ok(number) = number(&file, base.log_name) {
                files.insert(number, file);
            }
        }
        let last = LogFile::at(folder.join(base.last));
        let base_last = number(&last, base.log_name)?;
        if !files.contains_key(&base_last) {
            return Err(refused(format!("{} is missing", base.last)));
        }
        let chain = Self {
            base_name: base.log_name.to_owned(),
            files,
            base_last,
            base_end: base.end,
            base_executed: Some(base.executed.clone()),
        };
        chain.check_gaps()?;
        Ok(chain)
    }

    fn check_gaps(&self) -> Result<(), ToolError> {
        let numbers: Vec<u32> = self.files.keys().copied().collect();
        match numbers.windows(2).find(|pair| pair[0] + 1 != pair[1]) {
            Some(pair) => Err(refused(format!("{}.{:06} is missing", self.base_name, pair[0] + 1))),
            None => Ok(()),
        }
    }

    fn add_logs(&mut self, env: &dyn Env, logs: &[PathBuf]) -> Result<(), ToolError> {
        let mut later = Numbered::new();
        for path in logs {
            let found = match env.read_dir(path) {
                Ok(inside) => indexed(env, path, &inside)?,
                Err(_) => vec![LogFile::at(path.clone())],
            };
            for file in found {
                let number = number(&file, &self.base_name)?;
                if number < self.base_last {
                    self.check_base_file(env, number, &file)?;
                } else if later.insert(number, file).is_some() {
                    return Err(refused(format!("{}.{number:06} is given twice", self.base_name)));
                }
            }
        }
        if let Some(file) = later.get(&self.base_last) {
            let ours = self.files.get(&self.base_last).ok_or_else(|| refused("the base has no log file"))?;
            self.check_same_beginning(env, ours, file, self.base_end)?;
        }
        self.files.append(&mut later);
        self.check_gaps()
    }

    /// A file that the base has whole is passed over, if it is the base's: a log that was begun
    /// anew uses names again.
    fn check_base_file(&self, env: &dyn Env, number: u32, theirs: &LogFile) -> Result<(), ToolError> {
        let Some(ours) = self.files.get(&number) else { return Ok(()) };
        let path = ours.path.as_deref().unwrap_or(Path::new("-"));
        let len = open(env, ours)?.len().map_err(|e| ToolError::io("read", path, e))?;
        self.check_same_beginning(env, ours, theirs, len.min(PIECE as u64))
    }

    /// A file that the base has too must go on from what the base has of it, in so many bytes (P3).
    fn check_same_beginning(
        &self,
        env: &dyn Env,
        ours: &LogFile,
        theirs: &LogFile,
        len: u64,
    ) -> Result<(), ToolError> {
        let (a, b) = (open(env, ours)?, open(env, theirs)?);
        let (mut one, mut other) = (vec![0; PIECE], vec![0; PIECE]);
        let mut at = 0;
        while at < len {
            let n = PIECE.min((len - at) as usize);
            for (file, log, piece) in [(&a, ours, &mut one), (&b, theirs, &mut other)] {
                let path = log.path.as_deref().unwrap_or(Path::new("-"));
                let got = file.read_at(&mut piece[..n], at).map_err(|e| ToolError::io("read", path, e))?;
                if got < n {
                    let name = path.display();
                    return Err(refused(format!(
                        "'{name}' is shorter than in the base, which has {len} bytes of it"
                    )));
                }
            }
            if at == 0 {
                // Whether the file was closed is no difference.
                const FLAGS: usize = binlog::event::MAGIC.len() + EventHeader::FLAGS_OFFSET;
                (one[FLAGS], other[FLAGS]) = (0, 0);
            }
            if one[..n] != other[..n] {
                let name = theirs.path.as_deref().unwrap_or(Path::new("-")).display();
                return Err(refused(format!(
                    "'{name}' does not begin as the base's {} does: they are of two histories",
                    ours.name
                )));
            }
            at += n as u64;
        }
        Ok(())
    }

    /// The base's last transaction and its file; a file may have none.
    fn latest_in_base(&self, env: &dyn Env) -> Result<Option<(&LogFile, Transaction)>, ToolError> {
        for (&number, file) in self.files.range(..=self.base_last).rev() {
            let end = if number == self.base_last { self.base_end } else { u64::MAX };
            let mut latest = None;
            walk(env, file, &mut |item| {
                if let WalkItem::Transaction(transaction) = item {
                    if transaction.end > end {
                        return Ok(ControlFlow::Break(()));
                    }
                    latest = Some(transaction.clone());
                }
                Ok(ControlFlow::Continue(()))
            })?;
            if let Some(latest) = latest {
                return Ok(Some((file, latest)));
            }
        }
        Ok(None)
    }

    /// The point, of which it is known now that it is not inside the base; its very end is where
    /// the base's log ends.
    fn until_after_base(&self, env: &dyn Env, until: Until) -> Result<Until, ToolError> {
        let side = self.latest_in_base(env)?.map(|(file, latest)| until.side(file, &latest));
        match (side, self.files.get(&self.base_last)) {
            (Some(Side::After), _) => Err(beyond(&until)),
            (Some(Side::Last), Some(file)) => {
                Ok(Until::Position { file: file.name.clone(), offset: self.base_end })
            }
            _ => Ok(until),
        }
    }

    /// Finds the point.
    pub(super) fn plan(&self, env: &dyn Env, until: Until) -> Result<Plan, ToolError> {
        let until = self.until_after_base(env, until)?;
        let mut plan = Plan {
            base_name: self.base_name.clone(),
            files: self.files.range(..self.base_last).map(|(_, file)| file.clone()).collect(),
            last_end: self.base_end,
            last: None,
            transactions: 0,
            bytes_after_base: 0,
            executed: GtidSet::new(),
        };
        let (mut is_over, mut rotated) = (false, false);
        for (&number, file) in self.files.range(self.base_last..) {
            let base_end = if number == self.base_last { self.base_end } else { 0 };
            let in_base = GtidSet::new();
            let mut search =
                Search { until: &until, file, base_end, plan: &mut plan, in_base, end: None, is_over: false };
            let walked = search.walk(env, rotated)?;
            let (end, over, in_base) = (search.end, search.is_over, search.in_base);
            if number == self.base_last {
                self.check_base(in_base, &walked, file)?;
            }
            rotated = walked.rotates;
            is_over = over || until.ends_with(file);
            // A file of which nothing is wanted is omitted, but for the base's.
            if is_over && end.is_none() && base_end == 0 {
                break;
            }
            let end = match end {
                Some(end) if is_over => end,
                None if is_over => base_end,
                _ => walked.end,
            };
            plan.bytes_after_base += end.saturating_sub(base_end);
            plan.last_end = end;
            plan.files.push(file.clone());
            if is_over {
                break;
            }
        }
        if !is_over {
            self.check_not_met(&plan, &until)?;
        }
        Ok(plan)
    }

    /// The log must be the one that the base was made with (P3).
    fn check_base(&self, mut in_base: GtidSet, walked: &Walked, file: &LogFile) -> Result<(), ToolError> {
        let Some(expected) = &self.base_executed else { return Ok(()) };
        walked.previous.iter().for_each(|previous| in_base.union(previous));
        if in_base == *expected {
            return Ok(());
        }
        let one_line = |set: &GtidSet| set.to_string().replace('\n', "");
        Err(refused(format!(
            "{} is of another history than the base: at {} it has executed {}, and the base {}",
            file.name,
            self.base_end,
            one_line(&in_base),
            one_line(expected)
        )))
    }

    /// All files were read, and the point is after them, or nowhere.
    fn check_not_met(&self, plan: &Plan, until: &Until) -> Result<(), ToolError> {
        match until {
            Until::Gtid(gtid) if gtid.is_subset(&plan.executed) => Err(beyond(until)),
            Until::Position { file, .. } if self.files.values().any(|f| f.name == *file) => {
                Err(beyond(until))
            }
            _ if until.must_be_found() => {
                let (name, end) = (plan.last_name(), plan.last_end);
                Err(refused(format!("{until} is not in the files: they end at {name}:{end}")))
            }
            Until::Time(_) => {
                say(format_args!("the files end before {until}: all of them is replayed"));
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// One file, looked through for the point.
struct Search<'a> {
    until: &'a Until,
    file: &'a LogFile,
    /// What is before this offset is in the base.
    base_end: u64,
    plan: &'a mut Plan,
    /// The file's transactions that are in the base.
    in_base: GtidSet,
    /// After the last transaction that is wanted, and not in the base.
    end: Option<u64>,
    is_over: bool,
}

impl Search<'_> {
    /// `rotated`: the file before ended in Rotate.
    fn walk(&mut self, env: &dyn Env, rotated: bool) -> Result<Walked, ToolError> {
        let before = self.plan.executed.clone();
        let is_first = self.base_end > 0;
        let file = self.file;
        let mut executed = GtidSet::new();
        let walked = walk(env, file, &mut |item| match item {
            // Bytes of another place, or another file.
            WalkItem::Event(event) if !stands_right(&event) => Err(refused(format!(
                "{}: at {}: the event says that it ends at {}: it belongs elsewhere. Get the file anew from where it was copied",
                file.name, event.start, event.header.end_log_pos
            ))),
            WalkItem::Event(_) => Ok(ControlFlow::Continue(())),
            WalkItem::Transaction(transaction) => self.transaction(transaction, &mut executed),
        })?;
        let Some(previous) = &walked.previous else {
            return Err(refused(format!(
                "{}: it has no Previous_gtids, so it is none of the database's",
                file.name
            )));
        };
        // After a Rotate there may be more: what gtid_purged was set to.
        let goes_on = *previous == before || rotated && before.is_subset(previous);
        if !is_first && !goes_on {
            let mut missing = previous.clone();
            missing.subtract(&before);
            let missing = missing.to_string().replace('\n', "");
            return Err(if missing.is_empty() {
                refused(format!("{}: it is of another history than the files before it", file.name))
            } else {
                refused(format!("a gap before {}: the files before it lack {missing}", file.name))
            });
        }
        if let (Until::Position { offset, .. }, true) = (self.until, self.until.ends_with(file))
            && !self.is_over
            && *offset > walked.end
        {
            return Err(refused(format!(
                "{} is not in the files: {} ends at {}",
                self.until, file.name, walked.end
            )));
        }
        let mut again = executed.clone();
        again.subtract(previous);
        if again != executed {
            return Err(refused(format!("{}: it has transactions of the files before it again", file.name)));
        }
        self.plan.executed.union(previous);
        self.plan.executed.union(&executed);
        Ok(walked)
    }

    fn transaction(
        &mut self,
        transaction: &Transaction,
        executed: &mut GtidSet,
    ) -> Result<ControlFlow<()>, ToolError> {
        let is_in_base = transaction.end <= self.base_end;
        let side = self.until.side(self.file, transaction);
        if is_in_base && side != Side::Before {
            return Err(beyond(self.until));
        }
        if side == Side::After {
            self.is_over = true;
            return Ok(ControlFlow::Break(()));
        }
        let is_again = matches!(&transaction.name, Name::Mysql(gtid) if executed.contains(*gtid));
        if is_again {
            let (name, start) = (&transaction.name, transaction.start);
            return Err(refused(format!("{}: at {start}: {name} is there twice", self.file.name)));
        }
        transaction.name.add_to(executed);
        if is_in_base {
            transaction.name.add_to(&mut self.in_base);
        } else {
            self.end = Some(transaction.end);
            self.plan.transactions += 1;
            self.plan.last = Some(transaction.clone());
        }
        self.is_over = side == Side::Last;
        Ok(if self.is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// True if the event is where it says. One without a position, which tools make, may be anywhere;
/// the field has 32 bits.
fn stands_right(event: &RawEvent<'_>) -> bool {
    event.header.end_log_pos == 0 || event.header.end_log_pos == event.end() as u32
}

/// A server that runs would write while the base is read.
fn refuse_running(env: &dyn Env, base: &Path) -> Result<(), ToolError> {
    let lock = base.join("duramen.lock");
    let is_held =
        env.exists(&lock) && env.lock_file(&lock).is_err_and(|e| e.kind() == std::io::ErrorKind::WouldBlock);
    if is_held {
        let base = base.display();
        return Err(refused(format!(
            "a server is running in '{base}': the base is a copy of a data directory"
        )));
    }
    Ok(())
}

fn open(env: &dyn Env, file: &LogFile) -> Result<Arc<dyn File>, ToolError> {
    let path = file.path.as_deref().unwrap_or(Path::new("-"));
    env.open(path, OpenMode::Read).map_err(|e| ToolError::io("open", path, e))
}

/// The number in a log file's name.
fn number(file: &LogFile, base_name: &str) -> Result<u32, ToolError> {
    log_number(&file.name, base_name).ok_or_else(|| {
        refused(format!(
            "'{}' is no log file of the base's, which are called {base_name}.000001 and so on",
            file.name
        ))
    })
}

fn beyond(until: &Until) -> ToolError {
    refused(format!("the base goes beyond {until}: take an older base"))
}

fn refused(text: impl Into<String>) -> ToolError {
    ToolError::Refused(text.into())
}
