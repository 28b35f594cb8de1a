//! A session's values.

use super::convert::{Assigned, Converted, convert};
use super::definition::{Scope, VariableId};
use super::error::{VariableError, Warning};
use super::global::{GlobalVariables, check_fixed, coupled};
use super::ids;
use super::table;
use super::value::Value;
use std::sync::Arc;
use syntax::sql_mode;

/// The values of one session: shared with the server's until the first change, its own copy from
/// then on.
#[derive(Clone)]
pub struct SessionVariables {
    values: Arc<[Value]>,
}

impl SessionVariables {
    /// The values that a new session starts with.
    pub fn new(globals: &GlobalVariables) -> Self {
        Self { values: globals.snapshot() }
    }

    /// True if nothing was changed in either since one was made of the other.
    pub(crate) fn is_shared_with(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.values, &other.values)
    }

    /// A value.
    pub fn get(&self, id: VariableId) -> &Value {
        &self.values[id.index()]
    }

    /// An unsigned number, an enum's place or a set's bits.
    pub fn uint(&self, id: VariableId) -> u64 {
        self.get(id).to_bits()
    }

    /// A switch.
    pub fn bool(&self, id: VariableId) -> bool {
        self.uint(id) != 0
    }

    /// A text; NULL and numbers give an empty one.
    pub fn text(&self, id: VariableId) -> &str {
        match self.get(id) {
            Value::Text(t) => t,
            _ => "",
        }
    }

    /// Takes a value as it is, without checks: for what a statement other than SET changes (USE,
    /// SET TRANSACTION).
    pub fn put(&mut self, id: VariableId, value: Value) {
        Arc::make_mut(&mut self.values)[id.index()] = value;
    }

    /// `SET SESSION`; warning where the value was adjusted to the range.
    pub(crate) fn set(
        &mut self,
        globals: &GlobalVariables,
        id: VariableId,
        assigned: &Assigned,
    ) -> Result<Option<Warning>, VariableError> {
        let variable = table::definition(id);
        if variable.read_only {
            return Err(VariableError::read_only(variable));
        }
        if variable.inherited {
            return Err(VariableError::SessionReadOnly(variable.name));
        }
        if !variable.has_session() {
            return Err(VariableError::GlobalOnly(variable.name));
        }
        let strict = self.uint(ids::SQL_MODE) & sql_mode::STRICT_ALL_TABLES != 0;
        let Converted { value, warning } = match assigned {
            Assigned::Default if variable.has_global() => globals.get(id).into(),
            Assigned::Default => variable.kind.default_value().into(),
            _ => convert(variable, assigned, strict)?,
        };
        check_fixed(variable, &value, self.get(id), assigned)?;
        if let Some((coupled, value)) = coupled(id, &value) {
            self.put(coupled, value);
        }
        self.put(id, value);
        Ok(warning)
    }
}

/// What `@@name` (no scope), `@@session.name` or `@@global.name` reads.
///
/// What is asked of the session or the log is the caller's to answer; this gives its default.
pub fn read(
    globals: &GlobalVariables,
    session: &SessionVariables,
    id: VariableId,
    scope: Option<Scope>,
) -> Result<Value, VariableError> {
    let variable = table::definition(id);
    match scope {
        Some(Scope::Global) if !variable.has_global() => Err(VariableError::not_in_scope(variable)),
        Some(Scope::Session) if !variable.has_session() => Err(VariableError::not_in_scope(variable)),
        Some(Scope::Global) => Ok(globals.get(id)),
        _ if variable.has_session() => Ok(session.get(id).clone()),
        _ => Ok(globals.get(id)),
    }
}
