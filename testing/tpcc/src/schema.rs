//! The nine tables of clause 1.3, with the keys that the transactions search by.

use crate::Result;
use mysql::Conn;
use mysql::prelude::Queryable;

/// Every table, those that others refer to first.
pub const TABLES: &[&str] =
    &["item", "warehouse", "district", "customer", "history", "orders", "new_orders", "order_line", "stock"];

const CREATE: &[&str] = &[
    "CREATE TABLE item (
       i_id INT NOT NULL, i_im_id INT NOT NULL, i_name VARCHAR(24) NOT NULL, i_price DECIMAL(5,2) NOT NULL,
       i_data VARCHAR(50) NOT NULL,
       PRIMARY KEY (i_id))",
    "CREATE TABLE warehouse (
       w_id INT NOT NULL, w_name VARCHAR(10) NOT NULL, w_street_1 VARCHAR(20) NOT NULL,
       w_street_2 VARCHAR(20) NOT NULL, w_city VARCHAR(20) NOT NULL, w_state CHAR(2) NOT NULL,
       w_zip CHAR(9) NOT NULL, w_tax DECIMAL(4,4) NOT NULL, w_ytd DECIMAL(12,2) NOT NULL,
       PRIMARY KEY (w_id))",
    "CREATE TABLE district (
       d_id TINYINT NOT NULL, d_w_id INT NOT NULL, d_name VARCHAR(10) NOT NULL, d_street_1 VARCHAR(20) NOT NULL,
       d_street_2 VARCHAR(20) NOT NULL, d_city VARCHAR(20) NOT NULL, d_state CHAR(2) NOT NULL,
       d_zip CHAR(9) NOT NULL, d_tax DECIMAL(4,4) NOT NULL, d_ytd DECIMAL(12,2) NOT NULL,
       d_next_o_id INT NOT NULL,
       PRIMARY KEY (d_w_id, d_id))",
    "CREATE TABLE customer (
       c_id INT NOT NULL, c_d_id TINYINT NOT NULL, c_w_id INT NOT NULL, c_first VARCHAR(16) NOT NULL,
       c_middle CHAR(2) NOT NULL, c_last VARCHAR(16) NOT NULL, c_street_1 VARCHAR(20) NOT NULL,
       c_street_2 VARCHAR(20) NOT NULL, c_city VARCHAR(20) NOT NULL, c_state CHAR(2) NOT NULL,
       c_zip CHAR(9) NOT NULL, c_phone CHAR(16) NOT NULL, c_since DATETIME NOT NULL, c_credit CHAR(2) NOT NULL,
       c_credit_lim DECIMAL(12,2) NOT NULL, c_discount DECIMAL(4,4) NOT NULL, c_balance DECIMAL(12,2) NOT NULL,
       c_ytd_payment DECIMAL(12,2) NOT NULL, c_payment_cnt SMALLINT NOT NULL, c_delivery_cnt SMALLINT NOT NULL,
       c_data VARCHAR(500) NOT NULL,
       PRIMARY KEY (c_w_id, c_d_id, c_id), KEY by_name (c_w_id, c_d_id, c_last, c_first))",
    "CREATE TABLE history (
       h_c_id INT NOT NULL, h_c_d_id TINYINT NOT NULL, h_c_w_id INT NOT NULL, h_d_id TINYINT NOT NULL,
       h_w_id INT NOT NULL, h_date DATETIME NOT NULL, h_amount DECIMAL(6,2) NOT NULL, h_data VARCHAR(24) NOT NULL)",
    "CREATE TABLE orders (
       o_id INT NOT NULL, o_d_id TINYINT NOT NULL, o_w_id INT NOT NULL, o_c_id INT NOT NULL,
       o_entry_d DATETIME NOT NULL, o_carrier_id TINYINT, o_ol_cnt TINYINT NOT NULL, o_all_local TINYINT NOT NULL,
       PRIMARY KEY (o_w_id, o_d_id, o_id), KEY by_customer (o_w_id, o_d_id, o_c_id, o_id))",
    "CREATE TABLE new_orders (
       no_o_id INT NOT NULL, no_d_id TINYINT NOT NULL, no_w_id INT NOT NULL,
       PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
    "CREATE TABLE order_line (
       ol_o_id INT NOT NULL, ol_d_id TINYINT NOT NULL, ol_w_id INT NOT NULL, ol_number TINYINT NOT NULL,
       ol_i_id INT NOT NULL, ol_supply_w_id INT NOT NULL, ol_delivery_d DATETIME, ol_quantity TINYINT NOT NULL,
       ol_amount DECIMAL(6,2) NOT NULL, ol_dist_info CHAR(24) NOT NULL,
       PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
    "CREATE TABLE stock (
       s_i_id INT NOT NULL, s_w_id INT NOT NULL, s_quantity SMALLINT NOT NULL,
       s_dist_01 CHAR(24) NOT NULL, s_dist_02 CHAR(24) NOT NULL, s_dist_03 CHAR(24) NOT NULL,
       s_dist_04 CHAR(24) NOT NULL, s_dist_05 CHAR(24) NOT NULL, s_dist_06 CHAR(24) NOT NULL,
       s_dist_07 CHAR(24) NOT NULL, s_dist_08 CHAR(24) NOT NULL, s_dist_09 CHAR(24) NOT NULL,
       s_dist_10 CHAR(24) NOT NULL, s_ytd INT NOT NULL, s_order_cnt SMALLINT NOT NULL,
       s_remote_cnt SMALLINT NOT NULL, s_data VARCHAR(50) NOT NULL,
       PRIMARY KEY (s_w_id, s_i_id))",
];

/// Makes the tables in a new database of this name, replacing an old one.
pub fn create(conn: &mut Conn, database: &str) -> Result<()> {
    conn.query_drop(format!("DROP DATABASE IF EXISTS {database}"))?;
    conn.query_drop(format!("CREATE DATABASE {database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"))?;
    conn.query_drop(format!("USE {database}"))?;
    for table in CREATE {
        conn.query_drop(format!("{table} ENGINE=InnoDB"))?;
    }
    Ok(())
}

/// What clause 1.4 says of the tables' references: table, columns, what they refer to.
const FOREIGN_KEYS: &[(&str, &str, &str)] = &[
    ("district", "d_w_id", "warehouse (w_id)"),
    ("customer", "c_w_id, c_d_id", "district (d_w_id, d_id)"),
    ("history", "h_c_w_id, h_c_d_id, h_c_id", "customer (c_w_id, c_d_id, c_id)"),
    ("history", "h_w_id, h_d_id", "district (d_w_id, d_id)"),
    ("orders", "o_w_id, o_d_id, o_c_id", "customer (c_w_id, c_d_id, c_id)"),
    ("new_orders", "no_w_id, no_d_id, no_o_id", "orders (o_w_id, o_d_id, o_id)"),
    ("order_line", "ol_w_id, ol_d_id, ol_o_id", "orders (o_w_id, o_d_id, o_id)"),
    ("order_line", "ol_supply_w_id, ol_i_id", "stock (s_w_id, s_i_id)"),
    ("stock", "s_w_id", "warehouse (w_id)"),
    ("stock", "s_i_id", "item (i_id)"),
];

/// Adds the foreign keys to tables that are filled: the rows are checked.
pub fn add_foreign_keys(conn: &mut Conn) -> Result<()> {
    for (table, columns, references) in FOREIGN_KEYS {
        conn.query_drop(format!("ALTER TABLE {table} ADD FOREIGN KEY ({columns}) REFERENCES {references}"))?;
    }
    Ok(())
}
