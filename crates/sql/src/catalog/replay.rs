//! The catalog during replay: DDL is done again where the log has it.

use std::sync::Arc;

use binlog::LogPosition;
use binlog::event::QueryEvent;
use storage::layout::Layouts;
use storage::{ReplayError, ReplayTarget, Store, TableSchema, WriteBatch};

use super::ddl::{self, Plan, Settings, alter};
use super::temporary::TemporaryTables;
use super::{Catalog, Change, Pending, State, parse_one, read_notes, record};
use crate::error::{Result, SqlError};
use crate::types::Collation;
use crate::value::temporal::SECOND;
use crate::value::zone::Zone;

/// Builds the catalog while the engine opens.
#[derive(Default)]
pub struct Replay {
    state: State,
    pending: Pending,
}

impl Replay {
    /// The catalog, once the engine is open.
    pub fn finish(self) -> Catalog {
        Catalog::new(self.state)
    }

    fn again(
        &mut self,
        query: &QueryEvent<'_>,
        timestamp: u32,
        position: LogPosition,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        let plan = plan_event(query, timestamp, &self.state, &self.pending)?;
        for change in &plan.changes {
            if let Change::AlterTable(from, ..) = change {
                self.pending.remove(&from.id);
            }
            record::write(change, batch);
            record::apply(change, &mut self.state, position);
        }
        Ok(())
    }
}

/// What a logged DDL statement does to `state`: nothing but the event says under which settings. `timestamp` is the event's
/// (seconds since 1970), `built` are the trees that were built for the tables that it alters.
pub(super) fn plan_event(
    query: &QueryEvent<'_>,
    timestamp: u32,
    state: &State,
    built: &Pending,
) -> Result<Plan> {
    let settings = settings_of(query, timestamp);
    let statement = parse_one(&query.sql, settings.sql_mode)?;
    match alter::of(&statement.kind, state, &settings) {
        Some(alter) => {
            let alter = alter?;
            alter.plan(built.get(&alter.old.id).map_or(&[], |trees| trees), state)
        }
        None => ddl::plan(&statement, &query.sql, state, &settings, &ddl::no_passwords),
    }
}

/// The settings that a DDL statement's event carries.
fn settings_of(query: &QueryEvent<'_>, timestamp: u32) -> Settings {
    let status = &query.status;
    let database = String::from_utf8_lossy(&query.database).into_owned();
    let [client, connection, server] = status.charset.unwrap_or([255; 3]);
    let collation = |id| Collation::by_id(id).unwrap_or(Collation::UTF8MB4_0900_AI_CI);
    Settings {
        database: (!database.is_empty()).then_some(database),
        sql_mode: status.sql_mode.unwrap_or(0),
        client: collation(client).charset(),
        connection: collation(connection),
        server: collation(server),
        zone: status.time_zone.as_deref().and_then(zone).unwrap_or(Zone::UTC),
        generates_key: false,
        temporary: TemporaryTables::default(),
        moment: i64::from(timestamp) * SECOND + i64::from(status.microseconds.unwrap_or(0)),
        account: status.invoker.as_ref().map_or_else(
            || ("root".to_owned(), "localhost".to_owned()),
            |account| {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                (text(&account.user), text(&account.host))
            },
        ),
    }
}

fn zone(name: &[u8]) -> Option<Zone> {
    Zone::by_name(std::str::from_utf8(name).ok()?)
}

impl ReplayTarget for Replay {
    fn begin(&mut self, store: &Arc<Store>) -> std::result::Result<(), ReplayError> {
        let position = store.checkpoint_position();
        self.state =
            record::load(store).map_err(|e: SqlError| ReplayError::Event { position, what: e.message })?;
        self.pending = read_notes(&self.state, &store.checkpoint_notes());
        Ok(())
    }

    fn ddl(
        &mut self,
        query: &QueryEvent<'_>,
        timestamp: u32,
        position: LogPosition,
        batch: &mut WriteBatch,
    ) -> std::result::Result<(), String> {
        self.again(query, timestamp, position, batch)
            .map_err(|e| format!("{e}: {}", String::from_utf8_lossy(&query.sql)))
    }

    fn table(&mut self, database: &str, name: &str) -> Option<Arc<TableSchema>> {
        self.state.table(database, name).map(|table| table.schema.clone())
    }

    fn layouts(&mut self, schema: &TableSchema) -> Option<Arc<Layouts>> {
        self.state.table(&schema.database, &schema.name)?.layouts.clone()
    }

    fn row_seen(&mut self, schema: &TableSchema, after: &[u8]) {
        if let Some(table) = self.state.table(&schema.database, &schema.name) {
            table.count_row(after);
        }
    }

    fn notes(&self) -> Vec<u8> {
        super::notes(&self.state, &self.pending)
    }
}
