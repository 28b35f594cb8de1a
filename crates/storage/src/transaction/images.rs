//! How much of a changed row the log has (`binlog_row_image`).
//!
//! The log is the database, and rows are whole there: replay finds what an image leaves out in the
//! row as it was, which it has under the primary key (`replay.rs`). So an image before always has
//! the primary key; a row that is new is logged as a whole, whatever is asked for, and so is each
//! row of a table whose primary key other servers do not have (`TableSchema::log_whole_rows`).

use binlog::row::{ColumnType, Fields, RowError, RowImageBuilder, code};

use crate::schema::TableSchema;

/// `binlog_row_image`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RowImages {
    /// Before: the primary key. After: what has changed.
    Minimal,
    /// All but those BLOBs that are neither in the primary key nor changed; TEXT, JSON and the like
    /// are BLOBs too.
    NoBlob,
    /// All.
    #[default]
    Full,
}

/// The images of one change, in buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct PartialImages {
    /// The bitmaps, that of the row before first.
    pub(super) present: Vec<u8>,
    pub(super) before: Vec<u8>,
    pub(super) after: Vec<u8>,
}

impl PartialImages {
    /// What the log has of a row that goes.
    pub(super) fn delete(
        &mut self,
        images: RowImages,
        schema: &TableSchema,
        before: &[u8],
    ) -> Result<(), RowError> {
        self.mark_before(images, schema);
        project(schema.types(), &self.present, before, &mut self.before)
    }

    /// What the log has of a row that changes.
    pub(super) fn update(
        &mut self,
        images: RowImages,
        schema: &TableSchema,
        before: &[u8],
        after: &[u8],
    ) -> Result<(), RowError> {
        let len = self.mark_before(images, schema);
        self.present.resize(2 * len, 0);
        let (present_before, present_after) = self.present.split_at_mut(len);
        let types = schema.types();
        let mut new = Fields::new(types, None, None, after)?;
        for old in Fields::new(types, None, None, before)? {
            let new = new.next_field()?.ok_or(RowError::TooFewValues)?;
            if old.raw != new.raw || has_always(images, old.ty) {
                set(present_after, old.column);
            }
        }
        if present_after.iter().all(|bits| *bits == 0) {
            // Nothing has changed; an image without columns is none.
            present_after.copy_from_slice(present_before);
        }
        project(types, present_before, before, &mut self.before)?;
        project(types, present_after, after, &mut self.after)
    }

    /// Sets the bits of the image before, and returns how many bytes they take.
    fn mark_before(&mut self, images: RowImages, schema: &TableSchema) -> usize {
        let len = schema.types().len().div_ceil(8);
        self.present.clear();
        self.present.resize(len, 0);
        for (column, ty) in schema.types().iter().enumerate() {
            if has_always(images, ty) {
                set(&mut self.present, column);
            }
        }
        schema.primary.parts().iter().for_each(|part| set(&mut self.present, part.column));
        len
    }
}

fn has_always(images: RowImages, ty: &ColumnType) -> bool {
    match images {
        RowImages::Minimal => false,
        RowImages::NoBlob => !matches!(ty.code, code::BLOB | code::JSON | code::GEOMETRY | code::VECTOR),
        RowImages::Full => true,
    }
}

fn set(bits: &mut [u8], column: usize) {
    bits[column / 8] |= 1 << (column % 8);
}

fn is_set(bits: &[u8], column: usize) -> bool {
    bits[column / 8] >> (column % 8) & 1 == 1
}

/// The image of some columns of a whole row.
fn project(types: &[ColumnType], present: &[u8], image: &[u8], out: &mut Vec<u8>) -> Result<(), RowError> {
    out.clear();
    let mut builder = RowImageBuilder::with_present(types, Some(present), out);
    for field in Fields::new(types, None, None, image)?.filter(|field| is_set(present, field.column)) {
        builder.push_raw(field.raw)?;
    }
    builder.finish()
}
