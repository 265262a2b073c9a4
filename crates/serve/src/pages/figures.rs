//! Figures in words, the same on every page.

use std::time::Duration;

/// `397 MB/s`.
pub(crate) fn bytes_rate(bytes_per_s: f64) -> String {
    units::rate(bytes_per_s)
}

/// `61,234`.
pub(crate) fn ops(value: f64) -> String {
    match value.abs() {
        v if !v.is_finite() => "–".to_owned(),
        v if v >= 100.0 => units::count(value.round()),
        _ => units::count(value),
    }
}

/// `412 µs`; a dash where nothing is known.
pub(crate) fn latency(ns: Option<u64>) -> String {
    let words = |ns| units::duration(Duration::from_nanos(ns)).replace(" us", " µs");
    ns.map_or_else(|| "–".to_owned(), words)
}

/// A moment in UTC, as `2026-11-23 10:05`.
pub(crate) fn moment(unix_s: i64) -> String {
    let ns = u64::try_from(unix_s).unwrap_or(0).saturating_mul(1_000_000_000);
    export::utc(ns).replace('T', " ").chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `date -u -d @N '+%F %R'` printed them.
    #[test]
    fn moments() {
        for (unix, expected) in [
            (0, "1970-01-01 00:00"),
            (951_782_399, "2000-02-28 23:59"),
            (951_782_400, "2000-02-29 00:00"),
            (1_229_000_000, "2008-12-11 12:53"),
            (1_795_428_300, "2026-11-23 10:05"),
            (-1, "1970-01-01 00:00"),
        ] {
            assert_eq!(moment(unix), expected);
        }
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(ops(61_234.4), "61,234");
        assert_eq!(ops(f64::NAN), "–");
        assert_eq!((latency(None), latency(Some(412_000))), ("–".to_owned(), "412 µs".to_owned()));
    }
}
