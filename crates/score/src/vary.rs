//! Varies a value as it is written: the parameter values for elasticities.
//!
//! Works on the text, so figures of parts, settings of scenarios and solver defaults are varied alike. Whoever parses
//! the new text decides whether it is valid: a standard such as `8gfc` becomes `8.8gfc`, which no scenario accepts, and
//! so has no elasticity.

/// A value multiplied by about `by` (more than 0 and not 1), and the exact ratio to the old value. Whole numbers
/// without a unit change by at least one. `None` where the value is not a number, is 0, or would become 0.
pub fn varied(value: &str, by: f64) -> Option<(String, f64)> {
    let (number, unit) = split(value.trim());
    let old: f64 = number.replace([',', '_'], "").parse().ok()?;
    if !old.is_finite() || old <= 0.0 {
        return None;
    }
    let new = match unit.trim().is_empty() && old.fract() == 0.0 {
        true => whole(old, by)?,
        false => short(old * by),
    };
    Some((format!("{new}{unit}"), new / old))
}

/// The number at the beginning of a text, and the rest of it.
fn split(text: &str) -> (&str, &str) {
    let of_number = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',' | '_');
    text.split_at(text.find(|c| !of_number(c)).unwrap_or(text.len()))
}

fn whole(old: f64, by: f64) -> Option<f64> {
    let step = (old * (by - 1.0)).round();
    let step = if step == 0.0 { (by - 1.0).signum() } else { step };
    Some(old + step).filter(|new| *new >= 1.0)
}

/// Nine digits suffice for any figure and keep texts short.
fn short(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, by: f64, expected: Option<&str>) {
        let found = varied(value, by);
        assert_eq!(found.as_ref().map(|(text, _)| text.as_str()), expected, "{value} × {by}");
        if let Some((_, ratio)) = found {
            assert_eq!(ratio > 1.0, by > 1.0, "{value} × {by}: {ratio}");
        }
    }

    #[test]
    fn figures_keep_their_units() {
        check("10 us", 1.1, Some("11 us"));
        check("10us", 0.9, Some("9us"));
        check("0.2 ns/B", 1.1, Some("0.22 ns/B"));
        check("400k IOPS", 0.9, Some("360k IOPS"));
        check("90%", 1.1, Some("99%"));
        check("1.3 GB/s", 1.1, Some("1.43 GB/s"));
        check("4,096 B", 0.5, Some("2048 B"));
    }

    #[test]
    fn whole_numbers_change_by_one_at_least() {
        check("4", 1.1, Some("5"));
        check("4", 0.9, Some("3"));
        check("32", 1.1, Some("35"));
        check("32", 0.9, Some("29"));
        check("1", 1.1, Some("2"));
        check("1", 0.9, None);
        check("1_000", 1.1, Some("1100"));
    }

    #[test]
    fn what_is_no_number_is_not_bent() {
        for value in ["yes", "ram", "no limit", "PCIe Gen2 x8", "", "0", "0 s", "-4", ".", "1.2.3"]
        {
            check(value, 1.1, None);
        }
    }
}
