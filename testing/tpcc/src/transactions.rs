//! The five transactions of clause 2. Each has an input, drawn first, and a run, which may be
//! repeated with the same input after a deadlock.

mod customer;
mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

pub use delivery::Delivery;
pub use new_order::NewOrder;
pub use order_status::OrderStatus;
pub use payment::Payment;
pub use stock_level::StockLevel;

use crate::random::Values;
use crate::scale::Scale;
use crate::session::Session;

/// Which transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionType {
    /// A customer orders 5 to 15 items.
    NewOrder,
    /// A customer pays.
    Payment,
    /// A customer asks for the last order.
    OrderStatus,
    /// The oldest open order of each district is delivered.
    Delivery,
    /// How many of the items ordered last are short.
    StockLevel,
}

impl TransactionType {
    /// All, in the specification's order.
    pub const ALL: [TransactionType; 5] = [
        TransactionType::NewOrder,
        TransactionType::Payment,
        TransactionType::OrderStatus,
        TransactionType::Delivery,
        TransactionType::StockLevel,
    ];

    /// The specification's name.
    pub fn name(self) -> &'static str {
        match self {
            TransactionType::NewOrder => "New-Order",
            TransactionType::Payment => "Payment",
            TransactionType::OrderStatus => "Order-Status",
            TransactionType::Delivery => "Delivery",
            TransactionType::StockLevel => "Stock-Level",
        }
    }
}

/// Where a terminal stands: its warehouse, its district for Stock-Level (clause 2.8.1.1), and the
/// tables' sizes.
#[derive(Debug, Clone, Copy)]
pub struct Home {
    /// From 1 to the scale's number of warehouses.
    pub warehouse: u32,
    /// From 1 to 10; Stock-Level alone keeps to it.
    pub district: u32,
    /// The sizes of the tables.
    pub scale: Scale,
}

impl Home {
    /// Another warehouse than this one; this one if there is no other.
    fn other_warehouse(&self, values: &mut Values) -> u32 {
        if self.scale.warehouses == 1 {
            return self.warehouse;
        }
        let other = values.number(1, self.scale.warehouses - 1);
        if other < self.warehouse { other } else { other + 1 }
    }
}

/// How a transaction ended, other than by an error of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Committed, and acknowledged.
    Committed(Effect),
    /// Rolled back as the specification wants one New-Order in a hundred to be.
    RolledBack,
}

/// What must be found again after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Nothing that is counted.
    None,
    /// A New-Order's row in ORDERS.
    Order {
        /// Its `O_W_ID`.
        warehouse: u32,
        /// Its `O_D_ID`.
        district: u32,
        /// Its number.
        order: u32,
    },
    /// A row in HISTORY.
    Payment,
}

/// What can go wrong in a run.
#[derive(Debug)]
pub enum Failure {
    /// The server or the connection to it failed.
    Server(mysql::Error),
    /// The tables do not hold what they must.
    Missing(String),
}

impl From<mysql::Error> for Failure {
    fn from(e: mysql::Error) -> Self {
        Self::Server(e)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Server(e) => e.fmt(f),
            Self::Missing(what) => write!(f, "missing: {what}"),
        }
    }
}

impl Failure {
    /// True for what a client answers by running the transaction again: deadlocks and lock wait
    /// timeouts.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Server(mysql::Error::MySqlError(e)) if matches!(e.code, 1205 | 1213))
    }

    /// True if the connection is gone.
    pub fn is_lost_connection(&self) -> bool {
        match self {
            Self::Server(mysql::Error::MySqlError(e)) => matches!(e.code, 1053 | 1927),
            Self::Server(_) => true,
            Self::Missing(_) => false,
        }
    }
}

/// A transaction with its input.
pub trait Transaction {
    /// Runs it to its end.
    fn run(&self, session: &mut Session) -> Result<End, Failure>;
}

/// Draws the input of a transaction.
pub fn draw(kind: TransactionType, home: &Home, values: &mut Values) -> Box<dyn Transaction> {
    match kind {
        TransactionType::NewOrder => Box::new(NewOrder::draw(home, values)),
        TransactionType::Payment => Box::new(Payment::draw(home, values)),
        TransactionType::OrderStatus => Box::new(OrderStatus::draw(home, values)),
        TransactionType::Delivery => Box::new(Delivery::draw(home, values)),
        TransactionType::StockLevel => Box::new(StockLevel::draw(home, values)),
    }
}

/// The values of a statement's parameters.
macro_rules! values {
    ($($value:expr),* $(,)?) => { vec![$(::mysql::Value::from($value)),*] };
}
use values;

/// A column of a row that has to be there.
fn column<T: mysql::prelude::FromValue>(row: &mysql::Row, index: usize) -> Result<T, Failure> {
    match row.get_opt(index) {
        Some(Ok(value)) => Ok(value),
        _ => Err(Failure::Missing(format!("column {index} of {row:?}"))),
    }
}

/// The row that has to be there.
fn found(row: Option<mysql::Row>, what: &str) -> Result<mysql::Row, Failure> {
    row.ok_or_else(|| Failure::Missing(what.to_owned()))
}

/// An amount in hundredths of what the server gives as a decimal string.
fn cents(decimal: &str) -> Result<i64, Failure> {
    let digits: String = decimal.chars().filter(|c| *c != '.').collect();
    digits.parse().map_err(|_| Failure::Missing(format!("an amount in `{decimal}`")))
}
