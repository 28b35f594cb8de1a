//! Queries as SQL.

use super::{Writer, put};
use crate::ast::*;

impl Writer {
    pub(super) fn query(&mut self, query: &Query) {
        if let Some(with) = &query.with {
            self.put(if with.recursive { "with recursive " } else { "with " });
            self.list(&with.tables, |writer, table| {
                writer.put(&table.name);
                writer.columns(&table.columns);
                writer.put(" as (");
                writer.query(&table.query);
                writer.put(")");
            });
            self.put(" ");
        }
        self.body(&query.body);
        self.order_by(&query.order_by);
        if let Some(limit) = &query.limit {
            put!(self, " limit ", &limit.count);
            if let Some(offset) = &limit.offset {
                put!(self, " offset ", offset);
            }
        }
        for locking in &query.locking {
            self.locking(locking);
        }
        if let Some(into) = &query.into {
            self.target_of_into(into);
        }
    }

    fn body(&mut self, body: &QueryBody) {
        match body {
            QueryBody::Select(select) => self.select(select),
            QueryBody::Values(rows) => {
                self.put("values ");
                self.list(rows, |writer, row| {
                    writer.put("row(");
                    writer.exprs(row);
                    writer.put(")");
                });
            }
            QueryBody::Table(name) => {
                self.put("table ");
                self.object_name(name);
            }
            QueryBody::SetOperation { op, all, left, right } => {
                self.operand(left);
                self.put(match op {
                    SetOp::Union => " union ",
                    SetOp::Except => " except ",
                    SetOp::Intersect => " intersect ",
                });
                if *all {
                    self.put("all ");
                }
                self.operand(right);
            }
            QueryBody::Nested(query) => {
                self.put("(");
                self.query(query);
                self.put(")");
            }
        }
    }

    /// A set operation's side: in parentheses if it is one itself.
    fn operand(&mut self, body: &QueryBody) {
        match body {
            QueryBody::SetOperation { .. } => {
                self.put("(");
                self.body(body);
                self.put(")");
            }
            _ => self.body(body),
        }
    }

    fn select(&mut self, select: &Select) {
        self.put("select ");
        self.hints(&select.hints);
        let options = &select.options;
        for (set, text) in [
            (options.distinct, "distinct "),
            (options.high_priority, "high_priority "),
            (options.straight_join, "straight_join "),
            (options.small_result, "sql_small_result "),
            (options.big_result, "sql_big_result "),
            (options.buffer_result, "sql_buffer_result "),
            (options.no_cache, "sql_no_cache "),
            (options.calc_found_rows, "sql_calc_found_rows "),
        ] {
            if set {
                self.put(text);
            }
        }
        self.list(&select.items, Self::select_item);
        if !select.from.is_empty() {
            self.put(" from ");
            self.list(&select.from, Self::table);
        }
        if let Some(filter) = &select.filter {
            if select.from.is_empty() {
                self.put(" from dual");
            }
            put!(self, " where ", filter);
        }
        if !select.group_by.is_empty() {
            self.put(" group by ");
            self.exprs(&select.group_by);
        }
        if select.with_rollup {
            self.put(" with rollup");
        }
        if let Some(having) = &select.having {
            put!(self, " having ", having);
        }
        self.windows(&select.windows);
    }

    fn hints(&mut self, hints: &[PlanHint]) {
        if hints.is_empty() {
            return;
        }
        self.put("/*+ ");
        for hint in hints {
            self.put(hint.form.name);
            self.put("(");
            self.list(&hint.tables, |writer, table| {
                writer.put(&table.name);
                if let Some(block) = &table.block {
                    put!(writer, "@", block);
                }
            });
            self.put(if hint.tables.is_empty() || hint.names.is_empty() { "" } else { " " });
            self.list(&hint.names, |writer, name| writer.put(name));
            self.put(") ");
        }
        self.put("*/ ");
    }

    fn select_item(&mut self, item: &SelectItem) {
        match item {
            SelectItem::All => self.put("*"),
            SelectItem::AllOf(name) => {
                self.object_name(name);
                self.put(".*");
            }
            SelectItem::Expr { expr, alias } => {
                self.expr(expr);
                self.alias(alias);
            }
        }
    }

    fn alias(&mut self, alias: &Option<Ident>) {
        if let Some(alias) = alias {
            put!(self, " AS ", alias);
        }
    }

    /// `(a,b)`, unless empty.
    fn columns(&mut self, columns: &[Ident]) {
        if !columns.is_empty() {
            self.put(" (");
            self.names(columns);
            self.put(")");
        }
    }

    fn table(&mut self, table: &TableReference) {
        match table {
            TableReference::Table(table) => self.table_factor(table),
            TableReference::Derived(derived) => {
                self.put(if derived.lateral { "lateral (" } else { "(" });
                self.query(&derived.query);
                put!(self, ") ", &derived.alias);
                self.columns(&derived.columns);
            }
            TableReference::JsonTable(table) => {
                put!(self, "json_table(", &table.document, ",");
                self.string(&table.path);
                self.json_columns(&table.columns);
                put!(self, ") ", &table.alias);
            }
            TableReference::Join(join) => self.join(join),
            TableReference::Group(tables) => {
                self.put("(");
                self.list(tables, Self::table);
                self.put(")");
            }
        }
    }

    fn table_factor(&mut self, table: &TableFactor) {
        self.object_name(&table.name);
        if !table.partitions.is_empty() {
            self.put(" partition");
            self.columns(&table.partitions);
        }
        if let Some(alias) = &table.alias {
            put!(self, " ", alias);
        }
        for hint in &table.hints {
            self.put(match hint.action {
                IndexHintAction::Use => " use index",
                IndexHintAction::Ignore => " ignore index",
                IndexHintAction::Force => " force index",
            });
            self.put(match hint.scope {
                IndexHintScope::All => " (",
                IndexHintScope::Join => " for join (",
                IndexHintScope::OrderBy => " for order by (",
                IndexHintScope::GroupBy => " for group by (",
            });
            self.names(&hint.indexes);
            self.put(")");
        }
    }

    fn join(&mut self, join: &Join) {
        self.put("(");
        self.table(&join.left);
        self.put(match (join.natural, join.kind) {
            (false, JoinKind::Inner) => " join ",
            (false, JoinKind::Left) => " left join ",
            (false, JoinKind::Right) => " right join ",
            (_, JoinKind::Straight) => " straight_join ",
            (true, JoinKind::Inner) => " natural join ",
            (true, JoinKind::Left) => " natural left join ",
            (true, JoinKind::Right) => " natural right join ",
        });
        self.table(&join.right);
        match &join.condition {
            JoinCondition::None => {}
            JoinCondition::On(expr) => put!(self, " on(", expr, ")"),
            JoinCondition::Using(columns) => {
                self.put(" using");
                self.columns(columns);
            }
        }
        self.put(")");
    }

    fn json_columns(&mut self, columns: &[JsonTableColumn]) {
        self.put(" columns (");
        self.list(columns, |writer, column| match column {
            JsonTableColumn::Ordinality(name) => put!(writer, name, " for ordinality"),
            JsonTableColumn::Value { name, ty, exists, path, on_empty, on_error } => {
                put!(writer, name, " ");
                writer.data_type(ty);
                writer.put(if *exists { " exists path " } else { " path " });
                writer.string(path);
                writer.json_on(on_empty, " on empty");
                writer.json_on(on_error, " on error");
            }
            JsonTableColumn::Nested { path, columns } => {
                writer.put("nested path ");
                writer.string(path);
                writer.json_columns(columns);
            }
        });
        self.put(")");
    }

    fn locking(&mut self, locking: &Locking) {
        self.put(match locking.strength {
            LockStrength::Share => " for share",
            LockStrength::Update => " for update",
        });
        if !locking.tables.is_empty() {
            self.put(" of ");
            self.list(&locking.tables, |writer, name| writer.object_name(name));
        }
        self.put(match locking.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        });
    }

    fn target_of_into(&mut self, into: &IntoTarget) {
        match into {
            IntoTarget::Variables(variables) => {
                self.put(" into ");
                self.list(variables, |writer, variable| match variable {
                    IntoVariable::User(name) => put!(writer, "@", name),
                    IntoVariable::Local(name) => writer.put(name),
                });
            }
            IntoTarget::DumpFile(path) => {
                self.put(" into dumpfile ");
                self.string(path);
            }
            IntoTarget::OutFile { path, charset, format } => {
                self.put(" into outfile ");
                self.string(path);
                if let Some(charset) = charset {
                    self.put(" character set ");
                    self.word(charset);
                }
                self.file_format(format);
            }
        }
    }

    fn file_format(&mut self, format: &FileFormat) {
        let enclosed = if format.optionally_enclosed { " optionally enclosed by " } else { " enclosed by " };
        let fields = [
            (" terminated by ", &format.fields_terminated),
            (enclosed, &format.enclosed),
            (" escaped by ", &format.escaped),
        ];
        let lines =
            [(" starting by ", &format.lines_starting), (" terminated by ", &format.lines_terminated)];
        self.format_clause(" fields", &fields);
        self.format_clause(" lines", &lines);
    }

    fn format_clause(&mut self, word: &str, parts: &[(&str, &Option<Text>)]) {
        if parts.iter().all(|(_, text)| text.is_none()) {
            return;
        }
        self.put(word);
        for (words, text) in parts {
            if let Some(text) = text {
                self.put(*words);
                self.string(text);
            }
        }
    }
}
