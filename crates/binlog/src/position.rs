//! The position is the version.
//!
//! A transaction's commit position is the number of its log file and the offset just after its
//! event group, packed into one `u64`: 24 bits of file number, 40 bits of offset. It orders
//! transactions, stamps row versions, is what a snapshot is, and is where recovery starts and a
//! replica continues.

use std::fmt;

/// The number in a log file's name: 1 in `binlog.000001`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileNumber(pub u32);

impl FileNumber {
    /// The largest number that a [`LogPosition`] can hold.
    pub const MAX: FileNumber = FileNumber((1 << 24) - 1);

    /// The number after this one.
    pub fn next(self) -> FileNumber {
        FileNumber(self.0 + 1)
    }
}

/// File number and end offset in one number; see the module's comment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LogPosition(u64);

const OFFSET_BITS: u32 = 40;
const _: () =
    assert!(FileNumber::MAX.0 as u64 == u64::MAX >> OFFSET_BITS, "file number and offset fill 64 bits");
const _: () = assert!(size_of::<LogPosition>() == size_of::<u64>());

impl LogPosition {
    /// Before every transaction.
    pub const ZERO: LogPosition = LogPosition(0);
    /// Greater than the position of every transaction.
    pub const MAX: LogPosition = LogPosition(u64::MAX);
    /// The largest offset inside a file (1 TiB - 1).
    pub const OFFSET_MAX: u64 = (1 << OFFSET_BITS) - 1;

    /// Packs a file number and an offset.
    ///
    /// # Panics
    /// If either does not fit; the log rotates long before.
    pub fn new(file: FileNumber, offset: u64) -> Self {
        assert!(file <= FileNumber::MAX, "log file number {} does not fit a position", file.0);
        assert!(offset <= Self::OFFSET_MAX, "log offset {offset} does not fit a position");
        Self(u64::from(file.0) << OFFSET_BITS | offset)
    }

    /// The file's number.
    pub fn file(self) -> FileNumber {
        FileNumber((self.0 >> OFFSET_BITS) as u32)
    }

    /// The offset after the event group, in bytes from the file's start.
    pub fn offset(self) -> u64 {
        self.0 & Self::OFFSET_MAX
    }

    /// The packed form, for storing.
    pub fn to_u64(self) -> u64 {
        self.0
    }

    /// From the packed form.
    pub fn from_u64(packed: u64) -> Self {
        Self(packed)
    }
}

impl fmt::Debug for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file().0, self.offset())
    }
}

impl fmt::Display for LogPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_by_file_then_offset() {
        let a = LogPosition::new(FileNumber(1), LogPosition::OFFSET_MAX);
        let b = LogPosition::new(FileNumber(2), 4);
        assert!(LogPosition::ZERO < a && a < b && b < LogPosition::MAX);
        assert_eq!((b.file(), b.offset()), (FileNumber(2), 4));
        assert_eq!(LogPosition::from_u64(a.to_u64()), a);
        assert_eq!(b.to_string(), "2:4");
    }
}
