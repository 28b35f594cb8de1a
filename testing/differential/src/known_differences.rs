//! Differences between MySQL and MariaDB that are no finding. Each rule is as narrow as the two
//! answers allow; `docs/differences-to-mariadb.md` has what MySQL's manual says of each.

mod case;
mod mysql;

use crate::answer::Answer;
pub use case::Case;
pub(crate) use case::calls_functions;
use case::{
    as_number, without_sign_of_zero, without_trailing_zeros, without_zero_dates, without_zero_fraction,
};

/// A difference from the other server that the document explains, and how to recognize it.
#[derive(Debug)]
pub struct KnownDifference {
    /// Its name, a heading of the document.
    pub name: &'static str,
    applies: fn(&Case<'_>) -> bool,
}

/// All of them.
pub const KNOWN_DIFFERENCES: &[KnownDifference] = &[
    KnownDifference { name: "Digits after rounding", applies: digits_after_rounding },
    KnownDifference { name: "Operands that are not needed", applies: operands_not_needed },
    KnownDifference { name: "No member of an ENUM", applies: no_member },
    KnownDifference { name: "Keys of TEXT columns", applies: keys_of_texts },
    KnownDifference { name: "Digits of CASE as texts", applies: digits_of_case },
    KnownDifference { name: "Years in temporary tables", applies: years_of_three_digits },
    KnownDifference { name: "Digits of NULL and a number", applies: digits_of_null_and_number },
    KnownDifference { name: "Aggregated dates beside numbers", applies: dates_in_having },
    KnownDifference { name: "Negative zero", applies: negative_zero },
    KnownDifference { name: "Digits of NULL and an interval", applies: digits_of_null },
    KnownDifference { name: "Zero dates in data changes", applies: zero_dates },
    KnownDifference { name: "Zero dates in expressions", applies: chosen_zero_dates },
    KnownDifference { name: "Conversions beside subqueries", applies: conversions_with_subqueries },
    KnownDifference { name: "Bits of large choices", applies: large_choices },
    KnownDifference { name: "Days in temporary tables", applies: days_of_six_digits },
    KnownDifference { name: "Times taken for equal", applies: times_taken_for_equal },
    KnownDifference { name: "The changed table in a subquery", applies: changed_table_read },
    KnownDifference { name: "Errors of expressions in data changes", applies: errors_in_changes },
    KnownDifference {
        name: "Temporary tables read twice",
        applies: |case| case.duramen.error() == Some(1137),
    },
    KnownDifference { name: "WITH ROLLUP of no rows", applies: rollup_of_nothing },
    KnownDifference { name: "COUNT(DISTINCT) WITH ROLLUP", applies: distinct_rollup },
    KnownDifference { name: "Fractions of the largest time", applies: largest_time },
    KnownDifference { name: "Dropped columns of unique keys", applies: dropped_column },
    KnownDifference { name: "Dropped columns of a CHECK", applies: dropped_with_check },
    KnownDifference { name: "Dropped defaults", applies: dropped_default },
    KnownDifference { name: "CHECK and IGNORE", applies: check_and_ignore },
    KnownDifference { name: "Texts in columns that are altered", applies: altered_texts },
    KnownDifference { name: "Numbers that become members", applies: altered_numbers },
    KnownDifference { name: "Keys of other numbers", applies: keys_of_other_numbers },
    KnownDifference { name: "Case of QUOTE(NULL)", applies: case_of_quoted_null },
    KnownDifference { name: "Columns that become NOT NULL", applies: altered_in_place },
    KnownDifference { name: "Years of dates", applies: years_of_dates },
    KnownDifference { name: "Order of an ENUM's key", applies: order_of_members },
    KnownDifference { name: "Collations of LOCATE", applies: collations_of_locate },
    KnownDifference { name: "Hours of three digits", applies: hours_of_three_digits },
    KnownDifference { name: "Decimals below one as texts", applies: cut_decimals },
    KnownDifference { name: "Digits of a quotient", applies: digits_of_quotient },
    KnownDifference {
        name: "Digits of large products",
        applies: |case| case.names(&[" * "]) && case.is_same_with(as_number),
    },
    KnownDifference { name: "Differences of unsigned numbers", applies: unsigned_difference },
    KnownDifference { name: "Rows that are not in a subquery", applies: rows_not_in },
    KnownDifference { name: "Rows that are not asked for", applies: rows_not_asked_for },
    KnownDifference { name: "Keys of fewer digits", applies: keys_of_fewer_digits },
    KnownDifference { name: "Values of generated columns", applies: generated_values },
    KnownDifference { name: "Which error comes first", applies: first_error },
    KnownDifference { name: "Renamed temporary tables", applies: renamed_temporary },
    KnownDifference { name: "NULLs that stay NULL", applies: nulls_that_stay },
    KnownDifference {
        name: "Constants that are no dates",
        applies: |case| case.duramen.error() == Some(1525),
    },
];

/// Where Duramen keeps to MySQL 8.4 and its manual, and a newer MySQL does otherwise;
/// `docs/differences-to-mysql.md` has the words.
pub const KNOWN_TO_MYSQL: &[KnownDifference] = &[
    KnownDifference { name: "Times and dates out of range", applies: mysql::out_of_range },
    KnownDifference { name: "Digits of CASE and IF", applies: mysql::digits_of_choice },
    KnownDifference { name: "Numbers of conversion errors", applies: mysql::conversion_errors },
    KnownDifference { name: "Temporary tables read twice", applies: mysql::temporary_twice },
    KnownDifference { name: "Rows that are not asked for", applies: rows_not_asked_for },
    KnownDifference { name: "Keys of fewer digits", applies: keys_of_fewer_digits },
    KnownDifference { name: "NULLs that stay NULL", applies: nulls_that_stay },
    KnownDifference { name: "Order of an ENUM's key", applies: order_of_members },
    KnownDifference { name: "Values that are not needed", applies: mysql::not_needed },
    KnownDifference { name: "Virtual columns that are read", applies: mysql::generated_values },
    KnownDifference { name: "Order of keys", applies: mysql::order_of_keys },
    KnownDifference { name: "Defaults beyond utf8mb3", applies: mysql::wide_defaults },
    KnownDifference { name: "Which error comes first", applies: mysql::first_error },
    KnownDifference { name: "The year 0 WITH ROLLUP", applies: mysql::zero_years },
    KnownDifference { name: "MAKE_SET and outer joins", applies: mysql::make_set_of_outer },
    KnownDifference { name: "Coercibility of no collation", applies: mysql::no_collation },
    KnownDifference { name: "Warnings", applies: mysql::warnings },
    KnownDifference { name: "Collations that are altered", applies: mysql::altered_collations },
    KnownDifference { name: "Columns assigned twice", applies: mysql::assigned_twice },
    KnownDifference { name: "Documents beside BIGINT columns", applies: mysql::documents_with_integers },
    KnownDifference { name: "Zero dates under MAX and MIN", applies: mysql::zero_moments },
    KnownDifference { name: "CHECKs of no column", applies: mysql::constant_checks },
    KnownDifference { name: "Foreign keys", applies: mysql::foreign_keys },
    KnownDifference { name: "Changed tables read through views", applies: mysql::read_through_views },
    KnownDifference { name: "Views above outer joins", applies: mysql::above_outer_joins },
    KnownDifference { name: "Checks and orders of views", applies: mysql::checked_and_ordered },
    KnownDifference { name: "Tables that are not there", applies: mysql::opened_first },
    KnownDifference { name: "Views of themselves", applies: mysql::views_of_themselves },
    KnownDifference { name: "Views that call functions", applies: mysql::views_of_functions },
    KnownDifference { name: "What functions use is not there", applies: mysql::opened_by_functions },
    KnownDifference { name: "Functions that fail for several rows", applies: mysql::first_row },
    KnownDifference { name: "Texts that are cut between variables", applies: mysql::cut_texts },
    KnownDifference { name: "Defaults that fail before handlers", applies: mysql::failed_defaults },
    KnownDifference { name: "Cursors that an EXIT handler leaves", applies: mysql::cursors_left_open },
    KnownDifference { name: "Columns of views made as a whole", applies: mysql::lost_columns },
    KnownDifference { name: "ANY and ALL of mixed collations", applies: mysql::extremes_of_any },
    KnownDifference { name: "Conditions moved into views", applies: mysql::conditions_moved_into_views },
];

/// The known difference that a case is of.
pub fn find(case: &Case<'_>, is_mysql: bool) -> Option<&'static KnownDifference> {
    // That Duramen does not answer is explained by no document.
    if matches!(case.duramen, Answer::Lost(_)) {
        return None;
    }
    let all = if is_mysql { KNOWN_TO_MYSQL } else { KNOWN_DIFFERENCES };
    all.iter().find(|k| (k.applies)(case))
}

/// A product with a negative number is -0 where the column has 0: another value in MySQL, so that
/// the row counts as changed.
fn negative_zero(case: &Case<'_>) -> bool {
    let counts =
        matches!((case.duramen, case.reference), (Answer::Done(ours), Answer::Done(theirs)) if ours > theirs);
    counts && case.names(&[" JOIN "]) && case.names(&["* -", "e0"]) && case.sql.starts_with("UPDATE")
        || case.is_same_with(without_sign_of_zero)
}

/// MariaDB writes as many zeros as the second operand of ROUND or TRUNCATE asks for.
fn digits_after_rounding(case: &Case<'_>) -> bool {
    case.names(&["ROUND(", "TRUNCATE(", "FLOOR(", "CEILING("]) && case.is_same_with(as_number)
}

/// MySQL in strict mode fails a change for a division by zero or a bad conversion anywhere in it,
/// MariaDB only for one in a value that is stored.
fn errors_in_changes(case: &Case<'_>) -> bool {
    let changes = ["UPDATE", "DELETE", "INSERT", "REPLACE"].iter().any(|w| case.sql.starts_with(w));
    changes
        && matches!(case.duramen.error(), Some(1264 | 1365 | 1292 | 1441))
        && !matches!(case.reference, Answer::Lost(_))
        && case.names(&[" WHERE ", "CAST("])
}

/// True if a message is about a generated column: those are named `g` and a number.
fn names_generated(message: &str) -> bool {
    message.split("'g").skip(1).any(|name| name.starts_with(|c: char| c.is_ascii_digit()))
}

/// MariaDB stores what it can of a generated column's value, strict or not, and refuses expressions
/// that depend on a session.
fn generated_values(case: &Case<'_>) -> bool {
    // MySQL and MariaDB compute them for rows that stay as they are, too.
    let is_unchanged = matches!((case.duramen, case.reference), (Answer::Done(_), Answer::Error { number: 1406, message }) if names_generated(message));
    let is_strict = matches!(case.duramen, Answer::Error { number: 1264 | 1265 | 1292 | 1366 | 1406, message } if names_generated(message));
    is_strict || case.reference.error() == Some(1901) || is_unchanged
}

/// Both refuse a change, of several reasons each another one: MySQL checks the columns that are
/// given in their order and then for missing ones, MariaDB for missing ones first; and texts that
/// are too long or no numbers have other errors.
fn first_error(case: &Case<'_>) -> bool {
    let is_value = |answer: &Answer| {
        matches!(
            answer.error(),
            Some(1048 | 1138 | 1264 | 1265 | 1292 | 1364 | 1366 | 1406 | 1411 | 1441 | 1916 | 3819)
        )
    };
    is_value(case.duramen) && is_value(case.reference) || first_of_many_rows(case)
}

/// Of a change by a query, one server has looked at all rows before it writes the first one.
fn first_of_many_rows(case: &Case<'_>) -> bool {
    let errors = (case.duramen.error(), case.reference.error());
    matches!(errors, (Some(1062), Some(_)) | (Some(_), Some(1062))) && case.names(&[" SELECT ", " JOIN "])
}

/// MySQL searches by the collation of the text that it searches in, MariaDB by the one that both
/// texts are brought to.
fn collations_of_locate(case: &Case<'_>) -> bool {
    let is_number = |value: &Option<Vec<u8>>| {
        value.as_ref().is_some_and(|v| v.iter().all(|b| b"-0123456789".contains(b)))
    };
    let (Answer::Rows(ours), Answer::Rows(theirs)) = (case.duramen, case.reference) else { return false };
    case.names(&["LOCATE("])
        && (case.names(&[" COLLATE "]) || case.made.contains(" COLLATE "))
        && ours.len() == theirs.len()
        && ours
            .iter()
            .zip(theirs)
            .all(|(a, b)| a.iter().zip(b).all(|(a, b)| a == b || is_number(a) && is_number(b)))
}

/// MySQL counts the rows of a temporary table whatever is altered.
fn renamed_temporary(case: &Case<'_>) -> bool {
    let both = matches!((case.duramen, case.reference), (Answer::Done(1..), Answer::Done(0)));
    both && case.sql.starts_with("ALTER TABLE")
}

/// MySQL gives the row over all, MariaDB none.
fn rollup_of_nothing(case: &Case<'_>) -> bool {
    matches!(case.reference, Answer::Rows(rows) if rows.is_empty())
        && matches!(case.duramen, Answer::Rows(rows) if rows.len() == 1)
        && case.names(&[" WITH ROLLUP"])
}

/// Over all groups MariaDB counts equal values of several groups again.
fn distinct_rollup(case: &Case<'_>) -> bool {
    let same_count = match (case.duramen, case.reference) {
        (Answer::Rows(a), Answer::Rows(b)) => a.len() == b.len() || case.names(&[" HAVING "]),
        _ => false,
    };
    same_count && case.names(&[" WITH ROLLUP"]) && case.names(&["COUNT(DISTINCT "])
}

/// One of them computes something of a row that the other has dropped before.
fn rows_not_asked_for(case: &Case<'_>) -> bool {
    let divides = case.names(&[" / ", " % ", " DIV ", "MOD("]);
    let is_range = |answer: &Answer| match answer.error() {
        Some(1365) => divides,
        error => matches!(error, Some(1690 | 1441)),
    };
    // Of a change only where a subquery or another table is asked, or not.
    (case.sql.starts_with("SELECT") || case.names(&["(SELECT ", " JOIN "]))
        && is_range(case.duramen) != is_range(case.reference)
        && case.names(&[
            " JOIN ",
            "(SELECT ",
            " GROUP BY ",
            " HAVING ",
            "COUNT(",
            " IS UNKNOWN",
            " NULL)",
            " OFFSET ",
        ])
}

/// ON DUPLICATE KEY UPDATE that leaves a row as it is counts it where a NULL was assigned: the
/// bytes under a NULL differ there.
fn nulls_that_stay(case: &Case<'_>) -> bool {
    let counts = (case.duramen, case.reference);
    matches!(counts, (Answer::Done(ours), Answer::Done(theirs)) if ours < theirs)
        && case.names(&[" ON DUPLICATE KEY UPDATE "])
}

/// MySQL's bit operators give unsigned numbers, and so are differences with them; MariaDB's CASE
/// and the like forget it, and MariaDB subtracts the least number unchecked, or makes a decimal of
/// it.
fn unsigned_difference(case: &Case<'_>) -> bool {
    let is_refused = |start: &str| match case.duramen {
        Answer::Error { number: 1690, message } => message.starts_with(start),
        _ => false,
    };
    is_refused("BIGINT UNSIGNED")
        && case.names(&[" - "])
        && case.names(&[" & ", " | ", " ^ ", " << ", " >> "])
        || is_refused("BIGINT value") && case.reference.error().is_none()
}

/// MariaDB takes a row for different from one with a NULL.
fn rows_not_in(case: &Case<'_>) -> bool {
    let both = matches!((case.duramen, case.reference), (Answer::Rows(_), Answer::Rows(_)));
    let counts = both && case.names(&["COUNT("]) && case.names(&[") NOT IN (SELECT "]);
    let done = matches!((case.duramen, case.reference), (Answer::Done(a), Answer::Done(b)) if a < b);
    counts || (done || case.reference_finds_more()) && case.names(&[" NOT IN (SELECT ", " <> ALL (SELECT "])
}

/// Where a key is looked up, its column's digits of a second are all that is compared.
fn keys_of_fewer_digits(case: &Case<'_>) -> bool {
    let is_absent = case.names(&["NOT EXISTS ("]) && case.duramen_finds_more();
    (case.reference_finds_more() || is_absent) && case.names(&[".789'", ".000001'"])
}

/// MySQL's largest time is 838:59:59, MariaDB's has a fraction.
fn largest_time(case: &Case<'_>) -> bool {
    case.is_same_with(|value| match value.strip_prefix(b"-").unwrap_or(value) {
        time if time.starts_with(b"838:59:59.") => b"838:59:59".to_vec(),
        _ => value.to_vec(),
    })
}

/// MariaDB drops no column that a unique key of several names.
fn dropped_column(case: &Case<'_>) -> bool {
    case.reference.error() == Some(1072) && case.names(&[" DROP COLUMN "])
}

/// A text of what CASE and IF give has the digits of the branch that was taken, in MySQL.
fn digits_of_case(case: &Case<'_>) -> bool {
    case.names(&["IF(", "CASE "])
        && case.names(&[" AS CHAR", " AS BINARY"])
        && case.is_same_with(without_trailing_zeros)
}

/// MariaDB's temporary tables have the digits of the smaller type for a choice between a year and
/// another number.
fn years_of_three_digits(case: &Case<'_>) -> bool {
    let has_cut = |answer: &Answer| match answer {
        Answer::Rows(rows) => rows.iter().flatten().any(|value| value.as_deref() == Some(b"999")),
        _ => false,
    };
    has_cut(case.reference) && !has_cut(case.duramen) && case.names(&[" AS SIGNED)"])
}

/// MariaDB compares the smallest and largest dates of a group with a number as dates.
fn dates_in_having(case: &Case<'_>) -> bool {
    let both = matches!((case.duramen, case.reference), (Answer::Rows(_), Answer::Rows(_)));
    both && case.names(&[" HAVING MIN(", " HAVING MAX("])
}

/// MySQL evaluates no further operands once one is NULL, MariaDB does, and fails a change for them.
fn operands_not_needed(case: &Case<'_>) -> bool {
    case.reference.error() == Some(1365) && matches!(case.duramen, Answer::Done(_)) && case.names(&["(NULL,"])
}

/// A text of 0 is the number of no member, which MySQL stores.
fn no_member(case: &Case<'_>) -> bool {
    let is_generated = matches!(case.reference, Answer::Error { message, .. } if names_generated(message));
    case.reference.error() == Some(1265)
        && matches!(case.duramen, Answer::Done(_))
        && (is_generated || case.sql.starts_with("UPDATE"))
}

/// MySQL wants to know how much of a text a key has, MariaDB takes what fits.
fn keys_of_texts(case: &Case<'_>) -> bool {
    case.duramen.error() == Some(1170) && case.sql.starts_with("ALTER TABLE") && case.names(&["TEXT", "BLOB"])
}

/// MariaDB drops no column that a CHECK is about, even where it is the only one.
fn dropped_with_check(case: &Case<'_>) -> bool {
    let is_check =
        matches!(case.reference, Answer::Error { number: 1054, message } if message.ends_with("'CHECK'"));
    is_check && case.names(&[" DROP COLUMN "])
}

/// What had its default dropped has none in MySQL, and NULL in MariaDB.
fn dropped_default(case: &Case<'_>) -> bool {
    let goes_on = matches!(case.reference, Answer::Done(_) | Answer::Error { number: 1062, .. });
    case.duramen.error() == Some(1364) && goes_on && case.inserts()
}

/// A row that a CHECK refuses is omitted under IGNORE; MariaDB fails the statement.
fn check_and_ignore(case: &Case<'_>) -> bool {
    case.reference.error() == Some(4025) && case.names(&["INSERT IGNORE"])
}

/// MySQL copies texts into number columns as if they were inserted, MariaDB reads integers off
/// them.
fn altered_texts(case: &Case<'_>) -> bool {
    let is_cut = matches!(case.reference, Answer::Error { number: 1292, message } if message.starts_with("Truncated incorrect"));
    is_cut && case.names(&[" MODIFY COLUMN "])
}

/// Where a temporary table is made, a negative number of DECIMAL(4,4) loses its last digit in a
/// text: no room was reckoned for the zero before the point.
fn cut_decimals(case: &Case<'_>) -> bool {
    case.is_same_with(|value| match value {
        [b'-', b'0', b'.', digits @ ..] if digits.len() >= 3 => value[..6].to_vec(),
        _ => value.to_vec(),
    })
}

/// MariaDB reads the number that a subquery gives as a date, or a text next to it as a number, and
/// fails the change for it.
fn conversions_with_subqueries(case: &Case<'_>) -> bool {
    let is_conversion = matches!(case.reference, Answer::Error { number: 1292, message }
        if message.starts_with("Truncated incorrect") || message.contains("for column `"));
    is_conversion && matches!(case.duramen, Answer::Done(_)) && case.names(&["(SELECT "])
}

/// As integers, decimals beyond 64 bits end at the largest signed one in MySQL; MariaDB's choices
/// between numbers without a sign go around.
fn large_choices(case: &Case<'_>) -> bool {
    let is_large = |value: &Vec<u8>| value.len() >= 19 && value.iter().all(u8::is_ascii_digit);
    let (Answer::Rows(_), Answer::Rows(theirs)) = (case.duramen, case.reference) else { return false };
    let shows_large = theirs.iter().flatten().flatten().any(is_large);
    let chooses = case.names(&["GREATEST(", "LEAST("])
        || shows_large && case.names(&["COALESCE(", "IFNULL(", "IF(", "CASE "]);
    chooses && case.names(&[" & ", " | ", " ^ ", " << ", " >> "])
}

/// MariaDB's temporary tables have six digits for TO_DAYS(), and five for PERIOD_ADD().
fn days_of_six_digits(case: &Case<'_>) -> bool {
    let cut = |value: &[u8]| match value.len() {
        6 | 7 if value.iter().all(u8::is_ascii_digit) => b"99999".to_vec(),
        _ => value.to_vec(),
    };
    case.names(&["TO_DAYS(", "PERIOD_ADD("]) && case.is_same_with(cut)
}

/// TIME(x) and CAST(x AS TIME), which has no fraction, are taken for the same expression by both.
fn times_taken_for_equal(case: &Case<'_>) -> bool {
    let both = matches!(
        (case.duramen, case.reference),
        (Answer::Rows(_), Answer::Rows(_)) | (Answer::Done(_), Answer::Done(_))
    );
    let casts = |x: &str| case.sql.contains(&format!("CAST({x} AS TIME)"));
    let operands = case.sql.split("(TIME(").skip(1);
    both && operands.into_iter().any(|rest| rest.match_indices(')').any(|(end, _)| casts(&rest[..end])))
}

/// MySQL copies numbers into ENUM and SET as texts, and one with a fraction names no member;
/// MariaDB as integers.
fn altered_numbers(case: &Case<'_>) -> bool {
    case.duramen.error() == Some(1265)
        && matches!(case.reference, Answer::Done(_))
        && case.names(&[" MODIFY COLUMN "])
        && case.names(&[" SET(", " ENUM("])
}

/// Where MariaDB looks a number up in a key, it is made the key's type before: -3 is 0 in an
/// unsigned one, 1.5 is 2.
fn keys_of_other_numbers(case: &Case<'_>) -> bool {
    let is_other = |word: &str| word.parse().is_ok_and(|n: f64| n < 0.0 || n.fract() != 0.0);
    let compares = |word: &str| matches!(word, "=" | "<>" | "<=>" | "IN" | "NOT");
    let words: Vec<_> = case.sql.split([' ', '(', ')', ',']).filter(|word| !word.is_empty()).collect();
    let is_compared = |pair: &[&str]| match pair {
        [a, b] => is_other(a) && compares(b) || compares(a) && is_other(b),
        _ => false,
    };
    case.reference_knows_more() && words.windows(2).any(is_compared)
}

/// QUOTE(NULL) has bytes in MariaDB, where a text has no upper or lower case then.
fn case_of_quoted_null(case: &Case<'_>) -> bool {
    case.names(&["QUOTE("])
        && case.names(&["LOWER(", "UPPER("])
        && case.is_same_with(<[u8]>::to_ascii_lowercase)
}

/// A zero date that CASE and the like give is NULL in MariaDB, which the statement may ask for; so
/// is its time of day.
fn chosen_zero_dates(case: &Case<'_>) -> bool {
    let both = matches!((case.duramen, case.reference), (Answer::Rows(_), Answer::Rows(_)));
    let chosen = case.names(&["CASE ", "COALESCE(", "IF(", "IFNULL(", "GREATEST(", "LEAST("]);
    let without_midnight =
        |value: Option<&[u8]>| value.filter(|v| !v.starts_with(b"00:00:00")).map(<[u8]>::to_vec);
    case.is_same_as(without_zero_dates)
        || both && case.asks_choice_for_null()
        || chosen && case.is_same_as(without_midnight)
}

/// Where a stored column is generated of one that becomes NOT NULL, MariaDB copies the table and
/// counts its rows.
fn altered_in_place(case: &Case<'_>) -> bool {
    let both = matches!((case.duramen, case.reference), (Answer::Done(0), Answer::Done(1..)));
    both && case.names(&[" MODIFY COLUMN "]) && case.names(&[" NOT NULL"])
}

/// A date is no YEAR in MariaDB's strict sessions.
fn years_of_dates(case: &Case<'_>) -> bool {
    let is_refused = matches!(case.reference, Answer::Error { number: 1292, message }
        if message.starts_with("Incorrect date") && message.contains("for column"));
    is_refused && matches!(case.duramen, Answer::Done(_)) && case.inserts() && case.names(&[" SELECT "])
}

/// ANY and ALL of a column are its MIN() or MAX() in both, and those of an ENUM the first or last
/// of its key, if it has one.
fn order_of_members(case: &Case<'_>) -> bool {
    let both = matches!((case.duramen, case.reference), (Answer::Rows(_), Answer::Rows(_)));
    both && case.names(&[" > ALL (SELECT s.", " < ANY (SELECT s.", " >= ANY (SELECT s."])
}

/// Both reckon two digits for an hour where they make a temporary table for TIME_FORMAT(), and cut
/// what comes after.
fn hours_of_three_digits(case: &Case<'_>) -> bool {
    /// Of `%r %T %p`, but for the last character.
    const COMPARED_MAX: usize = 22;
    case.names(&["TIME_FORMAT("])
        && case.is_same_with(|value| value[..value.len().min(COMPARED_MAX)].to_vec())
}

/// MySQL goes on computing with the digits of a quotient that it shows, MariaDB with more.
fn digits_of_quotient(case: &Case<'_>) -> bool {
    case.names(&[" / "])
        && case.is_same_with(|value| match std::str::from_utf8(value).map(str::parse::<f64>) {
            Ok(Ok(number)) if value.contains(&b'.') => format!("{:.2e}", number).into_bytes(),
            _ => value.to_vec(),
        })
}

/// MariaDB takes the digits of a product from NULL, and leaves some of the number's out.
fn digits_of_null_and_number(case: &Case<'_>) -> bool {
    let digits = |value: &[u8]| match std::str::from_utf8(value).map(str::parse::<f64>) {
        Ok(Ok(number)) if value.contains(&b'.') => format!("{number:.0e}").into_bytes(),
        _ => value.to_vec(),
    };
    case.names(&["NULL"]) && case.names(&["GREATEST(", "LEAST("]) && case.is_same_with(digits)
}

/// `NULL + INTERVAL 1 DAY` and other dates and times made of NULL have six digits after the seconds
/// in MySQL, which COALESCE and the like take over.
fn digits_of_null(case: &Case<'_>) -> bool {
    case.names(&["NULL"]) && case.is_same_with(without_zero_fraction)
}

/// MySQL refuses to read the table that is changed (1093), MariaDB reads it.
fn changed_table_read(case: &Case<'_>) -> bool {
    let changes = ["UPDATE", "DELETE"].iter().any(|w| case.sql.starts_with(w));
    changes && case.duramen.error() == Some(1093) && case.names(&["(SELECT "])
}

/// In strict mode MariaDB fails a change that reads a zero date in an expression.
fn zero_dates(case: &Case<'_>) -> bool {
    matches!(case.duramen, Answer::Done(_))
        && matches!(case.reference, Answer::Error { number: 1292, message } if message.contains("'0000-00-00"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(value: &str) -> Answer {
        Answer::Rows(vec![vec![Some(value.as_bytes().to_vec())]])
    }

    #[test]
    fn rules_are_narrow() {
        let found = |sql: &str, duramen: &Answer, reference: &Answer| {
            find(&Case { sql, is_ordered: false, duramen, reference, made: "" }, false).map(|k| k.name)
        };
        assert_eq!(found("SELECT ROUND(1.5, 3)", &one("1.5"), &one("1.500")), Some("Digits after rounding"));
        assert_eq!(found("SELECT ROUND(1.5, 3)", &one("1.5"), &one("1.501")), None);
        assert_eq!(found("SELECT 1.5 + 0", &one("1.5"), &one("1.500")), None);
        let error = Answer::Error { number: 1365, message: String::new() };
        assert!(found("DELETE FROM t WHERE 1 / 0", &error, &Answer::Done(0)).is_some());
        assert!(found("SELECT 1 FROM t WHERE 1 / 0", &error, &one("1")).is_none());

        let (none, nothing) = (Answer::Rows(Vec::new()), Answer::Rows(vec![vec![None]]));
        let key = "SELECT (SELECT MIN(s.id) FROM t AS s WHERE (s.c = 1.5))";
        assert_eq!(found(key, &nothing, &one("8")), Some("Keys of other numbers"));
        assert!(found(key, &one("8"), &nothing).is_none());
        assert!(found(&key.replace("1.5", "1"), &nothing, &one("8")).is_none());
        let choice =
            "SELECT (CASE WHEN 1 THEN a.d END IS NULL), (COALESCE((a.d), a.e) IS NOT NULL) FROM t AS a";
        assert!(found(choice, &one("0"), &one("1")).is_some());
        assert!(found("SELECT (COALESCE(1, 2) = 1), (3 IS NULL)", &one("0"), &one("1")).is_none());
        let times = "SELECT 1 FROM t WHERE (TIME(t.a) <> CAST(t.a AS TIME))";
        assert_eq!(found(times, &one("1"), &none), Some("Times taken for equal"));
        assert!(found(&times.replace("CAST(t.a", "CAST(t.b"), &one("1"), &none).is_none());
    }

    #[test]
    fn cut_texts_are_of_varchars_that_go_to_varchars() {
        let error = |number, text: &str| Answer::Error { number, message: format!("{text} at row 1") };
        let (ours, theirs) =
            (error(1406, "Data too long for column 'v2'"), error(1265, "Data truncated for column 'v2'"));
        let done = Answer::Done(0);
        let is_known = |made: &str, duramen: &Answer, reference: &Answer| {
            let case = Case { sql: "CALL p1()", is_ordered: false, duramen, reference, made };
            find(&case, true).map(|known| known.name)
        };
        let text = Some("Texts that are cut between variables");
        let made = "CREATE PROCEDURE p1() BEGIN DECLARE v2 VARCHAR(3); SET v2 = v1; END";
        let caught = "DECLARE v2 VARCHAR(3); DECLARE EXIT HANDLER FOR SQLEXCEPTION DO 0;";
        assert_eq!(is_known(caught, &done, &theirs), text);
        assert_eq!(is_known(made, &done, &theirs), None);
        assert_eq!(is_known("DECLARE v2 ENUM('a')", &done, &theirs), None);
        assert_eq!(is_known(&caught.replace("v2", "xv2"), &done, &theirs), None);
        assert_eq!(is_known(&caught.replace("SQLEXCEPTION", "SQLWARNING"), &ours, &done), text);
        assert_eq!(is_known(caught, &ours, &done), None);
    }

    #[test]
    fn wide_characters_are_known_by_what_becomes_of_them() {
        let row = |text: &str| Answer::Rows(vec![vec![Some(text.as_bytes().to_vec())]]);
        let is_known = |ours: &str, theirs: &str| {
            let (duramen, reference) = (&row(ours), &row(theirs));
            find(&Case { sql: "SHOW CREATE TABLE t1", is_ordered: true, duramen, reference, made: "" }, true)
                .is_some()
        };
        assert!(is_known("a\n`c` text DEFAULT 'x\u{1f600}',\nb", "a\n`c` text DEFAULT 0x78F09F9880,\nb"));
        assert!(is_known("CHECK (`a` <> '\u{1f600}')", "CHECK (`a` <> '????')"));
        assert!(is_known("enum('\u{1f600}')", "enum('?')"));
        assert!(is_known("'\u{1f600}'", "'\u{f0}\u{9f}\u{98}\u{80}'"));
        assert!(!is_known("`c` text DEFAULT 'x\u{1f600}'", "`c` text DEFAULT 0x79F09F9880"));
        assert!(!is_known("'\u{1f600}' NOT NULL", "'?' NULL"));
    }

    #[test]
    fn each_is_in_the_document() {
        let document = include_str!("../../../docs/differences-to-mariadb.md");
        let for_mysql = include_str!("../../../docs/differences-to-mysql.md");
        for (document, all) in [(document, KNOWN_DIFFERENCES), (for_mysql, KNOWN_TO_MYSQL)] {
            for known in all {
                assert!(
                    document.contains(&format!("## {}\n", known.name)),
                    "{} is not explained",
                    known.name
                );
            }
        }
    }
}
