//! CREATE TABLE: its elements ([`column`], [`key`]) and options ([`option`]); and the databases,
//! indexes and views ([`view`]) besides it.

mod column;
mod key;
mod option;
mod view;

pub(super) use view::ViewStart;

use crate::ast::{
    Check, ColumnDefinition, CreateDatabase, CreateIndex, CreateTable, DatabaseOptions, DropIndex, DropTable,
    ForeignKey, IndexOptions, KeyDefinition, KeyKind, LoadDuplicates, StatementKind, TableContent,
    TableDefinition, TableQuery,
};
use crate::keyword::Keyword as K;
use crate::parser::{Parsed, Parser};
use crate::token::Token;

/// An element of a table's definition.
pub(in crate::parser) enum TableElement {
    Column(Box<ColumnDefinition>),
    Key(KeyDefinition),
    ForeignKey(ForeignKey),
    Check(Check),
}

impl Parser<'_> {
    /// `[IF NOT EXISTS]`
    pub(in crate::parser) fn if_not_exists(&mut self) -> Parsed<bool> {
        self.take_words(&[K::IF, K::NOT, K::EXISTS])
    }

    /// `[IF EXISTS]`
    pub(in crate::parser) fn if_exists(&mut self) -> Parsed<bool> {
        self.take_words(&[K::IF, K::EXISTS])
    }

    /// After CREATE DATABASE.
    pub(in crate::parser) fn create_database(&mut self) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let options = self.database_options()?;
        Ok(StatementKind::CreateDatabase(Box::new(CreateDatabase { name, if_not_exists, options })))
    }

    /// After ALTER DATABASE, whose name may be missing. CHARSET and ENCRYPTION are names there, as
    /// in MySQL: replicas read the statement again.
    pub(in crate::parser) fn alter_database(&mut self) -> Parsed<StatementKind> {
        let name = if self.at_ident() { Some(self.ident()?) } else { None };
        let before = self.current.start;
        let options = self.database_options()?;
        if self.current.start == before {
            return Err(self.unexpected());
        }
        Ok(StatementKind::AlterDatabase { name, options })
    }

    fn database_options(&mut self) -> Parsed<DatabaseOptions> {
        let mut options = DatabaseOptions::default();
        loop {
            let default = self.take_word(K::DEFAULT);
            if self.take_charset_words()? {
                self.skip_equal();
                options.charset = Some(self.charset_name()?);
            } else if self.take_word(K::COLLATE) {
                self.skip_equal();
                options.collation = Some(self.collation_name()?);
            } else if self.take_word(K::ENCRYPTION) {
                self.skip_equal();
                options.encryption = Some(self.text()?);
            } else if !default && self.take_words(&[K::READ, K::ONLY])? {
                self.skip_equal();
                options.read_only = match self.take_word(K::DEFAULT) {
                    true => Some(false),
                    false => Some(self.integer()? != 0),
                };
            } else if default {
                return Err(self.unexpected());
            } else {
                return Ok(options);
            }
        }
    }

    /// After CREATE [TEMPORARY] TABLE.
    pub(in crate::parser) fn create_table(&mut self, temporary: bool) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let content = self.table_content()?;
        Ok(StatementKind::CreateTable(Box::new(CreateTable { name, temporary, if_not_exists, content })))
    }

    fn table_content(&mut self) -> Parsed<TableContent> {
        if self.take_word(K::LIKE) {
            return Ok(TableContent::Like(self.object_name()?));
        }
        let next = self.peek().token;
        if self.current.token == Token::LeftParen && next == Token::Word(K::LIKE) {
            return self.in_parens(|parser| {
                parser.advance();
                Ok(TableContent::Like(parser.object_name()?))
            });
        }
        let mut table = TableDefinition::default();
        let is_query =
            matches!(next, Token::LeftParen | Token::Word(K::SELECT | K::WITH | K::TABLE | K::VALUES));
        if self.current.token == Token::LeftParen && !is_query {
            self.advance();
            loop {
                self.ask_caller()?;
                match self.table_element()? {
                    TableElement::Column(column) => table.columns.push(*column),
                    TableElement::Key(key) => table.keys.push(key),
                    TableElement::ForeignKey(key) => table.foreign_keys.push(key),
                    TableElement::Check(check) => table.checks.push(check),
                }
                if !self.take(Token::Comma) {
                    break;
                }
            }
            self.expect(Token::RightParen)?;
        }
        table.options = self.table_options()?;
        if self.is(K::PARTITION) {
            table.partitioning = Some(Box::new(self.partitioning()?));
        }
        if self.take_word(K::START) {
            self.expect_word(K::TRANSACTION)?;
            table.start_transaction = true;
            return Ok(TableContent::Definition(table));
        }
        let duplicates = self.duplicates();
        let has_as = self.take_word(K::AS);
        if has_as || duplicates != LoadDuplicates::Error || self.at_query_or_paren() {
            table.query = Some(Box::new(TableQuery { duplicates, query: self.query()? }));
        } else if table.columns.is_empty() {
            return Err(self.unexpected());
        }
        Ok(TableContent::Definition(table))
    }

    pub(in crate::parser) fn table_element(&mut self) -> Parsed<TableElement> {
        let constraint = match self.take_word(K::CONSTRAINT) {
            true if self.is_any(&[K::PRIMARY, K::UNIQUE, K::FOREIGN, K::CHECK]) => None,
            true => Some(self.ident()?),
            false => None,
        };
        match self.word() {
            K::PRIMARY => {
                self.advance();
                self.expect_word(K::KEY)?;
                self.key(KeyKind::Primary, constraint).map(TableElement::Key)
            }
            K::UNIQUE => {
                self.advance();
                self.take_any(&[K::INDEX, K::KEY]);
                self.key(KeyKind::Unique, constraint).map(TableElement::Key)
            }
            K::FOREIGN => self.foreign_key(constraint).map(TableElement::ForeignKey),
            K::CHECK => self.check(constraint).map(TableElement::Check),
            _ if constraint.is_some() => Err(self.unexpected()),
            K::INDEX | K::KEY => {
                self.advance();
                self.key(KeyKind::Index, None).map(TableElement::Key)
            }
            word @ (K::FULLTEXT | K::SPATIAL) => {
                self.advance();
                self.take_any(&[K::INDEX, K::KEY]);
                let kind = if word == K::FULLTEXT { KeyKind::Fulltext } else { KeyKind::Spatial };
                self.key(kind, None).map(TableElement::Key)
            }
            _ => Ok(TableElement::Column(Box::new(self.column_definition()?))),
        }
    }

    /// After CREATE: `[UNIQUE | FULLTEXT | SPATIAL] INDEX name ON table (parts) ..`
    pub(in crate::parser) fn create_index(&mut self) -> Parsed<StatementKind> {
        let kind = match self.take_any(&[K::UNIQUE, K::FULLTEXT, K::SPATIAL]) {
            Some(K::UNIQUE) => KeyKind::Unique,
            Some(K::FULLTEXT) => KeyKind::Fulltext,
            Some(_) => KeyKind::Spatial,
            None => KeyKind::Index,
        };
        self.expect_word(K::INDEX)?;
        let name = Some(self.ident()?);
        let mut options = IndexOptions::default();
        self.index_algorithm(&mut options)?;
        self.expect_word(K::ON)?;
        let table = self.object_name()?;
        let parts = self.key_parts(&mut options)?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        let key = KeyDefinition { kind, name, parts, options, generated: false };
        Ok(StatementKind::CreateIndex(Box::new(CreateIndex { table, key, algorithm, lock })))
    }

    /// After DROP INDEX.
    pub(in crate::parser) fn drop_index(&mut self) -> Parsed<StatementKind> {
        let name = self.index_name()?;
        self.expect_word(K::ON)?;
        let table = self.object_name()?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        Ok(StatementKind::DropIndex(Box::new(DropIndex { table, name, algorithm, lock })))
    }

    /// After DROP [TEMPORARY] TABLE.
    pub(in crate::parser) fn drop_table(&mut self, temporary: bool) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let names = self.list(Self::object_name)?;
        self.take_any(&[K::RESTRICT, K::CASCADE]);
        Ok(StatementKind::DropTable(DropTable { names, temporary, if_exists }))
    }
}
