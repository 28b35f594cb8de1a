//! The list compared with an ordered map, and under threads.
#![allow(clippy::unwrap_used)]

use super::*;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

fn at(n: u64) -> LogPosition {
    LogPosition::from_u64(n)
}

/// A fixed sequence of numbers that look random.
fn numbers(seed: u64) -> impl Iterator<Item = u64> {
    let mut x = seed;
    std::iter::repeat_with(move || {
        x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        x >> 33
    })
}

const ROUNDS: usize = if cfg!(miri) { 200 } else { 5000 };

/// Without a directory, with one that loses most keys, and with one that has room for all.
#[test]
fn equals_an_ordered_map_both_ways() {
    for list in
        [SkipList::new(), SkipList::with_directory(64 * ENTRY_BYTES), SkipList::with_directory(1 << 20)]
    {
        equals_an_ordered_map(list);
    }
}

fn equals_an_ordered_map(list: SkipList) {
    let list = Arc::new(list);
    let mut model = BTreeMap::new();
    let mut random = numbers(1);
    for i in 0..ROUNDS / 8 {
        // Not always in the order of the log.
        let position = at(i as u64 ^ 3);
        let mut keys: Vec<Vec<u8>> = Vec::new();
        for key in random.by_ref().take(1 + i % 20).map(|n| (n % 300).to_be_bytes().to_vec()) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let values: Vec<_> = keys.iter().map(|_| random.next().unwrap()).collect();
        let values: Vec<_> =
            values.iter().map(|n| (n % 5 > 0).then(|| vec![i as u8; (n % 40) as usize])).collect();
        let entries = keys.iter().zip(&values).map(|(key, value)| (key.as_slice(), value.as_deref()));
        list.writer().insert_all(entries, position);
        model.extend(keys.into_iter().map(|key| (key, Reverse(position))).zip(values));
    }
    assert_eq!(list.len(), model.len());
    let mut cursor = ListCursor::new(list.clone());
    cursor.seek(&[], LogPosition::MAX);
    for ((key, Reverse(position)), value) in &model {
        assert_eq!(cursor.entry(), Some(Entry { key, position: *position, value: value.as_deref() }));
        cursor.next();
    }
    assert_eq!(cursor.entry(), None);
    cursor.seek_before(&[0xff; 9], LogPosition::MAX);
    for ((key, Reverse(position)), value) in model.iter().rev() {
        assert_eq!(cursor.entry(), Some(Entry { key, position: *position, value: value.as_deref() }));
        cursor.previous();
    }
    assert_eq!(cursor.entry(), None);
    for _ in 0..ROUNDS {
        let key = (random.next().unwrap() % 300).to_be_bytes().to_vec();
        let position = at(random.next().unwrap() % ROUNDS as u64);
        let expected = model.range((key.clone(), Reverse(position))..).next();
        let found = list.seek(&key, position);
        assert_eq!(found.map(|e| (e.key, e.position)), expected.map(|((k, p), _)| (k.as_slice(), p.0)));
        for position in [position, LogPosition::MAX] {
            let expected = model.range((key.clone(), Reverse(position))..).next();
            let expected = expected.filter(|((k, _), _)| *k == key).map(|((_, p), v)| (p.0, v.as_deref()));
            assert_eq!(list.version(&key, position).map(|e| (e.position, e.value)), expected);
        }
    }
}

/// A reader once met an entry before the place it had asked for: one that was inserted between
/// finding the node before and following its link.
#[test]
fn a_seek_never_ends_in_front_of_its_place() {
    let list = Arc::new(SkipList::new());
    list.writer().insert(b"b", at(1), Some(b""));
    let (count, is_over) = (if cfg!(miri) { 50 } else { 100_000_u64 }, AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 0..count {
                list.writer().insert(&[b"a".as_slice(), &i.to_be_bytes()].concat(), at(2), Some(b""));
            }
            is_over.store(1, Ordering::Release);
        });
        while is_over.load(Ordering::Acquire) == 0 {
            assert_eq!(list.seek(b"b", LogPosition::MAX).unwrap().key, b"b");
        }
    });
}

#[test]
fn a_key_with_many_versions_is_skipped_in_one_step() {
    let list = Arc::new(SkipList::new());
    for i in 0..200_u64 {
        let key = [b'a' + (numbers(i).next().unwrap() % 5) as u8];
        list.writer().insert(&key, at(i), Some(&i.to_be_bytes()));
    }
    // Not in the order of the log: it is met, in a step of its own.
    list.writer().insert(b"b", at(0), None);
    let mut cursor = ListCursor::new(list);
    for start in [200, 100, 1] {
        cursor.seek(b"a", at(start));
        let mut met = Vec::new();
        while let Some(entry) = cursor.entry() {
            met.push(entry.key[0]);
            cursor.skip_versions();
        }
        assert_eq!(met.iter().filter(|k| **k == b'b').count(), 2, "{met:?}");
        met.dedup();
        assert_eq!(met, (met[0]..=b'e').collect::<Vec<_>>());
    }
}

#[test]
fn the_last_of_equal_places_is_met_first() {
    let list = SkipList::new();
    for value in [b"1", b"2", b"3"] {
        list.writer().insert(b"k", at(7), Some(value));
    }
    assert_eq!(list.seek(b"k", at(7)).unwrap().value, Some(b"3".as_slice()));
}

#[test]
fn who_knows_a_position_finds_what_was_inserted_up_to_it() {
    // Two slots for three keys: now known, now searched for.
    let list = SkipList::with_directory(2 * ENTRY_BYTES);
    let (count, visible) = (if cfg!(miri) { 100 } else { 100_000_u64 }, AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for i in 1..=count {
                list.writer().insert(&[(i % 3) as u8], at(i), Some(b""));
                visible.store(i as usize, Ordering::Release);
            }
        });
        let mut position = 0;
        while position < count {
            position = visible.load(Ordering::Acquire) as u64;
            for expected in position.saturating_sub(2).max(1)..=position {
                let found = list.version(&[(expected % 3) as u8], at(position));
                assert_eq!(found.map(|entry| entry.position), Some(at(expected)));
            }
        }
    });
}

#[test]
fn readers_see_an_ordered_list_while_one_writes() {
    let list = Arc::new(SkipList::new());
    let keys = if cfg!(miri) { 100_u64 } else { 20_000 };
    std::thread::scope(|scope| {
        let writing = list.clone();
        scope.spawn(move || {
            for i in 0..keys {
                let key = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
                writing.writer().insert(&key, at(i), Some(&key));
            }
        });
        for forward in [true, false] {
            let list = list.clone();
            scope.spawn(move || {
                while list.len() < keys as usize {
                    let (before, mut seen) = (list.len(), 0);
                    let mut cursor = ListCursor::new(list.clone());
                    if forward {
                        cursor.seek(&[], at(0))
                    } else {
                        cursor.seek_before(&[0xff; 9], at(0))
                    }
                    let mut last: Option<Vec<u8>> = None;
                    while let Some(entry) = cursor.entry() {
                        assert_eq!(Some(entry.key), entry.value);
                        assert!(last.as_deref().is_none_or(|l| (l < entry.key) == forward));
                        last = Some(entry.key.to_vec());
                        seen += 1;
                        if forward { cursor.next() } else { cursor.previous() }
                    }
                    assert!(seen >= before, "{seen} of {before} met");
                }
            });
        }
    });
    assert_eq!(list.len(), keys as usize);
}
