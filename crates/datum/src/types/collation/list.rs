//! The collations that Duramen knows: one table, which answers every question about any of them.
//!
//! Source of names, ids, lengths and padding: what MySQL's SHOW COLLATION says.

use std::sync::LazyLock;

use super::case::CaseMap;
use super::elements::Missing;
use super::single_byte::SingleByteOrder;
use super::table::Table;
use super::unicode::UnicodeOrder;
use crate::types::Charset;

/// How a collation compares.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// By byte value, which is code point order in UTF-8.
    Bytes,
    /// By a weight for each byte.
    SingleByte(&'static SingleByteOrder),
    /// By the weights of characters.
    Unicode(&'static LazyLock<UnicodeOrder>),
}

/// How a collation changes case.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cases {
    None,
    Latin1,
    Unicode(&'static CaseMap),
}

/// A collation.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) id: u16,
    pub(super) name: &'static str,
    pub(super) charset: Charset,
    pub(super) rule: Rule,
    pub(super) cases: Cases,
    pub(super) pad_space: bool,
    pub(super) sort_length: u8,
}

macro_rules! data {
    ($name:literal) => {
        Table::new(include_bytes!(concat!("data/", $name, ".bin")))
    };
}

static UCA_900: Table = data!("uca-9.0.0");
static UCA_520: Table = data!("uca-5.2.0");
static UCA_400: Table = data!("uca-4.0.0");
static GENERAL: Table = data!("general");

static GENERAL_CASES: CaseMap = CaseMap { lower: data!("lower-general"), upper: data!("upper-general") };
static CASES_520: CaseMap = CaseMap { lower: data!("lower-5.2.0"), upper: data!("upper-5.2.0") };
static CASES_900: CaseMap = CaseMap { lower: data!("lower-9.0.0"), upper: data!("upper-9.0.0") };

type Order = LazyLock<UnicodeOrder>;
static AI_CI_900: Order = LazyLock::new(|| UnicodeOrder::new(&UCA_900, Missing::Uca900, 1, false));
static AS_CI_900: Order = LazyLock::new(|| UnicodeOrder::new(&UCA_900, Missing::Uca900, 2, false));
static AS_CS_900: Order = LazyLock::new(|| UnicodeOrder::new(&UCA_900, Missing::Uca900, 3, false));
static CI_520: Order = LazyLock::new(|| UnicodeOrder::new(&UCA_520, Missing::Uca520, 1, true));
static CI_400: Order = LazyLock::new(|| UnicodeOrder::new(&UCA_400, Missing::Uca400, 1, true));
static GENERAL_CI: Order = LazyLock::new(|| UnicodeOrder::new(&GENERAL, Missing::CodePoint, 1, true));

/// Tables of 256 bytes, back to back: the weights of `latin1_swedish_ci`, `_general_ci`,
/// `_general_cs`, `_german1_ci`, `_danish_ci`, `_spanish_ci`; lower case, upper case.
static LATIN1: &[u8; 8 * 256] = include_bytes!("data/latin1.bin");

const fn latin1(number: usize) -> &'static [u8; 256] {
    match LATIN1.split_at(number * 256).1.first_chunk() {
        Some(table) => table,
        None => panic!("the file holds eight tables"),
    }
}

static SWEDISH: SingleByteOrder = SingleByteOrder::new(latin1(0));
static LATIN1_GENERAL_CI: SingleByteOrder = SingleByteOrder::new(latin1(1));
static LATIN1_GENERAL_CS: SingleByteOrder = SingleByteOrder::new(latin1(2));
static GERMAN1: SingleByteOrder = SingleByteOrder::new(latin1(3));
static DANISH: SingleByteOrder = SingleByteOrder::new(latin1(4));
static SPANISH: SingleByteOrder = SingleByteOrder::new(latin1(5));
pub(super) static LATIN1_LOWER: &[u8; 256] = latin1(6);
pub(super) static LATIN1_UPPER: &[u8; 256] = latin1(7);

static ASCII: SingleByteOrder = SingleByteOrder::new(&ASCII_UPPER);
static ASCII_UPPER: [u8; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        table[i] = (i as u8).to_ascii_uppercase();
        i += 1;
    }
    table
};

const fn pad_space(
    id: u16,
    name: &'static str,
    charset: Charset,
    rule: Rule,
    cases: Cases,
    sort_length: u8,
) -> Description {
    Description { id, name, charset, rule, cases, pad_space: true, sort_length }
}

const fn no_pad(
    id: u16,
    name: &'static str,
    charset: Charset,
    rule: Rule,
    cases: Cases,
    sort_length: u8,
) -> Description {
    Description { id, name, charset, rule, cases, pad_space: false, sort_length }
}

pub(super) static BINARY: Description = no_pad(63, "binary", Charset::Binary, Rule::Bytes, Cases::None, 1);

use Cases::{Latin1 as BYTE_CASES, Unicode as Maps};
use Charset::{Ascii, Latin1, Utf8mb3, Utf8mb4};
use Rule::{Bytes, SingleByte, Unicode};

const GENERAL_MAPS: Cases = Maps(&GENERAL_CASES);

/// All, by id.
#[rustfmt::skip]
pub(super) static COLLATIONS: [Description; 22] = [
    pad_space(5, "latin1_german1_ci", Latin1, SingleByte(&GERMAN1), BYTE_CASES, 1),
    pad_space(8, "latin1_swedish_ci", Latin1, SingleByte(&SWEDISH), BYTE_CASES, 1),
    pad_space(11, "ascii_general_ci", Ascii, SingleByte(&ASCII), BYTE_CASES, 1),
    pad_space(15, "latin1_danish_ci", Latin1, SingleByte(&DANISH), BYTE_CASES, 1),
    pad_space(33, "utf8mb3_general_ci", Utf8mb3, Unicode(&GENERAL_CI), GENERAL_MAPS, 1),
    pad_space(45, "utf8mb4_general_ci", Utf8mb4, Unicode(&GENERAL_CI), GENERAL_MAPS, 1),
    pad_space(46, "utf8mb4_bin", Utf8mb4, Bytes, GENERAL_MAPS, 1),
    pad_space(47, "latin1_bin", Latin1, Bytes, BYTE_CASES, 1),
    pad_space(48, "latin1_general_ci", Latin1, SingleByte(&LATIN1_GENERAL_CI), BYTE_CASES, 1),
    pad_space(49, "latin1_general_cs", Latin1, SingleByte(&LATIN1_GENERAL_CS), BYTE_CASES, 1),
    no_pad(63, "binary", Charset::Binary, Bytes, Cases::None, 1),
    pad_space(65, "ascii_bin", Ascii, Bytes, BYTE_CASES, 1),
    pad_space(83, "utf8mb3_bin", Utf8mb3, Bytes, GENERAL_MAPS, 1),
    pad_space(94, "latin1_spanish_ci", Latin1, SingleByte(&SPANISH), BYTE_CASES, 1),
    pad_space(192, "utf8mb3_unicode_ci", Utf8mb3, Unicode(&CI_400), GENERAL_MAPS, 8),
    pad_space(214, "utf8mb3_unicode_520_ci", Utf8mb3, Unicode(&CI_520), Maps(&CASES_520), 8),
    pad_space(224, "utf8mb4_unicode_ci", Utf8mb4, Unicode(&CI_400), GENERAL_MAPS, 8),
    pad_space(246, "utf8mb4_unicode_520_ci", Utf8mb4, Unicode(&CI_520), Maps(&CASES_520), 8),
    no_pad(255, "utf8mb4_0900_ai_ci", Utf8mb4, Unicode(&AI_CI_900), Maps(&CASES_900), 0),
    no_pad(278, "utf8mb4_0900_as_cs", Utf8mb4, Unicode(&AS_CS_900), Maps(&CASES_900), 0),
    no_pad(305, "utf8mb4_0900_as_ci", Utf8mb4, Unicode(&AS_CI_900), Maps(&CASES_900), 0),
    no_pad(309, "utf8mb4_0900_bin", Utf8mb4, Bytes, Maps(&CASES_900), 1),
];

/// Where an id stands in [`COLLATIONS`].
static PLACES: [u8; 310] = {
    let mut places = [u8::MAX; 310];
    let mut i = 0;
    while i < COLLATIONS.len() {
        places[COLLATIONS[i].id as usize] = i as u8;
        i += 1;
    }
    places
};

/// The collation with this id.
pub(super) fn find(id: u16) -> Option<&'static Description> {
    let place = PLACES.get(usize::from(id))?;
    COLLATIONS.get(usize::from(*place))
}
