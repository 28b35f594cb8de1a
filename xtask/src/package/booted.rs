//! `cargo xtask package systemd-test`: the package in a Debian that systemd has booted, in a
//! container of podman: `apt install`, `systemctl start`, `stop`, a kill, an upgrade, `apt purge`.
//!
//! What [`super::trial`] does without systemd (modes, system calls, settings) is not repeated.

use super::deb::{self, done, target};
use super::image::Storage;
use super::root::minimal_system;
use super::step;
use crate::Result;
use crate::packages::{self, Program, program};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PROGRAMS: &[Program] = &[
    program("debootstrap", "debootstrap"),
    program("buildah", "buildah"),
    program("podman", "podman"),
    program("runc", "runc"),
    program("dpkg-shlibdeps", "dpkg-dev"),
];

const CONTAINER: &str = "duramen-systemd-test";
const IMAGE: &str = "localhost/duramen-systemd-test";
/// What the system has: systemd as the first process, and a client.
const INCLUDE: &str =
    "systemd,systemd-sysv,dbus,adduser,init-system-helpers,mariadb-client-core,ca-certificates";
/// How long a boot, a start and a stop may take.
const PATIENCE: Duration = Duration::from_secs(90);

pub(super) fn run(profile: &str) -> Result<()> {
    packages::ensure(PROGRAMS)?;
    deb::build(profile)?;
    let package = deb::package(profile, None)?;
    let newer = deb::newer(&package)?;
    let machine = Machine { storage: Storage::new(&target().join("package"))? };
    machine.make_image()?;
    let outcome = machine.boot().and_then(|()| trial(&machine, &package, &newer));
    if outcome.is_err() {
        println!("{}", machine.shell("journalctl --no-pager --lines=60 --unit=duramen")?.text);
    }
    machine.podman().args(["rm", "--force", "--time=5", CONTAINER]).stdout(Stdio::null()).status()?;
    outcome?;
    println!("systemd test: all is as it should be");
    Ok(())
}

fn trial(machine: &Machine, package: &Path, newer: &Path) -> Result<()> {
    step("apt install");
    machine.copy(package, "/root/duramen.deb")?;
    machine.copy(newer, "/root/newer.deb")?;
    machine.expect(
        "DEBIAN_FRONTEND=noninteractive apt-get install -y /root/duramen.deb",
        "",
        "it installs",
    )?;
    machine.expect("systemctl is-active duramen", "active", "the service runs")?;
    machine.expect("systemctl is-enabled duramen", "enabled", "it starts with the machine")?;
    let sql =
        |statements: &str| format!("mariadb --defaults-file=/etc/duramen/client.cnf -BN -e \"{statements}\"");
    let made = "CREATE DATABASE shop; CREATE TABLE shop.tree (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20)); \
                INSERT INTO shop.tree (name) VALUES ('oak'), ('ash')";
    machine.expect(&sql(made), "", "root's password is in client.cnf, rows are written")?;
    let rows = sql("SELECT GROUP_CONCAT(name ORDER BY id) FROM shop.tree");
    step("systemctl stop, start, restart");
    machine.expect("systemctl stop duramen; systemctl is-active duramen", "inactive", "it stops")?;
    machine.expect("systemctl show -p Result --value duramen", "success", "a stop is no failure")?;
    machine.expect("systemctl start duramen", "", "it starts, and is ready then")?;
    machine.expect(&rows, "oak,ash", "the rows are there")?;
    machine.expect("systemctl restart duramen", "", "it restarts")?;
    machine.expect(&rows, "oak,ash", "the rows are there")?;
    step("a kill");
    machine.expect("systemctl kill --signal=KILL duramen", "", "the server is killed")?;
    let active = "for n in $(seq 90); do sleep 1; systemctl is-active --quiet duramen && break; done; \
                  systemctl show -p NRestarts --value duramen";
    machine.expect(active, "1", "systemd starts it again")?;
    machine.expect(&rows, "oak,ash", "the rows are there")?;
    step("confined");
    let reads = "nsenter -t $(systemctl show -p MainPID --value duramen) -m -- sh -c";
    let cannot = format!("{reads} 'touch /usr/x' 2>&1 | grep -c 'Read-only file system'");
    machine.expect(&cannot, "1", "it sees a file system that it can't write to")?;
    let status = "grep -E '^(NoNewPrivs|Seccomp|CapEff):' /proc/$(systemctl show -p MainPID --value duramen)/status | \
                  tr -d '\\t' | paste -sd' '";
    machine.expect(
        status,
        "CapEff:0000000000000000 NoNewPrivs:1 Seccomp:2",
        "it has no capabilities, gains none, and its system calls are filtered",
    )?;
    step("upgrade");
    let upgrade = "DEBIAN_FRONTEND=noninteractive apt-get install -y /root/newer.deb";
    machine.expect(
        &format!("systemctl show -p MainPID --value duramen >/root/before; {upgrade}"),
        "",
        "it upgrades",
    )?;
    let other = "test $(cat /root/before) != $(systemctl show -p MainPID --value duramen) && echo other";
    machine.expect(other, "other", "the upgrade has restarted the service")?;
    machine.expect(&rows, "oak,ash", "the rows are there")?;
    step("reboot");
    machine.podman().args(["stop", "--time=90", CONTAINER]).stdout(Stdio::null()).status()?;
    done(machine.podman().args(["start", CONTAINER]).stdout(Stdio::null()))?;
    machine.wait_for_boot()?;
    machine.expect("systemctl is-active duramen", "active", "it runs after a reboot")?;
    machine.expect(&rows, "oak,ash", "the rows are there")?;
    step("apt purge");
    machine.expect(
        "apt-get remove -y duramen; systemctl is-active duramen",
        "inactive",
        "removed, it is stopped",
    )?;
    machine.expect("ls /var/lib/duramen | grep -c auto.cnf", "1", "the data stays")?;
    machine.expect(
        "apt-get purge -y duramen; test -e /var/lib/duramen || echo gone",
        "gone",
        "purged, so is the data",
    )?;
    machine.expect("systemctl --failed --no-legend | wc -l", "0", "no unit has failed")
}

/// What a command in the container printed, without the end of the last line, and how it ended.
struct Said {
    text: String,
    last: String,
    output: Output,
}

struct Machine {
    storage: Storage,
}

impl Machine {
    fn podman(&self) -> Command {
        let mut podman = self.storage.podman();
        podman.args(["--runtime=runc", "--cgroup-manager=cgroupfs"]);
        podman
    }

    fn make_image(&self) -> Result<()> {
        let base = minimal_system("base-systemd", INCLUDE)?;
        let context = target().join("package/systemd-image");
        std::fs::create_dir_all(&context)?;
        let file = context.join("Containerfile");
        std::fs::write(&file, "FROM scratch\nCOPY . /\nCMD [\"/sbin/init\"]\n")?;
        let mut build = self.storage.buildah();
        build.args(["build", "--quiet", "--isolation", "chroot", "--tag", IMAGE, "--file"]);
        done(build.arg(file).arg(base).stdout(Stdio::null()))
    }

    fn boot(&self) -> Result<()> {
        step("boot");
        let mut run = self.podman();
        run.args(["run", "--replace", "--detach", "--name", CONTAINER, "--systemd=always", "--privileged"]);
        run.args(["--network=host", "--ulimit=nofile=16384:16384", "--ulimit=nproc=9000:9000", IMAGE]);
        done(run.stdout(Stdio::null()))?;
        self.wait_for_boot()?;
        // A container may not raise its limits; everything else is the unit's.
        let folder = "/etc/systemd/system/duramen.service.d";
        let limit =
            format!("mkdir -p {folder}; printf '[Service]\\nLimitNOFILE=16384\\n' >{folder}/limit.conf");
        self.expect(&limit, "", "the unit asks for no more open files than the container has")
    }

    fn wait_for_boot(&self) -> Result<()> {
        let begun = Instant::now();
        loop {
            let state = self.shell("systemctl is-system-running")?.last;
            if state == "running" {
                println!("  ok: systemd has booted");
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let failed = self.shell("systemctl --failed --no-pager")?.text;
                return Err(format!("systemd is {state:?}: {failed}").into());
            }
            std::thread::sleep(Duration::from_millis(500));
        }
    }

    fn copy(&self, file: &Path, to: &str) -> Result<()> {
        done(self.podman().arg("cp").arg(file).arg(format!("{CONTAINER}:{to}")))
    }

    fn shell(&self, script: &str) -> Result<Said> {
        // Podman's own `exec` takes a control group away from the systemd that has them there, and
        // fails now and then.
        let inspected = self.podman().args(["inspect", "--format", "{{.State.Pid}}", CONTAINER]).output()?;
        let first = String::from_utf8(inspected.stdout)?.trim().to_owned();
        let mut enter = Command::new("nsenter");
        enter.args(["--target", &first, "--mount", "--uts", "--ipc", "--pid", "--root", "--wdns=/"]);
        enter.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        let output = enter.args(["sh", "-c", script]).output()?;
        let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
        let said = String::from_utf8_lossy(&output.stdout);
        let last = said.lines().next_back().unwrap_or_default().trim().to_owned();
        Ok(Said { text, last, output })
    }

    /// Runs a script; the last line that it prints has to be `expected`, or with an empty one it
    /// has to succeed.
    fn expect(&self, script: &str, expected: &str, what: &str) -> Result<()> {
        let said = self.shell(script)?;
        let is_so = match expected {
            "" => said.output.status.success(),
            expected => said.last == expected,
        };
        if !is_so {
            return Err(format!("not so: {what}: `{script}` says\n{}", said.text).into());
        }
        println!("  ok: {what}");
        Ok(())
    }
}
