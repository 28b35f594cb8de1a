//! Binary logs recorded from real servers (`golden/README.md`), and walking through them.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used)] // each test file uses its part

use binlog::event::{Decoder, Event, EventHeader, MAGIC, TransactionPayloadEvent, decode_format_description};

/// A recorded log and the text that the server's own tool made of it.
pub struct Golden {
    pub name: &'static str,
    pub binlog: &'static [u8],
    pub events: &'static str,
    /// Final rows by table.
    pub tables: &'static [(&'static str, &'static str)],
}

macro_rules! golden {
    ($name:literal, $family:literal) => {
        golden!(
            $name,
            "rows/" => "child", "gen", "ints", "nopk", "part", "reals", "strs", "times", "wide";
            concat!("rows/", $family, "/") => "bulk", "docs"
        )
    };
    ($name:literal, $($folder:expr => $($table:literal),*);*) => {
        Golden {
            name: $name,
            binlog: include_bytes!(concat!("../golden/", $name, "/binlog")),
            events: text_of(include_bytes!(concat!("../golden/", $name, "/events.txt"))),
            tables: &[$($(($table, include_str!(concat!("../golden/", $folder, $table, ".tsv")))),*),*],
        }
    };
}

/// The text has strings in whatever bytes they are.
fn text_of(bytes: &'static [u8]) -> &'static str {
    Box::leak(String::from_utf8_lossy(bytes).into_owned().into_boxed_str())
}

pub fn mysql() -> [Golden; 3] {
    [golden!("mysql97-full", "mysql"), golden!("mysql97-minimal", "mysql"), golden!("mysql97-zstd", "mysql")]
}

/// Transactions with tags: nothing but their GTID events is special.
pub fn tagged() -> Golden {
    golden!("mysql97-tagged",)
}

pub fn mariadb() -> [Golden; 2] {
    [golden!("mariadb118", "mariadb"), golden!("mariadb1011-comp", "mariadb")]
}

pub fn all() -> Vec<Golden> {
    mysql().into_iter().chain(mariadb()).collect()
}

impl Golden {
    /// Offset and bytes of each event.
    pub fn raw_events(&self) -> Vec<(u64, &'static [u8])> {
        assert_eq!(self.binlog[..4], MAGIC);
        let mut events = Vec::new();
        let mut at = MAGIC.len();
        while at < self.binlog.len() {
            let length = EventHeader::decode(&self.binlog[at..]).unwrap().event_length as usize;
            events.push((at as u64, &self.binlog[at..at + length]));
            at += length;
        }
        events
    }

    pub fn decoder(&self) -> Decoder {
        Decoder::new(decode_format_description(self.raw_events()[0].1).unwrap())
    }

    /// Calls `visit` for each event, and for those inside payloads.
    pub fn walk(&self, mut visit: impl FnMut(&Decoder, &[u8], &EventHeader, &Event<'_>)) {
        let mut decoder = self.decoder();
        for (at, bytes) in self.raw_events() {
            let (header, event) =
                decoder.decode(bytes).unwrap_or_else(|e| panic!("{} at {at}: {e}", self.name));
            visit(&decoder, bytes, &header, &event);
            if let Event::TransactionPayload(payload) = &event {
                let mut inner = Decoder::new(TransactionPayloadEvent::inner_format(decoder.format()));
                let mut events = payload.events(LIMIT).unwrap();
                while let Some(bytes) = events.next_event().unwrap() {
                    let (header, event) = inner.decode(bytes).unwrap();
                    visit(&inner, bytes, &header, &event);
                }
            }
        }
    }
}

/// What compressed content may grow to here.
pub const LIMIT: usize = 16 << 20;
