//! The key that encrypts a repository, and hexadecimal digits.

use crate::log_tool::ToolError;
use aws_lc_rs::aead::{AES_256_GCM, LessSafeKey, UnboundKey};
use aws_lc_rs::hkdf;
use env::Env;
use std::path::Path;

/// A key of 256 bits, of which each file's own is made.
#[derive(Clone)]
pub(super) struct Key(pub(super) [u8; 32]);

impl Key {
    /// A file with 64 hexadecimal digits, which `openssl rand -hex 32` makes.
    pub(super) fn read(env: &dyn Env, path: &Path) -> Result<Self, ToolError> {
        let text = env.read_file(path).map_err(|e| ToolError::io("read the key file", path, e))?;
        let key = std::str::from_utf8(&text).ok().and_then(|text| from_hex(text.trim()));
        key.map(Self).ok_or_else(|| {
            let path = path.display();
            ToolError::Refused(format!(
                "'{path}' is no key file: it has 64 hexadecimal digits ('openssl rand -hex 32' makes them)"
            ))
        })
    }

    /// The key of the file with this salt and this head, which is thereby authenticated.
    pub(super) fn of_file(&self, salt: &[u8], head: &[u8]) -> LessSafeKey {
        struct Length;
        impl hkdf::KeyType for Length {
            fn len(&self) -> usize {
                32
            }
        }
        let mut key = [0; 32];
        let pseudo_random = hkdf::Salt::new(hkdf::HKDF_SHA256, salt).extract(&self.0);
        let expanded =
            pseudo_random.expand(&[b"duramen backup 2", head], Length).and_then(|okm| okm.fill(&mut key));
        let key = expanded.and_then(|()| UnboundKey::new(&AES_256_GCM, &key));
        LessSafeKey::new(key.unwrap_or_else(|_| unreachable!("32 bytes are a key of AES-256")))
    }
}

/// The bytes of so many hexadecimal digits.
pub(super) fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (i, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * i..2 * i + 2], 16).ok()?;
    }
    Some(bytes)
}

pub(super) fn to_hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
