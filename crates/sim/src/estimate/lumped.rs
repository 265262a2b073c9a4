//! The network as the solvers see it: like loads merged into one, like stations, links and pools merged into one spot,
//! and for each item that takes an I/O's time the spots where it does.

use super::arms::{self, EqualArms};
use super::gated::Machines;
use super::joint;
use super::mix::LoadMix;
use super::sites::Sites;
use super::state::{QueueGain, largest_of};
use super::symmetry::{Alike, Colouring};
use super::walk::{Averages, FlatRoute, LegJoin, LegKind, walk};
use crate::model::{Network, Station};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use workload::Dir;

/// The network with like elements merged.
#[derive(Clone, Debug, Default)]
pub struct Lumped {
    /// Stations, links and pools that I/Os come to.
    pub spots: Vec<LumpedSite>,
    /// Loads.
    pub loads: Vec<LumpedLoad>,
    /// Transfers over the same links, by load.
    pub flows: Vec<TransferFlow>,
    /// Number of (pool, station visited with its tokens) pairs of each kind.
    pub pairs: Vec<f64>,
    /// The number of a pair of pool and spot.
    pub pair_of: Arc<BTreeMap<(usize, usize), usize>>,
    /// The index in `loads` of each load of the network.
    pub load_of: Vec<usize>,
    /// The index in `spots` of each site of the network; `None` where no I/O comes.
    pub spot_of: Vec<Option<usize>>,
    /// Pools whose held tokens decide what is skipped: dirty data of caches.
    pub stocks: BTreeSet<usize>,
    /// Per link of paths that are used in turn: links that stand for the turns.
    pub turns: BTreeMap<usize, BTreeSet<usize>>,
    /// What each of these stands for.
    pub turn_of: BTreeMap<usize, Turn>,
}

/// The turns of paths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// I/Os that go over one path before the next.
    pub ios: f64,
    /// Paths that are at work on average.
    pub paths: f64,
}

/// Background copies at one spot at most, where no tokens bound them.
const COPIES_MOST: f64 = 1e4;

/// I/Os outstanding at most where nothing bounds them.
const ENDLESS: f64 = 1e9;

/// A station, link or pool, or several alike.
#[derive(Clone, Debug, PartialEq)]
pub struct LumpedSite {
    /// How it serves.
    pub kind: SiteKind,
    /// How many are alike.
    pub count: f64,
    /// Customers that can be at one of them at most.
    pub most: f64,
    /// The share of what it has that is at work where no more customers would make it faster: less than 1 for threads
    /// that wait for each other.
    pub at_work: f64,
}

/// How a spot serves.
#[derive(Clone, Debug, PartialEq)]
pub enum SiteKind {
    /// No queueing.
    Delay,
    /// First come, first served, by this many servers.
    Queue(f64),
    /// Processor sharing among this many servers.
    Sharing(f64),
    /// A queue whose speed grows with the number present: multiples of its speed with one.
    Sorted(Vec<f64>),
    /// A flow-equivalent server: speeds by the number present, as multiples of that with one. Its I/Os may help each
    /// other, so that two leave sooner than one.
    Flow(Vec<f64>),
    /// A batch of this many I/Os, or after this many seconds.
    Batch(f64, f64),
    /// A link of this many bytes a second.
    Link(f64),
    /// A pool of this many tokens.
    Pool(f64),
}

/// A load, or several alike.
#[derive(Clone, Debug, PartialEq)]
pub struct LumpedLoad {
    /// How many are alike.
    pub count: f64,
    /// What one of them issues.
    pub mix: LoadMix,
    /// Its classes.
    pub classes: Vec<LumpedClass>,
    /// What takes time, by class.
    pub items: Vec<LumpedItem>,
    /// What is done while tokens are held, by class.
    pub sections: Vec<TokenSection>,
    /// The spots that it comes to, one entry for each site of the network.
    pub locals: Vec<usize>,
}

/// A class of a load.
#[derive(Clone, Debug, PartialEq)]
pub struct LumpedClass {
    /// Share of the load's I/Os.
    pub share: f64,
    /// Bytes of one I/O.
    pub bytes: f64,
    /// Bytes of the range of an operation without data.
    pub range: f64,
    /// Direction.
    pub dir: Dir,
    /// Indices of its items.
    pub items: Range<usize>,
    /// CopyEnd that run at once: ranges of items, inner ones first.
    pub together: Vec<Vec<Range<usize>>>,
    /// Items that stand for several disk I/Os at once.
    pub joins: Vec<ItemJoin>,
}

/// Items that each stand for several disk I/Os of one I/O, which waits for the last of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemJoin {
    /// Indices of the items: one for each kind of disk, or for each disk.
    pub items: Range<usize>,
    /// How many disk I/Os they are together.
    pub parts: f64,
    /// Of what comes to one of their disks, the share that comes to any other at the same moment, but for copies.
    pub overlap: f64,
    /// The means of the largest of so many normal values, in standard deviations, and of so many exponential ones, in
    /// means.
    pub largest: [f64; 2],
    /// How many of them are of the same data, on disks that get the same.
    pub copies: f64,
    /// The share of what the load does on these disks that both copies get.
    pub common: f64,
    /// How their disks gain by their queues.
    pub gain: QueueGain,
}

/// Something that takes time.
#[derive(Clone, Debug, PartialEq)]
pub struct LumpedItem {
    /// What takes the time.
    pub kind: ItemKind,
    /// Visits per I/O of the load, over all classes.
    pub visits: f64,
    /// Visits per I/O of its class.
    pub chance: f64,
    /// How many items like it it stands for, itself among them ([`super::repeats`]).
    pub times: f64,
    /// Seconds without queueing.
    pub time: f64,
    /// Squared coefficient of variation of `time`.
    pub scv: f64,
    /// Skewness of `time`.
    pub skew: f64,
    /// How often it finds a service under way at a random moment of it, 0 to 1.
    pub random: f64,
    /// Bytes on the wire; 0 for other items.
    pub wire: f64,
    /// The spots where it is: several for a transfer over several links.
    pub touches: Arc<[ItemSite]>,
    /// Sections of the load that enclose it.
    pub within: Arc<[usize]>,
    /// The I/O does not wait for it.
    pub background: bool,
    /// The direction of its bytes.
    pub dir: Dir,
    /// Index of its class.
    pub class: usize,
}

/// What takes the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ItemKind {
    /// Service at its only spot.
    Service,
    /// A transfer: the number of its flow.
    Transfer(usize),
    /// The wait for the tokens of a section.
    Tokens(usize),
}

/// An item's visit to a spot.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemSite {
    /// Index of the spot.
    pub spot: usize,
    /// Index in the load's `locals`.
    pub local: usize,
    /// Number of like sites that the visits are spread over evenly.
    pub spread: f64,
    /// For each section that encloses the item: its pair.
    pub pairs: Arc<[usize]>,
}

/// What is done while tokens are held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenSection {
    /// The spot of the pool.
    pub spot: usize,
    /// Index in the load's `locals`.
    pub local: usize,
    /// Tokens that one I/O holds.
    pub tokens: f64,
    /// Times that an I/O of the load enters it.
    pub visits: f64,
}

/// Transfers of one load over the same links.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferFlow {
    /// Index of the load.
    pub load: usize,
    /// The links, and how many like ones it crosses of each.
    pub links: Vec<(usize, f64)>,
    /// Flows that share links, directly or indirectly, have the same group.
    pub group: usize,
    /// Index of one of its items.
    pub item: usize,
}

impl ItemJoin {
    /// The same of items that begin at `starts` by leg.
    fn of(join: &LegJoin, starts: &[usize]) -> ItemJoin {
        ItemJoin {
            items: starts[join.legs.start]..starts[join.legs.end],
            parts: f64::from(join.parts),
            overlap: join.together,
            largest: largest_of(join.parts),
            copies: f64::from(join.copies),
            common: 1.0,
            gain: QueueGain::default(),
        }
    }
}

impl LumpedLoad {
    /// Finds how much of what comes to the disks of each join comes to others of them at the same moment.
    fn share_arrivals(&mut self, here: &[LumpedSite]) {
        let mut met: BTreeMap<usize, [f64; 3]> = BTreeMap::new();
        for item in self.items.iter().filter(|item| item.kind == ItemKind::Service) {
            met.entry(item.touches[0].spot).or_default()[0] += item.visits;
        }
        let joins = || self.classes.iter().flat_map(|class| &class.joins);
        for join in joins() {
            for item in &self.items[join.items.clone()] {
                let of = met.entry(item.touches[0].spot).or_default();
                of[1] += item.visits * (join.copies - 1.0);
                of[2] += item.visits * join.overlap;
            }
        }
        for join in self.classes.iter_mut().flat_map(|class| &mut class.joins) {
            let items = &self.items[join.items.clone()];
            let spots: BTreeSet<usize> = items.iter().map(|item| item.touches[0].spot).collect();
            let sum = |of: usize| spots.iter().map(|spot| met[spot][of]).sum::<f64>();
            let share = |of: usize| if sum(0) > 0.0 { (sum(of) / sum(0)).min(1.0) } else { 0.0 };
            (join.common, join.overlap) = (share(1), share(2));
            join.gain = items
                .first()
                .map(|of| QueueGain::of(&here[of.touches[0].spot].kind))
                .unwrap_or_default();
        }
    }
}

impl LumpedSite {
    /// Customers served at once; infinite without queueing.
    pub fn servers(&self) -> f64 {
        match &self.kind {
            SiteKind::Delay | SiteKind::Batch(..) | SiteKind::Flow(_) => f64::INFINITY,
            SiteKind::Queue(servers) | SiteKind::Sharing(servers) => *servers,
            SiteKind::Sorted(speeds) => {
                let within = speeds.iter().take(self.most.max(1.0) as usize);
                within.copied().fold(0.0, f64::max)
            }
            SiteKind::Link(_) => 1.0,
            SiteKind::Pool(tokens) => *tokens,
        }
    }
}

impl SiteKind {
    /// Whether the wait there is no queue's, so that only the mean values know it.
    pub fn is_company(&self) -> bool {
        matches!(self, SiteKind::Batch(..) | SiteKind::Flow(_))
    }
}

impl Lumped {
    /// The network in which some open loads are closed: those of which more falls due than is carried, so that as many
    /// as may be outstanding always are. The others' I/Os are bounded by nothing.
    pub fn overloaded(&self, held: &[bool]) -> Lumped {
        let mut out = self.clone();
        for (load, held) in out.loads.iter_mut().zip(held) {
            match load.mix.rate {
                Some(_) if *held => (load.mix.rate, load.mix.scv) = (None, 0.0),
                Some(_) => load.mix.customers = ENDLESS,
                None => {}
            }
        }
        out.crowd();
        out
    }

    /// Finds how many customers can be at each spot: those that come there, limited by the tokens needed.
    pub fn crowd(&mut self) {
        let mut visitors = vec![0.0; self.spots.len()];
        // Pools whose tokens every visitor of the spot holds.
        let mut needed: Vec<Option<Vec<usize>>> = vec![None; self.spots.len()];
        for load in &self.loads {
            self.comers(load, &mut visitors, &mut needed);
        }
        for (spot, visitors) in visitors.into_iter().enumerate() {
            let pools = needed[spot].iter().flatten();
            let most = pools.fold(visitors, |most, pool| {
                let SiteKind::Pool(tokens) = self.spots[*pool].kind else { return most };
                let pair = self.pair_of.get(&(*pool, spot)).map_or(1.0, |pair| self.pairs[*pair]);
                most.min(tokens * (pair / self.spots[spot].count).max(1.0))
            });
            self.spots[spot].most = most.max(1.0);
        }
    }

    /// Adds the visitors of one load.
    fn comers(&self, load: &LumpedLoad, visitors: &mut [f64], needed: &mut [Option<Vec<usize>>]) {
        let mut own = vec![0.0; self.spots.len()];
        let mut known = vec![false; load.locals.len()];
        let mut pools: Vec<usize> = Vec::new();
        for item in &load.items {
            pools.clear();
            pools.extend(item.within.iter().map(|section| load.sections[*section].spot));
            pools.sort_unstable();
            pools.dedup();
            for touch in item.touches.iter() {
                if !std::mem::replace(&mut known[touch.local], true) {
                    own[touch.spot] += touch.spread;
                }
                if item.background {
                    visitors[touch.spot] += COPIES_MOST;
                }
                match &mut needed[touch.spot] {
                    Some(before) => before.retain(|pool| pools.contains(pool)),
                    needed => *needed = Some(pools.clone()),
                }
            }
            // Background copies hold tokens in addition to the I/Os that wait for some.
            for pool in pools.iter().filter(|_| item.background) {
                if let SiteKind::Pool(tokens) = self.spots[*pool].kind {
                    visitors[*pool] += tokens;
                }
            }
        }
        for (spot, own) in own.into_iter().enumerate() {
            let each = load.count * own / self.spots[spot].count;
            visitors[spot] += each * load.mix.customers;
        }
    }
}

/// Merges like elements of a network. Where a skip depends on the tokens of a pool that are held, that is the share
/// `held` of them.
pub fn lump(known: &Alike, held: f64) -> Lumped {
    let Alike { network, sites, mixes, colours, machines } = known;
    let mut builder = LumpedBuilder::new(network, sites, colours, machines, held);
    for (number, of) in mixes.iter().enumerate() {
        builder.load(number, of);
    }
    builder.finish()
}

struct LumpedBuilder<'a> {
    network: &'a Network,
    sites: &'a Sites,
    alike: &'a Colouring,
    held: f64,
    machines: &'a Machines,
    kinds: Vec<SiteKind>,
    counts: BTreeMap<u64, f64>,
    spots: BTreeMap<u64, usize>,
    loads: BTreeMap<u64, usize>,
    flows: BTreeMap<(usize, Vec<(usize, usize)>), usize>,
    /// Pools that limit visits to idle disks, with these disks and their number.
    idle: BTreeMap<(usize, usize), u32>,
    /// Per load: its branches whose arms are taken in turn.
    arms: Vec<Vec<EqualArms>>,
    out: Lumped,
}

impl<'a> LumpedBuilder<'a> {
    fn new(
        network: &'a Network,
        sites: &'a Sites,
        alike: &'a Colouring,
        machines: &'a Machines,
        held: f64,
    ) -> LumpedBuilder<'a> {
        let mut counts = BTreeMap::new();
        for colour in &alike.sites {
            *counts.entry(*colour).or_default() += 1.0;
        }
        let out = Lumped { spot_of: vec![None; sites.count()], ..Lumped::default() };
        let kinds = kinds(network);
        let (spots, loads) = (BTreeMap::new(), BTreeMap::new());
        let (flows, idle, arms) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        LumpedBuilder {
            network,
            sites,
            alike,
            held,
            machines,
            kinds,
            counts,
            spots,
            loads,
            flows,
            idle,
            arms,
            out,
        }
    }

    fn spot(&mut self, site: u32) -> usize {
        let colour = self.alike.sites[site as usize];
        let next = self.out.spots.len();
        let spot = *self.spots.entry(colour).or_insert(next);
        if spot == next {
            let machine = self.machines.all.get(&site);
            let kind = machine.map_or(&self.kinds[site as usize], |machine| &machine.kind).clone();
            let count = self.counts.get(&colour).copied().unwrap_or(1.0);
            let at_work = machine.map_or(1.0, |machine| machine.busy);
            self.out.spots.push(LumpedSite { kind, count, most: 0.0, at_work });
        }
        spot
    }

    fn load(&mut self, number: usize, of: &LoadMix) {
        let next = self.out.loads.len();
        let load = *self.loads.entry(self.alike.loads[number]).or_insert(next);
        self.out.load_of.push(load);
        if load < next {
            self.out.loads[load].count += 1.0;
            return;
        }
        let mut built = LumpedLoad {
            count: 1.0,
            mix: of.clone(),
            classes: Vec::new(),
            items: Vec::new(),
            sections: Vec::new(),
            locals: Vec::new(),
        };
        let mut locals = BTreeMap::new();
        self.arms.push(Vec::new());
        let classes = self.network.loads()[number].classes.iter();
        for ((class, part), sizes) in classes.zip(&of.parts).zip(&of.sizes) {
            let first = built.items.len();
            let mut this = LumpedClass {
                share: part.share,
                bytes: part.bytes,
                range: f64::from(class.bytes),
                dir: class.dir,
                items: first..first,
                together: Vec::new(),
                joins: Vec::new(),
            };
            if part.share > 0.0 {
                let io = Averages { part: *part, sizes, held: self.held };
                let mut walk = walk(self.network, self.sites, class.dir, io, &class.route);
                self.join_passes(&mut walk, number);
                self.class(&mut built, &mut locals, &walk, &mut this);
            }
            this.items.end = built.items.len();
            built.classes.push(this);
        }
        built.share_arrivals(&self.out.spots);
        self.out.loads.push(built);
    }

    /// Replaces the first of an I/O's visits to the threads of a machine by one to the machine as a whole, which takes
    /// as long as all of them; the others take no time of their own.
    fn join_passes(&self, walk: &mut FlatRoute, load: usize) {
        let mut met = BTreeSet::new();
        for leg in &mut walk.legs {
            let LegKind::Stations(row) = &mut leg.kind else { continue };
            let Some(on) = self.machines.of_site.get(&row.start).copied() else { continue };
            if !leg.background
                && met.insert(on)
                && let Some(machine) = self.machines.all.get(&on)
            {
                *row = on..on + 1;
                leg.time = machine.times.get(&load).copied().unwrap_or(0.0);
                (leg.chance, leg.scv) = (1.0, 0.0);
            } else {
                (leg.time, leg.scv) = (0.0, 0.0);
            }
        }
    }

    /// Adds a class's items and sections to its load.
    fn class(
        &mut self,
        load: &mut LumpedLoad,
        locals: &mut BTreeMap<u32, usize>,
        walk: &FlatRoute,
        class: &mut LumpedClass,
    ) {
        for (pool, disk, disks) in &walk.idle {
            let places = (self.spot(*pool), self.spot(*disk));
            self.idle.insert(places, *disks);
        }
        for pool in &walk.held {
            let spot = self.spot(*pool);
            self.out.stocks.insert(spot);
        }
        let first_section = load.sections.len();
        for section in &walk.sections {
            let (spot, local) = self.local(load, locals, section.pool);
            let visits = class.share * section.chance;
            load.sections.push(TokenSection { spot, local, tokens: section.tokens, visits });
        }
        // A spread visit becomes one item per kind of station, so the items' numbers are looked up by leg.
        let mut starts = Vec::with_capacity(walk.legs.len() + 1);
        for leg in &walk.legs {
            starts.push(load.items.len());
            let within: Arc<[usize]> =
                leg.within.iter().map(|section| first_section + usize::from(*section)).collect();
            let base = LumpedItem {
                kind: ItemKind::Service,
                visits: leg.chance * class.share,
                chance: leg.chance,
                times: 1.0,
                time: leg.time,
                scv: leg.scv,
                skew: leg.skew,
                random: leg.random,
                wire: 0.0,
                touches: Arc::default(),
                within,
                background: leg.background,
                dir: leg.dir,
                class: load.classes.len(),
            };
            match &leg.kind {
                LegKind::Stations(row) => self.stations(load, locals, row.clone(), base),
                LegKind::Links(links) => self.transfer(load, locals, links, base),
                LegKind::Tokens(section) => {
                    let section = first_section + usize::from(*section);
                    let TokenSection { spot, local, .. } = load.sections[section];
                    let touches = [self.touch(load, &base.within, spot, local, 1.0)].into();
                    let kind = ItemKind::Tokens(section);
                    load.items.push(LumpedItem { kind, touches, ..base });
                }
            }
        }
        starts.push(load.items.len());
        let ranges = |group: &Vec<Range<usize>>| {
            group.iter().map(|range| starts[range.start]..starts[range.end]).collect()
        };
        class.together = walk.together.iter().map(ranges).collect();
        self.note_arms(load.classes.len(), walk, &starts);
        let join = |join| ItemJoin::of(join, &starts);
        class.joins = walk.joins.iter().map(join).collect();
    }

    /// Keeps the arms of a class, whose items begin at `starts` by leg.
    fn note_arms(&mut self, class: usize, walk: &FlatRoute, starts: &[usize]) {
        let Some(arms) = self.arms.last_mut() else { return };
        for group in &walk.arms {
            let ranges = group.iter().map(|range| starts[range.start]..starts[range.end]);
            arms.push(EqualArms { class, arms: ranges.collect() });
        }
    }

    /// The spot of a site, and its index among the load's `locals`.
    fn local(
        &mut self,
        load: &mut LumpedLoad,
        locals: &mut BTreeMap<u32, usize>,
        site: u32,
    ) -> (usize, usize) {
        let spot = self.spot(site);
        let next = load.locals.len();
        let local = *locals.entry(site).or_insert(next);
        if local == next {
            load.locals.push(spot);
        }
        (spot, local)
    }

    fn touch(
        &mut self,
        load: &LumpedLoad,
        within: &[usize],
        spot: usize,
        local: usize,
        spread: f64,
    ) -> ItemSite {
        let pairs = within.iter().map(|section| {
            let key = (load.sections[*section].spot, spot);
            let next = self.out.pair_of.len();
            *Arc::make_mut(&mut self.out.pair_of).entry(key).or_insert(next)
        });
        let pairs = pairs.collect();
        ItemSite { spot, local, spread, pairs }
    }

    fn stations(
        &mut self,
        load: &mut LumpedLoad,
        locals: &mut BTreeMap<u32, usize>,
        row: Range<u32>,
        base: LumpedItem,
    ) {
        let all = f64::from(row.end - row.start);
        // By kind, in the order in which kinds first appear in the range.
        let mut kinds: Vec<(usize, usize, f64)> = Vec::new();
        for site in row {
            let (spot, local) = self.local(load, locals, site);
            match kinds.iter_mut().find(|(known, ..)| *known == spot) {
                Some((_, _, count)) => *count += 1.0,
                None => kinds.push((spot, local, 1.0)),
            }
        }
        for (spot, local, count) in kinds {
            let share = count / all;
            let touches = [self.touch(load, &base.within, spot, local, count)].into();
            load.items.push(LumpedItem {
                visits: base.visits * share,
                chance: base.chance * share,
                touches,
                ..base.clone()
            });
        }
    }

    fn transfer(
        &mut self,
        load: &mut LumpedLoad,
        locals: &mut BTreeMap<u32, usize>,
        links: &[u32],
        base: LumpedItem,
    ) {
        let mut touches = Vec::with_capacity(links.len());
        let mut slowest = f64::INFINITY;
        for link in links {
            let (spot, local) = self.local(load, locals, *link);
            touches.push(self.touch(load, &base.within, spot, local, 1.0));
            if let SiteKind::Link(rate) = self.out.spots[spot].kind {
                slowest = slowest.min(rate);
            }
        }
        let mut crossed: BTreeMap<usize, usize> = BTreeMap::new();
        touches.iter().for_each(|touch| *crossed.entry(touch.spot).or_default() += 1);
        let number = self.out.loads.len();
        let next = self.out.flows.len();
        let key = (number, crossed.iter().map(|(spot, count)| (*spot, *count)).collect());
        let flow = *self.flows.entry(key).or_insert(next);
        if flow == next {
            let links = crossed.into_iter().map(|(spot, count)| (spot, count as f64)).collect();
            let item = load.items.len();
            self.out.flows.push(TransferFlow { load: number, links, group: flow, item });
        }
        let (kind, wire) = (ItemKind::Transfer(flow), base.time * slowest);
        load.items.push(LumpedItem { kind, wire, touches: touches.into(), ..base });
    }

    fn finish(mut self) -> Lumped {
        for (site, spot) in self.out.spot_of.iter_mut().enumerate() {
            *spot = self.spots.get(&self.alike.sites[site]).copied();
        }
        self.keep_busy();
        groups(&mut self.out);
        self.out.pairs = pair_counts(&self.out);
        self.fold();
        joint::share(&mut self.out);
        self.out.crowd();
        self.out
    }

    /// Lets one of several arms stand for those that are like it.
    fn fold(&mut self) {
        for (number, branches) in self.arms.iter().enumerate() {
            let items = arms::fold(&mut self.out.loads[number], branches);
            for flow in self.out.flows.iter_mut().filter(|flow| flow.load == number) {
                // The first of a flow's items is in the arm that is left.
                flow.item = items[flow.item].unwrap_or(0);
            }
        }
    }
}

impl LumpedBuilder<'_> {
    /// Lets nothing but the disks limit what goes to whichever of them is idle: a cache has data for each, so that none
    /// waits while another has too much. Each disk still sees only so many at once.
    fn keep_busy(&mut self) {
        const MORE: f64 = 1000.0;
        for ((pool, disk), disks) in std::mem::take(&mut self.idle) {
            let items = || self.out.loads.iter().flat_map(|load| &load.items);
            let here = |item: &&LumpedItem| item.touches.iter().any(|touch| touch.spot == disk);
            let alone = items().filter(here).all(|item| item.background);
            // What others wait for there is shared by how many of each are there.
            if !alone {
                continue;
            }
            let SiteKind::Pool(tokens) = &mut self.out.spots[pool].kind else { continue };
            let each = (*tokens / f64::from(disks)).ceil().max(1.0) as usize;
            *tokens *= MORE;
            if let SiteKind::Sorted(speeds) = &mut self.out.spots[disk].kind {
                speeds.truncate(each);
            }
        }
    }
}

/// How each site serves.
fn kinds(network: &Network) -> Vec<SiteKind> {
    let stations = network.stations().iter().flat_map(|station| match station {
        Station::Queue { servers, .. } => vec![SiteKind::Queue(f64::from(*servers))],
        Station::Delay => vec![SiteKind::Delay],
        Station::Sharing { servers } => vec![SiteKind::Sharing(f64::from(*servers))],
        Station::Links { rates } => rates.iter().map(|rate| SiteKind::Link(*rate as f64)).collect(),
        Station::Sorted { servers, gain } => {
            let longest = gain.len().max(*servers as usize) as u32;
            let last = gain.last().copied().unwrap_or(1.0);
            // What a service chooses from is there when it begins: the last to come was not, where there are several.
            let speed = |n: u32| {
                let chosen = gain.get(n.saturating_sub(2) as usize).copied().unwrap_or(last);
                f64::from(n.min(*servers)) * chosen
            };
            vec![SiteKind::Sorted((1..=longest + 1).map(speed).collect())]
        }
        // Taken together with its processors as one server of the population (`super::gated`).
        Station::Processors { .. } | Station::Gated(_) => vec![SiteKind::Delay],
        Station::Batch { count, within } => {
            vec![SiteKind::Batch(f64::from(*count), within.as_secs_f64())]
        }
    });
    let pools = network.pools().iter().map(|pool| SiteKind::Pool(f64::from(pool.tokens)));
    stations.chain(pools).collect()
}

/// Gives flows that share a link, directly or over others, the same group.
pub(super) fn groups(out: &mut Lumped) {
    let mut first_on: BTreeMap<usize, usize> = BTreeMap::new();
    for number in 0..out.flows.len() {
        let links = out.flows[number].links.clone();
        for (link, _) in links {
            let other = *first_on.entry(link).or_insert(number);
            let (a, b) = (out.flows[number].group, out.flows[other].group);
            let (low, high) = (a.min(b), a.max(b));
            out.flows.iter_mut().filter(|flow| flow.group == high).for_each(|f| f.group = low);
        }
    }
}

/// Number of (pool, station) pairs of each kind: those seen from one side, times the number of that side.
fn pair_counts(out: &Lumped) -> Vec<f64> {
    let mut counts = vec![1.0f64; out.pair_of.len()];
    for load in &out.loads {
        let mut seen: BTreeMap<usize, [BTreeSet<usize>; 3]> = BTreeMap::new();
        for item in &load.items {
            for touch in item.touches.iter() {
                for (section, pair) in item.within.iter().zip(touch.pairs.iter()) {
                    let of_pair = seen.entry(*pair).or_default();
                    let pool = load.sections[*section].local;
                    of_pair[0].insert(pool);
                    of_pair[1].insert(touch.local);
                    of_pair[2].insert(pool * load.locals.len() + touch.local);
                }
            }
        }
        for ((pool, spot), pair) in &*out.pair_of {
            let Some([pools, places, both]) = seen.get(pair) else { continue };
            let both = both.len() as f64;
            let by_pool = out.spots[*pool].count * both / pools.len() as f64;
            let by_place = out.spots[*spot].count * both / places.len() as f64;
            counts[*pair] = counts[*pair].max(by_pool).max(by_place);
        }
    }
    counts
}
