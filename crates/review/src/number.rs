//! Numbers as tables show them: three significant digits, thousands separated, the unit in the heading.

use std::time::Duration;

/// A number in a table.
pub(crate) fn digits(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        v if v < 0.0005 => "<0.001".to_owned(),
        v if v < 0.9995 => format!("{value:.3}"),
        v if v < 9.995 => format!("{value:.2}"),
        v if v < 99.95 => format!("{value:.1}"),
        v if v < 1e12 => units::count(value),
        // Not measurable, but a record may contain it.
        _ => format!("{value:.2e}"),
    }
}

/// A share as percent, one decimal below ten.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0".to_owned(),
        p if p.abs() < 0.05 => "<0.1".to_owned(),
        p if p.abs() < 9.95 => format!("{p:.1}"),
        p => format!("{p:.0}"),
    }
}

/// How many times one thing is another.
pub(crate) fn ratio(value: f64) -> String {
    if value >= 9.95 { units::count(value.round()) } else { format!("{value:.2}") }
}

/// A latency in a sentence.
pub(crate) fn latency(ns: f64) -> String {
    units::duration(Duration::from_nanos(ns as u64))
}

/// The unit that a column of latencies is shown in, chosen by its middle value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TimeUnit {
    pub name: &'static str,
    ns: f64,
}

impl TimeUnit {
    /// The unit for some latencies in nanoseconds.
    pub fn of(mut latencies: Vec<u64>) -> TimeUnit {
        latencies.sort_unstable();
        match latencies.get(latencies.len() / 2).copied().unwrap_or(0) {
            0..=999 => TimeUnit { name: "ns", ns: 1.0 },
            1_000..=9_999_999 => TimeUnit { name: "us", ns: 1e3 },
            10_000_000..=9_999_999_999 => TimeUnit { name: "ms", ns: 1e6 },
            _ => TimeUnit { name: "s", ns: 1e9 },
        }
    }

    /// Its name where a page can show every sign.
    pub fn sign(self) -> &'static str {
        if self.name == "us" { "µs" } else { self.name }
    }

    /// A latency in it.
    pub fn show(self, ns: u64) -> String {
        digits(ns as f64 / self.ns)
    }
}

/// A horizontal bar of up to `cells` columns, to an eighth of a column.
pub(crate) fn bar(share: f64, cells: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (share.clamp(0.0, 1.0) * cells as f64 * 8.0).round() as usize;
    let text = "█".repeat(eighths / 8) + PARTS[eighths % 8];
    // Something that is not nothing shows.
    if text.is_empty() && share > 0.0 { "▏".to_owned() } else { text }
}

/// Times before this are of files without dates.
const DATED: u64 = 315_360_000_000_000_000;

/// When a run began; nothing is said of times without a date.
pub(crate) fn began(unix_ns: u64) -> String {
    if unix_ns < DATED { "without dates".to_owned() } else { moment(unix_ns) }
}

/// A moment in nanoseconds since the Unix epoch as `2026-05-17 09:26 UTC`.
fn moment(unix_ns: u64) -> String {
    let minutes = unix_ns / 60_000_000_000;
    let (days, minute) = (minutes / 1440, minutes % 1440);
    // Days from the first of March of year 0, in eras of 400 years, so that the leap day ends a year (H. Hinnant,
    // chrono-compatible low-level date algorithms).
    let z = days + 719_468;
    let (era, day_of_era) = (z / 146_097, z % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_significant_digits() {
        let cases = [
            (0.0, "0"),
            (0.0001, "<0.001"),
            (0.9994, "0.999"),
            (0.9996, "1.00"),
            (9.994, "9.99"),
            (9.996, "10.0"),
            (99.94, "99.9"),
            (99.96, "100"),
            (61_234.4, "61,234"),
            (9e18, "9.00e18"),
        ];
        for (value, expected) in cases {
            assert_eq!(digits(value), expected, "{value}");
        }
    }

    #[test]
    fn shares_and_bars() {
        let shares = [(0.0, "0"), (0.0001, "<0.1"), (0.02, "2.0"), (0.0996, "10"), (1.08, "108")];
        for (share, expected) in shares {
            assert_eq!(percent(share), expected, "{share}");
        }
        let bars = [(0.0, ""), (0.001, "▏"), (0.5, "████"), (0.99, "███████▉"), (7.0, "████████")];
        for (share, expected) in bars {
            assert_eq!(bar(share, 8), expected, "{share}");
        }
    }

    #[test]
    fn moments_of_the_calendar() {
        let cases = [
            (0, "1970-01-01 00:00 UTC"),
            (951_827_696, "2000-02-29 12:34 UTC"),
            (951_868_799, "2000-02-29 23:59 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (4_107_542_399, "2100-02-28 23:59 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(moment(seconds * 1_000_000_000), expected);
        }
        assert_eq!(moment(u64::MAX), "2554-07-21 23:34 UTC");
    }

    #[test]
    fn the_middle_latency_chooses_the_unit() {
        for (ns, name, shown) in
            [(412, "ns", "412"), (412_000, "us", "412"), (26_000_000, "ms", "26.0")]
        {
            let unit = TimeUnit::of(vec![1, ns, u64::MAX]);
            assert_eq!((unit.name, unit.show(ns).as_str()), (name, shown));
        }
    }
}
