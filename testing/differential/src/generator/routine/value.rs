//! Values and conditions in bodies: of variables, literals, a few operators and other functions.
//! What conversions and optimizers do with expressions is a question of queries, not asked here.

use super::{Body, Generator, LEVELS, Parameter, Routine, RoutineClass};
use crate::generator::schema::{Class, TRUE, Type};
use crate::tree::{Sql, commas, expression, sql, text};

impl Generator {
    /// A value of a type, rarely one that it does not take.
    pub(super) fn value_in(&mut self, body: &mut Body, ty: &Type) -> Sql {
        match self.below(100) {
            0..=3 => self.value_of_kind(ty, true),
            4..=8 => expression(text("NULL"), ty.class.simplest()),
            9..=45 => self.good_value(ty),
            46..=72 => self.variable_in(body, ty.class),
            73..=82 => self.call_in(body, ty.class),
            _ => self.computed(body, ty.class),
        }
    }

    /// A variable of this class, else a literal.
    pub(super) fn variable_in(&mut self, body: &Body, class: Class) -> Sql {
        let fitting: Vec<_> = body.variables.iter().filter(|v| v.ty.class == class).collect();
        match fitting.is_empty() {
            true => self.literal(class),
            false => expression(text(self.pick(&fitting).name.clone()), class.simplest()),
        }
    }

    fn computed(&mut self, body: &Body, class: Class) -> Sql {
        let (a, b) = (self.variable_in(body, class), self.literal(class));
        let whole = match (class, self.below(3)) {
            (Class::Integer, 0) => sql("({} + 1)", [a]),
            (Class::Integer, 1) => sql("CHAR_LENGTH({})", [self.variable_in(body, Class::Text)]),
            (Class::Integer, _) => sql("({} % 7)", [a]),
            (Class::Decimal, 0) => sql("({} + 1.5)", [a]),
            (Class::Double, 0) => sql("({} + 0.25e0)", [a]),
            (Class::Text, 0) => sql("CONCAT({}, 'x')", [a]),
            (Class::Text, 1) => sql("UPPER({})", [a]),
            (Class::Bytes, 0) => sql("HEX({})", [a]),
            (_, 1) => sql("IFNULL({}, {})", [a, b]),
            _ => sql("COALESCE({}, {})", [a, b]),
        };
        expression(whole, class.simplest())
    }

    /// What another function of this class gives, if there is one, else a variable.
    fn call_in(&mut self, body: &mut Body, class: Class) -> Sql {
        let may_call = |r: &&Routine| {
            let ty = r.returns.as_ref();
            r.kind == RoutineClass::Function
                && r.number < body.number
                && r.level + 1 < LEVELS
                && ty.is_some_and(|ty| ty.class == class)
        };
        let found: Vec<_> = self.routines.iter().filter(may_call).cloned().collect();
        if found.is_empty() || body.calls == 0 {
            return self.variable_in(body, class);
        }
        let routine = self.pick(&found);
        body.calls -= 1;
        body.level = body.level.max(routine.level + 1);
        let arguments = routine.parameters.iter().map(|p| self.variable_in(body, p.ty.class)).collect();
        expression(sql(&format!("{}({{}})", routine.name), [arguments_list(arguments)]), class.simplest())
    }

    /// A condition over the variables.
    pub(super) fn condition_in(&mut self, body: &Body) -> Sql {
        if self.percent(15) {
            let (a, b) = (self.comparison(body), self.comparison(body));
            let whole = match self.below(3) {
                0 => sql("({} AND {})", [a, b]),
                1 => sql("({} OR {})", [a, b]),
                _ => sql("NOT {}", [a]),
            };
            return expression(whole, TRUE);
        }
        self.comparison(body)
    }

    fn comparison(&mut self, body: &Body) -> Sql {
        let variables: Vec<Parameter> = body.variables.clone();
        if variables.is_empty() {
            let pattern = self.pick(&["TRUE", "FALSE", "NULL", "1 < 2"]);
            return expression(text(pattern), TRUE);
        }
        let class = self.pick(&variables).ty.class;
        let (a, b) = (self.variable_in(body, class), self.literal(class));
        let whole = match (class, self.below(4)) {
            (Class::Integer, 0) => sql("({} % 2 = 0)", [a]),
            (_, 0) => sql("({} IS NULL)", [a]),
            (_, 1) => sql("({} = {})", [a, b]),
            (_, 2) => sql("({} > {})", [a, b]),
            _ => sql("({} <=> {})", [a, b]),
        };
        expression(whole, TRUE)
    }
}

/// Arguments, of which none may go.
pub(super) fn arguments_list(arguments: Vec<Sql>) -> Sql {
    let least = arguments.len();
    match commas(arguments) {
        Sql::List { items, separator, .. } => Sql::List { items, separator, least },
        other => other,
    }
}
