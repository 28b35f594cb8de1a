//! Fetching ahead of a long walk.
//!
//! Where rows came at random, each step of a walk is a miss of the cache, and the next one can't
//! begin before it: a node's address is known only from the node before it. But the links of the
//! second level know, a few nodes ahead, where *stretches* begin (a node that is taller than one
//! level, and the low ones after it). So a few *scouts* walk the stretches to come, each its own, a
//! step for each step of the walk: their misses overlap, and the walk meets nodes that are there
//! already.
//!
//! What scouts meet may be out of date by the time that the walk is there: nothing depends on it
//! but time.

use super::Node;

/// Stretches that are scouted at a time. More of them hide nothing more: a stretch is four nodes
/// long on average.
const SCOUTS: usize = 4;
/// A walk is long after so many steps; a short range is not worth the start.
const LONG: u32 = 24;

/// The scouts of one walk forward.
pub(super) struct Ahead {
    steps: u32,
    /// One for each of the next stretches, the nearest at `first`: the node that it stands on, or
    /// none at its stretch's end.
    scouts: [Node; SCOUTS],
    first: usize,
    /// The beginning of the first stretch that has no scout yet; `None` while there are no scouts
    /// at all.
    far: Option<Node>,
}

impl Ahead {
    pub(super) const fn new() -> Ahead {
        Ahead { steps: 0, scouts: [Node::NONE; SCOUTS], first: 0, far: None }
    }

    /// Follows a step of the walk to `node`.
    ///
    /// # Safety
    /// `node` is a linked node of a list that lives as long as the walk.
    pub(super) unsafe fn step(&mut self, node: Node) {
        self.steps = self.steps.saturating_add(1);
        // SAFETY: a living node, asked for the levels that it has; so are all that its links lead
        // to.
        unsafe {
            if node.height() > 1 {
                if let Some(far) = self.far {
                    self.send(far);
                } else if self.steps > LONG {
                    self.start(node);
                }
            }
            match self.far {
                Some(_) => self.scouts.iter_mut().for_each(|scout| advance(scout)),
                None => node.next(0).prefetch(),
            }
        }
    }

    /// # Safety
    /// As [`Self::step`], and `node` has two levels.
    unsafe fn start(&mut self, node: Node) {
        // SAFETY: passed on; what a link of the second level leads to has two levels as well.
        unsafe {
            let mut far = node.next(1);
            for scout in &mut self.scouts {
                *scout = far;
                far = if far.is_none() { far } else { far.next(1) };
            }
            self.first = 0;
            self.far = Some(far);
        }
    }

    /// The walk is in the nearest scout's stretch now: that scout goes to the first stretch without
    /// one.
    ///
    /// # Safety
    /// `far` is none or a living node of two levels.
    unsafe fn send(&mut self, far: Node) {
        self.scouts[self.first] = far;
        self.first = (self.first + 1) % SCOUTS;
        if !far.is_none() {
            // SAFETY: passed on. It was fetched when it became the far one.
            let next = unsafe { far.next(1) };
            next.prefetch();
            self.far = Some(next);
        }
    }
}

/// A scout's step, up to the end of its stretch.
///
/// # Safety
/// The scout stands on a living node or nowhere.
unsafe fn advance(scout: &mut Node) {
    if scout.is_none() {
        return;
    }
    // SAFETY: passed on; every node has the lowest level.
    unsafe {
        let next = scout.next(0);
        next.prefetch();
        *scout = if next.is_none() || next.height() > 1 { Node::NONE } else { next };
    }
}
