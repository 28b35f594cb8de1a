//! Root's first password, from the file that `duramen_root_password_file` names.
//!
//! A new data directory has root without a password, which anybody on this machine could use. An
//! installed service must not listen so: with this option the password is set after the recovery
//! and before any socket is opened.
//!
//! (P1) It is set whenever root has none, not at the first start alone: a crash between the two
//!      leaves nothing open. A password that somebody has set stays.

use crate::accounts::Accounts;
use crate::secret_file::first_line;
use crate::startup_session::StartupSession;
use env::Env;
use sql::Instance;
use sql::variables::ids;
use std::path::Path;
use std::sync::Arc;

/// What the file must have for its first line, so that it can't be guessed.
const LEN_MIN: usize = 12;

/// Gives root@localhost a password if the option names a file and root has none.
///
/// # Errors
/// The file is not as it must be, or the password can't be set.
pub(crate) fn set(env: &Arc<dyn Env>, database: &Arc<Instance>, datadir: &Path) -> Result<(), String> {
    let file = database.globals().text(ids::DURAMEN_ROOT_PASSWORD_FILE);
    if file.is_empty() || !Accounts(database).root_has_no_password() {
        return Ok(());
    }
    if !database.channels().all().is_empty() {
        // A transaction of its own would set it apart from its source.
        return Err(
            "root has no password, and this is a replica, which has its accounts from its source: set root's \
                    password there, or start without this option"
                .to_owned(),
        );
    }
    let line = first_line(&**env, &datadir.join(&*file), LEN_MIN)?;
    let password = String::from_utf8(line).map_err(|_| format!("the first line of '{file}' is not UTF-8"))?;
    if password.chars().any(char::is_control) {
        return Err(format!("the first line of '{file}' has control characters: take others"));
    }
    let quoted = password.replace('\\', "\\\\").replace('\'', "''");
    let statement = format!("ALTER USER 'root'@'localhost' IDENTIFIED BY '{quoted}'");
    StartupSession::run(database, |session| {
        session.execute(b"SET SESSION sql_mode = ''")?;
        session.execute(statement.as_bytes())
    })
    .map_err(|e| format!("root's password can't be set: {e}"))?;
    tracing::info!("root had no password and got the one in '{file}'");
    Ok(())
}
