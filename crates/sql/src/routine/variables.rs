//! A routine's parameters and variables, and which of them an instruction sees.
//!
//! One list serves the whole routine. A variable is visible from the instruction after its DECLARE
//! to the end of its block, so an instruction's number is all that a lookup needs, and nothing is
//! copied per variable or per instruction.
//!
//! (V1) Ranges of variables of one name are nested or disjoint, as blocks are. The one that an
//!      instruction sees is thus the last that begins before it, or one of those that this one
//!      hides.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use super::trigger::RowVersion;
use datum::types::DataType;

/// A parameter or variable.
#[derive(Debug)]
pub(super) struct Variable {
    pub(super) name: Box<str>,
    pub(super) ty: DataType,
    /// The instructions that see it.
    visible: Range<usize>,
    /// The variable of the same name that it hides.
    hides: Option<usize>,
}

/// All variables of a routine, parameters first; their numbers are their places in the frame.
#[derive(Debug, Default)]
pub(super) struct Variables {
    all: Vec<Variable>,
    /// By name in lower case, in order of their declaration.
    by_name: HashMap<Box<str>, Vec<usize>>,
    /// The columns of a trigger's rows, by name in lower case.
    of_rows: HashMap<(RowVersion, Box<str>), usize>,
}

impl Variables {
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn get(&self, number: usize) -> Option<&Variable> {
        self.all.get(number)
    }

    /// Adds a variable that is visible from the instruction `start` until [`Variables::end_block`].
    pub(super) fn declare(&mut self, name: &str, ty: DataType, start: usize) -> usize {
        let (number, hides) = (self.all.len(), self.find(name, start));
        self.all.push(Variable { name: name.into(), ty, visible: start..usize::MAX, hides });
        self.by_name.entry(key(name)).or_default().push(number);
        number
    }

    /// Adds a column of one of a trigger's rows, which is visible everywhere by its qualified name.
    pub(super) fn declare_of_row(&mut self, row: RowVersion, name: &str, ty: DataType) -> usize {
        let number = self.all.len();
        // No range has it: unqualified it is no name.
        self.all.push(Variable { name: name.into(), ty, visible: 0..0, hides: None });
        self.of_rows.insert((row, key(name)), number);
        number
    }

    /// The variable that a row's column is.
    pub(super) fn find_of_row(&self, row: RowVersion, name: &str) -> Option<usize> {
        self.of_rows.get(&(row, key(name))).copied()
    }

    /// The name of a variable with its number, or of a row's column.
    fn shown(&self, number: usize) -> Option<String> {
        let name = &self.all.get(number)?.name;
        let row = self.of_rows.iter().find(|(_, of)| **of == number).map(|((row, _), _)| *row);
        Some(match row {
            Some(row) => format!("{}.{name}", row.name()),
            None => format!("{name}@{number}"),
        })
    }

    /// These variables are not visible from the instruction `end` on; those among them that blocks
    /// within the block have declared are not visible before.
    pub(super) fn end_block(&mut self, variables: Range<usize>, end: usize) {
        for variable in &mut self.all[variables] {
            variable.visible.end = variable.visible.end.min(end);
        }
    }

    /// The variable of this name that an instruction sees.
    pub(super) fn find(&self, name: &str, at: usize) -> Option<usize> {
        let of_name = self.by_name.get(&*key(name))?;
        let begun = of_name.partition_point(|&number| self.all[number].visible.start <= at);
        // (V1)
        let mut found = of_name[..begun].last().copied();
        while let Some(number) = found
            && !self.all[number].visible.contains(&at)
        {
            found = self.all[number].hides;
        }
        found
    }
}

fn key(name: &str) -> Box<str> {
    name.to_ascii_lowercase().into()
}

/// What an instruction sees; nothing by default.
#[derive(Debug, Default, Clone)]
pub(crate) struct Locals(Option<(Arc<Variables>, usize)>);

impl Locals {
    pub(super) fn at(variables: &Arc<Variables>, instruction: usize) -> Locals {
        Locals(Some((variables.clone(), instruction)))
    }

    /// A column of OLD or NEW, by its qualified name; `None` for other names, and outside of
    /// triggers.
    pub(crate) fn find_of_row(&self, table: &str, column: &str) -> Option<(usize, &DataType)> {
        let (variables, _) = self.0.as_ref()?;
        let number = variables.find_of_row(RowVersion::named(table)?, column)?;
        Some((number, &variables.get(number)?.ty))
    }

    /// How a variable is shown in errors, by its place in the frame: as MySQL does it, with its
    /// number; a column of a trigger's row by its qualified name.
    pub(crate) fn shown(&self, number: usize) -> Option<String> {
        let (variables, _) = self.0.as_ref()?;
        variables.shown(number)
    }

    /// A variable by name: its place in the frame and its type.
    pub(crate) fn find(&self, name: &str) -> Option<(usize, &DataType)> {
        let (variables, at) = self.0.as_ref()?;
        let number = variables.find(name, *at)?;
        Some((number, &variables.get(number)?.ty))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_one_name_hide_each_other_by_block() {
        let mut variables = Variables::default();
        let ty = || DataType::Timestamp(0);
        let outer = variables.declare("a", ty(), 0);
        let first = variables.declare("A", ty(), 2);
        variables.end_block(first..first + 1, 4);
        let second = variables.declare("a", ty(), 5);
        let inner = variables.declare("a", ty(), 6);
        variables.end_block(inner..inner + 1, 7);
        variables.end_block(second..second + 1, 8);
        variables.end_block(outer..inner + 1, 10);
        let seen: Vec<_> = (0..11).map(|at| variables.find("a", at)).collect();
        let (o, f, s, i) = (Some(outer), Some(first), Some(second), Some(inner));
        assert_eq!(seen, [o, o, f, f, o, s, i, s, o, o, None]);
        assert_eq!(variables.find("b", 3), None);
    }
}
