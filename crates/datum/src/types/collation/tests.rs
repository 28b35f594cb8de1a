//! What every collation promises, over random text; and what recorded servers say of chosen text.

use std::cmp::Ordering::{self, Equal, Greater, Less};

use proptest::prelude::*;

use super::*;

fn key(collation: Collation, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    collation.sort_key(text.as_bytes(), &mut out);
    out
}

fn compare(collation: &str, a: &str, b: &str) -> Ordering {
    let collation = Collation::by_name(collation).unwrap();
    let order = collation.compare(a.as_bytes(), b.as_bytes());
    assert_eq!(key(collation, a).cmp(&key(collation, b)), order, "C1: {a:?} {b:?}");
    order
}

#[test]
fn case_accents_and_padding() {
    assert_eq!(compare("utf8mb4_0900_ai_ci", "abc", "ABC"), Equal);
    assert_eq!(compare("utf8mb4_0900_ai_ci", "abc", "abc "), Less);
    assert_eq!(compare("utf8mb4_0900_ai_ci", "a\0b", "ab"), Equal);
    assert_eq!(compare("utf8mb4_0900_ai_ci", "_", "0"), Less);
    assert_eq!(compare("utf8mb4_0900_ai_ci", "$", "~"), Greater);
    assert_eq!(compare("utf8mb4_0900_ai_ci", "straße", "STRASSE"), Equal);
    assert_eq!(compare("utf8mb4_0900_as_cs", "a", "á"), Less);
    assert_eq!(compare("utf8mb4_0900_as_cs", "áb", "Áa"), Greater);
    assert_eq!(compare("utf8mb4_0900_as_ci", "á", "Á"), Equal);
    assert_eq!(compare("utf8mb4_general_ci", "abc", "ABC  "), Equal);
    assert_eq!(compare("utf8mb4_general_ci", "ß", "s"), Equal);
    assert_eq!(compare("utf8mb4_general_ci", "_", "a"), Greater);
    assert_eq!(compare("utf8mb4_general_ci", "😀", "😁"), Equal);
    assert_eq!(compare("utf8mb4_unicode_520_ci", "😀", "😁"), Less);
    assert_eq!(compare("utf8mb4_unicode_ci", "a\u{a0}", "a"), Equal);
    assert_eq!(compare("utf8mb4_unicode_ci", "a\t", "a"), Less);
    assert_eq!(compare("utf8mb4_bin", "a", "A"), Greater);
    assert_eq!(compare("utf8mb4_bin", "a", "a "), Equal);
    assert_eq!(compare("utf8mb4_bin", "a \t", "a"), Less);
    assert_eq!(compare("utf8mb4_0900_bin", "a", "a "), Less);
    assert_eq!(compare("binary", "a", "a "), Less);
}

#[test]
fn languages_change_the_order() {
    for name in ["utf8mb4_czech_ci", "utf8mb4_cs_0900_ai_ci"] {
        assert_eq!(compare(name, "ch", "cz"), Greater);
        assert_eq!(compare(name, "ch", "h"), Greater);
        assert_eq!(compare(name, "ch", "i"), Less);
        assert_eq!(compare(name, "xCH", "xch"), Equal);
        assert_eq!(compare(name, "c", "ch"), Less);
        assert_eq!(compare(name, "č", "c"), Greater);
        assert_eq!(compare(name, "cHz", "cHa"), Greater);
        assert_eq!(compare(name, "č", "d"), Less);
    }
    assert_eq!(compare("utf8mb4_czech_ci", "cHz", "ch"), Less);
    assert_eq!(compare("utf8mb4_cs_0900_ai_ci", "cHz", "ch"), Greater);
    assert_eq!(compare("utf8mb4_hu_0900_ai_ci", "ddzs", "dzsdzs"), Equal);
    assert_eq!(compare("utf8mb4_hu_0900_ai_ci", "dz", "dzs"), Less);
    assert_eq!(compare("utf8mb4_da_0900_ai_ci", "aa", "å"), Equal);
    assert_eq!(compare("utf8mb4_da_0900_ai_ci", "aaa", "åa"), Equal);
    assert_eq!(compare("utf8mb4_da_0900_ai_ci", "aaab", "aaaaa"), Less);
    assert_eq!(compare("utf8mb4_da_0900_as_cs", "A", "a"), Less);
    assert_eq!(compare("utf8mb4_nb_0900_as_cs", "A", "a"), Greater);
    assert_eq!(compare("utf8mb4_german2_ci", "ä ", "AE"), Equal);
    assert_eq!(compare("utf8mb4_turkish_ci", "I", "i"), Less);
    assert_eq!(compare("utf8mb4_ru_0900_ai_ci", "я", "a"), Less);
    assert_eq!(compare("utf8mb4_0900_ai_ci", "я", "a"), Greater);
    assert_eq!(compare("utf8mb4_swedish_ci", "ö", "z"), Greater);
    assert_eq!(compare("utf8mb4_esperanto_ci", "ĉ", "c"), Greater);
    assert_eq!(compare("utf8mb4_lt_0900_ai_ci", "a\u{307}\u{300}", "a"), Greater);
}

#[test]
fn ascii_is_one_byte_in_a_key() {
    let text = "Some ASCII text, 42 characters in length!!";
    assert_eq!(key(Collation::UTF8MB4_0900_AI_CI, text).len(), text.len() + 1);
    assert_eq!(key(Collation(45), "text").len(), 4 + 3);
}

/// Text around all that is special: spaces, ignorable and expanding characters, several scripts,
/// implicit weights.
fn text() -> impl Strategy<Value = String> {
    let special = prop::sample::select(
        " \t\u{1}\0\u{a0}aAáÁäbBßsSœæčcChHdDzZžlLjJtyYðþ\u{307}\u{300}\u{30a}012.,_éÉ\u{301}\u{308}ñжЖГ漢字한글각\u{d7a3}\u{fdfa}😀😁𝒜\u{17000}\u{e000}\u{378}".chars().collect::<Vec<_>>(),
    );
    prop::collection::vec(prop_oneof![4 => special, 1 => any::<char>()], 0..7)
        .prop_map(|chars| chars.into_iter().collect())
}

proptest! {
    /// C1, and an order that is one: with itself, and with the keys.
    #[test]
    fn keys_sort_as_texts_compare(a in text(), b in text(), shared in text()) {
        for collation in Collation::all() {
            let (a, b) = (format!("{shared}{a}"), format!("{shared}{b}"));
            let order = collation.compare(a.as_bytes(), b.as_bytes());
            prop_assert_eq!(collation.compare(b.as_bytes(), a.as_bytes()), order.reverse());
            let (x, y) = (key(collation, &a), key(collation, &b));
            prop_assert_eq!(x.cmp(&y), order, "{} {:?} {:?}", collation.name(), a, b);
            prop_assert!(x == y || !x.starts_with(&y), "no key begins another");
        }
    }

    /// C1 and W2, in texts of letters that form contractions: what is before a difference is
    /// weighed with it.
    #[test]
    fn contractions_are_compared_whole(
        a in "[cChHdDzsSaAljž \u{307}\u{300}]{0,6}",
        b in "[cChHdDzsSaAljž ]{0,6}",
        shared in "[cdDzsaAl\u{307}]{0,4}",
    ) {
        for collation in Collation::all().filter(|c| c.has_contractions()) {
            let (a, b) = (format!("{shared}{a}"), format!("{shared}{b}"));
            let order = collation.compare(a.as_bytes(), b.as_bytes());
            let keys = key(collation, &a).cmp(&key(collation, &b));
            prop_assert_eq!(keys, order, "{} {:?} {:?}", collation.name(), a, b);
        }
    }

    /// C2: bytes that are no text.
    #[test]
    fn any_bytes_are_weighed(a: Vec<u8>, b: Vec<u8>) {
        for collation in Collation::all() {
            let mut keys = [Vec::new(), Vec::new()];
            collation.sort_key(&a, &mut keys[0]);
            collation.sort_key(&b, &mut keys[1]);
            prop_assert_eq!(keys[0].cmp(&keys[1]), collation.compare(&a, &b), "{}", collation.name());
            let _ = collation.find(&a, &b, 0);
            collation.weight_string(&a, &mut Vec::new(), usize::MAX);
            collation.change_case((&a).into(), true);
        }
    }

    /// A text is found where it was put, in any case; but where what surrounds it may be weighed
    /// with it.
    #[test]
    fn what_is_there_is_found(before in text(), needle in text(), after in text()) {
        let all = Collation::all().filter(|c| c.charset() == Charset::Utf8mb4);
        for collation in all.filter(|c| !c.has_contractions()) {
            let all = [&before, &*needle, &after].concat();
            let found = collation.find(all.as_bytes(), needle.as_bytes(), 0);
            prop_assert!(found.is_ok_and(|at| at.is_some_and(|at| at <= before.len())), "{}", collation.name());
        }
    }
}

/// `collation text weights` of lines recorded from MySQL; all in hexadecimal but the name.
#[test]
fn weights_are_those_of_mysql() {
    let recorded = [include_str!("tests/weights.txt"), include_str!("tests/weights-of-languages.txt")];
    let unhex = |digits: &str| -> Vec<u8> {
        (0..digits.len() / 2).map(|i| u8::from_str_radix(&digits[2 * i..2 * i + 2], 16).unwrap()).collect()
    };
    let mut lines = 0;
    for line in recorded.iter().flat_map(|file| file.lines()).filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let collation = Collation::by_name(words.next().unwrap()).unwrap();
        let text = unhex(words.next().unwrap());
        let expected = unhex(words.next().unwrap_or_default());
        let mut weights = Vec::new();
        collation.weight_string(&text, &mut weights, usize::MAX);
        assert_eq!(weights, expected, "{} {:?}", collation.name(), String::from_utf8_lossy(&text));
        lines += 1;
    }
    assert!(lines > 2000);
}

/// What digests are made of: the basic plane and samples of the others.
fn characters() -> impl Iterator<Item = char> {
    let beyond = [0x10000, 0x10400, 0x10428, 0x17000, 0x1f600, 0x20000, 0x2f800, 0xe0100];
    let all = (0..0x10000).chain(0x1d400..0x1d800).chain(beyond);
    let mut all: Vec<char> = all.filter_map(char::from_u32).collect();
    all.sort_unstable();
    all.into_iter()
}

/// FNV-1a of some bytes for each character, with their length after them.
fn digest(bytes_of: impl Fn(&[u8], &mut Vec<u8>)) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |number: usize| digest = (digest ^ number as u64).wrapping_mul(0x100_0000_01b3);
    let mut bytes = Vec::new();
    for c in characters() {
        bytes.clear();
        bytes_of(c.encode_utf8(&mut [0; 4]).as_bytes(), &mut bytes);
        bytes.iter().for_each(|&byte| add(byte.into()));
        add(bytes.len());
    }
    digest
}

/// `collation digest` for each line of a file.
fn check_digests(file: &str, digest_of: fn(Collation) -> u64) {
    let lines: Vec<&str> = file.lines().filter(|line| !line.starts_with('#')).collect();
    let check = |lines: &[&str]| -> Vec<String> {
        let named = lines.iter().map(|line| line.split_once(' ').unwrap());
        let found = named.map(|(name, expected)| {
            (name, expected, format!("{:016x}", digest_of(Collation::by_name(name).unwrap())))
        });
        found
            .filter(|(_, expected, found)| expected != found)
            .map(|(name, _, found)| format!("{name} {found}"))
            .collect()
    };
    // Half of them on another thread.
    let (some, others) = lines.split_at(lines.len() / 2);
    let wrong = std::thread::scope(|scope| {
        let other = scope.spawn(|| check(others));
        [check(some), other.join().unwrap()].concat()
    });
    assert!(wrong.is_empty(), "found:\n{}", wrong.join("\n"));
}

/// Every character of the basic plane weighs what MySQL says.
#[test]
fn characters_weigh_as_in_mysql() {
    let file = include_str!("tests/digests.txt");
    check_digests(file, |collation| digest(|text, out| collation.weight_string(text, out, usize::MAX)));
    let is_recorded = |c: &Collation| file.lines().any(|line| line.split(' ').next() == Some(c.name()));
    let missing: Vec<_> = Collation::all()
        .filter(|c| c.charset() == Charset::Utf8mb4 && !c.name().ends_with("_bin") && !is_recorded(c))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

/// Keys stand in indexes: no collation's may ever change.
#[test]
fn keys_stay_as_they_are() {
    check_digests(include_str!("tests/keys.txt"), |collation| {
        digest(|text, out| collation.sort_key(text, out))
    });
}

/// The order of an `utf8mb3` collation is that of `utf8mb4`.
#[test]
fn utf8mb3_is_ordered_as_utf8mb4() {
    for collation in Collation::all().filter(|c| c.charset() == Charset::Utf8mb3) {
        let wide = Collation::by_name(&collation.name().replace("utf8mb3", "utf8mb4")).unwrap();
        let (narrow, wide) = (collation.description(), wide.description());
        assert_eq!(narrow.pad_space, wide.pad_space);
        match (narrow.rule, wide.rule) {
            (Rule::Unicode(a), Rule::Unicode(b)) => assert!(std::ptr::eq(a, b), "{}", narrow.name),
            (a, b) => assert!(matches!((a, b), (Rule::Bytes, Rule::Bytes)), "{}", narrow.name),
        }
    }
}

#[test]
fn searching_and_case() {
    let ai = Collation::UTF8MB4_0900_AI_CI;
    let find = |text: &str, needle: &str| ai.find(text.as_bytes(), needle.as_bytes(), 0);
    assert_eq!(find("xÄy", "ay").unwrap(), Some(1));
    assert_eq!(find("strasse", "ß").unwrap(), Some(4));
    assert_eq!(find("straße", "asse").unwrap(), Some(3));
    assert_eq!(find("xa", "a ").unwrap(), None);
    assert_eq!(find("abc", "").unwrap(), Some(0));
    assert!(ai.same_character("ä".as_bytes(), b"A"));
    assert!(!ai.same_character("ß".as_bytes(), b"s"));
    assert!(!Collation(278).same_character(b"a", b"A"));
    let case = |id: u16, text: &str, upper| {
        String::from_utf8(Collation(id).change_case(text.as_bytes().into(), upper).into_owned()).unwrap()
    };
    assert_eq!(case(255, "Straße Ǆ ⱥ ა", true), "STRAßE Ǆ Ⱥ ა");
    assert_eq!(case(255, "ÀЖ𐐀İ", false), "àж𐐨i");
    assert_eq!(case(45, "𐐨é", true), "𐐨É");
    assert_eq!(&*Collation(8).change_case(b"\xe4\xdf"[..].into(), true), b"\xc4\xdf");
    assert_eq!(case(233, "iıIİx", true), "İIIİX");
    assert_eq!(case(233, "iıIİX", false), "iııix");
    assert_eq!(&*Collation::BINARY.change_case(b"a"[..].into(), true), b"a");
}
