//! Views in FROM: derived tables that have a world of their own.
//!
//! 1. open     A name that is no table's may be a view's, whose definition then stays as it is
//!    ([`Resolver::open_source`]).
//! 2. enter    The rights are checked that the view reads its tables with, its query is bound as a
//!    derived table ([`super::from`]) with nothing of what is around it in sight: neither the
//!    tables of WITH nor a routine's variables, nor temporary tables, nor the session's default
//!    database, for its text names all of them; its strings have the collation of its creation.
//! 3. merge    It is merged into the block around it or made as a whole, by the rules of derived
//!    tables ([`super::merge`]); TEMPTABLE is always made.
//!
//! (V1) A view that leads to itself, which RENAME TABLE can make of views that do not, is error
//!      1462 before it is entered again.
//! (V2) What is wrong within a view is error 1356 of the view that the statement names, whose
//!      user learns nothing of what it reads.

use std::sync::Arc;

use super::from::ViewScope;
use super::view_target::ViewTargets;
use crate::catalog::{TableDef, ViewDef};
use crate::expression::Resolver;
use crate::privilege::{self, Grants, Privileges};
use crate::session::Context;
use datum::error::{self, Code, Result, SqlError};
use datum::types::Charset;
use syntax::ast::{ObjectName, Query, TableFactor};

/// The most views that a statement may use: one that names another one twice doubles it.
const VIEWS_MAX: usize = 1024;

/// The views that a statement uses.
#[derive(Default)]
pub(crate) struct ViewUses {
    /// Those that are being bound, the innermost last.
    open: Vec<OpenView>,
    /// All of them, for a plan that is cached.
    pub(crate) used: Vec<Arc<ViewDef>>,
    /// How often views were bound.
    count: usize,
    /// Only what columns there are is of interest: nothing is locked, and nobody is waited for.
    pub(crate) looks_only: bool,
    /// Those whose rows the statement may change.
    pub(crate) targets: ViewTargets,
}

/// A view that is being bound.
struct OpenView {
    view: Arc<ViewDef>,
    /// What may be done in it; `None`: what the statement may.
    grants: Option<Arc<Grants>>,
}

/// What a name in FROM means.
pub(crate) enum Opened {
    Table(Arc<TableDef>),
    View(Arc<ViewDef>),
}

/// What errors within a view are told as error 1356.
const HIDDEN: [Code; 10] = [
    error::BAD_DB_ERROR,
    error::BAD_FIELD_ERROR,
    error::NO_SUCH_TABLE,
    error::UNKNOWN_TABLE,
    error::SP_DOES_NOT_EXIST,
    error::TABLEACCESS_DENIED_ERROR,
    error::COLUMNACCESS_DENIED_ERROR,
    error::PROCACCESS_DENIED_ERROR,
    error::DBACCESS_DENIED_ERROR,
    error::VIEW_INVALID,
];

/// (V2)
pub(crate) fn hidden(e: SqlError, view: &ViewDef) -> SqlError {
    match HIDDEN.iter().any(|code| e.is(*code)) {
        true => error::VIEW_INVALID.with(&[&view.database, &view.name]),
        false => e,
    }
}

impl Resolver<'_> {
    /// What a name in FROM means: a table, else a view.
    ///
    /// # Errors
    /// 1046, 1049, 1146; and those of metadata locks.
    pub(crate) fn open_source(&mut self, factor: &TableFactor) -> Result<Opened> {
        let (database, name) = (factor.name.database.as_deref(), &*factor.name.name);
        let opened = match (self.views.open.is_empty(), self.views.looks_only) {
            (true, false) => self.cx.open_table(database, name),
            (true, true) => self.cx.visible_table(database, name),
            (false, looks_only) => shared_table(self.cx, database, name, looks_only),
        };
        match opened {
            Ok(table) => Ok(Opened::Table(table)),
            Err(e) if e.is(error::NO_SUCH_TABLE) => {
                let view = match self.views.looks_only {
                    true => self.cx.visible_view(database, name),
                    false => self.cx.open_view(database, name)?,
                };
                view.map(Opened::View).ok_or(e)
            }
            Err(e) => Err(e),
        }
    }

    /// Binds what is in a view, with nothing of what is around it in sight.
    ///
    /// # Errors
    /// 1462 (V1), 1449 for a definer that there is not, those of `bind` and of the view's rights,
    /// hidden (V2).
    pub(crate) fn in_view<T>(
        &mut self,
        view: &Arc<ViewDef>,
        bind: impl FnOnce(&mut Self, &Query) -> Result<T>,
    ) -> Result<T> {
        datum::stack::check()?;
        if self.views.open.iter().any(|open| Arc::ptr_eq(&open.view, view)) {
            let first = self.views.open.first().map_or(view, |open| &open.view);
            return Err(error::VIEW_RECURSIVE.with(&[&first.database, &first.name]));
        }
        self.views.count += 1;
        if self.views.count > VIEWS_MAX {
            return Err(SqlError::unsupported(format_args!("more than {VIEWS_MAX} uses of views")));
        }
        let grants = self.grants_in(view)?;
        let tree = view.tree()?;
        let has_rights = match &grants {
            Some(grants) => privilege::check_view(self.cx, grants, &tree),
            None => privilege::check_view(self.cx, self.cx.grants_now(), &tree),
        };
        has_rights.map_err(|e| hidden(e, view))?;
        self.views.used.push(view.clone());
        self.views.open.push(OpenView { view: view.clone(), grants });
        let around = ViewScope {
            common: std::mem::take(&mut self.common),
            text: std::mem::take(&mut self.text),
            recorded: self.recorded.take(),
            texts: self.cx.settings.swap_texts((view.connection, Charset::Utf8mb4)),
        };
        let bound = bind(self, &tree);
        self.cx.settings.swap_texts(around.texts);
        (self.common, self.text, self.recorded) = (around.common, around.text, around.recorded);
        self.views.open.pop();
        bound.map_err(|e| hidden(e, view))
    }

    /// What the innermost view may not do with what it reads is an error of its user's, too.
    ///
    /// # Errors
    /// 1142, which is hidden (V2)
    pub(crate) fn check_change_in_view(&self, name: &ObjectName, privileges: Privileges) -> Result<()> {
        let grants = self.views.open.last().and_then(|open| open.grants.as_deref());
        privilege::check_change_in_view(
            self.cx,
            grants.unwrap_or_else(|| self.cx.grants_now()),
            name,
            privileges,
        )
    }

    /// True if the innermost view may not do that with the rows of what it reads; false outside of
    /// views.
    pub(crate) fn is_denied_in_view(&self, name: &ObjectName, privileges: Privileges) -> bool {
        !self.views.open.is_empty() && self.check_change_in_view(name, privileges).is_err()
    }

    /// Whose account `CURRENT_USER` is in the view that is being bound; `None`: the statement's.
    pub(crate) fn view_definer(&self) -> Option<String> {
        let by_definer = self.views.open.iter().rev().find(|open| !open.view.invoker)?;
        Some(by_definer.view.definer.to_string())
    }

    /// What may be done in a view: what its definer may, or who uses it, which may be the definer
    /// of a view around it.
    fn grants_in(&self, view: &ViewDef) -> Result<Option<Arc<Grants>>> {
        if view.invoker {
            return Ok(self.views.open.last().and_then(|open| open.grants.clone()));
        }
        let state = self.cx.catalog().state();
        let definer = state.users.get(&view.definer).map(|user| user.grants.clone());
        let missing = || error::NO_SUCH_USER.with(&[&view.definer.user, &view.definer.host]);
        definer.map(Some).ok_or_else(missing)
    }
}

/// A table that a view names, which is none of the session's own.
fn shared_table(
    cx: &mut Context,
    database: Option<&str>,
    name: &str,
    looks_only: bool,
) -> Result<Arc<TableDef>> {
    let Some(database) = database else { return Err(error::NO_DB_SELECTED.plain()) };
    match looks_only {
        true => cx.catalog().table(database, name),
        false => cx.open_shared_table(database, name),
    }
}
