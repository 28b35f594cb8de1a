//! Columns that have another type here than at the source (`replica_type_conversions`).
//!
//! 1. compare  Once for an event, each column of its table map is compared with the table's
//!    ([`difference`]), by MySQL's rules: lengths in bytes, digits, bits. What the setting does not
//!    allow is error 13146, before a row is touched.
//! 2. convert  Each row image is written anew with the table's types ([`Conversions::convert`]);
//!    from there on it is like any other.
//!
//! (T1) Without `ALL_LOSSY` no value is changed: one that doesn't fit stops the applier, where
//!      MySQL, which asks the types only, would cut it.
//! (T2) A column whose bytes mean the same is not converted, and costs nothing.

use binlog::event::{MetadataField, RowChange, TableMapEvent};
use binlog::row::{BINARY_COLLATION, ColumnType, Field, RowImage, RowImageBuilder, Value, code};

use super::{check, corrupt};
use crate::catalog::{ColumnDef, TableDef};
use datum::error::{self, Diagnostics, Result, SqlError};
use datum::types::{Charset, Collation, DataType};
use datum::value::store::{self, Rules};
use datum::value::temporal::DateRules;
use datum::value::zone::Zone;
use datum::value::{Datum, Decimal, image};

mod difference;

use difference::{Difference, difference};

/// `replica_type_conversions`, and what else there is to know of the source.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowed {
    flags: u64,
    /// MariaDB's JSON is a text.
    is_mariadb: bool,
}

impl Allowed {
    const LOSSY: u64 = 1;
    const NON_LOSSY: u64 = 2;
    const SIGNED: u64 = 4;
    const UNSIGNED: u64 = 8;

    pub(super) fn new(flags: u64, is_mariadb: bool) -> Self {
        Self { flags, is_mariadb }
    }

    fn has(self, flag: u64) -> bool {
        self.flags & flag != 0
    }

    fn takes(self, difference: Difference) -> bool {
        match difference {
            Difference::Free => true,
            Difference::NonLossy => self.has(Self::NON_LOSSY),
            Difference::Lossy => self.has(Self::LOSSY),
            Difference::Impossible => false,
        }
    }
}

/// How one column gets from the source's type to the table's.
#[derive(Debug)]
struct Conversion {
    /// The source's type, with the sign that its integers are read with.
    from: ColumnType,
    /// The bytes are good as they are; only a NULL is not.
    is_same: bool,
    /// A value may be changed.
    may_lose: bool,
}

/// What has to be done to the rows of one event.
#[derive(Debug)]
pub(super) struct Conversions {
    /// By the event's column; `None` for those whose bytes stay.
    columns: Vec<Option<Conversion>>,
    /// Where each of them is in the table.
    places: Vec<usize>,
    /// The table's types of them.
    types: Vec<ColumnType>,
}

impl Conversions {
    /// What the event's columns need, if anything; `places` says where they are in the table, for
    /// those that it has.
    ///
    /// # Errors
    /// 13146 for a column that can't or must not be converted.
    pub(super) fn of(
        table: &TableDef,
        map: &TableMapEvent,
        places: &[usize],
        allowed: Allowed,
    ) -> Result<Option<Self>> {
        let is_plain = |number: usize| {
            let (from, to) = (&map.columns[number], &table.column_types[places[number]]);
            let is_nullable = table.columns[places[number]].nullable;
            difference::is_same(from, to) && (is_nullable || !map.is_nullable(number))
        };
        // Labels are numbers, and which these are is the table's business: where values may be
        // lost, those without a member are.
        let is_label = |number: usize| {
            let of_table = table.column_types[places[number]].code;
            allowed.has(Allowed::LOSSY) && matches!(of_table, code::ENUM | code::SET)
        };
        let numbers = 0..places.len();
        if numbers.clone().all(|number| is_plain(number) && !is_label(number)) {
            return Ok(None);
        }
        let column = |number: usize| {
            if is_plain(number) && !is_label(number) {
                return Ok(None);
            }
            Conversion::of(table, map, (number, places[number]), allowed).map(Some)
        };
        Ok(Some(Self {
            columns: numbers.map(column).collect::<Result<_>>()?,
            places: places.to_vec(),
            types: places.iter().map(|&place| table.column_types[place]).collect(),
        }))
    }

    /// Appends the images of all rows, as images of the table's columns.
    pub(super) fn convert(&self, table: &TableDef, changes: &[RowChange<'_>]) -> Result<Vec<u8>> {
        let types = &self.types[..];
        let mut out = Vec::new();
        for image in changes.iter().flat_map(|change| [change.before, change.after]).flatten() {
            let mut builder = RowImageBuilder::with_present(types, image.present(), &mut out);
            for field in image.fields().take_while(|field| field.column < types.len()) {
                match &self.columns[field.column] {
                    None => builder.push_raw(field.raw).map_err(SqlError::internal)?,
                    Some(conversion) => {
                        let column = &table.columns[self.places[field.column]];
                        conversion.push(column, &table.name, &field, &mut builder)?;
                    }
                }
            }
            builder.finish().map_err(SqlError::internal)?;
        }
        Ok(out)
    }

    /// The rows once more, with the images that [`Self::convert`] made.
    pub(super) fn converted<'a>(
        &'a self,
        changes: &[RowChange<'a>],
        mut bytes: &'a [u8],
    ) -> Result<Vec<RowChange<'a>>> {
        let types = &self.types[..];
        let mut next = |image: Option<RowImage<'a>>| -> Result<Option<RowImage<'a>>> {
            let Some(image) = image else { return Ok(None) };
            let (converted, rest) =
                RowImage::split(types, image.present(), bytes).map_err(SqlError::internal)?;
            bytes = rest;
            Ok(Some(converted.with_partial_of(&image)))
        };
        changes
            .iter()
            .map(|change| Ok(RowChange { before: next(change.before)?, after: next(change.after)? }))
            .collect()
    }
}

impl Conversion {
    /// `number` is the event's column, `place` the table's.
    fn of(
        table: &TableDef,
        map: &TableMapEvent,
        (number, place): (usize, usize),
        allowed: Allowed,
    ) -> Result<Self> {
        let (from, column) = (&map.columns[number], &table.columns[place]);
        let to = &table.column_types[place];
        let is_same = difference::is_same(from, to);
        let difference = match is_same {
            true => Difference::Free,
            false => difference(from, to, &column.ty, allowed.is_mariadb),
        };
        if !allowed.takes(difference) {
            let (from, to) = (difference::source_text(from), difference::target_text(&column.ty));
            return Err(error::SERVER_REPLICA_CONVERSION_FAILED.with(&[
                &(number + 1),
                &table.database,
                &table.name,
                &from,
                &to,
            ]));
        }
        let is_label = matches!(to.code, code::ENUM | code::SET);
        Ok(Self {
            from: ColumnType { unsigned: is_unsigned(from, map, allowed), ..*from },
            is_same: is_same && !(is_label && allowed.has(Allowed::LOSSY)),
            may_lose: allowed.has(Allowed::LOSSY),
        })
    }

    /// Appends a column's value, converted.
    fn push(
        &self,
        column: &ColumnDef,
        table: &str,
        field: &Field<'_>,
        builder: &mut RowImageBuilder<'_>,
    ) -> Result<()> {
        let raw = match field.raw {
            Some(raw) if self.is_same => {
                return builder.push_raw(Some(raw)).map_err(SqlError::internal);
            }
            Some(raw) => raw,
            None if column.nullable => return builder.push_raw(None).map_err(SqlError::internal),
            // As MySQL has it in a column that is NOT NULL here.
            None => return image::push(builder, &store::null_substitute(&column.ty), &column.ty),
        };
        let value = Value::decode(&self.from, raw).map_err(corrupt)?;
        let is_text = matches!(value, Value::Bytes(_));
        if !is_text && !self.is_label() && !check::is_good(column, &Field { ty: &self.from, ..*field }) {
            return Err(corrupt(format_args!("a value of column {}", field.column)));
        }
        let mut values = Values { column, table, may_lose: self.may_lose };
        let datum = match value {
            Value::Time(_) | Value::DateTime(_) | Value::Timestamp(_) => {
                let value = truncated(value, column.ty.decimals());
                return builder.push(&value).map_err(corrupt);
            }
            Value::Enum(n) => return builder.push(&values.member(n)?).map_err(corrupt),
            Value::Set(bits) => return builder.push(&values.members(bits)?).map_err(corrupt),
            Value::Int(n) => Datum::Int(n),
            Value::UInt(n) | Value::Bit(n) => Datum::UInt(n),
            Value::Float(n) => Datum::Float(n),
            Value::Double(n) => Datum::Double(n),
            Value::Decimal(d) => Datum::Decimal(Decimal::from_binary(d.bytes, d.precision, d.scale)),
            Value::Bytes(bytes) => Datum::Bytes(self.padded(bytes, &column.ty)),
            _ => return Err(corrupt(format_args!("a value of column {}", field.column))),
        };
        let fitting = values.fit(datum, self.charset(&column.ty))?;
        image::push(builder, &fitting, &column.ty)
    }

    fn is_label(&self) -> bool {
        matches!(self.from.code, code::ENUM | code::SET)
    }

    /// A BINARY's filling is a part of its value.
    fn padded<'a>(&self, bytes: &'a [u8], to: &DataType) -> std::borrow::Cow<'a, [u8]> {
        let is_binary = self.from.code == code::STRING
            && matches!(self.from.charset, 0 | BINARY_COLLATION)
            && to.is_string()
            && to.collation() == Collation::BINARY;
        let length = usize::from(self.from.meta);
        if !is_binary || bytes.len() >= length {
            return bytes.into();
        }
        let mut bytes = bytes.to_vec();
        bytes.resize(length, 0);
        bytes.into()
    }

    /// The source's character set, or the table's where the log says nothing.
    fn charset(&self, to: &DataType) -> Charset {
        match to {
            DataType::Json => Charset::Utf8mb4,
            _ => difference::charset_of(self.from.charset)
                .filter(|_| self.from.charset != 0)
                .unwrap_or_else(|| to.collation().charset()),
        }
    }
}

/// Whether integers of another width are read as unsigned: as the setting says, where `ALL_SIGNED`
/// comes first, or else as the source's log does.
fn is_unsigned(from: &ColumnType, map: &TableMapEvent, allowed: Allowed) -> bool {
    if allowed.has(Allowed::SIGNED) || allowed.has(Allowed::UNSIGNED) {
        return !allowed.has(Allowed::SIGNED);
    }
    let is_said = map.metadata.0.iter().any(|field| matches!(field, MetadataField::Signedness(_)));
    is_said && from.unsigned
}

/// One column's values on their way.
struct Values<'a> {
    column: &'a ColumnDef,
    table: &'a str,
    may_lose: bool,
}

impl Values<'_> {
    fn fit<'v>(&mut self, value: Datum<'v>, charset: Charset) -> Result<Datum<'v>> {
        const ANY: DateRules = DateRules { no_zero_in_date: false, no_zero_date: false, allow_invalid: true };
        let mut diagnostics = Diagnostics::default();
        let mut target = store::Target {
            column: &self.column.name,
            table: self.table,
            row: 1,
            rules: Rules {
                strict: !self.may_lose,
                dates: ANY,
                zone: Zone::UTC,
                moment: 0,
                truncate_fraction: true,
            },
            diagnostics: &mut diagnostics,
        };
        let fitting = store::fit(value, charset, &self.column.ty, &mut target)?;
        match diagnostics.conditions().first() {
            Some(loss) if !self.may_lose => Err(loss.error.clone()),
            _ => Ok(fitting),
        }
    }

    fn member(&self, number: u16) -> Result<Value<'static>> {
        let count = members(&self.column.ty);
        if usize::from(number) <= count { Ok(Value::Enum(number)) } else { self.lose(Value::Enum(0)) }
    }

    fn members(&self, bits: u64) -> Result<Value<'static>> {
        let all = match members(&self.column.ty) {
            64.. => u64::MAX,
            count => (1 << count) - 1,
        };
        if bits & !all == 0 { Ok(Value::Set(bits)) } else { self.lose(Value::Set(bits & all)) }
    }

    fn lose(&self, instead: Value<'static>) -> Result<Value<'static>> {
        match self.may_lose {
            true => Ok(instead),
            false => Err(error::WARN_DATA_TRUNCATED.with(&[&self.column.name, &1])),
        }
    }
}

fn members(ty: &DataType) -> usize {
    match ty {
        DataType::Enum { members, .. } | DataType::Set { members, .. } => members.len(),
        _ => 0,
    }
}

/// A time with so many digits of its fraction.
fn truncated(value: Value<'_>, digits: u8) -> Value<'_> {
    let unit = 10_u32.pow(u32::from(6 - digits.min(6)));
    let cut = |micros: u32| micros / unit * unit;
    match value {
        Value::Time(t) => Value::Time(binlog::row::Time { micros: cut(t.micros), digits, ..t }),
        Value::DateTime(t) => Value::DateTime(binlog::row::DateTime { micros: cut(t.micros), digits, ..t }),
        Value::Timestamp(t) => {
            Value::Timestamp(binlog::row::Timestamp { micros: cut(t.micros), digits, ..t })
        }
        other => other,
    }
}
