//! Live figures of a run on a terminal: what is seen, at which width, and that nothing of it is left when results follow.

use crate::prelude::*;
use crate::program::support::{Bench, slow_null};
use crate::program::terminal::{Emulator, Terminal};

/// What the live figures say, whatever the run.
const WORDS: [&str; 6] = ["200 IOPS", "0.82 MB/s", "p50 ", "p99 ", "limit now: ", " left"];

fn run(bench: &Bench, measure: &str, size: (u16, u16), env: &[(&str, &str)]) -> Terminal {
    std::fs::write(bench.path("s.toml"), slow_null(measure)).expect("a scratch file");
    Terminal::start(bench, &["run", "s.toml", "--out", "r.wsr"], size, env)
}

/// Whether all words are there, those with figures within a tenth.
fn live(seen: &Emulator) -> bool {
    let text = seen.text();
    let near = |word: &str| match word.split_once(' ') {
        Some((figure, unit)) if figure.parse::<f64>().is_ok() => {
            let expected: f64 = figure.parse().expect("it is a number");
            let words: Vec<&str> = text.split_whitespace().collect();
            words.windows(2).any(|pair| {
                let value = pair[0].replace(',', "").parse::<f64>();
                pair[1] == unit && value.is_ok_and(|value| (value / expected - 1.0).abs() < 0.1)
            })
        }
        _ => text.contains(word),
    };
    WORDS.iter().all(|word| near(word))
}

#[test]
fn figures_are_drawn_in_place_and_gone_when_results_follow() {
    for columns in [80, 40] {
        let bench = Bench::new("");
        let mut terminal = run(&bench, "4s", (24, columns), &[]);
        assert!(terminal.until(live), "{}", terminal.seen.text());
        let text = terminal.seen.text();
        assert_eq!(text.matches("limit now").count(), 1, "drawn in place: {text}");
        assert!(terminal.seen.redrawn > 0 && terminal.seen.colours > 0);
        assert_eq!(terminal.seen.wrapped, 0, "{text}");
        let (code, seen) = terminal.end();
        assert_eq!(code, 0, "{}", seen.text());
        let text = seen.text();
        assert!(!text.contains("limit now") && !text.contains(" left"), "{text}");
        assert!(text.contains("Findings"), "{text}");
        // The run has measured what its figures showed: the record is the witness.
        let steps = findings::analyse(&Record::open(&bench.path("r.wsr")).expect("a record"));
        let iops = steps.expect("it can be read").steps[0].total.both.iops;
        assert!((iops / 200.0 - 1.0).abs() < 0.05, "{iops}");
    }
}

#[test]
fn a_terminal_that_becomes_narrower_shows_one_picture() {
    let bench = Bench::new("");
    let mut terminal = run(&bench, "6s", (24, 90), &[]);
    assert!(terminal.until(live), "{}", terminal.seen.text());
    terminal.resize(24, 40);
    let narrow =
        |seen: &Emulator| live(seen) && seen.rows.iter().all(|row| row.chars().count() < 40);
    assert!(terminal.until(narrow), "{}", terminal.seen.text());
    assert_eq!(terminal.seen.text().matches("limit now").count(), 1, "{}", terminal.seen.text());
    terminal.child.kill().expect("it runs");
    terminal.end();
}

#[test]
fn colours_and_redrawing_are_left_out_where_they_are_not_wanted() {
    let bench = Bench::new("");
    let mut terminal = run(&bench, "3s", (24, 80), &[("NO_COLOR", "1")]);
    assert!(terminal.until(live), "{}", terminal.seen.text());
    assert_eq!((terminal.seen.colours, terminal.seen.redrawn > 0), (0, true));
    assert_eq!(terminal.end().0, 0);
    let bench = Bench::new("");
    let terminal = run(&bench, "3s", (24, 80), &[("TERM", "dumb")]);
    let (code, seen) = terminal.end();
    assert_eq!((code, seen.redrawn), (0, 0));
    assert!(seen.text().contains(" 1 s  ") && seen.text().contains("p99 "), "{}", seen.text());
}

#[test]
fn a_pipe_gets_one_line_a_second_and_no_control_sequence() {
    let bench = Bench::new(&slow_null("3s"));
    let ended = bench.expect(0, &["run", "s.toml", "--out", "r.wsr"]);
    let seconds =
        ended.stderr.lines().filter(|line| line.contains(" s  ") && line.contains("IOPS"));
    assert!(seconds.count() >= 2, "{}", ended.stderr);
    assert!(!ended.stderr.contains('\u{1b}') && !ended.stderr.contains("limit now"));
    let quiet = bench.expect(0, &["run", "s.toml", "--out", "q.wsr", "--quiet"]);
    assert_eq!(quiet.stderr, "");
}

/// A terminal that takes nothing (Ctrl-S) does not hold up what is measured.
#[test]
fn a_terminal_that_takes_nothing_does_not_disturb_the_run() {
    let bench = Bench::new(&slow_null("3s"));
    let mut command = bench.command(&["run", "s.toml", "--out", "r.wsr"]);
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    // Full before it begins: nobody reads.
    rustix::io::ioctl_fionbio(&writer, true).expect("an option");
    while std::io::Write::write(&mut writer, &[b'x'; 4096]).is_ok() {}
    rustix::io::ioctl_fionbio(&writer, false).expect("an option");
    let mut child = command.stderr(writer).stdout(Stdio::null()).spawn().expect("it starts");
    drop(command);
    // The record says when the run has ended; its display still waits.
    let done =
        |path: &Path| Record::open(path).is_ok_and(|record| record.status() == Status::Complete);
    let path = bench.path("r.wsr");
    for _ in 0..300 {
        if done(&path) {
            break;
        }
        clock::sleep_until(clock::now().plus(Ns::millis(100)));
    }
    assert!(done(&path), "the run waits for a terminal");
    drop(reader);
    child.wait().expect("it ends");
}

#[test]
fn a_simulation_shows_its_figures_too() {
    let lab = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/lab1-xen-4gb.toml");
    let bench = Bench::new("");
    let args = ["simulate", lab, "--set", "plan.obldisk.measure=600s", "--out", "r.wsr"];
    let mut terminal = Terminal::start(&bench, &args, (24, 80), &[]);
    let meant = |seen: &Emulator| {
        let text = seen.text();
        ["IOPS", "p50 ", "p99 ", "limit now: ", " left"].iter().all(|word| text.contains(word))
    };
    assert!(terminal.until(meant), "{}", terminal.seen.text());
    terminal.child.kill().expect("it runs");
    terminal.end();
}
