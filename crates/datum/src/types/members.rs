//! The members of an ENUM or SET, and a map to find them by their texts.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use super::Collation;

/// So few members are compared one by one.
const FEW: usize = 8;

/// The members of an ENUM or SET, in the column's character set. Copies share them.
#[derive(Debug, Clone)]
pub struct Members(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    texts: Box<[Box<[u8]>]>,
    /// Places by the texts' sort keys under a collation: made when one is looked for, once for a
    /// definition.
    places: OnceLock<(Collation, HashMap<Vec<u8>, u16>)>,
}

impl Members {
    /// The place of the member that is equal to a text without spaces at its end.
    pub fn find(&self, text: &[u8], collation: Collation) -> Option<usize> {
        let one_by_one = || self.iter().position(|member| collation.compare(member, text).is_eq());
        if self.len() <= FEW {
            return one_by_one();
        }
        let (of, places) = self.0.places.get_or_init(|| (collation, self.places(collation)));
        if *of != collation {
            return one_by_one();
        }
        places.get(&key(text, collation)).copied().map(usize::from)
    }

    fn places(&self, collation: Collation) -> HashMap<Vec<u8>, u16> {
        let mut places = HashMap::with_capacity(self.len());
        for (member, place) in self.iter().zip(0..) {
            places.entry(key(member, collation)).or_insert(place);
        }
        places
    }
}

fn key(text: &[u8], collation: Collation) -> Vec<u8> {
    let mut key = Vec::with_capacity(text.len() + 8);
    collation.sort_key(text, &mut key);
    key
}

impl Deref for Members {
    type Target = [Box<[u8]>];

    fn deref(&self) -> &[Box<[u8]>] {
        &self.0.texts
    }
}

impl FromIterator<Box<[u8]>> for Members {
    fn from_iter<I: IntoIterator<Item = Box<[u8]>>>(members: I) -> Self {
        Self(Arc::new(Shared { texts: members.into_iter().collect(), places: OnceLock::new() }))
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.texts == other.0.texts
    }
}

impl Eq for Members {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_found_as_by_comparing_each() {
        let texts = ["", "a", "b", "é", "ss", "x y", "10", "ä", "B2", "\u{1f600}", "zz", "c"];
        let members: Members = texts.iter().map(|t| t.as_bytes().into()).collect();
        for collation in [45, 46, 255, 278, 309] {
            let collation = Collation::by_id(collation).unwrap();
            // Another collation than that of the map goes through the members.
            let other: Members = members.iter().cloned().collect();
            for text in
                texts.iter().chain(&["A", "É", "e", "SS", "ß", "x", "y", "10 ", "C", "Zz", "\u{1f601}"])
            {
                let expected = members.iter().position(|m| collation.compare(m, text.as_bytes()).is_eq());
                assert_eq!(
                    other.find(text.as_bytes(), collation),
                    expected,
                    "{text} by {}",
                    collation.name()
                );
            }
        }
    }
}
