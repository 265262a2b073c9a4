//! Numbers as other programs print them: with a decimal comma, grouped, with a suffix.

/// A number; `None` where the text is none. `6,90` is read as 6.9, `1,234.5` and `1.234,5` as 1234.5. Blank and `n/a` are
/// no numbers.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim().trim_matches('"').trim();
    if text.is_empty() || !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    let value = match (text.rfind(','), text.rfind('.')) {
        (None, _) => text.parse().ok(),
        (Some(comma), Some(dot)) if comma > dot => {
            text.replace('.', "").replacen(',', ".", 1).parse().ok()
        }
        (Some(_), Some(_)) => text.replace(',', "").parse().ok(),
        (Some(_), None) if text.matches(',').count() > 1 => text.replace(',', "").parse().ok(),
        (Some(_), None) => text.replacen(',', ".", 1).parse().ok(),
    };
    value.filter(|v: &f64| v.is_finite())
}

/// A number with a suffix of thousands, such as `302.2k` or `1.7G`, by which its digits are multiplied.
pub(super) fn scaled(text: &str, thousand: f64) -> Option<f64> {
    let text = text.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (digits, suffix) = text.split_at(split);
    let power = match suffix.chars().next().map(|c| c.to_ascii_lowercase()) {
        None | Some('b') => 0,
        Some('k') => 1,
        Some('m') => 2,
        Some('g') => 3,
        Some('t') => 4,
        Some(_) => return None,
    };
    Some(number(digits)? * thousand.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_any_locale() {
        for (text, expected) in [
            ("6.90", Some(6.9)),
            ("6,90", Some(6.9)),
            ("1,234.5", Some(1234.5)),
            ("1.234,5", Some(1234.5)),
            ("1,234,567", Some(1_234_567.0)),
            (" \"0\" ", Some(0.0)),
            ("1e3", Some(1000.0)),
            ("-1", Some(-1.0)),
            ("n/a", None),
            ("NaN", None),
            ("inf", None),
            ("", None),
            ("12x", None),
        ] {
            assert_eq!(number(text), expected, "{text}");
        }
        assert_eq!(scaled("302.2k", 1000.0), Some(302_200.0));
        assert_eq!(scaled("1.7G", 1024.0), Some(1.7 * 1024.0 * 1024.0 * 1024.0));
        assert_eq!(scaled("0", 1000.0), Some(0.0));
        assert_eq!(scaled("1.7x", 1000.0), None);
    }
}
