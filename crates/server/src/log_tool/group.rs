//! Where transactions begin and end in a file.
//!
//! A GTID event begins one. MySQL's says how many bytes it has, and that ends it. Where there is no
//! such length (MariaDB, MySQL before 8.0), its statements do: XID, COMMIT, ROLLBACK and XA PREPARE
//! end a transaction, any other statement is one by itself. Files of old servers have no GTID
//! events at all; then nothing is said of them.

use binlog::event::{Event, QueryEvent};

/// The transaction at an offset of a file.
#[derive(Debug, Default)]
pub(super) struct Groups {
    open: Option<Open>,
    /// A GTID event was seen: all that is outside groups is known.
    has_gtids: bool,
}

#[derive(Debug, Clone, Copy)]
struct Open {
    start: u64,
    /// Where it ends, if it says so.
    end: Option<u64>,
    /// BEGIN was there, or need not be.
    begun: bool,
}

/// What an event is to its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GroupMembership {
    Outside,
    Inside,
    /// Its last event.
    Ended,
}

impl Groups {
    /// Where the transaction that is open starts.
    pub(super) fn open(&self) -> Option<u64> {
        self.open.map(|open| open.start)
    }

    /// The event at `start..end`; `Err` says what does not fit.
    pub(super) fn advance(
        &mut self,
        start: u64,
        end: u64,
        event: &Event<'_>,
    ) -> Result<GroupMembership, String> {
        match event {
            Event::Gtid(gtid) => {
                let length = gtid.commit.map(|commit| commit.transaction_length).filter(|&n| n > 0);
                self.begin(Open { start, end: length.map(|n| start.saturating_add(n)), begun: false })
            }
            Event::MariadbGtid(gtid) => {
                self.begin(Open { start, end: None, begun: gtid.begins_transaction() })
            }
            _ => self.go_on(end, event),
        }
    }

    fn begin(&mut self, new: Open) -> Result<GroupMembership, String> {
        self.has_gtids = true;
        match self.open.replace(new) {
            Some(open) => Err(format!("a transaction begins inside the one at {}", open.start)),
            None => Ok(GroupMembership::Inside),
        }
    }

    fn go_on(&mut self, end: u64, event: &Event<'_>) -> Result<GroupMembership, String> {
        let Some(open) = &mut self.open else {
            let belongs = !stands_alone(event) && self.has_gtids;
            return if belongs {
                Err("an event outside any transaction".into())
            } else {
                Ok(GroupMembership::Outside)
            };
        };
        let start = open.start;
        if stands_alone(event) && !matches!(event, Event::Ignorable(_) | Event::Unknown(_)) {
            self.open = None;
            return Err(format!("the transaction at {start} has no end"));
        }
        let may_end = ends(event, open);
        let is_over = match open.end {
            Some(wanted) if end > wanted => {
                self.open = None;
                return Err(format!(
                    "an event crosses the end of the transaction at {start}, {wanted} by its length"
                ));
            }
            Some(wanted) => end == wanted,
            None => may_end,
        };
        if !is_over {
            return Ok(GroupMembership::Inside);
        }
        self.open = None;
        if may_end {
            Ok(GroupMembership::Ended)
        } else {
            Err(format!("the transaction at {start} has no end"))
        }
    }
}

/// Whether a transaction may end with this event. Learns of its beginning.
fn ends(event: &Event<'_>, open: &mut Open) -> bool {
    let query = match event {
        Event::Xid(_) | Event::XaPrepare(_) | Event::TransactionPayload(_) => return true,
        Event::Query(query) => query,
        Event::MariadbQueryCompressed(_) => return !open.begun,
        _ => return false,
    };
    if begins_with(query, &["BEGIN"]) || begins_with(query, &["XA", "START"]) {
        open.begun = true;
        return false;
    }
    !open.begun || begins_with(query, &["COMMIT"]) || begins_with(query, &["ROLLBACK"])
}

fn begins_with(query: &QueryEvent<'_>, words: &[&str]) -> bool {
    let mut found = query.sql.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty());
    words.iter().all(|word| found.next().is_some_and(|f| f.eq_ignore_ascii_case(word.as_bytes())))
}

/// True for the events that are part of no transaction.
fn stands_alone(event: &Event<'_>) -> bool {
    matches!(
        event,
        Event::FormatDescription(_)
            | Event::PreviousGtids(_)
            | Event::Rotate(_)
            | Event::Stop
            | Event::Heartbeat(_)
            | Event::MariadbGtidList(_)
            | Event::MariadbBinlogCheckpoint(_)
            | Event::MariadbStartEncryption(_)
            | Event::Ignorable(_)
            | Event::Unknown(_)
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use binlog::event::{CommitInfo, GtidEvent, XidEvent};

    fn gtid(length: Option<u64>) -> Event<'static> {
        let commit = length.map(|transaction_length| CommitInfo {
            immediate_commit_timestamp: 0,
            original_commit_timestamp: None,
            transaction_length,
            immediate_server_version: None,
            original_server_version: None,
            commit_group_ticket: 0,
        });
        Event::Gtid(GtidEvent {
            may_have_statements: false,
            gtid: None,
            last_committed: 0,
            sequence_number: 1,
            commit,
        })
    }

    fn query(sql: &'static str) -> Event<'static> {
        Event::Query(QueryEvent::new(1, b"", sql.as_bytes()))
    }

    /// Steps through events of ten bytes each, from 100 on.
    fn memberships(events: &[Event<'_>]) -> Vec<Result<GroupMembership, String>> {
        let mut groups = Groups::default();
        (10..).zip(events).map(|(i, event)| groups.advance(i * 10, i * 10 + 10, event)).collect()
    }

    #[test]
    fn a_length_ends_a_transaction() {
        use GroupMembership::{Ended, Inside, Outside};
        let events = [gtid(Some(30)), query("BEGIN"), Event::Xid(XidEvent(1)), Event::Stop];
        let found: Result<Vec<_>, _> = memberships(&events).into_iter().collect();
        assert_eq!(found.unwrap(), [Inside, Inside, Ended, Outside]);
        let events =
            [gtid(Some(30)), query("create table t select 1 start transaction"), Event::Xid(XidEvent(1))];
        assert_eq!(memberships(&events)[2], Ok(Ended));
    }

    #[test]
    fn statements_end_one_that_has_no_length() {
        use GroupMembership::{Ended, Inside};
        let events =
            [gtid(None), query("begin"), query("INSERT"), query("COMMIT"), gtid(None), query("DROP")];
        let found: Result<Vec<_>, _> = memberships(&events).into_iter().collect();
        assert_eq!(found.unwrap(), [Inside, Inside, Inside, Ended, Inside, Ended]);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        let check = |events: &[Event<'_>], expected: &str| {
            let last = memberships(events).pop().unwrap().unwrap_err();
            assert!(last.contains(expected), "{last}");
        };
        check(&[gtid(Some(30)), gtid(Some(30))], "begins inside the one at 100");
        check(&[gtid(Some(25)), query("BEGIN"), Event::Xid(XidEvent(1))], "crosses the end");
        check(&[gtid(Some(20)), query("BEGIN")], "the transaction at 100 has no end");
        check(&[gtid(Some(40)), query("BEGIN"), Event::Stop], "the transaction at 100 has no end");
        check(&[gtid(Some(20)), query("DROP"), Event::Xid(XidEvent(1))], "outside any transaction");
    }
}
