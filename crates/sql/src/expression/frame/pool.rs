//! Frames of blocks that have run are recycled for those that run next: a session's statements
//! allocate none.
//!
//! All images of a frame together keep no more memory than [`super::recycle`] leaves to one.

use std::sync::Arc;

use super::{Frame, IMAGE_RECYCLED, Slot};
use crate::catalog::TableDef;

/// A session recycles the frames of so many blocks: one, and a subquery in it.
const FRAMES_MAX: usize = 2;

/// So many slots, aggregates and group keys of a frame are recycled.
const SLOTS_RECYCLED: usize = 4;

/// Recycled frames, each without rows.
#[derive(Debug, Default)]
pub(crate) struct FramePool(Vec<Frame>);

impl FramePool {
    /// A frame of slots without rows, as [`Frame::new`] makes it, in the memory of a recycled one.
    pub(crate) fn get<'t>(
        &mut self,
        tables: impl ExactSizeIterator<Item = &'t Option<Arc<TableDef>>>,
    ) -> Frame {
        let mut frame = self.0.pop().unwrap_or_default();
        frame.slots.resize_with(tables.len().max(frame.slots.len()), Slot::default);
        for (slot, table) in frame.slots.iter_mut().zip(tables) {
            slot.table.clone_from(table);
        }
        frame
    }

    /// Recycles a frame that has done its work, if there is room.
    pub(crate) fn put(&mut self, mut frame: Frame) {
        if self.0.len() >= FRAMES_MAX {
            return;
        }
        frame.slots.truncate(SLOTS_RECYCLED);
        frame.slots.shrink_to(SLOTS_RECYCLED);
        let mut room = IMAGE_RECYCLED;
        for slot in &mut frame.slots {
            slot.recycle(room);
            room = room.saturating_sub(slot.image.capacity());
        }
        frame.aggregates.clear();
        frame.aggregates.shrink_to(SLOTS_RECYCLED);
        frame.group_keys.clear();
        frame.group_keys.shrink_to(SLOTS_RECYCLED);
        frame.windows.clear();
        frame.windows.shrink_to(SLOTS_RECYCLED);
        frame.steps = 0;
        self.0.push(frame);
    }
}

impl Slot {
    /// Lets go of all but so much memory for an image.
    fn recycle(&mut self, room: usize) {
        let (mut image, mut offsets) = (std::mem::take(&mut self.image), std::mem::take(&mut self.offsets));
        image.clear();
        image.shrink_to(room);
        offsets.recycle();
        *self = Self { image, offsets, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_little_and_holds_no_rows() {
        let mut pool = FramePool::default();
        for _ in 0..2 * FRAMES_MAX {
            let mut frame = Frame::new(std::iter::repeat_n(None, 100));
            frame.set_image(0, &[1; 100]).unwrap();
            frame.set_image(1, &vec![1; 1 << 20]).unwrap();
            frame.set_image(2, &vec![1; 1 << 20]).unwrap();
            frame.aggregates = vec![datum::value::Datum::Int(1); 100];
            pool.put(frame);
        }
        assert_eq!(pool.0.len(), FRAMES_MAX);
        let tables = [None, None];
        let frame = pool.get(tables.iter());
        assert_eq!((frame.slots.len(), frame.slots.capacity()), (SLOTS_RECYCLED, SLOTS_RECYCLED));
        let room: Vec<_> = frame.slots.iter().map(|slot| slot.image.capacity()).collect();
        assert_eq!(room, [100, IMAGE_RECYCLED - 100, 0, 0]);
        assert_eq!(frame.image(0), None);
        assert!(frame.aggregates.is_empty() && frame.aggregates.capacity() <= SLOTS_RECYCLED);
        assert_eq!(pool.0.len(), FRAMES_MAX - 1);
    }

    #[test]
    fn a_pooled_frame_has_as_many_slots_as_it_needs() {
        let mut pool = FramePool::default();
        pool.put(Frame::new(std::iter::repeat_n(None, 1)));
        let mut frame = pool.get([const { None }; 6].iter());
        frame.set_image(5, b"row").unwrap();
        assert_eq!(frame.image(5), Some(b"row".as_slice()));
    }
}
