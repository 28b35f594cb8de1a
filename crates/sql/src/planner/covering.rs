//! Which columns a block reads of its sources, and which indexes hold all of them: such an index is
//! read by itself, without the rows that its entries lead to.

use super::Maker;
use super::from::{ItemKind, List, Slot};
use crate::catalog::TableDef;
use crate::expression::{Expr, Node};

/// The columns of a slot that are tracked one by one; the last bit stands for all others.
const COLUMNS_TRACKED: usize = 63;

/// The columns that a block reads, by slot, one bit each.
#[derive(Debug, Clone)]
pub(crate) struct ColumnsRead(Vec<u64>);

impl ColumnsRead {
    /// What the list's conditions and sources read, and these expressions.
    pub(crate) fn new<'e>(slots: &[Slot], list: &List, others: impl Iterator<Item = &'e Expr>) -> Self {
        // Who reads a primary key reads whole rows anyway.
        let is_indexed = |slot: &Slot| matches!(slot, Slot::Table(table, ..) if table.indexes.len() > 1);
        if !slots.iter().any(is_indexed) {
            return Self::everything(slots);
        }
        let mut read = Self(vec![0; slots.len()]);
        others.for_each(|e| read.add(e));
        read.add_list(list);
        for slot in slots {
            match slot {
                Slot::Rows(Maker::Derived(derived), _) => derived.parameters.iter().for_each(|e| read.add(e)),
                Slot::Rows(Maker::Json(source), _) => read.add(&source.document),
                Slot::Rows(Maker::Provider(_), _) | Slot::Table(..) => {}
            }
        }
        read
    }

    /// For a block whose rows are wanted as a whole.
    pub(crate) fn everything(slots: &[Slot]) -> Self {
        Self(vec![u64::MAX; slots.len()])
    }

    fn add_list(&mut self, list: &List) {
        list.conditions.iter().for_each(|e| self.add(e));
        for item in &list.items {
            if let ItemKind::Nest(inner, _) = &item.kind {
                self.add_list(inner);
            }
        }
    }

    fn add(&mut self, e: &Expr) {
        e.walk(&mut |e| {
            if let Node::Column { source, column } = e.node
                && let Some(columns) = self.0.get_mut(source)
            {
                *columns |= 1 << column.min(COLUMNS_TRACKED);
            }
        });
    }

    /// True if an index of a slot's table holds all columns that are read of it.
    pub(crate) fn are_held_by(&self, slot: usize, table: &TableDef, index: usize) -> bool {
        let tracked = self.0[slot] >> COLUMNS_TRACKED == 0;
        index != 0 && tracked && self.of(slot).all(|column| table.schema.key_holds(index, column))
    }

    /// The columns that are read of a slot, ascending, if an index of its table holds all of them.
    pub(crate) fn held_by(&self, slot: usize, table: &TableDef, index: usize) -> Option<Box<[usize]>> {
        self.are_held_by(slot, table, index).then(|| self.of(slot).collect())
    }

    fn of(&self, slot: usize) -> impl Iterator<Item = usize> + '_ {
        (0..COLUMNS_TRACKED).filter(move |column| self.0[slot] >> column & 1 == 1)
    }
}
