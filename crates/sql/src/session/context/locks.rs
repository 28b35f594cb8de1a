//! Locks that a session asks for by name.

use crate::session::table_locks::TableLocks;

/// They outlive statements and transactions; COM_RESET_CONNECTION gives all back.
#[derive(Default)]
pub(crate) struct SessionLocks {
    /// LOCK TABLES and its like.
    pub(in crate::session) tables: TableLocks,
    /// GET_LOCK was granted, so that there may be locks to give back.
    pub(crate) holds_named: bool,
}
