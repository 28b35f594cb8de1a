//! Rights that views are about: to make one, and what it may read when it is used.
//!
//! (V1) What is in a view is what all sessions share: a session's own table under the same name
//!      gives nobody a right to what it hides.

use super::Grants;
use super::accounts::is_own;
use super::check::Checker;
use super::needs::Needs;
use super::set::Privileges as P;
use crate::catalog::UserAtHost;
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

    /// EXPLAIN tells what is in the views that a statement names.
    ///
    /// # Errors
    /// 1345
    pub(super) fn explains_views(&self, kind: &StatementKind) -> Result<()> {
        let owns = |name: &ObjectName, column: &str| self.cx.has_column(name, column);
        for used in super::tables_used(kind, &owns) {
            let view = self.cx.visible_view(used.name.database.as_deref(), &used.name.name);
            if view.is_some() && self.shared_table(used.name, P::SHOW_VIEW).is_err() {
                return Err(error::VIEW_NO_EXPLAIN.plain());
            }
        }
        Ok(())
    }
}
