//! Rows of the binary protocol: each value in the form of its column's type.

use datum::value::temporal::{Date, DateTime, Time};
use protocol::binary::{BinaryDateTime, BinaryRow, BinaryTime, code};
use sql::Datum;

/// Appends a row. `types` are those of the column definitions that the client was sent; `scratch`
/// is for values that have to be printed first.
pub(super) fn put_row(out: &mut Vec<u8>, types: &[u8], values: &[Datum<'_>], scratch: &mut Vec<u8>) {
    let mut row = BinaryRow::begin(out, types.len());
    for (&ty, value) in types.iter().zip(values) {
        put(&mut row, ty, value, scratch);
    }
}

fn put(row: &mut BinaryRow<'_>, ty: u8, value: &Datum<'_>, scratch: &mut Vec<u8>) {
    match (ty, value) {
        (_, Datum::Null) => row.null(),
        (code::TINY | code::SHORT | code::LONG | code::INT24 | code::LONGLONG | code::YEAR, value) => {
            row.integer(ty, low_bits(value));
        }
        (code::FLOAT, Datum::Float(v)) => row.float(*v),
        (code::FLOAT, value) => row.float(value.to_f64().value as f32),
        (code::DOUBLE, value) => row.double(value.to_f64().value),
        (code::DATE | code::DATETIME | code::TIMESTAMP, value) => match value.to_datetime(|| Date::ZERO) {
            Some(moment) => row.date_time(&date_time(&moment)),
            None => row.date_time(&BinaryDateTime::default()),
        },
        (code::TIME, value) => row.time(&value.to_time().map(time).unwrap_or_default()),
        (_, Datum::Bytes(b) | Datum::Bits(b) | Datum::Label(_, b)) => row.bytes(b),
        (_, other) => {
            scratch.clear();
            datum::value::text::write(other, scratch);
            row.bytes(scratch);
        }
    }
}

/// An integer in two's complement.
fn low_bits(value: &Datum<'_>) -> u64 {
    match value {
        Datum::Int(v) => *v as u64,
        Datum::UInt(v) => *v,
        Datum::Year(v) => (*v).into(),
        other => other.to_integer().value as u64,
    }
}

fn date_time(moment: &DateTime) -> BinaryDateTime {
    let (hour, minute, second, micros) = moment.time().parts();
    let Date { year, month, day } = moment.date;
    BinaryDateTime { year, month, day, hour: hour as u8, minute: minute as u8, second: second as u8, micros }
}

fn time(span: Time) -> BinaryTime {
    let (hours, minute, second, micros) = span.parts();
    BinaryTime {
        negative: span.micros < 0,
        days: hours / 24,
        hour: (hours % 24) as u8,
        minute: minute as u8,
        second: second as u8,
        micros,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ty: u8, value: Datum<'_>, expected: &[u8]) {
        let mut out = Vec::new();
        put_row(&mut out, &[ty], &[value], &mut Vec::new());
        assert_eq!(&out[2..], expected);
    }

    #[test]
    fn each_type_has_its_form() {
        check(code::TINY, Datum::Int(-2), b"\xfe");
        check(code::SHORT, Datum::UInt(0xabcd), b"\xcd\xab");
        check(code::YEAR, Datum::Year(2024), b"\xe8\x07");
        check(code::INT24, Datum::Int(-1), b"\xff\xff\xff\xff");
        check(code::LONGLONG, Datum::Decimal(7_i64.into()), b"\x07\0\0\0\0\0\0\0");
        check(code::FLOAT, Datum::Float(1.5), b"\0\0\xc0\x3f");
        check(code::DOUBLE, Datum::borrowed(b"1.50"), b"\0\0\0\0\0\0\xf8\x3f");
        check(code::NEWDECIMAL, Datum::Decimal(12_i64.into()), b"\x0212");
        check(code::VAR_STRING, Datum::borrowed(b"hi"), b"\x02hi");
        check(code::VAR_STRING, Datum::Int(-5), b"\x02-5");
        check(code::TIME, Datum::Time(Time::new(true, 25, 2, 3, 0, 0)), b"\x08\x01\x01\0\0\0\x01\x02\x03");
        check(code::DATETIME, Datum::borrowed(b"2024-02-29"), b"\x04\xe8\x07\x02\x1d");
        check(code::DATE, Datum::Date(Date::ZERO), b"\x00");
    }

    #[test]
    fn a_zerofilled_number_is_a_number() {
        check(code::LONG, Datum::borrowed(b"00042"), b"\x2a\0\0\0");
    }
}
