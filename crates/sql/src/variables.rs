//! System variables: what `SET`, `SHOW VARIABLES`, `@@name`, the command line and my.cnf speak of.
//!
//! 1. Each variable is one line in a [`table`] by subject: name, kind with range and default,
//!    scope, what it does here.
//! 2. [`GlobalVariables`] holds the server's values; the command line fills it at the start
//!    ([`GlobalVariables::set_option`]), `SET GLOBAL` changes it and then runs the variable's
//!    hooks.
//! 3. A session starts with [`SessionVariables::new`], which shares the global values and copies
//!    them at its first `SET`.
//! 4. [`convert`] turns what was assigned into the variable's kind, with MySQL's adjustments,
//!    warnings and errors.
//!
//! (V1) Only what has a true effect can be changed. A *fixed* variable takes only the value it has;
//!      a *harmless* one is kept and shown, and its help text says that it has no effect.
//! (V2) A hook runs once for each successful `SET GLOBAL`, in the order of the assignments. One
//!      that refuses leaves the old value.
//! (V3) Reading a number or a switch of the server is one relaxed atomic load: these order nothing
//!      by themselves.
//!
//! Elsewhere: how the engine takes its settings from here ([`engine`]), option syntax and my.cnf
//! (`server::options`), privileges ([`Variable::asks`] says who needs one), variables whose value
//! is asked of the session or the log (`session::variables`).

mod convert;
mod definition;
pub(crate) mod engine;
mod error;
mod global;
pub mod ids;
mod option;
mod session;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use convert::Assigned;
pub use definition::{Asks, Scope, Variable, VariableId, VariableType};
pub use error::{VariableError, Warning};
pub use global::GlobalVariables;
pub use option::OptionError;
pub use session::{SessionVariables, read};
pub use syntax::sql_mode;
#[cfg(test)]
pub(crate) use table::BLOCK_ENCRYPTION_MODES;
pub use table::{VERSION, all, find, listed, matching, nearest};
pub use value::Value;

/// `original_commit_timestamp` of a transaction that was committed nowhere else.
pub(crate) const ORIGIN_UNKNOWN: u64 = 1 << 55;
/// The version of a server that does not say it.
pub(crate) const VERSION_UNKNOWN: u64 = 999_999;
