//! Semi-synchronous replication's variables and status, by MySQL's names and those of old, which
//! MariaDB's are too.

use binlog::log::Log;
use env::Env;
use replication::semi_sync::{SemiSync, Settings, Status, WaitPoint};
use sql::status::Rows;
use sql::variables::{GlobalVariables, Value, VariableId, ids};
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

/// What a variable's value does to the settings.
type Apply = fn(&mut Settings, &Value);

const VARIABLES: [(VariableId, Apply); 5] = [
    (ids::RPL_SEMI_SYNC_SOURCE_ENABLED, |settings, value| settings.enabled = *value == Value::Bool(true)),
    (ids::RPL_SEMI_SYNC_SOURCE_TIMEOUT, |settings, value| {
        settings.timeout = Duration::from_millis(number(value));
    }),
    (ids::RPL_SEMI_SYNC_SOURCE_WAIT_FOR_REPLICA_COUNT, |settings, value| {
        settings.wait_for_replica_count = number(value) as usize;
    }),
    (ids::RPL_SEMI_SYNC_SOURCE_WAIT_NO_REPLICA, |settings, value| {
        settings.wait_no_replica = *value == Value::Bool(true);
    }),
    (ids::RPL_SEMI_SYNC_SOURCE_WAIT_POINT, |settings, value| {
        settings.wait_point = match number(value) {
            0 => WaitPoint::AfterSync,
            _ => WaitPoint::AfterCommit,
        };
    }),
];

fn number(value: &Value) -> u64 {
    if let Value::UInt(n) = value { *n } else { 0 }
}

/// Starts with the variables as they are, and follows them.
pub(crate) fn start(
    log: &Arc<Log>,
    env: &Arc<dyn Env>,
    variables: &GlobalVariables,
) -> io::Result<Arc<SemiSync>> {
    let semi_sync = SemiSync::new(log, env.clone());
    let mut settings = Settings::default();
    for (id, apply) in VARIABLES {
        apply(&mut settings, &variables.get(id));
        let follower = Arc::downgrade(&semi_sync);
        variables.on_change(id, move |value| {
            if let Some(semi_sync) = Weak::upgrade(&follower) {
                let mut settings = semi_sync.settings();
                apply(&mut settings, value);
                if let Err(e) = semi_sync.configure(settings) {
                    tracing::error!("the semi-synchronous source stays as it is: {e}");
                }
            }
            Ok(())
        });
    }
    semi_sync.configure(settings)?;
    Ok(semi_sync)
}

/// `Rpl_semi_sync_source_*` and `Rpl_semi_sync_replica_status`, and the same by their names of old.
/// What MySQL deprecates and always shows as 0 is 0 here too. `acknowledges`: a source of this
/// server gets its answers.
pub(crate) fn add_rows(status: &Status, acknowledges: bool, rows: &mut Rows) {
    let average = status.tx_wait_time.checked_div(status.tx_waits).unwrap_or(0);
    let counters = [
        ("no_times", status.no_times),
        ("no_tx", status.no_tx),
        ("timefunc_failures", 0),
        ("tx_wait_time", status.tx_wait_time),
        ("tx_waits", status.tx_waits),
        ("net_wait_time", 0),
        ("net_waits", status.net_waits),
        ("wait_pos_backtraverse", 0),
        ("yes_tx", status.yes_tx),
    ];
    let gauges = [
        ("clients", status.clients),
        ("net_avg_wait_time", 0),
        ("tx_avg_wait_time", average),
        ("wait_sessions", status.wait_sessions),
    ];
    let switch = |on: bool| if on { "ON" } else { "OFF" };
    for side in ["source", "master"] {
        let name = |what: &str| format!("Rpl_semi_sync_{side}_{what}");
        counters.iter().for_each(|&(what, n)| rows.push(name(what), n));
        gauges.iter().for_each(|&(what, n)| rows.gauge(name(what), n));
        rows.text(name("status"), switch(status.on));
    }
    for side in ["replica", "slave"] {
        rows.text(format!("Rpl_semi_sync_{side}_status"), switch(acknowledges));
    }
}
