//! The named attributes that COM_QUERY may carry before its text, and COM_STMT_EXECUTE after its
//! parameters.
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

use crate::binary::{BinaryType, BinaryValue};
use stdx::cursor::{Cursor, Truncated};

/// An attribute: its name, and its value.
pub type Attribute<'a> = (&'a [u8], BinaryValue<'a>);

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
        assert_eq!(c.remaining_slice(), b"select @@version_comment limit 1");
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
