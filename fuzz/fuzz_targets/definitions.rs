//! A definition, the text that is kept of it, and the definition that is read from that text
//! (R1 of ARCHITECTURE.md).
//!
//! The first byte chooses the `sql_mode`, the second the database's collation; the rest is a CREATE
//! TABLE. What `catalog::build` accepts is shown as the catalog's record has it, parsed under the
//! record's settings and built again. That may fail with the error of a limit, with which the
//! server then refuses the statement before it is logged; it may not come back as another
//! definition, and nothing may panic.
#![no_main]

use datum::error::SqlError;
use datum::types::{Charset, Collation};
use datum::value::temporal::DateRules;
use datum::value::zone::Zone;
use libfuzzer_sys::fuzz_target;
use sql::catalog::build::{Environment, Numbers, Trees, build};
use sql::catalog::{TableDef, show};
use sql::variables::sql_mode as mode;
use syntax::ast::{StatementKind, TableContent};
use syntax::parser::{ParseOptions, parse};

const MODES: [u64; 6] = [
    mode::ANSI_QUOTES,
    mode::PIPES_AS_CONCAT,
    mode::NO_BACKSLASH_ESCAPES,
    mode::IGNORE_SPACE,
    mode::HIGH_NOT_PRECEDENCE,
    mode::REAL_AS_FLOAT,
];

const COLLATIONS: [Collation; 3] = [Collation::UTF8MB4_0900_AI_CI, Collation::UTF8MB4_BIN, Collation::BINARY];

/// Errors of limits: a nested expression, a long name, many columns, a large row, a long key.
const LIMITS: [u16; 8] = [1436, 1059, 1117, 1118, 1071, 1069, 1070, 1074];

fuzz_target!(|data: &[u8]| {
    let [modes, collation, text @ ..] = data else { return };
    let chosen = MODES.iter().enumerate().filter(|(bit, _)| modes >> bit & 1 == 1);
    let collation = COLLATIONS[usize::from(*collation) % COLLATIONS.len()];
    let Some(made) = define(text, chosen.map(|(_, mode)| mode).sum(), collation) else { return };
    let Ok(made) = made else { return };
    let kept = show::create_table(&made, made.auto_start, Zone::UTC);
    match define(kept.as_bytes(), 0, Collation::UTF8MB4_0900_AI_CI) {
        Some(Ok(read)) => assert_eq!(show::create_table(&read, read.auto_start, Zone::UTC), kept),
        Some(Err(error)) if LIMITS.contains(&error.number) => {}
        Some(Err(error)) => panic!("{error:?}: {kept}"),
        None => panic!("no definition any more: {kept}"),
    }
});

/// The table that a text defines, or the error; none if it is not the definition of a table.
fn define(text: &[u8], sql_mode: u64, collation: Collation) -> Option<Result<TableDef, SqlError>> {
    let options = ParseOptions { sql_mode, ..ParseOptions::default() };
    let statement = parse(text, &options).ok()??;
    let StatementKind::CreateTable(create) = statement.kind else { return None };
    let TableContent::Definition(definition) = create.content else { return None };
    // The columns of a query would be missing.
    if definition.query.is_some() || statement.parameters > 0 {
        return None;
    }
    let environment = Environment {
        collation,
        charset: Charset::Utf8mb4,
        connection: Charset::Utf8mb4,
        // What was accepted once is not judged again.
        dates: DateRules { allow_invalid: true, ..DateRules::default() },
        truncate_fraction: false,
        zone: Zone::UTC,
        from_client: false,
        shows_generated_key: false,
        strict: false,
    };
    let numbers = Numbers { table: 1, trees: Trees::From(256) };
    Some(build("d", &create.name.name, &definition, &[], environment, numbers))
}
