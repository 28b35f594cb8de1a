//! Statements without the passwords in them, as MySQL logs them.

use std::borrow::Cow;

use syntax::ast::{PrepareSource, SetItem, StatementKind};
use syntax::parser::VERSION;
use syntax::{Keyword as K, Lexeme, Lexer, Token};

/// What stands for a password.
const SECRET: &[u8] = b"<secret>";

/// The statement's text with `<secret>` where it has a password, a hash of one, or the text of a
/// statement that may have one.
///
/// The client's text stays as it is otherwise; MySQL writes the whole statement anew.
pub(crate) fn hidden<'t>(kind: &StatementKind, text: &'t [u8], sql_mode: u64) -> Cow<'t, [u8]> {
    use StatementKind as S;
    match kind {
        S::CreateUser(_)
        | S::AlterUser(_)
        | S::Grant(_)
        | S::ChangeReplicationSource { .. }
        | S::StartReplica(_) => replaced(text, sql_mode, false),
        S::Set(items) if items.iter().any(|item| matches!(item, SetItem::Password { .. })) => {
            replaced(text, sql_mode, true)
        }
        // The prepared statement is logged when it is executed.
        S::Prepare { source: PrepareSource::Text(source), .. } if mentions_password(source) => {
            replaced(text, sql_mode, true)
        }
        _ => Cow::Borrowed(text),
    }
}

fn mentions_password(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    let has = |word: &[u8]| text.windows(word.len()).any(|window| window == word);
    has(b"password") || has(b"identified")
}

/// Replaces strings after BY, AS and REPLACE, and those assigned to a password; after any `=` and
/// FROM if `all`.
fn replaced(text: &[u8], sql_mode: u64, all: bool) -> Cow<'_, [u8]> {
    let mut lexer = Lexer::new(text, sql_mode, VERSION);
    let (mut out, mut copied) = (Vec::new(), 0);
    let mut before: [Option<Lexeme>; 2] = [None, None];
    loop {
        let lexeme = lexer.next();
        if matches!(lexeme.token, Token::End | Token::Bad) {
            break;
        }
        if is_string(lexeme.token) && announces_secret(text, before, all) {
            out.extend_from_slice(&text[copied..lexeme.start as usize]);
            out.extend_from_slice(SECRET);
            copied = lexeme.end as usize;
        }
        // `PASSWORD = ('x')`, `PASSWORD('x')`: parentheses say nothing.
        if lexeme.token != Token::LeftParen {
            before = [before[1], Some(lexeme)];
        }
    }
    out.extend_from_slice(&text[copied..]);
    Cow::Owned(out)
}

fn is_string(token: Token) -> bool {
    matches!(token, Token::String | Token::NationalString | Token::HexString | Token::HexNumber)
}

fn announces_secret(text: &[u8], [second, last]: [Option<Lexeme>; 2], all: bool) -> bool {
    let Some(last) = last else { return false };
    let word_of = |lexeme: Lexeme| text[lexeme.start as usize..lexeme.end as usize].to_ascii_uppercase();
    match last.token {
        Token::Word(K::BY | K::AS | K::REPLACE) => true,
        Token::Word(K::FROM | K::TO) if all => true,
        Token::Word(_) => word_of(last).ends_with(b"PASSWORD"),
        Token::Equal | Token::Assign => {
            all || second.is_some_and(|name| word_of(name).ends_with(b"PASSWORD"))
        }
        _ => false,
    }
}
