//! Privileges: what an account may do, what a statement needs, and where the two meet.
//!
//! 1. names   [`Privileges`] is a set of MySQL's static privileges, [`Dynamic`] one of its dynamic
//!    ones.
//! 2. grants  [`Grants`] is what one account has: for everything, and for databases by name or
//!    pattern.
//! 3. check   [`check`] is asked once for each statement, before it does anything. An account that
//!    has every static privilege for everything passes at once; for others the statement's tree
//!    says what it needs.
//!
//! Finer privileges than those of a database (tables, columns, routines) are refused when granted,
//! so that nobody relies on what is not enforced. A change of an account's grants counts from the
//! next statement of its sessions on ([`crate::catalog::Catalog::accounts_epoch`]).

mod accounts;
mod check;
mod grants;
mod kill_number;
mod needs;
mod set;
mod tables;
mod view;

pub(crate) use check::{Stamp, check, check_evaluated, check_set_password};
pub(crate) use grants::{Grants, OF_ROUTINE, RoutineName};
pub(crate) use kill_number::check_kill_number;
pub(crate) use set::{DYNAMIC, Dynamic, Privileges, STATIC, find};
pub(crate) use tables::{UsedTable, Uses, tables_used, uses_of, uses_of_expression};
pub(crate) use view::{check_change_in_view, check_view};
