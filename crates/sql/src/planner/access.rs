//! How a table's rows are found: by which index, by which keys, in which direction.
//!
//! 1. The conditions that compare a bare column with something known before the row become terms
//!    (`terms.rs`). Known are constants, parameters, what comes from around the block, and the
//!    columns of tables that are read earlier.
//! 2. For each index, equalities bind its leading columns, and the next column may have ranges.
//! 3. The cheapest index wins, by the rows that it is expected to give.
//!
//! Keys stay expressions (P1); [`crate::executor::access`] evaluates them whenever the path is
//! opened.
//!
//! (A1) A path gives every row that the conditions accept, and perhaps others: the conditions are
//!      tested again.

mod terms;

use storage::transaction::Direction;

use terms::{KeyRef, RangeRef, Term, TermKind, ranges_of};

use super::covering::ColumnsRead;
use super::size::TableSize;
use super::statistics::selectivity;
use crate::catalog::TableDef;
use crate::expression::compare::By;
use crate::expression::{Expr, Node};
use datum::error::{self, Result};
use syntax::ast::{BinaryOp, IndexHint, IndexHintAction, IndexHintScope};

/// A path to rows.
#[derive(Debug, Clone)]
pub(crate) struct AccessPath {
    /// Which index.
    pub index: usize,
    /// For each leading column that has equalities, what it may equal.
    pub keys: Vec<Vec<Key>>,
    /// Ranges of the next column, in one of which it lies; none if it may be anything.
    pub(crate) ranges: Vec<Range>,
    /// Which way.
    pub direction: Direction,
}

/// What a column equals.
#[derive(Debug, Clone)]
pub(crate) enum Key {
    /// The condition is `IS NULL`.
    Null,
    /// A value; there is no such row if it is NULL.
    Value(By, Expr),
    /// A value or NULL.
    NullSafe(By, Expr),
}

/// A range of a column's values. Both ends are included, whatever the condition says (A1).
#[derive(Debug, Clone, Default)]
pub(crate) struct Range {
    /// Not below.
    pub lower: Option<(By, Expr)>,
    /// Not above.
    pub(crate) upper: Option<(By, Expr)>,
}

/// A path, and what it is expected to cost.
#[derive(Debug, Clone)]
pub(crate) struct Choice {
    pub(crate) path: AccessPath,
    /// Rows that it gives each time that it is opened.
    pub rows: f64,
    /// The share of them that the conditions accept.
    pub(crate) accepted: f64,
    /// What opening and reading it costs, in rows read.
    pub cost: f64,
}

/// The most ranges that IN makes: a few megabytes of them, as MySQL's
/// `range_optimizer_max_mem_size` has it by default.
pub(crate) const RANGES_MAX: usize = 16_384;

/// What a row costs that an entry of a secondary index leads to, in rows read one after the other:
/// the tree of the primary key is descended for it.
const LOOKUP_COST: f64 = 3.0;

/// What it costs to bring a walk to where a range begins.
const RANGE_COST: f64 = 0.1;

/// What a walk over a whole table costs beyond its rows: a small table may have grown when a kept
/// plan runs, and its rows are locked by those who lock.
const SCAN_COST: f64 = 10.0;

/// True if both are the same, and have one value for as long as a path is walked.
fn is_fixed(a: &Expr, b: &Expr) -> bool {
    let is_fixed = matches!(
        a.node,
        Node::Constant(_) | Node::Misread(_) | Node::Parameter(_) | Node::Column { .. } | Node::Outer(_)
    );
    is_fixed && a.is_same(b)
}

/// A table and what is known before it is read.
pub(crate) struct Candidate<'a> {
    pub(crate) table: &'a TableDef,
    pub(crate) slot: usize,
    /// The slots that are filled before, one bit each.
    pub(crate) available: u64,
    /// What the query says of its indexes.
    pub hints: &'a [IndexHint],
    /// What an index is wanted for.
    pub(crate) scope: IndexHintScope,
    /// Any index is better than none.
    pub(crate) forced: bool,
    /// What the query reads of the table, if it needs no more than that.
    pub read: Option<&'a ColumnsRead>,
}

/// All rows by primary key.
pub(crate) fn full_scan() -> AccessPath {
    AccessPath { index: 0, keys: Vec::new(), ranges: Vec::new(), direction: Direction::Forward }
}

/// Checks the names in the hints; error 1176 for an index that there is not.
pub(crate) fn check_hints(table: &TableDef, hints: &[IndexHint], alias: &str) -> Result<()> {
    for name in hints.iter().flat_map(|hint| &hint.indexes) {
        if table.index_named(name).is_none() {
            return Err(error::KEY_DOES_NOT_EXIST.with(&[name, &alias]));
        }
    }
    Ok(())
}

impl Candidate<'_> {
    /// The same, for indexes that are wanted for something else.
    pub(crate) fn in_scope(self, scope: IndexHintScope) -> Self {
        Self { scope, ..self }
    }

    /// The cheapest path under these conditions. The table's size is asked only where it decides
    /// something.
    pub(crate) fn choose<'e>(
        &self,
        conditions: impl Iterator<Item = &'e Expr> + Clone,
        size: &TableSize<'_>,
    ) -> Choice {
        let mut terms = Vec::new();
        for condition in conditions.clone() {
            self.collect(condition, &mut terms);
        }
        let mut choice = self.cheapest(&terms, size);
        choice.accepted = conditions.map(|e| self.accepted(&choice.path, e)).product();
        choice
    }

    /// The numbers of the indexes that could narrow the rows under these conditions, in their
    /// order.
    pub(crate) fn possible<'e>(&self, conditions: impl Iterator<Item = &'e Expr>) -> Vec<usize> {
        let mut terms = Vec::new();
        for condition in conditions {
            self.collect(condition, &mut terms);
        }
        let narrows = |index: &usize| {
            let first = self.table.indexes[*index].parts[0].column;
            terms.iter().any(|t| t.column == first)
        };
        (0..self.table.indexes.len()).filter(|&i| self.table.indexes[i].visible).filter(narrows).collect()
    }

    /// True if the path's keys see to it that a condition holds.
    pub(crate) fn is_key_of(&self, path: &AccessPath, condition: &Expr) -> bool {
        let mut terms = Vec::new();
        self.collect(condition, &mut terms);
        let parts = &self.table.indexes[path.index].parts[..path.keys.len()];
        let is_key = |t: &Term<'_>| {
            matches!(&t.kind, TermKind::Equal(values) if values.len() == 1)
                && parts.iter().any(|p| p.column == t.column && p.prefix_len.is_none())
        };
        !terms.is_empty() && terms.iter().all(is_key) && path.keys.iter().all(|k| k.len() == 1)
    }

    /// True if a condition holds for each row of the path, should all values of the path's keys
    /// turn out to be integers in columns of integers: those are held exactly, and compare as their
    /// keys do.
    pub(crate) fn is_implied(&self, path: &AccessPath, condition: &Expr) -> bool {
        let parts = &self.table.indexes[path.index].parts;
        let ranged = parts.get(path.keys.len()).map(|part| part.column);
        let [range] = path.ranges.as_slice() else { return self.is_key(path, condition) };
        let is_end =
            |end: &Option<(By, Expr)>, e: &Expr| end.as_ref().is_some_and(|(_, end)| is_fixed(e, end));
        match &condition.node {
            Node::Between(three, [By::Integer, By::Integer], false) => {
                let [x, low, high] = &**three;
                self.column(x) == ranged && is_end(&range.lower, low) && is_end(&range.upper, high)
            }
            Node::Compare(BinaryOp::GreaterOrEqual, By::Integer, pair) => {
                self.column(&pair[0]) == ranged && is_end(&range.lower, &pair[1])
            }
            // What has no lower end begins with NULL.
            Node::Compare(BinaryOp::LessOrEqual, By::Integer, pair) => {
                let is_bounded = range.lower.is_some() || !pair[0].ty.nullable;
                self.column(&pair[0]) == ranged && is_bounded && is_end(&range.upper, &pair[1])
            }
            _ => self.is_key(path, condition),
        }
    }

    /// True if a condition is what one of the path's keys was taken from.
    fn is_key(&self, path: &AccessPath, condition: &Expr) -> bool {
        let Node::Compare(BinaryOp::Equal, By::Integer, pair) = &condition.node else { return false };
        let Some(column) = self.column(&pair[0]) else { return false };
        let parts = &self.table.indexes[path.index].parts;
        parts.iter().zip(&path.keys).any(|(part, keys)| {
            part.column == column && matches!(keys.as_slice(), [Key::Value(_, e)] if is_fixed(&pair[1], e))
        })
    }

    /// The share of the path's rows that a condition is expected to accept; all if the path has
    /// seen to it.
    fn accepted(&self, path: &AccessPath, condition: &Expr) -> f64 {
        let mut terms = Vec::new();
        self.collect(condition, &mut terms);
        let parts = &self.table.indexes[path.index].parts;
        let used = path.keys.len() + usize::from(!path.ranges.is_empty());
        let is_used = |t: &Term<'_>| parts[..used].iter().any(|p| p.column == t.column);
        if !terms.is_empty() && terms.iter().all(is_used) { 1.0 } else { selectivity(condition) }
    }

    fn cheapest(&self, terms: &[Term<'_>], size: &TableSize<'_>) -> Choice {
        if self.is_allowed(0)
            && let Some(point) = self.by_index(0, terms, None).filter(|c| c.path.is_point(self.table))
        {
            return point;
        }
        let all = size.rows();
        let mut best = Choice { path: full_scan(), rows: all, accepted: 1.0, cost: all + SCAN_COST };
        for index in (0..self.table.indexes.len()).filter(|&i| self.is_allowed(i)) {
            if let Some(choice) = self.by_index(index, terms, Some(size))
                && (choice.cost <= best.cost || self.is_forced() && best.path.keys.is_empty())
            {
                best = choice;
            }
            let whole = || self.covers(index).then(|| self.whole_index(index, size)).flatten();
            if let Some(choice) = whole().filter(|choice| choice.cost < best.cost) {
                best = choice;
            }
        }
        best
    }

    /// True if a part holds the beginning of a text whose characters weigh otherwise with those
    /// that follow: its order is not the text's, and what is equal may begin in different ways.
    fn cuts_contractions(&self, part: &storage::KeyPart) -> bool {
        let has_contractions = || self.table.columns[part.column].ty.collation().has_contractions();
        part.prefix_len.is_some() && has_contractions()
    }

    /// True if an index holds all that the query reads.
    fn covers(&self, index: usize) -> bool {
        self.read.is_some_and(|read| read.are_held_by(self.slot, self.table, index))
    }

    /// All rows, in the order of an index; `None` if it is not to be used.
    fn whole_index(&self, index: usize, size: &TableSize<'_>) -> Option<Choice> {
        if !self.is_allowed(index) {
            return None;
        }
        let rows = size.rows();
        let each = match index {
            0 => 1.0,
            _ if self.covers(index) => size.width(index),
            _ => 1.0 + LOOKUP_COST,
        };
        let path = AccessPath { index, ..full_scan() };
        Some(Choice { path, rows, accepted: 1.0, cost: rows * each + SCAN_COST })
    }

    /// The paths that give the rows in an order, ascending or descending columns.
    pub(crate) fn in_order(
        &self,
        conditions: &[Expr],
        size: &TableSize<'_>,
        order: &[(usize, bool)],
    ) -> Vec<Choice> {
        let mut terms = Vec::new();
        conditions.iter().for_each(|condition| self.collect(condition, &mut terms));
        let narrowed = |index| self.by_index(index, &terms, Some(size));
        let indexes = (0..self.table.indexes.len()).filter(|&index| self.is_allowed(index));
        let paths = indexes.flat_map(|index| [narrowed(index), self.whole_index(index, size)]);
        let mut found: Vec<Choice> = paths.flatten().collect();
        found.retain_mut(|choice| choice.path.gives_order(self.table, order));
        found
    }

    fn is_forced(&self) -> bool {
        self.forced || self.hints_in_scope().any(|hint| hint.action == IndexHintAction::Force)
    }

    /// What the hints say of indexes for what they are wanted for.
    fn hints_in_scope(&self) -> impl Iterator<Item = &IndexHint> {
        self.hints.iter().filter(|hint| hint.scope == IndexHintScope::All || hint.scope == self.scope)
    }

    /// What the hints say.
    fn is_allowed(&self, index: usize) -> bool {
        let mut allowed = self.table.indexes[index].visible;
        let mut named = false;
        let mut used = false;
        for hint in self.hints_in_scope() {
            for name in &hint.indexes {
                let is_this = self.table.index_named(name) == Some(index);
                match hint.action {
                    IndexHintAction::Ignore => allowed &= !is_this,
                    _ => named |= is_this,
                }
            }
            used |= hint.action != IndexHintAction::Ignore;
        }
        allowed && (!used || named)
    }

    /// A path by one index (only whether it is a point matters where the size is not asked for);
    /// `None` if the conditions do not narrow it.
    fn by_index(&self, number: usize, terms: &[Term<'_>], size: Option<&TableSize<'_>>) -> Option<Choice> {
        let definition = &self.table.indexes[number];
        let mut keys: Vec<Vec<Key>> = Vec::new();
        let mut alternatives = 1;
        let mut whole = true;
        for part in &definition.parts {
            if self.cuts_contractions(part) {
                whole = false;
                break;
            }
            let equal = terms.iter().filter(|t| t.column == part.column).filter_map(|t| match &t.kind {
                TermKind::Equal(values) => Some(values),
                _ => None,
            });
            // What is known already can be looked up now.
            let depends = |key: &KeyRef<'_>| key.expr().is_some_and(|e| e.sources() != 0);
            let worse = |values: &&Vec<KeyRef<'_>>| (values.len(), values.iter().any(depends));
            let Some(values) = equal.min_by_key(worse) else { break };
            if alternatives * values.len() > RANGES_MAX {
                break;
            }
            alternatives *= values.len();
            keys.push(values.iter().copied().map(KeyRef::to_key).collect());
            if part.prefix_len.is_some() {
                // After a prefix nothing more is known of the order.
                whole = false;
                break;
            }
        }
        let next = definition.parts.get(keys.len()).filter(|part| whole && !self.cuts_contractions(part));
        let of_next = |part: &storage::KeyPart| {
            let column = part.column;
            ranges_of(terms.iter().filter(|t| t.column == column && !matches!(t.kind, TermKind::Equal(_))))
        };
        let ranges = next.and_then(of_next).unwrap_or_default();
        if keys.is_empty() && ranges.is_empty() {
            return None;
        }
        alternatives *= ranges.len().max(1);
        if alternatives > RANGES_MAX {
            return None;
        }
        let ranges = ranges.into_iter().map(RangeRef::to_range).collect();
        let path = AccessPath { index: number, keys, ranges, direction: Direction::Forward };
        let rows = size.map_or(alternatives as f64, |size| size.of_path(&path, alternatives));
        let each = if number == 0 || self.covers(number) { 1.0 } else { 1.0 + LOOKUP_COST };
        let cost = rows * each + RANGE_COST * alternatives as f64;
        Some(Choice { path, rows, accepted: 1.0, cost })
    }
}

impl AccessPath {
    /// True if it names one row of the primary key at most.
    pub(crate) fn is_point(&self, table: &TableDef) -> bool {
        let parts = &table.indexes[self.index].parts;
        self.index == 0 && self.keys.len() == parts.len() && self.keys.iter().all(|k| k.len() == 1)
    }

    /// True if it reads a range, or several places.
    pub(crate) fn is_range(&self) -> bool {
        !self.ranges.is_empty() || self.keys.iter().any(|alternatives| alternatives.len() > 1)
    }

    /// True if it reads the whole index.
    pub(crate) fn is_full(&self) -> bool {
        self.keys.is_empty() && self.ranges.is_empty()
    }

    /// The slots that its keys read, one bit each.
    pub(crate) fn sources(&self) -> u64 {
        self.expressions().fold(0, |all, e| all | e.sources())
    }

    /// The values that its keys are made of.
    pub(crate) fn expressions(&self) -> impl Iterator<Item = &Expr> {
        let keys = self.keys.iter().flatten().filter_map(|key| match key {
            Key::Null => None,
            Key::Value(_, e) | Key::NullSafe(_, e) => Some(e),
        });
        let ends = self.ranges.iter().flat_map(|r| r.lower.iter().chain(&r.upper)).map(|(_, e)| e);
        keys.chain(ends)
    }

    /// True if rows come in the order of these columns, ascending or all descending; turns the walk
    /// round if needed.
    pub(crate) fn gives_order(&mut self, table: &TableDef, order: &[(usize, bool)]) -> bool {
        if self.is_point(table) {
            return true;
        }
        let parts = &table.indexes[self.index].parts;
        let single = self.keys.iter().take_while(|k| k.len() == 1).count();
        if single < self.keys.len() {
            // Several values of a column: its ranges come in the order of keys, but what is after
            // them starts anew.
            return self.keys.len() == 1
                && parts.len() == 1
                && self.follows(&parts[..1], order, parts, single);
        }
        self.follows(&parts[single..], order, parts, single)
    }

    fn follows(
        &mut self,
        mut rest: &[storage::KeyPart],
        order: &[(usize, bool)],
        parts: &[storage::KeyPart],
        single: usize,
    ) -> bool {
        let mut backward = None;
        for &(column, descending) in order {
            if parts[..single].iter().any(|p| p.column == column && p.prefix_len.is_none()) {
                continue; // one value only
            }
            let Some((part, more)) = rest.split_first() else { return false };
            if part.column != column || part.prefix_len.is_some() {
                return false;
            }
            let turned = part.descending != descending;
            if *backward.get_or_insert(turned) != turned {
                return false;
            }
            rest = more;
        }
        // Keys of a label are in the order of its numbers, as MySQL sorts them too.
        if backward == Some(true) {
            self.direction = Direction::Backward;
        }
        true
    }
}
