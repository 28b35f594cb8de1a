//! Differential tests: random schemas, rows and statements run the same on Duramen and on MariaDB,
//! or a MySQL that is there, and the answers are compared.
//!
//! 1. [`generator`] makes an episode from a seed: tables, rows, then queries, changes, transactions
//!    and definitions.
//! 2. [`peers`] runs each statement on both servers, as text or prepared ([`parameters`]);
//!    [`answer`] compares rows (as multisets, or in order where ORDER BY leaves no choice),
//!    affected rows and error numbers. On Duramen alone a query must not contradict itself
//!    ([`partition`]).
//! 3. What differs is held against [`known`], the differences between MySQL and MariaDB with the
//!    manual's word for MySQL.
//! 4. The rest is a finding: [`reduce`] drops statements, rows, clauses and expressions while it
//!    still differs, and the script that is left is printed.
//!
//! A statement that Duramen refuses with error 1235 is counted and shown by its message, and not
//! run on MariaDB.

pub mod answer;
pub mod definition;
pub mod generator;
pub mod known_differences;
pub mod parameters;
pub mod partition;
pub mod peers;
pub mod reduce;
pub mod run;
pub mod tree;

pub use servers::Result;
