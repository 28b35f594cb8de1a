//! `duramen binlog find`: the file and position of a transaction, a time, or the changes of a row.

use super::arguments::{Arguments, Takes};
use super::input::{LogFile, log_files};
use super::transactions::{Name, Transaction, WalkItem, walk};
use super::{EXPANDED_MAX, Outcome, ToolError};
use crate::remote;
use binlog::event::{Decoder, Event, EventError, FormatDescription, TableMapEvent};
use binlog::file::FileError;
use binlog::gtid::GtidSet;
use binlog::json_lines::moment;
use env::{Env, UnixMicros};
use std::ops::ControlFlow;
use std::sync::Arc;

const OPTIONS: [Takes; 7] = [
    Takes::Value("gtid"),
    Takes::Value("time"),
    Takes::Value("table"),
    Takes::Value("value"),
    remote::OPTIONS[0],
    remote::OPTIONS[1],
    remote::OPTIONS[2],
];

/// What is looked for.
enum Wanted {
    /// A GTID of MySQL's, or several.
    Gtids(GtidSet),
    /// MariaDB's.
    Mariadb(String),
    /// The first transaction that was committed then or later.
    Time(UnixMicros),
    /// Transactions that change the table, and have the value in a row of it if one is given.
    Table { database: String, table: String, value: Option<String> },
}

pub(super) fn run(env: &Arc<dyn Env>, args: &[String]) -> Result<Outcome, ToolError> {
    let arguments = Arguments::parse("find", args, &OPTIONS, &[])?;
    let wanted = wanted(&arguments)?;
    let files = log_files(env, &arguments)?;
    let mut found = 0_u64;
    for file in &files {
        let flow = search_file(&**env, file, &wanted, &mut found)?;
        if flow.is_break() {
            break;
        }
    }
    if found == 0 {
        eprintln!("duramen binlog find: nothing found in {} files", files.len());
        return Ok(Outcome::Bad);
    }
    Ok(Outcome::Done)
}

fn wanted(arguments: &Arguments) -> Result<Wanted, ToolError> {
    if arguments.value("value").is_some() && arguments.value("table").is_none() {
        return Err(arguments.wrong("--value is looked for in a --table".to_owned()));
    }
    match (arguments.value("gtid"), arguments.moment("time")?, arguments.value("table")) {
        (Some(gtid), None, None) if gtid.split('-').count() == 3 => Ok(Wanted::Mariadb(gtid.to_owned())),
        (Some(_), None, None) => Ok(Wanted::Gtids(arguments.gtids("gtid")?.unwrap_or_default())),
        (None, Some(time), None) => Ok(Wanted::Time(time)),
        (None, None, Some(name)) => {
            let Some((database, table)) = name.split_once('.') else {
                return Err(arguments.wrong(format!("'{name}' is no value for --table: DATABASE.TABLE")));
            };
            let value = arguments.value("value").map(str::to_owned);
            Ok(Wanted::Table { database: database.to_owned(), table: table.to_owned(), value })
        }
        _ => Err(arguments.wrong("one of --gtid, --time and --table says what to look for".to_owned())),
    }
}

fn search_file(
    env: &dyn Env,
    file: &LogFile,
    wanted: &Wanted,
    found: &mut u64,
) -> Result<ControlFlow<()>, ToolError> {
    let mut decoder = Decoder::new(FormatDescription::new("", 0));
    let mut is_hit = false;
    let mut is_over = false;
    walk(env, file, &mut |item| match item {
        WalkItem::Event(raw) => {
            if let Wanted::Table { database, table, value } = wanted {
                let broken = |source| file.error(FileError::Event { at: raw.start, source });
                let (header, event) = decoder.decode(raw.bytes).map_err(broken)?;
                let search = Search { database, table, value: value.as_deref() };
                let searched = decoder.walk(&header, &event, EXPANDED_MAX, |decoder, _, event, _| {
                    is_hit |= search.is_in(decoder, event)?;
                    Ok(())
                });
                searched.map_err(broken)?;
            }
            Ok(ControlFlow::Continue(()))
        }
        WalkItem::Transaction(transaction) => {
            let is_wanted = match wanted {
                Wanted::Gtids(set) => {
                    let mut this = GtidSet::new();
                    transaction.name.add_to(&mut this);
                    !this.is_empty() && this.is_subset(set)
                }
                Wanted::Mariadb(gtid) => {
                    matches!(transaction.name, Name::Mariadb(_)) && transaction.name.to_string() == *gtid
                }
                Wanted::Time(time) => transaction.committed >= *time,
                Wanted::Table { .. } => std::mem::take(&mut is_hit),
            };
            if is_wanted {
                print_transaction(file, transaction);
                *found += 1;
                is_over = match wanted {
                    Wanted::Gtids(set) => u128::from(*found) >= set.count(),
                    Wanted::Mariadb(_) | Wanted::Time(_) => true,
                    Wanted::Table { .. } => false,
                };
            }
            Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        }
    })?;
    Ok(if is_over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
}

fn print_transaction(file: &LogFile, transaction: &Transaction) {
    let Transaction { name, start, end, committed } = transaction;
    println!("{}:{start}  end {end}  committed {}  {name}", file.name, moment(*committed));
}

/// A row that is looked for.
struct Search<'a> {
    database: &'a str,
    table: &'a str,
    value: Option<&'a str>,
}

impl Search<'_> {
    fn is_in(&self, decoder: &Decoder, event: &Event<'_>) -> Result<bool, EventError> {
        let Event::Rows(rows) = event else { return Ok(false) };
        if rows.columns == 0 {
            return Ok(false);
        }
        let table: &TableMapEvent = decoder.table_of(rows)?;
        if table.database != self.database.as_bytes() || table.table != self.table.as_bytes() {
            return Ok(false);
        }
        let Some(wanted) = self.value else { return Ok(true) };
        let bytes = rows.rows.bytes(EXPANDED_MAX)?;
        let mut text = Vec::new();
        for change in rows.iter(table, &bytes)? {
            let change = change?;
            for image in [change.before, change.after].into_iter().flatten() {
                for field in image.fields() {
                    text.clear();
                    binlog::text::write_value(&field, &mut text)?;
                    if is_value(&text, wanted) {
                        return Ok(true);
                    }
                }
            }
        }
        Ok(false)
    }
}

/// Whether a value as `print -v` shows it is the one that is wanted, with or without quotes.
fn is_value(printed: &[u8], wanted: &str) -> bool {
    let inner = printed.strip_prefix(b"'").and_then(|p| p.strip_suffix(b"'")).unwrap_or(printed);
    printed == wanted.as_bytes() || inner == wanted.as_bytes()
}
