//! Statements of bodies that hold no others: assignments, queries, changes, calls, conditions,
//! prepared statements and transactions.

use super::value::arguments_list;
use super::{Body, Generator, LEVELS, NOTHING, Parameter, Routine, RoutineClass};
use crate::generator::schema::{Class, KEY, Table};
use crate::tree::{Sql, commas, expression, optional, sql, text};

/// Variables of the session that bodies and callers share, of one class each: MySQL's statements
/// keep to the class that a variable had when they first ran.
const SHARED: [(&str, Class); 3] = [("@u1", Class::Integer), ("@u2", Class::Text), ("@u3", Class::Decimal)];

impl Generator {
    /// A statement that holds no others.
    pub(super) fn simple_statement(&mut self, body: &mut Body) -> Sql {
        let statement = match self.below(100) {
            0..=21 => self.assignment(body),
            22..=29 => self.select_into(body),
            30..=49 if body.may_change() => self.change_in(body),
            50..=56 => self.raise(body),
            // A function sees the conditions of what calls it until its first statement, in MySQL.
            57..=60 if body.is_free() || body.in_handler => self.diagnostics(),
            61..=67 if body.may_change() => self.call_procedure(body),
            68..=73 => self.jump(body),
            74..=84 if body.is_free() => self.result_set(body),
            85..=89 if body.is_free() => self.dynamic(body),
            90..=94 if body.is_free() => self.transaction_in(),
            95 if body.is_free() => self.temporary_table(),
            96 | 97 if body.may_change() => text("SET @rows = ROW_COUNT()"),
            _ => self.assignment(body),
        };
        expression(statement, NOTHING)
    }

    fn assignment(&mut self, body: &mut Body) -> Sql {
        if body.variables.is_empty() || body.may_change() && self.percent(15) {
            if !body.may_change() {
                return text(NOTHING);
            }
            let (name, class) = self.pick(&SHARED);
            let value = self.variable_in(body, class);
            return sql(&format!("SET {name} = {{}}"), [value]);
        }
        let mut items = Vec::new();
        for _ in 0..1 + self.below(5) / 4 {
            let variables = body.variables.clone();
            let Parameter { name, ty, .. } = self.pick(&variables);
            let value = self.value_in(body, &ty);
            items.push(sql(&format!("{name} = {{}}"), [value]));
        }
        sql("SET {}", [commas(items)])
    }

    /// A row, at times none and at times too many.
    fn select_into(&mut self, body: &mut Body) -> Sql {
        if body.variables.is_empty() {
            return self.assignment(body);
        }
        let variables = body.variables.clone();
        let target = self.pick(&variables);
        let tables = self.tables.clone();
        let table = self.pick(&tables);
        let fitting: Vec<_> = table.columns.iter().filter(|c| c.ty.class == target.ty.class).collect();
        let item = if fitting.is_empty() { None } else { Some(self.pick(&fitting).name.clone()) };
        match item {
            Some(column) if self.percent(80) => {
                let key = self.key_in(body);
                let pattern = self.pick(&[" = {}", " = {}", " > {}", " = {} OR NULL"]);
                sql(
                    &format!("SELECT {column} INTO {} FROM {} WHERE {KEY}{pattern}", target.name, table.name),
                    [key],
                )
            }
            _ if target.ty.class == Class::Integer => {
                let what = self.pick(&["COUNT(*)", "MAX(id)", "MIN(id)", "SUM(id)"]);
                text(format!("SELECT {what} FROM {} INTO {}", table.name, target.name))
            }
            _ => {
                let value = self.value_in(body, &target.ty);
                sql(&format!("SELECT {{}} INTO {}", target.name), [value])
            }
        }
    }

    /// A key that may be there.
    fn key_in(&mut self, body: &Body) -> Sql {
        match self.percent(40) {
            true => self.variable_in(body, Class::Integer),
            false => expression(text(self.below(40).to_string()), "1"),
        }
    }

    /// A change of one row, or of several where none stays when one fails.
    pub(super) fn change_in(&mut self, body: &mut Body) -> Sql {
        let tables = self.tables.clone();
        let table = self.pick(&tables);
        let column = self.pick(&table.settable());
        let name = &table.name;
        let (key, value) = (self.key_in(body), self.value_in(body, &column.ty));
        match self.below(10) {
            0 | 1 => {
                // Functions heed no IGNORE of their own in MySQL.
                let words = &["INSERT", "REPLACE", "INSERT IGNORE"];
                let word = self.pick(if body.is_free() { words } else { &words[..2] });
                sql(&format!("{word} INTO {name} ({KEY}, {}) VALUES ({{}}, {{}})", column.name), [key, value])
            }
            2 | 3 => {
                let word = self.pick(&["INSERT", "INSERT", "REPLACE"]);
                let count = if body.is_free() { 1 + self.below(2) } else { 1 };
                let rows = self.rows(&table, count, true);
                sql(&format!("{word} INTO {name} VALUES {{}}"), [rows])
            }
            4 => self.delete_in(&table, key),
            5 if body.is_free() && !table.is_temporary => {
                let shift = 40 + self.below(200);
                let condition = format!("{KEY} % 3 = {}", self.below(3));
                text(format!(
                    "INSERT INTO {name} ({KEY}, {0}) SELECT {KEY} + {shift}, {0} FROM {name} WHERE {condition} \
                     ORDER BY {KEY}",
                    column.name
                ))
            }
            7 if body.is_free() => {
                let condition = format!("{KEY} % 3 = {}", self.below(3));
                sql(&format!("UPDATE {name} SET {} = {{}} WHERE {condition}", column.name), [value])
            }
            _ => sql(&format!("UPDATE {name} SET {} = {{}} WHERE {KEY} = {{}}", column.name), [value, key]),
        }
    }

    fn delete_in(&mut self, table: &Table, key: Sql) -> Sql {
        sql(&format!("DELETE FROM {} WHERE {KEY} = {{}}", table.name), [key])
    }

    /// SIGNAL, or RESIGNAL where a condition is handled.
    fn raise(&mut self, body: &Body) -> Sql {
        let mut items = Vec::new();
        if self.percent(60) {
            let said = self.pick(&["no", "it''s", "Ärger", ""]);
            items.push(text(format!("MESSAGE_TEXT = '{said}'")));
        }
        if self.percent(25) {
            let number = self.pick(&[1062, 1644, 5000, 65535]);
            items.push(text(format!("MYSQL_ERRNO = {number}")));
        }
        let items = match items.is_empty() {
            true => text(""),
            false => optional(sql(" SET {}", [commas(items)])),
        };
        let condition = match body.conditions.last() {
            Some(name) if self.percent(50) => name.clone(),
            _ => self
                .pick(&["SQLSTATE '45000'", "SQLSTATE '01000'", "SQLSTATE '02000'", "SQLSTATE '23000'"])
                .into(),
        };
        if body.in_handler && self.percent(70) || self.percent(2) {
            let condition = if self.percent(50) { String::new() } else { format!(" {condition}") };
            return sql(&format!("RESIGNAL{condition}{{}}"), [items]);
        }
        let signal = sql(&format!("SIGNAL {condition}{{}}"), [items]);
        match self.percent(50) {
            true => signal,
            false => sql("IF {} THEN {}; END IF", [self.condition_in(body), expression(signal, NOTHING)]),
        }
    }

    /// GET DIAGNOSTICS of what is handled, or of the last statement.
    pub(super) fn diagnostics(&mut self) -> Sql {
        let area = self.pick(&["", "CURRENT ", "STACKED "]);
        let what = match self.below(5) {
            0 => "@d1 = NUMBER",
            1 => "@d1 = NUMBER, @d2 = ROW_COUNT",
            2 => "CONDITION 1 @d3 = RETURNED_SQLSTATE, @d4 = MYSQL_ERRNO",
            3 => "CONDITION 2 @d3 = RETURNED_SQLSTATE, @d4 = MYSQL_ERRNO",
            _ => "CONDITION 1 @d4 = MYSQL_ERRNO, @d5 = CLASS_ORIGIN, @d6 = SUBCLASS_ORIGIN",
        };
        text(format!("GET {area}DIAGNOSTICS {what}"))
    }

    fn call_procedure(&mut self, body: &mut Body) -> Sql {
        let (number, is_free) = (body.number, body.is_free());
        let any = self.percent(3);
        let may_call = |r: &&Routine| {
            let fits = r.kind == RoutineClass::PlainProcedure
                || r.kind == RoutineClass::Procedure && (is_free || any);
            fits && r.number < number && r.level + 1 < LEVELS
        };
        let found: Vec<_> = self.routines.iter().filter(may_call).cloned().collect();
        if found.is_empty() || body.calls == 0 {
            return self.change_in(body);
        }
        let routine = self.pick(&found);
        body.calls -= 1;
        body.level = body.level.max(routine.level + 1);
        let mut arguments = Vec::new();
        for parameter in &routine.parameters {
            arguments.push(match parameter.mode {
                "OUT " | "INOUT " => {
                    let fitting = body.variables.iter().filter(|v| v.ty.class == parameter.ty.class);
                    let mut fitting: Vec<_> = fitting.map(|v| v.name.clone()).collect();
                    let shared = SHARED.iter().filter(|(_, class)| *class == parameter.ty.class);
                    fitting.extend(shared.map(|(name, _)| (*name).to_owned()));
                    text(if fitting.is_empty() { "@other".to_owned() } else { self.pick(&fitting) })
                }
                _ => self.variable_in(body, parameter.ty.class),
            });
        }
        sql(&format!("CALL {}({{}})", routine.name), [arguments_list(arguments)])
    }

    /// LEAVE, ITERATE or RETURN, on some condition.
    fn jump(&mut self, body: &mut Body) -> Sql {
        let leave = |label: &String| text(format!("LEAVE {label}"));
        let jump = match (self.below(4), body.loops.last(), body.blocks.last(), body.returns.clone()) {
            (0, Some(label), _, _) => leave(label),
            (1, Some(label), _, _) => text(format!("ITERATE {label}")),
            (2, _, Some(label), _) => leave(label),
            (_, _, _, Some(ty)) => sql("RETURN {}", [self.value_in(body, &ty)]),
            (_, Some(label), _, _) | (_, _, Some(label), _) => leave(label),
            _ => return self.assignment(body),
        };
        sql("IF {} THEN {}; END IF", [self.condition_in(body), expression(jump, NOTHING)])
    }

    /// A query whose rows go to the client.
    fn result_set(&mut self, body: &Body) -> Sql {
        if body.variables.is_empty() || self.percent(60) {
            return self.ordered_query(body);
        }
        let mut items = Vec::new();
        for _ in 0..1 + self.below(3) {
            items.push(text(self.pick(&body.variables).name.clone()));
        }
        sql("SELECT {}", [commas(items)])
    }

    fn ordered_query(&mut self, body: &Body) -> Sql {
        let tables = self.readable();
        let table = self.pick(&tables);
        let column = self.pick(&table.columns).name;
        let filter = match self.below(4) {
            0 => optional(sql(&format!(" WHERE a.{KEY} <= {{}}"), [self.key_in(body)])),
            1 => optional(sql(&format!(" WHERE a.{KEY} = {{}}"), [self.key_in(body)])),
            _ => text(""),
        };
        let pattern = match self.below(5) {
            0 => format!("SELECT COUNT(*), MAX(a.{KEY}) FROM {} AS a{{}}", table.name),
            _ => format!(
                "SELECT a.{KEY}, a.{column} FROM {} AS a{{}} ORDER BY a.{KEY}, a.{column}",
                table.name
            ),
        };
        sql(&pattern, [filter])
    }

    /// PREPARE of a text, which sees no variables of the body, EXECUTE and DEALLOCATE.
    fn dynamic(&mut self, body: &mut Body) -> Sql {
        let without = Body { variables: Vec::new(), ..body.clone() };
        let (inner, using) = match self.below(4) {
            0 => (text("SELECT ?, @u1"), " USING @u2"),
            1 => {
                let tables = self.tables.clone();
                let table = self.pick(&tables);
                (text(format!("DELETE FROM {} WHERE {KEY} = ?", table.name)), " USING @u1")
            }
            2 => (self.change_in(&mut without.clone()), ""),
            _ => (self.ordered_query(&without), ""),
        };
        let quoted = inner.to_string().replace('\\', "\\\\").replace('\'', "''");
        let source = match self.percent(30) {
            true => format!("SET @source = '{quoted}'; PREPARE s1 FROM @source"),
            false => format!("PREPARE s1 FROM '{quoted}'"),
        };
        let end = if self.percent(70) { "; DEALLOCATE PREPARE s1" } else { "" };
        let all = format!("{source}; EXECUTE s1{using}{end}");
        // A handler's body is one statement.
        text(if body.in_handler { format!("BEGIN {all}; END") } else { all })
    }

    fn transaction_in(&mut self) -> Sql {
        text(self.pick(&[
            "START TRANSACTION",
            "START TRANSACTION",
            "COMMIT",
            "ROLLBACK",
            "SAVEPOINT s",
            "ROLLBACK TO SAVEPOINT s",
            "RELEASE SAVEPOINT s",
        ]))
    }

    fn temporary_table(&mut self) -> Sql {
        text(self.pick(&[
            "CREATE TEMPORARY TABLE IF NOT EXISTS tmp (id INT PRIMARY KEY, v INT)",
            "INSERT INTO tmp VALUES (1, 2), (2, 3)",
            "SELECT * FROM tmp ORDER BY id",
            "DROP TEMPORARY TABLE IF EXISTS tmp",
        ]))
    }
}
