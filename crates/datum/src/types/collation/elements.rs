//! Collation elements: the weights of one character, from a table or, where the table has none, by
//! rule.

use super::table::Table;

/// What characters outside of the table weigh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    /// The Unicode Collation Algorithm's implicit weights, and Hangul syllables as their letters,
    /// as of 9.0.0.
    Uca900,
    /// Its implicit weights as MySQL has them for 5.2.0.
    Uca520,
    /// The same for the basic plane; all characters beyond it weigh the same.
    Uca400,
    /// The basic plane's code points; all characters beyond it weigh the same.
    CodePoint,
}

/// The elements of one character, packed as in the table.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Elements {
    list: [u32; Elements::MAX],
    len: u8,
    /// Two bits for each element, which languages give a meaning ([`super::tailoring::Mark`]).
    marks: u16,
}

impl Elements {
    /// MySQL keeps no more of them.
    const MAX: usize = 8;

    pub(super) fn as_slice(&self) -> &[u32] {
        &self.list[..usize::from(self.len)]
    }

    pub(super) fn push(&mut self, element: u32) {
        self.push_marked(element, 0);
    }

    pub(super) fn push_marked(&mut self, element: u32, mark: u16) {
        if let Some(place) = self.list.get_mut(usize::from(self.len)) {
            *place = element;
            self.marks |= (mark & 3) << (2 * self.len);
            self.len += 1;
        }
    }

    /// The mark of the element at a place, from 0.
    pub(super) fn mark(&self, at: usize) -> u16 {
        self.marks >> (2 * at.min(Self::MAX - 1)) & 3
    }

    fn one(element: u32) -> Self {
        let mut elements = Self::default();
        elements.push(element);
        elements
    }
}

/// The weight of a packed element on a level, from 0. Bit 30 is a tertiary weight's sixth: only
/// languages use it.
pub(super) fn weight(element: u32, level: u8) -> u16 {
    (match level {
        0 => element >> 14,
        1 => element >> 5 & 0x1ff,
        _ => element & 0x1f | element >> 25 & 0x20,
    }) as u16
}

const fn pack(primary: u32, secondary: u32, tertiary: u32) -> u32 {
    primary << 14 | secondary << 5 | tertiary
}

/// An element of a language, whose tertiary weights have six bits.
pub(super) const fn pack_tailored(primary: u32, secondary: u32, tertiary: u32) -> u32 {
    pack(primary, secondary, tertiary & 0x1f) | (tertiary & 0x20) << 25
}

/// The element with another primary weight.
pub(super) fn with_primary(element: u32, primary: u16) -> u32 {
    element & !(0xffff << 14) | u32::from(primary) << 14
}

const SECONDARY: u32 = 0x20;
const TERTIARY: u32 = 2;
/// What the collations of the basic plane give to characters beyond it.
const REPLACEMENT: u32 = 0xfffd;

/// The elements of a character; `None` if the table has none.
pub(super) fn tabled(table: &Table, c: u32) -> Option<Elements> {
    let entry = table.get(c)?;
    if entry >> 31 == 0 {
        return Some(if entry == 0 { Elements::default() } else { Elements::one(entry) });
    }
    let mut elements = Elements::default();
    let (count, at) = (entry >> 24 & 0x7f, entry & 0xff_ffff);
    table.pooled(at as usize).take(count as usize).for_each(|element| elements.push(element));
    Some(elements)
}

/// The elements of a character.
pub(super) fn of(table: &Table, missing: Missing, c: u32) -> Elements {
    if let Some(elements) = tabled(table, c) {
        return elements;
    }
    match missing {
        Missing::CodePoint => Elements::one(pack(if c > 0xffff { REPLACEMENT } else { c }, 0, 0)),
        Missing::Uca400 if c > 0xffff => Elements::one(pack(REPLACEMENT, 0, 0)),
        Missing::Uca400 | Missing::Uca520 => implicit(base_520(c), c),
        Missing::Uca900 => match c {
            HANGUL_FIRST..=HANGUL_LAST => hangul(table, c),
            0x17000..=0x18aff => two(0xfb00, c - 0x17000),
            _ => implicit(base_900(c), c),
        },
    }
}

fn implicit(base: u32, c: u32) -> Elements {
    two(base + (c >> 15), c)
}

fn two(first: u32, c: u32) -> Elements {
    let mut elements = Elements::one(pack(first, SECONDARY, TERTIARY));
    elements.push(pack(c & 0x7fff | 0x8000, 0, 0));
    elements
}

fn base_520(c: u32) -> u32 {
    match c {
        0x4e00..=0x9fa5 => 0xfb40,
        0x3400..=0x4db5 => 0xfb80,
        _ if is_unified_compatibility(c) => 0xfb40,
        _ => 0xfbc0,
    }
}

fn base_900(c: u32) -> u32 {
    match c {
        0x4e00..=0x9fd5 => 0xfb40,
        0x3400..=0x4db5 | 0x20000..=0x2a6d6 | 0x2a700..=0x2b734 | 0x2b740..=0x2b81d | 0x2b820..=0x2cea1 => {
            0xfb80
        }
        _ if is_unified_compatibility(c) => 0xfb40,
        _ => 0xfbc0,
    }
}

/// The twelve unified ideographs in the block of compatibility ideographs.
fn is_unified_compatibility(c: u32) -> bool {
    matches!(
        c,
        0xfa0e | 0xfa0f | 0xfa11 | 0xfa13 | 0xfa14 | 0xfa1f | 0xfa21 | 0xfa23 | 0xfa24 | 0xfa27..=0xfa29
    )
}

const HANGUL_FIRST: u32 = 0xac00;
/// The last syllable is U+D7A3; MySQL goes on to the end of the block.
const HANGUL_LAST: u32 = 0xd7af;

/// A syllable weighs as its letters. From U+D700 on MySQL gives them the third tertiary weight
/// instead of the second.
fn hangul(table: &Table, c: u32) -> Elements {
    let syllable = c - HANGUL_FIRST;
    let letters = [0x1100 + syllable / 588, 0x1161 + syllable % 588 / 28, 0x11a7 + syllable % 28];
    let letters = &letters[..if syllable.is_multiple_of(28) { 2 } else { 3 }];
    let mut elements = Elements::default();
    for &letter in letters {
        for &element in tabled(table, letter).unwrap_or_default().as_slice() {
            elements.push(if c >= 0xd700 { element & !0x1f | 3 } else { element });
        }
    }
    elements
}
