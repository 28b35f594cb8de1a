//! A server at work with a folder for its backups: for the tests of `duramen backup` and `duramen
//! restore`.

use super::shop::{Point, SMALL, assert_same, dump, make_tables, start_on};
use super::{DURAMEN, Server};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A server at work, and a folder for its backups.
pub struct Scene {
    pub folder: TempDir,
    pub datadir: Arc<TempDir>,
    pub running: Option<Server>,
    /// Options of each command.
    pub more: Vec<String>,
    /// The address of the backups in object storage, and the environment in which it is one.
    pub address: Option<String>,
    pub variables: Vec<(String, String)>,
}

impl Scene {
    pub fn new() -> Self {
        let datadir = Arc::new(tempfile::tempdir().unwrap());
        let server = Server::start_in(&datadir, SMALL);
        make_tables(&server);
        Self {
            folder: tempfile::tempdir().unwrap(),
            datadir,
            running: Some(server),
            more: Vec::new(),
            address: None,
            variables: Vec::new(),
        }
    }

    pub fn server(&self) -> &Server {
        self.running.as_ref().unwrap()
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().unwrap().to_owned()
    }

    pub fn repository(&self) -> PathBuf {
        self.folder.path().join("repository")
    }

    /// Where the backups are, as an option says it.
    pub fn location(&self) -> String {
        self.address.clone().unwrap_or_else(|| self.repository().to_str().unwrap().to_owned())
    }

    /// `duramen` with the arguments.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(DURAMEN);
        command.args(args).args(&self.more).envs(self.variables.iter().cloned());
        command
    }

    /// Runs `duramen`: its exit code, output and errors.
    pub fn run(&self, args: &[&str]) -> (i32, String, String) {
        let done = self.command(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        (done.status.code().unwrap_or(-1), text(done.stdout), text(done.stderr))
    }

    pub fn well(&self, args: &[&str]) -> String {
        let (code, out, errors) = self.run(args);
        assert_eq!(code, 0, "{args:?}: {out} {errors}");
        out
    }

    /// A refusal's text.
    pub fn refusal(&self, args: &[&str]) -> String {
        let (code, out, errors) = self.run(args);
        assert_eq!((code, out.as_str()), (3, ""), "{args:?}: {errors}");
        errors
    }

    pub fn take_args(&self) -> [String; 2] {
        let datadir = self.datadir.path().display();
        [format!("--datadir={datadir}"), format!("--to={}", self.location())]
    }

    pub fn take(&self) -> String {
        let [datadir, to] = self.take_args();
        // Backups are named by the second.
        std::thread::sleep(Duration::from_millis(1100));
        self.well(&["backup", &datadir, &to])
    }

    pub fn continuous(&self) -> Child {
        let [datadir, to] = self.take_args();
        let mut child = self.command(&["backup", "--continuous", &datadir, &to]);
        child.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    pub fn from(&self) -> String {
        format!("--from={}", self.location())
    }

    /// Restores it and compares.
    pub fn check(&self, name: &str, to: Option<&str>, expected: &str) {
        let target = self.path(name);
        let mut args = vec!["restore".to_owned(), self.from(), format!("--datadir={target}")];
        args.extend(to.map(|to| format!("--to={to}")));
        self.well(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let restored = start_on(Path::new(&target));
        assert_same(name, &dump(&restored), expected);
        assert_ne!(
            restored.sql("select @@server_uuid"),
            self.server().sql("select @@server_uuid"),
            "another server"
        );
        assert_eq!(
            restored.sql("check table shop.orders, shop.totals, shop.no_key").matches("OK").count(),
            3
        );
    }

    /// Files of the repository, by their paths in it.
    pub fn files(&self, folder: &str) -> Vec<PathBuf> {
        let found =
            Command::new("find").arg(self.repository().join(folder)).args(["-type", "f"]).output().unwrap();
        let mut files: Vec<PathBuf> =
            String::from_utf8(found.stdout).unwrap().lines().map(PathBuf::from).collect();
        files.sort();
        files
    }

    /// Waits until the archive has all up to this point.
    pub fn await_archived(&self, point: &Point) {
        let (name, end) = point.position.split_once(':').unwrap();
        for _ in 0..200 {
            let list = self.well(&["backup", "list", &self.from()]);
            let archived = list.lines().last().unwrap().trim_start_matches("log archived to ").to_owned();
            if let Some((file, at)) = archived.split_once(':')
                && (file, at.parse::<u64>().unwrap()) >= (name, end.parse().unwrap())
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the log is not archived to {}", point.position);
    }

    /// The folders of the archived log, oldest first.
    pub fn logs(&self) -> Vec<PathBuf> {
        let inside = std::fs::read_dir(self.repository().join("logs")).unwrap();
        let mut found: Vec<_> = inside.map(|entry| entry.unwrap().path()).collect();
        found.sort();
        found
    }

    /// The folder that the log file after the last one would have.
    pub fn next_log(&self) -> PathBuf {
        let last = self.logs().pop().unwrap();
        let (name, number) = last.to_str().unwrap().rsplit_once('.').unwrap();
        PathBuf::from(format!("{name}.{:06}", number.parse::<u32>().unwrap() + 1))
    }

    /// `--datadir` of a name in the folder.
    pub fn target(&self, name: &str) -> String {
        format!("--datadir={}", self.path(name))
    }
}
