//! The nearest right name for a mistyped one.

/// The candidate with the smallest edit distance to `name`, if it is near enough to be a likely
/// typing error (at most a third of the name's length). `-` and `_` count as equal, as do upper and
/// lower case.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = fold(name);
    let limit = name.len().div_ceil(3);
    candidates
        .into_iter()
        .map(|c| (distance(&name, &fold(c)), c))
        .filter(|&(d, _)| d <= limit)
        .min_by_key(|&(d, _)| d)
        .map(|(_, c)| c)
}

fn fold(name: &str) -> Vec<u8> {
    name.bytes().map(|b| if b == b'-' { b'_' } else { b.to_ascii_lowercase() }).collect()
}

/// Levenshtein distance, one row at a time.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_likely_name_only() {
        let names = ["sync_binlog", "max_binlog_size", "port"];
        assert_eq!(nearest("sync-binlgo", names), Some("sync_binlog"));
        assert_eq!(nearest("max_binlog_sise", names), Some("max_binlog_size"));
        assert_eq!(nearest("completely_else", names), None);
    }
}
