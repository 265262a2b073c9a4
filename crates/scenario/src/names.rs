//! Names with ranges (`vm{1..8}`) and patterns (`ssd*`), and their bounds.

/// Names that one text may stand for, and all names of a scenario together, at most.
pub(crate) const NAMES_MAX: usize = 10_000;

/// Bytes of a name or reference, at most, and of a path.
const NAME_LENGTH_MAX: usize = 255;
const PATH_LENGTH_MAX: usize = 4096;
/// Ranges in one text, at most.
const RANGES_MAX: usize = 8;

/// A piece of a text with ranges.
enum NamePiece<'a> {
    Plain(&'a str),
    /// From, to (inclusive), and the digits to pad to: `{01..12}` keeps its zeros.
    Range(u32, u32, usize),
}

/// Whether a text is a well-formed name, ranges included.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err("the name is empty".to_owned());
    }
    for piece in pieces(text)? {
        let NamePiece::Plain(plain) = piece else { continue };
        let wrong = plain.chars().find(|c| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.')));
        if let Some(c) = wrong {
            let c = c.escape_debug();
            return Err(format!(
                "`{c}` cannot be part of a name; letters, digits, `-`, `_` and `.` can"
            ));
        }
    }
    expand(text).map(|_| ())
}

/// Whether a text contains a range.
pub(crate) fn has_range(text: &str) -> bool {
    pieces(text).is_ok_and(|p| p.iter().any(|p| matches!(p, NamePiece::Range(..))))
}

/// The paths that a text means. A path may hold braces of its own: only a well-formed range is one.
pub(crate) fn expand_path(text: &str) -> Result<Vec<String>, String> {
    if text.len() > PATH_LENGTH_MAX {
        return Err(format!("the path is longer than {PATH_LENGTH_MAX} bytes"));
    }
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let (before, after) = (&rest[..open], &rest[open + 1..]);
        match after.find('}').and_then(|close| Some((range(&after[..close]).ok()?, close))) {
            Some((range, close)) => {
                found.extend([NamePiece::Plain(before), range]);
                rest = &after[close + 1..];
            }
            None => {
                found.push(NamePiece::Plain(&rest[..=open]));
                rest = after;
            }
        }
    }
    found.push(NamePiece::Plain(rest));
    product(found)
}

/// The names that a text means: one, or with several ranges their product, the first varying slowest.
pub(crate) fn expand(text: &str) -> Result<Vec<String>, String> {
    product(pieces(text)?)
}

fn product(pieces: Vec<NamePiece<'_>>) -> Result<Vec<String>, String> {
    if pieces.iter().filter(|p| matches!(p, NamePiece::Range(..))).count() > RANGES_MAX {
        return Err(format!("there are more than {RANGES_MAX} ranges"));
    }
    let mut names = vec![String::new()];
    for piece in pieces {
        match piece {
            NamePiece::Plain(plain) => names.iter_mut().for_each(|n| n.push_str(plain)),
            NamePiece::Range(from, to, width) => {
                let length = (to - from) as usize + 1;
                if length.saturating_mul(names.len()) > NAMES_MAX {
                    return Err(format!("the range makes more than {NAMES_MAX} names"));
                }
                let numbers: Vec<String> = (from..=to).map(|n| format!("{n:0width$}")).collect();
                names = names
                    .iter()
                    .flat_map(|name| numbers.iter().map(move |n| format!("{name}{n}")))
                    .collect();
            }
        }
    }
    Ok(names)
}

fn pieces(text: &str) -> Result<Vec<NamePiece<'_>>, String> {
    if text.len() > NAME_LENGTH_MAX {
        return Err(format!("the name is longer than {NAME_LENGTH_MAX} bytes"));
    }
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let after = &rest[open + 1..];
        let Some(close) = after.find('}') else {
            return Err("a `{` without `}`; a range is written `{1..8}`".to_owned());
        };
        pieces.push(NamePiece::Plain(&rest[..open]));
        pieces.push(range(&after[..close])?);
        rest = &after[close + 1..];
    }
    if rest.contains('}') {
        return Err("a `}` without `{`; a range is written `{1..8}`".to_owned());
    }
    pieces.push(NamePiece::Plain(rest));
    Ok(pieces)
}

fn range(inner: &str) -> Result<NamePiece<'_>, String> {
    let shown = crate::tree::clip(inner);
    let number = |digits: &str| {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| plain && digits.len() <= 9)
    };
    let ends = inner.split_once("..").and_then(|(a, b)| Some((a, number(a)?, number(b)?)));
    match ends {
        None => Err(format!("`{{{shown}}}` is not a range; a range is written `{{1..8}}`")),
        Some((_, from, to)) if from > to => {
            Err(format!("the range `{{{shown}}}` counts down; write `{{{to}..{from}}}`"))
        }
        Some((digits, from, to)) => {
            let width = if digits.starts_with('0') { digits.len() } else { 0 };
            Ok(NamePiece::Range(from, to, width))
        }
    }
}

/// Whether `name` matches `pattern`, in which `*` matches any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(found) => rest = &rest[found + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_expand() {
        #[track_caller]
        fn check(text: &str, expected: &[&str]) {
            assert_eq!(expand(text).expect("well-formed"), expected);
        }
        check("vm", &["vm"]);
        check("vm{1..3}", &["vm1", "vm2", "vm3"]);
        check("vm{7..7}", &["vm7"]);
        check("{0..1}-{0..1}", &["0-0", "0-1", "1-0", "1-1"]);
        check("d{08..11}", &["d08", "d09", "d10", "d11"]);
        check("a{1..2}b", &["a1b", "a2b"]);
        assert_eq!(expand("vm{1..10000}").map(|names| names.len()), Ok(NAMES_MAX));
    }

    #[test]
    fn what_is_not_a_range_is_refused() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let problem = expand(text).expect_err("not well-formed");
            assert!(problem.contains(expected), "{problem}");
        }
        check("vm{1..10001}", "more than 10000 names");
        check("vm{1..99999999999}", "is not a range");
        check("vm{1...3}", "is not a range");
        check("vm{a..c}", "is not a range");
        check("vm{+1..3}", "is not a range");
        check("vm{}", "is not a range");
        check("vm{3..1}", "counts down");
        check("vm{1..3", "without `}`");
        check("vm1..3}", "without `{`");
        check(&"{1..2}".repeat(9), "more than 8 ranges");
        check(&"x".repeat(256), "longer than 255 bytes");
    }

    #[test]
    fn a_path_keeps_its_own_braces() {
        #[track_caller]
        fn check(text: &str, expected: &[&str]) {
            assert_eq!(expand_path(text).expect("well-formed"), expected);
        }
        check("/a/{b}/c{1..2}", &["/a/{b}/c1", "/a/{b}/c2"]);
        check("{{1..2}}", &["{1}", "{2}"]);
        check("{", &["{"]);
        check("}{", &["}{"]);
    }

    #[test]
    fn patterns_match() {
        #[track_caller]
        fn check(pattern: &str, name: &str, expected: bool) {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
        check("*", "", true);
        check("vm*", "vm12", true);
        check("vm*", "v", false);
        check("*1", "vm11", true);
        check("vm*1*", "vm213", true);
        check("vm*1*2", "vm12", true);
        check("vm*1*1", "vm1", false);
        check("vm", "vm1", false);
        check("**", "x", true);
        check("ü*ß", "übergröß", true);
    }
}
