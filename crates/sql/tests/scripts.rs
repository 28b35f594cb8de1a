//! Scripts that read as prose: SQL in, tables out, over a simulated disk.
//!
//! A script is paragraphs divided by blank lines. A line `> statement` is run, and what follows it
//! is what it must print; `b> statement` is run in another session, made when first named; sessions
//! are root's, unless `! b is u` named another user first. `b~ statement` is run beside the script,
//! in a thread: it prints what it does at once, or `waits`, and then a line `b.` prints what it did
//! when it was done (nothing if it was). `# words` are for people. `! restart` stops and opens the
//! database again; `! power cut` lets the machine lose power first.
//!
//! `DURAMEN_UPDATE_SCRIPTS=1 cargo test -p sql --test scripts` writes what is printed now into the
//! scripts: read the difference before believing it.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use common::{Server, describe};
use env::{Env, OpenMode, RealEnv};
use sql::Session;

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let all = RealEnv.read_dir(&folder).unwrap();
    all.into_iter().filter(|p| p.extension().is_some_and(|e| e == "test")).collect()
}

#[test]
fn every_script_prints_what_it_says() {
    let env = RealEnv;
    let update = std::env::var_os("DURAMEN_UPDATE_SCRIPTS").is_some();
    let mut wrong = Vec::new();
    for path in scripts() {
        let text = String::from_utf8(env.read_file(&path).unwrap()).unwrap();
        let printed = without_times(&run(&text));
        if printed != text && update {
            let file = env.open(&path, OpenMode::Create).unwrap();
            file.set_len(0).unwrap();
            file.write_at(printed.as_bytes(), 0).unwrap();
        } else if printed != text {
            wrong.push(first_difference(&path, &text, &printed));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// The text without EXPLAIN ANALYZE's times: each question for the simulated time is a moment
/// later, and the server's own threads ask, too.
fn without_times(text: &str) -> String {
    let mut pieces = text.split("actual time=");
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let rest = piece.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        out += "actual time=..";
        out += rest;
    }
    out
}

fn first_difference(path: &Path, expected: &str, printed: &str) -> String {
    let (mut e, mut p) = (expected.lines(), printed.lines());
    let mut number = 1;
    loop {
        match (e.next(), p.next()) {
            (Some(e), Some(p)) if e == p => number += 1,
            (e, p) => {
                return format!(
                    "{}:{number}\n  expected {:?}\n  printed  {:?}",
                    path.display(),
                    e.unwrap_or("(end)"),
                    p.unwrap_or("(end)")
                );
            }
        }
    }
}

/// A session that a script names.
enum Named {
    Ready(Box<Session>),
    /// It runs a statement, and comes back with what that prints.
    Busy(JoinHandle<(Box<Session>, String)>),
}

/// How long a statement may take before it is said to wait, and before it is said to hang. A
/// machine that is busy makes statements slow: where the script says that one ends, it has the
/// longer time.
const AT_ONCE: Duration = Duration::from_millis(250);
const AT_LAST: Duration = Duration::from_secs(20);

impl Named {
    fn session(&mut self) -> &mut Session {
        match self {
            Named::Ready(session) => session,
            Named::Busy(_) => panic!("the session still waits"),
        }
    }

    /// Runs a statement in a thread; what it prints if it ends at once.
    fn start(self, sql: &str, within: Duration) -> (Named, String) {
        let Named::Ready(mut session) = self else { panic!("the session still waits") };
        let sql = sql.to_owned();
        let thread = std::thread::spawn(move || {
            let printed = describe(&mut session, &sql);
            (session, printed)
        });
        Named::Busy(thread).finish(within)
    }

    /// What its statement printed, once it has ended.
    fn finish(self, within: Duration) -> (Named, String) {
        let thread = match self {
            Named::Busy(thread) => thread,
            ready => return (ready, String::new()),
        };
        let begun = RealEnv.monotonic();
        while !thread.is_finished() {
            if RealEnv.monotonic() - begun > within {
                return (Named::Busy(thread), "waits\n".to_owned());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let (session, printed) = thread.join().unwrap();
        (Named::Ready(session), printed)
    }
}

/// A line that is run: the session's name, what is done, the statement.
fn order_of(line: &str) -> Option<(&str, char, &str)> {
    let at = line.find(['>', '~', '.']).filter(|at| *at <= 1)?;
    let (name, rest) = line.split_at(at);
    if !name.chars().all(char::is_alphanumeric) {
        return None; // what a plan prints
    }
    let mark = rest.chars().next()?;
    match (mark, rest.get(1..2)) {
        ('.', None) => Some((name, mark, "")),
        ('>' | '~', Some(" ")) => Some((name, mark, &rest[2..])),
        _ => None,
    }
}

/// Runs a script and gives it back with what it prints now.
fn run(text: &str) -> String {
    let mut server = Server::new(1);
    let mut sessions: BTreeMap<String, Named> = BTreeMap::new();
    let mut out = String::new();
    let mut skipping = false;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        match (order_of(line), line.strip_prefix("! ")) {
            _ if line.is_empty() || line.starts_with('#') => {
                skipping = false;
                out += &format!("{line}\n");
            }
            (Some((name, mark, sql)), _) => {
                skipping = true;
                out += &format!("{line}\n");
                let session =
                    sessions.remove(name).unwrap_or_else(|| Named::Ready(Box::new(server.session())));
                let (session, printed) = match mark {
                    '>' => {
                        let mut session = session;
                        let printed = describe(session.session(), sql);
                        (session, printed)
                    }
                    '~' => {
                        let is_said_to_end = lines.peek().is_some_and(|said| !["waits", ""].contains(said));
                        session.start(sql, if is_said_to_end { AT_LAST } else { AT_ONCE })
                    }
                    _ => session.finish(AT_LAST),
                };
                out += &printed;
                sessions.insert(name.to_owned(), session);
            }
            (None, Some(order)) => {
                out += &format!("{line}\n");
                if let Some((name, user)) = order.split_once(" is ") {
                    sessions.insert(name.to_owned(), Named::Ready(Box::new(server.session_of(user))));
                    continue;
                }
                if let Some(name) = order.strip_prefix("leave ") {
                    sessions.remove(name);
                    continue;
                }
                sessions.clear();
                server = match order {
                    "restart" => server.restart(),
                    "power cut" => server.power_cut(),
                    other => panic!("unknown order {other:?}"),
                };
            }
            _ if skipping => {}
            _ => panic!("neither statement nor result: {line:?}"),
        }
    }
    out
}
