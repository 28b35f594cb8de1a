//! Changing rows: locks, duplicates, then write set and event group together (X2).
//!
//! A unique secondary key is locked as the part of the index key that no other row may have. It is
//! locked by the transaction that reserves it *and* by the one that gives it up: until a deleting
//! transaction has committed nobody can know whether the key is free, so an insert of it waits.
//! With the lock held, the newest versions under that prefix are the truth.

use std::mem::take;

use crate::batch::WriteBatch;
use crate::entry::{TREE_LEN, TreeId};
use crate::lock::{Acquired, OwnerId, WaitPolicy};
use crate::schema::{Index, Row, RowKeys, TableSchema, row_changes};
use crate::source_position::SourcePosition;
use crate::write_set::{Mark, OwnWrite};
use binlog::LogPosition;
use binlog::event::QueryEvent;

use super::images::{PartialImages, RowImages};
use super::read::Locking;
use super::{Transaction, TransactionError};

/// An entry that a row gets in a secondary index.
struct NewIndexEntry<'a> {
    /// The index, numbered as by [`TableSchema::index`].
    number: usize,
    index: &'a Index,
    /// The whole key, without the tree.
    key: &'a [u8],
    /// The part of it that is to be locked, and that no other row may have.
    reserved: Option<&'a [u8]>,
}

impl Transaction {
    /// Inserts a row, given as its full image.
    ///
    /// # Errors
    /// [`TransactionError::DuplicateKey`] for the first index that has one of its unique keys
    /// already. After any error but [`TransactionError::TooLarge`] and [`TransactionError::Log`]
    /// nothing is changed; locks stay.
    pub fn insert_row(&mut self, schema: &TableSchema, after: &[u8]) -> Result<(), TransactionError> {
        let keys = schema.keys_in(take(&mut self.key_buffers[0]), after)?;
        self.begin_writing()?;
        self.reserve_primary_key(schema, &keys)?;
        self.reserve_index_entries(schema, None, &keys, after)?;
        if self.map_table(schema) {
            self.group.write_row(schema.id, schema.columns.len(), after);
            self.note_keys(schema, None, Some(&keys));
        }
        self.write(schema, None, Some(Row { image: after, keys: &keys }))?;
        self.key_buffers[0] = keys.into_buffer();
        Ok(())
    }

    /// Changes a row, given as its full images. `before` must be what a locking read returned.
    ///
    /// # Errors
    /// As [`Self::insert_row`], if the change gives the row another key;
    /// [`TransactionError::NotLocked`] and [`TransactionError::Stale`].
    pub fn update_row(
        &mut self,
        schema: &TableSchema,
        before: &[u8],
        after: &[u8],
    ) -> Result<(), TransactionError> {
        let (old, changed) = schema.keys_before_and_after(&mut self.key_buffers, before, after)?;
        self.assert_locked(schema, Row { image: before, keys: &old })?;
        if let Some(new) = &changed {
            self.reserve_keys(schema, &old, new, after)?;
        }
        let new = changed.as_ref().unwrap_or(&old);
        if self.map_table(schema) {
            self.log_update(schema, before, after)?;
            self.note_keys(schema, Some(&old), Some(new));
        }
        let (before, after) = (Row { image: before, keys: &old }, Row { image: after, keys: new });
        self.write(schema, Some(before), Some(after))?;
        if self.has_read_past_snapshot() && !schema.is_temporary() {
            let unchanged = |number: &usize| old.of(*number) == new.of(*number);
            for number in (1..=schema.secondary.len()).filter(unchanged) {
                self.writes.shadow(schema.secondary[number - 1].tree(), new.of(number)); // X6
            }
        }
        self.key_buffers[0] = old.into_buffer();
        if let Some(new) = changed {
            self.key_buffers[1] = new.into_buffer();
        }
        Ok(())
    }

    /// Deletes a row, given as its full image, which must be what a locking read returned.
    ///
    /// # Errors
    /// [`TransactionError::NotLocked`], [`TransactionError::Stale`], or a lock on a unique key of
    /// it is not granted.
    pub fn delete_row(&mut self, schema: &TableSchema, before: &[u8]) -> Result<(), TransactionError> {
        let keys = schema.keys_in(take(&mut self.key_buffers[0]), before)?;
        self.assert_locked(schema, Row { image: before, keys: &keys })?;
        self.lock_unique(schema, &keys, None)?;
        if self.map_table(schema) {
            self.log_delete(schema, before)?;
            self.note_keys(schema, Some(&keys), None);
        }
        self.write(schema, Some(Row { image: before, keys: &keys }), None)?;
        self.key_buffers[0] = keys.into_buffer();
        Ok(())
    }

    /// Logs a statement that makes tables, before their rows: `records` is what the catalog keeps
    /// of it, which becomes visible with the rows.
    pub fn define(&mut self, query: &QueryEvent<'_>, records: &WriteBatch) {
        self.begin_rows();
        self.group.define(query);
        for (full_key, value) in records.entries() {
            let (tree, key) = (TreeId::of(full_key), &full_key[TREE_LEN..]);
            match value {
                Some(value) => self.writes.put(tree, key, value),
                None => self.writes.delete(tree, key),
            }
        }
    }

    /// Has it logged, though it may change nothing.
    pub fn begin_empty(&mut self) {
        self.begin_rows();
    }

    /// Says where the transaction ends in the log of the source that it came from: behind all of
    /// its changes, which may be none.
    pub fn set_source_position(&mut self, position: &SourcePosition) {
        self.begin_rows();
        self.group.end_statement();
        self.group.event(&position.event());
        let (tree, channel) = position.key();
        self.writes.put(tree, channel, &position.position);
    }

    /// Names tables that the running statement may change, so that their maps precede its first
    /// row. A statement that changes several tables in turn should; otherwise each newly met table
    /// splits its part of the log in two.
    pub fn declare_tables<'a>(&mut self, schemas: impl IntoIterator<Item = &'a TableSchema>) {
        let mut schemas = schemas.into_iter().filter(|schema| !schema.is_temporary()).peekable();
        if schemas.peek().is_some() {
            self.begin_rows();
        }
        for schema in schemas {
            if !self.mapped.contains(&schema.id) {
                self.group.table_map(schema.table_map(self.options.context.full_metadata));
                self.mapped.push(schema.id);
                self.note_table(schema);
            }
        }
    }

    /// Names tables whose rows are about to change in turn, over and over: one that leads to
    /// another. Their maps stand together, and the statement's part of the log is not split at each
    /// row.
    pub fn map_together<'a>(&mut self, schemas: impl Iterator<Item = &'a TableSchema> + Clone) {
        if schemas.clone().all(|schema| self.mapped.contains(&schema.id)) {
            return;
        }
        if !self.mapped.is_empty() {
            self.group.end_statement();
            self.mapped.clear();
        }
        self.declare_tables(schemas);
    }

    fn write(
        &mut self,
        schema: &TableSchema,
        before: Option<Row<'_>>,
        after: Option<Row<'_>>,
    ) -> Result<(), TransactionError> {
        row_changes(schema, before, after, &mut self.writes);
        self.rows_changed += 1;
        self.engine.log().relieve(&mut self.group).map_err(TransactionError::Log)?;
        let limit = self.engine.options().transaction_size_max;
        if self.bytes() > limit { Err(TransactionError::TooLarge { limit }) } else { Ok(()) }
    }

    fn log_update(
        &mut self,
        schema: &TableSchema,
        before: &[u8],
        after: &[u8],
    ) -> Result<(), TransactionError> {
        let (id, columns) = (schema.id, schema.columns.len());
        if self.row_images == RowImages::Full || schema.logs_whole_rows() {
            self.group.update_row(id, columns, before, after);
            return Ok(());
        }
        self.partial.update(self.row_images, schema, before, after)?;
        let PartialImages { present, before, after } = &self.partial;
        self.group.update_columns(id, columns, present, before, after);
        Ok(())
    }

    fn log_delete(&mut self, schema: &TableSchema, before: &[u8]) -> Result<(), TransactionError> {
        let (id, columns) = (schema.id, schema.columns.len());
        if self.row_images == RowImages::Full || schema.logs_whole_rows() {
            self.group.delete_row(id, columns, before);
            return Ok(());
        }
        self.partial.delete(self.row_images, schema, before)?;
        self.group.delete_columns(id, columns, &self.partial.present, &self.partial.before);
        Ok(())
    }

    /// Adds the row's old and new keys to the transaction's WRITESET: replicas apply transactions
    /// that share a key in this order. A unique key that does not change is omitted: a transaction
    /// that reserves it has to wait for one that gives it up, which changes this row.
    fn note_keys<'k>(&mut self, schema: &TableSchema, old: Option<&'k RowKeys>, new: Option<&'k RowKeys>) {
        for (number, index) in schema.indexes().enumerate().filter(|(_, index)| index.unique()) {
            let key = |keys: Option<&'k RowKeys>| keys.and_then(|keys| keys.unique(number));
            let entry = |keys: Option<&'k RowKeys>| keys.map(|keys| keys.of(number));
            let keeps = entry(old) == entry(new);
            let (old, new) = (key(old), key(new));
            for key in [old.filter(|_| number == 0 || !keeps), new.filter(|_| !keeps)].into_iter().flatten() {
                self.group.writes_key(self.locks.key_hash(index.tree(), key));
            }
        }
    }

    /// Makes sure that the row's events come after `BEGIN` and a map of its table; false if it has
    /// none, because the table is temporary.
    fn map_table(&mut self, schema: &TableSchema) -> bool {
        if schema.is_temporary() {
            return false;
        }
        if self.mapped.contains(&schema.id) {
            return true;
        }
        // A replica locks the tables mapped so far when the statement's first row comes: no map may
        // follow it.
        self.group.end_statement();
        self.mapped.clear();
        self.begin_rows();
        self.group.table_map(schema.table_map(self.options.context.full_metadata));
        self.mapped.push(schema.id);
        self.note_table(schema);
        true
    }

    fn begin_rows(&mut self) {
        if self.group.is_empty() {
            self.group.begin(&*self.options.begin);
        }
        if let Some(sql) = self.rows_query.take() {
            self.group.rows_query(&sql);
        }
    }

    /// The row must have been locked before it was read; here its lock becomes exclusive if it was
    /// shared (X3). Nor may the transaction have changed it since.
    fn assert_locked(&mut self, schema: &TableSchema, row: Row<'_>) -> Result<(), TransactionError> {
        let (tree, key) = (schema.primary.tree(), row.keys.primary());
        if !self.locked_row.is(tree, key) {
            let acquired = self.lock(tree, key, Locking::UPDATE).map_err(|error| self.lock_failed(error))?;
            if acquired == Acquired::New {
                self.unlock_newest();
                return Err(TransactionError::NotLocked);
            }
        }
        match self.writes.get(tree, key, Mark::NOW) {
            Some(own) if own != OwnWrite::Put(row.image) => Err(TransactionError::Stale),
            _ => Ok(()),
        }
    }

    /// Reserves a new primary key: locks it, checks that no row has it and that it lies in nobody's
    /// locked range.
    fn reserve_primary_key(&mut self, schema: &TableSchema, keys: &RowKeys) -> Result<(), TransactionError> {
        let (tree, key) = (schema.primary.tree(), keys.primary());
        loop {
            let acquired = self.lock(tree, key, Locking::UPDATE).map_err(|error| self.lock_failed(error))?;
            if self.newest(tree, key, Mark::NOW)?.is_some() {
                return Err(duplicate(&schema.primary, 0, key));
            }
            match self.enter_ranges(tree, key) {
                None => return Ok(()),
                Some(owner) => self.wait_for_reader(owner, Some(acquired))?,
            }
        }
    }

    fn begin_writing(&mut self) -> Result<(), TransactionError> {
        self.locks.begin_writing().map_err(|error| self.lock_failed(error))
    }

    /// Announces that a row is about to get this key, unless it lies in a range that another
    /// transaction has locked, which is returned.
    fn enter_ranges(&mut self, tree: TreeId, key: &[u8]) -> Option<OwnerId> {
        let reader = self.locks.enter_ranges(tree, key).err()?;
        // Where the transaction itself has deleted the key, whoever reads the range waits for it
        // anyway.
        self.writes.get(tree, key, Mark::NOW).is_none().then_some(reader)
    }

    /// Waits for the end of a transaction that has locked a range, after releasing the new lock on
    /// the key: the other one might want to insert there too.
    fn wait_for_reader(
        &mut self,
        reader: OwnerId,
        acquired: Option<Acquired>,
    ) -> Result<(), TransactionError> {
        if acquired == Some(Acquired::New) {
            self.unlock_newest();
        }
        self.locks.set_weight(self.rows_changed);
        let policy = WaitPolicy::Wait(self.options.lock_wait_timeout);
        self.locks.wait_for_end(reader, policy).map_err(|error| self.lock_failed(error))
    }

    /// Locks the unique keys that a row gives up, or keeps under another primary key: whoever asks
    /// for one of them meanwhile would find the entry gone, and not yet the other one.
    fn lock_unique(
        &mut self,
        schema: &TableSchema,
        old: &RowKeys,
        new: Option<&RowKeys>,
    ) -> Result<(), TransactionError> {
        for (number, index) in schema.indexes().enumerate().skip(1) {
            if let Some(prefix) = old.unique(number)
                && new.is_none_or(|new| old.of(number) != new.of(number))
            {
                self.lock(index.tree(), prefix, Locking::UPDATE).map_err(|error| self.lock_failed(error))?;
            }
        }
        Ok(())
    }

    /// Locks the keys that a row gives up, and reserves those that it gets.
    fn reserve_keys(
        &mut self,
        schema: &TableSchema,
        old: &RowKeys,
        new: &RowKeys,
        image: &[u8],
    ) -> Result<(), TransactionError> {
        self.lock_unique(schema, old, Some(new))?;
        if (0..=schema.secondary.len()).any(|number| old.of(number) != new.of(number)) {
            self.begin_writing()?;
        }
        if old.primary() != new.primary() {
            self.reserve_primary_key(schema, new)?;
        }
        self.reserve_index_entries(schema, Some(old), new, image)
    }

    /// Reserves a row's new entries in secondary indexes: they must lie in nobody's locked range,
    /// and their unique keys are locked and must belong to no other row.
    fn reserve_index_entries(
        &mut self,
        schema: &TableSchema,
        old: Option<&RowKeys>,
        new: &RowKeys,
        image: &[u8],
    ) -> Result<(), TransactionError> {
        for (number, index) in schema.indexes().enumerate().skip(1) {
            if old.is_none_or(|old| old.of(number) != new.of(number)) {
                let unique = new.unique(number);
                let reserved = unique.filter(|_| unique != old.and_then(|old| old.unique(number)));
                let entry = NewIndexEntry { number, index, key: new.of(number), reserved };
                self.reserve_index_entry(schema, &entry, image)?;
            }
        }
        Ok(())
    }

    /// Reserves one new entry of the row with this image.
    fn reserve_index_entry(
        &mut self,
        schema: &TableSchema,
        entry: &NewIndexEntry<'_>,
        image: &[u8],
    ) -> Result<(), TransactionError> {
        let &NewIndexEntry { number, index, key, reserved } = entry;
        loop {
            let mut acquired = None;
            if let Some(prefix) = reserved {
                let locked = self.lock(index.tree(), prefix, Locking::UPDATE);
                acquired = Some(locked.map_err(|error| self.lock_failed(error))?);
                if let Some(existing) = self.row_with(index, prefix)? {
                    if let Some(building) = index.building() {
                        building.fail(number, image);
                        return Ok(());
                    }
                    // Read the row for its position: the duplicate that the client hears of must be
                    // durable (X4).
                    self.newest(schema.primary.tree(), &existing, Mark::NOW)?;
                    return Err(duplicate(index, number, &existing));
                }
            }
            match self.enter_ranges(index.tree(), key) {
                None => return Ok(()),
                Some(owner) => self.wait_for_reader(owner, acquired)?,
            }
        }
    }

    /// The primary key of the row that has the locked unique key `prefix`. Newest versions are
    /// never dropped, so that this needs no snapshot.
    fn row_with(&self, index: &Index, prefix: &[u8]) -> Result<Option<Vec<u8>>, TransactionError> {
        let tree = index.tree();
        let mut from = std::ops::Bound::Included(prefix);
        while let Some((key, value)) = self.writes.next(tree, from, Mark::NOW)
            && key.starts_with(prefix)
        {
            if value.is_some() {
                return Ok(Some(index.primary_key_in(key)?.to_vec()));
            }
            from = std::ops::Bound::Excluded(key);
        }
        let mut cursor = self.engine.store_of(tree).cursor(tree, LogPosition::MAX);
        cursor.seek(prefix)?;
        while cursor.valid() && cursor.key().starts_with(prefix) {
            if self.writes.get(tree, cursor.key(), Mark::NOW).is_none() {
                return Ok(Some(index.primary_key_in(cursor.key())?.to_vec()));
            }
            cursor.next()?;
        }
        Ok(None)
    }
}

fn duplicate(index: &Index, number: usize, existing: &[u8]) -> TransactionError {
    TransactionError::DuplicateKey {
        index: number,
        index_name: index.name().to_owned(),
        existing: existing.to_vec(),
    }
}
