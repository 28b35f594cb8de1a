//! See ARCHITECTURE.md.

pub mod ast;
pub mod variables;
