//! Many tiny cases: a text and what it reads as.
#![allow(clippy::unwrap_used)]

mod expressions;
mod programs;
mod queries;
mod replicas;
mod soup;
mod statements;

use super::*;
use crate::ast::StatementKind;
use crate::unparse;

fn options(sql_mode: u64) -> ParseOptions {
    ParseOptions { sql_mode, ..ParseOptions::default() }
}

/// All statements of a text.
fn parse_all(sql: &str) -> Result<Vec<Statement>, ParseError> {
    let options = ParseOptions::default();
    let mut parser = Parser::new(sql.as_bytes(), &options);
    let mut statements = Vec::new();
    while parser.position() < sql.len() {
        statements.extend(parser.next_statement()?);
    }
    Ok(statements)
}

fn parse_one(sql: &str) -> Statement {
    match parse(sql.as_bytes(), &ParseOptions::default()) {
        Ok(Some(statement)) => statement,
        Ok(None) => panic!("empty: {sql}"),
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// The statement parses.
fn accepts(sql: &str) {
    parse_one(sql);
}

/// An expression's canonical form under a `sql_mode`; parsing that form again gives the same tree.
fn check_mode(sql: &str, sql_mode: u64, expected: &str) {
    let tree =
        parse_expression(sql.as_bytes(), &options(sql_mode)).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let text = unparse::expr(&tree);
    assert_eq!(String::from_utf8_lossy(&text), expected, "{sql}");
    let again = parse_expression(&text, &ParseOptions::default())
        .unwrap_or_else(|error| panic!("{expected}: {error}"));
    assert_eq!(again, tree, "{sql}");
}

fn check(sql: &str, expected: &str) {
    check_mode(sql, 0, expected);
}

/// A query's canonical form; parsing that form again gives the same tree.
fn check_query(sql: &str, expected: &str) {
    let StatementKind::Query(query) = parse_one(sql).kind else { panic!("no query: {sql}") };
    let text = String::from_utf8(unparse::query(&query)).unwrap();
    assert_eq!(text, expected, "{sql}");
    let StatementKind::Query(again) = parse_one(&text).kind else { panic!("no query: {text}") };
    assert_eq!(again, query, "{sql}");
}

/// 1064 near a text, at a line.
fn refuses(sql: &str, near: &str, line: usize) {
    let error = parse(sql.as_bytes(), &ParseOptions::default()).expect_err(sql);
    assert_eq!((error.number, &error.sqlstate), (1064, b"42000"), "{sql}: {error}");
    let expected = format!("to use near '{near}' at line {line}");
    assert!(error.message.ends_with(&expected), "{sql}: {error}");
}

/// Another error's number.
fn fails(sql: &str, number: u16) {
    let error = parse(sql.as_bytes(), &ParseOptions::default()).expect_err(sql);
    assert_eq!(error.number, number, "{sql}: {error}");
}
