//! SHOW, in all its forms.

use super::{Parsed, Parser};
use crate::ast::{
    EngineReport, Ident, LogEvents, ObjectName, Remark, Show, ShowFilter, ShowWhat, StatementKind, Text,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl Parser<'_> {
    pub(super) fn show(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let what = self.show_what()?;
        let filter = if self.take_word(K::LIKE) {
            ShowFilter::Like(self.text()?)
        } else {
            self.filter()?.map_or(ShowFilter::None, ShowFilter::Where)
        };
        if filter != ShowFilter::None && !takes_filter(&what) {
            return Err(self.unexpected());
        }
        Ok(StatementKind::Show(Box::new(Show { what, filter })))
    }

    fn show_what(&mut self) -> Parsed<ShowWhat> {
        let start = self.current;
        if self.current.token == Token::LeftParen || self.is_any(&[K::COUNT]) {
            return self.show_count();
        }
        let extended = self.take_word(K::EXTENDED);
        let full = self.take_word(K::FULL);
        let global = self.take_any(&[K::GLOBAL, K::SESSION, K::LOCAL]).map(|word| word == K::GLOBAL);
        let word = self.word();
        let allows_full = matches!(word, K::TABLES | K::COLUMNS | K::FIELDS | K::TRIGGERS | K::PROCESSLIST);
        let allows_extended =
            matches!(word, K::TABLES | K::COLUMNS | K::FIELDS | K::INDEX | K::INDEXES | K::KEYS);
        let allows_scope = matches!(word, K::VARIABLES | K::STATUS);
        if full && !allows_full || extended && !allows_extended || global.is_some() && !allows_scope {
            return Err(self.unexpected());
        }
        self.advance();
        let global = global.unwrap_or(false);
        Ok(match word {
            K::DATABASES | K::SCHEMAS => ShowWhat::Databases,
            K::TABLES => ShowWhat::Tables { database: self.database_clause()?, full, extended },
            K::TABLE => {
                self.expect_word(K::STATUS)?;
                ShowWhat::TableStatus { database: self.database_clause()? }
            }
            K::OPEN => {
                self.expect_word(K::TABLES)?;
                ShowWhat::OpenTables { database: self.database_clause()? }
            }
            K::COLUMNS | K::FIELDS => ShowWhat::Columns { table: self.table_clause()?, full, extended },
            K::INDEX | K::INDEXES | K::KEYS => ShowWhat::Index { table: self.table_clause()?, extended },
            K::TRIGGERS => ShowWhat::Triggers { database: self.database_clause()?, full },
            K::EVENTS => ShowWhat::Events { database: self.database_clause()? },
            K::CREATE => return self.show_create(),
            K::FUNCTION | K::PROCEDURE => {
                let kind = match word {
                    K::FUNCTION => crate::ast::RoutineKind::Function,
                    _ => crate::ast::RoutineKind::Procedure,
                };
                match self.expect_any(&[K::STATUS, K::CODE])? {
                    K::STATUS => ShowWhat::RoutineStatus(kind),
                    _ => ShowWhat::RoutineCode(kind, self.object_name()?),
                }
            }
            K::VARIABLES => ShowWhat::Variables { global },
            K::STATUS => ShowWhat::Status { global },
            K::BINARY => self.show_binary()?,
            K::MASTER => match self.expect_any(&[K::LOGS, K::STATUS])? {
                K::LOGS => ShowWhat::BinaryLogs,
                _ => ShowWhat::BinaryLogStatus,
            },
            K::BINLOG => {
                self.expect_word(K::EVENTS)?;
                ShowWhat::BinlogEvents(self.log_events()?)
            }
            K::RELAYLOG => {
                self.expect_word(K::EVENTS)?;
                ShowWhat::RelaylogEvents { events: self.log_events()?, channel: self.for_channel()? }
            }
            K::WARNINGS => ShowWhat::Warnings { limit: self.limit()? },
            K::ERRORS => ShowWhat::Errors { limit: self.limit()? },
            K::PROCESSLIST => {
                self.remark(Remark::ProcessList);
                ShowWhat::ProcessList { full }
            }
            K::ENGINES => ShowWhat::Engines,
            K::STORAGE => {
                self.expect_word(K::ENGINES)?;
                ShowWhat::Engines
            }
            K::ENGINE => self.engine_status()?,
            K::CHARACTER | K::CHAR => {
                self.expect_word(K::SET)?;
                ShowWhat::CharacterSets
            }
            K::CHARSET => ShowWhat::CharacterSets,
            K::COLLATION => ShowWhat::Collations,
            K::GRANTS => self.show_grants()?,
            K::PLUGINS => ShowWhat::Plugins,
            K::PRIVILEGES => ShowWhat::Privileges,
            K::REPLICAS => ShowWhat::Replicas,
            K::SLAVE if self.take_word(K::HOSTS) => {
                self.remark(Remark::Instead("SHOW SLAVE HOSTS", "SHOW REPLICAS"));
                ShowWhat::Replicas
            }
            word @ (K::REPLICA | K::SLAVE) => {
                self.expect_word(K::STATUS)?;
                let old_names = word == K::SLAVE;
                if old_names {
                    self.remark(Remark::Instead("SHOW SLAVE STATUS", "SHOW REPLICA STATUS"));
                }
                ShowWhat::ReplicaStatus { channel: self.for_channel()?, old_names }
            }
            K::PROFILES => ShowWhat::Profiles,
            K::PROFILE => self.show_profile()?,
            K::PARSE_TREE => ShowWhat::ParseTree(Box::new(self.statement()?)),
            _ => return Err(self.unexpected_at(start)),
        })
    }

    /// `COUNT(*) WARNINGS`, `COUNT(*) ERRORS`
    fn show_count(&mut self) -> Parsed<ShowWhat> {
        self.expect_word(K::COUNT)?;
        self.in_parens(|parser| parser.expect(Token::Star))?;
        Ok(match self.expect_any(&[K::WARNINGS, K::ERRORS])? {
            K::WARNINGS => ShowWhat::CountWarnings,
            _ => ShowWhat::CountErrors,
        })
    }

    /// After SHOW CREATE.
    fn show_create(&mut self) -> Parsed<ShowWhat> {
        use crate::ast::RoutineKind;
        let word = self.word();
        self.advance();
        Ok(match word {
            K::DATABASE | K::SCHEMA => {
                let if_not_exists = self.if_not_exists()?;
                ShowWhat::CreateDatabase { name: self.ident()?, if_not_exists }
            }
            K::TABLE => ShowWhat::CreateTable(self.object_name()?),
            K::VIEW => ShowWhat::CreateView(self.object_name()?),
            K::FUNCTION => ShowWhat::CreateRoutine(RoutineKind::Function, self.object_name()?),
            K::PROCEDURE => ShowWhat::CreateRoutine(RoutineKind::Procedure, self.object_name()?),
            K::TRIGGER => ShowWhat::CreateTrigger(self.object_name()?),
            K::EVENT => ShowWhat::CreateEvent(self.object_name()?),
            K::USER => ShowWhat::CreateUser(self.account()?),
            _ => return Err(self.unexpected()),
        })
    }

    /// After SHOW BINARY.
    fn show_binary(&mut self) -> Parsed<ShowWhat> {
        if self.take_word(K::LOGS) {
            return Ok(ShowWhat::BinaryLogs);
        }
        self.expect_words(&[K::LOG, K::STATUS])?;
        Ok(ShowWhat::BinaryLogStatus)
    }

    /// `[{FROM | IN} database]`
    fn database_clause(&mut self) -> Parsed<Option<Ident>> {
        match self.take_any(&[K::FROM, K::IN]) {
            Some(_) => self.ident().map(Some),
            None => Ok(None),
        }
    }

    /// `{FROM | IN} table [{FROM | IN} database]`
    fn table_clause(&mut self) -> Parsed<ObjectName> {
        self.expect_any(&[K::FROM, K::IN])?;
        let table = self.object_name()?;
        Ok(match self.database_clause()? {
            Some(database) => ObjectName { database: Some(database), ..table },
            None => table,
        })
    }

    /// `[IN 'file'] [FROM position] [LIMIT ..]`
    fn log_events(&mut self) -> Parsed<LogEvents> {
        let file = if self.take_word(K::IN) { Some(self.text()?) } else { None };
        let from = if self.take_word(K::FROM) { Some(self.integer()?) } else { None };
        Ok(LogEvents { file, from, limit: self.limit()? })
    }

    /// `[FOR CHANNEL 'name']`
    pub(super) fn for_channel(&mut self) -> Parsed<Option<Text>> {
        match self.take_words(&[K::FOR, K::CHANNEL])? {
            true => self.text().map(Some),
            false => Ok(None),
        }
    }

    /// After SHOW ENGINE; ALL is no engine.
    fn engine_status(&mut self) -> Parsed<ShowWhat> {
        let engine = if self.take_word(K::ALL) { None } else { Some(self.ident_or_text()?) };
        let what = match self.expect_any(&[K::STATUS, K::MUTEX, K::LOGS])? {
            K::STATUS => EngineReport::Status,
            K::MUTEX => EngineReport::Mutex,
            _ => EngineReport::Logs,
        };
        Ok(ShowWhat::EngineStatus { engine, what })
    }

    fn show_grants(&mut self) -> Parsed<ShowWhat> {
        let (mut user, mut using) = (None, Vec::new());
        if self.take_word(K::FOR) {
            user = Some(self.account()?);
            if self.take_word(K::USING) {
                using = self.list(Self::account)?;
            }
        }
        Ok(ShowWhat::Grants { user, using })
    }

    /// After SHOW PROFILE: which figures are wanted doesn't matter, for there are none.
    fn show_profile(&mut self) -> Parsed<ShowWhat> {
        if !self.is(K::FOR)
            && !matches!(self.current.token, Token::End | Token::Semicolon | Token::Word(K::LIMIT))
        {
            self.list(|parser| match parser.expect_any(&PROFILE_WORDS)? {
                K::BLOCK => parser.expect_word(K::IO),
                K::CONTEXT => parser.expect_word(K::SWITCHES),
                K::PAGE => parser.expect_word(K::FAULTS),
                _ => Ok(()),
            })?;
        }
        let query = if self.take_words(&[K::FOR, K::QUERY])? { Some(self.integer()?) } else { None };
        self.limit()?;
        Ok(ShowWhat::Profile { query })
    }
}

const PROFILE_WORDS: [K; 9] =
    [K::ALL, K::BLOCK, K::CONTEXT, K::CPU, K::IPC, K::MEMORY, K::PAGE, K::SOURCE, K::SWAPS];

fn takes_filter(what: &ShowWhat) -> bool {
    use ShowWhat::*;
    matches!(
        what,
        Databases
            | Tables { .. }
            | TableStatus { .. }
            | OpenTables { .. }
            | Columns { .. }
            | Index { .. }
            | Triggers { .. }
            | Events { .. }
            | RoutineStatus(_)
            | Variables { .. }
            | Status { .. }
            | CharacterSets
            | Collations
    )
}
