//! Up to where this server has the logs of its sources, for those that it does not follow by GTIDs.
//!
//! A replica's transaction brings the place where it ends in the source's log: as an event of its
//! group, and as a record under the channel's name. Both are committed by the same group, so the
//! record says which transactions of the source the tables hold, after a crash too.

use binlog::LogPosition;
use binlog::event::SourcePositionEvent;

use crate::batch::WriteBatch;
use crate::entry::TreeId;
use crate::error::StoreError;
use crate::store::Store;

/// Where the records are: a key is a channel's name.
const TREE: TreeId = TreeId(3);

/// Where a replica's transaction ends in its source's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePosition {
    /// The channel's name; empty for the default channel.
    pub channel: String,
    /// The place, in the applier's own form.
    pub position: Vec<u8>,
}

impl SourcePosition {
    /// The event that says so.
    pub(crate) fn event(&self) -> SourcePositionEvent<'_> {
        SourcePositionEvent { channel: self.channel.as_bytes(), position: &self.position }
    }

    /// Adds the record.
    pub(crate) fn record(&self, out: &mut WriteBatch) {
        out.put(TREE, self.channel.as_bytes(), &self.position);
    }

    /// The tree and the key of a channel's record.
    pub(crate) fn key(&self) -> (TreeId, &[u8]) {
        (TREE, self.channel.as_bytes())
    }

    /// What an event of the log said.
    pub(crate) fn of_event(event: &SourcePositionEvent<'_>) -> Self {
        let channel = String::from_utf8_lossy(event.channel).into_owned();
        Self { channel, position: event.position.to_vec() }
    }
}

/// The place up to which the tables hold what came by a channel; `None` if nothing did, or if it is
/// followed by GTIDs.
///
/// # Errors
/// Those of `Store::get`.
pub fn load(store: &Store, channel: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let value = store.get(TREE, channel.as_bytes(), LogPosition::MAX)?;
    Ok(value.map(|value| value.to_vec()))
}
