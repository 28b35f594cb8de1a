//! What can go wrong below SQL, and the few errors that this layer itself reports to clients.

use crate::handshake::Denial;
use std::io::{self, ErrorKind};
use stdx::cursor::Truncated;
use thiserror::Error;

/// The content of an ERR packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReply {
    /// MySQL's error number.
    pub number: u16,
    /// SQLSTATE, five characters.
    pub sqlstate: [u8; 5],
    /// The text, in the connection's character set.
    pub message: Vec<u8>,
}

impl ErrorReply {
    /// An error with its number, SQLSTATE and text.
    pub fn new(number: u16, sqlstate: &[u8; 5], message: impl Into<Vec<u8>>) -> Self {
        Self { number, sqlstate: *sqlstate, message: message.into() }
    }

    /// 1040: every connection slot is taken. Sent instead of a greeting.
    pub fn too_many_connections() -> Self {
        Self::new(1040, b"08004", "Too many connections")
    }

    /// 1043: the handshake was not understood.
    pub(crate) fn bad_handshake() -> Self {
        Self::new(1043, b"08S01", "Bad handshake")
    }

    /// 1045: wrong user, host or password.
    pub(crate) fn access_denied(user: &[u8], host: &str, with_password: bool) -> Self {
        let mut message = b"Access denied for user ".to_vec();
        put_account(&mut message, user, host);
        message.extend_from_slice(if with_password {
            b" (using password: YES)"
        } else {
            b" (using password: NO)"
        });
        Self::new(1045, b"28000", message)
    }

    /// 1047: a command byte without a meaning, or one this server never answers.
    pub fn unknown_command() -> Self {
        Self::new(1047, b"08S01", "Unknown command")
    }

    /// 1153: longer than `max_allowed_packet`.
    pub(crate) fn packet_too_large() -> Self {
        Self::new(1153, b"08S01", "Got a packet bigger than 'max_allowed_packet' bytes")
    }

    /// 1156: the packet's number is not the next one.
    pub(crate) fn packets_out_of_order() -> Self {
        Self::new(1156, b"08S01", "Got packets out of order")
    }

    /// 1159: the client fell silent inside a packet.
    pub(crate) fn read_timeout() -> Self {
        Self::new(1159, b"08S01", "Got timeout reading communication packets")
    }

    /// 1210: what was given to this does not fit.
    pub fn wrong_arguments(to: &str) -> Self {
        Self::new(1210, b"HY000", format!("Incorrect arguments to {to}"))
    }

    /// 1243: no prepared statement has this id.
    pub fn unknown_statement(id: u32, given_to: &str) -> Self {
        Self::new(1243, b"HY000", format!("Unknown prepared statement handler ({id}) given to {given_to}"))
    }

    /// 1421: rows are asked for, and no cursor is open.
    pub fn no_open_cursor(id: u32) -> Self {
        Self::new(1421, b"HY000", format!("The statement ({id}) has no open cursor."))
    }

    /// 1105: long data of a parameter that is beyond `max_allowed_packet`.
    pub fn long_data_too_large() -> Self {
        let text = "Parameter of prepared statement which is set through mysql_send_long_data() is longer than \
                    'max_allowed_packet' bytes";
        Self::new(1105, b"HY000", text)
    }

    /// 1524: the account's plugin does not exist here.
    pub(crate) fn plugin_not_loaded(plugin: &[u8]) -> Self {
        Self::new(1524, b"HY000", [b"Plugin '", plugin, b"' is not loaded"].concat())
    }

    /// 1835: a command's fields end too early or contradict each other.
    pub fn malformed_packet() -> Self {
        Self::new(1835, b"HY000", "Malformed communication packet")
    }

    /// 3118: the account is locked.
    pub(crate) fn account_locked(user: &[u8], host: &str) -> Self {
        let mut message = b"Access denied for user ".to_vec();
        put_account(&mut message, user, host);
        message.extend_from_slice(b". Account is locked.");
        Self::new(3118, b"HY000", message)
    }

    /// 3159: plain TCP while `require_secure_transport` is on.
    pub(crate) fn secure_transport_required() -> Self {
        let text = "Connections using insecure transport are prohibited while --require_secure_transport=ON.";
        Self::new(3159, b"HY000", text)
    }

    /// 4031: no command for `wait_timeout`; said before the connection is closed.
    pub(crate) fn idle_timeout() -> Self {
        let text = "The client was disconnected by the server because of inactivity. \
                    See wait_timeout and interactive_timeout for configuring this behavior.";
        Self::new(4031, b"HY000", text)
    }
}

fn put_account(out: &mut Vec<u8>, user: &[u8], host: &str) {
    out.push(b'\'');
    out.extend_from_slice(user);
    out.extend_from_slice(b"'@'");
    out.extend_from_slice(host.as_bytes());
    out.push(b'\'');
}

/// Why no packet could be read. Every kind ends the connection.
#[derive(Debug, Error)]
pub enum ReadError {
    /// The peer closed the connection between two packets.
    #[error("the peer closed the connection")]
    Closed,
    /// The connection broke: inside a packet, or by a reset.
    #[error("the connection was aborted")]
    Aborted,
    /// Nothing arrived for the time allowed between two commands.
    #[error("no command within the idle timeout")]
    IdleTimeout,
    /// A packet, or the handshake, was not completed in the time allowed.
    #[error("timeout inside a packet")]
    Timeout,
    /// Longer than `max_allowed_packet`; its bytes were read and thrown away.
    #[error("packet larger than max_allowed_packet")]
    TooLarge,
    /// Not the next sequence number (P3).
    #[error("packet number {found} instead of {expected}")]
    OutOfOrder {
        /// The number that was due.
        expected: u8,
        /// The number that came.
        found: u8,
    },
    /// Any other failure of the socket or of TLS.
    #[error(transparent)]
    Io(io::Error),
}

impl ReadError {
    /// The error that the client is sent before the connection is closed, if it can read one.
    pub fn reply(&self) -> Option<ErrorReply> {
        match self {
            Self::Closed | Self::Aborted | Self::Io(_) => None,
            Self::IdleTimeout => Some(ErrorReply::idle_timeout()),
            Self::Timeout => Some(ErrorReply::read_timeout()),
            Self::TooLarge => Some(ErrorReply::packet_too_large()),
            Self::OutOfOrder { .. } => Some(ErrorReply::packets_out_of_order()),
        }
    }
}

impl From<io::Error> for ReadError {
    /// Sorts the errors of a read inside a packet.
    fn from(e: io::Error) -> Self {
        match e.kind() {
            ErrorKind::TimedOut => Self::Timeout,
            ErrorKind::UnexpectedEof
            | ErrorKind::ConnectionReset
            | ErrorKind::ConnectionAborted
            | ErrorKind::BrokenPipe => Self::Aborted,
            _ => Self::Io(e),
        }
    }
}

/// Why a connection did not get as far as its first command. The error was sent already, if it
/// could be.
#[derive(Debug, Error)]
pub enum HandshakeError {
    /// The connection failed.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The reply could not be sent.
    #[error("sending failed: {0}")]
    Write(#[from] io::Error),
    /// The client's bytes made no sense.
    #[error("bad handshake")]
    Malformed,
    /// Understood, and refused.
    #[error("{}", .0.describe())]
    Denied(Box<Denial>),
}

impl From<Truncated> for HandshakeError {
    fn from(_: Truncated) -> Self {
        Self::Malformed
    }
}
