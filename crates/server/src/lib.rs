//! The server: options, sessions, the life of the process. See ARCHITECTURE.md for how the crates
//! meet.
//!
//! Reading order: [`options`] (what it starts with), [`server`] (start and stop), `listener`,
//! [`session`] (a connection from accept to end), [`dispatch`] (its commands), `statements`
//! (prepared ones), [`results`]. Beside it: [`probe`], [`log_tool`], [`repair`], [`backup`].

mod accounts;
pub mod backup;
mod charts;
pub mod check_schema;
pub mod compare;
mod connections;
pub mod database;
pub mod datadir;
mod deferred_reply;
mod dispatch;
mod dump;
mod encryption;
mod error_log;
mod event_scheduler;
pub mod failover;
mod init_file;
mod listener;
pub mod log_tool;
pub mod manual;
mod metrics;
mod notify;
pub mod options;
pub mod probe;
mod progress;
mod remote;
pub mod repair;
mod replica;
pub mod replicate;
mod resources;
mod results;
mod root_password;
mod script;
mod secret_file;
mod semi_sync;
pub mod server;
mod session;
mod socket;
mod startup_session;
mod statements;
mod status;
mod stop;
mod threads;
mod tool;
mod unsupported;
