//! The privileges of MySQL 8.4, by name and as sets.

use std::fmt;
use std::ops::BitOr;

/// A static privilege: its name, where it can be granted, and what SHOW PRIVILEGES says of it.
#[derive(Debug)]
pub(crate) struct StaticPrivilege {
    /// In upper case.
    pub name: &'static str,
    /// It makes sense for a database.
    pub(crate) of_database: bool,
    /// The column Context of SHOW PRIVILEGES.
    pub context: &'static str,
    /// The column Comment of SHOW PRIVILEGES.
    pub comment: &'static str,
}

macro_rules! privileges {
    ($($symbol:ident, $name:literal, $of_database:literal, $context:literal, $comment:literal;)*) => {
        /// Every static privilege, in the order that SHOW GRANTS names them in; a privilege's bit
        /// is its place.
        pub(crate) const STATIC: &[StaticPrivilege] = &[$(StaticPrivilege {
            name: $name,
            of_database: $of_database,
            context: $context,
            comment: $comment,
        }),*];

        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum PrivilegeBit { $($symbol),* }

        impl Privileges {
            $(
                #[doc = $name]
                pub(crate) const $symbol: Privileges = Privileges(1 << PrivilegeBit::$symbol as u64);
            )*
        }
    };
}

privileges! {
    SELECT, "SELECT", true, "Tables", "To retrieve rows from table";
    INSERT, "INSERT", true, "Tables", "To insert data into tables";
    UPDATE, "UPDATE", true, "Tables", "To update existing rows";
    DELETE, "DELETE", true, "Tables", "To delete existing rows";
    CREATE, "CREATE", true, "Databases,Tables,Indexes", "To create new databases and tables";
    DROP, "DROP", true, "Databases,Tables", "To drop databases, tables, and views";
    RELOAD, "RELOAD", false, "Server Admin", "To reload or refresh tables, logs and privileges";
    SHUTDOWN, "SHUTDOWN", false, "Server Admin", "To shut down the server";
    PROCESS, "PROCESS", false, "Server Admin", "To view the plain text of currently executing queries";
    FILE, "FILE", false, "File access on server", "To read and write files on the server";
    REFERENCES, "REFERENCES", true, "Databases,Tables", "To have references on tables";
    INDEX, "INDEX", true, "Tables", "To create or drop indexes";
    ALTER, "ALTER", true, "Tables", "To alter the table";
    SHOW_DATABASES, "SHOW DATABASES", false, "Server Admin", "To see all databases with SHOW DATABASES";
    SUPER, "SUPER", false, "Server Admin", "To use KILL thread, SET GLOBAL, CHANGE REPLICATION SOURCE, etc.";
    CREATE_TEMPORARY_TABLES, "CREATE TEMPORARY TABLES", true, "Databases", "To use CREATE TEMPORARY TABLE";
    LOCK_TABLES, "LOCK TABLES", true, "Databases", "To use LOCK TABLES (together with SELECT privilege)";
    EXECUTE, "EXECUTE", true, "Functions,Procedures", "To execute stored routines";
    REPLICATION_SLAVE, "REPLICATION SLAVE", false, "Server Admin", "To read binary log events from the source";
    REPLICATION_CLIENT, "REPLICATION CLIENT", false, "Server Admin", "To ask where the replica or source servers are";
    CREATE_VIEW, "CREATE VIEW", true, "Tables", "To create new views";
    SHOW_VIEW, "SHOW VIEW", true, "Tables", "To see views with SHOW CREATE VIEW";
    CREATE_ROUTINE, "CREATE ROUTINE", true, "Databases", "To use CREATE FUNCTION/PROCEDURE";
    ALTER_ROUTINE, "ALTER ROUTINE", true, "Functions,Procedures", "To alter or drop stored functions/procedures";
    CREATE_USER, "CREATE USER", false, "Server Admin", "To create new users";
    EVENT, "EVENT", true, "Server Admin", "To create, alter, drop and execute events";
    TRIGGER, "TRIGGER", true, "Tables", "To use triggers";
    CREATE_TABLESPACE, "CREATE TABLESPACE", false, "Server Admin", "To create/alter/drop tablespaces";
    CREATE_ROLE, "CREATE ROLE", false, "Server Admin", "To create new roles";
    DROP_ROLE, "DROP ROLE", false, "Server Admin", "To drop roles";
}

/// The dynamic privileges of MySQL 8.4, sorted; a privilege's bit is its place.
pub(crate) const DYNAMIC: &[&str] = &[
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

const _: () = assert!(STATIC.len() < 63 && DYNAMIC.len() < 64);

/// A set of static privileges, GRANT OPTION among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) struct Privileges(pub(crate) u64);

impl Privileges {
    pub(crate) const NONE: Privileges = Privileges(0);
    /// GRANT OPTION: to give away what one has.
    pub(crate) const GRANT: Privileges = Privileges(1 << 63);
    /// Every static privilege but GRANT OPTION.
    pub(crate) const ALL: Privileges = Privileges((1 << STATIC.len()) - 1);
    /// Those that can be granted for a database, but GRANT OPTION.
    pub(crate) const OF_DATABASE: Privileges = {
        let (mut bits, mut i) = (0, 0);
        while i < STATIC.len() {
            if STATIC[i].of_database {
                bits |= 1 << i;
            }
            i += 1;
        }
        Privileges(bits)
    };

    /// Those that are about the columns of tables.
    pub(crate) const OF_COLUMN: Privileges =
        Privileges(Self::SELECT.0 | Self::INSERT.0 | Self::UPDATE.0 | Self::REFERENCES.0);
    /// Those that are about tables.
    pub(crate) const OF_TABLE: Privileges = Privileges(
        Self::OF_COLUMN.0
            | Self::DELETE.0
            | Self::CREATE.0
            | Self::DROP.0
            | Self::INDEX.0
            | Self::ALTER.0
            | Self::CREATE_VIEW.0
            | Self::SHOW_VIEW.0
            | Self::TRIGGER.0,
    );

    /// True if none is in it.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if all of `others` are in it.
    pub(crate) fn has(self, others: Privileges) -> bool {
        self.0 & others.0 == others.0
    }

    /// True if any of `others` is in it.
    pub(crate) fn has_any(self, others: Privileges) -> bool {
        self.0 & others.0 != 0
    }

    /// Those of it that `others` lacks.
    pub(crate) fn without(self, others: Privileges) -> Privileges {
        Privileges(self.0 & !others.0)
    }

    /// Those that both have.
    pub(crate) fn and(self, others: Privileges) -> Privileges {
        Privileges(self.0 & others.0)
    }

    /// Their names, in MySQL's order; GRANT OPTION has its own place in every text.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        STATIC.iter().enumerate().filter(move |(i, _)| self.0 >> i & 1 != 0).map(|(_, p)| p.name)
    }
}

impl BitOr for Privileges {
    type Output = Privileges;

    fn bitor(self, other: Privileges) -> Privileges {
        Privileges(self.0 | other.0)
    }
}

impl fmt::Display for Privileges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.names().collect::<Vec<_>>().join(", "))
    }
}

/// A set of dynamic privileges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(crate) struct Dynamic(pub(crate) u64);

impl Dynamic {
    pub(crate) const NONE: Dynamic = Dynamic(0);
    /// Every one.
    pub(crate) const ALL: Dynamic = Dynamic((1 << DYNAMIC.len()) - 1);

    /// The set of this one; `None` if there is none of this name.
    pub(crate) fn named(name: &str) -> Option<Dynamic> {
        let place = DYNAMIC.iter().position(|known| known.eq_ignore_ascii_case(name))?;
        Some(Dynamic(1 << place))
    }

    /// True if none is in it.
    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// True if all of `others` are in it.
    pub(crate) fn has(self, others: Dynamic) -> bool {
        self.0 & others.0 == others.0
    }

    /// Those of it that `others` lacks.
    pub(crate) fn without(self, others: Dynamic) -> Dynamic {
        Dynamic(self.0 & !others.0)
    }

    /// Their names, sorted.
    pub(crate) fn names(self) -> impl Iterator<Item = &'static str> {
        DYNAMIC.iter().enumerate().filter(move |(i, _)| self.0 >> i & 1 != 0).map(|(_, name)| *name)
    }
}

impl BitOr for Dynamic {
    type Output = Dynamic;

    fn bitor(self, other: Dynamic) -> Dynamic {
        Dynamic(self.0 | other.0)
    }
}

/// The privilege of this name; `None` if there is none. Words are divided by single spaces.
pub(crate) fn find(name: &str) -> Option<Privileges> {
    if name.eq_ignore_ascii_case("GRANT OPTION") {
        return Some(Privileges::GRANT);
    }
    if name.eq_ignore_ascii_case("USAGE") {
        return Some(Privileges::NONE);
    }
    let place = STATIC.iter().position(|p| p.name.eq_ignore_ascii_case(name))?;
    Some(Privileges(1 << place))
}
