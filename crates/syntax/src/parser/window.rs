//! Window functions, and what defines a window.

use super::expression::Interval;
use super::{Parsed, Parser};
use crate::ast::{
    Expr, ExprKind, FrameBound, FrameExclusion, FrameUnit, Over, WindowCall, WindowFrame,
    WindowFunction as W, WindowSpec,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl Parser<'_> {
    /// At the name of a function that needs a window.
    pub(super) fn window_call(&mut self, function: W) -> Parsed<ExprKind> {
        self.advance();
        let arguments = self.in_parens(|parser| parser.window_arguments(function))?;
        let mut from_last = false;
        if function == W::NthValue && self.take_word(K::FROM) {
            from_last = self.expect_any(&[K::FIRST, K::LAST])? == K::LAST;
        }
        let takes_nulls = matches!(function, W::Lead | W::Lag | W::FirstValue | W::LastValue | W::NthValue);
        let mut ignore_nulls = false;
        if takes_nulls && let Some(nulls) = self.take_any(&[K::RESPECT, K::IGNORE]) {
            self.expect_word(K::NULLS)?;
            ignore_nulls = nulls == K::IGNORE;
        }
        let over = self.over()?;
        Ok(ExprKind::Window(Box::new(WindowCall { function, arguments, from_last, ignore_nulls, over })))
    }

    fn window_arguments(&mut self, function: W) -> Parsed<Vec<Expr>> {
        Ok(match function {
            W::RowNumber | W::Rank | W::DenseRank | W::CumeDist | W::PercentRank => Vec::new(),
            W::Ntile => vec![self.stable_integer()?],
            W::FirstValue | W::LastValue => vec![self.expr()?],
            W::NthValue => {
                let value = self.expr()?;
                self.expect(Token::Comma)?;
                vec![value, self.primary()?]
            }
            W::Lead | W::Lag => {
                let mut arguments = vec![self.expr()?];
                if self.take(Token::Comma) {
                    arguments.push(self.stable_integer()?);
                    if self.take(Token::Comma) {
                        arguments.push(self.expr()?);
                    }
                }
                arguments
            }
        })
    }

    /// An integer that is the same for all rows: a number, a parameter or a variable.
    fn stable_integer(&mut self) -> Parsed<Expr> {
        let is_one = matches!(self.current.token, Token::Integer | Token::Parameter | Token::UserVariable)
            || self.at_ident();
        if !is_one {
            return Err(self.unexpected());
        }
        let operand = self.primary()?;
        match &operand.kind {
            ExprKind::Column(name) if name.table.is_none() => Ok(operand),
            ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::UserVariable(_) => Ok(operand),
            _ => Err(self.unexpected()),
        }
    }

    /// `OVER name`, `OVER (..)`
    pub(super) fn over(&mut self) -> Parsed<Over> {
        self.expect_word(K::OVER)?;
        match self.current.token {
            Token::LeftParen => Ok(Over::Window(self.in_parens(Self::window_spec)?)),
            _ => Ok(Over::Named(self.ident()?)),
        }
    }

    /// What defines a window, without the parentheses.
    pub(super) fn window_spec(&mut self) -> Parsed<WindowSpec> {
        let base = if self.at_ident() { Some(self.ident()?) } else { None };
        let mut partition_by = Vec::new();
        if self.take_words(&[K::PARTITION, K::BY])? {
            partition_by = self.exprs()?;
        }
        let order_by = self.order_by()?;
        let frame = match self.take_any(&[K::ROWS, K::RANGE, K::GROUPS]) {
            Some(K::ROWS) => Some(self.window_frame(FrameUnit::Rows)?),
            Some(K::RANGE) => Some(self.window_frame(FrameUnit::Range)?),
            Some(_) => Some(self.window_frame(FrameUnit::Groups)?),
            None => None,
        };
        Ok(WindowSpec { base, partition_by, order_by, frame })
    }

    fn window_frame(&mut self, unit: FrameUnit) -> Parsed<WindowFrame> {
        let (start, end);
        if self.take_word(K::BETWEEN) {
            start = self.frame_bound(true)?;
            self.expect_word(K::AND)?;
            end = self.frame_bound(true)?;
        } else {
            (start, end) = (self.frame_bound(false)?, FrameBound::CurrentRow);
        }
        let mut exclude = None;
        if self.take_word(K::EXCLUDE) {
            exclude = Some(match self.expect_any(&[K::CURRENT, K::GROUP, K::TIES, K::NO])? {
                K::CURRENT => {
                    self.expect_word(K::ROW)?;
                    FrameExclusion::CurrentRow
                }
                K::GROUP => FrameExclusion::Group,
                K::TIES => FrameExclusion::Ties,
                _ => {
                    self.expect_word(K::OTHERS)?;
                    FrameExclusion::NoOthers
                }
            });
        }
        Ok(WindowFrame { unit, start, end, exclude })
    }

    /// Where a frame begins or ends; one that ends at the current row can't begin after it.
    fn frame_bound(&mut self, may_follow: bool) -> Parsed<FrameBound> {
        if self.take_words(&[K::CURRENT, K::ROW])? {
            return Ok(FrameBound::CurrentRow);
        }
        let directions: &[K] = if may_follow { &[K::PRECEDING, K::FOLLOWING] } else { &[K::PRECEDING] };
        if self.take_word(K::UNBOUNDED) {
            return Ok(match self.expect_any(directions)? {
                K::PRECEDING => FrameBound::UnboundedPreceding,
                _ => FrameBound::UnboundedFollowing,
            });
        }
        let (expr, unit) = if self.is(K::INTERVAL) {
            match self.interval()? {
                Interval::Amount(amount, unit) => (*amount, Some(unit)),
                Interval::Function(_) => return Err(self.unexpected()),
            }
        } else {
            let is_number = matches!(
                self.current.token,
                Token::Integer | Token::Decimal | Token::Float | Token::Parameter
            );
            if !is_number {
                return Err(self.unexpected());
            }
            (self.primary()?, None)
        };
        Ok(match self.expect_any(directions)? {
            K::PRECEDING => FrameBound::Preceding(expr, unit),
            _ => FrameBound::Following(expr, unit),
        })
    }
}

/// The function of that name, if it is one that needs a window.
pub(super) fn window_function(word: K) -> Option<W> {
    Some(match word {
        K::ROW_NUMBER => W::RowNumber,
        K::RANK => W::Rank,
        K::DENSE_RANK => W::DenseRank,
        K::CUME_DIST => W::CumeDist,
        K::PERCENT_RANK => W::PercentRank,
        K::NTILE => W::Ntile,
        K::LEAD => W::Lead,
        K::LAG => W::Lag,
        K::FIRST_VALUE => W::FirstValue,
        K::LAST_VALUE => W::LastValue,
        K::NTH_VALUE => W::NthValue,
        _ => return None,
    })
}
