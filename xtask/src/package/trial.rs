//! `cargo xtask package test`: the package's life in a clean root, step by step.
//!
//! 1. install  Files, modes, user; root has a password; the unit is sound.
//! 2. use      Changed settings count; rows are written; nobody comes in without a password; all
//!    that the server does is permitted by the unit.
//! 3. upgrade  A newer version with other defaults keeps the data and the changed settings, and
//!    restarts the service.
//! 4. remove   The data stays, and it is said; installed again, it is there.
//! 5. purge    All is gone.

use super::root::Root;
use super::service::{Service, UNIT};
use super::{deb, expect, step, syscalls};
use crate::Result;
use crate::packages::{self, Program, program};
use std::net::TcpListener;
use std::process::Command;

const PROGRAMS: &[Program] = &[
    program("debootstrap", "debootstrap"),
    program("mariadb", "mariadb-client"),
    program("strace", "strace"),
    program("systemd-analyze", "systemd"),
    program("dpkg-shlibdeps", "dpkg-dev"),
];

/// The most that `systemd-analyze security` may find exposed, in tenths.
const EXPOSURE_MAX: u32 = 15;

pub(super) fn run(profile: &str) -> Result<()> {
    packages::ensure(PROGRAMS)?;
    deb::build(profile)?;
    let package = deb::package(profile, None)?;
    let newer = deb::newer(&package)?;
    let root = Root::new()?;
    install(&root, &package)?;
    let port = change_settings(&root)?;
    first_use(&root, port)?;
    upgrade(&root, &newer, port)?;
    remove_and_purge(&root, &newer)?;
    println!("package test: all is as it should be");
    Ok(())
}

fn install(root: &Root, package: &std::path::Path) -> Result<()> {
    step("install");
    let text = root.install(package)?;
    expect(
        text.contains("root's password is in /etc/duramen/client.cnf"),
        "it is said where the password is",
    )?;
    for (path, expected) in [
        ("/usr/bin/duramen", "755 root:root"),
        ("/etc/duramen/my.cnf", "644 root:root"),
        ("/etc/duramen/root-password", "640 root:duramen"),
        ("/etc/duramen/client.cnf", "600 root:root"),
        ("/var/lib/duramen", "750 duramen:duramen"),
        (UNIT, "644 root:root"),
        ("/usr/share/bash-completion/completions/duramen", "644 root:root"),
        ("/usr/share/zsh/vendor-completions/_duramen", "644 root:root"),
        ("/usr/share/fish/vendor_completions.d/duramen.fish", "644 root:root"),
    ] {
        let mode = root.mode(path)?;
        expect(mode == expected, &format!("{path} is {expected}, found: {mode}"))?;
    }
    for page in ["duramen", "duramen-serve", "duramen-upgrade-check"] {
        let packed = root.run(&["zcat", &format!("/usr/share/man/man1/{page}.1.gz")])?;
        expect(packed.stdout.starts_with(b".TH "), &format!("man has a page {page}(1)"))?;
    }
    let conffiles = root.dpkg(&["-s", "duramen"])?;
    expect(conffiles.contains(" /etc/duramen/my.cnf "), "my.cnf is a file that dpkg asks about")?;
    let unit = root.at(UNIT);
    // It looks for the program on this machine.
    let text = std::fs::read_to_string(&unit)?;
    let copy = root.at("/run/duramen.service");
    std::fs::write(&copy, text.replace("=/usr/bin/", &format!("={}/", root.at("/usr/bin").display())))?;
    deb::done(Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(copy))?;
    expect(true, "systemd-analyze finds the unit sound")?;
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=true", "--no-pager", &format!("--threshold={EXPOSURE_MAX}")]);
    let output = security.arg(&unit).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let verdict = text.lines().last().unwrap_or_default();
    expect(output.status.success(), &format!("its exposure is {EXPOSURE_MAX} tenths at most: {verdict}"))
}

/// Changes the conffile: a free port, so that a server on this machine is in nobody's way, and a
/// setting that is looked for after each start.
fn change_settings(root: &Root) -> Result<u16> {
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let path = root.at("/etc/duramen/my.cnf");
    let text = std::fs::read_to_string(&path)?;
    let changed = text
        .replace("port         = 3306", &format!("port = {port}"))
        .replace("#max_connections         = 151", "max_connections = 123");
    if changed == text || !changed.contains("max_connections = 123") {
        return Err("my.cnf has other lines than this test changes".into());
    }
    std::fs::write(path, changed)?;
    Ok(port)
}

fn first_use(root: &Root, port: u16) -> Result<()> {
    step("use");
    let trace = root.at("/run/trace");
    let service = Service::start(root, Some(&trace))?;
    service.sql(
        "CREATE DATABASE shop; CREATE TABLE shop.tree (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20)); \
         INSERT INTO shop.tree (name) VALUES ('oak'), ('ash'); FLUSH BINARY LOGS",
    )?;
    check(&service, port)?;
    service.stop()?;
    let refused = syscalls::refused(
        &String::from_utf8_lossy(&std::fs::read(trace)?),
        &std::fs::read_to_string(root.at(UNIT))?,
    )?;
    expect(refused.is_empty(), &format!("the unit permits all that the server does; not: {refused:?}"))
}

/// The rows, the changed setting, and who may come in.
fn check(service: &Service<'_>, port: u16) -> Result<()> {
    let rows = service.sql("SELECT GROUP_CONCAT(name ORDER BY id), @@max_connections FROM shop.tree")?;
    expect(rows.trim() == "oak,ash\t123", "rows and changed settings are there")?;
    let port_option = format!("--port={port}");
    let tcp = ["--no-defaults", "--host=127.0.0.1", "--protocol=tcp", &*port_option, "--user=root"];
    for (way, options) in [("TCP", &tcp[..]), ("the socket", &["--no-defaults", "--user=root"])] {
        let refused = service.client(options, "SELECT 1").err().map(|e| e.to_string()).unwrap_or_default();
        expect(refused.contains("ERROR 1045"), &format!("nobody comes in by {way} without a password"))?;
    }
    expect(!service.log().contains("empty password"), "no account is without one")
}

fn upgrade(root: &Root, newer: &std::path::Path, port: u16) -> Result<()> {
    step("upgrade");
    let password = std::fs::read(root.at("/etc/duramen/root-password"))?;
    let settings = std::fs::read(root.at("/etc/duramen/my.cnf"))?;
    // As apt does where nobody can be asked.
    root.install_with(newer, &["--force-confdef", "--force-confold"])?;
    let state = root.dpkg(&["-s", "duramen"])?;
    let version = format!("Version: {}", deb::field(newer, "Version")?);
    expect(state.contains(&version), &format!("{version} is installed"))?;
    expect(std::fs::read(root.at("/etc/duramen/my.cnf"))? == settings, "the changed settings stay")?;
    expect(std::fs::read(root.at("/etc/duramen/root-password"))? == password, "the password stays")?;
    let script = std::fs::read_to_string(root.at("/var/lib/dpkg/info/duramen.postinst"))?;
    expect(script.contains("_dh_action=restart"), "an upgrade restarts the service, where systemd runs")?;
    let service = Service::start(root, None)?;
    check(&service, port)?;
    service.stop()
}

fn remove_and_purge(root: &Root, package: &std::path::Path) -> Result<()> {
    step("remove");
    let text = root.dpkg(&["-r", "duramen"])?;
    expect(text.contains("the data in /var/lib/duramen stays"), "it is said that the data stays")?;
    expect(!root.at("/usr/bin/duramen").exists(), "the program is gone")?;
    expect(root.at("/var/lib/duramen/auto.cnf").exists(), "the data is there")?;
    step("install again");
    root.install_with(package, &["--force-confdef", "--force-confold"])?;
    let service = Service::start(root, None)?;
    let rows = service.sql("SELECT COUNT(*), @@max_connections FROM shop.tree")?;
    expect(rows.trim() == "2\t123", "rows and changed settings are there")?;
    service.stop()?;
    step("purge");
    let text = root.dpkg(&["-P", "duramen"])?;
    expect(text.contains("removing the data in /var/lib/duramen"), "it is said that the data goes")?;
    for path in ["/var/lib/duramen", "/etc/duramen", "/run/duramen", "/usr/bin/duramen", UNIT] {
        expect(!root.at(path).exists(), &format!("{path} is gone"))?;
    }
    Ok(())
}
