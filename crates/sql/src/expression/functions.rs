//! Built-in functions: one table, one line for each.
//!
//! A [`Function`] says how many arguments it takes, what it gives (from the arguments' types), and
//! how it is evaluated. The evaluator gets its arguments unevaluated, so that it may leave some
//! out. A name may have several lines only as synonyms. Adding a function is adding a line.
//!
//! - [`string`], [`numeric`], [`temporal`], [`information`]: the evaluators by subject, for the
//!   table here.
//! - [`bounded`]: how long results may be.
//! - [`results`]: what else of a function's result is reported to clients: NULL and digits.
//! - Families with a table of their own: `lists`, `encoding`, `format` (with [`crate::locale`]),
//!   [`regexp`]; [`date_format`], `date_parse`, `time_arithmetic`; `digest`, [`cipher`],
//!   `compression`, [`uuid`], `inet`; `locks`, `gtid`, `failover`; [`json`].

pub(crate) mod bounded;
pub(crate) mod cipher;
mod compression;
pub(crate) mod date_format;
mod date_parse;
mod digest;
mod encoding;
mod failover;
pub(crate) mod format;
mod gtid;
mod inet;
pub(crate) mod information;
pub(crate) mod json;
mod lists;
mod locks;
pub(crate) mod numeric;
pub(crate) mod regexp;
pub(crate) mod results;
pub(crate) mod string;
pub(crate) mod sys;
pub(crate) mod temporal;
mod time_arithmetic;
pub(crate) mod uuid;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use super::{Expr, Row};
use crate::session::Context;
use datum::error::Result;
use datum::types::{Charset, Coercibility, Collation, Family, Type};
use datum::value::Datum;

/// A built-in function.
pub struct Function {
    /// Its name, in lower case.
    pub name: &'static str,
    /// The fewest arguments.
    pub arguments_min: usize,
    /// The most arguments.
    pub arguments_max: usize,
    /// Which arguments are texts that are brought to one character set before it is called.
    pub texts: Texts,
    /// It gives another value each time, or does something: never evaluated early.
    pub(crate) volatile: bool,
    /// What each argument is to a JSON function.
    pub(crate) roles: Option<fn(usize) -> json::Role>,
    /// Its type.
    pub ty: fn(&[Expr], &Typing) -> Type,
    /// Its value.
    pub(crate) eval: for<'a> fn(&mut Context, Call<'a>) -> Result<Datum<'a>>,
}

/// The arguments that are texts, and whose collation they get.
#[derive(Debug, Clone, Copy)]
pub enum Texts {
    /// Each is taken as it is.
    Separate,
    /// Those from the first number up to before the second get what they have in common.
    Joined(usize, usize),
    /// Those of these numbers get the first one's; error 3854 for a text that its character set
    /// lacks.
    AsFirst(&'static [usize]),
}

impl std::fmt::Debug for Function {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// What a function's type may depend on besides its arguments.
#[derive(Debug, Clone, Copy)]
pub struct Typing {
    /// `collation_connection`.
    pub connection: Collation,
    /// If the sql_mode is strict.
    pub strict: bool,
}

impl Typing {
    /// True if a text that is made of these operands can be NULL, as MySQL tells: in a strict
    /// sql_mode always, else if an operand can be.
    pub(crate) fn text_is_nullable(&self, operands: &[Expr]) -> bool {
        self.strict || results::any_nullable(operands)
    }
}

/// A call being evaluated.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) arguments: &'a [Expr],
    pub(crate) row: Row<'a>,
    /// The call's type.
    pub ty: &'a Type,
}

impl<'a> Call<'a> {
    /// The number of arguments.
    pub(crate) fn count(&self) -> usize {
        self.arguments.len()
    }

    /// An argument's value.
    pub(crate) fn value(&self, cx: &mut Context, i: usize) -> Result<Datum<'a>> {
        self.arguments[i].eval(cx, self.row)
    }

    /// An argument as text; `None` for NULL.
    pub(crate) fn text(&self, cx: &mut Context, i: usize) -> Result<Option<Cow<'a, [u8]>>> {
        Ok(match self.arguments[i].eval_as_text(cx, self.row)? {
            Datum::Null => None,
            value => Some(value.into_bytes()),
        })
    }

    /// An argument as an integer, saturated to 64 bits; `None` for NULL.
    pub(crate) fn int(&self, cx: &mut Context, i: usize) -> Result<Option<i64>> {
        let value = self.value(cx, i)?;
        if value.is_null() {
            return Ok(None);
        }
        let value = match value {
            Datum::Decimal(seconds) if self.arguments[i].is_seconds() => Datum::Decimal(seconds.truncate(0)),
            value => value,
        };
        let n = cx.integer(&value)?;
        Ok(Some(i64::try_from(n).unwrap_or(if n < 0 { i64::MIN } else { i64::MAX })))
    }

    /// An argument as a double; `None` for NULL.
    pub(crate) fn double(&self, cx: &mut Context, i: usize) -> Result<Option<f64>> {
        let value = self.value(cx, i)?;
        if value.is_null() {
            return Ok(None);
        }
        cx.double(&value).map(Some)
    }

    /// The collation of an argument's text; the result's for what becomes text here.
    pub(crate) fn text_collation(&self, i: usize) -> Collation {
        let ty = &self.arguments[i].ty;
        if ty.family.is_text() { ty.collation } else { self.ty.collation }
    }

    /// The character set of an argument's text.
    pub(crate) fn charset(&self, i: usize) -> Charset {
        self.arguments[i].ty.collation.charset()
    }
}

/// Unwraps an argument, or makes the function's value NULL.
macro_rules! not_null {
    ($value:expr) => {
        match $value? {
            Some(value) => value,
            None => return Ok(Datum::Null),
        }
    };
}
pub(crate) use not_null;

/// Any number of arguments.
const MANY: usize = usize::MAX;

type Evaluator = for<'a> fn(&mut Context, Call<'a>) -> Result<Datum<'a>>;
type Typer = fn(&[Expr], &Typing) -> Type;

const fn f(name: &'static str, arguments: (usize, usize), ty: Typer, eval: Evaluator) -> Function {
    Function {
        name,
        arguments_min: arguments.0,
        arguments_max: arguments.1,
        texts: Texts::Separate,
        volatile: false,
        roles: None,
        ty,
        eval,
    }
}

impl Function {
    /// All arguments are brought to one collation.
    const fn unified(self) -> Self {
        self.joined(0, MANY)
    }

    const fn joined(mut self, from: usize, to: usize) -> Self {
        self.texts = Texts::Joined(from, to);
        self
    }

    const fn with_texts_as_first(mut self, texts: &'static [usize]) -> Self {
        self.texts = Texts::AsFirst(texts);
        self
    }

    const fn with_roles(mut self, roles: fn(usize) -> json::Role) -> Self {
        self.roles = Some(roles);
        self
    }

    const fn volatile(mut self) -> Self {
        self.volatile = true;
        self
    }
}

fn int(_: &[Expr], _: &Typing) -> Type {
    Type::INT
}

fn uint(_: &[Expr], _: &Typing) -> Type {
    Type::UINT
}

fn double(_: &[Expr], _: &Typing) -> Type {
    Type::DOUBLE
}

fn date(_: &[Expr], _: &Typing) -> Type {
    Type::DATE
}

/// Today's date, which never is NULL.
fn today(_: &[Expr], _: &Typing) -> Type {
    Type::DATE.not_null()
}

/// Text of the first argument's collation and length.
fn like_first(arguments: &[Expr], typing: &Typing) -> Type {
    text_of(&arguments[..1], typing, |lengths| lengths.first().copied().unwrap_or(0).into())
}

/// Text as long as all arguments together.
fn joined(arguments: &[Expr], typing: &Typing) -> Type {
    made_text(arguments, typing, |lengths| lengths.iter().map(|&l| u64::from(l)).sum())
}

/// Text that may have an escape before each character, and a quote at both ends. A number's has the
/// set of the server's own texts, which MySQL takes for latin1.
fn quoted(arguments: &[Expr], typing: &Typing) -> Type {
    let of = &arguments[0].ty;
    let is_text = of.family.is_text() || matches!(of.family, Family::Json | Family::Null | Family::Bit);
    let collation = match of.collation {
        _ if !is_text => Charset::Latin1.default_collation(),
        Collation::BINARY => typing.connection,
        collation => collation,
    };
    let length = (2 * u64::from(of.text_length()) + 2).max(4);
    let length = length.min(MADE_BYTES_MAX / u64::from(collation.charset().char_len_max())) as u32;
    Type::text(collation, of.coercibility, length)
}

/// Text in the connection's character set, whatever the arguments are.
fn binary_long_text(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::BINARY, Coercibility::Implicit, u32::MAX)
}

fn connection_text(_: &[Expr], typing: &Typing) -> Type {
    Type::text(typing.connection, Coercibility::Literal, 255)
}

/// Names of character sets and collations.
fn name_text(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation(33), Coercibility::Literal, 64)
}

/// The name of a database.
fn database_text(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation(33), Coercibility::System, 64)
}

/// Names of users.
fn system_text(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation(33), Coercibility::System, 288)
}

fn text_of(arguments: &[Expr], typing: &Typing, length: impl Fn(&[u32]) -> u64) -> Type {
    let has_text = |a: &&Expr| a.ty.family.is_text() || matches!(a.ty.family, Family::Json | Family::Bit);
    // Of texts that are equally strong, bytes win.
    let rank = |a: &&Expr| (a.ty.coercibility, a.ty.collation != Collation::BINARY);
    let ty = match arguments.iter().filter(has_text).min_by_key(rank) {
        Some(text) => Type::text(text.ty.collation, text.ty.coercibility, 0),
        None if arguments.iter().all(|a| a.ty.family == Family::Null) => {
            Type::text(Collation::BINARY, Coercibility::Ignorable, 0)
        }
        None => Type::text(typing.connection, Coercibility::Literal, 0),
    };
    let is_binary = ty.collation == Collation::BINARY;
    let lengths: Vec<u32> =
        arguments.iter().map(|a| if is_binary { a.ty.byte_length() } else { a.ty.text_length() }).collect();
    Type { length: u32::try_from(length(&lengths)).unwrap_or(u32::MAX), ..ty }
}

/// What is made of several texts is no longer than this, in bytes.
const MADE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The same for results that are longer than their operands, up to [`MADE_BYTES_MAX`].
fn made_text(arguments: &[Expr], typing: &Typing, length: impl Fn(&[u32]) -> u64) -> Type {
    limited(text_of(arguments, typing, length))
}

/// The same for a text that keeps its first argument's collation; `lengths` are the characters that
/// each argument has.
fn made_of_first(arguments: &[Expr], typing: &Typing, length: impl Fn(&[u32]) -> u64) -> Type {
    let ty = like_first(&arguments[..1], typing);
    let in_bytes = ty.collation == Collation::BINARY;
    let length_of = |a: &Expr| if in_bytes { a.ty.byte_length() } else { a.ty.text_length() };
    let lengths: Vec<u32> = arguments.iter().map(length_of).collect();
    limited(Type { length: u32::try_from(length(&lengths)).unwrap_or(u32::MAX), ..ty })
}

fn limited(ty: Type) -> Type {
    let width = ty.collation.charset().char_len_max();
    Type { length: ty.length.min(MADE_BYTES_MAX as u32 / width), ..ty }
}

/// Text of the connection's character set, of at most `N` characters.
fn text_of_at_most<const N: u32>(_: &[Expr], typing: &Typing) -> Type {
    Type::text(typing.connection, Coercibility::Literal, N)
}

/// What a format makes: its last argument's length, with room for the longest names.
fn format_type(arguments: &[Expr], typing: &Typing) -> Type {
    let format = arguments.last();
    let length = match format.and_then(Expr::as_constant) {
        Some(Datum::Bytes(format)) => date_format::length_of(format),
        _ => format.map_or(0, |format| format.ty.text_length().saturating_mul(10)),
    };
    Type::text(typing.connection, Coercibility::Literal, length)
}

fn boolean(_: &[Expr], _: &Typing) -> Type {
    Type::BOOL
}

/// The tables of all families.
static FAMILIES: &[&[Function]] = &[
    FUNCTIONS,
    cipher::FUNCTIONS,
    compression::FUNCTIONS,
    date_format::FUNCTIONS,
    date_parse::FUNCTIONS,
    digest::FUNCTIONS,
    encoding::FUNCTIONS,
    failover::FUNCTIONS,
    format::FUNCTIONS,
    gtid::FUNCTIONS,
    inet::FUNCTIONS,
    json::FUNCTIONS,
    lists::FUNCTIONS,
    locks::FUNCTIONS,
    regexp::FUNCTIONS,
    time_arithmetic::FUNCTIONS,
    uuid::FUNCTIONS,
];

/// Functions with plain arguments that have no table of their own.
pub(crate) static FUNCTIONS: &[Function] = &[
    // Text.
    f("ascii", (1, 1), int, string::ascii),
    f("bin", (1, 1), text_of_at_most::<65>, numeric::bin),
    f("bit_length", (1, 1), int, string::bit_length),
    f("char_length", (1, 1), int, string::char_length),
    f("character_length", (1, 1), int, string::char_length),
    f("concat", (1, MANY), joined, string::concat).unified(),
    f("concat_ws", (2, MANY), string::concat_ws_type, string::concat_ws).unified(),
    f("elt", (2, MANY), string::elt_type, string::elt).joined(1, MANY),
    f("field", (2, MANY), int, string::field).unified(),
    f("find_in_set", (2, 2), int, string::find_in_set).unified(),
    f("hex", (1, 1), string::hex_type, string::hex),
    f("insert", (4, 4), string::insert_type, string::insert).with_texts_as_first(&[0, 3]),
    f("instr", (2, 2), int, string::instr).with_texts_as_first(&[0, 1]),
    f("lcase", (1, 1), like_first, string::lower),
    f("left", (2, 2), string::ends_type, string::left),
    f("length", (1, 1), int, string::length),
    f("locate", (2, 3), int, string::locate).with_texts_as_first(&[1, 0]),
    f("lower", (1, 1), like_first, string::lower),
    f("lpad", (3, 3), string::pad_type, string::lpad).with_texts_as_first(&[0, 2]),
    f("ltrim", (1, 1), like_first, string::ltrim),
    f("mid", (2, 3), string::substr_type, string::substr),
    f("oct", (1, 1), text_of_at_most::<65>, numeric::oct),
    f("octet_length", (1, 1), int, string::length),
    f("ord", (1, 1), int, string::ord),
    f("position", (2, 2), int, string::locate).with_texts_as_first(&[1, 0]),
    f("quote", (1, 1), quoted, string::quote),
    f("repeat", (2, 2), string::repeat_type, string::repeat),
    f("replace", (3, 3), string::replace_type, string::replace).with_texts_as_first(&[0, 1, 2]),
    f("reverse", (1, 1), like_first, string::reverse),
    f("right", (2, 2), string::ends_type, string::right),
    f("rpad", (3, 3), string::pad_type, string::rpad).with_texts_as_first(&[0, 2]),
    f("rtrim", (1, 1), like_first, string::rtrim),
    f("space", (1, 1), string::space_type, string::space),
    f("strcmp", (2, 2), int, string::strcmp).unified(),
    f("substr", (2, 3), string::substr_type, string::substr),
    f("substring", (2, 3), string::substr_type, string::substr),
    f("substring_index", (3, 3), string::part_type, string::substring_index).with_texts_as_first(&[0, 1]),
    f("ucase", (1, 1), like_first, string::upper),
    f("unhex", (1, 1), string::unhex_type, string::unhex),
    f("upper", (1, 1), like_first, string::upper),
    // Numbers.
    f("abs", (1, 1), numeric::same_type, numeric::abs),
    f("acos", (1, 1), double, numeric::acos),
    f("asin", (1, 1), double, numeric::asin),
    f("atan", (1, 2), double, numeric::atan),
    f("atan2", (2, 2), double, numeric::atan),
    f("bit_count", (1, 1), int, numeric::bit_count),
    f("ceil", (1, 1), numeric::whole_type, numeric::ceil),
    f("ceiling", (1, 1), numeric::whole_type, numeric::ceil),
    f("conv", (3, 3), text_of_at_most::<65>, numeric::conv),
    f("cos", (1, 1), double, numeric::cos),
    f("cot", (1, 1), double, numeric::cot),
    f("crc32", (1, 1), uint, numeric::crc32),
    f("degrees", (1, 1), double, numeric::degrees),
    f("exp", (1, 1), double, numeric::exp),
    f("floor", (1, 1), numeric::whole_type, numeric::floor),
    f("greatest", (2, MANY), numeric::widest_type, numeric::greatest).unified(),
    f("least", (2, MANY), numeric::widest_type, numeric::least).unified(),
    f("ln", (1, 1), double, numeric::ln),
    f("log", (1, 2), double, numeric::log),
    f("log10", (1, 1), double, numeric::log10),
    f("log2", (1, 1), double, numeric::log2),
    f("pi", (0, 0), numeric::pi_type, numeric::pi),
    f("pow", (2, 2), double, numeric::pow),
    f("power", (2, 2), double, numeric::pow),
    f("radians", (1, 1), double, numeric::radians),
    f("rand", (0, 1), double, numeric::rand).volatile(),
    f("round", (1, 2), numeric::round_type, numeric::round),
    f("sign", (1, 1), int, numeric::sign),
    f("sin", (1, 1), double, numeric::sin),
    f("sqrt", (1, 1), double, numeric::sqrt),
    f("tan", (1, 1), double, numeric::tan),
    f("truncate", (2, 2), numeric::truncate_type, numeric::truncate),
    // Dates and times.
    f("curdate", (0, 0), today, temporal::curdate),
    f("current_date", (0, 0), today, temporal::curdate),
    f("current_time", (0, 1), temporal::time_type, temporal::curtime),
    f("current_timestamp", (0, 1), temporal::now_type, temporal::now),
    f("curtime", (0, 1), temporal::time_type, temporal::curtime),
    f("date", (1, 1), date, temporal::date),
    f("datediff", (2, 2), int, temporal::datediff),
    f("day", (1, 1), int, temporal::day),
    f("dayname", (1, 1), text_of_at_most::<9>, temporal::dayname),
    f("dayofmonth", (1, 1), int, temporal::day),
    f("dayofweek", (1, 1), int, temporal::dayofweek),
    f("dayofyear", (1, 1), int, temporal::dayofyear),
    f("from_days", (1, 1), date, temporal::from_days),
    f("convert_tz", (3, 3), temporal::convert_tz_type, temporal::convert_tz),
    f("from_unixtime", (1, 2), temporal::from_unixtime_type, temporal::from_unixtime),
    f("hour", (1, 1), int, temporal::hour),
    f("last_day", (1, 1), date, temporal::last_day),
    f("localtime", (0, 1), temporal::now_type, temporal::now),
    f("localtimestamp", (0, 1), temporal::now_type, temporal::now),
    f("makedate", (2, 2), date, temporal::makedate),
    f("maketime", (3, 3), temporal::maketime_type, temporal::maketime),
    f("microsecond", (1, 1), int, temporal::microsecond),
    f("minute", (1, 1), int, temporal::minute),
    f("month", (1, 1), int, temporal::month),
    f("monthname", (1, 1), text_of_at_most::<9>, temporal::monthname),
    f("now", (0, 1), temporal::now_type, temporal::now),
    f("quarter", (1, 1), int, temporal::quarter),
    f("sec_to_time", (1, 1), temporal::sec_to_time_type, temporal::sec_to_time),
    f("second", (1, 1), int, temporal::second),
    f("sysdate", (0, 1), temporal::now_type, temporal::sysdate).volatile(),
    f("time", (1, 1), temporal::argument_time_type, temporal::time),
    f("time_to_sec", (1, 1), int, temporal::time_to_sec),
    f("to_days", (1, 1), int, temporal::to_days),
    f("to_seconds", (1, 1), int, temporal::to_seconds),
    f("unix_timestamp", (0, 1), temporal::unix_timestamp_type, temporal::unix_timestamp),
    f("utc_date", (0, 0), today, temporal::utc_date),
    f("utc_time", (0, 1), temporal::time_type, temporal::utc_time),
    f("utc_timestamp", (0, 1), temporal::now_type, temporal::utc_timestamp),
    f("week", (1, 2), int, temporal::week_function),
    f("weekday", (1, 1), int, temporal::weekday),
    f("weekofyear", (1, 1), int, temporal::weekofyear),
    f("year", (1, 1), temporal::year_type, temporal::year),
    f("yearweek", (1, 2), int, temporal::yearweek),
    // The session and the server.
    f("benchmark", (2, 2), int, information::benchmark).volatile(),
    f("charset", (1, 1), name_text, information::charset),
    f("coercibility", (1, 1), int, information::coercibility),
    f("collation", (1, 1), name_text, information::collation),
    f("connection_id", (0, 0), uint, information::connection_id),
    f("current_user", (0, 0), system_text, information::current_user),
    f("database", (0, 0), database_text, information::database),
    f("found_rows", (0, 0), int, information::found_rows).volatile(),
    f("last_insert_id", (0, 1), uint, information::last_insert_id).volatile(),
    f("mysql_query_attribute_string", (1, 1), information::attribute_type, information::query_attribute)
        .volatile(),
    f("ps_current_thread_id", (0, 0), uint, information::connection_id),
    f("ps_thread_id", (1, 1), uint, information::ps_thread_id).volatile(),
    f("row_count", (0, 0), int, information::row_count).volatile(),
    f("schema", (0, 0), database_text, information::database),
    f("session_user", (0, 0), system_text, information::user),
    f("sleep", (1, 1), int, information::sleep).volatile(),
    f("system_user", (0, 0), system_text, information::user),
    f("user", (0, 0), system_text, information::user),
    f("current_role", (0, 0), system_text, information::current_role),
    f("version", (0, 0), information::version_type, information::version),
];

/// `CHAR(..)`, which the grammar knows apart; the resolver gives it its type.
pub(crate) static CHAR: Function = f("char", (1, MANY), connection_text, string::char);

/// WEIGHT_STRING(), which has a syntax of its own: the text, and the characters or bytes that it is
/// brought to.
pub(crate) static WEIGHT_STRING: Function =
    f("weight_string", (1, 2), binary_long_text, string::weight_string);

static BY_NAME: LazyLock<HashMap<&'static str, &'static Function>> =
    LazyLock::new(|| all_functions().map(|f| (f.name, f)).collect());

/// Every function that has a name. Public for a test that calls them all.
pub fn all_functions() -> impl Iterator<Item = &'static Function> {
    FAMILIES.iter().copied().flatten()
}

/// The function of this name, in any case.
pub(crate) fn find(name: &str) -> Option<&'static Function> {
    BY_NAME.get(name.to_ascii_lowercase().as_str()).copied()
}
