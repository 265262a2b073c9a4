//! A comparison in Markdown, short enough for a pull request or a ticket.

use super::words::{self, MetricRow};
use findings::Comparison;
use findings::comparison::{Against, StepPair};

/// Steps whose tables are shown, those that changed first.
const STEPS_MAX: usize = 12;
/// Facts and steps without a partner that are listed.
const LISTED_MAX: usize = 12;

/// A comparison in Markdown (tables as in GitHub's dialect). Words of a record cannot become markup.
pub fn markdown(comparison: &Comparison) -> String {
    let mut out = String::new();
    for against in &comparison.against {
        one(&mut out, comparison, against);
    }
    out
}

fn one(out: &mut String, comparison: &Comparison, against: &Against) {
    let verdict = words::verdict(comparison, against);
    out.push_str(&format!("### {} {}\n\n", verdict.tone.mark(), escaped(&verdict.text)));
    for party in words::parties(comparison, against) {
        out.push_str(&format!("- {}\n", escaped(&party)));
    }
    out.push('\n');
    for caution in words::cautions(against) {
        let next =
            if caution.next.is_empty() { String::new() } else { format!(" {}", caution.next) };
        out.push_str(&format!(
            "> {} {}\n>\n",
            caution.tone.mark(),
            escaped(&(caution.text + &next))
        ));
    }
    out.push('\n');
    let mut steps: Vec<&StepPair> = against.steps.iter().collect();
    // Stable: steps of one kind stay in their order.
    steps.sort_by_key(|s| {
        !s.metrics.iter().any(|m| m.p_adjusted.is_some_and(|p| p < comparison.alpha))
    });
    for step in steps.iter().take(STEPS_MAX) {
        write_step(out, comparison, against, step);
    }
    if steps.len() > STEPS_MAX {
        out.push_str(&format!("and {} more steps\n\n", steps.len() - STEPS_MAX));
    }
    list(out, "Steps without partner", against.unpaired.iter().map(words::unpaired).collect());
    let differing = |d| {
        let [what, a, b] = words::differing(d);
        format!("{what}: {a} → {b}")
    };
    list(out, "Differences in the setup", against.differing.iter().map(differing).collect());
    out.push_str(&format!("{}\n\n", escaped(&words::how_to_read(comparison, against))));
}

fn write_step(out: &mut String, comparison: &Comparison, against: &Against, step: &StepPair) {
    out.push_str(&format!("**{}**\n\n", escaped(&words::step_name(step))));
    for reason in words::reasons(step) {
        out.push_str(&format!("{}\n\n", escaped(&reason)));
    }
    if step.metrics.is_empty() {
        return;
    }
    row(out, &words::headings(comparison, against.run));
    out.push_str("|---|--:|--:|--:|--:|---|--:|--:|\n");
    for metric in &step.metrics {
        let l = MetricRow::of(metric);
        let decided = ["better", "worse"].contains(&l.opinion.as_str());
        let opinion = if !decided { l.opinion } else { format!("**{}**", l.opinion) };
        let cells = [
            l.metric,
            l.baseline,
            l.other,
            l.difference,
            l.interval,
            opinion,
            l.detectable,
            l.needed,
        ];
        row(out, &cells);
    }
    out.push('\n');
    for limit in words::limits(step, against.run) {
        out.push_str(&format!("{}\n\n", escaped(&limit)));
    }
    if !step.places.is_empty() {
        row(out, &words::place_headings(against.run));
        out.push_str("|---|--:|--:|--:|\n");
        step.places.iter().for_each(|place| row(out, &words::place(place).map(|c| escaped(&c))));
        out.push('\n');
    }
}

fn row(out: &mut String, cells: &[String]) {
    out.push_str(&format!("| {} |\n", cells.join(" | ")));
}

fn list(out: &mut String, heading: &str, items: Vec<String>) {
    if items.is_empty() {
        return;
    }
    out.push_str(&format!("**{heading}**\n\n"));
    for item in items.iter().take(LISTED_MAX) {
        out.push_str(&format!("- {}\n", escaped(item)));
    }
    if items.len() > LISTED_MAX {
        out.push_str(&format!("- and {} more\n", items.len() - LISTED_MAX));
    }
    out.push('\n');
}

/// Words as Markdown shows them and nothing else.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '>' | '#' | '|' | '~' | '!' | '@' => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_record_are_no_markup() {
        for (text, expected) in [
            ("plain, 4KiB", "plain, 4KiB"),
            ("<script>", "&lt;script\\>"),
            ("a|b", "a\\|b"),
            ("[x](http://y)", "\\[x\\](http://y)"),
            ("**b** `c` ![i]", "\\*\\*b\\*\\* \\`c\\` \\!\\[i\\]"),
        ] {
            assert_eq!(escaped(text), expected);
        }
    }
}
