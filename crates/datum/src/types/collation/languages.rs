//! The orders of single languages: the root's weights, changed by a file of `data/tailorings`.
//!
//! Languages with the same order have one: `hr` stands for Bosnian, Croatian and Serbian in Latin
//! letters, `ru` for Bulgarian, Mongolian and Russian, `nb` for both kinds of Norwegian, `es` for
//! Spanish and Galician.

use std::sync::LazyLock;

use super::elements::Missing;
use super::list::{Order, UCA_400, UCA_900};
use super::unicode::UnicodeOrder;

macro_rules! tailoring {
    ($name:literal) => {
        include_str!(concat!("data/tailorings/", $name, ".txt"))
    };
}

/// The older collations, over UCA 4.0.0.
macro_rules! primary_orders {
    ($($order:ident $file:literal)*) => {
        $(pub(super) static $order: Order = LazyLock::new(|| {
            UnicodeOrder::tailored(&UCA_400, Missing::Uca400, tailoring!($file), 1, true)
        });)*
    };
}

/// Those over UCA 9.0.0: `_ai_ci` and `_as_cs`.
macro_rules! orders {
    ($($ai_ci:ident $as_cs:ident $file:literal)*) => {
        $(
            pub(super) static $ai_ci: Order = LazyLock::new(|| {
                UnicodeOrder::tailored(&UCA_900, Missing::Uca900, tailoring!($file), 1, false)
            });
            pub(super) static $as_cs: Order = LazyLock::new(|| {
                UnicodeOrder::tailored(&UCA_900, Missing::Uca900, tailoring!($file), 3, false)
            });
        )*
    };
}

primary_orders! {
    CROATIAN "4.0.0-croatian"
    CZECH "4.0.0-czech"
    DANISH "4.0.0-danish"
    ESPERANTO "4.0.0-esperanto"
    ESTONIAN "4.0.0-estonian"
    GERMAN2 "4.0.0-german2"
    HUNGARIAN "4.0.0-hungarian"
    ICELANDIC "4.0.0-icelandic"
    LATVIAN "4.0.0-latvian"
    LITHUANIAN "4.0.0-lithuanian"
    PERSIAN "4.0.0-persian"
    POLISH "4.0.0-polish"
    ROMAN "4.0.0-roman"
    ROMANIAN "4.0.0-romanian"
    SINHALA "4.0.0-sinhala"
    SLOVAK "4.0.0-slovak"
    SLOVENIAN "4.0.0-slovenian"
    SPANISH "4.0.0-spanish"
    SPANISH2 "4.0.0-spanish2"
    SWEDISH "4.0.0-swedish"
    TURKISH "4.0.0-turkish"
    VIETNAMESE "4.0.0-vietnamese"
}

orders! {
    CS_AI_CI CS_AS_CS "9.0.0-cs"
    DA_AI_CI DA_AS_CS "9.0.0-da"
    DE_PB_AI_CI DE_PB_AS_CS "9.0.0-de_pb"
    EO_AI_CI EO_AS_CS "9.0.0-eo"
    ES_AI_CI ES_AS_CS "9.0.0-es"
    ES_TRAD_AI_CI ES_TRAD_AS_CS "9.0.0-es_trad"
    ET_AI_CI ET_AS_CS "9.0.0-et"
    HR_AI_CI HR_AS_CS "9.0.0-hr"
    HU_AI_CI HU_AS_CS "9.0.0-hu"
    IS_AI_CI IS_AS_CS "9.0.0-is"
    LA_AI_CI LA_AS_CS "9.0.0-la"
    LT_AI_CI LT_AS_CS "9.0.0-lt"
    LV_AI_CI LV_AS_CS "9.0.0-lv"
    NB_AI_CI NB_AS_CS "9.0.0-nb"
    PL_AI_CI PL_AS_CS "9.0.0-pl"
    RO_AI_CI RO_AS_CS "9.0.0-ro"
    RU_AI_CI RU_AS_CS "9.0.0-ru"
    SK_AI_CI SK_AS_CS "9.0.0-sk"
    SL_AI_CI SL_AS_CS "9.0.0-sl"
    SV_AI_CI SV_AS_CS "9.0.0-sv"
    TR_AI_CI TR_AS_CS "9.0.0-tr"
    VI_AI_CI VI_AS_CS "9.0.0-vi"
}
