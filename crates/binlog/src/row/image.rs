//! Row images: a bitmap of NULLs, then the values that are not NULL.
//!
//! An image covers the columns that are *present* (all, in the images that this server writes and
//! stores); the bitmap has a bit for each of those. Nothing here allocates: fields are slices of
//! the image.

use super::column_type::{ColumnType, code};
use super::value::Value;
use super::{RowError, bit};

/// A row image whose extent is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowImage<'a> {
    types: &'a [ColumnType],
    /// Bits of the present columns; `None` if all are.
    present: Option<&'a [u8]>,
    /// A partial update's bit for each JSON column: it holds changes, not a document.
    partial: Option<&'a [u8]>,
    bytes: &'a [u8],
}

impl<'a> RowImage<'a> {
    /// A full image, which must fill `bytes`.
    ///
    /// # Errors
    /// [`RowError::Truncated`] and [`RowError::TrailingBytes`].
    pub fn full(types: &'a [ColumnType], bytes: &'a [u8]) -> Result<Self, RowError> {
        let (image, remaining) = Self::split(types, None, bytes)?;
        if remaining.is_empty() { Ok(image) } else { Err(RowError::TrailingBytes) }
    }

    /// Takes the image at the start of `bytes`, and returns what is after it. `present` has a bit
    /// for each column; bits beyond it count as clear.
    ///
    /// # Errors
    /// [`RowError::Truncated`] if the bytes end before the image does.
    pub fn split(
        types: &'a [ColumnType],
        present: Option<&'a [u8]>,
        bytes: &'a [u8],
    ) -> Result<(Self, &'a [u8]), RowError> {
        let mut fields = Fields::new(types, present, None, bytes)?;
        while fields.next_field()?.is_some() {}
        let remaining = fields.remaining;
        let bytes = &bytes[..bytes.len() - remaining.len()];
        Ok((Self { types, present, partial: None, bytes }, remaining))
    }

    /// The image with the bits of a partial update's JSON columns.
    pub(crate) fn with_partial(self, partial: &'a [u8]) -> Self {
        Self { partial: Some(partial), ..self }
    }

    /// The image with the same bits of a partial update as another image of the table.
    pub fn with_partial_of(self, other: &RowImage<'a>) -> Self {
        Self { partial: other.partial, ..self }
    }

    /// A bit for each column that is there; `None` if all are.
    pub fn present(&self) -> Option<&'a [u8]> {
        self.present
    }

    /// The image's bytes, bitmap included.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The table's column types, those of absent columns too.
    pub fn types(&self) -> &'a [ColumnType] {
        self.types
    }

    /// The present columns, in order.
    pub fn fields(&self) -> Fields<'a> {
        Fields::new(self.types, self.present, self.partial, self.bytes).unwrap_or(Fields::EMPTY)
    }

    /// One column; `None` if it is absent.
    pub fn field(&self, column: usize) -> Option<Field<'a>> {
        self.fields().find(|f| f.column >= column).filter(|f| f.column == column)
    }
}

/// One column of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    /// The column's number, from 0.
    pub column: usize,
    /// Its type.
    pub ty: &'a ColumnType,
    /// Its bytes, a length before the value included; `None` is NULL.
    pub raw: Option<&'a [u8]>,
    /// A JSON column of a partial update that holds changes, not a document.
    pub is_diff: bool,
}

impl<'a> Field<'a> {
    /// Decodes the value.
    ///
    /// # Errors
    /// Those of [`Value::decode`].
    #[inline]
    pub fn value(&self) -> Result<Value<'a>, RowError> {
        match self.raw {
            None => Ok(Value::Null),
            Some(raw) => match Value::decode(self.ty, raw)? {
                Value::Json(bytes) if self.is_diff => Ok(Value::JsonDiffs(bytes)),
                value => Ok(value),
            },
        }
    }
}

/// Walks the columns of an image.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    types: &'a [ColumnType],
    present: Option<&'a [u8]>,
    partial: Option<&'a [u8]>,
    nulls: &'a [u8],
    remaining: &'a [u8],
    /// The next column.
    column: usize,
    /// How many present columns came before it.
    seen: usize,
    /// How many JSON columns came before it.
    json: usize,
}

impl<'a> Fields<'a> {
    const EMPTY: Self = Self {
        types: &[],
        present: None,
        partial: None,
        nulls: &[],
        remaining: &[],
        column: 0,
        seen: 0,
        json: 0,
    };

    /// Starts at the image that `bytes` begins with.
    ///
    /// # Errors
    /// [`RowError::Truncated`] if the bytes end within the null bits.
    pub fn new(
        types: &'a [ColumnType],
        present: Option<&'a [u8]>,
        partial: Option<&'a [u8]>,
        bytes: &'a [u8],
    ) -> Result<Self, RowError> {
        let count = match present {
            None => types.len(),
            Some(bits) => count_bits(bits, types.len()),
        };
        let (nulls, remaining) = bytes.split_at_checked(count.div_ceil(8)).ok_or(RowError::Truncated)?;
        Ok(Self { types, present, partial, nulls, remaining, column: 0, seen: 0, json: 0 })
    }

    /// The next present column.
    ///
    /// # Errors
    /// [`RowError::Truncated`] if the bytes end within the value.
    #[inline]
    pub fn next_field(&mut self) -> Result<Option<Field<'a>>, RowError> {
        while let Some(ty) = self.types.get(self.column) {
            let column = self.column;
            self.column += 1;
            let json = self.json;
            self.json += usize::from(ty.code == code::JSON);
            if self.present.is_some_and(|bits| !bit(bits, column)) {
                continue;
            }
            let is_null = bit(self.nulls, self.seen);
            self.seen += 1;
            let raw = if is_null {
                None
            } else {
                let (raw, remaining) = self.remaining.split_at(ty.value_len(self.remaining)?);
                self.remaining = remaining;
                Some(raw)
            };
            let is_diff = ty.code == code::JSON && self.partial.is_some_and(|bits| bit(bits, json));
            return Ok(Some(Field { column, ty, raw, is_diff }));
        }
        Ok(None)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    /// Ends early on damage; a [`RowImage`]'s extent was checked, so that its fields have none.
    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        self.next_field().ok().flatten()
    }
}

/// Set bits among the first `n`.
pub(crate) fn count_bits(bits: &[u8], n: usize) -> usize {
    let whole = bits.iter().take(n / 8).map(|b| b.count_ones() as usize).sum::<usize>();
    let last = bits.get(n / 8).map_or(0, |b| (b & ((1 << (n % 8)) - 1)).count_ones() as usize);
    whole + last
}

/// Writes one image at the end of a buffer: a value for each present column, in order.
#[derive(Debug)]
pub struct RowImageBuilder<'a> {
    types: &'a [ColumnType],
    present: Option<&'a [u8]>,
    out: &'a mut Vec<u8>,
    bitmap: usize,
    column: usize,
    seen: usize,
}

impl<'a> RowImageBuilder<'a> {
    /// A full image.
    pub fn new(types: &'a [ColumnType], out: &'a mut Vec<u8>) -> Self {
        Self::with_present(types, None, out)
    }

    /// An image of the columns whose bits are set.
    pub fn with_present(types: &'a [ColumnType], present: Option<&'a [u8]>, out: &'a mut Vec<u8>) -> Self {
        let count = present.map_or(types.len(), |bits| count_bits(bits, types.len()));
        let bitmap = out.len();
        out.resize(bitmap + count.div_ceil(8), 0);
        let mut builder = Self { types, present, out, bitmap, column: 0, seen: 0 };
        builder.skip_absent();
        builder
    }

    /// The type that the next value must have; `None` when all are there.
    pub(crate) fn next_type(&self) -> Option<&'a ColumnType> {
        self.types.get(self.column)
    }

    /// Appends the next column's value.
    ///
    /// # Errors
    /// If the value does not fit the column; then nothing was written and another may be pushed.
    #[inline]
    pub fn push(&mut self, value: &Value<'_>) -> Result<(), RowError> {
        let ty = self.next_type().ok_or(RowError::TooManyValues)?;
        let before = self.out.len();
        if let Err(e) = value.encode(ty, self.out) {
            self.out.truncate(before);
            return Err(e);
        }
        self.advance(matches!(value, Value::Null));
        Ok(())
    }

    /// Appends the next column as the bytes that another image has for it ([`Field::raw`]).
    ///
    /// # Errors
    /// [`RowError::TooManyValues`] after the last column.
    #[inline]
    pub fn push_raw(&mut self, raw: Option<&[u8]>) -> Result<(), RowError> {
        self.next_type().ok_or(RowError::TooManyValues)?;
        self.out.extend_from_slice(raw.unwrap_or_default());
        self.advance(raw.is_none());
        Ok(())
    }

    /// Ends the image.
    ///
    /// # Errors
    /// If a column has no value yet.
    pub fn finish(self) -> Result<(), RowError> {
        if self.column >= self.types.len() { Ok(()) } else { Err(RowError::TooFewValues) }
    }

    fn advance(&mut self, is_null: bool) {
        if is_null {
            self.out[self.bitmap + self.seen / 8] |= 1 << (self.seen % 8);
        }
        self.seen += 1;
        self.column += 1;
        self.skip_absent();
    }

    fn skip_absent(&mut self) {
        if let Some(bits) = self.present {
            while self.column < self.types.len() && !bit(bits, self.column) {
                self.column += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TYPES: [ColumnType; 3] = [
        ColumnType::new(code::LONG, 0),
        ColumnType::new(code::VARCHAR, 300),
        ColumnType::new(code::TINY, 0).unsigned(),
    ];

    fn image(values: &[Value<'_>]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut builder = RowImageBuilder::new(&TYPES, &mut out);
        values.iter().for_each(|v| builder.push(v).unwrap());
        builder.finish().unwrap();
        out
    }

    #[test]
    fn a_row_is_bitmap_then_values() {
        let values = [Value::Int(-2), Value::Null, Value::UInt(200)];
        let bytes = image(&values);
        assert_eq!(bytes, [0b010, 0xfe, 0xff, 0xff, 0xff, 200]);
        let row = RowImage::full(&TYPES, &bytes).unwrap();
        let decoded: Vec<_> = row.fields().map(|f| f.value().unwrap()).collect();
        assert_eq!(decoded, values);
        assert_eq!(row.field(2).unwrap().raw, Some(&[200][..]));
        for cut in 0..bytes.len() {
            assert!(RowImage::full(&TYPES, &bytes[..cut]).is_err());
        }
    }

    #[test]
    fn absent_columns_take_no_bits() {
        let mut out = Vec::new();
        let mut builder = RowImageBuilder::with_present(&TYPES, Some(&[0b101]), &mut out);
        builder.push_raw(None).unwrap();
        builder.push(&Value::UInt(3)).unwrap();
        assert_eq!(builder.push(&Value::Null), Err(RowError::TooManyValues));
        builder.finish().unwrap();
        assert_eq!(out, [0b01, 3]);
        out.push(9);
        let (row, remaining) = RowImage::split(&TYPES, Some(&[0b101]), &out).unwrap();
        assert_eq!(remaining, [9]);
        assert_eq!(row.fields().map(|f| f.column).collect::<Vec<_>>(), [0, 2]);
        assert_eq!(row.field(1), None);
    }

    #[test]
    fn values_out_of_range_are_refused_and_leave_nothing() {
        let mut out = Vec::new();
        let mut builder = RowImageBuilder::new(&TYPES, &mut out);
        assert_eq!(builder.push(&Value::Int(1 << 31)), Err(RowError::OutOfRange("integer")));
        assert_eq!(builder.push(&Value::Bytes(b"x")), Err(RowError::WrongValue(code::LONG)));
        builder.push(&Value::Int(1)).unwrap();
        assert!(builder.push(&Value::Bytes(&[b'x'; 301])).is_err());
        builder.push(&Value::Bytes(b"x")).unwrap();
        assert_eq!(builder.finish(), Err(RowError::TooFewValues));
    }
}
