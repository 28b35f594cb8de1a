//! The status page in a real browser: what it says is what the server counts.
//!
//! `cargo xtask test` installs Chromium; `cargo xtask page` takes pictures to look at.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use std::process::Command;

/// The page as it is after a few seconds of its script, and what the browser complained of.
fn opened(server: &Server) -> (String, String) {
    let address = server.sql("SELECT @@global.duramen_metrics_address");
    let home = tempfile::tempdir().unwrap();
    let output = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--enable-logging=stderr",
        ])
        .arg(format!("--user-data-dir={}", home.path().display()))
        .args(["--virtual-time-budget=4000", "--dump-dom", &format!("http://{}/", address.trim())])
        .output()
        .unwrap_or_else(|e| panic!("chromium (cargo xtask test installs it): {e}"));
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

/// The text of a part of the page, without its tags.
fn text_of(page: &str, id: &str) -> String {
    let from = page.split(&format!("id=\"{id}\"")).nth(1).unwrap_or_else(|| panic!("no {id} in {page}"));
    // What follows is the next section, card, or the main part.
    let end = ["<section", "id=\"chart-", "<main"].iter().filter_map(|end| from.find(end)).min();
    let mut text = String::new();
    for piece in from[from.find('>').unwrap() + 1..end.unwrap_or(from.len())].split('<') {
        text.push_str(piece.split_once('>').map_or(piece, |(_, text)| text));
        text.push(' ');
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn shown(server: &Server, name: &str) -> String {
    let row = server.sql(&format!("SHOW GLOBAL STATUS LIKE '{name}'"));
    row.trim().rsplit('\t').next().unwrap().to_owned()
}

#[test]
fn it_shows_what_the_server_counts() {
    let server = start(&["--duramen-metrics-address=0"]);
    server.sql("CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY, b VARCHAR(40))");
    server.sql("INSERT INTO d.t VALUES (1, '<b>my secret</b>'), (2, 'x'), (3, 'y')");
    let mut holder = server.connect();
    holder.query("BEGIN").unwrap();
    holder.query("UPDATE d.t SET b = 'z'").unwrap();
    let mut waiter = server.connect();
    let waiting = std::thread::spawn(move || waiter.query("DELETE FROM d.t WHERE a = 2").unwrap());
    while shown(&server, "Innodb_row_lock_current_waits") != "1" {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    // The next sample has it.
    std::thread::sleep(std::time::Duration::from_millis(2500));
    let (page, complaints) = opened(&server);
    for complaint in ["Refused to", "Uncaught", "CONSOLE"] {
        assert!(!complaints.contains(complaint), "{complaints}");
    }
    assert!(page.contains("id=\"state\" class=\"live\""), "{}", text_of(&page, "state"));
    assert!(text_of(&page, "server").contains(&format!(":{} · 8.4.8-duramen-", server.port)));
    let check = |id: &str, expected: &str| {
        let text = text_of(&page, id);
        assert!(text.contains(expected), "{id} has no {expected:?}: {text}");
    };
    check("chart-locks", &format!("Row locks held {} −5 min", shown(&server, "Duramen_row_locks")));
    check("chart-waiting", "Sessions waiting for rows 1 now");
    // The one that would ask for SHOW STATUS would be a third.
    check("chart-threads", "running connected 2 ");
    check("store", &format!("durable up to {}", shown(&server, "Duramen_log_durable_position")));
    check("waits", "row, to change it d.t, PRIMARY DELETE FROM `d` . `t` WHERE `a` = ?");
    check("transactions", "nothing: waits for its client");
    check("attention", "1 session waits for locks");
    check("statements", "INSERT INTO `d` . `t` VALUES");
    check("followers", "Nobody reads the log.");
    check("channels", "This server follows no source.");
    assert!(!page.contains("secret"));
    holder.query("COMMIT").unwrap();
    waiting.join().unwrap();
}
