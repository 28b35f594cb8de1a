//! Groups in all states that a failover may find them in, and what is decided for each.
#![allow(clippy::unwrap_used)]
use super::*;

const LOST: &str = "00000000-0000-0000-0000-0000000000ff";

fn uuid(number: usize) -> String {
    format!("00000000-0000-0000-0000-{number:012}")
}

fn gtids(text: &str) -> GtidSet {
    text.parse().unwrap()
}

const ACKNOWLEDGES: Option<SemiSync> =
    Some(SemiSync { source_enabled: false, replica_enabled: true, wait_for: 1, timeout: u64::MAX });

/// A server that follows nobody.
fn source(number: usize, executed: &str) -> Member {
    let answers = Answers {
        uuid: uuid(number),
        server_id: number as u64,
        takes_writes: true,
        executed: gtids(executed),
        channels: Vec::new(),
        semi_sync: ACKNOWLEDGES.map(|s| SemiSync { source_enabled: true, replica_enabled: false, ..s }),
    };
    Member { name: format!("db{number}:3306"), answers: Ok(answers) }
}

/// A replica of the server with this UUID.
fn replica(number: usize, of: &str, executed: &str) -> Member {
    let Member { name, answers } = source(number, executed);
    let channel = Channel {
        source_uuid: of.to_owned(),
        source: "db0:3306".to_owned(),
        uses_auto_position: true,
        is_receiving: of != LOST,
        tries_to_receive: true,
        is_applying: true,
        ..Channel::default()
    };
    let answers = answers.map(|a| Answers {
        takes_writes: false,
        channels: vec![channel],
        semi_sync: ACKNOWLEDGES,
        ..a
    });
    Member { name, answers }
}

fn silent(number: usize) -> Member {
    Member { name: format!("db{number}:3306"), answers: Err("connection refused".into()) }
}

fn change(member: &mut Member, change: impl FnOnce(&mut Answers)) {
    change(member.answers.as_mut().unwrap());
}

fn set(last: u64) -> String {
    format!("{LOST}:1-{last}")
}

fn refusal(members: &[Member], wishes: &Wishes) -> String {
    plan(members, wishes).unwrap_err().to_string()
}

#[test]
fn a_source_that_answers_is_fenced_and_follows() {
    let members = [source(1, &set(9)), replica(2, &uuid(1), &set(7)), replica(3, &uuid(1), &set(8))];
    let found = plan(&members, &Wishes::default()).unwrap();
    assert_eq!((&found.fenced[..], &found.cut_off[..], found.target), (&[0][..], &[][..], 2));
    assert_eq!(found.followers, [0, 1]);
    assert!(!found.takes_most_advanced && found.semi_sync.unwrap().wait_for == 1);
    let found = plan(&members, &Wishes { to: Some(1), ..Wishes::default() }).unwrap();
    assert_eq!((found.target, &found.followers[..]), (1, &[0, 2][..]));
}

#[test]
fn a_replica_that_has_stopped_is_not_promoted() {
    let mut members = [source(1, &set(9)), replica(2, &uuid(1), &set(7)), replica(3, &uuid(1), &set(8))];
    change(&mut members[2], |answers| {
        answers.channels[0].is_applying = false;
        answers.channels[0].error = "error 1032".into();
    });
    assert_eq!(plan(&members, &Wishes::default()).unwrap().target, 1);
    let error = refusal(&members, &Wishes { to: Some(2), ..Wishes::default() });
    assert!(error.contains("db3:3306 does not apply what it receives (error 1032)"), "{error}");
}

#[test]
fn the_most_advanced_of_a_lost_source_is_promoted() {
    let mut members = [silent(0), replica(2, LOST, &set(7)), replica(3, LOST, &set(5))];
    change(&mut members[2], |answers| answers.channels[0].retrieved = gtids(&set(8)));
    let found = plan(&members, &Wishes::default()).unwrap();
    assert_eq!((&found.fenced[..], &found.cut_off[..], found.target), (&[][..], &[1, 2][..], 2));
    assert!(found.takes_most_advanced);
    assert_eq!(found.followers, [1]);
}

#[test]
fn what_a_silent_replica_alone_may_have_is_not_lost() {
    let mut members = [silent(0), replica(2, LOST, &set(7)), silent(3)];
    let error = refusal(&members, &Wishes::default());
    assert!(error.contains("of 2 replicas 1 answer, and db3:3306 does not"), "{error}");
    let accepted = plan(&members, &Wishes { accepts_loss: true, ..Wishes::default() }).unwrap();
    assert!(accepted.notes.iter().any(|note| note.starts_with("accepted: of 2 replicas")));
    // Each commit has waited for both; what the replica would wait for itself says nothing of that.
    change(&mut members[1], |answers| answers.semi_sync.as_mut().unwrap().wait_for = 2);
    assert!(refusal(&members, &Wishes::default()).contains("--waited-for=N"));
    let found = plan(&members, &Wishes { waited_for: Some(2), ..Wishes::default() }).unwrap();
    assert_eq!((found.target, found.semi_sync.unwrap().timeout), (1, u64::from(u32::MAX)));
}

#[test]
fn replicas_that_did_not_acknowledge_are_not_relied_on() {
    for semi_sync in [None, ACKNOWLEDGES.map(|s| SemiSync { replica_enabled: false, ..s })] {
        let mut members = [silent(0), replica(2, LOST, &set(7))];
        change(&mut members[1], |answers| answers.semi_sync = semi_sync);
        let error = refusal(&members, &Wishes::default());
        assert!(error.contains("db2:3306 did not acknowledge commits"), "{error}");
    }
}

#[test]
fn a_source_that_is_only_cut_off_is_not_lost() {
    let mut members = [silent(0), replica(2, LOST, &set(7))];
    change(&mut members[1], |answers| answers.channels[0].is_receiving = true);
    let error = refusal(&members, &Wishes::default());
    assert!(error.contains("db2:3306 still has a connection to its source, db0:3306"), "{error}");
    assert!(plan(&members, &Wishes { source_is_off: true, ..Wishes::default() }).is_ok());
}

#[test]
fn an_interrupted_failover_goes_on() {
    let mut members = [silent(0), source(2, &set(7)), replica(3, LOST, &set(7))];
    change(&mut members[1], |answers| answers.takes_writes = false);
    let found = plan(&members, &Wishes::default()).unwrap();
    assert_eq!((found.target, &found.fenced[..], &found.cut_off[..]), (1, &[][..], &[2][..]));
}

#[test]
fn a_source_that_comes_back_is_made_a_replica() {
    let mut members = [source(1, &set(7)), source(2, &set(9)), replica(3, &uuid(2), &set(9))];
    change(&mut members[0], |answers| answers.takes_writes = false);
    let error = refusal(&members, &Wishes::default());
    assert!(error.contains("db1:3306 and db2:3306 follow nobody: give --to=SERVER"), "{error}");
    let found = plan(&members, &Wishes { to: Some(1), ..Wishes::default() }).unwrap();
    assert_eq!((&found.fenced[..], &found.followers[..]), (&[0][..], &[0, 2][..]));
    change(&mut members[0], |answers| answers.takes_writes = true);
    let error = refusal(&members, &Wishes::default());
    assert!(error.contains("follow nobody and both take writes: give --to=SERVER"), "{error}");
    let error = refusal(&members, &Wishes { to: Some(0), ..Wishes::default() });
    assert!(error.contains("db3:3306 follows db2:3306: it is the source"), "{error}");
    let found = plan(&members, &Wishes { to: Some(1), ..Wishes::default() }).unwrap();
    assert!(found.target_is_source && found.fenced == [0]);
}

#[test]
fn what_an_interrupted_failover_leaves_is_finished() {
    // The new source is reset already, the old one follows it, and the other one the old one.
    let mut members = [replica(1, &uuid(2), &set(9)), source(2, &set(9)), replica(3, &uuid(1), &set(9))];
    change(&mut members[1], |answers| answers.takes_writes = false);
    assert!(refusal(&members, &Wishes::default()).contains("give --to=SERVER"));
    let found = plan(&members, &Wishes { to: Some(1), ..Wishes::default() }).unwrap();
    assert_eq!((found.target, &found.followers[..]), (1, &[0, 2][..]));
    // Stopped, and not reset yet: it has all.
    let mut members = [silent(0), replica(2, LOST, &set(9)), replica(3, LOST, &set(9))];
    change(&mut members[1], |answers| answers.channels[0].is_applying = false);
    assert_eq!(plan(&members, &Wishes { to: Some(1), ..Wishes::default() }).unwrap().target, 1);
    change(&mut members[1], |answers| answers.executed = gtids(&set(8)));
    assert!(refusal(&members, &Wishes { to: Some(1), ..Wishes::default() }).contains("does not apply"));
}

#[test]
fn replicas_that_do_not_know_their_sources_uuid_follow_a_lost_one() {
    let mut members = [silent(0), replica(2, LOST, &set(9)), replica(3, "", &set(9))];
    change(&mut members[2], |answers| answers.channels[0].is_receiving = false);
    assert_eq!(plan(&members, &Wishes::default()).unwrap().cut_off, [1, 2]);
}

#[test]
fn groups_that_are_none_are_refused() {
    let check = |members: &[Member], text: &str| {
        let error = refusal(members, &Wishes::default());
        assert!(error.contains(text), "{error}");
    };
    check(&[source(1, ""), source(1, "")], "are one server");
    let mut same_id = [source(1, ""), replica(2, &uuid(1), "")];
    change(&mut same_id[1], |answers| answers.server_id = 1);
    check(&same_id, "have one server_id, 1");
    check(&[replica(1, &uuid(2), ""), replica(2, &uuid(1), "")], "give --to=SERVER");
    let mut by_file = [source(1, ""), replica(2, &uuid(1), "")];
    change(&mut by_file[1], |answers| answers.channels[0].uses_auto_position = false);
    check(&by_file, "by file and offset");
    let mut several = [source(1, ""), replica(2, &uuid(1), "")];
    change(&mut several[1], |answers| answers.channels.push(Channel::default()));
    check(&several, "several sources");
    check(&[silent(1), silent(2)], "none of these servers is a source");
    check(&[source(1, ""), silent(2)], "no replica of db1:3306 is named");
}

#[test]
fn of_sets_that_differ_none_is_the_most_advanced() {
    let (a, b) = (gtids(&format!("{}:1-5", uuid(1))), gtids(&format!("{}:1-4,{}:1", uuid(1), uuid(2))));
    let error = most_advanced(&[(0, "db1", &a), (1, "db2", &b)]).unwrap_err().to_string();
    assert!(error.contains(&format!("db1 lacks {}:1", uuid(2))), "{error}");
    assert!(error.contains(&format!("db2 lacks {}:5", uuid(1))), "{error}");
}

#[test]
fn what_a_replica_has_executed_on_its_own_is_not_the_groups() {
    let with_own = |number: usize, last: u64| format!("{}:1-2,{}", uuid(number), set(last));
    let mut members = [silent(0), replica(2, LOST, &with_own(2, 9)), replica(3, LOST, &set(9))];
    // Rather the one whose replicas have nothing to skip.
    assert_eq!(plan(&members, &Wishes::default()).unwrap().target, 2);
    change(&mut members[2], |answers| answers.executed = gtids(&with_own(3, 8)));
    let error = refusal(&members, &Wishes::default());
    assert!(error.contains(&format!("db2:3306 has executed {}:1-2 on its own", uuid(2))), "{error}");
    let skipping = Wishes { skips_own: true, ..Wishes::default() };
    assert_eq!(plan(&members, &skipping).unwrap().target, 1);
    // Under the UUID of one that was the source before they are the group's: the other one lags.
    let former = |last: u64| format!("{}:1-{last},{}", uuid(2), set(9));
    let members = [silent(0), replica(2, LOST, &former(9)), replica(3, LOST, &former(7))];
    assert_eq!(plan(&members, &Wishes::default()).unwrap().target, 1);
    // A source's last commits are nobody else's, and are the group's.
    let members = [source(1, &format!("{}:1-9", uuid(1))), replica(2, &uuid(1), &format!("{}:1-8", uuid(1)))];
    assert_eq!(plan(&members, &Wishes::default()).unwrap().target, 1);
}
