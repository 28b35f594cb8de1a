//! The order of keys is the order of values: random tables, random rows, all types (K1, K2).
#![allow(clippy::unwrap_used)]

use std::cmp::Ordering;

use binlog::row::{
    BINARY_COLLATION, ColumnType, Date, DateTime, Decimal, RowImageBuilder, Time, Timestamp, Value, code,
};

use super::collation::BinaryCollations;
use super::*;
use crate::TreeId;
use crate::schema::{Column, IndexDefinition, KeyPart, SchemaError, TableSchema};
use crate::testing::Random;

/// A value and what it compares by.
#[derive(Debug, Clone, PartialEq)]
enum Ordinal {
    Null,
    Number(i128),
    Real(f64),
    Bytes(Vec<u8>),
    /// Goes on with this byte without end.
    Padded(Vec<u8>, u8),
}

impl Ordinal {
    fn compare(&self, other: &Ordinal) -> Ordering {
        match (self, other) {
            (Ordinal::Null, Ordinal::Null) => Ordering::Equal,
            (Ordinal::Null, _) => Ordering::Less,
            (_, Ordinal::Null) => Ordering::Greater,
            (Ordinal::Number(a), Ordinal::Number(b)) => a.cmp(b),
            (Ordinal::Real(a), Ordinal::Real(b)) => a.partial_cmp(b).unwrap(),
            (Ordinal::Bytes(a), Ordinal::Bytes(b)) => a.cmp(b),
            (Ordinal::Padded(a, padding), Ordinal::Padded(b, _)) => {
                let len = a.len().max(b.len());
                let pad = |s: &[u8]| {
                    s.iter().copied().chain(std::iter::repeat(*padding)).take(len).collect::<Vec<_>>()
                };
                pad(a).cmp(&pad(b))
            }
            _ => panic!("values of one column are of one kind"),
        }
    }

    /// What a key with a prefix length compares by; the texts here are ASCII.
    fn prefix(self, prefix: Option<u32>) -> Ordinal {
        let cut = |mut s: Vec<u8>| {
            s.truncate(prefix.map_or(usize::MAX, |n| n as usize));
            s
        };
        match self {
            Ordinal::Bytes(s) => Ordinal::Bytes(cut(s)),
            Ordinal::Padded(s, padding) => Ordinal::Padded(cut(s), padding),
            other => other,
        }
    }
}

const TYPES: &[ColumnType] = &[
    ColumnType::new(code::TINY, 0),
    ColumnType::new(code::SHORT, 0).unsigned(),
    ColumnType::new(code::INT24, 0),
    ColumnType::new(code::LONG, 0).unsigned(),
    ColumnType::new(code::LONGLONG, 0),
    ColumnType::new(code::LONGLONG, 0).unsigned(),
    ColumnType::new(code::FLOAT, 4),
    ColumnType::new(code::DOUBLE, 8),
    ColumnType::new(code::NEWDECIMAL, 20 << 8 | 3),
    ColumnType::new(code::YEAR, 0),
    ColumnType::new(code::DATE, 0),
    ColumnType::new(code::TIME2, 0),
    ColumnType::new(code::TIME2, 3),
    ColumnType::new(code::TIME2, 6),
    ColumnType::new(code::DATETIME2, 6),
    ColumnType::new(code::TIMESTAMP2, 2),
    ColumnType::new(code::BIT, 13),
    ColumnType::new(code::ENUM, 2),
    ColumnType::new(code::SET, 3),
    ColumnType::new(code::VARCHAR, 300).with_charset(46),
    ColumnType::new(code::VARCHAR, 20).with_charset(BINARY_COLLATION),
    ColumnType::new(code::STRING, 20).with_charset(47),
    ColumnType::new(code::STRING, 20).with_charset(BINARY_COLLATION),
    ColumnType::new(code::BLOB, 2).with_charset(309),
];

/// A random value of a type: its bytes in an image, and what it compares by.
fn random_value(random: &mut Random, ty: &ColumnType) -> (Option<Vec<u8>>, Ordinal) {
    let mut raw = Vec::new();
    let mut text = Vec::new();
    let (value, ordinal) = match ty.code {
        code::FLOAT => {
            let v = [-1.5, -0.0, 0.0, 1e30, f32::MIN_POSITIVE, random.signed() as f32][random.index(6)];
            (Value::Float(v), Ordinal::Real(v.into()))
        }
        code::DOUBLE => {
            let v = [-1.5, -0.0, 0.0, f64::MAX, f64::MIN, random.signed() as f64 / 3.0][random.index(6)];
            (Value::Double(v), Ordinal::Real(v))
        }
        code::NEWDECIMAL => {
            let v = random.signed() % 1_000_000_000_000;
            let (sign, n) = (if v < 0 { "-" } else { "" }, v.unsigned_abs());
            let digits = format!("{sign}{}.{:03}", n / 1000, n % 1000);
            Decimal::encode_text(&digits, 20, 3, &mut text).unwrap();
            (Value::Decimal(Decimal { bytes: &text, precision: 20, scale: 3 }), Ordinal::Number(v.into()))
        }
        code::YEAR => {
            let v = [0, 1901, 2155, 2000 + random.index(9) as u16][random.index(4)];
            (Value::Year(v), Ordinal::Number(v.into()))
        }
        code::DATE => {
            let (year, month, day) =
                (random.index(10_000) as u16, random.index(13) as u8, random.index(32) as u8);
            let number = (i128::from(year) * 100 + i128::from(month)) * 100 + i128::from(day);
            (Value::Date(Date { year, month, day }), Ordinal::Number(number))
        }
        code::TIME2 => random_time(random, ty.meta as u8),
        code::DATETIME2 => {
            let date = Date { year: 2000, month: 1, day: random.index(3) as u8 };
            let (hour, minute, second) =
                (random.index(2) as u8, random.index(2) as u8, random.index(2) as u8);
            let micros = random.index(3) as u32;
            let number =
                [date.day, hour, minute, second, micros as u8].iter().fold(0, |n, &p| n << 8 | i128::from(p));
            (
                Value::DateTime(DateTime { date, hour, minute, second, micros, digits: 6 }),
                Ordinal::Number(number),
            )
        }
        code::TIMESTAMP2 => {
            let (seconds, hundredths) = (random.index(3) as u32 * 1_000_000_000, random.index(100) as u32);
            let value = Timestamp { seconds, micros: hundredths * 10_000, digits: 2 };
            (Value::Timestamp(value), Ordinal::Number(i128::from(seconds) * 100 + i128::from(hundredths)))
        }
        code::BIT => number(random.below(1 << 13), Value::Bit),
        code::ENUM => number(random.below(1 << 16), |v| Value::Enum(v as u16)),
        code::SET => number(random.below(1 << 24), Value::Set),
        code::VARCHAR | code::STRING | code::BLOB => {
            let letters = b"\0\x01 \x1f!ab\x7f";
            text.extend((0..random.index(6)).map(|_| letters[random.index(letters.len())]));
            let ordinal = match (ty.code, ty.charset) {
                (code::STRING, BINARY_COLLATION) => Ordinal::Padded(text.clone(), 0),
                (_, 46 | 47) => Ordinal::Padded(text.clone(), b' '),
                _ => Ordinal::Bytes(text.clone()),
            };
            Value::Bytes(&text).encode(ty, &mut raw).unwrap();
            return (Some(raw), ordinal);
        }
        _ => {
            let bits = ty.fixed_len().unwrap() * 8;
            let v = random.signed() as i128 & ((1 << bits) - 1);
            if ty.unsigned {
                (Value::UInt(v as u64), Ordinal::Number(v))
            } else {
                let v = v << (128 - bits) >> (128 - bits);
                (Value::Int(v as i64), Ordinal::Number(v))
            }
        }
    };
    value.encode(ty, &mut raw).unwrap();
    (Some(raw), ordinal)
}

fn number(v: u64, value: impl Fn(u64) -> Value<'static>) -> (Value<'static>, Ordinal) {
    (value(v), Ordinal::Number(v.into()))
}

fn random_time(random: &mut Random, digits: u8) -> (Value<'static>, Ordinal) {
    let (hours, minutes, seconds) =
        (random.index(2) as u16 * 800, random.index(2) as u8, random.index(3) as u8);
    let unit = 10_u32.pow(6 - u32::from(digits));
    let micros = random.index(5) as u32 * 200_000 / unit * unit;
    let all = ((i128::from(hours) * 60 + i128::from(minutes)) * 60 + i128::from(seconds)) * 1_000_000
        + i128::from(micros);
    let negative = all != 0 && random.index(2) == 0;
    let value = Time { negative, hours, minutes, seconds, micros, digits };
    (Value::Time(value), Ordinal::Number(if negative { -all } else { all }))
}

struct Table {
    schema: TableSchema,
    parts: Vec<KeyPart>,
}

/// A table with an id and random key columns, all in one secondary index.
fn random_table(random: &mut Random) -> Table {
    let id = Column { name: "id".into(), ty: ColumnType::new(code::LONGLONG, 0), nullable: false };
    let mut columns = vec![id];
    let mut parts = Vec::new();
    for column in 1..=1 + random.index(4) {
        let ty = TYPES[random.index(TYPES.len())];
        columns.push(Column { name: format!("c{column}"), ty, nullable: random.index(2) == 0 });
        let text = matches!(ty.code, code::VARCHAR | code::STRING | code::BLOB);
        let prefixed = ty.code == code::BLOB || random.index(3) == 0;
        let prefix_len = (text && prefixed).then(|| 1 + random.index(3) as u32);
        parts.push(KeyPart { column, prefix_len, descending: random.index(3) == 0 });
    }
    let primary = definition("PRIMARY", 1, vec![KeyPart::ascending(0)], true);
    let secondary = definition("k", 2, parts.clone(), true);
    let schema = TableSchema::new(1, "d", "t", columns, primary, vec![secondary], &BinaryCollations).unwrap();
    Table { schema, parts }
}

fn definition(name: &str, tree: u32, parts: Vec<KeyPart>, unique: bool) -> IndexDefinition {
    IndexDefinition { name: name.into(), tree: TreeId(tree), parts, unique }
}

#[test]
fn keys_compare_as_their_values() {
    for seed in 0..400 {
        println!("seed {seed}");
        let mut random = Random::new(seed);
        let table = random_table(&mut random);
        let rows: Vec<_> = (0..30).map(|id| random_row(&mut random, &table, id)).collect();
        for a in &rows {
            for b in &rows {
                let by_value = table.parts.iter().map(|part| {
                    let (a, b) = (&a.ordinals[part.column], &b.ordinals[part.column]);
                    let order = a.clone().prefix(part.prefix_len).compare(&b.clone().prefix(part.prefix_len));
                    if part.descending { order.reverse() } else { order }
                });
                let by_value = by_value.fold(Ordering::Equal, Ordering::then);
                assert_eq!(a.key.cmp(&b.key), by_value, "{a:?} {b:?}");
                assert!(a.key == b.key || !a.key.starts_with(&b.key), "K2: {a:?} {b:?}");
            }
        }
    }
}

#[derive(Debug)]
struct Sample {
    ordinals: Vec<Ordinal>,
    /// The secondary key without the primary key after it.
    key: Vec<u8>,
}

/// The columns that keys hold are read from them as they are in the row.
fn check_what_keys_hold(table: &Table, raws: &[Option<Vec<u8>>], key: &[u8]) {
    let schema = &table.schema;
    let held: Vec<usize> = (0..raws.len()).filter(|&column| schema.key_holds(1, column)).collect();
    assert!(held.contains(&0), "the primary key is a number");
    let mut expected = Vec::new();
    let mut builder = RowImageBuilder::new(schema.types(), &mut expected);
    for (column, raw) in raws.iter().enumerate() {
        builder.push_raw(raw.as_deref().filter(|_| held.contains(&column))).unwrap();
    }
    builder.finish().unwrap();
    let mut read = Vec::new();
    schema.decode_key(&schema.secondary[0], &held, key, &mut read).unwrap();
    assert_eq!(read, expected, "{raws:?} in {key:?}");
}

fn random_row(random: &mut Random, table: &Table, id: i64) -> Sample {
    let mut ordinals = Vec::new();
    let mut image = Vec::new();
    let mut raws = Vec::new();
    let mut builder = RowImageBuilder::new(table.schema.types(), &mut image);
    for (number, column) in table.schema.columns.iter().enumerate() {
        let null = column.nullable && random.index(5) == 0;
        let (raw, ordinal) = match number {
            0 => (Some(id.to_le_bytes().to_vec()), Ordinal::Number(id.into())),
            _ if null => (None, Ordinal::Null),
            _ => random_value(random, &column.ty),
        };
        builder.push_raw(raw.as_deref()).unwrap();
        raws.push(raw);
        ordinals.push(ordinal);
    }
    builder.finish().unwrap();
    let keys = table.schema.keys(&image).unwrap();
    let index = &table.schema.secondary[0];
    let mut key = Vec::new();
    let values: Vec<_> = table.parts.iter().map(|part| raws[part.column].as_deref()).collect();
    index.encode_values(&values, &mut key).unwrap();
    assert_eq!(keys.of(1), [&key, keys.primary()].concat());
    assert_eq!(index.primary_key_in(keys.of(1)).unwrap(), keys.primary());
    let has_null = values.iter().any(Option::is_none);
    assert_eq!(keys.unique(1), (!has_null).then_some(&key[..]));
    for cut in 0..key.len() {
        assert_eq!(index.primary_key_in(&key[..cut]), Err(KeyError::Malformed));
    }
    check_what_keys_hold(table, &raws, keys.of(1));
    Sample { ordinals, key }
}

#[test]
fn what_can_not_be_a_key_is_refused_with_its_schema() {
    let check = |ty: ColumnType, prefix_len: Option<u32>| {
        let columns = vec![Column { name: "c".into(), ty, nullable: false }];
        let part = KeyPart { column: 0, prefix_len, descending: false };
        let primary = definition("PRIMARY", 1, vec![part], true);
        match TableSchema::new(1, "d", "t", columns, primary, vec![], &BinaryCollations) {
            Err(SchemaError::Key { source, .. }) => source,
            other => panic!("{other:?}"),
        }
    };
    let varchar = ColumnType::new(code::VARCHAR, 20);
    assert_eq!(check(varchar.with_charset(255), None), KeyError::Collation(255));
    assert_eq!(check(ColumnType::new(code::JSON, 4), None), KeyError::Type(code::JSON));
    assert_eq!(check(ColumnType::new(code::BLOB, 2).with_charset(63), None), KeyError::PrefixMissing);
    assert_eq!(check(ColumnType::new(code::LONG, 0), Some(2)), KeyError::Prefix);
    assert_eq!(check(varchar.with_charset(63), Some(0)), KeyError::Prefix);
}

#[test]
fn rows_that_do_not_fit_their_schema_are_errors() {
    let columns = vec![Column {
        name: "c".into(),
        ty: ColumnType::new(code::BLOB, 4).with_charset(63),
        nullable: false,
    }];
    let part = KeyPart { column: 0, prefix_len: Some(1 << 20), descending: false };
    let primary = definition("PRIMARY", 1, vec![part], true);
    let schema = TableSchema::new(1, "d", "t", columns, primary, vec![], &BinaryCollations).unwrap();
    assert_eq!(schema.keys(&[]), Err(KeyError::Malformed));
    assert_eq!(schema.keys(&[1]), Err(KeyError::Malformed), "NULL in a NOT NULL column");
    assert_eq!(schema.keys(&[0, 9, 0, 0, 0, 1]), Err(KeyError::Malformed));
    let long = [&[0_u8][..], &50_000_u32.to_le_bytes(), &[7; 50_000]].concat();
    assert_eq!(schema.keys(&long), Err(KeyError::TooLong));
}

#[test]
fn the_successor_of_a_prefix() {
    assert_eq!(prefix_successor(b"ab").as_deref(), Some(b"ac".as_slice()));
    assert_eq!(prefix_successor(b"a\xff\xff").as_deref(), Some(b"b".as_slice()));
    assert_eq!(prefix_successor(b"\xff"), None);
}
