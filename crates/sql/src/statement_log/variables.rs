//! The variables of the statement logs, and what SET GLOBAL of them does.

use std::path::Path;
use std::sync::{Arc, Weak};

use super::StatementLogs;
use crate::variables::{GlobalVariables, Value, VariableError, ids};

/// A bit of `log_output`: nothing is written, whatever else it says.
pub(super) const NONE: u64 = 1;
/// Lines in files.
pub(super) const FILE: u64 = 2;
/// Rows in tables.
pub(super) const TABLE: u64 = 4;

impl StatementLogs {
    /// Follows the variables from now on.
    pub(crate) fn follow(self: &Arc<Self>, globals: &GlobalVariables) {
        for id in [ids::GENERAL_LOG, ids::SLOW_QUERY_LOG, ids::LOG_OUTPUT] {
            let logs = Arc::downgrade(self);
            globals.on_change(id, move |value| {
                let Some(logs) = Weak::upgrade(&logs) else { return Ok(()) };
                let bits = value.to_bits();
                let of = |which| if which == id { bits } else { logs.globals.uint(which) };
                if of(ids::LOG_OUTPUT) == 0 {
                    return Err(wrong("log_output", value));
                }
                let (general, slow) = (of(ids::GENERAL_LOG) != 0, of(ids::SLOW_QUERY_LOG) != 0);
                logs.switch(general, slow, of(ids::LOG_OUTPUT));
                Ok(())
            });
        }
        for (id, name) in
            [(ids::GENERAL_LOG_FILE, "general_log_file"), (ids::SLOW_QUERY_LOG_FILE, "slow_query_log_file")]
        {
            let logs = Arc::downgrade(self);
            globals.on_change(id, move |value| {
                let Some(logs) = Weak::upgrade(&logs) else { return Ok(()) };
                let sink = if name == "general_log_file" { &logs.general } else { &logs.slow };
                match value {
                    Value::Text(path) if may_be_statement_log(path) && sink.can_open(path) => {
                        sink.set_path(path);
                        Ok(())
                    }
                    _ => Err(wrong(name, value)),
                }
            });
        }
    }
}

/// True if one of the logs may be written to this file. Lines are appended to what is there: only a
/// file whose name ends in `.log` is taken, so that neither a file of the database nor a
/// configuration can be named.
pub fn may_be_statement_log(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|ending| ending == "log")
}

fn wrong(name: &'static str, value: &Value) -> VariableError {
    let value = match value {
        Value::Text(text) => text.to_string(),
        _ => String::new(),
    };
    VariableError::WrongValue { name, value }
}
