//! AES-256 in XTS mode (IEEE 1619, NIST SP 800-38E): a cipher for bytes that are rewritten in
//! place.
//!
//! Each block of 16 bytes is encrypted by itself, in a way that depends on where it is: its number
//! in the file is a *data unit* of 4096 bytes and a block in that. The same block with the same
//! content is always the same ciphertext, so a block that is written again with other bytes, as
//! after a torn end was cut off, says no more than that it differs; a stream cipher would give
//! away the difference of the two.
//!
//! A block of ciphertext that is all zeros is read as zeros. No key is known to make one, and the
//! odds are 1 in 2^128: it is a block that was never written, in a file that was made longer or of
//! which a power cut left the length alone.
//!
//! Blocks are handed to the processor many at a time, which the crate `xts-mode` does not do.

use aes::Aes256;
use aes::cipher::{Array, BlockCipherDecrypt, BlockCipherEncrypt, KeyInit};

/// Bytes of a block.
pub(super) const BLOCK: usize = 16;
/// Bytes of a key: two of AES-256.
pub(super) const KEY: usize = 64;
/// Blocks of a data unit.
const UNIT: usize = 256;
/// Blocks that the processor gets at once.
const AT_ONCE: usize = 64;

/// A key that is ready for use.
pub(super) struct Xts {
    data: Aes256,
    tweak: Aes256,
}

impl Xts {
    pub(super) fn new(key: &[u8; KEY]) -> Self {
        let half = |from: usize| {
            let mut half = [0; KEY / 2];
            half.copy_from_slice(&key[from..from + KEY / 2]);
            Aes256::new(&Array::from(half))
        };
        Self { data: half(0), tweak: half(KEY / 2) }
    }

    /// Encrypts whole blocks in place, the first of which is number `first` of the file.
    pub(super) fn encrypt(&self, bytes: &mut [u8], first: u64) {
        debug_assert_eq!(bytes.len() % BLOCK, 0, "whole blocks");
        let mut at = first;
        for part in units(bytes, first) {
            self.one_unit(part, at, |blocks| self.data.encrypt_blocks(blocks));
            at += (part.len() / BLOCK) as u64;
        }
    }

    /// Decrypts whole blocks in place; those that were never written become zeros.
    pub(super) fn decrypt(&self, bytes: &mut [u8], first: u64) {
        debug_assert_eq!(bytes.len() % BLOCK, 0, "whole blocks");
        let mut unwritten = [false; UNIT];
        let mut at = first;
        for part in units(bytes, first) {
            let mut has_unwritten = false;
            for (block, flag) in part.as_chunks::<BLOCK>().0.iter().zip(&mut unwritten) {
                *flag = u128::from_ne_bytes(*block) == 0;
                has_unwritten |= *flag;
            }
            self.one_unit(part, at, |blocks| self.data.decrypt_blocks(blocks));
            if has_unwritten {
                let blocks = part.chunks_exact_mut(BLOCK).zip(&unwritten);
                blocks.filter(|(_, flag)| **flag).for_each(|(block, _)| block.fill(0));
            }
            at += (part.len() / BLOCK) as u64;
        }
    }

    /// Blocks of one data unit.
    fn one_unit(&self, part: &mut [u8], first: u64, work: impl Fn(&mut [aes::Block])) {
        let mut tweak = Array::from(u128::from(first / UNIT as u64).to_le_bytes());
        self.tweak.encrypt_block(&mut tweak);
        let mut tweak = u128::from_le_bytes(tweak.into());
        for _ in 0..first % UNIT as u64 {
            tweak = double(tweak);
        }
        let (mut tweaks, mut blocks) = ([0_u128; AT_ONCE], [aes::Block::default(); AT_ONCE]);
        let (whole, _) = part.as_chunks_mut::<BLOCK>();
        for part in whole.chunks_mut(AT_ONCE) {
            for ((bytes, block), slot) in part.iter().zip(&mut blocks).zip(&mut tweaks) {
                *slot = tweak;
                block.0 = (u128::from_le_bytes(*bytes) ^ tweak).to_le_bytes();
                tweak = double(tweak);
            }
            work(&mut blocks[..part.len()]);
            for ((bytes, block), tweak) in part.iter_mut().zip(&blocks).zip(&tweaks) {
                *bytes = (u128::from_le_bytes(block.0) ^ tweak).to_le_bytes();
            }
        }
    }
}

/// The parts of `bytes` that are in one data unit each.
fn units(bytes: &mut [u8], first: u64) -> impl Iterator<Item = &mut [u8]> {
    let of_first = (UNIT - (first % UNIT as u64) as usize) * BLOCK;
    let (head, tail) = bytes.split_at_mut(of_first.min(bytes.len()));
    std::iter::once(head).chain(tail.chunks_mut(UNIT * BLOCK)).filter(|part| !part.is_empty())
}

/// Times x in the field of 2^128 elements.
#[inline(always)]
fn double(tweak: u128) -> u128 {
    (tweak << 1) ^ ((tweak >> 127) * 0x87)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
    }

    /// Vector 10 of IEEE 1619-2007, annex B (XTS-AES-256, data unit 0xff); its data unit of 512
    /// bytes is the beginning of one of ours.
    #[test]
    fn agrees_with_the_standard() {
        let key = hex("2718281828459045235360287471352662497757247093699959574966967627\
             3141592653589793238462643383279502884197169399375105820974944592");
        let plain: Vec<u8> = (0..512).map(|i| i as u8).collect();
        let mut bytes = plain.clone();
        let xts = Xts::new(&key.try_into().unwrap());
        xts.encrypt(&mut bytes, 0xff * UNIT as u64);
        assert_eq!(bytes[..32], hex("1c3b3a102f770386e4836c99e370cf9bea00803f5e482357a4ae12d414a3e63b"));
        assert_eq!(bytes[480..], hex("773dad38014bd2092fa755c824bb5e54c4f36ffda9fcea70b9c6e693e148c151"));
        xts.decrypt(&mut bytes, 0xff * UNIT as u64);
        assert_eq!(bytes, plain);
    }

    #[test]
    fn parts_are_what_the_whole_is() {
        let xts = Xts::new(&std::array::from_fn(|i| i as u8));
        let plain: Vec<u8> = (0..3 * UNIT * BLOCK).map(|i| (i % 251) as u8).collect();
        let mut whole = plain.clone();
        xts.encrypt(&mut whole, 7);
        for (from, blocks) in [(0, 1), (1, 300), (248, 2), (249, 1), (255, 513)] {
            let mut part = whole[from * BLOCK..(from + blocks) * BLOCK].to_vec();
            xts.decrypt(&mut part, 7 + from as u64);
            assert_eq!(part, plain[from * BLOCK..(from + blocks) * BLOCK], "{from}");
            xts.encrypt(&mut part, 7 + from as u64);
            assert_eq!(part, whole[from * BLOCK..(from + blocks) * BLOCK], "{from}");
        }
    }

    #[test]
    fn what_was_never_written_is_zeros() {
        let xts = Xts::new(&[9; KEY]);
        let mut bytes = [[7; BLOCK], [0; BLOCK]].concat();
        xts.encrypt(&mut bytes, 255);
        bytes.splice(BLOCK..BLOCK, [0; BLOCK]);
        let mut at_256 = bytes[2 * BLOCK..].to_vec();
        xts.decrypt(&mut at_256, 256);
        assert_eq!(at_256, [0; BLOCK], "zeros that were written");
        xts.decrypt(&mut bytes[..2 * BLOCK], 255);
        assert_eq!(bytes[..2 * BLOCK], [[7; BLOCK], [0; BLOCK]].concat());
    }
}
