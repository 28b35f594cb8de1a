//! What is refused of new definitions only, because a MySQL replica would stop at it, or take it
//! for something else. What an older version took stays, and can be started from.

use std::collections::HashSet;

use super::draft::parse_stored;
use super::objects::CatalogState;
use super::record::Change;
use super::table::{CheckDef, TableDef};
use datum::error::{self, Code, Result};
use syntax::ast::{BinaryOp, Expr, ExprKind, Literal, UnaryOp};

/// Checks what a client's statement defines, against the catalog that it finds.
///
/// # Errors
/// 1300 for names with characters beyond U+FFFF: MySQL has names in utf8mb3, and makes `?` of
/// these, so that rows have no table. 1102, 1103, 1166, 1280 for names that end in white space.
/// 1470 for accounts whose name or host is too long. 3812 for a CHECK that is no condition.
pub(super) fn check(change: &Change, state: &CatalogState) -> Result<()> {
    use Change as C;
    match change {
        C::PutDatabase(name, _) if state.database(name).is_none() => {
            check_name(name, Some(error::WRONG_DB_NAME))
        }
        C::PutTable(table, _) if state.table(&table.database, &table.name).is_none() => {
            table_names(table).iter().try_for_each(|(name, wrong)| check_name(name, *wrong))?;
            table.checks.iter().try_for_each(check_condition)
        }
        C::AlterTable(from, to, _) => {
            let before: HashSet<String> = table_names(from).into_iter().map(|(name, _)| name).collect();
            let new = table_names(to).into_iter().filter(|(name, _)| !before.contains(name));
            new.into_iter().try_for_each(|(name, wrong)| check_name(&name, wrong))?;
            let triggers = to.triggers.list().iter();
            let mut new_triggers = triggers.filter(|trigger| from.triggers.named(&trigger.name).is_none());
            new_triggers.try_for_each(|trigger| check_name(&trigger.name, None))?;
            let before: HashSet<&str> = from.checks.iter().map(|check| &*check.expr).collect();
            let is_new = |check: &&CheckDef| !before.contains(&*check.expr);
            to.checks.iter().filter(is_new).try_for_each(check_condition)
        }
        C::PutRoutine(function) => check_name(&function.name, None),
        C::PutEvent(event) => check_name(&event.name, None),
        C::PutView(view) => {
            check_name(&view.name, Some(error::WRONG_TABLE_NAME))?;
            view.columns.iter().try_for_each(|column| check_name(column, Some(error::WRONG_COLUMN_NAME)))
        }
        C::PutUser(user) if !state.users.contains_key(&user.key()) => {
            check_name(&user.user, None)?;
            check_name(&user.host, None)?;
            check_length(&user.user, "user name", USER_MAX)?;
            check_length(&user.host, "host name", HOST_MAX)
        }
        C::PutDatabase(..) | C::PutTable(..) | C::PutUser(_) => Ok(()),
        C::DropDatabase(_) | C::DropTable(_) | C::DropRoutine(..) | C::DropUser(..) => Ok(()),
        C::DropView(_) | C::DropEvent(..) => Ok(()),
        C::PutAside(_) | C::DropSetAside(_) => Ok(()),
    }
}

/// Characters of an account's name, and of its host.
const USER_MAX: usize = 32;
const HOST_MAX: usize = 255;

/// The names in a table, with the error for white space at their end, where that is one.
fn table_names(table: &TableDef) -> Vec<(String, Option<Code>)> {
    let columns = table.columns.iter().map(|c| (&c.name, Some(error::WRONG_COLUMN_NAME)));
    let keys = table.indexes.iter().map(|i| (&i.name, Some(error::WRONG_NAME_FOR_INDEX)));
    let checks = table.checks.iter().map(|c| (&c.name, None));
    let foreign_keys = table.foreign_keys.iter().map(|key| (&key.name, None));
    let all = columns
        .chain(keys)
        .chain(checks)
        .chain(foreign_keys)
        .chain([(&table.name, Some(error::WRONG_TABLE_NAME))]);
    all.map(|(name, wrong)| (name.clone(), wrong)).collect()
}

fn check_name(name: &str, wrong: Option<Code>) -> Result<()> {
    if let Some(c) = name.chars().find(|c| *c > '\u{ffff}') {
        let shown: String = c.to_string().bytes().map(|byte| format!("\\x{byte:02X}")).collect();
        return Err(error::INVALID_CHARACTER_STRING.with(&[&"utf8mb3", &shown]));
    }
    match wrong {
        Some(wrong) if name.ends_with([' ', '\t', '\n', '\r', '\u{b}', '\u{c}']) => Err(wrong.with(&[&name])),
        _ => Ok(()),
    }
}

fn check_length(text: &str, what: &str, max: usize) -> Result<()> {
    if text.chars().count() <= max {
        return Ok(());
    }
    let shown: String = text.chars().take(70).collect();
    Err(error::WRONG_STRING_LENGTH.with(&[&shown, &what, &max]))
}

fn check_condition(check: &CheckDef) -> Result<()> {
    let expr = parse_stored(&check.expr)?;
    if is_condition(&expr) { Ok(()) } else { Err(error::NON_BOOLEAN_CHECK_CONSTRAINT.with(&[&check.name])) }
}

/// True for what is a condition by its form, as MySQL sees it: the operators and functions that
/// give no other number than 0 and 1, but not what passes the value of one on.
fn is_condition(expr: &Expr) -> bool {
    use ExprKind as E;
    const FUNCTIONS: [&str; 14] = [
        "isnull",
        "is_ipv4",
        "is_ipv4_compat",
        "is_ipv4_mapped",
        "is_ipv6",
        "is_uuid",
        "json_contains",
        "json_contains_path",
        "json_overlaps",
        "json_schema_valid",
        "json_valid",
        "like",
        "regexp_like",
        "strcmp",
    ];
    match &expr.kind {
        E::Literal(Literal::Bool(_)) | E::And(_) | E::Or(_) | E::Is { .. } | E::Between { .. } => true,
        E::InList { .. } | E::InQuery { .. } | E::Like { .. } | E::Regexp { .. } => true,
        E::Quantified { .. } | E::Exists(_) => true,
        E::Unary { op, .. } => *op == UnaryOp::Not,
        E::Binary { op, .. } => {
            op.is_comparison() || matches!(op, BinaryOp::Xor | BinaryOp::SoundsLike | BinaryOp::MemberOf)
        }
        E::Function(call) => FUNCTIONS.iter().any(|name| call.name.is(name)),
        _ => false,
    }
}
