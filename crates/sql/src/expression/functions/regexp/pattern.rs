//! A pattern from its text to what can be matched: diagnosis with MySQL's errors, translation,
//! compilation, and the way of matching that a text calls for.
//!
//! The library can't be interrupted within a match. It does what is short whatever it takes
//! ([`QUICK`]). Beyond that patterns that need no backtracking are matched in steps ([`Stepped`]).
//! The others are watched ([`super::watched`]) while they backtrack; what the library does in one
//! go is bounded by the size of a pattern's parts and the text's length ([`STEP_MAX`]).

use std::borrow::Cow;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fancy_regex::{CompileError, ParseError, Regex, RegexBuilder};

use super::stepped::Stepped;
use datum::error::{self, Code, Result, SqlError};

/// A pattern has so many bytes at most: while it is compiled it takes some hundred times as much
/// memory.
const PATTERN_MAX: usize = 64 << 10;
/// A compiled pattern takes so many bytes at most.
pub(super) const COMPILED_MAX: usize = 1 << 20;
/// Steps back that a match may take.
const BACKTRACK_MAX: usize = 1_000_000;
/// A session keeps so many patterns.
const CACHED_MAX: usize = 8;
/// Texts of so many bytes are matched by the library with any pattern.
const SHORT: usize = 4 << 10;
/// The library matches a pattern of so many states times a text of so many bytes: a few tenths of a
/// second.
const QUICK: usize = 1 << 27;
/// A part of a pattern that takes so many bytes times a text of so many is what the library may do
/// at one step back.
const STEP_MAX: usize = 1 << 35;

/// The patterns used last, the latest first.
#[derive(Default)]
pub(crate) struct Cache(Vec<(String, Arc<Pattern>)>);

impl Cache {
    /// The compiled form of a pattern, flags and all.
    pub(super) fn get(&mut self, pattern: &str, flags: Flags) -> Result<Arc<Pattern>> {
        let prefix = flags.prefix();
        let same = |(kept, _): &(String, _)| kept.strip_prefix(prefix) == Some(pattern);
        if let Some(at) = self.0.iter().position(same) {
            self.0[..=at].rotate_right(1);
            return Ok(self.0[0].1.clone());
        }
        let compiled = Arc::new(Pattern::new(prefix, pattern)?);
        self.0.truncate(CACHED_MAX - 1);
        self.0.insert(0, (format!("{prefix}{pattern}"), compiled.clone()));
        Ok(compiled)
    }
}

/// A compiled pattern.
pub(super) struct Pattern {
    regex: Arc<Regex>,
    /// What the library compiled.
    translated: String,
    /// Made for the first text that is not short.
    stepped: OnceLock<Option<Stepped>>,
    /// The same pattern with smaller parts, and the size of these.
    small: Mutex<Option<(usize, Arc<Regex>)>>,
}

/// How a pattern is matched in a text.
pub(super) enum Matcher<'p> {
    Library(Arc<Regex>),
    /// In steps that can be interrupted.
    Stepped(&'p Stepped),
}

impl Pattern {
    fn new(prefix: &str, pattern: &str) -> Result<Self> {
        if pattern.is_empty() {
            return Err(error::REGEXP_ILLEGAL_ARGUMENT.plain());
        }
        if pattern.len() > PATTERN_MAX {
            return Err(error::REGEXP_PATTERN_TOO_BIG.plain());
        }
        match diagnose(pattern) {
            Some((error::REGEXP_RULE_SYNTAX, at)) => return Err(syntax_error(pattern, at)),
            Some((code, _)) => return Err(code.plain()),
            None => {}
        }
        let translated = format!("{prefix}{}", translate(pattern));
        let regex = compile(&translated, COMPILED_MAX).map_err(|e| refusal(&e, pattern))?;
        Ok(Self { regex: Arc::new(regex), translated, stepped: OnceLock::new(), small: Mutex::default() })
    }

    /// How to match a text of so many bytes; error 3699 if that would take too long and could not
    /// be interrupted.
    pub(super) fn matcher(&self, text_len: usize) -> Result<Matcher<'_>> {
        if text_len <= SHORT {
            return Ok(Matcher::Library(self.regex.clone()));
        }
        match self.stepped.get_or_init(|| Stepped::new(&self.translated)) {
            // To the library, words' boundaries are a matter of backtracking.
            Some(stepped) if stepped.has_word_boundaries() => Ok(Matcher::Stepped(stepped)),
            Some(stepped) if stepped.states().saturating_mul(text_len) > QUICK => {
                Ok(Matcher::Stepped(stepped))
            }
            Some(_) => Ok(Matcher::Library(self.regex.clone())),
            None => Ok(Matcher::Library(self.with_small_parts(text_len)?)),
        }
    }

    fn with_small_parts(&self, text_len: usize) -> Result<Arc<Regex>> {
        let part_max = (STEP_MAX / text_len.next_power_of_two()).min(COMPILED_MAX);
        if part_max == COMPILED_MAX {
            return Ok(self.regex.clone());
        }
        let mut small = self.small.lock().unwrap_or_else(PoisonError::into_inner);
        match &*small {
            Some((size, regex)) if *size == part_max => Ok(regex.clone()),
            _ => {
                let regex =
                    compile(&self.translated, part_max).map_err(|_| error::REGEXP_TIME_OUT.plain())?;
                Ok(small.insert((part_max, Arc::new(regex))).1.clone())
            }
        }
    }

    /// How many groups there are, the whole match among them.
    pub(super) fn group_count(&self) -> usize {
        self.regex.captures_len()
    }

    /// The number of the group with this name.
    pub(super) fn group_named(&self, name: &str) -> Option<usize> {
        self.regex.capture_names().position(|own| own == Some(name))
    }
}

fn compile(translated: &str, part_max: usize) -> Result<Regex, fancy_regex::Error> {
    let mut builder = RegexBuilder::new(translated);
    builder.backtrack_limit(BACKTRACK_MAX).delegate_size_limit(part_max).max_prog_size(COMPILED_MAX / 64);
    builder.build()
}

/// What the match type says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) ignore_case: bool,
    pub(super) multi_line: bool,
    pub(super) dot_matches_newline: bool,
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

    /// The letters of a match type; the last of `c` and `i` counts. `u` (only `\n` ends a line) is
    /// how it always is.
    pub(super) fn read(mut self, letters: &[u8]) -> Option<Self> {
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

/// The named classes of characters as ICU has them ("Sets of characters" of its user guide), which
/// knows all of Unicode; the library's know ASCII alone. Within brackets.
const CLASSES: &[(&str, &str)] = &[
    ("alnum", r"\p{Alphabetic}\p{Nd}"),
    ("alpha", r"\p{Alphabetic}"),
    ("blank", r"\p{Zs}\t"),
    ("cntrl", r"\p{Cc}"),
    ("digit", r"\p{Nd}"),
    ("graph", r"^\p{White_Space}\p{Cc}\p{Cn}"),
    ("lower", r"\p{Lowercase}"),
    ("print", r"^\p{Zl}\p{Zp}\p{Cc}\p{Cn}"),
    ("punct", r"\p{P}"),
    ("space", r"\p{White_Space}"),
    ("upper", r"\p{Uppercase}"),
    ("word", r"\w"),
    ("xdigit", r"\p{Nd}\p{Hex_Digit}"),
];

/// A named class at the start of a pattern's rest: what the library calls it, and the bytes of its
/// name.
fn named_class(rest: &str) -> Option<(String, usize)> {
    let name = rest.strip_prefix("[:")?.split_once(":]")?.0;
    let (is_negated, word) = match name.strip_prefix('^') {
        Some(word) => (true, word),
        None => (false, name),
    };
    let (_, set) = CLASSES.iter().find(|(class, _)| class.eq_ignore_ascii_case(word))?;
    let class = match (is_negated, set.strip_prefix('^')) {
        (false, _) => format!("[{set}]"),
        (true, None) => format!("[^{set}]"),
        (true, Some(others)) => format!("[{others}]"),
    };
    Some((class, name.len() + 4))
}

/// Escapes of letters that mean nothing to the library stand for the letter, and named classes for
/// what they are in MySQL's.
fn translate(pattern: &str) -> Cow<'_, str> {
    let unknown = |c: char| "ghijlmoqyEFHIJLMOTVYC".contains(c);
    let escapes = || pattern.match_indices('\\');
    if !pattern.contains("[:") && escapes().all(|(i, _)| !pattern[i + 1..].starts_with(unknown)) {
        return Cow::Borrowed(pattern);
    }
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    // A class is named within brackets only.
    let mut within = false;
    while let Some(c) = rest.next() {
        if c != '\\' {
            let at = pattern.len() - rest.as_str().len() - 1;
            match c {
                '[' if within && let Some((class, len)) = pattern.get(at..).and_then(named_class) => {
                    out.push_str(&class);
                    rest = pattern[at + len..].chars();
                    continue;
                }
                '[' => within = true,
                ']' => within = false,
                _ => {}
            }
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

/// What is wrong with a pattern's brackets and repetitions, and at which byte; `None` if these are
/// in order.
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

/// How far after the `{` its `}` is.
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

/// How far after the `[` its `]` is.
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

#[cfg(test)]
mod tests {
    use super::super::failure;
    use super::*;

    fn number(pattern: &str) -> u16 {
        Pattern::new("(?i)", pattern).map_or_else(|e| e.number, |_| 0)
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
        let regex = Pattern::new("(?-i)", "(a*)*\\1b").unwrap().regex;
        let e = regex.is_match("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac").map_err(failure);
        assert!(e.is_err_and(|e| e.number == 3699 || e.number == 3698));
    }

    #[test]
    fn a_pattern_is_compiled_once() {
        let mut cache = Cache::default();
        let flags = Flags { ignore_case: true, multi_line: false, dot_matches_newline: false };
        let first = cache.get("a+", flags).unwrap();
        for i in 0..CACHED_MAX - 1 {
            cache.get(&format!("b{i}"), flags).unwrap();
        }
        assert!(Arc::ptr_eq(&first, &cache.get("a+", flags).unwrap()));
        let sensitive = Flags { ignore_case: false, ..flags };
        assert!(!Arc::ptr_eq(&first, &cache.get("a+", sensitive).unwrap()));
        assert_eq!(cache.0.len(), CACHED_MAX);
    }
}
