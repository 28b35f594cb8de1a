//! How versions become rows: moving over what one snapshot sees of one tree.
//!
//! The merged entries of a tree hold, of each key, all versions, newest first. The snapshot sees
//! the first one at or below its position, if that is no deletion. Forward, the merged view stands
//! on the row itself. Backward, versions come oldest first, so the row is copied once the first
//! entry of the key before it is met.
//!
//! (R1) A memtable skips all versions of a key in one step; elsewhere, after a few steps, the
//!      remaining versions are skipped by a seek: a key with 100,000 versions costs a few steps
//!      more than one with a single version.
//! (R2) Runs of dead keys are jumped over, once they are known (`gaps.rs`).
//! (R3) A cursor that moves keeps only the current view alive: when a new one was published it
//!      changes over. What it sees stays the same (V2 of `view.rs`), as long as its snapshot lives.

use crate::entry::{TREE_LEN, TreeId};
use crate::error::StoreError;
use crate::gaps::Run;
use crate::merge::{Merge, MergeBuffers};
use crate::view::CurrentView;
use binlog::LogPosition;
use std::sync::Arc;

/// Versions of one key that are stepped over before seeking past them (R1).
const STEPS_MAX: usize = 6;

/// Larger buffers for a key or a row are not recycled. In bytes.
const BUFFER_RECYCLED_MAX: usize = 1 << 10;

/// The empty buffers of a cursor, for the next one.
#[derive(Default)]
pub(crate) struct CursorBuffers {
    merge: MergeBuffers,
    buffers: [Vec<u8>; 3],
}

/// Moves over the rows of one tree that a snapshot sees, in key order, both ways.
///
/// A new cursor stands nowhere. After an error it stands nowhere.
pub struct Cursor {
    current: Arc<CurrentView>,
    generation: u64,
    merge: Merge,
    tree: TreeId,
    prefix: [u8; TREE_LEN],
    at: LogPosition,
    /// Versions before this one were dropped with the tree.
    floor: LogPosition,
    state: CursorState,
    /// Full key of the row that the cursor stands on.
    key: Vec<u8>,
    /// Its value and its version's position, where `state` says so.
    value: Vec<u8>,
    position: LogPosition,
    target: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CursorState {
    Nowhere,
    /// The merged view stands on the row's version.
    OnRow,
    /// The merged view stands on the last entry before the row's key; the value is copied.
    BeforeRow,
    /// The merged view is to be built anew; the value is copied.
    Parked,
}

impl Cursor {
    pub(crate) fn new(
        current: Arc<CurrentView>,
        buffers: CursorBuffers,
        tree: TreeId,
        at: LogPosition,
    ) -> Cursor {
        let CursorBuffers { merge, buffers: [key, value, target] } = buffers;
        Cursor {
            generation: u64::MAX,
            merge: Merge::of_tree(merge, tree),
            tree,
            prefix: tree.prefix(),
            at,
            floor: LogPosition::ZERO,
            state: CursorState::Nowhere,
            key,
            value,
            position: LogPosition::ZERO,
            target,
            current,
        }
    }

    /// Its buffers, for the next one.
    pub(crate) fn into_buffers(self) -> CursorBuffers {
        let mut buffers = [self.key, self.value, self.target];
        for buffer in &mut buffers {
            buffer.clear();
            buffer.shrink_to(BUFFER_RECYCLED_MAX);
        }
        CursorBuffers { merge: self.merge.into_buffers(), buffers }
    }

    /// Moves to the first row whose key is `key` or comes after it.
    ///
    /// # Errors
    /// [`StoreError::Io`] and [`StoreError::Corrupt`] of the table files that are read.
    pub fn seek(&mut self, key: &[u8]) -> Result<(), StoreError> {
        self.tree.full_key(key, &mut self.target);
        self.start();
        self.merge.seek(&self.target, LogPosition::MAX)?;
        self.find_forward()
    }

    /// Moves to the last row whose key is `key` or comes before it.
    ///
    /// # Errors
    /// Those of [`Self::seek`].
    pub fn seek_for_prev(&mut self, key: &[u8]) -> Result<(), StoreError> {
        self.tree.full_key(key, &mut self.target);
        self.start();
        self.merge.seek_before(&self.target, LogPosition::ZERO)?;
        self.find_backward()
    }

    /// Moves to the tree's first row.
    ///
    /// # Errors
    /// Those of [`Self::seek`].
    pub fn seek_first(&mut self) -> Result<(), StoreError> {
        self.seek(&[])
    }

    /// Moves to the tree's last row.
    ///
    /// # Errors
    /// Those of [`Self::seek`].
    pub fn seek_last(&mut self) -> Result<(), StoreError> {
        self.start();
        let end = TreeId(self.tree.0 + 1).prefix();
        self.merge.seek_before(&end, LogPosition::MAX)?;
        self.find_backward()
    }

    #[allow(clippy::should_implement_trait, reason = "next and prev belong together, and both can fail")]
    /// Moves to the next row; a cursor that stands nowhere stays there.
    ///
    /// # Errors
    /// Those of [`Self::seek`].
    pub fn next(&mut self) -> Result<(), StoreError> {
        if !self.valid() {
            return Ok(());
        }
        let stands_on_it = self.state == CursorState::OnRow && !self.is_outdated();
        self.state = CursorState::Nowhere;
        if stands_on_it {
            self.merge.skip_versions()?;
        } else {
            self.start();
            self.merge.seek(&self.key, LogPosition::ZERO)?;
        }
        self.pass_key()?;
        self.find_forward()
    }

    /// Moves to the row before; a cursor that stands nowhere stays there.
    ///
    /// # Errors
    /// Those of [`Self::seek`].
    pub fn prev(&mut self) -> Result<(), StoreError> {
        if !self.valid() {
            return Ok(());
        }
        if self.state != CursorState::BeforeRow || self.is_outdated() {
            self.start();
            self.merge.seek_before(&self.key, LogPosition::MAX)?;
        }
        self.state = CursorState::Nowhere;
        self.find_backward()
    }

    /// True if the cursor stands on a row.
    pub fn valid(&self) -> bool {
        self.state != CursorState::Nowhere
    }

    /// The row's key, without the tree.
    ///
    /// # Panics
    /// If the cursor stands nowhere, as [`Self::value`] does.
    pub fn key(&self) -> &[u8] {
        assert!(self.valid(), "the cursor stands on a row");
        &self.key[TREE_LEN..]
    }

    /// The row's value.
    pub fn value(&self) -> &[u8] {
        match self.state {
            CursorState::Nowhere => panic!("the cursor stands on a row"),
            CursorState::OnRow => self.merge.entry().and_then(|e| e.value).expect("a row has a value"),
            CursorState::BeforeRow | CursorState::Parked => &self.value,
        }
    }

    /// Who wrote the row's version.
    pub fn position(&self) -> LogPosition {
        match self.state {
            CursorState::OnRow => self.merge.entry().map_or(LogPosition::ZERO, |e| e.position),
            CursorState::Nowhere | CursorState::BeforeRow | CursorState::Parked => self.position,
        }
    }

    /// Releases the memtables and blocks that the cursor keeps alive, for one that may not move for
    /// long. It keeps its position.
    pub fn park(&mut self) {
        if self.state == CursorState::OnRow {
            self.position = self.position();
            let value = self.merge.entry().and_then(|e| e.value).unwrap_or_default();
            self.value.clear();
            self.value.extend_from_slice(value);
        }
        if self.valid() {
            self.state = CursorState::Parked;
        }
        self.merge.refill(|_| {});
        self.generation = u64::MAX;
    }

    fn is_outdated(&self) -> bool {
        self.generation != self.current.generation()
    }

    /// Forgets the position, and switches to the current view (R3).
    fn start(&mut self) {
        self.state = CursorState::Nowhere;
        if self.is_outdated() {
            self.generation = self.current.generation();
            let view = self.current.peek();
            self.floor = view.drops.floor(self.tree, self.at);
            self.merge.refill(|sources| view.sources(self.tree, sources));
        }
    }

    /// Forward, from where the merged view stands to the first version that is a row.
    fn find_forward(&mut self) -> Result<(), StoreError> {
        if self.stands_on_row() {
            self.state = CursorState::OnRow;
            return Ok(());
        }
        let current = self.current.clone();
        let mut run = Run::new(&current.gaps, self.tree, self.at, true);
        // Versions of `self.key` that were passed because they are too new.
        let mut too_new = 0;
        while let Some(entry) = self.merge.entry().filter(|e| e.key.starts_with(&self.prefix)) {
            if entry.key != self.key {
                too_new = 0;
                self.key.clear();
                self.key.extend_from_slice(entry.key);
            }
            if entry.position > self.at {
                run.end(Some(&self.key));
                too_new += 1;
                match too_new < STEPS_MAX {
                    true => self.merge.next()?,
                    false => self.merge.skip_to(&self.key, self.at)?,
                }
                continue;
            }
            if entry.value.is_some() && entry.position >= self.floor {
                run.end(Some(&self.key));
                self.state = CursorState::OnRow;
                return Ok(());
            }
            let dead_since = entry.position.max(self.floor);
            let is_current = || self.generation == current.generation();
            // With a newer version a key is dead for this snapshot only.
            match (too_new == 0).then(|| run.dead(&self.key, dead_since, is_current)).flatten() {
                Some(place) => self.merge.seek(&place, LogPosition::MAX)?,
                None => self.pass_key()?,
            }
        }
        run.end(None);
        Ok(())
    }

    /// The common case: the merged view stands on a row already. Takes its key then.
    fn stands_on_row(&mut self) -> bool {
        let Some(entry) = self.merge.entry() else { return false };
        let is_seen = entry.position <= self.at && entry.position >= self.floor;
        if !is_seen || entry.value.is_none() || !entry.key.starts_with(&self.prefix) {
            return false;
        }
        self.key.clear();
        self.key.extend_from_slice(entry.key);
        true
    }

    /// Forward, after all versions of the current key.
    fn pass_key(&mut self) -> Result<(), StoreError> {
        let mut steps = 0;
        while self.merge.internal_key().is_some_and(|(key, _)| key == self.key) {
            steps += 1;
            if steps == STEPS_MAX {
                self.merge.skip_to(&self.key, LogPosition::ZERO)?;
            } else {
                self.merge.skip_versions()?;
            }
        }
        Ok(())
    }

    /// Backward, from where the merged view stands to the first key that has a row.
    fn find_backward(&mut self) -> Result<(), StoreError> {
        let current = self.current.clone();
        let mut run = Run::new(&current.gaps, self.tree, self.at, false);
        while let Some(entry) = self.merge.entry().filter(|e| e.key.starts_with(&self.prefix)) {
            self.key.clear();
            self.key.extend_from_slice(entry.key);
            let (is_row, newest) = self.pass_key_backward()?;
            if is_row {
                run.end(Some(&self.key));
                self.state = CursorState::BeforeRow;
                return Ok(());
            }
            if newest > self.at {
                run.end(Some(&self.key));
                continue;
            }
            let dead_since = newest.max(self.floor);
            if let Some(place) = run.dead(&self.key, dead_since, || self.generation == current.generation()) {
                self.merge.seek_before(&place, LogPosition::MAX)?;
            }
        }
        run.end(None);
        Ok(())
    }

    /// Backward, before all versions of the current key: whether one of them is a row, which
    /// was copied, and the position of the newest (`MAX` if not known).
    fn pass_key_backward(&mut self) -> Result<(bool, LogPosition), StoreError> {
        let (mut is_row, mut newest) = (false, LogPosition::ZERO);
        for _ in 0..STEPS_MAX {
            let Some(entry) = self.merge.entry().filter(|e| e.key == self.key) else {
                return Ok((is_row, newest));
            };
            newest = entry.position;
            if entry.position <= self.at {
                is_row = copy_row(&mut self.value, entry.value, entry.position >= self.floor);
                self.position = newest;
            }
            self.merge.previous()?;
        }
        // Many versions (R1): seek the right one, then seek past the key.
        self.merge.seek(&self.key, self.at)?;
        let seen = self.merge.entry().filter(|e| e.key == self.key);
        self.position = seen.as_ref().map_or(LogPosition::ZERO, |e| e.position);
        let is_row = seen.is_some_and(|e| copy_row(&mut self.value, e.value, e.position >= self.floor));
        self.merge.seek_before(&self.key, LogPosition::MAX)?;
        Ok((is_row, LogPosition::MAX))
    }
}

/// Copies the value if the version is a row; says if it is.
fn copy_row(out: &mut Vec<u8>, value: Option<&[u8]>, is_alive: bool) -> bool {
    out.clear();
    out.extend_from_slice(value.unwrap_or_default());
    value.is_some() && is_alive
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::batch::WriteBatch;
    use crate::store::testing;

    fn at(n: u64) -> LogPosition {
        LogPosition::from_u64(n)
    }

    fn rows(cursor: &mut Cursor) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
        let (mut forward, mut backward) = (Vec::new(), Vec::new());
        cursor.seek_first().unwrap();
        while cursor.valid() {
            forward.push([cursor.key(), cursor.value()].concat());
            cursor.next().unwrap();
        }
        cursor.seek_last().unwrap();
        while cursor.valid() {
            backward.push([cursor.key(), cursor.value()].concat());
            cursor.prev().unwrap();
        }
        backward.reverse();
        (forward, backward)
    }

    #[test]
    fn sees_one_version_of_each_key_both_ways() {
        let (store, _dir) = testing::store();
        let tree = TreeId(7);
        for position in 1..=20_u8 {
            let mut batch = WriteBatch::new();
            batch.put(tree, b"a", &[position]);
            batch.put(TreeId(8), b"other", b"");
            if position == 5 {
                batch.put(tree, b"b", &[position]);
            }
            if position == 9 {
                batch.delete(tree, b"b");
            }
            if position == 15 {
                batch.drop_tree(tree);
            }
            store.write(&batch, at(position.into()));
        }
        let seen = |position| {
            let (forward, backward) = rows(&mut store.cursor(tree, at(position)));
            assert_eq!(forward, backward);
            forward
        };
        assert_eq!(seen(4), [b"a\x04"]);
        assert_eq!(seen(5), [b"a\x05", b"b\x05"]);
        assert_eq!(seen(14), [b"a\x0e"]);
        assert_eq!(seen(15), [b"a\x0f"]);
        assert_eq!(seen(20), [b"a\x14"]);
    }

    #[test]
    fn reverses_parks_and_switches_to_a_new_view() {
        let (store, _dir) = testing::store();
        let tree = TreeId(1);
        let mut batch = WriteBatch::new();
        for key in 0..10_u8 {
            batch.put(tree, &[key], &[key + 100]);
        }
        store.write(&batch, at(1));
        let mut cursor = store.cursor(tree, at(1));
        cursor.seek(&[4]).unwrap();
        cursor.next().unwrap();
        assert_eq!(cursor.key(), [5]);
        cursor.prev().unwrap();
        cursor.prev().unwrap();
        assert_eq!((cursor.key(), cursor.value()), ([3].as_slice(), [103].as_slice()));
        cursor.next().unwrap();
        cursor.park();
        assert_eq!((cursor.key(), cursor.value()), ([4].as_slice(), [104].as_slice()));
        store.checkpoint(b"").unwrap();
        cursor.next().unwrap();
        assert_eq!((cursor.key(), cursor.value()), ([5].as_slice(), [105].as_slice()));
        store.checkpoint(b"").unwrap();
        cursor.prev().unwrap();
        assert_eq!(cursor.key(), [4]);
        cursor.seek_for_prev(&[3, 0]).unwrap();
        assert_eq!(cursor.key(), [3]);
        cursor.seek_last().unwrap();
        cursor.next().unwrap();
        assert!(!cursor.valid());
    }

    #[test]
    fn recycled_buffers_of_a_cursor_are_small_and_serve_another_one() {
        let (store, _dir) = testing::store();
        let mut batch = WriteBatch::new();
        batch.put(TreeId(1), &[b'k'; 5000], &[b'v'; 5000]);
        batch.put(TreeId(2), b"a", b"1");
        batch.put(TreeId(2), b"b", b"2");
        store.write(&batch, at(1));
        store.checkpoint(b"").unwrap();
        let mut first = store.cursor(TreeId(1), at(1));
        first.seek_last().unwrap();
        assert_eq!((first.key().len(), first.value().len()), (5000, 5000));
        let buffers = first.into_buffers();
        assert!(buffers.buffers.iter().all(|b| b.is_empty() && b.capacity() <= BUFFER_RECYCLED_MAX));
        let (forward, backward) = rows(&mut store.cursor_in(buffers, TreeId(2), at(1)));
        assert_eq!(
            (forward, backward),
            (vec![b"a1".to_vec(), b"b2".to_vec()], vec![b"a1".to_vec(), b"b2".to_vec()])
        );
    }

    /// A cursor that was made while the active memtable was empty did not read it later: it took a
    /// run of keys for dead in which one had been put again, and recorded a gap there that hid the
    /// row from everyone.
    #[test]
    fn a_gap_does_not_hide_what_an_empty_memtable_got_meanwhile() {
        let (store, _dir) = testing::store();
        let tree = TreeId(1);
        let mut batch = WriteBatch::new();
        (0..60_u8).for_each(|key| batch.put(tree, &[key], b""));
        store.write(&batch, at(1));
        let _keeps_the_run = store.snapshot_visible();
        let mut batch = WriteBatch::new();
        (1..59_u8).for_each(|key| batch.delete(tree, &[key]));
        store.write(&batch, at(2));
        store.checkpoint(b"").unwrap();
        let mut cursor = store.cursor(tree, at(2));
        cursor.seek_first().unwrap();
        let mut batch = WriteBatch::new();
        batch.put(tree, &[30], b"");
        store.write(&batch, at(3));
        cursor.next().unwrap();
        assert_eq!(cursor.key(), [59]);
        let mut later = store.cursor(tree, at(3));
        later.seek(&[1]).unwrap();
        assert_eq!(later.key(), [30]);
    }

    #[test]
    fn who_deletes_in_bulk_records_the_gap() {
        let (store, _dir) = testing::store();
        let tree = TreeId(1);
        let mut batch = WriteBatch::new();
        (0..200_u8).for_each(|key| batch.put(tree, &[key], b""));
        store.write(&batch, at(1));
        let mut batch = WriteBatch::new();
        (0..70_u8).chain(130..200).for_each(|key| batch.delete(tree, &[key]));
        let due = store.gaps_due(&batch);
        store.write(&batch, at(2));
        store.learn_gaps(&due);
        let full = |key: u8| [tree.prefix().as_slice(), &[key]].concat();
        let (first, last) = (full(0), full(199));
        let gaps = &store.current().gaps;
        assert_eq!(gaps.around(&first, at(2)).unwrap().1, full(70), "at the queue's head");
        let (start, end, _) = gaps.around(&last, at(2)).unwrap();
        assert!(start <= full(130) && end > last, "and at its tail");
        assert_eq!(rows(&mut store.cursor(tree, at(2))).0.len(), 60);
    }
    #[test]
    fn who_deletes_row_by_row_records_the_gap_too() {
        let (store, _dir) = testing::store();
        let (tree, busy) = (TreeId(1), TreeId(2));
        let mut batch = WriteBatch::new();
        (0..200_u8).for_each(|key| [tree, busy].iter().for_each(|tree| batch.put(*tree, &[key], b"")));
        store.write(&batch, at(1));
        let mut learnt = 0;
        for key in 0..150_u8 {
            let mut batch = WriteBatch::new();
            batch.delete(tree, &[key]);
            batch.put(busy, &[key], b"again");
            let due = store.gaps_due(&batch);
            store.write(&batch, at(2 + u64::from(key)));
            store.learn_gaps(&due);
            learnt += usize::from(!due.is_empty());
        }
        assert_eq!(learnt, 150 / 32);
        let full = |key: u8| [tree.prefix().as_slice(), &[key]].concat();
        let (start, end, _) = store.current().gaps.around(&full(0), at(200)).unwrap();
        assert!(start <= full(0) && end > full(127) && end <= full(128), "up to the last walk");
        assert_eq!(rows(&mut store.cursor(tree, at(200))).0.len(), 50);
    }
}
