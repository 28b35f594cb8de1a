//! Changes in the order of their keys: their numbers, in blocks.
//!
//! A tree of two levels. A small transaction has one block, which is one allocation; one of
//! millions of changes moves a few kilobytes for an insertion. What the order is only the callers
//! know, who have the keys.

use smallvec::SmallVec;

/// A full block is split. As many numbers fill a page.
const BLOCK_MAX: usize = 512;
/// Room that a block begins with: that of a transaction of a few rows does not grow step by step.
const BLOCK_MIN: usize = 16;

/// Numbers of changes, in order.
#[derive(Debug, Default)]
pub(super) struct Order {
    /// None is empty, but the only one may be.
    blocks: SmallVec<[Vec<usize>; 1]>,
}

/// Where a number lies, or would lie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OrderSlot {
    block: usize,
    at: usize,
}

impl Order {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.blocks.iter().map(Vec::len).sum()
    }

    /// The first slot whose number is not before what is searched for.
    pub(super) fn partition_slot(&self, is_before: impl Fn(usize) -> bool) -> OrderSlot {
        let block = match self.blocks.len() {
            0 | 1 => 0,
            _ => self.blocks.partition_point(|block| block.last().is_some_and(|&last| is_before(last))),
        };
        let at = self.blocks.get(block).map_or(0, |block| block.partition_point(|&number| is_before(number)));
        OrderSlot { block, at }
    }

    /// Forgets all numbers, and keeps the memory of the first block.
    pub(super) fn clear(&mut self) {
        self.blocks.truncate(1);
        self.blocks.iter_mut().for_each(Vec::clear);
    }

    /// The number at a slot; `None` after the last one.
    pub(super) fn at(&self, slot: OrderSlot) -> Option<usize> {
        self.blocks.get(slot.block)?.get(slot.at).copied()
    }

    /// Puts another number into a slot instead of the one that is there.
    pub(super) fn replace(&mut self, slot: OrderSlot, number: usize) {
        self.blocks[slot.block][slot.at] = number;
    }

    /// Puts a number before the one at a slot.
    pub(super) fn insert(&mut self, slot: OrderSlot, number: usize) {
        let OrderSlot { mut block, mut at } = slot;
        if block == self.blocks.len() {
            match block.checked_sub(1) {
                Some(last) => (block, at) = (last, self.blocks[last].len()),
                None => self.blocks.push(Vec::with_capacity(BLOCK_MIN)),
            }
        }
        if self.blocks[block].len() == BLOCK_MAX {
            // Keys inserted in ascending order leave full blocks.
            let middle = if at == BLOCK_MAX { at } else { BLOCK_MAX / 2 };
            let after = self.blocks[block].split_off(middle);
            self.blocks.insert(block + 1, after);
            if at >= middle {
                (block, at) = (block + 1, at - middle);
            }
        }
        self.blocks[block].insert(at, number);
    }

    /// Takes the number at a slot out.
    pub(super) fn remove(&mut self, slot: OrderSlot) {
        self.blocks[slot.block].remove(slot.at);
        if self.blocks[slot.block].is_empty() {
            self.blocks.remove(slot.block);
        }
    }

    /// The numbers from a slot on.
    pub(super) fn from(&self, slot: OrderSlot) -> impl Iterator<Item = usize> {
        let first = self.blocks.get(slot.block).map_or(&[][..], |block| &block[slot.at.min(block.len())..]);
        let after = self.blocks.get(slot.block + 1..).unwrap_or_default();
        first.iter().chain(after.iter().flatten()).copied()
    }

    /// The numbers before a slot, the last one first.
    pub(super) fn before(&self, slot: OrderSlot) -> impl Iterator<Item = usize> {
        let (before, from) = self.blocks.split_at(slot.block);
        let last = from.first().map_or(&[][..], |block| &block[..slot.at]);
        last.iter().rev().chain(before.iter().rev().flat_map(|block| block.iter().rev())).copied()
    }

    /// All numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = usize> {
        self.blocks.iter().flatten().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn check(order: &Order, model: &[usize], sought: usize) {
        assert!(order.blocks.iter().all(|block| (1..=BLOCK_MAX).contains(&block.len())));
        assert_eq!((order.len(), order.all().collect::<Vec<_>>()), (model.len(), model.to_vec()));
        let slot = order.partition_slot(|number| number < sought);
        let (before, from) = model.split_at(model.partition_point(|&number| number < sought));
        assert_eq!(order.at(slot), from.first().copied());
        assert_eq!(order.from(slot).collect::<Vec<_>>(), from);
        assert_eq!(order.before(slot).collect::<Vec<_>>(), before.iter().rev().copied().collect::<Vec<_>>());
    }

    /// Numbers in their own order, as one ascending run, at random, and out again.
    #[test]
    fn it_is_a_sorted_list() {
        let mut random = Random::new(3);
        let (mut order, mut model) = (Order::default(), Vec::new());
        check(&order, &model, 5);
        for number in (0..3000).map(|n| n * 1000).chain((0..3000).map(|_| random.index(4_000_000))) {
            let slot = order.partition_slot(|other| other < number);
            match model.binary_search(&number) {
                Ok(_) => order.replace(slot, number),
                Err(at) => {
                    order.insert(slot, number);
                    model.insert(at, number);
                }
            }
        }
        assert!(order.blocks.len() > 10, "{}", order.blocks.len());
        while !model.is_empty() {
            let sought = random.index(4_100_000);
            if model.len() % 64 == 0 || model.len() < 10 {
                check(&order, &model, sought);
            }
            let number = model.remove(random.index(model.len()));
            order.remove(order.partition_slot(|other| other < number));
        }
        check(&order, &model, 0);
    }
}
