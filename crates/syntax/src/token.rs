//! What the lexer cuts the text into.

use crate::keyword::Keyword;

/// A token's kind; its bytes are found by its place in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// The end of the text.
    End,
    /// Something that is no token: an unclosed quote or comment, a stray byte.
    Bad,
    /// A word without quotes.
    Word(Keyword),
    /// `` `name` ``, and `"name"` under ANSI_QUOTES.
    QuotedIdent,
    /// `_utf8mb4` and the other character sets' names after an underscore.
    Introducer,
    /// `'text'`, `"text"`
    String,
    /// `N'text'`
    NationalString,
    /// `x'4D'`
    HexString,
    /// `0x4D`
    HexNumber,
    /// `b'01'`
    BitString,
    /// `0b01`
    BitNumber,
    /// Digits alone.
    Integer,
    /// Digits and a point.
    Decimal,
    /// A number with an exponent.
    Float,
    /// `@name`, `@'name'`, `` @`name` ``; also the host of an account.
    UserVariable,
    /// `@@`
    SystemVariable,
    /// `(`
    LeftParen,
    /// `)`
    RightParen,
    /// `{`
    LeftBrace,
    /// `}`
    RightBrace,
    /// `,`
    Comma,
    /// `;`
    Semicolon,
    /// `:`
    Colon,
    /// `.`
    Dot,
    /// `?`
    Parameter,
    /// `:=`
    Assign,
    /// `=`
    Equal,
    /// `<=>`
    NullSafeEqual,
    /// `<>`, `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `<<`
    ShiftLeft,
    /// `>>`
    ShiftRight,
    /// `!`
    Bang,
    /// `&&`
    AndAnd,
    /// `||`
    OrOr,
    /// `&`
    Ampersand,
    /// `|`
    Pipe,
    /// `^`
    Caret,
    /// `~`
    Tilde,
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Star,
    /// `/`
    Slash,
    /// `%`
    Percent,
    /// `->`
    Arrow,
    /// `->>`
    ArrowUnquote,
}

/// A token and its byte range.
#[derive(Debug, Clone, Copy)]
pub struct Lexeme {
    /// What it is.
    pub token: Token,
    /// Offset of its first byte in the text.
    pub start: u32,
    /// Offset behind its last byte.
    pub end: u32,
}
