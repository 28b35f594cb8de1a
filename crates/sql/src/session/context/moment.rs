//! The moment of a statement, which all of it sees.

use super::Context;
use crate::statement_class;
use datum::value::{Date, DateTime};
use syntax::ast::StatementKind;

impl Context {
    /// A statement of the client begins: its moment is now, unless `timestamp` is set.
    pub(in crate::session) fn begin_client_statement(&mut self, kind: &StatementKind) {
        let moment = self.next_moment();
        self.statement.begin(moment, statement_class::keeps_diagnostics(kind));
    }

    /// A statement of a procedure begins.
    pub(crate) fn begin_program_statement(&mut self) {
        let moment = self.next_moment();
        self.statement.begin_in_procedure(moment);
    }

    /// What is evaluated without a statement gets a moment too.
    pub(in crate::session) fn begin_moment(&mut self) {
        self.statement.moment = self.next_moment();
    }

    fn next_moment(&self) -> i64 {
        match self.settings.decoded().fixed_moment {
            Some(moment) => moment,
            None => self.instance.env().now() as i64,
        }
    }

    /// Starts a statement of the log, at its moment: microseconds since 1970.
    pub(in crate::session) fn begin_moment_at(&mut self, moment: i64) {
        self.statement.moment = moment;
    }

    /// When the statement began, whatever `timestamp` says: microseconds since 1970.
    pub(crate) fn real_moment(&self) -> i64 {
        match self.settings.decoded().fixed_moment {
            Some(_) => self.instance.env().now() as i64,
            None => self.statement.moment,
        }
    }

    fn at(&self, micros: i64) -> DateTime {
        DateTime::from_unix_micros(micros, 6).unwrap_or(DateTime::ZERO)
    }

    /// The statement's moment in the session's time zone.
    pub(crate) fn now(&self) -> DateTime {
        self.at(self.settings.zone().to_local(self.statement.moment))
    }

    /// The statement's moment in UTC.
    pub(crate) fn now_utc(&self) -> DateTime {
        self.at(self.statement.moment)
    }

    /// This very moment in the session's time zone.
    pub(crate) fn wall_clock(&self) -> DateTime {
        self.at(self.settings.zone().to_local(self.instance.env().now() as i64))
    }

    /// The statement's day in the session's time zone.
    pub(crate) fn today(&self) -> Date {
        self.now().date
    }
}
