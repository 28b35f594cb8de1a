//! `duramen check` and `duramen repair`: what is wrong with a data directory, and a new one of what
//! is right.
//!
//! The log is the database, so most damage costs nothing: tables are made anew from the log,
//! filters and indexes from the rows, the log's index from its files. What can be lost is
//! transactions of the log itself, and rows where the log was purged.
//!
//! 1. examine  Log, store and catalog are read (`examine.rs`); the report says what is sound,
//!    damaged, lost (`report.rs`).
//! 2. plan     Where the new directory's tables come from ([`TablesFrom`]), and how much of the log
//!    goes there. Tables that are sound are kept, also where they are ahead of a log that had to be
//!    cut: then the log begins anew after them.
//! 3. copy     The log, cut in front of damage, and what else belongs to a data directory
//!    (`copy.rs`).
//! 4. rebuild  The tables (`rebuild.rs`); then the database is opened there and closed again, and
//!    read once more.
//! 5. name     The folder gets its name, with the report in it.
//!
//! (W1) The damaged directory is only read: nothing in it is made, changed or removed.
//! (W2) The new directory has its name only when it is whole and recovery has succeeded.
//! (W3) Nothing is lost unasked: what a repair would lose is reported first, and takes
//!      `--accept-loss`.
//! (W4) No GTID is given out twice: where transactions of the log are lost the new directory has
//!      another `server_uuid`.

mod copy;
mod examine;
mod help;
mod rebuild;
mod rehearse;
pub(crate) mod report;
mod survey;
mod upgrade;

use crate::encryption::with_keys;
use crate::log_tool::ToolError;
pub(crate) use help::{CHECK, REPAIR, UPGRADE_CHECK};

use crate::log_tool::arguments::{Arguments, Takes};
use crate::log_tool::replay::{Unfinished, refuse_unreadable};
use crate::tool::{asks_for_help, exit, folder, print, real};
use binlog::gtid::GtidSet;
use binlog::log::LogError;
use copy::{Cut, NewLog};
use env::Env;
use examine::{Depth, Examination, StoreState, one_line};
use rebuild::Rebuilt;
use report::{Severity, array, members, object, quoted};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

const CHECK_OPTIONS: [Takes; 4] =
    [Takes::Value("datadir"), Takes::Value("log-bin"), Takes::Nothing("full"), Takes::Nothing("json")];

const REPAIR_OPTIONS: [Takes; 6] = [
    Takes::Value("datadir"),
    Takes::Value("into"),
    Takes::Value("log-bin"),
    Takes::Nothing("accept-loss"),
    Takes::Nothing("force"),
    Takes::Nothing("json"),
];

/// The report in a repaired directory.
const REPORT: &str = "repair-report.json";

/// Does what the arguments after `duramen check` ask. Exit codes: see its help.
pub fn check(args: &[String]) -> ExitCode {
    exit("check", with_keys(args, run_check))
}

/// Does what the arguments after `duramen upgrade-check` ask. Exit codes: see its help.
pub fn upgrade_check(args: &[String]) -> ExitCode {
    exit("upgrade-check", with_keys(args, upgrade::run))
}

/// Does what the arguments after `duramen repair` ask. Exit codes: see its help.
pub fn repair(args: &[String]) -> ExitCode {
    exit("repair", with_keys(args, run_repair))
}

fn run_check(env: &Arc<dyn Env>, args: &[String]) -> Result<u8, ToolError> {
    if asks_for_help(args) {
        return print(help::CHECK).map(|()| 0);
    }
    let arguments = Arguments::parse("check", args, &CHECK_OPTIONS, &[])?;
    let dir = folder(&arguments, "datadir", "the data directory to examine")?;
    refuse_unreadable(&**env, &dir)?;
    let found = examine::examine(env, &dir, arguments.value("log-bin"), depth(arguments.has("full")))?;
    match arguments.has("json") {
        true => print(&format!("{{{}}}\n", found.report.json_members()))?,
        false => print(&found.report.text())?,
    }
    Ok(match found.report.verdict() {
        Severity::Note => 0,
        Severity::Repairable => 1,
        Severity::Loss => 2,
    })
}

fn depth(full: bool) -> Depth {
    if full { Depth::Everything } else { Depth::Tables }
}

/// What `duramen check` says of a directory: its exit code, and the text.
pub(crate) fn examined(env: &Arc<dyn Env>, dir: &Path) -> Result<(u8, String), ToolError> {
    let found = examine::examine(env, dir, None, depth(false))?;
    Ok((found.report.verdict() as u8, found.report.text()))
}

/// Where the new directory's tables come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TablesFrom {
    /// They are sound, and copied.
    Copy,
    /// Of the blocks that can be read.
    Salvage,
    /// All transactions are executed again.
    Log,
}

impl TablesFrom {
    fn word(self) -> &'static str {
        match self {
            Self::Copy => "copied",
            Self::Salvage => "salvaged",
            Self::Log => "made anew from the binary log",
        }
    }
}

/// What became of it.
struct Repaired {
    from: TablesFrom,
    cuts: Vec<Cut>,
    /// Log files that were omitted although they are readable: the tables have what is in them.
    omitted: Vec<String>,
    /// Those of the log of before a reset, which were omitted too.
    of_before_reset: Vec<String>,
    /// The log ends earlier than it did.
    loses_log: bool,
    /// The tables are ahead of what is left of the log, so it begins anew after them.
    begins_anew: bool,
    lost_gtids: GtidSet,
    /// Damage of the log that no start reads, in the file that the tables' position is in: it
    /// stays, and is reported.
    stays: Option<String>,
    rebuilt: Rebuilt,
    has_new_uuid: bool,
}

fn run_repair(env: &Arc<dyn Env>, args: &[String]) -> Result<u8, ToolError> {
    if asks_for_help(args) {
        return print(help::REPAIR).map(|()| 0);
    }
    let arguments = Arguments::parse("repair", args, &REPAIR_OPTIONS, &[])?;
    let dir = folder(&arguments, "datadir", "the data directory to repair")?;
    refuse_unreadable(&**env, &dir)?;
    let into = folder(&arguments, "into", "the data directory to make; a repair changes nothing in place")?;
    if real(&into).starts_with(real(&dir)) {
        let what = format!("--into={} is in the data directory, and nothing is made there", into.display());
        return Err(arguments.wrong(what));
    }
    let is_json = arguments.has("json");
    let (accepts, forces) = (arguments.has("accept-loss"), arguments.has("force"));
    let found = examine::examine(env, &dir, arguments.value("log-bin"), depth(true))?;
    let verdict = found.report.verdict();
    if !is_json {
        print(&found.report.text())?;
    }
    if verdict == Severity::Note && !forces {
        return end(
            &found,
            is_json,
            "sound",
            "nothing is damaged, and nothing was made; --force makes a copy all the same",
            0,
        );
    }
    if verdict == Severity::Loss && !accepts {
        let why = "refused: something would be lost, as told above. Restore a backup or copy a replica if there is one; with \
                   --accept-loss the repair goes on without it. Nothing was made";
        return end(&found, is_json, "refused", why, 2);
    }
    let unfinished = Unfinished::begin(env.clone(), &into)?;
    let repaired = make(env, &found, &dir, &unfinished.path, forces)?;
    let report = format!("{{{}, {}}}\n", found.report.json_members(), repair_members(&repaired, &into));
    let path = unfinished.path.join(REPORT);
    env.replace_file(&path, report.as_bytes()).map_err(|e| ToolError::io("write", &path, e))?;
    // An empty folder of that name is replaced.
    unfinished.finish(&into)?;
    print(&if is_json { report } else { text_of(&repaired, &into) })?;
    Ok(u8::from(repaired.has_loss() || !repaired.rebuilt.set_aside.is_empty()))
}

/// Nothing was made.
fn end(found: &Examination, is_json: bool, outcome: &str, text: &str, code: u8) -> Result<u8, ToolError> {
    match is_json {
        true => {
            let repair = object(&[("outcome", quoted(outcome)), ("text", quoted(text))]);
            print(&format!("{{{}, \"repair\": {repair}}}\n", found.report.json_members()))?;
        }
        false => print(&format!("{text}\n"))?,
    }
    Ok(code)
}

/// Steps 2 to 4.
fn make(
    env: &Arc<dyn Env>,
    found: &Examination,
    dir: &Path,
    target: &Path,
    forces: bool,
) -> Result<Repaired, ToolError> {
    let from = plan(found, forces)?;
    let mut log = NewLog::new(env, found, dir, target)?;
    if from != TablesFrom::Log {
        log.omit_damage_before_tables(found)?;
    }
    log.copy()?;
    let tables = if from == TablesFrom::Log { binlog::LogPosition::ZERO } else { found.tables_at() };
    let examined = log.cut_damage(tables)?;
    let logged = found.logged_gtids(&**env, dir);
    // What the files in front had after the tables' position is not known: nothing can follow the
    // tables.
    let lacks_front = from != TablesFrom::Log && found.lacks_front(&examined);
    let begins_anew = lacks_front || examined.recovered.end < tables;
    if begins_anew {
        let has_all = !lacks_front && found.tables_have_all(&**env, dir);
        let mut executed = match (has_all, lacks_front) {
            (true, _) => logged.clone(),
            (_, true) => GtidSet::new(),
            _ => examined.recovered.gtid_executed,
        };
        if lacks_front {
            log.cut_all()?;
        }
        found.survey.iter().for_each(|survey| executed.union(&survey.in_front(tables)));
        log.begin_anew(tables, &executed)?;
    }
    let (cuts, omitted) = log.finish()?;
    let stays = found.log.damage_anywhere.as_ref().filter(|damage| {
        let is_kept = from != TablesFrom::Log && !begins_anew && cuts.is_empty();
        is_kept && found.is_in_front_of_tables(damage)
    });
    let stays = stays.map(ToString::to_string);
    let is_mixed =
        !found.of_before_reset.is_empty() && matches!(found.log.damage, Some(LogError::Missing { .. }));
    // What is there instead of a file says nothing of what was in the file.
    let is_damaged = found.log.damage.is_some() && !is_mixed || !found.replaced.is_empty();
    let loses_log = !cuts.is_empty() || is_damaged || found.is_apart || found.is_other_log;
    let of_before_reset = found.of_before_reset.clone();
    let has_new_uuid = loses_log || !copy::has_uuid(&**env, dir);
    copy::others(env, found, dir, target, has_new_uuid, from == TablesFrom::Copy)?;
    let mut rebuilt = Rebuilt::default();
    if from == TablesFrom::Salvage
        && let StoreState::Read(files, damage) = &found.store
    {
        rebuild::salvage(env, found, files, damage, target, &mut rebuilt)?;
    }
    rebuild::recover(env, target, &found.base_name, &mut rebuilt)?;
    let mut lost_gtids = logged;
    lost_gtids.subtract(&rebuilt.executed);
    Ok(Repaired {
        from,
        cuts,
        omitted,
        of_before_reset,
        loses_log,
        begins_anew,
        lost_gtids,
        stays,
        rebuilt,
        has_new_uuid,
    })
}

/// Step 2.
fn plan(found: &Examination, forces: bool) -> Result<TablesFrom, ToolError> {
    let has_everything = found.report.log_has_everything;
    let no_tables = || {
        let what = match found.catalog_lost_records || found.catalog.is_none() {
            true => "the definitions of tables are lost",
            false => "the tables can't be read",
        };
        ToolError::Refused(format!(
            "{what}, and the log does not go back to its first file: there is nothing to make tables of. Restore a backup or a copy \
             of a replica"
        ))
    };
    // A start drops trees that no table has: without its record a table would be lost whole.
    let can_salvage = found.catalog.is_some() && !found.catalog_lost_records;
    match &found.store {
        _ if found.is_other_log && has_everything => Ok(TablesFrom::Log),
        _ if found.is_other_log => Err(ToolError::Refused(
            "tables and log are of two servers or times, and the log does not go back to its first file: put the tables or \
             the log files there that belong to the others. Restore a backup or a copy of a replica if there are none"
                .to_owned(),
        )),
        _ if has_everything && (forces || !found.tables_are_sound()) => Ok(TablesFrom::Log),
        StoreState::Read(..) if found.tables_are_sound() => Ok(TablesFrom::Copy),
        // What can be read of the tables has more than a log that is cut.
        StoreState::Read(..) if can_salvage && found.log.damage.is_none() => Ok(TablesFrom::Salvage),
        _ if found.log.reaches_back => Ok(TablesFrom::Log),
        StoreState::Read(..) if can_salvage => Ok(TablesFrom::Salvage),
        _ => Err(no_tables()),
    }
}

impl Repaired {
    fn has_loss(&self) -> bool {
        let omits = !self.omitted.is_empty() || !self.of_before_reset.is_empty();
        self.loses_log || self.stays.is_some() || omits || self.rebuilt.lost > 0
    }
}

/// What was done, as the members of a JSON object.
fn repair_members(repaired: &Repaired, into: &Path) -> String {
    let rebuilt = &repaired.rebuilt;
    let cuts = repaired.cuts.iter().map(|cut| {
        object(&[
            ("file", quoted(&cut.file)),
            ("offset", cut.offset.to_string()),
            ("bytes", cut.bytes.to_string()),
            ("kept_in", quoted(&cut.kept_in)),
        ])
    });
    let texts = |texts: &[String]| array(texts.iter().map(|text| quoted(text)));
    let repair = object(&[
        ("outcome", quoted(if repaired.has_loss() { "repaired with loss" } else { "repaired" })),
        ("into", quoted(&into.display().to_string())),
        ("tables", quoted(repaired.from.word())),
        ("lost_gtids", quoted(&one_line(&repaired.lost_gtids))),
        ("lost_transactions", repaired.lost_gtids.count().to_string()),
        ("log_cut", array(cuts)),
        ("log_begins_anew", repaired.begins_anew.to_string()),
        ("log_damage_that_stays", repaired.stays.as_deref().map_or("null".into(), quoted)),
        ("log_files_left_out", texts(&repaired.omitted)),
        ("log_files_of_before_reset", texts(&repaired.of_before_reset)),
        ("lost_entries", rebuilt.lost.to_string()),
        ("damaged", texts(&rebuilt.damaged)),
        ("doubtful", texts(&rebuilt.doubtful)),
        ("indexes_made_anew", texts(&rebuilt.indexes)),
        ("set_aside", texts(&rebuilt.set_aside)),
        ("gtid_executed", quoted(&one_line(&rebuilt.executed))),
        ("new_server_uuid", repaired.has_new_uuid.to_string()),
    ]);
    members(&[("repair", repair)])
}

fn text_of(repaired: &Repaired, into: &Path) -> String {
    let rebuilt = &repaired.rebuilt;
    let mut lines = vec![format!("repaired: the tables were {}", repaired.from.word())];
    for cut in &repaired.cuts {
        lines.push(format!(
            "lost: {} was cut at {}: {} bytes, which are kept in {}",
            cut.file, cut.offset, cut.bytes, cut.kept_in
        ));
    }
    if !repaired.lost_gtids.is_empty() {
        let (count, gtids) = (repaired.lost_gtids.count(), one_line(&repaired.lost_gtids));
        lines.push(format!("lost: {count} transactions of the log, as far as that is known: {gtids}"));
    }
    if let Some(damage) = &repaired.stays {
        lines.push(format!(
            "still damaged, in front of where the tables are, so that no start reads it; replicas must not begin there. Purge the file \
             when the log has gone on: {damage}"
        ));
    }
    if repaired.begins_anew {
        lines.push(
            "the tables have transactions that the log lost, so the log begins anew behind them, as after RESET BINARY LOGS AND GTIDS; \
             what is left of the old log is in the old directory"
                .to_owned(),
        );
    }
    if repaired.loses_log && repaired.lost_gtids.is_empty() && !repaired.begins_anew {
        lines.push("lost: transactions of the log; which ones can't be said".to_owned());
    }
    if !repaired.of_before_reset.is_empty() {
        lines.push(format!(
            "left out of the log: {}, of before RESET BINARY LOGS AND GTIDS",
            repaired.of_before_reset.join(", ")
        ));
    }
    if !repaired.omitted.is_empty() {
        lines.push(format!(
            "left out of the log: {}; the tables have what is in them",
            repaired.omitted.join(", ")
        ));
    }
    if rebuilt.lost > 0 {
        lines.push(format!(
            "lost: {} rows and index entries at the most: {}",
            rebuilt.lost,
            rebuilt.damaged.join("; ")
        ));
    }
    lines.extend(rebuilt.doubtful.iter().map(|text| format!("doubtful: {text}")));
    if !rebuilt.indexes.is_empty() {
        lines.push(format!("made anew from the rows: {}", rebuilt.indexes.join(", ")));
    }
    lines.extend(rebuilt.set_aside.iter().map(|text| format!("still set aside: {text}")));
    if repaired.has_new_uuid {
        lines.push(
            "the new directory has a new server_uuid: no GTID is given out twice. Make replicas of the old server anew".into(),
        );
    }
    lines.push(format!("gtid_executed: {}", one_line(&rebuilt.executed)));
    lines.push(format!("the report is in {}", into.join(REPORT).display()));
    lines.push(format!("start it with: duramen serve --datadir={}", into.display()));
    lines.join("\n") + "\n"
}
