//! Delivery: clause 2.7. The ten districts are done in one transaction, which the clause allows.

use super::{Effect, End, Failure, Home, Transaction, column, found, values};
use crate::random::Values;
use crate::scale::DISTRICTS;
use crate::session::Session;

/// A carrier takes the oldest open order of each district.
#[derive(Debug)]
pub struct Delivery {
    warehouse: u32,
    carrier: u32,
}

impl Delivery {
    /// Draws the input (clause 2.7.1).
    pub fn draw(home: &Home, values: &mut Values) -> Self {
        Self { warehouse: home.warehouse, carrier: values.number(1, 10) }
    }
}

impl Transaction for Delivery {
    fn run(&self, session: &mut Session) -> Result<End, Failure> {
        session.command("START TRANSACTION")?;
        for district in 1..=DISTRICTS {
            self.deliver(session, district)?;
        }
        session.command("COMMIT")?;
        Ok(End::Committed(Effect::None))
    }
}

impl Delivery {
    /// Delivers a district's oldest order; a district without one is skipped (clause 2.7.4.2).
    fn deliver(&self, session: &mut Session, d: u32) -> Result<(), Failure> {
        let w = self.warehouse;
        let row = session.row(
            "SELECT no_o_id FROM new_orders WHERE no_w_id = ? AND no_d_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE",
            values![w, d],
        )?;
        let Some(row) = row else { return Ok(()) };
        let o: u32 = column(&row, 0)?;
        let deleted = session.change(
            "DELETE FROM new_orders WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
            values![w, d, o],
        )?;
        if deleted != 1 {
            return Err(Failure::Missing(format!("new order {o} of district {d}, which was locked")));
        }
        // Locking reads from here on, or of rows changed just before: the order may be newer than
        // the snapshot.
        let row = session.row(
            "SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ? FOR UPDATE",
            values![w, d, o],
        )?;
        let c: u32 = column(&found(row, "an order to be delivered")?, 0)?;
        session.change(
            "UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
            values![self.carrier, w, d, o],
        )?;
        session.change(
            "UPDATE order_line SET ol_delivery_d = NOW() WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            values![w, d, o],
        )?;
        let row = session.row(
            "SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            values![w, d, o],
        )?;
        let amount: String = column(&found(row, "the amount of an order")?, 0)?;
        session.change(
            "UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 \
             WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            values![amount, w, d, c],
        )?;
        Ok(())
    }
}
