//! The actions of an ALTER TABLE, made on the draft of the table.

use super::super::Settings;
use crate::ast::{
    self, AlterAction as A, AlterTable, ColumnDefault, ColumnPlace, KeyKind, ObjectName, TableOption,
};
use crate::catalog::build::{self, GENERATED_KEY, Options};
use crate::catalog::deprecated;
use crate::catalog::draft::{Draft, DraftColumn, DraftKey};
use crate::catalog::table::Default;
use crate::catalog::{ColumnDef, TableDef};
use crate::error::{self, Result, SqlError};
use crate::types::{Collation, DataType};
use crate::value::Datum;

/// The changed draft, and what else was said.
pub(super) struct Changed {
    pub(super) draft: Draft,
    pub(super) options: Options,
    pub(super) auto_increment: Option<u64>,
    pub(super) rename: Option<ObjectName>,
    /// ENGINE, FORCE: write all rows anew.
    pub(super) force: bool,
    /// A table option was named.
    pub(super) has_options: bool,
    /// A CHECK constraint must hold for the rows that are there.
    pub(super) new_checks: bool,
    pub(super) warnings: Vec<SqlError>,
}

/// Makes the actions.
pub(super) fn change(
    old: &TableDef,
    alter: &AlterTable,
    settings: &Settings,
    database: Collation,
) -> Result<Changed> {
    let mut changed = Changed {
        draft: Draft::of(old, settings.environment(database))?,
        options: Options::of(old),
        auto_increment: None,
        rename: None,
        force: false,
        has_options: false,
        new_checks: false,
        warnings: Vec::new(),
    };
    // The default character set counts for columns of the same statement; drops come before what takes their names.
    let order = |action: &A| match action {
        A::Options(_) | A::ConvertCharset { .. } => 0,
        A::DropColumn(_) | A::DropPrimaryKey | A::DropKey(_) | A::DropCheck(_) | A::DropConstraint(_) => 1,
        A::RenameColumn { .. } | A::RenameKey { .. } => 2,
        A::ChangeColumn { .. } | A::SetDefault { .. } | A::DropDefault(_) | A::SetColumnVisible { .. } => 3,
        A::AddColumns(_) => 4,
        _ => 5,
    };
    let mut actions: Vec<&A> = alter.actions.iter().collect();
    actions.sort_by_key(|action| order(action));
    for action in actions {
        changed.action(old, action)?;
    }
    let is_generated_key = |c: &DraftColumn| c.def.name == GENERATED_KEY && !c.def.visible;
    if changed.draft.columns.iter().all(is_generated_key) {
        return Err(error::CANT_REMOVE_ALL_FIELDS.plain());
    }
    Ok(changed)
}

fn no_column(name: &str, table: &TableDef) -> SqlError {
    error::BAD_FIELD_ERROR.with(&[&name, &table.name])
}

fn cannot_drop(name: &str) -> SqlError {
    error::CANT_DROP_FIELD_OR_KEY.with(&[&name])
}

impl Changed {
    fn action(&mut self, old: &TableDef, action: &A) -> Result<()> {
        let draft = &mut self.draft;
        match action {
            A::AddColumns(columns) => {
                for (definition, place) in columns {
                    self.draft.add_column(definition)?;
                    self.warnings.extend(deprecated::warnings_of(&definition.ty));
                    self.new_checks |= definition.attributes.checks.iter().any(|c| c.enforced);
                    let last = self.draft.columns.len() - 1;
                    self.place(old, last, place)?;
                }
            }
            A::AddKey(key) => {
                let is_primary = |k: &DraftKey| k.kind == KeyKind::Primary && !draft.is_row_id_key(k);
                if key.kind == KeyKind::Primary && draft.keys.iter().any(is_primary) {
                    return Err(error::MULTIPLE_PRI_KEY.plain());
                }
                draft.add_key(key)?;
            }
            A::AddCheck(check) => {
                self.new_checks |= check.enforced;
                draft.add_check(check, None)?;
            }
            A::ChangeColumn { old: name, definition, place } => {
                self.change_column(old, name, definition)?;
                self.new_checks |= definition.attributes.checks.iter().any(|c| c.enforced);
                if *place != ColumnPlace::Last {
                    let number = self.draft.find(&definition.name).unwrap_or(0);
                    self.place(old, number, place)?;
                }
            }
            A::SetDefault { column, default } => self.set_default(old, column, Some(default))?,
            A::DropDefault(column) => self.set_default(old, column, None)?,
            A::SetColumnVisible { column, visible } => {
                let number = draft.find(column).ok_or_else(|| no_column(column, old))?;
                draft.columns[number].def.visible = *visible;
            }
            A::DropColumn(name) => self.drop_column(name, &old.name)?,
            A::DropPrimaryKey => self.drop_key("PRIMARY")?,
            A::DropKey(name) => self.drop_key(name)?,
            A::DropForeignKey(name) => return Err(cannot_drop(name)),
            A::DropCheck(name) => {
                let found = self.check(name);
                let found = found.ok_or_else(|| error::CHECK_CONSTRAINT_NOT_FOUND.with(&[name]))?;
                self.draft.checks.remove(found);
            }
            A::DropConstraint(name) => match (self.check(name), self.draft.find_key(name)) {
                (Some(check), _) => drop(self.draft.checks.remove(check)),
                (None, Some(key)) if self.draft.keys[key].kind != KeyKind::Index => self.drop_key(name)?,
                _ => return Err(error::CONSTRAINT_NOT_FOUND.with(&[name])),
            },
            A::SetCheckEnforced { name, enforced } => {
                let found = self.check(name);
                let found = found.ok_or_else(|| error::CHECK_CONSTRAINT_NOT_FOUND.with(&[name]))?;
                let check = &mut self.draft.checks[found];
                self.new_checks |= *enforced && !check.enforced;
                check.enforced = *enforced;
            }
            A::SetIndexVisible { name, visible } => {
                let found = draft.find_key(name);
                let key = found.ok_or_else(|| error::KEY_DOES_NOT_EXIST.with(&[name, &old.name]))?;
                if draft.keys[key].kind == KeyKind::Primary && !visible {
                    return Err(error::PK_INDEX_CANT_BE_INVISIBLE.plain());
                }
                draft.keys[key].visible = *visible;
            }
            A::RenameColumn { old: from, new: to } => {
                let number = draft.find(from).ok_or_else(|| no_column(from, old))?;
                draft.make_way(to);
                if draft.find(to).is_some_and(|other| other != number) {
                    return Err(error::DUP_FIELDNAME.with(&[to]));
                }
                self.rename_column(number, to, &old.name)?;
            }
            A::RenameKey { old: from, new: to } => self.rename_key(old, from, to)?,
            A::Rename(name) => self.rename = Some(name.clone()),
            A::Options(options) => self.set_options(options)?,
            A::ConvertCharset { charset, collation } => self.convert(charset.as_ref(), collation.as_ref())?,
            A::OrderBy(items) => self.order_by(old, items)?,
            A::Force => self.force = true,
            A::EnableKeys | A::DisableKeys => {
                self.warnings.push(error::ILLEGAL_HA.with(&[&old.name]));
            }
            A::AddForeignKey(_) => return Err(SqlError::unsupported("foreign keys")),
            A::Partition(_) => return Err(SqlError::unsupported("partitioned tables")),
            A::DiscardTablespace | A::ImportTablespace => return Err(SqlError::unsupported("tablespaces")),
            A::SecondaryLoad | A::SecondaryUnload => {
                return Err(SqlError::unsupported("secondary engines"));
            }
        }
        Ok(())
    }

    fn check(&self, name: &str) -> Option<usize> {
        let is_it = |n: &str| n.eq_ignore_ascii_case(name);
        self.draft.checks.iter().position(|c| c.name.as_deref().is_some_and(is_it))
    }

    /// Moves a column to where FIRST or AFTER say. Without them it stays behind all others, those that nobody is shown too: there
    /// a replica puts it, which has those as columns like others.
    fn place(&mut self, old: &TableDef, number: usize, place: &ColumnPlace) -> Result<()> {
        let columns = &mut self.draft.columns;
        match place {
            ColumnPlace::Last => {}
            ColumnPlace::First => {
                let column = columns.remove(number);
                columns.insert(0, column);
            }
            ColumnPlace::After(name) => {
                let column = columns.remove(number);
                let after = columns.iter().position(|c| name.is(&c.def.name));
                let after = after.ok_or_else(|| no_column(name, old))?;
                columns.insert(after + 1, column);
            }
        }
        Ok(())
    }

    fn change_column(
        &mut self,
        old: &TableDef,
        name: &str,
        definition: &ast::ColumnDefinition,
    ) -> Result<()> {
        let number = self.draft.find(name).ok_or_else(|| no_column(name, old))?;
        self.draft.make_way(&definition.name);
        if self.draft.find(&definition.name).is_some_and(|other| other != number) {
            return Err(error::DUP_FIELDNAME.with(&[&definition.name]));
        }
        let was_auto = self.is_auto(number);
        if was_auto {
            self.draft.auto_column = None;
        }
        let mut column = self.draft.column(definition)?;
        self.warnings.extend(deprecated::warnings_of(&definition.ty));
        let before = self.draft.columns[number].def.clone();
        let is_virtual = |def: &ColumnDef| def.generated.as_ref().is_some_and(|g| !g.stored);
        // A stored one may become an ordinary column, and the other way round.
        if is_virtual(&before) != is_virtual(&column.def) {
            let what = "Changing the STORED status";
            return Err(error::UNSUPPORTED_ACTION_ON_GENERATED_COLUMN.with(&[&what]));
        }
        if !before.name.eq_ignore_ascii_case(&definition.name) {
            self.rename_column(number, &definition.name, &old.name)?;
        }
        let is_read = |c: &DraftColumn| {
            c.def.is_key_part() && c.expr.as_ref().is_some_and(|e| Self::reads(e, &definition.name))
        };
        if before.ty != column.def.ty && self.draft.columns.iter().any(is_read) {
            return Err(SqlError::unsupported("another type for a column that an index's expression reads"));
        }
        column.origin = self.draft.columns[number].origin;
        let in_primary = |k: &&crate::catalog::draft::DraftKey| {
            k.kind == KeyKind::Primary
                && k.parts.iter().any(|p| p.column.eq_ignore_ascii_case(&definition.name))
        };
        if self.draft.keys.iter().any(|k| in_primary(&k)) && !column.said_null {
            column.def.nullable = false;
        }
        self.draft.columns[number] = column;
        self.draft.fit_prefixes(number);
        self.draft.add_attributes(definition)
    }

    fn is_auto(&self, number: usize) -> bool {
        let name = &self.draft.columns[number].def.name;
        self.draft.auto_column.as_deref().is_some_and(|auto| auto.eq_ignore_ascii_case(name))
    }

    /// Columns that an expression reads.
    fn reads(expr: &ast::Expr, name: &str) -> bool {
        let mut found = false;
        let _ = expr.clone().visit_mut(&mut |node| {
            if let ast::ExprKind::Column(column) = &node.kind {
                found |= column.column.is(name);
            }
            Ok::<(), ()>(())
        });
        found
    }

    /// Errors 3108 and 3772 for a column that another one is computed from.
    fn check_readers(&self, number: usize, table: &str) -> Result<()> {
        let name = &self.draft.columns[number].def.name;
        for (other, column) in self.draft.columns.iter().enumerate() {
            let Some(expr) = column.expr.as_ref().filter(|_| other != number) else { continue };
            if Self::reads(expr, name) {
                return Err(match &column.def.generated {
                    Some(_) if column.def.is_key_part() => error::DEPENDENT_BY_FUNCTIONAL_INDEX.with(&[name]),
                    Some(_) => error::DEPENDENT_BY_GENERATED_COLUMN.with(&[name]),
                    None => error::DEPENDENT_BY_DEFAULT_GENERATED_VALUE.with(&[name, &table]),
                });
            }
        }
        Ok(())
    }

    fn rename_column(&mut self, number: usize, to: &str, table: &str) -> Result<()> {
        build::check_name(to, error::WRONG_COLUMN_NAME)?;
        let from = self.draft.columns[number].def.name.clone();
        if from.eq_ignore_ascii_case(to) {
            self.draft.columns[number].def.name = to.to_owned();
            return Ok(());
        }
        self.check_readers(number, table)?;
        let reader = self.draft.checks.iter().find(|c| Self::reads(&c.expr, &from));
        if let Some(check) = reader {
            let shown = check.name.clone().unwrap_or_default();
            return Err(error::DEPENDENT_BY_CHECK_CONSTRAINT.with(&[&shown, &from]));
        }
        if self.is_auto(number) {
            self.draft.auto_column = Some(to.to_owned());
        }
        let parts = self.draft.keys.iter_mut().flat_map(|k| &mut k.parts);
        parts.filter(|p| p.column.eq_ignore_ascii_case(&from)).for_each(|p| p.column = to.to_owned());
        self.draft.columns[number].def.name = to.to_owned();
        Ok(())
    }

    /// Keys lose the column; those that were of it alone go with it, and so do checks that read nothing else.
    fn drop_column(&mut self, name: &str, table: &str) -> Result<()> {
        let number = self.draft.find(name).ok_or_else(|| cannot_drop(name))?;
        if self.draft.columns.iter().filter(|c| !c.def.is_hidden()).count() == 1 {
            return Err(error::CANT_REMOVE_ALL_FIELDS.plain());
        }
        self.check_readers(number, table)?;
        let others: Vec<String> = self
            .draft
            .columns
            .iter()
            .map(|c| c.def.name.clone())
            .filter(|n| !n.eq_ignore_ascii_case(name))
            .collect();
        for check in &self.draft.checks {
            if Self::reads(&check.expr, name) && others.iter().any(|other| Self::reads(&check.expr, other)) {
                let shown = check.name.clone().unwrap_or_default();
                return Err(error::DEPENDENT_BY_CHECK_CONSTRAINT.with(&[&shown, &name]));
            }
        }
        self.draft.checks.retain(|check| !Self::reads(&check.expr, name));
        if self.is_auto(number) {
            self.draft.auto_column = None;
        }
        for key in &mut self.draft.keys {
            key.parts.retain(|p| !p.column.eq_ignore_ascii_case(name));
        }
        self.draft.keys.retain(|key| !key.parts.is_empty());
        self.draft.columns.remove(number);
        Ok(())
    }

    /// With the generated primary key goes its column.
    fn drop_key(&mut self, name: &str) -> Result<()> {
        let key = self.draft.find_key(name).filter(|&key| !self.draft.is_row_id_key(&self.draft.keys[key]));
        let key = self.draft.keys.remove(key.ok_or_else(|| cannot_drop(name))?);
        let is_its_own = |column: &DraftColumn| {
            column.def.is_key_part() && key.parts.iter().any(|part| part.column == column.def.name)
        };
        self.draft.columns.retain(|column| !is_its_own(column));
        Ok(())
    }

    fn rename_key(&mut self, old: &TableDef, from: &str, to: &str) -> Result<()> {
        let found = self.draft.find_key(from);
        let key = found.ok_or_else(|| error::KEY_DOES_NOT_EXIST.with(&[&from, &old.name]))?;
        if from.eq_ignore_ascii_case("PRIMARY") {
            return Err(error::WRONG_NAME_FOR_INDEX.with(&[&from]));
        }
        if self.draft.find_key(to).is_some_and(|other| other != key) {
            return Err(error::DUP_KEYNAME.with(&[&to]));
        }
        self.draft.keys[key].name = Some(to.to_owned());
        Ok(())
    }

    fn set_default(&mut self, old: &TableDef, name: &str, default: Option<&ColumnDefault>) -> Result<()> {
        let number = self.draft.find(name).ok_or_else(|| no_column(name, old))?;
        let column = &self.draft.columns[number].def;
        if column.generated.is_some() {
            return Err(error::WRONG_USAGE.with(&[&"DEFAULT", &"generated column"]));
        }
        if default.is_some() && self.is_auto(number) {
            return Err(error::INVALID_DEFAULT.with(&[&name]));
        }
        let (default, expr) = match default {
            None => (Default::None, None),
            given => self.draft.default(name, &column.ty, column.nullable, given)?,
        };
        let column = &mut self.draft.columns[number];
        (column.def.default, column.expr) = (default, expr);
        Ok(())
    }

    fn set_options(&mut self, options: &[TableOption]) -> Result<()> {
        self.draft.collation = build::table_collation(options, self.draft.collation)?;
        self.options.change(options)?;
        for option in options {
            match option {
                TableOption::Engine(_) => self.force = true,
                TableOption::AutoIncrement(n) => self.auto_increment = Some((*n).max(1)),
                _ => {}
            }
            self.has_options |= !matches!(option, TableOption::Engine(_));
        }
        Ok(())
    }

    fn convert(&mut self, charset: Option<&ast::Ident>, collation: Option<&ast::Ident>) -> Result<()> {
        let words = ast::Charset { charset: charset.cloned(), collation: collation.cloned(), binary: false };
        let database = self.draft.environment.collation;
        let to = crate::types::data_type::resolve_collation(&words, database)?;
        self.draft.collation = to;
        self.has_options = true;
        for column in &mut self.draft.columns {
            let before = column.def.ty.collation();
            let wide = to.charset().char_len_max() > before.charset().char_len_max();
            if !column.def.ty.is_character() {
                continue;
            }
            match &mut column.def.ty {
                DataType::Char { collation, .. } | DataType::VarChar { collation, .. } => *collation = to,
                DataType::Enum { members, collation } | DataType::Set { members, collation } => {
                    let from = collation.charset();
                    let in_new =
                        |member: &[u8]| from.convert(member.into(), to.charset()).0.into_owned().into();
                    *members = members.iter().map(|member| in_new(member)).collect();
                    *collation = to;
                }
                DataType::Lob { collation, length_bytes } => {
                    *collation = to;
                    // It must hold as many characters as before.
                    *length_bytes = (*length_bytes + u8::from(wide)).min(4);
                }
                _ => {}
            }
            let from = before.charset();
            if let Default::Value(Datum::Bytes(text) | Datum::Label(_, text)) = &mut column.def.default {
                *text = from.convert(std::mem::take(text), to.charset()).0.into_owned().into();
            }
        }
        Ok(())
    }

    fn order_by(&mut self, old: &TableDef, items: &[ast::OrderItem]) -> Result<()> {
        for item in items {
            if let ast::ExprKind::Column(name) = &item.expr.kind
                && self.draft.find(&name.column).is_none()
            {
                return Err(error::BAD_FIELD_ERROR.with(&[&name.column, &"order clause"]));
            }
        }
        let what = format!(
            "ORDER BY ignored as there is a user-defined clustered index in the table '{}'",
            old.name
        );
        self.warnings.push(error::UNKNOWN_ERROR.with(&[&what]));
        Ok(())
    }
}
