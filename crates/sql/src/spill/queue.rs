//! Records taken out in the order in which they were put in: the rows of a cursor.

use super::file::SpillFile;
use super::stream::{Reader, Stream, Writer};
use super::{Budget, codec};
use crate::status::Counter;
use datum::error::Result;

/// Records that wait; all are put in before the first is taken out.
#[derive(Debug)]
pub struct RecordQueue {
    budget: Budget,
    /// Each after its length, as long as there is room.
    memory: Vec<u8>,
    at: usize,
    writing: Option<(SpillFile, Writer)>,
    reading: Option<(SpillFile, Stream, Reader)>,
}

impl RecordQueue {
    pub(crate) fn new(budget: Budget) -> Self {
        Self { budget, memory: Vec::new(), at: 0, writing: None, reading: None }
    }

    /// Puts a record in.
    pub fn push(&mut self, record: &[u8]) -> Result<()> {
        if let Some((file, writer)) = &mut self.writing {
            return writer.push(file, &[], record).map(|_| ());
        }
        let before = self.memory.len();
        codec::put_text(record, &mut self.memory);
        if self.budget.charge(self.memory.len() - before) { Ok(()) } else { self.overflow() }
    }

    fn overflow(&mut self) -> Result<()> {
        self.budget.count(Counter::CreatedTmpDiskTables);
        let block_size = self.budget.block_size();
        let (mut file, mut writer) = (self.budget.file()?, Writer::new(block_size));
        let memory = std::mem::take(&mut self.memory);
        let mut rest = memory.as_slice();
        while !rest.is_empty() {
            writer.push(&mut file, &[], codec::take_text(&mut rest)?)?;
        }
        self.budget.release_all();
        self.budget.charge(block_size);
        self.writing = Some((file, writer));
        Ok(())
    }

    /// Takes the next record out.
    pub fn take(&mut self) -> Result<Option<&[u8]>> {
        if let Some((mut file, writer)) = self.writing.take() {
            let stream = writer.finish(&mut file)?;
            self.reading = Some((file, stream, Reader::default()));
        }
        if let Some((file, stream, reader)) = &mut self.reading {
            return Ok(reader.advance(file, stream)?.then(|| reader.payload()));
        }
        let mut rest = &self.memory[self.at..];
        if rest.is_empty() {
            return Ok(None);
        }
        let record = codec::take_text(&mut rest)?;
        self.at = self.memory.len() - rest.len();
        Ok(Some(record))
    }
}
