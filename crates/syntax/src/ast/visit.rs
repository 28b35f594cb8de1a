//! Walking over trees: every query, table and expression that a statement holds, wherever it
//! stands.
//!
//! A [`Visitor`] is called for each on the way down. What it overrides it goes into itself, by
//! calling the `walk_` function of the same name. A match without `_` arms keeps this complete when
//! the tree grows.

use super::{
    Aggregate, Delete, Expr, ExprKind, FrameBound, HandlerStatement, HandlerStep, Insert, InsertSource,
    JoinCondition, JsonOn, JsonValue, LoadData, Over, PurgeTo, Query, QueryBody, Select, SelectItem, SetItem,
    ShowFilter, StatementKind, TableReference, Update, WindowSpec, With,
};

/// Sees the parts of a tree.
pub trait Visitor<'a> {
    /// A query, as a statement or inside of another.
    fn query(&mut self, query: &'a Query) {
        walk_query(self, query);
    }

    /// A WITH clause, before what it belongs to.
    fn with(&mut self, with: &'a With) {
        walk_with(self, with);
    }

    /// A SELECT, as a query or as a side of UNION.
    fn select(&mut self, select: &'a Select) {
        walk_select(self, select);
    }

    /// A table reference in FROM, or in a list of tables to change.
    fn table(&mut self, table: &'a TableReference) {
        walk_table(self, table);
    }

    /// An expression.
    fn expr(&mut self, expr: &'a Expr) {
        walk_expr(self, expr);
    }

    /// `TABLE name`, which is a query.
    fn named_table(&mut self, _name: &'a super::ObjectName) {}
}

/// The expressions of a statement that stand neither in a query or change nor in a definition: all
/// that running it evaluates besides.
pub fn expressions_of(kind: &StatementKind) -> Vec<&Expr> {
    use StatementKind as S;
    match kind {
        S::Do(list) | S::Call { arguments: list, .. } => list.iter().collect(),
        S::Set(items) => items
            .iter()
            .filter_map(|item| match item {
                SetItem::UserVariable { value, .. } => Some(value),
                SetItem::Variable { value, .. } => value.as_ref(),
                SetItem::Names { .. }
                | SetItem::CharacterSet(_)
                | SetItem::Transaction { .. }
                | SetItem::Password { .. }
                | SetItem::ResourceGroup(_) => None,
            })
            .collect(),
        S::Kill { id, .. } => vec![id],
        S::PurgeBinaryLogs(PurgeTo::Before(moment)) => vec![moment],
        S::Show(show) => match &show.filter {
            ShowFilter::Where(condition) => vec![condition],
            ShowFilter::None | ShowFilter::Like(_) => Vec::new(),
        },
        S::Handler(handler) => match &**handler {
            HandlerStatement::Read(read) => {
                let keys = match &read.step {
                    HandlerStep::Key(_, keys) => keys.as_slice(),
                    HandlerStep::First | HandlerStep::Next | HandlerStep::Prev | HandlerStep::Last => &[],
                };
                keys.iter().chain(&read.filter).collect()
            }
            HandlerStatement::Open { .. } | HandlerStatement::Close(_) => Vec::new(),
        },
        S::Signal(signal) => signal.items.iter().map(|(_, value)| value).collect(),
        S::GetDiagnostics(get) => get.condition.iter().chain(get.items.iter().map(|(to, _)| to)).collect(),
        // Their parts are walked by what asks for their privileges; the statement inside is
        // a statement of its own.
        S::Query(_) | S::Insert(_) | S::Update(_) | S::Delete(_) | S::LoadData(_) | S::Explain(_) => {
            Vec::new()
        }
        // What is evaluated of a definition may hold neither queries nor stored functions.
        S::CreateDatabase(_)
        | S::AlterDatabase { .. }
        | S::DropDatabase { .. }
        | S::CreateTable(_)
        | S::AlterTable(_)
        | S::DropTable(_)
        | S::TruncateTable(_)
        | S::RenameTable(_)
        | S::CreateIndex(_)
        | S::DropIndex(_)
        | S::CreateView(_)
        | S::DropView { .. }
        | S::CreateRoutine(_)
        | S::AlterRoutine { .. }
        | S::DropRoutine { .. }
        | S::CreateTrigger(_)
        | S::DropTrigger { .. }
        | S::CreateEvent(_)
        | S::AlterEvent(_)
        | S::DropEvent { .. }
        | S::DropServer { .. } => Vec::new(),
        // Only in a routine's body, whose actions are asked for one by one.
        S::Compound(_) => Vec::new(),
        S::Use(_)
        | S::Begin(_)
        | S::Commit(_)
        | S::Rollback(_)
        | S::Savepoint(_)
        | S::RollbackTo(_)
        | S::ReleaseSavepoint(_)
        | S::Xa(_)
        | S::LockTables(_)
        | S::UnlockTables
        | S::LockInstance
        | S::UnlockInstance
        | S::RotateMasterKey(_)
        | S::Prepare { .. }
        | S::Execute { .. }
        | S::Deallocate(_)
        | S::Help(_)
        | S::Flush(_)
        | S::PurgeBinaryLogs(PurgeTo::File(_))
        | S::Reset(_)
        | S::ResetPersist { .. }
        | S::TableMaintenance(_)
        | S::InstallPlugin { .. }
        | S::UninstallPlugin(_)
        | S::Shutdown
        | S::Restart
        | S::Binlog(_)
        | S::CreateUser(_)
        | S::AlterUser(_)
        | S::DropUser { .. }
        | S::RenameUser(_)
        | S::CreateRole { .. }
        | S::DropRole { .. }
        | S::SetRole(_)
        | S::SetDefaultRole { .. }
        | S::Grant(_)
        | S::Revoke(_)
        | S::ChangeReplicationSource { .. }
        | S::ChangeReplicationFilter { .. }
        | S::StartReplica(_)
        | S::StopReplica { .. } => Vec::new(),
    }
}

/// The parts of a WITH clause.
pub fn walk_with<'a, V: Visitor<'a> + ?Sized>(v: &mut V, with: &'a With) {
    with.tables.iter().for_each(|table| v.query(&table.query));
}

/// The parts of a query.
pub fn walk_query<'a, V: Visitor<'a> + ?Sized>(v: &mut V, query: &'a Query) {
    if let Some(with) = &query.with {
        v.with(with);
    }
    walk_without_with(v, query);
}

/// The parts of a query but for its WITH.
pub fn walk_without_with<'a, V: Visitor<'a> + ?Sized>(v: &mut V, query: &'a Query) {
    walk_body(v, &query.body);
    query.order_by.iter().for_each(|item| v.expr(&item.expr));
    if let Some(limit) = &query.limit {
        v.expr(&limit.count);
        limit.offset.iter().for_each(|e| v.expr(e));
    }
}

fn walk_body<'a, V: Visitor<'a> + ?Sized>(v: &mut V, body: &'a QueryBody) {
    match body {
        QueryBody::Select(select) => v.select(select),
        QueryBody::Values(rows) => rows.iter().flatten().for_each(|e| v.expr(e)),
        QueryBody::Table(name) => v.named_table(name),
        QueryBody::SetOperation { left, right, .. } => {
            walk_body(v, left);
            walk_body(v, right);
        }
        QueryBody::Nested(query) => v.query(query),
    }
}

/// The parts of a SELECT.
pub fn walk_select<'a, V: Visitor<'a> + ?Sized>(v: &mut V, select: &'a Select) {
    for item in &select.items {
        if let SelectItem::Expr { expr, .. } = item {
            v.expr(expr);
        }
    }
    select.from.iter().for_each(|t| v.table(t));
    let clauses = select.filter.iter().chain(&select.group_by).chain(&select.having);
    clauses.for_each(|e| v.expr(e));
    select.windows.iter().for_each(|(_, window)| walk_window(v, window));
}

/// The parts of a table reference.
pub fn walk_table<'a, V: Visitor<'a> + ?Sized>(v: &mut V, table: &'a TableReference) {
    match table {
        TableReference::Table(_) => {}
        TableReference::Derived(derived) => v.query(&derived.query),
        TableReference::JsonTable(json) => v.expr(&json.document),
        TableReference::Join(join) => {
            v.table(&join.left);
            v.table(&join.right);
            if let JoinCondition::On(on) = &join.condition {
                v.expr(on);
            }
        }
        TableReference::Group(tables) => tables.iter().for_each(|t| v.table(t)),
    }
}

fn walk_window<'a, V: Visitor<'a> + ?Sized>(v: &mut V, window: &'a WindowSpec) {
    window.partition_by.iter().for_each(|e| v.expr(e));
    window.order_by.iter().for_each(|item| v.expr(&item.expr));
    if let Some(frame) = &window.frame {
        for bound in [&frame.start, &frame.end] {
            if let FrameBound::Preceding(e, _) | FrameBound::Following(e, _) = bound {
                v.expr(e);
            }
        }
    }
}

fn walk_over<'a, V: Visitor<'a> + ?Sized>(v: &mut V, over: &'a Over) {
    if let Over::Window(window) = over {
        walk_window(v, window);
    }
}

fn walk_aggregate<'a, V: Visitor<'a> + ?Sized>(v: &mut V, aggregate: &'a Aggregate) {
    aggregate.arguments.iter().for_each(|e| v.expr(e));
    aggregate.order_by.iter().for_each(|item| v.expr(&item.expr));
    if let Some(over) = &aggregate.over {
        walk_over(v, over);
    }
}

fn walk_json_value<'a, V: Visitor<'a> + ?Sized>(v: &mut V, json: &'a JsonValue) {
    v.expr(&json.document);
    v.expr(&json.path);
    for on in [&json.on_empty, &json.on_error].into_iter().flatten() {
        if let JsonOn::Default(e) = on {
            v.expr(e);
        }
    }
}

/// The parts of an expression.
pub fn walk_expr<'a, V: Visitor<'a> + ?Sized>(v: &mut V, expr: &'a Expr) {
    use ExprKind as E;
    match &expr.kind {
        E::Literal(_)
        | E::Column(_)
        | E::UserVariable(_)
        | E::SystemVariable(_)
        | E::Parameter(_)
        | E::Default(_)
        | E::Values(_) => {}
        E::AssignUserVariable { value: operand, .. }
        | E::Unary { operand, .. }
        | E::Is { operand, .. }
        | E::Cast { operand, .. }
        | E::ConvertUsing { operand, .. }
        | E::Collate { operand, .. }
        | E::Extract { operand, .. }
        | E::GetFormat { region: operand, .. }
        | E::WeightString { operand, .. }
        | E::Match { against: operand, .. } => v.expr(operand),
        E::Binary { left, right, .. }
        | E::Regexp { operand: left, pattern: right, .. }
        | E::DateArithmetic { date: left, amount: right, .. }
        | E::TimestampDiff { from: left, to: right, .. } => {
            v.expr(left);
            v.expr(right);
        }
        E::And(list) | E::Or(list) | E::Row(list) | E::Char { codes: list, .. } => {
            list.iter().for_each(|e| v.expr(e));
        }
        E::Between { operand, low, high, .. } => [operand, low, high].into_iter().for_each(|e| v.expr(e)),
        E::InList { operand, list, .. } => {
            v.expr(operand);
            list.iter().for_each(|e| v.expr(e));
        }
        E::InQuery { operand, query, .. } | E::Quantified { operand, query, .. } => {
            v.expr(operand);
            v.query(query);
        }
        E::Like { operand, pattern, escape, .. } => {
            [Some(operand), Some(pattern), escape.as_ref()].into_iter().flatten().for_each(|e| v.expr(e));
        }
        E::Exists(query) | E::Subquery(query) => v.query(query),
        E::Case { operand, branches, otherwise } => {
            operand.iter().chain(otherwise).for_each(|e| v.expr(e));
            branches.iter().for_each(|branch| {
                v.expr(&branch.when);
                v.expr(&branch.then);
            });
        }
        E::Function(call) => call.arguments.iter().for_each(|e| v.expr(e)),
        E::Aggregate(aggregate) => walk_aggregate(v, aggregate),
        E::Window(call) => {
            call.arguments.iter().for_each(|e| v.expr(e));
            walk_over(v, &call.over);
        }
        E::Trim { remove, operand, .. } => {
            remove.iter().for_each(|e| v.expr(e));
            v.expr(operand);
        }
        E::JsonValue(json) => walk_json_value(v, json),
    }
}

/// The parts of an INSERT; its table is not one of them.
pub fn walk_insert<'a, V: Visitor<'a> + ?Sized>(v: &mut V, insert: &'a Insert) {
    match &insert.source {
        InsertSource::Values(rows) => rows.iter().flatten().for_each(|e| v.expr(e)),
        InsertSource::Query(query) => v.query(query),
    }
    insert.on_duplicate.iter().for_each(|a| v.expr(&a.value));
}

/// The parts of an UPDATE.
pub fn walk_update<'a, V: Visitor<'a> + ?Sized>(v: &mut V, update: &'a Update) {
    if let Some(with) = &update.with {
        v.with(with);
    }
    update.tables.iter().for_each(|t| v.table(t));
    update.assignments.iter().for_each(|a| v.expr(&a.value));
    update.filter.iter().for_each(|e| v.expr(e));
    update.order_by.iter().for_each(|item| v.expr(&item.expr));
}

/// The parts of a DELETE.
pub fn walk_delete<'a, V: Visitor<'a> + ?Sized>(v: &mut V, delete: &'a Delete) {
    if let Some(with) = &delete.with {
        v.with(with);
    }
    delete.from.iter().for_each(|t| v.table(t));
    delete.filter.iter().for_each(|e| v.expr(e));
    delete.order_by.iter().for_each(|item| v.expr(&item.expr));
}

/// The parts of a LOAD DATA; its table is not one of them.
pub fn walk_load<'a, V: Visitor<'a> + ?Sized>(v: &mut V, load: &'a LoadData) {
    load.assignments.iter().for_each(|a| v.expr(&a.value));
}
