//! From bytes to tokens.
//!
//! The lexer never fails: what it can't read is [`Token::Bad`], at which the parser says 1064. It
//! works on bytes, for the text may be in any character set whose ASCII bytes are ASCII; bytes from
//! 0x80 on are letters.
//!
//! What is peculiar to MySQL:
//!
//! 1. `/*!80400 text */` is text for servers from that version on, and a comment for older ones;
//!    without a number it is text for all. Inside it, plain comments may stand.
//! 2. `--` opens a comment only before a blank or control character: `5--1` is 6.
//! 3. Names may start with digits: `1a` is a name, `1e1` a number, and after `t.` all of `1e1` is
//!    a name.
//! 4. Double quotes enclose strings, or under ANSI_QUOTES names.

use std::ops::Range;

use crate::keyword::Keyword;
use crate::sql_mode;
use crate::token::{Lexeme, Token};
use crate::versioned::CommentPart;

/// Takes tokens off a text one by one; blanks and comments between them are skipped.
#[derive(Clone)]
pub struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    sql_mode: u64,
    version: u32,
    /// Where `/*!` began whose text is read, and whose `*/` is to be skipped.
    versioned_comment: Option<usize>,
    /// How many versioned comments have text right after their number.
    tight_comments: usize,
    /// The first such comment that ended before the last token: from `/*!` to after `*/`.
    closed_comment: Option<(usize, usize)>,
    /// What is in the `/*+ .. */` that stands before the last token with nothing but blanks
    /// between.
    hint: Option<Range<usize>>,
    /// Where a dot that belongs to a name ended: a name must follow there.
    name_dot_end: usize,
    /// Where the last name ended, for such dots.
    name_end: usize,
    /// The comments that were passed over, if somebody wants to know them.
    comments: Option<Vec<CommentPart>>,
}

/// Bytes of names without quotes.
static NAME_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        table[byte] = b.is_ascii_alphanumeric() || b == b'_' || b == b'$' || b >= 0x80;
        byte += 1;
    }
    table
};

impl<'a> Lexer<'a> {
    /// Starts at the text's beginning. `sql_mode`: bits of [`sql_mode`]; `version`: versioned
    /// comments up to it are text.
    pub fn new(text: &'a [u8], sql_mode: u64, version: u32) -> Self {
        const NOWHERE: usize = usize::MAX;
        Lexer {
            text,
            at: 0,
            sql_mode,
            version,
            versioned_comment: None,
            tight_comments: 0,
            closed_comment: None,
            hint: None,
            name_dot_end: NOWHERE,
            name_end: NOWHERE,
            comments: None,
        }
    }

    pub(crate) fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Where the text of the hint lies between the last two tokens, right after the first of them.
    pub(crate) fn hint(&self) -> Option<Range<usize>> {
        self.hint.clone()
    }

    /// How many versioned comments had text right after their number since this was asked last.
    pub(crate) fn take_tight_comments(&mut self) -> usize {
        std::mem::take(&mut self.tight_comments)
    }

    /// Where the versioned comment began that the last token is in.
    pub(crate) fn versioned_comment(&self) -> Option<u32> {
        self.versioned_comment.map(|start| start as u32)
    }

    /// Where the versioned comment began that ended before the last token.
    pub(crate) fn closed_comment(&self) -> Option<u32> {
        self.closed_comment.map(|(start, _)| start as u32)
    }

    /// Where the versioned comment ended, before the last token, that the token was in which ended
    /// here.
    pub(crate) fn comment_end(&self, token_end: u32) -> Option<u32> {
        self.closed_comment.filter(|&(start, _)| start < token_end as usize).map(|(_, end)| end as u32)
    }

    /// The comments of all of the text.
    pub(crate) fn comments(mut self) -> Vec<CommentPart> {
        self.comments = Some(Vec::new());
        loop {
            let before = self.at;
            let token = self.next().token;
            // What can't be read is passed over, as long as that goes on.
            if token == Token::End || token == Token::Bad && self.at == before {
                return self.comments.unwrap_or_default();
            }
        }
    }

    fn note(&mut self, part: impl FnOnce() -> CommentPart) {
        if let Some(comments) = &mut self.comments {
            comments.push(part());
        }
    }

    /// The byte at `offset` from here; 0 after the end.
    fn peek(&self, offset: usize) -> u8 {
        self.text.get(self.at + offset).copied().unwrap_or(0)
    }

    /// The next token. At the end it's [`Token::End`] for ever.
    #[allow(clippy::should_implement_trait, reason = "an iterator would end")]
    pub fn next(&mut self) -> Lexeme {
        (self.closed_comment, self.hint) = (None, None);
        let (start, token) = match self.skip_blanks() {
            Ok(()) => (self.at, self.token()),
            Err(unclosed) => (unclosed, Token::Bad),
        };
        Lexeme { token, start: start as u32, end: self.at as u32 }
    }

    /// Skips blanks and comments; an error where a comment begins that is never closed.
    fn skip_blanks(&mut self) -> Result<(), usize> {
        let mut comments = 0;
        loop {
            match self.peek(0) {
                b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => self.at += 1,
                b'#' => self.skip_line(),
                b'-' if self.peek(1) == b'-' && self.is_blank_at(2) => self.skip_line(),
                b'/' if self.peek(1) == b'*' => {
                    let start = self.at;
                    if !self.comment() {
                        return Err(start);
                    }
                    if comments == 0 && self.text.get(start + 2) == Some(&b'+') {
                        self.hint = Some(start + 3..(self.at - 2).max(start + 3));
                    }
                    comments += 1;
                }
                b'*' if self.peek(1) == b'/' && self.versioned_comment.is_some() => {
                    self.at += 2;
                    let end = self.at;
                    self.note(|| CommentPart::Closing(end - 2..end));
                    let begun = self.versioned_comment.take().map(|start| (start, self.at));
                    self.closed_comment = self.closed_comment.or(begun);
                }
                _ if self.at == self.text.len() && self.versioned_comment.is_some() => return Err(self.at),
                _ => return Ok(()),
            }
        }
    }

    fn is_blank_at(&self, offset: usize) -> bool {
        self.text.get(self.at + offset).is_none_or(|&byte| byte <= b' ' || byte == 0x7f)
    }

    fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |at| at + 1);
    }

    /// At `/*`. Steps into it if it's for this version, else over it.
    fn comment(&mut self) -> bool {
        if self.peek(2) == b'!' && self.versioned_comment.is_none() {
            let digits = (3..9).take_while(|&at| self.peek(at).is_ascii_digit()).count();
            let digits = if digits < 5 { 0 } else { digits };
            if digits == 5 && !self.peek(8).is_ascii_whitespace() {
                self.tight_comments += 1;
            }
            let wanted = (3..3 + digits).fold(0, |number, at| number * 10 + u32::from(self.peek(at) - b'0'));
            if wanted <= self.version {
                let start = self.at;
                self.versioned_comment = Some(start);
                self.at += 3 + digits;
                self.note(|| CommentPart::Opening(start..start + 3 + digits));
                return true;
            }
            return self.skip_comment(3 + digits, 1);
        }
        self.skip_comment(2, 0)
    }

    /// At a comment that is one, whose opening has `opening` bytes. `nesting`: how many levels of
    /// comments inside are recognised.
    fn skip_comment(&mut self, opening: usize, nesting: u32) -> bool {
        let (start, mut inside) = (self.at, 0);
        self.at += opening;
        while self.at < self.text.len() {
            match (self.text[self.at], self.peek(1)) {
                (b'*', b'/') => {
                    self.at += 2;
                    if inside == 0 {
                        let end = self.at;
                        self.note(|| CommentPart::Skipped(start..end));
                        return true;
                    }
                    inside -= 1;
                }
                (b'/', b'*') if inside < nesting => {
                    self.at += 2;
                    inside += 1;
                }
                _ => self.at += 1,
            }
        }
        false
    }

    fn token(&mut self) -> Token {
        use Token::*;
        let Some(&first) = self.text.get(self.at) else { return End };
        if NAME_BYTE[first as usize] {
            return self.word_or_number(first);
        }
        match first {
            b'`' => self.quoted(b'`', false, QuotedIdent),
            b'"' if self.sql_mode & sql_mode::ANSI_QUOTES != 0 => self.quoted(b'"', false, QuotedIdent),
            b'\'' | b'"' => self.quoted(first, true, String),
            b'@' => self.at_sign(),
            b'.' => self.dot(),
            _ => self.operator(first),
        }
    }

    fn take(&mut self, bytes: usize, token: Token) -> Token {
        self.at += bytes;
        token
    }

    fn word_or_number(&mut self, first: u8) -> Token {
        if self.at == self.name_dot_end {
            return self.word(self.at);
        }
        match first {
            b'0'..=b'9' => self.number(),
            b'x' | b'X' if self.peek(1) == b'\'' => {
                self.digits_in_quotes(Token::HexString, |b| b.is_ascii_hexdigit(), true)
            }
            b'b' | b'B' if self.peek(1) == b'\'' => {
                self.digits_in_quotes(Token::BitString, |b| matches!(b, b'0' | b'1'), false)
            }
            b'n' | b'N' if self.peek(1) == b'\'' => {
                self.at += 1;
                self.quoted(b'\'', true, Token::NationalString)
            }
            _ => self.word(self.at),
        }
    }

    fn word(&mut self, start: usize) -> Token {
        let behind_dot = start == self.name_dot_end;
        while NAME_BYTE[self.peek(0) as usize] {
            self.at += 1;
        }
        self.name_end = self.at;
        let word = &self.text[start..self.at];
        if word[0] == b'_' && !behind_dot && is_charset(&word[1..]) {
            return Token::Introducer;
        }
        let is_name = behind_dot || self.is_before_name() && !self.text[..start].ends_with(b"@@");
        Token::Word(if is_name { Keyword::OTHER } else { Keyword::lookup(word) })
    }

    /// True at a dot with a bare name right after it: the word before it is a name too, even if it
    /// is reserved (`key.a`), but for the scope of a system variable (`@@global.a`).
    fn is_before_name(&self) -> bool {
        self.peek(0) == b'.' && NAME_BYTE[self.peek(1) as usize]
    }

    /// At a digit: a number, or a name that starts with one.
    fn number(&mut self) -> Token {
        let start = self.at;
        if self.peek(0) == b'0' && matches!(self.peek(1), b'x' | b'b') {
            let (token, is_digit): (_, fn(u8) -> bool) = match self.peek(1) {
                b'x' => (Token::HexNumber, |b| b.is_ascii_hexdigit()),
                _ => (Token::BitNumber, |b| matches!(b, b'0' | b'1')),
            };
            let digits = (2..).take_while(|&at| is_digit(self.peek(at))).count();
            if digits > 0 && !NAME_BYTE[self.peek(2 + digits) as usize] {
                return self.take(2 + digits, token);
            }
            return self.word(start);
        }
        self.skip_digits();
        match self.peek(0) {
            b'.' => {
                self.at += 1;
                self.skip_digits();
                self.exponent(Token::Decimal)
            }
            b'e' | b'E' => match self.exponent(Token::Bad) {
                Token::Float => Token::Float,
                _ => self.word(start),
            },
            byte if NAME_BYTE[byte as usize] => self.word(start),
            _ => Token::Integer,
        }
    }

    fn skip_digits(&mut self) {
        while self.peek(0).is_ascii_digit() {
            self.at += 1;
        }
    }

    /// Takes `e10`, `E+10`, `e-10` and says `Float`; takes nothing and says `otherwise` if there is
    /// none.
    fn exponent(&mut self, otherwise: Token) -> Token {
        if !matches!(self.peek(0), b'e' | b'E') {
            return otherwise;
        }
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if !self.peek(1 + sign).is_ascii_digit() {
            return otherwise;
        }
        self.at += 1 + sign;
        self.skip_digits();
        Token::Float
    }

    /// At `x'` or `b'`.
    fn digits_in_quotes(&mut self, token: Token, is_digit: fn(u8) -> bool, even: bool) -> Token {
        let digits = (2..).take_while(|&at| is_digit(self.peek(at))).count();
        if self.peek(2 + digits) != b'\'' || even && digits % 2 == 1 {
            return self.take(1, Token::Bad);
        }
        self.take(3 + digits, token)
    }

    /// At the opening quote. A doubled quote is part of the content; so is one after a backslash
    /// if `escapes`.
    fn quoted(&mut self, quote: u8, escapes: bool, token: Token) -> Token {
        let escapes = escapes && self.sql_mode & sql_mode::NO_BACKSLASH_ESCAPES == 0;
        let mut at = self.at + 1;
        while let Some(&byte) = self.text.get(at) {
            if byte == quote {
                if self.text.get(at + 1) != Some(&quote) {
                    self.at = at + 1;
                    self.name_end = self.at;
                    return token;
                }
                at += 1;
            } else if byte == b'\\' && escapes {
                at += 1;
            }
            at += 1;
        }
        Token::Bad
    }

    fn at_sign(&mut self) -> Token {
        match self.peek(1) {
            b'@' => self.take(2, Token::SystemVariable),
            quote @ (b'\'' | b'"' | b'`') => {
                self.at += 1;
                match self.quoted(quote, quote != b'`', Token::UserVariable) {
                    Token::Bad => {
                        self.at -= 1;
                        Token::Bad
                    }
                    token => token,
                }
            }
            _ => {
                let is_name = |byte: u8| NAME_BYTE[byte as usize] || byte == b'.';
                let length = (1..).take_while(|&at| is_name(self.peek(at))).count();
                self.take(1 + length, if length == 0 { Token::Bad } else { Token::UserVariable })
            }
        }
    }

    /// A dot right after a name belongs to it, whatever follows; any other before a digit starts a
    /// number.
    fn dot(&mut self) -> Token {
        if self.at == self.name_end {
            self.at += 1;
            self.name_dot_end = self.at;
            return Token::Dot;
        }
        if self.peek(1).is_ascii_digit() {
            self.at += 1;
            self.skip_digits();
            return self.exponent(Token::Decimal);
        }
        self.take(1, Token::Dot)
    }

    fn operator(&mut self, first: u8) -> Token {
        use Token::*;
        let second = self.peek(1);
        let (length, token) = match (first, second) {
            (b'(', _) => (1, LeftParen),
            (b')', _) => (1, RightParen),
            (b',', _) => (1, Comma),
            (b';', _) => (1, Semicolon),
            (b'?', _) => (1, Parameter),
            (b'=', _) => (1, Equal),
            (b'*', _) => (1, Star),
            (b'+', _) => (1, Plus),
            (b'-', b'>') if self.peek(2) == b'>' => (3, ArrowUnquote),
            (b'-', b'>') => (2, Arrow),
            (b'-', _) => (1, Minus),
            (b'/', _) => (1, Slash),
            (b'%', _) => (1, Percent),
            (b'<', b'=') if self.peek(2) == b'>' => (3, NullSafeEqual),
            (b'<', b'=') => (2, LessOrEqual),
            (b'<', b'>') => (2, NotEqual),
            (b'<', b'<') => (2, ShiftLeft),
            (b'<', _) => (1, Less),
            (b'>', b'=') => (2, GreaterOrEqual),
            (b'>', b'>') => (2, ShiftRight),
            (b'>', _) => (1, Greater),
            (b'!', b'=') => (2, NotEqual),
            (b'!', _) => (1, Bang),
            (b'&', b'&') => (2, AndAnd),
            (b'&', _) => (1, Ampersand),
            (b'|', b'|') => (2, OrOr),
            (b'|', _) => (1, Pipe),
            (b'^', _) => (1, Caret),
            (b'~', _) => (1, Tilde),
            (b':', b'=') => (2, Assign),
            (b':', _) => (1, Colon),
            (b'{', _) => (1, LeftBrace),
            (b'}', _) => (1, RightBrace),
            _ => (1, Bad),
        };
        self.take(length, token)
    }
}

/// True if `name` is one of MySQL's character sets, so that `_name` introduces a string.
fn is_charset(name: &[u8]) -> bool {
    const NAMES: [&str; 42] = [
        "armscii8", "ascii", "big5", "binary", "cp1250", "cp1251", "cp1256", "cp1257", "cp850", "cp852",
        "cp866", "cp932", "dec8", "eucjpms", "euckr", "gb18030", "gb2312", "gbk", "geostd8", "greek",
        "hebrew", "hp8", "keybcs2", "koi8r", "koi8u", "latin1", "latin2", "latin5", "latin7", "macce",
        "macroman", "sjis", "swe7", "tis620", "ucs2", "ujis", "utf16", "utf16le", "utf32", "utf8", "utf8mb3",
        "utf8mb4",
    ];
    NAMES.iter().any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_mode(text: &str, mode: u64, expected: &str) {
        let mut lexer = Lexer::new(text.as_bytes(), mode, 80408);
        let mut tokens = Vec::new();
        loop {
            let lexeme = lexer.next();
            if lexeme.token == Token::End {
                break;
            }
            let kind = match lexeme.token {
                Token::Word(Keyword::OTHER) => "name".into(),
                Token::Word(word) => word.text().into(),
                token => format!("{token:?}"),
            };
            tokens.push(format!("{kind}:{}", &text[lexeme.start as usize..lexeme.end as usize]));
            if lexeme.token == Token::Bad {
                break;
            }
        }
        assert_eq!(tokens.join(" "), expected, "{text}");
    }

    fn check(text: &str, expected: &str) {
        check_mode(text, 0, expected);
    }

    #[test]
    fn words_and_numbers() {
        check("SELECT a$1", "SELECT:SELECT name:a$1");
        check("1a 1e1 1e+1 1e 1ea", "name:1a Float:1e1 Float:1e+1 name:1e name:1ea");
        check("1 1. .1 1.5e-3 1.e3", "Integer:1 Decimal:1. Decimal:.1 Float:1.5e-3 Float:1.e3");
        check("0x1F 0xg 0x 0b01 0b2", "HexNumber:0x1F name:0xg name:0x BitNumber:0b01 name:0b2");
        check(
            "t.1e1 t.select `t`.5 t .5",
            "name:t Dot:. name:1e1 name:t Dot:. name:select QuotedIdent:`t` Dot:. name:5 name:t Decimal:.5",
        );
        check("key.a use.select.from", "name:key Dot:. name:a name:use Dot:. name:select Dot:. name:from");
        check("key .a key. a", "KEY:key Dot:. name:a KEY:key Dot:. name:a");
        check(
            "key.`a` @@global.a",
            "KEY:key Dot:. QuotedIdent:`a` SystemVariable:@@ GLOBAL:global Dot:. name:a",
        );
        check("é日", "name:é日");
    }

    #[test]
    fn strings() {
        check(r#"'a''b' "c\"d" 'e\'f'"#, r#"String:'a''b' String:"c\"d" String:'e\'f'"#);
        check(
            "x'4D' X'4d' b'01' n'x'",
            "HexString:x'4D' HexString:X'4d' BitString:b'01' NationalString:n'x'",
        );
        check("x'4'", "Bad:x");
        check("_utf8mb4'a' _foo", "Introducer:_utf8mb4 String:'a' name:_foo");
        check("'open", "Bad:");
        check_mode(
            r#"'\' "n""#,
            sql_mode::NO_BACKSLASH_ESCAPES | sql_mode::ANSI_QUOTES,
            r#"String:'\' QuotedIdent:"n""#,
        );
    }

    #[test]
    fn variables() {
        check(
            "@a.b @'c d' @`e` @@x",
            "UserVariable:@a.b UserVariable:@'c d' UserVariable:@`e` SystemVariable:@@ name:x",
        );
        check("@", "Bad:@");
    }

    #[test]
    fn comments() {
        check("1 -- x\n2 # y\n3 /* z */4", "Integer:1 Integer:2 Integer:3 Integer:4");
        check("5--1", "Integer:5 Minus:- Minus:- Integer:1");
        check("1 --", "Integer:1");
        check("/*!80400 1 */ /*!99999 2 */ /*! 3 */ /*M! 4 */", "Integer:1 Integer:3");
        check("/*!080400 1*/ /*!080500 2*/ /*!401 a*/", "Integer:1 Integer:401 name:a");
        check("/*!40101 1 /* 2 */ 3 */ 4", "Integer:1 Integer:3 Integer:4");
        check("/*!99999 1 /* 2 */ 3 */ 4", "Integer:4");
        check("1 /* open", "Integer:1 Bad:/* open");
        check("/*! 1", "Integer:1 Bad:");
        check("/*+ hint */ 1", "Integer:1");
    }

    #[test]
    fn operators() {
        check(
            "<=> <= <> << < >= >> > != ! := = -> ->>",
            "NullSafeEqual:<=> LessOrEqual:<= NotEqual:<> ShiftLeft:<< Less:< GreaterOrEqual:>= ShiftRight:>> Greater:> NotEqual:!= Bang:! Assign::= Equal:= Arrow:-> ArrowUnquote:->>",
        );
        check("a\0b", "name:a Bad:\0");
        check("\\N", "Bad:\\");
    }
}
