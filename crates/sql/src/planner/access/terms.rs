//! What conditions say of single columns.
//!
//! Alternatives (`OR`) that all say something of the same column say that it is one of some values,
//! or lies in one of some ranges.

use super::{Candidate, Key, RANGES_MAX, Range};
use crate::expression::compare::By;
use crate::expression::{Expr, Node};
use datum::types::{DataType, Family, Type};
use syntax::ast::{BinaryOp, Truth};

/// A condition on one column.
pub(super) struct Term<'e> {
    pub(super) column: usize,
    pub(super) kind: TermKind<'e>,
}

pub(super) enum TermKind<'e> {
    Equal(Vec<KeyRef<'e>>),
    /// Not below, or above.
    Lower(By, &'e Expr),
    /// Not above, or below.
    Upper(By, &'e Expr),
    Ranges(Vec<RangeRef<'e>>),
}

/// The ends of a range: not below, and not above.
#[derive(Clone, Copy, Default)]
pub(super) struct RangeRef<'e> {
    lower: Option<(By, &'e Expr)>,
    upper: Option<(By, &'e Expr)>,
}

#[derive(Clone, Copy)]
pub(super) enum KeyRef<'e> {
    Null,
    Value(By, &'e Expr),
    NullSafe(By, &'e Expr),
}

impl Candidate<'_> {
    /// The column, if the expression is one of this table's.
    pub(super) fn column(&self, e: &Expr) -> Option<usize> {
        match e.node {
            Node::Column { source, column } if source == self.slot => Some(column),
            Node::Column { .. } => None,
            _ => self.key_part(e),
        }
    }

    /// The hidden column that has an expression's values, if there is an index on it.
    fn key_part(&self, e: &Expr) -> Option<usize> {
        // The planner has resolved them where the table has any.
        let computed = self.table.computed.get().filter(|_| e.sources() == 1 << self.slot)?;
        let is_it = |(column, of): &&(usize, Expr)| {
            self.table.columns[*column].is_key_part() && of.with_source(self.slot).is_same(e)
        };
        computed.generated.iter().find(is_it).map(|(column, _)| *column)
    }

    /// True if the value is known before the table is read.
    fn is_known(&self, e: &Expr) -> bool {
        e.sources() & !self.available == 0 && !e.is_volatile()
    }

    /// Adds what a condition says of the table's columns.
    pub(super) fn collect<'e>(&self, condition: &'e Expr, terms: &mut Vec<Term<'e>>) {
        match &condition.node {
            Node::And(list) => list.iter().for_each(|e| self.collect(e, terms)),
            Node::Compare(op, by, pair) => {
                let (column, other, op) = match (self.column(&pair[0]), self.column(&pair[1])) {
                    (Some(column), _) if self.is_known(&pair[1]) => (column, &pair[1], *op),
                    (_, Some(column)) if self.is_known(&pair[0]) => (column, &pair[0], mirrored(*op)),
                    _ => return,
                };
                if !self.is_comparable(column, *by, other) {
                    return;
                }
                let kind = match op {
                    BinaryOp::Equal => TermKind::Equal(vec![KeyRef::Value(*by, other)]),
                    BinaryOp::NullSafeEqual => TermKind::Equal(vec![KeyRef::NullSafe(*by, other)]),
                    BinaryOp::Greater | BinaryOp::GreaterOrEqual => TermKind::Lower(*by, other),
                    BinaryOp::Less | BinaryOp::LessOrEqual => TermKind::Upper(*by, other),
                    _ => return,
                };
                terms.push(Term { column, kind });
            }
            Node::Between(three, by, false) => {
                let [x, low, high] = &**three;
                let Some(column) = self.column(x) else { return };
                if self.is_known(low) && self.is_comparable(column, by[0], low) {
                    terms.push(Term { column, kind: TermKind::Lower(by[0], low) });
                }
                if self.is_known(high) && self.is_comparable(column, by[1], high) {
                    terms.push(Term { column, kind: TermKind::Upper(by[1], high) });
                }
            }
            Node::In(x, list, false) if list.len() <= RANGES_MAX => {
                let Some(column) = self.column(x) else { return };
                let usable = |(by, e): &(By, Expr)| self.is_known(e) && self.is_comparable(column, *by, e);
                if list.iter().all(usable) {
                    let keys = list.iter().map(|(by, e)| KeyRef::Value(*by, e)).collect();
                    terms.push(Term { column, kind: TermKind::Equal(keys) });
                }
            }
            Node::Or(list) => self.collect_alternatives(list, terms),
            Node::RowIn(list) => self.collect(&list.any, terms),
            Node::Is(x, Truth::Null, false) => {
                if let Some(column) = self.column(x).filter(|&c| self.table.columns[c].nullable) {
                    terms.push(Term { column, kind: TermKind::Equal(vec![KeyRef::Null]) });
                }
            }
            _ => {}
        }
    }

    /// True if the order of the column's keys is that of the comparison with such values.
    fn is_comparable(&self, column: usize, by: By, other: &Expr) -> bool {
        let definition = &self.table.columns[column];
        let ty = Type::of_column(&definition.ty, definition.nullable);
        // A label's order in keys is that of its numbers, its comparison that of its text.
        if matches!(definition.ty, DataType::Enum { .. } | DataType::Set { .. }) {
            return false;
        }
        match by {
            By::Text(collation) => ty.family.is_text() && collation == definition.ty.collation(),
            By::Integer | By::Decimal | By::Double => {
                ty.family.is_numeric() && !matches!(definition.ty, DataType::Year)
            }
            // No key is the date that a year compares as, which has neither month nor day.
            By::DateTime => {
                other.ty.family != Family::Year
                    && matches!(
                        definition.ty,
                        DataType::Date | DataType::DateTime(_) | DataType::Timestamp(_)
                    )
            }
            By::Time => matches!(definition.ty, DataType::Time(_)),
            By::Json => false,
        }
    }

    /// What the column must be where one of these conditions holds, for each column of which all of
    /// them say something.
    fn collect_alternatives<'e>(&self, list: &'e [Expr], terms: &mut Vec<Term<'e>>) {
        // Each alternative names a value or a range, if there is to be a term.
        if list.len() > RANGES_MAX {
            return;
        }
        let mut each: Vec<Vec<Term<'e>>> = Vec::with_capacity(list.len());
        for condition in list {
            let mut own = Vec::new();
            self.collect(condition, &mut own);
            each.push(own);
        }
        let mut columns: Vec<usize> =
            each.first().iter().flat_map(|own| own.iter().map(|t| t.column)).collect();
        columns.sort_unstable();
        columns.dedup();
        for column in columns {
            let of_column = || each.iter().map(|own| own.iter().filter(|t| t.column == column));
            if let Some(values) = of_column().map(values_of).collect::<Option<Vec<_>>>() {
                let values: Vec<KeyRef<'e>> = values.into_iter().flatten().copied().collect();
                if values.len() <= RANGES_MAX {
                    terms.push(Term { column, kind: TermKind::Equal(values) });
                }
            } else if let Some(ranges) = of_column().map(ranges_of).collect::<Option<Vec<_>>>() {
                let ranges: Vec<RangeRef<'e>> = ranges.into_iter().flatten().collect();
                if ranges.len() <= RANGES_MAX {
                    terms.push(Term { column, kind: TermKind::Ranges(ranges) });
                }
            }
        }
    }
}

/// The values of which the column is one, if one of these terms says that.
fn values_of<'t, 'e: 't>(mut terms: impl Iterator<Item = &'t Term<'e>>) -> Option<&'t [KeyRef<'e>]> {
    terms.find_map(|term| match &term.kind {
        TermKind::Equal(values) => Some(values.as_slice()),
        _ => None,
    })
}

/// The ranges in one of which the column lies where all of these terms hold.
pub(super) fn ranges_of<'t, 'e: 't>(terms: impl Iterator<Item = &'t Term<'e>>) -> Option<Vec<RangeRef<'e>>> {
    let (mut one, mut several) = (RangeRef::default(), None);
    for term in terms {
        match &term.kind {
            TermKind::Lower(by, e) => one.lower = Some((*by, *e)),
            TermKind::Upper(by, e) => one.upper = Some((*by, *e)),
            TermKind::Ranges(list) => several = Some(list.clone()),
            TermKind::Equal(values) => {
                let point = |key: &KeyRef<'e>| match *key {
                    KeyRef::Value(by, e) => Some(RangeRef { lower: Some((by, e)), upper: Some((by, e)) }),
                    KeyRef::Null | KeyRef::NullSafe(..) => None,
                };
                several = several.or_else(|| values.iter().map(point).collect());
            }
        }
    }
    let is_narrow = one.lower.is_some() || one.upper.is_some();
    several.or_else(|| is_narrow.then(|| vec![one]))
}

impl RangeRef<'_> {
    /// The range with expressions of its own.
    pub(super) fn to_range(self) -> Range {
        let owned = |(by, e): (By, &Expr)| (by, e.clone());
        Range { lower: self.lower.map(owned), upper: self.upper.map(owned) }
    }
}

impl<'e> KeyRef<'e> {
    pub(super) fn expr(&self) -> Option<&'e Expr> {
        match *self {
            KeyRef::Null => None,
            KeyRef::Value(_, e) | KeyRef::NullSafe(_, e) => Some(e),
        }
    }

    pub(super) fn to_key(self) -> Key {
        match self {
            KeyRef::Null => Key::Null,
            KeyRef::Value(by, e) => Key::Value(by, e.clone()),
            KeyRef::NullSafe(by, e) => Key::NullSafe(by, e.clone()),
        }
    }
}

fn mirrored(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        other => other,
    }
}
