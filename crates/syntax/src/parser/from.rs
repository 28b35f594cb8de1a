//! The tables that a query reads: names, joins, derived tables, JSON_TABLE.

use super::{Parsed, Parser};
use crate::ast::{
    Derived, Ident, IndexHint, IndexHintAction, IndexHintScope, Join, JoinCondition, JoinKind, JsonOn,
    JsonTable, JsonTableColumn, Query, QueryBody, TableFactor, TableReference,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

/// A left side whose join still waits for its ON.
struct Pending {
    left: Spine,
    kind: JoinKind,
}

/// A table reference, and how many joins were built on top of its leftmost table.
struct Spine {
    tree: TableReference,
    joins: usize,
}

/// What stands in parentheses after FROM.
enum Parens {
    Query(Query),
    Tables(TableReference),
}

fn join(
    kind: JoinKind,
    left: TableReference,
    right: TableReference,
    condition: JoinCondition,
) -> TableReference {
    TableReference::Join(Box::new(Join { kind, natural: false, left, right, condition }))
}

impl Parser<'_> {
    /// `t1, t2 JOIN t3 ..`
    pub(super) fn table_references(&mut self) -> Parsed<Vec<TableReference>> {
        self.list(Self::table_reference)
    }

    /// A table and what is joined to it.
    pub(super) fn table_reference(&mut self) -> Parsed<TableReference> {
        let first = self.table_factor()?;
        self.joins(first)
    }

    /// Goes on after the first table.
    ///
    /// Joins go from the left, but an ON belongs to the nearest join that has none:
    /// `a JOIN b JOIN c ON x ON y` is `a JOIN (b JOIN c ON x) ON y`. Inner joins that never get one
    /// are from the left after all: `a JOIN b JOIN c ON x` is `(a JOIN b) JOIN c ON x`.
    fn joins(&mut self, first: TableReference) -> Parsed<TableReference> {
        // The joins grow on top of what the first one is, so its height counts as well.
        let mut pending: Vec<Pending> = Vec::new();
        let mut current = Spine { tree: first, joins: 0 };
        loop {
            if self.is(K::NATURAL) {
                let kind = self.natural()?;
                let right = self.table_factor()?;
                let (left, condition) = (current.tree, JoinCondition::None);
                let tree =
                    TableReference::Join(Box::new(Join { kind, natural: true, left, right, condition }));
                current = Spine { tree, joins: current.joins + 1 };
            } else if let Some(kind) = self.join_kind()? {
                pending.push(Pending { left: current, kind });
                current = Spine { tree: self.table_factor()?, joins: 0 };
            } else if self.is_any(&[K::ON, K::USING])
                && let Some(Pending { left, kind }) = pending.pop()
            {
                let tree = join(kind, left.tree, current.tree, self.join_condition()?);
                current = Spine { tree, joins: left.joins + 1 };
            } else {
                break;
            }
            self.grow()?;
        }
        while let Some(Pending { left, kind }) = pending.pop() {
            if matches!(kind, JoinKind::Left | JoinKind::Right) {
                return Err(self.unexpected());
            }
            current = rotate(left, kind, current);
        }
        Ok(current.tree)
    }

    fn join_kind(&mut self) -> Parsed<Option<JoinKind>> {
        let kind = match self.word() {
            K::JOIN => JoinKind::Inner,
            K::INNER | K::CROSS => {
                self.advance();
                JoinKind::Inner
            }
            K::STRAIGHT_JOIN => {
                self.advance();
                return Ok(Some(JoinKind::Straight));
            }
            word @ (K::LEFT | K::RIGHT) => {
                self.advance();
                self.take_word(K::OUTER);
                if word == K::LEFT { JoinKind::Left } else { JoinKind::Right }
            }
            _ => return Ok(None),
        };
        self.expect_word(K::JOIN)?;
        Ok(Some(kind))
    }

    /// `NATURAL [INNER | {LEFT | RIGHT} [OUTER]] JOIN`
    fn natural(&mut self) -> Parsed<JoinKind> {
        self.advance();
        let kind = match self.take_any(&[K::INNER, K::LEFT, K::RIGHT]) {
            Some(K::LEFT) => JoinKind::Left,
            Some(K::RIGHT) => JoinKind::Right,
            _ => JoinKind::Inner,
        };
        if kind != JoinKind::Inner {
            self.take_word(K::OUTER);
        }
        self.expect_word(K::JOIN)?;
        Ok(kind)
    }

    fn join_condition(&mut self) -> Parsed<JoinCondition> {
        if self.take_word(K::ON) {
            return Ok(JoinCondition::On(self.expr()?));
        }
        self.expect_word(K::USING)?;
        Ok(JoinCondition::Using(self.paren_list(Self::ident)?))
    }

    fn table_factor(&mut self) -> Parsed<TableReference> {
        match self.current.token {
            Token::LeftParen => {
                let start = self.current.start;
                match self.table_parens()? {
                    Parens::Query(query) => self.derived(query, false, start),
                    Parens::Tables(tables) => Ok(tables),
                }
            }
            Token::Word(K::LATERAL) => {
                self.advance();
                let start = self.current.start;
                let query = self.paren_query()?;
                self.derived(query, true, start)
            }
            Token::Word(K::JSON_TABLE) => self.json_table(),
            Token::LeftBrace => {
                // ODBC's `{OJ t1 LEFT JOIN t2 ON ..}`
                self.advance();
                self.any_ident()?;
                let inner = self.nested(Self::table_reference)?;
                self.expect(Token::RightBrace)?;
                Ok(inner)
            }
            _ => Ok(TableReference::Table(self.table_name_factor()?)),
        }
    }

    fn table_name_factor(&mut self) -> Parsed<TableFactor> {
        let name = self.object_name()?;
        let partitions = self.partition_names()?;
        let alias = self.table_alias()?;
        let hints = self.index_hints()?;
        Ok(TableFactor { name, partitions, alias, hints })
    }

    /// `[PARTITION (p, q)]`
    pub(super) fn partition_names(&mut self) -> Parsed<Vec<Ident>> {
        match self.take_word(K::PARTITION) {
            true => self.paren_list(Self::ident),
            false => Ok(Vec::new()),
        }
    }

    /// `[[AS] alias]`
    pub(super) fn table_alias(&mut self) -> Parsed<Option<Ident>> {
        if self.take_word(K::AS) || self.at_ident() {
            return self.ident().map(Some);
        }
        Ok(None)
    }

    /// At `(`: a query, or tables. `((SELECT 1) UNION SELECT 2) AS t` and
    /// `((SELECT 1) AS a JOIN b)` differ only after the inner query.
    fn table_parens(&mut self) -> Parsed<Parens> {
        self.expect(Token::LeftParen)?;
        let content = self.nested(|parser| {
            if parser.at_query() {
                return parser.query().map(Parens::Query);
            }
            let start = parser.current.start;
            if parser.current.token != Token::LeftParen {
                return parser.grouped_tables(None).map(Parens::Tables);
            }
            match parser.table_parens()? {
                Parens::Tables(tables) => parser.grouped_tables(Some(tables)).map(Parens::Tables),
                Parens::Query(query) if parser.at_query_tail() => {
                    let body = QueryBody::from_parens(query);
                    parser.query_from(start, None, body).map(Parens::Query)
                }
                Parens::Query(query) if parser.current.token == Token::RightParen => Ok(Parens::Query(query)),
                Parens::Query(query) => {
                    let first = parser.derived(query, false, start)?;
                    parser.grouped_tables(Some(first)).map(Parens::Tables)
                }
            }
        })?;
        self.expect(Token::RightParen)?;
        Ok(content)
    }

    /// Tables inside parentheses, of which the first may be known.
    fn grouped_tables(&mut self, first: Option<TableReference>) -> Parsed<TableReference> {
        let first = match first {
            Some(first) => self.joins(first)?,
            None => self.table_reference()?,
        };
        if self.current.token != Token::Comma {
            return Ok(first);
        }
        let mut tables = vec![first];
        while self.take(Token::Comma) {
            tables.push(self.table_reference()?);
        }
        Ok(TableReference::Group(tables))
    }

    /// After a query in parentheses that began at `start`.
    fn derived(&mut self, query: Query, lateral: bool, start: u32) -> Parsed<TableReference> {
        let Some(alias) = self.table_alias()? else {
            let message = "Every derived table must have its own alias".to_owned();
            return Err(super::ParseError::new(1248, b"42000", message, start as usize));
        };
        let columns = self.optional_idents()?;
        Ok(TableReference::Derived(Box::new(Derived { lateral, query, alias, columns })))
    }

    fn index_hints(&mut self) -> Parsed<Vec<IndexHint>> {
        let mut hints = Vec::new();
        loop {
            let action = match self.word() {
                K::USE => IndexHintAction::Use,
                K::IGNORE => IndexHintAction::Ignore,
                K::FORCE => IndexHintAction::Force,
                _ => return Ok(hints),
            };
            self.advance();
            self.expect_any(&[K::INDEX, K::KEY])?;
            let scope = self.index_hint_scope()?;
            let indexes = self.in_parens(|parser| match parser.current.token {
                Token::RightParen => Ok(Vec::new()),
                _ => parser.list(Self::index_name),
            })?;
            hints.push(IndexHint { action, scope, indexes });
        }
    }

    fn index_hint_scope(&mut self) -> Parsed<IndexHintScope> {
        if !self.take_word(K::FOR) {
            return Ok(IndexHintScope::All);
        }
        let scope = match self.expect_any(&[K::JOIN, K::ORDER, K::GROUP])? {
            K::JOIN => return Ok(IndexHintScope::Join),
            K::ORDER => IndexHintScope::OrderBy,
            _ => IndexHintScope::GroupBy,
        };
        self.expect_word(K::BY)?;
        Ok(scope)
    }

    /// An index's name, of which `PRIMARY` is one.
    pub(super) fn index_name(&mut self) -> Parsed<Ident> {
        if self.is(K::PRIMARY) { self.any_ident() } else { self.ident() }
    }

    /// `JSON_TABLE(document, path COLUMNS (..)) [AS] alias`
    fn json_table(&mut self) -> Parsed<TableReference> {
        self.advance();
        self.expect(Token::LeftParen)?;
        let document = self.expr()?;
        self.expect(Token::Comma)?;
        let path = self.joined_text()?;
        let columns = self.json_columns()?;
        self.expect(Token::RightParen)?;
        self.take_word(K::AS);
        let alias = self.ident()?;
        Ok(TableReference::JsonTable(Box::new(JsonTable { document, path, columns, alias })))
    }

    fn json_columns(&mut self) -> Parsed<Vec<JsonTableColumn>> {
        self.expect_word(K::COLUMNS)?;
        self.nested(|parser| parser.paren_list(Self::json_column))
    }

    fn json_column(&mut self) -> Parsed<JsonTableColumn> {
        if self.is(K::NESTED) {
            self.advance();
            self.take_word(K::PATH);
            let path = self.joined_text()?;
            return Ok(JsonTableColumn::Nested { path, columns: self.json_columns()? });
        }
        let name = self.ident()?;
        if self.take_words(&[K::FOR, K::ORDINALITY])? {
            return Ok(JsonTableColumn::Ordinality(name));
        }
        let ty = self.data_type()?;
        let exists = self.take_word(K::EXISTS);
        self.expect_word(K::PATH)?;
        let path = self.joined_text()?;
        let (on_empty, on_error) = self.json_on()?;
        Ok(JsonTableColumn::Value { name, ty, exists, path, on_empty, on_error })
    }

    /// `[.. ON EMPTY] [.. ON ERROR]`
    pub(super) fn json_on(&mut self) -> Parsed<(Option<JsonOn>, Option<JsonOn>)> {
        let (mut on_empty, mut on_error) = (None, None);
        while let Some(word) = self.take_any(&[K::NULL, K::ERROR, K::DEFAULT]) {
            let answer = match word {
                K::NULL => JsonOn::Null,
                K::ERROR => JsonOn::Error,
                _ => JsonOn::Default(self.climb(super::expression::Level::Operand)?),
            };
            self.expect_word(K::ON)?;
            match self.expect_any(&[K::EMPTY, K::ERROR])? {
                K::EMPTY if on_empty.is_none() && on_error.is_none() => on_empty = Some(answer),
                K::ERROR if on_error.is_none() => on_error = Some(answer),
                _ => return Err(self.unexpected()),
            }
        }
        Ok((on_empty, on_error))
    }
}

/// `left JOIN (a JOIN b ..)` without a condition of its own: `(left JOIN a) JOIN b ..`.
fn rotate(left: Spine, kind: JoinKind, right: Spine) -> Spine {
    let mut tree = right.tree;
    let mut place = &mut tree;
    for _ in 0..right.joins {
        match place {
            TableReference::Join(join) => place = &mut join.left,
            _ => break,
        }
    }
    let leaf = std::mem::replace(place, TableReference::Group(Vec::new()));
    *place = join(kind, left.tree, leaf, JoinCondition::None);
    Spine { tree, joins: right.joins + 1 + left.joins }
}
