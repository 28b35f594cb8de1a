//! Operands: literals, names, variables, parentheses, and what a keyword opens.

use super::expression::{Interval, Level, call, one};
use super::{Parsed, Parser};
use crate::ast::{
    CaseBranch, ColumnName, Expr, ExprKind, Ident, Literal, QueryBody, Remark, SystemVariable, VariableName,
    VariableScope,
};
use crate::keyword::Keyword as K;
use crate::token::Token;
use stdx::memory::Unfinished;

/// Variables by the names that MySQL has given up (1287), and those that they have today.
pub const RENAMED_VARIABLES: &[(&str, &str)] = &[
    ("init_slave", "init_replica"),
    ("log_slave_updates", "log_replica_updates"),
    ("log_slow_slave_statements", "log_slow_replica_statements"),
    ("master_verify_checksum", "source_verify_checksum"),
    ("rpl_stop_slave_timeout", "rpl_stop_replica_timeout"),
    ("skip_slave_start", "skip_replica_start"),
    ("slave_allow_batching", "replica_allow_batching"),
    ("slave_checkpoint_group", "replica_checkpoint_group"),
    ("slave_checkpoint_period", "replica_checkpoint_period"),
    ("slave_compressed_protocol", "replica_compressed_protocol"),
    ("slave_exec_mode", "replica_exec_mode"),
    ("slave_load_tmpdir", "replica_load_tmpdir"),
    ("slave_max_allowed_packet", "replica_max_allowed_packet"),
    ("slave_net_timeout", "replica_net_timeout"),
    ("slave_parallel_type", "replica_parallel_type"),
    ("slave_parallel_workers", "replica_parallel_workers"),
    ("slave_pending_jobs_size_max", "replica_pending_jobs_size_max"),
    ("slave_preserve_commit_order", "replica_preserve_commit_order"),
    ("slave_skip_errors", "replica_skip_errors"),
    ("slave_sql_verify_checksum", "replica_sql_verify_checksum"),
    ("slave_transaction_retries", "replica_transaction_retries"),
    ("slave_type_conversions", "replica_type_conversions"),
    ("sql_slave_skip_counter", "sql_replica_skip_counter"),
    ("sync_master_info", "sync_source_info"),
];

/// Variables that MySQL has announced to remove.
const DEPRECATED_VARIABLES: &[&str] = &[
    "binlog_format",
    "binlog_max_flush_queue_time",
    "have_profiling",
    "have_query_cache",
    "log_bin_trust_function_creators",
    "max_delayed_threads",
    "max_length_for_sort_data",
    "profiling",
    "profiling_history_size",
    "query_prealloc_size",
    "terminology_use_previous",
    "transaction_prealloc_size",
];

impl Parser<'_> {
    /// One operand, without the operators around it.
    pub(super) fn primary(&mut self) -> Parsed<Expr> {
        let start = self.current.start;
        let kind = match self.current.token {
            Token::Word(K::OTHER) | Token::QuotedIdent => self.name_or_call()?,
            Token::Integer | Token::String => self.literal_operand()?,
            Token::Word(word) => self.keyword_operand(word)?,
            Token::LeftParen => return self.parens(),
            Token::Parameter => self.parameter()?,
            Token::UserVariable => self.user_variable_operand()?,
            Token::SystemVariable => self.system_variable()?,
            Token::LeftBrace => return self.odbc(),
            _ => self.literal_operand()?,
        };
        Ok(self.make(start, kind))
    }

    fn literal_operand(&mut self) -> Parsed<ExprKind> {
        self.literal()?.map(ExprKind::Literal).ok_or_else(|| self.unexpected())
    }

    /// At a word that means something to the grammar, though it may be a plain name here.
    fn keyword_operand(&mut self, word: K) -> Parsed<ExprKind> {
        match word {
            K::NULL | K::TRUE | K::FALSE => return self.literal_operand(),
            K::DATE | K::TIME | K::TIMESTAMP => {
                if let Some(literal) = self.literal()? {
                    return Ok(ExprKind::Literal(literal));
                }
            }
            K::CASE => return self.case(),
            K::EXISTS => {
                self.advance();
                return Ok(ExprKind::Exists(Box::new(self.paren_query()?)));
            }
            K::INTERVAL => return self.interval_operand(),
            K::DEFAULT => {
                self.advance();
                let column = match self.current.token {
                    Token::LeftParen => Some(Box::new(self.in_parens(Self::column_name)?)),
                    _ => None,
                };
                return Ok(ExprKind::Default(column));
            }
            _ => {}
        }
        if let Some(kind) = self.special_call(word)? {
            return Ok(kind);
        }
        if word.is_reserved() {
            return Err(self.unexpected());
        }
        self.name_or_call()
    }

    /// `column`, `table.column`, `db.table.column`, `function(..)`, `db.function(..)`,
    /// `column -> '$.path'`.
    fn name_or_call(&mut self) -> Parsed<ExprKind> {
        let first = self.ident()?;
        if self.current.token == Token::LeftParen {
            return self.call_tail(None, first);
        }
        if !self.take(Token::Dot) {
            return self.column_tail(first.into());
        }
        let second = self.any_ident()?;
        if self.current.token == Token::LeftParen {
            return self.call_tail(Some(first), second);
        }
        if !self.take(Token::Dot) {
            return self.column_tail(ColumnName { database: None, table: Some(first), column: second });
        }
        let column = self.any_ident()?;
        self.column_tail(ColumnName { database: Some(first), table: Some(second), column })
    }

    /// After a column: `-> path`, `->> path`.
    fn column_tail(&mut self, name: ColumnName) -> Parsed<ExprKind> {
        let arrow = self.current.token;
        if !matches!(arrow, Token::Arrow | Token::ArrowUnquote) {
            return Ok(ExprKind::Column(name));
        }
        let start = self.current.start;
        let column = self.make(start, ExprKind::Column(name));
        self.advance();
        let path = match self.literal()? {
            Some(literal @ Literal::String { .. }) => self.make(start, ExprKind::Literal(literal)),
            _ => return Err(self.unexpected()),
        };
        let extract = call("json_extract", vec![column, path]);
        Ok(match arrow {
            Token::Arrow => extract,
            _ => call("json_unquote", vec![self.make(start, extract)]),
        })
    }

    /// `(expr)`, `(a, b)`, `(SELECT ..)`
    fn parens(&mut self) -> Parsed<Expr> {
        let start = self.current.start;
        let list = self.parenthesized()?;
        Ok(match one(list) {
            Ok(inner) => Expr { span: self.span_from(start), ..inner },
            Err(list) => self.make(start, ExprKind::Row(list)),
        })
    }

    /// What stands in parentheses: expressions, or one query as a subquery.
    /// `((SELECT 1) UNION SELECT 2)` is a query too, which shows only after its first part.
    pub(super) fn parenthesized(&mut self) -> Parsed<Vec<Expr>> {
        let start = self.current.start;
        self.expect(Token::LeftParen)?;
        let mut list = if self.at_query() {
            let query = Box::new(self.query()?);
            vec![self.make(start, ExprKind::Subquery(query))]
        } else {
            vec![self.expr()?]
        };
        if self.at_query_tail()
            && let Some(Expr { kind: ExprKind::Subquery(query), span }) = list.pop()
        {
            let query = Box::new(self.query_from(span.start, None, QueryBody::from_parens(*query))?);
            list.push(self.make(start, ExprKind::Subquery(query)));
        }
        while self.take(Token::Comma) {
            list.push(self.expr()?);
        }
        self.expect(Token::RightParen)?;
        Ok(list)
    }

    fn parameter(&mut self) -> Parsed<ExprKind> {
        if !self.parameters_allowed {
            return Err(self.unexpected());
        }
        self.advance();
        self.parameters += 1;
        Ok(ExprKind::Parameter(self.parameters - 1))
    }

    fn user_variable_operand(&mut self) -> Parsed<ExprKind> {
        let name = self.user_variable()?;
        if !self.take(Token::Assign) {
            return Ok(ExprKind::UserVariable(name));
        }
        self.remark(Remark::Assignment);
        let value = Box::new(self.expr()?);
        Ok(ExprKind::AssignUserVariable { name, value })
    }

    /// `@@[scope.][component.]name`
    fn system_variable(&mut self) -> Parsed<ExprKind> {
        self.advance();
        let scope = self.scope_prefix()?;
        let name = self.variable_name()?;
        Ok(ExprKind::SystemVariable(Box::new(SystemVariable { scope, name })))
    }

    /// `GLOBAL.`, `SESSION.`, .. after `@@`.
    pub(super) fn scope_prefix(&mut self) -> Parsed<Option<VariableScope>> {
        let scope = match self.word() {
            K::GLOBAL => VariableScope::Global,
            K::SESSION | K::LOCAL => VariableScope::Session,
            K::PERSIST => VariableScope::Persist,
            K::PERSIST_ONLY => VariableScope::PersistOnly,
            _ => return Ok(None),
        };
        if self.peek().token != Token::Dot {
            return Ok(None);
        }
        self.advance();
        self.advance();
        Ok(Some(scope))
    }

    pub(super) fn variable_name(&mut self) -> Parsed<VariableName> {
        let component = match self.is(K::DEFAULT) && self.peek().token == Token::Dot {
            true => self.any_ident()?, // the default key cache
            false => self.ident()?,
        };
        if self.take(Token::Dot) {
            return Ok(VariableName { component: Some(component), name: self.any_ident()? });
        }
        if let Some(name) = DEPRECATED_VARIABLES.iter().find(|name| component.is(name)) {
            self.remark(Remark::Variable(name));
        }
        if let Some((old, new)) = RENAMED_VARIABLES.iter().find(|(old, _)| component.is(old)) {
            self.remark(Remark::RenamedVariable(old, new));
        }
        Ok(VariableName { component: None, name: component })
    }

    /// `{d '2020-01-01'}`, `{fn now()}`: the word says what it is, or means nothing.
    fn odbc(&mut self) -> Parsed<Expr> {
        let start = self.current.start;
        self.advance();
        let word = self.any_ident()?;
        let inner = self.expr()?;
        self.expect(Token::RightBrace)?;
        let kind = match inner.kind {
            ExprKind::Literal(Literal::String { bytes, introducer: None }) => {
                let text = crate::ast::Text::new(bytes);
                ExprKind::Literal(match word {
                    _ if word.is("d") => Literal::Date(text),
                    _ if word.is("t") => Literal::Time(text),
                    _ if word.is("ts") => Literal::Timestamp(text),
                    _ => Literal::String { bytes: text.to_vec().into(), introducer: None },
                })
            }
            kind => kind,
        };
        Ok(self.make(start, kind))
    }

    fn case(&mut self) -> Parsed<ExprKind> {
        self.advance();
        let operand = match self.is(K::WHEN) {
            true => None,
            false => Some(Box::new(self.expr()?)),
        };
        let mut branches = Unfinished::new(Vec::new());
        while self.take_word(K::WHEN) {
            let when = self.expr()?;
            self.expect_word(K::THEN)?;
            branches.push(CaseBranch { when, then: self.expr()? });
        }
        if branches.is_empty() {
            return Err(self.unexpected());
        }
        let otherwise = match self.take_word(K::ELSE) {
            true => Some(Box::new(self.expr()?)),
            false => None,
        };
        self.expect_word(K::END)?;
        Ok(ExprKind::Case { operand, branches: branches.finish(), otherwise })
    }

    /// `INTERVAL 1 DAY + date`, or the function.
    fn interval_operand(&mut self) -> Parsed<ExprKind> {
        match self.interval()? {
            Interval::Function(function) => Ok(function.kind),
            Interval::Amount(amount, unit) => {
                self.expect(Token::Plus)?;
                let date = Box::new(self.climb(Level::Multiply)?);
                Ok(ExprKind::DateArithmetic { date, amount, unit, subtract: false })
            }
        }
    }

    /// A character set's name; `BINARY` is one, though reserved.
    pub(super) fn charset_name(&mut self) -> Parsed<Ident> {
        let name = self.ident_or_binary()?;
        self.note_charset(&name);
        Ok(name)
    }

    /// The same, without a remark on it.
    pub(super) fn ident_or_binary(&mut self) -> Parsed<Ident> {
        if self.take_word(K::BINARY) {
            return Ok("binary".into());
        }
        self.ident_or_text()
    }

    /// Notes the name of a character set if it is one of utf8mb3.
    pub(super) fn note_charset(&mut self, name: &Ident) {
        if name.is("utf8") {
            self.remark(Remark::Utf8);
        } else if name.is("utf8mb3") {
            self.remark(Remark::Instead("utf8mb3", "utf8mb4"));
        }
    }

    /// A collation's name; `BINARY` is one, though reserved.
    pub(super) fn collation_name(&mut self) -> Parsed<Ident> {
        let name = self.ident_or_binary()?;
        let lower = name.to_ascii_lowercase();
        if lower.starts_with("utf8mb3_") || lower.starts_with("utf8_") {
            self.remark(Remark::Utf8Collation(lower.into()));
        }
        Ok(name)
    }
}
