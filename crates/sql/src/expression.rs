//! Expressions: resolved once, evaluated for each row.
//!
//! 1. [`resolve`] turns a syntax tree into an [`Expr`]: names become places, every node gets its
//!    static [`Type`], and how operands compare or add is chosen there, not per row.
//! 2. [`Expr::eval`] walks the tree for one [`Row`]. Values borrow from the row and from the tree's
//!    constants; nothing is allocated unless text is made.
//!
//! (X1) A text operand is in the character set of its type's collation; where operands differ the
//!      resolver puts a conversion between.
//! (X2) Evaluation changes nothing but the session's context: warnings, user variables, and what a
//!      stored function does.
//!
//! - [`row`], [`frame`]: what columns read from. [`subquery`]: queries as operands. [`arithmetic`],
//!   [`compare`], [`like`], [`cast`], [`interval`]: the operators.
//! - [`members`]: long lists of constants.
//! - [`functions`]: the table of built-in functions.
//! - [`aggregate`]: COUNT, SUM and their like.

pub(crate) mod aggregate;
pub(crate) mod arithmetic;
pub(crate) mod cast;
pub(crate) mod compare;
mod eval;
pub(crate) mod frame;
pub(crate) mod functions;
pub(crate) mod interval;
pub(crate) mod like;
pub(crate) mod members;
pub(crate) mod resolve;
pub(crate) mod row;
pub(crate) mod subquery;
pub(crate) mod window;

use std::sync::Arc;

pub(crate) use resolve::{Resolver, Scope, is_stored};
pub(crate) use row::Row;

use crate::routine::Routine;
use datum::types::{Charset, Family, Type, code};
use datum::value::Datum;
use syntax::ast::{BinaryOp, IntervalUnit, SystemVariable, TrimSide, Truth};

/// A resolved expression.
#[derive(Debug, Clone)]
pub struct Expr {
    /// What it does.
    pub(crate) node: Node,
    /// What it gives.
    pub ty: Type,
}

/// What rows are sorted by, the first term first.
#[derive(Debug, Clone)]
pub(crate) struct OrderTerm {
    /// What rows are ordered by.
    pub expr: Expr,
    /// DESC was said.
    pub descending: bool,
}

/// What an expression does.
#[derive(Debug, Clone)]
pub(crate) enum Node {
    /// Always the same.
    Constant(Datum<'static>),
    /// A constant JSON path: its text, and what it was compiled to.
    JsonPath(Box<[u8]>, Arc<datum::value::json::Path>),
    /// `JSON_VALUE(..)`
    JsonValue(Box<functions::json::JsonValue>),
    /// A text that is no number where one is wanted: a warning once in a statement, not for each
    /// row.
    Misread(Box<Misread>),
    /// A column of one of the row's sources.
    Column {
        /// Which source.
        source: usize,
        /// Which column of it.
        column: usize,
    },
    /// An aggregate of the query block.
    Aggregate(usize),
    /// A window function of the query block.
    Window(usize),
    /// One of GROUP BY's expressions under WITH ROLLUP.
    GroupKey(usize),
    /// The select item of that number, named by its alias or position, while a block is being
    /// bound: two items may read the same and differ ([`crate::planner::reuse`]). No plan has one.
    Item(usize),
    /// `GROUPING(..)`: which of these expressions, numbers of GROUP BY's when they are known, the
    /// row is a sum over.
    Grouping(Vec<Expr>, Vec<usize>),
    /// A value of the query around this one: the number of a parameter of the innermost subquery or
    /// derived table.
    Outer(usize),
    /// `?` of a prepared statement.
    Parameter(usize),
    /// A variable or parameter of the routine that runs.
    Local(usize),
    /// `@name`
    UserVariable(Box<str>),
    /// `@name := value`
    Assign(Box<str>, Box<Expr>),
    /// `@@name`
    SystemVariable(Box<SystemVariable>),
    /// `-x`
    Negate(Box<Expr>),
    /// `~x`
    BitNot(Box<Expr>),
    /// `NOT x`
    Not(Box<Expr>),
    /// `+`, `-`, `*`, `/`, DIV, `%`, and the bit operators.
    Arithmetic(arithmetic::Operation, Box<[Expr; 2]>),
    /// `=` and the others.
    Compare(BinaryOp, compare::By, Box<[Expr; 2]>),
    /// All of them.
    And(Vec<Expr>),
    /// One of them.
    Or(Vec<Expr>),
    /// One of the two.
    Xor(Box<[Expr; 2]>),
    /// `x IS [NOT] NULL`, TRUE, FALSE.
    Is(Box<Expr>, Truth, bool),
    /// `x [NOT] BETWEEN low AND high`: how each end compares.
    Between(Box<[Expr; 3]>, [compare::By; 2], bool),
    /// `x IN (list)`: the operand, and each candidate with how it compares.
    In(Box<Expr>, members::Members, bool),
    /// `(x, y) IN (..)` with many constants.
    RowIn(Box<members::RowMembers>),
    /// `x LIKE pattern`
    Like(Box<like::Like>),
    /// `CASE WHEN .. END`, and IF.
    Case(Box<Case>),
    /// `CASE operand WHEN .. END`
    Switch(Box<Switch>),
    /// `NULLIF(a, b)`
    NullIf(Box<[Expr; 2]>, compare::By),
    /// The first operand that isn't NULL.
    Coalesce(Vec<Expr>),
    /// CAST, CONVERT and implied conversions.
    Cast(cast::To, Box<Expr>),
    /// Text into another character set.
    Transcode(Charset, Charset, Box<Expr>),
    /// `date ± INTERVAL amount unit`
    DateArithmetic(Box<[Expr; 2]>, IntervalUnit, bool),
    /// `EXTRACT(unit FROM x)`
    Extract(IntervalUnit, Box<Expr>),
    /// `TIMESTAMPDIFF(unit, from, to)`
    TimestampDiff(IntervalUnit, Box<[Expr; 2]>),
    /// `TRIM(side remove FROM x)`: operand, then what is removed.
    Trim(TrimSide, Box<[Expr; 2]>),
    /// A built-in function.
    Call(&'static functions::Function, Vec<Expr>),
    /// A stored function.
    Stored(Arc<Routine>, Vec<Expr>),
    /// A query as an operand.
    Subquery(Box<subquery::Subquery>),
}

/// A constant text that is no number.
#[derive(Debug, Clone)]
pub(crate) struct Misread {
    /// Tells it from all others.
    pub id: u64,
    pub(crate) text: Datum<'static>,
    /// The number that it begins with; zero if it begins with none.
    pub number: f64,
}

/// A CASE: the first branch whose condition holds.
#[derive(Debug, Clone)]
pub(crate) struct Case {
    /// Conditions and results.
    pub branches: Vec<(Expr, Expr)>,
    /// The result if none holds; NULL if absent.
    pub otherwise: Option<Expr>,
}

/// A CASE with an operand: the first branch whose value equals it.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    /// What is compared.
    pub operand: Expr,
    /// Values, how they compare, and results.
    pub(crate) branches: Vec<(Expr, compare::By, Expr)>,
    /// The result if none is equal; NULL if absent.
    pub(crate) otherwise: Option<Expr>,
}

/// A node's operands, shared or to be changed: one list for both. Nodes that answer for themselves
/// have none here.
macro_rules! operands {
    ($node:expr, $iter:ident $(, $mut:tt)?) => {
        match $node {
            Node::Constant(_)
            | Node::JsonPath(..)
            | Node::Misread(_)
            | Node::Column { .. }
            | Node::Aggregate(_)
            | Node::Window(_)
            | Node::GroupKey(_)
            | Node::Item(_)
            | Node::Outer(_)
            | Node::Parameter(_)
            | Node::Local(_)
            | Node::UserVariable(_)
            | Node::SystemVariable(_)
            | Node::JsonValue(_)
            | Node::RowIn(_)
            | Node::Subquery(_) => Vec::new(),
            Node::Assign(_, x)
            | Node::Negate(x)
            | Node::BitNot(x)
            | Node::Not(x)
            | Node::Is(x, ..)
            | Node::Cast(_, x)
            | Node::Transcode(_, _, x)
            | Node::Extract(_, x) => vec![& $($mut)? **x],
            Node::Arithmetic(_, pair)
            | Node::Compare(_, _, pair)
            | Node::Xor(pair)
            | Node::DateArithmetic(pair, ..)
            | Node::TimestampDiff(_, pair)
            | Node::Trim(_, pair)
            | Node::NullIf(pair, _) => pair.$iter().collect(),
            Node::Between(three, ..) => three.$iter().collect(),
            Node::And(list) | Node::Or(list) | Node::Coalesce(list) => list.$iter().collect(),
            Node::Call(_, list) | Node::Stored(_, list) | Node::Grouping(list, _) => list.$iter().collect(),
            Node::In(x, list, _) => {
                std::iter::once(& $($mut)? **x).chain(list.$iter().map(|(_, e)| e)).collect()
            }
            Node::Like(like) => vec![& $($mut)? like.operand, & $($mut)? like.pattern],
            Node::Switch(switch) => {
                let Switch { operand, branches, otherwise } = & $($mut)? **switch;
                let branches = branches.$iter().flat_map(|(when, _, then)| [when, then]);
                std::iter::once(operand).chain(branches).chain(otherwise.$iter()).collect()
            }
            Node::Case(case) => {
                let Case { branches, otherwise } = & $($mut)? **case;
                branches.$iter().flat_map(|(when, then)| [when, then]).chain(otherwise.$iter()).collect()
            }
        }
    };
}

impl Expr {
    /// An expression that is always `value`.
    pub(crate) fn constant(value: Datum<'static>, ty: Type) -> Expr {
        Expr { node: Node::Constant(value), ty }
    }

    /// A TEXT or BLOB column, COALESCE, GREATEST and LEAST as a number: no warning is given for
    /// texts that are none.
    pub(crate) fn read_quietly(&mut self) {
        let is_quiet = match &self.node {
            Node::Column { .. } => self.ty.code == code::BLOB,
            Node::Coalesce(_) => true,
            Node::Call(function, _) => matches!(function.name, "greatest" | "least"),
            _ => false,
        };
        if is_quiet && self.ty.family == Family::Text {
            let column = std::mem::replace(self, Expr::constant(Datum::Null, Type::NULL));
            let ty = Type { nullable: column.ty.nullable, ..Type::DOUBLE };
            *self = Expr { node: Node::Cast(cast::To::QuietDouble, Box::new(column)), ty };
        }
    }

    /// The seconds of UNIX_TIMESTAMP(), which are cut where an integer is wanted; other decimals
    /// are rounded.
    pub(crate) fn is_seconds(&self) -> bool {
        matches!(&self.node, Node::Call(function, _) if function.name == "unix_timestamp")
            && self.ty.decimals > 0
    }

    /// A text as an exact number: values of functions and TEXT columns give no warning if they are
    /// none.
    pub(crate) fn read_as_decimal(&mut self) {
        let is_quiet = match &self.node {
            Node::Column { .. } => self.ty.code == code::BLOB,
            Node::Call(..) | Node::Trim(..) => true,
            Node::Cast(to, _) => matches!(to, cast::To::Char(..) | cast::To::Binary(_)),
            _ => false,
        };
        if is_quiet && self.ty.family == Family::Text {
            let text = std::mem::replace(self, Expr::constant(Datum::Null, Type::NULL));
            let ty = Type { nullable: text.ty.nullable, ..Type::decimal(65, 30) };
            *self = Expr { node: Node::Cast(cast::To::QuietDecimal, Box::new(text)), ty };
        }
    }

    /// The same as a number that is compared: a constant text that is none gives one warning.
    pub(crate) fn read_once(&mut self) {
        self.read_quietly();
        let Node::Constant(text @ Datum::Bytes(bytes)) = &self.node else { return };
        let read = text.to_f64();
        if !read.whole && !bytes.trim_ascii().is_empty() {
            let misread = Misread { id: subquery::new_id(), text: text.clone(), number: read.value };
            // It stays a text to those who choose how to find rows.
            self.node = Node::Misread(Box::new(misread));
        }
    }

    /// The value, if it is a constant.
    pub(crate) fn as_constant(&self) -> Option<&Datum<'static>> {
        match &self.node {
            Node::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// The column of source 0, if it is one.
    pub(crate) fn as_column(&self) -> Option<usize> {
        match self.node {
            Node::Column { source: 0, column } => Some(column),
            _ => None,
        }
    }

    /// Its operands.
    pub(crate) fn children(&self) -> Vec<&Expr> {
        match &self.node {
            Node::JsonValue(call) => call.operands(),
            Node::RowIn(list) => vec![&list.any],
            Node::Subquery(subquery) => subquery.operands().chain(&subquery.parameters).collect(),
            node => operands!(node, iter),
        }
    }

    /// Its operands, to be changed.
    pub(crate) fn children_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.node {
            // What it answers instead is constant.
            Node::JsonValue(call) => vec![&mut call.document],
            Node::RowIn(list) => vec![list.any_mut()],
            Node::Subquery(subquery) => subquery.children_mut(),
            node => operands!(node, iter_mut, mut),
        }
    }

    /// True if it has the same value for every row and moment of one statement, and evaluating it
    /// early does no harm.
    pub(crate) fn is_row_independent(&self) -> bool {
        match &self.node {
            Node::Column { .. }
            | Node::Aggregate(_)
            | Node::Window(_)
            | Node::GroupKey(_)
            | Node::Item(_)
            | Node::Grouping(..)
            | Node::Assign(..)
            | Node::Stored(..) => false,
            Node::Subquery(subquery) if subquery.is_volatile => false,
            Node::Call(function, _) if function.volatile => false,
            _ => self.children().into_iter().all(Expr::is_row_independent),
        }
    }

    /// The row's sources that it reads, one bit each.
    pub(crate) fn sources(&self) -> u64 {
        match self.node {
            Node::Column { source, .. } => 1_u64.checked_shl(source as u32).unwrap_or(0),
            _ => self.children().into_iter().fold(0, |all, child| all | child.sources()),
        }
    }

    /// True if `test` holds for it or for anything in it.
    pub fn contains(&self, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
        test(self) || self.children().into_iter().any(|child| child.contains(test))
    }

    /// True if it is a window function, or one is in it.
    pub(crate) fn has_window(&self) -> bool {
        self.contains(&mut |e| matches!(e.node, Node::Window(_)))
    }

    /// True if evaluating it again may give another value or do something again.
    pub(crate) fn is_volatile(&self) -> bool {
        self.contains(&mut |e| match &e.node {
            Node::Assign(..) | Node::Stored(..) | Node::Item(_) => true,
            Node::Call(function, _) => function.volatile,
            Node::Subquery(subquery) => subquery.is_volatile,
            _ => false,
        })
    }

    /// Replaces this expression and those in it from the leaves up.
    pub(crate) fn transform(&mut self, f: &mut dyn FnMut(&mut Expr)) {
        for child in self.children_mut() {
            child.transform(f);
        }
        f(self);
    }

    /// The same expression: equal trees print equal.
    pub(crate) fn is_same(&self, other: &Expr) -> bool {
        match (&self.node, &other.node) {
            (Node::Column { source: a, column: b }, Node::Column { source: c, column: d }) => {
                (a, b) == (c, d)
            }
            (Node::Column { .. }, _) | (_, Node::Column { .. }) => false,
            (Node::Outer(a), Node::Outer(b)) => a == b,
            (Node::Subquery(a), Node::Subquery(b)) => a.id == b.id,
            // Most are told apart without being printed. A statement that is to end has no use for
            // the answer.
            (a, b) => {
                self.may_equal(other)
                    && datum::bounds::check().is_ok()
                    && format!("{a:?}") == format!("{b:?}")
            }
        }
    }

    /// True unless it is seen at once that the trees differ.
    fn may_equal(&self, other: &Expr) -> bool {
        match (&self.node, &other.node) {
            (Node::Constant(a), Node::Constant(b)) => a == b,
            (Node::Column { source: a, column: b }, Node::Column { source: c, column: d }) => {
                (a, b) == (c, d)
            }
            (Node::Outer(a), Node::Outer(b)) => a == b,
            (Node::UserVariable(a), Node::UserVariable(b)) => a == b,
            (Node::Arithmetic(_, a), Node::Arithmetic(_, b))
            | (Node::Compare(_, _, a), Node::Compare(_, _, b)) => {
                a.iter().zip(b.iter()).all(|(a, b)| a.may_equal(b))
            }
            (Node::Call(a, x), Node::Call(b, y)) => {
                std::ptr::eq(*a, *b) && x.len() == y.len() && x.iter().zip(y).all(|(a, b)| a.may_equal(b))
            }
            (a, b) => std::mem::discriminant(a) == std::mem::discriminant(b),
        }
    }

    /// An expression over the columns of one table, with the table in this slot.
    pub(crate) fn with_source(&self, slot: usize) -> Expr {
        let mut expr = self.clone();
        expr.transform(&mut |e| {
            if let Node::Column { source, .. } = &mut e.node {
                *source = slot;
            }
        });
        expr
    }

    /// Calls `f` on this expression and everything in it.
    pub(crate) fn walk(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        for child in self.children() {
            child.walk(f);
        }
    }
}
