//! The tables that a statement uses, and how: what LOCK TABLES must have locked.

use super::needs::Needs;
use super::set::Privileges as P;
use syntax::ast::visit::Visitor;
use syntax::ast::{Explain, Ident, ObjectName, StatementKind, TableContent};

/// A table that a statement uses.
pub(crate) struct UsedTable<'a> {
    pub(crate) name: &'a ObjectName,
    /// The alias that it is used under.
    pub alias: Option<&'a Ident>,
    /// Its rows or its definition change.
    pub writes: bool,
    /// Its definition is changed: under whatever alias it was locked.
    pub defines: bool,
}

/// The tables that a statement uses. `owns` returns whether a table has a column.
pub(crate) fn tables_used<'a>(
    kind: &'a StatementKind,
    owns: &dyn Fn(&ObjectName, &str) -> bool,
) -> Vec<UsedTable<'a>> {
    use StatementKind as S;
    let mut needs = Needs::new(owns);
    match kind {
        S::Query(query) => needs.query(query),
        S::Insert(insert) => needs.insert(insert),
        S::Update(update) => needs.update(update),
        S::Delete(delete) => needs.delete(delete),
        S::LoadData(load) => needs.load(load),
        S::Do(list) => list.iter().for_each(|e| needs.expr(e)),
        S::Explain(explain) => match &**explain {
            Explain::Statement { statement, .. } => return tables_used(&statement.kind, owns),
            _ => return Vec::new(),
        },
        _ => return tables_defined(kind),
    }
    let writes = P::INSERT | P::UPDATE | P::DELETE;
    let used = |need: super::needs::TableNeed<'a>| UsedTable {
        name: need.name,
        alias: need.alias,
        writes: need.privileges.has_any(writes),
        defines: false,
    };
    needs.tables.into_iter().map(used).collect()
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
        S::RenameTable(pairs) => pairs.iter().map(|(from, _)| from).collect(),
        S::CreateIndex(create) => vec![&create.table],
        S::DropIndex(drop) => vec![&drop.table],
        S::TableMaintenance(maintenance) => maintenance.tables.iter().collect(),
        _ => Vec::new(),
    };
    names.into_iter().map(|name| UsedTable { name, alias: None, writes: true, defines: true }).collect()
}
