//! Comparisons of rows: `(a, b) = (1, 2)`, `(a, b) IN ((1, 2), ..)`, in terms of their columns.

use super::Resolver;
use crate::expression::members::RowMembers;
use crate::expression::{Expr, Node, cast};
use datum::error::{self, Result, SqlError};
use datum::types::{Family, Type};
use syntax::ast::{self, BinaryOp};

/// The most nodes that the copies of a statement's row operands may have together.
const COPIED_MAX: usize = 1 << 18;

/// A number beside a text on the left, as its text: lists of rows compare by the left side's type.
fn text_next_to(left: &Expr, right: Expr) -> Expr {
    let is_number =
        matches!(right.ty.family, Family::Integer | Family::Decimal | Family::Double | Family::Float);
    if !left.ty.family.is_text() || !is_number {
        return right;
    }
    let charset = left.ty.collation.charset();
    let to = cast::To::Char(charset, charset, None);
    let ty = Type { nullable: right.ty.nullable, ..cast::result_type(&to, &right.ty, left.ty.collation) };
    Expr { node: Node::Cast(to, Box::new(right)), ty }
}

impl Resolver<'_> {
    /// `left op right`, column by column.
    pub(super) fn row_comparison(&mut self, op: BinaryOp, left: Vec<Expr>, right: Vec<Expr>) -> Result<Expr> {
        if left.len() != right.len() {
            return Err(error::OPERAND_COLUMNS.with(&[&left.len()]));
        }
        let pairs: Vec<(Expr, Expr)> = left.into_iter().zip(right).collect();
        match op {
            BinaryOp::Equal | BinaryOp::NullSafeEqual => self.all_equal(op, pairs),
            BinaryOp::NotEqual => {
                let equal = self.all_equal(BinaryOp::Equal, pairs)?;
                Ok(Expr { node: Node::Not(Box::new(equal)), ty: Type::BOOL })
            }
            _ => self.ordered(op, pairs),
        }
    }

    fn all_equal(&mut self, op: BinaryOp, pairs: Vec<(Expr, Expr)>) -> Result<Expr> {
        let mut list = Vec::with_capacity(pairs.len());
        for (left, right) in pairs {
            list.push(self.comparison(op, left, right)?);
        }
        Ok(Expr { node: Node::And(list), ty: Type::BOOL })
    }

    /// `(a, b) < (x, y)` is `a < x OR a = x AND b < y`; only the last columns may be equal in `<=`.
    fn ordered(&mut self, op: BinaryOp, pairs: Vec<(Expr, Expr)>) -> Result<Expr> {
        let strict = match op {
            BinaryOp::LessOrEqual => BinaryOp::Less,
            BinaryOp::GreaterOrEqual => BinaryOp::Greater,
            other => other,
        };
        let last = pairs.len() - 1;
        let mut alternatives = Vec::with_capacity(pairs.len());
        for (number, (left, right)) in pairs.iter().enumerate() {
            let mut all = Vec::with_capacity(number + 1);
            for (left, right) in &pairs[..number] {
                all.push({
                    let (left, right) = (self.copy(left)?, self.copy(right)?);
                    self.comparison(BinaryOp::Equal, left, right)?
                });
            }
            let own = if number == last { op } else { strict };
            let (left, right) = (self.copy(left)?, self.copy(right)?);
            all.push(self.comparison(own, left, right)?);
            alternatives.push(Expr { node: Node::And(all), ty: Type::BOOL });
        }
        Ok(Expr { node: Node::Or(alternatives), ty: Type::BOOL })
    }

    /// `(a, b) [NOT] IN ((1, 2), ..)`
    pub(super) fn row_in_list(
        &mut self,
        operand: &ast::Expr,
        list: &[ast::Expr],
        negated: bool,
    ) -> Result<Expr> {
        let operands = self.row_operands(operand)?;
        let mut alternatives = Vec::with_capacity(list.len());
        for candidate in list {
            let mut candidate = self.row_operands(candidate)?;
            let operands: Vec<Expr> = operands.iter().map(|e| self.copy(e)).collect::<Result<_>>()?;
            // A list of one row is a comparison.
            if list.len() > 1 {
                candidate = operands.iter().zip(candidate).map(|(left, e)| text_next_to(left, e)).collect();
            }
            alternatives.push(self.row_comparison(BinaryOp::Equal, operands, candidate)?);
        }
        let node = match RowMembers::of(&alternatives) {
            Some(members) => Node::RowIn(members),
            None => Node::Or(alternatives),
        };
        let found = Expr { node, ty: Type::BOOL };
        Ok(if negated { Expr { node: Node::Not(Box::new(found)), ty: Type::BOOL } } else { found })
    }

    /// A copy of an operand. Rows within rows, as in `(1, (1, (1, x) IN (..)) IN (..)) IN (..)`,
    /// double their copies with each level: error 1235 when these have too many nodes.
    fn copy(&mut self, operand: &Expr) -> Result<Expr> {
        if !operand.children().is_empty() {
            let copied = &mut self.copied;
            operand.contains(&mut |_| {
                *copied += 1;
                *copied > COPIED_MAX
            });
        }
        if self.copied > COPIED_MAX {
            return Err(SqlError::unsupported("row comparisons whose operands are copied so often"));
        }
        Ok(operand.clone())
    }
}
