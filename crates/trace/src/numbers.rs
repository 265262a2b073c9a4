//! Numbers of traces: integers in two bases, and times as exact integers from decimal text.

/// An unsigned integer, decimal or with `0x`.
pub(crate) fn integer(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A decimal with a fraction, times `unit`, rounded down: `1.5` of 1000 is 1500. Nothing is lost to floating point.
pub(crate) fn decimal(text: &str, unit: u64) -> Option<u64> {
    let text = text.trim();
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    if fraction.is_empty() {
        return integer(whole)?.checked_mul(unit);
    }
    if !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let digits = &fraction[..fraction.len().min(18)];
    let part = u128::from(digits.parse::<u64>().ok()?) * u128::from(unit)
        / 10u128.pow(digits.len() as u32);
    whole.checked_mul(unit)?.checked_add(u64::try_from(part).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (text, unit, expected) in [
            ("0.000001850", 1_000_000_000, Some(1850)),
            ("1.5", 1000, Some(1500)),
            ("7", 100, Some(700)),
            (".25", 1000, Some(250)),
            ("0x10", 1, Some(16)),
            ("128166372016382155", 100, Some(12_816_637_201_638_215_500)),
            ("1e3", 1, None),
            ("-1", 1, None),
            ("", 1, None),
            (".", 1, None),
            ("18446744073709551615", 2, None),
        ] {
            assert_eq!(decimal(text, unit), expected, "{text}");
        }
    }
}
