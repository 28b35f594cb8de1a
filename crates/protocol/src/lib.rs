//! The MySQL client/server protocol as version 8.4 speaks it: packets, authentication, TLS,
//! commands and replies.
//!
//! No SQL and no sessions live here. `server` owns a [`Connection`] per thread and drives it:
//!
//! 1. accept   [`Connection::new`] over a TCP or Unix [`Socket`].
//! 2. greet    [`Connection::handshake`]: greeting, TLS if the client asks, authentication by an
//!    [`Authenticator`] against the server's [`AccountSource`]. The final OK is the server's to
//!    send, which may still refuse.
//! 3. command  [`Connection::read_command`] into a buffer of the caller's, [`Command::parse`] on
//!    it.
//! 4. reply    [`Connection::write_ok`], [`Connection::write_error`], or
//!    [`Connection::write_columns`], rows value by value, [`Connection::write_eof`]; all of it is
//!    only buffered.
//! 5. flush    [`Connection::flush`] sends the reply in one write. Back to 3.
//!
//! (P1) A command that arrives in one piece costs one read, and its reply one write; nothing else
//!      touches the kernel.
//! (P2) No bytes of a client make this crate panic, and memory is taken for bytes that arrived,
//!      never for a length that was only announced. What a packet may hold is bounded by
//!      `max_allowed_packet`, before authentication by [`handshake::HANDSHAKE_PACKET_MAX`].
//! (P3) The two ends count packets; a number out of sequence ends the connection.
//! (P4) How a wrong user name is answered differs neither in messages nor in work from how a wrong
//!      password is. The switch to `mysql_native_password` does not reveal an account: names
//!      without one get it too, always the same names, as many in proportion as there are such
//!      accounts.
//! (P5) A cleartext password is sent only inside TLS, over a Unix socket, or encrypted with the
//!      server's RSA key.
//! (P6) What a client sent before TLS began is handed to TLS or refused, never taken for a command.
//!
//! Reading order, from the wire upwards: [`socket`] (time limits), `channel` (plain or TLS),
//! [`compression`], `packet` (framing), [`handshake`], [`auth`], [`identity`], [`command`],
//! [`reply`], [`result_set`], [`binary`], [`statement`], and [`client`], the other end.
//!
//! Deliberately absent: the protocol before 4.1 (refused with 1043), client certificates.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod attributes;
mod auth;
pub mod binary;
mod channel;
pub mod client;
mod command;
pub mod compression;
mod connection;
mod error;
mod flags;
mod handshake;
pub mod identity;
mod packet;
mod reply;
mod result_set;
mod socket;
pub mod statement;

pub use attributes::Attribute;
pub use auth::{Account, AccountSource, Authenticator, Decoys, Plugin};
pub use channel::TlsSession;
pub use command::{BinlogDump, ChangeUser, Command, RegisterReplica};
pub use connection::{Connection, Limits};
pub use error::{ErrorReply, HandshakeError, ReadError};
pub use flags::{Capabilities, Status};
pub use handshake::{Greeting, Login};
pub use identity::Identity;
pub use reply::{DeferredReply, OkReply, SessionChange};
pub use result_set::{ColumnDefinition, RowWriter, column_flags};
pub use socket::{Socket, Timeouts};
