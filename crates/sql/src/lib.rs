//! SQL: from the text of a statement to rows for a client and row events for the log.
//!
//! - [`ast`]: what a statement says; [`parser`]: from its text to that, and back.
//! - [`error`]: what it can fail with.
//! - [`value`], [`types`]: what it computes with.
//! - [`variables`]: what SET sets; [`status`]: what SHOW STATUS counts.
//! - [`sink`]: where its results go.
//! - [`session`]: who runs it; [`database`]: what all sessions share.

pub mod ast;
pub mod database;
pub mod error;
pub mod parser;
pub mod session;
pub mod sink;
pub mod status;
pub mod types;
pub mod value;
pub mod variables;

pub use database::{Account, Database, Kill};
pub use error::SqlError;
pub use session::{Connection, Session};
pub use sink::{ColumnMeta, OkInfo, ResultSink};
pub use value::Datum;
