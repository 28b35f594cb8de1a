//! ALTER TABLE.

use super::table::TableElement;
use super::{Parsed, Parser};
use crate::ast::{
    AlterAction as A, AlterAlgorithm, AlterLock, AlterPartition, AlterTable, ColumnDefault, ColumnPlace,
    IN_ORDER, Ident, PartitionVerb, Span, StatementKind,
};
use crate::keyword::Keyword as K;
use crate::token::Token;

impl Parser<'_> {
    /// After ALTER TABLE.
    pub(super) fn alter_table(&mut self) -> Parsed<StatementKind> {
        let name = self.object_name()?;
        let (actions, name_end) = (Vec::new(), self.previous_end);
        let in_order = self.lexer.text()[name_end as usize..].starts_with(IN_ORDER.as_bytes());
        let (algorithm, lock, validation) = (None, None, None);
        let mut alter = AlterTable { name, actions, algorithm, lock, validation, name_end, in_order };
        if !matches!(self.current.token, Token::End | Token::Semicolon) {
            loop {
                self.ask_caller()?;
                self.alter_item(&mut alter)?;
                if self.is(K::PARTITION) || self.is(K::REMOVE) {
                    continue; // may follow without a comma
                }
                if !self.take(Token::Comma) {
                    break;
                }
            }
        }
        Ok(StatementKind::AlterTable(Box::new(alter)))
    }

    /// One action, or one of the modifiers between them.
    fn alter_item(&mut self, alter: &mut AlterTable) -> Parsed<()> {
        match self.word() {
            K::ALGORITHM => alter.algorithm = Some(self.algorithm()?),
            K::LOCK => alter.lock = Some(self.alter_lock()?),
            K::WITH | K::WITHOUT => {
                alter.validation = Some(self.is(K::WITH));
                self.advance();
                self.expect_word(K::VALIDATION)?;
            }
            K::ADD => self.alter_add(&mut alter.actions)?,
            _ => {
                let action = self.alter_action()?;
                alter.actions.push(action);
            }
        }
        Ok(())
    }

    /// `[ALGORITHM [=] x] [LOCK [=] y]`, in any order.
    pub(super) fn algorithm_and_lock(&mut self) -> Parsed<(Option<AlterAlgorithm>, Option<AlterLock>)> {
        let (mut algorithm, mut lock) = (None, None);
        loop {
            match self.word() {
                K::ALGORITHM => algorithm = Some(self.algorithm()?),
                K::LOCK => lock = Some(self.alter_lock()?),
                _ => return Ok((algorithm, lock)),
            }
        }
    }

    fn algorithm(&mut self) -> Parsed<AlterAlgorithm> {
        self.advance();
        self.skip_equal();
        if self.take_word(K::DEFAULT) {
            return Ok(AlterAlgorithm::Default);
        }
        // These words are no keywords.
        for (name, algorithm) in [
            ("instant", AlterAlgorithm::Instant),
            ("inplace", AlterAlgorithm::Inplace),
            ("copy", AlterAlgorithm::Copy),
        ] {
            let word = Span { start: self.current.start, end: self.current.end };
            if self.take_name(name) {
                if algorithm != AlterAlgorithm::Copy {
                    self.algorithm_and_lock.push(word);
                }
                return Ok(algorithm);
            }
        }
        Err(self.unexpected())
    }

    fn alter_lock(&mut self) -> Parsed<AlterLock> {
        self.advance();
        self.skip_equal();
        if self.take_word(K::DEFAULT) {
            return Ok(AlterLock::Default);
        }
        for (name, lock) in
            [("none", AlterLock::None), ("shared", AlterLock::Shared), ("exclusive", AlterLock::Exclusive)]
        {
            let word = Span { start: self.current.start, end: self.current.end };
            if self.take_name(name) {
                self.algorithm_and_lock.push(word);
                return Ok(lock);
            }
        }
        Err(self.unexpected())
    }

    fn alter_action(&mut self) -> Parsed<A> {
        match self.word() {
            K::CHANGE => {
                self.advance();
                self.take_word(K::COLUMN);
                let old = self.ident()?;
                let definition = Box::new(self.column_definition()?);
                Ok(A::ChangeColumn { old, definition, place: self.column_place()? })
            }
            K::MODIFY => {
                self.advance();
                self.take_word(K::COLUMN);
                let definition = Box::new(self.column_definition()?);
                let old = definition.name.clone();
                Ok(A::ChangeColumn { old, definition, place: self.column_place()? })
            }
            K::DROP => self.alter_drop(),
            K::ALTER => self.alter_alter(),
            K::RENAME => self.alter_rename(),
            K::CONVERT => self.convert_charset(),
            K::ORDER => Ok(A::OrderBy(self.order_by()?)),
            K::ENABLE | K::DISABLE => {
                let enable = self.is(K::ENABLE);
                self.advance();
                self.expect_word(K::KEYS)?;
                Ok(if enable { A::EnableKeys } else { A::DisableKeys })
            }
            K::FORCE => self.single(A::Force),
            K::SECONDARY_LOAD => self.single(A::SecondaryLoad),
            K::SECONDARY_UNLOAD => self.single(A::SecondaryUnload),
            K::DISCARD | K::IMPORT => self.discard_or_import(),
            K::PARTITION => Ok(A::Partition(AlterPartition::By(Box::new(self.partitioning()?)))),
            K::REMOVE => {
                self.expect_words(&[K::REMOVE, K::PARTITIONING])?;
                Ok(A::Partition(AlterPartition::Remove))
            }
            K::COALESCE
            | K::TRUNCATE
            | K::ANALYZE
            | K::CHECK
            | K::OPTIMIZE
            | K::REBUILD
            | K::REPAIR
            | K::REORGANIZE
            | K::EXCHANGE => self.alter_partition().map(A::Partition),
            _ => {
                let options = self.table_options()?;
                if options.is_empty() { Err(self.unexpected()) } else { Ok(A::Options(options)) }
            }
        }
    }

    fn single(&mut self, action: A) -> Parsed<A> {
        self.advance();
        Ok(action)
    }

    fn alter_add(&mut self, actions: &mut Vec<A>) -> Parsed<()> {
        self.advance();
        if self.take_word(K::PARTITION) {
            let (definitions, count) = match self.take_word(K::PARTITIONS) {
                true => (Vec::new(), Some(self.integer()?)),
                false => (self.partition_definitions()?, None),
            };
            actions.push(A::Partition(AlterPartition::Add { definitions, count }));
            return Ok(());
        }
        let of_column = self.take_word(K::COLUMN);
        if self.current.token == Token::LeftParen {
            return self.add_elements(actions);
        }
        if of_column || self.at_ident() {
            let column = self.column_definition()?;
            actions.push(A::AddColumns(vec![(column, self.column_place()?)]));
            return Ok(());
        }
        let element = self.table_element()?;
        let place = match element {
            TableElement::Column(_) => self.column_place()?,
            _ => ColumnPlace::Last,
        };
        actions.push(add_element(element, place));
        Ok(())
    }

    /// `(element, ..)`, as in CREATE TABLE: an action for the columns, and one for each key and
    /// CHECK.
    fn add_elements(&mut self, actions: &mut Vec<A>) -> Parsed<()> {
        let mut columns = Vec::new();
        let mut others = Vec::new();
        for element in self.paren_list(Self::table_element)? {
            match element {
                TableElement::Column(column) => columns.push((*column, ColumnPlace::Last)),
                other => others.push(add_element(other, ColumnPlace::Last)),
            }
        }
        actions.extend((!columns.is_empty()).then_some(A::AddColumns(columns)));
        actions.extend(others);
        Ok(())
    }

    fn column_place(&mut self) -> Parsed<ColumnPlace> {
        let word = Span { start: self.current.start, end: self.current.end };
        if self.take_word(K::FIRST) {
            return Ok(ColumnPlace::First(word));
        }
        match self.take_word(K::AFTER) {
            true => self.ident().map(ColumnPlace::After),
            false => Ok(ColumnPlace::Last),
        }
    }

    fn alter_drop(&mut self) -> Parsed<A> {
        self.advance();
        match self.word() {
            K::PRIMARY => {
                self.expect_words(&[K::PRIMARY, K::KEY])?;
                Ok(A::DropPrimaryKey)
            }
            K::INDEX | K::KEY => {
                self.advance();
                Ok(A::DropKey(self.index_name()?))
            }
            K::FOREIGN => {
                self.expect_words(&[K::FOREIGN, K::KEY])?;
                Ok(A::DropForeignKey(self.ident()?))
            }
            K::CHECK => {
                self.advance();
                Ok(A::DropCheck(self.ident()?))
            }
            K::CONSTRAINT => {
                self.advance();
                Ok(A::DropConstraint(self.index_name()?))
            }
            K::PARTITION => {
                self.advance();
                Ok(A::Partition(AlterPartition::Drop(self.list(Self::ident)?)))
            }
            _ => {
                self.take_word(K::COLUMN);
                let column = self.ident()?;
                self.take_any(&[K::RESTRICT, K::CASCADE]);
                Ok(A::DropColumn(column))
            }
        }
    }

    fn alter_alter(&mut self) -> Parsed<A> {
        self.advance();
        match self.word() {
            K::INDEX => {
                self.advance();
                let name = self.ident()?;
                let visible = self.expect_any(&[K::VISIBLE, K::INVISIBLE])? == K::VISIBLE;
                Ok(A::SetIndexVisible { name, visible })
            }
            K::CHECK | K::CONSTRAINT => {
                let any_kind = self.is(K::CONSTRAINT);
                self.advance();
                let name = self.ident()?;
                let enforced = self.enforced()?.ok_or_else(|| self.unexpected())?;
                Ok(A::SetCheckEnforced { name, any_kind, enforced })
            }
            _ => {
                self.take_word(K::COLUMN);
                let column = self.ident()?;
                if self.take_words(&[K::DROP, K::DEFAULT])? {
                    return Ok(A::DropDefault(column));
                }
                self.expect_word(K::SET)?;
                if let Some(word) = self.take_any(&[K::VISIBLE, K::INVISIBLE]) {
                    return Ok(A::SetColumnVisible { column, visible: word == K::VISIBLE });
                }
                self.expect_word(K::DEFAULT)?;
                let start = self.current;
                let default = self.column_default()?;
                if self.options.from_client && matches!(default, ColumnDefault::Now(_)) {
                    // Only in parentheses, which makes it an expression.
                    return Err(self.unexpected_at(start));
                }
                Ok(A::SetDefault { column, default })
            }
        }
    }

    fn alter_rename(&mut self) -> Parsed<A> {
        self.advance();
        if self.take_word(K::COLUMN) {
            let (old, new) = self.old_to_new()?;
            return Ok(A::RenameColumn { old, new });
        }
        if self.take_any(&[K::INDEX, K::KEY]).is_some() {
            let (old, new) = self.old_to_new()?;
            return Ok(A::RenameKey { old, new });
        }
        let _ = self.take_any(&[K::TO, K::AS]).is_some() || self.take(Token::Equal);
        Ok(A::Rename(self.object_name()?))
    }

    fn old_to_new(&mut self) -> Parsed<(Ident, Ident)> {
        let old = self.ident()?;
        self.expect_word(K::TO)?;
        Ok((old, self.ident()?))
    }

    fn convert_charset(&mut self) -> Parsed<A> {
        self.expect_words(&[K::CONVERT, K::TO])?;
        if !self.take_charset_words()? {
            return Err(self.unexpected());
        }
        let charset = if self.take_word(K::DEFAULT) { None } else { Some(self.charset_name()?) };
        let collation = if self.take_word(K::COLLATE) { Some(self.collation_name()?) } else { None };
        Ok(A::ConvertCharset { charset, collation })
    }

    fn discard_or_import(&mut self) -> Parsed<A> {
        let discard = self.is(K::DISCARD);
        self.advance();
        if self.take_word(K::PARTITION) {
            let names = self.names_or_all()?;
            self.expect_word(K::TABLESPACE)?;
            let verb =
                if discard { PartitionVerb::DiscardTablespace } else { PartitionVerb::ImportTablespace };
            return Ok(A::Partition(AlterPartition::Maintain { verb, names }));
        }
        self.expect_word(K::TABLESPACE)?;
        Ok(if discard { A::DiscardTablespace } else { A::ImportTablespace })
    }

    /// `verb PARTITION ..`
    fn alter_partition(&mut self) -> Parsed<AlterPartition> {
        let word = self.word();
        self.advance();
        self.expect_word(K::PARTITION)?;
        let verb = match word {
            K::COALESCE => return Ok(AlterPartition::Coalesce(self.integer()?)),
            K::TRUNCATE => return Ok(AlterPartition::Truncate(self.names_or_all()?)),
            K::REORGANIZE => {
                let names = if self.is(K::INTO) { Vec::new() } else { self.list(Self::ident)? };
                let into = match self.take_word(K::INTO) {
                    true => self.partition_definitions()?,
                    false => Vec::new(),
                };
                return Ok(AlterPartition::Reorganize { names, into });
            }
            K::EXCHANGE => {
                let name = self.ident()?;
                self.expect_words(&[K::WITH, K::TABLE])?;
                let table = self.object_name()?;
                let validation = self.take_any(&[K::WITH, K::WITHOUT]);
                if validation.is_some() {
                    self.expect_word(K::VALIDATION)?;
                }
                return Ok(AlterPartition::Exchange {
                    name,
                    table,
                    validation: validation != Some(K::WITHOUT),
                });
            }
            K::ANALYZE => PartitionVerb::Analyze,
            K::CHECK => PartitionVerb::Check,
            K::OPTIMIZE => PartitionVerb::Optimize,
            K::REBUILD => PartitionVerb::Rebuild,
            _ => PartitionVerb::Repair,
        };
        Ok(AlterPartition::Maintain { verb, names: self.names_or_all()? })
    }

    fn names_or_all(&mut self) -> Parsed<Option<Vec<Ident>>> {
        match self.take_word(K::ALL) {
            true => Ok(None),
            false => self.list(Self::ident).map(Some),
        }
    }
}

fn add_element(element: TableElement, place: ColumnPlace) -> A {
    match element {
        TableElement::Column(column) => A::AddColumns(vec![(*column, place)]),
        TableElement::Key(key) => A::AddKey(key),
        TableElement::ForeignKey(key) => A::AddForeignKey(key),
        TableElement::Check(check) => A::AddCheck(check),
    }
}
