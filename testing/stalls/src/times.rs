//! Times of commits, and how they are printed.

use std::time::Duration;
use stdx::percentile::percentile;

/// The times of one window's commits, in microseconds.
#[derive(Debug, Default, Clone)]
pub struct Times {
    /// From when they were sent.
    sent: Vec<u32>,
    /// From when they were due.
    due: Vec<u32>,
}

/// The share of commits that take no longer, for each column.
const SHARES: [f64; 4] = [0.5, 0.99, 0.999, 1.0];

impl Times {
    /// Adds a commit.
    pub fn add(&mut self, sent: Duration, due: Duration) {
        let micros = |time: Duration| u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
        self.sent.push(micros(sent));
        self.due.push(micros(due));
    }

    fn columns(&self) -> ([f64; 4], [f64; 4]) {
        (percentiles(&self.sent), percentiles(&self.due))
    }
}

/// In milliseconds.
fn percentiles(times: &[u32]) -> [f64; 4] {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    SHARES.map(|share| percentile(&sorted, share).map_or(0.0, |micros| f64::from(micros) / 1e3))
}

/// The table's head.
pub fn print_head() {
    println!("times in ms, from when commits were sent | from when they were due; p99.9 / quiet p99.9\n");
    println!(
        "| window | commits | p50 | p99 | p99.9 | max | times quiet | due p50 | p99 | p99.9 | max | times quiet |"
    );
    println!("| --- |{}", " ---: |".repeat(11));
}

/// A line of the table.
pub fn print_line(name: &str, times: &Times, quiet: &Times) {
    let ((sent, due), (quiet_sent, quiet_due)) = (times.columns(), quiet.columns());
    let part = |columns: &[f64; 4], quiet: &[f64; 4]| {
        let numbers: Vec<String> = columns.iter().map(|ms| format!("{ms:.1}")).collect();
        format!("{} | {:.1}", numbers.join(" | "), columns[2] / quiet[2].max(0.001))
    };
    println!("| {name} | {} | {} | {} |", times.sent.len(), part(&sent, &quiet_sent), part(&due, &quiet_due));
}

#[cfg(test)]
mod tests {
    use super::percentiles;

    #[test]
    fn percentiles_are_times_that_were_measured() {
        let times: Vec<u32> = (1..=1000).rev().map(|ms| ms * 1000).collect();
        assert_eq!(percentiles(&times), [500.0, 990.0, 999.0, 1000.0]);
        assert_eq!(percentiles(&[7000]), [7.0; 4]);
        assert_eq!(percentiles(&[]), [0.0; 4]);
    }
}
