//! What the catalog holds besides tables and views: databases, functions, users; and all of them
//! together.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::account::{UserAtHost, UserDef};
use super::event::EventDef;
use super::foreign_key::TableName;
use super::set_aside::{ObjectKey, SetAside};
use super::show::{quote, quote_text_for};
use super::table::TableDef;
use super::view::Views;
use datum::types::Collation;
use syntax::ast::{Characteristics, DataAccess, RoutineKind, SqlSecurity};

/// Everything, at one position of the log.
#[derive(Debug, Clone, Default)]
pub struct CatalogState {
    /// Databases by name.
    pub databases: BTreeMap<String, DatabaseDef>,
    /// Accounts; [`Self::user`] picks the one of a client.
    pub users: BTreeMap<UserAtHost, UserDef>,
    /// What can't be used, and is kept as it is.
    pub set_aside: BTreeMap<ObjectKey, SetAside>,
    /// Numbers not given out yet.
    pub next: NextNumbers,
    /// The tables that foreign keys refer to, whether they are there or not, each with those that
    /// refer to it (F3 of `foreign_key.rs`).
    pub(crate) references: BTreeMap<TableName, BTreeSet<TableName>>,
}

/// Numbers that are given to tables and trees, once each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NextNumbers {
    pub(crate) table: u64,
    pub(crate) tree: u32,
}

impl std::default::Default for NextNumbers {
    fn default() -> Self {
        // Trees below 256 are the server's own.
        Self { table: 1, tree: 256 }
    }
}

/// A schema with all that is in it; its name is the key in [`CatalogState::databases`].
#[derive(Debug, Clone)]
pub struct DatabaseDef {
    /// Its default collation.
    pub collation: Collation,
    /// Its tables by name.
    pub tables: BTreeMap<String, Arc<TableDef>>,
    /// Its stored functions by name in lower case.
    pub functions: BTreeMap<String, Arc<RoutineDef>>,
    /// Its stored procedures by name in lower case; a function may have the same one.
    pub procedures: BTreeMap<String, Arc<RoutineDef>>,
    /// Its events by name in lower case.
    pub(crate) events: BTreeMap<String, Arc<EventDef>>,
    /// Its views by name; no table has the same one.
    pub(crate) views: Views,
}

impl DatabaseDef {
    /// Its stored functions or procedures by name in lower case.
    pub(crate) fn routines(&self, kind: RoutineKind) -> &BTreeMap<String, Arc<RoutineDef>> {
        match kind {
            RoutineKind::Function => &self.functions,
            RoutineKind::Procedure => &self.procedures,
        }
    }

    pub(crate) fn routines_mut(&mut self, kind: RoutineKind) -> &mut BTreeMap<String, Arc<RoutineDef>> {
        match kind {
            RoutineKind::Function => &mut self.functions,
            RoutineKind::Procedure => &mut self.procedures,
        }
    }
}

/// When a routine was made, and when its characteristics were altered last: seconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RoutineTimes {
    pub(crate) created: i64,
    pub(crate) altered: i64,
}

/// A stored function or procedure, as it was created.
#[derive(Debug)]
pub struct RoutineDef {
    /// Which of the two it is.
    pub kind: RoutineKind,
    pub(crate) database: String,
    pub(crate) name: String,
    /// The account whose it is.
    pub definer: UserAtHost,
    /// The text between the parentheses.
    pub parameters: String,
    /// The type after RETURNS, with character set; empty for a procedure.
    pub(crate) returns: String,
    /// What was said of it.
    pub(crate) characteristics: Characteristics,
    /// Its body's text.
    pub body: Vec<u8>,
    /// The sql_mode it was created under, and runs under.
    pub sql_mode: u64,
    /// `collation_connection` at its creation.
    pub connection: Collation,
    /// The database's collation at its creation.
    pub(crate) database_collation: Collation,
    /// When it was made and altered; `None` where an older version has not kept it.
    pub(crate) times: Option<RoutineTimes>,
    /// What it was compiled to, at its first call.
    pub(crate) compiled: std::sync::OnceLock<Arc<crate::routine::Routine>>,
}

impl RoutineDef {
    /// The text of its CREATE statement, as SHOW CREATE FUNCTION and the log have it.
    pub fn text(&self) -> Vec<u8> {
        let UserAtHost { user, host } = &self.definer;
        let mut out = format!(
            "CREATE DEFINER={}@{} {} {}({})",
            quote(user),
            quote(host),
            self.kind.name(),
            quote(&self.name),
            self.parameters,
        );
        if self.kind == RoutineKind::Function {
            out += &format!(" RETURNS {}", self.returns);
        }
        out += "\n";
        let c = &self.characteristics;
        match c.data_access {
            Some(DataAccess::NoSql) => out += "    NO SQL\n",
            Some(DataAccess::ReadsSqlData) => out += "    READS SQL DATA\n",
            Some(DataAccess::ModifiesSqlData) => out += "    MODIFIES SQL DATA\n",
            Some(DataAccess::ContainsSql) | None => {}
        }
        if c.deterministic == Some(true) {
            out += "    DETERMINISTIC\n";
        }
        if c.security == Some(SqlSecurity::Invoker) {
            out += "    SQL SECURITY INVOKER\n";
        }
        if let Some(comment) = c.comment.as_ref().filter(|comment| !comment.is_empty()) {
            out += &format!("    COMMENT {}\n", quote_text_for(&comment.to_str_lossy(), self.sql_mode));
        }
        let mut out = out.into_bytes();
        out.extend_from_slice(&self.body);
        out
    }
}

impl CatalogState {
    pub(crate) fn database(&self, name: &str) -> Option<&DatabaseDef> {
        self.databases.get(name)
    }

    pub(crate) fn table(&self, database: &str, name: &str) -> Option<&Arc<TableDef>> {
        self.databases.get(database)?.tables.get(name)
    }

    /// Puts a table's definition in the place of the one of its name; nothing if its database is
    /// not there. What others know of its foreign keys follows (F3 of `foreign_key.rs`).
    pub(crate) fn put_table(&mut self, table: &Arc<TableDef>) {
        if !self.databases.contains_key(&table.database) {
            return;
        }
        let name = table.qualified_name();
        let parents = |table: &TableDef| -> BTreeSet<TableName> {
            table.foreign_keys.iter().map(|key| key.parent.clone()).collect()
        };
        let before = self.table(&name.database, &name.name).map(|old| parents(old)).unwrap_or_default();
        let now = parents(table);
        let referenced_by = self.referenced_by(&name);
        let table = match table.referenced_by[..] == referenced_by[..] {
            true => table.clone(),
            false => Arc::new(TableDef { referenced_by, ..TableDef::clone(table) }),
        };
        if let Some(database) = self.databases.get_mut(&name.database) {
            database.tables.insert(name.name.clone(), table);
        }
        before.difference(&now).for_each(|parent| self.remove_reference(parent, &name));
        for parent in now.difference(&before) {
            self.references.entry(parent.clone()).or_default().insert(name.clone());
            self.update_parent(parent);
        }
    }

    /// Takes a table's definition away.
    pub(crate) fn remove_table(&mut self, database: &str, name: &str) {
        let of_database = self.databases.get_mut(database);
        let Some(table) = of_database.and_then(|database| database.tables.remove(name)) else { return };
        let name = table.qualified_name();
        let parents: BTreeSet<&TableName> = table.foreign_keys.iter().map(|key| &key.parent).collect();
        parents.into_iter().for_each(|parent| self.remove_reference(parent, &name));
    }

    fn remove_reference(&mut self, parent: &TableName, child: &TableName) {
        if let Some(children) = self.references.get_mut(parent) {
            children.remove(child);
            if children.is_empty() {
                self.references.remove(parent);
            }
        }
        self.update_parent(parent);
    }

    /// The tables with foreign keys to one.
    pub(crate) fn referenced_by(&self, parent: &TableName) -> Arc<[TableName]> {
        self.references.get(parent).into_iter().flatten().cloned().collect()
    }

    /// Gives a parent that is there the list of its children.
    fn update_parent(&mut self, parent: &TableName) {
        let referenced_by = self.referenced_by(parent);
        let of_database = self.databases.get_mut(&parent.database);
        if let Some(table) = of_database.and_then(|database| database.tables.get_mut(&parent.name))
            && table.referenced_by[..] != referenced_by[..]
        {
            *table = Arc::new(TableDef { referenced_by, ..TableDef::clone(table) });
        }
    }

    /// A stored function, its name in any case.
    pub(crate) fn function(&self, database: &str, name: &str) -> Option<&Arc<RoutineDef>> {
        self.databases.get(database)?.functions.get(&name.to_lowercase())
    }

    /// A stored function or procedure, its name in any case.
    pub(crate) fn routine(&self, kind: RoutineKind, database: &str, name: &str) -> Option<&Arc<RoutineDef>> {
        self.databases.get(database)?.routines(kind).get(&name.to_lowercase())
    }

    /// The account that MySQL's matching picks for a client.
    pub fn user(&self, user: &str, host: &str) -> Option<&UserDef> {
        self.users
            .values()
            .filter(|account| account.fits(user, host))
            .max_by_key(|account| account.exactness())
    }
}
