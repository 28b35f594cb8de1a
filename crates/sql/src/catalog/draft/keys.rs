//! The keys of a table in the making: the primary key that every table has, keys' names, parts and
//! lengths.

use storage::schema::KeyPart;

use super::super::build::{GENERATED_KEY, ROW_ID_COMMENT, check_name};
use super::super::table::{ColumnDef, Default, IndexDef};
use super::{Draft, DraftColumn, DraftKey, DraftPart, parse_stored, text_of};
use datum::error::{self, Result, SqlError};
use datum::types::DataType;
use datum::value::Datum;
use syntax::ast::{self, ExprKind, KeyDefinition, KeyKind};

const KEYS_MAX: usize = 64;
/// Bytes of one key, as InnoDB counts.
const KEY_BYTES_MAX: u32 = 3072;

impl Draft {
    /// Adds a key of the table.
    pub(crate) fn add_key(&mut self, ast: &KeyDefinition) -> Result<()> {
        match ast.kind {
            KeyKind::Fulltext => return Err(SqlError::unsupported("FULLTEXT indexes")),
            KeyKind::Spatial => return Err(SqlError::unsupported("SPATIAL indexes")),
            _ => {}
        }
        let mut parts = Vec::with_capacity(ast.parts.len());
        for part in &ast.parts {
            match part {
                ast::KeyPart::Column { name, length, descending } => parts.push(DraftPart {
                    column: name.to_string(),
                    prefix_len: *length,
                    descending: *descending,
                }),
                ast::KeyPart::Expression { .. } if ast.kind == KeyKind::Primary => {
                    return Err(error::FUNCTIONAL_INDEX_PRIMARY_KEY.plain());
                }
                ast::KeyPart::Expression { expr, .. } if matches!(expr.kind, ExprKind::Column(_)) => {
                    return Err(error::FUNCTIONAL_INDEX_ON_FIELD.plain());
                }
                // A session has put columns in place of the others.
                ast::KeyPart::Expression { .. } => {
                    return Err(SqlError::internal("a key with an expression that is no column yet"));
                }
            }
        }
        let visible = ast.options.visible.unwrap_or(true);
        if ast.kind == KeyKind::Primary && !visible {
            return Err(error::PK_INDEX_CANT_BE_INVISIBLE.plain());
        }
        let name = match ast.kind {
            KeyKind::Primary => Some("PRIMARY".to_owned()),
            _ => ast.name.as_ref().map(ToString::to_string),
        };
        let comment = text_of(ast.options.comment.as_ref());
        let (kind, generated, declared, origin) = (ast.kind, ast.generated, true, None);
        self.keys.push(DraftKey { name, kind, parts, comment, visible, generated, declared, origin });
        Ok(())
    }

    /// A table without a primary key gets the invisible `my_row_id`, shown or not as
    /// `sql_generate_invisible_primary_key` has it. The columns of a primary key are NOT NULL.
    pub(super) fn prepare_primary_key(&mut self) -> Result<()> {
        if self.columns.is_empty() {
            return Err(error::TABLE_MUST_HAVE_COLUMNS.plain());
        }
        self.drop_row_id();
        if self.keys.iter().filter(|k| k.kind == KeyKind::Primary).count() > 1 {
            return Err(error::MULTIPLE_PRI_KEY.plain());
        }
        let Some(primary) = self.keys.iter().position(|k| k.kind == KeyKind::Primary) else {
            return self.generate_key();
        };
        for part in self.keys[primary].parts.clone() {
            let Some(column) = self.find(&part.column) else {
                return Err(error::KEY_COLUMN_DOES_NOT_EXIST.with(&[&part.column]));
            };
            let column = &mut self.columns[column];
            if column.said_null {
                return Err(error::PRIMARY_CANT_HAVE_NULL.plain());
            }
            if column.def.generated.as_ref().is_some_and(|g| !g.stored) {
                let what = "Defining a virtual generated column as primary key";
                return Err(error::UNSUPPORTED_ACTION_ON_GENERATED_COLUMN.with(&[&what]));
            }
            column.def.nullable = false;
            if matches!(column.def.default, Default::Value(Datum::Null)) {
                column.def.default = Default::None;
            }
        }
        Ok(())
    }

    fn generate_key(&mut self) -> Result<()> {
        let is_shown = self.environment.shows_generated_key;
        if let Some(auto) = &self.auto_column {
            let leads = |k: &DraftKey| k.parts.first().is_some_and(|p| p.column.eq_ignore_ascii_case(auto));
            if !self.keys.iter().any(leads) {
                return Err(error::WRONG_AUTO_KEY.plain());
            }
            if is_shown {
                return Err(error::GIPK_FAILED_AUTOINC_COLUMN_EXISTS.plain());
            }
        }
        if is_shown && self.find(GENERATED_KEY).is_some() {
            return Err(error::GIPK_COLUMN_EXISTS.plain());
        }
        let name = self.free_row_id_name(|_| false);
        let sign = ast::Sign { unsigned: true, zerofill: false };
        let def = ColumnDef {
            name: name.clone(),
            ty: DataType::Integer { size: ast::IntegerSize::Big, sign, width: None },
            nullable: false,
            default: Default::None,
            on_update_now: false,
            comment: if is_shown { String::new() } else { ROW_ID_COMMENT.to_owned() },
            visible: false,
            generated: None,
        };
        // MySQL's stands in front. One that nobody is shown stands after the others, so that
        // readers of the log who ask for the definition find each column where that has it.
        let place = if is_shown { 0 } else { self.columns.len() };
        self.columns.insert(place, DraftColumn::plain(def, None, None));
        match self.auto_column {
            None => self.auto_column = Some(name.clone()),
            Some(_) => self.number_by_clock(place)?,
        }
        let part = DraftPart { column: name, prefix_len: None, descending: false };
        self.keys.push(DraftKey {
            name: Some("PRIMARY".to_owned()),
            kind: KeyKind::Primary,
            parts: vec![part],
            comment: String::new(),
            visible: true,
            generated: false,
            declared: false,
            origin: None,
        });
        Ok(())
    }

    /// A name for a row id that no column has, nor is to have.
    pub(crate) fn free_row_id_name(&self, is_taken: impl Fn(&str) -> bool) -> String {
        let mut names = std::iter::once(GENERATED_KEY.to_owned())
            .chain((2..).map(|number| format!("{GENERATED_KEY}_{number}")));
        let is_free = |name: &String| self.find(name).is_none() && !is_taken(name);
        names.find(is_free).unwrap_or_default()
    }

    /// A row id that nobody is shown leaves its name to a column that is to have it.
    pub(crate) fn make_way(&mut self, name: &str) {
        let Some(column) = self.find(name).filter(|&column| self.columns[column].def.is_row_id()) else {
            return;
        };
        let free = self.free_row_id_name(|other| other.eq_ignore_ascii_case(name));
        let old = std::mem::replace(&mut self.columns[column].def.name, free.clone());
        let parts = self.keys.iter_mut().flat_map(|key| &mut key.parts);
        parts
            .filter(|part| part.column.eq_ignore_ascii_case(&old))
            .for_each(|part| part.column = free.clone());
        if let Some(auto) = self.auto_column.as_mut().filter(|auto| auto.eq_ignore_ascii_case(&old)) {
            *auto = free;
        }
    }

    /// Keys have a column whole whose new type takes no prefix, or not one so long.
    pub(crate) fn fit_prefixes(&mut self, column: usize) {
        let def = &self.columns[column].def;
        let (name, ty) = (def.name.as_str(), &def.ty);
        let is_text = matches!(ty, DataType::Lob { .. } | DataType::Char { .. } | DataType::VarChar { .. });
        let longest = ty.byte_length() / ty.collation().charset().char_len_max().max(1);
        for part in self.keys.iter_mut().flat_map(|key| &mut key.parts) {
            if part.column.eq_ignore_ascii_case(name) {
                part.prefix_len = part.prefix_len.filter(|&length| is_text && length < longest);
            }
        }
    }

    /// Gives a row id its numbers by UUID_SHORT(), because another column of the table is
    /// AUTO_INCREMENT.
    pub(crate) fn number_by_clock(&mut self, column: usize) -> Result<()> {
        let column = &mut self.columns[column];
        column.expr = Some(parse_stored("uuid_short()")?);
        column.def.default = Default::Expression("".into());
        Ok(())
    }

    /// A row id that counts leaves AUTO_INCREMENT to a column that is named.
    pub(super) fn free_auto_increment(&mut self) -> Result<()> {
        let auto = self.auto_column.as_deref().and_then(|name| self.find(name));
        if let Some(column) = auto.filter(|&column| self.columns[column].def.is_row_id()) {
            self.number_by_clock(column)?;
            self.auto_column = None;
        }
        Ok(())
    }

    /// Takes out the row id of a table that gets a primary key. False if there is none, or no
    /// primary key besides it.
    pub(crate) fn drop_row_id(&mut self) -> bool {
        let Some(row_id) = self.columns.iter().position(|c| c.def.is_row_id()) else { return false };
        let is_row_id = |k: &DraftKey| k.kind == KeyKind::Primary && self.is_row_id_key(k);
        let (others, own): (Vec<DraftKey>, Vec<DraftKey>) =
            self.keys.iter().cloned().partition(|k| !is_row_id(k));
        if own.is_empty() || !others.iter().any(|k| k.kind == KeyKind::Primary) {
            return false;
        }
        self.keys = others;
        let name = self.columns.remove(row_id).def.name;
        self.auto_column.take_if(|auto| auto.eq_ignore_ascii_case(&name));
        true
    }

    /// True for the key on a row id.
    pub(crate) fn is_row_id_key(&self, key: &DraftKey) -> bool {
        let column = |p: &DraftPart| self.find(&p.column).is_some_and(|c| self.columns[c].def.is_row_id());
        key.parts.iter().all(column)
    }

    /// The indexes in MySQL's order: the primary key, unique ones without NULL, other unique ones,
    /// the rest.
    pub(super) fn indexes(&self) -> Result<(Vec<IndexDef>, Vec<Option<usize>>)> {
        if self.keys.len() > KEYS_MAX {
            return Err(error::TOO_MANY_KEYS.with(&[&KEYS_MAX]));
        }
        let mut made: Vec<(u8, IndexDef, Option<usize>)> = Vec::with_capacity(self.keys.len());
        for key in &self.keys {
            let parts = self.parts(key)?;
            let name = match &key.name {
                _ if key.kind == KeyKind::Primary => "PRIMARY".to_owned(),
                Some(name) if name.eq_ignore_ascii_case("PRIMARY") => {
                    return Err(error::WRONG_NAME_FOR_INDEX.with(&[name]));
                }
                Some(name) => {
                    check_name(name, error::WRONG_NAME_FOR_INDEX)?;
                    name.clone()
                }
                None => self.free_key_name(&self.columns[parts[0].column].def.name, &made),
            };
            if made.iter().any(|(_, k, _)| k.name.eq_ignore_ascii_case(&name)) {
                return Err(error::DUP_KEYNAME.with(&[&name]));
            }
            let unique = matches!(key.kind, KeyKind::Primary | KeyKind::Unique);
            let has_null = parts.iter().any(|p| self.columns[p.column].def.nullable);
            let rank = match key.kind {
                KeyKind::Primary => 0,
                KeyKind::Unique if !has_null => 1,
                KeyKind::Unique => 2,
                _ => 3,
            };
            let (comment, visible, generated) = (key.comment.clone(), key.visible, key.generated);
            made.push((rank, IndexDef { name, unique, parts, comment, visible, generated }, key.origin));
        }
        made.sort_by_key(|(rank, ..)| *rank);
        Ok(made.into_iter().map(|(_, index, origin)| (index, origin)).unzip())
    }

    /// `column`, `column_2`, ...
    fn free_key_name(&self, column: &str, made: &[(u8, IndexDef, Option<usize>)]) -> String {
        let given = |name: &str| {
            self.keys.iter().any(|k| {
                k.origin.is_some() && k.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name))
            })
        };
        let taken =
            |name: &str| given(name) || made.iter().any(|(_, k, _)| k.name.eq_ignore_ascii_case(name));
        let numbered = (2..).map(|i| format!("{column}_{i}"));
        let mut names = std::iter::once(column.to_owned()).chain(numbered);
        names
            .find(|name| !taken(name) && !name.eq_ignore_ascii_case("PRIMARY"))
            .expect("there is always a next name")
    }

    fn parts(&self, key: &DraftKey) -> Result<Vec<KeyPart>> {
        if key.parts.len() > storage::key::PARTS_MAX {
            return Err(error::TOO_MANY_KEY_PARTS.with(&[&storage::key::PARTS_MAX]));
        }
        let (mut parts, mut bytes): (Vec<KeyPart>, u32) = (Vec::new(), 0);
        for part in &key.parts {
            let found = self.find(&part.column);
            let number = found.ok_or_else(|| error::KEY_COLUMN_DOES_NOT_EXIST.with(&[&part.column]))?;
            let column = &self.columns[number].def;
            if parts.iter().any(|p| p.column == number) {
                return Err(error::DUP_FIELDNAME.with(&[&column.name]));
            }
            if column.ty == DataType::Json {
                return Err(error::JSON_USED_AS_KEY.with(&[&column.name]));
            }
            let (prefix_len, length) = prefix(column, part.prefix_len)?;
            if length == 0 && self.environment.from_client {
                return Err(error::WRONG_KEY_COLUMN.with(&[&column.name]));
            }
            bytes = bytes.saturating_add(length);
            if length > KEY_BYTES_MAX || bytes > KEY_BYTES_MAX {
                return Err(error::TOO_LONG_KEY.with(&[&KEY_BYTES_MAX]));
            }
            parts.push(KeyPart { column: number, prefix_len, descending: part.descending });
        }
        Ok(parts)
    }
}

/// The prefix of a key part, if it is one, and the part's length in bytes.
fn prefix(column: &ColumnDef, given: Option<u32>) -> Result<(Option<u32>, u32)> {
    let is_lob = matches!(column.ty, DataType::Lob { .. });
    let text = is_lob || matches!(column.ty, DataType::Char { .. } | DataType::VarChar { .. });
    let char_len = column.ty.collation().charset().char_len_max();
    // A member is stored as its number.
    let is_number = matches!(column.ty, DataType::Enum { .. } | DataType::Set { .. });
    let full = if is_number { column.ty.row_bytes() } else { column.ty.byte_length() };
    let length = match given {
        Some(0) => return Err(error::KEY_PART_0.with(&[&column.name])),
        // The bytes of a number are no prefix of it.
        Some(n) if !text && !is_number && n == column.ty.row_bytes() => return Ok((None, n)),
        Some(_) if !text => return Err(error::WRONG_SUB_KEY.plain()),
        Some(n) if u64::from(n) * u64::from(char_len) > u64::from(full) => {
            return Err(error::WRONG_SUB_KEY.plain());
        }
        Some(n) => n.saturating_mul(char_len),
        None if is_lob => return Err(error::BLOB_KEY_WITHOUT_LENGTH.with(&[&column.name])),
        None if text => full,
        None => column.ty.row_bytes(),
    };
    // A prefix of the whole is no prefix.
    let whole = given.is_some_and(|n| n.saturating_mul(char_len) == full) && !is_lob;
    Ok((given.filter(|_| !whole), length))
}
