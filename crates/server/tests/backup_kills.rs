//! `duramen backup --continuous`, `duramen restore` and `duramen backup prune`, killed at random
//! moments: what they leave is a good archive, and a restore to its end has every transaction that
//! is archived, each acknowledged one among them.
//!
//! `DURAMEN_KILL_ROUNDS` kills; by default 60, and fewer if that takes more than 50 seconds.
//! `DURAMEN_SEED` draws the moments.
// The disk is a real one: what is damaged on it is no business of the simulated one.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use common::backups::Scene;
use common::shop::{assert_same, at_work, dump, point, start_on};
use common::{DURAMEN, Server, now};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use stdx::random::Random;

fn number_of(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |value| value.parse().unwrap())
}

/// A log file's name and an offset in it.
fn position(text: &str) -> (String, u64) {
    let (name, offset) = text.trim().rsplit_once(':').unwrap();
    (name.to_owned(), offset.parse().unwrap())
}

/// Where the first transaction of a log file ends that begins at `from` or later; `None` if nothing
/// follows it.
fn first_end(scene: &Scene, name: &str, from: u64) -> Option<u64> {
    let events = scene.server().sql(&format!("show binlog events in '{name}' from {from} limit 200"));
    let rows = events.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let bounds = rows.filter(|row| matches!(row[2], "Gtid" | "Anonymous_Gtid" | "Rotate" | "Stop"));
    bounds.map(|row| row[1].parse().unwrap()).nth(1)
}

/// Rows that were acknowledged one after the other, and where the log ended after each.
struct Ledger {
    ends: Vec<(String, u64)>,
}

impl Ledger {
    fn new(server: &Server) -> Self {
        server.sql("create table shop.ledger (n int primary key)");
        Self { ends: Vec::new() }
    }

    /// Changes all tables for so long.
    fn at_work(&mut self, server: &Server, time: Duration) {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut client = server.connect();
                while !stop.load(Relaxed) {
                    client.query(format!("insert into shop.ledger values ({})", self.ends.len())).unwrap();
                    let status = client.query("show binary log status").unwrap().rows.swap_remove(0);
                    let text = |at: usize| String::from_utf8(status[at].clone().unwrap()).unwrap();
                    self.ends.push((text(0), text(1).parse().unwrap()));
                }
            });
            at_work(server, time);
            stop.store(true, Relaxed);
        });
    }

    /// The rows are the first ones, with all that were acknowledged in front of a position.
    fn check(&self, restored: &Server, round: u64, last: &str, at: u64) {
        let rows = restored.sql("select count(*), ifnull(max(n) + 1, 0) from shop.ledger");
        let (count, next) = rows.trim().split_once('\t').unwrap();
        assert_eq!(count, next, "round {round}");
        let archived = self.ends.iter().filter(|(n, end)| (n.len(), &**n, *end) <= (last.len(), last, at));
        let (count, archived) = (count.parse::<usize>().unwrap(), archived.count());
        assert!(count >= archived, "round {round}: {count} rows, and {archived} were archived");
        // One more may have been under way.
        assert!(count <= self.ends.len(), "round {round}: {count} rows of {}", self.ends.len());
    }
}

/// Restores to the end of what is archived, and looks for a transaction in front of it that is not
/// restored.
fn check_restored(scene: &Scene, ledger: &Ledger, round: u64) {
    let list = scene.well(&["backup", "list", &scene.from()]);
    let (archived, end) = position(list.lines().last().unwrap().strip_prefix("log archived to ").unwrap());
    let name = format!("restored {round}");
    let out = scene.well(&["restore", &scene.from(), &scene.target(&name)]);
    let ended = out.lines().find_map(|line| line.strip_prefix("ended at ")).unwrap();
    let (last, at) = position(ended.split_once(',').unwrap().0);
    let from = if last == archived { at } else { 4 };
    let missed = first_end(scene, &archived, from).filter(|missed| *missed <= end);
    assert_eq!(missed, None, "round {round}: archived to {archived}:{end}, and restored to {last}:{at}");
    let restored = start_on(Path::new(&scene.path(&name)));
    ledger.check(&restored, round, &last, at);
    drop(restored);
    std::fs::remove_dir_all(scene.path(&name)).unwrap();
}

/// Runs `duramen` for so long.
fn kill(args: &[&str], time: Duration) {
    let mut child =
        Command::new(DURAMEN).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(time);
    let _ = child.kill();
    child.wait().unwrap();
}

fn kill_restore(scene: &Scene, time: Duration) {
    kill(&["restore", &scene.from(), &scene.target("killed")], time);
    // It may have been quicker.
    let _ = std::fs::remove_dir_all(scene.path("killed"));
}

#[test]
fn kills_at_random_moments_lose_nothing_that_is_archived() {
    let (rounds, seed) = (number_of("DURAMEN_KILL_ROUNDS", 60), number_of("DURAMEN_SEED", 1));
    println!("DURAMEN_SEED={seed}");
    let mut random = Random::new(seed);
    let scene = Scene::new();
    let mut ledger = Ledger::new(scene.server());
    ledger.at_work(scene.server(), Duration::from_millis(100));
    scene.take();
    let time = if std::env::var("DURAMEN_KILL_ROUNDS").is_ok() { 3600 } else { 50 };
    let (begun, mut kills, mut by_command) = (now(), 0, [0; 3]);
    while kills < rounds && now() - begun < Duration::from_secs(time) {
        kills += 1;
        let command = [0, 0, 1, 0, 0, 2][(kills % 6) as usize];
        by_command[command] += 1;
        if command == 1 {
            kill_restore(&scene, Duration::from_micros(random.below(120_000)));
        } else if command == 2 {
            let prune = ["backup", "prune", &scene.from(), "--keep-last=2"];
            kill(&prune, Duration::from_micros(random.below(60_000)));
        } else {
            let [datadir, to] = scene.take_args();
            let mut child = Command::new(DURAMEN)
                .args(["backup", &datadir, &to, "--continuous", "--every=1"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Some are ended as they take their first backup, some as they go on with the log.
            let longest = if random.below(4) == 0 { 1500 } else { 120 };
            ledger.at_work(scene.server(), Duration::from_millis(1 + random.below(longest)));
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let (code, out, errors) = scene.run(&["backup", "verify", &scene.from(), "--read-only"]);
        assert_eq!(code, 0, "kill {kills}: {out} {errors}");
        check_restored(&scene, &ledger, kills);
    }
    let [backups, restores, prunes] = by_command;
    let rows = ledger.ends.len();
    println!("{kills} kills: {backups} of backup, {restores} of restore, {prunes} of prune; {rows} rows");
    assert!(kills >= rounds.min(15), "{kills}");
    scene.server().sql("insert into shop.no_key values (1, 'last')");
    std::thread::sleep(Duration::from_millis(200));
    let last = point(scene.server());
    scene.take();
    scene.well(&["backup", "verify", &scene.from()]);
    // A killed restore's name serves again.
    scene.well(&["restore", &scene.from(), &scene.target("killed")]);
    assert_same("end", &dump(&start_on(Path::new(&scene.path("killed")))), &last.dump);
}
