//! The server as a whole: what SHOW lists of it, as tables.

use super::{Each, Wanted};
use crate::listing::{Listing, cells, server};
use crate::session::Context;
use datum::error::Result;
use datum::types::Collation;
use syntax::Keyword;

/// The rows of a listing whose columns are the table's.
fn listed(listing: Listing, each: Each<'_>) -> Result<()> {
    listing.into_rows().into_iter().try_for_each(each)
}

pub(super) fn engines(_: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    listed(server::engines(), each)
}

/// SHOW CHARACTER SET has the description before the collation.
pub(super) fn character_sets(_: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    server::character_sets().into_rows().into_iter().try_for_each(|mut row| {
        row.swap(1, 2);
        each(row)
    })
}

pub(super) fn collations(_: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    listed(server::collations(), each)
}

pub(super) fn collation_charsets(_: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let mut all: Vec<Collation> = Collation::all().collect();
    all.sort_by_key(|c| c.name());
    all.into_iter().try_for_each(|c| each(cells![c.name(), c.charset().name()]))
}

pub(super) fn processlist(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    listed(server::processes(cx, true), each)
}

pub(super) fn keywords(_: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let mut all: Vec<Keyword> = Keyword::all().collect();
    all.sort_by_key(|word| word.text());
    all.into_iter().try_for_each(|word| each(cells![word.text(), i64::from(word.is_reserved())]))
}

pub(super) fn plugins(cx: &mut Context, _: &Wanted, each: Each<'_>) -> Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let short = version.rsplit_once('.').map_or(version, |(short, _)| short);
    let server = cx.version();
    let server = server.split('-').next().unwrap_or_default();
    server::BUILT_IN.iter().try_for_each(|(name, kind, description)| {
        let mut row = cells![*name, short, "ACTIVE", *kind, server, None::<&str>, None::<&str>];
        row.extend(cells!["Duramen", *description, server::LICENSE, "FORCE"]);
        each(row)
    })
}
