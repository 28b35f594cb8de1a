//! A table's definition in the making: what CREATE TABLE says, or what ALTER TABLE makes of a table
//! that is there.
//!
//! Columns and keys are put in, taken out and changed by name; [`Draft::finish`] checks the whole,
//! as MySQL does, and numbers it. Each column and key remembers which of the old table it was, so
//! that ALTER TABLE knows what it means for rows and trees.

mod expressions;
pub(crate) mod foreign_keys;
mod keys;

use std::collections::HashSet;
use std::sync::{Arc, OnceLock};

use binlog::LogPosition;
use binlog::row::ColumnType;
use datum::types::{Charset, Collation, DataType, ROW_SIZE_MAX, resolve_collation};
use storage::TreeId;
use storage::schema::{Column, IndexDefinition, KeyPart, TableSchema};

use self::expressions::{ExprContext, canonical};
pub(crate) use self::expressions::{is_unrepeatable, lacks_week_mode, reads_column};
use self::foreign_keys::{DraftForeignKey, number_of};
use super::auto_increment::Counter;
use super::build::{Environment, Numbers, Options, check_constraint_name, check_name};
use super::collations::KeyCollations;
use super::deprecated;
use super::table::{CheckDef, ColumnDef, Default, Generated, IndexDef, TableDef};
use super::table_map::details;
use super::trigger::Triggers;
use datum::bounds::parse_options;
use datum::error::{self, Diagnostics, Result, SqlError};
use datum::value::temporal::DateRules;
use datum::value::{Datum, store, temporal_text};
use syntax::ast::{self, ColumnDefault, ColumnKey, ExprKind, KeyKind, LobSize};
use syntax::parser::parse_expression;
use syntax::sql_mode;

/// A definition in the making.
#[derive(Debug, Clone)]
pub(crate) struct Draft {
    /// The table's default collation.
    pub collation: Collation,
    /// What texts and defaults of the statement depend on.
    pub environment: Environment,
    pub(crate) columns: Vec<DraftColumn>,
    /// The keys, in the order given.
    pub keys: Vec<DraftKey>,
    /// The CHECK constraints.
    pub checks: Vec<DraftCheck>,
    /// The FOREIGN KEY constraints.
    pub foreign_keys: Vec<DraftForeignKey>,
    /// The last number that the server gave to one of the old table.
    pub(crate) last_foreign_key: u32,
    /// The AUTO_INCREMENT column's name.
    pub(crate) auto_column: Option<String>,
}

/// A column in the making.
#[derive(Debug, Clone)]
pub(crate) struct DraftColumn {
    /// What is known of it.
    pub(crate) def: ColumnDef,
    /// The expression of GENERATED ALWAYS AS, or of DEFAULT.
    pub expr: Option<ast::Expr>,
    /// Its number in the old table.
    pub origin: Option<usize>,
    pub(crate) said_null: bool,
    /// A TIMESTAMP whose default `explicit_defaults_for_timestamp = OFF` gives it.
    pub(crate) lacks_default: bool,
}

impl DraftColumn {
    /// A column of which no definition is given.
    fn plain(def: ColumnDef, expr: Option<ast::Expr>, origin: Option<usize>) -> Self {
        Self { def, expr, origin, said_null: false, lacks_default: false }
    }
}

/// A key in the making.
#[derive(Debug, Clone)]
pub(crate) struct DraftKey {
    /// Its name, if one was given.
    pub name: Option<String>,
    /// PRIMARY, UNIQUE or neither.
    pub kind: KeyKind,
    /// Its columns.
    pub parts: Vec<DraftPart>,
    pub(crate) comment: String,
    /// The planner may use it.
    pub visible: bool,
    /// A foreign key brought it.
    pub generated: bool,
    /// It stands in the statement itself.
    pub declared: bool,
    /// Its number in the old table.
    pub origin: Option<usize>,
}

/// A column of a key in the making.
#[derive(Debug, Clone)]
pub(crate) struct DraftPart {
    /// The column's name.
    pub column: String,
    /// Only so many characters.
    pub(crate) prefix_len: Option<u32>,
    /// DESC.
    pub descending: bool,
}

/// A CHECK constraint in the making.
#[derive(Debug, Clone)]
pub(crate) struct DraftCheck {
    /// Its name, if one was given.
    pub name: Option<String>,
    /// What must hold.
    pub expr: ast::Expr,
    /// Rows are tested.
    pub(crate) enforced: bool,
    /// It stood after this column.
    pub(crate) of_column: Option<String>,
}

/// What a draft came to.
pub(crate) struct Finished {
    pub(crate) table: TableDef,
    /// For each column its number in the old table.
    pub columns: Vec<Option<usize>>,
    /// For each index its number in the old table.
    pub indexes: Vec<Option<usize>>,
}

const COLUMNS_MAX: usize = 1017;

/// An expression that the catalog keeps as text.
pub(crate) fn parse_stored(text: &str) -> Result<ast::Expr> {
    Ok(parse_expression(text.as_bytes(), &parse_options(sql_mode::DEFAULT))?)
}

impl Draft {
    /// A table without columns.
    pub(crate) fn new(collation: Collation, environment: Environment) -> Draft {
        Draft {
            collation,
            environment,
            columns: Vec::new(),
            keys: Vec::new(),
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            last_foreign_key: 0,
            auto_column: None,
        }
    }

    /// A table as it is.
    pub(crate) fn of(table: &TableDef, environment: Environment) -> Result<Draft> {
        let mut draft = Draft::new(table.collation, environment);
        for (number, def) in table.columns.iter().enumerate() {
            let expr = match (&def.generated, &def.default) {
                (Some(generated), _) => Some(parse_stored(&generated.expr)?),
                (None, Default::Expression(text)) => Some(parse_stored(text)?),
                _ => None,
            };
            let (def, origin) = (def.clone(), Some(number));
            draft.columns.push(DraftColumn::plain(def, expr, origin));
        }
        for (number, index) in table.indexes.iter().enumerate() {
            let part = |p: &KeyPart| DraftPart {
                column: table.columns[p.column].name.clone(),
                prefix_len: p.prefix_len,
                descending: p.descending,
            };
            draft.keys.push(DraftKey {
                name: Some(index.name.clone()),
                kind: match (number, index.unique) {
                    (0, _) => KeyKind::Primary,
                    (_, true) => KeyKind::Unique,
                    (_, false) => KeyKind::Index,
                },
                parts: index.parts.iter().map(part).collect(),
                comment: index.comment.clone(),
                visible: index.visible,
                generated: index.generated,
                declared: false,
                origin: Some(number),
            });
        }
        for check in &table.checks {
            let name = Some(check.name.clone());
            let expr = parse_stored(&check.expr)?;
            draft.checks.push(DraftCheck { name, expr, enforced: check.enforced, of_column: None });
        }
        let given = table.foreign_keys.iter().filter_map(|key| number_of(&key.name, &table.name));
        draft.last_foreign_key = given.max().unwrap_or(0);
        for key in &table.foreign_keys {
            draft.foreign_keys.push(DraftForeignKey {
                name: Some(key.name.clone()),
                columns: key.columns.iter().map(|&column| table.columns[column].name.clone()).collect(),
                parent: key.parent.clone(),
                parent_columns: key.parent_columns.clone(),
                on_delete: key.on_delete,
                on_update: key.on_update,
            });
        }
        draft.auto_column = table.auto_column.map(|c| table.columns[c].name.clone());
        Ok(draft)
    }

    /// The place of a column.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.def.name.eq_ignore_ascii_case(name))
    }

    /// The place of a key that has a name; `PRIMARY` is the primary key's.
    pub(crate) fn find_key(&self, name: &str) -> Option<usize> {
        self.keys.iter().position(|k| k.name.as_deref().is_some_and(|n| n.eq_ignore_ascii_case(name)))
    }

    /// Adds a column at the end, with the keys and checks that stand after it.
    pub(crate) fn add_column(&mut self, ast: &ast::ColumnDefinition) -> Result<()> {
        self.make_way(&ast.name);
        if self.find(&ast.name).is_some() {
            return Err(error::DUP_FIELDNAME.with(&[&ast.name]));
        }
        if self.columns.len() >= COLUMNS_MAX {
            return Err(error::TOO_MANY_FIELDS.plain());
        }
        let column = self.column(ast)?;
        self.columns.push(column);
        self.add_attributes(ast)
    }

    /// Adds the columns of a query; those that are there already go to the end.
    pub(crate) fn add_selected(&mut self, selected: &[ColumnDef]) -> Result<()> {
        for (number, def) in selected.iter().enumerate() {
            check_name(&def.name, error::WRONG_COLUMN_NAME)?;
            if selected[..number].iter().any(|other| other.name.eq_ignore_ascii_case(&def.name)) {
                return Err(error::DUP_FIELDNAME.with(&[&def.name]));
            }
            let column = match self.find(&def.name) {
                Some(there) => self.columns.remove(there),
                None => DraftColumn::plain(def.clone(), None, None),
            };
            self.columns.push(column);
        }
        if self.columns.len() > COLUMNS_MAX {
            return Err(error::TOO_MANY_FIELDS.plain());
        }
        Ok(())
    }

    /// The keys and checks that stand after a column.
    pub(crate) fn add_attributes(&mut self, ast: &ast::ColumnDefinition) -> Result<()> {
        let name = ast.name.as_str();
        for check in &ast.attributes.checks {
            self.add_check(check, Some(name))?;
        }
        let kind = match ast.attributes.key {
            Some(ColumnKey::Primary) => KeyKind::Primary,
            Some(ColumnKey::Unique) => KeyKind::Unique,
            None => return Ok(()),
        };
        let part = DraftPart { column: name.to_owned(), prefix_len: None, descending: false };
        let (parts, comment) = (vec![part], String::new());
        let (name, visible, generated, declared, origin) = (None, true, false, true, None);
        self.keys.push(DraftKey { name, kind, parts, comment, visible, generated, declared, origin });
        Ok(())
    }

    /// What a column definition says, checked by itself. Sets the AUTO_INCREMENT column.
    pub(crate) fn column(&mut self, ast: &ast::ColumnDefinition) -> Result<DraftColumn> {
        let name = ast.name.as_str();
        check_name(name, error::WRONG_COLUMN_NAME)?;
        let attributes = &ast.attributes;
        if self.environment.from_client {
            check_length(&ast.ty, name)?;
        }
        let of_bytes = match self.environment.connection {
            Charset::Binary => members_of_bytes(&ast.ty, self.collation)?,
            _ => None,
        };
        let declared = of_bytes.as_ref().unwrap_or(&ast.ty);
        let ty = match DataType::resolve(declared, name, self.collation) {
            Err(e) if e.is(error::TOO_BIG_FIELDLENGTH) && !self.environment.strict => {
                let lob = as_lob(ast).ok_or(e)?;
                DataType::resolve(&lob, name, self.collation)?
            }
            resolved => resolved?,
        };
        if self.environment.from_client {
            check_members(declared, &ty)?;
        }
        if attributes.srid.is_some() {
            return Err(SqlError::unsupported("spatial columns"));
        }
        if let Some(generated) = &attributes.generated {
            return generated_column(ast, generated, self.is_nullable(attributes, &ty), ty);
        }
        if attributes.auto_increment {
            if !matches!(ty, DataType::Integer { .. }) {
                return Err(error::WRONG_FIELD_SPEC.with(&[&name]));
            }
            self.free_auto_increment()?;
            if self.auto_column.as_ref().is_some_and(|other| !other.eq_ignore_ascii_case(name)) {
                return Err(error::WRONG_AUTO_KEY.plain());
            }
            self.auto_column = Some(name.to_owned());
            if attributes.default.is_some() {
                return Err(error::INVALID_DEFAULT.with(&[&name]));
            }
        }
        let primary = attributes.key == Some(ColumnKey::Primary);
        let said_null = attributes.nullable == Some(true);
        if primary && said_null {
            return Err(error::PRIMARY_CANT_HAVE_NULL.plain());
        }
        let nullable = self.is_nullable(attributes, &ty) && !primary && !attributes.auto_increment;
        let (default, expr) = self.default(name, &ty, nullable, attributes.default.as_ref())?;
        let is_moment = matches!(ty, DataType::Timestamp(_) | DataType::DateTime(_));
        if attributes.on_update_now.is_some_and(|fsp| !is_moment || fsp != u32::from(ty.decimals())) {
            return Err(error::INVALID_ON_UPDATE.with(&[&name]));
        }
        // DEFAULT NULL says so, too: such a column can be part of no primary key.
        let says_null = |d: &ColumnDefault| match d {
            ColumnDefault::Literal(literal) => matches!(literal.kind, ExprKind::Literal(ast::Literal::Null)),
            _ => false,
        };
        let said_null =
            said_null || self.environment.from_client && attributes.default.as_ref().is_some_and(says_null);
        let def = ColumnDef {
            name: name.to_owned(),
            ty,
            nullable,
            default,
            on_update_now: attributes.on_update_now.is_some(),
            comment: text_of(attributes.comment.as_ref()),
            visible: attributes.visible.unwrap_or(true),
            generated: None,
        };
        let lacks_default = !self.environment.explicit_timestamps
            && matches!(def.ty, DataType::Timestamp(_))
            && !def.nullable
            && matches!(def.default, Default::None);
        Ok(DraftColumn { def, expr, origin: None, said_null, lacks_default })
    }

    /// Whether a column may be NULL by what is said after its type. A TIMESTAMP that says nothing
    /// may not with `explicit_defaults_for_timestamp = OFF`.
    fn is_nullable(&self, attributes: &ast::ColumnAttributes, ty: &DataType) -> bool {
        let is_like_others = self.environment.explicit_timestamps || !matches!(ty, DataType::Timestamp(_));
        attributes.nullable.unwrap_or(is_like_others)
    }

    /// The defaults that `explicit_defaults_for_timestamp = OFF` gives to TIMESTAMP columns that
    /// say none: the moment to the table's first TIMESTAMP column, on updates too, zeros to the
    /// others, but for those of the primary key.
    fn default_timestamps(&mut self) {
        let is_timestamp = |column: &DraftColumn| matches!(column.def.ty, DataType::Timestamp(_));
        let first = self.columns.iter().position(is_timestamp);
        let in_primary = |keys: &[DraftKey], name: &str| {
            let primary = keys.iter().filter(|key| key.kind == KeyKind::Primary);
            primary.flat_map(|key| &key.parts).any(|part| part.column.eq_ignore_ascii_case(name))
        };
        for (number, column) in self.columns.iter_mut().enumerate().filter(|(_, c)| c.lacks_default) {
            let def = &mut column.def;
            if first == Some(number) && !def.on_update_now {
                (def.default, def.on_update_now) = (Default::Now, true);
            } else if !in_primary(&self.keys, &def.name) {
                def.default = Default::Value(store::implicit_default(&def.ty));
            }
        }
    }

    /// A default, and its expression if it is one.
    pub(crate) fn default(
        &self,
        name: &str,
        ty: &DataType,
        nullable: bool,
        given: Option<&ColumnDefault>,
    ) -> Result<(Default, Option<ast::Expr>)> {
        let invalid = || error::INVALID_DEFAULT.with(&[&name]);
        let literal = match given {
            None if nullable => return Ok((Default::Value(Datum::Null), None)),
            None => return Ok((Default::None, None)),
            Some(ColumnDefault::Now(fsp)) => {
                let is_moment = matches!(ty, DataType::Timestamp(_) | DataType::DateTime(_));
                return if is_moment && *fsp == u32::from(ty.decimals()) {
                    Ok((Default::Now, None))
                } else {
                    Err(invalid())
                };
            }
            Some(ColumnDefault::Expression(expr)) => {
                return Ok((Default::Expression("".into()), Some(expr.clone())));
            }
            Some(ColumnDefault::Literal(literal)) => literal,
        };
        let (value, charset) = self.literal_value(literal).ok_or_else(invalid)?;
        if value.is_null() {
            return if nullable { Ok((Default::Value(Datum::Null), None)) } else { Err(invalid()) };
        }
        if matches!(ty, DataType::Lob { .. })
            && !self.environment.strict
            && deprecated::is_empty_text(literal)
        {
            // There is a warning.
            return Ok((if nullable { Default::Value(Datum::Null) } else { Default::None }, None));
        }
        if matches!(ty, DataType::Lob { .. } | DataType::Json) {
            return Err(error::BLOB_CANT_HAVE_DEFAULT.with(&[&name]));
        }
        let mut diagnostics = Diagnostics::default();
        let rules = store::Rules {
            strict: true,
            dates: self.environment.dates,
            zone: self.environment.zone,
            moment: 0, // literals are no times
            truncate_fraction: self.environment.truncate_fraction,
        };
        let mut target =
            store::Target { column: name, table: "", row: 1, rules, diagnostics: &mut diagnostics };
        let fitted = store::fit(value.clone(), charset, ty, &mut target);
        if let Ok(fitted) = fitted {
            return Ok((Default::Value(fitted.into_owned()), None));
        }
        // A sql_mode that is not strict makes zeros of dates with zeros that it does not take.
        // There is a warning.
        target.rules.dates.no_zero_date = false;
        target.rules.dates.no_zero_in_date = false;
        if self.environment.strict || store::fit(value, charset, ty, &mut target).is_err() {
            return Err(invalid());
        }
        Ok((Default::Value(store::implicit_default(ty)), None))
    }

    /// The value of a default's literal, and the character set of a text.
    fn literal_value(&self, literal: &ast::Expr) -> Option<(Datum<'static>, Charset)> {
        use ast::{ExprKind as E, Literal as L};
        let value = literal_value(literal)?;
        let written = self.environment.charset;
        let introduced = |name: &ast::Ident| Charset::by_name(name);
        Some(match &literal.kind {
            E::Literal(L::String { introducer: Some(name), .. }) => (value, introduced(name)?),
            E::Literal(L::Hex { introducer, .. } | L::Bit { introducer, .. }) => match introducer {
                Some(name) => (Datum::Bytes(value.into_bytes()), introduced(name)?),
                None => (value, Charset::Binary),
            },
            E::Literal(L::String { introducer: None, .. }) => {
                // It is one of the connection's character set, which is what byte strings have of
                // it.
                let connection = self.environment.connection;
                match written.convert(value.to_bytes().into_owned().into(), connection) {
                    (text, false) => (Datum::Bytes(text), connection),
                    _ => (value, written),
                }
            }
            _ => (value, written),
        })
    }

    /// Adds a CHECK constraint.
    pub(crate) fn add_check(&mut self, ast: &ast::Check, of_column: Option<&str>) -> Result<()> {
        // An empty name is none.
        let name = ast.name.as_ref().map(ToString::to_string).filter(|name| !name.is_empty());
        if let Some(name) = &name {
            check_constraint_name(name)?;
        }
        let (expr, of_column) = (ast.expr.clone(), of_column.map(str::to_owned));
        self.checks.push(DraftCheck { name, expr, enforced: ast.enforced, of_column });
        Ok(())
    }

    /// The names that CHECK constraints were given follow the table's.
    pub(crate) fn rename_checks(&mut self, from: &str, to: &str) {
        let prefix = format!("{from}_chk_");
        for name in self.checks.iter_mut().filter_map(|check| check.name.as_mut()) {
            if let Some(number) = name.strip_prefix(&prefix) {
                *name = format!("{to}_chk_{number}");
            }
        }
    }

    /// Checks the whole and numbers it. `numbers` gives the table its number and each index its
    /// tree, by the number that it had and its place now.
    pub(crate) fn finish(
        mut self,
        database: &str,
        name: &str,
        options: Options,
        numbers: Numbers,
        mut tree: impl FnMut(Option<usize>, usize) -> TreeId,
    ) -> Result<Finished> {
        self.prepare_primary_key()?;
        self.default_timestamps();
        self.drop_needless_keys();
        if self.columns.len() > COLUMNS_MAX {
            // The key that was generated is one of them, here and for replicas.
            return Err(error::TOO_MANY_FIELDS.plain());
        }
        let (indexes, origins) = self.indexes()?;
        self.check_columns(&indexes)?;
        self.canonical_expressions()?;
        let checks = self.canonical_checks(name)?;
        let foreign_keys = self.canonical_foreign_keys(name)?;
        let trees: Vec<TreeId> =
            origins.iter().enumerate().map(|(place, origin)| tree(*origin, place)).collect();
        let auto_column = self.auto_column.as_deref().and_then(|name| self.find(name));
        let origin = self.columns.iter().map(|c| c.origin).collect();
        let columns: Vec<ColumnDef> = self.columns.into_iter().map(|c| c.def).collect();
        let schema = schema_of(numbers.table, database, name, &columns, &indexes, &trees)?;
        let table = TableDef {
            id: numbers.table,
            database: database.to_owned(),
            name: name.to_owned(),
            column_types: schema.types().to_vec(),
            widths: schema.types().iter().map(ColumnType::width).collect(),
            columns,
            indexes,
            checks,
            foreign_keys,
            referenced_by: Arc::default(),
            triggers: Triggers::default(),
            auto_column,
            auto_start: options.auto_increment,
            collation: self.collation,
            comment: options.comment,
            options: options.shown,
            created: None,
            schema: Arc::new(schema),
            layouts: None,
            readable_from: LogPosition::ZERO,
            computed: OnceLock::new(),
            trigger_programs: OnceLock::new(),
            counter: Arc::new(Counter::new(options.auto_increment)),
            statistics: Arc::default(),
            lock: Arc::default(),
        };
        Ok(Finished { table, columns: origin, indexes: origins })
    }

    fn check_columns(&self, indexes: &[IndexDef]) -> Result<()> {
        if !self.columns.iter().any(|c| c.def.visible) {
            return Err(error::TABLE_MUST_HAVE_A_VISIBLE_COLUMN.plain());
        }
        if let Some(auto) = self.auto_column.as_deref().and_then(|name| self.find(name))
            && !indexes.iter().any(|k| k.parts[0].column == auto)
        {
            return Err(error::WRONG_AUTO_KEY.plain());
        }
        let nulls = (self.columns.len() as u32).div_ceil(8);
        let row_bytes =
            self.columns.iter().map(|c| u64::from(c.def.ty.row_bytes())).sum::<u64>() + u64::from(nulls);
        if row_bytes > ROW_SIZE_MAX.into() {
            return Err(error::TOO_BIG_ROWSIZE.with(&[&ROW_SIZE_MAX]));
        }
        Ok(())
    }

    fn canonical_expressions(&mut self) -> Result<()> {
        for number in 0..self.columns.len() {
            let Some(expr) = self.columns[number].expr.clone() else { continue };
            let generated = self.columns[number].def.generated.is_some();
            let place = if generated { ExprContext::Generated(number) } else { ExprContext::Default(number) };
            let text = canonical(self, expr, place)?;
            let def = &mut self.columns[number].def;
            match &mut def.generated {
                Some(generated) => generated.expr = text,
                None => def.default = Default::Expression(text),
            }
        }
        Ok(())
    }

    /// The CHECK constraints by name, those without one named `table_chk_1` and on.
    fn canonical_checks(&self, table: &str) -> Result<Vec<CheckDef>> {
        let prefix = format!("{table}_chk_");
        let number = |c: &DraftCheck| c.name.as_deref()?.strip_prefix(&prefix)?.parse::<u32>().ok();
        let mut last = self.checks.iter().filter_map(number).max().unwrap_or(0);
        let mut checks: Vec<CheckDef> = Vec::with_capacity(self.checks.len());
        let mut names = HashSet::new();
        for check in &self.checks {
            let name = check.name.clone().unwrap_or_else(|| {
                last += 1;
                format!("{prefix}{last}")
            });
            datum::bounds::check()?;
            // One that is made of the table's name may be too long.
            check_constraint_name(&name)?;
            let place = ExprContext::Check { name: &name, of_column: check.of_column.as_deref() };
            let expr = canonical(self, check.expr.clone(), place)?;
            if !names.insert(name.to_ascii_lowercase()) {
                return Err(error::CHECK_CONSTRAINT_DUP_NAME.with(&[&name]));
            }
            checks.push(CheckDef { name, expr, enforced: check.enforced });
        }
        checks.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(checks)
    }
}

fn generated_column(
    ast: &ast::ColumnDefinition,
    generated: &ast::Generated,
    nullable: bool,
    ty: DataType,
) -> Result<DraftColumn> {
    let attributes = &ast.attributes;
    let wrong = |what: &str| Err(error::WRONG_USAGE.with(&[&what, &"generated column"]));
    if attributes.default.is_some() {
        return wrong("DEFAULT");
    }
    if attributes.auto_increment {
        return wrong("AUTO_INCREMENT");
    }
    if attributes.on_update_now.is_some() {
        return wrong("ON UPDATE");
    }
    let def = ColumnDef {
        name: ast.name.to_string(),
        ty,
        nullable,
        default: Default::None,
        on_update_now: false,
        comment: text_of(attributes.comment.as_ref()),
        visible: attributes.visible.unwrap_or(true),
        generated: Some(Generated { expr: "".into(), stored: generated.stored }),
    };
    let said_null = attributes.nullable == Some(true);
    let expr = Some(generated.expr.clone());
    Ok(DraftColumn { def, expr, origin: None, said_null, lacks_default: false })
}

/// The engine's view of a table.
pub(crate) fn schema_of(
    id: u64,
    database: &str,
    name: &str,
    columns: &[ColumnDef],
    indexes: &[IndexDef],
    trees: &[TreeId],
) -> Result<TableSchema> {
    let engine_column =
        |c: &ColumnDef| Column { name: c.name.clone(), ty: c.ty.column_type(), nullable: c.nullable };
    let mut definitions = indexes.iter().zip(trees).map(|(index, tree)| definition_of(index, *tree));
    let primary =
        definitions.next().ok_or_else(|| SqlError::internal(format_args!("{name} has no primary key")))?;
    let engine_columns = columns.iter().map(engine_column).collect();
    let mut schema =
        TableSchema::new(id, database, name, engine_columns, primary, definitions.collect(), &KeyCollations)
            .map_err(|e| SqlError::unsupported(format_args!("this index: {e}")))?;
    if let Some(primary) = indexes.first() {
        schema.describe(details(columns, primary));
    }
    // A copy of the table may have given its rows other ids: a replica finds them by all columns,
    // as it does in MySQL where a table has no primary key.
    if columns.iter().any(ColumnDef::is_row_id) {
        schema.log_whole_rows();
    }
    Ok(schema)
}

/// The engine's view of an index.
pub(crate) fn definition_of(index: &IndexDef, tree: TreeId) -> IndexDefinition {
    IndexDefinition { name: index.name.clone(), tree, parts: index.parts.clone(), unique: index.unique }
}

/// The type with its members in UTF-8, if these are bytes of the column's character set, as those
/// of a connection whose character set is `binary` are; `None` if that makes no difference.
fn members_of_bytes(ty: &ast::DataType, default: Collation) -> Result<Option<ast::DataType>> {
    let (ast::DataType::Enum { members, charset } | ast::DataType::Set { members, charset }) = ty else {
        return Ok(None);
    };
    if members.iter().all(|member| member.is_ascii()) {
        return Ok(None);
    }
    let charset = resolve_collation(charset, default)?.charset();
    let mut ty = ty.clone();
    if let ast::DataType::Enum { members, .. } | ast::DataType::Set { members, .. } = &mut ty {
        for member in members {
            let text = charset.convert(member.to_vec().into(), Charset::Utf8mb4).0;
            *member = ast::Text::new(text.into_owned());
        }
    }
    Ok(Some(ty))
}

/// Error 3854 for members of ENUM and SET that the column's character set lacks.
fn check_members(ast: &ast::DataType, ty: &DataType) -> Result<()> {
    let (ast::DataType::Enum { members, .. } | ast::DataType::Set { members, .. }) = ast else {
        return Ok(());
    };
    let charset = ty.collation().charset();
    for member in members {
        if std::str::from_utf8(member).is_ok() && Charset::Utf8mb4.convert(member.to_vec().into(), charset).1
        {
            let shown = store::escape(member);
            return Err(error::CANNOT_CONVERT_STRING.with(&[&shown, &"utf8mb4", &charset.name()]));
        }
    }
    Ok(())
}

fn text_of(text: Option<&ast::Text>) -> String {
    text.map_or(String::new(), |c| c.to_str_lossy().into_owned())
}

/// The value of a default: a literal, perhaps with a sign.
fn literal_value(ast: &ast::Expr) -> Option<Datum<'static>> {
    use ast::Literal as L;
    use datum::value::Decimal;
    Some(match &ast.kind {
        ExprKind::Literal(literal) => match literal {
            L::Null => Datum::Null,
            L::Bool(b) => Datum::from_bool(*b),
            L::Integer(n) => i64::try_from(*n).map_or(Datum::UInt(*n), Datum::Int),
            L::Decimal(digits) => Datum::Decimal(Decimal::parse(digits.as_bytes()).0),
            L::Float(text) => Datum::Double(text.parse().ok()?),
            L::String { bytes, .. } => Datum::owned(bytes.to_vec()),
            L::Hex { bytes, introducer: Some(_) } | L::Bit { bytes, introducer: Some(_) } => {
                Datum::owned(bytes.to_vec())
            }
            L::Hex { bytes, .. } | L::Bit { bytes, .. } => Datum::Bits(bytes.to_vec().into()),
            // What it is depends on the session.
            L::Timestamp(text) if temporal_text::split_offset(text).1.is_some() => return None,
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

/// Error 1439 for what is longer than 32 bits say, whatever the type holds.
fn check_length(ty: &ast::DataType, name: &str) -> Result<()> {
    use ast::DataType as D;
    let length = match ty {
        D::Char { length, .. } | D::Binary { length } => *length,
        D::Text { length, .. } | D::Blob { length, .. } => *length,
        D::Varchar { length, .. } | D::Varbinary { length } => Some(*length),
        _ => None,
    };
    match length.is_some_and(|length| length > u32::MAX.into()) {
        true => Err(error::TOO_BIG_DISPLAYWIDTH.with(&[&name, &u32::MAX])),
        false => Ok(()),
    }
}

/// The TEXT or BLOB that a VARCHAR or VARBINARY becomes that is too long for its type, where the
/// sql_mode is not strict. Not with a default, which those can't have.
fn as_lob(ast: &ast::ColumnDefinition) -> Option<ast::DataType> {
    use ast::DataType as D;
    let has_default = match &ast.attributes.default {
        Some(ColumnDefault::Literal(literal)) => {
            !matches!(literal.kind, ExprKind::Literal(ast::Literal::Null))
        }
        _ => false,
    };
    match &ast.ty {
        _ if has_default => None,
        D::Varchar { length, charset } => {
            Some(D::Text { size: LobSize::Normal, length: Some(*length), charset: charset.clone() })
        }
        D::Varbinary { length } => Some(D::Blob { size: LobSize::Normal, length: Some(*length) }),
        _ => None,
    }
}

/// True if the default is a date with zeros that these rules don't take.
pub(crate) fn has_disallowed_zero_date(column: &ColumnDef, rules: DateRules) -> bool {
    match &column.default {
        Default::Value(Datum::Date(date)) => !date.check(rules),
        // The zero of a TIMESTAMP is kept as a date with a time, too.
        Default::Value(Datum::DateTime(moment)) => !moment.date.check(rules),
        _ => false,
    }
}

/// The warning for a default that [`has_disallowed_zero_date`].
pub(crate) fn zero_date_warning(column: &ColumnDef) -> SqlError {
    error::WARN_DATA_OUT_OF_RANGE.with(&[&column.name, &1])
}

/// The note that a column became a TEXT or BLOB, if it did.
pub(crate) fn conversion_note(ast: &ast::ColumnDefinition, table: &TableDef) -> Option<SqlError> {
    let is_text = matches!(ast.ty, ast::DataType::Varchar { .. } | ast::DataType::Varbinary { .. });
    let made = table.columns.iter().find(|column| column.name.eq_ignore_ascii_case(&ast.name))?;
    (is_text && matches!(made.ty, DataType::Lob { .. })).then(|| became_lob(&made.name, &made.ty))
}

/// The note for a column of this type.
pub(crate) fn became_lob(name: &str, ty: &DataType) -> SqlError {
    let (from, to) = if ty.is_character() { ("VARCHAR", "TEXT") } else { ("VARBINARY", "BLOB") };
    error::AUTO_CONVERT.with(&[&name, &from, &to])
}
