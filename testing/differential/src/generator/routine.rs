//! Stored functions and procedures: made, altered, removed and made again while others use them.
//!
//! Reading order: this file (what is there, definitions), [`flow`] (blocks, conditions, loops,
//! handlers, cursors), [`statement`] (all else of a body), [`value`], [`usage`] (CALL, and
//! functions in statements). A routine calls only those that were first made before it, and every
//! loop has a counter of its own that nothing else sets, so that all of them end.
//!
//! Functions that change tables are named apart ([`CHANGING`]), and stand only where each row calls
//! them once. A function, and a procedure that functions call, changes one row at a time: what
//! stays of a statement of several rows that fails there is a known difference.

mod flow;
mod statement;
mod usage;
mod value;

use super::schema::{Class, Type};
use super::{Generator, Statement, unordered};
use crate::tree::{Sql, sql, text};

/// How names of functions begin that change tables.
pub const CHANGING: &str = "fm";

/// The simplest statement: it stands for any other.
const NOTHING: &str = "DO 0";

/// Routines that call others that call others are enough.
const LEVELS: u32 = 3;

/// A function or procedure that is there, or was.
#[derive(Debug, Clone)]
pub(super) struct Routine {
    name: String,
    kind: RoutineClass,
    parameters: Vec<Parameter>,
    /// A function's type.
    returns: Option<Type>,
    /// It was first made after all of lower numbers, and calls no others.
    number: u32,
    /// How deep its calls go.
    level: u32,
}

/// What a routine may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RoutineClass {
    /// A function that reads.
    Function,
    ChangingFunction,
    /// A procedure that functions and triggers may call.
    PlainProcedure,
    Procedure,
}

impl RoutineClass {
    fn is_function(self) -> bool {
        matches!(self, RoutineClass::Function | RoutineClass::ChangingFunction)
    }

    fn keyword(self) -> &'static str {
        if self.is_function() { "FUNCTION" } else { "PROCEDURE" }
    }

    /// Characteristics that suit it; one that others need is there always.
    fn characteristics(self) -> &'static [&'static str] {
        match self {
            // No DETERMINISTIC: MySQL computes constants before it knows whether there is a row.
            RoutineClass::Function => &["READS SQL DATA", "NOT DETERMINISTIC READS SQL DATA"],
            RoutineClass::ChangingFunction => &["MODIFIES SQL DATA"],
            _ => &["", "", "NOT DETERMINISTIC", "CONTAINS SQL", "MODIFIES SQL DATA", "COMMENT 'it''s'"],
        }
    }
}

#[derive(Debug, Clone)]
struct Parameter {
    /// `IN`, `OUT`, `INOUT`; a function's have none.
    mode: &'static str,
    name: String,
    ty: Type,
}

/// What is in scope where a body is drawn.
#[derive(Debug, Clone)]
struct Body {
    kind: RoutineClass,
    returns: Option<Type>,
    number: u32,
    /// The deepest of what it calls.
    level: u32,
    /// How many calls it may have still.
    calls: u32,
    variables: Vec<Parameter>,
    /// Labels of loops and of blocks.
    loops: Vec<String>,
    blocks: Vec<String>,
    conditions: Vec<String>,
    in_handler: bool,
}

impl Body {
    /// True if it sends rows, prepares statements and ends transactions.
    fn is_free(&self) -> bool {
        self.kind == RoutineClass::Procedure
    }

    fn may_change(&self) -> bool {
        self.kind != RoutineClass::Function
    }
}

/// A column's type as variables have it: a collation goes with its character set only.
fn variable_of(ty: Type) -> Type {
    let sql = ty.sql.trim_end_matches(" NULL").replace(" COLLATE", " CHARACTER SET utf8mb4 COLLATE");
    Type { sql, ..ty }
}

impl Generator {
    /// Makes a routine, mostly a new one, else another one in the place of one that was.
    pub(super) fn new_routine(&mut self, script: &mut Vec<Statement>) {
        let kind = self.pick(&[
            RoutineClass::Function,
            RoutineClass::Function,
            RoutineClass::ChangingFunction,
            RoutineClass::PlainProcedure,
            RoutineClass::Procedure,
            RoutineClass::Procedure,
            RoutineClass::Procedure,
        ]);
        let name = self.name(match kind {
            RoutineClass::Function => "f",
            RoutineClass::ChangingFunction => CHANGING,
            RoutineClass::PlainProcedure => "pp",
            RoutineClass::Procedure => "p",
        });
        let parameters = (0..self.below(4)).map(|_| self.parameter(kind)).collect();
        let returns = kind.is_function().then(|| self.returned_type());
        let routine = Routine { name, kind, parameters, returns, number: self.names, level: 0 };
        let routine = self.create_routine(routine, script);
        self.routines.push(routine);
    }

    fn parameter(&mut self, kind: RoutineClass) -> Parameter {
        let mode = match kind.is_function() {
            true => "",
            false => self.pick(&["IN ", "", "OUT ", "INOUT "]),
        };
        let ty = self.variable_type();
        // At times one is named as a column is.
        let columns: Vec<_> = self.tables.iter().flat_map(|t| t.columns.iter().skip(1)).collect();
        let shadowed = columns.first().map(|c| c.name.clone());
        let name = match shadowed {
            Some(name) if self.percent(3) => name,
            _ => self.name("a"),
        };
        Parameter { mode, name, ty }
    }

    /// A type of a variable: a column's.
    fn variable_type(&mut self) -> Type {
        if self.percent(35) {
            let sql = "INT".to_owned();
            let kind = super::schema::ValueKind::Integer(i32::MIN.into(), i32::MAX.into());
            return Type { class: Class::Integer, kind, sql };
        }
        variable_of(self.column_type())
    }

    /// Members, bits and years that a function gives are texts in some places and numbers in others
    /// of MySQL's expressions: a known difference.
    fn returned_type(&mut self) -> Type {
        let is_vague = |ty: &Type| {
            use super::schema::ValueKind as K;
            matches!(ty.kind, K::Enum | K::Set | K::Bit(_) | K::Year)
        };
        let ty = self.variable_type();
        if is_vague(&ty) { self.returned_type() } else { ty }
    }

    fn create_routine(&mut self, routine: Routine, script: &mut Vec<Statement>) -> Routine {
        let (body, level) = self.body_of(&routine);
        let parameters: Vec<_> =
            routine.parameters.iter().map(|p| format!("{}{} {}", p.mode, p.name, p.ty.sql)).collect();
        let returns = routine.returns.as_ref().map_or(String::new(), |ty| format!(" RETURNS {}", ty.sql));
        let mut characteristics = self.pick(routine.kind.characteristics()).to_owned();
        if self.percent(15) {
            characteristics += " SQL SECURITY INVOKER";
        }
        let pattern = format!(
            "CREATE {} {}({}){returns} {characteristics} {{}}",
            routine.kind.keyword(),
            routine.name,
            parameters.join(", ")
        );
        let create = unordered(sql(&pattern, [body]));
        // Its own sql_mode goes with it.
        if self.percent(15) {
            script.push(unordered(text("SET @mode = @@sql_mode, sql_mode = ''")));
            script.push(create);
            script.push(unordered(text("SET sql_mode = @mode")));
        } else {
            script.push(create);
        }
        Routine { level, ..routine }
    }

    fn body_of(&mut self, routine: &Routine) -> (Sql, u32) {
        let mut body = Body {
            kind: routine.kind,
            returns: routine.returns.clone(),
            number: routine.number,
            level: 0,
            calls: 2,
            variables: routine.parameters.clone(),
            loops: Vec::new(),
            blocks: Vec::new(),
            conditions: Vec::new(),
            in_handler: false,
        };
        let whole = match &routine.returns {
            Some(ty) if self.percent(25) => sql("RETURN {}", [self.value_in(&mut body, ty)]),
            None if self.percent(10) => self.simple_statement(&mut body),
            _ => self.whole_block(&mut body),
        };
        (whole, body.level)
    }

    /// A change of what routines there are, or a look at one.
    pub(super) fn define_routine(&mut self, script: &mut Vec<Statement>) {
        if self.routines.is_empty() || self.percent(25) {
            return self.new_routine(script);
        }
        let number = self.below(self.routines.len() as u64) as usize;
        let routine = self.routines[number].clone();
        let (word, name) = (routine.kind.keyword(), routine.name.clone());
        match self.below(10) {
            0..=3 => {
                let when = self.pick(&["", "", "IF EXISTS "]);
                script.push(unordered(text(format!("DROP {word} {when}{name}"))));
                // At times it is missed.
                if self.percent(40) {
                    self.use_routine_or_query(script);
                }
                self.routines[number] = self.create_routine(routine, script);
            }
            4 | 5 => {
                let change = self.pick(&[
                    "COMMENT 'other'",
                    "SQL SECURITY INVOKER",
                    "SQL SECURITY DEFINER",
                    "READS SQL DATA",
                    "CONTAINS SQL",
                    "",
                ]);
                script.push(unordered(text(format!("ALTER {word} {name} {change}"))));
                script.push(unordered(text(format!("SHOW CREATE {word} {name}"))));
            }
            6 | 7 => script.push(unordered(text(format!("SHOW CREATE {word} {name}")))),
            8 => script.push(Statement {
                sql: text(format!(
                    "SELECT ORDINAL_POSITION, PARAMETER_MODE, PARAMETER_NAME, DATA_TYPE, \
                     CHARACTER_MAXIMUM_LENGTH, CHARACTER_OCTET_LENGTH, NUMERIC_PRECISION, NUMERIC_SCALE, \
                     DATETIME_PRECISION, CHARACTER_SET_NAME, COLLATION_NAME, DTD_IDENTIFIER, ROUTINE_TYPE \
                     FROM information_schema.PARAMETERS WHERE SPECIFIC_SCHEMA = DATABASE() AND \
                     SPECIFIC_NAME = '{name}' ORDER BY ORDINAL_POSITION"
                )),
                is_ordered: true,
            }),
            _ => script.push(unordered(text(format!(
                "SELECT ROUTINE_NAME, ROUTINE_TYPE, DATA_TYPE, CHARACTER_MAXIMUM_LENGTH, \
                 NUMERIC_PRECISION, NUMERIC_SCALE, DATETIME_PRECISION, CHARACTER_SET_NAME, COLLATION_NAME, \
                 DTD_IDENTIFIER, ROUTINE_BODY, IS_DETERMINISTIC, SQL_DATA_ACCESS, \
                 SECURITY_TYPE, SQL_MODE, ROUTINE_COMMENT, CHARACTER_SET_CLIENT, COLLATION_CONNECTION, \
                 DATABASE_COLLATION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE() AND \
                 ROUTINE_NAME = '{name}'"
            )))),
        }
    }
}
