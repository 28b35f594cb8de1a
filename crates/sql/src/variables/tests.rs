//! The registry as its callers see it.
#![allow(clippy::unwrap_used)]

use super::*;

fn id(name: &str) -> VariableId {
    find(name).unwrap_or_else(|| panic!("no {name}"))
}

fn text(t: &str) -> Assigned {
    Assigned::Text(t.into())
}

/// Sets a global variable and shows the value then, with a `!` where a warning came.
fn set(name: &str, to: Assigned) -> Result<String, u16> {
    let globals = GlobalVariables::new();
    let warning = globals.set(id(name), &to, false).map_err(|e| e.number())?;
    let mark = if warning.is_some() { "!" } else { "" };
    Ok(format!("{}{mark}", id(name).variable().show(&globals.get(id(name)))))
}

#[test]
fn names_are_unique_and_lower_case_and_every_line_has_help() {
    let names: Vec<_> = all().map(|id| id.variable().name()).collect();
    assert!(names.windows(2).all(|w| w[0] < w[1]), "two lines with one name");
    for id in all() {
        let v = id.variable();
        assert!(
            v.name().bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
            "{}",
            v.name()
        );
        assert!(!v.help().is_empty(), "{}", v.name());
    }
}

#[test]
fn every_default_is_a_value_that_its_variable_takes() {
    for id in all().filter(|id| id.variable().is_option()) {
        let v = id.variable();
        let default = GlobalVariables::new().get(id);
        if default != Value::Null {
            assert_eq!(v.parse_option(Some(&v.show(&default))), Ok(default), "{}", v.name());
        }
    }
}

#[test]
fn names_are_found_in_any_case_and_by_their_old_names() {
    assert_eq!(id("SYNC_BinLog"), ids::SYNC_BINLOG);
    assert_eq!(id("tx_isolation"), ids::TRANSACTION_ISOLATION);
    assert_eq!(find("no_such"), None);
    assert_eq!(nearest("sync-binlgo"), Some("sync_binlog"));
}

#[test]
fn assignments_convert_as_mysql_does() {
    assert_eq!(set("sync_binlog", Assigned::Int(0)), Ok("0".into()));
    assert_eq!(set("sync_binlog", Assigned::Int(-1)), Ok("0!".into()));
    assert_eq!(set("sync_binlog", text("ON")), Err(1232));
    assert_eq!(set("sync_binlog", text("1")), Err(1232));
    assert_eq!(set("sync_binlog", Assigned::Double(1.0)), Err(1232));
    assert_eq!(set("sync_binlog", Assigned::Null), Err(1232));
    assert_eq!(set("sync_binlog", Assigned::Default), Ok("1".into()));
    assert_eq!(set("max_allowed_packet", Assigned::Int(1025)), Ok("1024!".into()));
    assert_eq!(set("max_allowed_packet", Assigned::UInt(u64::MAX)), Ok("1073741824!".into()));
    assert_eq!(set("autocommit", text("off")), Ok("OFF".into()));
    assert_eq!(set("autocommit", Assigned::Int(1)), Ok("ON".into()));
    assert_eq!(set("autocommit", Assigned::Int(2)), Err(1231));
    assert_eq!(set("transaction_isolation", text("read-committed")), Ok("READ-COMMITTED".into()));
    assert_eq!(set("transaction_isolation", Assigned::Int(3)), Ok("SERIALIZABLE".into()));
    assert_eq!(set("transaction_isolation", Assigned::Int(4)), Err(1231));
    assert_eq!(set("character_set_server", text("latin2x")), Err(1115));
    assert_eq!(set("character_set_results", Assigned::Null), Ok(String::new()));
    assert_eq!(set("collation_server", Assigned::Int(33)), Ok("utf8mb3_general_ci".into()));
    assert_eq!(set("time_zone", text("+2:00")), Ok("+02:00".into()));
    assert_eq!(set("time_zone", text("+14:01")), Err(1298));
    assert_eq!(set("long_query_time", Assigned::Double(0.5)), Ok("0.500000".into()));
}

#[test]
fn what_can_not_be_set_says_why() {
    assert_eq!(set("version", text("9")), Err(1238));
    assert_eq!(set("log_bin", Assigned::Int(0)), Err(1238));
    assert_eq!(set("timestamp", Assigned::Int(1)), Err(1228));
    assert_eq!(set("gtid_mode", text("OFF")), Err(1788));
    assert_eq!(set("gtid_mode", text("ON_PERMISSIVE")), Err(1235));
    assert_eq!(set("gtid_mode", text("NONE")), Err(1231));
    assert_eq!(set("enforce_gtid_consistency", text("WARN")), Err(1779));
    assert_eq!(set("gtid_mode", text("ON")), Ok("ON".into()));
    let globals = GlobalVariables::new();
    let mut session = SessionVariables::new(&globals);
    let e = session.set(&globals, ids::SYNC_BINLOG, &Assigned::Int(1)).unwrap_err();
    assert_eq!((e.number(), e.sqlstate()), (1229, "HY000"));
    assert_eq!(
        e.to_string(),
        "Variable 'sync_binlog' is a GLOBAL variable and should be set with SET GLOBAL"
    );
    let e = read(&globals, &session, ids::SYNC_BINLOG, Some(Scope::Session)).unwrap_err();
    assert_eq!(e.to_string(), "Variable 'sync_binlog' is a GLOBAL variable");
}

#[test]
fn sql_mode_expands_combined_modes() {
    assert_eq!(
        set("sql_mode", Assigned::Default).unwrap(),
        "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,\
         NO_ENGINE_SUBSTITUTION"
    );
    assert_eq!(
        set("sql_mode", text("ansi")).unwrap(),
        "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"
    );
    assert_eq!(set("sql_mode", text("")), Ok(String::new()));
    assert_eq!(set("sql_mode", text("NO_SUCH_MODE")), Err(1231));
    assert_eq!(sql_mode::NAMES[32], "TIME_TRUNCATE_FRACTIONAL");
}

#[test]
fn sessions_start_from_the_server_and_part_at_their_first_set() {
    let globals = GlobalVariables::new();
    let mut a = SessionVariables::new(&globals);
    globals.set(ids::AUTOCOMMIT, &text("OFF"), false).unwrap();
    assert!(a.bool(ids::AUTOCOMMIT));
    assert!(!SessionVariables::new(&globals).bool(ids::AUTOCOMMIT));
    a.set(&globals, ids::AUTOCOMMIT, &Assigned::Default).unwrap();
    assert!(!a.bool(ids::AUTOCOMMIT));
    a.set(&globals, ids::CHARACTER_SET_CONNECTION, &text("utf8")).unwrap();
    assert_eq!(a.text(ids::COLLATION_CONNECTION), "utf8mb3_general_ci");
    a.set(&globals, ids::COLLATION_CONNECTION, &text("latin1_bin")).unwrap();
    assert_eq!(a.text(ids::CHARACTER_SET_CONNECTION), "latin1");
}

#[test]
fn strict_sessions_refuse_what_others_adjust() {
    let globals = GlobalVariables::new();
    assert_eq!(globals.set(ids::SYNC_BINLOG, &Assigned::Int(-1), true).unwrap_err().number(), 1231);
    let mut session = SessionVariables::new(&globals);
    let out_of_range = Assigned::Int(0);
    let warning = session.set(&globals, ids::WAIT_TIMEOUT, &out_of_range).unwrap().unwrap();
    assert_eq!(warning.message, "Truncated incorrect wait_timeout value: '0'");
    session.set(&globals, ids::SQL_MODE, &text("STRICT_ALL_TABLES")).unwrap();
    assert_eq!(session.set(&globals, ids::WAIT_TIMEOUT, &out_of_range).unwrap_err().number(), 1231);
}

#[test]
fn a_hook_runs_at_each_set_and_may_refuse() {
    let globals = GlobalVariables::new();
    let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = seen.clone();
    globals.on_change(ids::SYNC_BINLOG, move |v| {
        if *v == Value::UInt(7) {
            return Err(VariableError::WrongType("sync_binlog"));
        }
        log.lock().unwrap().push(v.clone());
        Ok(())
    });
    globals.set(ids::SYNC_BINLOG, &Assigned::Int(3), false).unwrap();
    assert_eq!(globals.set(ids::SYNC_BINLOG, &Assigned::Int(7), false).unwrap_err().number(), 1232);
    assert_eq!(globals.uint(ids::SYNC_BINLOG), 3);
    assert_eq!(*seen.lock().unwrap(), [Value::UInt(3)]);
}

#[test]
fn options_take_suffixes_and_refuse_what_is_out_of_range() {
    let globals = GlobalVariables::new();
    let set = |name: &str, value: Option<&str>| {
        let v = id(name);
        globals.set_option(v, value).map(|()| v.variable().show(&globals.get(v)).into_owned())
    };
    assert_eq!(set("max_binlog_size", Some("64M")).unwrap(), "67108864");
    assert_eq!(set("max_binlog_size", Some("1g")).unwrap(), "1073741824");
    assert_eq!(
        set("max_binlog_size", Some("2G")).unwrap_err().to_string(),
        "'2G' is no value for max_binlog_size: a number from 4096 to 1073741824"
    );
    assert!(set("max_binlog_size", Some("99999999999999999999E")).is_err());
    assert!(set("max_binlog_size", None).is_err());
    assert_eq!(set("skip_networking", None).unwrap(), "ON");
    assert_eq!(
        set("binlog_format", Some("STATEMENT")).unwrap_err().to_string(),
        "'STATEMENT' is no value for binlog_format: it is always 'ROW' here"
    );
    assert_eq!(set("gtid_mode", Some("on")).unwrap(), "ON");
    assert_eq!(set("sql_mode", Some("ANSI_QUOTES")).unwrap(), "ANSI_QUOTES");
}
