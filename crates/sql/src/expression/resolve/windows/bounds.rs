//! Frames of windows: which bounds there may be, and the values that bounds of RANGE are.

use super::super::Resolver;
use crate::expression::window::{Bound, Frame, Offset, RangeBound};
use crate::expression::{Expr, Node, OrderTerm, arithmetic, compare, interval};
use datum::error::{self, Result, SqlError};
use datum::types::Family;
use syntax::ast;
use syntax::ast::{BinaryOp, ExprKind, FrameBound, FrameUnit, IntervalUnit, Literal, WindowFrame};

impl Resolver<'_> {
    /// What ROWS or RANGE says.
    ///
    /// # Errors
    /// 1235 for GROUPS and EXCLUDE, 3584 to 3590 and 3596 for bounds that there can't be.
    pub(super) fn window_frame(
        &mut self,
        ast: &WindowFrame,
        order: &[OrderTerm],
        window: &str,
    ) -> Result<Frame> {
        if ast.unit == FrameUnit::Groups {
            return Err(SqlError::unsupported("GROUPS"));
        }
        if ast.exclude.is_some() {
            return Err(SqlError::unsupported("EXCLUDE"));
        }
        if ast.start == FrameBound::UnboundedFollowing {
            return Err(error::WINDOW_FRAME_START_ILLEGAL.with(&[&window]));
        }
        if ast.end == FrameBound::UnboundedPreceding {
            return Err(error::WINDOW_FRAME_END_ILLEGAL.with(&[&window]));
        }
        let is_reversed = matches!(
            (&ast.start, &ast.end),
            (FrameBound::Following(..), FrameBound::CurrentRow | FrameBound::Preceding(..))
                | (FrameBound::CurrentRow, FrameBound::Preceding(..))
        );
        if is_reversed {
            return Err(error::WINDOW_FRAME_ILLEGAL.with(&[&window]));
        }
        let by_rows = ast.unit == FrameUnit::Rows;
        let mut bound = |bound: &FrameBound| {
            let (amount, unit, following) = match bound {
                FrameBound::UnboundedPreceding => return Ok(Bound::First),
                FrameBound::CurrentRow => return Ok(Bound::Current),
                FrameBound::UnboundedFollowing => return Ok(Bound::Last),
                FrameBound::Preceding(amount, unit) => (amount, *unit, false),
                FrameBound::Following(amount, unit) => (amount, *unit, true),
            };
            let offset = match by_rows {
                true => self.rows_offset(amount, unit, following, window),
                false => self.range_offset(amount, unit, following, order, window),
            };
            offset.map(|offset| Bound::Offset(Box::new(offset)))
        };
        let (start, end) = (bound(&ast.start)?, bound(&ast.end)?);
        Ok(Frame { by_rows, start, end, is_written: true })
    }

    /// `ROWS n PRECEDING`
    fn rows_offset(
        &mut self,
        amount: &ast::Expr,
        unit: Option<IntervalUnit>,
        following: bool,
        window: &str,
    ) -> Result<Offset> {
        if unit.is_some() {
            return Err(error::WINDOW_ROWS_INTERVAL_USE.with(&[&window]));
        }
        if !matches!(amount.kind, ExprKind::Literal(Literal::Integer(_)) | ExprKind::Parameter(_)) {
            return Err(error::WINDOW_FRAME_ILLEGAL.with(&[&window]));
        }
        Ok(Offset { amount: self.expr(amount)?, unit, following, range: None })
    }

    /// `RANGE n PRECEDING`: the rows up to the order's value less `n`, or more.
    fn range_offset(
        &mut self,
        amount: &ast::Expr,
        unit: Option<IntervalUnit>,
        following: bool,
        order: &[OrderTerm],
        window: &str,
    ) -> Result<Offset> {
        let family = order.first().map(|term| term.expr.ty.family);
        let is_number = matches!(
            family,
            Some(
                Family::Integer
                    | Family::Decimal
                    | Family::Float
                    | Family::Double
                    | Family::Year
                    | Family::Bit
            )
        );
        let is_temporal = family.is_some_and(Family::is_temporal) && family != Some(Family::Year);
        let ([term], true) = (order, is_number || is_temporal) else {
            return Err(error::WINDOW_RANGE_FRAME_ORDER_TYPE.with(&[&window]));
        };
        match (is_temporal, unit) {
            (true, None) => return Err(error::WINDOW_RANGE_FRAME_TEMPORAL_TYPE.with(&[&window])),
            (false, Some(_)) => return Err(error::WINDOW_RANGE_FRAME_NUMERIC_TYPE.with(&[&window])),
            _ => {}
        }
        let amount = self.expr(amount)?;
        if !amount.is_row_independent() {
            return Err(error::WINDOW_RANGE_BOUND_NOT_CONSTANT.with(&[&window]));
        }
        let range = self.range_bound(term, &amount, unit, following);
        let offset = Offset { amount, unit, following, range: Some(range) };
        if offset.amount.as_constant().is_some() {
            offset.eval(self.cx, window)?;
        }
        Ok(offset)
    }

    /// The value of the order that ends the frame: in a descending order what precedes is more.
    fn range_bound(
        &mut self,
        term: &OrderTerm,
        amount: &Expr,
        unit: Option<IntervalUnit>,
        following: bool,
    ) -> RangeBound {
        let subtracts = following == term.descending;
        let of = &term.expr;
        let value = match unit {
            Some(unit) => {
                let connection = self.cx.settings.connection_collation();
                let ty = interval::result_type(&of.ty, amount, unit, connection);
                let pair = Box::new([of.clone(), amount.clone()]);
                Expr { node: Node::DateArithmetic(pair, unit, subtracts), ty }
            }
            None => {
                let op = if subtracts { BinaryOp::Subtract } else { BinaryOp::Add };
                let increment = self.cx.settings.div_precision_increment();
                let (operation, ty) = arithmetic::choose(op, of, amount, increment);
                Expr { node: Node::Arithmetic(operation, Box::new([of.clone(), amount.clone()])), ty }
            }
        };
        let by = compare::choose(&of.ty, &value.ty, of.ty.collation);
        RangeBound { value, by }
    }
}
