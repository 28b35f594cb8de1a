//! Rules for a newer MySQL.

use super::Case;
use super::case::{calls_functions, without_trailing_zeros};
use crate::answer::{Answer, Row};

/// MySQL 9 gives NULL, or error 6527 where data is changed; before, ADDTIME() and SUBTIME() gave
/// the largest time.
pub(super) fn out_of_range(case: &Case<'_>) -> bool {
    case.reference.error() == Some(6527)
        || case.duramen.error() == Some(1441)
        || case.names(&["ADDTIME(", "SUBTIME(", "TIMEDIFF("])
}

/// MySQL can't read a temporary table twice in one statement.
pub(super) fn temporary_twice(case: &Case<'_>) -> bool {
    case.reference.error() == Some(1137)
}

/// Both refuse a statement, one because something can't be converted.
pub(super) fn conversion_errors(case: &Case<'_>) -> bool {
    let is_conversion = |answer: &Answer| {
        matches!(
            answer.error(),
            Some(1048 | 1264 | 1265 | 1292 | 1365 | 1366 | 1406 | 1411 | 1441 | 1525 | 3156)
        )
    };
    let both = case.duramen.error().is_some() && case.reference.error().is_some();
    both && (is_conversion(case.duramen) || is_conversion(case.reference))
}

/// MySQL shows what CASE, IF and NULLIF give with the digits of the branch that was taken, unless a
/// temporary table is made; so it does in the documents that JSON functions make.
pub(super) fn digits_of_choice(case: &Case<'_>) -> bool {
    let is_same = case.is_same_with(without_trailing_zeros)
        || case.names(&["JSON_"]) && case.is_same_with(without_zeros_of_numbers);
    let chooses = case.names(&["IF(", "CASE "])
        || case.names(&["JSON_"]) && case.names(&["LEAST(", "GREATEST(", " / "]);
    chooses && is_same
}

/// `[1.50, 2.0]` as `[1.5, 2]`.
fn without_zeros_of_numbers(value: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(value);
    let numbers = text.split_inclusive(|c: char| !c.is_ascii_digit() && c != '.');
    let shortened = numbers.map(|piece| {
        let end = piece.len()
            - piece.chars().last().filter(|c| !c.is_ascii_digit() && *c != '.').map_or(0, char::len_utf8);
        let (number, rest) = piece.split_at(end);
        let number =
            if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number };
        format!("{number}{rest}")
    });
    shortened.collect::<String>().into_bytes()
}

/// Errors of values that one server computes, while the other knows the outcome without them.
pub(super) fn not_needed(case: &Case<'_>) -> bool {
    let changes = !case.sql.starts_with("SELECT");
    let is_of_value = |answer: &Answer| match answer {
        Answer::Error { number: 1690 | 3149 | 3158 | 3854, .. } => true,
        Answer::Error { number: 1365 | 1411 | 1441, .. } => changes,
        Answer::Error { number: 1292, message } => changes && !message.contains(" for column "),
        _ => false,
    };
    let is_done = |answer: &Answer| matches!(answer, Answer::Rows(_) | Answer::Done(_));
    // A condition's constant beside a column of dates, where no row was changed.
    let is_of_dates = matches!((case.duramen, case.reference), (Answer::Done(0), Answer::Error { number: 1292, message })
        if message.starts_with("Incorrect date") && message.contains(" for column "));
    if is_of_dates && !case.inserts() && case.names(&[" WHERE "]) {
        return true;
    }
    // What a subquery gives that is known to be empty is not compared.
    let is_never_compared = case.duramen.error() == Some(1267)
        && is_done(case.reference)
        && case.names(&["(SELECT "])
        && case.names(&["NULL", " AND "]);
    if is_never_compared {
        return true;
    }
    let one = is_of_value(case.duramen) && is_done(case.reference)
        || is_of_value(case.reference) && is_done(case.duramen);
    // A constant is converted before the first row is read, or with it.
    let is_constant = changes && case.names(&["CAST("]);
    let of_charset = case.duramen.error() == Some(3854) || case.reference.error() == Some(3854);
    one && (is_constant
        || of_charset
        || case.names(&[
            "(SELECT ",
            " JOIN ",
            " AND ",
            " OR ",
            " XOR ",
            " IS ",
            "NULL",
            " GROUP BY ",
            " HAVING ",
            "BETWEEN ",
            " FROM (",
        ]))
}

/// MySQL computes virtual columns of rows that it reads, and fails a change for what does not fit
/// them.
pub(super) fn generated_values(case: &Case<'_>) -> bool {
    let fails = |answer: &Answer| {
        matches!(answer.error(), Some(1264 | 1265 | 1292 | 1366 | 1406))
            && answer.message().is_some_and(super::names_generated)
    };
    let is_done = |answer: &Answer| answer.error().is_none() && !matches!(answer, Answer::Rows(_));
    // One that is added is computed of all rows here, of none there.
    fails(case.reference) && is_done(case.duramen)
        || fails(case.duramen) && is_done(case.reference) && case.sql.starts_with("ALTER TABLE")
}

/// Keys in another order.
pub(super) fn order_of_keys(case: &Case<'_>) -> bool {
    fn lines(value: &[u8]) -> Vec<u8> {
        let mut lines: Vec<_> =
            value.split(|b| *b == b'\n').map(|l| l.strip_suffix(b",").unwrap_or(l)).collect();
        lines.sort_unstable();
        lines.join(&b'\n')
    }
    case.sql.starts_with("SHOW CREATE TABLE") && case.is_same_with(lines)
}

/// `information_schema` is in utf8mb3 in MySQL: it has `?` for a character beyond, and in
/// expressions the character of each byte. SHOW CREATE TABLE has a default's bytes as `0x..`, `?`
/// for such a character of a member or comment, and in expressions `????`.
pub(super) fn wide_defaults(case: &Case<'_>) -> bool {
    let (Answer::Rows(ours), Answer::Rows(theirs)) = (case.duramen, case.reference) else { return false };
    let is_narrowed = |ours: &Option<Vec<u8>>, theirs: &Option<Vec<u8>>| {
        let (Some(ours), Some(theirs)) = (ours, theirs) else { return ours == theirs };
        let (ours, theirs) = (String::from_utf8_lossy(ours), String::from_utf8_lossy(theirs));
        let lines = ours.lines().count() == theirs.lines().count();
        lines && ours.lines().zip(theirs.lines()).all(|(a, b)| a == b || narrowed(a).contains(&b.to_owned()))
    };
    case.names(&["information_schema.", "SHOW CREATE TABLE"])
        && ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|(a, b)| {
            a.len() == b.len() && a.iter().zip(b).all(|(ours, theirs)| is_narrowed(ours, theirs))
        })
}

/// What MySQL may show of a line with characters beyond utf8mb3.
fn narrowed(line: &str) -> Vec<String> {
    let is_wide = |c: char| c as u32 > 0xffff;
    let with = |text: &str, form: &dyn Fn(char) -> String| -> String {
        text.chars().map(|c| if is_wide(c) { form(c) } else { c.to_string() }).collect()
    };
    let bytes_of = |c: char| c.to_string().bytes().map(char::from).collect::<String>();
    let mut all = vec![with(line, &bytes_of)];
    // A default as a whole.
    let default = line.split_once(" DEFAULT '").and_then(|(before, rest)| {
        let (text, after) = rest.split_once('\'')?;
        text.contains(is_wide).then(|| {
            let digits: String = text.bytes().map(|byte| format!("{byte:02X}")).collect();
            format!("{before} DEFAULT 0x{digits}{after}")
        })
    });
    for line in [Some(line.to_owned()), default].into_iter().flatten() {
        all.push(with(&line, &|_| "?".to_owned()));
        all.push(with(&line, &|_| "????".to_owned()));
    }
    all
}

/// Both refuse a statement before any row is read, of several reasons each another one.
pub(super) fn first_error(case: &Case<'_>) -> bool {
    let is_of_names = |answer: &Answer| {
        matches!(
            answer.error(),
            Some(1054 | 1093 | 1146 | 1253 | 1267 | 1270 | 1271 | 1525 | 3149 | 3158 | 3854 | 3995)
        )
    };
    // A column that is not given, and a generated one that can't be computed.
    let missing = case.duramen.error() == Some(1364) && case.reference.error() == Some(1690);
    // Whether a view can be changed, and what the condition compares.
    let of_view = matches!(case.duramen.error(), Some(1288 | 1393)) && is_of_names(case.reference);
    is_of_names(case.duramen) && is_of_names(case.reference) || missing || of_view
}

/// MySQL shows the year 0 of a ROLLUP as a number.
pub(super) fn zero_years(case: &Case<'_>) -> bool {
    case.names(&[" WITH ROLLUP"])
        && case.is_same_with(|value| if value == b"0000" { b"0".to_vec() } else { value.to_vec() })
}

/// MySQL takes MAKE_SET() of a NULL for NULL where it looks for outer joins that are none.
pub(super) fn make_set_of_outer(case: &Case<'_>) -> bool {
    let more =
        matches!((case.duramen, case.reference), (Answer::Rows(a), Answer::Rows(b)) if a.len() > b.len());
    more && case.names(&["MAKE_SET("]) && case.names(&[" LEFT JOIN ", " RIGHT JOIN "])
}

/// COERCIBILITY() of what has no collation.
pub(super) fn no_collation(case: &Case<'_>) -> bool {
    case.names(&["COERCIBILITY("])
        && case.is_same_with(|value| if value == b"7" { b"1".to_vec() } else { value.to_vec() })
}

/// SHOW WARNINGS: of which rows there are warnings, and in which words. How those of each statement
/// differ is listed with `--definitions`.
pub(super) fn warnings(case: &Case<'_>) -> bool {
    case.sql == "SHOW WARNINGS"
        || case.sql.starts_with("SHOW WARNINGS LIMIT")
            && (case.is_same_with(without_row) || is_same_without_notes(case))
}

/// Notes of generated columns aside, which MySQL computes anew of rows that it only reads.
fn is_same_without_notes(case: &Case<'_>) -> bool {
    let is_of_generated = |row: &Row| {
        let text = |i: usize| row.get(i).and_then(|v| v.as_deref()).map(String::from_utf8_lossy);
        text(0).is_some_and(|level| level == "Note")
            && text(2).is_some_and(|message| super::names_generated(&message))
    };
    let others = |answer: &Answer| match answer {
        Answer::Rows(rows) => Some(rows.iter().filter(|row| !is_of_generated(row)).cloned().collect()),
        _ => None,
    };
    let (Some(duramen), Some(reference)) = (others(case.duramen), others(case.reference)) else {
        return false;
    };
    let (duramen, reference) = (Answer::Rows(duramen), Answer::Rows(reference));
    Case { duramen: &duramen, reference: &reference, ..*case }.is_same_with(without_row)
}

/// A message without the number of its row: in an UPDATE MySQL counts those that it has read.
fn without_row(value: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(value);
    text.rsplit_once(" at row ").map_or(&*text, |(before, _)| before).as_bytes().to_vec()
}

/// MAX() and MIN() of what is computed of a zero date and time.
pub(super) fn zero_moments(case: &Case<'_>) -> bool {
    case.names(&["MAX(", "MIN("])
        && case
            .is_same_as(|value| value.filter(|v| !v.starts_with(b"0000-00-00 00:00:00")).map(<[u8]>::to_vec))
}

/// CHECKs of no column, of which MySQL drops all where a column is dropped.
pub(super) fn constant_checks(case: &Case<'_>) -> bool {
    fn without_checks(value: &[u8]) -> Vec<u8> {
        let lines = value.split(|b| *b == b'\n').map(|l| l.strip_suffix(b",").unwrap_or(l));
        lines.filter(|l| !l.trim_ascii_start().starts_with(b"CONSTRAINT `x")).collect::<Vec<_>>().join(&b'\n')
    }
    case.sql.starts_with("SHOW CREATE TABLE") && case.is_same_with(without_checks)
}

/// A document that is compared with a BIGINT column is made one.
pub(super) fn documents_with_integers(case: &Case<'_>) -> bool {
    let both = matches!(
        (case.duramen, case.reference),
        (Answer::Rows(_), Answer::Rows(_)) | (Answer::Done(_), Answer::Done(_))
    );
    let is_compared =
        ["a.", "b.", "c.", "t", "s."].iter().any(|name| case.sql.contains(&format!("') = {name}")));
    case.names(&["JSON_EXTRACT("]) && is_compared && (both || case.reference.error() == Some(3156))
}

/// MySQL changes a column's collation in place where no key has it.
pub(super) fn altered_collations(case: &Case<'_>) -> bool {
    let both = matches!((case.duramen, case.reference), (Answer::Done(1..), Answer::Done(0)));
    both && case.names(&[" MODIFY COLUMN "]) && case.names(&[" COLLATE ", "CHAR(", " TEXT"])
}

/// A column that is assigned twice, where MySQL makes the change one of several tables.
pub(super) fn assigned_twice(case: &Case<'_>) -> bool {
    let both = matches!((case.duramen, case.reference), (Answer::Done(_), Answer::Done(_)));
    let Some((_, assignments)) = case.sql.split_once(" SET ") else { return false };
    let column = assignments.split(" = ").next().unwrap_or_default();
    let again = assignments.matches(&format!(", {column} = ")).count() > 0;
    both && case.sql.starts_with("UPDATE") && again && case.names(&["(SELECT "])
}

/// MySQL 9.7 looks for a row's parent before it numbers the row and looks for duplicates: a row
/// that is refused takes no AUTO_INCREMENT value there, and one that IGNORE leaves out counts, at
/// times.
pub(super) fn foreign_keys(case: &Case<'_>) -> bool {
    let of_keys = |answer: &Answer| matches!(answer.error(), Some(1062 | 1451 | 1452 | 1761 | 3819));
    let both_refuse = of_keys(case.duramen) && of_keys(case.reference);
    let ignored = matches!((case.duramen, case.reference), (Answer::Done(ours), Answer::Done(theirs)) if ours < theirs)
        && case.sql.starts_with("INSERT IGNORE");
    let numbered = case.sql.starts_with("SHOW CREATE TABLE")
        && case.is_same_with(|value| {
            let text = String::from_utf8_lossy(value).into_owned();
            match (text.contains("FOREIGN KEY"), text.find(" AUTO_INCREMENT=")) {
                (true, Some(at)) => {
                    let end = text[at + 1..].find(' ').map_or(text.len(), |len| at + 1 + len);
                    (text[..at].to_owned() + &text[end..]).into_bytes()
                }
                _ => text.into_bytes(),
            }
        });
    // The row that is there is updated, and the new one is none.
    let updated = matches!(case.duramen, Answer::Done(_))
        && case.reference.error() == Some(1452)
        && case.names(&[" ON DUPLICATE KEY UPDATE "]);
    // A row of a table that refers to itself, before it is numbered and computed.
    let of_own = |answer: &Answer| match answer {
        Answer::Error { number: 1452, message } => {
            let mut names = message.split("REFERENCES `").map(|part| part.split('`'));
            let table = names.next().and_then(|mut part| part.nth(3));
            table.is_some() && table == names.next().and_then(|mut part| part.next())
        }
        _ => false,
    };
    let is_done = |answer: &Answer| matches!(answer, Answer::Done(_));
    let own = case.names(&["INSERT", "REPLACE"])
        && (of_own(case.duramen) && is_done(case.reference)
            || of_own(case.reference) && is_done(case.duramen));
    both_refuse || ignored || numbered || updated || own
}

/// MySQL refuses to read a table that a statement changes through a view that it merges, and asks
/// that before other things.
pub(super) fn read_through_views(case: &Case<'_>) -> bool {
    matches!(case.reference.error(), Some(1443 | 1093))
        && (matches!(case.duramen, Answer::Done(_)) || case.duramen.error().is_some())
}

/// MySQL opens all tables and views of a statement before it looks at what is done with them.
pub(super) fn opened_first(case: &Case<'_>) -> bool {
    let both = (case.duramen.error(), case.reference.error());
    matches!(
        both,
        (Some(1221 | 1288 | 1356 | 1393..=1395 | 1471), Some(1054 | 1146 | 1356))
            | (Some(1267 | 1270 | 1271), Some(1356))
            | (Some(1215), Some(1824))
    )
}

/// MySQL tests CHECK OPTION before a row has its AUTO_INCREMENT number, and refuses an UPDATE
/// through an ordered view of a join.
pub(super) fn checked_and_ordered(case: &Case<'_>) -> bool {
    let is_done = |answer: &Answer| matches!(answer, Answer::Done(_));
    let fails = |one: &Answer, other: &Answer| one.error() == Some(1369) && is_done(other);
    let either = fails(case.duramen, case.reference) || fails(case.reference, case.duramen);
    let numbered = either && !case.sql.starts_with("UPDATE");
    let ordered = case.reference.error() == Some(1221) && case.sql.starts_with("UPDATE v");
    // Of a change of a key both are wrong with the row.
    let repeated = case.duramen.error() == Some(1369) && case.reference.error() == Some(1062);
    numbered || is_done(case.duramen) && ordered || repeated
}

/// MySQL changes views of views of outer joins, though not those of the outer joins themselves.
pub(super) fn above_outer_joins(case: &Case<'_>) -> bool {
    case.duramen.error() == Some(1288) && matches!(case.reference, Answer::Done(_))
}

/// A view that is made of itself: MySQL does not see it while it is made, not even what is wrong
/// with it.
pub(super) fn views_of_themselves(case: &Case<'_>) -> bool {
    let both = (case.duramen.error(), case.reference.error());
    case.names(&[" VIEW "]) && matches!(both, (Some(1356 | 1368), Some(1146)))
}

/// MySQL opens what the functions of a view use, whether they come to it or not: a function or
/// table that is not there is an error of the view, and so is a temporary table.
pub(super) fn views_of_functions(case: &Case<'_>) -> bool {
    case.names(&["fv"]) && matches!(case.reference.error(), Some(1352 | 1356))
}

/// The same without a view: what a function would not come to is missed all the same. Of a join
/// the order says which rows come to it.
pub(super) fn opened_by_functions(case: &Case<'_>) -> bool {
    let is_of_join = matches!(case.duramen.error(), Some(1146 | 1305 | 1321 | 1339))
        && matches!(case.reference, Answer::Rows(_))
        && case.names(&[" FROM v", " JOIN "]);
    case.calls_functions() && (is_of_join || matches!(case.reference.error(), Some(1146 | 1305)))
}

/// Two rows for which a function fails in two ways: which comes first is the optimizer's choice.
pub(super) fn first_row(case: &Case<'_>) -> bool {
    let both = (case.duramen.error(), case.reference.error());
    matches!(both, (Some(ours), Some(theirs)) if ours != theirs)
        && case.sql.starts_with("SELECT")
        && case.names(&[" FROM "])
        && case.names(&[" f", "(f"])
        && (case.duramen.error() == Some(1321) || case.reference.error() == Some(1321))
}

/// A text from a VARCHAR variable or column to a shorter one of the same collation is 1265 in
/// MySQL, whose SQLSTATE is that of a warning: handlers of warnings take it, those of exceptions
/// don't.
pub(super) fn cut_texts(case: &Case<'_>) -> bool {
    if !case.sql.starts_with("CALL") && !case.calls_functions() {
        return false;
    }
    let named = |answer: &Answer, number: u16| -> Option<String> {
        let message = answer.message().filter(|_| answer.error() == Some(number))?;
        let name = message.split_once("for column '")?.1.split(['\'', '(']).next()?;
        Some(name.to_owned())
    };
    // A function's value goes by the name of its column in MySQL.
    let is_varchar = |name: &str| {
        ["VARCHAR(", "VARBINARY("].iter().any(|ty| case.declares(name, ty))
            || name.starts_with(['f', 'x']) && case.returns_varchar()
    };
    let is_handled =
        |by: &[&str]| case.made.contains(" HANDLER FOR ") && by.iter().any(|w| case.made.contains(w));
    match (named(case.duramen, 1406), named(case.reference, 1265)) {
        (Some(ours), Some(theirs)) => (ours == theirs || case.returns_varchar()) && is_varchar(&ours),
        (None, Some(theirs)) => is_varchar(&theirs) && is_handled(&["SQLEXCEPTION", "'22001'"]),
        (Some(ours), None) => is_varchar(&ours) && is_handled(&["SQLWARNING", "'01000'"]),
        (None, None) => false,
    }
}

/// An error of a DEFAULT, or of a function that it calls, that stands in front of a handler of the
/// same block: MySQL finds no handler of a block around it.
pub(super) fn failed_defaults(case: &Case<'_>) -> bool {
    let message = case.reference.message();
    let name = message.and_then(|m| m.split_once("for column '")?.1.split('\'').next());
    let has_default = case.made.split("DECLARE ").skip(1).any(|rest| {
        let (own, after) = rest.split_once(';').unwrap_or_default();
        let fails = name.is_some_and(|name| own.starts_with(&format!("{name} "))) || calls_functions(own);
        // What follows a DECLARE is another one, up to the handler.
        let mut declared =
            after.split(';').map_while(|part| part.trim_ascii_start().strip_prefix("DECLARE "));
        own.contains(" DEFAULT ") && fails && declared.any(|part| part.contains(" HANDLER FOR "))
    });
    case.sql.starts_with("CALL") && case.duramen.error().is_none() && message.is_some() && has_default
}

/// An EXIT handler leaves the cursors of the blocks within its own where they are in MySQL: the
/// next cursor of that depth is one of these, which is open.
pub(super) fn cursors_left_open(case: &Case<'_>) -> bool {
    (case.sql.starts_with("CALL") || case.calls_functions())
        && case.reference.error() == Some(1325)
        && case.duramen.error() != Some(1325)
        && case.made.contains(" EXIT HANDLER FOR ")
        && case.made.matches(" CURSOR FOR ").count() > 1
}

/// MySQL loses columns of a view that it makes as a whole from views that it merges.
pub(super) fn lost_columns(case: &Case<'_>) -> bool {
    let is_lost = matches!(case.reference, Answer::Error { number: 1054, message } if message.contains(".w"));
    is_lost && matches!(case.duramen, Answer::Rows(_)) && case.names(&[" v"])
}

/// MySQL 9.7 moves a condition into the query of a view that it makes as a whole, and reads its
/// texts in the server's collation there (`derived_condition_pushdown`).
pub(super) fn conditions_moved_into_views(case: &Case<'_>) -> bool {
    let is_mixed = matches!(case.reference, Answer::Error { number: 1267, message }
        if message.contains("(utf8mb4_0900_ai_ci,IMPLICIT)"));
    is_mixed
        && matches!(case.duramen, Answer::Rows(_))
        && case.names(&[" v"])
        && case.names(&["CAST(", "CONVERT(", "CHAR("])
}

/// MySQL asks for the largest or smallest value of an ANY or ALL of texts, and refuses that of
/// collations that don't go together.
pub(super) fn extremes_of_any(case: &Case<'_>) -> bool {
    let is_of_extreme = matches!(case.reference, Answer::Error { number: 1267, message }
        if message.ends_with("operation 'max'") || message.ends_with("operation 'min'"));
    is_of_extreme && !case.names(&["MAX(", "MIN("]) && case.names(&[" ANY (SELECT ", " ALL (SELECT "])
}
