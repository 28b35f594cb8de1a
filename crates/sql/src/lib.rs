//! SQL: from the text of a statement to rows for a client and row events for the log.
//!
//! A statement's journey:
//!
//! 1. text      A packet's bytes reach [`session::Session::execute`].
//! 2. parse     [`syntax::parser`] takes the next statement off the text, as a tree
//!    ([`syntax::ast`]); [`client_text`] has brought it to UTF-8.
//! 3. dispatch  [`executor::execute`] opens the statement in the session's transaction and hands it
//!    to its module. Before anything is done, [`privilege`] asks whether the account may run it.
//! 4. resolve   Names become tables of the [`catalog`], columns, functions; expressions get types
//!    ([`expression::resolve`]).
//! 5. plan      Names become places, the order of a join and the paths to the rows are chosen
//!    ([`planner`]).
//! 6. run       Rows come as binlog row images and are decoded column by column, when asked
//!    ([`datum::value::image`]). What is changed becomes an image again, and goes to the storage's
//!    transaction, which logs and stores those very bytes.
//! 7. end       The statement keeps its changes or takes them back; outside of a longer transaction
//!    it commits, and waits until the log has made it durable.
//! 8. reply     Rows went to the [`datum::sink`] as they were found; OK or the error follows.
//!
//! Around it: [`explain`] (what was planned, and what it did), [`admin`] (SET, SHOW, KILL and their
//! like), [`routine`] (stored functions: statements within a statement), [`variables`] and
//! [`status`] (what SET sets and SHOW STATUS counts), [`statement_digests`] (what statements of a
//! form cost), [`statement_events`] (those that ran last), [`index_use`] (which indexes are used),
//! [`statement_log`] (general and slow query log), [`system_tables`] (`information_schema` and its
//! like; [`system_schemas`]: their names), [`listing`] (what SHOW shows, for these as well),
//! [`instance`] (what the sessions share), [`replicas`] (who follows this server), [`replica`]
//! (whom it follows), [`monitor`] (who waits, what is slow, who lags, as the status page lists it).
//! Below: [`syntax`] (texts and trees) and [`datum`] (types, values, errors, and what a statement
//! may take).
//!
//! Modules import downwards in the order of the journey: `session`, `executor`, `planner`,
//! `expression`, `catalog`, `variables`. These arrows run back up:
//!
//! - all to `session`: [`session`]'s `Context` is what a running statement knows, and is handed to
//!   whatever runs.
//! - `expression` to `planner` and `executor`: a subquery is an expression that has a plan, and
//!   runs it.
//! - `expression`, `planner` to [`routine`]: a stored function is called within an expression.
//! - `catalog` to `expression`, [`routine`], `executor`, [`privilege`] and `instance`: definitions
//!   hold resolved expressions and compiled bodies, replay builds trees that are missing, and
//!   accounts have privileges.
//! - `executor` to [`admin`] and [`explain`], which run what it dispatches, and `explain` to
//!   `executor`: EXPLAIN ANALYZE runs the query.
//! - `session` to [`admin`]: the hint SET_VAR is a SET for one statement.
//! - `planner` and `catalog` to [`system_tables`], and these to the planner's `Provider`: FROM and
//!   CREATE TABLE find them by name.
//!
//! Nothing below [`admin`] imports it but those two: what SHOW and system tables both say is in
//! [`listing`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admin;
pub mod catalog;
mod client_text;
mod events;
mod executor;
mod explain;
mod expression;
mod index_use;
mod instance;
mod like;
mod listing;
mod locale;
pub mod monitor;
mod output;
mod planner;
mod privilege;
pub mod replica;
mod replicas;
mod routine;
mod session;
mod spill;
mod statement_class;
mod statement_digests;
mod statement_events;
mod statement_log;
pub mod status;
mod system_schemas;
mod system_tables;
pub mod variables;

pub use admin::binary_log::purge_expired_log_files;
pub use catalog::UserAtHost;
pub use client_text::to_utf8_lossy;
pub use datum::{ColumnMeta, Datum, OkInfo, ResultSink, SqlError};
pub use events::{DueEvent, EventQueue, runs_events};
pub use expression::functions::{Function, all_functions};
pub use instance::{Account, Instance, Kill, OpenError, OpenOptions};
pub use listing::variables::TLS_TICKET_SECONDS;
pub use replicas::Replica;
pub use session::{Connection, Parameter, PendingReply, Session, TlsSession};
pub use spill::queue::RecordQueue;
pub use statement_log::may_be_statement_log;
