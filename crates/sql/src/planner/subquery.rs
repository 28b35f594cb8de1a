//! Subqueries as operands: bound in a scope within the expression's, typed by the columns that they
//! give.

use std::sync::Arc;

use super::merge::within;
use super::{lookup, semi_join};
use crate::expression::subquery::{Candidate, Quantifier, Subquery, Test, new_id};
use crate::expression::{Expr, Node, Resolver};
use datum::error::{self, Result};
use datum::types::{Made, Type};
use syntax::ast::{self, BinaryOp};

/// A subquery whose test is not known yet.
struct Planned {
    plan: Arc<super::Query>,
    parameters: Vec<Expr>,
    flat: Option<Arc<semi_join::Flat>>,
}

impl Planned {
    fn new(resolver: &mut Resolver<'_>, query: &ast::Query) -> Result<Self> {
        if query.into.is_some() {
            return Err(error::WRONG_USAGE.with(&[&"subquery", &"INTO"]));
        }
        let (planned, parameters) = within(resolver, |resolver| plan(resolver, query));
        let (plan, flat) = planned?;
        Ok(Self { plan: Arc::new(plan), parameters, flat })
    }

    fn width(&self) -> usize {
        self.plan.columns.len()
    }

    /// A column as it is read from one of the rows.
    fn column(&self, column: usize) -> Expr {
        Expr { node: Node::Column { source: 0, column }, ty: self.plan.columns[column].ty }
    }

    fn with(&self, test: Test, ty: Type) -> Expr {
        let node = Node::Subquery(Box::new(Subquery {
            id: new_id(),
            is_volatile: self.plan.is_volatile(),
            plan: self.plan.clone(),
            parameters: self.parameters.clone(),
            flat: self.flat.clone(),
            lookup: None,
            unknown_is_false: false,
            test,
        }));
        Expr { node, ty }
    }
}

/// The plan, and the block that may be joined instead.
fn plan(
    resolver: &mut Resolver<'_>,
    query: &ast::Query,
) -> Result<(super::Query, Option<Arc<semi_join::Flat>>)> {
    match &query.body {
        ast::QueryBody::Select(select) if query.with.is_none() => {
            let bound = super::block::bind(resolver, select, query)?;
            let flat = semi_join::flat(&bound);
            Ok((super::block::plan(resolver, bound)?, flat))
        }
        _ => Ok((super::query(resolver, query)?, None)),
    }
}

/// A condition that has to hold, its ANY and ALL made to compare with the first or last row where
/// MySQL's do, and its IN not to ask whether it is false or unknown.
pub(super) fn by_extremes(mut condition: Expr) -> Expr {
    fn visit(e: &mut Expr, is_negated: bool) {
        match &mut e.node {
            Node::And(list) | Node::Or(list) => list.iter_mut().for_each(|e| visit(e, is_negated)),
            Node::Not(inner) => visit(inner, true),
            Node::Subquery(subquery) => {
                subquery.compare_with_extreme();
                subquery.unknown_is_false |= !is_negated;
            }
            _ => {}
        }
    }
    visit(&mut condition, false);
    condition
}

/// Error 1241.
fn operand_columns(count: usize) -> error::SqlError {
    error::OPERAND_COLUMNS.with(&[&count])
}

impl Resolver<'_> {
    /// `(SELECT ..)` as a value.
    pub(crate) fn scalar_subquery(&mut self, query: &ast::Query) -> Result<Expr> {
        let planned = Planned::new(self, query)?;
        if planned.width() != 1 {
            return Err(operand_columns(1));
        }
        let of = planned.plan.columns[0].ty;
        let ty = match planned.plan.reads_tables() {
            true => Type { nullable: true, made: Made::OfSubquery, ..of.computed() },
            // Without a table there is one row, unless something keeps it away.
            false => Type { nullable: of.nullable || !planned.plan.gives_one_row(), ..of },
        };
        Ok(planned.with(Test::Scalar, ty))
    }

    /// `(SELECT a, b ..)` as the operand of a row comparison: its columns.
    pub(crate) fn row_subquery(&mut self, query: &ast::Query) -> Result<Vec<Expr>> {
        let planned = Planned::new(self, query)?;
        let shared = planned.with(Test::Column(0), Type::NULL);
        let column = |number: usize| {
            let ty = Type { nullable: true, ..planned.plan.columns[number].ty };
            let mut node = shared.node.clone();
            if let Node::Subquery(subquery) = &mut node {
                subquery.test = Test::Column(number);
            }
            Expr { node, ty }
        };
        Ok((0..planned.width()).map(column).collect())
    }

    /// `EXISTS (SELECT ..)`
    pub(crate) fn exists(&mut self, query: &ast::Query) -> Result<Expr> {
        let planned = Planned::new(self, query)?;
        // It never is NULL; MySQL says otherwise where a column that is selected may be.
        let nullable = planned.plan.columns.iter().any(|c| c.ty.nullable);
        Ok(planned.with(Test::Exists, Type { nullable, ..Type::BOOL }))
    }

    /// `operand [NOT] IN (SELECT ..)`
    pub(crate) fn in_query(
        &mut self,
        operand: &ast::Expr,
        query: &ast::Query,
        negated: bool,
    ) -> Result<Expr> {
        let operands = self.row_operands(operand)?;
        let planned = Planned::new(self, query)?;
        if planned.width() != operands.len() {
            return Err(operand_columns(operands.len()));
        }
        let mut candidates = Vec::with_capacity(operands.len());
        for (number, operand) in operands.into_iter().enumerate() {
            candidates.push(self.candidate(operand, planned.column(number), "in")?);
        }
        // One value next to one that is selected without tables is a plain comparison.
        let may_be_null = |c: &Candidate| c.operand.ty.nullable || c.column.ty.nullable;
        let nullable =
            planned.plan.reads_tables() || candidates.len() > 1 || candidates.iter().any(may_be_null);
        let ty = Type { nullable, ..Type::BOOL };
        let lookup = match &planned.flat {
            Some(flat) => lookup::plan(self, &planned.plan, flat, &candidates, planned.parameters.len())?,
            None => None,
        };
        let mut found = planned.with(Test::In(candidates), ty);
        if let Node::Subquery(subquery) = &mut found.node {
            subquery.lookup = lookup.map(Arc::new);
        }
        Ok(if negated { Expr { node: Node::Not(Box::new(found)), ty } } else { found })
    }

    /// `operand op ANY (SELECT ..)`, `ALL`
    pub(crate) fn quantified(
        &mut self,
        op: BinaryOp,
        operand: &ast::Expr,
        all: bool,
        query: &ast::Query,
    ) -> Result<Expr> {
        match (op, all) {
            (BinaryOp::Equal, false) => return self.in_query(operand, query, false),
            (BinaryOp::NotEqual, true) => return self.in_query(operand, query, true),
            _ => {}
        }
        let mut operands = self.row_operands(operand)?;
        let planned = Planned::new(self, query)?;
        if operands.len() != 1 || planned.width() != 1 {
            return Err(operand_columns(1));
        }
        let candidate = self.candidate(operands.swap_remove(0), planned.column(0), "=")?;
        let nullable = candidate.operand.ty.nullable || candidate.column.ty.nullable;
        let test = Test::Quantified(Box::new(Quantifier { op, candidate, all }));
        Ok(planned.with(test, Type { nullable, ..Type::BOOL }))
    }

    fn candidate(&mut self, operand: Expr, column: Expr, operation: &str) -> Result<Candidate> {
        let mut pair = [operand, column];
        let by = self.choose(&mut pair, operation)?;
        let [operand, column] = pair;
        Ok(Candidate { operand, column, by })
    }

    /// The operands of a row constructor or row subquery; of anything else it is the only one.
    pub(crate) fn row_operands(&mut self, ast: &ast::Expr) -> Result<Vec<Expr>> {
        match &ast.kind {
            ast::ExprKind::Row(list) => self.list(list),
            ast::ExprKind::Subquery(query) => self.row_subquery(query),
            _ => Ok(vec![self.expr(ast)?]),
        }
    }
}
