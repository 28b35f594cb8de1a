//! What result columns are told as, and what CREATE TABLE .. SELECT makes of them: every function
//! and operator with operands of every type, as MySQL has them.
//!
//! `result_types/mysql.txt` has what MySQL 9.7 answered, `mysql_not_strict.txt` what it answered
//! where sql_mode was not strict; their heads tell their form.
//! `result_types/known.txt` and `known_not_strict.txt`, of the same form, have what differs here:
//! the test fails if anything else does, and if something of it does no more.
//! `DURAMEN_UPDATE_RESULT_TYPES=1 cargo test -p sql --test result_types` writes it anew: read the
//! difference before believing it.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use common::{Server, run};
use env::{Env, OpenMode, RealEnv};
use sql::Session;

/// Expressions whose tables are made together.
const TOGETHER: usize = 40;

/// An expression of the recording.
struct Recorded<'t> {
    template: &'t str,
    operands: &'t str,
    expression: String,
    /// The column's definition and the made column's, divided by a tab.
    outcome: String,
}

fn recorded(text: &str) -> (&str, Vec<Recorded<'_>>) {
    let mut table = "";
    let mut template = "";
    let mut all = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with("# ")) {
        if let Some(definition) = line.strip_prefix("table ") {
            table = definition;
        } else if let Some(fields) = line.strip_prefix('\t') {
            let (outcome, operands) = fields.rsplit_once('\t').unwrap();
            for operands in operands.split(' ') {
                let expression = match operands.split_once(',') {
                    Some((a, b)) => template.replace('@', a).replace('#', b),
                    None if operands.is_empty() => template.to_owned(),
                    None => match template.strip_prefix("@v := @") {
                        Some("") => format!("@v := {operands}"),
                        _ => template.replace('@', operands),
                    },
                };
                all.push(Recorded { template, operands, expression, outcome: outcome.to_owned() });
            }
        } else if !line.starts_with("operands ") && !line.starts_with("pairs ") {
            template = line;
        }
    }
    (table, all)
}

fn described(session: &mut Session, expression: &str) -> String {
    match run(session, &format!("select {expression} as x from t")) {
        Ok(printed) => {
            let c = &printed.columns[0];
            format!("{} {} {} {} {}", c.type_code, c.collation, c.length, c.decimals, c.flags)
        }
        Err(e) => format!("error {}", e.number),
    }
}

/// Makes a table of these expressions, and of halves of them where one can't be made.
fn made(session: &mut Session, expressions: &[&str], out: &mut Vec<String>) {
    let list: Vec<_> = expressions.iter().enumerate().map(|(i, e)| format!("{e} as x{i}")).collect();
    if let Err(e) = run(session, &format!("create temporary table made as select {} from t", list.join(",")))
    {
        if expressions.len() == 1 {
            return out.push(format!("error {}", e.number));
        }
        let (a, b) = expressions.split_at(expressions.len() / 2);
        made(session, a, out);
        return made(session, b, out);
    }
    let columns = run(session, "show full columns from made").unwrap();
    for row in columns.rows {
        let [Some(ty), collation, Some(null), _, default] = [1, 2, 3, 4, 5].map(|i| row[i].clone()) else {
            panic!("{row:?}");
        };
        let collation = collation.map_or_else(String::new, |c| format!(" {c}"));
        let not_null = if null == "NO" { " not null" } else { "" };
        let default = default.map_or_else(String::new, |d| format!(" default '{d}'"));
        out.push(format!("{ty}{collation}{not_null}{default}"));
    }
    run(session, "drop temporary table made").unwrap();
}

/// What aggregates can't stand beside other expressions, and an assignment changes what comes
/// behind it.
fn stands_alone(template: &str) -> u8 {
    const AGGREGATES: &[&str] = &[
        "count(",
        "sum(",
        "avg(",
        "min(@",
        "max(@",
        "std(",
        "stddev",
        "variance(",
        "var_samp",
        "bit_and(",
        "bit_or(",
        "bit_xor(",
        "group_concat",
        "agg(",
    ];
    match () {
        () if template.contains("@v :=") => 2,
        () if AGGREGATES.iter().any(|name| template.contains(name)) => 1,
        () => 0,
    }
}

#[test]
fn results_are_told_as_mysql_tells_them() {
    let strict = "STRICT_TRANS_TABLES,ONLY_FULL_GROUP_BY,ERROR_FOR_DIVISION_BY_ZERO";
    compare_with_recorded("mysql.txt", "known.txt", strict);
}

#[test]
fn results_are_told_as_mysql_tells_them_where_sql_mode_is_not_strict() {
    compare_with_recorded("mysql_not_strict.txt", "known_not_strict.txt", "ONLY_FULL_GROUP_BY");
}

fn compare_with_recorded(recording: &str, known_differences: &str, sql_mode: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/result_types");
    let read = |name: &str| String::from_utf8(RealEnv.read_file(&folder.join(name)).unwrap()).unwrap();
    let text = read(recording);
    let (table, all) = recorded(&text);
    let server = Server::new(1);
    let mut session = server.session();
    for sql in [
        "create database types charset utf8mb4",
        "use types",
        &format!("set sql_mode = '{sql_mode}'"),
        "set names utf8mb4",
        "set timestamp = 1700000000",
        &format!("create table {table}"),
    ] {
        run(&mut session, sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let mut ours: Vec<String> = all.iter().map(|r| described(&mut session, &r.expression)).collect();
    for class in 0..=2 {
        let of_class = |i: &usize| stands_alone(all[*i].template) == class && !ours[*i].starts_with("error");
        let numbers: Vec<usize> = (0..all.len()).filter(of_class).collect();
        for part in numbers.chunks(if class == 2 { 1 } else { TOGETHER }) {
            let expressions: Vec<_> = part.iter().map(|&i| all[i].expression.as_str()).collect();
            let mut columns = Vec::new();
            made(&mut session, &expressions, &mut columns);
            for (&i, column) in part.iter().zip(columns) {
                write!(ours[i], "\t{column}").unwrap();
            }
        }
    }
    ours.iter_mut().filter(|o| o.starts_with("error")).for_each(|o| o.push('\t'));

    let mut differing: BTreeMap<(usize, &str), (&str, Vec<&str>)> = BTreeMap::new();
    let mut first_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut count = 0;
    for (i, (r, ours)) in all.iter().zip(&ours).enumerate().filter(|(_, (r, ours))| r.outcome != **ours) {
        let first = *first_of.entry(r.template).or_insert(i);
        differing.entry((first, ours)).or_insert((r.template, Vec::new())).1.push(r.operands);
        count += 1;
    }
    let mut known = format!(
        "# What result_types.rs finds to differ from {recording}, as it is told here. docs/differences-to-mysql.md has the reasons.\n"
    );
    let mut template = "";
    for ((_, outcome), (of, operands)) in &differing {
        if template != *of {
            template = of;
            writeln!(known, "{template}").unwrap();
        }
        writeln!(known, "\t{outcome}\t{}", operands.join(" ")).unwrap();
    }
    println!("{} of {} expressions differ", count, all.len());
    let before = read(known_differences);
    if before != known && std::env::var_os("DURAMEN_UPDATE_RESULT_TYPES").is_some() {
        let file = RealEnv.open(&folder.join(known_differences), OpenMode::Create).unwrap();
        file.set_len(0).unwrap();
        file.write_at(known.as_bytes(), 0).unwrap();
        return;
    }
    let changed: Vec<_> = known.lines().filter(|line| !before.lines().any(|l| l == *line)).collect();
    assert!(
        before == known,
        "these differ from MySQL, or from what {known_differences} says:\n{}",
        changed.join("\n")
    );
}
