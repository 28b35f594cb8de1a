//! Names of months and days, and how numbers are grouped, by locale.
//!
//! `locales.tsv` has a line for each locale of the manual's "MySQL Server Locale Support", in the
//! order of [`NAMES`]: name, decimal point, separator of groups, digits of a group (3; 2 is 3 and
//! then twos; 0 none), months, their short forms, days from Monday on, their short forms. It is
//! what a MySQL server prints for them.

use std::sync::LazyLock;

/// The locales' names. The place of one is its number in MySQL, and in the log.
pub(crate) const NAMES: &[&str] = &[
    "en_US", "en_GB", "ja_JP", "sv_SE", "de_DE", "fr_FR", "ar_AE", "ar_BH", "ar_JO", "ar_SA", "ar_SY",
    "be_BY", "bg_BG", "ca_ES", "cs_CZ", "da_DK", "de_AT", "es_ES", "et_EE", "eu_ES", "fi_FI", "fo_FO",
    "gl_ES", "gu_IN", "he_IL", "hi_IN", "hr_HR", "hu_HU", "id_ID", "is_IS", "it_CH", "ko_KR", "lt_LT",
    "lv_LV", "mk_MK", "mn_MN", "ms_MY", "nb_NO", "nl_NL", "pl_PL", "pt_BR", "pt_PT", "ro_RO", "ru_RU",
    "ru_UA", "sk_SK", "sl_SI", "sq_AL", "sr_RS", "ta_IN", "te_IN", "th_TH", "tr_TR", "uk_UA", "ur_PK",
    "vi_VN", "zh_CN", "zh_TW", "ar_DZ", "ar_EG", "ar_IN", "ar_IQ", "ar_KW", "ar_LB", "ar_LY", "ar_MA",
    "ar_OM", "ar_QA", "ar_SD", "ar_TN", "ar_YE", "de_BE", "de_CH", "de_LU", "en_AU", "en_CA", "en_IN",
    "en_NZ", "en_PH", "en_ZA", "en_ZW", "es_AR", "es_BO", "es_CL", "es_CO", "es_CR", "es_DO", "es_EC",
    "es_GT", "es_HN", "es_MX", "es_NI", "es_PA", "es_PE", "es_PR", "es_PY", "es_SV", "es_US", "es_UY",
    "es_VE", "fr_BE", "fr_CA", "fr_CH", "fr_LU", "it_IT", "nl_BE", "no_NO", "sv_FI", "zh_HK", "el_GR",
    "rm_CH",
];

/// The place of `en_US`, the default.
pub(crate) const ENGLISH: usize = 0;

/// How one of `lc_time_names` writes dates, and FORMAT numbers.
#[derive(Debug)]
pub(crate) struct Locale {
    /// The decimal point.
    pub point: &'static str,
    /// What stands between groups of digits; empty if there are none.
    pub separator: &'static str,
    /// Digits of the groups beyond the first, which has three.
    pub group: usize,
    /// January to December.
    pub(crate) months: [&'static str; 12],
    /// Their short forms.
    pub(crate) months_short: [&'static str; 12],
    /// Monday to Sunday.
    pub days: [&'static str; 7],
    /// Their short forms.
    pub(crate) days_short: [&'static str; 7],
}

static LOCALES: LazyLock<Vec<Locale>> =
    LazyLock::new(|| include_str!("locales.tsv").lines().map(read).collect());

fn read(line: &'static str) -> Locale {
    let mut fields = line.split('\t').skip(1);
    let mut next = || fields.next().unwrap_or_default();
    Locale {
        point: next(),
        separator: next(),
        group: next().parse().unwrap_or(0),
        months: list(next()),
        months_short: list(next()),
        days: list(next()),
        days_short: list(next()),
    }
}

fn list<const N: usize>(text: &'static str) -> [&'static str; N] {
    let mut words = text.split('|');
    std::array::from_fn(|_| words.next().unwrap_or_default())
}

/// The locale at this place of [`NAMES`].
pub(crate) fn at(place: usize) -> &'static Locale {
    &LOCALES[place.min(LOCALES.len() - 1)]
}

/// The locale of this name, in any case.
pub(crate) fn by_name(name: &[u8]) -> Option<&'static Locale> {
    let place = NAMES.iter().position(|n| n.as_bytes().eq_ignore_ascii_case(name))?;
    Some(at(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert_eq!(NAMES[ENGLISH], "en_US");
        for (line, name) in include_str!("locales.tsv").lines().zip(NAMES) {
            assert_eq!(line.split('\t').next(), Some(*name));
            let locale = read(line);
            assert!(
                !locale.point.is_empty() && locale.months.iter().chain(&locale.days).all(|n| !n.is_empty()),
                "{name}"
            );
        }
        assert_eq!(LOCALES.len(), NAMES.len());
        assert_eq!(by_name(b"DE_de").unwrap().days_short[0], "Mo");
    }
}
