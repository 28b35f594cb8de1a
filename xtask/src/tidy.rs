//! `cargo xtask tidy`: promises that no compiler checks. Each complaint names its remedy.

mod comments;
mod labels;
mod names;
pub mod pages;
mod prose;

use crate::Result;
use labels::Labels;
use std::fs;
use std::path::{Path, PathBuf};

/// Checks every Rust file of the tree.
pub fn run() -> Result<()> {
    let mut complaints = Vec::new();
    let mut files = Vec::new();
    for top in ["crates", "testing", "xtask", "fuzz", "bench"] {
        for file in rust_files(Path::new(top))? {
            let text = fs::read_to_string(&file)?;
            files.push((file, text));
        }
    }
    let mut labels = Labels::default();
    let claims = Path::new("ARCHITECTURE.md");
    labels.define(claims, &fs::read_to_string(claims)?);
    for (file, text) in &files {
        complaints.extend(labels.define(file, text));
        complaints.extend(check(file, text));
        complaints.extend(comments::check(file, text));
        complaints.extend(names::check(file, text));
        complaints.extend(prose::check(file, text));
    }
    for (file, text) in &files {
        complaints.extend(labels.check(file, text));
    }
    let written = pages()?;
    for page in &written {
        let text = fs::read_to_string(page)?;
        complaints.extend(pages::links(page, &text));
        complaints.extend(prose::check(page, &text));
    }
    complaints.extend(pages::decisions(Path::new("docs/decisions"), &written));
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
    if file.ends_with("mod.rs") && file.components().any(|c| c.as_os_str() == "src") {
        complaints.push(format!("{name}: name it after its folder, and put it beside that"));
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
    let parents = [folder.join("lib.rs"), folder.join("main.rs"), folder.with_extension("rs")];
    let declared = format!("mod {stem};");
    !parents.iter().any(|p| fs::read_to_string(p).is_ok_and(|t| t.contains(&declared)))
}

/// The pages of Markdown: those of the root, and all of `docs`.
fn pages() -> Result<Vec<PathBuf>> {
    let mut found = files_of(Path::new("docs"), "md")?;
    for entry in fs::read_dir(".")? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "md") {
            found.push(path);
        }
    }
    Ok(found)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    files_of(folder, "rs")
}

/// The files of a folder and those below it whose names end so.
pub fn files_of(folder: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let Ok(entries) = fs::read_dir(folder) else { return Ok(found) };
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(files_of(&path, extension)?);
        } else if path.extension().is_some_and(|e| e == extension) {
            found.push(path);
        }
    }
    Ok(found)
}
