//! Small helpers that every crate may use. Depends on nothing of the rest.
//!
//! - [`cursor`]: checked reading of little-endian bytes from untrusted input.
//! - [`histogram`]: lock-free latency and size histograms.
//! - [`memory`]: how much memory a thread has taken.
//! - [`percentile`]: percentiles of values that were kept.
//! - [`random`]: a small seeded generator for tests.
//! - [`stack`]: how much stack a thread has left.
//! - [`suggest`]: the nearest right name for a mistyped one.

pub mod cursor;
pub mod histogram;
pub mod memory;
pub mod percentile;
pub mod random;
pub mod stack;
pub mod suggest;
