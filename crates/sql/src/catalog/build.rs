//! From a CREATE TABLE statement to a definition: everything that MySQL checks before it makes a
//! table.
//!
//! The result is a function of the statement, the database's collation, the sql_mode and the
//! numbers given: the same when the statement is executed, when it is replayed from the log, and
//! when the catalog's text of it is read at a start.

use storage::TreeId;

use super::draft::Draft;
use super::table::{ColumnDef, TableDef};
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Collation};
use datum::value::temporal::DateRules;
use datum::value::zone::Zone;
use syntax::ast::{self, TableDefinition, TableOption};

/// The name of the primary key that a table without one gets.
pub(crate) const GENERATED_KEY: &str = "my_row_id";

/// The comment of such a column where nobody has asked for it: clients are not shown it, though the
/// log and the catalog's text have it. Other servers' replicas have it as an invisible column.
pub(crate) const ROW_ID_COMMENT: &str = "row identity of a table without primary key";

/// The comment of a column that has the values of an index's expression: clients are shown the
/// expression instead.
pub(crate) const KEY_PART_COMMENT: &str = "values of an index's expression";

/// What a definition depends on besides its text.
#[derive(Debug, Clone, Copy)]
pub struct Environment {
    /// The database's collation.
    pub collation: Collation,
    /// The character set that the statement's literals are written in.
    pub charset: Charset,
    /// The character set that they have as values: the connection's.
    pub connection: Charset,
    /// Which default dates are allowed.
    pub dates: DateRules,
    /// TIME_TRUNCATE_FRACTIONAL: defaults are cut, not rounded.
    pub truncate_fraction: bool,
    /// The session's time zone, for the defaults of TIMESTAMP columns.
    pub zone: Zone,
    /// A client sends the definition, so that what MySQL would refuse is refused; what a log or a
    /// catalog has is not judged again.
    pub from_client: bool,
    /// `sql_generate_invisible_primary_key`: a key that is generated is shown.
    pub shows_generated_key: bool,
    /// `explicit_defaults_for_timestamp`: a TIMESTAMP column that says neither NULL nor a default
    /// is one like any other.
    pub explicit_timestamps: bool,
    /// The sql_mode is strict: TEXT and BLOB can't even have the empty text for a default.
    pub strict: bool,
}

/// The numbers a table gets.
#[derive(Debug, Clone)]
pub struct Numbers {
    /// Its `id`, for table map events.
    pub table: u64,
    /// The trees of its indexes.
    pub trees: Trees,
}

/// The trees of a table's indexes.
#[derive(Debug, Clone)]
pub enum Trees {
    /// From this one on, in the order of the indexes.
    From(u32),
    /// One for each index.
    These(Vec<TreeId>),
}

impl Trees {
    fn of(&self, index: usize) -> TreeId {
        match self {
            Trees::From(first) => TreeId(first.saturating_add(index as u32)),
            // One too few is found out when the schema is made of them.
            Trees::These(trees) => trees.get(index).copied().unwrap_or(TreeId(0)),
        }
    }
}

/// Makes a definition. `selected` are the columns of the query of a CREATE TABLE .. SELECT: those
/// that the definition names too are as it has them, and all stand after those that only it has.
pub fn build(
    database: &str,
    name: &str,
    definition: &TableDefinition,
    selected: &[ColumnDef],
    environment: Environment,
    numbers: Numbers,
) -> Result<TableDef> {
    refuse_unsupported(definition)?;
    let collation = table_collation(&definition.options, environment.collation)?;
    let mut draft = Draft::new(collation, environment);
    definition.columns.iter().try_for_each(|column| draft.add_column(column))?;
    draft.add_selected(selected)?;
    definition.keys.iter().try_for_each(|key| draft.add_key(key))?;
    for column in &definition.columns {
        if let Some(references) = &column.attributes.references {
            draft.add_reference(&column.name, references, database)?;
        }
    }
    definition.foreign_keys.iter().try_for_each(|key| draft.add_foreign_key(key, database))?;
    definition.checks.iter().try_for_each(|check| draft.add_check(check, None))?;
    let options = Options::read(&definition.options)?;
    let trees = numbers.trees.clone();
    Ok(draft.finish(database, name, options, numbers, |_, place| trees.of(place))?.table)
}

fn refuse_unsupported(definition: &TableDefinition) -> Result<()> {
    match definition.partitioning.is_some() {
        true => Err(SqlError::unsupported("partitioned tables")),
        false => Ok(()),
    }
}

pub(super) fn table_collation(options: &[TableOption], default: Collation) -> Result<Collation> {
    let mut words = ast::Charset::default();
    for option in options {
        match option {
            TableOption::Charset(name) => words.charset = Some(name.clone()),
            TableOption::Collation(name) => words.collation = Some(name.clone()),
            _ => {}
        }
    }
    datum::types::resolve_collation(&words, default)
}

const IDENTIFIER_MAX: usize = 64;

/// Checks the length and form of a name that is to be given.
pub(crate) fn check_name(name: &str, wrong: error::Code) -> Result<()> {
    if name.chars().count() > IDENTIFIER_MAX {
        return Err(error::TOO_LONG_IDENT.with(&[&name]));
    }
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(wrong.with(&[&name]));
    }
    Ok(())
}

/// The same for a CHECK constraint, whose name MySQL lets end with blanks.
pub(crate) fn check_constraint_name(name: &str) -> Result<()> {
    if name.chars().count() > IDENTIFIER_MAX {
        return Err(error::TOO_LONG_IDENT.with(&[&name]));
    }
    match name.contains('\0') {
        true => Err(error::WRONG_NAME_FOR_INDEX.with(&[&name])),
        false => Ok(()),
    }
}

/// Table options that mean something, or are shown again.
#[derive(Debug, Clone)]
pub struct Options {
    /// AUTO_INCREMENT, 1 if nothing is said.
    pub auto_increment: u64,
    pub(crate) comment: String,
    /// The others that are kept, as they are shown.
    pub shown: String,
}

impl Options {
    fn read(options: &[TableOption]) -> Result<Options> {
        let mut read = Options { auto_increment: 1, comment: String::new(), shown: String::new() };
        read.change(options)?;
        Ok(read)
    }

    /// Those of a table.
    pub(crate) fn of(table: &TableDef) -> Options {
        let (comment, shown) = (table.comment.clone(), table.options.clone());
        Options { auto_increment: table.auto_start, comment, shown }
    }

    /// Changes what is named.
    pub(crate) fn change(&mut self, options: &[TableOption]) -> Result<()> {
        let read = self;
        for option in options {
            match option {
                TableOption::AutoIncrement(n) => read.auto_increment = (*n).max(1),
                TableOption::Comment(text) => read.comment = text.to_str_lossy().into_owned(),
                TableOption::RowFormat(word) => {
                    let format = word.to_ascii_uppercase();
                    read.show("ROW_FORMAT", (format != "DEFAULT").then_some(format));
                }
                TableOption::Number(name, n) => read.show(name, n.map(|n| n.to_string())),
                TableOption::Union(_) | TableOption::Tablespace(_) => {
                    return Err(SqlError::unsupported("this table option"));
                }
                TableOption::Text(name, _) if name.is("ENCRYPTION") || name.is("DATA DIRECTORY") => {
                    return Err(SqlError::unsupported(format_args!("the table option {name}")));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Keeps an option's value, or forgets it.
    fn show(&mut self, name: &str, value: Option<String>) {
        let is_other = |word: &&str| word.split_once('=').is_none_or(|(n, _)| n != name);
        let mut words: Vec<String> =
            self.shown.split_whitespace().filter(is_other).map(str::to_owned).collect();
        words.extend(value.map(|v| format!("{name}={v}")));
        self.shown = words.iter().map(|word| format!(" {word}")).collect();
    }
}
