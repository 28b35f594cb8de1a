//! The binary protocol's values: read from what clients send, and rows written value by value.
//!
//! ```text
//! integers           1, 2, 4 or 8 bytes, little-endian, by the type: TINY; SHORT, YEAR; LONG, INT24; LONGLONG
//! FLOAT, DOUBLE      4, 8 bytes
//! DATE, DATETIME,    1 length: 0, 4, 7 or 11; 2 year, 1 month, 1 day; 1 hour, 1 minute, 1 second; 4 microseconds
//!   TIMESTAMP
//! TIME               1 length: 0, 8 or 12; 1 negative, 4 days, 1 hour, 1 minute, 1 second; 4 microseconds
//! all others         lenenc string; DECIMAL as its digits
//!
//! row                00; (n + 9) / 8 bytes of NULL bitmap, whose first two bits are not used; the values
//! ```
//!
//! Trailing parts of dates and times that are zero may be omitted, down to nothing at all.

use stdx::cursor::{Cursor, Truncated, put_lenenc_bytes};

/// The numbers of the types, as far as their form differs.
pub mod code {
    #![allow(missing_docs)]
    pub const TINY: u8 = 0x01;
    pub const SHORT: u8 = 0x02;
    pub const LONG: u8 = 0x03;
    pub const FLOAT: u8 = 0x04;
    pub const DOUBLE: u8 = 0x05;
    pub const NULL: u8 = 0x06;
    pub const TIMESTAMP: u8 = 0x07;
    pub const LONGLONG: u8 = 0x08;
    pub const INT24: u8 = 0x09;
    pub const DATE: u8 = 0x0a;
    pub const TIME: u8 = 0x0b;
    pub const DATETIME: u8 = 0x0c;
    pub const YEAR: u8 = 0x0d;
    pub const BOOL: u8 = 0xf4;
    pub const NEWDECIMAL: u8 = 0xf6;
    pub const DECIMAL: u8 = 0x00;
    pub const TINY_BLOB: u8 = 0xf9;
    pub const BLOB: u8 = 0xfc;
    pub const VAR_STRING: u8 = 0xfd;
}

/// A value in the binary protocol, borrowed from its packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BinaryValue<'a> {
    /// Its bit is set in the row's NULL bitmap; it has no bytes.
    Null,
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// Four bytes, IEEE 754.
    Float(f32),
    /// Eight bytes, IEEE 754.
    Double(f64),
    /// Strings, DECIMAL, JSON, BIT and all else that travels with its length.
    Bytes(&'a [u8]),
    /// DATE, DATETIME, TIMESTAMP.
    DateTime(BinaryDateTime),
    /// A TIME: an interval with a sign, which may be longer than a day.
    Time(BinaryTime),
}

/// A date with a time of day, as it was sent: nothing says that it is in the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct BinaryDateTime {
    pub year: u16,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub micros: u32,
}

/// A time, as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[allow(missing_docs)]
pub struct BinaryTime {
    pub negative: bool,
    pub days: u32,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub micros: u32,
}

/// A type code and its unsigned flag, as they stand before values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BinaryType {
    /// `MYSQL_TYPE_*`.
    pub code: u8,
    /// Integers are unsigned.
    pub unsigned: bool,
}

impl BinaryType {
    /// Reads the two bytes of a type.
    pub fn read(c: &mut Cursor<'_>) -> Result<Self, Truncated> {
        let (code, flags) = (c.u8()?, c.u8()?);
        Ok(Self { code, unsigned: flags & 0x80 != 0 })
    }

    /// Reads a value of this type; an unknown type counts as truncated input.
    pub(crate) fn read_value<'a>(self, c: &mut Cursor<'a>) -> Result<BinaryValue<'a>, Truncated> {
        let int = |signed: i64, unsigned: u64| match self.unsigned {
            true => BinaryValue::UInt(unsigned),
            false => BinaryValue::Int(signed),
        };
        Ok(match self.code {
            code::TINY | code::BOOL => c.u8().map(|v| int((v as i8).into(), v.into()))?,
            code::SHORT | code::YEAR => c.u16().map(|v| int((v as i16).into(), v.into()))?,
            code::LONG | code::INT24 => c.u32().map(|v| int((v as i32).into(), v.into()))?,
            code::LONGLONG => c.u64().map(|v| int(v as i64, v))?,
            code::FLOAT => BinaryValue::Float(f32::from_bits(c.u32()?)),
            code::DOUBLE => BinaryValue::Double(f64::from_bits(c.u64()?)),
            code::NULL => BinaryValue::Null,
            code::DATE | code::DATETIME | code::TIMESTAMP | 0x0e | 0x11 | 0x12 => {
                BinaryValue::DateTime(BinaryDateTime::read(c)?)
            }
            code::TIME | 0x13 => BinaryValue::Time(BinaryTime::read(c)?),
            code::DECIMAL | 0x0f | 0x10 | 0xf2 | 0xf5..=0xff => BinaryValue::Bytes(c.lenenc_bytes()?),
            _ => return Err(Truncated),
        })
    }
}

impl BinaryDateTime {
    fn read(c: &mut Cursor<'_>) -> Result<Self, Truncated> {
        let mut read = Self::default();
        let n = c.u8()?;
        if !matches!(n, 0 | 4 | 7 | 11) {
            return Err(Truncated);
        }
        if n >= 4 {
            (read.year, read.month, read.day) = (c.u16()?, c.u8()?, c.u8()?);
        }
        if n >= 7 {
            (read.hour, read.minute, read.second) = (c.u8()?, c.u8()?, c.u8()?);
        }
        if n == 11 {
            read.micros = c.u32()?;
        }
        Ok(read)
    }

    fn put(&self, out: &mut Vec<u8>) {
        let has_time = (self.hour, self.minute, self.second) != (0, 0, 0);
        let n = match self {
            Self { micros: 1.., .. } => 11,
            _ if has_time => 7,
            Self { year: 0, month: 0, day: 0, .. } => 0,
            _ => 4,
        };
        out.push(n);
        if n >= 4 {
            out.extend_from_slice(&self.year.to_le_bytes());
            out.extend_from_slice(&[self.month, self.day]);
        }
        if n >= 7 {
            out.extend_from_slice(&[self.hour, self.minute, self.second]);
        }
        if n == 11 {
            out.extend_from_slice(&self.micros.to_le_bytes());
        }
    }
}

impl BinaryTime {
    fn read(c: &mut Cursor<'_>) -> Result<Self, Truncated> {
        let mut read = Self::default();
        let n = c.u8()?;
        if !matches!(n, 0 | 8 | 12) {
            return Err(Truncated);
        }
        if n >= 8 {
            (read.negative, read.days) = (c.u8()? != 0, c.u32()?);
            (read.hour, read.minute, read.second) = (c.u8()?, c.u8()?, c.u8()?);
        }
        if n == 12 {
            read.micros = c.u32()?;
        }
        Ok(read)
    }

    fn put(&self, out: &mut Vec<u8>) {
        let is_zero = *self == Self { negative: self.negative, ..Self::default() };
        let n = match self.micros {
            1.. => 12,
            0 if is_zero => 0,
            0 => 8,
        };
        out.push(n);
        if n >= 8 {
            out.push(self.negative.into());
            out.extend_from_slice(&self.days.to_le_bytes());
            out.extend_from_slice(&[self.hour, self.minute, self.second]);
        }
        if n == 12 {
            out.extend_from_slice(&self.micros.to_le_bytes());
        }
    }
}

/// A row being appended to a buffer: one call per column, in order. Nothing is allocated but the
/// buffer itself.
pub struct BinaryRow<'a> {
    out: &'a mut Vec<u8>,
    /// Where the NULL bitmap is in `out`.
    bitmap: usize,
    /// The next column's number.
    column: usize,
}

impl<'a> BinaryRow<'a> {
    /// Begins a row of `columns` values at the buffer's end.
    pub fn begin(out: &'a mut Vec<u8>, columns: usize) -> Self {
        out.push(0);
        let bitmap = out.len();
        out.resize(bitmap + (columns + 9) / 8, 0);
        Self { out, bitmap, column: 0 }
    }

    /// Sets the column's bit in the bitmap; it gets no bytes.
    pub fn null(&mut self) {
        let bit = self.column + 2;
        self.column += 1;
        if let Some(byte) = self.out.get_mut(self.bitmap + bit / 8) {
            *byte |= 1 << (bit % 8);
        }
    }

    /// An integer in the width of its column's type: the low bytes of `value` in two's complement.
    pub fn integer(&mut self, column_type: u8, value: u64) {
        let width = match column_type {
            code::TINY => 1,
            code::SHORT | code::YEAR => 2,
            code::LONG | code::INT24 => 4,
            _ => 8,
        };
        self.column += 1;
        self.out.extend_from_slice(&value.to_le_bytes()[..width]);
    }

    /// Four bytes, for columns of type FLOAT.
    pub fn float(&mut self, value: f32) {
        self.column += 1;
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    /// Eight bytes, for columns of type DOUBLE.
    pub fn double(&mut self, value: f64) {
        self.column += 1;
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    /// DATE, DATETIME, TIMESTAMP.
    pub fn date_time(&mut self, value: &BinaryDateTime) {
        self.column += 1;
        value.put(self.out);
    }

    /// For columns of type TIME; 1, 9 or 13 bytes with the length.
    pub fn time(&mut self, value: &BinaryTime) {
        self.column += 1;
        value.put(self.out);
    }

    /// Strings, and whatever else travels with its length.
    pub fn bytes(&mut self, value: &[u8]) {
        self.column += 1;
        put_lenenc_bytes(self.out, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of MySQL's page on the binary protocol's values.
    #[test]
    fn published_examples() {
        let mut out = Vec::new();
        BinaryDateTime { year: 2010, month: 10, day: 17, hour: 19, minute: 27, second: 30, micros: 1 }
            .put(&mut out);
        assert_eq!(out, b"\x0b\xda\x07\x0a\x11\x13\x1b\x1e\x01\0\0\0");
        out.clear();
        BinaryTime { negative: true, days: 120, hour: 19, minute: 27, second: 30, micros: 1 }.put(&mut out);
        assert_eq!(out, b"\x0c\x01\x78\0\0\0\x13\x1b\x1e\x01\0\0\0");
        out.clear();
        BinaryDateTime::default().put(&mut out);
        BinaryTime::default().put(&mut out);
        assert_eq!(out, [0, 0]);
    }

    #[test]
    fn nulls_stand_two_bits_further() {
        let mut out = Vec::new();
        let mut row = BinaryRow::begin(&mut out, 7);
        row.null();
        (0..5).for_each(|_| row.integer(code::TINY, u64::MAX));
        row.null();
        assert_eq!(out, b"\x00\x04\x01\xff\xff\xff\xff\xff");
    }

    #[test]
    fn lengths_that_no_form_has_are_truncated() {
        for (code, packet) in [(code::DATE, b"\x05aaaaa"), (code::TIME, b"\x01aaaaa"), (0xf3, b"\x01aaaaa")] {
            let ty = BinaryType { code, unsigned: false };
            assert_eq!(ty.read_value(&mut Cursor::new(packet)), Err(Truncated));
        }
    }

    /// A value that may stand in a packet, with a type that it goes with.
    fn any_value() -> impl Strategy<Value = (u8, bool, u64, Vec<u8>, BinaryDateTime, BinaryTime)> {
        let date_time = (any::<u16>(), any::<u8>(), any::<u8>(), any::<[u8; 3]>(), 0_u32..3);
        let date_time = date_time.prop_map(|(year, month, day, [hour, minute, second], micros)| {
            BinaryDateTime { year, month, day, hour, minute, second, micros }
        });
        let time = (any::<bool>(), 0_u32..40, any::<[u8; 3]>(), 0_u32..3);
        let time = time.prop_map(|(negative, days, [hour, minute, second], micros)| {
            let time = BinaryTime { negative, days, hour, minute, second, micros };
            // Minus zero has no form of its own.
            BinaryTime {
                negative: negative && time != BinaryTime { negative, ..BinaryTime::default() },
                ..time
            }
        });
        let codes =
            prop::sample::select(vec![1_u8, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0xf6, 0xfc, 0xfd]);
        (codes, any::<bool>(), any::<u64>(), any::<Vec<u8>>(), date_time, time)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read((code, unsigned, number, bytes, date_time, time) in any_value()) {
            let mut out = Vec::new();
            let mut row = BinaryRow::begin(&mut out, 1);
            let widths = |v: u64| match code {
                code::TINY => (v as i8 as i64, v as u8 as u64),
                code::SHORT | code::YEAR => (v as i16 as i64, v as u16 as u64),
                code::LONG | code::INT24 => (v as i32 as i64, v as u32 as u64),
                _ => (v as i64, v),
            };
            let expected = match code {
                code::FLOAT => {
                    row.float(number as f32);
                    BinaryValue::Float(number as f32)
                }
                code::DOUBLE => {
                    row.double(number as f64);
                    BinaryValue::Double(number as f64)
                }
                code::NULL => {
                    row.null();
                    BinaryValue::Null
                }
                code::DATE | code::DATETIME | code::TIMESTAMP => {
                    row.date_time(&date_time);
                    BinaryValue::DateTime(date_time)
                }
                code::TIME => {
                    row.time(&time);
                    BinaryValue::Time(time)
                }
                0xf6.. => {
                    row.bytes(&bytes);
                    BinaryValue::Bytes(&bytes)
                }
                _ => {
                    row.integer(code, number);
                    let (signed, plain) = widths(number);
                    if unsigned { BinaryValue::UInt(plain) } else { BinaryValue::Int(signed) }
                }
            };
            let mut c = Cursor::new(&out[2..]);
            prop_assert_eq!(BinaryType { code, unsigned }.read_value(&mut c), Ok(expected));
            prop_assert!(c.is_empty());
            prop_assert_eq!(out[1], u8::from(code == code::NULL) << 2);
        }
    }
}
