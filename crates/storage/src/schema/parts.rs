//! Reading keys: where their parts end, and the values of columns that they hold.
//!
//! A key of a secondary index is its own parts, then those of the primary key. Numbers and times
//! can be read back from it, so that a query which asks for nothing else needs no row (a *covering*
//! index).

use super::{Index, TableSchema, bitmap};
use crate::key::{KeyError, PARTS_MAX, PartCodec};
use crate::schema::KeyPart;

impl TableSchema {
    /// True if a column's value can be read from the keys of an index, numbered as by
    /// [`Self::index`].
    pub fn key_holds(&self, index: usize, column: usize) -> bool {
        self.index(index).is_some_and(|index| index.holds(column)) || self.primary.holds(column)
    }

    /// Appends a row image that has these columns (ascending, each held by the keys:
    /// [`Self::key_holds`]) as a key of a secondary index has them, and NULL for all others.
    ///
    /// # Errors
    /// If the key is not one of this index.
    pub fn decode_key(
        &self,
        index: &Index,
        columns: &[usize],
        key: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<(), KeyError> {
        let (mut own, mut primary) = ([0; PARTS_MAX], [0; PARTS_MAX]);
        let secondary_end = index.ends(key, 0, &mut own)?;
        self.primary.ends(key, secondary_end, &mut primary)?;
        let start = out.len();
        out.extend(bitmap(self.types.iter().map(|_| true)));
        for &column in columns {
            let (codec, part) = match index.part_of(column) {
                Some(n) => (&index.codecs[n], start_of(&own, n, 0)..own[n]),
                None => {
                    let n = self.primary.part_of(column).ok_or(KeyError::Malformed)?;
                    (&self.primary.codecs[n], start_of(&primary, n, secondary_end)..primary[n])
                }
            };
            if codec.decode(&key[part], out) {
                out[start + column / 8] &= !(1 << (column % 8));
            }
        }
        Ok(())
    }
}

impl Index {
    /// The part from which a column's value can be read.
    fn part_of(&self, column: usize) -> Option<usize> {
        let whole = |part: &KeyPart, codec: &PartCodec| {
            part.column == column && part.prefix_len.is_none() && codec.is_decodable()
        };
        self.definition.parts.iter().zip(&self.codecs).position(|(part, codec)| whole(part, codec))
    }

    fn holds(&self, column: usize) -> bool {
        self.part_of(column).is_some()
    }

    /// Where the parts end that begin at `at` in a key; the end of the last one.
    fn ends(&self, key: &[u8], at: usize, ends: &mut [usize; PARTS_MAX]) -> Result<usize, KeyError> {
        let mut end = at;
        for (codec, place) in self.codecs.iter().zip(ends) {
            end += codec.skip(key.get(end..).ok_or(KeyError::Malformed)?)?;
            *place = end;
        }
        Ok(end)
    }

    /// Where the parts of a key of this index end in it.
    ///
    /// # Errors
    /// If the key is not one of this index.
    pub(crate) fn part_ends(&self, key: &[u8], ends: &mut Vec<usize>) -> Result<(), KeyError> {
        ends.clear();
        let mut end = 0;
        for codec in &self.codecs {
            end += codec.skip(&key[end..])?;
            ends.push(end);
        }
        Ok(())
    }
}

/// Where part `n` begins, if the first one begins at `first`.
fn start_of(ends: &[usize; PARTS_MAX], n: usize, first: usize) -> usize {
    n.checked_sub(1).map_or(first, |before| ends[before])
}
