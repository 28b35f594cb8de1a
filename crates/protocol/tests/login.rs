//! Logging in by every method, and being refused.
#![allow(clippy::unwrap_used)]

mod common;

use common::Server;
use protocol::client::{Client, ClientError, ConnectOptions, Tls};
use protocol::{Capabilities, Plugin};

fn options<'a>(user: &'a str, password: &'a str) -> ConnectOptions<'a> {
    ConnectOptions { user: user.as_bytes(), password: password.as_bytes(), ..ConnectOptions::default() }
}

fn check_works(client: Result<Client, ClientError>) {
    let result = client.unwrap().query("SELECT 42").unwrap();
    assert_eq!(result.rows, [[Some(b"42".to_vec())]]);
}

#[test]
fn every_account_by_every_way() {
    let server = Server::start();
    for (user, password) in
        [("native", "native-pass"), ("sha2", "sha2-pass"), ("empty", ""), ("empty_native", "")]
    {
        for plugin in [None, Some("mysql_native_password"), Some("caching_sha2_password"), Some("unknown")] {
            for tls in [Tls::Off, Tls::Unverified] {
                // The first login is a full one, the second is by the digest.
                server.authenticator.forget_digests();
                for _ in 0..2 {
                    check_works(server.tcp(&ConnectOptions { plugin, tls, ..options(user, password) }));
                }
                server.authenticator.forget_digests();
                for _ in 0..2 {
                    check_works(server.unix(&ConnectOptions { plugin, tls, ..options(user, password) }));
                }
            }
        }
    }
}

#[test]
fn wrong_passwords_and_users_are_told_the_same() {
    let server = Server::start();
    let refused = |user: &str, password: &str, tls| {
        let Err(ClientError::Server(error)) = server.tcp(&ConnectOptions { tls, ..options(user, password) })
        else {
            panic!("{user} came in");
        };
        assert_eq!((error.number, &error.sqlstate), (1045, b"28000"));
        let using = if password.is_empty() { "NO" } else { "YES" };
        let expected = format!("Access denied for user '{user}'@'127.0.0.1' (using password: {using})");
        assert_eq!(error.message, expected.as_bytes());
    };
    for tls in [Tls::Off, Tls::Unverified] {
        // Some names without an account are asked by either plugin.
        let nobodies: Vec<String> = (0..8).map(|n| format!("nobody{n}")).collect();
        for user in ["native", "sha2"].into_iter().chain(nobodies.iter().map(String::as_str)) {
            refused(user, "wrong", tls);
            refused(user, "", tls);
        }
        refused("empty", "wrong", tls);
        refused("empty_native", "wrong", tls);
    }
    check_works(server.tcp(&options("sha2", "sha2-pass")));
    refused("sha2", "wrong", Tls::Off);
    check_works(server.tcp(&options("sha2", "sha2-pass")));
}

#[test]
fn a_changed_password_makes_the_old_digest_worthless() {
    let server = Server::start();
    check_works(server.tcp(&options("sha2", "sha2-pass")));
    server.accounts.set("sha2", Plugin::CachingSha2, "new");
    assert_eq!(server.tcp(&options("sha2", "sha2-pass")).err().unwrap().number(), Some(1045));
    check_works(server.tcp(&options("sha2", "new")));
}

#[test]
fn locked_tls_only_and_unknown_plugins() {
    let server = Server::start();
    server.accounts.change("native", |account| account.locked = true);
    assert_eq!(server.tcp(&options("native", "native-pass")).err().unwrap().number(), Some(3118));
    assert_eq!(server.tcp(&options("native", "wrong")).err().unwrap().number(), Some(1045));
    server.accounts.change("sha2", |account| account.require_tls = true);
    assert_eq!(server.tcp(&options("sha2", "sha2-pass")).err().unwrap().number(), Some(1045));
    check_works(server.tcp(&ConnectOptions { tls: Tls::Unverified, ..options("sha2", "sha2-pass") }));
    server.accounts.change("empty", |account| account.plugin = Plugin::Other("auth_socket".into()));
    assert_eq!(server.tcp(&options("empty", "")).err().unwrap().number(), Some(1524));
}

#[test]
fn only_over_secure_transport() {
    let server = Server::start_with(protocol::Limits::default(), true);
    assert_eq!(server.tcp(&options("native", "native-pass")).err().unwrap().number(), Some(3159));
    check_works(server.tcp(&ConnectOptions { tls: Tls::Unverified, ..options("native", "native-pass") }));
    check_works(server.unix(&options("native", "native-pass")));
}

#[test]
fn the_certificate_can_be_verified() {
    let server = Server::start();
    server.tcp(&ConnectOptions { tls: Tls::Unverified, ..options("empty", "") }).unwrap();
    let ca = env::Env::read_file(&env::RealEnv, &server.socket.with_file_name("ca.pem")).unwrap();
    for server_name in ["localhost", "127.0.0.1"] {
        let tls = Tls::Verified { ca: &ca, server_name };
        let mut client = server.tcp(&ConnectOptions { tls, ..options("empty", "") }).unwrap();
        assert_eq!(client.tls().unwrap().version, "TLSv1.3");
        client.query("SELECT 1").unwrap();
    }
    let refused = |tls| {
        let refused = server.tcp(&ConnectOptions { tls, ..options("empty", "") });
        let Err(ClientError::Tls(why)) = refused else { panic!("{:?}", refused.err()) };
        why
    };
    assert!(refused(Tls::Verified { ca: &ca, server_name: "elsewhere" }).contains("certificate"));
    server.tcp(&ConnectOptions { tls: Tls::Signed { ca: &ca }, ..options("empty", "") }).unwrap();
    let other = Server::start();
    other.tcp(&ConnectOptions { tls: Tls::Unverified, ..options("empty", "") }).unwrap();
    let of_other = env::Env::read_file(&env::RealEnv, &other.socket.with_file_name("ca.pem")).unwrap();
    assert!(refused(Tls::Signed { ca: &of_other }).contains("certificate"));
    assert!(refused(Tls::Signed { ca: b"" }).contains("no certificate"));
}

#[test]
fn what_the_client_says_of_itself_is_kept() {
    let server = Server::start();
    let attributes: &[(&[u8], &[u8])] = &[(b"_client_name", b"test"), (b"program_name", b"me")];
    let mut client =
        server.tcp(&ConnectOptions { database: b"db", attributes, ..options("empty", "") }).unwrap();
    client.query("SELECT 1").unwrap();
    let login = server.logins.lock().pop().unwrap();
    assert_eq!((&login.user[..], login.account.host.as_str()), (&b"empty"[..], "%"));
    assert_eq!((login.database.as_deref(), login.collation), (Some(&b"db"[..]), Some(255)));
    assert_eq!(login.attributes[1], (b"program_name".to_vec(), b"me".to_vec()));
    assert_eq!((client.connection_id, client.server_version.as_str()), (7, "8.4.0-duramen"));
}

#[test]
fn another_user_on_the_same_connection() {
    let server = Server::start();
    for tls in [Tls::Off, Tls::Unverified] {
        let mut client = server.tcp(&ConnectOptions { tls, ..options("empty", "") }).unwrap();
        for (user, password) in
            [("sha2", "sha2-pass"), ("native", "native-pass"), ("empty", ""), ("empty_native", "")]
        {
            client.change_user(user.as_bytes(), password.as_bytes(), b"db").unwrap();
            let login = server.logins.lock().pop().unwrap();
            assert_eq!((login.user, login.database), (user.into(), Some(b"db".to_vec())));
            client.query("SELECT 1").unwrap();
        }
        assert_eq!(client.change_user(b"sha2", b"wrong", b"").unwrap_err().number(), Some(1045));
    }
}

#[test]
fn clients_without_plugins_have_native_passwords() {
    let server = Server::start();
    let without = Capabilities::PLUGIN_AUTH | Capabilities::PLUGIN_AUTH_LENENC | Capabilities::CONNECT_ATTRS;
    let old = |user, password| ConnectOptions {
        without,
        plugin: Some("mysql_native_password"),
        ..options(user, password)
    };
    check_works(server.tcp(&old("native", "native-pass")));
    assert_eq!(server.tcp(&old("native", "wrong")).err().unwrap().number(), Some(1045));
    assert_eq!(server.tcp(&old("sha2", "sha2-pass")).err().unwrap().number(), Some(1251));
}
