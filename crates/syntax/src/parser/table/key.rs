//! Keys: their parts and options; foreign keys.

use crate::ast::{
    ForeignKey, ForeignKeyMatch, GENERATED_MARK, Ident, IndexAlgorithm, IndexOptions, KeyDefinition, KeyKind,
    KeyPart, ReferenceAction, References,
};
use crate::keyword::Keyword as K;
use crate::parser::{Parsed, Parser};
use crate::token::Token;

impl Parser<'_> {
    /// After `KEY`, `PRIMARY KEY`, ..: `[name] [USING x] (parts) [options]`.
    pub(super) fn key(&mut self, kind: KeyKind, constraint: Option<Ident>) -> Parsed<KeyDefinition> {
        let mut options = IndexOptions::default();
        let mut name = None;
        if self.at_ident() && !(self.is(K::TYPE) && self.peek_is(K::BTREE)) {
            name = Some(self.ident()?);
        }
        self.index_algorithm(&mut options)?;
        let parts = self.key_parts(&mut options)?;
        let generated =
            self.lexer.text()[self.previous_end as usize..].starts_with(GENERATED_MARK.as_bytes());
        Ok(KeyDefinition { kind, name: name.or(constraint), parts, options, generated })
    }

    /// The parts of a key, and the options after them; `options` has what stood before.
    pub(super) fn key_parts(&mut self, options: &mut IndexOptions) -> Parsed<Vec<KeyPart>> {
        let mut ordered = false;
        let parts = self.paren_list(|parser| parser.key_part(&mut ordered))?;
        self.index_options(options)?;
        if ordered && options.algorithm == Some(IndexAlgorithm::Hash) && self.options.from_client {
            let what = "Incorrect usage of spatial/fulltext/hash index and explicit index order";
            return Err(self.error(1221, b"HY000", what.to_owned()));
        }
        Ok(parts)
    }

    /// `ordered` is set if ASC or DESC are said.
    fn key_part(&mut self, ordered: &mut bool) -> Parsed<KeyPart> {
        if self.current.token == Token::LeftParen {
            let expr = self.in_parens(Self::expr)?;
            *ordered |= self.is_any(&[K::ASC, K::DESC]);
            return Ok(KeyPart::Expression { expr, descending: self.direction() });
        }
        let name = self.ident()?;
        let length = match self.current.token {
            Token::LeftParen => Some(self.in_parens(Self::small_integer)?),
            _ => None,
        };
        *ordered |= self.is_any(&[K::ASC, K::DESC]);
        Ok(KeyPart::Column { name, length, descending: self.direction() })
    }

    /// `[USING {BTREE | HASH}]`
    pub(super) fn index_algorithm(&mut self, options: &mut IndexOptions) -> Parsed<bool> {
        let found = self.take_word(K::USING) || self.is(K::TYPE) && self.take_word(K::TYPE);
        if found {
            options.algorithm = Some(match self.expect_any(&[K::BTREE, K::HASH, K::RTREE])? {
                K::BTREE => IndexAlgorithm::Btree,
                K::HASH => IndexAlgorithm::Hash,
                _ => IndexAlgorithm::Rtree,
            });
        }
        Ok(found)
    }

    pub(super) fn index_options(&mut self, options: &mut IndexOptions) -> Parsed<()> {
        loop {
            match self.word() {
                K::KEY_BLOCK_SIZE => {
                    self.advance();
                    self.skip_equal();
                    options.key_block_size = Some(self.integer()?);
                }
                K::WITH => {
                    self.expect_words(&[K::WITH, K::PARSER])?;
                    options.parser = Some(self.ident()?);
                }
                K::COMMENT => {
                    self.advance();
                    options.comment = Some(self.plain_text()?);
                }
                K::VISIBLE | K::INVISIBLE => {
                    options.visible = Some(self.is(K::VISIBLE));
                    self.advance();
                }
                K::ENGINE_ATTRIBUTE => options.engine_attribute = Some(self.option_text()?),
                K::SECONDARY_ENGINE_ATTRIBUTE => {
                    options.secondary_engine_attribute = Some(self.option_text()?)
                }
                _ if self.index_algorithm(options)? => {}
                _ => return Ok(()),
            }
        }
    }

    pub(super) fn foreign_key(&mut self, constraint: Option<Ident>) -> Parsed<ForeignKey> {
        self.expect_words(&[K::FOREIGN, K::KEY])?;
        let index = if self.at_ident() { Some(self.ident()?) } else { None };
        let columns = self.paren_list(Self::ident)?;
        Ok(ForeignKey { name: constraint, index, columns, references: self.references()? })
    }

    pub(super) fn references(&mut self) -> Parsed<References> {
        self.expect_word(K::REFERENCES)?;
        let table = self.object_name()?;
        let columns = self.optional_idents()?;
        let mut references = References { table, columns, matching: None, on_delete: None, on_update: None };
        if self.take_word(K::MATCH) {
            references.matching = Some(match self.expect_any(&[K::FULL, K::PARTIAL, K::SIMPLE])? {
                K::FULL => ForeignKeyMatch::Full,
                K::PARTIAL => ForeignKeyMatch::Partial,
                _ => ForeignKeyMatch::Simple,
            });
        }
        while self.is(K::ON) {
            let action = match self.peek().token {
                Token::Word(K::DELETE) if references.on_delete.is_none() => &mut references.on_delete,
                Token::Word(K::UPDATE) if references.on_update.is_none() => &mut references.on_update,
                _ => break,
            };
            self.advance();
            self.advance();
            *action = Some(self.reference_action()?);
        }
        Ok(references)
    }

    fn reference_action(&mut self) -> Parsed<ReferenceAction> {
        Ok(match self.expect_any(&[K::RESTRICT, K::CASCADE, K::SET, K::NO])? {
            K::RESTRICT => ReferenceAction::Restrict,
            K::CASCADE => ReferenceAction::Cascade,
            K::NO => {
                self.expect_word(K::ACTION)?;
                ReferenceAction::NoAction
            }
            _ => match self.expect_any(&[K::NULL, K::DEFAULT])? {
                K::NULL => ReferenceAction::SetNull,
                _ => ReferenceAction::SetDefault,
            },
        })
    }
}
