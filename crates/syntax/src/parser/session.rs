//! SET, transactions, XA, LOCK TABLES, PREPARE.

use super::change::is_default;
use super::{Parsed, Parser};
use crate::ast::{
    Completion, Expr, ExprKind, Ident, Isolation, Literal, LockTable, MasterKey, PrepareSource, SetItem,
    StatementKind, TableLock, Text, TransactionOptions, VariableName, VariableScope, Xa, Xid,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl Parser<'_> {
    pub(super) fn set(&mut self) -> Parsed<StatementKind> {
        self.advance();
        match self.word() {
            K::PASSWORD
                if !matches!(self.peek().token, Token::Equal | Token::Assign) || !self.in_routine() =>
            {
                return self.set_password().map(|item| StatementKind::Set(vec![item]));
            }
            K::ROLE => return self.set_role(),
            K::DEFAULT => return self.set_default_role(),
            K::RESOURCE => {
                self.expect_words(&[K::RESOURCE, K::GROUP])?;
                return Ok(StatementKind::Set(vec![SetItem::ResourceGroup(self.ident()?)]));
            }
            _ => {}
        }
        let mut scope = None;
        let items = self.list(|parser| parser.set_item(&mut scope))?;
        Ok(StatementKind::Set(items))
    }

    fn in_routine(&self) -> bool {
        self.routine.is_some()
    }

    /// An item; a scope's keyword holds for the plain names after it, too:
    /// `SET GLOBAL a = 1, b = 2`.
    fn set_item(&mut self, carried: &mut Option<VariableScope>) -> Parsed<SetItem> {
        match self.current.token {
            Token::UserVariable => {
                let name = self.user_variable()?;
                self.assign_sign()?;
                return Ok(SetItem::UserVariable { name, value: self.expr()? });
            }
            Token::SystemVariable => {
                self.advance();
                let scope = self.scope_prefix()?.or(Some(VariableScope::Session));
                return self.set_variable(scope);
            }
            _ => {}
        }
        if self.is(K::NAMES) && !matches!(self.peek().token, Token::Equal | Token::Assign) {
            return self.set_names();
        }
        if self.take_charset_words()? {
            let charset = if self.take_word(K::DEFAULT) { None } else { Some(self.ident_or_binary()?) };
            return Ok(SetItem::CharacterSet(charset));
        }
        let scope = self.set_scope();
        if self.is(K::TRANSACTION) && !matches!(self.peek().token, Token::Equal | Token::Assign) {
            return self.set_transaction(scope);
        }
        *carried = scope.or(*carried);
        self.set_variable(*carried)
    }

    /// `GLOBAL`, `SESSION`, `LOCAL`, `PERSIST`, `PERSIST_ONLY` before a name.
    fn set_scope(&mut self) -> Option<VariableScope> {
        let scope = match self.word() {
            K::GLOBAL => VariableScope::Global,
            K::SESSION | K::LOCAL => VariableScope::Session,
            K::PERSIST => VariableScope::Persist,
            K::PERSIST_ONLY => VariableScope::PersistOnly,
            _ => return None,
        };
        if matches!(self.peek().token, Token::Equal | Token::Assign | Token::Dot) {
            return None;
        }
        self.advance();
        Some(scope)
    }

    fn set_variable(&mut self, scope: Option<VariableScope>) -> Parsed<SetItem> {
        let name = self.variable_name()?;
        self.assign_sign()?;
        let value = self.set_value()?;
        Ok(SetItem::Variable { scope, name, value })
    }

    fn assign_sign(&mut self) -> Parsed<()> {
        if self.take(Token::Assign) { Ok(()) } else { self.expect(Token::Equal) }
    }

    /// An expression, DEFAULT, or one of the reserved words that stand for themselves.
    fn set_value(&mut self) -> Parsed<Option<Expr>> {
        let start = self.current.start;
        if self.is_any(&[K::ON, K::ALL, K::BINARY, K::ROW, K::SYSTEM])
            && matches!(self.peek().token, Token::Comma | Token::Semicolon | Token::End)
        {
            let word = self.bytes(self.current).into();
            self.advance();
            let literal = Literal::String { bytes: word, introducer: None };
            return Ok(Some(self.make(start, ExprKind::Literal(literal))));
        }
        let value = self.expr()?;
        Ok((!is_default(&value)).then_some(value))
    }

    fn set_names(&mut self) -> Parsed<SetItem> {
        self.advance();
        if self.take_word(K::DEFAULT) {
            return Ok(SetItem::Names { charset: None, collation: None });
        }
        let charset = self.charset_name()?;
        let charset = Some(charset);
        let collation = if self.take_word(K::COLLATE) { Some(self.collation_name()?) } else { None };
        Ok(SetItem::Names { charset, collation })
    }

    /// At TRANSACTION: isolation and access mode, in either order.
    fn set_transaction(&mut self, scope: Option<VariableScope>) -> Parsed<SetItem> {
        self.advance();
        let (mut isolation, mut read_only) = (None, None);
        loop {
            if self.is(K::ISOLATION) && isolation.is_none() {
                isolation = Some(self.isolation()?);
            } else if self.is(K::READ) && read_only.is_none() {
                read_only = Some(self.access_mode()?);
            } else {
                return Err(self.unexpected());
            }
            if self.current.token != Token::Comma {
                return Ok(SetItem::Transaction { scope, isolation, read_only });
            }
            self.advance();
        }
    }

    fn isolation(&mut self) -> Parsed<Isolation> {
        self.expect_words(&[K::ISOLATION, K::LEVEL])?;
        Ok(match self.expect_any(&[K::READ, K::REPEATABLE, K::SERIALIZABLE])? {
            K::SERIALIZABLE => Isolation::Serializable,
            K::REPEATABLE => {
                self.expect_word(K::READ)?;
                Isolation::RepeatableRead
            }
            _ => match self.expect_any(&[K::COMMITTED, K::UNCOMMITTED])? {
                K::COMMITTED => Isolation::ReadCommitted,
                _ => Isolation::ReadUncommitted,
            },
        })
    }

    /// `READ ONLY`, `READ WRITE`: true for the first.
    fn access_mode(&mut self) -> Parsed<bool> {
        self.expect_word(K::READ)?;
        Ok(self.expect_any(&[K::ONLY, K::WRITE])? == K::ONLY)
    }

    /// At PASSWORD: `[FOR user] {= 'text' | TO RANDOM} [REPLACE 'old'] [RETAIN CURRENT PASSWORD]`
    fn set_password(&mut self) -> Parsed<SetItem> {
        self.advance();
        let user = if self.take_word(K::FOR) { Some(self.account()?) } else { None };
        let password = if self.take_words(&[K::TO, K::RANDOM])? {
            None
        } else {
            self.assign_sign()?;
            Some(self.text()?)
        };
        let replace = if self.take_word(K::REPLACE) { Some(self.text()?) } else { None };
        let retain_current = self.take_words(&[K::RETAIN, K::CURRENT, K::PASSWORD])?;
        Ok(SetItem::Password { user, password, replace, retain_current })
    }

    /// BEGIN outside of a routine, START TRANSACTION.
    pub(super) fn begin(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.take_word(K::WORK);
        Ok(StatementKind::Begin(TransactionOptions::default()))
    }

    /// After START TRANSACTION.
    pub(super) fn transaction_options(&mut self) -> Parsed<StatementKind> {
        let mut options = TransactionOptions::default();
        if self.is_any(&[K::WITH, K::READ]) {
            loop {
                if self.is(K::READ) && options.read_only.is_none() {
                    options.read_only = Some(self.access_mode()?);
                } else {
                    self.expect_words(&[K::WITH, K::CONSISTENT, K::SNAPSHOT])?;
                    options.consistent_snapshot = true;
                }
                if !self.take(Token::Comma) {
                    break;
                }
            }
        }
        Ok(StatementKind::Begin(options))
    }

    pub(super) fn commit(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.take_word(K::WORK);
        Ok(StatementKind::Commit(self.completion()?))
    }

    /// `ROLLBACK ..`, `ROLLBACK [WORK] TO [SAVEPOINT] name`
    pub(super) fn rollback(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.take_word(K::WORK);
        if self.take_word(K::TO) {
            if self.is(K::SAVEPOINT) && !matches!(self.peek().token, Token::End | Token::Semicolon) {
                self.advance();
            }
            return Ok(StatementKind::RollbackTo(self.ident()?));
        }
        Ok(StatementKind::Rollback(self.completion()?))
    }

    fn completion(&mut self) -> Parsed<Completion> {
        let mut completion = Completion::default();
        if self.take_word(K::AND) {
            completion.chain = Some(!self.take_word(K::NO));
            self.expect_word(K::CHAIN)?;
        }
        if self.is(K::NO) || self.is(K::RELEASE) {
            completion.release = Some(!self.take_word(K::NO));
            self.expect_word(K::RELEASE)?;
        }
        Ok(completion)
    }

    pub(super) fn xa(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let word =
            self.expect_any(&[K::START, K::BEGIN, K::END, K::PREPARE, K::COMMIT, K::ROLLBACK, K::RECOVER])?;
        let xa = match word {
            K::RECOVER => Xa::Recover { convert_xid: self.take_words(&[K::CONVERT, K::XID])? },
            K::START | K::BEGIN => {
                let xid = self.xid()?;
                let word = self.take_any(&[K::JOIN, K::RESUME]);
                Xa::Start { xid, join: word == Some(K::JOIN), resume: word == Some(K::RESUME) }
            }
            K::END => {
                let xid = self.xid()?;
                let suspend = self.take_word(K::SUSPEND);
                let for_migrate = suspend && self.take_words(&[K::FOR, K::MIGRATE])?;
                Xa::End { xid, suspend, for_migrate }
            }
            K::PREPARE => Xa::Prepare(self.xid()?),
            K::COMMIT => {
                let xid = self.xid()?;
                Xa::Commit { xid, one_phase: self.take_words(&[K::ONE, K::PHASE])? }
            }
            _ => Xa::Rollback(self.xid()?),
        };
        Ok(StatementKind::Xa(xa))
    }

    fn xid(&mut self) -> Parsed<Xid> {
        let gtrid = self.text()?;
        let (mut bqual, mut format) = (Text::default(), 1);
        if self.take(Token::Comma) {
            bqual = self.text()?;
            if self.take(Token::Comma) {
                format = self.integer()?;
            }
        }
        Ok(Xid { gtrid, bqual, format })
    }

    /// LOCK TABLES, LOCK INSTANCE FOR BACKUP.
    pub(super) fn lock(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.take_word(K::INSTANCE) {
            self.expect_words(&[K::FOR, K::BACKUP])?;
            return Ok(StatementKind::LockInstance);
        }
        self.expect_any(&[K::TABLE, K::TABLES])?;
        let tables = self.list(|parser| {
            let table = parser.object_name()?;
            let alias = parser.table_alias()?;
            let mode = match parser.take_any(&[K::READ, K::LOW_PRIORITY, K::WRITE]) {
                Some(K::READ) if parser.take_word(K::LOCAL) => TableLock::ReadLocal,
                Some(K::READ) => TableLock::Read,
                Some(K::LOW_PRIORITY) => {
                    parser.expect_word(K::WRITE)?;
                    TableLock::Write
                }
                Some(_) => TableLock::Write,
                None => return Err(parser.unexpected()),
            };
            Ok(LockTable { table, alias, mode })
        })?;
        Ok(StatementKind::LockTables(tables))
    }

    /// ALTER INSTANCE ROTATE .. MASTER KEY; its first two words are read.
    pub(super) fn alter_instance(&mut self) -> Parsed<StatementKind> {
        self.expect_word(K::ROTATE)?;
        let unknown = self.unexpected();
        let of = self.ident()?;
        let of = match () {
            () if of.eq_ignore_ascii_case("INNODB") => MasterKey::Tables,
            () if of.eq_ignore_ascii_case("BINLOG") => MasterKey::Log,
            () => return Err(unknown),
        };
        self.expect_words(&[K::MASTER, K::KEY])?;
        Ok(StatementKind::RotateMasterKey(of))
    }

    pub(super) fn unlock(&mut self) -> Parsed<StatementKind> {
        self.advance();
        Ok(match self.expect_any(&[K::TABLE, K::TABLES, K::INSTANCE])? {
            K::INSTANCE => StatementKind::UnlockInstance,
            _ => StatementKind::UnlockTables,
        })
    }

    pub(super) fn prepare(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.ident()?;
        self.expect_word(K::FROM)?;
        let source = match self.current.token {
            Token::UserVariable => PrepareSource::Variable(self.user_variable()?),
            _ => PrepareSource::Text(self.text()?),
        };
        Ok(StatementKind::Prepare { name, source })
    }

    pub(super) fn execute(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let name = self.ident()?;
        let using = match self.take_word(K::USING) {
            true => self.list(Self::user_variable)?,
            false => Vec::new(),
        };
        Ok(StatementKind::Execute { name, using })
    }

    /// DEALLOCATE PREPARE, DROP PREPARE; at PREPARE.
    pub(super) fn deallocate(&mut self) -> Parsed<StatementKind> {
        self.expect_word(K::PREPARE)?;
        Ok(StatementKind::Deallocate(self.ident()?))
    }
}

impl From<&str> for VariableName {
    fn from(name: &str) -> VariableName {
        VariableName { component: None, name: Ident::from(name) }
    }
}
