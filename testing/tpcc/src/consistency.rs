//! The consistency conditions of clause 3.3.2, each as a statement that counts what breaks it.

use crate::Result;
use crate::scale::Scale;
use crate::session::Target;
use mysql::prelude::Queryable;

/// One of the twelve.
#[derive(Debug)]
pub struct Condition {
    /// Its number in clause 3.3.2.
    pub number: u32,
    /// What it says.
    pub says: &'static str,
    /// Counts what breaks it.
    sql: &'static str,
}

const fn condition(number: u32, says: &'static str, sql: &'static str) -> Condition {
    Condition { number, says, sql }
}

/// What a customer's delivered order lines add up to.
macro_rules! delivered_by_customer {
    () => {
        "(SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) AS amount
            FROM orders JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
           WHERE ol_delivery_d IS NOT NULL
           GROUP BY o_w_id, o_d_id, o_c_id)"
    };
}

/// All twelve. `{delivered}` in a statement is the number of orders of a district that are loaded
/// as delivered.
pub const CONDITIONS: &[Condition] = &[
    condition(
        1,
        "W_YTD = sum(D_YTD)",
        "SELECT COUNT(*) FROM warehouse
           LEFT JOIN (SELECT d_w_id, SUM(d_ytd) AS ytd FROM district GROUP BY d_w_id) AS d ON d_w_id = w_id
          WHERE NOT (w_ytd <=> ytd)",
    ),
    condition(
        2,
        "D_NEXT_O_ID - 1 = max(O_ID) = max(NO_O_ID)",
        "SELECT COUNT(*) FROM district
           LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) AS last FROM orders GROUP BY o_w_id, o_d_id) AS o
             ON o_w_id = d_w_id AND o_d_id = d_id
           LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) AS newest FROM new_orders GROUP BY no_w_id, no_d_id) AS n
             ON no_w_id = d_w_id AND no_d_id = d_id
          WHERE NOT (last <=> d_next_o_id - 1) OR newest <> d_next_o_id - 1",
    ),
    condition(
        3,
        "max(NO_O_ID) - min(NO_O_ID) + 1 = number of rows in NEW-ORDER",
        "SELECT COUNT(*) FROM
           (SELECT no_w_id, no_d_id FROM new_orders GROUP BY no_w_id, no_d_id
            HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) AS broken",
    ),
    condition(
        4,
        "sum(O_OL_CNT) = number of rows in ORDER-LINE, by district",
        "SELECT COUNT(*) FROM
           (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) AS told FROM orders GROUP BY o_w_id, o_d_id) AS o
           LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) AS found FROM order_line GROUP BY ol_w_id, ol_d_id) AS l
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id
          WHERE NOT (told <=> found)",
    ),
    condition(
        5,
        "O_CARRIER_ID is null if and only if NEW-ORDER has the order",
        "SELECT COUNT(*) FROM orders
           LEFT JOIN new_orders ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
          WHERE (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL)",
    ),
    condition(
        6,
        "O_OL_CNT = number of the order's rows in ORDER-LINE",
        "SELECT COUNT(*) FROM orders
           LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) AS found FROM order_line
                       GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l
             ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
          WHERE NOT (o_ol_cnt <=> found)",
    ),
    condition(
        7,
        "OL_DELIVERY_D is null if and only if the order's O_CARRIER_ID is",
        "SELECT COUNT(*) FROM order_line
           LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
          WHERE o_id IS NULL OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL)",
    ),
    condition(
        8,
        "W_YTD = sum(H_AMOUNT)",
        "SELECT COUNT(*) FROM warehouse
           LEFT JOIN (SELECT h_w_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id) AS h ON h_w_id = w_id
          WHERE NOT (w_ytd <=> paid)",
    ),
    condition(
        9,
        "D_YTD = sum(H_AMOUNT)",
        "SELECT COUNT(*) FROM district
           LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) AS h
             ON h_w_id = d_w_id AND h_d_id = d_id
          WHERE NOT (d_ytd <=> paid)",
    ),
    condition(
        10,
        "C_BALANCE = sum(OL_AMOUNT) of what was delivered - sum(H_AMOUNT)",
        concat!(
            "SELECT COUNT(*) FROM customer LEFT JOIN ",
            delivered_by_customer!(),
            " AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
             LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) AS paid FROM history
                         GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h
               ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
             WHERE c_balance <> COALESCE(amount, 0) - COALESCE(paid, 0)"
        ),
    ),
    // The clause has 2100, true after the load alone: each delivery takes a row from NEW-ORDER and
    // counts itself.
    condition(
        11,
        "rows of ORDER - rows of NEW-ORDER = 2100 + deliveries",
        "SELECT COUNT(*) FROM
           (SELECT c_w_id, c_d_id, SUM(c_delivery_cnt) AS deliveries FROM customer GROUP BY c_w_id, c_d_id) AS c
           LEFT JOIN (SELECT o_w_id, o_d_id, COUNT(*) AS placed FROM orders GROUP BY o_w_id, o_d_id) AS o
             ON o_w_id = c_w_id AND o_d_id = c_d_id
           LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) AS open FROM new_orders GROUP BY no_w_id, no_d_id) AS n
             ON no_w_id = c_w_id AND no_d_id = c_d_id
          WHERE NOT (placed - COALESCE(open, 0) <=> {delivered} + deliveries)",
    ),
    condition(
        12,
        "C_BALANCE + C_YTD_PAYMENT = sum(OL_AMOUNT) of what was delivered",
        concat!(
            "SELECT COUNT(*) FROM customer LEFT JOIN ",
            delivered_by_customer!(),
            " AS o ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
             WHERE c_balance + c_ytd_payment <> COALESCE(amount, 0)"
        ),
    ),
];

/// What breaks the conditions, as text; empty if nothing does. Nothing may run meanwhile.
pub fn check(target: &Target, scale: &Scale) -> Result<Vec<String>> {
    let mut conn = target.connect()?;
    conn.query_drop(format!("USE {}", target.database))?;
    let mut broken = Vec::new();
    for condition in CONDITIONS {
        let sql = condition.sql.replace("{delivered}", &scale.delivered().to_string());
        let found: Option<u64> = conn
            .query_first(sql)
            .map_err(|e| format!("condition {} ({}): {e}", condition.number, condition.says))?;
        if found != Some(0) {
            let count = found.map_or_else(|| "no answer".into(), |n| n.to_string());
            broken.push(format!("condition {} ({}) is broken: {count}", condition.number, condition.says));
        }
    }
    Ok(broken)
}
