//! Texts of Fibre Channel switches: Brocade's `portperfshow`, `portstatsshow`, `portstats64show` and `porterrshow`, Cisco's
//! `show interface counters`, each as often as it was taken, with the output of `date` between.
//!
//! A log of a session holds much else: prompts, other commands, answers to them. What is no counter is passed over. What a port
//! sends is what its neighbour reads, as in walks of the same switch.

mod brocade;
mod mds;

pub(super) use brocade::read as brocade;
pub(super) use mds::{interface, read as mds};

use super::Options;
use super::counters::{Look, Looks};
use super::error::ReadError;
use super::format::MonitorFormat;
use super::model::{Feed, Measure, Place, Span};
use super::stamp::{Stamp, moments, stamp};
use record::{HopKind, Level};
use std::collections::BTreeMap;

/// A tick of `tim_txcrd_z` and of `TxWait`, in seconds.
const TICK: f64 = 2.5e-6;
/// Looks at several ports, one after the other, are one look where they take less than this share of the time to the next.
const TOGETHER: i64 = 4;

/// A look at counters before its moment is known.
struct Shot {
    stamp: Option<(Stamp, u64)>,
    looks: Vec<Look>,
    /// Rates that were printed: means of an interval.
    rates: Vec<(usize, Measure, f64)>,
}

/// What counted something: its name, and how well it counts, from 0.
#[derive(Clone, Copy, PartialEq)]
struct Counted {
    name: &'static str,
    rank: u8,
}

struct Reader {
    feed: Feed,
    shots: Vec<Shot>,
    stamp: Option<(Stamp, u64)>,
    switch: String,
    port: Option<usize>,
    /// Whether Cisco's port is told of by `show interface`.
    in_full: bool,
    /// Counters of the look that is being taken, by their port and name.
    seen: Vec<(usize, &'static str)>,
    /// Where several commands count one thing, the one that is used.
    chosen: Vec<((usize, Measure), Counted)>,
    /// How often a command printed, as it was asked to.
    every: Option<i64>,
    /// Speeds of ports, which hold for all rows.
    speeds: BTreeMap<usize, f64>,
}

impl Reader {
    fn new(name: &str, format: MonitorFormat) -> Reader {
        Reader {
            feed: Feed::new(name, format),
            shots: Vec::new(),
            stamp: None,
            switch: String::new(),
            port: None,
            in_full: false,
            seen: Vec::new(),
            chosen: Vec::new(),
            every: None,
            speeds: BTreeMap::new(),
        }
    }

    fn port_of(&mut self, name: &str) -> usize {
        self.feed.place(Place::new(HopKind::SwitchPort, name, self.switch.clone()))
    }

    /// The look that is being taken: a counter that comes again begins the next one.
    fn shot(&mut self, key: (usize, &'static str)) -> &mut Shot {
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

    /// Takes a counter of the port. Of what another command counted too, the better one is kept, or the first.
    fn look(&mut self, by: Counted, measure: Measure, value: f64, wraps: Option<f64>) {
        let Some(place) = self.port else { return };
        match self.chosen.iter_mut().find(|(of, _)| *of == (place, measure)) {
            Some((_, one)) if one.name != by.name && one.rank >= by.rank => return,
            Some((_, one)) => *one = by,
            None => self.chosen.push(((place, measure), by)),
        }
        let shot = self.shot((place, by.name));
        shot.looks.retain(|look| (look.place, look.measure) != (place, measure));
        shot.looks.push(Look { place, measure, value, wraps });
    }

    /// What both switches' texts have: dates and the prompt with the switch's name.
    fn common(&mut self, number: u64, line: &str) -> bool {
        if let Some(found) = stamp(line).filter(Stamp::is_dated) {
            self.stamp = Some((found, number));
            return true;
        }
        // `sw1:admin> date`, `sw1:FID128:admin> date`, `mds1# show clock`.
        let prompt = line.split_once('>').filter(|(name, _)| name.contains(':'));
        let prompt = prompt.or_else(|| line.split_once("# "));
        let name = prompt.map(|(name, _)| name.split(':').next().unwrap_or_default().trim());
        let name = name.filter(|name| !name.is_empty() && !name.contains(' '));
        name.is_some_and(|name| {
            name.clone_into(&mut self.switch);
            true
        })
    }

    /// The moments of all looks; looks that several ports share have one.
    fn moments(&mut self, options: &Options) -> Result<Vec<i64>, ReadError> {
        let stamped: Vec<(Stamp, u64)> = self.shots.iter().filter_map(|shot| shot.stamp).collect();
        if stamped.len() == self.shots.len() && !stamped.is_empty() {
            let (stamps, lines): (Vec<Stamp>, Vec<u64>) = stamped.into_iter().unzip();
            let found = moments(&stamps, &lines, &options.calendar)?;
            self.feed.assumed.extend(found.assumed);
            return Ok(self.together(found.at));
        }
        let rates = self.shots.iter().all(|shot| shot.looks.is_empty());
        let length = match (options.interval, rates) {
            (Some(length), _) => length,
            (None, true) if self.every.is_some() => self.every.unwrap_or(1_000_000_000),
            (None, true) => {
                let why =
                    "1 s; the text has no time stamps, `--interval` gives the length".to_owned();
                self.feed.assumed.push(("interval".to_owned(), why));
                1_000_000_000
            }
            (None, false) if self.shots.len() == 1 => {
                return Err(ReadError::new(
                    1,
                    1,
                    "one look alone: counters that only grow need two; take it again after a minute, into the same file, with `date` before each",
                ));
            }
            (None, false) => {
                return Err(ReadError::new(
                    1,
                    1,
                    "counters without the time of each look: `--interval` says how long lies between, or take them with `date` before each",
                ));
            }
        };
        Ok((0..self.shots.len() as i64).map(|at| at * length).collect())
    }

    /// Gives looks at different ports that follow each other closely, each with a date of its own, the moment of the first.
    fn together(&self, mut at: Vec<i64>) -> Vec<i64> {
        let keys = |shot: &Shot| {
            let rates = shot.rates.iter().map(|(place, measure, _)| (*place, *measure));
            shot.looks.iter().map(|l| (l.place, l.measure)).chain(rates).collect::<Vec<_>>()
        };
        let mut last: BTreeMap<(usize, Measure), i64> = BTreeMap::new();
        let mut period = i64::MAX;
        for (shot, time) in self.shots.iter().zip(&at) {
            for key in keys(shot) {
                let before = last.insert(key, *time);
                period = before.map_or(period, |before| period.min((time - before).max(0)));
            }
        }
        let mut first: Option<(i64, Vec<(usize, Measure)>)> = None;
        for (shot, time) in self.shots.iter().zip(&mut at) {
            let own = keys(shot);
            match &mut first {
                Some((began, seen))
                    if *time - *began < period / TOGETHER
                        && own.iter().all(|key| !seen.contains(key)) =>
                {
                    *time = *began;
                    seen.extend(own);
                }
                _ => first = Some((*time, own)),
            }
        }
        at
    }

    fn finish(mut self, options: &Options) -> Result<Feed, ReadError> {
        let times = self.moments(options)?;
        let mut looks = Looks::default();
        let mut back = 0;
        let counting = self.shots.iter().any(|shot| !shot.looks.is_empty());
        for (at, (shot, time)) in self.shots.iter().zip(&times).enumerate() {
            shot.looks.iter().for_each(|look| looks.add(*time, *look));
            if !counting && !shot.rates.is_empty() {
                if self.feed.rows.last().is_some_and(|last| last.to > *time) {
                    back += 1;
                    continue;
                }
                // Looks of one moment are of one interval.
                if self.feed.rows.last().is_none_or(|last| last.to < *time) {
                    let next = times[at..].iter().find(|next| *next > time);
                    let length = next.map_or(1_000_000_000, |next| next - time);
                    let from = self.feed.rows.last().map_or(time - length, |before| before.to);
                    self.feed.rows.push(Span { from, to: *time });
                }
                let row = self.feed.rows.len() - 1;
                shot.rates
                    .iter()
                    .for_each(|(place, measure, rate)| self.feed.put(row, *place, *measure, *rate));
            }
        }
        if back > 0 {
            let text = format!(
                "{}: time goes back {back} times; these rates are left out",
                self.feed.name
            );
            self.feed.note(Level::Warning, "time-goes-back", text);
        }
        if counting {
            looks.fill(&mut self.feed)?;
        }
        for (place, speed) in self.speeds {
            (0..self.feed.rows.len())
                .for_each(|row| self.feed.put(row, place, Measure::Speed, speed));
        }
        self.feed.finish()
    }
}
