//! What optimizer hints say of a block's tables: which indexes may be used ([`index_hints`]), and
//! which tables go before which ([`HintedOrder`]).
//!
//! (O1) A hint never keeps a block from being planned: where it can't be followed, for an outer
//!      join or another hint is in its way, it and those after it are passed over.

use super::from::{Item, Slot};
use super::semi_join::SemiJoins;
use crate::catalog::TableDef;
use crate::session::Context;
use datum::error;
use syntax::ast::{HintClass, IndexHint, IndexHintAction, OrderHint, PlanHint};
use syntax::unparse::ident;

/// What an order costs more that does not follow the hints.
pub(crate) const UNFOLLOWED_COST: f64 = 1e15;

/// Hints of a block's order that are followed: each is another search for the best one.
const HINTS_MAX: usize = 16;

/// Slots that go before others, one bit each.
type Before = (u64, u64);

/// The orders that a block's hints ask for.
#[derive(Debug, Default)]
pub(crate) struct HintedOrder {
    /// For each hint, what goes before what.
    hints: Vec<Vec<Before>>,
}

/// What hints say of a table's indexes, under its alias; indexes that there are not are warnings.
/// Where they say anything, what stands behind the table's name does not count.
pub(crate) fn index_hints(
    cx: &mut Context,
    hints: &[PlanHint],
    table: &TableDef,
    alias: &str,
) -> Option<Vec<IndexHint>> {
    let mut found = Vec::new();
    for hint in hints {
        let HintClass::Indexes { forbids, scope } = hint.form.class else { continue };
        if !is_about(hint, alias) {
            continue;
        }
        let mut indexes = hint.names.clone();
        indexes.retain(|name| {
            let is_known = table.index_named(name).is_some();
            if !is_known {
                warn_of_index(cx, hint, alias, name);
            }
            is_known
        });
        if indexes.is_empty() && !hint.names.is_empty() {
            continue;
        }
        let action = match (forbids, indexes.is_empty()) {
            (false, false) => IndexHintAction::Force,
            (false, true) => {
                indexes = table.indexes.iter().map(|index| index.name.as_str().into()).collect();
                IndexHintAction::Force
            }
            (true, false) => IndexHintAction::Ignore,
            // USE INDEX ()
            (true, true) => IndexHintAction::Use,
        };
        found.push(IndexHint { action, scope, indexes });
    }
    (!found.is_empty()).then_some(found)
}

/// Warns of the indexes that hints name of what has none: a view, a derived or a system table.
pub(super) fn warn_of_indexes(cx: &mut Context, hints: &[PlanHint], alias: &str) {
    let of_indexes = |hint: &&PlanHint| matches!(hint.form.class, HintClass::Indexes { .. });
    for hint in hints.iter().filter(of_indexes).filter(|hint| is_about(hint, alias)) {
        hint.names.iter().for_each(|name| warn_of_index(cx, hint, alias, name));
    }
}

fn is_about(hint: &PlanHint, alias: &str) -> bool {
    hint.tables.iter().any(|table| &*table.name == alias)
}

fn warn_of_index(cx: &mut Context, hint: &PlanHint, alias: &str, index: &str) {
    let block = hint.block.as_ref().map_or("select#1", |block| block.as_str());
    let place = format!("{}@{} {}", ident(alias), ident(block), ident(index));
    cx.warn(error::UNRESOLVED_HINT_NAME.with(&[&place, &hint.form.name]));
}

/// True if the hints say in which order tables are joined.
pub(crate) fn orders(hints: &[PlanHint]) -> bool {
    hints.iter().any(|hint| matches!(hint.form.class, HintClass::Order(_)))
}

impl HintedOrder {
    /// What the hints of a block ask for. `names` are those of its sources with their slots;
    /// tables of other blocks are those that semi-joins brought. A table that there is not is a
    /// warning, and its hint is passed over.
    pub(crate) fn new(
        cx: &mut Context,
        hints: &[PlanHint],
        slots: &[Slot],
        names: &[(Box<str>, u64)],
        joins: &SemiJoins,
    ) -> Self {
        let mut order = Self::default();
        let own = names.iter().fold(0, |all, (_, slots)| all | slots);
        for hint in hints {
            let HintClass::Order(form) = hint.form.class else { continue };
            if order.hints.len() >= HINTS_MAX {
                break;
            }
            let mut in_order = Vec::new();
            let mut is_known = true;
            for table in &hint.tables {
                let is_own = table.block.is_none() || table.block == hint.block;
                // As in MySQL, in any case; of names that differ by it alone the same one.
                let find = |is_it: &dyn Fn(&str) -> bool| {
                    let named = names.iter().find(|(name, _)| is_own && is_it(name));
                    named.map_or_else(
                        || {
                            let others = (0..slots.len()).filter(|&slot| (own >> slot & 1 == 1) == is_own);
                            let named = others.filter(|&slot| is_it(&slots[slot].name()));
                            named.fold(0, |all, n| all | 1 << n)
                        },
                        |(_, slots)| *slots,
                    )
                };
                let found = match find(&|name| *name == *table.name) {
                    0 => find(&|name| table.name.is(name)),
                    found => found,
                };
                match found {
                    0 if is_own => {
                        is_known = false;
                        let block = table.block.as_ref().map(|block| format!("@{}", ident(block)));
                        let name = format!("{}{}", ident(&table.name), block.unwrap_or_default());
                        cx.warn(error::UNRESOLVED_HINT_NAME.with(&[&name, &hint.form.name]));
                    }
                    // It was not joined with this block.
                    0 => {}
                    slots => in_order.push(joins.with_made(slots)),
                }
            }
            if is_known {
                order.hints.push(constraints(form, &in_order));
            }
        }
        order
    }

    /// How many hints there are.
    pub(crate) fn len(&self) -> usize {
        self.hints.len()
    }

    /// True if an item of a list may come next by the first hints, so many of them.
    pub(crate) fn allows(&self, hints: usize, items: &[Item], item: &Item, filled: u64) -> bool {
        if self.hints.is_empty() {
            return true;
        }
        let all = items.iter().fold(0, |all, item| all | item.slots());
        let own = item.slots();
        self.hints[..hints].iter().flatten().all(|(first, then)| {
            own & then == 0 || own & first & !then != 0 || first & all & !own & !filled == 0
        })
    }
}

/// What goes before what if tables with these slots are where the hint puts them.
fn constraints(form: OrderHint, in_order: &[u64]) -> Vec<Before> {
    let mut before: Vec<Before> = in_order.windows(2).map(|pair| (pair[0], pair[1])).collect();
    let all = in_order.iter().fold(0, |all, slots| all | slots);
    match form {
        OrderHint::Among => {}
        OrderHint::First => before.push((all, !all)),
        OrderHint::Last => before.push((!all, all)),
    }
    before.sort_unstable();
    before.dedup();
    before
}
