//! Window functions. Those that tell rows apart that are sorted alike stand only where an order
//! leaves no choice.

use super::Generator;
use super::query::{EXACT, Source, named};
use super::schema::Class;
use crate::tree::{Sql, expression, optional, sql, text};

impl Generator {
    /// A query with window functions, at times over groups.
    pub(super) fn windowed(&mut self) -> Sql {
        let source = self.source();
        let filter = self.filter(&source.scope);
        let calls: Vec<Sql> = (0..1 + self.below(3)).map(|_| self.window_call(&source)).collect();
        match self.below(6) {
            0 => sql("SELECT DISTINCT {} FROM {}{}", [named(calls), source.from, filter]),
            1 => {
                let inner = sql("SELECT {} FROM {}{}", [named(calls), source.from, filter]);
                sql("SELECT COUNT(*) AS n, MIN(w.x0) AS x FROM ({}) AS w WHERE w.x0 IS NOT NULL", [inner])
            }
            2 => self.windowed_groups(),
            _ => sql("SELECT {} FROM {}{}", [named(calls), source.from, filter]),
        }
    }

    /// Windows over groups, whose keys are their order.
    fn windowed_groups(&mut self) -> Sql {
        let source = self.source();
        let filter = self.filter(&source.scope);
        let mut keys: Vec<String> =
            self.exact_columns(&source.scope, 2).into_iter().map(|column| column.sql).collect();
        if keys.is_empty() {
            keys = source.keys.iter().take(1).cloned().collect();
        }
        let Some(first) = keys.first().cloned() else { return self.grouped() };
        let of = self.expression(Class::Integer, &source.scope, 1);
        let call = self.pick(&["SUM(COUNT(*))", "RANK()", "ROW_NUMBER()", "MAX(COUNT(*))", "COUNT(*)"]);
        let partition = if self.percent(30) { format!("PARTITION BY {first} ") } else { String::new() };
        let by = keys.join(", ");
        let over = format!("{call} OVER ({partition}ORDER BY {by})");
        let items = named(vec![text(over), sql("SUM({})", [of]), text(first)]);
        sql(&format!("SELECT {{}} FROM {{}}{{}} GROUP BY {by}"), [items, source.from, filter])
    }

    fn window_call(&mut self, source: &Source) -> Sql {
        let is_total = !source.keys.is_empty() && self.percent(70);
        let partition: Vec<String> =
            self.exact_columns(&source.scope, 2).into_iter().map(|column| column.sql).collect();
        let columns = self.exact_columns(&source.scope, 2);
        let by_value = match columns.as_slice() {
            [column] if !is_total => Some(column.ty.class),
            _ => None,
        };
        let mut order: Vec<String> = columns.into_iter().map(|column| column.sql).collect();
        if is_total {
            order.extend(source.keys.iter().cloned());
        }
        let order: Vec<String> = order.into_iter().map(|term| term + self.pick(&["", "", " DESC"])).collect();
        let mut window = String::new();
        if !partition.is_empty() && self.percent(60) {
            window += &format!("PARTITION BY {} ", partition.join(", "));
        }
        if !order.is_empty() {
            window += &format!("ORDER BY {}", order.join(", "));
        }
        let frame = match by_value {
            Some(class) if self.percent(50) => self.frame_by_value(class),
            _ if self.percent(60) => self.frame(is_total),
            _ => text(""),
        };
        let class = self.pick(&EXACT);
        let value = self.expression(class, &source.scope, 1);
        let integer = self.expression(Class::Integer, &source.scope, 1);
        let n = 1 + self.below(4);
        let call = match (self.below(12), is_total) {
            (0, true) => text("ROW_NUMBER()"),
            (1, true) => text(format!("NTILE({n})")),
            (2 | 3, true) => {
                let name = self.pick(&["LAG", "LEAD"]);
                match self.below(3) {
                    0 => sql(&format!("{name}({{}})"), [value]),
                    1 => sql(&format!("{name}({{}}, {})", n - 1), [value]),
                    _ => {
                        let default = self.expression(class, &source.scope, 1);
                        sql(&format!("{name}({{}}, {n}, {{}})"), [value, default])
                    }
                }
            }
            (4, true) => sql(&format!("NTH_VALUE({{}}, {n})"), [value]),
            (5, true) => {
                let name = self.pick(&["FIRST_VALUE", "LAST_VALUE"]);
                sql(&format!("{name}({{}})"), [value])
            }
            (0..=3, false) => {
                let name = self.pick(&["RANK", "DENSE_RANK", "PERCENT_RANK", "CUME_DIST"]);
                text(format!("{name}()"))
            }
            (6, _) => text("COUNT(*)"),
            (7, _) => sql("COUNT({})", [value]),
            (8, _) => {
                let name = self.pick(&["BIT_AND", "BIT_OR", "BIT_XOR"]);
                sql(&format!("{name}({{}})"), [integer])
            }
            (9, _) => {
                let name = self.pick(&["MIN", "MAX"]);
                sql(&format!("{name}({{}})"), [value])
            }
            _ => {
                let name = self.pick(&["SUM", "AVG", "SUM"]);
                let class = self.pick(&[Class::Integer, Class::Decimal]);
                sql(&format!("{name}({{}})"), [self.expression(class, &source.scope, 1)])
            }
        };
        let whole = sql(&format!("{{}} OVER ({window}{{}})"), [call, frame]);
        expression(whole, Class::Integer.simplest())
    }

    /// A frame. One that counts rows needs an order that leaves no choice.
    fn frame(&mut self, is_total: bool) -> Sql {
        let n = self.below(4);
        let m = self.below(4);
        let frame = match (self.below(8), is_total) {
            (0, _) => "RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING".to_owned(),
            (1, _) => "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING".to_owned(),
            (2, true) => "ROWS UNBOUNDED PRECEDING".to_owned(),
            (3, true) => format!("ROWS BETWEEN {n} PRECEDING AND {m} PRECEDING"),
            (4, true) => format!("ROWS BETWEEN {n} FOLLOWING AND {m} FOLLOWING"),
            (5, true) => "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING".to_owned(),
            (_, true) => format!("ROWS BETWEEN {n} PRECEDING AND {m} FOLLOWING"),
            (_, false) => "RANGE BETWEEN CURRENT ROW AND CURRENT ROW".to_owned(),
        };
        optional(text(format!(" {frame}")))
    }

    /// A frame of values around that of the current row, in an order of one column of this class.
    fn frame_by_value(&mut self, class: Class) -> Sql {
        let mut bound = || {
            let n = self.below(4);
            match class {
                Class::Date => format!("INTERVAL {n} {}", self.pick(&["DAY", "MONTH", "YEAR"])),
                Class::Time | Class::DateTime => {
                    format!("INTERVAL {n} {}", self.pick(&["SECOND", "HOUR"]))
                }
                _ => n.to_string(),
            }
        };
        let (n, m) = (bound(), bound());
        let bounds = match self.below(5) {
            0 => format!("{n} PRECEDING"),
            1 => format!("BETWEEN UNBOUNDED PRECEDING AND {n} PRECEDING"),
            2 => format!("BETWEEN {n} FOLLOWING AND UNBOUNDED FOLLOWING"),
            3 => format!("BETWEEN CURRENT ROW AND {n} FOLLOWING"),
            _ => format!("BETWEEN {n} PRECEDING AND {m} FOLLOWING"),
        };
        optional(text(format!(" RANGE {bounds}")))
    }
}
