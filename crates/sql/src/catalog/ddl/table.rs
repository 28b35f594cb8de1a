//! CREATE, DROP, TRUNCATE and RENAME TABLE.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};

use binlog::LogPosition;
use storage::build::FIRST_BUILT;
use storage::schema::KeyPart;

use super::foreign_keys::{Redefinition, check_drops, check_truncate};
use super::{LoggedText, Plan, Settings, check_name, check_not_system};
use crate::catalog::build::{self, Numbers, Trees, check_constraint_name};
use crate::catalog::draft::{self, foreign_keys};
use crate::catalog::foreign_key::TableName;
use crate::catalog::objects::{CatalogState, NextNumbers};
use crate::catalog::record::{Change, columns_without_default};
use crate::catalog::set_aside::ObjectKey;
use crate::catalog::{
    ColumnDef, IndexDef, TableDef, deprecated, engine_name, parse_one, show, table as table_def, temporary,
};
use crate::system_tables;
use datum::error::{self, Result, SqlError};
use datum::types::Collation;
use datum::value::zone::Zone;
use syntax::ast::{CreateTable, DropTable, ObjectName, TableContent, TableDefinition, TableOption};

/// The note that the table is there already, which ends a CREATE TABLE; without IF NOT EXISTS it is
/// an error.
pub(super) fn existing_note(
    create: &CreateTable,
    state: &CatalogState,
    settings: &Settings,
) -> Result<Option<SqlError>> {
    let (database, name) = settings.object(&create.name)?;
    check_name(name, error::WRONG_TABLE_NAME)?;
    // Dumps of all databases make the tables of `mysql` that are not there.
    let is_system = system_tables::schema(database).is_some_and(|schema| schema.table(name).is_some());
    if !is_system {
        check_not_system(database)?;
        existing_database(state, database)?;
    }
    let is_there = match create.temporary {
        true => settings.temporary.get(database, name).is_some(),
        false => {
            state.check_usable(&ObjectKey::table(database, name))?;
            state.check_usable(&ObjectKey::view(database, name))?;
            is_system || state.table(database, name).is_some() || state.view(database, name).is_some()
        }
    };
    let e = error::TABLE_EXISTS_ERROR.with(&[&name]);
    match is_there {
        true if !create.if_not_exists => Err(e),
        is_there => Ok(is_there.then_some(e)),
    }
}

/// `selected` are the columns of the query of a CREATE TABLE .. SELECT.
pub(super) fn create(
    create: &CreateTable,
    selected: &[ColumnDef],
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    if let Some(note) = existing_note(create, state, settings)? {
        return Ok(Plan::nothing(note));
    }
    let (database, name) = settings.object(&create.name)?;
    let collation = existing_database(state, database)?;
    let numbers = if create.temporary { temporary::provisional() } else { new_numbers(state) };
    let mut is_clear = true;
    let is_like = matches!(create.content, TableContent::Like(_));
    let mut table = match &create.content {
        TableContent::Definition(definition) => {
            let environment = settings.environment(collation);
            build::build(database, name, definition, selected, environment, numbers)?
        }
        TableContent::Like(other) => {
            let (other_database, other_name) = settings.object(other)?;
            let other = settings.existing(state, other_database, other_name)?;
            let mut new = rebuild(&other, database, name, 1, numbers)?;
            // Foreign keys are not copied; the indexes that they made are ordinary ones.
            new.foreign_keys.clear();
            new.indexes.iter_mut().for_each(|index| index.generated = false);
            is_clear = !other.is_temporary();
            // Where the log has the table's text, its columns are what that says.
            if create.temporary || is_clear && !needs_text(&new) {
                take_defaults(&mut new, &other);
            }
            new
        }
    };
    table.created = settings.created();
    check_comments(&table, None, settings)?;
    if !create.temporary {
        check_names_of_checks(&table, None, state, settings)?;
    }
    check_required_key(&table, |_| !is_like, settings)?;
    if !selected.is_empty() && !table.foreign_keys.is_empty() {
        return Err(error::FOREIGN_KEY_WITH_ATOMIC_CREATE_SELECT.plain());
    }
    let mut made = Redefinition { old: None, new: &mut table, origins: &[] };
    let related = match create.temporary && made.new.foreign_keys.is_empty() {
        true => Vec::new(),
        false => {
            made.complete(state, settings)?;
            made.related(state)
        }
    };
    let warnings = match &create.content {
        TableContent::Definition(definition) => {
            let engines = definition.options.iter().filter_map(TableOption::engine);
            let engines = engine_name::check(engines, name, settings)?;
            let defaults = definition.columns.iter().filter_map(deprecated::of_column);
            // A strict sql_mode has refused them.
            let is_wrong = |column: &&ColumnDef| {
                draft::has_disallowed_zero_date(column, settings.dates())
                    && definition.columns.iter().any(|ast| ast.name.eq_ignore_ascii_case(&column.name))
            };
            let dates = table.columns.iter().filter(is_wrong).map(draft::zero_date_warning);
            engines
                .into_iter()
                .chain(defaults)
                .chain(dates)
                .chain(repeated_indexes(&table, |_| true))
                .collect()
        }
        TableContent::Like(_) => Vec::new(),
    };
    let notes = match &create.content {
        TableContent::Definition(definition) => {
            definition.columns.iter().filter_map(|column| draft::conversion_note(column, &table)).collect()
        }
        TableContent::Like(_) => Vec::new(),
    };
    // Servers before MySQL 9 ignore references behind columns.
    let has_references = |definition: &TableDefinition| {
        definition.columns.iter().any(|column| column.attributes.references.is_some())
    };
    let has_other_engine = |definition: &TableDefinition| {
        let mut engines = definition.options.iter().filter_map(TableOption::engine);
        engines.any(|engine| !engine_name::is_innodb(&engine.name))
    };
    let needs_text = needs_text(&table)
        || matches!(
            &create.content,
            TableContent::Definition(definition)
                if has_references(definition) || has_other_engine(definition)
        );
    let logged = (needs_text || !is_clear).then(|| LoggedText::canonical(qualified_text(&table, settings)));
    let change = match create.temporary {
        true => Change::PutTable(Arc::new(table), state.next),
        false => put(table, state),
    };
    Ok(Plan { logged, warnings, notes, related, ..Plan::one(change) })
}

/// True for a table that the log has as its own text, not as the statement.
fn needs_text(table: &TableDef) -> bool {
    table.has_generated_key() || table.has_key_parts()
}

/// Characters of a table's comment.
const TABLE_COMMENT_MAX: usize = 2048;
/// Characters of a column's comment, and of an index's.
const COMMENT_MAX: usize = 1024;

/// Errors 1628, 1629 and 1688 for comments that are longer than MySQL's may be: its replicas would
/// stop at them. Those that `old`, the table as it is, has are not asked about again.
pub(super) fn check_comments(table: &TableDef, old: Option<&TableDef>, settings: &Settings) -> Result<()> {
    if !settings.from_client {
        return Ok(());
    }
    fn comments(table: &TableDef) -> impl Iterator<Item = &str> {
        let columns = table.columns.iter().map(|column| column.comment.as_str());
        columns
            .chain(table.indexes.iter().map(|index| index.comment.as_str()))
            .chain([table.comment.as_str()])
    }
    let is_long = |comment: &str, max: usize| {
        comment.len() > max
            && comment.chars().count() > max
            && !old.is_some_and(|old| comments(old).any(|had| had == comment))
    };
    if is_long(&table.comment, TABLE_COMMENT_MAX) {
        return Err(error::TOO_LONG_TABLE_COMMENT.with(&[&table.name, &TABLE_COMMENT_MAX]));
    }
    if let Some(column) = table.columns.iter().find(|column| is_long(&column.comment, COMMENT_MAX)) {
        return Err(error::TOO_LONG_FIELD_COMMENT.with(&[&column.name, &COMMENT_MAX]));
    }
    match table.indexes.iter().find(|index| is_long(&index.comment, COMMENT_MAX)) {
        Some(index) => Err(error::TOO_LONG_INDEX_COMMENT.with(&[&index.name, &COMMENT_MAX])),
        None => Ok(()),
    }
}

/// Error 3822 for a CHECK whose name another table of the database has. `old` is the table as it
/// is: names that it has in this database are not asked about again.
pub(super) fn check_names_of_checks(
    table: &TableDef,
    old: Option<&TableDef>,
    state: &CatalogState,
    settings: &Settings,
) -> Result<()> {
    let in_place = old.filter(|old| old.database == table.database);
    let had: HashSet<String> =
        in_place.iter().flat_map(|old| &old.checks).map(|check| check.name.to_lowercase()).collect();
    let named = table.checks.iter().map(|check| (check.name.to_lowercase(), &check.name));
    let new: HashMap<String, &String> = named.filter(|(name, _)| !had.contains(name)).collect();
    if new.is_empty() || !settings.from_client {
        return Ok(());
    }
    let Some(database) = state.database(&table.database) else { return Ok(()) };
    for other in database.tables.values() {
        datum::bounds::check()?;
        if old.is_some_and(|old| old.id == other.id) {
            continue;
        }
        if let Some(name) = other.checks.iter().find_map(|check| new.get(&check.name.to_lowercase())) {
            return Err(error::CHECK_CONSTRAINT_DUP_NAME.with(&[name]));
        }
    }
    Ok(())
}

/// Error 3750 for a table without a primary key under `sql_require_primary_key`. As in MySQL a
/// unique key of columns that are NOT NULL will do, but only one that the statement itself defines:
/// `is_new` by the index's number.
pub(super) fn check_required_key(
    table: &TableDef,
    is_new: impl Fn(usize) -> bool,
    settings: &Settings,
) -> Result<()> {
    let whole = |part: &KeyPart| {
        let column = &table.columns[part.column];
        part.prefix_len.is_none() && !column.nullable && !column.is_hidden()
    };
    let is_row_id = |index: &IndexDef| index.parts.iter().any(|part| table.columns[part.column].is_row_id());
    let has_key = |(number, index): (usize, &IndexDef)| match index.name == "PRIMARY" {
        true => !is_row_id(index),
        false => index.unique && is_new(number) && index.parts.iter().all(whole),
    };
    let mut indexes = table.indexes.iter().enumerate();
    match !settings.requires_key || indexes.any(has_key) {
        true => Ok(()),
        false => Err(error::TABLE_WITHOUT_PK.plain()),
    }
}

pub(super) fn provisional(
    name: &ObjectName,
    definition: &TableDefinition,
    state: &CatalogState,
    settings: &Settings,
) -> Result<TableDef> {
    let (database, name) = settings.object(name)?;
    let environment = settings.environment(existing_database(state, database)?);
    build::build(database, name, definition, &[], environment, temporary::provisional())
}

/// The text that makes a table, whatever the default database.
pub(super) fn qualified_text(table: &TableDef, settings: &Settings) -> Vec<u8> {
    let text = show::create_table(table, table.auto_start, settings.zone);
    let qualified = format!("{}.{}", show::quote(&table.database), show::quote(&table.name));
    text.replacen(&show::quote(&table.name), &qualified, 1).into_bytes()
}

fn new_numbers(state: &CatalogState) -> Numbers {
    Numbers { table: state.next.table, trees: Trees::From(state.next.tree) }
}

fn put(table: TableDef, state: &CatalogState) -> Change {
    let next = put_next(state, &table);
    Change::PutTable(Arc::new(table), next)
}

/// The numbers after those of a table. Trees that were built have numbers of their own.
pub(super) fn put_next(state: &CatalogState, table: &TableDef) -> NextNumbers {
    let trees = table.schema.indexes().map(|index| index.tree().0).filter(|&tree| tree < FIRST_BUILT);
    let tree = trees.map(|tree| tree + 1).max().unwrap_or(0).max(state.next.tree);
    NextNumbers { table: state.next.table.max(table.id + 1), tree }
}

pub(super) fn existing_database(state: &CatalogState, database: &str) -> Result<Collation> {
    state.database(database).map(|d| d.collation).ok_or_else(|| error::BAD_DB_ERROR.with(&[&database]))
}

pub(super) fn existing(state: &CatalogState, database: &str, name: &str) -> Result<Arc<TableDef>> {
    existing_database(state, database)?;
    state.check_usable(&ObjectKey::table(database, name))?;
    state.table(database, name).cloned().ok_or_else(|| match state.view(database, name) {
        Some(_) => error::WRONG_OBJECT.with(&[&database, &name, &"BASE TABLE"]),
        None => error::NO_SUCH_TABLE.with(&[&database, &name]),
    })
}

/// The same definition with another name or other numbers.
fn rebuild(
    table: &TableDef,
    database: &str,
    name: &str,
    auto_start: u64,
    numbers: Numbers,
) -> Result<TableDef> {
    use syntax::ast::StatementKind;
    let text = show::create_table(table, auto_start, Zone::UTC);
    let StatementKind::CreateTable(create) = parse_one(text.as_bytes(), 0)?.kind else {
        return Err(SqlError::internal("a table's text makes no table"));
    };
    let TableContent::Definition(mut definition) = create.content else {
        return Err(SqlError::internal("a table's text defines no columns"));
    };
    if (database, name) != (&table.database, &table.name) {
        // The names of constraints are the table's own.
        definition.checks.iter_mut().for_each(|check| check.name = None);
    }
    let dates = datum::value::temporal::DateRules { allow_invalid: true, ..Default::default() };
    let environment = build::Environment {
        collation: table.collation,
        charset: datum::types::Charset::Utf8mb4,
        connection: datum::types::Charset::Utf8mb4,
        dates,
        truncate_fraction: false,
        zone: Zone::UTC,
        shows_generated_key: false,
        explicit_timestamps: true,
        strict: true,
        from_client: false,
    };
    build::build(database, name, &definition, &[], environment, numbers)
}

/// The columns of which ALTER COLUMN .. DROP DEFAULT took the default have none in the new table
/// either. Its text, without a default, means DEFAULT NULL.
fn take_defaults(new: &mut TableDef, table: &TableDef) {
    for number in columns_without_default(table) {
        new.columns[number].default = table_def::Default::None;
    }
}

pub(super) fn drop(drop: &DropTable, state: &CatalogState, settings: &Settings) -> Result<Plan> {
    let mut plan = Plan::default();
    let mut missing = Vec::new();
    for name in &drop.names {
        let (database, table) = settings.object(name)?;
        check_not_system(database)?;
        let own = settings.temporary.get(database, table);
        match own.or_else(|| state.table(database, table)) {
            _ if drop.temporary && own.is_none() => missing.push(format!("{database}.{table}")),
            Some(found) if plan.changes.iter().any(|c| is_drop_of(c, found)) => {
                return Err(error::NONUNIQ_TABLE.with(&[&table]));
            }
            Some(found) => plan.changes.push(Change::DropTable(found.clone())),
            None if let Some(object) = state.set_aside(&ObjectKey::table(database, table)) => {
                plan.changes.push(Change::DropSetAside(object.clone()));
            }
            None => missing.push(format!("{database}.{table}")),
        }
    }
    plan.logged = without_temporary(&plan.changes);
    let mut dropped = Vec::with_capacity(plan.changes.len());
    for change in &plan.changes {
        if let Change::DropTable(table) = change {
            dropped.push(table);
        }
    }
    check_drops(&dropped, state, settings)?;
    if missing.is_empty() {
        return Ok(plan);
    }
    if !drop.if_exists {
        return Err(error::BAD_TABLE_ERROR.with(&[&missing.join(",")]));
    }
    plan.notes = missing.iter().map(|name| error::BAD_TABLE_ERROR.with(&[name])).collect();
    Ok(plan)
}

/// The statement for the log if some of the tables are temporary: it drops the others.
fn without_temporary(drops: &[Change]) -> Option<LoggedText> {
    let tables = || drops.iter().filter_map(|c| if let Change::DropTable(t) = c { Some(t) } else { None });
    if tables().all(|table| !table.is_temporary()) {
        return None;
    }
    let logged = tables().filter(|table| !table.is_temporary());
    let names: Vec<String> =
        logged.map(|t| format!("{}.{}", show::quote(&t.database), show::quote(&t.name))).collect();
    Some(LoggedText::canonical(format!("DROP TABLE {}", names.join(",")).into_bytes()))
}

/// Warnings 1831: indexes that are new and say the same as one before them.
pub(super) fn repeated_indexes(table: &TableDef, is_new: impl Fn(usize) -> bool) -> Vec<SqlError> {
    let indexes = &table.indexes;
    let is_same =
        |a: &IndexDef, b: &IndexDef| a.parts == b.parts && a.unique == b.unique && a.name != "PRIMARY";
    let repeats = |index: &usize| indexes[..*index].iter().any(|other| is_same(other, &indexes[*index]));
    let all = (0..indexes.len()).filter(|&index| is_new(index)).filter(repeats);
    all.map(|i| error::DUP_INDEX.with(&[&indexes[i].name, &table.database, &table.name])).collect()
}

/// The same table under another name; the names that its CHECK constraints were given follow.
fn renamed(table: &TableDef, database: &str, name: &str) -> Result<TableDef> {
    let trees: Vec<_> = table.schema.indexes().map(|index| index.tree()).collect();
    let mut new = table.clone();
    let prefix = format!("{}_chk_", table.name);
    for check in &mut new.checks {
        if let Some(number) = check.name.strip_prefix(&prefix) {
            check.name = format!("{name}_chk_{number}");
            check_constraint_name(&check.name)?;
        }
    }
    let (old, own) =
        (table.qualified_name(), TableName { database: database.to_owned(), name: name.to_owned() });
    for key in &mut new.foreign_keys {
        if let Some(renamed) = foreign_keys::renamed(&key.name, &table.name, name) {
            key.name = renamed;
            check_constraint_name(&key.name)?;
        }
        if key.parent == old {
            key.parent = own.clone();
        }
    }
    // As a definition that is read has them.
    new.checks.sort_by(|a, b| a.name.cmp(&b.name));
    foreign_keys::sort(&mut new.foreign_keys);
    let schema = draft::schema_of(table.id, database, name, &table.columns, &table.indexes, &trees)?;
    new.schema = Arc::new(schema);
    (new.database, new.name) = (database.to_owned(), name.to_owned());
    new.trigger_programs = OnceLock::new();
    Ok(new)
}

/// Error 1435 for a table with triggers that would go to another database.
pub(super) fn check_schema_of_triggers(table: &TableDef, to_database: &str) -> Result<()> {
    match table.database != to_database && !table.triggers.is_empty() {
        true => Err(error::TRG_IN_WRONG_SCHEMA.plain()),
        false => Ok(()),
    }
}

fn is_drop_of(change: &Change, table: &Arc<TableDef>) -> bool {
    matches!(change, Change::DropTable(dropped) if Arc::ptr_eq(dropped, table))
}

/// The table is dropped and made again, with new numbers: its rows go with their trees, at no cost
/// per row.
pub(super) fn truncate(name: &ObjectName, state: &CatalogState, settings: &Settings) -> Result<Plan> {
    let (database, name) = settings.object(name)?;
    check_not_system(database)?;
    let is_hidden = settings.temporary.get(database, name).is_some();
    if !is_hidden && state.view(database, name).is_some() {
        return Err(error::NO_SUCH_TABLE.with(&[&database, &name]));
    }
    let table = settings.existing(state, database, name)?;
    if table.is_temporary() {
        let mut new = rebuild(&table, database, name, 1, temporary::provisional())?;
        take_defaults(&mut new, &table);
        let changes = vec![Change::DropTable(table), Change::PutTable(Arc::new(new), state.next)];
        return Ok(Plan { changes, ..Plan::default() });
    }
    check_truncate(&table, state, settings)?;
    let numbers = new_numbers(state);
    let mut new = rebuild(&table, database, name, 1, numbers)?;
    take_defaults(&mut new, &table);
    new.created = table.created;
    new.triggers = table.triggers.clone();
    // Sessions that wait for the table wait for its name.
    new.lock = table.lock.clone();
    Ok(Plan { changes: vec![Change::DropTable(table), put(new, state)], ..Plan::default() })
}

pub(super) fn rename(
    pairs: &[(ObjectName, ObjectName)],
    state: &CatalogState,
    settings: &Settings,
) -> Result<Plan> {
    let mut state = state.clone();
    let mut plan = Plan::default();
    for (from, to) in pairs {
        datum::bounds::check()?;
        let (from_database, from_name) = settings.object(from)?;
        let (to_database, to_name) = settings.object(to)?;
        check_not_system(from_database)?;
        check_not_system(to_database)?;
        check_name(to_name, error::WRONG_TABLE_NAME)?;
        let view = state.view(from_database, from_name).cloned();
        let table = match view {
            Some(_) => None,
            None => Some(existing(&state, from_database, from_name)?),
        };
        existing_database(&state, to_database)?;
        state.check_usable(&ObjectKey::table(to_database, to_name))?;
        state.check_usable(&ObjectKey::view(to_database, to_name))?;
        if state.table(to_database, to_name).is_some() || state.view(to_database, to_name).is_some() {
            return Err(error::TABLE_EXISTS_ERROR.with(&[&to_name]));
        }
        if let Some(view) = view {
            for change in super::view::rename(&view, to_database, to_name)? {
                crate::catalog::record::apply(&change, &mut state, LogPosition::ZERO);
                plan.changes.push(change);
            }
            continue;
        }
        let Some(table) = table else { continue };
        check_schema_of_triggers(&table, to_database)?;
        let mut renamed = renamed(&table, to_database, to_name)?;
        check_names_of_checks(&renamed, Some(&table), &state, settings)?;
        let origins: Vec<Option<usize>> = (0..table.columns.len()).map(Some).collect();
        let mut made = Redefinition { old: Some(&table), new: &mut renamed, origins: &origins };
        made.complete(&state, settings)?;
        let followers = made.followers(&state);
        let change = Change::AlterTable(table, Arc::new(renamed), state.next);
        for change in std::iter::once(change).chain(followers) {
            // Its layouts have their places already.
            crate::catalog::record::apply(&change, &mut state, LogPosition::ZERO);
            plan.changes.push(change);
        }
    }
    Ok(plan)
}
