//! Queries: of one table or several, grouped, with subqueries, united.

use super::expression::Visible;
use super::schema::{Class, TRUE, Table, ValueKind};
use super::{Generator, Statement, unordered};
use crate::partition::{FROM, MARK};
use crate::tree::{Sql, commas, expression, optional, sql, text};

/// What stands after FROM, and what may be named because of it.
pub(super) struct Source {
    pub(super) from: Sql,
    pub(super) scope: Vec<Visible>,
    /// Columns that together are unique; none where nothing is known to be.
    pub(super) keys: Vec<String>,
}

/// Classes whose equal values are the same text. Texts that are equal by their collation may
/// differ, and then it is open which of them stands for the group.
pub(super) const EXACT: [Class; 5] =
    [Class::Integer, Class::Decimal, Class::Date, Class::Time, Class::DateTime];

impl Generator {
    pub(super) fn query(&mut self) -> Statement {
        match self.below(20) {
            0 | 1 => {
                let items = self.select_items(&[], 3);
                unordered(sql("SELECT {}", [items]))
            }
            2..=6 => unordered(self.grouped()),
            7 => unordered(self.distinct()),
            8 | 9 => unordered(self.united()),
            10 | 11 if self.for_mysql => unordered(self.windowed()),
            _ => self.plain(),
        }
    }

    fn plain(&mut self) -> Statement {
        let source = self.source();
        let items = self.select_items(&source.scope, 2);
        if self.percent(25) {
            // Its parts are asked for too; see `partition`.
            let condition = self.condition(&source.scope, 3);
            let whole = format!("SELECT {{}}{FROM}{{}} WHERE {MARK}{{}}");
            return unordered(sql(&whole, [items, source.from, condition]));
        }
        let filter = self.filter(&source.scope);
        let is_ordered = !source.keys.is_empty() && self.percent(50);
        let order = if is_ordered { self.order(&source) } else { text("") };
        Statement { sql: sql("SELECT {} FROM {}{}{}", [items, source.from, filter, order]), is_ordered }
    }

    /// An ORDER BY that leaves no choice, and perhaps a LIMIT.
    fn order(&mut self, source: &Source) -> Sql {
        let first = self.class_in(&source.scope);
        let first = self.expression(first, &source.scope, 1);
        let direction = self.pick(&["", " DESC"]);
        let first = optional(sql(&format!("{{}}{direction}, "), [first]));
        let keys: Vec<_> = source
            .keys
            .iter()
            .map(|k| format!("{k}{}", if self.random.chance(1, 3) { " DESC" } else { "" }))
            .collect();
        let limit = match self.below(3) {
            0 => optional(text(format!(" LIMIT {}", self.below(8)))),
            1 => optional(text(format!(" LIMIT {} OFFSET {}", 1 + self.below(6), self.below(4)))),
            _ => text(""),
        };
        // A constant there would be the number of a column.
        let first = if first.to_string().contains(['a', 'b', 'c']) && first.to_string().contains('.') {
            first
        } else {
            text("")
        };
        sql(&format!(" ORDER BY {{}}{}{{}}", keys.join(", ")), [first, limit])
    }

    pub(super) fn grouped(&mut self) -> Sql {
        let source = self.source();
        let filter = self.filter(&source.scope);
        let groups: Vec<Visible> = self.exact_columns(&source.scope, 2);
        let mut items: Vec<Sql> = groups.iter().map(|g| text(g.sql.clone())).collect();
        for _ in 0..1 + self.below(3) {
            let aggregate = self.aggregate(&source.scope);
            items.push(aggregate);
        }
        let names: Vec<_> = groups.iter().map(|g| g.sql.clone()).collect();
        let rollup = if self.percent(15) { " WITH ROLLUP" } else { "" };
        let by =
            if names.is_empty() { text("") } else { text(format!(" GROUP BY {}{rollup}", names.join(", "))) };
        let having = if self.percent(30) {
            let (aggregate, bound) = (self.aggregate(&source.scope), self.small_integer());
            optional(sql(&format!(" HAVING {{}} > {bound}"), [aggregate]))
        } else {
            text("")
        };
        sql("SELECT {} FROM {}{}{}{}", [named(items), source.from, filter, by, having])
    }

    fn aggregate(&mut self, scope: &[Visible]) -> Sql {
        let integer = |generator: &mut Self| generator.expression(Class::Integer, scope, 1);
        let whole = match self.below(12) {
            0 | 1 => text("COUNT(*)"),
            2 => sql("COUNT({})", [integer(self)]),
            3 => {
                let class = self.class_in(scope);
                sql("COUNT(DISTINCT {})", [self.expression(class, scope, 1)])
            }
            4 | 5 => sql("SUM({})", [integer(self)]),
            6 => sql("SUM({})", [self.expression(Class::Decimal, scope, 1)]),
            7 => {
                let class = self.pick(&[Class::Integer, Class::Decimal]);
                sql("AVG({})", [self.expression(class, scope, 1)])
            }
            8 | 9 => {
                let (name, class) = (self.pick(&["MIN", "MAX"]), self.pick(&EXACT));
                sql(&format!("{name}({{}})"), [self.expression(class, scope, 1)])
            }
            10 => {
                let name = self.pick(&["BIT_AND", "BIT_OR", "BIT_XOR"]);
                sql(&format!("{name}({{}})"), [integer(self)])
            }
            _ => {
                let of = self.expression(Class::Integer, scope, 1);
                sql("GROUP_CONCAT({} ORDER BY 1)", [of])
            }
        };
        expression(whole, Class::Integer.simplest())
    }

    fn distinct(&mut self) -> Sql {
        let source = self.source();
        let filter = self.filter(&source.scope);
        let items = self.exact_items(&source.scope);
        sql("SELECT DISTINCT {} FROM {}{}", [named(items.0), source.from, filter])
    }

    fn united(&mut self) -> Sql {
        let source = self.source();
        let (items, classes) = self.exact_items(&source.scope);
        let first = self.filter(&source.scope);
        let mut pieces = vec![sql("SELECT {} FROM {}{}", [named(items), source.from, first])];
        for _ in 0..1 + self.below(2) {
            let source = self.source();
            let items = classes.iter().map(|class| self.expression(*class, &source.scope, 1)).collect();
            let filter = self.filter(&source.scope);
            let how = self.pick(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
            pieces
                .push(sql(&format!(" {how} SELECT {{}} FROM {{}}{{}}"), [named(items), source.from, filter]));
        }
        Sql::Sequence(pieces)
    }

    /// One to three expressions of exact classes.
    fn exact_items(&mut self, scope: &[Visible]) -> (Vec<Sql>, Vec<Class>) {
        let classes: Vec<Class> = (0..1 + self.below(3)).map(|_| self.pick(&EXACT)).collect();
        let items = classes.iter().map(|class| self.expression(*class, scope, 1)).collect();
        (items, classes)
    }

    /// Up to `most` columns of exact classes.
    pub(super) fn exact_columns(&mut self, scope: &[Visible], most: u64) -> Vec<Visible> {
        let exact: Vec<_> = scope.iter().filter(|v| EXACT.contains(&v.ty.class)).cloned().collect();
        let mut chosen: Vec<Visible> = Vec::new();
        for _ in 0..self.below(most + 1) {
            let column = self.pick(&exact);
            if chosen.iter().all(|c| c.sql != column.sql) {
                chosen.push(column);
            }
        }
        chosen
    }

    fn select_items(&mut self, scope: &[Visible], depth: u32) -> Sql {
        let mut items = Vec::new();
        for _ in 0..1 + self.below(4) {
            let class = self.class_in(scope);
            let item = if !scope.is_empty() && self.percent(8) {
                self.scalar_subquery(scope)
            } else {
                self.expression(class, scope, depth)
            };
            items.push(item);
        }
        named(items)
    }

    /// A WHERE clause, most of the time.
    pub(super) fn filter(&mut self, scope: &[Visible]) -> Sql {
        if self.percent(25) {
            return text("");
        }
        let mut condition = self.condition(scope, 2);
        if self.percent(20) {
            let other = self.subquery_condition(scope);
            condition = expression(sql("({} AND {})", [condition, other]), TRUE);
        }
        optional(sql(" WHERE {}", [condition]))
    }

    fn scalar_subquery(&mut self, scope: &[Visible]) -> Sql {
        let (table, inner) = self.inner_table();
        let name = self.pick(&["COUNT(*)", "MAX(s.id)", "MIN(s.id)"]);
        let link = self.linked(scope, &inner);
        expression(
            sql(&format!("(SELECT {name} FROM {table} AS s WHERE {{}})"), [link]),
            Class::Integer.simplest(),
        )
    }

    fn subquery_condition(&mut self, scope: &[Visible]) -> Sql {
        let (table, inner) = self.inner_table();
        let class = self.class_in(&inner);
        let (outer, item) = (self.expression(class, scope, 1), self.expression(class, &inner, 1));
        let filter = self.filter_of(&inner, scope);
        let whole = match self.below(7) {
            6 => {
                let other = self.class_in(&inner);
                let (b, also) = (self.expression(other, scope, 0), self.expression(other, &inner, 0));
                let not = self.pick(&["", "NOT "]);
                let pattern = format!("(({{}}, {{}}) {not}IN (SELECT {{}}, {{}} FROM {table} AS s{{}}))");
                sql(&pattern, [outer, b, item, also, filter])
            }
            0 | 1 => {
                let not = self.pick(&["", "NOT "]);
                sql(&format!("({{}} {not}IN (SELECT {{}} FROM {table} AS s{{}}))"), [outer, item, filter])
            }
            2 | 3 => {
                let not = self.pick(&["", "NOT "]);
                let link = self.linked(scope, &inner);
                sql(&format!("{not}EXISTS (SELECT 1 FROM {table} AS s WHERE {{}})"), [link])
            }
            4 => {
                let how = self.pick(&["> ALL", "< ANY", "= ANY", "<> ALL", ">= ANY"]);
                sql(&format!("({{}} {how} (SELECT {{}} FROM {table} AS s{{}}))"), [outer, item, filter])
            }
            _ => sql(&format!("({{}} >= (SELECT MAX(s.id) FROM {table} AS s{{}}))"), [outer, filter]),
        };
        expression(whole, TRUE)
    }

    /// A WHERE clause of a subquery, at times with outer columns.
    fn filter_of(&mut self, inner: &[Visible], outer: &[Visible]) -> Sql {
        if self.percent(50) {
            return text("");
        }
        let scope = if self.percent(40) { [inner, outer].concat() } else { inner.to_vec() };
        optional(sql(" WHERE {}", [self.condition(&scope, 1)]))
    }

    /// A condition that links a subquery to its surroundings.
    fn linked(&mut self, outer: &[Visible], inner: &[Visible]) -> Sql {
        let class = self.class_in(inner);
        let (a, b) = (self.expression(class, inner, 0), self.expression(class, outer, 0));
        let link = expression(sql("({} = {})", [a, b]), TRUE);
        if self.percent(40) {
            return expression(sql("({} AND {})", [link, self.condition(inner, 1)]), TRUE);
        }
        link
    }

    /// A table for a subquery, with the alias s.
    fn inner_table(&mut self) -> (String, Vec<Visible>) {
        let tables = self.readable();
        let table = self.pick(&tables);
        let scope = self.seen(&table, "s");
        (table.name, scope)
    }

    /// One to three tables or derived tables, joined.
    pub(super) fn source(&mut self) -> Source {
        let (from, mut scope, mut keys) = self.factor("a");
        let mut pieces = vec![from];
        for alias in ["b", "c"] {
            if !self.percent(35) {
                break;
            }
            let (factor, inner, its_keys) = self.factor(alias);
            keys =
                if keys.is_empty() || its_keys.is_empty() { Vec::new() } else { [keys, its_keys].concat() };
            let how = self.pick(&["JOIN", "LEFT JOIN", "RIGHT JOIN", "INNER JOIN", "CROSS JOIN"]);
            let link = self.linked(&scope, &inner);
            let both_have_keys = !keys.is_empty() && pieces.len() == 1;
            scope.extend(inner);
            pieces.push(match self.below(12) {
                _ if how == "CROSS JOIN" => sql(" CROSS JOIN {}", [factor]),
                0 | 1 if both_have_keys => sql(&format!(" {how} {{}} USING (id)"), [factor]),
                2 if both_have_keys => sql(&format!(" NATURAL {} {{}}", how.replace("INNER ", "")), [factor]),
                _ => sql(&format!(" {how} {{}} ON {{}}"), [factor, link]),
            });
        }
        Source { from: Sql::Sequence(pieces), scope, keys }
    }

    /// A table's columns in a query. MariaDB shows a YEAR with four digits wherever it comes by, so
    /// that it gets a number.
    pub(super) fn seen(&self, table: &Table, alias: &str) -> Vec<Visible> {
        let mut columns = visible(table, alias);
        for column in columns.iter_mut().filter(|c| matches!(c.ty.kind, ValueKind::Year) && !self.for_mysql) {
            column.sql = format!("CAST({} AS SIGNED)", column.sql);
        }
        columns
    }

    fn factor(&mut self, alias: &str) -> (Sql, Vec<Visible>, Vec<String>) {
        let tables = self.readable();
        let table = self.pick(&tables);
        if self.percent(10) {
            return self.derived(&table, alias);
        }
        let from = text(format!("{} AS {alias}", table.name));
        (from, self.seen(&table, alias), vec![format!("{alias}.id")])
    }

    fn derived(&mut self, table: &Table, alias: &str) -> (Sql, Vec<Visible>, Vec<String>) {
        let inner = self.seen(table, "i");
        let filter = self.filter(&inner);
        let (mut items, mut scope) = (Vec::new(), Vec::new());
        for (i, column) in inner.iter().enumerate() {
            items.push(text(format!("{} AS d{i}", column.sql)));
            scope.push(Visible { sql: format!("{alias}.d{i}"), ty: column.ty.clone() });
        }
        let items = Sql::List { items, separator: ", ", least: 1 };
        (
            sql(&format!("(SELECT {{}} FROM {} AS i{{}}) AS {alias}", table.name), [items, filter]),
            scope,
            Vec::new(),
        )
    }
}

/// A table's columns by this alias.
pub(super) fn visible(table: &Table, alias: &str) -> Vec<Visible> {
    let column = |c: &super::schema::Column| {
        let name = format!("{alias}.{}", c.name);
        // As a number: MariaDB takes it for a string of bytes where a literal is one.
        let sql = if matches!(c.ty.kind, ValueKind::Bit(_)) { format!("({name} + 0)") } else { name };
        Visible { sql, ty: c.ty.clone() }
    };
    table.columns.iter().filter(|c| !c.is_vague).map(column).collect()
}

/// Items with names of their own: what servers call an expression is not the question.
pub(super) fn named(items: Vec<Sql>) -> Sql {
    commas(items.into_iter().enumerate().map(|(i, item)| sql(&format!("{{}} AS x{i}"), [item])).collect())
}
