//! What SQL computes with.
//!
//! - [`types`]: types of columns and expressions, character sets, collations.
//! - [`value`]: values ([`Datum`]), numbers, times, JSON; conversions between them, and into
//!   columns ([`value::store`]); row images of the log, read and written ([`value::image`]).
//! - [`error`]: every error and warning that a client can get, with MySQL's number, SQLSTATE and
//!   text.
//! - [`sink`]: where the rows and the OK of a statement go.
//! - [`bounds`], [`stack`]: what a statement may take, of time, memory and stack.
//!
//! Nothing here knows tables, expressions or sessions.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod bounds;
pub mod error;
pub mod sink;
pub mod stack;
pub mod types;
pub mod value;

pub use error::SqlError;
pub use sink::{ColumnMeta, OkInfo, ResultSink};
pub use value::Datum;
