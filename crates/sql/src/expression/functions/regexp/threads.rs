//! All ways through a pattern at once, a character at a time: Thompson's simulation with the
//! captures of each thread ("Pike's virtual machine"). Its time is the number of states for each
//! byte at most; it asks [`datum::bounds`] as it goes.
//!
//! Threads are in the order of their priority, as a backtracking matcher would try them: what comes
//! after a thread that has matched is dropped.

use regex_automata::nfa::thompson::{NFA, State};
use regex_automata::util::primitives::StateID;

use datum::bounds::{self, Ticker};
use datum::error::Result;

/// A slot that nothing was captured in.
const NONE: usize = usize::MAX;

/// Threads in the order of their priority, one for a state at most.
struct Threads {
    order: Vec<StateID>,
    /// Where in `order` a state stands, if what stands there is that state.
    places: Vec<u32>,
    /// The slots of each state's thread.
    slots: Vec<usize>,
}

impl Threads {
    fn new(states: usize, slots: usize) -> Result<Self> {
        bounds::check_for(states * (8 + slots * size_of::<usize>()))?;
        Ok(Self { order: Vec::new(), places: vec![0; states], slots: vec![NONE; states * slots] })
    }

    /// False if the state has a thread already, which has the higher priority.
    fn insert(&mut self, state: StateID) -> bool {
        let place = self.places[state.as_usize()] as usize;
        if self.order.get(place) == Some(&state) {
            return false;
        }
        self.places[state.as_usize()] = self.order.len() as u32;
        self.order.push(state);
        true
    }
}

/// What is to be done when the states after an alternative have been explored.
enum Task {
    Explore(StateID),
    Restore { slot: usize, value: usize },
}

/// A search in one text.
struct Simulation<'a> {
    nfa: &'a NFA,
    text: &'a str,
    /// Slots that are recorded, the first so many.
    slots: usize,
    tasks: Vec<Task>,
    ticker: Ticker,
}

/// The first match from byte `from` on, or at it where `anchored`: the first `slots` slots, two for
/// each group, `None` for those of groups that took no part. Error 1317 if the statement was
/// killed, 3170 if it may not have the memory.
pub(super) fn first_match(
    nfa: &NFA,
    text: &str,
    from: usize,
    anchored: bool,
    slots: usize,
) -> Result<Option<Vec<Option<usize>>>> {
    let mut simulation = Simulation { nfa, text, slots, tasks: Vec::new(), ticker: Ticker::default() };
    let found = simulation.run(from, anchored)?;
    Ok(found.map(|slots| slots.into_iter().map(|at| (at != NONE).then_some(at)).collect()))
}

impl Simulation<'_> {
    fn run(&mut self, from: usize, anchored: bool) -> Result<Option<Vec<usize>>> {
        let mut current = Threads::new(self.nfa.states().len(), self.slots)?;
        let mut next = Threads::new(self.nfa.states().len(), self.slots)?;
        let mut scratch = vec![NONE; self.slots];
        let mut found = None;
        for at in from..=self.text.len() {
            self.ticker.step()?;
            // A thread of the lowest priority begins here; within a character none does, or an
            // empty match would split it.
            let begins = found.is_none() && (at == from || !anchored) && self.text.is_char_boundary(at);
            if begins {
                scratch.fill(NONE);
                self.explore(self.nfa.start_anchored(), at, &mut scratch, &mut current)?;
            } else if current.order.is_empty() && (found.is_some() || anchored) {
                break;
            }
            for i in 0..current.order.len() {
                self.ticker.step()?;
                let state = current.order[i];
                let slots = &current.slots[state.as_usize() * self.slots..][..self.slots];
                let bytes = self.text.as_bytes();
                let to = match self.nfa.state(state) {
                    State::Match { .. } => {
                        found = Some(slots.to_vec());
                        break;
                    }
                    State::ByteRange { trans } => trans.matches(bytes, at).then_some(trans.next),
                    State::Sparse(transitions) => transitions.matches(bytes, at),
                    State::Dense(transitions) => transitions.matches(bytes, at),
                    _ => None,
                };
                if let Some(to) = to {
                    scratch.copy_from_slice(slots);
                    self.explore(to, at + 1, &mut scratch, &mut next)?;
                }
            }
            std::mem::swap(&mut current, &mut next);
            next.order.clear();
        }
        Ok(found)
    }

    /// Adds the threads that a state leads to without reading anything.
    fn explore(
        &mut self,
        state: StateID,
        at: usize,
        scratch: &mut [usize],
        threads: &mut Threads,
    ) -> Result<()> {
        self.tasks.push(Task::Explore(state));
        while let Some(task) = self.tasks.pop() {
            let mut state = match task {
                Task::Explore(state) => state,
                Task::Restore { slot, value } => {
                    scratch[slot] = value;
                    continue;
                }
            };
            while threads.insert(state) {
                self.ticker.step()?;
                state = match self.nfa.state(state) {
                    State::Look { look, next } => {
                        if !self.nfa.look_matcher().matches(*look, self.text.as_bytes(), at) {
                            break;
                        }
                        *next
                    }
                    State::Union { alternates } => {
                        let Some((&first, others)) = alternates.split_first() else { break };
                        self.tasks.extend(others.iter().rev().map(|&other| Task::Explore(other)));
                        first
                    }
                    State::BinaryUnion { alt1, alt2 } => {
                        self.tasks.push(Task::Explore(*alt2));
                        *alt1
                    }
                    State::Capture { next, slot, .. } => {
                        if let Some(value) = scratch.get_mut(slot.as_usize()) {
                            self.tasks.push(Task::Restore { slot: slot.as_usize(), value: *value });
                            *value = at;
                        }
                        *next
                    }
                    _ => {
                        let first = state.as_usize() * self.slots;
                        threads.slots[first..first + self.slots].copy_from_slice(scratch);
                        break;
                    }
                };
            }
        }
        Ok(())
    }
}
