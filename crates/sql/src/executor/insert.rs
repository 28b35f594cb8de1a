//! INSERT and REPLACE.
//!
//! 1. resolve  The table is opened, the column list becomes numbers.
//! 2. values   For each row, each column's value: what was given, its default, or the next AUTO_INCREMENT number; each
//!    made to fit its column.
//! 3. image    The values become the row image, which is what is stored and logged.
//! 4. write    The transaction locks the keys, looks for duplicates, and takes the row. A duplicate is an error, a warning
//!    (IGNORE), the end of the other row (REPLACE), or its update (ON DUPLICATE KEY UPDATE).

use std::sync::Arc;

use binlog::row::RowImageBuilder;
use storage::TransactionError;

use super::change::{Around, Assignments};
use super::{computed, select};
use crate::ast::{self, ExprKind, InsertSource, LoadDuplicates};
use crate::catalog::auto_increment::Series;
use crate::catalog::table::Default;
use crate::catalog::{ColumnDef, TableDef};
use crate::error::{self, Result, SqlError};
use crate::expression::resolve::{Scope, Source};
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Resolver, Row};
use crate::planner::Query;
use crate::session::Context;
use crate::types::{Charset, DataType, Type};
use crate::value::{Datum, image, store};
use crate::variables::ids;

/// Runs an INSERT or REPLACE.
pub(super) fn execute(cx: &mut Context, insert: &ast::Insert, text: &[u8]) -> Result<()> {
    if !insert.partitions.is_empty() {
        return Err(SqlError::unsupported("partitions"));
    }
    cx.storing = !insert.ignore;
    let table = cx.open_table_to_write(insert.table.database.as_deref(), &insert.table.name)?;
    cx.check_writable_table(&table)?;
    let columns = column_numbers(&table, &insert.columns)?;
    let on_duplicate = match insert.on_duplicate.as_slice() {
        [] => None,
        assignments => Some(on_duplicate(cx, &table, insert, assignments, text)?),
    };
    let mut writer = Writer::new(cx, table, columns, insert.ignore, insert.replace);
    writer.on_duplicate = on_duplicate;
    match &insert.source {
        InsertSource::Values(rows) => {
            writer.rows = rows.len() as u64;
            for row in rows {
                writer.literal_row(cx, row, text)?;
            }
        }
        InsertSource::Query(query) => {
            let columns = writer.columns.len();
            select::for_each(cx, query, text, |cx, values, types| {
                if values.len() != columns {
                    return Err(error::WRONG_VALUE_COUNT_ON_ROW.with(&[&1]));
                }
                writer.selected_row(cx, values, types)
            })?;
        }
    }
    writer.finish(cx);
    Ok(())
}

/// Fills a new table with a query's rows: `selected` are the table's columns that they are for.
pub(super) fn fill(
    cx: &mut Context,
    table: Arc<TableDef>,
    selected: &[ColumnDef],
    query: &Query,
    duplicates: LoadDuplicates,
) -> Result<()> {
    let ignore = duplicates == LoadDuplicates::Ignore;
    cx.storing = !ignore;
    let columns = selected.iter().filter_map(|column| table.column_index(&column.name)).collect();
    let mut writer = Writer::new(cx, table, columns, ignore, duplicates == LoadDuplicates::Replace);
    let types: Vec<Type> = query.columns.iter().map(|column| column.ty).collect();
    super::query::run(cx, query, &mut |cx, values| writer.selected_row(cx, values, &types).map(|()| true))?;
    writer.finish(cx);
    Ok(())
}

/// The columns named, or all visible ones.
fn column_numbers(table: &TableDef, names: &[ast::Ident]) -> Result<Vec<usize>> {
    if names.is_empty() {
        return Ok((0..table.columns.len()).filter(|&c| table.columns[c].visible).collect());
    }
    let mut numbers = Vec::with_capacity(names.len());
    for name in names {
        let number = table.column_index(name);
        let number = number.ok_or_else(|| error::BAD_FIELD_ERROR.with(&[name, &"field list"]))?;
        if numbers.contains(&number) {
            return Err(error::FIELD_SPECIFIED_TWICE.with(&[name]));
        }
        numbers.push(number);
    }
    Ok(numbers)
}

fn on_duplicate(
    cx: &mut Context,
    table: &Arc<TableDef>,
    insert: &ast::Insert,
    assignments: &[ast::Assignment],
    text: &[u8],
) -> Result<Assignments> {
    if insert.replace {
        return Err(SqlError::internal("REPLACE with ON DUPLICATE KEY UPDATE"));
    }
    let mut scope = Scope::of_table(table.clone(), &table.name);
    scope.values_source = Some(1);
    if let Some(alias) = &insert.row_alias {
        if !alias.columns.is_empty() {
            return Err(SqlError::unsupported("column aliases of a row alias"));
        }
        scope.sources.push(Source::table(table.clone(), &alias.name, 1));
    }
    scope.locals = crate::routine::locals(cx);
    Assignments::resolve(cx, table, assignments, scope, text)
}

/// The largest AUTO_INCREMENT value that the column holds.
fn auto_max(table: &TableDef) -> u64 {
    match table.auto_column.map(|c| &table.columns[c].ty) {
        Some(DataType::Integer { size, sign, .. }) => {
            u64::try_from(store::integer_range(*size, sign.unsigned).1).unwrap_or(u64::MAX)
        }
        _ => u64::MAX,
    }
}

/// What a statement says of a column.
enum Given<'a> {
    /// A value, and the character set of its text.
    Value(Datum<'a>, Charset),
    /// DEFAULT, or nothing.
    Default,
}

struct Writer {
    table: Arc<TableDef>,
    rules: store::Rules,
    ignore: bool,
    replace: bool,
    on_duplicate: Option<Assignments>,
    /// The columns that values are given for, in their order.
    columns: Vec<usize>,
    /// The row being written, from 1.
    row: u64,
    /// Rows of the statement, if that is known.
    rows: u64,
    /// AUTO_INCREMENT numbers that are this statement's.
    reserved: std::ops::Range<u64>,
    first_generated: Option<u64>,
    last_explicit: u64,
    image: Vec<u8>,
    auto_max: u64,
    /// The table has no expressions.
    is_plain: bool,
    /// Columns of the row whose default is an expression that has to be evaluated.
    defaulted: Vec<usize>,
}

impl Writer {
    fn new(cx: &Context, table: Arc<TableDef>, columns: Vec<usize>, ignore: bool, replace: bool) -> Self {
        Writer {
            rules: cx.store_rules(ignore),
            ignore,
            replace,
            on_duplicate: None,
            columns,
            row: 0,
            rows: 0,
            reserved: 0..0,
            first_generated: None,
            last_explicit: 0,
            image: Vec::new(),
            auto_max: auto_max(&table),
            is_plain: table.is_plain(),
            defaulted: Vec::new(),
            table,
        }
    }

    fn selected_row(&mut self, cx: &mut Context, values: &[Datum<'_>], types: &[Type]) -> Result<()> {
        let given = values.iter().zip(types).map(|(v, ty)| Given::Value(v.borrow(), ty.collation.charset()));
        self.write_row(cx, given.collect())
    }

    fn literal_row(&mut self, cx: &mut Context, row: &[ast::Expr], text: &[u8]) -> Result<()> {
        if row.is_empty() && (self.columns.is_empty() || self.row == 0 && self.rows >= 1) {
            // `VALUES ()`: all defaults.
            let given = self.columns.iter().map(|_| Given::Default).collect();
            return self.write_row(cx, given);
        }
        if row.len() != self.columns.len() {
            return Err(error::WRONG_VALUE_COUNT_ON_ROW.with(&[&(self.row + 1)]));
        }
        let scope = Scope { locals: crate::routine::locals(cx), ..Scope::empty() };
        let mut resolver = Resolver::new(cx, scope).with_text(text);
        resolver.targets = vec![self.table.clone()];
        let mut given = Vec::with_capacity(row.len());
        for ast in row {
            if matches!(ast.kind, ExprKind::Default(None)) {
                given.push(Given::Default);
                continue;
            }
            let expr = resolver.expr(ast)?;
            let charset = if expr.ty.family.is_text() { expr.ty.collation.charset() } else { Charset::Ascii };
            let value = match expr.node {
                crate::expression::Node::Constant(value) => value,
                _ => expr.eval(resolver.cx, Row::None)?.into_owned(),
            };
            given.push(Given::Value(value, charset));
        }
        self.write_row(cx, given)
    }

    fn write_row(&mut self, cx: &mut Context, mut given: Vec<Given<'_>>) -> Result<()> {
        self.row += 1;
        if self.row.is_multiple_of(256) {
            cx.check_interrupt()?;
        }
        let table = self.table.clone();
        let mut image = std::mem::take(&mut self.image);
        image.clear();
        let mut builder = RowImageBuilder::new(&table.column_types, &mut image);
        let mut generated = None;
        self.defaulted.clear();
        for (number, column) in table.columns.iter().enumerate() {
            let place = self.columns.iter().position(|&c| c == number);
            let given = place.map_or(Given::Default, |i| std::mem::replace(&mut given[i], Given::Default));
            let value = self.value(cx, number, column, given, &mut generated)?;
            image::push(&mut builder, &value, &column.ty)?;
        }
        builder.finish().map_err(SqlError::internal)?;
        if !self.is_plain {
            let how = (self.row, self.ignore);
            if !computed::complete(cx, &table, &mut image, &self.defaulted, self.rules, how)? {
                self.image = image;
                return Ok(());
            }
        }
        let outcome = self.put(cx, &image);
        self.image = image;
        if outcome? && generated.is_some() {
            self.first_generated = self.first_generated.or(generated);
        }
        Ok(())
    }

    /// A column's value, made to fit.
    fn value<'a>(
        &mut self,
        cx: &mut Context,
        number: usize,
        column: &ColumnDef,
        given: Given<'a>,
        generated: &mut Option<u64>,
    ) -> Result<Datum<'a>> {
        let auto = self.table.auto_column == Some(number);
        if column.generated.is_some() {
            return match given {
                Given::Default => Ok(Datum::Null),
                // MariaDB's dumps hold the values, and set a mode that is not strict.
                Given::Value(..) if !cx.modes().strict => {
                    cx.warn(computed::generated_value(&self.table, number));
                    Ok(Datum::Null)
                }
                Given::Value(..) => computed::not_generated(&self.table, number).map(|()| Datum::Null),
            };
        }
        let (value, charset) = match given {
            Given::Value(value, charset) => (value, charset),
            Given::Default if auto => return self.generate(cx, column, generated),
            Given::Default => return self.default(cx, number, column),
        };
        if value.is_null() {
            if auto {
                return self.generate(cx, column, generated);
            }
            if column.nullable {
                return Ok(Datum::Null);
            }
            let e = error::BAD_NULL_ERROR.with(&[&column.name]);
            if self.rules.strict || self.rows == 1 && !self.ignore {
                return Err(e);
            }
            cx.warn(e);
            return Ok(store::implicit_default(&column.ty));
        }
        let mut target = store::Target {
            column: &column.name,
            table: &self.table.name,
            row: self.row,
            rules: self.rules,
            diagnostics: &mut cx.diagnostics,
        };
        let fitted = store::fit(value, charset, &column.ty, &mut target)?;
        if auto {
            match u64::try_from(fitted.to_integer().value) {
                Ok(0) if !cx.modes().no_auto_value_on_zero => return self.generate(cx, column, generated),
                Ok(n) => {
                    self.table.counter.used(n);
                    self.last_explicit = n;
                }
                Err(_) => {}
            }
        }
        Ok(fitted)
    }

    fn default<'a>(&mut self, cx: &mut Context, number: usize, column: &ColumnDef) -> Result<Datum<'a>> {
        match &column.default {
            Default::Expression(_) => {
                self.defaulted.push(number);
                Ok(Datum::Null)
            }
            Default::Value(value) => Ok(value.clone()),
            Default::Now => Ok(now(cx, &column.ty)),
            Default::None => {
                let e = error::NO_DEFAULT_FOR_FIELD.with(&[&column.name]);
                if self.rules.strict {
                    return Err(e);
                }
                cx.warn(e);
                Ok(store::implicit_default(&column.ty))
            }
        }
    }

    /// The next AUTO_INCREMENT number.
    fn generate<'a>(
        &mut self,
        cx: &mut Context,
        column: &ColumnDef,
        generated: &mut Option<u64>,
    ) -> Result<Datum<'a>> {
        let increment = cx.variables().uint(ids::AUTO_INCREMENT_INCREMENT).max(1);
        let forced = cx.variables().uint(ids::INSERT_ID);
        if forced > 0 {
            cx.change_variables(|v| v.put(ids::INSERT_ID, crate::variables::Value::UInt(0)));
            self.table.counter.used(forced);
            self.reserved = forced..forced;
            *generated = Some(forced);
            return self.numbered(cx, column, forced);
        }
        if self.reserved.is_empty() {
            let series = Series { increment, offset: cx.variables().uint(ids::AUTO_INCREMENT_OFFSET) };
            // All that the statement can still need, so that its numbers are consecutive.
            let count = (self.rows + 1).saturating_sub(self.row).max(1);
            let first = self.table.counter.reserve(count, series, self.auto_max);
            // A type that is full gives its last value again, which the key refuses; a full BIGINT has an error of its own.
            let first = match first {
                Some(first) => first,
                None if self.auto_max < u64::MAX => self.auto_max,
                None => return Err(error::AUTOINC_READ_FAILED.plain()),
            };
            self.reserved = first..first.saturating_add(count.saturating_mul(increment));
        }
        let number = self.reserved.start;
        self.reserved.start = number.saturating_add(increment);
        *generated = Some(number);
        self.numbered(cx, column, number)
    }

    fn numbered<'a>(&self, cx: &mut Context, column: &ColumnDef, number: u64) -> Result<Datum<'a>> {
        let mut target = store::Target {
            column: &column.name,
            table: &self.table.name,
            row: self.row,
            rules: self.rules,
            diagnostics: &mut cx.diagnostics,
        };
        store::fit(Datum::UInt(number), Charset::Ascii, &column.ty, &mut target)
    }

    /// Writes the row; false if it was left out.
    fn put(&mut self, cx: &mut Context, image: &[u8]) -> Result<bool> {
        loop {
            let engine = &mut cx.transaction().engine;
            let (index, existing) = match engine.insert_row(&self.table.schema, image) {
                Ok(()) => {
                    cx.status.affected += 1;
                    cx.count(crate::status::Counter::HandlerWrite);
                    return Ok(true);
                }
                Err(TransactionError::DuplicateKey { index, existing, .. }) => (index, existing),
                Err(e) => return Err(e.into()),
            };
            if self.replace {
                let engine = &mut cx.transaction().engine;
                let tree = self.table.schema.primary.tree();
                if let Some(old) = engine.get_newest_for_update(tree, &existing)? {
                    engine.delete_row(&self.table.schema, &old)?;
                    cx.status.affected += 1;
                }
                continue;
            }
            if self.on_duplicate.is_some() {
                return self.update_existing(cx, image, &existing).map(|()| false);
            }
            let e = duplicate_entry(cx, &self.table, index, image)?;
            if !self.ignore {
                return Err(e);
            }
            cx.warn(e);
            return Ok(false);
        }
    }

    /// ON DUPLICATE KEY UPDATE: 2 rows affected if the row changed, 0 if it was so already.
    fn update_existing(&mut self, cx: &mut Context, new: &[u8], key: &[u8]) -> Result<()> {
        let Some(assignments) = &self.on_duplicate else { return Ok(()) };
        let tree = self.table.schema.primary.tree();
        let Some(old) = cx.transaction().engine.get_newest_for_update(tree, key)? else { return Ok(()) };
        let mut offsets = Offsets::default();
        offsets.find(&self.table, new)?;
        let new_row = Row::Image(ImageRow { table: &self.table, image: new, offsets: &offsets });
        let after = assignments.apply(cx, &self.table, &old, Around::New(new_row), self.rules, self.row)?;
        if let Some(after) = after {
            let outcome = cx.transaction().engine.update_row(&self.table.schema, &old, &after);
            if let Err(TransactionError::DuplicateKey { index, .. }) = outcome {
                return Err(duplicate_entry(cx, &self.table, index, &after)?);
            }
            outcome?;
            self.table.count_row(&after);
            cx.status.affected += 2;
        } else if cx.count_found_rows {
            cx.status.affected += 1;
        }
        Ok(())
    }

    fn finish(self, cx: &mut Context) {
        if let Some(id) = self.first_generated
            && self.table.columns[self.table.auto_column.unwrap_or(0)].visible
        {
            cx.status.last_insert_id = id;
            cx.status.insert_id = id;
        } else if self.last_explicit > 0 && cx.status.insert_id == 0 {
            cx.status.insert_id = self.last_explicit;
        }
        let many = self.row > 1 || self.rows == 0;
        if many {
            let warnings = cx.diagnostics.warning_count();
            let duplicates = if self.ignore { self.row - cx.status.affected.min(self.row) } else { 0 };
            cx.status.info = format!("Records: {}  Duplicates: {duplicates}  Warnings: {warnings}", self.row);
        }
    }
}

/// The statement's moment as a column has it.
pub(super) fn now<'a>(cx: &Context, ty: &DataType) -> Datum<'a> {
    let moment = if matches!(ty, DataType::Timestamp(_)) { cx.now_utc() } else { cx.now() };
    Datum::DateTime(moment.truncate(ty.decimals()))
}

/// Error 1062, with the key's values.
pub(super) fn duplicate_entry(
    cx: &Context,
    table: &TableDef,
    index: usize,
    image: &[u8],
) -> Result<SqlError> {
    let mut offsets = Offsets::default();
    offsets.find(table, image)?;
    let row = ImageRow { table, image, offsets: &offsets };
    let definition = &table.indexes[index];
    let mut values = Vec::with_capacity(definition.parts.len());
    for part in &definition.parts {
        let value = row.column(part.column, cx.zone())?;
        let bytes = value.to_bytes();
        let shown = match part.prefix_len {
            Some(n) => {
                let charset = table.columns[part.column].ty.collation().charset();
                &bytes[..charset.char_offset(&bytes, n as usize)]
            }
            None => &bytes[..],
        };
        values.push(String::from_utf8_lossy(shown).into_owned());
    }
    let key = format!("{}.{}", table.name, definition.name);
    Ok(error::DUP_ENTRY.with(&[&values.join("-"), &key]))
}
