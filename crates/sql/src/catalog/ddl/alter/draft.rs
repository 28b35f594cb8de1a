//! The actions of an ALTER TABLE, made on the draft of the table.

use std::collections::HashSet;

use super::super::Settings;
use super::{charset, existing_names, row_id};
use crate::catalog::build::{self, Options};
use crate::catalog::draft::{Draft, DraftColumn, DraftKey, DraftPart, reads_column};
use crate::catalog::table::Default;
use crate::catalog::{ColumnDef, TableDef, deprecated, engine_name};
use datum::error::{self, Result, SqlError};
use datum::types::{Collation, DataType};
use syntax::ast::{
    self, AlterAction as A, AlterTable, ColumnDefault, ColumnPlace, KeyKind, ObjectName, TableOption,
};

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
    /// Columns are placed after all else, in the order of the actions.
    in_order: bool,
    /// CONVERT TO CHARACTER SET: what each text column has in the end, those of the same statement
    /// too.
    pub(super) converts_to: Option<Collation>,
    /// A conversion that makes `?` of characters of a definition is an error. Statements of a log,
    /// which older versions took, make it.
    pub(super) refuses_loss: bool,
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
        in_order: false,
        converts_to: None,
        refuses_loss: settings.from_client,
        warnings: engine_name::check(alter.engines(), &old.name, settings)?,
    };
    // The default character set counts for columns of the same statement; drops come before what
    // takes their names.
    let order = |action: &A| match action {
        A::Options(_) | A::ConvertCharset { .. } => 0,
        A::DropForeignKey(_) => 1,
        A::DropPrimaryKey | A::DropKey(_) | A::DropCheck(_) | A::DropConstraint(_) => 1,
        // It takes keys and checks away that the statement may drop by their names.
        A::DropColumn(_) => 2,
        A::RenameColumn { .. } | A::RenameKey { .. } => 3,
        A::ChangeColumn { .. } | A::SetDefault { .. } | A::DropDefault(_) | A::SetColumnVisible { .. } => 4,
        A::AddColumns(_) => 5,
        _ => 6,
    };
    let mut actions: Vec<&A> = alter.actions.iter().collect();
    // What is computed goes before what it is computed of, which stands in front of it.
    let readers_first = |action: &A| match action {
        A::DropColumn(name) => {
            let number = old.columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
            number
                .filter(|&number| old.columns[number].is_computed())
                .map_or(0, |number| -(number as i64) - 1)
        }
        _ => 0,
    };
    actions.sort_by_key(|action| (order(action), readers_first(action)));
    if settings.from_client {
        existing_names::check_before(old, &actions)?;
        row_id::check_named(old, &actions)?;
    }
    let drops_row_id = row_id::drops(old, &actions);
    let renames = actions.iter().position(|action| order(action) > 2).unwrap_or(actions.len());
    for action in &actions[..renames] {
        match action {
            _ if drops_row_id && row_id::is_drop(old, action) => {}
            A::DropColumn(name) if row_id::goes_with_key(old, &actions, name) => {}
            A::DropColumn(name) if adds(&actions, name) => changed.drop_column(name, &old.name, true)?,
            _ => changed.action(old, action)?,
        }
    }
    changed.rename_columns(old, &actions[renames..])?;
    changed.rename_keys(old, &actions[renames..])?;
    if settings.from_client {
        existing_names::check_left(old, &changed.draft, &actions)?;
    }
    changed.in_order = settings.from_client || alter.in_order;
    for action in &actions[renames..] {
        changed.action(old, action)?;
    }
    changed.drop_whole_prefixes(&actions);
    if let Some(to) = changed.converts_to {
        let refuses_loss = changed.refuses_loss;
        let mut columns = changed.draft.columns.iter_mut();
        columns.try_for_each(|column| charset::convert_column(column, to, refuses_loss))?;
        changed.convert_to_lobs()?;
    }
    if changed.in_order {
        changed.place_in_order(old, &alter.actions)?;
    }
    if drops_row_id && !changed.draft.drop_row_id() {
        return Err(cannot_drop("PRIMARY"));
    }
    let is_no_column = |column: &DraftColumn| column.def.is_hidden() || row_id::is_generated_key(&column.def);
    if changed.draft.columns.iter().all(is_no_column) {
        return Err(error::CANT_REMOVE_ALL_FIELDS.plain());
    }
    Ok(changed)
}

/// What a key part of such a column has, in characters or bytes.
fn key_length(ty: &DataType) -> u32 {
    match ty {
        DataType::Char { length, .. } => u32::from(*length),
        DataType::VarChar { length, .. } => u32::from(*length),
        other => other.row_bytes(),
    }
}

/// Where FIRST is: after a generated primary key that leads the table, as MySQL takes any column
/// of that name and form for one, and row events go by place.
fn first_place(columns: &[DraftColumn]) -> usize {
    usize::from(columns.first().is_some_and(|column| row_id::is_generated_key(&column.def)))
}

/// True if a column of this name is added.
fn adds(actions: &[&A], name: &str) -> bool {
    actions.iter().any(|action| match action {
        A::AddColumns(columns) => columns.iter().any(|(column, _)| column.name.eq_ignore_ascii_case(name)),
        _ => false,
    })
}

/// True if older versions may have placed columns otherwise.
pub(super) fn places_added_and_changed(alter: &AlterTable) -> bool {
    let is_placed =
        |action: &A| matches!(action, A::ChangeColumn { place, .. } if *place != ColumnPlace::Last);
    let adds = alter.actions.iter().any(|action| matches!(action, A::AddColumns(_)));
    adds && alter.actions.iter().any(is_placed)
}

pub(super) fn no_column(name: &str, table: &TableDef) -> SqlError {
    error::BAD_FIELD_ERROR.with(&[&name, &table.name])
}

pub(super) fn cannot_drop(name: &str) -> SqlError {
    error::CANT_DROP_FIELD_OR_KEY.with(&[&name])
}

impl Changed {
    fn action(&mut self, old: &TableDef, action: &A) -> Result<()> {
        let draft = &mut self.draft;
        match action {
            A::AddColumns(columns) => {
                for (definition, place) in columns {
                    self.draft.add_column(definition)?;
                    if let Some(references) = &definition.attributes.references {
                        self.draft.add_reference(&definition.name, references, &old.database)?;
                    }
                    self.warnings.extend(deprecated::of_column(definition));
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
            A::ChangeColumn { definition, place, .. } => {
                self.change_column(old, definition)?;
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
            A::DropColumn(name) => self.drop_column(name, &old.name, false)?,
            A::DropPrimaryKey => self.drop_key("PRIMARY")?,
            A::DropKey(name) => self.drop_key(name)?,
            A::DropForeignKey(name) => {
                let found = draft.find_foreign_key(name).ok_or_else(|| cannot_drop(name))?;
                draft.foreign_keys.remove(found);
            }
            A::DropCheck(name) => match self.check(name) {
                Some(check) => drop(self.draft.checks.remove(check)),
                // The statement names it twice.
                None if old.check_named(name).is_some() => {}
                None => return Err(error::CHECK_CONSTRAINT_NOT_FOUND.with(&[name])),
            },
            A::DropConstraint(name) => match (self.check(name), self.draft.find_key(name)) {
                (Some(check), _) => drop(self.draft.checks.remove(check)),
                _ if let Some(key) = self.draft.find_foreign_key(name) => {
                    self.draft.foreign_keys.remove(key);
                }
                (None, Some(key)) if self.draft.keys[key].kind != KeyKind::Index => self.drop_key(name)?,
                _ if old.check_named(name).is_some() => {}
                _ => return Err(error::CONSTRAINT_NOT_FOUND.with(&[name])),
            },
            A::SetCheckEnforced { name, enforced, .. } => {
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
            // All of them together: see `rename_columns` and `rename_keys`.
            A::RenameColumn { .. } | A::RenameKey { .. } => {}
            A::Rename(name) => self.rename = Some(name.clone()),
            A::Options(options) => self.set_options(options)?,
            A::ConvertCharset { charset, collation } => self.convert(charset.as_ref(), collation.as_ref())?,
            A::OrderBy(items) => self.order_by(old, items)?,
            A::Force => self.force = true,
            A::EnableKeys | A::DisableKeys => {
                self.warnings.push(error::ILLEGAL_HA.with(&[&old.name]));
            }
            A::AddForeignKey(key) => draft.add_foreign_key(key, &old.database)?,
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

    /// Moves a column to where FIRST or AFTER say. Without them it stays after all others, those
    /// that nobody is shown too: there a replica puts it, which has those as columns like others.
    fn place(&mut self, old: &TableDef, number: usize, place: &ColumnPlace) -> Result<()> {
        let columns = &mut self.draft.columns;
        match place {
            _ if self.in_order => {}
            ColumnPlace::Last => {}
            ColumnPlace::First(_) => {
                let column = columns.remove(number);
                columns.insert(first_place(columns), column);
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

    /// As MySQL does: each column that is changed with a place, or added, goes to its place in the
    /// order of the actions. Those that were there are at their old places until then, while AFTER
    /// does not know of one that a later action adds.
    fn place_in_order(&mut self, old: &TableDef, actions: &[A]) -> Result<()> {
        let mut moved: Vec<(&str, &ColumnPlace)> = Vec::new();
        let mut added_names: HashSet<String> = HashSet::new();
        for action in actions {
            match action {
                A::ChangeColumn { definition, place, .. } if *place != ColumnPlace::Last => {
                    moved.push((&definition.name, place));
                }
                A::AddColumns(added) => {
                    added_names.extend(added.iter().map(|(column, _)| column.name.to_ascii_lowercase()));
                    moved.extend(added.iter().map(|(definition, place)| (&*definition.name, place)));
                }
                _ => {}
            }
        }
        let is_added = |column: &DraftColumn| added_names.contains(&column.def.name.to_ascii_lowercase());
        let all = std::mem::take(&mut self.draft.columns);
        let (mut added, mut placed): (Vec<DraftColumn>, Vec<DraftColumn>) =
            all.into_iter().partition(is_added);
        for (name, place) in moved {
            let find = |columns: &[DraftColumn], name: &str| {
                columns.iter().position(|column| column.def.name.eq_ignore_ascii_case(name))
            };
            let column = match (find(&added, name), find(&placed, name)) {
                (Some(at), _) => added.remove(at),
                (None, Some(at)) => placed.remove(at),
                (None, None) => return Err(no_column(name, old)),
            };
            let at = match place {
                ColumnPlace::Last => placed.len(),
                ColumnPlace::First(_) => first_place(&placed),
                ColumnPlace::After(name) => find(&placed, name).ok_or_else(|| no_column(name, old))? + 1,
            };
            placed.insert(at, column);
        }
        self.draft.columns = placed;
        Ok(())
    }

    fn change_column(&mut self, old: &TableDef, definition: &ast::ColumnDefinition) -> Result<()> {
        // It has its new name already.
        let number = self.draft.find(&definition.name).ok_or_else(|| no_column(&definition.name, old))?;
        let was_auto = self.is_auto(number);
        if was_auto {
            self.draft.auto_column = None;
        }
        let mut column = self.draft.column(definition)?;
        self.warnings.extend(deprecated::of_column(definition));
        let before = self.draft.columns[number].def.clone();
        let is_virtual = |def: &ColumnDef| def.generated.as_ref().is_some_and(|g| !g.stored);
        // A stored one may become an ordinary column, and the other way round.
        if is_virtual(&before) != is_virtual(&column.def) {
            let what = "Changing the STORED status";
            return Err(error::UNSUPPORTED_ACTION_ON_GENERATED_COLUMN.with(&[&what]));
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
        if self.draft.columns[number].def.is_row_id() && !definition.attributes.auto_increment {
            self.draft.number_by_clock(number)?;
        }
        self.draft.fit_prefixes(number);
        self.draft.add_attributes(definition)
    }

    fn is_auto(&self, number: usize) -> bool {
        let name = &self.draft.columns[number].def.name;
        self.draft.auto_column.as_deref().is_some_and(|auto| auto.eq_ignore_ascii_case(name))
    }

    /// Columns that an expression reads.
    pub(super) fn reads(expr: &ast::Expr, name: &str) -> bool {
        reads_column(expr, name)
    }

    /// Errors 3108 and 3772 for a column that another one is computed from.
    pub(super) fn check_readers(&self, number: usize, table: &str) -> Result<()> {
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

    /// Keys lose the column; those that were of it alone go with it, and so do checks that read
    /// nothing else. If the statement adds one of the same name, that `takes_place` of it in keys.
    fn drop_column(&mut self, name: &str, table: &str, takes_place: bool) -> Result<()> {
        let number = self.draft.find(name).ok_or_else(|| cannot_drop(name))?;
        self.check_readers(number, table)?;
        let is_it = |column: &String| column.eq_ignore_ascii_case(name);
        if let Some(key) = self.draft.foreign_keys.iter().find(|key| key.columns.iter().any(is_it)) {
            let key = key.name.clone().unwrap_or_default();
            return Err(error::FK_COLUMN_CANNOT_DROP.with(&[&name, &key]));
        }
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
        if takes_place {
            let length = key_length(&self.draft.columns[number].def.ty);
            for part in self.draft.keys.iter_mut().flat_map(|key| &mut key.parts) {
                if part.column.eq_ignore_ascii_case(name) {
                    part.prefix_len.get_or_insert(length);
                }
            }
        } else {
            for key in &mut self.draft.keys {
                key.parts.retain(|p| !p.column.eq_ignore_ascii_case(name));
            }
            self.draft.keys.retain(|key| !key.parts.is_empty());
        }
        self.draft.columns.remove(number);
        Ok(())
    }

    /// The parts of keys whose column was dropped and is added again keep their lengths, as in
    /// MySQL: a column that has just this length is in the key as a whole.
    fn drop_whole_prefixes(&mut self, actions: &[&A]) {
        for action in actions {
            let A::DropColumn(name) = action else { continue };
            let Some(number) = self.draft.find(name).filter(|_| adds(actions, name)) else { continue };
            let length = Some(key_length(&self.draft.columns[number].def.ty));
            for part in self.draft.keys.iter_mut().flat_map(|key| &mut key.parts) {
                if part.column.eq_ignore_ascii_case(name) && part.prefix_len == length {
                    part.prefix_len = None;
                }
            }
        }
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

    fn set_default(&mut self, old: &TableDef, name: &str, default: Option<&ColumnDefault>) -> Result<()> {
        let number = self.draft.find(name).ok_or_else(|| no_column(name, old))?;
        let column = &self.draft.columns[number].def;
        if column.generated.is_some() {
            return Err(error::WRONG_USAGE.with(&[&"DEFAULT", &"generated column"]));
        }
        if default.is_some() && self.is_auto(number) {
            return Err(error::INVALID_DEFAULT.with(&[&name]));
        }
        if let Some(ColumnDefault::Literal(literal)) = default
            && matches!(column.ty, DataType::Lob { .. })
            && deprecated::is_empty_text(literal)
        {
            return Err(error::BLOB_CANT_HAVE_DEFAULT.with(&[&name]));
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

    /// Rows are kept in the order of their primary key, a hidden one where the table has none:
    /// ORDER BY moves no row. As in MySQL columns that don't exist are no error where there is a
    /// key.
    fn order_by(&mut self, old: &TableDef, items: &[ast::OrderItem]) -> Result<()> {
        if self.has_clustered_key() {
            let what = format!(
                "ORDER BY ignored as there is a user-defined clustered index in the table '{}'",
                old.name
            );
            self.warnings.push(error::UNKNOWN_ERROR.with(&[&what]));
            return Ok(());
        }
        for item in items {
            if let ast::ExprKind::Column(name) = &item.expr.kind
                && self.draft.find(&name.column).is_none()
            {
                return Err(error::BAD_FIELD_ERROR.with(&[&name.column, &"order clause"]));
            }
        }
        let what = format!("ORDER BY ignored: rows of '{}' are kept in the order of insertion", old.name);
        self.warnings.push(error::UNKNOWN_ERROR.with(&[&what]));
        Ok(())
    }

    /// True if the table has what InnoDB would order its rows by: a primary key that is shown, or a
    /// unique key of whole columns that are NOT NULL and stored.
    fn has_clustered_key(&self) -> bool {
        let draft = &self.draft;
        let orders = |part: &DraftPart| {
            let column = draft.find(&part.column).map(|number| &draft.columns[number].def);
            part.prefix_len.is_none()
                && column.is_some_and(|c| !c.nullable && c.generated.as_ref().is_none_or(|g| g.stored))
        };
        draft.keys.iter().any(|key| match key.kind {
            KeyKind::Primary => !draft.is_row_id_key(key),
            KeyKind::Unique => key.parts.iter().all(orders),
            _ => false,
        })
    }
}
