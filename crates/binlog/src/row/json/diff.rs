//! The changes of a partial update (`binlog_row_value_options=PARTIAL_JSON`).

use stdx::cursor::Cursor;

use crate::row::RowError;

/// One change to a document in a partial update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonDiff<'a> {
    /// What to do.
    pub operation: JsonOperation,
    /// Where, as a JSON path (`$.a[2]`).
    pub path: &'a [u8],
    /// The new value in binary form; empty for a removal.
    pub value: &'a [u8],
}

/// What a [`JsonDiff`] does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonOperation {
    /// Puts the value in the place of one that is there.
    Replace,
    /// Adds a member or an array element.
    Insert,
    /// Takes the value away.
    Remove,
}

/// Reads a column's changes one by one.
pub fn diffs(bytes: &[u8]) -> impl Iterator<Item = Result<JsonDiff<'_>, RowError>> {
    let mut c = Cursor::new(bytes);
    std::iter::from_fn(move || {
        if c.is_empty() {
            return None;
        }
        let diff = next_diff(&mut c);
        if diff.is_err() {
            c.take_remaining();
        }
        Some(diff)
    })
}

fn next_diff<'a>(c: &mut Cursor<'a>) -> Result<JsonDiff<'a>, RowError> {
    let operation = match c.u8()? {
        0 => JsonOperation::Replace,
        1 => JsonOperation::Insert,
        2 => JsonOperation::Remove,
        _ => return Err(RowError::Malformed("JSON change")),
    };
    let path = c.lenenc_bytes()?;
    let value = if operation == JsonOperation::Remove { &[][..] } else { c.lenenc_bytes()? };
    Ok(JsonDiff { operation, path, value })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn changes_are_read_one_by_one() {
        let bytes = [&[0, 3][..], b"$.a", &[2, 4, 1, 2, 4], b"$[3]"].concat();
        let all: Vec<_> = diffs(&bytes).map(Result::unwrap).collect();
        assert_eq!(all[0], JsonDiff { operation: JsonOperation::Replace, path: b"$.a", value: &[4, 1] });
        assert_eq!(all[1], JsonDiff { operation: JsonOperation::Remove, path: b"$[3]", value: &[] });
        assert!(diffs(&[9]).next().unwrap().is_err());
    }
}
