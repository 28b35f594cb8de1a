//! Which row here is the one that an event means: by a unique key that the event has, or by a walk
//! through the table.

use std::collections::HashMap;

use binlog::row::Field;
use storage::transaction::{Direction, KeyRange, ReadMode};

use super::{RawColumn, Searched, Target, check_interrupt, nested};
use crate::expression::row::Offsets;
use crate::session::Context;
use datum::error::{Result, SqlError};
use datum::value::{Datum, image, store};

impl Target {
    /// An image with a key's values; only the key's columns of it matter.
    pub(super) fn probe(&self, values: &[Option<Field<'_>>]) -> Result<Vec<u8>> {
        let table = &self.table;
        let raw: Vec<RawColumn<'_>> = values.iter().map(RawColumn::of).collect();
        self.build(&raw, |builder, number| {
            let column = &table.columns[number];
            let value = if column.nullable { Datum::Null } else { store::implicit_default(&column.ty) };
            image::push(builder, &value, &column.ty)
        })
    }

    /// The row here that has a key's values, locked.
    pub(super) fn found_by_key(
        &self,
        cx: &mut Context,
        index: usize,
        values: &[Option<Field<'_>>],
    ) -> Result<Option<Vec<u8>>> {
        let probe = self.probe(values)?;
        let keys = self.table.schema.keys(&probe).map_err(SqlError::internal)?;
        if self.is_row_id_key(index) {
            return self.found_by_row_id(cx, keys.primary(), values);
        }
        if index == 0 {
            return self.lock(cx, keys.primary());
        }
        let unique = keys.unique(index).unwrap_or_default();
        let Some(primary) = self.primary_by(cx, index, unique)? else { return Ok(None) };
        let locked = self.lock(cx, &primary)?;
        // It may have changed before it was locked.
        match locked {
            Some(row) if self.has_unique_key(&row, index, unique)? => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    fn has_unique_key(&self, row: &[u8], index: usize, unique: &[u8]) -> Result<bool> {
        let keys = self.table.schema.keys(row).map_err(SqlError::internal)?;
        Ok(keys.unique(index) == Some(unique))
    }

    /// The row that has an id here, if it has the values too: an id says which row is meant only
    /// together with them, for a copy of the table may have given others. Another row is not
    /// locked: a branch of the source's that is prepared may hold it until what comes later.
    fn found_by_row_id(
        &self,
        cx: &mut Context,
        primary: &[u8],
        values: &[Option<Field<'_>>],
    ) -> Result<Option<Vec<u8>>> {
        match self.with_row_id(cx, primary)? {
            Some(row) if self.has_values(&row, values)? => {}
            _ => return Ok(None),
        }
        let locked = self.lock(cx, primary)?;
        // It may have changed before it was locked.
        match locked {
            Some(row) if self.has_values(&row, values)? => Ok(Some(row)),
            _ => Ok(None),
        }
    }

    /// The row that has an id here, as it is committed, without a lock.
    pub(super) fn with_row_id(&self, cx: &mut Context, primary: &[u8]) -> Result<Option<Vec<u8>>> {
        let tree = self.table.schema.primary.tree();
        let transaction = cx.storage_transaction();
        let mut scan =
            transaction.scan(tree, KeyRange::prefix(primary), Direction::Forward, ReadMode::Newest);
        Ok(scan.next(transaction)?.then(|| scan.value().to_vec()))
    }

    /// True if an index is on the row id.
    pub(super) fn is_row_id_key(&self, index: usize) -> bool {
        self.table.indexes[index].parts.iter().any(|part| self.table.columns[part.column].is_row_id())
    }

    /// True if a row has these values in all columns that are given, but for its id.
    pub(super) fn has_values(&self, found: &[u8], values: &[Option<Field<'_>>]) -> Result<bool> {
        let present = self.present(values);
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        self.values_of(found, &present, &mut Offsets::default(), &mut ours)?;
        present.iter().for_each(|&column| put_value(&mut theirs, values[column].and_then(|field| field.raw)));
        Ok(ours == theirs)
    }

    /// The columns by whose values a row is known that has no key.
    fn present(&self, before: &[Option<Field<'_>>]) -> Vec<usize> {
        let is_known = |column: &usize| before[*column].is_some() && !self.table.columns[*column].is_row_id();
        self.places.iter().copied().filter(is_known).collect()
    }

    /// The primary key of the row that has a unique key.
    pub(super) fn primary_by(
        &self,
        cx: &mut Context,
        index: usize,
        unique: &[u8],
    ) -> Result<Option<Vec<u8>>> {
        let schema = &self.table.schema;
        let index = schema.index(index).ok_or_else(|| SqlError::internal("an index without a tree"))?;
        let transaction = cx.storage_transaction();
        let mut scan =
            transaction.scan(index.tree(), KeyRange::prefix(unique), Direction::Forward, ReadMode::Newest);
        if !scan.next(transaction)? {
            return Ok(None);
        }
        let primary = index.primary_key_in(scan.key()).map_err(SqlError::internal)?;
        Ok(Some(primary.to_vec()))
    }

    pub(super) fn lock(&self, cx: &mut Context, primary: &[u8]) -> Result<Option<Vec<u8>>> {
        let tree = self.table.schema.primary.tree();
        let row = cx.storage_transaction().get_newest_for_update(tree, primary)?;
        Ok(row.map(|row| row.to_vec()))
    }

    /// One walk finds all rows of an event, but for those that the event itself makes what it then
    /// changes again: these need further ones.
    pub(super) fn change_by_walks(&self, cx: &mut Context, mut searched: Vec<Searched<'_>>) -> Result<()> {
        while !searched.is_empty() {
            let before = searched.len();
            searched = nested(cx, |cx| self.change_by_walk(cx, &searched))?;
            if searched.len() == before {
                return if self.idempotent { Ok(()) } else { Err(self.not_found()) };
            }
        }
        Ok(())
    }

    /// Those that are not found.
    fn change_by_walk<'a>(&self, cx: &mut Context, searched: &[Searched<'a>]) -> Result<Vec<Searched<'a>>> {
        let Some((first, _)) = searched.first() else { return Ok(Vec::new()) };
        // The rows of an event have the same columns.
        let present = self.present(first);
        let mut wanted: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
        for (number, (before, _)) in searched.iter().enumerate() {
            let mut key = Vec::new();
            for &column in &present {
                put_value(&mut key, before[column].and_then(|field| field.raw));
            }
            wanted.entry(key).or_default().push(number);
        }
        // The first of equal rows comes first.
        wanted.values_mut().for_each(|changes| changes.reverse());
        let mut left = searched.len();
        let tree = self.table.schema.primary.tree();
        let transaction = cx.storage_transaction();
        let mut scan = transaction.scan(tree, KeyRange::all(), Direction::Forward, ReadMode::Newest);
        let (mut offsets, mut key, mut number) = (Offsets::default(), Vec::new(), 0);
        while left > 0 && scan.next(cx.storage_transaction())? {
            check_interrupt(cx, number)?;
            number += 1;
            self.values_of(scan.value(), &present, &mut offsets, &mut key)?;
            if wanted.get(&key).is_none_or(Vec::is_empty) {
                continue;
            }
            let primary = scan.key().to_vec();
            let Some(found) = self.lock(cx, &primary)? else { continue };
            // It may have changed before it was locked.
            self.values_of(&found, &present, &mut offsets, &mut key)?;
            if let Some(number) = wanted.get_mut(&key).and_then(Vec::pop) {
                self.change(cx, &found, searched[number].1, false)?;
                left -= 1;
            }
        }
        let mut not_found: Vec<usize> = wanted.into_values().flatten().collect();
        not_found.sort_unstable();
        Ok(not_found.into_iter().map(|number| searched[number].clone()).collect())
    }

    fn values_of(
        &self,
        image: &[u8],
        columns: &[usize],
        offsets: &mut Offsets,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        out.clear();
        offsets.find(&self.table, image)?;
        columns.iter().for_each(|&column| put_value(out, offsets.raw(image, column)));
        Ok(())
    }
}

/// Appends a value so that different ones have different bytes: each says how long it is.
fn put_value(out: &mut Vec<u8>, raw: Option<&[u8]>) {
    match raw {
        None => out.push(0),
        Some(bytes) => {
            out.push(1);
            out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            out.extend_from_slice(bytes);
        }
    }
}
