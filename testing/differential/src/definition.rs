//! What answers say besides their values: the columns' definitions and the warnings, and how those
//! of two servers differ.

use std::collections::BTreeMap;
use std::fmt;

use mysql::consts::ColumnFlags;
use mysql::prelude::Queryable;
use mysql::{Column, Conn};

/// What a server said of an answer.
#[derive(Debug, Clone, Default)]
pub struct Metadata {
    columns: Vec<Definition>,
    warnings: Vec<String>,
}

/// A result column's definition, field by field.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Definition {
    fields: [(&'static str, String); 9],
}

/// Flags of columns that have keys.
const KEYS: &[&str] = &["PRI_KEY_FLAG", "UNIQUE_KEY_FLAG", "MULTIPLE_KEY_FLAG", "PART_KEY_FLAG"];
/// Flags that are not sent to clients, or by one server alone: NUM is the client library's.
const IGNORED: ColumnFlags = ColumnFlags::NUM_FLAG;

impl Definition {
    fn of(column: &Column) -> Self {
        let flags = column.flags() - IGNORED;
        Self {
            fields: [
                ("name", column.name_str().into_owned()),
                ("org_name", column.org_name_str().into_owned()),
                ("table", column.table_str().into_owned()),
                ("org_table", column.org_table_str().into_owned()),
                ("type", format!("{:?}", column.column_type()).replace("MYSQL_TYPE_", "")),
                ("character set", column.character_set().to_string()),
                ("length", column.column_length().to_string()),
                ("flags", format!("{flags:?}").replace("ColumnFlags(", "").replace([')', '"'], "")),
                ("decimals", column.decimals().to_string()),
            ],
        }
    }

    /// The flags but those of keys.
    fn without_keys(&self) -> Vec<&str> {
        self.get("flags").split(" | ").filter(|flag| !KEYS.contains(flag)).collect()
    }

    fn has_keys(&self) -> bool {
        self.get("flags").split(" | ").any(|flag| KEYS.contains(&flag))
    }

    /// The value of a field.
    fn get(&self, field: &str) -> &str {
        self.fields.iter().find(|(name, _)| *name == field).map_or("", |(_, value)| value)
    }
}

impl Metadata {
    /// What is reported of these columns, and by SHOW WARNINGS, which is asked on this connection
    /// if there were any.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn read(columns: &[Column], warnings: u16, conn: &mut Conn) -> mysql::Result<Self> {
        let columns = columns.iter().map(Definition::of).collect();
        let mut metadata = Self { columns, warnings: Vec::new() };
        if warnings > 0 {
            let rows: Vec<(String, u16, String)> = conn.query("SHOW WARNINGS")?;
            metadata.warnings =
                rows.into_iter().map(|(level, code, text)| format!("{level} {code} {text}")).collect();
        }
        Ok(metadata)
    }

    /// How Duramen's differs from the reference's, in words that are the same for the same cause.
    pub fn differences(&self, reference: &Metadata, sql: &str) -> Vec<String> {
        let mut out = Vec::new();
        // 11. SHOW and information_schema.
        let is_system = sql.starts_with("SHOW ") || sql.contains("information_schema.");
        let columns = if is_system { &[][..] } else { &self.columns[..] };
        for (ours, theirs) in columns.iter().zip(&reference.columns) {
            for ((field, a), (_, b)) in ours.fields.iter().zip(&theirs.fields) {
                if a != b && !is_explained(field, ours, theirs) && !is_of_made_table(field, sql) {
                    out.push(described(field, a, b, ours));
                }
            }
        }
        let codes = |metadata: &Metadata| -> BTreeMap<String, usize> {
            let mut counts = BTreeMap::new();
            for warning in &metadata.warnings {
                let code = warning.split(' ').take(2).collect::<Vec<_>>().join(" ");
                *counts.entry(code).or_default() += 1;
            }
            counts
        };
        let (ours, theirs) = (codes(self), codes(reference));
        for code in ours.keys().chain(theirs.keys()) {
            let said = match (ours.contains_key(code), theirs.contains_key(code)) {
                (true, false) => format!("{code} is told here only"),
                (false, true) => format!("{code} is not told here"),
                _ if ours[code] != theirs[code] => format!("{code} is told another number of times"),
                _ => continue,
            };
            if !out.contains(&said) {
                out.push(said);
            }
        }
        if ours == theirs && self.warnings != reference.warnings {
            out.push("texts of warnings".to_owned());
        }
        out
    }
}

/// The difference without the numbers that it has by chance.
fn described(field: &str, ours: &str, theirs: &str, column: &Definition) -> String {
    match field {
        "length" => {
            let order =
                if ours.parse::<u64>().ok() > theirs.parse::<u64>().ok() { "longer" } else { "shorter" };
            format!("{field} of {}: {order} here", column.get("type"))
        }
        "name" | "org_name" | "table" | "org_table" => {
            let is_empty = |text: &str| if text.is_empty() { "none" } else { "one" };
            format!("{field}: {} here, {} there", is_empty(ours), is_empty(theirs))
        }
        _ => format!("{field}: {ours} here, {theirs} there"),
    }
}

/// 10. The fields that MySQL reports of the tables that it makes for such a query.
fn is_of_made_table(field: &str, sql: &str) -> bool {
    let makes = [" GROUP BY ", "SELECT DISTINCT ", " UNION ", " EXCEPT ", " INTERSECT ", "FROM (SELECT "];
    matches!(field, "org_name" | "org_table" | "table" | "flags")
        && makes.iter().any(|word| sql.contains(word))
}

/// What `docs/differences-to-mysql.md` explains under "Column definitions".
fn is_explained(field: &str, ours: &Definition, theirs: &Definition) -> bool {
    let both = |name: &str, is: fn(&str) -> bool| is(ours.get(name)) && is(theirs.get(name));
    match field {
        // 9. The length of what is longer than any column.
        "length" if both("length", |length| length.parse::<u64>().is_ok_and(|n| n >= 65_535)) => true,
        // 10. MySQL reports columns of the temporary tables that it makes.
        "org_name" | "type" | "length" | "flags" | "decimals"
            if theirs.get("org_table").is_empty() && !theirs.get("org_name").is_empty() =>
        {
            true
        }
        "flags" if ours.without_keys() == theirs.without_keys() => !theirs.has_keys(),
        _ => false,
    }
}

/// All differences of a run, by their words, with how often they were met and where first.
#[derive(Debug, Default)]
pub struct Differences(BTreeMap<String, (u64, String)>);

impl Differences {
    /// Counts the differences of an answer.
    pub fn add(&mut self, found: Vec<String>, sql: &str) {
        for words in found {
            self.0.entry(words).or_insert_with(|| (0, sql.to_owned())).0 += 1;
        }
    }
}

impl Differences {
    /// How often definitions of columns differed, and how often warnings.
    pub fn totals(&self) -> (u64, u64) {
        let is_warning = |words: &str| {
            ["Warning ", "Note ", "Error ", "texts of warnings"].iter().any(|kind| words.starts_with(kind))
        };
        self.0.iter().fold((0, 0), |(columns, warnings), (words, (count, _))| match is_warning(words) {
            true => (columns, warnings + count),
            false => (columns + count, warnings),
        })
    }
}

/// A numbered list, what was met most first.
impl fmt::Display for Differences {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (i, (words, (count, sql))) in all.into_iter().enumerate() {
            let shown: String = sql.chars().take(300).collect();
            writeln!(f, "{:>4}. {count:>8}  {words}\n        {shown}", i + 1)?;
        }
        Ok(())
    }
}
