//! Where a transaction ends in its source's log, as this server's log keeps it: for sources that
//! are followed by file and offset, and for MariaDB's GTIDs.
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | form: 1 |
//! | 8 | for which position of CHANGE REPLICATION SOURCE (`SourceConfig::position_given_at`) |
//! | lenenc | the log file's name |
//! | 8 | the offset in it |
//! | lenenc | MariaDB's GTIDs, the last of each domain, as `gtid_slave_pos` has them; empty of MySQL |

use std::collections::BTreeMap;

use binlog::event::MariadbGtid;
use stdx::cursor::{Cursor, put_lenenc_bytes};

use super::channel::SourcePosition;
use super::source::SourceConfig;
use crate::instance::Instance;
use datum::error::{Result, SqlError};

const FORM: u8 = 1;

/// The end of this server's log, which is durable then: no transaction that a power cut takes away
/// and another replaces has a place before it.
///
/// # Errors
/// The log can't be written.
pub(crate) fn log_end(instance: &Instance) -> Result<u64> {
    let log = instance.log();
    let end = log.end();
    log.ensure_durable(end).map_err(SqlError::from)?;
    Ok(end.to_u64())
}

/// A place in the log of a source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coordinates {
    /// `SourceConfig::position_given_at` when they were written: after another CHANGE REPLICATION
    /// SOURCE they are void.
    pub given_at: u64,
    /// By file and offset.
    pub position: SourcePosition,
    /// MariaDB's GTIDs, by domain.
    pub gtids: BTreeMap<u32, MariadbGtid>,
}

impl Coordinates {
    /// What the log keeps.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORM];
        out.extend_from_slice(&self.given_at.to_le_bytes());
        put_lenenc_bytes(&mut out, self.position.file.as_bytes());
        out.extend_from_slice(&self.position.offset.to_le_bytes());
        put_lenenc_bytes(&mut out, self.gtids_text().as_bytes());
        out
    }

    /// What [`Self::encode`] wrote; `None` for other bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut c = Cursor::new(bytes);
        if c.u8().ok()? != FORM {
            return None;
        }
        let given_at = c.u64().ok()?;
        let file = String::from_utf8(c.lenenc_bytes().ok()?.to_vec()).ok()?;
        let offset = c.u64().ok()?;
        let gtids = parse_gtids(std::str::from_utf8(c.lenenc_bytes().ok()?).ok()?)?;
        Some(Self { given_at, position: SourcePosition { file, offset }, gtids })
    }

    /// What of them counts for a source as it is configured now: MariaDB's GTIDs outlive another
    /// host, or position, but not RESET REPLICA.
    pub(super) fn of_source(self, source: &SourceConfig) -> Self {
        if self.given_at == source.position_given_at {
            return self;
        }
        let gtids = if self.given_at >= source.begun_at { self.gtids } else { BTreeMap::new() };
        Self { given_at: source.position_given_at, gtids, ..Self::default() }
    }

    /// As `gtid_slave_pos` has them.
    pub fn gtids_text(&self) -> String {
        self.gtids.values().map(ToString::to_string).collect::<Vec<_>>().join(",")
    }
}

/// GTIDs as `gtid_slave_pos` has them; `None` for another text.
fn parse_gtids(text: &str) -> Option<BTreeMap<u32, MariadbGtid>> {
    let one = |gtid: &str| {
        let mut parts = gtid.split('-');
        let domain_id = parts.next()?.parse().ok()?;
        let server_id = parts.next()?.parse().ok()?;
        let sequence = parts.next()?.parse().ok()?;
        parts.next().is_none().then_some((domain_id, MariadbGtid { domain_id, server_id, sequence }))
    };
    text.split(',').map(str::trim).filter(|gtid| !gtid.is_empty()).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_read_as_they_were_written() {
        let position = SourcePosition { file: "mysql-bin.000007".into(), offset: 1 << 33 };
        let gtids = parse_gtids("0-1-270, 3-9-18446744073709551615").unwrap();
        for gtids in [BTreeMap::new(), gtids] {
            let coordinates = Coordinates { given_at: u64::MAX, position: position.clone(), gtids };
            assert_eq!(Coordinates::decode(&coordinates.encode()), Some(coordinates.clone()));
        }
        assert_eq!(Coordinates::decode(b""), None);
        assert_eq!(Coordinates::decode(&[2, 0, 0]), None);
        for text in ["1-2", "1-2-3-4", "a-1-2", "1-2--3"] {
            assert_eq!(parse_gtids(text), None, "{text}");
        }
    }

    #[test]
    fn another_position_voids_those_of_before_and_a_reset_the_gtids_too() {
        let source =
            |position_given_at, begun_at| SourceConfig { position_given_at, begun_at, ..Default::default() };
        let gtids = parse_gtids("0-1-270").unwrap();
        let position = SourcePosition { file: "b.000007".into(), offset: 9 };
        let old = Coordinates { given_at: 5, position, gtids: gtids.clone() };
        assert_eq!(old.clone().of_source(&source(5, 5)), old);
        let moved = Coordinates { given_at: 7, gtids, ..Coordinates::default() };
        assert_eq!(old.clone().of_source(&source(7, 5)), moved);
        let reset = Coordinates { given_at: 7, ..Coordinates::default() };
        assert_eq!(old.of_source(&source(7, 7)), reset);
    }
}
