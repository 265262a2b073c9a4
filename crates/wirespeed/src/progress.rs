//! What a user sees while a run is under way: a bar with live figures on a terminal, plain lines otherwise, nothing
//! when quiet. All of it goes to stderr.

use crate::out;
use campaign::{DiskRates, NetRates, Progress, RecentRates};
use clock::Ns;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use record::{Event, Level, SourceId};
use std::collections::BTreeSet;
use std::time::Duration;

/// Shows the progress of one run.
pub struct Display {
    mode: Mode,
    /// Milliseconds of load: of the steps that are done, of the step under way, and those that were simulated in any step.
    done_ms: u64,
    step_ms: u64,
    advanced_ms: u64,
    step: String,
    /// Which of two runs that take turns; empty where there is one.
    side: &'static str,
    /// What a search looks for with the step; empty where it is none of a search.
    aim: String,
    /// Codes of warnings that were shown: the same one in every step would drown the figures, and the review has all.
    warned: BTreeSet<String>,
    hanging: Hanging,
}

/// Workers whose I/O hangs. One of them speaks for all, however many hang on the same device.
#[derive(Default)]
struct Hanging {
    all: BTreeSet<Option<SourceId>>,
    /// The one whose events are shown.
    speaker: Option<Option<SourceId>>,
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
        } else if out::notes_are_seen() {
            Mode::Bar(bar(total))
        } else {
            Mode::Lines
        };
        Display {
            mode,
            done_ms: 0,
            step_ms: 0,
            advanced_ms: 0,
            step: String::new(),
            side: "",
            aim: String::new(),
            warned: BTreeSet::new(),
            hanging: Hanging::default(),
        }
    }

    /// Takes one piece of progress of one of two runs.
    pub fn show_side(&mut self, side: &'static str, progress: &Progress) {
        self.side = side;
        self.show(progress);
    }

    /// Takes one piece of progress.
    pub fn show(&mut self, progress: &Progress) {
        match progress {
            Progress::StepStarting { index, of, at_most, name, duration, aim } => {
                self.hanging = Hanging::default();
                let of = if *at_most { format!("at most {of}") } else { of.to_string() };
                self.step = format!("{}[{}/{of}] {name}", self.side, index + 1);
                self.step_ms = duration.0 / 1_000_000;
                self.aim = aim.as_ref().map(|aim| format!("  ({aim})")).unwrap_or_default();
                self.line(&format!("{} …{}", self.step, self.aim), false);
            }
            Progress::Preparing => {}
            Progress::Second { elapsed, rates, .. } => {
                self.advance(*elapsed, &(figures(rates) + &self.hanging.text()));
            }
            Progress::Advanced(all) => {
                self.advanced_ms = all.0 / 1_000_000;
                self.position(0);
            }
            Progress::StepDone { .. } => {
                self.done_ms += self.step_ms;
                self.position(0);
            }
            Progress::Searched { text, unused } => {
                if let Mode::Bar(bar) = &self.mode {
                    bar.dec_length(unused.0 / 1_000_000);
                }
                self.line(text, true);
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
        match (event.level, event.code.as_str()) {
            (_, "hang") => self.hanging.begins(event.source),
            (_, "hang-over") => self.hanging.ends(event.source),
            (Level::Info, _) => false,
            (Level::Warning, _) => self.warned.insert(event.code.clone()),
            (Level::Error, _) => true,
        }
    }

    /// Moves the bar to this time of the step under way; steps that are simulated side by side are ahead of that.
    fn position(&self, elapsed_ms: u64) {
        if let Mode::Bar(bar) = &self.mode {
            bar.set_position((self.done_ms + elapsed_ms.min(self.step_ms)).max(self.advanced_ms));
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
                self.position(elapsed.0 / 1_000_000);
                let text = format!("{}  {figures}{}", self.step, self.aim);
                bar.set_message(review::printable(&text));
            }
            Mode::Lines => {
                out::note(format_args!("{}  {:.0} s  {figures}", self.step, elapsed.as_secs_f64()))
            }
            Mode::Quiet => {}
        }
    }

    fn line(&self, text: &str, always: bool) {
        match &self.mode {
            Mode::Bar(bar) if always => bar.println(review::printable(text)),
            Mode::Bar(bar) => bar.set_message(review::printable(text)),
            Mode::Lines => out::note(text),
            Mode::Quiet => {}
        }
    }
}

impl Hanging {
    /// Takes in that a worker hangs, or still does; whether to say so.
    fn begins(&mut self, worker: Option<SourceId>) -> bool {
        self.all.insert(worker);
        *self.speaker.get_or_insert(worker) == worker
    }

    /// Takes in that a worker hangs no more; whether to say so.
    fn ends(&mut self, worker: Option<SourceId>) -> bool {
        self.all.remove(&worker);
        self.speaker.take_if(|speaker| *speaker == worker).is_some()
    }

    fn text(&self) -> String {
        match self.all.len() {
            0 => String::new(),
            1 => "  1 worker hangs".to_owned(),
            n => format!("  {n} workers hang"),
        }
    }
}

fn figures(rates: &RecentRates) -> String {
    let parts = [rates.disk.as_ref().map(disk), rates.net.as_ref().map(net)];
    parts.into_iter().flatten().collect::<Vec<_>>().join("  ")
}

fn disk(rates: &DiskRates) -> String {
    let p99 = rates.p99.map_or("-".to_owned(), |p| units::duration(p.into()));
    let (iops, bytes) = (units::count(rates.iops), units::rate(rates.bytes_per_s));
    format!("{iops} IOPS  {bytes}  p99 {p99}{}", errors(rates.errors))
}

/// Bytes as they were received, each way.
fn net(rates: &NetRates) -> String {
    let rate = |way: &str, rate: Option<f64>| rate.map(|r| format!("{way} {}", units::rate(r)));
    let time = |ns: Ns| units::duration(ns.into());
    let mut parts: Vec<String> = match rates.transactions {
        Some((per_s, p99)) => {
            vec![format!("{} transactions/s  p99 {}", units::count(per_s), time(p99))]
        }
        None => {
            let ways =
                [rate("sent", rates.up_bytes_per_s), rate("received", rates.down_bytes_per_s)];
            ways.into_iter().flatten().collect()
        }
    };
    parts.extend(rates.probe_p99.map(|p99| format!("probe p99 {}", time(p99))));
    parts.join("  ") + &errors(rates.errors)
}

fn errors(errors: u64) -> String {
    match errors {
        0 => String::new(),
        n => format!("  {n} errors"),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_and_networks_stand_side_by_side() {
        let disk = DiskRates { iops: 1000.0, bytes_per_s: 4e6, errors: 1, p99: None };
        let streams = NetRates {
            up_bytes_per_s: Some(2e9),
            down_bytes_per_s: Some(1e6),
            probe_p99: Some(Ns(60_000)),
            ..NetRates::default()
        };
        let asks = NetRates { transactions: Some((500.0, Ns(80_000))), errors: 2, ..streams };
        for (disk, net, expected) in [
            (Some(disk), None, "1,000 IOPS  4 MB/s  p99 -  1 errors"),
            (None, Some(streams), "sent 2000 MB/s  received 1 MB/s  probe p99 60 us"),
            (None, Some(asks), "500 transactions/s  p99 80 us  probe p99 60 us  2 errors"),
            (
                Some(disk),
                Some(NetRates { up_bytes_per_s: Some(5e6), ..NetRates::default() }),
                "1,000 IOPS  4 MB/s  p99 -  1 errors  sent 5 MB/s",
            ),
        ] {
            assert_eq!(figures(&RecentRates { disk, net }), expected);
        }
    }

    #[test]
    fn one_worker_speaks_for_all_that_hang() {
        let worker = |n| Some(SourceId(n));
        let mut hanging = Hanging::default();
        assert_eq!(hanging.text(), "");
        assert!(hanging.begins(worker(1)), "the first");
        assert_eq!(hanging.text(), "  1 worker hangs");
        assert!(hanging.begins(worker(1)), "again, as its age has doubled");
        assert!(!hanging.begins(worker(2)), "another on the same device");
        assert_eq!(hanging.text(), "  2 workers hang");
        assert!(hanging.ends(worker(1)));
        assert!(hanging.begins(worker(2)), "the next to speak");
        assert!(!hanging.begins(worker(1)) && !hanging.ends(worker(1)));
        assert!(hanging.ends(worker(2)));
        assert_eq!(hanging.text(), "");
    }
}
