//! Blocks with what they declare, conditions, loops, handlers and cursors.

use super::value::arguments_list;
use super::{Body, Generator, NOTHING, Parameter, variable_of};
use crate::generator::schema::{Class, KEY, Type};
use crate::tree::{Sql, commas, expression, optional, sql, text};

/// Rounds of a loop at most.
const ROUNDS: u64 = 3;

/// Rows that a cursor's loop reads at most.
const FETCHES: u64 = 50;

impl Generator {
    /// The block that is all of a body.
    pub(super) fn whole_block(&mut self, body: &mut Body) -> Sql {
        self.labelled_block(body, 3)
    }

    fn labelled_block(&mut self, body: &mut Body, depth: u32) -> Sql {
        let label = self.name("l");
        let is_labelled = self.percent(40);
        if is_labelled {
            body.blocks.push(label.clone());
        }
        let inner = self.block(body, depth);
        if !is_labelled {
            return inner;
        }
        body.blocks.pop();
        let end = if self.percent(50) { format!(" {label}") } else { String::new() };
        sql(&format!("{label}: {{}}{end}"), [inner])
    }

    /// BEGIN .. END; of a function with a RETURN at its end.
    fn block(&mut self, body: &mut Body, depth: u32) -> Sql {
        let (variables, conditions) = (body.variables.len(), body.conditions.len());
        let mut declared = Vec::new();
        for _ in 0..self.below(3) {
            declared.push(self.declare(body));
        }
        if self.percent(15) {
            let name = self.name("e");
            let value =
                self.pick(&["SQLSTATE '45000'", "SQLSTATE '23000'", "1062", "1264", "SQLSTATE '02000'"]);
            declared.push(text(format!("DECLARE {name} CONDITION FOR {value}; ")));
            body.conditions.push(name);
        }
        // MySQL finds handlers around a handler no more whose own body has declared some.
        let handlers = if body.in_handler { 0 } else { self.below(5) / 2 };
        for _ in 0..handlers {
            declared.push(self.handler(body, depth));
        }
        let statements = self.statements(body, depth);
        let last = match (&body.returns, depth) {
            (Some(ty), 3) => {
                let ty = ty.clone();
                sql("RETURN {}; ", [self.value_in(body, &ty)])
            }
            _ => text(""),
        };
        body.variables.truncate(variables);
        body.conditions.truncate(conditions);
        let declared = Sql::List { items: declared, separator: "", least: 0 };
        sql("BEGIN {}{}; {}END", [declared, statements, last])
    }

    fn declare(&mut self, body: &mut Body) -> Sql {
        let (name, ty) = (self.name("v"), self.variable_type());
        let default = match self.percent(60) {
            true => optional(sql(" DEFAULT {}", [self.value_in(body, &ty)])),
            false => text(""),
        };
        let declare = sql(&format!("DECLARE {name} {}{{}}; ", ty.sql), [default]);
        body.variables.push(Parameter { mode: "", name, ty });
        declare
    }

    fn handler(&mut self, body: &mut Body, depth: u32) -> Sql {
        let mut values = Vec::new();
        for _ in 0..1 + self.below(5) / 4 {
            let named = body.conditions.last().cloned();
            values.push(match named {
                Some(name) if self.percent(30) => text(name),
                _ => text(self.pick(&[
                    "NOT FOUND",
                    "SQLEXCEPTION",
                    "SQLEXCEPTION",
                    "SQLWARNING",
                    "SQLSTATE '45000'",
                    "SQLSTATE '23000'",
                    "SQLSTATE '22003'",
                    "SQLSTATE '01000'",
                    "1062",
                    "1264",
                    "1329",
                    "1339",
                ])),
            });
        }
        let action = self.pick(&["CONTINUE", "CONTINUE", "EXIT"]);
        // Labels around it can't be left from within.
        let mut inner = Body { loops: Vec::new(), blocks: Vec::new(), in_handler: true, ..body.clone() };
        let done = match self.below(4) {
            0 if depth > 0 => self.block(&mut inner, depth - 1),
            1 => self.diagnostics(),
            _ => self.simple_statement(&mut inner),
        };
        (body.level, body.calls) = (inner.level, inner.calls);
        sql(&format!("DECLARE {action} HANDLER FOR {{}} {{}}; "), [commas(values), done])
    }

    /// Statements one after the other.
    pub(super) fn statements(&mut self, body: &mut Body, depth: u32) -> Sql {
        let count = 1 + self.below(3) + u64::from(depth == 3);
        let items = (0..count).map(|_| self.any_statement(body, depth)).collect();
        Sql::List { items, separator: "; ", least: 1 }
    }

    fn any_statement(&mut self, body: &mut Body, depth: u32) -> Sql {
        if depth == 0 || self.percent(60) {
            return self.simple_statement(body);
        }
        let depth = depth - 1;
        let whole = match self.below(10) {
            0..=2 => self.conditional_statement(body, depth),
            3 => self.case_statement(body, depth),
            4..=6 => self.loop_statement(body, depth),
            7 => self.labelled_block(body, depth),
            // A handler's cursor takes the place of one of the block that it serves, in MySQL.
            _ if body.in_handler => self.labelled_block(body, depth),
            _ => self.cursor_block(body, depth),
        };
        expression(whole, NOTHING)
    }

    fn conditional_statement(&mut self, body: &mut Body, depth: u32) -> Sql {
        let condition = self.condition_in(body);
        let then = self.statements(body, depth);
        let mut others = Vec::new();
        if self.percent(25) {
            let (condition, then) = (self.condition_in(body), self.statements(body, depth));
            others.push(sql(" ELSEIF {} THEN {};", [condition, then]));
        }
        if self.percent(50) {
            others.push(sql(" ELSE {};", [self.statements(body, depth)]));
        }
        let others = Sql::List { items: others, separator: "", least: 0 };
        sql("IF {} THEN {};{} END IF", [condition, then, others])
    }

    /// CASE, with a value or without; where nothing fits and there is no ELSE it fails.
    fn case_statement(&mut self, body: &mut Body, depth: u32) -> Sql {
        let class = crate::generator::schema::Class::Integer;
        let has_value = self.percent(50);
        let value = if has_value { self.variable_in(body, class) } else { text("") };
        let mut branches = Vec::new();
        for _ in 0..1 + self.below(3) {
            let when = if has_value { self.literal(class) } else { self.condition_in(body) };
            let then = self.statements(body, depth);
            branches.push(sql(" WHEN {} THEN {};", [when, then]));
        }
        let branches = Sql::List { items: branches, separator: "", least: 1 };
        let other = match self.percent(70) {
            true => optional(sql(" ELSE {};", [self.statements(body, depth)])),
            false => text(""),
        };
        sql("CASE {}{}{} END CASE", [value, branches, other])
    }

    fn loop_statement(&mut self, body: &mut Body, depth: u32) -> Sql {
        let (label, counter) = (self.name("l"), self.name("n"));
        body.loops.push(label.clone());
        // What is called in a loop is called in loops there.
        let calls = std::mem::take(&mut body.calls);
        let statements = self.statements(body, depth);
        body.calls = calls;
        body.loops.pop();
        let rounds = 1 + self.below(ROUNDS);
        let head = format!("SET {counter} = {counter} + 1");
        let guard = format!("IF {counter} > {rounds} THEN LEAVE {label}; END IF");
        let condition = self.condition_in(body);
        let (pattern, last) = match self.below(4) {
            0 => (format!("{label}: LOOP {head}; {guard}; {{}}; END LOOP"), false),
            1 => (format!("{label}: WHILE {counter} < {rounds} DO {head}; {{}}; END WHILE"), false),
            2 => (format!("{label}: WHILE {{}} DO {head}; {guard}; {{}}; END WHILE {label}"), true),
            _ => (format!("{label}: REPEAT {head}; {guard}; {{}}; UNTIL {{}} END REPEAT"), true),
        };
        let is_repeat = pattern.ends_with("REPEAT");
        let pieces = match (last, is_repeat) {
            (false, _) => vec![statements],
            (true, false) => vec![condition, statements],
            (true, true) => vec![statements, condition],
        };
        sql(&format!("BEGIN DECLARE {counter} INT DEFAULT 0; {pattern}; END"), pieces)
    }

    /// A cursor over a table in the order of its key, and the loop that reads it.
    fn cursor_block(&mut self, body: &mut Body, depth: u32) -> Sql {
        let tables = self.tables.clone();
        let table = self.pick(&tables);
        // A zero date that is fetched is a warning and an error at once, in MySQL.
        let is_moment = |ty: &Type| matches!(ty.class, Class::Date | Class::DateTime);
        let columns: Vec<_> = table.settable().into_iter().filter(|c| !is_moment(&c.ty)).collect();
        if columns.is_empty() {
            return self.labelled_block(body, depth);
        }
        let column = self.pick(&columns);
        let (cursor, label, counter) = (self.name("k"), self.name("l"), self.name("n"));
        let (done, key, value) = (self.name("d"), self.name("v"), self.name("v"));
        let integer = table.columns[0].ty.clone();
        let ty = variable_of(column.ty.clone());
        let variables = body.variables.len();
        let declared = format!(
            "DECLARE {counter}, {done} INT DEFAULT 0; DECLARE {key} INT; DECLARE {value} {}; ",
            ty.sql
        );
        body.variables.push(Parameter { mode: "", name: key.clone(), ty: integer });
        body.variables.push(Parameter { mode: "", name: value.clone(), ty });
        let filter = match self.below(3) {
            0 => text(""),
            1 => text(format!(" WHERE {KEY} % 3 = {}", self.below(3))),
            _ => sql(&format!(" WHERE {KEY} > {{}}"), [self.variable_in(body, integer_class())]),
        };
        let query = sql(
            &format!("SELECT {KEY}, {} FROM {}{{}} ORDER BY {KEY}", column.name, table.name),
            [optional(filter)],
        );
        body.loops.push(label.clone());
        let calls = std::mem::take(&mut body.calls);
        let statements = self.statements(body, depth);
        body.calls = calls;
        body.loops.pop();
        body.variables.truncate(variables);
        let into = arguments_list(match self.percent(4) {
            true => vec![text(key)],
            false => vec![text(key), text(value)],
        });
        let (open, close) =
            (self.mostly(format!("OPEN {cursor}; ")), self.mostly(format!("CLOSE {cursor}; ")));
        let pattern = format!(
            "BEGIN {declared}DECLARE {cursor} CURSOR FOR {{}}; \
             DECLARE CONTINUE HANDLER FOR NOT FOUND SET {done} = 1; {{}}\
             {label}: LOOP SET {counter} = {counter} + 1; IF {counter} > {FETCHES} THEN LEAVE {label}; END IF; \
             FETCH {cursor} INTO {{}}; IF {done} THEN LEAVE {label}; END IF; {{}}; END LOOP; {{}}END"
        );
        sql(&pattern, [query, open, into, statements, close])
    }

    /// Nearly always.
    fn mostly(&mut self, words: String) -> Sql {
        if self.percent(3) { text("") } else { optional(text(words)) }
    }
}

fn integer_class() -> crate::generator::schema::Class {
    crate::generator::schema::Class::Integer
}
