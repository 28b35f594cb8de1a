//! Foreign keys as definitions: what a table's rows refer to, and by which indexes that is found.
//!
//! A foreign key belongs to the table that refers (the *child*), and is kept in its definition. The
//! table that is referred to (the *parent*) is named, not held: it may be missing, where a session
//! with `foreign_key_checks = 0` said so. What a row's change means for the others is in
//! `executor/foreign_keys.rs`; which definitions may be made, in `ddl/foreign_keys.rs`.
//!
//! (F1) A child has an index that begins with the foreign key's columns, in their order, whole.
//! (F2) A parent that is there has all referenced columns, of types that compare with the child's,
//!      and an index that begins with them in the foreign key's order.
//! (F3) [`TableDef::referenced_by`] of a table names every table with a foreign key to it, and no
//!      other: whoever changes a foreign key holds the locks of child and parent.

use syntax::ast::ReferenceAction;

use super::table::{IndexDef, TableDef};
use datum::types::DataType;

/// A table's database and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableName {
    /// Byte for byte, as all names of databases and tables.
    pub database: String,
    /// Without the database.
    pub name: String,
}

/// A FOREIGN KEY constraint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignKeyDef {
    /// As declared, or given by the server (`t_ibfk_1`). No other of the database has it.
    pub name: String,
    /// The columns that refer, by their numbers.
    pub columns: Vec<usize>,
    /// The table that is referred to.
    pub parent: TableName,
    /// Its columns, one for each of `columns`.
    pub parent_columns: Vec<String>,
    /// What becomes of a row whose parent is deleted. [`ReferenceAction::NoAction`] if nothing is
    /// said.
    pub on_delete: ReferenceAction,
    /// What becomes of a row whose parent's key changes.
    pub on_update: ReferenceAction,
}

impl ForeignKeyDef {
    /// True if a change of the parent changes rows of the child.
    pub fn has_action(&self) -> bool {
        acts(self.on_delete) || acts(self.on_update)
    }

    /// The index of the child that finds the rows that refer (F1).
    pub fn child_index(&self, child: &TableDef) -> Option<usize> {
        index_on(&child.indexes, &self.columns)
    }

    /// The referenced columns by their numbers; `None` if one is missing.
    pub fn numbers_in(&self, parent: &TableDef) -> Option<Vec<usize>> {
        self.parent_columns.iter().map(|name| parent.column_index(name)).collect()
    }

    /// The index of the parent that finds the row that is referred to (F2): a unique one of just
    /// these columns if there is one.
    pub fn parent_index(&self, parent: &TableDef) -> Option<usize> {
        let columns = self.numbers_in(parent)?;
        unique_index_on(&parent.indexes, &columns).or_else(|| index_on(&parent.indexes, &columns))
    }
}

/// True for an action that changes rows. SET DEFAULT does not: it keeps the parent as it is, as in
/// MySQL 9.7.
pub(crate) fn acts(action: ReferenceAction) -> bool {
    matches!(action, ReferenceAction::Cascade | ReferenceAction::SetNull)
}

/// The first index that begins with these columns, in this order, whole and ascending, as MySQL has
/// it.
pub(crate) fn index_on(indexes: &[IndexDef], columns: &[usize]) -> Option<usize> {
    indexes.iter().position(|index| begins_with(index, columns))
}

/// The first unique index of these columns, in this order, whole, and no others.
pub(crate) fn unique_index_on(indexes: &[IndexDef], columns: &[usize]) -> Option<usize> {
    let is_it =
        |index: &IndexDef| index.unique && index.parts.len() == columns.len() && begins_with(index, columns);
    indexes.iter().position(is_it)
}

fn begins_with(index: &IndexDef, columns: &[usize]) -> bool {
    let is_it = |(part, column): (&storage::schema::KeyPart, &usize)| {
        part.column == *column && part.prefix_len.is_none() && !part.descending
    };
    index.parts.len() >= columns.len() && index.parts.iter().zip(columns).all(is_it)
}

/// True if values of the two columns can be compared as keys, as InnoDB judges it: integers of one
/// size and sign, text of one collation, labels of as many bytes, and otherwise the same type in
/// any length.
pub(crate) fn are_compatible(child: &DataType, parent: &DataType) -> bool {
    use DataType as T;
    match (child, parent) {
        (T::Integer { size: a, sign: s, .. }, T::Integer { size: b, sign: t, .. }) => {
            a == b && s.unsigned == t.unsigned
        }
        (T::Floating { double: a, .. }, T::Floating { double: b, .. }) => a == b,
        (
            T::Char { collation: a, .. } | T::VarChar { collation: a, .. },
            T::Char { collation: b, .. } | T::VarChar { collation: b, .. },
        ) => a == b,
        (T::Enum { .. }, T::Enum { .. }) | (T::Set { .. }, T::Set { .. }) => {
            child.row_bytes() == parent.row_bytes()
        }
        (child, parent) => std::mem::discriminant(child) == std::mem::discriminant(parent),
    }
}

/// True if a value of one column has the same bytes in the other.
pub(crate) fn have_same_bytes(a: &DataType, b: &DataType) -> bool {
    use DataType as T;
    match (a, b) {
        (T::Integer { .. }, T::Integer { .. })
        | (T::Enum { .. }, T::Enum { .. })
        | (T::Set { .. }, T::Set { .. }) => a.row_bytes() == b.row_bytes(),
        (a, b) => a.column_type() == b.column_type(),
    }
}

/// True if every value of the column is the same one in its new type, and all others that rows of
/// other tables may have compare with it as before.
pub(crate) fn keeps_values(before: &DataType, after: &DataType) -> bool {
    use DataType as T;
    match (before, after) {
        (T::VarChar { length: a, collation: x }, T::VarChar { length: b, collation: y }) => {
            x == y && a <= b && (before.byte_length() > 255) == (after.byte_length() > 255)
        }
        (T::Enum { .. } | T::Set { .. }, _) => before == after,
        _ => before.column_type() == after.column_type(),
    }
}
