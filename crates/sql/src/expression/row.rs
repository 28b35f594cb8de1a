//! What an expression's columns read from.
//!
//! A [`Row`] is a stored row's image, or values made by a plan, or several of these side by side;
//! above all it is the [`Frame`] of the query block that runs. An image is decoded column by
//! column, when asked: [`Offsets`] says where each lies, found in one walk.

use smallvec::SmallVec;

use super::frame::Frame;
use crate::catalog::TableDef;
use datum::error::{Result, SqlError};
use datum::value::zone::Zone;
use datum::value::{Datum, image};

/// The row that an expression is evaluated for.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Row<'a> {
    /// None: only constants, variables and functions can be evaluated.
    None,
    /// A stored row.
    Image(ImageRow<'a>),
    /// Values made by a plan.
    Values(&'a [Datum<'a>]),
    /// Several sources.
    Joined(&'a [Row<'a>]),
    /// What a query block's operators have found.
    Frame(&'a Frame),
}

/// A stored row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ImageRow<'a> {
    pub(crate) table: &'a TableDef,
    /// Its bytes.
    pub image: &'a [u8],
    /// Where its columns lie.
    pub(crate) offsets: &'a Offsets,
}

/// Where an image's columns lie. Kept from row to row, so that its memory is.
#[derive(Debug, Default, Clone)]
pub(crate) struct Offsets(SmallVec<[(u32, u32); 8]>);

const NULL: (u32, u32) = (u32::MAX, u32::MAX);

impl Offsets {
    /// Finds the columns of `image`.
    pub(crate) fn find(&mut self, table: &TableDef, image: &[u8]) -> Result<()> {
        let damaged = || SqlError::internal(format_args!("a row of {} is damaged", table.name));
        let mut at = table.widths.len().div_ceil(8);
        let (nulls, mut rest) = image.split_at_checked(at).ok_or_else(damaged)?;
        self.0.resize(table.widths.len(), NULL);
        for (i, (place, width)) in self.0.iter_mut().zip(&table.widths).enumerate() {
            if nulls[i / 8] >> (i % 8) & 1 == 1 {
                *place = NULL;
                continue;
            }
            let len = width.value_len(rest).map_err(|_| damaged())?;
            *place = (at as u32, (at + len) as u32);
            (at, rest) = (at + len, &rest[len..]);
        }
        Ok(())
    }

    /// Forgets the columns, and the memory that those of a wide table took.
    pub(crate) fn recycle(&mut self) {
        match self.0.spilled() {
            true => *self = Self::default(),
            false => self.0.clear(),
        }
    }

    /// A column's bytes; `None` for NULL.
    pub(crate) fn raw<'a>(&self, image: &'a [u8], column: usize) -> Option<&'a [u8]> {
        let &(start, end) = self.0.get(column)?;
        image.get(start as usize..end as usize)
    }
}

impl<'a> ImageRow<'a> {
    /// A column's value.
    pub(crate) fn column(&self, column: usize, zone: Zone) -> Result<Datum<'a>> {
        match self.offsets.raw(self.image, column) {
            Some(raw) => {
                image::read(raw, &self.table.column_types[column], &self.table.columns[column].ty, zone)
            }
            None => Ok(Datum::Null),
        }
    }
}

impl<'a> Row<'a> {
    /// A source's column.
    pub(crate) fn column(self, source: usize, column: usize, zone: Zone) -> Result<Datum<'a>> {
        match self {
            Row::Image(row) => row.column(column, zone),
            Row::Values(values) => Ok(values.get(column).map_or(Datum::Null, Datum::borrow)),
            Row::Joined(rows) => match rows.get(source) {
                Some(row) => row.column(0, column, zone),
                None => Err(SqlError::internal("a column of a source that is not there")),
            },
            Row::Frame(frame) => frame.column(source, column, zone),
            Row::None => Err(SqlError::internal("a column without a row")),
        }
    }

    /// The value of one of GROUP BY's expressions under WITH ROLLUP; `None` if the row is a sum
    /// over all its values.
    pub(crate) fn group_key(self, number: usize) -> Option<Datum<'a>> {
        match self {
            Row::Frame(frame) => frame.group_keys.get(number).map(Datum::borrow),
            _ => None,
        }
    }

    /// An aggregate of the group that the row stands for.
    pub(crate) fn aggregate(self, number: usize) -> Result<Datum<'a>> {
        match self {
            Row::Frame(frame) => Ok(frame.aggregates.get(number).map_or(Datum::Null, Datum::borrow)),
            _ => Err(SqlError::internal("an aggregate without a group")),
        }
    }

    /// What a window function gives for the row.
    pub(crate) fn window(self, number: usize) -> Result<Datum<'a>> {
        match self {
            Row::Frame(frame) => Ok(frame.windows.get(number).map_or(Datum::Null, Datum::borrow)),
            _ => Err(SqlError::internal("a window function without rows")),
        }
    }
}
