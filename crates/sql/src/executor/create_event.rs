//! CREATE EVENT and ALTER EVENT: the expressions of the schedule are evaluated, once and for all.
//!
//! What goes on is a statement with moments and numbers in their place, which is planned, logged
//! and replayed ([`crate::catalog::ddl::event`]).

use super::key_parts::Rewritten;
use crate::catalog::ddl::TextForm;
use crate::catalog::parse_one;
use crate::catalog::show::quote_text_for;
use crate::expression::{Expr, Node, Resolver, Row, Scope, cast};
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use datum::value::temporal::SECOND;
use datum::value::{DateTime, Datum};
use syntax::ast::{self, EventSchedule, EventStatus, EventTimes, IntervalUnit, Statement, StatementKind};
use syntax::unparse::unit_text;

/// The statement with values in its schedule, and disabled on the replica if it comes from a
/// source; `None` for any other one, and for an ALTER EVENT that is as it is.
///
/// # Errors 1235 for subqueries, stored functions and microseconds; 1525 for what is no moment and
/// no amount; 1542 and 1543.
pub(super) fn rewrite(cx: &mut Context, statement: &Statement, text: &[u8]) -> Result<Option<Rewritten>> {
    let (schedule, options) = match &statement.kind {
        StatementKind::CreateEvent(create) => (Some(&create.schedule), &create.options),
        StatementKind::AlterEvent(alter) => (alter.schedule.as_ref(), &alter.options),
        _ => return Ok(None),
    };
    // What a source's log defines runs at the source, if at all: its effects come as rows.
    let disables = cx.is_applier() && options.status != Some(EventStatus::DisabledOnReplica);
    if schedule.is_none() && !disables {
        return Ok(None);
    }
    let whole = statement.span.range();
    let (mut out, mut from) = (Vec::new(), whole.start);
    if let Some(schedule) = schedule {
        let own = schedule.span.range();
        out.extend_from_slice(&text[from..own.start]);
        out.extend_from_slice(evaluated(cx, schedule)?.as_bytes());
        from = own.end;
    }
    if disables {
        let own = options.status_span.range();
        out.extend_from_slice(&text[from..own.start]);
        out.extend_from_slice(b" DISABLE ON REPLICA ");
        from = own.end;
    }
    out.extend_from_slice(&text[from..whole.end]);
    let text = out;
    let sql_mode = cx.settings.variables().uint(ids::SQL_MODE);
    let statement = parse_one(&text, sql_mode)?;
    Ok(Some(Rewritten { statement, text, form: TextForm::Session }))
}

/// What stands behind ON SCHEDULE then.
fn evaluated(cx: &mut Context, schedule: &EventSchedule) -> Result<String> {
    match &schedule.times {
        EventTimes::At(moment) => Ok(format!("AT '{}'", self::moment(cx, moment, "AT")?)),
        EventTimes::Every { value, unit, starts, ends } => {
            let amount = amount(cx, value, *unit)?;
            let now = cx.now();
            let now = DateTime { micros: now.micros - now.micros % SECOND, fsp: 0, ..now };
            let starts = match starts {
                Some(starts) => moment(cx, starts, "STARTS")?,
                None => now,
            };
            let mut out = format!("EVERY {amount} {} STARTS '{starts}'", unit_text(*unit));
            if let Some(ends) = ends {
                let ends = moment(cx, ends, "ENDS")?;
                if ends <= starts {
                    return Err(error::EVENT_ENDS_BEFORE_STARTS.plain());
                }
                out += &format!(" ENDS '{ends}'");
            }
            Ok(out)
        }
    }
}

/// The number of units, or the text that has several.
fn amount(cx: &mut Context, value: &ast::Expr, unit: IntervalUnit) -> Result<String> {
    use IntervalUnit as U;
    if let U::Microsecond
    | U::SecondMicrosecond
    | U::MinuteMicrosecond
    | U::HourMicrosecond
    | U::DayMicrosecond = unit
    {
        return Err(SqlError::unsupported("MICROSECOND"));
    }
    let value = evaluate(cx, value)?;
    if value.is_null() {
        return Err(error::WRONG_VALUE.with(&[&"INTERVAL", &"NULL"]));
    }
    let is_single =
        matches!(unit, U::Second | U::Minute | U::Hour | U::Day | U::Week | U::Month | U::Quarter | U::Year);
    let number = value.to_integer().value;
    let wrong = || error::EVENT_INTERVAL_NOT_POSITIVE_OR_TOO_BIG.plain();
    if is_single {
        return u64::try_from(number).ok().filter(|n| *n > 0).map(|n| n.to_string()).ok_or_else(wrong);
    }
    let text = String::from_utf8_lossy(&value.to_bytes()).trim().to_owned();
    let is_plain = text.chars().all(|c| c.is_ascii_digit() || " :-.".contains(c)) && text.len() <= 60;
    match is_plain && !text.starts_with('-') {
        true => Ok(quote_text_for(&text, 0)),
        false => Err(wrong()),
    }
}

/// The last moment that a schedule may name, as FROM_UNIXTIME has it: 3001-01-18 23:59:59 UTC.
const MOMENT_MAX: i64 = 32_536_771_199;

/// A moment of the session's time zone, of whole seconds.
fn moment(cx: &mut Context, expr: &ast::Expr, what: &str) -> Result<DateTime> {
    let value = evaluate(cx, expr)?;
    let shown = match value.is_null() {
        true => "NULL".to_owned(),
        false => String::from_utf8_lossy(&value.to_bytes()).into_owned(),
    };
    let wrong = || error::WRONG_VALUE.with(&[&what, &shown]);
    let read = cast::datetime(cx, &value, "datetime").ok_or_else(wrong)?;
    let micros = read.unix_micros().filter(|_| read.date.year > 0).ok_or_else(wrong)?;
    if micros.div_euclid(SECOND) > MOMENT_MAX {
        return Err(if what == "ENDS" { error::EVENT_ENDS_BEFORE_STARTS.plain() } else { wrong() });
    }
    Ok(DateTime { micros: read.micros - read.micros % SECOND, fsp: 0, ..read })
}

fn evaluate(cx: &mut Context, ast: &ast::Expr) -> Result<Datum<'static>> {
    const REFUSED: &str = "Event schedule expressions which contain subqueries or stored function calls";
    let is_refused = |e: &Expr| matches!(e.node, Node::Subquery(_) | Node::Stored(..));
    let expr = Resolver::new(cx, Scope::empty()).expr(ast)?;
    if expr.contains(&mut |e| is_refused(e)) {
        return Err(SqlError::unsupported(REFUSED));
    }
    Ok(expr.eval(cx, Row::None)?.into_owned())
}
