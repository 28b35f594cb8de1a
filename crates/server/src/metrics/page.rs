//! The status page, and the numbers that it asks for each second.
//!
//! The page is one answer: its style and script are in it, allowed by a number that is used once
//! (`nonce`), and it loads nothing but `/status.json`.
//!
//! (P3) However many pages ask, the lists are made once in [`LISTS_AGE_MAX`].

use super::history::{COLUMNS, History, Sample, TIMES};
use super::http::{HTML, JSON, Response};
use super::lists;
use crate::server::Server;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// What a sample says of itself.
const OWN: [&str; 2] = ["number", "at_ms"];

/// How old lists may be.
const LISTS_AGE_MAX: Duration = Duration::from_millis(700);

/// What the page shows.
#[derive(Default)]
pub(super) struct Page {
    pub(super) history: History,
    /// The lists, and when they were made.
    lists: Mutex<Option<(Duration, Value)>>,
}

impl Page {
    /// The numbers: all samples after the one with this number, and the lists.
    pub(super) fn numbers(&self, server: &Server, after: u64) -> Response {
        let mut all = self.lists(server);
        if let Value::Object(all) = &mut all {
            let times = TIMES.iter().map(|(name, ..)| *name);
            let columns: Vec<&str> = OWN.into_iter().chain(COLUMNS).chain(times).collect();
            all.insert("columns".into(), json!(columns));
            let samples = self.history.after(after);
            all.insert("samples".into(), samples.iter().map(cells).collect());
        }
        Response::new(JSON, all.to_string())
    }

    fn lists(&self, server: &Server) -> Value {
        let mut made = self.lists.lock();
        let now = server.env.monotonic();
        match &*made {
            Some((at, lists)) if now.saturating_sub(*at) < LISTS_AGE_MAX => lists.clone(),
            _ => {
                let lists = lists::of(server, &self.history);
                *made = Some((now, lists.clone()));
                lists
            }
        }
    }
}

fn cells(sample: &Sample) -> Value {
    [sample.number, sample.at_ms].iter().chain(&sample.columns).chain(&sample.times).copied().collect()
}

/// The page itself.
pub(super) fn html(server: &Server) -> Response {
    let mut random = [0; 16];
    server.env.random(&mut random);
    let mut nonce = String::with_capacity(32);
    for byte in random {
        let _ = write!(nonce, "{byte:02x}");
    }
    let style = format!("<style nonce=\"{nonce}\">\n{STYLE}</style>");
    let script = format!("<script nonce=\"{nonce}\">\n{SCRIPT}</script>");
    let page = PAGE.replace("<!-- style -->", &style).replace("<!-- script -->", &script);
    Response::new(HTML, page).allowing(format!(
        "; style-src 'nonce-{nonce}'; script-src 'nonce-{nonce}'; connect-src 'self'; img-src data:"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_in_one_piece() {
        assert!(PAGE.contains("<!-- style -->") && PAGE.contains("<!-- script -->"));
        for text in [PAGE, STYLE, SCRIPT] {
            assert!(!text.contains("http://www.example") && !text.contains("https://"), "it loads nothing");
            assert!(!text.contains("</script") && !text.contains("</style"), "it would end there");
        }
        assert!(!PAGE.contains(" style=") && !SCRIPT.contains("innerHTML"), "the policy, and injection");
    }

    #[test]
    fn the_script_knows_its_columns() {
        let known: Vec<&str> =
            OWN.into_iter().chain(COLUMNS).chain(TIMES.iter().map(|(name, ..)| *name)).collect();
        for quoted in SCRIPT.split("col(\"").skip(1) {
            let name = quoted.split('"').next().unwrap_or_default();
            assert!(known.contains(&name), "the script asks for {name}, which no sample has");
        }
    }
}
