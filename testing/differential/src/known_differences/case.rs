//! A statement that was answered differently, and what a rule may ask of the two answers.

use crate::answer::{Answer, Row};

/// A statement that both answered differently.
#[derive(Debug, Clone, Copy)]
pub struct Case<'a> {
    /// The statement.
    pub sql: &'a str,
    /// True if the order of rows counts.
    pub is_ordered: bool,
    /// Duramen's answer.
    pub duramen: &'a Answer,
    /// That of what it is compared with.
    pub reference: &'a Answer,
    /// The definitions of tables and stored programs that were made before, a line each.
    pub made: &'a str,
}

impl Case<'_> {
    /// True if the statement puts rows into a table.
    pub(super) fn inserts(&self) -> bool {
        ["INSERT", "REPLACE"].iter().any(|word| self.sql.starts_with(word))
    }

    /// True if the statement asks whether what CASE, COALESCE and the like give is NULL.
    pub(super) fn asks_choice_for_null(&self) -> bool {
        self.sql.match_indices(" IS N").any(|(end, _)| {
            let before = &self.sql[..end];
            let call = opening(before).map(|start| &before[..start]);
            let choices = ["COALESCE", "IFNULL", "NULLIF", "IF", "GREATEST", "LEAST"];
            before.ends_with(" END") || call.is_some_and(|name| choices.iter().any(|c| name.ends_with(c)))
        })
    }

    /// True if the statement has one of these words.
    pub(super) fn names(&self, words: &[&str]) -> bool {
        words.iter().any(|w| self.sql.contains(w))
    }

    /// True if it calls functions of the episode's own, by itself.
    pub(super) fn calls_functions(&self) -> bool {
        calls_functions(self.sql)
    }

    /// True if a column, parameter or variable of this name has a type that begins so.
    pub(super) fn declares(&self, name: &str, ty: &str) -> bool {
        self.made
            .match_indices(&format!("{name} {ty}"))
            .any(|(at, _)| !self.made[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
    }

    /// True if a function gives a VARCHAR.
    pub(super) fn returns_varchar(&self) -> bool {
        ["VARCHAR(", "VARBINARY("].iter().any(|ty| self.made.contains(&format!(" RETURNS {ty}")))
    }

    /// True if both gave rows, the other server more of them.
    pub(super) fn reference_finds_more(&self) -> bool {
        match (self.duramen, self.reference) {
            (Answer::Rows(duramen), Answer::Rows(reference)) => duramen.len() < reference.len(),
            _ => false,
        }
    }

    /// True if both gave rows, Duramen more of them.
    pub(super) fn duramen_finds_more(&self) -> bool {
        match (self.duramen, self.reference) {
            (Answer::Rows(duramen), Answer::Rows(reference)) => duramen.len() > reference.len(),
            _ => false,
        }
    }

    /// True if both gave rows, the other server more of them, or values where Duramen has NULL.
    pub(super) fn reference_knows_more(&self) -> bool {
        let nulls = |rows: &[Row]| rows.iter().flatten().filter(|value| value.is_none()).count();
        match (self.duramen, self.reference) {
            (Answer::Rows(duramen), Answer::Rows(reference)) => {
                self.reference_finds_more() || nulls(duramen) > nulls(reference)
            }
            _ => false,
        }
    }

    /// True if both gave rows that are the same once each value is changed so.
    pub(super) fn is_same_with(&self, normal: fn(&[u8]) -> Vec<u8>) -> bool {
        self.is_same_as(|value| value.map(normal))
    }

    /// The same with NULLs.
    pub(super) fn is_same_as(&self, normal: impl Fn(Option<&[u8]>) -> Option<Vec<u8>>) -> bool {
        let (Answer::Rows(duramen), Answer::Rows(reference)) = (self.duramen, self.reference) else {
            return false;
        };
        let all = |rows: &[Row]| {
            let value = |v: &Option<Vec<u8>>| normal(v.as_deref());
            Answer::Rows(rows.iter().map(|row| row.iter().map(value).collect()).collect())
        };
        all(duramen).agrees_with(&all(reference), self.is_ordered)
    }
}

/// True if a statement calls functions of the episode's own, which are named `f7` and `fm8`.
pub(crate) fn calls_functions(sql: &str) -> bool {
    let is_call = |(at, _): (usize, &str)| {
        let name = sql[at + 1..].trim_start_matches(['f', 'm']);
        name.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('(') && !name.starts_with('(')
    };
    [" f", "(f"].iter().any(|start| sql.match_indices(start).any(is_call))
}

/// Where the parenthesis begins that a text ends with.
fn opening(text: &str) -> Option<usize> {
    let mut depth = 0_i32;
    text.ends_with(')').then_some(())?;
    text.bytes().rposition(|b| {
        depth += i32::from(b == b')') - i32::from(b == b'(');
        depth == 0
    })
}

pub(super) fn without_sign_of_zero(value: &[u8]) -> Vec<u8> {
    match value {
        [b'-', digits @ ..] if digits.iter().all(|b| b"0.".contains(b)) => digits.to_vec(),
        _ => value.to_vec(),
    }
}

/// MariaDB makes NULL of them in CASE and the like.
pub(super) fn without_zero_dates(value: Option<&[u8]>) -> Option<Vec<u8>> {
    value.filter(|v| !v.starts_with(b"0000-00-00")).map(<[u8]>::to_vec)
}

/// Numbers as doubles, but for their last digits.
pub(super) fn as_number(value: &[u8]) -> Vec<u8> {
    match std::str::from_utf8(value).map(str::parse::<f64>) {
        Ok(Ok(number)) => format!("{number:.13e}").into_bytes(),
        _ => value.to_vec(),
    }
}

/// Times, and dates with one, without a fraction of zero.
pub(super) fn without_zero_fraction(value: &[u8]) -> Vec<u8> {
    if value.contains(&b':') { without_trailing_zeros(value) } else { value.to_vec() }
}

/// Of numbers and times.
pub(super) fn without_trailing_zeros(value: &[u8]) -> Vec<u8> {
    let is_decimal = value.contains(&b'.') && value.iter().all(|b| b.is_ascii_digit() || b"-.: ".contains(b));
    match std::str::from_utf8(value) {
        Ok(text) if is_decimal => text.trim_end_matches('0').trim_end_matches('.').as_bytes().to_vec(),
        _ => value.to_vec(),
    }
}
