//! Time zones: `SYSTEM`, which is UTC here, and fixed offsets.

/// Seconds that a zone is ahead of UTC; `None` for names that are not known.
pub fn offset_seconds(name: &str) -> Option<i32> {
    if name.eq_ignore_ascii_case("SYSTEM") || name.eq_ignore_ascii_case("UTC") {
        return Some(0);
    }
    let (sign, rest) = match name.as_bytes().first()? {
        b'+' => (1, &name[1..]),
        b'-' => (-1, &name[1..]),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::offset_seconds;

    #[test]
    fn names_of_zones() {
        assert_eq!(offset_seconds("SYSTEM"), Some(0));
        assert_eq!(offset_seconds("+02:30"), Some(9000));
        assert_eq!(offset_seconds("-13:59"), Some(-50_340));
        assert_eq!(offset_seconds("+15:00"), None);
        assert_eq!(offset_seconds("Europe/Berlin"), None);
    }
}
