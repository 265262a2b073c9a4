//! Numbers as other programs print them: with a decimal comma, grouped, with a suffix.

/// Which mark stands before the fraction, and so which one only groups thousands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Decimal {
    /// Nothing in the file tells.
    #[default]
    Unknown,
    /// `1,234.5`
    Dot,
    /// `1.234,5`
    Comma,
}

/// What the numbers of a file tell of their marks, taken together: `12.5` beside `1,234` shows that the latter is no fraction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    dot: bool,
    comma: bool,
    /// A number that can be read both ways.
    open: bool,
}

impl Marks {
    /// Takes in a cell.
    pub fn see(&mut self, text: &str) {
        let digits =
            text.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic() || "%/ ".contains(c));
        if !digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b',' | b'-')) {
            return;
        }
        match (digits.rfind('.'), digits.rfind(',')) {
            (Some(dot), Some(comma)) if dot > comma => self.dot = true,
            (Some(_), Some(_)) => self.comma = true,
            (Some(at), None) => self.one(digits, at, '.'),
            (None, Some(at)) => self.one(digits, at, ','),
            (None, None) => {}
        }
    }

    fn one(&mut self, digits: &str, at: usize, mark: char) {
        let (before, behind) = (digits[..at].trim_start_matches('-'), &digits[at + 1..]);
        let several = digits.matches(mark).count() > 1;
        let groups =
            behind.len() == 3 && (1..=3).contains(&before.len()) && !before.starts_with('0');
        // Several marks group; one before other than three digits, or behind a zero, does not.
        match (several, groups) {
            (true, _) if mark == ',' => self.dot = true,
            (true, _) => self.comma = true,
            (false, true) => self.open |= mark == ',',
            (false, false) if mark == ',' => self.comma = true,
            (false, false) => self.dot = true,
        }
    }

    /// The mark of fractions, and whether numbers are left that can be read both ways.
    pub fn decimal(self) -> (Decimal, bool) {
        match (self.dot, self.comma) {
            (true, false) => (Decimal::Dot, false),
            (false, true) => (Decimal::Comma, false),
            _ => (Decimal::Unknown, self.open),
        }
    }
}

impl Decimal {
    /// A text without the marks that group.
    pub fn plain(self, text: &str) -> std::borrow::Cow<'_, str> {
        match self {
            Decimal::Dot if text.contains(',') => text.replace(',', "").into(),
            Decimal::Comma if text.contains(['.', ',']) => {
                text.replace('.', "").replace(',', ".").into()
            }
            _ => text.into(),
        }
    }
}

/// A number; `None` where the text is none. `6,90` is read as 6.9, `1,234.5` and `1.234,5` as 1234.5. Blank and `n/a` are
/// no numbers.
pub(super) fn number(text: &str) -> Option<f64> {
    let text = text.trim().trim_matches('"').trim();
    if text.is_empty() || !text.bytes().any(|b| b.is_ascii_digit()) {
        return None;
    }
    // Thousands are grouped by blanks that do not break in French, and by apostrophes in Switzerland.
    const GROUPS: [char; 4] = ['\u{a0}', '\u{202f}', '\'', '\u{2019}'];
    let grouped = text.contains(GROUPS).then(|| text.replace(GROUPS, ""));
    let text = grouped.as_deref().unwrap_or(text);
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
    fn marks_of_a_file_are_told_by_all_of_its_numbers() {
        let of = |cells: &[&str]| {
            let mut marks = Marks::default();
            cells.iter().for_each(|cell| marks.see(cell));
            marks.decimal()
        };
        assert_eq!(of(&["1,234", "12.5"]), (Decimal::Dot, false));
        assert_eq!(of(&["1.234", "33,5"]), (Decimal::Comma, false));
        assert_eq!(of(&["1,234,567"]), (Decimal::Dot, false));
        assert_eq!(of(&["0.125", "1,234"]), (Decimal::Dot, false));
        assert_eq!(of(&["1,234", "17"]), (Decimal::Unknown, true));
        assert_eq!(of(&["1.234", "17", "n/a", "3.42K"]), (Decimal::Dot, false));
        assert_eq!(number(&Decimal::Dot.plain("1,234")), Some(1234.0));
        assert_eq!(number(&Decimal::Comma.plain("1.234")), Some(1234.0));
        assert_eq!(number(&Decimal::Comma.plain("1.234,5")), Some(1234.5));
    }

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
            ("1\u{202f}234,5", Some(1234.5)),
            ("1'234.5", Some(1234.5)),
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
