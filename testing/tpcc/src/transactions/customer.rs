//! Choosing a customer: by number, or, six times of ten, by last name (clauses 2.5.1.2 and
//! 2.5.2.2).

use super::{Failure, Home, column, values};
use crate::random::{Values, last_name};
use crate::session::Session;

/// A customer, chosen but not yet looked for.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) warehouse: u32,
    pub(super) district: u32,
    by: By,
}

#[derive(Debug)]
enum By {
    Number(u32),
    LastName(String),
}

impl Choice {
    /// One in this district.
    pub(super) fn draw(home: &Home, warehouse: u32, district: u32, values: &mut Values) -> Self {
        let by = if values.percent(60) {
            By::LastName(last_name(values.last_name(home.scale.last_names())))
        } else {
            By::Number(values.customer(home.scale.customers))
        };
        Self { warehouse, district, by }
    }

    /// The customer's number: of several with the name, the middle one by first name, rounded up.
    pub(super) fn find(&self, session: &mut Session) -> Result<u32, Failure> {
        match &self.by {
            By::Number(number) => Ok(*number),
            By::LastName(name) => {
                let rows = session.rows(
                    "SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first",
                    values![self.warehouse, self.district, name.as_str()],
                )?;
                match rows.get(rows.len().saturating_sub(1) / 2) {
                    Some(row) => column(row, 0),
                    None => Err(Failure::Missing(format!("a customer called {name}"))),
                }
            }
        }
    }
}
