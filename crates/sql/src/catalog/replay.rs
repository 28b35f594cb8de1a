//! The catalog during replay: DDL is done again where the log has it.
//!
//! 1. begin  The catalog as of the store's checkpoint is read, and the notes.
//! 2. ddl    The session of replay takes the statement's settings over. The statement is planned;
//!    its trees are those that the notes name, or are built from the rows (C4). Its changes are
//!    published at its position.

use std::borrow::Cow;
use std::sync::Arc;

use binlog::LogPosition;
use binlog::event::{QueryEvent, flags2};
use storage::build::FIRST_BUILT;
use storage::layout::Layouts;
use storage::{Cause, ReplayError, ReplayTarget, Store, TableSchema, TreeId, WriteBatch};

use super::account::UserAtHost;
use super::ddl::{self, Plan, Settings, alter};
use super::record::CatalogError;
use super::set_aside::{ObjectKey, ObjectKind, SetAside};
use super::temporary::TemporaryTables;
use super::{Catalog, CatalogState, Change, Pending, parse_one, read_notes, record, statement_hash};
use crate::client_text;
use crate::executor::alter::replayed;
use crate::instance::Instance;
use crate::session::Context;
use datum::bounds::parse_options;
use datum::error::{Result, SqlError};
use datum::types::Collation;
use datum::value::temporal::SECOND;
use datum::value::zone::Zone;
use syntax::ast::{Account, AlterAction, ObjectName, RoutineKind, StatementKind};
use syntax::parser::statement_head::{self, Named};

/// Builds a database's catalog while its log is replayed.
pub(crate) struct Replay {
    cx: Context,
    /// Trees that the notes name, for statements after the checkpoint.
    pending: Pending,
}

impl Replay {
    /// For a database whose engine is open and not yet replayed.
    pub(crate) fn new(instance: &Arc<Instance>) -> Self {
        Self { cx: Context::of_replay(instance.clone()), pending: Pending::default() }
    }

    fn catalog(&self) -> &Catalog {
        self.cx.instance.catalog()
    }

    fn store(&self) -> &Arc<Store> {
        self.cx.instance.engine().store()
    }

    fn load(&mut self) -> Result<(), CatalogError> {
        let store = self.store().clone();
        let state = record::load(&store)?;
        self.pending = read_notes(&state, &store.checkpoint_notes());
        // B3: before anything is built.
        store.find_built_trees().map_err(CatalogError::BuiltTrees)?;
        let named = state
            .databases
            .values()
            .flat_map(|d| d.tables.values())
            .flat_map(|table| table.schema.indexes().map(|index| index.tree()).collect::<Vec<_>>());
        let set_aside = state.set_aside.values().flat_map(|object| object.trees.iter().flatten().copied());
        let noted = self.pending.values().flat_map(|built| built.trees.iter().copied()).chain(set_aside);
        let is_built = |tree: &TreeId| tree.0 >= storage::build::FIRST_BUILT && !tree.is_temporary();
        named.chain(noted).filter(is_built).for_each(|tree| store.tree_in_use(tree));
        self.catalog().put_state(state);
        Ok(())
    }

    fn again(
        &mut self,
        query: &QueryEvent<'_>,
        timestamp: u32,
        position: LogPosition,
        batch: &mut WriteBatch,
    ) -> Result<()> {
        // What builds trees computes in this session.
        self.cx.take_over(query, timestamp);
        let state = self.catalog().state();
        let (plan, alter) = plan_event(query, timestamp, &state, |alter| self.trees_of(alter, &query.sql))?;
        drop(state);
        for change in &plan.changes {
            if let (Change::AlterTable(_, new, _), Some(alter)) = (change, &alter) {
                replayed::set_counter(self.store(), alter, new)?;
            }
        }
        plan.changes.iter().for_each(|change| record::write(change, batch));
        self.catalog().publish(&plan.changes, position);
        Ok(())
    }

    /// Takes an object out of use, unless it is already.
    fn put_aside(&mut self, key: ObjectKey, reason: &str, since: LogPosition, batch: &mut WriteBatch) {
        let state = self.catalog().state();
        if state.set_aside(&key).is_some() {
            return;
        }
        let table = state.table(&key.database, &key.name).filter(|_| key.kind == ObjectKind::Table);
        let trees = table.map(|table| table.schema.indexes().map(|index| index.tree()).collect());
        let reason = reason.chars().take(REASON_MAX).collect();
        let change = Change::PutAside(SetAside { key, reason, since, trees });
        record::write(&change, batch);
        self.catalog().publish(&[change], since);
    }

    /// The trees of the indexes that a statement builds (C4).
    fn trees_of(&mut self, alter: &alter::Alter, text: &[u8]) -> Result<Vec<TreeId>> {
        let noted = self.pending.remove(&alter.old.id);
        let count = alter.to_build().len();
        if count == 0 {
            return Ok(Vec::new());
        }
        if let Some(noted) = noted {
            let is_its_own = noted.statement.is_none_or(|hash| hash == statement_hash(text));
            if is_its_own
                && noted.trees.len() == count
                && replayed::are_there(self.store(), &alter.old, &noted.trees)?
            {
                return Ok(noted.trees);
            }
        }
        replayed::build_trees(&mut self.cx, alter)
    }
}

/// Of a reason so many characters are kept.
const REASON_MAX: usize = 1000;

/// The tables, views, functions and accounts that a logged DDL statement is about; none if it is
/// about others, or can't be read.
fn objects_named(query: &QueryEvent<'_>, timestamp: u32) -> Vec<ObjectKey> {
    use StatementKind as S;
    let settings = settings_of(query, timestamp);
    let of = |name: &ObjectName| {
        let database = name.database.as_deref().or(settings.database.as_deref());
        database.map(|database| (database.to_owned(), name.name.to_string()))
    };
    let table = |name: &ObjectName| of(name).map(|(database, name)| ObjectKey::table(&database, &name));
    let view = |name: &ObjectName| of(name).map(|(database, name)| ObjectKey::view(&database, &name));
    let account = |account: &Account| match account {
        Account::CurrentUser => None,
        Account::Named { user, host } => {
            Some(ObjectKey::user(&user.to_str_lossy(), &host.to_str_lossy().to_ascii_lowercase()))
        }
    };
    let text = logged_text(query, &settings).unwrap_or_else(|_| query.sql.to_vec().into());
    let Ok(statement) = parse_one(&text, settings.sql_mode) else {
        let options = parse_options(settings.sql_mode);
        let named = statement_head::objects_of(&text, &options).unwrap_or_default();
        let key = |named: &Named| match named {
            Named::Table(name) => table(name),
            Named::View(name) => view(name),
            Named::Function(name) => of(name).map(|(d, name)| ObjectKey::function(&d, &name)),
            Named::Procedure(name) => {
                of(name).map(|(d, name)| ObjectKey::routine(RoutineKind::Procedure, &d, &name))
            }
            Named::Event(name) => of(name).map(|(d, name)| ObjectKey::event(&d, &name)),
            Named::Account(name) => account(name),
        };
        return named.iter().filter_map(key).collect();
    };
    match &statement.kind {
        S::CreateTable(create) => table(&create.name).into_iter().collect(),
        S::TruncateTable(name) => table(name).into_iter().collect(),
        S::DropTable(drop) => drop.names.iter().filter_map(table).collect(),
        S::RenameTable(pairs) => {
            pairs.iter().flat_map(|(from, to)| [table(from), table(to)]).flatten().collect()
        }
        S::AlterTable(alter) => {
            let renames = alter.actions.iter().filter_map(|action| match action {
                AlterAction::Rename(to) => table(to),
                _ => None,
            });
            table(&alter.name).into_iter().chain(renames).collect()
        }
        S::CreateIndex(create) => table(&create.table).into_iter().collect(),
        S::DropIndex(drop) => table(&drop.table).into_iter().collect(),
        S::CreateTrigger(create) => table(&create.table).into_iter().collect(),
        S::CreateView(create) => view(&create.name).into_iter().collect(),
        S::DropView { names, .. } => names.iter().filter_map(view).collect(),
        S::CreateRoutine(create) => {
            of(&create.name).map(|(d, name)| ObjectKey::routine(create.kind, &d, &name)).into_iter().collect()
        }
        S::DropRoutine { kind, name, .. } | S::AlterRoutine { kind, name, .. } => {
            of(name).map(|(d, name)| ObjectKey::routine(*kind, &d, &name)).into_iter().collect()
        }
        S::CreateEvent(create) => {
            of(&create.name).map(|(d, name)| ObjectKey::event(&d, &name)).into_iter().collect()
        }
        S::AlterEvent(alter) => {
            let names = std::iter::once(&alter.name).chain(&alter.rename);
            names.filter_map(of).map(|(d, name)| ObjectKey::event(&d, &name)).collect()
        }
        S::DropEvent { name, .. } => {
            of(name).map(|(d, name)| ObjectKey::event(&d, &name)).into_iter().collect()
        }
        S::CreateUser(create) => create.users.iter().filter_map(|spec| account(&spec.user)).collect(),
        S::AlterUser(alter) => alter.users.iter().filter_map(|spec| account(&spec.user)).collect(),
        S::DropUser { names, .. } => names.iter().filter_map(account).collect(),
        S::RenameUser(pairs) => {
            pairs.iter().flat_map(|(from, to)| [account(from), account(to)]).flatten().collect()
        }
        S::Grant(grant) => grant.to.iter().filter_map(account).collect(),
        S::Revoke(revoke) => revoke.from.iter().filter_map(account).collect(),
        _ => Vec::new(),
    }
}

/// What a logged DDL statement does to `state`, and the ALTER TABLE if it is one: nothing but the
/// event says under which settings. `timestamp` is the event's (seconds since 1970), `trees` gives
/// those of [`alter::Alter::to_build`].
pub(super) fn plan_event(
    query: &QueryEvent<'_>,
    timestamp: u32,
    state: &CatalogState,
    trees: impl FnOnce(&alter::Alter) -> Result<Vec<TreeId>>,
) -> Result<(Plan, Option<alter::Alter>)> {
    let mut settings = settings_of(query, timestamp);
    let text = logged_text(query, &settings)?;
    settings.client = settings.client.of_statements();
    let statement = parse_one(&text, settings.sql_mode)?;
    match alter::of(&statement.kind, state, &settings) {
        Some(alter) => {
            let alter = alter?;
            Ok((alter.plan(&trees(&alter)?, state)?, Some(alter)))
        }
        None => Ok((ddl::plan(&statement, &text, state, &settings, &ddl::no_passwords)?, None)),
    }
}

/// A logged statement's text in UTF-8, which ours are; those of older versions are in the client's
/// character set.
fn logged_text<'a>(query: &'a QueryEvent<'_>, settings: &Settings) -> Result<Cow<'a, [u8]>> {
    Ok(client_text::to_utf8(&query.sql, settings.client, settings.sql_mode)?)
}

/// The settings that a DDL statement's event carries, and usual ones for what it does not say.
pub(crate) fn settings_of(query: &QueryEvent<'_>, timestamp: u32) -> Settings {
    let status = &query.status;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let database = text(&query.database);
    let [client, connection, server] = status.charset.unwrap_or([255; 3]);
    let collation = |id| Collation::by_id(id).unwrap_or(Collation::UTF8MB4_0900_AI_CI);
    let zone = status.time_zone.as_deref().and_then(|name| Zone::by_name(std::str::from_utf8(name).ok()?));
    Settings {
        database: (!database.is_empty()).then_some(database),
        sql_mode: status.sql_mode.unwrap_or(0),
        client: collation(client).charset(),
        connection: collation(connection),
        server: collation(server),
        zone: zone.unwrap_or(Zone::UTC),
        // The log has the column that it makes.
        generates_key: false,
        // What is in the log was allowed.
        requires_key: false,
        explicit_timestamps: status.explicit_defaults_for_timestamp.unwrap_or(true),
        foreign_key_checks: query.status.flags2.unwrap_or(0) & flags2::NO_FOREIGN_KEY_CHECKS == 0,
        restricts_foreign_keys: false,
        disabled_engines: "".into(),
        is_replicated: false,
        from_client: false,
        temporary: TemporaryTables::default(),
        moment: i64::from(timestamp) * SECOND + i64::from(status.microseconds.unwrap_or(0)),
        account: match &status.invoker {
            Some(account) => UserAtHost::new(text(&account.user), text(&account.host)),
            None => UserAtHost::new("root", "localhost"),
        },
    }
}

/// Plans the statements after the store's checkpoint before anything is changed, on a copy of the
/// catalog as of there: one that can't be followed, and of which it can't be said what to set
/// aside, stops the start here (R2 of ARCHITECTURE.md).
pub struct Rehearsal {
    records: Vec<record::Record>,
    /// Of the records, once there is a statement.
    state: Option<CatalogState>,
    set_aside: Vec<(ObjectKey, String)>,
}

impl Rehearsal {
    /// With the catalog's records as of the checkpoint, in the order of their keys.
    pub fn new(records: Vec<record::Record>) -> Self {
        Self { records, state: None, set_aside: Vec::new() }
    }

    /// The next statement, which ends at `position`.
    ///
    /// # Errors
    /// Why replay would stop at it.
    pub fn statement(
        &mut self,
        query: &QueryEvent<'_>,
        timestamp: u32,
        position: LogPosition,
    ) -> Result<(), FollowError> {
        let trees = |alter: &alter::Alter| Ok(vec![TreeId(FIRST_BUILT); alter.to_build().len()]);
        let state = match &mut self.state {
            Some(state) => state,
            None => {
                let records = std::mem::take(&mut self.records);
                self.state.insert(record::load_records(&records)?)
            }
        };
        match plan_event(query, timestamp, state, trees) {
            Ok((plan, _)) => {
                plan.changes.iter().for_each(|change| record::apply(change, state, position));
                Ok(())
            }
            Err(e) => {
                let named = objects_named(query, timestamp);
                let not_followed = FollowError::statement(e, query);
                if named.is_empty() {
                    return Err(not_followed);
                }
                // Whatever depends on it is found to be set aside when it comes to it.
                for key in named {
                    let why = not_followed.shown_for(&key);
                    if self.set_aside.iter().all(|(known, _)| *known != key) {
                        self.set_aside.push((key, why));
                    }
                }
                Ok(())
            }
        }
    }

    /// What replay would set aside because of a statement so far, and why.
    pub fn set_aside(&self) -> &[(ObjectKey, String)] {
        &self.set_aside
    }
}

/// Why the catalog can't follow the log.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FollowError {
    /// There is none to begin with.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// A statement in the log fails.
    #[error("{error}: {}", String::from_utf8_lossy(sql))]
    Statement {
        /// With what it fails.
        #[source]
        error: SqlError,
        /// As the log has it.
        sql: Vec<u8>,
    },
}

impl FollowError {
    fn statement(error: SqlError, query: &QueryEvent<'_>) -> Self {
        Self::Statement { error, sql: query.sql.to_vec() }
    }

    /// What may be said of it to whom the object belongs: nothing of an account's statement, which
    /// has what a plugin keeps of the password.
    fn shown_for(&self, object: &ObjectKey) -> String {
        match self {
            Self::Statement { error, .. } if object.kind == ObjectKind::User => error.to_string(),
            _ => self.to_string(),
        }
    }
}

impl ReplayTarget for Replay {
    fn begin(&mut self, store: &Arc<Store>) -> Result<(), ReplayError> {
        let position = store.checkpoint_position();
        self.load().map_err(|e| ReplayError::event(position, FollowError::Catalog(e)))
    }

    fn ddl(
        &mut self,
        query: &QueryEvent<'_>,
        timestamp: u32,
        position: LogPosition,
        batch: &mut WriteBatch,
    ) -> Result<(), Cause> {
        let Err(e) = self.again(query, timestamp, position, batch) else { return Ok(()) };
        let named = objects_named(query, timestamp);
        let not_followed = FollowError::statement(e, query);
        if named.is_empty() {
            // A database, or nobody knows what: nothing that the rest could do without.
            return Err(not_followed.into());
        }
        for object in named {
            let why = not_followed.shown_for(&object);
            self.put_aside(object, &format!("a statement can't be replayed: {why}"), position, batch);
        }
        Ok(())
    }

    fn set_aside(
        &mut self,
        database: &str,
        name: &str,
        reason: &str,
        position: LogPosition,
        batch: &mut WriteBatch,
    ) {
        self.put_aside(ObjectKey::table(database, name), reason, position, batch);
    }

    fn table(&mut self, database: &str, name: &str) -> Option<Arc<TableSchema>> {
        let table = self.cx.instance.catalog().table(database, name).ok()?;
        // Nobody changes rows between the checkpoint that has a statement's trees and the
        // statement: these are of one that was never logged.
        if !self.pending.is_empty() {
            self.pending.remove(&table.id);
        }
        Some(table.schema.clone())
    }

    fn layouts(&mut self, schema: &TableSchema) -> Option<Arc<Layouts>> {
        self.catalog().table(&schema.database, &schema.name).ok()?.layouts.clone()
    }

    fn row_seen(&mut self, schema: &TableSchema, after: &[u8]) {
        if let Ok(table) = self.catalog().table(&schema.database, &schema.name) {
            table.count_row(after);
        }
    }

    fn notes(&self) -> Vec<u8> {
        super::notes(&self.catalog().state(), &self.pending)
    }
}
