//! Topologies of real servers under load and kills, with Duramen in the middle: what each replica
//! holds in the end is what its source holds, or it has stopped and says why.
//!
//! 1. A [`plan`] says which servers there are, who follows whom and where the load is.
//! 2. [`run()`] starts them ([`node`]), lets the loads work ([`load`]), and meanwhile kills servers
//!    and cuts connections, drawn from a seed.
//! 3. Then the loads end, each replica gets the time to hold all that its source has, and
//!    everything is compared: all tables, what the loads' writers were acknowledged, the GTIDs of
//!    the logs. Each Duramen is killed once more, and compared again.
//!
//! [`failover`] is a group of three whose source changes by `duramen failover`, under troubles of
//! servers and network.
//! [`isolation`] is one server, and what its transactions may see of each other.
//! [`switch`] is the topology whose source changes, and is lost. [`random`] is a replica behind a
//! source of random statements.

pub mod appends;
pub mod failover;
pub mod isolation;
pub mod load;
pub mod node;
pub mod plan;
pub mod random;
mod run;
pub mod switch;

pub use followers::Result;
pub use run::run;

use std::path::PathBuf;
use std::time::Duration;

/// How a run goes.
#[derive(Debug, Clone)]
pub struct Options {
    /// How long the loads work.
    pub time: Duration,
    /// What it draws from.
    pub seed: u64,
    /// How many troubles there are in this time; it is longer if they take longer.
    pub kills: u64,
    /// The Duramen to start, if not the one next to this program.
    pub binary: Option<PathBuf>,
    /// Where the servers' data and logs go.
    pub folder: PathBuf,
}

/// What a run came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was done, a line each.
    pub lines: Vec<String>,
    /// What must not be.
    pub findings: Vec<String>,
}
