//! The driver against the real server: load, mix, consistency; and a kill in the middle of the mix.
//! At a hundredth of the rows; `DURAMEN_SCALE=1` runs Duramen's cases with four warehouses as
//! specified, 16 terminals and minutes of load.
#![allow(clippy::unwrap_used)]

use mysql::prelude::Queryable;
use servers::{Launch, Running, ServerKind};
use std::collections::HashSet;
use std::time::Duration;
use tpcc::report::Outcome;
use tpcc::scale::Scale;
use tpcc::session::{Form, Target};
use tpcc::terminal::{self, Mix};
use tpcc::{consistency, load};

/// How large a case is.
struct Size {
    scale: Scale,
    terminals: u32,
    mix: Duration,
    until_kill: Duration,
}

impl Size {
    /// What is asked for by `DURAMEN_SCALE`. At least two warehouses, so that there are remote
    /// customers and suppliers.
    fn wanted() -> Size {
        let seconds = Duration::from_secs;
        match std::env::var("DURAMEN_SCALE").is_ok_and(|scale| scale == "1") {
            true => {
                Size { scale: Scale::specified(4), terminals: 16, mix: seconds(60), until_kill: seconds(30) }
            }
            false => Size::small(),
        }
    }

    fn small() -> Size {
        let seconds = Duration::from_secs;
        Size { scale: Scale::small(2), terminals: 8, mix: seconds(4), until_kill: seconds(3) }
    }
}

#[test]
fn conditions_hold_after_the_mix_prepared() {
    after_the_mix(ServerKind::Duramen, Form::Prepared, &Size::wanted());
}

#[test]
fn conditions_hold_after_the_mix_as_text() {
    after_the_mix(ServerKind::Duramen, Form::Text, &Size::wanted());
}

/// No order without its customer, no line without its order: also when the server checks that.
#[test]
fn conditions_hold_with_foreign_keys() {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(ServerKind::Duramen, folder.path()).unwrap().start().unwrap();
    let (target, size) = (Target::socket(server.socket()), Size::wanted());
    load::load_with_foreign_keys(&target, &size.scale, 1).unwrap();
    let outcome = run(&target, &size, Form::Prepared);
    check_acknowledged(&target, &size.scale, &outcome);
    check_conditions(&target, &size.scale);
    let mut conn = target.connect().unwrap();
    conn.query_drop("USE tpcc").unwrap();
    let error = conn.query_drop("DELETE FROM orders LIMIT 1").unwrap_err().to_string();
    assert!(error.contains("1451"), "{error}");
}

/// What the driver itself is tested with: a server that has always run TPC-C.
#[test]
fn the_driver_is_right_on_mariadb() {
    after_the_mix(ServerKind::MariaDb, Form::Prepared, &Size::small());
}

#[test]
fn conditions_see_what_is_broken() {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(ServerKind::Duramen, folder.path()).unwrap().start().unwrap();
    let (target, scale) = loaded(&server, &Size::small());
    let breaks = [
        ("UPDATE warehouse SET w_ytd = w_ytd + 0.01 WHERE w_id = 2", vec![1, 8]),
        ("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = 1 AND d_id = 3", vec![2]),
        ("DELETE FROM new_orders WHERE no_w_id = 1 AND no_d_id = 1 AND no_o_id = 25", vec![3, 5, 11]),
        (
            "DELETE FROM order_line WHERE ol_w_id = 1 AND ol_d_id = 1 AND ol_o_id = 7 AND ol_number = 1",
            vec![4, 6],
        ),
        (
            "UPDATE order_line SET ol_delivery_d = NULL WHERE ol_w_id = 1 AND ol_d_id = 2 AND ol_o_id = 3",
            vec![7],
        ),
        (
            "UPDATE history SET h_amount = 11 WHERE h_c_w_id = 2 AND h_c_d_id = 9 AND h_c_id = 5",
            vec![8, 9, 10],
        ),
        ("UPDATE customer SET c_balance = 0 WHERE c_w_id = 1 AND c_d_id = 4 AND c_id = 2", vec![10, 12]),
    ];
    let mut conn = target.connect().unwrap();
    for (change, conditions) in breaks {
        load::load(&target, &scale, 1).unwrap();
        conn.query_drop("USE tpcc").unwrap();
        conn.query_drop(change).unwrap();
        assert!(conn.affected_rows() > 0, "{change}");
        let broken = consistency::check(&target, &scale).unwrap();
        let told: Vec<u32> =
            broken.iter().map(|b| b.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap()).collect();
        assert_eq!(told, conditions, "{change}: {broken:#?}");
    }
}

#[test]
fn a_kill_in_the_middle_loses_nothing_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Launch::new(ServerKind::Duramen, folder.path()).unwrap().start().unwrap();
    let size = Size::wanted();
    let (target, scale) = loaded(&server, &size);
    let mix = mix(Form::Prepared, size.terminals, size.until_kill * 20);
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(|| terminal::run(&target, &scale, &mix).unwrap());
        std::thread::sleep(size.until_kill);
        server.kill().unwrap();
        running.join().unwrap()
    });
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    assert!(outcome.lost_connections > 0, "the mix was over before the kill");
    let server = server.restart().unwrap();
    let target = Target::socket(server.socket());
    check_acknowledged(&target, &scale, &outcome);
    check_conditions(&target, &scale);
    // And it goes on from there.
    let outcome = run(&target, &Size { mix: Duration::from_secs(1), ..size }, Form::Prepared);
    check_acknowledged(&target, &scale, &outcome);
    check_conditions(&target, &scale);
}

fn after_the_mix(kind: ServerKind, form: Form, size: &Size) {
    let folder = tempfile::tempdir().unwrap();
    let server = Launch::new(kind, folder.path()).unwrap().start().unwrap();
    let (target, scale) = loaded(&server, size);
    check_conditions(&target, &scale);
    let outcome = run(&target, size, form);
    check_acknowledged(&target, &scale, &outcome);
    check_conditions(&target, &scale);
}

fn loaded(server: &Running, size: &Size) -> (Target, Scale) {
    let (target, scale) = (Target::socket(server.socket()), size.scale);
    load::load(&target, &scale, 1).unwrap();
    (target, scale)
}

fn mix(form: Form, terminals: u32, time: Duration) -> Mix {
    Mix { terminals, time, thinks: false, form, seed: 1 }
}

fn run(target: &Target, size: &Size, form: Form) -> Outcome {
    let outcome = terminal::run(target, &size.scale, &mix(form, size.terminals, size.mix)).unwrap();
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
