//! What a CREATE TABLE or an ALTER TABLE consists of, as pieces of its text that it may do without:
//! columns and keys, actions, and what stands behind the closing parenthesis.

use std::ops::Range;

/// Statements of more pieces are not tried without each: the time grows by the square.
const PIECES_MAX: usize = 500;

/// The pieces of a statement.
#[derive(Debug)]
pub(super) struct Elements<'a> {
    text: &'a [u8],
    /// What stands between commas.
    list: Vec<Range<usize>>,
    /// The options of a table, and its partitions: each may go without the other.
    tail: Vec<Range<usize>>,
}

impl<'a> Elements<'a> {
    /// The pieces of a CREATE TABLE with a list of columns, or of an ALTER TABLE whose actions
    /// begin at `actions`; `None` for other statements.
    pub(super) fn of(text: &'a [u8], actions: Option<usize>) -> Option<Self> {
        let (from, is_list) = match actions {
            Some(from) => (from, false),
            None if is_create_table(text) => (top_level(text, 0).find(|(_, b)| *b == b'(')?.0 + 1, true),
            None => return None,
        };
        let (mut list, mut begins) = (Vec::new(), from);
        for (at, byte) in top_level(text, from) {
            match byte {
                b',' => {
                    list.push(begins..at);
                    begins = at + 1;
                }
                b')' => {
                    list.push(begins..at);
                    let tail = cut_tail(text, at + 1);
                    return is_list.then_some(Elements { text, list, tail });
                }
                _ => {}
            }
        }
        if is_list {
            return None;
        }
        list.push(begins..text.len());
        Some(Elements { text, list, tail: Vec::new() })
    }

    /// Every piece that the statement may do without, the last ones first: what stands in front is
    /// more often what others need.
    pub(super) fn optional(&self) -> impl Iterator<Item = Range<usize>> {
        let may_go = (2..=PIECES_MAX).contains(&self.list.len());
        let list: &[Range<usize>] = if may_go { &self.list } else { &[] };
        let mut all: Vec<_> = list.iter().chain(&self.tail).cloned().collect();
        all.reverse();
        all.into_iter()
    }

    /// The statement without that piece, and without the comma that belongs to it: blanks are in
    /// their place, so that everything else stays where it was.
    pub(super) fn without(&self, piece: &Range<usize>) -> Vec<u8> {
        let mut gone = piece.clone();
        match self.list.iter().position(|one| one == piece) {
            Some(0) => gone.end += 1,
            Some(_) => gone.start -= 1,
            None => {}
        }
        let mut without = self.text.to_vec();
        let bytes = without[gone].iter_mut().filter(|byte| !byte.is_ascii_whitespace());
        bytes.for_each(|byte| *byte = b' ');
        without
    }
}

fn is_create_table(text: &[u8]) -> bool {
    let words: Vec<String> = words(text).take(3).map(|word| word.to_ascii_uppercase()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    matches!(&words[..], ["CREATE", "TABLE", ..] | ["CREATE", "TEMPORARY", "TABLE"])
}

/// The first words of a statement; what executable comments hold counts as code.
pub(super) fn words(text: &[u8]) -> impl Iterator<Item = String> {
    let is_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_' || *b >= 0x80;
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let len = blank(rest);
            if len > 0 {
                at += len;
                continue;
            }
            let len = rest.iter().take_while(|b| is_word(b)).count().max(1);
            at += len;
            return Some(String::from_utf8_lossy(&rest[..len]).into_owned());
        }
        None
    })
}

/// The length of the blank or comment that `rest` begins with, or of the mark of an executable
/// comment; 0 if it begins with code.
fn blank(rest: &[u8]) -> usize {
    let line = || rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
    match rest {
        [b'/', b'*', b'!', version @ ..] => 3 + version.iter().take_while(|b| b.is_ascii_digit()).count(),
        [b'/', b'*', comment @ ..] => {
            comment.windows(2).position(|end| end == b"*/").map_or(rest.len(), |at| at + 4)
        }
        [b'*', b'/', ..] => 2,
        [b'#', ..] => line(),
        [b'-', b'-', next, ..] if next.is_ascii_whitespace() => line(),
        [byte, ..] if byte.is_ascii_whitespace() => 1,
        _ => 0,
    }
}

/// The bytes of code from `from` on that no quotes hold and no parentheses that open behind it, and
/// both parentheses of each pair.
fn top_level(text: &[u8], from: usize) -> impl Iterator<Item = (usize, u8)> {
    let (mut at, mut depth) = (from, 0_usize);
    std::iter::from_fn(move || {
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let here = at;
            let len = blank(rest);
            if len > 0 {
                at += len;
                continue;
            }
            match rest[0] {
                quote @ (b'\'' | b'"' | b'`') => at += syntax::quoted::length_of(rest, quote),
                b'(' => {
                    (at, depth) = (at + 1, depth + 1);
                    if depth == 1 {
                        return Some((here, b'('));
                    }
                }
                b')' if depth > 0 => (at, depth) = (at + 1, depth - 1),
                byte => {
                    at += 1;
                    if depth == 0 {
                        return Some((here, byte));
                    }
                }
            }
        }
        None
    })
}

/// Options and partitions behind the columns; partitions of a dump stand in an executable comment.
fn cut_tail(text: &[u8], from: usize) -> Vec<Range<usize>> {
    let word = top_level(text, from).find(|(at, _)| {
        let is_word = text[*at..].get(..9).is_some_and(|word| word.eq_ignore_ascii_case(b"PARTITION"));
        is_word && text.get(at - 1).is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'_')
    });
    let whole = from..text.len();
    let Some((word, _)) = word else {
        return if text[from..].trim_ascii().is_empty() { Vec::new() } else { vec![whole] };
    };
    let front = &text[from..word];
    let comment = front.windows(3).rposition(|mark| mark == b"/*!");
    let begins = match comment {
        Some(mark) if !front[mark..].windows(2).any(|end| end == b"*/") => from + mark,
        _ => word,
    };
    [from..begins, begins..text.len()].into_iter().filter(|piece| !piece.is_empty()).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pieces(text: &str, actions: Option<usize>) -> Vec<String> {
        let elements = Elements::of(text.as_bytes(), actions).unwrap();
        let list: Vec<_> = elements.optional().collect();
        let text = |piece: &Range<usize>| text[piece.clone()].trim().to_owned();
        list.iter().rev().map(text).collect()
    }

    #[test]
    fn a_table_is_cut_at_its_own_commas() {
        let sql = "CREATE TABLE t (a DECIMAL(3,1) DEFAULT 'x,)', `b,` INT /* , ) */, KEY k (a, b))\nENGINE=x COMMENT='(' \
                   /*!50100 PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1)) */";
        let expected = [
            "a DECIMAL(3,1) DEFAULT 'x,)'",
            "`b,` INT /* , ) */",
            "KEY k (a, b)",
            "ENGINE=x COMMENT='('",
            "/*!50100 PARTITION BY RANGE (a) (PARTITION p VALUES LESS THAN (1)) */",
        ];
        assert_eq!(pieces(sql, None), expected);
        let elements = Elements::of(sql.as_bytes(), None).unwrap();
        let without = |n: usize| {
            let piece = elements.optional().nth(n).unwrap();
            let left = String::from_utf8(elements.without(&piece)).unwrap();
            assert_eq!(left.len(), sql.len());
            left.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert!(without(0).ends_with("KEY k (a, b)) ENGINE=x COMMENT='('"), "{}", without(0));
        assert!(without(2).contains("`b,` INT /* , ) */ ) ENGINE"), "{}", without(2));
        assert!(without(4).starts_with("CREATE TABLE t ( `b,` INT"), "{}", without(4));
    }

    #[test]
    fn actions_are_cut_at_their_commas() {
        let sql = "ALTER TABLE t ADD a INT, ADD KEY (a, b), COMMENT 'x,y'";
        assert_eq!(pieces(sql, Some(13)), ["ADD a INT", "ADD KEY (a, b)", "COMMENT 'x,y'"]);
        assert!(pieces("ALTER TABLE t ADD a INT", Some(13)).is_empty());
    }

    #[test]
    fn other_statements_and_broken_ones_have_no_pieces() {
        for sql in ["CREATE VIEW v AS SELECT (1)", "CREATE TABLE t LIKE u", "CREATE TABLE t (a INT", "", "/*"]
        {
            assert!(Elements::of(sql.as_bytes(), None).is_none(), "{sql}");
        }
    }

    #[test]
    fn words_are_those_of_executable_comments_too() {
        let all: Vec<String> =
            words(b"/*M!999999\\- x */-- x\n/*!50001 CREATE*/ /* no */ VIEW `v`").take(3).collect();
        assert_eq!(all, ["CREATE", "VIEW", "`"]);
    }
}
