//! What the collations of languages change in the weights of characters.
//!
//! 1. languages  A server is asked for the weight strings of characters and of sequences of letters
//!    under the collations of [`PRIMARY`] and [`LANGUAGES`] and under those that they change.
//!    MySQL's and Duramen's listings must be the same: `diff -rq`.
//! 2. tailor     The differences between two listings become the files of `data/tailorings`:
//!    scripts that move, characters with other weights, contractions. A sequence is a contraction
//!    if it does not weigh what its parts do, of which the longest contractions count.
//! 3. digests    Prints what `datum`'s tests compare the weights of characters with.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::{hex, weight_strings};
use crate::Result;

const FILES: &str = "crates/datum/src/types/collation/data/tailorings";

/// Over UCA 4.0.0: `utf8mb4_.._ci`.
const PRIMARY: [&str; 22] = [
    "croatian",
    "czech",
    "danish",
    "esperanto",
    "estonian",
    "german2",
    "hungarian",
    "icelandic",
    "latvian",
    "lithuanian",
    "persian",
    "polish",
    "roman",
    "romanian",
    "sinhala",
    "slovak",
    "slovenian",
    "spanish",
    "spanish2",
    "swedish",
    "turkish",
    "vietnamese",
];

/// Over UCA 9.0.0: `utf8mb4_.._0900_ai_ci` and `_as_cs`; and whose file they have.
const LANGUAGES: [(&str, &str); 28] = [
    ("bg", "ru"),
    ("bs", "hr"),
    ("cs", "cs"),
    ("da", "da"),
    ("de_pb", "de_pb"),
    ("eo", "eo"),
    ("es", "es"),
    ("es_trad", "es_trad"),
    ("et", "et"),
    ("gl", "es"),
    ("hr", "hr"),
    ("hu", "hu"),
    ("is", "is"),
    ("la", "la"),
    ("lt", "lt"),
    ("lv", "lv"),
    ("mn_cyrl", "ru"),
    ("nb", "nb"),
    ("nn", "nb"),
    ("pl", "pl"),
    ("ro", "ro"),
    ("ru", "ru"),
    ("sk", "sk"),
    ("sl", "sl"),
    ("sr_latn", "hr"),
    ("sv", "sv"),
    ("tr", "tr"),
    ("vi", "vi"),
];

const ROOTS: [&str; 7] = [
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_bin",
];

/// Asks a server for the listings.
pub(super) fn record(folder: &Path, client: &[String]) -> Result<()> {
    fs::create_dir_all(folder)?;
    for collation in collations() {
        println!("{collation}");
        for (list, texts) in [("characters", characters()), ("sequences", sequences())] {
            let texts: Vec<String> =
                texts.iter().map(|text| format!("_utf8mb4 0x{}", hex(text.as_bytes()))).collect();
            weight_strings(&folder.join(format!("{list}.{collation}")), client, &collation, &texts)?;
        }
    }
    Ok(())
}

/// Makes the files.
pub(super) fn tailor(folder: &Path) -> Result<()> {
    for language in PRIMARY {
        let text = tailoring(folder, &format!("utf8mb4_{language}_ci"), "utf8mb4_unicode_ci")?;
        fs::write(Path::new(FILES).join(format!("4.0.0-{language}.txt")), text)?;
    }
    let mut files: BTreeMap<&str, String> = BTreeMap::new();
    for (language, file) in LANGUAGES {
        let text = tailoring(folder, &format!("utf8mb4_{language}_0900_as_cs"), "utf8mb4_0900_as_cs")?;
        if files.entry(file).or_insert_with(|| text.clone()) != &text {
            return Err(format!("{language} and {file} differ").into());
        }
    }
    for (file, text) in files {
        fs::write(Path::new(FILES).join(format!("9.0.0-{file}.txt")), text)?;
    }
    Ok(())
}

/// Prints a digest for each collation: FNV-1a of the weights, with their length after them, of the
/// characters that `datum`'s tests take.
pub(super) fn digests(folder: &Path) -> Result<()> {
    let beyond = [0x10000, 0x10400, 0x10428, 0x17000, 0x1f600, 0x20000, 0x2f800, 0xe0100];
    let taken: BTreeSet<u32> = (0..0x10000).chain(0x1d400..0x1d800).chain(beyond).collect();
    for collation in collations().iter().filter(|name| !name.ends_with("_bin")) {
        let mut digest = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |number: u64| digest = (digest ^ number).wrapping_mul(0x100_0000_01b3);
        for (text, line) in characters().iter().zip(lines(folder, "characters", collation)?) {
            if text.chars().all(|c| taken.contains(&c.into())) {
                let weights = unhex(&line)?;
                weights.iter().for_each(|&byte| add(byte.into()));
                add(weights.len() as u64);
            }
        }
        println!("{collation} {digest:016x}");
    }
    Ok(())
}

fn collations() -> Vec<String> {
    let mut all: Vec<String> = ROOTS.map(str::to_string).into();
    all.extend(PRIMARY.map(|language| format!("utf8mb4_{language}_ci")));
    for suffix in ["ai_ci", "as_cs"] {
        all.extend(LANGUAGES.map(|(language, _)| format!("utf8mb4_{language}_0900_{suffix}")));
    }
    all
}

/// All characters but private ones and planes without any.
fn characters() -> Vec<String> {
    let all = (0..0x30000).chain(0xe0000..0xe0200).chain([0xf0000, 0x10ffff]);
    all.filter_map(char::from_u32).map(String::from).collect()
}

/// Two, three and four letters.
fn sequences() -> Vec<String> {
    let ascii = || ('A'..='Z').chain('a'..='z');
    let marks = ('\u{300}'..='\u{314}').chain(['\u{31b}', '\u{323}', '\u{327}', '\u{328}', '\u{338}']);
    let letters = ascii().chain(marks).chain('À'..='ſ').chain("ƠơƯưǄǅǆǇǈǉǊǋǌȘșȚțжЖһω漢각เกක්".chars());
    let mut all: BTreeSet<String> = BTreeSet::new();
    let letters: Vec<char> = letters.collect();
    all.extend(letters.iter().flat_map(|a| letters.iter().map(move |b| format!("{a}{b}"))));
    for (alphabet, len) in [
        ("abcdefghijklmnopqrstuvwxyz", 3),
        ("cChHlLjJnNdDzZsSžŽaAgGyYtT", 3),
        ("dDzZsScn", 4),
        ("i\u{307}\u{300}\u{301}\u{303}\u{323}j", 4),
    ] {
        let mut words = vec![String::new()];
        for _ in 0..len {
            words = words.iter().flat_map(|w| alphabet.chars().map(move |c| format!("{w}{c}"))).collect();
        }
        all.extend(words);
    }
    let mut all: Vec<String> = all.into_iter().collect();
    all.sort_by_key(|text| text.chars().count());
    all
}

/// The weights of a text on each level.
type Levels = [Vec<u16>; 3];

fn unhex(line: &str) -> Result<Vec<u8>> {
    let byte = |pair: &[u8]| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?);
    line.as_bytes().chunks(2).map(byte).collect()
}

fn lines(folder: &Path, list: &str, collation: &str) -> Result<Vec<String>> {
    let text = fs::read_to_string(folder.join(format!("{list}.{collation}")))?;
    Ok(text.lines().map(str::to_string).collect())
}

fn read(folder: &Path, list: &str, collation: &str) -> Result<Vec<Levels>> {
    let parse = |line: &String| {
        let bytes = unhex(line)?;
        let weights: Vec<u16> = bytes.chunks(2).map(|w| u16::from(w[0]) << 8 | u16::from(w[1])).collect();
        let mut levels = Levels::default();
        if collation.ends_with("_as_cs") {
            // From the end: MySQL has a primary weight of zero that counts.
            let parts: Vec<&[u16]> = weights.rsplitn(3, |&weight| weight == 0).collect();
            for (level, part) in levels.iter_mut().zip(parts.iter().rev()) {
                *level = part.to_vec();
            }
        } else {
            levels[0] = weights;
        }
        Ok(levels)
    };
    lines(folder, list, collation)?.iter().map(parse).collect()
}

/// The file of a collation that changes another one.
fn tailoring(folder: &Path, collation: &str, root: &str) -> Result<String> {
    let texts = characters();
    let mut plain = read(folder, "characters", root)?;
    let changed = read(folder, "characters", collation)?;
    let mut out = String::new();
    if changed.get(0x41).is_some_and(|levels| levels[2] == [0x108]) {
        writeln!(out, "upper first")?;
        for weight in plain.iter_mut().flat_map(|levels| &mut levels[2]) {
            let is_upper = matches!(weight, 0x08..=0x0c | 0x0e | 0x11 | 0x12 | 0x1d);
            *weight |= if is_upper { 0x100 } else { 0x300 };
        }
    }
    let moves = moves(&plain, &changed);
    for &(first, last, becomes) in &moves {
        writeln!(out, "reorder {first:04X}..{last:04X} {becomes:04X}")?;
    }
    for weight in plain.iter_mut().flat_map(|levels| &mut levels[0]) {
        let range = moves.iter().find(|(first, last, _)| (first..=last).contains(&&*weight));
        if let Some((first, _, becomes)) = range {
            *weight = *weight - first + becomes;
        }
    }
    let mut known: BTreeMap<String, &Levels> = texts.iter().cloned().zip(&changed).collect();
    let mut entries: Vec<(&String, &Levels)> = Vec::new();
    for ((text, plain), changed) in texts.iter().zip(&plain).zip(&changed) {
        if plain != changed {
            entries.push((text, changed));
        }
    }
    let sequences = sequences();
    let weights = read(folder, "sequences", collation)?;
    for (text, levels) in sequences.iter().zip(&weights) {
        if &joined(text, &known) != levels {
            known.insert(text.clone(), levels);
            entries.push((text, levels));
        }
    }
    for (text, levels) in entries {
        let codes: Vec<String> = text.chars().map(|c| format!("{:04X}", u32::from(c))).collect();
        writeln!(out, "{} ={}", codes.join(" "), elements(levels, collation.ends_with("_as_cs")))?;
    }
    Ok(out)
}

/// The scripts that move: weights that differ alone, where there are many of them.
fn moves(plain: &[Levels], changed: &[Levels]) -> Vec<(u16, u16, u16)> {
    let mut becomes: BTreeMap<u16, u16> = BTreeMap::new();
    for (plain, changed) in plain.iter().zip(changed) {
        if plain[1..] == changed[1..] && plain[0].len() == changed[0].len() {
            let pairs = plain[0].iter().copied().zip(changed[0].iter().copied());
            becomes.extend(pairs.filter(|(a, b)| a != b));
        }
    }
    if becomes.len() < 200 {
        return Vec::new();
    }
    let mut ranges: Vec<(u16, u16, u16)> = Vec::new();
    for (weight, becomes) in becomes {
        match ranges.last_mut() {
            Some((first, last, to)) if becomes.wrapping_sub(*to) == weight - *first => *last = weight,
            _ => ranges.push((weight, weight, becomes)),
        }
    }
    ranges
}

/// What a text weighs by its longest known parts, itself not being one.
fn joined(text: &str, known: &BTreeMap<String, &Levels>) -> Levels {
    let mut levels = Levels::default();
    let mut rest = text;
    while !rest.is_empty() {
        let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8());
        let part = ends.rev().filter_map(|end| known.get(&rest[..end]).map(|levels| (end, levels)));
        let Some((end, part)) = part.into_iter().next() else { break };
        for (level, part) in levels.iter_mut().zip(part.iter()) {
            level.extend(part);
        }
        rest = &rest[end..];
    }
    levels
}

fn elements(levels: &Levels, has_all: bool) -> String {
    let count = levels.iter().map(Vec::len).max().unwrap_or_default();
    (0..count).fold(String::new(), |mut out, i| {
        out += match levels[0].get(i) {
            Some(0) => " zero".to_string(),
            weight => format!(" {:04X}", weight.unwrap_or(&0)),
        }
        .as_str();
        for level in levels[1..].iter().filter(|_| has_all) {
            out += &format!(".{:04X}", level.get(i).unwrap_or(&0));
        }
        out
    })
}
