//! One place that says for every statement which privileges it needs, and refuses it with MySQL's
//! errors.
//!
//! What goes by an argument rather than by the statement's kind (which session is killed, which
//! variable is set, whose account is shown) is checked where the argument is known, by
//! [`Context::need_any`].

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Grants;
use super::accounts::is_own;
use super::kill_number::check_kill_number;
use super::needs::Needs;
use super::set::{self, Dynamic, Privileges as P};
use crate::catalog::UserAtHost;
use crate::routine::Frame;
use crate::session::Context;
use crate::statement_class::StatementClass;
use crate::system_schemas;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use syntax::ast::visit;
use syntax::ast::{
    Account, AlterAction, CreateRoutine, CreateTrigger, DataAccess, Explain, Expr, FlushOption, FlushWhat,
    MasterKey, ObjectName, RoutineKind, ShowWhat, StatementKind, TableContent,
};

/// A moment's definitions, accounts and settings, which together say what a statement needs and
/// what an account may do. Equal stamps of one session are answers to the same questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    definitions: u64,
    settings: u64,
}

impl Stamp {
    /// That of now; `None` for a session with temporary tables, which hide others.
    pub(crate) fn now(cx: &Context) -> Option<Stamp> {
        let definitions = cx.catalog().definitions_epoch().load(Ordering::Acquire);
        let settings = cx.settings.version();
        (!cx.has_temporary_tables()).then_some(Stamp { definitions, settings })
    }
}

/// Refuses a client's statement that its account may not run. A cached statement is not asked
/// again before something has changed that could matter.
pub(crate) fn check(cx: &mut Context, kind: &StatementKind) -> Result<()> {
    check_once(cx, |cx| check_now(cx, kind))
}

/// The same for an expression of a procedure, which no statement evaluates.
pub(crate) fn check_evaluated(cx: &mut Context, expr: &Expr) -> Result<()> {
    check_once(cx, |cx| {
        let grants = grants_inside(cx);
        match grants.is_unlimited() {
            true => Ok(()),
            false => Checker { cx, grants: &grants }.rows(|needs| visit::Visitor::expr(needs, expr)),
        }
    })
}

/// What the stored program that runs may do, or the account.
fn grants_inside(cx: &mut Context) -> Arc<Grants> {
    let inside = cx.statement.frames.last().and_then(|frame| frame.grants().cloned());
    inside.unwrap_or_else(|| cx.grants().clone())
}

fn check_once(cx: &mut Context, check_now: impl FnOnce(&mut Context) -> Result<()>) -> Result<()> {
    // The same statement of a program with its invoker's rights runs with those of others, too.
    let is_same = cx.statement.frames.last().is_none_or(|frame| frame.definer().is_some());
    let now = match &cx.statement.cached_plan {
        Some(cached) if is_same => {
            let now = Stamp::now(cx);
            if now.is_some() && cached.granted == now {
                return Ok(());
            }
            now
        }
        _ => None,
    };
    check_now(cx)?;
    if let Some(cached) = &mut cx.statement.cached_plan {
        cached.granted = now;
    }
    Ok(())
}

fn check_now(cx: &mut Context, kind: &StatementKind) -> Result<()> {
    let grants = grants_inside(cx);
    if grants.is_unlimited() {
        return check_unlimited(cx, kind);
    }
    Checker { cx, grants: &grants }.statement(kind)
}

/// Refuses SET PASSWORD, given as the ALTER USER that it is short for.
pub(crate) fn check_set_password(cx: &mut Context, kind: &StatementKind) -> Result<()> {
    let grants = cx.grants().clone();
    match kind {
        StatementKind::AlterUser(alter) => Checker { cx, grants: &grants }.set_password(alter),
        _ => Ok(()),
    }
}

/// Every static privilege does not mean the right to give it away, nor every dynamic one, of which
/// statements about rows ask for none.
fn check_unlimited(cx: &Context, kind: &StatementKind) -> Result<()> {
    use StatementKind as S;
    match kind {
        S::Query(_) | S::Insert(_) | S::Update(_) | S::Delete(_) | S::LoadData(_) | S::Do(_) | S::Set(_) => {
            Ok(())
        }
        _ => Checker { cx, grants: cx.grants_now() }.statement(kind),
    }
}

pub(super) struct Checker<'c> {
    pub(super) cx: &'c Context,
    pub(super) grants: &'c Grants,
}

impl Checker<'_> {
    fn statement(&self, kind: &StatementKind) -> Result<()> {
        use StatementKind as S;
        if let S::Kill { id, .. } = kind {
            return check_kill_number(id);
        }
        let evaluated = visit::expressions_of(kind);
        if !evaluated.is_empty() {
            self.rows(|needs| evaluated.iter().for_each(|e| visit::Visitor::expr(needs, e)))?;
        }
        match kind {
            S::Query(query) => self.rows(|needs| visit::Visitor::query(needs, query)),
            S::Insert(insert) => self.rows(|needs| needs.insert(insert)),
            S::Update(update) => self.rows(|needs| needs.update(update)),
            S::Delete(delete) => self.rows(|needs| needs.delete(delete)),
            S::LoadData(load) => {
                if !load.local {
                    self.file()?;
                }
                self.rows(|needs| needs.load(load))
            }
            S::Call { name, .. } => self.routine(P::EXECUTE, RoutineKind::Procedure, name),
            // Which variables they may set is asked where they are set.
            S::Do(_) | S::Set(_) => Ok(()),
            S::Handler(_) => Ok(()), // refused by name
            S::Explain(explain) => match &**explain {
                Explain::Table { table, .. } => self.table(table, P::SELECT),
                Explain::Statement { statement, .. } => {
                    self.statement(&statement.kind)?;
                    self.explains_views(&statement.kind)
                }
                Explain::Connection { .. } => self.global(P::PROCESS, "PROCESS"),
            },
            S::Show(show) => self.show(&show.what),
            S::LockTables(tables) => tables.iter().try_for_each(|t| {
                self.table(&t.table, P::SELECT | P::LOCK_TABLES)?;
                self.locks_view(&t.table)
            }),
            S::Prepare { .. } | S::Execute { .. } | S::Deallocate(_) => Ok(()),
            _ => match StatementClass::of(kind) {
                StatementClass::Definition | StatementClass::UnsupportedDefinition => self.definition(kind),
                _ => self.administration(kind),
            },
        }
    }

    fn definition(&self, kind: &StatementKind) -> Result<()> {
        use StatementKind as S;
        match kind {
            S::CreateDatabase(create) => self.database(&create.name, P::CREATE),
            S::AlterDatabase { name, .. } => match self.named(name.as_deref()) {
                Some(name) => self.database(name, P::ALTER),
                None => Ok(()),
            },
            S::DropDatabase { name, .. } => self.database(name, P::DROP),
            S::CreateTable(create) => self.create_table(create),
            S::AlterTable(alter) => self.alter_table(alter),
            S::DropTable(drop) if drop.temporary => Ok(()),
            S::DropTable(drop) => drop.names.iter().try_for_each(|name| self.table(name, P::DROP)),
            S::TruncateTable(name) => self.table(name, P::DROP),
            S::RenameTable(pairs) => pairs.iter().try_for_each(|(from, to)| {
                self.shared_table(from, P::ALTER | P::DROP)?;
                self.shared_table(to, P::CREATE | P::INSERT)
            }),
            S::CreateIndex(create) => self.table(&create.table, P::INDEX),
            S::DropIndex(drop) => self.table(&drop.table, P::INDEX),
            S::CreateView(create) => self.create_view(create),
            S::DropView { names, .. } => names.iter().try_for_each(|name| self.drop_view(name)),
            S::CreateRoutine(create) => self.create_routine(create),
            S::AlterRoutine { kind, name, .. } | S::DropRoutine { kind, name, .. } => {
                self.routine(P::ALTER_ROUTINE, *kind, name)?;
                self.of_other_definer(*kind, name)
            }
            S::CreateTrigger(trigger) => self.create_trigger(trigger),
            S::DropTrigger { name, .. } => self.drop_trigger(name),
            S::CreateEvent(event) => {
                // The definer first, as in MySQL.
                self.definer(event.definer.as_ref())?;
                self.events(event.name.database.as_deref())
            }
            S::AlterEvent(event) => {
                self.definer(event.definer.as_ref())?;
                self.events(event.name.database.as_deref())?;
                event.rename.as_ref().map_or(Ok(()), |to| self.events(to.database.as_deref()))?;
                self.event_of_other_definer(&event.name)
            }
            S::DropEvent { name, .. } => {
                self.events(name.database.as_deref())?;
                self.event_of_other_definer(name)
            }
            S::DropServer { .. } => self.global(P::SUPER, "SUPER"),
            _ => self.accounts(kind),
        }
    }

    fn create_table(&self, create: &syntax::ast::CreateTable) -> Result<()> {
        match create.temporary {
            true => match self.named(create.name.database.as_deref()) {
                Some(database) => self.database(database, P::CREATE_TEMPORARY_TABLES)?,
                None => return Ok(()),
            },
            false => self.shared_table(&create.name, P::CREATE)?,
        }
        if let TableContent::Definition(definition) = &create.content {
            let of_columns = definition.columns.iter().flat_map(|column| &column.attributes.references);
            let keys = definition.foreign_keys.iter().map(|key| &key.references);
            keys.chain(of_columns.map(|references| &**references))
                .try_for_each(|references| self.parent(&create.name, &references.table))?;
        }
        match &create.content {
            TableContent::Like(of) => self.table(of, P::SELECT),
            TableContent::Definition(definition) => match &definition.query {
                Some(source) => {
                    if !create.temporary {
                        self.shared_table(&create.name, P::INSERT)?;
                    }
                    self.rows(|needs| visit::Visitor::query(needs, &source.query))
                }
                None => Ok(()),
            },
        }
    }

    /// A table that a foreign key of `child` refers to, in whose database it is unless that is
    /// said.
    fn parent(&self, child: &ObjectName, parent: &ObjectName) -> Result<()> {
        let database = parent.database.clone().or_else(|| child.database.clone());
        self.shared_table(&ObjectName { database, name: parent.name.clone() }, P::REFERENCES)
    }

    fn alter_table(&self, alter: &syntax::ast::AlterTable) -> Result<()> {
        self.table(&alter.name, P::ALTER)?;
        for action in &alter.actions {
            match action {
                AlterAction::AddForeignKey(key) => self.parent(&alter.name, &key.references.table)?,
                AlterAction::AddColumns(columns) => {
                    let references = columns.iter().flat_map(|(column, _)| &column.attributes.references);
                    references.map(|r| &r.table).try_for_each(|parent| self.parent(&alter.name, parent))?;
                }
                _ => {}
            }
        }
        let renamed = alter.actions.iter().find_map(|action| match action {
            AlterAction::Rename(to) => Some(to),
            _ => None,
        });
        let Some(to) = renamed else { return Ok(()) };
        if self.cx.temporary_table(alter.name.database.as_deref(), &alter.name.name).is_none() {
            self.table(&alter.name, P::DROP)?;
        }
        self.shared_table(to, P::CREATE | P::INSERT)
    }

    fn administration(&self, kind: &StatementKind) -> Result<()> {
        use StatementKind as S;
        match kind {
            S::Flush(flush) => match &flush.what {
                FlushWhat::Tables { tables, lock } => {
                    self.any(P::RELOAD, "FLUSH_TABLES", "RELOAD or FLUSH_TABLES")?;
                    let locks = *lock != syntax::ast::FlushLock::None;
                    let wanted = P::SELECT | P::LOCK_TABLES;
                    tables.iter().filter(|_| locks).try_for_each(|t| self.table(t, wanted))
                }
                FlushWhat::Options(options) => options.iter().try_for_each(|option| match option {
                    FlushOption::Status => self.any(P::RELOAD, "FLUSH_STATUS", "RELOAD or FLUSH_STATUS"),
                    FlushOption::Privileges => {
                        self.any(P::RELOAD, "FLUSH_PRIVILEGES", "RELOAD or FLUSH_PRIVILEGES")
                    }
                    FlushOption::UserResources => {
                        self.any(P::RELOAD, "FLUSH_USER_RESOURCES", "RELOAD or FLUSH_USER_RESOURCES")
                    }
                    FlushOption::OptimizerCosts => {
                        self.any(P::RELOAD, "FLUSH_OPTIMIZER_COSTS", "RELOAD or FLUSH_OPTIMIZER_COSTS")
                    }
                    _ => self.global(P::RELOAD, "RELOAD"),
                }),
            },
            S::Reset(_) => self.global(P::RELOAD, "RELOAD"),
            S::PurgeBinaryLogs(_) => self.any(P::SUPER, "BINLOG_ADMIN", "SUPER or BINLOG_ADMIN"),
            S::Binlog(_) => {
                let shown = "SUPER, BINLOG_ADMIN or REPLICATION_APPLIER";
                let one = self.any(P::SUPER, "BINLOG_ADMIN", shown);
                one.or_else(|_| self.any(P::SUPER, "REPLICATION_APPLIER", shown))
            }
            S::RotateMasterKey(MasterKey::Tables) => {
                self.any(P::SUPER, "ENCRYPTION_KEY_ADMIN", "SUPER or ENCRYPTION_KEY_ADMIN")
            }
            S::RotateMasterKey(MasterKey::Log) => {
                self.any(P::SUPER, "BINLOG_ENCRYPTION_ADMIN", "SUPER or BINLOG_ENCRYPTION_ADMIN")
            }
            S::LockInstance | S::UnlockInstance => self.any(P::NONE, "BACKUP_ADMIN", "BACKUP_ADMIN"),
            S::InstallPlugin { .. } | S::UninstallPlugin(_) => self.global(P::SUPER, "SUPER"),
            S::Shutdown | S::Restart => self.global(P::SHUTDOWN, "SHUTDOWN"),
            S::TableMaintenance(maintenance) => {
                use syntax::ast::MaintenanceVerb as V;
                if maintenance.verb == V::Optimize && maintenance.local {
                    self.any(P::NONE, "OPTIMIZE_LOCAL_TABLE", "OPTIMIZE_LOCAL_TABLE")?;
                }
                let wanted = match maintenance.verb {
                    V::Check | V::Checksum => P::SELECT,
                    V::AssignToKeycache | V::PreloadKeys => P::INDEX,
                    V::Analyze | V::Optimize | V::Repair => P::SELECT | P::INSERT,
                };
                maintenance.tables.iter().try_for_each(|name| self.table(name, wanted))
            }
            S::ChangeReplicationSource { .. }
            | S::ChangeReplicationFilter { .. }
            | S::StartReplica(_)
            | S::StopReplica { .. } => {
                self.any(P::SUPER, "REPLICATION_SLAVE_ADMIN", "SUPER or REPLICATION_SLAVE_ADMIN")
            }
            _ => Ok(()),
        }
    }

    fn show(&self, what: &ShowWhat) -> Result<()> {
        use ShowWhat as W;
        match what {
            W::Tables { database, .. } | W::TableStatus { database } | W::Triggers { database, .. } => {
                self.sees_tables(database.as_deref())
            }
            W::Events { database } => self.events(database.as_deref()),
            W::CreateEvent(name) => self.events(name.database.as_deref()),
            W::CreateDatabase { name, .. } => self.sees_tables(Some(name)),
            W::Columns { table, .. } | W::Index { table, .. } => self.table(table, P::SELECT),
            W::CreateView(table) | W::CreateTable(table)
                if self.cx.visible_view(table.database.as_deref(), &table.name).is_some() =>
            {
                self.show_create_view(table)
            }
            W::CreateView(table) => self.table(table, P::SELECT),
            W::CreateTable(table) => self.sees_table(table),
            W::BinaryLogs | W::BinaryLogStatus | W::ReplicaStatus { .. } => {
                self.any(P::SUPER | P::REPLICATION_CLIENT, "", "SUPER, REPLICATION CLIENT")
            }
            W::BinlogEvents(_) | W::RelaylogEvents { .. } | W::Replicas => {
                self.global(P::REPLICATION_SLAVE, "REPLICATION SLAVE")
            }
            W::EngineStatus { .. } => self.global(P::PROCESS, "PROCESS"),
            _ => Ok(()),
        }
    }

    // What is needed.

    /// Any of these privileges for everything.
    pub(super) fn global(&self, any: P, shown: &str) -> Result<()> {
        self.any(any, "", shown)
    }

    pub(super) fn any(&self, any: P, dynamic: &str, shown: &str) -> Result<()> {
        let dynamic = Dynamic::named(dynamic).unwrap_or(Dynamic::NONE);
        let has =
            self.grants.global.has_any(any) || (!dynamic.is_empty() && self.grants.dynamic.has(dynamic));
        if has { Ok(()) } else { Err(error::SPECIFIC_ACCESS_DENIED_ERROR.with(&[&shown])) }
    }

    fn file(&self) -> Result<()> {
        if self.grants.global.has(P::FILE) {
            return Ok(());
        }
        Err(self.access_denied())
    }

    pub(super) fn access_denied(&self) -> SqlError {
        let UserAtHost { user, host } = self.account();
        let using = if self.cx.connection.with_password { "YES" } else { "NO" };
        error::ACCESS_DENIED_ERROR.with(&[user, host, &using])
    }

    pub(super) fn database(&self, name: &str, privileges: P) -> Result<()> {
        match self.grants.in_database(name).has(privileges) {
            true => Ok(()),
            false => Err(self.no_database(name)),
        }
    }

    pub(super) fn no_database(&self, name: &str) -> SqlError {
        let UserAtHost { user, host } = self.account();
        error::DBACCESS_DENIED_ERROR.with(&[user, host, &name])
    }

    pub(super) fn named<'n>(&'n self, given: Option<&'n str>) -> Option<&'n str> {
        given.or(self.cx.default_database())
    }

    /// Privileges on a table as the session sees it: with a temporary one of its own it may do
    /// anything.
    fn table(&self, name: &ObjectName, privileges: P) -> Result<()> {
        match self.cx.temporary_table(name.database.as_deref(), &name.name) {
            Some(_) => Ok(()),
            None => self.shared_table(name, privileges),
        }
    }

    /// Privileges on a table that all sessions see; without a database the statement fails for
    /// that.
    pub(super) fn shared_table(&self, name: &ObjectName, privileges: P) -> Result<()> {
        let Some(database) = self.named(name.database.as_deref()) else { return Ok(()) };
        if system_schemas::asks_for_process(database, &name.name) {
            self.global(P::PROCESS, "PROCESS")?;
        }
        if privileges == P::SELECT && system_schemas::is_open_to_all(database, &name.name) {
            return Ok(());
        }
        let missing = privileges.without(self.grants.in_database(database));
        if missing.is_empty() {
            return self.below_view_of_sys(database, &name.name);
        }
        if missing == P::LOCK_TABLES {
            return Err(self.no_database(database));
        }
        Err(self.no_table(missing.without(P::LOCK_TABLES), name))
    }

    /// A view of `sys` asks whoever reads it for the rights on what it shows.
    fn below_view_of_sys(&self, database: &str, view: &str) -> Result<()> {
        if !database.eq_ignore_ascii_case("sys") {
            return Ok(());
        }
        let may_read = self.grants.in_database("performance_schema").has(P::SELECT);
        if !may_read && !system_schemas::is_from_information_schema(view) {
            return Err(error::VIEW_INVALID.with(&[&"sys", &view.to_ascii_lowercase()]));
        }
        match system_schemas::is_from_engine(view) {
            true => self.global(P::PROCESS, "PROCESS"),
            false => Ok(()),
        }
    }

    /// The account whose rights are asked for: of a routine the definer.
    fn account(&self) -> &UserAtHost {
        let definer = self.cx.statement.frames.last().and_then(Frame::definer);
        definer.unwrap_or(&self.cx.connection.account)
    }

    /// The same with the host that the client came from.
    fn shown_account(&self) -> (&str, &str) {
        match self.cx.statement.frames.last().and_then(Frame::definer) {
            Some(definer) => (&definer.user, &definer.host),
            None => (&self.cx.connection.account.user, &self.cx.connection.user.host),
        }
    }

    fn no_table(&self, missing: P, name: &ObjectName) -> SqlError {
        let (user, host) = self.shown_account();
        error::TABLEACCESS_DENIED_ERROR.with(&[&missing, &user, &host, &name.name])
    }

    /// One of these privileges on a table, of which the first is asked for.
    fn any_of_table(&self, name: &ObjectName, any: P, shown: P) -> Result<()> {
        let own = self.cx.temporary_table(name.database.as_deref(), &name.name).is_some();
        match self.named(name.database.as_deref()) {
            Some(database) if !own && !self.grants.in_database(database).has_any(any) => {
                Err(self.no_table(shown, name))
            }
            _ => Ok(()),
        }
    }

    /// SELECT of a column, which the table's other privileges do not mean.
    fn column(&self, name: &ObjectName, column: &str) -> Result<()> {
        self.table(name, P::SELECT).map_err(|_| {
            let (user, host) = self.shown_account();
            error::COLUMNACCESS_DENIED_ERROR.with(&[&P::SELECT, &user, &host, &column, &name.name])
        })
    }

    fn events(&self, database: Option<&str>) -> Result<()> {
        self.named(database).map_or(Ok(()), |database| self.database(database, P::EVENT))
    }

    fn sees_tables(&self, database: Option<&str>) -> Result<()> {
        match self.named(database) {
            Some(name) if !self.grants.sees_tables(name) => Err(self.no_database(name)),
            _ => Ok(()),
        }
    }

    /// Any privilege on a table lets one see what it looks like.
    fn sees_table(&self, table: &ObjectName) -> Result<()> {
        match self.named(table.database.as_deref()) {
            Some(database) if self.grants.sees_definitions(database) => Ok(()),
            _ => self.table(table, P::SELECT),
        }
    }

    pub(super) fn routine(&self, privilege: P, kind: RoutineKind, name: &ObjectName) -> Result<()> {
        let Some(database) = self.named(name.database.as_deref()) else { return Ok(()) };
        if self.grants.on_routine(kind, database, &name.name).has(privilege) {
            return Ok(());
        }
        let shown = format!("{database}.{}", name.name);
        let verb = match privilege {
            P::EXECUTE => "execute",
            P::ALTER_ROUTINE => "alter routine",
            _ => "grant",
        };
        Err(error::PROCACCESS_DENIED_ERROR.with(&[&verb, &self.account().user, &self.account().host, &shown]))
    }

    /// CREATE ROUTINE; for a function as a definer of one's own choice what [`Self::definer`] asks
    /// for; and errors 1418 and 1419, unless `log_bin_trust_function_creators` says otherwise.
    fn create_routine(&self, create: &CreateRoutine) -> Result<()> {
        let Some(database) = self.named(create.name.database.as_deref()) else { return Ok(()) };
        self.database(database, P::CREATE_ROUTINE)?;
        self.definer(create.definer.as_ref())?;
        let trusts = self.cx.instance.globals().bool(ids::LOG_BIN_TRUST_FUNCTION_CREATORS);
        let is_there = self.cx.catalog().function(database, &create.name.name).is_some();
        if create.kind != RoutineKind::Function || trusts || is_there {
            return Ok(());
        }
        let c = &create.characteristics;
        let says = matches!(c.data_access, Some(DataAccess::NoSql | DataAccess::ReadsSqlData));
        if c.deterministic != Some(true) && !says {
            return Err(error::BINLOG_UNSAFE_ROUTINE.plain());
        }
        match self.grants.global.has(P::SUPER) {
            true => Ok(()),
            false => Err(error::BINLOG_CREATE_ROUTINE_NEED_SUPER.plain()),
        }
    }

    /// TRIGGER on the table; what [`Self::definer`] asks for; and error 1419, unless
    /// `log_bin_trust_function_creators` says otherwise.
    fn create_trigger(&self, trigger: &CreateTrigger) -> Result<()> {
        self.table(&trigger.table, P::TRIGGER)?;
        self.definer(trigger.definer.as_ref())?;
        let trusts = self.cx.instance.globals().bool(ids::LOG_BIN_TRUST_FUNCTION_CREATORS);
        match trusts || self.grants.global.has(P::SUPER) {
            true => Ok(()),
            false => Err(error::BINLOG_CREATE_ROUTINE_NEED_SUPER.plain()),
        }
    }

    /// TRIGGER on the trigger's table.
    fn drop_trigger(&self, name: &ObjectName) -> Result<()> {
        let Some(database) = self.named(name.database.as_deref()) else { return Ok(()) };
        let state = self.cx.catalog().state();
        let Some((table, trigger)) = state.trigger(database, &name.name) else { return Ok(()) };
        let database = Some(table.database.as_str().into());
        self.shared_table(&ObjectName { database, name: table.name.as_str().into() }, P::TRIGGER)?;
        self.over(&trigger.definer)
    }

    /// DEFINER = somebody else: a right of its own, more for an account that is not there, or that
    /// has SYSTEM_USER.
    pub(super) fn definer(&self, definer: Option<&Account>) -> Result<()> {
        let Some(named) = definer.filter(|named| !is_own(self.cx, named)) else { return Ok(()) };
        let key = self.key_of(named);
        self.any(P::SUPER, "SET_ANY_DEFINER", "SUPER or SET_ANY_DEFINER")?;
        match self.cx.catalog().state().users.contains_key(&key) {
            true => self.over(&key),
            false => {
                let shown = "SUPER or ALLOW_NONEXISTENT_DEFINER";
                self.any(P::SUPER, "ALLOW_NONEXISTENT_DEFINER", shown)
            }
        }
    }

    /// A function that runs with the rights of an account with SYSTEM_USER is not for others to
    /// change.
    fn of_other_definer(&self, kind: RoutineKind, name: &ObjectName) -> Result<()> {
        let Some(database) = self.named(name.database.as_deref()) else { return Ok(()) };
        match self.cx.catalog().routine(kind, database, &name.name) {
            Some(function) => self.over(&function.definer),
            None => Ok(()),
        }
    }

    /// The same for an event.
    fn event_of_other_definer(&self, name: &ObjectName) -> Result<()> {
        let Some(database) = self.named(name.database.as_deref()) else { return Ok(()) };
        match self.cx.catalog().state().event(database, &name.name) {
            Some(event) => self.over(&event.definer),
            None => Ok(()),
        }
    }

    // Statements of rows.

    pub(super) fn rows<'a>(&self, collect: impl FnOnce(&mut Needs<'a, '_>)) -> Result<()> {
        let owns = |name: &ObjectName, column: &str| self.cx.has_column(name, column);
        let mut needs = Needs::new(&owns);
        needs.has_trigger_rows = self.cx.statement.frames.last().is_some_and(Frame::is_trigger);
        collect(&mut needs);
        if needs.file {
            self.file()?;
        }
        for need in &needs.tables {
            self.table(need.name, need.privileges)?;
            if !need.any.is_empty() {
                let shown = if need.any.has(P::SELECT) { P::SELECT } else { P::UPDATE };
                self.any_of_table(need.name, need.any, shown)?;
            }
        }
        for need in &needs.tables {
            need.column.map_or(Ok(()), |column| self.column(need.name, column))?;
        }
        needs.functions.iter().try_for_each(|(database, name)| {
            let is_qualified = database.is_some();
            let Some(database) = self.named(database.map(|d| d.as_str())) else { return Ok(()) };
            // Whether a function is there is not for everybody to know either.
            let asks = is_qualified || self.cx.catalog().function(database, name).is_some();
            if asks && !self.grants.on_routine(RoutineKind::Function, database, name).has(P::EXECUTE) {
                let name = ObjectName { database: Some(database.into()), name: (*name).clone() };
                return self.routine(P::EXECUTE, RoutineKind::Function, &name);
            }
            Ok(())
        })
    }
}

impl Context {
    /// True if there is such a table, and it has such a column.
    pub(crate) fn has_column(&self, name: &ObjectName, column: &str) -> bool {
        let table = self.visible_table(name.database.as_deref(), &name.name);
        table.is_ok_and(|table| table.columns.iter().any(|c| c.name.eq_ignore_ascii_case(column)))
    }

    /// Error 1227 unless the account has one of `any` for everything, or the dynamic privilege.
    /// `shown` is what the error asks for.
    pub(crate) fn need_any(&self, any: P, dynamic: &str, shown: &str) -> Result<()> {
        let grants = self.grants_now();
        Checker { cx: self, grants }.any(any, dynamic, shown)
    }

    /// Error 1227 unless the account has a privilege, named as in GRANT, for everything: a static
    /// or a dynamic one.
    pub(crate) fn need_privilege(&self, name: &str) -> Result<()> {
        let of_name = set::find(name).unwrap_or(P::NONE);
        self.need_any(of_name, name, name)
    }
}
