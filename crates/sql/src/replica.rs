//! This server as a replica: the sources that it follows, a channel for each.
//!
//! 1. configure  CHANGE REPLICATION SOURCE says where a channel's source is and how to log in
//!    ([`source`]), CHANGE REPLICATION FILTER what is left out ([`filters`]); a file of the data
//!    directory keeps both ([`file`]).
//! 2. start      START REPLICA starts the channel's two threads ([`channel`]), which belong to
//!    `server`: the receiver reads the source's log into a bounded queue in memory, the applier
//!    takes events off it.
//! 3. apply      The applier does each event group in a session of its own, and hands it to the log
//!    in the source's order without waiting for the flush. There is no relay log: what was received
//!    and not committed is fetched again.
//! 4. position   What this server has of a source is what its own log holds: by `gtid_executed`,
//!    or by the source's coordinates, which are in the log with each transaction.
//! 5. move       A source that is lost is replaced by another of the channel's list, if that is
//!    wanted ([`failover`]).
//! 6. show       SHOW REPLICA STATUS and its like read what the threads tell
//!    ([`channel::Progress`]).

pub mod applier;
pub mod channel;
pub mod channels;
pub mod coordinates;
mod error;
pub mod failover;
pub mod file;
pub mod filters;
mod pending;
mod received;
pub mod source;

pub use applier::dialect::with_expression_defaults;
pub use applier::{Applied, Applier};
pub use channel::{Channel, ReplicaThread, SourceThreads, ThreadError};
pub use channels::Channels;
pub use error::ApplyError;
pub use filters::{Filter, FilterOption, FilterRule, Filters};
pub use received::ReceivedEvent;
pub use source::{AnonymousGtids, SourceConfig};
