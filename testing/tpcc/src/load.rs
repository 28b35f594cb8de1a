//! Filling the tables: clause 4.3.3. Warehouses are loaded side by side.

use crate::random::{Constants, Values, last_name};
use crate::scale::{DISTRICTS, Scale};
use crate::session::Target;
use crate::{Result, schema};
use mysql::Conn;
use mysql::prelude::Queryable;
use std::fmt::Write;
use std::sync::atomic::{AtomicU32, Ordering};

/// Loaders that work side by side.
const LOADERS: u32 = 4;
/// The length of an INSERT at which it is sent.
const STATEMENT_BYTES: usize = 128 << 10;

/// Makes the database, fills it, and adds the foreign keys.
pub fn load_with_foreign_keys(target: &Target, scale: &Scale, seed: u64) -> Result<()> {
    load(target, scale, seed)?;
    let mut conn = target.connect()?;
    conn.query_drop(format!("USE {}", target.database))?;
    schema::add_foreign_keys(&mut conn)
}

/// Makes the database and fills it. The same seed makes the same rows.
pub fn load(target: &Target, scale: &Scale, seed: u64) -> Result<()> {
    let mut conn = target.connect()?;
    schema::create(&mut conn, &target.database)?;
    Loader::open(target, scale, seed)?.items()?;
    let next = AtomicU32::new(1);
    std::thread::scope(|scope| {
        let work = || -> Result<()> {
            loop {
                let warehouse = next.fetch_add(1, Ordering::Relaxed);
                if warehouse > scale.warehouses {
                    return Ok(());
                }
                Loader::open(target, scale, seed + u64::from(warehouse))?.warehouse(warehouse)?;
            }
        };
        let loaders: Vec<_> = (0..LOADERS.min(scale.warehouses)).map(|_| scope.spawn(work)).collect();
        loaders.into_iter().try_for_each(|l| l.join().map_err(|_| "a loader panicked")?)
    })
}

struct Loader<'a> {
    conn: Conn,
    scale: &'a Scale,
    values: Values,
}

impl<'a> Loader<'a> {
    fn open(target: &Target, scale: &'a Scale, seed: u64) -> Result<Self> {
        let mut conn = target.connect()?;
        conn.query_drop(format!("USE {}", target.database))?;
        Ok(Self { conn, scale, values: Values::new(seed, Constants::load()) })
    }

    fn items(&mut self) -> Result<()> {
        let mut rows = Rows::new("item");
        for id in 1..=self.scale.items {
            let (image, price) = (self.values.number(1, 10_000), cents(self.values.number(100, 10_000)));
            let (name, data) = (self.values.letters(14, 24), self.values.data());
            rows.add(&mut self.conn, format_args!("{id},{image},'{name}',{price},'{data}'"))?;
        }
        rows.send(&mut self.conn)
    }

    fn warehouse(&mut self, w: u32) -> Result<()> {
        let mut rows = Rows::new("warehouse");
        let (name, address, tax) = (self.values.letters(6, 10), self.address(), self.values.number(0, 2000));
        let ytd = self.ytd(DISTRICTS);
        rows.add(&mut self.conn, format_args!("{w},'{name}',{address},0.{tax:04},{ytd}"))?;
        rows.send(&mut self.conn)?;
        self.stock(w)?;
        for d in 1..=DISTRICTS {
            self.district(w, d)?;
            self.customers(w, d)?;
            self.orders(w, d)?;
        }
        Ok(())
    }

    /// What has been paid in so many districts: ten for each customer's one row of history
    /// (30,000.00 in clause 4.3.3).
    fn ytd(&self, districts: u32) -> u32 {
        10 * self.scale.customers * districts
    }

    fn stock(&mut self, w: u32) -> Result<()> {
        let mut rows = Rows::new("stock");
        for i in 1..=self.scale.items {
            let quantity = self.values.number(10, 100);
            let districts: Vec<_> =
                (0..DISTRICTS).map(|_| format!("'{}'", self.values.letters(24, 24))).collect();
            let (districts, data) = (districts.join(","), self.values.data());
            rows.add(&mut self.conn, format_args!("{i},{w},{quantity},{districts},0,0,0,'{data}'"))?;
        }
        rows.send(&mut self.conn)
    }

    fn district(&mut self, w: u32, d: u32) -> Result<()> {
        let mut rows = Rows::new("district");
        let (name, address, tax) = (self.values.letters(6, 10), self.address(), self.values.number(0, 2000));
        let (ytd, next) = (self.ytd(1), self.scale.customers + 1);
        rows.add(&mut self.conn, format_args!("{d},{w},'{name}',{address},0.{tax:04},{ytd},{next}"))?;
        rows.send(&mut self.conn)
    }

    fn customers(&mut self, w: u32, d: u32) -> Result<()> {
        let (mut customers, mut history) = (Rows::new("customer"), Rows::new("history"));
        let names = self.scale.last_names();
        for c in 1..=self.scale.customers {
            let last = last_name(if c <= names { c - 1 } else { self.values.last_name(names) });
            let (first, address) = (self.values.letters(8, 16), self.address());
            let phone = self.values.digits(16, 16);
            let credit = if self.values.percent(10) { "BC" } else { "GC" };
            let (discount, data) = (self.values.number(0, 5000), self.values.letters(300, 500));
            customers.add(
                &mut self.conn,
                format_args!(
                    "{c},{d},{w},'{first}','OE','{last}',{address},'{phone}',NOW(),'{credit}',50000,\
                     0.{discount:04},-10,10,1,0,'{data}'"
                ),
            )?;
            let data = self.values.letters(12, 24);
            history.add(&mut self.conn, format_args!("{c},{d},{w},{d},{w},NOW(),10,'{data}'"))?;
        }
        customers.send(&mut self.conn)?;
        history.send(&mut self.conn)
    }

    fn orders(&mut self, w: u32, d: u32) -> Result<()> {
        let (mut orders, mut new_orders) = (Rows::new("orders"), Rows::new("new_orders"));
        let mut lines = Rows::new("order_line");
        let customers = self.values.permutation(self.scale.customers);
        for (o, c) in (1..).zip(customers) {
            let is_delivered = o <= self.scale.delivered();
            let carrier = if is_delivered { self.values.number(1, 10).to_string() } else { "NULL".into() };
            let count = self.values.number(5, 15);
            orders.add(&mut self.conn, format_args!("{o},{d},{w},{c},NOW(),{carrier},{count},1"))?;
            if !is_delivered {
                new_orders.add(&mut self.conn, format_args!("{o},{d},{w}"))?;
            }
            for number in 1..=count {
                let (item, info) = (self.values.number(1, self.scale.items), self.values.letters(24, 24));
                let delivery = if is_delivered { "NOW()" } else { "NULL" };
                let amount = if is_delivered { 0 } else { self.values.number(1, 999_999) };
                let amount = cents(amount);
                lines.add(
                    &mut self.conn,
                    format_args!("{o},{d},{w},{number},{item},{w},{delivery},5,{amount},'{info}'"),
                )?;
            }
        }
        orders.send(&mut self.conn)?;
        new_orders.send(&mut self.conn)?;
        lines.send(&mut self.conn)
    }

    /// Two streets, city, state, zip.
    fn address(&mut self) -> String {
        let v = &mut self.values;
        let streets = format!("'{}','{}'", v.letters(10, 20), v.letters(10, 20));
        format!("{streets},'{}','{}','{}'", v.letters(10, 20), v.letters(2, 2), v.zip())
    }
}

/// An amount in hundredths as a decimal literal.
pub(crate) fn cents(amount: u32) -> String {
    format!("{}.{:02}", amount / 100, amount % 100)
}

/// Rows for one table, sent in long statements.
struct Rows {
    table: &'static str,
    text: String,
}

impl Rows {
    fn new(table: &'static str) -> Self {
        Self { table, text: String::new() }
    }

    fn add(&mut self, conn: &mut Conn, row: std::fmt::Arguments<'_>) -> Result<()> {
        if self.text.is_empty() {
            write!(self.text, "INSERT INTO {} VALUES ", self.table)?;
        } else {
            self.text.push(',');
        }
        write!(self.text, "({row})")?;
        if self.text.len() >= STATEMENT_BYTES { self.send(conn) } else { Ok(()) }
    }

    fn send(&mut self, conn: &mut Conn) -> Result<()> {
        if !self.text.is_empty() {
            conn.query_drop(&self.text)?;
            self.text.clear();
        }
        Ok(())
    }
}
