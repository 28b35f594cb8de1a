//! Collations as the engine's keys see them: all that [`datum::types::Collation`] knows.

use storage::key::collation::{Collation as KeyCollation, Collations};

use datum::types::Collation;

/// All collations that this crate knows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyCollations;

impl Collations for KeyCollations {
    fn get(&self, id: u16) -> Option<KeyCollation> {
        Collation::by_id(id).map(Collation::for_keys)
    }
}
