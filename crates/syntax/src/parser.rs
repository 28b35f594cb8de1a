//! From bytes to a [`Statement`]: recursive descent, one token of lookahead, operators by
//! precedence climbing.
//!
//! 1. [`Parser::next_statement`] takes one statement off the text, up to its `;`; where it ended is
//!    [`Parser::position`]. The next call goes on from there.
//! 2. The first word chooses the statement (`statement`); each statement's grammar is a file of its
//!    own.
//! 3. Expressions are in `expression` (operators), `primary` (operands) and `function` (calls with
//!    a syntax of their own).
//!
//! (P1) No text panics the parser or overflows the stack: recursion and the height of trees are
//!      bounded by [`ParseOptions::depth_max`], recursion by the stack that is left, too; the
//!      text's size is the caller's to bound, time and the tree's size by [`ParseOptions::check`].
//! (P2) Memory is linear in the text, and so is time: nothing is parsed twice.
//! (P3) What MySQL reads as one thing is never read as another. A text that is beyond this grammar
//!      is an error (1064).
//! (P4) [`crate::unparse`] writes any tree so that parsing it gives the same tree.
//!
//! Names aren't resolved and types aren't checked here, but what MySQL's own parser checks is:
//! labels, the order of declarations, RETURN in functions, aliases of derived tables.

mod account;
mod admin;
mod alter;
mod change;
mod data_type;
mod event;
mod expression;
mod from;
pub(crate) mod function;
mod hint;
mod literal;
mod partition;
mod primary;
mod query;
mod replication;
mod routine;
mod session;
mod show;
mod statement;
pub mod statement_head;
mod table;
mod window;

use crate::ast::{ColumnName, Ident, IntoTarget, ObjectName, Remark, Remarks, Span, Statement};
use crate::error::ParseError;
use crate::keyword::Keyword;
use crate::lexer::Lexer;
use crate::sql_mode;
use crate::token::{Lexeme, Token};
use routine::RoutineContext;
use stdx::memory::Unfinished;

pub use primary::RENAMED_VARIABLES;

/// Versioned comments `/*!NNNNN .. */` up to this version are text: MySQL 8.4.8.
pub const VERSION: u32 = 80408;

/// What must be left of the thread's stack, in bytes: the most that the parser takes from one level
/// to the next. It calls nothing large.
const STACK_MARGIN: usize = 96 << 10;

/// What a session's settings mean to the parser.
#[derive(Debug, Clone, Copy)]
pub struct ParseOptions {
    /// Bits of [`sql_mode`].
    pub sql_mode: u64,
    /// Our version, for versioned comments.
    pub version: u32,
    /// How deep statements, queries and expressions may nest; trees may be four times as high, by
    /// chains such as `1+1+1`. 200 levels of anything parse in 1 MiB of stack in a release build.
    pub depth_max: u32,
    /// Makes a name of bytes of the client's character set, if they aren't all ASCII. `None` is
    /// error 1300.
    pub decode_name: fn(&[u8]) -> Option<String>,
    /// A client sends it, so that what replicas would refuse is refused: names and comments in
    /// quotes that are no UTF-8 (1300), an order in a key USING HASH (1221). What a log or a
    /// catalog keeps is not judged again: older versions took it.
    pub from_client: bool,
    /// Asked at each expression, query and item of a list: an error ends parsing, with its number,
    /// SQLSTATE and message. So a statement that is killed while it is parsed ends, and one whose
    /// tree takes too much memory.
    pub check: fn() -> Result<(), Box<ParseError>>,
}

impl Default for ParseOptions {
    fn default() -> Self {
        ParseOptions {
            sql_mode: sql_mode::DEFAULT,
            version: VERSION,
            depth_max: 200,
            decode_name: |bytes| std::str::from_utf8(bytes).ok().map(str::to_owned),
            from_client: false,
            check: || Ok(()),
        }
    }
}

/// Errors are rare and large: boxed, so that results stay small.
type Parsed<T> = Result<T, Box<ParseError>>;

/// Takes statements off a text one by one.
pub struct Parser<'a> {
    options: &'a ParseOptions,
    lexer: Lexer<'a>,
    current: Lexeme,
    /// Where the token before `current` ended.
    previous_end: u32,
    /// Where the statement began, for line numbers.
    statement_start: u32,
    parameters: u32,
    /// See [`Statement::algorithm_and_lock`].
    algorithm_and_lock: Vec<Span>,
    /// How deep the recursion is.
    depth: u32,
    /// Height of the highest expression finished since the one under construction began.
    height: u32,
    /// INTO of the query under construction.
    into: Option<Box<IntoTarget>>,
    /// Set while a routine's body is parsed.
    routine: Option<RoutineContext>,
    /// Set inside a view or routine body, where parameters make no sense.
    parameters_allowed: bool,
    /// The remarks on the statement under construction.
    remarks: Remarks,
    /// The statement's first query block has begun: hints about the whole statement can't follow.
    beyond_first_block: bool,
    /// How many hints that choose between plans the blocks of the statement have.
    plan_hints: usize,
}

/// Parses a text that holds one statement; anything after its `;` is an error. `None` if there is
/// none (error 1065).
pub fn parse(text: &[u8], options: &ParseOptions) -> Result<Option<Statement>, ParseError> {
    let mut parser = Parser::new(text, options);
    let statement = parser.next_statement()?;
    match parser.current.token {
        Token::End => Ok(statement),
        _ => Err(*parser.unexpected()),
    }
}

/// Parses a text that holds one expression: a default, a generated column's or a check's.
pub fn parse_expression(text: &[u8], options: &ParseOptions) -> Result<crate::ast::Expr, ParseError> {
    let mut parser = Parser::new(text, options);
    let expr = parser.expr().map_err(|error| *error)?;
    match parser.current.token {
        Token::End => Ok(expr),
        _ => Err(*parser.unexpected()),
    }
}

impl<'a> Parser<'a> {
    /// Starts at the text's beginning. The text must be shorter than 4 GiB; what lies behind isn't
    /// read.
    pub fn new(text: &'a [u8], options: &'a ParseOptions) -> Self {
        let text = &text[..text.len().min(u32::MAX as usize - 1)];
        let mut lexer = Lexer::new(text, options.sql_mode, options.version);
        let current = lexer.next();
        Parser {
            options,
            lexer,
            current,
            previous_end: 0,
            statement_start: 0,
            parameters: 0,
            algorithm_and_lock: Vec::new(),
            depth: 0,
            height: 0,
            into: None,
            routine: None,
            parameters_allowed: true,
            remarks: Remarks::default(),
            beyond_first_block: false,
            plan_hints: 0,
        }
    }

    /// The next statement, its `;` taken too; `None` at the end of the text or if it is empty
    /// (`;;`).
    pub fn next_statement(&mut self) -> Result<Option<Statement>, ParseError> {
        let blanks = &self.lexer.text()[self.previous_end as usize..];
        let blanks = blanks.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.statement_start = self.previous_end + blanks as u32;
        (self.parameters, self.depth, self.height) = (0, 0, 0);
        (self.remarks, self.beyond_first_block) = (Remarks::default(), false);
        self.plan_hints = 0;
        self.algorithm_and_lock.clear();
        if self.take(Token::Semicolon) || self.current.token == Token::End {
            return Ok(None);
        }
        let statement = self.statement().map_err(|error| *error)?;
        if !self.take(Token::Semicolon) && self.current.token != Token::End {
            return Err(*self.unexpected());
        }
        for _ in 0..self.lexer.take_tight_comments() {
            self.remark(Remark::TightComment);
        }
        let remarks = std::mem::take(&mut self.remarks);
        let algorithm_and_lock = std::mem::take(&mut self.algorithm_and_lock);
        Ok(Some(Statement { parameters: self.parameters, remarks, algorithm_and_lock, ..statement }))
    }

    /// Where the statement taken last ended, its `;` included; the text's length if nothing but
    /// blanks and comments follows.
    pub fn position(&self) -> usize {
        match self.current.token {
            Token::End => self.lexer.text().len(),
            _ => self.previous_end as usize,
        }
    }

    // Tokens.

    fn bytes(&self, lexeme: Lexeme) -> &'a [u8] {
        &self.lexer.text()[lexeme.start as usize..lexeme.end as usize]
    }

    fn advance(&mut self) {
        self.previous_end = self.current.end;
        self.current = self.lexer.next();
    }

    /// The token after the current one.
    fn peek(&self) -> Lexeme {
        self.lexer.clone().next()
    }

    fn peek_is(&self, word: Keyword) -> bool {
        self.peek().token == Token::Word(word)
    }

    fn is(&self, word: Keyword) -> bool {
        self.current.token == Token::Word(word)
    }

    fn is_any(&self, words: &[Keyword]) -> bool {
        matches!(self.current.token, Token::Word(word) if words.contains(&word))
    }

    /// The current token's word; [`Keyword::OTHER`] if it's none.
    fn word(&self) -> Keyword {
        match self.current.token {
            Token::Word(word) => word,
            _ => Keyword::OTHER,
        }
    }

    fn take(&mut self, token: Token) -> bool {
        let found = self.current.token == token;
        if found {
            self.advance();
        }
        found
    }

    fn take_word(&mut self, word: Keyword) -> bool {
        self.take(Token::Word(word))
    }

    /// Takes the word if it is one of these.
    fn take_any(&mut self, words: &[Keyword]) -> Option<Keyword> {
        let word = self.word();
        (word != Keyword::OTHER && words.contains(&word)).then(|| {
            self.advance();
            word
        })
    }

    /// Takes all of the words if the first is here; the others must follow then.
    fn take_words(&mut self, words: &[Keyword]) -> Parsed<bool> {
        if !self.is(words[0]) {
            return Ok(false);
        }
        self.expect_words(words)?;
        Ok(true)
    }

    fn expect(&mut self, token: Token) -> Parsed<()> {
        if self.take(token) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn expect_word(&mut self, word: Keyword) -> Parsed<()> {
        self.expect(Token::Word(word))
    }

    fn expect_words(&mut self, words: &[Keyword]) -> Parsed<()> {
        words.iter().try_for_each(|&word| self.expect_word(word))
    }

    fn expect_any(&mut self, words: &[Keyword]) -> Parsed<Keyword> {
        self.take_any(words).ok_or_else(|| self.unexpected())
    }

    /// True if the current word is this one, which is no keyword of MySQL.
    fn is_name(&self, name: &str) -> bool {
        matches!(self.current.token, Token::Word(_))
            && self.bytes(self.current).eq_ignore_ascii_case(name.as_bytes())
    }

    fn take_name(&mut self, name: &str) -> bool {
        let found = self.is_name(name);
        if found {
            self.advance();
        }
        found
    }

    /// `=`, which many options can do without.
    fn skip_equal(&mut self) {
        let _ = self.take(Token::Equal) || self.take(Token::Assign);
    }

    /// `item, item, ..`: at least one.
    fn list<T: 'static>(&mut self, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Unfinished::new(vec![item(self)?]);
        while self.take(Token::Comma) {
            self.ask_caller()?;
            items.push(item(self)?);
        }
        Ok(items.finish())
    }

    /// `(item, item, ..)`: at least one.
    fn paren_list<T: 'static>(&mut self, item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        self.in_parens(|parser| parser.list(item))
    }

    /// `(..)`
    fn in_parens<T>(&mut self, content: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        self.expect(Token::LeftParen)?;
        let content = content(self)?;
        self.expect(Token::RightParen)?;
        Ok(content)
    }

    // Names.

    /// A name: quoted, or a word that isn't reserved.
    fn ident(&mut self) -> Parsed<Ident> {
        match self.current.token {
            Token::Word(word) if !word.is_reserved() => self.any_ident(),
            Token::QuotedIdent | Token::Introducer => self.any_ident(),
            _ => Err(self.unexpected()),
        }
    }

    /// A name after a dot, or as a label: any word will do.
    fn any_ident(&mut self) -> Parsed<Ident> {
        let lexeme = self.current;
        let ident = match lexeme.token {
            Token::Word(_) | Token::Introducer => self.decode(self.bytes(lexeme), lexeme)?,
            Token::QuotedIdent => self.decode(&self.string_content(lexeme), lexeme)?,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(ident)
    }

    fn decode(&self, bytes: &[u8], lexeme: Lexeme) -> Parsed<Ident> {
        match std::str::from_utf8(bytes) {
            Ok(text) if text.is_ascii() => Ok(Ident::new(text)),
            _ => (self.options.decode_name)(bytes)
                .map(Ident::new)
                .ok_or_else(|| literal::invalid_name(bytes, lexeme.start as usize)),
        }
    }

    /// True if a name can start here.
    fn at_ident(&self) -> bool {
        match self.current.token {
            Token::Word(word) => !word.is_reserved(),
            Token::QuotedIdent | Token::Introducer => true,
            _ => false,
        }
    }

    /// A name or a string in its place, as for aliases, character sets and engines.
    fn ident_or_text(&mut self) -> Parsed<Ident> {
        match self.current.token {
            Token::String => {
                let lexeme = self.current;
                let text = self.text()?;
                self.decode(&text, lexeme)
            }
            _ => self.ident(),
        }
    }

    fn object_name(&mut self) -> Parsed<ObjectName> {
        if self.current.token == Token::Dot {
            // `.t` is `t` in the default database.
            self.advance();
            return Ok(ObjectName { database: None, name: self.any_ident()? });
        }
        let first = self.ident()?;
        if self.take(Token::Dot) {
            return Ok(ObjectName { database: Some(first), name: self.any_ident()? });
        }
        Ok(ObjectName { database: None, name: first })
    }

    fn column_name(&mut self) -> Parsed<ColumnName> {
        let first = self.ident()?;
        if !self.take(Token::Dot) {
            return Ok(first.into());
        }
        let second = self.any_ident()?;
        if !self.take(Token::Dot) {
            return Ok(ColumnName { database: None, table: Some(first), column: second });
        }
        Ok(ColumnName { database: Some(first), table: Some(second), column: self.any_ident()? })
    }

    /// The name of `@name`. At one.
    fn user_variable(&mut self) -> Parsed<Ident> {
        let lexeme = self.current;
        let bytes = self.bytes(lexeme);
        if lexeme.token != Token::UserVariable {
            return Err(self.unexpected());
        }
        let name = match bytes[1] {
            b'\'' | b'"' | b'`' => self.decode(&self.string_content(lexeme), lexeme)?,
            _ => self.decode(&bytes[1..], lexeme)?,
        };
        self.advance();
        Ok(name)
    }

    /// The keyword's text as a name: for option names, which are kept in upper case.
    fn upper_name(&mut self) -> Parsed<Ident> {
        match self.current.token {
            Token::Word(_) => {
                let name = String::from_utf8_lossy(self.bytes(self.current)).to_ascii_uppercase();
                self.advance();
                Ok(Ident::new(name))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn span_from(&self, start: u32) -> Span {
        Span { start, end: self.previous_end.max(start) }
    }

    // Errors and bounds.

    /// 1064 at the current token.
    fn unexpected(&self) -> Box<ParseError> {
        self.unexpected_at(self.current)
    }

    #[cold]
    fn unexpected_at(&self, lexeme: Lexeme) -> Box<ParseError> {
        ParseError::syntax(self.lexer.text(), self.statement_start as usize, lexeme.start as usize)
    }

    #[cold]
    fn error(&self, number: u16, sqlstate: &[u8; 5], message: String) -> Box<ParseError> {
        ParseError::new(number, sqlstate, message, self.current.start as usize)
    }

    #[cold]
    fn too_deep(&self) -> Box<ParseError> {
        let message = format!(
            "Thread stack overrun: the statement nests deeper than {} levels",
            self.options.depth_max
        );
        self.error(1436, b"HY000", message)
    }

    /// Runs `inner` one level deeper.
    fn nested<T>(&mut self, inner: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= self.options.depth_max {
            return Err(self.too_deep());
        }
        self.check_stack()?;
        self.ask_caller()?;
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Asks the caller whether parsing may go on.
    #[inline]
    fn ask_caller(&self) -> Parsed<()> {
        (self.options.check)()
            .map_err(|error| Box::new(ParseError { offset: self.current.start as usize, ..*error }))
    }

    /// 1436 if the thread's stack is nearly used up.
    fn check_stack(&self) -> Parsed<()> {
        if !stdx::stack::is_short(STACK_MARGIN) {
            return Ok(());
        }
        let (used, size) = stdx::stack::used();
        let message = format!(
            "Thread stack overrun:  {used} bytes used of a {size} byte stack, and {STACK_MARGIN} bytes needed.  Use \
             'mysqld --thread_stack=#' to specify a bigger stack."
        );
        Err(self.error(1436, b"HY000", message))
    }

    /// Counts one level more for the tree under construction.
    fn grow(&mut self) -> Parsed<()> {
        self.height += 1;
        if self.height > 4 * self.options.depth_max { Err(self.too_deep()) } else { Ok(()) }
    }

    fn has_mode(&self, mode: u64) -> bool {
        self.options.sql_mode & mode != 0
    }
}

#[cfg(test)]
mod tests;
