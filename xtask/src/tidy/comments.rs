//! A doc comment says what a reader can't read in the item's name: units, limits, errors, where a
//! value comes from, who sets it, when it is absent. One that only repeats the name is refused: it
//! costs a line and looks as if somebody had thought about it.

use super::names::words;
use std::path::Path;

/// Words that add nothing to those around them.
const EMPTY: &[&str] = &[
    "a", "an", "the", "its", "his", "their", "this", "that", "these", "those", "it", "one", "of", "for",
    "to", "in", "into", "on", "at", "by", "from", "with", "as", "per", "and", "or", "is", "are", "be", "was",
    "has", "have",
];

/// What begins an item that may have a doc comment and a name, besides fields and variants.
const ITEMS: &[&str] = &["fn", "struct", "enum", "union", "trait", "type", "mod", "const", "static", "let"];

/// The item around a line: how far it is indented, and its name.
struct Scope {
    indent: usize,
    name: String,
}

/// Complains of doc comments of one line that repeat their items' names.
pub fn check(file: &Path, text: &str) -> Vec<String> {
    let lines: Vec<&str> = text.lines().collect();
    let mut complaints = Vec::new();
    let mut scopes: Vec<Scope> = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = line.len() - code.len();
        if code.is_empty() {
            continue;
        }
        scopes.retain(|s| s.indent < indent);
        if let Some(name) = scope(code) {
            scopes.push(Scope { indent, name: name.to_owned() });
        }
        let Some(comment) = code.strip_prefix("///") else { continue };
        let is_doc = |line: Option<&&str>| line.is_some_and(|l| l.trim_start().starts_with("///"));
        if i > 0 && is_doc(lines.get(i - 1)) || is_doc(lines.get(i + 1)) {
            continue;
        }
        let Some(item) = item_after(&lines, i) else { continue };
        let around = scopes.last().map_or("", |s| &s.name);
        if repeats(comment, item, around) {
            complaints.push(format!(
                "{}:{}: `///{comment}` repeats `{item}`: say units, limits, errors or the source, or make \
                 the item private and remove the comment",
                file.display(),
                i + 1
            ));
        }
    }
    complaints
}

/// The name of the item after a comment, past its attributes.
fn item_after<'a>(lines: &[&'a str], comment: usize) -> Option<&'a str> {
    let mut in_attribute = false;
    for line in &lines[comment + 1..] {
        let code = line.trim();
        if in_attribute || code.starts_with("#[") {
            in_attribute = !code.ends_with(']');
        } else if !code.is_empty() && !code.starts_with("//") {
            return item(code);
        }
    }
    None
}

/// The name of the item, the field or the variant that a line begins.
fn item(code: &str) -> Option<&str> {
    let mut code = visible(code);
    loop {
        let (word, after) = code.split_once(' ').unwrap_or((code, ""));
        match word {
            "async" | "unsafe" | "extern" | "default" | "\"C\"" | "mut" => code = after,
            "const" if after.starts_with("fn ") || after.starts_with("unsafe ") => code = after,
            _ if ITEMS.contains(&word) => return identifier(after),
            "impl" | "use" | "macro_rules!" => return None,
            // A field or a variant.
            _ => return identifier(code),
        }
    }
}

/// The name of the type that a line opens.
fn scope(code: &str) -> Option<&str> {
    if !code.ends_with('{') {
        return None;
    }
    let code = visible(code);
    let (word, after) = code.split_once([' ', '<'])?;
    match word {
        "struct" | "enum" | "union" | "trait" => identifier(after),
        "impl" => {
            let of = code.rsplit_once(" for ").map(|(_, of)| of);
            let of =
                of.unwrap_or_else(|| if code.starts_with("impl<") { after_generics(code) } else { after });
            identifier(of.rsplit_once("::").map_or(of, |(_, last)| last))
        }
        // A variant with fields: what is in it belongs to it.
        _ if code.starts_with(char::is_uppercase) => identifier(code),
        _ => None,
    }
}

/// What follows the generics of `impl<..> Type`.
fn after_generics(code: &str) -> &str {
    let mut depth = 0;
    for (i, c) in code.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if depth == 1 => return code[i + 1..].trim_start(),
            '>' => depth -= 1,
            _ => {}
        }
    }
    ""
}

/// A line without `pub` or `pub(..)`.
fn visible(code: &str) -> &str {
    let Some(after) = code.strip_prefix("pub") else { return code };
    match after.strip_prefix('(') {
        Some(of) => of.split_once(')').map_or(code, |(_, after)| after.trim_start()),
        None if after.starts_with(' ') => after.trim_start(),
        None => code,
    }
}

fn identifier(code: &str) -> Option<&str> {
    let code = code.strip_prefix("r#").unwrap_or(code);
    let end = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
    (end > 0).then(|| &code[..end])
}

/// Whether all words of a comment are in the name of the item or of the one around it. Syntax in
/// code marks says more than a name does.
fn repeats(comment: &str, item: &str, around: &str) -> bool {
    if comment.split('`').skip(1).step_by(2).any(is_syntax) {
        return false;
    }
    let of_name: Vec<String> = [item, around].iter().flat_map(|n| words(n)).map(|w| stem(&w)).collect();
    comment
        .split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '_')
        .flat_map(|word| words(word.strip_suffix("'s").unwrap_or(word.trim_matches('\''))))
        .filter(|word| !word.is_empty() && !EMPTY.contains(&&**word))
        .all(|word| of_name.contains(&stem(&word)))
}

/// Whether code is more than the name of a variable or a function.
fn is_syntax(code: &str) -> bool {
    !code.contains(char::is_alphanumeric)
        || code.contains(|c: char| !c.is_alphanumeric() && !"_@() ".contains(c))
}

/// A word without its inflection: `names` is `name`, `named` and `naming` too.
fn stem(word: &str) -> String {
    let whole = word;
    let mut word = word;
    for end in ["ies", "ing", "ed", "es", "s", "e", "y"] {
        if let Some(stem) = word.strip_suffix(end)
            && stem.len() > 2
        {
            word = stem;
            break;
        }
    }
    // `dropped` and `drop`, `planning` and `plan`.
    let mut last = word.chars().rev();
    if word.len() < whole.len() && word.len() > 3 && last.next() == last.next() {
        word = &word[..word.len() - word.chars().next_back().map_or(0, char::len_utf8)];
    }
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(text: &str) -> usize {
        check(Path::new("a.rs"), text).len()
    }

    #[test]
    fn a_comment_that_repeats_its_items_name_is_found() {
        for text in [
            "/// The table's name.\npub fn table_name(&self) -> &str {",
            "/// Its name.\n    pub name: String,",
            "/// The names of tables.\n#[must_use]\n#[allow(\n    dead_code\n)]\nstatic TABLE_NAMES: &[&str] = &[];",
            "    /// Drops the table.\n    async fn drop_table() {",
            "    /// For dropped tables.\n    pub(crate) const fn table_drop() {",
            "/// A log file.\npub struct LogFile<T> {",
            "/// Entries.\nEntry(u8),",
            "/// `@@table_name`, `USER()`\nuser_table_name: &str,",
        ] {
            assert_eq!(complaints(text), 1, "{text}");
        }
    }

    #[test]
    fn the_name_of_the_type_around_an_item_counts() {
        for around in [
            "struct Table {",
            "pub(crate) enum Table<T> {",
            "impl Table {",
            "impl<T: Ord<U>> Table<T> {",
            "impl fmt::Display for sql::Table {",
        ] {
            assert_eq!(
                complaints(&format!("{around}\n    /// The table's name.\n    pub name: String,\n}}")),
                1,
                "{around}"
            );
        }
        assert_eq!(complaints("struct Table {\n}\n\n/// The table's name.\nfn name() {"), 0);
        assert_eq!(complaints("enum E {\n    Table {\n        /// The table's name.\n        name: u8,"), 1);
    }

    #[test]
    fn a_comment_that_says_more_is_none() {
        for text in [
            "/// The table's name, in small letters.\npub fn table_name(&self) -> &str {",
            "/// The table's name.\n///\n/// # Errors\npub fn table_name(&self) -> &str {",
            "/// Fails if the disk is full.\npub fn table_name(&self) -> &str {",
            "// The table's name.\npub fn table_name(&self) -> &str {",
            "/// `&&`\nAndSign,",
            "/// `_`\nOne,",
            "/// `[IF EXISTS]`\nfn if_exists() {",
            "/// Unique.\npub fn table_name(&self) -> &str {",
        ] {
            assert_eq!(complaints(text), 0, "{text}");
        }
    }
}
