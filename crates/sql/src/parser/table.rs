//! CREATE TABLE: columns, keys, constraints, options; and the databases, indexes and views beside it.

use super::keyword::Keyword as K;
use super::token::Token;
use super::{Parsed, Parser};
use crate::ast::{
    Account, Check, CheckOption, ColumnAttributes, ColumnDefault, ColumnDefinition, ColumnFormat, ColumnKey,
    CreateDatabase, CreateIndex, CreateTable, CreateView, DataType, DatabaseOptions, DropIndex, DropTable,
    Expr, ExprKind, ForeignKey, ForeignKeyMatch, Generated, Ident, IndexAlgorithm, IndexOptions,
    KeyDefinition, KeyKind, KeyPart, LoadDuplicates, ReferenceAction, References, SqlSecurity, StatementKind,
    TableContent, TableDefinition, TableOption, TableQuery, Text, UnaryOp, ViewAlgorithm,
};

/// An element of a table's definition.
pub(super) enum TableElement {
    Column(Box<ColumnDefinition>),
    Key(KeyDefinition),
    ForeignKey(ForeignKey),
    Check(Check),
}

impl Parser<'_> {
    /// `[IF NOT EXISTS]`
    pub(super) fn if_not_exists(&mut self) -> Parsed<bool> {
        self.take_words(&[K::IF, K::NOT, K::EXISTS])
    }

    /// `[IF EXISTS]`
    pub(super) fn if_exists(&mut self) -> Parsed<bool> {
        self.take_words(&[K::IF, K::EXISTS])
    }

    /// Behind CREATE DATABASE.
    pub(super) fn create_database(&mut self) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        let name = self.ident()?;
        let options = self.database_options()?;
        Ok(StatementKind::CreateDatabase(Box::new(CreateDatabase { name, if_not_exists, options })))
    }

    /// Behind ALTER DATABASE, whose name may be missing.
    pub(super) fn alter_database(&mut self) -> Parsed<StatementKind> {
        let is_option = self.is_any(&[K::CHARSET, K::ENCRYPTION, K::READ]);
        let name = if self.at_ident() && !is_option { Some(self.ident()?) } else { None };
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

    /// Behind CREATE [TEMPORARY] TABLE.
    pub(super) fn create_table(&mut self, temporary: bool) -> Parsed<StatementKind> {
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

    pub(super) fn table_element(&mut self) -> Parsed<TableElement> {
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

    pub(super) fn column_definition(&mut self) -> Parsed<ColumnDefinition> {
        let column = self.column_name()?.column;
        self.column_tail_definition(column)
    }

    /// Behind the column's name.
    pub(super) fn column_tail_definition(&mut self, name: Ident) -> Parsed<ColumnDefinition> {
        let serial = self.is(K::SERIAL);
        let mut ty = self.data_type()?;
        let mut attributes = ColumnAttributes::default();
        if serial {
            attributes.nullable = Some(false);
            attributes.auto_increment = true;
            attributes.key = Some(ColumnKey::Unique);
        }
        while self.column_attribute(&mut ty, &mut attributes)? {}
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
                to.comment = Some(self.text()?);
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

    /// `word [=] 'text'`
    fn option_text(&mut self) -> Parsed<Text> {
        self.advance();
        self.skip_equal();
        self.text()
    }

    /// Behind DEFAULT.
    pub(super) fn column_default(&mut self) -> Parsed<ColumnDefault> {
        if self.current.token == Token::LeftParen {
            return Ok(ColumnDefault::Expression(self.in_parens(Self::expr)?));
        }
        if self.is_any(&[K::NOW, K::CURRENT_TIMESTAMP, K::LOCALTIME, K::LOCALTIMESTAMP]) {
            return Ok(ColumnDefault::Now(self.now_precision()?));
        }
        if matches!(self.current.token, Token::Word(_)) && self.peek().token == Token::LeftParen {
            // A call without parentheses around it, as MariaDB shows it.
            return Ok(ColumnDefault::Expression(self.climb(super::expression::Level::Operand)?));
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

    /// At CHECK.
    pub(super) fn check(&mut self, name: Option<Ident>) -> Parsed<Check> {
        self.expect_word(K::CHECK)?;
        let expr = self.in_parens(Self::expr)?;
        let enforced = self.enforced()?.unwrap_or(true);
        Ok(Check { name, expr, enforced })
    }

    /// `[[NOT] ENFORCED]`; a NOT may also belong to NOT NULL.
    pub(super) fn enforced(&mut self) -> Parsed<Option<bool>> {
        if self.is(K::NOT) && self.peek_is(K::ENFORCED) {
            self.expect_words(&[K::NOT, K::ENFORCED])?;
            return Ok(Some(false));
        }
        Ok(self.take_word(K::ENFORCED).then_some(true))
    }

    /// Behind `KEY`, `PRIMARY KEY`, ..: `[name] [USING x] (parts) [options]`.
    fn key(&mut self, kind: KeyKind, constraint: Option<Ident>) -> Parsed<KeyDefinition> {
        let mut options = IndexOptions::default();
        let mut name = None;
        if self.at_ident() && !(self.is(K::TYPE) && self.peek_is(K::BTREE)) {
            name = Some(self.ident()?);
        }
        self.index_algorithm(&mut options)?;
        let parts = self.paren_list(Self::key_part)?;
        self.index_options(&mut options)?;
        Ok(KeyDefinition { kind, name: name.or(constraint), parts, options })
    }

    pub(super) fn key_part(&mut self) -> Parsed<KeyPart> {
        if self.current.token == Token::LeftParen {
            let expr = self.in_parens(Self::expr)?;
            return Ok(KeyPart::Expression { expr, descending: self.direction() });
        }
        let name = self.ident()?;
        let length = match self.current.token {
            Token::LeftParen => Some(self.in_parens(Self::small_integer)?),
            _ => None,
        };
        Ok(KeyPart::Column { name, length, descending: self.direction() })
    }

    /// `[USING {BTREE | HASH}]`
    fn index_algorithm(&mut self, options: &mut IndexOptions) -> Parsed<bool> {
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

    fn index_options(&mut self, options: &mut IndexOptions) -> Parsed<()> {
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
                    options.comment = Some(self.text()?);
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

    /// At FOREIGN.
    fn foreign_key(&mut self, constraint: Option<Ident>) -> Parsed<ForeignKey> {
        self.expect_words(&[K::FOREIGN, K::KEY])?;
        let index = if self.at_ident() { Some(self.ident()?) } else { None };
        let columns = self.paren_list(Self::ident)?;
        Ok(ForeignKey { name: constraint.or(index), columns, references: self.references()? })
    }

    fn references(&mut self) -> Parsed<References> {
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

    /// Table options, separated by blanks or commas.
    pub(super) fn table_options(&mut self) -> Parsed<Vec<TableOption>> {
        let mut options = Vec::new();
        self.foreign_options()?;
        while let Some(option) = self.table_option()? {
            options.push(option);
            self.foreign_options()?;
            if self.current.token == Token::Comma && self.option_follows() {
                self.advance();
            }
        }
        Ok(options)
    }

    /// At a comma: true if a table option is behind it, and not ALTER TABLE's next action.
    fn option_follows(&self) -> bool {
        let mut ahead = self.lexer.clone();
        match ahead.next().token {
            Token::Word(K::DEFAULT | K::COLLATE | K::CHARSET | K::CHARACTER | K::CHAR) => true,
            Token::Word(K::DATA | K::INDEX) => ahead.next().token == Token::Word(K::DIRECTORY),
            Token::Word(word) => table_option_kind(word).is_some() || matches!(word, K::COMMENT | K::UNION),
            _ => false,
        }
    }

    /// Options of MariaDB's that say how a file is laid out, which mean nothing here: `PAGE_CHECKSUM=1 TRANSACTIONAL=0`.
    fn foreign_options(&mut self) -> Parsed<()> {
        while self.take_name("PAGE_CHECKSUM") || self.take_name("TRANSACTIONAL") {
            self.skip_equal();
            self.integer()?;
        }
        Ok(())
    }

    pub(super) fn table_option(&mut self) -> Parsed<Option<TableOption>> {
        if self.is(K::DEFAULT) {
            self.advance();
            if !self.is_any(&[K::CHARSET, K::CHARACTER, K::CHAR, K::COLLATE]) {
                return Err(self.unexpected());
            }
        }
        if self.take_charset_words()? {
            self.skip_equal();
            return Ok(Some(TableOption::Charset(self.charset_name()?)));
        }
        let word = self.word();
        match word {
            K::COLLATE => {
                self.advance();
                self.skip_equal();
                return Ok(Some(TableOption::Collation(self.collation_name()?)));
            }
            K::UNION => {
                self.advance();
                self.skip_equal();
                return self.in_parens(|parser| match parser.current.token {
                    Token::RightParen => Ok(Some(TableOption::Union(Vec::new()))),
                    _ => Ok(Some(TableOption::Union(parser.list(Self::object_name)?))),
                });
            }
            K::DATA | K::INDEX if self.peek_is(K::DIRECTORY) => {
                self.advance();
                let text = self.option_text()?;
                let name = if word == K::DATA { "DATA DIRECTORY" } else { "INDEX DIRECTORY" };
                return Ok(Some(TableOption::Text(name.into(), text)));
            }
            _ => {}
        }
        let Some(kind) = table_option_kind(word) else { return Ok(None) };
        self.advance();
        self.skip_equal();
        let name = Ident::from(word.text());
        Ok(Some(match kind {
            OptionKind::Number if self.take_word(K::DEFAULT) => TableOption::Number(name, None),
            OptionKind::Number if word == K::AUTO_INCREMENT => TableOption::AutoIncrement(self.integer()?),
            OptionKind::Number => TableOption::Number(name, Some(self.integer()?)),
            OptionKind::Text if word == K::COMMENT => TableOption::Comment(self.text()?),
            OptionKind::Text => TableOption::Text(name, self.text()?),
            OptionKind::Word => self.word_option(word, name)?,
        }))
    }

    fn word_option(&mut self, word: K, name: Ident) -> Parsed<TableOption> {
        let value = match word {
            K::ROW_FORMAT if self.is(K::DEFAULT) => self.any_ident()?,
            K::SECONDARY_ENGINE if self.take_word(K::NULL) => return Ok(TableOption::SecondaryEngine(None)),
            _ => self.ident_or_text()?,
        };
        Ok(match word {
            K::ENGINE => TableOption::Engine(value),
            K::SECONDARY_ENGINE => TableOption::SecondaryEngine(Some(value)),
            K::ROW_FORMAT => TableOption::RowFormat(Ident::new(value.to_ascii_uppercase())),
            K::TABLESPACE => TableOption::Tablespace(value),
            _ => TableOption::Word(name, value),
        })
    }

    /// Behind CREATE: `[UNIQUE | FULLTEXT | SPATIAL] INDEX name ON table (parts) ..`
    pub(super) fn create_index(&mut self) -> Parsed<StatementKind> {
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
        let parts = self.paren_list(Self::key_part)?;
        self.index_options(&mut options)?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        let key = KeyDefinition { kind, name, parts, options };
        Ok(StatementKind::CreateIndex(Box::new(CreateIndex { table, key, algorithm, lock })))
    }

    /// Behind DROP INDEX.
    pub(super) fn drop_index(&mut self) -> Parsed<StatementKind> {
        let name = self.index_name()?;
        self.expect_word(K::ON)?;
        let table = self.object_name()?;
        let (algorithm, lock) = self.algorithm_and_lock()?;
        Ok(StatementKind::DropIndex(Box::new(DropIndex { table, name, algorithm, lock })))
    }

    /// Behind DROP [TEMPORARY] TABLE.
    pub(super) fn drop_table(&mut self, temporary: bool) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let names = self.list(Self::object_name)?;
        self.take_any(&[K::RESTRICT, K::CASCADE]);
        Ok(StatementKind::DropTable(DropTable { names, temporary, if_exists }))
    }

    /// `[ALGORITHM = x] [SQL SECURITY y] VIEW name ..`, behind CREATE or ALTER and the definer.
    pub(super) fn view(&mut self, alter: bool, or_replace: bool, start: ViewStart) -> Parsed<StatementKind> {
        let ViewStart { algorithm, definer, security } = start;
        self.expect_word(K::VIEW)?;
        let name = self.object_name()?;
        let columns = self.optional_idents()?;
        self.expect_word(K::AS)?;
        let body_start = self.current.start;
        if !self.at_query_or_paren() {
            return Err(self.unexpected());
        }
        let allowed = std::mem::replace(&mut self.parameters_allowed, false);
        let query = self.query()?;
        self.parameters_allowed = allowed;
        let body = self.span_from(body_start);
        let mut check_option = None;
        if self.take_word(K::WITH) {
            let word = self.take_any(&[K::CASCADED, K::LOCAL]);
            self.expect_words(&[K::CHECK, K::OPTION])?;
            check_option =
                Some(if word == Some(K::LOCAL) { CheckOption::Local } else { CheckOption::Cascaded });
        }
        let view = CreateView {
            alter,
            or_replace,
            algorithm,
            definer,
            security,
            name,
            columns,
            query,
            body,
            check_option,
        };
        Ok(StatementKind::CreateView(Box::new(view)))
    }

    /// `[ALGORITHM = x]`
    pub(super) fn view_algorithm(&mut self) -> Parsed<Option<ViewAlgorithm>> {
        if !self.take_word(K::ALGORITHM) {
            return Ok(None);
        }
        self.expect(Token::Equal)?;
        Ok(Some(match self.expect_any(&[K::UNDEFINED, K::MERGE, K::TEMPTABLE])? {
            K::UNDEFINED => ViewAlgorithm::Undefined,
            K::MERGE => ViewAlgorithm::Merge,
            _ => ViewAlgorithm::TempTable,
        }))
    }

    /// `[SQL SECURITY {DEFINER | INVOKER}]`
    pub(super) fn sql_security(&mut self) -> Parsed<Option<SqlSecurity>> {
        if !self.take_words(&[K::SQL, K::SECURITY])? {
            return Ok(None);
        }
        Ok(Some(match self.expect_any(&[K::DEFINER, K::INVOKER])? {
            K::DEFINER => SqlSecurity::Definer,
            _ => SqlSecurity::Invoker,
        }))
    }
}

/// What stands before VIEW.
#[derive(Default)]
pub(super) struct ViewStart {
    pub(super) algorithm: Option<ViewAlgorithm>,
    pub(super) definer: Option<Account>,
    pub(super) security: Option<SqlSecurity>,
}

#[derive(Clone, Copy)]
enum OptionKind {
    Number,
    Text,
    Word,
}

fn table_option_kind(word: K) -> Option<OptionKind> {
    Some(match word {
        K::AUTO_INCREMENT
        | K::AVG_ROW_LENGTH
        | K::CHECKSUM
        | K::TABLE_CHECKSUM
        | K::DELAY_KEY_WRITE
        | K::KEY_BLOCK_SIZE
        | K::MAX_ROWS
        | K::MIN_ROWS
        | K::PACK_KEYS
        | K::STATS_AUTO_RECALC
        | K::STATS_PERSISTENT
        | K::STATS_SAMPLE_PAGES
        | K::AUTOEXTEND_SIZE
        | K::NODEGROUP => OptionKind::Number,
        K::COMMENT
        | K::COMPRESSION
        | K::CONNECTION
        | K::ENCRYPTION
        | K::PASSWORD
        | K::ENGINE_ATTRIBUTE
        | K::SECONDARY_ENGINE_ATTRIBUTE => OptionKind::Text,
        K::ENGINE | K::SECONDARY_ENGINE | K::ROW_FORMAT | K::TABLESPACE | K::INSERT_METHOD | K::STORAGE => {
            OptionKind::Word
        }
        _ => return None,
    })
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
