//! What the log says in the error log: an unclean stop and what was cut off, a full disk, a log
//! that stopped.
#![allow(clippy::unwrap_used)]

mod common;

use common::{DIR, group, open, options};
use env::{Env, Fault, OpenMode, SimEnv};
use parking_lot::Mutex;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// What was said, a line each.
#[derive(Clone, Default)]
struct Said(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0 += &format!(" {}={value:?}", field.name());
    }
}

impl Subscriber for Said {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(event.metadata().level().to_string());
        event.record(&mut line);
        self.0.lock().push(line.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What is said meanwhile.
fn listen(act: impl FnOnce()) -> Vec<String> {
    let said = Said::default();
    tracing::subscriber::with_default(said.clone(), act);
    let lines = said.0.lock();
    lines.clone()
}

fn count(lines: &[String], words: &str) -> usize {
    lines.iter().filter(|line| line.contains(words)).count()
}

#[test]
fn a_start_after_an_unclean_stop_says_so() {
    let env = SimEnv::new(1);
    let (log, _) = open(&env, &options()).unwrap();
    let ends: Vec<_> = (1..=3).map(|id| log.commit(group(id, 100), Box::new(())).unwrap()).collect();
    drop(log);
    let copy = env.copy_after_cut(1);
    let said = listen(|| drop(open(&copy, &options()).unwrap()));
    assert_eq!(count(&said, "not shut down cleanly"), 1, "{said:?}");
    assert_eq!(count(&said, "nothing was cut off"), 1, "{said:?}");

    let file = env.open(&Path::new(DIR).join("binlog.000001"), OpenMode::ReadWrite).unwrap();
    file.write_at(b"\xff", ends[0].offset() + 40).unwrap();
    let said = listen(|| open(&env, &options()).unwrap().0.close().unwrap());
    let line = said.iter().find(|line| line.contains("not shut down cleanly")).unwrap();
    let (end, cut) = (ends[0].offset(), ends[2].offset() - ends[0].offset());
    let gtid = |n| format!("{}:{n}", common::UUID);
    for word in [
        "binlog.000001".to_owned(),
        format!("end={end}"),
        format!("cut_bytes={cut}"),
        format!("last_gtid={}", gtid(1)),
        format!("1 whole transactions are in them, up to {}", gtid(3)),
        "binlog.000001.cut".to_owned(),
    ] {
        assert!(line.contains(&word), "{line:?} does not say {word:?}");
    }
    let said = listen(|| drop(open(&env, &options()).unwrap()));
    assert_eq!(said, Vec::<String>::new(), "it was shut down cleanly");
}

/// Only the clients got an error.
#[test]
fn a_full_disk_is_logged_once_and_its_end_too() {
    let env = SimEnv::new(2);
    let (log, _) = open(&env, &options()).unwrap();
    let said = listen(|| {
        env.set_capacity(Some(env.used() + 10_000));
        (1..=100).for_each(|id| drop(log.commit(group(id, 1500), Box::new(()))));
        assert!(log.status().refused.get() > 50);
    });
    assert_eq!(count(&said, "is full"), 1, "{said:?}");
    assert!(said[0].starts_with("ERROR") && said[0].contains(DIR), "{said:?}");
    let said = listen(|| {
        env.advance(Duration::from_secs(61));
        (1..=9).for_each(|id| drop(log.commit(group(id, 1500), Box::new(()))));
    });
    assert_eq!((count(&said, "is full"), said.len()), (1, 1), "{said:?}");
    let said = listen(|| {
        env.set_capacity(None);
        (1..=9).for_each(|id| assert!(log.commit(group(id, 1500), Box::new(())).is_ok()));
    });
    assert_eq!((count(&said, "has room again"), said.len()), (1, 1), "{said:?}");
}

/// It said that the next group would try again, and that a restart was needed.
#[test]
fn a_log_that_stopped_says_one_thing() {
    let env = SimEnv::new(3);
    let mut options = options();
    options.max_binlog_size = 1000;
    let (log, _) = open(&env, &options).unwrap();
    let said = listen(|| {
        env.fail(Fault::SyncDir, "", 0);
        (1..=9).for_each(|id| drop(log.commit(group(id, 700), Box::new(()))));
    });
    assert_eq!(count(&said, "takes no more commits until a restart"), 1, "{said:?}");
    assert_eq!(said.len(), 1, "{said:?}");
}

/// Nor is a rotation that fails for another reason logged with every commit.
#[test]
fn a_rotation_that_fails_is_logged_now_and_then() {
    let env = SimEnv::new(4);
    let mut options = options();
    options.max_binlog_size = 1000;
    let (log, _) = open(&env, &options).unwrap();
    let said = listen(|| {
        for id in 1..=20 {
            env.fail(Fault::Name, "binlog.new", 0);
            log.commit(group(id, 700), Box::new(())).unwrap();
            env.clear_faults();
        }
    });
    assert_eq!((count(&said, "could not rotate"), said.len()), (1, 1), "{said:?}");
}
