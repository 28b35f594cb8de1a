//! What one account has been granted.

use std::collections::BTreeMap;

use stdx::cursor::{Cursor, Truncated, put_lenenc, put_lenenc_bytes};

use super::set::{Dynamic, Privileges};
use crate::catalog::show::quote;
use crate::like;
use datum::types::Collation;
use syntax::ast::RoutineKind;

/// An account's privileges.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Grants {
    /// Static privileges for everything, `ON *.*`.
    pub(crate) global: Privileges,
    /// Dynamic privileges.
    pub(crate) dynamic: Dynamic,
    /// Dynamic privileges that it may give away.
    pub(crate) grantable: Dynamic,
    /// For databases, by name or pattern as it was granted: `db`, `test\_%`.
    pub databases: BTreeMap<String, Privileges>,
    /// For single stored functions and procedures.
    pub(crate) routines: BTreeMap<RoutineName, Privileges>,
}

/// The name of a stored function or procedure.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RoutineName {
    pub(crate) kind: RoutineKind,
    pub(crate) database: String,
    /// In lower case.
    pub(crate) name: String,
}

impl RoutineName {
    /// The name may be in any case.
    pub(crate) fn new(kind: RoutineKind, database: &str, name: &str) -> Self {
        Self { kind, database: database.to_owned(), name: name.to_lowercase() }
    }
}

impl Grants {
    /// Everything, and the right to give it away.
    pub(crate) fn everything() -> Self {
        Grants {
            global: Privileges::ALL | Privileges::GRANT,
            dynamic: Dynamic::ALL,
            grantable: Dynamic::ALL,
            databases: BTreeMap::new(),
            routines: BTreeMap::new(),
        }
    }

    /// What it may do with a routine, by whatever grant.
    pub(crate) fn on_routine(&self, kind: RoutineKind, database: &str, name: &str) -> Privileges {
        let of_database = self.in_database(database);
        if self.routines.is_empty() {
            return of_database;
        }
        let own = self.routines.get(&RoutineName::new(kind, database, name));
        of_database | own.copied().unwrap_or(Privileges::NONE)
    }

    /// True if it has a privilege on a routine of the database.
    fn has_routine_in(&self, database: &str) -> bool {
        self.routines.keys().any(|routine| routine.database == database)
    }

    /// True if it may do everything with everything, whatever dynamic privileges it has.
    pub(crate) fn is_unlimited(&self) -> bool {
        self.global.has(Privileges::ALL)
    }

    /// True if it has a dynamic privilege of this name.
    pub(crate) fn has_dynamic(&self, name: &str) -> bool {
        Dynamic::named(name).is_some_and(|dynamic| self.dynamic.has(dynamic))
    }

    /// True if it can make any account of any account.
    pub(crate) fn is_administrator(&self) -> bool {
        self.global.has(Privileges::ALL | Privileges::GRANT)
    }

    /// What it may do in a database, by whatever grant. The pattern that names the database most
    /// exactly counts alone.
    pub(crate) fn in_database(&self, name: &str) -> Privileges {
        self.global | self.of_database(name)
    }

    fn of_database(&self, name: &str) -> Privileges {
        if is_open_schema(name) {
            return Privileges::SELECT;
        }
        if let Some(exactly) = self.databases.get(name) {
            return *exactly;
        }
        let fits = |pattern: &&String| {
            like::name_matches(name.as_bytes(), pattern.as_bytes(), Some(b'\\'), Collation(46))
        };
        let best = self.databases.keys().filter(fits).max_by_key(|pattern| literal_length(pattern));
        best.map_or(Privileges::NONE, |pattern| self.databases[pattern])
    }

    /// What it may do in every database that a pattern stands for, so that it can give that away:
    /// by a pattern that stands for all of them, or by the very same.
    pub(crate) fn in_databases_like(&self, wanted: &str) -> Privileges {
        if let Some(same) = self.databases.get(wanted) {
            return self.global | *same;
        }
        let covering = self.databases.keys().filter(|held| pattern_covers(held, wanted));
        let best = covering.max_by_key(|pattern| literal_length(pattern));
        self.global | best.map_or(Privileges::NONE, |pattern| self.databases[pattern])
    }

    /// What it may do with the columns of a database's tables, as COLUMNS has it.
    pub(crate) fn of_columns(&self, database: &str) -> String {
        let mine = if is_listed_schema(database) { Privileges::SELECT } else { self.in_database(database) };
        let names: Vec<&str> = mine.and(Privileges::OF_COLUMN).names().collect();
        names.join(",").to_ascii_lowercase()
    }

    /// True if it may know that a database is there.
    pub(crate) fn sees_database(&self, name: &str) -> bool {
        is_listed_schema(name)
            || self.global.has_any(Privileges::OF_DATABASE | Privileges::SHOW_DATABASES)
            || !self.of_database(name).is_empty()
            || self.has_routine_in(name)
    }

    /// True if it may know which tables a database has.
    pub(crate) fn sees_tables(&self, database: &str) -> bool {
        self.in_database(database).has_any(Privileges::OF_DATABASE) || self.has_routine_in(database)
    }

    /// True if it may know a database's tables and their definitions: by a privilege that is about
    /// tables.
    pub(crate) fn sees_definitions(&self, database: &str) -> bool {
        is_listed_schema(database) || self.in_database(database).has_any(Privileges::OF_TABLE)
    }

    /// True if it may know the columns of a database's tables.
    pub(crate) fn sees_columns(&self, database: &str) -> bool {
        is_listed_schema(database) || self.in_database(database).has_any(Privileges::OF_COLUMN)
    }

    /// True if it may know that a routine is there.
    pub(crate) fn sees_routine(&self, kind: RoutineKind, database: &str, name: &str) -> bool {
        let of_routine = Privileges::EXECUTE | Privileges::CREATE_ROUTINE | Privileges::ALTER_ROUTINE;
        self.on_routine(kind, database, name).has_any(of_routine) || self.sees_all_routines()
    }

    /// True if it may read the text of every function.
    pub(crate) fn sees_all_routines(&self) -> bool {
        let shows = Dynamic::named("SHOW_ROUTINE").unwrap_or(Dynamic::NONE);
        self.global.has(Privileges::SELECT) || self.dynamic.has(shows)
    }

    /// The statements that make an account have this: the rows of SHOW GRANTS.
    pub(crate) fn statements(&self, user: &str, host: &str) -> Vec<String> {
        let account = format!("{}@{}", quote(user), quote(host));
        let option = |may| if may { " WITH GRANT OPTION" } else { "" };
        let names = match self.global.names().next() {
            Some(_) => self.global.to_string(),
            None => "USAGE".to_owned(),
        };
        let mut out =
            vec![format!("GRANT {names} ON *.* TO {account}{}", option(self.global.has(Privileges::GRANT)))];
        for (set, may) in [(self.dynamic.without(self.grantable), false), (self.grantable, true)] {
            if !set.is_empty() {
                let names = set.names().collect::<Vec<_>>().join(",");
                out.push(format!("GRANT {names} ON *.* TO {account}{}", option(may)));
            }
        }
        for (database, set) in &self.databases {
            let names = match set.and(Privileges::OF_DATABASE) {
                all if all == Privileges::OF_DATABASE => "ALL PRIVILEGES".to_owned(),
                none if none.is_empty() => "USAGE".to_owned(),
                some => some.to_string(),
            };
            let may = option(set.has(Privileges::GRANT));
            out.push(format!("GRANT {names} ON {}.* TO {account}{may}", quote(database)));
        }
        for kind in [RoutineKind::Procedure, RoutineKind::Function] {
            for (routine, set) in self.routines.iter().filter(|(routine, _)| routine.kind == kind) {
                let names = match set.and(OF_ROUTINE) {
                    none if none.is_empty() => "USAGE".to_owned(),
                    some => some.to_string(),
                };
                let (database, name) = (quote(&routine.database), quote(&routine.name));
                let may = option(set.has(Privileges::GRANT));
                out.push(format!("GRANT {names} ON {} {database}.{name} TO {account}{may}", kind.name()));
            }
        }
        out
    }

    /// For the catalog: three sets as u64, the number of databases, and for each its name and a
    /// set.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        for set in [self.global.0, self.dynamic.0, self.grantable.0] {
            out.extend_from_slice(&set.to_le_bytes());
        }
        put_lenenc(out, self.databases.len() as u64);
        for (name, set) in &self.databases {
            put_lenenc_bytes(out, name.as_bytes());
            out.extend_from_slice(&set.0.to_le_bytes());
        }
    }

    /// What it may do with single routines, which stands at the end of an account's record: their
    /// number, and for each 1 if it is a procedure, database, name, and a set. Nothing if there are
    /// none.
    pub(crate) fn encode_routines(&self, out: &mut Vec<u8>) {
        if self.routines.is_empty() {
            return;
        }
        put_lenenc(out, self.routines.len() as u64);
        for (routine, set) in &self.routines {
            out.push(u8::from(routine.kind == RoutineKind::Procedure));
            put_lenenc_bytes(out, routine.database.as_bytes());
            put_lenenc_bytes(out, routine.name.as_bytes());
            out.extend_from_slice(&set.0.to_le_bytes());
        }
    }

    /// What [`Self::encode_routines`] wrote.
    pub(crate) fn decode_routines(&mut self, c: &mut Cursor<'_>) -> Result<(), Truncated> {
        if c.remaining() == 0 {
            return Ok(());
        }
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| Truncated);
        for _ in 0..c.lenenc()? {
            let kind = if c.u8()? == 1 { RoutineKind::Procedure } else { RoutineKind::Function };
            let (database, name) = (text(c.lenenc_bytes()?)?, text(c.lenenc_bytes()?)?);
            self.routines.insert(RoutineName { kind, database, name }, Privileges(c.u64()?));
        }
        Ok(())
    }

    /// What [`Self::encode`] wrote.
    pub(crate) fn decode(c: &mut Cursor<'_>) -> Result<Self, Truncated> {
        let (global, dynamic, grantable) = (c.u64()?, c.u64()?, c.u64()?);
        let mut databases = BTreeMap::new();
        for _ in 0..c.lenenc()? {
            let name = String::from_utf8(c.lenenc_bytes()?.to_vec()).map_err(|_| Truncated)?;
            databases.insert(name, Privileges(c.u64()?));
        }
        Ok(Grants {
            global: Privileges(global),
            dynamic: Dynamic(dynamic),
            grantable: Dynamic(grantable),
            databases,
            routines: BTreeMap::new(),
        })
    }
}

/// What can be granted on a single routine, besides GRANT OPTION.
pub(crate) const OF_ROUTINE: Privileges = Privileges(Privileges::EXECUTE.0 | Privileges::ALTER_ROUTINE.0);

/// The schema that everybody may read: its tables show to each account what it may know.
fn is_open_schema(name: &str) -> bool {
    name.eq_ignore_ascii_case("information_schema")
}

/// The schemas of which everybody may know, and which tables they have.
fn is_listed_schema(name: &str) -> bool {
    is_open_schema(name) || name.eq_ignore_ascii_case("performance_schema")
}

/// A part of a database's pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Literal(char),
    /// `_`
    One,
    /// `%`
    Many,
}

fn parts(pattern: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        parts.push(match c {
            '\\' => Part::Literal(chars.next().unwrap_or('\\')),
            '%' => Part::Many,
            '_' => Part::One,
            c => Part::Literal(c),
        });
    }
    parts
}

/// True if every name that `wanted` stands for is one that `held` stands for.
fn pattern_covers(held: &str, wanted: &str) -> bool {
    let (held, wanted) = (parts(held), parts(wanted));
    let (mut h, mut w, mut retry) = (0, 0, None);
    while w < wanted.len() {
        match held.get(h) {
            Some(Part::Many) => {
                retry = Some((h + 1, w));
                h += 1;
            }
            Some(part) if *part == wanted[w] || (*part == Part::One && wanted[w] != Part::Many) => {
                (h, w) = (h + 1, w + 1);
            }
            _ => match &mut retry {
                Some((from, at)) => {
                    *at += 1;
                    (h, w) = (*from, *at);
                }
                None => return false,
            },
        }
    }
    held[h..].iter().all(|part| *part == Part::Many)
}

/// How far a pattern goes before its first wildcard.
fn literal_length(pattern: &str) -> usize {
    let mut escaped = false;
    for (at, c) in pattern.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '%' | '_' => return at,
            _ => {}
        }
    }
    pattern.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grants(databases: &[(&str, Privileges)]) -> Grants {
        let databases = databases.iter().map(|(name, set)| ((*name).to_owned(), *set)).collect();
        Grants { databases, ..Grants::default() }
    }

    #[test]
    fn the_most_exact_pattern_counts() {
        let all = grants(&[
            ("a%", Privileges::SELECT),
            ("ab%", Privileges::INSERT),
            ("abc", Privileges::DELETE),
            ("x\\_y", Privileges::UPDATE),
        ]);
        assert_eq!(all.in_database("ax"), Privileges::SELECT);
        assert_eq!(all.in_database("abx"), Privileges::INSERT);
        assert_eq!(all.in_database("abc"), Privileges::DELETE);
        assert_eq!(all.in_database("x_y"), Privileges::UPDATE);
        assert_eq!(all.in_database("xzy"), Privileges::NONE);
        assert!(all.sees_tables("ax") && !all.sees_tables("other"));
    }

    #[test]
    fn a_pattern_covers_what_stands_for_no_more() {
        for (held, wanted, expected) in [
            ("my_db", "my%db", false),
            ("my%db", "my_db", true),
            ("my%db", "my%db", true),
            ("my%", "my%db", true),
            ("my%db", "my%", false),
            ("my_db", "my\\_db", true),
            ("my\\_db", "my_db", false),
            ("my\\_db", "my\\_db", true),
            ("%", "_%", true),
            ("_%", "%", false),
            ("%", "%", true),
            ("db", "db", true),
            ("db", "d_", false),
            ("%a%b", "xayb", true),
            ("%a%b", "xa%", false),
            ("a_c", "a%c", false),
        ] {
            assert_eq!(pattern_covers(held, wanted), expected, "{held} {wanted}");
        }
    }

    #[test]
    fn what_is_kept_is_what_was_granted() {
        let mut some = grants(&[("d", Privileges::SELECT | Privileges::GRANT)]);
        some.dynamic = Dynamic::named("BACKUP_ADMIN").unwrap() | Dynamic::named("xa_recover_admin").unwrap();
        for all in [some, Grants::everything(), Grants::default()] {
            let mut bytes = Vec::new();
            all.encode(&mut bytes);
            assert_eq!(Grants::decode(&mut Cursor::new(&bytes)).unwrap(), all);
        }
    }

    #[test]
    fn grants_are_told_as_statements() {
        let mut some = grants(&[("d", Privileges::OF_DATABASE), ("e", Privileges::SELECT)]);
        some.dynamic = Dynamic::named("BACKUP_ADMIN").unwrap();
        assert_eq!(
            some.statements("u", "%"),
            [
                "GRANT USAGE ON *.* TO `u`@`%`",
                "GRANT BACKUP_ADMIN ON *.* TO `u`@`%`",
                "GRANT ALL PRIVILEGES ON `d`.* TO `u`@`%`",
                "GRANT SELECT ON `e`.* TO `u`@`%`",
            ]
        );
    }
}
