//! Collations as the engine's keys see them.
//!
//! `binary` and `_bin` ones are the engine's own. The case-insensitive ones get the weights of
//! [`crate::types::collation`], which know ASCII only: the executor refuses other text in their key columns with error
//! 1235 before it reaches a key.

use std::sync::Arc;

use storage::key::collation::{
    BinaryCollations, Characters, Collation as KeyCollation, Collations, Order, Weights,
};

use crate::types::{Charset, Collation};

/// All collations that this crate knows.
#[derive(Debug, Clone, Copy)]
pub struct KeyCollations;

impl Collations for KeyCollations {
    fn get(&self, id: u16) -> Option<KeyCollation> {
        BinaryCollations.get(id).or_else(|| {
            let collation = Collation::by_id(id)?;
            let characters = match collation.charset() {
                Charset::Utf8mb3 | Charset::Utf8mb4 => Characters::Utf8,
                _ => Characters::Bytes,
            };
            Some(KeyCollation { order: Order::Weights(Arc::new(AsciiWeights(collation))), characters })
        })
    }
}

struct AsciiWeights(Collation);

impl Weights for AsciiWeights {
    fn append(&self, text: &[u8], out: &mut Vec<u8>) {
        // What can't be weighed was refused before; should it come from elsewhere, any order will do.
        if self.0.sort_key(text, out).is_err() {
            out.extend_from_slice(text);
        }
    }
}
