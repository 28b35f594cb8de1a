//! Types: what a column can hold, and what character sets and collations are.
pub mod code;
pub mod collation;
pub use collation::{Charset, Collation};
