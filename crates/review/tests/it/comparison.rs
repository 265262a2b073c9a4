//! Comparisons rendered: what is said, in which order, and that no word of a record becomes markup or steers a terminal.

use crate::support::{Sketch, Work};
use findings::comparison::{CompareOptions, Compared};
use findings::{Comparison, compare};
use review::{Style, comparison_html, comparison_json, comparison_markdown, comparison_text};

const PLAN: &str = "[scenario]\ntitle = \"Compared\"\n[[target]]\nname = \"t\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
     [workload.w]\nblock = \"8KiB\"\n[plan]\nworkload = \"w\"\non = \"t\"\nwarmup = \"0s\"\nmeasure = \"30s\"\n";

fn compared(ops: [u64; 2], title: &str, names: [&str; 2]) -> Comparison {
    compared_as("simulated", ops, title, names)
}

fn compared_as(made: &str, ops: [u64; 2], title: &str, names: [&str; 2]) -> Comparison {
    let runs = [0, 1].map(|side| {
        let ops = ops[side];
        let sketch = Sketch::of(PLAN)
            .title(title)
            .later(60 * side as u64)
            .fact("host", title, &ops.to_string())
            .fact("run", made, "yes");
        sketch.record(move |_, _| Work { ops, ..Work::default() })
    });
    let analyses = runs.each_ref().map(|(_, r)| findings::analyse(r).expect("it is analysed"));
    let both: Vec<_> = runs.iter().map(|(_, r)| r).zip(&analyses).collect();
    let names = names.map(str::to_owned).to_vec();
    let metrics = vec![Compared::Iops];
    compare(&both, &CompareOptions { names, metrics, ..CompareOptions::default() })
        .expect("it is compared")
}

const PLAIN: Style = Style { color: false, width: 100 };

#[test]
fn the_verdict_comes_first() {
    let names = ["before.wsr", "after.wsr"];
    for (ops, first) in [
        ([100, 100], "! Undecided: no difference was seen"),
        ([100, 110], "✔ B is better than A in 1 of 1"),
        ([100, 90], "✘ B is worse than A in 1 of 1"),
    ] {
        let comparison = compared(ops, "Compared", names);
        let text = comparison_text(&comparison, PLAIN);
        assert!(text.starts_with(first), "{text}");
        assert!(
            text.contains("A: before.wsr · Compared") && text.contains("B: after.wsr"),
            "{text}"
        );
        let markdown = comparison_markdown(&comparison);
        assert!(markdown.starts_with(&format!("### {first}")), "{markdown}");
        assert_eq!(comparison_json(&comparison)["against"][0]["run"], 1);
    }
}

#[test]
fn one_after_the_other_may_be_the_machine() {
    let comparison = compared_as("measured", [100, 110], "Compared", ["a", "b"]);
    let text = comparison_text(&comparison, PLAIN);
    assert!(
        text.starts_with("! B differs from A in 1 of 1 comparison, and so may the machine"),
        "{text}"
    );
    assert!(text.contains("--against") && text.contains("differs"), "{text}");
    let comparison = compared_as("measured", [100, 100], "Compared", ["a", "b"]);
    assert!(comparison_text(&comparison, PLAIN).starts_with("! Undecided"));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let comparison = compared([100, 110], &"long ".repeat(60), ["a", "b"]);
    for width in [60, 80, 100] {
        let text = comparison_text(&comparison, Style { color: false, width });
        let widest = text.lines().map(|l| l.chars().count()).max();
        assert!(widest <= Some(width), "{widest:?} of {width}\n{text}");
    }
}

#[test]
fn words_of_a_record_are_words() {
    let title = "</script><img src=x onerror=alert(1)> \u{1b}[31m\u{202e} | **bold** [x](y)";
    let comparison = compared([100, 110], title, ["<b>a</b>", "b\u{7}"]);
    let text = comparison_text(&comparison, PLAIN);
    assert!(
        !text.chars().any(|c| c.is_control() && c != '\n') && !text.contains('\u{202e}'),
        "{text}"
    );
    let markdown = comparison_markdown(&comparison);
    assert!(
        !markdown.contains("<img")
            && !markdown.contains("**bold**")
            && !markdown.contains("[x](y)")
    );
    let page = comparison_html(&comparison);
    assert!(!page.contains("<img") && !page.contains("<b>a</b>"));
    // The policy's two scripts and the data, and no more.
    assert_eq!(page.matches("</script>").count(), 3);
}

#[test]
fn the_page_holds_the_forest_and_the_series() {
    let page = comparison_html(&compared([100, 110], "Compared", ["a", "b"]));
    for id in ["forest-1-0", "series-1-0"] {
        assert!(page.contains(&format!("data-chart=\"{id}\"")), "{id}");
    }
}
