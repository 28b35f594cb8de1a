//! Calls: plain ones, aggregates, and those with a syntax of their own.

use super::expression::{Interval, Level, call};
use super::window::window_function;
use super::{Parsed, Parser};
use crate::ast::{
    Aggregate, AggregateFunction as A, CastType, Expr, ExprKind, FunctionCall, GetFormatOf, Ident, JsonValue,
    MatchMode, Remark, Text, TrimSide, WeightCast,
};
use crate::keyword::Keyword as K;
use crate::sql_mode;
use crate::token::Token;

impl Parser<'_> {
    /// After a name, at `(`: a call without any special syntax.
    pub(super) fn call_tail(&mut self, database: Option<Ident>, name: Ident) -> Parsed<ExprKind> {
        let arguments = self.arguments()?;
        let name = match database {
            None if name.bytes().any(|byte| byte.is_ascii_uppercase()) => {
                Ident::new(name.to_ascii_lowercase())
            }
            _ => name,
        };
        if database.is_none() && *name == *"found_rows" {
            self.remark(Remark::FoundRows);
        }
        if database.is_none() && *name == *"master_pos_wait" {
            self.remark(Remark::Instead("MASTER_POS_WAIT", "SOURCE_POS_WAIT"));
        }
        Ok(ExprKind::Function(Box::new(FunctionCall { database, name, arguments })))
    }

    /// `()`, `(a, b)`
    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.in_parens(|parser| match parser.current.token {
            Token::RightParen => Ok(Vec::new()),
            _ => parser.exprs(),
        })
    }

    /// The call at a keyword, if the grammar knows one there; nothing is taken otherwise.
    pub(super) fn special_call(&mut self, word: K) -> Parsed<Option<ExprKind>> {
        if let Some(kind) = self.current_time_or_user(word)? {
            return Ok(Some(kind));
        }
        let next = self.peek();
        if next.token != Token::LeftParen {
            return Ok(None);
        }
        let adjacent = next.start == self.current.end || self.has_mode(sql_mode::IGNORE_SPACE);
        if word.is_native_function() && !adjacent && word != K::ANY_VALUE {
            return Ok(None);
        }
        if let Some(function) = aggregate_function(word) {
            return self.aggregate(function).map(Some);
        }
        if let Some(function) = window_function(word) {
            return self.window_call(function).map(Some);
        }
        self.keyword_call(word)
    }

    /// Calls that are written as in the standard, with or without parentheses.
    fn current_time_or_user(&mut self, word: K) -> Parsed<Option<ExprKind>> {
        let name = match word {
            K::CURRENT_TIMESTAMP | K::LOCALTIME | K::LOCALTIMESTAMP => "now",
            K::CURRENT_DATE => "curdate",
            K::CURRENT_TIME => "curtime",
            K::UTC_DATE => "utc_date",
            K::UTC_TIME => "utc_time",
            K::UTC_TIMESTAMP => "utc_timestamp",
            K::CURRENT_USER => "current_user",
            _ => return Ok(None),
        };
        self.advance();
        let arguments = match self.current.token {
            Token::LeftParen => self.in_parens(|parser| match word {
                K::CURRENT_DATE | K::UTC_DATE | K::CURRENT_USER => Ok(Vec::new()),
                _ => parser.time_precision(),
            })?,
            _ => Vec::new(),
        };
        Ok(Some(call(name, arguments)))
    }

    /// The digits of a second that NOW() and its like are asked for: an integer of 31 bits, and no
    /// other expression.
    fn time_precision(&mut self) -> Parsed<Vec<Expr>> {
        if self.current.token == Token::RightParen {
            return Ok(Vec::new());
        }
        let text = std::str::from_utf8(self.bytes(self.current)).unwrap_or_default();
        if self.current.token != Token::Integer || text.parse::<i32>().is_err() {
            return Err(self.unexpected());
        }
        Ok(vec![self.primary()?])
    }

    /// At a keyword with a parenthesis after it.
    fn keyword_call(&mut self, word: K) -> Parsed<Option<ExprKind>> {
        let content: fn(&mut Self) -> Parsed<ExprKind> = match word {
            K::CAST => Self::cast,
            K::CONVERT => Self::convert,
            K::TRIM => Self::trim,
            K::SUBSTRING | K::SUBSTR | K::MID => Self::substring,
            K::EXTRACT => |parser| {
                let unit = parser.interval_unit()?;
                parser.expect_word(K::FROM)?;
                Ok(ExprKind::Extract { unit, operand: Box::new(parser.expr()?) })
            },
            K::POSITION => |parser| {
                let needle = parser.climb(Level::BitOr)?;
                parser.expect_word(K::IN)?;
                Ok(call("locate", vec![needle, parser.expr()?]))
            },
            K::DATE_ADD => |parser| parser.date_arithmetic(false, false),
            K::ADDDATE => |parser| parser.date_arithmetic(false, true),
            K::DATE_SUB => |parser| parser.date_arithmetic(true, false),
            K::SUBDATE => |parser| parser.date_arithmetic(true, true),
            K::TIMESTAMPADD => Self::timestamp_add,
            K::TIMESTAMPDIFF => Self::timestamp_diff,
            K::GET_FORMAT => Self::get_format,
            K::CHAR => Self::char_call,
            K::WEIGHT_STRING => Self::weight_string,
            K::JSON_VALUE => Self::json_value,
            K::NOW => |parser| Ok(call("now", parser.time_precision()?)),
            K::CURTIME => |parser| Ok(call("curtime", parser.time_precision()?)),
            K::SYSDATE => |parser| Ok(call("sysdate", parser.time_precision()?)),
            K::CURDATE => |_| Ok(call("curdate", Vec::new())),
            K::VALUES => |parser| Ok(ExprKind::Values(Box::new(parser.column_name()?))),
            K::ROW => Self::row,
            K::MATCH => return self.match_against().map(Some),
            // Reserved words, or words of the grammar, that are functions too.
            K::IF | K::LEFT | K::RIGHT | K::REPEAT | K::REPLACE | K::INSERT | K::MOD | K::GROUPING => {
                return self.plain_call(word).map(Some);
            }
            K::DATABASE | K::SCHEMA => {
                self.advance();
                return Ok(Some(call("database", self.arguments()?)));
            }
            _ => return Ok(None),
        };
        self.advance();
        self.in_parens(content).map(Some)
    }

    fn plain_call(&mut self, word: K) -> Parsed<ExprKind> {
        self.advance();
        let arguments = self.arguments()?;
        Ok(call(&word.text().to_ascii_lowercase(), arguments))
    }

    fn comma_expr(&mut self) -> Parsed<Expr> {
        self.expect(Token::Comma)?;
        self.expr()
    }

    /// `CAST(operand [AT TIME ZONE 'zone'] AS type [ARRAY])`
    fn cast(&mut self) -> Parsed<ExprKind> {
        let operand = Box::new(self.expr()?);
        let mut time_zone = None;
        if self.take_words(&[K::AT, K::TIME, K::ZONE])? {
            self.take_word(K::INTERVAL);
            time_zone = Some(self.text()?);
        }
        self.expect_word(K::AS)?;
        let ty = self.cast_type()?;
        let array = self.take_word(K::ARRAY);
        Ok(ExprKind::Cast { operand, ty: Box::new(CastType { ty, array, time_zone, prefix: false }) })
    }

    /// `CONVERT(operand, type)`, `CONVERT(operand USING charset)`
    fn convert(&mut self) -> Parsed<ExprKind> {
        let operand = Box::new(self.expr()?);
        if self.take_word(K::USING) {
            let charset = self.charset_name()?;
            return Ok(ExprKind::ConvertUsing { operand, charset });
        }
        self.expect(Token::Comma)?;
        let ty = self.cast_type()?;
        Ok(ExprKind::Cast {
            operand,
            ty: Box::new(CastType { ty, array: false, time_zone: None, prefix: false }),
        })
    }

    /// `TRIM([side] [remove] FROM operand)`, `TRIM(operand)`
    fn trim(&mut self) -> Parsed<ExprKind> {
        let side = match self.take_any(&[K::LEADING, K::TRAILING, K::BOTH]) {
            Some(K::LEADING) => Some(TrimSide::Leading),
            Some(K::TRAILING) => Some(TrimSide::Trailing),
            Some(_) => Some(TrimSide::Both),
            None => None,
        };
        let mut remove = None;
        if side.is_none() || !self.is(K::FROM) {
            remove = Some(Box::new(self.expr()?));
        }
        if side.is_some() || self.is(K::FROM) {
            self.expect_word(K::FROM)?;
            let operand = Box::new(self.expr()?);
            return Ok(ExprKind::Trim { side: side.unwrap_or(TrimSide::Both), remove, operand });
        }
        let operand = remove.ok_or_else(|| self.unexpected())?;
        Ok(ExprKind::Trim { side: TrimSide::Both, remove: None, operand })
    }

    /// `SUBSTRING(text FROM start [FOR length])`, `SUBSTRING(text, start [, length])`
    fn substring(&mut self) -> Parsed<ExprKind> {
        let mut arguments = vec![self.expr()?];
        if self.take_word(K::FROM) {
            arguments.push(self.expr()?);
            if self.take_word(K::FOR) {
                arguments.push(self.expr()?);
            }
        } else {
            while self.current.token == Token::Comma {
                arguments.push(self.comma_expr()?);
            }
        }
        Ok(call("substr", arguments))
    }

    /// `(date, INTERVAL amount unit)`; ADDDATE and SUBDATE also take days: `(date, 5)`.
    fn date_arithmetic(&mut self, subtract: bool, plain_days: bool) -> Parsed<ExprKind> {
        let date = Box::new(self.expr()?);
        self.expect(Token::Comma)?;
        let start = self.current.start;
        let (amount, unit) = if self.is(K::INTERVAL) {
            match self.interval()? {
                Interval::Amount(amount, unit) => (amount, unit),
                Interval::Function(function) if plain_days => {
                    let amount = self.climb_on(function, start, Level::Or)?;
                    (Box::new(amount), crate::ast::IntervalUnit::Day)
                }
                Interval::Function(_) => return Err(self.unexpected()),
            }
        } else if plain_days {
            (Box::new(self.expr()?), crate::ast::IntervalUnit::Day)
        } else {
            return Err(self.unexpected());
        };
        Ok(ExprKind::DateArithmetic { date, amount, unit, subtract })
    }

    fn timestamp_add(&mut self) -> Parsed<ExprKind> {
        let unit = self.interval_unit()?;
        let amount = Box::new(self.comma_expr()?);
        let date = Box::new(self.comma_expr()?);
        Ok(ExprKind::DateArithmetic { date, amount, unit, subtract: false })
    }

    fn timestamp_diff(&mut self) -> Parsed<ExprKind> {
        let unit = self.interval_unit()?;
        let from = Box::new(self.comma_expr()?);
        let to = Box::new(self.comma_expr()?);
        Ok(ExprKind::TimestampDiff { unit, from, to })
    }

    fn get_format(&mut self) -> Parsed<ExprKind> {
        let of = match self.expect_any(&[K::DATE, K::TIME, K::DATETIME, K::TIMESTAMP])? {
            K::DATE => GetFormatOf::Date,
            K::TIME => GetFormatOf::Time,
            _ => GetFormatOf::Datetime,
        };
        Ok(ExprKind::GetFormat { of, region: Box::new(self.comma_expr()?) })
    }

    fn char_call(&mut self) -> Parsed<ExprKind> {
        let codes = self.exprs()?;
        let charset = match self.take_word(K::USING) {
            true => Some(self.charset_name()?),
            false => None,
        };
        Ok(ExprKind::Char { codes, charset })
    }

    fn weight_string(&mut self) -> Parsed<ExprKind> {
        let operand = Box::new(self.expr()?);
        let mut cast = None;
        if self.take_word(K::AS) {
            let word = self.expect_any(&[K::CHAR, K::BINARY])?;
            let length = self.in_parens(Self::integer)?;
            cast = Some(if word == K::CHAR { WeightCast::Char(length) } else { WeightCast::Binary(length) });
        }
        Ok(ExprKind::WeightString { operand, cast })
    }

    fn json_value(&mut self) -> Parsed<ExprKind> {
        let document = self.expr()?;
        let path = self.comma_expr()?;
        let returning = match self.take_word(K::RETURNING) {
            true => Some(self.cast_type()?),
            false => None,
        };
        let (on_empty, on_error) = self.json_on()?;
        Ok(ExprKind::JsonValue(Box::new(JsonValue { document, path, returning, on_empty, on_error })))
    }

    fn row(&mut self) -> Parsed<ExprKind> {
        let mut list = vec![self.expr()?, self.comma_expr()?];
        while self.current.token == Token::Comma {
            list.push(self.comma_expr()?);
        }
        Ok(ExprKind::Row(list))
    }

    /// `MATCH (a, b) AGAINST (text [mode])`
    fn match_against(&mut self) -> Parsed<ExprKind> {
        self.advance();
        let columns = self.paren_list(Self::column_name)?;
        self.expect_word(K::AGAINST)?;
        self.expect(Token::LeftParen)?;
        let against = Box::new(self.climb(Level::BitOr)?);
        let mut mode = MatchMode::NaturalLanguage;
        if self.take_word(K::IN) {
            mode = match self.expect_any(&[K::BOOLEAN, K::NATURAL])? {
                K::BOOLEAN => MatchMode::Boolean,
                _ => {
                    self.expect_word(K::LANGUAGE)?;
                    MatchMode::NaturalLanguage
                }
            };
            self.expect_word(K::MODE)?;
        }
        if mode == MatchMode::NaturalLanguage && self.take_words(&[K::WITH, K::QUERY, K::EXPANSION])? {
            mode = MatchMode::QueryExpansion;
        }
        self.expect(Token::RightParen)?;
        Ok(ExprKind::Match { columns, against, mode })
    }

    /// At an aggregate's name.
    fn aggregate(&mut self, function: A) -> Parsed<ExprKind> {
        self.advance();
        let mut aggregate = self.in_parens(|parser| parser.aggregate_arguments(function))?;
        if self.is(K::OVER) && function != A::AnyValue {
            aggregate.over = Some(Box::new(self.over()?));
        }
        Ok(ExprKind::Aggregate(Box::new(aggregate)))
    }

    fn aggregate_arguments(&mut self, function: A) -> Parsed<Aggregate> {
        let mut aggregate = Aggregate {
            function,
            distinct: false,
            arguments: Vec::new(),
            order_by: Vec::new(),
            separator: None,
            over: None,
        };
        if function == A::Count && self.take(Token::Star) {
            return Ok(aggregate);
        }
        aggregate.distinct = !matches!(function, A::JsonArrayAgg | A::JsonObjectAgg | A::AnyValue)
            && self.take_any(&[K::DISTINCT, K::ALL]) == Some(K::DISTINCT);
        aggregate.arguments = match function {
            A::GroupConcat => self.exprs()?,
            A::Count if aggregate.distinct => self.exprs()?,
            A::JsonObjectAgg => vec![self.expr()?, self.comma_expr()?],
            _ => vec![self.expr()?],
        };
        if function == A::GroupConcat {
            aggregate.order_by = self.order_by()?;
            if self.take_word(K::SEPARATOR) {
                aggregate.separator = Some(self.text()?);
            }
        }
        Ok(aggregate)
    }

    /// A list of strings in parentheses.
    pub(super) fn paren_texts(&mut self) -> Parsed<Vec<Text>> {
        self.paren_list(Self::text)
    }
}

fn aggregate_function(word: K) -> Option<A> {
    Some(match word {
        K::COUNT => A::Count,
        K::SUM => A::Sum,
        K::AVG => A::Avg,
        K::MIN => A::Min,
        K::MAX => A::Max,
        K::GROUP_CONCAT => A::GroupConcat,
        K::BIT_AND => A::BitAnd,
        K::BIT_OR => A::BitOr,
        K::BIT_XOR => A::BitXor,
        K::STD | K::STDDEV | K::STDDEV_POP => A::StddevPop,
        K::STDDEV_SAMP => A::StddevSamp,
        K::VARIANCE | K::VAR_POP => A::VarPop,
        K::VAR_SAMP => A::VarSamp,
        K::JSON_ARRAYAGG => A::JsonArrayAgg,
        K::JSON_OBJECTAGG => A::JsonObjectAgg,
        K::ANY_VALUE => A::AnyValue,
        K::ST_COLLECT => A::StCollect,
        _ => return None,
    })
}

/// True if `name(..)` with so many arguments, written without quotes, is a plain call of that name.
pub(crate) fn is_plain_call(name: &str, arguments: usize) -> bool {
    match K::lookup(name.as_bytes()) {
        K::OTHER => true,
        K::IF
        | K::LEFT
        | K::RIGHT
        | K::REPEAT
        | K::REPLACE
        | K::INSERT
        | K::MOD
        | K::GROUPING
        | K::DATABASE => true,
        K::UTC_DATE | K::UTC_TIME | K::UTC_TIMESTAMP | K::CURRENT_USER => true,
        K::INTERVAL => arguments > 1,
        // Those with a syntax of their own.
        K::CAST | K::TRIM | K::SUBSTRING | K::MID | K::EXTRACT | K::POSITION | K::DATE_ADD | K::ADDDATE => {
            false
        }
        K::DATE_SUB | K::SUBDATE | K::TIMESTAMPADD | K::TIMESTAMPDIFF | K::GET_FORMAT => false,
        K::WEIGHT_STRING | K::JSON_VALUE => false,
        K::SUBSTR => arguments > 0,
        word => !word.is_reserved() && aggregate_function(word).is_none() && window_function(word).is_none(),
    }
}
