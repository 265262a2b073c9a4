//! Counters of a lab's real devices: which sources a scenario names, and what they say while a step runs.
//!
//! `mapping` decides which place of a device is which hop, and `joined` which hops are one; a `CountedHops` asks the sources, each on a
//! thread of its own.

mod agents;
mod joined;
mod mapping;
mod shown;
mod sources;

pub use agents::counting_agents;
pub use shown::{as_json, text};
pub use sources::{CountedSources, readable, this_machine};

use crate::counted::joined::{OneSource, Owners};
use crate::counted::mapping::{HopMap, LabHops, MappedHop};
use crate::fleets::facts;
use crate::hops::{CPU, CpuSampler, DiskSampler, PROCESSORS, disk_place};
use clock::Ns;
use engine::StepSpec;
use fleet::message::{MachinePlace, SameHop};
use fleet::{HopReading, Sample, SampledHop, Sampler, SamplerNews};
use probe::block::BlockDevice;
use probe::source::{Place, Trouble};
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
    owners: Owners,
    /// What is said of who counts what, once.
    shares: Option<Vec<String>>,
    /// The processors of this machine, where no source of the scenario is this machine by its word.
    own: Option<CpuSampler>,
    /// The disks of this machine under the step's targets.
    disks: DiskSampler,
    tcp: Option<(BTreeSet<SocketAddr>, Watch)>,
    /// Agents of other machines that count there themselves, where this is a coordinator of such.
    agents: Vec<OneSource>,
    same: Vec<SameHop>,
    /// Which hops are what places of this machine.
    places: Vec<MachinePlace>,
    news: Vec<SamplerNews>,
}

/// A source of the step, and its places with the numbers of their watches.
type Found = (OneSource, Vec<(usize, Place)>);

/// A hop that nothing counts: its name, what it is unless the lab says so, and why.
type Lost = (String, HopKind, String);

/// Where the counters of a hop are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CountedFrom {
    /// Nothing counts there.
    Nothing,
    /// This program's own look at the processors.
    Processors,
    /// The same at a disk, by its position.
    Disk(usize),
    /// The source among the watches, and the place within it.
    Watch(usize, usize),
}

/// A hop of the step, and where its counters are.
struct CountedHop {
    from: CountedFrom,
    /// What the place receives is written by the load.
    flipped: bool,
}

impl CountedHops {
    /// Those of a scenario; `None` where it names no source.
    pub fn of(scenario: &scenario::Scenario) -> Option<CountedHops> {
        let sources = CountedSources::start(&scenario.lab.counters)?;
        let lab = LabHops::of(scenario);
        let is_this = |of: &CounterSource| is_local(of) && of.kind != CountedDevice::Switch;
        let own = (!scenario.lab.counters.iter().any(is_this)).then(CpuSampler::default);
        let (hops, owners, shares) = (Vec::new(), Owners::default(), None);
        let disks = DiskSampler::default();
        let (tcp, news) = (None, Vec::new());
        let (agents, same, places) = (Vec::new(), Vec::new(), Vec::new());
        Some(CountedHops {
            sources,
            lab,
            hops,
            owners,
            shares,
            own,
            disks,
            tcp,
            agents,
            same,
            places,
            news,
        })
    }

    /// Those of a scenario that agents of other machines carry: of what these count themselves, they say which it is.
    pub fn beside(scenario: &scenario::Scenario, agents: Vec<OneSource>) -> Option<CountedHops> {
        Some(CountedHops { agents, own: None, ..CountedHops::of(scenario)? })
    }

    fn warn(&mut self, code: &str, text: String) {
        let (at, code) = (clock::now(), code.to_owned());
        self.news.push(SamplerNews { at, level: Level::Warning, code, text });
    }

    /// What one source counts of the step, with its places.
    fn source(&mut self, at: usize, used: &BTreeSet<String>, lost: &mut Vec<Lost>) -> Found {
        let (source, found) = self.sources.found(at, clock::now().plus(DISCOVERY));
        for (name, why) in &found.troubles {
            let text = format!("{name}: {why}; its hops have no counters");
            self.warn("counters-lost", text);
        }
        let map = HopMap::of(&source, &found.places, &self.lab, used);
        lost.extend(map.lost.iter().map(|of| {
            let why = format!("{} counts nothing that is `{}`", source.from, of.is);
            (of.hop.clone(), mapping::port_of(source.kind), why)
        }));
        let places = found.places.iter().map(|(_, place)| place);
        let one = OneSource {
            device: source.device.clone(),
            from: source.from.to_string(),
            rank: joined::rank(&source.from),
            own: false,
            machine: sources::machine(places),
            known_as: map.hops.iter().map(|of| known_as(&found.places[of.place].1)).collect(),
            hops: map.hops,
        };
        (one, found.places)
    }

    /// Says of hops that several sources count which counters are from which, when it changes.
    fn tell_shares(&mut self) {
        let shares = self.owners.shares();
        if !shares.is_empty() && self.shares.as_ref() != Some(&shares) {
            for text in &shares {
                let (at, code) = (clock::now(), "counters-joined".to_owned());
                self.news.push(SamplerNews { at, level: Level::Info, code, text: text.clone() });
            }
            self.shares = Some(shares);
        }
    }

    /// This program's own look at the processors as a source, in steps that load them.
    fn processors(&mut self, step: &StepSpec) -> Option<Found> {
        let hop = self.own.as_mut()?.hops(step).pop()?;
        let (name, kind, by) = (hop.name, hop.kind, String::new());
        let hops = vec![MappedHop { name, kind, place: 0, at_source: 0, by, flipped: false }];
        let machine = sources::this_machine();
        let (device, from) = (PROCESSORS.to_owned(), "local".to_owned());
        let known_as = vec![BTreeSet::new()];
        let one = OneSource { device, from, rank: 0, own: true, machine, hops, known_as };
        Some((one, Vec::new()))
    }

    /// The disks under the step's targets, as this machine's kernel counts there.
    fn disks(&mut self, step: &StepSpec) -> Option<(OneSource, Vec<SampledHop>)> {
        let disks = self.disks.hops(step);
        if disks.is_empty() {
            return None;
        }
        let hop = |(place, hop): (usize, &SampledHop)| MappedHop {
            name: hop.name.clone(),
            kind: hop.kind,
            place,
            at_source: place,
            by: String::new(),
            flipped: false,
        };
        let own = |device: &BlockDevice| joined::of_disk(device.name(), device.identities());
        let host = self.sources.all().iter().find(|source| sources::is_local_host(source));
        let one = OneSource {
            device: host.map(|of| of.device.clone()).unwrap_or_default(),
            from: "local".to_owned(),
            rank: 0,
            own: true,
            machine: sources::this_machine(),
            hops: disks.iter().enumerate().map(hop).collect(),
            known_as: self.disks.devices.iter().map(own).collect(),
        };
        Some((one, disks))
    }

    /// The hops of all sources, each place once.
    fn all(&mut self, step: &StepSpec, out: &mut Vec<SampledHop>) {
        let (used, mut lost) = (disks(step), Vec::new());
        let mut found: Vec<Found> =
            (0..self.sources.all().len()).map(|at| self.source(at, &used, &mut lost)).collect();
        found.extend(self.processors(step));
        let disks = self.disks(step);
        let own = disks.as_ref().map(|_| found.len());
        let disks = disks.map(|(one, hops)| (found.push((one, Vec::new())), hops).1);
        let (mut ones, places): (Vec<OneSource>, Vec<Vec<(usize, Place)>>) =
            found.into_iter().unzip();
        let counted_here = ones.len();
        ones.extend(self.agents.iter().cloned());
        let (mut hops, said) = joined::joined(&ones);
        self.same = agents::same(&ones, &hops, counted_here);
        self.places.clear();
        hops.retain(|hop| hop.source < counted_here);
        said.into_iter().for_each(|said| self.warn(said.code, said.text));
        let mut counted = Vec::new();
        for hop in hops {
            let disk = disks.as_ref().filter(|_| own == Some(hop.source)).map(|of| &of[hop.hop]);
            if out.len() >= HOPS_MAX && disk.is_none() {
                let text = format!("more than {HOPS_MAX} hops; the rest is left out");
                self.warn("counters-left-out", text);
                break;
            }
            let (one, mapped) = (&ones[hop.source], &ones[hop.source].hops[hop.hop]);
            let mut facts = agents::facts(&self.same, &hop.name, &one.from);
            facts.push(("counters-from".to_owned(), one.from.clone()));
            facts.extend(
                hop.by.map(|by| ("joined".to_owned(), format!("{}, by {by}", mapped.name))),
            );
            let place = places[hop.source].get(mapped.place);
            if let Some((_, place)) = place {
                facts.push(("identity".to_owned(), mapped.by.clone()));
                facts.extend(place.facts.iter().cloned());
            }
            if let Some(disk) = disk {
                // Findings compare with what was asked of this disk.
                facts.push(("block-device".to_owned(), disk.name.clone()));
                facts.extend(disk.facts.iter().cloned());
            }
            counted.push((hop.name.clone(), one.from.clone()));
            let from = match (disk, place) {
                (Some(_), _) => CountedFrom::Disk(hop.hop),
                (None, Some((watch, _))) => CountedFrom::Watch(*watch, mapped.at_source),
                (None, None) => CountedFrom::Processors,
            };
            self.hops.push(CountedHop { from, flipped: mapped.flipped });
            let own = match (disk, place) {
                (Some(disk), _) => Some(disk_place(&disk.name)),
                (None, Some((_, place))) => self.own_place(hop.source, mapped.kind, place),
                (None, None) => Some(CPU.to_owned()),
            };
            self.places.extend(own.and_then(|own| facts::place(&hop.name, own)));
            let kind = self.lab.kind(&hop.name).filter(|_| disk.is_some()).unwrap_or(mapped.kind);
            out.push(SampledHop { name: hop.name, kind, facts });
        }
        for (name, port, why) in lost {
            if out.iter().all(|hop| hop.name != name) {
                let facts = vec![("counters".to_owned(), why)];
                let kind = self.lab.kind(&name).unwrap_or(port);
                counted.push((name.clone(), String::new()));
                out.push(SampledHop { name, kind, facts });
                self.hops.push(CountedHop { from: CountedFrom::Nothing, flipped: false });
            }
        }
        self.owners = Owners::of(counted);
    }

    /// What a place of a source is among those of this machine; `None` where the source asks others. One port may be a hop of a host and
    /// one of an array, which look at it from two sides.
    fn own_place(&self, source: usize, kind: HopKind, place: &Place) -> Option<String> {
        is_local(self.sources.all().get(source)?).then(|| match place.kind {
            Some(HopKind::HostCpu) => CPU.to_owned(),
            Some(HopKind::InitiatorPort) => {
                format!("{} {} {}", kind.word(), facts::network(), place.name)
            }
            _ => format!("{} {}", kind.word(), place.name),
        })
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

/// What a place is known by, for places of other sources.
fn known_as(place: &Place) -> BTreeSet<String> {
    match place.kind {
        Some(HopKind::BlockDevice) => joined::of_disk(&place.name, place.ids.clone()),
        _ => place.ids.clone(),
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
        self.all(step, &mut out);
        self.sessions(step, &mut out);
        out
    }

    fn same(&self) -> Vec<SameHop> {
        self.same.clone()
    }

    fn places(&self) -> Vec<MachinePlace> {
        self.places.clone()
    }

    fn sample(&mut self) -> Vec<Sample> {
        // Those of this machine are of this moment, whatever others take for their answer.
        let mut disks = self.disks.sample();
        let mut own = self.own.as_mut().map(Sampler::sample).unwrap_or_default();
        let until = clock::now().plus(ANSWER);
        let watch = |hop: &CountedHop| match hop.from {
            CountedFrom::Watch(watch, _) => Some(watch),
            _ => None,
        };
        let mut used: BTreeSet<usize> = self.hops.iter().filter_map(watch).collect();
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
            let CountedFrom::Watch(at, place) = hop.from else { return None };
            let totals = totals[at].as_ref()?;
            let readings = totals.places.get(place).filter(|of| !of.is_empty())?;
            let reading = |(counter, value): &(CounterId, f64)| HopReading {
                counter: if hop.flipped { turned(*counter) } else { *counter },
                value: *value,
            };
            Some(Sample { at: totals.at, readings: readings.iter().map(reading).collect() })
        };
        let mut at_hop = |hop: &CountedHop| match hop.from {
            CountedFrom::Processors => own.pop().unwrap_or_else(none),
            CountedFrom::Disk(at) => disks.get_mut(at).map_or_else(none, |of| Sample {
                at: of.at,
                readings: std::mem::take(&mut of.readings),
            }),
            _ => sample(hop).unwrap_or_else(none),
        };
        let mut out: Vec<Sample> = self.hops.iter().map(&mut at_hop).collect();
        let counted = out.len();
        out.extend(tcp.map(|watch| {
            let totals = watch.latest(until);
            let readings =
                totals.as_ref().and_then(|of| of.places.first()).cloned().unwrap_or_default();
            let of = |(counter, value)| HopReading { counter, value };
            let at = totals.map_or_else(clock::now, |of| of.at);
            Sample { at, readings: readings.into_iter().map(of).collect() }
        }));
        for text in self.owners.take(&mut out[..counted]) {
            let (at, code) = (clock::now(), "counters-conflict".to_owned());
            self.news.push(SamplerNews { at, level: Level::Warning, code, text });
        }
        self.tell_shares();
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
