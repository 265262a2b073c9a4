//! Brocade's `portperfshow`, `portstatsshow`, `portstats64show` and `porterrshow`, of any release of Fabric OS.
//!
//! Words of 4 bytes in 32 bits wrap within seconds: their differences count only where no wrap is possible. Rates and numbers of
//! errors are rounded to two digits; a rounded number of errors tells no difference and is left out.

use super::super::Options;
use super::super::error::ReadError;
use super::super::format::MonitorFormat;
use super::super::lines::Lines;
use super::super::model::{Feed, Flow, Measure, length_of};
use super::super::number::scaled;
use super::{Counted, Reader, TICK};
use record::Level;
use std::io::BufRead;

const WORD: f64 = 4.0;
/// What a 32-bit counter holds.
const NARROW: f64 = 4_294_967_296.0;

/// Counters of `portstatsshow`: name, measure, factor.
const STATS: &[(&str, Measure, f64)] = &[
    ("stat_wtx", Measure::Bytes(Flow::Read), WORD),
    ("stat_wrx", Measure::Bytes(Flow::Write), WORD),
    ("stat64_wtx", Measure::Bytes(Flow::Read), WORD),
    ("stat64_wrx", Measure::Bytes(Flow::Write), WORD),
    ("tim_txcrd_z", Measure::CreditWait, TICK),
    ("tim64_txcrd_z", Measure::CreditWait, TICK),
    ("er_crc", Measure::Errors, 1.0),
    ("er64_crc", Measure::Errors, 1.0),
    ("er_tx_c3_timeout", Measure::Discards, 1.0),
    ("er64_tx_c3_timeout", Measure::Discards, 1.0),
];

/// Columns of `porterrshow` without and with the one of good ends of frames: errors of the checksum, and discarded frames.
const OLD: (usize, usize, usize) = (14, 3, 8);
const NEW: (usize, usize) = (3, 9);

/// What `portperfshow` prints of a port.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Both,
    Sent,
    Received,
}

struct Texts {
    reader: Reader,
    /// The ports of the line of port numbers that is above.
    ports: Vec<String>,
    /// Whether rows of rates are awaited below it.
    awaiting: bool,
    /// The upper half of a 64-bit counter, by its name.
    top: Option<(String, f64)>,
    /// Whether a table of errors has begun.
    table: bool,
    rounded: u64,
    /// What is wrong where the file ends, and is a mistake anywhere else.
    cut: Option<ReadError>,
    /// A counter without its description, which is cut off if it is the last.
    bare: Option<(String, f64)>,
}

/// Reads the texts.
pub(in super::super) fn read(
    name: &str,
    from: impl BufRead,
    options: &Options,
) -> Result<Feed, ReadError> {
    let mut lines = Lines::new(from)?;
    let mut texts = Texts {
        reader: Reader::new(name, MonitorFormat::Brocade),
        ports: Vec::new(),
        awaiting: false,
        top: None,
        table: false,
        rounded: 0,
        cut: None,
        bare: None,
    };
    while let Some((number, line)) = lines.text()? {
        if let Some(error) = texts.cut.take_if(|_| !line.trim().is_empty()) {
            return Err(error);
        }
        texts.line(number, &plain(&line));
    }
    if texts.cut.is_some() || texts.bare.is_some() {
        let text = format!("{name}: the file is cut off; its last line is left out");
        texts.reader.feed.note(Level::Warning, "cut-off", text);
    }
    if texts.rounded > 0 {
        let text = format!(
            "{name}: {} numbers of errors are rounded (`1.2k`) and left out; portstatsshow has them exactly",
            texts.rounded
        );
        texts.reader.feed.note(Level::Info, "rounded", text);
    }
    texts.reader.finish(options)
}

/// A line without what steers a terminal.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => {
                let inner = chars.by_ref().skip_while(|c| *c == '[');
                let _ = inner.take_while(|c| !c.is_ascii_alphabetic()).count();
            }
            '\t' => out.push(' '),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// A port's number, with its slot or without.
fn is_port(word: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    match word.split_once('/') {
        Some((slot, port)) => digits(slot) && digits(port),
        None => digits(word),
    }
}

impl Texts {
    /// A port by its number, with its slot or without.
    fn port_of(&mut self, number: &str) -> usize {
        self.reader.port_of(&format!("port {number}"))
    }

    fn line(&mut self, number: u64, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first().copied() else { return };
        if let Some((name, value)) = self.bare.take() {
            self.stat(&name, value, name.contains("64"));
        }
        if let Some((name, high)) = self.top.take() {
            // The low half follows on a line of its own.
            let low = first.parse::<f64>().ok().filter(|_| line.contains("bottom_int"));
            if let Some(low) = low {
                self.stat(&name, high * NARROW + low, true);
                return;
            }
        }
        if self.command(number, line, &words) || self.counter(number, line, &words) {
            return;
        }
        if self.table && first.strip_suffix(':').is_some_and(is_port) {
            return self.errors(number, first.trim_end_matches(':'), &words[1..]);
        }
        if self.header(&words) || self.rates(&words) {
            return;
        }
        self.table |= words.starts_with(&["frames", "enc"]);
        self.reader.common(number, line);
    }

    /// A line with the command whose answer follows.
    fn command(&mut self, number: u64, line: &str, words: &[&str]) -> bool {
        let is = |word: &str, names: &[&str]| {
            let word = word.trim_end_matches(':').rsplit(['>', '/']).next().unwrap_or_default();
            names.iter().any(|name| word.eq_ignore_ascii_case(name))
        };
        let at = |names: &[&str]| words.iter().position(|word| is(word, names));
        if let Some(at) = at(&["portstatsshow", "portstats64show"]) {
            // The prompt names the switch that the port belongs to.
            self.reader.common(number, line);
            let port = words[at + 1..].iter().map(|w| w.trim_end_matches(':')).find(|w| is_port(w));
            self.reader.port = port.map(|port| self.port_of(port));
            self.table = false;
            return true;
        }
        if at(&["porterrshow"]).is_some() || at(&["portperfshow"]).is_some() {
            self.reader.common(number, line);
            self.table = at(&["porterrshow"]).is_some();
            self.ports.clear();
            // `portperfshow -t 10` prints every ten seconds.
            let every =
                words.iter().position(|word| *word == "-t").and_then(|at| words.get(at + 1));
            let every =
                every.and_then(|word| word.parse::<f64>().ok()).filter(|s| (1.0..1e6).contains(s));
            self.reader.every = every.map_or(self.reader.every, length_of);
            return true;
        }
        let [first, second, ..] = words else { return false };
        if (first.eq_ignore_ascii_case("port:") || *first == "port" && words.len() == 2)
            && is_port(second.trim_end_matches(':'))
        {
            self.reader.port = Some(self.port_of(second.trim_end_matches(':')));
            return true;
        }
        false
    }

    /// A counter of `portstatsshow` or `portstats64show`.
    fn counter(&mut self, number: u64, line: &str, words: &[&str]) -> bool {
        let first = words[0];
        let known = STATS.iter().any(|(name, ..)| *name == first);
        let like = ["stat_", "stat64_", "er_", "er64_", "tim_", "tim64_", "phy_", "lgc_"];
        if !known {
            return like.iter().any(|prefix| first.starts_with(prefix));
        }
        if self.reader.port.is_none() {
            self.reader.port = Some(self.reader.port_of("port"));
        }
        let Some(value) = words.get(1).and_then(|w| w.parse::<f64>().ok()) else {
            let text = format!("a number is expected behind {first}");
            self.cut = Some(ReadError::new(number, first.len() as u64 + 2, text));
            return true;
        };
        match line.contains("top_int") {
            true => self.top = Some((first.to_owned(), value)),
            false if words.len() < 3 => self.bare = Some((first.to_owned(), value)),
            false => self.stat(first, value, first.contains("64")),
        }
        true
    }

    fn stat(&mut self, name: &str, value: f64, wide: bool) {
        if let Some((name, measure, factor)) = STATS.iter().find(|(known, ..)| *known == name) {
            let wraps = (!wide).then_some(NARROW * factor);
            // Only bytes can wrap within an interval; ticks and errors are far slower.
            let wraps = wraps.filter(|_| matches!(measure, Measure::Bytes(_)));
            let by = Counted { name, rank: if wide { 2 } else { 1 } };
            self.reader.look(by, *measure, value * factor, wraps);
        }
    }

    /// A row of `porterrshow`: frames sent and received, then columns of errors, which differ by release.
    fn errors(&mut self, number: u64, port: &str, words: &[&str]) {
        let (old, old_crc, old_discards) = OLD;
        if words.len() < old || words.iter().any(|w| scaled(w, 1000.0).is_none()) {
            let text = format!("a row of porterrshow with {old} numbers or more is expected");
            self.cut = Some(ReadError::new(number, 1, text));
            return;
        }
        let place = self.port_of(port);
        self.reader.port = Some(place);
        let (crc, discards) = if words.len() == old { (old_crc, old_discards) } else { NEW };
        // What portstatsshow says of errors is not rounded; of discards it says less.
        let errors = (crc, Measure::Errors, Counted { name: "crc err", rank: 0 });
        let discards = (discards, Measure::Discards, Counted { name: "disc c3", rank: 2 });
        for (at, measure, by) in [errors, discards] {
            match words[at].parse::<f64>() {
                Ok(value) => self.reader.look(by, measure, value, None),
                Err(_) => self.rounded += 1,
            }
        }
    }

    /// A line of port numbers above rates.
    fn header(&mut self, words: &[&str]) -> bool {
        let total = words.len() > 1 && words.last() == Some(&"Total");
        let ports = &words[..words.len() - usize::from(total)];
        let numbers: Option<Vec<u32>> = ports.iter().map(|w| w.parse().ok()).collect();
        let rises = |all: &[u32]| all.windows(2).all(|pair| pair[0] < pair[1]);
        // A number alone may be a rate of the one port that is looked at.
        let alone = words.len() == 1 && self.ports.len() == 1 && self.ports[0] != words[0];
        let header = numbers.is_some_and(|all| !all.is_empty() && rises(&all)) && !alone;
        // What stands below a line of port numbers are rates.
        if !header || self.awaiting && !total || self.table {
            return false;
        }
        self.ports = words.iter().map(|word| (*word).to_owned()).collect();
        self.awaiting = true;
        true
    }

    /// A row of `portperfshow`: both directions of each port together, or one of them; of one slot or of the switch.
    fn rates(&mut self, words: &[&str]) -> bool {
        let (mut rest, mut slot, mut side) = (words, String::new(), Side::Both);
        if let ["slot" | "Slot", of, behind @ ..] = rest {
            (slot, rest) = (format!("{}/", of.trim_end_matches(':')), behind);
        }
        if let [word, behind @ ..] = rest {
            let of = word.trim_end_matches(':').to_ascii_lowercase();
            if matches!(of.as_str(), "tx" | "rx") {
                side = if of == "tx" { Side::Sent } else { Side::Received };
                rest = behind;
            }
        }
        let values: Option<Vec<f64>> = rest.iter().map(|w| scaled(w, 1000.0)).collect();
        // One more than ports is their total.
        let fits = |v: &Vec<f64>| !v.is_empty() && v.len() <= self.ports.len() + 1;
        let Some(values) = values.filter(|v| !self.ports.is_empty() && fits(v)) else {
            return false;
        };
        self.awaiting = false;
        let (name, flow) = match side {
            Side::Both => ("portperfshow", Flow::Any),
            Side::Sent => ("portperfshow -tx", Flow::Read),
            Side::Received => ("portperfshow -rx", Flow::Write),
        };
        let measure = Measure::Bytes(flow);
        for (port, rate) in self.ports.clone().iter().zip(values) {
            if port == "Total" {
                continue;
            }
            let place = self.port_of(&format!("{slot}{port}"));
            self.reader.shot((place, name)).rates.push((place, measure, rate));
        }
        true
    }
}
