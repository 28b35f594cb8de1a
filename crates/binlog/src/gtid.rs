//! Global transaction identifiers and sets of them.
//!
//! A GTID is the UUID of the server a transaction was first committed on, an optional *tag* (since
//! MySQL 8.3), and its number among those of that server and tag (*gno*, from 1). Sets are kept as
//! sorted, disjoint, non-adjacent intervals per source, in the text form of `gtid_executed` and the
//! binary form of the previous-GTIDs event and COM_BINLOG_DUMP_GTID.
//!
//! Sources: MySQL Reference Manual, "GTID Format and Storage"; MySQL source documentation, classes
//! `Gtid_set` and `Previous_gtids_event`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use stdx::cursor::{Cursor, Truncated};

/// A server's identity: `server_uuid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Uuid(pub [u8; 16]);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            if matches!(i, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = GtidError;

    /// Takes the forms that MySQL takes: with all four dashes or with none, optionally in braces.
    fn from_str(s: &str) -> Result<Self, GtidError> {
        let inner = s.strip_prefix('{').and_then(|s| s.strip_suffix('}')).unwrap_or(s).as_bytes();
        let dashes = [8, 13, 18, 23];
        let digits: Vec<u8> = match inner.len() {
            32 => inner.to_vec(),
            36 if dashes.iter().all(|&i| inner[i] == b'-') => {
                inner.iter().enumerate().filter(|(i, _)| !dashes.contains(i)).map(|(_, &b)| b).collect()
            }
            _ => return Err(GtidError::Malformed),
        };
        let mut uuid = [0; 16];
        for (byte, pair) in uuid.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = hex_digit(pair[0])? << 4 | hex_digit(pair[1])?;
        }
        Ok(Self(uuid))
    }
}

fn hex_digit(c: u8) -> Result<u8, GtidError> {
    (c as char).to_digit(16).map(|d| d as u8).ok_or(GtidError::Malformed)
}

/// A GTID's tag: lower-case letters, digits and underscores, the first no digit; or none.
///
/// Kept in place, filled up with zeros: a GTID is copied on the commit path, where it must not
/// allocate (`docs/decisions/2026-11-27-tags-are-kept-in-place.md`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Tag([u8; Tag::LEN_MAX]);

impl Tag {
    /// No tag.
    pub const NONE: Tag = Tag([0; Tag::LEN_MAX]);
    /// The longest tag, in bytes.
    pub(crate) const LEN_MAX: usize = 32;

    /// True for no tag.
    pub fn is_none(self) -> bool {
        self.0[0] == 0
    }

    /// Its text; empty for no tag.
    pub fn as_str(&self) -> &str {
        let len = self.0.iter().position(|&b| b == 0).unwrap_or(Self::LEN_MAX);
        std::str::from_utf8(&self.0[..len]).expect("a tag is ASCII")
    }
}

impl FromStr for Tag {
    type Err = GtidError;

    /// Folds it to lower case. An empty text is no tag.
    fn from_str(s: &str) -> Result<Self, GtidError> {
        let (mut tag, s) = (Self::NONE, s.as_bytes());
        let is_of_tags = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if s.len() > Self::LEN_MAX
            || s.first().is_some_and(u8::is_ascii_digit)
            || !s.iter().all(|&b| is_of_tags(b))
        {
            return Err(GtidError::Malformed);
        }
        tag.0[..s.len()].copy_from_slice(s);
        tag.0.make_ascii_lowercase();
        Ok(tag)
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// Who numbers transactions: a server, under a tag or under none. MySQL calls it TSID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// The server that transactions were first committed on.
    pub uuid: Uuid,
    /// What they are tagged with.
    pub tag: Tag,
}

impl From<Uuid> for Source {
    fn from(uuid: Uuid) -> Self {
        Self { uuid, tag: Tag::NONE }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uuid.fmt(f)?;
        if self.tag.is_none() { Ok(()) } else { write!(f, ":{}", self.tag) }
    }
}

/// One transaction's identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gtid {
    /// Where the transaction got its number.
    pub source: Source,
    /// The number, 1 to [`Gtid::GNO_MAX`].
    pub gno: u64,
}

impl Gtid {
    /// The largest transaction number, `2^63 - 2` as MySQL has it.
    pub(crate) const GNO_MAX: u64 = i64::MAX as u64 - 1;

    /// The transaction of this number.
    pub fn new(source: impl Into<Source>, gno: u64) -> Self {
        Self { source: source.into(), gno }
    }
}

impl fmt::Display for Gtid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.source, self.gno)
    }
}

impl FromStr for Gtid {
    type Err = GtidError;

    fn from_str(s: &str) -> Result<Self, GtidError> {
        let (uuid, rest) = s.split_once(':').ok_or(GtidError::Malformed)?;
        let (tag, gno) = match rest.split_once(':') {
            Some((tag, gno)) => (parse_tag(tag)?, gno),
            None => (Tag::NONE, rest),
        };
        Ok(Self { source: Source { uuid: uuid.trim().parse()?, tag }, gno: parse_gno(gno.trim())? })
    }
}

/// How a transaction gets its GTID.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GtidSpecification {
    /// The next one of this server under a tag, or under none.
    Automatic(Tag),
    /// This one, which is not in the log: an applier's, or that of `gtid_next`.
    Assigned(Gtid),
}

impl GtidSpecification {
    /// The tag that the transaction will have.
    pub fn tag(&self) -> Tag {
        match self {
            Self::Automatic(tag) => *tag,
            Self::Assigned(gtid) => gtid.source.tag,
        }
    }

    /// The GTID that it must have.
    pub fn assigned(&self) -> Option<Gtid> {
        match self {
            Self::Automatic(_) => None,
            Self::Assigned(gtid) => Some(*gtid),
        }
    }
}

impl Default for GtidSpecification {
    fn default() -> Self {
        Self::Automatic(Tag::NONE)
    }
}

/// A GTID or a set that can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum GtidError {
    /// Neither a GTID nor a set of them.
    #[error("malformed GTID specification")]
    Malformed,
    /// The binary form ended early.
    #[error("GTID set is truncated")]
    Truncated,
}

impl From<Truncated> for GtidError {
    fn from(_: Truncated) -> Self {
        GtidError::Truncated
    }
}

/// Transactions `start..end` of one source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    /// The first transaction number.
    pub start: u64,
    /// One after the last.
    pub end: u64,
}

/// Transactions by source (server UUID and tag) and number, as disjoint intervals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GtidSet {
    /// No source has an empty list.
    sources: BTreeMap<Source, Vec<Interval>>,
}

impl GtidSet {
    /// The empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// True when the set holds nothing.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// How many GTIDs the set holds.
    pub fn count(&self) -> u128 {
        self.intervals().map(|(_, i)| u128::from(i.end - i.start)).sum()
    }

    /// All intervals, ordered by source and number.
    pub fn intervals(&self) -> impl Iterator<Item = (&Source, Interval)> {
        self.sources.iter().flat_map(|(s, list)| list.iter().map(move |&i| (s, i)))
    }

    /// The intervals of one source.
    pub(crate) fn intervals_of(&self, source: Source) -> &[Interval] {
        self.sources.get(&source).map_or(&[], Vec::as_slice)
    }

    /// True when `gtid` is in the set.
    pub fn contains(&self, gtid: Gtid) -> bool {
        let list = self.intervals_of(gtid.source);
        list[..list.partition_point(|i| i.start <= gtid.gno)].last().is_some_and(|i| gtid.gno < i.end)
    }

    /// The part that one server committed first, under whatever tags.
    pub fn of_server(&self, uuid: Uuid) -> GtidSet {
        let own = self.sources.iter().filter(|(source, _)| source.uuid == uuid);
        GtidSet { sources: own.map(|(source, list)| (*source, list.clone())).collect() }
    }

    /// The part without tags, which is all that a MySQL before 8.3 can read.
    pub fn untagged(&self) -> GtidSet {
        let untagged = self.sources.iter().filter(|(source, _)| source.tag.is_none());
        GtidSet { sources: untagged.map(|(source, list)| (*source, list.clone())).collect() }
    }

    /// The smallest number that the source has not used: what the next automatic GTID gets.
    pub fn next_gno(&self, source: impl Into<Source>) -> u64 {
        let first = self.intervals_of(source.into()).first();
        first.map_or(1, |i| if i.start == 1 { i.end } else { 1 })
    }

    /// Adds one GTID. Constant time when it follows the source's last one.
    pub fn add(&mut self, gtid: Gtid) {
        self.add_interval(gtid.source, Interval { start: gtid.gno, end: gtid.gno + 1 });
    }

    /// Adds an interval; an empty one changes nothing.
    pub fn add_interval(&mut self, source: Source, new: Interval) {
        if new.start >= new.end {
            return;
        }
        let list = self.sources.entry(source).or_default();
        // What overlaps or touches `new` melts into it.
        let from = list.partition_point(|i| i.end < new.start);
        let to = from + list[from..].partition_point(|i| i.start <= new.end);
        if from == to {
            list.insert(from, new);
        } else {
            let end = list[to - 1].end.max(new.end);
            list[from] = Interval { start: list[from].start.min(new.start), end };
            list.drain(from + 1..to);
        }
    }

    /// Adds all of `other`.
    pub fn union(&mut self, other: &GtidSet) {
        for (source, interval) in other.intervals() {
            self.add_interval(*source, interval);
        }
    }

    /// Takes away all of `other`.
    pub fn subtract(&mut self, other: &GtidSet) {
        for (source, gone) in &other.sources {
            if let Some(list) = self.sources.get_mut(source) {
                *list = difference(list, gone);
                if list.is_empty() {
                    self.sources.remove(source);
                }
            }
        }
    }

    /// The GTIDs that are in both sets.
    pub(crate) fn intersection(&self, other: &GtidSet) -> GtidSet {
        let mut only_self = self.clone();
        only_self.subtract(other);
        let mut both = self.clone();
        both.subtract(&only_self);
        both
    }

    /// True when `other` holds all of this set.
    pub fn is_subset(&self, other: &GtidSet) -> bool {
        let mut missing = self.clone();
        missing.subtract(other);
        missing.is_empty()
    }

    /// Appends the binary form: the untagged one if no source has a tag, so that every reader takes
    /// it.
    ///
    /// | bytes | field |
    /// | --- | --- |
    /// | 8 | number of sources `n`; tagged form: `1 << 56 | n << 8 | 1` |
    /// | 16 | uuid |
    /// | 1+n | tagged form: length `<< 1`, tag |
    /// | 8 | number of intervals |
    /// | 8+8 | each: first number, last number + 1 |
    pub fn encode(&self, out: &mut Vec<u8>) {
        let n = self.sources.len() as u64;
        let tagged = self.sources.keys().any(|s| !s.tag.is_none());
        let head = if tagged { 1 << 56 | n << 8 | 1 } else { n };
        out.extend_from_slice(&head.to_le_bytes());
        for (source, list) in &self.sources {
            out.extend_from_slice(&source.uuid.0);
            if tagged {
                let tag = source.tag.as_str();
                out.push((tag.len() as u8) << 1);
                out.extend_from_slice(tag.as_bytes());
            }
            out.extend_from_slice(&(list.len() as u64).to_le_bytes());
            for interval in list {
                out.extend_from_slice(&interval.start.to_le_bytes());
                out.extend_from_slice(&interval.end.to_le_bytes());
            }
        }
    }

    /// Reads the binary form, which must fill `bytes`.
    ///
    /// # Errors
    /// [`GtidError::Malformed`] if it is none, or goes on after its end.
    pub fn decode(bytes: &[u8]) -> Result<Self, GtidError> {
        let mut c = Cursor::new(bytes);
        let head = c.u64()?;
        let (tagged, n) = match head >> 56 {
            0 => (false, head),
            1 if head & 0xff == 1 => (true, head << 8 >> 16),
            _ => return Err(GtidError::Malformed),
        };
        let mut set = GtidSet::new();
        // The counts are not trusted: each step reads bytes, so the input's length bounds the work.
        for _ in 0..n {
            let source = decode_source(&mut c, tagged)?;
            let mut last = 0;
            for _ in 0..c.u64()? {
                let interval = Interval { start: c.u64()?, end: c.u64()? };
                if interval.start <= last
                    || interval.start >= interval.end
                    || interval.end > Gtid::GNO_MAX + 1
                {
                    return Err(GtidError::Malformed);
                }
                last = interval.end - 1;
                set.add_interval(source, interval);
            }
        }
        if c.is_empty() { Ok(set) } else { Err(GtidError::Malformed) }
    }
}

fn decode_source(c: &mut Cursor<'_>, tagged: bool) -> Result<Source, GtidError> {
    let mut uuid = Uuid::default();
    uuid.0.copy_from_slice(c.take(16)?);
    let tag = if tagged {
        let length = c.u8()?;
        if length & 1 != 0 {
            return Err(GtidError::Malformed);
        }
        std::str::from_utf8(c.take(usize::from(length >> 1))?).map_err(|_| GtidError::Malformed)?.parse()?
    } else {
        Tag::NONE
    };
    Ok(Source { uuid, tag })
}

/// `list` without `gone`, both sorted and disjoint.
fn difference(list: &[Interval], gone: &[Interval]) -> Vec<Interval> {
    let mut remaining = Vec::with_capacity(list.len());
    let mut gone = gone.iter().peekable();
    for interval in list {
        let mut start = interval.start;
        while let Some(cut) = gone.peek() {
            if cut.start >= interval.end {
                break;
            }
            if cut.start > start {
                remaining.push(Interval { start, end: cut.start });
            }
            start = start.max(cut.end);
            if cut.end > interval.end {
                break; // it may cut the next interval too
            }
            gone.next();
        }
        if start < interval.end {
            remaining.push(Interval { start, end: interval.end });
        }
    }
    remaining
}

impl fmt::Display for GtidSet {
    /// As MySQL prints `gtid_executed`: sources on lines of their own, `uuid:1-3:5:tag:7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last: Option<Uuid> = None;
        for (source, list) in &self.sources {
            if last != Some(source.uuid) {
                let separator = if last.is_some() { ",\n" } else { "" };
                write!(f, "{separator}{}", source.uuid)?;
                last = Some(source.uuid);
            }
            if !source.tag.is_none() {
                write!(f, ":{}", source.tag)?;
            }
            for interval in list {
                write!(f, ":{}", interval.start)?;
                if interval.end - interval.start > 1 {
                    write!(f, "-{}", interval.end - 1)?;
                }
            }
        }
        Ok(())
    }
}

impl FromStr for GtidSet {
    type Err = GtidError;

    /// Empty items and white space are skipped, as MySQL does; an interval that ends before it
    /// starts is empty.
    fn from_str(s: &str) -> Result<Self, GtidError> {
        let mut set = GtidSet::new();
        for item in s.split(',').map(str::trim).filter(|item| !item.is_empty()) {
            let mut parts = item.split(':').map(str::trim);
            let uuid: Uuid = parts.next().ok_or(GtidError::Malformed)?.parse()?;
            let mut source = Source::from(uuid);
            for part in parts {
                if part.starts_with(|c: char| c.is_ascii_digit()) {
                    let (start, last) = part.split_once('-').unwrap_or((part, part));
                    let (start, last) = (parse_gno(start.trim())?, parse_gno(last.trim())?);
                    set.add_interval(source, Interval { start, end: last + 1 });
                } else {
                    source.tag = parse_tag(part)?;
                }
            }
        }
        Ok(set)
    }
}

fn parse_gno(s: &str) -> Result<u64, GtidError> {
    let digits = !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let gno: u64 = if digits { s.parse().map_err(|_| GtidError::Malformed)? } else { 0 };
    if (1..=Gtid::GNO_MAX).contains(&gno) { Ok(gno) } else { Err(GtidError::Malformed) }
}

/// A tag that must be there, with white space around it.
///
/// # Errors
/// [`GtidError::Malformed`] if it is none, or empty.
pub fn parse_tag(s: &str) -> Result<Tag, GtidError> {
    let tag: Tag = s.trim().parse()?;
    if tag.is_none() { Err(GtidError::Malformed) } else { Ok(tag) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const A: &str = "ffbc9079-e54d-11f1-b5eb-02fc00000001";
    const B: &str = "00000000-0000-0000-0000-000000000002";

    fn set(s: &str) -> GtidSet {
        s.replace('A', A).replace('B', B).parse().unwrap()
    }

    fn text(s: &GtidSet) -> String {
        s.to_string().replace(A, "A").replace(B, "B").replace('\n', "")
    }

    #[test]
    fn text_is_normalised() {
        for (input, output) in [
            ("", ""),
            ("A:1", "A:1"),
            (" A:1-3 : 4 ,, B:7-7", "B:7,A:1-4"),
            ("A:5:1-2:9-10:3", "A:1-3:5:9-10"),
            ("A:3-2", ""),
            ("A:1:Tag_1:5-6:b:1", "A:1:b:1:tag_1:5-6"),
        ] {
            assert_eq!(text(&set(input)), output, "{input}");
        }
        for bad in ["A", "A:", "A:0", "A:x-1", "A:1-", "A:9223372036854775807", "A:tag-x:1", "zz:1"] {
            let parsed = bad.replace('A', A).parse::<GtidSet>();
            // A source without intervals is the empty set.
            assert!(parsed.is_err() || bad == "A", "{bad}: {parsed:?}");
        }
    }

    #[test]
    fn a_gtid_may_have_a_tag() {
        let longest = "a".repeat(Tag::LEN_MAX);
        for (input, output) in [
            ("A:7", "A:7"),
            (" A : 7 ", "A:7"),
            ("A:Tag_1:7", "A:tag_1:7"),
            ("A: _ : 7", "A:_:7"),
            (&format!("A:{longest}:1"), &format!("A:{longest}:1")),
        ] {
            let gtid: Gtid = input.replace('A', A).parse().unwrap();
            assert_eq!(gtid.to_string().replace(A, "A"), *output, "{input}");
        }
        let too_long = format!("A:{longest}b:1");
        for bad in ["A::7", "A:t:", "A:t", "A:t:0", "A:t:1-2", "A:1:t:2", "A:1t:2", "A:a-b:1", &too_long] {
            assert_eq!(bad.replace('A', A).parse::<Gtid>(), Err(GtidError::Malformed), "{bad}");
        }
    }

    #[test]
    fn set_arithmetic() {
        let mut s = set("A:1-10:20-30,B:1");
        s.subtract(&set("A:3-4:9-22:30"));
        assert_eq!(text(&s), "B:1,A:1-2:5-8:23-29");
        s.subtract(&set("B:1-5"));
        s.union(&set("A:3-4"));
        assert_eq!(text(&s), "A:1-8:23-29");
        assert!(set("A:2-5").is_subset(&s) && !set("A:8-9").is_subset(&s) && set("").is_subset(&s));
        assert_eq!(text(&s.intersection(&set("A:5-25,B:1"))), "A:5-8:23-25");
        let uuid: Uuid = A.parse().unwrap();
        assert_eq!(s.next_gno(uuid), 9);
        assert_eq!(set("A:2").next_gno(uuid), 1);
        assert!(s.contains(Gtid::new(uuid, 8)) && !s.contains(Gtid::new(uuid, 9)));
        assert_eq!(s.count(), 15);
        let tagged = Source { uuid, tag: "t".parse().unwrap() };
        assert!(set("A:t:4-6").contains(Gtid::new(tagged, 5)));
        assert!(!set("A:t:4-6").contains(Gtid::new(uuid, 5)));
        assert_eq!((set("A:9:t:1-2").next_gno(tagged), set("A:1:t:2").next_gno(tagged)), (3, 1));
        assert_eq!(text(&set("A:1:t:4-6,B:1").of_server(uuid)), "A:1:t:4-6");
        assert_eq!(text(&set("A:1:t:4-6,B:t:1").untagged()), "A:1");
    }

    #[test]
    fn difference_spans_intervals() {
        let mut s = set("A:1-3:5-7:9-11");
        s.subtract(&set("A:2-10"));
        assert_eq!(text(&s), "A:1:11");
    }

    #[test]
    fn binary_form_round_trips() {
        for s in [set(""), set("A:1-3,B:5:9"), set("A:1,A:t:4-6")] {
            let mut bytes = Vec::new();
            s.encode(&mut bytes);
            assert_eq!(GtidSet::decode(&bytes).unwrap(), s);
            for cut in 0..bytes.len() {
                assert!(GtidSet::decode(&bytes[..cut]).is_err());
            }
        }
        assert!(GtidSet::decode(&[0xff; 64]).is_err());
    }
}
