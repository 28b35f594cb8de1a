//! Stored functions, procedures, triggers, and the statements of their bodies.
//!
//! A body's statements end with `;`, and it may hold any statement of the grammar besides those
//! that exist only here. What MySQL checks while parsing is checked here too: labels match and
//! exist, declarations come in order, RETURN stands in a function and a function has one.

mod compound;
mod declaration;
mod diagnostics;

use super::{Parsed, Parser};
use crate::ast::{
    Account, Characteristics, Charset, CreateRoutine, CreateTrigger, DataAccess, DataType, Ident,
    ParameterMode, RoutineKind, RoutineParameter, Span, SqlSecurity, Statement, StatementKind, TriggerEvent,
    TriggerOrder, TriggerTime,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

/// What is known while a body is parsed.
pub(super) struct RoutineContext {
    is_function: bool,
    has_return: bool,
    labels: Vec<Label>,
}

struct Label {
    name: Option<Ident>,
    is_loop: bool,
}

impl Parser<'_> {
    /// At FUNCTION or PROCEDURE, after CREATE and the definer.
    pub(super) fn create_routine(&mut self, definer: Option<Account>) -> Parsed<StatementKind> {
        let kind = self.routine_kind()?;
        self.refuse_within_routine(kind.name())?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        self.expect(Token::LeftParen)?;
        let parameters_start = self.current.start;
        let mut parameters = Vec::new();
        if self.current.token != Token::RightParen {
            parameters = self.list(|parser| parser.routine_parameter(kind))?;
        }
        let parameters_span = Span { start: parameters_start, end: self.current.start };
        self.expect(Token::RightParen)?;
        let returns = match kind {
            RoutineKind::Function => {
                self.expect_word(K::RETURNS)?;
                Some(self.routine_type()?)
            }
            RoutineKind::Procedure => None,
        };
        let characteristics = self.characteristics()?;
        let is_function = kind == RoutineKind::Function;
        let (body, has_return) = self.routine_body(is_function)?;
        if is_function && !has_return {
            let message = format!("No RETURN found in FUNCTION {}", name.name);
            return Err(self.error(1320, b"42000", message));
        }
        Ok(StatementKind::CreateRoutine(Box::new(CreateRoutine {
            kind,
            definer,
            if_not_exists,
            name,
            parameters,
            parameters_span,
            returns,
            characteristics,
            body,
        })))
    }

    pub(super) fn routine_body(&mut self, is_function: bool) -> Parsed<(Statement, bool)> {
        self.routine = Some(RoutineContext { is_function, has_return: false, labels: Vec::new() });
        let allowed = std::mem::replace(&mut self.parameters_allowed, false);
        let body = self.statement();
        self.parameters_allowed = allowed;
        let context = self.routine.take();
        Ok((body?, context.is_some_and(|context| context.has_return)))
    }

    /// FUNCTION or PROCEDURE.
    pub(super) fn routine_kind(&mut self) -> Parsed<RoutineKind> {
        Ok(match self.expect_any(&[K::FUNCTION, K::PROCEDURE])? {
            K::FUNCTION => RoutineKind::Function,
            _ => RoutineKind::Procedure,
        })
    }

    /// The type of a parameter, a variable or what is returned; error 1235 for a collation without
    /// its character set, as in MySQL.
    pub(super) fn routine_type(&mut self) -> Parsed<DataType> {
        let ty = self.data_type()?;
        let of_collation = |c: &Charset| c.collation.is_some() && c.charset.is_none();
        if self.options.from_client && ty.charset().is_some_and(of_collation) {
            let what = "This version of Duramen doesn't yet support 'COLLATE with no CHARACTER SET in SP parameters, RETURNS, \
                        DECLARE'";
            return Err(self.error(1235, b"42000", what.to_owned()));
        }
        Ok(ty)
    }

    fn routine_parameter(&mut self, kind: RoutineKind) -> Parsed<RoutineParameter> {
        let mode = match kind {
            RoutineKind::Function => None,
            RoutineKind::Procedure => self.take_any(&[K::IN, K::OUT, K::INOUT]),
        };
        let mode = match mode {
            Some(K::OUT) => ParameterMode::Out,
            Some(K::INOUT) => ParameterMode::InOut,
            _ => ParameterMode::In,
        };
        Ok(RoutineParameter { mode, name: self.ident()?, ty: self.routine_type()? })
    }

    pub(super) fn characteristics(&mut self) -> Parsed<Characteristics> {
        let mut to = Characteristics::default();
        loop {
            match self.word() {
                K::COMMENT => {
                    self.advance();
                    to.comment = Some(self.plain_text()?);
                }
                K::LANGUAGE => {
                    self.advance();
                    to.language = Some(if self.is(K::SQL) { self.any_ident()? } else { self.ident()? });
                }
                K::NOT => {
                    self.expect_words(&[K::NOT, K::DETERMINISTIC])?;
                    to.deterministic = Some(false);
                }
                K::DETERMINISTIC => {
                    self.advance();
                    to.deterministic = Some(true);
                }
                K::CONTAINS => {
                    self.expect_words(&[K::CONTAINS, K::SQL])?;
                    to.data_access = Some(DataAccess::ContainsSql);
                }
                K::NO => {
                    self.expect_words(&[K::NO, K::SQL])?;
                    to.data_access = Some(DataAccess::NoSql);
                }
                K::READS => {
                    self.expect_words(&[K::READS, K::SQL, K::DATA])?;
                    to.data_access = Some(DataAccess::ReadsSqlData);
                }
                K::MODIFIES => {
                    self.expect_words(&[K::MODIFIES, K::SQL, K::DATA])?;
                    to.data_access = Some(DataAccess::ModifiesSqlData);
                }
                K::SQL => to.security = self.sql_security()?.or(Some(SqlSecurity::Definer)),
                _ => return Ok(to),
            }
        }
    }

    /// Error 1303 for the definition of a stored program in the body of another one.
    fn refuse_within_routine(&self, what: &str) -> Parsed<()> {
        match self.routine {
            Some(_) => {
                let message = format!("Can't create a {what} from within another stored routine");
                Err(self.error(1303, b"2F003", message))
            }
            None => Ok(()),
        }
    }

    /// At TRIGGER, after CREATE and the definer.
    pub(super) fn create_trigger(&mut self, definer: Option<Account>) -> Parsed<StatementKind> {
        self.advance();
        self.refuse_within_routine("TRIGGER")?;
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        let time = match self.expect_any(&[K::BEFORE, K::AFTER])? {
            K::BEFORE => TriggerTime::Before,
            _ => TriggerTime::After,
        };
        let event = match self.expect_any(&[K::INSERT, K::UPDATE, K::DELETE])? {
            K::INSERT => TriggerEvent::Insert,
            K::UPDATE => TriggerEvent::Update,
            _ => TriggerEvent::Delete,
        };
        self.expect_word(K::ON)?;
        let table = self.object_name()?;
        self.expect_words(&[K::FOR, K::EACH, K::ROW])?;
        let order = match self.take_any(&[K::FOLLOWS, K::PRECEDES]) {
            Some(K::FOLLOWS) => Some(TriggerOrder::Follows(self.ident_or_text()?)),
            Some(_) => Some(TriggerOrder::Precedes(self.ident_or_text()?)),
            None => None,
        };
        let (body, _) = self.routine_body(false)?;
        let trigger = CreateTrigger { definer, if_not_exists, name, time, event, table, order, body };
        Ok(StatementKind::CreateTrigger(Box::new(trigger)))
    }
}
