//! Opening and closing the database with the server's options.

use crate::datadir::Datadir;
use crate::options::Options;
use crate::server::StartError;
use crate::stop::Stop;
use env::Env;
use protocol::Plugin;
use sql::Database;
use sql::database::OpenOptions;
use sql::status::Status;
use std::sync::Arc;

/// Recovers log and tables.
pub fn open(
    env: &Arc<dyn Env>,
    options: &Options,
    datadir: &Datadir,
    status: &Arc<Status>,
    stop: &Stop,
) -> Result<Arc<Database>, StartError> {
    let stop = stop.clone();
    let options = OpenOptions {
        datadir: datadir.path().to_owned(),
        log_base_name: options.log_base_name.clone(),
        server_uuid: datadir.server_uuid().to_owned(),
        globals: options.variables.clone(),
        status: status.clone(),
        on_shutdown: Box::new(move || stop.request("SHUTDOWN")),
    };
    let database = Database::open(env.clone(), options).map_err(StartError::Database)?;
    let env = env.clone();
    database.set_password_hasher(Box::new(move |plugin, password| {
        Plugin::from_name(plugin).hash_password(password, &*env)
    }));
    Ok(database)
}

/// Checkpoints the tables and closes the log.
pub fn close(database: &Database) -> Result<(), sql::SqlError> {
    database.close()
}
