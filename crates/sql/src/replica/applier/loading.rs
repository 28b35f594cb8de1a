//! LOAD DATA that the source logged as a statement: the file's blocks are kept until the statement
//! comes, which is run with them. What it changes is logged as rows.

use binlog::event::{EventHeader, LoadBlockEvent, LoadQueryEvent, QueryEvent};

use super::{Applier, corrupt};
use crate::executor::LoggedFile;
use datum::error::Result;

impl Applier {
    /// A block of a file.
    pub(super) fn load_block(&mut self, event: &LoadBlockEvent<'_>) -> Result<()> {
        if event.begins {
            self.file = Some(LoggedFile::new(event.file_id));
        }
        let cx = self.session.context();
        match &mut self.file {
            Some(file) if file.id() == event.file_id => file.append(cx, event.block),
            _ => Err(corrupt("a block of a file that has not begun")),
        }
    }

    /// The statement that failed at the source before it changed anything has a file no longer.
    pub(super) fn forget_file(&mut self) {
        self.file = None;
    }

    /// The statement.
    pub(super) fn load(&mut self, header: &EventHeader, event: &LoadQueryEvent<'_>) -> Result<()> {
        let file = self.file.take().filter(|file| file.id() == event.file_id);
        let file = file.ok_or_else(|| corrupt("LOAD DATA without its file"))?;
        // The name is seen in errors only.
        let sql = event.with_file(&format!("SQL_LOAD-{}", event.file_id));
        let query = QueryEvent { sql: sql.into(), ..event.query.clone() };
        self.session.context().log.set_load_file(Some(file));
        let outcome = self.query(header, &query, false);
        self.session.context().log.set_load_file(None);
        outcome
    }
}
