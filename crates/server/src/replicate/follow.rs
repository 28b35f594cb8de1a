//! The end of the copy: what it has counts as executed, and the channel begins behind it.

use super::Ignored;
use super::local::{Local, LocalSession};
use super::source::Source;
use crate::log_tool::ToolError;
use crate::remote::place::LogPlace;
use crate::remote::{Remote, Runs};
use binlog::gtid::GtidSet;

/// Sets the channel up; returns the transactions of this server's own, which are the copy's.
///
/// # Errors
/// The database's.
pub(super) fn begin(
    local: &Local,
    remote: &Remote,
    source: &Source,
    place: &LogPlace,
    ignored: &Ignored,
) -> Result<GtidSet, ToolError> {
    let mut sql = vec!["RESET REPLICA ALL".to_owned(), channel(remote, source, place)];
    sql.extend(filter(ignored));
    local.with_session(|session| {
        if let Some(gtids) = &place.gtids {
            // An earlier try may have come so far.
            let mut new = gtids.clone();
            new.subtract(&executed(session)?);
            if !new.is_empty() {
                session.run(&format!("SET GLOBAL gtid_purged = '+{new}'"))?;
            }
        }
        sql.iter().try_for_each(|sql| session.run(sql))?;
        let own = local.server_uuid().parse();
        let own = own.map_err(|_| ToolError::Refused("this server's UUID is none".into()))?;
        Ok(executed(session)?.of_server(own))
    })
}

fn executed(session: &mut LocalSession) -> Result<GtidSet, ToolError> {
    let [text] = session.first("SELECT @@global.gtid_executed")?;
    let compact: String = text.unwrap_or_default().split_whitespace().collect();
    compact.parse().map_err(|_| ToolError::Refused(format!("'{compact}' is no GTID set")))
}

fn channel(remote: &Remote, source: &Source, place: &LogPlace) -> String {
    let mut options = vec![
        format!("SOURCE_HOST = {}", quoted(&remote.host)),
        format!("SOURCE_PORT = {}", remote.port),
        format!("SOURCE_USER = {}", quoted(&remote.user)),
        format!("SOURCE_PASSWORD = {}", quoted(&remote.password)),
        format!("SOURCE_SSL = {}", u8::from(source.has_tls())),
    ];
    match &remote.ssl_ca {
        Some(ca) if source.has_tls() => {
            options.push(format!("SOURCE_SSL_CA = {}", quoted(&ca.to_string_lossy())));
            options.push(format!("SOURCE_SSL_VERIFY_SERVER_CERT = {}", u8::from(remote.verifies_identity())));
        }
        _ => options.push(format!("GET_SOURCE_PUBLIC_KEY = {}", u8::from(!source.has_tls()))),
    }
    match place.gtids.is_some() && !source.is_mariadb() {
        true => options.push("SOURCE_AUTO_POSITION = 1".to_owned()),
        false => {
            options.push(format!("SOURCE_LOG_FILE = {}", quoted(&place.file)));
            options.push(format!("SOURCE_LOG_POS = {}", place.offset));
        }
    }
    format!("CHANGE REPLICATION SOURCE TO {}", options.join(", "))
}

fn filter(ignored: &Ignored) -> Option<String> {
    // In a pattern these two stand for others.
    let escaped = |name: &str| name.replace('_', "\\_").replace('%', "\\%");
    let databases = ignored.databases.iter().map(|name| format!("{}.%", escaped(name)));
    let tables = ignored.tables.iter().map(|name| escaped(name));
    let patterns: Vec<String> =
        databases.chain(tables).map(|p| format!("'{}'", p.replace('\'', "''"))).collect();
    (!patterns.is_empty())
        .then(|| format!("CHANGE REPLICATION FILTER REPLICATE_WILD_IGNORE_TABLE = ({})", patterns.join(", ")))
}

/// A text of an option, which can be no hexadecimal literal; the session has
/// `NO_BACKSLASH_ESCAPES`.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_said_as_they_are() {
        assert_eq!(quoted("it's \\ 1"), "'it''s \\ 1'");
    }
}
