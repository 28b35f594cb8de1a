//! The first packets: the server's greeting (protocol 10) and the client's response.
//!
//! ```text
//! greeting                                   response (4.1)
//! 1   protocol version, 10                   4   capabilities
//! nul server version                         4   longest packet the client takes
//! 4   connection id                          1   collation
//! 8   challenge, first part                  23  zeros
//! 1   zero                                   --- a response that ends here with SSL set asks for TLS
//! 2   capabilities, low half                 nul user
//! 1   collation, low byte                    ..  answer to the challenge: lenenc string, or one length byte, or nul
//! 2   status                                 nul database, with CONNECT_WITH_DB
//! 2   capabilities, high half                nul plugin, with PLUGIN_AUTH
//! 1   challenge length with its NUL, 21      ..  attributes, with CONNECT_ATTRS: lenenc length of all,
//! 10  zeros                                      then lenenc strings in pairs
//! 13  challenge, second part, and NUL
//! nul plugin
//! ```

use crate::auth::{Account, Challenge};
use crate::error::ErrorReply;
use crate::flags::{Capabilities, Status};
use stdx::cursor::{Cursor, Truncated};

/// The longest packet that is read before the client has proved who it is.
pub(crate) const HANDSHAKE_PACKET_MAX: usize = 128 * 1024;
/// Names and values of connection attributes together, as in MySQL.
const ATTRIBUTES_MAX: usize = 64 * 1024;
/// The length of a request for TLS: the response's fixed part.
const SSL_REQUEST: usize = 32;
const _: () = assert!(SSL_REQUEST == 4 + 4 + 1 + 23, "capabilities, largest packet, collation, filler");
const _: () = assert!(ATTRIBUTES_MAX < HANDSHAKE_PACKET_MAX);

/// A connection attribute's name and value, in its packet.
pub(crate) type BorrowedAttribute<'a> = (&'a [u8], &'a [u8]);

/// What the server says of itself.
#[derive(Debug, Clone)]
pub struct Greeting<'a> {
    /// `@@version`; clients read their compatibility from its first three numbers.
    pub version: &'a str,
    /// What `CONNECTION_ID()` returns and KILL takes.
    pub connection_id: u32,
    /// Collation id of the server's character set, such as 255.
    pub collation: u16,
    /// The status of a new session.
    pub status: Status,
    /// Whether TLS is offered, where the server has a certificate.
    pub tls: bool,
    /// `local_infile`: may statements ask the client for a file?
    pub local_infile: bool,
    /// `require_secure_transport`: refuse passwords and all else over plain TCP.
    pub require_secure_transport: bool,
}

impl Greeting<'_> {
    pub(crate) fn capabilities(&self, tls: bool) -> Capabilities {
        let mut offered = Capabilities::SERVER;
        if tls {
            offered = offered | Capabilities::SSL;
        }
        if self.local_infile {
            offered = offered | Capabilities::LOCAL_FILES;
        }
        offered
    }

    pub(crate) fn put(&self, out: &mut Vec<u8>, challenge: &Challenge, plugin: &str, offered: Capabilities) {
        let [low_0, low_1, high_0, high_1] = offered.0.to_le_bytes();
        let (first, second) = challenge.split_at(8);
        out.push(10);
        out.extend_from_slice(self.version.as_bytes());
        out.push(0);
        out.extend_from_slice(&self.connection_id.to_le_bytes());
        out.extend_from_slice(first);
        out.extend_from_slice(&[0, low_0, low_1, self.collation as u8]);
        out.extend_from_slice(&self.status.0.to_le_bytes());
        out.extend_from_slice(&[high_0, high_1, challenge.len() as u8 + 1]);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(second);
        out.push(0);
        out.extend_from_slice(plugin.as_bytes());
        out.push(0);
    }
}

/// Who logged in, and how the connection was agreed upon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    /// The user name the client gave.
    pub user: Vec<u8>,
    /// The account that matched it: `CURRENT_USER()`.
    pub account: Account,
    /// The default database that is asked for; whether it exists is the server's to find out.
    pub database: Option<Vec<u8>>,
    /// The client's collation id; `None` if it did not name one.
    pub collation: Option<u16>,
    /// The client's connection attributes, in its order.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// True if `interactive_timeout` rules.
    pub interactive: bool,
}

/// A refusal, for the server's log and counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// The user name the client gave.
    pub user: Vec<u8>,
    /// Where the client is.
    pub host: String,
    /// The error that the client was sent.
    pub reply: ErrorReply,
}

impl Denial {
    pub(crate) fn describe(&self) -> String {
        String::from_utf8_lossy(&self.reply.message).into_owned()
    }
}

/// A handshake response, borrowed from its packet.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Response<'a> {
    pub(crate) capabilities: Capabilities,
    pub(crate) collation: u8,
    /// The rest; absent in a request for TLS.
    pub(crate) login: Option<ResponseLogin<'a>>,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResponseLogin<'a> {
    pub(crate) user: &'a [u8],
    pub(crate) auth_response: &'a [u8],
    pub(crate) database: Option<&'a [u8]>,
    pub(crate) plugin: Option<&'a [u8]>,
    pub(crate) attributes: Vec<BorrowedAttribute<'a>>,
}

impl<'a> Response<'a> {
    /// Takes a response apart, as far as `offered` allows.
    pub(crate) fn parse(packet: &'a [u8], offered: Capabilities) -> Result<Self, Truncated> {
        let mut c = Cursor::new(packet);
        let capabilities = Capabilities(c.u32()?) & offered;
        if !capabilities.has(Capabilities::PROTOCOL_41) {
            return Err(Truncated);
        }
        let _client_packet_max = c.u32()?;
        let collation = c.u8()?;
        c.take(23)?;
        let ssl_request = packet.len() == SSL_REQUEST && capabilities.has(Capabilities::SSL);
        let login = if ssl_request { None } else { Some(ResponseLogin::read(&mut c, capabilities)?) };
        Ok(Self { capabilities, collation, login })
    }
}

impl<'a> ResponseLogin<'a> {
    fn read(c: &mut Cursor<'a>, capabilities: Capabilities) -> Result<Self, Truncated> {
        let user = c.take_nul()?;
        let auth_response = if capabilities.has(Capabilities::PLUGIN_AUTH_LENENC) {
            c.lenenc_bytes()?
        } else if capabilities.has(Capabilities::SECURE_CONNECTION) {
            c.u8().and_then(|n| c.take(n.into()))?
        } else {
            c.take_nul()?
        };
        let mut database = None;
        if capabilities.has(Capabilities::CONNECT_WITH_DB) {
            database = Some(take_nul_or_all(c)).filter(|name| !name.is_empty());
        }
        let mut plugin = None;
        if capabilities.has(Capabilities::PLUGIN_AUTH) {
            plugin = Some(take_nul_or_all(c));
        }
        let mut attributes = Vec::new();
        if capabilities.has(Capabilities::CONNECT_ATTRS) && !c.is_empty() {
            attributes = read_connect_attributes(c)?;
        }
        Ok(Self { user, auth_response, database, plugin, attributes })
    }
}

/// Bytes up to a NUL; some clients omit it at the end of a packet.
pub(crate) fn take_nul_or_all<'a>(c: &mut Cursor<'a>) -> &'a [u8] {
    c.take_nul().unwrap_or_else(|Truncated| c.take_remaining())
}

/// Names and values after the length of them all.
pub(crate) fn read_connect_attributes<'a>(
    c: &mut Cursor<'a>,
) -> Result<Vec<BorrowedAttribute<'a>>, Truncated> {
    let all = c.lenenc_bytes()?;
    if all.len() > ATTRIBUTES_MAX {
        return Err(Truncated);
    }
    let mut c = Cursor::new(all);
    let mut attributes = Vec::new();
    while !c.is_empty() {
        attributes.push((c.lenenc_bytes()?, c.lenenc_bytes()?));
    }
    Ok(attributes)
}

/// Owned copies of borrowed attributes.
pub(crate) fn to_owned_attributes(attributes: &[BorrowedAttribute<'_>]) -> Vec<(Vec<u8>, Vec<u8>)> {
    attributes.iter().map(|(name, value)| (name.to_vec(), value.to_vec())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(capabilities: Capabilities, tail: &[u8]) -> Vec<u8> {
        let mut packet = capabilities.0.to_le_bytes().to_vec();
        packet.extend_from_slice(&[0, 0, 0, 1, 45]);
        packet.extend_from_slice(&[0; 23]);
        packet.extend_from_slice(tail);
        packet
    }

    const OFFERED: Capabilities = Capabilities(Capabilities::SERVER.0 | Capabilities::SSL.0);

    #[test]
    fn every_field() {
        let packet = response(OFFERED, b"ann\0\x03abcdb\0mysql_native_password\0\x09\x03key\x04va=e");
        let parsed = Response::parse(&packet, OFFERED).unwrap();
        assert_eq!(parsed.collation, 45);
        let login = ResponseLogin {
            user: b"ann",
            auth_response: b"abc",
            database: Some(b"db"),
            plugin: Some(b"mysql_native_password"),
            attributes: vec![(b"key", b"va=e")],
        };
        assert_eq!(parsed.login, Some(login));
    }

    #[test]
    fn the_last_string_may_lack_its_nul() {
        let few = Capabilities::PROTOCOL_41 | Capabilities::SECURE_CONNECTION | Capabilities::CONNECT_WITH_DB;
        let packet = response(few, b"ann\0\x00db");
        let login = Response::parse(&packet, OFFERED).unwrap().login.unwrap();
        assert_eq!(
            (login.user, login.auth_response, login.database),
            (&b"ann"[..], &b""[..], Some(&b"db"[..]))
        );
        assert_eq!(login.plugin, None);
    }

    #[test]
    fn a_request_for_tls_only_where_it_is_offered() {
        let packet = response(OFFERED, b"");
        assert_eq!(Response::parse(&packet, OFFERED).unwrap().login, None);
        assert_eq!(Response::parse(&packet, Capabilities::SERVER), Err(Truncated));
    }

    #[test]
    fn older_than_4_1_is_not_understood() {
        let packet = response(OFFERED.without(Capabilities::PROTOCOL_41), b"ann\0\0");
        assert_eq!(Response::parse(&packet, OFFERED), Err(Truncated));
    }

    #[test]
    fn cut_anywhere_it_does_not_panic() {
        let packet = response(OFFERED, b"ann\0\x03abcdb\0mysql_native_password\0\x09\x03key\x04va=e");
        for cut in 0..packet.len() {
            let _ = Response::parse(&packet[..cut], OFFERED);
        }
    }

    proptest::proptest! {
        #[test]
        fn random_responses_are_parsed_or_refused(
            capabilities in proptest::prelude::any::<u32>(),
            tail in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..200),
        ) {
            let _ = Response::parse(&response(Capabilities(capabilities), &tail), OFFERED);
            let _ = Response::parse(&tail, OFFERED);
        }
    }
}
