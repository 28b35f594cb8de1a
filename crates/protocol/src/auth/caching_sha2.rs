//! `caching_sha2_password`: slow to check once, then fast.
//!
//! Stored is `$A$005$`, 20 bytes of salt and 43 of SHA-256 crypt; `005` is the number of rounds in
//! thousands, hexadecimal.
//!
//! 1. answer   the client sends `SHA256(p) XOR SHA256(SHA256(SHA256(p)) . challenge)`.
//! 2. fast     if this server has cached SHA256(SHA256(p)) at an earlier login, the answer is
//!    checked against it, and `01 03` says that this was enough.
//! 3. full     if not, or if it was wrong, `01 04` asks for the password: readable over a secure
//!    channel; else sealed with the server's RSA public key (OAEP, SHA-1) after XOR with the
//!    challenge. A client that does not have the key asks for it by `02`.
//! 4. cache    the double digest of a password that was right is cached for the next login.

use super::crypt::{SHA256_LEN, sha256, sha256_crypt};
use super::{Account, Candidate, Challenge, Verdict};
use crate::error::HandshakeError;
use crate::identity::Identity;
use crate::packet::Packets;
use crate::socket::Wait;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use env::Env;
use parking_lot::Mutex;
use std::collections::HashMap;

/// The longest password, as in MySQL.
pub(crate) const PASSWORD_MAX: usize = 256;
const SALT: usize = 20;
const ROUNDS: u32 = 5000;

/// The server's words in this exchange, each after 0x01.
const FAST_AUTH_OK: u8 = 3;
const PERFORM_FULL_AUTH: u8 = 4;
/// The client's request for the public key.
const REQUEST_PUBLIC_KEY: u8 = 2;

/// A stored password, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stored<'a> {
    rounds: u32,
    salt: &'a [u8],
    hash: &'a [u8],
}

impl<'a> Stored<'a> {
    pub(super) fn parse(stored: &'a [u8]) -> Option<Self> {
        let (rounds, rest) = stored.strip_prefix(b"$A$")?.split_first_chunk::<3>()?;
        let rounds = u32::from_str_radix(std::str::from_utf8(rounds).ok()?, 16).ok()?.checked_mul(1000)?;
        let (salt, hash) = rest.strip_prefix(b"$")?.split_at_checked(SALT)?;
        (rounds >= ROUNDS && hash.len() == 43).then_some(Self { rounds, salt, hash })
    }

    fn matches(&self, password: &[u8]) -> bool {
        let hash = sha256_crypt(password, self.salt, self.rounds);
        verify_slices_are_equal(&hash, self.hash).is_ok()
    }
}

/// The stored form of a password; empty for an empty one, `None` for one longer than
/// [`PASSWORD_MAX`].
pub(crate) fn hash_password(password: &[u8], env: &dyn Env) -> Option<Vec<u8>> {
    if password.is_empty() {
        return Some(Vec::new());
    }
    if password.len() > PASSWORD_MAX {
        return None;
    }
    let mut salt = [0; SALT];
    random_text(env, &mut salt);
    Some([&b"$A$005$"[..], &salt, &sha256_crypt(password, &salt, ROUNDS)].concat())
}

/// Random seven-bit bytes without NUL and `$`.
pub(super) fn random_text(env: &dyn Env, out: &mut [u8]) {
    env.random(out);
    for byte in out {
        *byte &= 0x7f;
        if matches!(*byte, 0 | b'$') {
            *byte += 1;
        }
    }
}

/// The client's side: the first answer for a password.
pub(crate) fn answer(password: &[u8], challenge: &Challenge) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha256(&[password]);
    let mask = sha256(&[&sha256(&[&once]), challenge]);
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// XOR with the challenge, repeated: what RSA seals is never the same twice.
pub(crate) fn mask(password: &mut [u8], challenge: &Challenge) {
    for (byte, c) in password.iter_mut().zip(challenge.iter().cycle()) {
        *byte ^= c;
    }
}

/// Double digests of passwords that were right, by account. Bounded by the number of accounts; an
/// entry counts only as long as the account's stored form is the one it was made with.
#[derive(Default)]
pub(super) struct DigestCache(Mutex<HashMap<Vec<u8>, Entry>>);

struct Entry {
    stored: Vec<u8>,
    digest: [u8; SHA256_LEN],
}

impl DigestCache {
    /// NUL can be in neither part.
    fn key(user: &[u8], host: &str) -> Vec<u8> {
        [user, &[0], host.as_bytes()].concat()
    }

    fn get(&self, account: &Account) -> Option<[u8; SHA256_LEN]> {
        let cache = self.0.lock();
        let entry = cache.get(&Self::key(&account.user, &account.host))?;
        (entry.stored == account.authentication_string).then_some(entry.digest)
    }

    fn insert(&self, account: &Account, password: &[u8]) {
        let entry =
            Entry { stored: account.authentication_string.clone(), digest: sha256(&[&sha256(&[password])]) };
        self.0.lock().insert(Self::key(&account.user, &account.host), entry);
    }

    pub(super) fn clear(&self) {
        self.0.lock().clear();
    }
}

/// The server's side of one exchange.
pub(super) struct Exchange<'a> {
    pub(super) packets: &'a mut Packets,
    pub(super) identity: Option<&'a Identity>,
    pub(super) digests: &'a DigestCache,
    pub(super) challenge: Challenge,
    pub(super) candidate: &'a Candidate<'a>,
}

impl Exchange<'_> {
    /// Goes through the steps from the client's first answer on; `answer` is reused as the packet
    /// buffer.
    pub(super) fn hold(mut self, account: &Account, mut answer: Vec<u8>) -> Result<Verdict, HandshakeError> {
        if matches!(answer[..], [] | [0]) {
            let right = account.authentication_string.is_empty();
            return Ok(Verdict { right, with_password: false });
        }
        if self.digests.get(account).is_some_and(|digest| self.is_right(&answer, &digest)) {
            self.say(FAST_AUTH_OK);
            return Ok(Verdict { right: true, with_password: true });
        }
        self.say(PERFORM_FULL_AUTH);
        self.packets.flush()?;
        self.packets.read(&mut answer, Wait::Remaining)?;
        if !self.candidate.is_secure && answer == [REQUEST_PUBLIC_KEY] {
            self.send_public_key()?;
            self.packets.read(&mut answer, Wait::Remaining)?;
        }
        let password = self.open(&answer);
        let right = check_slowly(&account.authentication_string, password.as_deref());
        if let (true, Some(password)) = (right, password) {
            self.digests.insert(account, &password);
        }
        Ok(Verdict { right, with_password: true })
    }

    fn is_right(&self, answer: &[u8], digest: &[u8; SHA256_LEN]) -> bool {
        let mask = sha256(&[digest, &self.challenge]);
        let once: Vec<u8> = answer.iter().zip(mask).map(|(a, b)| a ^ b).collect();
        answer.len() == SHA256_LEN && verify_slices_are_equal(&sha256(&[&once]), digest).is_ok()
    }

    fn say(&mut self, word: u8) {
        self.packets.begin_packet().extend_from_slice(&[1, word]);
        self.packets.end_packet();
    }

    /// Without a key there is nothing to send; the client takes the empty packet for a refusal.
    fn send_public_key(&mut self) -> Result<(), HandshakeError> {
        let key = self.identity.and_then(|identity| identity.rsa());
        let out = self.packets.begin_packet();
        out.push(1);
        out.extend_from_slice(key.map_or("", |key| key.public_pem()).as_bytes());
        self.packets.end_packet();
        Ok(self.packets.flush()?)
    }

    /// The password in the client's last packet, without its NUL.
    fn open(&self, packet: &[u8]) -> Option<Vec<u8>> {
        let mut password = if self.candidate.is_secure {
            packet.to_vec()
        } else {
            let mut password = self.identity?.rsa()?.decrypt(packet)?;
            mask(&mut password, &self.challenge);
            password
        };
        (password.pop() == Some(0) && password.len() <= PASSWORD_MAX).then_some(password)
    }
}

/// Checks at the full price even where the outcome is known: no password sent, none stored, or no
/// such account (P4).
fn check_slowly(stored: &[u8], password: Option<&[u8]>) -> bool {
    let nobody = [&b"$A$005$"[..], &[b'x'; SALT], &[b'x'; 43]].concat();
    let real = Stored::parse(stored);
    let checked =
        real.as_ref().or(Stored::parse(&nobody).as_ref()).is_some_and(|s| s.matches(password.unwrap_or(b"")));
    checked && real.is_some() && password.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use env::RealEnv;

    /// A hash that MySQL 8 made, in hashcat's published example for its mode 7401.
    #[test]
    fn a_hash_made_by_mysql() {
        let salt = b"\xF9\xCC\x98\xCE\x08\x89\x29\x24\xF5\x0A\x21\x3B\x6B\xC5\x71\xA2\xC1\x17\x78\xC5";
        let hash = sha256_crypt(b"hashcat", salt, ROUNDS);
        let expected =
            "625479393559393965414D45316477456B484F41316E64484742577A2E3162785353526B7554584647562F";
        let hex = hash.iter().map(|b| format!("{b:02X}")).collect::<String>();
        assert_eq!(hex, expected);
    }

    #[test]
    fn what_is_stored_is_checked() {
        let stored = hash_password(b"secret", &RealEnv).unwrap();
        assert_eq!(stored.len(), 70);
        assert!(check_slowly(&stored, Some(b"secret")));
        assert!(!check_slowly(&stored, Some(b"Secret")));
        assert!(!check_slowly(&stored, None));
        assert!(!check_slowly(b"", Some(b"")));
        assert!(!check_slowly(b"$A$005$short", Some(b"")));
        assert_eq!(hash_password(b"", &RealEnv), Some(vec![]));
        assert_eq!(hash_password(&[b'a'; 257], &RealEnv), None);
    }
}
