//! Regular expressions: REGEXP_LIKE (the operators REGEXP and RLIKE), REGEXP_INSTR, REGEXP_SUBSTR,
//! REGEXP_REPLACE.
//!
//! Patterns without backreferences and look-around run in linear time; the others backtrack, up to
//! a limit, then error
//! 3699. A session keeps the patterns it used last compiled ([`Cache`]), so that a row costs a
//! comparison of the pattern's text. Positions count characters, from 1. Any match ends soon after
//! KILL (`pattern.rs` says how).

mod pattern;
mod stepped;
mod threads;
mod watched;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use fancy_regex::RuntimeError;

use self::pattern::{Flags, Matcher, Pattern};
use self::stepped::Caches;
use self::watched::watched;
use super::{Call, Function, Typing, f, not_null};
use crate::expression::Expr;
use crate::session::Context;
use datum::bounds;
use datum::error::{self, Result, SqlError};
use datum::types::{Charset, Coercibility, Collation, Type, code};
use datum::value::Datum;

pub(crate) use self::pattern::Cache;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("regexp_instr", (2, 6), super::int, instr),
    f("regexp_like", (2, 3), super::boolean, like),
    f("regexp_replace", (3, 6), text_type, replace),
    f("regexp_substr", (2, 5), part_type, substr),
];

/// A text of any length.
fn text_type(arguments: &[Expr], typing: &Typing) -> Type {
    let ty = part_type(arguments, typing);
    Type { length: 16 * 1024 * 1024 / ty.collation.charset().char_len_max(), ..ty }
}

/// A part of the text, in the character set that it has in common with the pattern.
fn part_type(arguments: &[Expr], typing: &Typing) -> Type {
    let both = super::text_of(&arguments[..2], typing, |_| 0);
    let unicode = arguments[..2].iter().find(|a| a.ty.collation.charset() == Charset::Utf8mb4);
    let is_narrow = !matches!(both.collation.charset(), Charset::Utf8mb4 | Charset::Binary);
    let collation = match unicode {
        Some(wider) if is_narrow && both.coercibility != Coercibility::Explicit => wider.ty.collation,
        _ => both.collation,
    };
    Type { length: arguments[0].ty.text_length(), collation, ..both }
}

/// Bytes are not matched with text, nor replaced by it; BLOBs are.
///
/// # Errors
/// 3995 with the collations of the two that do not go together.
pub(crate) fn check_character_sets(function: &Function, arguments: &[Expr]) -> Result<()> {
    let count = if function.name == "regexp_replace" { 3 } else { 2 };
    let texts: Vec<&Type> =
        arguments.iter().take(count).map(|a| &a.ty).filter(|ty| ty.family.is_text()).collect();
    let is_bytes = |ty: &Type| ty.collation == Collation::BINARY && ty.code != code::BLOB;
    for (i, a) in texts.iter().enumerate() {
        for b in &texts[i + 1..] {
            let (x, y) = (a.collation == Collation::BINARY, b.collation == Collation::BINARY);
            if is_bytes(a) && !y || is_bytes(b) && !x {
                let names = [a, b].map(|ty| ty.collation.name());
                return Err(error::CHARACTER_SET_MISMATCH.with(&[&names[0], &names[1], &function.name]));
            }
        }
    }
    Ok(())
}

fn failure(e: fancy_regex::Error) -> SqlError {
    match e {
        fancy_regex::Error::RuntimeError(RuntimeError::BacktrackLimitExceeded) => {
            error::REGEXP_TIME_OUT.plain()
        }
        fancy_regex::Error::RuntimeError(RuntimeError::StackOverflow) => error::REGEXP_STACK_OVERFLOW.plain(),
        _ => error::REGEXP_INTERNAL_ERROR.plain(),
    }
}

/// The set that an argument's text is in while it is matched: bytes are matched one by one.
fn matched_as(ty: &Type) -> Charset {
    match ty.collation.charset() {
        Charset::Binary if ty.family.is_text() => Charset::Latin1,
        Charset::Binary => Charset::Utf8mb4,
        other => other,
    }
}

/// An argument's text as UTF-8.
fn utf8<'a>(cx: &mut Context, call: Call<'a>, i: usize) -> Result<Option<Cow<'a, str>>> {
    let Some(text) = call.text(cx, i)? else { return Ok(None) };
    let (text, _) = matched_as(&call.arguments[i].ty).convert(text, Charset::Utf8mb4);
    Ok(Some(match text {
        Cow::Borrowed(b) => String::from_utf8_lossy(b),
        Cow::Owned(b) => Cow::Owned(
            String::from_utf8(b).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()),
        ),
    }))
}

/// The collation that says whether case counts.
fn collation(call: Call<'_>) -> Option<Collation> {
    let mut texts = call.arguments[..2].iter().map(|a| &a.ty).filter(|ty| ty.family.is_text());
    let (first, second) = (texts.next(), texts.next());
    let (Some(a), Some(b)) = (first, second) else { return first.map(|ty| ty.collation) };
    let has_bytes = [a, b].iter().any(|ty| ty.collation == Collation::BINARY);
    match () {
        () if has_bytes => Some(Collation::BINARY),
        () if a.coercibility <= b.coercibility => Some(a.collation),
        () => Some(b.collation),
    }
}

/// A text and the pattern to look for in it.
struct Search<'a> {
    text: Cow<'a, str>,
    pattern: Arc<Pattern>,
}

/// Reads text, pattern, and the match type at `flags_at`; `None` if any of them is NULL.
fn search<'a>(cx: &mut Context, call: Call<'a>, flags_at: usize, name: &str) -> Result<Option<Search<'a>>> {
    let Some(text) = utf8(cx, call, 0)? else { return Ok(None) };
    let Some(pattern) = utf8(cx, call, 1)? else { return Ok(None) };
    let ignore_case = collation(call).is_none_or(|c| c.name().ends_with("_ci"));
    let mut flags = Flags { ignore_case, multi_line: false, dot_matches_newline: false };
    if call.count() > flags_at {
        let Some(letters) = call.text(cx, flags_at)? else { return Ok(None) };
        flags = flags.read(&letters).ok_or_else(|| error::WRONG_ARGUMENTS.with(&[&name]))?;
    }
    let pattern = cx.functions.regexps.get(&pattern, flags)?;
    Ok(Some(Search { text, pattern }))
}

/// The bytes of a match's groups, the whole of it first.
type Groups = Vec<Option<Range<usize>>>;

/// A search that goes on after each match.
struct Matches<'s> {
    text: &'s str,
    matcher: Matcher<'s>,
    caches: Option<Caches>,
}

impl Matches<'_> {
    /// The first match from byte `from` on; error 1317 if the statement was killed, 3699 if it
    /// takes too many steps.
    fn find(&mut self, from: usize) -> Result<Option<Range<usize>>> {
        bounds::check()?;
        match &self.matcher {
            Matcher::Library(regex) => {
                watched(self.text, |text| regex.find_from_pos(text, from))?.map_err(failure)
            }
            Matcher::Stepped(stepped) => {
                let caches = self.caches.get_or_insert_with(|| stepped.caches());
                stepped.find(caches, self.text, from)
            }
        }
    }

    fn is_match(&mut self) -> Result<bool> {
        match &self.matcher {
            Matcher::Library(regex) => watched(self.text, |text| regex.is_match(text))?.map_err(failure),
            Matcher::Stepped(_) => Ok(self.find(0)?.is_some()),
        }
    }

    /// The groups of the first match from byte `from` on.
    fn groups(&mut self, from: usize) -> Result<Option<Groups>> {
        match &self.matcher {
            Matcher::Library(regex) => {
                bounds::check()?;
                let found = watched(self.text, |text| {
                    let groups = regex.captures_from_pos(text, from)?;
                    Ok(groups.map(|groups| groups.iter().collect()))
                });
                found?.map_err(failure)
            }
            Matcher::Stepped(stepped) => {
                let stepped = *stepped;
                match self.find(from)? {
                    Some(found) => stepped.groups(self.text, found.start).map(Some),
                    None => Ok(None),
                }
            }
        }
    }
}

impl Search<'_> {
    fn matches(&self) -> Result<Matches<'_>> {
        Ok(Matches { text: &self.text, matcher: self.pattern.matcher(self.text.len())?, caches: None })
    }

    /// The byte where the character `position` begins; error 3686 outside of the text.
    fn start(&self, position: i64) -> Result<usize> {
        let outside = || error::REGEXP_INDEX_OUTOFBOUNDS.plain();
        let skipped = usize::try_from(position).ok().and_then(|p| p.checked_sub(1)).ok_or_else(outside)?;
        match self.text.char_indices().nth(skipped) {
            Some((at, _)) => Ok(at),
            None if skipped == 0 => Ok(0),
            None => Err(outside()),
        }
    }

    /// The occurrence's bytes, searched for from the byte `start`.
    fn find(&self, start: usize, occurrence: i64) -> Result<Option<std::ops::Range<usize>>> {
        let mut matches = self.matches()?;
        let mut from = start;
        for found in 1.. {
            let Some(m) = matches.find(from)? else { break };
            if found >= occurrence {
                return Ok(Some(m));
            }
            match self.next_start(m.start, m.end) {
                Some(next) => from = next,
                None => break,
            }
        }
        Ok(None)
    }

    /// Where the search goes on after a match; an empty one makes a step of one character.
    fn next_start(&self, start: usize, end: usize) -> Option<usize> {
        if end > start {
            return Some(end);
        }
        self.text[end..].chars().next().map(|c| end + c.len_utf8())
    }

    /// Appends the replacement: `$1` is a group, `${name}` a named one, a backslash takes the next
    /// character as it is.
    fn expand(&self, new: &str, groups: &Groups, out: &mut String) -> Result<()> {
        let count = self.pattern.group_count();
        let text_of = |i: usize| groups.get(i).cloned().flatten().map_or("", |range| &self.text[range]);
        let mut rest = new;
        while let Some(at) = rest.find(['$', '\\']) {
            out.push_str(&rest[..at]);
            let escape = rest.as_bytes()[at] == b'\\';
            rest = &rest[at + 1..];
            if escape {
                let mut chars = rest.chars();
                out.extend(chars.next());
                rest = chars.as_str();
                continue;
            }
            if let Some((name, after)) = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
                let group = self.pattern.group_named(name);
                let is_set = |&group: &usize| groups.get(group).is_some_and(Option::is_some);
                let group = group.filter(is_set);
                let group = group.ok_or_else(|| error::REGEXP_INVALID_CAPTURE_GROUP_NAME.plain())?;
                out.push_str(text_of(group));
                rest = after;
                continue;
            }
            let digits = group_digits(rest, count);
            let number: usize = match rest[..digits].parse() {
                Ok(number) => number,
                Err(_) => return Err(error::REGEXP_INVALID_CAPTURE_GROUP_NAME.plain()),
            };
            if number >= count {
                return Err(error::REGEXP_INDEX_OUTOFBOUNDS.plain());
            }
            out.push_str(text_of(number));
            rest = &rest[digits..];
        }
        out.push_str(rest);
        Ok(())
    }

    fn position(&self, byte: usize) -> i64 {
        self.text[..byte].chars().count() as i64 + 1
    }
}

/// An optional integer argument; `None` for NULL.
fn option<'a>(cx: &mut Context, call: Call<'a>, i: usize, default: i64) -> Result<Option<i64>> {
    if call.count() > i { call.int(cx, i) } else { Ok(Some(default)) }
}

fn like<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let search = not_null!(search(cx, call, 2, "regexp_like"));
    Ok(Datum::from_bool(search.matches()?.is_match()?))
}

/// `REGEXP_INSTR(text, pattern [, position [, occurrence [, end [, match type]]]])`
fn instr<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let search = not_null!(search(cx, call, 5, "regexp_instr"));
    let position = not_null!(option(cx, call, 2, 1));
    let occurrence = not_null!(option(cx, call, 3, 1));
    let at_end = not_null!(option(cx, call, 4, 0));
    if !(0..=1).contains(&at_end) {
        return Err(error::WRONG_ARGUMENTS.with(&[&"regexp_instr: return_option must be 1 or 0."]));
    }
    let found = search.find(search.start(position)?, occurrence)?;
    let byte = found.map(|range| if at_end == 1 { range.end } else { range.start });
    Ok(Datum::Int(byte.map_or(0, |byte| search.position(byte))))
}

/// A result in the call's character set.
fn result<'a>(text: Cow<'_, str>, call: Call<'a>) -> Datum<'a> {
    let text = Cow::Owned(text.into_owned().into_bytes());
    Datum::Bytes(Charset::Utf8mb4.convert(text, matched_as(call.ty)).0)
}

/// `REGEXP_SUBSTR(text, pattern [, position [, occurrence [, match type]]])`
fn substr<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let search = not_null!(search(cx, call, 4, "regexp_substr"));
    let position = not_null!(option(cx, call, 2, 1));
    let occurrence = not_null!(option(cx, call, 3, 1));
    let found = search.find(search.start(position)?, occurrence)?;
    Ok(found.map_or(Datum::Null, |range| result(Cow::Borrowed(&search.text[range]), call)))
}

/// `REGEXP_REPLACE(text, pattern, new [, position [, occurrence [, match type]]])`: occurrence 0 is
/// all of them.
fn replace<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let search = not_null!(search(cx, call, 5, "regexp_replace"));
    let new = not_null!(utf8(cx, call, 2));
    let position = not_null!(option(cx, call, 3, 1));
    let occurrence = not_null!(option(cx, call, 4, 0));
    if position < 1 || occurrence < 0 {
        return Err(error::WRONG_PARAMETERS_TO_NATIVE_FCT.with(&[&"regexp_replace"]));
    }
    let max = cx.settings.max_allowed_packet();
    let mut from = search.start(position)?;
    let mut out = String::new();
    let mut copied = 0;
    let mut matches = search.matches()?;
    // Only a replacement that names groups needs more than the match.
    let names_groups = new.contains('$');
    for found in 1.. {
        let is_replaced = occurrence == 0 || found == occurrence;
        let groups = if names_groups && is_replaced {
            matches.groups(from)?
        } else {
            matches.find(from)?.map(|whole| vec![Some(whole)])
        };
        let Some(groups) = groups else { break };
        let Some(Some(whole)) = groups.first().cloned() else { break };
        if is_replaced {
            out.push_str(&search.text[copied..whole.start]);
            search.expand(&new, &groups, &mut out)?;
            copied = whole.end;
            if super::bounded::too_long(cx, "regexp_replace", out.len().min(max + 1)) {
                return Ok(Datum::Null);
            }
        }
        match search.next_start(whole.start, whole.end) {
            Some(next) if occurrence == 0 || found < occurrence => from = next,
            _ => break,
        }
    }
    out.push_str(&search.text[copied..]);
    Ok(result(Cow::Owned(out), call))
}

/// How many digits name a group: as many as there are groups for, one at least.
fn group_digits(text: &str, groups: usize) -> usize {
    let all = text.bytes().take_while(u8::is_ascii_digit).count();
    let fits = |&n: &usize| text[..n].parse::<usize>().is_ok_and(|number| number < groups);
    (1..=all).rev().find(fits).unwrap_or(all.min(1))
}
