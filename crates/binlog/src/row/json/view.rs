//! A document read where it lies: no byte is copied, and only what is asked for is read.

use std::cmp::Ordering;

use stdx::cursor::Cursor;

use super::{
    DAMAGED, DEPTH_MAX, DOUBLE, INT16, INT32, INT64, LARGE_ARRAY, LARGE_OBJECT, LITERAL, OPAQUE, SMALL_ARRAY,
    SMALL_OBJECT, STRING, UINT16, UINT32, UINT64,
};
use crate::row::RowError;

/// A value inside a document: its type, and the bytes from where its data start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Json<'a> {
    kind: u8,
    data: &'a [u8],
}

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Node<'a> {
    /// The literal `null` of a document, which is not SQL's NULL.
    Null,
    /// `true` and `false`
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A number of eight bytes; as stored, so it may be no finite one in a damaged document.
    Double(f64),
    /// A string, in utf8mb4.
    String(&'a [u8]),
    /// A value of a SQL type: the column type's code and the bytes.
    Opaque(u8, &'a [u8]),
    /// An object or an array.
    Container(Container<'a>),
}

impl<'a> Json<'a> {
    /// The document `null`, which is not SQL's NULL.
    pub(crate) const NULL: Json<'static> = Json { kind: LITERAL, data: &[0] };

    /// A document's root. No bytes at all are JSON null.
    ///
    /// # Errors
    /// If the type is unknown. Damage further down is met when it is read.
    pub fn document(bytes: &'a [u8]) -> Result<Self, RowError> {
        match bytes.split_first() {
            None => Ok(Json::NULL),
            Some((&kind, data)) if matches!(kind, SMALL_OBJECT..=STRING | OPAQUE) => Ok(Self { kind, data }),
            Some(_) => Err(DAMAGED),
        }
    }

    /// What it is.
    ///
    /// # Errors
    /// If the value is damaged.
    pub fn node(&self) -> Result<Node<'a>, RowError> {
        let mut c = Cursor::new(self.data);
        Ok(match self.kind {
            SMALL_OBJECT | LARGE_OBJECT | SMALL_ARRAY | LARGE_ARRAY => {
                Node::Container(Container::new(self.kind, self.data)?)
            }
            LITERAL => match c.u8()? {
                0 => Node::Null,
                1 => Node::Bool(true),
                2 => Node::Bool(false),
                _ => return Err(DAMAGED),
            },
            INT16 => Node::Int((c.u16()? as i16).into()),
            UINT16 => Node::UInt(c.u16()?.into()),
            INT32 => Node::Int((c.u32()? as i32).into()),
            UINT32 => Node::UInt(c.u32()?.into()),
            INT64 => Node::Int(c.u64()? as i64),
            UINT64 => Node::UInt(c.u64()?),
            DOUBLE => Node::Double(f64::from_bits(c.u64()?)),
            STRING => {
                let n = variable_len(&mut c)?;
                Node::String(c.take(n)?)
            }
            OPAQUE => {
                let field_type = c.u8()?;
                let n = variable_len(&mut c)?;
                Node::Opaque(field_type, c.take(n)?)
            }
            _ => return Err(DAMAGED),
        })
    }

    /// The object or array that it is.
    pub fn container(&self) -> Option<Container<'a>> {
        match self.node() {
            Ok(Node::Container(container)) => Some(container),
            _ => None,
        }
    }

    /// The type byte.
    pub(super) fn kind(&self) -> u8 {
        self.kind
    }

    /// Its data, without what lies after them.
    pub(super) fn data(&self) -> Result<&'a [u8], RowError> {
        let len = match self.node()? {
            Node::Container(container) => container.bytes.len(),
            // What is in the string ends where the data do.
            Node::String(text) | Node::Opaque(_, text) => self.offset_of(text) + text.len(),
            _ => match self.kind {
                LITERAL => 1,
                INT16 | UINT16 => 2,
                INT32 | UINT32 => 4,
                _ => 8,
            },
        };
        self.data.get(..len).ok_or(DAMAGED)
    }

    /// Where `part`, whose length precedes it, starts.
    fn offset_of(&self, part: &[u8]) -> usize {
        let type_byte = usize::from(self.kind == OPAQUE);
        type_byte + variable_len_bytes(part.len(), &self.data[type_byte.min(self.data.len())..])
    }

    /// Appends it as a document of its own.
    ///
    /// # Errors
    /// If the value is damaged.
    pub fn write_document(&self, out: &mut Vec<u8>) -> Result<(), RowError> {
        let data = self.data()?;
        out.push(self.kind);
        out.extend_from_slice(data);
        Ok(())
    }

    /// Levels as JSON_DEPTH counts them: 1 for a scalar or an empty container.
    ///
    /// # Errors
    /// If it is damaged, or deeper than any document may be.
    pub fn depth(&self) -> Result<usize, RowError> {
        let mut budget = self.data.len() + 1;
        self.depth_within(DEPTH_MAX + 1, 1, &mut budget)
    }

    /// Checks a whole document that comes from elsewhere: what passes names nothing twice and keeps
    /// the limit of levels, so that every walk over it ends soon.
    ///
    /// # Errors
    /// [`RowError::Malformed`] says what is wrong.
    pub fn check(&self) -> Result<(), RowError> {
        if self.nesting()? > DEPTH_MAX {
            return Err(RowError::Malformed("JSON document is nested too deeply"));
        }
        Ok(())
    }

    /// Levels of objects and arrays: 0 for a scalar.
    pub(super) fn nesting(&self) -> Result<usize, RowError> {
        let mut budget = self.data.len() + 1;
        self.depth_within(DEPTH_MAX + 1, 0, &mut budget)
    }

    fn depth_within(&self, levels: usize, scalar: usize, budget: &mut usize) -> Result<usize, RowError> {
        *budget = budget.checked_sub(1).ok_or(DAMAGED)?;
        let levels = levels.checked_sub(1).ok_or(DAMAGED)?;
        let container = match self.node()? {
            Node::Container(container) => container,
            Node::String(bytes) | Node::Opaque(_, bytes) => {
                *budget = budget.checked_sub(bytes.len()).ok_or(DAMAGED)?;
                return Ok(scalar);
            }
            _ => return Ok(scalar),
        };
        let mut below = 0;
        for i in 0..container.len() {
            below = below.max(container.value(i)?.depth_within(levels, scalar, budget)?);
        }
        Ok(1 + below)
    }

    /// Where it lies: no two values of one document have the same place.
    pub fn place(&self) -> usize {
        self.data.as_ptr() as usize
    }
}

/// An object or an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Container<'a> {
    bytes: &'a [u8],
    count: usize,
    /// Width of counts and offsets.
    width: usize,
    is_object: bool,
}

impl<'a> Container<'a> {
    fn new(kind: u8, data: &'a [u8]) -> Result<Self, RowError> {
        let width = if matches!(kind, LARGE_OBJECT | LARGE_ARRAY) { 4 } else { 2 };
        let is_object = matches!(kind, SMALL_OBJECT | LARGE_OBJECT);
        let mut c = Cursor::new(data);
        let (count, size) = (c.uint(width)? as usize, c.uint(width)? as usize);
        let bytes = data.get(..size).ok_or(DAMAGED)?;
        let container = Self { bytes, count, width, is_object };
        // All entries must be there, so that no caller allocates for more members than there are.
        if container.entry(count) > size {
            return Err(DAMAGED);
        }
        Ok(container)
    }

    /// True for an object.
    pub fn is_object(&self) -> bool {
        self.is_object
    }

    /// Members or elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// True for `{}` and `[]`.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// True for the form with 4-byte offsets.
    pub(super) fn is_large(&self) -> bool {
        self.width == 4
    }

    fn key_entry_len(&self) -> usize {
        if self.is_object { self.width + 2 } else { 0 }
    }

    /// Where the `i`th value entry is.
    fn entry(&self, i: usize) -> usize {
        2 * self.width + self.count * self.key_entry_len() + i * (1 + self.width)
    }

    /// The `i`th key, in the document's order.
    ///
    /// # Errors
    /// If it is damaged, or there is no such key.
    pub fn key(&self, i: usize) -> Result<&'a [u8], RowError> {
        if i >= self.count || !self.is_object {
            return Err(DAMAGED);
        }
        let at = 2 * self.width + i * self.key_entry_len();
        let mut c = Cursor::new(self.bytes.get(at..).ok_or(DAMAGED)?);
        let (offset, len) = (c.uint(self.width)? as usize, usize::from(c.u16()?));
        self.bytes.get(offset..).and_then(|b| b.get(..len)).ok_or(DAMAGED)
    }

    /// The `i`th value.
    ///
    /// # Errors
    /// If it is damaged, or there is no such value.
    pub fn value(&self, i: usize) -> Result<Json<'a>, RowError> {
        if i >= self.count {
            return Err(DAMAGED);
        }
        let mut c = Cursor::new(self.bytes.get(self.entry(i)..).ok_or(DAMAGED)?);
        let kind = c.u8()?;
        if is_inlined(kind, self.is_large()) {
            return Ok(Json { kind, data: c.take(self.width)? });
        }
        let offset = c.uint(self.width)? as usize;
        Ok(Json { kind, data: self.bytes.get(offset..).ok_or(DAMAGED)? })
    }

    /// The member of this name, found by halving.
    ///
    /// # Errors
    /// If a key or the value is damaged.
    pub fn find(&self, name: &[u8]) -> Result<Option<Json<'a>>, RowError> {
        match self.position(name)? {
            Ok(i) => self.value(i).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// The member's number, or where it would be.
    ///
    /// # Errors
    /// If a key is damaged.
    pub fn position(&self, name: &[u8]) -> Result<Result<usize, usize>, RowError> {
        let (mut low, mut high) = (0, if self.is_object { self.count } else { 0 });
        while low < high {
            let middle = low.midpoint(high);
            match key_order(self.key(middle)?, name) {
                Ordering::Equal => return Ok(Ok(middle)),
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
            }
        }
        Ok(Err(low))
    }
}

/// The order of an object's keys: by length, then by bytes.
pub fn key_order(a: &[u8], b: &[u8]) -> Ordering {
    a.len().cmp(&b.len()).then_with(|| a.cmp(b))
}

/// True for values that stand in their entry.
pub(super) fn is_inlined(kind: u8, large: bool) -> bool {
    matches!(kind, LITERAL | INT16 | UINT16) || large && matches!(kind, INT32 | UINT32)
}

/// Seven bits a byte, lowest first, the high bit says that more follow; at most 5 bytes.
fn variable_len(c: &mut Cursor<'_>) -> Result<usize, RowError> {
    let mut len = 0_u64;
    for shift in (0..35).step_by(7) {
        let byte = c.u8()?;
        len |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(len).map(|n| n as usize).map_err(|_| DAMAGED);
        }
    }
    Err(DAMAGED)
}

/// Bytes that the length before a text of `len` bytes takes: what stands there, which need not be
/// the shortest form.
fn variable_len_bytes(len: usize, data: &[u8]) -> usize {
    let shortest = (usize::BITS - len.leading_zeros()).div_ceil(7).max(1) as usize;
    data.iter().position(|b| b & 0x80 == 0).map_or(shortest, |i| i + 1)
}
