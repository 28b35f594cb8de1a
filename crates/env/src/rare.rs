//! Checks of test builds: assertions of costly invariants, and rare paths taken at random.
//!
//! Both are compiled into builds with debug assertions and the feature `invariants`, on by default
//! in the server and in tests; a release or a benchmark has neither, whatever the feature says, for
//! then [`INVARIANTS`] is a constant `false`.
//!
//! The assertions always run there. Rare paths are taken only where they are enabled: in a
//! simulation by [`SimEnv::with_rare_paths`](crate::SimEnv::with_rare_paths), which draws them from
//! its seed; on the real machine by the environment variable `DURAMEN_RARE_PATHS`, a seed, or
//! `random` for one that is drawn and printed.

use crate::Env;
use parking_lot::Mutex;
use std::sync::OnceLock;
use stdx::random::Random;

/// True in builds that check costly invariants and may take rare paths.
pub const INVARIANTS: bool = cfg!(all(feature = "invariants", debug_assertions));

/// The seed of the rare paths that the real machine takes, or `random`.
const VARIABLE: &str = "DURAMEN_RARE_PATHS";

/// True in about one of `one_in` calls, where code is to take a path that is always correct and
/// seldom needed.
#[inline]
pub fn rarely(env: &dyn Env, one_in: u64) -> bool {
    INVARIANTS && env.takes_rare_path(one_in)
}

/// [`Env::takes_rare_path`] of the real machine. All threads draw from one seed, so it repeats
/// their lots, not who draws which.
pub(crate) fn real(one_in: u64) -> bool {
    static LOTS: OnceLock<Option<Mutex<Random>>> = OnceLock::new();
    let lots = LOTS.get_or_init(|| {
        let wanted = std::env::var(VARIABLE).ok()?;
        let seed = wanted.parse().unwrap_or_else(|_| getrandom::u64().unwrap_or_default());
        eprintln!("rare paths are taken at random: {VARIABLE}={seed} repeats them");
        Some(Mutex::new(Random::new(seed)))
    });
    lots.as_ref().is_some_and(|lots| lots.lock().chance(1, one_in))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SimEnv;

    #[test]
    fn a_simulated_machine_takes_them_by_its_seed_and_only_if_enabled() {
        if !INVARIANTS {
            return; // the tests of a release
        }
        let drawn = |env: &SimEnv| (0..1000).map(|_| rarely(env, 4)).collect::<Vec<_>>();
        let env = SimEnv::new(7);
        assert!(!drawn(&env).contains(&true));
        let env = env.with_rare_paths();
        let lots = drawn(&env);
        assert!((150..350).contains(&lots.iter().filter(|lot| **lot).count()));
        assert_eq!(drawn(&SimEnv::new(7).with_rare_paths()), lots);
        assert!(drawn(&env.reboot()).contains(&true), "its next life does so too");
    }
}
