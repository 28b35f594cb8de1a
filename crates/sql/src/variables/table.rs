//! The table of all variables, put together from its subjects at compile time, and the ways to find
//! one.

mod binlog;
mod character;
mod engine;
mod network;
mod optimizer;
mod replica;
mod semi_sync;
mod server;
pub use server::VERSION;
mod statement;
#[cfg(test)]
pub(crate) use statement::BLOCK_ENCRYPTION_MODES;

use super::definition::{Variable, VariableId};
use std::sync::LazyLock;

use syntax::parser::RENAMED_VARIABLES;

const SUBJECTS: [&[Variable]; 9] = [
    binlog::VARIABLES,
    character::VARIABLES,
    engine::VARIABLES,
    network::VARIABLES,
    optimizer::VARIABLES,
    replica::VARIABLES,
    semi_sync::VARIABLES,
    server::VARIABLES,
    statement::VARIABLES,
];

const COUNT: usize = {
    let (mut count, mut subject) = (0, 0);
    while subject < SUBJECTS.len() {
        count += SUBJECTS[subject].len();
        subject += 1;
    }
    count
};

/// Every variable; a [`VariableId`] is a place in it.
pub(super) static TABLE: [Variable; COUNT] = {
    let mut joined = [SUBJECTS[0][0]; COUNT];
    let (mut at, mut subject) = (0, 0);
    while subject < SUBJECTS.len() {
        let mut line = 0;
        while line < SUBJECTS[subject].len() {
            joined[at] = SUBJECTS[subject][line];
            at += 1;
            line += 1;
        }
        subject += 1;
    }
    joined
};

/// Names of old that clients still ask for, and what they stand for. They are found, but not
/// listed.
const ALIASES: [(&str, &str); 4] = [
    ("tx_isolation", "transaction_isolation"),
    ("tx_read_only", "transaction_read_only"),
    ("slave_parallel_type", "replica_parallel_type"),
    ("storage_engine", "default_storage_engine"),
];

/// Names of old that are listed too: MariaDB's replicas look for `rpl_semi_sync_master_enabled`
/// with SHOW VARIABLES. MySQL lists those of [`RENAMED_VARIABLES`], too.
const LISTED_ALIASES: [(&str, &str); 8] = [
    ("rpl_semi_sync_master_enabled", "rpl_semi_sync_source_enabled"),
    ("rpl_semi_sync_master_timeout", "rpl_semi_sync_source_timeout"),
    ("rpl_semi_sync_master_trace_level", "rpl_semi_sync_source_trace_level"),
    ("rpl_semi_sync_master_wait_for_slave_count", "rpl_semi_sync_source_wait_for_replica_count"),
    ("rpl_semi_sync_master_wait_no_slave", "rpl_semi_sync_source_wait_no_replica"),
    ("rpl_semi_sync_master_wait_point", "rpl_semi_sync_source_wait_point"),
    ("rpl_semi_sync_slave_enabled", "rpl_semi_sync_replica_enabled"),
    ("rpl_semi_sync_slave_trace_level", "rpl_semi_sync_replica_trace_level"),
];

static BY_NAME: LazyLock<Vec<VariableId>> = LazyLock::new(|| {
    let mut ids: Vec<_> = (0..COUNT as u16).map(VariableId).collect();
    ids.sort_by_key(|&id| definition(id).name);
    ids
});

/// The place of a variable that must exist; a wrong name does not compile.
pub(super) const fn id(name: &str) -> VariableId {
    let mut i = 0;
    while i < COUNT {
        if same(TABLE[i].name.as_bytes(), name.as_bytes()) {
            return VariableId(i as u16);
        }
        i += 1;
    }
    panic!("no variable has this name")
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// What is known of a variable.
pub(super) fn definition(id: VariableId) -> &'static Variable {
    &TABLE[id.index()]
}

impl VariableId {
    /// What is known of the variable.
    pub fn variable(self) -> &'static Variable {
        definition(self)
    }
}

/// Every variable in the order of their names.
pub fn all() -> impl Iterator<Item = VariableId> {
    BY_NAME.iter().copied()
}

/// Every variable by each name that it is listed with, in the order of these.
pub fn listed() -> impl Iterator<Item = (&'static str, VariableId)> {
    let named = |id: VariableId| (definition(id).name, id);
    let is_unlisted = |alias: &str| ALIASES.iter().any(|(unlisted, _)| *unlisted == alias);
    let aliases = LISTED_ALIASES.iter().chain(RENAMED_VARIABLES).filter(|(alias, _)| !is_unlisted(alias));
    let aliases = aliases.filter_map(|&(alias, of)| Some((alias, find(of)?)));
    let mut listed: Vec<_> = all().map(named).chain(aliases).collect();
    listed.sort_unstable_by_key(|&(name, _)| name);
    listed.into_iter()
}

/// The variable of this name, in any case.
pub fn find(name: &str) -> Option<VariableId> {
    let name = name.to_ascii_lowercase();
    let mut aliases = ALIASES.iter().chain(&LISTED_ALIASES).chain(RENAMED_VARIABLES);
    let name = aliases.find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, of)| of);
    let place = BY_NAME.binary_search_by_key(&name, |&id| definition(id).name).ok()?;
    Some(BY_NAME[place])
}

/// The variables whose names `wanted` accepts, in the order of their names: for SHOW VARIABLES
/// LIKE.
pub fn matching(wanted: impl Fn(&str) -> bool) -> impl Iterator<Item = VariableId> {
    all().filter(move |&id| wanted(definition(id).name))
}

/// The likeliest variable that a mistyped option meant.
pub fn nearest(name: &str) -> Option<&'static str> {
    stdx::suggest::nearest(name, TABLE.iter().filter(|v| v.option).map(|v| v.name))
}
