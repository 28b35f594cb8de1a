//! The SHA-256 password hash of Unix `crypt` (Ulrich Drepper's specification), which
//! `caching_sha2_password` stores.
//!
//! Slow on purpose: thousands of rounds of SHA-256 over password and salt in changing order.
//! MySQL's salt is 20 bytes long, where `crypt` itself would cut it to 16.

use aws_lc_rs::digest::{Context, SHA256, digest};

pub(super) const SHA256_LEN: usize = 32;

/// SHA-256 of the parts, one after the other.
pub(super) fn sha256(parts: &[&[u8]]) -> [u8; SHA256_LEN] {
    let mut context = Context::new(&SHA256);
    for part in parts {
        context.update(part);
    }
    finish(context)
}

fn finish(context: Context) -> [u8; SHA256_LEN] {
    let mut out = [0; SHA256_LEN];
    out.copy_from_slice(context.finish().as_ref());
    out
}

/// The digest of a password, in `crypt`'s own alphabet: 43 characters.
pub(super) fn sha256_crypt(password: &[u8], salt: &[u8], rounds: u32) -> [u8; 43] {
    let mut state = first_digest(password, salt);
    let p = stretched(password, password.len(), password.len());
    let s = stretched(salt, 16 + usize::from(state[0]), salt.len());
    for round in 0..rounds {
        let mut context = Context::new(&SHA256);
        let odd = round % 2 == 1;
        context.update(if odd { &p } else { &state });
        if round % 3 != 0 {
            context.update(&s);
        }
        if round % 7 != 0 {
            context.update(&p);
        }
        context.update(if odd { &state } else { &p });
        state = finish(context);
    }
    encode(&state)
}

/// Password and salt, then as much of a second digest as the password is long, then its length's
/// bits, spelt out in that digest (1) and the password (0).
fn first_digest(password: &[u8], salt: &[u8]) -> [u8; SHA256_LEN] {
    let inner = sha256(&[password, salt, password]);
    let mut context = Context::new(&SHA256);
    context.update(password);
    context.update(salt);
    for i in 0..password.len() {
        context.update(&inner[i % SHA256_LEN..][..1]);
    }
    let mut bits = password.len();
    while bits > 0 {
        context.update(if bits & 1 == 1 { &inner } else { password });
        bits >>= 1;
    }
    finish(context)
}

/// `len` bytes of the digest of `text` repeated `times`.
fn stretched(text: &[u8], times: usize, len: usize) -> Vec<u8> {
    let once = digest(&SHA256, &text.repeat(times));
    once.as_ref().iter().copied().cycle().take(len).collect()
}

/// Three bytes to four characters, low bits first; which three is part of the specification.
fn encode(digest: &[u8; SHA256_LEN]) -> [u8; 43] {
    const ALPHABET: &[u8; 64] = b"./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut out = [0; 43];
    let (mut high, mut middle, mut low) = (0, 10, 20);
    for quad in out[..40].chunks_exact_mut(4) {
        let mut bits = u32::from_be_bytes([0, digest[high], digest[middle], digest[low]]);
        for character in quad {
            *character = ALPHABET[(bits & 0x3f) as usize];
            bits >>= 6;
        }
        (high, middle, low) = (low + 1, high + 1, middle + 1);
    }
    let mut bits = u32::from_be_bytes([0, 0, digest[31], digest[30]]);
    for character in &mut out[40..] {
        *character = ALPHABET[(bits & 0x3f) as usize];
        bits >>= 6;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The specification's first vector, and two that `openssl passwd -5` computed.
    #[test]
    fn known_hashes() {
        let check = |password: &str, expected: &str| {
            let hash = sha256_crypt(password.as_bytes(), b"saltstring", 5000);
            assert_eq!(std::str::from_utf8(&hash).unwrap(), expected);
        };
        check("Hello world!", "5B8vYYiY.CVt1RlTTf8KbXBH3hsxY/GNooZaBBGWEc5");
        check("a", "7cz4bTeQ7MnNssphNhFVrITtuJYY/1tdvLL2uzLvOk8");
        check("0123456789012345678901234567890123456789", "KE9eWJmEvFiN/I8kMoUVSnXRhhi/bSrStDXz/YA1g62");
    }
}
