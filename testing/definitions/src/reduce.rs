//! Smaller cases that still fail: fewer statements, then fewer items in each list of a statement.

use crate::Result;
use crate::batch::Statement;

/// Statements omitted, then items of their lists, as long as `fails` says yes. It is asked so
/// often at most.
pub fn reduce(
    statements: Vec<Statement>,
    mut attempts: u32,
    fails: &mut dyn FnMut(&[Statement]) -> Result<bool>,
) -> Result<Vec<Statement>> {
    let mut best = statements;
    let mut at = best.len();
    while at > 0 && attempts > 0 {
        at -= 1;
        attempts -= 1;
        let mut fewer = best.clone();
        fewer.remove(at);
        if fails(&fewer)? {
            best = fewer;
        }
    }
    for at in 0..best.len() {
        let Some(mut list) = List::of(&best[at].sql) else { continue };
        // Half of them at a time first: a thousand columns are many.
        let mut size = list.items.len().div_ceil(2);
        while size > 0 {
            let mut from = 0;
            while from < list.items.len() && attempts > 0 {
                let mut fewer = list.clone();
                fewer.items.drain(from..(from + size).min(list.items.len()));
                let mut candidate = best.clone();
                candidate[at].sql = fewer.text();
                attempts -= 1;
                if !fewer.items.is_empty() && fails(&candidate)? {
                    (best, list) = (candidate, fewer);
                } else {
                    from += size;
                }
            }
            size /= 2;
        }
    }
    Ok(best)
}

/// A statement with a list in it: the definitions of CREATE TABLE, the changes of ALTER TABLE.
#[derive(Debug, Clone)]
struct List {
    head: String,
    items: Vec<String>,
    tail: String,
}

impl List {
    fn of(sql: &str) -> Option<Self> {
        let marks = Marks::of(sql);
        if sql.starts_with("CREATE TABLE") {
            let open = marks.0.iter().find(|(_, c, depth)| *c == '(' && *depth == 0)?.0;
            let close = marks.0.iter().find(|(at, c, depth)| *c == ')' && *depth == 1 && *at > open)?.0;
            return Some(Self::split(sql, &marks, open + 1, close, 1));
        }
        if sql.starts_with("ALTER TABLE") {
            // The name is the third word.
            let space = marks.0.iter().filter(|(_, c, depth)| *c == ' ' && *depth == 0).nth(2)?.0;
            return Some(Self::split(sql, &marks, space + 1, sql.len(), 0));
        }
        None
    }

    fn split(sql: &str, marks: &Marks, from: usize, to: usize, depth: u32) -> Self {
        let mut items = Vec::new();
        let mut start = from;
        for (at, _, _) in
            marks.0.iter().filter(|(at, c, d)| *c == ',' && *d == depth && (from..to).contains(at))
        {
            items.push(sql[start..*at].trim().to_owned());
            start = at + 1;
        }
        items.push(sql[start..to].trim().to_owned());
        Self { head: sql[..from].to_owned(), items, tail: sql[to..].to_owned() }
    }

    fn text(&self) -> String {
        format!("{}{}{}", self.head, self.items.join(", "), self.tail)
    }
}

/// Parentheses, commas and spaces outside quotes, with their offset and how many parentheses are
/// open before them. Backslashes escape in quotes: where the session's mode is another, the pieces
/// may be wrong, and are then refused.
struct Marks(Vec<(usize, char, u32)>);

impl Marks {
    fn of(sql: &str) -> Self {
        let (mut marks, mut depth, mut quote, mut escaped) = (Vec::new(), 0_u32, None, false);
        for (at, c) in sql.char_indices() {
            match quote {
                Some(_) if escaped => escaped = false,
                Some(q) if c == q => quote = None,
                Some(q) => escaped = c == '\\' && q != '`',
                None if matches!(c, '\'' | '"' | '`') => quote = Some(c),
                None if matches!(c, '(' | ')' | ',' | ' ') => {
                    marks.push((at, c, depth));
                    match c {
                        '(' => depth += 1,
                        ')' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                }
                None => {}
            }
        }
        Self(marks)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_taken_apart_outside_quotes() {
        let list = List::of(
            "CREATE TABLE `a(,` (a INT DEFAULT '(,''\\',', b ENUM('x','y'), KEY (a,b)) COMMENT='),'",
        )
        .unwrap();
        assert_eq!(list.items, ["a INT DEFAULT '(,''\\','", "b ENUM('x','y')", "KEY (a,b)"]);
        assert_eq!(
            list.text(),
            "CREATE TABLE `a(,` (a INT DEFAULT '(,''\\',', b ENUM('x','y'), KEY (a,b)) COMMENT='),'"
        );
        let list = List::of("ALTER TABLE `t x` ADD a INT, DROP b").unwrap();
        assert_eq!((list.head.as_str(), list.items.len()), ("ALTER TABLE `t x` ", 2));
        assert!(List::of("DROP TABLE a").is_none());
    }

    #[test]
    fn what_is_not_needed_goes() {
        let all = ["USE a", "CREATE TABLE t (a INT, b INT, c INT, d INT)", "INSERT INTO t VALUES (1)"];
        let all = all.iter().map(|sql| Statement { sql: (*sql).to_owned(), refused: None }).collect();
        let mut fails = |some: &[Statement]| {
            Ok(some.iter().any(|s| s.sql.starts_with("CREATE") && s.sql.contains("c INT")))
        };
        let left: Vec<String> = reduce(all, 100, &mut fails).unwrap().into_iter().map(|s| s.sql).collect();
        assert_eq!(left, ["CREATE TABLE t (c INT)"]);
    }
}
