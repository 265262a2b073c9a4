//! The state of a solver: throughput per load and residence time per item, and the sums that follow from them.

use super::lumped::{ItemJoin, ItemKind, Lumped, LumpedLoad, SiteKind};
use super::parallel;

/// A solution, or an iterate on the way to one.
#[derive(Clone, Debug)]
pub struct SolverState {
    /// I/Os a second of one load of each kind.
    pub rates: Vec<f64>,
    /// Per load and item: seconds per visit; for tokens, the wait alone.
    pub stays: Vec<Vec<f64>>,
    /// Per load and item: the share of that time that counts, since copies run in parallel.
    pub weights: Vec<Vec<f64>>,
}

impl SolverState {
    /// The state without queueing.
    pub fn alone(lumped: &Lumped, copies: CopyEnd) -> SolverState {
        let stays = lumped.loads.iter().map(|load| load.items.iter().map(|i| i.time).collect());
        let stays: Vec<Vec<f64>> = stays.collect();
        let weights = lumped.loads.iter().map(|load| vec![1.0; load.items.len()]).collect();
        let mut state = SolverState { rates: vec![0.0; lumped.loads.len()], stays, weights };
        state.settle(lumped, copies);
        state
    }

    /// Computes rates and weights from the residence times.
    pub fn settle(&mut self, lumped: &Lumped, copies: CopyEnd) {
        for (number, load) in lumped.loads.iter().enumerate() {
            self.settle_load(number, load, copies);
        }
    }

    /// Computes the rate and the weights of one load.
    pub fn settle_load(&mut self, number: usize, load: &LumpedLoad, copies: CopyEnd) {
        self.reweigh(number, load, copies);
        self.rates[number] = load.rate(self.cycle(number, load));
    }

    /// Computes the weights of a load from its residence times.
    pub fn reweigh(&mut self, number: usize, load: &LumpedLoad, copies: CopyEnd) {
        weigh(load, &self.stays[number], copies, &mut self.weights[number]);
    }

    /// Mean seconds from issue to end of an I/O of a load, over its classes.
    pub fn cycle(&self, number: usize, load: &LumpedLoad) -> f64 {
        let items = load.items.iter().zip(&self.stays[number]).zip(&self.weights[number]);
        let waited = items.filter(|((item, _), _)| !item.background);
        waited.map(|((item, stay), weight)| item.visits * stay * weight).sum()
    }

    /// Mean seconds from issue to end of an I/O of a class.
    pub fn response(&self, number: usize, load: &LumpedLoad, class: usize) -> f64 {
        let of = load.classes[class].items.clone();
        let waited = of.filter(|item| !load.items[*item].background);
        let time = |item: usize| {
            load.items[item].chance * self.stays[number][item] * self.weights[number][item]
        };
        waited.map(time).sum()
    }

    /// Seconds for which an I/O holds the tokens of each section, per time that it takes them.
    pub fn holds(&self, number: usize, load: &LumpedLoad) -> Vec<f64> {
        let mut holds = vec![0.0; load.sections.len()];
        for (item, of) in load.items.iter().enumerate() {
            let time = of.visits * self.stays[number][item] * self.weights[number][item];
            of.within.iter().for_each(|section| holds[*section] += time);
        }
        for (hold, section) in holds.iter_mut().zip(&load.sections) {
            *hold = if section.visits > 0.0 { *hold / section.visits } else { 0.0 };
        }
        holds
    }
}

/// When the last of several parallel copies ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyEnd {
    /// With the one of the longest mean: times are constant, as far as bounds are concerned.
    Steady,
    /// When the mean of the largest of their times has passed (`parallel`).
    Random,
    /// After the sum of their times: no later for any distributions.
    Latest,
}

impl LumpedLoad {
    /// I/Os a second at this cycle time.
    pub fn rate(&self, cycle: f64) -> f64 {
        let customers = self.mix.customers;
        match self.mix.rate {
            Some(rate) if cycle > 0.0 => rate.min(customers / cycle),
            Some(rate) => rate,
            None => customers / (self.mix.think + cycle).max(1e-12),
        }
    }

    /// Whether arrivals determine the rate, rather than the cycle time.
    pub fn is_free(&self, rate: f64) -> bool {
        self.mix.rate.is_some_and(|wanted| rate >= wanted * (1.0 - 1e-9))
    }
}

/// Computes the weights of the items: parallel copies take as long as the last of them.
fn weigh(load: &LumpedLoad, stays: &[f64], copies: CopyEnd, weights: &mut [f64]) {
    weights.fill(1.0);
    for join in load.classes.iter().flat_map(|class| &class.joins) {
        for item in join.items.clone() {
            weights[item] = last_of(join, load.items[item].time, load.items[item].scv, stays[item]);
        }
    }
    for group in load.classes.iter().flat_map(|class| &class.together) {
        let time = |range: &std::ops::Range<usize>, weights: &[f64]| -> f64 {
            let waited = range.clone().filter(|item| !load.items[*item].background);
            waited.map(|item| load.items[item].chance * stays[item] * weights[item]).sum()
        };
        let times: Vec<f64> = group.iter().map(|range| time(range, weights)).collect();
        let sum: f64 = times.iter().sum();
        let last = match copies {
            CopyEnd::Steady => times.iter().fold(0.0, |last: f64, time| last.max(*time)),
            CopyEnd::Random => parallel::longest(load, stays, weights, group),
            CopyEnd::Latest => sum,
        };
        let factor = if sum > 0.0 { last / sum } else { 1.0 };
        for item in group.iter().flat_map(|range| range.clone()) {
            if !load.items[item].background {
                weights[item] *= factor;
            }
        }
    }
}

/// The time of the last of an I/O's disk I/Os, as a share of their sum, where each takes `stay` on average.
///
/// Its distribution is taken for a normal one where times vary little and for an exponential one where they vary as much,
/// in proportion between. Waits vary like exponential times; but where I/Os are on several disks, their disk I/Os wait for
/// the same others, and only the services differ.
fn last_of(join: &ItemJoin, time: f64, scv: f64, stay: f64) -> f64 {
    if join.parts <= 1.0 || stay <= 0.0 {
        return 1.0;
    }
    // Of the others a copy meets its own twin with all that is written, and any other disk as often as both are used at once.
    let twins = join.copies - 1.0;
    let others = join.parts - join.copies;
    let overlap = (twins * join.common + others * join.overlap) / (twins + others);
    longer(overlap, join.largest, join.gain.at((time, scv), stay), stay) / join.parts
}

/// A service that is under way: its mean, its squared coefficient of variation, and how much waits before it vary beside
/// exponential ones.
#[derive(Clone, Copy)]
struct Serving {
    time: f64,
    scv: f64,
    waits: f64,
}

/// By how much longer the last of several takes than one.
fn longer(overlap: f64, [normal, exponential]: [f64; 2], of: Serving, stay: f64) -> f64 {
    let Serving { time, scv, .. } = of;
    let waits = (stay - time).max(0.0);
    // Queues vary with arrivals and with services, in proportion to what each varies (their diffusion approximation: Harrison
    // 1973). Only the arrivals are the same at several disks, so that waits have so much of their variance in common.
    let common = overlap / (1.0 + scv);
    // Pollaczek and Khinchine: the third moment of a service is taken between that of a constant and an exponential one.
    let varied = waits * waits * of.waits + waits * time * (1.0 + 2.0 * scv.min(1.0)) * 2.0 / 3.0;
    let variance = time * time * scv + varied * (1.0 - common).max(0.0);
    let varies = (variance.sqrt() / stay).min(1.0);
    let more = normal + (exponential - 1.0 - normal) * varies;
    1.0 + varies * more
}

/// How the speed of a queue that sorts grows with the number present: by a power of it, up to so many.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct QueueGain {
    power: f64,
    most: f64,
}

impl QueueGain {
    pub fn of(kind: &SiteKind) -> QueueGain {
        let SiteKind::Sorted(speeds) = kind else { return QueueGain::default() };
        let most = speeds.len().saturating_sub(1) as f64;
        match speeds.last() {
            Some(last) if most > 1.0 => {
                QueueGain { power: (last.max(1.0).ln() / most.ln()).min(0.9), most }
            }
            _ => QueueGain::default(),
        }
    }

    /// A service that takes `time` alone, where an I/O stays for so long. The longer the queue, the faster it is served, which
    /// draws it back to its mean: near that it is a process of Ornstein and Uhlenbeck.
    fn at(self, (time, scv): (f64, f64), stay: f64) -> Serving {
        let present = (stay / time.max(f64::MIN_POSITIVE)).max(1.0);
        let present = present.powf(1.0 / (1.0 - self.power)).min(self.most);
        if self.power <= 0.0 || present <= 1.0 {
            return Serving { time, scv, waits: 1.0 };
        }
        let waits = ((1.0 + scv) / (2.0 * self.power * present)).min(1.0);
        Serving { time: time / present.powf(self.power), scv, waits }
    }
}

/// The means of the largest of `count` normal values, in standard deviations above their mean (Chen and Tyler 1999), and
/// of as many exponential ones, in means.
pub fn largest_of(count: u32) -> [f64; 2] {
    const FEW: [f64; 5] = [0.0, 0.0, 0.5642, 0.8463, 1.0294];
    let normal = FEW.get(count as usize).copied().unwrap_or_else(|| {
        let quantile = 0.5264_f64.powf(1.0 / f64::from(count));
        std::f64::consts::SQRT_2 * statrs::function::erf::erf_inv(2.0 * quantile - 1.0)
    });
    [normal, (1..=count).map(|term| 1.0 / f64::from(term)).sum()]
}

/// SiteSums over all loads, for one site of each spot.
#[derive(Clone, Debug)]
pub struct SiteSums {
    /// Visits a second.
    pub rates: Vec<f64>,
    /// Mean busy servers, tokens in use (in I/Os), or the share of a link.
    pub busy: Vec<f64>,
    /// Mean number present, waiting or in service.
    pub present: Vec<f64>,
    /// Total service time that those present need, in seconds.
    pub work: Vec<f64>,
    /// Mean tokens that an I/O takes.
    pub tokens: Vec<f64>,
    /// Per pair: number present at the station with tokens of the pool.
    pub pairs: Vec<f64>,
    /// Per load: its own I/Os present at each of its `locals`.
    pub own: Vec<Vec<f64>>,
    /// Per load and section: seconds for which an I/O holds its tokens; of loads that are left out none.
    pub holds: Vec<Vec<f64>>,
}

/// The sums that concern the I/Os present.
#[derive(Default)]
struct Present {
    present: Vec<f64>,
    work: Vec<f64>,
    pairs: Vec<f64>,
    own: Vec<Vec<f64>>,
}

impl SiteSums {
    /// The sums of a state.
    pub fn of(lumped: &Lumped, state: &SolverState) -> SiteSums {
        SiteSums::of_loads(lumped, state, |_| true)
    }

    /// The sums over some of the loads.
    pub fn of_loads(
        lumped: &Lumped,
        state: &SolverState,
        wanted: impl Fn(&LumpedLoad) -> bool,
    ) -> SiteSums {
        let none = || vec![0.0; lumped.spots.len()];
        let own = lumped.loads.iter().map(|load| vec![0.0; load.locals.len()]).collect();
        let pairs = vec![0.0; lumped.pairs.len()];
        let present = Present { present: none(), work: none(), pairs, own };
        SiteSums::with(lumped, state, present, wanted, SiteSums::add::<true>)
    }

    /// Only the capacity in use per spot, without the numbers present: enough for [`SiteSums::utilization`], which
    /// finding prices calls hundreds of times.
    pub fn in_use(lumped: &Lumped, state: &SolverState) -> SiteSums {
        SiteSums::with(lumped, state, Present::default(), |_| true, SiteSums::add::<false>)
    }

    fn with(
        lumped: &Lumped,
        state: &SolverState,
        Present { present, work, pairs, own }: Present,
        wanted: impl Fn(&LumpedLoad) -> bool,
        add: fn(&mut SiteSums, &Lumped, &SolverState, usize, &LumpedLoad),
    ) -> SiteSums {
        let none = || vec![0.0; lumped.spots.len()];
        let (rates, busy, tokens) = (none(), none(), none());
        let holds = vec![Vec::new(); lumped.loads.len()];
        let mut sums = SiteSums { rates, busy, tokens, present, work, pairs, own, holds };
        for (number, load) in lumped.loads.iter().enumerate().filter(|(_, load)| wanted(load)) {
            add(&mut sums, lumped, state, number, load);
        }
        for (spot, tokens) in sums.tokens.iter_mut().enumerate() {
            *tokens = if sums.rates[spot] > 0.0 { *tokens / sums.rates[spot] } else { 1.0 };
        }
        sums
    }

    fn add<const ALL: bool>(
        &mut self,
        lumped: &Lumped,
        state: &SolverState,
        number: usize,
        load: &LumpedLoad,
    ) {
        let holds = state.holds(number, load);
        let rate = state.rates[number];
        for (at, item) in load.items.iter().enumerate() {
            let one = rate * item.visits;
            let mut stay = state.stays[number][at];
            let mut time = item.time;
            let mut tokens = 1.0;
            if let ItemKind::Tokens(section) = item.kind {
                (stay, time) = (stay + holds[section], holds[section]);
                tokens = load.sections[section].tokens;
            }
            for touch in item.touches.iter() {
                let spot = touch.spot;
                let each = one * load.count / lumped.spots[spot].count;
                let time = match lumped.spots[spot].kind {
                    SiteKind::Link(rate) => item.wire / rate,
                    _ => time,
                };
                self.rates[spot] += each;
                self.busy[spot] += each * time;
                self.tokens[spot] += each * tokens;
                if !ALL {
                    continue;
                }
                self.present[spot] += each * stay;
                self.work[spot] += each * stay * time;
                self.own[number][touch.local] += one * stay / touch.spread;
                for pair in touch.pairs.iter() {
                    self.pairs[*pair] += one * load.count * stay / lumped.pairs[*pair];
                }
            }
        }
        self.holds[number] = holds;
    }

    /// The share of a spot that is in use.
    pub fn utilization(&self, lumped: &Lumped, spot: usize) -> f64 {
        let of = &lumped.spots[spot];
        let servers = of.servers();
        if servers.is_finite() { self.busy[spot] * self.taken(lumped, spot) / servers } else { 0.0 }
    }

    /// Tokens that one I/O takes at a pool; 1 elsewhere.
    pub fn taken(&self, lumped: &Lumped, spot: usize) -> f64 {
        match lumped.spots[spot].kind {
            SiteKind::Pool(_) => self.tokens[spot].max(1e-9),
            _ => 1.0,
        }
    }
}
