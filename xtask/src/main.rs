//! Chores of the project: `cargo xtask help` lists them.

mod applications;
mod bench;
mod collations;
mod compatibility;
mod docs;
mod drivers;
mod languages;
mod package;
mod packages;
mod page;
mod programs;
mod readers;
mod test;
mod tidy;

use std::process::ExitCode;

/// What went wrong, in words for the person at the terminal.
pub use servers::Result;

const HELP: &str = "\
cargo xtask test                every test; installs the client programs it needs
                 --quick        with few seeds and rounds in the crash tests
                 --full         with the published workloads at their full length
cargo xtask bench WORKLOAD ..   Duramen beside MariaDB with the real client programs; `cargo xtask bench help` says more
cargo xtask collations ..      the weights and case maps of collations: made from published tables, checked against servers
cargo xtask applications ..      real applications on a server, beside MySQL: docs/compatibility.md; `help` says more
cargo xtask compatibility        asks a server for every statement and function of the manual: docs/compatibility-tables.md
cargo xtask differential         random statements on Duramen and on MariaDB, compared; `.. differential help` says more
cargo xtask privileges           every statement by accounts of every set of privileges, held against MySQL; `.. privileges help`
cargo xtask soak                 random nonsense from several sessions; `.. soak help` says more
cargo xtask definitions          definitions at the edges, kept through stops and kills; `.. definitions help` says more
cargo xtask stalls               small commits beside rotation, checkpoints and a large transaction; `.. stalls help`
cargo xtask topologies ..        chains, channels, rings and switches of real servers under load and kills; `.. topologies help`
cargo xtask package ..          the Debian package, and its test in a clean root; `.. package help`
cargo xtask page                pictures of the status page under load, in a real browser: docs/status-page.png
cargo xtask drivers             fetches the drivers of other languages that the tests of the server run
cargo xtask readers             fetches the change readers that the tests of followers run
cargo xtask tidy                what no compiler checks: each file opens with its story, no dead files
cargo xtask docs                checks the pages of docs/ as a book, and builds it into target/book where mdbook is installed
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let done = match args.first().map(String::as_str) {
        Some("test") => test::run(rest),
        Some("bench") => bench::run(rest),
        Some("drivers") => drivers::run(),
        Some("readers") => readers::run(),
        Some("collations") => collations::run(rest),
        Some("applications") => applications::run(rest),
        Some("compatibility") => compatibility::run(rest),
        Some(name @ ("definitions" | "differential" | "privileges" | "soak" | "topologies")) => {
            programs::run(name, "checked", rest)
        }
        Some(name @ "stalls") => programs::run(name, "release", rest),
        Some("package") => package::run(rest),
        Some("page") => page::run(rest),
        Some("tidy") => tidy::run(),
        Some("docs") => docs::run(),
        None | Some("help" | "--help" | "-h") => {
            print!("{HELP}");
            Ok(())
        }
        Some(other) => Err(format!("no chore is called `{other}`\n{HELP}").into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("xtask: {e}");
            ExitCode::FAILURE
        }
    }
}
