//! `mysql_native_password`: an answer over SHA-1.
//!
//! Stored is `*` and SHA1(SHA1(password)) in hexadecimal. The client answers
//! `SHA1(password) XOR SHA1(challenge . SHA1(SHA1(password)))`; taking the XOR back gives a value
//! whose SHA-1 must be the stored one. Kept for old clients: the stored form has no salt.

use super::{Challenge, Verdict};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};

const SHA1: usize = 20;

fn sha1(parts: &[&[u8]]) -> [u8; SHA1] {
    let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    for part in parts {
        context.update(part);
    }
    let mut digest = [0; SHA1];
    digest.copy_from_slice(context.finish().as_ref());
    digest
}

/// The stored form of a password; empty for an empty one.
pub(crate) fn hash_password(password: &[u8]) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let hex = sha1(&[&sha1(&[password])]).iter().map(|b| format!("{b:02X}")).collect::<String>();
    format!("*{hex}").into_bytes()
}

/// The digest in a stored form, if it is one.
pub(super) fn parse(stored: &[u8]) -> Option<[u8; SHA1]> {
    let hex = std::str::from_utf8(stored.strip_prefix(b"*")?).ok()?;
    if hex.len() != 2 * SHA1 || !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    let mut digest = [0; SHA1];
    for (i, byte) in digest.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(digest)
}

/// The client's side: the answer for a password.
pub(crate) fn answer(password: &[u8], challenge: &Challenge) -> Vec<u8> {
    if password.is_empty() {
        return Vec::new();
    }
    let once = sha1(&[password]);
    let mask = sha1(&[challenge, &sha1(&[&once])]);
    once.iter().zip(mask).map(|(a, b)| a ^ b).collect()
}

/// The server's side.
pub(super) fn verify(stored: &[u8], challenge: &Challenge, answer: &[u8]) -> Verdict {
    let with_password = !answer.is_empty();
    let right = match (stored.is_empty(), with_password) {
        (true, with_password) => !with_password,
        (false, false) => false,
        (false, true) => parse(stored).is_some_and(|twice| matches(&twice, challenge, answer)),
    };
    Verdict { right, with_password }
}

fn matches(twice: &[u8; SHA1], challenge: &Challenge, answer: &[u8]) -> bool {
    if answer.len() != SHA1 {
        return false;
    }
    let mask = sha1(&[challenge, twice]);
    let once: Vec<u8> = answer.iter().zip(mask).map(|(a, b)| a ^ b).collect();
    verify_slices_are_equal(&sha1(&[&once]), twice).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_known_hash_of_password() {
        assert_eq!(hash_password(b"password"), b"*2470C0C06DEE42FD1618BB99005ADCA2EC9D1E19");
        assert_eq!(hash_password(b""), b"");
    }

    #[test]
    fn only_the_right_answer_to_this_challenge() {
        let stored = hash_password(b"secret");
        let challenge = [7; 20];
        let right = |answer: &[u8]| verify(&stored, &challenge, answer).right;
        assert!(right(&answer(b"secret", &challenge)));
        assert!(!right(&answer(b"Secret", &challenge)));
        assert!(!right(&answer(b"secret", &[8; 20])));
        assert!(!right(b""));
        assert!(!right(b"short"));
        assert!(verify(b"", &challenge, b"").right);
        assert!(!verify(b"", &challenge, &[0; 20]).right);
        assert!(!verify(b"*nonsense", &challenge, &[0; 20]).right);
        assert!(!verify("*\u{20ac}\u{20ac}".as_bytes(), &challenge, &[0; 20]).right);
    }
}
