//! Types: what a column can hold, what an expression gives, and what character sets and collations
//! are.
//!
//! - [`data_type`]: a column's declared type, its limits and its form in the log.
//! - [`expression_type`]: an expression's static type, from which comparisons and result columns
//!   are made.
//! - [`charset`]: which bytes are text. [`collation`]: how text compares.
//! - [`code`]: the protocol's type numbers.

mod charset;
pub mod code;
mod collation;
mod data_type;
mod expression_type;
mod members;

pub use charset::Charset;
pub use collation::Collation;
pub use data_type::{DataType, ROW_SIZE_MAX, resolve_collation};
pub(crate) use data_type::{lob_length_max, trim_member};
pub use expression_type::{Coercibility, Family, Made, NOT_FIXED, Type};
pub use members::Members;
