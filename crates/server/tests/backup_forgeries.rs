//! Pieces of a backup that are whole and say what is not so: without a key, who can write to the
//! folder can make them, and so can a program that puts bytes where they don't belong.
// The disk is a real one: what is forged on it is no business of the simulated one.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

mod common;

use aws_lc_rs::digest::{SHA256, digest};
use common::backups::Scene;
use common::shop::at_work;
use std::path::{Path, PathBuf};
use std::time::Duration;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// A piece of this content, as docs/formats/backup.md has it.
fn forge(scene: &Scene, path: &Path, content: &[u8]) {
    let name = path.strip_prefix(scene.repository()).unwrap().to_str().unwrap();
    let mut out = b"DURPIECE\x02\x00".to_vec();
    out.extend((name.len() as u16).to_le_bytes());
    out.extend([0; 32]);
    out.extend(name.as_bytes());
    out.extend(xxh3_64(&out).to_le_bytes());
    let mut end = digest(&SHA256, content).as_ref().to_vec();
    end.extend((content.len() as u64).to_le_bytes());
    for (number, (bytes, last)) in [(content, 0), (&end, 1 << 31)].into_iter().enumerate() {
        let mut head = (bytes.len() as u32 + 8).to_le_bytes().to_vec();
        head.extend((bytes.len() as u32 | last).to_le_bytes());
        let mut sum = Xxh3::new();
        sum.update(&head);
        sum.update(&(number as u32).to_le_bytes());
        sum.update(bytes);
        out.extend(head);
        out.extend(bytes);
        out.extend(sum.digest().to_le_bytes());
    }
    std::fs::write(path, out).unwrap();
}

/// The content of a piece, which is not encrypted.
fn content(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut at = 44 + usize::from(u16::from_le_bytes([bytes[10], bytes[11]])) + 8;
    let mut content = Vec::new();
    loop {
        let (len, bits) = (word(at) as usize, word(at + 4));
        let stored = &bytes[at + 8..at + 8 + len - 8];
        if bits >> 31 != 0 {
            return content;
        }
        match (bits >> 30) & 1 {
            0 => content.extend(stored),
            _ => content
                .extend(lz4_flex::block::decompress(stored, (bits & ((1 << 30) - 1)) as usize).unwrap()),
        }
        at += 8 + len;
    }
}

/// The events of a log file: where they begin, and their type.
fn events(log: &[u8]) -> Vec<(usize, u8)> {
    let (mut at, mut found) = (4, Vec::new());
    while at < log.len() {
        found.push((at, log[at + 4]));
        at += u32::from_le_bytes(log[at + 9..at + 13].try_into().unwrap()) as usize;
    }
    found
}

/// The last transaction of a log.
fn last_transaction(log: &[u8]) -> Vec<u8> {
    const GTID: u8 = 33;
    let begin = events(log).into_iter().rfind(|(_, kind)| *kind == GTID).unwrap().0;
    log[begin..].to_vec()
}

/// The same events where they would stand behind `at`.
fn moved_to(at: usize, transaction: &[u8]) -> Vec<u8> {
    // Offsets as in a file.
    let mut bytes = [b"\xfebin", transaction].concat();
    for (begin, _) in events(&bytes.clone()) {
        let len = u32::from_le_bytes(bytes[begin + 9..begin + 13].try_into().unwrap()) as usize;
        let end = (at + begin - 4 + len) as u32;
        bytes[begin + 13..begin + 17].copy_from_slice(&end.to_le_bytes());
        let sum = crc32fast::hash(&bytes[begin..begin + len - 4]);
        bytes[begin + len - 4..begin + len].copy_from_slice(&sum.to_le_bytes());
    }
    bytes[4..].to_vec()
}

fn manifests(scene: &Scene) -> Vec<PathBuf> {
    scene.files("backups").into_iter().filter(|f| f.ends_with("backup.piece")).collect()
}

/// Transactions of another place behind the backup's end: `verify` did not replay them, and so did
/// not find what a restore met.
#[test]
fn a_log_whose_events_stand_elsewhere_is_found_by_verify_and_not_restored() {
    let scene = Scene::new();
    scene.server().sql("insert into shop.no_key values (1, 'one')");
    std::thread::sleep(Duration::from_millis(200));
    scene.take();
    let folder = scene.logs().pop().unwrap();
    let piece = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    let log = content(&piece);
    let transaction = last_transaction(&log);
    let behind = folder.join(format!("{:016}-{:016}.piece", log.len(), log.len() + transaction.len()));
    for (bytes, expected) in
        [(transaction.clone(), "it belongs elsewhere"), (moved_to(log.len(), &transaction), "is there twice")]
    {
        forge(&scene, &behind, &bytes);
        scene.well(&["backup", "verify", &scene.from(), "--read-only"]);
        let (code, out, errors) = scene.run(&["backup", "verify", &scene.from()]);
        assert!(code == 1 && out.contains(expected), "{out} {errors}");
        let errors = scene.refusal(&["restore", &scene.from(), &scene.target("forged")]);
        assert!(errors.contains(expected), "{errors}");
        assert!(!Path::new(&scene.path("forged")).exists());
    }
    std::fs::remove_file(behind).unwrap();
    let out = scene.well(&["backup", "verify", &scene.from()]);
    assert!(out.contains("the log was replayed from the backup"), "{out}");
}

#[test]
fn manifests_that_say_what_is_not_so_are_refused() {
    let scene = Scene::new();
    for _ in 0..3 {
        at_work(scene.server(), Duration::from_millis(300));
        scene.take();
    }
    let manifests = manifests(&scene);
    let changed = |at: usize, line: &str, to: &str| {
        let text = String::from_utf8(content(&manifests[at])).unwrap();
        let lines = text.lines().map(|l| if l.starts_with(line) { to } else { l });
        forge(&scene, &manifests[at], lines.collect::<Vec<_>>().join("\n").as_bytes());
        text
    };
    let text = changed(2, "gtid_executed: ", "gtid_executed: 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5");
    let errors = scene.refusal(&["restore", &scene.from(), &scene.target("forged")]);
    assert!(errors.contains("of another history than the base"), "{errors}");
    let (code, out, errors) = scene.run(&["backup", "verify", &scene.from()]);
    assert!(code == 1 && out.contains("of another history than the base"), "{out} {errors}");
    forge(&scene, &manifests[2], text.as_bytes());
    scene.well(&["backup", "verify", &scene.from(), "--all"]);
    // It names a file outside.
    let text = changed(1, "file: ", "file: 1 00 x.piece ../outside");
    let (code, _, errors) = scene.run(&["backup", "list", &scene.from()]);
    assert!(code == 0 && errors.contains("backup.piece"), "{errors}");
    forge(&scene, &manifests[1], text.as_bytes());
    // It needs less of the log than a later one: prune would remove what is needed.
    let last = scene.logs().pop().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
    let first = content(&manifests[2]);
    let first = String::from_utf8(first).unwrap();
    let first = first.lines().find_map(|l| l.strip_prefix("log_first: ")).unwrap();
    let log_last = text.lines().find_map(|l| l.strip_prefix("log_last: ")).unwrap();
    if log_last > first {
        changed(1, "log_first: ", &format!("log_first: {log_last}"));
        let errors = scene.refusal(&["backup", "prune", &scene.from(), "--keep-last=2"]);
        assert!(errors.contains("contradict each other"), "{last}: {errors}");
    }
}
