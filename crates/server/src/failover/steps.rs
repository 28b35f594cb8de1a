//! The steps of a failover, each told before it is done, and taken back as far as that is possible
//! where a later one fails.

mod fence;

use super::fleet::Server;
use super::plan::{self, Channel, Plan, SemiSync, Wishes};
use crate::log_tool::{ToolError, printable};
use crate::remote::Runs;
use binlog::gtid::GtidSet;
use env::Env;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

/// How often a server is asked how far it is.
const POLL: Duration = Duration::from_millis(50);

/// How long followers may take to log in at the new source.
const LOGIN: Duration = Duration::from_secs(20);

/// By which account the old source follows.
pub(super) struct Account {
    pub(super) user: String,
    pub(super) password: String,
}

/// Who carries a plan out.
pub(super) struct Failover<'a> {
    pub(super) env: &'a Arc<dyn Env>,
    pub(super) servers: Vec<Option<Server>>,
    pub(super) wait: Duration,
    pub(super) account: Option<Account>,
    /// What undoes the steps until the point of no return, last first.
    undo: Vec<(usize, String)>,
    /// What went wrong without ending the failover.
    warnings: Vec<String>,
    /// What the new source has executed on its own; the others are told that they have it.
    skipped: GtidSet,
    number: usize,
}

impl<'a> Failover<'a> {
    pub(super) fn new(
        env: &'a Arc<dyn Env>,
        servers: Vec<Option<Server>>,
        wait: Duration,
        account: Option<Account>,
    ) -> Self {
        Self {
            env,
            servers,
            wait,
            account,
            undo: Vec::new(),
            warnings: Vec::new(),
            skipped: GtidSet::new(),
            number: 0,
        }
    }

    /// The steps, in words.
    pub(super) fn explanation(&self, plan: &Plan) -> String {
        let mut text = String::new();
        let mut number = 0;
        let mut add = |what: String| {
            number += 1;
            let _ = writeln!(text, "{number:2}. {what}");
        };
        let names = |numbers: &[usize]| numbers.iter().map(|&n| self.name(n)).collect::<Vec<_>>().join(", ");
        let target = self.name(plan.target);
        if !plan.fenced.is_empty() {
            let ends = if plan.target_is_source {
                "end the connections of clients if it takes writes, and "
            } else {
                ""
            };
            add(format!("{}: {ends}refuse writes (super_read_only = ON)", names(&plan.fenced)));
        }
        if !plan.cut_off.is_empty() {
            add(format!(
                "{}: stop receiving from the lost source, so that nobody acknowledges its commits any more, and apply what was received",
                names(&plan.cut_off)
            ));
        }
        match plan.takes_most_advanced {
            true => add(format!("choose the one that has most then: as things stand {target}")),
            false => add(format!("{target}: apply all that the others have")),
        }
        add(format!("{target}: stop being a replica"));
        for &follower in &plan.followers {
            match self.can_follow(follower) {
                true => add(format!("{}: follow {target}", self.name(follower))),
                false => add(format!(
                    "{}: left as it is, refusing writes: without --replication-user it has no account to follow with",
                    self.name(follower)
                )),
            }
        }
        match self.semi_sync_of(plan) {
            Some(settings) => add(format!(
                "{target}: commits wait for {} of its replicas (rpl_semi_sync_source_enabled = ON)",
                settings.wait_for.max(1)
            )),
            None => {
                add(format!("{target}: commits wait for no replica (rpl_semi_sync_source_enabled = OFF)"))
            }
        }
        add(format!("{target}: take writes (read_only = OFF)"));
        text
    }

    /// Does it. Where it fails before a server was promoted, things are as before.
    ///
    /// # Errors
    /// Those of servers; a replica did not catch up.
    pub(super) fn carry_out(&mut self, plan: &Plan, wishes: &Wishes) -> Result<(), ToolError> {
        let target = match self.prepare(plan, wishes) {
            Ok(target) => target,
            Err(error) => {
                let undone = self.take_back();
                return Err(ToolError::Refused(format!("{error}. Nothing was promoted{undone}")));
            }
        };
        self.undo.clear();
        self.promote(plan, target).map_err(|error| {
            ToolError::Refused(format!(
                "{error}. {} takes no writes yet: run the same command again with --to={0}",
                self.name(target)
            ))
        })
    }

    /// What went wrong without ending it.
    pub(super) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn name(&self, number: usize) -> String {
        self.servers[number].as_ref().map(Server::name).unwrap_or_default()
    }

    fn server(&mut self, number: usize) -> Result<&mut Server, ToolError> {
        self.servers[number]
            .as_mut()
            .ok_or_else(|| ToolError::Refused("a server that does not answer".into()))
    }

    fn run(&mut self, number: usize, sql: &str) -> Result<(), ToolError> {
        self.server(number)?.session.rows(sql).map(drop)
    }

    fn report(&mut self, number: usize, what: &str) {
        self.number += 1;
        println!("{:2}. {}: {}", self.number, self.name(number), printable(what));
    }

    /// Until a server can be promoted that has all.
    fn prepare(&mut self, plan: &Plan, wishes: &Wishes) -> Result<usize, ToolError> {
        for &number in &plan.fenced {
            match plan.target_is_source {
                true => self.fence_returned(number)?,
                false => self.fence(number)?,
            }
        }
        if plan.target_is_source {
            self.check_fenced(plan)?;
        }
        for &number in &plan.cut_off {
            self.cut_off(number)?;
        }
        for &number in &plan.cut_off {
            self.drain(number)?;
        }
        let own = self.own_transactions()?;
        let mut needed = GtidSet::new();
        for number in plan.fenced.iter().chain(&plan.cut_off) {
            let mut set = self.server(*number)?.executed()?;
            set.subtract(&own[*number]);
            needed.union(&set);
        }
        let target = match plan.takes_most_advanced {
            true => self.most_advanced(&plan.cut_off, &own)?,
            false => plan.target,
        };
        if !own[target].is_empty() && !wishes.skips_own {
            return Err(plan::own_refused(&self.name(target), &own[target]));
        }
        self.skipped.clone_from(&own[target]);
        if let Some(to) = wishes.to.filter(|&to| to != target) {
            return Err(ToolError::Refused(format!("{} was to be promoted", self.name(to))));
        }
        self.await_executed(target, &needed)?;
        let target_uuid = self.server(target)?.facts.server_uuid.clone();
        for &number in &plan.followers {
            // A replica of the target has a commit before the target shows it as executed.
            let channels = self.server(number)?.channels()?;
            if channels.iter().any(|channel| channel.source_uuid == target_uuid) {
                continue;
            }
            let mut beyond = self.server(number)?.executed()?;
            beyond.subtract(&self.server(target)?.executed()?);
            beyond.subtract(&own[number]);
            if !beyond.is_empty() {
                return Err(ToolError::Refused(format!(
                    "{} has executed {beyond}, which {} has not, and could not follow it",
                    self.name(number),
                    self.name(target)
                )));
            }
        }
        Ok(target)
    }

    fn cut_off(&mut self, number: usize) -> Result<(), ToolError> {
        let channel = self.channel(number)?;
        self.report(number, "stops receiving from the lost source");
        let of_channel = for_channel(&channel);
        if channel.tries_to_receive {
            self.undo.push((number, format!("START REPLICA IO_THREAD {of_channel}")));
        }
        self.run(number, &format!("STOP REPLICA IO_THREAD {of_channel}"))
    }

    fn channel(&mut self, number: usize) -> Result<Channel, ToolError> {
        let name = self.name(number);
        let first = self.server(number)?.channels()?.into_iter().next();
        first.ok_or_else(|| ToolError::Refused(format!("{name} is no replica any more")))
    }

    /// Waits until a replica has applied what it has received.
    fn drain(&mut self, number: usize) -> Result<(), ToolError> {
        let channel = self.channel(number)?;
        self.await_executed(number, &channel.retrieved)
    }

    /// What each replica has executed on its own.
    fn own_transactions(&mut self) -> Result<Vec<GtidSet>, ToolError> {
        let mut sets = Vec::new();
        for server in &mut self.servers {
            let set = server.as_mut().map_or(Ok(GtidSet::new()), Server::executed)?;
            let uuid = server.as_ref().map(|server| server.facts.server_uuid.clone());
            sets.push((uuid.unwrap_or_default(), set));
        }
        let sets: Vec<(&str, &GtidSet)> = sets.iter().map(|(uuid, set)| (&**uuid, set)).collect();
        let own = plan::own_transactions(&sets).into_iter().zip(&self.servers);
        // What a source alone has is the group's.
        let of = |(own, server): (GtidSet, &Option<Server>)| match server {
            Some(server) if server.is_replica => own,
            _ => GtidSet::new(),
        };
        Ok(own.map(of).collect())
    }

    fn most_advanced(&mut self, replicas: &[usize], own: &[GtidSet]) -> Result<usize, ToolError> {
        let mut sets = Vec::new();
        for &number in replicas {
            let mut set = self.server(number)?.executed()?;
            set.subtract(&own[number]);
            sets.push((number, self.name(number), set));
        }
        sets.sort_by_key(|(number, ..)| !own[*number].is_empty());
        plan::most_advanced(&sets.iter().map(|(n, name, set)| (*n, &**name, set)).collect::<Vec<_>>())
    }

    fn await_executed(&mut self, number: usize, needed: &GtidSet) -> Result<(), ToolError> {
        let deadline = self.env.monotonic() + self.wait;
        let mut is_reported = false;
        loop {
            let mut lacking = needed.clone();
            lacking.subtract(&self.server(number)?.executed()?);
            if lacking.is_empty() {
                return Ok(());
            }
            if !std::mem::replace(&mut is_reported, true) {
                self.report(number, &format!("applies {} transactions that it lacks", lacking.count()));
            }
            let channel = self.server(number)?.channels()?.into_iter().next();
            let name = self.name(number);
            match channel {
                None => {
                    return Err(ToolError::Refused(format!(
                        "{name} lacks {lacking}, and follows nobody who has that"
                    )));
                }
                Some(channel) if !channel.tries_to_receive && !lacking.is_subset(&channel.retrieved) => {
                    lacking.subtract(&channel.retrieved);
                    return Err(ToolError::Refused(format!("{name} has not received {lacking}")));
                }
                Some(channel) if !channel.is_applying => {
                    return Err(ToolError::Refused(format!(
                        "{name} lacks {lacking}, and has stopped: {}",
                        channel.error
                    )));
                }
                Some(_) if self.env.monotonic() > deadline => {
                    return Err(ToolError::Refused(format!(
                        "{name} still lacks {lacking} after {} s: --wait=SECONDS waits longer",
                        self.wait.as_secs()
                    )));
                }
                Some(_) => std::thread::sleep(POLL),
            }
        }
    }

    /// Undoes what was done; in words.
    fn take_back(&mut self) -> String {
        let mut report = String::new();
        while let Some((number, sql)) = self.undo.pop() {
            let name = self.name(number);
            let _ = match self.run(number, &sql) {
                Ok(()) => write!(report, "; {name} is as before ({sql})"),
                Err(error) => {
                    write!(report, "; {name} could NOT be set back, do it yourself: {sql} ({error})")
                }
            };
        }
        report
    }

    fn can_follow(&self, number: usize) -> bool {
        self.account.is_some() || self.servers[number].as_ref().is_some_and(|server| server.is_replica)
    }

    /// What the new source's commits wait for: with fewer replicas than that they would stand.
    fn semi_sync_of(&self, plan: &Plan) -> Option<SemiSync> {
        let followers = plan.followers.iter().filter(|&&number| self.can_follow(number)).count();
        plan.semi_sync.filter(|settings| followers >= settings.wait_for.max(1))
    }

    fn promote(&mut self, plan: &Plan, target: usize) -> Result<(), ToolError> {
        let mut followers = plan.followers.clone();
        if plan.target != target {
            followers.retain(|&number| number != target);
            followers.push(plan.target);
        }
        if let Some(channel) = self.server(target)?.channels()?.into_iter().next() {
            self.report(target, "stops being a replica");
            let of_channel = for_channel(&channel);
            self.run(target, &format!("STOP REPLICA {of_channel}"))?;
            self.run(target, &format!("RESET REPLICA ALL {of_channel}"))?;
        }
        let settings = self.semi_sync_of(plan);
        if settings.is_none() && plan.semi_sync.is_some() {
            let name = self.name(target);
            self.warnings.push(format!("commits of {name} wait for no replica now: too few follow it"));
        }
        self.set_semi_sync(target, settings)?;
        let address = self.server(target)?.address()?;
        let mut following = Vec::new();
        for number in followers {
            if !self.can_follow(number) {
                self.report(
                    number,
                    "is left as it is: --replication-user and --replication-password make it a replica",
                );
                continue;
            }
            match self.follow(number, target, &address, plan.semi_sync.is_some()) {
                Ok(()) => following.push(number),
                Err(error) => self.warnings.push(format!("{} does not follow: {error}", self.name(number))),
            }
        }
        self.await_followers(following)?;
        self.report(target, "takes writes (super_read_only = OFF, read_only = OFF)");
        self.run(target, "SET GLOBAL super_read_only = OFF")?;
        self.run(target, "SET GLOBAL read_only = OFF")
    }

    fn set_semi_sync(&mut self, target: usize, settings: Option<SemiSync>) -> Result<(), ToolError> {
        let Some(own) = self.server(target)?.answers()?.semi_sync else { return Ok(()) };
        match settings {
            Some(SemiSync { wait_for, timeout, .. }) => {
                self.report(target, &format!("its commits wait for {} of its replicas", wait_for.max(1)));
                self.run(target, &format!("SET GLOBAL rpl_semi_sync_source_timeout = {timeout}"))?;
                let wait_for = wait_for.max(1);
                self.run(
                    target,
                    &format!("SET GLOBAL rpl_semi_sync_source_wait_for_replica_count = {wait_for}"),
                )?;
                self.run(target, "SET GLOBAL rpl_semi_sync_source_enabled = ON")
            }
            None if own.source_enabled => self.run(target, "SET GLOBAL rpl_semi_sync_source_enabled = OFF"),
            None => Ok(()),
        }
    }

    fn follow(
        &mut self,
        number: usize,
        target: usize,
        (host, port): &(String, u16),
        acknowledges: bool,
    ) -> Result<(), ToolError> {
        let has_tls = self.server(target)?.session.has_tls();
        let answers = self.server(number)?.answers()?;
        let target_uuid = self.server(target)?.facts.server_uuid.clone();
        let follows = |c: &&Channel| c.source_uuid == target_uuid && c.is_receiving && c.is_applying;
        if let Some(channel) = answers.channel().filter(follows) {
            // It was started again without the setting.
            if acknowledges && answers.semi_sync.is_some_and(|own| !own.replica_enabled) {
                self.report(number, "acknowledges commits (rpl_semi_sync_replica_enabled = ON)");
                let of_channel = for_channel(channel);
                self.run(number, "SET GLOBAL rpl_semi_sync_replica_enabled = ON")?;
                self.run(number, &format!("STOP REPLICA IO_THREAD {of_channel}"))?;
                self.run(number, &format!("START REPLICA IO_THREAD {of_channel}"))?;
            }
            return Ok(());
        }
        self.report(number, &format!("follows {host}:{port}"));
        let mut options = vec![
            format!("SOURCE_HOST = {}", option_text(host)),
            format!("SOURCE_PORT = {port}"),
            "SOURCE_AUTO_POSITION = 1".to_owned(),
        ];
        let of_channel = match answers.channel() {
            Some(channel) => {
                let of_channel = for_channel(channel);
                self.run(number, &format!("STOP REPLICA {of_channel}"))?;
                // One that has not got through may have an account that is none there.
                if channel.source_uuid.is_empty() {
                    options.extend(self.account_options());
                }
                of_channel
            }
            None => {
                if self.account.is_none() {
                    return Ok(());
                }
                options.extend(self.account_options());
                options.push(format!("SOURCE_SSL = {}", u8::from(has_tls)));
                options.push("GET_SOURCE_PUBLIC_KEY = 1".to_owned());
                "FOR CHANNEL ''".to_owned()
            }
        };
        // While it is no replica yet: a source's settings would make the applier's commits wait.
        if let Some(own) = answers.semi_sync {
            if own.source_enabled {
                self.run(number, "SET GLOBAL rpl_semi_sync_source_enabled = OFF")?;
            }
            if acknowledges && !own.replica_enabled {
                self.run(number, "SET GLOBAL rpl_semi_sync_replica_enabled = ON")?;
            }
        }
        let mut skipped = self.skipped.clone();
        skipped.subtract(&self.server(number)?.executed()?);
        if !skipped.is_empty() {
            self.report(
                number,
                &format!("counts {skipped} as executed, which the new source did on its own"),
            );
            self.run(number, &format!("SET GLOBAL gtid_purged = '+{skipped}'"))?;
        }
        self.run(number, &format!("CHANGE REPLICATION SOURCE TO {} {of_channel}", options.join(", ")))?;
        self.run(number, &format!("START REPLICA {of_channel}"))
    }

    /// Who follows that was no replica; nothing without `--replication-user`.
    fn account_options(&self) -> Vec<String> {
        let of = |Account { user, password }: &Account| {
            vec![
                format!("SOURCE_USER = {}", option_text(user)),
                format!("SOURCE_PASSWORD = {}", option_text(password)),
            ]
        };
        self.account.as_ref().map(of).unwrap_or_default()
    }

    /// Waits until the followers have logged in. One that can't is told, and does not keep the new
    /// source from work: its commits wait by themselves where they have to.
    fn await_followers(&mut self, following: Vec<usize>) -> Result<(), ToolError> {
        let deadline = self.env.monotonic() + LOGIN;
        for number in following {
            loop {
                let channel = self.channel(number)?;
                if channel.is_receiving && channel.is_applying {
                    break;
                }
                if self.env.monotonic() > deadline {
                    self.warnings.push(format!(
                        "{} does not follow yet: {}",
                        self.name(number),
                        channel.error
                    ));
                    break;
                }
                std::thread::sleep(POLL);
            }
        }
        Ok(())
    }
}

fn for_channel(channel: &Channel) -> String {
    format!("FOR CHANNEL {}", option_text(&channel.name))
}

/// A text of an option, which can be no hexadecimal literal; the session's `sql_mode` is empty.
fn option_text(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}
