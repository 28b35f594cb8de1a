//! SELECT and its kin.

use super::*;

#[test]
fn select() {
    check_query("select 1", "select 1");
    check_query(
        "SELECT *, a.*, b, c AS d, e f, 1 'g' from t",
        "select *,`a`.*,`b`,`c` AS `d`,`e` AS `f`,1 AS `g` from `t`",
    );
    check_query("select distinct sql_no_cache a from dual", "select distinct sql_no_cache `a`");
    check_query("select 1 from dual where 1", "select 1 from dual where 1");
    check_query(
        "select a from t where a=1 group by a, b with rollup having c order by d desc, e asc limit 5, 10",
        "select `a` from `t` where (`a` = 1) group by `a`,`b` with rollup having `c` order by `d` desc,`e` limit 10 offset 5",
    );
    check_query("select a from t limit ? offset ?", "select `a` from `t` limit ? offset ?");
    check_query(
        "select a from t for update of t skip locked",
        "select `a` from `t` for update of `t` skip locked",
    );
    check_query("select a from t lock in share mode", "select `a` from `t` for share");
    check_query("select a into @x, y from t", "select `a` from `t` into @`x`,`y`");
    check_query("select a from t for share nowait into @x", "select `a` from `t` for share nowait into @`x`");
    check_query(
        "select a from t into outfile '/x' character set utf8mb4 fields terminated by ',' optionally enclosed by '\"' lines terminated by '\\n'",
        "select `a` from `t` into outfile '/x' character set utf8mb4 fields terminated by ',' optionally enclosed by '\"' lines terminated by '\\n'",
    );
    check_query(
        "select a from t window w as (partition by b), v as (w)",
        "select `a` from `t` window `w` AS (PARTITION BY `b` ) , `v` AS (`w` ) ",
    );
    check_query(
        "values row(1,2), row(3,4) order by column_0",
        "values row(1,2),row(3,4) order by `column_0`",
    );
    check_query("table t limit 1", "table `t` limit 1");
    check_query(
        "with recursive c(n) as (select 1 union all select n+1 from c where n<5) select * from c",
        "with recursive `c` (`n`) as (select 1 union all select (`n` + 1) from `c` where (`n` < 5)) select * from `c`",
    );
    check_query("select @@version_comment limit 1", "select @@version_comment limit 1");
}

#[test]
fn set_operations() {
    check_query("select 1 union select 2 union all select 3", "(select 1 union select 2) union all select 3");
    check_query("select 1 union (select 2 union select 3)", "select 1 union (select 2 union select 3)");
    check_query("select 1 union select 2 intersect select 3", "select 1 union (select 2 intersect select 3)");
    check_query(
        "(select 1 union select 2) intersect select 3",
        "(select 1 union select 2) intersect select 3",
    );
    check_query(
        "(select 1 limit 1) union select 2 order by 1 limit 3",
        "(select 1 limit 1) union select 2 order by 1 limit 3",
    );
    check_query("((select 1))", "select 1");
    check_query("(select 1) limit 1", "select 1 limit 1");
    check_query("select 1 except all select 2", "select 1 except all select 2");
    check_query("select ((select 1) union (select 2))", "select (select 1 union select 2)");
}

#[test]
fn tables() {
    check_query("select * from a, b as c, d e", "select * from `a`,`b` `c`,`d` `e`");
    check_query(
        "select * from a join b on x left join c using (y, z)",
        "select * from ((`a` join `b` on(`x`)) left join `c` using (`y`,`z`))",
    );
    check_query(
        "select * from a join b join c on x on y",
        "select * from (`a` join (`b` join `c` on(`x`)) on(`y`))",
    );
    check_query("select * from a join b join c on x", "select * from ((`a` join `b`) join `c` on(`x`))");
    check_query("select * from a join b join c", "select * from ((`a` join `b`) join `c`)");
    check_query(
        "select * from a left join b join c on x on y",
        "select * from (`a` left join (`b` join `c` on(`x`)) on(`y`))",
    );
    check_query(
        "select * from a natural left join b cross join c",
        "select * from ((`a` natural left join `b`) join `c`)",
    );
    check_query("select * from a straight_join b on x", "select * from (`a` straight_join `b` on(`x`))");
    check_query("select * from (a, b) left join c on x", "select * from ((`a`,`b`) left join `c` on(`x`))");
    check_query("select * from (a join b)", "select * from (`a` join `b`)");
    check_query("select * from (select 1) t (c)", "select * from (select 1) `t` (`c`)");
    check_query(
        "select * from ((select 1) union (select 2)) t",
        "select * from (select 1 union select 2) `t`",
    );
    check_query("select * from ((select 1) a join b)", "select * from ((select 1) `a` join `b`)");
    check_query("select * from t1, lateral (select 1) t", "select * from `t1`,lateral (select 1) `t`");
    check_query(
        "select * from a partition (p, q) b use index (i) ignore key for order by (primary)",
        "select * from `a` partition (`p`,`q`) `b` use index (`i`) ignore index for order by (`primary`)",
    );
    check_query(
        "select * from json_table('[]', '$[*]' columns (n for ordinality, a int path '$.a' default '1' on empty, nested path '$.b' columns (c int path '$'))) j",
        "select * from json_table('[]','$[*]' columns (`n` for ordinality,`a` int path '$.a' default '1' on empty,nested path '$.b' columns (`c` int path '$'))) `j`",
    );
    check_query("select * from {oj a left join b on x}", "select * from (`a` left join `b` on(`x`))");
    fails("select * from (select 1)", 1248);
    refuses("select * from a left join b where 1", "where 1", 1);
}

#[test]
fn hints_stand_in_the_blocks_that_they_are_about() {
    check_query(
        "select /*+ index(t a, b) no_bka(t) */ * from t",
        "select /*+ INDEX(`t` `a`,`b`) */ * from `t`",
    );
    check_query(
        "select /*+ qb_name(q) no_index(@q t) join_order(s@p, t) join_fixed_order(@p) */ 1 from t \
         where a in (select /*+ qb_name(p) */ b from s)",
        "select /*+ QB_NAME(`q`) NO_INDEX(`t`) JOIN_ORDER(`s`@`p`,`t`) */ 1 from `t` \
         where (`a` in (select /*+ QB_NAME(`p`) */ straight_join `b` from `s`))",
    );
    check_query(
        "select /*+ index(t@`select#2` x) index(nosuch y) */ 1 from (select 1 from t) d",
        "select 1 from (select /*+ INDEX(`t` `x`) */ 1 from `t`) `d`",
    );
    let statement = parse_one("insert /*+ index(t a) */ into u select * from t");
    let StatementKind::Insert(insert) = statement.kind else { panic!("no INSERT") };
    assert!(insert.hints.is_empty() && statement.remarks.list.is_empty());
    let hostile = format!("select /*+ {} */ 1", "INDEX(t a) JOIN_ORDER(a@b, c) ".repeat(2000));
    let _ = parse(hostile.as_bytes(), &ParseOptions::default()).unwrap();
}

/// A hint's table is repeated in the warning of each of its indexes: a name of a megabyte made
/// hundreds of them.
#[test]
fn warnings_of_hints_are_short() {
    let statement =
        parse_one(&format!("select /*+ INDEX({} {}) */ 1", "x".repeat(1 << 20), ["a"; 255].join(",")));
    assert_eq!(statement.remarks.list.len(), 256);
    for remark in &statement.remarks.list {
        assert!(matches!(remark, crate::ast::Remark::HintNameUnknown(name, _) if name.len() <= 511));
    }
}

/// Each hint is compared with all others of its block, but for their names.
#[test]
fn hints_with_many_names_are_read_at_once() {
    let names = |of: u32| (0..250).map(|n| format!("i{of}_{n}")).collect::<Vec<_>>().join(",");
    let hints: Vec<_> = (0..500).map(|n| format!("INDEX(t{n} {})", names(n))).collect();
    let statement = parse_one(&format!("select /*+ {} */ 1", hints.join(" ")));
    assert_eq!(statement.remarks.list.len(), 65_535);
}
