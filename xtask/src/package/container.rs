//! `cargo xtask package image-test`: the image run by `podman`, as its users run it.
//!
//! 1. refuse  Without the file of root's password it does not start, and says so.
//! 2. use     On a read-only root, without capabilities, as its own user: statements of `init_file`
//!    have run, rows are written, nobody comes in without a password.
//! 3. stop    `podman stop` ends it well within its time; the volume has the rows.
//! 4. tools   The same program makes a backup of the volume, and checks it.

use super::deb::{done, target};
use super::image::{self, NAME, Storage};
use super::{expect, step};
use crate::Result;
use crate::packages::{self, Program, program};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAMS: &[Program] =
    &[program("podman", "podman"), program("runc", "runc"), program("mariadb", "mariadb-client")];

/// How long the server may take until it serves, and until it has stopped.
const PATIENCE: Duration = Duration::from_secs(60);

const INIT: &str = "CREATE DATABASE IF NOT EXISTS shop;\n\
    CREATE USER IF NOT EXISTS app@'%' IDENTIFIED BY 'of the application';\nGRANT ALL ON shop.* TO app@'%';\n";

pub(super) fn run(profile: &str) -> Result<()> {
    packages::ensure(PROGRAMS)?;
    println!("made {}", image::build(profile)?.display());
    let folder = tempfile::tempdir()?;
    let secret = folder.path().join("secret");
    std::fs::write(&secret, "the password of root\n")?;
    std::fs::write(folder.path().join("init.sql"), INIT)?;
    // The container's user reads it, and nobody else.
    done(Command::new("chown").arg("999:999").arg(&secret))?;
    done(Command::new("chmod").arg("400").arg(&secret))?;
    let machine = Machine { storage: Storage::new(&target().join("package"))?, folder: folder.path() };
    let outcome = trial(&machine);
    // What it made goes, whatever came of it.
    for args in [&["rm", "--force", "--time=5", CONTAINER][..], &["volume", "rm", "--force", VOLUME]] {
        machine.podman().args(args).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    }
    outcome?;
    println!("image test: all is as it should be");
    Ok(())
}

const CONTAINER: &str = "duramen-image-test";
const VOLUME: &str = "duramen-image-test-data";

fn trial(machine: &Machine<'_>) -> Result<()> {
    step("refuse");
    let refused = machine.start(&["--rm"], &["--port=0"])?.wait_with_output()?;
    let text = String::from_utf8_lossy(&refused.stderr).into_owned();
    let says_why =
        text.contains("duramen_root_password_file: can't read '/run/secrets/duramen-root-password'");
    expect(!refused.status.success() && says_why, "without root's password it says what is missing")?;
    step("use");
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let secret = format!("{}:/run/secrets/duramen-root-password:ro", machine.folder.join("secret").display());
    let init = format!("{}:/init.sql:ro", machine.folder.join("init.sql").display());
    let port_option = format!("--port={port}");
    let options = ["--volume", &secret, "--volume", &init];
    let arguments = [&*port_option, "--init-file=/init.sql"];
    let first = machine.start(&options, &arguments)?;
    machine.wait_until_served(port)?;
    let root = ["--user=root", "--password=the password of root"];
    let app = ["--user=app", "--password=of the application"];
    let made = "CREATE TABLE shop.tree (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20)); \
                INSERT INTO shop.tree (name) VALUES ('oak'), ('ash')";
    expect(sql(port, &app, made)?.status.success(), "an account of init_file writes rows")?;
    expect(sql(port, &root, "SHOW DATABASES")?.status.success(), "root has the password of the file")?;
    let without = sql(port, &["--user=root"], "SELECT 1")?;
    expect(String::from_utf8_lossy(&without.stderr).contains("ERROR 1045"), "nobody comes in without one")?;
    let zone = sql(port, &root, "SELECT CONVERT_TZ('2026-07-01 12:00:00', 'UTC', 'Europe/Berlin')")?;
    expect(zone.stdout == b"2026-07-01 14:00:00\n", "time zones are known by name")?;
    step("stop");
    let stopped = Instant::now();
    machine.stop(first)?;
    expect(stopped.elapsed() < PATIENCE, "podman stop ends it")?;
    let second = machine.start(&options, &arguments)?;
    machine.wait_until_served(port)?;
    let rows = sql(port, &app, "SELECT GROUP_CONCAT(name ORDER BY id) FROM shop.tree")?;
    expect(rows.stdout == b"oak,ash\n", "the volume has the rows")?;
    step("tools");
    let script = [
        &["backup", "--datadir=/var/lib/duramen", "--to=/tmp/backup"][..],
        &["backup", "verify", "--from=/tmp/backup"],
    ];
    for arguments in script {
        let mut exec = machine.podman();
        exec.args(["exec", CONTAINER, "/usr/bin/duramen"]).args(arguments);
        expect(exec.output()?.status.success(), &format!("duramen {} works in it", arguments.join(" ")))?;
    }
    machine.stop(second)
}

/// Runs statements as a client program of this machine.
fn sql(port: u16, account: &[&str], statements: &str) -> Result<Output> {
    let mut client = Command::new("mariadb");
    client.args(["--no-defaults", "--protocol=tcp", "--host=127.0.0.1", &format!("--port={port}")]);
    client.args(["--batch", "--skip-column-names"]).args(account);
    Ok(client.arg(format!("--execute={statements}")).output()?)
}

/// Where containers run.
struct Machine<'a> {
    storage: Storage,
    /// Files that they get.
    folder: &'a Path,
}

impl Machine<'_> {
    fn podman(&self) -> Command {
        let mut podman = self.storage.podman();
        podman.args(["--runtime=runc", "--cgroup-manager=cgroupfs"]);
        podman
    }

    /// Starts a container of the image with these options of podman and arguments of the server.
    fn start(&self, options: &[&str], arguments: &[&str]) -> Result<std::process::Child> {
        let mut podman = self.podman();
        podman.args([
            "run",
            "--replace",
            "--name",
            CONTAINER,
            "--network=host",
            "--read-only",
            "--cap-drop=all",
        ]);
        // Podman sets limits that this machine may not permit: its own are taken.
        for (name, letter) in [("nofile", "n"), ("nproc", "u")] {
            let limit = Command::new("sh").args(["-c", &format!("ulimit -H{letter}")]).output()?;
            let limit = String::from_utf8(limit.stdout)?.trim().parse().unwrap_or(1 << 16).min(1 << 14);
            podman.arg(format!("--ulimit={name}={limit}:{limit}"));
        }
        podman
            .arg("--volume")
            .arg(format!("{VOLUME}:/var/lib/duramen"))
            .args(["--tmpfs=/run/duramen:mode=0777"]);
        podman.args(options).arg(NAME).args(arguments);
        Ok(podman.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?)
    }

    fn wait_until_served(&self, port: u16) -> Result<()> {
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            if begun.elapsed() > PATIENCE {
                let logs = self.podman().args(["logs", CONTAINER]).output()?;
                return Err(format!("it does not serve: {}", String::from_utf8_lossy(&logs.stderr)).into());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// Stops the container, which has to end by itself with 0.
    fn stop(&self, running: std::process::Child) -> Result<()> {
        let time = format!("--time={}", PATIENCE.as_secs());
        done(self.podman().args(["stop", &time, CONTAINER]).stdout(Stdio::null()))?;
        let output = running.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        expect(output.status.success(), &format!("it ends with 0, here with {}: {said}", output.status))
    }
}
