//! Encryption at rest, as the server's options and the commands' ask for it; how it works is told
//! in `env/src/encryption.rs`.
//!
//! (E1) Nothing is changed before it is known that all files with rows can be read: a server or a
//!      command without the right key ends with the name of the first file that it can't read.
//! (E2) A setting that asks for encryption without a key stops the start.

use crate::log_tool::ToolError;
use crate::options::Options;
use crate::server::StartError;
use crate::tool::real;
use env::encryption::{EncryptingEnv, Encryption, EncryptionError, first_locked};
use env::{Env, RealEnv, Rows};
use sql::variables::ids;
use std::path::Path;
use std::sync::Arc;
use storage::STORE_FOLDER;

const OPTION: &str = "--master-key-file";

/// `env` with the keys and switches of the server's options, if the data directory can be read with
/// them (E1).
pub(crate) fn of_server(env: &Arc<dyn Env>, options: &Options) -> Result<Arc<dyn Env>, StartError> {
    let variables = &options.variables;
    let datadir = options.path(ids::DATADIR);
    let key_file = variables.text(ids::DURAMEN_MASTER_KEY_FILE);
    let refused = |why: String| StartError::Encryption(why);
    let encryption = match &*key_file {
        "" => Encryption::without_key(),
        path => {
            let path = datadir.join(path);
            if real(&path).starts_with(real(&datadir)) {
                return Err(refused(format!(
                    "duramen_master_key_file: '{}' is inside the data directory: whoever takes that has the key too. Keep it elsewhere",
                    path.display()
                )));
            }
            with_key_file(&**env, &path).map_err(|why| refused(format!("duramen_master_key_file: {why}")))?
        }
    };
    for (id, name, rows) in [
        (ids::BINLOG_ENCRYPTION, "binlog_encryption", &[Rows::Log][..]),
        (ids::DURAMEN_TABLE_ENCRYPTION, "duramen_table_encryption", &[Rows::Tables, Rows::Temporary][..]),
    ] {
        let is_on = variables.bool(id);
        if is_on && !encryption.has_keys() {
            return Err(refused(format!("{name} is ON, and there is no key: set duramen_master_key_file")));
        }
        rows.iter().for_each(|rows| encryption.set(*rows, is_on));
    }
    let env: Arc<dyn Env> = Arc::new(EncryptingEnv::new(env.clone(), Arc::new(encryption)));
    match locked(&*env, &datadir) {
        None => Ok(env),
        Some(locked) => Err(refused(format!(
            "{locked}. Nothing was changed; set duramen_master_key_file to a file that has the key"
        ))),
    }
}

/// Calls `work` with an environment that has the keys of the option `--master-key-file`, and the
/// other arguments. With a key, all files with rows are encrypted that are made in a data
/// directory.
pub(crate) fn with_keys<T>(
    args: &[String],
    work: impl FnOnce(&Arc<dyn Env>, &[String]) -> Result<T, ToolError>,
) -> Result<T, ToolError> {
    let (key_file, args) = divide(args)?;
    let env: Arc<dyn Env> = Arc::new(RealEnv);
    let encryption = match key_file {
        None => Encryption::without_key(),
        Some(path) => {
            let keys = with_key_file(&*env, Path::new(&path));
            keys.map_err(|why| ToolError::Options(format!("{OPTION}: {why}")))?
        }
    };
    for rows in [Rows::Tables, Rows::Log, Rows::Temporary] {
        encryption.set(rows, true);
    }
    // A server may write to what is read.
    encryption.set_watches_other_writers(true);
    let env: Arc<dyn Env> = Arc::new(EncryptingEnv::new(env, Arc::new(encryption)));
    work(&env, &args)
}

/// The option's value, and what else there is.
fn divide(args: &[String]) -> Result<(Option<String>, Vec<String>), ToolError> {
    let (mut found, mut others) = (None, Vec::new());
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let (name, value) = arg.split_once('=').map_or((&**arg, None), |(name, value)| (name, Some(value)));
        if arg == "--" {
            others.push(arg.clone());
            others.extend(rest.by_ref().cloned());
        } else if name.replace('_', "-") != OPTION {
            others.push(arg.clone());
        } else {
            let value = value.map(str::to_owned).or_else(|| rest.next().cloned());
            found =
                Some(value.ok_or_else(|| ToolError::Options(format!("option '{OPTION}' needs a value")))?);
        }
    }
    Ok((found, others))
}

fn with_key_file(env: &dyn Env, path: &Path) -> Result<Encryption, String> {
    let shown = path.display();
    let modes = rustix::fs::stat(path).map_err(|e| format!("can't read '{shown}': {e}"))?.st_mode;
    if modes & 0o007 != 0 {
        return Err(format!("'{shown}' is open to all users of this machine: chmod 600 it"));
    }
    Encryption::with_key_file(env, path).map_err(|e| match EncryptionError::of(&e) {
        Some(known) => known.to_string(),
        None => format!("can't read '{shown}': {e}"),
    })
}

/// Refuses a data directory with files that the keys don't unlock (E1).
pub(crate) fn refuse_locked(env: &dyn Env, datadir: &Path) -> Result<(), ToolError> {
    match locked(env, datadir) {
        None => Ok(()),
        Some(locked) => {
            Err(ToolError::Refused(format!("{locked}. {OPTION} names the server's duramen_master_key_file")))
        }
    }
}

/// What can't be read at all is told by those who need it.
fn locked(env: &dyn Env, datadir: &Path) -> Option<EncryptionError> {
    first_locked(env, &[datadir, &datadir.join(STORE_FOLDER)]).ok().flatten()
}

/// What a file of a data directory holds, by its name; `None` if it is no rows.
pub(crate) fn rows_in(path: &Path) -> Option<Rows> {
    let name = path.file_name()?.to_str()?;
    if path.parent().is_some_and(|folder| folder.ends_with(STORE_FOLDER)) {
        return (name != "CURRENT" && name != "LOCK").then_some(Rows::Tables);
    }
    let is_number = |text: &str| text.len() >= 6 && text.bytes().all(|b| b.is_ascii_digit());
    // `binlog.000008`, and what a start cut off it: `binlog.000008.cut-2`.
    let has_number = name.split('.').skip(1).any(is_number);
    has_number.then_some(Rows::Log)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn files_with_rows_are_known_by_their_names() {
        for (path, rows) in [
            ("d/store/000001.table", Some(Rows::Tables)),
            ("d/store/000001.manifest", Some(Rows::Tables)),
            ("d/store/CURRENT", None),
            ("d/binlog.000001", Some(Rows::Log)),
            ("d/my.log.1234567", Some(Rows::Log)),
            ("d/binlog.000008.cut-2", Some(Rows::Log)),
            ("d/binlog.index", None),
            ("d/binlog.durable", None),
            ("d/auto.cnf", None),
            ("d/ca-key.pem", None),
            ("d/000001", None),
        ] {
            assert_eq!(rows_in(Path::new(path)), rows, "{path}");
        }
    }

    #[test]
    fn the_option_is_taken_out_of_the_others() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let divided = |text: &str| divide(&words(text)).map(|(file, others)| (file, others.join(" ")));
        let file = |path: &str, others: &str| (Some(path.to_owned()), others.to_owned());
        assert_eq!(divided("print --master-key-file=k -v x").unwrap(), file("k", "print -v x"));
        assert_eq!(divided("--master_key_file k x").unwrap(), file("k", "x"));
        assert_eq!(divided("x -- --master-key-file=k").unwrap(), (None, "x -- --master-key-file=k".into()));
        assert!(divided("x --master-key-file").is_err());
    }
}
