//! One damage of one file of a data directory.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use stdx::random::Random;

/// All files of a data directory, with what they hold.
pub type Files = BTreeMap<PathBuf, Vec<u8>>;

/// What is done to which file.
pub struct Damage {
    pub file: PathBuf,
    /// The other one of a swap.
    pub other: Option<PathBuf>,
    what: String,
    /// What the directory holds then.
    pub files: Files,
}

impl Damage {
    /// Damages a file of `files`; `older` is what they held at earlier times. Kinds of files are as
    /// likely as each other, for small ones matter as much.
    pub fn draw(random: &mut Random, files: &Files, older: &[Files]) -> Self {
        let mut kinds: BTreeMap<String, Vec<&PathBuf>> = BTreeMap::new();
        files.keys().for_each(|path| kinds.entry(kind(path)).or_default().push(path));
        let kinds: Vec<_> = kinds.into_values().collect();
        loop {
            let same_kind = pick(random, &kinds);
            let file = *pick(random, same_kind);
            let mut after = files.clone();
            let (what, other) = Self::apply(random, file, same_kind, &mut after, older);
            if after != *files {
                let damage = Self { file: file.clone(), other, what, files: after };
                return damage;
            }
        }
    }

    fn apply(
        random: &mut Random,
        file: &PathBuf,
        same_kind: &[&PathBuf],
        files: &mut Files,
        older: &[Files],
    ) -> (String, Option<PathBuf>) {
        let bytes = files.get_mut(file).unwrap();
        let what = match random.below(16) {
            0 => {
                files.remove(file);
                "removed".to_owned()
            }
            1 => {
                let other = (*pick(random, same_kind)).clone();
                let (a, b) = (files[file].clone(), files[&other].clone());
                files.insert(file.clone(), b);
                files.insert(other.clone(), a);
                return (format!("swapped with {}", name(&other)), Some(other));
            }
            2 | 3 => match older.is_empty() {
                true => "nothing".to_owned(),
                false => {
                    let time = random.below(older.len() as u64) as usize;
                    if let Some(before) = older[time].get(file) {
                        bytes.clone_from(before);
                    }
                    format!("as it was at time {time}")
                }
            },
            _ if bytes.is_empty() => "nothing".to_owned(),
            4 | 5 => {
                let end = place(random, bytes);
                bytes.truncate(end);
                format!("cut to {end}")
            }
            6 | 7 => {
                let from = place(random, bytes);
                let most = *pick(random, &[8, 512, 4096, usize::MAX]);
                let to = from + (1 + random.below((bytes.len() - from) as u64) as usize).min(most);
                bytes[from..to].fill(0);
                format!("zeros from {from} to {to}")
            }
            8..=10 => {
                let (at, value) = (place(random, bytes), random.below(256) as u8);
                bytes[at] = value;
                format!("byte {at} is {value}")
            }
            _ => {
                let (at, bit) = (place(random, bytes), random.below(8));
                bytes[at] ^= 1 << bit;
                format!("bit {bit} of byte {at} flipped")
            }
        };
        (what, None)
    }

    /// True if a text names the file, or one of the two.
    pub fn is_named_in(&self, text: &str) -> bool {
        [Some(&self.file), self.other.as_ref()].into_iter().flatten().any(|file| text.contains(&name(file)))
    }

    /// What kind of file it is.
    pub fn kind(&self) -> String {
        kind(&self.file)
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", name(&self.file), self.what)
    }
}

/// A place in a file: near its beginning and near the end of what is not zeros as often as in all
/// the rest.
fn place(random: &mut Random, bytes: &[u8]) -> usize {
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(bytes.len() - 1);
    match random.below(4) {
        0 => random.below(300.min(bytes.len()) as u64) as usize,
        1 => end - random.below(600.min(end + 1) as u64) as usize,
        _ => random.below(bytes.len() as u64) as usize,
    }
}

fn pick<'a, T>(random: &mut Random, all: &'a [T]) -> &'a T {
    &all[random.below(all.len() as u64) as usize]
}

pub fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

/// Files of one kind differ in the number in their name.
fn kind(path: &Path) -> String {
    let name = name(path);
    let mut kind = String::new();
    for c in name.chars() {
        match c.is_ascii_digit() {
            true if kind.ends_with('N') => {}
            true => kind.push('N'),
            false => kind.push(c),
        }
    }
    kind
}

/// True for a file of the log itself.
pub fn is_log_file(path: &Path) -> bool {
    kind(path) == "binlog.N"
}

/// True for a file of tables.
pub fn is_table_file(path: &Path) -> bool {
    kind(path) == "N.table"
}
