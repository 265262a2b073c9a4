//! The order of names as people read them: `lun2` before `lun10`.

use std::cmp::Ordering;

/// Compares two names, numbers within them by their value.
pub(super) fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    loop {
        match (left.first(), right.first()) {
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let (m, n) = (number(&mut left), number(&mut right));
                // Longer numbers are larger, and numbers of one length compare as text.
                match m.len().cmp(&n.len()).then_with(|| m.cmp(n)) {
                    Ordering::Equal => {}
                    other => return other,
                }
            }
            (Some(x), Some(y)) if x == y => (left, right) = (&left[1..], &right[1..]),
            (Some(x), Some(y)) => return x.cmp(y),
            (x, y) => return x.is_some().cmp(&y.is_some()).then_with(|| a.cmp(b)),
        }
    }
}

/// The digits at the beginning, without leading zeros, which are taken away.
fn number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let end = text.iter().position(|c| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    let zeros = digits.iter().take_while(|c| **c == b'0').count();
    &digits[zeros..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count() {
        let mut names = ["lun10", "lun2", "lun", "lun02", "a9b10", "a9b9", "b", "lun2x"];
        names.sort_by(|a, b| compare(a, b));
        assert_eq!(names, ["a9b9", "a9b10", "b", "lun", "lun02", "lun2", "lun2x", "lun10"]);
    }
}
