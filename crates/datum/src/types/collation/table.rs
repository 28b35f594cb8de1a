//! Tables over all characters, as they lie in the files of `data`.
//!
//! A file is little-endian: the length of the index and the number of pages (4 bytes each); the
//! index, for each 64 characters the number of their page (2 bytes each); the pages, an entry for
//! each character (4 bytes each); the pool (4 bytes each). Characters without an entry have
//! `FFFFFFFF`, those after the index too.
//!
//! In a case map an entry is the other character. In a table of weights it is one collation
//! element, or `80000000 | count << 24 | place in the pool`. An element is
//! `primary << 14 | secondary << 5 | tertiary`; 0 has no weight at all.
//!
//! `cargo xtask collations make` makes the files. Source of `uca-9.0.0.bin` and `uca-5.2.0.bin`:
//! the Default Unicode Collation Element Table of these versions, © Unicode, Inc., under the
//! Unicode licence (<https://www.unicode.org/license.txt>). The others hold facts recorded from
//! MySQL, in which the tables of Unicode 4.0.0 and of older case mappings live on.

/// A table over all characters.
#[derive(Debug)]
pub(super) struct Table {
    index: &'static [u8],
    pages: &'static [u8],
    pool: &'static [u8],
}

const PAGE: usize = 64;

impl Table {
    /// Reads a file's header.
    pub(super) const fn new(file: &'static [u8]) -> Self {
        let (header, rest) = file.split_at(8);
        let index_len = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let page_count = u32::from_le_bytes([header[4], header[5], header[6], header[7]]) as usize;
        let (index, rest) = rest.split_at(index_len * 2);
        let (pages, pool) = rest.split_at(page_count * PAGE * 4);
        Self { index, pages, pool }
    }

    /// The entry of a character.
    pub(super) fn get(&self, c: u32) -> Option<u32> {
        let c = c as usize;
        let page = self.index.get(c / PAGE * 2..)?.first_chunk::<2>()?;
        let at = usize::from(u16::from_le_bytes(*page)) * PAGE + c % PAGE;
        let entry = u32::from_le_bytes(*self.pages.get(at * 4..)?.first_chunk()?);
        (entry != u32::MAX).then_some(entry)
    }

    /// The numbers in the pool from `at` on.
    pub(super) fn pooled(&self, at: usize) -> impl Iterator<Item = u32> {
        let numbers = self.pool.get(at * 4..).unwrap_or_default().as_chunks::<4>().0;
        numbers.iter().map(|bytes| u32::from_le_bytes(*bytes))
    }
}
