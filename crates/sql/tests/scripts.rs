//! Scripts that read as prose: SQL in, tables out, over a simulated disk.
//!
//! A script is paragraphs divided by blank lines. A line `> statement` is run, and what follows it is what it must print;
//! `b> statement` is run in another session, made when first named. `# words` are for people. `! restart` stops and opens
//! the database again; `! power cut` lets the machine lose power first.
//!
//! `DURAMEN_UPDATE_SCRIPTS=1 cargo test -p sql --test scripts` writes what is printed now into the scripts: read the
//! difference before believing it.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use common::{Server, describe};
use env::{Env, OpenMode, RealEnv};

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
        let printed = run(&text);
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

/// Runs a script and gives it back with what it prints now.
fn run(text: &str) -> String {
    let mut server = Server::new(1);
    let mut sessions = BTreeMap::new();
    let mut out = String::new();
    let mut skipping = false;
    for line in text.lines() {
        let statement = line.split_once("> ").filter(|(name, _)| name.len() <= 1);
        match (statement, line.strip_prefix("! ")) {
            _ if line.is_empty() || line.starts_with('#') => {
                skipping = false;
                out += &format!("{line}\n");
            }
            (Some((name, sql)), _) => {
                skipping = true;
                out += &format!("{line}\n");
                let session = sessions.entry(name.to_owned()).or_insert_with(|| server.session());
                out += &describe(session, sql);
            }
            (None, Some(order)) => {
                out += &format!("{line}\n");
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
