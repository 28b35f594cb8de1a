//! Says "surely not here" for most keys that a table lacks.
//!
//! A blocked Bloom filter: the upper half of a key's hash picks a line of 64 bytes, the lower half
//! six bits in it. With ten bits a key about one lookup in a hundred goes to the table for nothing,
//! and a question touches one cache line. A plain Bloom filter would err a little less often, for
//! six cache misses.

const LINE: usize = 64;
const BITS_PER_KEY: usize = 10;
/// Odd multipliers that spread the lower half of the hash.
const SALTS: [u32; 6] = [0x47b6_137b, 0x4497_4d91, 0x8824_ad5b, 0xa2b7_289d, 0x7054_95c7, 0x2df1_424b];

/// The filter of keys with these hashes.
pub(crate) fn build(hashes: &[u64]) -> Vec<u8> {
    let lines = (hashes.len() * BITS_PER_KEY).div_ceil(LINE * 8).max(1);
    let mut filter = vec![0; lines * LINE];
    for &hash in hashes {
        let line = line_of(hash, lines);
        for bit in bits(hash) {
            filter[line + bit / 8] |= 1 << (bit % 8);
        }
    }
    filter
}

/// False if no key with this hash went into the filter. A filter that makes no sense knows nothing:
/// true.
pub(crate) fn may_contain(filter: &[u8], hash: u64) -> bool {
    let lines = filter.len() / LINE;
    if lines == 0 {
        return true;
    }
    let line = &filter[line_of(hash, lines)..][..LINE];
    bits(hash).all(|bit| line[bit / 8] & 1 << (bit % 8) != 0)
}

fn line_of(hash: u64, lines: usize) -> usize {
    (((hash >> 32) as usize * lines) >> 32) * LINE
}

fn bits(hash: u64) -> impl Iterator<Item = usize> {
    SALTS.iter().map(move |salt| ((hash as u32).wrapping_mul(*salt) >> 23) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sstable::key_hash;

    #[test]
    fn all_that_is_there_is_found_and_little_else() {
        for count in [0_u32, 1, 100, 20_000] {
            let hash = |i: u32| key_hash(&i.to_be_bytes());
            let filter = build(&(0..count).map(hash).collect::<Vec<_>>());
            assert!((0..count).all(|i| may_contain(&filter, hash(i))));
            let wrong = (count..count + 10_000).filter(|&i| may_contain(&filter, hash(i))).count();
            assert!(wrong < 250, "{wrong} of 10000 wrong with {count} keys");
        }
        assert!(may_contain(&[], 1) && may_contain(&[0; 63], 1));
    }
}
