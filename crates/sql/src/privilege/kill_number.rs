//! The number in KILL, which needs no privileges: it may neither read tables nor call stored
//! functions.

use crate::expression::is_stored;
use datum::error::{Result, SqlError};
use syntax::ast::visit::{self, Visitor};
use syntax::ast::{Expr, ExprKind, ObjectName, TableReference};

/// Error 1235 for a session's number that reads a table or calls a stored function, whether that is
/// there or not: what it may read and call need not be asked then.
pub(crate) fn check_kill_number(id: &Expr) -> Result<()> {
    let mut parts = Reads(false);
    parts.expr(id);
    if parts.0 {
        let what = "Usage of subqueries or stored function calls as part of this statement";
        return Err(SqlError::unsupported(what));
    }
    Ok(())
}

/// True once a table or a stored function was seen.
struct Reads(bool);

impl<'a> Visitor<'a> for Reads {
    fn table(&mut self, _: &'a TableReference) {
        self.0 = true;
    }

    fn named_table(&mut self, _: &'a ObjectName) {
        self.0 = true;
    }

    fn expr(&mut self, expr: &'a Expr) {
        if let ExprKind::Function(call) = &expr.kind {
            self.0 |= is_stored(call);
        }
        visit::walk_expr(self, expr);
    }
}
