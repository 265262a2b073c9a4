//! Names with ranges (`vm{1..8}`) and patterns (`ssd*`), and their bounds.

/// Names that one text may stand for, and all names of a scenario together, at most.
pub(crate) const NAMES_MAX: usize = 10_000;

/// A piece of a text with ranges.
enum Piece<'a> {
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
        let Piece::Plain(plain) = piece else { continue };
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
    pieces(text).is_ok_and(|p| p.iter().any(|p| matches!(p, Piece::Range(..))))
}

/// The names that a text stands for: one, or with several ranges their product, the first varying slowest.
pub(crate) fn expand(text: &str) -> Result<Vec<String>, String> {
    let mut names = vec![String::new()];
    for piece in pieces(text)? {
        match piece {
            Piece::Plain(plain) => names.iter_mut().for_each(|n| n.push_str(plain)),
            Piece::Range(from, to, width) => {
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

fn pieces(text: &str) -> Result<Vec<Piece<'_>>, String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let after = &rest[open + 1..];
        let Some(close) = after.find('}') else {
            return Err("a `{` without `}`; a range is written `{1..8}`".to_owned());
        };
        pieces.push(Piece::Plain(&rest[..open]));
        pieces.push(range(&after[..close])?);
        rest = &after[close + 1..];
    }
    if rest.contains('}') {
        return Err("a `}` without `{`; a range is written `{1..8}`".to_owned());
    }
    pieces.push(Piece::Plain(rest));
    Ok(pieces)
}

fn range(inner: &str) -> Result<Piece<'_>, String> {
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
            Ok(Piece::Range(from, to, width))
        }
    }
}

/// Whether `name` matches `pattern`, in which `*` stands for any text.
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
