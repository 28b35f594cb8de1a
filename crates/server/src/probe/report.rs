//! What was measured and what is to be expected, as tables and in words, at most 80 columns wide.

use super::check::Comparison;
use super::disk::Disk;
use super::machine::Measured;
use super::model::{Durability, Expected, Machine};
use super::plot::{Line, RateAt};
use crate::charts::number;
use std::fmt::Write as _;
use std::path::Path;

/// The numbers of clients that a prediction is made for.
pub(super) const CLIENTS: [usize; 5] = [1, 4, 16, 64, 256];
/// Characters in a line of text.
const WIDTH: usize = 80;
/// No disk writes and flushes as fast as this, in seconds: what is faster keeps it in memory.
const FASTEST_DISK: f64 = 10e-6;

/// Settings that differ in what they mean here.
const SETTINGS: [(&str, Durability); 5] = [
    ("full", Durability::Every),
    ("2/2", Durability::Nth(2)),
    ("10/2", Durability::Nth(10)),
    ("100/2", Durability::Nth(100)),
    ("none", Durability::Never),
];

/// One setting's prediction for each number of clients.
pub(super) struct Forecast {
    name: &'static str,
    expected: [Expected; CLIENTS.len()],
}

/// What to expect of a machine.
pub(super) fn forecasts(machine: &Machine) -> Vec<Forecast> {
    let forecast = |(name, durability)| Forecast {
        name,
        expected: CLIENTS.map(|clients| machine.predict(durability, clients)),
    };
    SETTINGS.into_iter().map(forecast).collect()
}

/// What was measured of disk and machine.
pub(super) fn measured(folder: &Path, disk: &Disk, measured: &Measured) -> String {
    let mut out = format!("The disk of {}: one write and flush at a time\n\n", folder.display());
    let _ = writeln!(
        out,
        "    {:>10}  {:<18} {:>9} {:>9} {:>9} {:>9}",
        "bytes", "", "median", "90 %", "99 %", "slowest"
    );
    for series in &disk.series {
        let kind = if series.ahead { "in space made ahead" } else { "appended" };
        let [median, most, late, slowest] = [0.5, 0.9, 0.99, 1.0].map(|q| time(series.times.quantile(q)));
        let bytes = series.bytes;
        let _ = writeln!(out, "    {bytes:>10}  {kind:<19} {median:>8} {most:>9} {late:>9} {slowest:>9}");
    }
    out.push_str("\nSeveral at a time, 4096 bytes each, in space made ahead\n\n");
    let _ = writeln!(out, "    {:>10}  {:>9} {:>9} {:>14}", "at a time", "median", "99 %", "flushes/s");
    for parallel in &disk.parallel {
        let [median, late] = [0.5, 0.99].map(|q| time(parallel.times.quantile(q)));
        let _ = writeln!(
            out,
            "    {:>10}  {median:>9} {late:>9} {:>14}",
            parallel.at_a_time,
            number(parallel.rate)
        );
    }
    let machine = &measured.machine;
    paragraph(
        &mut out,
        &format!(
            "A round trip over loopback takes {}. A commit takes {} of a processor with one client, {} with many, of which the \
             client itself takes {}; {:.1} of {} processors were to be had for both.",
            time(measured.round_trip),
            time(machine.commit_alone),
            time(machine.commit_together + machine.waking),
            time(measured.client_work),
            machine.processors,
            measured.installed,
        ),
    );
    out
}

/// All settings, side by side.
pub(super) fn settings(forecasts: &[Forecast]) -> String {
    let mut out = String::new();
    paragraph(
        &mut out,
        "Commits per second to expect, by sync_binlog/innodb_flush_log_at_trx_commit, clients on this machine. 'full' is \
         where either is 1, 'none' is 0/2 or 0/0.",
    );
    out.push('\n');
    table(&mut out, forecasts, |e| number(e.rate));
    out.push_str("\nCommits that were acknowledged and that a power cut takes, at most\n\n");
    table(&mut out, forecasts, |e| if e.lost_commits < 0.5 { "none".into() } else { number(e.lost_commits) });
    out
}

fn table(out: &mut String, forecasts: &[Forecast], cell: impl Fn(&Expected) -> String) {
    let _ = write!(out, "    {:>10}", "clients");
    forecasts.iter().for_each(|f| out.push_str(&format!(" {:>11}", f.name)));
    out.push('\n');
    for (i, clients) in CLIENTS.iter().enumerate() {
        let _ = write!(out, "    {clients:>10}");
        forecasts.iter().for_each(|f| out.push_str(&format!(" {:>11}", cell(&f.expected[i]))));
        out.push('\n');
    }
}

/// What durability costs on this disk, for a reader who does not know the settings.
pub(super) fn answer(forecasts: &[Forecast], disk: &Disk) -> String {
    let (Some(full), Some(none)) = (forecasts.first(), forecasts.last()) else { return String::new() };
    let mut out = format!(
        "\nWHAT FULL DURABILITY COSTS HERE\n\n    {:>10}  {:^27}  {:>25}\n    {:>10}  {:>13} {:>13}  {:>12} {:>12}\n",
        "", "commits per second", "a client's commit takes", "clients", "full", "none", "full", "none"
    );
    for ((clients, full), none) in CLIENTS.iter().zip(&full.expected).zip(&none.expected) {
        let each = |e: &Expected| time(*clients as f64 / e.rate);
        let _ = writeln!(
            out,
            "    {clients:>10}  {:>13} {:>13}  {:>12} {:>12}",
            number(full.rate),
            number(none.rate),
            each(full),
            each(none)
        );
    }
    let most = none.expected.iter().max_by(|a, b| a.lost_commits.total_cmp(&b.lost_commits));
    let (lost, span) = most.map_or((0.0, 0.0), |e| (e.lost_commits, e.lost_time));
    let slower = |i: usize| slower(full.expected[i].rate, none.expected[i].rate);
    let last = CLIENTS.len() - 1;
    paragraph(
        &mut out,
        &format!(
            "With full durability, the default, a client is told that it has committed when the disk has it: a power cut takes \
             nothing of what anybody was told. With none, a power cut takes what was told in the last {}, here up to {} commits.",
            time(span),
            number(lost)
        ),
    );
    let mut price = format!(
        "The price is the wait for the disk, {} for a commit. Beside none, one client is {}, {} are {}, and {} are {}",
        time(disk.parallel.first().map_or(0.0, |p| p.times.quantile(0.5))),
        slower(0),
        CLIENTS[2],
        slower(2),
        CLIENTS[last],
        slower(last),
    );
    match full.expected[last].group {
        alone if alone < 1.5 => price.push('.'),
        many => {
            price += &format!(": they wait together, {} commits for one flush of the disk.", number(many))
        }
    }
    paragraph(&mut out, &price);
    if disk.parallel.first().is_some_and(|p| p.times.quantile(0.5) < FASTEST_DISK) {
        paragraph(
            &mut out,
            "BEWARE: no disk is as fast as this one seems to be. Its files are in memory (tmpfs), or flushes are not done: \
             whatever the settings, a power cut takes more.",
        );
    }
    out
}

/// Appends an empty line and the text, in lines of a terminal's width.
fn paragraph(out: &mut String, text: &str) {
    let mut column = WIDTH;
    for word in text.split(' ') {
        let length = word.chars().count();
        let fits = column + 1 + length <= WIDTH;
        out.push(if fits { ' ' } else { '\n' });
        out.push_str(word);
        column = if fits { column + 1 + length } else { length };
    }
    out.push('\n');
}

fn slower(full: f64, none: f64) -> String {
    match none / full {
        same if same < 1.05 => "as fast".into(),
        times if times < 9.95 => format!("{times:.1} times slower"),
        times => format!("{} times slower", number(times)),
    }
}

/// Predicted and measured, side by side.
pub(super) fn checked(checked: &Comparison) -> String {
    let mut out = format!(
        "\nThe server, {},\n\
         with sync_binlog={} and innodb_flush_log_at_trx_commit={}\n\n    {:>10} {:>12} {:>12} {:>11} {:>11} {:>11}\n",
        checked.version,
        checked.sync_binlog,
        checked.trx_commit,
        "clients",
        "predicted/s",
        "measured/s",
        "of it",
        "median",
        "99 %"
    );
    for row in &checked.rows {
        let predicted = number(row.expected.rate);
        let _ = match &row.measured {
            Some(load) => writeln!(
                out,
                "    {:>10} {predicted:>12} {:>12} {:>9.0} % {:>11} {:>11}",
                row.clients,
                number(load.rate),
                100.0 * load.rate / row.expected.rate,
                time(load.times.quantile(0.5)),
                time(load.times.quantile(0.99)),
            ),
            None => writeln!(
                out,
                "    {:>10} {predicted:>12}   not measured: more than its max_connections",
                row.clients
            ),
        };
    }
    paragraph(&mut out, &verdict(checked));
    out
}

/// Whether the prediction holds, and why it may not.
fn verdict(checked: &Comparison) -> String {
    if !checked.version.contains("duramen") {
        return "This is another server than the one that the prediction is for: Duramen.".into();
    }
    let parts = checked.rows.iter().filter_map(|r| Some(r.measured.as_ref()?.rate / r.expected.rate));
    let all = parts.clone().count();
    match parts.filter(|part| !(2.0 / 3.0..=1.5).contains(part)).count() {
        0 => "The prediction holds: none is off by more than a third.".into(),
        off => format!(
            "{off} of {all} are off by more than a third. The prediction is for a server with its data on the measured disk, on \
             this machine, with nothing else at work."
        ),
    }
}

/// The prediction's lines: full durability, one in between, none.
pub(super) fn lines(forecasts: &[Forecast]) -> Vec<Line> {
    let shown = [(0, '*', "full durability"), (2, '+', "sync_binlog=10"), (4, 'o', "no durability")];
    let line = |(which, mark, label): (usize, char, &str)| {
        let forecast = forecasts.get(which)?;
        let expected = CLIENTS.iter().zip(&forecast.expected);
        let points = expected.map(|(&n, e)| RateAt { clients: n as f64, rate: e.rate });
        Some(Line { label: label.to_owned(), mark, points: points.collect(), is_measured: false })
    };
    shown.into_iter().filter_map(line).collect()
}

/// What a server reached.
pub(super) fn checked_lines(checked: &Comparison) -> Vec<Line> {
    let measured = |row: &super::check::Row| {
        row.measured.as_ref().map(|l| RateAt { clients: l.clients as f64, rate: l.rate })
    };
    let points = checked.rows.iter().filter_map(measured).collect();
    let label = format!("measured at {}/{}", checked.sync_binlog, checked.trx_commit);
    vec![Line { label, mark: 'M', points, is_measured: true }]
}

/// Seconds, with a unit that fits and three digits.
fn time(seconds: f64) -> String {
    match seconds * 1e6 {
        us if us < 999.5 => format!("{us:.0} us"),
        us if us < 99_950.0 => format!("{:.1} ms", us / 1e3),
        us if us < 999_500.0 => format!("{:.0} ms", us / 1e3),
        us => format!("{:.1} s", us / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_fit_the_terminal() {
        let mut out = String::from("before\n");
        paragraph(&mut out, "word ".repeat(40).trim_end());
        assert!(out.starts_with("before\n\nword word") && out.ends_with("word\n"), "{out}");
        assert_eq!(out.lines().map(str::len).max(), Some(79));
    }

    #[test]
    fn a_price_is_told_as_a_factor() {
        assert_eq!(slower(100.0, 104.0), "as fast");
        assert_eq!(slower(100.0, 230.0), "2.3 times slower");
        assert_eq!(slower(41.0, 14_600.0), "356 times slower");
    }

    #[test]
    fn times_have_a_unit_that_fits() {
        let check = |value, expected: &str| assert_eq!(time(value), expected);
        check(0.000_123_4, "123 us");
        check(0.020_04, "20.0 ms");
        check(0.123, "123 ms");
        check(2.5, "2.5 s");
    }
}
