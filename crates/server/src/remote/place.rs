//! How far a server has come: its own place in its log, and on a replica that of its source.

use super::{RemoteSession, Runs, text};
use crate::log_tool::ToolError;
use binlog::gtid::GtidSet;
use std::fmt;

/// Whose words a server understands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flavor {
    Duramen,
    Mysql,
    MariaDb,
}

/// A server that has said who it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) flavor: Flavor,
    pub(crate) version: String,
    pub(crate) server_id: u64,
    /// Empty for MariaDB.
    pub(crate) server_uuid: String,
    /// Each transaction has a GTID as MySQL has them.
    pub(crate) has_gtids: bool,
    /// It has a binary log.
    pub(crate) has_log: bool,
}

impl Facts {
    /// Asks a server.
    ///
    /// # Errors
    /// The server's.
    pub(crate) fn of(session: &mut RemoteSession) -> Result<Self, ToolError> {
        // MariaDB's greeting says that it is an old MySQL.
        let version = session.version().trim_start_matches("5.5.5-").to_owned();
        let [comment, server_id, log] =
            session.first("SELECT @@version_comment, @@global.server_id, @@global.log_bin")?;
        let flavor = match (version.contains("MariaDB"), comment) {
            (true, _) => Flavor::MariaDb,
            (_, Some(comment)) if comment.to_lowercase().contains("duramen") => Flavor::Duramen,
            _ => Flavor::Mysql,
        };
        let [server_uuid, gtid_mode] = match flavor {
            Flavor::MariaDb => [None, None],
            _ => session.first("SELECT @@global.server_uuid, @@global.gtid_mode")?,
        };
        Ok(Self {
            flavor,
            version,
            server_id: server_id.and_then(|id| id.parse().ok()).unwrap_or(0),
            server_uuid: server_uuid.unwrap_or_default(),
            has_gtids: gtid_mode.is_some_and(|mode| mode == "ON"),
            has_log: log.is_some_and(|on| on == "1"),
        })
    }

    /// The server's kind and version, for people.
    pub(crate) fn name(&self) -> String {
        match self.flavor {
            Flavor::Duramen => format!("Duramen ({})", self.version),
            Flavor::Mysql => format!("MySQL {}", self.version),
            Flavor::MariaDb => self.version.clone(),
        }
    }
}

/// A place in a server's log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct LogPlace {
    pub(crate) file: String,
    pub(crate) offset: u64,
    /// What is executed there; `None` if not every transaction has a GTID.
    pub(crate) gtids: Option<GtidSet>,
}

impl fmt::Display for LogPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.gtids {
            Some(gtids) => write!(f, "{gtids}"),
            None => write!(f, "{}:{}", self.file, self.offset),
        }
    }
}

impl LogPlace {
    /// The end of the server's log now, or of the snapshot that a Duramen's session reads.
    ///
    /// # Errors
    /// The server's; it has no binary log.
    pub(crate) fn of_log(session: &mut RemoteSession, facts: &Facts) -> Result<Self, ToolError> {
        if !facts.has_log {
            return Err(ToolError::Refused(format!(
                "{}: it has no binary log (log_bin is OFF), so that its place is not known",
                session.remote().server()
            )));
        }
        let names_status = match facts.flavor {
            Flavor::MariaDb => false,
            Flavor::Duramen => true,
            Flavor::Mysql => major_minor(&facts.version) >= (8, 2),
        };
        let sql = if names_status { "SHOW BINARY LOG STATUS" } else { "SHOW MASTER STATUS" };
        let [file, offset, _, _, gtids]: [Option<String>; 5] = session.first(sql)?;
        let gtids = match facts.has_gtids {
            true => Some(gtid_set(session, &gtids.unwrap_or_default())?),
            false => None,
        };
        let offset = offset.and_then(|offset| offset.parse().ok());
        let (file, offset) = file.zip(offset).ok_or_else(|| {
            ToolError::Refused(format!("{}: {sql} tells no place", session.remote().server()))
        })?;
        Ok(Self { file, offset, gtids })
    }

    /// What of `source` a server that follows it has applied: by GTIDs if both have them, or else
    /// by the channel's coordinates, and the channel's name; `None` if it does not follow that one,
    /// and it can't be told.
    ///
    /// # Errors
    /// The server's.
    pub(crate) fn applied(
        session: &mut RemoteSession,
        facts: &Facts,
        source: &Facts,
    ) -> Result<Option<(Self, Option<String>)>, ToolError> {
        let channel = channel_of(session, facts, source)?;
        if facts.has_gtids && source.has_gtids {
            let [executed] = session.first("SELECT @@global.gtid_executed")?;
            let gtids = Some(gtid_set(session, &executed.unwrap_or_default())?);
            return Ok(Some((Self { gtids, ..Self::default() }, channel.map(|c| c.name))));
        }
        Ok(channel.map(|c| (Self { file: c.file, offset: c.offset, gtids: None }, Some(c.name))))
    }

    /// How it is to `source`, the place in the source's log that is waited for.
    pub(crate) fn compared_to(&self, source: &LogPlace) -> Reached {
        match (&self.gtids, &source.gtids) {
            (Some(ours), Some(theirs)) => {
                let mut beyond = ours.clone();
                beyond.subtract(theirs);
                // What other servers have written here is no transaction of the source's.
                let of_source =
                    beyond.intervals().any(|(uuid, _)| theirs.intervals().any(|(u, _)| u == uuid));
                match (theirs.is_subset(ours), of_source) {
                    (false, _) => Reached::Before,
                    (true, true) => Reached::Beyond,
                    (true, false) => Reached::There,
                }
            }
            _ => match (&self.file, self.offset).cmp(&(&source.file, source.offset)) {
                std::cmp::Ordering::Less => Reached::Before,
                std::cmp::Ordering::Equal => Reached::There,
                std::cmp::Ordering::Greater => Reached::Beyond,
            },
        }
    }

    /// The transactions here that `source` does not have.
    pub(crate) fn extra(&self, source: &LogPlace) -> Option<GtidSet> {
        let mut extra = self.gtids.clone()?;
        extra.subtract(source.gtids.as_ref()?);
        (!extra.is_empty()).then_some(extra)
    }
}

/// How far a replica is, beside a place of its source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reached {
    Before,
    There,
    Beyond,
}

/// What a replica says of a channel.
struct ChannelState {
    name: String,
    file: String,
    offset: u64,
}

/// The channel by which a server follows another one.
fn channel_of(
    session: &mut RemoteSession,
    facts: &Facts,
    source: &Facts,
) -> Result<Option<ChannelState>, ToolError> {
    let sql = match facts.flavor {
        Flavor::MariaDb => "SHOW ALL SLAVES STATUS",
        Flavor::Duramen => "SHOW REPLICA STATUS",
        Flavor::Mysql if major_minor(&facts.version) >= (8, 1) => "SHOW REPLICA STATUS",
        Flavor::Mysql => "SHOW SLAVE STATUS",
    };
    let result = session.try_query(sql).map_err(|e| session.remote().refused(sql, &e))?;
    let column = |names: &[&str]| {
        result.columns.iter().position(|c| names.iter().any(|n| n.as_bytes().eq_ignore_ascii_case(c)))
    };
    let (id, uuid) =
        (column(&["Source_Server_Id", "Master_Server_Id"]), column(&["Source_UUID", "Master_UUID"]));
    let name = column(&["Channel_Name", "Connection_name"]);
    let file = column(&["Relay_Source_Log_File", "Relay_Master_Log_File"]);
    let offset = column(&["Exec_Source_Log_Pos", "Exec_Master_Log_Pos"]);
    let channels = result.rows.iter().map(|row| {
        let cell = |at: Option<usize>| row.get(at?)?.clone().map(text);
        let is_source = match cell(uuid) {
            Some(uuid) if !uuid.is_empty() && !source.server_uuid.is_empty() => uuid == source.server_uuid,
            _ => cell(id).and_then(|id| id.parse().ok()) == Some(source.server_id),
        };
        let offset = cell(offset).and_then(|o| o.parse().ok()).unwrap_or(0);
        let state = ChannelState {
            name: cell(name).unwrap_or_default(),
            file: cell(file).unwrap_or_default(),
            offset,
        };
        (is_source, state)
    });
    Ok(channels.filter(|(is_source, _)| *is_source).map(|(_, state)| state).next())
}

/// `8.4.2-x` as (8, 4).
pub(crate) fn major_minor(version: &str) -> (u32, u32) {
    let mut parts = version.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse().unwrap_or(0));
    (parts.next().unwrap_or(0), parts.next().unwrap_or(0))
}

fn gtid_set(session: &RemoteSession, written: &str) -> Result<GtidSet, ToolError> {
    let compact: String = written.split_whitespace().collect();
    compact.parse().map_err(|_| {
        ToolError::Refused(format!(
            "{}: '{compact}' is no GTID set that is known here",
            session.remote().server()
        ))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const A: &str = "3E11FA47-71CA-11E1-9E33-C80AA9429562";
    const B: &str = "3E11FA47-71CA-11E1-9E33-C80AA9429563";

    fn executed(text: &str) -> LogPlace {
        LogPlace { gtids: Some(text.parse().unwrap()), ..LogPlace::default() }
    }

    #[test]
    fn transactions_of_others_do_not_count_as_beyond() {
        let source = executed(&format!("{A}:1-5"));
        let check =
            |text: String, expected| assert_eq!(executed(&text).compared_to(&source), expected, "{text}");
        check(format!("{A}:1-4"), Reached::Before);
        check(format!("{A}:1-5"), Reached::There);
        check(format!("{A}:1-5,{B}:1-2"), Reached::There);
        check(format!("{A}:1-6"), Reached::Beyond);
        check(format!("{A}:1-4:6"), Reached::Before);
        assert_eq!(
            executed(&format!("{A}:1-5,{B}:1-2")).extra(&source).unwrap().to_string().to_uppercase(),
            format!("{B}:1-2")
        );
    }

    #[test]
    fn coordinates_are_in_the_order_of_files() {
        let at = |file: &str, offset| LogPlace { file: file.to_owned(), offset, gtids: None };
        let source = at("binlog.000002", 500);
        assert_eq!(at("binlog.000001", 900).compared_to(&source), Reached::Before);
        assert_eq!(at("binlog.000002", 500).compared_to(&source), Reached::There);
        assert_eq!(at("binlog.000003", 4).compared_to(&source), Reached::Beyond);
    }

    #[test]
    fn versions_have_two_numbers_that_count() {
        assert_eq!(major_minor("9.7.4-2"), (9, 7));
        assert_eq!(major_minor("5.7.44-log"), (5, 7));
        assert_eq!(major_minor("10.11.19-MariaDB"), (10, 11));
    }
}
