//! Optimizer hints: the comment `/*+ .. */` right after the first word of a query block.
//!
//! `MAX_EXECUTION_TIME` and `SET_VAR` are for the statement. All others of MySQL choose between
//! plans that give the same rows, and are kept with their block ([`PlanHint`]); once the statement
//! is read, [`resolve`] brings them to the blocks that they name. What can't be read is a warning,
//! and so is all that follows.

mod resolve;

use std::ops::Range;

use super::Parser;
use crate::ast::{
    ColumnName, Expr, ExprKind, Hint, HintClass, HintForm, HintTable, Ident, Literal, PlanHint, Remark,
    SetItem, Span, VariableName, VariableScope,
};
use crate::keyword::Keyword as K;
use crate::lexer::Lexer;
use crate::token::{Lexeme, Token};

/// The word before a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HintOf {
    Select,
    Change,
}

/// Hints of a statement that choose between plans, and items of one: what is beyond is not read,
/// since each is compared with the others.
const HINTS_MAX: usize = 512;
const ITEMS_MAX: usize = 256;

/// Bytes of a name in a hint: those of an alias of 256 characters. What is longer names nothing.
const NAME_MAX: usize = 1024;

/// The strategies of SEMIJOIN and SUBQUERY.
const STRATEGIES: &[&str] = &["DUPSWEEDOUT", "FIRSTMATCH", "INTOEXISTS", "LOOSESCAN", "MATERIALIZATION"];

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

    /// A name: any word, or one in backticks.
    fn name(&mut self) -> Option<Ident> {
        match self.current.token {
            Token::Word(_) | Token::Introducer => {
                let lexeme = self.advance();
                Some(cut(self.text(lexeme)))
            }
            Token::QuotedIdent => {
                let lexeme = self.current;
                let name = unquoted(self.text(lexeme))?;
                self.advance();
                Some(name)
            }
            _ => None,
        }
    }

    /// `@block`; nothing if there is none.
    fn block(&mut self) -> Option<Ident> {
        let lexeme = (self.current.token == Token::UserVariable).then_some(self.current)?;
        let name = self.text(lexeme).strip_prefix('@')?;
        let name = if name.starts_with('`') { unquoted(name)? } else { cut(name) };
        self.advance();
        Some(name)
    }

    /// `table`, `table@block`
    fn table(&mut self) -> Option<HintTable> {
        let name = self.name()?;
        if self.current.token == Token::Bad && self.text(self.current) == "@" {
            // What is wrong is what follows it.
            self.advance();
            return None;
        }
        Some(HintTable { name, block: self.block() })
    }

    /// Items separated by commas, up to the closing parenthesis; there may be none.
    fn items<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        if self.current.token == Token::RightParen {
            return Some(items);
        }
        loop {
            if items.len() >= ITEMS_MAX {
                return None;
            }
            items.push(item(self)?);
            if self.take(Token::Comma).is_none() {
                return Some(items);
            }
        }
    }

    fn strategy(&mut self) -> Option<()> {
        let Token::Word(_) = self.current.token else { return None };
        let is_known = |known: &&str| known.eq_ignore_ascii_case(self.text(self.current));
        STRATEGIES.iter().any(is_known).then(|| {
            self.advance();
        })
    }

    /// What stands in the parentheses of a hint that chooses between plans.
    fn plan_hint(&mut self, form: &'static HintForm) -> Option<PlanHint> {
        let mut hint = PlanHint { form, block: None, tables: Vec::new(), names: Vec::new() };
        match form.class {
            HintClass::BlockName | HintClass::ResourceGroup => hint.names.push(self.name()?),
            HintClass::Strategies => {
                hint.block = self.block();
                self.items(Self::strategy)?;
            }
            HintClass::FixedOrder => hint.block = self.block(),
            HintClass::Tables | HintClass::Order(_) => {
                hint.block = self.block();
                hint.tables = self.items(Self::table)?;
            }
            HintClass::Indexes { .. } | HintClass::OtherIndexes => {
                hint.block = self.block();
                let mut table = self.table()?;
                hint.block = hint.block.or(table.block.take());
                hint.tables.push(table);
                hint.names = self.items(Self::name)?;
            }
        }
        Some(hint)
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

/// A name in backticks.
fn unquoted(text: &str) -> Option<Ident> {
    let inner = text.strip_prefix('`')?.strip_suffix('`').filter(|inner| !inner.is_empty())?;
    Some(cut(&inner.replace("``", "`")))
}

/// A name, or the start of one that is too long.
fn cut(name: &str) -> Ident {
    Ident::new(&name[..name.floor_char_boundary(NAME_MAX)])
}

impl Parser<'_> {
    /// Goes on after the word that begins a query block, and reads the hints there: those that are
    /// about blocks.
    pub(super) fn advance_to_hints(&mut self, of: HintOf) -> Vec<PlanHint> {
        self.advance();
        let is_first = !std::mem::replace(&mut self.beyond_first_block, true) && self.routine.is_none();
        match self.lexer.hint() {
            Some(range) => self.hints(range, is_first, of),
            None => Vec::new(),
        }
    }

    #[cold]
    fn hints(&mut self, range: Range<usize>, is_first: bool, of: HintOf) -> Vec<PlanHint> {
        let whole = self.lexer.text();
        let mut lexer = Lexer::new(&whole[range.clone()], self.options.sql_mode, self.options.version);
        let current = lexer.next();
        let mut hints = Hints { lexer, current };
        let mut found = Vec::new();
        loop {
            let at = hints.current;
            match self.one_hint(&mut hints, is_first, of, &mut found) {
                Some(()) if hints.current.token == Token::End => break,
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
                    break;
                }
            }
        }
        found
    }

    /// One hint; nothing if it can't be read.
    fn one_hint(
        &mut self,
        hints: &mut Hints<'_>,
        is_first: bool,
        of: HintOf,
        found: &mut Vec<PlanHint>,
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
            known => {
                let form = HintForm::find(known).filter(|_| self.plan_hints < HINTS_MAX)?;
                hints.advance();
                hints.take(Token::LeftParen)?;
                let hint = hints.plan_hint(form)?;
                hints.take(Token::RightParen)?;
                self.plan_hints += 1;
                found.push(hint);
            }
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
