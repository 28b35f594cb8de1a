//! The topologies: which servers, who follows whom, where the loads are, what is killed.

use crate::load::Share;
use crate::node::Spec;
use followers::workload::{Features, Suffix};
use servers::ServerKind::{self, Duramen, MariaDb, MySql};

/// A topology.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The servers.
    pub nodes: Vec<Spec>,
    /// Who follows whom, from the source that is nobody's replica on.
    pub edges: Vec<Edge>,
    /// The loads, and at which server.
    pub loads: Vec<(usize, Share)>,
    /// Servers that are killed, and those whose followers' connections are cut.
    pub killed: Vec<usize>,
}

/// One server follows another.
#[derive(Debug, Clone, Copy)]
pub struct Edge {
    /// The one that follows.
    pub follower: usize,
    /// The one that is followed.
    pub source: usize,
    /// The name of the channel.
    pub channel: &'static str,
    /// Only databases whose names end so are compared.
    pub compared: &'static str,
}

fn spec(name: &'static str, kind: ServerKind, id: u32) -> Spec {
    Spec { name, kind, id, for_mariadb: false, args: Vec::new(), binary: None }
}

fn share(features: Features, suffix: &'static str, first_writer: u64, database: &'static str) -> Share {
    Share { features, suffix: Suffix(suffix), first_writer, database }
}

fn edge(follower: usize, source: usize) -> Edge {
    Edge { follower, source, channel: "", compared: "" }
}

/// Three servers, each the source of the next.
fn chain(kinds: [ServerKind; 3]) -> Plan {
    let [first, middle, last] = kinds;
    let mut nodes = vec![spec("first", first, 11), spec("middle", middle, 12), spec("last", last, 13)];
    nodes[1].for_mariadb = last == MariaDb;
    // Its JSON is text, its accounts are its own. Of itself it has not a branch of XA and that
    // branch's place in the log as one.
    let features = match kinds.contains(&MariaDb) {
        true => Features { json: false, accounts: false, xa: false, ..Features::ALL },
        false => Features::ALL,
    };
    // A MariaDB's definitions are not atomic with its place in its source's log.
    let killed = if last == MariaDb { vec![0, 1] } else { vec![0, 1, 2] };
    Plan {
        nodes,
        edges: vec![edge(1, 0), edge(2, 1)],
        loads: vec![(0, share(features, "", 1, "appended"))],
        killed,
    }
}

/// One that follows two by channels, and is followed itself.
fn channels(first: ServerKind, second: ServerKind) -> Plan {
    let nodes = vec![
        spec("one", first, 21),
        spec("two", second, 22),
        spec("both", Duramen, 23),
        spec("last", Duramen, 24),
    ];
    let features = |kind| match kind {
        MariaDb => Features { json: false, accounts: false, xa: false, ..Features::ALL },
        // Accounts of one name are everybody's.
        _ => Features::ALL,
    };
    Plan {
        nodes,
        edges: vec![
            Edge { follower: 2, source: 0, channel: "one", compared: "_a" },
            Edge { follower: 2, source: 1, channel: "two", compared: "_b" },
            edge(3, 2),
        ],
        loads: vec![
            (0, share(features(first), "_a", 1, "appended_a")),
            (1, share(features(second), "_b", 100, "appended_b")),
        ],
        killed: vec![0, 1, 2, 3],
    }
}

/// Two that follow each other: tables of their own, and common ones with keys of their own. Rows of
/// a table without a key have ids as if that were an AUTO_INCREMENT column.
fn ring(first: ServerKind) -> Plan {
    let mut nodes = vec![spec("left", first, 31), spec("right", Duramen, 32)];
    for (offset, node) in (1..).zip(&mut nodes) {
        node.args.push("--auto-increment-increment=2".to_owned());
        node.args.push(format!("--auto-increment-offset={offset}"));
    }
    Plan {
        nodes,
        edges: vec![edge(1, 0), edge(0, 1)],
        loads: vec![
            (0, share(Features::ALL, "_a", 1, "appended")),
            (1, share(Features::ALL, "_b", 100, "appended")),
        ],
        killed: vec![0, 1],
    }
}

/// A chain of which only the middle is killed.
fn kills(first: ServerKind) -> Plan {
    let mut plan = Plan { killed: vec![1], ..chain([first, Duramen, Duramen]) };
    plan.loads.iter_mut().for_each(|(_, share)| share.features.xa = true);
    plan
}

/// The names of the topologies.
pub const NAMES: [&str; 10] = [
    "duramen",
    "mysql",
    "mariadb",
    "channels",
    "channels-of-peers",
    "ring",
    "ring-with-mysql",
    "kills",
    "kills-behind-mysql",
    "kills-behind-mariadb",
];

/// The topology of this name.
pub fn of(name: &str) -> Option<Plan> {
    Some(match name {
        "duramen" => chain([Duramen; 3]),
        "mysql" => chain([MySql, Duramen, MySql]),
        "mariadb" => chain([MariaDb, Duramen, MariaDb]),
        "channels" => channels(Duramen, Duramen),
        "channels-of-peers" => channels(MySql, MariaDb),
        "ring" => ring(Duramen),
        "ring-with-mysql" => ring(MySql),
        "kills" => kills(Duramen),
        "kills-behind-mysql" => kills(MySql),
        "kills-behind-mariadb" => kills(MariaDb),
        _ => return None,
    })
}
