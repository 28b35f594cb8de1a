//! What a block declares: variables, conditions, cursors and handlers, in this order.

use crate::ast::{ConditionValue, Declaration, HandlerAction};
use crate::error::ParseError;
use crate::keyword::Keyword as K;
use crate::parser::{Parsed, Parser};
use crate::token::Token;

/// The order in which declarations must come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Variables,
    Cursors,
    Handlers,
}

impl Parser<'_> {
    /// All that stand at the block's start.
    pub(super) fn declarations(&mut self) -> Parsed<Vec<Declaration>> {
        let mut declarations = Vec::new();
        let mut phase = Phase::Variables;
        while self.is(K::DECLARE) {
            let start = self.current.start as usize;
            let declaration = self.declaration()?;
            self.expect(Token::Semicolon)?;
            let its_phase = match declaration {
                Declaration::Variables { .. } | Declaration::Condition { .. } => Phase::Variables,
                Declaration::Cursor { .. } => Phase::Cursors,
                Declaration::Handler { .. } => Phase::Handlers,
            };
            if its_phase < phase {
                return Err(misplaced(its_phase, start));
            }
            phase = its_phase;
            declarations.push(declaration);
        }
        Ok(declarations)
    }

    /// At DECLARE.
    fn declaration(&mut self) -> Parsed<Declaration> {
        self.advance();
        if let Some(word) = self.take_any(&[K::CONTINUE, K::EXIT]) {
            return self.handler_declaration(word);
        }
        let first = self.ident()?;
        match self.word() {
            K::CONDITION => {
                self.expect_words(&[K::CONDITION, K::FOR])?;
                Ok(Declaration::Condition { name: first, value: self.condition_value(false)? })
            }
            K::CURSOR => {
                self.expect_words(&[K::CURSOR, K::FOR])?;
                if !self.at_query_or_paren() {
                    return Err(self.unexpected());
                }
                Ok(Declaration::Cursor { name: first, query: Box::new(self.query()?) })
            }
            _ => {
                let mut names = vec![first];
                while self.take(Token::Comma) {
                    names.push(self.ident()?);
                }
                let ty = self.routine_type()?;
                let default = if self.take_word(K::DEFAULT) { Some(self.expr()?) } else { None };
                Ok(Declaration::Variables { names, ty, default })
            }
        }
    }

    fn handler_declaration(&mut self, word: K) -> Parsed<Declaration> {
        let action = match word {
            K::CONTINUE => HandlerAction::Continue,
            _ => HandlerAction::Exit,
        };
        self.expect_words(&[K::HANDLER, K::FOR])?;
        let conditions = self.list(|parser| parser.condition_value(true))?;
        // A handler can't leave the block that it is declared in: its labels are out of reach.
        let outer = self.routine.as_mut().map(|context| std::mem::take(&mut context.labels));
        let body = self.statement();
        if let (Some(context), Some(outer)) = (&mut self.routine, outer) {
            context.labels = outer;
        }
        Ok(Declaration::Handler { action, conditions, body: Box::new(body?) })
    }

    /// `1051`, `SQLSTATE '42S02'`, and with `all` also names and classes.
    fn condition_value(&mut self, all: bool) -> Parsed<ConditionValue> {
        match self.word() {
            K::SQLSTATE => self.sqlstate(),
            K::SQLWARNING if all => self.condition_word(ConditionValue::SqlWarning),
            K::SQLEXCEPTION if all => self.condition_word(ConditionValue::SqlException),
            K::NOT if all => {
                self.expect_words(&[K::NOT, K::FOUND])?;
                Ok(ConditionValue::NotFound)
            }
            _ if all && self.at_ident() => self.ident().map(ConditionValue::Named),
            _ => self.integer().map(ConditionValue::Error),
        }
    }

    fn condition_word(&mut self, value: ConditionValue) -> Parsed<ConditionValue> {
        self.advance();
        Ok(value)
    }

    /// `SQLSTATE [VALUE] 'xxxxx'`
    pub(super) fn sqlstate(&mut self) -> Parsed<ConditionValue> {
        self.expect_word(K::SQLSTATE)?;
        self.take_word(K::VALUE);
        let lexeme = self.current;
        let text = self.text()?;
        let is_state = |state: &[u8; 5]| {
            state.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
                && !state.starts_with(b"00")
        };
        match <[u8; 5]>::try_from(&*text) {
            Ok(state) if is_state(&state) => Ok(ConditionValue::SqlState(state)),
            _ => {
                let message = format!("Bad SQLSTATE: '{}'", text.to_str_lossy());
                Err(ParseError::new(1407, b"42000", message, lexeme.start as usize))
            }
        }
    }
}

fn misplaced(phase: Phase, offset: usize) -> Box<ParseError> {
    match phase {
        Phase::Cursors => {
            ParseError::new(1338, b"42000", "Cursor declaration after handler declaration".into(), offset)
        }
        _ => {
            let message = "Variable or condition declaration after cursor or handler declaration";
            ParseError::new(1337, b"42000", message.into(), offset)
        }
    }
}
