//! Function calls: the ones that are control flow, built-in ones from the table, stored ones from
//! the catalog.

use super::choices::{chosen, chosen_number};
use super::{Resolver, collate, names};
use crate::catalog::UserAtHost;
use crate::expression::functions::Texts;
use crate::expression::functions::json::Role;
use crate::expression::{Expr, Node, functions};
use crate::privilege::Privileges;
use crate::session::tracking;
use datum::error::{self, Result};
use datum::types::{Coercibility, Family, Type, code};
use datum::value::Datum;
use syntax::ast::{self, BinaryOp, Truth};

/// Functions that read their first argument as a text, and bring it to no other one's collation.
const TEXT_FIRST: &[&str] = &[
    "aes_decrypt",
    "aes_encrypt",
    "ascii",
    "bit_length",
    "char_length",
    "character_length",
    "compress",
    "crc32",
    "from_base64",
    "inet_aton",
    "lcase",
    "left",
    "length",
    "lower",
    "ltrim",
    "md5",
    "mid",
    "octet_length",
    "ord",
    "quote",
    "repeat",
    "reverse",
    "right",
    "rtrim",
    "sha",
    "sha1",
    "sha2",
    "soundex",
    "substr",
    "substring",
    "to_base64",
    "ucase",
    "unhex",
    "upper",
];

/// What a function takes a parameter for, if it does not depend on its value.
fn parameter_wanted(name: &str, number: usize, count: usize) -> Option<fn(Expr) -> Expr> {
    Some(match (name, number) {
        ("unix_timestamp" | "convert_tz" | "timestamp", 0) => names::parameter_as_datetime,
        ("addtime" | "subtime", 1) | ("time", 0) | ("timestamp", 1) => names::parameter_as_time,
        ("from_unixtime", 0) if count == 1 => names::parameter_as_seconds,
        ("sec_to_time", 0) | ("maketime", 2) => names::parameter_as_seconds,
        _ => return None,
    })
}

/// What [`Resolver::of_definition`] takes for `div_precision_increment`.
const DIV_PRECISION_INCREMENT_DEFAULT: u8 = 4;

/// What is no function of the table, for not all of its arguments are values to it.
const CONTROL_FLOW: &[&str] = &["if", "ifnull", "coalesce", "nullif", "isnull", "mod", "name_const"];

/// True for a call of a stored function, whether there is one or not.
pub(crate) fn is_stored(call: &ast::FunctionCall) -> bool {
    let is_known =
        |name: &str| CONTROL_FLOW.contains(&name) || name == "grouping" || functions::find(name).is_some();
    if let Some(database) = &call.database {
        return !database.is("sys") || functions::sys::find(&call.name).is_none();
    }
    !is_known(&call.name.to_ascii_lowercase())
}

impl Resolver<'_> {
    pub(super) fn call(&mut self, call: &ast::FunctionCall) -> Result<Expr> {
        if call.database.is_none() {
            if let Some(expr) = self.control_flow(call)? {
                return Ok(expr);
            }
            if let Some(function) = functions::find(&call.name) {
                return self.built_in(function, call);
            }
        }
        if call.database.as_ref().is_some_and(|database| database.is("sys"))
            && let Some(function) = functions::sys::find(&call.name)
        {
            return self.built_in(function, call);
        }
        self.stored(call)
    }

    fn built_in(&mut self, function: &'static functions::Function, call: &ast::FunctionCall) -> Result<Expr> {
        let given = call.arguments.len();
        let half_pair = |roles: fn(usize) -> Role| roles(given) == Role::PairedValue;
        if !(function.arguments_min..=function.arguments_max).contains(&given)
            || function.roles.is_some_and(half_pair)
        {
            return Err(error::WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&call.name]));
        }
        let mut arguments = self.list(&call.arguments)?;
        functions::temporal::check_precision(function, &arguments)?;
        if function.name == "bit_count" {
            arguments = arguments.into_iter().map(|e| self.seconds_cut(e)).collect::<Result<_>>()?;
        }
        if function.name == "week" && given == 1 {
            arguments.push(self.week_mode());
        }
        if function.name == "current_user"
            && let Some(definer) = self.view_definer()
        {
            let ty = self.native_call(function, arguments)?.ty;
            return Ok(Expr { node: Node::Constant(Datum::owned(definer)), ty });
        }
        let count = arguments.len();
        for (number, argument) in arguments.iter_mut().enumerate() {
            if let Node::Parameter(_) = argument.node
                && let Some(wanted) = parameter_wanted(function.name, number, count)
            {
                *argument = wanted(argument.clone());
            }
        }
        self.native_call(function, arguments)
    }

    /// The mode of WEEK() where none is given. A plan ends with the session's settings.
    pub(super) fn week_mode(&self) -> Expr {
        let mode = if self.of_definition { 0 } else { self.cx.settings.default_week_format() };
        names::integer(Datum::Int(mode.into()), false)
    }

    /// Digits after the point that a division adds.
    pub(super) fn division_digits(&self) -> u8 {
        match self.of_definition {
            true => DIV_PRECISION_INCREMENT_DEFAULT,
            false => self.cx.settings.div_precision_increment(),
        }
    }

    /// A call of a built-in function by name, of which operators are made.
    pub(super) fn native(&mut self, name: &str, arguments: Vec<Expr>) -> Result<Expr> {
        let missing = || error::SP_DOES_NOT_EXIST.with(&[&"FUNCTION", &name]);
        self.native_call(functions::find(name).ok_or_else(missing)?, arguments)
    }

    /// A call of a built-in function with as many arguments as it takes.
    pub(super) fn native_call(
        &mut self,
        function: &'static functions::Function,
        mut arguments: Vec<Expr>,
    ) -> Result<Expr> {
        if function.volatile || tracking::is_unsafe(function.name) {
            self.cx.tracker.transactions.is_unsafe();
        }
        if let Some(roles) = function.roles {
            super::json::prepare(&mut arguments, roles);
        }
        if !matches!(function.texts, Texts::Separate) {
            arguments.iter_mut().for_each(super::json::as_text);
        }
        match function.texts {
            _ if function.name == "field" => {}
            // Without a text they compare numbers.
            _ if matches!(function.name, "greatest" | "least")
                && !arguments.iter().any(|e| e.ty.family == Family::Text) => {}
            Texts::Joined(from, to) => {
                let to = to.min(arguments.len());
                arguments[from..to].iter_mut().for_each(|e| self.as_digits(e));
            }
            Texts::AsFirst(texts) => {
                let is_text = |(number, _): &(usize, &mut Expr)| texts.contains(number);
                arguments.iter_mut().enumerate().filter(is_text).for_each(|(_, e)| self.as_digits(e));
            }
            Texts::Separate => {}
        }
        match function.texts {
            Texts::Separate => {}
            // They compare, and need one collation; the others only join and choose.
            _ if matches!(function.name, "find_in_set" | "strcmp") => {
                self.unify(&mut arguments, function.name)?;
            }
            // All are compared with the first one.
            _ if function.name == "field" => {
                if arguments[0].ty.family.is_text() {
                    let collation = arguments[0].ty.collation;
                    for text in arguments[1..].iter_mut().filter(|e| e.ty.family.is_text()) {
                        collate::convert_text(text, collation)?;
                    }
                }
            }
            Texts::Joined(from, to) => {
                let to = to.min(arguments.len());
                let texts = &mut arguments[from..to];
                let lengths: Vec<u32> = texts.iter().map(|e| e.ty.length).collect();
                collate::join(texts, self.typing(), function.name)?;
                if matches!(function.name, "elt" | "make_set") {
                    // Their characters are counted, of bytes too.
                    texts.iter_mut().zip(lengths).for_each(|(text, length)| text.ty.length = length);
                }
            }
            Texts::AsFirst(texts) => {
                let collation = collate::collation_of(&arguments[texts[0]].ty, self.typing());
                for &number in &texts[1..] {
                    collate::convert_text(&mut arguments[number], collation)?;
                }
            }
        }
        if function.name.starts_with("regexp_") {
            self.as_digits(&mut arguments[0]);
            functions::regexp::check_character_sets(function, &arguments)?;
        }
        if function.name.starts_with("regexp_")
            && let Some(texts) = arguments.get_mut(..2)
            && texts[0].ty.collation.charset() == texts[1].ty.collation.charset()
        {
            self.unify(texts, function.name)?;
        }
        let ty = (function.ty)(&arguments, &self.typing());
        let ty = functions::results::type_of(function, &arguments, self.typing(), ty);
        // The result is as long as the number says.
        if matches!(function.texts, Texts::Separate) && TEXT_FIRST.contains(&function.name) {
            self.as_digits(&mut arguments[0]);
        }
        Ok(Expr { node: Node::Call(function, arguments), ty })
    }

    /// Functions that are written in terms of other nodes.
    fn control_flow(&mut self, call: &ast::FunctionCall) -> Result<Option<Expr>> {
        let arguments = call.arguments.as_slice();
        let name = call.name.to_ascii_lowercase();
        let wrong_count = || error::WRONG_PARAMCOUNT_TO_NATIVE_FCT.with(&[&call.name]);
        Ok(Some(match (name.as_str(), arguments) {
            ("if", [condition, yes, no]) => {
                let condition = self.expr(condition)?;
                let results = vec![self.expr(yes)?, self.expr(no)?];
                self.choice(vec![condition], results, true, "if")?
            }
            ("ifnull", [a, b]) => {
                let list = vec![self.expr(a)?, self.expr(b)?];
                self.coalesce(list, "ifnull")?
            }
            ("coalesce", [_, ..]) => {
                let list = self.list(arguments)?;
                self.coalesce(list, "coalesce")?
            }
            ("nullif", [a, b]) => {
                let mut pair = [self.expr(a)?, self.expr(b)?];
                let mut ty = Type { nullable: true, boolean: false, ..pair[0].ty.computed() };
                let by = self.choose(&mut pair, "nullif")?;
                // A literal takes what the two are compared by.
                if ty.family.is_text() && pair[1].ty.family.is_text() && pair[0].as_constant().is_some() {
                    ty.collation = pair[0].ty.collation;
                }
                let value = Expr { node: Node::NullIf(Box::new(pair), by), ty };
                match ty.family {
                    Family::Label => {
                        let ty = Type { family: Family::Text, code: code::STRING, ..ty };
                        chosen(collate::convert(value, &ty, self.typing())?)
                    }
                    _ => value,
                }
            }
            ("grouping", [_, ..]) => {
                // Which of GROUP BY's expressions these are is found out when those are known.
                let list = self.list(arguments)?;
                if list.iter().any(|e| matches!(&e.node, Node::Constant(value) if !value.is_null())) {
                    return Err(error::WRONG_ARGUMENTS.with(&[&"GROUPING function"]));
                }
                if self.scope.aggregates.is_none() && !self.scope.in_aggregate {
                    return Err(match self.scope.clause {
                        "group statement" => error::WRONG_GROUP_FIELD.with(&[&"GROUPING function"]),
                        _ => error::INVALID_GROUP_FUNC_USE.plain(),
                    });
                }
                Expr { node: Node::Grouping(list, Vec::new()), ty: Type::INT.not_null() }
            }
            ("isnull", [x]) => {
                let x = self.expr(x)?;
                Expr { node: Node::Is(Box::new(x), Truth::Null, false), ty: Type::BOOL.not_null() }
            }
            ("mod", [a, b]) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                let (operation, ty) = crate::expression::arithmetic::choose(BinaryOp::Modulo, &a, &b, 0);
                Expr { node: Node::Arithmetic(operation, Box::new([a, b])), ty }
            }
            // The value; the name is the result column's where it stands alone.
            ("name_const", [name, value]) => {
                // MariaDB's log has dates so, MySQL's has texts instead and refuses such literals.
                let is_date = self.cx.is_applier()
                    && matches!(&value.kind, ast::ExprKind::Literal(literal) if literal.is_temporal());
                let (name, mut value) = (self.expr(name)?, self.expr(value)?);
                let is_literal = value.as_constant().is_some()
                    && !value.ty.boolean
                    && (is_date || !value.ty.family.is_temporal());
                match name.as_constant() {
                    Some(Datum::Null) => return Err(error::RESERVED_SYNTAX.with(&[&"NAME_CONST"])),
                    Some(_) if is_literal => {}
                    _ => return Err(error::WRONG_ARGUMENTS.with(&[&"NAME_CONST"])),
                }
                value.ty.nullable = true;
                value
            }
            (name, _) if CONTROL_FLOW.contains(&name) => {
                return Err(wrong_count());
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn coalesce(&mut self, list: Vec<Expr>, operation: &str) -> Result<Expr> {
        // What can't be NULL ends the search.
        let nullable = list.iter().all(|e| e.ty.nullable);
        let (mut list, ty) = self.same_type(list, operation)?;
        // A hexadecimal literal is a text from here on, also where a number is wanted.
        for value in &mut list {
            if let Node::Constant(Datum::Bits(bytes)) = &mut value.node {
                value.node = Node::Constant(Datum::Bytes(std::mem::take(bytes)));
            }
        }
        if ty.family == Family::Decimal {
            let with_digits = |mut value: Expr| {
                collate::with_digits(&mut value, ty.decimals);
                chosen_number(value)
            };
            list = list.into_iter().map(with_digits).collect();
        }
        let ty = if operation == "ifnull" && !ty.family.is_text() { ty.made_as_described() } else { ty };
        Ok(Expr { node: Node::Coalesce(list), ty: Type { nullable, ..ty } })
    }

    fn stored(&mut self, call: &ast::FunctionCall) -> Result<Expr> {
        let database = match &call.database {
            Some(database) => database.to_string(),
            None => match self.cx.default_database() {
                Some(database) => database.to_owned(),
                None => return Err(error::SP_DOES_NOT_EXIST.with(&[&"FUNCTION", &call.name])),
            },
        };
        self.record_function(call, &database);
        let routine = self.cx.routine(&database, &call.name).map_err(|e| {
            // Whether a function is there is not for everybody to know.
            match self.cx.grants_now().in_database(&database).has(Privileges::EXECUTE) {
                true => e,
                false => {
                    let shown = format!("{database}.{}", call.name);
                    let UserAtHost { user, host } = &self.cx.connection.account;
                    error::PROCACCESS_DENIED_ERROR.with(&[&"execute", user, host, &shown])
                }
            }
        })?;
        let arguments = self.list(&call.arguments)?;
        if arguments.len() != routine.parameters() {
            let shown = format!("{database}.{}", routine.name());
            return Err(error::SP_WRONG_NO_OF_ARGS.with(&[
                &"FUNCTION",
                &shown,
                &routine.parameters(),
                &arguments.len(),
            ]));
        }
        let mut ty = Type::of_column(routine.returns()?, true);
        // A text of a function gives way to that of a column, its collation apart.
        if ty.coercibility == Coercibility::Implicit {
            ty.coercibility = Coercibility::Literal;
        }
        Ok(Expr { node: Node::Stored(routine, arguments), ty })
    }
}
