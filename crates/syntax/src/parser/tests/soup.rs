//! Random texts: nothing panics, and what parses survives being written and parsed again.

use super::*;
use proptest::prelude::*;

/// Words that make up most of the grammar, and some that break it.
const WORDS: &[&str] = &[
    "select",
    "from",
    "where",
    "a",
    "b",
    "t",
    "1",
    "2.5",
    "'x'",
    "(",
    ")",
    ",",
    "+",
    "-",
    "*",
    "/",
    "=",
    "<=>",
    "and",
    "or",
    "not",
    "in",
    "like",
    "between",
    "is",
    "null",
    "case",
    "when",
    "then",
    "else",
    "end",
    "interval",
    "day",
    "join",
    "on",
    "left",
    "using",
    "natural",
    "union",
    "all",
    "intersect",
    "limit",
    "order",
    "by",
    "group",
    "having",
    "as",
    "exists",
    "any",
    "count",
    "sum",
    "distinct",
    "insert",
    "into",
    "values",
    "update",
    "set",
    "delete",
    "create",
    "table",
    "int",
    "primary",
    "key",
    "begin",
    ";",
    "@v",
    "@@x",
    ":=",
    ".",
    "`q`",
    "x'4D'",
    "_utf8mb4",
    "binary",
    "collate",
    "cast",
    "convert",
    "row",
    "default",
    "if",
    "date",
    "regexp",
    "||",
    "&&",
    "!",
    "~",
    "^",
    "->",
    "'$.x'",
    "/*!",
    "*/",
    "escape",
    "member",
    "of",
    "sounds",
    "trim",
    "substring",
    "for",
    "procedure",
    "p",
    "declare",
    "loop",
    "with",
    "over",
    "partition",
    "varchar",
    "{",
    "}",
    "div",
    "mod",
    "xor",
    "|",
    "&",
    "<<",
    "true",
    "extract",
    "char",
    "alter",
    "add",
    "drop",
    "show",
];

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(WORDS), 0..40).prop_map(|words| words.join(" "))
}

/// Parsing, writing and parsing again gives the same tree.
fn round_trip(sql: &[u8]) {
    let options = ParseOptions::default();
    if let Ok(tree) = parse_expression(sql, &options) {
        let text = unparse::expr(&tree);
        let again = parse_expression(&text, &options);
        let shown = String::from_utf8_lossy(&text);
        assert_eq!(again.as_ref(), Ok(&tree), "{} became {shown}", String::from_utf8_lossy(sql));
    }
    if let Ok(Some(Statement { kind: StatementKind::Query(query), .. })) = parse(sql, &options) {
        let text = unparse::query(&query);
        let again = parse(&text, &options).map(|statement| statement.map(|it| it.kind));
        let shown = String::from_utf8_lossy(&text);
        assert_eq!(
            again,
            Ok(Some(StatementKind::Query(query))),
            "{} became {shown}",
            String::from_utf8_lossy(sql)
        );
    }
}

/// Expressions that are right by construction.
fn expressions() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "a",
        "t.b",
        "1",
        "2.50",
        "1e3",
        "'x''y'",
        "null",
        "true",
        "@v",
        "@@global.x",
        "x'4D'",
        "now()",
        "count(*)",
        "date '2020-01-01'",
        "_latin1 'x'",
        "(select 1)",
        "default(a)",
        "current_date",
    ]);
    leaf.prop_map(str::to_owned).prop_recursive(6, 64, 4, |inner| {
        let binary = prop::sample::select(vec![
            "+",
            "-",
            "*",
            "/",
            "div",
            "%",
            "^",
            "|",
            "&",
            "<<",
            ">>",
            "=",
            "<=>",
            "<>",
            "<",
            "and",
            "or",
            "xor",
            "&&",
            "||",
            "like",
            "not like",
            "regexp",
            "sounds like",
        ]);
        prop_oneof![
            (inner.clone(), binary, inner.clone())
                .prop_map(|(left, op, right)| format!("{left} {op} {right}")),
            (inner.clone(), prop::sample::select(vec!["-", "~", "!", "not ", "binary ", "+"]))
                .prop_map(|(operand, op)| format!("{op}{operand}")),
            inner.clone().prop_map(|operand| format!("({operand})")),
            (
                inner.clone(),
                prop::sample::select(vec![
                    "is null",
                    "is not true",
                    "collate x",
                    "in (1,2)",
                    "in (select 1)"
                ])
            )
                .prop_map(|(operand, tail)| format!("{operand} {tail}")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("{a} between {b} and {c}")),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(a, b, c)| format!("case {a} when {b} then {c} else 1 end")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("if({a}, {b}, f({b}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} + interval {b} day")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}, {b}) = (1, 2)")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("trim(both {a} from cast({b} as char(5)))")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes(sql in prop::collection::vec(any::<u8>(), 0..200)) {
        round_trip(&sql);
    }

    #[test]
    fn words(sql in soup()) {
        round_trip(sql.as_bytes());
        round_trip(format!("select {sql}").as_bytes());
        round_trip(format!("select * from {sql}").as_bytes());
    }

    #[test]
    fn bodies(sql in soup()) {
        round_trip(format!("create procedure p() begin {sql}; end").as_bytes());
        round_trip(format!("create table t ({sql})").as_bytes());
    }

    #[test]
    fn right_expressions(sql in expressions()) {
        round_trip(sql.as_bytes());
        round_trip(format!("select {sql} from t where {sql}").as_bytes());
    }

    #[test]
    fn strings(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
        let text = unparse::string(&bytes);
        let tree = parse_expression(&text, &ParseOptions::default()).unwrap();
        let expected = crate::ast::Literal::String { bytes: bytes.into(), introducer: None };
        prop_assert_eq!(tree.kind, crate::ast::ExprKind::Literal(expected));
    }

    #[test]
    fn names(name in "[^\0]{1,20}") {
        let tree = parse_expression(unparse::ident(&name).as_bytes(), &ParseOptions::default()).unwrap();
        prop_assert_eq!(tree.to_string(), unparse::ident(&name));
    }
}
