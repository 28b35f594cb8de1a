//! CREATE EVENT and ALTER EVENT.

use super::{Parsed, Parser};
use crate::ast::{
    Account, AlterEvent, CreateEvent, EventOptions, EventSchedule, EventStatus, EventTimes, Span, Statement,
    StatementKind, Text,
};
use crate::keyword::Keyword as K;

impl Parser<'_> {
    /// At EVENT, after CREATE and the definer.
    pub(super) fn create_event(&mut self, definer: Option<Account>) -> Parsed<StatementKind> {
        self.refuse_event_in_body()?;
        self.advance();
        let if_not_exists = self.if_not_exists()?;
        let name = self.object_name()?;
        self.expect_words(&[K::ON, K::SCHEDULE])?;
        let schedule = self.event_schedule()?;
        let preserve = self.on_completion()?;
        let (status, status_span) = self.event_status()?;
        let comment = self.event_comment()?;
        self.expect_word(K::DO)?;
        let body = self.event_body()?;
        let options = EventOptions { preserve, status, status_span, comment };
        let event = CreateEvent { definer, if_not_exists, name, schedule, options, body };
        Ok(StatementKind::CreateEvent(Box::new(event)))
    }

    /// At EVENT, after ALTER and the definer.
    pub(super) fn alter_event(&mut self, definer: Option<Account>) -> Parsed<StatementKind> {
        self.advance();
        let name = self.object_name()?;
        let start = self.current.start;
        let (mut schedule, mut preserve, mut rename) = (None, None, None);
        if self.is(K::ON) {
            self.advance();
            if self.take_word(K::SCHEDULE) {
                schedule = Some(self.event_schedule()?);
                preserve = self.on_completion()?;
            } else {
                preserve = self.event_completion()?;
            }
        }
        if self.take_word(K::RENAME) {
            self.expect_word(K::TO)?;
            rename = Some(self.object_name()?);
        }
        let (status, status_span) = self.event_status()?;
        let comment = self.event_comment()?;
        let body = match self.is(K::DO) {
            true => {
                self.refuse_event_in_body()?;
                self.advance();
                Some(self.event_body()?)
            }
            false => None,
        };
        // It has to say something.
        if self.current.start == start {
            return Err(self.unexpected());
        }
        let options = EventOptions { preserve, status, status_span, comment };
        Ok(StatementKind::AlterEvent(Box::new(AlterEvent { definer, name, schedule, rename, options, body })))
    }

    fn event_body(&mut self) -> Parsed<Statement> {
        self.routine_body(false).map(|(body, _)| body)
    }

    fn refuse_event_in_body(&self) -> Parsed<()> {
        match self.routine.is_some() {
            true => {
                let message = "Recursion of EVENT DDL statements is forbidden when body is present";
                Err(self.error(1576, b"HY000", message.to_owned()))
            }
            false => Ok(()),
        }
    }

    fn event_schedule(&mut self) -> Parsed<EventSchedule> {
        let start = self.current.start;
        let times = match self.expect_any(&[K::AT, K::EVERY])? {
            K::AT => EventTimes::At(self.expr()?),
            _ => {
                let (value, unit) = (self.expr()?, self.interval_unit()?);
                let starts = if self.take_word(K::STARTS) { Some(self.expr()?) } else { None };
                let ends = if self.take_word(K::ENDS) { Some(self.expr()?) } else { None };
                EventTimes::Every { value, unit, starts, ends }
            }
        };
        let span = self.span_from(start);
        Ok(EventSchedule { times, span })
    }

    /// `[ON COMPLETION [NOT] PRESERVE]`
    fn on_completion(&mut self) -> Parsed<Option<bool>> {
        if self.take_word(K::ON) { self.event_completion() } else { Ok(None) }
    }

    fn event_completion(&mut self) -> Parsed<Option<bool>> {
        self.expect_word(K::COMPLETION)?;
        let preserve = !self.take_word(K::NOT);
        self.expect_word(K::PRESERVE)?;
        Ok(Some(preserve))
    }

    fn event_status(&mut self) -> Parsed<(Option<EventStatus>, Span)> {
        let start = self.current.start;
        let status = if self.take_word(K::ENABLE) {
            EventStatus::Enabled
        } else if !self.take_word(K::DISABLE) {
            return Ok((None, Span { start: self.previous_end, end: self.previous_end }));
        } else if self.take_word(K::ON) {
            self.expect_any(&[K::REPLICA, K::SLAVE])?;
            EventStatus::DisabledOnReplica
        } else {
            EventStatus::Disabled
        };
        Ok((Some(status), self.span_from(start)))
    }

    fn event_comment(&mut self) -> Parsed<Option<Text>> {
        if self.take_word(K::COMMENT) { self.plain_text().map(Some) } else { Ok(None) }
    }
}
