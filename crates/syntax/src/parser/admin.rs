//! EXPLAIN, KILL, FLUSH, PURGE, RESET, table maintenance.

use super::{Parsed, Parser};
use crate::ast::{
    Explain, Flush, FlushLock, FlushOption, FlushWhat, Histogram, Ident, KillWhat, MaintenanceVerb,
    ObjectName, PurgeTo, Remark, ResetWhat, StatementKind, TableMaintenance, Text, VariableName,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl Parser<'_> {
    /// EXPLAIN, DESCRIBE, DESC, which are all the same.
    pub(super) fn explain(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let explain = if self.at_ident() && !self.is_any(&[K::FORMAT]) || self.is_format_name() {
            let table = self.object_name()?;
            let column = match self.current.token {
                Token::String => Some(self.text()?),
                _ if self.at_ident() => Some(Text::new(self.ident()?.as_bytes())),
                _ => None,
            };
            Explain::Table { table, column }
        } else {
            self.explain_statement()?
        };
        Ok(StatementKind::Explain(Box::new(explain)))
    }

    /// True if `format` here is a table's name.
    fn is_format_name(&self) -> bool {
        self.is(K::FORMAT) && self.peek().token != Token::Equal
    }

    fn explain_statement(&mut self) -> Parsed<Explain> {
        let analyze = self.take_word(K::ANALYZE);
        let format = self.explain_format()?;
        if self.take_words(&[K::FOR, K::CONNECTION])? {
            return Ok(Explain::Connection { format, id: self.integer()? });
        }
        let into = if self.take_word(K::INTO) { Some(self.user_variable()?) } else { None };
        let mut schema = None;
        if self.take_word(K::FOR) {
            self.expect_any(&[K::SCHEMA, K::DATABASE])?;
            schema = Some(self.ident()?);
        }
        let is_explainable = self.at_query_or_paren()
            || self.is_any(&[K::INSERT, K::REPLACE, K::UPDATE, K::DELETE, K::TABLE, K::VALUES]);
        if !is_explainable {
            return Err(self.unexpected());
        }
        let statement = self.nested(Self::statement)?;
        Ok(Explain::Statement { analyze, format, into, schema, statement })
    }

    /// `[FORMAT = name]`
    fn explain_format(&mut self) -> Parsed<Option<Ident>> {
        if !self.take_word(K::FORMAT) {
            return Ok(None);
        }
        self.expect(Token::Equal)?;
        self.ident_or_text().map(Some)
    }

    pub(super) fn kill(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let what = match self.take_any(&[K::CONNECTION, K::QUERY]) {
            Some(K::QUERY) => KillWhat::Query,
            _ => KillWhat::Connection,
        };
        Ok(StatementKind::Kill { what, id: self.expr()? })
    }

    pub(super) fn flush(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let local = self.take_any(&[K::NO_WRITE_TO_BINLOG, K::LOCAL]).is_some();
        let what = if self.take_any(&[K::TABLE, K::TABLES]).is_some() {
            self.flush_tables()?
        } else {
            FlushWhat::Options(self.list(Self::flush_option)?)
        };
        Ok(StatementKind::Flush(Box::new(Flush { local, what })))
    }

    fn flush_tables(&mut self) -> Parsed<FlushWhat> {
        let tables = if self.at_ident() { self.list(Self::object_name)? } else { Vec::new() };
        let lock = if self.take_words(&[K::WITH, K::READ, K::LOCK])? {
            FlushLock::Read
        } else if !tables.is_empty() && self.take_words(&[K::FOR, K::EXPORT])? {
            FlushLock::Export
        } else {
            FlushLock::None
        };
        Ok(FlushWhat::Tables { tables, lock })
    }

    fn flush_option(&mut self) -> Parsed<FlushOption> {
        let word = self.expect_any(&[
            K::BINARY,
            K::ENGINE,
            K::ERROR,
            K::GENERAL,
            K::RELAY,
            K::SLOW,
            K::LOGS,
            K::PRIVILEGES,
            K::STATUS,
            K::USER_RESOURCES,
            K::OPTIMIZER_COSTS,
            K::HOSTS,
        ])?;
        if matches!(word, K::BINARY | K::ENGINE | K::ERROR | K::GENERAL | K::RELAY | K::SLOW) {
            self.expect_word(K::LOGS)?;
        }
        Ok(match word {
            K::BINARY => FlushOption::BinaryLogs,
            K::ENGINE => FlushOption::EngineLogs,
            K::ERROR => FlushOption::ErrorLogs,
            K::GENERAL => FlushOption::GeneralLogs,
            K::RELAY => FlushOption::RelayLogs { channel: self.for_channel()? },
            K::SLOW => FlushOption::SlowLogs,
            K::LOGS => FlushOption::Logs,
            K::PRIVILEGES => FlushOption::Privileges,
            K::STATUS => FlushOption::Status,
            K::USER_RESOURCES => FlushOption::UserResources,
            K::OPTIMIZER_COSTS => FlushOption::OptimizerCosts,
            _ => FlushOption::Hosts,
        })
    }

    /// `PURGE {BINARY | MASTER} LOGS {TO 'file' | BEFORE date}`
    pub(super) fn purge(&mut self) -> Parsed<StatementKind> {
        self.advance();
        self.expect_any(&[K::BINARY, K::MASTER])?;
        self.expect_word(K::LOGS)?;
        Ok(StatementKind::PurgeBinaryLogs(match self.expect_any(&[K::TO, K::BEFORE])? {
            K::TO => PurgeTo::File(self.text()?),
            _ => PurgeTo::Before(self.expr()?),
        }))
    }

    pub(super) fn reset(&mut self) -> Parsed<StatementKind> {
        self.advance();
        if self.take_word(K::PERSIST) {
            let if_exists = self.if_exists()?;
            let name: Option<VariableName> =
                if if_exists || self.at_ident() { Some(self.variable_name()?) } else { None };
            return Ok(StatementKind::ResetPersist { name, if_exists });
        }
        Ok(StatementKind::Reset(self.list(Self::reset_what)?))
    }

    fn reset_what(&mut self) -> Parsed<ResetWhat> {
        match self.expect_any(&[K::BINARY, K::MASTER, K::REPLICA, K::SLAVE, K::QUERY])? {
            word @ (K::BINARY | K::MASTER) => {
                if word == K::BINARY {
                    self.expect_words(&[K::LOGS, K::AND, K::GTIDS])?;
                }
                let to = if self.take_word(K::TO) { Some(self.integer()?) } else { None };
                Ok(ResetWhat::BinaryLogsAndGtids { to })
            }
            K::QUERY => {
                self.expect_word(K::CACHE)?;
                Ok(ResetWhat::QueryCache)
            }
            word => {
                if word == K::SLAVE {
                    self.remark(Remark::Instead("RESET SLAVE", "RESET REPLICA"));
                }
                Ok(ResetWhat::Replica { all: self.take_word(K::ALL), channel: self.for_channel()? })
            }
        }
    }

    /// `{ANALYZE | CHECK | CHECKSUM | OPTIMIZE | REPAIR} [LOCAL] TABLE t, .. [options]`
    pub(super) fn maintenance(&mut self) -> Parsed<StatementKind> {
        let verb = match self.word() {
            K::ANALYZE => MaintenanceVerb::Analyze,
            K::CHECK => MaintenanceVerb::Check,
            K::CHECKSUM => MaintenanceVerb::Checksum,
            K::OPTIMIZE => MaintenanceVerb::Optimize,
            _ => MaintenanceVerb::Repair,
        };
        self.advance();
        let local = self.take_any(&[K::NO_WRITE_TO_BINLOG, K::LOCAL]).is_some();
        self.expect_any(&[K::TABLE, K::TABLES])?;
        let tables = self.list(Self::object_name)?;
        let mut options = Vec::new();
        let allowed: &[K] = match verb {
            MaintenanceVerb::Check => &[K::QUICK, K::FAST, K::MEDIUM, K::EXTENDED, K::CHANGED, K::FOR],
            MaintenanceVerb::Checksum => &[K::QUICK, K::EXTENDED],
            MaintenanceVerb::Repair => &[K::QUICK, K::EXTENDED, K::USE_FRM],
            _ => &[],
        };
        while let Some(word) = self.take_any(allowed) {
            options.push(match word {
                K::FOR => {
                    self.expect_word(K::UPGRADE)?;
                    "FOR UPGRADE".into()
                }
                word => word.text().into(),
            });
        }
        let histogram = if verb == MaintenanceVerb::Analyze { self.histogram()? } else { None };
        let (key_cache, partitions) = (None, false);
        let maintenance = TableMaintenance { verb, local, tables, options, histogram, key_cache, partitions };
        Ok(StatementKind::TableMaintenance(Box::new(maintenance)))
    }

    /// `CACHE INDEX t [PARTITION (..)] [INDEX (..)], .. IN cache`
    pub(super) fn cache_index(&mut self) -> Parsed<StatementKind> {
        self.expect_words(&[K::CACHE, K::INDEX])?;
        let (tables, partitions) = self.key_cache_tables(MaintenanceVerb::AssignToKeycache)?;
        self.expect_word(K::IN)?;
        let cache = if self.is(K::DEFAULT) { self.any_ident()? } else { self.ident()? };
        Ok(key_cache_statement(MaintenanceVerb::AssignToKeycache, tables, Some(cache), partitions))
    }

    /// `LOAD INDEX INTO CACHE t [PARTITION (..)] [INDEX (..)] [IGNORE LEAVES], ..`, after LOAD.
    pub(super) fn load_index(&mut self) -> Parsed<StatementKind> {
        self.expect_words(&[K::INDEX, K::INTO, K::CACHE])?;
        let (tables, partitions) = self.key_cache_tables(MaintenanceVerb::PreloadKeys)?;
        Ok(key_cache_statement(MaintenanceVerb::PreloadKeys, tables, None, partitions))
    }

    /// The tables, and whether any partitions were named. Only one table may have them.
    fn key_cache_tables(&mut self, verb: MaintenanceVerb) -> Parsed<(Vec<ObjectName>, bool)> {
        let mut tables = Vec::new();
        loop {
            tables.push(self.object_name()?);
            let partitions = tables.len() == 1 && self.take_word(K::PARTITION);
            if partitions {
                self.in_parens(|parser| match parser.take_word(K::ALL) {
                    true => Ok(Vec::new()),
                    false => parser.list(Self::ident),
                })?;
            }
            if self.take_any(&[K::INDEX, K::KEY]).is_some() {
                self.in_parens(|parser| match parser.current.token {
                    Token::RightParen => Ok(Vec::new()),
                    _ => parser.list(Self::index_name),
                })?;
            }
            if verb == MaintenanceVerb::PreloadKeys {
                self.take_words(&[K::IGNORE, K::LEAVES])?;
            }
            if partitions || !self.take(Token::Comma) {
                return Ok((tables, partitions));
            }
        }
    }

    /// `[{UPDATE | DROP} HISTOGRAM ON a, b ..]`
    fn histogram(&mut self) -> Parsed<Option<Histogram>> {
        let Some(word) = self.take_any(&[K::UPDATE, K::DROP]) else { return Ok(None) };
        self.expect_words(&[K::HISTOGRAM, K::ON])?;
        let columns = self.list(Self::ident)?;
        if word == K::DROP {
            return Ok(Some(Histogram::Drop { columns }));
        }
        let (mut buckets, mut auto_update, mut data) = (None, None, None);
        if self.take_word(K::USING) {
            self.expect_word(K::DATA)?;
            data = Some(self.text()?);
        } else {
            if self.is(K::WITH) && self.peek().token == Token::Integer {
                self.advance();
                buckets = Some(self.integer()?);
                self.expect_word(K::BUCKETS)?;
            }
            if let Some(word) = self.take_any(&[K::AUTO, K::MANUAL]) {
                self.expect_word(K::UPDATE)?;
                auto_update = Some(word == K::AUTO);
            }
        }
        Ok(Some(Histogram::Update { columns, buckets, auto_update, data }))
    }
}

fn key_cache_statement(
    verb: MaintenanceVerb,
    tables: Vec<ObjectName>,
    key_cache: Option<Ident>,
    partitions: bool,
) -> StatementKind {
    let (local, options, histogram) = (false, Vec::new(), None);
    let maintenance = TableMaintenance { verb, local, tables, options, histogram, key_cache, partitions };
    StatementKind::TableMaintenance(Box::new(maintenance))
}
