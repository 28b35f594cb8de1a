//! CRC-32 of events, and how it follows a patched `end_log_pos` without reading the body again.
//!
//! CRC-32 is linear: changing four bytes of a message changes its checksum by the CRC of the
//! difference followed by as many zero bytes as stand after it, whatever those bytes are. For an
//! event that was summed with `end_log_pos` 0, the difference is the position itself, and running
//! it through `n` bytes is one multiplication by `x^(8n)` modulo the polynomial. The session
//! computes that power ([`power_of_x`]) with the event's CRC; the leader is left with one
//! [`multiply`] for each large event: constant time, where summing costs time for every byte and
//! `crc32fast`'s combine costs more than both up to 16 KiB. Up to some 512 bytes summing is cheaper
//! still (figures: `benches/events.rs`).
//!
//! Polynomials are bit-reversed as zlib's are: the highest bit of the `u32` is the coefficient of
//! `x^0`.

use super::EventHeader;

const POLYNOMIAL: u32 = 0xedb8_8320;

/// Product of two polynomials modulo the CRC-32 polynomial.
pub(crate) const fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    let mut bit = 0;
    while bit < 32 {
        // All ones where a's coefficient is set: no branch to mispredict.
        let take = ((a << bit) as i32 >> 31) as u32;
        product ^= b & take;
        b = (b >> 1) ^ (POLYNOMIAL & (b & 1).wrapping_neg());
        bit += 1;
    }
    product
}

/// `x^(2^k)` for each k; `x^(2^32)` is `x` again.
const SQUARES: [u32; 32] = {
    let mut table = [0; 32];
    let mut power = 1 << 30; // x^1
    let mut k = 0;
    while k < 32 {
        table[k] = power;
        power = multiply(power, power);
        k += 1;
    }
    table
};

/// `x^(8 * bytes)`: what running a CRC over that many zero bytes multiplies it by.
pub(crate) fn power_of_x(bytes: usize) -> u32 {
    let mut power = 1 << 31; // x^0
    let mut remaining = bytes;
    let mut k = 3; // 8 bits a byte
    while remaining != 0 {
        if remaining & 1 != 0 {
            power = multiply(SQUARES[k & 31], power);
        }
        remaining >>= 1;
        k += 1;
    }
    power
}

/// The factor by which an event's CRC follows its `end_log_pos`; `length` counts header and body,
/// not the checksum.
pub(crate) fn position_factor(length: usize) -> u32 {
    power_of_x(length - EventHeader::END_LOG_POS_OFFSET)
}

/// The CRC of an event with `end_log_pos` set, from its CRC with 0 there.
pub(crate) fn crc_at(crc_at_zero: u32, factor: u32, end_log_pos: u32) -> u32 {
    crc_at_zero ^ multiply(end_log_pos, factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patched_crc_equals_recomputed_crc() {
        for length in [19, 20, 27, 100, 8192, 70_001] {
            let mut event: Vec<u8> = (0..length).map(|i| (i * 7 + i / 251) as u8).collect();
            event[13..17].fill(0);
            let zero = crc32fast::hash(&event);
            for position in [0, 4, 123_456_789, u32::MAX] {
                event[13..17].copy_from_slice(&position.to_le_bytes());
                let patched = crc_at(zero, position_factor(length), position);
                assert_eq!(patched, crc32fast::hash(&event), "length {length}, position {position}");
            }
        }
    }
}
