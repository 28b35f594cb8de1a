//! The first words of a statement choose what it is.

use super::table::ViewStart;
use super::{Parsed, Parser};
use crate::ast::{Remark, Remarks, Span, Statement, StatementKind};
use crate::keyword::Keyword as K;
use crate::token::Token;

/// A statement of which only this is known yet.
fn statement(kind: StatementKind, span: Span) -> Statement {
    Statement { kind, span, parameters: 0, remarks: Remarks::default(), algorithm_and_lock: Vec::new() }
}

impl Parser<'_> {
    /// One statement, without its delimiter.
    pub(super) fn statement(&mut self) -> Parsed<Statement> {
        let (start, comment) = (self.current.start, self.lexer.versioned_comment());
        let mut kind = self.nested(Self::statement_kind)?;
        if std::mem::take(&mut self.plan_hints) > 0 {
            self.resolve_hints(&mut kind);
        }
        // Versioned comments are whole in it, at both ends, for the text goes to other servers by
        // the log.
        let mut span = self.span_from(start);
        if self.routine.is_some() && comment.is_some() && self.lexer.closed_comment() == comment {
            // A routine's body, of which it is no part: mysqldump puts all of CREATE FUNCTION into
            // one.
            return Ok(statement(kind, span));
        }
        span.end = self.lexer.comment_end(span.end).unwrap_or(span.end);
        span.start = comment.filter(|_| self.lexer.versioned_comment() != comment).unwrap_or(start);
        Ok(statement(kind, span))
    }

    fn statement_kind(&mut self) -> Parsed<StatementKind> {
        if let Some(compound) = self.compound()? {
            return Ok(compound);
        }
        match self.current.token {
            Token::LeftParen => self.query_statement(),
            Token::Word(word) => self.keyword_statement(word),
            _ => Err(self.unexpected()),
        }
    }

    fn query_statement(&mut self) -> Parsed<StatementKind> {
        Ok(StatementKind::Query(Box::new(self.query()?)))
    }

    fn keyword_statement(&mut self, word: K) -> Parsed<StatementKind> {
        match word {
            K::SELECT | K::TABLE | K::VALUES => self.query_statement(),
            K::WITH => self.with_statement(),
            K::INSERT | K::REPLACE => self.insert(),
            K::UPDATE => self.update(None),
            K::DELETE => self.delete(None),
            K::LOAD => self.load(),
            K::HANDLER => self.handler(),
            K::CALL => self.call_statement(),
            K::DO => {
                self.advance();
                Ok(StatementKind::Do(self.exprs()?))
            }
            K::CREATE => self.create(),
            K::ALTER => self.alter(),
            K::DROP => self.drop(),
            K::TRUNCATE => {
                self.advance();
                self.take_word(K::TABLE);
                Ok(StatementKind::TruncateTable(self.object_name()?))
            }
            K::RENAME => self.rename(),
            K::USE => {
                self.advance();
                Ok(StatementKind::Use(self.ident()?))
            }
            K::SET => self.set(),
            K::BEGIN => self.begin(),
            K::START => self.start(),
            K::STOP => {
                self.advance();
                if self.expect_any(&[K::REPLICA, K::SLAVE])? == K::SLAVE {
                    self.remark(Remark::Instead("STOP SLAVE", "STOP REPLICA"));
                }
                self.stop_replica()
            }
            K::COMMIT => self.commit(),
            K::ROLLBACK => self.rollback(),
            K::SAVEPOINT => {
                self.advance();
                Ok(StatementKind::Savepoint(self.ident()?))
            }
            K::RELEASE => {
                self.expect_words(&[K::RELEASE, K::SAVEPOINT])?;
                Ok(StatementKind::ReleaseSavepoint(self.ident()?))
            }
            K::XA => self.xa(),
            K::LOCK => self.lock(),
            K::UNLOCK => self.unlock(),
            K::PREPARE => self.prepare(),
            K::EXECUTE => self.execute(),
            K::DEALLOCATE => {
                self.advance();
                self.deallocate()
            }
            K::SIGNAL | K::RESIGNAL => self.signal(),
            K::GET => self.get_diagnostics(),
            K::SHOW => self.show(),
            K::EXPLAIN | K::DESCRIBE | K::DESC => self.explain(),
            K::HELP => {
                self.advance();
                let topic = self.ident_or_text()?;
                Ok(StatementKind::Help(crate::ast::Text::new(topic.as_bytes())))
            }
            K::KILL => self.kill(),
            K::FLUSH => self.flush(),
            K::PURGE => self.purge(),
            K::RESET => self.reset(),
            K::ANALYZE | K::CHECK | K::CHECKSUM | K::OPTIMIZE | K::REPAIR => self.maintenance(),
            K::CACHE => self.cache_index(),
            K::INSTALL => self.install(),
            K::UNINSTALL => {
                self.advance();
                self.expect_word(K::PLUGIN)?;
                Ok(StatementKind::UninstallPlugin(self.ident()?))
            }
            K::SHUTDOWN => self.bare(StatementKind::Shutdown),
            K::RESTART => self.bare(StatementKind::Restart),
            K::BINLOG => {
                self.advance();
                Ok(StatementKind::Binlog(self.text()?))
            }
            K::GRANT => self.grant(),
            K::REVOKE => self.revoke(),
            K::CHANGE => {
                self.advance();
                self.change_replication()
            }
            _ => Err(self.unexpected()),
        }
    }

    /// INSTALL PLUGIN
    fn install(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_word(K::PLUGIN)?;
        let name = self.ident()?;
        self.expect_word(K::SONAME)?;
        Ok(StatementKind::InstallPlugin { name, library: self.text()? })
    }

    fn bare(&mut self, kind: StatementKind) -> Parsed<StatementKind> {
        self.advance();
        Ok(kind)
    }

    /// `WITH ..` before SELECT, UPDATE or DELETE.
    fn with_statement(&mut self) -> Parsed<StatementKind> {
        let start = self.current.start;
        let with = self.with()?;
        match self.word() {
            K::UPDATE => self.update(with),
            K::DELETE => self.delete(with),
            _ => {
                let first = self.query_term()?;
                Ok(StatementKind::Query(Box::new(self.query_from(start, with, first)?)))
            }
        }
    }

    fn call_statement(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.object_name()?;
        let mut arguments = Vec::new();
        if self.take(Token::LeftParen) && !self.take(Token::RightParen) {
            arguments = self.exprs()?;
            self.expect(Token::RightParen)?;
        }
        Ok(StatementKind::Call { name, arguments })
    }

    fn create(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let or_replace = self.take_words(&[K::OR, K::REPLACE])?;
        if !or_replace {
            match self.word() {
                K::DATABASE | K::SCHEMA => {
                    self.advance();
                    return self.create_database();
                }
                K::TABLE => {
                    self.advance();
                    return self.create_table(false);
                }
                K::TEMPORARY => {
                    self.expect_words(&[K::TEMPORARY, K::TABLE])?;
                    return self.create_table(true);
                }
                K::UNIQUE | K::FULLTEXT | K::SPATIAL | K::INDEX => return self.create_index(),
                K::USER => {
                    self.advance();
                    return self.create_user();
                }
                K::ROLE => {
                    self.advance();
                    return self.create_role();
                }
                _ => {}
            }
        }
        self.create_defined(or_replace)
    }

    /// What may have a definer: views, routines, triggers, events.
    fn create_defined(&mut self, or_replace: bool) -> Parsed<StatementKind> {
        let algorithm = self.view_algorithm()?;
        let definer = if self.is(K::DEFINER) { Some(self.definer()?) } else { None };
        let only_view = or_replace || algorithm.is_some();
        match self.word() {
            K::FUNCTION | K::PROCEDURE if !only_view => self.create_routine(definer),
            K::TRIGGER if !only_view => self.create_trigger(definer),
            K::EVENT if !only_view => self.create_event(definer),
            _ => {
                let security = self.sql_security()?;
                self.view(false, or_replace, ViewStart { algorithm, definer, security })
            }
        }
    }

    fn alter(&mut self) -> Parsed<StatementKind> {
        self.advance();
        match self.word() {
            K::TABLE => {
                self.advance();
                self.alter_table()
            }
            K::DATABASE | K::SCHEMA => {
                self.advance();
                self.alter_database()
            }
            K::USER => {
                self.advance();
                self.alter_user()
            }
            K::INSTANCE => {
                self.advance();
                self.alter_instance()
            }
            K::FUNCTION | K::PROCEDURE => {
                let kind = self.routine_kind()?;
                let name = self.object_name()?;
                Ok(StatementKind::AlterRoutine { kind, name, characteristics: self.characteristics()? })
            }
            _ => {
                let algorithm = self.view_algorithm()?;
                let definer = if self.is(K::DEFINER) { Some(self.definer()?) } else { None };
                if algorithm.is_none() && self.is(K::EVENT) {
                    return self.alter_event(definer);
                }
                let security = self.sql_security()?;
                self.view(true, false, ViewStart { algorithm, definer, security })
            }
        }
    }

    fn drop(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let word = self.word();
        if matches!(word, K::FUNCTION | K::PROCEDURE) {
            let kind = self.routine_kind()?;
            let if_exists = self.if_exists()?;
            return Ok(StatementKind::DropRoutine { kind, name: self.object_name()?, if_exists });
        }
        if word == K::PREPARE {
            return self.deallocate();
        }
        self.advance();
        match word {
            K::DATABASE | K::SCHEMA => {
                let if_exists = self.if_exists()?;
                Ok(StatementKind::DropDatabase { name: self.ident()?, if_exists })
            }
            K::TABLE | K::TABLES => self.drop_table(false),
            K::TEMPORARY => {
                self.expect_any(&[K::TABLE, K::TABLES])?;
                self.drop_table(true)
            }
            K::INDEX => self.drop_index(),
            K::VIEW => {
                let if_exists = self.if_exists()?;
                let names = self.list(Self::object_name)?;
                self.take_any(&[K::RESTRICT, K::CASCADE]);
                Ok(StatementKind::DropView { names, if_exists })
            }
            K::TRIGGER => {
                let if_exists = self.if_exists()?;
                Ok(StatementKind::DropTrigger { name: self.object_name()?, if_exists })
            }
            K::EVENT => {
                let if_exists = self.if_exists()?;
                Ok(StatementKind::DropEvent { name: self.object_name()?, if_exists })
            }
            K::SERVER => {
                let if_exists = self.if_exists()?;
                Ok(StatementKind::DropServer { name: self.ident_or_text()?, if_exists })
            }
            K::USER => self.drop_accounts(false),
            K::ROLE => self.drop_accounts(true),
            _ => Err(self.unexpected()),
        }
    }

    fn rename(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.take_word(K::USER) {
            return self.rename_user();
        }
        self.expect_any(&[K::TABLE, K::TABLES])?;
        let pairs = self.list(|parser| {
            let old = parser.object_name()?;
            parser.expect_word(K::TO)?;
            Ok((old, parser.object_name()?))
        })?;
        Ok(StatementKind::RenameTable(pairs))
    }

    fn start(&mut self) -> Parsed<StatementKind> {
        self.advance();
        match self.expect_any(&[K::TRANSACTION, K::REPLICA, K::SLAVE])? {
            K::TRANSACTION => self.transaction_options(),
            word => {
                if word == K::SLAVE {
                    self.remark(Remark::Instead("START SLAVE", "START REPLICA"));
                }
                self.start_replica()
            }
        }
    }
}
