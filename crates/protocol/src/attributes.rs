//! Values of the binary protocol as clients send them, and the named attributes that COM_QUERY may carry.
//!
//! ```text
//! lenenc   number of attributes k
//! lenenc   number of sets, always 1
//! if k > 0:
//!   (k + 7) / 8   NULL bitmap
//!   1 byte        1: types follow
//!   k times       2 bytes: type (low 7 bits of the second: the highest says unsigned); lenenc string: name
//!   k times       value, absent where the bitmap says NULL
//! ```

use stdx::cursor::{Cursor, Truncated};

/// A value in the binary protocol, borrowed from its packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum BinaryValue<'a> {
    /// NULL.
    Null,
    /// A signed integer of any width.
    Int(i64),
    /// An unsigned integer of any width.
    UInt(u64),
    /// FLOAT.
    Float(f32),
    /// DOUBLE.
    Double(f64),
    /// Strings, DECIMAL, JSON, BIT and all else that travels with its length.
    Bytes(&'a [u8]),
    /// DATE, DATETIME, TIMESTAMP: 0, 4, 7 or 11 bytes (year, month, day, hour, minute, second, microsecond).
    DateTime(&'a [u8]),
    /// TIME: 0, 8 or 12 bytes (sign, days, hour, minute, second, microsecond).
    Time(&'a [u8]),
}

/// An attribute: its name, and its value.
pub type Attribute<'a> = (&'a [u8], BinaryValue<'a>);

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
    pub fn read_value<'a>(self, c: &mut Cursor<'a>) -> Result<BinaryValue<'a>, Truncated> {
        let int = |signed: i64, unsigned: u64| match self.unsigned {
            true => BinaryValue::UInt(unsigned),
            false => BinaryValue::Int(signed),
        };
        Ok(match self.code {
            0x01 => c.u8().map(|v| int((v as i8).into(), v.into()))?,
            0x02 | 0x0d => c.u16().map(|v| int((v as i16).into(), v.into()))?,
            0x03 | 0x09 => c.u32().map(|v| int((v as i32).into(), v.into()))?,
            0x08 => c.u64().map(|v| int(v as i64, v))?,
            0x04 => BinaryValue::Float(f32::from_bits(c.u32()?)),
            0x05 => BinaryValue::Double(f64::from_bits(c.u64()?)),
            0x06 => BinaryValue::Null,
            0x07 | 0x0a | 0x0c | 0x0e | 0x11 | 0x12 => BinaryValue::DateTime(sized(c, &[0, 4, 7, 11])?),
            0x0b | 0x13 => BinaryValue::Time(sized(c, &[0, 8, 12])?),
            0x00 | 0x0f | 0x10 | 0xf2 | 0xf5..=0xff => BinaryValue::Bytes(c.lenenc_bytes()?),
            _ => return Err(Truncated),
        })
    }
}

/// Bytes behind a one-byte length that must be one of `allowed`.
fn sized<'a>(c: &mut Cursor<'a>, allowed: &[u8]) -> Result<&'a [u8], Truncated> {
    let n = c.u8()?;
    if allowed.contains(&n) { c.take(n.into()) } else { Err(Truncated) }
}

/// Reads the attributes before a query's text.
pub(crate) fn read_attributes<'a>(c: &mut Cursor<'a>) -> Result<Vec<Attribute<'a>>, Truncated> {
    let count = usize::try_from(c.lenenc()?).map_err(|_| Truncated)?;
    if c.lenenc()? != 1 {
        return Err(Truncated);
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    let nulls = c.take(count.div_ceil(8))?;
    if c.u8()? != 1 {
        return Err(Truncated);
    }
    // Not reserved by `count`: memory is for what has really arrived.
    let mut types = Vec::new();
    for _ in 0..count {
        types.push((BinaryType::read(c)?, c.lenenc_bytes()?));
    }
    let mut attributes = Vec::with_capacity(types.len());
    for (i, (ty, name)) in types.into_iter().enumerate() {
        let null = nulls[i / 8] >> (i % 8) & 1 == 1;
        attributes.push((name, if null { BinaryValue::Null } else { ty.read_value(c)? }));
    }
    Ok(attributes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of MySQL's page on COM_QUERY: one attribute `a` = "1".
    #[test]
    fn one_string_attribute() {
        let packet = b"\x01\x01\x00\x01\xfe\x00\x01a\x011select @@version_comment limit 1";
        let mut c = Cursor::new(packet);
        assert_eq!(read_attributes(&mut c), Ok(vec![(&b"a"[..], BinaryValue::Bytes(b"1"))]));
        assert_eq!(c.rest(), b"select @@version_comment limit 1");
    }

    #[test]
    fn null_and_numbers() {
        let mut packet = b"\x03\x01\x02\x01".to_vec();
        packet.extend_from_slice(b"\x01\x00\x01a\x08\x80\x01b\x08\x80\x01c");
        packet.push(0xff);
        packet.extend_from_slice(&u64::MAX.to_le_bytes());
        let read = read_attributes(&mut Cursor::new(&packet)).unwrap();
        assert_eq!(read[0].1, BinaryValue::Int(-1));
        assert_eq!(read[1].1, BinaryValue::Null);
        assert_eq!(read[2].1, BinaryValue::UInt(u64::MAX));
    }

    #[test]
    fn a_count_beyond_the_packet_is_truncated() {
        let packet = b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x01";
        assert_eq!(read_attributes(&mut Cursor::new(packet)), Err(Truncated));
    }
}
