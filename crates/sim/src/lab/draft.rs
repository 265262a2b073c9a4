//! A plant under construction: the hops of a topology, to which the compilers of the lab's parts add stations, queue limits
//! and wires.
//!
//! Wires are the links of fair-sharing stations ([`Station::Links`]). While a lab is compiled they are all in one list,
//! because it is not known yet which of them are crossed together. [`Draft::finish`] divides them: wires that some I/O
//! crosses at once belong to one station, others do not, which changes no rate (max-min fairness couples only what shares
//! a transfer) and keeps the division of rates small. Nothing here depends on the kind of a part.

use super::visits;
use crate::Ps;
use crate::model::{
    Change, HOPS_MAX, Hop, Load, LoadId, Network, NetworkError, Pool, PoolId, Station, StationId,
};
use crate::plant::{
    Assumption, HopElement, HopLimits, Issuer, MachinePair, Plant, PlantHop, PlantNote,
};
use scenario::topology::{HopId, Topology};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use thiserror::Error;

/// Stands for the station of all wires until they are divided. No network has this many stations.
const WIRES: StationId = StationId(u32::MAX);
/// Until then a transfer has, in place of its station, the number of its crossing, from here on.
const CROSSINGS: u32 = 1 << 31;

/// A wire of a [`Draft`], for one direction or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wire(u16);

/// The traffic of a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireDirection {
    /// Reads: towards the guest.
    Read,
    /// Writes: towards the device.
    Write,
    /// Both, so it limits their sum.
    Both,
}

impl WireDirection {
    fn link(self, wire: Wire) -> HopElement {
        match self {
            WireDirection::Read => HopElement::ReadLink(WIRES, wire.0),
            WireDirection::Write => HopElement::WriteLink(WIRES, wire.0),
            WireDirection::Both => HopElement::BothLink(WIRES, wire.0),
        }
    }
}

/// Why a draft cannot become a plant.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum DraftError {
    /// More wires than link numbers.
    #[error("the lab has more than {0} directions of ports and links; simulate a part of it")]
    TooManyWires(usize),
    /// A member's disk is reached by too many paths.
    #[error(
        "an I/O of `{member}` would have {hops} hops over all its paths, and at most {} are simulated: zone its \
         host to fewer ports of the array",
        HOPS_MAX
    )]
    TooManyPaths {
        /// The member.
        member: String,
        /// Hops of all its paths.
        hops: usize,
    },
    /// The load of a member cannot be simulated.
    #[error("the load of `{member}`: {problem}")]
    Load {
        /// The member.
        member: String,
        /// What is wrong.
        problem: String,
    },
    /// The resulting network cannot be simulated.
    #[error(transparent)]
    Network(NetworkError),
}

impl DraftError {
    /// The member that it concerns, if any.
    pub fn member(&self) -> Option<&str> {
        match self {
            DraftError::TooManyPaths { member, .. } | DraftError::Load { member, .. } => {
                Some(member)
            }
            DraftError::TooManyWires(_) | DraftError::Network(_) => None,
        }
    }

    /// The error in the scenario's words, where a member's load caused it.
    fn of(error: NetworkError, issuers: &[Issuer]) -> DraftError {
        let member = |load: usize| {
            let issuer = issuers.iter().find(|issuer| issuer.load.0 as usize == load)?;
            Some(issuer.group.clone())
        };
        match error {
            NetworkError::Long { load, hops } => match member(load) {
                Some(member) => DraftError::TooManyPaths { member, hops },
                None => DraftError::Network(error),
            },
            NetworkError::Load { load, ref problem }
            | NetworkError::Hop { load, ref problem, .. } => match member(load) {
                Some(member) => DraftError::Load { member, problem: problem.clone() },
                None => DraftError::Network(error),
            },
            error => DraftError::Network(error),
        }
    }
}

/// A plant under construction.
#[derive(Clone, Debug)]
pub struct Draft {
    network: Network,
    hops: Vec<PlantHop>,
    issuers: Vec<Issuer>,
    assumptions: BTreeSet<Assumption>,
    pairs: Vec<MachinePair>,
    notes: BTreeSet<PlantNote>,
    /// Rate of each wire in bytes a second.
    wires: Vec<u64>,
    crossings: Crossings,
    too_many: bool,
}

impl Draft {
    /// Every hop of `topology` in order, without elements and limits.
    pub fn new(topology: &Topology) -> Draft {
        let hops = topology.hops.iter().map(|hop| PlantHop {
            name: hop.name.clone(),
            kind: hop.kind,
            device: hop.device.clone(),
            part: hop.part.clone(),
            places: Vec::new(),
            passed: Vec::new(),
            limits: HopLimits::default(),
        });
        Draft {
            network: Network::new(),
            hops: hops.collect(),
            issuers: Vec::new(),
            assumptions: BTreeSet::new(),
            pairs: Vec::new(),
            notes: BTreeSet::new(),
            wires: Vec::new(),
            crossings: Crossings::default(),
            too_many: false,
        }
    }

    /// The network so far, for adding what belongs to no hop: selectors, changes.
    pub fn network(&mut self) -> &mut Network {
        &mut self.network
    }

    /// Adds a hop that the topology lacks, after all others.
    pub fn add(&mut self, hop: PlantHop) -> HopId {
        self.hops.push(hop);
        HopId(self.hops.len() as u32 - 1)
    }

    /// A hop in its current state.
    pub fn hop(&self, hop: HopId) -> &PlantHop {
        &self.hops[hop.0 as usize]
    }

    /// The limits of a hop, for writing.
    pub fn limits(&mut self, hop: HopId) -> &mut HopLimits {
        &mut self.hops[hop.0 as usize].limits
    }

    /// Adds a station to a hop.
    pub fn station(&mut self, hop: HopId, station: Station) -> StationId {
        let station = self.network.station(station);
        self.place(hop, HopElement::Station(station));
        station
    }

    /// Adds a queue limit of at least one I/O to a hop. The smallest becomes the hop's own.
    pub fn pool(&mut self, hop: HopId, tokens: u32) -> PoolId {
        let tokens = tokens.max(1);
        let pool = self.network.pool(Pool { tokens });
        self.place(hop, HopElement::Pool(pool));
        let slots = &mut self.limits(hop).slots;
        *slots = Some(slots.map_or(tokens, |slots| slots.min(tokens)));
        pool
    }

    /// The tokens of a pool.
    pub fn tokens(&self, pool: PoolId) -> u32 {
        self.network.pools().get(pool.0 as usize).map_or(1, |pool| pool.tokens)
    }

    /// Adds a wire to a hop. Its rate in bytes a second is payload in full frames: transfers add their further overhead
    /// themselves. The slowest wire of a direction gives the hop's rate.
    pub fn wire(&mut self, hop: HopId, side: WireDirection, rate: f64) -> Wire {
        // A rate beyond u64 saturates, and is refused by the check of the network.
        let whole = (rate.round() as u64).max(1);
        let number = u16::try_from(self.wires.len()).ok().filter(|number| *number < u16::MAX);
        let Some(number) = number else {
            self.too_many = true;
            return Wire(0);
        };
        self.wires.push(whole);
        self.place(hop, side.link(Wire(number)));
        let limits = self.limits(hop);
        let limit = match side {
            WireDirection::Read => &mut limits.read_rate,
            WireDirection::Write => &mut limits.write_rate,
            WireDirection::Both => &mut limits.both_rate,
        };
        *limit = Some(limit.map_or(whole as f64, |limit| limit.min(whole as f64)));
        Wire(number)
    }

    /// Counts a hop's traffic on a wire of another hop, without taking its rate.
    pub fn carried_by(&mut self, hop: HopId, side: WireDirection, wire: Wire) {
        self.place(hop, side.link(wire));
    }

    /// From `at` on each of these wires has this rate; 0 stops it.
    pub fn change_rate(&mut self, at: Ps, wires: &[Wire], rate: f64) {
        for wire in wires {
            let rate = rate.round() as u64;
            self.network.change(at, Change::LinkRate { station: WIRES, link: wire.0, rate });
        }
    }

    /// Adds an element to a hop.
    pub fn place(&mut self, hop: HopId, place: HopElement) {
        self.hops[hop.0 as usize].places.push(place);
    }

    /// Counts a hop's traffic at this element, added to that of others like it, instead of at its places.
    pub fn pass(&mut self, hop: HopId, place: HopElement) {
        self.hops[hop.0 as usize].passed.push(place);
    }

    /// A transfer over all these wires at once, each once, with `scale` bytes for each of the I/O's and `extra` more;
    /// `None` without wires or bytes.
    pub fn cross(&mut self, wires: &[Wire], scale: f64, extra: u32) -> Option<Hop> {
        if wires.is_empty() || (scale <= 0.0 && extra == 0) {
            return None;
        }
        let mut links: Vec<u16> = wires.iter().map(|wire| wire.0).collect();
        links.sort_unstable();
        links.dedup();
        // The smallest scale of a network adds no byte to any I/O.
        let scale = scale.max(f64::MIN_POSITIVE);
        let (station, links) = self.crossings.of(links);
        Some(Hop::Cross { station, links, scale, extra })
    }

    /// Adds a load without an issuer: the lab's own work.
    pub fn load(&mut self, load: Load) -> LoadId {
        self.network.load(load)
    }

    /// Adds an issuer.
    pub fn issuer(&mut self, issuer: Issuer) {
        self.issuers.push(issuer);
    }

    /// Adds a pair of a network load.
    pub fn pair(&mut self, pair: MachinePair) {
        self.pairs.push(pair);
    }

    /// Adds a note about the model, once.
    pub fn note(&mut self, text: String) {
        self.caution("model", text);
    }

    /// Adds a reason to read the figures with care, once.
    pub fn caution(&mut self, code: &'static str, text: String) {
        self.notes.insert(PlantNote { code, text });
    }

    /// The issuers so far.
    pub fn issuers(&self) -> &[Issuer] {
        &self.issuers
    }

    /// Records a default, once per subject and figure.
    pub fn assume(&mut self, subject: &str, figure: &str, value: impl ToString, reason: &str) {
        self.assumptions.insert(Assumption {
            subject: subject.to_owned(),
            figure: figure.to_owned(),
            value: value.to_string(),
            reason: reason.to_owned(),
        });
    }

    /// Finishes the plant: divides the wires among stations, and checks everything.
    ///
    /// # Errors
    /// There are too many wires, or the network cannot be simulated.
    pub fn finish(self) -> Result<Plant, DraftError> {
        if self.too_many {
            return Err(DraftError::TooManyWires(usize::from(u16::MAX) - 1));
        }
        let Draft { mut network, mut hops, issuers, assumptions, pairs, notes, .. } = self;
        let used = self.crossings.used(&network);
        let division = Division::of(&mut network, &self.wires, &used);
        let placed: Vec<PlacedCrossing> = used.iter().map(|set| division.crossing(set)).collect();
        let crossed = placed.iter().flat_map(|(at, links)| links.iter().map(|link| (*at, *link)));
        let crossed = crossed.collect();
        let mut copies = CopyRoutes::new();
        for class in network.loads.iter_mut().flat_map(|load| &mut load.classes) {
            place_crossings(&mut class.route, &placed, &mut copies);
        }
        for (_, change) in &mut network.changes {
            if let Change::LinkRate { station, link, .. } = change
                && *station == WIRES
            {
                *station = division.station(&[*link]);
                *link = division.link(*link);
            }
        }
        for place in hops.iter_mut().flat_map(|hop| &mut hop.places) {
            if let HopElement::ReadLink(station, link)
            | HopElement::WriteLink(station, link)
            | HopElement::BothLink(station, link) = place
                && *station == WIRES
            {
                *station = division.station(&[*link]);
                *link = division.link(*link);
            }
        }
        visits::count_once(&network, &mut hops);
        visits::leave_out(&network, &crossed, &mut hops);
        network.check().map_err(|error| DraftError::of(error, &issuers))?;
        let (assumptions, notes) = (assumptions.into_iter().collect(), notes.into_iter().collect());
        Ok(Plant { network, hops, issuers, assumptions, pairs, notes })
    }
}

/// The station and link of each wire.
struct Division(Vec<(StationId, u16)>);

/// The sets of wires that transfers cross, each once: paths share them.
#[derive(Clone, Debug, Default)]
struct Crossings {
    numbers: BTreeMap<Arc<[u16]>, u32>,
    /// By number.
    sets: Vec<Arc<[u16]>>,
}

/// The station and the links of a crossing.
type PlacedCrossing = (StationId, Arc<[u16]>);

impl Division {
    /// Adds a station to `network` for each set of wires connected by crossings, and one for unused wires. Wires of one
    /// rate that are always crossed together become one link: a port, its cable and the port at the other end.
    fn of(network: &mut Network, wires: &[u64], used: &[Arc<[u16]>]) -> Division {
        let mut tied = Tied::of(wires.len(), used);
        // A wire whose rate changes stays separate.
        let mut changes = vec![false; wires.len()];
        for (_, change) in &network.changes {
            if let Change::LinkRate { station: WIRES, link, .. } = change {
                changes[usize::from(*link)] = true;
            }
        }
        // A set is identified by its lowest wire; unused wires are one set, identified by the first of them.
        let idle = tied.crossings.iter().position(Vec::is_empty);
        let mut rates: Vec<Vec<u64>> = vec![Vec::new(); wires.len()];
        let mut alike: BTreeMap<(Vec<u32>, u64), (usize, u16)> = BTreeMap::new();
        let mut homes = Vec::with_capacity(wires.len());
        for (wire, rate) in (0_u16..).zip(wires) {
            let number = usize::from(wire);
            let crossed = std::mem::take(&mut tied.crossings[number]);
            let set = match idle {
                Some(idle) if crossed.is_empty() => idle,
                _ => root(&mut tied.lower, wire),
            };
            // No set is larger than the list of all wires, which has u16 numbers.
            let new = (set, rates[set].len() as u16);
            let single = crossed.is_empty() || changes[number];
            let home = if single { new } else { *alike.entry((crossed, *rate)).or_insert(new) };
            if home == new {
                rates[set].push(*rate);
            }
            homes.push(home);
        }
        let mut stations = vec![WIRES; wires.len()];
        for (set, rates) in rates.into_iter().enumerate().filter(|(_, rates)| !rates.is_empty()) {
            stations[set] = network.station(Station::Links { rates });
        }
        Division(homes.into_iter().map(|(set, link)| (stations[set], link)).collect())
    }

    /// The station of wires that are crossed together.
    fn station(&self, wires: &[u16]) -> StationId {
        wires.first().map_or(WIRES, |wire| self.0[usize::from(*wire)].0)
    }

    fn link(&self, wire: u16) -> u16 {
        self.0[usize::from(wire)].1
    }

    fn crossing(&self, wires: &[u16]) -> PlacedCrossing {
        let mut links: Vec<u16> = wires.iter().map(|wire| self.link(*wire)).collect();
        links.sort_unstable();
        links.dedup();
        (self.station(wires), links.into())
    }
}

impl Crossings {
    /// What stands for the station of a crossing of `links`, which are sorted; and the links, shared.
    fn of(&mut self, links: Vec<u16>) -> PlacedCrossing {
        if let Some((links, number)) = self.numbers.get_key_value(links.as_slice()) {
            return (StationId(CROSSINGS + number), Arc::clone(links));
        }
        let (links, number): (Arc<[u16]>, _) = (links.into(), self.sets.len() as u32);
        self.numbers.insert(Arc::clone(&links), number);
        self.sets.push(Arc::clone(&links));
        (StationId(CROSSINGS + number), links)
    }

    /// The sets by number, those empty that no route of `network` crosses.
    fn used(&self, network: &Network) -> Vec<Arc<[u16]>> {
        let mut used = vec![Arc::default(); self.sets.len()];
        let mut copies = BTreeSet::new();
        for class in network.loads.iter().flat_map(|load| &load.classes) {
            each_crossing(&class.route, &mut copies, &mut |number| {
                let set: &mut Arc<[u16]> = &mut used[number];
                if set.is_empty() {
                    *set = Arc::clone(&self.sets[number]);
                }
            });
        }
        used
    }
}

/// Which wires are crossed together.
struct Tied {
    /// By wire: the numbers of its crossings.
    crossings: Vec<Vec<u32>>,
    /// By wire: a lower one of its set, or itself.
    lower: Vec<usize>,
}

impl Tied {
    /// `used` are the crossings by number; their wires are sorted.
    fn of(wires: usize, used: &[Arc<[u16]>]) -> Tied {
        let mut tied = Tied { crossings: vec![Vec::new(); wires], lower: (0..wires).collect() };
        for (number, links) in (0..).zip(used) {
            links.iter().for_each(|link| tied.crossings[usize::from(*link)].push(number));
            for pair in links.windows(2) {
                let (a, b) = (root(&mut tied.lower, pair[0]), root(&mut tied.lower, pair[1]));
                tied.lower[a.max(b)] = a.min(b);
            }
        }
        tied
    }
}

/// The lowest wire of a set, with path halving.
fn root(tied: &mut [usize], wire: u16) -> usize {
    let mut at = usize::from(wire);
    while tied[at] != at {
        tied[at] = tied[tied[at]];
        at = tied[at];
    }
    at
}

/// Routes of background copies that were visited: as they were, and as they are now. Clones of one stay clones of one.
type CopyRoutes = BTreeMap<*const Hop, [Arc<[Hop]>; 2]>;

/// The number of a crossing that has no station yet.
fn crossing_of(station: StationId) -> Option<usize> {
    station.0.checked_sub(CROSSINGS).map(|number| number as usize)
}

/// The number of every crossing of a route and its inner routes; those of a copy's route that several share, once.
fn each_crossing(route: &[Hop], copies: &mut BTreeSet<*const Hop>, to: &mut dyn FnMut(usize)) {
    for hop in route {
        match hop {
            Hop::Cross { station, .. } => crossing_of(*station).into_iter().for_each(&mut *to),
            Hop::Branch { arms: routes, .. } | Hop::Together { routes } => {
                routes.iter().for_each(|route| each_crossing(route, copies, to));
            }
            Hop::Fork { route } if copies.insert(route.as_ptr()) => {
                each_crossing(route, copies, to);
            }
            _ => {}
        }
    }
}

/// Gives every crossing of a route and its inner routes its station and links; those of a copy's route that several share,
/// once.
fn place_crossings(route: &mut [Hop], placed: &[PlacedCrossing], copies: &mut CopyRoutes) {
    for hop in route {
        match hop {
            Hop::Cross { station, links, .. } => {
                if let Some(found) = crossing_of(*station).and_then(|number| placed.get(number)) {
                    (*station, *links) = found.clone();
                }
            }
            Hop::Branch { arms: routes, .. } | Hop::Together { routes } => {
                routes.iter_mut().for_each(|route| place_crossings(route, placed, copies));
            }
            Hop::Fork { route } => match copies.get(&route.as_ptr()) {
                Some([_, now]) => *route = now.clone(),
                None => {
                    let mut now: Arc<[Hop]> = route.iter().cloned().collect();
                    if let Some(hops) = Arc::get_mut(&mut now) {
                        place_crossings(hops, placed, copies);
                    }
                    let was = std::mem::replace(route, now);
                    copies.insert(was.as_ptr(), [was, route.clone()]);
                }
            },
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Class, Law};
    use scenario::topology::{Hop as Stop, HopKind};

    fn topology(names: &[&str]) -> Topology {
        let hop = |name: &&str| Stop {
            name: (*name).to_owned(),
            kind: HopKind::Link,
            device: (*name).to_owned(),
            part: None,
            count: 1,
        };
        Topology { hops: names.iter().map(hop).collect(), ..Topology::default() }
    }

    /// Four links of 1, 2, 3 and 4 kB/s; those in a group are crossed together. Checks the station and link that each
    /// becomes.
    #[track_caller]
    fn check(groups: &[&[usize]], expected: [(u32, u16); 4]) {
        let mut draft = Draft::new(&topology(&["a", "b", "c", "d"]));
        let wires: Vec<Wire> = (0..4_u32)
            .map(|link| draft.wire(HopId(link), WireDirection::Read, f64::from(link + 1) * 1e3))
            .collect();
        for group in groups {
            let crossed: Vec<Wire> = group.iter().map(|wire| wires[*wire]).collect();
            let route = draft.cross(&crossed, 1.0, 0).into_iter().collect();
            draft.load(Load::closed(1, Law::Constant(Ps(1)), Class::read(512, route)));
        }
        let plant = draft.finish().expect("a plant");
        let places: Vec<(u32, u16)> = plant
            .hops
            .iter()
            .map(|hop| match hop.places[..] {
                [HopElement::ReadLink(station, link)] => (station.0, link),
                _ => panic!("{:?}", hop.places),
            })
            .collect();
        assert_eq!(places, expected, "{groups:?}");
        for (number, (station, link)) in (1..).zip(places) {
            let Station::Links { rates } = &plant.network.stations()[station as usize] else {
                panic!("no links");
            };
            assert_eq!(rates[usize::from(link)], number * 1000, "each keeps its rate");
        }
    }

    #[test]
    fn wires_that_are_crossed_together_share_a_station() {
        check(&[], [(0, 0), (0, 1), (0, 2), (0, 3)]);
        check(&[&[0, 1], &[2, 3]], [(0, 0), (0, 1), (1, 0), (1, 1)]);
        check(&[&[0, 3], &[1], &[2]], [(0, 0), (1, 0), (2, 0), (0, 1)]);
        check(&[&[3, 1], &[1, 2]], [(0, 0), (1, 0), (1, 1), (1, 2)]);
        check(&[&[0, 1], &[2, 3], &[3, 0]], [(0, 0), (0, 1), (0, 2), (0, 3)]);
        check(&[&[1]], [(0, 0), (1, 0), (0, 1), (0, 2)]);
    }

    /// Three wires of 1 kB/s, all crossed together by one I/O, the last by another as well: the first two become one
    /// link, unless one of them changes.
    #[test]
    fn wires_always_crossed_together_are_one_link() {
        for changes in [false, true] {
            let mut draft = Draft::new(&topology(&["a", "b", "c"]));
            let wires: Vec<Wire> =
                (0..3).map(|link| draft.wire(HopId(link), WireDirection::Write, 1e3)).collect();
            for crossed in [&wires[..], &wires[2..]] {
                let route = draft.cross(crossed, 1.0, 0).into_iter().collect();
                draft.load(Load::closed(1, Law::Constant(Ps(1)), Class::write(512, route)));
            }
            if changes {
                draft.change_rate(Ps(5), &wires[..1], 500.0);
            }
            let plant = draft.finish().expect("a plant");
            let links: Vec<HopElement> =
                plant.hops.iter().flat_map(|hop| hop.places.clone()).collect();
            let link = |number| HopElement::WriteLink(StationId(0), number);
            let expected = match changes {
                false => [link(0), link(0), link(1)],
                true => [link(0), link(1), link(2)],
            };
            assert_eq!(links, expected);
        }
    }

    #[test]
    fn limits_are_the_tightest() {
        let mut draft = Draft::new(&topology(&["a"]));
        let hop = HopId(0);
        draft.wire(hop, WireDirection::Read, 5e8);
        draft.wire(hop, WireDirection::Read, 4e8);
        draft.wire(hop, WireDirection::Both, 7e8);
        draft.pool(hop, 32);
        draft.pool(hop, 64);
        draft.pool(hop, 0);
        let limits = *draft.limits(hop);
        assert_eq!((limits.read_rate, limits.write_rate), (Some(4e8), None));
        assert_eq!((limits.both_rate, limits.slots), (Some(7e8), Some(1)));
    }

    #[test]
    fn nothing_to_carry_is_no_crossing() {
        let mut draft = Draft::new(&topology(&["a"]));
        let wire = draft.wire(HopId(0), WireDirection::Write, 1e6);
        assert_eq!(draft.cross(&[], 1.0, 0), None);
        assert_eq!(draft.cross(&[wire], 0.0, 0), None);
        assert!(draft.cross(&[wire, wire], 0.0, 92).is_some(), "and a wire twice is crossed once");
    }

    #[test]
    fn an_assumption_is_kept_once() {
        let mut draft = Draft::new(&topology(&["a"]));
        for _ in 0..2 {
            draft.assume("a", "latency", "0 s", "not published");
        }
        assert_eq!(draft.finish().expect("a plant").assumptions.len(), 1);
    }

    #[test]
    fn too_many_wires_are_refused() {
        let mut draft = Draft::new(&topology(&["a"]));
        for _ in 0..=u16::MAX {
            draft.wire(HopId(0), WireDirection::Read, 1e6);
        }
        assert_eq!(draft.finish().err(), Some(DraftError::TooManyWires(65_534)));
    }
}
