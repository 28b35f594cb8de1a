//! A column's definition: its type, its attributes, its default, what it is generated from, CHECK.

use crate::ast::{
    Check, ColumnAttributes, ColumnDefault, ColumnDefinition, ColumnFormat, ColumnKey, DataType, Expr,
    ExprKind, Generated, Ident, Text, UnaryOp,
};
use crate::keyword::Keyword as K;
use crate::parser::{Parsed, Parser};
use crate::token::Token;

impl Parser<'_> {
    pub(in crate::parser) fn column_definition(&mut self) -> Parsed<ColumnDefinition> {
        let column = self.column_name()?.column;
        self.column_tail_definition(column)
    }

    /// After the column's name.
    pub(in crate::parser) fn column_tail_definition(&mut self, name: Ident) -> Parsed<ColumnDefinition> {
        let serial = self.is(K::SERIAL);
        let mut ty = self.data_type()?;
        let mut attributes = ColumnAttributes::default();
        if serial {
            attributes.nullable = Some(false);
            attributes.auto_increment = true;
            attributes.key = Some(ColumnKey::Unique);
        }
        while self.column_attribute(&mut ty, &mut attributes)? {}
        self.check_generated(&attributes)?;
        Ok(ColumnDefinition { name, ty, attributes })
    }

    /// Takes one attribute, if there is one.
    fn column_attribute(&mut self, ty: &mut DataType, to: &mut ColumnAttributes) -> Parsed<bool> {
        match self.word() {
            K::NULL => {
                self.advance();
                to.nullable = Some(true);
            }
            K::NOT => {
                self.advance();
                self.expect_word(K::NULL)?;
                to.nullable = Some(false);
            }
            K::DEFAULT => {
                self.advance();
                to.default = Some(self.column_default()?);
            }
            K::ON => {
                self.expect_words(&[K::ON, K::UPDATE])?;
                to.on_update_now = Some(self.now_precision()?);
            }
            K::AUTO_INCREMENT => {
                self.advance();
                to.auto_increment = true;
            }
            K::UNIQUE => {
                self.advance();
                self.take_word(K::KEY);
                to.key = to.key.or(Some(ColumnKey::Unique));
            }
            K::PRIMARY | K::KEY => {
                self.take_word(K::PRIMARY);
                self.expect_word(K::KEY)?;
                to.key = Some(ColumnKey::Primary);
            }
            K::COMMENT => {
                self.advance();
                to.comment = Some(self.plain_text()?);
            }
            K::COLLATE => {
                self.advance();
                let collation = self.collation_name()?;
                if let Some(charset) = ty.charset_mut() {
                    charset.collation = Some(collation);
                }
            }
            K::GENERATED | K::AS => to.generated = Some(self.generated()?),
            K::CONSTRAINT => {
                self.advance();
                let name = if self.is(K::CHECK) { None } else { Some(self.ident()?) };
                to.checks.push(self.check(name)?);
            }
            K::CHECK => to.checks.push(self.check(None)?),
            K::REFERENCES => to.references = Some(Box::new(self.references()?)),
            K::VISIBLE | K::INVISIBLE => {
                to.visible = Some(self.is(K::VISIBLE));
                self.advance();
            }
            K::SRID => {
                self.advance();
                to.srid = Some(self.small_integer()?);
            }
            K::COLUMN_FORMAT => {
                self.advance();
                to.column_format = Some(match self.expect_any(&[K::FIXED, K::DYNAMIC, K::DEFAULT])? {
                    K::FIXED => ColumnFormat::Fixed,
                    K::DYNAMIC => ColumnFormat::Dynamic,
                    _ => ColumnFormat::Default,
                });
            }
            K::STORAGE => {
                self.advance();
                to.storage = Some(self.expect_any(&[K::DISK, K::MEMORY, K::DEFAULT])?.text().into());
            }
            K::ENGINE_ATTRIBUTE => to.engine_attribute = Some(self.option_text()?),
            K::SECONDARY_ENGINE_ATTRIBUTE => to.secondary_engine_attribute = Some(self.option_text()?),
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Error 1221 for what MySQL does not allow with GENERATED ALWAYS AS.
    fn check_generated(&self, attributes: &ColumnAttributes) -> Parsed<()> {
        if self.options.from_client && attributes.generated.is_some() && attributes.storage.is_some() {
            let what = "Incorrect usage of STORAGE and generated column".to_owned();
            return Err(self.error(1221, b"HY000", what));
        }
        Ok(())
    }

    /// `word [=] 'text'`
    pub(super) fn option_text(&mut self) -> Parsed<Text> {
        self.advance();
        self.skip_equal();
        self.text()
    }

    /// After DEFAULT.
    pub(in crate::parser) fn column_default(&mut self) -> Parsed<ColumnDefault> {
        if self.current.token == Token::LeftParen {
            return Ok(ColumnDefault::Expression(self.in_parens(Self::expr)?));
        }
        if self.is_any(&[K::NOW, K::CURRENT_TIMESTAMP, K::LOCALTIME, K::LOCALTIMESTAMP]) {
            return Ok(ColumnDefault::Now(self.now_precision()?));
        }
        if matches!(self.current.token, Token::Word(_)) && self.peek().token == Token::LeftParen {
            // A call without parentheses around it, as MariaDB shows it.
            return Ok(ColumnDefault::Expression(self.climb(crate::parser::expression::Level::Operand)?));
        }
        let start = self.current.start;
        let negative = self.take(Token::Minus);
        if negative || self.take(Token::Plus) {
            let is_number = matches!(self.current.token, Token::Integer | Token::Decimal | Token::Float);
            if !is_number {
                return Err(self.unexpected());
            }
        }
        let literal = self.literal()?.ok_or_else(|| self.unexpected())?;
        let mut expr = self.make(start, ExprKind::Literal(literal));
        if negative {
            expr = self.make(start, ExprKind::Unary { op: UnaryOp::Minus, operand: Box::new(expr) });
        }
        Ok(ColumnDefault::Literal(expr))
    }

    /// `NOW[(n)]` and its synonyms: n.
    fn now_precision(&mut self) -> Parsed<u32> {
        self.expect_any(&[K::NOW, K::CURRENT_TIMESTAMP, K::LOCALTIME, K::LOCALTIMESTAMP])?;
        if !self.take(Token::LeftParen) {
            return Ok(0);
        }
        let precision = if self.current.token == Token::RightParen { 0 } else { self.small_integer()? };
        self.expect(Token::RightParen)?;
        Ok(precision)
    }

    /// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`
    fn generated(&mut self) -> Parsed<Generated> {
        self.take_words(&[K::GENERATED, K::ALWAYS])?;
        self.expect_word(K::AS)?;
        let expr = self.in_parens(Self::expr)?;
        // PERSISTENT is MariaDB's word for STORED.
        let stored = match self.take_any(&[K::VIRTUAL, K::STORED]) {
            Some(word) => word == K::STORED,
            None => self.take_name("persistent"),
        };
        Ok(Generated { expr, stored })
    }

    pub(in crate::parser) fn check(&mut self, name: Option<Ident>) -> Parsed<Check> {
        self.expect_word(K::CHECK)?;
        let expr = self.in_parens(Self::expr)?;
        let enforced = self.enforced()?.unwrap_or(true);
        Ok(Check { name, expr, enforced })
    }

    /// `[[NOT] ENFORCED]`; a NOT may also belong to NOT NULL.
    pub(in crate::parser) fn enforced(&mut self) -> Parsed<Option<bool>> {
        if self.is(K::NOT) && self.peek_is(K::ENFORCED) {
            self.expect_words(&[K::NOT, K::ENFORCED])?;
            return Ok(Some(false));
        }
        Ok(self.take_word(K::ENFORCED).then_some(true))
    }
}

/// The expression of a default, whatever its form.
impl ColumnDefault {
    /// The expression; `CURRENT_TIMESTAMP` has none.
    pub fn expr(&self) -> Option<&Expr> {
        match self {
            ColumnDefault::Literal(expr) | ColumnDefault::Expression(expr) => Some(expr),
            ColumnDefault::Now(_) => None,
        }
    }
}
