//! The character sets and collations that this server knows, with MySQL's collation numbers.

/// A character set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Charset {
    /// The name.
    pub name: &'static str,
    /// The collation that it has when none is named.
    pub default_collation: &'static str,
    /// The most bytes a character takes.
    pub max_len: u8,
}

/// A collation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Collation {
    /// MySQL's number, as the protocol and table map events carry it.
    pub id: u16,
    /// The name.
    pub name: &'static str,
    /// The character set it sorts.
    pub charset: &'static str,
}

const fn charset(name: &'static str, default_collation: &'static str, max_len: u8) -> Charset {
    Charset { name, default_collation, max_len }
}

const fn collation(id: u16, name: &'static str, charset: &'static str) -> Collation {
    Collation { id, name, charset }
}

/// Every character set.
pub const CHARSETS: &[Charset] = &[
    charset("ascii", "ascii_general_ci", 1),
    charset("binary", "binary", 1),
    charset("latin1", "latin1_swedish_ci", 1),
    charset("utf8mb3", "utf8mb3_general_ci", 3),
    charset("utf8mb4", "utf8mb4_0900_ai_ci", 4),
];

/// Every collation.
pub const COLLATIONS: &[Collation] = &[
    collation(8, "latin1_swedish_ci", "latin1"),
    collation(11, "ascii_general_ci", "ascii"),
    collation(33, "utf8mb3_general_ci", "utf8mb3"),
    collation(45, "utf8mb4_general_ci", "utf8mb4"),
    collation(46, "utf8mb4_bin", "utf8mb4"),
    collation(47, "latin1_bin", "latin1"),
    collation(48, "latin1_general_ci", "latin1"),
    collation(63, "binary", "binary"),
    collation(65, "ascii_bin", "ascii"),
    collation(83, "utf8mb3_bin", "utf8mb3"),
    collation(192, "utf8mb3_unicode_ci", "utf8mb3"),
    collation(224, "utf8mb4_unicode_ci", "utf8mb4"),
    collation(246, "utf8mb4_unicode_520_ci", "utf8mb4"),
    collation(255, "utf8mb4_0900_ai_ci", "utf8mb4"),
    collation(278, "utf8mb4_0900_as_cs", "utf8mb4"),
    collation(305, "utf8mb4_0900_as_ci", "utf8mb4"),
    collation(309, "utf8mb4_0900_bin", "utf8mb4"),
];

/// The character set of this name; `utf8` is `utf8mb3`, as in MySQL 8.4.
pub fn charset_named(name: &str) -> Option<&'static Charset> {
    let name = if name.eq_ignore_ascii_case("utf8") { "utf8mb3" } else { name };
    CHARSETS.iter().find(|c| c.name.eq_ignore_ascii_case(name))
}

/// The collation of this name; `utf8_*` is `utf8mb3_*`.
pub fn collation_named(name: &str) -> Option<&'static Collation> {
    let renamed = match name.get(..5) {
        Some(head) if head.eq_ignore_ascii_case("utf8_") => format!("utf8mb3_{}", &name[5..]),
        _ => name.to_owned(),
    };
    COLLATIONS.iter().find(|c| c.name.eq_ignore_ascii_case(&renamed))
}

/// The collation of this number.
pub fn collation_numbered(id: u16) -> Option<&'static Collation> {
    COLLATIONS.iter().find(|c| c.id == id)
}
