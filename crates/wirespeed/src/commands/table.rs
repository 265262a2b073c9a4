//! What the commands that explain figures print them with: columns as wide as their widest cell, and texts that are
//! broken at the width of the page.

use std::fmt::Write;

/// Columns of a page where there is no terminal.
pub const WIDTH: usize = 96;

/// Rows of which all columns but the last are as wide as they need to be; the last is broken to the width of the page and
/// goes on below itself. `right` names columns that are set to the right.
pub fn rows(rows: &[Vec<String>], right: &[usize], width: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widest = |n: usize| {
        rows.iter().filter_map(|row| row.get(n)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns.saturating_sub(1)).map(widest).collect();
    let mut out = String::new();
    for row in rows {
        let mut head = String::new();
        for (n, (cell, wide)) in row.iter().zip(&widths).enumerate() {
            let _infallible = match right.contains(&n) {
                true => write!(head, "{cell:>wide$}  "),
                false => write!(head, "{cell:wide$}  "),
            };
        }
        let indent = head.chars().count();
        let last = row.get(widths.len()).map_or("", String::as_str);
        for (n, line) in wrapped(last, width.saturating_sub(indent).max(24)).iter().enumerate() {
            let lead = if n == 0 { head.clone() } else { " ".repeat(indent) };
            out.push_str(format!("{lead}{line}").trim_end());
            out.push('\n');
        }
    }
    out
}

/// A text in lines of at most so many characters; a longer word has a line of its own.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other_and_the_last_is_broken() {
        let row = |cells: [&str; 3]| cells.map(str::to_owned).to_vec();
        let table = [row(["a", "1", "ü and some more words of it"]), row(["long", "22", "x"])];
        let expected = "a      1  ü and some more words of\n          it\nlong  22  x\n";
        assert_eq!(rows(&table, &[1], 34), expected);
        assert_eq!(rows(&[], &[], 34), "");
    }

    #[test]
    fn words_are_kept_whole() {
        for (text, width, expected) in [
            ("a bc d", 4, vec!["a bc", "d"]),
            ("abcdef g", 3, vec!["abcdef", "g"]),
            ("", 3, vec![""]),
            ("é é é", 3, vec!["é é", "é"]),
        ] {
            assert_eq!(wrapped(text, width), expected, "{text}");
        }
    }
}
