//! Rows of a row event, put into the table that has the name.
//!
//! Columns are matched by their place, as replicas of MySQL do it: columns that only the event has
//! are left out, those that only the table has get their defaults. A row id that the source's table
//! lacks counts for no place, wherever it is ([`places`]). A column of another type is converted
//! where the setting allows that ([`conversion`]).
//!
//! The row to change or delete is found by the first unique key that the event has all columns of,
//! and is not NULL in. In a table without such a key a walk finds the rows of an event: they are
//! equal to what the event says, column by column; of equal rows any is as good.

use std::sync::Arc;

use binlog::event::{MetadataField, RowChange, RowsEvent, RowsKind, TableMapEvent, rows_flags};
use binlog::row::json::{JsonOperation, diffs};
use binlog::row::{Field, RowImage, RowImageBuilder, Value, code};

use super::super::foreign_keys::{self, NotChanged};
use super::super::{RowRules, computed, writer};
use super::conversion::{Allowed, Conversions};
use super::{check, corrupt};
use crate::catalog::computed::Computed;
use crate::catalog::table::Default;
use crate::catalog::temporary::TemporaryTables;
use crate::catalog::{ColumnDef, TableDef};
use crate::expression::row::Offsets;
use crate::index_use::Use;
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use datum::value::json::edit::{self, Mode};
use datum::value::json::path::{Leg, Path};
use datum::value::json::{self, convert};
use datum::value::store::Rules;
use datum::value::{Datum, image, store};

mod search;

/// Uncompressed rows of MariaDB's compressed events, in bytes.
const ROWS_MAX: usize = 256 << 20;

/// A column in an image that may lack columns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RawColumn<'a> {
    Absent,
    Null,
    Bytes(&'a [u8]),
}

impl<'a> RawColumn<'a> {
    fn of(field: &Option<Field<'a>>) -> Self {
        field.map_or(Self::Absent, |field| Self::there(field.raw))
    }

    /// A column that is there; `None` is NULL.
    fn there(raw: Option<&'a [u8]>) -> Self {
        raw.map_or(Self::Null, Self::Bytes)
    }
}

/// A row to find, and what it becomes; `None` if it is deleted.
type Searched<'a> = (Vec<Option<Field<'a>>>, Option<RowImage<'a>>);

/// A table, and what an event says of it.
struct Target {
    table: Arc<TableDef>,
    /// Where the event's columns are in the table; it may have more of them.
    places: Vec<usize>,
    /// See [`RowsOptions::idempotent`].
    idempotent: bool,
    is_mariadb: bool,
    /// See [`RowsOptions::checks_virtual`]; false for a table without such a column.
    checks_virtual: bool,
    /// The source's session, a MariaDB's, did not test CHECK constraints.
    ignores_checks: bool,
}

/// How a row event is applied.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RowsOptions<'a> {
    /// The database here of the source's table; `None` if it is that of the source.
    pub(crate) database: Option<&'a str>,
    /// `replica_exec_mode=IDEMPOTENT`: a row that is there already is replaced, and one that is not
    /// there is passed over.
    pub(crate) idempotent: bool,
    /// The source is a MariaDB, whose JSON columns are texts.
    pub(crate) is_mariadb: bool,
    /// The source is a MySQL, whose readers compute VIRTUAL columns: where the value in its log is
    /// not the one that is computed here, nobody knows what they see.
    pub(crate) checks_virtual: bool,
    /// An update that gives a unique key may be a MariaDB's REPLACE, without the columns that got
    /// their defaults.
    pub(crate) may_lack_defaults: bool,
}

/// Applies a row event. Its table is never a temporary one, of which no log has rows, unless
/// CREATE TABLE .. START TRANSACTION has made it.
pub(crate) fn rows(
    cx: &mut Context,
    map: &TableMapEvent,
    event: &RowsEvent<'_>,
    options: RowsOptions<'_>,
) -> Result<()> {
    if !cx.has_temporary_tables() || cx.transactions.started_table.is_some() {
        return rows_of_table(cx, map, event, options);
    }
    let mut temporary = TemporaryTables::default();
    cx.swap_temporary_tables(&mut temporary);
    let outcome = rows_of_table(cx, map, event, options);
    cx.swap_temporary_tables(&mut temporary);
    outcome
}

fn rows_of_table(
    cx: &mut Context,
    map: &TableMapEvent,
    event: &RowsEvent<'_>,
    options: RowsOptions<'_>,
) -> Result<()> {
    let (of_source, name) = (String::from_utf8_lossy(&map.database), String::from_utf8_lossy(&map.table));
    let database = options.database.unwrap_or(&of_source);
    let table = cx.open_table_to_write(Some(database), &name)?;
    cx.check_writable_table(&table)?;
    check_virtual_columns(cx, &table)?;
    // The log of a MySQL that has no cascades in it says neither.
    const WITHOUT: u16 = rows_flags::NO_FOREIGN_KEY_CHECKS | rows_flags::USE_SQL_FOREIGN_KEY;
    cx.statement.ignores_foreign_keys = event.flags & WITHOUT != 0;
    let places = places(&table, map);
    if options.may_lack_defaults {
        check_no_replace(&table, &places, event)?;
    }
    let flags = cx.instance.globals().uint(ids::REPLICA_TYPE_CONVERSIONS);
    let conversions = Conversions::of(&table, map, &places, Allowed::new(flags, options.is_mariadb))?;
    let bytes = event.rows.bytes(ROWS_MAX).map_err(corrupt)?;
    let changes = event.iter(map, &bytes).map_err(corrupt)?;
    let changes = changes.collect::<std::result::Result<Vec<_>, _>>().map_err(corrupt)?;
    let RowsOptions { idempotent, is_mariadb, .. } = options;
    let checks_virtual = options.checks_virtual && table.columns.iter().any(is_virtual);
    let ignores_checks = is_mariadb && event.flags & rows_flags::NO_CHECK_CONSTRAINT_CHECKS != 0;
    let target =
        Target { table: table.clone(), places, idempotent, is_mariadb, checks_virtual, ignores_checks };
    let Some(conversions) = conversions else { return target.apply(cx, event.kind, &changes) };
    let images = conversions.convert(&table, &changes)?;
    target.apply(cx, event.kind, &conversions.converted(&changes, &images)?)
}

/// Error 1235 for an update that gives all columns of a unique key, and lacks one that is not
/// computed.
fn check_no_replace(table: &TableDef, places: &[usize], event: &RowsEvent<'_>) -> Result<()> {
    let mut is_given = vec![false; table.columns.len()];
    for (of_event, &place) in places.iter().enumerate() {
        is_given[place] = event.has_after(of_event);
    }
    let mut indexes = table.indexes.iter().enumerate();
    let gives_key = indexes.any(|(number, index)| {
        let unique = table.schema.index(number).is_some_and(|index| index.unique());
        unique && index.parts.iter().all(|part| is_given[part.column])
    });
    let lacks = |column: &usize| table.columns[*column].generated.is_none() && !is_given[*column];
    if !gives_key || !places.iter().any(lacks) {
        return Ok(());
    }
    let TableDef { database, name, .. } = table;
    Err(SqlError::unsupported(format_args!(
        "an update of {database}.{name} that may be a MariaDB's REPLACE, of a session with another binlog_row_image than FULL: of its \
         columns those are not logged that got their defaults. SET GLOBAL binlog_row_image = FULL there"
    )))
}

/// Rows of another server have the values of VIRTUAL columns as its writers saw them, and it
/// computes them anew for each reader. Error 1235 where these may differ.
fn check_virtual_columns(cx: &mut Context, table: &Arc<TableDef>) -> Result<()> {
    if !cx.is_applier() || !table.columns.iter().any(is_virtual) {
        return Ok(());
    }
    Computed::of(cx, table)?.time_zone_error(table).map_or(Ok(()), Err)
}

fn is_virtual(column: &ColumnDef) -> bool {
    column.generated.as_ref().is_some_and(|generated| !generated.stored)
}

/// Where each of the event's columns is in the table, for those that the table has: by its place
/// among the columns that are no row id.
fn places(table: &TableDef, map: &TableMapEvent) -> Vec<usize> {
    let row_id = table.columns.iter().position(ColumnDef::is_row_id);
    let of_event = row_id.and_then(|at| row_id_of(map, table, at));
    let mut others = (0..table.columns.len()).filter(|&column| Some(column) != row_id);
    let place = |number| if Some(number) == of_event { row_id } else { others.next() };
    (0..map.columns.len()).map_while(place).collect()
}

/// The event's column that is the table's row id, too. Who does not name the columns is a server
/// without row ids, or has as many columns as this one.
fn row_id_of(map: &TableMapEvent, table: &TableDef, at: usize) -> Option<usize> {
    let name = table.columns[at].name.as_bytes();
    let names = map.metadata.0.iter().find_map(|field| match field {
        MetadataField::ColumnNames(names) => Some(names),
        _ => None,
    });
    match names {
        Some(names) => names.iter().position(|other| other.eq_ignore_ascii_case(name)),
        None => {
            let is_one = map.columns.len() >= table.columns.len()
                && map.columns[at].code == code::LONGLONG
                && !map.is_nullable(at);
            is_one.then_some(at)
        }
    }
}

/// Runs `change` so that it sees what the source's statement, whose events may be many, has changed
/// before: a statement of one's own does not see its own changes.
fn nested<T>(cx: &mut Context, change: impl FnOnce(&mut Context) -> Result<T>) -> Result<T> {
    cx.storage_transaction().begin_statement(0, None);
    let outcome = change(cx);
    match outcome {
        Ok(_) => cx.storage_transaction().end_statement(),
        Err(_) => cx.storage_transaction().rollback_statement(),
    }
    outcome
}

fn check_interrupt(cx: &mut Context, number: usize) -> Result<()> {
    if number.is_multiple_of(256) { cx.check_interrupt() } else { Ok(()) }
}

impl Target {
    fn apply(&self, cx: &mut Context, kind: RowsKind, changes: &[RowChange<'_>]) -> Result<()> {
        if kind == RowsKind::Write {
            return nested(cx, |cx| {
                for (number, change) in changes.iter().enumerate() {
                    check_interrupt(cx, number)?;
                    let after = change.after.ok_or_else(|| corrupt("a row without an image"))?;
                    self.insert(cx, &self.columns(&after)?)?;
                }
                Ok(())
            });
        }
        let mut searched = Vec::with_capacity(changes.len());
        for change in changes {
            let before = change.before.ok_or_else(|| corrupt("a row without an image"))?;
            searched.push((self.columns(&before)?, change.after));
        }
        let key = searched.first().and_then(|(before, _)| self.keys(before).next());
        match key {
            Some(index) => self.change_by_key(cx, index, &searched),
            None => self.change_by_walks(cx, searched),
        }
    }

    /// Error 3819 for a row that violates a CHECK constraint of the table here: the source's may
    /// have none.
    fn check_constraints(&self, cx: &mut Context, image: &[u8]) -> Result<()> {
        if !self.ignores_checks {
            computed::check_constraints(cx, &self.table, image, false)?;
        }
        Ok(())
    }

    /// Error 1235 if the source has logged another value of a VIRTUAL column than the one that is
    /// computed here for this row. `is_logged` tells of which columns the event has a value.
    fn check_virtual_values(
        &self,
        cx: &mut Context,
        image: &[u8],
        is_logged: impl Fn(usize) -> bool,
    ) -> Result<()> {
        if !self.checks_virtual {
            return Ok(());
        }
        let is_asked = |column: usize| is_virtual(&self.table.columns[column]) && is_logged(column);
        let mut computed = image.to_vec();
        let outcome = computed::fill_those(
            cx,
            &self.table,
            &mut computed,
            is_asked,
            RowRules { row: 1, rules: Self::rules(cx) },
        );
        if outcome.is_ok() && computed == image {
            return Ok(());
        }
        let (mut logged, mut here) = (Offsets::default(), Offsets::default());
        logged.find(&self.table, image)?;
        here.find(&self.table, &computed)?;
        let differs = |column: &usize| {
            is_asked(*column)
                && (outcome.is_err() || logged.raw(image, *column) != here.raw(&computed, *column))
        };
        let column = (0..self.table.columns.len()).find(differs).unwrap_or_default();
        let TableDef { database, name, columns, .. } = &*self.table;
        Err(SqlError::unsupported(format_args!(
            "the VIRTUAL column {database}.{name}.{} in a row for which the source has logged another value than is computed here. What a \
             MySQL logs is not always what its readers see: have the column STORED there",
            columns[column].name
        )))
    }

    /// An image's columns that the table has, each of them good.
    fn columns<'a>(&self, image: &RowImage<'a>) -> Result<Vec<Option<Field<'a>>>> {
        let mut columns = vec![None; self.table.columns.len()];
        for field in image.fields().take_while(|field| field.column < self.places.len()) {
            let column = self.places[field.column];
            let field = Field { column, ..field };
            let own = Field { ty: &self.table.column_types[column], ..field };
            if !check::is_good(&self.table.columns[column], &own) {
                return Err(self.bad_value(&own));
            }
            columns[column] = Some(field);
        }
        Ok(columns)
    }

    /// The error for a value that the column can't have.
    fn bad_value(&self, field: &Field<'_>) -> SqlError {
        match field.value() {
            // The source's column has more members.
            Ok(Value::Enum(_) | Value::Set(_)) => {
                error::WARN_DATA_TRUNCATED.with(&[&self.table.columns[field.column].name, &1])
            }
            _ => corrupt(format_args!("a value of column {}", field.column)),
        }
    }

    /// The unique keys of which each finds one row: by their numbers among the table's indexes.
    fn keys(&self, before: &[Option<Field<'_>>]) -> impl Iterator<Item = usize> {
        let has = |column: usize| before[column].is_some_and(|field| field.raw.is_some());
        let all = self.table.indexes.iter().enumerate();
        let usable = all.filter(move |(number, index)| {
            let unique = self.table.schema.index(*number).is_some_and(|index| index.unique());
            unique && index.parts.iter().all(|part| has(part.column))
        });
        usable.map(|(number, _)| number)
    }

    /// Appends a full image; `missing` gives the bytes of columns that are not in `columns`.
    fn build(
        &self,
        columns: &[RawColumn<'_>],
        mut missing: impl FnMut(&mut RowImageBuilder<'_>, usize) -> Result<()>,
    ) -> Result<Vec<u8>> {
        let mut image = Vec::new();
        let mut builder = RowImageBuilder::new(&self.table.column_types, &mut image);
        for (number, raw) in columns.iter().enumerate() {
            match raw {
                RawColumn::Bytes(bytes) => builder.push_raw(Some(bytes)).map_err(SqlError::internal)?,
                RawColumn::Null => builder.push_raw(None).map_err(SqlError::internal)?,
                RawColumn::Absent => missing(&mut builder, number)?,
            }
        }
        builder.finish().map_err(SqlError::internal)?;
        Ok(image)
    }

    /// True if a generated column that a change lacks may have another value after it. That a MySQL
    /// does not log it says that it has not changed; a MariaDB computes it again.
    fn must_be_computed(&self, column: usize) -> bool {
        self.table.columns[column].generated.is_some() && (self.is_mariadb || !self.places.contains(&column))
    }

    /// How computed columns are stored that an event lacks. The source's mode is not known here;
    /// what it took, cut or not, is taken.
    fn rules(cx: &Context) -> Rules {
        cx.store_rules(true)
    }

    /// The column of a table without a primary key that tells its rows from each other here.
    fn row_id(&self) -> Option<usize> {
        self.table.columns.iter().position(ColumnDef::is_row_id)
    }

    /// True if a row has this id already, which another server has given, or the load of a dump.
    fn has_row_id(&self, cx: &mut Context, columns: &[Option<Field<'_>>]) -> Result<bool> {
        match self.row_id().filter(|&column| columns[column].is_some()) {
            Some(_) => {
                let probe = self.probe(columns)?;
                let keys = self.table.schema.keys(&probe).map_err(SqlError::internal)?;
                Ok(self.with_row_id(cx, keys.primary())?.is_some())
            }
            None => Ok(false),
        }
    }

    fn insert(&self, cx: &mut Context, columns: &[Option<Field<'_>>]) -> Result<()> {
        let table = &self.table;
        let mut raw: Vec<RawColumn<'_>> = columns.iter().map(RawColumn::of).collect();
        if self.has_row_id(cx, columns)?
            && let Some(column) = self.row_id()
        {
            raw[column] = RawColumn::Absent;
        }
        let mut defaulted = Vec::new();
        let mut image = self.build(&raw, |builder, number| {
            let column = &table.columns[number];
            let value = match &column.default {
                _ if table.auto_column == Some(number) => Datum::UInt(writer::next_number(cx, table)?),
                _ if column.generated.is_some() => Datum::Null,
                Default::Value(value) => value.clone(),
                Default::Now => writer::now(cx, &column.ty),
                Default::Expression(_) => {
                    defaulted.push(number);
                    Datum::Null
                }
                Default::None if column.nullable => Datum::Null,
                Default::None => store::implicit_default(&column.ty),
            };
            image::push(builder, &value, &column.ty)
        })?;
        if raw.contains(&RawColumn::Absent) && !table.is_plain() {
            let rules = Self::rules(cx);
            // What the source has computed stays: it may depend on its session's time zone.
            let is_asked = |column: usize| {
                raw[column] == RawColumn::Absent
                    && (table.columns[column].generated.is_some() || defaulted.contains(&column))
            };
            computed::fill_those(cx, table, &mut image, is_asked, RowRules { row: 1, rules })?;
        }
        self.check_virtual_values(cx, &image, |column| raw[column] != RawColumn::Absent)?;
        self.check_constraints(cx, &image)?;
        let outcome = foreign_keys::insert_row(cx, table, &image);
        match self.stored(cx, outcome, &image, Use::Inserted) {
            Err(e) if self.idempotent && e.is(error::DUP_ENTRY) => {
                self.delete_equals(cx, &image)?;
                let outcome = foreign_keys::insert_row(cx, table, &image);
                self.stored(cx, outcome, &image, Use::Inserted)
            }
            outcome => outcome,
        }
    }

    /// Deletes the rows that have a unique key of this one.
    fn delete_equals(&self, cx: &mut Context, image: &[u8]) -> Result<()> {
        let table = &self.table;
        let keys = table.schema.keys(image).map_err(SqlError::internal)?;
        for number in 0..table.indexes.len() {
            let primary = match (number, keys.unique(number)) {
                (0, _) => Some(keys.primary().to_vec()),
                (_, Some(unique)) => self.primary_by(cx, number, unique)?,
                (_, None) => None,
            };
            if let Some(primary) = primary
                && let Some(found) = self.lock(cx, &primary)?
            {
                self.change(cx, &found, None, false)?;
            }
        }
        Ok(())
    }

    /// What becomes of a row that was given to the engine.
    fn stored(
        &self,
        cx: &mut Context,
        outcome: std::result::Result<(), NotChanged>,
        image: &[u8],
        change: Use,
    ) -> Result<()> {
        match outcome {
            Ok(()) => {
                self.table.count_row(image);
                cx.count_change(&self.table, change);
                Ok(())
            }
            Err(e) => Err(e.into_error(cx, &self.table, image)?),
        }
    }

    /// Error 1235 for a row that lacks columns beside its id: an id alone says nothing here.
    fn check_is_whole(&self, before: &[Option<Field<'_>>]) -> Result<()> {
        let lacks = |column: &usize| before[*column].is_none();
        if !self.places.iter().any(lacks) {
            return Ok(());
        }
        let TableDef { database, name, .. } = &*self.table;
        Err(SqlError::unsupported(format_args!(
            "a row of {database}.{name}, which has no primary key, of which the log has not all columns: another row may have its row id \
             here. An earlier version of Duramen has logged it so: copy the table anew"
        )))
    }

    fn change_by_key(&self, cx: &mut Context, index: usize, searched: &[Searched<'_>]) -> Result<()> {
        if self.is_row_id_key(index) {
            self.check_is_whole(&searched[0].0)?;
        }
        let mut by_walk = Vec::new();
        for (number, (before, after)) in searched.iter().enumerate() {
            check_interrupt(cx, number)?;
            let has_other_id = nested(cx, |cx| {
                let mut found = self.found_by_key(cx, index, before)?;
                let shares_id = found.is_some() && self.is_row_id_key(index);
                if found.is_none() && self.is_row_id_key(index) {
                    // Another unique key spares the walk.
                    let other = self.keys(before).nth(1);
                    found = other.map_or(Ok(None), |other| self.found_by_key(cx, other, before))?;
                    match &found {
                        Some(row) if self.has_values(row, before)? => {}
                        _ => return Ok(true),
                    }
                }
                match found {
                    Some(found) => self.change(cx, &found, *after, shares_id)?,
                    None if self.idempotent => {}
                    None => return Err(self.not_found()),
                }
                Ok(false)
            })?;
            if has_other_id {
                by_walk.push((before.clone(), *after));
            }
        }
        self.change_by_walks(cx, by_walk)
    }

    /// Changes the row that was found, or deletes it. `shares_id` says that it has the row id that
    /// it has at the source: then it gets the source's new one, too (a REPLACE gives one), for the
    /// rows' order is that of their ids.
    fn change(
        &self,
        cx: &mut Context,
        found: &[u8],
        after: Option<RowImage<'_>>,
        shares_id: bool,
    ) -> Result<()> {
        let table = &self.table;
        let Some(after) = after else {
            let outcome = foreign_keys::delete_row(cx, table, found);
            outcome.or_else(|e| Err(e.into_error(cx, table, found)?))?;
            cx.count_change(table, Use::Deleted);
            return Ok(());
        };
        let after = self.columns(&after)?;
        let mut offsets = Offsets::default();
        offsets.find(table, found)?;
        let mut documents: Vec<(usize, Vec<u8>)> = Vec::new();
        for field in after.iter().flatten().filter(|field| field.is_diff) {
            let before = offsets.raw(found, field.column);
            documents.push((field.column, changed_document(field, before)?));
        }
        let mut columns: Vec<RawColumn<'_>> = after.iter().map(RawColumn::of).collect();
        let keeps_id = !shares_id || self.has_row_id(cx, &after)?;
        for (column, raw) in columns.iter_mut().enumerate() {
            // Otherwise a row keeps the id that it has here.
            if *raw == RawColumn::Absent || keeps_id && table.columns[column].is_row_id() {
                *raw = RawColumn::there(offsets.raw(found, column));
            }
        }
        for (column, document) in &documents {
            columns[*column] = RawColumn::Bytes(document);
        }
        let mut image = self.build(&columns, |_, _| Err(SqlError::internal("a row without a column")))?;
        let is_asked = |column: usize| after[column].is_none() && self.must_be_computed(column);
        if !table.is_plain() && (0..after.len()).any(is_asked) {
            let rules = Self::rules(cx);
            computed::fill_those(cx, table, &mut image, is_asked, RowRules { row: 1, rules })?;
        }
        self.check_virtual_values(cx, &image, |column| after[column].is_some())?;
        if image == found {
            return Ok(());
        }
        self.check_constraints(cx, &image)?;
        let outcome = foreign_keys::update_row(cx, table, found, &image);
        self.stored(cx, outcome, &image, Use::Updated)
    }

    fn not_found(&self) -> SqlError {
        error::KEY_NOT_FOUND.with(&[&self.table.name])
    }
}

/// A document with the changes of a partial update, as the column's bytes.
fn changed_document(field: &Field<'_>, before: Option<&[u8]>) -> Result<Vec<u8>> {
    let before = match before {
        Some(raw) => match Value::decode(field.ty, raw) {
            Ok(Value::Json(document)) => document,
            _ => return Err(corrupt("a JSON column that holds none")),
        },
        None => return Err(corrupt("changes of a document that is NULL")),
    };
    let Ok(Value::JsonDiffs(changes)) = field.value() else { return Err(corrupt("changes of a document")) };
    let mut tree = convert::stored(before.into())?;
    for change in diffs(changes) {
        let change = change.map_err(corrupt)?;
        let path = Path::parse(change.path).map_err(|_| corrupt("a path in a document"))?;
        if path.is_multiple()
            || change.operation != JsonOperation::Remove && !check::is_document(change.value)
        {
            return Err(corrupt("a change of a document"));
        }
        let legs = path.legs();
        let value = || convert::stored(change.value.into());
        match change.operation {
            JsonOperation::Replace => edit::set(&mut tree, legs, value()?, Mode::Replace),
            JsonOperation::Insert if matches!(legs.last(), Some(Leg::Cell(_))) => {
                edit::insert(&mut tree, legs, value()?)
            }
            JsonOperation::Insert => edit::set(&mut tree, legs, value()?, Mode::Insert),
            JsonOperation::Remove => edit::remove(&mut tree, legs),
        }
        .map_err(corrupt)?;
    }
    let document = json::encode(&tree)?;
    let mut raw = Vec::new();
    Value::Json(&document).encode(field.ty, &mut raw).map_err(corrupt)?;
    Ok(raw)
}
