//! Places of several files that are one: by identity, never by a similar name.
//!
//! A WWPN or a MAC address names a port wherever it is read; `naa.`, a serial number or a UUID names a volume of an array, and at
//! a host its disk there, since several hosts share a LUN. A port's name counts only with its device's, and a device has other
//! names where a file or the user says so: a node's name and its IP address. What contradicts itself is not joined, and said.

use super::model::{Feed, Flow, Measure, Place};
use super::topology::Topology;
use record::{HopKind, Level};
use std::collections::{BTreeMap, BTreeSet};

/// Figures of one place in two files that differ by more contradict each other.
const APART: f64 = 0.1;
/// The same of speeds.
const SPEED: f64 = 0.01;
/// Intervals that both files must have for that.
const ROWS: usize = 3;

/// What is known of a place by the topology, before the number of the entry.
const ENTRY: &str = "the topology's entry ";

/// What was found, with its gravity.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Said {
    pub level: Level,
    pub code: &'static str,
    pub text: String,
}

/// Which places are one.
#[derive(Debug, Default)]
pub(super) struct Joined {
    /// The number of the place that each place of each file is.
    group: Vec<Vec<usize>>,
    /// Names of devices that mean the same, each with the first of them.
    devices: BTreeMap<String, String>,
    /// What joins the places of a group, where it is of several files.
    pub why: BTreeMap<usize, String>,
    /// Contradictions.
    pub said: Vec<Said>,
}

/// What a place is at its device: kinds that may be one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Port,
    HostDisk,
    Volume,
    Other(HopKind),
}

fn sort(kind: HopKind) -> Sort {
    match kind {
        HopKind::InitiatorPort | HopKind::SwitchPort | HopKind::TargetPort | HopKind::Trunk => {
            Sort::Port
        }
        HopKind::LunQueue | HopKind::BlockDevice => Sort::HostDisk,
        HopKind::Volume | HopKind::Disks => Sort::Volume,
        other => Sort::Other(other),
    }
}

/// Sets of numbers that grow together.
struct Sets(Vec<usize>);

impl Sets {
    fn root(&mut self, at: usize) -> usize {
        let mut at = at;
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

impl Joined {
    /// Joins the places of some files.
    pub fn of(feeds: &[Feed], topology: &Topology) -> Joined {
        let all: Vec<(usize, usize)> = (0..feeds.len())
            .flat_map(|feed| (0..feeds[feed].places.len()).map(move |place| (feed, place)))
            .collect();
        let mut joined = Joined { devices: one_name(feeds, topology), ..Joined::default() };
        let mut sets = Sets((0..all.len()).collect());
        let mut why: BTreeMap<usize, String> = BTreeMap::new();
        for (key, members) in joined.keys(feeds, &all, topology) {
            joined.link(feeds, &all, (&key, &members), &mut sets, &mut why);
        }
        joined.undo(feeds, &all, &mut sets);
        joined.group = feeds.iter().map(|feed| vec![0; feed.places.len()]).collect();
        let mut files: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (at, (feed, place)) in all.iter().enumerate() {
            let root = sets.root(at);
            joined.group[*feed][*place] = root;
            files.entry(root).or_default().insert(*feed);
        }
        for (at, text) in why {
            let root = sets.root(at);
            if files.get(&root).is_some_and(|files| files.len() > 1) {
                joined.why.entry(root).or_insert(text);
            }
        }
        joined.figures(feeds, &all);
        joined.perhaps(feeds);
        joined
    }

    /// The number of the place that a place of a file is.
    pub fn place(&self, feed: usize, place: usize) -> usize {
        self.group[feed][place]
    }

    /// The one name of a device.
    pub fn device(&self, name: &str) -> String {
        let lower = name.to_ascii_lowercase();
        self.devices.get(&lower).cloned().unwrap_or(lower)
    }

    /// Everything by which a place may be known elsewhere, with the places that are.
    fn keys(
        &self,
        feeds: &[Feed],
        all: &[(usize, usize)],
        topology: &Topology,
    ) -> BTreeMap<(Sort, String), Vec<usize>> {
        let mut keys: BTreeMap<(Sort, String), Vec<usize>> = BTreeMap::new();
        for (at, (feed, place)) in all.iter().enumerate() {
            let of = &feeds[*feed].places[*place];
            let (sort, device) = (sort(of.kind), self.device(&of.device));
            let mut add = |key: String| keys.entry((sort, key)).or_default().push(at);
            // Without its device a name is that of a place of this file alone.
            if !device.is_empty() {
                add(format!("{} of {device}", of.name));
            }
            for id in &of.ids {
                match sort {
                    Sort::HostDisk if device.is_empty() => {}
                    Sort::HostDisk => add(format!("{id} at {device}")),
                    _ => add(id.clone()),
                }
            }
            for (number, same) in topology.same.iter().enumerate() {
                if same.iter().any(|text| is(of, text)) {
                    add(format!("{ENTRY}{} ({})", number + 1, same[0]));
                }
            }
        }
        keys
    }

    /// Joins the places of a key, unless one file has several of them.
    fn link(
        &mut self,
        feeds: &[Feed],
        all: &[(usize, usize)],
        ((_, key), members): (&(Sort, String), &[usize]),
        sets: &mut Sets,
        why: &mut BTreeMap<usize, String>,
    ) {
        let mut by_file: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        members.iter().for_each(|at| {
            by_file.entry(all[*at].0).or_default().insert(*at);
        });
        if by_file.len() < 2 {
            return;
        }
        let name = |at: usize| feeds[all[at].0].places[all[at].1].name.clone();
        if let Some((file, several)) = by_file.iter().find(|(_, places)| places.len() > 1) {
            let names: Vec<String> = several.iter().take(3).map(|at| name(*at)).collect();
            let file = &feeds[*file].name;
            let text = format!(
                "{key} is that of {} in {file}: nothing is joined by it",
                names.join(" and ")
            );
            return self.say(Level::Warning, "identity-conflict", text);
        }
        let first = members[0];
        for at in &members[1..] {
            let (a, b) =
                (&feeds[all[first].0].places[all[first].1], &feeds[all[*at].0].places[all[*at].1]);
            // Two that the same name is given to have to have the same identity, where both say one.
            if let Some((one, other)) = contradicting(a, b) {
                let help = match key.starts_with(ENTRY) {
                    true => {
                        "; two identities of one sort are two places: leave one of them out of its `same`"
                    }
                    false => "",
                };
                let text = format!(
                    "{key} is {one} in {} and {other} in {}: they are not joined{help}",
                    feeds[all[first].0].name, feeds[all[*at].0].name
                );
                self.say(Level::Warning, "identity-conflict", text);
                continue;
            }
            sets.join(first, *at);
            why.entry(first).or_insert_with(|| key.clone());
        }
    }

    /// Takes groups apart in which a file has several places.
    fn undo(&mut self, feeds: &[Feed], all: &[(usize, usize)], sets: &mut Sets) {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        (0..all.len()).for_each(|at| groups.entry(sets.root(at)).or_default().push(at));
        for members in groups.into_values() {
            let mut seen: BTreeMap<usize, usize> = BTreeMap::new();
            let twice = members.iter().find_map(|at| Some((seen.insert(all[*at].0, *at)?, *at)));
            let Some((a, b)) = twice else { continue };
            members.iter().for_each(|at| sets.0[*at] = *at);
            let of = |at: usize| &feeds[all[at].0].places[all[at].1].name;
            let text = format!(
                "{} and {} of {} would be one place by what other files say: nothing is joined with them",
                of(a),
                of(b),
                feeds[all[a].0].name
            );
            self.say(Level::Warning, "identity-conflict", text);
        }
    }

    /// Says where two files count one place differently.
    fn figures(&mut self, feeds: &[Feed], all: &[(usize, usize)]) {
        let mut groups: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (feed, place) in all {
            groups.entry(self.group[*feed][*place]).or_default().push((*feed, *place));
        }
        for members in groups.values().filter(|members| members.len() > 1) {
            let (first, name) = (members[0], &feeds[members[0].0].places[members[0].1].name);
            for other in &members[1..] {
                if let Some((what, a, b)) = differing(feeds, first, *other) {
                    let text = format!(
                        "{name}: {} says {a:.4e} and {} says {b:.4e} {what} for the same time: the first is used",
                        feeds[first.0].name, feeds[other.0].name
                    );
                    self.say(Level::Warning, "figures-conflict", text);
                }
            }
        }
    }

    /// Says which hosts may be one without anything that tells: then what both files count is counted twice.
    fn perhaps(&mut self, feeds: &[Feed]) {
        let at_host = |place: &&Place| {
            matches!(place.kind, HopKind::HostCpu | HopKind::LunQueue | HopKind::BlockDevice)
        };
        use super::MonitorFormat::{Iostat, IostatJson, Pdh, Proc, Prometheus, SadfJson, SadfXml};
        let mut seen: Vec<(usize, &str)> = Vec::new();
        let of_host = [Iostat, IostatJson, Pdh, Proc, Prometheus, SadfJson, SadfXml];
        let files = feeds.iter().enumerate().filter(|(_, feed)| of_host.contains(&feed.format));
        for (at, feed) in files {
            let devices: BTreeSet<&str> =
                feed.places.iter().filter(at_host).map(|place| place.device.as_str()).collect();
            seen.extend(devices.into_iter().map(|device| (at, device)));
        }
        let disks = |(at, device): &(usize, &str)| -> BTreeSet<&str> {
            let of = feeds[*at].places.iter().filter(|p| p.device == *device && !p.within);
            of.filter(|p| sort(p.kind) == Sort::HostDisk).map(|p| p.name.as_str()).collect()
        };
        for (nth, (a, one)) in seen.iter().enumerate() {
            let own = disks(&(*a, one));
            for (b, other) in seen.iter().skip(nth + 1).filter(|(b, _)| b != a) {
                if own.is_disjoint(&disks(&(*b, other))) {
                    continue;
                }
                let (first, second) = (&feeds[*a].name, &feeds[*b].name);
                let known = |file: &str, device: &str| match device.is_empty() {
                    true => file.to_owned(),
                    false => device.to_owned(),
                };
                let why = match (one.is_empty(), other.is_empty()) {
                    (false, false) if self.device(one) == self.device(other) => continue,
                    (false, false) if short(one) != short(other) => continue,
                    (false, false) => format!("{one} ({first}) and {other} ({second})"),
                    (true, true) => format!("the hosts of {first} and {second}, which name none,"),
                    (true, false) => format!("the host of {first}, which names none, and {other}"),
                    (false, true) => format!("the host of {second}, which names none, and {one}"),
                };
                let text = format!(
                    "{why} may be one host, and nothing tells: then what both count is counted twice; say it by `--topology`: [[device]] names = [\"{}\", \"{}\"]",
                    known(first, one),
                    known(second, other)
                );
                self.say(Level::Warning, "perhaps-one-host", text);
            }
        }
    }

    fn say(&mut self, level: Level, code: &'static str, text: String) {
        self.said.push(Said { level, code, text });
    }
}

/// Whether a place is what a text names: by name, with its device or without, or by identity.
pub(super) fn is(place: &Place, text: &str) -> bool {
    let whole = || !place.device.is_empty() && format!("{}/{}", place.device, place.name) == text;
    let id = || super::model::canonical(text).is_some_and(|id| place.ids.contains(&id));
    place.name == text || whole() || id()
}

/// The name of a host without its domain; an address has none.
fn short(name: &str) -> String {
    let lower = name.to_ascii_lowercase();
    let address = lower.parse::<std::net::IpAddr>().is_ok();
    match lower.split_once('.') {
        Some((host, _)) if !address => host.to_owned(),
        _ => lower,
    }
}

/// Names of devices with the one name that stands for all of the same device.
pub(super) fn one_name(feeds: &[Feed], topology: &Topology) -> BTreeMap<String, String> {
    let mut names: Vec<String> = Vec::new();
    let mut of: BTreeMap<String, usize> = BTreeMap::new();
    let mut number = |name: &str| {
        let lower = name.to_ascii_lowercase();
        *of.entry(lower.clone()).or_insert_with(|| {
            names.push(lower);
            names.len() - 1
        })
    };
    let mut pairs = Vec::new();
    for (a, b) in feeds.iter().flat_map(|feed| &feed.aliases) {
        pairs.push((number(a), number(b)));
    }
    for device in &topology.devices {
        let numbers: Vec<usize> = device.iter().map(|name| number(name)).collect();
        pairs.extend(numbers.windows(2).map(|pair| (pair[0], pair[1])));
    }
    let mut sets = Sets((0..names.len()).collect());
    pairs.into_iter().for_each(|(a, b)| sets.join(a, b));
    of.into_iter().map(|(name, at)| (name, names[sets.root(at)].clone())).collect()
}

/// Two identities of one scheme that two places do not share, where they share none of it.
fn contradicting<'a>(a: &'a Place, b: &'a Place) -> Option<(&'a str, &'a str)> {
    let scheme = |id: &str| id.split('.').next().unwrap_or_default().to_owned();
    for one in &a.ids {
        let like: Vec<&String> = b.ids.iter().filter(|id| scheme(id) == scheme(one)).collect();
        let shared = like.iter().any(|id| a.ids.contains(id));
        if let Some(other) = like.first().filter(|_| !shared) {
            return Some((one, other));
        }
    }
    None
}

/// A figure that two files of one place say differently over the time that both cover.
fn differing(
    feeds: &[Feed],
    a: (usize, usize),
    b: (usize, usize),
) -> Option<(&'static str, f64, f64)> {
    let rows = |feed: &Feed, from: i64, to: i64| {
        let within = |row: &&super::Span| row.from >= from && row.to <= to;
        let first = feed.rows.iter().position(|row| within(&row))?;
        Some(first..first + feed.rows[first..].iter().take_while(within).count())
    };
    let ends = |feed: &Feed| Some((feed.rows.first()?.from, feed.rows.last()?.to));
    let (fa, fb) = (&feeds[a.0], &feeds[b.0]);
    let ((a0, a1), (b0, b1)) = (ends(fa)?, ends(fb)?);
    let (ra, rb) = (rows(fa, a0.max(b0), a1.min(b1))?, rows(fb, a0.max(b0), a1.min(b1))?);
    let whole = ra.len() >= ROWS && rb.len() >= ROWS;
    let all: [(Measure, &str, f64); 7] = [
        (Measure::Speed, "bytes a second of speed", SPEED),
        (Measure::Bytes(Flow::Read), "bytes read a second", APART),
        (Measure::Bytes(Flow::Write), "bytes written a second", APART),
        (Measure::Ops(Flow::Read), "reads a second", APART),
        (Measure::Ops(Flow::Write), "writes a second", APART),
        (Measure::Cpu, "as the share of time in which processors were busy", APART),
        (Measure::Busy, "as the share of time in which it was busy", APART),
    ];
    all.into_iter().filter(|_| whole).find_map(|(measure, what, most)| {
        let (x, y) = (fa.mean(a.1, measure, ra.clone())?, fb.mean(b.1, measure, rb.clone())?);
        // A row that lies only partly in the shared time is left out: by so much means may differ.
        let edge = 1.0 / ra.len().min(rb.len()) as f64;
        let slack = if measure == Measure::Speed { most } else { most + edge };
        ((x - y).abs() > slack * x.max(y)).then_some((what, x, y))
    })
}
