//! Expressions of a class over the columns in scope.

use super::Generator;
use super::functions::{FUNCTIONS, Function, MYSQL_FUNCTIONS, Operand};
use super::schema::{Class, TRUE, Type};
use crate::tree::{Sql, commas, expression, sql, text};

/// A column that an expression may name.
#[derive(Debug, Clone)]
pub(super) struct Visible {
    /// As it is written, with its table's alias.
    pub(super) sql: String,
    pub(super) ty: Type,
}

impl Generator {
    /// An expression of this class, `depth` operators deep at most.
    pub(super) fn expression(&mut self, class: Class, scope: &[Visible], depth: u32) -> Sql {
        if depth == 0 || self.percent(15) {
            return self.leaf(class, scope);
        }
        match self.below(10) {
            0 => self.conditional(class, scope, depth),
            1 if class == Class::Integer => self.condition(scope, depth),
            _ => self.function(class, scope, depth),
        }
    }

    /// An expression that a generated column may have: an operator over columns and literals, none
    /// that fails.
    pub(super) fn plain_expression(&mut self, class: Class, scope: &[Visible]) -> Sql {
        let (a, b) = (self.leaf(class, scope), self.leaf(class, scope));
        match class {
            Class::Integer => sql("({} % 10 + {} % 5)", [a, b]),
            Class::Decimal | Class::Double => sql("({} / 4)", [a]),
            Class::Text if self.percent(50) => sql("CONCAT('x', {})", [a]),
            _ => sql("COALESCE({}, {})", [a, b]),
        }
    }

    /// A column of the class, else a literal.
    fn leaf(&mut self, class: Class, scope: &[Visible]) -> Sql {
        let fitting: Vec<_> = scope.iter().filter(|v| v.ty.class == class).collect();
        if fitting.is_empty() || self.percent(25) {
            return self.literal(class);
        }
        let column = self.pick(&fitting);
        expression(text(column.sql.clone()), class.simplest())
    }

    fn conditional(&mut self, class: Class, scope: &[Visible], depth: u32) -> Sql {
        let (a, b) = (self.expression(class, scope, depth - 1), self.expression(class, scope, depth - 1));
        let condition = self.condition(scope, depth - 1);
        let whole = match self.below(6) {
            0 => sql("IF({}, {}, {})", [condition, a, b]),
            1 => sql("CASE WHEN {} THEN {} ELSE {} END", [condition, a, b]),
            2 => sql("CASE WHEN {} THEN {} END", [condition, a]),
            3 => sql("IFNULL({}, {})", [a, b]),
            4 => sql("COALESCE({}, {})", [a, b]),
            // As it is MySQL gives a number of two digits next to a YEAR its century.
            _ if class == Class::Integer && !self.for_mysql => sql("NULLIF(({} + 0), {})", [a, b]),
            _ => sql("NULLIF({}, {})", [a, b]),
        };
        expression(whole, class.simplest())
    }

    /// A function or operator that gives this class.
    fn function(&mut self, class: Class, scope: &[Visible], depth: u32) -> Sql {
        let own: &[Function] = if self.for_mysql { MYSQL_FUNCTIONS } else { &[] };
        let fitting: Vec<_> = FUNCTIONS.iter().chain(own).filter(|f| f.gives == class).collect();
        if fitting.is_empty() {
            return self.leaf(class, scope);
        }
        let function = self.pick(&fitting);
        let operands: Vec<Sql> = function
            .operands
            .iter()
            .map(|operand| match operand {
                Operand::Of(class) => self.expression(*class, scope, depth - 1),
                Operand::Small => expression(text(self.below(6).to_string()), Class::Integer.simplest()),
                Operand::Word(words) => text(self.pick(words)),
            })
            .collect();
        expression(sql(function.pattern, operands), class.simplest())
    }

    /// A condition: 1, 0 or NULL.
    pub(super) fn condition(&mut self, scope: &[Visible], depth: u32) -> Sql {
        if depth > 0 && self.percent(35) {
            let (a, b) = (self.condition(scope, depth - 1), self.condition(scope, depth - 1));
            let whole = match self.below(7) {
                0..=2 => sql("({} AND {})", [a, b]),
                3 | 4 => sql("({} OR {})", [a, b]),
                5 => sql("(NOT {})", [a]),
                _ => sql("({} XOR {})", [a, b]),
            };
            return expression(whole, TRUE);
        }
        if self.for_mysql && self.percent(8) {
            return self.mixed(scope, depth.saturating_sub(1));
        }
        let class = self.class_in(scope);
        let operand = |generator: &mut Self| generator.expression(class, scope, depth.saturating_sub(1));
        let whole = match self.below(12) {
            0..=4 => {
                let pattern =
                    self.pick(&["({} = {})", "({} <=> {})", "({} <> {})", "({} < {})", "({} >= {})"]);
                sql(pattern, [operand(self), operand(self)])
            }
            5 => sql("({} IS NULL)", [operand(self)]),
            6 => sql("({} IS NOT NULL)", [operand(self)]),
            7 => sql("({} BETWEEN {} AND {})", [operand(self), operand(self), operand(self)]),
            8 | 9 => {
                let not = self.pick(&["", "NOT "]);
                let items = (0..1 + self.below(4)).map(|_| self.literal(class)).collect();
                sql(&format!("({{}} {not}IN ({{}}))"), [operand(self), commas(items)])
            }
            10 => {
                let pattern = self.pick(&["'a%'", "'%b%'", "'_b%'", "'%'", "'x\\\\_y'", "'%c'"]);
                let of = self.expression(Class::Text, scope, depth.saturating_sub(1));
                sql(&format!("({{}} LIKE {pattern})"), [of])
            }
            _ => {
                let is = self.pick(&["IS TRUE", "IS NOT FALSE", "IS UNKNOWN"]);
                let of = self.expression(Class::Integer, scope, depth.saturating_sub(1));
                sql(&format!("({{}} {is})"), [of])
            }
        };
        expression(whole, TRUE)
    }

    /// A comparison of operands of two classes.
    fn mixed(&mut self, scope: &[Visible], depth: u32) -> Sql {
        let (a, b) = (self.class_in(scope), self.pick(&Class::ALL));
        let (x, y) = (self.expression(a, scope, depth), self.expression(b, scope, depth));
        let pattern = self.pick(&["({} = {})", "({} < {})", "({} <=> {})", "({} IN ({}))", "({} >= {})"]);
        expression(sql(pattern, [x, y]), TRUE)
    }

    /// The class of a column in scope, else any.
    pub(super) fn class_in(&mut self, scope: &[Visible]) -> Class {
        match scope {
            [] => self.pick(&Class::ALL),
            _ => self.pick(scope).ty.class,
        }
    }
}
