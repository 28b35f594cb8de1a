//! CHANGE REPLICATION SOURCE and FILTER, START and STOP REPLICA, by their names of today and those
//! of before MySQL 8.4 (CHANGE MASTER, START SLAVE), which MySQL 8.0 took with a warning.

use super::{Parsed, Parser};
use crate::ast::{
    FilterValue, Ident, ObjectName, Remark, ReplicaThreads, ReplicationFilter, SourceOption, SourceValue,
    StartReplica, StatementKind, Text,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl Parser<'_> {
    /// After CHANGE: `REPLICATION SOURCE TO ..`, `REPLICATION FILTER ..`, `MASTER TO ..`.
    pub(super) fn change_replication(&mut self) -> Parsed<StatementKind> {
        if self.take_words(&[K::MASTER, K::TO])? {
            self.remark(Remark::Instead("CHANGE MASTER", "CHANGE REPLICATION SOURCE"));
        } else {
            self.expect_word(K::REPLICATION)?;
            if self.expect_any(&[K::SOURCE, K::FILTER])? == K::FILTER {
                let filters = self.list(Self::replication_filter)?;
                return Ok(StatementKind::ChangeReplicationFilter { filters, channel: self.for_channel()? });
            }
            self.expect_word(K::TO)?;
        }
        let options = self.list(Self::source_option)?;
        Ok(StatementKind::ChangeReplicationSource { options, channel: self.for_channel()? })
    }

    fn source_option(&mut self) -> Parsed<SourceOption> {
        let start = self.current;
        let name = self.upper_name()?;
        let (name, shape) = self.option_name(&name).ok_or_else(|| self.unexpected_at(start))?;
        self.expect(Token::Equal)?;
        let at = self.current;
        let value = self.source_value()?;
        if !shape.takes(&value) {
            return Err(self.unexpected_at(at));
        }
        Ok(SourceOption { name: Ident::from(name), value })
    }

    /// The name of today, with a remark on one of before; `None` if there is no such option.
    fn option_name(&mut self, name: &str) -> Option<(&'static str, OptionShape)> {
        if let Some(&(today, shape)) = SOURCE_OPTIONS.iter().find(|(today, _)| *today == name) {
            return Some((today, shape));
        }
        let &(old, today) = OLD_OPTIONS.iter().find(|(old, _)| *old == name)?;
        self.remark(Remark::Instead(old, today));
        SOURCE_OPTIONS.iter().copied().find(|(name, _)| *name == today)
    }

    fn source_value(&mut self) -> Parsed<SourceValue> {
        match self.current.token {
            Token::String if matches!(self.peek().token, Token::UserVariable) => {
                self.account().map(SourceValue::Account)
            }
            Token::QuotedIdent => self.account().map(SourceValue::Account),
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
        let word = self.expect_any(&FILTERS)?;
        self.expect(Token::Equal)?;
        let values = self.in_parens(|parser| match parser.current.token {
            Token::RightParen => Ok(Vec::new()),
            _ => parser.list(|parser| parser.filter_value(word)),
        })?;
        Ok(ReplicationFilter { name: Ident::from(word.text()), values })
    }

    fn filter_value(&mut self, of: K) -> Parsed<FilterValue> {
        match of {
            K::REPLICATE_DO_DB | K::REPLICATE_IGNORE_DB => self.ident().map(FilterValue::Database),
            K::REPLICATE_WILD_DO_TABLE | K::REPLICATE_WILD_IGNORE_TABLE => {
                self.text().map(FilterValue::Pattern)
            }
            K::REPLICATE_REWRITE_DB => self.in_parens(|parser| {
                let from = parser.ident()?;
                parser.expect(Token::Comma)?;
                Ok(FilterValue::Rewrite(from, parser.ident()?))
            }),
            _ => match self.object_name()? {
                ObjectName { database: None, .. } => Err(self.unexpected()),
                table => Ok(FilterValue::Table(table)),
            },
        }
    }

    /// After START REPLICA.
    pub(super) fn start_replica(&mut self) -> Parsed<StatementKind> {
        let threads = self.replica_threads()?;
        let until = if self.take_word(K::UNTIL) { self.until_all()? } else { Vec::new() };
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

    /// One condition by GTIDs or gaps, or positions of files.
    fn until_all(&mut self) -> Parsed<Vec<(Ident, Text)>> {
        if self.take_word(K::SQL_AFTER_MTS_GAPS) {
            return Ok(vec![(Ident::from(K::SQL_AFTER_MTS_GAPS.text()), Text::default())]);
        }
        match self.take_any(&[K::SQL_BEFORE_GTIDS, K::SQL_AFTER_GTIDS]) {
            Some(word) => {
                self.expect(Token::Equal)?;
                Ok(vec![(Ident::from(word.text()), self.text()?)])
            }
            None => self.list(Self::until_position),
        }
    }

    fn until_position(&mut self) -> Parsed<(Ident, Text)> {
        const NAMES: [&str; 4] = ["SOURCE_LOG_FILE", "SOURCE_LOG_POS", "RELAY_LOG_FILE", "RELAY_LOG_POS"];
        let start = self.current;
        let name = self.upper_name()?;
        let found = self.option_name(&name).filter(|(name, _)| NAMES.contains(name));
        let (name, shape) = found.ok_or_else(|| self.unexpected_at(start))?;
        self.expect(Token::Equal)?;
        let value = match (self.current.token, shape) {
            (Token::Integer, OptionShape::Number) => {
                let digits = Text::new(self.bytes(self.current));
                self.advance();
                digits
            }
            (Token::String, OptionShape::Text) => self.text()?,
            _ => return Err(self.unexpected()),
        };
        Ok((Ident::from(name), value))
    }
}

/// The words of CHANGE REPLICATION FILTER.
const FILTERS: [K; 7] = [
    K::REPLICATE_DO_DB,
    K::REPLICATE_IGNORE_DB,
    K::REPLICATE_DO_TABLE,
    K::REPLICATE_IGNORE_TABLE,
    K::REPLICATE_WILD_DO_TABLE,
    K::REPLICATE_WILD_IGNORE_TABLE,
    K::REPLICATE_REWRITE_DB,
];

/// What an option's value looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum OptionShape {
    Text,
    TextOrNull,
    Number,
    /// 0 or 1.
    Switch,
    /// A number, perhaps with a fraction.
    Decimal,
    List,
    AccountOrNull,
    /// A word, or a text.
    Word,
}

impl OptionShape {
    fn takes(self, value: &SourceValue) -> bool {
        let is_null = |word: &Ident| word.eq_ignore_ascii_case("NULL");
        match (self, value) {
            (Self::Text | Self::TextOrNull | Self::Word, SourceValue::Text(_))
            | (Self::Decimal, SourceValue::Number(_))
            | (Self::List, SourceValue::List(_))
            | (Self::AccountOrNull, SourceValue::Account(_))
            | (Self::Word, SourceValue::Word(_)) => true,
            (Self::Number, SourceValue::Number(digits)) => digits.bytes().all(|b| b.is_ascii_digit()),
            (Self::Switch, SourceValue::Number(digits)) => matches!(digits.trim_start_matches('0'), "" | "1"),
            (Self::TextOrNull | Self::AccountOrNull, SourceValue::Word(word)) => is_null(word),
            _ => false,
        }
    }
}

/// The options of CHANGE REPLICATION SOURCE, and two of MariaDB's that are refused by name.
const SOURCE_OPTIONS: &[(&str, OptionShape)] = &[
    ("SOURCE_HOST", OptionShape::Text),
    ("NETWORK_NAMESPACE", OptionShape::Text),
    ("SOURCE_BIND", OptionShape::Text),
    ("SOURCE_USER", OptionShape::Text),
    ("SOURCE_PASSWORD", OptionShape::Text),
    ("SOURCE_PORT", OptionShape::Number),
    ("SOURCE_CONNECT_RETRY", OptionShape::Number),
    ("SOURCE_RETRY_COUNT", OptionShape::Number),
    ("SOURCE_DELAY", OptionShape::Number),
    ("SOURCE_SSL", OptionShape::Number),
    ("SOURCE_SSL_CA", OptionShape::Text),
    ("SOURCE_SSL_CAPATH", OptionShape::Text),
    ("SOURCE_TLS_VERSION", OptionShape::Text),
    ("SOURCE_TLS_CIPHERSUITES", OptionShape::TextOrNull),
    ("SOURCE_SSL_CERT", OptionShape::Text),
    ("SOURCE_SSL_CIPHER", OptionShape::Text),
    ("SOURCE_SSL_KEY", OptionShape::Text),
    ("SOURCE_SSL_VERIFY_SERVER_CERT", OptionShape::Number),
    ("SOURCE_SSL_CRL", OptionShape::Text),
    ("SOURCE_SSL_CRLPATH", OptionShape::Text),
    ("SOURCE_PUBLIC_KEY_PATH", OptionShape::Text),
    ("GET_SOURCE_PUBLIC_KEY", OptionShape::Number),
    ("SOURCE_HEARTBEAT_PERIOD", OptionShape::Decimal),
    ("IGNORE_SERVER_IDS", OptionShape::List),
    ("SOURCE_COMPRESSION_ALGORITHMS", OptionShape::Text),
    ("SOURCE_ZSTD_COMPRESSION_LEVEL", OptionShape::Number),
    ("SOURCE_AUTO_POSITION", OptionShape::Number),
    ("PRIVILEGE_CHECKS_USER", OptionShape::AccountOrNull),
    ("REQUIRE_ROW_FORMAT", OptionShape::Number),
    ("REQUIRE_TABLE_PRIMARY_KEY_CHECK", OptionShape::Word),
    ("SOURCE_CONNECTION_AUTO_FAILOVER", OptionShape::Switch),
    ("ASSIGN_GTIDS_TO_ANONYMOUS_TRANSACTIONS", OptionShape::Word),
    ("GTID_ONLY", OptionShape::Number),
    ("SOURCE_LOG_FILE", OptionShape::Text),
    ("SOURCE_LOG_POS", OptionShape::Number),
    ("RELAY_LOG_FILE", OptionShape::Text),
    ("RELAY_LOG_POS", OptionShape::Number),
    ("MASTER_USE_GTID", OptionShape::Word),
    ("MASTER_DEMOTE_TO_SLAVE", OptionShape::Number),
];

/// Their names before MySQL 8.4.
const OLD_OPTIONS: &[(&str, &str)] = &[
    ("MASTER_HOST", "SOURCE_HOST"),
    ("MASTER_BIND", "SOURCE_BIND"),
    ("MASTER_USER", "SOURCE_USER"),
    ("MASTER_PASSWORD", "SOURCE_PASSWORD"),
    ("MASTER_PORT", "SOURCE_PORT"),
    ("MASTER_CONNECT_RETRY", "SOURCE_CONNECT_RETRY"),
    ("MASTER_RETRY_COUNT", "SOURCE_RETRY_COUNT"),
    ("MASTER_DELAY", "SOURCE_DELAY"),
    ("MASTER_SSL", "SOURCE_SSL"),
    ("MASTER_SSL_CA", "SOURCE_SSL_CA"),
    ("MASTER_SSL_CAPATH", "SOURCE_SSL_CAPATH"),
    ("MASTER_TLS_VERSION", "SOURCE_TLS_VERSION"),
    ("MASTER_TLS_CIPHERSUITES", "SOURCE_TLS_CIPHERSUITES"),
    ("MASTER_SSL_CERT", "SOURCE_SSL_CERT"),
    ("MASTER_SSL_CIPHER", "SOURCE_SSL_CIPHER"),
    ("MASTER_SSL_KEY", "SOURCE_SSL_KEY"),
    ("MASTER_SSL_VERIFY_SERVER_CERT", "SOURCE_SSL_VERIFY_SERVER_CERT"),
    ("MASTER_SSL_CRL", "SOURCE_SSL_CRL"),
    ("MASTER_SSL_CRLPATH", "SOURCE_SSL_CRLPATH"),
    ("MASTER_PUBLIC_KEY_PATH", "SOURCE_PUBLIC_KEY_PATH"),
    ("GET_MASTER_PUBLIC_KEY", "GET_SOURCE_PUBLIC_KEY"),
    ("MASTER_HEARTBEAT_PERIOD", "SOURCE_HEARTBEAT_PERIOD"),
    ("MASTER_COMPRESSION_ALGORITHMS", "SOURCE_COMPRESSION_ALGORITHMS"),
    ("MASTER_ZSTD_COMPRESSION_LEVEL", "SOURCE_ZSTD_COMPRESSION_LEVEL"),
    ("MASTER_AUTO_POSITION", "SOURCE_AUTO_POSITION"),
    ("MASTER_LOG_FILE", "SOURCE_LOG_FILE"),
    ("MASTER_LOG_POS", "SOURCE_LOG_POS"),
];
