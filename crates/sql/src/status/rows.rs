//! Rows of `SHOW STATUS` as they are gathered, each with its kind, so that metrics can be made from
//! them too.

use std::borrow::Cow;
use stdx::histogram::Histogram;

/// What a number means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
}

/// What a row says.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// How it may change, and what it is now.
    Number(MetricKind, u64),
    /// Text: a position, for instance.
    Text(String),
    /// Many rows, one metric.
    Distribution(Distribution),
}

/// A histogram as it was when asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Distribution {
    /// What is distributed, in a sentence.
    pub help: &'static str,
    /// Values counted.
    pub count: u64,
    /// Of all values counted, in the unit of `help`.
    pub sum: u64,
    /// Exclusive upper bounds of 50 %, 99 % and 99.9 % of the values.
    pub(crate) quantiles: [u64; 3],
    /// Exclusive upper bound and count of each bucket that counted something, ascending.
    pub buckets: Vec<(u64, u64)>,
}

/// Rows of `SHOW STATUS` as they are gathered.
#[derive(Debug, Default)]
pub struct Rows(Vec<(Cow<'static, str>, Value)>);

impl Rows {
    /// Adds a number that only grows.
    pub fn push(&mut self, name: impl Into<Cow<'static, str>>, value: impl TryInto<u64>) {
        self.number(name, MetricKind::Counter, value);
    }

    /// Adds a number that goes up and down.
    pub fn gauge(&mut self, name: impl Into<Cow<'static, str>>, value: impl TryInto<u64>) {
        self.number(name, MetricKind::Gauge, value);
    }

    fn number(&mut self, name: impl Into<Cow<'static, str>>, kind: MetricKind, value: impl TryInto<u64>) {
        self.0.push((name.into(), Value::Number(kind, value.try_into().unwrap_or(u64::MAX))));
    }

    /// Adds what is no number.
    pub fn text(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<String>) {
        self.0.push((name.into(), Value::Text(value.into())));
    }

    /// Adds a histogram of microseconds (if the name ends in `_us`) or sizes: count, mean, bounds
    /// of the 50 %, 99 % and 99.9 % quantiles, and each bucket that counted something
    /// (`name_below_1024`).
    pub fn push_histogram(&mut self, name: &'static str, help: &'static str, histogram: &Histogram) {
        let buckets: Vec<_> = histogram.buckets().filter(|&(_, n)| n > 0).collect();
        let distribution = Distribution {
            help,
            count: buckets.iter().map(|&(_, n)| n).sum(),
            sum: histogram.sum(),
            quantiles: [0.5, 0.99, 0.999].map(|q| histogram.quantile_bound(q)),
            buckets,
        };
        self.0.push((name.into(), Value::Distribution(distribution)));
    }

    /// Each row's name and value.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    /// The rows as `SHOW STATUS` lists them, in the order of their names.
    pub(super) fn into_listing(self) -> Vec<(Cow<'static, str>, String)> {
        let mut rows = Vec::with_capacity(self.0.len());
        for (name, value) in self.0 {
            match value {
                Value::Number(_, n) => rows.push((name, n.to_string())),
                Value::Text(text) => rows.push((name, text)),
                Value::Distribution(distribution) => distribution.list(&name, &mut rows),
            }
        }
        rows.sort_by(|a, b| a.0.cmp(&b.0));
        rows
    }
}

impl Distribution {
    /// The mean; 0 if nothing was counted.
    pub(crate) fn mean(&self) -> u64 {
        self.sum.checked_div(self.count).unwrap_or(0)
    }

    fn list(&self, name: &str, rows: &mut Vec<(Cow<'static, str>, String)>) {
        let mut push = |suffix: String, value: u64| {
            rows.push((format!("{name}_{suffix}").into(), value.to_string()));
        };
        push("count".into(), self.count);
        push("mean".into(), self.mean());
        for (label, bound) in ["p50", "p99", "p999"].into_iter().zip(self.quantiles) {
            push(format!("{label}_below"), bound);
        }
        for (bound, n) in &self.buckets {
            push(format!("below_{bound:020}"), *n);
        }
    }
}
