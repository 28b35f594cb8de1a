//! MySQL's binary JSON: documents read where they lie, written, and printed.
//!
//! A value is a type byte and its data. Objects and arrays hold offsets to their members (2 bytes
//! each in the small form, 4 in the large one), or small values in the offset's place; an object's
//! keys are sorted by length, then by bytes. Offsets may point anywhere, so a hostile document
//! could name one member a thousand times at a thousand levels: what walks a whole document stops
//! when it has looked at more values than a document of that length has, and at MySQL's own limit
//! of 100 levels.
//!
//! | type | data |
//! | --- | --- |
//! | 0, 1 object; 2, 3 array (small, large) | count, size in bytes, key entries (offset, length of 2 bytes), value entries (type, offset or value), keys, values |
//! | 4 literal | 0 null, 1 true, 2 false |
//! | 5 to 10 | INT16, UINT16, INT32, UINT32, INT64, UINT64 |
//! | 11 double | 8 bytes |
//! | 12 string | length in groups of 7 bits, bytes in utf8mb4 |
//! | 15 opaque | column type, length, bytes |
//!
//! - [`view`]: navigation without decoding. [`tree`]: documents being made, and their encoding.
//!   [`print`]: text. [`diff`]: partial updates.
//!
//! Source: MySQL source documentation, `json_binary.h`.

mod diff;
mod print;
mod tree;
mod view;

pub use diff::{JsonDiff, JsonOperation, diffs};
pub(crate) use print::base64;
pub use print::{write_pretty, write_quoted, write_text};
pub use tree::{EncodeError, Tree};
pub use view::{Container, Json, Node, key_order};

use super::RowError;

const SMALL_OBJECT: u8 = 0x0;
const LARGE_OBJECT: u8 = 0x1;
const SMALL_ARRAY: u8 = 0x2;
const LARGE_ARRAY: u8 = 0x3;
const LITERAL: u8 = 0x4;
const INT16: u8 = 0x5;
const UINT16: u8 = 0x6;
const INT32: u8 = 0x7;
const UINT32: u8 = 0x8;
const INT64: u8 = 0x9;
const UINT64: u8 = 0xa;
const DOUBLE: u8 = 0xb;
const STRING: u8 = 0xc;
const OPAQUE: u8 = 0xf;

/// Levels of objects and arrays that a document may have.
pub const DEPTH_MAX: usize = 100;
const DAMAGED: RowError = RowError::Malformed("JSON document");

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn text(document: &[u8]) -> Result<String, RowError> {
        let mut out = Vec::new();
        write_text(document, &mut out)?;
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn scalars() {
        assert_eq!(text(&[]).unwrap(), "null");
        assert_eq!(text(&[LITERAL, 1]).unwrap(), "true");
        assert_eq!(text(&[INT16, 0xfd, 0xff]).unwrap(), "-3");
        assert_eq!(text(&[STRING, 3, b'a', b'"', 1]).unwrap(), "\"a\\\"\\u0001\"");
        let one = [&[DOUBLE][..], &1_f64.to_le_bytes()].concat();
        assert_eq!(text(&one).unwrap(), "1.0");
        assert_eq!(text(&[OPAQUE, 253, 4, 1, 2, 3, 4]).unwrap(), "\"base64:type253:AQIDBA==\"");
        assert_eq!(text(&[OPAQUE, 246, 4, 3, 2, 0x81, 0x32]).unwrap(), "1.50");
    }

    #[test]
    fn a_document_that_names_itself_again_and_again_ends() {
        // An array of 50 members, all of which are the array itself.
        let mut bytes = vec![SMALL_ARRAY, 50, 0, 154, 0];
        (0..50).for_each(|_| bytes.extend_from_slice(&[SMALL_ARRAY, 0, 0]));
        assert!(text(&bytes).is_err());
        assert!(Json::document(&bytes).unwrap().check().is_err());
        // The same in the large form, which is opened to be written again.
        let mut large = vec![LARGE_ARRAY, 2, 0, 0, 0, 18, 0, 0, 0];
        (0..2).for_each(|_| large.extend_from_slice(&[LARGE_ARRAY, 0, 0, 0, 0]));
        let root = Json::document(&large).unwrap();
        assert!(root.check().is_err());
        assert!(Tree::Stored(root).encode().is_err());
    }
}
