//! GTIDs that are given from outside: declared as purged, or reserved.
#![allow(clippy::unwrap_used)]

mod common;

use binlog::FileNumber;
use binlog::gtid::{Gtid, GtidSet, GtidSpecification};
use binlog::log::Log;
use common::{HookLog, UUID, group, open, options};
use env::SimEnv;

const OTHER: &str = "00000000-0000-0000-0000-0000000000ff";

fn set(text: &str) -> GtidSet {
    text.replace('O', OTHER).replace('U', &UUID.to_string()).parse().unwrap()
}

fn commit(log: &Log, id: u64) {
    log.commit(group(id, 10), HookLog::default().hook(id)).unwrap();
}

#[test]
fn what_is_declared_as_purged_is_executed_and_stays_so() {
    let mut env = SimEnv::new(1);
    let (log, _) = open(&env, &options()).unwrap();
    commit(&log, 1);
    assert!(log.add_purged(&set("O:1-5")).unwrap());
    assert_eq!(log.gtid_executed(), set("O:1-5,U:1"));
    assert_eq!(log.gtid_purged().unwrap(), set("O:1-5"));
    let before = log.published();
    assert!(log.add_purged(&set("O:7")).unwrap());
    let now = log.published_at(log.visible(), before).unwrap();
    assert_eq!(now.gtids, set("O:1-5:7,U:1"), "a snapshot's place has it too");
    assert!(!log.add_purged(&set("O:7-9")).unwrap(), "a part of it is there");
    assert!(!log.add_purged(&set("U:1")).unwrap());
    commit(&log, 2);
    let (executed, purged) = (set("O:1-5:7,U:1-2"), set("O:1-5:7"));
    assert_eq!(log.gtid_executed(), executed);
    log.rotate().unwrap();
    for seed in 0..8 {
        env = env.copy_after_cut(seed);
        let (log, found) = open(&env, &options()).unwrap();
        assert_eq!((&found.gtid_executed, &found.gtid_purged), (&executed, &purged));
        assert_eq!((log.gtid_executed(), log.gtid_purged().unwrap()), (executed.clone(), purged.clone()));
    }
    // What is before the file with the marks is purged as well.
    let (log, _) = open(&env, &options()).unwrap();
    log.set_purge_floor(log.end());
    log.purge_to(FileNumber(4)).unwrap();
    assert_eq!(log.gtid_purged().unwrap(), executed);
    assert_eq!(log.previous_gtids(FileNumber(4)).unwrap(), executed);
}

#[test]
fn a_reserved_gtid_is_given_to_no_other() {
    let (log, _) = open(&SimEnv::new(2), &options()).unwrap();
    commit(&log, 1);
    let gtid = |gno| Gtid::new(UUID, gno);
    assert!(!log.reserve_gtid(gtid(1)), "it is in the log");
    assert!(log.reserve_gtid(gtid(2)) && log.reserve_gtid(gtid(4)));
    commit(&log, 2);
    commit(&log, 3);
    assert_eq!(log.gtid_executed(), set("U:1:3:5"));
    assert!(!log.add_purged(&set("U:4")).unwrap());
    log.release_gtid(gtid(2));
    commit(&log, 4);
    commit(&log, 5);
    assert_eq!(log.gtid_executed(), set("U:1-3:5-6"));
    let hook_log = HookLog::default();
    log.enqueue_with_gtid(group(6, 10), GtidSpecification::Assigned(gtid(4)), hook_log.hook(6))
        .wait()
        .unwrap();
    log.release_gtid(gtid(4));
    assert_eq!(log.gtid_executed(), set("U:1-6"));
}

#[test]
fn tags_have_numbers_of_their_own_through_rotations_and_power_cuts() {
    let mut env = SimEnv::new(3);
    let (mut log, _) = open(&env, &options()).unwrap();
    let commit = |log: &Log, id: u64, gtid: GtidSpecification| {
        log.enqueue_with_gtid(group(id, 10), gtid, HookLog::default().hook(id)).wait().unwrap().gtid
    };
    let automatic = |tag: &str| GtidSpecification::Automatic(tag.parse().unwrap());
    let foreign: Gtid = format!("{OTHER}:zone:7").parse().unwrap();
    for (id, tag, gtid) in [(1, "", "U:1"), (2, "shop", "U:shop:1"), (3, "", "U:2"), (4, "Shop", "U:shop:2")]
    {
        assert_eq!(commit(&log, id, automatic(tag)).to_string(), gtid.replace('U', &UUID.to_string()));
    }
    assert_eq!(commit(&log, 5, GtidSpecification::Assigned(foreign)), foreign);
    let reserved: Gtid = format!("{UUID}:shop:3").parse().unwrap();
    assert!(!log.reserve_gtid(foreign) && log.reserve_gtid(reserved));
    assert_eq!(commit(&log, 6, automatic("shop")).gno, 4);
    log.release_gtid(reserved);
    let executed = set("U:1-2:shop:1-2:4,O:zone:7");
    assert_eq!(log.gtid_executed(), executed);
    log.rotate().unwrap();
    assert_eq!(log.previous_gtids(FileNumber(2)).unwrap(), executed);
    assert!(log.add_purged(&set("O:zone:1-6")).unwrap());
    assert!(!log.add_purged(&set("O:zone:1-7")).unwrap());
    let executed = set("U:1-2:shop:1-2:4,O:zone:1-7");
    for seed in 0..8 {
        drop(log);
        env = env.copy_after_cut(seed);
        let found;
        (log, found) = open(&env, &options()).unwrap();
        assert_eq!((&found.gtid_executed, &found.gtid_purged), (&executed, &set("O:zone:1-6")));
    }
    assert_eq!(commit(&log, 7, automatic("shop")).gno, 3);
    assert_eq!(commit(&log, 8, automatic("")).gno, 3);
}
