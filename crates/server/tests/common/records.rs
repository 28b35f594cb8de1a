//! Records of the catalog, changed as an older version or a damaged disk would have left them.

use binlog::event::QueryEvent;
use binlog::group::GroupContext;
use env::{Env, RealEnv};
use server::datadir::Datadir;
use server::options::{self, Command};
use std::sync::Arc;
use storage::engine::Replicated;
use storage::{TreeId, WriteBatch};
use tempfile::TempDir;

/// The catalog's tree.
const CATALOG: TreeId = TreeId(1);

/// Changes the record of a table behind the back of a server that was stopped.
pub fn change(datadir: &TempDir, database: &str, table: &str, change: impl FnOnce(&[u8]) -> Vec<u8>) {
    let env: Arc<dyn Env> = Arc::new(RealEnv);
    let args = [format!("--datadir={}", datadir.path().display())];
    let Ok(Command::Serve(options)) = options::parse(&*env, &args) else { panic!("options") };
    let datadir = Datadir::open(env.clone(), datadir.path(), &datadir.path().join("pid")).unwrap();
    let opened = server::database::open(&env, &options, &datadir, &Arc::default(), &Default::default());
    let opened = opened.unwrap();
    let key = format!("t{database}\0{table}");
    let store = opened.engine().store();
    let record = store.get(CATALOG, key.as_bytes(), store.snapshot_visible().position()).unwrap().unwrap();
    let mut batch = WriteBatch::new();
    batch.put(CATALOG, key.as_bytes(), &change(&record));
    let text = format!("CREATE DATABASE IF NOT EXISTS {database}");
    let event = QueryEvent::new(0, b"", text.as_bytes());
    opened.engine().commit_ddl(GroupContext::new(1, 0, 80408), &event, batch, Replicated::default()).unwrap();
    server::database::close(&opened).unwrap();
}
