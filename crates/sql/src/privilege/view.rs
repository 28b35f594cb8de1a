//! Rights that views are about: to make one, and what it may read when it is used.
//!
//! (V1) What is in a view is what all sessions share: a session's own table under the same name
//!      gives nobody a right to what it hides.

use super::Grants;
use super::accounts::is_own;
use super::check::Checker;
use super::needs::Needs;
use super::set::Privileges as P;
use crate::catalog::view::Uses;
use crate::catalog::{UserAtHost, ViewDef};
use crate::session::Context;
use datum::error::{self, Result};
use syntax::ast::visit::Visitor;
use syntax::ast::{Account, CreateView, ObjectName, Query, RoutineKind, StatementKind, Text};

/// Refuses a view whose query, a canonical tree, needs more than `grants` are.
pub(crate) fn check_view(cx: &Context, grants: &Grants, query: &Query) -> Result<()> {
    if grants.is_unlimited() {
        return Ok(());
    }
    Checker { cx, grants }.query_of_view(query)
}

/// Refuses a change of a table or view that a view reads.
pub(crate) fn check_change_in_view(
    cx: &Context,
    grants: &Grants,
    name: &ObjectName,
    privileges: P,
) -> Result<()> {
    if grants.is_unlimited() { Ok(()) } else { Checker { cx, grants }.shared_table(name, privileges) }
}

impl Checker<'_> {
    fn query_of_view(&self, query: &Query) -> Result<()> {
        let owns = |_: &ObjectName, _: &str| false;
        let mut needs = Needs::new(&owns);
        needs.query(query);
        needs.tables.iter().try_for_each(|need| self.shared_table(need.name, need.privileges))?;
        needs.functions.iter().try_for_each(|(database, name)| match database {
            Some(database) => {
                let name = ObjectName { database: Some((*database).clone()), name: (*name).clone() };
                self.routine(P::EXECUTE, RoutineKind::Function, &name)
            }
            None => Ok(()),
        })
    }

    /// CREATE VIEW, DROP where it may take another one's place, what its query reads, and what
    /// [`Self::definer`] asks for; of a view that runs with another account's rights what is asked
    /// for that one.
    pub(super) fn create_view(&self, create: &CreateView) -> Result<()> {
        let replaces = create.alter || create.or_replace;
        self.shared_table(&create.name, P::CREATE_VIEW | if replaces { P::DROP } else { P::NONE })?;
        self.definer(create.definer.as_ref())?;
        let view = self
            .named(create.name.database.as_deref())
            .and_then(|database| self.cx.catalog().view(database, &create.name.name));
        if let Some(view) = view.filter(|_| replaces) {
            let UserAtHost { user, host } = &view.definer;
            let definer =
                Account::Named { user: Text::new(user.as_bytes()), host: Text::new(host.as_bytes()) };
            match create.alter && create.definer.is_none() && !is_own(self.cx, &definer) {
                true => self.definer(Some(&definer))?,
                false => self.over(&view.definer)?,
            }
        }
        self.rows(|needs| needs.query(&create.query))
    }

    /// DROP, and more for a view that runs with the rights of an account with SYSTEM_USER.
    pub(super) fn drop_view(&self, name: &ObjectName) -> Result<()> {
        self.shared_table(name, P::DROP)?;
        let database = self.named(name.database.as_deref());
        match database.and_then(|database| self.cx.catalog().view(database, &name.name)) {
            Some(view) => self.over(&view.definer),
            None => Ok(()),
        }
    }

    /// SHOW CREATE VIEW, and SHOW CREATE TABLE of a view.
    pub(super) fn show_create_view(&self, name: &ObjectName) -> Result<()> {
        self.shared_table(name, P::SELECT)?;
        self.shared_table(name, P::SHOW_VIEW)
    }

    /// LOCK TABLES of a view locks what it reads, which asks for the same of it where the view has
    /// the rights of who uses it.
    ///
    /// # Errors
    /// 1356
    pub(super) fn locks_view(&self, name: &ObjectName) -> Result<()> {
        let Some(view) = self.cx.visible_view(name.database.as_deref(), &name.name) else { return Ok(()) };
        // What a view that can't be read leads to is told when it is used.
        let Ok(tree) = view.tree() else { return Ok(()) };
        if !view.invoker {
            return Ok(());
        }
        let may_lock = Uses::of(&tree).tables.into_iter().all(|(database, table)| {
            let name = ObjectName { database: Some(database.as_str().into()), name: table.as_str().into() };
            self.shared_table(&name, P::SELECT | P::LOCK_TABLES).is_ok()
        });
        if may_lock { Ok(()) } else { Err(error::VIEW_INVALID.with(&[&view.database, &view.name])) }
    }

    /// EXPLAIN tells what is in the views that a statement names, and how large the tables are that
    /// they lead to: it asks for SHOW VIEW, and for SELECT on these.
    ///
    /// # Errors
    /// 1345
    pub(super) fn explains_views(&self, kind: &StatementKind) -> Result<()> {
        let owns = |name: &ObjectName, column: &str| self.cx.has_column(name, column);
        for used in super::tables_used(kind, &owns) {
            let view = self.cx.visible_view(used.name.database.as_deref(), &used.name.name);
            let Some(view) = view else { continue };
            if self.shared_table(used.name, P::SHOW_VIEW).is_err() || !self.may_read_below(&view)? {
                return Err(error::VIEW_NO_EXPLAIN.plain());
            }
        }
        Ok(())
    }

    /// True with SELECT on everything that a view leads to.
    fn may_read_below(&self, view: &ViewDef) -> Result<bool> {
        // What is wrong with a view's text is told when it is bound.
        let Ok(tree) = view.tree() else { return Ok(true) };
        let below = self.cx.catalog().state().below_view(&tree)?;
        Ok(below.iter().all(|(database, table)| {
            let name = ObjectName { database: Some(database.as_str().into()), name: table.as_str().into() };
            self.shared_table(&name, P::SELECT).is_ok()
        }))
    }
}
