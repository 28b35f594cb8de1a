//! Asynchronous connection failover: the sources that a channel's receiver goes to when its own is
//! lost, for channels with `SOURCE_CONNECTION_AUTO_FAILOVER`.
//!
//! 1. list    `asynchronous_connection_failover_add_source()` and its like say which sources there
//!    are. The lists are the server's, not the channels': as in MySQL there may be one for a
//!    channel that is not configured, and RESET REPLICA ALL changes none. The file of channels has
//!    them.
//! 2. choose  A receiver that has used up its attempts at a source asks its [`FailoverRound`] for
//!    the next one of the list, which is read anew each time.
//! 3. move    [`move_to`] makes it the channel's source, in the file first.
//!
//! Elsewhere: when a receiver does so, and when it goes back (`server/src/replica/receiver.rs`).

use super::{Channel, coordinates};
use crate::instance::Instance;
use datum::error::Result;

/// More sources than any topology has; each change of a list writes all of them.
pub const SOURCES_MAX: usize = 4096;

/// A source of a channel's list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailoverSource {
    /// The channel, as it was typed: case does not count.
    pub channel: String,
    /// A name or an address, in ASCII; case does not count.
    pub host: String,
    /// From 1.
    pub port: u16,
    /// From 1 to 100; a higher one goes first.
    pub weight: u8,
}

impl FailoverSource {
    /// What no two sources have in common, in the order of MySQL's table.
    fn key(&self) -> (String, String, u16) {
        (self.channel.to_lowercase(), self.host.to_ascii_lowercase(), self.port)
    }

    /// True for the server at this address.
    pub fn is_at(&self, host: &str, port: u16) -> bool {
        self.host.eq_ignore_ascii_case(host) && self.port == port
    }
}

/// The lists of all channels, in the order of channel, host and port.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FailoverSources(Vec<FailoverSource>);

impl FailoverSources {
    /// All, in order.
    pub fn iter(&self) -> impl Iterator<Item = &FailoverSource> {
        self.0.iter()
    }

    /// Adds one; false if it is there already, with whatever weight, or if there are
    /// [`SOURCES_MAX`].
    pub(crate) fn add(&mut self, source: FailoverSource) -> bool {
        let place = self.0.binary_search_by_key(&source.key(), FailoverSource::key);
        match place {
            Err(at) if self.0.len() < SOURCES_MAX => self.0.insert(at, source),
            _ => return false,
        }
        true
    }

    /// Removes one, whatever its weight; false if it is not there.
    pub(crate) fn remove(&mut self, source: &FailoverSource) -> bool {
        let place = self.0.binary_search_by_key(&source.key(), FailoverSource::key);
        place.map(|at| self.0.remove(at)).is_ok()
    }

    /// One channel's, in the order in which its receiver tries them: the highest weight first,
    /// those of one weight by host and port.
    pub fn of_channel(&self, name: &str) -> Vec<FailoverSource> {
        let name = name.to_lowercase();
        let mut list: Vec<_> = self.iter().filter(|s| s.channel.to_lowercase() == name).cloned().collect();
        list.sort_by_key(|source| std::cmp::Reverse(source.weight));
        list
    }
}

/// Which sources have failed one after the other.
#[derive(Debug, Default)]
pub struct FailoverRound {
    failed: Vec<(String, u16)>,
}

impl FailoverRound {
    /// A source was of use: the next one that fails begins another round.
    pub fn end(&mut self) {
        self.failed.clear();
    }

    /// What to try after the source at `host` and `port` has failed: the first of the list that has
    /// not failed in this round. When all have, another round begins, without the last. A source
    /// that is alone in its list is tried again. `None` if the list is empty.
    pub fn next(&mut self, list: &[FailoverSource], host: &str, port: u16) -> Option<FailoverSource> {
        self.failed.push((host.to_owned(), port));
        let first = |failed: &[(String, u16)]| {
            let has_failed = |source: &FailoverSource| failed.iter().any(|(h, p)| source.is_at(h, *p));
            list.iter().find(|source| !has_failed(source))
        };
        let next = first(&self.failed).or_else(|| {
            self.failed.drain(..self.failed.len() - 1);
            first(&self.failed).or(list.first())
        });
        next.cloned()
    }
}

/// Makes another server the channel's source: the file has it first. Where to begin in its log is
/// said by GTIDs; of the source before, no transaction may be on its way to this server's log.
///
/// # Errors
/// 1026: the file can't be written, and the channel has its source of before.
pub fn move_to(instance: &Instance, channel: &Channel, to: &FailoverSource) -> Result<()> {
    let given_at = coordinates::log_end(instance)?;
    let channels = instance.channels();
    let _administers = channels.administer()?;
    let mut stored = channels.to_store();
    for (name, source, _) in &mut stored.channels {
        if name == channel.name() {
            source.move_to(&to.host, to.port, given_at);
        }
    }
    channels.store(&stored)?;
    channel.with(|state| state.move_to(&to.host, to.port, given_at));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(channel: &str, host: &str, port: u16, weight: u8) -> FailoverSource {
        FailoverSource { channel: channel.into(), host: host.into(), port, weight }
    }

    #[test]
    fn case_does_not_count_and_weight_is_no_part_of_the_key() {
        let mut sources = FailoverSources::default();
        assert!(sources.add(source("ABC", "Host", 5, 7)));
        assert!(!sources.add(source("abc", "host", 5, 8)));
        assert!(sources.add(source("abc", "host", 6, 8)) && sources.add(source("", "z", 1, 1)));
        assert!(!sources.remove(&source("abc", "host", 7, 1)));
        let hosts: Vec<_> = sources.iter().map(|s| (s.channel.as_str(), s.port)).collect();
        assert_eq!(hosts, [("", 1), ("ABC", 5), ("abc", 6)]);
        assert_eq!(sources.of_channel("abc").len(), 2);
        assert!(sources.remove(&source("abc", "HOST", 5, 1)) && sources.of_channel("abc").len() == 1);
    }

    #[test]
    fn a_list_is_bounded() {
        let mut sources = FailoverSources::default();
        let mut all = (1..).map(|port| source("c", "h", port, 1)).take(SOURCES_MAX);
        assert!(all.all(|source| sources.add(source)));
        assert!(!sources.add(source("d", "h", 1, 1)));
    }

    #[test]
    fn those_of_the_highest_weight_go_first_and_the_last_that_failed_comes_last() {
        let mut sources = FailoverSources::default();
        for (host, weight) in [("a", 10), ("b", 90), ("c", 50), ("d", 50)] {
            sources.add(source("x", host, 1, weight));
        }
        let list = sources.of_channel("X");
        let mut round = FailoverRound::default();
        let mut at = "d".to_owned();
        let mut tried = String::new();
        for _ in 0..8 {
            at = round.next(&list, &at, 1).map(|source| source.host).unwrap_or_default();
            tried += &at;
        }
        // After d, which failed before: b, c, a. All have failed then, and a last: b, c, d.
        assert_eq!(tried, "bcabcdbc");
    }

    #[test]
    fn a_source_that_was_of_use_begins_another_round() {
        let list = [source("", "a", 1, 90), source("", "b", 1, 50), source("", "c", 1, 10)];
        let mut round = FailoverRound::default();
        let next = |round: &mut FailoverRound, at: &str| round.next(&list, at, 1).map(|s| s.host);
        assert_eq!(next(&mut round, "a").as_deref(), Some("b"));
        round.end();
        assert_eq!(next(&mut round, "b").as_deref(), Some("a"));
        assert_eq!(next(&mut round, "a").as_deref(), Some("c"));
    }

    #[test]
    fn a_list_of_one_and_of_none() {
        let list = [source("", "a", 1, 50)];
        let mut round = FailoverRound::default();
        for at in ["other", "a", "A"] {
            assert_eq!(round.next(&list, at, 1).as_ref(), Some(&list[0]), "after {at}");
        }
        assert_eq!(FailoverRound::default().next(&[], "a", 1), None);
    }
}
