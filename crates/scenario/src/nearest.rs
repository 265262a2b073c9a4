//! The word that was probably meant.

/// Candidates that are looked at, at most: help must not cost more than reading the file.
const CANDIDATES_MAX: usize = 1000;
/// Longer words than this are not compared.
const LENGTH_MAX: usize = 64;

/// The candidate nearest to `word`, when it is near enough to have been meant: about one slip in three characters.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    nearest_of(word, &mut candidates.into_iter())
}

fn nearest_of<'a>(word: &str, candidates: &mut dyn Iterator<Item = &'a str>) -> Option<&'a str> {
    let plain = plain(word);
    let length = plain.chars().count();
    if length == 0 || length > LENGTH_MAX {
        return None;
    }
    candidates
        .take(CANDIDATES_MAX)
        .filter(|c| c.len() <= LENGTH_MAX)
        .map(|c| (strsim::damerau_levenshtein(&plain, &self::plain(c)), c))
        .filter(|(distance, c)| *distance <= (length / 3).max(1) && *distance < length.max(c.len()))
        .min_by_key(|(distance, c)| {
            let c = self::plain(c);
            // A separator that was left out is no other word: `raid10` is `raid-10` rather than `raid-0`.
            let whole = |word: &str| word.replace('_', "");
            let same = whole(&plain) == whole(&c);
            (*distance, !same, !is_swapped(&plain, &c), std::cmp::Reverse(common(&plain, &c)))
        })
        .map(|(_, candidate)| candidate)
}

/// Whether two words have the same characters in another order: two swapped keys are the likeliest slip.
fn is_swapped(a: &str, b: &str) -> bool {
    let sorted = |word: &str| {
        let mut all: Vec<char> = word.chars().collect();
        all.sort_unstable();
        all
    };
    sorted(a) == sorted(b)
}

/// How many characters two words begin with alike: of two that are as near, the one is meant that begins as the word does.
fn common(a: &str, b: &str) -> usize {
    a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count()
}

/// "did you mean …?" for the nearest candidate, or the candidates themselves when they are few.
pub fn suggestion<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    suggestion_of(word, candidates.into_iter().take(CANDIDATES_MAX).collect())
}

fn suggestion_of(word: &str, candidates: Vec<&str>) -> Option<String> {
    const LISTED_MAX: usize = 16;
    if let Some(near) = nearest(word, candidates.iter().copied()) {
        return Some(format!("did you mean `{near}`?"));
    }
    let started: Vec<String> = match plain(word) {
        word if word.chars().count() < 3 => Vec::new(),
        word => {
            let started = candidates.iter().filter(|c| plain(c).starts_with(&word));
            started.map(|c| format!("`{c}`")).take(LISTED_MAX).collect()
        }
    };
    if !started.is_empty() {
        return Some(format!("did you mean {}?", join(&started, "or")));
    }
    let listed: Vec<String> =
        candidates.into_iter().take(LISTED_MAX + 1).map(|c| format!("`{c}`")).collect();
    match listed.len() {
        0 => None,
        1 => Some(format!("there is only {}", listed[0])),
        n if n <= LISTED_MAX => Some(format!("there are {}", join(&listed, "and"))),
        _ => Some(format!("there are {} and more", listed[..LISTED_MAX].join(", "))),
    }
}

/// `a, b and c`.
pub(crate) fn join(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [head @ .., tail] => format!("{} {last} {tail}", head.join(", ")),
    }
}

/// Case, `-` and `_` do not count as slips.
fn plain(word: &str) -> String {
    word.to_lowercase().replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_separator_that_was_left_out_is_no_other_word() {
        let levels = ["none", "raid-0", "raid-1", "raid-5", "raid-10", "raid-6"];
        for (word, meant) in [("raid10", "raid-10"), ("raid0", "raid-0"), ("raid1", "raid-1")] {
            assert_eq!(nearest(word, levels), Some(meant), "{word}");
        }
    }
}
