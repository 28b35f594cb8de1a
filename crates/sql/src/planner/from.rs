//! FROM: tables, derived tables and joins become slots of the frame, names that can be looked up,
//! and a list of what is joined.
//!
//! Inner joins are flat: a [`List`] of items in any order, with the conditions of all their ON
//! clauses. The inner side of an outer join is an item of its own, a *nest*, which goes after the
//! tables that its condition reads. RIGHT JOIN is LEFT JOIN turned round.
//!
//! (F1) Sources are numbered as they stand in the text, so the names that an ON clause may use are
//!      those of a range.

mod view;

use std::ops::Range;
use std::sync::Arc;

use super::view::Opened;
use super::{Maker, hinted, json_table, merge};
use crate::catalog::TableDef;
use crate::expression::resolve::{Columns, Source, Visible};
use crate::expression::{Expr, Node, Resolver};
use crate::output::OutputColumn;
use crate::privilege::Privileges;
use crate::system_tables;
use datum::error::{self, Result, SqlError};
use syntax::ast::{self, IndexHint, JoinCondition, JoinKind, PlanHint, TableReference};

/// The most sources of a block: what MySQL has, and what fits the bits of a word.
pub(crate) const SOURCES_MAX: usize = 61;

/// The most times that tables of WITH are bound for a statement: each that names another one twice
/// doubles them.
const COMMON_USES_MAX: usize = 256;

pub(crate) use view::ViewScope;

/// What fills a slot.
#[derive(Debug, Clone)]
pub(crate) enum Slot {
    /// A table, and what the query says of its indexes.
    Table(Arc<TableDef>, Vec<IndexHint>, Box<str>),
    /// Rows made as a whole, and what the query calls them.
    Rows(Maker, Box<str>),
}

impl Slot {
    /// The table, if it is one.
    pub(crate) fn table(&self) -> Option<Arc<TableDef>> {
        match self {
            Slot::Table(table, ..) => Some(table.clone()),
            Slot::Rows(..) => None,
        }
    }

    /// What the query calls it.
    pub(crate) fn name(&self) -> Box<str> {
        match self {
            Slot::Table(_, _, alias) | Slot::Rows(_, alias) => alias.clone(),
        }
    }
}

/// A column of what fills a slot, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct SlotColumn {
    pub slot: usize,
    pub column: usize,
}

impl SlotColumn {
    /// The column that an expression is, if it is one.
    pub(crate) fn of(e: &Expr) -> Option<Self> {
        match e.node {
            Node::Column { source: slot, column } => Some(Self { slot, column }),
            _ => None,
        }
    }
}

/// What is joined with inner joins.
#[derive(Debug, Default, Clone)]
pub(crate) struct List {
    /// The operands.
    pub items: Vec<Item>,
    /// What their rows must fulfil.
    pub conditions: Vec<Expr>,
}

/// An operand of a join.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    /// What it is.
    pub kind: ItemKind,
    /// The slots that must be filled before it, one bit each.
    pub(crate) requires: u64,
}

/// What an operand of a join is.
#[derive(Debug, Clone)]
pub(crate) enum ItemKind {
    /// A source.
    Slot(usize),
    /// The inner side of an outer, semi- or anti-join.
    Nest(List, super::JoinKind),
}

impl List {
    /// The slots in it, one bit each.
    pub(crate) fn slots(&self) -> u64 {
        self.items.iter().fold(0, |all, item| all | item.slots())
    }

    /// The slots that its conditions read, those of its nests too, one bit each.
    pub(crate) fn read(&self) -> u64 {
        let own = self.conditions.iter().fold(0, |all, e| all | e.sources());
        self.items.iter().fold(own, |all, item| match &item.kind {
            ItemKind::Slot(_) => all,
            ItemKind::Nest(list, _) => all | list.read(),
        })
    }
}

impl Item {
    /// The slots in it, one bit each.
    pub(crate) fn slots(&self) -> u64 {
        match &self.kind {
            ItemKind::Slot(slot) => 1 << slot,
            ItemKind::Nest(list, _) => list.slots(),
        }
    }
}

/// FROM, bound.
#[derive(Debug, Default)]
pub(crate) struct From {
    /// What fills the slots.
    pub slots: Vec<Slot>,
    /// What is joined.
    pub list: List,
    /// What the sources are called, and their slots, one bit each; only if hints order them.
    pub(crate) names: Vec<(Box<str>, u64)>,
}

/// What is said of a block as a whole for how its tables are joined.
#[derive(Clone, Copy, Default)]
pub(crate) struct JoinOptions<'a> {
    /// As they stand.
    pub(crate) straight: bool,
    /// The optimizer hints.
    pub(crate) hints: &'a [PlanHint],
}

/// The names that a part of FROM makes visible.
struct Names {
    sources: Range<usize>,
    /// Its columns, where NATURAL or USING made them other than those of the sources.
    visible: Option<Vec<Visible>>,
}

/// Binds FROM; its sources are the resolver's scope's from now on.
pub(crate) fn bind(
    resolver: &mut Resolver<'_>,
    list: &[TableReference],
    options: JoinOptions<'_>,
) -> Result<From> {
    let changes = resolver.views.targets.tracked.take();
    let mut binder = Binder { resolver, slots: Vec::new(), options, changes };
    let mut out = List::default();
    let names = binder.comma(list, false, &mut out)?;
    let slots = binder.slots;
    resolver.scope.window = 0..usize::MAX;
    resolver.scope.visible = names.visible;
    let mut from = From { slots, list: out, names: Vec::new() };
    if hinted::orders(options.hints) {
        let sources = &resolver.scope.sources;
        let ends = sources.iter().skip(1).map(|source| source.slot).chain([from.slots.len()]);
        let slots = |start: usize, end: usize| (start..end).fold(0, |all, slot| all | 1 << slot);
        let named = sources.iter().zip(ends);
        from.names = named.map(|(source, end)| (source.alias.clone(), slots(source.slot, end))).collect();
    }
    Ok(from)
}

/// A query that stands where a table could.
struct DerivedTable<'a> {
    query: &'a ast::Query,
    alias: &'a ast::Ident,
    /// Its columns' names; empty for those of the query.
    names: &'a [ast::Ident],
    /// It may read what stands before it.
    lateral: bool,
}

struct Binder<'r, 'c, 'h> {
    resolver: &'r mut Resolver<'c>,
    slots: Vec<Slot>,
    options: JoinOptions<'h>,
    /// What the statement does to rows, if views are tracked for it.
    changes: Option<Privileges>,
}

impl Binder<'_, '_, '_> {
    fn sources(&mut self) -> &mut Vec<Source> {
        &mut self.resolver.scope.sources
    }

    /// Operands separated by commas.
    fn comma(&mut self, list: &[TableReference], nullable: bool, out: &mut List) -> Result<Names> {
        let start = self.sources().len();
        let mut names = Names { sources: start..start, visible: None };
        for reference in list {
            let more = self.reference(reference, nullable, out)?;
            names = self.together(names, more);
        }
        Ok(names)
    }

    /// Hints that name indexes of what is no table of the catalog name what there is not.
    fn no_indexes(&mut self, alias: &str) {
        if !self.options.hints.is_empty() {
            hinted::warn_of_indexes(self.resolver.cx, self.options.hints, alias);
        }
    }

    fn reference(&mut self, reference: &TableReference, nullable: bool, out: &mut List) -> Result<Names> {
        datum::stack::check()?;
        match reference {
            TableReference::Table(factor) => match self.common(factor) {
                Some(number) => self.common_table(factor, number, nullable, out),
                None => self.table(factor, nullable, out),
            },
            TableReference::Derived(derived) => {
                let table = DerivedTable {
                    query: &derived.query,
                    alias: &derived.alias,
                    names: &derived.columns,
                    lateral: derived.lateral,
                };
                self.no_indexes(&derived.alias);
                self.derived(table, nullable, out)
            }
            TableReference::Join(join) => self.join(join, nullable, out),
            TableReference::Group(list) => self.comma(list, nullable, out),
            TableReference::JsonTable(table) => self.json_table(table, out),
        }
    }

    /// The table of WITH that a name means.
    fn common(&self, factor: &ast::TableFactor) -> Option<usize> {
        let is_named = |c: &Arc<ast::CommonTable>| factor.name.name.is(&c.name);
        factor.name.database.is_none().then(|| self.resolver.common.iter().rposition(is_named)).flatten()
    }

    /// A table of WITH: a derived table, in which those before it can be named.
    fn common_table(
        &mut self,
        factor: &ast::TableFactor,
        number: usize,
        nullable: bool,
        out: &mut List,
    ) -> Result<Names> {
        self.resolver.common_uses += 1;
        if self.resolver.common_uses > COMMON_USES_MAX {
            return Err(SqlError::unsupported(format_args!(
                "more than {COMMON_USES_MAX} uses of WITH's tables"
            )));
        }
        let hidden = self.resolver.common.split_off(number);
        let table = hidden[0].clone();
        let alias = factor.alias.as_ref().unwrap_or(&table.name);
        self.no_indexes(alias);
        let known = self.resolver.made_common.iter().find(|(known, _)| Arc::ptr_eq(known, &table));
        let names = match known.map(|(_, made)| made.clone()) {
            Some(made) => self.made_again(made, alias, &table.columns, out),
            None => {
                let derived =
                    DerivedTable { query: &table.query, alias, names: &table.columns, lateral: false };
                let names = self.derived(derived, nullable, out);
                self.remember_made(&table);
                names
            }
        };
        self.resolver.common.extend(hidden);
        names
    }

    /// Whoever names a table of WITH again means the same rows, if the source that came last is one
    /// whose rows could differ.
    fn remember_made(&mut self, table: &Arc<ast::CommonTable>) {
        let last = self.resolver.scope.sources.last();
        let slot = last.filter(|source| matches!(source.columns, Columns::Made(_))).map(|source| source.slot);
        if let Some(Slot::Rows(Maker::Derived(made), _)) = slot.and_then(|slot| self.slots.get(slot))
            && made.is_volatile
            && made.parameters.is_empty()
        {
            self.resolver.made_common.push((table.clone(), made.clone()));
        }
    }

    /// A table of WITH that was made before.
    fn made_again(
        &mut self,
        made: Arc<super::Derived>,
        alias: &ast::Ident,
        names: &[ast::Ident],
        out: &mut List,
    ) -> Result<Names> {
        let (start, slot) = (self.sources().len(), self.slots.len());
        let columns = name_columns(made.plan.columns.clone(), names, alias)?;
        self.put(slot, 0, out)?;
        self.slots.push(Slot::Rows(Maker::Derived(made), alias.as_str().into()));
        self.add(Source::derived(alias, columns, slot, None))?;
        Ok(Names { sources: start..start + 1, visible: None })
    }

    fn table(&mut self, factor: &ast::TableFactor, nullable: bool, out: &mut List) -> Result<Names> {
        if !factor.partitions.is_empty() {
            return Err(SqlError::unsupported("partitions"));
        }
        let start = self.sources().len();
        if factor.name.database.is_none() && factor.name.name.is("dual") {
            return Ok(Names { sources: start..start, visible: None });
        }
        let alias = factor.alias.as_deref().unwrap_or(&factor.name.name);
        let cx = &mut *self.resolver.cx;
        let database = factor.name.database.as_deref().or(cx.default_database());
        if let Some((schema, table)) =
            database.map_or(Ok(None), |d| system_tables::find(d, &factor.name.name))?
        {
            cx.tracker.transactions.system_table(schema.name);
            cx.transaction().used = true;
            self.resolver.record_table(&factor.name, schema.name);
            self.no_indexes(alias);
            let provider = system_tables::SystemRows::new(schema, table, alias);
            return self.made(Maker::Provider(Arc::new(provider)), alias, schema.name, out);
        }
        let table = match self.resolver.open_source(factor)? {
            Opened::Table(table) => table,
            Opened::View(view) => {
                self.resolver.record_table(&factor.name, &view.database);
                self.no_indexes(alias);
                return self.view(factor, &view, nullable, out);
            }
        };
        if self.resolver.recorded.is_some() && table.is_temporary() {
            return Err(error::VIEW_SELECT_TMPTABLE.with(&[&alias]));
        }
        self.resolver.record_table(&factor.name, &table.database);
        if self.resolver.scope.parent.is_some()
            && self.resolver.targets.iter().any(|target| target.id == table.id)
            && (!self.resolver.targets_by_name || alias.eq_ignore_ascii_case(&table.name))
        {
            // It is called as it is where it is changed.
            let mut scope = self.resolver.scope.parent.as_deref();
            while let Some(parent) = scope.and_then(|scope| scope.parent.as_deref()) {
                scope = Some(parent);
            }
            let is_table = |s: &&Source| matches!(&s.columns, Columns::Table(t) if t.id == table.id);
            let changed = scope.and_then(|scope| scope.sources.iter().find(is_table));
            let name = changed.map_or(&*table.name, |source| &*source.alias);
            return Err(error::UPDATE_TABLE_USED.with(&[&name]));
        }
        self.check_reopened(&table, alias)?;
        self.resolver.tables.push(table.clone());
        let slot = self.slots.len();
        let source = Source::table(table.clone(), alias, slot);
        self.add(source)?;
        let hints = match self.options.hints {
            [] => None,
            hints => hinted::index_hints(self.resolver.cx, hints, &table, alias),
        };
        let hints = hints.unwrap_or_else(|| factor.hints.clone());
        self.slots.push(Slot::Table(table, hints, alias.into()));
        self.put(slot, 0, out)?;
        self.note_denied(factor, slot);
        Ok(Names { sources: start..start + 1, visible: None })
    }

    /// A source whose rows are made as a whole.
    fn made(&mut self, maker: Maker, alias: &str, database: &str, out: &mut List) -> Result<Names> {
        let (start, slot) = (self.sources().len(), self.slots.len());
        let columns = Columns::Made(maker.columns().into());
        self.add(Source { alias: alias.into(), database: database.into(), columns, slot, nullable: false })?;
        self.put(slot, maker.sources(), out)?;
        self.slots.push(Slot::Rows(maker, alias.into()));
        Ok(Names { sources: start..start + 1, visible: None })
    }

    fn json_table(&mut self, table: &ast::JsonTable, out: &mut List) -> Result<Names> {
        let before = self.sources().len();
        let maker = json_table::bind(self.resolver, table, before)?;
        self.made(maker, &table.alias, "", out)
    }

    /// Error 1137 for a temporary table that the query has opened already.
    fn check_reopened(&self, table: &Arc<TableDef>, alias: &str) -> Result<()> {
        if !table.is_temporary() || !self.resolver.tables.iter().any(|other| Arc::ptr_eq(other, table)) {
            return Ok(());
        }
        let first = self.slots.iter().find_map(|slot| match slot {
            Slot::Table(other, _, first) if Arc::ptr_eq(other, table) => Some(&**first),
            _ => None,
        });
        Err(error::CANT_REOPEN_TABLE.with(&[&first.unwrap_or(alias)]))
    }

    /// Adds an operand that is one slot.
    fn put(&mut self, slot: usize, requires: u64, out: &mut List) -> Result<()> {
        if slot >= SOURCES_MAX {
            return Err(error::TOO_MANY_TABLES.with(&[&SOURCES_MAX]));
        }
        let requires = requires | if self.options.straight { (1 << slot) - 1 } else { 0 };
        out.items.push(Item { kind: ItemKind::Slot(slot), requires });
        Ok(())
    }

    /// Adds a source, whose name must be new.
    fn add(&mut self, source: Source) -> Result<()> {
        let known = |s: &Source| *s.alias == *source.alias && s.database == source.database;
        if self.sources().iter().any(known) {
            return Err(error::NONUNIQ_TABLE.with(&[&source.alias]));
        }
        self.sources().push(source);
        Ok(())
    }

    fn derived(&mut self, table: DerivedTable<'_>, nullable: bool, out: &mut List) -> Result<Names> {
        let DerivedTable { query, alias, names, lateral } = table;
        let start = self.sources().len();
        // What it may see of the names around it.
        let window = if lateral { 0..start } else { 0..0 };
        let around = std::mem::replace(&mut self.resolver.scope.window, window);
        let within = merge::Within { nullable, base: self.slots.len(), changes: None };
        let bound = merge::derived(self.resolver, query, within);
        self.resolver.scope.window = around;
        self.put_bound(bound?, alias, names, "", out)
    }

    /// Adds a derived table, or a view of that database.
    fn put_bound(
        &mut self,
        bound: merge::Bound,
        alias: &ast::Ident,
        names: &[ast::Ident],
        database: &str,
        out: &mut List,
    ) -> Result<Names> {
        let start = self.sources().len();
        let slot = self.slots.len();
        let (columns, exprs) = match bound {
            merge::Bound::Merged { slots, list, columns, exprs } => {
                if slot + slots.len() > SOURCES_MAX {
                    return Err(error::TOO_MANY_TABLES.with(&[&SOURCES_MAX]));
                }
                self.slots.extend(slots);
                out.items.extend(list.items);
                out.conditions.extend(list.conditions);
                (columns, Some(exprs))
            }
            merge::Bound::Made(made) => {
                let requires = made.parameters.iter().fold(0, |all, p| all | p.sources());
                let columns = made.plan.columns.clone();
                self.put(slot, requires, out)?;
                self.slots.push(Slot::Rows(Maker::Derived(made), alias.as_str().into()));
                (columns, None)
            }
        };
        let columns = name_columns(columns, names, alias)?;
        self.add(Source { database: database.into(), ..Source::derived(alias, columns, slot, exprs) })?;
        Ok(Names { sources: start..start + 1, visible: None })
    }

    fn join(&mut self, join: &ast::Join, nullable: bool, out: &mut List) -> Result<Names> {
        let right_join = join.kind == JoinKind::Right;
        let left_join = join.kind == JoinKind::Left;
        let mut left_list = List::default();
        let mut right_list = List::default();
        let left = self.reference(&join.left, nullable || right_join, &mut left_list)?;
        let right = self.reference(&join.right, nullable || left_join, &mut right_list)?;
        let inner = if right_join { &left } else { &right };
        if right_join || left_join {
            let range = inner.sources.clone();
            self.sources()[range].iter_mut().for_each(|s| s.nullable = true);
        }
        let (names, on) = self.condition(join, left, right)?;
        match join.kind {
            JoinKind::Inner => {
                out.items.append(&mut left_list.items);
                out.items.append(&mut right_list.items);
            }
            JoinKind::Straight => {
                let before = left_list.slots();
                right_list.items.iter_mut().for_each(|item| item.requires |= before);
                out.items.append(&mut left_list.items);
                out.items.append(&mut right_list.items);
            }
            JoinKind::Left => {
                nest(left_list, right_list, on, out);
                return Ok(names);
            }
            JoinKind::Right => {
                nest(right_list, left_list, on, out);
                return Ok(names);
            }
        }
        out.conditions.append(&mut left_list.conditions);
        out.conditions.append(&mut right_list.conditions);
        out.conditions.extend(on);
        Ok(names)
    }

    /// The join's names and conditions.
    fn condition(&mut self, join: &ast::Join, left: Names, right: Names) -> Result<(Names, Vec<Expr>)> {
        let mut on = Vec::new();
        match &join.condition {
            JoinCondition::None if join.natural => {
                let (a, b) = (self.columns(&left), self.columns(&right));
                let common = |v: &&Visible| b.iter().any(|w| w.name.eq_ignore_ascii_case(&v.name));
                let names: Vec<Box<str>> = if join.kind == JoinKind::Right {
                    let common = |v: &&Visible| a.iter().any(|w| w.name.eq_ignore_ascii_case(&v.name));
                    b.iter().filter(common).map(|v| v.name.clone()).collect()
                } else {
                    a.iter().filter(common).map(|v| v.name.clone()).collect()
                };
                self.using(join, &names, left, right, &mut on).map(|names| (names, on))
            }
            JoinCondition::None => Ok((self.together(left, right), on)),
            JoinCondition::Using(columns) => {
                let names: Vec<Box<str>> = columns.iter().map(|c| c.as_str().into()).collect();
                self.using(join, &names, left, right, &mut on).map(|names| (names, on))
            }
            JoinCondition::On(condition) => {
                let names = self.together(left, right);
                let scope = &mut self.resolver.scope;
                let around = (scope.window.clone(), scope.visible.take(), scope.clause);
                scope.window = names.sources.clone();
                scope.visible.clone_from(&names.visible);
                scope.clause = "on clause";
                let resolved = self.resolver.expr(condition);
                let scope = &mut self.resolver.scope;
                (scope.window, scope.visible, scope.clause) = around;
                super::conjuncts(resolved?, &mut on);
                Ok((names, on))
            }
        }
    }

    /// The columns that unqualified names and `*` find.
    fn columns(&mut self, names: &Names) -> Vec<Visible> {
        match &names.visible {
            Some(visible) => visible.clone(),
            None => self.sources()[names.sources.clone()].iter().flat_map(Source::visible).collect(),
        }
    }

    fn together(&mut self, left: Names, right: Names) -> Names {
        let visible = (left.visible.is_some() || right.visible.is_some()).then(|| {
            let mut all = self.columns(&left);
            all.extend(self.columns(&right));
            all
        });
        Names { sources: left.sources.start..right.sources.end, visible }
    }

    /// USING: the named columns are equal, and seen once, before all others.
    fn using(
        &mut self,
        join: &ast::Join,
        names: &[Box<str>],
        left: Names,
        right: Names,
        on: &mut Vec<Expr>,
    ) -> Result<Names> {
        let kind = join.kind;
        let (mut a, mut b) = (self.columns(&left), self.columns(&right));
        let mut visible = Vec::with_capacity(a.len() + b.len());
        for name in names {
            let (x, y) = (take(&mut a, name)?, take(&mut b, name)?);
            self.resolver.record_using(join, &x, &y);
            let kept = if kind == JoinKind::Right { y.clone() } else { x.clone() };
            on.push(self.resolver.comparison(ast::BinaryOp::Equal, x.expr, y.expr)?);
            visible.push(kept);
        }
        let (mut first, mut second) = if kind == JoinKind::Right { (b, a) } else { (a, b) };
        visible.append(&mut first);
        visible.append(&mut second);
        Ok(Names { sources: left.sources.start..right.sources.end, visible: Some(visible) })
    }
}

/// Takes the column of a name out of the list; errors 1054 and 1052.
fn take(columns: &mut Vec<Visible>, name: &str) -> Result<Visible> {
    let mut found = columns.iter().enumerate().filter(|(_, c)| c.name.eq_ignore_ascii_case(name));
    let Some((at, _)) = found.next() else {
        return Err(error::BAD_FIELD_ERROR.with(&[&name, &"from clause"]));
    };
    if found.next().is_some() {
        return Err(error::NON_UNIQ_ERROR.with(&[&name, &"from clause"]));
    }
    Ok(columns.remove(at))
}

/// `outer LEFT JOIN inner ON on`: the outer side's items stay free, the inner side becomes a nest.
fn nest(mut outer: List, mut inner: List, on: Vec<Expr>, out: &mut List) {
    let own = inner.slots();
    let read = on.iter().fold(0, |all, e| all | e.sources()) & !own;
    // Without a table that it reads, it has to follow all that it complements.
    let requires = if read & outer.slots() == 0 { read | outer.slots() } else { read };
    inner.conditions.extend(on);
    out.items.append(&mut outer.items);
    out.conditions.append(&mut outer.conditions);
    out.items.push(Item { kind: ItemKind::Nest(inner, super::JoinKind::Left), requires });
}

/// The columns of a derived table under their names there; errors 1060 and 1353.
fn name_columns(
    mut columns: Vec<OutputColumn>,
    names: &[ast::Ident],
    alias: &str,
) -> Result<Arc<[OutputColumn]>> {
    if !names.is_empty() && names.len() != columns.len() {
        return Err(error::VIEW_WRONG_LIST.plain());
    }
    for (column, name) in columns.iter_mut().zip(names) {
        column.meta.name = name.to_string();
    }
    for column in &mut columns {
        column.meta.table = alias.to_owned();
        // Columns know no truth values.
        column.ty.boolean = false;
    }
    for (i, column) in columns.iter().enumerate() {
        if columns[..i].iter().any(|c| c.meta.name.eq_ignore_ascii_case(&column.meta.name)) {
            return Err(error::DUP_FIELDNAME.with(&[&column.meta.name]));
        }
    }
    Ok(columns.into())
}

/// The columns that `Columns::Made` and `Columns::Merged` have.
impl Source {
    /// A table in a slot.
    pub(crate) fn table(table: Arc<TableDef>, alias: &str, slot: usize) -> Self {
        Source {
            alias: alias.into(),
            database: table.database.as_str().into(),
            columns: Columns::Table(table),
            slot,
            nullable: false,
        }
    }

    /// A derived table: in a slot, or merged into the block, where its columns are these
    /// expressions.
    pub(crate) fn derived(
        alias: &str,
        columns: Arc<[OutputColumn]>,
        slot: usize,
        exprs: Option<Vec<Expr>>,
    ) -> Self {
        let columns = match exprs {
            Some(mut exprs) => {
                exprs.iter_mut().for_each(|expr| expr.ty.boolean = false);
                Columns::Merged(columns, exprs.into())
            }
            None => Columns::Made(columns),
        };
        Source { alias: alias.into(), database: "".into(), columns, slot, nullable: false }
    }
}
