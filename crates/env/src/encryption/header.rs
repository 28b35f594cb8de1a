//! The first 8192 bytes of an encrypted file: two copies of what unlocks it.
//!
//! A copy is at the beginning of each of two sectors of 4096 bytes, and either suffices. A rotation
//! of the master key writes the second, flushes it, writes the first and flushes that: whatever a
//! power cut tears, one copy is whole (H1). Integers are little-endian.
//!
//! | bytes | what |
//! | --- | --- |
//! | 16 | `FD`, `duramen-file`, three zeros |
//! | 2 | version of this format, 1 |
//! | 1 | cipher: 1 is AES-256-XTS |
//! | 1 | what the file holds ([`Rows`]): 1 tables, 2 log, 3 temporary |
//! | 16 | the file's number, random |
//! | 16 | number of the master key: the beginning of an SHA-256 of it |
//! | 12 | nonce, random |
//! | 64, 16 | the file's key, random, encrypted with AES-256-GCM by the master key; its tag, which also authenticates the bytes before the nonce |
//! | 8 | the beginning of the SHA-256 of all before: tells damage from another key |

use super::Rows;
use super::keyring::{KeyId, MasterKey};
use super::xts::KEY;
use aws_lc_rs::digest;

/// Bytes in front of the content.
pub(super) const HEADER: u64 = 2 * COPY;
/// Where the second copy begins.
pub(super) const COPY: u64 = 4096;
/// Bytes of a copy that are used.
pub(super) const USED: usize = 152;
/// How an encrypted file begins. No file that the server writes begins so unencrypted: tables and
/// manifests by small numbers, log files by `FE`.
pub(super) const MAGIC: [u8; 16] = *b"\xfdduramen-file\0\0\0";

const VERSION: u16 = 1;
const XTS: u8 = 1;
const AUTHENTICATED: usize = 52;
const NONCE: usize = 12;
const CHECKED: usize = USED - 8;

/// A copy of the header, not unlocked.
pub(super) struct Header {
    pub(super) rows: Rows,
    pub(super) file: [u8; 16],
    pub(super) master: KeyId,
    bytes: [u8; USED],
}

/// Why a copy can't be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unusable {
    /// It does not begin as an encrypted file does.
    NotOne,
    Damaged,
    /// A later version's format or cipher.
    Newer,
}

impl Header {
    /// A new header of a file with the key `key`.
    pub(super) fn seal(
        rows: Rows,
        file: [u8; 16],
        key: &[u8; KEY],
        master: &MasterKey,
        nonce: [u8; NONCE],
    ) -> Self {
        let mut bytes = [0; USED];
        bytes[..16].copy_from_slice(&MAGIC);
        bytes[16..18].copy_from_slice(&VERSION.to_le_bytes());
        bytes[18] = XTS;
        bytes[19] = rows as u8;
        bytes[20..36].copy_from_slice(&file);
        bytes[36..AUTHENTICATED].copy_from_slice(&master.id.0);
        let (authenticated, sealed) = bytes.split_at_mut(AUTHENTICATED);
        sealed[..NONCE].copy_from_slice(&nonce);
        master.wrap(key, nonce, authenticated, &mut sealed[NONCE..CHECKED - AUTHENTICATED]);
        let sum = digest::digest(&digest::SHA256, &bytes[..CHECKED]);
        bytes[CHECKED..].copy_from_slice(&sum.as_ref()[..8]);
        Self { rows, file, master: master.id, bytes }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The header that a copy's bytes are.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Unusable> {
        let Some(bytes) = bytes.first_chunk::<USED>() else {
            return Err(if bytes.starts_with(&MAGIC) { Unusable::Damaged } else { Unusable::NotOne });
        };
        if !bytes.starts_with(&MAGIC) {
            return Err(Unusable::NotOne);
        }
        let sum = digest::digest(&digest::SHA256, &bytes[..CHECKED]);
        if sum.as_ref()[..8] != bytes[CHECKED..] {
            return Err(Unusable::Damaged);
        }
        let rows = Rows::from_number(bytes[19]);
        let (Some(rows), [1, 0, XTS]) = (rows, [bytes[16], bytes[17], bytes[18]]) else {
            return Err(Unusable::Newer);
        };
        let sixteen = |at: usize| std::array::from_fn(|i| bytes[at + i]);
        Ok(Self { rows, file: sixteen(20), master: KeyId(sixteen(36)), bytes: *bytes })
    }

    /// The file's key; `None` if `master` is not the one that it was wrapped with.
    pub(super) fn unlock(&self, master: &MasterKey) -> Option<[u8; KEY]> {
        let nonce = std::array::from_fn(|i| self.bytes[AUTHENTICATED + i]);
        let wrapped = &self.bytes[AUTHENTICATED + NONCE..CHECKED];
        master.unwrap(wrapped, nonce, &self.bytes[..AUTHENTICATED])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn damage_is_distinguished_from_other_keys() {
        let (ours, theirs) = (MasterKey::new([1; 32]), MasterKey::new([2; 32]));
        let header = Header::seal(Rows::Log, [3; 16], &[4; KEY], &ours, [5; 12]);
        let parsed = Header::parse(header.bytes()).unwrap();
        assert_eq!((parsed.rows, parsed.file, parsed.master), (Rows::Log, [3; 16], ours.id));
        assert_eq!(parsed.unlock(&ours), Some([4; KEY]));
        assert_eq!(parsed.unlock(&theirs), None);
        for bit in 0..USED * 8 {
            let mut bytes = header.bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let expected = if bit < 128 { Unusable::NotOne } else { Unusable::Damaged };
            assert_eq!(Header::parse(&bytes).err(), Some(expected), "bit {bit}");
        }
        for len in 0..USED {
            assert!(Header::parse(&header.bytes()[..len]).is_err());
        }
    }
}
