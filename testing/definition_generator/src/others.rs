//! Databases, events and accounts.

use super::text::{between, name, pick, tail};
use super::types::default_charset;
use super::{PREFIX, Session, Try, expression};
use stdx::random::Random;

/// Makes the case's database and enters it; false if there is none.
pub(super) fn database(random: &mut Random, number: u64, run: &mut Try<'_>) -> bool {
    let mut name = format!("{PREFIX}{number}_");
    if random.chance(1, 3) {
        name += &tail(random, 64 - name.len());
    }
    let quoted = format!("`{}`", name.replace('`', "``"));
    let charset = if random.chance(1, 3) {
        format!(" CHARACTER SET {}", default_charset(random))
    } else {
        String::new()
    };
    if !run(&format!("CREATE DATABASE {quoted}{charset}")) {
        return false;
    }
    if random.chance(1, 8) {
        run(&format!("ALTER DATABASE {quoted} CHARACTER SET {}", default_charset(random)));
    }
    run(&format!("USE {quoted}"))
}

/// An account, what it may, and changes to both.
pub(super) fn accounts(session: &Session, random: &mut Random, number: u64, run: &mut Try<'_>) {
    let mut user = format!("{PREFIX}{number}_");
    user += &tail(random, 32 - user.len());
    if random.chance(1, 3) {
        while user.chars().count() < 32 {
            user.push('u');
        }
    }
    let host = match random.below(6) {
        0 => "localhost".to_owned(),
        1 => "10.0.0.0/255.255.255.0".to_owned(),
        2 => "%.example_\\_x.com".to_owned(),
        3 => "h".repeat(between(random, 200, 255) as usize),
        4 => "::1".to_owned(),
        _ => "%".to_owned(),
    };
    let account = format!("{}@{}", session.literal(random, &user), session.literal(random, &host));
    let authentication = match random.below(6) {
        0 => String::new(),
        1 => format!(" IDENTIFIED BY {}", session.any_literal(random, 40)),
        2 => " IDENTIFIED WITH mysql_native_password BY 'x\\\\y'".to_owned(),
        3 => " IDENTIFIED WITH caching_sha2_password BY ''".to_owned(),
        4 => {
            " IDENTIFIED WITH mysql_native_password AS '*6BB4837EB74329105EE4568DDA7DC67ED2CA2AD9'".to_owned()
        }
        _ => " IDENTIFIED BY RANDOM PASSWORD".to_owned(),
    };
    let is_made = run(&format!("CREATE USER {account}{authentication}{}", options(session, random)));
    if !is_made && !run(&format!("CREATE USER {account}")) {
        return;
    }
    let tables = ["t", "a`b\\'_%"];
    for table in tables {
        run(&format!("CREATE TABLE `{}` (a INT, `b``\\\\` INT)", table.replace('`', "``")));
    }
    for _ in 0..between(random, 1, 5) {
        let privileges = pick(
            random,
            &[
                "SELECT",
                "ALL",
                "ALL PRIVILEGES",
                "SELECT (a), INSERT (a, `b``\\\\`)",
                "CREATE, DROP, ALTER, INDEX",
                "USAGE",
                "UPDATE, DELETE",
                "REFERENCES (a)",
                "EXECUTE",
                "GRANT OPTION",
            ],
        );
        let level =
            pick(random, &["t", "*", "*.*", "`a``b\\'_%`", "`c\\_%`.*", "`p%`.*", "`x``y`.*", "mysql.*"]);
        let grant = pick(random, &["", "", " WITH GRANT OPTION"]);
        run(&format!("GRANT {privileges} ON {level} TO {account}{grant}"));
        if random.chance(1, 5) {
            run(&format!("REVOKE {privileges} ON {level} FROM {account}"));
        }
        if random.chance(1, 5) {
            run(&format!(
                "GRANT {} ON *.* TO {account}",
                pick(
                    random,
                    &[
                        "RELOAD, PROCESS",
                        "BACKUP_ADMIN",
                        "SYSTEM_VARIABLES_ADMIN",
                        "REPLICATION SLAVE, REPLICATION CLIENT",
                        "SUPER"
                    ]
                )
            ));
        }
    }
    if random.chance(1, 2) {
        run(&format!("ALTER USER {account}{}", options(session, random)));
    }
    if random.chance(1, 3) {
        run(&format!("ALTER USER {account} IDENTIFIED BY {}", session.any_literal(random, 20)));
    }
    if random.chance(1, 4) {
        let renamed =
            format!("{user}2").chars().skip(usize::from(user.chars().count() > 31)).collect::<String>();
        let renamed = if renamed.starts_with(PREFIX) { renamed } else { user };
        run(&format!("RENAME USER {account} TO {}@'other'", session.literal(random, &renamed)));
    }
}

fn options(session: &Session, random: &mut Random) -> String {
    let mut out = String::new();
    if random.chance(1, 4) {
        out += pick(
            random,
            &[
                " REQUIRE SSL",
                " REQUIRE X509",
                " REQUIRE SUBJECT '/CN=a\\'b' AND ISSUER 'x'",
                " REQUIRE NONE",
            ],
        );
    }
    if random.chance(1, 4) {
        out += pick(
            random,
            &[" WITH MAX_QUERIES_PER_HOUR 1 MAX_USER_CONNECTIONS 4294967295", " WITH MAX_UPDATES_PER_HOUR 0"],
        );
    }
    if random.chance(1, 4) {
        out += pick(
            random,
            &[
                " PASSWORD EXPIRE",
                " PASSWORD EXPIRE INTERVAL 65535 DAY",
                " PASSWORD EXPIRE NEVER",
                " PASSWORD HISTORY 3 PASSWORD REUSE INTERVAL 4 DAY",
                " FAILED_LOGIN_ATTEMPTS 3 PASSWORD_LOCK_TIME UNBOUNDED",
                " PASSWORD REQUIRE CURRENT OPTIONAL",
            ],
        );
    }
    if random.chance(1, 5) {
        out += pick(random, &[" ACCOUNT LOCK", " ACCOUNT UNLOCK"]);
    }
    if random.chance(1, 3) {
        let text = session.any_literal(random, 30);
        let attribute = pick(random, &["'{\"a\\\\\\\\b\": \"é\"}'", "'{}'", "'{\"k\": [1, null]}'"]);
        out +=
            &if random.chance(1, 2) { format!(" COMMENT {text}") } else { format!(" ATTRIBUTE {attribute}") };
    }
    out
}

/// One to three events that never run, altered and dropped at times.
pub(super) fn events(session: &Session, random: &mut Random, run: &mut Try<'_>) {
    for number in 0..between(random, 1, 3) {
        let name = name(random, number);
        let quoted = session.quote(random, &name);
        let definer = pick(
            random,
            &[
                "",
                "",
                "",
                "DEFINER = CURRENT_USER ",
                "DEFINER = root@localhost ",
                "DEFINER = `no\\'one`@`%` ",
            ],
        );
        let (schedule, completion) = (schedule(random), completion(random));
        let status = pick(random, &["", " ENABLE", " DISABLE", " DISABLE ON REPLICA"]);
        let comment = comment(session, random);
        let body = event_body(session, random);
        let made = run(&format!(
            "CREATE {definer}EVENT {quoted} ON SCHEDULE {schedule}{completion}{status}{comment} DO {body}"
        ));
        if !made {
            continue;
        }
        match random.below(6) {
            0 => {
                let (schedule, completion) = (self::schedule(random), self::completion(random));
                run(&format!("ALTER EVENT {quoted} ON SCHEDULE {schedule}{completion}"));
            }
            1 => {
                let renamed = super::text::name(random, 100 + number);
                let renamed = session.quote(random, &renamed);
                let comment = self::comment(session, random);
                run(&format!("ALTER EVENT {quoted} RENAME TO {renamed} DISABLE{comment}"));
            }
            2 => {
                let body = event_body(session, random);
                run(&format!("ALTER EVENT {quoted} DO {body}"));
            }
            3 => {
                run(&format!("DROP EVENT {quoted}"));
            }
            _ => {}
        }
    }
}

/// Times after the last one that any test runs at.
fn schedule(random: &mut Random) -> String {
    let at = pick(random, &["'2999-01-31 23:59:59'", "20990101101010", "TIMESTAMP'2199-03-28 02:30:00'"]);
    if random.chance(1, 3) {
        return format!("AT {at} + INTERVAL {} DAY", random.below(40));
    }
    let every = pick(
        random,
        &["1 SECOND", "90 MINUTE", "'1:30' MINUTE_SECOND", "2 + 3 DAY", "1 QUARTER", "'1-2' YEAR_MONTH"],
    );
    let ends = pick(random, &["", "", " ENDS '4000-01-01'"]);
    format!("EVERY {every} STARTS {at}{ends}")
}

fn completion(random: &mut Random) -> &'static str {
    pick(random, &["", " ON COMPLETION PRESERVE", " ON COMPLETION NOT PRESERVE"])
}

fn comment(session: &Session, random: &mut Random) -> String {
    match random.chance(1, 3) {
        true => format!(" COMMENT {}", session.any_literal(random, 60)),
        false => String::new(),
    }
}

fn event_body(session: &Session, random: &mut Random) -> String {
    let expression = expression::any(session, random, &[], 3);
    match random.below(4) {
        0 => format!("BEGIN -- it's \\ a comment\n DECLARE a INT DEFAULT 1; SET @a = {expression}; END"),
        1 => format!("`l``1`: LOOP SET @b = {}; LEAVE `l``1`; END LOOP", session.any_literal(random, 20)),
        2 => format!("SELECT {expression}"),
        _ => format!("DO {expression}"),
    }
}
