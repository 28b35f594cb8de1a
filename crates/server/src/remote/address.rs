//! An address as a person writes it: `HOST:PORT`, or
//! `mysql://USER:PASSWORD@HOST:PORT/?ssl-mode=..&ssl-ca=FILE`.

use std::path::PathBuf;

/// A port that is not said.
const PORT: u16 = 3306;

/// Whether a connection is secured: MySQL's `ssl-mode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SslMode {
    Disabled,
    /// If the server can.
    Preferred,
    Required,
    /// An authority has signed the server's certificate.
    VerifyCa,
    /// The same, and it has the server's name.
    VerifyIdentity,
}

/// An address as it was written.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) user: Option<String>,
    pub(super) password: Option<String>,
    pub(super) ssl_mode: SslMode,
    pub(super) ssl_ca: Option<PathBuf>,
}

impl Address {
    /// Reads `HOST:PORT` or a URL.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let Some(url) = text.strip_prefix("mysql://").or_else(|| text.strip_prefix("mariadb://")) else {
            let (host, port) = host_and_port(text)?;
            let ssl_mode = SslMode::Preferred;
            return Ok(Self { host, port, user: None, password: None, ssl_mode, ssl_ca: None });
        };
        let (url, query) = url.split_once('?').unwrap_or((url, ""));
        let (authority, path) = url.split_once('/').unwrap_or((url, ""));
        if !path.is_empty() {
            return Err(format!("'{path}' names a database: say --database"));
        }
        let (account, place) = match authority.rsplit_once('@') {
            Some((account, place)) => (Some(account), place),
            None => (None, authority),
        };
        let (user, password) = match account.map(|a| a.split_once(':').unwrap_or((a, ""))) {
            Some((user, "")) => (Some(decoded(user)?), None),
            Some((user, password)) => (Some(decoded(user)?), Some(decoded(password)?)),
            None => (None, None),
        };
        let (host, port) = host_and_port(place)?;
        let mut address = Self { host, port, user, password, ssl_mode: SslMode::Preferred, ssl_ca: None };
        for option in query.split('&').filter(|option| !option.is_empty()) {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            match name {
                "ssl-mode" => address.ssl_mode = ssl_mode(value)?,
                "ssl-ca" => address.ssl_ca = Some(decoded(value)?.into()),
                _ => return Err(format!("'{name}' is unknown: ssl-mode and ssl-ca can be said")),
            }
        }
        match (address.ssl_mode, &address.ssl_ca) {
            (SslMode::VerifyCa | SslMode::VerifyIdentity, None) => {
                return Err(
                    "ssl-mode=VERIFY_CA and VERIFY_IDENTITY need an ssl-ca, a file with certificates"
                        .to_owned(),
                );
            }
            // As in MySQL's programs: who names an authority wants it asked.
            (SslMode::Preferred | SslMode::Required, Some(_)) => address.ssl_mode = SslMode::VerifyCa,
            _ => {}
        }
        Ok(address)
    }
}

fn ssl_mode(value: &str) -> Result<SslMode, String> {
    match value.to_ascii_uppercase().as_str() {
        "DISABLED" => Ok(SslMode::Disabled),
        "PREFERRED" => Ok(SslMode::Preferred),
        "REQUIRED" => Ok(SslMode::Required),
        "VERIFY_CA" => Ok(SslMode::VerifyCa),
        "VERIFY_IDENTITY" => Ok(SslMode::VerifyIdentity),
        _ => Err(format!(
            "'{value}' is no ssl-mode: DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY"
        )),
    }
}

/// `host`, `host:port`, `[::1]:port`.
fn host_and_port(text: &str) -> Result<(String, u16), String> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':').ok_or("a port comes behind ':'")?)),
            None => return Err("a ']' is missing".to_owned()),
        },
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        Some(port) => port.parse().map_err(|_| format!("'{port}' is no port"))?,
        None => PORT,
    };
    match host.is_empty() {
        true => Err("a host is missing: HOST:PORT, or mysql://USER:PASSWORD@HOST:PORT".to_owned()),
        false => Ok((host.to_owned(), port)),
    }
}

/// A text of a URL, in which `%40` is an `@`.
fn decoded(text: &str) -> Result<String, String> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let value = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        out.push(value.ok_or_else(|| format!("in '{text}' two hexadecimal digits belong behind '%'"))?);
        rest = &after[2..];
    }
    String::from_utf8(out).map_err(|_| format!("'{text}' is not UTF-8"))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn parsed(text: &str) -> String {
        match Address::parse(text) {
            Ok(a) => format!(
                "{} {} {} {} {:?}",
                a.host,
                a.port,
                a.user.as_deref().unwrap_or("-"),
                a.password.as_deref().unwrap_or("-"),
                a.ssl_mode
            ),
            Err(e) => e,
        }
    }

    #[test]
    fn addresses_are_read_in_each_form() {
        let check = |text: &str, expected: &str| assert_eq!(parsed(text), expected, "{text}");
        check("db", "db 3306 - - Preferred");
        check("db:33", "db 33 - - Preferred");
        check("[::1]:33", "::1 33 - - Preferred");
        check("mysql://u@db", "db 3306 u - Preferred");
        check("mysql://u:p%40%3a%2f@db:1/", "db 1 u p@:/ Preferred");
        check("mysql://u:p@q@[::1]:1?ssl-mode=required", "::1 1 u p@q Required");
        check("mysql://db?ssl-mode=VERIFY_IDENTITY&ssl-ca=/ca.pem", "db 3306 - - VerifyIdentity");
        check("mysql://db?ssl-mode=DISABLED&ssl-ca=/ca.pem", "db 3306 - - Disabled");
        // The authority was named, and not asked.
        for mode in ["", "ssl-mode=PREFERRED&", "ssl-mode=REQUIRED&", "ssl-mode=VERIFY_CA&"] {
            check(&format!("mysql://db?{mode}ssl-ca=/ca.pem"), "db 3306 - - VerifyCa");
        }
    }

    #[test]
    fn mistakes_in_addresses_are_told() {
        let check =
            |text, expected: &str| assert!(parsed(text).contains(expected), "{text}: {}", parsed(text));
        check("", "a host is missing");
        check("db:x", "'x' is no port");
        check("db:70000", "'70000' is no port");
        check("[::1", "']' is missing");
        check("mysql://u:%4@db", "two hexadecimal digits");
        check("mysql://db/shop", "names a database");
        check("mysql://db?tls=1", "'tls' is unknown");
        check("mysql://db?ssl-mode=VERIFY", "is no ssl-mode");
        check("mysql://db?ssl-mode=VERIFY_CA", "need an ssl-ca");
        check("mysql://db?ssl-mode=VERIFY_IDENTITY", "need an ssl-ca");
    }
}
