//! A view in FROM: bound as a derived table, and found by its database as well.

use std::sync::Arc;

use super::{Binder, List, Names};
use crate::catalog::ViewDef;
use crate::catalog::view::is_updatable;
use crate::planner::merge;
use crate::planner::recorded::RecordedNames;
use datum::error::{self, Result};
use datum::types::{Charset, Collation};
use syntax::ast::{self, ViewAlgorithm};

/// What a view does not see of what is around it, for when it is bound.
pub(crate) struct ViewScope<'c> {
    pub(crate) common: Vec<Arc<ast::CommonTable>>,
    pub(crate) text: &'c [u8],
    pub(crate) recorded: Option<Box<RecordedNames>>,
    /// `collation_connection` and `character_set_client`.
    pub(crate) texts: (Collation, Charset),
}

impl Binder<'_, '_, '_> {
    /// Notes a slot whose rows the view that names it may not change.
    pub(super) fn note_denied(&mut self, factor: &ast::TableFactor, slot: usize) {
        if let Some(privileges) = self.changes
            && self.resolver.is_denied_in_view(&factor.name, privileges)
        {
            self.resolver.views.targets.denied |= 1 << slot;
        }
    }

    /// Adds a view's columns to the names, and what it reads to what is joined.
    pub(super) fn view(
        &mut self,
        factor: &ast::TableFactor,
        view: &Arc<ViewDef>,
        nullable: bool,
        out: &mut List,
    ) -> Result<Names> {
        let alias = factor.alias.as_ref().unwrap_or(&factor.name.name);
        if let Some(index) = factor.hints.iter().find_map(|hint| hint.indexes.first()) {
            return Err(error::KEY_DOES_NOT_EXIST.with(&[index, alias]));
        }
        let base = self.slots.len();
        let is_made = view.algorithm == ViewAlgorithm::TempTable;
        let changes = self.changes.filter(|_| !nullable && !is_made);
        let noted = self.changes.map(|_| self.resolver.views.targets.begin());
        let around = std::mem::replace(&mut self.resolver.scope.window, 0..0);
        let bound = self.resolver.in_view(view, |resolver, query| {
            merge::view(resolver, query, merge::Within { nullable, base, changes }, is_made)
        });
        self.resolver.scope.window = around;
        let mut bound = bound?;
        if let Some(noted) = noted {
            self.resolver.views.targets.end(noted, view, &mut bound, base, changes.is_some());
        }
        let names: Vec<ast::Ident> = view.columns.iter().map(|column| column.as_str().into()).collect();
        let names = self.put_bound(bound, alias, &names, &view.database, out)?;
        (base..self.slots.len()).for_each(|slot| self.note_denied(factor, slot));
        if self.changes.is_some() {
            let tree = view.tree()?;
            if is_made || !is_updatable(&self.resolver.cx.catalog().state(), &tree) {
                let slots = (base..self.slots.len()).fold(0, |all, slot| all | 1 << slot);
                self.resolver.views.targets.fixed |= slots;
            }
        }
        Ok(names)
    }
}
