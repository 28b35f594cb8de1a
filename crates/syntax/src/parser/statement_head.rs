//! What a definition is about whose text can't be read to its end: it nests too deep, or another
//! version wrote it.
//!
//! A start that can't follow such a statement of the log sets its objects aside. So a name is found
//! only where nothing that was not understood can hide another one: tokens in between are stepped
//! over one by one, parentheses as a whole.

use super::{ParseOptions, Parsed, Parser};
use crate::ast::{Account, ObjectName};
use crate::keyword::Keyword as K;
use crate::token::Token;

/// Something that a definition is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Named {
    /// Also that of an index which is created or dropped, or of a trigger which is created.
    Table(ObjectName),
    /// A stored function.
    Function(ObjectName),
    /// A stored procedure.
    Procedure(ObjectName),
    /// One that is created or altered.
    Event(ObjectName),
    /// One that is created or altered.
    View(ObjectName),
    /// Also one that gets or loses privileges.
    Account(Account),
}

/// What the definition that `text` begins is about; `None` if that can't be said.
pub fn objects_of(text: &[u8], options: &ParseOptions) -> Option<Vec<Named>> {
    Parser::new(text, options).head().ok().filter(|named| !named.is_empty())
}

impl Parser<'_> {
    fn head(&mut self) -> Parsed<Vec<Named>> {
        match self.expect_any(&[K::CREATE, K::ALTER, K::DROP, K::GRANT, K::REVOKE])? {
            K::CREATE => self.head_of_create(),
            K::ALTER if self.take_word(K::TABLE) => self.head_of_alter_table(),
            K::ALTER if self.take_word(K::USER) => {
                self.if_exists()?;
                self.head_accounts()
            }
            K::ALTER => {
                self.view_algorithm()?;
                if self.is(K::DEFINER) {
                    self.definer()?;
                }
                if self.take_word(K::EVENT) {
                    return Ok(vec![Named::Event(self.object_name()?)]);
                }
                self.head_of_view()
            }
            K::DROP if self.take_word(K::INDEX) => {
                self.ident()?;
                self.head_table_after_on()
            }
            K::GRANT => self.head_accounts_after(K::TO),
            K::REVOKE => self.head_accounts_after(K::FROM),
            _ => Err(self.unexpected()),
        }
    }

    fn head_of_create(&mut self) -> Parsed<Vec<Named>> {
        self.take_words(&[K::OR, K::REPLACE])?;
        self.view_algorithm()?;
        if self.is(K::DEFINER) {
            self.definer()?;
        }
        if self.is_any(&[K::SQL, K::VIEW]) {
            return self.head_of_view();
        }
        self.take_word(K::TEMPORARY);
        self.take_any(&[K::UNIQUE, K::FULLTEXT, K::SPATIAL]);
        match self.expect_any(&[
            K::TABLE,
            K::INDEX,
            K::FUNCTION,
            K::PROCEDURE,
            K::TRIGGER,
            K::EVENT,
            K::USER,
        ])? {
            K::TABLE => {
                self.if_not_exists()?;
                Ok(vec![Named::Table(self.object_name()?)])
            }
            K::INDEX => {
                self.ident()?;
                self.head_table_after_on()
            }
            // It is a part of its table.
            K::TRIGGER => self.head_table_after_on(),
            K::EVENT => {
                self.if_not_exists()?;
                Ok(vec![Named::Event(self.object_name()?)])
            }
            K::FUNCTION => {
                self.if_not_exists()?;
                Ok(vec![Named::Function(self.object_name()?)])
            }
            K::PROCEDURE => {
                self.if_not_exists()?;
                Ok(vec![Named::Procedure(self.object_name()?)])
            }
            _ => {
                self.if_not_exists()?;
                self.head_accounts()
            }
        }
    }

    /// `[SQL SECURITY x] VIEW name`
    fn head_of_view(&mut self) -> Parsed<Vec<Named>> {
        self.sql_security()?;
        self.expect_word(K::VIEW)?;
        Ok(vec![Named::View(self.object_name()?)])
    }

    /// The table, and what RENAME makes of its name.
    fn head_of_alter_table(&mut self) -> Parsed<Vec<Named>> {
        let mut named = vec![Named::Table(self.object_name()?)];
        let mut begins = true;
        loop {
            if begins && self.take_word(K::RENAME) && !self.is_any(&[K::COLUMN, K::INDEX, K::KEY]) {
                self.take_any(&[K::TO, K::AS]);
                self.skip_equal();
                named.push(Named::Table(self.object_name()?));
            }
            begins = self.current.token == Token::Comma;
            if !self.step_over()? {
                return Ok(named);
            }
        }
    }

    fn head_table_after_on(&mut self) -> Parsed<Vec<Named>> {
        while !self.take_word(K::ON) {
            if !self.step_over()? {
                return Err(self.unexpected());
            }
        }
        Ok(vec![Named::Table(self.object_name()?)])
    }

    fn head_accounts_after(&mut self, word: K) -> Parsed<Vec<Named>> {
        while !self.take_word(word) {
            if !self.step_over()? {
                return Err(self.unexpected());
            }
        }
        self.head_accounts()
    }

    /// Accounts divided by commas, each with whatever is said of it.
    fn head_accounts(&mut self) -> Parsed<Vec<Named>> {
        let mut named = vec![Named::Account(self.account()?)];
        loop {
            if self.take(Token::Comma) {
                named.push(Named::Account(self.account()?));
            } else if self.is_any(&[K::DEFAULT, K::WITH, K::REQUIRE]) || !self.step_over()? {
                return Ok(named);
            }
        }
    }

    /// Goes after the next token, or after what it opens; false at the end of the statement.
    fn step_over(&mut self) -> Parsed<bool> {
        let mut inside = 0_u32;
        loop {
            match self.current.token {
                Token::LeftParen => inside += 1,
                Token::RightParen => inside = inside.checked_sub(1).ok_or_else(|| self.unexpected())?,
                Token::Bad => return Err(self.unexpected()),
                Token::End if inside > 0 => return Err(self.unexpected()),
                Token::End | Token::Semicolon if inside == 0 => return Ok(false),
                _ => {}
            }
            self.advance();
            if inside == 0 {
                return Ok(true);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let named = objects_of(text.as_bytes(), &ParseOptions::default()).unwrap_or_default();
        let name = |name: &ObjectName| match &name.database {
            Some(database) => format!("{}.{}", database.as_str(), name.name.as_str()),
            None => name.name.to_string(),
        };
        let shown = named.iter().map(|named| match named {
            Named::Table(table) => format!("t:{}", name(table)),
            Named::Function(function) => format!("f:{}", name(function)),
            Named::Procedure(procedure) => format!("p:{}", name(procedure)),
            Named::Event(event) => format!("e:{}", name(event)),
            Named::View(view) => format!("v:{}", name(view)),
            Named::Account(Account::Named { user, host }) => {
                format!("u:{}@{}", user.to_str_lossy(), host.to_str_lossy())
            }
            Named::Account(Account::CurrentUser) => "u:".to_owned(),
        });
        assert_eq!(shown.collect::<Vec<_>>().join(" "), expected, "{text}");
    }

    #[test]
    fn objects_of_texts_that_no_parser_takes() {
        check("CREATE TABLE `a b`.`t``x` (a NEWTYPE, b INT) OF A LATER = VERSION", "t:a b.t`x");
        check("/*!80000 CREATE TEMPORARY TABLE IF NOT EXISTS t */ whatever", "t:t");
        check(
            "ALTER TABLE t DO SOMETHING (a, RENAME TO x), RENAME TO d.u, RENAME COLUMN a TO b",
            "t:t t:d.u",
        );
        check("ALTER TABLE t RENAME AS `u`", "t:t t:u");
        check("CREATE UNIQUE INDEX i USING NEWTREE ON d.t (a SIDEWAYS)", "t:d.t");
        check("CREATE INDEX i ON t", "t:t");
        check("CREATE DEFINER=`a`@`b` TRIGGER g SOMETIMES UPDATE ON `d`.`t` LATER", "t:d.t");
        check("CREATE DEFINER=`a`@`b` FUNCTION d.f() RETURNS NEWTYPE RETURN 1", "f:d.f");
        check("CREATE DEFINER=`a`@`b` PROCEDURE d.p(IN a LATERTYPE) BEGIN END", "p:d.p");
        check("CREATE USER a IDENTIFIED SOMEHOW ('x', 'y'), 'b'@'h' DEFAULT ROLE r, s", "u:a@% u:b@h");
        check("GRANT LATER_PRIVILEGE (a, b), SELECT ON *.* TO a, `b`@`h` WITH MORE", "u:a@% u:b@h");
        check("ALTER USER IF EXISTS a DISCARD ALL", "u:a@%");
        check("DROP INDEX i ON t ALGORITHM=LATER", "t:t");
        check("CREATE VIEW v AS LATER 1", "v:v");
        check("CREATE EVENT e ON SCHEDULE LATER DO VIEW v", "e:e");
        check("ALTER DEFINER=`a`@`b` EVENT `d`.e LATER", "e:d.e");
        check(
            "CREATE OR REPLACE ALGORITHM=MERGE DEFINER=`a`@`b` SQL SECURITY INVOKER VIEW `d`.`v` (a) AS LATER",
            "v:d.v",
        );
        check("ALTER SQL SECURITY DEFINER VIEW v AS SELECT LATER", "v:v");
    }

    #[test]
    fn nothing_is_guessed() {
        for text in [
            "CREATE DATABASE d LIKE THIS",
            "ALTER SQL SECURITY LATER VIEW v",
            "CREATE TABLE",
            "CREATE INDEX i",
            "ALTER TABLE t ADD (a",
            "ALTER TABLE t 'unclosed",
            "GRANT x",
            "RENAME EVERYTHING",
            "",
        ] {
            check(text, "");
        }
    }
}
