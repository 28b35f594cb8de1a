//! Order-Status: clause 2.6. Reads only.

use super::customer::Choice;
use super::{Effect, End, Failure, Home, Transaction, column, found, values};
use crate::random::Values;
use crate::scale::DISTRICTS;
use crate::session::Session;

/// A customer's question for the last order.
#[derive(Debug)]
pub struct OrderStatus {
    customer: Choice,
}

impl OrderStatus {
    /// Draws the input (clause 2.6.1).
    pub fn draw(home: &Home, values: &mut Values) -> Self {
        let district = values.number(1, DISTRICTS);
        Self { customer: Choice::draw(home, home.warehouse, district, values) }
    }
}

impl Transaction for OrderStatus {
    fn run(&self, session: &mut Session) -> Result<End, Failure> {
        let (w, d) = (self.customer.warehouse, self.customer.district);
        session.command("START TRANSACTION")?;
        let c = self.customer.find(session)?;
        let row = session.row(
            "SELECT c_balance, c_first, c_middle, c_last FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            values![w, d, c],
        )?;
        found(row, "the customer who asks")?;
        let row = session.row(
            "SELECT o_id, o_carrier_id, o_entry_d, o_ol_cnt FROM orders \
             WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1",
            values![w, d, c],
        )?;
        let order = found(row, "the last order of a customer")?;
        let (o, count): (u32, usize) = (column(&order, 0)?, column(&order, 3)?);
        let lines = session.rows(
            "SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d FROM order_line \
             WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
            values![w, d, o],
        )?;
        session.command("COMMIT")?;
        // Within one snapshot an order has all of its lines.
        if lines.len() == count {
            Ok(End::Committed(Effect::None))
        } else {
            Err(Failure::Missing(format!("lines of order {o}: {} of {count}", lines.len())))
        }
    }
}
