//! Views.

use crate::ast::{Account, CheckOption, CreateView, SqlSecurity, StatementKind, ViewAlgorithm};
use crate::keyword::Keyword as K;
use crate::parser::{Parsed, Parser};
use crate::token::Token;

impl Parser<'_> {
    /// `[ALGORITHM = x] [SQL SECURITY y] VIEW [IF NOT EXISTS] name ..`, after CREATE or ALTER and
    /// the definer.
    pub(in crate::parser) fn view(
        &mut self,
        alter: bool,
        or_replace: bool,
        start: ViewStart,
    ) -> Parsed<StatementKind> {
        let ViewStart { algorithm, definer, security } = start;
        self.expect_word(K::VIEW)?;
        let if_not_exists = !alter && !or_replace && self.if_not_exists()?;
        let name = self.object_name()?;
        let columns = self.optional_idents()?;
        self.expect_word(K::AS)?;
        let body_start = self.current.start;
        if !self.at_query_or_paren() {
            return Err(self.unexpected());
        }
        let allowed = std::mem::replace(&mut self.parameters_allowed, false);
        let query = self.query()?;
        self.parameters_allowed = allowed;
        let body = self.span_from(body_start);
        let mut check_option = None;
        if self.take_word(K::WITH) {
            let word = self.take_any(&[K::CASCADED, K::LOCAL]);
            self.expect_words(&[K::CHECK, K::OPTION])?;
            check_option =
                Some(if word == Some(K::LOCAL) { CheckOption::Local } else { CheckOption::Cascaded });
        }
        let view = CreateView {
            alter,
            or_replace,
            if_not_exists,
            algorithm,
            definer,
            security,
            name,
            columns,
            query,
            body,
            check_option,
        };
        Ok(StatementKind::CreateView(Box::new(view)))
    }

    /// `[ALGORITHM = x]`
    pub(in crate::parser) fn view_algorithm(&mut self) -> Parsed<Option<ViewAlgorithm>> {
        if !self.take_word(K::ALGORITHM) {
            return Ok(None);
        }
        self.expect(Token::Equal)?;
        Ok(Some(match self.expect_any(&[K::UNDEFINED, K::MERGE, K::TEMPTABLE])? {
            K::UNDEFINED => ViewAlgorithm::Undefined,
            K::MERGE => ViewAlgorithm::Merge,
            _ => ViewAlgorithm::TempTable,
        }))
    }

    /// `[SQL SECURITY {DEFINER | INVOKER}]`
    pub(in crate::parser) fn sql_security(&mut self) -> Parsed<Option<SqlSecurity>> {
        if !self.take_words(&[K::SQL, K::SECURITY])? {
            return Ok(None);
        }
        Ok(Some(match self.expect_any(&[K::DEFINER, K::INVOKER])? {
            K::DEFINER => SqlSecurity::Definer,
            _ => SqlSecurity::Invoker,
        }))
    }
}

/// What stands before VIEW.
#[derive(Default)]
pub(in crate::parser) struct ViewStart {
    pub(in crate::parser) algorithm: Option<ViewAlgorithm>,
    pub(in crate::parser) definer: Option<Account>,
    pub(in crate::parser) security: Option<SqlSecurity>,
}
