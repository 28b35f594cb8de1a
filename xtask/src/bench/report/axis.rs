//! Logarithmic axes: where they end, and what is written at them.

/// Steps of a decade where there is room for few, and where figures lie close.
const COARSE: &[f64] = &[1.0, 2.0, 5.0];
const FINE: &[f64] = &[1.0, 1.2, 1.5, 2.0, 3.0, 5.0, 7.0];

/// What is less than this apart, as a factor, is close.
const CLOSE: f64 = 6.0;

/// A range around the figures, ending at round ones.
pub fn decades(low: f64, high: f64) -> (f64, f64) {
    let steps = if high / low < CLOSE { FINE } else { COARSE };
    let around = |value: f64| {
        let decade = 10f64.powf(value.log10().floor());
        steps.iter().map(move |step| step * decade).chain([10.0 * decade])
    };
    let bottom = around(low).rfind(|s| *s <= low).unwrap_or(low);
    let top = around(high).find(|s| *s >= high).unwrap_or(high);
    if top / bottom < 2.0 { (bottom / 1.5, top * 1.5) } else { (bottom * 0.95, top * 1.05) }
}

/// Round figures of a range.
pub fn ticks(bottom: f64, top: f64) -> Vec<f64> {
    let decades = bottom.log10().floor() as i32..=top.log10().ceil() as i32;
    let steps = match top / bottom {
        factor if factor > 2000.0 => &COARSE[..1],
        factor if factor > CLOSE * 1.2 => COARSE,
        _ => FINE,
    };
    let all = decades.flat_map(|n| steps.iter().map(move |step| step * 10f64.powi(n)));
    all.filter(|y| (bottom..=top).contains(y)).collect()
}

/// How one of them is written.
pub fn tick(y: f64) -> String {
    if y >= 1000.0 {
        return format!("{}k", tick(y / 1000.0));
    }
    // Two digits are all that a round figure has.
    let digits = (1.0 - y.log10().floor()).max(0.0) as usize;
    let text = format!("{y:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_ends_at_round_figures_around_the_values() {
        let (bottom, top) = decades(23.0, 4100.0);
        assert!((bottom..23.0).contains(&20.0) && (4100.0..top).contains(&5000.0), "{bottom} to {top}");
        assert_eq!(ticks(bottom, top), [20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0]);
        let (bottom, top) = decades(7.0, 7.0);
        assert!(bottom < 5.0 && top > 10.0, "one value has an axis too: {bottom} to {top}");
    }

    #[test]
    fn figures_that_lie_close_have_ticks_between_them() {
        let (bottom, top) = decades(20.1, 43.0);
        assert_eq!(ticks(bottom, top), [20.0, 30.0, 50.0]);
        let (bottom, top) = decades(1.0, 1.0);
        assert_eq!(ticks(bottom, top).into_iter().map(tick).collect::<Vec<_>>(), ["0.7", "1", "1.2", "1.5"]);
    }

    #[test]
    fn ticks_are_written_shortly() {
        let written = [0.005, 0.05, 0.5, 1.5, 20.0, 5000.0, 1500.0].map(tick);
        assert_eq!(written, ["0.005", "0.05", "0.5", "1.5", "20", "5k", "1.5k"]);
    }
}
