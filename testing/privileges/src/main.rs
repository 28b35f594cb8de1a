//! The privilege matrix from the command line; `help` says how.

use mysql::OptsBuilder;
use privileges::run::{Matrix, Server, run};
use privileges::{Result, cases, compare, record, sets};
use servers::{Launch, ServerKind, arguments};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
Every kind of statement, by accounts of every set of privileges: is it allowed or denied as in MySQL?

    --against user:password@host:port   asks this MySQL now; without, what was recorded of one is compared with. Its
                                        accounts pm_* and databases pa, pb, pd are made and dropped again, and its
                                        variables, logs and sessions are touched: give it one of its own
    --record user:password@host:port    writes what this MySQL answers into testing/privileges/expected
    --duramen user:password@host:port   a Duramen that runs already; without, one is started
    --binary PATH                       the Duramen to start
    --cases NAME                        only files of cases whose name has this in it
    --show all                          known differences too
";

#[derive(Default)]
struct Command {
    against: Option<String>,
    record: Option<String>,
    duramen: Option<String>,
    binary: Option<PathBuf>,
    cases: String,
    show_all: bool,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match command(&args).and_then(|command| command.map_or(Ok(true), |command| execute(&command))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("privileges: {e}");
            ExitCode::FAILURE
        }
    }
}

fn command(args: &[String]) -> Result<Option<Command>> {
    let mut command = Command::default();
    let runs = arguments::options(args, HELP, |name, value| {
        match name {
            "--against" => command.against = Some(value.to_owned()),
            "--record" => command.record = Some(value.to_owned()),
            "--duramen" => command.duramen = Some(value.to_owned()),
            "--binary" => command.binary = Some(value.into()),
            "--cases" => command.cases = value.to_owned(),
            "--show" => command.show_all = value == "all",
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    Ok(runs.then_some(command))
}

fn execute(command: &Command) -> Result<bool> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = cases::read(&folder.join("cases"))?;
    files.retain(|file| file.name.contains(&command.cases));
    let expected = folder.join("expected");
    let all = sets::all(&files);
    if let Some(address) = &command.record {
        let matrix = record_server(&Server::at(address)?, &files, all)?;
        record::write(&expected, &files, &matrix, "MySQL 9.7")?;
        println!("{} cells recorded", matrix.files.iter().map(|cells| cells.len()).sum::<usize>());
        return Ok(true);
    }
    let folder = tempfile::tempdir()?;
    let mut started = None;
    let server = match &command.duramen {
        Some(address) => Server::at(address)?,
        None => {
            let launch = Launch::new(ServerKind::Duramen, folder.path())?.arg("--sync-binlog=0");
            let launch = command.binary.iter().fold(launch, |launch, binary| launch.binary(binary));
            let running = started.insert(launch.start()?);
            let socket = running.socket().to_string_lossy().into_owned();
            Server::new(OptsBuilder::default().user(Some("root")).socket(Some(socket)))
        }
    };
    let ours = record_server(&server, &files, all.clone())?;
    let theirs = match &command.against {
        Some(address) => record_server(&Server::at(address)?, &files, all)?.files,
        None => {
            let pairs = files.iter().zip(&ours.files);
            pairs
                .map(|(file, cells)| record::cells(&expected, file, cells, &ours.sets))
                .collect::<Result<_>>()?
        }
    };
    let summary = compare::compare(&files, &ours, &theirs);
    for finding in &summary.findings {
        let is_news = summary.wrong().any(|wrong| std::ptr::eq(wrong, finding));
        if is_news || command.show_all {
            println!("{finding}\n");
        }
    }
    println!("{summary}");
    let wrong = summary.wrong().count();
    Ok(wrong == 0)
}

fn record_server(server: &Server, files: &[cases::File], sets: Vec<sets::Set>) -> Result<Matrix> {
    let count = sets.len();
    run(server, files, sets, |number, set| {
        if number % 20 == 0 {
            eprintln!("{number} of {count}: {set}");
        }
    })
}
