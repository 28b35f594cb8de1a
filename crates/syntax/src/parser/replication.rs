//! CHANGE REPLICATION SOURCE and FILTER, START and STOP REPLICA.

use super::{Parsed, Parser};
use crate::ast::{
    FilterValue, Ident, ObjectName, ReplicaThreads, ReplicationFilter, SourceOption, SourceValue,
    StartReplica, StatementKind, Text,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl Parser<'_> {
    /// After CHANGE: `REPLICATION SOURCE TO ..`, `REPLICATION FILTER ..`, `MASTER TO ..`.
    pub(super) fn change_replication(&mut self) -> Parsed<StatementKind> {
        if !self.take_words(&[K::MASTER, K::TO])? {
            self.expect_word(K::REPLICATION)?;
            if self.expect_any(&[K::SOURCE, K::FILTER])? == K::FILTER {
                let filters = self.list(Self::replication_filter)?;
                return Ok(StatementKind::ChangeReplicationFilter { filters, channel: self.for_channel()? });
            }
            self.expect_word(K::TO)?;
        }
        let options = self.list(|parser| {
            let name = parser.upper_name()?;
            parser.expect(Token::Equal)?;
            Ok(SourceOption { name, value: parser.source_value()? })
        })?;
        Ok(StatementKind::ChangeReplicationSource { options, channel: self.for_channel()? })
    }

    fn source_value(&mut self) -> Parsed<SourceValue> {
        match self.current.token {
            Token::String if matches!(self.peek().token, Token::UserVariable) => {
                self.account().map(SourceValue::Account)
            }
            Token::String => self.text().map(SourceValue::Text),
            Token::Integer | Token::Decimal => {
                let digits = String::from_utf8_lossy(self.bytes(self.current)).into_owned();
                self.advance();
                Ok(SourceValue::Number(digits.into()))
            }
            Token::LeftParen => self.in_parens(|parser| match parser.current.token {
                Token::RightParen => Ok(SourceValue::List(Vec::new())),
                _ => parser.list(Self::integer).map(SourceValue::List),
            }),
            Token::Word(_) => {
                if self.peek().token == Token::UserVariable {
                    return self.account().map(SourceValue::Account);
                }
                self.any_ident().map(SourceValue::Word)
            }
            _ => Err(self.unexpected()),
        }
    }

    fn replication_filter(&mut self) -> Parsed<ReplicationFilter> {
        let name = self.upper_name()?;
        self.expect(Token::Equal)?;
        let values = self.in_parens(|parser| match parser.current.token {
            Token::RightParen => Ok(Vec::new()),
            _ => parser.list(Self::filter_value),
        })?;
        Ok(ReplicationFilter { name, values })
    }

    fn filter_value(&mut self) -> Parsed<FilterValue> {
        match self.current.token {
            Token::String => self.text().map(FilterValue::Pattern),
            Token::LeftParen => self.in_parens(|parser| {
                let from = parser.ident()?;
                parser.expect(Token::Comma)?;
                Ok(FilterValue::Rewrite(from, parser.ident()?))
            }),
            _ => Ok(match self.object_name()? {
                ObjectName { database: None, name } => FilterValue::Database(name),
                table => FilterValue::Table(table),
            }),
        }
    }

    /// After START REPLICA.
    pub(super) fn start_replica(&mut self) -> Parsed<StatementKind> {
        let threads = self.replica_threads()?;
        let until = if self.take_word(K::UNTIL) { self.list(Self::until)? } else { Vec::new() };
        let mut connection = Vec::new();
        while let Some(word) = self.take_any(&[K::USER, K::PASSWORD, K::DEFAULT_AUTH, K::PLUGIN_DIR]) {
            self.expect(Token::Equal)?;
            connection.push((Ident::from(word.text()), self.text()?));
        }
        let start = StartReplica { threads, until, connection, channel: self.for_channel()? };
        Ok(StatementKind::StartReplica(Box::new(start)))
    }

    /// After STOP REPLICA.
    pub(super) fn stop_replica(&mut self) -> Parsed<StatementKind> {
        let threads = self.replica_threads()?;
        Ok(StatementKind::StopReplica { threads, channel: self.for_channel()? })
    }

    /// Both if none is named.
    fn replica_threads(&mut self) -> Parsed<ReplicaThreads> {
        const WORDS: [K; 3] = [K::IO_THREAD, K::RELAY_THREAD, K::SQL_THREAD];
        if !self.is_any(&WORDS) {
            return Ok(ReplicaThreads { io: true, sql: true });
        }
        let mut threads = ReplicaThreads::default();
        for word in self.list(|parser| parser.expect_any(&WORDS))? {
            threads.io |= word != K::SQL_THREAD;
            threads.sql |= word == K::SQL_THREAD;
        }
        Ok(threads)
    }

    fn until(&mut self) -> Parsed<(Ident, Text)> {
        let name = self.upper_name()?;
        if !self.take(Token::Equal) {
            return Ok((name, Text::default()));
        }
        let value = match self.current.token {
            Token::Integer => {
                let digits = Text::new(self.bytes(self.current));
                self.advance();
                digits
            }
            _ => self.text()?,
        };
        Ok((name, value))
    }
}
