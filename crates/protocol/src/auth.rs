//! Authentication: the exchange between a handshake response and OK or error 1045.
//!
//! 1. find      the account for user and host; a name without one gets a decoy, whose password no
//!    one knows (P4).
//! 2. switch    if the client answered for another plugin than the account's, a new challenge for
//!    the right one.
//! 3. prove     by the plugin: [`native`] in one answer; [`caching_sha2`] in one answer when this
//!    server has seen the password before, else with the password itself, over a secure channel
//!    (P5).
//! 4. judge     password wrong, account locked, TLS missing.
//!
//! The public part of an account lives in the server's catalog, and is read through
//! [`AccountSource`].

pub(crate) mod caching_sha2;
mod crypt;
pub(crate) mod native;

use crate::error::{ErrorReply, HandshakeError};
use crate::handshake::Denial;
use crate::identity::Identity;
use crate::packet::Packets;
use crate::socket::Wait;
use caching_sha2::DigestCache;
use crypt::sha256;
use env::Env;
use std::borrow::Cow;
use std::sync::Arc;

/// The random bytes that an answer is computed over.
pub(crate) type Challenge = [u8; 20];

/// How an account proves itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plugin {
    /// `caching_sha2_password`, the default.
    CachingSha2,
    /// `mysql_native_password`.
    Native,
    /// Anything else: logging in fails with 1524.
    Other(String),
}

impl Plugin {
    /// MySQL's name for it.
    pub fn name(&self) -> &str {
        match self {
            Self::CachingSha2 => "caching_sha2_password",
            Self::Native => "mysql_native_password",
            Self::Other(name) => name,
        }
    }

    /// A name that is no plugin's here becomes [`Plugin::Other`].
    pub fn from_name(name: &str) -> Self {
        match name {
            "caching_sha2_password" => Self::CachingSha2,
            "mysql_native_password" => Self::Native,
            _ => Self::Other(name.to_owned()),
        }
    }

    /// The `authentication_string` to store for a password; empty for an empty one, `None` if the
    /// plugin is not known or the password longer than [`caching_sha2::PASSWORD_MAX`].
    pub fn hash_password(&self, password: &[u8], env: &dyn Env) -> Option<Vec<u8>> {
        match self {
            Self::CachingSha2 => caching_sha2::hash_password(password, env),
            Self::Native => Some(native::hash_password(password)),
            Self::Other(_) => None,
        }
    }
}

/// An account as authentication needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The user part; empty for the anonymous account.
    pub user: Vec<u8>,
    /// The host part, maybe a pattern.
    pub host: String,
    /// How it proves itself.
    pub plugin: Plugin,
    /// The plugin's stored form of the password; empty for no password.
    pub authentication_string: Vec<u8>,
    /// `ACCOUNT LOCK` was said: the right password is answered with error 3118.
    pub locked: bool,
    /// `REQUIRE SSL`.
    pub require_tls: bool,
}

/// Where accounts are looked up: the server's catalog.
pub trait AccountSource {
    /// The account that MySQL's matching picks for a user name and a client's host (most specific
    /// host first). Called once per login, from any thread.
    fn find(&self, user: &[u8], host: &str) -> Option<Account>;

    /// A name in the server's own character set, which a client has sent in that of this collation.
    fn name<'a>(&self, name: &'a [u8], _collation: Option<u16>) -> Cow<'a, [u8]> {
        name.into()
    }

    /// What decoys are made of, for a user that has no account.
    fn decoys(&self) -> Decoys {
        Decoys::default()
    }
}

/// The decoys for accounts that do not exist: no answer differs from those of accounts that do
/// (P4).
#[derive(Debug, Clone, Default)]
pub struct Decoys {
    /// How many accounts there are.
    pub accounts: u64,
    /// How many of them have `mysql_native_password`: so many names in proportion are answered as
    /// if they had.
    pub native: u64,
    /// What strangers do not know, and the same from start to start: it says which names those are.
    pub secret: Vec<u8>,
}

impl Decoys {
    fn plugin(&self, user: &[u8]) -> Plugin {
        let digest = sha256(&[&self.secret, &[0], user]);
        let (number, _) =
            digest.split_first_chunk().map_or((0, &[][..]), |(n, rest)| (u64::from_le_bytes(*n), rest));
        // Taken as a fraction of one, the number is below the share of such accounts.
        let below = (u128::from(number) * u128::from(self.accounts.max(1))) >> 64;
        if below < u128::from(self.native) { Plugin::Native } else { Plugin::CachingSha2 }
    }
}

/// What all connections of a server share for authentication.
pub struct Authenticator {
    env: Arc<dyn Env>,
    /// Certificate and keys; without, no TLS is offered and no password is taken over plain TCP.
    pub(crate) identity: Option<Arc<Identity>>,
    digests: DigestCache,
}

/// Where a client stands before it has proved itself.
pub(crate) struct Candidate<'a> {
    pub(crate) user: &'a [u8],
    pub(crate) host: &'a str,
    /// The plugin the client's first answer is for; `None` if it knows of no plugins.
    pub(crate) plugin: Option<&'a [u8]>,
    /// The first answer; `None` if it has to be asked for.
    pub(crate) answer: Option<&'a [u8]>,
    /// TLS, or a Unix socket.
    pub(crate) is_secure: bool,
    pub(crate) tls: bool,
}

/// A conversation's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) right: bool,
    pub(crate) with_password: bool,
}

impl Authenticator {
    /// With `identity` for TLS and RSA, if there is one.
    pub fn new(env: Arc<dyn Env>, identity: Option<Arc<Identity>>) -> Self {
        Self { env, identity, digests: DigestCache::default() }
    }

    /// The server's certificate and keys.
    pub fn identity(&self) -> Option<&Identity> {
        self.identity.as_deref()
    }

    /// Forgets which passwords were seen: `FLUSH PRIVILEGES`. After it each client's next login is
    /// a full one.
    pub fn forget_digests(&self) {
        self.digests.clear();
    }

    /// The plugin that the greeting proposes.
    pub(crate) fn default_plugin(&self) -> Plugin {
        Plugin::CachingSha2
    }

    /// New random bytes for an answer: no NUL, which ends strings, and no `$`, which divides stored
    /// passwords.
    pub(crate) fn new_challenge(&self) -> Challenge {
        let mut challenge = Challenge::default();
        caching_sha2::random_text(&*self.env, &mut challenge);
        challenge
    }

    /// Holds the conversation. A refusal is returned, not yet sent.
    pub(crate) fn authenticate(
        &self,
        packets: &mut Packets,
        mut challenge: Challenge,
        candidate: &Candidate<'_>,
        accounts: &dyn AccountSource,
    ) -> Result<Account, HandshakeError> {
        let found = accounts.find(candidate.user, candidate.host);
        let account =
            found.clone().unwrap_or_else(|| decoy(accounts.decoys().plugin(candidate.user), candidate.user));
        if let Plugin::Other(name) = &account.plugin {
            return Err(deny(candidate, ErrorReply::plugin_not_loaded(name.as_bytes())));
        }
        let mut answer = Vec::new();
        match candidate.answer {
            Some(first)
                if candidate.plugin.unwrap_or(b"mysql_native_password")
                    == account.plugin.name().as_bytes()
                    && !waits_for_its_challenge(candidate, &account) =>
            {
                answer.extend_from_slice(first);
            }
            _ if candidate.plugin.is_none() => {
                let text = "Client does not support authentication protocol requested by server; \
                            consider upgrading MySQL client";
                return Err(deny(candidate, ErrorReply::new(1251, b"08004", text)));
            }
            _ => {
                challenge = self.new_challenge();
                put_switch(packets.begin_packet(), account.plugin.name(), &challenge);
                packets.end_packet();
                packets.flush()?;
                packets.read(&mut answer, Wait::Remaining)?;
            }
        }
        let verdict = if account.plugin == Plugin::Native {
            native::verify(&account.authentication_string, &challenge, &answer)
        } else {
            let identity = self.identity.as_deref();
            caching_sha2::Exchange { packets, identity, digests: &self.digests, challenge, candidate }
                .hold(&account, answer)?
        };
        let denied = || ErrorReply::access_denied(candidate.user, candidate.host, verdict.with_password);
        match found {
            Some(account) if verdict.right => {
                if account.locked {
                    return Err(deny(candidate, ErrorReply::account_locked(candidate.user, candidate.host)));
                }
                if account.require_tls && !candidate.tls {
                    return Err(deny(candidate, denied()));
                }
                Ok(account)
            }
            _ => Err(deny(candidate, denied())),
        }
    }
}

/// True for an empty answer to an account with a password. MariaDB's servers give it, as replicas,
/// where the greeting proposes a plugin that they do not know: its challenge is not for the one
/// they answer with. MySQL asks any client of such an account again.
fn waits_for_its_challenge(candidate: &Candidate<'_>, account: &Account) -> bool {
    account.plugin == Plugin::Native
        && candidate.plugin.is_some()
        && candidate.answer.is_some_and(<[u8]>::is_empty)
        && !account.authentication_string.is_empty()
}

/// An account for a user there is none for: whatever the client answers is wrong, at the usual
/// cost.
fn decoy(plugin: Plugin, user: &[u8]) -> Account {
    // Most accounts have a password, and one with the old plugin is asked again where the client
    // sends none.
    let native = [&b"*"[..], &[b'0'; 40]].concat();
    let authentication_string = if plugin == Plugin::Native { native } else { Vec::new() };
    Account {
        user: user.to_vec(),
        host: String::new(),
        plugin,
        authentication_string,
        locked: true,
        require_tls: false,
    }
}

fn deny(candidate: &Candidate<'_>, reply: ErrorReply) -> HandshakeError {
    let (user, host) = (candidate.user.to_vec(), candidate.host.to_owned());
    HandshakeError::Denied(Box::new(Denial { user, host, reply }))
}

/// AuthSwitchRequest: 0xfe, plugin, challenge, each ended by NUL.
fn put_switch(out: &mut Vec<u8>, plugin: &str, challenge: &Challenge) {
    out.push(0xfe);
    out.extend_from_slice(plugin.as_bytes());
    out.push(0);
    out.extend_from_slice(challenge);
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_without_an_account_look_like_those_with_one() {
        let native = |accounts, native, secret: &[u8]| {
            let decoys = Decoys { accounts, native, secret: secret.to_vec() };
            let names = (0..1000).map(|n| format!("user{n}"));
            names.map(|name| decoys.plugin(name.as_bytes()) == Plugin::Native).collect::<Vec<_>>()
        };
        let count = |list: Vec<bool>| list.into_iter().filter(|is| *is).count();
        assert_eq!(count(native(0, 0, b"a")), 0);
        assert_eq!(count(native(7, 0, b"a")), 0);
        assert_eq!(count(native(7, 7, b"a")), 1000);
        let quarter = count(native(8, 2, b"a"));
        assert!((200..300).contains(&quarter), "{quarter}");
        // The same names each time, others by another secret.
        assert_eq!(native(8, 2, b"a"), native(8, 2, b"a"));
        assert_ne!(native(8, 2, b"a"), native(8, 2, b"b"));
    }

    #[test]
    fn a_decoy_with_the_old_plugin_is_asked_as_an_account_with_a_password_is() {
        let candidate = Candidate {
            user: b"nobody",
            host: "h",
            plugin: Some(b"mysql_native_password"),
            answer: Some(b""),
            is_secure: false,
            tls: false,
        };
        assert!(waits_for_its_challenge(&candidate, &decoy(Plugin::Native, b"nobody")));
        let stored = decoy(Plugin::Native, b"nobody").authentication_string;
        assert!(native::parse(&stored).is_some());
    }
}
