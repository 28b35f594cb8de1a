//! Indexes on expressions.
//!
//! Each expression becomes a generated column that clients are not shown, and the index is on that
//! column. The statement is rewritten so before anything else is done with it, and it is what it
//! says then that is planned, logged and replayed: the column's type is the expression's, and only
//! a session can find that out.

use std::sync::Arc;

use super::create_select::{CreateSelect, column_type};
use crate::catalog::build::KEY_PART_COMMENT;
use crate::catalog::ddl::TextForm;
use crate::catalog::show::{quote, quote_text};
use crate::catalog::{TableDef, ddl, parse_one};
use crate::expression::{Resolver, Scope};
use crate::session::Context;
use crate::variables::sql_mode;
use datum::error::{self, Result, SqlError};
use datum::types::DataType;
use syntax::ast::{
    AlterAction, AlterAlgorithm, AlterLock, ColumnDefinition, Expr, ExprKind, Ident, KeyDefinition, KeyKind,
    KeyPart, ObjectName, Statement, StatementKind, TableContent, TableDefinition,
};
use syntax::unparse;

/// A statement with columns in place of the expressions in its keys.
pub(super) struct Rewritten {
    pub(super) statement: Statement,
    /// The text that has its spans.
    pub(super) text: Vec<u8>,
    pub(super) form: TextForm,
}

/// Puts columns in place of the expressions in a statement's keys; `None` if it has none.
pub(super) fn rewrite(cx: &mut Context, statement: &Statement, text: &[u8]) -> Result<Option<Rewritten>> {
    match &statement.kind {
        StatementKind::CreateTable(create) => {
            let TableContent::Definition(definition) = &create.content else { return Ok(None) };
            if !definition.keys.iter().any(has_expression) {
                return Ok(None);
            }
            if CreateSelect::of(&statement.kind).is_some() {
                return Err(SqlError::unsupported("indexes on expressions in CREATE TABLE .. SELECT"));
            }
            let definition = rewrite_definition(cx, &create.name, definition)?;
            let mut create = create.clone();
            create.content = TableContent::Definition(definition);
            let kind = StatementKind::CreateTable(create);
            // What is logged is the table's text, with these columns.
            let statement = Statement { kind, ..statement.clone() };
            Ok(Some(Rewritten { statement, text: text.to_vec(), form: TextForm::Session }))
        }
        StatementKind::CreateIndex(create) if has_expression(&create.key) => {
            rewrite_keys(cx, &create.table, &[&create.key], create.algorithm, create.lock).map(Some)
        }
        StatementKind::AlterTable(alter) => {
            let keys: Vec<&KeyDefinition> = alter.actions.iter().filter_map(added_key).collect();
            if !keys.iter().any(|key| has_expression(key)) {
                return Ok(None);
            }
            if keys.len() < alter.actions.len() {
                return Err(SqlError::unsupported("indexes on expressions beside other changes of a table"));
            }
            rewrite_keys(cx, &alter.name, &keys, alter.algorithm, alter.lock).map(Some)
        }
        _ => Ok(None),
    }
}

fn added_key(action: &AlterAction) -> Option<&KeyDefinition> {
    if let AlterAction::AddKey(key) = action { Some(key) } else { None }
}

fn has_expression(key: &KeyDefinition) -> bool {
    key.parts.iter().any(|part| matches!(part, KeyPart::Expression { .. }))
}

/// CREATE TABLE: the columns stand after the others.
fn rewrite_definition(
    cx: &mut Context,
    name: &ObjectName,
    definition: &TableDefinition,
) -> Result<TableDefinition> {
    let mut plain = definition.clone();
    plain.keys.retain(|key| !has_expression(key));
    let table = ddl::provisional(name, &plain, &cx.catalog().state(), &cx.ddl_settings())?;
    let named = definition.keys.iter().filter_map(|key| key.name.as_ref().map(ToString::to_string));
    let mut keys = Keys { table: Arc::new(table), names: named.collect() };
    let mut rewritten = definition.clone();
    for key in rewritten.keys.iter_mut().filter(|key| has_expression(key)) {
        for column in keys.rewrite(cx, key)? {
            rewritten.columns.push(parsed_column(cx, &column)?);
        }
    }
    Ok(rewritten)
}

/// ALTER TABLE, CREATE INDEX: columns are added, and keys on them.
fn rewrite_keys(
    cx: &mut Context,
    name: &ObjectName,
    keys: &[&KeyDefinition],
    algorithm: Option<AlterAlgorithm>,
    lock: Option<AlterLock>,
) -> Result<Rewritten> {
    let table = ddl::existing_table(name, &cx.catalog().state(), &cx.ddl_settings())?;
    let mut names: Vec<String> = table.indexes.iter().map(|index| index.name.clone()).collect();
    names.extend(keys.iter().filter_map(|key| key.name.as_ref().map(ToString::to_string)));
    let mut text = format!("ALTER TABLE {}.{}", quote(&table.database), quote(&table.name)).into_bytes();
    let mut all = Keys { table, names };
    let mut actions: Vec<Vec<u8>> = Vec::new();
    for key in keys {
        let mut key = (*key).clone();
        for column in all.rewrite(cx, &mut key)? {
            actions.push([b"ADD COLUMN ", &column[..]].concat());
        }
        actions.push(key_text(&key).into_bytes());
    }
    actions.extend(algorithm.map(|a| format!("ALGORITHM={}", algorithm_word(a)).into_bytes()));
    actions.extend(lock.map(|l| format!("LOCK={}", lock_word(l)).into_bytes()));
    text.push(b' ');
    text.extend(actions.join(&b", "[..]));
    let statement = parse_one(&text, canonical_mode(cx))?;
    Ok(Rewritten { statement, text, form: TextForm::Canonical })
}

/// The keys of a statement, and what their expressions may read.
struct Keys {
    table: Arc<TableDef>,
    /// Names that are given or taken.
    names: Vec<String>,
}

impl Keys {
    /// Puts columns in place of a key's expressions, and gives it a name if it has none; the
    /// columns' definitions.
    fn rewrite(&mut self, cx: &mut Context, key: &mut KeyDefinition) -> Result<Vec<Vec<u8>>> {
        if !has_expression(key) {
            return Ok(Vec::new());
        }
        match key.kind {
            KeyKind::Primary => return Err(error::FUNCTIONAL_INDEX_PRIMARY_KEY.plain()),
            KeyKind::Fulltext => return Err(SqlError::unsupported("FULLTEXT indexes")),
            KeyKind::Spatial => return Err(SqlError::unsupported("SPATIAL indexes")),
            KeyKind::Unique | KeyKind::Index => {}
        }
        let index = key.name.as_ref().map_or_else(|| self.free_name(), ToString::to_string);
        key.name = Some(Ident::new(index.as_str()));
        let mut columns = Vec::new();
        for (number, part) in key.parts.iter_mut().enumerate() {
            let KeyPart::Expression { expr, descending } = part else { continue };
            let name = column_name(&self.table, &index, number);
            columns.push(self.column(cx, &index, &name, expr)?);
            *part =
                KeyPart::Column { name: Ident::new(name.as_str()), length: None, descending: *descending };
        }
        Ok(columns)
    }

    fn free_name(&mut self) -> String {
        let numbered = (2..).map(|number| format!("functional_index_{number}"));
        let mut names = std::iter::once("functional_index".to_owned()).chain(numbered);
        let is_free = |name: &String| !self.names.iter().any(|other| other.eq_ignore_ascii_case(name));
        let name = names.find(is_free).unwrap_or_default();
        self.names.push(name.clone());
        name
    }

    /// The definition of the column that has an expression's values.
    fn column(&self, cx: &mut Context, index: &str, name: &str, expr: &Expr) -> Result<Vec<u8>> {
        match expr.kind {
            ExprKind::Column(_) => return Err(error::FUNCTIONAL_INDEX_ON_FIELD.plain()),
            ExprKind::Row(_) => return Err(error::FUNCTIONAL_INDEX_ROW_VALUE_IS_NOT_ALLOWED.with(&[&index])),
            _ => {}
        }
        let mut resolver = Resolver::new(cx, Scope::of_table(self.table.clone(), &self.table.name));
        resolver.scope.clause = "functional index";
        let ty = column_type(&resolver.expr(expr)?.ty);
        match ty {
            DataType::Json => return Err(error::FUNCTIONAL_INDEX_ON_JSON_OR_GEOMETRY_FUNCTION.plain()),
            DataType::Lob { .. } => return Err(error::FUNCTIONAL_INDEX_ON_LOB.plain()),
            _ => {}
        }
        let mut text = format!("{} {ty}", quote(name));
        if ty.is_character() {
            let collation = ty.collation();
            text += &format!(" CHARACTER SET {} COLLATE {}", collation.charset().name(), collation.name());
        }
        let mut text = (text + " GENERATED ALWAYS AS (").into_bytes();
        text.extend(unparse::expr(expr));
        text.extend(format!(") VIRTUAL INVISIBLE COMMENT {}", quote_text(KEY_PART_COMMENT)).into_bytes());
        Ok(text)
    }
}

/// What text written here is read with.
fn canonical_mode(cx: &Context) -> u64 {
    cx.ddl_settings().sql_mode & !sql_mode::SYNTAX
}

/// MySQL's name for such a column; of a long index's name as much as there is room for.
fn column_name(table: &TableDef, index: &str, part: usize) -> String {
    let index: String = index.chars().take(48).collect();
    // An index that was renamed keeps its column.
    let mut nth = 0;
    loop {
        let name = format!("!hidden!{index}!{part}!{nth}");
        if table.columns.iter().all(|column| !column.name.eq_ignore_ascii_case(&name)) {
            return name;
        }
        nth += 1;
    }
}

fn parsed_column(cx: &Context, column: &[u8]) -> Result<ColumnDefinition> {
    let text = [b"CREATE TABLE t (", column, b")"].concat();
    match parse_one(&text, canonical_mode(cx))?.kind {
        StatementKind::CreateTable(create) => match create.content {
            TableContent::Definition(mut definition) if definition.columns.len() == 1 => {
                Ok(definition.columns.remove(0))
            }
            _ => Err(SqlError::internal("a hidden column that is none")),
        },
        _ => Err(SqlError::internal("a hidden column that is no part of a table")),
    }
}

/// ADD INDEX, of columns alone.
fn key_text(key: &KeyDefinition) -> String {
    let part = |part: &KeyPart| match part {
        KeyPart::Column { name, length, descending } => {
            let length = length.map_or(String::new(), |n| format!("({n})"));
            format!("{}{length}{}", quote(name), if *descending { " DESC" } else { "" })
        }
        KeyPart::Expression { .. } => String::new(),
    };
    let parts: Vec<String> = key.parts.iter().map(part).collect();
    let what = match key.kind {
        KeyKind::Primary => "PRIMARY KEY",
        KeyKind::Unique => "UNIQUE INDEX",
        _ => "INDEX",
    };
    let name = key.name.as_ref().map_or(String::new(), |name| format!(" {}", quote(name)));
    let mut text = format!("ADD {what}{name} ({})", parts.join(", "));
    if let Some(comment) = &key.options.comment {
        text += &format!(" COMMENT {}", quote_text(&comment.to_str_lossy()));
    }
    match key.options.visible {
        Some(true) => text + " VISIBLE",
        Some(false) => text + " INVISIBLE",
        None => text,
    }
}

fn algorithm_word(algorithm: AlterAlgorithm) -> &'static str {
    match algorithm {
        AlterAlgorithm::Default => "DEFAULT",
        AlterAlgorithm::Instant => "INSTANT",
        AlterAlgorithm::Inplace => "INPLACE",
        AlterAlgorithm::Copy => "COPY",
    }
}

fn lock_word(lock: AlterLock) -> &'static str {
    match lock {
        AlterLock::Default => "DEFAULT",
        AlterLock::None => "NONE",
        AlterLock::Shared => "SHARED",
        AlterLock::Exclusive => "EXCLUSIVE",
    }
}
