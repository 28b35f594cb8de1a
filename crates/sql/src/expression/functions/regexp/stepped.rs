//! Patterns that need no backtracking, matched in steps that can be interrupted: for texts for
//! which the library, which cannot be, might take long.
//!
//! An automaton whose states are made as they are needed reads the text byte by byte, once forwards
//! to a match's end and once backwards to its start. Where it has to give up, at word boundaries
//! next to what is not ASCII, and for groups, all threads are run side by side
//! ([`super::threads`]).

use std::ops::Range;
use std::sync::Arc;

use fancy_regex::{Assertion, Expr};
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{Compiler, Config, NFA, WhichCaptures};
use regex_automata::{Anchored, Input, MatchKind};

use super::{pattern, threads};
use datum::bounds;
use datum::error::Result;

/// So many bytes are read between two questions whether to go on: each may make a state, of all of
/// the pattern's.
const BYTES: usize = 128;
/// What made states may take: bytes. Then they are thrown away and made again.
const CACHE_MAX: usize = 4 << 20;

/// A pattern's automata.
pub(super) struct Stepped {
    nfa: NFA,
    forward: DFA,
    reverse: DFA,
}

/// The states made so far, for one search.
pub(super) struct Caches {
    forward: Cache,
    reverse: Cache,
}

/// Why the automaton stopped.
enum Stop {
    /// Where the match ends, or begins.
    At(Option<usize>),
    /// It cannot say.
    GaveUp,
}

/// The expression, which the library can write as text; `None` if something in it needs
/// backtracking. The library has bounded its depth.
fn regular(expr: Expr) -> Option<Expr> {
    let all = |children: Vec<Expr>| children.into_iter().map(regular).collect::<Option<Vec<_>>>();
    Some(match expr {
        Expr::Group(inner) => Expr::Group(Arc::new(regular(Arc::unwrap_or_clone(inner))?)),
        Expr::Concat(children) => Expr::Concat(all(children)?),
        Expr::Alt(children) => Expr::Alt(all(children)?),
        Expr::Repeat { child, lo, hi, greedy } => {
            Expr::Repeat { child: Box::new(regular(*child)?), lo, hi, greedy }
        }
        Expr::Assertion(Assertion::EndTextIgnoreTrailingNewlines { .. }) => return None,
        leaf @ (Expr::Empty
        | Expr::Any { .. }
        | Expr::Assertion(_)
        | Expr::Literal { .. }
        | Expr::Delegate { .. }) => leaf,
        _ => return None,
    })
}

impl Stepped {
    /// `None` if the pattern, which the library has compiled, needs backtracking.
    pub(super) fn new(pattern: &str) -> Option<Self> {
        let mut text = String::new();
        regular(Expr::parse_tree(pattern).ok()?.expr)?.to_str(&mut text, 0);
        let config = Config::new().nfa_size_limit(Some(pattern::COMPILED_MAX));
        let forward = Compiler::new().configure(config.clone()).build(&text).ok()?;
        let reverse = config.reverse(true).which_captures(WhichCaptures::None);
        let reverse = Compiler::new().configure(reverse).build(&text).ok()?;
        let automaton = |nfa: &NFA, kind| {
            let config = DFA::config()
                .match_kind(kind)
                .unicode_word_boundary(true)
                .cache_capacity(CACHE_MAX)
                .skip_cache_capacity_check(true);
            DFA::builder().configure(config).build_from_nfa(nfa.clone()).ok()
        };
        Some(Self {
            forward: automaton(&forward, MatchKind::LeftmostFirst)?,
            reverse: automaton(&reverse, MatchKind::All)?,
            nfa: forward,
        })
    }

    /// How many states there are.
    pub(super) fn states(&self) -> usize {
        self.nfa.states().len()
    }

    /// True if it asks where words begin and end.
    pub(super) fn has_word_boundaries(&self) -> bool {
        self.nfa.look_set_any().contains_word()
    }

    /// No states yet.
    pub(super) fn caches(&self) -> Caches {
        Caches { forward: self.forward.create_cache(), reverse: self.reverse.create_cache() }
    }

    /// The first match from byte `from` on; error 1317 if the statement was killed.
    pub(super) fn find(&self, caches: &mut Caches, text: &str, from: usize) -> Result<Option<Range<usize>>> {
        let mut begin = from;
        let end = loop {
            match self.end(&mut caches.forward, text, begin)? {
                Stop::At(None) => return Ok(None),
                Stop::At(Some(end)) if text.is_char_boundary(end) => break end,
                // Nothing matches before this empty match within a character.
                Stop::At(Some(end)) => match (end..=text.len()).find(|&at| text.is_char_boundary(at)) {
                    Some(next) => begin = next,
                    None => return Ok(None),
                },
                Stop::GaveUp => return self.find_by_threads(text, begin),
            }
        };
        match self.start(&mut caches.reverse, text, begin, end)? {
            Stop::At(Some(start)) => Ok(Some(start..end)),
            _ => self.find_by_threads(text, begin),
        }
    }

    fn find_by_threads(&self, text: &str, from: usize) -> Result<Option<Range<usize>>> {
        let slots = threads::first_match(&self.nfa, text, from, false, 2)?;
        Ok(slots.and_then(|slots| Some(slots[0]?..slots[1]?)))
    }

    /// The groups of a match that begins at byte `start`, the whole of it first.
    pub(super) fn groups(&self, text: &str, start: usize) -> Result<Vec<Option<Range<usize>>>> {
        let slots = self.nfa.group_info().slot_len();
        let found = threads::first_match(&self.nfa, text, start, true, slots)?.unwrap_or_default();
        Ok(found.chunks_exact(2).map(|group| Some(group[0]?..group[1]?)).collect())
    }

    fn end(&self, cache: &mut Cache, text: &str, from: usize) -> Result<Stop> {
        let input = Input::new(text).range(from..);
        let Ok(mut state) = self.forward.start_state_forward(cache, &input) else { return Ok(Stop::GaveUp) };
        let mut found = None;
        // A state describes a match one byte late.
        for at in from..text.len() {
            if (at - from).is_multiple_of(BYTES) {
                bounds::check()?;
            }
            let Ok(next) = self.forward.next_state(cache, state, text.as_bytes()[at]) else {
                return Ok(Stop::GaveUp);
            };
            state = next;
            if state.is_match() {
                found = Some(at);
            } else if state.is_dead() {
                return Ok(Stop::At(found));
            } else if state.is_quit() {
                return Ok(Stop::GaveUp);
            }
        }
        Ok(at_end(self.forward.next_eoi_state(cache, state).ok(), found, text.len()))
    }

    fn start(&self, cache: &mut Cache, text: &str, from: usize, end: usize) -> Result<Stop> {
        let input = Input::new(text).range(from..end).anchored(Anchored::Yes);
        let Ok(mut state) = self.reverse.start_state_reverse(cache, &input) else { return Ok(Stop::GaveUp) };
        let mut found = None;
        for at in (from..end).rev() {
            if (end - at).is_multiple_of(BYTES) {
                bounds::check()?;
            }
            let Ok(next) = self.reverse.next_state(cache, state, text.as_bytes()[at]) else {
                return Ok(Stop::GaveUp);
            };
            state = next;
            if state.is_match() {
                found = Some(at + 1);
            } else if state.is_dead() {
                return Ok(Stop::At(found));
            } else if state.is_quit() {
                return Ok(Stop::GaveUp);
            }
        }
        // What stands before the place counts for assertions.
        let last = match from.checked_sub(1) {
            Some(before) => self.reverse.next_state(cache, state, text.as_bytes()[before]),
            None => self.reverse.next_eoi_state(cache, state),
        };
        Ok(at_end(last.ok(), found, from))
    }
}

/// What the state after the last byte says.
fn at_end(state: Option<LazyStateID>, found: Option<usize>, at: usize) -> Stop {
    match state {
        Some(state) if state.is_match() => Stop::At(Some(at)),
        Some(state) if !state.is_quit() => Stop::At(found),
        _ => Stop::GaveUp,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_the_library_finds() {
        let mut random = stdx::random::Random::new(11);
        let atoms = [
            "a", "b", "é", ".", "[ab]", "[^a]", "(a)", "(b|é)", "(?:ab)", "^", "$", r"\b", r"\w", "|", "|",
            "x",
        ];
        let repeats = ["", "", "", "*", "+", "?", "*?", "{1,3}", "{2}"];
        let pick = |random: &mut stdx::random::Random, of: &[&'static str]| {
            of[random.below(of.len() as u64) as usize]
        };
        let mut compared = 0;
        for _ in 0..4000 {
            let mut text = String::new();
            for _ in 0..random.below(14) {
                text += pick(&mut random, &["a", "a", "b", "é", " ", "\n", "x"]);
            }
            let mut pattern = "(?-i)".to_owned();
            for _ in 0..=random.below(5) {
                pattern += pick(&mut random, &atoms);
                if !pattern.ends_with(['^', '$', '|']) && !pattern.ends_with(r"\b") {
                    pattern += pick(&mut random, &repeats);
                }
            }
            let Ok(library) = fancy_regex::Regex::new(&pattern) else { continue };
            let stepped = Stepped::new(&pattern).unwrap_or_else(|| panic!("{pattern} is not regular"));
            let mut caches = stepped.caches();
            for (from, _) in text.char_indices() {
                let expected = library.captures_from_pos(&*text, from).unwrap();
                let expected: Option<Vec<_>> =
                    expected.map(|groups| groups.iter().map(|group| Some(group?.range())).collect());
                let found = stepped.find(&mut caches, &text, from).unwrap();
                let groups = found.clone().map(|found| stepped.groups(&text, found.start).unwrap());
                assert_eq!(groups, expected, "{pattern} in {text:?} from {from}");
                assert_eq!(stepped.find_by_threads(&text, from).unwrap(), found, "{pattern} in {text:?}");
                compared += 1;
            }
        }
        assert!(compared > 5000, "{compared}");
    }
}
