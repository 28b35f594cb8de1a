//! What a replica cannot have by limits of its own, each with its reason: counted, and no finding.

use super::ReplicaKind;
use super::follower::Stop;

/// An error of the replica's applier (0 is any), what its text has, and why that is no fault of the
/// source.
type KnownLimit = (u32, &'static str, &'static str);

const MYSQL: &[KnownLimit] = &[
    (1133, "\\\\_", "MySQL finds no account for GRANT whose host has an escaped wildcard"),
    (1064, "trim(leading from", "MySQL can't read its own text of TRIM(LEADING FROM x)"),
    (1064, "trim(trailing from", "MySQL can't read its own text of TRIM(LEADING FROM x)"),
    (0, "disallowed function: `md5`", "MySQL 9 has MD5() and SHA1() as loadable functions only"),
    (0, "disallowed function: `sha", "MySQL 9 has MD5() and SHA1() as loadable functions only"),
    (1298, "", "the replica's tables of time zones are empty"),
    (0, "mysql_native_password", "MySQL 9 has no mysql_native_password"),
    (13, "File name too long", "MySQL has names in file names, and five characters for some"),
];

const MARIADB: &[KnownLimit] = &[
    (1273, "utf8mb4_0900", "MariaDB has no collations utf8mb4_0900_*"),
    (1273, "utf8mb4_", "MariaDB has not this collation of MySQL"),
    (1115, "", "MariaDB has not this character set"),
    (1524, "caching_sha2_password", "MariaDB has no caching_sha2_password"),
];

/// Those of a kind of replica.
#[derive(Debug)]
pub(super) struct Limits {
    kind: ReplicaKind,
    stops: &'static [KnownLimit],
}

impl Limits {
    pub(super) fn of(kind: ReplicaKind) -> Self {
        Self {
            kind,
            stops: match kind {
                ReplicaKind::MySql => MYSQL,
                ReplicaKind::MariaDb => MARIADB,
            },
        }
    }

    pub(super) fn kind(&self) -> ReplicaKind {
        self.kind
    }

    /// The reason why a line of a definition differs, if it is a known one; both are as the servers
    /// show them.
    pub(super) fn of_lines(&self, ours: &[String], theirs: &[String]) -> Option<&'static str> {
        const REASON: &str =
            "MySQL keeps comments and members of ENUM and SET in utf8mb3, and makes ? of other characters";
        let narrowed = |line: &String| line.replace(|c: char| c > '\u{ffff}', "?");
        let is_it =
            self.kind == ReplicaKind::MySql && ours.iter().map(narrowed).eq(theirs.iter().map(narrowed));
        is_it.then_some(REASON)
    }

    /// The reason why it stopped, if it is a known one.
    pub(super) fn of_stop(&self, stop: &Stop) -> Option<&'static str> {
        let known = self
            .stops
            .iter()
            .find(|(number, text, _)| [0, stop.number].contains(number) && stop.text.contains(text));
        known.map(|(_, _, reason)| *reason)
    }
}
