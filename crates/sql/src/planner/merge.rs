//! Derived tables: merged into the block around them where they are nothing but a join with a
//! condition, else planned to be made as a whole.

use std::sync::Arc;

use super::block;
use super::from::{Item, ItemKind, List, Slot};
use super::{Derived, Maker};
use crate::expression::resolve::Scope;
use crate::expression::subquery::new_id;
use crate::expression::{Expr, Node, Resolver};
use crate::output::OutputColumn;
use crate::privilege::Privileges;
use datum::error::Result;
use syntax::ast::{self, QueryBody};

/// A derived table as the block around it takes it.
pub(crate) enum Bound {
    /// Its sources are the block's.
    Merged {
        /// What fills them.
        slots: Vec<Slot>,
        /// How they are joined.
        list: List,
        /// The derived table's columns.
        columns: Vec<OutputColumn>,
        /// What they are.
        exprs: Vec<Expr>,
    },
    /// It is made as a whole.
    Made(Arc<Derived>),
}

/// Where a derived table stands.
#[derive(Clone, Copy)]
pub(crate) struct Within {
    /// It may be complemented by NULLs.
    pub(crate) nullable: bool,
    /// The slots that the block has already.
    pub(crate) base: usize,
    /// It is a view, through which the statement may do that to rows.
    pub(crate) changes: Option<Privileges>,
}

/// Binds a derived table.
pub(crate) fn derived(resolver: &mut Resolver<'_>, query: &ast::Query, place: Within) -> Result<Bound> {
    bind(resolver, place, |resolver| inner(resolver, query, place))
}

/// Binds a view's query, which sees none of a routine's variables. One that is to be made is not
/// merged.
pub(crate) fn view(
    resolver: &mut Resolver<'_>,
    query: &ast::Query,
    place: Within,
    is_made: bool,
) -> Result<Bound> {
    bind(resolver, place, |resolver| {
        resolver.scope.locals = crate::routine::Locals::default();
        match is_made {
            true => super::query(resolver, query).map(|plan| Inner::Plan(Box::new(plan))),
            false => inner(resolver, query, place),
        }
    })
}

fn bind(
    resolver: &mut Resolver<'_>,
    place: Within,
    inner: impl FnOnce(&mut Resolver<'_>) -> Result<Inner>,
) -> Result<Bound> {
    // What is made before the statement changes anything may read what it changes.
    let targets = std::mem::take(&mut resolver.targets);
    let (outcome, parameters) = within(resolver, inner);
    resolver.targets = targets;
    Ok(match outcome? {
        Inner::Block(block) => merged(*block, &parameters, place.base),
        Inner::Plan(plan) => {
            let is_volatile = plan.is_volatile();
            Bound::Made(Arc::new(Derived { id: new_id(), plan: *plan, parameters, is_volatile, size: None }))
        }
    })
}

/// Runs `bind` in a scope of its own inside of the resolver's; returns what it takes from around
/// it, too.
pub(crate) fn within<T>(
    resolver: &mut Resolver<'_>,
    bind: impl FnOnce(&mut Resolver<'_>) -> Result<T>,
) -> (Result<T>, Vec<Expr>) {
    let around = std::mem::take(&mut resolver.scope);
    resolver.scope = Scope::within(around);
    let outcome = bind(resolver);
    let inner = std::mem::take(&mut resolver.scope);
    if let Some(around) = inner.parent {
        resolver.scope = *around;
    }
    (outcome, inner.parameters)
}

enum Inner {
    Block(Box<block::Bound>),
    Plan(Box<super::Query>),
}

fn inner(resolver: &mut Resolver<'_>, query: &ast::Query, place: Within) -> Result<Inner> {
    // A change has no use for the order of a view that it goes through.
    let plain = query.with.is_none()
        && (query.order_by.is_empty() || place.changes.is_some())
        && query.limit.is_none()
        && query.locking.is_empty();
    match &query.body {
        QueryBody::Select(select) if plain => {
            let targets = &mut resolver.views.targets;
            targets.tracked = place.changes;
            let noted = place.changes.map(|_| targets.begin());
            let bound = block::bind(resolver, select, query);
            resolver.views.targets.tracked = None;
            let mut block = bound?;
            if is_mergeable(&block, place.nullable) {
                return Ok(Inner::Block(Box::new(block)));
            }
            if let Some(noted) = noted {
                block.list.conditions.extend(resolver.views.targets.put_back(&noted));
            }
            block::plan(resolver, block).map(|plan| Inner::Plan(Box::new(plan)))
        }
        _ => super::query(resolver, query).map(|plan| Inner::Plan(Box::new(plan))),
    }
}

/// The nodes that an expression in a merged derived table's select list may have. Each use in the
/// block around copies it, which doubles it for each level of
/// `SELECT a + a AS a FROM (SELECT a + a AS a FROM ..)`, and makes it higher.
const MERGED_NODES_MAX: u32 = 64;

/// True if an expression has so few nodes that copies of it do no harm.
pub(crate) fn is_small(e: &Expr) -> bool {
    let mut nodes = 0;
    !e.contains(&mut |_| {
        nodes += 1;
        nodes > MERGED_NODES_MAX
    })
}

fn is_mergeable(block: &block::Bound, nullable: bool) -> bool {
    let simple = |e: &Expr| {
        !e.contains(&mut |e| matches!(e.node, Node::Subquery(_) | Node::Assign(..))) && !e.is_volatile()
    };
    // A complemented row has NULL in all columns, which only columns show by themselves.
    let shown = |e: &Expr| matches!(e.node, Node::Column { .. }) || !nullable && simple(e) && is_small(e);
    block.group.is_none()
        && block.having.is_none()
        && block.windows.is_empty()
        && !block.distinct
        && !block.straight
        && !block.slots.is_empty()
        && block.list.conditions.iter().all(|e| !e.is_volatile())
        && block.items.iter().all(shown)
}

/// Makes an expression of an inner block one of the block around: its sources come after `base`
/// others, and what it takes from around it is there itself.
pub(crate) fn adopt(parameters: &[Expr], base: usize) -> impl FnMut(&mut Expr) + '_ {
    move |e| {
        match &mut e.node {
            Node::Column { source, .. } => *source += base,
            Node::Outer(number) => {
                if let Some(value) = parameters.get(*number) {
                    *e = value.clone();
                }
            }
            _ => {}
        };
    }
}

fn merged(block: block::Bound, parameters: &[Expr], base: usize) -> Bound {
    let mut adopt = adopt(parameters, base);
    let block::Bound { mut slots, mut list, columns, items: mut exprs, .. } = block;
    for slot in &mut slots {
        match slot {
            Slot::Rows(Maker::Derived(derived), _) => {
                if let Some(derived) = Arc::get_mut(derived) {
                    derived.parameters.iter_mut().for_each(|e| e.transform(&mut adopt));
                }
            }
            Slot::Rows(Maker::Json(source), _) => Arc::make_mut(source).document.transform(&mut adopt),
            _ => {}
        }
    }
    exprs.iter_mut().for_each(|e| e.transform(&mut adopt));
    shift(&mut list, base, &slots, &mut adopt);
    Bound::Merged { slots, list, columns, exprs }
}

/// The same for a list of what is joined.
pub(crate) fn shift(list: &mut List, base: usize, slots: &[Slot], adopt: &mut dyn FnMut(&mut Expr)) {
    list.conditions.iter_mut().for_each(|e| e.transform(adopt));
    for Item { kind, requires } in &mut list.items {
        *requires <<= base;
        match kind {
            ItemKind::Slot(slot) => {
                if let Slot::Rows(maker, _) = &slots[*slot] {
                    *requires |= maker.sources();
                }
                *slot += base;
            }
            ItemKind::Nest(inner, _) => {
                shift(inner, base, slots, adopt);
                let own = inner.slots();
                *requires |= inner.conditions.iter().fold(0, |all, e| all | e.sources()) & !own;
            }
        }
    }
}
