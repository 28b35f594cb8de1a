//! The source's stream, event by event: in which file each ends, and which are for the applier.

use binlog::event::{
    Event, EventError, EventHeader, EventType, FormatDescription, decode, decode_format_description, flags,
};
use binlog::gtid::{Gtid, GtidSet};
use sql::replica::ReceivedEvent;
use sql::replica::channel::SourcePosition;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What an event of the stream is.
#[derive(Debug)]
pub(super) enum Incoming {
    /// For the applier.
    Event(ReceivedEvent, Option<Gtid>),
    /// The source lives; for the applier where it has passed over something that this server has.
    Heartbeat(Option<ReceivedEvent>),
    /// Of no meaning here.
    Passed,
}

/// What the receiver has had already, over this connection or those before it: what comes again is
/// no progress.
#[derive(Debug, Default)]
pub(super) struct AlreadyReceived {
    /// `gtid_executed`, and `Retrieved_Gtid_Set`, as they were when the stream began.
    executed: GtidSet,
    retrieved: GtidSet,
    /// The transaction that began last and was new: retrieved, and perhaps not whole.
    begun: Option<Gtid>,
    /// The end of what came as a whole without GTIDs.
    whole: SourcePosition,
}

impl AlreadyReceived {
    /// A stream begins at `reached`.
    pub(super) fn begin_stream(&mut self, executed: GtidSet, retrieved: GtidSet, reached: &SourcePosition) {
        (self.executed, self.retrieved) = (executed, retrieved);
        self.come_to(reached);
    }

    fn has(&self, gtid: Gtid) -> bool {
        self.executed.contains(gtid) || self.retrieved.contains(gtid) && self.begun != Some(gtid)
    }

    fn come_to(&mut self, position: &SourcePosition) {
        if position.is_after(&self.whole) {
            self.whole.clone_from(position);
        }
    }
}

/// Where the stream is.
pub(super) struct StreamPosition<'a> {
    file: Arc<str>,
    offset: u64,
    format: Option<FormatDescription>,
    /// Events of these servers are not taken.
    ignored: BTreeSet<u32>,
    known: &'a mut AlreadyReceived,
    /// The event group whose first event has come, and not its end.
    open: Option<OpenGroup>,
    has_new_group: bool,
}

/// An event group that has begun.
#[derive(Debug, Clone, Copy)]
struct OpenGroup {
    is_new: bool,
    has_gtid: bool,
}

impl<'a> StreamPosition<'a> {
    pub(super) fn new(ignored: BTreeSet<u32>, known: &'a mut AlreadyReceived) -> Self {
        Self { file: "".into(), offset: 0, format: None, ignored, known, open: None, has_new_group: false }
    }

    pub(super) fn file(&self) -> &str {
        &self.file
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Behind the last event.
    pub(super) fn position(&self) -> SourcePosition {
        SourcePosition { file: self.file.to_string(), offset: self.offset }
    }

    /// True once an event group has come as a whole that was not known.
    pub(super) fn has_new_group(&self) -> bool {
        self.has_new_group
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// It is none, or its checksum is wrong.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Result<Incoming, EventError> {
        let header = EventHeader::decode(bytes)?;
        let is_artificial = header.flags & flags::ARTIFICIAL != 0 || header.end_log_pos == 0;
        match header.event_type {
            EventType::HEARTBEAT | EventType::HEARTBEAT_V2 => return self.heartbeat(bytes),
            EventType::ROTATE => {
                let format = self.format.clone().unwrap_or_else(|| without_checksum(bytes));
                if let Event::Rotate(rotate) = decode(bytes, &format)? {
                    self.file = String::from_utf8_lossy(rotate.file_name).into();
                    self.offset = rotate.position;
                }
                return Ok(Incoming::Passed);
            }
            EventType::FORMAT_DESCRIPTION => self.format = Some(decode_format_description(bytes)?),
            _ => {}
        }
        let format = self.format.as_ref().ok_or(EventError::Malformed("no format description came"))?;
        let (start, mut end) = (self.offset, 0);
        if !is_artificial {
            // The header has the lower 32 bits.
            let high = self.offset & !u64::from(u32::MAX);
            end = high | u64::from(header.end_log_pos);
            if end < self.offset {
                let beyond = EventError::Malformed("a position of more than 64 bits");
                end = end.checked_add(1 << 32).ok_or(beyond)?;
            }
            self.offset = end;
        }
        let is_format = header.event_type == EventType::FORMAT_DESCRIPTION;
        let is_ignored = !is_format && self.ignored.contains(&header.server_id);
        let gtid = match header.event_type {
            kind if kind.is_gtid() && !is_ignored => match decode(bytes, format)? {
                Event::Gtid(event) => event.gtid,
                _ => None,
            },
            _ => None,
        };
        match header.event_type {
            EventType::XID | EventType::XA_PREPARE => self.end_group(self.offset),
            kind if begins_group(kind) => {
                self.end_group(start);
                // What is not taken is never executed: by GTIDs it would be new each time.
                let is_new = match gtid {
                    Some(gtid) => !self.known.has(gtid),
                    None => !(is_ignored && kind.is_gtid()) && self.position().is_after(&self.known.whole),
                };
                if is_new && gtid.is_some() {
                    self.known.begun = gtid;
                }
                self.open = Some(OpenGroup { is_new, has_gtid: gtid.is_some() });
            }
            _ => {}
        }
        if is_ignored {
            return Ok(Incoming::Passed);
        }
        let received = ReceivedEvent { bytes: bytes.to_vec(), file: self.file.clone(), end };
        Ok(Incoming::Event(received, gtid))
    }
}

impl StreamPosition<'_> {
    /// What has begun is whole: it ended at this offset.
    fn end_group(&mut self, offset: u64) {
        let Some(group) = self.open.take() else { return };
        self.has_new_group |= group.is_new;
        if !group.has_gtid {
            self.known.come_to(&SourcePosition { file: self.file.to_string(), offset });
        }
    }

    /// The source says where it is.
    fn heartbeat(&mut self, bytes: &[u8]) -> Result<Incoming, EventError> {
        let Some(format) = &self.format else { return Ok(Incoming::Heartbeat(None)) };
        let Event::Heartbeat(event) = decode(bytes, format)? else { return Ok(Incoming::Heartbeat(None)) };
        if event.file_name != self.file.as_bytes() || event.position <= self.offset {
            return Ok(Incoming::Heartbeat(None));
        }
        self.offset = event.position;
        let received = ReceivedEvent { bytes: bytes.to_vec(), file: self.file.clone(), end: event.position };
        Ok(Incoming::Heartbeat(Some(received)))
    }
}

fn begins_group(kind: EventType) -> bool {
    const GTIDS: [EventType; 4] =
        [EventType::GTID, EventType::ANONYMOUS_GTID, EventType::GTID_TAGGED, EventType::MARIADB_GTID];
    GTIDS.contains(&kind)
}

/// The first event of a stream comes before its format description: an artificial Rotate, with a
/// checksum or without.
fn without_checksum(bytes: &[u8]) -> FormatDescription {
    use binlog::event::{ChecksumAlgorithm, verify_checksum};
    let mut format = FormatDescription::new("", 0);
    if verify_checksum(bytes).is_err() {
        format.checksum = ChecksumAlgorithm::Off;
    }
    format
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use binlog::event::{
        ChecksumAlgorithm, EventOrigin, GtidEvent, HeartbeatEvent, RotateEvent, XidEvent, append_event,
    };

    fn event(of: &impl binlog::event::EncodeEvent, start: u64, server_id: u32) -> Vec<u8> {
        let mut out = Vec::new();
        let origin = EventOrigin { server_id, ..EventOrigin::default() };
        append_event(&mut out, of, origin, start, ChecksumAlgorithm::Crc32);
        out
    }

    #[test]
    fn positions_go_on_beyond_32_bits() {
        let mut known = AlreadyReceived::default();
        let mut stream = StreamPosition::new(BTreeSet::from([9]), &mut known);
        let rotate = RotateEvent { position: 4, file_name: b"b.000003" };
        assert!(matches!(stream.take(&event(&rotate, 0, 1)).unwrap(), Incoming::Passed));
        assert!(stream.take(&event(&XidEvent(1), 4, 1)).is_err(), "no format yet");
        let format = event(&FormatDescription::new("8.4.8", 0), 4, 1);
        assert!(matches!(stream.take(&format).unwrap(), Incoming::Event(..)));
        let mut take = |start| match stream.take(&event(&XidEvent(1), start, 1)).unwrap() {
            Incoming::Event(received, None) => received.end,
            other => panic!("{other:?}"),
        };
        assert_eq!(take((1 << 32) - 40), (1 << 32) - 9);
        assert_eq!(take((1 << 32) - 9), (1 << 32) + 22);
        assert!(matches!(stream.take(&event(&XidEvent(1), 1 << 32, 9)).unwrap(), Incoming::Passed));
        assert_eq!(stream.file(), "b.000003");
    }

    /// What this server has already the source passes over, and says at which place it is then.
    #[test]
    fn a_heartbeat_moves_the_position() {
        let mut known = AlreadyReceived::default();
        let mut stream = StreamPosition::new(BTreeSet::new(), &mut known);
        let heartbeat = |file_name, position| HeartbeatEvent { file_name, position, v2: true };
        let at = |of: &HeartbeatEvent<'_>| event(of, 0, 1);
        assert!(matches!(stream.take(&at(&heartbeat(b"b.1", 9))).unwrap(), Incoming::Heartbeat(None)));
        stream.take(&event(&RotateEvent { position: 4, file_name: b"b.1" }, 0, 1)).unwrap();
        stream.take(&event(&FormatDescription::new("8.4.8", 0), 4, 1)).unwrap();
        let after_format = stream.offset();
        for (file, position, moves) in [
            (b"b.1", after_format, false),
            (b"b.2", 5000, false),
            (b"b.1", 5000, true),
            (b"b.1", 5000, false),
        ] {
            let incoming = stream.take(&at(&heartbeat(file, position))).unwrap();
            let Incoming::Heartbeat(passed) = incoming else { panic!("{incoming:?}") };
            assert_eq!(passed.map(|event| event.end), moves.then_some(position));
        }
        assert_eq!(stream.offset(), 5000);
    }

    /// The receiver's thread ended by an overflow.
    #[test]
    fn a_position_of_more_than_64_bits_is_an_error() {
        let mut known = AlreadyReceived::default();
        let mut stream = StreamPosition::new(BTreeSet::new(), &mut known);
        let rotate = RotateEvent { position: u64::MAX, file_name: b"b.000001" };
        stream.take(&event(&rotate, 0, 1)).unwrap();
        let format = event(&FormatDescription::new("8.4.8", 0), 4, 1);
        assert!(matches!(stream.take(&format), Err(EventError::Malformed(_))));
    }

    fn group(gtid: Option<Gtid>) -> GtidEvent {
        GtidEvent { may_have_statements: true, gtid, last_committed: 0, sequence_number: 1, commit: None }
    }

    /// Whether these events, over one connection, bring what `known` does not have.
    fn brings_new(known: &mut AlreadyReceived, events: &[Vec<u8>]) -> bool {
        let mut stream = StreamPosition::new(BTreeSet::from([9]), known);
        stream.take(&event(&RotateEvent { position: 4, file_name: b"b.1" }, 0, 1)).unwrap();
        stream.take(&event(&FormatDescription::new("8.4.8", 0), 4, 1)).unwrap();
        for event in events {
            stream.take(event).unwrap();
        }
        stream.has_new_group()
    }

    #[test]
    fn a_stream_has_brought_a_group_when_one_has_ended() {
        let (first, second) = (event(&group(None), 200, 1), event(&group(None), 300, 1));
        assert!(!brings_new(&mut AlreadyReceived::default(), std::slice::from_ref(&first)), "it has begun");
        assert!(
            brings_new(&mut AlreadyReceived::default(), &[first.clone(), second.clone()]),
            "one has ended"
        );
        assert!(brings_new(&mut AlreadyReceived::default(), &[first.clone(), event(&XidEvent(1), 270, 1)]));
        let mut known = AlreadyReceived::default();
        assert!(brings_new(&mut known, &[first.clone(), second.clone()]));
        assert!(!brings_new(&mut known, &[first.clone(), second.clone()]), "it comes again");
        let third = event(&group(None), 400, 1);
        assert!(brings_new(&mut known, &[first, second, third]));
    }

    /// A source that sent the same transactions with each connection was asked again without a
    /// pause.
    #[test]
    fn what_the_replica_has_is_no_progress() {
        let set = |text: &str| text.parse::<GtidSet>().unwrap();
        let gtid = |number| format!("11111111-2222-3333-4444-555555555555:{number}");
        let of = |number: u64| Gtid { source: *set(&gtid(1)).intervals().next().unwrap().0, gno: number };
        let whole = |number, server_id| {
            [event(&group(Some(of(number))), 200, server_id), event(&XidEvent(1), 270, server_id)]
        };
        let begin = |known: &mut AlreadyReceived, executed: &str, retrieved: &str| {
            known.begin_stream(set(executed), set(retrieved), &SourcePosition::default());
        };
        let mut known = AlreadyReceived::default();
        begin(&mut known, &gtid(1), "");
        assert!(!brings_new(&mut known, &whole(1, 1)), "it is executed");
        assert!(!brings_new(&mut known, &whole(2, 9)), "it is of a server that is ignored");
        assert!(!brings_new(&mut known, &whole(2, 1)[..1]), "it is not whole");
        begin(&mut known, &gtid(1), &gtid(2));
        assert!(brings_new(&mut known, &whole(2, 1)), "now it is");
        known.begun = Some(of(3));
        assert!(!brings_new(&mut known, &whole(2, 1)), "nobody applies it, and it comes again");
        assert!(brings_new(&mut known, &whole(3, 1)));
    }
}
