//! Operators, by precedence climbing.
//!
//! From loose to tight, as MySQL's grammar has them:
//!
//! | level | operators | |
//! | --- | --- | --- |
//! | OR | `OR`, `||` | chains are flat |
//! | XOR | `XOR` | |
//! | AND | `AND`, `&&` | chains are flat |
//! | NOT | `NOT` | prefix |
//! | COMPARISON | `=` `<=>` `<>` `<` `<=` `>` `>=`, `IS` | from the left: `a = b = c` is `(a = b) = c` |
//! | PREDICATE | `IN`, `BETWEEN`, `LIKE`, `REGEXP`, `SOUNDS LIKE`, `MEMBER OF` | don't chain |
//! | BIT_OR .. | `|`, `&`, `<<` `>>`, `+` `-`, `*` `/` `%` `DIV` `MOD`, `^` | from the left, each its own level |
//! | CONCAT | `||` under PIPES_AS_CONCAT | |
//! | | `-` `+` `~` `!` `BINARY` | prefix |
//! | | `COLLATE` | postfix |
//!
//! So `2*3^1` is `2*(3^1)`, `-2^2` is `(-2)^2`, `BINARY a = b` is `(BINARY a) = b`, and the right
//! side of `a = b IN (c)` is `b IN (c)`. HIGH_NOT_PRECEDENCE makes NOT what `!` is.

use super::{Parsed, Parser};
use crate::ast::{
    BinaryOp, CastType, DataType, Expr, ExprKind, FunctionCall, IntervalUnit, OrderItem, Truth, UnaryOp,
};
use crate::keyword::Keyword as K;
use crate::sql_mode;
use crate::token::Token;
use stdx::memory::Unfinished;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Or,
    Xor,
    And,
    Not,
    Comparison,
    Predicate,
    BitOr,
    BitAnd,
    Shift,
    Add,
    Multiply,
    Power,
    Concat,
    Operand,
}

impl Level {
    /// The next tighter one, which the right operand of a left-associative operator has.
    fn tighter(self) -> Level {
        use Level::*;
        match self {
            Or => Xor,
            Xor => And,
            And => Not,
            Not => Comparison,
            Comparison => Predicate,
            Predicate => BitOr,
            BitOr => BitAnd,
            BitAnd => Shift,
            Shift => Add,
            Add => Multiply,
            Multiply => Power,
            Power => Concat,
            Concat | Operand => Operand,
        }
    }
}

/// What stands between two operands.
#[derive(Clone, Copy)]
enum Infix {
    Binary(BinaryOp),
    Or,
    And,
    Concat,
    Is,
    /// `IN`, `BETWEEN`, ..: taken apart by its word.
    Predicate,
}

impl Parser<'_> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Parsed<Expr> {
        self.climb(Level::Or)
    }

    /// `expr, expr, ..`
    pub(super) fn exprs(&mut self) -> Parsed<Vec<Expr>> {
        self.list(Self::expr)
    }

    /// `expr [ASC | DESC], ..`
    pub(super) fn order_items(&mut self) -> Parsed<Vec<OrderItem>> {
        self.list(|parser| {
            let expr = parser.expr()?;
            let descending = parser.direction();
            Ok(OrderItem { expr, descending })
        })
    }

    /// `[ASC | DESC]`: true if descending.
    pub(super) fn direction(&mut self) -> bool {
        self.take_any(&[K::ASC, K::DESC]) == Some(K::DESC)
    }

    /// An expression whose operators are all of `level` or tighter.
    pub(super) fn climb(&mut self, level: Level) -> Parsed<Expr> {
        let start = self.current.start;
        self.nested(|parser| {
            let outer = std::mem::take(&mut parser.height);
            let left = if parser.is(K::NOT)
                && level <= Level::Not
                && !parser.has_mode(sql_mode::HIGH_NOT_PRECEDENCE)
            {
                parser.advance();
                let operand = Box::new(parser.climb(Level::Not)?);
                parser.make(start, ExprKind::Unary { op: UnaryOp::Not, operand })
            } else {
                parser.prefix()?
            };
            let expr = parser.climb_on(left, start, level)?;
            parser.grow()?;
            parser.height = parser.height.max(outer);
            Ok(expr)
        })
    }

    /// Goes on after a left operand that began at `start`.
    pub(super) fn climb_on(&mut self, mut left: Expr, start: u32, loosest: Level) -> Parsed<Expr> {
        // Operators that bind tighter than what `left` already is can't follow: `a LIKE b LIKE c`.
        let mut tightest = Level::Operand;
        while let Some((infix, level)) = self.infix() {
            if level < loosest || level > tightest {
                break;
            }
            let kind = self.infix_tail(infix, level, left)?;
            self.grow()?;
            tightest = match &kind {
                // `IS TRUE` gives what only AND, OR and their like take: `a IS TRUE IS TRUE` is no
                // expression.
                ExprKind::Is { test: Truth::True | Truth::False | Truth::Unknown, .. } => Level::Not,
                _ if level == Level::Predicate => Level::Comparison,
                _ => level,
            };
            left = self.make(start, kind);
        }
        Ok(left)
    }

    pub(super) fn make(&self, start: u32, kind: ExprKind) -> Expr {
        Expr { span: self.span_from(start), kind }
    }

    fn infix(&self) -> Option<(Infix, Level)> {
        use BinaryOp as B;
        let binary = |op, level| Some((Infix::Binary(op), level));
        match self.current.token {
            Token::Equal => binary(B::Equal, Level::Comparison),
            Token::NullSafeEqual => binary(B::NullSafeEqual, Level::Comparison),
            Token::NotEqual => binary(B::NotEqual, Level::Comparison),
            Token::Less => binary(B::Less, Level::Comparison),
            Token::LessOrEqual => binary(B::LessOrEqual, Level::Comparison),
            Token::Greater => binary(B::Greater, Level::Comparison),
            Token::GreaterOrEqual => binary(B::GreaterOrEqual, Level::Comparison),
            Token::Pipe => binary(B::BitOr, Level::BitOr),
            Token::Ampersand => binary(B::BitAnd, Level::BitAnd),
            Token::ShiftLeft => binary(B::ShiftLeft, Level::Shift),
            Token::ShiftRight => binary(B::ShiftRight, Level::Shift),
            Token::Plus => binary(B::Add, Level::Add),
            Token::Minus => binary(B::Subtract, Level::Add),
            Token::Star => binary(B::Multiply, Level::Multiply),
            Token::Slash => binary(B::Divide, Level::Multiply),
            Token::Percent => binary(B::Modulo, Level::Multiply),
            Token::Caret => binary(B::BitXor, Level::Power),
            Token::AndAnd => Some((Infix::And, Level::And)),
            Token::OrOr if self.has_mode(sql_mode::PIPES_AS_CONCAT) => Some((Infix::Concat, Level::Concat)),
            Token::OrOr => Some((Infix::Or, Level::Or)),
            Token::Word(word) => match word {
                K::OTHER => None,
                K::AND => Some((Infix::And, Level::And)),
                K::OR => Some((Infix::Or, Level::Or)),
                K::XOR => binary(B::Xor, Level::Xor),
                K::DIV => binary(B::IntDivide, Level::Multiply),
                K::MOD => binary(B::Modulo, Level::Multiply),
                K::IS => Some((Infix::Is, Level::Comparison)),
                K::IN | K::BETWEEN | K::LIKE | K::REGEXP | K::RLIKE | K::NOT => {
                    Some((Infix::Predicate, Level::Predicate))
                }
                K::SOUNDS if self.peek_is(K::LIKE) => Some((Infix::Predicate, Level::Predicate)),
                K::MEMBER if matches!(self.peek().token, Token::Word(K::OF) | Token::LeftParen) => {
                    Some((Infix::Predicate, Level::Predicate))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// At the operator.
    fn infix_tail(&mut self, infix: Infix, level: Level, left: Expr) -> Parsed<ExprKind> {
        match infix {
            Infix::Binary(op) => {
                self.advance();
                self.binary_tail(op, level, left)
            }
            Infix::And => {
                Ok(ExprKind::And(self.chain(left, Level::And, &[Token::AndAnd, Token::Word(K::AND)])?))
            }
            Infix::Or => {
                let concat = self.has_mode(sql_mode::PIPES_AS_CONCAT);
                let tokens = &[Token::Word(K::OR), Token::OrOr][..if concat { 1 } else { 2 }];
                Ok(ExprKind::Or(self.chain(left, Level::Or, tokens)?))
            }
            Infix::Concat => {
                self.advance();
                let right = self.climb(Level::Operand)?;
                Ok(call("concat", vec![left, right]))
            }
            Infix::Is => {
                self.advance();
                let negated = self.take_word(K::NOT);
                let test = match self.expect_any(&[K::NULL, K::TRUE, K::FALSE, K::UNKNOWN])? {
                    K::NULL => Truth::Null,
                    K::TRUE => Truth::True,
                    K::FALSE => Truth::False,
                    _ => Truth::Unknown,
                };
                Ok(ExprKind::Is { operand: Box::new(left), test, negated })
            }
            Infix::Predicate => self.predicate_tail(left),
        }
    }

    /// `left AND b AND c`, at the first operator.
    fn chain(&mut self, left: Expr, level: Level, operators: &[Token]) -> Parsed<Vec<Expr>> {
        let mut operands = Unfinished::new(Vec::with_capacity(2));
        operands.push(left);
        while operators.contains(&self.current.token) {
            self.remark_sign(self.current.token);
            self.advance();
            operands.push(self.climb(level.tighter())?);
        }
        Ok(operands.finish())
    }

    /// After the operator.
    fn binary_tail(&mut self, op: BinaryOp, level: Level, left: Expr) -> Parsed<ExprKind> {
        if op.is_comparison()
            && self.is_any(&[K::ALL, K::ANY, K::SOME])
            && self.peek().token == Token::LeftParen
        {
            let all = self.is(K::ALL);
            self.advance();
            let query = Box::new(self.paren_query()?);
            return Ok(ExprKind::Quantified { op, operand: Box::new(left), all, query });
        }
        if level == Level::Add && self.is(K::INTERVAL) {
            let start = self.current.start;
            return match self.interval()? {
                Interval::Amount(amount, unit) => Ok(ExprKind::DateArithmetic {
                    date: Box::new(left),
                    amount,
                    unit,
                    subtract: op == BinaryOp::Subtract,
                }),
                Interval::Function(function) => {
                    let right = Box::new(self.climb_on(function, start, level.tighter())?);
                    Ok(ExprKind::Binary { op, left: Box::new(left), right })
                }
            };
        }
        let right = Box::new(self.climb(level.tighter())?);
        Ok(ExprKind::Binary { op, left: Box::new(left), right })
    }

    /// `[NOT] IN ..`, at its first word.
    fn predicate_tail(&mut self, left: Expr) -> Parsed<ExprKind> {
        let operand = Box::new(left);
        let negated = self.take_word(K::NOT);
        let word = self.word();
        let predicates: &[K] = if negated {
            &[K::IN, K::BETWEEN, K::LIKE, K::REGEXP, K::RLIKE]
        } else {
            &[K::IN, K::BETWEEN, K::LIKE, K::REGEXP, K::RLIKE, K::SOUNDS, K::MEMBER]
        };
        self.expect_any(predicates)?;
        match word {
            K::IN => self.in_tail(operand, negated),
            K::BETWEEN => {
                let low = Box::new(self.climb(Level::BitOr)?);
                self.expect_word(K::AND)?;
                let high = Box::new(self.climb(Level::Predicate)?);
                Ok(ExprKind::Between { operand, low, high, negated })
            }
            K::LIKE => {
                let pattern = Box::new(self.climb(Level::Concat)?);
                let escape = match self.take_word(K::ESCAPE) {
                    true => Some(Box::new(self.climb(Level::Concat)?)),
                    false => None,
                };
                Ok(ExprKind::Like { operand, pattern, escape, negated })
            }
            K::REGEXP | K::RLIKE => {
                let pattern = Box::new(self.climb(Level::BitOr)?);
                Ok(ExprKind::Regexp { operand, pattern, negated })
            }
            K::SOUNDS => {
                self.expect_word(K::LIKE)?;
                let right = Box::new(self.climb(Level::BitOr)?);
                Ok(ExprKind::Binary { op: BinaryOp::SoundsLike, left: operand, right })
            }
            _ => {
                self.take_word(K::OF);
                let right = Box::new(self.in_parens(Self::expr)?);
                Ok(ExprKind::Binary { op: BinaryOp::MemberOf, left: operand, right })
            }
        }
    }

    /// After `IN`: a list, or a query in any number of parentheses.
    fn in_tail(&mut self, operand: Box<Expr>, negated: bool) -> Parsed<ExprKind> {
        let mut list = self.parenthesized()?;
        match list.pop() {
            Some(Expr { kind: ExprKind::Subquery(query), .. }) if list.is_empty() => {
                Ok(ExprKind::InQuery { operand, query, negated })
            }
            last => {
                list.extend(last);
                Ok(ExprKind::InList { operand, list, negated })
            }
        }
    }

    /// Operators in front of an operand, and COLLATE after it.
    fn prefix(&mut self) -> Parsed<Expr> {
        let start = self.current.start;
        let op = match self.current.token {
            Token::Minus => Some(UnaryOp::Minus),
            Token::Plus => None,
            Token::Tilde => Some(UnaryOp::BitNot),
            Token::Bang => Some(UnaryOp::Not),
            Token::Word(K::NOT) if self.has_mode(sql_mode::HIGH_NOT_PRECEDENCE) => Some(UnaryOp::Not),
            Token::Word(K::BINARY) => return self.binary_prefix(),
            _ => {
                let operand = self.primary()?;
                return self.collate_tail(operand, start);
            }
        };
        self.remark_sign(self.current.token);
        self.advance();
        let operand = self.climb(Level::Operand)?;
        Ok(match op {
            Some(op) => self.make(start, ExprKind::Unary { op, operand: Box::new(operand) }),
            None => Expr { span: self.span_from(start), ..operand },
        })
    }

    fn collate_tail(&mut self, mut operand: Expr, start: u32) -> Parsed<Expr> {
        while self.take_word(K::COLLATE) {
            let collation = self.ident_or_binary()?;
            self.grow()?;
            operand = self.make(start, ExprKind::Collate { operand: Box::new(operand), collation });
        }
        Ok(operand)
    }

    /// `BINARY operand`
    fn binary_prefix(&mut self) -> Parsed<Expr> {
        let start = self.current.start;
        self.remark_sign(self.current.token);
        self.advance();
        let operand = Box::new(self.climb(Level::Operand)?);
        let ty = DataType::Binary { length: None };
        let ty = Box::new(CastType { ty, array: false, time_zone: None, prefix: true });
        Ok(self.make(start, ExprKind::Cast { operand, ty }))
    }

    /// At `INTERVAL`, which is an amount of time or the function of that name: what follows the
    /// first operand says.
    pub(super) fn interval(&mut self) -> Parsed<Interval> {
        let start = self.current.start;
        self.advance();
        let amount_start = self.current.start;
        let amount = if self.current.token == Token::LeftParen {
            let list = self.parenthesized()?;
            match one(list) {
                Ok(amount) => self.climb_on(amount, amount_start, Level::Or)?,
                Err(list) => return Ok(Interval::Function(self.make(start, call("interval", list)))),
            }
        } else {
            self.expr()?
        };
        let unit = self.interval_unit()?;
        Ok(Interval::Amount(Box::new(amount), unit))
    }

    pub(super) fn interval_unit(&mut self) -> Parsed<IntervalUnit> {
        use IntervalUnit::*;
        let unit = match self.word() {
            K::MICROSECOND => Microsecond,
            K::SECOND | K::SQL_TSI_SECOND => Second,
            K::MINUTE | K::SQL_TSI_MINUTE => Minute,
            K::HOUR | K::SQL_TSI_HOUR => Hour,
            K::DAY | K::SQL_TSI_DAY => Day,
            K::WEEK | K::SQL_TSI_WEEK => Week,
            K::MONTH | K::SQL_TSI_MONTH => Month,
            K::QUARTER | K::SQL_TSI_QUARTER => Quarter,
            K::YEAR | K::SQL_TSI_YEAR => Year,
            K::SECOND_MICROSECOND => SecondMicrosecond,
            K::MINUTE_MICROSECOND => MinuteMicrosecond,
            K::MINUTE_SECOND => MinuteSecond,
            K::HOUR_MICROSECOND => HourMicrosecond,
            K::HOUR_SECOND => HourSecond,
            K::HOUR_MINUTE => HourMinute,
            K::DAY_MICROSECOND => DayMicrosecond,
            K::DAY_SECOND => DaySecond,
            K::DAY_MINUTE => DayMinute,
            K::DAY_HOUR => DayHour,
            K::YEAR_MONTH => YearMonth,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(unit)
    }
}

pub(super) enum Interval {
    Amount(Box<Expr>, IntervalUnit),
    Function(Expr),
}

/// A call of a built-in function.
pub(super) fn call(name: &str, arguments: Vec<Expr>) -> ExprKind {
    ExprKind::Function(Box::new(FunctionCall { database: None, name: name.into(), arguments }))
}

/// The only element, or all of them back.
pub(super) fn one(mut list: Vec<Expr>) -> Result<Expr, Vec<Expr>> {
    match list.pop() {
        Some(only) if list.is_empty() => Ok(only),
        last => {
            list.extend(last);
            Err(list)
        }
    }
}
