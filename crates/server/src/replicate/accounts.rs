//! The accounts of a MySQL or Duramen, with their passwords' hashes and privileges.

use super::local::{Local, LocalSession};
use crate::log_tool::ToolError;
use crate::remote::place::{Facts, Flavor};
use crate::remote::{Remote, Runs, text};

/// Copies them; returns what is refused here, with the reason.
///
/// # Errors
/// The source's.
pub(super) fn copy(local: &Local, remote: &Remote, facts: &Facts) -> Result<Vec<String>, ToolError> {
    if facts.flavor == Flavor::MariaDb {
        return Ok(vec![
            "accounts: make them anew, for MariaDB's hashes and privileges are its own".to_owned(),
        ]);
    }
    let mut source = remote.session()?;
    // A Duramen refuses it, and shows hashes as texts with escapes: either is read below.
    let _ = source.try_query("SET SESSION print_identified_with_as_hex = ON");
    let accounts =
        source.rows("SELECT User, Host FROM mysql.user WHERE User NOT LIKE 'mysql.%' ORDER BY 1, 2");
    let accounts = match accounts {
        Ok(accounts) => accounts,
        Err(e) => return Ok(vec![format!("accounts: {e}")]),
    };
    let mut missed = Vec::new();
    for account in accounts {
        let mut cells = account.into_iter().map(|cell| cell.map(text).unwrap_or_default());
        let mut next = || quoted(&cells.next().unwrap_or_default());
        let account = format!("{}@{}", next(), next());
        let shown = source
            .first(&format!("SHOW CREATE USER {account}"))
            .and_then(|[created]| Ok((created, source.rows(&format!("SHOW GRANTS FOR {account}"))?)));
        let (created, grants) = match shown {
            Ok(shown) => shown,
            Err(e) => {
                missed.push(format!("account {account}: {e}"));
                continue;
            }
        };
        let grants: Vec<String> = grants.into_iter().flatten().flatten().map(text).collect();
        let created = created.unwrap_or_default();
        missed.extend(local.with_session(|session| make(session, &account, &created, &grants))?);
    }
    Ok(missed)
}

/// A part of an account's name, where backslashes are escapes.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

fn make(
    session: &mut LocalSession,
    account: &str,
    created: &str,
    grants: &[String],
) -> Result<Vec<String>, ToolError> {
    session.takes_definitions()?;
    // The account of this server's administrator is there already.
    session.run(&format!("CREATE USER IF NOT EXISTS {account}"))?;
    let altered = created.replacen("CREATE USER", "ALTER USER", 1);
    let mut missed = Vec::new();
    if let Err(e) = session.try_run(&altered) {
        let dropped = format!("DROP USER {account}");
        missed.push(format!("account {account}: {}", e.message));
        // An account without its password would be open to all.
        if !account.starts_with("'root'") {
            session.run(&dropped)?;
        }
        return Ok(missed);
    }
    for grant in grants {
        if session.try_run(grant).is_ok() {
            continue;
        }
        for single in singly(grant) {
            if let Err(e) = session.try_run(&single) {
                missed.push(format!("privilege of {account}: {single}: {}", e.message));
            }
        }
    }
    Ok(missed)
}

/// `GRANT a, b ON ..` as one statement for each privilege, so that one which is unknown here does
/// not take the others away.
fn singly(grant: &str) -> Vec<String> {
    let Some((privileges, rest)) = grant.strip_prefix("GRANT ").and_then(|rest| rest.split_once(" ON "))
    else {
        return vec![grant.to_owned()];
    };
    match privileges.contains('(') {
        true => vec![grant.to_owned()],
        false => {
            privileges.split(',').map(|privilege| format!("GRANT {} ON {rest}", privilege.trim())).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted(r"u'\"), r"'u''\\'");
    }

    #[test]
    fn privileges_are_taken_one_by_one() {
        assert_eq!(
            singly("GRANT SELECT, FIREWALL_ADMIN ON *.* TO `a`@`%`"),
            ["GRANT SELECT ON *.* TO `a`@`%`", "GRANT FIREWALL_ADMIN ON *.* TO `a`@`%`"]
        );
        assert_eq!(singly("GRANT `r`@`%` TO `a`@`%`"), ["GRANT `r`@`%` TO `a`@`%`"]);
        assert_eq!(singly("GRANT SELECT (`a`, `b`) ON `d`.`t` TO `a`@`%`").len(), 1);
    }
}
