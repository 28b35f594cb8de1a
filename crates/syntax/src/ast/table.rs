//! Databases, tables, indexes and views: their definitions and their changes.

use super::{Account, ColumnName, DataType, Expr, Ident, ObjectName, Query, Span, Text};

#[derive(Debug, Clone, PartialEq)]
pub struct CreateDatabase {
    pub name: Ident,
    pub if_not_exists: bool,
    pub options: DatabaseOptions,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct DatabaseOptions {
    pub charset: Option<Ident>,
    pub collation: Option<Ident>,
    /// `ENCRYPTION = 'Y'`
    pub encryption: Option<Text>,
    /// `READ ONLY = 1`, ALTER only.
    pub read_only: Option<bool>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateTable {
    pub name: ObjectName,
    pub temporary: bool,
    pub if_not_exists: bool,
    pub content: TableContent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum TableContent {
    Like(ObjectName),
    Definition(TableDefinition),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct TableDefinition {
    pub columns: Vec<ColumnDefinition>,
    /// Table-level ones; those written after a column are in its attributes.
    pub keys: Vec<KeyDefinition>,
    pub foreign_keys: Vec<ForeignKey>,
    pub checks: Vec<Check>,
    pub options: Vec<TableOption>,
    pub partitioning: Option<Box<Partitioning>>,
    /// START TRANSACTION: its rows follow in the log.
    pub start_transaction: bool,
    /// CREATE TABLE .. SELECT
    pub query: Option<Box<TableQuery>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TableQuery {
    pub duplicates: super::LoadDuplicates,
    pub query: Query,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ColumnDefinition {
    pub name: Ident,
    pub ty: DataType,
    pub attributes: ColumnAttributes,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ColumnAttributes {
    /// `NULL` or `NOT NULL`, if said; the last one counts.
    pub nullable: Option<bool>,
    pub default: Option<ColumnDefault>,
    /// `ON UPDATE CURRENT_TIMESTAMP(precision)`
    pub on_update_now: Option<u32>,
    pub auto_increment: bool,
    pub key: Option<ColumnKey>,
    pub comment: Option<Text>,
    pub generated: Option<Generated>,
    pub checks: Vec<Check>,
    /// Parsed and ignored, as InnoDB does with a column's own REFERENCES.
    pub references: Option<Box<References>>,
    /// `INVISIBLE` is false.
    pub visible: Option<bool>,
    pub srid: Option<u32>,
    pub column_format: Option<ColumnFormat>,
    /// `STORAGE DISK`, `STORAGE MEMORY`
    pub storage: Option<Ident>,
    pub engine_attribute: Option<Text>,
    pub secondary_engine_attribute: Option<Text>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum ColumnDefault {
    /// A literal, a signed number or `NULL`.
    Literal(Expr),
    /// `CURRENT_TIMESTAMP(precision)` and its synonyms.
    Now(u32),
    /// `(expression)`, in parentheses.
    Expression(Expr),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKey {
    Primary,
    Unique,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnFormat {
    Fixed,
    Dynamic,
    Default,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    pub expr: Expr,
    pub stored: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Check {
    pub name: Option<Ident>,
    pub expr: Expr,
    pub enforced: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct KeyDefinition {
    pub kind: KeyKind,
    /// The index's name, or the constraint's (`CONSTRAINT name UNIQUE ..`) where only that was
    /// given.
    pub name: Option<Ident>,
    pub parts: Vec<KeyPart>,
    pub options: IndexOptions,
    /// A foreign key made it ([`GENERATED_MARK`]).
    pub generated: bool,
}

/// What the server's own texts have after a key that a foreign key made: such a key gives way to
/// one that does its work. Others read a comment.
pub const GENERATED_MARK: &str = " /* made by a foreign key */";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyKind {
    Primary,
    Unique,
    Index,
    Fulltext,
    Spatial,
}

#[derive(Debug, Clone, PartialEq)]
pub enum KeyPart {
    Column { name: Ident, length: Option<u32>, descending: bool },
    Expression { expr: Expr, descending: bool },
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct IndexOptions {
    pub algorithm: Option<IndexAlgorithm>,
    pub key_block_size: Option<u64>,
    pub parser: Option<Ident>,
    pub comment: Option<Text>,
    pub visible: Option<bool>,
    pub engine_attribute: Option<Text>,
    pub secondary_engine_attribute: Option<Text>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum IndexAlgorithm {
    Btree,
    Hash,
    Rtree,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ForeignKey {
    /// `CONSTRAINT name`
    pub name: Option<Ident>,
    /// The name after FOREIGN KEY: that of the key which is made for it, where the constraint has
    /// none.
    pub index: Option<Ident>,
    pub columns: Vec<Ident>,
    pub references: References,
}

#[derive(Debug, Clone, PartialEq)]
pub struct References {
    pub table: ObjectName,
    /// Empty: the primary key's.
    pub columns: Vec<Ident>,
    pub matching: Option<ForeignKeyMatch>,
    pub on_delete: Option<ReferenceAction>,
    pub on_update: Option<ReferenceAction>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForeignKeyMatch {
    Full,
    Partial,
    Simple,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// Options in the order given; the last one of a kind counts.
#[derive(Debug, Clone, PartialEq)]
pub enum TableOption {
    Engine(EngineName),
    SecondaryEngine(Option<Ident>),
    Charset(Ident),
    Collation(Ident),
    AutoIncrement(u64),
    Comment(Text),
    RowFormat(Ident),
    Union(Vec<ObjectName>),
    Tablespace(Ident),
    /// Any other with a number: AVG_ROW_LENGTH, CHECKSUM, KEY_BLOCK_SIZE, MAX_ROWS,
    /// STATS_PERSISTENT, ...; `None` is `DEFAULT`. The name is upper case.
    Number(Ident, Option<u64>),
    /// Any other with a text: COMPRESSION, CONNECTION, DATA DIRECTORY, ENCRYPTION, PASSWORD,
    /// ENGINE_ATTRIBUTE, ...; the name is upper case.
    Text(Ident, Text),
    /// Any other with a word: INSERT_METHOD, STORAGE; the name is upper case.
    Word(Ident, Ident),
}

impl TableOption {
    /// The engine that it names.
    pub fn engine(&self) -> Option<&EngineName> {
        match self {
            TableOption::Engine(engine) => Some(engine),
            _ => None,
        }
    }
}

/// An engine, as a table names it.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineName {
    pub name: Ident,
    /// Where it stands, with its quotes.
    pub span: Span,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Partitioning {
    pub by: PartitionBy,
    pub partitions: Option<u64>,
    pub sub: Option<SubPartitioning>,
    pub definitions: Vec<PartitionDefinition>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionBy {
    Hash { linear: bool, expr: Expr },
    Key { linear: bool, algorithm: Option<u64>, columns: Vec<Ident> },
    Range(Expr),
    RangeColumns(Vec<Ident>),
    List(Expr),
    ListColumns(Vec<Ident>),
}

#[derive(Debug, Clone, PartialEq)]
pub struct SubPartitioning {
    pub by: PartitionBy,
    pub partitions: Option<u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct PartitionDefinition {
    pub name: Ident,
    pub values: PartitionValues,
    pub options: Vec<TableOption>,
    pub sub: Vec<(Ident, Vec<TableOption>)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum PartitionValues {
    None,
    /// `None` in the list is `MAXVALUE`.
    LessThan(Vec<Option<Expr>>),
    /// One row for each value; a row has several for LIST COLUMNS (a, b).
    In(Vec<Vec<Expr>>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropTable {
    pub names: Vec<ObjectName>,
    pub temporary: bool,
    pub if_exists: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AlterTable {
    pub name: ObjectName,
    pub actions: Vec<AlterAction>,
    pub algorithm: Option<AlterAlgorithm>,
    pub lock: Option<AlterLock>,
    /// `WITH VALIDATION` is true.
    pub validation: Option<bool>,
    /// Where the table's name ends in the text; 0 where another statement means the same.
    pub name_end: u32,
    /// The log's text says that columns are placed in the order of the actions ([`IN_ORDER`]).
    pub in_order: bool,
}

impl AlterTable {
    /// Where FIRST stands in the text.
    pub fn first_words(&self) -> impl Iterator<Item = super::Span> {
        let places = self.actions.iter().flat_map(|action| match action {
            AlterAction::AddColumns(added) => added.iter().map(|(_, place)| place).collect(),
            AlterAction::ChangeColumn { place, .. } => vec![place],
            _ => Vec::new(),
        });
        places.filter_map(|place| match place {
            ColumnPlace::First(word) => Some(*word),
            ColumnPlace::Last | ColumnPlace::After(_) => None,
        })
    }

    /// The engines that it names.
    pub fn engines(&self) -> impl Iterator<Item = &EngineName> {
        let options = self.actions.iter().filter_map(|action| match action {
            AlterAction::Options(options) => Some(options),
            _ => None,
        });
        options.flatten().filter_map(TableOption::engine)
    }
}

/// What the log's text has after the table's name if columns are placed in the order of the
/// actions. Older versions placed those that are changed first, and row events go by the columns'
/// places: their logs must mean what they meant.
pub const IN_ORDER: &str = " /* placed in order */";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlterAlgorithm {
    Default,
    Instant,
    Inplace,
    Copy,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AlterLock {
    Default,
    None,
    Shared,
    Exclusive,
}

#[derive(Debug, Clone, PartialEq)]
pub enum AlterAction {
    AddColumns(Vec<(ColumnDefinition, ColumnPlace)>),
    AddKey(KeyDefinition),
    AddForeignKey(ForeignKey),
    AddCheck(Check),
    /// `CHANGE old definition`; MODIFY is one that keeps the name.
    ChangeColumn {
        old: Ident,
        definition: Box<ColumnDefinition>,
        place: ColumnPlace,
    },
    SetDefault {
        column: Ident,
        default: ColumnDefault,
    },
    DropDefault(Ident),
    SetColumnVisible {
        column: Ident,
        visible: bool,
    },
    DropColumn(Ident),
    DropPrimaryKey,
    DropKey(Ident),
    DropForeignKey(Ident),
    DropCheck(Ident),
    /// `DROP CONSTRAINT name`, of whatever kind.
    DropConstraint(Ident),
    SetCheckEnforced {
        name: Ident,
        /// ALTER CONSTRAINT: errors are those of a constraint of whatever kind.
        any_kind: bool,
        enforced: bool,
    },
    SetIndexVisible {
        name: Ident,
        visible: bool,
    },
    RenameColumn {
        old: Ident,
        new: Ident,
    },
    RenameKey {
        old: Ident,
        new: Ident,
    },
    Rename(ObjectName),
    Options(Vec<TableOption>),
    ConvertCharset {
        charset: Option<Ident>,
        collation: Option<Ident>,
    },
    OrderBy(Vec<super::OrderItem>),
    EnableKeys,
    DisableKeys,
    Force,
    DiscardTablespace,
    ImportTablespace,
    SecondaryLoad,
    SecondaryUnload,
    Partition(AlterPartition),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnPlace {
    Last,
    /// Where the word stands in the text: the log may have another one.
    First(super::Span),
    After(Ident),
}

/// `None` for the names is ALL.
#[derive(Debug, Clone, PartialEq)]
pub enum AlterPartition {
    By(Box<Partitioning>),
    Remove,
    Add { definitions: Vec<PartitionDefinition>, count: Option<u64> },
    Drop(Vec<Ident>),
    Coalesce(u64),
    Truncate(Option<Vec<Ident>>),
    Maintain { verb: PartitionVerb, names: Option<Vec<Ident>> },
    Reorganize { names: Vec<Ident>, into: Vec<PartitionDefinition> },
    Exchange { name: Ident, table: ObjectName, validation: bool },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PartitionVerb {
    Analyze,
    Check,
    Optimize,
    Rebuild,
    Repair,
    DiscardTablespace,
    ImportTablespace,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CreateIndex {
    pub table: ObjectName,
    /// Its name is always given.
    pub key: KeyDefinition,
    pub algorithm: Option<AlterAlgorithm>,
    pub lock: Option<AlterLock>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DropIndex {
    pub table: ObjectName,
    /// `PRIMARY` is the primary key.
    pub name: Ident,
    pub algorithm: Option<AlterAlgorithm>,
    pub lock: Option<AlterLock>,
}

/// CREATE VIEW and ALTER VIEW.
#[derive(Debug, Clone, PartialEq)]
pub struct CreateView {
    pub alter: bool,
    pub or_replace: bool,
    pub if_not_exists: bool,
    pub algorithm: Option<ViewAlgorithm>,
    pub definer: Option<Account>,
    pub security: Option<super::SqlSecurity>,
    pub name: ObjectName,
    pub columns: Vec<Ident>,
    pub query: Query,
    /// The text of the query.
    pub body: Span,
    pub check_option: Option<CheckOption>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ViewAlgorithm {
    Undefined,
    Merge,
    TempTable,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CheckOption {
    Cascaded,
    Local,
}

impl From<Ident> for ColumnName {
    fn from(column: Ident) -> ColumnName {
        ColumnName { database: None, table: None, column }
    }
}
