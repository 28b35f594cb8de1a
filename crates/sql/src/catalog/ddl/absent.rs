//! DROP of what this server has none of: servers of other tables. Dumps and installers begin with
//! such statements.

use super::Plan;
use datum::error::{self, Result};

/// MySQL has no note for this one, and counts it as dropped.
pub(super) fn drop_server(name: &str, if_exists: bool) -> Result<Plan> {
    match if_exists {
        true => Ok(Plan { affected: 1, ..Plan::default() }),
        false => Err(error::FOREIGN_SERVER_DOESNT_EXIST.with(&[&name])),
    }
}
