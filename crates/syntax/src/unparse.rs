//! From trees back to SQL, in the canonical form that MySQL stores and shows: names in backticks,
//! keywords in lower case, every operator in parentheses.
//!
//! The text is for the default `sql_mode`: parsed under it, it gives the same tree
//! (P4 of `syntax/src/parser.rs`). It is bytes, for strings hold bytes of any character set. A `?`
//! stays one; trees with several are renumbered where an argument's place differs from the
//! canonical one (`INTERVAL ? DAY + ?`).

mod data_type;
mod query;
mod window;

pub use window::window_name;

use crate::ast::*;
use crate::keyword::Keyword;
use crate::parser::function::is_plain_call;
use std::fmt;

/// Text under construction.
#[derive(Default)]
struct Writer {
    out: Vec<u8>,
}

/// An expression as SQL.
pub fn expr(expr: &Expr) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.expr(expr);
    writer.out
}

/// A query as SQL.
pub fn query(query: &Query) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.query(query);
    writer.out
}

/// A name in backticks.
pub fn ident(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string in quotes, as MySQL escapes it.
#[cfg(test)]
pub(crate) fn string(bytes: &[u8]) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.string(bytes);
    writer.out
}

/// Bytes that aren't UTF-8 are replaced: for messages and tests.
impl fmt::Display for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&expr(self)))
    }
}

/// Bytes that aren't UTF-8 are replaced: for messages and tests.
impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&query(self)))
    }
}

/// Writes its arguments one after the other: strings as they are, trees by their methods.
macro_rules! put {
    ($writer:expr, $($part:expr),+ $(,)?) => {{ $($writer.put($part);)+ }};
}
use put;

/// Anything that can be written.
enum Part<'a> {
    Str(&'a str),
    Expr(&'a Expr),
    Name(&'a Ident),
}

impl<'a> From<&'a str> for Part<'a> {
    fn from(text: &'a str) -> Self {
        Part::Str(text)
    }
}

impl<'a> From<&'a Expr> for Part<'a> {
    fn from(expr: &'a Expr) -> Self {
        Part::Expr(expr)
    }
}

impl<'a> From<&'a Box<Expr>> for Part<'a> {
    fn from(expr: &'a Box<Expr>) -> Self {
        Part::Expr(expr)
    }
}

impl<'a> From<&'a Ident> for Part<'a> {
    fn from(name: &'a Ident) -> Self {
        Part::Name(name)
    }
}

impl Writer {
    fn put<'a>(&mut self, part: impl Into<Part<'a>>) {
        match part.into() {
            Part::Str(text) => self.out.extend_from_slice(text.as_bytes()),
            Part::Expr(expr) => self.expr(expr),
            Part::Name(name) => self.out.extend_from_slice(ident(name).as_bytes()),
        }
    }

    /// `a,b,c`
    fn list<T>(&mut self, items: &[T], mut item: impl FnMut(&mut Self, &T)) {
        for (at, element) in items.iter().enumerate() {
            if at > 0 {
                self.put(",");
            }
            item(self, element);
        }
    }

    fn exprs(&mut self, list: &[Expr]) {
        self.list(list, |writer, expr| writer.expr(expr));
    }

    fn names(&mut self, list: &[Ident]) {
        self.list(list, |writer, name| writer.put(name));
    }

    /// A name without quotes where it needs none: character sets, variables.
    fn word(&mut self, name: &Ident) {
        let plain = is_plain(name) && Keyword::lookup(name.as_bytes()) == Keyword::OTHER;
        if plain { self.put(name.as_str()) } else { self.put(name) }
    }

    fn string(&mut self, bytes: &[u8]) {
        self.out.push(b'\'');
        for &byte in bytes {
            match byte {
                0 => self.put("\\0"),
                b'\n' => self.put("\\n"),
                b'\r' => self.put("\\r"),
                0x1a => self.put("\\Z"),
                b'\\' => self.put("\\\\"),
                b'\'' => self.put("\\'"),
                _ => self.out.push(byte),
            }
        }
        self.out.push(b'\'');
    }

    fn object_name(&mut self, name: &ObjectName) {
        if let Some(database) = &name.database {
            put!(self, database, ".");
        }
        self.put(&name.name);
    }

    fn column_name(&mut self, name: &ColumnName) {
        for qualifier in [&name.database, &name.table].into_iter().flatten() {
            put!(self, qualifier, ".");
        }
        self.put(&name.column);
    }

    fn expr(&mut self, expr: &Expr) {
        use ExprKind::*;
        match &expr.kind {
            Literal(literal) => self.literal(literal),
            Column(name) => self.column_name(name),
            UserVariable(name) => put!(self, "@", name),
            AssignUserVariable { name, value } => put!(self, "(@", name, ":=", value, ")"),
            SystemVariable(variable) => self.system_variable(variable),
            Parameter(_) => self.put("?"),
            Unary { op, operand } => self.unary(*op, operand),
            Binary { op: BinaryOp::MemberOf, left, right } => {
                put!(self, "(", left, " member of (", right, "))")
            }
            Binary { op, left, right } => put!(self, "(", left, binary_text(*op), right, ")"),
            And(operands) => self.chain(operands, " and "),
            Or(operands) => self.chain(operands, " or "),
            Is { operand, test, negated } => {
                let test = match test {
                    Truth::Null => "null)",
                    Truth::True => "true)",
                    Truth::False => "false)",
                    Truth::Unknown => "unknown)",
                };
                put!(self, "(", operand, if *negated { " is not " } else { " is " }, test);
            }
            Between { operand, low, high, negated } => {
                put!(self, "(", operand, not(*negated), " between ", low, " and ", high, ")");
            }
            InList { operand, list, negated } => {
                put!(self, "(", operand, not(*negated), " in (");
                if let [self::Expr { kind: Subquery(_), .. }] = list[..] {
                    self.put("+"); // else it would read as IN (SELECT ..)
                }
                self.exprs(list);
                self.put("))");
            }
            InQuery { operand, query, negated } => {
                put!(self, "(", operand, not(*negated), " in (");
                self.query(query);
                self.put("))");
            }
            Like { operand, pattern, escape, negated } => {
                put!(self, "(", operand, not(*negated), " like ", pattern);
                if let Some(escape) = escape {
                    put!(self, " escape ", escape);
                }
                self.put(")");
            }
            Regexp { operand, pattern, negated } => {
                put!(self, "(", operand, not(*negated), " regexp ", pattern, ")");
            }
            Quantified { op, operand, all, query } => {
                put!(self, "(", operand, binary_text(*op), if *all { "all (" } else { "any (" });
                self.query(query);
                self.put("))");
            }
            Exists(query) => {
                self.put("exists(");
                self.query(query);
                self.put(")");
            }
            Subquery(query) => {
                self.put("(");
                self.query(query);
                self.put(")");
            }
            Row(list) => {
                self.put("(");
                self.exprs(list);
                self.put(")");
            }
            Case { operand, branches, otherwise } => {
                self.case(operand.as_deref(), branches, otherwise.as_deref())
            }
            Cast { operand, ty } => self.cast(operand, ty),
            ConvertUsing { operand, charset } => {
                put!(self, "convert(", operand, " using ");
                self.word(charset);
                self.put(")");
            }
            Collate { operand, collation } => {
                // COLLATE binds tighter than the signs, which come without parentheses of their
                // own.
                if matches!(operand.kind, Unary { op: UnaryOp::Minus | UnaryOp::BitNot, .. }) {
                    put!(self, "((", operand, ") collate ");
                } else {
                    put!(self, "(", operand, " collate ");
                }
                self.word(collation);
                self.put(")");
            }
            DateArithmetic { date, amount, unit, subtract } => {
                put!(self, "(", date, if *subtract { " - interval " } else { " + interval " }, amount, " ");
                put!(self, unit_text(*unit), ")");
            }
            Function(call) => self.call(call),
            Aggregate(aggregate) => self.aggregate(aggregate),
            Window(call) => self.window_call(call),
            Trim { side, remove, operand } => self.trim(*side, remove.as_deref(), operand),
            Extract { unit, operand } => put!(self, "extract(", unit_text(*unit), " from ", operand, ")"),
            TimestampDiff { unit, from, to } => {
                put!(self, "timestampdiff(", unit_text(*unit), ",", from, ",", to, ")");
            }
            GetFormat { of, region } => {
                let of = match of {
                    GetFormatOf::Date => "get_format(DATE,",
                    GetFormatOf::Time => "get_format(TIME,",
                    GetFormatOf::Datetime => "get_format(DATETIME,",
                };
                put!(self, of, region, ")");
            }
            Char { codes, charset } => {
                self.put("char(");
                self.exprs(codes);
                if let Some(charset) = charset {
                    self.put(" using ");
                    self.word(charset);
                }
                self.put(")");
            }
            WeightString { operand, cast } => {
                put!(self, "weight_string(", operand);
                match cast {
                    Some(WeightCast::Char(length)) => self.put(&*format!(" as char({length})")),
                    Some(WeightCast::Binary(length)) => self.put(&*format!(" as binary({length})")),
                    None => {}
                }
                self.put(")");
            }
            Match { columns, against, mode } => {
                self.put("(match(");
                self.list(columns, |writer, column| writer.column_name(column));
                let mode = match mode {
                    MatchMode::NaturalLanguage => "",
                    MatchMode::Boolean => " in boolean mode",
                    MatchMode::QueryExpansion => " with query expansion",
                };
                put!(self, ") against (", against, mode, "))");
            }
            JsonValue(value) => self.json_value(value),
            Default(None) => self.put("default"),
            Default(Some(column)) => {
                self.put("default(");
                self.column_name(column);
                self.put(")");
            }
            Values(column) => {
                self.put("values(");
                self.column_name(column);
                self.put(")");
            }
        }
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.put("NULL"),
            Literal::Bool(value) => self.put(if *value { "true" } else { "false" }),
            Literal::Integer(value) => self.put(&*value.to_string()),
            Literal::Decimal(text) => {
                let digits = text.trim_start_matches('0');
                if !digits.starts_with(|c: char| c.is_ascii_digit()) {
                    self.put("0");
                }
                self.put(digits);
            }
            Literal::Float(text) => self.put(&**text),
            Literal::String { bytes, introducer } => {
                self.introducer(introducer);
                self.string(bytes);
            }
            Literal::Hex { bytes, introducer: None } => {
                self.put(if bytes.is_empty() { "X''" } else { "0x" });
                for byte in bytes {
                    self.put(&*format!("{byte:02x}"));
                }
            }
            Literal::Hex { bytes, introducer } => {
                self.introducer(introducer);
                // The blank keeps `_latin1 x'41'` apart.
                self.put(" x'");
                for byte in bytes {
                    self.put(&*format!("{byte:02X}"));
                }
                self.put("'");
            }
            Literal::Bit { bytes, introducer } => {
                self.introducer(introducer);
                self.put(if introducer.is_some() { " b'" } else { "b'" });
                for byte in bytes {
                    self.put(&*format!("{byte:08b}"));
                }
                self.put("'");
            }
            Literal::Date(text) => self.temporal("DATE", text),
            Literal::Time(text) => self.temporal("TIME", text),
            Literal::Timestamp(text) => self.temporal("TIMESTAMP", text),
        }
    }

    fn introducer(&mut self, introducer: &Option<Ident>) {
        if let Some(charset) = introducer {
            put!(self, "_", charset.as_str());
        }
    }

    fn temporal(&mut self, word: &str, text: &Text) {
        self.put(word);
        self.string(text);
    }

    fn system_variable(&mut self, variable: &SystemVariable) {
        self.put(match variable.scope {
            None => "@@",
            Some(VariableScope::Global) => "@@global.",
            Some(VariableScope::Session) => "@@session.",
            Some(VariableScope::Persist) => "@@persist.",
            Some(VariableScope::PersistOnly) => "@@persist_only.",
        });
        if let Some(component) = &variable.name.component {
            self.word(component);
            self.put(".");
        }
        self.word(&variable.name.name);
    }

    fn unary(&mut self, op: UnaryOp, operand: &Expr) {
        match op {
            UnaryOp::Not => put!(self, "(not(", operand, "))"),
            UnaryOp::Minus => put!(self, "-(", operand, ")"),
            UnaryOp::BitNot => put!(self, "~(", operand, ")"),
        }
    }

    fn chain(&mut self, operands: &[Expr], operator: &str) {
        self.put("(");
        for (at, operand) in operands.iter().enumerate() {
            if at > 0 {
                self.put(operator);
            }
            self.expr(operand);
        }
        self.put(")");
    }

    fn case(&mut self, operand: Option<&Expr>, branches: &[CaseBranch], otherwise: Option<&Expr>) {
        self.put("(case");
        if let Some(operand) = operand {
            put!(self, " ", operand);
        }
        for branch in branches {
            put!(self, " when ", &branch.when, " then ", &branch.then);
        }
        if let Some(otherwise) = otherwise {
            put!(self, " else ", otherwise);
        }
        self.put(" end)");
    }

    fn cast(&mut self, operand: &Expr, ty: &CastType) {
        if ty.prefix {
            return put!(self, "(binary ", operand, ")");
        }
        put!(self, "cast(", operand);
        if let Some(zone) = &ty.time_zone {
            self.put(" at time zone ");
            self.string(zone);
        }
        self.put(" as ");
        self.cast_type(&ty.ty);
        self.put(if ty.array { " array)" } else { ")" });
    }

    fn call(&mut self, call: &FunctionCall) {
        match &call.database {
            Some(database) => put!(self, database, ".", &call.name),
            None if is_plain(&call.name) && is_plain_call(&call.name, call.arguments.len()) => {
                self.put(call.name.as_str());
            }
            None => self.put(&call.name),
        }
        self.put("(");
        self.exprs(&call.arguments);
        self.put(")");
    }

    fn aggregate(&mut self, aggregate: &Aggregate) {
        put!(self, aggregate_name(aggregate.function), "(");
        if aggregate.distinct {
            self.put("distinct ");
        }
        if aggregate.arguments.is_empty() {
            self.put("*");
        }
        self.exprs(&aggregate.arguments);
        self.order_by(&aggregate.order_by);
        if let Some(separator) = &aggregate.separator {
            self.put(" separator ");
            self.string(separator);
        }
        self.put(")");
        if let Some(over) = &aggregate.over {
            self.over(over);
        }
    }

    fn order_by(&mut self, items: &[OrderItem]) {
        if items.is_empty() {
            return;
        }
        self.put(" order by ");
        self.order_items(items);
    }

    fn order_items(&mut self, items: &[OrderItem]) {
        self.list(items, |writer, item| {
            writer.expr(&item.expr);
            if item.descending {
                writer.put(" desc");
            }
        });
    }

    fn trim(&mut self, side: TrimSide, remove: Option<&Expr>, operand: &Expr) {
        let side = match side {
            TrimSide::Both if remove.is_none() => return put!(self, "trim(", operand, ")"),
            TrimSide::Both => "trim(both ",
            TrimSide::Leading => "trim(leading ",
            TrimSide::Trailing => "trim(trailing ",
        };
        self.put(side);
        if let Some(remove) = remove {
            put!(self, remove, " ");
        }
        put!(self, "from ", operand, ")");
    }

    fn json_value(&mut self, value: &JsonValue) {
        put!(self, "json_value(", &value.document, ",", &value.path);
        if let Some(returning) = &value.returning {
            self.put(" returning ");
            self.cast_type(returning);
        }
        self.json_on(&value.on_empty, " on empty");
        self.json_on(&value.on_error, " on error");
        self.put(")");
    }

    fn json_on(&mut self, on: &Option<JsonOn>, when: &str) {
        match on {
            None => return,
            Some(JsonOn::Null) => self.put(" null"),
            Some(JsonOn::Error) => self.put(" error"),
            Some(JsonOn::Default(expr)) => {
                self.put(" default ");
                // A literal with its sign is wanted there.
                match &expr.kind {
                    ExprKind::Unary { op: UnaryOp::Minus, operand } => put!(self, "-", operand),
                    _ => put!(self, expr),
                }
            }
        }
        self.put(when);
    }
}

/// True for a name that reads as one token of letters.
fn is_plain(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn not(negated: bool) -> &'static str {
    if negated { " not" } else { "" }
}

/// An operator's text, with spaces around it.
pub fn binary_text(op: BinaryOp) -> &'static str {
    match op {
        BinaryOp::Xor => " xor ",
        BinaryOp::Equal => " = ",
        BinaryOp::NullSafeEqual => " <=> ",
        BinaryOp::NotEqual => " <> ",
        BinaryOp::Less => " < ",
        BinaryOp::LessOrEqual => " <= ",
        BinaryOp::Greater => " > ",
        BinaryOp::GreaterOrEqual => " >= ",
        BinaryOp::SoundsLike => " sounds like ",
        BinaryOp::MemberOf => " member of ",
        BinaryOp::BitOr => " | ",
        BinaryOp::BitAnd => " & ",
        BinaryOp::ShiftLeft => " << ",
        BinaryOp::ShiftRight => " >> ",
        BinaryOp::Add => " + ",
        BinaryOp::Subtract => " - ",
        BinaryOp::Multiply => " * ",
        BinaryOp::Divide => " / ",
        BinaryOp::IntDivide => " DIV ",
        BinaryOp::Modulo => " % ",
        BinaryOp::BitXor => " ^ ",
    }
}

/// A unit of time as INTERVAL has it.
pub fn unit_text(unit: IntervalUnit) -> &'static str {
    use IntervalUnit::*;
    match unit {
        Microsecond => "microsecond",
        Second => "second",
        Minute => "minute",
        Hour => "hour",
        Day => "day",
        Week => "week",
        Month => "month",
        Quarter => "quarter",
        Year => "year",
        SecondMicrosecond => "second_microsecond",
        MinuteMicrosecond => "minute_microsecond",
        MinuteSecond => "minute_second",
        HourMicrosecond => "hour_microsecond",
        HourSecond => "hour_second",
        HourMinute => "hour_minute",
        DayMicrosecond => "day_microsecond",
        DaySecond => "day_second",
        DayMinute => "day_minute",
        DayHour => "day_hour",
        YearMonth => "year_month",
    }
}

/// The function's name as canonical texts have it.
pub fn aggregate_name(function: AggregateFunction) -> &'static str {
    use AggregateFunction::*;
    match function {
        Count => "count",
        Sum => "sum",
        Avg => "avg",
        Min => "min",
        Max => "max",
        GroupConcat => "group_concat",
        BitAnd => "bit_and",
        BitOr => "bit_or",
        BitXor => "bit_xor",
        StddevPop => "std",
        StddevSamp => "stddev_samp",
        VarPop => "variance",
        VarSamp => "var_samp",
        JsonArrayAgg => "json_arrayagg",
        JsonObjectAgg => "json_objectagg",
        AnyValue => "any_value",
        StCollect => "st_collect",
    }
}
