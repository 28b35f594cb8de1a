//! Versioned comments in a text that other servers are going to read.
//!
//! `/*!90000 .. */` is a comment here and text to a later server, `/*M! .. */` is text to a
//! MariaDB, and `/*!80000 .. */` is text here and a comment to a MariaDB. A statement that is
//! logged with them is another one at a replica, or after an upgrade, and is run there with all
//! privileges. So the log has no comment that is text to somebody and none to somebody else.

use std::ops::Range;

use crate::lexer::Lexer;
use crate::parser::VERSION;

/// What becomes of comments that are text here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Executed {
    /// They stay: in the body of a stored program, which its users read again, and which replicas
    /// that get rows don't run.
    Kept,
    /// What makes them comments becomes blanks.
    Blanked,
}

/// A part of a comment that the lexer has passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CommentPart {
    /// What opens a comment whose text is read.
    Opening(Range<usize>),
    /// What closes it.
    Closing(Range<usize>),
    /// All of a comment that no token of the statement comes from.
    Skipped(Range<usize>),
}

/// The text of one statement, in as many bytes, with no comment that another server takes for text:
/// their `!` is a blank. `None` if there are none. `sql_mode`: that which the text is read in.
pub fn same_everywhere(text: &[u8], sql_mode: u64, executed: Executed) -> Option<Vec<u8>> {
    if !has_versioned(text) {
        return None;
    }
    let mut out = text.to_vec();
    for part in Lexer::new(text, sql_mode, VERSION).comments() {
        match part {
            CommentPart::Opening(range) | CommentPart::Closing(range) => {
                if executed == Executed::Blanked {
                    out[range].fill(b' ');
                }
            }
            CommentPart::Skipped(range) => defuse(&mut out[range]),
        }
    }
    (out != text).then_some(out)
}

fn has_versioned(text: &[u8]) -> bool {
    text.windows(3).any(|three| matches!(three, b"/*!" | b"/*M"))
}

/// Makes a comment one that ends where it ends for every server.
fn defuse(comment: &mut [u8]) {
    if !has_versioned(comment) {
        return;
    }
    for mark in [&b"/*!"[..], b"/*M!"] {
        if comment.starts_with(mark) {
            comment[mark.len() - 1] = b' ';
        }
    }
    // A comment in it is seen by some, and not by others.
    let inner = 2..comment.len().saturating_sub(2);
    let mut at = inner.start;
    while at + 1 < inner.end {
        if matches!(&comment[at..at + 2], b"/*" | b"*/") {
            comment[at..at + 2].fill(b' ');
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, kept: &str, blanked: &str) {
        for (executed, expected) in [(Executed::Kept, kept), (Executed::Blanked, blanked)] {
            let out = same_everywhere(text.as_bytes(), 0, executed);
            let out = out.map_or(text.to_owned(), |out| String::from_utf8(out).unwrap());
            assert_eq!(out, expected, "{executed:?}");
            assert_eq!(out.len(), text.len());
            let again = same_everywhere(out.as_bytes(), 0, executed);
            assert!(again.is_none(), "{executed:?}: {again:?}");
        }
    }

    fn check_both(text: &str, expected: &str) {
        check(text, expected, expected);
    }

    #[test]
    fn comments_for_others_are_comments_for_all() {
        check_both("truncate /*!90000 vic. */ sec", "truncate /* 90000 vic. */ sec");
        check_both("alter table /*M! v. */ t", "alter table /*M  v. */ t");
        check_both("alter table /*M!100100 v. */ t", "alter table /*M 100100 v. */ t");
        check_both("alter table /*!100100 v. */ t", "alter table /* 100100 v. */ t");
        check_both("a /*!99999 1 /* 2 */ 3 */ b", "a /* 99999 1    2    3 */ b");
        check_both("a /*!99999 1 /*!99999 2 */ 3 */ b", "a /* 99999 1   !99999 2    3 */ b");
        check_both("a /* 1 /*!99999 2 */ b", "a /* 1   !99999 2 */ b");
        check_both("grant all on /*!90000 *.* to gw -- */ x", "grant all on /* 90000 *.* to gw -- */ x");
        check_both("a /*!99999*/ /*M!*/ b", "a /* 99999*/ /*M */ b");
        check_both("a /*+ x /*!99999 y */ b", "a /*+ x   !99999 y */ b");
    }

    #[test]
    fn comments_that_are_text_here_are_text_for_all() {
        check("drop /*!80000 x*/ y", "drop /*!80000 x*/ y", "drop          x   y");
        check("a /*! b */ /*M! c */", "a /*! b */ /*M  c */", "a     b    /*M  c */");
        check(
            "/*!80000 a /*!90000 b */ c */",
            "/*!80000 a /* 90000 b */ c */",
            "         a /* 90000 b */ c   ",
        );
        check("a/*!b*/c", "a/*!b*/c", "a   b  c");
    }

    #[test]
    fn what_is_none_stays() {
        for text in [
            "a /* b */",
            "'/*!90000 a */'",
            "`/*M!`",
            "a -- /*!90000 b */\nc",
            "a # /*M! */",
            "\"/*!1\"",
            "/*Mb*/",
        ] {
            assert_eq!(same_everywhere(text.as_bytes(), 0, Executed::Blanked), None, "{text}");
        }
    }
}
