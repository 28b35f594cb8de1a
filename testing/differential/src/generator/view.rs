//! Views: of one table, of joins, groups and unions, of other views, with and without CHECK OPTION.
//! They stand where tables do: in queries, and in changes of rows.

use super::expression::Visible;
use super::schema::{Class, Column, KEY, Table, ValueKind};
use super::{Generator, Statement, unordered};
use crate::tree::{Sql, optional, sql, text};

impl Generator {
    /// What queries and changes may name: tables and views.
    pub(super) fn readable(&self) -> Vec<Table> {
        self.tables.iter().chain(&self.views).cloned().collect()
    }

    /// Makes a view, at times in the place of another one. Its key is as unique as a table's.
    pub(super) fn new_view(&mut self, script: &mut Vec<Statement>) {
        let bases: Vec<_> = self.readable().into_iter().filter(|t| !t.is_temporary).collect();
        if bases.is_empty() {
            return;
        }
        let base = self.pick(&bases);
        let other = self.pick(&bases);
        let (columns, query, may_check) = match self.below(12) {
            0 => self.grouped_view(&base),
            1 => self.united_view(&base),
            2 => self.joined_view(&base, &other, "LEFT JOIN"),
            3..=5 => self.joined_view(&base, &other, "JOIN"),
            _ => self.filtered_view(&base),
        };
        let replaced = match self.views.is_empty() || self.percent(70) {
            true => None,
            false => Some(self.below(self.views.len() as u64) as usize),
        };
        let (verb, name) = match replaced {
            Some(number) => ("CREATE OR REPLACE", self.views[number].name.clone()),
            None => ("CREATE", self.name("v")),
        };
        let algorithm = self.pick(&["", "", "", " ALGORITHM = MERGE", " ALGORITHM = TEMPTABLE"]);
        let check = match may_check && !algorithm.ends_with("TEMPTABLE") && self.percent(50) {
            true => self.pick(&[" WITH CHECK OPTION", " WITH LOCAL CHECK OPTION"]),
            false => "",
        };
        let names: Vec<_> = columns.iter().map(|c| c.name.as_str()).collect();
        let pattern = format!("{verb}{algorithm} VIEW {name} ({}) AS {{}}{{}}", names.join(", "));
        script.push(unordered(sql(&pattern, [query, optional(text(check))])));
        let view = Table { name, columns, indexes: Vec::new(), counts: false, is_temporary: false };
        match replaced {
            Some(number) => self.views[number] = view,
            None => self.views.push(view),
        }
    }

    /// Other names for some columns of a source, its key first, and what they are there.
    fn chosen(&mut self, base: &Table, alias: &str, with_key: bool) -> (Vec<Column>, Vec<String>) {
        let (mut columns, mut items) = (Vec::new(), Vec::new());
        // One is there always that a statement may set.
        let set = base.settable().first().map(|c| c.name.clone());
        for column in &base.columns {
            let (is_key, is_set) = (column.name == KEY, set.as_ref() == Some(&column.name));
            if is_key && !with_key || !is_key && !is_set && (column.is_vague || self.percent(25)) {
                continue;
            }
            let name = if is_key { KEY.to_owned() } else { self.name("w") };
            columns.push(Column { name, ..column.clone() });
            items.push(format!("{alias}.{}", column.name));
        }
        (columns, items)
    }

    fn filtered_view(&mut self, base: &Table) -> (Vec<Column>, Sql, bool) {
        let (mut columns, mut items) = self.chosen(base, "a", true);
        let scope = self.seen(base, "a");
        if self.percent(20) {
            let numbers: Vec<_> = scope.iter().filter(|v| v.ty.class == Class::Integer).cloned().collect();
            if let Some(Visible { sql, ty }) = numbers.last() {
                columns.push(Column { is_generated: true, ..Column::new(self.name("w"), ty.clone()) });
                items.push(format!("{sql} % 7"));
            }
        }
        let filter = self.filter_of_view(&scope);
        let order = if self.percent(15) { format!(" ORDER BY a.{KEY}") } else { String::new() };
        let pattern = format!("SELECT {} FROM {} AS a{{}}{order}", items.join(", "), base.name);
        (columns, sql(&pattern, [filter]), true)
    }

    fn joined_view(&mut self, base: &Table, other: &Table, how: &str) -> (Vec<Column>, Sql, bool) {
        let (mut columns, mut items) = self.chosen(base, "a", true);
        let (more, others) = self.chosen(other, "b", false);
        columns.extend(more);
        items.extend(others);
        let scope = [self.seen(base, "a"), self.seen(other, "b")].concat();
        let filter = self.filter_of_view(&scope);
        let pattern = format!(
            "SELECT {} FROM {} AS a {how} {} AS b ON a.{KEY} = b.{KEY}{{}}",
            items.join(", "),
            base.name,
            other.name
        );
        (columns, sql(&pattern, [filter]), how == "JOIN")
    }

    fn grouped_view(&mut self, base: &Table) -> (Vec<Column>, Sql, bool) {
        let key = base.columns[0].clone();
        let count = Column::new(self.name("w"), key.ty.clone());
        let query = format!("SELECT a.{KEY} % 5, COUNT(*) FROM {} AS a GROUP BY a.{KEY} % 5", base.name);
        (vec![key, count], text(query), false)
    }

    fn united_view(&mut self, base: &Table) -> (Vec<Column>, Sql, bool) {
        // A UNION's bits are numbers here.
        let is_bit = |c: &Column| matches!(c.ty.kind, ValueKind::Bit(_));
        let columns = base.columns.iter().filter(|c| !is_bit(c)).cloned().collect();
        let without_bits = Table { columns, ..base.clone() };
        if without_bits.settable().is_empty() {
            return self.grouped_view(base);
        }
        let (columns, items) = self.chosen(&without_bits, "a", true);
        let rest = items[1..].iter().map(|item| format!(", {item}")).collect::<String>();
        let part = |key: &str| format!("SELECT {key}{rest} FROM {} AS a", base.name);
        let (even, odd) = (part(&format!("a.{KEY} * 2")), part(&format!("a.{KEY} * 2 + 1")));
        (columns, text(format!("{even} UNION ALL {odd}")), false)
    }

    fn filter_of_view(&mut self, scope: &[Visible]) -> Sql {
        match self.below(4) {
            0 => text(""),
            1 => {
                // Texts that are converted are read back in another collation by MySQL.
                let column = self.pick(scope).sql;
                optional(text(format!(" WHERE {column} IS NOT NULL")))
            }
            _ => {
                let key = scope[0].sql.clone();
                let test = self.pick(&["% 3 <> 1", "< 20", "> 5", "% 2 = 0", "BETWEEN 3 AND 30"]);
                optional(text(format!(" WHERE {key} {test}")))
            }
        }
    }
}
