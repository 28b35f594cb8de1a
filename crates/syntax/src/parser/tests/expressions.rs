//! Operators, operands, calls.

use super::*;

#[test]
fn precedence() {
    check("2*3^1", "(2 * (3 ^ 1))");
    check("-2^2", "(-(2) ^ 2)");
    check("(-a) collate x", "((-(`a`)) collate x)");
    check("-a collate x", "-((`a` collate x))");
    check("BINARY a=b", "((binary `a`) = `b`)");
    check("a XOR b AND c", "(`a` xor (`b` and `c`))");
    check("a && b || c", "((`a` and `b`) or `c`)");
    check("a or b and c or d", "(`a` or (`b` and `c`) or `d`)");
    check("not a = b", "(not((`a` = `b`)))");
    check("!a = b", "((not(`a`)) = `b`)");
    check("not a and b", "((not(`a`)) and `b`)");
    check("not not a", "(not((not(`a`))))");
    check("1+2*3-4 div 5", "((1 + (2 * 3)) - (4 DIV 5))");
    check("1-2-3", "((1 - 2) - 3)");
    check("a=b=c", "((`a` = `b`) = `c`)");
    check("a = b is null", "((`a` = `b`) is null)");
    check("1 | 2 & 3 << 4 + 5", "(1 | (2 & (3 << (4 + 5))))");
    check("a mod 3 % 2", "((`a` % 3) % 2)");
    check("~a + -b", "(~(`a`) + -(`b`))");
    check("- - 1", "-(-(1))");
    check("+a", "`a`");
    check("-a collate utf8mb4_bin", "-((`a` collate utf8mb4_bin))");
    check("a collate utf8mb4_bin = b", "((`a` collate utf8mb4_bin) = `b`)");
    check("a <=> b", "(`a` <=> `b`)");
    check("a != b", "(`a` <> `b`)");
    check("(a and b) and c", "((`a` and `b`) and `c`)");
    check("a and b and c", "(`a` and `b` and `c`)");
    check("5--1", "(5 - -(1))");
}

#[test]
fn modes() {
    check_mode("a || b || c", sql_mode::PIPES_AS_CONCAT, "concat(concat(`a`,`b`),`c`)");
    check_mode("a || b = c or d", sql_mode::PIPES_AS_CONCAT, "((concat(`a`,`b`) = `c`) or `d`)");
    check_mode("-a || b", sql_mode::PIPES_AS_CONCAT, "concat(-(`a`),`b`)");
    check_mode("a ^ b || c", sql_mode::PIPES_AS_CONCAT, "(`a` ^ concat(`b`,`c`))");
    check_mode("not a between 1 and 2", 0, "(not((`a` between 1 and 2)))");
    check_mode("not a between 1 and 2", sql_mode::HIGH_NOT_PRECEDENCE, "((not(`a`)) between 1 and 2)");
    check_mode("\"a\"\"b\" = 'c'", sql_mode::ANSI_QUOTES, "(`a\"b` = 'c')");
    check_mode("\"a\"\"b\"", 0, "'a\"b'");
    check_mode(r"'a\nb\\'", sql_mode::NO_BACKSLASH_ESCAPES, r"'a\\nb\\\\'");
    check_mode("count (*)", sql_mode::IGNORE_SPACE, "count(*)");
    check_mode("count (a)", 0, "`count`(`a`)");
}

#[test]
fn predicates() {
    check("a in (1,2)", "(`a` in (1,2))");
    check("a not in (select 1)", "(`a` not in (select 1))");
    check("a in ((select 1))", "(`a` in (select 1))");
    check("a in ((select 1) union select 2)", "(`a` in (select 1 union select 2))");
    check("a in ((select 1) + 1)", "(`a` in (((select 1) + 1)))");
    check("(a,b) in ((1,2),(3,4))", "((`a`,`b`) in ((1,2),(3,4)))");
    check("a between b and c and d", "((`a` between `b` and `c`) and `d`)");
    check("a not between 1 and 2 or b", "((`a` not between 1 and 2) or `b`)");
    check("a like 'x%' escape '|'", "(`a` like 'x%' escape '|')");
    check("a not like 'x'", "(`a` not like 'x')");
    check("a rlike 'x' and b regexp 'y'", "((`a` regexp 'x') and (`b` regexp 'y'))");
    check("a sounds like b", "(`a` sounds like `b`)");
    check("a member of (b)", "(`a` member of (`b`))");
    check("a = b like c", "(`a` = (`b` like `c`))");
    check("a like b = c", "((`a` like `b`) = `c`)");
    check("a is not true", "(`a` is not true)");
    check("a is unknown or b is false", "((`a` is unknown) or (`b` is false))");
    check("a = any (select 1)", "(`a` = any (select 1))");
    check("a > all (select 1)", "(`a` > all (select 1))");
    check("exists (select 1)", "exists(select 1)");
    assert!(parse_expression(b"a like b like c", &ParseOptions::default()).is_err());
    assert!(parse_expression(b"1 + not 2", &ParseOptions::default()).is_err());
}

#[test]
fn literals() {
    check("NULL", "NULL");
    check("true", "true");
    check("'a' 'b' \"c\"", "'abc'");
    check(r"'\0\'\b\n\r\t\Z\\\%\_\x'", "'\\0\\'\u{8}\\n\\r\t\\Z\\\\\\\\%\\\\_x'");
    check("n'x'", "_utf8mb3'x'");
    check("_utf8mb4'x' 'y'", "_utf8mb4'xy'");
    check("_latin1 x'41'", "_latin1 x'41'");
    check("_binary 0x4142", "_binary x'4142'");
    check("x''", "X''");
    check("0xABC", "0x0abc");
    check("b'101010101'", "b'0000000101010101'");
    check("0b1", "b'00000001'");
    check("18446744073709551615", "18446744073709551615");
    check("18446744073709551616", "18446744073709551616");
    check("1.50", "1.50");
    check(".5e-3", ".5e-3");
    check("date '2020-01-01'", "DATE'2020-01-01'");
    check("timestamp'2020-01-01 00:00:00'", "TIMESTAMP'2020-01-01 00:00:00'");
    check("{d '2020-01-01'}", "DATE'2020-01-01'");
    check("{fn now()}", "now()");
    check("date", "`date`");
}

#[test]
fn names() {
    check("a.b.c", "`a`.`b`.`c`");
    check("t.select", "`t`.`select`");
    check("`a``b`", "`a``b`");
    check("1a", "`1a`");
    check("a$b", "`a$b`");
    check("@v", "@`v`");
    check("@`a b` := 1 or 2", "(@`a b`:=(1 or 2))");
    check("@@x", "@@x");
    check("@@global.x + @@session.y", "(@@global.x + @@session.y)");
    check("@@hot.key_buffer_size", "@@hot.key_buffer_size");
    check("a->'$.x'", "json_extract(`a`,'$.x')");
    check("t.a->>'$.x'", "json_unquote(json_extract(`t`.`a`,'$.x'))");
}

#[test]
fn calls() {
    check("REPEAT('bla bla',5000)", "repeat('bla bla',5000)");
    check("db.F(1)", "`db`.`F`(1)");
    check("concat(a, 'b')", "concat(`a`,'b')");
    check("count(*)", "count(*)");
    check("COUNT(distinct a, b)", "count(distinct `a`,`b`)");
    check("sum(all a)", "sum(`a`)");
    check(
        "group_concat(distinct a, b order by c desc, d separator '-')",
        "group_concat(distinct `a`,`b` order by `c` desc,`d` separator '-')",
    );
    check("trim(a)", "trim(`a`)");
    check("trim('x' from a)", "trim(both 'x' from `a`)");
    check("trim(leading from a)", "trim(leading from `a`)");
    check("trim(trailing 'x' from a)", "trim(trailing 'x' from `a`)");
    check("substring(a from 2 for 3)", "substr(`a`,2,3)");
    check("mid(a, 2)", "substr(`a`,2)");
    check("extract(day_hour from a)", "extract(day_hour from `a`)");
    check("position('a' in b)", "locate('a',`b`)");
    check("date_add(a, interval 1+1 day)", "(`a` + interval (1 + 1) day)");
    check("subdate(a, 5)", "(`a` - interval 5 day)");
    check("a + interval 1 day - interval 2 hour", "((`a` + interval 1 day) - interval 2 hour)");
    check("interval 1 day + a", "(`a` + interval 1 day)");
    check("a + interval(1) day", "(`a` + interval 1 day)");
    check("a + interval(1,2)", "(`a` + interval(1,2))");
    check("interval(1,2,3) * 2", "(interval(1,2,3) * 2)");
    check("timestampadd(sql_tsi_day, 1, a)", "(`a` + interval 1 day)");
    check("timestampdiff(month, a, b)", "timestampdiff(month,`a`,`b`)");
    check("get_format(date, 'EUR')", "get_format(DATE,'EUR')");
    check("cast(a as char(10) character set latin1)", "cast(`a` as char(10) CHARACTER SET latin1)");
    check("cast(a as unsigned integer)", "cast(`a` as unsigned)");
    check("convert(a, decimal(10,2))", "cast(`a` as decimal(10,2))");
    check("convert(a using utf8mb4)", "convert(`a` using utf8mb4)");
    check("cast(a at time zone '+00:00' as datetime(3))", "cast(`a` at time zone '+00:00' as datetime(3))");
    check("case a when 1 then 2 else 3 end", "(case `a` when 1 then 2 else 3 end)");
    check("case when a then b end", "(case when `a` then `b` end)");
    check("current_timestamp", "now()");
    check("localtime(3)", "now(3)");
    check("current_user()", "current_user()");
    check("schema()", "database()");
    check("if(a,b,c)", "if(`a`,`b`,`c`)");
    check("left(a,1)", "left(`a`,1)");
    check("values(a)", "values(`a`)");
    check("default(a)", "default(`a`)");
    check("char(65,66 using latin1)", "char(65,66 using latin1)");
    check("match(a,b) against ('x' in boolean mode)", "(match(`a`,`b`) against ('x' in boolean mode))");
    check("row(1,2) = (3,4)", "((1,2) = (3,4))");
    check("`count`(1)", "`count`(1)");
    check("`select`(1)", "`select`(1)");
    check("user()", "user()");
    check("date(a)", "date(`a`)");
    check(
        "json_value(a, '$.x' returning signed default -1 on empty error on error)",
        "json_value(`a`,'$.x' returning signed default -1 on empty error on error)",
    );
    check("rank() over w", "rank() OVER `w`");
    check(
        "sum(a) over (partition by b order by c rows between 1 preceding and current row)",
        "sum(`a`) OVER (PARTITION BY `b` ORDER BY `c` ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) ",
    );
    check("lag(a,1) over ()", "lag(`a`,1) OVER () ");
    check(
        "sum(a) over (w order by b desc,c groups ? preceding exclude no others)",
        "sum(`a`) OVER (`w` ORDER BY `b` desc,`c` GROUPS BETWEEN ? PRECEDING AND CURRENT ROW EXCLUDE NO OTHERS) ",
    );
    check(
        "nth_value(a, 2) from last ignore nulls over (range between interval 1 day preceding and unbounded following)",
        "nth_value(`a`,2) FROM LAST IGNORE NULLS OVER (RANGE BETWEEN INTERVAL 1 day  PRECEDING AND UNBOUNDED FOLLOWING) ",
    );
    check(
        "lead(a, @x, b) respect nulls over (rows 1.5 preceding)",
        "lead(`a`,@`x`,`b`) OVER (ROWS BETWEEN 1.5 PRECEDING AND CURRENT ROW) ",
    );
}

#[test]
fn sources_are_kept() {
    let sql = "SELECT  1 +  1 , (a), f( x )y, 'q' ";
    let StatementKind::Query(query) = parse_one(sql).kind else { panic!() };
    let texts: Vec<_> = query
        .as_select()
        .unwrap()
        .items
        .iter()
        .map(|item| match item {
            crate::ast::SelectItem::Expr { expr, .. } => {
                String::from_utf8_lossy(expr.span.of(sql.as_bytes()))
            }
            _ => "*".into(),
        })
        .collect();
    assert_eq!(texts, ["1 +  1", "(a)", "f( x )", "'q'"]);
}
