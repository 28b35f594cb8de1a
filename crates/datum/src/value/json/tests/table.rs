//! JSON_TABLE's rows, as MySQL 9.7 gives them.

use super::super::Path;
use super::super::table::{Answer, Column, JsonColumnKind, JsonTable, Level};
use super::encoded;
use crate::types::{Collation, DataType};
use crate::value::store::Rules;
use crate::value::temporal::DateRules;
use crate::value::zone::Zone;
use syntax::ast::{IntegerSize, Sign};

fn path(text: &str) -> Path {
    Path::parse(text.as_bytes()).unwrap()
}

fn int() -> DataType {
    DataType::Integer { size: IntegerSize::Int, sign: Sign::default(), width: None }
}

fn varchar(length: u16) -> DataType {
    DataType::VarChar { length, collation: Collation::UTF8MB4_0900_AI_CI }
}

fn value(number: usize, at: &str, ty: DataType) -> Column {
    let kind = JsonColumnKind::Value { path: path(at), ty, on_empty: Answer::Null, on_error: Answer::Null };
    Column { number, name: format!("c{number}").into(), kind }
}

fn ordinality(number: usize) -> Column {
    Column { number, name: "n".into(), kind: JsonColumnKind::Ordinality }
}

fn level(at: &str, columns: Vec<Column>, nested: Vec<Level>) -> Level {
    Level { path: path(at), columns, nested }
}

fn table(level: Level, width: usize) -> JsonTable {
    let dates = DateRules { no_zero_in_date: true, no_zero_date: true, allow_invalid: false };
    JsonTable::new(
        level,
        width,
        Rules { strict: true, dates, zone: Zone::UTC, moment: 0, truncate_fraction: false },
    )
}

fn rows(table: &JsonTable, document: &str) -> Vec<String> {
    let document = encoded(document);
    let show = |row: &[crate::Datum<'_>]| {
        let cell = |d: &crate::Datum<'_>| match d.is_null() {
            true => "-".to_owned(),
            false => String::from_utf8(d.to_bytes().into_owned()).unwrap(),
        };
        row.iter().map(cell).collect::<Vec<_>>().join(" ")
    };
    let mut shown = Vec::new();
    let outcome = table.rows(&document, &mut |row| {
        shown.push(show(row));
        Ok(())
    });
    shown.extend(outcome.err().map(|e| e.to_string()));
    shown
}

#[test]
fn nested_paths_of_one_level_are_joined_apart() {
    let b = level("$.b[*]", vec![ordinality(1), value(2, "$", int())], Vec::new());
    let c = level("$.c[*]", vec![ordinality(3), value(4, "$", varchar(3))], Vec::new());
    let t = table(level("$[*]", vec![value(0, "$.a", int())], vec![b, c]), 5);
    let document = r#"[{"a":1,"b":[1,2],"c":["x","y"]},{"a":2}]"#;
    assert_eq!(rows(&t, document), ["1 1 1 - -", "1 2 2 - -", "1 - - 1 x", "1 - - 2 y", "2 - - - -"]);
}

#[test]
fn ordinality_counts_anew_in_each_level() {
    let inner = level("$.b[*]", vec![ordinality(2), value(3, "$", int())], Vec::new());
    let middle = level("$.a[*]", vec![ordinality(1)], vec![inner]);
    let t = table(level("$[*]", vec![ordinality(0)], vec![middle]), 4);
    assert_eq!(rows(&t, r#"[{"a":[{"b":[1,2]},{"b":[3]}]}]"#), ["1 1 1 1", "1 1 2 2", "1 2 1 3"]);
    assert!(rows(&table(level("$.x", vec![ordinality(0)], Vec::new()), 1), "[1,2]").is_empty());
}

#[test]
fn values_become_columns_or_the_answers_given_instead() {
    let tiny = DataType::Integer { size: IntegerSize::Tiny, sign: Sign::default(), width: None };
    let seven = JsonColumnKind::Value {
        path: path("$.q"),
        ty: int(),
        on_empty: Answer::Default(encoded("7").into()),
        on_error: Answer::Null,
    };
    let eight = JsonColumnKind::Value {
        path: path("$.a"),
        ty: int(),
        on_empty: Answer::Null,
        on_error: Answer::Default(encoded("8").into()),
    };
    let columns = vec![
        value(0, "$.a", tiny),
        value(1, "$.a", varchar(2)),
        value(2, "$.a", DataType::Json),
        Column { number: 3, name: "e".into(), kind: JsonColumnKind::Exists(path("$.z"), int()) },
        Column { number: 4, name: "d".into(), kind: seven },
        Column { number: 5, name: "f".into(), kind: eight },
    ];
    let t = table(level("$[*]", columns, Vec::new()), 6);
    let document = r#"[{"a":"x"},{"a":"12"},{"a":null},{"a":true},{"a":1.6},{"a":[1]},{"a":300}]"#;
    assert_eq!(
        rows(&t, document),
        [
            "- x \"x\" 0 7 8",
            "12 12 \"12\" 0 7 12",
            "- - null 0 7 -",
            "1 - true 0 7 1",
            "2 - 1.6 0 7 2",
            "- - [1] 0 7 8",
            "- - 300 0 7 300"
        ]
    );
}

#[test]
fn error_on_error_and_on_empty_tell_why() {
    let strict = |at: &str, ty: DataType| {
        let kind =
            JsonColumnKind::Value { path: path(at), ty, on_empty: Answer::Error, on_error: Answer::Error };
        table(level("$[*]", vec![Column { number: 0, name: "a".into(), kind }], Vec::new()), 1)
    };
    let check = |at, ty, document, expected: &str| {
        assert_eq!(rows(&strict(at, ty), document), [expected.to_owned()]);
    };
    let wrong = "ERROR 3666 (2203F): Can't store an array or an object in the scalar JSON_TABLE column 'a'";
    check("$.a", int(), r#"[{"a":[1]}]"#, wrong);
    check("$.a[*]", int(), r#"[{"a":[1,2]}]"#, wrong);
    check("$.a", int(), r#"[{"b":1}]"#, "ERROR 3665 (22035): Missing value for JSON_TABLE column 'a'");
    let text = "ERROR 3156 (22018): Invalid JSON value for CAST to INTEGER from column a at row 1";
    check("$.a", int(), r#"[{"a":"x"}]"#, text);
    let range = "ERROR 3669 (22003): Value is out of range for JSON_TABLE's column 'a'";
    check("$.a", varchar(2), r#"[{"a":"abcdef"}]"#, range);
    check("$.a", int(), r#"[{"a":5000000000}]"#, range);
}
