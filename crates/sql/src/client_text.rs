//! A client's text in UTF-8.
//!
//! The parser and everything behind it, the binary log too, have statements in UTF-8: names,
//! comments, literals, the text of a function. A client of another character set sends its own;
//! [`to_utf8`] brings a statement from it, once, at the door.
//!
//! Strings with an introducer are the exception: their bytes are what the introducer says, whatever
//! the client's set is. Where they are not ASCII they are written as hexadecimal literals, which
//! mean the same and are ASCII: `_binary'..'` as `_binary x'..'`.

use std::borrow::Cow;

use datum::types::Charset;
use syntax::parser::VERSION;
use syntax::quoted::content_of;
use syntax::{Lexeme, Lexer, ParseError, Token};

/// `text` of a client with this character set, in that of [`Charset::of_statements`].
///
/// # Errors
/// 1300 for bytes outside of comments that are no characters of the client's set.
pub(crate) fn to_utf8(text: &[u8], client: Charset, sql_mode: u64) -> Result<Cow<'_, [u8]>, ParseError> {
    if !is_converted(text, client) {
        return Ok(text.into());
    }
    let mut out = Vec::with_capacity(text.len() + text.len() / 4);
    let mut lexer = Lexer::new(text, sql_mode, VERSION);
    let mut done = 0;
    // What lies between two tokens is comments and blanks.
    let convert = |from: usize, to: usize, out: &mut Vec<u8>| {
        out.extend_from_slice(&client.convert(text[from..to].into(), Charset::Utf8mb4).0);
    };
    let mut lexeme = lexer.next();
    while !matches!(lexeme.token, Token::End | Token::Bad) {
        let (start, end) = (lexeme.start as usize, lexeme.end as usize);
        let valid = start + client.valid_prefix(&text[start..end]);
        if valid < end {
            return Err(invalid(client, &text[valid..end], valid));
        }
        let introduces = lexeme.token == Token::Introducer;
        lexeme = lexer.next();
        if introduces && lexeme.token == Token::String {
            let mut strings = Vec::new();
            while lexeme.token == Token::String {
                strings.push(lexeme);
                lexeme = lexer.next();
            }
            if strings.iter().any(|s| !text[s.start as usize..s.end as usize].is_ascii()) {
                for (i, string) in strings.iter().enumerate() {
                    convert(done, string.start as usize, &mut out);
                    if i == 0 {
                        put_hex(text, &strings, sql_mode, &mut out);
                    }
                    done = string.end as usize;
                }
            }
        }
    }
    convert(done, text.len(), &mut out);
    Ok(out.into())
}

/// True if [`to_utf8`] changes a text.
pub(crate) fn is_converted(text: &[u8], client: Charset) -> bool {
    client != client.of_statements() && !text.is_ascii()
}

/// A text that is only shown: nothing of it fails.
pub fn to_utf8_lossy(text: &[u8], client: Charset) -> Cow<'_, [u8]> {
    if is_converted(text, client) { client.convert(text.into(), Charset::Utf8mb4).0 } else { text.into() }
}

/// Adjacent strings, which are one, as one literal.
fn put_hex(text: &[u8], strings: &[Lexeme], sql_mode: u64, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(b" x'");
    for string in strings {
        let token = &text[string.start as usize..string.end as usize];
        for byte in content_of(token, false, sql_mode) {
            out.extend([DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
        }
    }
    out.push(b'\'');
}

fn invalid(client: Charset, bytes: &[u8], offset: usize) -> ParseError {
    let shown: String = bytes.iter().take(6).map(|byte| format!("\\x{byte:02X}")).collect();
    let message = format!("Invalid {} character string: '{shown}'", client.name());
    *ParseError::new(1300, b"HY000", message, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &[u8], expected: &str) {
        let converted = to_utf8(text, Charset::Latin1, 0).unwrap();
        assert_eq!(std::str::from_utf8(&converted), Ok(expected));
    }

    #[test]
    fn names_literals_and_comments_become_utf8() {
        check(b"select '\xd6' \xe4 /* \xfc */ -- \x80", "select 'Ö' ä /* ü */ -- €");
        check(b"create user `\xd6`@'\xe4' ; set @\xd6 = 1", "create user `Ö`@'ä' ; set @Ö = 1");
        check(b"select 'unclosed \xd6", "select 'unclosed Ö");
    }

    #[test]
    fn introduced_strings_keep_their_bytes() {
        check(b"_binary'\xd6\\n''' \xd6", "_binary x'D60A27' Ö");
        check(b"_latin1 '\xd6' /*\xe4*/ 'a' b", "_latin1  x'D661' /*ä*/  b");
        check(b"_latin1'\xd6' /*!50000 'a' */ b", "_latin1 x'D661' /*!50000  */ b");
        check(b"_latin1'ascii' '\xd6'", "_latin1 x'6173636969D6' ");
        check(b"_latin1'ascii' \xd6", "_latin1'ascii' Ö");
    }

    #[test]
    fn what_the_set_lacks_is_an_error_except_in_comments() {
        let error = to_utf8(b"select '\xd6x'", Charset::Ascii, 0).unwrap_err();
        assert_eq!(error.number, 1300);
        assert!(to_utf8(b"/* \xd6 */ select 1", Charset::Ascii, 0).is_ok());
        let binary = to_utf8(b"select _binary'\xd6'", Charset::Ascii, 0);
        assert_eq!(binary.unwrap(), &b"select _binary x'D6'"[..]);
    }

    #[test]
    fn utf8_and_bytes_stay_as_they_are() {
        for charset in [Charset::Utf8mb3, Charset::Utf8mb4, Charset::Binary] {
            assert!(matches!(to_utf8(b"'\xd6'", charset, 0), Ok(Cow::Borrowed(b"'\xd6'"))));
        }
        assert!(matches!(to_utf8(b"select 'x'", Charset::Latin1, 0), Ok(Cow::Borrowed(_))));
    }
}
