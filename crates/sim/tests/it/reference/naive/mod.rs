//! The rules of the engine, implemented again as simply as possible: a binary heap of boxed closures, reference-counted
//! customers, deques as queues, and shared servers that update every customer at every change.

mod failures;
mod links;

use clock::Rng;
use sim::Ps;
use sim::model::Source as Origin;
use sim::model::{Begin, Class, Full, Hop, Network, PRIORITIES, Station};
use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;

/// (station, class, time) of every service, and (class, due, end, lost) of every end.
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

/// Hops followed in sequence: a class's, an arm's or a copy's.
struct Frame {
    hops: Vec<Hop>,
    at: usize,
    /// Their arm, and the tokens held when it began.
    arm: Option<(usize, usize)>,
    held: Vec<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum Strand {
    Main,
    Waited,
    Background,
}

struct Customer {
    load: usize,
    class: usize,
    /// In the order in which I/Os and copies began.
    number: u64,
    due: u64,
    keeps: Option<usize>,
    demand: u64,
    /// Tokens of each pool.
    held: Vec<u32>,
    frames: Vec<Frame>,
    strand: Strand,
    parent: Option<Who>,
    waits: usize,
    lost: bool,
    /// The queue whose server it has.
    served_at: Option<usize>,
    /// Events made with another version are void.
    version: u64,
}

type Who = Rc<RefCell<Customer>>;

#[derive(Default)]
struct Place {
    stopped: bool,
    /// For links: their current rates.
    capacity: Vec<u64>,
    /// For a batch: the I/Os gathered, and when the first has waited long enough.
    gathering: VecDeque<Who>,
    until: u64,
    present: u32,
    busy: u32,
    line: Vec<VecDeque<Who>>,
    door: VecDeque<Who>,
    /// For shared stations: the I/O, its path, and its remaining work.
    flows: Vec<(Who, Vec<u16>, i128)>,
    rates: Vec<u64>,
    at: u64,
    /// Older alarms are void.
    version: u64,
}

struct Source {
    rng: Rng,
    chance: Rng,
    outstanding: u32,
    due: u64,
    late: bool,
    left: u64,
    stopped: bool,
    parked: u32,
    waits: usize,
    done: bool,
}

/// The state of a selector.
struct Selecting {
    alive: Vec<bool>,
    inside: Vec<u32>,
    current: usize,
    left: u64,
    parked: VecDeque<Who>,
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
    selectors: Vec<Selecting>,
    /// All I/Os in the network.
    going: Vec<Who>,
    begun: u64,
    story: Story,
}

/// Everything that happens until `until`.
pub fn tell(network: &Network, seed: u64, until: Ps) -> Story {
    let mut world = World::new(network, seed);
    let mut turns = turns(network);
    loop {
        let event = world.heap.peek().map_or(u64::MAX, |event| event.order.0);
        let turn = turns.front().map_or(u64::MAX, |(at, _)| *at);
        if event.min(turn) > until.0 {
            return world.story;
        }
        if turn <= event {
            let (at, turn) = turns.pop_front().unwrap();
            world.now = at;
            turn(&mut world);
        } else {
            let event = world.heap.pop().unwrap();
            world.now = event.order.0;
            (event.action)(&mut world);
        }
        while let Some(who) = world.ready.pop_front() {
            world.walk(who);
        }
    }
}

/// Scheduled changes, in order.
fn turns(network: &Network) -> VecDeque<(u64, Action)> {
    let mut turns: Vec<(u64, Action)> = Vec::new();
    for (number, load) in network.loads().iter().enumerate() {
        if let Begin::At(at) = load.begins {
            turns.push((at.0, Box::new(move |world| world.begin(number))));
        }
    }
    for (at, change) in network.changes().iter().copied() {
        turns.push((at.0, Box::new(move |world| world.change(change))));
    }
    turns.sort_by_key(|(at, _)| *at);
    turns.into()
}

impl World {
    fn new(network: &Network, seed: u64) -> World {
        let stations = network.stations().len();
        let place = |station: &Station| Place {
            line: (0..PRIORITIES).map(|_| VecDeque::new()).collect(),
            capacity: match station {
                Station::Links { rates } => rates.clone(),
                _ => Vec::new(),
            },
            ..Place::default()
        };
        let source = |load: usize| Source {
            left: network.loads()[load].total.unwrap_or(u64::MAX),
            stopped: false,
            parked: 0,
            waits: match &network.loads()[load].begins {
                Begin::After(before) => before.len(),
                _ => 0,
            },
            done: false,
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
            places: network.stations().iter().map(place).collect(),
            rngs: (0..stations as u64).map(|station| Rng::keyed(seed, &[1, station])).collect(),
            free: network.pools().iter().map(|pool| pool.tokens).collect(),
            lines: network.pools().iter().map(|_| VecDeque::new()).collect(),
            sources: (0..network.loads().len()).map(source).collect(),
            ready: VecDeque::new(),
            selectors: failures::selecting(network),
            going: Vec::new(),
            begun: 0,
            story: Story::default(),
        };
        for load in 0..network.loads().len() {
            if network.loads()[load].begins == Begin::Now {
                world.begin(load);
            }
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
                    let pause = self.now + think.draw(&mut self.sources[load].rng).0;
                    self.at(pause, self.place_of(load), move |world| world.issue(load));
                }
            }
            Origin::Open { .. } => self.await_arrival(load),
            Origin::Operations(_) => unreachable!("told by classes alone"),
        }
    }

    fn await_arrival(&mut self, load: usize) {
        let Origin::Open { gap, .. } = self.network.loads()[load].source.clone() else { return };
        let due = self.now + gap.draw(&mut self.sources[load].rng).0;
        self.sources[load].due = due;
        self.at(due, self.place_of(load), move |world| world.due(load));
    }

    /// Whether the load may issue one now.
    fn may_issue(&mut self, load: usize) -> bool {
        let source = &mut self.sources[load];
        if source.stopped {
            source.parked += 1;
            return false;
        }
        if source.left == 0 {
            return false;
        }
        source.left -= 1;
        true
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
        if !self.may_issue(load) {
            self.sources[load].late = false;
            return;
        }
        let due = self.sources[load].due;
        self.enters(load, due);
        let source = &mut self.sources[load];
        source.due = due + gap.draw(&mut source.rng).0;
        source.outstanding += 1;
        if source.left == 0 {
            source.late = false;
            return;
        }
        source.late = source.due <= self.now && source.outstanding >= limit;
        if !source.late {
            let next = source.due.max(self.now);
            self.at(next, self.place_of(load), move |world| world.due(load));
        }
    }

    /// A customer returns.
    fn issue(&mut self, load: usize) {
        if self.may_issue(load) {
            self.enters(load, self.now);
        }
    }

    fn enters(&mut self, load: usize, due: u64) {
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
        let hops = self.network.loads()[load].classes[class].route.clone();
        let held = vec![0; self.free.len()];
        self.starts(load, class, due, hops, held, Strand::Main, None);
    }

    #[allow(clippy::too_many_arguments, reason = "what a customer is, once")]
    fn starts(
        &mut self,
        load: usize,
        class: usize,
        due: u64,
        hops: Vec<Hop>,
        held: Vec<u32>,
        strand: Strand,
        parent: Option<Who>,
    ) {
        let who = Rc::new(RefCell::new(Customer {
            load,
            class,
            number: self.begun,
            due,
            keeps: None,
            demand: 0,
            held,
            frames: vec![Frame { hops, at: 0, arm: None, held: Vec::new() }],
            strand,
            parent,
            waits: 0,
            lost: false,
            served_at: None,
            version: 0,
        }));
        self.begun += 1;
        self.going.push(who.clone());
        self.ready.push_back(who);
    }

    /// Starts a copy of `who`.
    fn copy(&mut self, who: &Who, hops: &[Hop], held: Vec<u32>, strand: Strand) {
        let (load, class, due) = {
            let who = who.borrow();
            (who.load, who.class, who.due)
        };
        let parent = (strand == Strand::Waited).then(|| who.clone());
        self.starts(load, class, due, hops.to_vec(), held, strand, parent);
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

    /// The next hop of `who`, skips decided; `None` at the end of its frame.
    fn hop(&mut self, who: &Who) -> Option<Hop> {
        let mut customer = who.borrow_mut();
        let load = customer.load;
        let frame = customer.frames.last_mut().unwrap();
        loop {
            match frame.hops.get(frame.at) {
                Some(Hop::Skip { chance, hops }) => {
                    let hit = self.sources[load].chance.chance(*chance);
                    frame.at += if hit { 1 + *hops as usize } else { 1 };
                }
                hop => return hop.cloned(),
            }
        }
    }

    fn goes_on(&mut self, who: &Who) {
        who.borrow_mut().frames.last_mut().unwrap().at += 1;
    }

    fn walk(&mut self, who: Who) {
        let Some(hop) = self.hop(&who) else {
            let ended = who.borrow_mut().frames.pop().unwrap();
            let Some((selector, arm)) = ended.arm else { return self.end(&who, false) };
            self.selectors[selector].inside[arm] -= 1;
            self.goes_on(&who);
            return self.walk(who);
        };
        match hop {
            Hop::Skip { .. } => unreachable!("decided"),
            Hop::Give { pool, tokens } => {
                let pool = pool.0 as usize;
                self.give(pool, tokens);
                who.borrow_mut().held[pool] -= tokens;
            }
            Hop::Take { pool, tokens } => {
                let pool = pool.0 as usize;
                if !self.lines[pool].is_empty() || self.free[pool] < tokens {
                    self.lines[pool].push_back((who, tokens));
                    return;
                }
                self.free[pool] -= tokens;
                who.borrow_mut().held[pool] += tokens;
            }
            Hop::As { .. } | Hop::Submit => {}
            Hop::Visit { station, .. } => return self.visit(station.0 as usize, who),
            Hop::Spread { first, count, .. } => {
                let load = who.borrow().load;
                let by = self.sources[load].chance.below(u64::from(count));
                return self.visit(first.0 as usize + by as usize, who);
            }
            Hop::Cross { station, links, scale, extra } => {
                let bytes = f64::from(self.class(&who).bytes) * scale + 0.5;
                let bytes = bytes as u64 + u64::from(extra);
                let work = i128::from(bytes) * 1024 * 1_000_000_000_000;
                return self.share(station.0 as usize, who, links.to_vec(), work);
            }
            Hop::Branch { selector, arms } => {
                return self.branch(selector.0 as usize, &arms, who);
            }
            Hop::Raid { .. } | Hop::SkipHeld { .. } => {
                unreachable!("compared with simulators of their own, beside the tests of arrays")
            }
            Hop::Fork { route } => {
                let mut gives = vec![0; self.free.len()];
                given(&route, &mut gives);
                let handed: Vec<u32> = gives.into_iter().map(|tokens| tokens as u32).collect();
                for (ours, theirs) in who.borrow_mut().held.iter_mut().zip(&handed) {
                    *ours -= theirs;
                }
                self.copy(&who, &route, handed, Strand::Background);
            }
            Hop::Together { routes } => {
                let mut customer = who.borrow_mut();
                (customer.waits, customer.lost) = (routes.len(), false);
                drop(customer);
                for route in &routes {
                    self.copy(&who, route, vec![0; self.free.len()], Strand::Waited);
                }
                return;
            }
        }
        self.goes_on(&who);
        self.walk(who);
    }

    fn give(&mut self, pool: usize, tokens: u32) {
        self.free[pool] += tokens;
        self.grant(pool);
    }

    fn grant(&mut self, pool: usize) {
        while let Some((_, wanted)) = self.lines[pool].front() {
            if *wanted > self.free[pool] {
                return;
            }
            let (who, wanted) = self.lines[pool].pop_front().unwrap();
            self.free[pool] -= wanted;
            who.borrow_mut().held[pool] += wanted;
            self.goes_on(&who);
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
        let Some(Hop::Visit { demand, .. } | Hop::Spread { demand, .. }) = self.standing_at(&who)
        else {
            unreachable!("a visit")
        };
        let class = self.class(&who);
        let mut time = demand.time.draw(&mut self.rngs[station]).0;
        time += (demand.per_byte * f64::from(class.bytes) + 0.5) as u64;
        who.borrow_mut().demand = time;
        match self.network.stations()[station] {
            Station::Delay if self.places[station].stopped => {
                self.places[station].gathering.push_back(who);
            }
            Station::Delay => self.pass(station, who),
            Station::Queue { .. } | Station::Sorted { .. } => {
                self.places[station].present += 1;
                let priority = usize::from(class.priority);
                self.places[station].line[priority].push_back(who);
                self.call(station);
            }
            Station::Sharing { .. } => {
                self.share(station, who, Vec::new(), i128::from(time) << 32);
            }
            Station::Batch { within, count } => {
                let until = self.now + within.0;
                let place = &mut self.places[station];
                place.gathering.push_back(who);
                let here = place.gathering.len();
                if here == 1 {
                    place.until = until;
                    self.at(until, station, move |world| world.gathered(station));
                }
                if here >= count as usize {
                    self.gathered(station);
                }
            }
            Station::Links { .. } => unreachable!("crossed"),
            Station::Processors { .. } | Station::Gated(_) => unreachable!("drawn by no network"),
        }
    }

    /// The current hop of `who`.
    fn standing_at(&self, who: &Who) -> Option<Hop> {
        let customer = who.borrow();
        let frame = customer.frames.last()?;
        frame.hops.get(frame.at).cloned()
    }

    /// `who` is delayed.
    fn pass(&mut self, station: usize, who: Who) {
        let (time, version) = (self.now + who.borrow().demand, who.borrow().version);
        self.at(time, station, move |world| {
            if who.borrow().version == version {
                world.left(station, &who);
                world.goes_on(&who);
                world.ready.push_back(who);
            }
        });
    }

    /// Gathered I/Os continue, if they are enough or the first has waited long enough.
    fn gathered(&mut self, station: usize) {
        let Station::Batch { count, .. } = self.network.stations()[station] else { return };
        let place = &self.places[station];
        let enough = place.gathering.len() >= count as usize || self.now >= place.until;
        if place.stopped || !enough {
            return;
        }
        for who in std::mem::take(&mut self.places[station].gathering) {
            self.left(station, &who);
            self.goes_on(&who);
            self.ready.push_back(who);
        }
    }

    /// Serves the next in the queue, if a server is free.
    fn call(&mut self, station: usize) -> bool {
        let (servers, gain) = match &self.network.stations()[station] {
            Station::Queue { servers, .. } => (*servers, None),
            Station::Sorted { servers, gain } => (*servers, Some(gain)),
            _ => return false,
        };
        let place = &mut self.places[station];
        if place.stopped || place.busy >= servers {
            return false;
        }
        let Some(who) = place.line.iter_mut().find_map(VecDeque::pop_front) else { return false };
        place.busy += 1;
        let mut time = who.borrow().demand;
        if let Some(gain) = gain {
            let by = gain.get(place.present as usize - 1).or(gain.last()).unwrap();
            time = (time as f64 / by + 0.5) as u64;
        }
        who.borrow_mut().served_at = Some(station);
        let version = who.borrow().version;
        self.at(self.now + time, station, move |world| {
            if who.borrow().version == version {
                world.served(station, who);
            }
        });
        true
    }

    fn left(&mut self, station: usize, who: &Who) {
        let class = self.number(who);
        self.story.served.push((station as u32, class, self.now));
    }

    fn served(&mut self, station: usize, who: Who) {
        who.borrow_mut().served_at = None;
        self.goes_on(&who);
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

    /// `who` leaves a server of a queue, with all consequences.
    fn free_server(&mut self, station: usize, who: &Who) {
        self.left(station, who);
        self.one_less(station);
    }

    fn one_less(&mut self, station: usize) {
        self.places[station].present -= 1;
        self.places[station].busy -= 1;
        self.call(station);
        self.let_in(station);
    }

    /// Admits the first blocked I/O; whether there was one.
    fn let_in(&mut self, station: usize) -> bool {
        let Some(entering) = self.places[station].door.pop_front() else { return false };
        let kept = entering.borrow_mut().keeps.take();
        if let Some(kept) = kept {
            self.left(kept, &entering);
        }
        self.enter(station, entering);
        if let Some(kept) = kept {
            self.one_less(kept);
        }
        true
    }

    fn end(&mut self, who: &Who, lost: bool) {
        if lost {
            for frame in who.borrow().frames.iter() {
                if let Some((selector, arm)) = frame.arm {
                    self.selectors[selector].inside[arm] -= 1;
                }
            }
            let held = std::mem::take(&mut who.borrow_mut().held);
            for (pool, tokens) in held.into_iter().enumerate().filter(|(_, tokens)| *tokens > 0) {
                self.give(pool, tokens);
            }
        }
        self.going.retain(|other| !Rc::ptr_eq(other, who));
        let strand = who.borrow().strand;
        match strand {
            Strand::Main => self.ended(who, lost),
            Strand::Background => {}
            Strand::Waited => {
                let parent = who.borrow().parent.clone().unwrap();
                parent.borrow_mut().lost |= lost;
                parent.borrow_mut().waits -= 1;
                if parent.borrow().waits > 0 {
                    return;
                }
                if parent.borrow().lost {
                    return self.end(&parent, true);
                }
                self.goes_on(&parent);
                self.ready.push_back(parent);
            }
        }
    }

    /// The effect of an I/O's end on its source.
    fn ended(&mut self, who: &Who, lost: bool) {
        let (load, due) = (who.borrow().load, who.borrow().due);
        self.story.ended.push((self.number(who), due, self.now, lost));
        match self.network.loads()[load].source.clone() {
            Origin::Closed { think, .. } => {
                let pause = think.draw(&mut self.sources[load].rng).0;
                self.at(self.now + pause, self.place_of(load), move |world| {
                    world.issue(load);
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
        let going = self.going.iter().any(|other| {
            let other = other.borrow();
            other.load == load && other.strand == Strand::Main
        });
        if self.sources[load].left > 0 || going || self.sources[load].done {
            return;
        }
        self.sources[load].done = true;
        for follower in 0..self.network.loads().len() {
            let Begin::After(before) = self.network.loads()[follower].begins.clone() else {
                continue;
            };
            let these = before.iter().filter(|of| of.0 as usize == load).count();
            if these > 0 {
                self.sources[follower].waits -= these;
                if self.sources[follower].waits == 0 {
                    self.begin(follower);
                }
            }
        }
    }
}

/// The tokens that a route returns beyond those it takes; tokens handed over to a fork's copy count there.
fn given(route: &[Hop], sum: &mut [i64]) {
    for hop in route {
        match hop {
            Hop::Give { pool, tokens } => sum[pool.0 as usize] += i64::from(*tokens),
            Hop::Take { pool, tokens } => sum[pool.0 as usize] -= i64::from(*tokens),
            Hop::Fork { route } => given(route, sum),
            _ => {}
        }
    }
}
