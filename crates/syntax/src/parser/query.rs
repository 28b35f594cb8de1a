//! Queries: SELECT, VALUES, TABLE, their set operations, and what follows the whole.

use super::hint::HintOf;
use super::{Parsed, Parser};
use crate::ast::{
    CommonTable, Expr, ExprKind, FileFormat, Ident, IntoTarget, IntoVariable, Limit, LockStrength, LockWait,
    Locking, ObjectName, OrderItem, PlanHint, Query, QueryBody, Remark, Select, SelectItem, SelectOptions,
    SetOp, With,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl QueryBody {
    /// A query in parentheses as a part of another: nested only if it has more than a body.
    pub(super) fn from_parens(query: Query) -> QueryBody {
        match query {
            Query { with: None, body, order_by, limit: None, locking, into: None, .. }
                if order_by.is_empty() && locking.is_empty() =>
            {
                body
            }
            query => QueryBody::Nested(Box::new(query)),
        }
    }
}

impl Parser<'_> {
    /// True where a query without parentheses begins.
    pub(super) fn at_query(&self) -> bool {
        match self.word() {
            K::SELECT | K::WITH | K::TABLE => true,
            K::VALUES => self.peek_is(K::ROW),
            _ => false,
        }
    }

    /// True after a query in parentheses that goes on.
    pub(super) fn at_query_tail(&self) -> bool {
        self.is_any(&[K::UNION, K::EXCEPT, K::INTERSECT, K::ORDER, K::LIMIT, K::FOR, K::LOCK, K::INTO])
    }

    /// True where a query begins, perhaps in parentheses.
    pub(super) fn at_query_or_paren(&self) -> bool {
        self.current.token == Token::LeftParen || self.at_query()
    }

    /// A query, perhaps in parentheses itself.
    pub(super) fn query(&mut self) -> Parsed<Query> {
        self.nested(|parser| {
            let start = parser.current.start;
            let with = parser.with()?;
            let first = parser.query_term()?;
            parser.query_from(start, with, first)
        })
    }

    /// `(query)`, in any number of parentheses.
    pub(super) fn paren_query(&mut self) -> Parsed<Query> {
        self.in_parens(
            |parser| if parser.at_query_or_paren() { parser.query() } else { Err(parser.unexpected()) },
        )
    }

    /// Goes on after the first SELECT (or what stands for it).
    pub(super) fn query_from(
        &mut self,
        start: u32,
        with: Option<Box<With>>,
        first: QueryBody,
    ) -> Parsed<Query> {
        let outer_into = self.into.take();
        let body = self.set_operations(first)?;
        let order_by = self.order_by()?;
        let limit = self.limit()?;
        let mut locking = Vec::new();
        self.into = self.into.take().or(outer_into);
        loop {
            if self.is(K::INTO) && self.into.is_none() {
                self.target_of_into()?;
            } else if let Some(clause) = self.locking()? {
                if self.into.is_some() {
                    self.remark(Remark::InnerInto);
                }
                locking.push(clause);
            } else {
                break;
            }
        }
        let into = self.into.take();
        let query = Query { span: self.span_from(start), with, body, order_by, limit, locking, into };
        Ok(query)
    }

    pub(super) fn with(&mut self) -> Parsed<Option<Box<With>>> {
        if !self.take_word(K::WITH) {
            return Ok(None);
        }
        let recursive = self.take_word(K::RECURSIVE);
        let tables = self.list(|parser| {
            let name = parser.ident()?;
            let columns = parser.optional_idents()?;
            parser.expect_word(K::AS)?;
            Ok(std::sync::Arc::new(CommonTable { name, columns, query: parser.paren_query()? }))
        })?;
        Ok(Some(Box::new(With { recursive, tables })))
    }

    /// `[(a, b)]`
    pub(super) fn optional_idents(&mut self) -> Parsed<Vec<Ident>> {
        match self.current.token {
            Token::LeftParen => self.paren_list(Self::ident),
            _ => Ok(Vec::new()),
        }
    }

    pub(super) fn query_term(&mut self) -> Parsed<QueryBody> {
        match self.current.token {
            Token::Word(K::SELECT) => self.select(),
            Token::Word(K::VALUES) => {
                self.advance();
                let row = |parser: &mut Self| {
                    parser.expect_word(K::ROW)?;
                    parser.paren_list(Self::expr)
                };
                Ok(QueryBody::Values(self.list(row)?))
            }
            Token::Word(K::TABLE) => {
                self.advance();
                Ok(QueryBody::Table(self.object_name()?))
            }
            Token::LeftParen => {
                let inner = self.in_parens(Self::query)?;
                Ok(QueryBody::from_parens(inner))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// INTERSECT binds tighter than UNION and EXCEPT; all go from the left. They grow on top of the
    /// first operand, whose height counts as well: a chain may stand in parentheses at the left end
    /// of another.
    fn set_operations(&mut self, first: QueryBody) -> Parsed<QueryBody> {
        let mut left = self.intersections(first)?;
        while let Some(word) = self.take_any(&[K::UNION, K::EXCEPT]) {
            let op = if word == K::UNION { SetOp::Union } else { SetOp::Except };
            let all = self.set_quantifier();
            let term = self.query_term()?;
            let right = self.intersections(term)?;
            self.grow()?;
            left = QueryBody::SetOperation { op, all, left: Box::new(left), right: Box::new(right) };
        }
        Ok(left)
    }

    fn intersections(&mut self, mut left: QueryBody) -> Parsed<QueryBody> {
        while self.take_word(K::INTERSECT) {
            let all = self.set_quantifier();
            let right = self.query_term()?;
            self.grow()?;
            left = QueryBody::SetOperation {
                op: SetOp::Intersect,
                all,
                left: Box::new(left),
                right: Box::new(right),
            };
        }
        Ok(left)
    }

    fn set_quantifier(&mut self) -> bool {
        self.take_any(&[K::ALL, K::DISTINCT]) == Some(K::ALL)
    }

    fn select(&mut self) -> Parsed<QueryBody> {
        let hints = self.advance_to_hints(HintOf::Select);
        let mut options = self.select_options()?;
        options.straight_join |= hints.iter().any(PlanHint::fixes_own_order);
        let mut is_first = true;
        let items = self.list(|parser| {
            // Behind others there is no `*`.
            if !std::mem::take(&mut is_first) && parser.current.token == Token::Star {
                return Err(parser.unexpected());
            }
            parser.select_item()
        })?;
        if self.is(K::INTO) {
            self.target_of_into()?;
        }
        let mut select = Select {
            hints,
            options,
            items,
            from: Vec::new(),
            filter: None,
            group_by: Vec::new(),
            with_rollup: false,
            having: None,
            windows: Vec::new(),
        };
        if self.take_word(K::FROM) && !self.take_word(K::DUAL) {
            select.from = self.table_references()?;
        }
        select.filter = self.filter()?;
        if self.take_words(&[K::GROUP, K::BY])? {
            select.group_by = self.exprs()?;
            select.with_rollup = self.is(K::WITH) && self.take_words(&[K::WITH, K::ROLLUP])?;
        }
        if self.take_word(K::HAVING) {
            select.having = Some(self.expr()?);
        }
        if self.take_word(K::WINDOW) {
            select.windows = self.list(|parser| {
                let name = parser.ident()?;
                parser.expect_word(K::AS)?;
                Ok((name, parser.in_parens(Self::window_spec)?))
            })?;
        }
        Ok(QueryBody::Select(Box::new(select)))
    }

    fn select_options(&mut self) -> Parsed<SelectOptions> {
        let mut options = SelectOptions::default();
        let mut all = false;
        loop {
            let option = match self.word() {
                K::DISTINCT | K::DISTINCTROW => &mut options.distinct,
                K::HIGH_PRIORITY => &mut options.high_priority,
                K::STRAIGHT_JOIN => &mut options.straight_join,
                K::SQL_SMALL_RESULT => &mut options.small_result,
                K::SQL_BIG_RESULT => &mut options.big_result,
                K::SQL_BUFFER_RESULT => &mut options.buffer_result,
                K::SQL_CALC_FOUND_ROWS => &mut options.calc_found_rows,
                K::SQL_NO_CACHE => &mut options.no_cache,
                K::ALL => &mut all,
                _ if all && options.distinct => {
                    let message = "Incorrect usage of ALL and DISTINCT".to_owned();
                    return Err(self.error(1221, b"HY000", message));
                }
                _ => return Ok(options),
            };
            *option = true;
            match self.word() {
                K::SQL_CALC_FOUND_ROWS => self.remark(Remark::CalcFoundRows),
                K::SQL_NO_CACHE => self.remark(Remark::NoCache),
                _ => {}
            }
            self.advance();
        }
    }

    fn select_item(&mut self) -> Parsed<SelectItem> {
        if self.take(Token::Star) {
            return Ok(SelectItem::All);
        }
        if let Some(name) = self.table_wildcard()? {
            return Ok(SelectItem::AllOf(name));
        }
        let expr = self.expr()?;
        let alias = match self.current.token {
            Token::Comma | Token::Word(K::FROM) | Token::End => None,
            _ => self.select_alias()?,
        };
        Ok(SelectItem::Expr { expr, alias })
    }

    /// `t.*`, `db.t.*`
    fn table_wildcard(&mut self) -> Parsed<Option<ObjectName>> {
        if !self.at_ident() {
            return Ok(None);
        }
        let mut ahead = self.lexer.clone();
        let mut next = || ahead.next().token;
        if next() != Token::Dot {
            return Ok(None);
        }
        let qualified = match next() {
            Token::Star => false,
            _ if next() == Token::Dot && next() == Token::Star => true,
            _ => return Ok(None),
        };
        let first = self.ident()?;
        self.expect(Token::Dot)?;
        let name = match qualified {
            false => ObjectName { database: None, name: first },
            true => {
                let name = self.any_ident()?;
                self.expect(Token::Dot)?;
                ObjectName { database: Some(first), name }
            }
        };
        self.expect(Token::Star)?;
        Ok(Some(name))
    }

    fn select_alias(&mut self) -> Parsed<Option<Ident>> {
        if self.take_word(K::AS) || self.current.token == Token::String || self.at_ident() {
            return self.ident_or_text().map(Some);
        }
        Ok(None)
    }

    /// `[WHERE expr]`
    pub(super) fn filter(&mut self) -> Parsed<Option<Expr>> {
        match self.take_word(K::WHERE) {
            true => self.expr().map(Some),
            false => Ok(None),
        }
    }

    /// `[ORDER BY ..]`
    pub(super) fn order_by(&mut self) -> Parsed<Vec<OrderItem>> {
        match self.take_words(&[K::ORDER, K::BY])? {
            true => self.order_items(),
            false => Ok(Vec::new()),
        }
    }

    /// `[LIMIT ..]`
    pub(super) fn limit(&mut self) -> Parsed<Option<Limit>> {
        if !self.take_word(K::LIMIT) {
            return Ok(None);
        }
        let first = self.limit_number()?;
        Ok(Some(if self.take(Token::Comma) {
            Limit { count: self.limit_number()?, offset: Some(first) }
        } else if self.take_word(K::OFFSET) {
            Limit { count: first, offset: Some(self.limit_number()?) }
        } else {
            Limit { count: first, offset: None }
        }))
    }

    /// LIMIT of a statement that changes rows, which has no offset.
    pub(super) fn count_limit(&mut self) -> Parsed<Option<Limit>> {
        match self.take_word(K::LIMIT) {
            true => Ok(Some(Limit { count: self.limit_number()?, offset: None })),
            false => Ok(None),
        }
    }

    /// An integer, a parameter or a routine's variable.
    fn limit_number(&mut self) -> Parsed<Expr> {
        let is_number = matches!(self.current.token, Token::Integer | Token::HexNumber | Token::Parameter);
        if !is_number && !self.at_ident() {
            return Err(self.unexpected());
        }
        let start = self.current;
        let number = self.primary()?;
        match number.kind {
            ExprKind::Literal(_) | ExprKind::Parameter(_) | ExprKind::Column(_) => Ok(number),
            _ => Err(self.unexpected_at(start)),
        }
    }

    fn locking(&mut self) -> Parsed<Option<Locking>> {
        if self.take_word(K::LOCK) {
            self.expect_words(&[K::IN, K::SHARE, K::MODE])?;
            let (strength, wait) = (LockStrength::Share, LockWait::Wait);
            return Ok(Some(Locking { strength, tables: Vec::new(), wait }));
        }
        if !self.take_word(K::FOR) {
            return Ok(None);
        }
        let strength = match self.expect_any(&[K::UPDATE, K::SHARE])? {
            K::UPDATE => LockStrength::Update,
            _ => LockStrength::Share,
        };
        let tables = match self.take_word(K::OF) {
            true => self.list(Self::object_name)?,
            false => Vec::new(),
        };
        let wait = if self.take_word(K::NOWAIT) {
            LockWait::NoWait
        } else if self.take_words(&[K::SKIP, K::LOCKED])? {
            LockWait::SkipLocked
        } else {
            LockWait::Wait
        };
        Ok(Some(Locking { strength, tables, wait }))
    }

    /// At `INTO`. Kept aside until the query ends, for it may stand before FROM.
    fn target_of_into(&mut self) -> Parsed<()> {
        if self.into.is_some() {
            return Err(self.unexpected());
        }
        self.advance();
        let target = if self.take_word(K::OUTFILE) {
            let path = self.text()?;
            let charset = self.optional_charset()?;
            IntoTarget::OutFile { path, charset, format: self.file_format()? }
        } else if self.take_word(K::DUMPFILE) {
            IntoTarget::DumpFile(self.text()?)
        } else {
            IntoTarget::Variables(self.list(|parser| match parser.current.token {
                Token::UserVariable => parser.user_variable().map(IntoVariable::User),
                _ => parser.ident().map(IntoVariable::Local),
            })?)
        };
        self.into = Some(Box::new(target));
        Ok(())
    }

    /// `[CHARACTER SET name]`
    pub(super) fn optional_charset(&mut self) -> Parsed<Option<Ident>> {
        match self.take_charset_words()? {
            true => self.charset_name().map(Some),
            false => Ok(None),
        }
    }

    /// `CHARSET`, `CHARACTER SET`, `CHAR SET`
    pub(super) fn take_charset_words(&mut self) -> Parsed<bool> {
        if self.take_word(K::CHARSET) {
            return Ok(true);
        }
        let found = self.is_any(&[K::CHARACTER, K::CHAR]) && self.peek_is(K::SET);
        if found {
            self.advance();
            self.advance();
        }
        Ok(found)
    }

    /// `[FIELDS ..] [LINES ..]`
    pub(super) fn file_format(&mut self) -> Parsed<FileFormat> {
        let mut format = FileFormat::default();
        if self.take_any(&[K::FIELDS, K::COLUMNS]).is_some() {
            loop {
                match self.word() {
                    K::TERMINATED => format.fields_terminated = Some(self.by_text()?),
                    K::OPTIONALLY => {
                        self.advance();
                        format.optionally_enclosed = true;
                        format.enclosed = Some(self.by_text()?);
                    }
                    K::ENCLOSED => format.enclosed = Some(self.by_text()?),
                    K::ESCAPED => format.escaped = Some(self.by_text()?),
                    _ => break,
                }
            }
        }
        if self.take_word(K::LINES) {
            loop {
                match self.word() {
                    K::STARTING => format.lines_starting = Some(self.by_text()?),
                    K::TERMINATED => format.lines_terminated = Some(self.by_text()?),
                    _ => break,
                }
            }
        }
        Ok(format)
    }

    /// `word BY 'text'`
    fn by_text(&mut self) -> Parsed<crate::ast::Text> {
        self.advance();
        self.expect_word(K::BY)?;
        self.text()
    }
}
