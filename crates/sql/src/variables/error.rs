//! What can be wrong with an assignment or a reading, in MySQL's numbers.

use super::definition::{Scope, Variable};
use datum::error::{Naming, SqlError};
use thiserror::Error;

/// A refused assignment or reading of a variable.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum VariableError {
    /// No such variable.
    #[error("Unknown system variable '{0}'")]
    Unknown(String),
    /// A value of the right type that the variable does not take.
    #[error("Variable '{name}' can't be set to the value of '{value}'")]
    WrongValue {
        /// The variable.
        name: &'static str,
        /// The value, as text.
        value: String,
    },
    /// A value of the wrong type.
    #[error("Incorrect argument type to variable '{0}'")]
    WrongType(&'static str),
    /// The variable has no such side to read or change: it is read only, or GLOBAL, or SESSION.
    #[error("Variable '{0}' is a {1} variable")]
    OnlyA(&'static str, &'static str),
    /// Changed for the session, but only the server has one.
    #[error("Variable '{0}' is a GLOBAL variable and should be set with SET GLOBAL")]
    GlobalOnly(&'static str),
    /// Changed for the server, but only sessions have one.
    #[error("Variable '{0}' is a SESSION variable and can't be used with SET GLOBAL")]
    SessionOnly(&'static str),
    /// Changed for the session, whose value is the one that it began with.
    #[error("SESSION variable '{0}' is read-only. Use SET GLOBAL to assign the value")]
    SessionReadOnly(&'static str),
    /// `= DEFAULT` where there is none.
    #[error("Variable '{0}' doesn't have a default value")]
    NoDefault(&'static str),
    /// No such character set.
    #[error("Unknown character set: '{0}'")]
    UnknownCharset(String),
    /// No such collation.
    #[error("Unknown collation: '{0}'")]
    UnknownCollation(String),
    /// `gtid_mode` is left at ON: only ON_PERMISSIVE is one step away, and not supported.
    #[error(
        "The value of @@GLOBAL.GTID_MODE can only be changed one step at a time: OFF <-> OFF_PERMISSIVE <-> ON_PERMISSIVE \
         <-> ON. Also note that this value must be stepped up or down simultaneously on all servers. See the Manual for \
         instructions."
    )]
    GtidModeStep,
    /// `enforce_gtid_consistency` goes with `gtid_mode`.
    #[error("GTID_MODE = ON requires ENFORCE_GTID_CONSISTENCY = ON.")]
    GtidModeNeedsConsistency,
    /// There are no events to schedule; MySQL's words for a server that was started so.
    #[error(
        "The MySQL server is running with the --event-scheduler=DISABLED or --skip-grant-tables option so it cannot execute \
         this statement"
    )]
    EventSchedulerDisabled,
    /// A value of MySQL's that means nothing here.
    #[error("This version of Duramen doesn't yet support '{name} = {value}'")]
    Unsupported {
        /// The variable.
        name: &'static str,
        /// As MySQL writes it.
        value: &'static str,
    },
    /// `binlog_encryption` is switched on without a key.
    #[error("Unable to recover binlog encryption master key, please check if keyring is loaded.")]
    NoBinlogKey,
    /// `binlog_encryption` was switched, and no next log file can be begun.
    #[error("Failed to rotate binary log: {0}")]
    Rotation(String),
    /// No such time zone.
    #[error("Unknown or incorrect time zone: '{0}'")]
    UnknownTimeZone(String),
}

impl VariableError {
    /// MySQL's error number.
    pub fn number(&self) -> u16 {
        match self {
            Self::Unknown(_) => 1193,
            Self::WrongValue { .. } => 1231,
            Self::WrongType(_) => 1232,
            Self::OnlyA(..) => 1238,
            Self::GlobalOnly(_) => 1229,
            Self::SessionOnly(_) => 1228,
            Self::NoDefault(_) => 1230,
            Self::SessionReadOnly(_) => 1621,
            Self::UnknownCharset(_) => 1115,
            Self::UnknownCollation(_) => 1273,
            Self::UnknownTimeZone(_) => 1298,
            Self::GtidModeStep => 1788,
            Self::GtidModeNeedsConsistency => 1779,
            Self::EventSchedulerDisabled => 1290,
            Self::Unsupported { .. } => 1235,
            Self::NoBinlogKey => 3794,
            Self::Rotation(_) => 1105,
        }
    }

    /// The SQLSTATE that goes with the number.
    pub(crate) fn sqlstate(&self) -> &'static str {
        match self {
            Self::WrongValue { .. }
            | Self::WrongType(_)
            | Self::NoDefault(_)
            | Self::UnknownCharset(_)
            | Self::Unsupported { .. } => "42000",
            _ => "HY000",
        }
    }

    pub(super) fn read_only(variable: &Variable) -> Self {
        Self::OnlyA(variable.name, "read only")
    }

    /// `variable` can't be read in a scope that it does not have.
    pub(super) fn not_in_scope(variable: &Variable) -> Self {
        Self::OnlyA(variable.name, if variable.scope == Scope::Global { "GLOBAL" } else { "SESSION" })
    }
}

impl From<VariableError> for SqlError {
    fn from(e: VariableError) -> Self {
        let mut sqlstate = [0; 5];
        sqlstate.copy_from_slice(e.sqlstate().as_bytes());
        Self { number: e.number(), sqlstate, naming: Naming::Complete, message: e.to_string() }
    }
}

/// A value that was adjusted to what the variable takes; warning 1292.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Warning {
    /// MySQL's number.
    pub number: u16,
    /// The text.
    pub message: String,
}

impl Warning {
    pub(super) fn truncated(variable: &Variable, value: &str) -> Self {
        Self { number: 1292, message: format!("Truncated incorrect {} value: '{value}'", variable.name) }
    }
}
