//! The durable mark: a small file that says up to where the log was flushed.
//!
//! After a power cut the log's bytes alone don't distinguish a torn tail from damage: writes that
//! were not flushed survive in any order, so whole groups may lie after a torn one, at
//! `sync_binlog` = 0 any number of them. So the log notes down, when a flush has returned, how far
//! it got. The next start knows then that whatever is bad before that place was whole on the disk
//! once, and that what is missing there was there (`recovery.rs`).
//!
//! (D1) The mark never says more than is durable: it is written after the flush that it records.
//!      So it need not be flushed itself: an older mark that a power cut leaves proves less, and
//!      nothing wrong.
//! (D2) It costs commits nothing: a thread of its own overwrites the same sector of the same file,
//!      [`MARK_DELAY`] after a flush at the earliest, and flushes it [`MARK_FLUSH`] after that. A
//!      process that dies leaves a mark that old; so does a power cut, but for the flush.
//! (D3) One that can't be read proves nothing, and is logged; one that can't be written while the
//!      log is open stops nothing.
//!
//! | bytes | what |
//! | --- | --- |
//! | 16 | the packed position, in hexadecimal digits |
//! | 1, 8 | a space; the CRC-32 of the 16 digits, in hexadecimal digits |
//! | 103 | a space; the same position for people, as `binlog.000008:1234`; spaces; a newline |

use super::error::LogError;
use super::names::Folder;
use crate::position::{FileNumber, LogPosition};
use env::{File, OpenMode};
use parking_lot::Mutex;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

/// The least time between the end of a flush and the mark that records it.
pub(super) const MARK_DELAY: Duration = Duration::from_millis(20);
/// How long a mark may be written without being flushed.
pub(super) const MARK_FLUSH: Duration = Duration::from_secs(5);

/// Bytes of the file: less than a sector, so that a power cut leaves the old mark or the new one.
const LEN: usize = 128;
const _: () = assert!(LEN <= 512, "a power cut tears no sector (D2)");

/// What the file says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MarkRead {
    /// There is no such file: the log is new, or was last open in a version that had none.
    Missing,
    /// Its checksum is wrong.
    Damaged,
    At(LogPosition),
}

/// Reads the mark.
pub(super) fn read(folder: &Folder) -> io::Result<MarkRead> {
    let mut bytes = [0; LEN];
    let file = match folder.env.open(&folder.durable_mark(), OpenMode::Read) {
        Ok(file) => file,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(MarkRead::Missing),
        Err(e) => return Err(e),
    };
    match file.read_at(&mut bytes, 0)? {
        // A power cut, or a full disk, between its creation and its first write.
        0 => Ok(MarkRead::Missing),
        n if bytes[..n].iter().all(|&b| b == 0) => Ok(MarkRead::Missing),
        n => Ok(decode(&bytes[..n]).map_or(MarkRead::Damaged, MarkRead::At)),
    }
}

fn decode(bytes: &[u8]) -> Option<LogPosition> {
    let (digits, remaining) = bytes.split_at_checked(16)?;
    let crc = remaining.strip_prefix(b" ")?.get(..8)?;
    let parse = |digits: &[u8]| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    let position = LogPosition::from_u64(parse(digits)?);
    let is_right = parse(crc)? == u64::from(crc32fast::hash(digits)) && position.file() > FileNumber(0);
    is_right.then_some(position)
}

fn encode(position: LogPosition, name: &str) -> Vec<u8> {
    let digits = format!("{:016x}", position.to_u64());
    let crc = crc32fast::hash(digits.as_bytes());
    let mut bytes = format!("{digits} {crc:08x} {name}:{}", position.offset()).into_bytes();
    bytes.resize(LEN - 1, b' ');
    bytes.push(b'\n');
    bytes
}

/// The mark of an open log.
pub(super) struct DurableMark {
    folder: Folder,
    file: Arc<dyn File>,
    /// A leaf latch, held across the mark's own I/O.
    state: Mutex<MarkState>,
}

struct MarkState {
    written: LogPosition,
    /// When the oldest mark was written that is not flushed; `None` if there is none.
    unflushed_since: Option<Duration>,
    has_failed: bool,
}

impl DurableMark {
    /// Opens the file, making it if it is not there; its name is durable with the folder's next
    /// flush.
    pub(super) fn open(folder: &Folder) -> Result<Self, LogError> {
        let path = folder.durable_mark();
        let file = folder.env.open(&path, OpenMode::Create);
        let file = file.map_err(|e| LogError::io(format!("opening {}", path.display()), e))?;
        let state = MarkState { written: LogPosition::ZERO, unflushed_since: None, has_failed: false };
        Ok(Self { folder: folder.clone(), file, state: Mutex::new(state) })
    }

    /// As [`Self::write`], flushed, and with an error if that fails: at the start and the end of a
    /// log's life.
    pub(super) fn flush(&self, durable: LogPosition) -> Result<(), LogError> {
        let written = self.write_to(&mut self.state.lock(), durable, true);
        written.map_err(|e| LogError::io(format!("writing {}", self.folder.durable_mark().display()), e))
    }

    /// The log is durable up to `durable` (D1). Flushes the mark too if that is due. Only the first
    /// failure is logged (D3).
    pub(super) fn write(&self, durable: LogPosition) {
        let mut state = self.state.lock();
        if let Err(error) = self.write_to(&mut state, durable, false)
            && !std::mem::replace(&mut state.has_failed, true)
        {
            let file = self.folder.durable_mark();
            tracing::warn!(
                file = %file.display(), %error,
                "the mark of what is flushed of the binary log can't be written; commits go on, but after a \
                 crash damage may be taken for a torn end"
            );
        }
    }

    fn write_to(&self, state: &mut MarkState, durable: LogPosition, flush: bool) -> io::Result<()> {
        if state.written < durable {
            self.file.write_at(&encode(durable, &self.folder.log_name(durable.file())), 0)?;
            state.written = durable;
            let now = self.folder.env.monotonic();
            state.unflushed_since.get_or_insert(now);
        }
        if state.unflushed_since.is_some() && (flush || state.flush_due(&self.folder).is_zero()) {
            state.unflushed_since = None;
            self.file.sync_data()?;
        }
        Ok(())
    }

    /// In what time the mark has to be flushed; `None` if it is.
    pub(super) fn flush_due(&self) -> Option<Duration> {
        let state = self.state.lock();
        state.unflushed_since.map(|_| state.flush_due(&self.folder))
    }
}

impl MarkState {
    fn flush_due(&self, folder: &Folder) -> Duration {
        let since = self.unflushed_since.unwrap_or_default();
        (since + MARK_FLUSH).saturating_sub(folder.env.monotonic())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use env::{Env, SimEnv};
    use std::path::Path;

    #[test]
    fn says_what_was_written_and_no_flipped_bit_makes_it_say_something_else() {
        let env = SimEnv::new(1);
        let folder = Folder::new(Arc::new(env.clone()), Path::new("/db"), "binlog");
        env.create_dir_all(Path::new("/db")).unwrap();
        assert_eq!(read(&folder).unwrap(), MarkRead::Missing);
        let mark = DurableMark::open(&folder).unwrap();
        assert_eq!(read(&folder).unwrap(), MarkRead::Missing, "not written yet");
        let position = LogPosition::new(FileNumber(8), 1234);
        mark.flush(position).unwrap();
        assert_eq!(read(&folder).unwrap(), MarkRead::At(position));
        mark.write(LogPosition::new(FileNumber(8), 1000));
        assert_eq!(read(&folder).unwrap(), MarkRead::At(position), "it never goes back");
        let bytes = env.read_file(&folder.durable_mark()).unwrap();
        assert!(bytes.starts_with(b"0000080000000"), "{}", String::from_utf8_lossy(&bytes));
        assert!(String::from_utf8_lossy(&bytes).contains(" binlog.000008:1234 "));
        for bit in 0..8 * LEN {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            // Hexadecimal digits have an upper and a lower case.
            assert!(decode(&flipped).is_none_or(|read| read == position), "bit {bit}");
        }
        for len in 0..LEN {
            assert!(decode(&bytes[..len]).is_none_or(|read| read == position));
        }
    }
}
