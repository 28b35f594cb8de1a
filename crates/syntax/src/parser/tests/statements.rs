//! Everything but queries: what is accepted, how some of it reads, what is refused and where.

use super::*;
use crate::ast::*;

#[test]
fn changes() {
    for sql in [
        "insert t values ()",
        "insert ignore into db.t (a, t.b) values (1, default), (2, 3)",
        "insert into t set a = 1, b = default",
        "insert into t (a) select 1 from u on duplicate key update a = values(a) + 1",
        "insert into t (select 1)",
        "insert into t () values ()",
        "insert into t value (1) as new(x) on duplicate key update a = new.x",
        "insert into t table u",
        "insert into t values row(1), row(2)",
        "insert into t with c as (select 1) select * from c",
        "insert low_priority into t partition (p0) values (1)",
        "replace into t values (1), (2)",
        "replace t set a = 1",
        "update t set a = 1, b = default where c order by d limit 3",
        "update low_priority ignore t as x set x.a = 1",
        "update a join b on a.i = b.i set a.x = b.y where 1",
        "update a, b set a.x = 1",
        "with c as (select 1) update t set a = 1",
        "delete from t where a order by b limit 1",
        "delete quick ignore from t as x where x.a",
        "delete a, b.* from a join b using (i)",
        "delete from a, db.b.* using a join b using (i) where 1",
        "with c as (select 1) delete from t",
        "load data local infile 'x' replace into table t character set utf8mb4 fields terminated by ',' enclosed by '\"' escaped by '\\\\' lines starting by 'x' terminated by '\\n' ignore 1 lines (a, @b) set c = @b + 1",
        "handler t open as h",
        "handler h read i = (1) where a limit 1",
        "handler h close",
        "call p(1, @x)",
        "call db.p",
        "do sleep(1), 2",
    ] {
        accepts(sql);
    }
}

/// MySQL reads these words as the database's name.
#[test]
fn words_that_begin_an_option_are_names_of_databases() {
    refuses("alter database charset latin1", "latin1", 1);
    refuses("alter database encryption = 'N'", "= 'N'", 1);
}

#[test]
fn definitions() {
    for sql in [
        "create database if not exists d default character set = utf8mb4 collate utf8mb4_bin encryption 'N'",
        "alter database default charset latin1",
        "alter database charset charset latin1",
        "alter schema d read only = 1",
        "drop schema if exists d",
        "create temporary table if not exists t (a int) engine memory, comment = 'x'",
        "create table t like u",
        "create table t (like u)",
        "create table t select 1",
        "create table t (a int) ignore as select 1 a",
        "create table t (primary key (a)) select 1 a",
        "create table t as (select 1) union select 2",
        "create table t (a int) union = (u, v) insert_method = last data directory 'x' stats_persistent default",
        "create table t (a serial, b bool, c int(5) unsigned zerofill, d dec(5), e numeric(5,2), f fixed, g float(7,3), h double precision, i real, j bit(3))",
        "create table t (a char, b character(3) binary, c varchar(3) ascii, d national char(3), e nchar varying(3), f nvarchar(3), g char varying(3), h char byte, i varchar(3) charset binary)",
        "create table t (a tinyblob, b blob(100), c long varchar, d long varbinary, e long, f mediumtext, g longtext collate utf8mb4_bin, h text(5) unicode)",
        "create table t (a enum('x','y'), b set('x') character set latin1, c date, d time(6), e datetime(3), f timestamp, g year(4), h json)",
        "create table t (a point srid 4326, b geometry not null, c geomcollection, d multipolygon, spatial index (b))",
        "create table t (a int default 1 not null, b int default -1, c datetime default now(6) on update current_timestamp(6), d int default (uuid()), e bit default b'1', f varchar(3) default 'x' collate utf8mb4_bin)",
        "create table t (a int primary key comment 'x' column_format fixed storage disk, b int unique key invisible, c int key, d int as (a+1) virtual not null, e int check (e > 0) not null, f int constraint ck check (f > 0) not enforced, g int references u (x) match full on delete cascade on update no action)",
        "create table t (a int, constraint primary key using btree (a desc), constraint u unique index (a) key_block_size 8 comment 'x' invisible, index (a, (a+1) asc), fulltext key f (a) with parser ngram, check (a), constraint c check (a) not enforced, foreign key i (a) references d.u (b), constraint fk foreign key (a) references u (b) on update set default)",
        "create table t (a int) partition by hash (a) partitions 4",
        "create table t (a int) partition by linear key algorithm = 2 (a)",
        "create table t (a int) partition by range columns (a, b) subpartition by hash (c) subpartitions 2 (partition p values less than (1, maxvalue) comment 'x' (subpartition s, subpartition s2))",
        "create table t (a int) partition by list (a) (partition p values in (1, 2, null), partition q values in (3))",
        "create table t (a int) partition by list columns (a,b) (partition p values in ((1,2),(3,4)))",
        "drop temporary table if exists a, b.c cascade",
        "truncate t",
        "rename table a to b, c.d to e.f",
        "create unique index i using hash on t (a(10), b desc) comment 'x' algorithm inplace lock = none",
        "create fulltext index i on t (a)",
        "drop index `PRIMARY` on t algorithm = default",
        "create or replace algorithm = merge definer = current_user sql security invoker view v (a) as select 1 with local check option",
        "alter view v as (select 1)",
        "drop view if exists a, b restrict",
    ] {
        accepts(sql);
    }
}

#[test]
fn alterations() {
    for action in [
        "",
        "add a int",
        "add column a int not null first, add b int after a",
        "add column (a int, b int)",
        "add index i (a), add unique (b), add primary key (c), add fulltext f (d), add constraint x foreign key (a) references u (b)",
        "add check (a > 0), add constraint c check (b)",
        "drop a, drop column b, drop index i, drop primary key, drop foreign key f, drop check c, drop constraint x",
        "modify a bigint first, change column a b int after c",
        "alter a set default 1, alter column b drop default, alter c set default (1+1), alter d set invisible",
        "alter index i invisible, alter check c not enforced",
        "rename to u",
        "rename u",
        "rename column a to b, rename index i to j",
        "convert to character set utf8mb4 collate utf8mb4_bin",
        "engine = innodb, auto_increment 5, comment 'x', algorithm = inplace, lock=shared",
        "order by a, b desc",
        "disable keys, force",
        "discard tablespace",
        "add a int, algorithm=instant",
        "partition by hash (a)",
        "add a int partition by hash (a) partitions 3",
        "remove partitioning",
        "add partition (partition p values less than (5))",
        "add partition partitions 2",
        "drop partition p, q",
        "truncate partition all",
        "coalesce partition 2",
        "reorganize partition p into (partition q values less than (3), partition r values less than (5))",
        "exchange partition p with table u without validation",
        "rebuild partition p",
        "with validation",
    ] {
        accepts(&format!("alter table t {action}"));
    }
}

#[test]
fn routines() {
    for body in [
        "return 1",
        "begin return 1; end",
        "begin declare a, b int default 1; declare c condition for sqlstate '45000'; declare k cursor for select 1; declare continue handler for not found, sqlexception, c, 1051, sqlstate value '42S02' begin end; return a; end",
        "l: begin leave l; return 1; end l",
        "begin l: loop if a then leave l; elseif b then iterate l; else set a = 1; end if; end loop l; return 1; end",
        "begin while a do set a = a - 1; end while; repeat set b = 1; until b end repeat; return 1; end",
        "begin case a when 1 then return 1; else return 2; end case; case when a then begin end; end case; end",
        "begin declare k cursor for select 1; open k; fetch next from k into a, b; fetch k into a; close k; return 1; end",
        "begin signal sqlstate '45000' set message_text = 'x', mysql_errno = 5; resignal; resignal set message_text = @x; return 1; end",
        "begin get diagnostics condition 1 @a = message_text, b = returned_sqlstate; get stacked diagnostics @n = number; return 1; end",
        "begin select 1 into a; insert into t values (1); commit; return (select max(x) from t); end",
        "begin set a = 1, @b = 2, global c = 3, new.x = 4; return 1; end",
        "begin if (select 1) then return repeat('x', 3); end if; end",
    ] {
        accepts(&format!("create function f(a int, b varchar(10) charset latin1) returns int {body}"));
    }
    for sql in [
        "create definer = 'root'@'%' procedure if not exists d.p (in a int, out b int, inout c int, d int) comment 'x' language sql not deterministic contains sql sql security invoker begin end",
        "create procedure p() select 1",
        "create trigger tr after update on t for each row follows x set @a = old.b",
        "drop function if exists d.f",
        "alter procedure p reads sql data",
    ] {
        accepts(sql);
    }
}

#[test]
fn routine_errors() {
    fails("create function f() returns int begin end", 1320);
    fails("create procedure p() return 1", 1313);
    fails("create procedure p() begin leave l; end", 1308);
    fails("create procedure p() l: begin iterate l; end", 1308);
    fails("create procedure p() l: begin end m", 1310);
    fails("create procedure p() l: begin l: begin end; end", 1309);
    fails("create procedure p() begin declare continue handler for 1 begin end; declare a int; end", 1337);
    fails(
        "create procedure p() begin declare continue handler for 1 begin end; declare c cursor for select 1; end",
        1338,
    );
    fails("create procedure p() create procedure q() select 1", 1303);
    fails("create procedure p() signal sqlstate '00000'", 1407);
    refuses("create procedure p() select ?", "?", 1);
    refuses("leave l", "leave l", 1);
}

#[test]
fn sessions() {
    for sql in [
        "use d",
        "set @a := 1, @`b c` = 2",
        "set global sync_binlog = 1",
        "set @@global.x = default, @@persist.y = on, persist_only z = off, local w = 1",
        "set sql_mode = ansi, global binlog_format = row",
        "set names default",
        "set character set 'utf8mb4', charset default",
        "set transaction read only",
        "set global transaction isolation level repeatable read",
        "set password = 'x'",
        "set password for 'u'@'h' = 'x' replace 'y' retain current password",
        "set role all except r",
        "set default role none to u",
        "begin work",
        "start transaction with consistent snapshot, read only",
        "commit and chain no release",
        "rollback work and no chain",
        "rollback release",
        "savepoint a",
        "rollback work to a",
        "release savepoint a",
        "xa start 'a', x'41', 3 join",
        "xa end 'a' suspend for migrate",
        "xa commit 'a' one phase",
        "xa recover convert xid",
        "lock tables a as x read local, b low_priority write",
        "lock instance for backup",
        "unlock instance",
        "alter instance rotate innodb master key",
        "ALTER INSTANCE ROTATE `binlog` MASTER KEY",
        "prepare s from 'select ?'",
        "prepare s from @x",
        "execute s using @a, @b",
        "deallocate prepare s",
        "drop prepare s",
    ] {
        accepts(sql);
    }
}

#[test]
fn setting_is_in_order() {
    let StatementKind::Set(items) = parse_one("set @a = 1, global b = on, c = default, @@d = 2").kind else {
        panic!()
    };
    let scopes: Vec<_> = items
        .iter()
        .map(|item| match item {
            SetItem::UserVariable { name, .. } => format!("@{name}"),
            SetItem::Variable { scope, name, value } => {
                let value = value.as_ref().map(Expr::to_string);
                format!("{scope:?} {} {value:?}", name.name)
            }
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        scopes,
        ["@a", "Some(Global) b Some(\"'on'\")", "Some(Global) c None", "Some(Session) d Some(\"2\")"]
    );
}

#[test]
fn looking() {
    for sql in [
        "databases like 'x%'",
        "full tables in d where 1",
        "extended full columns from t from d like 'x'",
        "fields in d.t",
        "index from t",
        "keys in t from d where 1",
        "create table d.t",
        "create schema d",
        "create function f",
        "create user current_user()",
        "global variables like 'x'",
        "local status where a",
        "binary logs",
        "master logs",
        "binary log status",
        "master status",
        "binlog events in 'binlog.000001' from 4 limit 5, 10",
        "relaylog events for channel 'x'",
        "warnings limit 1",
        "count(*) errors",
        "full processlist",
        "storage engines",
        "engine innodb status",
        "character set like 'utf8%'",
        "collation where charset = 'latin1'",
        "grants for root@localhost using r",
        "table status from d",
        "open tables",
        "function status",
        "procedure code p",
        "plugins",
        "privileges",
        "replicas",
        "slave hosts",
        "replica status for channel ''",
        "profile cpu, block io for query 2 limit 1",
        "triggers from d",
        "events",
        "parse_tree select 1",
    ] {
        accepts(&format!("show {sql}"));
    }
    for sql in [
        "desc t",
        "describe d.t 'a%'",
        "explain t c",
        "explain select 1",
        "explain format = tree (select 1)",
        "explain analyze update t set a = 1",
        "explain for connection 5",
        "desc format = json into @x delete from t",
    ] {
        accepts(sql);
    }
    refuses("show binary logs like 'x'", "", 1);
    refuses("show full databases", "databases", 1);
}

#[test]
fn keeping_house() {
    for sql in [
        "kill 5",
        "kill query @x",
        "kill connection connection_id()",
        "flush binary logs, status, privileges",
        "flush local tables a, b with read lock",
        "flush tables t for export",
        "flush relay logs for channel 'x'",
        "purge binary logs to 'binlog.000003'",
        "purge master logs before now() - interval 3 day",
        "reset binary logs and gtids to 5, replica all for channel 'x'",
        "reset master",
        "reset persist if exists x",
        "reset persist",
        "analyze local table a, b",
        "analyze table t update histogram on a, b with 10 buckets auto update",
        "check table t quick for upgrade",
        "checksum table t extended",
        "optimize no_write_to_binlog table t",
        "repair table t use_frm",
        "help 'select'",
        "shutdown",
        "restart",
        "binlog 'xyz'",
        "create user if not exists 'u'@'h' identified with caching_sha2_password by 'x' require ssl with max_user_connections 5 password expire never account lock comment 'c'",
        "create user u identified by random password, v identified with p as 'h' default role r require subject 'x' and issuer 'y' password history 3 password reuse interval default failed_login_attempts 3 password_lock_time unbounded attribute '{}'",
        "alter user user() identified by 'x' replace 'y'",
        "alter user if exists u identified by 'x' retain current password, v discard old password",
        "alter user u default role all password require current optional",
        "drop user if exists u, 'v'@localhost",
        "rename user a to b",
        "create role r, s@h",
        "drop role if exists r",
        "grant all privileges on *.* to 'u'@'%' with grant option",
        "grant select (a, b), create temporary tables, `BACKUP_ADMIN` on d.* to u, v as w with role none",
        "grant execute on function d.f to u",
        "grant r, s@h to u with admin option",
        "grant proxy on a to b",
        "revoke if exists insert on t from u ignore unknown user",
        "revoke all privileges, grant option from u",
        "revoke r from u",
        "change replication source to source_host = 'h', source_port = 3306, source_auto_position = 1, ignore_server_ids = (1, 2), privilege_checks_user = 'u'@'h' for channel 'c'",
        "change master to master_host='x'",
        "change replication filter replicate_do_db = (a, b), replicate_wild_do_table = ('d.%'), replicate_rewrite_db = ((a, b)), replicate_do_table = (d.t)",
        "start replica io_thread until source_log_file = 'x', source_log_pos = 4 user = 'u' password = 'p' for channel 'c'",
        "stop slave sql_thread",
    ] {
        accepts(sql);
    }
}

#[test]
fn errors_tell_where() {
    refuses("selec 1", "selec 1", 1);
    refuses("select 1 from", "", 1);
    refuses("select 1\nfrom t\nwhere where x", "where x", 3);
    refuses("  \n select\n 1 +", "", 2);
    refuses("select 'abc", "'abc", 1);
    refuses("select 1 /* open", "/* open", 1);
    refuses("select * from t where a = 1 limit x y", "y", 1);
    refuses("CREATE TABLE interval (begin INT, end INT)", "interval (begin INT, end INT)", 1);
    accepts("CREATE TABLE `interval` (begin INT, end INT)");
    accepts("CREATE TABLE mydb.interval (begin INT, end INT)");
    refuses(&format!("x {}", "é".repeat(100)), &format!("x {}", "é".repeat(39)), 1);
    refuses("select 1; select 2", "select 2", 1);
}

#[test]
fn names_in_other_character_sets() {
    let latin1 = ParseOptions {
        decode_name: |bytes| Some(bytes.iter().map(|&byte| byte as char).collect()),
        ..ParseOptions::default()
    };
    let statement = parse(b"use caf\xe9", &latin1).unwrap().unwrap();
    assert_eq!(statement.kind, StatementKind::Use("café".into()));
    let error = parse(b"use caf\xe9", &ParseOptions::default()).unwrap_err();
    assert_eq!(error.number, 1300);
    accepts("select 'é'");
    assert!(parse(b"select '\xe9', _latin1 '\xff'", &ParseOptions::default()).is_ok());
}

/// The bound keeps the stack within what [`ParseOptions::depth_max`] promises.
#[test]
fn depth_is_bounded() {
    let stack = if cfg!(debug_assertions) { 8 << 20 } else { 1 << 20 };
    std::thread::Builder::new().stack_size(stack).spawn(deep_texts).unwrap().join().unwrap();
}

fn deep_texts() {
    for (open, inner, close) in [
        ("(", "1", ")"),
        ("-", "1", ""),
        ("not ", "1", ""),
        ("f(", "1", ")"),
        ("case when ", "1", " then 1 end"),
        ("(select ", "1", ")"),
        ("1 + (", "1", ")"),
        ("1 = 2 + 3 * (", "1", ")"),
        ("1 in (", "1", ")"),
        ("@a := ", "1", ""),
        ("exists(select ", "1", ")"),
        ("interval(1, ", "1", ")"),
        ("interval ", "1", " day + a"),
    ] {
        for levels in [40, 5_000] {
            let sql = format!("select {}{inner}{}", open.repeat(levels), close.repeat(levels));
            match parse(sql.as_bytes(), &ParseOptions::default()) {
                Ok(_) => assert_eq!(levels, 40, "{open}"),
                Err(error) => assert!(levels == 5_000 && error.number == 1436, "{open} {levels} {error}"),
            }
        }
    }
    for (first, link) in [
        ("select 1", "+1"),
        ("select a", " collate x"),
        ("select 1", " union select 1"),
        ("select 1", " intersect select 1"),
        ("select 1", " is null"),
        ("select * from a", " join b"),
        ("select * from a", " natural join b"),
        ("select * from a", " join b on x"),
    ] {
        accepts(&format!("{first}{}", link.repeat(100)));
        fails(&format!("{first}{}", link.repeat(100_000)), 1436);
    }
    for (open, close) in [("begin ", "; end"), ("if 1 then ", "; end if"), ("(", ")"), ("((", "))")] {
        let sql = format!("create procedure p() {}select 1{}", open.repeat(2_000), close.repeat(2_000));
        fails(&sql, 1436);
    }
    let sql = format!("select * from {}a{}", "(".repeat(10_000), ")".repeat(10_000));
    fails(&sql, 1436);
    let sql = format!("select * from {}select 1", "(".repeat(10_000));
    fails(&sql, 1436);
}
