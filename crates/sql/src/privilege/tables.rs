//! The tables that a statement uses, and how: what LOCK TABLES must have locked.

use super::needs::Needs;
use super::set::Privileges as P;
use syntax::ast::visit::{Visitor, expressions_of};
use syntax::ast::{Explain, Expr, Ident, ObjectName, StatementKind, TableContent};

/// A table that a statement uses.
pub(crate) struct UsedTable<'a> {
    pub(crate) name: &'a ObjectName,
    /// The alias that it is used under.
    pub(crate) alias: Option<&'a Ident>,
    /// Its rows or its definition change.
    pub writes: bool,
    /// Its definition is changed: under whatever alias it was locked.
    pub(crate) defines: bool,
}

/// What a statement or an expression uses.
#[derive(Default)]
pub(crate) struct Uses<'a> {
    pub(crate) tables: Vec<UsedTable<'a>>,
    /// Calls of functions that may be stored ones, by database and name.
    pub(crate) functions: Vec<(Option<&'a Ident>, &'a Ident)>,
}

/// The tables that a statement uses. `owns` returns whether a table has a column.
pub(crate) fn tables_used<'a>(
    kind: &'a StatementKind,
    owns: &dyn Fn(&ObjectName, &str) -> bool,
) -> Vec<UsedTable<'a>> {
    uses_of(kind, owns).tables
}

/// What a statement uses itself, without what the functions use that it calls.
pub(crate) fn uses_of<'a>(kind: &'a StatementKind, owns: &dyn Fn(&ObjectName, &str) -> bool) -> Uses<'a> {
    use StatementKind as S;
    let mut needs = Needs::new(owns);
    match kind {
        S::Query(query) => needs.query(query),
        S::Insert(insert) => needs.insert(insert),
        S::Update(update) => needs.update(update),
        S::Delete(delete) => needs.delete(delete),
        S::LoadData(load) => needs.load(load),
        S::Do(_) | S::Set(_) => expressions_of(kind).into_iter().for_each(|e| needs.expr(e)),
        S::Explain(explain) => match &**explain {
            Explain::Statement { statement, .. } => return uses_of(&statement.kind, owns),
            _ => return Uses::default(),
        },
        _ => return Uses { tables: tables_defined(kind), functions: Vec::new() },
    }
    of_needs(needs)
}

/// What an expression of a function uses.
pub(crate) fn uses_of_expression<'a>(expr: &'a Expr, owns: &dyn Fn(&ObjectName, &str) -> bool) -> Uses<'a> {
    let mut needs = Needs::new(owns);
    needs.expr(expr);
    of_needs(needs)
}

fn of_needs<'a>(needs: Needs<'a, '_>) -> Uses<'a> {
    let writes = P::INSERT | P::UPDATE | P::DELETE;
    let used = |need: super::needs::TableNeed<'a>| UsedTable {
        name: need.name,
        alias: need.alias,
        writes: need.privileges.has_any(writes),
        defines: false,
    };
    Uses { tables: needs.tables.into_iter().map(used).collect(), functions: needs.functions }
}

/// The tables whose definition a statement changes.
fn tables_defined(kind: &StatementKind) -> Vec<UsedTable<'_>> {
    use StatementKind as S;
    let names: Vec<&ObjectName> = match kind {
        S::CreateTable(create) if !create.temporary => match &create.content {
            TableContent::Like(of) => vec![&create.name, of],
            TableContent::Definition(_) => vec![&create.name],
        },
        S::AlterTable(alter) => vec![&alter.name],
        S::DropTable(drop) if !drop.temporary => drop.names.iter().collect(),
        S::TruncateTable(name) => vec![name],
        S::RenameTable(pairs) => {
            // A name that the statement has given is nobody else's table.
            let is_new = |at: usize| pairs[..at].iter().any(|(_, to)| *to == pairs[at].0);
            (0..pairs.len()).filter(|&at| !is_new(at)).map(|at| &pairs[at].0).collect()
        }
        S::CreateIndex(create) => vec![&create.table],
        S::DropIndex(drop) => vec![&drop.table],
        S::CreateTrigger(trigger) => vec![&trigger.table],
        S::TableMaintenance(maintenance) => maintenance.tables.iter().collect(),
        _ => Vec::new(),
    };
    names.into_iter().map(|name| UsedTable { name, alias: None, writes: true, defines: true }).collect()
}
