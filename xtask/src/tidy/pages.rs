//! Pages of Markdown: their links lead somewhere, and each decision has a status and stands in the
//! list of decisions.

use std::fs;
use std::path::{Path, PathBuf};

/// Complains of relative links of a page to files that are not there.
pub fn links(page: &Path, text: &str) -> Vec<String> {
    let folder = page.parent().unwrap_or(Path::new("."));
    let mut complaints = Vec::new();
    for (i, line) in text.lines().enumerate() {
        for target in targets(line) {
            let file = target.split('#').next().unwrap_or_default();
            if !file.is_empty() && !folder.join(file).exists() {
                let name = page.display();
                complaints.push(format!("{name}:{}: no file {file} is there: mend the link", i + 1));
            }
        }
    }
    complaints
}

/// What a line's links lead to, but for other sites.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let links = line.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    links.filter(|target| !target.contains("://") && !target.starts_with("mailto:") && !target.contains(' '))
}

/// Complains of decisions without a status, or that the list does not name.
pub fn decisions(folder: &Path, files: &[PathBuf]) -> Vec<String> {
    let list = fs::read_to_string(folder.join("README.md")).unwrap_or_default();
    let mut complaints = Vec::new();
    for file in files.iter().filter(|file| file.parent() == Some(folder) && !file.ends_with("README.md")) {
        let (path, name) = (file.display(), file.file_name().unwrap_or_default().to_string_lossy());
        let text = fs::read_to_string(file).unwrap_or_default();
        if !text.lines().take(4).any(|line| line.starts_with("Status: ")) {
            complaints
                .push(format!("{path}: say below the title `Status: in force.`, or what supersedes it"));
        }
        if !list.contains(&format!("({name})")) {
            complaints.push(format!("{path}: name it in {}/README.md", folder.display()));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_and_followed() {
        let text = "[a](tidy.rs) and [b](nowhere.md#part), [c](https://example.org) f[0](x, y)";
        assert_eq!(targets(text).collect::<Vec<_>>(), ["tidy.rs", "nowhere.md#part"]);
        let complaints = links(Path::new("src/page.md"), text);
        assert!(complaints.len() == 1 && complaints[0].starts_with("src/page.md:1: no file nowhere.md"));
    }
}
