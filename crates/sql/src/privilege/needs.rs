//! What a statement's tree says it needs: tables with privileges, and stored functions.
//!
//! 1. tables   Each table that a statement names is looked up the way the planner does: a name that
//!    WITH gives hides a table from what follows in its clause and from what the clause belongs to,
//!    not from its own query.
//! 2. columns  A change needs SELECT too where it reads a column of the table that it changes. A
//!    column of a subquery's own table is none of these; one that nobody is known to own counts as
//!    one.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use super::set::Privileges as P;
use syntax::ast::visit::{self, Visitor};
use syntax::ast::{
    ColumnName, Delete, Expr, ExprKind, Ident, Insert, InsertSource, IntoTarget, LoadData, LockStrength,
    ObjectName, Query, QueryBody, Select, SelectItem, TableFactor, TableReference, Update, With,
};

/// Tells if a table has a column.
pub(super) type Owns<'o> = &'o dyn Fn(&ObjectName, &str) -> bool;

/// A table and what is done with it.
#[derive(Debug)]
pub(super) struct TableNeed<'a> {
    pub(super) name: &'a ObjectName,
    pub(super) alias: Option<&'a Ident>,
    /// All of these.
    pub(super) privileges: P,
    /// And one of these, unless it is empty.
    pub(super) any: P,
    /// And SELECT, for this column is read.
    pub(super) column: Option<&'a Ident>,
}

/// What a statement that reads or changes rows needs.
pub(super) struct Needs<'a, 'o> {
    pub(super) tables: Vec<TableNeed<'a>>,
    /// Calls of functions that may be stored ones.
    pub(super) functions: Vec<(Option<&'a Ident>, &'a Ident)>,
    /// Rows are written to a file of the server's machine.
    pub(super) file: bool,
    owns: Owns<'o>,
    /// Common tables, which hide tables.
    common: CommonNames,
    /// What the queries around are made of; the innermost last.
    scopes: Vec<Vec<Source<'a>>>,
    /// The tables of a change, of which only the statement says what is done with them.
    changed: Vec<Changed<'a>>,
    /// What else stands in the list of tables of a change.
    unchanged: Vec<Source<'a>>,
    in_changed_list: bool,
    /// NEW and OLD are rows of the trigger that the statement is in.
    pub(super) has_trigger_rows: bool,
}

/// Something in FROM: what its columns are found by.
struct Source<'a> {
    alias: &'a Ident,
    /// A table, or a query whose columns are these, or nobody knows which.
    of: SourceOf<'a>,
}

enum SourceOf<'a> {
    Table(&'a ObjectName),
    Columns(Vec<&'a Ident>),
    Unknown,
}

struct Changed<'a> {
    alias: &'a Ident,
    name: &'a ObjectName,
    /// A column of it that is read.
    reads: Option<&'a Ident>,
}

impl<'a, 'o> Needs<'a, 'o> {
    pub(super) fn new(owns: Owns<'o>) -> Self {
        Needs {
            tables: Vec::new(),
            functions: Vec::new(),
            file: false,
            owns,
            common: CommonNames::default(),
            scopes: Vec::new(),
            changed: Vec::new(),
            unchanged: Vec::new(),
            in_changed_list: false,
            has_trigger_rows: false,
        }
    }

    fn need_as(&mut self, name: &'a ObjectName, alias: Option<&'a Ident>, privileges: P) {
        if !self.is_common(name) {
            self.tables.push(TableNeed { name, alias, privileges, any: P::NONE, column: None });
        }
    }

    fn is_common(&self, name: &ObjectName) -> bool {
        name.database.is_none() && self.common.contains(&name.name)
    }

    /// INSERT and what else is said of the table; SELECT where columns of it are read.
    pub(super) fn insert(&mut self, insert: &'a Insert) {
        let more = match (insert.replace, insert.on_duplicate.is_empty()) {
            (true, _) => P::DELETE,
            (_, false) => P::UPDATE,
            _ => P::NONE,
        };
        self.changed.push(Changed { alias: &insert.table.name, name: &insert.table, reads: None });
        match &insert.source {
            InsertSource::Values(rows) => rows.iter().flatten().for_each(|e| self.expr(e)),
            InsertSource::Query(query) => {
                // A query's columns are its own.
                let changed = std::mem::take(&mut self.changed);
                self.query(query);
                self.changed = changed;
                self.unchanged = self.sources_of(query);
            }
        }
        insert.on_duplicate.iter().for_each(|a| self.expr(&a.value));
        self.finish(|_, _| (P::INSERT | more, P::NONE));
    }

    /// The same for LOAD DATA.
    pub(super) fn load(&mut self, load: &'a LoadData) {
        let replaces = load.on_duplicate == syntax::ast::LoadDuplicates::Replace;
        let privileges = P::INSERT | if replaces { P::DELETE } else { P::NONE };
        self.changed.push(Changed { alias: &load.table.name, name: &load.table, reads: None });
        visit::walk_load(self, load);
        self.finish(|_, _| (privileges, P::NONE));
    }

    /// UPDATE of the tables that it assigns to, SELECT of those that it reads.
    pub(super) fn update(&mut self, update: &'a Update) {
        self.in_changed_list = true;
        visit::walk_update(self, update);
        self.in_changed_list = false;
        let one = self.changed.len() + self.unchanged.len() == 1;
        self.finish(|needs, changed| {
            let assigned = update.assignments.iter().any(|a| match &a.column.table {
                Some(_) => is_named(&a.column, changed.alias, Some(changed.name)),
                None => one || (needs.owns)(changed.name, &a.column.column),
            });
            if assigned { (P::UPDATE, P::NONE) } else { (P::NONE, P::SELECT | P::UPDATE) }
        });
    }

    /// DELETE of its targets, SELECT of what it reads; in the form for several tables, of all.
    pub(super) fn delete(&mut self, delete: &'a Delete) {
        self.in_changed_list = true;
        visit::walk_delete(self, delete);
        self.in_changed_list = false;
        let single = delete.targets.is_empty();
        self.finish(|_, changed| {
            let target = |t: &ObjectName| {
                let elsewhere = match (&t.database, &changed.name.database) {
                    (Some(said), Some(of)) => said != of,
                    _ => false,
                };
                !elsewhere && (t.name.is(changed.alias) || t.name == changed.name.name)
            };
            match (single, delete.targets.iter().any(target)) {
                (true, _) => (P::DELETE, P::NONE),
                (false, true) => (P::DELETE | P::SELECT, P::NONE),
                (false, false) => (P::SELECT, P::NONE),
            }
        });
    }

    /// Asks for what `of` says of each table that is changed, and for the columns that are read of
    /// it.
    fn finish(&mut self, of: impl Fn(&Self, &Changed<'a>) -> (P, P)) {
        for changed in std::mem::take(&mut self.changed) {
            let (privileges, any) = of(self, &changed);
            let (name, alias) = (changed.name, Some(changed.alias));
            self.tables.push(TableNeed { name, alias, privileges, any, column: changed.reads });
        }
    }

    fn factor(&mut self, factor: &'a TableFactor) {
        let alias = factor.alias.as_ref().unwrap_or(&factor.name.name);
        if !self.in_changed_list {
            self.need_as(&factor.name, factor.alias.as_ref(), P::SELECT);
        } else if self.is_common(&factor.name) {
            self.unchanged.push(Source { alias, of: SourceOf::Unknown });
        } else {
            self.changed.push(Changed { alias, name: &factor.name, reads: None });
        }
    }

    /// What the FROM of a query has.
    fn sources_of(&self, query: &'a Query) -> Vec<Source<'a>> {
        match &query.body {
            QueryBody::Select(select) => self.sources(&select.from),
            QueryBody::Nested(query) => self.sources_of(query),
            QueryBody::Table(name) if !self.is_common(name) => {
                vec![Source { alias: &name.name, of: SourceOf::Table(name) }]
            }
            _ => Vec::new(),
        }
    }

    fn sources(&self, from: &'a [TableReference]) -> Vec<Source<'a>> {
        let mut out = Vec::new();
        from.iter().for_each(|reference| self.add_source(reference, &mut out));
        out
    }

    fn add_source(&self, reference: &'a TableReference, out: &mut Vec<Source<'a>>) {
        match reference {
            TableReference::Table(factor) => {
                let alias = factor.alias.as_ref().unwrap_or(&factor.name.name);
                let of = match self.is_common(&factor.name) {
                    true => SourceOf::Unknown,
                    false => SourceOf::Table(&factor.name),
                };
                out.push(Source { alias, of });
            }
            TableReference::Derived(derived) => {
                let of = match output_names(&derived.query) {
                    _ if !derived.columns.is_empty() => SourceOf::Columns(derived.columns.iter().collect()),
                    Some(names) => SourceOf::Columns(names),
                    None => SourceOf::Unknown,
                };
                out.push(Source { alias: &derived.alias, of });
            }
            TableReference::JsonTable(json) => {
                out.push(Source { alias: &json.alias, of: SourceOf::Unknown });
            }
            TableReference::Join(join) => {
                self.add_source(&join.left, out);
                self.add_source(&join.right, out);
            }
            TableReference::Group(list) => list.iter().for_each(|one| self.add_source(one, out)),
        }
    }

    fn is_of(&self, source: &Source<'_>, column: &ColumnName) -> bool {
        match (&column.table, &source.of) {
            (Some(_), SourceOf::Table(name)) => is_named(column, source.alias, Some(name)),
            (Some(_), _) => is_named(column, source.alias, None),
            (None, SourceOf::Table(name)) => (self.owns)(name, &column.column),
            (None, SourceOf::Columns(names)) => names.iter().any(|name| name.is(&column.column)),
            (None, SourceOf::Unknown) => false,
        }
    }

    /// A column that is read: of a query's own tables, or of a table that is changed.
    fn column(&mut self, column: &'a ColumnName) {
        let is_row = |table: &Ident| table.is("NEW") || table.is("OLD");
        if self.has_trigger_rows && column.table.as_ref().is_some_and(is_row) {
            return;
        }
        if self.changed.is_empty()
            || self.scopes.iter().rev().flatten().any(|source| self.is_of(source, column))
        {
            return;
        }
        let owns = self.owns;
        let is_of = |changed: &Changed<'_>| match &column.table {
            Some(_) => is_named(column, changed.alias, Some(changed.name)),
            None => owns(changed.name, &column.column),
        };
        let read: Vec<usize> = (0..self.changed.len()).filter(|at| is_of(&self.changed[*at])).collect();
        let known = !read.is_empty() || self.unchanged.iter().any(|source| self.is_of(source, column));
        for (at, changed) in self.changed.iter_mut().enumerate() {
            if changed.reads.is_none() && (!known || read.contains(&at)) {
                changed.reads = Some(&column.column);
            }
        }
    }

    /// FOR UPDATE: who only reads may not hold others up.
    fn locking(&mut self, query: &'a Query) {
        for locking in query.locking.iter().filter(|l| l.strength == LockStrength::Update) {
            for source in self.sources_of(query) {
                let wanted = |t: &ObjectName| t.name.is(source.alias);
                if let SourceOf::Table(name) = source.of
                    && (locking.tables.is_empty() || locking.tables.iter().any(wanted))
                {
                    let any = P::UPDATE | P::DELETE | P::LOCK_TABLES;
                    let alias = Some(source.alias);
                    self.tables.push(TableNeed { name, alias, privileges: P::NONE, any, column: None });
                }
            }
        }
    }
}

/// True if a qualified name means this table.
fn is_named(column: &ColumnName, alias: &Ident, name: Option<&ObjectName>) -> bool {
    let database = name.and_then(|name| name.database.as_ref());
    column.table.as_ref().is_some_and(|table| table.is(alias))
        && match (&column.database, database) {
            (Some(said), Some(of)) => said == of,
            _ => true,
        }
}

/// The names of a query's columns; `None` if they are not all known from its text.
fn output_names(query: &Query) -> Option<Vec<&Ident>> {
    let QueryBody::Select(select) = &query.body else { return None };
    let name = |item: &'_ SelectItem| match item {
        SelectItem::Expr { alias: Some(_), .. } => true,
        SelectItem::Expr { expr, .. } => matches!(expr.kind, ExprKind::Column(_)),
        _ => false,
    };
    if !select.items.iter().all(name) {
        return None;
    }
    let named = select.items.iter().filter_map(|item| match item {
        SelectItem::Expr { alias: Some(alias), .. } => Some(alias),
        SelectItem::Expr { expr: Expr { kind: ExprKind::Column(column), .. }, .. } => Some(&column.column),
        _ => None,
    });
    Some(named.collect())
}

/// Names of common tables in lower case; an inner query may use one again.
#[derive(Default)]
struct CommonNames {
    /// The innermost last.
    in_order: Vec<Arc<str>>,
    /// How often each is in the list.
    counts: HashMap<Arc<str>, usize>,
}

impl CommonNames {
    fn push(&mut self, name: &str) {
        let name: Arc<str> = name.to_ascii_lowercase().into();
        *self.counts.entry(name.clone()).or_default() += 1;
        self.in_order.push(name);
    }

    fn contains(&self, name: &str) -> bool {
        !self.in_order.is_empty() && self.counts.contains_key(&*name.to_ascii_lowercase())
    }

    fn truncate(&mut self, len: usize) {
        for name in self.in_order.drain(len..) {
            if let Entry::Occupied(mut count) = self.counts.entry(name) {
                *count.get_mut() -= 1;
                if *count.get() == 0 {
                    count.remove();
                }
            }
        }
    }
}

impl<'a> Visitor<'a> for Needs<'a, '_> {
    fn query(&mut self, query: &'a Query) {
        let outer = self.common.in_order.len();
        let list = std::mem::replace(&mut self.in_changed_list, false);
        self.file |=
            matches!(query.into.as_deref(), Some(IntoTarget::OutFile { .. } | IntoTarget::DumpFile(_)));
        if let Some(with) = &query.with {
            self.with(with);
        }
        self.locking(query);
        // ORDER BY and LIMIT stand after the SELECT that they belong to.
        let sources = self.sources_of(query);
        self.scopes.push(sources);
        visit::walk_without_with(self, query);
        self.scopes.pop();
        self.common.truncate(outer);
        self.in_changed_list = list;
    }

    fn with(&mut self, with: &'a With) {
        for table in &with.tables {
            if with.recursive {
                self.common.push(&table.name);
                self.query(&table.query);
            } else {
                self.query(&table.query);
                self.common.push(&table.name);
            }
        }
    }

    fn select(&mut self, select: &'a Select) {
        let sources = self.sources(&select.from);
        self.scopes.push(sources);
        visit::walk_select(self, select);
        self.scopes.pop();
    }

    fn table(&mut self, table: &'a TableReference) {
        match table {
            TableReference::Table(factor) => self.factor(factor),
            TableReference::Derived(_) | TableReference::JsonTable(_) if self.in_changed_list => {
                let mut sources = Vec::new();
                self.add_source(table, &mut sources);
                self.unchanged.extend(sources);
                visit::walk_table(self, table);
            }
            other => visit::walk_table(self, other),
        }
    }

    fn named_table(&mut self, name: &'a ObjectName) {
        self.need_as(name, None, P::SELECT);
    }

    fn expr(&mut self, expr: &'a Expr) {
        match &expr.kind {
            ExprKind::Column(column) => self.column(column),
            ExprKind::Values(column) | ExprKind::Default(Some(column)) => self.column(column),
            ExprKind::Match { columns, .. } => columns.iter().for_each(|column| self.column(column)),
            ExprKind::Function(call) => self.functions.push((call.database.as_ref(), &call.name)),
            _ => {}
        }
        visit::walk_expr(self, expr);
    }
}
