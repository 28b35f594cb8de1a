//! Where a transaction ends in its source's log, as this server's log keeps it: for sources that are
//! followed by file and offset, and for MariaDB's GTIDs.
//!
//! | bytes | field |
//! | --- | --- |
//! | 1 | form: 1 |
//! | lenenc | the log file's name |
//! | 8 | the offset in it |
//! | lenenc | MariaDB's GTIDs, the last of each domain, as `gtid_slave_pos` has them; empty of MySQL |

use std::collections::BTreeMap;

use binlog::event::MariadbGtid;
use stdx::cursor::{Cursor, put_lenenc_bytes};

use super::channel::SourcePosition;

const FORM: u8 = 1;

/// A place in the log of a source.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coordinates {
    /// By file and offset.
    pub position: SourcePosition,
    /// MariaDB's GTIDs, by domain.
    pub gtids: BTreeMap<u32, MariadbGtid>,
}

impl Coordinates {
    /// What the log keeps.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = vec![FORM];
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
        let file = String::from_utf8(c.lenenc_bytes().ok()?.to_vec()).ok()?;
        let offset = c.u64().ok()?;
        let gtids = parse_gtids(std::str::from_utf8(c.lenenc_bytes().ok()?).ok()?)?;
        Some(Self { position: SourcePosition { file, offset }, gtids })
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
            let coordinates = Coordinates { position: position.clone(), gtids };
            assert_eq!(Coordinates::decode(&coordinates.encode()), Some(coordinates.clone()));
        }
        assert_eq!(Coordinates::decode(b""), None);
        assert_eq!(Coordinates::decode(&[2, 0, 0]), None);
        for text in ["1-2", "1-2-3-4", "a-1-2", "1-2--3"] {
            assert_eq!(parse_gtids(text), None, "{text}");
        }
    }
}
