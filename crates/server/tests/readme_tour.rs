//! The README's tour, line by line: each command prints what stands below it.
#![allow(clippy::unwrap_used)]

use env::{Env, RealEnv};
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

const README: &str = include_str!("../../../README.md");

/// Commands, each with the lines that it prints.
fn tour() -> Vec<(&'static str, Vec<&'static str>)> {
    let (_, rest) = README.split_once("```console\n").unwrap();
    let (block, _) = rest.split_once("```").unwrap();
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block.lines() {
        match line.strip_prefix("$ ") {
            Some(command) => commands.push((command, Vec::new())),
            None => commands.last_mut().unwrap().1.push(line),
        }
    }
    commands
}

/// True if a printed line is the expected one, in which `...` stands for anything.
fn is_line(expected: &str, printed: &str) -> bool {
    let mut rest = printed;
    for (i, piece) in expected.split("...").enumerate() {
        match rest.find(piece) {
            Some(at) if i > 0 || at == 0 => rest = &rest[at + piece.len()..],
            _ => return false,
        }
    }
    rest.is_empty() || expected.ends_with("...")
}

#[test]
fn the_tour_prints_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    // The reader's server has the usual port, and `duramen` on its path.
    let program = folder.path().join("duramen");
    let script = format!("#!/bin/sh\nexec {} \"$@\" --port={port}\n", env!("CARGO_BIN_EXE_duramen"));
    RealEnv.replace_file(&program, script.as_bytes()).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash")
        .current_dir(folder.path())
        .env("PATH", path)
        .env("MYSQL_TCP_PORT", port.to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut lines = shell.stdin.take().unwrap();
    for (command, _) in tour() {
        writeln!(lines, "{command}\necho '$ done'").unwrap();
    }
    drop(lines);
    let output = shell.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    let log = fs::read_to_string(folder.path().join("tour.log")).unwrap_or_default();
    end_server(folder.path());
    let parts: Vec<Vec<&str>> = printed.split("$ done\n").map(|part| part.lines().collect()).collect();
    for ((command, expected), printed) in tour().iter().zip(&parts) {
        let same =
            expected.len() == printed.len() && expected.iter().zip(printed).all(|(e, p)| is_line(e, p));
        assert!(same, "{command}\nprinted {printed:#?}\ninstead of {expected:#?}\nthe server says:\n{log}");
    }
    assert!(tour().len() > 7 && parts.len() == tour().len() + 1);
}

/// Where the tour ended in the middle its server runs still.
fn end_server(folder: &Path) {
    if let Ok(pid) = fs::read_to_string(folder.join("tour/duramen.pid")) {
        let _ended = Command::new("kill").args(["-9", pid.trim()]).status();
    }
}
