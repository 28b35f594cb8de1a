//! User variables, system variables and the locals of routines, as expressions read and set them.

use super::Context;
use crate::session::variables as session_variables;
use datum::error::Result;
use datum::types::{Charset, Coercibility, Family as F, Type};
use datum::value::{Datum, bits_to_u64, json};
use syntax::ast::SystemVariable;

/// MySQL says each variable that is a text as one of so many characters.
const VARIABLE_LENGTH: u32 = 21_845;

fn is_boolean(variable: &SystemVariable) -> bool {
    let definition = crate::variables::find(&variable.name.name).map(crate::variables::VariableId::variable);
    definition.is_some_and(|d| matches!(d.kind(), crate::variables::VariableType::Bool(_)))
}

impl Context {
    /// `SET @name = value`
    pub(crate) fn set_user_variable(&mut self, name: &str, value: Datum<'static>, ty: Type) {
        self.tracker.state();
        let value = match value {
            // A column's bits are a number, a literal's a text.
            Datum::Bits(b) if ty.family == F::Bit => Datum::UInt(bits_to_u64(&b)),
            Datum::Bits(b) | Datum::Label(_, b) => Datum::Bytes(b),
            Datum::Json(document) => Datum::owned(json::to_text(&document)),
            Datum::Float(v) => Datum::Double(v.into()),
            Datum::Year(y) => Datum::UInt(y.into()),
            Datum::Date(_) | Datum::Time(_) | Datum::DateTime(_) => {
                Datum::owned(value.to_bytes().into_owned())
            }
            other => other,
        };
        let family = match value {
            Datum::Null if ty.family == F::Bit => F::Integer,
            Datum::Null if ty.family != F::Null => ty.family,
            Datum::Null => F::Null,
            Datum::Int(_) | Datum::UInt(_) => F::Integer,
            Datum::Double(_) => F::Double,
            Datum::Decimal(_) => F::Decimal,
            _ => F::Text,
        };
        let collation = if ty.family.is_text() || ty.family == F::Json {
            ty.collation
        } else {
            self.settings.connection_collation()
        };
        let ty = Type { family, collation, coercibility: Coercibility::Implicit, nullable: true, ..ty };
        // A decimal's digits are its own.
        let ty = match &value {
            Datum::Decimal(d) => Type { decimals: d.shown(), ..ty },
            _ => ty,
        };
        let ty = if family == F::Text { Type { length: ty.length.max(255), ..ty } } else { ty };
        self.settings.user_variables.lock().insert(name.to_ascii_lowercase().into(), (value, ty));
    }

    /// `@@name`
    pub(crate) fn system_variable<'a>(&mut self, variable: &SystemVariable) -> Result<Datum<'a>> {
        session_variables::read(self, variable)
    }

    /// The type of `@@name`.
    pub(crate) fn system_variable_type(&mut self, variable: &SystemVariable) -> Result<Type> {
        Ok(match session_variables::read(self, variable)? {
            Datum::Int(_) if is_boolean(variable) => Type { length: 1, ..Type::INT },
            Datum::Int(_) => Type::INT,
            Datum::UInt(_) => Type::UINT,
            Datum::Double(_) => Type::fixed_double(Type::DOUBLE.length, 6),
            Datum::Decimal(d) => Type::decimal(d.digits(), d.shown()),
            _ => Type::text(Charset::Utf8mb3.default_collation(), Coercibility::System, VARIABLE_LENGTH),
        })
    }
}
