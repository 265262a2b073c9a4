//! Lists of values and of names, written out.

use super::{Parameter, TESTS_MAX, size};

/// The values of a loop: a list, `(1-64,d)` which doubles, or `(10-100,10)` in steps.
pub(super) fn listed(parameter: &Parameter) -> Vec<String> {
    if let [range, step] = &parameter.values[..]
        && let Some((from, to)) = range.split_once('-')
        && let (Some(from), Some(to)) = (size(from), size(to))
    {
        let double = step.eq_ignore_ascii_case("d");
        let by = size(step).unwrap_or(0);
        let mut values = Vec::new();
        let mut value = from;
        while value <= to && value > 0 && values.len() <= TESTS_MAX && (double || by > 0) {
            values.push(value.to_string());
            value = if double { value.saturating_mul(2) } else { value.saturating_add(by) };
        }
        if !values.is_empty() {
            return values;
        }
    }
    parameter.values.clone()
}

/// `sd1-5`, `sd1-sd5`: those of the known names.
pub(super) fn ranged(value: &str, known: &[String]) -> Vec<String> {
    let Some((from, to)) = value.split_once('-') else { return Vec::new() };
    let stem = from.trim_end_matches(|c: char| c.is_ascii_digit());
    let number = |text: &str| {
        text.strip_prefix(stem)
            .unwrap_or(text)
            .parse::<u64>()
            .ok()
            .filter(|number| *number < 100_000)
    };
    let (Some(first), Some(last)) = (number(from), number(to)) else { return Vec::new() };
    (first..=last.min(first + 2000))
        .map(|n| format!("{stem}{n}"))
        .filter(|name| known.contains(name))
        .collect()
}
