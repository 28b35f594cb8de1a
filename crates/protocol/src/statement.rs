//! Prepared statements: the reply to COM_STMT_PREPARE, and the parameters of COM_STMT_EXECUTE.
//!
//! ```text
//! prepared  00, 4 statement id, 2 number of columns, 2 number of parameters, 00, 2 warnings,
//!           1 metadata follows (only with OPTIONAL_RESULTSET_METADATA);
//!           a definition for each parameter, EOF; one for each column, EOF; no EOF where there are none or with
//!           DEPRECATE_EOF
//!
//! execute   17, 4 statement id, 1 flags, 4 iterations (1); and if there are parameters:
//!           lenenc number of them (only with QUERY_ATTRIBUTES: attributes are those after the statement's own)
//!           (n + 7) / 8 NULL bitmap
//!           1: types follow; n times 2 type, and lenenc name (only with QUERY_ATTRIBUTES)
//!           values, absent where the bitmap says NULL or the value was sent as long data
//! ```

use crate::attributes::Attribute;
use crate::binary::{BinaryType, BinaryValue};
use crate::error::ErrorReply;
use crate::flags::Capabilities;
use stdx::cursor::{Cursor, Truncated};

/// [`Command::StmtExecute`](crate::Command::StmtExecute)'s flags.
pub mod execute_flags {
    /// A read-only cursor is wanted.
    pub const CURSOR_READ_ONLY: u8 = 1;
    /// Any kind of cursor is wanted.
    pub const CURSOR_ANY: u8 = 7;
    /// The number of parameters is sent even if the statement has none.
    pub const PARAMETER_COUNT_AVAILABLE: u8 = 8;
}

/// What the reply to COM_STMT_PREPARE says, besides the definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Prepared {
    /// The statement's id.
    pub id: u32,
    /// How many parameters it has.
    pub parameters: u16,
    /// Warnings of the preparation.
    pub warnings: u16,
}

pub(crate) fn put_prepared(out: &mut Vec<u8>, prepared: &Prepared, columns: u16) {
    out.push(0);
    out.extend_from_slice(&prepared.id.to_le_bytes());
    out.extend_from_slice(&columns.to_le_bytes());
    out.extend_from_slice(&prepared.parameters.to_le_bytes());
    out.push(0);
    out.extend_from_slice(&prepared.warnings.to_le_bytes());
}

/// A parameter's value in an execution.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument<'a> {
    /// In the packet, with its type.
    Value(BinaryType, BinaryValue<'a>),
    /// Sent before with COM_STMT_SEND_LONG_DATA; the type says what the bytes are.
    LongData(BinaryType),
}

/// What an execution is read with.
pub struct Reading<'r> {
    /// The connection's capabilities.
    pub capabilities: Capabilities,
    /// The command's flags.
    pub flags: u8,
    /// How many parameters the statement has.
    pub parameters: usize,
    /// The types of the execution before, used where this one sends none.
    pub types: &'r mut Vec<BinaryType>,
    /// True for parameters that were sent as long data.
    pub is_long: &'r dyn Fn(usize) -> bool,
}

impl Reading<'_> {
    /// Takes the fields after the flags apart: `each` gets the statement's parameters, in order,
    /// and the query attributes are what it returns. The error is what to reply: 1210 if the
    /// statement's types were never sent, 1835 for what can't be read.
    pub fn read<'a>(
        &mut self,
        packet: &'a [u8],
        each: impl FnMut(Argument<'a>),
    ) -> Result<Vec<Attribute<'a>>, ErrorReply> {
        self.arguments(&mut Cursor::new(packet), each)
            .map_err(|Truncated| ErrorReply::malformed_packet())?
            .ok_or_else(|| ErrorReply::wrong_arguments("mysqld_stmt_execute"))
    }

    /// `None` if no types are known.
    fn arguments<'a>(
        &mut self,
        c: &mut Cursor<'a>,
        mut each: impl FnMut(Argument<'a>),
    ) -> Result<Option<Vec<Attribute<'a>>>, Truncated> {
        let attributed = self.capabilities.has(Capabilities::QUERY_ATTRIBUTES);
        let counted = attributed && self.flags & execute_flags::PARAMETER_COUNT_AVAILABLE != 0;
        let mut count = self.parameters;
        if attributed && (count > 0 || counted) {
            count = c.lenenc()?.try_into().map_err(|_| Truncated)?;
        }
        if count < self.parameters {
            return Ok(None);
        }
        if count == 0 {
            return Ok(Some(Vec::new()));
        }
        let nulls = c.take(count.div_ceil(8))?;
        let mut names = Vec::new();
        let mut extra = Vec::new();
        if c.u8()? == 1 {
            // Bound by what has arrived: each type takes two bytes.
            let mut types = Vec::with_capacity(count.min(c.remaining() / 2));
            for i in 0..count {
                types.push(BinaryType::read(c)?);
                let name = if attributed { c.lenenc_bytes()? } else { &[] };
                if i >= self.parameters {
                    names.push(name);
                }
            }
            extra = types.split_off(self.parameters);
            *self.types = types;
        } else if count > self.parameters {
            return Err(Truncated);
        }
        if self.types.len() < self.parameters {
            return Ok(None);
        }
        let is_null = |i: usize| nulls[i / 8] >> (i % 8) & 1 == 1;
        for (i, &ty) in self.types.iter().enumerate() {
            each(match ty {
                _ if (self.is_long)(i) => Argument::LongData(ty),
                _ if is_null(i) => Argument::Value(ty, BinaryValue::Null),
                _ => Argument::Value(ty, ty.read_value(c)?),
            });
        }
        let mut attributes = Vec::with_capacity(names.len());
        for ((i, name), ty) in names.into_iter().enumerate().zip(extra) {
            let null = is_null(self.parameters + i);
            attributes.push((name, if null { BinaryValue::Null } else { ty.read_value(c)? }));
        }
        Ok(Some(attributes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binary::code;

    const PLAIN: Capabilities = Capabilities::SERVER.without(Capabilities::QUERY_ATTRIBUTES);

    /// Parameters and attributes.
    type Read<'a> = (Vec<Argument<'a>>, Vec<Attribute<'a>>);

    fn read<'a>(
        capabilities: Capabilities,
        flags: u8,
        parameters: usize,
        types: &mut Vec<BinaryType>,
        packet: &'a [u8],
    ) -> Result<Read<'a>, u16> {
        let mut reading = Reading { capabilities, flags, parameters, types, is_long: &|i| i == 7 };
        let mut read = Vec::new();
        let attributes = reading.read(packet, |argument| read.push(argument)).map_err(|e| e.number)?;
        Ok((read, attributes))
    }

    #[test]
    fn types_are_kept_for_the_next_execution() {
        let mut types = Vec::new();
        let (first, _) = read(PLAIN, 0, 2, &mut types, b"\x00\x01\x01\x80\xfd\0\xff\x02hi").unwrap();
        let tiny = BinaryType { code: code::TINY, unsigned: true };
        let text = BinaryType { code: code::VAR_STRING, unsigned: false };
        assert_eq!(
            first,
            [Argument::Value(tiny, BinaryValue::UInt(255)), Argument::Value(text, BinaryValue::Bytes(b"hi"))]
        );
        let (second, _) = read(PLAIN, 0, 2, &mut types, b"\x02\x00\x07").unwrap();
        assert_eq!(
            second,
            [Argument::Value(tiny, BinaryValue::UInt(7)), Argument::Value(text, BinaryValue::Null)]
        );
    }

    #[test]
    fn without_types_there_is_nothing_to_read_by() {
        assert_eq!(read(PLAIN, 0, 1, &mut Vec::new(), b"\x00\x00\x07"), Err(1210));
        assert_eq!(read(Capabilities::SERVER, 0, 2, &mut Vec::new(), b"\x01\x00\x01\x01\0\0\x01"), Err(1210));
    }

    #[test]
    fn attributes_come_after_the_parameters() {
        let packet = b"\x02\x00\x01\x01\x00\x00\xfd\x00\x01a\x05\x01x";
        let (parameters, attributes) = read(Capabilities::SERVER, 0, 1, &mut Vec::new(), packet).unwrap();
        assert_eq!(attributes, [(&b"a"[..], BinaryValue::Bytes(b"x"))]);
        let tiny = BinaryType { code: code::TINY, unsigned: false };
        assert_eq!(parameters, [Argument::Value(tiny, BinaryValue::Int(5))]);
    }

    #[test]
    fn a_statement_without_parameters_carries_attributes_if_it_says_so() {
        let packet = b"\x01\x00\x01\xfd\x00\x01a\x01x";
        let read = |flags| read(Capabilities::SERVER, flags, 0, &mut Vec::new(), packet).unwrap().1.len();
        assert_eq!(read(0), 0);
        assert_eq!(read(execute_flags::PARAMETER_COUNT_AVAILABLE), 1);
    }

    #[test]
    fn counts_and_lengths_beyond_the_packet_are_malformed() {
        let packets: [&[u8]; 5] = [
            b"",
            b"\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x00\x01",
            b"\x01\x00\x01\x01",
            b"\x01\x00\x01\xfd\x00\x00\x05hi",
            b"\x01\x00\x01\xf3\x00\x00\x05hi",
        ];
        for packet in packets {
            assert_eq!(read(Capabilities::SERVER, 0, 1, &mut Vec::new(), packet), Err(1835), "{packet:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_panic(packet: Vec<u8>, flags: u8, parameters in 0_usize..20, plain: bool) {
            let capabilities = if plain { PLAIN } else { Capabilities::SERVER };
            let mut types = Vec::new();
            let _ = read(capabilities, flags, parameters, &mut types, &packet);
            let _ = read(capabilities, flags, parameters, &mut types, &packet);
        }
    }
}
