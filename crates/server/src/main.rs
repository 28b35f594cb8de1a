//! The binary `duramen`.

fn main() {}
