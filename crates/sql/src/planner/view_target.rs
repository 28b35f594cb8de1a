//! Views in FROM of a statement that changes rows: which tables their columns are of, and what
//! their rows fulfil.
//!
//! 1. track  The statement says what it does to rows ([`ViewTargets::tracked`]); the FROM that is
//!    bound next takes that, and hands it down to the queries of its views, to nothing else.
//! 2. bind   Each view that is merged is noted with its slots. Its conditions are kept apart from
//!    the join's until all of FROM is bound, so that those of each level are known by themselves,
//!    which LOCAL asks for. What a view's account may not change is noted by slots.
//! 3. ask    The statement looks up the view that a name in SET, DELETE or INSERT means.
//!
//! (C1) Conditions that were kept apart are given back, by [`ViewTargets::put_back`], to the block
//!      that they were taken of.

use std::ops::Range;
use std::sync::Arc;

use super::merge;
use crate::catalog::ViewDef;
use crate::expression::Expr;
use crate::privilege::Privileges;
use syntax::ast::CheckOption;

/// The views in FROM of a statement that changes rows.
#[derive(Default)]
pub(crate) struct ViewTargets {
    /// What the FROM that is bound next does to its rows.
    pub(crate) tracked: Option<Privileges>,
    /// Those of the block that is being bound, in the order of their slots.
    views: Vec<ViewTarget>,
    /// The slots whose rows a view may not change, one bit each.
    pub(crate) denied: u64,
    /// The slots of views whose rows can't be changed, one bit each.
    pub(crate) fixed: u64,
}

/// A view in FROM: its columns are expressions over its slots.
pub(crate) struct ViewTarget {
    pub(crate) view: Arc<ViewDef>,
    /// What it fills.
    pub(crate) slots: Range<usize>,
    /// Its rows are those of its tables, and it is nowhere complemented by NULLs.
    pub(crate) is_merged: bool,
    /// What its rows fulfil.
    pub(crate) conditions: Vec<Expr>,
    /// What WITH CHECK OPTION asks of rows that are written.
    pub(crate) checks: Vec<Expr>,
}

/// What was noted before a view is bound.
pub(crate) struct Noted {
    views: usize,
    denied: u64,
    fixed: u64,
}

impl ViewTargets {
    /// Begins a view's query.
    pub(crate) fn begin(&mut self) -> Noted {
        let (denied, fixed) = (std::mem::take(&mut self.denied), std::mem::take(&mut self.fixed));
        Noted { views: self.views.len(), denied, fixed }
    }

    /// Ends it: `bound` fills slots from `base` on. Keeps its conditions apart if it is tracked.
    pub(crate) fn end(
        &mut self,
        noted: Noted,
        view: &Arc<ViewDef>,
        bound: &mut merge::Bound,
        base: usize,
        is_tracked: bool,
    ) {
        let below = self.views.split_off(noted.views);
        let (denied, fixed) = (self.denied, self.fixed);
        self.denied = noted.denied | denied.checked_shl(base as u32).unwrap_or(0);
        self.fixed = noted.fixed | fixed.checked_shl(base as u32).unwrap_or(0);
        let mut target = ViewTarget {
            view: view.clone(),
            slots: base..base + 1,
            is_merged: false,
            conditions: Vec::new(),
            checks: Vec::new(),
        };
        if let merge::Bound::Merged { slots, list, .. } = bound {
            target.slots.end = base + slots.len();
            target.is_merged = is_tracked;
            if is_tracked {
                let (mut conditions, mut checks) = (Vec::new(), Vec::new());
                for view in below {
                    conditions.extend(view.conditions);
                    checks.extend(view.checks);
                }
                let mut adopt = merge::adopt(&[], base);
                conditions.iter_mut().chain(&mut checks).for_each(|e| e.transform(&mut adopt));
                let own = std::mem::take(&mut list.conditions);
                if view.check_option == Some(CheckOption::Local) {
                    checks.extend(own.iter().cloned());
                }
                conditions.extend(own);
                if view.check_option == Some(CheckOption::Cascaded) {
                    checks.clone_from(&conditions);
                }
                (target.conditions, target.checks) = (conditions, checks);
            }
        }
        self.views.push(target);
    }

    /// Forgets the views that were noted since, which are no tables of the block around; their
    /// conditions, which their own block needs.
    pub(crate) fn put_back(&mut self, noted: &Noted) -> Vec<Expr> {
        (self.denied, self.fixed) = (0, 0);
        self.views.drain(noted.views..).flat_map(|view| view.conditions).collect()
    }

    /// The conditions of all views, for the join that they are merged into.
    pub(crate) fn conditions(&self) -> impl Iterator<Item = &Expr> {
        self.views.iter().flat_map(|view| &view.conditions)
    }

    /// The view whose slots begin there.
    pub(crate) fn at(&self, slot: usize) -> Option<&ViewTarget> {
        self.views.iter().find(|view| view.slots.start == slot)
    }
}
