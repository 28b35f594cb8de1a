//! Options as they are typed.
#![allow(clippy::unwrap_used)]

use super::*;
use env::{OpenMode, RealEnv};
use std::path::Path;

fn options(args: &[&str]) -> Result<Options, String> {
    let args: Vec<_> = args.iter().map(|a| (*a).to_owned()).collect();
    match parse(&RealEnv, &args).map_err(|e| e.to_string())? {
        Command::Serve(options) => Ok(options),
        _ => Err("not serve".into()),
    }
}

/// The value of a variable after a start with `args`, or the error.
fn check(name: &str, args: &[&str], expected: &str) {
    let shown = options(args).map(|o| {
        let id = sql::variables::find(name).unwrap();
        id.variable().show(&o.variables.get(id)).into_owned()
    });
    let shown = match &shown {
        Ok(text) | Err(text) => text,
    };
    assert_eq!(shown, expected, "{args:?}");
}

fn write(path: &Path, content: &str) {
    let file = RealEnv.open(path, OpenMode::Create).unwrap();
    file.set_len(0).unwrap();
    file.write_at(content.as_bytes(), 0).unwrap();
}

#[test]
fn names_and_values_in_every_form() {
    check("port", &[], "3306");
    check("port", &["--port=3307"], "3307");
    check("port", &["--port", "3307"], "3307");
    check("port", &["-P3307"], "3307");
    check("port", &["-P", "1", "--port=2"], "2");
    check("sync_binlog", &["--sync_binlog=0"], "0");
    check("sync_binlog", &["--sync-binlog", "100"], "100");
    check("max_binlog_size", &["--max-binlog-size=64M"], "67108864");
    check("skip_networking", &["--skip-networking"], "ON");
    check("skip_networking", &["--skip-networking=0"], "OFF");
    check("binlog_rows_query_log_events", &["--binlog-rows-query-log-events"], "ON");
    check("autocommit", &["--skip-autocommit"], "OFF");
    check("autocommit", &["--disable-autocommit"], "OFF");
    check("autocommit", &["--enable-autocommit"], "ON");
    check("socket", &["--datadir=/d"], "/d/duramen.sock");
    check("pid_file", &["--datadir=/d", "--pid-file=/run/p"], "/run/p");
    assert_eq!(options(&["--log-bin=mysql-bin"]).unwrap().log_base_name, "mysql-bin");
    assert_eq!(options(&["--log-bin", "--port=1"]).unwrap().log_base_name, "binlog");
}

#[test]
fn filters_are_said_as_often_as_there_are_values() {
    let args = ["--replicate-do-db=a", "--replicate_do_db", "c:b", "--replicate-rewrite-db=x->y"];
    let filters = options(&args).unwrap().filters;
    let shown: Vec<_> = filters.iter().map(|f| (f.rule.name(), f.channel.as_deref(), &*f.value.0)).collect();
    let expected = [
        ("REPLICATE_DO_DB", None, "a"),
        ("REPLICATE_DO_DB", Some("c"), "b"),
        ("REPLICATE_REWRITE_DB", None, "x"),
    ];
    assert_eq!(shown, expected);
    let e = options(&["--replicate-do-table=t"]).map(|_| ()).unwrap_err();
    assert!(e.contains("'t' is no value for replicate-do-table"), "{e}");
}

#[test]
fn what_is_not_understood_stops_the_start_and_says_what_may_be_meant() {
    check(
        "port",
        &["--sync-binlgo=1"],
        "unknown option '--sync-binlgo' (on the command line); did you mean '--sync-binlog'?",
    );
    check(
        "port",
        &["--something-else-entirely"],
        "unknown option '--something-else-entirely' (on the command line); 'duramen serve --help' lists them",
    );
    check("port", &["--port=x"], "'x' is no value for port: a number from 0 to 65535 (on the command line)");
    check("port", &["--port"], "option '--port' needs a value");
    let facts = options(&["--version-comment=x"]).err().unwrap();
    assert!(facts.starts_with("unknown option '--version-comment' (on the command line)"));
    check(
        "port",
        &["--skip-log-bin"],
        "'--skip-log-bin': the binary log is the database's only log, so it can't be off (on the command line)",
    );
    check("slow_query_log_file", &["--slow-query-log-file=/d/slow.log"], "/d/slow.log");
    check(
        "port",
        &["--general-log-file=/d/binlog.000005"],
        "'--general-log-file' names '/d/binlog.000005', which does not end in '.log': lines would be appended to it (on the command line)",
    );
    check("port", &["--skip-autocommit=1"], "'--skip-autocommit' takes no value (on the command line)");
    check("port", &["--loose-nonsense", "--loose-port=x", "--loose-port=9"], "9");
    assert!(options(&["serve"]).err().unwrap().starts_with("'serve' is no option"));
    assert_eq!(options(&["--loose-nonsense"]).unwrap().warnings.len(), 1);
}

#[test]
fn files_come_first_and_only_our_groups_count() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    RealEnv.create_dir_all(&dir.join("more")).unwrap();
    let main = dir.join("my.cnf");
    write(
        &main,
        "port=1\n[client]\nport = 2\nnonsense\n[mysqld]\n# a comment\n; another\nport = 3 # why\nskip-autocommit\n\
         sync_binlog=\"7\" # seven\nsocket='/tmp/a b#c'\nloose_nonsense=1\n!include other.cnf\n!includedir more\n",
    );
    write(&dir.join("other.cnf"), "[duramen]\nserver-id = 9\n");
    write(&dir.join("more/a.cnf"), "[server]\nmax_connections=11\n");
    write(&dir.join("more/b.txt"), "[server]\nmax_connections=12\n");
    let file = format!("--defaults-file={}", main.display());
    check("port", &[&file], "3");
    check("port", &["--port=4", &file], "4");
    check("autocommit", &[&file], "OFF");
    check("sync_binlog", &[&file], "7");
    check("socket", &[&file], "/tmp/a b#c");
    check("server_id", &[&file], "9");
    check("max_connections", &[&file], "11");

    write(&main, "[mysqld]\n\nprot=3\n");
    let found = options(&[&file]).err().unwrap();
    assert_eq!(
        found,
        format!("unknown option '--prot' (in {}, line 3); did you mean '--port'?", main.display())
    );
    write(&main, "!include my.cnf\n");
    assert!(options(&[&file]).err().unwrap().contains("too deeply"));
    write(&main, "[mysqld]\nsocket='x\n");
    assert!(options(&[&file]).err().unwrap().contains("quote is not closed"));
}

#[test]
fn help_lists_every_live_option() {
    let text = help::text(false);
    assert!(text.contains("--sync-binlog=1\n"));
    assert!(text.contains("--max-binlog-size=1024M\n"));
    assert!(!text.contains("--read-buffer-size"));
    assert!(help::text(true).contains("--read-buffer-size"));
}
