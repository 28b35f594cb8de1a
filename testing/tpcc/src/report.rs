//! What a run of the mix came to, and how it is printed.

use crate::transactions::TransactionType;
use std::fmt;
use std::time::Duration;
use stdx::percentile::percentile;

/// One transaction that ended.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Which.
    pub kind: TransactionType,
    /// From its first statement to its end, retries included.
    pub time: Duration,
    /// How often it ran again after a deadlock or lock wait timeout.
    pub retries: u32,
    /// True if it was one of those that the specification wants rolled back.
    pub is_rolled_back: bool,
}

/// What a run, or a terminal of it, came to.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Every transaction that ended.
    pub samples: Vec<Sample>,
    /// Warehouse, district and number of each order whose commit was acknowledged.
    pub orders: Vec<(u32, u32, u32)>,
    /// Payments whose commit was acknowledged.
    pub payments: u64,
    /// Transactions whose outcome is unknown.
    pub in_flight: u64,
    /// Terminals that lost their connection.
    pub lost_connections: u64,
    /// Errors that ended terminals.
    pub errors: Vec<String>,
    /// How long the run took.
    pub elapsed: Duration,
}

impl Outcome {
    pub(crate) fn ended(error: &str) -> Self {
        Self { errors: vec![error.to_owned()], ..Self::default() }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.samples.extend(other.samples);
        self.orders.extend(other.orders);
        self.payments += other.payments;
        self.in_flight += other.in_flight;
        self.lost_connections += other.lost_connections;
        self.errors.extend(other.errors);
    }

    /// New-Order transactions committed per minute; those rolled back on purpose are not counted.
    pub fn tpm_c(&self) -> f64 {
        self.orders.len() as f64 * 60.0 / self.elapsed.as_secs_f64()
    }
}

/// A line for each transaction, tab-separated, and tpmC.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "transaction\tnumber\tshare %\tmedian ms\t90th ms\t99th ms\tlongest ms\trolled back\tretries"
        )?;
        for kind in TransactionType::ALL {
            let samples: Vec<_> = self.samples.iter().filter(|s| s.kind == kind).collect();
            let mut times: Vec<_> = samples.iter().map(|s| s.time).collect();
            times.sort_unstable();
            let at = |share: f64| percentile(&times, share).unwrap_or_default().as_secs_f64() * 1000.0;
            let rolled_back = samples.iter().filter(|s| s.is_rolled_back).count();
            let retries: u32 = samples.iter().map(|s| s.retries).sum();
            writeln!(
                f,
                "{}\t{}\t{:.1}\t{:.2}\t{:.2}\t{:.2}\t{:.2}\t{rolled_back}\t{retries}",
                kind.name(),
                samples.len(),
                samples.len() as f64 * 100.0 / self.samples.len().max(1) as f64,
                at(0.5),
                at(0.9),
                at(0.99),
                at(1.0),
            )?;
        }
        write!(f, "tpmC\t{:.1}", self.tpm_c())
    }
}
