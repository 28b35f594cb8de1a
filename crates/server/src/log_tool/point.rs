//! A point of a log that a part ends at: a position, a GTID, or a time.

use super::ToolError;
use super::arguments::{Arguments, Takes};
use super::input::LogFile;
use super::transactions::Transaction;
use binlog::gtid::GtidSet;
use binlog::json_lines::moment;
use env::UnixMicros;
use std::fmt;

/// The options that name a point.
pub(super) const UNTIL: [Takes; 3] =
    [Takes::Value("until-position"), Takes::Value("until-gtid"), Takes::Value("until-time")];

/// Up to where transactions are wanted.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Until {
    End,
    /// Those that end at or before this offset of the file of this name.
    Position {
        file: String,
        offset: u64,
    },
    /// This one is the last.
    Gtid(GtidSet),
    /// Those that were committed before.
    Time(UnixMicros),
}

/// What a point says of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    Last,
    After,
}

impl Until {
    pub(super) fn of(arguments: &Arguments) -> Result<Self, ToolError> {
        let position = arguments.value("until-position");
        match (position, arguments.gtids("until-gtid")?, arguments.moment("until-time")?) {
            (None, None, None) => Ok(Self::End),
            (Some(position), None, None) => {
                let parts = position.rsplit_once(':');
                let parts = parts.and_then(|(file, offset)| Some((file.to_owned(), offset.parse().ok()?)));
                let (file, offset) = parts.ok_or_else(|| {
                    arguments.wrong(format!("'{position}' is no value for --until-position: FILE:OFFSET"))
                })?;
                Ok(Self::Position { file, offset })
            }
            (None, Some(gtid), None) if gtid.count() == 1 => Ok(Self::Gtid(gtid)),
            (None, Some(_), None) => Err(arguments.wrong("--until-gtid names one GTID, the last".to_owned())),
            (None, None, Some(time)) => Ok(Self::Time(time)),
            _ => Err(arguments.wrong("one --until is enough".to_owned())),
        }
    }

    /// The point that `--to` names: a time in UTC, a GTID, or `FILE:OFFSET`.
    pub(crate) fn parse(arguments: &Arguments, option: &'static str) -> Result<Self, ToolError> {
        let Some(text) = arguments.value(option) else { return Ok(Self::End) };
        if let Some((file, offset)) = text.rsplit_once(':')
            && file.contains('.')
            && !file.contains(':')
            && let Ok(offset) = offset.parse()
        {
            return Ok(Self::Position { file: file.to_owned(), offset });
        }
        match text.parse::<GtidSet>() {
            Ok(gtid) if gtid.count() == 1 => Ok(Self::Gtid(gtid)),
            Ok(gtid) if gtid.count() > 1 => {
                Err(arguments.wrong(format!("--{option} names one GTID, the last")))
            }
            _ => match arguments.moment(option)? {
                Some(time) => Ok(Self::Time(time)),
                None => Ok(Self::End),
            },
        }
    }

    /// Where a transaction is.
    pub(super) fn side(&self, file: &LogFile, transaction: &Transaction) -> Side {
        match self {
            Self::End => Side::Before,
            Self::Position { file: name, .. } if *name != file.name => Side::Before,
            Self::Position { offset, .. } if transaction.end > *offset => Side::After,
            Self::Position { .. } => Side::Before,
            Self::Gtid(wanted) => {
                let mut this = GtidSet::new();
                transaction.name.add_to(&mut this);
                if this == *wanted { Side::Last } else { Side::Before }
            }
            Self::Time(time) if transaction.committed >= *time => Side::After,
            Self::Time(_) => Side::Before,
        }
    }

    /// True where all transactions of later files are after it.
    pub(super) fn ends_with(&self, file: &LogFile) -> bool {
        matches!(self, Self::Position { file: name, .. } if *name == file.name)
    }

    /// True for a point that must be met: its absence is a mistake.
    pub(super) fn must_be_found(&self) -> bool {
        matches!(self, Self::Gtid(_) | Self::Position { .. })
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("the end"),
            Self::Position { file, offset } => write!(f, "{file}:{offset}"),
            Self::Gtid(gtid) => write!(f, "GTID {gtid}"),
            Self::Time(time) => write!(f, "{} UTC", moment(*time)),
        }
    }
}
