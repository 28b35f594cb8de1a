//! Documents against what MySQL 9.7 wrote into its binary log, and against simple models.

mod model;
mod table;

use proptest::prelude::*;
use stdx::random::Random;

use super::*;

/// Documents as recorded: `text` ones were inserted as their text, `made` ones by functions.
const RECORDED: &str = include_str!("tests/recorded.tsv");

pub(super) fn encoded(text: &str) -> Vec<u8> {
    encode(&parse::parse(text.as_bytes()).unwrap()).unwrap()
}

pub(super) fn printed(document: &[u8]) -> String {
    String::from_utf8(to_text(document)).unwrap()
}

fn unhex(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn documents_have_the_bytes_that_mysql_wrote() {
    for line in RECORDED.lines() {
        let [how, text, hex] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let recorded = unhex(hex);
        assert_eq!(printed(&recorded), text);
        if how == "text" {
            assert_eq!(encoded(text), recorded, "{text}");
        }
        // Opened level by level and written again it is the same.
        let mut tree = Tree::Stored(root(&recorded).unwrap());
        open_all(&mut tree);
        assert_eq!(encode(&tree).unwrap(), recorded, "{text}");
    }
}

fn open_all(tree: &mut Tree<'_>) {
    tree.open().unwrap();
    match tree {
        Tree::Array(elements) => elements.iter_mut().for_each(open_all),
        Tree::Object(members) => members.iter_mut().for_each(|(_, v)| open_all(v)),
        _ => {}
    }
}

#[test]
fn large_documents_have_the_form_that_mysql_gives_them() {
    let (a, b) = ("a".repeat(65_000), "b".repeat(600));
    let array = encoded(&format!("[\"{a}\",\"{b}\",70000,-70000]"));
    // 32-bit numbers are inlined in the large form.
    assert_eq!(array.len(), 65_634);
    assert_eq!(array[..25], unhex("0304000000610001000c1c0000000c07fe0000077011010007")[..]);
    let object = encoded(&format!("{{\"k\":[\"{}\"],\"l\":[1]}}", "a".repeat(70_000)));
    assert_eq!(object.len(), 70_056);
    // A small array inside a large object stays small.
    assert_eq!(object[..31], unhex("0102000000a71101001e00000001001f0000000100032000000002a0110100")[..]);
}

#[test]
fn what_is_too_deep_or_too_long_is_no_document() {
    let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
    assert_eq!(root(&encoded(&nested(100))).unwrap().depth().unwrap(), 100);
    assert_eq!(parse::parse(nested(101).as_bytes()), Err(ParseError::TooDeep));
    let deepest = encoded(&nested(100));
    let wrapped = Tree::Array(vec![Tree::Stored(root(&deepest).unwrap())]);
    assert_eq!(wrapped.encode(), Err(EncodeError::TooDeep));
    let scalar_inside = encoded(&format!("{}1{}", "[".repeat(99), "]".repeat(99)));
    let wrapped = Tree::Array(vec![Tree::Stored(root(&scalar_inside).unwrap())]);
    assert_eq!(Json::document(&wrapped.encode().unwrap()).unwrap().depth().unwrap(), 101);
    let key = Tree::object(vec![("k".repeat(65_536).into_bytes().into(), Tree::Null)]);
    assert_eq!(key.encode(), Err(EncodeError::KeyTooLong));
}

#[test]
fn texts_round_trip() {
    let mut random = Random::new(7);
    for _ in 0..2_000 {
        let tree = random_tree(&mut random, 5);
        let document = encode(&tree).unwrap();
        let text = printed(&document);
        assert_eq!(encoded(&text), document, "{text}");
        let mut pretty = Vec::new();
        write_pretty(&document, usize::MAX, &mut pretty).unwrap();
        assert_eq!(encoded(std::str::from_utf8(&pretty).unwrap()), document);
    }
}

#[test]
fn sort_keys_order_like_comparison() {
    let mut random = Random::new(8);
    let mut documents: Vec<_> = (0..120).map(|_| encode(&random_tree(&mut random, 2)).unwrap()).collect();
    for d in ["1.5", "0.1", "-0.1", "100", "1e2", "99.9", "1e-5", "9007199254740993", "9007199254740992.0"] {
        documents.push(encoded(d));
        let (decimal, _) = crate::value::Decimal::parse(d.as_bytes());
        let tree = convert::from_datum(crate::Datum::Decimal(decimal), convert::Origin::PLAIN).unwrap();
        documents.push(encode(&tree).unwrap());
    }
    let key = |d: &[u8]| {
        let mut out = Vec::new();
        compare::sort_key(root(d).unwrap(), &mut out).unwrap();
        out
    };
    for a in &documents {
        for b in &documents {
            let order = compare::compare(root(a).unwrap(), root(b).unwrap()).unwrap();
            assert_eq!(order, key(a).cmp(&key(b)), "{} and {}", printed(a), printed(b));
        }
    }
}

/// A tree that reads back as itself: integers as the parser gives them their sign.
pub(super) fn random_tree(random: &mut Random, levels: u32) -> Tree<'static> {
    let kinds = if levels == 0 { 6 } else { 8 };
    let names = ["a", "b", "aa", "é", "", "a b", "\"\\\n"];
    match random.below(kinds) {
        0 => Tree::Null,
        1 => Tree::Bool(random.chance(1, 2)),
        2 => Tree::Int(random.below(1 << 33) as i64 - (1 << 32)),
        3 => Tree::UInt((1 << 32) + random.next_u64() / 2),
        4 => Tree::Double(random.below(2_000_000) as f64 / 1000.0 - 1000.5),
        5 => {
            let name = names[random.below(7) as usize];
            Tree::String(name.repeat(random.below(80) as usize).into_bytes().into())
        }
        6 => Tree::Array((0..random.below(5)).map(|_| random_tree(random, levels - 1)).collect()),
        _ => {
            let mut member = || {
                let name = names[random.below(7) as usize];
                (name.as_bytes().to_vec().into(), random_tree(random, levels - 1))
            };
            Tree::object((0..3).map(|_| member()).collect())
        }
    }
}

/// Everything that reads documents, on bytes that may be anything.
fn read_everything(bytes: &[u8]) {
    let Ok(root) = Json::document(bytes) else { return };
    let mut out = Vec::new();
    let _ = write_text(bytes, &mut out);
    let _ = write_pretty(bytes, usize::MAX, &mut Vec::new());
    let _ = root.depth();
    let _ = compare::compare(root, root);
    let _ = compare::sort_key(root, &mut Vec::new());
    let _ = unquoted(bytes);
    let _ = convert::document_scalar(bytes);
    for path in ["$**.a", "$**[0 to last]", "$.a[1].b", "$[*].*", "$**[last]**[0]"] {
        let path = Path::parse(path.as_bytes()).unwrap();
        for found in path.find(root).unwrap_or_default().iter().take(20) {
            let _ = found.write_document(&mut Vec::new());
        }
    }
    let mut tree = Tree::Stored(root);
    let path = Path::parse(b"$.a[1].b").unwrap();
    let _ = edit::set(&mut tree, path.legs(), Tree::Null, edit::Mode::Set);
    let _ = tree.encode();
    let _ = merge::preserve(tree.clone(), Tree::Stored(root)).map(|t| t.encode());
    let _ = merge::patch(tree, Tree::Stored(root));
}

#[test]
fn damaged_documents_never_panic() {
    let mut random = Random::new(9);
    for _ in 0..3_000 {
        let mut document = encode(&random_tree(&mut random, 4)).unwrap();
        for _ in 0..1 + random.below(4) {
            let at = random.below(document.len() as u64) as usize;
            document[at] = random.next_u64() as u8;
        }
        if random.chance(1, 4) {
            document.truncate(random.below(document.len() as u64) as usize);
        }
        read_everything(&document);
    }
}

proptest! {
    #[test]
    fn any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), kind in 0_u8..16) {
        read_everything(&[&[kind][..], &bytes].concat());
        let _ = parse::parse(&bytes);
        let _ = Path::parse(&bytes);
    }

    #[test]
    fn any_text_never_panics(text in "[\\[\\]{}\",:0-9eE.+\\-a-z\\\\ $*]{0,40}") {
        let _ = parse::parse(text.as_bytes());
        let _ = Path::parse(text.as_bytes());
        let _ = Path::parse(format!("${text}").as_bytes());
    }
}

/// A document of ten million elements was read to its end before the statement's end was seen; and
/// members that are new were put into their places one by one, in time that is quadratic.
#[test]
fn a_killed_statement_ends_inside_a_document() {
    let many = format!("[{}1]", "1,".repeat(100_000));
    let object = |prefix: &str| {
        let members: Vec<String> = (0..50_000).map(|n| format!("\"{prefix}{n}\":1")).collect();
        parse::parse(format!("{{{}}}", members.join(",")).as_bytes()).unwrap().into_owned().unwrap()
    };
    let (a, b) = (object("a"), object("b"));
    let both = merge::preserve(a.clone(), b.clone()).unwrap();
    assert_eq!(merge::patch(a.clone(), b.clone()).unwrap(), both);
    assert!(matches!(&both, Tree::Object(members) if members.len() == 100_000));
    let interrupt = std::sync::Arc::new(storage::Interrupt::new());
    let bounded = crate::bounds::begin(&interrupt, usize::MAX);
    assert!(parse::parse(many.as_bytes()).is_ok());
    interrupt.kill(storage::lock::Killed::Query);
    assert_eq!(parse::parse(many.as_bytes()), Err(ParseError::Ended));
    assert!(crate::bounds::ended().is(crate::error::QUERY_INTERRUPTED));
    assert!(merge::preserve(a.clone(), b.clone()).is_err());
    assert!(merge::patch(a, b).is_err());
    drop(bounded);
}
