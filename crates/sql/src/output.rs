//! Result sets: columns described, text brought into the client's character set.

use std::sync::{Arc, OnceLock};

use crate::catalog::{ColumnDef, TableDef};
use crate::session::{Context, client_gone};
use datum::error::Result;
use datum::sink::{ColumnMeta, ResultSink, column_flag};
use datum::types::{Charset, Collation, DataType, Family, Type, code};
use datum::value::{Datum, text};

/// Columns are named after their expression's text, up to this many bytes.
const ALIAS_MAX: usize = 256;

/// A result set on its way to the client.
pub(crate) struct Output<'s> {
    sink: &'s mut dyn ResultSink,
    described: Arc<Described>,
}

/// A result set's columns as it is reported to a client.
#[derive(Debug)]
pub(crate) struct Described {
    /// What the client wants its texts in; as they are if absent.
    results: Option<Collation>,
    metas: Vec<ColumnMeta>,
    columns: Vec<Column>,
}

/// What has to be done to a column's values.
#[derive(Debug)]
struct Column {
    /// Conversion from and to these sets.
    convert: Option<(Charset, Charset)>,
    /// A double with a fixed number of digits.
    fixed: Option<u8>,
    /// A decimal with fewer or more digits than it carries.
    scale: Option<u8>,
    /// A time with fewer digits after the second than the column has.
    fsp: Option<u8>,
    /// ZEROFILL to this width.
    zerofill: Option<usize>,
}

/// A column of a result set: its description, and its type.
#[derive(Debug, Clone)]
pub(crate) struct OutputColumn {
    /// What is reported to the client, but for the collation ([`Described`]).
    pub meta: ColumnMeta,
    /// What the values are.
    pub ty: Type,
    /// ZEROFILL to this width.
    pub(crate) zerofill: Option<usize>,
}

impl OutputColumn {
    /// A column that is made, not stored.
    pub(crate) fn computed(name: &str, ty: Type) -> Self {
        let name = name[..name.floor_char_boundary(ALIAS_MAX)].to_owned();
        OutputColumn { meta: ColumnMeta { name, ..ty.column_meta() }, ty, zerofill: None }
    }

    /// A table's column under an alias.
    pub(crate) fn stored(table: &TableDef, alias: &str, number: usize, name: &str) -> Self {
        let column = &table.columns[number];
        let mut out = Self::defined(column, name);
        out.meta.database = table.database.clone();
        out.meta.table = alias.to_owned();
        out.meta.org_table = table.name.clone();
        out.meta.flags |= column_flags(table, number);
        out
    }

    /// A column by its definition; of which table is for the caller to say.
    pub(crate) fn defined(column: &ColumnDef, name: &str) -> Self {
        let ty = Type::of_column(&column.ty, column.nullable);
        let mut meta = ty.column_meta();
        meta.name = name.to_owned();
        meta.org_name = column.name.clone();
        meta.type_code = column.ty.protocol_code();
        meta.length = column.ty.byte_length();
        if column.ty == DataType::Json {
            // A JSON column is reported to clients as binary, though its text comes in their
            // character set.
            meta.collation = Collation::BINARY.0;
            meta.flags |= column_flag::BINARY | column_flag::BLOB;
        }
        if ty.family.is_numeric() {
            // That numbers are binary, only results of expressions say. Connector/J takes BIT(1)
            // and TINYINT(1) with the flag for byte strings, without for booleans.
            meta.flags &= !column_flag::BINARY;
        }
        let zerofill = column.ty.is_zerofill().then(|| column.ty.display_length() as usize);
        OutputColumn { meta, ty, zerofill }
    }

    /// Makes it one of a derived table that has rows of its own, and no keys.
    pub(crate) fn become_derived(&mut self, alias: &str) {
        use column_flag as flag;
        self.meta.table = alias.to_owned();
        if self.meta.org_name.is_empty() {
            self.meta.org_name = self.meta.name.clone();
        }
        let of_keys = flag::PRI_KEY | flag::UNIQUE_KEY | flag::MULTIPLE_KEY | flag::PART_KEY;
        self.meta.flags &= !(of_keys | flag::AUTO_INCREMENT);
    }

    /// The same column under another name.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        let mut column = self.clone();
        column.meta.name = name.to_owned();
        column
    }
}

fn column_flags(table: &TableDef, number: usize) -> u16 {
    let column = &table.columns[number];
    let mut flags = 0;
    for (i, index) in table.indexes.iter().enumerate() {
        let first = index.parts[0].column == number;
        // Of expressions in an index the table has columns that nobody sees.
        if index.parts.iter().any(|p| p.column == number) {
            flags |= column_flag::PART_KEY;
        }
        if i == 0 && index.parts.iter().any(|p| p.column == number) {
            flags |= column_flag::PRI_KEY;
        } else if first && index.unique && index.parts.len() == 1 {
            flags |= column_flag::UNIQUE_KEY;
        } else if first {
            flags |= column_flag::MULTIPLE_KEY;
        }
    }
    let set = |on: bool, flag: u16| if on { flag } else { 0 };
    flags
        | set(table.auto_column == Some(number), column_flag::AUTO_INCREMENT)
        | set(column.ty.is_zerofill() || column.ty == DataType::Year, column_flag::ZEROFILL)
        | set(column.on_update_now, column_flag::ON_UPDATE_NOW)
        | set(matches!(column.ty, DataType::Lob { .. }), column_flag::BLOB)
        | set(matches!(column.ty, DataType::Enum { .. }), column_flag::ENUM)
        | set(matches!(column.ty, DataType::Set { .. }), column_flag::SET)
        | set(
            matches!(column.ty, DataType::Timestamp(_) | DataType::DateTime(_)) && column.on_update_now,
            column_flag::TIMESTAMP,
        )
        | set(
            matches!(column.default, crate::catalog::table::Default::None)
                && !column.nullable
                && table.auto_column != Some(number),
            column_flag::NO_DEFAULT_VALUE,
        )
}

impl Described {
    /// The columns for a client that wants its texts in a character set, or as they are.
    pub(crate) fn new(results: Option<Collation>, columns: &[OutputColumn]) -> Self {
        let (metas, columns) = columns.iter().map(|column| describe(column, results)).unzip();
        Self { results, metas, columns }
    }

    /// The same, from the plan's cache if the client still wants the same character set.
    pub(crate) fn cached(
        cx: &Context,
        cache: &OnceLock<Arc<Described>>,
        columns: &[OutputColumn],
    ) -> Arc<Self> {
        let results = cx.settings.results_collation();
        let described = cache.get_or_init(|| Arc::new(Self::new(results, columns)));
        match described.results == results {
            true => described.clone(),
            false => Arc::new(Self::new(results, columns)),
        }
    }
}

fn describe(column: &OutputColumn, results: Option<Collation>) -> (ColumnMeta, Column) {
    let OutputColumn { meta, ty, zerofill } = column;
    let mut meta = meta.clone();
    let from = ty.collation.charset();
    meta.names = results.map(Collation::charset).filter(|&to| to != to.of_statements());
    let is_json = ty.family == Family::Json;
    let is_text = ty.family.is_text() && from != Charset::Binary || is_json;
    let collation = results.filter(|_| is_text);
    let to = collation.map(Collation::charset).filter(|&to| to != Charset::Binary);
    if let Some(to) = to.filter(|_| meta.collation != Collation::BINARY.0) {
        // JSON fills the field already.
        // Of what is as long as a BLOB, the bytes are taken for characters.
        let is_long = matches!(meta.type_code, code::MEDIUM_BLOB | code::LONG_BLOB | code::BLOB);
        let characters = if is_long { meta.length } else { meta.length / from.char_len_max() };
        meta.length = characters.saturating_mul(to.char_len_max());
        meta.collation = collation.map_or(meta.collation, |c| c.0);
    }
    let decimal = ty.family == Family::Decimal;
    let floating = matches!(ty.family, Family::Double | Family::Float);
    let column = Column {
        convert: to.filter(|&to| to != from).map(|to| (from, to)),
        fixed: (floating && ty.decimals < datum::types::NOT_FIXED).then_some(ty.decimals),
        scale: decimal.then_some(ty.decimals),
        fsp: (ty.family.is_temporal() && ty.decimals > 0).then_some(ty.decimals),
        zerofill: *zerofill,
    };
    (meta, column)
}

impl<'s> Output<'s> {
    /// Tells the client the columns.
    pub(crate) fn begin(sink: &'s mut dyn ResultSink, described: Arc<Described>) -> Result<Self> {
        sink.columns(&described.metas).map_err(client_gone)?;
        Ok(Output { sink, described })
    }

    /// Sends a row.
    pub(crate) fn row(&mut self, values: &mut [Datum<'_>]) -> Result<()> {
        for (column, value) in self.described.columns.iter().zip(values.iter_mut()) {
            column.finish(value);
        }
        self.sink.row(values).map_err(client_gone)
    }
}

impl Column {
    fn finish(&self, value: &mut Datum<'_>) {
        match value {
            Datum::Bytes(bytes) | Datum::Label(_, bytes) => {
                if let Some((from, to)) = self.convert
                    && !bytes.is_ascii()
                {
                    *bytes = from.convert(std::mem::take(bytes), to).0;
                }
            }
            Datum::Json(document) => {
                if let Some((from, to)) = self.convert {
                    let text = datum::value::json::to_text(document);
                    *value = Datum::Bytes(from.convert(text.into(), to).0);
                }
            }
            Datum::Decimal(d) => {
                if let Some(scale) = self.scale.filter(|&s| s != d.shown()) {
                    *d = d.round(scale);
                }
            }
            Datum::Double(_) | Datum::Float(_) => {
                if let Some(decimals) = self.fixed {
                    let mut out = Vec::new();
                    text::write_fixed(value.to_f64().value, decimals, &mut out);
                    *value = Datum::owned(out);
                }
            }
            Datum::Time(time) => time.fsp = time.fsp.max(self.fsp.unwrap_or(0)),
            Datum::DateTime(time) => time.fsp = time.fsp.max(self.fsp.unwrap_or(0)),
            _ => {}
        }
        if let Some(width) = self.zerofill
            && !value.is_null()
        {
            *value = Datum::Bytes(text::zero_filled(value.to_bytes(), width).into_owned().into());
        }
    }
}
