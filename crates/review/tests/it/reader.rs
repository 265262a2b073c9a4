//! Three tasks of a reader who has only the page: the answer to the title, what limits, and what to be careful about. Each
//! is found among what the first screen shows, by what its texts say.

use crate::support::readers::{self, Reader};
use findings::evidence;
use record::Record;

/// What the first screen of a page says, without what is folded away: from the question to the last warning.
fn first_screen(record: &Record) -> String {
    let analysis = findings::analyse(record).expect("the record is analysed");
    let evidence = evidence(record, &analysis).expect("the evidence is gathered");
    let page = review::html(&analysis, &evidence, &record.head().scenario);
    let (_, page) = page.split_once("<header class=\"question\"").expect("a question");
    let end = ["<section id=\"map\"", "<section id=\"charts-section\"", "<section id=\"steps\""];
    let end = end.iter().filter_map(|mark| page.find(mark)).min().expect("what comes next");
    let mut shown = String::new();
    for part in page[..end].split("<details") {
        shown.push_str(part.split_once("</details>").map_or(part, |(_, rest)| rest));
    }
    plain(&shown)
}

/// A page's words, without tags.
fn plain(html: &str) -> String {
    let words = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    words.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The tasks: each text is on the first screen, the answer before the limit. Returns what that shows.
#[track_caller]
fn check(of: &Reader) -> String {
    let shown = first_screen(&of.record.1);
    let place = |what: &str, text: &str| {
        shown.find(text).unwrap_or_else(|| panic!("the {what} {text:?} is not in: {shown}"))
    };
    assert!(place("answer", of.answer) < place("limit", of.limit), "{shown}");
    place("caution", of.caution);
    shown
}

#[test]
fn the_demo() {
    let shown = check(&readers::the_demo());
    assert!(shown.contains("the host's CPU (host.cpu"), "{shown}");
}

#[test]
fn lab_2() {
    let shown = check(&readers::lab_2());
    assert!(shown.contains(", 4Gb 4") && shown.contains(": 2.0"), "{shown}");
    assert!(!shown.contains("path imbalance"), "a planned fault is none: {shown}");
    assert!(shown.contains("esx.hba8:0 failed at 1 s"), "{shown}");
}

#[test]
fn lab_3() {
    check(&readers::lab_3());
}

#[test]
fn lab_5() {
    let shown = check(&readers::lab_5());
    assert!(shown.contains("in small blocks"), "{shown}");
}

/// Nine plans are a sentence and a table of a line each, in a terminal and in a ticket.
#[test]
fn many_plans_are_a_sentence_and_a_table() {
    let analysis = findings::analyse(&readers::lab_5().record.1).expect("the record is analysed");
    let text = review::terminal(&analysis, review::Style { color: false, width: 80 });
    let (_, found) = text.split_once("Findings\n").expect("findings");
    let lines: Vec<&str> = found.lines().collect();
    let table = lines.iter().position(|line| line.starts_with("      plan")).expect("a table");
    assert!(lines[0].starts_with("  • vm-both carries the most, 656 MB/s"), "{text}");
    assert!(table <= 3, "a short sentence: {text}");
    assert!(lines[table].ends_with("limited by"), "{text}");
    let rows = &lines[table + 1..table + 10];
    let names: Vec<_> = rows.iter().filter_map(|row| row.split_whitespace().next()).collect();
    let plans = [
        "stream",
        "exports",
        "image",
        "team",
        "random-iscsi",
        "random-fc",
        "vm-reads",
        "vm-both",
        "mail",
    ];
    assert_eq!(names, plans, "{text}");
    assert!(rows[7].contains("656 MB/s") && rows[0].contains("mtu 1500"), "{text}");
    assert!(lines[table + 10].starts_with("  • "), "{text}");
    let ticket = review::markdown(&analysis);
    assert!(ticket.contains("\n\n  | plan | at its best | at | limited by |\n  | --- | --: | --- | --- |\n  | stream |"), "{ticket}");
}

#[test]
fn lab_4() {
    check(&readers::lab_4());
}

#[test]
fn a_failed_over_run() {
    let shown = check(&readers::a_failed_over_run());
    assert!(shown.contains("Before 197 MB/s, p99"), "{shown}");
    assert!(shown.contains("No I/O failed"), "{shown}");
    assert!(!shown.contains("path imbalance") && !shown.contains("35867"), "{shown}");
}
