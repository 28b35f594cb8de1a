//! Stored functions, procedures, triggers, and the statements of their bodies.
//!
//! A body's statements end with `;`, and it may hold any statement of the grammar beside those that exist only here.
//! What MySQL checks while parsing is checked here too: labels match and exist, declarations come in order, RETURN
//! stands in a function and a function has one.

use super::error::ParseError;
use super::keyword::Keyword as K;
use super::token::Token;
use super::{Parsed, Parser};
use crate::ast::{
    Account, Block, Characteristics, Compound, ConditionValue, CreateRoutine, CreateTrigger, DataAccess,
    Declaration, Expr, ExprKind, GetDiagnostics, HandlerAction, Ident, ParameterMode, RoutineKind,
    RoutineParameter, Signal, Span, SqlSecurity, Statement, StatementKind, TriggerEvent, TriggerOrder,
    TriggerTime,
};

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

/// The order in which declarations must come.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    Variables,
    Cursors,
    Handlers,
}

impl Parser<'_> {
    /// At FUNCTION or PROCEDURE, behind CREATE and the definer.
    pub(super) fn create_routine(&mut self, definer: Option<Account>) -> Parsed<StatementKind> {
        if self.routine.is_some() {
            let message = "Can't create a stored routine from within another stored routine".to_owned();
            return Err(self.error(1303, b"2F003", message));
        }
        let kind = self.routine_kind()?;
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
                Some(self.data_type()?)
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

    fn routine_body(&mut self, is_function: bool) -> Parsed<(Statement, bool)> {
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
        Ok(RoutineParameter { mode, name: self.ident()?, ty: self.data_type()? })
    }

    pub(super) fn characteristics(&mut self) -> Parsed<Characteristics> {
        let mut to = Characteristics::default();
        loop {
            match self.word() {
                K::COMMENT => {
                    self.advance();
                    to.comment = Some(self.text()?);
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

    /// At TRIGGER, behind CREATE and the definer.
    pub(super) fn create_trigger(&mut self, definer: Option<Account>) -> Parsed<StatementKind> {
        self.advance();
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

    /// The compound statement at the current token, if a routine's body is being parsed and there is one.
    pub(super) fn compound(&mut self) -> Parsed<Option<StatementKind>> {
        if self.routine.is_none() {
            return Ok(None);
        }
        let compound = match self.word() {
            K::BEGIN => self.block(None)?,
            K::IF => self.if_statement()?,
            K::CASE => self.case_statement()?,
            K::LOOP | K::WHILE | K::REPEAT => self.loop_statement(None)?,
            K::LEAVE => {
                self.advance();
                Compound::Leave(self.known_label(false)?)
            }
            K::ITERATE => {
                self.advance();
                Compound::Iterate(self.known_label(true)?)
            }
            K::RETURN => self.return_statement()?,
            K::OPEN => {
                self.advance();
                Compound::Open(self.ident()?)
            }
            K::CLOSE => {
                self.advance();
                Compound::Close(self.ident()?)
            }
            K::FETCH => self.fetch()?,
            _ if self.at_ident() && self.peek().token == Token::Colon => {
                let label = self.ident()?;
                self.advance();
                match self.word() {
                    K::BEGIN => self.block(Some(label))?,
                    K::LOOP | K::WHILE | K::REPEAT => self.loop_statement(Some(label))?,
                    _ => return Err(self.unexpected()),
                }
            }
            _ => return Ok(None),
        };
        Ok(Some(StatementKind::Compound(Box::new(compound))))
    }

    /// Statements, each with its `;`, up to one of `ends`.
    fn statements(&mut self, ends: &[K]) -> Parsed<Vec<Statement>> {
        let mut statements = Vec::new();
        while !self.is_any(ends) {
            statements.push(self.statement()?);
            self.expect(Token::Semicolon)?;
        }
        Ok(statements)
    }

    /// As [`Self::statements`], at least one.
    fn some_statements(&mut self, ends: &[K]) -> Parsed<Vec<Statement>> {
        let statements = self.statements(ends)?;
        if statements.is_empty() { Err(self.unexpected()) } else { Ok(statements) }
    }

    fn block(&mut self, label: Option<Ident>) -> Parsed<Compound> {
        self.expect_word(K::BEGIN)?;
        self.open_label(label.clone(), false)?;
        let declarations = self.declarations()?;
        let body = self.statements(&[K::END])?;
        self.expect_word(K::END)?;
        self.close_label(&label)?;
        Ok(Compound::Block(Block { label, declarations, body }))
    }

    fn loop_statement(&mut self, label: Option<Ident>) -> Parsed<Compound> {
        let word = self.word();
        self.advance();
        self.open_label(label.clone(), true)?;
        let (condition, body) = match word {
            K::WHILE => {
                let condition = Some(self.expr()?);
                self.expect_word(K::DO)?;
                (condition, self.some_statements(&[K::END])?)
            }
            K::REPEAT => {
                let body = self.some_statements(&[K::UNTIL])?;
                self.advance();
                (Some(self.expr()?), body)
            }
            _ => (None, self.some_statements(&[K::END])?),
        };
        self.expect_words(&[K::END, word])?;
        self.close_label(&label)?;
        Ok(match (word, condition) {
            (K::WHILE, Some(condition)) => Compound::While { label, condition, body },
            (_, Some(until)) => Compound::Repeat { label, body, until },
            (_, None) => Compound::Loop { label, body },
        })
    }

    fn if_statement(&mut self) -> Parsed<Compound> {
        let ends = &[K::ELSEIF, K::ELSE, K::END];
        let mut branches = Vec::new();
        while branches.is_empty() || self.is(K::ELSEIF) {
            self.advance();
            let condition = self.expr()?;
            self.expect_word(K::THEN)?;
            branches.push((condition, self.some_statements(ends)?));
        }
        let otherwise = self.else_statements()?;
        self.expect_words(&[K::END, K::IF])?;
        Ok(Compound::If { branches, otherwise })
    }

    fn case_statement(&mut self) -> Parsed<Compound> {
        self.advance();
        let operand = if self.is(K::WHEN) { None } else { Some(self.expr()?) };
        let mut branches = Vec::new();
        while branches.is_empty() || self.is(K::WHEN) {
            self.expect_word(K::WHEN)?;
            let when = self.expr()?;
            self.expect_word(K::THEN)?;
            branches.push((when, self.some_statements(&[K::WHEN, K::ELSE, K::END])?));
        }
        let otherwise = self.else_statements()?;
        self.expect_words(&[K::END, K::CASE])?;
        Ok(Compound::Case { operand, branches, otherwise })
    }

    fn else_statements(&mut self) -> Parsed<Option<Vec<Statement>>> {
        match self.take_word(K::ELSE) {
            true => self.some_statements(&[K::END]).map(Some),
            false => Ok(None),
        }
    }

    fn return_statement(&mut self) -> Parsed<Compound> {
        match &mut self.routine {
            Some(context) if context.is_function => context.has_return = true,
            _ => {
                let message = "RETURN is only allowed in a FUNCTION".to_owned();
                return Err(self.error(1313, b"42000", message));
            }
        }
        self.advance();
        Ok(Compound::Return(self.expr()?))
    }

    /// `FETCH [[NEXT] FROM] cursor INTO a, b`
    fn fetch(&mut self) -> Parsed<Compound> {
        self.advance();
        if self.is(K::NEXT) && self.peek_is(K::FROM) {
            self.advance();
        }
        self.take_word(K::FROM);
        let cursor = self.ident()?;
        self.expect_word(K::INTO)?;
        Ok(Compound::Fetch { cursor, into: self.list(Self::ident)? })
    }

    // Labels.

    fn open_label(&mut self, name: Option<Ident>, is_loop: bool) -> Parsed<()> {
        let Some(context) = &mut self.routine else { return Ok(()) };
        if let Some(name) = &name
            && context.labels.iter().any(|label| label.name.as_ref().is_some_and(|known| known.is(name)))
        {
            let message = format!("Redefining label {name}");
            return Err(self.error(1309, b"42000", message));
        }
        context.labels.push(Label { name, is_loop });
        Ok(())
    }

    /// Behind END: the label again, if it's there.
    fn close_label(&mut self, label: &Option<Ident>) -> Parsed<()> {
        if let Some(context) = &mut self.routine {
            context.labels.pop();
        }
        if !self.at_ident() {
            return Ok(());
        }
        let lexeme = self.current;
        let end = self.ident()?;
        match label {
            Some(label) if label.is(&end) => Ok(()),
            Some(_) => {
                let message = format!("End-label {end} without match");
                Err(ParseError::new(1310, b"42000", message, lexeme.start as usize))
            }
            None => Err(self.unexpected_at(lexeme)),
        }
    }

    /// The label of LEAVE or ITERATE.
    fn known_label(&mut self, only_loops: bool) -> Parsed<Ident> {
        let name = self.ident()?;
        let labels = self.routine.as_ref().map_or(&[][..], |context| &context.labels);
        let known = labels.iter().any(|label| {
            (label.is_loop || !only_loops) && label.name.as_ref().is_some_and(|known| known.is(&name))
        });
        if known {
            return Ok(name);
        }
        let verb = if only_loops { "ITERATE" } else { "LEAVE" };
        Err(self.error(1308, b"42000", format!("{verb} with no matching label: {name}")))
    }

    // Declarations.

    fn declarations(&mut self) -> Parsed<Vec<Declaration>> {
        let mut declarations = Vec::new();
        let mut phase = Phase::Variables;
        while self.is(K::DECLARE) {
            let start = self.current.start as usize;
            let declaration = self.declaration()?;
            self.expect(Token::Semicolon)?;
            let its_phase = match declaration {
                Declaration::Variables { .. } | Declaration::Condition { .. } => Phase::Variables,
                Declaration::Cursor { .. } => Phase::Cursors,
                Declaration::Handler { .. } => Phase::Handlers,
            };
            if its_phase < phase {
                return Err(misplaced(its_phase, start));
            }
            phase = its_phase;
            declarations.push(declaration);
        }
        Ok(declarations)
    }

    /// At DECLARE.
    fn declaration(&mut self) -> Parsed<Declaration> {
        self.advance();
        if let Some(word) = self.take_any(&[K::CONTINUE, K::EXIT, K::UNDO]) {
            return self.handler_declaration(word);
        }
        let first = self.ident()?;
        match self.word() {
            K::CONDITION => {
                self.expect_words(&[K::CONDITION, K::FOR])?;
                Ok(Declaration::Condition { name: first, value: self.condition_value(false)? })
            }
            K::CURSOR => {
                self.expect_words(&[K::CURSOR, K::FOR])?;
                if !self.at_query_or_paren() {
                    return Err(self.unexpected());
                }
                Ok(Declaration::Cursor { name: first, query: Box::new(self.query()?) })
            }
            _ => {
                let mut names = vec![first];
                while self.take(Token::Comma) {
                    names.push(self.ident()?);
                }
                let ty = self.data_type()?;
                let default = if self.take_word(K::DEFAULT) { Some(self.expr()?) } else { None };
                Ok(Declaration::Variables { names, ty, default })
            }
        }
    }

    fn handler_declaration(&mut self, word: K) -> Parsed<Declaration> {
        let action = match word {
            K::CONTINUE => HandlerAction::Continue,
            K::EXIT => HandlerAction::Exit,
            _ => HandlerAction::Undo,
        };
        self.expect_words(&[K::HANDLER, K::FOR])?;
        let conditions = self.list(|parser| parser.condition_value(true))?;
        // A handler can't leave the block that it is declared in: its labels are out of reach.
        let outer = self.routine.as_mut().map(|context| std::mem::take(&mut context.labels));
        let body = self.statement();
        if let (Some(context), Some(outer)) = (&mut self.routine, outer) {
            context.labels = outer;
        }
        Ok(Declaration::Handler { action, conditions, body: Box::new(body?) })
    }

    /// `1051`, `SQLSTATE '42S02'`, and with `all` also names and classes.
    fn condition_value(&mut self, all: bool) -> Parsed<ConditionValue> {
        match self.word() {
            K::SQLSTATE => self.sqlstate(),
            K::SQLWARNING if all => self.condition_word(ConditionValue::SqlWarning),
            K::SQLEXCEPTION if all => self.condition_word(ConditionValue::SqlException),
            K::NOT if all => {
                self.expect_words(&[K::NOT, K::FOUND])?;
                Ok(ConditionValue::NotFound)
            }
            _ if all && self.at_ident() => self.ident().map(ConditionValue::Named),
            _ => self.integer().map(ConditionValue::Error),
        }
    }

    fn condition_word(&mut self, value: ConditionValue) -> Parsed<ConditionValue> {
        self.advance();
        Ok(value)
    }

    /// `SQLSTATE [VALUE] 'xxxxx'`
    fn sqlstate(&mut self) -> Parsed<ConditionValue> {
        self.expect_word(K::SQLSTATE)?;
        self.take_word(K::VALUE);
        let lexeme = self.current;
        let text = self.text()?;
        let is_state = |state: &[u8; 5]| {
            state.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase())
                && !state.starts_with(b"00")
        };
        match <[u8; 5]>::try_from(&*text) {
            Ok(state) if is_state(&state) => Ok(ConditionValue::SqlState(state)),
            _ => {
                let message = format!("Bad SQLSTATE: '{}'", text.to_str_lossy());
                Err(ParseError::new(1407, b"42000", message, lexeme.start as usize))
            }
        }
    }

    /// SIGNAL and RESIGNAL.
    pub(super) fn signal(&mut self) -> Parsed<StatementKind> {
        let resignal = self.is(K::RESIGNAL);
        self.advance();
        let condition = match self.word() {
            K::SQLSTATE => Some(self.sqlstate()?),
            K::SET if resignal => None,
            _ if self.at_ident() => Some(ConditionValue::Named(self.ident()?)),
            _ if resignal => None,
            _ => return Err(self.unexpected()),
        };
        let mut items = Vec::new();
        if self.take_word(K::SET) {
            items = self.list(|parser| {
                let name = parser.signal_item(K::MESSAGE_TEXT)?;
                parser.expect(Token::Equal)?;
                Ok((name, parser.primary()?))
            })?;
        }
        Ok(StatementKind::Signal(Box::new(Signal { resignal, condition, items })))
    }

    /// A condition's item; `extra` is one more than SIGNAL and GET DIAGNOSTICS share.
    fn signal_item(&mut self, extra: K) -> Parsed<Ident> {
        let word = self.expect_any(&[
            K::CLASS_ORIGIN,
            K::SUBCLASS_ORIGIN,
            K::CONSTRAINT_CATALOG,
            K::CONSTRAINT_SCHEMA,
            K::CONSTRAINT_NAME,
            K::CATALOG_NAME,
            K::SCHEMA_NAME,
            K::TABLE_NAME,
            K::COLUMN_NAME,
            K::CURSOR_NAME,
            K::MESSAGE_TEXT,
            K::MYSQL_ERRNO,
            extra,
        ])?;
        Ok(word.text().into())
    }

    /// `GET [CURRENT | STACKED] DIAGNOSTICS ..`
    pub(super) fn get_diagnostics(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let stacked = self.take_any(&[K::CURRENT, K::STACKED]) == Some(K::STACKED);
        self.expect_word(K::DIAGNOSTICS)?;
        let condition = if self.take_word(K::CONDITION) { Some(self.primary()?) } else { None };
        let of_condition = condition.is_some();
        let items = self.list(|parser| {
            let target = parser.diagnostics_target()?;
            parser.expect(Token::Equal)?;
            let item = match of_condition {
                true => parser.signal_item(K::RETURNED_SQLSTATE)?,
                false => parser.expect_any(&[K::NUMBER, K::ROW_COUNT])?.text().into(),
            };
            Ok((target, item))
        })?;
        Ok(StatementKind::GetDiagnostics(Box::new(GetDiagnostics { stacked, condition, items })))
    }

    fn diagnostics_target(&mut self) -> Parsed<Expr> {
        let start = self.current.start;
        let kind = match self.current.token {
            Token::UserVariable => ExprKind::UserVariable(self.user_variable()?),
            _ => ExprKind::Column(self.ident()?.into()),
        };
        Ok(self.make(start, kind))
    }
}

fn misplaced(phase: Phase, offset: usize) -> Box<ParseError> {
    match phase {
        Phase::Cursors => {
            ParseError::new(1338, b"42000", "Cursor declaration after handler declaration".into(), offset)
        }
        _ => {
            let message = "Variable or condition declaration after cursor or handler declaration";
            ParseError::new(1337, b"42000", message.into(), offset)
        }
    }
}
