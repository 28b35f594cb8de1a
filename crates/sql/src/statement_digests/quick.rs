//! A hash of a statement's tokens without its values: the same for statements that differ in these
//! alone, so that a text need not be normalized to be recognised. Statements of one form may have
//! several, for lists of different lengths.

use xxhash_rust::xxh3::Xxh3;

use datum::bounds::Ticker;
use syntax::parser::VERSION;
use syntax::{Lexer, Token};

/// The hash of the text's first statement; `None` if its session was killed meanwhile.
pub(super) fn key(text: &[u8], sql_mode: u64) -> Option<u128> {
    let mut lexer = Lexer::new(text, sql_mode, VERSION);
    let mut hasher = Xxh3::new();
    hasher.update(&sql_mode.to_le_bytes());
    let mut ticker = Ticker::default();
    loop {
        ticker.step().ok()?;
        let lexeme = lexer.next();
        match lexeme.token {
            Token::End | Token::Bad | Token::Semicolon => return Some(hasher.digest128()),
            Token::String | Token::Integer | Token::Decimal | Token::Float => hasher.update(b"?"),
            _ => {
                hasher.update(&text[lexeme.start as usize..lexeme.end as usize]);
                hasher.update(b" ");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_make_no_difference_and_all_else_does() {
        let of = |text: &str| key(text.as_bytes(), 0).unwrap();
        let first = of("SELECT a FROM t WHERE b = 1 AND c = 'x'");
        assert_eq!(first, of("SELECT  a FROM t WHERE b = 22 /* no */ AND c = 'y z'"));
        for other in
            ["SELECT a FROM t WHERE b = 1 AND d = 'x'", "SELECT a FROM t WHERE b = 1", "SELECT a FROM"]
        {
            assert_ne!(first, of(other), "{other}");
        }
        assert_ne!(Some(first), key(b"SELECT a FROM t WHERE b = 1 AND c = 'x'", 4));
    }
}
