//! Servers that follow each other.

use super::{Server, now, start};
use std::time::Duration;

/// How long a replica may take for what it is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server without GTIDs of its own, which would differ from the source's.
pub fn server(id: u32) -> Server {
    let server = start(&[&format!("--server-id={id}")]);
    server.sql("RESET BINARY LOGS AND GTIDS");
    server
}

/// Points a replica at its source, by GTIDs, with further options of CHANGE REPLICATION SOURCE TO.
/// It is not started.
pub fn follow(replica: &Server, source: &Server, options: &str) {
    replica.sql(&format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {}, SOURCE_USER = 'root',
         SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_RETRY_COUNT = 2 {options}",
        source.port
    ));
}

/// Waits until a query, which may fail until then, has this answer.
pub fn await_answer(server: &Server, sql: &str, wanted: &str) {
    let begun = now();
    loop {
        let output = server.client("mariadb", &["--batch", "--skip-column-names", "-e", sql]);
        let answer = String::from_utf8(output.stdout).unwrap();
        if answer.trim() == wanted {
            return;
        }
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let status = || server.sql("SHOW REPLICA STATUS");
        assert!(now() - begun < PATIENCE, "{sql}: {answer}{error}, not {wanted}; {}", status());
        std::thread::sleep(Duration::from_millis(20));
    }
}
