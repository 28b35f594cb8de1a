//! The weights and case maps of collations: made from published tables, checked against running
//! servers.
//!
//! 1. record   Any MySQL-like server is asked for the weight string and the upper and lower case of
//!    every character, under each collation; the answers become listings in a folder, one line a
//!    character.
//! 2. make     `allkeys-9.0.0.txt` and `allkeys-5.2.0.txt` (the Default Unicode Collation Element
//!    Table of those versions, published at unicode.org/Public/UCA, Unicode licence) and listings
//!    of what nobody publishes as a table become the files that `sql` includes.
//!    `datum::types::collation::table` describes their format.
//!
//! The collations of languages are recorded and made on their own ([`languages`]).
//!
//! Two folders of listings, one recorded from MySQL and one from Duramen, must be the same:
//! `diff -rq`.

mod languages;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::Result;

const HELP: &str = "\
cargo xtask collations record FOLDER CLIENT [ARGUMENTS]
    asks a server, through the mariadb or mysql client, for what it knows of every character
cargo xtask collations make FOLDER
    makes crates/datum/src/types/collation/data from FOLDER's allkeys-9.0.0.txt, allkeys-5.2.0.txt and listings
cargo xtask collations languages FOLDER CLIENT [ARGUMENTS]
    asks a server for the weights under the collations of languages
cargo xtask collations tailor FOLDER
    makes crates/datum/src/types/collation/data/tailorings from these listings
cargo xtask collations digests FOLDER
    prints crates/datum/src/types/collation/tests/digests.txt";

const DATA: &str = "crates/datum/src/types/collation/data";

const UNICODE: [&str; 8] = [
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_0900_bin",
    "utf8mb4_bin",
    "utf8mb4_general_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
];
const SINGLE_BYTE: [&str; 6] = [
    "latin1_swedish_ci",
    "latin1_general_ci",
    "latin1_general_cs",
    "latin1_german1_ci",
    "latin1_danish_ci",
    "latin1_spanish_ci",
];

pub fn run(args: &[String]) -> Result<()> {
    match args {
        [verb, folder, client @ ..] if verb == "record" && !client.is_empty() => {
            record(Path::new(folder), client)
        }
        [verb, folder] if verb == "make" => make(Path::new(folder)),
        [verb, folder, client @ ..] if verb == "languages" && !client.is_empty() => {
            languages::record(Path::new(folder), client)
        }
        [verb, folder] if verb == "tailor" => languages::tailor(Path::new(folder)),
        [verb, folder] if verb == "digests" => languages::digests(Path::new(folder)),
        _ => Err(HELP.into()),
    }
}

/// Asks for all listings.
fn record(folder: &Path, client: &[String]) -> Result<()> {
    fs::create_dir_all(folder)?;
    let unicode: Vec<String> =
        scalars().map(|c| format!("_utf8mb4 0x{}", hex(c.to_string().as_bytes()))).collect();
    let bytes: Vec<String> = (0..=255_u8).map(|b| format!("_latin1 0x{b:02x}")).collect();
    let sets = [(&UNICODE[..], &unicode), (&SINGLE_BYTE[..], &bytes)];
    for (collations, texts) in sets {
        for collation in collations {
            for function in ["weight_string", "lower", "upper"] {
                println!("{function} under {collation}");
                let columns: Vec<String> =
                    texts.iter().map(|text| question(function, text, collation)).collect();
                listing(&folder.join(format!("{function}.{collation}")), client, &columns)?;
            }
        }
    }
    Ok(())
}

fn scalars() -> impl Iterator<Item = char> {
    (0..=0x10ffff).filter_map(char::from_u32)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// Writes a file: the weights of each text, in hexadecimal.
fn weight_strings(path: &Path, client: &[String], collation: &str, texts: &[String]) -> Result<()> {
    let columns: Vec<String> = texts.iter().map(|text| question("weight_string", text, collation)).collect();
    listing(path, client, &columns)
}

/// Writes a file: what a server answers for each expression, one a line.
fn listing(path: &Path, client: &[String], columns: &[String]) -> Result<()> {
    let mut child = Command::new(&client[0])
        .args(&client[1..])
        .args(["--skip-column-names", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut input = child.stdin.take().ok_or("no pipe to the client")?;
    let statements: Vec<String> =
        columns.chunks(256).map(|chunk| format!("SELECT {};\n", chunk.join(","))).collect();
    let writer =
        std::thread::spawn(move || statements.iter().try_for_each(|s| input.write_all(s.as_bytes())));
    let output = child.wait_with_output()?;
    writer.join().map_err(|_| "the writing thread failed")??;
    let lines = String::from_utf8(output.stdout)?.replace('\t', "\n");
    if lines.lines().count() != columns.len() {
        return Err(format!("{}: {} answers", path.display(), lines.lines().count()).into());
    }
    Ok(fs::write(path, lines)?)
}

/// MySQL cuts a text that grows when its case changes under some collations, so other characters
/// follow this one.
fn question(function: &str, text: &str, collation: &str) -> String {
    if function == "weight_string" || text.starts_with("_latin1") {
        return format!("HEX({function}({text} COLLATE {collation}))");
    }
    format!("HEX(LEFT({function}(CONCAT({text}, 'abcd') COLLATE {collation}), 1))")
}

/// Elements of one character: weights of the three levels.
type Elements = Vec<[u16; 3]>;

fn make(folder: &Path) -> Result<()> {
    let data = Path::new(DATA);
    fs::create_dir_all(data)?;
    for version in ["9.0.0", "5.2.0"] {
        let text = fs::read_to_string(folder.join(format!("allkeys-{version}.txt")))?;
        let levels = if version == "9.0.0" { 3 } else { 1 };
        write_weights(&data.join(format!("uca-{version}.bin")), &published(&text, levels)?)?;
    }
    write_weights(&data.join("uca-4.0.0.bin"), &recorded(folder, "utf8mb4_unicode_ci", implicit)?)?;
    write_weights(&data.join("general.bin"), &recorded(folder, "utf8mb4_general_ci", |c| vec![c as u16])?)?;
    for (version, collation) in [
        ("general", "utf8mb4_general_ci"),
        ("5.2.0", "utf8mb4_unicode_520_ci"),
        ("9.0.0", "utf8mb4_0900_ai_ci"),
    ] {
        for function in ["lower", "upper"] {
            let mapped = changed_case(folder, function, collation)?;
            write_table(&data.join(format!("{function}-{version}.bin")), &mapped, &[])?;
        }
    }
    let mut latin1 = Vec::new();
    for collation in SINGLE_BYTE {
        latin1.extend(single_bytes(folder, "weight_string", collation)?);
    }
    for function in ["lower", "upper"] {
        latin1.extend(single_bytes(folder, function, SINGLE_BYTE[0])?);
    }
    Ok(fs::write(data.join("latin1.bin"), latin1)?)
}

/// Reads an `allkeys.txt`: `0041 ; [.1C47.0020.0008] # ..`. Contractions are omitted, and no more
/// than eight elements are kept, as in MySQL.
fn published(text: &str, levels: usize) -> Result<BTreeMap<u32, Elements>> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let line = line.split('#').next().unwrap_or_default();
        let Some((characters, elements)) = line.split_once(';') else { continue };
        let Ok(character) = u32::from_str_radix(characters.trim(), 16) else { continue };
        let mut list = Vec::new();
        for element in elements.split('[').skip(1).take(8) {
            let mut weights = [0; 3];
            let digits = element.trim_start_matches(['.', '*']).split(['.', ']']);
            for (weight, digits) in weights.iter_mut().zip(digits).take(levels) {
                *weight = u16::from_str_radix(digits, 16)?;
            }
            if weights != [0; 3] {
                list.push(weights);
            }
        }
        all.insert(character, list);
    }
    Ok(all)
}

/// The weights in the implicit range as MySQL has them for the versions 4.0.0 and 5.2.0.
fn implicit(c: u32) -> Vec<u16> {
    let base = match c {
        0x3400..=0x4db5 => 0xfb80,
        0x4e00..=0x9fa5 => 0xfb40,
        _ => 0xfbc0,
    };
    vec![(base + (c >> 15)) as u16, (c & 0x7fff | 0x8000) as u16]
}

fn read_listing(folder: &Path, function: &str, collation: &str) -> Result<Vec<Vec<u8>>> {
    let text = fs::read_to_string(folder.join(format!("{function}.{collation}")))?;
    let byte = |pair: &[u8]| Ok(u8::from_str_radix(std::str::from_utf8(pair)?, 16)?);
    text.lines().map(|line| line.as_bytes().chunks(2).map(byte).collect()).collect()
}

/// The recorded weights of the basic plane, but for those that `rule` gives.
fn recorded(folder: &Path, collation: &str, rule: fn(u32) -> Vec<u16>) -> Result<BTreeMap<u32, Elements>> {
    let listing = read_listing(folder, "weight_string", collation)?;
    let mut all = BTreeMap::new();
    for (c, weights) in scalars().zip(listing).take_while(|&(c, _)| c < '\u{10000}') {
        let weights: Vec<u16> = weights.chunks(2).map(|w| u16::from(w[0]) << 8 | u16::from(w[1])).collect();
        if weights != rule(c.into()) {
            all.insert(c.into(), weights.into_iter().map(|w| [w, 0, 0]).collect());
        }
    }
    Ok(all)
}

fn changed_case(folder: &Path, function: &str, collation: &str) -> Result<BTreeMap<u32, u32>> {
    let mut all = BTreeMap::new();
    for (c, mapped) in scalars().zip(read_listing(folder, function, collation)?) {
        let mapped = String::from_utf8(mapped)?;
        if !mapped.chars().eq([c]) {
            all.insert(c.into(), mapped.chars().next().ok_or("a character without a case")?.into());
        }
    }
    Ok(all)
}

fn single_bytes(folder: &Path, function: &str, collation: &str) -> Result<Vec<u8>> {
    let listing = read_listing(folder, function, collation)?;
    Ok(listing.into_iter().flatten().collect())
}

const ELSEWHERE: u32 = 0x8000_0000;

fn write_weights(path: &Path, all: &BTreeMap<u32, Elements>) -> Result<()> {
    let mut pool: Vec<u32> = Vec::new();
    let mut entries = BTreeMap::new();
    for (&c, elements) in all {
        let packed: Vec<u32> = elements
            .iter()
            .map(|[p, s, t]| u32::from(*p) << 14 | u32::from(*s) << 5 | u32::from(*t))
            .collect();
        if elements.iter().any(|[_, s, t]| *s > 0x1ff || *t > 0x1f) {
            return Err(format!("U+{c:04X} has weights wider than the format").into());
        }
        let entry = match packed[..] {
            [] => 0,
            [one] => one,
            _ => {
                let at = pool.windows(packed.len()).position(|w| w == packed).unwrap_or_else(|| {
                    pool.extend(&packed);
                    pool.len() - packed.len()
                });
                ELSEWHERE | (packed.len() as u32) << 24 | at as u32
            }
        };
        entries.insert(c, entry);
    }
    write_table(path, &entries, &pool)
}

const PAGE: u32 = 64;

/// Writes the header, the index, the pages and the pool.
fn write_table(path: &Path, entries: &BTreeMap<u32, u32>, pool: &[u32]) -> Result<()> {
    let last = entries.keys().last().map_or(0, |c| c / PAGE + 1);
    let mut pages: Vec<Vec<u32>> = vec![vec![u32::MAX; PAGE as usize]];
    let mut index: Vec<u16> = Vec::new();
    for number in 0..last {
        let page: Vec<u32> = (number * PAGE..(number + 1) * PAGE)
            .map(|c| entries.get(&c).copied().unwrap_or(u32::MAX))
            .collect();
        let at = pages.iter().position(|p| *p == page).unwrap_or_else(|| {
            pages.push(page);
            pages.len() - 1
        });
        index.push(at as u16);
    }
    let mut out = Vec::new();
    out.extend((index.len() as u32).to_le_bytes());
    out.extend((pages.len() as u32).to_le_bytes());
    out.extend(index.iter().flat_map(|i| i.to_le_bytes()));
    out.extend(pages.iter().flatten().chain(pool).flat_map(|w| w.to_le_bytes()));
    println!("{}: {} bytes", path.display(), out.len());
    Ok(fs::write(path, out)?)
}
