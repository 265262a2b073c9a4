//! The same rules as the engine's, told a second time as plainly as possible: a binary heap of boxed closures, customers
//! behind reference counts, lines that are deques, shared servers that touch every customer at every change.

use clock::Rng;
use sim::Ps;
use sim::model::Source as Origin;
use sim::model::{Class, Full, Hop, Network, PRIORITIES, Station};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

/// (station, class, moment) of every time that somebody was served, and (class, due, moment, lost) of every end.
#[derive(Default, PartialEq, Debug)]
pub struct Story {
    pub served: Vec<(u32, u32, u64)>,
    pub ended: Vec<(u32, u64, u64, bool)>,
}

type Action = Box<dyn FnOnce(&mut World)>;

struct Event {
    order: (u64, u32, u64),
    action: Action,
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.order == other.order
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Event) -> Ordering {
        other.order.cmp(&self.order)
    }
}

struct Customer {
    load: usize,
    class: usize,
    hop: usize,
    due: u64,
    keeps: Option<usize>,
    demand: u64,
    holds: Vec<(usize, u32)>,
}

type Who = Rc<RefCell<Customer>>;

#[derive(Default)]
struct Place {
    present: u32,
    busy: u32,
    line: Vec<VecDeque<Who>>,
    door: VecDeque<Who>,
    /// Of shared stations: who, the path, and the work that is left.
    flows: Vec<(Who, Vec<u16>, i128)>,
    rates: Vec<u64>,
    at: u64,
    /// Alarms that are older are void.
    version: u64,
}

struct Source {
    rng: Rng,
    chance: Rng,
    outstanding: u32,
    due: u64,
    late: bool,
}

pub struct World {
    network: Network,
    now: u64,
    sequence: u64,
    heap: BinaryHeap<Event>,
    places: Vec<Place>,
    rngs: Vec<Rng>,
    free: Vec<u32>,
    lines: Vec<VecDeque<(Who, u32)>>,
    sources: Vec<Source>,
    ready: VecDeque<Who>,
    story: Story,
}

/// Everything that happens until `until`.
pub fn tell(network: &Network, seed: u64, until: Ps) -> Story {
    let mut world = World::new(network, seed);
    while let Some(event) = world.heap.pop() {
        if event.order.0 > until.0 {
            break;
        }
        world.now = event.order.0;
        (event.action)(&mut world);
        while let Some(who) = world.ready.pop_front() {
            world.walk(who);
        }
    }
    world.story
}

impl World {
    fn new(network: &Network, seed: u64) -> World {
        let stations = network.stations().len();
        let place = || Place {
            line: (0..PRIORITIES).map(|_| VecDeque::new()).collect(),
            ..Place::default()
        };
        let source = |load: usize| Source {
            rng: Rng::keyed(seed, &[2, load as u64, 0]),
            chance: Rng::keyed(seed, &[2, load as u64, 1]),
            outstanding: 0,
            due: 0,
            late: false,
        };
        let mut world = World {
            network: network.clone(),
            now: 0,
            sequence: 0,
            heap: BinaryHeap::new(),
            places: (0..stations).map(|_| place()).collect(),
            rngs: (0..stations as u64).map(|station| Rng::keyed(seed, &[1, station])).collect(),
            free: network.pools().iter().map(|pool| pool.tokens).collect(),
            lines: network.pools().iter().map(|_| VecDeque::new()).collect(),
            sources: (0..network.loads().len()).map(source).collect(),
            ready: VecDeque::new(),
            story: Story::default(),
        };
        for load in 0..network.loads().len() {
            world.begin(load);
        }
        world
    }

    fn at(&mut self, time: u64, place: usize, action: impl FnOnce(&mut World) + 'static) {
        let order = (time, place as u32, self.sequence);
        self.sequence += 1;
        self.heap.push(Event { order, action: Box::new(action) });
    }

    fn place_of(&self, load: usize) -> usize {
        self.places.len() + load
    }

    fn begin(&mut self, load: usize) {
        match self.network.loads()[load].source.clone() {
            Origin::Closed { customers, think, .. } => {
                for _ in 0..customers {
                    let pause = think.draw(&mut self.sources[load].rng).0;
                    self.at(pause, self.place_of(load), move |world| world.issue(load, None));
                }
            }
            Origin::Open { gap, .. } => {
                let due = gap.draw(&mut self.sources[load].rng).0;
                self.sources[load].due = due;
                self.at(due, self.place_of(load), move |world| world.due(load));
            }
            Origin::Operations(_) => unreachable!("told by classes alone"),
        }
    }

    fn due(&mut self, load: usize) {
        let Origin::Open { limit, .. } = self.network.loads()[load].source else { return };
        if self.sources[load].outstanding >= limit {
            self.sources[load].late = true;
        } else {
            self.arrival(load);
        }
    }

    fn arrival(&mut self, load: usize) {
        let Origin::Open { gap, limit, .. } = self.network.loads()[load].source.clone() else {
            return;
        };
        let due = self.sources[load].due;
        self.issue(load, Some(due));
        let source = &mut self.sources[load];
        source.due = due + gap.draw(&mut source.rng).0;
        source.outstanding += 1;
        source.late = source.due <= self.now && source.outstanding >= limit;
        if !source.late {
            let next = source.due.max(self.now);
            self.at(next, self.place_of(load), move |world| world.due(load));
        }
    }

    fn issue(&mut self, load: usize, due: Option<u64>) {
        let shares = match &self.network.loads()[load].source {
            Origin::Closed { shares, .. } | Origin::Open { shares, .. } => shares.clone(),
            Origin::Operations(_) => return,
        };
        let mut class = 0;
        if shares.len() > 1 {
            let at = self.sources[load].rng.unit() * shares.iter().sum::<f64>();
            let mut sum = 0.0;
            for share in &shares[..shares.len() - 1] {
                sum += share;
                if sum > at {
                    break;
                }
                class += 1;
            }
        }
        self.ready.push_back(Rc::new(RefCell::new(Customer {
            load,
            class,
            hop: 0,
            due: due.unwrap_or(self.now),
            keeps: None,
            demand: 0,
            holds: Vec::new(),
        })));
    }

    fn class(&self, who: &Who) -> Class {
        let who = who.borrow();
        self.network.loads()[who.load].classes[who.class].clone()
    }

    fn number(&self, who: &Who) -> u32 {
        let who = who.borrow();
        let before = self.network.loads()[..who.load].iter().map(|load| load.classes.len());
        (before.sum::<usize>() + who.class) as u32
    }

    /// The hop that `who` is before, skips decided.
    fn hop(&mut self, who: &Who) -> Option<Hop> {
        let route = self.class(who).route;
        loop {
            let mut customer = who.borrow_mut();
            match route.get(customer.hop) {
                Some(Hop::Skip { chance, hops }) => {
                    let hit = self.sources[customer.load].chance.chance(*chance);
                    customer.hop += if hit { 1 + *hops as usize } else { 1 };
                }
                hop => return hop.cloned(),
            }
        }
    }

    fn walk(&mut self, who: Who) {
        let Some(hop) = self.hop(&who) else { return self.end(&who, false) };
        match hop {
            Hop::Skip { .. } => unreachable!("decided"),
            Hop::Give { pool, tokens } => {
                let pool = pool.0 as usize;
                self.give(pool, tokens);
                let mut customer = who.borrow_mut();
                let held = customer.holds.iter().rposition(|held| *held == (pool, tokens)).unwrap();
                customer.holds.remove(held);
                customer.hop += 1;
            }
            Hop::Take { pool, tokens } => {
                let pool = pool.0 as usize;
                if !self.lines[pool].is_empty() || self.free[pool] < tokens {
                    self.lines[pool].push_back((who, tokens));
                    return;
                }
                self.free[pool] -= tokens;
                who.borrow_mut().holds.push((pool, tokens));
                who.borrow_mut().hop += 1;
            }
            Hop::Visit { station, .. } => return self.visit(station.0 as usize, who),
            Hop::Cross { station, links, scale, extra } => {
                let bytes = f64::from(self.class(&who).bytes) * scale + 0.5;
                let bytes = bytes as u64 + u64::from(extra);
                let work = i128::from(bytes) * 1024 * 1_000_000_000_000;
                return self.share(station.0 as usize, who, links, work);
            }
            _ => unreachable!("not told"),
        }
        self.walk(who);
    }

    fn give(&mut self, pool: usize, tokens: u32) {
        self.free[pool] += tokens;
        while let Some((_, wanted)) = self.lines[pool].front() {
            if *wanted > self.free[pool] {
                return;
            }
            let (who, wanted) = self.lines[pool].pop_front().unwrap();
            self.free[pool] -= wanted;
            who.borrow_mut().holds.push((pool, wanted));
            who.borrow_mut().hop += 1;
            self.ready.push_back(who);
        }
    }

    fn full(&self, station: usize) -> Option<Full> {
        let Station::Queue { capacity: Some(capacity), full, .. } =
            self.network.stations()[station]
        else {
            return None;
        };
        let place = &self.places[station];
        let waited_for = full == Full::Block && !place.door.is_empty();
        (place.present >= capacity || waited_for).then_some(full)
    }

    fn visit(&mut self, station: usize, who: Who) {
        match self.full(station) {
            None => self.enter(station, who),
            Some(Full::Lose) => self.end(&who, true),
            Some(Full::Block) => self.places[station].door.push_back(who),
        }
    }

    fn enter(&mut self, station: usize, who: Who) {
        let Some(Hop::Visit { demand, .. }) = self.hop(&who) else { unreachable!("a visit") };
        let class = self.class(&who);
        let mut time = demand.time.draw(&mut self.rngs[station]).0;
        time += (demand.per_byte * f64::from(class.bytes) + 0.5) as u64;
        who.borrow_mut().demand = time;
        match self.network.stations()[station] {
            Station::Delay => self.at(self.now + time, station, move |world| {
                world.left(station, &who);
                who.borrow_mut().hop += 1;
                world.ready.push_back(who);
            }),
            Station::Queue { servers, .. } => {
                self.places[station].present += 1;
                if self.places[station].busy < servers {
                    self.places[station].busy += 1;
                    self.serve(station, who);
                } else {
                    let priority = usize::from(class.priority);
                    self.places[station].line[priority].push_back(who);
                }
            }
            Station::Sharing { .. } => {
                self.share(station, who, Vec::new(), i128::from(time) << 32);
            }
            _ => unreachable!("not visited"),
        }
    }

    fn left(&mut self, station: usize, who: &Who) {
        let class = self.number(who);
        self.story.served.push((station as u32, class, self.now));
    }

    fn serve(&mut self, station: usize, who: Who) {
        let time = self.now + who.borrow().demand;
        self.at(time, station, move |world| world.served(station, who));
    }

    fn served(&mut self, station: usize, who: Who) {
        who.borrow_mut().hop += 1;
        if let Some(Hop::Visit { station: next, .. }) = self.hop(&who) {
            let next = next.0 as usize;
            if next != station && self.full(next) == Some(Full::Block) {
                who.borrow_mut().keeps = Some(station);
                return self.places[next].door.push_back(who);
            }
        }
        self.free_server(station, &who);
        self.ready.push_back(who);
    }

    /// `who` leaves a server of a queue, with all that follows from it.
    fn free_server(&mut self, station: usize, who: &Who) {
        self.left(station, who);
        self.let_in(station);
    }

    fn let_in(&mut self, station: usize) {
        self.places[station].present -= 1;
        self.places[station].busy -= 1;
        let next = self.places[station].line.iter_mut().find_map(VecDeque::pop_front);
        if let Some(next) = next {
            self.places[station].busy += 1;
            self.serve(station, next);
        }
        if let Some(entering) = self.places[station].door.pop_front() {
            let kept = entering.borrow_mut().keeps.take();
            if let Some(kept) = kept {
                self.left(kept, &entering);
            }
            self.enter(station, entering);
            if let Some(kept) = kept {
                self.let_in(kept);
            }
        }
    }

    fn share(&mut self, station: usize, who: Who, mut path: Vec<u16>, work: i128) {
        path.sort_unstable();
        self.flow(station);
        self.places[station].flows.push((who, path, work));
        self.divide(station);
    }

    /// Everybody at a shared station gets what flowed since the last change.
    fn flow(&mut self, station: usize) {
        let (now, place) = (self.now, &mut self.places[station]);
        let span = i128::from(now - place.at);
        for ((_, _, left), rate) in place.flows.iter_mut().zip(&place.rates) {
            *left -= span * i128::from(*rate);
        }
        place.at = now;
    }

    fn divide(&mut self, station: usize) {
        let place = &mut self.places[station];
        place.rates = match &self.network.stations()[station] {
            Station::Links { rates } => max_min(rates, &place.flows),
            Station::Sharing { servers } => {
                let present = place.flows.len() as u64;
                let rate = (present.min(u64::from(*servers)) << 32).checked_div(present);
                vec![rate.unwrap_or(0); place.flows.len()]
            }
            _ => unreachable!("not shared"),
        };
        place.version += 1;
        let version = place.version;
        let ends = place.flows.iter().zip(&place.rates);
        let first = ends.map(|((_, _, left), rate)| {
            let left = u128::try_from(*left).unwrap_or(0);
            left.div_ceil(u128::from(*rate))
        });
        if let Some(first) = first.min() {
            let time = self.now + u64::try_from(first).unwrap();
            self.at(time, station, move |world| {
                if world.places[station].version == version {
                    world.finish(station);
                }
            });
        }
    }

    /// One who has got everything leaves: of the path that came first, and there whoever had the least to get.
    fn finish(&mut self, station: usize) {
        self.flow(station);
        let paths = paths(&self.network, station);
        let place = &mut self.places[station];
        let done = place.flows.iter().enumerate().filter(|(_, (_, _, left))| *left <= 0);
        let order = |path: &Vec<u16>| paths.iter().position(|known| known == path);
        let leaving =
            done.min_by_key(|(_, (_, path, left))| (order(path), *left)).map(|(number, _)| number);
        if let Some(number) = leaving {
            let (who, _, _) = place.flows.remove(number);
            self.left(station, &who);
            who.borrow_mut().hop += 1;
            self.ready.push_back(who);
        }
        self.divide(station);
    }

    fn end(&mut self, who: &Who, lost: bool) {
        let held = std::mem::take(&mut who.borrow_mut().holds);
        let mut pools: Vec<usize> = held.iter().map(|(pool, _)| *pool).collect();
        pools.sort_unstable();
        pools.dedup();
        for pool in pools {
            let of = held.iter().filter(|(held, _)| *held == pool);
            self.give(pool, of.map(|(_, tokens)| tokens).sum());
        }
        let (load, due) = (who.borrow().load, who.borrow().due);
        self.story.ended.push((self.number(who), due, self.now, lost));
        match self.network.loads()[load].source.clone() {
            Origin::Closed { think, .. } => {
                let pause = think.draw(&mut self.sources[load].rng).0;
                self.at(self.now + pause, self.place_of(load), move |world| {
                    world.issue(load, None);
                });
            }
            Origin::Open { .. } => {
                self.sources[load].outstanding -= 1;
                if self.sources[load].late {
                    self.arrival(load);
                }
            }
            Origin::Operations(_) => {}
        }
    }
}

/// The paths over the links of a station, in the order in which routes name them.
fn paths(network: &Network, station: usize) -> Vec<Vec<u16>> {
    let mut paths = vec![Vec::new()];
    for class in network.loads().iter().flat_map(|load| &load.classes) {
        for hop in &class.route {
            if let Hop::Cross { station: of, links, .. } = hop
                && of.0 as usize == station
            {
                let mut links = links.clone();
                links.sort_unstable();
                if !paths.contains(&links) {
                    paths.push(links);
                }
            }
        }
    }
    paths
}

/// Every flow's rate: the links are filled one after the other, the one that offers least first.
fn max_min(rates: &[u64], flows: &[(Who, Vec<u16>, i128)]) -> Vec<u64> {
    let mut left: Vec<u64> = rates.iter().map(|rate| rate * 1024).collect();
    let mut found: Vec<Option<u64>> = vec![None; flows.len()];
    loop {
        let open = |link: u16| {
            let on = flows
                .iter()
                .zip(&found)
                .filter(move |((_, path, _), rate)| rate.is_none() && path.contains(&link));
            on.count() as u64
        };
        let offers = (0..rates.len() as u16).filter(|link| open(*link) > 0);
        let tightest = offers.map(|link| (left[usize::from(link)] / open(link), link)).min();
        let Some((offer, link)) = tightest else { break };
        for number in 0..flows.len() {
            let path = &flows[number].1;
            if found[number].is_none() && path.contains(&link) {
                found[number] = Some(offer.max(1));
                for link in path {
                    let left = &mut left[usize::from(*link)];
                    *left = left.saturating_sub(offer.max(1));
                }
            }
        }
    }
    found.into_iter().map(|rate| rate.unwrap_or(0)).collect()
}
