//! The server: options, sessions, the life of the process. See ARCHITECTURE.md for how the crates
//! meet.
//!
//! Reading order: [`options`] (what it starts with), [`server`] (start and stop), `listener`,
//! [`session`] (a connection from accept to end), [`dispatch`] (its commands), `statements`
//! (prepared ones), [`results`]. Beside it: [`probe`], [`log_tool`], [`repair`].

pub mod accounts;
mod charts;
pub mod connections;
pub mod database;
pub mod datadir;
mod deferred_reply;
pub mod dispatch;
mod dump;
mod error_log;
pub mod listener;
pub mod log_tool;
mod metrics;
pub mod options;
pub mod probe;
pub mod repair;
mod resources;
pub mod results;
pub mod semi_sync;
pub mod server;
pub mod session;
mod socket;
mod statements;
pub mod status;
pub mod stop;
pub mod threads;
pub mod unsupported;
