//! One run of a topology.

use crate::load::{Acknowledged, Load, prepare_writers};
use crate::node::Node;
use crate::plan::{Edge, Plan};
use crate::{Options, Outcome, Result};
use followers::{compare, connect};
use servers::ServerKind;
use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::{Duration, Instant};
use stdx::random::Random;

/// Runs a topology. What it finds is in the outcome; an error is a finding as well.
pub fn run(plan: Plan, options: &Options) -> Outcome {
    let mut outcome = Outcome::default();
    let done = Topology::start(plan, options).and_then(|topology| topology.run(options, &mut outcome));
    if let Err(e) = done {
        outcome.findings.push(e.to_string());
    }
    outcome
}

/// How long a replica may take for what its source did.
pub(crate) fn patience(options: &Options) -> Duration {
    options.time.max(Duration::from_secs(240))
}

struct Topology {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    loads: Vec<(usize, Load)>,
    killed: Vec<usize>,
    random: Random,
}

impl Topology {
    /// Starts the servers and the loads.
    fn start(plan: Plan, options: &Options) -> Result<Self> {
        let mut nodes = Vec::new();
        for mut spec in plan.nodes {
            spec.binary.clone_from(&options.binary);
            nodes.push(Node::start(&options.folder, spec)?);
        }
        let mut made = BTreeSet::new();
        for (at, share) in &plan.loads {
            if made.insert(share.database) {
                prepare_writers(nodes[*at].address()?, share.database)?;
            }
        }
        for edge in &plan.edges {
            let [follower, source] = nodes
                .get_disjoint_mut([edge.follower, edge.source])
                .map_err(|_| "a server follows itself")?;
            follower.follow(source, edge.channel)?;
        }
        for edge in &plan.edges {
            nodes[edge.follower].await_source(&nodes[edge.source], patience(options))?;
        }
        let mut loads = Vec::new();
        for (at, share) in &plan.loads {
            share.prepare(nodes[*at].address()?)?;
        }
        for (number, (at, share)) in (0..).zip(&plan.loads) {
            loads.push((*at, Load::start(nodes[*at].address()?, *share, options.seed + number)));
        }
        let random = Random::new(options.seed);
        Ok(Self { nodes, edges: plan.edges, loads, killed: plan.killed, random })
    }

    fn run(mut self, options: &Options, outcome: &mut Outcome) -> Result<()> {
        let troubled = self.trouble(options, outcome);
        let mut acknowledged: Vec<(&'static str, Acknowledged)> = Vec::new();
        let sources: Vec<_> = self.loads.iter().map(|(at, load)| (*at, load.suffix())).collect();
        for (at, load) in self.loads.drain(..) {
            let database = load.database();
            let done = load.stop()?;
            let of_writers: usize = done.acknowledged.iter().map(Acknowledged::count).sum();
            outcome.lines.push(format!(
                "load at {}: {of_writers} acknowledged appends, {} runs of sysbench, {}",
                self.nodes[at].name(),
                done.sysbench,
                done.report
            ));
            acknowledged.extend(done.acknowledged.into_iter().map(|one| (database, one)));
        }
        troubled?;
        for (at, suffix) in sources {
            let count = self.nodes[at].end_branches(suffix, || self.random.chance(1, 2))?;
            outcome.lines.push(format!("{count} prepared branches of XA ended at {}", self.nodes[at].name()));
        }
        self.check(options, &acknowledged, outcome)?;
        // What the applier committed is in its own log and tables.
        for node in self.nodes.iter_mut().filter(|node| node.kind() == ServerKind::Duramen) {
            node.kill()?;
            node.restart()?;
        }
        let before = outcome.findings.len();
        self.check(options, &acknowledged, outcome)?;
        outcome.findings[before..]
            .iter_mut()
            .for_each(|finding| finding.insert_str(0, "after a last kill: "));
        Ok(())
    }

    /// Kills and cuts until the time is over.
    fn trouble(&mut self, options: &Options, outcome: &mut Outcome) -> Result<()> {
        let pause = options.time / u32::try_from(options.kills.max(1))?;
        let begun = Instant::now();
        let (mut met, mut kills) = (BTreeMap::new(), 0);
        while kills < options.kills || begun.elapsed() < options.time {
            let percent = u32::try_from(20 + self.random.below(160))?;
            if kills < options.kills {
                thread::sleep(pause * percent / 100);
                let what = self.one_trouble(&mut kills)?;
                *met.entry(what).or_insert(0) += 1;
            } else {
                thread::sleep(Duration::from_millis(500).min(options.time));
            }
            self.nodes.iter().try_for_each(Node::check)?;
        }
        outcome.lines.push(format!("{met:?}"));
        Ok(())
    }

    fn one_trouble(&mut self, kills: &mut u64) -> Result<String> {
        let at = self.killed[self.random.below(self.killed.len() as u64) as usize];
        let draw = self.random.below(10);
        let node = &mut self.nodes[at];
        let what = match draw {
            0 => {
                node.cut();
                return Ok(format!("cut {}", node.name()));
            }
            1 => {
                node.restart()?;
                format!("restart {}", node.name())
            }
            _ => {
                *kills += 1;
                node.kill()?;
                node.restart()?;
                format!("kill {}", node.name())
            }
        };
        for (_, load) in self.loads.iter().filter(|(source, _)| *source == at) {
            load.moved(node.address()?);
            if draw.is_multiple_of(2) {
                // A branch that a live session has is not for others to end; nothing needs to be.
                let _ = node.end_branches(load.suffix(), || draw.is_multiple_of(4));
            }
        }
        Ok(what)
    }

    /// Waits until every replica holds what its source has, and compares.
    fn check(
        &self,
        options: &Options,
        acknowledged: &[(&str, Acknowledged)],
        outcome: &mut Outcome,
    ) -> Result<()> {
        // In a ring the second round is the one that ends it.
        for edge in self.edges.iter().chain(&self.edges) {
            let begun = Instant::now();
            let (follower, source) = (&self.nodes[edge.follower], &self.nodes[edge.source]);
            follower.await_source(source, patience(options))?;
            let seconds = begun.elapsed().as_secs_f64();
            if seconds >= 1.0 {
                outcome.lines.push(format!(
                    "{} caught up with {} after {seconds:.1} s",
                    follower.name(),
                    source.name()
                ));
            }
        }
        for edge in &self.edges {
            let (follower, source) = (&self.nodes[edge.follower], &self.nodes[edge.source]);
            let differences = compare::differences_in(
                &mut connect(source.address()?)?,
                &mut connect(follower.address()?)?,
                |database| database.ends_with(edge.compared),
            )?;
            let named = |text| format!("{} behind {}: {text}", follower.name(), source.name());
            outcome.findings.extend(differences.into_iter().map(named));
        }
        for node in &self.nodes {
            node.check()?;
            if node.kind() != ServerKind::MariaDb {
                outcome.findings.extend(node.check_log()?);
            }
            let mut conn = connect(node.address()?)?;
            let databases = compare::tables(&mut conn)?;
            for (database, of_writer) in acknowledged {
                // A source of a channel has its own only.
                if databases.iter().any(|(there, _)| there == database) {
                    let wrong = of_writer.wrong_at(&mut conn, database)?;
                    outcome.findings.extend(wrong.into_iter().map(|text| format!("{}: {text}", node.name())));
                }
            }
        }
        Ok(())
    }
}
