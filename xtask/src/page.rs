//! `cargo xtask page`: pictures of the status page of a server under load, in a real browser.
//!
//! 1. start  A server of the profile `checked`, with a replica that follows it and a reader of its
//!    log.
//! 2. load   sysbench, and sessions that wait for one row.
//! 3. shoot  Chromium, without a screen: wide and as on a phone, light and dark.
//!
//! The pictures are in target/page; the one of the documentation is written over.
//! `crates/server/tests/page_in_browser.rs` compares what the page says with what the server
//! counts.

use crate::Result;
use crate::packages::{self, Program};
use servers::{Launch, Running, ServerKind};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const FOLDER: &str = "target/page";
const PICTURE: &str = "docs/status-page.png";
const HELP: &str = "cargo xtask page [--seconds N]   load for so long before the pictures; 300 unless said: as much as the page shows";

/// Name, width and height in pixels, and whether it is dark.
const PICTURES: [(&str, u32, u32, bool); 4] = [
    ("wide-light.png", 1280, 1720, false),
    ("wide-dark.png", 1280, 1720, true),
    ("phone-light.png", 360, 4200, false),
    ("phone-dark.png", 360, 4200, true),
];
/// Of these the one that the documentation shows.
const SHOWN: &str = "wide-light.png";

const PROGRAMS: &[Program] = &[
    packages::program("chromium", "chromium"),
    packages::program("sysbench", "sysbench"),
    packages::program("mariadb", "mariadb-client"),
    packages::program("mariadb-binlog", "mariadb-server-core"),
];

/// Takes the pictures.
pub fn run(args: &[String]) -> Result<()> {
    let seconds = match args {
        [] => 300,
        [flag, n] if flag == "--seconds" => n.parse()?,
        _ => return Err(HELP.into()),
    };
    packages::ensure(PROGRAMS)?;
    let build = ["build", "--profile", "checked", "--bin", "duramen"];
    if !Command::new(env!("CARGO")).args(build).status()?.success() {
        return Err("building duramen failed".into());
    }
    let folder = PathBuf::from(FOLDER);
    fs::create_dir_all(&folder)?;
    let start = |name: &str, id: u32| -> Result<Running> {
        let launch = Launch::new(ServerKind::Duramen, &folder.join(name))?.binary(binary()?);
        launch.arg(format!("--server-id={id}")).arg("--duramen-metrics-address=0").start()
    };
    let (source, replica) = (start("source", 1)?, start("replica", 2)?);
    let mut load = Load(Vec::new());
    begin_load(&source, &replica, seconds, &mut load)?;
    std::thread::sleep(Duration::from_secs(seconds));
    let address = source.sql("SELECT @@duramen_metrics_address")?;
    let of_replica = replica.sql("SELECT @@duramen_metrics_address")?;
    for (name, width, height, is_dark) in PICTURES {
        shoot(address.trim(), &folder.join(name), (width, height), is_dark)?;
    }
    shoot(of_replica.trim(), &folder.join("replica-dark.png"), (1280, 1720), true)?;
    drop(load);
    fs::copy(folder.join(SHOWN), PICTURE)?;
    println!("{FOLDER} has the pictures, {PICTURE} is {SHOWN}");
    replica.stop()?;
    source.stop()
}

fn binary() -> Result<PathBuf> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    Ok(std::path::absolute(target.join("checked/duramen"))?)
}

/// Programs that are ended when the pictures are taken.
struct Load(Vec<Child>);

impl Load {
    fn spawn(&mut self, command: &mut Command) -> Result<()> {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.0.push(command.spawn()?);
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It may have ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn begin_load(source: &Running, replica: &Running, seconds: u64, load: &mut Load) -> Result<()> {
    source.sql("CREATE DATABASE shop; CREATE TABLE shop.stock (id INT PRIMARY KEY, n INT); INSERT INTO shop.stock VALUES (1, 9)")?;
    source
        .sql("CREATE USER follower IDENTIFIED BY 'only-here'; GRANT REPLICATION SLAVE ON *.* TO follower")?;
    replica.sql(&format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={}, SOURCE_USER='follower', \
         SOURCE_PASSWORD='only-here', SOURCE_AUTO_POSITION=1, GET_SOURCE_PUBLIC_KEY=1; START REPLICA",
        source.port()
    ))?;
    let sysbench = |what: &str| {
        let mut command = Command::new("sysbench");
        command.args(["oltp_read_write", "--tables=4", "--table-size=10000", "--threads=4", "--rate=60"]);
        command.arg(format!("--mysql-socket={}", source.socket().display()));
        command.args(["--mysql-user=root", "--mysql-db=shop", "--rand-type=pareto"]);
        command.arg(format!("--time={}", seconds + 60)).arg(what);
        command
    };
    if !sysbench("prepare").stdout(Stdio::null()).status()?.success() {
        return Err("sysbench can't prepare its tables".into());
    }
    load.spawn(&mut sysbench("run"))?;
    let mut session = |script: &str| load.spawn(source.client("mariadb").args(["-e", script]));
    session("BEGIN; UPDATE shop.stock SET n = n - 1 WHERE id = 1; DO SLEEP(600)")?;
    std::thread::sleep(Duration::from_secs(1));
    for _ in 0..2 {
        session("SET innodb_lock_wait_timeout = 600; UPDATE shop.stock SET n = n - 1 WHERE id = 1")?;
    }
    // These wait for the row; a definition that came first would be in front of them.
    std::thread::sleep(Duration::from_secs(1));
    session("SET lock_wait_timeout = 600; ALTER TABLE shop.stock ADD price INT")
}

fn shoot(address: &str, picture: &Path, (width, height): (u32, u32), is_dark: bool) -> Result<()> {
    let home = tempfile::tempdir()?;
    let done = Command::new("chromium")
        // As root there is no sandbox; it opens one page of our own.
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"])
        .arg(format!("--user-data-dir={}", home.path().display()))
        .arg(format!("--window-size={width},{height}"))
        // Of Blink's two, the first is dark.
        .arg(format!("--blink-settings=preferredColorScheme={}", u8::from(!is_dark)))
        .args(["--virtual-time-budget=4000", &format!("--screenshot={}", picture.display())])
        .arg(format!("http://{address}/"))
        .stderr(Stdio::null())
        .status()?;
    if done.success() && picture.exists() { Ok(()) } else { Err("chromium took no picture".into()) }
}
