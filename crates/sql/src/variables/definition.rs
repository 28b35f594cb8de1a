//! What is known of a variable before it has a value.

use super::value::Value;

/// A variable's place in the table; the ones that code asks for have names in [`super::ids`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub(super) u16);

impl VariableId {
    pub(super) fn index(self) -> usize {
        self.0.into()
    }
}

/// Where a variable has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// One value for the server.
    Global,
    /// A value for each session, none for the server.
    Session,
    /// A value for each session, and the server's, which new sessions start with.
    Both,
}

/// A variable's type, range and default.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs, reason = "default, smallest and largest value; the words of an enum or a set")]
pub enum VariableType {
    /// ON or OFF.
    Bool(bool),
    /// An unsigned number, rounded down to a multiple of `block`.
    UInt { default: u64, min: u64, max: u64, block: u64 },
    /// A signed number.
    Int { default: i64, min: i64, max: i64 },
    /// A number with a fraction.
    Double { default: f64, min: f64, max: f64 },
    /// One of several words; a number names one by its place, from 0.
    Enum { default: usize, names: &'static [&'static str] },
    /// Several of several words, as a bit mask.
    Set { default: u64, names: &'static [&'static str] },
    /// `sql_mode`: a set in which some words stand for several others.
    SqlMode(u64),
    /// Text; `None` is NULL.
    Text(Option<&'static str>),
    /// The name of a character set. NULL is allowed where the default may be NULL
    /// (`character_set_results`).
    Charset { default: &'static str, nullable: bool },
    /// The name of a collation.
    Collation(&'static str),
    /// `SYSTEM` or an offset from UTC.
    TimeZone(&'static str),
}

impl VariableType {
    pub(super) fn default_value(&self) -> Value {
        match *self {
            VariableType::Bool(b) => Value::Bool(b),
            VariableType::UInt { default, .. } => Value::UInt(default),
            VariableType::Int { default, .. } => Value::Int(default),
            VariableType::Double { default, .. } => Value::Double(default),
            VariableType::Enum { default, .. } => Value::UInt(default as u64),
            VariableType::Set { default, .. } | VariableType::SqlMode(default) => Value::UInt(default),
            VariableType::Text(None) => Value::Null,
            VariableType::Text(Some(text))
            | VariableType::Charset { default: text, .. }
            | VariableType::Collation(text)
            | VariableType::TimeZone(text) => Value::Text(text.into()),
        }
    }
}

/// What an assignment can do (V1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Changes what the server does.
    Live,
    /// Accepts only the value it has.
    Fixed,
    /// Kept and shown, nothing more.
    Harmless,
}

/// What a session's value asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// Everybody may change it.
    Nothing,
    /// SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN.
    Admin,
    /// The same without SUPER.
    AdminButSuper,
    /// The same as [`Asks::Admin`], or REPLICATION_APPLIER.
    AdminOrApplier,
}

/// One line of the table.
#[derive(Debug, Clone, Copy)]
pub struct Variable {
    pub(super) name: &'static str,
    pub(super) kind: VariableType,
    pub(super) scope: Scope,
    pub(super) effect: Effect,
    pub(super) read_only: bool,
    /// A session keeps the value that it began with.
    pub(super) inherited: bool,
    pub(super) option: bool,
    pub(super) admin: Asks,
    pub(super) help: &'static str,
}

impl Variable {
    /// The name, in lower case with underscores.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Type, range and default.
    pub fn kind(&self) -> &VariableType {
        &self.kind
    }

    /// True if it can be given on the command line and in my.cnf.
    pub fn is_option(&self) -> bool {
        self.option
    }

    /// True if `SET` refuses it (the command line may still set it).
    pub fn is_read_only(&self) -> bool {
        self.read_only
    }

    /// True if only the value that it has is accepted (V1).
    pub fn is_fixed(&self) -> bool {
        self.effect == Effect::Fixed
    }

    /// True if it is accepted without effect (V1).
    pub fn is_harmless(&self) -> bool {
        self.effect == Effect::Harmless
    }

    /// What changing even the session's value asks for; the server's value always asks for
    /// SYSTEM_VARIABLES_ADMIN.
    pub(crate) fn asks(&self) -> Asks {
        self.admin
    }

    /// What it does, for `--help`.
    pub fn help(&self) -> &'static str {
        self.help
    }

    /// True if the server has a value.
    pub(crate) fn has_global(&self) -> bool {
        self.scope != Scope::Session
    }

    /// True if each session has a value.
    pub(crate) fn has_session(&self) -> bool {
        self.scope != Scope::Global
    }

    const fn new(name: &'static str, kind: VariableType) -> Self {
        Self {
            name,
            kind,
            scope: Scope::Global,
            effect: Effect::Live,
            read_only: false,
            inherited: false,
            option: true,
            admin: Asks::Nothing,
            help: "",
        }
    }

    pub(super) const fn both(mut self) -> Self {
        self.scope = Scope::Both;
        self
    }

    pub(super) const fn session(mut self) -> Self {
        self.scope = Scope::Session;
        self.option = false;
        self
    }

    /// Each session has the server's value of when it began, which it can't change.
    pub(super) const fn inherited(mut self) -> Self {
        self.inherited = true;
        self.both()
    }

    /// Can't be changed while running.
    pub(super) const fn read_only(mut self) -> Self {
        self.read_only = true;
        self
    }

    /// A fact about this server: neither `SET` nor an option changes it.
    pub(super) const fn fact(mut self) -> Self {
        self.read_only = true;
        self.option = false;
        self
    }

    pub(super) const fn fixed(mut self) -> Self {
        self.effect = Effect::Fixed;
        self
    }

    pub(super) const fn harmless(mut self) -> Self {
        self.effect = Effect::Harmless;
        self
    }

    pub(super) const fn no_option(mut self) -> Self {
        self.option = false;
        self
    }

    pub(super) const fn admin(mut self) -> Self {
        self.admin = Asks::Admin;
        self
    }

    pub(super) const fn admin_but_super(mut self) -> Self {
        self.admin = Asks::AdminButSuper;
        self
    }

    pub(super) const fn applier(mut self) -> Self {
        self.admin = Asks::AdminOrApplier;
        self
    }

    pub(super) const fn block(mut self, size: u64) -> Self {
        if let VariableType::UInt { block, .. } = &mut self.kind {
            *block = size;
        }
        self
    }

    pub(super) const fn help_text(mut self, help: &'static str) -> Self {
        self.help = help;
        self
    }
}

pub(super) const fn switch(name: &'static str, default: bool) -> Variable {
    Variable::new(name, VariableType::Bool(default))
}

pub(super) const fn uint(name: &'static str, default: u64, min: u64, max: u64) -> Variable {
    Variable::new(name, VariableType::UInt { default, min, max, block: 1 })
}

pub(super) const fn int(name: &'static str, default: i64, min: i64, max: i64) -> Variable {
    Variable::new(name, VariableType::Int { default, min, max })
}

pub(super) const fn double(name: &'static str, default: f64, min: f64, max: f64) -> Variable {
    Variable::new(name, VariableType::Double { default, min, max })
}

pub(super) const fn choice(name: &'static str, names: &'static [&'static str], default: usize) -> Variable {
    Variable::new(name, VariableType::Enum { default, names })
}

pub(super) const fn flags(name: &'static str, names: &'static [&'static str], default: u64) -> Variable {
    Variable::new(name, VariableType::Set { default, names })
}

pub(super) const fn text(name: &'static str, default: &'static str) -> Variable {
    Variable::new(name, VariableType::Text(Some(default)))
}

pub(super) const fn null_text(name: &'static str) -> Variable {
    Variable::new(name, VariableType::Text(None))
}

pub(super) const fn other(name: &'static str, kind: VariableType) -> Variable {
    Variable::new(name, kind)
}
