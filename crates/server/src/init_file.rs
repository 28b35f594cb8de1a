//! `init_file`: a file of SQL statements that each start runs, as MySQL does.
//!
//! 1. The file is read as the client `mysql` reads a script (`script.rs`): statements end with the
//!    delimiter, which `DELIMITER` changes, and comments are skipped.
//! 2. Root runs them, before any socket is opened (`startup_session.rs`); results are thrown away.
//! 3. The first one that fails ends them: the error log has its line, and the server goes on to
//!    serve. A file that can't be read, or ends within quotes or a comment, ends the start, before
//!    a statement has run.

use crate::script::{Script, Statement};
use crate::startup_session::StartupSession;
use env::{Env, OpenMode};
use sql::Instance;
use sql::variables::ids;
use std::path::Path;
use std::sync::Arc;

/// The longest file that is read, in bytes.
const LEN_MAX: u64 = 64 << 20;

/// Runs the file that `init_file` names, if it names one; a relative path begins at `datadir`.
///
/// # Errors
/// The file can't be read, or is no script.
pub(crate) fn run(env: &dyn Env, database: &Arc<Instance>, datadir: &Path) -> Result<(), String> {
    let path = database.globals().text(ids::INIT_FILE);
    if path.is_empty() {
        return Ok(());
    }
    let path = datadir.join(&*path);
    let text = read(env, &path)?;
    let statements = statements(&path.display().to_string(), &text)?;
    let count = statements.len();
    let outcome = StartupSession::run(database, |session| {
        statements.iter().try_for_each(|statement| {
            session.execute(&statement.text).map_err(|e| format!("{}: {e}", statement.here()))
        })
    });
    match outcome {
        Ok(()) => tracing::info!("init_file: ran {count} statements of '{}'", path.display()),
        Err(e) => tracing::error!("init_file: {e}; the statements after this one were not run"),
    }
    Ok(())
}

/// The whole file.
fn read(env: &dyn Env, path: &Path) -> Result<Vec<u8>, String> {
    let failed = |e: std::io::Error| format!("can't read '{}': {e}", path.display());
    let file = env.open(path, OpenMode::Read).map_err(failed)?;
    let len = file.len().map_err(failed)?;
    if len > LEN_MAX {
        return Err(format!(
            "'{}' has {len} bytes, and {LEN_MAX} is the most that is read: load data with a client",
            path.display()
        ));
    }
    let mut text = vec![0; usize::try_from(len).map_err(|e| e.to_string())?];
    file.read_exact_at(&mut text, 0).map_err(failed)?;
    Ok(text)
}

/// The statements of a script that is called `name`.
fn statements(name: &str, text: &[u8]) -> Result<Vec<Statement>, String> {
    let mut script = Script::new(name, text);
    let mut statements = Vec::new();
    while let Some(statement) = script.next_statement().map_err(|e| e.to_string())? {
        statements.push(statement);
    }
    if script.is_unfinished() {
        return Err(format!("'{name}' ends within quotes or a comment"));
    }
    match script.files().first() {
        None => Ok(statements),
        Some((line, file)) => Err(format!(
            "{name}:{line}: SOURCE is a command of the client mysql, not of the server: put the statements of '{file}' here"
        )),
    }
}
