//! Long lists of constants: `x IN (..)` and `(x, y) IN ((..), ..)`.
//!
//! 1. The first row of a statement is compared with the candidates one by one: most statements with
//!    such a list evaluate it once or never.
//! 2. For the second row the candidates become a set of keys ([`By::key`]), cached in the
//!    statement's state under the list's number: parameters have other values in the next
//!    execution.
//! 3. Each further row makes a key of its operands and probes the set.
//!
//! (M1) A set answers what comparing one by one answers, with the same warnings. So it has only
//!      constants and parameters whose values need no conversion that may warn, and an operand that
//!      needs one is compared one by one.

use std::ops::Deref;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::compare::By;
use super::subquery::new_id;
use super::{Expr, Node, Row};
use crate::session::Context;
use crate::spill::Purpose;
use crate::spill::key_set::KeySet;
use datum::bounds::Ticker;
use datum::error::Result;
use datum::types::Type;
use datum::value::Datum;
use syntax::ast::BinaryOp;

/// The fewest candidates of which a set is made: fewer are compared as fast.
const SET_MIN: usize = 16;

/// The most ways to compare in one list. Rows of mixed types could have any number.
const GROUPS_MAX: usize = 8;

/// The candidates of `x IN (..)`, each with how it compares.
#[derive(Clone)]
pub(crate) struct Members {
    /// Tells the list from all others but its copies.
    id: u64,
    list: Vec<(By, Expr)>,
}

/// `(x, y) IN ((..), ..)` with constants.
#[derive(Clone)]
pub(crate) struct RowMembers {
    id: u64,
    /// The OR of the comparisons with each candidate.
    pub(crate) any: Expr,
}

/// What the statement that runs knows of a list.
#[derive(Debug)]
pub(crate) enum CachedSet {
    /// One row was compared with it.
    Seen,
    /// No set can be made of it.
    OneByOne,
    Made(Arc<MemberSet>),
}

/// The candidates of a list as keys.
#[derive(Debug)]
pub(crate) struct MemberSet {
    /// One for each way to compare.
    groups: Vec<Group>,
    /// The numbers of the candidates with NULL, which a row without a match is compared with.
    with_null: Vec<usize>,
}

#[derive(Debug)]
struct Group {
    /// How each column compares.
    by: Columns<By>,
    keys: KeySet,
}

type Columns<T> = SmallVec<[T; 2]>;

/// Without the number: expressions are compared by what they print ([`Expr::is_same`]).
impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.list.fmt(f)
    }
}

impl std::fmt::Debug for RowMembers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.any.fmt(f)
    }
}

impl Deref for Members {
    type Target = [(By, Expr)];

    fn deref(&self) -> &Self::Target {
        &self.list
    }
}

impl Members {
    pub(crate) fn new(list: Vec<(By, Expr)>) -> Self {
        Self { id: new_id(), list }
    }

    /// The candidates, to be changed: what is cached of them holds no longer.
    pub(crate) fn iter_mut(&mut self) -> std::slice::IterMut<'_, (By, Expr)> {
        self.id = new_id();
        self.list.iter_mut()
    }

    /// Whether a value, not NULL, is among them, by their set; `None` where they are to be compared
    /// one by one.
    pub(super) fn find(&self, cx: &mut Context, value: &Datum<'_>) -> Result<Option<Option<bool>>> {
        if self.len() < SET_MIN {
            return Ok(None);
        }
        let candidates = |number: usize| {
            let (by, candidate) = self.get(number)?;
            Some(smallvec![(*by, plain(candidate)?)])
        };
        let Some(set) = cached_set(cx, self.id, self.len(), candidates)? else { return Ok(None) };
        // `x IN (.., NULL, NULL)` is unknown by the first one.
        let missed = if set.with_null.is_empty() { Some(false) } else { None };
        Ok(set
            .contains(cx, std::slice::from_ref(value))?
            .map(|found| if found { Some(true) } else { missed }))
    }
}

impl RowMembers {
    /// Any of these comparisons of rows; `None` if they are few, or not all candidates are
    /// constant.
    pub(crate) fn of(alternatives: &[Expr]) -> Option<Box<Self>> {
        let is_plain = |e: &Expr| columns(e).is_some();
        if alternatives.len() < SET_MIN || !alternatives.iter().all(is_plain) {
            return None;
        }
        let any = Expr { node: Node::Or(alternatives.to_vec()), ty: Type::BOOL };
        Some(Box::new(Self { id: new_id(), any }))
    }

    /// The comparisons, to be changed: what is cached of them holds no longer.
    pub(super) fn any_mut(&mut self) -> &mut Expr {
        self.id = new_id();
        &mut self.any
    }

    /// The truth of any of them for `row`.
    pub(super) fn truth(&self, cx: &mut Context, row: Row<'_>) -> Result<Option<bool>> {
        let Node::Or(alternatives) = &self.any.node else { return self.any.truth(cx, row) };
        let Some(first) = alternatives.first().and_then(columns) else { return self.any.truth(cx, row) };
        let candidates = |number: usize| {
            let columns = columns(alternatives.get(number)?)?;
            let is_same = columns.len() == first.len()
                && columns.iter().zip(&first).all(|(column, first)| column.operand.is_same(first.operand));
            is_same.then(|| columns.iter().map(|column| (column.by, column.candidate)).collect())
        };
        let set = cached_set(cx, self.id, alternatives.len(), candidates)?;
        let Some(set) = set else { return self.any.truth(cx, row) };
        let mut operands = Columns::with_capacity(first.len());
        for column in &first {
            operands.push(column.operand.eval(cx, row)?);
        }
        let has_null = operands.iter().any(Datum::is_null);
        match if has_null { None } else { set.contains(cx, &operands)? } {
            None => self.any.truth(cx, row),
            Some(true) => Ok(Some(true)),
            Some(false) => {
                let mut ticker = Ticker::default();
                let mut result = Some(false);
                for alternative in set.with_null.iter().filter_map(|&number| alternatives.get(number)) {
                    ticker.step()?;
                    if alternative.truth(cx, row)?.is_none() {
                        result = None;
                    }
                }
                Ok(result)
            }
        }
    }
}

/// A column of a comparison of rows.
struct RowColumn<'e> {
    by: By,
    operand: &'e Expr,
    candidate: &'e Expr,
}

/// The columns of `x = 1 AND y = 2`; `None` if it is no such comparison.
fn columns(comparison: &Expr) -> Option<Columns<RowColumn<'_>>> {
    let Node::And(list) = &comparison.node else { return None };
    let column = |e| match e {
        &Expr { node: Node::Compare(BinaryOp::Equal, by, ref pair), .. } => {
            let [operand, candidate] = &**pair;
            // The set has it evaluated once for a row.
            plain(candidate).filter(|_| !operand.is_volatile()).map(|candidate| RowColumn {
                by,
                operand,
                candidate,
            })
        }
        _ => None,
    };
    list.iter().map(column).collect()
}

/// The expression, if it has one value in a statement, and evaluating it has no effect.
fn plain(e: &Expr) -> Option<&Expr> {
    let is_leaf = |e: &Expr| matches!(e.node, Node::Constant(_) | Node::Parameter(_));
    let is_plain = is_leaf(e) || matches!(&e.node, Node::Transcode(_, _, of) if is_leaf(of));
    is_plain.then_some(e)
}

/// The set of a list of so many candidates, which `candidates` gives by their numbers; `None` for
/// the first row, and if there can be none.
fn cached_set<'e>(
    cx: &mut Context,
    id: u64,
    len: usize,
    candidates: impl Fn(usize) -> Option<Columns<(By, &'e Expr)>>,
) -> Result<Option<Arc<MemberSet>>> {
    match cx.statement.member_sets().get(&id) {
        Some(CachedSet::Made(set)) => return Ok(Some(set.clone())),
        Some(CachedSet::OneByOne) => return Ok(None),
        None => {
            cx.statement.member_sets().insert(id, CachedSet::Seen);
            return Ok(None);
        }
        Some(CachedSet::Seen) => {}
    }
    let made = MemberSet::make(cx, len, candidates)?.map(Arc::new);
    let cached = made.clone().map_or(CachedSet::OneByOne, CachedSet::Made);
    cx.statement.member_sets().insert(id, cached);
    Ok(made)
}

impl MemberSet {
    /// `None` if a candidate is compared in a way that keys don't have.
    fn make<'e>(
        cx: &mut Context,
        len: usize,
        candidates: impl Fn(usize) -> Option<Columns<(By, &'e Expr)>>,
    ) -> Result<Option<Self>> {
        let mut set = Self { groups: Vec::new(), with_null: Vec::new() };
        let mut ticker = Ticker::default();
        for number in 0..len {
            ticker.step()?;
            let Some(columns) = candidates(number) else { return Ok(None) };
            let by: Columns<By> = columns.iter().map(|(by, _)| *by).collect();
            let (mut key, mut has_null) = (Vec::new(), false);
            for (by, candidate) in columns {
                // A text that another character set can't hold fails where it is compared.
                let Ok(value) = candidate.eval(cx, Row::None) else { return Ok(None) };
                if value.is_null() {
                    has_null = true;
                } else if is_plain(by, &value) {
                    by.key(cx, &value, &mut key)?;
                } else {
                    return Ok(None);
                }
            }
            if has_null {
                set.with_null.push(number);
                continue;
            }
            let group = match set.groups.iter().position(|group| group.by == by) {
                Some(found) => found,
                None if set.groups.len() == GROUPS_MAX => return Ok(None),
                None => {
                    set.groups.push(Group { by, keys: KeySet::new(cx.budget(Purpose::Table)) });
                    set.groups.len() - 1
                }
            };
            set.groups[group].keys.insert(key)?;
        }
        for group in &mut set.groups {
            group.keys.finish()?;
        }
        Ok(Some(set))
    }

    /// True if the values, none of them NULL, are one of the candidates without NULL; `None` if
    /// they are to be compared one by one.
    fn contains(&self, cx: &mut Context, values: &[Datum<'_>]) -> Result<Option<bool>> {
        let is_plain_for =
            |group: &Group| group.by.iter().zip(values).all(|(by, value)| is_plain(*by, value));
        // A text beside numbers only is read once, with what is wrong with it said once.
        let is_read_once = self.with_null.is_empty()
            && matches!(values, [Datum::Bytes(_)])
            && matches!(&self.groups[..], [group] if group.by[..] == [By::Double]);
        if !is_read_once && !self.groups.iter().all(is_plain_for) {
            return Ok(None);
        }
        let mut key = Vec::new();
        for group in &self.groups {
            key.clear();
            for (by, value) in group.by.iter().zip(values) {
                by.key(cx, value, &mut key)?;
            }
            if group.keys.contains(&key)? {
                return Ok(Some(true));
            }
        }
        Ok(Some(false))
    }
}

/// True if comparing a value so converts nothing that might warn, and equal keys are equal values.
fn is_plain(by: By, value: &Datum<'_>) -> bool {
    use Datum as D;
    let is_exact = matches!(value, D::Int(_) | D::UInt(_) | D::Decimal(_));
    match by {
        By::Integer => matches!(value, D::Int(_) | D::UInt(_) | D::Bits(_) | D::Year(_) | D::Label(..)),
        By::Decimal => is_exact,
        By::Double => match value {
            D::Double(_) | D::Float(_) => true,
            D::Bytes(_) => value.to_f64().whole,
            _ => is_exact,
        },
        By::Text(_) => matches!(value, D::Bytes(_) | D::Label(..)),
        By::Time => matches!(value, D::Time(_)),
        By::DateTime => matches!(value, D::Date(_) | D::DateTime(_)),
        By::Json => false,
    }
}
