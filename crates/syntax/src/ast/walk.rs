//! The expressions inside of an expression.

use super::{Expr, ExprKind as K};

impl Expr {
    /// Its operands, from left to right; none of a subquery's, aggregate's or window's.
    pub(crate) fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            K::AssignUserVariable { value: x, .. }
            | K::Unary { operand: x, .. }
            | K::Is { operand: x, .. }
            | K::InQuery { operand: x, .. }
            | K::Quantified { operand: x, .. }
            | K::Cast { operand: x, .. }
            | K::ConvertUsing { operand: x, .. }
            | K::Collate { operand: x, .. }
            | K::Extract { operand: x, .. }
            | K::GetFormat { region: x, .. }
            | K::WeightString { operand: x, .. }
            | K::Match { against: x, .. } => vec![x],
            K::Binary { left: a, right: b, .. }
            | K::Regexp { operand: a, pattern: b, .. }
            | K::DateArithmetic { date: a, amount: b, .. }
            | K::TimestampDiff { from: a, to: b, .. } => vec![a, b],
            K::Between { operand, low, high, .. } => vec![operand, low, high],
            K::And(list) | K::Or(list) | K::Row(list) | K::Char { codes: list, .. } => {
                list.iter_mut().collect()
            }
            K::InList { operand, list, .. } => std::iter::once(&mut **operand).chain(list).collect(),
            K::Like { operand, pattern, escape, .. } => {
                [operand, pattern].into_iter().chain(escape).map(|x| &mut **x).collect()
            }
            K::Case { operand, branches, otherwise } => {
                let branches = branches.iter_mut().flat_map(|b| [&mut b.when, &mut b.then]);
                let first = operand.iter_mut().map(|x| &mut **x);
                first.chain(branches).chain(otherwise.iter_mut().map(|x| &mut **x)).collect()
            }
            K::Function(call) => call.arguments.iter_mut().collect(),
            K::Trim { remove, operand, .. } => {
                remove.iter_mut().map(|x| &mut **x).chain([&mut **operand]).collect()
            }
            K::JsonValue(value) => vec![&mut value.document, &mut value.path],
            K::Literal(_)
            | K::Column(_)
            | K::UserVariable(_)
            | K::SystemVariable(_)
            | K::Parameter(_)
            | K::Exists(_)
            | K::Subquery(_)
            | K::Aggregate(_)
            | K::Window(_)
            | K::Default(_)
            | K::Values(_) => Vec::new(),
        }
    }

    /// Calls `f` with it and all that is inside of it, until one call fails.
    pub fn visit_mut<E>(&mut self, f: &mut impl FnMut(&mut Expr) -> Result<(), E>) -> Result<(), E> {
        f(self)?;
        self.children_mut().into_iter().try_for_each(|child| child.visit_mut(f))
    }
}
