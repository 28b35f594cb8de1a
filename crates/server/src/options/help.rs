//! The text of `duramen serve --help`: the options are the registry's lines.

use sql::variables::{self, GlobalVariables, Variable, VariableId, VariableType};
use std::fmt::Write as _;

const INTRODUCTION: &str = "\
Runs the server. With no option at all it makes its data directory ./duramen-data, listens on 127.0.0.1:3306 and
on a Unix socket inside that directory, and tells how to connect.

    duramen serve
    duramen serve --datadir=/srv/duramen --port=3307 --bind-address=0.0.0.0
    duramen serve --defaults-file=/etc/duramen.cnf --sync-binlog=1

Options are those of mysqld: --name=value or --name value, with - or _. A switch is on when it is named alone and off
with --skip-name. Sizes take K, M, G. loose- before a name turns an error about it into a warning.
    --defaults-file=FILE  reads options from the groups [mysqld], [server], [duramen] of a my.cnf first. No file is
                          read unless it is named.
    --log-bin=NAME        names the log files (binlog). The log itself is always on: it is the database.
    --replicate-do-db=[CHANNEL:]NAME, and -ignore-db, -do-table, -ignore-table, -wild-do-table, -wild-ignore-table,
    -rewrite-db           leave out what a source sends, as CHANGE REPLICATION FILTER does; each may be said often.
    --verbose --help      lists the settings too that are accepted without effect or have one value only.
    --version             tells the version.
";

/// The whole text.
pub fn text(verbose: bool) -> String {
    let mut out = String::from(INTRODUCTION);
    let defaults = GlobalVariables::new();
    let live = |v: &Variable| !v.is_fixed() && !v.is_harmless();
    section(&mut out, &defaults, "Settings, each with its default:", live);
    if verbose {
        section(&mut out, &defaults, "Accepted without effect:", Variable::is_harmless);
        section(&mut out, &defaults, "Known, with one value only:", Variable::is_fixed);
    }
    out
}

fn section(out: &mut String, defaults: &GlobalVariables, title: &str, wanted: impl Fn(&Variable) -> bool) {
    let _ = writeln!(out, "\n{title}");
    for id in variables::all().filter(|id| id.variable().is_option() && wanted(id.variable())) {
        let variable = id.variable();
        let value = defaults.get(id);
        let default = shown(variable, id, &variable.show(&value));
        let name = format!("--{}={default}", variable.name().replace('_', "-"));
        let running = if variable.is_read_only() { "" } else { " [SET GLOBAL]" };
        let _ = writeln!(out, "    {name}\n        {}; {}{running}", variable.help(), variable.expected());
    }
}

/// Sizes are easier to read as they can be written.
fn shown(variable: &Variable, id: VariableId, value: &str) -> String {
    let size = variable.name().ends_with("size") || id == variables::ids::MAX_ALLOWED_PACKET;
    match (variable.kind(), value.parse::<u64>()) {
        (VariableType::UInt { .. }, Ok(v)) if size && v > 0 && v % (1 << 20) == 0 => format!("{}M", v >> 20),
        _ => value.to_owned(),
    }
}
