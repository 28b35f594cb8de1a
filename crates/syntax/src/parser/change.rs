//! INSERT, REPLACE, UPDATE, DELETE, LOAD DATA, HANDLER.

use super::hint::HintOf;
use super::{Parsed, Parser};
use crate::ast::{
    Assignment, BinaryOp, Delete, Expr, ExprKind, HandlerRead, HandlerStatement, HandlerStep, Ident, Insert,
    InsertSource, LoadData, LoadDuplicates, LoadTarget, ObjectName, Priority, QueryBody, RowAlias,
    StatementKind, Update, With,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl Parser<'_> {
    /// INSERT and REPLACE, at the word.
    pub(super) fn insert(&mut self) -> Parsed<StatementKind> {
        let replace = self.is(K::REPLACE);
        let hints = self.advance_to_hints(HintOf::Change);
        let priority = match self.take_any(&[K::LOW_PRIORITY, K::HIGH_PRIORITY, K::DELAYED]) {
            Some(K::LOW_PRIORITY) => Priority::Low,
            Some(K::HIGH_PRIORITY) => Priority::High,
            Some(_) => Priority::Delayed,
            None => Priority::Normal,
        };
        let ignore = !replace && self.take_word(K::IGNORE);
        self.take_word(K::INTO);
        let table = self.object_name()?;
        let partitions = self.partition_names()?;
        let (columns, source) = self.insert_source()?;
        let row_alias = match !replace && self.take_word(K::AS) {
            true => Some(RowAlias { name: self.ident()?, columns: self.optional_idents()? }),
            false => None,
        };
        let on_duplicate = match !replace && self.is(K::ON) {
            true => {
                self.expect_words(&[K::ON, K::DUPLICATE, K::KEY, K::UPDATE])?;
                self.assignments()?
            }
            false => Vec::new(),
        };
        let insert = Insert {
            hints,
            replace,
            ignore,
            priority,
            table,
            partitions,
            columns,
            source,
            row_alias,
            on_duplicate,
        };
        Ok(StatementKind::Insert(Box::new(insert)))
    }

    /// `[(columns)] VALUES ..`, `SET ..`, or a query, which may stand in parentheses as columns do.
    fn insert_source(&mut self) -> Parsed<(Vec<Ident>, InsertSource)> {
        if self.take_word(K::SET) {
            let assignments = self.assignments()?;
            let (columns, values) = assignments.into_iter().map(|set| (set.column.column, set.value)).unzip();
            return Ok((columns, InsertSource::Values(vec![values])));
        }
        let mut columns = Vec::new();
        let next = self.peek().token;
        let is_query =
            matches!(next, Token::LeftParen | Token::Word(K::SELECT | K::WITH | K::TABLE | K::VALUES));
        if self.current.token == Token::LeftParen && !is_query {
            columns = self.in_parens(|parser| match parser.current.token {
                Token::RightParen => Ok(Vec::new()),
                _ => parser.list(|parser| Ok(parser.column_name()?.column)),
            })?;
        }
        let is_rows = matches!(self.word(), K::VALUES | K::VALUE) && !self.peek_is(K::ROW);
        if is_rows {
            self.advance();
            return Ok((columns, InsertSource::Values(self.insert_rows()?)));
        }
        if !self.at_query_or_paren() {
            return Err(self.unexpected());
        }
        let mut query = self.query()?;
        let is_bare = query.with.is_none() && query.order_by.is_empty() && query.limit.is_none();
        // `VALUES ROW(..), ..` is a list of rows as the other one, DEFAULT included.
        if let (true, QueryBody::Values(rows)) = (is_bare, &mut query.body) {
            return Ok((columns, InsertSource::Values(std::mem::take(rows))));
        }
        Ok((columns, InsertSource::Query(Box::new(query))))
    }

    /// `(..), (..)`
    fn insert_rows(&mut self) -> Parsed<Vec<Vec<Expr>>> {
        // All rows are as wide as the first one, or the statement fails.
        let mut width = 0;
        self.list(|parser| {
            let mut row = parser.insert_row(width)?;
            row.shrink_to_fit();
            width = row.len();
            Ok(row)
        })
    }

    /// `(a, DEFAULT, ..)`, `()`; `width` is how many values are expected.
    fn insert_row(&mut self, width: usize) -> Parsed<Vec<Expr>> {
        self.expect(Token::LeftParen)?;
        let mut row = Vec::with_capacity(width);
        if !self.take(Token::RightParen) {
            row.push(self.expr()?);
            while self.take(Token::Comma) {
                row.push(self.expr()?);
            }
            self.expect(Token::RightParen)?;
        }
        Ok(row)
    }

    /// `column = value, ..`
    fn assignments(&mut self) -> Parsed<Vec<Assignment>> {
        self.list(|parser| {
            let column = parser.column_name()?;
            if !parser.take(Token::Assign) {
                parser.expect(Token::Equal)?;
            }
            Ok(Assignment { column, value: parser.expr()? })
        })
    }

    pub(super) fn update(&mut self, with: Option<Box<With>>) -> Parsed<StatementKind> {
        let hints = self.advance_to_hints(HintOf::Change);
        let low_priority = self.take_word(K::LOW_PRIORITY);
        let ignore = self.take_word(K::IGNORE);
        let tables = self.table_references()?;
        self.expect_word(K::SET)?;
        let assignments = self.assignments()?;
        let filter = self.filter()?;
        let order_by = self.order_by()?;
        let limit = self.count_limit()?;
        let update =
            Update { hints, with, low_priority, ignore, tables, assignments, filter, order_by, limit };
        Ok(StatementKind::Update(Box::new(update)))
    }

    /// `DELETE FROM t ..`, `DELETE t1, t2 FROM ..`, `DELETE FROM t1, t2 USING ..`
    pub(super) fn delete(&mut self, with: Option<Box<With>>) -> Parsed<StatementKind> {
        let hints = self.advance_to_hints(HintOf::Change);
        let (mut low_priority, mut quick, mut ignore) = (false, false, false);
        while let Some(word) = self.take_any(&[K::LOW_PRIORITY, K::QUICK, K::IGNORE]) {
            match word {
                K::LOW_PRIORITY => low_priority = true,
                K::QUICK => quick = true,
                _ => ignore = true,
            }
        }
        let mut targets = Vec::new();
        let from = if self.take_word(K::FROM) {
            if self.delete_names_targets() {
                targets = self.list(Self::delete_target)?;
                self.expect_word(K::USING)?;
            }
            self.table_references()?
        } else {
            targets = self.list(Self::delete_target)?;
            self.expect_word(K::FROM)?;
            self.table_references()?
        };
        let filter = self.filter()?;
        let (order_by, limit) = match targets.is_empty() {
            true => (self.order_by()?, self.count_limit()?),
            false => (Vec::new(), None),
        };
        let delete =
            Delete { hints, with, low_priority, quick, ignore, targets, from, filter, order_by, limit };
        Ok(StatementKind::Delete(Box::new(delete)))
    }

    /// After FROM: true if USING follows a list of names.
    fn delete_names_targets(&self) -> bool {
        let mut ahead = self.lexer.clone();
        loop {
            match ahead.next().token {
                Token::Word(K::USING) => return true,
                Token::Dot | Token::Star | Token::Comma | Token::QuotedIdent => {}
                Token::Word(word) if !word.is_reserved() => {}
                _ => return false,
            }
        }
    }

    /// `t`, `db.t`, `t.*`, `db.t.*`
    fn delete_target(&mut self) -> Parsed<ObjectName> {
        let first = self.ident()?;
        let mut name = ObjectName { database: None, name: first };
        while self.take(Token::Dot) {
            if self.take(Token::Star) {
                break;
            }
            if name.database.is_some() {
                return Err(self.unexpected());
            }
            name = ObjectName { database: Some(name.name), name: self.any_ident()? };
        }
        Ok(name)
    }

    pub(super) fn load(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.is(K::INDEX) {
            return self.load_index();
        }
        let xml = self.expect_any(&[K::DATA, K::XML])? == K::XML;
        let priority = match self.take_any(&[K::LOW_PRIORITY, K::CONCURRENT]) {
            Some(K::LOW_PRIORITY) => Priority::Low,
            Some(_) => Priority::Concurrent,
            None => Priority::Normal,
        };
        let local = self.take_word(K::LOCAL);
        self.expect_word(K::INFILE)?;
        let path = self.text()?;
        let on_duplicate = self.duplicates();
        self.expect_words(&[K::INTO, K::TABLE])?;
        let table = self.object_name()?;
        let partitions = self.partition_names()?;
        let charset = self.optional_charset()?;
        let rows_identified = match xml && self.take_words(&[K::ROWS, K::IDENTIFIED, K::BY])? {
            true => Some(self.text()?),
            false => None,
        };
        let format = self.file_format()?;
        let mut ignore_lines = 0;
        if self.take_word(K::IGNORE) {
            ignore_lines = self.integer()?;
            self.expect_any(&[K::LINES, K::ROWS])?;
        }
        let mut targets = Vec::new();
        if self.take(Token::LeftParen) && !self.take(Token::RightParen) {
            targets = self.list(Self::load_target)?;
            self.expect(Token::RightParen)?;
        }
        let assignments = if self.take_word(K::SET) { self.assignments()? } else { Vec::new() };
        Ok(StatementKind::LoadData(Box::new(LoadData {
            xml,
            priority,
            local,
            path,
            on_duplicate,
            table,
            partitions,
            charset,
            rows_identified,
            format,
            ignore_lines,
            targets,
            assignments,
        })))
    }

    /// `[IGNORE | REPLACE]`
    pub(super) fn duplicates(&mut self) -> LoadDuplicates {
        match self.take_any(&[K::IGNORE, K::REPLACE]) {
            Some(K::IGNORE) => LoadDuplicates::Ignore,
            Some(_) => LoadDuplicates::Replace,
            None => LoadDuplicates::Error,
        }
    }

    fn load_target(&mut self) -> Parsed<LoadTarget> {
        match self.current.token {
            Token::UserVariable => self.user_variable().map(LoadTarget::Variable),
            _ => Ok(LoadTarget::Column(self.column_name()?.column)),
        }
    }

    pub(super) fn handler(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let table = self.object_name()?;
        let statement = match self.expect_any(&[K::OPEN, K::CLOSE, K::READ])? {
            K::OPEN => HandlerStatement::Open { table, alias: self.table_alias()? },
            K::CLOSE => HandlerStatement::Close(table.name),
            _ => {
                let index = match self.is_any(&[K::FIRST, K::NEXT]) {
                    true => None,
                    false => Some(self.index_name()?),
                };
                let step = self.handler_step()?;
                let filter = self.filter()?;
                let limit = self.limit()?;
                HandlerStatement::Read(Box::new(HandlerRead {
                    table: table.name,
                    index,
                    step,
                    filter,
                    limit,
                }))
            }
        };
        Ok(StatementKind::Handler(Box::new(statement)))
    }

    fn handler_step(&mut self) -> Parsed<HandlerStep> {
        let op = match self.current.token {
            Token::Equal => BinaryOp::Equal,
            Token::Less => BinaryOp::Less,
            Token::LessOrEqual => BinaryOp::LessOrEqual,
            Token::Greater => BinaryOp::Greater,
            Token::GreaterOrEqual => BinaryOp::GreaterOrEqual,
            _ => {
                return Ok(match self.expect_any(&[K::FIRST, K::NEXT, K::PREV, K::LAST])? {
                    K::FIRST => HandlerStep::First,
                    K::NEXT => HandlerStep::Next,
                    K::PREV => HandlerStep::Prev,
                    _ => HandlerStep::Last,
                });
            }
        };
        self.advance();
        Ok(HandlerStep::Key(op, self.paren_list(Self::expr)?))
    }
}

/// True for DEFAULT as a whole value.
pub(super) fn is_default(value: &Expr) -> bool {
    matches!(value.kind, ExprKind::Default(None))
}
