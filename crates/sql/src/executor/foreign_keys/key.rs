//! The keys by which a foreign key's rows are found: a row's columns, as the other table's index
//! has them.

use std::sync::Arc;

use binlog::row::RowImageBuilder;
use smallvec::SmallVec;

use crate::catalog::TableDef;
use crate::catalog::foreign_key::have_same_bytes;
use crate::expression::row::ImageRow;
use crate::session::Context;
use datum::error::{Diagnostics, Result, SqlError};
use datum::types::{Charset, DataType};
use datum::value::{Datum, image, store};

/// How a row's columns become the beginning of a key in an index, of another table perhaps.
pub(super) struct KeyEncoder {
    pub(super) table: Arc<TableDef>,
    pub(super) index: usize,
    /// Columns of the row that is at hand.
    pub(super) from: Vec<usize>,
    /// Columns of `table`, which the index begins with.
    pub(super) to: Vec<usize>,
}

impl KeyEncoder {
    /// The beginning of the key that the row's columns are in the index; `None` if one of them is
    /// NULL, or no value of the other column's type.
    pub(super) fn encode(&self, cx: &mut Context, row: ImageRow<'_>) -> Result<Option<Vec<u8>>> {
        let mut bytes: SmallVec<[Raw<'_>; 4]> = SmallVec::new();
        for (&from, &to) in self.from.iter().zip(&self.to) {
            let Some(raw) = row.offsets.raw(row.image, from) else { return Ok(None) };
            let (of_row, of_index) = (&row.table.columns[from].ty, &self.table.columns[to].ty);
            bytes.push(match have_same_bytes(of_row, of_index) {
                true => Raw::Same(raw),
                false => match fitted(cx, row, from, of_index)? {
                    Some(value) => Raw::Fitted(raw_of(&value, of_index)?),
                    None => return Ok(None),
                },
            });
        }
        let values: SmallVec<[Option<&[u8]>; 4]> = bytes.iter().map(|raw| Some(raw.bytes())).collect();
        let index = self.table.schema.index(self.index);
        let index = index.ok_or_else(|| SqlError::internal("a foreign key by no index"))?;
        let mut key = Vec::new();
        index.encode_values(&values, &mut key).map_err(SqlError::internal)?;
        Ok(Some(key))
    }
}

/// A value's bytes as a row image has them.
enum Raw<'a> {
    Same(&'a [u8]),
    Fitted(Vec<u8>),
}

impl Raw<'_> {
    fn bytes(&self) -> &[u8] {
        match self {
            Raw::Same(bytes) => bytes,
            Raw::Fitted(bytes) => bytes,
        }
    }
}

/// A column's value as another type has it; `None` if that type has no such value.
pub(super) fn fitted<'a>(
    cx: &mut Context,
    row: ImageRow<'a>,
    column: usize,
    ty: &DataType,
) -> Result<Option<Datum<'static>>> {
    let own = &row.table.columns[column].ty;
    let zone = cx.settings.zone();
    let value = row.column(column, zone)?;
    if value.is_null() {
        return Ok(Some(Datum::Null));
    }
    let rules = store::Rules { strict: true, ..cx.store_rules(false) };
    let fit = |value: Datum<'a>, ty: &DataType, from: &DataType| -> Option<Datum<'static>> {
        let mut diagnostics = Diagnostics::default();
        let mut target =
            store::Target { column: "", table: "", row: 1, rules, diagnostics: &mut diagnostics };
        let charset = if from.is_string() { from.collation().charset() } else { Charset::Ascii };
        store::fit(value, charset, ty, &mut target).ok().map(Datum::into_owned)
    };
    let Some(there) = fit(value, ty, own) else { return Ok(None) };
    // Blanks at the end are no difference to such a collation, and CHAR has none.
    if ty.is_string() && ty.collation().pads_space() {
        return Ok(Some(there));
    }
    let Some(back) = fit(there.clone(), own, ty) else { return Ok(None) };
    let is_same = raw_of(&back, own)?.as_slice() == row.offsets.raw(row.image, column).unwrap_or_default();
    Ok(is_same.then_some(there))
}

/// A value's bytes as a column of its type has them in a row image.
fn raw_of(value: &Datum<'_>, ty: &DataType) -> Result<Vec<u8>> {
    let (types, mut out) = ([ty.column_type()], Vec::new());
    let mut builder = RowImageBuilder::new(&types, &mut out);
    image::push(&mut builder, value, ty)?;
    builder.finish().map_err(SqlError::internal)?;
    // After the null bitmap.
    Ok(out.split_off(1))
}
