//! What belongs to a backup, as text.

use super::key::{from_hex, to_hex};
use super::piece::Content;
use super::repository::log_order;
use crate::log_tool::replay::copy::is_data;
use crate::tool::log_number;
use binlog::gtid::GtidSet;
use std::collections::HashSet;
use std::fmt::Write as _;
use storage::STORE_FOLDER;

const TITLE: &str = "duramen backup 2";

/// A backup.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Manifest {
    /// When it was begun, in UTC: the name of its folder.
    pub(super) id: String,
    /// When its log was read, in microseconds since 1970: what was committed before is in it.
    pub(super) until: u64,
    pub(super) server_uuid: String,
    /// What log files are called before their number.
    pub(super) log_name: String,
    /// The first log file that a start needs.
    pub(super) log_first: String,
    /// The last log file, and where its last transaction ends.
    pub(super) log_last: String,
    pub(super) log_end: u64,
    pub(super) gtid_executed: String,
    /// The last transaction's GTID; empty if it has none, or is in an earlier file.
    pub(super) gtid_last: String,
    /// Small files of the data directory, by their path in it.
    pub(super) files: Vec<StoredFile>,
    /// Table files, by their path in the data directory.
    pub(super) tables: Vec<StoredFile>,
}

/// A file of the data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoredFile {
    /// Its path in the data directory.
    pub(super) path: String,
    /// The name of the piece that holds it.
    pub(super) piece: String,
    pub(super) content: Content,
}

impl Manifest {
    pub(super) fn text(&self) -> String {
        let mut text = format!(
            "{TITLE}\nuntil: {}\nserver_uuid: {}\nlog_name: {}\nlog_first: {}\nlog_last: {}\nlog_end: {}\ngtid_executed: {}\ngtid_last: {}\n",
            self.until,
            self.server_uuid,
            self.log_name,
            self.log_first,
            self.log_last,
            self.log_end,
            self.gtid_executed,
            self.gtid_last
        );
        for (word, list) in [("file", &self.files), ("table", &self.tables)] {
            for stored in list {
                let StoredFile { path, piece, content } = stored;
                let _ = writeln!(text, "{word}: {} {} {piece} {path}", content.len, to_hex(&content.sha256));
            }
        }
        text
    }

    /// `None` for another format.
    pub(super) fn parse(id: &str, text: &str) -> Option<Manifest> {
        let mut lines = text.lines();
        if lines.next() != Some(TITLE) {
            return None;
        }
        let mut field = |name: &str| {
            let line = lines.next()?.strip_prefix(name)?;
            Some(line.strip_prefix(": ")?.to_owned())
        };
        let mut manifest = Manifest {
            id: id.to_owned(),
            until: field("until")?.parse().ok()?,
            server_uuid: field("server_uuid")?,
            log_name: field("log_name")?,
            log_first: field("log_first")?,
            log_last: field("log_last")?,
            log_end: field("log_end")?.parse().ok()?,
            gtid_executed: field("gtid_executed")?,
            gtid_last: field("gtid_last")?,
            files: Vec::new(),
            tables: Vec::new(),
        };
        for line in lines {
            let (word, rest) = line.split_once(": ")?;
            let mut words = rest.splitn(4, ' ');
            let (len, sha256) = (words.next()?.parse().ok()?, from_hex(words.next()?)?);
            let (piece, path) = (words.next()?.to_owned(), words.next()?.to_owned());
            let stored = StoredFile { path, piece, content: Content { len, sha256 } };
            match word {
                "file" => manifest.files.push(stored),
                "table" => manifest.tables.push(stored),
                _ => return None,
            }
        }
        manifest.is_plausible().then_some(manifest)
    }

    /// True if it names nothing but files of a data directory and pieces, each once, and log files
    /// in their order: whoever can write to the folder may have made it.
    fn is_plausible(&self) -> bool {
        let is_log = |name: &str| is_plain(&self.log_name) && log_number(name, &self.log_name).is_some();
        let mut paths = HashSet::new();
        let is_stored = |stored: &StoredFile| is_plain(&stored.piece) && stored.piece.ends_with(".piece");
        let is_table = |path: &str| {
            path.strip_prefix(STORE).is_some_and(|name| is_plain(name) && name.ends_with(".table"))
        };
        let is_file = |path: &str| match path.strip_prefix(STORE) {
            Some(name) => name == "CURRENT" || is_plain(name) && name.ends_with(".manifest"),
            None => is_plain(path) && is_data(path, &self.log_name) && path != STORE_FOLDER,
        };
        is_log(&self.log_first)
            && is_log(&self.log_last)
            && log_order(&self.log_first) <= log_order(&self.log_last)
            && self.gtid_executed.parse::<GtidSet>().is_ok()
            && self.tables.iter().all(|stored| is_table(&stored.path) && is_stored(stored))
            && self.files.iter().all(|stored| is_file(&stored.path) && is_stored(stored))
            && self.files.iter().chain(&self.tables).all(|stored| paths.insert(&stored.path))
    }

    /// Bytes of all files but the log's.
    pub(super) fn size(&self) -> u64 {
        self.files.iter().chain(&self.tables).map(|stored| stored.content.len).sum()
    }
}

/// The folder of tables, as it stands in paths.
const STORE: &str = "store/";
const _: () = assert!(STORE.len() == STORE_FOLDER.len() + 1);

/// True for the name of a file, which leads to no other folder.
pub(super) fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0', '\n', '\r'])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let stored = |path: &str| StoredFile {
            path: path.to_owned(),
            piece: "x.piece".to_owned(),
            content: Content { len: 5, sha256: [9; 32] },
        };
        let manifest = Manifest {
            id: "20261128T021500Z".into(),
            until: 17,
            server_uuid: "u".into(),
            log_name: "binlog".into(),
            log_first: "binlog.000001".into(),
            log_last: "binlog.000002".into(),
            log_end: 99,
            gtid_executed: String::new(),
            gtid_last: "u:7".into(),
            files: vec![stored("auto.cnf"), stored("a name with spaces")],
            tables: vec![stored("store/000007.table")],
        };
        assert_eq!(Manifest::parse(&manifest.id, &manifest.text()).unwrap(), manifest);
        assert!(Manifest::parse("x", &manifest.text()).is_some());
        for path in [
            "../x",
            "/x",
            "a/b",
            "",
            "..",
            "a\0b",
            "binlog.000001",
            "binlog.index",
            "duramen.lock",
            "store",
            "store/x",
            "store/../x",
        ] {
            let forged = Manifest { files: vec![stored(path)], ..manifest.clone() };
            assert!(Manifest::parse("x", &forged.text()).is_none(), "file {path:?}");
            let forged = Manifest { tables: vec![stored(path)], ..manifest.clone() };
            assert!(Manifest::parse("x", &forged.text()).is_none(), "table {path:?}");
        }
        for piece in ["../x.piece", "/x.piece", "x", "", "a\0.piece"] {
            let forged = StoredFile { piece: piece.into(), ..stored("auto.cnf") };
            let forged = Manifest { files: vec![forged], ..manifest.clone() };
            assert!(Manifest::parse("x", &forged.text()).is_none(), "{piece:?}");
        }
        let twice = Manifest { files: vec![stored("auto.cnf"), stored("auto.cnf")], ..manifest.clone() };
        assert!(Manifest::parse("x", &twice.text()).is_none());
        for first in ["../binlog.000001", "binlog.000003", "other.000001", ""] {
            let forged = Manifest { log_first: first.into(), ..manifest.clone() };
            assert!(Manifest::parse("x", &forged.text()).is_none(), "{first:?}");
        }
        let forged =
            Manifest { log_name: "a/binlog".into(), log_first: "a/binlog.000001".into(), ..manifest.clone() };
        assert!(Manifest::parse("x", &forged.text()).is_none());
        assert!(Manifest::parse("x", &manifest.text().replace("backup 2", "backup 1")).is_none());
    }
}
