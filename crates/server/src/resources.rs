//! What the operating system lets this process have.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sql::variables::{GlobalVariables, Value, ids};
use std::sync::Arc;

/// Files that the server itself has open, at most: log files and their pool, tables, keys,
/// listening sockets.
const FILES_OF_OWN: u64 = 1024;

/// Raises the limit on open files as far as it goes, for programs that open all of a server's.
pub(crate) fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // Where it stays as it is, opening a file will tell.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Lets a write beyond the limit on files' sizes (`ulimit -f`) fail with an error, which is told;
/// the signal would end the process without a word.
pub(crate) fn report_file_size_limit() -> std::io::Result<()> {
    signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default()).map(drop)
}

/// Raises the limit on open files as far as it goes, and lowers `max_connections` to what it
/// allows.
pub(crate) fn raise_open_files(variables: &GlobalVariables) {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
    if let Err(e) = setrlimit(Resource::Nofile, raised) {
        tracing::warn!("can't raise the limit on open files: {e}");
    }
    let Some(files) = getrlimit(Resource::Nofile).current else { return };
    variables.put(ids::OPEN_FILES_LIMIT, Value::UInt(files));
    // A connection has its socket and the handle that shuts it.
    let possible = files.saturating_sub(FILES_OF_OWN) / 2;
    let wanted = variables.uint(ids::MAX_CONNECTIONS);
    if possible < wanted {
        let possible = possible.max(1);
        tracing::warn!(
            "max_connections is {possible} instead of {wanted}: the system allows {files} open files (ulimit -n)"
        );
        variables.put(ids::MAX_CONNECTIONS, Value::UInt(possible));
    }
}
