//! EXPLAIN: what the planner chose, and what it did.
//!
//! - [`traditional`]: the table. [`tree`]: FORMAT=TREE, and EXPLAIN ANALYZE, which runs the query.
//!   [`json`]: FORMAT=JSON.
//! - [`units`]: the SELECTs and their numbers. [`path`], [`crate::planner::names`],
//!   [`crate::planner::expression_text`]: parts of a plan as text.
//!
//! (E1) What is shown is read from the very plan that would run, so it can't differ from it.
//!      Conditions without a source are evaluated to see whether they let any row through;
//!      subqueries are not.

pub(crate) mod json;
pub(crate) mod path;
pub(crate) mod traditional;
pub(crate) mod tree;
pub(crate) mod units;

use crate::executor::profile::Profile;
use crate::executor::{self, query};
use crate::expression::{Expr, Node, Row};
use crate::listing::{Listing, cells, text};
use crate::planner::{Block, Query, plan};
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result, SqlError};
use datum::sink::ResultSink;
use syntax::ast::{Explain, InsertSource, Statement, StatementKind};

/// Places of `explain_format`'s words.
const EXPLAIN_FORMAT_TREE: u64 = 2;
const EXPLAIN_FORMAT_JSON: u64 = 3;

/// A statement that changes rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Also with ON DUPLICATE KEY UPDATE.
    Insert,
    /// Deletes rows with the same keys first.
    Replace,
    /// Of one table or several.
    Update,
    /// From one table or several.
    Delete,
}

impl Verb {
    fn name(self) -> &'static str {
        match self {
            Verb::Insert => "INSERT",
            Verb::Replace => "REPLACE",
            Verb::Update => "UPDATE",
            Verb::Delete => "DELETE",
        }
    }
}

/// What is explained.
#[derive(Debug)]
pub(crate) enum Subject {
    /// Reads rows only.
    Query(Query),
    /// What changes the rows that a query finds.
    Change {
        /// UPDATE or DELETE.
        verb: Verb,
        /// What finds the rows.
        query: Query,
        /// The slots whose rows are changed, one bit each.
        changed: u64,
    },
    /// What adds rows.
    Insert {
        /// INSERT or REPLACE.
        verb: Verb,
        /// The table's name.
        table: Box<str>,
        /// What gives the rows, if it is no list of values.
        source: Option<Query>,
    },
}

impl Subject {
    fn new(cx: &mut Context, statement: &Statement, text: &[u8]) -> Result<Self> {
        Ok(match &statement.kind {
            StatementKind::Query(query) => Subject::Query(plan::query_once(cx, query, text)?),
            StatementKind::Insert(insert) => {
                cx.open_table_to_write(insert.table.database.as_deref(), &insert.table.name)?;
                let source = match &insert.source {
                    InsertSource::Query(query) => Some(plan::query_once(cx, query, text)?),
                    InsertSource::Values(_) => None,
                };
                let verb = if insert.replace { Verb::Replace } else { Verb::Insert };
                Subject::Insert { verb, table: insert.table.name.as_str().into(), source }
            }
            StatementKind::Update(update) => {
                let (query, changed) = executor::update_plan(cx, update, text)?;
                Subject::Change { verb: Verb::Update, query, changed }
            }
            StatementKind::Delete(delete) => {
                let (query, changed) = executor::delete_plan(cx, delete, text)?;
                Subject::Change { verb: Verb::Delete, query, changed }
            }
            _ => return Err(SqlError::unsupported("EXPLAIN of this statement")),
        })
    }

    fn query(&self) -> Option<&Query> {
        match self {
            Subject::Query(query) | Subject::Change { query, .. } => Some(query),
            Subject::Insert { source, .. } => source.as_ref(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Traditional,
    Tree,
    Json,
}

/// Error 1791 for a format that there is not, 1235 for those that are missing. Without a name
/// `explain_format` counts, for which EXPLAIN ANALYZE takes TREE in the place of a traditional one.
fn format(cx: &Context, name: Option<&str>, analyze: bool) -> Result<Format> {
    let implied = match cx.settings.variables().uint(ids::EXPLAIN_FORMAT) {
        EXPLAIN_FORMAT_JSON => "json",
        EXPLAIN_FORMAT_TREE => "tree",
        _ if analyze => "tree",
        _ => "traditional",
    };
    let name = name.unwrap_or(implied);
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    match () {
        () if is("tree") => Ok(Format::Tree),
        () if is("traditional") && analyze => {
            Err(SqlError::unsupported("EXPLAIN ANALYZE with TRADITIONAL format"))
        }
        () if is("traditional") => Ok(Format::Traditional),
        () if is("json") && analyze => Err(SqlError::unsupported("EXPLAIN ANALYZE with JSON format")),
        () if is("json") => Ok(Format::Json),
        () => Err(error::UNKNOWN_EXPLAIN_FORMAT.with(&[&name])),
    }
}

/// Runs EXPLAIN of a statement.
pub(crate) fn execute(
    cx: &mut Context,
    explain: &Explain,
    text: &[u8],
    sink: &mut dyn ResultSink,
) -> Result<()> {
    let Explain::Statement { analyze, format, into, schema, statement } = explain else {
        return Err(SqlError::unsupported("EXPLAIN FOR CONNECTION"));
    };
    if into.is_some() || schema.is_some() {
        return Err(SqlError::unsupported("EXPLAIN INTO and EXPLAIN FOR SCHEMA"));
    }
    let format = self::format(cx, format.as_deref(), *analyze)?;
    if *analyze && !matches!(statement.kind, StatementKind::Query(_)) {
        return Err(SqlError::unsupported("EXPLAIN ANALYZE of what is no query"));
    }
    let subject = Subject::new(cx, statement, text)?;
    let profile = if *analyze { Some(measured(cx, &subject)?) } else { None };
    describe(cx, &subject, format, profile.as_deref())?.send(cx, sink)
}

/// Runs the query, and says what its parts did.
fn measured(cx: &mut Context, subject: &Subject) -> Result<Box<Profile>> {
    cx.statement.profile = Some(Box::default());
    let outcome = subject.query().map_or(Ok(0), |query| query::run(cx, query, &mut |_, _| Ok(true)));
    let profile = cx.statement.profile.take().unwrap_or_default();
    outcome.map(|_| profile)
}

fn describe(
    cx: &mut Context,
    subject: &Subject,
    format: Format,
    profile: Option<&Profile>,
) -> Result<Listing> {
    let numbers = subject.query().map(units::SelectNumbers::of).unwrap_or_default();
    let mut blocks = Vec::new();
    if let Some(query) = subject.query() {
        closed_blocks(cx, &query.body, &numbers, &mut blocks);
    }
    let closed = |block: &Block| blocks.iter().any(|b| std::ptr::eq(*b, block));
    let listing = match format {
        Format::Traditional => traditional::rows(subject, &numbers, &closed),
        Format::Tree => one_text(tree::tree(subject, &numbers, &closed, profile)),
        Format::Json => one_text(json::document(subject, &numbers, &closed)),
    };
    numbers.check().map(|()| listing)
}

fn one_text(text: String) -> Listing {
    let mut listing = Listing::new([self::text("EXPLAIN", u32::from(u16::MAX))]);
    listing.push(cells![text]);
    listing
}

/// Collects the blocks whose conditions without sources let nothing through.
fn closed_blocks<'p>(
    cx: &mut Context,
    body: &'p crate::planner::Body,
    numbers: &units::SelectNumbers,
    found: &mut Vec<&'p Block>,
) {
    use crate::planner::Body;
    if !numbers.has_room() {
        return;
    }
    match body {
        Body::Block(block) => {
            if block.constant_filter.iter().any(|e| is_false(cx, e)) {
                found.push(block);
            }
            units::nested(block).iter().for_each(|n| closed_blocks(cx, &n.query.body, numbers, found));
        }
        Body::Values(_) => {}
        Body::Set(set) => {
            closed_blocks(cx, &set.left.body, numbers, found);
            closed_blocks(cx, &set.right.body, numbers, found);
        }
        Body::Nested(query) => closed_blocks(cx, &query.body, numbers, found),
    }
}

/// True if a condition is known not to hold without running anything.
fn is_false(cx: &mut Context, condition: &Expr) -> bool {
    let runs = |e: &Expr| matches!(e.node, Node::Subquery(_) | Node::Outer(_) | Node::Stored(..));
    let known = !condition.contains(&mut |e| runs(e));
    known && condition.truth(cx, Row::None).is_ok_and(|truth| truth != Some(true))
}
