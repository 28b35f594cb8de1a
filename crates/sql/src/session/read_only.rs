//! `read_only`, `super_read_only` and `offline_mode`: what they refuse, and how they take effect.
//!
//! (W1) Once SET GLOBAL `read_only` = ON has been answered, no commit of an account that it binds
//!      becomes visible. The commit barrier is closed while the variable is set: a commit inside
//!      by then has ended, one that enters later sees it. So it waits for LOCK TABLES .. WRITE
//!      of others, as in MySQL, and not for transactions that are open: these fail when they
//!      commit.

use super::Context;
use crate::catalog::UserAtHost;
use crate::catalog::metadata_lock::barrier::Closed;
use crate::privilege::{Grants, Privileges, tables_used};
use crate::variables::ids;
use datum::error::{self, Result};
use syntax::ast::{LockStrength, MaintenanceVerb, SetItem, StatementKind, TableLock};

const CONNECTION_ADMIN: &str = "CONNECTION_ADMIN";

impl Context {
    /// Error 1290 while the server is read only and the account is bound by that.
    pub(super) fn check_server_writable(&self) -> Result<()> {
        let globals = self.instance.globals();
        if !globals.bool(ids::READ_ONLY) || self.log.applies || self.connection.is_startup {
            return Ok(());
        }
        if globals.bool(ids::SUPER_READ_ONLY) {
            return Err(error::OPTION_PREVENTS_STATEMENT.with(&[&"--super-read-only"]));
        }
        match self.need_any(Privileges::SUPER, CONNECTION_ADMIN, CONNECTION_ADMIN) {
            Ok(()) => Ok(()),
            Err(_) => Err(error::OPTION_PREVENTS_STATEMENT.with(&[&"--read-only"])),
        }
    }

    /// The same before a statement that names something to be changed other than the session's
    /// temporary tables, whether it would change anything or not. Tables that functions write are
    /// asked for when they do.
    pub(crate) fn check_statement_writable(&self, kind: &StatementKind) -> Result<()> {
        if !self.instance.globals().bool(ids::READ_ONLY) || !self.changes_what_is_shared(kind) {
            return Ok(());
        }
        self.check_server_writable()
    }

    fn changes_what_is_shared(&self, kind: &StatementKind) -> bool {
        use StatementKind as S;
        let is_own = |name: &syntax::ast::ObjectName| {
            self.temporary_table(name.database.as_deref(), &name.name).is_some()
        };
        match kind {
            S::Begin(options) => options.read_only == Some(false),
            S::LockTables(tables) => tables.iter().any(|t| t.mode == TableLock::Write && !is_own(&t.table)),
            S::Set(items) => items.iter().any(|item| matches!(item, SetItem::Password { .. })),
            S::TableMaintenance(maintenance) => {
                matches!(maintenance.verb, MaintenanceVerb::Analyze | MaintenanceVerb::Optimize)
                    && !maintenance.tables.iter().all(is_own)
            }
            S::InstallPlugin { .. } | S::UninstallPlugin(_) => true,
            S::AlterTable(alter) => !is_own(&alter.name),
            S::CreateIndex(create) => !is_own(&create.table),
            S::DropIndex(drop) => !is_own(&drop.table),
            S::TruncateTable(name) => !is_own(name),
            S::DropTable(drop) => !drop.temporary && !drop.names.iter().all(is_own),
            kind if crate::statement_class::is_ddl(kind) => !crate::executor::temporary::is_temporary(kind),
            S::Query(query) if query.locking.iter().any(|l| l.strength == LockStrength::Update) => {
                let owns = |name: &syntax::ast::ObjectName, column: &str| self.has_column(name, column);
                tables_used(kind, &owns).iter().any(|used| !is_own(used.name))
            }
            kind => {
                let owns = |name: &syntax::ast::ObjectName, column: &str| self.has_column(name, column);
                tables_used(kind, &owns).iter().any(|used| used.writes && !used.defines && !is_own(used.name))
            }
        }
    }

    /// Error 1192 where `read_only` may not be set: the session has locked tables, or a transaction
    /// that is open.
    pub(crate) fn check_may_set_read_only(&self) -> Result<()> {
        match self.transactions.is_explicit() || self.locks.tables.has_tables() {
            true => Err(error::LOCK_OR_ACTIVE_TRANSACTION.plain()),
            false => Ok(()),
        }
    }

    /// Keeps commits away while `read_only` is set (W1). Error 1205 if somebody holds them up for
    /// longer than `lock_wait_timeout`.
    pub(crate) fn close_commits(&self) -> Result<Option<Closed>> {
        match self.locks.tables.has_global() {
            true => Ok(None),
            false => self
                .instance
                .commit_barrier()
                .close(&self.interrupt, self.settings.metadata_timeout())
                .map(Some),
        }
    }

    /// Ends the sessions that may not be there in `offline_mode`. It is on by now, so none of them
    /// comes back.
    pub(crate) fn end_others_for_offline_mode(&self) {
        let state = self.instance.catalog().state();
        let stays = |account: &UserAtHost| {
            state.users.get(account).is_some_and(|user| may_stay_offline(&user.grants))
        };
        for process in self.instance.processes() {
            if process.id != self.connection.id && !stays(process.account()) {
                process.kill(crate::instance::Kill::Connection);
            }
        }
    }
}

/// True if an account with these grants may connect in `offline_mode`.
pub(crate) fn may_stay_offline(grants: &Grants) -> bool {
    grants.global.has(Privileges::SUPER) || grants.has_dynamic(CONNECTION_ADMIN)
}
