//! Payment: clause 2.5.

use super::customer::Choice;
use super::{Effect, End, Failure, Home, Transaction, column, found, values};
use crate::load::cents;
use crate::random::Values;
use crate::scale::DISTRICTS;
use crate::session::Session;

/// A payment of a customer, of this warehouse or, 15 times of a hundred, of another.
#[derive(Debug)]
pub struct Payment {
    warehouse: u32,
    district: u32,
    customer: Choice,
    amount: String,
}

impl Payment {
    /// Draws the input (clause 2.5.1).
    pub fn draw(home: &Home, values: &mut Values) -> Self {
        let district = values.number(1, DISTRICTS);
        let (of, its) = if values.percent(85) {
            (home.warehouse, district)
        } else {
            (home.other_warehouse(values), values.number(1, DISTRICTS))
        };
        let customer = Choice::draw(home, of, its, values);
        Self { warehouse: home.warehouse, district, customer, amount: cents(values.number(100, 500_000)) }
    }
}

impl Transaction for Payment {
    fn run(&self, session: &mut Session) -> Result<End, Failure> {
        let (w, d) = (self.warehouse, self.district);
        session.command("START TRANSACTION")?;
        session.change("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", values![&self.amount, w])?;
        let row = session.row(
            "SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse WHERE w_id = ?",
            values![w],
        )?;
        let warehouse: String = column(&found(row, "the warehouse of a payment")?, 5)?;
        session.change(
            "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
            values![&self.amount, w, d],
        )?;
        let row = session.row(
            "SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district \
             WHERE d_w_id = ? AND d_id = ?",
            values![w, d],
        )?;
        let district: String = column(&found(row, "the district of a payment")?, 5)?;
        let customer = self.pay(session)?;
        session.change(
            "INSERT INTO history (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) \
             VALUES (?, ?, ?, ?, ?, NOW(), ?, ?)",
            values![
                self.customer.district,
                self.customer.warehouse,
                customer,
                d,
                w,
                &self.amount,
                format!("{warehouse}    {district}")
            ],
        )?;
        session.command("COMMIT")?;
        Ok(End::Committed(Effect::Payment))
    }
}

impl Payment {
    /// Changes the customer; its number.
    fn pay(&self, session: &mut Session) -> Result<u32, Failure> {
        let (w, d) = (self.customer.warehouse, self.customer.district);
        let c = self.customer.find(session)?;
        let row = session.row(
            "SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, \
             c_credit_lim, c_discount, c_balance, c_since FROM customer \
             WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE",
            values![w, d, c],
        )?;
        let credit: String = column(&found(row, "the customer of a payment")?, 9)?;
        if credit != "BC" {
            session.change(
                "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
                 c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                values![&self.amount, &self.amount, w, d, c],
            )?;
            return Ok(c);
        }
        let note = format!("{c} {d} {w} {} {} {} | ", self.district, self.warehouse, self.amount);
        session.change(
            "UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, \
             c_payment_cnt = c_payment_cnt + 1, c_data = LEFT(CONCAT(?, c_data), 500) \
             WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            values![&self.amount, &self.amount, note, w, d, c],
        )?;
        Ok(c)
    }
}
