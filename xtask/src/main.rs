//! Chores of the project: `cargo xtask help`.

fn main() {}
