//! The rows of JSON_TABLE: a path finds the documents' parts that become rows, the columns' paths
//! what stands in them.
//!
//! NESTED PATH joins a row with the rows of what its own path finds; of several of one level each
//! is joined apart, the others being NULL meanwhile. A row without any nested one is given with
//! NULLs.

use super::{Json, Path, convert, damaged, root};
use crate::error::{self, Diagnostics, Result, SqlError};
use crate::types::{Charset, DataType};
use crate::value::store::{self, Rules};
use crate::value::{Datum, json};

/// A JSON_TABLE without its document.
#[derive(Debug, Clone)]
pub struct JsonTable {
    level: Level,
    /// Columns in all.
    width: usize,
    rules: Rules,
}

/// A path and the columns of what it finds.
#[derive(Debug, Clone)]
pub struct Level {
    /// What becomes a row.
    pub path: Path,
    /// The row's own columns.
    pub columns: Vec<Column>,
    /// NESTED PATHs.
    pub nested: Vec<Level>,
}

/// What COLUMNS declares.
#[derive(Debug, Clone)]
pub struct Column {
    /// Its place in the row.
    pub number: usize,
    /// Its name, for errors.
    pub name: Box<str>,
    /// What it shows.
    pub kind: JsonColumnKind,
}

/// What a column shows.
#[derive(Debug, Clone)]
pub enum JsonColumnKind {
    /// The row's number in its level, from 1.
    Ordinality,
    /// 1 if the path finds something.
    Exists(Path, DataType),
    /// What the path finds.
    Value {
        /// Where it is.
        path: Path,
        /// What it becomes.
        ty: DataType,
        /// The answer if there is nothing.
        on_empty: Answer,
        /// The answer if it does not fit.
        on_error: Answer,
    },
}

/// What is shown instead of a value.
#[derive(Debug, Clone)]
pub enum Answer {
    /// Also if the clause is omitted.
    Null,
    /// The statement fails.
    Error,
    /// DEFAULT: a document, which is stored as what the path finds would be.
    Default(Box<[u8]>),
}

/// Takes a row.
pub(crate) type Put<'p> = dyn FnMut(&mut Vec<Datum<'static>>) -> Result<()> + 'p;

impl JsonTable {
    /// A table of `width` columns, each of which is in one level. `rules`: how values become
    /// columns.
    pub fn new(level: Level, width: usize, rules: Rules) -> Self {
        Self { level, width, rules: Rules { strict: true, ..rules } }
    }

    /// Gives the rows of a document to `put`, one by one: there may be many more of them than the
    /// document has bytes. `put` may leave anything in the row that it gets.
    ///
    /// # Errors
    /// Those of `put`, of values that do not fit, and of [`crate::bounds`].
    pub fn rows(&self, document: &[u8], put: &mut Put<'_>) -> Result<()> {
        let mut row = vec![Datum::Null; self.width];
        let parts = self.level.path.find(root(document)?).map_err(damaged)?;
        parts
            .into_iter()
            .enumerate()
            .try_for_each(|(number, part)| self.expand(&self.level, part, number, &mut row, put))
    }

    /// Gives the rows of one part, at least one. `row` has the columns of the levels around it.
    fn expand(
        &self,
        level: &Level,
        part: Json<'_>,
        number: usize,
        row: &mut Vec<Datum<'static>>,
        put: &mut Put<'_>,
    ) -> Result<()> {
        crate::bounds::check()?;
        for column in &level.columns {
            row[column.number] = self.value(column, part, number)?;
        }
        let mut has_nested = false;
        for nested in &level.nested {
            for (number, part) in nested.path.find(part).map_err(damaged)?.into_iter().enumerate() {
                self.expand(nested, part, number, row, put)?;
                has_nested = true;
            }
            clear(nested, row);
        }
        if has_nested { Ok(()) } else { put(&mut row.clone()) }
    }

    fn value(&self, column: &Column, part: Json<'_>, number: usize) -> Result<Datum<'static>> {
        match &column.kind {
            JsonColumnKind::Ordinality => Ok(Datum::UInt(number as u64 + 1)),
            JsonColumnKind::Exists(path, ty) => {
                let found = path.find_one(part).map_err(damaged)?.is_some();
                self.fit(column, Datum::from_bool(found), ty)
            }
            JsonColumnKind::Value { path, ty, on_empty, on_error } => {
                let found = path.find(part).map_err(damaged)?;
                let stored = match found.as_slice() {
                    [] => {
                        let missing = error::MISSING_JSON_TABLE_VALUE.with(&[&column.name]);
                        return self.answer(column, on_empty, missing, ty);
                    }
                    [one] => self.stored(column, *one, ty),
                    _ => Err(error::WRONG_JSON_TABLE_VALUE.with(&[&column.name])),
                };
                stored.or_else(|e| self.answer(column, on_error, e, ty))
            }
        }
    }

    fn answer(&self, column: &Column, answer: &Answer, e: SqlError, ty: &DataType) -> Result<Datum<'static>> {
        match answer {
            Answer::Null => Ok(Datum::Null),
            Answer::Error => Err(e),
            Answer::Default(document) => self.stored(column, root(document)?, ty),
        }
    }

    /// A JSON value as the column has it: JSON null is NULL, strings are text, objects and arrays
    /// only JSON.
    fn stored(&self, column: &Column, value: Json<'_>, ty: &DataType) -> Result<Datum<'static>> {
        if *ty == DataType::Json {
            let mut document = Vec::new();
            value.write_document(&mut document).map_err(damaged)?;
            return Ok(Datum::Json(document.into()));
        }
        if value.node().map_err(damaged)? == json::Node::Null {
            return Ok(Datum::Null);
        }
        let scalar = match convert::to_scalar(value) {
            Some(scalar) => scalar,
            None => return Err(error::WRONG_JSON_TABLE_VALUE.with(&[&column.name])),
        };
        if is_text(ty) {
            let mut document = Vec::new();
            value.write_document(&mut document).map_err(damaged)?;
            return self.fit(column, Datum::borrowed(&json::unquoted(&document)), ty);
        }
        if let Some(kind) = number_kind(ty)
            && !scalar.to_f64().whole
        {
            return Err(error::INVALID_JSON_VALUE_FOR_CAST.with(&[&kind, &column.name, &1]));
        }
        self.fit(column, scalar, ty)
    }

    fn fit(&self, column: &Column, value: Datum<'_>, ty: &DataType) -> Result<Datum<'static>> {
        let mut diagnostics = Diagnostics::default();
        let (column, rules) = (&column.name, self.rules);
        let mut target = store::Target { column, table: "", row: 1, rules, diagnostics: &mut diagnostics };
        let fitted = store::fit(value, Charset::Utf8mb4, ty, &mut target).map(Datum::into_owned);
        fitted.map_err(|_| error::JSON_TABLE_VALUE_OUT_OF_RANGE.with(&[column]))
    }
}

fn clear(level: &Level, row: &mut [Datum<'static>]) {
    level.columns.iter().for_each(|column| row[column.number] = Datum::Null);
    level.nested.iter().for_each(|nested| clear(nested, row));
}

fn is_text(ty: &DataType) -> bool {
    use DataType::{Char, Enum, Lob, Set, VarChar};
    matches!(ty, Char { .. } | VarChar { .. } | Lob { .. } | Enum { .. } | Set { .. })
}

/// The kind of number that a column of this type wants.
fn number_kind(ty: &DataType) -> Option<&'static str> {
    match ty {
        DataType::Integer { .. } | DataType::Year | DataType::Bit(_) => Some("INTEGER"),
        DataType::Decimal { .. } => Some("DECIMAL"),
        DataType::Floating { .. } => Some("DOUBLE"),
        _ => None,
    }
}
