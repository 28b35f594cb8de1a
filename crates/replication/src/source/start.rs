//! Where a reader is to begin: at a position that it names, or at the first transaction that it has
//! not got.
//!
//! By GTIDs the walk goes from the newest file back to the first one in front of which the reader
//! has everything. Whatever it has of that file and later ones is skipped there (`skip.rs`).

use super::{ChecksumWish, DumpError, FIRST_EVENT, NO_SUCH_FILE, Request};
use binlog::LogPosition;
use binlog::gtid::GtidSet;
use binlog::log::{Log, LogError};

/// An error's text may be this long: what a replica has room for, less the words around.
const TEXT_MAX: usize = 1024;

/// The position where a stream begins.
pub(super) struct Start {
    pub(super) position: LogPosition,
    /// The reader goes on in a file of which it has transactions, so that the file's own beginning
    /// is no news for it.
    pub(super) resumes: bool,
}

/// The position that the request names.
pub(super) fn find(log: &Log, request: &Request<'_>) -> Result<Start, DumpError> {
    let start = match &request.has {
        Some(has) if request.file.is_empty() => by_gtids(log, has)?,
        _ => by_position(log, request)?,
    };
    if request.checksum == ChecksumWish::Unknown {
        return Err(fatal(
            "Replica can not handle replication events with the checksum that source is configured to log",
        ));
    }
    Ok(start)
}

fn fatal(text: impl Into<String>) -> DumpError {
    DumpError::Fatal(text.into())
}

fn by_position(log: &Log, request: &Request<'_>) -> Result<Start, DumpError> {
    let files = log.files();
    let wanted = |name: &str| request.file.is_empty() || name.as_bytes() == request.file;
    let file = files.iter().find(|f| wanted(&f.name)).ok_or_else(|| fatal(NO_SUCH_FILE))?;
    if request.offset < FIRST_EVENT {
        return Err(fatal("Client requested source to start replication from position < 4"));
    }
    let durable = log.durable();
    let end = if durable.file() == file.number { durable.offset() } else { file.size };
    if request.offset > end {
        return Err(fatal("Client requested source to start replication from position > file size"));
    }
    Ok(Start { position: LogPosition::new(file.number, request.offset), resumes: false })
}

fn by_gtids(log: &Log, has: &GtidSet) -> Result<Start, DumpError> {
    // What is durable but not published yet may have been sent already.
    if !has.of_server(log.server_uuid()).is_subset(&log.gtid_ordered()) {
        return Err(fatal(REPLICA_HAS_MORE));
    }
    let mut purged = log.gtid_purged()?;
    if !purged.is_subset(has) {
        purged.subtract(has);
        return Err(fatal(purged_text(has, &purged)));
    }
    let durable = log.durable().file();
    for file in log.files().iter().rev().filter(|file| file.number <= durable) {
        let previous = match log.previous_gtids(file.number) {
            Err(LogError::Purged { .. }) => break,
            read => read?,
        };
        if previous.is_subset(has) {
            let resumes = !has.is_subset(&previous);
            return Ok(Start { position: LogPosition::new(file.number, FIRST_EVENT), resumes });
        }
    }
    // Files were removed meanwhile.
    let mut purged = log.gtid_purged()?;
    purged.subtract(has);
    Err(fatal(purged_text(has, &purged)))
}

/// MySQL's error 1885.
const REPLICA_HAS_MORE: &str = "Replica has more GTIDs than the source has, using the source's SERVER_UUID. \
    This may indicate that the end of the binary log was truncated or that the last binary log file was lost, e.g., \
    after a power or disk failure when sync_binlog != 1. The source may or may not have rolled back transactions that \
    were already replicated to the replica. Suggest to replicate any transactions that source has rolled back from \
    replica to source, and/or commit empty transactions on source to account for transactions that have been \
    committed on source but are not included in GTID_EXECUTED.";

/// MySQL's error 1789, with as much of the sets as there is room for.
fn purged_text(has: &GtidSet, missing: &GtidSet) -> String {
    let text = "Cannot replicate because the source purged required binary logs. Replicate the missing transactions \
        from elsewhere, or provision a new replica from backup. Consider increasing the source's binary log \
        expiration period.";
    let (has, missing) = (has.to_string(), missing.to_string());
    let all = format!(
        "{text} The GTID set sent by the replica is '{has}', and the missing transactions are '{missing}'."
    );
    if all.len() < TEXT_MAX {
        return all;
    }
    tracing::warn!("a replica that has '{has}' asked for '{missing}', which were purged");
    let short = format!("{text} The missing transactions are '{missing}'.");
    if short.len() < TEXT_MAX {
        return short;
    }
    format!(
        "{text} The GTID sets and the missing purged transactions are too long to print in this message. For more \
         information, please see the source's error log or the manual for GTID_SUBTRACT."
    )
}
