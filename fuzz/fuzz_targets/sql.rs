//! A text for the parser. The first byte chooses the `sql_mode`: the bits that change the lexer and
//! the grammar.
//!
//! Nothing may panic; a query or expression that parses must come out the same when it is written
//! and parsed again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql::variables::sql_mode as mode;
use syntax::ast::StatementKind;
use syntax::parser::{ParseOptions, Parser, parse, parse_expression};
use syntax::unparse;

const MODES: [u64; 6] = [
    mode::ANSI_QUOTES,
    mode::PIPES_AS_CONCAT,
    mode::NO_BACKSLASH_ESCAPES,
    mode::IGNORE_SPACE,
    mode::HIGH_NOT_PRECEDENCE,
    mode::REAL_AS_FLOAT,
];

fuzz_target!(|data: &[u8]| {
    let Some((&choice, text)) = data.split_first() else { return };
    let chosen = MODES.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1);
    let options = ParseOptions { sql_mode: chosen.map(|(_, mode)| mode).sum(), ..ParseOptions::default() };
    let canonical = ParseOptions::default();

    let mut parser = Parser::new(text, &options);
    while parser.position() < text.len() {
        let Ok(statement) = parser.next_statement() else { break };
        if let Some(StatementKind::Query(query)) = statement.filter(|it| it.parameters == 0).map(|it| it.kind)
        {
            let written = unparse::query(&query);
            let again = parse(&written, &canonical).map(|it| it.map(|it| it.kind));
            // Canonical text nests deeper than some that it is made from.
            if !matches!(&again, Err(error) if error.number == 1436) {
                assert_eq!(again, Ok(Some(StatementKind::Query(query))));
            }
        }
    }
    if let Ok(tree) = parse_expression(text, &options) {
        let again = parse_expression(&unparse::expr(&tree), &canonical);
        if !matches!(&again, Err(error) if error.number == 1436) {
            assert_eq!(again, Ok(tree));
        }
    }
});
