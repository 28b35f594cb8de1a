//! Views: their definitions, and the text that makes one.
//!
//! A view is kept as the canonical text of its query ([`syntax::unparse`]): every table with its
//! database, every column with its table, `*` as the columns that it meant. So the text means the
//! same in every session. It is parsed when a statement first uses the view, and bound each time:
//! what became of its tables meanwhile is of no interest before.
//!
//! (V1) A definition is never changed: one that takes its place is another [`ViewDef`] with the
//!      same lock, so who waits for the view waits for its name.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::account::UserAtHost;
use super::metadata_lock::MetadataLock;
use super::objects::CatalogState;
use super::parse_one;
use super::show::quote;
use datum::error::{Result, SqlError};
use datum::types::Collation;
use syntax::ast::visit::{self, Visitor};
use syntax::ast::visit_mut::{self, VisitorMut};
use syntax::ast::{
    CheckOption, Expr, ExprKind, JoinKind, ObjectName, Query, QueryBody, Select, SelectItem, StatementKind,
    TableFactor, TableReference, ViewAlgorithm,
};

/// Views by name, of one database.
pub(crate) type Views = BTreeMap<String, Arc<ViewDef>>;

/// A view, as it was created.
#[derive(Debug)]
pub struct ViewDef {
    pub(crate) database: String,
    pub(crate) name: String,
    /// The names that were given to its columns; empty if they are the query's.
    pub(crate) columns: Vec<String>,
    /// The query's canonical text, for a `sql_mode` without [`crate::variables::sql_mode::SYNTAX`].
    pub(crate) query: Vec<u8>,
    pub(crate) algorithm: ViewAlgorithm,
    pub(crate) definer: UserAtHost,
    /// SQL SECURITY INVOKER: its tables are read with the rights of who uses it.
    pub(crate) invoker: bool,
    pub(crate) check_option: Option<CheckOption>,
    /// `collation_connection` at its creation, which its strings have.
    pub(crate) connection: Collation,
    /// If the `sql_mode` was strict at its creation: more of its columns can be NULL then, as far
    /// as DESCRIBE and `information_schema` tell.
    pub(crate) strict: bool,
    /// Statements that use it hold this.
    pub(crate) lock: Arc<MetadataLock>,
    /// The query's tree, once it was asked for.
    pub(crate) parsed: OnceLock<Arc<Query>>,
}

/// The tree of a view's query.
///
/// # Errors
/// What parsing fails with; 1815 for a text that is no query.
pub(crate) fn parse_query(text: &[u8]) -> Result<Query> {
    match parse_one(text, 0)?.kind {
        StatementKind::Query(query) => Ok(*query),
        _ => Err(SqlError::internal("a view's text that is no query")),
    }
}

/// The verb of the statement that makes a view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ViewVerb {
    Create,
    CreateOrReplace,
    Alter,
}

impl ViewDef {
    /// The query's tree.
    pub(crate) fn tree(&self) -> Result<Arc<Query>> {
        if let Some(parsed) = self.parsed.get() {
            return Ok(parsed.clone());
        }
        let parsed = Arc::new(parse_query(&self.query)?);
        Ok(self.parsed.get_or_init(|| parsed).clone())
    }

    /// The statement that makes it, whatever the default database: for the log.
    pub(crate) fn statement(&self, verb: ViewVerb) -> Vec<u8> {
        let verb = match verb {
            ViewVerb::Create => "CREATE",
            ViewVerb::CreateOrReplace => "CREATE OR REPLACE",
            ViewVerb::Alter => "ALTER",
        };
        self.text(verb, true, &self.query)
    }

    /// What SHOW CREATE VIEW shows: without databases if all are the default one.
    pub(crate) fn shown(&self, default: Option<&str>) -> Vec<u8> {
        let shortened = match self.tree() {
            Ok(tree) if default == Some(&self.database) => self.without_database(&tree),
            _ => None,
        };
        match shortened {
            Some(query) => self.text("CREATE", false, &query),
            None => self.text("CREATE", default != Some(&self.database), &self.query),
        }
    }

    /// The query's text without databases; `None` if it names another one.
    fn without_database(&self, tree: &Query) -> Option<Vec<u8>> {
        let names = Uses::of(tree);
        let mut databases = names.tables.iter().chain(&names.functions).map(|(database, _)| database);
        if !databases.all(|database| *database == self.database) {
            return None;
        }
        let mut query = tree.clone();
        Shorten.query(&mut query);
        Some(syntax::unparse::query(&query))
    }

    fn text(&self, verb: &str, qualified: bool, query: &[u8]) -> Vec<u8> {
        let UserAtHost { user, host } = &self.definer;
        let name = match qualified {
            true => format!("{}.{}", quote(&self.database), quote(&self.name)),
            false => quote(&self.name),
        };
        let columns: Vec<String> = self.columns.iter().map(|column| quote(column)).collect();
        let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(",")) };
        let mut text = format!(
            "{verb} ALGORITHM={} DEFINER={}@{} SQL SECURITY {} VIEW {name}{columns} AS ",
            self.algorithm_word(),
            quote(user),
            quote(host),
            self.security_word(),
        )
        .into_bytes();
        text.extend_from_slice(query);
        if let Some(option) = self.check_option {
            text.extend_from_slice(match option {
                CheckOption::Cascaded => b" WITH CASCADED CHECK OPTION",
                CheckOption::Local => b" WITH LOCAL CHECK OPTION",
            });
        }
        text
    }

    fn algorithm_word(&self) -> &'static str {
        match self.algorithm {
            ViewAlgorithm::Undefined => "UNDEFINED",
            ViewAlgorithm::Merge => "MERGE",
            ViewAlgorithm::TempTable => "TEMPTABLE",
        }
    }

    /// DEFINER or INVOKER.
    pub(crate) fn security_word(&self) -> &'static str {
        if self.invoker { "INVOKER" } else { "DEFINER" }
    }

    /// The same under another name of the same database.
    pub(crate) fn renamed(&self, name: &str) -> ViewDef {
        ViewDef {
            database: self.database.clone(),
            name: name.to_owned(),
            columns: self.columns.clone(),
            query: self.query.clone(),
            algorithm: self.algorithm,
            definer: self.definer.clone(),
            invoker: self.invoker,
            check_option: self.check_option,
            connection: self.connection,
            strict: self.strict,
            lock: self.lock.clone(),
            parsed: OnceLock::new(),
        }
    }

    /// What of it differs from another definition; `None` if nothing does.
    pub(crate) fn difference(&self, other: &ViewDef) -> Option<&'static str> {
        // All fields are named, so that a new one is not forgotten.
        let ViewDef {
            database,
            name,
            columns,
            query,
            algorithm,
            definer,
            invoker,
            check_option,
            connection,
            strict,
            lock: _,
            parsed: _, // of the query
        } = self;
        let same = [
            (*database == other.database && *name == other.name, "name"),
            (*columns == other.columns, "columns"),
            (*query == other.query, "query"),
            (*algorithm == other.algorithm, "ALGORITHM"),
            (*definer == other.definer, "DEFINER"),
            (*invoker == other.invoker, "SQL SECURITY"),
            (*check_option == other.check_option, "CHECK OPTION"),
            (*connection == other.connection, "collation"),
            (*strict == other.strict, "sql_mode"),
        ];
        same.iter().find(|(is_same, _)| !is_same).map(|(_, what)| *what)
    }
}

/// Takes the databases away.
struct Shorten;

impl VisitorMut for Shorten {
    fn table(&mut self, table: &mut TableReference) {
        if let TableReference::Table(factor) = table {
            factor.name.database = None;
        }
        visit_mut::walk_table(self, table);
    }

    fn body(&mut self, body: &mut QueryBody) {
        if let QueryBody::Table(name) = body {
            name.database = None;
        }
        visit_mut::walk_body(self, body);
    }

    fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Column(name) => name.database = None,
            ExprKind::Default(Some(name)) => name.database = None,
            _ => {}
        }
        visit_mut::walk_expr(self, expr);
    }
}

/// The tables, views and stored functions that a view's query names: database, name.
#[derive(Debug, Default)]
pub(crate) struct Uses {
    pub(crate) tables: BTreeSet<(String, String)>,
    pub(crate) functions: BTreeSet<(String, String)>,
}

impl Uses {
    /// Those of a canonical tree, in which only tables of WITH and DUAL have no database.
    pub(crate) fn of(query: &Query) -> Uses {
        let mut uses = Uses::default();
        uses.query(query);
        uses
    }

    fn add(&mut self, name: &ObjectName) {
        if let Some(database) = &name.database {
            self.tables.insert((database.to_string(), name.name.to_string()));
        }
    }
}

impl<'a> Visitor<'a> for Uses {
    fn table(&mut self, table: &'a TableReference) {
        if let TableReference::Table(factor) = table {
            self.add(&factor.name);
        }
        visit::walk_table(self, table);
    }

    fn named_table(&mut self, name: &'a ObjectName) {
        self.add(name);
    }

    fn expr(&mut self, expr: &'a Expr) {
        if let ExprKind::Function(call) = &expr.kind
            && let Some(database) = &call.database
        {
            self.functions.insert((database.to_string(), call.name.to_string()));
        }
        visit::walk_expr(self, expr);
    }
}

impl CatalogState {
    pub(crate) fn view(&self, database: &str, name: &str) -> Option<&Arc<ViewDef>> {
        let views = &self.databases.get(database)?.views;
        if views.is_empty() { None } else { views.get(name) }
    }

    pub(crate) fn put_view(&mut self, view: &Arc<ViewDef>) {
        if let Some(database) = self.databases.get_mut(&view.database) {
            database.views.insert(view.name.clone(), view.clone());
        }
    }

    pub(crate) fn remove_view(&mut self, database: &str, name: &str) {
        drop(self.databases.get_mut(database).and_then(|database| database.views.remove(name)));
    }

    /// The tables and views that a view's query leads to, through views too.
    pub(crate) fn below_view(&self, query: &Query) -> Result<BTreeSet<(String, String)>> {
        let mut found = BTreeSet::new();
        let mut next: Vec<(String, String)> = Uses::of(query).tables.into_iter().collect();
        while let Some(name) = next.pop() {
            datum::bounds::check()?;
            // One whose text can't be parsed is an error to who uses it.
            let tree = self.view(&name.0, &name.1).and_then(|view| view.tree().ok());
            if found.insert(name)
                && let Some(tree) = tree
            {
                next.extend(Uses::of(&tree).tables);
            }
        }
        Ok(found)
    }
}

/// True if a view of this query, in canonical form, is one whose rows could be changed: it is
/// mergeable, joins without outer joins, and one at least of what it reads is a table or such a
/// view. This is what `information_schema.VIEWS.IS_UPDATABLE` says.
pub(crate) fn is_updatable(state: &CatalogState, query: &Query) -> bool {
    accepts_changes(state, query, false, &mut 0)
}

/// The same for one that rows could be inserted into: all that it reads is of that kind.
pub(crate) fn is_insertable(state: &CatalogState, query: &Query) -> bool {
    accepts_changes(state, query, true, &mut 0)
}

/// True if MySQL would merge such a query into what is around it.
pub(crate) fn is_mergeable(query: &Query) -> bool {
    merged_select(query).is_some()
}

/// The SELECT of a query that can be merged into what is around it.
pub(crate) fn merged_select(query: &Query) -> Option<&Select> {
    if query.with.is_some() || query.limit.is_some() {
        return None;
    }
    let select = match &query.body {
        QueryBody::Select(select) => select,
        QueryBody::Nested(query) => return merged_select(query),
        QueryBody::Values(_) | QueryBody::SetOperation { .. } | QueryBody::Table(_) => return None,
    };
    let mut found = Grouped(false);
    for item in &select.items {
        if let SelectItem::Expr { expr, .. } = item {
            found.expr(expr);
        }
    }
    query.order_by.iter().for_each(|item| found.expr(&item.expr));
    let is_grouped = !select.group_by.is_empty() || select.having.is_some() || found.0;
    let is_plain = !select.options.distinct && !select.from.is_empty() && select.windows.is_empty();
    (is_plain && !is_grouped).then_some(select)
}

/// So many views are looked at for one: one that leads to itself ends here.
const VIEWS_MAX: usize = 100;

fn accepts_changes(state: &CatalogState, query: &Query, inserts: bool, views: &mut usize) -> bool {
    *views += 1;
    if *views > VIEWS_MAX {
        return false;
    }
    let Some(select) = merged_select(query) else { return false };
    let mut sources = Sources::default();
    if !select.from.iter().all(|table| sources.add(table)) {
        return false;
    }
    let mut accepts = |factor: &TableFactor| {
        let Some(database) = &factor.name.database else { return false };
        match state.view(database, &factor.name.name) {
            Some(view) => {
                view.algorithm != ViewAlgorithm::TempTable
                    && view.tree().is_ok_and(|tree| accepts_changes(state, &tree, inserts, views))
            }
            None => !crate::system_schemas::is_reserved(database),
        }
    };
    match inserts {
        true => !sources.has_derived && sources.named.into_iter().all(accepts),
        false => sources.named.into_iter().any(&mut accepts),
    }
}

/// What is joined.
#[derive(Default)]
struct Sources<'a> {
    named: Vec<&'a TableFactor>,
    /// There are others, whose rows nothing can change.
    has_derived: bool,
}

impl<'a> Sources<'a> {
    /// False for an outer join.
    fn add(&mut self, table: &'a TableReference) -> bool {
        match table {
            TableReference::Table(factor) => {
                self.named.push(factor);
                true
            }
            TableReference::Join(join) => {
                matches!(join.kind, JoinKind::Inner | JoinKind::Straight)
                    && self.add(&join.left)
                    && self.add(&join.right)
            }
            TableReference::Group(tables) => tables.iter().all(|one| self.add(one)),
            TableReference::Derived(_) | TableReference::JsonTable(_) => {
                self.has_derived = true;
                true
            }
        }
    }
}

/// Looks for aggregates and window functions; those of subqueries are their own.
struct Grouped(bool);

impl<'a> Visitor<'a> for Grouped {
    fn query(&mut self, _: &'a Query) {}

    fn expr(&mut self, expr: &'a Expr) {
        self.0 |= matches!(expr.kind, ExprKind::Aggregate(_) | ExprKind::Window(_));
        visit::walk_expr(self, expr);
    }
}
