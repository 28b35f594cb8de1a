//! Types: what a column can hold, what an expression gives, and what character sets and collations
//! are.
//!
//! - [`data_type`]: a column's declared type, its limits and its form in the log.
//! - [`expression_type`]: an expression's static type, from which comparisons and result columns
//!   are made.
//! - [`charset`]: which bytes are text. [`collation`]: how text compares.
//! - [`code`]: the protocol's type numbers.

pub mod charset;
pub mod code;
pub mod collation;
pub mod data_type;
pub mod expression_type;
pub mod members;

pub use charset::Charset;
pub use collation::Collation;
pub use data_type::DataType;
pub use expression_type::{Coercibility, Family, Type};
pub use members::Members;
