//! Checked reading of little-endian bytes from untrusted input.
//!
//! Every read returns [`Truncated`] instead of panicking where the input ends too early. Integers
//! wider than a primitive (3 and 6 bytes) and the length-encoded forms are those that MySQL's
//! protocol and binary log share.

use std::fmt;

/// The input ended before the value that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncated;

impl fmt::Display for Truncated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("input is truncated")
    }
}

impl std::error::Error for Truncated {}

/// A read position in a byte slice.
#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a> {
    remaining: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Starts at the first byte of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { remaining: bytes }
    }

    /// The bytes not read yet.
    pub fn remaining_slice(&self) -> &'a [u8] {
        self.remaining
    }

    /// The number of bytes not read yet.
    pub fn remaining(&self) -> usize {
        self.remaining.len()
    }

    /// True when every byte was read.
    pub fn is_empty(&self) -> bool {
        self.remaining.is_empty()
    }

    /// Takes the next `n` bytes.
    pub fn take(&mut self, n: usize) -> Result<&'a [u8], Truncated> {
        let (head, tail) = self.remaining.split_at_checked(n).ok_or(Truncated)?;
        self.remaining = tail;
        Ok(head)
    }

    /// Takes all bytes not read yet.
    pub fn take_remaining(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.remaining)
    }

    /// Takes the bytes before the next NUL, and the NUL with them.
    pub fn take_nul(&mut self) -> Result<&'a [u8], Truncated> {
        let end = self.remaining.iter().position(|&b| b == 0).ok_or(Truncated)?;
        let head = &self.remaining[..end];
        self.remaining = &self.remaining[end + 1..];
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Truncated> {
        let (head, tail) = self.remaining.split_first_chunk::<N>().ok_or(Truncated)?;
        self.remaining = tail;
        Ok(*head)
    }

    /// Reads one byte.
    pub fn u8(&mut self) -> Result<u8, Truncated> {
        self.array::<1>().map(|[b]| b)
    }

    /// Reads two bytes, little-endian.
    pub fn u16(&mut self) -> Result<u16, Truncated> {
        self.array().map(u16::from_le_bytes)
    }

    /// Reads three bytes, little-endian.
    pub fn u24(&mut self) -> Result<u32, Truncated> {
        self.uint(3).map(|v| v as u32)
    }

    /// Reads four bytes, little-endian.
    pub fn u32(&mut self) -> Result<u32, Truncated> {
        self.array().map(u32::from_le_bytes)
    }

    /// Reads eight bytes, little-endian.
    pub fn u64(&mut self) -> Result<u64, Truncated> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads `n` bytes (at most 8), little-endian.
    pub fn uint(&mut self, n: usize) -> Result<u64, Truncated> {
        let mut wide = [0; 8];
        wide.get_mut(..n).ok_or(Truncated)?.copy_from_slice(self.take(n)?);
        Ok(u64::from_le_bytes(wide))
    }

    /// Reads a length-encoded integer. The markers 0xfb (NULL) and 0xff are no integers and count
    /// as truncated.
    pub fn lenenc(&mut self) -> Result<u64, Truncated> {
        match self.u8()? {
            v @ 0..=0xfa => Ok(v.into()),
            0xfc => self.u16().map(u64::from),
            0xfd => self.u24().map(u64::from),
            0xfe => self.u64(),
            0xfb | 0xff => Err(Truncated),
        }
    }

    /// Reads a length-encoded integer and as many bytes after it.
    pub fn lenenc_bytes(&mut self) -> Result<&'a [u8], Truncated> {
        let n = usize::try_from(self.lenenc()?).map_err(|_| Truncated)?;
        self.take(n)
    }
}

/// Appends `v` as a length-encoded integer.
pub fn put_lenenc(out: &mut Vec<u8>, v: u64) {
    match v {
        0..=0xfa => out.push(v as u8),
        0xfb..=0xffff => {
            out.push(0xfc);
            out.extend_from_slice(&(v as u16).to_le_bytes());
        }
        0x1_0000..=0xff_ffff => {
            out.push(0xfd);
            out.extend_from_slice(&v.to_le_bytes()[..3]);
        }
        _ => {
            out.push(0xfe);
            out.extend_from_slice(&v.to_le_bytes());
        }
    }
}

/// Appends `bytes` after their length-encoded length.
pub fn put_lenenc_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_lenenc(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lenenc_round_trips_at_each_width() {
        for v in [0, 0xfa, 0xfb, 0xffff, 0x1_0000, 0xff_ffff, 0x100_0000, u64::MAX] {
            let mut out = Vec::new();
            put_lenenc(&mut out, v);
            let mut c = Cursor::new(&out);
            assert_eq!(c.lenenc(), Ok(v));
            assert!(c.is_empty());
            for cut in 0..out.len() {
                assert_eq!(Cursor::new(&out[..cut]).lenenc(), Err(Truncated), "{v} cut to {cut}");
            }
        }
    }

    #[test]
    fn a_length_beyond_the_input_is_truncated() {
        let mut out = Vec::new();
        put_lenenc(&mut out, u64::MAX);
        assert_eq!(Cursor::new(&out).lenenc_bytes(), Err(Truncated));
        assert_eq!(Cursor::new(&[1, 2]).uint(9), Err(Truncated));
        assert_eq!(Cursor::new(b"abc").take_nul(), Err(Truncated));
    }
}
