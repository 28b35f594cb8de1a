//! Optimizer hints: the comment `/*+ .. */` right after the first word of a query block.
//!
//! `MAX_EXECUTION_TIME` and `SET_VAR` are for the statement, `JOIN_FIXED_ORDER` for the block. All
//! others of MySQL choose between plans that give the same rows, and are read over. What can't be
//! read is a warning, and so is all that follows.

use std::ops::Range;

use super::Parser;
use crate::ast::{
    ColumnName, Expr, ExprKind, Hint, Ident, Literal, Remark, SetItem, Span, VariableName, VariableScope,
};
use crate::keyword::Keyword as K;
use crate::lexer::Lexer;
use crate::token::{Lexeme, Token};

/// The hints that have no effect: they only choose between plans.
const OF_PLANS: &[&str] = &[
    "BKA",
    "BNL",
    "DERIVED_CONDITION_PUSHDOWN",
    "DUPSWEEDOUT",
    "FIRSTMATCH",
    "GROUP_INDEX",
    "HASH_JOIN",
    "INDEX",
    "INDEX_MERGE",
    "INTOEXISTS",
    "JOIN_INDEX",
    "JOIN_ORDER",
    "JOIN_PREFIX",
    "JOIN_SUFFIX",
    "MATERIALIZATION",
    "LOOSESCAN",
    "MERGE",
    "MRR",
    "NO_BKA",
    "NO_BNL",
    "NO_DERIVED_CONDITION_PUSHDOWN",
    "NO_GROUP_INDEX",
    "NO_HASH_JOIN",
    "NO_ICP",
    "NO_INDEX",
    "NO_INDEX_MERGE",
    "NO_JOIN_INDEX",
    "NO_MERGE",
    "NO_MRR",
    "NO_ORDER_INDEX",
    "NO_RANGE_OPTIMIZATION",
    "NO_SEMIJOIN",
    "NO_SKIP_SCAN",
    "ORDER_INDEX",
    "QB_NAME",
    "RESOURCE_GROUP",
    "SEMIJOIN",
    "SKIP_SCAN",
    "SUBQUERY",
];

/// The word before a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HintOf {
    Select,
    Change,
}

/// What a block's hints ask of the block.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct BlockHints {
    /// JOIN_FIXED_ORDER
    pub(crate) fixed_order: bool,
}

/// A hint comment being read.
struct Hints<'a> {
    lexer: Lexer<'a>,
    current: Lexeme,
}

impl<'a> Hints<'a> {
    fn advance(&mut self) -> Lexeme {
        let next = self.lexer.next();
        std::mem::replace(&mut self.current, next)
    }

    fn take(&mut self, token: Token) -> Option<Lexeme> {
        (self.current.token == token).then(|| self.advance())
    }

    fn text(&self, lexeme: Lexeme) -> &'a str {
        let bytes = self.lexer.text().get(lexeme.start as usize..lexeme.end as usize);
        std::str::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
    }

    fn word(&mut self) -> Option<&'a str> {
        match self.current.token {
            Token::Word(_) => {
                let lexeme = self.advance();
                Some(self.text(lexeme))
            }
            _ => None,
        }
    }

    fn number(&mut self) -> Option<u64> {
        let lexeme = self.take(Token::Integer)?;
        self.text(lexeme).parse().ok()
    }

    /// Up to the closing parenthesis: names, perhaps with their block's after `@`.
    fn skip_names(&mut self) -> Option<()> {
        loop {
            match self.current.token {
                Token::RightParen => return Some(()),
                Token::Word(_)
                | Token::QuotedIdent
                | Token::UserVariable
                | Token::Introducer
                | Token::Integer
                | Token::Dot
                | Token::Comma => drop(self.advance()),
                _ => return None,
            }
        }
    }

    /// The value of SET_VAR.
    fn value(&mut self) -> Option<ExprKind> {
        let lexeme = self.advance();
        let text = self.text(lexeme);
        Some(match lexeme.token {
            Token::Integer => ExprKind::Literal(Literal::Integer(text.parse().ok()?)),
            Token::Decimal => ExprKind::Literal(Literal::Decimal(text.into())),
            Token::String => {
                let inner = text.get(1..text.len() - 1).filter(|inner| !inner.is_empty())?;
                ExprKind::Literal(Literal::String { bytes: inner.as_bytes().into(), introducer: None })
            }
            Token::Word(_) => ExprKind::Column(ColumnName::from(Ident::new(text))),
            _ => return None,
        })
    }
}

impl Parser<'_> {
    /// Goes on after the word that begins a query block, and reads the hints there.
    pub(super) fn advance_to_hints(&mut self, of: HintOf) -> BlockHints {
        self.advance();
        let is_first = !std::mem::replace(&mut self.beyond_first_block, true) && self.routine.is_none();
        match self.lexer.hint() {
            Some(range) => self.hints(range, is_first, of),
            None => BlockHints::default(),
        }
    }

    #[cold]
    fn hints(&mut self, range: Range<usize>, is_first: bool, of: HintOf) -> BlockHints {
        let whole = self.lexer.text();
        let mut lexer = Lexer::new(&whole[range.clone()], self.options.sql_mode, self.options.version);
        let current = lexer.next();
        let mut hints = Hints { lexer, current };
        let mut found = BlockHints::default();
        loop {
            let at = hints.current;
            match self.one_hint(&mut hints, is_first, of, &mut found) {
                Some(()) if hints.current.token == Token::End => return found,
                Some(()) => {}
                None => {
                    // Where it went wrong: at the hint's name if that is unknown.
                    let wrong = if hints.current.start > at.start { hints.current } else { at };
                    let offset = range.start + wrong.start as usize;
                    let line = 1 + whole[self.statement_start as usize..offset]
                        .iter()
                        .filter(|&&b| b == b'\n')
                        .count();
                    let near = crate::error::near(&whole[offset..]);
                    self.remarks.add(Remark::HintSyntax(near.into(), line));
                    return found;
                }
            }
        }
    }

    /// One hint; nothing if it can't be read.
    fn one_hint(
        &mut self,
        hints: &mut Hints<'_>,
        is_first: bool,
        of: HintOf,
        found: &mut BlockHints,
    ) -> Option<()> {
        let Token::Word(_) = hints.current.token else { return None };
        let name = hints.text(hints.current).to_ascii_uppercase();
        match name.as_str() {
            "MAX_EXECUTION_TIME" => {
                hints.advance();
                hints.take(Token::LeftParen)?;
                let limit = hints.number()?;
                hints.take(Token::RightParen)?;
                let is_given = |hint: &Hint| matches!(hint, Hint::MaxExecutionTime(_));
                if !is_first || of != HintOf::Select {
                    self.remarks.add(Remark::HintMisplaced("MAX_EXECUTION_TIME"));
                } else if self.remarks.hints.iter().any(is_given) {
                    self.remarks.add(Remark::HintRepeated(format!("MAX_EXECUTION_TIME({limit})").into()));
                } else {
                    self.remarks.hints.push(Hint::MaxExecutionTime(limit));
                }
            }
            "SET_VAR" => {
                hints.advance();
                hints.take(Token::LeftParen)?;
                let variable = hints.word()?;
                hints.take(Token::Equal)?;
                let written = hints.current;
                let value = hints.value()?;
                hints.take(Token::RightParen)?;
                let is_given = |hint: &Hint| match hint {
                    Hint::SetVariable(SetItem::Variable { name, .. }) => name.name.is(variable),
                    _ => false,
                };
                if !is_first || self.remarks.hints.iter().any(is_given) {
                    let written = hints.text(written).trim_matches(['\'', '"']);
                    self.remarks
                        .add(Remark::HintRepeated(format!("SET_VAR({variable}='{written}') ").into()));
                } else {
                    self.remarks.hints.push(Hint::SetVariable(SetItem::Variable {
                        scope: Some(VariableScope::Session),
                        name: VariableName { component: None, name: Ident::new(variable) },
                        value: Some(Expr { kind: value, span: Span::default() }),
                    }));
                }
            }
            "JOIN_FIXED_ORDER" => {
                hints.advance();
                hints.take(Token::LeftParen)?;
                hints.skip_names()?;
                hints.take(Token::RightParen)?;
                found.fixed_order = true;
            }
            known if OF_PLANS.contains(&known) => {
                hints.advance();
                hints.take(Token::LeftParen)?;
                hints.skip_names()?;
                hints.take(Token::RightParen)?;
            }
            _ => return None,
        }
        Some(())
    }

    /// A remark on the statement's text.
    pub(super) fn remark(&mut self, remark: Remark) {
        self.remarks.add(remark);
    }

    /// The remark that an operator is worth by the sign that it is written with.
    pub(super) fn remark_sign(&mut self, sign: Token) {
        match sign {
            Token::AndAnd => self.remark(Remark::AndSign),
            Token::OrOr => self.remark(Remark::OrSign),
            Token::Bang => self.remark(Remark::NotSign),
            Token::Word(K::BINARY) => self.remark(Remark::BinaryPrefix),
            _ => {}
        }
    }
}
