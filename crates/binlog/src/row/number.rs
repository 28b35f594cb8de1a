//! FLOAT and DOUBLE as text: MySQL's shortest form, and C's `%g` that `mysqlbinlog` prints.

use std::fmt::{self, Write};

/// Text of at most 40 bytes without an allocation.
struct Short {
    bytes: [u8; 40],
    len: usize,
}

impl Write for Short {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        let end = self.len + s.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(s.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// A number as sign, digits without point, and the power of ten of the first digit.
struct Scientific {
    text: Short,
    negative: bool,
    exponent: i32,
}

impl Scientific {
    /// Splits what Rust's `{:e}` prints: `-1.25e-7`.
    fn new(args: fmt::Arguments<'_>) -> Option<Self> {
        let mut text = Short { bytes: [0; 40], len: 0 };
        text.write_fmt(args).ok()?;
        let e = text.bytes[..text.len].iter().position(|&b| b == b'e')?;
        let exponent = std::str::from_utf8(&text.bytes[e + 1..text.len]).ok()?.parse().ok()?;
        let negative = text.bytes[0] == b'-';
        let mut len = 0;
        for i in 0..e {
            if text.bytes[i].is_ascii_digit() {
                text.bytes[len] = text.bytes[i];
                len += 1;
            }
        }
        text.len = len;
        Some(Self { text, negative, exponent })
    }

    fn digits(&self) -> &str {
        std::str::from_utf8(&self.text.bytes[..self.text.len]).expect("only ASCII digits were kept")
    }

    fn trim_zeros(&mut self) {
        while self.text.len > 1 && self.text.bytes[self.text.len - 1] == b'0' {
            self.text.len -= 1;
        }
    }

    /// With a point and no exponent.
    fn write_plain(&self, out: &mut impl Write) -> fmt::Result {
        let digits = self.digits();
        if self.exponent < 0 {
            out.write_str("0.")?;
            (0..-self.exponent - 1).try_for_each(|_| out.write_char('0'))?;
            return out.write_str(digits);
        }
        let whole = self.exponent as usize + 1;
        if digits.len() <= whole {
            out.write_str(digits)?;
            return (digits.len()..whole).try_for_each(|_| out.write_char('0'));
        }
        write!(out, "{}.{}", &digits[..whole], &digits[whole..])
    }

    fn write_mantissa(&self, out: &mut impl Write) -> fmt::Result {
        let (first, remaining) = self.digits().split_at(1);
        let point = if remaining.is_empty() { "" } else { "." };
        write!(out, "{first}{point}{remaining}")
    }
}

/// MySQL's form: the fewest digits that read back as the same number; an exponent (`1.5e20`) below
/// 1e-15 and from 1e15.
fn write_shortest(out: &mut impl Write, number: Option<Scientific>, zero_point: bool) -> fmt::Result {
    let Some(n) = number else { return out.write_str("0") };
    out.write_str(if n.negative { "-" } else { "" })?;
    let zero = n.digits() == "0";
    if zero || (-15..15).contains(&n.exponent) {
        n.write_plain(out)?;
        let is_whole = n.exponent >= 0 && n.digits().len() <= n.exponent as usize + 1;
        return out.write_str(if zero_point && is_whole { ".0" } else { "" });
    }
    n.write_mantissa(out)?;
    write!(out, "e{}", n.exponent)
}

/// Writes a DOUBLE as MySQL's result sets have it. NaN and infinities, which no column holds,
/// become 0.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write_double(out: &mut impl Write, v: f64) -> fmt::Result {
    write_shortest(out, Scientific::new(format_args!("{v:e}")), false)
}

/// Writes a FLOAT as MySQL's result sets have it.
///
/// # Errors
/// Those of `out`.
pub(crate) fn write_float(out: &mut impl Write, v: f32) -> fmt::Result {
    write_shortest(out, Scientific::new(format_args!("{v:e}")), false)
}

/// Writes a double inside JSON: like [`write_double`], but a whole number ends with `.0`.
pub(super) fn write_json_double(out: &mut impl Write, v: f64) -> fmt::Result {
    write_shortest(out, Scientific::new(format_args!("{v:e}")), true)
}

/// Writes `v` as C's `%.{precision}g` does (precision 1 to 20).
///
/// # Errors
/// Those of `out`.
pub(crate) fn write_g(out: &mut impl Write, v: f64, precision: usize) -> fmt::Result {
    let Some(mut n) = Scientific::new(format_args!("{v:.*e}", precision - 1)) else {
        return out.write_str("0");
    };
    out.write_str(if n.negative { "-" } else { "" })?;
    n.trim_zeros();
    if (-4..precision as i32).contains(&n.exponent) {
        return n.write_plain(out);
    }
    n.write_mantissa(out)?;
    let sign = if n.exponent < 0 { '-' } else { '+' };
    write!(out, "e{sign}{:02}", n.exponent.abs())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn doubles_as_mysql_prints_them() {
        for (v, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-2.25, "-2.25"),
            (100.0, "100"),
            (1e14, "100000000000000"),
            (1e15, "1e15"),
            (123456789012345.6, "123456789012345.6"),
            (1.7976931348623157e308, "1.7976931348623157e308"),
            (5e-324, "5e-324"),
            (0.00001, "0.00001"),
            (0.1, "0.1"),
            (1e-16, "1e-16"),
        ] {
            let mut out = String::new();
            write_double(&mut out, v).unwrap();
            assert_eq!(out, text);
        }
    }

    #[test]
    fn floats_have_their_own_shortest_form() {
        for (v, text) in [(-3.4e38_f32, "-3.4e38"), (1e-38, "1e-38"), (0.1, "0.1"), (16777216.0, "16777216")]
        {
            let mut out = String::new();
            write_float(&mut out, v).unwrap();
            assert_eq!(out, text);
        }
    }

    #[test]
    fn g_is_cs() {
        for (v, precision, text) in [
            (1.7976931348623157e308, 20, "1.7976931348623157081e+308"),
            (5e-324, 20, "4.9406564584124654418e-324"),
            (-2.25, 20, "-2.25"),
            (0.0, 20, "0"),
            (0.1, 20, "0.10000000000000000555"),
            (1e-5, 6, "1e-05"),
            (123456789.0, 6, "1.23457e+08"),
            (100000.0, 6, "100000"),
        ] {
            let mut out = String::new();
            write_g(&mut out, v, precision).unwrap();
            assert_eq!(out, text);
        }
    }
}
