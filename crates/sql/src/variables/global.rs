//! The server's values.

use super::convert::{Assigned, Converted, convert};
use super::definition::{Variable, VariableId};
use super::error::{VariableError, Warning};
use super::ids;
use super::option::OptionError;
use super::table;
use super::value::Value;
use datum::types::{Charset, Collation};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Takes a new value into effect, or says why it can't be (V2).
type Hook = Box<dyn Fn(&Value) -> Result<(), VariableError> + Send + Sync>;

/// The value of every variable that the server has, and of every session's start.
pub struct GlobalVariables {
    /// Numbers and switches once more, to be read without a latch (V3).
    numbers: Box<[AtomicU64]>,
    values: RwLock<Arc<[Value]>>,
    /// Held across an assignment and its hooks, so that these run in the order of the assignments
    /// (V2).
    hooks: Mutex<Vec<(VariableId, Hook)>>,
}

impl Default for GlobalVariables {
    fn default() -> Self {
        Self::new()
    }
}

impl GlobalVariables {
    /// Every variable at its default.
    pub fn new() -> Self {
        let values: Arc<[Value]> = table::TABLE.iter().map(|v| v.kind.default_value()).collect();
        let numbers = values.iter().map(|v| AtomicU64::new(v.to_bits())).collect();
        Self { numbers, values: RwLock::new(values), hooks: Mutex::default() }
    }

    /// A value.
    pub fn get(&self, id: VariableId) -> Value {
        self.values.read()[id.index()].clone()
    }

    /// An unsigned number, an enum's place or a set's bits.
    pub fn uint(&self, id: VariableId) -> u64 {
        self.numbers[id.index()].load(Relaxed)
    }

    /// A switch.
    pub fn bool(&self, id: VariableId) -> bool {
        self.uint(id) != 0
    }

    /// A number with a fraction.
    pub fn double(&self, id: VariableId) -> f64 {
        f64::from_bits(self.uint(id))
    }

    /// A text; NULL and numbers give an empty one.
    pub fn text(&self, id: VariableId) -> Arc<str> {
        match &self.values.read()[id.index()] {
            Value::Text(t) => t.clone(),
            _ => "".into(),
        }
    }

    /// All values as they are now; a session starts with these.
    pub(super) fn snapshot(&self) -> Arc<[Value]> {
        self.values.read().clone()
    }

    /// Runs `hook` at each later `SET GLOBAL` of `id`.
    pub fn on_change(
        &self,
        id: VariableId,
        hook: impl Fn(&Value) -> Result<(), VariableError> + Send + Sync + 'static,
    ) {
        self.hooks.lock().push((id, Box::new(hook)));
    }

    /// States a fact found at the start (the host's name, the server's UUID); no checks, no hooks.
    pub fn put(&self, id: VariableId, value: Value) {
        self.store(id, value);
    }

    /// Sets a value from the command line or my.cnf; no hooks, for nothing runs yet.
    pub fn set_option(&self, id: VariableId, value: Option<&str>) -> Result<(), OptionError> {
        let value = table::definition(id).parse_option(value)?;
        if let Some((coupled, value)) = coupled(id, &value) {
            self.store(coupled, value);
        }
        self.store(id, value);
        Ok(())
    }

    /// `SET GLOBAL`. `strict`: the session's `sql_mode` has STRICT_ALL_TABLES, so nothing is
    /// adjusted to the range.
    pub(crate) fn set(
        &self,
        id: VariableId,
        assigned: &Assigned,
        strict: bool,
    ) -> Result<Option<Warning>, VariableError> {
        let hooks = self.hooks.lock();
        let Converted { value, warning } = self.converted(id, assigned, strict)?;
        for (_, hook) in hooks.iter().filter(|(of, _)| *of == id) {
            hook(&value)?;
        }
        if let Some((coupled, value)) = coupled(id, &value) {
            self.store(coupled, value);
        }
        self.store(id, value);
        Ok(warning)
    }

    /// The value that [`Self::set`] would give it, or what that would refuse, but for hooks:
    /// nothing is changed.
    pub(crate) fn check(
        &self,
        id: VariableId,
        assigned: &Assigned,
        strict: bool,
    ) -> Result<Value, VariableError> {
        self.converted(id, assigned, strict).map(|converted| converted.value)
    }

    fn converted(
        &self,
        id: VariableId,
        assigned: &Assigned,
        strict: bool,
    ) -> Result<Converted, VariableError> {
        let variable = table::definition(id);
        if !variable.has_global() {
            return Err(VariableError::SessionOnly(variable.name));
        }
        if variable.read_only {
            return Err(VariableError::read_only(variable));
        }
        let converted = match assigned {
            Assigned::Default => variable.kind.default_value().into(),
            _ => convert(variable, assigned, strict)?,
        };
        check_fixed(variable, &converted.value, &self.get(id), assigned)?;
        Ok(converted)
    }

    fn store(&self, id: VariableId, value: Value) {
        self.numbers[id.index()].store(value.to_bits(), Relaxed);
        Arc::make_mut(&mut self.values.write())[id.index()] = value;
    }
}

/// (V1) A fixed variable takes only the value it has. `event_scheduler` is DISABLED from the start
/// on, or never.
pub(super) fn check_fixed(
    variable: &Variable,
    value: &Value,
    current: &Value,
    assigned: &Assigned,
) -> Result<(), VariableError> {
    if value == current {
        return Ok(());
    }
    if variable.name == "event_scheduler" {
        const DISABLED: Value = Value::UInt(2);
        return match (current, value) {
            (&DISABLED, _) => Err(VariableError::EventSchedulerDisabled),
            (_, &DISABLED) => {
                Err(VariableError::WrongValue { name: variable.name, value: assigned.as_text() })
            }
            _ => Ok(()),
        };
    }
    if !variable.is_fixed() {
        return Ok(());
    }
    Err(match (variable.name, value) {
        ("gtid_mode", Value::UInt(ON_PERMISSIVE)) => {
            VariableError::Unsupported { name: "gtid_mode", value: "ON_PERMISSIVE" }
        }
        ("gtid_mode", _) => VariableError::GtidModeStep,
        ("enforce_gtid_consistency", _) => VariableError::GtidModeNeedsConsistency,
        _ => VariableError::WrongValue { name: variable.name, value: assigned.as_text() },
    })
}

/// The value of `gtid_mode` next to ON.
const ON_PERMISSIVE: u64 = 2;

/// A character set brings its default collation with it, a collation its character set.
pub(super) fn coupled(id: VariableId, value: &Value) -> Option<(VariableId, Value)> {
    const PAIRS: [(VariableId, VariableId); 3] = [
        (ids::CHARACTER_SET_CONNECTION, ids::COLLATION_CONNECTION),
        (ids::CHARACTER_SET_DATABASE, ids::COLLATION_DATABASE),
        (ids::CHARACTER_SET_SERVER, ids::COLLATION_SERVER),
    ];
    // What is read only for all is so for the others; what is writable for the others is so for
    // all.
    match value {
        Value::Bool(true) if id == ids::SUPER_READ_ONLY => return Some((ids::READ_ONLY, Value::Bool(true))),
        Value::Bool(false) if id == ids::READ_ONLY => {
            return Some((ids::SUPER_READ_ONLY, Value::Bool(false)));
        }
        _ => {}
    }
    let Value::Text(name) = value else { return None };
    PAIRS.iter().find_map(|&(charset, collation)| {
        if id == charset {
            Charset::by_name(name).map(|c| (collation, Value::Text(c.default_collation().name().into())))
        } else if id == collation {
            Collation::by_name(name).map(|c| (charset, Value::Text(c.charset().name().into())))
        } else {
            None
        }
    })
}
