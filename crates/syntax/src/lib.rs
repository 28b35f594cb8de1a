//! The text of SQL: from bytes to a tree, and back.
//!
//! - [`lexer`]: bytes to tokens ([`token`], [`keyword`]); what stands in quotes ([`quoted`]).
//! - [`parser`]: tokens to a statement's tree ([`ast`]), or an [`error`].
//! - [`unparse`]: a tree to its canonical text, which gives the same tree again.
//! - [`digest`]: a text to its form, with `?` for its values.
//! - [`versioned`]: a text without comments that other servers take for text.
//! - [`sql_mode`]: the settings of a session that change how a text is read.
//!
//! Names aren't resolved here and types not checked: that is what `sql` does. Nothing here knows
//! tables, sessions or the log.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod ast;
pub mod digest;
mod error;
mod keyword;
mod lexer;
pub mod parser;
pub mod quoted;
pub mod sql_mode;
mod token;
pub mod unparse;
pub mod versioned;

pub use error::ParseError;
pub use keyword::Keyword;
pub use lexer::Lexer;
pub use parser::{ParseOptions, Parser};
pub use token::{Lexeme, Token};
