//! From a CREATE TABLE statement to a definition: everything that MySQL checks before it makes a table.
//!
//! The result is a function of the statement, the database's collation, the sql_mode and the numbers given: the same when
//! the statement is executed, when it is replayed from the log, and when the catalog's text of it is read at a start.

use std::sync::Arc;

use storage::TreeId;
use storage::schema::{Column, IndexDefinition, KeyPart, TableSchema};

use super::auto_increment::Counter;
use super::collations::KeyCollations;
use super::table::{ColumnDef, Default, IndexDef, TableDef};
use crate::ast::{
    self, ColumnDefault, ColumnKey, ExprKind, KeyDefinition, KeyKind, TableDefinition, TableOption,
};
use crate::error::{self, Diagnostics, Result, SqlError};
use crate::types::data_type::ROW_SIZE_MAX;
use crate::types::{Charset, Collation, DataType};
use crate::value::temporal::DateRules;
use crate::value::zone::Zone;
use crate::value::{Datum, store};

/// The name of the primary key that a table without one gets.
pub const GENERATED_KEY: &str = "my_row_id";

/// What a definition depends on besides its text.
#[derive(Debug, Clone, Copy)]
pub struct Environment {
    /// The database's collation.
    pub collation: Collation,
    /// The character set of the statement's literals.
    pub charset: Charset,
    /// Which default dates are allowed.
    pub dates: DateRules,
    /// The session's time zone, for the defaults of TIMESTAMP columns.
    pub zone: Zone,
}

/// The numbers a new table gets.
#[derive(Debug, Clone, Copy)]
pub struct Numbers {
    /// The table's.
    pub table: u64,
    /// The primary key's tree; the other indexes' follow.
    pub tree: u32,
}

/// Makes a definition.
pub fn build(
    database: &str,
    name: &str,
    definition: &TableDefinition,
    environment: Environment,
    numbers: Numbers,
) -> Result<TableDef> {
    refuse_unsupported(definition)?;
    let collation = table_collation(&definition.options, environment.collation)?;
    let mut draft =
        Draft { collation, environment, columns: Vec::new(), keys: Vec::new(), auto_column: None };
    for column in &definition.columns {
        draft.column(column)?;
    }
    definition.keys.iter().try_for_each(|key| draft.key(key))?;
    draft.generate_key()?;
    draft.finish(database, name, &definition.options, numbers)
}

fn refuse_unsupported(definition: &TableDefinition) -> Result<()> {
    let refused = if definition.partitioning.is_some() {
        "partitioned tables"
    } else if !definition.foreign_keys.is_empty() {
        "foreign keys"
    } else if !definition.checks.is_empty()
        || definition.columns.iter().any(|c| !c.attributes.checks.is_empty())
    {
        "CHECK constraints"
    } else if definition.query.is_some() {
        "CREATE TABLE .. SELECT"
    } else if definition.columns.iter().any(|c| c.attributes.generated.is_some()) {
        "generated columns"
    } else {
        return Ok(());
    };
    Err(SqlError::unsupported(refused))
}

fn table_collation(options: &[TableOption], default: Collation) -> Result<Collation> {
    let mut words = ast::Charset::default();
    for option in options {
        match option {
            TableOption::Charset(name) => words.charset = Some(name.clone()),
            TableOption::Collation(name) => words.collation = Some(name.clone()),
            _ => {}
        }
    }
    crate::types::data_type::resolve_collation(&words, default)
}

/// A definition in the making.
struct Draft {
    collation: Collation,
    environment: Environment,
    columns: Vec<ColumnDef>,
    keys: Vec<IndexDef>,
    auto_column: Option<usize>,
}

const IDENTIFIER_MAX: usize = 64;
const COLUMNS_MAX: usize = 1017;
const KEYS_MAX: usize = 64;
/// Bytes of one key, as InnoDB counts.
const KEY_BYTES_MAX: u32 = 3072;

/// Checks the length and form of a name that is to be given.
pub fn check_name(name: &str, wrong: error::Code) -> Result<()> {
    if name.chars().count() > IDENTIFIER_MAX {
        return Err(error::TOO_LONG_IDENT.with(&[&name]));
    }
    if name.is_empty() || name.ends_with(' ') || name.contains('\0') {
        return Err(wrong.with(&[&name]));
    }
    Ok(())
}

impl Draft {
    fn column(&mut self, ast: &ast::ColumnDefinition) -> Result<()> {
        let name = ast.name.as_str();
        check_name(name, error::WRONG_COLUMN_NAME)?;
        if self.columns.iter().any(|c| c.name.eq_ignore_ascii_case(name)) {
            return Err(error::DUP_FIELDNAME.with(&[&name]));
        }
        if self.columns.len() >= COLUMNS_MAX {
            return Err(error::TOO_MANY_FIELDS.plain());
        }
        let attributes = &ast.attributes;
        let ty = DataType::resolve(&ast.ty, name, self.collation)?;
        if attributes.srid.is_some() {
            return Err(SqlError::unsupported("spatial columns"));
        }
        let number = self.columns.len();
        if attributes.auto_increment {
            if !matches!(ty, DataType::Integer { .. }) {
                return Err(error::WRONG_FIELD_SPEC.with(&[&name]));
            }
            if self.auto_column.replace(number).is_some() {
                return Err(error::WRONG_AUTO_KEY.plain());
            }
            if attributes.default.is_some() {
                return Err(error::INVALID_DEFAULT.with(&[&name]));
            }
        }
        let primary = attributes.key == Some(ColumnKey::Primary);
        if primary && attributes.nullable == Some(true) {
            return Err(error::PRIMARY_CANT_HAVE_NULL.plain());
        }
        let nullable = attributes.nullable.unwrap_or(true) && !primary && !attributes.auto_increment;
        let default = self.default(name, &ty, nullable, attributes.default.as_ref())?;
        let is_moment = matches!(ty, DataType::Timestamp(_) | DataType::DateTime(_));
        if attributes.on_update_now.is_some_and(|fsp| !is_moment || fsp != u32::from(ty.decimals())) {
            return Err(error::INVALID_ON_UPDATE.with(&[&name]));
        }
        self.columns.push(ColumnDef {
            name: name.to_owned(),
            ty,
            nullable,
            default,
            on_update_now: attributes.on_update_now.is_some(),
            comment: attributes.comment.as_ref().map_or(String::new(), |c| c.to_str_lossy().into_owned()),
            visible: attributes.visible.unwrap_or(true),
        });
        let part = KeyPart::ascending(number);
        match attributes.key {
            Some(ColumnKey::Primary) => self.add_key(KeyKind::Primary, None, vec![part], String::new(), true),
            Some(ColumnKey::Unique) => self.add_key(KeyKind::Unique, None, vec![part], String::new(), true),
            None => Ok(()),
        }
    }

    fn default(
        &self,
        name: &str,
        ty: &DataType,
        nullable: bool,
        given: Option<&ColumnDefault>,
    ) -> Result<Default> {
        let invalid = || error::INVALID_DEFAULT.with(&[&name]);
        let literal = match given {
            None if nullable => return Ok(Default::Value(Datum::Null)),
            None => return Ok(Default::None),
            Some(ColumnDefault::Now(fsp)) => {
                let is_moment = matches!(ty, DataType::Timestamp(_) | DataType::DateTime(_));
                return if is_moment && *fsp == u32::from(ty.decimals()) {
                    Ok(Default::Now)
                } else {
                    Err(invalid())
                };
            }
            Some(ColumnDefault::Expression(_)) => return Err(SqlError::unsupported("expression defaults")),
            Some(ColumnDefault::Literal(literal)) => literal,
        };
        let value = literal_value(literal).ok_or_else(invalid)?;
        if value.is_null() {
            return if nullable { Ok(Default::Value(Datum::Null)) } else { Err(invalid()) };
        }
        if matches!(ty, DataType::Lob { .. } | DataType::Json) {
            return Err(error::BLOB_CANT_HAVE_DEFAULT.with(&[&name]));
        }
        let mut diagnostics = Diagnostics::default();
        let rules = store::Rules {
            strict: true,
            dates: self.environment.dates,
            zone: self.environment.zone,
            truncate_fraction: false,
        };
        let mut target =
            store::Target { column: name, table: "", row: 1, rules, diagnostics: &mut diagnostics };
        let fitted = store::fit(value, self.environment.charset, ty, &mut target).map_err(|_| invalid())?;
        Ok(Default::Value(fitted.into_owned()))
    }

    fn key(&mut self, ast: &KeyDefinition) -> Result<()> {
        match ast.kind {
            KeyKind::Fulltext => return Err(SqlError::unsupported("FULLTEXT indexes")),
            KeyKind::Spatial => return Err(SqlError::unsupported("SPATIAL indexes")),
            _ => {}
        }
        let mut parts = Vec::with_capacity(ast.parts.len());
        for part in &ast.parts {
            let ast::KeyPart::Column { name, length, descending } = part else {
                return Err(SqlError::unsupported("indexes on expressions"));
            };
            let found = self.columns.iter().position(|c| name.is(&c.name));
            let column = found.ok_or_else(|| error::KEY_COLUMN_DOES_NOT_EXIST.with(&[name]))?;
            parts.push(KeyPart { column, prefix_len: *length, descending: *descending });
        }
        let comment = ast.options.comment.as_ref().map_or(String::new(), |c| c.to_str_lossy().into_owned());
        let visible = ast.options.visible.unwrap_or(true);
        self.add_key(ast.kind, ast.name.as_deref(), parts, comment, visible)
    }

    fn add_key(
        &mut self,
        kind: KeyKind,
        name: Option<&str>,
        mut parts: Vec<KeyPart>,
        comment: String,
        visible: bool,
    ) -> Result<()> {
        self.check_parts(&mut parts)?;
        let primary = kind == KeyKind::Primary;
        let name = match name {
            _ if primary => "PRIMARY".to_owned(),
            Some(name) => {
                check_name(name, error::WRONG_NAME_FOR_INDEX)?;
                if name.eq_ignore_ascii_case("PRIMARY") {
                    return Err(error::WRONG_NAME_FOR_INDEX.with(&[&name]));
                }
                name.to_owned()
            }
            None => self.free_key_name(&self.columns[parts[0].column].name),
        };
        if self.keys.iter().any(|k| k.name.eq_ignore_ascii_case(&name)) {
            return Err(if primary {
                error::MULTIPLE_PRI_KEY.plain()
            } else {
                error::DUP_KEYNAME.with(&[&name])
            });
        }
        if primary {
            for part in &parts {
                // Said NULL explicitly is refused where it is said; what said nothing becomes NOT NULL.
                let column = &mut self.columns[part.column];
                column.nullable = false;
                if matches!(column.default, Default::Value(Datum::Null)) {
                    column.default = Default::None;
                }
            }
        }
        let index = IndexDef { name, unique: primary || kind == KeyKind::Unique, parts, comment, visible };
        if primary {
            self.keys.insert(0, index)
        } else {
            self.keys.push(index)
        }
        if self.keys.len() > KEYS_MAX {
            return Err(error::TOO_MANY_KEYS.with(&[&KEYS_MAX]));
        }
        Ok(())
    }

    /// `column`, `column_2`, ...
    fn free_key_name(&self, column: &str) -> String {
        let taken = |name: &str| self.keys.iter().any(|k| k.name.eq_ignore_ascii_case(name));
        let numbered = (2..).map(|i| format!("{column}_{i}"));
        let mut names = std::iter::once(column.to_owned()).chain(numbered);
        names
            .find(|name| !taken(name) && !name.eq_ignore_ascii_case("PRIMARY"))
            .expect("there is always a next name")
    }

    fn check_parts(&self, parts: &mut [KeyPart]) -> Result<()> {
        if parts.len() > storage::key::PARTS_MAX {
            return Err(error::TOO_MANY_KEY_PARTS.with(&[&storage::key::PARTS_MAX]));
        }
        let mut bytes = 0;
        for i in 0..parts.len() {
            let column = &self.columns[parts[i].column];
            if parts[..i].iter().any(|p| p.column == parts[i].column) {
                return Err(error::DUP_FIELDNAME.with(&[&column.name]));
            }
            if column.ty == DataType::Json {
                return Err(error::JSON_USED_AS_KEY.with(&[&column.name]));
            }
            let text =
                matches!(column.ty, DataType::Char { .. } | DataType::VarChar { .. } | DataType::Lob { .. });
            let char_len = column.ty.collation().charset().char_len_max();
            let full = column.ty.byte_length();
            let length = match parts[i].prefix_len {
                Some(0) => return Err(error::KEY_PART_0.with(&[&column.name])),
                Some(_) if !text => return Err(error::WRONG_SUB_KEY.plain()),
                Some(n) if u64::from(n) * u64::from(char_len) > u64::from(full) => {
                    return Err(error::WRONG_SUB_KEY.plain());
                }
                Some(n) => n * char_len,
                None if matches!(column.ty, DataType::Lob { .. }) => {
                    return Err(error::BLOB_KEY_WITHOUT_LENGTH.with(&[&column.name]));
                }
                None if text => full,
                None => column.ty.row_bytes(),
            };
            // A prefix of the whole is no prefix.
            if parts[i].prefix_len.is_some_and(|n| n * char_len == full)
                && !matches!(column.ty, DataType::Lob { .. })
            {
                parts[i].prefix_len = None;
            }
            bytes += length;
            if length > KEY_BYTES_MAX || bytes > KEY_BYTES_MAX {
                return Err(error::TOO_LONG_KEY.with(&[&KEY_BYTES_MAX]));
            }
        }
        Ok(())
    }

    /// A table without a primary key gets the invisible `my_row_id`, as MySQL's `sql_generate_invisible_primary_key` has it.
    fn generate_key(&mut self) -> Result<()> {
        if self.columns.is_empty() {
            return Err(error::TABLE_MUST_HAVE_COLUMNS.plain());
        }
        if self.keys.first().is_some_and(|k| k.name == "PRIMARY") {
            return Ok(());
        }
        if self.columns.iter().any(|c| c.name.eq_ignore_ascii_case(GENERATED_KEY)) {
            return Err(error::GIPK_COLUMN_EXISTS.plain());
        }
        if let Some(auto) = self.auto_column {
            if !self.keys.iter().any(|k| k.parts[0].column == auto) {
                return Err(error::WRONG_AUTO_KEY.plain());
            }
            return Err(SqlError::unsupported("tables with an AUTO_INCREMENT column and no primary key"));
        }
        for key in &mut self.keys {
            key.parts.iter_mut().for_each(|part| part.column += 1);
        }
        let sign = ast::Sign { unsigned: true, zerofill: false };
        let ty = DataType::Integer { size: ast::IntegerSize::Big, sign, width: None };
        self.columns.insert(
            0,
            ColumnDef {
                name: GENERATED_KEY.to_owned(),
                ty,
                nullable: false,
                default: Default::None,
                on_update_now: false,
                comment: String::new(),
                visible: false,
            },
        );
        self.auto_column = Some(0);
        self.add_key(KeyKind::Primary, None, vec![KeyPart::ascending(0)], String::new(), true)
    }

    fn finish(
        self,
        database: &str,
        name: &str,
        options: &[TableOption],
        numbers: Numbers,
    ) -> Result<TableDef> {
        if !self.columns.iter().any(|c| c.visible) {
            return Err(error::TABLE_MUST_HAVE_A_VISIBLE_COLUMN.plain());
        }
        if let Some(auto) = self.auto_column
            && !self.keys.iter().any(|k| k.parts[0].column == auto)
        {
            return Err(error::WRONG_AUTO_KEY.plain());
        }
        let nulls = (self.columns.len() as u32).div_ceil(8);
        let row_bytes =
            self.columns.iter().map(|c| u64::from(c.ty.row_bytes())).sum::<u64>() + u64::from(nulls);
        if row_bytes > ROW_SIZE_MAX.into() {
            return Err(error::TOO_BIG_ROWSIZE.with(&[&ROW_SIZE_MAX]));
        }
        let options = Options::read(options)?;
        let columns = self.columns.iter().map(|c| Column {
            name: c.name.clone(),
            ty: c.ty.column_type(),
            nullable: c.nullable,
        });
        let mut definitions = self.keys.iter().enumerate().map(|(i, key)| IndexDefinition {
            name: key.name.clone(),
            tree: TreeId(numbers.tree + i as u32),
            parts: key.parts.clone(),
            unique: key.unique,
        });
        let primary = definitions.next().expect("every table has a primary key by now");
        let schema = TableSchema::new(
            numbers.table,
            database,
            name,
            columns.collect(),
            primary,
            definitions.collect(),
            &KeyCollations,
        )
        .map_err(|e| SqlError::unsupported(format_args!("this index: {e}")))?;
        Ok(TableDef {
            id: numbers.table,
            database: database.to_owned(),
            name: name.to_owned(),
            column_types: schema.types().to_vec(),
            columns: self.columns,
            indexes: self.keys,
            auto_column: self.auto_column,
            auto_start: options.auto_increment,
            collation: self.collation,
            comment: options.comment,
            options: options.shown,
            schema: Arc::new(schema),
            counter: Arc::new(Counter::new(options.auto_increment)),
            lock: Arc::default(),
        })
    }
}

/// Table options that mean something, or are shown again.
struct Options {
    auto_increment: u64,
    comment: String,
    shown: String,
}

impl Options {
    fn read(options: &[TableOption]) -> Result<Options> {
        let mut read = Options { auto_increment: 1, comment: String::new(), shown: String::new() };
        for option in options {
            match option {
                TableOption::AutoIncrement(n) => read.auto_increment = (*n).max(1),
                TableOption::Comment(text) => read.comment = text.to_str_lossy().into_owned(),
                TableOption::Engine(name) => check_engine(name)?,
                TableOption::RowFormat(word) if !word.is("DEFAULT") => {
                    read.shown += &format!(" ROW_FORMAT={}", word.to_ascii_uppercase());
                }
                TableOption::Number(name, Some(n)) => read.shown += &format!(" {}={n}", name.as_str()),
                TableOption::Union(_) | TableOption::Tablespace(_) => {
                    return Err(SqlError::unsupported("this table option"));
                }
                TableOption::Text(name, _) if name.is("ENCRYPTION") || name.is("DATA DIRECTORY") => {
                    return Err(SqlError::unsupported(format_args!("the table option {name}")));
                }
                _ => {}
            }
        }
        Ok(read)
    }
}

/// Tables are InnoDB's to clients, whatever transactional engine they name.
fn check_engine(name: &str) -> Result<()> {
    match name.to_ascii_lowercase().as_str() {
        "innodb" => Ok(()),
        "myisam" | "memory" | "csv" | "archive" | "blackhole" | "merge" | "federated" | "ndbcluster" => {
            Err(SqlError::unsupported(format_args!("ENGINE={name}")))
        }
        _ => Err(error::UNKNOWN_STORAGE_ENGINE.with(&[&name])),
    }
}

/// The value of a default: a literal, perhaps with a sign.
fn literal_value(ast: &ast::Expr) -> Option<Datum<'static>> {
    use crate::value::Decimal;
    use ast::Literal as L;
    Some(match &ast.kind {
        ExprKind::Literal(literal) => match literal {
            L::Null => Datum::Null,
            L::Bool(b) => Datum::from_bool(*b),
            L::Integer(n) => i64::try_from(*n).map_or(Datum::UInt(*n), Datum::Int),
            L::Decimal(digits) => Datum::Decimal(Decimal::parse(digits.as_bytes()).0),
            L::Float(text) => Datum::Double(text.parse().ok()?),
            L::String { bytes, .. } => Datum::owned(bytes.to_vec()),
            L::Hex { bytes, .. } | L::Bit { bytes, .. } => Datum::Bits(bytes.to_vec().into()),
            L::Date(text) | L::Time(text) | L::Timestamp(text) => Datum::owned(text.to_vec()),
        },
        ExprKind::Unary { op, operand } => {
            let value = literal_value(operand)?;
            match op {
                ast::UnaryOp::Minus => match value {
                    Datum::Int(n) => Datum::Int(-n),
                    Datum::UInt(n) if n == 1 << 63 => Datum::Int(i64::MIN),
                    Datum::Decimal(d) => Datum::Decimal(d.negate()),
                    Datum::Double(v) => Datum::Double(-v),
                    _ => return None,
                },
                _ => return None,
            }
        }
        _ => return None,
    })
}
