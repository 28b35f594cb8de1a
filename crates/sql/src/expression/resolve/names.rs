//! Literals, columns and variables.

use super::{Columns, Resolver, Scope, Source};
use crate::catalog::{ColumnDef, TableDef};
use crate::expression::{Expr, Node, cast};
use datum::error::{self, Result};
use datum::types::{Charset, Coercibility, Collation, Family, NOT_FIXED, Type};
use datum::value::{DateTime, Datum, Decimal, decimal, temporal_text};
use syntax::ast::{self, Literal};

pub(super) fn integer(value: Datum<'static>, unsigned: bool) -> Expr {
    // The sign has a place of its own.
    let digits = value.to_bytes().iter().filter(|b| b.is_ascii_digit()).count() as u32;
    let ty = Type { unsigned, length: digits + u32::from(!unsigned), ..Type::INT };
    Expr::constant(value, ty.not_null())
}

/// The type of a literal with a point.
pub(crate) fn decimal_literal_type(value: &Decimal) -> Type {
    let scale = value.shown();
    Type::decimal(value.digits().max(u32::from(scale) + 1), scale).not_null()
}

/// Digits after the point of a time that a parameter gives.
const PARAMETER_FSP: u8 = 6;

/// What MySQL takes a parameter for where a date is wanted, before it has a value: a DATETIME with
/// microseconds.
pub(super) fn parameter_as_datetime(e: Expr) -> Expr {
    cast_parameter(e, cast::To::DateTime(PARAMETER_FSP), Type::datetime(PARAMETER_FSP))
}

/// The same where a time is wanted. A value that a client sends as a date stays one.
pub(super) fn parameter_as_time(e: Expr) -> Expr {
    match e.ty.family {
        Family::Date | Family::DateTime => e,
        _ => cast_parameter(e, cast::To::Time(PARAMETER_FSP), Type::time(PARAMETER_FSP)),
    }
}

/// The same where seconds are wanted: a number with microseconds.
pub(super) fn parameter_as_seconds(e: Expr) -> Expr {
    let ty = Type::decimal(u32::from(decimal::PRECISION_MAX), PARAMETER_FSP);
    cast_parameter(e, cast::To::Decimal(decimal::PRECISION_MAX, PARAMETER_FSP), ty)
}

fn cast_parameter(e: Expr, to: cast::To, ty: Type) -> Expr {
    match e.node {
        Node::Parameter(_) => Expr { node: Node::Cast(to, Box::new(e)), ty },
        _ => e,
    }
}

impl Resolver<'_> {
    /// A prepared statement's parameter: its type is known when the statement is planned, its value
    /// when it runs.
    pub(super) fn parameter(&mut self, number: u32) -> Result<Expr> {
        let number = number as usize;
        let parameter = self.cx.statement.parameters.get(number);
        let parameter = parameter.ok_or_else(|| error::WRONG_ARGUMENTS.with(&[&"EXECUTE"]))?;
        Ok(Expr { node: Node::Parameter(number), ty: parameter.ty })
    }

    pub(super) fn literal(&mut self, literal: &Literal) -> Result<Expr> {
        Ok(match literal {
            Literal::Null => Expr::constant(Datum::Null, Type::NULL),
            Literal::Bool(b) => Expr::constant(Datum::from_bool(*b), Type::BOOL.not_null()),
            Literal::Integer(n) => match i64::try_from(*n) {
                Ok(n) => integer(Datum::Int(n), false),
                Err(_) => integer(Datum::UInt(*n), true),
            },
            Literal::Decimal(digits) => {
                let value = Decimal::parse_literal(digits.as_bytes());
                Expr::constant(Datum::Decimal(value), decimal_literal_type(&value))
            }
            Literal::Float(text) => {
                let value: f64 = text.parse().unwrap_or(0.0);
                if !value.is_finite() {
                    return Err(error::ILLEGAL_VALUE_FOR_TYPE.with(&[&"double", text]));
                }
                Expr::constant(
                    Datum::Double(value),
                    Type { length: text.len() as u32, ..Type::DOUBLE }.not_null(),
                )
            }
            Literal::String { bytes, introducer } => self.string(bytes, introducer.as_deref())?,
            Literal::Hex { bytes, introducer: None } | Literal::Bit { bytes, introducer: None } => {
                let ty = Type::text(Collation::BINARY, Coercibility::Literal, bytes.len() as u32).not_null();
                let ty = Type { decimals: 0, unsigned: true, ..ty };
                Expr::constant(Datum::Bits(bytes.to_vec().into()), ty)
            }
            Literal::Hex { bytes, introducer } | Literal::Bit { bytes, introducer } => {
                self.string(bytes, introducer.as_deref())?
            }
            Literal::Date(text) => match self.date_literal(text) {
                Some(read) if !temporal_text::has_time(text) => {
                    Expr::constant(Datum::Date(read.date), Type::DATE.not_null())
                }
                _ => return Err(error::WRONG_VALUE.with(&[&"DATE", &text.to_str_lossy()])),
            },
            Literal::Time(text) => match temporal_text::parse_time(text) {
                Some(read) if !read.truncated => {
                    Expr::constant(Datum::Time(read.value), Type::time(read.value.fsp).not_null())
                }
                _ => return Err(error::WRONG_VALUE.with(&[&"TIME", &text.to_str_lossy()])),
            },
            Literal::Timestamp(text) => {
                let read = self.timestamp_literal(text)?;
                Expr::constant(Datum::DateTime(read), Type::datetime(read.fsp).not_null())
            }
        })
    }

    /// A date with a time; where an offset follows, that moment as the session's time zone has it.
    fn timestamp_literal(&self, text: &[u8]) -> Result<DateTime> {
        let (bare, offset) = temporal_text::split_offset(text);
        let read = self.date_literal(bare).filter(|_| temporal_text::has_time(bare));
        let read =
            read.ok_or_else(|| error::WRONG_VALUE.with(&[&"DATETIME", &String::from_utf8_lossy(text)]))?;
        if offset.is_none() {
            return Ok(read);
        }
        let is_whole = read.date.month > 0 && read.date.day > 0;
        let moved = temporal_text::parse_datetime_in(text, self.cx.settings.zone()).filter(|_| is_whole);
        let moved = moved
            .map(|read| if self.cx.settings.modes().truncate_fraction { read.cut() } else { read.value });
        moved.ok_or_else(|| error::TRUNCATED_WRONG_VALUE.with(&[&"temporal", &String::from_utf8_lossy(text)]))
    }

    /// A date, with a time or without, that the SQL mode allows.
    fn date_literal(&self, text: &[u8]) -> Option<DateTime> {
        let read = temporal_text::parse_datetime(text).filter(|read| !read.truncated)?;
        let value = if self.cx.settings.modes().truncate_fraction { read.cut() } else { read.value };
        value.date.check(self.cx.settings.modes().dates).then_some(value)
    }

    /// Without introducer the bytes are the statement's, brought into the connection's set.
    fn string(&mut self, bytes: &[u8], introducer: Option<&str>) -> Result<Expr> {
        let (collation, text) = match introducer {
            Some(name) => {
                let charset =
                    Charset::by_name(name).ok_or_else(|| error::UNKNOWN_CHARACTER_SET.with(&[&name]))?;
                let valid = charset.valid_prefix(bytes);
                if valid < bytes.len() {
                    let shown: String = bytes[valid..].iter().take(6).map(|b| format!("{b:02X}")).collect();
                    return Err(error::INVALID_CHARACTER_STRING.with(&[&charset.name(), &shown]));
                }
                (charset.default_collation(), bytes.to_vec().into())
            }
            None => {
                let connection = self.cx.settings.connection_collation();
                let own = self.cx.settings.statement_charset();
                (connection, own.convert(bytes.to_vec().into(), connection.charset()).0)
            }
        };
        let length = collation.charset().char_count(&text) as u32;
        let ty = Type::text(collation, Coercibility::Literal, length).not_null();
        Ok(Expr::constant(Datum::Bytes(text), ty))
    }

    pub(super) fn column(&mut self, name: &ast::ColumnName) -> Result<Expr> {
        let found = self.found_column(name)?;
        self.record_column(name);
        Ok(found)
    }

    fn found_column(&mut self, name: &ast::ColumnName) -> Result<Expr> {
        let bare = name.table.is_none();
        if bare && let Some((place, ty)) = self.scope.locals.find(&name.column) {
            return Ok(Expr { node: Node::Local(place), ty: Type::of_column(ty, true) });
        }
        if let (None, Some(row)) = (&name.database, &name.table)
            && let Some((place, ty)) = self.scope.locals.find_of_row(row, &name.column)
        {
            return Ok(Expr { node: Node::Local(place), ty: Type::of_column(ty, true) });
        }
        let alias = self.scope.aliases.iter().find(|(alias, _)| bare && name.column.is(alias));
        if let (true, Some((alias, expr))) = (self.scope.aliases_first, alias) {
            self.check_window_alias(alias, expr)?;
            return Ok(expr.clone());
        }
        match self.scope.find(name)? {
            Some(column) => match &self.scope.having_columns {
                Some(known) if !known.iter().any(|e| e.is_same(&column)) => {
                    Err(unknown_column(name, self.scope.clause))
                }
                _ => Ok(column),
            },
            None => match alias {
                Some((alias, expr)) => {
                    self.check_window_alias(alias, expr)?;
                    Ok(expr.clone())
                }
                None => match self.scope.find_around(name)? {
                    Some(outer) => Ok(outer),
                    None => Err(unknown_column(name, self.scope.clause)),
                },
            },
        }
    }

    /// The column that an assignment names.
    pub(crate) fn assigned(&self, name: &ast::ColumnName) -> Result<Expr> {
        self.scope.find(name)?.ok_or_else(|| unknown_column(name, self.scope.clause))
    }

    /// `VALUES(column)`: what the row would have had.
    pub(super) fn values(&mut self, name: &ast::ColumnName) -> Result<Expr> {
        let found = self.scope.find(name)?.ok_or_else(|| unknown_column(name, self.scope.clause))?;
        Ok(match (self.scope.values_source, &found.node) {
            (Some(source), &Node::Column { column, .. }) => {
                Expr { node: Node::Column { source, column }, ty: found.ty }
            }
            _ => Expr::constant(Datum::Null, Type { nullable: true, ..found.ty }),
        })
    }

    /// `DEFAULT(column)`.
    pub(super) fn default_of(&mut self, name: &ast::ColumnName) -> Result<Expr> {
        let found = self.scope.find(name)?.ok_or_else(|| unknown_column(name, self.scope.clause))?;
        self.record_column(name);
        let Node::Column { source, column } = found.node else {
            return Err(unknown_column(name, self.scope.clause));
        };
        let table = self.scope.sources.iter().find(|s| s.slot == source).and_then(Source::as_table);
        let table = table.ok_or_else(|| unknown_column(name, self.scope.clause))?;
        let definition: &ColumnDef = &table.columns[column];
        match definition.constant_default() {
            Some(value) => Ok(Expr::constant(value, Type { nullable: true, ..found.ty })),
            None => Err(error::NO_DEFAULT_FOR_FIELD.with(&[&definition.name])),
        }
    }
}

pub(crate) fn unknown_column(name: &ast::ColumnName, clause: &str) -> datum::error::SqlError {
    let parts = [name.database.as_ref(), name.table.as_ref(), Some(&name.column)];
    let shown: Vec<&str> = parts.into_iter().flatten().map(|i| i.as_str()).collect();
    error::BAD_FIELD_ERROR.with(&[&shown.join("."), &clause])
}

impl Scope {
    /// The column of this name; `None` if there is none, error 1052 if there are several.
    pub(crate) fn find(&self, name: &ast::ColumnName) -> Result<Option<Expr>> {
        let mut found = None;
        let ambiguous = || error::NON_UNIQ_ERROR.with(&[&name.column, &self.clause]);
        if let (Some(visible), None) = (&self.visible, &name.table) {
            for column in visible.iter().filter(|v| name.column.is(&v.name)) {
                if found.replace(column.expr.clone()).is_some() {
                    return Err(ambiguous());
                }
            }
            return Ok(found);
        }
        for (number, source) in self.sources.iter().enumerate() {
            let qualified = name.table.as_ref().is_none_or(|t| t.is(&source.alias))
                && name.database.as_ref().is_none_or(|d| **d == *source.database);
            if !qualified || !self.window.contains(&number) {
                continue;
            }
            if let Some(column) = source.find(&name.column)
                && found.replace(source.column(column)).is_some()
            {
                return Err(ambiguous());
            }
        }
        Ok(found)
    }

    /// The column of this name in the scopes around, as a parameter.
    fn find_around(&mut self, name: &ast::ColumnName) -> Result<Option<Expr>> {
        let Some(parent) = &mut self.parent else { return Ok(None) };
        let found = match parent.find(name)? {
            Some(column) => Some(column),
            None => match parent.aliases.iter().find(|(a, _)| name.table.is_none() && name.column.is(a)) {
                Some((_, expr)) => Some(expr.clone()),
                None => parent.find_around(name)?,
            },
        };
        Ok(found.map(|column| self.outer(column)))
    }

    /// A value in the parent's terms, as a parameter.
    pub(super) fn outer(&mut self, value: Expr) -> Expr {
        let ty = value.ty;
        let known = self.parameters.iter().position(|p| p.is_same(&value));
        let number = known.unwrap_or_else(|| {
            self.parameters.push(value);
            self.parameters.len() - 1
        });
        Expr { node: Node::Outer(number), ty }
    }
}

impl Resolver<'_> {
    /// What is asked for as a text has the digits that it is shown with: a ZEROFILL column its
    /// zeros, a FLOAT or DOUBLE all those after the point, where their number is fixed.
    pub(super) fn as_digits(&self, expr: &mut Expr) {
        // So has what CASE or IF chooses.
        match &mut expr.node {
            Node::Case(case) => {
                let results = case.branches.iter_mut().map(|(_, then)| then).chain(&mut case.otherwise);
                return results.for_each(|result| self.as_digits(result));
            }
            Node::Switch(switch) => {
                let results = switch.branches.iter_mut().map(|(.., then)| then).chain(&mut switch.otherwise);
                return results.for_each(|result| self.as_digits(result));
            }
            Node::Cast(cast::To::Chosen(..) | cast::To::ChosenNumber(..), chosen) => {
                return self.as_digits(chosen);
            }
            _ => {}
        }
        let width = match expr.node {
            Node::Column { source, column } => {
                self.scope.sources.iter().find_map(|s| s.zero_filled(source, column))
            }
            _ => None,
        };
        if self.has_fixed_digits(expr) {
            self.make_text(expr, cast::To::Fixed(expr.ty.decimals));
        }
        if let Some(width) = width.and_then(|w| u8::try_from(w).ok()) {
            self.make_text(expr, cast::To::ZeroFilled(width));
        }
    }

    fn make_text(&self, expr: &mut Expr, to: cast::To) {
        let ty = cast::result_type(&to, &expr.ty, self.cx.settings.connection_collation());
        let inner = std::mem::replace(expr, Expr::constant(Datum::Null, ty));
        expr.node = Node::Cast(to, Box::new(inner));
    }

    /// True for a FLOAT or DOUBLE whose text has a fixed number of digits after the point.
    fn has_fixed_digits(&self, expr: &Expr) -> bool {
        use ast::AggregateFunction::{AnyValue, Max, Min};
        // MySQL's SUM and AVG give their texts themselves, and variables have forgotten their
        // digits.
        let has_own_text = match (&expr.node, &self.scope.aggregates) {
            (Node::UserVariable(_), _) => true,
            (Node::Aggregate(number), Some(all)) => {
                all.get(*number).is_some_and(|aggregate| !matches!(aggregate.function, Max | Min | AnyValue))
            }
            _ => false,
        };
        let is_real = matches!(expr.ty.family, Family::Float | Family::Double);
        is_real && expr.ty.decimals < NOT_FIXED && !has_own_text
    }
}

impl Source {
    /// How many digits a ZEROFILL column of this slot has, if it is this source's.
    fn zero_filled(&self, slot: usize, column: usize) -> Option<usize> {
        match &self.columns {
            Columns::Merged(columns, exprs) => {
                let is_it = |e: &Expr| matches!(e.node, Node::Column { source, column: c } if (source, c) == (slot, column));
                columns.get(exprs.iter().position(is_it)?)?.zerofill
            }
            _ if self.slot != slot => None,
            Columns::Table(table) => {
                let ty = &table.columns.get(column)?.ty;
                ty.is_zerofill().then(|| ty.display_length() as usize)
            }
            Columns::Made(columns) => columns.get(column)?.zerofill,
        }
    }

    /// The column of this name, in any case.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        match &self.columns {
            Columns::Table(table) => table.column_index(name),
            Columns::Made(columns) | Columns::Merged(columns, _) => {
                columns.iter().position(|c| c.meta.name.eq_ignore_ascii_case(name))
            }
        }
    }

    pub(crate) fn column(&self, column: usize) -> Expr {
        let read = |ty: Type| Expr { node: Node::Column { source: self.slot, column }, ty };
        let mut expr = match &self.columns {
            Columns::Table(table) => {
                let definition = &table.columns[column];
                read(Type::of_column(&definition.ty, definition.nullable))
            }
            Columns::Made(columns) => read(columns[column].ty),
            Columns::Merged(_, exprs) => exprs[column].clone(),
        };
        expr.ty.nullable |= self.nullable;
        expr
    }

    /// The table, if it is one.
    pub(crate) fn as_table(&self) -> Option<&TableDef> {
        match &self.columns {
            Columns::Table(table) => Some(table),
            _ => None,
        }
    }
}
