//! How fast each load goes and how long an I/O stays at each of its items: what both solvers look for, and the sums that
//! follow from it.

use super::lumped::{ItemKind, Load, Lumped};

/// A solution, or a step towards one.
#[derive(Clone, Debug)]
pub struct State {
    /// I/Os a second of one load of each kind.
    pub rates: Vec<f64>,
    /// Of each load and item: seconds a visit. The wait alone, where it is for tokens.
    pub stays: Vec<Vec<f64>>,
    /// Of each load and item: what of that time counts, since copies go at once.
    pub weights: Vec<Vec<f64>>,
}

impl State {
    /// Nobody waits.
    pub fn alone(lumped: &Lumped, copies: Copies) -> State {
        let stays = lumped.loads.iter().map(|load| load.items.iter().map(|i| i.time).collect());
        let stays: Vec<Vec<f64>> = stays.collect();
        let weights = lumped.loads.iter().map(|load| vec![1.0; load.items.len()]).collect();
        let mut state = State { rates: vec![0.0; lumped.loads.len()], stays, weights };
        state.settle(lumped, copies);
        state
    }

    /// The rates and weights that follow from the stays.
    pub fn settle(&mut self, lumped: &Lumped, copies: Copies) {
        for (number, load) in lumped.loads.iter().enumerate() {
            weigh(load, &self.stays[number], copies, &mut self.weights[number]);
            self.rates[number] = load.rate(self.cycle(number, load));
        }
    }

    /// Seconds from issue to end of an I/O of a load, averaged over its classes.
    pub fn cycle(&self, number: usize, load: &Load) -> f64 {
        let items = load.items.iter().zip(&self.stays[number]).zip(&self.weights[number]);
        let waited = items.filter(|((item, _), _)| !item.background);
        waited.map(|((item, stay), weight)| item.visits * stay * weight).sum()
    }

    /// Seconds from issue to end of an I/O of a class.
    pub fn response(&self, number: usize, load: &Load, class: usize) -> f64 {
        let of = load.classes[class].items.clone();
        let waited = of.filter(|item| !load.items[*item].background);
        let time = |item: usize| {
            load.items[item].chance * self.stays[number][item] * self.weights[number][item]
        };
        waited.map(time).sum()
    }

    /// Seconds for which an I/O holds the tokens of each section, each time that it takes them.
    pub fn holds(&self, number: usize, load: &Load) -> Vec<f64> {
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

/// When the last of several copies ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// With the slowest: times do not vary.
    Steady,
    /// Later: times are exponential.
    Random,
}

impl Load {
    /// I/Os a second, where one takes so long.
    pub fn rate(&self, cycle: f64) -> f64 {
        let customers = self.mix.customers;
        match self.mix.rate {
            Some(rate) if cycle > 0.0 => rate.min(customers / cycle),
            Some(rate) => rate,
            None => customers / (self.mix.think + cycle).max(1e-12),
        }
    }

    /// Whether the clock of arrivals decides, and not how long I/Os take.
    pub fn is_free(&self, rate: f64) -> bool {
        self.mix.rate.is_some_and(|wanted| rate >= wanted * (1.0 - 1e-9))
    }
}

/// What of each item's time counts: copies that go at once take as long as the last of them.
fn weigh(load: &Load, stays: &[f64], copies: Copies, weights: &mut [f64]) {
    weights.fill(1.0);
    for group in load.classes.iter().flat_map(|class| &class.together) {
        let time = |range: &std::ops::Range<usize>, weights: &[f64]| -> f64 {
            let waited = range.clone().filter(|item| !load.items[*item].background);
            waited.map(|item| load.items[item].chance * stays[item] * weights[item]).sum()
        };
        let times: Vec<f64> = group.iter().map(|range| time(range, weights)).collect();
        let sum: f64 = times.iter().sum();
        let last = times.iter().fold(0.0, |last: f64, time| match copies {
            Copies::Steady => last.max(*time),
            // The mean of the larger of two exponential times.
            Copies::Random if last + time > 0.0 => last + time - last * time / (last + time),
            Copies::Random => last,
        });
        let factor = if sum > 0.0 { last / sum } else { 1.0 };
        for item in group.iter().flat_map(|range| range.clone()) {
            if !load.items[item].background {
                weights[item] *= factor;
            }
        }
    }
}

/// Sums over all loads, of one place of each spot.
#[derive(Clone, Debug)]
pub struct Sums {
    /// Visits a second.
    pub rates: Vec<f64>,
    /// Servers at work on average, or tokens taken (in I/Os), or the share of a link.
    pub busy: Vec<f64>,
    /// Present on average, waiting or served.
    pub present: Vec<f64>,
    /// Service that those present ask for in all, in seconds.
    pub work: Vec<f64>,
    /// Tokens that an I/O takes, on average.
    pub tokens: Vec<f64>,
    /// Of each pair: present at the place with tokens of the pool.
    pub pairs: Vec<f64>,
    /// Of each load: present of it at each of its own places.
    pub own: Vec<Vec<f64>>,
}

/// Room for the sums that speak of those who are present.
#[derive(Default)]
struct Present {
    present: Vec<f64>,
    work: Vec<f64>,
    pairs: Vec<f64>,
    own: Vec<Vec<f64>>,
}

impl Sums {
    /// The sums of a state.
    pub fn of(lumped: &Lumped, state: &State) -> Sums {
        let none = || vec![0.0; lumped.spots.len()];
        let own = lumped.loads.iter().map(|load| vec![0.0; load.locals.len()]).collect();
        let pairs = vec![0.0; lumped.pairs.len()];
        let present = Present { present: none(), work: none(), pairs, own };
        Sums::with(lumped, state, present, Sums::add::<true>)
    }

    /// What each spot has of its servers in use, and nothing of who is there: [`Sums::utilization`] asks for no more, and
    /// to find prices it is asked hundreds of times.
    pub fn in_use(lumped: &Lumped, state: &State) -> Sums {
        Sums::with(lumped, state, Present::default(), Sums::add::<false>)
    }

    fn with(
        lumped: &Lumped,
        state: &State,
        Present { present, work, pairs, own }: Present,
        add: fn(&mut Sums, &Lumped, &State, usize, &Load),
    ) -> Sums {
        let none = || vec![0.0; lumped.spots.len()];
        let (rates, busy, tokens) = (none(), none(), none());
        let mut sums = Sums { rates, busy, tokens, present, work, pairs, own };
        for (number, load) in lumped.loads.iter().enumerate() {
            add(&mut sums, lumped, state, number, load);
        }
        for (spot, tokens) in sums.tokens.iter_mut().enumerate() {
            *tokens = if sums.rates[spot] > 0.0 { *tokens / sums.rates[spot] } else { 1.0 };
        }
        sums
    }

    fn add<const ALL: bool>(&mut self, lumped: &Lumped, state: &State, number: usize, load: &Load) {
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
            for touch in &item.touches {
                let spot = touch.spot;
                let each = one * load.count / lumped.spots[spot].count;
                let time = match lumped.spots[spot].kind {
                    super::lumped::Kind::Link(rate) => item.wire / rate,
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
                for pair in &touch.pairs {
                    self.pairs[*pair] += one * load.count * stay / lumped.pairs[*pair];
                }
            }
        }
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
            super::lumped::Kind::Pool(_) => self.tokens[spot].max(1e-9),
            _ => 1.0,
        }
    }
}
