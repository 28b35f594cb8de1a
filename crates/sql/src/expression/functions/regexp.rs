//! Regular expressions: REGEXP_LIKE (the operators REGEXP and RLIKE), REGEXP_INSTR, REGEXP_SUBSTR, REGEXP_REPLACE.
//!
//! Patterns without backreferences and look-around run in linear time; the others backtrack, up to a limit, then error
//! 3699. A session keeps the patterns it used last compiled ([`Cache`]), so that a row costs a comparison of the pattern's
//! text. Positions count characters, from 1.

use std::borrow::Cow;
use std::sync::Arc;

use fancy_regex::{Captures, CompileError, ParseError, Regex, RegexBuilder, RuntimeError};

use super::{Call, Function, Typing, f, not_null};
use crate::error::{self, Code, Result, SqlError};
use crate::expression::Expr;
use crate::session::Context;
use crate::types::{Charset, Collation, Type};
use crate::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("regexp_instr", (2, 6), super::int, instr),
    f("regexp_like", (2, 3), super::boolean, like),
    f("regexp_replace", (3, 6), text_type, replace),
    f("regexp_substr", (2, 5), text_type, substr),
];

/// A compiled pattern takes so many bytes at most.
const COMPILED_MAX: usize = 1 << 20;
/// Steps back that a match may take.
const BACKTRACK_MAX: usize = 1_000_000;
/// A session keeps so many patterns.
const KEPT: usize = 8;

fn text_type(arguments: &[Expr], typing: &Typing) -> Type {
    let ty = super::like_first(&arguments[..1], typing);
    Type { length: ty.length.max(16 * 1024 * 1024), nullable: true, ..ty }
}

/// The patterns used last, the latest first.
#[derive(Default)]
pub struct Cache(Vec<(String, Arc<Regex>)>);

impl Cache {
    /// The compiled form of a pattern, flags and all.
    fn get(&mut self, pattern: &str, flags: Flags) -> Result<Arc<Regex>> {
        let prefix = flags.prefix();
        let same = |(kept, _): &(String, _)| kept.strip_prefix(prefix) == Some(pattern);
        if let Some(at) = self.0.iter().position(same) {
            self.0[..=at].rotate_right(1);
            return Ok(self.0[0].1.clone());
        }
        let compiled = Arc::new(compile(prefix, pattern)?);
        self.0.truncate(KEPT - 1);
        self.0.insert(0, (format!("{prefix}{pattern}"), compiled.clone()));
        Ok(compiled)
    }
}

/// What the match type says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Flags {
    ignore_case: bool,
    multi_line: bool,
    dot_matches_newline: bool,
}

impl Flags {
    fn prefix(self) -> &'static str {
        match (self.ignore_case, self.multi_line, self.dot_matches_newline) {
            (false, false, false) => "(?-i)",
            (true, false, false) => "(?i)",
            (false, true, false) => "(?m)",
            (true, true, false) => "(?im)",
            (false, false, true) => "(?s)",
            (true, false, true) => "(?is)",
            (false, true, true) => "(?ms)",
            (true, true, true) => "(?ims)",
        }
    }

    /// The letters of a match type; the last of `c` and `i` counts. `u` (only `\n` ends a line) is how it always is.
    fn read(mut self, letters: &[u8]) -> Option<Self> {
        for letter in letters {
            match letter {
                b'c' => self.ignore_case = false,
                b'i' => self.ignore_case = true,
                b'm' => self.multi_line = true,
                b'n' => self.dot_matches_newline = true,
                b'u' => {}
                _ => return None,
            }
        }
        Some(self)
    }
}

fn compile(prefix: &str, pattern: &str) -> Result<Regex> {
    if pattern.is_empty() {
        return Err(error::REGEXP_ILLEGAL_ARGUMENT.plain());
    }
    match diagnose(pattern) {
        Some((error::REGEXP_RULE_SYNTAX, at)) => return Err(syntax_error(pattern, at)),
        Some((code, _)) => return Err(code.plain()),
        None => {}
    }
    let translated = format!("{prefix}{}", translate(pattern));
    let mut builder = RegexBuilder::new(&translated);
    builder.backtrack_limit(BACKTRACK_MAX).delegate_size_limit(COMPILED_MAX).max_prog_size(COMPILED_MAX / 64);
    builder.build().map_err(|e| refusal(&e, pattern))
}

/// Escapes of letters that mean nothing to the library stand for the letter, as they do in MySQL's.
fn translate(pattern: &str) -> Cow<'_, str> {
    let unknown = |c: char| "ghijlmoqyEFHIJLMOTVYC".contains(c);
    let escapes = || pattern.match_indices('\\');
    if escapes().all(|(i, _)| !pattern[i + 1..].starts_with(unknown)) {
        return Cow::Borrowed(pattern);
    }
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match rest.next() {
            Some(c) if unknown(c) => out.push(c),
            Some(c) => out.extend(['\\', c]),
            None => out.push('\\'),
        }
    }
    Cow::Owned(out)
}

/// MySQL's error for a pattern that does not compile.
fn refusal(e: &fancy_regex::Error, pattern: &str) -> SqlError {
    use fancy_regex::Error as E;
    let code = match e {
        E::ParseError(_, ParseError::UnclosedOpenParen) => error::REGEXP_MISMATCHED_PAREN,
        E::ParseError(_, ParseError::TrailingBackslash | ParseError::InvalidEscape(_)) => {
            error::REGEXP_BAD_ESCAPE_SEQUENCE
        }
        E::ParseError(_, ParseError::InvalidBackref) => error::REGEXP_INVALID_BACK_REF,
        E::CompileError(c) => match **c {
            CompileError::InvalidBackref(_) => error::REGEXP_INVALID_BACK_REF,
            CompileError::LookBehindNotConst | CompileError::VariableLookBehindRequiresFeature => {
                error::REGEXP_LOOK_BEHIND_LIMIT
            }
            CompileError::InvalidGroupName => error::REGEXP_INVALID_CAPTURE_GROUP_NAME,
            CompileError::PatternTooComplex => error::REGEXP_PATTERN_TOO_BIG,
            CompileError::InnerError(ref inner) if inner.size_limit().is_some() => {
                error::REGEXP_PATTERN_TOO_BIG
            }
            _ => return syntax_error(pattern, pattern.len()),
        },
        _ => return syntax_error(pattern, pattern.len()),
    };
    code.plain()
}

/// Error 3688 at a byte of the pattern.
fn syntax_error(pattern: &str, at: usize) -> SqlError {
    let before = pattern.get(..at).unwrap_or(pattern);
    let line = before.rsplit('\n').next().unwrap_or(before);
    let number = before.matches('\n').count() + 1;
    error::REGEXP_RULE_SYNTAX.with(&[&number, &(line.chars().count() + 1)])
}

/// What is wrong with a pattern's brackets and repetitions, and at which byte; `None` if these are in order.
fn diagnose(pattern: &str) -> Option<(Code, usize)> {
    let bytes = pattern.as_bytes();
    let (mut depth, mut i) = (0_i32, 0);
    // What may follow: 0 no repetition, 1 one, 2 its `?` or `+` too.
    let mut repeatable = 0;
    while let Some(&b) = bytes.get(i) {
        let at = i;
        let mut next = 1;
        match b {
            b'\\' => i += escape_len(&bytes[i..]),
            b'(' => {
                depth += 1;
                next = 0;
                i += usize::from(bytes.get(i + 1) == Some(&b'?'));
            }
            b')' if depth == 0 => return Some((error::REGEXP_MISMATCHED_PAREN, at)),
            b')' => depth -= 1,
            b'|' => next = 0,
            b'[' => match class_end(&bytes[i..]) {
                Ok(len) => i += len,
                Err(code) => return Some((code, at)),
            },
            b'?' | b'+' if repeatable == 2 => next = 0,
            b'*' | b'+' | b'?' if repeatable == 1 => next = 2,
            b'*' | b'+' | b'?' => return Some((error::REGEXP_RULE_SYNTAX, at)),
            b'{' => match interval_end(&bytes[i..]) {
                Ok(len) => {
                    i += len;
                    next = 2;
                }
                Err(code) => return Some((code, at)),
            },
            _ => {}
        }
        repeatable = next;
        i += 1;
    }
    (depth > 0).then_some((error::REGEXP_MISMATCHED_PAREN, i))
}

/// How many bytes of an escape follow its backslash; a braced name counts with it.
fn escape_len(escape: &[u8]) -> usize {
    match escape {
        [_, b'p' | b'P' | b'x' | b'N' | b'k', b'{', ..] => {
            escape.iter().position(|&b| b == b'}').unwrap_or(1)
        }
        _ => 1,
    }
}

/// How far behind the `{` its `}` is.
fn interval_end(interval: &[u8]) -> Result<usize, Code> {
    let end = interval.iter().position(|&b| b == b'}').ok_or(error::REGEXP_BAD_INTERVAL)?;
    let number = |n: &[u8]| std::str::from_utf8(n).ok()?.parse::<u32>().ok();
    let mut ends = interval[1..end].splitn(2, |&b| b == b',');
    let low = ends.next().and_then(number).ok_or(error::REGEXP_BAD_INTERVAL)?;
    match ends.next() {
        None | Some([]) => Ok(end),
        Some(high) if number(high).ok_or(error::REGEXP_BAD_INTERVAL)? < low => Err(error::REGEXP_MAX_LT_MIN),
        Some(_) => Ok(end),
    }
}

/// How far behind the `[` its `]` is.
fn class_end(class: &[u8]) -> Result<usize, Code> {
    let mut i = 1 + usize::from(class.get(1) == Some(&b'^'));
    let first = i;
    while let Some(&b) = class.get(i) {
        match b {
            b'\\' => i += 1,
            b']' if i > first => return Ok(i),
            b'[' if class.get(i + 1) == Some(&b':') => match class[i..].windows(2).position(|w| w == b":]") {
                Some(_) if !class[i..].starts_with(b"[:") => {}
                Some(len) => i += len + 1,
                None => return Err(error::REGEXP_MISSING_CLOSE_BRACKET),
            },
            b'-' if i > first && class.get(i + 1).is_some_and(|&end| end != b']' && end < class[i - 1]) => {
                return Err(error::REGEXP_INVALID_RANGE);
            }
            _ => {}
        }
        i += 1;
    }
    Err(error::REGEXP_MISSING_CLOSE_BRACKET)
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

/// The collation that says whether case counts; error 3995 if text meets bytes.
fn collation(call: Call<'_>, name: &str) -> Result<Option<Collation>> {
    let mut texts = call.arguments[..2].iter().map(|a| &a.ty).filter(|ty| ty.family.is_text());
    let (first, second) = (texts.next(), texts.next());
    let (Some(a), Some(b)) = (first, second) else { return Ok(first.map(|ty| ty.collation)) };
    if (a.collation == Collation::BINARY) != (b.collation == Collation::BINARY) {
        return Err(error::CHARACTER_SET_MISMATCH.with(&[&a.collation.name(), &b.collation.name(), &name]));
    }
    Ok(Some(if a.coercibility <= b.coercibility { a.collation } else { b.collation }))
}

/// A text and the pattern to look for in it.
struct Search<'a> {
    text: Cow<'a, str>,
    regex: Arc<Regex>,
}

/// Reads text, pattern, and the match type at `flags_at`; `None` if any of them is NULL.
fn search<'a>(cx: &mut Context, call: Call<'a>, flags_at: usize, name: &str) -> Result<Option<Search<'a>>> {
    let Some(text) = utf8(cx, call, 0)? else { return Ok(None) };
    let Some(pattern) = utf8(cx, call, 1)? else { return Ok(None) };
    let ignore_case = collation(call, name)?.is_none_or(|c| c.name().ends_with("_ci"));
    let mut flags = Flags { ignore_case, multi_line: false, dot_matches_newline: false };
    if call.count() > flags_at {
        let Some(letters) = call.text(cx, flags_at)? else { return Ok(None) };
        flags = flags.read(&letters).ok_or_else(|| error::WRONG_ARGUMENTS.with(&[&name]))?;
    }
    let regex = cx.regexps.get(&pattern, flags)?;
    Ok(Some(Search { text, regex }))
}

impl Search<'_> {
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
        let mut from = start;
        for found in 1.. {
            let Some(m) = self.regex.find_from_pos(&*self.text, from).map_err(failure)? else { break };
            if found >= occurrence {
                return Ok(Some(m.start()..m.end()));
            }
            match self.behind(m.start(), m.end()) {
                Some(next) => from = next,
                None => break,
            }
        }
        Ok(None)
    }

    /// Where to go on behind a match; an empty one makes a step of one character.
    fn behind(&self, start: usize, end: usize) -> Option<usize> {
        if end > start {
            return Some(end);
        }
        self.text[end..].chars().next().map(|c| end + c.len_utf8())
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
    Ok(Datum::from_bool(search.regex.is_match(&*search.text).map_err(failure)?))
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

/// `REGEXP_REPLACE(text, pattern, new [, position [, occurrence [, match type]]])`: occurrence 0 is all of them.
fn replace<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let search = not_null!(search(cx, call, 5, "regexp_replace"));
    let new = not_null!(utf8(cx, call, 2));
    let position = not_null!(option(cx, call, 3, 1));
    let occurrence = not_null!(option(cx, call, 4, 0));
    if position < 1 || occurrence < 0 {
        return Err(error::WRONG_PARAMETERS_TO_NATIVE_FCT.with(&[&"regexp_replace"]));
    }
    let max = cx.max_allowed_packet();
    let mut from = search.start(position)?;
    let mut out = String::new();
    let mut copied = 0;
    for found in 1.. {
        let Some(groups) = search.regex.captures_from_pos(&*search.text, from).map_err(failure)? else {
            break;
        };
        let Some(whole) = groups.get(0) else { break };
        if occurrence == 0 || found == occurrence {
            out.push_str(&search.text[copied..whole.start()]);
            expand(&new, &groups, &mut out)?;
            copied = whole.end();
            if super::string::too_long(cx, "regexp_replace", out.len().min(max + 1)) {
                return Ok(Datum::Null);
            }
        }
        match search.behind(whole.start(), whole.end()) {
            Some(next) if occurrence == 0 || found < occurrence => from = next,
            _ => break,
        }
    }
    out.push_str(&search.text[copied..]);
    Ok(result(Cow::Owned(out), call))
}

/// Appends the replacement: `$1` is a group, `${name}` a named one, a backslash takes the next character as it is.
fn expand(new: &str, groups: &Captures<'_, str>, out: &mut String) -> Result<()> {
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
        if let Some((name, behind)) = rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            let group = groups.name(name).ok_or_else(|| error::REGEXP_INVALID_CAPTURE_GROUP_NAME.plain())?;
            out.push_str(group.as_str());
            rest = behind;
            continue;
        }
        let digits = group_digits(rest, groups.len());
        let number: usize = match rest[..digits].parse() {
            Ok(number) => number,
            Err(_) => return Err(error::REGEXP_INVALID_CAPTURE_GROUP_NAME.plain()),
        };
        if number >= groups.len() {
            return Err(error::REGEXP_INDEX_OUTOFBOUNDS.plain());
        }
        out.push_str(groups.get(number).map_or("", |group| group.as_str()));
        rest = &rest[digits..];
    }
    out.push_str(rest);
    Ok(())
}

/// How many digits name a group: as many as there are groups for, one at least.
fn group_digits(text: &str, groups: usize) -> usize {
    let all = text.bytes().take_while(u8::is_ascii_digit).count();
    let fits = |&n: &usize| text[..n].parse::<usize>().is_ok_and(|number| number < groups);
    (1..=all).rev().find(fits).unwrap_or(all.min(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(pattern: &str) -> u16 {
        compile("(?i)", pattern).map_or_else(|e| e.number, |_| 0)
    }

    #[test]
    fn wrong_patterns_have_their_errors() {
        for (pattern, expected) in [
            ("", 3685),
            ("(A", 3691),
            ("A)", 3691),
            ("[A", 3696),
            ("A{2,1}", 3693),
            ("[z-a]", 3697),
            ("(a)\\2", 3694),
            ("a\\", 3689),
            ("*A", 3688),
            ("A**", 3688),
            ("A{x}", 3692),
            ("\\p{L}+?", 0),
            ("(?:a|b)*(?=c)", 0),
            ("\\j", 0),
            ("[]a]", 0),
            ("[[:alpha:]]+", 0),
        ] {
            assert_eq!(number(pattern), expected, "{pattern}");
        }
    }

    #[test]
    fn hostile_patterns_are_bounded() {
        assert_eq!(number("(a{1000}){1000}{1000}"), 3700);
        let regex = compile("(?-i)", "(a*)*\\1b").unwrap();
        let e = regex.is_match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac").map_err(failure);
        assert!(e.is_err_and(|e| e.number == 3699 || e.number == 3698));
    }

    #[test]
    fn a_pattern_is_compiled_once() {
        let mut cache = Cache::default();
        let flags = Flags { ignore_case: true, multi_line: false, dot_matches_newline: false };
        let first = cache.get("a+", flags).unwrap();
        for i in 0..KEPT - 1 {
            cache.get(&format!("b{i}"), flags).unwrap();
        }
        assert!(Arc::ptr_eq(&first, &cache.get("a+", flags).unwrap()));
        let sensitive = Flags { ignore_case: false, ..flags };
        assert!(!Arc::ptr_eq(&first, &cache.get("a+", sensitive).unwrap()));
        assert_eq!(cache.0.len(), KEPT);
    }
}
