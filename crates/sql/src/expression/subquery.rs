//! Queries as operands: scalar subqueries, EXISTS, IN, ANY and ALL.
//!
//! A subquery is a function of its parameters: the values that it takes from the query around it.
//! They are evaluated for the outer row and put on the session's stack
//! ([`Context::with_parameters`]), where the inner plan reads them as [`super::Node::Outer`]. What
//! it gave is cached while the parameters stay the same, so one without parameters runs once in a
//! statement.
//!
//! `x IN (SELECT ..)` has its rows read as a whole and kept by their keys, or, where the operands
//! lead to the rows by an index, finds those that equal them for each outer row
//! ([`crate::planner::lookup`]).
//!
//! (S1) A cached result belongs to one statement: statements within statements have results of
//!      their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::compare::{By, holds};
use super::frame::{RowReader, RowSet};
use super::{Expr, Node, Row};
use crate::executor::query;
use crate::planner::Query;
use crate::planner::lookup::{Lookup, Search};
use crate::session::Context;
use crate::spill::Purpose;
use crate::spill::key_set::KeySet;
use datum::error::{self, Result};
use datum::value::Datum;
use syntax::ast::BinaryOp;

/// A query as an operand.
#[derive(Clone)]
pub(crate) struct Subquery {
    /// Tells it from all others.
    pub id: u64,
    /// What it runs.
    pub plan: Arc<Query>,
    /// What it takes from the outer row.
    pub parameters: Vec<Expr>,
    /// What is asked of its rows.
    pub test: Test,
    /// It may give something else each time: nothing is cached.
    pub(crate) is_volatile: bool,
    /// Its block, if a block around can be joined with it.
    pub(crate) flat: Option<Arc<crate::planner::semi_join::Flat>>,
    /// How IN finds the rows that equal its operands, if an index leads to them.
    pub(crate) lookup: Option<Arc<Lookup>>,
    /// It decides whether a row comes, for which unknown is as good as false.
    pub(crate) unknown_is_false: bool,
}

/// Without the plan, which its number stands for: expressions are compared by what they print
/// ([`Expr::is_same`]), and plans of nested subqueries hold each other twice.
impl std::fmt::Debug for Subquery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Subquery { id, parameters, test, .. } = self;
        f.debug_struct("Subquery")
            .field("id", id)
            .field("parameters", parameters)
            .field("test", test)
            .finish_non_exhaustive()
    }
}

/// What is asked of a subquery's rows.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    /// The only value of its only row; NULL without a row.
    Scalar,
    /// One column of its only row.
    Column(usize),
    /// Whether there is a row.
    Exists,
    /// Whether one of the rows equals the operands.
    In(Vec<Candidate>),
    /// Whether the operand compares so with one row, or with all.
    Quantified(Box<Quantifier>),
    /// The same, asked of the row alone that comes first or last in the order of texts.
    Extreme(Box<Quantifier>),
}

/// `operand op ANY|ALL (subquery)`.
#[derive(Debug, Clone)]
pub(crate) struct Quantifier {
    /// A comparison.
    pub op: BinaryOp,
    /// What is compared.
    pub(crate) candidate: Candidate,
    /// ALL; else ANY.
    pub all: bool,
}

/// An operand and the subquery's column that it is compared with.
#[derive(Debug, Clone)]
pub(crate) struct Candidate {
    pub(crate) operand: Expr,
    /// The column, read from a row of the subquery.
    pub column: Expr,
    /// How they compare.
    pub(crate) by: By,
}

/// What a subquery gave, as long as its parameters stay.
#[derive(Debug, Clone, Default)]
pub(crate) struct SubqueryResult {
    /// What it was run with.
    pub parameters: Vec<Datum<'static>>,
    pub(crate) rows: Arc<RowSet>,
    /// The keys of rows without NULL, for IN; and whether a row has a NULL.
    pub keys: Option<(Arc<KeySet>, bool)>,
    /// The first or last text, if there is one; and whether a row has a NULL.
    pub(crate) extreme: Option<(Option<Datum<'static>>, bool)>,
}

/// A number that no other subquery or derived table has.
pub(crate) fn new_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Candidate {
    /// What the operand is compared with, in the terms of the subquery's block, whose select list
    /// these are.
    pub(crate) fn column_of(&self, items: &[Expr]) -> Expr {
        let mut of_block = self.column.clone();
        of_block.transform(&mut |e| {
            if let Node::Column { source: 0, column } = e.node {
                let ty = e.ty;
                *e = Expr { ty, ..items[column].clone() };
            }
        });
        of_block
    }
}

impl Subquery {
    /// What EXPLAIN shows of it: the plan that finds single rows, if there is one.
    pub(crate) fn main_plan(&self) -> &Query {
        self.lookup.as_ref().map_or(&self.plan, |lookup| &lookup.equal.plan)
    }

    /// What [`Self::main_plan`] takes from around it.
    pub(crate) fn main_parameters(&self) -> Vec<Expr> {
        let operands = self.operands().filter(|_| self.lookup.is_some());
        self.parameters.iter().chain(operands).cloned().collect()
    }

    /// All that it may run.
    pub(crate) fn plans(&self) -> impl Iterator<Item = &Query> {
        let lookups = self.lookup.iter().flat_map(|lookup| lookup.plans());
        std::iter::once(&*self.plan).chain(lookups)
    }

    /// What `(SELECT outer.column)`, without tables and clauses, gives of the row around it.
    pub(crate) fn outer_item(&self) -> Option<&Expr> {
        let crate::planner::Body::Block(block) = &self.plan.body else { return None };
        match block.items[..] {
            [Expr { node: Node::Outer(number), .. }]
                if matches!(self.test, Test::Scalar)
                    && !self.plan.reads_tables()
                    && self.plan.gives_one_row() =>
            {
                self.parameters.get(number)
            }
            _ => None,
        }
    }

    /// The operands of its test.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &Expr> {
        let candidates = match &self.test {
            Test::In(list) => list.as_slice(),
            Test::Quantified(asked) | Test::Extreme(asked) => std::slice::from_ref(&asked.candidate),
            _ => &[],
        };
        candidates.iter().map(|c| &c.operand)
    }

    /// Operands and parameters.
    pub(crate) fn children_mut(&mut self) -> Vec<&mut Expr> {
        let candidates = match &mut self.test {
            Test::In(list) => list.as_mut_slice(),
            Test::Quantified(asked) | Test::Extreme(asked) => std::slice::from_mut(&mut asked.candidate),
            _ => &mut [],
        };
        candidates.iter_mut().map(|c| &mut c.operand).chain(&mut self.parameters).collect()
    }

    /// Makes a comparison of a number with texts one with the first or last text, as a WHERE clause
    /// wants it in MySQL. Which texts those are their own order says, so that
    /// `9.5 < ANY (SELECT text ..)` misses '10' if '9' is there too.
    pub(crate) fn compare_with_extreme(&mut self) {
        let is_once = self.parameters.is_empty() && !self.is_volatile;
        let Test::Quantified(asked) = &mut self.test else { return };
        let candidate = &mut asked.candidate;
        let is_number = matches!(candidate.by, By::Integer | By::Decimal | By::Double);
        if is_once && is_number && asked.op.is_ordering() && candidate.column.ty.family.is_text() {
            candidate.by = By::Double;
            self.test = Test::Extreme(asked.clone());
        }
    }

    /// Its value for the outer row.
    pub(crate) fn eval<'a>(&self, cx: &mut Context, row: Row<'_>) -> Result<Datum<'a>> {
        match &self.test {
            Test::Scalar => self.only_row(cx, row, 0),
            Test::Column(number) => self.only_row(cx, row, *number),
            _ => Ok(self.truth(cx, row)?.map_or(Datum::Null, Datum::from_bool)),
        }
    }

    /// The answer to its test.
    pub(crate) fn truth(&self, cx: &mut Context, row: Row<'_>) -> Result<Option<bool>> {
        match &self.test {
            Test::Scalar | Test::Column(_) => {
                let value = self.eval(cx, row)?;
                super::compare::truth(cx, &value)
            }
            Test::Exists => Ok(Some(!self.rows(cx, row, Some(1))?.rows.is_empty())),
            Test::In(list) => self.is_in(cx, row, list),
            Test::Quantified(asked) => self.quantified(cx, row, asked),
            Test::Extreme(asked) => self.truth_by_extreme(cx, row, asked),
        }
    }

    fn only_row<'a>(&self, cx: &mut Context, row: Row<'_>, column: usize) -> Result<Datum<'a>> {
        let result = self.rows(cx, row, Some(2))?;
        match result.rows.len() {
            0 => Ok(Datum::Null),
            1 => {
                let mut reader = RowReader::default();
                Ok(result.rows.read(0, &mut reader)?.get(column).cloned().unwrap_or_default())
            }
            _ => Err(error::SUBQUERY_NO_1_ROW.plain()),
        }
    }

    /// Its rows for the outer row; no more than `limit`.
    fn rows(&self, cx: &mut Context, row: Row<'_>, limit: Option<u64>) -> Result<SubqueryResult> {
        let mut parameters = Vec::with_capacity(self.parameters.len());
        for parameter in &self.parameters {
            parameters.push(parameter.eval(cx, row)?.into_owned());
        }
        if self.is_volatile {
            let stacked = parameters.clone();
            let rows = Arc::new(cx.with_parameters(stacked, |cx| query::rows(cx, &self.plan, limit))?);
            return Ok(SubqueryResult { parameters, rows, ..SubqueryResult::default() });
        }
        cached_rows(cx, self.id, &self.plan, parameters, limit)
    }

    fn is_in(&self, cx: &mut Context, row: Row<'_>, list: &[Candidate]) -> Result<Option<bool>> {
        if let Some(lookup) = &self.lookup
            && let Some(answer) = self.is_in_by_lookup(cx, row, list, lookup)?
        {
            return Ok(answer);
        }
        let result = self.rows(cx, row, None)?;
        if result.rows.is_empty() {
            return Ok(Some(false));
        }
        let mut operands = Vec::with_capacity(list.len());
        for candidate in list {
            operands.push(candidate.operand.eval(cx, row)?);
        }
        let (keys, has_null) = match result.keys {
            Some(keys) => keys,
            None => self.make_keys(cx, list, &result.rows)?,
        };
        if operands.iter().all(|value| !value.is_null()) {
            let mut key = Vec::new();
            for (value, candidate) in operands.iter().zip(list) {
                candidate.by.key(cx, value, &mut key)?;
            }
            if keys.contains(&key)? {
                return Ok(Some(true));
            }
            if !has_null {
                return Ok(Some(false));
            }
        }
        // A NULL on either side: unknown, unless another column differs in every row.
        unknown_or_false(cx, list, &operands, &result.rows)
    }

    /// IN by the rows that equal the operands: one of them says yes, and no other row is read.
    /// Without one, the answer is unknown if another row differs in no column that is known on both
    /// sides. `None` if an operand is NULL that was not expected to be.
    fn is_in_by_lookup(
        &self,
        cx: &mut Context,
        row: Row<'_>,
        list: &[Candidate],
        lookup: &Lookup,
    ) -> Result<Option<Option<bool>>> {
        let mut parameters = Vec::with_capacity(self.parameters.len() + list.len());
        for parameter in &self.parameters {
            parameters.push(parameter.eval(cx, row)?.into_owned());
        }
        for candidate in list {
            parameters.push(candidate.operand.eval(cx, row)?.into_owned());
        }
        let has_null = parameters[self.parameters.len()..].iter().any(Datum::is_null);
        if !has_null && lookup.equal.finds(cx, &parameters)? {
            return Ok(Some(Some(true)));
        }
        let of_unknown = match (has_null, &lookup.of_null) {
            _ if self.unknown_is_false => return Ok(Some(Some(false))),
            (true, None) => return Ok(None),
            (true, of_null) => of_null.as_ref(),
            (false, _) => lookup.with_null.as_ref(),
        };
        let Some(of_unknown) = of_unknown else { return Ok(Some(Some(false))) };
        let is_unknown = of_unknown.finds(cx, &parameters)?;
        Ok(Some((!is_unknown).then_some(false)))
    }

    /// The keys of all rows without NULL, cached with the rows.
    fn make_keys(
        &self,
        cx: &mut Context,
        list: &[Candidate],
        rows: &Arc<RowSet>,
    ) -> Result<(Arc<KeySet>, bool)> {
        let mut keys = KeySet::new(cx.budget(Purpose::Table));
        let mut reader = RowReader::default();
        let mut has_null = false;
        'rows: for number in 0..rows.len() {
            let row = rows.read(number, &mut reader)?;
            let mut key = Vec::new();
            for candidate in list {
                let value = candidate.column.eval(cx, Row::Values(row))?;
                if value.is_null() {
                    has_null = true;
                    continue 'rows;
                }
                candidate.by.key(cx, &value, &mut key)?;
            }
            keys.insert(key)?;
        }
        keys.finish()?;
        let keys = (Arc::new(keys), has_null);
        if let Some(result) = cx.statement.subquery_results().get_mut(&self.id)
            && Arc::ptr_eq(&result.rows, rows)
        {
            result.keys = Some(keys.clone());
        }
        Ok(keys)
    }

    fn quantified(&self, cx: &mut Context, row: Row<'_>, asked: &Quantifier) -> Result<Option<bool>> {
        let &Quantifier { op, ref candidate, all } = asked;
        let result = self.rows(cx, row, None)?;
        let value = candidate.operand.eval(cx, row)?;
        let mut unknown = false;
        let mut reader = RowReader::default();
        for number in 0..result.rows.len() {
            let row = Row::Values(result.rows.read(number, &mut reader)?);
            let other = candidate.column.eval(cx, row)?;
            match candidate.by.compare(cx, &value, &other)? {
                None => unknown = true,
                Some(order) if holds(op, order) != all => return Ok(Some(!all)),
                Some(_) => {}
            }
        }
        Ok(if unknown { None } else { Some(all) })
    }

    fn truth_by_extreme(&self, cx: &mut Context, row: Row<'_>, asked: &Quantifier) -> Result<Option<bool>> {
        let &Quantifier { op, ref candidate, all } = asked;
        let result = self.rows(cx, row, None)?;
        let (extreme, has_null) = match result.extreme {
            Some(extreme) => extreme,
            None => self.find_extreme(cx, &result.rows, &candidate.column, wants_least(op, all))?,
        };
        let holds = match extreme {
            None => Some(all),
            Some(other) => {
                let value = candidate.operand.eval(cx, row)?;
                candidate.by.compare(cx, &value, &other)?.map(|order| holds(op, order))
            }
        };
        Ok(holds.filter(|&holds| holds != all || !has_null))
    }

    /// The first or last text as a number, cached with the rows.
    fn find_extreme(
        &self,
        cx: &mut Context,
        rows: &Arc<RowSet>,
        column: &Expr,
        least: bool,
    ) -> Result<(Option<Datum<'static>>, bool)> {
        let collation = column.ty.collation;
        let mut reader = RowReader::default();
        let (mut found, mut has_null) = (None::<Vec<u8>>, false);
        for number in 0..rows.len() {
            let value = column.eval(cx, Row::Values(rows.read(number, &mut reader)?))?;
            if value.is_null() {
                has_null = true;
                continue;
            }
            let text = value.to_bytes();
            if found.as_ref().is_none_or(|best| collation.compare(&text, best).is_lt() == least) {
                found = Some(text.into_owned());
            }
        }
        let extreme = (found.map(|text| Datum::Double(Datum::Bytes(text.into()).to_f64().value)), has_null);
        if let Some(result) = cx.statement.subquery_results().get_mut(&self.id)
            && Arc::ptr_eq(&result.rows, rows)
        {
            result.extreme = Some(extreme.clone());
        }
        Ok(extreme)
    }
}

impl Search {
    /// True if there is a row for these parameters.
    fn finds(&self, cx: &mut Context, parameters: &[Datum<'static>]) -> Result<bool> {
        let taken = &parameters[..self.own_parameters.unwrap_or(parameters.len())];
        Ok(!cached_rows(cx, self.id, &self.plan, taken.to_vec(), Some(1))?.rows.is_empty())
    }
}

/// The rows of a plan for these parameters, cached or read now; no more than `limit`.
fn cached_rows(
    cx: &mut Context,
    id: u64,
    plan: &Query,
    parameters: Vec<Datum<'static>>,
    limit: Option<u64>,
) -> Result<SubqueryResult> {
    if let Some(result) = cx.statement.subquery_results().get(&id)
        && result.parameters == parameters
    {
        return Ok(result.clone());
    }
    let stacked = parameters.clone();
    let rows = cx.with_parameters(stacked, |cx| query::rows(cx, plan, limit))?;
    let result = SubqueryResult { parameters, rows: Arc::new(rows), ..SubqueryResult::default() };
    cx.statement.subquery_results().insert(id, result.clone());
    Ok(result)
}

/// True if the least value decides whether a comparison holds for one, or for all.
fn wants_least(op: BinaryOp, all: bool) -> bool {
    matches!(op, BinaryOp::Less | BinaryOp::LessOrEqual) == all
}

fn unknown_or_false(
    cx: &mut Context,
    list: &[Candidate],
    operands: &[Datum<'_>],
    rows: &RowSet,
) -> Result<Option<bool>> {
    let mut reader = RowReader::default();
    'rows: for number in 0..rows.len() {
        let row = rows.read(number, &mut reader)?;
        for (value, candidate) in operands.iter().zip(list) {
            let other = candidate.column.eval(cx, Row::Values(row))?;
            if candidate.by.compare(cx, value, &other)?.is_some_and(|order| order.is_ne()) {
                continue 'rows;
            }
        }
        return Ok(None);
    }
    Ok(Some(false))
}
