//! Which versions a flush or a compaction keeps: what InnoDB calls purge of old row versions.
//!
//! Entries come merged, of each key the newest version first. A version that was replaced (by a
//! newer version, or by a drop of its tree) is retained only while a snapshot lies in the time
//! between. A deletion is dropped once no older version of the key can exist: then "deleted" and
//! "never there" are the same.
//!
//! (K1) What any live or future snapshot sees is the same before and after.
//! (K2) The newest version of a key is retained, unless it is a deletion with no older version. So
//!      a locking read, which needs the newest version, finds it, visible or not.

use crate::entry::{Entry, TreeId};
use crate::error::StoreError;
use crate::merge::Merge;
use crate::snapshot::Horizon;
use crate::view::Drops;
use binlog::LogPosition;

/// What decides about versions.
pub(crate) struct Retention<'a> {
    /// What snapshots need.
    pub(crate) horizon: Horizon,
    /// When trees were dropped.
    pub(crate) drops: &'a Drops,
    /// True if a source that is not merged here, and is older, may hold the full key.
    pub(crate) older_may_hold: &'a dyn Fn(&[u8]) -> bool,
}

/// Receives the versions that are retained.
pub(crate) trait Sink {
    /// Takes the next entry; `is_outlived` if only a snapshot needs it.
    fn add(&mut self, entry: &Entry<'_>, is_outlived: bool) -> Result<(), StoreError>;
}

/// Passes on the retained entries of `merge`, from where it stands to its end.
pub(crate) fn pass_survivors(
    merge: &mut Merge,
    retention: &Retention<'_>,
    sink: &mut impl Sink,
) -> Result<(), StoreError> {
    let mut key = Vec::new();
    while let Some(entry) = merge.entry() {
        key.clear();
        key.extend_from_slice(entry.key);
        pass_key(&key, merge, retention, sink)?;
    }
    Ok(())
}

/// Passes on the versions of one key.
fn pass_key(
    key: &[u8],
    merge: &mut Merge,
    retention: &Retention<'_>,
    sink: &mut impl Sink,
) -> Result<(), StoreError> {
    let tree = TreeId::of(key);
    let mut newer = None;
    // Deletions that are retained only if an older version of the key is: (position, is_outlived).
    let mut deletions: Vec<(LogPosition, bool)> = Vec::new();
    while let Some(entry) = merge.entry().filter(|e| e.key == key) {
        let dropped = retention.drops.first_after(tree, entry.position);
        let replaced = newer.into_iter().chain(dropped).min();
        let is_retained = replaced.is_none_or(|replaced| retention.horizon.needs(entry.position, replaced));
        if is_retained && entry.value.is_some() {
            add_deletions(key, &mut deletions, sink)?;
            sink.add(&entry, replaced.is_some())?;
        } else if is_retained {
            deletions.push((entry.position, replaced.is_some()));
        }
        newer = Some(entry.position);
        merge.next()?;
    }
    if !deletions.is_empty() && (retention.older_may_hold)(key) {
        add_deletions(key, &mut deletions, sink)?;
    }
    Ok(())
}

fn add_deletions(
    key: &[u8],
    deletions: &mut Vec<(LogPosition, bool)>,
    sink: &mut impl Sink,
) -> Result<(), StoreError> {
    for (position, is_outlived) in deletions.drain(..) {
        sink.add(&Entry { key, position, value: None }, is_outlived)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::merge::Source;
    use crate::skiplist::{ListCursor, SkipList};
    use crate::snapshot::Snapshots;
    use std::sync::Arc;

    struct Positions(Vec<u64>);

    impl Sink for Positions {
        fn add(&mut self, entry: &Entry<'_>, _: bool) -> Result<(), StoreError> {
            self.0.push(entry.position.to_u64());
            Ok(())
        }
    }

    /// Versions of one key: positive positions are puts, negative ones deletions.
    fn check(
        versions: &[i64],
        snapshots: &[u64],
        visible: u64,
        drop: Option<u64>,
        below: bool,
        retained: &[u64],
    ) {
        let at = LogPosition::from_u64;
        let list = Arc::new(SkipList::new());
        let key = b"\0\0\0\x01key";
        for &v in versions {
            list.writer().insert(key, at(v.unsigned_abs()), (v > 0).then_some(b"v"));
        }
        let registry = Arc::new(Snapshots::default());
        let _alive: Vec<_> = snapshots.iter().map(|&s| registry.take(|| at(s))).collect();
        let mut drops = Drops::default();
        drop.into_iter().for_each(|p| drops.add(TreeId(1), at(p)));
        let horizon = registry.horizon(|| at(visible));
        let retention = Retention { horizon, drops: &drops, older_may_hold: &|_| below };
        let mut merge = Merge::new(vec![Source::Memtable(ListCursor::new(list))]);
        merge.seek(&[], LogPosition::MAX).unwrap();
        let mut found = Positions(Vec::new());
        pass_survivors(&mut merge, &retention, &mut found).unwrap();
        assert_eq!(
            found.0, retained,
            "{versions:?} snapshots {snapshots:?} visible {visible} drop {drop:?} below {below}"
        );
    }

    #[test]
    fn keeps_what_snapshots_see() {
        check(&[10, 20, 30], &[], 40, None, true, &[30]);
        check(&[10, 20, 30], &[15], 40, None, true, &[30, 10]);
        check(&[10, 20, 30], &[20, 29], 40, None, true, &[30, 20]);
        check(&[10, 20, 30], &[], 25, None, true, &[30, 20]);
        check(&[10, 20, 30], &[], 9, None, true, &[30, 20, 10]);
        check(&[50, 100], &[], 60, None, true, &[100, 50]);
        check(&[10, 10, 10], &[10], 5, None, true, &[10]);
    }

    #[test]
    fn deletions_go_when_nothing_is_under_them() {
        check(&[10, -20], &[], 40, None, false, &[]);
        check(&[10, -20], &[], 40, None, true, &[20]);
        check(&[10, -20], &[15], 40, None, false, &[20, 10]);
        check(&[10, -20, 30, -40], &[25], 50, None, false, &[]);
        check(&[10, -20, 30, -40], &[35], 50, None, false, &[40, 30]);
        check(&[-20], &[10], 10, None, false, &[]);
    }

    #[test]
    fn a_tree_drop_replaces_all_before_it() {
        check(&[10, 20, 30], &[], 40, Some(25), true, &[30]);
        check(&[10, 20], &[], 40, Some(25), true, &[]);
        check(&[10, 20], &[22], 40, Some(25), true, &[20]);
        check(&[10, 20], &[], 24, Some(25), true, &[20]);
        check(&[10, 25], &[], 40, Some(25), true, &[25]);
    }
}
