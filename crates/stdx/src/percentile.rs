//! Percentiles of values that were all kept; [`crate::histogram`] has those of values that were
//! only counted.

/// The least of the `sorted` values that a `share` of them (0 to 1) does not exceed, by nearest
/// rank; `None` if there are none.
pub fn percentile<T: Copy>(sorted: &[T], share: f64) -> Option<T> {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_were_measured() {
        let values: Vec<u32> = (1..=10).collect();
        assert_eq!(
            [0.0, 0.5, 0.9, 0.99, 1.0].map(|share| percentile(&values, share)),
            [1, 5, 9, 10, 10].map(Some)
        );
        assert_eq!(percentile(&[7], 0.5), Some(7));
        assert_eq!(percentile::<u32>(&[], 0.9), None);
    }
}
