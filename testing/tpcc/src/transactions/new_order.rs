//! New-Order: clause 2.4. The only one that tpmC counts.

use super::{Effect, End, Failure, Home, Transaction, cents, column, found, values};
use crate::random::Values;
use crate::scale::DISTRICTS;
use crate::session::Session;

/// An item that no table has; entering it by mistake is what rolls back one order in a hundred.
const NO_ITEM: u32 = u32::MAX >> 1;

/// An order of a customer.
#[derive(Debug)]
pub struct NewOrder {
    warehouse: u32,
    district: u32,
    customer: u32,
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    item: u32,
    supplier: u32,
    quantity: i64,
}

impl NewOrder {
    /// Draws the input (clause 2.4.1).
    pub fn draw(home: &Home, values: &mut Values) -> Self {
        let district = values.number(1, DISTRICTS);
        let customer = values.customer(home.scale.customers);
        let count = values.number(5, 15);
        let mut lines: Vec<_> = (0..count)
            .map(|_| Line {
                item: values.item(home.scale.items),
                supplier: if values.percent(1) { home.other_warehouse(values) } else { home.warehouse },
                quantity: i64::from(values.number(1, 10)),
            })
            .collect();
        if values.percent(1)
            && let Some(last) = lines.last_mut()
        {
            last.item = NO_ITEM;
        }
        Self { warehouse: home.warehouse, district, customer, lines }
    }
}

impl Transaction for NewOrder {
    fn run(&self, session: &mut Session) -> Result<End, Failure> {
        session.command("START TRANSACTION")?;
        let order = self.open(session)?;
        for (number, line) in (1..).zip(&self.lines) {
            if !self.add(session, order, number, line)? {
                session.command("ROLLBACK")?;
                return Ok(End::RolledBack);
            }
        }
        session.command("COMMIT")?;
        Ok(End::Committed(Effect::Order { warehouse: self.warehouse, district: self.district, order }))
    }
}

impl NewOrder {
    /// Takes the order's number from the district, and enters its head.
    fn open(&self, session: &mut Session) -> Result<u32, Failure> {
        let (w, d, c) = (self.warehouse, self.district, self.customer);
        let row = session.row(
            "SELECT c_discount, c_last, c_credit, w_tax FROM customer, warehouse \
             WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?",
            values![w, d, c],
        )?;
        found(row, "the customer of an order")?;
        let row = session.row(
            "SELECT d_next_o_id, d_tax FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
            values![w, d],
        )?;
        let order: u32 = column(&found(row, "the district of an order")?, 0)?;
        session.change(
            "UPDATE district SET d_next_o_id = ? + 1 WHERE d_w_id = ? AND d_id = ?",
            values![order, w, d],
        )?;
        let is_local = self.lines.iter().all(|l| l.supplier == w);
        session.change(
            "INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) \
             VALUES (?, ?, ?, ?, NOW(), ?, ?)",
            values![order, d, w, c, self.lines.len(), u8::from(is_local)],
        )?;
        session.change(
            "INSERT INTO new_orders (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?)",
            values![order, d, w],
        )?;
        Ok(order)
    }

    /// Enters a line and takes its items from the stock; false if there is no such item.
    fn add(&self, session: &mut Session, order: u32, number: u32, line: &Line) -> Result<bool, Failure> {
        let item =
            session.row("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?", values![line.item])?;
        let Some(item) = item else { return Ok(false) };
        let price = cents(&column::<String>(&item, 0)?)?;
        let row = session.row(STOCK[self.district as usize - 1], values![line.item, line.supplier])?;
        let stock = found(row, "the stock of an item")?;
        let (quantity, info): (i64, String) = (column(&stock, 0)?, column(&stock, 2)?);
        let left = quantity - line.quantity;
        session.change(
            "UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, \
             s_remote_cnt = s_remote_cnt + ? WHERE s_i_id = ? AND s_w_id = ?",
            values![
                if left >= 10 { left } else { left + 91 },
                line.quantity,
                u8::from(line.supplier != self.warehouse),
                line.item,
                line.supplier
            ],
        )?;
        let amount = price * line.quantity;
        session.change(
            "INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, \
             ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values![
                order,
                self.district,
                self.warehouse,
                number,
                line.item,
                line.supplier,
                line.quantity,
                format!("{}.{:02}", amount / 100, amount % 100),
                info
            ],
        )?;
        Ok(true)
    }
}

macro_rules! stock_of_district {
    ($district:literal) => {
        concat!(
            "SELECT s_quantity, s_data, s_dist_",
            $district,
            " FROM stock WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE"
        )
    };
}

/// The stock with the information for each district.
const STOCK: [&str; DISTRICTS as usize] = [
    stock_of_district!("01"),
    stock_of_district!("02"),
    stock_of_district!("03"),
    stock_of_district!("04"),
    stock_of_district!("05"),
    stock_of_district!("06"),
    stock_of_district!("07"),
    stock_of_district!("08"),
    stock_of_district!("09"),
    stock_of_district!("10"),
];
