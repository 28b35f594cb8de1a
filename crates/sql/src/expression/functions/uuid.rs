//! UUIDs: made (version 1, from the clock), checked, and as 16 bytes.

use std::sync::atomic::{AtomicU64, Ordering};

use env::Env;

use super::{Call, Function, Typing, f, not_null};
use crate::expression::Expr;
use crate::session::Context;
use crate::variables::ids;
use datum::error::{self, Result};
use datum::types::{Coercibility, Collation, Type};
use datum::value::Datum;

type Value<'a> = Result<Datum<'a>>;

pub(super) const FUNCTIONS: &[Function] = &[
    f("bin_to_uuid", (1, 2), super::text_of_at_most::<36>, bin_to_uuid),
    f("is_uuid", (1, 1), super::boolean, is_uuid),
    f("uuid", (0, 0), uuid_type, uuid).volatile(),
    f("uuid_short", (0, 0), super::uint, uuid_short).volatile(),
    f("uuid_to_bin", (1, 2), binary_type, uuid_to_bin),
];

fn uuid_type(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation(33), Coercibility::Literal, 36)
}

fn binary_type(_: &[Expr], _: &Typing) -> Type {
    Type::text(Collation::BINARY, Coercibility::Implicit, 16)
}

/// What makes this server's UUIDs differ: a node and a clock sequence drawn at the start, and a
/// clock that never repeats.
#[derive(Debug)]
pub(crate) struct Generator {
    /// Node and clock sequence, as the last eight bytes have them.
    tail: [u8; 8],
    /// The last time stamp: units of 100 ns since 1582-10-15.
    last: AtomicU64,
    /// The last UUID_SHORT without the server's number: seconds of the start, and 24 bits of
    /// counter.
    short: AtomicU64,
}

/// From 1582-10-15 to 1970-01-01, in units of 100 ns.
const GREGORIAN_OFFSET: u64 = 0x01b2_1dd2_1381_4000;

impl Generator {
    /// One for a server that starts now.
    pub(crate) fn new(env: &dyn Env) -> Self {
        let mut tail = [0; 8];
        env.random(&mut tail);
        tail[0] = tail[0] & 0x3f | 0x80;
        // A random node has the multicast bit set, as RFC 9562 asks for.
        tail[2] |= 1;
        let seconds = env.now() / 1_000_000;
        Self { tail, last: AtomicU64::new(0), short: AtomicU64::new(seconds << 24) }
    }

    /// A UUID that no other call gets: `now` is in microseconds since 1970.
    fn next(&self, now: u64) -> [u8; 16] {
        let wanted = now * 10 + GREGORIAN_OFFSET;
        // No other memory is published by it.
        let step = |last: u64| Some(wanted.max(last + 1));
        let last =
            self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step).unwrap_or_else(|last| last);
        let [h0, h1, m0, m1, l0, l1, l2, l3] = wanted.max(last + 1).to_be_bytes();
        let [t0, t1, t2, t3, t4, t5, t6, t7] = self.tail;
        [l0, l1, l2, l3, m0, m1, h0 & 0x0f | 0x10, h1, t0, t1, t2, t3, t4, t5, t6, t7]
    }

    fn next_short(&self, server_id: u64) -> u64 {
        (server_id & 255) << 56 | self.short.fetch_add(1, Ordering::Relaxed) & ((1 << 56) - 1)
    }
}

fn print(bytes: &[u8; 16]) -> Vec<u8> {
    let hex = super::digest::hex(bytes);
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join(&b'-')
}

/// Reads the three forms that MySQL knows: with dashes, without, and with dashes in braces.
fn parse(text: &[u8]) -> Option<[u8; 16]> {
    let text = match text {
        [b'{', inner @ .., b'}'] if text.len() == 38 => inner,
        _ => text,
    };
    let mut digits = [0; 32];
    let mut count = 0;
    for (i, &b) in text.iter().enumerate() {
        if text.len() == 36 && matches!(i, 8 | 13 | 18 | 23) {
            if b != b'-' {
                return None;
            }
            continue;
        }
        *digits.get_mut(count)? = char::from(b).to_digit(16)? as u8;
        count += 1;
    }
    let bytes = std::array::from_fn(|i| digits[2 * i] << 4 | digits[2 * i + 1]);
    (count == 32 && matches!(text.len(), 32 | 36)).then_some(bytes)
}

/// Exchanges the time's low and high parts, so that UUIDs made one after the other sort so.
fn swapped([a, b, c, d, e, f, g, h, rest @ ..]: [u8; 16], back: bool) -> [u8; 16] {
    let [i, j, k, l, m, n, o, p] = rest;
    match back {
        false => [g, h, e, f, a, b, c, d, i, j, k, l, m, n, o, p],
        true => [e, f, g, h, c, d, a, b, i, j, k, l, m, n, o, p],
    }
}

fn swap_asked<'a>(cx: &mut Context, call: Call<'a>) -> Result<bool> {
    Ok(call.count() > 1 && call.int(cx, 1)?.unwrap_or(0) != 0)
}

fn uuid<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    let now = cx.instance.env().now();
    Ok(Datum::owned(print(&cx.instance.uuids().next(now))))
}

fn uuid_short<'a>(cx: &mut Context, _: Call<'a>) -> Value<'a> {
    let server_id = cx.instance.globals().uint(ids::SERVER_ID);
    Ok(Datum::UInt(cx.instance.uuids().next_short(server_id)))
}

fn is_uuid<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    Ok(Datum::from_bool(parse(&text).is_some()))
}

fn wrong_value(kind: &str, text: &[u8], function: &str) -> error::SqlError {
    error::WRONG_VALUE_FOR_TYPE.with(&[&kind, &String::from_utf8_lossy(text), &function])
}

fn uuid_to_bin<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let swap = swap_asked(cx, call)?;
    let bytes = parse(&text).ok_or_else(|| wrong_value("string", &text, "uuid_to_bin"))?;
    Ok(Datum::owned(if swap { swapped(bytes, false) } else { bytes }))
}

fn bin_to_uuid<'a>(cx: &mut Context, call: Call<'a>) -> Value<'a> {
    let text = not_null!(call.text(cx, 0));
    let swap = swap_asked(cx, call)?;
    let bytes = <[u8; 16]>::try_from(&*text).map_err(|_| wrong_value("string", &text, "bin_to_uuid"))?;
    Ok(Datum::owned(print(&if swap { swapped(bytes, true) } else { bytes })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_a_uuid() {
        let text = b"6ccd780c-baba-1026-9564-5b8c656024db";
        let bytes = parse(text).unwrap();
        assert_eq!(print(&bytes), text);
        assert_eq!(parse(b"6CCD780CBABA102695645B8C656024DB"), Some(bytes));
        assert_eq!(parse(b"{6ccd780c-baba-1026-9564-5b8c656024db}"), Some(bytes));
        assert_eq!(&swapped(bytes, false)[..8], b"\x10\x26\xba\xba\x6c\xcd\x78\x0c");
        assert_eq!(swapped(swapped(bytes, false), true), bytes);
        for wrong in
            ["", "6ccd780c", "{6ccd780cbaba102695645b8c656024db}", "6ccd780c-baba-1026-9564-5b8c656024dbf"]
        {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn no_uuid_comes_twice() {
        let uuids = Generator::new(&env::SimEnv::new(1));
        let made: std::collections::HashSet<_> = (0..1000).map(|i| uuids.next(i / 100)).collect();
        assert_eq!(made.len(), 1000);
        assert!(made.iter().all(|u| u[6] >> 4 == 1 && u[8] >> 6 == 2));
        assert_eq!(uuids.next_short(257) >> 56, 1);
    }
}
