//! Legal definitions at the edges: whatever the server accepted is there, unchanged, after stops,
//! kills and on copies (R1 of ARCHITECTURE.md).
//!
//! 1. [`definition_generator`] makes cases from a seed: a session with its modes, a database of its
//!    own, and statements that define tables, functions and accounts at every limit, change them
//!    and fill them. What the server refuses is counted, and fine.
//! 2. [`batch`] runs cases on one server, takes a [`snapshot`] of all that can be asked, and asks
//!    again after each [`Route`]: a clean stop and a start, a kill -9 and a start, and each of
//!    these again, the other way.
//! 3. [`run`] goes from batch to batch. Where a server doesn't start, or shows something else than
//!    before, it looks for the one case; [`reduce`] removes from it what it doesn't take, and the
//!    script is printed.
//!
//! [`replica`] has a MySQL or MariaDB follow such cases, and compares what it shows with the
//! source. [`kills`] has four sessions that rebuild, index, rename and drop their tables while the
//! server is killed; [`rot`] damages files of a data directory and checks what a start makes of
//! them.
//!
//! [`Route`]: batch::Route

pub mod batch;
pub mod kills;
pub mod reduce;
pub mod replica;
pub mod rot;
pub mod run;
pub mod snapshot;

use mysql::{Conn, OptsBuilder};
use servers::{Launch, Running, ServerKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use servers::Result;

/// No statement of these programs takes longer, unless the server hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A session of the server as root.
pub fn connect(server: &Running) -> Result<Conn> {
    let socket = server.socket().to_string_lossy().into_owned();
    let options = OptsBuilder::default().user(Some("root")).socket(Some(socket)).prefer_socket(false);
    Ok(Conn::new(options.read_timeout(Some(PATIENCE)))?)
}

/// How servers are started: the `binary`, or the one next to the running program; data in `folder`.
pub fn launch(folder: &Path, binary: Option<&PathBuf>) -> Result<Launch> {
    // Functions are drawn with and without a word on what they do.
    let launch = Launch::new(ServerKind::Duramen, folder)?.arg("--log-bin-trust-function-creators=ON");
    Ok(match binary {
        Some(binary) => launch.binary(binary),
        None => launch,
    })
}
