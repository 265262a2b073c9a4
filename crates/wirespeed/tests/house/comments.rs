//! What holds for comments: no promises without an owner, and no code that was put to sleep instead of deleted.

use crate::{Breach, Source, caught, none, rust_sources};

/// Written apart, so that this file does not break its own rule.
const MARKERS: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("HA", "CK")];

fn markers(source: &Source) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (line, text) in (1..).zip(source.text.lines()) {
        let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        if let Some(word) = words.find(|word| MARKERS.contains(word)) {
            breaches.push(source.breach(line, format!("`{word}`: do it, or file it as an issue")));
        }
    }
    breaches
}

/// Blocks of whole-line comments that the compiler would accept as code.
fn sleeping_code(source: &Source) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let mut block: Vec<(usize, &str)> = Vec::new();
    for (line, text) in (1..).zip(source.text.lines().chain([""])) {
        if let Some(comment) = plain_comment(text) {
            block.push((line, comment));
            continue;
        }
        let whole = block.iter().map(|(_, text)| *text).collect::<Vec<_>>().join("\n");
        let asleep = match block.first() {
            Some((line, _)) if is_code(&whole) => Some(*line),
            _ => block.iter().find(|(_, text)| is_code(text)).map(|(line, _)| *line),
        };
        breaches.extend(asleep.map(|line| source.breach(line, "code in a comment: delete it")));
        block.clear();
    }
    breaches
}

/// The text of a line that is nothing but a `//` comment; documentation is none.
fn plain_comment(line: &str) -> Option<&str> {
    let text = line.trim_start().strip_prefix("//")?;
    (!text.starts_with(['/', '!'])).then(|| text.trim())
}

/// Prose hardly ever ends in `;` or `}`, and where it does it does not parse.
fn is_code(text: &str) -> bool {
    let looks = text.ends_with([';', '}']) && text.contains(['(', '=', ':', '{']);
    looks && syn::parse_file(&format!("fn f() {{ {text} }}")).is_ok()
}

#[test]
fn comments_promise_nothing() {
    none(rust_sources().flat_map(markers));
}

#[test]
fn a_promise_is_caught() {
    for marker in MARKERS {
        let text = format!("//! X.\nfn f() {{}} // {marker}: later\n");
        caught(markers(&Source::sample("x.rs", &text)), &["x.rs:2: `"]);
    }
    caught(markers(&Source::sample("x.rs", "const HACKED_XXXL: u8 = 1;\n")), &[]);
}

#[test]
fn no_code_sleeps_in_comments() {
    none(rust_sources().flat_map(sleeping_code));
}

#[test]
fn sleeping_code_is_caught() {
    let check = |text: &str, expected: &[&str]| {
        caught(sleeping_code(&Source::sample("x.rs", text)), expected);
    };
    check("let a = 1;\n// let b = f(a);\n", &["x.rs:2: code in a comment"]);
    check("// fn gone() {\n//     work();\n// }\n", &["x.rs:1: code"]);
    check("// The old way:\n// self.count += 1;\n", &["x.rs:2: code"]);
    check("    // use std::fmt;\n", &["x.rs:1: code"]);
    check("// Why: a stalled second is a zero, not a hole;\n// it is recorded (as one).\n", &[]);
    check("/// let example = f();\n//! let example = f();\n", &[]);
    check("// f(n) = n / 2 holds for every n.\n", &[]);
}
