//! `duramen binlog print`: events as text, the way `mysqlbinlog -v` prints them, or as JSON lines.

use super::arguments::{Arguments, Takes};
use super::input::{LogFile, Selection, log_files, walk};
use super::{EXPANDED_MAX, Outcome, ToolError};
use crate::remote;
use binlog::event::{Decoder, EventError, FormatDescription};
use binlog::file::{FileError, RawEvent};
use binlog::json_lines::JsonPrinter;
use binlog::text::{Detail, TextPrinter};
use env::Env;
use std::io::{self, StdoutLock, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Text is written in pieces of at least so many bytes.
const PIECE: usize = 64 << 10;

const OPTIONS: [Takes; 13] = [
    remote::OPTIONS[0],
    remote::OPTIONS[1],
    remote::OPTIONS[2],
    Takes::Nothing("json"),
    Takes::Value("start-position"),
    Takes::Value("stop-position"),
    Takes::Value("start-datetime"),
    Takes::Value("stop-datetime"),
    Takes::Value("include-gtids"),
    Takes::Value("exclude-gtids"),
    Takes::Value("database"),
    Takes::Value("base64-output"),
    Takes::Nothing("base64"),
];
const SHORT: [(&str, &str); 2] = [("-j", "start-position"), ("-d", "database")];

pub(super) fn run(env: &Arc<dyn Env>, args: &[String]) -> Result<Outcome, ToolError> {
    let arguments = Arguments::parse("print", args, &OPTIONS, &SHORT)?;
    check_base64(&arguments)?;
    let files = log_files(env, &arguments)?;
    let selection = Selection {
        start_position: arguments.number("start-position")?,
        stop_position: arguments.number("stop-position")?,
        start_time: arguments.moment("start-datetime")?,
        stop_time: arguments.moment("stop-datetime")?,
        include_gtids: arguments.gtids("include-gtids")?,
        exclude_gtids: arguments.gtids("exclude-gtids")?,
    };
    let mut output = Output::new(Printer::new(&arguments));
    let walked = walk(&**env, &files, &selection, &mut |file, event| output.print(file, event));
    // What was printed before an error leads to its offset.
    output.finish()?;
    walked.map(|()| Outcome::Done)
}

/// Rows are printed to be read. Statements that a server would run are not written: recovery is
/// `replay`'s.
fn check_base64(arguments: &Arguments) -> Result<(), ToolError> {
    match arguments.value("base64-output").map(str::to_ascii_lowercase).as_deref() {
        None | Some("decode-rows") if !arguments.has("base64") => Ok(()),
        _ => Err(arguments.wrong(
            "BINLOG statements are not written, so --base64-output takes decode-rows alone; 'duramen binlog replay' \
             recovers to a point in time"
                .to_owned(),
        )),
    }
}

enum Printer {
    Text(TextPrinter),
    Json(JsonPrinter),
}

impl Printer {
    fn new(arguments: &Arguments) -> Self {
        // Each file's own format comes with its first event.
        let decoder = Decoder::new(FormatDescription::new("", 0));
        let database = arguments.value("database");
        if arguments.has("json") {
            return Self::Json(JsonPrinter::new(decoder, EXPANDED_MAX).with_database(database));
        }
        let detail = match arguments.verbose {
            0 => Detail::Headers,
            1 => Detail::Rows,
            _ => Detail::Types,
        };
        Self::Text(TextPrinter::new(decoder, EXPANDED_MAX).with_detail(detail).with_database(database))
    }

    fn print(
        &mut self,
        file: &LogFile,
        event: RawEvent<'_>,
        text: &mut Vec<u8>,
        drain: binlog::text::Drain<'_>,
    ) -> Result<(), EventError> {
        match self {
            Self::Text(printer) => printer.print_draining(event.start, event.bytes, text, drain),
            Self::Json(printer) => printer.print(&file.name, event.start, event.bytes, text, drain),
        }
    }
}

struct Output {
    printer: Printer,
    text: Vec<u8>,
    to: StdoutLock<'static>,
}

impl Output {
    fn new(printer: Printer) -> Self {
        Self { printer, text: Vec::new(), to: io::stdout().lock() }
    }

    fn print(&mut self, file: &LogFile, event: RawEvent<'_>) -> Result<ControlFlow<()>, ToolError> {
        let Self { printer, text, to } = self;
        let mut written = Ok(());
        let mut drain = |text: &mut Vec<u8>| {
            if text.len() >= PIECE && written.is_ok() {
                written = to.write_all(text);
            }
            if text.len() >= PIECE {
                text.clear();
            }
        };
        let printed = printer.print(file, event, text, &mut drain);
        drain(text);
        written?;
        printed.map_err(|source| file.error(FileError::Event { at: event.start, source }))?;
        Ok(ControlFlow::Continue(()))
    }

    fn finish(mut self) -> Result<(), ToolError> {
        self.to.write_all(&self.text)?;
        self.to.flush()?;
        Ok(())
    }
}
