//! Many transactions driven from one thread, each step compared with a model that follows the rules
//! word by word.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;

const OWNERS: usize = 6;
const KEYS: u64 = 4;

#[derive(Debug, Default)]
struct Key {
    holders: BTreeMap<usize, LockMode>,
    queue: VecDeque<(usize, LockMode)>,
}

/// Owners are numbered by their place in the test; one waits for at most one key.
#[derive(Debug, Default)]
struct Model {
    keys: BTreeMap<u64, Key>,
    waits: BTreeMap<usize, u64>,
}

impl Key {
    fn conflict(a: LockMode, b: LockMode) -> bool {
        a == Exclusive || b == Exclusive
    }

    fn admits(&self, owner: usize, mode: LockMode) -> bool {
        self.holders.iter().all(|(&h, &m)| h == owner || !Key::conflict(m, mode))
    }
}

impl Model {
    /// True if granted at once.
    fn request(&mut self, owner: usize, key: u64, mode: LockMode) -> bool {
        let k = self.keys.entry(key).or_default();
        let held = k.holders.get(&owner).copied();
        if held >= Some(mode) {
            return true;
        }
        if k.admits(owner, mode) && (held.is_some() || k.queue.is_empty()) {
            k.holders.insert(owner, mode);
            return true;
        }
        let upgrades = k.queue.iter().take_while(|(w, _)| k.holders.contains_key(w)).count();
        let at = if held.is_some() { upgrades } else { k.queue.len() };
        k.queue.insert(at, (owner, mode));
        self.waits.insert(owner, key);
        false
    }

    fn serve(&mut self, key: u64) {
        let k = self.keys.entry(key).or_default();
        while let Some(&(owner, mode)) = k.queue.front() {
            if !k.admits(owner, mode) {
                break;
            }
            k.queue.pop_front();
            k.holders.insert(owner, mode);
            self.waits.remove(&owner);
        }
    }

    fn cancel_wait(&mut self, owner: usize) {
        if let Some(key) = self.waits.remove(&owner) {
            self.keys.get_mut(&key).unwrap().queue.retain(|&(w, _)| w != owner);
            self.serve(key);
        }
    }

    fn end(&mut self, owner: usize) {
        self.cancel_wait(owner);
        for key in self.keys.keys().copied().collect::<Vec<_>>() {
            self.keys.get_mut(&key).unwrap().holders.remove(&owner);
            self.serve(key);
        }
    }

    /// Whom `owner` waits for: every other holder in conflict, everyone before it in the queue.
    fn blockers(&self, owner: usize) -> BTreeSet<usize> {
        let Some(k) = self.waits.get(&owner).map(|key| &self.keys[key]) else { return BTreeSet::new() };
        let (at, mode) =
            k.queue.iter().enumerate().find_map(|(i, w)| (w.0 == owner).then_some((i, w.1))).unwrap();
        let holders =
            k.holders.iter().filter(|&(&h, &m)| h != owner && Key::conflict(m, mode)).map(|(&h, _)| h);
        holders.chain(k.queue.iter().take(at).map(|w| w.0)).collect()
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut seen = BTreeSet::new();
        let mut todo: Vec<usize> = self.blockers(from).into_iter().collect();
        while let Some(next) = todo.pop() {
            if next == to {
                return true;
            }
            if seen.insert(next) {
                todo.extend(self.blockers(next));
            }
        }
        false
    }
}

struct Run {
    manager: Arc<LockManager>,
    owners: Vec<TransactionLocks>,
    /// The place each real transaction waits at.
    waiting: Vec<Option<(u16, u32, bool)>>,
    model: Model,
}

impl Run {
    fn new() -> Self {
        let manager = manager();
        let owners = (0..OWNERS).map(|_| begin(&manager)).collect();
        Self { manager, owners, waiting: vec![None; OWNERS], model: Model::default() }
    }

    fn request(&mut self, owner: usize, key: u64, mode: LockMode) {
        let bytes = key.to_be_bytes();
        let hash = self.manager.hash(TREE, &bytes);
        let wanted = Wanted { hash, tree: TREE, key: &bytes, mode };
        let granted = self.model.request(owner, key, mode);
        let victims = self.manager.status.deadlocks.load(Relaxed);
        match self.manager.begin_wait(&wanted, &self.owners[owner]) {
            Ok(Begun::Granted { slot, acquired }) => {
                assert!(granted, "granted against the rules");
                self.remember(owner, shard_of(hash) as u16, slot, acquired == Acquired::New);
            }
            Ok(Begun::Waiting { slot, upgrade, .. }) => {
                assert!(!granted, "must wait against the rules");
                self.waiting[owner] = Some((shard_of(hash) as u16, slot, upgrade));
            }
            Err(e) => assert_eq!((e, granted), (LockError::Deadlock, false)),
        }
        let cycle = !granted && self.model.reaches(owner, owner);
        let found = self.manager.status.deadlocks.load(Relaxed) > victims;
        assert_eq!(found, cycle, "a cycle was missed or invented");
        self.check_victims(owner);
        self.finish_waits(owner);
        assert!((0..OWNERS).all(|o| !self.model.reaches(o, o)), "a cycle is left");
    }

    /// Each victim was in a cycle with the requester, and was not heavier than it.
    fn check_victims(&self, requester: usize) {
        for victim in (0..OWNERS).filter(|o| self.model.waits.contains_key(o)) {
            if self.owners[victim].interrupt.outcome() == Some(Outcome::Deadlock) {
                assert!(self.model.reaches(requester, victim) && self.model.reaches(victim, requester));
                assert!(
                    self.owners[victim].weight <= self.owners[requester].weight,
                    "a heavier one gave way"
                );
            }
        }
    }

    fn remember(&mut self, owner: usize, shard: u16, slot: u32, new: bool) {
        if new {
            self.owners[owner].held.push((shard, slot));
        }
    }

    /// What the session's thread does when it wakes: takes the grant, or rolls back as a victim.
    fn finish_waits(&mut self, requester: usize) {
        loop {
            let ended = (0..OWNERS).find(|&o| {
                let waits =
                    self.waiting[o].is_some() || (o == requester && self.model.waits.contains_key(&o));
                waits && self.owners[o].interrupt.outcome().is_some()
            });
            let Some(owner) = ended else { break };
            let waited = self.waiting[owner].take();
            self.manager.graph.lock().remove(self.owners[owner].owner);
            match self.owners[owner].interrupt.outcome().unwrap() {
                Outcome::Granted => {
                    let (shard, slot, upgrade) = waited.unwrap();
                    self.remember(owner, shard, slot, !upgrade);
                }
                Outcome::Deadlock => self.end(owner),
                Outcome::GivenUp => unreachable!("nobody gives up here"),
            }
        }
    }

    fn end(&mut self, owner: usize) {
        self.owners[owner].release_all();
        self.model.end(owner);
    }

    fn give_up(&mut self, owner: usize) {
        let id = self.owners[owner].owner;
        assert!(self.manager.expel(&mut self.manager.graph.lock(), id, Outcome::GivenUp));
        self.waiting[owner] = None;
        self.model.cancel_wait(owner);
    }

    fn compare(&self) {
        self.manager.check_invariants();
        for (key, k) in &self.model.keys {
            let mut holders = self.manager.holders(TREE, &key.to_be_bytes());
            holders.sort_unstable();
            let wanted: Vec<_> = k.holders.iter().map(|(&o, &m)| (self.owners[o].owner, m)).collect();
            assert_eq!(holders, wanted, "key {key}");
        }
        for owner in 0..OWNERS {
            assert_eq!(self.waiting[owner].is_some(), self.model.waits.contains_key(&owner), "owner {owner}");
        }
    }
}

#[test]
fn every_step_agrees_with_the_rules() {
    for seed in 0..300 {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let mut run = Run::new();
        for owner in 0..OWNERS {
            run.owners[owner].set_weight(random.below(3));
        }
        for _ in 0..200 {
            let owner = random.below(OWNERS as u64) as usize;
            let mode = if random.below(2) == 0 { Shared } else { Exclusive };
            match (run.waiting[owner].is_some(), random.below(12)) {
                (false, 0) => run.end(owner),
                (false, _) => run.request(owner, random.below(KEYS), mode),
                (true, 0) => run.give_up(owner),
                (true, _) => {}
            }
            run.finish_waits(OWNERS);
            run.compare();
        }
        for owner in 0..OWNERS {
            if run.waiting[owner].is_some() {
                run.give_up(owner);
            }
            run.end(owner);
            run.finish_waits(OWNERS);
        }
        assert!(run.manager.is_empty() && run.manager.graph.lock().is_empty());
    }
}
