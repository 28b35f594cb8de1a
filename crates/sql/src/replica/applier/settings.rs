//! The settings under which a statement ran at its source: what they change here as well, and what
//! can't be had here.

use binlog::event::{QueryEvent, flags2};

use super::Applier;
use super::dialect;
use super::texts::{self, TextKind};
use crate::variables::sql_mode;
use datum::error::{self, Result, SqlError, UNKNOWN_TIME_ZONE};
use datum::types::{Charset, Collation};
use datum::value::zone::Zone;

impl Applier {
    /// What a text depends on has to be known here, or it would mean something else. MariaDB's
    /// newer collations, which are orders of Unicode's texts, are let through.
    ///
    /// # Errors
    /// 3944 under REQUIRE_ROW_FORMAT; 1115 for a character set or collation, 1298 for a time zone;
    /// 1235 for settings that are not here, for a name that the source wrote in another character
    /// set than the rest of the text, and for a change that failed half-way.
    pub(super) fn check_settings(&self, query: &QueryEvent<'_>, kind: TextKind) -> Result<()> {
        if let Some(zone) = &query.status.time_zone {
            let name = String::from_utf8_lossy(zone);
            Zone::by_name(&name).ok_or_else(|| UNKNOWN_TIME_ZONE.with(&[&name]))?;
            self.check_system_zone(&name)?;
        }
        if query.error_code != 0 && kind == TextKind::Change {
            return Err(SqlError::unsupported(format_args!(
                "a change that failed half-way at the source, with error {}, in a table without transactions",
                query.error_code
            )));
        }
        let mode = query.status.sql_mode.unwrap_or(0);
        if mode & sql_mode::NO_BACKSLASH_ESCAPES != 0 && texts::may_double_backslashes(&query.sql) {
            return Err(SqlError::unsupported(
                "a table of CREATE TABLE .. SELECT or LIKE with backslashes, of a session with sql_mode NO_BACKSLASH_ESCAPES: \
                 the source has logged each of them twice",
            ));
        }
        let is_of_statements = kind == TextKind::Change || texts::is_about_temporary(&query.sql);
        if is_of_statements && self.channel.with(|state| state.source.requires_row_format) {
            return Err(error::CLIENT_QUERY_FAILURE_INVALID_NON_ROW_FORMAT.plain());
        }
        const PAD_CHAR_TO_FULL_LENGTH: u64 = 1 << 31;
        if kind != TextKind::Definition && mode & PAD_CHAR_TO_FULL_LENGTH != 0 {
            return Err(SqlError::unsupported("sql_mode PAD_CHAR_TO_FULL_LENGTH"));
        }
        // The sessions of a MySQL's event scheduler have it, whatever the variable says.
        if kind == TextKind::Change
            && query.status.flags2.unwrap_or(0) & flags2::AUTO_IS_NULL != 0
            && texts::asks_is_null(&query.sql)
        {
            return Err(SqlError::unsupported("IS NULL under sql_auto_is_null"));
        }
        let Some([client, connection, _]) = query.status.charset else { return Ok(()) };
        if query.sql.is_ascii() && kind == TextKind::Definition {
            return Ok(()); // the same in all of them
        }
        if texts::has_name_in_utf8(&query.sql) && !is_utf8(client) {
            return Err(SqlError::unsupported(
                "names beyond ASCII of routines and views that a session without UTF-8 made",
            ));
        }
        if !query.sql.is_ascii() && !is_utf8(client) && texts::has_generated_key(&query.sql) {
            return Err(SqlError::unsupported(
                "names beyond ASCII of a table that a session without UTF-8 made and MySQL gave a primary key \
                 (sql_generate_invisible_primary_key)",
            ));
        }
        let is_known =
            |number: &u16| Collation::by_id(*number).is_some() || self.is_mariadb && UCA1400.contains(number);
        match [client, connection].into_iter().find(|number| !is_known(number)) {
            Some(number) => Err(unknown_charset(number.into())),
            None => Ok(()),
        }
    }

    /// SYSTEM is UTC here.
    ///
    /// # Errors
    /// 1298 if it is another zone at the source, of which only an abbreviation is known.
    fn check_system_zone(&self, name: &str) -> Result<()> {
        const UTC: [&str; 6] = ["", "UTC", "Etc/UTC", "UCT", "Zulu", "Universal"];
        let of_source = self.channel.with(|state| state.progress.source_time_zone.clone());
        if !name.eq_ignore_ascii_case("SYSTEM") || UTC.contains(&&*of_source) {
            return Ok(());
        }
        let e = UNKNOWN_TIME_ZONE.with(&[&name]);
        let message = format!(
            "{}: at the source it is {of_source}, which is not enough to know it. SET GLOBAL time_zone there to a name or an offset, \
             as 'Asia/Tokyo' or '+09:00', for the sessions that begin then",
            e.message
        );
        Err(SqlError { message, ..e })
    }

    /// Gives a statement's event what MySQL 8.4 would have written for the same.
    ///
    /// # Errors
    /// 1235 for a MariaDB's `sql_mode`.
    pub(super) fn translate_settings(&self, query: &mut QueryEvent<'_>, kind: TextKind) -> Result<()> {
        if self.is_mariadb {
            // Tables of its own engines are like others here.
            const NO_ENGINE_SUBSTITUTION: u64 = 1 << 30;
            let mode = query.status.sql_mode.map(|mode| mode_of_mariadb(mode & !NO_ENGINE_SUBSTITUTION));
            query.status.sql_mode = mode.transpose()?;
            query.status.microseconds = query.status.mariadb_microseconds;
        }
        // It says nothing any more, and MySQL 8 has it no longer.
        const NO_AUTO_CREATE_USER: u64 = 1 << 28;
        query.status.sql_mode = query.status.sql_mode.map(|mode| mode & !NO_AUTO_CREATE_USER);
        if let Some(sql) = dialect::without_versions(&query.sql, self.source_version, self.is_mariadb) {
            query.sql = sql.into();
        }
        if self.has_general_collation(query)
            && kind != TextKind::Change
            && let Some(sql) = dialect::with_general_collation(&query.sql)
        {
            query.sql = sql.into();
        }
        if self.is_mariadb {
            let mode = query.status.sql_mode.unwrap_or(0);
            let sql = match kind {
                TextKind::Change => dialect::without_returning(&query.sql),
                _ => dialect::with_expression_defaults(&query.sql, mode),
            };
            if let Some(sql) = sql {
                query.sql = sql.into();
            }
        }
        self.explicit_timestamps(query);
        Ok(())
    }

    /// True if a text that says utf8mb4 alone means `utf8mb4_general_ci`. A MariaDB that has other
    /// collations than MariaDB's first ones says so.
    fn has_general_collation(&self, query: &QueryEvent<'_>) -> bool {
        match query.status.default_collation_for_utf8mb4 {
            _ if self.is_mariadb => query.status.mariadb_collations.is_none(),
            Some(number) => number == UTF8MB4_GENERAL_CI,
            None => self.is_mysql_5,
        }
    }

    /// Notes what `explicit_defaults_for_timestamp` was in the source's session: MySQL 8 says it
    /// where a TIMESTAMP is defined, MariaDB since 10.8 always. Older ones don't, and have it OFF.
    fn explicit_timestamps(&self, query: &mut QueryEvent<'_>) {
        let explicit = &mut query.status.explicit_defaults_for_timestamp;
        if self.is_mariadb {
            let flags = query.status.flags2.unwrap_or(0);
            *explicit = Some(flags & flags2::MARIADB_EXPLICIT_TIMESTAMPS != 0);
        } else if self.is_mysql_5 {
            *explicit = Some(false);
        }
    }
}

/// MariaDB's `sql_mode` in MySQL's bits. What is the same is below bit 32; above it each has its
/// own: MariaDB cuts fractions of seconds unless it is told to round, MySQL the other way round.
fn mode_of_mariadb(mode: u64) -> Result<u64> {
    const SAME: u64 = (1 << 32) - 1;
    const ROUND_FRACTIONAL: u64 = 1 << 34;
    const WITHOUT_LIKE: [(u64, &str); 4] = [
        (1 << 9, "ORACLE"),
        (1 << 12, "MAXDB"),
        (1 << 32, "EMPTY_STRING_IS_NULL"),
        (1 << 33, "SIMULTANEOUS_ASSIGNMENT"),
    ];
    for (bit, name) in WITHOUT_LIKE {
        if mode & bit != 0 {
            return Err(SqlError::unsupported(format_args!("MariaDB's sql_mode {name}")));
        }
    }
    let cut = if mode & ROUND_FRACTIONAL == 0 { sql_mode::TIME_TRUNCATE_FRACTIONAL } else { 0 };
    Ok(mode & SAME | cut)
}

/// True if a text of this collation has the bytes of UTF-8.
fn is_utf8(collation: u16) -> bool {
    let charset = Collation::by_id(collation).map(Collation::charset);
    matches!(charset, Some(Charset::Utf8mb3 | Charset::Utf8mb4)) || UCA1400.contains(&collation)
}

/// Error 1115 for a character set of which only the number is known.
pub(super) fn unknown_charset(number: u32) -> SqlError {
    error::UNKNOWN_CHARACTER_SET.with(&[&format_args!("#{number}")])
}

/// A collation of which the number is the same in MySQL and MariaDB.
pub(super) const UTF8MB4_GENERAL_CI: u16 = 45;

/// MariaDB's collations of utf8mb3 and utf8mb4 by Unicode 14, and where those of utf8mb4 begin.
const UCA1400: std::ops::Range<u16> = 2048..2560;
const UCA1400_OF_UTF8MB4: u16 = 2304;

/// The character set of a collation of a MariaDB.
pub(super) fn charset_of(collation: u16) -> Option<Charset> {
    match Collation::by_id(collation) {
        Some(collation) => Some(collation.charset()),
        None if !UCA1400.contains(&collation) => None,
        None if collation < UCA1400_OF_UTF8MB4 => Some(Charset::Utf8mb3),
        None => Some(Charset::Utf8mb4),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_of_mariadb_cuts_fractions_unless_it_rounds() {
        let cut = sql_mode::TIME_TRUNCATE_FRACTIONAL;
        assert_eq!(mode_of_mariadb(1 << 22).unwrap(), 1 << 22 | cut);
        assert_eq!(mode_of_mariadb(1 << 22 | 1 << 34).unwrap(), 1 << 22);
        assert_eq!(mode_of_mariadb(1 << 32).unwrap_err().number, 1235);
        assert_eq!(mode_of_mariadb(1 << 33).unwrap_err().number, 1235);
    }
}
