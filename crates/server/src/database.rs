//! Opening and closing the instance with the server's options.

use crate::datadir::Datadir;
use crate::options::Options;
use crate::server::StartError;
use crate::stop::Stop;
use env::Env;
use protocol::Plugin;
use sql::status::Status;
use sql::{Instance, OpenOptions};
use std::sync::Arc;

/// The stack that recovery has, in bytes: twice the largest `thread_stack`.
const STACK: usize = 128 << 20;

/// Recovers log and tables.
pub fn open(
    env: &Arc<dyn Env>,
    options: &Options,
    datadir: &Datadir,
    status: &Arc<Status>,
    stop: &Stop,
) -> Result<Arc<Instance>, StartError> {
    let stop = stop.clone();
    let filters = options.filters.clone();
    let options = OpenOptions {
        datadir: datadir.path().to_owned(),
        log_base_name: options.log_base_name.clone(),
        server_uuid: datadir.server_uuid().to_owned(),
        globals: options.variables.clone(),
        status: status.clone(),
        on_shutdown: Box::new(move || stop.request("SHUTDOWN")),
    };
    let database = on_a_large_stack(|| Instance::open(env.clone(), options))?.map_err(StartError::Open)?;
    database.channels().set_options(filters, env.now());
    let env = env.clone();
    database.set_password_hasher(Box::new(move |plugin, password| {
        Plugin::from_name(plugin).hash_password(password, &*env)
    }));
    Ok(database)
}

/// Runs the recovery on a thread of its own. It parses the definitions in the log and in the
/// catalog, which were accepted by sessions of any `thread_stack`: with more stack than the largest
/// of those it can't fail where they did not. Only what is used of it takes memory.
fn on_a_large_stack<T: Send>(open: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("recovery".into()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || {
            stdx::stack::begin(STACK);
            open()
        })?;
        thread.join().or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Checkpoints the tables and closes the log.
pub fn close(database: &Instance) -> Result<(), sql::SqlError> {
    database.close()
}
