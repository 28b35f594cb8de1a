//! What a query has to give by the rules of logic alone, on Duramen without another server: the
//! rows for which a condition is true, false and unknown together are all rows, and so many rows
//! are counted as conditions are true.

use crate::answer::{Answer, Row};

/// Stands before the condition that rows are distinguished by.
pub const MARK: &str = "/*p*/ ";

/// Asks for the parts of a marked query. `None` if all is well, or where a part can't be asked for.
pub fn contradiction(sql: &str, mut ask: impl FnMut(&str) -> Answer) -> Option<Answer> {
    let (whole, condition) = sql.split_once(&format!(" WHERE {MARK}"))?;
    let mut all = rows(ask(whole))?;
    let mut parts = Vec::new();
    for part in [format!("({condition})"), format!("NOT ({condition})"), format!("({condition}) IS NULL")] {
        parts.extend(rows(ask(&format!("{whole} WHERE {part}")))?);
    }
    all.sort_unstable();
    parts.sort_unstable();
    if all != parts {
        let (all, parts) = (Answer::Rows(all), Answer::Rows(parts));
        return Some(Answer::Lost(format!("all rows: {all}\n-- true, false, unknown: {parts}")));
    }
    let (_, from) = whole.split_once(FROM)?;
    let counted = rows(ask(&format!("SELECT COUNT(*) FROM {from} WHERE {condition}")))?;
    let summed =
        rows(ask(&format!("SELECT CAST(COALESCE(SUM(({condition}) IS TRUE), 0) AS SIGNED) FROM {from}")))?;
    let message =
        || format!("COUNT(*) {}, SUM {}", Answer::Rows(counted.clone()), Answer::Rows(summed.clone()));
    (counted != summed).then(|| Answer::Lost(message()))
}

/// What stands between the items of a marked query and its tables.
pub const FROM: &str = " /*f*/ FROM ";

fn rows(answer: Answer) -> Option<Vec<Row>> {
    match answer {
        Answer::Rows(rows) => Some(rows),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(numbers: &[i32]) -> Answer {
        Answer::Rows(numbers.iter().map(|n| vec![Some(n.to_string().into_bytes())]).collect())
    }

    /// A server of the rows 1, 2, 3 that answers to `a < 3` with these.
    fn server(below: &'static [i32]) -> impl FnMut(&str) -> Answer {
        move |sql| match sql {
            "SELECT a /*f*/ FROM t" => numbers(&[1, 2, 3]),
            "SELECT a /*f*/ FROM t WHERE (a < 3)" => numbers(below),
            "SELECT a /*f*/ FROM t WHERE NOT (a < 3)" => numbers(&[3]),
            "SELECT a /*f*/ FROM t WHERE (a < 3) IS NULL" => numbers(&[]),
            "SELECT COUNT(*) FROM t WHERE a < 3" => numbers(&[below.len() as i32]),
            _ => numbers(&[2]),
        }
    }

    #[test]
    fn a_lost_row_is_seen() {
        let sql = format!("SELECT a{FROM}t WHERE {MARK}a < 3");
        assert_eq!(contradiction(&sql, server(&[1, 2])), None);
        assert!(contradiction(&sql, server(&[1])).is_some());
        assert_eq!(contradiction("SELECT a FROM t WHERE a < 3", server(&[1])), None);
    }
}
