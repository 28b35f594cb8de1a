//! The driver at small scale against a real server: load, mix, consistency.
#![allow(clippy::unwrap_used)]

use mysql::prelude::Queryable;
use servers::{Kind, Launch, Running};
use std::collections::HashSet;
use std::time::Duration;
use tpcc::report::Outcome;
use tpcc::scale::Scale;
use tpcc::session::{Form, Target};
use tpcc::terminal::{self, Mix};
use tpcc::{consistency, load};

/// Two, so that there are remote customers and suppliers.
const WAREHOUSES: u32 = 2;

/// What the driver itself is tested with: a server that has always run TPC-C.
#[test]
fn the_driver_is_right_on_mariadb() {
    after_the_mix(Kind::MariaDb, Form::Prepared);
}

fn after_the_mix(kind: Kind, form: Form) {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(kind, folder.path()).unwrap().start().unwrap();
    let (target, scale) = loaded(&server);
    check_conditions(&target, &scale);
    let outcome = run(&target, &scale, form, Duration::from_secs(4));
    check_acknowledged(&target, &scale, &outcome);
    check_conditions(&target, &scale);
}

fn loaded(server: &Running) -> (Target, Scale) {
    let (target, scale) = (Target::socket(server.socket()), Scale::small(WAREHOUSES));
    load::load(&target, &scale, 1).unwrap();
    (target, scale)
}

fn mix(form: Form, time: Duration) -> Mix {
    Mix { terminals: 8, time, thinks: false, form, seed: 1 }
}

fn run(target: &Target, scale: &Scale, form: Form, time: Duration) -> Outcome {
    let outcome = terminal::run(target, scale, &mix(form, time)).unwrap();
    println!("{outcome}");
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    assert_eq!(outcome.lost_connections, 0);
    assert!(outcome.orders.len() > 10, "only {} orders", outcome.orders.len());
    outcome
}

fn check_conditions(target: &Target, scale: &Scale) {
    assert_eq!(consistency::check(target, scale).unwrap(), Vec::<String>::new());
}

/// Each order that was acknowledged is there, and as many payments.
fn check_acknowledged(target: &Target, scale: &Scale, outcome: &Outcome) {
    let mut conn = target.connect().unwrap();
    conn.query_drop("USE tpcc").unwrap();
    let placed = "SELECT o_w_id, o_d_id, o_id FROM orders WHERE o_id > ?";
    let placed: HashSet<(u32, u32, u32)> =
        conn.query(placed.replace('?', &scale.customers.to_string())).unwrap().into_iter().collect();
    let lost: Vec<_> = outcome.orders.iter().filter(|o| !placed.contains(o)).collect();
    assert!(lost.is_empty(), "acknowledged orders are lost: {lost:?}");
    let loaded = u64::from(scale.warehouses * 10 * scale.customers);
    let payments: u64 = conn.query_first("SELECT COUNT(*) FROM history").unwrap().unwrap();
    assert!(payments >= loaded + outcome.payments, "{payments} payments, acknowledged {}", outcome.payments);
}
