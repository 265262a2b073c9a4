//! Every answer that a step allows, with its [signs](super::signs). Their weights are in [`super::model`].

use super::answer::{Gauge, HopLimit, HopLoad, Limiter};
use super::experiment::CARRIED;
use super::neighbours::NeighbourResponse;
use super::observed::{Observed, ObservedHop, Utilization};
use super::signs::{
    DepthSigns, DrainSigns, GeneratorSigns, HopSigns, ImbalanceSigns, LatencySigns, NoneSigns,
    RateSigns, Signs, SlotsSigns, TwoSigns, UnknownSigns,
};
use super::sort::HopRole;
use crate::figures::Loops;
use crate::generator::Limit;
use record::HopKind;

/// From this share of its limit on, at means of samples, a hop is seen to be full.
const SEEN_FULL: f64 = 0.9;

/// An answer that was weighed.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The answer.
    pub limit: Limiter,
    /// Its signs, which are those of its sort.
    pub signs: Signs,
    /// The hops that the answer is about, by their place in the record.
    pub about: Vec<usize>,
}

/// What is missing where a hop counted nothing, before its name.
pub(super) const NO_COUNTERS: &str = "counters of ";
/// Hops this close to each other are full at once.
const WITHIN: f64 = 0.05;
/// Two limits that differ by less are one wire seen twice: an adapter's port, its cable, the switch's port.
const SAME_WIRE: f64 = 0.005;
/// Hops below this part of their limit are no candidates.
const FROM: f64 = 0.4;
/// Hops weighed at most: the fullest.
const WEIGHED: usize = 12;
/// Part of the traffic by which hops that share it may exceed the whole, for counting at different moments.
const SLACK: f64 = 1.1;
/// The fullest of several paths is not balanced against one that is less than this part as full.
const IDLE: f64 = 0.8;
/// A path with less than this part of the traffic is one that is not used.
const USED: f64 = 0.004;
/// A port has slow drain only where at least this share of its traffic goes elsewhere.
const VICTIMS: f64 = 0.15;

/// From 0 at `low` to 1 at `high`.
fn ramp(value: f64, low: f64, high: f64) -> f64 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}

fn full(share: f64) -> f64 {
    ramp(share, 0.72, 0.98)
}

/// The same of a step. Under an observed load a hop that is nearly full may carry all that is asked for.
fn fullness(step: &Observed, share: f64) -> f64 {
    if step.is_observed() { ramp(share, 0.85, 0.99) } else { full(share) }
}

/// How near to full an observed hop is while it does not count as full: a mean over samples hides bursts.
fn high(step: &Observed, share: f64) -> f64 {
    if step.is_observed() { ramp(share, 0.3, 0.85) } else { 0.0 }
}

/// How close two utilizations are, by their ratio.
fn close(ratio: f64) -> f64 {
    ramp(ratio, 1.0 - 2.0 * WITHIN, 1.0 - WITHIN / 2.0)
}

/// All answers to a step.
pub(super) fn candidates(step: &Observed, response: &NeighbourResponse) -> Vec<Candidate> {
    let view = Inputs::of(step, response);
    let mut out = view.load();
    if step.is_carried() {
        // Hops that carry all that falls due limit nothing, however full they are.
        let (limit, signs) = (Limiter::Unknown { missing: Vec::new() }, UnknownSigns::default());
        let signs = Signs::Unknown(UnknownSigns { base: 1.0, ..signs });
        out.push(Candidate { limit, signs, about: Vec::new() });
        return out;
    }
    // Bytes alone show no queue and no latency: a hop that is seen to be full limits, and of any other nothing is known.
    if step.iops <= 0.0 {
        out.clear();
        if is_any_full(step) {
            out.extend(view.hops());
            out.extend(view.two());
        }
        out.push(view.unknown());
        return out;
    }
    view.hops().for_each(|hop| out.push(hop));
    out.extend(view.slots());
    out.extend(view.two());
    out.extend(view.imbalances());
    out.extend(view.drains());
    out.extend(view.latency());
    out.push(view.unknown());
    out
}

/// Whether a hop is seen to be full.
fn is_any_full(step: &Observed) -> bool {
    step.hops.iter().any(|hop| hop.served.is_some_and(|of| of.share >= SEEN_FULL))
}

/// A step with figures that several answers use.
struct Inputs<'a> {
    step: &'a Observed,
    response: &'a NeighbourResponse,
    /// Hops that are served, the fullest first, with those that go with each.
    groups: Vec<FullHops>,
    /// 1: more load brings nothing; −1: it brings all; 0: not known.
    inelastic: f64,
    /// The share of I/Os in flight that wait anywhere.
    waits: f64,
    unexplained: f64,
    /// How full the fullest limit is.
    full: f64,
    /// The same of an observed load without processors, which others may keep busy.
    full_io: f64,
    /// How near to full that is, below what counts as full.
    high: f64,
    /// A queue limit that is full while its I/Os wait for it: how full, and how many wait.
    queue_full: f64,
    fill: f64,
    open: f64,
    /// The share of the depth that is absent because its slots pause.
    pauses: f64,
}

/// Hops that are full together, as one: paths that share the traffic evenly, and one wire under several names.
struct FullHops {
    /// The fullest.
    top: usize,
    full: Utilization,
    others: Vec<usize>,
}

impl<'a> Inputs<'a> {
    fn of(step: &'a Observed, response: &'a NeighbourResponse) -> Inputs<'a> {
        let groups = groups(step);
        let n = step.in_flight.unwrap_or(f64::INFINITY);
        let queue_full = |hop: &ObservedHop| {
            let waits = hop.load.slots_waiting.unwrap_or(0.0) / n;
            hop.slots.map_or(0.0, |slots| full(slots.share) * ramp(waits, 0.02, 0.25))
        };
        let waits: f64 = step.hops.iter().filter_map(ObservedHop::waits).sum();
        let share_io = groups
            .iter()
            .find(|group| !step.is_observed() || step.hops[group.top].role != HopRole::Cpu)
            .map_or(0.0, |group| group.full.share);
        Inputs {
            step,
            response,
            inelastic: response.elasticity.map_or(0.0, |e| 1.0 - 2.0 * e.clamp(0.0, 1.0)),
            waits: (waits / n).min(1.0),
            unexplained: ramp(step.unexplained().unwrap_or(0.0), 0.1, 0.5),
            full: groups.first().map_or(0.0, |group| full(group.full.share)),
            full_io: fullness(step, share_io),
            high: high(step, share_io),
            queue_full: step.hops.iter().map(queue_full).fold(0.0, f64::max),
            fill: step.fill().unwrap_or(1.0),
            open: f64::from(u8::from(step.loops == Loops::Open)),
            pauses: step.thinking * (1.0 - step.present_share()),
            groups,
        }
    }

    fn seen(&self, place: usize) -> &'a ObservedHop {
        &self.step.hops[place]
    }

    /// Those present at a hop, as a part of those under way within the hops.
    fn queued(&self, place: usize) -> f64 {
        let queue = self.seen(place).present;
        queue.zip(self.step.inside()).map_or(0.0, |(queue, inside)| (queue / inside).min(1.0))
    }

    fn grew(&self, place: usize) -> f64 {
        self.response.grew.get(place).copied().flatten().unwrap_or(0.0)
    }

    /// The fullest of hops that are not of a group.
    fn rival(&self, group: &FullHops) -> f64 {
        let others = self.groups.iter().filter(|other| other.top != group.top);
        others.map(|other| other.full.share).fold(0.0, f64::max)
    }

    fn weighed(&self) -> impl Iterator<Item = &FullHops> {
        self.groups.iter().take(WEIGHED).filter(|group| group.full.share >= FROM)
    }

    fn hops(&self) -> impl Iterator<Item = Candidate> {
        // The busy time of an observed device says only that it is often idle.
        let idle = |group: &&FullHops| {
            let busy = group.full.gauge == Gauge::Busy;
            self.step.is_observed() && busy && self.seen(group.top).kind == HopKind::BlockDevice
        };
        self.weighed().filter(move |group| !idle(group)).map(|group| {
            let lead = ((group.full.share - self.rival(group)) / 0.15).clamp(-1.0, 1.0);
            let idle = f64::from(u8::from(!self.idle_siblings(group).is_empty()));
            let drains = self.drained(group).map_or(0.0, |(_, drain)| drain.waits * drain.victims);
            let signs = HopSigns {
                base: 1.0,
                full: fullness(self.step, group.full.share),
                lead,
                queued: self.queued(group.top),
                inelastic: self.inelastic,
                grew: self.grew(group.top),
                idle_siblings: idle,
                drains,
                twin: close(self.rival(group) / group.full.share),
                unseen: match self.seen(group.top).role {
                    HopRole::Cpu if self.step.is_observed() => self.step.unseen().max(0.5),
                    _ => 0.0,
                },
                high: high(self.step, group.full.share),
                blur: self.step.blur(),
            };
            self.hop(group.top, group.full.gauge, &group.others, Signs::Hop(signs))
        })
    }

    fn hop(&self, place: usize, gauge: Gauge, others: &[usize], signs: Signs) -> Candidate {
        let seen = self.seen(place);
        let also = others.iter().map(|other| self.seen(*other).name().to_owned()).collect();
        let limit = Limiter::Hop { hop: seen.name().to_owned(), why: seen.why(gauge), also };
        let about = std::iter::once(place).chain(others.iter().copied()).collect();
        Candidate { limit, signs, about }
    }

    /// Queue limits. One that is full because a hop behind it is full is not the limit.
    fn slots(&self) -> Vec<Candidate> {
        let limited: Vec<(usize, Utilization)> = (0..self.step.hops.len())
            .filter_map(|place| Some((place, self.seen(place).slots?)))
            .filter(|(_, slots)| slots.share >= FROM)
            .collect();
        let n = self.step.in_flight.unwrap_or(f64::INFINITY);
        let mut done: Vec<&super::sort::Alike> = Vec::new();
        let mut out = Vec::new();
        let mut by_waits = limited.clone();
        let waits = |place: usize| self.seen(place).load.slots_waiting.unwrap_or(0.0);
        by_waits.sort_by(|a, b| waits(b.0).total_cmp(&waits(a.0)).then(a.0.cmp(&b.0)));
        for (place, slots) in by_waits {
            let sort = &self.seen(place).alike;
            if done.contains(&sort) || done.len() >= WEIGHED {
                continue;
            }
            done.push(sort);
            let alike = |of: &&(usize, Utilization)| {
                of.0 != place
                    && self.seen(of.0).alike == *sort
                    && (of.1.share / slots.share - 1.0).abs() <= WITHIN
                    && waits(of.0) > 0.0
            };
            let others: Vec<usize> = limited.iter().filter(alike).map(|of| of.0).collect();
            let waiting: f64 =
                std::iter::once(place).chain(others.iter().copied()).map(waits).sum();
            let behind =
                |of: &&(usize, Utilization)| of.0 > place && self.seen(of.0).alike != *sort;
            let deeper = limited
                .iter()
                .filter(behind)
                .map(|of| full(of.1.share) * ramp(waits(of.0) / n, 0.02, 0.25));
            let signs = SlotsSigns {
                base: 1.0,
                full: fullness(self.step, slots.share),
                waits: ramp(waiting / n, 0.0, 0.4),
                inside_full: self.full,
                unexplained: self.unexplained,
                inelastic: self.inelastic,
                grew: self.grew(place),
                deeper: deeper.fold(0.0, f64::max),
                delay: ramp(self.dominant().map_or(0.0, |(_, share)| share), 0.5, 0.9),
                unseen: self.step.unseen(),
                high: high(self.step, slots.share),
                blur: self.step.blur(),
            };
            out.push(self.hop(place, Gauge::Slots, &others, Signs::Slots(signs)));
        }
        out
    }

    /// The two fullest groups, where each alone carries enough to limit.
    fn two(&self) -> Option<Candidate> {
        let [first, second] = self.groups.get(..2)? else { return None };
        if second.full.share < FROM {
            return None;
        }
        let third = self.groups.get(2).map_or(0.0, |group| group.full.share);
        let name = |group: &FullHops| self.seen(group.top).name().to_owned();
        let signs = TwoSigns {
            base: 1.0,
            full: fullness(self.step, second.full.share),
            close: close(second.full.share / first.full.share),
            third: close(third / first.full.share),
            inelastic: self.inelastic,
            queued: (self.queued(first.top) + self.queued(second.top)).min(1.0),
        };
        let limit = Limiter::Two { first: name(first), second: name(second) };
        Some(Candidate { limit, signs: Signs::Two(signs), about: vec![first.top, second.top] })
    }

    /// Paths beside a full one that carry less: of the same device and sort, sharing the traffic with it.
    fn idle_siblings(&self, group: &FullHops) -> Vec<usize> {
        let top = self.seen(group.top);
        if top.role != HopRole::Path {
            return Vec::new();
        }
        let group = std::iter::once(group.top).chain(group.others.iter().copied());
        let alike = group.clone().filter(|place| self.seen(*place).alike == top.alike);
        let mine: f64 = alike.map(|place| self.step.traffic(self.seen(place)).unwrap_or(1.0)).sum();
        let full = self.seen(top.order).share();
        let sibling = |place: &usize| {
            let hop = self.seen(*place);
            let theirs = self.step.traffic(hop).unwrap_or(0.0);
            let beside = hop.alike == top.alike
                && hop.agent == top.agent
                && (hop.load.device == top.load.device || top.name() == top.load.device);
            let shares = theirs > USED && theirs + mine <= SLACK;
            beside && shares && hop.share() > 0.0 && hop.share() < IDLE * full
        };
        (0..self.step.hops.len()).filter(sibling).collect()
    }

    fn imbalances(&self) -> impl Iterator<Item = Candidate> {
        self.weighed().filter_map(|group| {
            let idle = self.idle_siblings(group);
            let fullest = idle.iter().map(|place| self.seen(*place).share()).reduce(f64::max)?;
            let lead = ((group.full.share - self.rival(group)) / 0.15).clamp(-1.0, 1.0);
            let signs = ImbalanceSigns {
                base: 1.0,
                full: fullness(self.step, group.full.share),
                gap: 1.0 - fullest / group.full.share,
                lead,
                queued: self.queued(group.top),
                inelastic: self.inelastic,
            };
            let name = |place: &usize| self.seen(*place).name().to_owned();
            let limit = Limiter::PathImbalance {
                hop: name(&group.top),
                idle: idle.iter().map(name).collect(),
            };
            Some(Candidate { limit, signs: Signs::Imbalance(signs), about: vec![group.top] })
        })
    }

    fn drains(&self) -> impl Iterator<Item = Candidate> {
        self.weighed().filter_map(|group| {
            let (port, signs) = self.drained(group)?;
            let name = |place: usize| self.seen(place).name().to_owned();
            let limit = Limiter::SlowDrain { hop: name(port), drain: Some(name(group.top)) };
            Some(Candidate { limit, signs: Signs::Drain(signs), about: vec![port, group.top] })
        })
    }

    /// A path before a full hop whose places are taken, and which carries more than what goes there.
    fn drained(&self, group: &FullHops) -> Option<(usize, DrainSigns)> {
        let drain = self.step.traffic(self.seen(group.top))?;
        let n = self.step.in_flight?;
        let held = |place: &usize| {
            let hop = self.seen(*place);
            let waits = hop.load.slots_waiting.unwrap_or(0.0) / n;
            let slots = hop.slots.filter(|_| hop.role == HopRole::Path)?;
            let carries = self.step.traffic(hop)?;
            let victims = 1.0 - drain / carries;
            let unlike = *place != group.top && !group.others.contains(place);
            (unlike && victims > VICTIMS && waits > 0.0).then_some((*place, slots, waits, victims))
        };
        let places = (0..self.step.hops.len()).filter_map(|place| held(&place));
        let (port, slots, waits, victims) = places.max_by(|a, b| a.2.total_cmp(&b.2))?;
        let signs = DrainSigns {
            base: 1.0,
            full: full(slots.share),
            waits: ramp(waits, 0.0, 0.3),
            drain_full: full(group.full.share),
            victims: ramp(victims, VICTIMS, 0.4),
            inelastic: self.inelastic,
        };
        Some((port, signs))
    }

    /// The hop at which most of an operation's time passes without waiting, and that part. Hops of one sort that share the
    /// traffic count together; those of one wire are crossed at once, and count once.
    fn dominant(&self) -> Option<(usize, f64)> {
        let n = self.step.in_flight?;
        let hops = &self.step.hops;
        let stays = |hop: &ObservedHop| {
            let waits = hop.waits().unwrap_or(0.0);
            Some(((hop.present? - waits) / n).clamp(0.0, 1.0))
        };
        let of_sort = |hop: &ObservedHop| -> f64 {
            let alike = hops.iter().filter(|other| other.alike == hop.alike);
            alike.filter_map(stays).sum()
        };
        // A hop whose limit is not known cannot be called a delay.
        let known = hops.iter().filter(|hop| hop.served.is_some());
        let shares = known.filter_map(|hop| {
            let mine = stays(hop)?;
            let share = if hop.role == HopRole::Path { mine } else { of_sort(hop).min(1.0) };
            Some((hop.order, share, mine))
        });
        let most =
            shares.max_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)).then(b.0.cmp(&a.0)));
        most.map(|(place, share, _)| (place, share))
    }

    fn latency(&self) -> Option<Candidate> {
        if matches!(self.step.loops, Loops::Open | Loops::Observed) {
            return None;
        }
        let (place, share) = self.dominant()?;
        let signs = LatencySigns {
            base: 1.0,
            full: self.full,
            dominant: ramp(share, 0.5, 0.7),
            waits: self.waits,
            filled: ramp(self.fill, 0.5, 0.95),
            unexplained: self.unexplained,
            inelastic: self.inelastic,
            pauses: self.pauses,
            queue_full: self.queue_full,
        };
        let limit = Limiter::Latency { hop: self.seen(place).name().to_owned() };
        Some(Candidate { limit, signs: Signs::Latency(signs), about: vec![place] })
    }

    /// Answers about the load and its generator.
    fn load(&self) -> Vec<Candidate> {
        let step = self.step;
        let mut out = Vec::new();
        let mut push = |limit: Limiter, signs: Signs| {
            out.push(Candidate { limit, signs, about: Vec::new() });
        };
        if !matches!(step.loops, Loops::Open | Loops::Observed) {
            let signs = DepthSigns {
                base: 1.0,
                full: self.full,
                filled: ramp(self.fill, 0.5, 0.95),
                waits: self.waits,
                dominant: self.dominant().map_or(0.0, |(_, share)| ramp(share, 0.5, 0.7)),
                unexplained: self.unexplained,
                inelastic: self.inelastic,
                pauses: self.pauses,
                queue_full: self.queue_full,
            };
            push(Limiter::Depth, Signs::Depth(signs));
        }
        if step.testified() {
            push(Limiter::Generator, Signs::Generator(self.generator()));
        }
        // What was not carried limited nothing.
        if step.loops != Loops::Closed && step.offered > 0.0 && !step.falls_short() {
            let short = if self.open > 0.0 { 1.0 - step.iops / step.offered } else { 0.0 };
            let short = if step.is_behind() { 1.0 } else { ramp(short, 1.0 - CARRIED, 0.05) };
            let signs = RateSigns { base: 1.0, short, full: self.full, waits: self.waits };
            push(Limiter::Rate, Signs::Rate(signs));
        }
        if step.thinking > 0.0 || step.loops == Loops::Observed {
            let filled = ramp(step.present_share(), 0.2, 0.8);
            let signs = NoneSigns {
                base: 1.0,
                full: self.full_io,
                filled,
                waits: self.waits,
                unseen: self.hidden(),
                high: self.high,
                blur: step.blur(),
            };
            push(Limiter::None, Signs::None(signs));
        }
        out
    }

    /// How much of an observed load may have met a full place unseen.
    fn hidden(&self) -> f64 {
        let between = if self.step.is_observed() { self.step.between() } else { 0.0 };
        self.step.unseen().max(between)
    }

    fn generator(&self) -> GeneratorSigns {
        let generator = &self.step.generator;
        let full = self.full.max(self.queue_full);
        let verdict = match generator.limit {
            Limit::OwnCost => 1.0,
            Limit::Limited => 0.5 * (1.0 - full),
            _ => 0.0,
        };
        GeneratorSigns {
            base: 1.0,
            own: ramp(generator.own_share, 0.1, 0.6),
            empty: ramp(1.0 - self.fill, 0.1, 0.5),
            cpu: ramp(generator.cpu_user_share, 0.4, 0.9),
            full,
            verdict,
            late: ramp(generator.late_share, 0.0, 0.05),
        }
    }

    fn unknown(&self) -> Candidate {
        let step = self.step;
        let blind = step.hops.iter().all(ObservedHop::is_dark);
        let silent = step.hops.iter().any(ObservedHop::is_dark);
        let signs = UnknownSigns {
            base: 1.0,
            unexplained: self.unexplained,
            full: self.full_io,
            silent: f64::from(u8::from(silent)),
            blind: f64::from(u8::from(blind)),
            open: self.open,
            queue_full: self.queue_full,
            unseen: self.hidden(),
            high: self.high,
            blur: step.blur(),
        };
        let mut missing = missing(step);
        if missing.is_empty() && step.iops <= 0.0 {
            missing.push("operations and latency of the hosts".to_owned());
        }
        let limit = Limiter::Unknown { missing };
        Candidate { limit, signs: Signs::Unknown(signs), about: Vec::new() }
    }
}

/// The counters that would decide, by hop.
fn missing(step: &Observed) -> Vec<String> {
    let of = |hop: &ObservedHop| {
        let load = &hop.load;
        let what = match (hop.silent, load.read_bytes_per_s.or(load.write_bytes_per_s)) {
            (true, _) => return format!("{NO_COUNTERS}{}", hop.name()),
            (false, Some(_)) => "rate or utilization",
            (false, None) => "utilization",
        };
        format!("{what} of {}", hop.name())
    };
    let dark = |hop: &&ObservedHop| hop.is_dark();
    let mut out: Vec<String> = step.hops.iter().filter(dark).take(WEIGHED).map(of).collect();
    if out.is_empty()
        && !step.hops.is_empty()
        && step.unexplained().is_some_and(|share| share > 0.1)
    {
        out.push(format!("{NO_COUNTERS}a hop that is not in the record"));
    }
    if step.hops.is_empty() {
        out.push(format!("{NO_COUNTERS}any hop"));
    }
    out
}

/// Hops that are served, by how full they are.
fn groups(step: &Observed) -> Vec<FullHops> {
    let mut order: Vec<(usize, Utilization)> = step
        .hops
        .iter()
        .filter_map(|hop| Some((hop.order, hop.served?)))
        .filter(|(_, full)| full.share.is_finite())
        .collect();
    order.sort_by(|a, b| b.1.share.total_cmp(&a.1.share).then(a.0.cmp(&b.0)));
    let mut groups: Vec<FullHops> = Vec::new();
    let mut traffic: Vec<f64> = Vec::new();
    for (place, full) in order {
        let hop = &step.hops[place];
        let mine = step.traffic(hop).unwrap_or(1.0);
        let joins = groups.iter().zip(&traffic).position(|(group, carried)| {
            let top = &step.hops[group.top];
            let beside = top.alike == hop.alike
                && full.share >= group.full.share * (1.0 - WITHIN)
                && carried + mine <= SLACK;
            beside || one_wire(step, group, place, full)
        });
        match joins {
            Some(at) => {
                let top = &step.hops[groups[at].top];
                if top.alike == hop.alike {
                    traffic[at] += mine;
                }
                // One wire has many names: use the one nearest to the guests, whichever counted a little more.
                let nearer = place < groups[at].top && one_wire(step, &groups[at], place, full);
                let group = &mut groups[at];
                if nearer {
                    group.others.push(std::mem::replace(&mut group.top, place));
                    group.full = full;
                } else {
                    group.others.push(place);
                }
            }
            None if groups.len() < 4 * WEIGHED => {
                groups.push(FullHops { top: place, full, others: Vec::new() });
                traffic.push(mine);
            }
            None => {}
        }
    }
    // In the order of the path, so that steps with one answer are shown together.
    groups.iter_mut().for_each(|group| group.others.sort_unstable());
    groups
}

/// Whether a hop is the same wire as a group's, seen from elsewhere: the same rate and the same traffic.
fn one_wire(step: &Observed, group: &FullHops, place: usize, full: Utilization) -> bool {
    let (top, hop) = (&step.hops[group.top], &step.hops[place]);
    let near = |a: Option<f64>, b: Option<f64>| {
        a.zip(b).is_some_and(|(a, b)| (a / b - 1.0).abs() <= SAME_WIRE)
    };
    let paths = top.role == HopRole::Path && hop.role == HopRole::Path;
    let equal =
        paths && full.gauge == group.full.gauge && near(Some(full.share), Some(group.full.share));
    let of = |load: &HopLoad| {
        // A direction that nothing takes is equal to another.
        let carried =
            [load.read_bytes_per_s, load.write_bytes_per_s].map(|of| of.map(|of| of + 1.0));
        [[load.read_rate_bytes_per_s, load.write_rate_bytes_per_s], carried].concat()
    };
    // Busy time has no rate: compare both directions.
    let same_time = || of(&top.load).into_iter().zip(of(&hop.load)).all(|(a, b)| near(a, b));
    match full.gauge {
        Gauge::Busy => equal && same_time(),
        gauge => equal && near(full.capacity, group.full.capacity) && why_rate(top.why(gauge)),
    }
}

fn why_rate(why: HopLimit) -> bool {
    why == HopLimit::Rate
}
