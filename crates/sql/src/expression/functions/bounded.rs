//! How long the results of functions may be: `max_allowed_packet`, beyond which they are NULL with
//! warning 1301.
//!
//! [`checked`] checks the result of every function, so that none can forget it. What is much
//! longer than its operands is not even made: functions that know the length ask first
//! ([`too_long`]), others gather in a [`Growing`].

use crate::session::Context;
use datum::bounds;
use datum::error::{self, Result, SqlError};
use datum::value::Datum;

/// A function's value, if it is not too long. Documents have no other form, so that they are an
/// error.
pub(crate) fn checked<'a>(cx: &mut Context, name: &str, value: Datum<'a>) -> Result<Datum<'a>> {
    // Loops within it that cannot fail end early, with half a result. SLEEP() has reported its
    // interruption by its value.
    if let Err(e) = bounds::check()
        && name != "sleep"
    {
        return Err(e);
    }
    match &value {
        Datum::Json(document) if document.len() > cx.settings.max_allowed_packet() => {
            Err(document_too_long(cx))
        }
        Datum::Bytes(text) | Datum::Bits(text) | Datum::Label(_, text) if too_long(cx, name, text.len()) => {
            Ok(Datum::Null)
        }
        _ => Ok(value),
    }
}

/// True if a result of `len` bytes is too long, which makes it NULL with warning 1301.
#[inline]
pub(crate) fn too_long(cx: &mut Context, name: &str, len: usize) -> bool {
    let max = cx.settings.max_allowed_packet();
    if len > max {
        warn(cx, name);
    }
    len > max
}

#[cold]
fn warn(cx: &mut Context, name: &str) {
    let max = cx.settings.max_allowed_packet();
    cx.warn(error::WARN_ALLOWED_PACKET_OVERFLOWED.with(&[&name, &max]));
}

/// Error 1301 for a document.
#[cold]
pub(crate) fn document_too_long(cx: &Context) -> SqlError {
    let max = cx.settings.max_allowed_packet();
    error::WARN_ALLOWED_PACKET_OVERFLOWED.with(&[&"json_binary::serialize", &max])
}

/// A result that is put together piece by piece, and given up once it is too long.
pub(crate) struct Growing {
    bytes: Vec<u8>,
    max: usize,
    is_too_long: bool,
}

impl Growing {
    /// Nothing yet.
    pub(crate) fn new(cx: &Context) -> Self {
        Self { bytes: Vec::new(), max: cx.settings.max_allowed_packet(), is_too_long: false }
    }

    /// Appends a piece; error 3170 or 1041 if there is no memory for it, 1317 if the statement was
    /// killed.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<()> {
        let len = self.bytes.len() + piece.len();
        if self.is_too_long || len > self.max {
            self.bytes = Vec::new();
            self.is_too_long = true;
            return Ok(());
        }
        if len > self.bytes.capacity() {
            // Twice as much each time, but never more than there may be.
            let wanted = len.max(2 * self.bytes.capacity()).max(64).min(self.max);
            let more = wanted - self.bytes.len();
            bounds::check_for(more)?;
            self.bytes.try_reserve_exact(more).map_err(|_| error::OUT_OF_RESOURCES.plain())?;
        }
        self.bytes.extend_from_slice(piece);
        Ok(())
    }

    /// True if it is too long already: what follows makes no difference.
    pub(crate) fn is_too_long(&self) -> bool {
        self.is_too_long
    }

    /// The text, or NULL with the warning.
    pub(crate) fn finish<'a>(self, cx: &mut Context, name: &str) -> Datum<'a> {
        if self.is_too_long {
            warn(cx, name);
            return Datum::Null;
        }
        Datum::owned(self.bytes)
    }
}
