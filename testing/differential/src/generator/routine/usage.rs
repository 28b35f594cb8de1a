//! Routines at work: CALL, with what comes out, and functions in statements.

use super::value::arguments_list;
use super::{CHANGING, Generator, Routine, RoutineClass};
use crate::generator::expression::Visible;
use crate::generator::schema::{Class, KEY};
use crate::generator::{Statement, unordered};
use crate::tree::{Sql, optional, sql, text};

fn ordered(sql: Sql) -> Statement {
    Statement { sql, is_ordered: true }
}

impl Generator {
    /// Uses a routine, or changes one.
    pub(in crate::generator) fn use_routine(&mut self, script: &mut Vec<Statement>) {
        match self.below(100) {
            0..=9 => self.define_routine(script),
            _ => self.use_routine_or_query(script),
        }
    }

    pub(super) fn use_routine_or_query(&mut self, script: &mut Vec<Statement>) {
        let routines = self.routines.clone();
        let routine = self.pick(&routines);
        match routine.kind {
            RoutineClass::Procedure | RoutineClass::PlainProcedure => self.call(&routine, script),
            RoutineClass::ChangingFunction => self.use_changing(&routine, script),
            RoutineClass::Function => self.use_function(&routine, script),
        }
    }

    fn call(&mut self, routine: &Routine, script: &mut Vec<Statement>) {
        let (mut arguments, mut shown) = (Vec::new(), Vec::new());
        for (i, parameter) in routine.parameters.iter().enumerate() {
            let name = format!("@o{i}");
            match parameter.mode {
                "OUT " | "INOUT " => {
                    if self.percent(60) {
                        let value = self.good_value(&parameter.ty);
                        script.push(unordered(sql(&format!("SET {name} = {{}}"), [value])));
                    }
                    arguments.push(text(name.clone()));
                    shown.push(name);
                }
                _ if self.percent(3) => arguments.push(self.value_of_kind(&parameter.ty, true)),
                _ if self.percent(10) => arguments.push(text("NULL")),
                _ => arguments.push(self.good_value(&parameter.ty)),
            }
        }
        if self.percent(1) {
            arguments.push(text("1"));
        }
        script.push(ordered(sql(&format!("CALL {}({{}})", routine.name), [arguments_list(arguments)])));
        match self.below(8) {
            0 => script.push(ordered(text("SHOW WARNINGS LIMIT 64"))),
            1 => script.push(ordered(text("SELECT ROW_COUNT()"))),
            2 => script.push(ordered(text("SHOW COUNT(*) WARNINGS"))),
            _ => {}
        }
        self.read_variables(&shown, script);
        self.read_table(script);
    }

    /// What came out of parameters and through variables of the session.
    fn read_variables(&mut self, shown: &[String], script: &mut Vec<Statement>) {
        let mut items: Vec<Sql> = shown.iter().map(|name| text(name.clone())).collect();
        if self.percent(50) {
            items.extend(["@u1", "@u2", "@u3"].map(text));
        }
        if self.percent(50) {
            items.extend(["@d1", "@d2", "@d3", "@d4", "@rows"].map(text));
        }
        if self.percent(10) {
            items.extend(["@d5", "@d6"].map(text));
        }
        if !items.is_empty() {
            let items = Sql::List { items, separator: ", ", least: 1 };
            script.push(ordered(sql("SELECT {}", [items])));
        }
    }

    /// A call over columns in scope.
    pub(in crate::generator) fn function_of(&mut self, routine: &Routine, scope: &[Visible]) -> Sql {
        let mut arguments = Vec::new();
        for parameter in &routine.parameters {
            let fitting: Vec<_> = scope.iter().filter(|v| v.ty.class == parameter.ty.class).collect();
            arguments.push(match fitting.is_empty() || self.percent(20) {
                true => self.good_value(&parameter.ty),
                false => text(self.pick(&fitting).sql.clone()),
            });
        }
        sql(&format!("{}({{}})", routine.name), [arguments_list(arguments)])
    }

    /// A function that changes tables is called once for each row.
    fn use_changing(&mut self, routine: &Routine, script: &mut Vec<Statement>) {
        let tables = self.tables.clone();
        let table = self.pick(&tables);
        let scope = self.seen(&table, "a");
        match self.below(6) {
            0 | 1 => script.push(ordered(sql("SELECT {}", [self.function_of(routine, &[])]))),
            2 => script.push(unordered(sql("SET @f = {}", [self.function_of(routine, &[])]))),
            3 => script.push(unordered(sql("DO {}", [self.function_of(routine, &[])]))),
            4 => {
                let call = self.function_of(routine, &scope);
                let pattern = format!(
                    "SELECT a.{KEY}, {{}} FROM {} AS a WHERE a.{KEY} = {}",
                    table.name,
                    self.below(40)
                );
                script.push(ordered(sql(&pattern, [call])));
            }
            _ => self.insert_value(routine, script),
        }
        self.read_variables(&["@f".into()], script);
        self.read_table(script);
    }

    /// INSERT of what a function gives, in a column of its class: others get it by way of text.
    fn insert_value(&mut self, routine: &Routine, script: &mut Vec<Statement>) {
        let class = routine.returns.as_ref().map(|ty| ty.class);
        let targets = self.tables.iter().flat_map(|table| {
            let columns = table.settable().into_iter().filter(|c| Some(c.ty.class) == class);
            columns.map(|column| (table.name.clone(), column.name))
        });
        let targets: Vec<_> = targets.collect();
        if targets.is_empty() {
            return;
        }
        let (table, column) = self.pick(&targets);
        let pattern = format!("INSERT INTO {table} ({KEY}, {column}) VALUES ({}, {{}})", self.below(40));
        script.push(unordered(sql(&pattern, [self.function_of(routine, &[])])));
    }

    fn use_function(&mut self, routine: &Routine, script: &mut Vec<Statement>) {
        let tables = self.readable();
        let table = self.pick(&tables);
        let (name, scope) = (table.name.clone(), self.seen(&table, "a"));
        let call = self.function_of(routine, &scope);
        let class = routine.returns.as_ref().map_or(Class::Integer, |ty| ty.class);
        let literal = self.literal(class);
        let compare = self.pick(&["= {}", "> {}", "<=> {}", "<> {}"]);
        match self.below(12) {
            0 => script.push(ordered(sql("SELECT {}", [self.function_of(routine, &[])]))),
            1 => script.push(unordered(sql("SET @f = {}", [self.function_of(routine, &[])]))),
            2..=4 => {
                let pattern = format!("SELECT a.{KEY}, {{}} AS x FROM {name} AS a ORDER BY a.{KEY}, x");
                script.push(ordered(sql(&pattern, [call])));
            }
            5 | 6 => {
                let pattern =
                    format!("SELECT a.{KEY} FROM {name} AS a WHERE {{}} {compare} ORDER BY a.{KEY}");
                script.push(ordered(sql(&pattern, [call, literal])));
            }
            7 => {
                let pattern = format!("SELECT {{}} AS x, COUNT(*) FROM {name} AS a GROUP BY x");
                script.push(unordered(sql(&pattern, [call])));
            }
            8 if table.settable().len() > 1 => {
                let fitting: Vec<_> = table.settable().into_iter().filter(|c| c.ty.class == class).collect();
                if let Some(column) = fitting.first() {
                    let call = self.function_of(routine, &self.seen(&table, &table.name));
                    let pattern = format!(
                        "UPDATE {name} SET {} = {{}} WHERE {KEY} % 3 = {}",
                        column.name,
                        self.below(3)
                    );
                    script.push(unordered(sql(&pattern, [call])));
                    self.read_change(script);
                    script.push(unordered(text(format!("SELECT * FROM {name}"))));
                }
            }
            9 => {
                self.insert_value(routine, script);
                self.read_table(script);
            }
            10 if !table.is_temporary => {
                let filter = optional(text(format!(" WHERE a.{KEY} > {}", self.below(20))));
                let pattern = format!(
                    "CREATE OR REPLACE VIEW fv AS SELECT a.{KEY} AS {KEY}, {{}} AS w FROM {name} AS a{{}}"
                );
                script.push(unordered(sql(&pattern, [call, filter])));
                script.push(ordered(text(format!("SELECT * FROM fv ORDER BY {KEY}, w"))));
            }
            _ => script.push(ordered(text(format!("SELECT * FROM fv ORDER BY {KEY}, w")))),
        }
        debug_assert!(!routine.name.starts_with(CHANGING), "it would be called more than once");
    }

    /// A statement of a trigger that uses a routine.
    pub(in crate::generator) fn routine_of_trigger(&mut self, scope: &[Visible]) -> Option<Sql> {
        let plain: Vec<_> =
            self.routines.iter().filter(|r| r.kind != RoutineClass::Procedure).cloned().collect();
        if plain.is_empty() {
            return None;
        }
        let routine = self.pick(&plain);
        let has_outputs = routine.parameters.iter().any(|p| p.mode.contains("OUT"));
        if has_outputs {
            return None;
        }
        let call = self.function_of(&routine, scope);
        let words = if routine.kind.is_function() { "SET @f = " } else { "CALL " };
        Some(sql(&format!("{words}{{}}"), [call]))
    }
}
