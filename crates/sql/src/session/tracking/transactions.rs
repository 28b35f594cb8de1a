//! What is reported to clients of transactions (`session_track_transaction_info`), so that a proxy
//! knows when a session may be moved to another server, and with which statements its transaction
//! would begin there.
//!
//! The state is eight letters, `_` where there is nothing to say:
//!
//! | place | letter | meaning |
//! | --- | --- | --- |
//! | 1 | `T`, `I` | a transaction is open: by a statement, or because `autocommit` is off |
//! | 2 | `r` | tables without transactions were read |
//! | 3 | `R` | tables were read |
//! | 4 | `w` | tables without transactions were changed: never, there are none |
//! | 5 | `W` | tables were changed |
//! | 6 | `s` | a statement would not do the same elsewhere |
//! | 7 | `S` | rows were sent |
//! | 8 | `L` | LOCK TABLES is in force |
//!
//! The client is notified when the letters differ from those it was sent last. Outside of
//! transactions nothing but `L` is kept.

use storage::Xid;

use crate::session::transaction::Characteristics;
use datum::sink::StateChange;
use syntax::ast::Isolation;

/// Bits of the state. Each letter's place is that of its bit; the first place has two.
const EXPLICIT: u16 = 1;
const READ_UNSAFE: u16 = 1 << 1;
const READ: u16 = 1 << 2;
const WRITE: u16 = 1 << 4;
const UNSAFE: u16 = 1 << 5;
const RESULT: u16 = 1 << 6;
const LOCKED: u16 = 1 << 7;
const IMPLICIT: u16 = 1 << 8;

/// `session_track_transaction_info`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Detail {
    #[default]
    Off,
    State,
    Characteristics,
}

/// Notes on the open transaction.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    detail: Detail,
    /// What it did.
    bits: u16,
    /// What the client knows.
    reported: u16,
    /// The statement that runs calls functions that would give something else elsewhere.
    unsafe_statement: bool,
    /// How it began, if a statement began it.
    began: Option<Began>,
    /// How the one before it began.
    last: Option<Began>,
    /// SET TRANSACTION was for a transaction that no statement began.
    one_shot: bool,
    /// The client is to be notified how to begin the like.
    is_new: bool,
}

/// How a transaction began.
#[derive(Debug, Clone)]
struct Began {
    with: Characteristics,
    snapshot: bool,
    /// That of a branch of XA, as XA START has it.
    xid: Option<String>,
}

/// True for functions whose values depend on the server or the session, and which are the same in
/// all rows of a statement. Those that differ in each row are
/// [volatile](crate::expression::functions::Function::volatile).
pub(crate) fn is_unsafe(function: &str) -> bool {
    matches!(function, "current_user" | "session_user" | "system_user" | "user" | "version")
}

impl Transactions {
    /// By the variable's list of words.
    pub(super) fn configure(&mut self, setting: u64) {
        let detail = match setting {
            0 => Detail::Off,
            1 => Detail::State,
            _ => Detail::Characteristics,
        };
        if detail == self.detail {
            return;
        }
        match detail {
            Detail::Off => *self = Self::default(),
            _ => self.is_new = detail == Detail::Characteristics,
        }
        self.detail = detail;
    }

    /// True if notes are taken.
    pub(crate) fn is_on(&self) -> bool {
        self.detail != Detail::Off
    }

    /// A statement began a transaction.
    pub(crate) fn began(&mut self, with: Characteristics, snapshot: bool) {
        if self.is_on() {
            self.bits = if snapshot { EXPLICIT | READ } else { EXPLICIT };
            self.began = Some(Began { with, snapshot, xid: None });
            (self.is_new, self.one_shot) = (true, false);
        }
    }

    /// It was XA START.
    pub(crate) fn is_branch(&mut self, xid: &Xid) {
        if let Some(began) = &mut self.began {
            began.xid = Some(literal(xid));
        }
    }

    /// AND CHAIN began it: like the one before it.
    pub(crate) fn chained(&mut self) {
        let with = self.last.take().map(|last| last.with).unwrap_or_default();
        if let Some(began) = &mut self.began {
            began.with = with;
        }
    }

    /// The transaction that was open has ended.
    pub(crate) fn ended(&mut self) {
        self.is_new |= self.bits & EXPLICIT != 0 || self.one_shot;
        self.bits = 0;
        self.last = self.began.take();
        self.one_shot = false;
    }

    /// SET TRANSACTION said something of the next one.
    pub(crate) fn one_shot_set(&mut self) {
        self.is_new |= self.is_on();
    }

    /// The next one is there.
    pub(crate) fn one_shot_used(&mut self) {
        self.one_shot = self.is_on();
    }

    /// A statement uses a table.
    pub(crate) fn table(&mut self, writes: bool, autocommit: bool) {
        if !self.is_on() {
            return;
        }
        self.bits |= if writes { WRITE } else { READ };
        if !autocommit && self.bits & EXPLICIT == 0 {
            self.bits |= IMPLICIT;
        }
        // What a branch changes is not there for others to repeat.
        self.unsafe_statement |= writes && self.began.as_ref().is_some_and(|began| began.xid.is_some());
    }

    /// A statement reads what the server says of itself.
    pub(crate) fn system_table(&mut self, schema: &str) {
        if self.is_on() && self.bits & (EXPLICIT | IMPLICIT) != 0 {
            self.bits |= if schema == "performance_schema" { READ_UNSAFE } else { READ };
            self.unsafe_statement = true;
        }
    }

    /// The statement that runs would do something else elsewhere.
    pub(crate) fn is_unsafe(&mut self) {
        self.unsafe_statement = true;
    }

    pub(super) fn statement_begins(&mut self) {
        self.unsafe_statement = false;
    }

    pub(super) fn statement_ends(&mut self, has_rows: bool) {
        if self.bits & (EXPLICIT | IMPLICIT) == 0 {
            return;
        }
        if self.unsafe_statement {
            self.bits |= UNSAFE;
        }
        if has_rows {
            self.bits |= RESULT;
        }
    }

    /// Adds what the client does not know yet. `next` is what SET TRANSACTION said of the next
    /// transaction.
    pub(super) fn report(&mut self, locked: bool, next: Characteristics, out: &mut Vec<StateChange>) {
        if !self.is_on() {
            return;
        }
        let mut bits = if self.bits & (EXPLICIT | IMPLICIT) != 0 { self.bits } else { 0 };
        if locked {
            bits |= LOCKED;
        }
        if bits != self.reported {
            self.reported = bits;
            out.push(StateChange::TransactionState(letters(bits)));
        }
        if std::mem::take(&mut self.is_new) && self.detail == Detail::Characteristics {
            out.push(StateChange::TransactionCharacteristics(self.statements(next)));
        }
    }

    /// The statements that would open the like of the open transaction; if there is none, those
    /// about the next one.
    fn statements(&self, next: Characteristics) -> String {
        let began = self.began.as_ref();
        let with = began.map_or(next, |began| began.with);
        let mut text = String::new();
        if let Some(isolation) = with.isolation {
            text = format!("SET TRANSACTION ISOLATION LEVEL {}; ", words(isolation));
        }
        let read_only = with.read_only.map(|only| if only { "READ ONLY" } else { "READ WRITE" });
        match (began, read_only) {
            (Some(Began { xid: Some(xid), .. }), _) => text.push_str(&format!("XA START {xid};")),
            (Some(began), read_only) => {
                let snapshot = began.snapshot.then_some("WITH CONSISTENT SNAPSHOT");
                let options: Vec<_> = snapshot.into_iter().chain(read_only).collect();
                let space = if options.is_empty() { "" } else { " " };
                text.push_str(&format!("START TRANSACTION{space}{};", options.join(", ")));
            }
            (None, Some(read_only)) => text.push_str(&format!("SET TRANSACTION {read_only};")),
            (None, None) => {}
        }
        text.truncate(text.trim_end().len());
        text
    }
}

fn letters(bits: u16) -> [u8; 8] {
    let mut text = *b"TrRwWsSL";
    for (place, letter) in text.iter_mut().enumerate() {
        if bits >> place & 1 == 0 {
            *letter = b'_';
        }
    }
    if bits & IMPLICIT != 0 {
        text[0] = b'I';
    }
    text
}

fn words(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadUncommitted => "READ UNCOMMITTED",
        Isolation::ReadCommitted => "READ COMMITTED",
        Isolation::RepeatableRead => "REPEATABLE READ",
        Isolation::Serializable => "SERIALIZABLE",
    }
}

/// A branch's name as a client would write it, without what goes without saying.
fn literal(xid: &Xid) -> String {
    let quote = |part: &[u8]| match part.iter().all(|b| b.is_ascii_graphic() && !b"'\\".contains(b)) {
        true => format!("'{}'", String::from_utf8_lossy(part)),
        false => format!("X'{}'", part.iter().map(|b| format!("{b:02x}")).collect::<String>()),
    };
    let mut text = quote(&xid.gtrid);
    if !xid.bqual.is_empty() || xid.format != 1 {
        text.push_str(&format!(",{}", quote(&xid.bqual)));
    }
    if xid.format != 1 {
        text.push_str(&format!(",{}", xid.format));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_as_they_are_written() {
        let check = |gtrid: &[u8], bqual: &[u8], format, expected| {
            assert_eq!(literal(&Xid { format, gtrid: gtrid.to_vec(), bqual: bqual.to_vec() }), expected);
        };
        check(b"a", b"", 1, "'a'");
        check(b"a", b"b", 1, "'a','b'");
        check(b"a", b"", 7, "'a','',7");
        check(b"it's", b"\0", 1, "X'69742773',X'00'");
    }

    #[test]
    fn nothing_is_told_twice() {
        let mut notes = Transactions::default();
        notes.configure(1);
        let told = |notes: &mut Transactions, locked| {
            let mut out = Vec::new();
            notes.report(locked, Characteristics::default(), &mut out);
            out
        };
        let state = |letters: &[u8; 8]| vec![StateChange::TransactionState(*letters)];
        assert_eq!(told(&mut notes, false), []);
        notes.table(true, true);
        assert_eq!(told(&mut notes, false), [], "a transaction of one statement");
        notes.ended();
        notes.table(false, false);
        notes.statement_ends(true);
        assert_eq!(told(&mut notes, false), state(b"I_R___S_"));
        assert_eq!(told(&mut notes, false), []);
        notes.ended();
        assert_eq!(told(&mut notes, true), state(b"_______L"));
        notes.configure(0);
        notes.began(Characteristics::default(), false);
        assert_eq!(told(&mut notes, true), []);
    }
}
