//! The file of a LOAD DATA that a source logged as a statement: its blocks come with the log,
//! before the statement.

use super::super::delimited::Pieces;
use crate::session::Context;
use crate::spill::Purpose;
use crate::spill::file::{SpillBlock, SpillFile};
use datum::error::Result;

/// What is kept in memory, in bytes; what is more goes to a temporary file in pieces of this size.
const MEMORY_MAX: usize = 256 << 10;

/// A file as far as it has come.
#[derive(Debug)]
pub(crate) struct LoggedFile {
    /// What the source calls it.
    id: u32,
    spilled: Option<SpillFile>,
    blocks: Vec<SpillBlock>,
    /// What comes after the blocks.
    memory: Vec<u8>,
    /// How many blocks were read.
    read: usize,
}

impl LoggedFile {
    /// An empty one.
    pub(crate) fn new(id: u32) -> Self {
        Self { id, spilled: None, blocks: Vec::new(), memory: Vec::new(), read: 0 }
    }

    /// What the source calls it.
    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Takes what comes next.
    ///
    /// # Errors
    /// Those of temporary files.
    pub(crate) fn append(&mut self, cx: &Context, block: &[u8]) -> Result<()> {
        self.memory.extend_from_slice(block);
        if self.memory.len() <= MEMORY_MAX {
            return Ok(());
        }
        let file = match &mut self.spilled {
            Some(file) => file,
            None => self.spilled.insert(cx.budget(Purpose::Table).file()?),
        };
        self.blocks.push(file.append(&self.memory)?);
        self.memory.clear();
        Ok(())
    }
}

impl Pieces for LoggedFile {
    fn next(&mut self, out: &mut Vec<u8>) -> Result<()> {
        if let (Some(file), Some(&block)) = (&self.spilled, self.blocks.get(self.read)) {
            self.read += 1;
            let mut bytes = Vec::new();
            file.read(block, &mut bytes)?;
            out.append(&mut bytes);
        } else {
            out.append(&mut self.memory);
        }
        Ok(())
    }
}
