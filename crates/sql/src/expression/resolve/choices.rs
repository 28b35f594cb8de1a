//! CASE and what else chooses one of several values: how operands compare, and the one type of all
//! results.

use super::adopt::{Other, adopt};
use super::{Resolver, collate, common_type, json};
use crate::expression::{Case, Expr, Node, Switch, cast, compare};
use datum::bounds::{self, Ticker};
use datum::error::Result;
use datum::types::{Coercibility, Collation, Family, Type};
use datum::value::Datum;
use stdx::memory::{self, Unfinished};
use syntax::ast;

/// A choice's value that was made a text stands for itself where a number is wanted.
pub(super) fn chosen(mut expr: Expr) -> Expr {
    if let Node::Cast(to, _) = &mut expr.node
        && let cast::To::Char(from, charset, None) = *to
    {
        *to = cast::To::Chosen(from, charset);
    }
    expr
}

/// A choice's value that was made another number stands for itself where a text is wanted. Bits are
/// a number there, too.
pub(super) fn chosen_number(mut expr: Expr) -> Expr {
    if let Node::Cast(to, inner) = &mut expr.node
        && inner.ty.family != Family::Bit
    {
        *to = match *to {
            cast::To::Decimal(_, scale) => cast::To::ChosenNumber(Family::Decimal, scale),
            cast::To::Double => cast::To::ChosenNumber(Family::Double, 0),
            cast::To::Float => cast::To::ChosenNumber(Family::Float, 0),
            other => other,
        };
    }
    expr
}

/// A text that is chosen beside a date that each row has another one of is read as a date by the
/// choice itself: what is none is NULL, while other texts are before all dates.
pub(super) fn as_compared_date(text: &mut Expr, date: &Expr) {
    let is_choice = matches!(text.node, Node::Case(_) | Node::Switch(_) | Node::NullIf(..));
    if !is_choice || !text.ty.nullable || text.ty.family != Family::Text || date.is_row_independent() {
        return;
    }
    let to = match date.ty.family {
        Family::Date => cast::To::Date,
        Family::DateTime => cast::To::DateTime(6),
        _ => return,
    };
    let ty = cast::result_type(&to, &text.ty, text.ty.collation);
    let choice = std::mem::replace(text, Expr::constant(Datum::Null, Type::NULL));
    *text = Expr { node: Node::Cast(to, Box::new(choice)), ty };
}

/// A choice between texts and other values as a number: that of the value which is chosen.
pub(super) fn by_branch(operand: &mut Expr) {
    if operand.ty.family != Family::Text {
        return;
    }
    let ty = Type { nullable: operand.ty.nullable, ..Type::DOUBLE };
    match &mut operand.node {
        Node::Case(case) => {
            let mut results: Vec<_> =
                case.branches.iter_mut().map(|(_, then)| then).chain(&mut case.otherwise).collect();
            if !results.iter().any(|e| is_chosen(e)) {
                return;
            }
            results.iter_mut().for_each(|e| as_number(e));
        }
        Node::Switch(switch) => {
            let mut results: Vec<_> =
                switch.branches.iter_mut().map(|(.., then)| then).chain(&mut switch.otherwise).collect();
            if !results.iter().any(|e| is_chosen(e)) {
                return;
            }
            results.iter_mut().for_each(|e| as_number(e));
        }
        Node::Cast(cast::To::Chosen(..), _) => return as_number(operand),
        _ => return,
    }
    operand.ty = ty;
}

fn is_chosen(expr: &Expr) -> bool {
    matches!(expr.node, Node::Cast(cast::To::Chosen(..), _))
}

fn as_number(expr: &mut Expr) {
    if !is_chosen(expr) {
        by_branch(expr);
    }
    if expr.ty.family != Family::Text {
        return;
    }
    let inner = std::mem::replace(expr, Expr::constant(Datum::Null, Type::NULL));
    let ty = Type { nullable: inner.ty.nullable, ..Type::DOUBLE };
    let mut inner = Box::new(inner);
    while let Node::Cast(cast::To::Chosen(..) | cast::To::Fixed(_) | cast::To::ZeroFilled(_), value) =
        inner.node
    {
        inner = value;
    }
    *expr = Expr { node: Node::Cast(cast::To::Double, inner), ty };
}

impl Resolver<'_> {
    pub(super) fn case(
        &mut self,
        operand: Option<&ast::Expr>,
        branches: &[ast::CaseBranch],
        otherwise: Option<&ast::Expr>,
    ) -> Result<Expr> {
        let operand = operand.map(|x| self.expr(x)).transpose()?;
        let mut whens = Unfinished::new(Vec::with_capacity(branches.len()));
        let mut results = Unfinished::new(Vec::with_capacity(branches.len() + 1));
        for branch in branches {
            whens.push(self.expr(&branch.when)?);
            results.push(self.expr(&branch.then)?);
        }
        let has_else = otherwise.is_some();
        if let Some(x) = otherwise {
            results.push(self.expr(x)?);
        }
        let (whens, results) = (whens.finish(), results.finish());
        match operand {
            Some(operand) => self.switch(operand, whens, results, has_else),
            None => self.choice(whens, results, has_else, "case"),
        }
    }

    /// A CASE with an operand. Texts of it and of all values are brought to one collation, so that
    /// it is held once.
    fn switch(
        &mut self,
        operand: Expr,
        whens: Vec<Expr>,
        results: Vec<Expr>,
        has_else: bool,
    ) -> Result<Expr> {
        bounds::check()?;
        let mut compared = vec![operand];
        compared.extend(whens);
        // CASE knows no order of JSON: next to texts it is its text, next to numbers the number
        // that it is.
        let has_number = compared[1..].iter().any(|when| when.ty.family.is_numeric());
        match compared[0].ty.family {
            Family::Json if has_number => compared[1..].iter_mut().for_each(json::as_text),
            family if family.is_numeric() => {}
            _ => compared.iter_mut().for_each(json::as_text),
        }
        let collation = if compared[0].ty.family.is_text() || compared[0].ty.family == Family::Null {
            self.unify(&mut compared, "case")?
        } else {
            compared[0].ty.collation
        };
        let mut whens = compared.split_off(1);
        let operand = compared.swap_remove(0);
        let other = Other::of(&operand);
        let zone = self.cx.settings.zone();
        whens.iter_mut().for_each(|when| adopt(when, other, zone));
        let (mut results, ty) = self.same_type(results, "case")?;
        let otherwise = if has_else { results.pop() } else { None };
        let mut ticker = Ticker::default();
        let with_order = |(when, then): (Expr, Expr)| -> Result<_> {
            ticker.step()?;
            let by = match compare::choose(&operand.ty, &when.ty, collation) {
                compare::By::Json if when.ty.family.is_numeric() || operand.ty.family.is_numeric() => {
                    compare::By::Double
                }
                compare::By::Json => compare::By::Text(Collation::UTF8MB4_BIN),
                compare::By::DateTime
                    if !other.is_column && matches!(when.ty.family, Family::Integer | Family::Decimal) =>
                {
                    compare::By::Double
                }
                by => by,
            };
            Ok((when, by, then))
        };
        let branches = memory::try_map(whens.into_iter().zip(results).collect(), with_order)?;
        let nullable = !has_else || ty.nullable;
        let switch = Switch { operand, branches, otherwise };
        Ok(Expr { node: Node::Switch(Box::new(switch)), ty: Type { nullable, ..ty } })
    }

    /// A CASE of conditions and results; the last result is the ELSE's if there is one.
    pub(super) fn choice(
        &mut self,
        conditions: Vec<Expr>,
        results: Vec<Expr>,
        has_else: bool,
        operation: &str,
    ) -> Result<Expr> {
        let (mut results, ty) = self.same_type(results, operation)?;
        let otherwise = if has_else { results.pop() } else { None };
        let nullable = !has_else || ty.nullable;
        let conditions = conditions.into_iter().map(json::as_condition);
        let branches = conditions.zip(results).collect();
        Ok(Expr { node: Node::Case(Box::new(Case { branches, otherwise })), ty: Type { nullable, ..ty } })
    }

    /// Expressions of one type: each converted to what they have in common.
    pub(super) fn same_type(&mut self, mut list: Vec<Expr>, operation: &str) -> Result<(Vec<Expr>, Type)> {
        if !list.iter().all(|e| matches!(e.ty.family, Family::Json | Family::Null)) {
            list.iter_mut().for_each(json::as_text);
        }
        bounds::check()?;
        let mut ty = common_type(list.iter().map(|e| &e.ty), self.cx.settings.connection_collation());
        if ty.family == Family::Text {
            let joined = collate::join(&mut list, self.typing(), operation)?;
            let has_bits = list.iter().any(|e| e.ty.family == Family::Bit);
            ty.collation = if has_bits { Collation::BINARY } else { joined };
            if ty.collation == Collation::BINARY {
                ty.length = list.iter().map(|e| e.ty.byte_length()).max().unwrap_or(0);
            }
            if list.iter().any(|e| e.ty.family.is_text() && e.ty.coercibility == Coercibility::None) {
                ty.coercibility = Coercibility::None;
            }
        }
        let typing = self.typing();
        let is_coalesce = matches!(operation, "coalesce" | "ifnull");
        let mut ticker = Ticker::default();
        let same = |mut e: Expr| -> Result<_> {
            ticker.step()?;
            if is_coalesce && ty.family == Family::Text {
                self.as_digits(&mut e);
            }
            let is_text = e.ty.family == Family::Text;
            let is_other_number = e.ty.family != ty.family && ty.family.is_numeric();
            let converted = match e.ty.family {
                // An ENUM's number is not its value any more.
                Family::Label if ty.family == Family::Text => collate::convert(e, &ty, typing)?,
                _ => collate::coerce(e, &ty, typing),
            };
            // The first value that is not NULL is a text; what is chosen otherwise stays what it is
            // besides.
            Ok(if is_other_number && (!is_coalesce || ty.family == Family::Decimal) {
                chosen_number(converted)
            } else if is_text || is_coalesce {
                converted
            } else {
                let mut chosen = chosen(converted);
                if ty.family == Family::Text {
                    self.as_digits(&mut chosen);
                }
                chosen
            })
        };
        Ok((memory::try_map(list, same)?, ty))
    }
}
