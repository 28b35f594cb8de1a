//! The statements that only bodies have: blocks, branches, loops, and their labels.

use super::Label;
use crate::ast::{Block, Compound, Ident, Statement, StatementKind};
use crate::error::ParseError;
use crate::keyword::Keyword as K;
use crate::parser::{Parsed, Parser};
use crate::token::Token;

impl Parser<'_> {
    /// The compound statement at the current token, if a routine's body is being parsed and there
    /// is one.
    pub(in crate::parser) fn compound(&mut self) -> Parsed<Option<StatementKind>> {
        if self.routine.is_none() {
            return Ok(None);
        }
        let compound = match self.word() {
            K::BEGIN => self.block(None)?,
            K::IF => self.if_statement()?,
            K::CASE => self.case_statement()?,
            K::LOOP | K::WHILE | K::REPEAT => self.loop_statement(None)?,
            K::LEAVE => {
                self.advance();
                Compound::Leave(self.known_label(false)?)
            }
            K::ITERATE => {
                self.advance();
                Compound::Iterate(self.known_label(true)?)
            }
            K::RETURN => self.return_statement()?,
            K::OPEN => {
                self.advance();
                Compound::Open(self.ident()?)
            }
            K::CLOSE => {
                self.advance();
                Compound::Close(self.ident()?)
            }
            K::FETCH => self.fetch()?,
            _ if self.at_ident() && self.peek().token == Token::Colon => {
                let label = self.ident()?;
                self.advance();
                match self.word() {
                    K::BEGIN => self.block(Some(label))?,
                    K::LOOP | K::WHILE | K::REPEAT => self.loop_statement(Some(label))?,
                    _ => return Err(self.unexpected()),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(StatementKind::Compound(Box::new(compound))))
    }

    /// Statements, each with its `;`, up to one of `ends`.
    fn statements(&mut self, ends: &[K]) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        while !self.is_any(ends) {
            statements.push(self.statement()?);
            self.expect(Token::Semicolon)?;
        }
        Ok(statements)
    }

    /// As [`Self::statements`], at least one.
    fn some_statements(&mut self, ends: &[K]) -> Parsed<Vec<Statement>> {
        let statements = self.statements(ends)?;
        if statements.is_empty() { Err(self.unexpected()) } else { Ok(statements) }
    }

    fn block(&mut self, label: Option<Ident>) -> Parsed<Compound> {
        self.expect_word(K::BEGIN)?;
        self.open_label(label.clone(), false)?;
        let declarations = self.declarations()?;
        let body = self.statements(&[K::END])?;
        self.expect_word(K::END)?;
        self.close_label(&label)?;
        Ok(Compound::Block(Block { label, declarations, body }))
    }

    fn loop_statement(&mut self, label: Option<Ident>) -> Parsed<Compound> {
        let word = self.word();
        self.advance();
        self.open_label(label.clone(), true)?;
        let (condition, body) = match word {
            K::WHILE => {
                let condition = Some(self.expr()?);
                self.expect_word(K::DO)?;
                (condition, self.some_statements(&[K::END])?)
            }
            K::REPEAT => {
                let body = self.some_statements(&[K::UNTIL])?;
                self.advance();
                (Some(self.expr()?), body)
            }
            _ => (None, self.some_statements(&[K::END])?),
        };
        self.expect_words(&[K::END, word])?;
        self.close_label(&label)?;
        Ok(match (word, condition) {
            (K::WHILE, Some(condition)) => Compound::While { label, condition, body },
            (_, Some(until)) => Compound::Repeat { label, body, until },
            (_, None) => Compound::Loop { label, body },
        })
    }

    fn if_statement(&mut self) -> Parsed<Compound> {
        let ends = &[K::ELSEIF, K::ELSE, K::END];
        let mut branches = Vec::new();
        while branches.is_empty() || self.is(K::ELSEIF) {
            self.advance();
            let condition = self.expr()?;
            self.expect_word(K::THEN)?;
            branches.push((condition, self.some_statements(ends)?));
        }
        let otherwise = self.else_statements()?;
        self.expect_words(&[K::END, K::IF])?;
        Ok(Compound::If { branches, otherwise })
    }

    fn case_statement(&mut self) -> Parsed<Compound> {
        self.advance();
        let operand = if self.is(K::WHEN) { None } else { Some(self.expr()?) };
        let mut branches = Vec::new();
        while branches.is_empty() || self.is(K::WHEN) {
            self.expect_word(K::WHEN)?;
            let when = self.expr()?;
            self.expect_word(K::THEN)?;
            branches.push((when, self.some_statements(&[K::WHEN, K::ELSE, K::END])?));
        }
        let otherwise = self.else_statements()?;
        self.expect_words(&[K::END, K::CASE])?;
        Ok(Compound::Case { operand, branches, otherwise })
    }

    fn else_statements(&mut self) -> Parsed<Option<Vec<Statement>>> {
        match self.take_word(K::ELSE) {
            true => self.some_statements(&[K::END]).map(Some),
            false => Ok(None),
        }
    }

    fn return_statement(&mut self) -> Parsed<Compound> {
        match &mut self.routine {
            Some(context) if context.is_function => context.has_return = true,
            _ => {
                let message = "RETURN is only allowed in a FUNCTION".to_owned();
                return Err(self.error(1313, b"42000", message));
            }
        }
        self.advance();
        Ok(Compound::Return(self.expr()?))
    }

    /// `FETCH [[NEXT] FROM] cursor INTO a, b`
    fn fetch(&mut self) -> Parsed<Compound> {
        self.advance();
        if self.is(K::NEXT) && self.peek_is(K::FROM) {
            self.advance();
        }
        self.take_word(K::FROM);
        let cursor = self.ident()?;
        self.expect_word(K::INTO)?;
        Ok(Compound::Fetch { cursor, into: self.list(Self::ident)? })
    }

    // Labels.

    fn open_label(&mut self, name: Option<Ident>, is_loop: bool) -> Parsed<()> {
        let Some(context) = &mut self.routine else { return Ok(()) };
        if let Some(name) = &name
            && context.labels.iter().any(|label| label.name.as_ref().is_some_and(|known| known.is(name)))
        {
            let message = format!("Redefining label {name}");
            return Err(self.error(1309, b"42000", message));
        }
        context.labels.push(Label { name, is_loop });
        Ok(())
    }

    /// After END: the label again, if it's there.
    fn close_label(&mut self, label: &Option<Ident>) -> Parsed<()> {
        if let Some(context) = &mut self.routine {
            context.labels.pop();
        }
        if !self.at_ident() {
            return Ok(());
        }
        let lexeme = self.current;
        let end = self.ident()?;
        match label {
            Some(label) if label.is(&end) => Ok(()),
            Some(_) => {
                let message = format!("End-label {end} without match");
                Err(ParseError::new(1310, b"42000", message, lexeme.start as usize))
            }
            None => Err(self.unexpected_at(lexeme)),
        }
    }

    /// The label of LEAVE or ITERATE.
    fn known_label(&mut self, only_loops: bool) -> Parsed<Ident> {
        let name = self.ident()?;
        let labels = self.routine.as_ref().map_or(&[][..], |context| &context.labels);
        let known = labels.iter().any(|label| {
            (label.is_loop || !only_loops) && label.name.as_ref().is_some_and(|known| known.is(&name))
        });
        if known {
            return Ok(name);
        }
        let verb = if only_loops { "ITERATE" } else { "LEAVE" };
        Err(self.error(1308, b"42000", format!("{verb} with no matching label: {name}")))
    }
}
