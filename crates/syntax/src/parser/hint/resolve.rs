//! Hints that choose between plans are brought to the blocks that they are about.
//!
//! 1. collect  The statement's blocks are numbered in the order of the text: `select#1`, ..; QB_NAME
//!    gives one a name of its own.
//! 2. place    Each hint goes to the block that it names, or stays. What contradicts an earlier one
//!    or names a block that there is not is a warning, and gone.
//! 3. look up  Tables that a block does not have are warnings. Indexes and what views hide are not
//!    known here.
//! 4. put back What has an effect goes into the tree.

use super::Parser;
use crate::ast::visit_mut::{self, VisitorMut};
use crate::ast::{
    Explain, HintClass, HintTable, Ident, IndexHintScope, InsertSource, PlanHint, Query, Remark, Select,
    StatementKind, TableContent, TableReference,
};
use crate::unparse::ident;

/// Bytes of a message.
const MESSAGE_MAX: usize = 511;

/// A query block, and the statement itself where it changes rows.
#[derive(Default)]
struct Block {
    hints: Vec<PlanHint>,
    /// The names of its tables.
    tables: Vec<Ident>,
    /// What QB_NAME calls it.
    name: Option<Ident>,
    /// JOIN_FIXED_ORDER
    fixed_order: bool,
}

/// The blocks of a statement, in the order of the walk.
#[derive(Default)]
struct Blocks {
    list: Vec<Block>,
    /// The hints of an INSERT with a query: they are its first block's.
    pending: Vec<PlanHint>,
    /// Where the second walk is, which puts the hints back.
    next: Option<usize>,
}

impl Blocks {
    fn block(&mut self, hints: &mut Vec<PlanHint>, tables: &[TableReference]) -> bool {
        if let Some(next) = &mut self.next {
            let Some(block) = self.list.get_mut(*next) else { return false };
            *next += 1;
            *hints = std::mem::take(&mut block.hints);
            return block.fixed_order;
        }
        let mut block = Block { hints: std::mem::take(hints), ..Block::default() };
        block.hints.append(&mut self.pending);
        tables.iter().for_each(|table| names_of(table, &mut block.tables));
        self.list.push(block);
        false
    }

    fn statement(&mut self, kind: &mut StatementKind) {
        match kind {
            StatementKind::Query(query) => self.query(query),
            StatementKind::CreateView(view) => self.query(&mut view.query),
            StatementKind::CreateTable(table) => {
                if let TableContent::Definition(definition) = &mut table.content
                    && let Some(query) = &mut definition.query
                {
                    self.query(&mut query.query);
                }
            }
            StatementKind::Explain(explain) => {
                if let Explain::Statement { statement, .. } = &mut **explain {
                    self.statement(&mut statement.kind);
                }
            }
            StatementKind::Insert(insert) => match &mut insert.source {
                InsertSource::Query(query) => {
                    self.pending = std::mem::take(&mut insert.hints);
                    let first = self.list.len();
                    self.query(query);
                    let is_first = self.next.is_none();
                    if let Some(block) = self.list.get_mut(first).filter(|_| is_first) {
                        block.tables.push(insert.table.name.clone());
                    }
                }
                InsertSource::Values(rows) => {
                    let is_first = self.next.is_none();
                    self.block(&mut insert.hints, &[]);
                    if let Some(block) = self.list.last_mut().filter(|_| is_first) {
                        block.tables.push(insert.table.name.clone());
                    }
                    rows.iter_mut().flatten().for_each(|e| self.expr(e));
                }
            },
            StatementKind::Update(update) => {
                self.block(&mut update.hints, &update.tables);
                update.tables.iter_mut().for_each(|table| self.table(table));
                update.assignments.iter_mut().for_each(|a| self.expr(&mut a.value));
                update.filter.iter_mut().for_each(|e| self.expr(e));
            }
            StatementKind::Delete(delete) => {
                self.block(&mut delete.hints, &delete.from);
                delete.from.iter_mut().for_each(|table| self.table(table));
                delete.filter.iter_mut().for_each(|e| self.expr(e));
            }
            _ => {}
        }
    }

    /// What messages call a block.
    fn name(&self, number: usize) -> Ident {
        let given = self.list.get(number).and_then(|block| block.name.clone());
        given.unwrap_or_else(|| Ident::new(format!("select#{}", number + 1)))
    }

    fn find(&self, name: &Ident) -> Option<usize> {
        let given = self.list.iter().position(|block| block.name.as_ref().is_some_and(|own| own.is(name)));
        given.or_else(|| {
            let number = name.strip_prefix("select#")?.parse::<usize>().ok()?.checked_sub(1)?;
            self.list.get(number).filter(|block| block.name.is_none()).map(|_| number)
        })
    }
}

impl VisitorMut for Blocks {
    fn query(&mut self, query: &mut Query) {
        // The block comes before those of WITH, as MySQL numbers them.
        let with = query.with.take();
        visit_mut::walk_query(self, query);
        query.with = with;
        if let Some(with) = &mut query.with {
            for table in &mut with.tables {
                self.query(&mut std::sync::Arc::make_mut(table).query);
            }
        }
    }

    fn select(&mut self, select: &mut Select) {
        select.options.straight_join |= self.block(&mut select.hints, &select.from);
        if self.next.is_some() {
            // It is said by STRAIGHT_JOIN.
            select.hints.retain(|hint| hint.form.class != HintClass::FixedOrder);
        }
        visit_mut::walk_select(self, select);
    }
}

/// The names by which the tables of a reference are known.
fn names_of(table: &TableReference, names: &mut Vec<Ident>) {
    match table {
        TableReference::Table(factor) => {
            names.push(factor.alias.clone().unwrap_or_else(|| factor.name.name.clone()));
        }
        TableReference::Derived(derived) => names.push(derived.alias.clone()),
        TableReference::JsonTable(table) => names.push(table.alias.clone()),
        TableReference::Join(join) => {
            names_of(&join.left, names);
            names_of(&join.right, names);
        }
        TableReference::Group(tables) => tables.iter().for_each(|table| names_of(table, names)),
    }
}

impl Parser<'_> {
    /// Brings the hints of a statement to the blocks that they name.
    #[cold]
    pub(in crate::parser) fn resolve_hints(&mut self, kind: &mut StatementKind) {
        let mut blocks = Blocks::default();
        blocks.statement(kind);
        let hints: Vec<_> = blocks.list.iter_mut().map(|block| std::mem::take(&mut block.hints)).collect();
        for (number, list) in hints.iter().enumerate() {
            let first = list.iter().find(|hint| hint.form.class == HintClass::BlockName);
            let name = first.and_then(|hint| hint.names.first());
            let is_new =
                |name: &&Ident| !blocks.list.iter().any(|b| b.name.as_ref().is_some_and(|n| n.is(name)));
            blocks.list[number].name = name.filter(is_new).cloned();
        }
        for (number, list) in hints.into_iter().enumerate() {
            list.into_iter().for_each(|hint| self.move_hint(&mut blocks, number, hint));
        }
        for number in 0..blocks.list.len() {
            self.check_tables(&mut blocks, number);
        }
        blocks.next = Some(0);
        blocks.statement(kind);
    }

    fn move_hint(&mut self, blocks: &mut Blocks, number: usize, mut hint: PlanHint) {
        let form = hint.form;
        if form.class == HintClass::BlockName {
            let block = &mut blocks.list[number];
            let is_taken = block.hints.iter().any(|other| other.form.class == HintClass::BlockName);
            match hint.names.first() == block.name.as_ref() && !is_taken {
                true => block.hints.push(hint),
                false => self.remark(Remark::HintRepeated(cut(written(&hint, None)))),
            }
            return;
        }
        let named = hint.block.clone();
        let unknown = |name: &Ident| Remark::HintBlockUnknown(cut(ident(name)), form.name);
        let target = match &named {
            None => number,
            Some(name) => match blocks.find(name) {
                Some(target) => target,
                None => return self.remark(unknown(name)),
            },
        };
        if form.class == HintClass::Tables {
            let mut blocks_named = hint.tables.iter().filter_map(|table| table.block.as_ref());
            if let Some(name) = blocks_named.rfind(|name| blocks.find(name).is_none()) {
                return self.remark(unknown(name));
            }
        }
        if blocks.list[target].hints.iter().any(|other| contradict(other, &hint)) {
            return self.remark(Remark::HintRepeated(cut(written(&hint, named.as_ref()))));
        }
        hint.block = Some(blocks.name(target));
        blocks.list[target].fixed_order |= form.class == HintClass::FixedOrder;
        blocks.list[target].hints.push(hint);
    }

    fn check_tables(&mut self, blocks: &mut Blocks, number: usize) {
        let mut hints = std::mem::take(&mut blocks.list[number].hints);
        let own = blocks.name(number);
        hints.retain(|hint| match hint.form.class {
            HintClass::Tables | HintClass::Indexes { .. } | HintClass::OtherIndexes => {
                let mut is_known = true;
                for table in &hint.tables {
                    let block = table.block.as_ref().unwrap_or(&own);
                    let found = blocks.find(block).and_then(|block| blocks.list.get(block));
                    if found.is_some_and(|block| block.tables.contains(&table.name)) {
                        continue;
                    }
                    is_known = false;
                    let place = format!("{}@{}", ident(&table.name), ident(block));
                    let names = hint.names.iter().map(|name| format!("{place} {}", ident(name)));
                    for name in std::iter::once(place.clone()).chain(names) {
                        self.remark(Remark::HintNameUnknown(cut(name), hint.form.name));
                    }
                }
                is_known && matches!(hint.form.class, HintClass::Indexes { .. })
            }
            HintClass::Order(_) | HintClass::FixedOrder | HintClass::BlockName => true,
            HintClass::Strategies | HintClass::ResourceGroup => false,
        });
        blocks.list[number].hints = hints;
    }
}

/// True if a hint of a block can't be followed besides one before it.
fn contradict(earlier: &PlanHint, hint: &PlanHint) -> bool {
    use HintClass as C;
    match (earlier.form.class, hint.form.class) {
        (C::FixedOrder, C::Order(_) | C::FixedOrder) | (C::Order(_), C::FixedOrder) => true,
        (C::Order(a), C::Order(b)) => a == b && a != crate::ast::OrderHint::Among,
        (C::Indexes { scope: of_a, .. }, C::Indexes { scope: of_b, .. }) => {
            let is_shared = |name: &Ident| hint.names.iter().any(|other| other.is(name));
            // Names are compared last: there may be many, of few hints about one table.
            let shares = || hint.names.is_empty() || earlier.names.iter().any(is_shared);
            let is_one_all = of_a == IndexHintScope::All || of_b == IndexHintScope::All;
            earlier.tables == hint.tables && (of_a == of_b || is_one_all && shares())
        }
        (C::OtherIndexes | C::Tables | C::Strategies, _) => {
            let plain = |hint: &PlanHint| hint.form.name.trim_start_matches("NO_");
            plain(earlier) == plain(hint) && earlier.tables == hint.tables && earlier.names == hint.names
        }
        _ => false,
    }
}

/// As much of a name or a hint as a message of MySQL has bytes: a name is repeated in the message
/// of each index that its hint names.
fn cut(mut text: String) -> Box<str> {
    text.truncate(text.floor_char_boundary(MESSAGE_MAX));
    text.into()
}

/// A hint as messages show it.
fn written(hint: &PlanHint, block: Option<&Ident>) -> String {
    let at = |block: Option<&Ident>| block.map_or(String::new(), |name| format!("@{}", ident(name)));
    let table = |table: &HintTable| format!("{}{}", ident(&table.name), at(table.block.as_ref()));
    let joined = |list: &mut dyn Iterator<Item = String>, by: &str| list.collect::<Vec<_>>().join(by);
    let names = joined(&mut hint.names.iter().map(|name| ident(name)), ", ");
    let inner = match hint.form.class {
        HintClass::BlockName | HintClass::ResourceGroup => names,
        HintClass::Indexes { .. } | HintClass::OtherIndexes => {
            let first = joined(&mut hint.tables.iter().map(|table| ident(&table.name)), "");
            let gap = if names.is_empty() { "" } else { " " };
            format!("{first}{} {gap}{names}", at(block))
        }
        _ => format!("{} {}", at(block), joined(&mut hint.tables.iter().map(table), ",")),
    };
    format!("{}({inner})", hint.form.name)
}
