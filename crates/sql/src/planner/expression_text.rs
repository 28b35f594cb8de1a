//! Resolved expressions as text, as MySQL prints them in plans: columns by their sources' names,
//! operators in parentheses.

mod window;

use std::fmt::Write;

use super::names::Names;
use crate::expression::aggregate::Aggregate;
use crate::expression::cast::To;
use crate::expression::subquery::{Subquery, Test};
use crate::expression::{Expr, Node};
use datum::types::Family;
use datum::value::Datum;
use syntax::ast::Truth;
use syntax::unparse;

use window::printed_window;
pub(crate) use window::window;

/// Longer constants are cut.
const CONSTANT_MAX: usize = 256;

/// An expression's text.
pub(crate) fn text(names: &Names<'_>, expr: &Expr) -> String {
    printed(names, expr, Style::Plan)
}

/// An expression's text as messages have it: columns' names in full and in backticks.
pub(crate) fn quoted(names: &Names<'_>, expr: &Expr) -> String {
    printed(names, expr, Style::Message)
}

fn printed(names: &Names<'_>, expr: &Expr, style: Style) -> String {
    let mut printer = Printer { names, style, out: String::new() };
    printer.expr(expr);
    printer.out
}

/// What all of these demand.
pub(crate) fn all(names: &Names<'_>, conditions: &[Expr]) -> String {
    match conditions {
        [one] => text(names, one),
        many => format!("({})", many.iter().map(|e| text(names, e)).collect::<Vec<_>>().join(" and ")),
    }
}

/// An aggregate's text.
pub(crate) fn aggregate(names: &Names<'_>, found: &Aggregate) -> String {
    printed_aggregate(names, found, Style::Plan)
}

fn printed_aggregate(names: &Names<'_>, aggregate: &Aggregate, style: Style) -> String {
    let distinct = if aggregate.distinct { "distinct " } else { "" };
    let arguments: Vec<String> =
        aggregate.argument.iter().chain(&aggregate.rest).map(|e| printed(names, e, style)).collect();
    let arguments = if arguments.is_empty() { "0".to_owned() } else { arguments.join(",") };
    format!("{}({distinct}{arguments})", unparse::aggregate_name(aggregate.function))
}

/// Where a text is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    Plan,
    Message,
}

struct Printer<'n, 'p> {
    names: &'n Names<'p>,
    style: Style,
    out: String,
}

impl Printer<'_, '_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn expr(&mut self, expr: &Expr) {
        if !datum::stack::has_room() {
            return self.put("...");
        }
        match &expr.node {
            Node::Constant(value) => self.constant(value),
            Node::JsonPath(path, _) => self.string(path),
            Node::Misread(misread) => self.constant(&misread.text),
            Node::Column { source, column } => {
                let name = match self.style {
                    Style::Plan => self.names.column(*source, *column),
                    Style::Message => self.names.quoted_column(*source, *column),
                };
                self.put(&name);
            }
            Node::Aggregate(number) => match self.names.group().and_then(|g| g.aggregates.get(*number)) {
                Some(found) => {
                    let text = printed_aggregate(self.names, found, self.style);
                    self.put(&text);
                }
                None => self.put("<aggregate>"),
            },
            Node::Window(number) => match self.names.windows().and_then(|w| w.calls.get(*number)) {
                Some(call) => {
                    let text = printed_window(self.names, call, self.style);
                    self.put(&text);
                }
                None => self.put("<window function>"),
            },
            Node::GroupKey(number) => match self.names.group().and_then(|g| g.keys.get(*number)) {
                Some(key) => self.expr(key),
                None => self.put("<group key>"),
            },
            Node::Item(_) => self.put("<item>"),
            Node::Grouping(list, _) => self.call("grouping", list),
            Node::Outer(number) => match self.names.outer(*number) {
                Some((names, value)) => {
                    let text = printed(names, value, self.style);
                    self.put(&text);
                }
                None => self.put("<outer>"),
            },
            Node::Parameter(_) => self.put("?"),
            Node::Local(number) => {
                let text = self.names.local(*number);
                self.put(&text);
            }
            Node::UserVariable(name) => {
                let _ = write!(self.out, "(@{name})");
            }
            Node::Assign(name, value) => {
                let _ = write!(self.out, "(@{name}:=");
                self.expr(value);
                self.put(")");
            }
            Node::SystemVariable(variable) => {
                let _ = write!(self.out, "@@{}", variable.name.name);
            }
            Node::Negate(x) => self.prefix("-(", x),
            Node::BitNot(x) => self.prefix("~(", x),
            Node::Not(x) => self.prefix("not(", x),
            Node::Arithmetic(operation, pair) => self.infix(unparse::binary_text(operation.op), &pair[..]),
            Node::Compare(op, _, pair) => self.infix(unparse::binary_text(*op), &pair[..]),
            Node::And(list) => self.infix(" and ", list),
            Node::Or(list) => self.infix(" or ", list),
            Node::RowIn(list) => self.expr(&list.any),
            Node::Xor(pair) => self.infix(" xor ", &pair[..]),
            Node::Is(x, truth, negated) => {
                self.put("(");
                self.expr(x);
                self.put(" is ");
                self.put(if *negated { "not " } else { "" });
                self.put(match truth {
                    Truth::Null => "null)",
                    Truth::True => "true)",
                    Truth::False => "false)",
                    Truth::Unknown => "unknown)",
                });
            }
            Node::Between(three, _, negated) => {
                self.operand(&three[0], *negated, " between ");
                self.expr(&three[1]);
                self.put(" and ");
                self.expr(&three[2]);
                self.put(")");
            }
            Node::In(x, list, negated) => {
                self.operand(x, *negated, " in (");
                self.separated(list.iter().map(|(_, e)| e));
                self.put("))");
            }
            Node::Like(like) => {
                self.operand(&like.operand, like.negated, " like ");
                self.expr(&like.pattern);
                self.put(")");
            }
            Node::Case(case) => {
                self.put("(case");
                for (when, then) in &case.branches {
                    self.branch(when, then);
                }
                self.case_end(case.otherwise.as_ref());
            }
            Node::Switch(switch) => {
                self.put("(case ");
                self.expr(&switch.operand);
                for (when, _, then) in &switch.branches {
                    self.branch(when, then);
                }
                self.case_end(switch.otherwise.as_ref());
            }
            Node::NullIf(pair, _) => self.call("nullif", &pair[..]),
            Node::Coalesce(list) => self.call("coalesce", list),
            Node::Cast(to, x) => {
                self.put("cast(");
                self.expr(x);
                self.put(" as ");
                self.put(type_name(to));
                if let (Style::Message, To::Decimal(precision, scale)) = (self.style, to) {
                    let _ = write!(self.out, "({precision},{scale})");
                }
                self.put(")");
            }
            Node::Transcode(_, to, x) => {
                self.put("convert(");
                self.expr(x);
                let _ = write!(self.out, " using {})", to.name());
            }
            Node::DateArithmetic(pair, unit, negative) => {
                self.put("(");
                self.expr(&pair[0]);
                self.put(if *negative { " - interval " } else { " + interval " });
                self.expr(&pair[1]);
                let _ = write!(self.out, " {})", unparse::unit_text(*unit));
            }
            Node::Extract(unit, x) => {
                let _ = write!(self.out, "extract({} from ", unparse::unit_text(*unit));
                self.expr(x);
                self.put(")");
            }
            Node::TimestampDiff(unit, pair) => {
                let _ = write!(self.out, "timestampdiff({},", unparse::unit_text(*unit));
                self.separated(pair.iter());
                self.put(")");
            }
            Node::Trim(_, pair) => self.call("trim", &pair[..]),
            Node::JsonValue(_) => {
                self.put("json_value(");
                self.separated(expr.children().into_iter());
                self.put(")");
            }
            Node::Call(function, list) if function.name == "power" => self.call("pow", list),
            Node::Call(function, list) => self.call(function.name, list),
            Node::Stored(routine, list) => self.call(routine.name(), list),
            Node::Subquery(subquery) => self.subquery(subquery),
        }
    }

    /// Opens a parenthesis, and prints what an operator begins with.
    fn operand(&mut self, x: &Expr, negated: bool, operator: &str) {
        self.put("(");
        self.expr(x);
        self.put(if negated { " not" } else { "" });
        self.put(operator);
    }

    fn prefix(&mut self, operator: &str, x: &Expr) {
        self.put(operator);
        self.expr(x);
        self.put(")");
    }

    fn infix(&mut self, operator: &str, operands: &[Expr]) {
        self.put("(");
        for (number, operand) in operands.iter().enumerate() {
            if number > 0 {
                self.put(operator);
            }
            self.expr(operand);
        }
        self.put(")");
    }

    fn call(&mut self, name: &str, arguments: &[Expr]) {
        self.put(name);
        self.put("(");
        self.separated(arguments.iter());
        self.put(")");
    }

    fn separated<'e>(&mut self, list: impl Iterator<Item = &'e Expr>) {
        for (number, expr) in list.enumerate() {
            if number > 0 {
                self.put(",");
            }
            self.expr(expr);
        }
    }

    fn branch(&mut self, when: &Expr, then: &Expr) {
        self.put(" when ");
        self.expr(when);
        self.put(" then ");
        self.expr(then);
    }

    fn case_end(&mut self, otherwise: Option<&Expr>) {
        if let Some(otherwise) = otherwise {
            self.put(" else ");
            self.expr(otherwise);
        }
        self.put(" end)");
    }

    fn subquery(&mut self, subquery: &Subquery) {
        match &subquery.test {
            Test::Scalar | Test::Column(_) => self.put("(subquery)"),
            Test::Exists => self.put("exists(subquery)"),
            Test::In(list) => {
                self.put("<in_optimizer>(");
                self.separated(list.iter().map(|c| &c.operand));
                self.put(" in (subquery))");
            }
            Test::Quantified(asked) | Test::Extreme(asked) => {
                self.put("(");
                self.expr(&asked.candidate.operand);
                self.put(unparse::binary_text(asked.op));
                self.put(if asked.all { "all (subquery))" } else { "any (subquery))" });
            }
        }
    }

    fn constant(&mut self, value: &Datum<'_>) {
        match value {
            Datum::Null => self.put("NULL"),
            Datum::Int(n) if *n < 0 && self.style == Style::Message => {
                let _ = write!(self.out, "-({})", n.unsigned_abs());
            }
            Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_) if self.style == Style::Message => {
                let kind = match value {
                    Datum::Date(_) => "DATE",
                    Datum::Time(_) => "TIME",
                    _ => "TIMESTAMP",
                };
                let _ = write!(self.out, "{kind}'{}'", String::from_utf8_lossy(&value.to_bytes()));
            }
            Datum::Int(_) | Datum::UInt(_) | Datum::Double(_) | Datum::Float(_) | Datum::Decimal(_) => {
                let text = String::from_utf8_lossy(&value.to_bytes()).into_owned();
                self.put(&text);
            }
            other => {
                let bytes = other.to_bytes();
                self.string(&bytes);
            }
        }
    }

    fn string(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(CONSTANT_MAX)]);
        let _ = write!(self.out, "'{}'", text.escape_debug());
    }
}

/// What a type is called in CAST.
fn type_name(to: &To) -> &'static str {
    match to {
        To::Signed => "signed",
        To::Unsigned => "unsigned",
        To::Decimal(..) | To::QuietDecimal | To::ChosenNumber(Family::Decimal, _) => "decimal",
        To::Float | To::ChosenNumber(Family::Float, _) => "float",
        To::ChosenNumber(..) => "double",
        To::Double | To::QuietDouble => "double",
        To::Char(..) | To::Chosen(..) | To::ZeroFilled(_) | To::Fixed(_) => "char",
        To::Binary(_) => "binary",
        To::Date => "date",
        To::Time(_) => "time",
        To::DateTime(_) | To::Moment(_) => "datetime",
        To::Year => "year",
        To::Json(_) | To::JsonScalar(_) => "json",
    }
}
