//! `cargo xtask tidy`: promises that no compiler checks. Each complaint names its remedy.

use crate::Result;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks every Rust file of the tree.
pub fn run() -> Result<()> {
    let mut complaints = Vec::new();
    for top in ["crates", "testing", "xtask", "fuzz", "bench"] {
        for file in rust_files(Path::new(top))? {
            complaints.extend(check(&file, &fs::read_to_string(&file)?));
        }
    }
    if complaints.is_empty() { Ok(()) } else { Err(complaints.join("\n").into()) }
}

fn check(file: &Path, text: &str) -> Vec<String> {
    let name = file.display();
    let mut complaints = Vec::new();
    // A `#![no_main]` or the like may stand above the story.
    let story = text.lines().find(|l| !l.starts_with("#![") && !l.trim().is_empty());
    if !story.is_some_and(|l| l.starts_with("//!")) {
        complaints.push(format!("{name}: open the file with `//!` and what it is for"));
    }
    for (i, line) in text.lines().enumerate() {
        if line.ends_with([' ', '\t']) {
            complaints.push(format!("{name}:{}: remove the blanks at the line's end", i + 1));
        }
    }
    if is_dead(file) {
        complaints.push(format!("{name}: no `mod` names this file: name it or remove it"));
    }
    complaints
}

/// A module file that its parent does not declare.
fn is_dead(file: &Path) -> bool {
    let stem = file.file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    let folder = file.parent().unwrap_or(Path::new("."));
    let in_src = file.components().any(|c| c.as_os_str() == "src");
    if !in_src || ["main", "lib"].contains(&stem) || folder.file_name().is_some_and(|f| f == "bin") {
        return false;
    }
    let (module, home) = if stem == "mod" {
        (folder.file_name().and_then(|f| f.to_str()).unwrap_or_default(), folder.parent().unwrap_or(folder))
    } else {
        (stem, folder)
    };
    let beside = home.with_extension("rs");
    let parents = [home.join("mod.rs"), home.join("lib.rs"), home.join("main.rs"), beside];
    let declared = format!("mod {module};");
    !parents.iter().any(|p| fs::read_to_string(p).is_ok_and(|t| t.contains(&declared)))
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(found) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}
