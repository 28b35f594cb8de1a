//! Documents being made, and their encoding.
//!
//! A [`Tree`] may hold values of existing documents as they lie ([`Tree::Stored`]): what a change
//! doesn't touch is copied, not decoded. Encoding tries the small form of each container first and
//! falls back to the large one, as MySQL does, so that equal documents have equal bytes.

use std::borrow::Cow;

use super::view::{Json, Node, is_inlined, key_order};
use super::{
    DEPTH_MAX, DOUBLE, INT16, INT32, INT64, LARGE_ARRAY, LARGE_OBJECT, LITERAL, OPAQUE, SMALL_ARRAY,
    SMALL_OBJECT, STRING, UINT16, UINT32, UINT64,
};
use crate::row::RowError;

/// A value being made.
#[derive(Debug, Clone, PartialEq)]
pub enum Tree<'a> {
    /// The literal `null`, which is not SQL's NULL.
    Null,
    /// `true` and `false`
    Bool(bool),
    /// A signed integer.
    Int(i64),
    /// An unsigned integer.
    UInt(u64),
    /// A finite double.
    Double(f64),
    /// A string, in utf8mb4.
    String(Cow<'a, [u8]>),
    /// A value of a SQL type: the column type's code and the bytes.
    Opaque(u8, Cow<'a, [u8]>),
    /// Values in their order.
    Array(Vec<Tree<'a>>),
    /// An object; its members are in the order of [`key_order`], each name once.
    Object(Vec<(Cow<'a, [u8]>, Tree<'a>)>),
    /// A value of another document.
    Stored(Json<'a>),
    /// A whole document, encoded.
    Document(Vec<u8>),
}

/// Why a tree is no document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// More levels than [`DEPTH_MAX`].
    #[error("the document is nested too deeply")]
    TooDeep,
    /// A key of more than 65535 bytes.
    #[error("a key is too long")]
    KeyTooLong,
    /// A document of 4 GiB or more.
    #[error("the document is too big")]
    TooBig,
    /// The document is longer than it may be, or the caller does not want it any more.
    #[error("the document was given up")]
    GivenUp,
    /// A stored part is damaged.
    #[error(transparent)]
    Damaged(#[from] RowError),
}

/// How far an encoding may go.
#[derive(Clone, Copy)]
struct Bounds<'b> {
    /// Bytes of the document, at most.
    max: usize,
    /// False once the caller does not want it any more.
    goes_on: &'b dyn Fn() -> bool,
}

impl<'a> Tree<'a> {
    /// A container of members that come in any order; of those with one name the last wins.
    pub fn object(mut members: Vec<(Cow<'a, [u8]>, Tree<'a>)>) -> Self {
        members.sort_by(|(a, _), (b, _)| key_order(a, b));
        // Stable: of equal keys the last given is the last, and it is kept.
        members.reverse();
        members.dedup_by(|(a, _), (b, _)| a == b);
        members.reverse();
        Tree::Object(members)
    }

    /// Decodes one level of a stored container, so that it can be changed; others stay as they are.
    ///
    /// # Errors
    /// If the stored value is damaged.
    pub fn open(&mut self) -> Result<(), RowError> {
        let value = match self {
            Tree::Stored(value) => *value,
            Tree::Document(document) => {
                let mut opened = Tree::Stored(Json::document(document)?);
                opened.open()?;
                *self = opened.into_owned()?;
                return Ok(());
            }
            _ => return Ok(()),
        };
        *self = match value.node()? {
            Node::Container(container) if container.is_object() => {
                let member = |i| Ok((Cow::Borrowed(container.key(i)?), Tree::Stored(container.value(i)?)));
                Tree::Object((0..container.len()).map(member).collect::<Result<_, RowError>>()?)
            }
            Node::Container(container) => {
                let element = |i| container.value(i).map(Tree::Stored);
                Tree::Array((0..container.len()).map(element).collect::<Result<_, RowError>>()?)
            }
            scalar => Tree::scalar(scalar),
        };
        Ok(())
    }

    /// Decodes a stored scalar; containers stay as they are.
    ///
    /// # Errors
    /// If the stored value is damaged.
    pub fn open_scalar(&mut self) -> Result<(), RowError> {
        match self.as_stored().map(|value| value.container()) {
            Some(None) => self.open(),
            _ => Ok(()),
        }
    }

    fn scalar(node: Node<'a>) -> Self {
        match node {
            Node::Null | Node::Container(_) => Tree::Null,
            Node::Bool(v) => Tree::Bool(v),
            Node::Int(v) => Tree::Int(v),
            Node::UInt(v) => Tree::UInt(v),
            Node::Double(v) => Tree::Double(v),
            Node::String(text) => Tree::String(Cow::Borrowed(text)),
            Node::Opaque(field_type, bytes) => Tree::Opaque(field_type, Cow::Borrowed(bytes)),
        }
    }

    /// The same tree without anything borrowed.
    ///
    /// # Errors
    /// If a stored value is damaged.
    pub fn into_owned(self) -> Result<Tree<'static>, RowError> {
        Ok(match self {
            Tree::Null => Tree::Null,
            Tree::Bool(v) => Tree::Bool(v),
            Tree::Int(v) => Tree::Int(v),
            Tree::UInt(v) => Tree::UInt(v),
            Tree::Double(v) => Tree::Double(v),
            Tree::String(text) => Tree::String(Cow::Owned(text.into_owned())),
            Tree::Opaque(field_type, bytes) => Tree::Opaque(field_type, Cow::Owned(bytes.into_owned())),
            Tree::Array(elements) => {
                Tree::Array(elements.into_iter().map(Tree::into_owned).collect::<Result<_, _>>()?)
            }
            Tree::Object(members) => {
                let own = |(key, value): (Cow<'a, [u8]>, Tree<'a>)| {
                    Ok((Cow::Owned(key.into_owned()), value.into_owned()?))
                };
                Tree::Object(members.into_iter().map(own).collect::<Result<_, RowError>>()?)
            }
            Tree::Stored(value) => match value.node()? {
                Node::Container(_) => {
                    let mut document = Vec::new();
                    value.write_document(&mut document)?;
                    Tree::Document(document)
                }
                // Millions of numbers need no memory of their own each.
                scalar => Tree::scalar(scalar).into_owned()?,
            },
            Tree::Document(document) => Tree::Document(document),
        })
    }

    /// The stored value that it is.
    fn as_stored(&self) -> Option<Json<'_>> {
        match self {
            Tree::Stored(value) => Some(*value),
            Tree::Document(document) => Json::document(document).ok(),
            _ => None,
        }
    }

    /// True for an array, stored or not.
    pub fn is_array(&self) -> bool {
        match self {
            Tree::Array(_) => true,
            _ => self.as_stored().and_then(|v| v.container()).is_some_and(|c| !c.is_object()),
        }
    }

    /// True for an object, stored or not.
    pub fn is_object(&self) -> bool {
        match self {
            Tree::Object(_) => true,
            _ => self.as_stored().and_then(|v| v.container()).is_some_and(|c| c.is_object()),
        }
    }

    /// The document's bytes.
    ///
    /// # Errors
    /// Any [`EncodeError`] but [`EncodeError::GivenUp`].
    pub fn encode(&self) -> Result<Vec<u8>, EncodeError> {
        self.encode_within(usize::MAX, &|| true)
    }

    /// The same for a document of at most `max` bytes, as long as `goes_on` says so: asked for each
    /// value.
    ///
    /// # Errors
    /// Any [`EncodeError`].
    pub fn encode_within(&self, max: usize, goes_on: &dyn Fn() -> bool) -> Result<Vec<u8>, EncodeError> {
        let bounds = Bounds { max, goes_on };
        self.check_depth(DEPTH_MAX, bounds)?;
        let mut out = vec![0];
        out[0] = self.write(false, bounds, &mut out)?;
        if out.len() > max { Err(EncodeError::GivenUp) } else { Ok(out) }
    }

    fn check_depth(&self, levels: usize, bounds: Bounds<'_>) -> Result<(), EncodeError> {
        if !(bounds.goes_on)() {
            return Err(EncodeError::GivenUp);
        }
        let inner = || levels.checked_sub(1).ok_or(EncodeError::TooDeep);
        match self {
            Tree::Array(elements) => {
                let levels = inner()?;
                elements.iter().try_for_each(|e| e.check_depth(levels, bounds))
            }
            Tree::Object(members) => {
                let levels = inner()?;
                members.iter().try_for_each(|(_, v)| v.check_depth(levels, bounds))
            }
            Tree::Stored(_) | Tree::Document(_) => match self.as_stored() {
                Some(value) if value.nesting()? > levels => Err(EncodeError::TooDeep),
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Appends the value's data and returns its type. `in_small`: inside a container of the small
    /// form, which fails with [`EncodeError::TooBig`] where this value has no small form.
    fn write(&self, in_small: bool, bounds: Bounds<'_>, out: &mut Vec<u8>) -> Result<u8, EncodeError> {
        match self {
            Tree::Null => out.push(0),
            Tree::Bool(v) => out.push(if *v { 1 } else { 2 }),
            Tree::Int(v) => return Ok(write_int(*v, out)),
            Tree::UInt(v) => return Ok(write_uint(*v, out)),
            Tree::Double(v) => {
                out.extend_from_slice(&v.to_le_bytes());
                return Ok(DOUBLE);
            }
            Tree::String(text) => {
                write_variable(text, out)?;
                return Ok(STRING);
            }
            Tree::Opaque(field_type, bytes) => {
                out.push(*field_type);
                write_variable(bytes, out)?;
                return Ok(OPAQUE);
            }
            Tree::Array(_) | Tree::Object(_) => return self.write_container(in_small, bounds, out),
            Tree::Document(document) => {
                return Tree::Stored(Json::document(document)?).write(in_small, bounds, out);
            }
            Tree::Stored(value) => {
                if value.container().is_some_and(|c| c.is_large()) {
                    // It may fit the small form by now.
                    let mut opened = self.clone();
                    opened.open()?;
                    return opened.write(in_small, bounds, out);
                }
                let data = value.data()?;
                if data.len() > bounds.max {
                    return Err(EncodeError::GivenUp);
                }
                out.extend_from_slice(data);
                return Ok(value.kind());
            }
        }
        Ok(LITERAL)
    }

    fn write_container(
        &self,
        in_small: bool,
        bounds: Bounds<'_>,
        out: &mut Vec<u8>,
    ) -> Result<u8, EncodeError> {
        let start = out.len();
        let (small, large) = if matches!(self, Tree::Object(_)) {
            (SMALL_OBJECT, LARGE_OBJECT)
        } else {
            (SMALL_ARRAY, LARGE_ARRAY)
        };
        match self.write_entries(false, bounds, out) {
            Ok(()) => return Ok(small),
            Err(EncodeError::TooBig) if !in_small => out.truncate(start),
            Err(e) => return Err(e),
        }
        self.write_entries(true, bounds, out)?;
        Ok(large)
    }

    fn write_entries(&self, large: bool, bounds: Bounds<'_>, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let start = out.len();
        let width = if large { 4 } else { 2 };
        let empty: &[(Cow<'_, [u8]>, Tree<'_>)] = &[];
        let (members, elements): (_, &[Tree<'_>]) = match self {
            Tree::Object(members) => (members.as_slice(), &[]),
            Tree::Array(elements) => (empty, elements.as_slice()),
            _ => (empty, &[]),
        };
        let count = members.len() + elements.len();
        put(count, width, out)?;
        out.resize(out.len() + width + members.len() * (width + 2) + count * (1 + width), 0);
        let mut entry = start + 2 * width;
        for (key, _) in members {
            let offset = out.len() - start;
            put_at(offset, width, entry, out)?;
            let len = u16::try_from(key.len()).map_err(|_| EncodeError::KeyTooLong)?;
            out[entry + width..entry + width + 2].copy_from_slice(&len.to_le_bytes());
            out.extend_from_slice(key);
            entry += width + 2;
        }
        for value in members.iter().map(|(_, v)| v).chain(elements) {
            let at = out.len();
            if at > bounds.max || !(bounds.goes_on)() {
                return Err(EncodeError::GivenUp);
            }
            let kind = value.write(!large, bounds, out)?;
            out[entry] = kind;
            if is_inlined(kind, large) {
                let len = out.len() - at;
                out.copy_within(at.., entry + 1);
                out[entry + 1 + len..entry + 1 + width].fill(0);
                out.truncate(at);
            } else {
                put_at(at - start, width, entry + 1, out)?;
            }
            entry += 1 + width;
        }
        put_at(out.len() - start, width, start + width, out)
    }
}

fn write_int(v: i64, out: &mut Vec<u8>) -> u8 {
    if let Ok(v) = i16::try_from(v) {
        out.extend_from_slice(&v.to_le_bytes());
        INT16
    } else if let Ok(v) = i32::try_from(v) {
        out.extend_from_slice(&v.to_le_bytes());
        INT32
    } else {
        out.extend_from_slice(&v.to_le_bytes());
        INT64
    }
}

fn write_uint(v: u64, out: &mut Vec<u8>) -> u8 {
    if let Ok(v) = u16::try_from(v) {
        out.extend_from_slice(&v.to_le_bytes());
        UINT16
    } else if let Ok(v) = u32::try_from(v) {
        out.extend_from_slice(&v.to_le_bytes());
        UINT32
    } else {
        out.extend_from_slice(&v.to_le_bytes());
        UINT64
    }
}

fn write_variable(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let mut len = u32::try_from(bytes.len()).map_err(|_| EncodeError::TooBig)?;
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(bytes);
    Ok(())
}

fn put(v: usize, width: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
    let at = out.len();
    out.resize(at + width, 0);
    put_at(v, width, at, out)
}

fn put_at(v: usize, width: usize, at: usize, out: &mut [u8]) -> Result<(), EncodeError> {
    let bytes = (v as u64).to_le_bytes();
    if bytes[width..].iter().any(|&b| b != 0) {
        return Err(EncodeError::TooBig);
    }
    out[at..at + width].copy_from_slice(&bytes[..width]);
    Ok(())
}
