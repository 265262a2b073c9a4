//! Text within XML, for the formats that are written as XML.

/// Text as XML 1.0 allows it, in attributes and between tags: line ends become blanks, and signs that XML has no form
/// for are left out.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\n' | '\t' | '\r' => out.push(' '),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn no_text_leaves_its_place() {
        assert_eq!(
            escaped("a\"><x>&'\u{0}\u{1b}\nb\u{ffff}é"),
            "a&quot;&gt;&lt;x&gt;&amp;&apos; bé"
        );
    }
}
