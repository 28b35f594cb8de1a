//! What was measured and what is to be expected, as tables.

use super::check::Comparison;
use super::disk::Disk;
use super::machine::Measured;
use super::model::{Durability, Expected, Machine};
use super::plot::Line;
use crate::charts::number;
use std::fmt::Write as _;
use std::path::Path;

/// The numbers of clients that a prediction is made for.
pub(super) const CLIENTS: [usize; 5] = [1, 4, 16, 64, 256];

/// Settings that differ in what they mean here.
const SETTINGS: [(&str, Durability); 5] = [
    ("full", Durability::Every),
    ("2/2", Durability::Nth(2)),
    ("10/2", Durability::Nth(10)),
    ("100/2", Durability::Nth(100)),
    ("0/2, 0/0", Durability::Never),
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

pub(super) fn print_measured(place: &Path, disk: &Disk, measured: &Measured) {
    print!("{}", measured_text(place, disk, measured));
}

pub(super) fn print_forecasts(forecasts: &[Forecast]) {
    print!("{}", forecasts_text(forecasts));
}

pub(super) fn print_checked(checked: &Comparison) {
    print!("{}", checked_text(checked));
}

fn measured_text(place: &Path, disk: &Disk, measured: &Measured) -> String {
    let mut out = format!("The disk of {}: one write and flush at a time\n\n", place.display());
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
    let _ = writeln!(
        out,
        "\nA round trip over loopback takes {}. A commit takes {} of a processor with one client, {} with many, of\n\
         which the client itself takes {}; {:.1} of {} processors were to be had for both.",
        time(measured.round_trip),
        time(machine.commit_alone),
        time(machine.commit_together + machine.waking),
        time(measured.client_work),
        machine.processors,
        measured.installed,
    );
    out
}

fn forecasts_text(forecasts: &[Forecast]) -> String {
    let mut out = String::from(
        "\nCommits per second to expect, by sync_binlog/innodb_flush_log_at_trx_commit, clients on this machine.\n\
         'full' is where either is 1: the stricter of the two wins.\n\n",
    );
    table(&mut out, forecasts, |e| number(e.rate));
    out.push_str(
        "\nTransactions that were acknowledged and that a power cut takes, at most, and of how long\n\n",
    );
    table(&mut out, forecasts, |e| match e.lost_commits {
        none if none < 0.5 => "none".into(),
        some => format!("{} ({})", number(some), time(e.lost_time)),
    });
    if let (Some(full), Some(free)) = (forecasts.first(), forecasts.last()) {
        out.push('\n');
        out.push_str(&in_words(full, free));
    }
    out
}

/// The question that this program is asked.
fn in_words(full: &Forecast, free: &Forecast) -> String {
    let part = |i: usize| 100.0 * full.expected[i].rate / free.expected[i].rate;
    let last = CLIENTS.len() - 1;
    format!(
        "So full durability reaches {:.0} % of the rate without any with one client, {:.0} % with {}, {:.0} % with {};\n\
         there, one flush serves {} commits.\n",
        part(0),
        part(2),
        CLIENTS[2],
        part(last),
        CLIENTS[last],
        number(full.expected[last].group),
    )
}

fn table(out: &mut String, forecasts: &[Forecast], cell: impl Fn(&Expected) -> String) {
    let _ = write!(out, "    {:>10}", "clients");
    forecasts.iter().for_each(|f| out.push_str(&format!(" {:>15}", f.name)));
    out.push('\n');
    for (i, clients) in CLIENTS.iter().enumerate() {
        let _ = write!(out, "    {clients:>10}");
        forecasts.iter().for_each(|f| out.push_str(&format!(" {:>15}", cell(&f.expected[i]))));
        out.push('\n');
    }
}

fn checked_text(checked: &Comparison) -> String {
    let mut out = format!(
        "\nThe server, {}, with sync_binlog={} and innodb_flush_log_at_trx_commit={}\n\n    {:>10} {:>12} {:>12} {:>11} \
         {:>11} {:>11}\n",
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
                "    {:>10} {predicted:>12}   not measured: it takes fewer connections (max_connections)",
                row.clients
            ),
        };
    }
    out
}

/// The prediction's lines: full durability, one in between, none.
pub(super) fn lines(forecasts: &[Forecast]) -> Vec<Line> {
    let shown = [(0, '*', "full durability"), (2, '+', "sync_binlog=10, trx_commit=2"), (4, 'o', "0/2, 0/0")];
    let line = |(which, mark, label): (usize, char, &str)| {
        let forecast = forecasts.get(which)?;
        let points = CLIENTS.iter().zip(&forecast.expected).map(|(&n, e)| (n as f64, e.rate)).collect();
        Some(Line { label: label.to_owned(), mark, points, is_measured: false })
    };
    shown.into_iter().filter_map(line).collect()
}

/// What a server reached.
pub(super) fn checked_lines(checked: &Comparison) -> Vec<Line> {
    let measured = |row: &super::check::Row| row.measured.as_ref().map(|l| (l.clients as f64, l.rate));
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
    fn times_have_a_unit_that_fits() {
        let check = |value, expected: &str| assert_eq!(time(value), expected);
        check(0.000_123_4, "123 us");
        check(0.020_04, "20.0 ms");
        check(0.123, "123 ms");
        check(2.5, "2.5 s");
    }
}
