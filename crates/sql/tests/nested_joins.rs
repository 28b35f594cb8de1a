//! Planning nested outer joins takes time in proportion to their number. It once took twice as long
//! for each level: 30 levels, which need no table and no privilege, would have taken days.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, value};

#[test]
fn deep_outer_joins_are_planned_at_once() {
    let server = Server::new(1);
    let mut session = server.session();
    for on in ["1", "r{a}.x = r{b}.x"] {
        let mut from = "(SELECT 1 x) r40".to_owned();
        for level in (0..40).rev() {
            let on = on.replace("{a}", &level.to_string()).replace("{b}", &(level + 1).to_string());
            // A second table at each level, so that there are orders to choose from.
            let pair = if level % 2 == 0 {
                format!("(SELECT 1 x) r{level}")
            } else {
                format!("(SELECT 1 x) r{level} JOIN (SELECT 2 y) s{level}")
            };
            from = format!("{pair} LEFT JOIN ({from}) ON {on}");
        }
        assert_eq!(value(&mut session, &format!("SELECT COUNT(*) FROM {from}")), "1");
    }
}
