//! Counters of a lab's real devices: which sources a scenario names, and what they say while a step runs.
//!
//! `mapping` decides which place of a device is which hop; a `CountedHops` asks the sources, each on a thread of its own.

mod mapping;
mod shown;
mod sources;

pub use shown::{as_json, text};
pub use sources::{CountedSources, readable};

use crate::counted::mapping::{HopMap, LabHops};
use clock::Ns;
use engine::StepSpec;
use fleet::{HopReading, Sample, SampledHop, Sampler, SamplerNews};
use probe::source::Trouble;
use probe::tcp::TcpSessions;
use probe::watch::{News, Watch};
use record::{CounterId, HopKind, Level};
use scenario::{CountedDevice, CounterSource};
use std::collections::BTreeSet;
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::Path;

/// How long the search for a source's places is waited for before a step.
const DISCOVERY: Ns = Ns::secs(10);
/// How long a sample waits for all sources together; what comes later is part of the next.
const ANSWER: Ns = Ns::millis(250);
/// Hops that counters are recorded of at most: one message names no more.
const HOPS_MAX: usize = 160;

/// The hops of a lab's real devices.
pub struct CountedHops {
    sources: CountedSources,
    lab: LabHops,
    hops: Vec<CountedHop>,
    tcp: Option<(BTreeSet<SocketAddr>, Watch)>,
    news: Vec<SamplerNews>,
}

/// A hop of the step, and where its counters are.
struct CountedHop {
    /// The source among the watches, and the place within it; `None` for one that nothing counts.
    from: Option<(usize, usize)>,
    /// What the place receives is written by the load.
    flipped: bool,
}

impl CountedHops {
    /// Those of a scenario; `None` where it names no source.
    pub fn of(scenario: &scenario::Scenario) -> Option<CountedHops> {
        let sources = CountedSources::start(&scenario.lab.counters)?;
        let lab = LabHops::of(scenario);
        Some(CountedHops { sources, lab, hops: Vec::new(), tcp: None, news: Vec::new() })
    }

    fn warn(&mut self, code: &str, text: String) {
        let (at, code) = (clock::now(), code.to_owned());
        self.news.push(SamplerNews { at, level: Level::Warning, code, text });
    }

    /// The hops of one device.
    fn device(&mut self, at: usize, used: &BTreeSet<String>, out: &mut Vec<SampledHop>) {
        let (source, found) = self.sources.found(at, clock::now().plus(DISCOVERY));
        for (name, why) in &found.troubles {
            let text = format!("{name}: {why}; its hops have no counters");
            self.warn("counters-lost", text);
        }
        let map = HopMap::of(&source, &found.places, &self.lab, used);
        for hop in map.hops {
            if out.len() >= HOPS_MAX {
                let text =
                    format!("{}: more than {HOPS_MAX} hops; the rest is left out", source.device);
                self.warn("counters-left-out", text);
                return;
            }
            let place = &found.places[hop.place].1;
            let mut facts = vec![
                ("counters-from".to_owned(), source.from.to_string()),
                ("identity".to_owned(), hop.by),
            ];
            facts.extend(place.facts.iter().cloned());
            out.push(SampledHop { name: hop.name, kind: hop.kind, facts });
            self.hops.push(CountedHop {
                from: Some((found.places[hop.place].0, hop.at_source)),
                flipped: hop.flipped,
            });
        }
        for lost in map.lost {
            let why = format!("{} counts nothing that is `{}`", source.from, lost.is);
            let facts = vec![("counters".to_owned(), why)];
            let kind = self.lab.kind(&lost.hop).unwrap_or(mapping::port_of(source.kind));
            out.push(SampledHop { name: lost.hop, kind, facts });
            self.hops.push(CountedHop { from: None, flipped: false });
        }
    }

    /// The connections to the portals of the step's targets, where a host of this machine is counted.
    fn sessions(&mut self, step: &StepSpec, out: &mut Vec<SampledHop>) {
        let local = self.sources.all().iter().find(|source| sources::is_local_host(source));
        let Some(host) = local.map(|source| source.device.clone()) else { return };
        let portals: BTreeSet<SocketAddr> =
            step.targets.iter().flat_map(|target| portals(&target.url)).collect();
        if portals.is_empty() {
            self.tcp = None;
            return;
        }
        if self.tcp.as_ref().is_none_or(|(of, _)| *of != portals) {
            let source = TcpSessions::to(portals.iter().copied().collect());
            let watch = Watch::start("TCP sessions", Box::new(source)).ok();
            self.tcp = watch.map(|watch| (portals, watch));
        }
        let Some((_, watch)) = &self.tcp else { return };
        match watch.places(clock::now().plus(DISCOVERY)) {
            Ok(places) => {
                let facts = places.into_iter().next().map(|place| place.facts).unwrap_or_default();
                out.push(SampledHop { name: format!("{host}.tcp"), kind: HopKind::Other, facts });
            }
            Err(why) => {
                self.tcp = None;
                self.warn("counters-lost", format!("TCP sessions: {why}"));
            }
        }
    }
}

/// Addresses of the portals of a target.
fn portals(url: &str) -> Vec<SocketAddr> {
    let Some(rest) = url.strip_prefix("iscsi://") else { return Vec::new() };
    let authority = rest.split('/').next().unwrap_or_default();
    let hosts = authority.rsplit('@').next().unwrap_or_default();
    let address = |host: &str| -> Vec<SocketAddr> {
        let with_port = host.to_socket_addrs();
        let found = with_port.or_else(|_| (host, 3260).to_socket_addrs());
        found.map(Iterator::collect).unwrap_or_default()
    };
    hosts.split(',').flat_map(address).collect()
}

/// Disks that the step's targets lie on, and the paths below them.
fn disks(step: &StepSpec) -> BTreeSet<String> {
    let paths = step.targets.iter().filter(|target| fleet::scheme(&target.url).is_empty());
    let mut out = BTreeSet::new();
    for device in paths.flat_map(|target| probe::block::under(Path::new(&target.url))) {
        let below = probe::scsi::paths(Path::new("/sys"), device.name());
        out.extend(below.into_iter().map(|path| path.device));
        out.insert(device.name().to_owned());
    }
    out
}

impl Sampler for CountedHops {
    fn hops(&mut self, step: &StepSpec) -> Vec<SampledHop> {
        let mut out = Vec::new();
        self.hops.clear();
        let used = disks(step);
        for at in 0..self.sources.all().len() {
            self.device(at, &used, &mut out);
        }
        self.sessions(step, &mut out);
        out
    }

    fn sample(&mut self) -> Vec<Sample> {
        let until = clock::now().plus(ANSWER);
        let mut used: BTreeSet<usize> =
            self.hops.iter().filter_map(|hop| Some(hop.from?.0)).collect();
        let watches = self.sources.watches();
        used.iter().for_each(|at| watches[*at].ask());
        let tcp = self.tcp.as_ref().map(|(_, watch)| watch);
        tcp.into_iter().for_each(Watch::ask);
        let mut totals: Vec<Option<probe::accrual::Totals>> = vec![None; watches.len()];
        while let Some(at) = used.pop_first() {
            totals[at] = watches[at].latest(until);
        }
        let none = || Sample { at: clock::now(), readings: Vec::new() };
        let sample = |hop: &CountedHop| {
            let (at, place) = hop.from?;
            let totals = totals[at].as_ref()?;
            let readings = totals.places.get(place).filter(|of| !of.is_empty())?;
            let reading = |(counter, value): &(CounterId, f64)| HopReading {
                counter: if hop.flipped { turned(*counter) } else { *counter },
                value: *value,
            };
            Some(Sample { at: totals.at, readings: readings.iter().map(reading).collect() })
        };
        let mut out: Vec<Sample> =
            self.hops.iter().map(|hop| sample(hop).unwrap_or_else(none)).collect();
        out.extend(tcp.map(|watch| {
            let totals = watch.latest(until);
            let readings =
                totals.as_ref().and_then(|of| of.places.first()).cloned().unwrap_or_default();
            let of = |(counter, value)| HopReading { counter, value };
            let at = totals.map_or_else(clock::now, |of| of.at);
            Sample { at, readings: readings.into_iter().map(of).collect() }
        }));
        out
    }

    fn news(&mut self) -> Vec<SamplerNews> {
        let mut out = std::mem::take(&mut self.news);
        let tcp = self.tcp.iter().map(|(_, watch)| watch);
        for watch in self.sources.watches().iter().chain(tcp) {
            out.extend(watch.news().into_iter().map(|News { at, code, text, warns }| {
                let level = if warns { Level::Warning } else { Level::Info };
                SamplerNews { at, level, code: code.to_owned(), text }
            }));
        }
        out
    }
}

/// What one end receives is what the other sends.
fn turned(counter: CounterId) -> CounterId {
    match counter {
        CounterId::ReadBytes => CounterId::WriteBytes,
        CounterId::WriteBytes => CounterId::ReadBytes,
        other => other,
    }
}

/// The places of a device, each with the number of its watch and its own there, and what could not be asked.
#[derive(Default)]
pub struct FoundPlaces {
    /// Number of the watch, and the place.
    pub places: Vec<(usize, probe::source::Place)>,
    /// Name of a source, and why it has no places.
    pub troubles: Vec<(String, Trouble)>,
}

/// Whether a source is one of this machine.
fn is_local(source: &CounterSource) -> bool {
    source.from == scenario::CountersFrom::Local
}

/// Whether a device's ports are seen by what is behind them.
fn is_array(kind: CountedDevice) -> bool {
    kind == CountedDevice::Array
}
