//! Windows that no function looks at are left out of a view's text, as in MySQL.

use syntax::ast::visit::{self, Visitor};
use syntax::ast::visit_mut::{self, VisitorMut};
use syntax::ast::{Expr, ExprKind, Ident, Over, Query, QueryBody, SelectItem};

/// Drops them.
pub(super) struct UnusedWindows;

impl VisitorMut for UnusedWindows {
    fn query(&mut self, query: &mut Query) {
        visit_mut::walk_query(self, query);
        let mut used = Used::default();
        query.order_by.iter().for_each(|item| used.expr(&item.expr));
        let QueryBody::Select(select) = &mut query.body else { return };
        for item in &select.items {
            if let SelectItem::Expr { expr, .. } = item {
                used.expr(expr);
            }
        }
        // Those that used ones build on are used, too; there are few.
        let mut known = 0;
        while known < used.0.len() {
            let base = select.windows.iter().find(|(name, _)| used.0.get(known).is_some_and(|u| u.is(name)));
            used.0.extend(base.and_then(|(_, window)| window.base.clone()));
            known += 1;
        }
        select.windows.retain(|(name, _)| used.0.iter().any(|used| used.is(name)));
    }
}

/// The names of windows that expressions use.
#[derive(Default)]
struct Used(Vec<Ident>);

impl<'a> Visitor<'a> for Used {
    fn query(&mut self, _: &'a Query) {}

    fn expr(&mut self, expr: &'a Expr) {
        let over = match &expr.kind {
            ExprKind::Window(call) => Some(&call.over),
            ExprKind::Aggregate(aggregate) => aggregate.over.as_deref(),
            _ => None,
        };
        match over {
            Some(Over::Named(name)) => self.0.push(name.clone()),
            Some(Over::Window(window)) => self.0.extend(window.base.clone()),
            None => {}
        }
        visit::walk_expr(self, expr);
    }
}
