//! Accounts: what the catalog keeps of each, which one a client gets, and the statements that make
//! one again.

use std::net::IpAddr;
use std::sync::Arc;

use stdx::cursor::{Cursor, Truncated, put_lenenc_bytes};

use super::show::{quote, quote_text};
use crate::like;
use crate::privilege::Grants;
use datum::types::Collation;

/// An account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserDef {
    /// Its name; empty for the anonymous user.
    pub user: String,
    /// The hosts it may come from: a name, an address, a pattern, an address with a netmask.
    pub host: String,
    /// The authentication plugin.
    pub plugin: String,
    /// What the plugin keeps of the password.
    pub auth_string: Vec<u8>,
    /// What else was said of it.
    pub options: AccountOptions,
    /// Its privileges.
    pub(crate) grants: Arc<Grants>,
}

/// What can be said of an account besides its password and its privileges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AccountOptions {
    pub(crate) locked: bool,
    /// REQUIRE SSL.
    pub require_tls: bool,
    /// PASSWORD EXPIRE: the password has to be changed before anything else.
    pub(crate) expired: bool,
    /// PASSWORD EXPIRE NEVER; otherwise it is up to `default_password_lifetime`, which means never
    /// too.
    pub(crate) expires_never: bool,
    /// MAX_USER_CONNECTIONS; 0 is no limit.
    pub(crate) connections_max: u32,
    /// A JSON object: ATTRIBUTE, with COMMENT as its member `comment`.
    pub(crate) attribute: Option<String>,
}

const LOCKED: u8 = 1;
/// Of records of the first version, which have no privileges: the account may do everything.
const ADMINISTRATOR: u8 = 2;
/// The record is of the second version.
const WITH_GRANTS: u8 = 4;
const REQUIRE_TLS: u8 = 8;
const EXPIRED: u8 = 16;
const EXPIRES_NEVER: u8 = 32;
const HAS_ATTRIBUTE: u8 = 64;

/// The name of an account, whose host is a pattern, or of a client at the host it comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserAtHost {
    /// Empty for the anonymous user.
    pub user: String,
    /// `localhost`, an address, `10.%`.
    pub host: String,
}

impl UserAtHost {
    /// Of its two parts.
    pub fn new(user: impl Into<String>, host: impl Into<String>) -> Self {
        Self { user: user.into(), host: host.into() }
    }

    /// `'user'@'host'`, as statements have it.
    pub fn quoted(&self) -> String {
        format!("{}@{}", quote_text(&self.user), quote_text(&self.host))
    }
}

/// `user@host`
impl std::fmt::Display for UserAtHost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}@{}", self.user, self.host)
    }
}

impl UserDef {
    /// Flags u8, plugin, authentication string; then, unless the flags say that the record is of
    /// the first version: grants ([`Grants::encode`]), MAX_USER_CONNECTIONS u32, attribute,
    /// and what is granted on routines ([`Grants::encode_routines`]).
    pub fn encode(&self) -> Vec<u8> {
        let o = &self.options;
        let flag = |bit, on: bool| if on { bit } else { 0 };
        let mut out = vec![
            flag(LOCKED, o.locked)
                | WITH_GRANTS
                | flag(REQUIRE_TLS, o.require_tls)
                | flag(EXPIRED, o.expired)
                | flag(EXPIRES_NEVER, o.expires_never)
                | flag(HAS_ATTRIBUTE, o.attribute.is_some()),
        ];
        put_lenenc_bytes(&mut out, self.plugin.as_bytes());
        put_lenenc_bytes(&mut out, &self.auth_string);
        self.grants.encode(&mut out);
        out.extend_from_slice(&o.connections_max.to_le_bytes());
        put_lenenc_bytes(&mut out, o.attribute.as_deref().unwrap_or_default().as_bytes());
        self.grants.encode_routines(&mut out);
        out
    }

    /// What [`Self::encode`] wrote, now or in the first version.
    pub(crate) fn decode(user: &str, host: &str, c: &mut Cursor<'_>) -> Result<Self, Truncated> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| Truncated);
        let flags = c.u8()?;
        let has = |bit| flags & bit != 0;
        let plugin = text(c.lenenc_bytes()?)?;
        let auth_string = c.lenenc_bytes()?.to_vec();
        let mut options = AccountOptions { locked: has(LOCKED), ..AccountOptions::default() };
        let mut grants = match (has(WITH_GRANTS), has(ADMINISTRATOR)) {
            (true, _) => Grants::decode(c)?,
            (false, true) => Grants::everything(),
            (false, false) => Grants::default(),
        };
        if has(WITH_GRANTS) {
            options.connections_max = c.u32()?;
            let attribute = text(c.lenenc_bytes()?)?;
            options.attribute = has(HAS_ATTRIBUTE).then_some(attribute);
            options.require_tls = has(REQUIRE_TLS);
            options.expired = has(EXPIRED);
            options.expires_never = has(EXPIRES_NEVER);
            grants.decode_routines(c)?;
        }
        let (user, host) = (user.to_owned(), host.to_owned());
        Ok(UserDef { user, host, plugin, auth_string, options, grants: Arc::new(grants) })
    }

    /// Name and host.
    pub fn key(&self) -> UserAtHost {
        UserAtHost::new(&*self.user, &*self.host)
    }

    /// `'user'@'host' IDENTIFIED WITH 'plugin' AS 'hash'`, as CREATE and ALTER USER have it in the
    /// log.
    pub(crate) fn identified(&self) -> String {
        format!("{}@{} {}", quote_text(&self.user), quote_text(&self.host), self.authentication())
    }

    fn authentication(&self) -> String {
        let plugin = quote_text(&self.plugin);
        match self.auth_string.is_empty() {
            true => format!("IDENTIFIED WITH {plugin}"),
            false => {
                let hash = String::from_utf8_lossy(&self.auth_string);
                format!("IDENTIFIED WITH {plugin} AS {}", quote_text(&hash))
            }
        }
    }

    /// The statement that SHOW CREATE USER shows.
    pub fn show(&self) -> String {
        let o = &self.options;
        let mut out =
            format!("CREATE USER {}@{} {}", quote(&self.user), quote(&self.host), self.authentication());
        out += if o.require_tls { " REQUIRE SSL" } else { " REQUIRE NONE" };
        if o.connections_max > 0 {
            out += &format!(" WITH MAX_USER_CONNECTIONS {}", o.connections_max);
        }
        out += match (o.expired, o.expires_never) {
            (true, _) => " PASSWORD EXPIRE",
            (false, true) => " PASSWORD EXPIRE NEVER",
            (false, false) => " PASSWORD EXPIRE DEFAULT",
        };
        out += if o.locked { " ACCOUNT LOCK" } else { " ACCOUNT UNLOCK" };
        out += " PASSWORD HISTORY DEFAULT PASSWORD REUSE INTERVAL DEFAULT PASSWORD REQUIRE CURRENT DEFAULT";
        if let Some(attribute) = &o.attribute {
            out += &format!(" ATTRIBUTE {}", quote_text(attribute));
        }
        out
    }

    /// True if a client of this name and host may be this account.
    pub(crate) fn fits(&self, user: &str, host: &str) -> bool {
        (self.user == user || self.user.is_empty()) && host_matches(&self.host, host)
    }

    /// How exactly it names its clients; of those that fit, the greatest is taken: a host without
    /// wildcards before one with a netmask, before patterns by the place of their first wildcard;
    /// then a name before the anonymous user.
    pub(crate) fn exactness(&self) -> (u8, usize, bool) {
        let (kind, more) = match self.host.find(['%', '_']) {
            Some(wildcard) => (0, wildcard),
            None if self.host.is_empty() => (0, 0),
            None => match self.host.split_once('/') {
                Some((_, mask)) => (1, mask_bits(mask).unwrap_or(0) as usize),
                None => (2, 0),
            },
        };
        (kind, more, !self.user.is_empty())
    }
}

/// True if a client from `host` fits a host pattern. A client from this machine is `localhost`,
/// whatever way it came.
fn host_matches(pattern: &str, host: &str) -> bool {
    let loopback = |h: &str| matches!(h, "localhost" | "127.0.0.1" | "::1");
    if pattern.is_empty() || (loopback(pattern) && loopback(host)) {
        return true;
    }
    if let Some((network, mask)) = pattern.split_once('/') {
        return in_network(network, mask, host);
    }
    like::name_matches(host.as_bytes(), pattern.as_bytes(), None, Collation(33))
}

/// `192.0.2.0/255.255.255.0`, or the number of bits after the slash.
fn in_network(network: &str, mask: &str, host: &str) -> bool {
    let (Ok(IpAddr::V4(network)), Ok(IpAddr::V4(host)), Some(bits)) =
        (network.parse(), host.parse(), mask_bits(mask))
    else {
        return false;
    };
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    u32::from(host) & mask == u32::from(network)
}

/// The number of ones that a netmask begins with; `None` if it is none.
fn mask_bits(mask: &str) -> Option<u32> {
    if let Ok(bits) = mask.parse::<u32>() {
        return (bits <= 32).then_some(bits);
    }
    let IpAddr::V4(mask) = mask.parse().ok()? else { return None };
    let mask = u32::from(mask);
    (mask.leading_ones() + mask.trailing_zeros() >= 32).then(|| mask.leading_ones())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(user: &str, host: &str) -> UserDef {
        UserDef {
            user: user.to_owned(),
            host: host.to_owned(),
            plugin: "caching_sha2_password".to_owned(),
            auth_string: b"x".to_vec(),
            options: AccountOptions::default(),
            grants: Arc::default(),
        }
    }

    #[test]
    fn hosts_match_by_name_pattern_and_netmask() {
        let cases = [
            ("%", "10.1.2.3", true),
            ("10.%", "10.1.2.3", true),
            ("10._.2.3", "10.1.2.3", true),
            ("10.2.%", "10.1.2.3", false),
            ("localhost", "127.0.0.1", true),
            ("127.0.0.1", "localhost", true),
            ("10.1.2.0/255.255.255.0", "10.1.2.3", true),
            ("10.1.2.0/24", "10.1.3.3", false),
            ("0.0.0.0/0", "10.1.3.3", true),
            ("10.1.2.3/255.255.255.0", "10.1.2.3", false), // the address has bits beyond the mask
            ("Db.Example.COM", "db.example.com", true),
        ];
        for (pattern, host, expected) in cases {
            assert_eq!(host_matches(pattern, host), expected, "{pattern} {host}");
        }
    }

    #[test]
    fn the_most_exact_host_comes_first_then_the_name() {
        let order = [
            ("a", "10.1.2.3"),
            ("", "10.1.2.3"),
            ("a", "10.0.0.0/8"),
            ("a", "10.1.%"),
            ("a", "10.%"),
            ("a", "%"),
        ];
        let keys: Vec<_> = order.iter().map(|(u, h)| account(u, h).exactness()).collect();
        assert!(keys.windows(2).all(|pair| pair[0] > pair[1]), "{keys:?}");
    }

    #[test]
    fn records_of_both_versions_are_read() {
        let mut now = account("a", "%");
        now.options = AccountOptions {
            locked: true,
            require_tls: true,
            expired: true,
            expires_never: false,
            connections_max: 7,
            attribute: Some("{\"comment\": \"x\"}".to_owned()),
        };
        now.grants = Arc::new(Grants::everything());
        assert_eq!(UserDef::decode("a", "%", &mut Cursor::new(&now.encode())).unwrap(), now);
        let mut old = vec![ADMINISTRATOR | LOCKED];
        put_lenenc_bytes(&mut old, b"mysql_native_password");
        put_lenenc_bytes(&mut old, b"*AA");
        let read = UserDef::decode("a", "%", &mut Cursor::new(&old)).unwrap();
        assert!(read.options.locked && read.grants.is_administrator() && read.auth_string == b"*AA");
        old[0] = 0;
        let read = UserDef::decode("a", "%", &mut Cursor::new(&old)).unwrap();
        assert_eq!(*read.grants, Grants::default());
    }
}
