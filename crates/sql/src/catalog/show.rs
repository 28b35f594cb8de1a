//! Definitions as SQL: the text of SHOW CREATE, which is also what the catalog keeps of a table.

use std::fmt::Write;

use storage::schema::KeyPart;

use super::foreign_key::ForeignKeyDef;
use super::table::{CheckDef, ColumnDef, Default, IndexDef, TableDef};
use crate::variables::sql_mode;
use datum::types::{Charset, Collation, DataType};
use datum::value::zone::Zone;
use datum::value::{Datum, store, text};
use syntax::ast::{GENERATED_MARK, ReferenceAction};

/// A name in backquotes.
pub(crate) fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

pub(crate) fn quote_text(text: &str) -> String {
    let mut out = Vec::new();
    store::quoted(&Datum::borrowed(text.as_bytes()), &mut out);
    String::from_utf8(out).expect("quoting keeps UTF-8")
}

/// A text in quotes, for a reader whose `sql_mode` this is: without backslash escapes only quotes
/// are doubled.
pub(crate) fn quote_text_for(text: &str, sql_mode: u64) -> String {
    match sql_mode & sql_mode::NO_BACKSLASH_ESCAPES {
        0 => quote_text(text),
        _ => format!("'{}'", text.replace('\'', "''")),
    }
}

/// Whom a definition's text is for.
#[derive(Clone, Copy)]
struct Reader {
    /// Of time stamps.
    zone: Zone,
    kind: ReaderKind,
}

/// Who reads a definition's text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ReaderKind {
    /// The catalog, the log: what they read has to be what was written.
    Server,
    /// Somebody who asks SHOW CREATE, with MySQL's digits.
    Client,
}

/// The text of CREATE TABLE, whole. `auto_increment` is the value shown; `zone` that of the reader,
/// for time stamps.
pub fn create_table(table: &TableDef, auto_increment: u64, zone: Zone) -> String {
    let reader = Reader { zone, kind: ReaderKind::Server };
    let columns = (0..table.columns.len()).map(|number| column_of(table, number, reader));
    let keys = table.indexes.iter().map(|index| {
        let mark = if index.generated { GENERATED_MARK } else { "" };
        key(table, index, false) + mark
    });
    text_of_table(table, columns.chain(keys).collect(), auto_increment)
}

/// The text of CREATE TABLE as clients are shown it.
pub fn shown_table(table: &TableDef, zone: Zone) -> String {
    let reader = Reader { zone, kind: ReaderKind::Client };
    let columns = table.shown_columns().map(|(number, _)| column_of(table, number, reader));
    let keys = table.shown_indexes().map(|index| key(table, index, true));
    let text = text_of_table(table, columns.chain(keys).collect(), table.shown_counter().unwrap_or(0));
    if table.is_temporary() { text.replacen("CREATE", "CREATE TEMPORARY", 1) } else { text }
}

/// The text of CREATE TABLE for a table of the server's own, which has no keys.
pub fn system_table(name: &str, columns: &[ColumnDef], collation: Collation, engine: &str) -> String {
    let reader = Reader { zone: Zone::UTC, kind: ReaderKind::Client };
    let lines: Vec<_> = columns.iter().map(|c| column(c, collation, false, reader)).collect();
    let (name, charset) = (quote(name), collation.charset().name());
    let lines = lines.join(",\n  ");
    format!(
        "CREATE TABLE {name} (\n  {lines}\n) ENGINE={engine} DEFAULT CHARSET={charset} COLLATE={}",
        collation.name()
    )
}

fn text_of_table(table: &TableDef, mut lines: Vec<String>, auto_increment: u64) -> String {
    lines.extend(table.foreign_keys.iter().map(|key| foreign_key(table, key)));
    lines.extend(table.checks.iter().map(check));
    let mut out =
        format!("CREATE TABLE {} (\n  {}\n) ENGINE=InnoDB", quote(&table.name), lines.join(",\n  "));
    if auto_increment > 1 {
        out += &format!(" AUTO_INCREMENT={auto_increment}");
    }
    out += &format!(" DEFAULT CHARSET={}", table.collation.charset().name());
    if !table.collation.is_default() || table.collation.charset() == Charset::Utf8mb4 {
        out += &format!(" COLLATE={}", table.collation.name());
    }
    out += &table.options;
    if !table.comment.is_empty() {
        out += &format!(" COMMENT={}", quote_text(&table.comment));
    }
    out
}

/// A FOREIGN KEY as CREATE TABLE and errors 1451 and 1452 have it.
pub(crate) fn foreign_key(table: &TableDef, key: &ForeignKeyDef) -> String {
    let columns = key.columns.iter().map(|&column| table.columns[column].name.as_str());
    let parent = match key.parent.database == table.database {
        true => quote(&key.parent.name),
        false => format!("{}.{}", quote(&key.parent.database), quote(&key.parent.name)),
    };
    let mut out = format!(
        "CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {parent} ({})",
        quote(&key.name),
        quoted(columns),
        quoted(key.parent_columns.iter().map(String::as_str)),
    );
    for (clause, action) in [("DELETE", key.on_delete), ("UPDATE", key.on_update)] {
        if action != ReferenceAction::NoAction {
            out += &format!(" ON {clause} {}", action_words(action));
        }
    }
    out
}

/// A referential action, as information_schema has it too.
pub(crate) fn action_words(action: ReferenceAction) -> &'static str {
    match action {
        ReferenceAction::Restrict => "RESTRICT",
        ReferenceAction::Cascade => "CASCADE",
        ReferenceAction::SetNull => "SET NULL",
        ReferenceAction::NoAction => "NO ACTION",
        ReferenceAction::SetDefault => "SET DEFAULT",
    }
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.map(quote).collect::<Vec<_>>().join(", ")
}

fn check(check: &CheckDef) -> String {
    let not = if check.enforced { "" } else { " /*!80016 NOT ENFORCED */" };
    format!("CONSTRAINT {} CHECK ({}){not}", quote(&check.name), check.expr)
}

fn column_of(table: &TableDef, number: usize, reader: Reader) -> String {
    let automatic = table.auto_column == Some(number);
    column(&table.columns[number], table.collation, automatic, reader)
}

/// `of_table` is the table's collation.
fn column(column: &ColumnDef, of_table: Collation, automatic: bool, reader: Reader) -> String {
    let mut out = format!("{} {}", quote(&column.name), column.ty);
    if column.ty.names_charset() {
        out += &column_charset(column.ty.collation(), of_table);
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        write!(out, " GENERATED ALWAYS AS ({}) {kind}", generated.expr)
            .expect("writing to a String cannot fail");
    }
    if !column.nullable {
        out += " NOT NULL";
    } else if matches!(column.ty, DataType::Timestamp(_)) {
        out += " NULL";
    }
    if let Some(default) = default_text(column, reader)
        && column.generated.is_none()
        && !(matches!(column.ty, DataType::Lob { .. }) && default == "NULL")
    {
        out += &format!(" DEFAULT {default}");
    }
    if column.on_update_now {
        out += &format!(" ON UPDATE {}", now_text(&column.ty));
    }
    if automatic {
        out += " AUTO_INCREMENT";
    }
    if !column.visible {
        out += " /*!80023 INVISIBLE */";
    }
    if !column.comment.is_empty() {
        out += &format!(" COMMENT {}", quote_text(&column.comment));
    }
    out
}

fn column_charset(of: Collation, table: Collation) -> String {
    if of != table {
        return format!(" CHARACTER SET {} COLLATE {}", of.charset().name(), of.name());
    }
    if of.is_default() { String::new() } else { format!(" COLLATE {}", of.name()) }
}

fn now_text(ty: &DataType) -> String {
    match ty.decimals() {
        0 => "CURRENT_TIMESTAMP".to_owned(),
        fsp => format!("CURRENT_TIMESTAMP({fsp})"),
    }
}

/// The default as it stands after DEFAULT; `None` if there is none.
fn default_text(column: &ColumnDef, reader: Reader) -> Option<String> {
    let value = match &column.default {
        Default::None => return None,
        Default::Now => return Some(now_text(&column.ty)),
        Default::Expression(text) => return Some(format!("({text})")),
        Default::Value(value) => value,
    };
    Some(match (value, &column.ty) {
        (Datum::Null, _) => "NULL".to_owned(),
        (Datum::UInt(bits), DataType::Bit(_)) => format!("b'{bits:b}'"),
        // All its digits, where clients are shown six; as a DOUBLE, for the shortest text of the
        // largest FLOAT is beyond it.
        (Datum::Float(value), DataType::Floating { digits: None, .. })
            if reader.kind == ReaderKind::Server =>
        {
            format!("'{:?}'", f64::from(*value))
        }
        _ => {
            let value = default_value(column, value, reader.zone);
            if let Datum::Bytes(bytes) = &value
                && !is_text(bytes, column)
            {
                return Some(hexadecimal(bytes));
            }
            let mut out = Vec::new();
            store::quoted(&value, &mut out);
            String::from_utf8_lossy(&out).into_owned()
        }
    })
}

/// MySQL has definitions in utf8mb3; characters beyond that are text in columns of characters only.
fn is_text(bytes: &[u8], column: &ColumnDef) -> bool {
    let charset = if column.ty.is_character() { Charset::Utf8mb4 } else { Charset::Utf8mb3 };
    charset.valid_prefix(bytes) == bytes.len()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold("0x".to_owned(), |hex, byte| hex + &format!("{byte:02X}"))
}

/// The default's value as it is read: in the reader's time zone, in UTF-8, with as many digits as
/// the column shows, and with the zeros of ZEROFILL.
fn default_value<'a>(column: &ColumnDef, value: &'a Datum<'static>, zone: Zone) -> Datum<'a> {
    match (value, &column.ty) {
        (Datum::Double(_) | Datum::Float(_), ty @ DataType::Floating { digits: Some((_, decimals)), .. }) => {
            let mut out = Vec::new();
            text::write_fixed(value.to_f64().value, *decimals, &mut out);
            let width = if ty.is_zerofill() { ty.display_length() as usize } else { 0 };
            Datum::Bytes(text::zero_filled(out.into(), width).into_owned().into())
        }
        (value, ty) if ty.is_zerofill() && !value.is_null() => {
            let digits = text::zero_filled(value.to_bytes(), ty.display_length() as usize);
            Datum::Bytes(digits.into_owned().into())
        }
        (Datum::DateTime(utc), DataType::Timestamp(_)) if !utc.is_zero() => Datum::DateTime(zone.show(*utc)),
        (Datum::Bytes(text) | Datum::Label(_, text), ty) if ty.is_character() => {
            Datum::Bytes(ty.collation().charset().convert(text[..].into(), Charset::Utf8mb4).0)
        }
        _ => value.borrow(),
    }
}

/// An expression as SHOW and information_schema have it: quotes and what escapes them are escaped
/// there, and only there.
pub(crate) fn plain_expression(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\'', "\\'")
}

/// The default as SHOW COLUMNS has it: bare.
pub(crate) fn plain_default(column: &ColumnDef, zone: Zone) -> Option<String> {
    match &column.default {
        Default::None | Default::Value(Datum::Null) => None,
        Default::Now => Some(now_text(&column.ty)),
        Default::Expression(text) => Some(plain_expression(text)),
        Default::Value(Datum::UInt(bits)) if matches!(column.ty, DataType::Bit(_)) => {
            Some(format!("b'{bits:b}'"))
        }
        // A byte string has no characters. MySQL shows it up to the first zero byte.
        Default::Value(Datum::Bytes(bytes)) if column.ty.collation() == Collation::BINARY => {
            if bytes.is_empty() {
                return Some(String::new());
            }
            Some(hexadecimal(bytes.split(|byte| *byte == 0).next().unwrap_or_default()))
        }
        Default::Value(value) => {
            let value = default_value(column, value, zone);
            Some(String::from_utf8_lossy(&value.to_bytes()).into_owned())
        }
    }
}

/// A key as CREATE TABLE has it; clients are `shown` the expressions of hidden columns.
fn key(table: &TableDef, index: &IndexDef, shown: bool) -> String {
    let parts: Vec<String> = index.parts.iter().map(|part| key_part(table, part, shown)).collect();
    let parts = parts.join(",");
    let mut out = match (index.name.as_str(), index.unique) {
        ("PRIMARY", _) => format!("PRIMARY KEY ({parts})"),
        (name, true) => format!("UNIQUE KEY {} ({parts})", quote(name)),
        (name, false) => format!("KEY {} ({parts})", quote(name)),
    };
    if !index.comment.is_empty() {
        out += &format!(" COMMENT {}", quote_text(&index.comment));
    }
    if !index.visible {
        out += " /*!80000 INVISIBLE */";
    }
    out
}

fn key_part(table: &TableDef, part: &KeyPart, shown: bool) -> String {
    let column = &table.columns[part.column];
    let mut out = match column.key_expression().filter(|_| shown) {
        Some(expression) => format!("({expression})"),
        None => quote(&column.name),
    };
    if let Some(length) = part.prefix_len {
        out += &format!("({length})");
    }
    if part.descending {
        out += " DESC";
    }
    out
}

/// The text of CREATE DATABASE.
pub(crate) fn create_database(name: &str, collation: Collation, if_not_exists: bool) -> String {
    let condition = if if_not_exists { "/*!32312 IF NOT EXISTS*/ " } else { "" };
    let charset = collation.charset();
    let collate = if !collation.is_default() || charset == Charset::Utf8mb4 {
        format!(" COLLATE {}", collation.name())
    } else {
        String::new()
    };
    format!(
        "CREATE DATABASE {condition}{} /*!40100 DEFAULT CHARACTER SET {}{collate} */ \
         /*!80016 DEFAULT ENCRYPTION='N' */",
        quote(name),
        charset.name()
    )
}
