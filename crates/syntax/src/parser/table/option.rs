//! A table's options.

use crate::ast::{EngineName, Ident, TableOption};
use crate::keyword::Keyword as K;
use crate::parser::{Parsed, Parser};
use crate::token::Token;

impl Parser<'_> {
    /// Table options, separated by blanks or commas.
    pub(in crate::parser) fn table_options(&mut self) -> Parsed<Vec<TableOption>> {
        let mut options = Vec::new();
        self.foreign_options()?;
        while let Some(option) = self.table_option()? {
            options.push(option);
            self.foreign_options()?;
            if self.current.token == Token::Comma && self.option_follows() {
                self.advance();
            }
        }
        Ok(options)
    }

    /// At a comma: true if a table option is after it, and not ALTER TABLE's next action.
    fn option_follows(&self) -> bool {
        let mut ahead = self.lexer.clone();
        match ahead.next().token {
            Token::Word(K::DEFAULT | K::COLLATE | K::CHARSET | K::CHARACTER | K::CHAR) => true,
            Token::Word(K::DATA | K::INDEX) => ahead.next().token == Token::Word(K::DIRECTORY),
            Token::Word(word) => table_option_kind(word).is_some() || matches!(word, K::COMMENT | K::UNION),
            _ => false,
        }
    }

    /// Options of MariaDB's that say how a file is laid out, which mean nothing here:
    /// `PAGE_CHECKSUM=1 TRANSACTIONAL=0`.
    fn foreign_options(&mut self) -> Parsed<()> {
        while self.take_name("PAGE_CHECKSUM") || self.take_name("TRANSACTIONAL") {
            self.skip_equal();
            self.integer()?;
        }
        Ok(())
    }

    pub(in crate::parser) fn table_option(&mut self) -> Parsed<Option<TableOption>> {
        if self.is(K::DEFAULT) {
            self.advance();
            if !self.is_any(&[K::CHARSET, K::CHARACTER, K::CHAR, K::COLLATE]) {
                return Err(self.unexpected());
            }
        }
        if self.take_charset_words()? {
            self.skip_equal();
            return Ok(Some(TableOption::Charset(self.charset_name()?)));
        }
        let word = self.word();
        match word {
            K::COLLATE => {
                self.advance();
                self.skip_equal();
                return Ok(Some(TableOption::Collation(self.collation_name()?)));
            }
            K::UNION => {
                self.advance();
                self.skip_equal();
                return self.in_parens(|parser| match parser.current.token {
                    Token::RightParen => Ok(Some(TableOption::Union(Vec::new()))),
                    _ => Ok(Some(TableOption::Union(parser.list(Self::object_name)?))),
                });
            }
            K::DATA | K::INDEX if self.peek_is(K::DIRECTORY) => {
                self.advance();
                let text = self.option_text()?;
                let name = if word == K::DATA { "DATA DIRECTORY" } else { "INDEX DIRECTORY" };
                return Ok(Some(TableOption::Text(name.into(), text)));
            }
            _ => {}
        }
        let Some(kind) = table_option_kind(word) else { return Ok(None) };
        self.advance();
        self.skip_equal();
        let name = Ident::from(word.text());
        Ok(Some(match kind {
            OptionKind::Number if self.take_word(K::DEFAULT) => TableOption::Number(name, None),
            OptionKind::Number if word == K::AUTO_INCREMENT => TableOption::AutoIncrement(self.integer()?),
            OptionKind::Number => TableOption::Number(name, Some(self.integer()?)),
            OptionKind::Text if word == K::COMMENT => TableOption::Comment(self.plain_text()?),
            OptionKind::Text => TableOption::Text(name, self.text()?),
            OptionKind::Word => self.word_option(word, name)?,
        }))
    }

    fn word_option(&mut self, word: K, name: Ident) -> Parsed<TableOption> {
        let start = self.current.start;
        let value = match word {
            K::ROW_FORMAT if self.is(K::DEFAULT) => self.any_ident()?,
            K::SECONDARY_ENGINE if self.take_word(K::NULL) => return Ok(TableOption::SecondaryEngine(None)),
            _ => self.ident_or_text()?,
        };
        Ok(match word {
            K::ENGINE => TableOption::Engine(EngineName { name: value, span: self.span_from(start) }),
            K::SECONDARY_ENGINE => TableOption::SecondaryEngine(Some(value)),
            K::ROW_FORMAT => TableOption::RowFormat(Ident::new(value.to_ascii_uppercase())),
            K::TABLESPACE => TableOption::Tablespace(value),
            _ => TableOption::Word(name, value),
        })
    }
}

#[derive(Clone, Copy)]
enum OptionKind {
    Number,
    Text,
    Word,
}

fn table_option_kind(word: K) -> Option<OptionKind> {
    Some(match word {
        K::AUTO_INCREMENT
        | K::AVG_ROW_LENGTH
        | K::CHECKSUM
        | K::TABLE_CHECKSUM
        | K::DELAY_KEY_WRITE
        | K::KEY_BLOCK_SIZE
        | K::MAX_ROWS
        | K::MIN_ROWS
        | K::PACK_KEYS
        | K::STATS_AUTO_RECALC
        | K::STATS_PERSISTENT
        | K::STATS_SAMPLE_PAGES
        | K::AUTOEXTEND_SIZE
        | K::NODEGROUP => OptionKind::Number,
        K::COMMENT
        | K::COMPRESSION
        | K::CONNECTION
        | K::ENCRYPTION
        | K::PASSWORD
        | K::ENGINE_ATTRIBUTE
        | K::SECONDARY_ENGINE_ATTRIBUTE => OptionKind::Text,
        K::ENGINE | K::SECONDARY_ENGINE | K::ROW_FORMAT | K::TABLESPACE | K::INSERT_METHOD | K::STORAGE => {
            OptionKind::Word
        }
        _ => return None,
    })
}
