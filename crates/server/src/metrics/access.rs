//! Who may see the status page.
//!
//! (A1) Where others than this machine's users can connect, a token is needed
//!      (`duramen_metrics_token_file`); until there is one, nobody sees the page.
//! (A2) On loopback without a token the request must be for a name of loopback: a page of another
//!      site whose name was made to point to 127.0.0.1 (DNS rebinding) may not read it.
//! (A3) How long a comparison takes does not tell how much of a token is right.
//!
//! `/metrics` has counters and no text, and stays open: who reaches the address may scrape it.

use super::http::{Request, Response};
use crate::secret_file::first_line;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use env::Env;
use std::net::IpAddr;
use std::path::Path;

/// What a file must have for its first line, so that it can't be guessed.
const TOKEN_MIN: usize = 16;

/// Who may see the page at one address.
pub(super) struct Access {
    /// SHA-256 of the token (A3).
    token: Option<Vec<u8>>,
}

impl Access {
    /// Reads the token if `path` names a file.
    ///
    /// # Errors
    /// What is wrong with the file, and what to do.
    pub(super) fn new(env: &dyn Env, path: Option<&Path>) -> Result<Self, String> {
        let token = path.map(|path| first_line(env, path, TOKEN_MIN)).transpose();
        let token = token.map_err(|e| format!("duramen_metrics_token_file: {e}"))?;
        Ok(Self { token: token.map(|token| hash(&token)) })
    }

    pub(super) fn has_token(&self) -> bool {
        self.token.is_some()
    }

    /// # Errors
    /// The answer to one who may not see it.
    pub(super) fn check(&self, request: &Request<'_>, is_loopback: bool) -> Result<(), Response> {
        let Some(token) = &self.token else {
            let refuse = |why| Err(Response::text("403 Forbidden", why));
            return match (is_loopback, request.host.is_some_and(names_loopback)) {
                (true, true) => Ok(()),
                (true, false) => refuse(
                    "the status page was asked for by a name that is not localhost, 127.0.0.1 or [::1]: use one of these, \
                     or set duramen_metrics_token_file\n",
                ),
                (false, _) => refuse(
                    "the status page is for loopback only, until duramen_metrics_token_file names a file whose first \
                     line is a token; metrics for Prometheus are at /metrics\n",
                ),
            };
        };
        let given = request.authorization.and_then(given_token);
        if given.is_some_and(|given| verify_slices_are_equal(&hash(&given), token).is_ok()) {
            return Ok(());
        }
        let refusal = Response::text(
            "401 Unauthorized",
            "the status page needs the token of duramen_metrics_token_file: as a password of any user, or as \
             'Authorization: Bearer TOKEN'\n",
        );
        Err(refusal.with("WWW-Authenticate: Basic realm=\"duramen\", charset=\"UTF-8\""))
    }
}

fn hash(token: &[u8]) -> Vec<u8> {
    digest(&SHA256, token).as_ref().to_vec()
}

/// What an Authorization header says: the password of whatever user, or a bearer's token.
fn given_token(header: &str) -> Option<Vec<u8>> {
    let (scheme, value) = header.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(value.trim().as_bytes().to_vec());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let pair = STANDARD.decode(value.trim()).ok()?;
    let colon = pair.iter().position(|&b| b == b':')?;
    Some(pair[colon + 1..].to_vec())
}

/// True for localhost and addresses of loopback, with or without a port.
fn names_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(inner) => inner.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(host: Option<&'a str>, authorization: Option<&'a str>) -> Request<'a> {
        Request { is_head: false, path: "/", query: "", host, authorization }
    }

    #[test]
    fn without_a_token_only_names_of_loopback_are_answered() {
        let access = Access { token: None };
        let is_seen =
            |host: Option<&str>, is_loopback| access.check(&request(host, None), is_loopback).is_ok();
        for host in ["localhost", "LOCALHOST:9104", "127.0.0.1:9104", "127.8.9.1", "[::1]:80", "[::1]"] {
            assert!(is_seen(Some(host), true), "{host}");
            assert!(!is_seen(Some(host), false), "{host}");
        }
        for host in
            ["", "evil.example", "localhost.evil.example", "10.0.0.5:9104", "127.0.0.1.nip.io", "[::2]"]
        {
            assert!(!is_seen(Some(host), true), "{host}");
        }
        assert!(!is_seen(None, true));
    }

    #[test]
    fn a_token_is_asked_for_everywhere() {
        let access = Access { token: Some(hash(b"0123456789abcdef")) };
        let is_seen = |authorization: Option<&str>| {
            [true, false].map(|is_loopback| {
                access.check(&request(Some("proxy.example"), authorization), is_loopback).is_ok()
            }) == [true, true]
        };
        assert!(is_seen(Some("Bearer 0123456789abcdef")) && is_seen(Some("bearer  0123456789abcdef ")));
        let basic = |pair: &str| format!("Basic {}", STANDARD.encode(pair));
        assert!(is_seen(Some(&basic("ann:0123456789abcdef"))) && is_seen(Some(&basic(":0123456789abcdef"))));
        for wrong in [
            "Bearer 0123456789abcdeF",
            "Bearer 0123456789abcdef0",
            "Bearer ",
            "Bearer",
            "Digest 0123456789abcdef",
            "Basic %%%",
            "0123456789abcdef",
            &basic("0123456789abcdef"),
            &basic("ann:0123456789abcdef:"),
        ] {
            assert!(!is_seen(Some(wrong)), "{wrong}");
        }
        assert!(!is_seen(None));
    }
}
