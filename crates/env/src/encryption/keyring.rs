//! Master keys, and the file that holds them.
//!
//! A key file has a key a line, 64 hexadecimal digits each; the last one is for new files, those
//! before it are for files that were not wrapped anew yet. Lines that begin with `#`, and empty
//! ones, are comments.

use super::EncryptionError;
use super::xts::KEY;
use crate::{Env, OpenMode};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::digest;
use std::fmt;
use std::io;
use std::path::Path;

/// Bytes of a key file that are read: more than a thousand keys.
const LEN_MAX: usize = 128 << 10;

/// Names a master key, and gives nothing away about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyId(pub(super) [u8; 16]);

impl fmt::Display for KeyId {
    /// The first 16 of 32 hexadecimal digits: no keyring has so many keys that they are not enough.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A key that wraps files' keys.
#[derive(Clone)]
pub(super) struct MasterKey {
    pub(super) id: KeyId,
    key: [u8; 32],
}

impl MasterKey {
    pub(super) fn new(key: [u8; 32]) -> Self {
        let mut hashed = digest::Context::new(&digest::SHA256);
        hashed.update(b"duramen master key\0");
        hashed.update(&key);
        let mut id = [0; 16];
        id.copy_from_slice(&hashed.finish().as_ref()[..16]);
        Self { id: KeyId(id), key }
    }

    fn cipher(&self) -> LessSafeKey {
        let key = UnboundKey::new(&AES_256_GCM, &self.key);
        LessSafeKey::new(key.unwrap_or_else(|_| unreachable!("32 bytes are a key of AES-256")))
    }

    /// Encrypts `key` into `out`, which has 16 bytes more, for the tag.
    pub(super) fn wrap(&self, key: &[u8; KEY], nonce: [u8; 12], authenticated: &[u8], out: &mut [u8]) {
        let (sealed, tag) = out.split_at_mut(KEY);
        sealed.copy_from_slice(key);
        let nonce = Nonce::assume_unique_for_key(nonce);
        let made = self.cipher().seal_in_place_separate_tag(nonce, Aad::from(authenticated), sealed);
        tag.copy_from_slice(made.unwrap_or_else(|_| unreachable!("64 bytes are not too many")).as_ref());
    }

    /// The other way; `None` if it is not authentic.
    pub(super) fn unwrap(&self, wrapped: &[u8], nonce: [u8; 12], authenticated: &[u8]) -> Option<[u8; KEY]> {
        let mut opened = wrapped.to_vec();
        let nonce = Nonce::assume_unique_for_key(nonce);
        let opened = self.cipher().open_in_place(nonce, Aad::from(authenticated), &mut opened).ok()?;
        opened.try_into().ok()
    }
}

/// The keys of a key file, in its order.
#[derive(Clone)]
pub(super) struct Keyring(pub(super) Vec<MasterKey>);

impl Keyring {
    pub(super) fn read(env: &dyn Env, path: &Path) -> io::Result<(Self, Vec<u8>)> {
        let file = env.open(path, OpenMode::Read)?;
        let mut text = vec![0; LEN_MAX + 1];
        let len = file.read_at(&mut text, 0)?;
        if len > LEN_MAX {
            return Err(no_key_file(path, format!("has more than {LEN_MAX} bytes")));
        }
        text.truncate(len);
        let mut keys = Vec::new();
        for (i, line) in text.split(|&byte| byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let key = from_hex(line).ok_or_else(|| {
                no_key_file(path, format!("has no 64 hexadecimal digits in line {}", i + 1))
            })?;
            keys.push(MasterKey::new(key));
        }
        if keys.is_empty() {
            return Err(no_key_file(path, "is empty".to_owned()));
        }
        Ok((Self(keys), text))
    }

    pub(super) fn find(&self, id: KeyId) -> Option<&MasterKey> {
        self.0.iter().find(|key| key.id == id)
    }

    pub(super) fn last(&self) -> &MasterKey {
        self.0.last().expect("a keyring is not empty")
    }
}

fn no_key_file(path: &Path, why: String) -> io::Error {
    EncryptionError::NoKeyFile { path: path.to_owned(), why }.into()
}

fn from_hex(digits: &[u8]) -> Option<[u8; 32]> {
    let digits: &[u8; 64] = digits.try_into().ok()?;
    let mut key = [0; 32];
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = ((digit(pair[0])? << 4) | digit(pair[1])?) as u8;
    }
    Some(key)
}

/// A key file's content with one more key.
pub(super) fn with_new_key(mut text: Vec<u8>, key: &[u8; 32]) -> Vec<u8> {
    if !text.is_empty() && !text.ends_with(b"\n") {
        text.push(b'\n');
    }
    for byte in key {
        text.extend_from_slice(format!("{byte:02x}").as_bytes());
    }
    text.push(b'\n');
    text
}
