//! Texts of Fibre Channel switches: Brocade's `portperfshow`, `portstatsshow`, `portstats64show` and `porterrshow`, Cisco's
//! `show interface counters`, each as often as it was taken, with the output of `date` between.
//!
//! Words of 4 bytes in 32 bits wrap within seconds: their differences count only where no wrap is possible. Printed rates of
//! MDS are means of five minutes and are not used.

use super::Options;
use super::counters::{Look, Looks};
use super::error::ReadError;
use super::format::MonitorFormat;
use super::iostat::short;
use super::lines::Lines;
use super::model::{Feed, Flow, Measure, Place, Span};
use super::number::scaled;
use super::stamp::{Stamp, moments, stamp};
use record::{HopKind, Level};
use std::io::BufRead;

const WORD: f64 = 4.0;
/// What a 32-bit counter holds.
const NARROW: f64 = 4_294_967_296.0;
/// A tick of `tim_txcrd_z` and of `TxWait`, in seconds.
const TICK: f64 = 2.5e-6;

/// A look at counters before its moment is known.
struct Shot {
    stamp: Option<(Stamp, u64)>,
    looks: Vec<Look>,
    /// Rates that were printed: means of an interval.
    rates: Vec<(usize, Measure, f64)>,
}

struct Reader {
    feed: Feed,
    shots: Vec<Shot>,
    stamp: Option<(Stamp, u64)>,
    switch: String,
    port: Option<usize>,
    ports: Vec<String>,
    slot: String,
    /// The upper half of a 64-bit counter, by its name.
    top: Option<(String, f64)>,
    seen: Vec<(usize, Measure)>,
    cleared: bool,
}

impl Reader {
    fn new(name: &str, format: MonitorFormat) -> Reader {
        Reader {
            feed: Feed::new(name, format),
            shots: Vec::new(),
            stamp: None,
            switch: String::new(),
            port: None,
            ports: Vec::new(),
            slot: String::new(),
            top: None,
            seen: Vec::new(),
            cleared: false,
        }
    }

    fn port_of(&mut self, name: &str) -> usize {
        self.feed.place(Place::new(HopKind::SwitchPort, name, self.switch.clone()))
    }

    /// The look that is being taken: a counter that comes again begins the next one.
    fn shot(&mut self, key: (usize, Measure)) -> &mut Shot {
        if self.shots.is_empty() || self.stamp.is_some() || self.seen.contains(&key) {
            self.shots.push(Shot {
                stamp: self.stamp.take(),
                looks: Vec::new(),
                rates: Vec::new(),
            });
            self.seen.clear();
        }
        self.seen.push(key);
        let last = self.shots.len() - 1;
        &mut self.shots[last]
    }

    fn look(&mut self, measure: Measure, value: f64, wraps: Option<f64>) {
        if let Some(place) = self.port {
            self.shot((place, measure)).looks.push(Look { place, measure, value, wraps });
        }
    }

    /// What both switches' texts have: dates and the prompt with the switch's name.
    fn common(&mut self, number: u64, line: &str) -> bool {
        if let Some(found) = stamp(line).filter(Stamp::is_dated) {
            self.stamp = Some((found, number));
            return true;
        }
        let prompt = line
            .split_once(":admin>")
            .or_else(|| line.split_once("# "))
            .or_else(|| line.split_once(":root>"));
        if let Some((name, _)) = prompt.filter(|(name, _)| !name.contains(' ') && !name.is_empty())
        {
            self.switch = name.to_owned();
            return true;
        }
        false
    }

    fn finish(mut self, options: &Options) -> Result<Feed, ReadError> {
        let stamped: Vec<(Stamp, u64)> = self.shots.iter().filter_map(|shot| shot.stamp).collect();
        let times = if stamped.len() == self.shots.len() && !stamped.is_empty() {
            let (stamps, lines): (Vec<Stamp>, Vec<u64>) = stamped.into_iter().unzip();
            let found = moments(&stamps, &lines, &options.calendar)?;
            self.feed.assumed.extend(found.assumed);
            found.at
        } else {
            let rates = self.shots.iter().all(|shot| shot.looks.is_empty());
            let length = match (options.interval, rates) {
                (Some(length), _) => length,
                (None, true) => {
                    let why = "1 s; the text has no time stamps, `--interval` gives the length"
                        .to_owned();
                    self.feed.assumed.push(("interval".to_owned(), why));
                    1_000_000_000
                }
                (None, false) => {
                    return Err(ReadError::new(
                        1,
                        1,
                        "counters without the time of each look: `--interval` says how long lies between, or take them with `date` before each",
                    ));
                }
            };
            (0..self.shots.len() as i64).map(|at| at * length).collect()
        };
        let mut looks = Looks::default();
        let counting = self.shots.iter().any(|shot| !shot.looks.is_empty());
        for (at, (shot, time)) in self.shots.iter().zip(&times).enumerate() {
            shot.looks.iter().for_each(|look| looks.add(*time, *look));
            if !counting && !shot.rates.is_empty() {
                let length = times.get(at + 1).map_or_else(
                    || times.get(1).map_or(1_000_000_000, |t| t - times[0]),
                    |next| next - time,
                );
                let from = at.checked_sub(1).map_or(time - length.max(1), |before| times[before]);
                let row = self.feed.rows.len();
                self.feed.rows.push(Span { from, to: *time });
                shot.rates
                    .iter()
                    .for_each(|(place, measure, rate)| self.feed.put(row, *place, *measure, *rate));
            }
        }
        if counting {
            looks.fill(&mut self.feed)?;
        }
        if self.cleared {
            let text = format!("{}: counters were cleared between looks", self.feed.name);
            self.feed.note(Level::Info, "counters-cleared", text);
        }
        self.feed.finish()
    }
}

/// Reads Brocade's texts.
pub(super) fn brocade(
    name: &str,
    from: impl BufRead,
    options: &Options,
) -> Result<Feed, ReadError> {
    let mut lines = Lines::new(from)?;
    let mut reader = Reader::new(name, MonitorFormat::Brocade);
    while let Some((number, line)) = lines.text()? {
        reader.brocade(number, &line)?;
    }
    reader.finish(options)
}

/// Counters of `portstatsshow`: name, measure, factor, and whether they are words that wrap.
const STATS: &[(&str, Measure, f64)] = &[
    ("stat_wtx", Measure::Bytes(Flow::Write), WORD),
    ("stat_wrx", Measure::Bytes(Flow::Read), WORD),
    ("stat64_wtx", Measure::Bytes(Flow::Write), WORD),
    ("stat64_wrx", Measure::Bytes(Flow::Read), WORD),
    ("tim_txcrd_z", Measure::CreditWait, TICK),
    ("tim64_txcrd_z", Measure::CreditWait, TICK),
    ("er_crc", Measure::Errors, 1.0),
    ("er64_crc", Measure::Errors, 1.0),
    ("er_tx_c3_timeout", Measure::Discards, 1.0),
    ("er64_tx_c3_timeout", Measure::Discards, 1.0),
];

impl Reader {
    fn brocade(&mut self, number: u64, line: &str) -> Result<(), ReadError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first().copied() else { return Ok(()) };
        if let Some((name, high)) = self.top.take() {
            // The low half follows on a line of its own.
            let low = words.iter().find_map(|w| w.parse::<f64>().ok());
            if let Some(low) = low {
                self.stat(&name, high * NARROW + low, true);
                return Ok(());
            }
        }
        if let Some(at) = words.iter().position(|w| {
            w.eq_ignore_ascii_case("portstatsshow") || w.eq_ignore_ascii_case("portstats64show")
        }) {
            // The prompt names the switch that the port belongs to.
            self.common(number, line);
            if let Some(port) = words.get(at + 1) {
                self.port = Some(self.port_of(&port.replace("-i", "")));
            }
            return Ok(());
        }
        if first.eq_ignore_ascii_case("port:") || (first == "port" && words.len() == 2) {
            self.port = Some(self.port_of(words[1].trim_end_matches(':')));
            return Ok(());
        }
        if STATS.iter().any(|(name, ..)| *name == first) {
            if self.port.is_none() {
                self.port = Some(self.port_of("port"));
            }
            let value = words.get(1).and_then(|w| w.parse::<f64>().ok());
            let Some(value) = value else {
                return Err(ReadError::new(
                    number,
                    first.len() as u64 + 2,
                    format!("a number is expected behind {first}"),
                ));
            };
            match line.contains("top_int") {
                true => self.top = Some((first.to_owned(), value)),
                false => self.stat(first, value, first.contains("64")),
            }
            return Ok(());
        }
        if first.starts_with("slot") {
            self.slot =
                words.get(1).map_or(String::new(), |s| format!("{}/", s.trim_end_matches(':')));
            let shifted = &words[words.len().min(2)..];
            return self.rates(number, line, shifted);
        }
        if words.iter().all(|w| w.parse::<u32>().is_ok() || *w == "Total")
            && words.len() > 1
            && line.starts_with(' ')
        {
            self.ports = words.iter().map(|w| format!("{}{w}", self.slot)).collect();
            return Ok(());
        }
        if first.chars().all(|c| matches!(c, '=' | '-')) || self.common(number, line) {
            return Ok(());
        }
        let port = first.strip_suffix(':').filter(|p| p.bytes().all(|b| b.is_ascii_digit()));
        if let Some(port) = port {
            return self.errors(number, port, &words[1..]);
        }
        self.rates(number, line, &words)
    }

    fn stat(&mut self, name: &str, value: f64, wide: bool) {
        if let Some((_, measure, factor)) = STATS.iter().find(|(known, ..)| *known == name) {
            let wraps = (!wide).then_some(NARROW * factor);
            // Only bytes can wrap within an interval; ticks and errors are far slower.
            let wraps = wraps.filter(|_| matches!(measure, Measure::Bytes(_)));
            self.look(*measure, value * factor, wraps);
        }
    }

    /// A row of `porterrshow`: frames sent and received, then columns of errors.
    fn errors(&mut self, number: u64, port: &str, words: &[&str]) -> Result<(), ReadError> {
        let values: Vec<Option<f64>> = words.iter().map(|w| scaled(w, 1000.0)).collect();
        if values.len() < 6 || values.iter().take(6).any(Option::is_none) {
            return Err(ReadError::new(
                number,
                1,
                format!("a row of porterrshow with {} numbers is expected", 6),
            ));
        }
        let place = self.port_of(port);
        self.port = Some(place);
        // tx, rx, enc in, crc err, crc g_eof, too shrt, too long, bad eof, enc out, disc c3, …
        let of = |at: usize| values.get(at).copied().flatten();
        if let Some(crc) = of(3) {
            self.look(Measure::Errors, crc, None);
        }
        if let Some(discards) = of(9) {
            self.look(Measure::Discards, discards, None);
        }
        Ok(())
    }

    /// A row of `portperfshow`: both directions of each port together.
    fn rates(&mut self, number: u64, line: &str, words: &[&str]) -> Result<(), ReadError> {
        let values: Option<Vec<f64>> = words.iter().map(|w| scaled(w, 1000.0)).collect();
        let Some(values) = values else {
            let plain = line.chars().all(|c| !c.is_control() || c == '\t');
            return match plain && self.shots.is_empty() {
                true => Ok(()),
                false => Err(ReadError::new(
                    number,
                    1,
                    format!("neither a counter, a header nor a row of rates: `{}`", short(line)),
                )),
            };
        };
        if values.is_empty() {
            return Ok(());
        }
        if self.ports.is_empty() {
            return Err(ReadError::new(
                number,
                1,
                "rates without a line of port numbers before them",
            ));
        }
        if values.len() > self.ports.len() {
            let text = format!("{} rates for {} ports", values.len(), self.ports.len());
            return Err(ReadError::new(number, 1, text));
        }
        for (port, rate) in self.ports.clone().iter().zip(values) {
            if port.ends_with("Total") {
                continue;
            }
            let place = self.port_of(port);
            let key = (place, Measure::Bytes(Flow::Any));
            self.shot(key).rates.push((place, Measure::Bytes(Flow::Any), rate));
        }
        Ok(())
    }
}

/// Reads Cisco MDS's texts.
pub(super) fn mds(name: &str, from: impl BufRead, options: &Options) -> Result<Feed, ReadError> {
    let mut lines = Lines::new(from)?;
    let mut reader = Reader::new(name, MonitorFormat::Mds);
    while let Some((number, line)) = lines.text()? {
        reader.mds(number, &line)?;
    }
    reader.finish(options)
}

impl Reader {
    fn mds(&mut self, number: u64, line: &str) -> Result<(), ReadError> {
        let text = line.trim();
        let words: Vec<&str> = text.split_whitespace().collect();
        let Some(first) = words.first().copied() else { return Ok(()) };
        let is_port = ["fc", "port-channel", "ethernet", "vfc"].iter().any(|p| {
            first.strip_prefix(p).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        });
        if is_port && !line.starts_with(' ') {
            self.port = Some(self.port_of(first.trim_end_matches(',')));
            return Ok(());
        }
        if self.port.is_none() || !first.starts_with(|c: char| c.is_ascii_digit()) {
            self.common(number, line);
            return Ok(());
        }
        let value =
            |at: usize| words.get(at).and_then(|w| w.trim_end_matches(',').parse::<f64>().ok());
        // Rates of the last five minutes, and of the last second, minute, hour: means of unknown times.
        if text.contains("bits/sec")
            || text.contains("last 1s")
            || stamp(text).is_some_and(|s| s.is_dated())
        {
            self.common(number, line);
            return Ok(());
        }
        let Some(n) = value(0) else {
            return Err(ReadError::new(number, 1, format!("`{}` is no number", short(first))));
        };
        let rest = words[1..].join(" ");
        let bytes = || {
            words
                .iter()
                .position(|w| w.starts_with("bytes"))
                .and_then(|at| value(at.checked_sub(1)?))
        };
        match () {
            () if rest.starts_with("frames input")
                || rest.starts_with("frames, ") && rest.contains("received") =>
            {
                bytes().into_iter().for_each(|b| self.look(Measure::Bytes(Flow::Read), b, None));
            }
            () if rest.starts_with("frames output")
                || rest.starts_with("frames, ") && rest.contains("transmitted") =>
            {
                bytes().into_iter().for_each(|b| self.look(Measure::Bytes(Flow::Write), b, None));
            }
            () if rest.contains("2.5us TxWait") => self.look(Measure::CreditWait, n * TICK, None),
            () if rest.contains("CRC") => self.look(Measure::Errors, n, None),
            () if rest.starts_with("timeout discards") => self.look(Measure::Discards, n, None),
            () => {}
        }
        Ok(())
    }
}
