//! The record of which tables make up the store, and of the position that they stand for.
//!
//! 1. Open: `CURRENT` names a manifest file; its records, applied in order, give the tables, the
//!    checkpoint and the drops. Nothing is changed. The first commit begins a new manifest with all
//!    of it in one record, so that nothing is ever appended after a torn record, and opening a
//!    store costs no flush.
//! 2. Commit: an edit is appended as one record and flushed; from then on it is the truth.
//! 3. Rotate: when the file has grown, a new one is begun, and `CURRENT` replaced atomically.
//!
//! A record: magic (u32), its number in the file (u32), length of the content (u32), checksum of
//! these and the content (u64), content. At most one record is not yet flushed, so a power cut
//! damages the last one only.
//!
//! (N1) A damaged record with a sound one after it is damage, not a power cut: opening fails
//!      rather than forget.
//! (N2) After a failed append or flush nothing is known of the file's end. The next commit begins a
//!      new manifest; until then files that either outcome names stay.
//! (N3) Tables are durable, in content and in name, before an edit names them.
//! (N4) Without a `CURRENT` that can be read the newest manifest counts, if it is sound. What a
//!      power cut leaves of a new manifest is: nothing, a part of its first record, or the whole;
//!      and a whole first record stands for a state that the log and the tables have, whether
//!      `CURRENT` named it already or not (N3). Anything else is for a person to decide.
//! (N5) A newer manifest than the one that `CURRENT` names, with a whole first record, is what a
//!      power cut leaves between its flush and the replacement of `CURRENT`; or `CURRENT` is an old
//!      copy. It goes, with the tables that it alone names, only if the log reaches as far as its
//!      checkpoint: then replay gives all that is in them.

use crate::error::StoreError;
use crate::version::Edit;
use env::{Env, File, OpenMode, Rows};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const RECORD_MAGIC: u32 = 0x4d55_5244;
const RECORD_HEAD: usize = 20;
const _: () = assert!(RECORD_HEAD == 3 * size_of::<u32>() + size_of::<u64>());
/// A manifest is replaced once it is longer than this and than four times its first record.
const ROTATE_SIZE: u64 = 1 << 20;
pub(crate) const CURRENT: &str = "CURRENT";

/// The open manifest.
pub(crate) struct Manifest {
    env: Arc<dyn Env>,
    dir: PathBuf,
    number: u64,
    file: Option<Arc<dyn File>>,
    len: u64,
    /// Number of the next record.
    record: u32,
    first_len: u64,
}

impl Manifest {
    /// True if a manifest was ever begun in this folder.
    pub(crate) fn is_there(env: &dyn Env, dir: &Path) -> bool {
        env.exists(&dir.join(CURRENT))
    }

    /// Reads the edits of the manifest in use, one of `manifests`; the folder also has `tables`
    /// table files.
    pub(crate) fn examine(
        env: &dyn Env,
        dir: &Path,
        manifests: &[u64],
        tables: usize,
    ) -> Result<Found, StoreError> {
        let newest = manifests.iter().max().copied();
        let read = |number: u64| {
            let path = manifest_path(dir, number);
            let content = env.read_file(&path);
            content.map_err(|e| StoreError::io(format!("read {}", path.display()), e))
        };
        let why = match read_current(env, dir, manifests)? {
            Current::Names(number) => {
                let (edits, torn_at) = parse(&read(number)?, number, &manifest_path(dir, number))?;
                let mut newer = Vec::new();
                for &later in manifests.iter().filter(|later| **later > number) {
                    let content = read(later)?;
                    // Only the manifest in use gets a second record.
                    let records = sound_records(&content, later);
                    if let (1, Ok((edits, _))) = (records, parse(&content, later, &manifest_path(dir, later)))
                    {
                        newer.push((later, edits));
                    }
                    if records > 1 {
                        let later = manifest_name(later);
                        let what =
                            format!("names {}, but {later} was in use after it", manifest_name(number));
                        return Err(StoreError::Corrupt { file: dir.join(CURRENT), offset: 0, what });
                    }
                }
                return Ok(Found { edits, number, torn_at, newer, ..Found::default() });
            }
            Current::Missing if newest.is_none() && tables == 0 => return Ok(Found::default()),
            Current::Missing => StoreError::Corrupt {
                file: dir.join(CURRENT),
                offset: 0,
                what: match newest {
                    Some(newest) => format!("it is missing, though {} is there", manifest_name(newest)),
                    None => format!("it is missing, as all manifests are, though {tables} tables are there"),
                },
            },
            Current::Damaged(why) => why,
        };
        let Some(newest) = newest else { return Ok(Found { doubt: Some(why), ..Found::default() }) };
        let content = read(newest)?;
        match parse(&content, newest, &manifest_path(dir, newest)) {
            // N4
            Ok((edits, torn_at)) => {
                Ok(Found { edits, number: newest, torn_at, instead_of: Some(why), ..Found::default() })
            }
            Err(e) => {
                for &manifest in manifests {
                    if sound_records(&read(manifest)?, manifest) > 0 {
                        return Err(e);
                    }
                }
                // A first manifest whose beginning was cut short, perhaps again and again.
                Ok(Found { doubt: Some(e), ..Found::default() })
            }
        }
    }

    /// Has `CURRENT` name a manifest that was found without it (N4), before another one is begun: a
    /// power cut then would leave two, and nothing to choose by.
    pub(crate) fn make_current(env: &dyn Env, dir: &Path, number: u64) -> Result<(), StoreError> {
        let path = manifest_path(dir, number);
        let named = env.open(&path, OpenMode::ReadWrite).and_then(|file| {
            // Who wrote it may have ended before it was flushed.
            file.sync_all()?;
            env.sync_dir(dir)?;
            env.replace_file(&dir.join(CURRENT), &current_content(number))
        });
        named.map_err(|e| StoreError::io(format!("name {} in {CURRENT}", path.display()), e))
    }

    /// A manifest with no file yet: the first commit begins file `number`.
    pub(crate) fn new(env: Arc<dyn Env>, dir: &Path, number: u64) -> Manifest {
        Manifest { env, dir: dir.to_owned(), number, file: None, len: 0, record: 0, first_len: 0 }
    }

    /// Makes `edit` durable. `whole` gives an edit that builds everything from nothing, `edit`
    /// included; it is asked for when a new file is begun, as `number` is.
    pub(crate) fn commit(
        &mut self,
        edit: &Edit,
        whole: impl FnOnce() -> Edit,
        number: impl FnOnce() -> u64,
    ) -> Result<(), StoreError> {
        match self.file.clone() {
            Some(file) if self.len <= ROTATE_SIZE.max(4 * self.first_len) => {
                // Nothing is known of the file from here until the flush succeeded (N2).
                self.file = None;
                self.append(&file, edit)?;
                self.file = Some(file);
                Ok(())
            }
            _ => self.begin(&whole(), number()),
        }
    }

    /// True if it is known what the file says: one was begun, and nothing failed since (N2).
    pub(crate) fn is_certain(&self) -> bool {
        self.file.is_some()
    }

    /// The number of the file in use.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    fn append(&mut self, file: &Arc<dyn File>, edit: &Edit) -> Result<(), StoreError> {
        let record = encode_record(edit, self.number, self.record);
        let path = manifest_path(&self.dir, self.number);
        let failed = |e| StoreError::io(format!("write {}", path.display()), e);
        file.write_at(&record, self.len).map_err(failed)?;
        file.sync_data().map_err(failed)?;
        self.len += record.len() as u64;
        self.record += 1;
        Ok(())
    }

    fn begin(&mut self, whole: &Edit, number: u64) -> Result<(), StoreError> {
        self.file = None;
        let path = manifest_path(&self.dir, number);
        let failed = |e| StoreError::io(format!("begin {}", path.display()), e);
        let record = encode_record(whole, number, 0);
        let file = self.env.open(&path, OpenMode::CreateNewRows(Rows::Tables)).map_err(failed)?;
        let switched = file
            .write_at(&record, 0)
            .and_then(|()| file.sync_all())
            .and_then(|()| self.env.sync_dir(&self.dir))
            .and_then(|()| self.env.replace_file(&self.dir.join(CURRENT), &current_content(number)));
        switched.map_err(failed)?;
        let old = std::mem::replace(&mut self.number, number);
        self.len = record.len() as u64;
        self.first_len = self.len;
        self.record = 1;
        self.file = Some(file);
        if old != number {
            // Nothing depends on it: an orphaned file is removed at the next start.
            let _ = self.env.remove_file(&manifest_path(&self.dir, old));
        }
        Ok(())
    }
}

/// What was found in a store's folder.
#[derive(Default)]
pub(crate) struct Found {
    /// What the manifest says.
    pub(crate) edits: Vec<Edit>,
    /// Its number, 0 if there is none.
    pub(crate) number: u64,
    /// Where its last record is that can't be read, and does not count, as after a power cut; in
    /// bytes.
    pub(crate) torn_at: Option<u64>,
    /// Why it counts although `CURRENT` does not name it (N4).
    pub(crate) instead_of: Option<StoreError>,
    /// Why it is not certain that the store was never used: it is as good as empty only if the log
    /// has everything.
    pub(crate) doubt: Option<StoreError>,
    /// Newer manifests with a whole first record and no other, and what they say: `CURRENT` does
    /// not name them (N5).
    pub(crate) newer: Vec<(u64, Vec<Edit>)>,
}

enum Current {
    Missing,
    Names(u64),
    Damaged(StoreError),
}

fn read_current(env: &dyn Env, dir: &Path, manifests: &[u64]) -> Result<Current, StoreError> {
    let path = dir.join(CURRENT);
    if !Manifest::is_there(env, dir) {
        return Ok(Current::Missing);
    }
    let content = env.read_file(&path).map_err(|e| StoreError::io(format!("read {}", path.display()), e))?;
    let damaged = |what: String| Ok(Current::Damaged(StoreError::Corrupt { file: path, offset: 0, what }));
    let name = std::str::from_utf8(&content).ok().map(str::trim_end);
    match name.and_then(|name| manifest_number(Path::new(name))) {
        Some(number) if manifests.contains(&number) => Ok(Current::Names(number)),
        Some(number) => damaged(format!("it names {}, which is not there", manifest_name(number))),
        None => damaged("it does not name a manifest".into()),
    }
}

fn current_content(number: u64) -> Vec<u8> {
    format!("{}\n", manifest_name(number)).into_bytes()
}

pub(crate) fn manifest_name(number: u64) -> String {
    format!("{number:06}.manifest")
}

/// The path of manifest `number`.
pub(crate) fn manifest_path(dir: &Path, number: u64) -> PathBuf {
    dir.join(manifest_name(number))
}

/// The number in a manifest's file name.
pub(crate) fn manifest_number(path: &Path) -> Option<u64> {
    if path.extension()? != "manifest" {
        return None;
    }
    path.file_stem()?.to_str()?.parse().ok()
}

fn encode_record(edit: &Edit, manifest: u64, record: u32) -> Vec<u8> {
    let mut out = vec![0; RECORD_HEAD];
    edit.encode(&mut out);
    if env::INVARIANTS {
        assert_eq!(Edit::decode(&out[RECORD_HEAD..]).as_ref(), Ok(edit), "what is written can be read back");
    }
    let len = u32::try_from(out.len() - RECORD_HEAD).expect("a manifest's record is far below 4 GiB");
    out[..4].copy_from_slice(&RECORD_MAGIC.to_le_bytes());
    out[4..8].copy_from_slice(&record.to_le_bytes());
    out[8..12].copy_from_slice(&len.to_le_bytes());
    let sum = record_checksum(manifest, &out);
    out[12..20].copy_from_slice(&sum.to_le_bytes());
    out
}

fn record_checksum(manifest: u64, record: &[u8]) -> u64 {
    let head = xxh3_64_with_seed(&record[..12], manifest);
    xxh3_64_with_seed(&record[RECORD_HEAD..], head)
}

/// The content of the sound record at the start of `bytes`, if its number is one of `records`.
fn sound_record(bytes: &[u8], manifest: u64, records: RangeInclusive<u32>) -> Option<&[u8]> {
    let number =
        |at: usize| bytes.get(at..at + 4).and_then(|b| b.first_chunk()).map(|b| u32::from_le_bytes(*b));
    if number(0)? != RECORD_MAGIC || !records.contains(&number(4)?) {
        return None;
    }
    let whole = bytes.get(..RECORD_HEAD.checked_add(number(8)? as usize)?)?;
    let sum = u64::from_le_bytes(*whole[12..].first_chunk()?);
    (record_checksum(manifest, whole) == sum).then(|| &whole[RECORD_HEAD..])
}

/// The edits, and where a torn record follows them.
fn parse(content: &[u8], manifest: u64, path: &Path) -> Result<(Vec<Edit>, Option<u64>), StoreError> {
    let corrupt = |offset: usize, what: &str| StoreError::Corrupt {
        file: path.to_owned(),
        offset: offset as u64,
        what: what.to_owned(),
    };
    if let Some(magic) = content.first_chunk::<4>()
        && *magic != RECORD_MAGIC.to_le_bytes()
    {
        let what = format!(
            "it begins with '{}' and no manifest of this version does: it is damaged, or of a newer version",
            magic.escape_ascii()
        );
        return Err(corrupt(0, &what));
    }
    let mut edits = Vec::new();
    let mut offset = 0;
    while offset < content.len() {
        let record = edits.len() as u32;
        let Some(bytes) = sound_record(&content[offset..], manifest, record..=record) else {
            // The first record was flushed before CURRENT named the file; a later one may be torn
            // (N1).
            let is_torn = record > 0 && !holds_record(&content[offset + 1..], manifest, record + 1);
            return if is_torn {
                Ok((edits, Some(offset as u64)))
            } else {
                Err(corrupt(offset, "checksum differs"))
            };
        };
        let edit = Edit::decode(bytes).map_err(|_| corrupt(offset, "record can't be read"))?;
        edits.push(edit);
        offset += RECORD_HEAD + bytes.len();
    }
    if edits.is_empty() { Err(corrupt(0, "empty")) } else { Ok((edits, None)) }
}

/// How many sound records the content begins with.
fn sound_records(content: &[u8], manifest: u64) -> usize {
    let (mut records, mut offset) = (0, 0);
    while let Some(bytes) = sound_record(&content[offset..], manifest, records..=records) {
        records += 1;
        offset += RECORD_HEAD + bytes.len();
    }
    records as usize
}

/// True if a sound record with this number or a later one lies anywhere in `bytes`.
fn holds_record(bytes: &[u8], manifest: u64, record: u32) -> bool {
    let magic = RECORD_MAGIC.to_le_bytes();
    let places = bytes.windows(4).enumerate().filter(|(_, w)| *w == magic);
    places.map(|(i, _)| i).any(|i| sound_record(&bytes[i..], manifest, record..=u32::MAX).is_some())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::memtable::Checkpoint;
    use binlog::LogPosition;

    fn edit(position: u64) -> Edit {
        let position = LogPosition::from_u64(position);
        Edit { checkpoint: Some(Checkpoint::new(position, &[])), ..Edit::default() }
    }

    fn content() -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for record in 0..3 {
            bytes.extend(encode_record(&edit(u64::from(record) + 1), 9, record));
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    #[test]
    fn a_torn_end_is_cut_and_damage_before_it_is_reported() {
        let (bytes, ends) = content();
        let edits = |bytes: &[u8]| parse(bytes, 9, Path::new("m")).map(|(edits, _)| edits.len());
        assert_eq!(edits(&bytes).unwrap(), 3);
        for len in 0..bytes.len() {
            let whole = ends.iter().filter(|end| **end <= len).count();
            match edits(&bytes[..len]) {
                Ok(n) => assert_eq!(n, whole, "cut to {len}"),
                Err(e) => assert!(whole == 0 && e.is_corrupt(), "cut to {len}: {e}"),
            }
        }
        for i in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[i] ^= 0x10;
            match edits(&bad) {
                Ok(n) => assert!(n == 2 && i >= ends[1], "byte {i} changed"),
                Err(e) => assert!(i < ends[1] && e.is_corrupt(), "byte {i} changed: {e}"),
            }
        }
        assert!(edits(&[]).is_err());
    }

    #[test]
    fn a_record_of_another_file_is_not_sound() {
        let (bytes, _) = content();
        assert!(parse(&bytes, 8, Path::new("m")).is_err());
    }
}
