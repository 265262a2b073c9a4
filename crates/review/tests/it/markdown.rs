//! Markdown reviews of records written by hand: short, and safe whatever the record's words are.

use crate::support::{Sketch, Work};
use record::{Level, Status};
use review::markdown;
use scenario::Step;

const SWEEP: &str = r#"
scenario = { title = "Will it carry the mail?", source = "A lab, 2010" }
target = [{ name = "data", file = "data.bin", create = "1GiB" }]
workload.load = { block = "4KiB", read = 67, random = 100 }
plan = { workload = "load", on = "data", measure = "5s", sweep = { depth = [1, 2, 4, 8] } }
goal = [
  { name = "fast enough", latency = { point = "p99", at_most = "2ms" } },
  { step = { depth = 8 }, iops = { at_least = "2k IOPS" } },
]
claim = [{ step = { depth = 8 }, iops = ["2000 IOPS", "3000 IOPS"], relation = "about", kind = "held-out" }]
[[project]]
profile = "exchange-2003-heavy"
limit = "2ms"
count = 1200
[[project]]
profile = "backup"
"#;

/// 1 ms a piece until 2,000 a second are reached.
fn saturating(step: &Step, _: &str) -> Work {
    let depth: u64 =
        step.settings.iter().find(|s| s.0 == "depth").map_or(1, |s| s.1.parse().unwrap());
    let ops = (depth * 1000).min(2000 + depth * 10);
    Work {
        ops,
        block: 4096,
        read: 67,
        service_ns: depth as f64 / ops as f64 * 1e9,
        ..Work::default()
    }
}

#[test]
fn a_review_for_a_ticket() {
    let analysis = Sketch::of(SWEEP).fact("run", "version", "0.1.0").analyse(saturating);
    insta::assert_snapshot!(markdown(&analysis));
}

#[test]
fn many_steps_are_counted() {
    let text = SWEEP.replace(
        "measure = \"5s\", sweep = { depth = [1, 2, 4, 8] }",
        "repeat = 20, measure = \"1s\"",
    );
    let text = text.replace("step = { depth = 8 }, ", "");
    let analysis = Sketch::of(&text).analyse(|_, _| Work { ops: 100, ..Work::default() });
    let text = markdown(&analysis);
    assert!(text.contains("… and 8 more steps in the review."), "{text}");
    assert!(text.len() < 8000, "{} bytes are not short", text.len());
}

#[test]
fn a_run_that_broke_off_says_so_first() {
    let analysis = Sketch::of(SWEEP).status(Status::Running).steps(1).analyse(saturating);
    let text = markdown(&analysis);
    let verdict = text.lines().nth(2).unwrap_or_default();
    assert!(verdict.starts_with("**❌ Incomplete: the run did not end properly"), "{text}");
}

/// Names, titles and events of a record that would like to be markup.
#[test]
fn no_word_of_a_record_formats_the_page() {
    const EVIL: &str = "</sub><script>alert(1)</script>|`x`|**b**\n# h\n[l](http://e.x)";
    let one = SWEEP.replace("depth = [1, 2, 4, 8]", "depth = [8]");
    let analysis = Sketch::of(&one)
        .title(EVIL)
        .rename("data", EVIL)
        .fact("run", "version", EVIL)
        .event(Level::Warning, "odd", EVIL)
        .analyse(saturating);
    let text = markdown(&analysis);
    assert!(text.contains("script"), "the words themselves are told: {text}");
    let ours = ["<sub>", "</sub>"];
    for (at, _) in text.match_indices('<') {
        assert!(ours.iter().any(|tag| text[at..].starts_with(tag)), "{}", &text[at..]);
    }
    assert_eq!(text.matches("</sub>").count(), 1, "{text}");
    assert!(!text.contains("**b**") && !text.contains("](http://"), "{text}");
    // A heading or a rule of a table only where this program put one.
    for line in text.lines().filter(|line| line.starts_with('|')) {
        let bare = line.replace("\\|", "").matches('|').count();
        assert!((5..=8).contains(&bare), "{line}");
    }
    assert!(!text.lines().any(|line| line == "# h"), "{text}");
}
