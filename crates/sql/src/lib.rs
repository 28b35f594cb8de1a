//! See ARCHITECTURE.md.

pub mod ast;
