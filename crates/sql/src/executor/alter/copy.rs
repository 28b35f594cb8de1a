//! Writing all rows of a table anew.
//!
//! The rows go into new trees in sorted runs, on disk as they come: however many there are, they
//! are no transaction and take no more memory than a buffer. Values are brought into the new
//! columns as if they were inserted, so what does not fit is an error under strict modes, and a
//! warning else.

use std::sync::Arc;

use binlog::row::RowImageBuilder;
use storage::build::{BuildError, TreeBuilder};
use storage::transaction::{Direction, KeyRange, ReadMode, Transaction};
use storage::{TransactionError, TreeId};

use super::build::find_duplicate;
use super::{Counting, INTERRUPT_STEPS, Running, discard, plan};
use crate::catalog::auto_increment::Series;
use crate::catalog::ddl::alter::{Alter, filler};
use crate::catalog::draft;
use crate::catalog::table::Default;
use crate::catalog::temporary::trees_of;
use crate::catalog::{ColumnDef, TableDef};
use crate::executor::foreign_keys::NewForeignKeys;
use crate::executor::writer::duplicate_entry;
use crate::executor::{RowRules, computed};
use crate::expression::row::Offsets;
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use datum::types::DataType;
use datum::value::{Datum, image, store};

/// Returns the number of rows.
pub(super) fn run(cx: &mut Context, running: &mut Running<'_>) -> Result<u64> {
    let _no_writers = running.without_writers(cx)?;
    // Once more, for the counter moves no longer: numbers may begin with what it says.
    let alter = &plan(cx, running.statement)?;
    running.actions_in_front.clone_from(&alter.actions_in_front);
    let store = cx.instance.engine().store().clone();
    let trees: Vec<TreeId> = alter.to_build().iter().map(|_| store.new_tree()).collect();
    let mut copy = Copy::new(cx, alter, trees)?;
    let copied = strictly(cx, |cx| copy.rows(cx));
    let outcome = copied.and_then(|rows| {
        let _alone = running.alone(cx)?;
        let _related = running.related(cx, alter)?;
        // The numbers that rows have, or were given, are used.
        let used = copy.new.counter.next().saturating_sub(1);
        running.commit(cx, &copy.trees, Counting::Behind(used))?;
        Ok(rows)
    });
    outcome.inspect_err(|_| discard(cx, &copy.trees))
}

/// Copies a temporary table's rows into `new`, which nobody knows yet; returns their number.
pub(in crate::executor) fn into_temporary(
    cx: &mut Context,
    alter: &Alter,
    new: Arc<TableDef>,
) -> Result<u64> {
    let copy = Copy { new, ..Copy::new(cx, alter, trees_of(&alter.finished.table))? };
    strictly(cx, |cx| copy.temporary_rows(cx))
}

/// Error 1452 unless the rows, as they are to be, have what the new foreign keys refer to. Returns
/// how many rows there are.
pub(super) fn check_references(cx: &mut Context, alter: &Alter) -> Result<u64> {
    let copy = Copy::new(cx, alter, trees_of(&alter.finished.table))?;
    let new = Arc::new(alter.finished.table.clone());
    let check = NewForeignKeys::of(cx, &new, &alter.old, &alter.new_foreign_keys)?;
    strictly(cx, |cx| copy.each_row(cx, |cx, reader, image| check.check(cx, reader, image)))
}

/// What is computed of the rows is computed as for an INSERT: what a strict session would only be
/// warned of elsewhere is an error.
fn strictly<T>(cx: &mut Context, copy: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    let around = std::mem::replace(&mut cx.statement.storing, true);
    let outcome = copy(cx);
    cx.statement.storing = around;
    outcome
}

/// A temporary table's rows are copied in transactions of about so many bytes.
const PORTION: usize = 4 << 20;

pub(super) struct Copy<'a> {
    alter: &'a Alter,
    /// The new table, with the trees built for it.
    new: Arc<TableDef>,
    trees: Vec<TreeId>,
    rules: store::Rules,
    /// What columns that are new have in all rows.
    fillers: Vec<Datum<'static>>,
    /// New columns with an expression default.
    defaulted: Vec<usize>,
    /// A column that is newly AUTO_INCREMENT, or new: its numbers are given now.
    numbered: Option<usize>,
    /// Dates with zeros, which the session does not take, fail or become all zeros, as where MySQL
    /// would copy the rows.
    checks_dates: bool,
    /// Rows that violate a CHECK constraint stay. They were tested when the statement ran, and what
    /// an expression default gave them then (RAND()) it need not give them again.
    is_replay: bool,
    /// The source has numbered the rows with this `auto_increment_increment`, another one than 1.
    increment_of_source: Option<u64>,
}

impl<'a> Copy<'a> {
    /// For a statement of the log that is done once more.
    pub(super) fn replayed(cx: &Context, alter: &'a Alter, trees: Vec<TreeId>) -> Result<Self> {
        let copy = Self::new(cx, alter, trees)?;
        // Older versions accepted what fails now.
        let checks_dates = copy.checks_dates && !copy.rules.strict;
        Ok(Copy { is_replay: true, checks_dates, ..copy })
    }

    fn new(cx: &Context, alter: &'a Alter, trees: Vec<TreeId>) -> Result<Self> {
        let mut new = alter.finished.table.clone();
        let schema = draft::schema_of(new.id, &new.database, &new.name, &new.columns, &new.indexes, &trees)?;
        new.schema = Arc::new(schema);
        let settings = cx.ddl_settings();
        let is_new = |c: &usize| alter.finished.columns[*c].is_none();
        let is_expression =
            |c: &usize| matches!(new.columns[*c].default, Default::Expression(_)) && is_new(c);
        let origin = new.auto_column.and_then(|c| alter.finished.columns[c]);
        let numbered = new.auto_column.filter(|_| origin.is_none() || origin != alter.old.auto_column);
        let rules = cx.store_rules(false);
        Ok(Copy {
            alter,
            checks_dates: alter.counts_rows && (rules.dates.no_zero_date || rules.dates.no_zero_in_date),
            fillers: new.columns.iter().map(|column| filler(column, &settings)).collect(),
            defaulted: (0..new.columns.len()).filter(is_expression).collect(),
            rules,
            numbered,
            new: Arc::new(new),
            trees,
            is_replay: false,
            increment_of_source: Some(cx.settings.variables().uint(ids::AUTO_INCREMENT_INCREMENT))
                .filter(|increment| cx.is_applier() && *increment > 1),
        })
    }

    /// The index in whose order the rows are read, by its number: rows get their numbers in the
    /// order in which InnoDB has them, so that a replica gives the same.
    pub(super) fn order(&self) -> usize {
        self.numbered.map_or(0, |_| self.alter.old.clustering_index())
    }

    fn temporary_rows(&self, cx: &mut Context) -> Result<u64> {
        let mut writer = cx.scratch_transaction();
        let rows = self.each_row(cx, |cx, _, image| {
            match writer.insert_row(&self.new.schema, image) {
                Ok(()) => {}
                Err(TransactionError::DuplicateKey { index, .. }) => {
                    return Err(duplicate_entry(cx, &self.new, index, image)?);
                }
                Err(e) => return Err(e.into()),
            }
            if writer.bytes() > PORTION {
                std::mem::replace(&mut writer, cx.scratch_transaction()).commit()?;
            }
            Ok(())
        })?;
        writer.commit()?;
        Ok(rows)
    }

    /// Calls `each` with every row as it is to be, and the transaction that reads the old ones;
    /// returns their number.
    fn each_row(
        &self,
        cx: &mut Context,
        mut each: impl FnMut(&mut Context, &mut Transaction, &[u8]) -> Result<()>,
    ) -> Result<u64> {
        let mut reader = cx.scratch_transaction();
        let (schema, order) = (&self.alter.old.schema, self.order());
        let mut scan =
            reader.scan_index(schema, order, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        let mut rows = 0_u64;
        while scan.next(&mut reader)? {
            rows += 1;
            if rows.is_multiple_of(INTERRUPT_STEPS) {
                cx.check_interrupt()?;
            }
            let image = self.row(cx, scan.row(), rows)?;
            each(cx, &mut reader, &image)?;
        }
        Ok(rows)
    }

    fn rows(&mut self, cx: &mut Context) -> Result<u64> {
        let store = cx.instance.engine().store().clone();
        let mut transaction = cx.scratch_transaction();
        let snapshot = transaction.snapshot().clone();
        let mut builder = store.build_trees(self.trees.clone(), snapshot);
        let (schema, order) = (&self.alter.old.schema, self.order());
        let mut scan =
            transaction.scan_index(schema, order, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        let mut rows = 0_u64;
        while scan.next(&mut transaction)? {
            rows += 1;
            if rows.is_multiple_of(INTERRUPT_STEPS) {
                cx.check_interrupt()?;
            }
            let image = self.row(cx, scan.row(), rows)?;
            self.put(cx, &mut builder, &image)?;
        }
        drop(scan);
        drop(transaction);
        match builder.finish() {
            Ok(()) => {}
            Err(BuildError::Store(e)) => return Err(e.into()),
            Err(BuildError::Duplicate { key, .. }) => return Err(self.duplicate_primary(cx, &key)?),
        }
        self.check_unique(cx)?;
        Ok(rows)
    }

    pub(super) fn put(&self, cx: &Context, builder: &mut TreeBuilder, image: &[u8]) -> Result<()> {
        let schema = &self.new.schema;
        let keys = schema.keys(image).map_err(SqlError::internal)?;
        for (number, tree) in self.trees.iter().enumerate() {
            let value = if number == 0 { image } else { &[] };
            match builder.put(*tree, keys.of(number), value) {
                Ok(()) => {}
                Err(BuildError::Store(e)) => return Err(e.into()),
                // Two rows of one run: their primary keys, which every other key ends with.
                Err(BuildError::Duplicate { .. }) => {
                    return Err(duplicate_entry(cx, &self.new, 0, image)?);
                }
            }
        }
        Ok(())
    }

    /// An old row with the new columns.
    pub(super) fn row(&self, cx: &mut Context, old: &[u8], number: u64) -> Result<Vec<u8>> {
        let mut offsets = Offsets::default();
        offsets.find(&self.alter.old, old)?;
        let mut out = Vec::with_capacity(old.len() + 16);
        let mut builder = RowImageBuilder::new(&self.new.column_types, &mut out);
        for (place, column) in self.new.columns.iter().enumerate() {
            let Some(origin) = self.alter.finished.columns[place] else {
                let value = self.new_value(place, column)?;
                image::push(&mut builder, &value, &column.ty)?;
                continue;
            };
            let before = &self.alter.old.columns[origin];
            let raw = offsets.raw(old, origin);
            let stays = before.ty == column.ty && (raw.is_some() || column.nullable);
            if stays && self.numbered != Some(place) && !(self.checks_dates && column.ty.has_date()) {
                builder.push_raw(raw).map_err(SqlError::internal)?;
                continue;
            }
            let value = match raw {
                Some(raw) => {
                    let ty = &self.alter.old.column_types[origin];
                    image::read(raw, ty, &before.ty, cx.settings.zone())?
                }
                None => Datum::Null,
            };
            let fitted = self.fitted(cx, place, column, value, &before.ty, number)?;
            image::push(&mut builder, &fitted, &column.ty)?;
        }
        builder.finish().map_err(SqlError::internal)?;
        if !self.new.is_plain() {
            let ignore = self.is_replay;
            let row_rules = RowRules { row: number, rules: self.rules };
            computed::complete(cx, &self.new, &mut out, &self.defaulted, row_rules, ignore)?;
            cx.statement.take_strict_error().map_or(Ok(()), Err)?;
        }
        self.new.count_row(&out);
        Ok(out)
    }

    /// What a column that is new has in this row.
    fn new_value(&self, place: usize, column: &ColumnDef) -> Result<Datum<'static>> {
        if self.numbered == Some(place) {
            return self.next_number(column);
        }
        let filler = &self.fillers[place];
        let is_date = matches!(filler, Datum::Date(date) if *date == datum::value::Date::ZERO)
            || matches!(filler, Datum::DateTime(moment) if moment.is_zero());
        if is_date && column.default == Default::None && self.rules.dates.no_zero_date && !column.nullable {
            let kind = if matches!(column.ty, DataType::Date) { "date" } else { "datetime" };
            let shown = String::from_utf8_lossy(&filler.to_bytes()).into_owned();
            if self.rules.strict {
                return Err(error::INCORRECT_VALUE.with(&[&kind, &shown, &column.name, &1]));
            }
        }
        Ok(filler.clone())
    }

    /// Consecutive, whatever series the session has: the log has it so, too. Error 1235 where a
    /// source had a series.
    fn next_number(&self, column: &ColumnDef) -> Result<Datum<'static>> {
        if let Some(increment) = self.increment_of_source {
            return Err(SqlError::unsupported(format_args!(
                "numbers of a new AUTO_INCREMENT column of a table with rows, with auto_increment_increment = {increment}: which ones the \
                 rows get depends on how the source alters the table"
            )));
        }
        let max = match &column.ty {
            DataType::Integer { size, sign, .. } => {
                u64::try_from(store::integer_range(*size, sign.unsigned).1).unwrap_or(u64::MAX)
            }
            _ => u64::MAX,
        };
        let next = self.new.counter.reserve(1, Series { increment: 1, offset: 1 }, max);
        let next = next.ok_or_else(|| error::AUTOINC_READ_FAILED.plain())?;
        let unsigned = column.ty.is_unsigned();
        Ok(if unsigned { Datum::UInt(next) } else { Datum::Int(next.min(i64::MAX as u64) as i64) })
    }

    /// Error 1235 for a double whose text has an exponent at some versions of MySQL only.
    fn check_text(&self, column: &ColumnDef, double: f64) -> Result<()> {
        /// The longest text in which all versions have the digits.
        const LEN_MAX: usize = 24;
        let text = Datum::Double(double).into_bytes();
        if text.len() <= LEN_MAX {
            return Ok(());
        }
        Err(SqlError::unsupported(format_args!(
            "{} of a DOUBLE for {}.{}.{}: MySQL 9.7 writes it with an exponent, earlier ones do not",
            String::from_utf8_lossy(&text),
            self.new.database,
            self.new.name,
            column.name
        )))
    }

    /// A value of the old column, made to fit the new one.
    fn fitted<'v>(
        &self,
        cx: &mut Context,
        place: usize,
        column: &ColumnDef,
        value: Datum<'v>,
        before: &DataType,
        number: u64,
    ) -> Result<Datum<'v>> {
        let is_zero = value.to_integer().value == 0;
        if self.numbered == Some(place)
            && (value.is_null() || is_zero && !cx.settings.modes().no_auto_value_on_zero)
        {
            return self.next_number(column);
        }
        if value.is_null() && !column.nullable {
            if self.rules.strict {
                return Err(error::INVALID_USE_OF_NULL.plain());
            }
            cx.warn(error::WARN_DATA_TRUNCATED.with(&[&column.name, &number]));
            return Ok(store::null_substitute(&column.ty));
        }
        if let Datum::Double(double) = value
            && cx.is_applier()
            && column.ty.is_string()
        {
            self.check_text(column, double)?;
        }
        let charset = before.text_charset();
        let rules = self.rules;
        let mut target = store::Target {
            column: &column.name,
            table: &self.new.name,
            row: number,
            rules,
            diagnostics: &mut cx.statement.diagnostics,
        };
        let value = store::copied(value, before, &column.ty, &mut target)?;
        store::fit(value, charset, &column.ty, &mut target)
    }

    /// Error 1062 for a primary key that two rows have: the second one is looked for.
    fn duplicate_primary(&self, cx: &mut Context, key: &[u8]) -> Result<SqlError> {
        let mut transaction = cx.scratch_transaction();
        let (schema, order) = (&self.alter.old.schema, self.order());
        let mut scan =
            transaction.scan_index(schema, order, KeyRange::all(), Direction::Forward, ReadMode::Snapshot);
        let mut rows = 0;
        while scan.next(&mut transaction)? {
            rows += 1;
            let image = self.row(cx, scan.row(), rows)?;
            let keys = self.new.schema.keys(&image).map_err(SqlError::internal)?;
            if keys.primary() == key {
                return duplicate_entry(cx, &self.new, 0, &image);
            }
        }
        Ok(SqlError::internal("a duplicate key that no row has"))
    }

    fn check_unique(&self, cx: &mut Context) -> Result<()> {
        let snapshot = cx.instance.engine().snapshot();
        for (number, tree) in self.trees.iter().enumerate().skip(1) {
            let found = find_duplicate(cx, &self.new.schema, *tree, number, &snapshot)?;
            let Some(key) = found else { continue };
            let rows = self.trees[0];
            let row = cx.instance.engine().store().get(rows, &key, snapshot.position())?;
            let row = row.ok_or_else(|| SqlError::internal("an index has an entry without a row"))?;
            return Err(duplicate_entry(cx, &self.new, number, &row)?);
        }
        Ok(())
    }
}
