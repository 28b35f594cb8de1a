//! SIGNAL, RESIGNAL and GET DIAGNOSTICS.

use crate::ast::{ConditionValue, Expr, ExprKind, GetDiagnostics, Ident, Signal, StatementKind};
use crate::keyword::Keyword as K;
use crate::parser::{Parsed, Parser};
use crate::token::Token;

impl Parser<'_> {
    /// SIGNAL and RESIGNAL.
    pub(in crate::parser) fn signal(&mut self) -> Parsed<StatementKind> {
        let resignal = self.is(K::RESIGNAL);
        self.advance();
        let condition = match self.word() {
            K::SQLSTATE => Some(self.sqlstate()?),
            K::SET if resignal => None,
            _ if self.at_ident() => Some(ConditionValue::Named(self.ident()?)),
            _ if resignal => None,
            _ => return Err(self.unexpected()),
        };
        let mut items = Vec::new();
        if self.take_word(K::SET) {
            items = self.list(|parser| {
                let name = parser.signal_item(K::MESSAGE_TEXT)?;
                parser.expect(Token::Equal)?;
                Ok((name, parser.primary()?))
            })?;
            let mut named: Vec<&str> = items.iter().map(|(name, _)| name.as_str()).collect();
            named.sort_unstable();
            if let Some(twice) = named.windows(2).find(|pair| pair[0] == pair[1]) {
                let message = format!("Duplicate condition information item '{}'", twice[0]);
                return Err(self.error(1641, b"42000", message));
            }
        }
        Ok(StatementKind::Signal(Box::new(Signal { resignal, condition, items })))
    }

    /// A condition's item; `extra` is one more than SIGNAL and GET DIAGNOSTICS share.
    fn signal_item(&mut self, extra: K) -> Parsed<Ident> {
        let word = self.expect_any(&[
            K::CLASS_ORIGIN,
            K::SUBCLASS_ORIGIN,
            K::CONSTRAINT_CATALOG,
            K::CONSTRAINT_SCHEMA,
            K::CONSTRAINT_NAME,
            K::CATALOG_NAME,
            K::SCHEMA_NAME,
            K::TABLE_NAME,
            K::COLUMN_NAME,
            K::CURSOR_NAME,
            K::MESSAGE_TEXT,
            K::MYSQL_ERRNO,
            extra,
        ])?;
        Ok(word.text().into())
    }

    /// `GET [CURRENT | STACKED] DIAGNOSTICS ..`
    pub(in crate::parser) fn get_diagnostics(&mut self) -> Parsed<StatementKind> {
        self.advance();
        let stacked = self.take_any(&[K::CURRENT, K::STACKED]) == Some(K::STACKED);
        self.expect_word(K::DIAGNOSTICS)?;
        let condition = if self.take_word(K::CONDITION) { Some(self.primary()?) } else { None };
        let of_condition = condition.is_some();
        let items = self.list(|parser| {
            let target = parser.diagnostics_target()?;
            parser.expect(Token::Equal)?;
            let item = match of_condition {
                true => parser.signal_item(K::RETURNED_SQLSTATE)?,
                false => parser.expect_any(&[K::NUMBER, K::ROW_COUNT])?.text().into(),
            };
            Ok((target, item))
        })?;
        Ok(StatementKind::GetDiagnostics(Box::new(GetDiagnostics { stacked, condition, items })))
    }

    fn diagnostics_target(&mut self) -> Parsed<Expr> {
        let start = self.current.start;
        let kind = match self.current.token {
            Token::UserVariable => ExprKind::UserVariable(self.user_variable()?),
            _ => ExprKind::Column(self.ident()?.into()),
        };
        Ok(self.make(start, kind))
    }
}
