//! What one place of the network did between two looks at it: the engine's tallies as sums of seconds.

use super::meter::Meter;
use crate::engine::{PartTransfers, Simulation, Snapshot};
use crate::model::{Network, Pool, Station, StationId};
use crate::plant::HopElement;
use crate::statistics::Tally;

/// Picoseconds of a second.
const SECOND: f64 = 1e12;

/// A place over a span. Reads, then writes; times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ElementCounts {
    pub ops: [f64; 2],
    pub bytes: [f64; 2],
    /// Bytes on the wire, of both directions.
    pub carried: f64,
    /// Stays, summed over the I/Os.
    pub stayed: [f64; 2],
    /// I/Os present, and those of them that waited, by time.
    pub present: f64,
    pub waiting: f64,
    /// Whether it serves anybody, and how long it did with all it has.
    pub serves: bool,
    pub busy: f64,
    /// Tokens of a queue limit, and those that were taken, by time.
    pub tokens: f64,
    pub taken: f64,
}

/// Looks at all places.
pub(super) struct ElementCounters {
    stations: Vec<Station>,
    pools: Vec<Pool>,
    last: Snapshot,
    span: Snapshot,
    /// Of each link until now, and since the look before.
    links: Vec<Vec<LinkCounts>>,
    crossed: Vec<Vec<LinkCounts>>,
}

/// What a link did.
#[derive(Clone, Copy, Debug, Default)]
struct LinkCounts {
    /// Bytes on the wire.
    carried: f64,
    /// Transfers of payload that ended.
    tally: Tally,
    /// I/Os and bytes of payload, of transfers that are going on by the part that is done.
    ops: [f64; 2],
    bytes: [f64; 2],
}

impl LinkCounts {
    fn of(carried: f64, tally: Tally, parts: PartTransfers) -> LinkCounts {
        let (all, writes) = (tally.departures as f64, tally.writes as f64);
        let ops = [all - writes + parts.ops[0], writes + parts.ops[1]].map(f64::floor);
        let bytes = [0, 1].map(|way| (tally.bytes[way] as f64 + parts.bytes[way]).floor());
        LinkCounts { carried, tally, ops, bytes }
    }

    /// The difference from `earlier`. What was given up in between is not subtracted.
    fn since(&self, earlier: &LinkCounts) -> LinkCounts {
        let less =
            |now: [f64; 2], then: [f64; 2]| [0, 1].map(|way| (now[way] - then[way]).max(0.0));
        LinkCounts {
            carried: (self.carried - earlier.carried).max(0.0),
            tally: self.tally.since(&earlier.tally),
            ops: less(self.ops, earlier.ops),
            bytes: less(self.bytes, earlier.bytes),
        }
    }
}

impl ElementCounters {
    /// Of a network that has not moved yet.
    pub fn new(network: &Network) -> ElementCounters {
        let links = |station: &Station| match station {
            Station::Links { rates } => vec![LinkCounts::default(); rates.len()],
            _ => Vec::new(),
        };
        let none: Vec<Vec<LinkCounts>> = network.stations().iter().map(links).collect();
        ElementCounters {
            stations: network.stations().to_vec(),
            pools: network.pools().to_vec(),
            last: Snapshot::default(),
            span: Snapshot::default(),
            links: none.clone(),
            crossed: none,
        }
    }

    /// Takes in what happened since the last look.
    pub fn look(&mut self, simulation: &mut Simulation<Meter>) {
        let now = simulation.snapshot();
        self.span = match self.last.stations.is_empty() && self.last.pools.is_empty() {
            true => now.clone(),
            false => now.since(&self.last),
        };
        self.last = now;
        for (number, station) in (0..).zip(&self.stations) {
            if !matches!(station, Station::Links { .. }) {
                continue;
            }
            let id = StationId(number);
            let (carried, tallies) = (simulation.carried(id), simulation.crossed(id));
            let parts = simulation.part_transfers(id);
            let now = carried.into_iter().zip(tallies).zip(parts);
            let now: Vec<LinkCounts> = now
                .map(|((carried, tally), parts)| LinkCounts::of(carried, tally, parts))
                .collect();
            let before = &self.links[number as usize];
            let span = now.iter().zip(before).map(|(now, before)| now.since(before));
            self.crossed[number as usize] = span.collect();
            self.links[number as usize] = now;
        }
    }

    /// Seconds between the last two looks.
    pub fn span(&self) -> f64 {
        self.span.at.as_secs_f64()
    }

    /// A place between the last two looks.
    pub fn of(&self, place: HopElement) -> ElementCounts {
        match place {
            HopElement::Station(id) => self.station(id).unwrap_or_default(),
            HopElement::ReadLink(id, link) => {
                self.link(id, link, [true, false]).unwrap_or_default()
            }
            HopElement::WriteLink(id, link) => {
                self.link(id, link, [false, true]).unwrap_or_default()
            }
            HopElement::BothLink(id, link) => self.link(id, link, [true, true]).unwrap_or_default(),
            HopElement::Pool(id) => {
                let number = id.0 as usize;
                let (pool, tally) = (self.pools.get(number), self.span.pools.get(number));
                pool.zip(tally).map(|(pool, tally)| limit(pool, tally)).unwrap_or_default()
            }
        }
    }

    fn station(&self, id: StationId) -> Option<ElementCounts> {
        let tally = self.span.stations.get(id.0 as usize)?;
        let seen = traffic(tally, [true, true]);
        let busy = tally.busy as f64 / SECOND;
        let servers = match self.stations.get(id.0 as usize)? {
            Station::Queue { servers, .. }
            | Station::Sharing { servers }
            | Station::Sorted { servers, .. } => f64::from(*servers),
            Station::Processors { count, .. } => f64::from(*count),
            // Nobody waits, and nothing can be full.
            _ => return Some(ElementCounts { waiting: 0.0, ..seen }),
        };
        // A server that is blocked by what is behind it is not at work, and whom it keeps waits.
        let waiting = (seen.present - busy).max(0.0);
        Some(ElementCounts { serves: true, busy: busy / servers, waiting, ..seen })
    }

    fn link(&self, id: StationId, link: u16, counted: [bool; 2]) -> Option<ElementCounts> {
        let of = self.crossed.get(id.0 as usize)?.get(usize::from(link))?;
        let Station::Links { rates } = self.stations.get(id.0 as usize)? else { return None };
        let busy = of.carried / *rates.get(usize::from(link))? as f64;
        let only = |both: [f64; 2]| [0, 1].map(|way| if counted[way] { both[way] } else { 0.0 });
        // Data that crosses a wire counts for its direction, also that of streams between hosts, which write at one end's wires
        // and are read at the other's. What carries no data has no bytes.
        let sum = of.bytes[0] + of.bytes[1];
        let bytes = match counted {
            [true, true] => of.bytes,
            one => one.map(|counts| if counts { sum } else { 0.0 }),
        };
        let seen = ElementCounts {
            ops: only(of.ops),
            bytes,
            carried: of.carried,
            ..traffic(&of.tally, counted)
        };
        // All who cross are served at once; as many as the wire would take one after the other do not wait.
        let waiting = (seen.present - busy).max(0.0);
        Some(ElementCounts { serves: true, busy, waiting, ..seen })
    }
}

/// What is counted of a tally, of the directions that the place is for.
fn traffic(tally: &Tally, counted: [bool; 2]) -> ElementCounts {
    let both = |read: f64, write: f64| {
        [if counted[0] { read } else { 0.0 }, if counted[1] { write } else { 0.0 }]
    };
    let (ops, writes) = (tally.departures as f64, tally.writes as f64);
    let (stayed, writing) = (tally.stayed as f64 / SECOND, tally.stayed_writing as f64 / SECOND);
    ElementCounts {
        ops: both(ops - writes, writes),
        bytes: both(tally.bytes[0] as f64, tally.bytes[1] as f64),
        stayed: both(stayed - writing, writing),
        present: tally.present as f64 / SECOND,
        ..ElementCounts::default()
    }
}

/// A queue limit: who is present waits for tokens.
fn limit(pool: &Pool, tally: &Tally) -> ElementCounts {
    let seen = traffic(tally, [true, true]);
    ElementCounts {
        waiting: seen.present,
        tokens: f64::from(pool.tokens),
        taken: tally.busy as f64 / SECOND,
        ..seen
    }
}
