//! The drivers of other languages against the real server: each has a small program in `drivers/`,
//! in its own language, which connects with TLS and without, sends and reads all types by every
//! method it has, runs prepared statements again and again, transactions, several statements in one
//! text, packets beyond 16 MiB, a hundred connections, and looks at error numbers. `cargo xtask
//! drivers` fetches the drivers; without them these tests fail and say so.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Server, start};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where `cargo xtask drivers` puts what it fetches and builds.
fn fetched(path: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("drivers").join(path);
    assert!(path.exists(), "{} is missing: run `cargo xtask drivers`", path.display());
    path
}

fn source(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/drivers").join(path)
}

fn server() -> Server {
    let server = start(&[]);
    server.sql(
        "CREATE DATABASE drivers; CREATE USER app@localhost IDENTIFIED BY 'secret'; GRANT ALL ON *.* TO app@localhost",
    );
    server
}

/// Runs a driver's program, which has to say `ok`.
fn check(server: &Server, program: &mut Command) {
    let variables = [
        ("DRIVER_PORT", server.port.to_string()),
        ("DRIVER_USER", "app".to_owned()),
        ("DRIVER_PASSWORD", "secret".to_owned()),
        ("DRIVER_SCHEMA", "drivers".to_owned()),
        ("DRIVER_CA", server.file("ca.pem").to_string_lossy().into_owned()),
    ];
    let output = program.envs(variables).output().unwrap_or_else(|e| panic!("{program:?}: {e}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (said, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && said.contains("ok "), "{program:?}\n{said}\n{error}");
}

fn python(program: &str) -> Command {
    let mut command = Command::new("/usr/bin/python3");
    command.arg("-B").arg(source("python").join(program));
    command
}

#[test]
fn pymysql() {
    check(&server(), &mut python("pymysql_driver.py"));
}

#[test]
fn mysqlclient() {
    check(&server(), &mut python("mysqlclient_driver.py"));
}

#[test]
fn mysql_connector_python() {
    check(&server(), python("connector_driver.py").env("PYTHONPATH", fetched("python")));
}

#[test]
fn go_sql_driver() {
    check(&server(), &mut Command::new(fetched("go/driver")));
}

#[test]
fn mysql2_for_node() {
    let modules = fetched("node/node_modules");
    check(&server(), Command::new("node").arg(source("node/driver.js")).env("NODE_PATH", modules));
}

#[test]
fn connector_j() {
    let server = server();
    let store = server.file("trust.jks");
    let ca = server.file("ca.pem");
    let made = Command::new("keytool")
        .args(["-importcert", "-noprompt", "-alias", "ca", "-storepass", "changeit", "-file"])
        .arg(&ca)
        .arg("-keystore")
        .arg(&store)
        .output()
        .unwrap();
    assert!(made.status.success(), "{made:?}");
    let jar = fetched("java/mysql-connector-j-8.4.0.jar");
    let mut java = Command::new("java");
    check(&server, java.arg("-cp").arg(jar).arg(source("java/Driver.java")).env("DRIVER_TRUST_STORE", store));
}

#[test]
fn mysql_for_rust() {
    check(&server(), &mut Command::new(fetched("rust/debug/driver-test")));
}
