//! The text of a prepared statement with the values of an execution in it, as MySQL logs it.

use std::borrow::Cow;

use crate::session::Parameter;
use datum::types::Charset;
use datum::value::Datum;
use syntax::parser::VERSION;
use syntax::{Lexer, Token};

/// The statement with each `?` replaced by its value. Values beyond `len_max` bytes of text in all
/// are left out.
pub(crate) fn with_parameters<'t>(
    text: &'t [u8],
    parameters: &[Parameter],
    sql_mode: u64,
    len_max: usize,
) -> Cow<'t, [u8]> {
    if parameters.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut lexer = Lexer::new(text, sql_mode, VERSION);
    let mut values = parameters.iter();
    let (mut out, mut copied) = (Vec::with_capacity(text.len() + 16 * parameters.len()), 0);
    loop {
        let lexeme = lexer.next();
        match lexeme.token {
            Token::End | Token::Bad => break,
            Token::Parameter => {
                let Some(parameter) = values.next() else { break };
                if out.len() + parameter.value.text_len() > len_max {
                    continue;
                }
                out.extend_from_slice(&text[copied..lexeme.start as usize]);
                put(parameter, &mut out);
                copied = lexeme.end as usize;
            }
            _ => {}
        }
    }
    out.extend_from_slice(&text[copied..]);
    Cow::Owned(out)
}

fn put(parameter: &Parameter, out: &mut Vec<u8>) {
    match &parameter.value {
        value @ (Datum::Null
        | Datum::Int(_)
        | Datum::UInt(_)
        | Datum::Double(_)
        | Datum::Float(_)
        | Datum::Decimal(_)) => {
            out.extend_from_slice(if value.is_null() { b"NULL" } else { b"" });
            out.extend_from_slice(&value.to_bytes());
        }
        Datum::Bytes(text) => {
            let charset = parameter.ty.collation.charset();
            quote(&charset.convert(Cow::Borrowed(text), Charset::Utf8mb4).0, out);
        }
        value => quote(&value.to_bytes(), out),
    }
}

fn quote(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'\'');
    for &byte in text {
        let escaped = match byte {
            0 => b'0',
            b'\n' => b'n',
            b'\r' => b'r',
            0x1a => b'Z',
            b'\\' | b'\'' | b'"' => byte,
            plain => {
                out.push(plain);
                continue;
            }
        };
        out.extend_from_slice(&[b'\\', escaped]);
    }
    out.push(b'\'');
}
