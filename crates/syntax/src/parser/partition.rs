//! PARTITION BY.

use super::{Parsed, Parser};
use crate::ast::{
    PartitionBy, PartitionDefinition, PartitionValues, Partitioning, SubPartitioning, TableOption,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl Parser<'_> {
    pub(super) fn partitioning(&mut self) -> Parsed<Partitioning> {
        self.expect_words(&[K::PARTITION, K::BY])?;
        let by = self.partition_by()?;
        let partitions = match self.take_word(K::PARTITIONS) {
            true => Some(self.integer()?),
            false => None,
        };
        let sub = match self.take_words(&[K::SUBPARTITION, K::BY])? {
            true => Some(self.subpartitioning()?),
            false => None,
        };
        let definitions = match self.current.token {
            Token::LeftParen => self.partition_definitions()?,
            _ => Vec::new(),
        };
        Ok(Partitioning { by, partitions, sub, definitions })
    }

    fn subpartitioning(&mut self) -> Parsed<SubPartitioning> {
        let by = self.partition_by()?;
        if !matches!(by, PartitionBy::Hash { .. } | PartitionBy::Key { .. }) {
            return Err(self.unexpected());
        }
        let partitions = match self.take_word(K::SUBPARTITIONS) {
            true => Some(self.integer()?),
            false => None,
        };
        Ok(SubPartitioning { by, partitions })
    }

    fn partition_by(&mut self) -> Parsed<PartitionBy> {
        let linear = self.take_word(K::LINEAR);
        let words: &[K] = if linear { &[K::HASH, K::KEY] } else { &[K::HASH, K::KEY, K::RANGE, K::LIST] };
        Ok(match self.expect_any(words)? {
            K::HASH => PartitionBy::Hash { linear, expr: self.in_parens(Self::expr)? },
            K::KEY => {
                let mut algorithm = None;
                if self.take_word(K::ALGORITHM) {
                    self.expect(Token::Equal)?;
                    algorithm = Some(self.integer()?);
                }
                let columns = self.in_parens(|parser| match parser.current.token {
                    Token::RightParen => Ok(Vec::new()),
                    _ => parser.list(Self::ident),
                })?;
                PartitionBy::Key { linear, algorithm, columns }
            }
            K::RANGE if self.take_word(K::COLUMNS) => {
                PartitionBy::RangeColumns(self.paren_list(Self::ident)?)
            }
            K::RANGE => PartitionBy::Range(self.in_parens(Self::expr)?),
            _ if self.take_word(K::COLUMNS) => PartitionBy::ListColumns(self.paren_list(Self::ident)?),
            _ => PartitionBy::List(self.in_parens(Self::expr)?),
        })
    }

    /// `(PARTITION p0 VALUES .., ..)`
    pub(super) fn partition_definitions(&mut self) -> Parsed<Vec<PartitionDefinition>> {
        self.paren_list(|parser| {
            parser.expect_word(K::PARTITION)?;
            let name = parser.ident()?;
            let values = parser.partition_values()?;
            let options = parser.partition_options()?;
            let sub = match parser.current.token {
                Token::LeftParen => parser.paren_list(|parser| {
                    parser.expect_word(K::SUBPARTITION)?;
                    Ok((parser.ident_or_text()?, parser.partition_options()?))
                })?,
                _ => Vec::new(),
            };
            Ok(PartitionDefinition { name, values, options, sub })
        })
    }

    fn partition_values(&mut self) -> Parsed<PartitionValues> {
        if !self.take_word(K::VALUES) {
            return Ok(PartitionValues::None);
        }
        if self.take_word(K::IN) {
            return Ok(PartitionValues::In(self.paren_list(|parser| match parser.current.token {
                Token::LeftParen => parser.parenthesized(),
                _ => Ok(vec![parser.expr()?]),
            })?));
        }
        self.expect_words(&[K::LESS, K::THAN])?;
        if self.take_word(K::MAXVALUE) {
            return Ok(PartitionValues::LessThan(vec![None]));
        }
        Ok(PartitionValues::LessThan(self.paren_list(|parser| match parser.take_word(K::MAXVALUE) {
            true => Ok(None),
            false => parser.expr().map(Some),
        })?))
    }

    fn partition_options(&mut self) -> Parsed<Vec<TableOption>> {
        let mut options = Vec::new();
        loop {
            self.take_word(K::STORAGE);
            match self.table_option()? {
                Some(option) => options.push(option),
                None => return Ok(options),
            }
        }
    }
}
