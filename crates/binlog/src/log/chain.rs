//! Whether the log's files go on from each other (X4 of `examine.rs`), as far as their first and
//! last bytes tell.

use super::error::LogError;
use super::examine::{Examined, Finding, on_file, open};
use super::scan::{self, FIRST_EVENT, FileHeader};
use crate::position::FileNumber;

/// Of a file before the last one.
const UNREADABLE: &str = "Replicas, and recovery to a point, can't get past it: make them anew from a copy of the tables \
                          as they are now, or put the file back from a backup";

/// A file of the log; no header where that can't be read.
struct ChainFile {
    number: FileNumber,
    header: Option<FileHeader>,
}

impl Examined {
    /// Whether each file is what the next one goes on from, by headers and ends
    /// (X4 of `examine.rs`). That a header can't be read, or that a file was cut, is only logged:
    /// a reader of the file finds it, and a start may not need the file.
    pub(super) fn check_chain(&mut self, files: &[FileNumber]) -> Result<Option<LogError>, LogError> {
        let mut damage = None;
        let mut before: Option<ChainFile> = None;
        for &number in files {
            let header = match self.header(number) {
                Ok(header) => Some(header),
                Err(e) if e.is_damage() => {
                    self.find(self.folder.log_name(number), Some(0), format!("{e}. {UNREADABLE}"));
                    None
                }
                Err(e) => return Err(e),
            };
            if let (Some(before), Some(header)) = (&before, &header) {
                let found = self.check_joint(before, number, header)?;
                damage = damage.or(found);
            }
            before = Some(ChainFile { number, header });
        }
        Ok(damage)
    }

    /// Whether the file `number`, which has this header, goes on from the one before it.
    fn check_joint(
        &mut self,
        before: &ChainFile,
        number: FileNumber,
        header: &FileHeader,
    ) -> Result<Option<LogError>, LogError> {
        let (name, next_name) = (self.folder.log_name(before.number), self.folder.log_name(number));
        if let Some(before) = &before.header {
            let why = if before.reset != header.reset {
                format!("it belongs to a log that was begun at another time than that of {name}")
            } else if !before.previous.is_subset(&header.previous) {
                let mut lacking = before.previous.clone();
                lacking.subtract(&header.previous);
                format!(
                    "it does not say that {lacking} came before it, as {name} does: they are not of one log, or not \
                         in this order"
                )
            } else {
                String::new()
            };
            if !why.is_empty() {
                let damage = LogError::corrupt(&next_name, FIRST_EVENT, why).at_start();
                let (offset, what) = (Some(FIRST_EVENT), damage.to_string());
                self.findings.push(Finding { file: next_name, offset, what, is_damage: true });
                return Ok(Some(damage));
            }
        }
        // A file that is made by a rotation has its name only when the one before it is complete
        // (F1 of `files.rs`).
        if header.fde.create_timestamp == 0 {
            let file = open(&self.folder, before.number)?;
            let failed = |e| on_file(&self.folder, before.number, e);
            let len = file.len().map_err(failed)?;
            let is_whole = scan::ends_with_rotate(file, len).map_err(failed)?;
            if !is_whole {
                let what = format!(
                    "it does not end as {next_name} says, which goes on from it: it was cut, or something was \
                     written behind its end. {UNREADABLE}"
                );
                self.find(name, Some(len), what);
            }
        }
        Ok(None)
    }
}
