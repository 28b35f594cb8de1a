//! What is the same in statements that differ only in their values: MySQL's normalized statement
//! (STATEMENT_DIGEST_TEXT).
//!
//! 1. Comments go, words are in upper case, names in backquotes, everything is divided by spaces.
//! 2. A value is `?`, with the sign in front of it; values in a list are `?, ...`.
//! 3. A row of values is `(?)` or `(...)`, and rows of one kind in a list are `(?) /* , ... */` or
//!    `(...) /* , ... */`; after IN one value in parentheses is a list too.
//! 4. Of words that mean the same, one stands for all: MySQL takes the last of them in its own
//!    list.

use crate::keyword::Keyword as K;
use crate::lexer::Lexer;
use crate::token::{Lexeme, Token};

/// A part of the normalized statement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    /// `?`
    Value,
    /// `?, ...`
    Values,
    /// `(?)`
    Row,
    /// `(...)`
    LongRow,
    /// Several of the kind, in a list.
    Rows,
    LongRows,
    /// A word that is none of a name.
    Word(K),
    /// A name, in backquotes.
    Name(String),
    Sign(&'static str),
    /// What is written right in front of the next piece.
    Prefix(&'static str),
}

/// Pieces that a later one can still change: `(?) , (?` becomes one.
const CHANGEABLE: usize = 16;

/// [`normalized`] and its like ask once for so many tokens whether they may go on.
pub(crate) const TOKENS_PER_CHECK: usize = 1024;

/// The normalized form of the text's first statement, which has been parsed. Long statements are
/// cut at `max` bytes. `None` if `may_go_on` says so, asked once for [`TOKENS_PER_CHECK`] tokens.
pub fn normalized(
    text: &[u8],
    sql_mode: u64,
    max: usize,
    mut may_go_on: impl FnMut() -> bool,
) -> Option<String> {
    let mut lexer = Lexer::new(text, sql_mode, crate::parser::VERSION);
    let mut pieces = Vec::new();
    let (mut lexeme, mut before) = (lexer.next(), Token::End);
    let mut tokens = 0;
    while !matches!(lexeme.token, Token::End | Token::Bad | Token::Semicolon) {
        // Each piece is a byte at least, so that what follows is cut off.
        if pieces.len() >= max + CHANGEABLE {
            break;
        }
        tokens += 1;
        if tokens % TOKENS_PER_CHECK == 0 && !may_go_on() {
            return None;
        }
        let next = lexer.next();
        push(&mut pieces, text, lexeme, before, next.token);
        before = lexeme.token;
        lexeme = next;
    }
    Some(joined(&pieces, max))
}

fn push(pieces: &mut Vec<Piece>, text: &[u8], lexeme: Lexeme, before: Token, next: Token) {
    let bytes = &text[lexeme.start as usize..lexeme.end as usize];
    match lexeme.token {
        Token::Word(K::NULL) if is_null_value(pieces.last()) => value(pieces),
        Token::Word(word) if is_word(word, before, next) => pieces.push(Piece::Word(canonical(word))),
        Token::Word(_) => pieces.push(Piece::Name(quoted(bytes))),
        Token::QuotedIdent => pieces.push(Piece::Name(String::from_utf8_lossy(bytes).into_owned())),
        Token::Introducer => pieces.push(Piece::Sign("(_charset)")),
        Token::UserVariable => pieces.push(Piece::Sign("@?")),
        Token::SystemVariable => pieces.push(Piece::Prefix("@@")),
        Token::RightParen => close(pieces),
        token if is_value(token) => {
            drop_sign(pieces);
            value(pieces);
        }
        token => pieces.push(Piece::Sign(sign(token))),
    }
}

fn is_value(token: Token) -> bool {
    use Token as T;
    matches!(
        token,
        T::String
            | T::NationalString
            | T::HexString
            | T::HexNumber
            | T::BitString
            | T::BitNumber
            | T::Integer
            | T::Decimal
            | T::Float
            | T::Parameter
    )
}

/// NULL says something of a column or of an expression after its name, and after IS and NOT; else
/// it is a value.
fn is_null_value(before: Option<&Piece>) -> bool {
    match before {
        Some(Piece::Sign(sign)) => *sign != ")",
        Some(Piece::Word(word)) => {
            [K::SELECT, K::THEN, K::ELSE, K::WHEN, K::DEFAULT, K::AND, K::OR, K::BETWEEN, K::LIKE]
                .contains(word)
        }
        _ => false,
    }
}

/// After a point every word is a name; functions' words are words with a parenthesis after them.
fn is_word(word: K, before: Token, next: Token) -> bool {
    word != K::OTHER && before != Token::Dot && (!word.is_native_function() || next == Token::LeftParen)
}

/// A sign that belongs to the value after it goes: one with nothing in front of it to add to.
fn drop_sign(pieces: &mut Vec<Piece>) {
    let [.., before, Piece::Sign("-" | "+")] = pieces.as_slice() else { return };
    let is_unary = match before {
        Piece::Sign(sign) => *sign != ")" && *sign != "@?",
        Piece::Word(word) => {
            [K::SELECT, K::BETWEEN, K::AND, K::THEN, K::ELSE, K::DEFAULT, K::LIMIT].contains(word)
        }
        _ => false,
    };
    if is_unary {
        pieces.pop();
    }
}

fn value(pieces: &mut Vec<Piece>) {
    match pieces.as_slice() {
        [.., Piece::Value | Piece::Values, Piece::Sign(",")] => {
            pieces.truncate(pieces.len() - 2);
            pieces.push(Piece::Values);
        }
        _ => pieces.push(Piece::Value),
    }
}

fn close(pieces: &mut Vec<Piece>) {
    let (row, rows) = match pieces.as_slice() {
        [.., Piece::Word(K::IN), Piece::Sign("("), Piece::Value] => (Piece::LongRow, Piece::LongRows),
        [.., Piece::Sign("("), Piece::Value] => (Piece::Row, Piece::Rows),
        [.., Piece::Sign("("), Piece::Values] => (Piece::LongRow, Piece::LongRows),
        _ => return pieces.push(Piece::Sign(")")),
    };
    pieces.truncate(pieces.len() - 2);
    match pieces.as_slice() {
        [.., first, Piece::Sign(",")] if *first == row || *first == rows => {
            pieces.truncate(pieces.len() - 2);
            pieces.push(rows);
        }
        _ => pieces.push(row),
    }
}

fn quoted(name: &[u8]) -> String {
    format!("`{}`", String::from_utf8_lossy(name))
}

/// The last of the words that mean the same.
fn canonical(word: K) -> K {
    match word {
        K::INT | K::INT4 => K::INTEGER,
        K::CHAR => K::CHARACTER,
        K::VARCHAR => K::VARCHARACTER,
        K::DISTINCT => K::DISTINCTROW,
        K::CURRENT_TIMESTAMP | K::LOCALTIME | K::LOCALTIMESTAMP => K::NOW,
        K::CURRENT_DATE => K::CURDATE,
        K::CURRENT_TIME => K::CURTIME,
        K::USER => K::SYSTEM_USER,
        K::DATABASE => K::SCHEMA,
        K::DATABASES => K::SCHEMAS,
        K::REGEXP => K::RLIKE,
        K::SUBSTR | K::MID => K::SUBSTRING,
        K::SECOND => K::SQL_TSI_SECOND,
        K::MINUTE => K::SQL_TSI_MINUTE,
        K::HOUR => K::SQL_TSI_HOUR,
        K::DAY => K::SQL_TSI_DAY,
        K::WEEK => K::SQL_TSI_WEEK,
        K::MONTH => K::SQL_TSI_MONTH,
        K::QUARTER => K::SQL_TSI_QUARTER,
        K::YEAR => K::SQL_TSI_YEAR,
        other => other,
    }
}

fn sign(token: Token) -> &'static str {
    use Token as T;
    match token {
        T::LeftParen => "(",
        T::LeftBrace => "{",
        T::RightBrace => "}",
        T::Comma => ",",
        T::Colon => ":",
        T::Dot => ".",
        T::Assign => ":=",
        T::Equal => "=",
        T::NullSafeEqual => "<=>",
        T::NotEqual => "!=",
        T::Less => "<",
        T::LessOrEqual => "<=",
        T::Greater => ">",
        T::GreaterOrEqual => ">=",
        T::ShiftLeft => "<<",
        T::ShiftRight => ">>",
        T::Bang => "!",
        T::AndAnd => "&&",
        T::OrOr => "||",
        T::Ampersand => "&",
        T::Pipe => "|",
        T::Caret => "^",
        T::Tilde => "~",
        T::Plus => "+",
        T::Minus => "-",
        T::Star => "*",
        T::Slash => "/",
        T::Percent => "%",
        T::Arrow => "->",
        T::ArrowUnquote => "->>",
        _ => "",
    }
}

fn joined(pieces: &[Piece], max: usize) -> String {
    let mut out = String::new();
    let mut glued = true;
    for piece in pieces {
        let text = match piece {
            Piece::Value => "?",
            Piece::Values => "?, ...",
            Piece::Row => "(?)",
            Piece::LongRow => "(...)",
            Piece::Rows => "(?) /* , ... */",
            Piece::LongRows => "(...) /* , ... */",
            Piece::Word(word) => word.text(),
            Piece::Name(name) => name,
            Piece::Sign(text) | Piece::Prefix(text) => text,
        };
        if out.len() + text.len() >= max {
            out.push_str("...");
            break;
        }
        if !glued {
            out.push(' ');
        }
        out.push_str(text);
        glued = matches!(piece, Piece::Prefix(_));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{CHANGEABLE, TOKENS_PER_CHECK, normalized as normalized_while};

    fn normalized(text: &[u8], sql_mode: u64, max: usize) -> String {
        normalized_while(text, sql_mode, max, || true).unwrap()
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(normalized(text.as_bytes(), 0, 1 << 20), expected, "{text}");
    }

    /// As MySQL 9.7 answers.
    #[test]
    fn statements_without_their_values() {
        check("SELECT a FROM t WHERE b = 10 -- x", "SELECT `a` FROM `t` WHERE `b` = ?");
        check(
            "select  count(*), now() from `T x` where a in (1,2,3) and b='x' and c is null",
            "SELECT COUNT ( * ) , NOW ( ) FROM `T x` WHERE `a` IN (...) AND `b` = ? AND `c` IS NULL",
        );
        check(
            "INSERT INTO t (a,b) VALUES (1,'x'),(2,'y'),(3,NULL)",
            "INSERT INTO `t` ( `a` , `b` ) VALUES (...) /* , ... */",
        );
        check("INSERT INTO t VALUES (1)", "INSERT INTO `t` VALUES (?)");
        check("INSERT INTO t VALUES (1),(2)", "INSERT INTO `t` VALUES (?) /* , ... */");
        check("INSERT INTO t VALUES (1,a),(2,b)", "INSERT INTO `t` VALUES ( ? , `a` ) , ( ? , `b` )");
        check(
            "SELECT -1, +2, 1-1, a-1, -a, 1.5e3, 0x1F, x'ab', b'01', N'x', _utf8mb4'abc', 'a' 'b'",
            "SELECT ?, ... - ? , `a` - ? , - `a` , ?, ... , (_charset) ?, ... ?",
        );
        check(
            "SELECT @a := 5, @@max_connections, @@session.sql_mode, @'b c'",
            "SELECT @? := ? , @@`max_connections` , @@SESSION . `sql_mode` , @?",
        );
        check(
            "SELECT a IN (1), a IN (NULL), a IN (b), a IN (1,b), a IN ((1)), (a,b) IN ((1,2),(3,4))",
            "SELECT `a` IN (...) , `a` IN (...) , `a` IN ( `b` ) , `a` IN ( ? , `b` ) , `a` IN ( (?) ) , \
             ( `a` , `b` ) IN ( (...) /* , ... */ )",
        );
        check(
            "CREATE TABLE t (a INT NULL DEFAULT NULL, b VARCHAR(10) NOT NULL COMMENT 'x')",
            "CREATE TABLE `t` ( `a` INTEGER NULL DEFAULT ? , `b` VARCHARACTER (?) NOT NULL COMMENT ? )",
        );
        check(
            "SELECT CAST(1 AS CHAR(10)), INTERVAL 1 DAY + NOW(), x LIKE 'a' ESCAPE '!' FROM t WHERE a <> 1",
            "SELECT CAST ( ? AS CHARACTER (?) ) , INTERVAL ? SQL_TSI_DAY + NOW ( ) , `x` LIKE ? ESCAPE ? \
             FROM `t` WHERE `a` != ?",
        );
        check(
            "SELECT f(), f(1), f(1,NULL,'x'), COALESCE(NULL,1)",
            "SELECT `f` ( ) , `f` (?) , `f` (...) , COALESCE (...)",
        );
    }

    #[test]
    fn long_ones_are_cut() {
        assert_eq!(normalized(b"SELECT abcdef, b FROM t", 0, 20), "SELECT `abcdef` ,...");
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text: Vec<u8>) {
            normalized(&text, 0, 100);
        }
    }

    /// What is cut off is not read, and what is read ends where somebody says so.
    #[test]
    fn long_texts_are_left_early() {
        let read = |text: &str, max: usize| {
            let mut asked = 0;
            let whole = normalized_while(text.as_bytes(), 0, max, || {
                asked += 1;
                true
            });
            (whole.unwrap(), asked)
        };
        let ands = format!("SELECT 1 WHERE 0{}", " AND 1 <> 0".repeat(100_000));
        assert_eq!(read(&ands, 100).1, 0);
        assert_eq!(read(&ands, 100).0, read(&ands[..1000], 100).0);
        // Rows become one, however many there are.
        let rows = |n| format!("INSERT INTO t VALUES (1, 2){} AS new", ", (3, 4)".repeat(n));
        assert_eq!(read(&rows(50_000), 100).0, read(&rows(2), 100).0);
        assert!(read(&rows(50_000), 100).1 > 250_000 / TOKENS_PER_CHECK);
        assert_eq!(normalized_while(rows(50_000).as_bytes(), 0, 100, || false), None);
        // The end of what is read is far enough from where it is cut.
        for n in 0..3 * CHANGEABLE {
            let text = |tail: usize| format!("SELECT {}(1, 2), (3){}", "a+".repeat(n), " + b".repeat(tail));
            assert_eq!(read(&text(50), 40).0, read(&text(5000), 40).0, "{n}");
        }
    }
}
