//! What an option's name means.

use sql::replica::FilterRule;
use sql::variables::{self, VariableId, VariableType};

/// An option that is not simply a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    Help,
    Verbose,
    Version,
    DefaultsFile,
    LogBin,
    NoLogBin,
    /// A value of a replication filter: may be said many times.
    Filter(FilterRule),
    /// Understood by mysqld, and meaningless here.
    NoEffect,
}

pub(super) enum Meaning {
    Variable {
        id: VariableId,
        /// Written `skip-name`: switch it off.
        negated: bool,
    },
    Special(Special),
}

const SPECIALS: &[(&str, Special)] = &[
    ("help", Special::Help),
    ("verbose", Special::Verbose),
    ("version", Special::Version),
    ("defaults_file", Special::DefaultsFile),
    ("defaults_extra_file", Special::DefaultsFile),
    ("no_defaults", Special::NoEffect),
    ("log_bin", Special::LogBin),
    ("skip_log_bin", Special::NoLogBin),
    ("disable_log_bin", Special::NoLogBin),
    ("user", Special::NoEffect),
    ("console", Special::NoEffect),
    ("skip_external_locking", Special::NoEffect),
    ("skip_host_cache", Special::NoEffect),
    ("skip_symbolic_links", Special::NoEffect),
    ("symbolic_links", Special::NoEffect),
];

pub(super) fn special(name: &str) -> Option<Special> {
    let name = plain(name);
    let filter = FilterRule::ALL.into_iter().find(|rule| rule.option() == name).map(Special::Filter);
    filter.or_else(|| SPECIALS.iter().find(|(n, _)| *n == name).map(|(_, s)| *s))
}

/// The name without `loose-`, and whether that was there.
pub(super) fn without_loose(name: &str) -> (&str, bool) {
    match name.get(..6) {
        Some(head) if plain(head) == "loose_" => (&name[6..], true),
        _ => (name, false),
    }
}

pub(super) fn meaning(name: &str) -> Option<Meaning> {
    if let Some(special) = special(name) {
        return Some(Meaning::Special(special));
    }
    let name = plain(name);
    if let Some(id) = option(&name) {
        return Some(Meaning::Variable { id, negated: false });
    }
    let negations = [("skip_", true), ("disable_", true), ("enable_", false)];
    negations.iter().find_map(|(prefix, negated)| {
        let id = option(name.strip_prefix(prefix)?)?;
        can_be_off(id).then_some(Meaning::Variable { id, negated: *negated })
    })
}

/// True if the option has no meaning without a value, so that the next argument must be it.
pub(super) fn needs_value(name: &str) -> bool {
    match meaning(without_loose(name).0) {
        Some(Meaning::Variable { id, negated: false }) => !can_be_off(id),
        Some(Meaning::Special(Special::DefaultsFile | Special::Filter(_))) => true,
        Some(Meaning::Special(Special::NoEffect)) => plain(name) == "user",
        _ => false,
    }
}

/// The likeliest option that a mistyped name meant, with `-` as the manual writes it.
pub(super) fn nearest(name: &str) -> Option<String> {
    let all =
        variables::all().map(VariableId::variable).filter(|v| v.is_option()).map(variables::Variable::name);
    let found = stdx::suggest::nearest(
        name,
        all.chain(SPECIALS.iter().map(|(n, _)| *n)).chain(FilterRule::ALL.map(FilterRule::option)),
    )?;
    Some(found.replace('_', "-"))
}

fn option(name: &str) -> Option<VariableId> {
    variables::find(name).filter(|id| id.variable().is_option())
}

fn can_be_off(id: VariableId) -> bool {
    match id.variable().kind() {
        VariableType::Bool(_) => true,
        VariableType::Enum { names, .. } => names.contains(&"ON"),
        _ => false,
    }
}

fn plain(name: &str) -> String {
    name.replace('-', "_")
}
