//! Bit rot over a simulated disk: one file of a whole data directory is damaged, and a server
//! started on it (R2 of ARCHITECTURE.md).
//!
//! A *world* is a data directory with several log, table and manifest files, after a clean stop,
//! the death of the process or a power cut (`world.rs`). Each trial damages one file of a copy of
//! it (`damage.rs`): a bit, a byte, zeros, a cut, gone, another file of its kind, itself as it was
//! before. Then a server starts there. It may
//! - answer right, as if nothing had been;
//! - refuse to start, name the file, and leave every file as it was, to the byte;
//! - start, answer the rest right, and answer what it can't read with an error, the file's name in
//!   it or in the error log;
//! - where there was no clean stop: take damage behind the last durable mark for the torn end of
//!   the log, say so, and keep what it cuts off.
//!
//! After a start everything that a repair could need is there; what is committed then is there
//! after another start, and nothing else has become worse. Nobody panics.
//!
//! `ROT_TRIALS=n` says how many trials, `ROT_SEED=n` is the first world's seed.
#![allow(clippy::unwrap_used, unreachable_pub)]

mod common;
#[path = "bit_rot/damage.rs"]
mod damage;
#[path = "bit_rot/world.rs"]
mod world;

use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::thread;

use common::Server;
use damage::{Damage, Files, is_log_file, is_table_file, name};
use env::Env;
use stdx::random::Random;
use world::{Answers, EXECUTED, World};

/// What the error log says, and panics.
static ERROR_LOG: Mutex<String> = Mutex::new(String::new());

struct ErrorLog;

impl io::Write for ErrorLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        ERROR_LOG.lock().unwrap().push_str(&String::from_utf8_lossy(bytes));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn error_log() -> String {
    ERROR_LOG.lock().unwrap().clone()
}

const PANIC: &str = "PANIC";

fn listen() {
    let errors = tracing_subscriber::fmt().with_max_level(tracing_subscriber::filter::LevelFilter::WARN);
    errors.with_ansi(false).with_writer(|| ErrorLog).init();
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{panic}");
        ERROR_LOG.lock().unwrap().push_str(&format!("{PANIC}: {panic}\n"));
    }));
}

/// What became of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verdict {
    Right,
    Refused,
    /// Errors for what can't be read.
    Error,
    /// The end of the log behind the last durable mark was taken for torn.
    TornEnd,
}

/// How a trial ends: well, or with what must not be, in words.
type Outcome = Result<Verdict, String>;

fn trial(world: &World, damage: &Damage, random: &mut Random) -> Outcome {
    let env = world::machine(random.next_u64(), &damage.files);
    let server = match world.start(env.clone()) {
        Ok(server) => server,
        Err(error) => {
            let after = world::read(&env);
            let text = format!("{error}\n{}", error_log());
            let changed = changed(&damage.files, &after);
            return match damage.is_named_in(&text) {
                _ if !changed.is_empty() => {
                    Err(format!("refused, and changed {}: {text}", changed.join(", ")))
                }
                false => Err(format!("refused without the file's name: {text}")),
                true => Ok(Verdict::Refused),
            };
        }
    };
    let answers = world::ask(&server);
    let verdict = judge(world, damage, &answers, &error_log())?;
    check_retained(damage, &world::read(&env.copy(1)))?;

    // And on from there.
    let added = world::go_on(&server);
    let Server { env, instance } = server;
    let env = if random.chance(1, 2) {
        let closed = instance.close();
        drop(instance);
        closed.map(|()| env).map_err(|e| format!("no clean stop: {e}"))?
    } else {
        let copy = env.copy(random.next_u64());
        drop(instance);
        copy
    };
    check_retained(damage, &world::read(&env)).map_err(|e| format!("after the stop: {e}"))?;
    let server = world.start(env.clone()).map_err(|e| format!("no second start: {e}"))?;
    // Compactions take tables away, also if a filter is damaged that they have no use for; but none
    // that lacks something. One may take it away while the questions are asked.
    let is_gone =
        is_table_file(&damage.file) && damage.files.contains_key(&damage.file) && !env.exists(&damage.file);
    let mut later = world::ask(&server);
    if is_gone
        && let Some((question, answer)) =
            later.iter().find(|(_, answer)| is_error(answer) && answer.contains(&name(&damage.file)))
    {
        return Err(format!("the table file is gone, and {question} answers {answer}"));
    }
    later.insert(EXECUTED.to_owned(), answers[EXECUTED].clone());
    let worse: Vec<_> =
        answers.iter().filter(|(q, answer)| later[*q] != **answer && !is_error(answer)).collect();
    if let Some((question, answer)) = worse.first() {
        // A compaction may have found what nobody had read before.
        let is_told =
            is_error(&later[*question]) && damage.is_named_in(&(later[*question].clone() + &error_log()));
        if !is_told {
            return Err(differ("after a second start", question, answer, &later[*question]));
        }
    }
    if let Ok(id) = added {
        let newest = common::run(&mut server.session(), "SELECT MAX(id) FROM d.later");
        let newest = newest
            .map(|printed| printed.rows.concat().into_iter().flatten().collect::<String>())
            .map_err(|e| e.to_string());
        match newest {
            Ok(newest) if newest != id => {
                return Err(format!("row {id} was added, and the newest is {newest}"));
            }
            Err(error) if !damage.is_named_in(&error) => return Err(format!("row {id} was added: {error}")),
            _ => {}
        }
    }
    Ok(verdict)
}

fn is_error(answer: &str) -> bool {
    // CHECK TABLE tells in rows.
    answer.starts_with("ERROR") || answer.contains(" | error | ") || answer.contains(" | Error | ")
}

fn differ(when: &str, question: &str, expected: &str, found: &str) -> String {
    let cut = |text: &str| text.chars().take(600).collect::<String>();
    format!(
        "{when}: {question}\nexpected: {}\nfound: {}\nerror log: {}",
        cut(expected),
        cut(found),
        error_log()
    )
}

/// Whether a server's answers may be what they are.
fn judge(world: &World, damage: &Damage, answers: &Answers, error_log: &str) -> Outcome {
    let mut expected = &world.expected;
    let mut verdict = Verdict::Right;
    if answers[EXECUTED] != expected[EXECUTED] {
        let shorter = world.shorter.get(&answers[EXECUTED]);
        let torn = !world.is_clean && error_log.contains("cut off") && damage.is_named_in(error_log);
        match shorter {
            Some(shorter) if torn => (expected, verdict) = (shorter, Verdict::TornEnd),
            _ => return Err(differ("lost", EXECUTED, &expected[EXECUTED], &answers[EXECUTED])),
        }
    }
    for (question, answer) in answers {
        let expected = &expected[question];
        if answer == expected {
            continue;
        }
        if !is_error(answer) {
            return Err(differ("another answer", question, expected, answer));
        }
        if !damage.is_named_in(&format!("{answer}{error_log}")) {
            return Err(differ("an error without the file's name", question, expected, answer));
        }
        verdict = verdict.max(Verdict::Error);
    }
    Ok(verdict)
}

/// Files that hold something else than before, or are new.
fn changed(before: &Files, after: &Files) -> Vec<String> {
    let all: std::collections::BTreeSet<_> = before.keys().chain(after.keys()).collect();
    all.into_iter().filter(|path| before.get(*path) != after.get(*path)).map(|path| name(path)).collect()
}

/// Whether the log's bytes are there, which a repair could need.
fn check_retained(damage: &Damage, after: &Files) -> Result<(), String> {
    for (path, before) in damage.files.iter().filter(|(path, _)| is_log_file(path)) {
        let Some(now) = after.get(path) else { return Err(format!("{} is gone", name(path))) };
        let (begin, end) = before.split_at(now.len().min(before.len()));
        // The in-use flag is cleared.
        let differs =
            begin.iter().zip(now).enumerate().any(|(at, (a, b))| a != b && !(at == 21 && *a ^ *b == 1));
        if differs || now.len() > before.len() {
            return Err(format!("{} holds something else", name(path)));
        }
        if end.iter().any(|byte| *byte != 0) {
            let used = end.iter().rposition(|byte| *byte != 0).unwrap() + 1;
            let is_copy = |(other, bytes): (&std::path::PathBuf, &Vec<u8>)| {
                name(other).starts_with(&format!("{}.cut", name(path))) && bytes.starts_with(&end[..used])
            };
            if !after.iter().any(is_copy) {
                return Err(format!("{} was cut, and what was cut off is not kept", name(path)));
            }
        }
    }
    Ok(())
}

#[test]
fn a_damaged_file_is_never_a_silent_loss() {
    const STACK: usize = 64 << 20;
    let trials = || {
        stdx::stack::begin(STACK);
        trials();
    };
    thread::Builder::new().stack_size(STACK).spawn(trials).unwrap().join().unwrap();
}

/// Trials on one world.
const TRIALS_EACH: u64 = 40;

fn trials() {
    let asked = |name: &str| std::env::var(name).ok().map(|n| n.parse::<u64>().unwrap());
    let (mut left, first) = (asked("ROT_TRIALS").unwrap_or(120), asked("ROT_SEED").unwrap_or(1));
    listen();
    let mut counts: BTreeMap<Verdict, u64> = BTreeMap::new();
    let mut kinds: BTreeMap<(String, Verdict), u64> = BTreeMap::new();
    let (mut findings, mut worlds) = (0, 0);
    for seed in first.. {
        let world = World::new(seed);
        worlds += 1;
        let panics = error_log().contains(PANIC);
        assert!(!panics, "world {seed}: {}", error_log());
        for trial_number in 0..TRIALS_EACH.min(left) {
            let mut random = Random::new(seed << 20 | trial_number);
            let damage = Damage::draw(&mut random, &world.files, &world.older);
            ERROR_LOG.lock().unwrap().clear();
            let outcome = catch_unwind(AssertUnwindSafe(|| trial(&world, &damage, &mut random)));
            let outcome = outcome.unwrap_or_else(|_| Err(error_log()));
            let outcome = if error_log().contains(PANIC) { Err(error_log()) } else { outcome };
            match outcome {
                Ok(verdict) => {
                    *counts.entry(verdict).or_default() += 1;
                    *kinds.entry((damage.kind(), verdict)).or_default() += 1;
                }
                Err(finding) => {
                    findings += 1;
                    let stop = if world.is_clean { "a clean stop" } else { "no clean stop" };
                    println!("ROT_SEED={seed}, trial {trial_number}, after {stop}, {damage}:\n{finding}\n");
                }
            }
        }
        left = left.saturating_sub(TRIALS_EACH);
        if left == 0 || findings >= 30 {
            break;
        }
    }
    for ((kind, verdict), count) in kinds {
        println!("{kind:>20} {verdict:?}: {count}");
    }
    println!("{worlds} worlds, {counts:?}, {findings} findings");
    assert_eq!(findings, 0, "see above");
    assert!(counts.contains_key(&Verdict::Right) && counts.contains_key(&Verdict::Refused), "{counts:?}");
}
