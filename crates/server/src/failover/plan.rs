//! What a failover does, decided from what the servers say: no server is asked or changed here.
//!
//! (F1) No two servers take writes: each server that follows nobody is fenced before another one is
//!      opened, and of a source that does not answer nobody acknowledges commits any more.
//! (F2) The promoted server has all that any server has that answers.
//!      What a replica alone has executed, under a UUID of which nobody else has anything, was
//!      never the group's.
//! (F3) Where the source is lost, enough replicas answer that one of those that acknowledged a
//!      commit is among them: of R replicas that hold what W of them acknowledge, R - W + 1.

use crate::log_tool::ToolError;
use binlog::gtid::GtidSet;
use std::collections::BTreeSet;

/// Whom a replica follows, and how that goes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) source_uuid: String,
    /// As `CHANGE REPLICATION SOURCE TO` was told.
    pub(super) source: String,
    pub(super) uses_auto_position: bool,
    /// Its receiver is connected.
    pub(super) is_receiving: bool,
    /// Its receiver is connected, or tries again and again.
    pub(super) tries_to_receive: bool,
    pub(super) is_applying: bool,
    /// The applier's or the receiver's.
    pub(super) error: String,
    /// What it has received.
    pub(super) retrieved: GtidSet,
}

/// Settings of semi-synchronous acknowledgement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct SemiSync {
    pub(super) source_enabled: bool,
    pub(super) replica_enabled: bool,
    /// `rpl_semi_sync_source_wait_for_replica_count`.
    pub(super) wait_for: usize,
    /// `rpl_semi_sync_source_timeout`, in milliseconds.
    pub(super) timeout: u64,
}

/// What a server says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Answers {
    pub(super) uuid: String,
    pub(super) server_id: u64,
    /// It takes writes of accounts without particular privileges.
    pub(super) takes_writes: bool,
    pub(super) executed: GtidSet,
    pub(super) channels: Vec<Channel>,
    pub(super) semi_sync: Option<SemiSync>,
}

impl Answers {
    /// The channel of a server that has one.
    pub(super) fn channel(&self) -> Option<&Channel> {
        self.channels.first()
    }

    fn is_source(&self) -> bool {
        self.takes_writes && self.channels.is_empty()
    }
}

/// A server that was named.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) name: String,
    /// Or why it does not answer.
    pub(super) answers: Result<Answers, String>,
}

/// What the command line asks for.
#[derive(Debug, Clone, Default)]
pub(super) struct Wishes {
    /// The number of the server that `--to` names.
    pub(super) to: Option<usize>,
    pub(super) source_is_off: bool,
    pub(super) accepts_loss: bool,
    /// The others are told that they have what the new source has executed on its own.
    pub(super) skips_own: bool,
    /// How many replicas each commit of a lost source has waited for; 1 is safe whatever it was.
    pub(super) waited_for: Option<usize>,
}

/// What is to be done, by the servers' numbers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Plan {
    /// Refuse writes from now on; they follow nobody.
    pub(super) fenced: Vec<usize>,
    /// The target is the source already: whoever is fenced stays so, whatever fails afterwards.
    pub(super) target_is_source: bool,
    /// Stop receiving: their source is lost.
    pub(super) cut_off: Vec<usize>,
    /// The new source. Where the old one is lost, it is chosen anew of `cut_off` once they have
    /// applied what they have received, unless it was named or follows nobody already.
    pub(super) target: usize,
    /// The target is the one that has most once all is applied.
    pub(super) takes_most_advanced: bool,
    /// They follow the new source afterwards.
    pub(super) followers: Vec<usize>,
    /// What the new source's commits wait for; `None` if they wait for nobody.
    pub(super) semi_sync: Option<SemiSync>,
    /// What is told, though it hinders nothing.
    pub(super) notes: Vec<String>,
}

fn refused(text: String) -> ToolError {
    ToolError::Refused(text)
}

/// Decides.
///
/// # Errors
/// What hinders it, in words that say what to do.
pub(super) fn plan(members: &[Member], wishes: &Wishes) -> Result<Plan, ToolError> {
    let fleet = Fleet { members, wishes };
    fleet.check_members()?;
    let mut plan = Plan { notes: fleet.notes(), ..Plan::default() };
    let standing = fleet.standing();
    plan.cut_off = fleet.of_lost_sources();
    if !plan.cut_off.is_empty() {
        fleet.check_lost(&plan.cut_off, &mut plan.notes)?;
    }
    plan.target = fleet.target(&standing, &plan.cut_off)?;
    let target = fleet.up(plan.target)?;
    fleet.check_own(plan.target)?;
    plan.target_is_source = target.is_source();
    plan.takes_most_advanced = wishes.to.is_none() && plan.cut_off.contains(&plan.target);
    plan.fenced = standing.iter().copied().filter(|&number| number != plan.target).collect();
    plan.followers = fleet.all_up().map(|(number, _)| number).filter(|&n| n != plan.target).collect();
    fleet.check_source_of(plan.target, &plan.fenced)?;
    plan.semi_sync = fleet.semi_sync(&standing, target);
    Ok(plan)
}

/// What each of some servers, by their UUIDs, has executed on its own. Of one that was the source
/// before, others have transactions under its UUID: the last of these are the group's, too, though
/// nobody else may have them yet.
pub(super) fn own_transactions(of: &[(&str, &GtidSet)]) -> Vec<GtidSet> {
    let own = |(number, (uuid, set)): (usize, &(&str, &GtidSet))| {
        let Ok(uuid) = uuid.parse() else { return GtidSet::new() };
        let mut others = of.iter().enumerate().filter(|(other, _)| *other != number);
        let was_source = others.any(|(_, (_, set))| !set.of_server(uuid).is_empty());
        if was_source { GtidSet::new() } else { set.of_server(uuid) }
    };
    of.iter().enumerate().map(own).collect()
}

/// What is said of a new source with transactions that its replicas would fetch.
pub(super) fn own_refused(name: &str, own: &GtidSet) -> ToolError {
    refused(format!(
        "{name} has executed {own} on its own, which its replicas would fetch and run. If that is the copy by which 'duramen replicate' \
         made it, or what a new server does, --skip-own-transactions tells the others that they have it"
    ))
}

/// The one that has all that the others have, and of equals the first.
///
/// # Errors
/// There is none.
pub(super) fn most_advanced(of: &[(usize, &str, &GtidSet)]) -> Result<usize, ToolError> {
    let all = of.iter().find(|(_, _, set)| of.iter().all(|(_, _, other)| other.is_subset(set)));
    match (all, of) {
        (Some((number, _, _)), _) => Ok(*number),
        (None, [(_, first, _), ..]) => {
            let lacks = of.iter().map(|(_, name, set)| {
                let mut lacking = GtidSet::new();
                of.iter().for_each(|(_, _, other)| lacking.union(other));
                lacking.subtract(set);
                format!("{name} lacks {lacking}")
            });
            Err(refused(format!(
                "no server has all transactions that the others have: {}. Let {first} or another one have them first: START REPLICA from \
                 the one that has them, or give those that nobody needs as empty transactions (SET gtid_next)",
                lacks.collect::<Vec<_>>().join("; ")
            )))
        }
        (None, []) => Err(refused("no server is left that could be the source".into())),
    }
}

struct Fleet<'a> {
    members: &'a [Member],
    wishes: &'a Wishes,
}

impl Fleet<'_> {
    fn name(&self, number: usize) -> &str {
        &self.members[number].name
    }

    fn up(&self, number: usize) -> Result<&Answers, ToolError> {
        let member = &self.members[number];
        member.answers.as_ref().map_err(|why| refused(format!("{} does not answer: {why}", member.name)))
    }

    fn all_up(&self) -> impl Iterator<Item = (usize, &Answers)> {
        self.members
            .iter()
            .enumerate()
            .filter_map(|(number, member)| Some((number, member.answers.as_ref().ok()?)))
    }

    /// Those that answer and follow nobody.
    fn standing(&self) -> Vec<usize> {
        self.all_up().filter(|(_, answers)| answers.channels.is_empty()).map(|(number, _)| number).collect()
    }

    /// Those whose source is not among those that answer.
    fn of_lost_sources(&self) -> Vec<usize> {
        let present: BTreeSet<&str> = self.all_up().map(|(_, answers)| &*answers.uuid).collect();
        // A replica that has not been connected since it started does not know its source's UUID.
        let is_named = |channel: &Channel| {
            channel.source_uuid.is_empty() && self.all_up().any(|(n, _)| self.name(n) == channel.source)
        };
        let is_lost = |channel: &Channel| !present.contains(&*channel.source_uuid) && !is_named(channel);
        self.all_up().filter(|(_, answers)| answers.channel().is_some_and(is_lost)).map(|(n, _)| n).collect()
    }

    /// What no group may have.
    fn check_members(&self) -> Result<(), ToolError> {
        for (number, answers) in self.all_up() {
            let name = self.name(number);
            if let Some((other, _)) =
                self.all_up().find(|(n, other)| *n < number && other.uuid == answers.uuid)
            {
                return Err(refused(format!(
                    "{} and {name} are one server, or have one server_uuid",
                    self.name(other)
                )));
            }
            if let Some((other, _)) =
                self.all_up().find(|(n, a)| *n < number && a.server_id == answers.server_id)
            {
                return Err(refused(format!(
                    "{} and {name} have one server_id, {}: neither could follow the other",
                    self.name(other),
                    answers.server_id
                )));
            }
            if answers.channels.len() > 1 {
                return Err(refused(format!(
                    "{name} follows several sources, which this command does not know how to change: use CHANGE REPLICATION SOURCE TO"
                )));
            }
            if answers.channel().is_some_and(|channel| !channel.uses_auto_position) {
                return Err(refused(format!(
                    "{name} follows its source by file and offset, which another source does not have: \
                     CHANGE REPLICATION SOURCE TO SOURCE_AUTO_POSITION = 1 there first"
                )));
            }
            let of_replica = |(_, other): &(usize, &Answers)| {
                answers.channel().is_some_and(|channel| channel.source_uuid == other.uuid)
                    && !other.channels.is_empty()
            };
            if self.wishes.to.is_none()
                && let Some((other, _)) = self.all_up().find(of_replica)
            {
                return Err(refused(format!(
                    "{name} follows {}, which is a replica itself: give --to=SERVER, the one that all are to follow",
                    self.name(other)
                )));
            }
        }
        let writers: Vec<usize> =
            self.all_up().filter(|(_, answers)| answers.is_source()).map(|(number, _)| number).collect();
        // A source that was cut off for a while, and its successor: only a person knows which is
        // which.
        let [first, second, ..] = writers[..] else { return Ok(()) };
        let Some(to) = self.wishes.to.filter(|to| writers.contains(to)) else {
            let (first, second) = (self.name(first), self.name(second));
            return Err(refused(format!(
                "{first} and {second} follow nobody and both take writes: give --to=SERVER, the one that is the source; the other one \
                 refuses writes then, and follows it if it has committed nothing else (duramen compare shows what they have)"
            )));
        };
        for &other in writers.iter().filter(|&&other| other != to) {
            let uuid = &self.up(other)?.uuid;
            let follows = |answers: &Answers| answers.channel().is_some_and(|c| c.source_uuid == *uuid);
            if let Some((replica, _)) = self.all_up().find(|(_, answers)| follows(answers)) {
                return Err(refused(format!(
                    "{0} and {1} both take writes, and {2} follows {1}: it is the source, and --to={1} makes {0} follow it",
                    self.name(to),
                    self.name(other),
                    self.name(replica)
                )));
            }
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for member in self.members {
            if let Err(why) = &member.answers {
                notes.push(format!("{} does not answer ({why})", member.name));
            }
        }
        for (number, answers) in self.all_up() {
            if answers.takes_writes && !answers.channels.is_empty() {
                let name = self.name(number);
                notes.push(format!(
                    "{name} is a replica and takes writes of others: have super_read_only = ON there"
                ));
            }
        }
        notes
    }

    /// Whether the lost source's acknowledged commits are surely here.
    fn check_lost(&self, replicas: &[usize], notes: &mut Vec<String>) -> Result<(), ToolError> {
        let sources: BTreeSet<&str> = replicas
            .iter()
            .filter_map(|&number| Some(&*self.up(number).ok()?.channel()?.source_uuid))
            .filter(|uuid| !uuid.is_empty())
            .collect();
        if sources.len() > 1 {
            return Err(refused(
                "the replicas follow different sources that don't answer: name one group".into(),
            ));
        }
        for &number in replicas {
            let Some(channel) = self.up(number)?.channel() else { continue };
            if channel.is_receiving && !self.wishes.source_is_off {
                return Err(refused(format!(
                    "{} still has a connection to its source, {}, which does not answer here: it may only be cut off from here. Name it \
                     for a planned change; or switch it off and give --source-is-off",
                    self.name(number),
                    channel.source
                )));
            }
        }
        let mut doubts = Vec::new();
        let settings = |number: &usize| self.up(*number).ok().and_then(|answers| answers.semi_sync);
        let without = replicas.iter().find(|number| !settings(number).is_some_and(|s| s.replica_enabled));
        if let Some(&number) = without {
            doubts.push(format!(
                "{} did not acknowledge commits (rpl_semi_sync_replica_enabled is OFF): what the source has committed last may be nowhere else",
                self.name(number)
            ));
        }
        let wait_for = self.wishes.waited_for.unwrap_or(1).max(1);
        let absent: Vec<&str> = self.lost_replicas(replicas);
        let all = replicas.len() + absent.len();
        if absent.len() >= wait_for {
            doubts.push(format!(
                "of {all} replicas {} answer, and {} does not: a commit has waited for {wait_for} of them, which may have been that \
                 one alone. If the source's rpl_semi_sync_source_wait_for_replica_count was higher, say it: --waited-for=N",
                replicas.len(),
                absent.join(", ")
            ));
        }
        match (doubts.is_empty(), self.wishes.accepts_loss) {
            (true, _) => Ok(()),
            (false, true) => {
                notes.extend(doubts.into_iter().map(|doubt| format!("accepted: {doubt}")));
                Ok(())
            }
            (false, false) => Err(refused(format!(
                "an acknowledged commit may be lost: {}. --accept-loss goes on nevertheless",
                doubts.join("; ")
            ))),
        }
    }

    /// The servers that don't answer, without the one that the replicas follow.
    fn lost_replicas(&self, replicas: &[usize]) -> Vec<&str> {
        let sources: BTreeSet<&str> =
            replicas.iter().filter_map(|&number| Some(&*self.up(number).ok()?.channel()?.source)).collect();
        let silent = self.members.iter().filter(|member| member.answers.is_err());
        silent.map(|member| &*member.name).filter(|name| !sources.contains(name)).collect()
    }

    fn target(&self, standing: &[usize], cut_off: &[usize]) -> Result<usize, ToolError> {
        if let Some(to) = self.wishes.to {
            self.up(to)?;
            return Ok(to);
        }
        match (standing, cut_off) {
            // One that takes writes, or that an interrupted failover has begun to promote.
            ([one], [_, ..]) => Ok(*one),
            ([], []) => Err(refused("none of these servers is a source: each follows another one".into())),
            ([], replicas) => {
                let set = |&n: &usize| {
                    let mut set = self.received(n)?;
                    set.subtract(&self.own(n));
                    Ok((n, self.name(n), set))
                };
                let mut sets = replicas.iter().map(set).collect::<Result<Vec<_>, ToolError>>()?;
                // Of equals rather one whose replicas have nothing to skip.
                sets.sort_by_key(|(n, ..)| !self.own(*n).is_empty());
                most_advanced(&sets.iter().map(|(n, name, set)| (*n, *name, set)).collect::<Vec<_>>())
            }
            ([source], []) => self.best_replica_of(*source),
            (several, _) => Err(refused(format!(
                "{} follow nobody: give --to=SERVER, the one that is to be the source",
                several.iter().map(|&number| self.name(number)).collect::<Vec<_>>().join(" and ")
            ))),
        }
    }

    /// What a server has, or will have once it has applied what it has received.
    fn received(&self, number: usize) -> Result<GtidSet, ToolError> {
        let answers = self.up(number)?;
        let mut set = answers.executed.clone();
        answers.channels.iter().for_each(|channel| set.union(&channel.retrieved));
        Ok(set)
    }

    /// What a replica has executed on its own; nothing for one that follows nobody.
    fn own(&self, number: usize) -> GtidSet {
        let up: Vec<(usize, &Answers)> = self.all_up().collect();
        let sets: Vec<(&str, &GtidSet)> = up.iter().map(|(_, a)| (&*a.uuid, &a.executed)).collect();
        let of = up.iter().zip(own_transactions(&sets));
        let mut of = of.filter(|((other, answers), _)| *other == number && answers.channel().is_some());
        of.next().map(|(_, own)| own).unwrap_or_default()
    }

    fn check_own(&self, target: usize) -> Result<(), ToolError> {
        let own = self.own(target);
        if own.is_empty() || self.wishes.skips_own {
            Ok(())
        } else {
            Err(own_refused(self.name(target), &own))
        }
    }

    /// The replica that runs without errors, and lacks least.
    fn best_replica_of(&self, source: usize) -> Result<usize, ToolError> {
        let uuid = &self.up(source)?.uuid;
        let replicas =
            self.all_up().filter_map(|(number, answers)| Some((number, answers, answers.channel()?)));
        let healthy = replicas.filter(|(_, _, channel)| {
            channel.source_uuid == *uuid && channel.is_receiving && channel.is_applying
        });
        // The first of those that have most, rather one whose replicas have nothing to skip.
        let best = healthy.min_by_key(|(number, answers, _)| {
            let own = self.own(*number);
            (!own.is_empty(), std::cmp::Reverse(answers.executed.count() - own.count()))
        });
        best.map(|(number, _, _)| number).ok_or_else(|| {
            refused(format!(
                "no replica of {} is named that receives and applies: see SHOW REPLICA STATUS there",
                self.name(source)
            ))
        })
    }

    /// A target that is to catch up has to follow one that is fenced.
    fn check_source_of(&self, target: usize, fenced: &[usize]) -> Result<(), ToolError> {
        let Some(channel) = self.up(target)?.channel() else { return Ok(()) };
        let name = self.name(target);
        // One that an interrupted failover has stopped has all already.
        let mut lacking = GtidSet::new();
        self.all_up().for_each(|(_, answers)| lacking.union(&answers.executed));
        for (number, _) in self.all_up() {
            lacking.subtract(&self.own(number));
        }
        lacking.subtract(&self.up(target)?.executed);
        if lacking.is_empty() {
            return Ok(());
        }
        if !channel.is_applying {
            return Err(refused(format!(
                "{name} does not apply what it receives{}: mend that first, see SHOW REPLICA STATUS",
                if channel.error.is_empty() { String::new() } else { format!(" ({})", channel.error) }
            )));
        }
        let source =
            fenced.iter().find(|&&n| self.up(n).is_ok_and(|answers| answers.uuid == channel.source_uuid));
        if source.is_some() && !channel.is_receiving {
            return Err(refused(format!(
                "{name} does not receive from {}{}: mend that first, see SHOW REPLICA STATUS",
                channel.source,
                if channel.error.is_empty() { String::new() } else { format!(" ({})", channel.error) }
            )));
        }
        Ok(())
    }

    /// As the source has it that answers. Of one that is lost, or has started again without them,
    /// the settings are not known: where a replica acknowledges, commits wait without a limit.
    fn semi_sync(&self, standing: &[usize], target: &Answers) -> Option<SemiSync> {
        let own = target.semi_sync?;
        let of_source =
            standing.iter().find_map(|&n| self.up(n).ok()?.semi_sync.filter(|s| s.source_enabled));
        let acknowledges = |(_, answers): (usize, &Answers)| {
            answers.semi_sync.is_some_and(|settings| settings.replica_enabled)
        };
        let unlimited = || SemiSync { timeout: u64::from(u32::MAX), ..own };
        of_source.or_else(|| self.all_up().any(acknowledges).then(unlimited))
    }
}

#[cfg(test)]
mod tests;
