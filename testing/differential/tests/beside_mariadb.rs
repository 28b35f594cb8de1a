//! A bounded run of queries compared with a MariaDB: no answer differs but in what is known.
//! `DURAMEN_DIFFERENTIAL=100000` makes it longer, and draws a seed of its own.
#![allow(clippy::unwrap_used)]

use differential::peers::Peers;
use differential::run::{Options, run};
use servers::arguments::seed_of_the_clock;
use std::time::Duration;

#[test]
fn answers_differ_in_nothing_but_what_is_known() {
    let longer = std::env::var("DURAMEN_DIFFERENTIAL").ok().map(|n| n.parse().unwrap());
    let options = Options { queries_alone: true, reduction: Duration::from_secs(10), ..Options::default() };
    let options = match longer {
        Some(statements) => Options { statements, seed: seed_of_the_clock().unwrap(), ..options },
        None => Options { statements: 3_000, seed: 1, time: Duration::from_secs(60), ..options },
    };
    println!("seed {}", options.seed);
    let folder = tempfile::tempdir().unwrap();
    let mut peers = Peers::start(folder.path(), None).unwrap();
    let summary = run(&mut peers, &options, |finding| println!("\n{finding}")).unwrap();
    println!("\n{summary}");
    assert!(summary.compared > 0, "nothing was compared");
    assert!(summary.findings.is_empty() && summary.panics.is_empty(), "see above");
}
