//! What a user sees while a run is under way: a bar with live figures on a terminal, plain lines otherwise, nothing
//! when quiet. All of it goes to stderr.

use clock::Ns;
use fleet::{Progress, Rates};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::{Event, Level};
use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::time::Duration;

/// Shows the progress of one run.
pub struct Display {
    mode: Mode,
    /// Milliseconds of load that the whole plan takes, and those of the steps that are done.
    done_ms: u64,
    step_ms: u64,
    step: String,
    /// Codes of warnings that were shown: the same one in every step would drown the figures, and the review has all.
    warned: BTreeSet<String>,
}

enum Mode {
    Quiet,
    Lines,
    Bar(ProgressBar),
}

impl Display {
    /// A display for a run whose steps take `total` of load.
    pub fn new(quiet: bool, total: Duration) -> Display {
        let mode = if quiet {
            Mode::Quiet
        } else if std::io::stderr().is_terminal() {
            Mode::Bar(bar(total))
        } else {
            Mode::Lines
        };
        Display { mode, done_ms: 0, step_ms: 0, step: String::new(), warned: BTreeSet::new() }
    }

    /// Takes one piece of progress.
    pub fn show(&mut self, progress: &Progress) {
        match progress {
            Progress::StepStarting { index, of, name, duration } => {
                self.step = format!("[{}/{of}] {name}", index + 1);
                self.step_ms = duration.0 / 1_000_000;
                self.line(&format!("{} …", self.step), false);
            }
            Progress::Preparing => {}
            Progress::Second { elapsed, rates, .. } => self.advance(*elapsed, &figures(rates)),
            Progress::StepDone { .. } => {
                self.done_ms += self.step_ms;
                if let Mode::Bar(bar) = &self.mode {
                    bar.set_position(self.done_ms);
                }
            }
            Progress::Event(event) if self.is_news(event) => {
                self.line(&format!("{}: {}", word(event.level), event.text), true);
            }
            // A file that is being filled keeps its step waiting: say so.
            Progress::Event(event) if event.level == Level::Info => self.line(&event.text, false),
            Progress::Event(_) => {}
        }
    }

    fn is_news(&mut self, event: &Event) -> bool {
        match event.level {
            Level::Info => false,
            Level::Warning => self.warned.insert(event.code.clone()),
            Level::Error => true,
        }
    }

    /// Clears the bar: results follow.
    pub fn finish(self) {
        if let Mode::Bar(bar) = &self.mode {
            bar.finish_and_clear();
        }
    }

    fn advance(&self, elapsed: Ns, figures: &str) {
        match &self.mode {
            Mode::Bar(bar) => {
                bar.set_position(self.done_ms + (elapsed.0 / 1_000_000).min(self.step_ms));
                bar.set_message(format!("{}  {figures}", self.step));
            }
            Mode::Lines => eprintln!("{}  {:.0} s  {figures}", self.step, elapsed.as_secs_f64()),
            Mode::Quiet => {}
        }
    }

    fn line(&self, text: &str, always: bool) {
        match &self.mode {
            Mode::Bar(bar) if always => bar.println(text),
            Mode::Bar(bar) => bar.set_message(text.to_owned()),
            Mode::Lines => eprintln!("{text}"),
            Mode::Quiet => {}
        }
    }
}

fn figures(rates: &Rates) -> String {
    let p99 = rates.p99.map_or("-".to_owned(), |p| units::duration(p.into()));
    let errors = match rates.errors {
        0 => String::new(),
        n => format!("  {n} errors"),
    };
    format!(
        "{} IOPS  {}  p99 {p99}{errors}",
        units::count(rates.iops),
        units::rate(rates.bytes_per_s)
    )
}

fn bar(total: Duration) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(
        Some(total.as_millis() as u64),
        ProgressDrawTarget::stderr_with_hz(4),
    );
    let style = ProgressStyle::with_template("{bar:24.cyan/blue} {eta} left  {wide_msg}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    bar.set_style(style.progress_chars("━╸─"));
    bar
}

fn word(level: Level) -> &'static str {
    match level {
        Level::Info => "note",
        Level::Warning => "warning",
        Level::Error => "error",
    }
}
