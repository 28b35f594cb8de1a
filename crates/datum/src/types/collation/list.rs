//! The collations that Duramen knows: one table, which answers every question about any of them.
//!
//! Source of names, ids, lengths and padding: what MySQL's SHOW COLLATION says.

use std::sync::LazyLock;

use super::case::CaseMap;
use super::elements::Missing;
use super::languages;
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
    /// The same, but for `I` and `i`, which are the upper case of `ı` and the lower case of `İ`.
    Turkish(&'static CaseMap),
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

pub(super) static UCA_900: Table = data!("uca-9.0.0");
static UCA_520: Table = data!("uca-5.2.0");
pub(super) static UCA_400: Table = data!("uca-4.0.0");
static GENERAL: Table = data!("general");

static GENERAL_CASES: CaseMap = CaseMap { lower: data!("lower-general"), upper: data!("upper-general") };
static CASES_520: CaseMap = CaseMap { lower: data!("lower-5.2.0"), upper: data!("upper-5.2.0") };
static CASES_900: CaseMap = CaseMap { lower: data!("lower-9.0.0"), upper: data!("upper-9.0.0") };

pub(super) type Order = LazyLock<UnicodeOrder>;
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
const TURKISH_MAPS: Cases = Cases::Turkish(&GENERAL_CASES);

/// All, by id.
#[rustfmt::skip]
pub(super) static COLLATIONS: [Description; 122] = [
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
    pad_space(193, "utf8mb3_icelandic_ci", Utf8mb3, Unicode(&languages::ICELANDIC), GENERAL_MAPS, 8),
    pad_space(194, "utf8mb3_latvian_ci", Utf8mb3, Unicode(&languages::LATVIAN), GENERAL_MAPS, 8),
    pad_space(195, "utf8mb3_romanian_ci", Utf8mb3, Unicode(&languages::ROMANIAN), GENERAL_MAPS, 8),
    pad_space(196, "utf8mb3_slovenian_ci", Utf8mb3, Unicode(&languages::SLOVENIAN), GENERAL_MAPS, 8),
    pad_space(197, "utf8mb3_polish_ci", Utf8mb3, Unicode(&languages::POLISH), GENERAL_MAPS, 8),
    pad_space(198, "utf8mb3_estonian_ci", Utf8mb3, Unicode(&languages::ESTONIAN), GENERAL_MAPS, 8),
    pad_space(199, "utf8mb3_spanish_ci", Utf8mb3, Unicode(&languages::SPANISH), GENERAL_MAPS, 8),
    pad_space(200, "utf8mb3_swedish_ci", Utf8mb3, Unicode(&languages::SWEDISH), GENERAL_MAPS, 8),
    pad_space(201, "utf8mb3_turkish_ci", Utf8mb3, Unicode(&languages::TURKISH), TURKISH_MAPS, 8),
    pad_space(202, "utf8mb3_czech_ci", Utf8mb3, Unicode(&languages::CZECH), GENERAL_MAPS, 8),
    pad_space(203, "utf8mb3_danish_ci", Utf8mb3, Unicode(&languages::DANISH), GENERAL_MAPS, 8),
    pad_space(204, "utf8mb3_lithuanian_ci", Utf8mb3, Unicode(&languages::LITHUANIAN), GENERAL_MAPS, 8),
    pad_space(205, "utf8mb3_slovak_ci", Utf8mb3, Unicode(&languages::SLOVAK), GENERAL_MAPS, 8),
    pad_space(206, "utf8mb3_spanish2_ci", Utf8mb3, Unicode(&languages::SPANISH2), GENERAL_MAPS, 8),
    pad_space(207, "utf8mb3_roman_ci", Utf8mb3, Unicode(&languages::ROMAN), GENERAL_MAPS, 8),
    pad_space(208, "utf8mb3_persian_ci", Utf8mb3, Unicode(&languages::PERSIAN), GENERAL_MAPS, 8),
    pad_space(209, "utf8mb3_esperanto_ci", Utf8mb3, Unicode(&languages::ESPERANTO), GENERAL_MAPS, 8),
    pad_space(210, "utf8mb3_hungarian_ci", Utf8mb3, Unicode(&languages::HUNGARIAN), GENERAL_MAPS, 8),
    pad_space(211, "utf8mb3_sinhala_ci", Utf8mb3, Unicode(&languages::SINHALA), GENERAL_MAPS, 8),
    pad_space(212, "utf8mb3_german2_ci", Utf8mb3, Unicode(&languages::GERMAN2), GENERAL_MAPS, 8),
    pad_space(213, "utf8mb3_croatian_ci", Utf8mb3, Unicode(&languages::CROATIAN), GENERAL_MAPS, 8),
    pad_space(214, "utf8mb3_unicode_520_ci", Utf8mb3, Unicode(&CI_520), Maps(&CASES_520), 8),
    pad_space(215, "utf8mb3_vietnamese_ci", Utf8mb3, Unicode(&languages::VIETNAMESE), GENERAL_MAPS, 8),
    pad_space(224, "utf8mb4_unicode_ci", Utf8mb4, Unicode(&CI_400), GENERAL_MAPS, 8),
    pad_space(225, "utf8mb4_icelandic_ci", Utf8mb4, Unicode(&languages::ICELANDIC), GENERAL_MAPS, 8),
    pad_space(226, "utf8mb4_latvian_ci", Utf8mb4, Unicode(&languages::LATVIAN), GENERAL_MAPS, 8),
    pad_space(227, "utf8mb4_romanian_ci", Utf8mb4, Unicode(&languages::ROMANIAN), GENERAL_MAPS, 8),
    pad_space(228, "utf8mb4_slovenian_ci", Utf8mb4, Unicode(&languages::SLOVENIAN), GENERAL_MAPS, 8),
    pad_space(229, "utf8mb4_polish_ci", Utf8mb4, Unicode(&languages::POLISH), GENERAL_MAPS, 8),
    pad_space(230, "utf8mb4_estonian_ci", Utf8mb4, Unicode(&languages::ESTONIAN), GENERAL_MAPS, 8),
    pad_space(231, "utf8mb4_spanish_ci", Utf8mb4, Unicode(&languages::SPANISH), GENERAL_MAPS, 8),
    pad_space(232, "utf8mb4_swedish_ci", Utf8mb4, Unicode(&languages::SWEDISH), GENERAL_MAPS, 8),
    pad_space(233, "utf8mb4_turkish_ci", Utf8mb4, Unicode(&languages::TURKISH), TURKISH_MAPS, 8),
    pad_space(234, "utf8mb4_czech_ci", Utf8mb4, Unicode(&languages::CZECH), GENERAL_MAPS, 8),
    pad_space(235, "utf8mb4_danish_ci", Utf8mb4, Unicode(&languages::DANISH), GENERAL_MAPS, 8),
    pad_space(236, "utf8mb4_lithuanian_ci", Utf8mb4, Unicode(&languages::LITHUANIAN), GENERAL_MAPS, 8),
    pad_space(237, "utf8mb4_slovak_ci", Utf8mb4, Unicode(&languages::SLOVAK), GENERAL_MAPS, 8),
    pad_space(238, "utf8mb4_spanish2_ci", Utf8mb4, Unicode(&languages::SPANISH2), GENERAL_MAPS, 8),
    pad_space(239, "utf8mb4_roman_ci", Utf8mb4, Unicode(&languages::ROMAN), GENERAL_MAPS, 8),
    pad_space(240, "utf8mb4_persian_ci", Utf8mb4, Unicode(&languages::PERSIAN), GENERAL_MAPS, 8),
    pad_space(241, "utf8mb4_esperanto_ci", Utf8mb4, Unicode(&languages::ESPERANTO), GENERAL_MAPS, 8),
    pad_space(242, "utf8mb4_hungarian_ci", Utf8mb4, Unicode(&languages::HUNGARIAN), GENERAL_MAPS, 8),
    pad_space(243, "utf8mb4_sinhala_ci", Utf8mb4, Unicode(&languages::SINHALA), GENERAL_MAPS, 8),
    pad_space(244, "utf8mb4_german2_ci", Utf8mb4, Unicode(&languages::GERMAN2), GENERAL_MAPS, 8),
    pad_space(245, "utf8mb4_croatian_ci", Utf8mb4, Unicode(&languages::CROATIAN), GENERAL_MAPS, 8),
    pad_space(246, "utf8mb4_unicode_520_ci", Utf8mb4, Unicode(&CI_520), Maps(&CASES_520), 8),
    pad_space(247, "utf8mb4_vietnamese_ci", Utf8mb4, Unicode(&languages::VIETNAMESE), GENERAL_MAPS, 8),
    no_pad(255, "utf8mb4_0900_ai_ci", Utf8mb4, Unicode(&AI_CI_900), Maps(&CASES_900), 0),
    no_pad(256, "utf8mb4_de_pb_0900_ai_ci", Utf8mb4, Unicode(&languages::DE_PB_AI_CI), Maps(&CASES_900), 0),
    no_pad(257, "utf8mb4_is_0900_ai_ci", Utf8mb4, Unicode(&languages::IS_AI_CI), Maps(&CASES_900), 0),
    no_pad(258, "utf8mb4_lv_0900_ai_ci", Utf8mb4, Unicode(&languages::LV_AI_CI), Maps(&CASES_900), 0),
    no_pad(259, "utf8mb4_ro_0900_ai_ci", Utf8mb4, Unicode(&languages::RO_AI_CI), Maps(&CASES_900), 0),
    no_pad(260, "utf8mb4_sl_0900_ai_ci", Utf8mb4, Unicode(&languages::SL_AI_CI), Maps(&CASES_900), 0),
    no_pad(261, "utf8mb4_pl_0900_ai_ci", Utf8mb4, Unicode(&languages::PL_AI_CI), Maps(&CASES_900), 0),
    no_pad(262, "utf8mb4_et_0900_ai_ci", Utf8mb4, Unicode(&languages::ET_AI_CI), Maps(&CASES_900), 0),
    no_pad(263, "utf8mb4_es_0900_ai_ci", Utf8mb4, Unicode(&languages::ES_AI_CI), Maps(&CASES_900), 0),
    no_pad(264, "utf8mb4_sv_0900_ai_ci", Utf8mb4, Unicode(&languages::SV_AI_CI), Maps(&CASES_900), 0),
    no_pad(265, "utf8mb4_tr_0900_ai_ci", Utf8mb4, Unicode(&languages::TR_AI_CI), Maps(&CASES_900), 0),
    no_pad(266, "utf8mb4_cs_0900_ai_ci", Utf8mb4, Unicode(&languages::CS_AI_CI), Maps(&CASES_900), 0),
    no_pad(267, "utf8mb4_da_0900_ai_ci", Utf8mb4, Unicode(&languages::DA_AI_CI), Maps(&CASES_900), 0),
    no_pad(268, "utf8mb4_lt_0900_ai_ci", Utf8mb4, Unicode(&languages::LT_AI_CI), Maps(&CASES_900), 0),
    no_pad(269, "utf8mb4_sk_0900_ai_ci", Utf8mb4, Unicode(&languages::SK_AI_CI), Maps(&CASES_900), 0),
    no_pad(270, "utf8mb4_es_trad_0900_ai_ci", Utf8mb4, Unicode(&languages::ES_TRAD_AI_CI), Maps(&CASES_900), 0),
    no_pad(271, "utf8mb4_la_0900_ai_ci", Utf8mb4, Unicode(&languages::LA_AI_CI), Maps(&CASES_900), 0),
    no_pad(273, "utf8mb4_eo_0900_ai_ci", Utf8mb4, Unicode(&languages::EO_AI_CI), Maps(&CASES_900), 0),
    no_pad(274, "utf8mb4_hu_0900_ai_ci", Utf8mb4, Unicode(&languages::HU_AI_CI), Maps(&CASES_900), 0),
    no_pad(275, "utf8mb4_hr_0900_ai_ci", Utf8mb4, Unicode(&languages::HR_AI_CI), Maps(&CASES_900), 0),
    no_pad(277, "utf8mb4_vi_0900_ai_ci", Utf8mb4, Unicode(&languages::VI_AI_CI), Maps(&CASES_900), 0),
    no_pad(278, "utf8mb4_0900_as_cs", Utf8mb4, Unicode(&AS_CS_900), Maps(&CASES_900), 0),
    no_pad(279, "utf8mb4_de_pb_0900_as_cs", Utf8mb4, Unicode(&languages::DE_PB_AS_CS), Maps(&CASES_900), 0),
    no_pad(280, "utf8mb4_is_0900_as_cs", Utf8mb4, Unicode(&languages::IS_AS_CS), Maps(&CASES_900), 0),
    no_pad(281, "utf8mb4_lv_0900_as_cs", Utf8mb4, Unicode(&languages::LV_AS_CS), Maps(&CASES_900), 0),
    no_pad(282, "utf8mb4_ro_0900_as_cs", Utf8mb4, Unicode(&languages::RO_AS_CS), Maps(&CASES_900), 0),
    no_pad(283, "utf8mb4_sl_0900_as_cs", Utf8mb4, Unicode(&languages::SL_AS_CS), Maps(&CASES_900), 0),
    no_pad(284, "utf8mb4_pl_0900_as_cs", Utf8mb4, Unicode(&languages::PL_AS_CS), Maps(&CASES_900), 0),
    no_pad(285, "utf8mb4_et_0900_as_cs", Utf8mb4, Unicode(&languages::ET_AS_CS), Maps(&CASES_900), 0),
    no_pad(286, "utf8mb4_es_0900_as_cs", Utf8mb4, Unicode(&languages::ES_AS_CS), Maps(&CASES_900), 0),
    no_pad(287, "utf8mb4_sv_0900_as_cs", Utf8mb4, Unicode(&languages::SV_AS_CS), Maps(&CASES_900), 0),
    no_pad(288, "utf8mb4_tr_0900_as_cs", Utf8mb4, Unicode(&languages::TR_AS_CS), Maps(&CASES_900), 0),
    no_pad(289, "utf8mb4_cs_0900_as_cs", Utf8mb4, Unicode(&languages::CS_AS_CS), Maps(&CASES_900), 0),
    no_pad(290, "utf8mb4_da_0900_as_cs", Utf8mb4, Unicode(&languages::DA_AS_CS), Maps(&CASES_900), 0),
    no_pad(291, "utf8mb4_lt_0900_as_cs", Utf8mb4, Unicode(&languages::LT_AS_CS), Maps(&CASES_900), 0),
    no_pad(292, "utf8mb4_sk_0900_as_cs", Utf8mb4, Unicode(&languages::SK_AS_CS), Maps(&CASES_900), 0),
    no_pad(293, "utf8mb4_es_trad_0900_as_cs", Utf8mb4, Unicode(&languages::ES_TRAD_AS_CS), Maps(&CASES_900), 0),
    no_pad(294, "utf8mb4_la_0900_as_cs", Utf8mb4, Unicode(&languages::LA_AS_CS), Maps(&CASES_900), 0),
    no_pad(296, "utf8mb4_eo_0900_as_cs", Utf8mb4, Unicode(&languages::EO_AS_CS), Maps(&CASES_900), 0),
    no_pad(297, "utf8mb4_hu_0900_as_cs", Utf8mb4, Unicode(&languages::HU_AS_CS), Maps(&CASES_900), 0),
    no_pad(298, "utf8mb4_hr_0900_as_cs", Utf8mb4, Unicode(&languages::HR_AS_CS), Maps(&CASES_900), 0),
    no_pad(300, "utf8mb4_vi_0900_as_cs", Utf8mb4, Unicode(&languages::VI_AS_CS), Maps(&CASES_900), 0),
    no_pad(305, "utf8mb4_0900_as_ci", Utf8mb4, Unicode(&AS_CI_900), Maps(&CASES_900), 0),
    no_pad(306, "utf8mb4_ru_0900_ai_ci", Utf8mb4, Unicode(&languages::RU_AI_CI), Maps(&CASES_900), 0),
    no_pad(307, "utf8mb4_ru_0900_as_cs", Utf8mb4, Unicode(&languages::RU_AS_CS), Maps(&CASES_900), 0),
    no_pad(309, "utf8mb4_0900_bin", Utf8mb4, Bytes, Maps(&CASES_900), 1),
    no_pad(310, "utf8mb4_nb_0900_ai_ci", Utf8mb4, Unicode(&languages::NB_AI_CI), Maps(&CASES_900), 0),
    no_pad(311, "utf8mb4_nb_0900_as_cs", Utf8mb4, Unicode(&languages::NB_AS_CS), Maps(&CASES_900), 0),
    no_pad(312, "utf8mb4_nn_0900_ai_ci", Utf8mb4, Unicode(&languages::NB_AI_CI), Maps(&CASES_900), 0),
    no_pad(313, "utf8mb4_nn_0900_as_cs", Utf8mb4, Unicode(&languages::NB_AS_CS), Maps(&CASES_900), 0),
    no_pad(314, "utf8mb4_sr_latn_0900_ai_ci", Utf8mb4, Unicode(&languages::HR_AI_CI), Maps(&CASES_900), 0),
    no_pad(315, "utf8mb4_sr_latn_0900_as_cs", Utf8mb4, Unicode(&languages::HR_AS_CS), Maps(&CASES_900), 0),
    no_pad(316, "utf8mb4_bs_0900_ai_ci", Utf8mb4, Unicode(&languages::HR_AI_CI), Maps(&CASES_900), 0),
    no_pad(317, "utf8mb4_bs_0900_as_cs", Utf8mb4, Unicode(&languages::HR_AS_CS), Maps(&CASES_900), 0),
    no_pad(318, "utf8mb4_bg_0900_ai_ci", Utf8mb4, Unicode(&languages::RU_AI_CI), Maps(&CASES_900), 0),
    no_pad(319, "utf8mb4_bg_0900_as_cs", Utf8mb4, Unicode(&languages::RU_AS_CS), Maps(&CASES_900), 0),
    no_pad(320, "utf8mb4_gl_0900_ai_ci", Utf8mb4, Unicode(&languages::ES_AI_CI), Maps(&CASES_900), 0),
    no_pad(321, "utf8mb4_gl_0900_as_cs", Utf8mb4, Unicode(&languages::ES_AS_CS), Maps(&CASES_900), 0),
    no_pad(322, "utf8mb4_mn_cyrl_0900_ai_ci", Utf8mb4, Unicode(&languages::RU_AI_CI), Maps(&CASES_900), 0),
    no_pad(323, "utf8mb4_mn_cyrl_0900_as_cs", Utf8mb4, Unicode(&languages::RU_AS_CS), Maps(&CASES_900), 0),
];

/// Where an id stands in [`COLLATIONS`].
static PLACES: [u8; 324] = {
    let mut places = [u8::MAX; 324];
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
