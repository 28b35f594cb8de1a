//! Every statement by accounts of every set of privileges: what MySQL denies is denied, and what it
//! allows is allowed but where a case says why not.
#![allow(clippy::unwrap_used)]

use mysql::OptsBuilder;
use privileges::run::{Server, run};
use privileges::{cases, compare, record, sets};
use servers::{Launch, ServerKind};
use std::path::Path;

#[test]
fn nothing_is_allowed_that_mysql_denies() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = cases::read(&folder.join("cases")).unwrap();
    let home = tempfile::tempdir().unwrap();
    let launch = Launch::new(ServerKind::Duramen, home.path()).unwrap().arg("--sync-binlog=0");
    let running = launch.start().unwrap();
    let socket = running.socket().to_string_lossy().into_owned();
    let server = Server::new(OptsBuilder::default().user(Some("root")).socket(Some(socket)));
    let ours = run(&server, &files, sets::all(&files), |_, _| {}).unwrap();
    let expected = folder.join("expected");
    let pairs = files.iter().zip(&ours.files);
    let theirs: Vec<_> =
        pairs.map(|(file, cells)| record::cells(&expected, file, cells, &ours.sets).unwrap()).collect();
    let summary = compare::compare(&files, &ours, &theirs);
    println!("{summary}");
    let wrong: Vec<String> = summary.wrong().map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "\n{}\n{summary}", wrong.join("\n\n"));
}
