//! Bytes that are only added at the end, in pieces: the memory of a large transaction is freed a
//! piece at a time, not by one call to the system during which nobody else can map memory.

use smallvec::SmallVec;

/// A piece is at most so long, but for bytes that are longer themselves.
const PIECE: usize = 1 << 20;
/// Room that the first piece begins with: a transaction of a few small rows needs no more, and does
/// not grow step by step.
const SMALL: usize = 1024;
/// A longer piece is freed, not recycled. In bytes.
const PIECE_RECYCLED_MAX: usize = 4 * SMALL;

/// The bytes.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    pieces: SmallVec<[Vec<u8>; 1]>,
    len: usize,
}

/// Where bytes lie that were added by one call.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteSpan {
    piece: usize,
    start: usize,
    end: usize,
}

impl Pieces {
    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// True if [`Self::clear`] would recycle little memory.
    pub(super) fn is_small(&self) -> bool {
        self.pieces.iter().all(|piece| piece.capacity() <= PIECE_RECYCLED_MAX)
    }

    /// Forgets all bytes, and keeps the memory of the first piece.
    pub(super) fn clear(&mut self) {
        self.pieces.truncate(1);
        self.pieces.iter_mut().for_each(Vec::clear);
        self.len = 0;
    }

    /// Adds bytes, which will lie together.
    pub(super) fn push(&mut self, parts: [&[u8]; 3]) -> ByteSpan {
        let len = parts.iter().map(|part| part.len()).sum::<usize>();
        if self.pieces.last().is_none_or(|last| last.len() + len > PIECE) {
            let room = if self.pieces.is_empty() { SMALL } else { PIECE };
            self.pieces.push(Vec::with_capacity(room.max(len)));
        }
        let piece = self.pieces.len() - 1;
        let bytes = &mut self.pieces[piece];
        let start = bytes.len();
        parts.iter().for_each(|part| bytes.extend_from_slice(part));
        self.len += len;
        ByteSpan { piece, start, end: bytes.len() }
    }

    /// The bytes at a span.
    pub(super) fn at(&self, span: ByteSpan) -> &[u8] {
        &self.pieces[span.piece][span.start..span.end]
    }

    /// Forgets the bytes at a span, which were the last ones added.
    pub(super) fn pop(&mut self, span: ByteSpan) {
        self.len -= span.end - span.start;
        self.pieces[span.piece].truncate(span.start);
        if span.start == 0 && span.piece > 0 {
            self.pieces.truncate(span.piece);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_added_and_taken_back_in_pieces() {
        let (mut pieces, mut model) = (Pieces::default(), Vec::new());
        let mut add = |pieces: &mut Pieces, len: usize| {
            let bytes = vec![model.len() as u8; len];
            let span = pieces.push([&bytes[..len / 3], &[], &bytes[len / 3..]]);
            model.push((span, bytes));
        };
        for len in [0, 5, PIECE - 5, 1, PIECE, 3 * PIECE, 10, PIECE - 10, 0, 1] {
            add(&mut pieces, len);
        }
        assert!(pieces.pieces.iter().all(|piece| piece.len() <= 3 * PIECE) && pieces.pieces.len() >= 5);
        while let Some((span, bytes)) = model.pop() {
            assert_eq!(pieces.at(span), bytes);
            assert_eq!(pieces.len(), bytes.len() + model.iter().map(|(_, bytes)| bytes.len()).sum::<usize>());
            pieces.pop(span);
            assert!(model.iter().all(|(span, bytes)| pieces.at(*span) == bytes));
        }
        assert_eq!((pieces.len(), pieces.pieces.len()), (0, 1));
    }
}
