//! A source that changes: planned, and lost. Filled in below.
