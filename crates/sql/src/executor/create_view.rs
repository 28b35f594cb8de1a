//! CREATE VIEW and ALTER VIEW: the query is brought into the form that the view is kept in.
//!
//! 1. bind     The query is parsed once more, for a tree of its own, and planned, which finds what
//!    is wrong with it and records what its names mean ([`crate::planner::recorded`]).
//! 2. name     Its columns get their names; what a name can't be is replaced as MySQL does.
//! 3. rewrite  Tables get their databases, columns their tables, `*` becomes columns, NATURAL and
//!    USING become ON, select items of everything but operands get aliases.
//! 4. go on    A statement with that query, in canonical form, is planned, logged and replayed
//!    ([`crate::catalog::ddl::view`]).
//!
//! Of the session nothing is left in the text but `collation_connection`, which the view keeps.

mod unused_windows;

use self::unused_windows::UnusedWindows;
use super::key_parts::Rewritten;
use crate::catalog::ddl::TextForm;
use crate::catalog::draft::lacks_week_mode;
use crate::catalog::parse_one;
use crate::catalog::show::quote;
use crate::catalog::view;
use crate::expression::{Resolver, Scope};
use crate::planner::block;
use crate::planner::recorded::RecordedNames;
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use syntax::ast::visit::{self, Visitor};
use syntax::ast::visit_mut::{self, VisitorMut};
use syntax::ast::{
    self, Account, BinaryOp, CheckOption, CreateView, Expr, ExprKind, Ident, JoinCondition, Literal, Query,
    QueryBody, SelectItem, Span, SqlSecurity, Statement, StatementKind, TableReference, ViewAlgorithm,
};

/// The statement in canonical form; `None` for any other one. What was open is committed already.
///
/// # Errors
/// Those of the query; 1350, 1351 and 1352 for what a view may not have; 1353 and 1060 for its
/// columns; 1368 for a CHECK OPTION of a view that can't be changed.
pub(super) fn rewrite(cx: &mut Context, statement: &Statement, text: &[u8]) -> Result<Option<Rewritten>> {
    let StatementKind::CreateView(create) = &statement.kind else { return Ok(None) };
    let own = statement.span.of(text);
    // Locks and the like end with it: the definition is made of what was found.
    let rewritten = super::in_statement(cx, own, |cx| canonical(cx, create, own));
    match rewritten {
        Ok(text) => {
            cx.commit()?;
            let statement = parse_one(&text, 0)?;
            Ok(Some(Rewritten { statement, text, form: TextForm::CanonicalQuery }))
        }
        Err(e) => {
            cx.rollback();
            Err(e)
        }
    }
}

/// The text of the canonical statement.
fn canonical(cx: &mut Context, create: &CreateView, text: &[u8]) -> Result<Vec<u8>> {
    let database = crate::catalog::database_or(create.name.database.as_deref(), cx.default_database())?;
    let name = format!("{}.{}", quote(database), quote(&create.name.name));
    let shown = (database.to_owned(), create.name.name.to_string());
    let sql_mode = cx.settings.variables().uint(ids::SQL_MODE);
    // A tree of its own, which is changed in place.
    let StatementKind::CreateView(tree) = parse_one(text, sql_mode)?.kind else {
        return Err(SqlError::internal("a CREATE VIEW that is none"));
    };
    let mut query = unwrapped(tree.query);
    refuse(&query)?;
    WholeTables.query(&mut query);
    let recorded = {
        let mut resolver = Resolver::new(cx, Scope::empty()).with_text(text);
        resolver.recorded = Some(Box::default());
        crate::planner::query(&mut resolver, &query)?;
        resolver.recorded.take().unwrap_or_default()
    };
    let first = first_select(&mut query.body).map_or(0, |select| std::ptr::from_ref(select).addr());
    let mut canonical = Canonical { recorded: &recorded, named: true, first, made: Vec::new() };
    canonical.query(&mut query);
    let made = canonical.made;
    UnusedWindows.query(&mut query);
    name_columns(&mut query, &made, create.columns.is_empty())?;
    WeekModes(cx.settings.default_week_format()).query(&mut query);
    check_columns(&query, &create.columns)?;
    let mut algorithm = create.algorithm;
    if algorithm == Some(ViewAlgorithm::Merge) && !view::is_mergeable(&query) {
        cx.warn(error::WARN_VIEW_MERGE.plain());
        algorithm = Some(ViewAlgorithm::Undefined);
    }
    if create.check_option.is_some() {
        let is_merged = algorithm != Some(ViewAlgorithm::TempTable);
        if !is_merged || !view::is_updatable(&cx.catalog().state(), &query) {
            return Err(error::VIEW_NONUPD_CHECK.with(&[&shown.0, &shown.1]));
        }
    }
    let mut out = head(cx, create, algorithm).into_bytes();
    out.extend(name.into_bytes());
    if !create.columns.is_empty() {
        let columns: Vec<String> = create.columns.iter().map(|column| quote(column)).collect();
        out.extend(format!(" ({})", columns.join(",")).into_bytes());
    }
    out.extend(b" AS ");
    out.extend(syntax::unparse::query(&query));
    match create.check_option {
        Some(CheckOption::Cascaded) => out.extend(b" WITH CASCADED CHECK OPTION"),
        Some(CheckOption::Local) => out.extend(b" WITH LOCAL CHECK OPTION"),
        None => {}
    }
    Ok(out)
}

/// Gives each call of WEEK() without a mode the session's, as MySQL does: the view is the same for
/// all who read it.
struct WeekModes(u8);

impl VisitorMut for WeekModes {
    fn expr(&mut self, expr: &mut Expr) {
        let span = expr.span;
        if let ExprKind::Function(call) = &mut expr.kind
            && lacks_week_mode(call)
        {
            call.arguments.push(Expr { span, kind: ExprKind::Literal(Literal::Integer(self.0.into())) });
        }
        visit_mut::walk_expr(self, expr);
    }
}

/// What stands before the view's name.
fn head(cx: &Context, create: &CreateView, algorithm: Option<ViewAlgorithm>) -> String {
    let mut out = match (create.alter, create.or_replace) {
        (true, _) => "ALTER ".to_owned(),
        (false, true) => "CREATE OR REPLACE ".to_owned(),
        (false, false) => "CREATE ".to_owned(),
    };
    out += match algorithm {
        None => "",
        Some(ViewAlgorithm::Undefined) => "ALGORITHM=UNDEFINED ",
        Some(ViewAlgorithm::Merge) => "ALGORITHM=MERGE ",
        Some(ViewAlgorithm::TempTable) => "ALGORITHM=TEMPTABLE ",
    };
    let definer = match &create.definer {
        None => None,
        Some(Account::CurrentUser) => {
            let account = &cx.connection.account;
            Some((account.user.clone(), account.host.clone()))
        }
        Some(Account::Named { user, host }) => {
            Some((user.to_str_lossy().into_owned(), host.to_str_lossy().into_owned()))
        }
    };
    if let Some((user, host)) = definer {
        out += &format!("DEFINER={}@{} ", quote(&user), quote(&host));
    }
    out += match create.security {
        None => "",
        Some(SqlSecurity::Definer) => "SQL SECURITY DEFINER ",
        Some(SqlSecurity::Invoker) => "SQL SECURITY INVOKER ",
    };
    out + if create.if_not_exists { "VIEW IF NOT EXISTS " } else { "VIEW " }
}

/// Takes parentheses away that nothing is said of.
fn unwrapped(mut query: Query) -> Query {
    loop {
        let is_bare = query.with.is_none()
            && query.order_by.is_empty()
            && query.limit.is_none()
            && query.locking.is_empty();
        query = match query.body {
            QueryBody::Nested(inner) if is_bare => *inner,
            body => return Query { body, ..query },
        };
    }
}

/// What a view's query may not have.
fn refuse(query: &Query) -> Result<()> {
    let mut refused = Refused::default();
    refused.query(query);
    refused.error.map_or(Ok(()), Err)
}

#[derive(Default)]
struct Refused {
    error: Option<SqlError>,
}

impl<'a> Visitor<'a> for Refused {
    fn query(&mut self, query: &'a Query) {
        if query.into.is_some() {
            self.error.get_or_insert_with(|| error::VIEW_SELECT_CLAUSE.with(&[&"INTO"]));
        }
        if !query.locking.is_empty() {
            self.error.get_or_insert_with(|| SqlError::unsupported("FOR UPDATE and FOR SHARE in views"));
        }
        visit::walk_query(self, query);
    }

    fn expr(&mut self, expr: &'a Expr) {
        if let ExprKind::UserVariable(_)
        | ExprKind::AssignUserVariable { .. }
        | ExprKind::SystemVariable(_)
        | ExprKind::Parameter(_) = expr.kind
        {
            self.error.get_or_insert_with(|| error::VIEW_SELECT_VARIABLE.plain());
        }
        visit::walk_expr(self, expr);
    }
}

/// `TABLE t` becomes a SELECT, for its columns to be named.
struct WholeTables;

impl VisitorMut for WholeTables {
    fn body(&mut self, body: &mut QueryBody) {
        if let QueryBody::Table(name) = body {
            *body = QueryBody::Select(Box::new(block::whole_table(name, Span::default())));
        }
        visit_mut::walk_body(self, body);
    }
}

/// Brings a tree into canonical form.
struct Canonical<'r> {
    recorded: &'r RecordedNames,
    /// Select items are columns that have names: not those of an operand.
    named: bool,
    /// The place of the SELECT that names the query's columns.
    first: usize,
    /// Which of its columns have names that were made of their expressions.
    made: Vec<bool>,
}

impl Canonical<'_> {
    fn operand(&mut self, query: &mut Query) {
        let named = std::mem::replace(&mut self.named, false);
        self.query(query);
        self.named = named;
    }
}

impl VisitorMut for Canonical<'_> {
    fn select(&mut self, select: &mut ast::Select) {
        let named = self.named;
        visit_mut::walk_select(self, select);
        let is_first = std::ptr::from_ref(select).addr() == self.first;
        let mut items = Vec::with_capacity(select.items.len());
        let mut made = Vec::new();
        for item in &mut select.items {
            if let Some(columns) = self.recorded.star(item) {
                items.extend(columns.iter().map(|c| SelectItem::Expr {
                    expr: column(c.column.clone()),
                    alias: named.then(|| c.name.as_str().into()),
                }));
                made.resize(items.len(), false);
                continue;
            }
            let name = self.recorded.item_name(item).map(Ident::from);
            let mut item = std::mem::replace(item, SelectItem::All);
            // A column's own name is none that was made.
            made.push(matches!(&item, SelectItem::Expr { expr, alias: None }
                if !matches!(expr.kind, ExprKind::Column(_))));
            if let SelectItem::Expr { alias, .. } = &mut item
                && alias.is_none()
                && named
            {
                *alias = name;
            }
            items.push(item);
        }
        select.items = items;
        if is_first {
            self.made = made;
        }
    }

    fn table(&mut self, table: &mut TableReference) {
        match table {
            TableReference::Table(factor) => {
                if let Some(database) = self.recorded.database_of_table(&factor.name) {
                    factor.name.database = Some(database.clone());
                    let is_name = factor.alias.as_ref().is_some_and(|alias| *alias == factor.name.name);
                    factor.alias = factor.alias.take().filter(|_| !is_name);
                }
            }
            TableReference::Derived(derived) => {
                let named = std::mem::replace(&mut self.named, true);
                self.query(&mut derived.query);
                self.named = named;
            }
            TableReference::Join(join) => {
                let pairs = self.recorded.join(join).map(<[_]>::to_vec);
                // A NATURAL JOIN without a common column is a cross join.
                if join.natural || matches!(join.condition, JoinCondition::Using(_)) {
                    join.condition = on(pairs.unwrap_or_default());
                    join.natural = false;
                }
                visit_mut::walk_table(self, table);
            }
            TableReference::JsonTable(_) | TableReference::Group(_) => visit_mut::walk_table(self, table),
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        match &mut expr.kind {
            ExprKind::Column(name) => {
                if let Some(column) = self.recorded.column(name) {
                    *name = column.clone();
                }
            }
            ExprKind::Default(Some(name)) => {
                if let Some(column) = self.recorded.column(name) {
                    **name = column.clone();
                }
            }
            ExprKind::Function(call) => {
                if let Some(database) = self.recorded.database_of_function(call) {
                    call.database = Some(database.clone());
                }
                call.arguments.iter_mut().for_each(|e| self.expr(e));
            }
            ExprKind::InQuery { operand, query, .. } | ExprKind::Quantified { operand, query, .. } => {
                self.expr(operand);
                self.operand(query);
            }
            ExprKind::Exists(query) | ExprKind::Subquery(query) => self.operand(query),
            _ => visit_mut::walk_expr(self, expr),
        }
    }
}

fn column(name: ast::ColumnName) -> Expr {
    Expr { span: Span::default(), kind: ExprKind::Column(name) }
}

/// The condition that pairs of columns are equal.
fn on(pairs: Vec<(ast::ColumnName, ast::ColumnName)>) -> JoinCondition {
    let equal = |(left, right): (ast::ColumnName, ast::ColumnName)| Expr {
        span: Span::default(),
        kind: ExprKind::Binary {
            op: BinaryOp::Equal,
            left: Box::new(column(left)),
            right: Box::new(column(right)),
        },
    };
    let mut all: Vec<Expr> = pairs.into_iter().map(equal).collect();
    match all.len() {
        0 => JoinCondition::None,
        1 => JoinCondition::On(all.remove(0)),
        _ => JoinCondition::On(Expr { span: Span::default(), kind: ExprKind::And(all) }),
    }
}

/// Characters of a column's name.
const NAME_MAX: usize = 64;

/// The SELECT that names a query's columns.
fn first_select(body: &mut QueryBody) -> Option<&mut ast::Select> {
    match body {
        QueryBody::Select(select) => Some(select),
        QueryBody::SetOperation { left, .. } => first_select(left),
        QueryBody::Nested(query) => first_select(&mut query.body),
        QueryBody::Values(_) | QueryBody::Table(_) => None,
    }
}

/// Gives columns other names where those that their expressions gave them are none, or are taken.
fn name_columns(query: &mut Query, made: &[bool], checks_names: bool) -> Result<()> {
    let Some(select) = first_select(&mut query.body) else { return Ok(()) };
    let mut taken: std::collections::HashMap<String, (usize, bool)> = std::collections::HashMap::new();
    let mut renames: Vec<(usize, String)> = Vec::new();
    for (number, item) in select.items.iter().enumerate() {
        let SelectItem::Expr { alias: Some(alias), .. } = item else { continue };
        let is_made = made.get(number).copied().unwrap_or(false);
        let is_name = alias.chars().count() <= NAME_MAX && !alias.is_empty() && !alias.ends_with(' ');
        let name = match is_name {
            true => alias.to_string(),
            false if is_made => format!("Name_exp_{}", number + 1),
            false => return Err(error::WRONG_COLUMN_NAME.with(&[alias])),
        };
        if !is_name {
            renames.push((number, name.clone()));
        }
        let Some(&(other, other_is_made)) = taken.get(&name.to_lowercase()) else {
            taken.insert(name.to_lowercase(), (number, is_made));
            continue;
        };
        if !checks_names {
            continue;
        }
        let (renamed, kept) = match (is_made, other_is_made) {
            (true, _) => (number, other),
            (false, true) => (other, number),
            (false, false) => return Err(error::DUP_FIELDNAME.with(&[&name])),
        };
        let mut nth = 0;
        let new = loop {
            let new = match nth {
                0 => format!("Name_exp_{name}"),
                nth => format!("Name_exp_{nth}_{name}"),
            };
            let new: String = new.chars().take(NAME_MAX).collect();
            if !taken.contains_key(&new.to_lowercase()) {
                break new;
            }
            nth += 1;
        };
        taken
            .insert(name.to_lowercase(), (kept, kept == other && other_is_made || kept == number && is_made));
        taken.insert(new.to_lowercase(), (renamed, true));
        renames.push((renamed, new));
    }
    for (number, name) in renames {
        if let SelectItem::Expr { alias, .. } = &mut select.items[number] {
            *alias = Some(name.as_str().into());
        }
    }
    Ok(())
}

/// Errors 1353 and 1060.
fn check_columns(query: &Query, columns: &[Ident]) -> Result<()> {
    let mut seen = std::collections::HashSet::new();
    if let Some(twice) = columns.iter().find(|column| !seen.insert(column.to_lowercase())) {
        let first = columns.iter().find(|column| column.is(twice)).unwrap_or(twice);
        return Err(error::DUP_FIELDNAME.with(&[first]));
    }
    match columns.is_empty() || width(&query.body) == columns.len() {
        true => Ok(()),
        false => Err(error::VIEW_WRONG_LIST.plain()),
    }
}

/// How many columns a canonical query has.
fn width(body: &QueryBody) -> usize {
    match body {
        QueryBody::Select(select) => select.items.len(),
        QueryBody::Values(rows) => rows.first().map_or(0, Vec::len),
        QueryBody::SetOperation { left, .. } => width(left),
        QueryBody::Nested(query) => width(&query.body),
        QueryBody::Table(_) => 0,
    }
}
