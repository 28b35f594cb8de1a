//! ONLY_FULL_GROUP_BY: what a group has one value of.
//!
//! The columns of GROUP BY determine others: all of a table whose primary or other unique key (of
//! columns that can't be NULL) is determined, and what a condition makes equal to something
//! determined or constant.

use std::collections::HashSet;

use super::Maker;
use super::from::{ItemKind, List, Slot, SlotColumn};
use super::reuse::Repeated;
use crate::expression::window::WindowCall;
use crate::expression::{Expr, Node, OrderTerm};
use datum::error::{self, Result};
use datum::value::Datum;
use syntax::ast::BinaryOp;

/// What a block computes of its groups.
#[derive(Clone, Copy)]
pub(crate) struct Clauses<'b> {
    pub(crate) items: &'b [(String, Expr)],
    pub(crate) windows: &'b [WindowCall],
    pub(crate) order: &'b [OrderTerm],
}

/// Checks the select list, windows and ORDER BY; errors 1055 and 1140. Under WITH ROLLUP the terms
/// of GROUP BY, which are NULL in sums, determine nothing else.
pub(crate) fn check(
    slots: &[Slot],
    list: &List,
    Clauses { items, windows, order }: Clauses<'_>,
    keys: &[Expr],
    rollup: bool,
) -> Result<()> {
    let mut known: HashSet<SlotColumn> = HashSet::new();
    if !rollup {
        known.extend(keys.iter().filter_map(SlotColumn::of));
    }
    let implicit = keys.is_empty();
    if !implicit {
        close(slots, list, &mut known);
    }
    let wrong = |number: usize, clause: &str, column: SlotColumn| {
        let code = if implicit { error::MIX_OF_GROUP_FUNC_AND_FIELDS } else { error::WRONG_FIELD_WITH_GROUP };
        code.with(&[&(number + 1), &clause, &full_name(slots, column)])
    };
    for (number, (_, item)) in items.iter().enumerate() {
        datum::bounds::check()?;
        if let Some(column) = undetermined_of(item, windows, keys, &known) {
            return Err(wrong(number, "SELECT list", column));
        }
    }
    for WindowCall { window, .. } in windows {
        datum::bounds::check()?;
        let terms = window.partition.iter().chain(window.order.iter().map(|term| &term.expr));
        for (number, term) in terms.enumerate() {
            if let Some(column) = undetermined(term, keys, &known) {
                let name = window.shown_name();
                let clause = format!("PARTITION BY or ORDER BY clause of window '{name}'");
                return Err(wrong(number, &clause, column));
            }
        }
    }
    // The one row of all is in any order.
    for (number, term) in order.iter().enumerate().filter(|_| !implicit) {
        datum::bounds::check()?;
        if let Some(column) = undetermined_of(&term.expr, windows, keys, &known) {
            return Err(wrong(number, "ORDER BY clause", column));
        }
    }
    Ok(())
}

/// Error 3065: rows that DISTINCT takes for one are to be ordered by what they may have several of.
pub(crate) fn check_distinct(slots: &[Slot], items: &[(String, Expr)], order: &[OrderTerm]) -> Result<()> {
    for (number, term) in order.iter().enumerate() {
        datum::bounds::check()?;
        if let Some(column) = unselected(&term.expr, items) {
            let shown = full_name(slots, column);
            return Err(error::FIELD_IN_ORDER_NOT_SELECT.with(&[
                &(number + 1),
                &"ORDER BY clause",
                &shown,
                &"DISTINCT",
            ]));
        }
    }
    Ok(())
}

/// A column in the expression that no select item is.
fn unselected(e: &Expr, items: &[(String, Expr)]) -> Option<SlotColumn> {
    if items.iter().any(|(_, item)| item.is_same(e)) {
        return None;
    }
    SlotColumn::of(e).or_else(|| e.children().into_iter().find_map(|child| unselected(child, items)))
}

fn full_name(slots: &[Slot], SlotColumn { slot, column }: SlotColumn) -> String {
    match &slots[slot] {
        Slot::Table(table, _, alias) => {
            format!("{}.{}.{}", table.database, alias, table.columns[column].name)
        }
        Slot::Rows(maker, alias) => {
            let columns = maker.columns();
            let name = columns.get(column).map_or("", |c| c.meta.name.as_str());
            match maker {
                Maker::Provider(_) => {
                    format!("{}.{alias}.{name}", columns.first().map_or("", |c| &c.meta.database))
                }
                _ => format!("{alias}.{name}"),
            }
        }
    }
}

/// What an expression over groups means: under WITH ROLLUP GROUP BY's expressions in it are NULL
/// where the row is a sum over them, and GROUPING() says which. Errors 3602 if its argument is
/// none of them, 1111 where there is no GROUP BY.
pub(crate) fn finish(e: &mut Expr, keys: &[Expr], rollup: bool, repeated: &Repeated) -> Result<()> {
    datum::bounds::check()?;
    if let Node::Grouping(list, numbers) = &mut e.node {
        if keys.is_empty() {
            return Err(error::INVALID_GROUP_FUNC_USE.plain());
        }
        for (i, argument) in std::mem::take(list).into_iter().enumerate() {
            let number = key_number(argument, keys, repeated);
            numbers.push(number.ok_or_else(|| error::FIELD_IN_GROUPING_NOT_GROUP_BY.with(&[&(i + 1)]))?);
        }
        if !rollup {
            *e = Expr::constant(Datum::Int(0), e.ty);
        }
        return Ok(());
    }
    if rollup && let Some(number) = keys.iter().position(|key| key.is_same(e)) {
        e.node = Node::GroupKey(number);
        e.ty.nullable = true;
        return Ok(());
    }
    e.children_mut().into_iter().try_for_each(|child| finish(child, keys, rollup, repeated))
}

/// The term of GROUP BY that GROUPING()'s argument is. In HAVING and ORDER BY it may be, or
/// contain, a reference to a select item that is one.
fn key_number(mut argument: Expr, keys: &[Expr], repeated: &Repeated) -> Option<usize> {
    if let Node::Item(item) = argument.node {
        return repeated.key_of(item);
    }
    argument.transform(&mut |e| {
        if let Node::Item(item) = e.node
            && let Some(key) = repeated.key_of(item).and_then(|number| keys.get(number))
        {
            *e = key.clone();
        }
    });
    keys.iter().position(|key| key.is_same(&argument))
}

/// A column in the expression that a group may have several values of.
fn undetermined(e: &Expr, keys: &[Expr], known: &HashSet<SlotColumn>) -> Option<SlotColumn> {
    if keys.iter().any(|key| key.is_same(e)) {
        return None;
    }
    match &e.node {
        Node::Column { .. } => SlotColumn::of(e).filter(|column| !known.contains(column)),
        Node::Call(function, _) if function.name == "any_value" => None,
        _ => e.children().into_iter().find_map(|child| undetermined(child, keys, known)),
    }
}

/// The same, in the arguments of window functions, too.
fn undetermined_of(
    e: &Expr,
    windows: &[WindowCall],
    keys: &[Expr],
    known: &HashSet<SlotColumn>,
) -> Option<SlotColumn> {
    let mut found = undetermined(e, keys, known);
    if found.is_none() && !windows.is_empty() {
        e.walk(&mut |e| {
            let Node::Window(number) = e.node else { return };
            let arguments = windows.get(number).map_or_else(Vec::new, WindowCall::arguments);
            found = found.or_else(|| arguments.into_iter().find_map(|e| undetermined(e, keys, known)));
        });
    }
    found
}

/// Adds what is determined by what is known.
fn close(slots: &[Slot], list: &List, known: &mut HashSet<SlotColumn>) {
    loop {
        let before = known.len();
        for (number, slot) in slots.iter().enumerate() {
            let Slot::Table(table, ..) = slot else { continue };
            let determined = |parts: &[storage::KeyPart]| {
                let is_known = |column| known.contains(&SlotColumn { slot: number, column });
                parts.iter().all(|p| p.prefix_len.is_none() && is_known(p.column))
            };
            let strict = |i: &&crate::catalog::IndexDef| {
                i.unique && i.parts.iter().all(|p| !table.columns[p.column].nullable)
            };
            if table.indexes.iter().filter(strict).any(|i| determined(&i.parts)) {
                known.extend((0..table.columns.len()).map(|column| SlotColumn { slot: number, column }));
            }
        }
        equalities(list, known);
        if known.len() == before {
            return;
        }
    }
}

fn equalities(list: &List, known: &mut HashSet<SlotColumn>) {
    for condition in &list.conditions {
        let Node::Compare(BinaryOp::Equal, _, pair) = &condition.node else { continue };
        for (a, b) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
            let Some(column) = SlotColumn::of(a) else { continue };
            let fixed =
                b.sources() == 0 && !b.is_volatile() || SlotColumn::of(b).is_some_and(|b| known.contains(&b));
            if fixed {
                known.insert(column);
            }
        }
    }
    for item in &list.items {
        if let ItemKind::Nest(inner, super::JoinKind::Left) = &item.kind {
            equalities_of_nest(inner, known);
        }
    }
}

/// ON of an outer join determines the inner side's columns by the outer side's.
fn equalities_of_nest(list: &List, known: &mut HashSet<SlotColumn>) {
    let own = list.slots();
    let inside = |c: SlotColumn| own >> c.slot & 1 == 1;
    for condition in &list.conditions {
        let Node::Compare(BinaryOp::Equal, _, pair) = &condition.node else { continue };
        for (a, b) in [(&pair[0], &pair[1]), (&pair[1], &pair[0])] {
            if let (Some(a), Some(b)) = (SlotColumn::of(a), SlotColumn::of(b))
                && inside(a)
                && known.contains(&b)
            {
                known.insert(a);
            }
        }
    }
    for item in &list.items {
        if let ItemKind::Nest(inner, super::JoinKind::Left) = &item.kind {
            equalities_of_nest(inner, known);
        }
    }
}
