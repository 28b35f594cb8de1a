//! Users, roles and privileges.

use super::{Parsed, Parser};
use crate::ast::{
    Account, AlterUser, Authentication, CreateUser, Grant, GrantObject, GrantWhat, Ident, ObjectName,
    PasswordOption, Privilege, Require, Revoke, RoleChoice, RoutineKind, Secret, StatementKind, Text,
    UserOptions, UserSpec,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl Parser<'_> {
    /// `'user'@'host'`, `user`, `CURRENT_USER[()]`
    pub(super) fn account(&mut self) -> Parsed<Account> {
        if self.take_word(K::CURRENT_USER) {
            if self.take(Token::LeftParen) {
                self.expect(Token::RightParen)?;
            }
            return Ok(Account::CurrentUser);
        }
        let user = match self.current.token {
            Token::String => self.plain_text()?,
            _ => Text::new(self.ident()?.as_bytes()),
        };
        let host = match self.current.token {
            Token::UserVariable => Text::new(self.user_variable()?.to_ascii_lowercase().into_bytes()),
            _ => Text::new(*b"%"),
        };
        Ok(Account::Named { user, host })
    }

    fn accounts(&mut self) -> Parsed<Vec<Account>> {
        self.list(Self::account)
    }

    /// `DEFINER = account`, at DEFINER.
    pub(super) fn definer(&mut self) -> Parsed<Account> {
        self.advance();
        self.expect(Token::Equal)?;
        self.account()
    }

    /// After CREATE USER.
    pub(super) fn create_user(&mut self) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        let users = self.list(Self::user_spec)?;
        let mut default_roles = Vec::new();
        if self.take_words(&[K::DEFAULT, K::ROLE])? {
            default_roles = self.accounts()?;
        }
        let options = self.user_options()?;
        Ok(StatementKind::CreateUser(Box::new(CreateUser { if_not_exists, users, default_roles, options })))
    }

    /// After ALTER USER.
    pub(super) fn alter_user(&mut self) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        if self.is(K::USER) && self.peek().token == Token::LeftParen {
            // `USER()` is the session's own account.
            self.advance();
            self.in_parens(|_| Ok(()))?;
            let spec = self.user_spec_of(Account::CurrentUser)?;
            let alter = AlterUser {
                if_exists,
                users: vec![spec],
                default_role: None,
                options: UserOptions::default(),
            };
            return Ok(StatementKind::AlterUser(Box::new(alter)));
        }
        let users = self.list(Self::user_spec)?;
        let default_role = match self.take_words(&[K::DEFAULT, K::ROLE])? {
            true => Some(self.role_choice(false)?),
            false => None,
        };
        let options = self.user_options()?;
        Ok(StatementKind::AlterUser(Box::new(AlterUser { if_exists, users, default_role, options })))
    }

    fn user_spec(&mut self) -> Parsed<UserSpec> {
        let user = self.account()?;
        self.user_spec_of(user)
    }

    fn user_spec_of(&mut self, user: Account) -> Parsed<UserSpec> {
        let mut spec =
            UserSpec { user, factors: Vec::new(), replace: None, retain_current: false, discard_old: false };
        while self.take_word(K::IDENTIFIED) {
            spec.factors.push(self.authentication()?);
            if !(self.is(K::AND) && self.peek_is(K::IDENTIFIED)) {
                break;
            }
            self.advance();
        }
        if self.take_word(K::REPLACE) {
            spec.replace = Some(self.text()?);
        }
        spec.retain_current = self.take_words(&[K::RETAIN, K::CURRENT, K::PASSWORD])?;
        spec.discard_old = self.take_words(&[K::DISCARD, K::OLD, K::PASSWORD])?;
        Ok(spec)
    }

    /// After IDENTIFIED.
    fn authentication(&mut self) -> Parsed<Authentication> {
        let plugin = if self.take_word(K::WITH) { Some(self.ident_or_text()?) } else { None };
        let secret = if self.take_word(K::BY) {
            match self.take_word(K::RANDOM) {
                true => {
                    self.expect_word(K::PASSWORD)?;
                    Secret::Random
                }
                // `BY PASSWORD 'hash'`: as dumps of old servers have it.
                false if self.take_word(K::PASSWORD) => Secret::Hash(self.text()?),
                false => Secret::Password(self.text()?),
            }
        } else if plugin.is_some() && self.take_word(K::AS) {
            Secret::Hash(self.text()?)
        } else if plugin.is_some() {
            Secret::None
        } else {
            return Err(self.unexpected());
        };
        Ok(Authentication { plugin, secret })
    }

    fn user_options(&mut self) -> Parsed<UserOptions> {
        let mut options = UserOptions::default();
        loop {
            match self.word() {
                K::REQUIRE => options.require = Some(self.require()?),
                K::WITH => {
                    self.advance();
                    options.resources.push(self.resource()?);
                    while self.at_resource() {
                        options.resources.push(self.resource()?);
                    }
                }
                K::PASSWORD => {
                    let option = self.password_option()?;
                    options.password.push(option);
                }
                K::FAILED_LOGIN_ATTEMPTS => {
                    self.advance();
                    options.password.push(PasswordOption::FailedLoginAttempts(self.integer()?));
                }
                K::PASSWORD_LOCK_TIME => {
                    self.advance();
                    let days = if self.take_word(K::UNBOUNDED) { None } else { Some(self.integer()?) };
                    options.password.push(PasswordOption::LockTime(days));
                }
                K::ACCOUNT => {
                    self.advance();
                    let locked = self.is(K::LOCK);
                    self.expect_any(&[K::LOCK, K::UNLOCK])?;
                    options.locked = Some(locked);
                }
                K::COMMENT => {
                    self.advance();
                    options.comment = Some(self.plain_text()?);
                }
                K::ATTRIBUTE => {
                    self.advance();
                    options.attribute = Some(self.plain_text()?);
                }
                _ => return Ok(options),
            }
        }
    }

    fn require(&mut self) -> Parsed<Require> {
        self.advance();
        if self.take_word(K::NONE) {
            return Ok(Require::None);
        }
        if self.take_word(K::SSL) {
            return Ok(Require::Ssl);
        }
        if self.take_word(K::X509) {
            return Ok(Require::X509);
        }
        let mut items = Vec::new();
        loop {
            let word = self.expect_any(&[K::SUBJECT, K::ISSUER, K::CIPHER])?;
            items.push((Ident::from(word.text()), self.text()?));
            let more = self.take_word(K::AND) || self.is_any(&[K::SUBJECT, K::ISSUER, K::CIPHER]);
            if !more {
                return Ok(Require::Items(items));
            }
        }
    }

    fn at_resource(&self) -> bool {
        self.is_any(&RESOURCES)
    }

    fn resource(&mut self) -> Parsed<(Ident, u64)> {
        let word = self.expect_any(&RESOURCES)?;
        Ok((word.text().into(), self.integer()?))
    }

    fn password_option(&mut self) -> Parsed<PasswordOption> {
        self.advance();
        match self.expect_any(&[K::EXPIRE, K::HISTORY, K::REUSE, K::REQUIRE])? {
            K::EXPIRE => match self.take_any(&[K::DEFAULT, K::NEVER, K::INTERVAL]) {
                Some(K::DEFAULT) => Ok(PasswordOption::ExpireDefault),
                Some(K::NEVER) => Ok(PasswordOption::ExpireNever),
                Some(_) => {
                    let days = self.integer()?;
                    self.expect_word(K::DAY)?;
                    Ok(PasswordOption::ExpireDays(days))
                }
                None => Ok(PasswordOption::Expire),
            },
            K::HISTORY => Ok(PasswordOption::History(self.default_or_integer()?)),
            K::REUSE => {
                self.expect_word(K::INTERVAL)?;
                let days = self.default_or_integer()?;
                if days.is_some() {
                    self.expect_word(K::DAY)?;
                }
                Ok(PasswordOption::ReuseInterval(days))
            }
            _ => {
                self.expect_word(K::CURRENT)?;
                Ok(PasswordOption::RequireCurrent(match self.take_any(&[K::DEFAULT, K::OPTIONAL]) {
                    Some(K::DEFAULT) => None,
                    Some(_) => Some(false),
                    None => Some(true),
                }))
            }
        }
    }

    fn default_or_integer(&mut self) -> Parsed<Option<u64>> {
        if self.take_word(K::DEFAULT) { Ok(None) } else { self.integer().map(Some) }
    }

    /// After DROP USER or DROP ROLE.
    pub(super) fn drop_accounts(&mut self, roles: bool) -> Parsed<StatementKind> {
        let if_exists = self.if_exists()?;
        let names = self.accounts()?;
        Ok(match roles {
            true => StatementKind::DropRole { names, if_exists },
            false => StatementKind::DropUser { names, if_exists },
        })
    }

    /// After CREATE ROLE.
    pub(super) fn create_role(&mut self) -> Parsed<StatementKind> {
        let if_not_exists = self.if_not_exists()?;
        Ok(StatementKind::CreateRole { names: self.accounts()?, if_not_exists })
    }

    /// After RENAME USER.
    pub(super) fn rename_user(&mut self) -> Parsed<StatementKind> {
        let pairs = self.list(|parser| {
            let old = parser.account()?;
            parser.expect_word(K::TO)?;
            Ok((old, parser.account()?))
        })?;
        Ok(StatementKind::RenameUser(pairs))
    }

    /// `SET ROLE ..`, at ROLE.
    pub(super) fn set_role(&mut self) -> Parsed<StatementKind> {
        self.advance();
        Ok(StatementKind::SetRole(self.role_choice(true)?))
    }

    /// `SET DEFAULT ROLE .. TO ..`, at DEFAULT.
    pub(super) fn set_default_role(&mut self) -> Parsed<StatementKind> {
        self.expect_words(&[K::DEFAULT, K::ROLE])?;
        let roles = self.role_choice(false)?;
        self.expect_word(K::TO)?;
        Ok(StatementKind::SetDefaultRole { roles, users: self.accounts()? })
    }

    fn role_choice(&mut self, session: bool) -> Parsed<RoleChoice> {
        if session && self.take_word(K::DEFAULT) {
            return Ok(RoleChoice::Default);
        }
        if self.take_word(K::NONE) {
            return Ok(RoleChoice::None);
        }
        if self.take_word(K::ALL) {
            return Ok(match session && self.take_word(K::EXCEPT) {
                true => RoleChoice::AllExcept(self.accounts()?),
                false => RoleChoice::All,
            });
        }
        Ok(RoleChoice::Roles(self.accounts()?))
    }

    pub(super) fn grant(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let what = self.grant_what(K::TO)?;
        self.expect_word(K::TO)?;
        let to = self.accounts()?;
        let with_option = self.is(K::WITH) && {
            self.advance();
            self.expect_any(&[K::GRANT, K::ADMIN])?;
            self.expect_word(K::OPTION)?;
            true
        };
        let grantor = match self.take_word(K::AS) {
            true => {
                let account = self.account()?;
                let role = self.take_words(&[K::WITH, K::ROLE])?;
                Some((account, if role { Some(self.role_choice(true)?) } else { None }))
            }
            false => None,
        };
        Ok(StatementKind::Grant(Box::new(Grant { what, to, with_option, grantor })))
    }

    pub(super) fn revoke(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let if_exists = self.if_exists()?;
        let what = self.grant_what(K::FROM)?;
        self.expect_word(K::FROM)?;
        let from = self.accounts()?;
        let ignore_unknown_user = self.take_words(&[K::IGNORE, K::UNKNOWN, K::USER])?;
        Ok(StatementKind::Revoke(Box::new(Revoke { if_exists, ignore_unknown_user, what, from })))
    }

    /// Privileges on an object, or roles, up to `end`.
    fn grant_what(&mut self, end: K) -> Parsed<GrantWhat> {
        if self.is(K::PROXY) && self.peek_is(K::ON) {
            self.expect_words(&[K::PROXY, K::ON])?;
            return Ok(GrantWhat::Proxy(self.account()?));
        }
        if self.take_word(K::ALL) {
            self.take_word(K::PRIVILEGES);
            if end == K::FROM && self.take(Token::Comma) {
                self.expect_words(&[K::GRANT, K::OPTION])?;
                return Ok(GrantWhat::Everything);
            }
            self.expect_word(K::ON)?;
            let privileges = vec![Privilege { name: "ALL".into(), columns: Vec::new() }];
            return Ok(GrantWhat::Privileges { privileges, object: self.grant_object()? });
        }
        // Roles and privileges differ only in what follows all of them.
        let mut ahead = self.lexer.clone();
        let mut token = self.current.token;
        let mut parens = 0u32;
        let has_object = loop {
            match token {
                Token::Word(K::ON) if parens == 0 => break true,
                Token::Word(word) if word == end && parens == 0 => break false,
                Token::LeftParen => parens += 1,
                Token::RightParen => parens = parens.saturating_sub(1),
                Token::End | Token::Bad | Token::Semicolon => break false,
                _ => {}
            }
            token = ahead.next().token;
        };
        if !has_object {
            return Ok(GrantWhat::Roles(self.accounts()?));
        }
        let privileges = self.list(Self::privilege)?;
        self.expect_word(K::ON)?;
        Ok(GrantWhat::Privileges { privileges, object: self.grant_object()? })
    }

    /// Words up to a comma, ON or columns in parentheses; or a dynamic privilege's name in quotes.
    fn privilege(&mut self) -> Parsed<Privilege> {
        let mut name = match self.current.token {
            Token::String | Token::QuotedIdent => self.ident_or_text()?.to_ascii_uppercase(),
            _ => self.upper_name()?.to_string(),
        };
        while !self.is(K::ON) && matches!(self.current.token, Token::Word(_)) {
            name.push(' ');
            name.push_str(&self.upper_name()?);
        }
        Ok(Privilege { name: Ident::new(name), columns: self.optional_idents()? })
    }

    /// `[TABLE | FUNCTION | PROCEDURE] {*.* | * | db.* | [db.]name}`
    fn grant_object(&mut self) -> Parsed<GrantObject> {
        let kind = match self.take_any(&[K::TABLE, K::FUNCTION, K::PROCEDURE]) {
            Some(K::FUNCTION) => Some(RoutineKind::Function),
            Some(K::PROCEDURE) => Some(RoutineKind::Procedure),
            _ => None,
        };
        if self.take(Token::Star) {
            if !self.take(Token::Dot) {
                return Ok(GrantObject::Database(None));
            }
            self.expect(Token::Star)?;
            return Ok(GrantObject::Global);
        }
        let first = self.ident()?;
        let name = match self.take(Token::Dot) {
            true if self.take(Token::Star) => return Ok(GrantObject::Database(Some(first))),
            true => ObjectName { database: Some(first), name: self.any_ident()? },
            false => ObjectName { database: None, name: first },
        };
        Ok(match kind {
            Some(kind) => GrantObject::Routine(kind, name),
            None => GrantObject::Table(name),
        })
    }
}

const RESOURCES: [K; 4] =
    [K::MAX_QUERIES_PER_HOUR, K::MAX_UPDATES_PER_HOUR, K::MAX_CONNECTIONS_PER_HOUR, K::MAX_USER_CONNECTIONS];
