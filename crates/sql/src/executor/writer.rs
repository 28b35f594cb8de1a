//! Rows on their way into a table: what INSERT, REPLACE and LOAD DATA have in common.
//!
//! 1. fit    Each column's value, what was given, its default, or the next AUTO_INCREMENT number,
//!    is made to fit its column.
//! 2. image  The values become the row image, which is what is stored and logged.
//! 3. put    The transaction locks the keys, looks for duplicates, and takes the row. A duplicate
//!    is an error, a warning (IGNORE), the end of the other row (REPLACE), or its update (ON
//!    DUPLICATE KEY UPDATE).
//!
//! A row whose expressions read its own columns is made in a [`Draft`]: there every column that was
//! set already has its value, and the others have their defaults.

use std::cell::RefCell;
use std::sync::Arc;

use binlog::row::RowImageBuilder;

use super::assignments::{Applied, Around, Assignments, implied_default, null_where_none_may_be, rebuild};
use super::computed;
use super::foreign_keys::{self, NotChanged};
use super::triggers::AssignedColumns;
use super::view_check::ThroughView;
use super::{RowRules, fit, triggers};
use crate::catalog::auto_increment::Series;
use crate::catalog::table::Default;
use crate::catalog::{ColumnDef, TableDef};
use crate::expression::row::{ImageRow, Offsets};
use crate::expression::{Expr, Node, Row, frame};
use crate::index_use::Use;
use crate::session::Context;
use crate::status::Counter;
use crate::variables::ids;
use datum::error::{self, Level, Result, SqlError};
use datum::types::{Charset, DataType, Type};
use datum::value::{Datum, image, store};

/// What a statement says of a column.
#[derive(Clone)]
pub(super) enum ColumnInput<'a> {
    /// A value, and the character set of its text.
    Value(Datum<'a>, Charset),
    /// A value that was made to fit already.
    Fitted(Datum<'a>),
    /// DEFAULT, or nothing.
    Default,
}

/// What becomes of a row whose key another row has.
#[derive(Clone)]
pub(super) enum OnDuplicate {
    /// The statement fails.
    Fail,
    /// REPLACE: the other row goes.
    Replace,
    /// ON DUPLICATE KEY UPDATE: the other row changes.
    Update(Arc<Assignments>),
}

/// What became of the rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    /// Rows that came as far as to be written.
    pub(super) records: u64,
    /// Those that were written, by insertion or by a change of another row.
    pub(super) copied: u64,
    /// Rows that REPLACE removed.
    pub(super) deleted: u64,
    /// Rows that ON DUPLICATE KEY UPDATE changed.
    pub(super) updated: u64,
}

/// Writes a statement's rows into a table.
pub(super) struct Writer<'p> {
    pub(super) table: &'p Arc<TableDef>,
    /// What became of the rows so far.
    pub(super) counts: Counts,
    /// The row being written, from 1.
    pub(super) row: u64,
    /// Rows of the statement; 0 if that is not known.
    pub(super) rows: u64,
    /// The rows come from a file: NULL in a NOT NULL column has an error of its own.
    pub(super) loads: bool,
    rules: store::Rules,
    ignore: bool,
    on_duplicate: &'p OnDuplicate,
    numbers: ReservedNumbers,
    first_generated: Option<u64>,
    /// The AUTO_INCREMENT column's value in the row that was written last.
    pub(super) last_number: u64,
    /// What assignments read of INSERT .. SELECT's query.
    pub(super) selected: Vec<Datum<'static>>,
    image: Vec<u8>,
    /// The table has no expressions.
    is_plain: bool,
    /// The columns that the statement gives, if it says so.
    columns: Option<&'p Columns>,
    /// The view that the rows are written through.
    view: Option<&'p ThroughView>,
    /// Columns of the row whose default is an expression that has to be evaluated.
    defaulted: Vec<usize>,
    /// Columns that have no default and were not given: the statement is warned of them.
    without_default: Vec<usize>,
    /// Columns whose NULL the statement was warned of.
    nulls_reported: RefCell<Vec<usize>>,
    /// The row is `()`: all defaults, as if no column was named.
    pub(super) is_empty_row: bool,
    /// Columns of the row that a trigger may still give a value, which they need.
    deferred: Vec<(usize, Missing)>,
}

/// What a column of a row lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Missing {
    /// It was given NULL, which it can't be.
    Value,
    /// It was given nothing, and has no default.
    Default,
}

/// The columns that a statement gives.
pub(super) struct Columns {
    /// By their numbers, in the statement's order.
    pub(super) numbers: Vec<usize>,
    /// That is not the table's order, or a column that is left out has to be given.
    is_unordered: bool,
}

impl Columns {
    pub(super) fn new(table: &TableDef, numbers: Vec<usize>) -> Self {
        let is_needed = |(c, column): (usize, &ColumnDef)| {
            matches!(column.default, Default::None) && column.generated.is_none() && !numbers.contains(&c)
        };
        let is_unordered = !numbers.is_sorted() || table.columns.iter().enumerate().any(is_needed);
        Self { numbers, is_unordered }
    }
}

/// AUTO_INCREMENT numbers of one statement. They are reserved as MySQL does it, so that the gaps
/// are the same: as many at once as the statement has rows, or, if that is not known, one, two,
/// four, and so on.
#[derive(Default)]
struct ReservedNumbers {
    reserved: std::ops::Range<u64>,
    /// They follow what `insert_id` said, whatever the table's counter is.
    is_forced: bool,
    intervals: u32,
    /// Rows that the last interval was reserved for and that have not come yet.
    promised: u64,
    /// The number of the row being made, if it was not given.
    generated: Option<u64>,
    /// That which was given; it counts once the row is there.
    given: Option<u64>,
    /// The number of the row being made.
    current: u64,
}

/// The most numbers that are reserved at once if the number of rows is not known.
const NUMBERS_MAX: u64 = 65_535;

/// A row whose expressions read the columns before them.
pub(super) struct RowDraft {
    image: Vec<u8>,
    given: Vec<ColumnInput<'static>>,
}

impl<'p> Writer<'p> {
    /// A writer of `rows` rows; 0 if that is not known.
    pub(super) fn new(
        cx: &Context,
        table: &'p Arc<TableDef>,
        on_duplicate: &'p OnDuplicate,
        ignore: bool,
        rows: u64,
    ) -> Self {
        Self {
            rules: cx.store_rules(ignore),
            is_plain: table.is_plain(),
            counts: Counts::default(),
            row: 0,
            rows,
            loads: false,
            ignore,
            on_duplicate,
            numbers: ReservedNumbers::default(),
            first_generated: None,
            last_number: 0,
            selected: Vec::new(),
            image: Vec::new(),
            columns: None,
            view: None,
            defaulted: Vec::new(),
            without_default: Vec::new(),
            nulls_reported: RefCell::default(),
            is_empty_row: false,
            deferred: Vec::new(),
            table,
        }
    }

    /// Says which columns the statement gives, in its order: that is the order in which they fail
    /// and warn, before those that are left out.
    pub(super) fn of_columns(self, columns: &'p Columns) -> Self {
        Self { columns: Some(columns), ..self }
    }

    /// Says what a view that the rows are written through asks of them.
    pub(super) fn through(self, view: &'p ThroughView) -> Self {
        Self { view: Some(view), ..self }
    }

    /// Gives it memory for the rows' images, which is what [`Self::into_memory`] gives back.
    pub(super) fn with_memory(self, image: Vec<u8>) -> Self {
        Self { image, ..self }
    }

    pub(super) fn into_memory(mut self) -> Vec<u8> {
        frame::recycle(&mut self.image);
        self.image
    }

    /// Writes a row; `given` has an entry for each of the table's columns, and is used up.
    pub(super) fn write(&mut self, cx: &mut Context, given: &mut [ColumnInput<'_>]) -> Result<()> {
        self.begin_row(cx)?;
        self.write_begun(cx, given)
    }

    /// Counts the next row.
    fn begin_row(&mut self, cx: &Context) -> Result<()> {
        self.row += 1;
        self.numbers.generated = None;
        self.numbers.given = None;
        datum::bounds::check()?;
        if self.row.is_multiple_of(256) {
            cx.check_interrupt()?;
        }
        Ok(())
    }

    fn write_begun(&mut self, cx: &mut Context, given: &mut [ColumnInput<'_>]) -> Result<()> {
        let table = self.table;
        let mut image = std::mem::take(&mut self.image);
        image.clear();
        let mut builder = RowImageBuilder::new(&table.column_types, &mut image);
        self.defaulted.clear();
        self.deferred.clear();
        let is_triggered = triggers::run_before_insert(table);
        let numbered = table.auto_column.filter(|&c| takes_number(cx, &given[c]));
        let is_unordered = self.columns.is_some_and(|columns| columns.is_unordered);
        if is_unordered || numbered.is_some() {
            self.convert_to_columns(cx, given, numbered)?;
        }
        // Generated columns and CHECKs may reject the row: AUTO_INCREMENT is assigned only
        // afterwards.
        let check = self.view.and_then(|view| view.check.as_deref());
        let late = numbered.filter(|_| !self.is_plain || is_triggered || check.is_some());
        for ((number, column), given) in table.columns.iter().enumerate().zip(given) {
            let given = std::mem::replace(given, ColumnInput::Default);
            let value = match late {
                Some(late) if late == number => store::implicit_default(&column.ty),
                _ => self.value(cx, number, column, given)?,
            };
            image::push(&mut builder, &value, &column.ty)?;
        }
        builder.finish().map_err(SqlError::internal)?;
        let mut late = late;
        if is_triggered {
            if !self.before_insert(cx, &mut image)? {
                self.image = image;
                return Ok(());
            }
            late = self.number_given(cx, &image)?;
        }
        let defaulted = if is_triggered { &[][..] } else { &self.defaulted };
        let complete = self.is_plain || {
            computed::complete(cx, table, &mut image, defaulted, self.row_rules(), self.ignore)?
        };
        if complete {
            // A row that the view refuses takes no number, unless the view asks for it.
            let checked_late = check.filter(|check| late.is_some() && check.reads_number);
            let mut passes = match check.filter(|_| checked_late.is_none()) {
                Some(check) => check.passes(cx, table, &image, None, self.ignore)?,
                None => true,
            };
            if passes && let Some(column) = late {
                image = self.numbered(cx, column, &image)?;
            }
            if let Some(check) = checked_late {
                passes = check.passes(cx, table, &image, None, self.ignore)?;
            }
            if !passes {
                self.image = image;
                return Ok(());
            }
            self.counts.records += 1;
            let outcome = self.put(cx, &image);
            self.numbers.promised = self.numbers.promised.saturating_sub(1);
            if outcome? {
                self.first_generated = self.first_generated.or(self.numbers.generated);
                triggers::after_insert(cx, table, &image)?;
            }
        }
        self.image = image;
        Ok(())
    }

    /// Lets the triggers see the row, and change it, before it is looked at as a whole. What is
    /// missing in it is NULL until then, and what they leave without a value comes last. A NULL
    /// that they put where none may be is error 1048 in every mode; with IGNORE, INSERT .. SELECT
    /// stores another value, and others skip the row: false.
    fn before_insert(&mut self, cx: &mut Context, image: &mut Vec<u8>) -> Result<bool> {
        let table = self.table;
        if !self.is_plain {
            computed::fill(cx, table, image, &self.defaulted, self.row_rules())?;
        }
        if !self.deferred.is_empty() {
            let nulls: Vec<_> = self.deferred.iter().map(|(column, _)| (*column, Datum::Null)).collect();
            *image = rebuild(table, image, &nulls)?;
        }
        let mut assigned = AssignedColumns::default();
        let outcome = triggers::before_insert(cx, table, image, &mut assigned);
        let is_without =
            |(number, why): &&(usize, Missing)| *why == Missing::Default && !assigned.all.contains(number);
        let without: Vec<_> = self.deferred.iter().filter(is_without).map(|(number, _)| *number).collect();
        if let Err(e) = outcome {
            self.report_missing_too(cx, &e, &without);
            return Err(e);
        }
        let mut values = Vec::new();
        for number in null_where_none_may_be(table, image)? {
            let column = &table.columns[number];
            let is_assigned = assigned.nulls.contains(&number);
            let value = match table.auto_column == Some(number) {
                true => store::implicit_default(&column.ty),
                false if without.contains(&number) => continue,
                false if is_assigned && self.ignore && !self.is_of_query() => return Ok(false),
                false => match self.null_of_trigger(cx, number, is_assigned) {
                    Ok(value) => value,
                    Err(e) => {
                        self.report_missing_too(cx, &e, &without);
                        return Err(e);
                    }
                },
            };
            values.push((number, value));
        }
        for &number in &without {
            let column = &table.columns[number];
            match self.no_default(cx, number, column) {
                Ok(value) if value.is_null() => {}
                Ok(value) => values.push((number, value)),
                Err(e) => {
                    self.report_missing(cx, &without);
                    return Err(e);
                }
            }
        }
        if !values.is_empty() {
            *image = rebuild(table, image, &values)?;
        }
        Ok(true)
    }

    /// The AUTO_INCREMENT column, if the triggers have left it without a number; one that they have
    /// given, or that was given before, counts.
    fn number_given(&mut self, cx: &Context, image: &[u8]) -> Result<Option<usize>> {
        self.numbers.given = None;
        let Some(auto) = self.table.auto_column else { return Ok(None) };
        let mut offsets = Offsets::default();
        offsets.find(self.table, image)?;
        let row = ImageRow { table: self.table, image, offsets: &offsets };
        let value = row.column(auto, cx.settings.zone())?;
        let number = value.to_integer().value;
        if takes_number(cx, &ColumnInput::Fitted(value)) {
            return Ok(Some(auto));
        }
        self.numbers.current = number as u64; // as above
        self.numbers.given = u64::try_from(number).ok();
        Ok(None)
    }

    /// The row with its number, which nothing in it could be computed of.
    fn numbered(&mut self, cx: &mut Context, column: usize, image: &[u8]) -> Result<Vec<u8>> {
        let table = self.table;
        let number = self.generate(cx, &table.columns[column])?;
        rebuild(table, image, &[(column, number)])
    }

    /// Makes the values fit, and then finds the defaults: all but the row's number, for a row that
    /// fails takes none.
    fn convert_to_columns(
        &mut self,
        cx: &mut Context,
        given: &mut [ColumnInput<'_>],
        numbered: Option<usize>,
    ) -> Result<()> {
        let table = self.table;
        let order = self.columns.map_or(&[][..], |columns| &columns.numbers);
        for at in 0..order.len() + given.len() {
            let column = order.get(at).copied().unwrap_or_else(|| at - order.len());
            if numbered != Some(column) {
                let value = std::mem::replace(&mut given[column], ColumnInput::Default);
                let fitted = self.value(cx, column, &table.columns[column], value);
                if let (Err(e), true) = (&fitted, at < order.len()) {
                    self.report_missing_too(cx, e, &self.without_value());
                }
                given[column] = ColumnInput::Fitted(fitted?);
            }
        }
        Ok(())
    }

    /// A column's value, made to fit.
    fn value<'a>(
        &mut self,
        cx: &mut Context,
        number: usize,
        column: &ColumnDef,
        given: ColumnInput<'a>,
    ) -> Result<Datum<'a>> {
        let auto = self.table.auto_column == Some(number);
        let (value, charset) = match given {
            ColumnInput::Fitted(value) => return Ok(value),
            ColumnInput::Default if column.generated.is_some() => return Ok(Datum::Null),
            // MariaDB's dumps hold the values, and set a mode that is not strict.
            ColumnInput::Value(..) if column.generated.is_some() && !cx.settings.modes().strict => {
                cx.warn(computed::generated_value(self.table, number));
                return Ok(Datum::Null);
            }
            ColumnInput::Value(..) if column.generated.is_some() => {
                return computed::not_generated(self.table, number).map(|()| Datum::Null);
            }
            ColumnInput::Value(value, charset) => (value, charset),
            ColumnInput::Default if auto => return self.generate(cx, column),
            ColumnInput::Default => return self.default(cx, number, column),
        };
        if value.is_null() {
            return match auto {
                true => self.generate(cx, column),
                false if column.nullable => Ok(Datum::Null),
                false if triggers::run_before_insert(self.table) => {
                    self.deferred.push((number, Missing::Value));
                    Ok(store::implicit_default(&column.ty))
                }
                false => self.no_null(cx, number, column),
            };
        }
        let fitted = fit(cx, self.table, column, self.row_rules(), value, charset)?;
        if auto {
            let number = fitted.to_integer().value;
            if number == 0 && !cx.settings.modes().no_auto_value_on_zero {
                return self.generate(cx, column);
            }
            self.numbers.current = number as u64; // a negative one is reported as its two's complement
            self.numbers.given = u64::try_from(number).ok();
        }
        Ok(fitted)
    }

    /// NULL for a column that has none, once the triggers have seen the row: they have assigned it,
    /// or it was given.
    fn null_of_trigger<'a>(&self, cx: &mut Context, number: usize, is_assigned: bool) -> Result<Datum<'a>> {
        let column = &self.table.columns[number];
        if !is_assigned {
            return self.no_null(cx, number, column);
        }
        let e = error::BAD_NULL_ERROR.with(&[&column.name]);
        if !self.ignore {
            return Err(e);
        }
        cx.warn(e);
        Ok(store::null_substitute(&column.ty))
    }

    /// NULL for a column that has none. INSERT and REPLACE are warned of it once for all rows.
    fn no_null<'a>(&self, cx: &mut Context, number: usize, column: &ColumnDef) -> Result<Datum<'a>> {
        let is_now = self.loads && matches!(column.ty, DataType::Timestamp(_));
        if is_now || is_now_for_null(cx, column) {
            return Ok(now(cx, &column.ty));
        }
        let e = match self.loads {
            true => error::WARN_NULL_TO_NOTNULL.with(&[&column.name, &self.row]),
            false => error::BAD_NULL_ERROR.with(&[&column.name]),
        };
        if self.rules.strict || self.rows == 1 && !self.ignore {
            return Err(e);
        }
        if self.columns.is_none() {
            cx.warn(e);
        } else if !self.nulls_reported.borrow().contains(&number) {
            self.nulls_reported.borrow_mut().push(number);
            cx.warn(e);
        }
        Ok(store::null_substitute(&column.ty))
    }

    fn default<'a>(&mut self, cx: &mut Context, number: usize, column: &ColumnDef) -> Result<Datum<'a>> {
        match &column.default {
            Default::Expression(_) => {
                self.defaulted.push(number);
                Ok(Datum::Null)
            }
            Default::Value(value) => Ok(value.clone()),
            Default::Now => Ok(now(cx, &column.ty)),
            // The word DEFAULT asks for one at once; what is left out may come of the triggers.
            Default::None if triggers::run_before_insert(self.table) && !self.is_named(number) => {
                self.deferred.push((number, Missing::Default));
                Ok(store::implicit_default(&column.ty))
            }
            Default::None => {
                let value = self.no_default(cx, number, column);
                if value.is_err() && !self.is_named(number) {
                    self.report_missing(cx, &self.without_value());
                }
                value
            }
        }
    }

    /// The columns that the row does not give, and that have no default.
    fn without_value(&self) -> Vec<usize> {
        let is_missing = |(number, column): &(usize, &ColumnDef)| {
            matches!(column.default, Default::None)
                && !self.is_named(*number)
                && self.table.auto_column != Some(*number)
                && column.generated.is_none()
        };
        self.table.columns.iter().enumerate().filter(is_missing).map(|(number, _)| number).collect()
    }

    /// The error of a column that was not given is one of each other such column, too, in the list
    /// of conditions.
    fn report_missing(&self, cx: &mut Context, without: &[usize]) {
        for &number in without {
            let column = &self.table.columns[number];
            if !is_enumeration(column) {
                cx.statement.diagnostics.push(Level::Error, self.missing(number, column));
            }
        }
    }

    /// INSERT .. SELECT looks for columns without a value although the row has failed already: they
    /// come after its error.
    fn report_missing_too(&self, cx: &mut Context, e: &SqlError, without: &[usize]) {
        if self.is_of_query() && self.rules.strict && !without.is_empty() {
            cx.statement.diagnostics.fail(e);
            self.report_missing(cx, without);
        }
    }

    /// True for INSERT .. SELECT and REPLACE .. SELECT.
    fn is_of_query(&self) -> bool {
        self.rows == 0 && !self.loads && self.columns.is_some()
    }

    /// True if the row has a place for the column.
    fn is_named(&self, number: usize) -> bool {
        !self.is_empty_row && self.columns.is_some_and(|columns| columns.numbers.contains(&number))
    }

    /// What a column becomes that was not given and has no default.
    fn no_default<'a>(&mut self, cx: &mut Context, number: usize, column: &ColumnDef) -> Result<Datum<'a>> {
        match &column.default {
            Default::None if is_enumeration(column) => Ok(implied_default(column)),
            _ => {
                let e = self.missing(number, column);
                if self.rules.strict {
                    return Err(e);
                }
                // Which columns are given is the same for all rows; DEFAULT is a row's own word.
                if self.is_named(number) {
                    cx.warn(e);
                } else if !self.without_default.contains(&number) {
                    self.without_default.push(number);
                    cx.warn(e);
                }
                Ok(implied_default(column))
            }
        }
    }

    /// What is said of a column without a value: 1364, or 1423 of the view that the row goes
    /// through, unless the row says DEFAULT.
    fn missing(&self, number: usize, column: &ColumnDef) -> SqlError {
        let of_view = self.view.filter(|_| !self.is_named(number)).and_then(ThroughView::no_default);
        of_view.unwrap_or_else(|| error::NO_DEFAULT_FOR_FIELD.with(&[&column.name]))
    }

    fn row_rules(&self) -> RowRules {
        RowRules { row: self.row, rules: self.rules }
    }

    /// The next AUTO_INCREMENT number.
    fn generate<'a>(&mut self, cx: &mut Context, column: &ColumnDef) -> Result<Datum<'a>> {
        let number = self.numbers.next(cx, self.table, self.rows)?;
        self.numbers.generated = Some(number);
        self.numbers.current = number;
        fit(cx, self.table, column, self.row_rules(), Datum::UInt(number), Charset::Ascii)
    }

    /// Writes the row; false if it was left out, or changed another one instead.
    fn put(&mut self, cx: &mut Context, image: &[u8]) -> Result<bool> {
        // As in MySQL, attempts count.
        cx.count_change(self.table, Use::Inserted);
        loop {
            let (index, existing) = match foreign_keys::insert_row(cx, self.table, image) {
                Ok(()) => return Ok(self.written(cx)),
                Err(NotChanged::Duplicate { index, existing }) => (index, existing),
                Err(NotChanged::Reference(e)) => {
                    self.skip_row(cx, e)?;
                    // As in MySQL, it was no record.
                    self.counts.records -= 1;
                    return Ok(false);
                }
                Err(NotChanged::Failed(e)) => return Err(e),
            };
            if self.rows == 0 {
                // Of INSERT .. SELECT the number counts all the same.
                self.count_given(cx);
            }
            match self.on_duplicate {
                OnDuplicate::Replace => {
                    // A number that was generated replaces no row: there are none left.
                    let auto = self.table.auto_column.filter(|_| self.numbers.generated.is_some());
                    if auto.is_some_and(|auto| self.table.indexes[index].parts[0].column == auto) {
                        let e = duplicate_entry(cx, self.table, index, image)?;
                        return self.skip_row(cx, e).map(|()| false);
                    }
                    if self.replace(cx, index, image, &existing)? {
                        return Ok(self.written(cx));
                    }
                }
                OnDuplicate::Update(_) => return self.update_existing(cx, image, &existing).map(|()| false),
                OnDuplicate::Fail => {
                    let e = duplicate_entry(cx, self.table, index, image)?;
                    return self.skip_row(cx, e).map(|()| false);
                }
            }
        }
    }

    /// The row is in the table.
    fn written(&mut self, cx: &mut Context) -> bool {
        cx.statement.status.affected += 1;
        self.counts.copied += 1;
        self.last_number = self.numbers.current;
        self.count_given(cx);
        true
    }

    /// The number that was given is not given out again.
    fn count_given(&mut self, cx: &Context) {
        if let Some(number) = self.numbers.given {
            self.table.counter.used(number);
            self.numbers.skip(number, series(cx));
        }
    }

    /// Skips a row that can't be written: an error, or under IGNORE a warning.
    fn skip_row(&mut self, cx: &mut Context, e: SqlError) -> Result<()> {
        if !self.ignore {
            return Err(e);
        }
        cx.warn(e);
        self.numbers.give_back();
        Ok(())
    }

    /// Makes way for the row. True if it took the other one's place already: where no other unique
    /// key can be in the way, and no foreign key refers to the table, the other row is changed, and
    /// if it is the same already, nothing is.
    fn replace(&mut self, cx: &mut Context, index: usize, image: &[u8], existing: &[u8]) -> Result<bool> {
        let transaction = cx.storage_transaction();
        let tree = self.table.schema.primary.tree();
        let old = transaction.get_newest_for_update(tree, existing)?;
        cx.count(Counter::HandlerReadKey);
        let Some(old) = old else { return Ok(false) };
        if let Some(view) = self.view {
            view.check_replaced(cx, self.table, &old)?;
        }
        let is_last = !self.table.indexes.iter().skip(index + 1).any(|i| i.unique);
        let is_seen = triggers::run_around_delete(self.table);
        if !is_last || is_seen || !self.table.referenced_by.is_empty() {
            if !changed(triggers::delete_replaced(cx, self.table, &old, image))? {
                return Ok(false);
            }
            cx.count_change(self.table, Use::Deleted);
            cx.statement.status.affected += 1;
            self.counts.deleted += 1;
            return Ok(false);
        }
        if !is_same_row(self.table, &old, image)? {
            changed(foreign_keys::update_row(cx, self.table, &old, image))?;
            cx.count_change(self.table, Use::Updated);
            cx.statement.status.affected += 1;
            self.counts.deleted += 1;
        }
        Ok(true)
    }

    /// ON DUPLICATE KEY UPDATE: 2 rows affected if the row changed, 0 if it was so already.
    fn update_existing(&mut self, cx: &mut Context, new: &[u8], key: &[u8]) -> Result<()> {
        let OnDuplicate::Update(assignments) = self.on_duplicate else { return Ok(()) };
        self.numbers.give_back();
        let tree = self.table.schema.primary.tree();
        cx.count(Counter::HandlerReadKey);
        let Some(old) = cx.storage_transaction().get_newest_for_update(tree, key)? else { return Ok(()) };
        let mut offsets = Offsets::default();
        offsets.find(self.table, new)?;
        let new_row = Row::Image(ImageRow { table: self.table, image: new, offsets: &offsets });
        let (mut old_offsets, mut after) = (Offsets::default(), Vec::new());
        old_offsets.find(self.table, &old)?;
        let old_row = ImageRow { table: self.table, image: &old, offsets: &old_offsets };
        let around = Around::New(new_row, Row::Values(&self.selected), &self.nulls_reported);
        let applied = assignments.apply(cx, self.table, old_row, around, self.row_rules(), &mut after)?;
        if applied != Applied::Changed {
            // A client that counts the rows found counts those that were so already, too.
            cx.statement.status.affected += u64::from(cx.connection.count_found_rows);
            self.counts.updated += u64::from(cx.connection.count_found_rows);
            return match applied {
                Applied::Unchanged => triggers::after_update(cx, self.table, &old, &old),
                Applied::Changed | Applied::Skipped => Ok(()),
            };
        }
        match triggers::update_row(cx, self.table, &old, &after) {
            Ok(()) => {}
            Err(NotChanged::Duplicate { index, .. }) => {
                let e = duplicate_entry(cx, self.table, index, &after)?;
                return self.skip_row(cx, e);
            }
            Err(NotChanged::Reference(e)) => return self.skip_row(cx, e),
            Err(NotChanged::Failed(e)) => return Err(e),
        }
        cx.count_change(self.table, Use::Updated);
        self.table.count_row(&after);
        cx.statement.status.affected += 2;
        self.counts.copied += 1;
        self.counts.updated += 1;
        if let Some(column) = self.table.auto_column {
            offsets.find(self.table, &after)?;
            let row = ImageRow { table: self.table, image: &after, offsets: &offsets };
            self.last_number = row.column(column, cx.settings.zone())?.to_integer().value as u64;
            self.numbers.skip(self.last_number, series(cx));
        }
        Ok(())
    }

    /// Tells LAST_INSERT_ID() and the client of the AUTO_INCREMENT numbers, once all rows were
    /// written. If one failed, LAST_INSERT_ID() is still the first number that a row before it was
    /// given.
    pub(super) fn finish(&self, cx: &mut Context, outcome: Result<()>) -> Result<()> {
        match (&outcome, self.first_generated) {
            (Ok(()), _) => self.report_insert_id(cx),
            (Err(_), Some(id)) => cx.statement.status.last_insert_id = id,
            (Err(_), None) => {}
        }
        outcome
    }

    fn report_insert_id(&self, cx: &mut Context) {
        let auto = self.table.auto_column.filter(|c| self.table.columns[*c].visible);
        if let (Some(id), Some(_)) = (self.first_generated, auto) {
            cx.statement.status.last_insert_id = id;
            cx.statement.status.insert_id = id;
        } else if auto.is_some() && self.counts.copied > 0 && cx.statement.status.insert_id == 0 {
            cx.statement.status.insert_id = self.last_number;
        }
    }

    /// `Records: 3  Duplicates: 1  Warnings: 0`
    pub(super) fn report_counts(&self, cx: &mut Context) {
        let Counts { records, copied, deleted, updated } = self.counts;
        let duplicates = if self.ignore { records.saturating_sub(copied) } else { deleted + updated };
        let warnings = cx.statement.diagnostics.warning_count();
        cx.statement.status.set_info(&[
            ("Records", records),
            ("Duplicates", duplicates),
            ("Warnings", warnings),
        ]);
    }

    /// `Records: 3  Deleted: 0  Skipped: 1  Warnings: 1`
    pub(super) fn report_load_counts(&self, cx: &mut Context) {
        let Counts { records, copied, deleted, .. } = self.counts;
        let skipped = records.saturating_sub(copied);
        let warnings = cx.statement.diagnostics.warning_count();
        cx.statement.status.set_info(&[
            ("Records", records),
            ("Deleted", deleted),
            ("Skipped", skipped),
            ("Warnings", warnings),
        ]);
    }

    /// Begins a row whose expressions read its columns.
    pub(super) fn draft(&mut self, cx: &mut Context) -> Result<RowDraft> {
        self.begin_row(cx)?;
        let table = &self.table;
        let mut image = Vec::new();
        let mut builder = RowImageBuilder::new(&table.column_types, &mut image);
        for column in &table.columns {
            let value = match &column.default {
                Default::Value(value) => value.clone(),
                Default::Now => now(cx, &column.ty),
                Default::None if !column.nullable => store::implicit_default(&column.ty),
                Default::None | Default::Expression(_) => Datum::Null,
            };
            image::push(&mut builder, &value, &column.ty)?;
        }
        builder.finish().map_err(SqlError::internal)?;
        Ok(RowDraft { image, given: vec![ColumnInput::Default; table.columns.len()] })
    }

    /// Gives a draft's column a value.
    pub(super) fn set(
        &mut self,
        cx: &mut Context,
        draft: &mut RowDraft,
        number: usize,
        given: ColumnInput<'_>,
    ) -> Result<()> {
        let table = self.table;
        let pending = matches!(given, ColumnInput::Default)
            && matches!(table.columns[number].default, Default::Expression(_));
        if pending || table.columns[number].generated.is_some() && matches!(given, ColumnInput::Default) {
            return Ok(()); // evaluated when the row is complete
        }
        if table.auto_column == Some(number) && takes_number(cx, &given) {
            return Ok(()); // numbered when nothing else can fail
        }
        let value = self.value(cx, number, &table.columns[number], given)?.into_owned();
        draft.image = rebuild(table, &draft.image, &[(number, value.borrow())])?;
        draft.given[number] = ColumnInput::Fitted(value);
        Ok(())
    }

    /// The value of an expression that may read a draft's columns.
    pub(super) fn evaluate(
        &self,
        cx: &mut Context,
        draft: &RowDraft,
        expr: &Expr,
    ) -> Result<ColumnInput<'static>> {
        let mut offsets = Offsets::default();
        offsets.find(self.table, &draft.image)?;
        let row = Row::Image(ImageRow { table: self.table, image: &draft.image, offsets: &offsets });
        let value = expr.eval_with_own_digits(cx, row)?.into_owned();
        Ok(ColumnInput::Value(store::of_expression(value, &expr.ty), charset_of(expr)))
    }

    pub(super) fn write_draft(&mut self, cx: &mut Context, mut draft: RowDraft) -> Result<()> {
        self.write_begun(cx, &mut draft.given)
    }
}

impl ReservedNumbers {
    fn next(&mut self, cx: &mut Context, table: &TableDef, rows: u64) -> Result<u64> {
        let forced = cx.settings.variables().uint(ids::INSERT_ID);
        if forced > 0 {
            cx.change_variables(|v| v.put(ids::INSERT_ID, crate::variables::Value::UInt(0)));
            (self.reserved, self.is_forced) = (forced..u64::MAX, true);
        }
        let series = series(cx);
        if self.is_forced {
            let number = self.reserved.start;
            let fits = number <= auto_max(table);
            if fits {
                table.counter.used(number);
            } else if forced == 0 {
                return Err(error::AUTOINC_READ_FAILED.plain());
            }
            // What was said itself is refused as any value that is out of range.
            self.reserved.start = number.saturating_add(series.increment);
            return Ok(number);
        }
        if self.reserved.is_empty() {
            let count = match (self.intervals, self.promised) {
                (0, _) => rows.max(1),
                (n, 0) => (1 << n.min(16)).min(NUMBERS_MAX),
                (_, promised) => promised,
            };
            let max = auto_max(table);
            // A type that is full gives its last value again, which the key refuses if a row has
            // it: a series may have passed it over. A full BIGINT has an error of its own, and so
            // has a table whose numbers were said to begin beyond its type.
            let first = match table.counter.reserve(count, series, max) {
                Some(first) => first,
                None if max < u64::MAX - 1 && table.auto_start <= max => {
                    table.counter.used(max);
                    max
                }
                None => return Err(error::AUTOINC_READ_FAILED.plain()),
            };
            self.intervals += 1;
            self.promised = count;
            self.reserved = first..first.saturating_add(count.saturating_mul(series.increment));
        }
        let number = self.reserved.start;
        self.reserved.start = number.saturating_add(series.increment);
        Ok(number)
    }

    /// A row has `number`: those that come next are larger.
    fn skip(&mut self, number: u64, series: Series) {
        if !self.reserved.is_empty() && number >= self.reserved.start {
            self.reserved.start = series.at_least(number.saturating_add(1)).unwrap_or(u64::MAX);
        }
    }

    /// The row that was made did not need its number.
    fn give_back(&mut self) {
        if let Some(number) = self.generated.take() {
            self.reserved.start = self.reserved.start.min(number);
        }
    }
}

/// An ENUM has NULL or its first member for a default, where it has no other.
fn is_enumeration(column: &ColumnDef) -> bool {
    matches!(column.ty, DataType::Enum { .. })
}

/// True if what an AUTO_INCREMENT column is given stands for the next number.
fn takes_number(cx: &Context, given: &ColumnInput<'_>) -> bool {
    match given {
        ColumnInput::Default => true,
        ColumnInput::Value(value, _) | ColumnInput::Fitted(value) => {
            value.is_null() || value.to_integer().value == 0 && !cx.settings.modes().no_auto_value_on_zero
        }
    }
}

fn series(cx: &Context) -> Series {
    let increment = cx.settings.variables().uint(ids::AUTO_INCREMENT_INCREMENT).max(1);
    Series { increment, offset: cx.settings.variables().uint(ids::AUTO_INCREMENT_OFFSET) }
}

/// The next AUTO_INCREMENT number, for a row that comes alone.
pub(super) fn next_number(cx: &Context, table: &TableDef) -> Result<u64> {
    let number = table.counter.reserve(1, series(cx), auto_max(table));
    number.ok_or_else(|| error::AUTOINC_READ_FAILED.plain())
}

/// The largest AUTO_INCREMENT value of the column; of an unsigned BIGINT the very last value is not
/// given out.
fn auto_max(table: &TableDef) -> u64 {
    match table.auto_column.map(|c| &table.columns[c].ty) {
        Some(DataType::Integer { size, sign, .. }) => {
            u64::try_from(store::integer_range(*size, sign.unsigned).1).unwrap_or(u64::MAX).min(u64::MAX - 1)
        }
        _ => u64::MAX - 1,
    }
}

/// The character set of an expression's text.
pub(super) fn charset_of(expr: &Expr) -> Charset {
    charset_of_type(&expr.ty)
}

/// The character set of text of a type.
pub(super) fn charset_of_type(ty: &Type) -> Charset {
    ty.text_charset()
}

/// True if an expression reads columns.
pub(super) fn reads_columns(expr: &Expr) -> bool {
    let mut reads = false;
    expr.walk(&mut |e| reads |= matches!(e.node, Node::Column { .. }));
    reads
}

/// True if the moment is what NULL means in a column that has none: in TIMESTAMP columns with
/// `explicit_defaults_for_timestamp = OFF`.
pub(super) fn is_now_for_null(cx: &Context, column: &ColumnDef) -> bool {
    matches!(column.ty, DataType::Timestamp(_))
        && !cx.settings.variables().bool(ids::EXPLICIT_DEFAULTS_FOR_TIMESTAMP)
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
    let values = key_values(cx, table, index, image)?;
    let key = format!("{}.{}", table.name, table.indexes[index].name);
    Ok(error::DUP_ENTRY.with(&[&values, &key]))
}

/// A row's values in a key, as error 1062 has them.
fn key_values(cx: &Context, table: &TableDef, index: usize, image: &[u8]) -> Result<String> {
    let mut offsets = Offsets::default();
    offsets.find(table, image)?;
    let row = ImageRow { table, image, offsets: &offsets };
    let definition = &table.indexes[index];
    let mut values = Vec::with_capacity(definition.parts.len());
    for part in &definition.parts {
        let value = row.column(part.column, cx.settings.zone())?;
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
    Ok(values.join("-"))
}

/// For a change that gives no row a key that another one may have.
fn changed<T>(outcome: std::result::Result<T, NotChanged>) -> Result<T> {
    outcome.map_err(|e| match e {
        NotChanged::Reference(e) | NotChanged::Failed(e) => e,
        NotChanged::Duplicate { .. } => SqlError::internal("a duplicate key where none can be"),
    })
}

/// True if two rows are the same but for the number that identifies rows of a table without a
/// primary key.
fn is_same_row(table: &TableDef, a: &[u8], b: &[u8]) -> Result<bool> {
    if a == b || !table.columns.iter().any(ColumnDef::is_row_id) {
        return Ok(a == b);
    }
    let (mut of_a, mut of_b) = (Offsets::default(), Offsets::default());
    of_a.find(table, a)?;
    of_b.find(table, b)?;
    let is_same = |column: usize| of_a.raw(a, column) == of_b.raw(b, column);
    Ok(table.columns.iter().enumerate().all(|(number, column)| column.is_row_id() || is_same(number)))
}
