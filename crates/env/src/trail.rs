//! Writing much in the background without delaying the commits' flushes.
//!
//! A thread that writes tens of megabytes and then flushes them delays all other flushes: a commit
//! that needs one write waits until the disk has taken all of it. So it is written in pieces, of
//! which no more than two are on their way at a time: the disk writes one while the next one is
//! made. The flush at the end has no more than that to write.

use crate::File;
use std::io;
use std::ops::Range;

/// Bytes that are handed to the disk together, at least: what may delay a commit's flush.
pub const PIECE: usize = 256 << 10;

/// What is on its way to the disk, as ranges of the file.
#[derive(Debug, Default)]
pub struct Trail {
    /// Written, and not handed to the disk yet: less than a piece.
    fresh: Range<u64>,
    /// The piece that the disk is writing.
    begun: Range<u64>,
    is_lost: bool,
}

impl Trail {
    /// Writes `bytes` at `offset`; the last of them may still be on their way when this returns.
    /// After an error some of the bytes are written; what was written before is sound unless
    /// [`Self::is_lost`] says otherwise.
    ///
    /// # Errors
    /// Those of [`File::write_at`] and [`File::await_written`]; see [`Self::is_lost`] for what they
    /// leave.
    pub fn write(&mut self, file: &dyn File, bytes: &[u8], offset: u64) -> io::Result<()> {
        let mut at = offset;
        for part in bytes.chunks(PIECE) {
            file.write_at(part, at)?;
            // After a cut some are written again.
            let start = if at <= self.fresh.end { at.min(self.fresh.start) } else { at };
            at += part.len() as u64;
            self.fresh = start..at;
            if at - start >= PIECE as u64 {
                self.begin(file)?;
            }
        }
        Ok(())
    }

    fn begin(&mut self, file: &dyn File) -> io::Result<()> {
        let Range { start, end } = self.fresh;
        file.begin_writing(start, end - start);
        self.fresh = end..end;
        let before = std::mem::replace(&mut self.begun, start..end);
        // No bytes would mean all to the file's end.
        let done = if before.is_empty() {
            Ok(())
        } else {
            file.await_written(before.start, before.end - before.start)
        };
        self.is_lost |= done.is_err();
        done
    }

    /// True if a write failed after it had been taken: some bytes never reach the disk, and no
    /// later flush reports it (E4).
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{Env, OpenMode, RealEnv, SimEnv};
    use std::path::Path;

    fn write(env: &dyn Env, path: &Path) -> Vec<u8> {
        let bytes: Vec<u8> = (0..9 * PIECE / 2).map(|i| (i / 1000) as u8).collect();
        let file = env.open(path, OpenMode::CreateNew).unwrap();
        let mut trail = Trail::default();
        let mut at = 0;
        for part in [
            &bytes[..1],
            &bytes[1..1],
            &bytes[1..PIECE],
            &bytes[PIECE..2 * PIECE + 9],
            &bytes[2 * PIECE + 9..],
        ] {
            trail.write(&*file, part, at).unwrap();
            at += part.len() as u64;
        }
        file.sync_data().unwrap();
        assert!(env.read_file(path).unwrap() == bytes);
        bytes
    }

    #[test]
    fn no_more_than_two_pieces_are_on_their_way() {
        let env = SimEnv::new(1);
        let path = Path::new("/a");
        write(&env, path);
        let most = env.backlog_max(path).unwrap() as usize;
        assert!((2 * PIECE..2 * PIECE + 9000).contains(&most), "{most}");
        assert_eq!(env.counters().awaits, 3);
        let file = env.open(path, OpenMode::ReadWrite).unwrap();
        file.write_at(&vec![7; 5 * PIECE], 0).unwrap();
        assert_eq!(env.backlog_max(path), Some(5 * PIECE as u64), "what is measured would show more");
    }

    #[test]
    fn a_real_file_is_written_as_well() {
        let folder = tempfile::tempdir().unwrap();
        write(&RealEnv, &folder.path().join("file"));
    }
}
