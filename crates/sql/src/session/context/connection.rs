//! Who the client is, and what stays so for as long as it is connected.

use crate::catalog::{Catalog, UserAtHost};
use crate::session::grants::CachedGrants;
use crate::session::{Connection, TlsSession};

/// What the session knows of its connection. COM_RESET_CONNECTION keeps all of it; only the replay
/// of a DDL statement changes the account.
pub(crate) struct ConnectionInfo {
    /// As the handshake sent it, and as KILL takes it.
    pub(crate) id: u64,
    /// The name that the client gave, and where it comes from.
    pub(crate) user: UserAtHost,
    /// The account that it was authenticated as.
    pub(crate) account: UserAtHost,
    /// True if the client has given a password.
    pub(crate) with_password: bool,
    pub(crate) tls: Option<TlsSession>,
    /// CLIENT_FOUND_ROWS.
    pub(crate) count_found_rows: bool,
    /// See [`Connection::is_startup`].
    pub(in crate::session) is_startup: bool,
    /// CLIENT_MULTI_RESULTS.
    pub(crate) multi_results: bool,
    /// What the account may do.
    pub(in crate::session) cached_grants: CachedGrants,
    /// The password had expired when the session began.
    pub(in crate::session) began_expired: bool,
}

impl ConnectionInfo {
    pub(super) fn new(connection: &Connection, catalog: &Catalog) -> Self {
        let cached_grants = CachedGrants::of(catalog, &connection.account);
        Self {
            id: connection.id,
            user: UserAtHost::new(&*connection.user, &*connection.host),
            account: connection.account.clone(),
            with_password: connection.with_password,
            tls: connection.tls,
            count_found_rows: connection.found_rows,
            is_startup: connection.is_startup,
            multi_results: connection.multi_results,
            began_expired: cached_grants.expired(),
            cached_grants,
        }
    }

    /// What USER() shows: the name given, and where the client comes from.
    pub(crate) fn user_text(&self) -> String {
        self.user.to_string()
    }
}
