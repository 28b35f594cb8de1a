//! How large the tables are: clause 1.2.1, or less of everything for a test.

/// Districts of a warehouse; ten columns of `stock` are made for them.
pub const DISTRICTS: u32 = 10;

/// The cardinalities that may be scaled down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    /// Warehouses, the unit of scaling.
    pub warehouses: u32,
    /// Items, and rows of stock in each warehouse.
    pub items: u32,
    /// Customers, and orders loaded, in each district.
    pub customers: u32,
}

impl Scale {
    /// What the specification asks for.
    pub fn specified(warehouses: u32) -> Self {
        Self { warehouses, items: 100_000, customers: 3_000 }
    }

    /// A hundredth of it, for tests.
    pub fn small(warehouses: u32) -> Self {
        Self { warehouses, items: 1_000, customers: 30 }
    }

    /// The number of different last names: a thousand, if there are that many customers in a
    /// district.
    pub fn last_names(&self) -> u32 {
        self.customers.min(1_000)
    }

    /// The last order of a district that is loaded as delivered: 2100 of 3000.
    pub fn delivered(&self) -> u32 {
        self.customers / 10 * 7
    }
}
