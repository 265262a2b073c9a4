//! The course of a figure in one row of characters.

/// Eight heights.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The last values, one character each, at most `width`. The highest of them has the full height, and nothing has none:
/// a value of zero is a blank.
pub fn sparkline(values: &[f64], width: usize) -> String {
    let shown = &values[values.len().saturating_sub(width)..];
    let highest = shown.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max);
    let bar = |value: &f64| match value / highest {
        share if !share.is_finite() || share <= 0.0 => ' ',
        share => BARS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1],
    };
    shown.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heights_are_shares_of_the_highest_value() {
        for (values, width, expected) in [
            (&[][..], 5, ""),
            (&[0.0, 0.0], 5, "  "),
            (&[1.0, 4.0, 8.0, 0.0], 5, "▁▄█ "),
            (&[100.0, 1.0, 2.0], 2, "▄█"),
            (&[f64::NAN, 3.0], 5, " █"),
            (&[1e-9, 1.0], 5, "▁█"),
            (&[1.0], 0, ""),
        ] {
            assert_eq!(sparkline(values, width), expected, "{values:?}");
        }
    }
}
