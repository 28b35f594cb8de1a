//! CONVERT TO CHARACTER SET.

use super::draft::Changed;
use crate::catalog::draft::{DraftColumn, became_lob};
use crate::catalog::table::Default;
use datum::error::{self, Result};
use datum::types::{Collation, DataType, ROW_SIZE_MAX};
use datum::value::{Datum, store};
use syntax::ast;

impl Changed {
    /// Converts the columns that are there. Those that the statement adds or changes follow, in
    /// [`Self::converts_to`].
    pub(super) fn convert(
        &mut self,
        charset: Option<&ast::Ident>,
        collation: Option<&ast::Ident>,
    ) -> Result<()> {
        let words = ast::Charset { charset: charset.cloned(), collation: collation.cloned(), binary: false };
        let database = self.draft.environment.collation;
        let to = datum::types::resolve_collation(&words, database)?;
        self.draft.collation = to;
        self.has_options = true;
        self.converts_to = Some(to);
        for column in &mut self.draft.columns {
            let before = column.def.ty.collation().charset();
            let is_character = column.def.ty.is_character();
            if let DataType::Lob { length_bytes, .. } = &mut column.def.ty
                && is_character
            {
                // It must hold as many characters as before.
                let is_wider = to.charset().char_len_max() > before.char_len_max();
                *length_bytes = (*length_bytes + u8::from(is_wider)).min(4);
            }
            convert_column(column, to, self.refuses_loss)?;
        }
        Ok(())
    }

    /// A VARCHAR that is too long for its new character set is error 1074, or becomes TEXT where
    /// the sql_mode is not strict and it has no default.
    pub(super) fn convert_to_lobs(&mut self) -> Result<()> {
        let strict = self.draft.environment.strict;
        for DraftColumn { def, expr, .. } in &mut self.draft.columns {
            let DataType::VarChar { collation, .. } = def.ty else { continue };
            if def.ty.byte_length() <= ROW_SIZE_MAX {
                continue;
            }
            let has_default = !matches!(def.default, Default::None | Default::Value(Datum::Null));
            if strict || has_default && expr.is_none() {
                let max = ROW_SIZE_MAX / collation.charset().char_len_max();
                return Err(error::TOO_BIG_FIELDLENGTH.with(&[&def.name, &max]));
            }
            // MEDIUMTEXT: no VARCHAR was longer than 65,535 characters.
            def.ty = DataType::Lob { length_bytes: 3, collation };
            self.warnings.push(became_lob(&def.name, &def.ty));
        }
        Ok(())
    }
}

/// Gives a text column another collation; its texts are brought into its character set.
///
/// # Errors
/// Where `refuses_loss`: 3854 for a member that the character set lacks, 1067 for a default.
pub(super) fn convert_column(column: &mut DraftColumn, to: Collation, refuses_loss: bool) -> Result<()> {
    if !column.def.ty.is_character() || column.def.ty.collation() == to {
        return Ok(());
    }
    let (from, set) = (column.def.ty.collation().charset(), to.charset());
    match &mut column.def.ty {
        DataType::Char { collation, .. }
        | DataType::VarChar { collation, .. }
        | DataType::Lob { collation, .. } => {
            *collation = to;
        }
        DataType::Enum { members, collation } | DataType::Set { members, collation } => {
            let in_new = |member: &[u8]| match from.convert(member.into(), set) {
                (_, true) if refuses_loss => Err(error::CANNOT_CONVERT_STRING.with(&[
                    &store::escape(member),
                    &from.name(),
                    &set.name(),
                ])),
                (converted, _) => Ok(converted.into_owned().into()),
            };
            *members = members.iter().map(|member| in_new(member)).collect::<Result<_>>()?;
            *collation = to;
        }
        _ => {}
    }
    if let Default::Value(Datum::Bytes(text) | Datum::Label(_, text)) = &mut column.def.default {
        let (converted, is_lossy) = from.convert(std::mem::take(text), set);
        if is_lossy && refuses_loss {
            return Err(error::INVALID_DEFAULT.with(&[&column.def.name]));
        }
        *text = converted.into_owned().into();
    }
    Ok(())
}
