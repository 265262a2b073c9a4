//! A review as Markdown, short enough for a pull request or a ticket: the verdict, what was found, goals, at most a dozen
//! rows of steps, claims, warnings with what to do next, and one line on where the figures come from.
//!
//! It is written for GitHub's dialect and is plain in any other. Words of a record are foreign: whatever means something
//! in Markdown or HTML is escaped, so that they can neither format the page nor leave their cell.

use crate::goals::{place, why};
use crate::network::{self, WayRow as Stream, direction_label};
use crate::number::{began, digits, percent};
use crate::published::{self, ClaimRow, between, ours, remarks, score};
use crate::results::{self, ResultColumn, ResultRow};
use crate::sentence::{AnswerTable, Sentence, Tone};
use crate::steps::time_unit;
use crate::text::{Align, clean};
use crate::{headline, highlights, hops, limits, warnings};
use findings::{Analysis, ClaimOutcome, ClaimSummary, GoalOutcome, Loops, Status, StepFigures};
use std::fmt::Write;

/// Rows of a table; the others are counted.
const ROWS_MAX: usize = 12;
/// Warnings; the others are counted.
const WARNINGS_MAX: usize = 12;
/// The longest text between backquotes that is taken for code.
const CODE_MAX: usize = 80;

/// A review as Markdown.
pub fn markdown(analysis: &Analysis) -> String {
    let mut out = String::new();
    let verdict = headline::verdict(analysis);
    line(&mut out, &format!("# {}", escape(&clean(&analysis.run.title))));
    line(&mut out, &format!("**{} {}**", mark(verdict.tone), prose(&verdict.text)));
    let trust: Vec<String> = headline::trust(analysis).iter().map(bullet).collect();
    if !trust.is_empty() {
        line(&mut out, &trust.join("\n"));
    }
    section(&mut out, "Findings", &bullets(&highlights::sentences(analysis), usize::MAX));
    section(&mut out, "Goals", &goals(&analysis.goals));
    section(&mut out, "Steps", &steps(&analysis.steps));
    section(&mut out, "Jobs", &results(&results::PHASES, &results::phases(&analysis.steps)));
    section(&mut out, "Faults", &results(&results::FAULTS, &results::faults(&analysis.steps)));
    section(&mut out, crate::proof::HEADING, &proof(&analysis.steps));
    section(&mut out, "Hops", &hops(&analysis.steps));
    section(&mut out, "Network", &network(&analysis.steps));
    section(&mut out, "What was published", &claims(&analysis.claims, &analysis.claims_summary));
    section(&mut out, "Warnings", &bullets(&warnings::sentences(&analysis.warnings), WARNINGS_MAX));
    let _infallible = writeln!(out, "<sub>{}</sub>", provenance(analysis));
    out
}

fn line(out: &mut String, text: &str) {
    let _infallible = writeln!(out, "{text}\n");
}

fn section(out: &mut String, heading: &str, text: &str) {
    if !text.is_empty() {
        line(out, &format!("### {heading}\n\n{}", text.trim_end()));
    }
}

fn bullets(sentences: &[Sentence], max: usize) -> String {
    let mut lines: Vec<String> = sentences.iter().take(max).map(bullet).collect();
    if sentences.len() > max {
        lines.push(format!("- … and {} more in the review", sentences.len() - max));
    }
    lines.join("\n")
}

/// A sentence with what to do next; a mark where it is not a plain finding.
fn bullet(sentence: &Sentence) -> String {
    let mark = match sentence.tone {
        Tone::Plain | Tone::Note => String::new(),
        tone => format!("{} ", mark(tone)),
    };
    let next = match sentence.next.as_str() {
        "" => String::new(),
        next => format!(" → {}", prose(next)),
    };
    let below = sentence.table.as_ref().map(answers).unwrap_or_default();
    format!("- {mark}{}{next}{below}", prose(&sentence.text))
}

/// A table within the item of a list, which is indented.
fn answers(below: &AnswerTable) -> String {
    let head: Vec<&str> = below.columns.iter().map(|(name, _)| *name).collect();
    let side = |align: Align| if align == Align::Right { 'r' } else { 'l' };
    let aligned: String = below.columns.iter().map(|(_, align)| side(*align)).collect();
    let rows: Vec<Vec<String>> =
        below.rows.iter().map(|row| row.iter().map(|cell| escape(cell)).collect()).collect();
    let lines = table(&head, &aligned, &rows, "rows");
    format!("\n\n{}", lines.lines().map(|line| format!("  {line}\n")).collect::<String>())
}

/// A mark that is the same in every font.
fn mark(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "✅",
        Tone::Bad => "❌",
        Tone::Caution => "⚠️",
        Tone::Plain | Tone::Note => "ℹ️",
    }
}

fn goals(goals: &[GoalOutcome]) -> String {
    let row = |g: &GoalOutcome| {
        let status = match g.status {
            Status::Met => "✅ met",
            Status::Undecided => "⚠️ undecided",
            Status::Failed => "❌ failed",
        };
        let observed = g.observed.map_or("-".to_owned(), |q| q.to_string());
        vec![status.to_owned(), escape(&clean(&g.name)), observed, escape(&place(g))]
    };
    let rows: Vec<_> = goals.iter().map(row).collect();
    let mut text = table(&["", "goal", "observed", "where"], "llrl", &rows, "goals");
    for goal in goals.iter().filter(|g| g.status != Status::Met).take(ROWS_MAX) {
        let _infallible = writeln!(text, "\n- {}", prose(&clean(&why(goal))));
    }
    text
}

fn proof(steps: &[StepFigures]) -> String {
    let lines = crate::proof::lines(steps);
    let lines: Vec<String> = lines.iter().map(|line| format!("- {}", prose(line))).collect();
    let table = results(&crate::proof::COLUMNS, &crate::proof::rows(steps));
    format!("{table}\n{}", lines.join("\n")).trim().to_owned()
}

fn steps(all: &[StepFigures]) -> String {
    let steps: Vec<&StepFigures> =
        all.iter().filter(|s| !s.network_only() && !s.is_job()).collect();
    let of = |s: &StepFigures| s.total.both.latency();
    let unit = time_unit(steps.iter().map(|s| &s.total.both));
    let means = steps.iter().any(|s| s.total.both.means_only());
    let errors = steps.iter().any(|s| s.total.both.errors > 0);
    let row = |s: &&StepFigures| {
        let both = &s.total.both;
        let mut cells = vec![escape(&clean(&s.label()))];
        cells.push(highlights::iops(s).unwrap_or_else(|| "-".to_owned()));
        cells.push(digits(both.bytes_per_s / 1e6));
        let latency = |point: fn(&findings::Latency) -> u64| {
            of(s).map_or("-".to_owned(), |l| unit.show(point(&l)))
        };
        if means {
            let mean = both.mean_latency_ns().map(|ns| unit.show(ns.round() as u64));
            cells.push(mean.unwrap_or_else(|| "-".to_owned()));
        }
        cells.extend([latency(|l| l.p50_ns), latency(|l| l.p99_ns), latency(|l| l.max_ns)]);
        if errors {
            cells.push(digits(both.errors as f64));
        }
        cells
    };
    let rows: Vec<_> = steps.iter().map(row).collect();
    let [mean, p50, p99, max] =
        ["mean", "p50", "p99", "max"].map(|p| format!("{p} {}", unit.sign()));
    let mut head = vec!["step", "IOPS", "MB/s"];
    head.extend(means.then_some(mean.as_str()));
    head.extend([&p50, &p99, &max].map(String::as_str));
    head.extend(errors.then_some("errors"));
    let mut text = table(&head, "lrrrrrrr", &rows, "steps");
    if let Some(loops) = loops(&steps) {
        let _infallible = writeln!(text, "\n{loops}");
    }
    text
}

/// What happened within steps.
fn results(columns: &[ResultColumn], rows: &[ResultRow]) -> String {
    let head: Vec<String> =
        columns.iter().map(|(name, unit, _)| format!("{name} {unit}").trim().to_owned()).collect();
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let aligned: String = columns.iter().map(|column| if column.2 { 'r' } else { 'l' }).collect();
    let cells = |row: &ResultRow| row.cells.iter().map(|cell| escape(cell)).collect();
    let rows: Vec<Vec<String>> = rows.iter().map(cells).collect();
    table(&head, &aligned, &rows, "rows")
}

/// What limits each step, and its fullest hops.
fn hops(steps: &[StepFigures]) -> String {
    let row = |r: &hops::StepHops<'_>| {
        let mut cells = vec![
            escape(&clean(&r.step.label())),
            escape(&limits::short(r.step, r.judged)),
            percent(r.judged.probability),
        ];
        let hop = |(load, full): &(&findings::HopLoad, f64)| {
            let name = escape(&clean(&load.hop));
            match hops::names(&r.judged.limit, &load.hop) {
                true => format!("**{name}** {}%", percent(*full)),
                false => format!("{name} {}%", percent(*full)),
            }
        };
        cells.push(r.fullest.iter().map(hop).collect::<Vec<_>>().join(", "));
        cells
    };
    let rows: Vec<_> = hops::rows(steps).iter().map(row).collect();
    table(&["step", "limited by", "sure %", "fullest hops"], "llrl", &rows, "steps")
}

/// What was carried over networks, each way.
fn network(steps: &[StepFigures]) -> String {
    let dash = |figure: Option<String>| figure.unwrap_or_else(|| "-".to_owned());
    let row = |r: &Stream<'_>| {
        let (sending, receiving) = r.ends();
        vec![
            escape(&clean(&r.step.label())),
            escape(&direction_label(r.pair, r.direction.way)),
            r.direction.streams.len().to_string(),
            digits(r.direction.sent.bytes_per_s / 1e6),
            digits(r.direction.received.bytes_per_s / 1e6),
            dash(r.direction.wire.share.map(percent)),
            digits(r.direction.messages_per_s()),
            dash(sending.process_s_per_gb.map(digits)),
            dash(receiving.process_s_per_gb.map(digits)),
            escape(r.direction.limit.by.title()),
        ]
    };
    let rows: Vec<_> = network::rows(steps).iter().map(row).collect();
    let head = [
        "step",
        "way",
        "streams",
        "sent MB/s",
        "received MB/s",
        "% of wire",
        "messages/s",
        "send CPU s/GB",
        "recv CPU s/GB",
        "limited by",
    ];
    table(&head, "llrrrrrrrl", &rows, "directions")
}

/// Which latency the table shows.
fn loops(steps: &[&StepFigures]) -> Option<&'static str> {
    let all = |loops: Loops| steps.iter().all(|s| s.loops == loops);
    match () {
        () if steps.is_empty() => None,
        () if all(Loops::Observed) => {
            Some("Observed load: latency is the mean that its source reports.")
        }
        () if steps.iter().all(|s| s.total.both.means_only()) => {
            Some("Means only: latency is service time.")
        }
        () if all(Loops::Closed) => Some("Closed loop: latency is service time."),
        () if all(Loops::Open) => Some("Open loop: latency is response time."),
        () => Some("Latency is response time in open loops, and service time in closed ones."),
    }
}

/// The summary, a row for each reading, and what there is to say of claims.
fn claims(claims: &[ClaimOutcome], all: &ClaimSummary) -> String {
    if claims.is_empty() {
        return String::new();
    }
    let intervals = claims.iter().any(|claim| claim.interval.is_some());
    let row = |row: &ClaimRow<'_>| {
        let mut cells = vec![
            row.once(|claim| score(claim.score).1.to_owned()),
            row.once(|claim| escape(&clean(&claim.name))),
            row.published(),
            row.once(ours),
        ];
        if intervals {
            cells.push(row.once(|claim| between(claim.interval)));
        }
        cells.push(row.error().map_or("-".to_owned(), |e| format!("{e:+.1}%")));
        cells
    };
    let rows: Vec<Vec<String>> = published::rows(claims).iter().map(row).collect();
    let (head, aligned): (&[&str], _) = match intervals {
        true => (&["", "claim", "published", "ours", "interval", "error"], "llrrrr"),
        false => (&["", "claim", "published", "ours", "error"], "llrrr"),
    };
    let table = table(head, aligned, &rows, "readings of claims");
    let said =
        claims.iter().map(|claim| (claim, remarks(claim))).filter(|(_, said)| !said.is_empty());
    let said: Vec<String> = said
        .map(|(claim, said)| format!("- {}", escape(&format!("{}: {said}.", clean(&claim.name)))))
        .collect();
    let more = said.len().saturating_sub(ROWS_MAX);
    let more = (more > 0).then(|| format!("- … and remarks on {more} more claims."));
    let said: Vec<String> = said.into_iter().take(ROWS_MAX).chain(more).collect();
    let parts = [escape(&published::summary(all)), table.trim_end().to_owned(), said.join("\n")];
    let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n") + "\n"
}

/// Who made the record, when, of what.
fn provenance(analysis: &Analysis) -> String {
    let run = &analysis.run;
    let after = run.source.as_ref().map_or(String::new(), |s| format!(" · after {s}"));
    let version = run.facts.iter().find(|f| f.subject == "run" && f.key == "version");
    let version = version.map_or(String::new(), |f| format!(" {}", f.value));
    let kernel = run.facts.iter().find(|f| f.key == "kernel");
    let kernel = kernel.map_or(String::new(), |f| format!(" · Linux {}", f.value));
    let (producer, when) = (&run.producer, began(run.wall_ns));
    let planned = crate::footer::planned(run);
    let text = format!("{producer}{version} · {when}{planned}{kernel}{after}");
    escape(&clean(&text))
}

/// A table of at most [`ROWS_MAX`] rows; `aligned` has an `l` or an `r` for each column.
fn table(head: &[&str], aligned: &str, rows: &[Vec<String>], what: &str) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let row = |cells: &[&str]| format!("| {} |\n", cells.join(" | "));
    let rule = |(_, align): (&&str, char)| if align == 'r' { "--:" } else { "---" };
    let rules: Vec<&str> = head.iter().zip(aligned.chars()).map(rule).collect();
    let mut text = row(head) + &row(&rules);
    for cells in rows.iter().take(ROWS_MAX) {
        text += &row(&cells.iter().map(String::as_str).collect::<Vec<_>>());
    }
    if rows.len() > ROWS_MAX {
        let _infallible =
            writeln!(text, "\n… and {} more {what} in the review.", rows.len() - ROWS_MAX);
    }
    text
}

/// A sentence: escaped, except for text between backquotes that is plain enough to be code.
fn prose(text: &str) -> String {
    let plain = |code: &str| {
        let usual = |c: char| c.is_ascii_alphanumeric() || " _-=.:/\"'".contains(c);
        !code.is_empty() && code.len() <= CODE_MAX && code.chars().all(usual)
    };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        out += &escape(before);
        match after.split_once('`') {
            Some((code, after)) if plain(code) => {
                let _infallible = write!(out, "`{code}`");
                rest = after;
            }
            Some((other, after)) => {
                let _infallible = write!(out, "\\`{}\\`", escape(other));
                rest = after;
            }
            None => {
                out += "\\`";
                rest = after;
            }
        }
    }
    out + &escape(rest)
}

/// A clean text as itself: nothing in it formats, links or ends a cell.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = ' ';
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' | '#' | '@' => {
                out.push('\\');
                out.push(c);
            }
            // Addresses would become links by themselves.
            '/' if last == '/' || last == ':' => out.push_str("\\/"),
            '.' if last == 'w' => out.push_str("\\."),
            // A list, a quote or a rule at the beginning of a text.
            '-' | '+' | '=' if out.is_empty() => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
        last = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_words_stay_words() {
        for (text, expected) in [
            ("plain 8KiB, 99.9% (a-b)", "plain 8KiB, 99.9% (a-b)"),
            ("a|b", "a\\|b"),
            ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
            ("**bold** _it_ ~~no~~", "\\*\\*bold\\*\\* \\_it\\_ \\~\\~no\\~\\~"),
            ("[x](http://e.x)", "\\[x\\](http:\\/\\/e.x)"),
            ("www.e.x", "www\\.e.x"),
            ("`rm`", "\\`rm\\`"),
            ("&lt;", "&amp;lt;"),
            ("# no heading", "\\# no heading"),
            ("- no list", "\\- no list"),
            ("\\", "\\\\"),
            ("$x$ @who", "\\$x\\$ \\@who"),
        ] {
            assert_eq!(escape(text), expected);
        }
    }

    #[test]
    fn what_one_types_is_code_and_nothing_else_is() {
        for (text, expected) in [
            ("set `rate` (an open loop)", "set `rate` (an open loop)"),
            ("odd ` one", "odd \\` one"),
            ("`<b>` and `a|b`", "\\`&lt;b&gt;\\` and \\`a\\|b\\`"),
            ("``", "\\`\\`"),
            ("`block = \"8KiB\"`", "`block = \"8KiB\"`"),
        ] {
            assert_eq!(prose(text), expected);
        }
    }
}
