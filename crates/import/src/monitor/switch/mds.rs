//! Cisco MDS: `show interface`, `show interface counters` and `detail-counters`. Printed rates are means of five minutes and are
//! not used. A port channel counts what its ports count.

use super::super::Options;
use super::super::error::ReadError;
use super::super::format::MonitorFormat;
use super::super::lines::Lines;
use super::super::model::{Feed, Flow, Measure, Place, canonical};
use super::super::stamp::stamp;
use super::{Counted, Reader, TICK};
use record::HopKind;
use std::io::BufRead;

/// Reads the texts.
pub(in super::super) fn read(
    name: &str,
    from: impl BufRead,
    options: &Options,
) -> Result<Feed, ReadError> {
    let mut lines = Lines::new(from)?;
    let mut reader = Reader::new(name, MonitorFormat::Mds);
    while let Some((number, line)) = lines.text()? {
        reader.mds(number, &line);
    }
    reader.finish(options)
}

/// The name of an interface at the beginning of a line: `fc1/1`, `fc1/1 is up`, `port-channel 10`, `mgmt0`.
pub(in super::super) fn interface(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let first = words.next()?.trim_end_matches([',', ':']);
    let second = words.next().map(|word| word.trim_end_matches([',', ':']));
    let (name, behind) = match second.filter(|w| w.starts_with(|c: char| c.is_ascii_digit())) {
        Some(number) => (format!("{first}{number}"), words.next()),
        None => (first.to_owned(), second),
    };
    let digits = name.find(|c: char| c.is_ascii_digit()).filter(|at| *at > 0)?;
    let (kind, number) = name.split_at(digits);
    let word = kind.bytes().all(|b| b.is_ascii_alphabetic() || b == b'-');
    let numbered = number.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'/' | b'.'));
    (word && numbered && behind.is_none_or(|word| word == "is")).then_some(name)
}

impl Reader {
    /// Begins with the counters of an interface; of one that carries no storage nothing is read.
    fn begin(&mut self, name: &str) {
        let kind = name.trim_end_matches(|c: char| !c.is_ascii_alphabetic()).to_ascii_lowercase();
        let channel = kind.ends_with("port-channel");
        let known = ["fc", "vfc", "bay", "ext", "fcip", "ethernet", "ipstorage"];
        self.port = (channel || known.contains(&kind.as_str())).then(|| {
            let mut place = Place::new(HopKind::SwitchPort, name, self.switch.clone());
            place.within = channel;
            self.feed.place(place)
        });
    }

    fn mds(&mut self, number: u64, line: &str) {
        let text = line.trim();
        if self.labelled(text) {
            return;
        }
        // Some releases have no blank behind a comma.
        let spaced = text.replace(',', ", ");
        let words: Vec<&str> = spaced.split_whitespace().collect();
        let Some(first) = words.first().copied() else { return };
        if let Some(name) = interface(line).filter(|_| !line.starts_with(' ')) {
            // `fc1/1 is up`: of `show interface`, which counts the same as `show interface counters`.
            self.in_full = words.get(1) == Some(&"is") || words.get(2) == Some(&"is");
            return self.begin(&name);
        }
        if self.described(text) {
            return;
        }
        let value = |word: &str| word.trim_end_matches(',').parse::<f64>().ok();
        let n = value(first).filter(|_| self.port.is_some());
        // Rates of the last five minutes, and of the last second, minute, hour: means of unknown times.
        let mean = text.contains("bits/sec") || text.contains("last 1s");
        let Some(n) = n.filter(|_| !mean && !stamp(text).is_some_and(|s| s.is_dated())) else {
            self.common(number, line);
            return;
        };
        let rest = words[1..].join(" ");
        let at = words.iter().position(|word| word.starts_with("bytes"));
        let bytes = at.and_then(|at| value(words[at.checked_sub(1)?]));
        let frames = rest.starts_with("frames, ");
        match () {
            () if rest.starts_with("frames input") || frames && rest.contains("received") => {
                bytes.into_iter().for_each(|b| {
                    self.counted(["input", "input in full"], Measure::Bytes(Flow::Write), b)
                });
            }
            () if rest.starts_with("frames output") || frames && rest.contains("transmitted") => {
                bytes.into_iter().for_each(|b| {
                    self.counted(["output", "output in full"], Measure::Bytes(Flow::Read), b)
                });
            }
            () if rest.contains("2.5us TxWait") => {
                self.counted(["TxWait", "TxWait in full"], Measure::CreditWait, n * TICK)
            }
            () if rest.starts_with("timeout discards") => {
                self.counted(["discards", "discards in full"], Measure::Discards, n)
            }
            () => self.errors(&words),
        }
    }

    /// Takes a line of `show interface counters detailed` in its later form: `Rx total bytes: 1000`.
    fn labelled(&mut self, text: &str) -> bool {
        let Some((label, value)) = text.rsplit_once(':') else { return false };
        let value = value.trim().parse::<f64>().ok().filter(|_| self.port.is_some());
        let Some(n) = value else { return false };
        let (name, measure, unit) = match label {
            "Rx total bytes" => ("Rx bytes", Measure::Bytes(Flow::Write), 1.0),
            "Tx total bytes" => ("Tx bytes", Measure::Bytes(Flow::Read), 1.0),
            "Rx Invalid CRCs" => ("Rx CRCs", Measure::Errors, 1.0),
            "Tx Timeout discards" => ("Tx discards", Measure::Discards, 1.0),
            _ if label.starts_with("TxWait 2.5us") => ("Tx wait", Measure::CreditWait, TICK),
            _ => return false,
        };
        self.look(Counted { name, rank: 1 }, measure, n * unit, None);
        true
    }

    /// Takes a counter, by its names in `show interface counters` and in `show interface`.
    fn counted(&mut self, names: [&'static str; 2], measure: Measure, value: f64) {
        let by = Counted { name: names[usize::from(self.in_full)], rank: 1 };
        self.look(by, measure, value, None);
    }

    /// `0 discards, 0 errors, 0 CRC/FCS`, `0 invalid CRC/FCS, 0 unknown class`: the number before the word.
    fn errors(&mut self, words: &[&str]) {
        let Some(at) = words.iter().position(|word| word.starts_with("CRC")) else { return };
        let number = words[..at].iter().rev().find_map(|word| word.parse::<f64>().ok());
        number.into_iter().for_each(|n| self.counted(["CRC", "CRC in full"], Measure::Errors, n));
    }

    /// What `show interface` says of a port: its identity and its speed.
    fn described(&mut self, text: &str) -> bool {
        let Some(port) = self.port else { return false };
        if let Some(wwn) = text.strip_prefix("Port WWN is ") {
            canonical(wwn.trim()).into_iter().for_each(|id| self.feed.identify(port, id));
            return true;
        }
        let speed = text.strip_prefix("Operating Speed is ").or(text.strip_prefix("Speed is "));
        let Some(speed) = speed else { return false };
        let fibre = self.feed.places[port].name.starts_with("fc");
        let rate = speed.strip_suffix(" Gbps").filter(|_| fibre);
        let rate = rate.and_then(|gbit| telemetry::fc_speed(&format!("{gbit} Gbit")));
        self.speeds.extend(rate.map(|rate| (port, rate)));
        true
    }
}
