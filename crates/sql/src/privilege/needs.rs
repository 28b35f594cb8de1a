//! What a statement's tree says it needs: tables with privileges, and stored functions.

use super::set::Privileges as P;
use crate::ast::visit::{self, Visitor};
use crate::ast::{
    Assignment, ColumnName, Delete, Expr, ExprKind, Ident, ObjectName, Query, TableFactor, TableReference,
    Update, With,
};

/// A table and what is done with it.
#[derive(Debug)]
pub(super) struct TableNeed<'a> {
    pub(super) name: &'a ObjectName,
    pub(super) alias: Option<&'a Ident>,
    pub(super) privileges: P,
}

/// What a statement that reads or changes rows needs.
#[derive(Debug, Default)]
pub(super) struct Needs<'a> {
    pub(super) tables: Vec<TableNeed<'a>>,
    /// Calls of functions that may be stored ones.
    pub(super) functions: Vec<(Option<&'a Ident>, &'a Ident)>,
    /// Rows are written to a file of the server's machine.
    pub(super) file: bool,
    /// Names of common tables, which hide tables; the innermost last.
    common: Vec<&'a str>,
    /// Tables of an UPDATE or DELETE are what it says, not read for that alone.
    changed: Vec<(&'a Ident, &'a ObjectName)>,
    in_changed_list: bool,
    reads_columns: bool,
}

impl<'a> Needs<'a> {
    pub(super) fn need(&mut self, name: &'a ObjectName, privileges: P) {
        self.need_as(name, None, privileges);
    }

    fn need_as(&mut self, name: &'a ObjectName, alias: Option<&'a Ident>, privileges: P) {
        let hidden = name.database.is_none() && self.common.iter().any(|c| name.name.is(c));
        if !hidden {
            self.tables.push(TableNeed { name, alias, privileges });
        }
    }

    /// UPDATE of the tables that it assigns to, SELECT of those that it reads. `owns` tells if a table has a column.
    pub(super) fn update(&mut self, update: &'a Update, owns: impl Fn(&ObjectName, &str) -> bool) {
        self.hide(update.with.as_deref());
        self.in_changed_list = true;
        visit::walk_update(self, update);
        self.in_changed_list = false;
        let one = self.changed.len() == 1;
        let changed = std::mem::take(&mut self.changed);
        for (alias, name) in changed {
            let assigns = |a: &Assignment| match &a.column.table {
                Some(table) => table.is(alias),
                None => one || owns(name, &a.column.column),
            };
            let written = update.assignments.iter().any(assigns);
            let read = !written || self.reads_columns || !one;
            let update = if written { P::UPDATE } else { P::NONE };
            self.need_as(name, Some(alias), update | if read { P::SELECT } else { P::NONE });
        }
    }

    /// DELETE of its targets, SELECT of what it reads.
    pub(super) fn delete(&mut self, delete: &'a Delete) {
        self.hide(delete.with.as_deref());
        self.in_changed_list = true;
        visit::walk_delete(self, delete);
        self.in_changed_list = false;
        let changed = std::mem::take(&mut self.changed);
        let single = delete.targets.is_empty();
        for (alias, name) in changed {
            let target =
                |t: &ObjectName| t.name.is(alias) || (t.name == name.name && t.database == name.database);
            let deleted = single || delete.targets.iter().any(target);
            let read = !deleted || self.reads_columns || !single;
            let delete = if deleted { P::DELETE } else { P::NONE };
            self.need_as(name, Some(alias), delete | if read { P::SELECT } else { P::NONE });
        }
    }

    /// The names of WITH's tables are those of no others from now on. A recursive one reads itself.
    fn hide(&mut self, with: Option<&'a With>) {
        self.common.extend(with.iter().flat_map(|with| &with.tables).map(|t| t.name.as_str()));
    }

    fn factor(&mut self, factor: &'a TableFactor) {
        if self.in_changed_list {
            let alias = factor.alias.as_ref().unwrap_or(&factor.name.name);
            self.changed.push((alias, &factor.name));
        } else {
            self.need_as(&factor.name, factor.alias.as_ref(), P::SELECT);
        }
    }
}

impl<'a> Visitor<'a> for Needs<'a> {
    fn query(&mut self, query: &'a Query) {
        let outer = self.common.len();
        let list = std::mem::replace(&mut self.in_changed_list, false);
        self.hide(query.with.as_deref());
        self.file |= matches!(
            query.into.as_deref(),
            Some(crate::ast::IntoTarget::OutFile { .. } | crate::ast::IntoTarget::DumpFile(_))
        );
        visit::walk_query(self, query);
        self.common.truncate(outer);
        self.in_changed_list = list;
    }

    fn table(&mut self, table: &'a TableReference) {
        match table {
            TableReference::Table(factor) => self.factor(factor),
            other => visit::walk_table(self, other),
        }
    }

    fn named_table(&mut self, name: &'a ObjectName) {
        self.need(name, P::SELECT);
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Column(ColumnName { .. }) => self.reads_columns = true,
            ExprKind::Function(call) => self.functions.push((call.database.as_ref(), &call.name)),
            _ => {}
        }
        visit::walk_expr(self, expr);
    }
}
