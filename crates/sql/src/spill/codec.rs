//! Values as bytes, for temporary files: exactly the value that was put comes out.
//!
//! ```text
//! value   tag (1)  its content
//! text    length (LEB128)  bytes
//! ```

use super::stream::damaged;
use datum::error::Result;
use datum::value::{Date, DateTime, Datum, Decimal, Time};

const NULL: u8 = 0;
const INT: u8 = 1;
const UINT: u8 = 2;
const DOUBLE: u8 = 3;
const FLOAT: u8 = 4;
const DECIMAL: u8 = 5;
const BYTES: u8 = 6;
const BITS: u8 = 7;
const DATE: u8 = 8;
const TIME: u8 = 9;
const DATE_TIME: u8 = 10;
const YEAR: u8 = 11;
const LABEL: u8 = 12;
const JSON: u8 = 13;

/// Appends a value.
pub(crate) fn put(value: &Datum<'_>, out: &mut Vec<u8>) {
    match value {
        Datum::Null => out.push(NULL),
        Datum::Int(v) => put_tagged(INT, &v.to_le_bytes(), out),
        Datum::UInt(v) => put_tagged(UINT, &v.to_le_bytes(), out),
        Datum::Double(v) => put_tagged(DOUBLE, &v.to_le_bytes(), out),
        Datum::Float(v) => put_tagged(FLOAT, &v.to_le_bytes(), out),
        Datum::Decimal(v) => {
            out.push(DECIMAL);
            v.put(out);
        }
        Datum::Bytes(b) => put_tagged_text(BYTES, b, out),
        Datum::Bits(b) => put_tagged_text(BITS, b, out),
        Datum::Date(v) => {
            out.push(DATE);
            put_date(*v, out);
        }
        Datum::Time(v) => {
            put_tagged(TIME, &v.micros.to_le_bytes(), out);
            out.push(v.fsp);
        }
        Datum::DateTime(v) => {
            out.push(DATE_TIME);
            put_date(v.date, out);
            out.extend_from_slice(&v.micros.to_le_bytes());
            out.push(v.fsp);
        }
        Datum::Year(v) => put_tagged(YEAR, &v.to_le_bytes(), out),
        Datum::Label(number, text) => {
            put_tagged(LABEL, &number.to_le_bytes(), out);
            put_text(text, out);
        }
        Datum::Json(b) => put_tagged_text(JSON, b, out),
    }
}

/// Appends a row's values.
pub(crate) fn put_row(values: &[Datum<'_>], out: &mut Vec<u8>) {
    values.iter().for_each(|value| put(value, out));
}

fn put_tagged(tag: u8, content: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    out.extend_from_slice(content);
}

fn put_tagged_text(tag: u8, text: &[u8], out: &mut Vec<u8>) {
    out.push(tag);
    put_text(text, out);
}

fn put_date(date: Date, out: &mut Vec<u8>) {
    out.extend_from_slice(&date.year.to_le_bytes());
    out.extend_from_slice(&[date.month, date.day]);
}

/// Appends bytes after their length.
pub(crate) fn put_text(text: &[u8], out: &mut Vec<u8>) {
    let mut len = text.len();
    while len >= 0x80 {
        out.push(len as u8 | 0x80);
        len >>= 7;
    }
    out.push(len as u8);
    out.extend_from_slice(text);
}

/// Takes the next value off `bytes`.
pub(crate) fn take<'a>(bytes: &mut &'a [u8]) -> Result<Datum<'a>> {
    let [tag] = take_array(bytes)?;
    Ok(match tag {
        NULL => Datum::Null,
        INT => Datum::Int(i64::from_le_bytes(take_array(bytes)?)),
        UINT => Datum::UInt(u64::from_le_bytes(take_array(bytes)?)),
        DOUBLE => Datum::Double(f64::from_le_bytes(take_array(bytes)?)),
        FLOAT => Datum::Float(f32::from_le_bytes(take_array(bytes)?)),
        DECIMAL => {
            let (value, rest) = Decimal::take(bytes).ok_or_else(damaged)?;
            *bytes = rest;
            Datum::Decimal(value)
        }
        BYTES => Datum::Bytes(take_text(bytes)?.into()),
        BITS => Datum::Bits(take_text(bytes)?.into()),
        DATE => Datum::Date(take_date(bytes)?),
        TIME => Datum::Time(take_time(bytes)?),
        DATE_TIME => {
            let date = take_date(bytes)?;
            let Time { micros, fsp } = take_time(bytes)?;
            Datum::DateTime(DateTime { date, micros, fsp })
        }
        YEAR => Datum::Year(u16::from_le_bytes(take_array(bytes)?)),
        LABEL => {
            let number = u64::from_le_bytes(take_array(bytes)?);
            Datum::Label(number, take_text(bytes)?.into())
        }
        JSON => Datum::Json(take_text(bytes)?.into()),
        _ => return Err(damaged()),
    })
}

/// The values of a row that has as many.
pub(crate) fn fill_row<'a>(mut bytes: &'a [u8], values: &mut [Datum<'a>]) -> Result<()> {
    values.iter_mut().try_for_each(|value| take(&mut bytes).map(|taken| *value = taken))
}

/// The values of a row, after those that `values` holds.
pub(crate) fn take_row<'a>(mut bytes: &'a [u8], values: &mut Vec<Datum<'a>>) -> Result<()> {
    while !bytes.is_empty() {
        values.push(take(&mut bytes)?);
    }
    Ok(())
}

fn take_array<const N: usize>(bytes: &mut &[u8]) -> Result<[u8; N]> {
    let (array, rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
    *bytes = rest;
    Ok(*array)
}

fn take_date(bytes: &mut &[u8]) -> Result<Date> {
    let year = u16::from_le_bytes(take_array(bytes)?);
    let [month, day] = take_array(bytes)?;
    Ok(Date { year, month, day })
}

fn take_time(bytes: &mut &[u8]) -> Result<Time> {
    let micros = i64::from_le_bytes(take_array(bytes)?);
    let [fsp] = take_array(bytes)?;
    Ok(Time { micros, fsp })
}

/// Takes bytes off, after their length.
pub(crate) fn take_text<'a>(bytes: &mut &'a [u8]) -> Result<&'a [u8]> {
    let (mut len, mut shift) = (0_usize, 0);
    loop {
        let [byte] = take_array(bytes)?;
        len |= usize::from(byte & 0x7f).checked_shl(shift).ok_or_else(damaged)?;
        shift += 7;
        if byte < 0x80 {
            break;
        }
    }
    let (text, rest) = bytes.split_at_checked(len).ok_or_else(damaged)?;
    *bytes = rest;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decimals() -> impl Strategy<Value = Datum<'static>> {
        ("-?[0-9]{1,40}\\.[0-9]{1,25}", any::<bool>()).prop_map(|(text, divided)| {
            let value = Decimal::parse(text.as_bytes()).0;
            Datum::Decimal(if divided { value.div(&Decimal::from(7_u64), 4).unwrap_or(value) } else { value })
        })
    }

    fn values() -> impl Strategy<Value = Datum<'static>> {
        let text = || proptest::collection::vec(any::<u8>(), 0..300);
        prop_oneof![
            Just(Datum::Null),
            any::<i64>().prop_map(Datum::Int),
            any::<u64>().prop_map(Datum::UInt),
            (-1e300..1e300).prop_map(Datum::Double),
            (-1e30_f32..1e30).prop_map(Datum::Float),
            decimals(),
            text().prop_map(|b| Datum::Bytes(b.into())),
            text().prop_map(|b| Datum::Bits(b.into())),
            text().prop_map(|b| Datum::Json(b.into())),
            (any::<u64>(), text()).prop_map(|(n, b)| Datum::Label(n, b.into())),
            any::<u16>().prop_map(Datum::Year),
            any::<[u8; 4]>().prop_map(|[y, _, m, d]| Datum::Date(Date { year: y.into(), month: m, day: d })),
            any::<(i64, u8)>().prop_map(|(micros, fsp)| Datum::Time(Time { micros, fsp })),
            any::<(u16, i64, u8)>().prop_map(|(year, micros, fsp)| {
                Datum::DateTime(DateTime { date: Date { year, month: 1, day: 2 }, micros, fsp })
            }),
        ]
    }

    /// Equality does not see how many digits a decimal shows.
    fn shown(row: &[Datum<'_>]) -> Vec<Option<u8>> {
        row.iter().map(|v| if let Datum::Decimal(d) = v { Some(d.shown()) } else { None }).collect()
    }

    proptest! {
        #[test]
        fn a_row_comes_out_as_it_was_put(row in proptest::collection::vec(values(), 0..8), cut in 0..64_usize) {
            let mut bytes = Vec::new();
            put_row(&row, &mut bytes);
            let mut out = Vec::new();
            take_row(&bytes, &mut out).unwrap();
            prop_assert_eq!(&out, &row);
            prop_assert_eq!(shown(&out), shown(&row));
            // What is cut short is an error or a shorter row, never a panic.
            let _ = take_row(&bytes[..bytes.len().saturating_sub(cut)], &mut Vec::new());
        }
    }
}
