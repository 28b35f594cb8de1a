//! Literals: from the bytes of a token to the value they stand for.

use super::{Parsed, Parser};
use crate::ast::{Ident, Literal, Remark, Text};
use crate::error::ParseError;
use crate::keyword::Keyword;
use crate::quoted::content_of;
use crate::token::{Lexeme, Token};

impl Parser<'_> {
    /// The literal at the current token, taken; `None` if there is none.
    pub(super) fn literal(&mut self) -> Parsed<Option<Literal>> {
        let lexeme = self.current;
        let literal = match lexeme.token {
            Token::Integer | Token::Decimal | Token::Float => self.number_literal(lexeme),
            Token::String => return self.string_literal(None).map(Some),
            Token::NationalString => {
                self.remark(Remark::National);
                return self.string_literal(Some("utf8mb3".into())).map(Some);
            }
            Token::Introducer => return self.introduced().map(Some),
            Token::HexString | Token::HexNumber | Token::BitString | Token::BitNumber => {
                return Ok(Some(self.bits_literal(None)));
            }
            Token::Word(Keyword::NULL) => Literal::Null,
            Token::Word(Keyword::TRUE) => Literal::Bool(true),
            Token::Word(Keyword::FALSE) => Literal::Bool(false),
            Token::Word(word @ (Keyword::DATE | Keyword::TIME | Keyword::TIMESTAMP)) => {
                return self.temporal_literal(word);
            }
            _ => return Ok(None),
        };
        self.advance();
        Ok(Some(literal))
    }

    fn number_literal(&self, lexeme: Lexeme) -> Literal {
        let text = std::str::from_utf8(self.bytes(lexeme)).expect("digits, a point, an exponent");
        match lexeme.token {
            Token::Integer => text.parse().map_or_else(|_| Literal::Decimal(text.into()), Literal::Integer),
            Token::Decimal => Literal::Decimal(text.into()),
            _ => Literal::Float(text.into()),
        }
    }

    /// One string or several side by side, which are one.
    fn string_literal(&mut self, introducer: Option<Ident>) -> Parsed<Literal> {
        Ok(Literal::String { bytes: self.strings().into(), introducer })
    }

    /// The content of adjacent strings. At a string.
    fn strings(&mut self) -> Vec<u8> {
        let mut content = self.string_content(self.current);
        self.advance();
        while self.current.token == Token::String {
            content.extend_from_slice(&self.string_content(self.current));
            self.advance();
        }
        content
    }

    fn introduced(&mut self) -> Parsed<Literal> {
        let name = &self.bytes(self.current)[1..];
        let introducer = Ident::new(String::from_utf8_lossy(name).to_ascii_lowercase());
        self.note_charset(&introducer);
        self.advance();
        match self.current.token {
            Token::String => self.string_literal(Some(introducer)),
            Token::HexString | Token::HexNumber | Token::BitString | Token::BitNumber => {
                Ok(self.bits_literal(Some(introducer)))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn bits_literal(&mut self, introducer: Option<Ident>) -> Literal {
        let Lexeme { token, .. } = self.current;
        let bytes = self.bytes(self.current);
        let digits = match token {
            Token::HexString | Token::BitString => &bytes[2..bytes.len() - 1],
            _ => &bytes[2..],
        };
        let literal = match token {
            Token::HexString | Token::HexNumber => Literal::Hex { bytes: pack(digits, 2, 4), introducer },
            _ => Literal::Bit { bytes: pack(digits, 8, 1), introducer },
        };
        self.advance();
        literal
    }

    /// `DATE '..'`: a literal if a string follows, which is one token of lookahead.
    fn temporal_literal(&mut self, word: Keyword) -> Parsed<Option<Literal>> {
        if self.peek().token != Token::String {
            return Ok(None);
        }
        self.advance();
        let text = Text::new(self.strings());
        Ok(Some(match word {
            Keyword::DATE => Literal::Date(text),
            Keyword::TIME => Literal::Time(text),
            _ => Literal::Timestamp(text),
        }))
    }

    /// A string where the grammar wants one, not an expression: one literal, as in MySQL. Several
    /// side by side are one in expressions alone; a log of before has them elsewhere, too.
    pub(super) fn text(&mut self) -> Parsed<Text> {
        match self.current.token {
            Token::String if self.options.from_client => {
                let text = Text::new(self.string_content(self.current));
                self.advance();
                Ok(text)
            }
            _ => self.joined_text(),
        }
    }

    /// A string, or several side by side, which are one: what MySQL takes in `JSON_TABLE`.
    pub(super) fn joined_text(&mut self) -> Parsed<Text> {
        match self.current.token {
            Token::String => Ok(Text::new(self.strings())),
            Token::HexString | Token::HexNumber | Token::BitString | Token::BitNumber => {
                match self.bits_literal(None) {
                    Literal::Hex { bytes, .. } | Literal::Bit { bytes, .. } => Ok(Text::new(bytes)),
                    _ => Err(self.unexpected()),
                }
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A string that becomes a name or a comment.
    pub(super) fn plain_text(&mut self) -> Parsed<Text> {
        let at = self.current.start as usize;
        let text = self.text()?;
        let is_sound = !self.options.from_client || std::str::from_utf8(&text).is_ok();
        if is_sound { Ok(text) } else { Err(invalid_name(&text, at)) }
    }

    /// An unsigned integer where the grammar wants one: decimal or hexadecimal.
    pub(super) fn integer(&mut self) -> Parsed<u64> {
        let number = match self.current.token {
            Token::Integer => {
                std::str::from_utf8(self.bytes(self.current)).ok().and_then(|text| text.parse().ok())
            }
            Token::HexNumber if self.bytes(self.current).len() <= 18 => {
                std::str::from_utf8(&self.bytes(self.current)[2..])
                    .ok()
                    .and_then(|text| u64::from_str_radix(text, 16).ok())
            }
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected())?;
        self.advance();
        Ok(number)
    }

    /// An integer of 32 bits.
    pub(super) fn small_integer(&mut self) -> Parsed<u32> {
        let at = self.current;
        self.integer()?.try_into().map_err(|_| self.unexpected_at(at))
    }

    /// The content of a quoted token, quotes removed and escapes resolved.
    pub(super) fn string_content(&self, lexeme: Lexeme) -> Vec<u8> {
        content_of(self.bytes(lexeme), lexeme.token == Token::QuotedIdent, self.options.sql_mode)
    }
}

/// Packs digits into bytes, `per_byte` of `bits` each, the first byte perhaps of fewer.
fn pack(digits: &[u8], per_byte: usize, bits: u32) -> Box<[u8]> {
    let value = |digit: &u8| (*digit as char).to_digit(16).expect("the lexer took digits only") as u8;
    digits
        .rchunks(per_byte)
        .rev()
        .map(|chunk| chunk.iter().fold(0, |byte, digit| byte << bits | value(digit)))
        .collect()
}

/// 1300 for a name that isn't of the client's character set.
pub(super) fn invalid_name(bytes: &[u8], offset: usize) -> Box<ParseError> {
    let message = format!("Invalid utf8mb4 character string: '{}'", bytes.escape_ascii());
    ParseError::new(1300, b"HY000", message, offset)
}
