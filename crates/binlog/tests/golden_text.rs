//! Every event of the recorded logs, printed, against the text that the server's own tool printed
//! of it: positions, kinds, checksums and each row's values.
#![allow(clippy::unwrap_used)]

mod support;

use binlog::text::TextPrinter;

/// Headers of events, then rows: MySQL's tool prints all headers of a statement's row events before
/// their rows.
fn relevant(text: &str) -> (Vec<&str>, Vec<&str>) {
    let is_header = |l: &&str| l.starts_with('#') && l[1..].starts_with(|c: char| c.is_ascii_digit());
    let is_row = |l: &&str| l.starts_with("###") && !l.starts_with("### Extra row info");
    (text.lines().filter(is_header).collect(), text.lines().filter(is_row).collect())
}

/// What names the transactions, without what MySQL's tool adds at the end.
fn names(text: &str) -> Vec<&str> {
    let is_name = |l: &&str| l.contains(".GTID_NEXT= ") && !l.contains("'AUTOMATIC'");
    text.lines().filter(is_name).collect()
}

fn offsets(text: &str) -> Vec<&str> {
    text.lines().filter(|l| l.starts_with("# at ")).collect()
}

/// MySQL's tool does not know GEOMETRY, and gives a row event up at the first such column.
fn without_geometry(event: String) -> String {
    let Some(at) = event.find(" /* GEOMETRY ") else { return event };
    let line = event[..at].rfind("###   @").unwrap();
    let equals = line + event[line..].find('=').unwrap();
    let end = event[at..].find("# at ").map_or(event.len(), |next| at + next);
    let (head, tail) = (&event[..equals], without_geometry(event[end..].to_owned()));
    format!("{head}=!! Don't know how to handle column type=255 meta=4 (0004)\n{tail}")
}

/// Inside a payload there are no checksums; MySQL's tool prints what it computed itself.
fn without_inner_checksums(text: &str) -> String {
    let mut inside = false;
    let mut out = String::new();
    for line in text.lines() {
        inside = (inside || line == "# Start of compressed events.") && line != "# End of compressed events.";
        match line.find(" CRC32 ") {
            Some(at) if inside && line.starts_with('#') => out.extend([&line[..at], &line[at + 17..]]),
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

/// Known differences of the tools from each other, made equal.
fn folded(line: &str) -> String {
    // MariaDB's tool of these versions prints 0 where its new collations variable comes first.
    let line = &line[..line.find("\txid=").unwrap_or(line.len())];
    // Year 0 is printed as 1900.
    let line = line
        .replace("=1900 /* YEAR", "=0000 /* YEAR")
        .replace("(has triggers)", "")
        .replace("\tXID = ", "\tXA PREPARE ");
    // MariaDB's tool does not escape quotes, nor backslashes.
    line.replace("\\'", "'").replace("\\\\", "\\").trim_end().to_owned()
}

#[test]
fn printed_events_are_those_of_the_servers_tool() {
    for golden in support::all().into_iter().chain([support::tagged()]) {
        let mut printer = TextPrinter::new(golden.decoder(), support::LIMIT);
        let is_mysql = golden.name.starts_with("mysql");
        let mut ours = String::new();
        for (at, bytes) in golden.raw_events() {
            let mut out = Vec::new();
            printer.print(at, bytes, &mut out).unwrap();
            let event = String::from_utf8_lossy(&out).into_owned();
            ours.push_str(&if is_mysql { without_geometry(event) } else { event });
        }
        let theirs = without_inner_checksums(golden.events);
        let (our_headers, our_rows) = relevant(&ours);
        let (their_headers, their_rows) = relevant(&theirs);
        let (our_names, their_names) = (names(&ours), names(&theirs));
        for (ours, theirs) in [(our_headers, their_headers), (our_rows, their_rows), (our_names, their_names)]
        {
            for (i, (a, b)) in ours.iter().zip(&theirs).enumerate() {
                assert_eq!(folded(a), folded(b), "{}, line {i}", golden.name);
            }
            assert_eq!(ours.len(), theirs.len(), "{}", golden.name);
        }
        assert_eq!(offsets(&ours), offsets(golden.events), "{}", golden.name);
    }
}
