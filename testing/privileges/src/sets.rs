//! Sets of privileges, and the statements that give them to an account.

use crate::Result;
use crate::cases::File;
use std::collections::BTreeSet;
use std::fmt;

/// The static privileges of MySQL 8.4, and whether one can be granted on a database.
pub const STATIC: &[(&str, bool)] = &[
    ("SELECT", true),
    ("INSERT", true),
    ("UPDATE", true),
    ("DELETE", true),
    ("CREATE", true),
    ("DROP", true),
    ("RELOAD", false),
    ("SHUTDOWN", false),
    ("PROCESS", false),
    ("FILE", false),
    ("REFERENCES", true),
    ("INDEX", true),
    ("ALTER", true),
    ("SHOW DATABASES", false),
    ("SUPER", false),
    ("CREATE TEMPORARY TABLES", true),
    ("LOCK TABLES", true),
    ("EXECUTE", true),
    ("REPLICATION SLAVE", false),
    ("REPLICATION CLIENT", false),
    ("CREATE VIEW", true),
    ("SHOW VIEW", true),
    ("CREATE ROUTINE", true),
    ("ALTER ROUTINE", true),
    ("CREATE USER", false),
    ("EVENT", true),
    ("TRIGGER", true),
    ("CREATE TABLESPACE", false),
    ("CREATE ROLE", false),
    ("DROP ROLE", false),
    ("GRANT OPTION", true),
];

/// The dynamic privileges of MySQL 8.4. The list is not asked of the server under test, which could
/// lack one.
pub const DYNAMIC: &[&str] = &[
    "ALLOW_NONEXISTENT_DEFINER",
    "APPLICATION_PASSWORD_ADMIN",
    "AUDIT_ABORT_EXEMPT",
    "AUDIT_ADMIN",
    "AUTHENTICATION_POLICY_ADMIN",
    "BACKUP_ADMIN",
    "BINLOG_ADMIN",
    "BINLOG_ENCRYPTION_ADMIN",
    "CLONE_ADMIN",
    "CONNECTION_ADMIN",
    "ENCRYPTION_KEY_ADMIN",
    "FIREWALL_EXEMPT",
    "FLUSH_OPTIMIZER_COSTS",
    "FLUSH_PRIVILEGES",
    "FLUSH_STATUS",
    "FLUSH_TABLES",
    "FLUSH_USER_RESOURCES",
    "GROUP_REPLICATION_ADMIN",
    "GROUP_REPLICATION_STREAM",
    "INNODB_REDO_LOG_ARCHIVE",
    "INNODB_REDO_LOG_ENABLE",
    "OPTIMIZE_LOCAL_TABLE",
    "PASSWORDLESS_USER_ADMIN",
    "PERSIST_RO_VARIABLES_ADMIN",
    "REPLICATION_APPLIER",
    "REPLICATION_SLAVE_ADMIN",
    "RESOURCE_GROUP_ADMIN",
    "RESOURCE_GROUP_USER",
    "ROLE_ADMIN",
    "SENSITIVE_VARIABLES_OBSERVER",
    "SERVICE_CONNECTION_ADMIN",
    "SESSION_VARIABLES_ADMIN",
    "SET_ANY_DEFINER",
    "SHOW_ROUTINE",
    "SYSTEM_USER",
    "SYSTEM_VARIABLES_ADMIN",
    "TABLE_ENCRYPTION_ADMIN",
    "TELEMETRY_LOG_ADMIN",
    "TRANSACTION_GTID_TAG",
    "XA_RECOVER_ADMIN",
];

/// A privilege, on a database or on everything.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Privilege {
    /// As GRANT names it.
    pub name: String,
    /// A database's name or pattern.
    pub database: Option<String>,
    /// With the right to give it away.
    pub grantable: bool,
}

/// What an account has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Set {
    /// These; nothing if there are none.
    These(Vec<Privilege>),
    /// Everything but this.
    AllBut(String),
    /// Everything.
    All,
}

impl Set {
    /// `nothing`, `all`, `all but SUPER`, or `SELECT@pa, PROCESS, INSERT@pb*` (a star: WITH GRANT
    /// OPTION).
    pub fn parse(text: &str) -> Result<Set> {
        match text {
            "nothing" => return Ok(Set::These(Vec::new())),
            "all" => return Ok(Set::All),
            _ => {}
        }
        if let Some(name) = text.strip_prefix("all but ") {
            return Ok(Set::AllBut(name.to_owned()));
        }
        text.split(',').map(|one| Privilege::parse(one.trim())).collect::<Result<_>>().map(Set::These)
    }

    /// True if the account has a privilege of this name, wherever.
    pub fn has(&self, name: &str) -> bool {
        match self {
            Set::These(list) => list.iter().any(|p| p.name == name),
            Set::AllBut(but) => but != name,
            Set::All => true,
        }
    }

    /// The statements that give it to an account that has nothing.
    pub fn grants(&self, account: &str) -> Vec<String> {
        match self {
            Set::These(list) => list.iter().map(|p| p.grant(account)).collect(),
            Set::All => vec![format!("GRANT ALL ON *.* TO {account} WITH GRANT OPTION")],
            Set::AllBut(name) => vec![
                format!("GRANT ALL ON *.* TO {account} WITH GRANT OPTION"),
                format!("REVOKE {name} ON *.* FROM {account}"),
            ],
        }
    }

    /// The sets that lack one of these privileges.
    fn less(&self) -> Vec<Set> {
        let Set::These(list) = self else { return Vec::new() };
        (0..list.len())
            .map(|at| {
                let mut list = list.clone();
                list.remove(at);
                Set::These(list)
            })
            .collect()
    }
}

impl Privilege {
    fn parse(text: &str) -> Result<Privilege> {
        let (text, grantable) = match text.strip_suffix('*') {
            Some(text) => (text, true),
            None => (text, false),
        };
        let (name, database) = match text.split_once('@') {
            Some((name, database)) => (name, Some(database.to_owned())),
            None => (text, None),
        };
        let known = STATIC.iter().any(|(known, _)| *known == name) || DYNAMIC.contains(&name);
        if !known {
            return Err(format!("no privilege is called `{name}`").into());
        }
        Ok(Privilege { name: name.to_owned(), database, grantable })
    }

    fn grant(&self, account: &str) -> String {
        let level = match &self.database {
            Some(database) => format!("`{database}`.*"),
            None => "*.*".to_owned(),
        };
        let option = if self.grantable { " WITH GRANT OPTION" } else { "" };
        format!("GRANT {} ON {level} TO {account}{option}", self.name)
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Set::These(list) if list.is_empty() => f.write_str("nothing"),
            Set::These(list) => {
                let list: Vec<String> = list
                    .iter()
                    .map(|p| {
                        let at = p.database.as_ref().map(|d| format!("@{d}")).unwrap_or_default();
                        format!("{}{at}{}", p.name, if p.grantable { "*" } else { "" })
                    })
                    .collect();
                f.write_str(&list.join(", "))
            }
            Set::AllBut(name) => write!(f, "all but {name}"),
            Set::All => f.write_str("all"),
        }
    }
}

/// The sets that every case is tried with: nothing, each privilege alone for everything and for the
/// database `pa`, all but each, all.
pub fn common() -> Vec<Set> {
    let one = |name: &str, database: Option<&str>| {
        let database = database.map(str::to_owned);
        Set::These(vec![Privilege { name: name.to_owned(), database, grantable: false }])
    };
    let names = || STATIC.iter().map(|(name, _)| *name).chain(DYNAMIC.iter().copied());
    let mut sets = vec![Set::These(Vec::new()), Set::All];
    sets.extend(names().map(|name| one(name, None)));
    sets.extend(STATIC.iter().filter(|(_, of_database)| *of_database).map(|(name, _)| one(name, Some("pa"))));
    sets.extend(names().map(|name| Set::AllBut(name.to_owned())));
    sets
}

/// All sets that some case is tried with; the common ones first.
pub fn all(files: &[File]) -> Vec<Set> {
    let mut sets = common();
    let mut known: BTreeSet<Set> = sets.iter().cloned().collect();
    for case in files.iter().flat_map(|file| &file.cases) {
        for set in sets_of_case(&case.needs).into_iter().chain(case.only.iter().cloned()) {
            if known.insert(set.clone()) {
                sets.push(set);
            }
        }
    }
    sets
}

/// The sets of a case: what it needs, and that but one.
pub fn sets_of_case(needs: &[Set]) -> Vec<Set> {
    needs.iter().flat_map(|set| [vec![set.clone()], set.less()].concat()).collect()
}
