//! SQL: from the text of a statement to rows for a client and row events for the log.
//!
//! A statement's journey:
//!
//! 1. text      A packet's bytes reach [`session::Session::execute`].
//! 2. parse     [`parser`] takes the next statement off the text, as a tree ([`ast`]).
//! 3. dispatch  [`executor::execute`] opens the statement in the session's transaction and hands it
//!    to its module. Before anything is done, [`privilege`] asks whether the account may run it.
//! 4. resolve   Names become tables of the [`catalog`], columns, functions; expressions get types
//!    ([`expression::resolve`]).
//! 5. plan      Names become places, the order of a join and the paths to the rows are chosen
//!    ([`planner`]).
//! 6. run       Rows come as binlog row images and are decoded column by column, when asked
//!    ([`value::image`]). What is changed becomes an image again, and goes to the storage's
//!    transaction, which logs and stores those very bytes.
//! 7. end       The statement keeps its changes or takes them back; outside of a longer transaction
//!    it commits, and waits until the log has made it durable.
//! 8. reply     Rows went to the [`sink`] as they were found; OK or the error follows.
//!
//! Around it: [`explain`] (what was planned, and what it did), [`admin`] (SET, SHOW, KILL and their
//! like), [`routine`] (stored functions: statements within a statement), [`variables`] and
//! [`status`] (what SET sets and SHOW STATUS counts), [`statement_digests`] (what statements of a
//! form cost), [`statement_log`] (general and slow query log), [`system_tables`]
//! (`information_schema` and its like), [`error`] (everything that can be reported to a client),
//! [`types`] and [`value`] (what it all computes with), [`database`] (what the sessions share),
//! [`bounds`] (what a statement may take), [`replicas`] (who follows this server).

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod admin;
pub mod ast;
pub mod bounds;
pub mod catalog;
pub mod error;
pub mod executor;
pub mod explain;
pub mod expression;
pub mod instance;
pub mod parser;
pub mod planner;
pub mod privilege;
pub mod replicas;
pub mod routine;
pub mod session;
pub mod sink;
pub mod stack;
pub mod statement_digests;
pub mod statement_log;
pub mod status;
pub mod system_tables;
pub mod types;
pub mod value;
pub mod variables;

pub use error::SqlError;
pub use instance::{Account, Instance, Kill};
pub use session::{Connection, Session};
pub use sink::{ColumnMeta, OkInfo, ResultSink};
pub use value::Datum;
