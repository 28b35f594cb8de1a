//! A plan that is kept from one execution to the next.
//!
//! Names are resolved and paths chosen by the tables' definitions, the session's settings and the types of the parameters.
//! A kept plan is good as long as these are the same; what it evaluates is evaluated anew by each execution (P1).
//!
//! (K1) A plan that reads what can change without any of these (types of user and system variables, stored functions) is
//!      not reusable.

use std::sync::Arc;

use super::Query;
use crate::ast;
use crate::catalog::TableDef;
use crate::error::Result;
use crate::expression::{Expr, Node, Resolver};
use crate::session::Context;
use crate::types::{Family, Type};

/// A query's plan, and what it was made for.
#[derive(Debug)]
pub struct Plan {
    /// What is run.
    pub query: Query,
    /// The tables that it reads.
    tables: Vec<Arc<TableDef>>,
    /// [`Context::settings_version`].
    settings: u64,
    /// The parameters' types.
    parameters: Vec<Type>,
    is_reusable: bool,
}

impl Plan {
    /// Plans a query. `text` is what the tree's spans point into; columns are named after it.
    pub fn new(cx: &mut Context, query: &ast::Query, text: &[u8]) -> Result<Self> {
        let scope = crate::routine::scope(cx);
        let mut resolver = Resolver::new(cx, scope).with_text(text);
        let query = super::query(&mut resolver, query)?;
        let tables = std::mem::take(&mut resolver.tables);
        let mut is_reusable = true;
        query.each_expr(&mut |e| is_reusable &= !e.contains(&mut changes_by_itself));
        Ok(Self {
            query,
            tables,
            settings: cx.settings_version(),
            parameters: cx.parameters.iter().map(|p| p.ty).collect(),
            is_reusable,
        })
    }

    /// True if it can run again as it is; its tables are open then.
    pub fn is_valid(&self, cx: &mut Context) -> bool {
        let same_types = self.parameters.len() == cx.parameters.len()
            && self.parameters.iter().zip(&cx.parameters).all(|(a, b)| is_same_type(a, &b.ty));
        self.is_reusable
            && self.settings == cx.settings_version()
            && same_types
            && self.tables.iter().all(|table| {
                let now = cx.open_table(Some(&table.database), &table.name);
                now.is_ok_and(|now| Arc::ptr_eq(&now, table))
            })
    }
}

/// (K1)
fn changes_by_itself(e: &Expr) -> bool {
    match &e.node {
        Node::UserVariable(_)
        | Node::Assign(..)
        | Node::SystemVariable(_)
        | Node::Stored(..)
        | Node::Local(_) => true,
        Node::Subquery(subquery) => {
            let mut found = false;
            subquery.plan.each_expr(&mut |e| found |= e.contains(&mut changes_by_itself));
            found
        }
        _ => false,
    }
}

/// Text is of one type, however long it is this time.
fn is_same_type(a: &Type, b: &Type) -> bool {
    match a.family {
        Family::Text => Type { length: b.length, ..*a } == *b,
        _ => a == b,
    }
}
