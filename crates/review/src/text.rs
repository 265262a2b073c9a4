//! Text for a terminal: measured by the columns that it takes, cut with an ellipsis, wrapped at blanks, and cleaned of
//! what could steer the terminal. A record may come from anywhere, so every word of it passes through [`clean`].

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Longer words of a record are cut before anything is measured.
const CHARS_MAX: usize = 1000;

/// A word of a record with everything escaped that is not plain printing: control characters (ESC among them), the marks
/// that turn the direction of writing, and invisible ones that could make two names look alike.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(CHARS_MAX));
    for c in text.chars().take(CHARS_MAX) {
        match c.is_control() || is_deceptive(c) {
            true => escape(c, &mut out),
            false => out.push(c),
        }
    }
    if text.chars().nth(CHARS_MAX).is_some() {
        out.push('…');
    }
    out
}

/// The same for a text of many lines, whatever their length: line ends and tabs stay.
pub(crate) fn clean_lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_deceptive(c) => escape(c, &mut out),
            c => out.push(c),
        }
    }
    out
}

/// The last filter before a terminal, of a page that we coloured: line ends, tabs and those colours pass, and everything else
/// that is not plain printing becomes `\uXXXX`, which means the same in JSON; beyond U+FFFF it is a pair of these.
pub fn printable(text: &str) -> String {
    filtered(text, true)
}

/// The same of a text without colours of ours: others' must not look like our word.
pub fn plain(text: &str) -> String {
    filtered(text, false)
}

fn filtered(text: &str, colours: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = if colours { colour(rest) } else { 0 };
        if colour > 0 || rest.starts_with("\r\n") {
            let len = colour.max(2);
            out.push_str(&rest[..len]);
            rest = &rest[len..];
            continue;
        }
        match c {
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_deceptive(c) => escape(c, &mut out),
            c => out.push(c),
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// A character as `\uXXXX`; beyond U+FFFF as a pair of these, as in JSON.
fn escape(c: char, out: &mut String) {
    for unit in c.encode_utf16(&mut [0; 2]) {
        out.push_str(&format!("\\u{unit:04x}"));
    }
}

/// Bytes of the sequence at the start of a text that sets a colour or a weight, and hides nothing: `ESC [ … m`.
fn colour(text: &str) -> usize {
    let Some(parameters) = text.strip_prefix("\u{1b}[") else { return 0 };
    let Some(end) = parameters.find('m').filter(|end| *end <= 16) else { return 0 };
    let shows = |number: &str| {
        number.is_empty()
            || number.parse().is_ok_and(|n: u8| matches!(n, 0..=4 | 22..=24 | 30..=39 | 90..=97))
    };
    let numbers: Vec<&str> = parameters[..end].split(';').collect();
    // 38;5;N names one of 256 colours.
    let of_256 = matches!(numbers[..], ["38", "5", n] if n.parse::<u8>().is_ok());
    let plain = numbers.iter().all(|number| shows(number) && *number != "38");
    if of_256 || plain { 2 + end + 1 } else { 0 }
}

/// Bidirectional marks, zero-width characters, line and paragraph separators, interlinear and tag characters.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}' | '\u{E0000}'..='\u{E007F}')
}

/// Columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// A text in at most `columns` columns, cut with an ellipsis.
pub(crate) fn fit(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut used = 0;
    for c in text.chars() {
        let w = c.width().unwrap_or(0);
        if used + w + 1 > columns {
            break;
        }
        used += w;
        out.push(c);
    }
    if columns > 0 {
        out.push('…');
    }
    out
}

/// Where a text stands in its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// A text in exactly `columns` columns.
pub(crate) fn pad(text: &str, columns: usize, align: Align) -> String {
    let text = fit(text, columns);
    let blanks = " ".repeat(columns.saturating_sub(width(&text)));
    match align {
        Align::Left => text + &blanks,
        Align::Right => blanks + &text,
    }
}

/// Breaks a text at blanks into lines of at most `columns` columns; longer words are cut into pieces.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(1);
    let mut lines = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() && width(&line) + 1 + width(word) > columns {
            lines.push(std::mem::take(&mut line));
        }
        if !line.is_empty() {
            line.push(' ');
        }
        for c in word.chars() {
            if width(&line) + c.width().unwrap_or(0) > columns && !line.is_empty() {
                lines.push(std::mem::take(&mut line));
            }
            line.push(c);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_steer_a_terminal_is_escaped() {
        let cases = [
            ("plain ünïcode 漢字", "plain ünïcode 漢字"),
            ("\u{1b}[31m", "\\u001b[31m"),
            ("a\r\n\tb", "a\\u000d\\u000a\\u0009b"),
            ("\u{9b}2J", "\\u009b2J"),
            ("\u{202e}cod.exe", "\\u202ecod.exe"),
            ("v\u{200b}m", "v\\u200bm"),
            ("\u{e0041}", "\\udb40\\udc41"),
        ];
        for (text, expected) in cases {
            assert_eq!(clean(text), expected);
        }
        assert_eq!(clean(&"x".repeat(5000)).chars().count(), CHARS_MAX + 1);
    }

    #[test]
    fn the_last_filter_lets_colours_pass_and_nothing_that_steers() {
        for (text, expected) in [
            ("a\n\tb\r\n", "a\n\tb\r\n"),
            (
                "\u{1b}[1;32mok\u{1b}[0m \u{1b}[38;5;9mx\u{1b}[m",
                "\u{1b}[1;32mok\u{1b}[0m \u{1b}[38;5;9mx\u{1b}[m",
            ),
            ("a\rb", "a\\u000db"),
            // Hidden, reversed, moved, titled, cleared; and the eight-bit introducer.
            ("\u{1b}[8mx", "\\u001b[8mx"),
            ("\u{1b}[0;7mx", "\\u001b[0;7mx"),
            ("\u{1b}[38mx", "\\u001b[38mx"),
            ("\u{1b}[2J\u{1b}]0;x\u{7}", "\\u001b[2J\\u001b]0;x\\u0007"),
            ("\u{9b}2J", "\\u009b2J"),
            ("\u{202e}x\u{e0041}", "\\u202ex\\udb40\\udc41"),
            ("\u{1b}", "\\u001b"),
            ("\u{1b}[", "\\u001b["),
            ("ü漢", "ü漢"),
        ] {
            assert_eq!(printable(text), expected, "{text:?}");
            assert_eq!(plain(text), expected.replace('\u{1b}', "\\u001b"), "{text:?}");
        }
    }

    #[test]
    fn lines_stay_lines() {
        let long = "x".repeat(5000);
        let text = format!("[scenario]\n\ttitle = \"\u{202e}\u{7}\"\r\n{long}");
        let expected = format!("[scenario]\n\ttitle = \"\\u202e\\u0007\"\\u000d\n{long}");
        assert_eq!(clean_lines(&text), expected);
    }

    #[test]
    fn texts_take_their_columns_and_no_more() {
        for (text, columns, expected) in [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("漢字漢字", 5, "漢字…"),
            ("漢", 1, "…"),
            ("x", 0, ""),
        ] {
            assert_eq!(fit(text, columns), expected);
        }
        assert_eq!(pad("漢", 4, Align::Right), "  漢");
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("unbreakable", 4), ["unbr", "eaka", "ble"]);
        assert_eq!(wrap("", 4), [""; 0]);
    }
}
