//! DROP of what this server has none of: events, servers. It doesn't exist, which
//! is a note with IF EXISTS: dumps and installers begin with such statements.

use super::{Plan, Settings};
use datum::error::{self, Result, SqlError};
use syntax::ast::ObjectName;

pub(super) fn drop_event(name: &ObjectName, if_exists: bool, settings: &Settings) -> Result<Plan> {
    let (_, event) = settings.object(name)?;
    missing(
        if_exists,
        match if_exists {
            true => error::SP_DOES_NOT_EXIST.with(&[&"Event", &event]),
            false => error::EVENT_DOES_NOT_EXIST.with(&[&event]),
        },
    )
}

/// MySQL has no note for this one, and counts it as dropped.
pub(super) fn drop_server(name: &str, if_exists: bool) -> Result<Plan> {
    match if_exists {
        true => Ok(Plan { affected: 1, ..Plan::default() }),
        false => Err(error::FOREIGN_SERVER_DOESNT_EXIST.with(&[&name])),
    }
}

fn missing(if_exists: bool, e: SqlError) -> Result<Plan> {
    if if_exists { Ok(Plan::nothing(e)) } else { Err(e) }
}
