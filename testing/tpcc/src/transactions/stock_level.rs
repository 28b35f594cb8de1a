//! Stock-Level: clause 2.8. Reads only.

use super::{Effect, End, Failure, Home, Transaction, column, found, values};
use crate::random::Values;
use crate::session::Session;

/// A question for the items of the last twenty orders whose stock is below a threshold.
#[derive(Debug)]
pub struct StockLevel {
    warehouse: u32,
    district: u32,
    threshold: u32,
}

impl StockLevel {
    /// Draws the input (clause 2.8.1).
    pub fn draw(home: &Home, values: &mut Values) -> Self {
        Self { warehouse: home.warehouse, district: home.district, threshold: values.number(10, 20) }
    }
}

impl Transaction for StockLevel {
    fn run(&self, session: &mut Session) -> Result<End, Failure> {
        let (w, d) = (self.warehouse, self.district);
        session.command("START TRANSACTION")?;
        let row =
            session.row("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", values![w, d])?;
        let next: u32 = column(&found(row, "the district of a terminal")?, 0)?;
        let row = session.row(
            "SELECT COUNT(DISTINCT s_i_id) FROM order_line, stock \
             WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? \
             AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?",
            values![w, d, next, next.saturating_sub(20), w, self.threshold],
        )?;
        let _low: u32 = column(&found(row, "a count")?, 0)?;
        session.command("COMMIT")?;
        Ok(End::Committed(Effect::None))
    }
}
