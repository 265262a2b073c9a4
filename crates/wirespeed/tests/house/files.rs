//! What holds for files of every kind: how long they are, and what they must not name.

use crate::{Breach, Source, caught, none, sources};

const LINES_MAX: usize = 800;

/// The project speaks of itself only: no path of the machine that it was written on, and no host of a registry, whose
/// name depends on how a machine is set up. (Written apart, so that this file does not break its own rule.)
const BANNED: [&str; 9] = [
    concat!("/wo", "rk/"),
    concat!("/ro", "ot/"),
    concat!("index.crates", ".io"),
    concat!("static.crates", ".io"),
    concat!("deb.deb", "ian.org"),
    concat!("py", "pi.org"),
    concat!("pythonhos", "ted.org"),
    concat!("registry.npm", "js"),
    concat!("proxy.gol", "ang"),
];

fn length(source: &Source) -> Option<Breach> {
    let lines = source.text.lines().count();
    let code = source.is_rust() || !source.path.contains('.');
    (code && lines > LINES_MAX).then(|| {
        source.breach(lines, format!("{lines} lines; split it at {LINES_MAX} at the latest"))
    })
}

fn words(source: &Source) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for (line, text) in (1..).zip(source.text.lines()) {
        for word in BANNED.iter().filter(|word| text.contains(**word)) {
            breaches
                .push(source.breach(line, format!("`{word}` belongs to one machine, not here")));
        }
    }
    breaches
}

fn line_ends(source: &Source) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let snapshot = source.path.ends_with(".snap");
    for (line, text) in (1..).zip(source.text.split('\n')) {
        if text.ends_with([' ', '\t', '\r']) && !snapshot {
            breaches.push(source.breach(line, "blanks at the end of the line"));
        }
    }
    if !source.text.is_empty() && !source.text.ends_with('\n') {
        breaches.push(source.breach(source.text.lines().count(), "no newline at the end"));
    }
    breaches
}

#[test]
fn files_are_short() {
    none(sources().iter().filter_map(length));
}

#[test]
fn a_long_file_is_caught() {
    let long = "//!\n".repeat(LINES_MAX + 1);
    caught(length(&Source::sample("crates/x/src/lib.rs", &long)), &["lib.rs:801: 801 lines"]);
    caught(length(&Source::sample("scripts/x", &long)), &["801 lines"]);
    caught(length(&Source::sample("docs/x.md", &long)), &[]);
    caught(length(&Source::sample("x.rs", &"//!\n".repeat(LINES_MAX))), &[]);
}

#[test]
fn nothing_names_one_machine() {
    none(sources().iter().flat_map(words));
}

#[test]
fn a_banned_word_is_caught() {
    for word in BANNED {
        let text = format!("fine\nhttps://{word}x\n");
        caught(words(&Source::sample("docs/x.md", &text)), &["docs/x.md:2: `"]);
    }
}

#[test]
fn lines_end_cleanly() {
    none(sources().iter().flat_map(line_ends));
}

#[test]
fn an_unclean_line_end_is_caught() {
    caught(line_ends(&Source::sample("x.md", "a \nb")), &["x.md:1: blanks", "x.md:2: no newline"]);
    caught(line_ends(&Source::sample("x.md", "a\n\nb\n")), &[]);
}

/// Words of peers and of files pass one filter before a terminal sees them, so the program writes in one place.
fn prints(source: &Source) -> Vec<Breach> {
    const WRITES: [&str; 6] =
        ["println!(", "print!(", "eprintln!(", "eprint!(", "stdout()", "stderr()"];
    let code = source.text.split("#[cfg(test)]").next().unwrap_or_default();
    let within = source.path.starts_with("crates/wirespeed/src/");
    if !within || source.path == "crates/wirespeed/src/out.rs" {
        return Vec::new();
    }
    let lines = (1..).zip(code.lines()).filter(|(_, text)| {
        // A guardian's protocol, and what only asks about a terminal.
        let fine = text.contains("interface::keep(") || text.contains("Term::stdout()");
        !fine && WRITES.iter().any(|word| text.contains(word))
    });
    lines.map(|(line, _)| source.breach(line, "print by `out`, which filters")).collect()
}

#[test]
fn all_that_is_printed_is_filtered() {
    none(sources().iter().flat_map(prints));
}

#[test]
fn a_print_past_the_filter_is_caught() {
    let text = "//!\nfn f() { eprintln!(\"x\") }\n";
    caught(prints(&Source::sample("crates/wirespeed/src/x.rs", text)), &["x.rs:2: print by `out`"]);
    caught(prints(&Source::sample("crates/review/src/x.rs", text)), &[]);
}
