//! Databases and tables before the rows; views, routines, triggers and events behind them.

use super::local::{Local, LocalSession};
use super::unfinished::Unfinished;
use crate::log_tool::ToolError;
use crate::remote::definitions::{Definition, Definitions, ObjectKind, databases, string_literal};
use crate::remote::{Remote, Runs, text};
use std::collections::{BTreeMap, BTreeSet};
use syntax::unparse;

/// The wanted definitions of some databases, in the order of a dump.
///
/// # Errors
/// The server's.
pub(super) fn read(
    remote: &Remote,
    databases: &[String],
    wanted: &dyn Fn(&Definition) -> bool,
) -> Result<Vec<Definition>, ToolError> {
    let mut definitions = Definitions::connect(remote)?;
    let (mut found, mut hidden) = (Vec::new(), Vec::new());
    let each = |definition: Definition| {
        if wanted(&definition) {
            found.push(definition.with_expression_defaults());
        }
        Ok(())
    };
    definitions.of(databases, each, |object| hidden.push(object))?;
    match hidden.first() {
        Some(object) => Err(ToolError::Refused(format!("{}: not seen: {object}", remote.server()))),
        None => Ok(found),
    }
}

/// Makes databases and tables; tables of an earlier try stay if their definitions have. Returns
/// those that stayed.
///
/// # Errors
/// The database's.
pub(super) fn make_tables(
    local: &Local,
    definitions: &[Definition],
    unfinished: &mut Unfinished,
) -> Result<BTreeSet<String>, ToolError> {
    let tables = definitions.iter().filter(|d| d.kind == ObjectKind::Table);
    let digests: BTreeMap<String, String> = tables.map(|d| (d.place(), digest(&d.text))).collect();
    let kept: BTreeSet<String> = digests
        .iter()
        .filter(|(table, digest)| unfinished.has(table, digest))
        .map(|(t, _)| t.clone())
        .collect();
    let gone: Vec<String> = unfinished.tables().filter(|t| !kept.contains(*t)).map(str::to_owned).collect();
    // A table that is dropped below is none that was made.
    unfinished.set_tables(
        digests.iter().filter(|(t, _)| kept.contains(*t)).map(|(t, d)| (t.clone(), d.clone())).collect(),
    )?;
    local.with_session(|session| {
        session.takes_definitions()?;
        drop_triggers(session)?;
        drop_others(session, definitions)?;
        for place in gone {
            let (database, table) = place.split_once('.').unwrap_or((&place, ""));
            session.run(&format!(
                "DROP TABLE IF EXISTS {}.{}",
                unparse::ident(database),
                unparse::ident(table)
            ))?;
        }
        for definition in definitions {
            match definition.kind {
                ObjectKind::Database => {
                    session.run(&definition.text.replacen(
                        "CREATE DATABASE ",
                        "CREATE DATABASE IF NOT EXISTS ",
                        1,
                    ))?;
                }
                ObjectKind::Table if kept.contains(&definition.place()) => {
                    restart_counter(session, definition)?
                }
                ObjectKind::Table => {
                    let name = name(definition);
                    session.run(&format!("DROP TABLE IF EXISTS {name}"))?;
                    session.run(&format!("USE {}", unparse::ident(&definition.database)))?;
                    session.run(&definition.text)?;
                }
                _ => {}
            }
        }
        Ok(())
    })?;
    unfinished.set_tables(digests)?;
    Ok(kept)
}

/// An earlier try may have made triggers, which would act on the rows that are copied.
fn drop_triggers(session: &mut LocalSession) -> Result<(), ToolError> {
    let rows = session.rows("SELECT TRIGGER_SCHEMA, TRIGGER_NAME FROM information_schema.TRIGGERS")?;
    for row in rows {
        let mut cells =
            row.into_iter().map(|cell| unparse::ident(&cell.map(text).unwrap_or_default()).to_string());
        let mut next = || cells.next().unwrap_or_default();
        session.run(&format!("DROP TRIGGER {}.{}", next(), next()))?;
    }
    Ok(())
}

/// Databases of an earlier try that the source has no more.
fn drop_others(session: &mut LocalSession, definitions: &[Definition]) -> Result<(), ToolError> {
    for name in databases(session)? {
        if !definitions.iter().any(|d| d.kind == ObjectKind::Database && d.name == name) {
            session.run(&format!("DROP DATABASE {}", unparse::ident(&name)))?;
        }
    }
    Ok(())
}

/// Makes the others; returns those that are refused after all, with the reason.
///
/// # Errors
/// The database's own.
pub(super) fn make_others(local: &Local, definitions: &[Definition]) -> Result<Vec<String>, ToolError> {
    let others = definitions.iter().filter(|d| !matches!(d.kind, ObjectKind::Database | ObjectKind::Table));
    local.with_session(|session| {
        let mut refused = Vec::new();
        for definition in others {
            if let Err(e) = make(session, definition) {
                refused.push(format!(
                    "{} {}: {e}",
                    definition.kind.word().to_lowercase(),
                    definition.place()
                ));
            }
        }
        Ok(refused)
    })
}

fn make(session: &mut LocalSession, definition: &Definition) -> Result<(), ToolError> {
    let Definition { kind, settings, .. } = definition;
    session.takes_definitions()?;
    session.run(&format!("USE {}", unparse::ident(&definition.database)))?;
    session.run(&format!("DROP {} IF EXISTS {}", kind.word(), name(definition)))?;
    for (variable, value) in settings {
        session.run(&format!("SET SESSION {variable} = {}", string_literal(value)))?;
    }
    session.run(&definition.text_for_replica())
}

fn name(definition: &Definition) -> String {
    format!("{}.{}", unparse::ident(&definition.database), unparse::ident(&definition.name))
}

const COUNTER: &str = " AUTO_INCREMENT=";

/// The definition without the counter, which each row moves.
fn digest(text: &str) -> String {
    let without = match counter(text) {
        Some((at, digits)) => format!("{}{}", &text[..at], &text[at + COUNTER.len() + digits.len()..]),
        None => text.to_owned(),
    };
    format!("{:08x}-{}", crc32fast::hash(without.as_bytes()), without.len())
}

/// Where a definition has its counter, and its digits: in the table's options, behind the last
/// parenthesis.
fn counter(text: &str) -> Option<(usize, &str)> {
    let options = text.rfind("\n)")?;
    let at = options + text[options..].find(COUNTER)?;
    let digits = &text[at + COUNTER.len()..];
    Some((at, &digits[..digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len())]))
}

fn restart_counter(session: &mut LocalSession, definition: &Definition) -> Result<(), ToolError> {
    match counter(&definition.text) {
        Some((_, digits)) => {
            session.run(&format!("ALTER TABLE {} AUTO_INCREMENT = {digits}", name(definition)))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_no_part_of_a_definition() {
        let text = |counter: &str| {
            format!(
                "CREATE TABLE `t` (\n  `a` int COMMENT ' AUTO_INCREMENT=7'\n) ENGINE=InnoDB{counter} DEFAULT CHARSET=latin1"
            )
        };
        assert_eq!(digest(&text(" AUTO_INCREMENT=12")), digest(&text("")));
        assert_ne!(digest(&text("")), digest(&text(" ROW_FORMAT=DYNAMIC")));
        assert_eq!(counter(&text(" AUTO_INCREMENT=12")).map(|(_, digits)| digits), Some("12"));
        assert_eq!(counter(&text("")), None);
    }
}
