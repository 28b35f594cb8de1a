//! The statements of an examined log: what a start is about to do again, before it has changed
//! anything.

use super::error::LogError;
use super::examine::{Examined, on_file};
use super::recovery::from_stream;
use super::scan::{EventStream, FIRST_EVENT, read_file_header};
use crate::event::{Event, EventType, QueryEvent, decode};
use crate::position::{FileNumber, LogPosition};
use env::OpenMode;

impl Examined {
    /// Gives every statement of the whole groups after `from` to `visitor`, with the timestamp and
    /// the end of its event: `BEGIN` and its like too, but none that was compressed with a
    /// transaction's rows. Of other events only the headers are read.
    ///
    /// # Errors
    /// [`LogError::Corrupt`] or [`LogError::Io`] of files that [`Examined::verify_from`] would
    /// complain of too; the visitor's.
    pub fn statements<E: From<LogError>>(
        &self,
        from: LogPosition,
        visitor: &mut dyn FnMut(&QueryEvent<'_>, u32, LogPosition) -> Result<(), E>,
    ) -> Result<(), E> {
        for &(number, end) in self.files.iter().filter(|(number, _)| *number >= from.file()) {
            let start = if number == from.file() { from.offset() } else { 0 };
            self.statements_of(number, start, end, visitor)?;
        }
        Ok(())
    }

    fn statements_of<E: From<LogError>>(
        &self,
        number: FileNumber,
        from: u64,
        end: u64,
        visitor: &mut dyn FnMut(&QueryEvent<'_>, u32, LogPosition) -> Result<(), E>,
    ) -> Result<(), E> {
        let folder = &self.folder;
        // The file that a log begins anew with has its name only when the reset is finished.
        let path = if self.reset.is_some() { folder.reset_file() } else { folder.log_path(number) };
        let file = folder.env.open(&path, OpenMode::Read);
        let mut stream = EventStream::new(file.map_err(|e| on_file(folder, number, e))?, FIRST_EVENT);
        let failed = |at: u64, e| E::from(from_stream(folder, number, at, e));
        let fde = read_file_header(&mut stream, end).map_err(|e| failed(0, e))?.fde;
        stream.seek(stream.at().max(from));
        while let Some(header) = stream.header(end).map_err(|e| failed(from, e))? {
            let at = stream.at();
            // What is behind a closed file's last event is no part of the log.
            if matches!(header.event_type, EventType::ROTATE | EventType::STOP) {
                break;
            }
            if header.event_type != EventType::QUERY {
                stream.seek(at + u64::from(header.event_length));
                continue;
            }
            let bytes = stream.event(&header, &fde, end).map_err(|e| failed(at, e))?;
            let event = decode(bytes, &fde).map_err(|e| failed(at, e.into()))?;
            if let Event::Query(query) = event {
                let end = LogPosition::new(number, at + u64::from(header.event_length));
                visitor(&query, header.timestamp, end)?;
            }
        }
        Ok(())
    }
}
