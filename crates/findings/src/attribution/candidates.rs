//! Every answer that a step allows, with the signs that speak for it or against it.
//!
//! A sign is a number, mostly 0 to 1, that grows with what it stands for; what is not known is 0. The names of the signs of
//! each sort of answer are in [`SIGNS`], their weights in [`super::model`].

use super::answer::{Gauge, HopLoad, Limiter, Why};
use super::neighbours::Response;
use super::observed::{Full, Observed, Seen};
use super::sort::Role;
use crate::figures::Loops;
use crate::generator::Limit;

/// Signs of an answer.
pub const SIGN_COUNT: usize = 9;
/// Sorts of answers.
pub const KINDS: usize = 11;

/// The names of the signs of each sort of answer, in the order of [`Kind`].
pub const SIGNS: [(&str, [&str; SIGN_COUNT]); KINDS] = [
    ("hop", ["base", "full", "lead", "piled", "steady", "grew", "idle-siblings", "drains", "twin"]),
    (
        "slots",
        [
            "base",
            "full",
            "waits",
            "inside-full",
            "unexplained",
            "steady",
            "grew",
            "deeper",
            "delay",
        ],
    ),
    ("two", ["base", "full", "close", "third", "steady", "together", "", "", ""]),
    ("imbalance", ["base", "full", "gap", "lead", "piled", "steady", "", "", ""]),
    ("drain", ["base", "full", "waits", "drain-full", "victims", "steady", "", "", ""]),
    (
        "depth",
        ["base", "full", "filled", "waits", "dominant", "unexplained", "steady", "pauses", "held"],
    ),
    (
        "latency",
        ["base", "full", "share", "waits", "filled", "unexplained", "steady", "pauses", "held"],
    ),
    ("generator", ["base", "own", "empty", "cpu", "full", "verdict", "late", "", ""]),
    ("rate", ["base", "short", "full", "waits", "", "", "", "", ""]),
    ("none", ["base", "full", "filled", "waits", "", "", "", "", ""]),
    ("unknown", ["base", "unexplained", "full", "silent", "blind", "open", "held", "", ""]),
];

/// A sort of answer: a row of [`SIGNS`] and of the weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// A hop that serves all it can.
    Hop,
    /// A hop that has as many I/Os at once as it may.
    Slots,
    /// Two hops at once.
    Two,
    /// One of several paths.
    Imbalance,
    /// Somebody behind a port takes too slowly.
    Drain,
    /// Worker depth.
    Depth,
    /// A delay.
    Latency,
    /// The generator.
    Generator,
    /// All that was asked was carried.
    Rate,
    /// Nothing.
    None,
    /// Not counted.
    Unknown,
}

/// An answer that was weighed.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The answer.
    pub limit: Limiter,
    /// Its sort.
    pub kind: Kind,
    /// What speaks for it and against it, as [`SIGNS`] names them.
    pub signs: [f64; SIGN_COUNT],
    /// The hops that the answer is about, by their place in the record.
    pub about: Vec<usize>,
}

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
/// A port that lets pass most of what it carries for somebody full is not held up by him.
const VICTIMS: f64 = 0.15;

/// From 0 at `low` to 1 at `high`.
fn ramp(value: f64, low: f64, high: f64) -> f64 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}

fn full(share: f64) -> f64 {
    ramp(share, 0.72, 0.98)
}

/// All answers to a step.
pub(super) fn candidates(step: &Observed, response: &Response) -> Vec<Candidate> {
    let view = View::of(step, response);
    let mut out = view.load();
    view.hops().for_each(|hop| out.push(hop));
    out.extend(view.slots());
    out.extend(view.two());
    out.extend(view.imbalances());
    out.extend(view.drains());
    out.extend(view.latency());
    out.push(view.unknown());
    out
}

/// A step with what several answers ask for.
struct View<'a> {
    step: &'a Observed,
    response: &'a Response,
    /// Hops that are served, the fullest first, with those that go with each.
    groups: Vec<Group>,
    /// 1: more load brings nothing; −1: it brings all; 0: not known.
    steady: f64,
    /// All who wait anywhere, as a part of those in flight.
    waits: f64,
    unexplained: f64,
    /// How full the fullest limit is.
    full: f64,
    /// A queue limit that is full while its I/Os wait for it: how full, and how many wait.
    held: f64,
    fill: f64,
    open: f64,
    /// The part of the depth that stays away because its slots pause.
    pauses: f64,
}

/// Hops that are full together, as one: paths that share the traffic evenly, and one wire under several names.
struct Group {
    /// The fullest.
    top: usize,
    full: Full,
    others: Vec<usize>,
}

impl<'a> View<'a> {
    fn of(step: &'a Observed, response: &'a Response) -> View<'a> {
        let groups = groups(step);
        let n = step.in_flight.unwrap_or(f64::INFINITY);
        let held = |hop: &Seen| {
            let waits = hop.load.slots_waiting.unwrap_or(0.0) / n;
            hop.slots.map_or(0.0, |slots| full(slots.share) * ramp(waits, 0.02, 0.25))
        };
        let waits: f64 = step.hops.iter().filter_map(Seen::waits).sum();
        View {
            step,
            response,
            steady: response.elasticity.map_or(0.0, |e| 1.0 - 2.0 * e.clamp(0.0, 1.0)),
            waits: (waits / n).min(1.0),
            unexplained: ramp(step.unexplained().unwrap_or(0.0), 0.1, 0.5),
            full: groups.first().map_or(0.0, |group| full(group.full.share)),
            held: step.hops.iter().map(held).fold(0.0, f64::max),
            fill: step.fill().unwrap_or(1.0),
            open: f64::from(u8::from(step.loops == Loops::Open)),
            pauses: step.thinking * (1.0 - step.present_share()),
            groups,
        }
    }

    fn seen(&self, place: usize) -> &'a Seen {
        &self.step.hops[place]
    }

    /// Those present at a hop, as a part of those under way within the hops.
    fn piled(&self, place: usize) -> f64 {
        let queue = self.seen(place).present;
        queue.zip(self.step.inside()).map_or(0.0, |(queue, inside)| (queue / inside).min(1.0))
    }

    fn grew(&self, place: usize) -> f64 {
        self.response.grew.get(place).copied().flatten().unwrap_or(0.0)
    }

    /// The fullest of hops that are not of a group.
    fn rival(&self, group: &Group) -> f64 {
        let others = self.groups.iter().filter(|other| other.top != group.top);
        others.map(|other| other.full.share).fold(0.0, f64::max)
    }

    fn weighed(&self) -> impl Iterator<Item = &Group> {
        self.groups.iter().take(WEIGHED).filter(|group| group.full.share >= FROM)
    }

    fn hops(&self) -> impl Iterator<Item = Candidate> {
        self.weighed().map(|group| {
            let lead = ((group.full.share - self.rival(group)) / 0.15).clamp(-1.0, 1.0);
            let idle = f64::from(u8::from(!self.idle_siblings(group).is_empty()));
            let drains = self.drained(group).map_or(0.0, |drain| drain.signs[2] * drain.signs[4]);
            let twin = self.rival(group) / group.full.share;
            let signs = [
                1.0,
                full(group.full.share),
                lead,
                self.piled(group.top),
                self.steady,
                self.grew(group.top),
                idle,
                drains,
                ramp(twin, 1.0 - 2.0 * WITHIN, 1.0 - WITHIN / 2.0),
            ];
            self.hop(Kind::Hop, group.top, group.full.gauge, &group.others, signs)
        })
    }

    fn hop(
        &self,
        kind: Kind,
        place: usize,
        gauge: Gauge,
        others: &[usize],
        signs: [f64; SIGN_COUNT],
    ) -> Candidate {
        let seen = self.seen(place);
        let also = others.iter().map(|other| self.seen(*other).name().to_owned()).collect();
        let limit = Limiter::Hop { hop: seen.name().to_owned(), why: seen.why(gauge), also };
        let about = std::iter::once(place).chain(others.iter().copied()).collect();
        Candidate { limit, kind, signs, about }
    }

    /// Queue limits. One that is full because what stands behind it is full is not what limits.
    fn slots(&self) -> Vec<Candidate> {
        let limited: Vec<(usize, Full)> = (0..self.step.hops.len())
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
            let alike = |of: &&(usize, Full)| {
                of.0 != place
                    && self.seen(of.0).alike == *sort
                    && (of.1.share / slots.share - 1.0).abs() <= WITHIN
                    && waits(of.0) > 0.0
            };
            let others: Vec<usize> = limited.iter().filter(alike).map(|of| of.0).collect();
            let waiting: f64 =
                std::iter::once(place).chain(others.iter().copied()).map(waits).sum();
            let behind = |of: &&(usize, Full)| of.0 > place && self.seen(of.0).alike != *sort;
            let deeper = limited
                .iter()
                .filter(behind)
                .map(|of| full(of.1.share) * ramp(waits(of.0) / n, 0.02, 0.25));
            let signs = [
                1.0,
                full(slots.share),
                ramp(waiting / n, 0.0, 0.4),
                self.full,
                self.unexplained,
                self.steady,
                self.grew(place),
                deeper.fold(0.0, f64::max),
                ramp(self.dominant().map_or(0.0, |(_, share)| share), 0.5, 0.9),
            ];
            out.push(self.hop(Kind::Slots, place, Gauge::Slots, &others, signs));
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
        let ratio = second.full.share / first.full.share;
        let both = self.piled(first.top) + self.piled(second.top);
        let name = |group: &Group| self.seen(group.top).name().to_owned();
        let signs = [
            1.0,
            full(second.full.share),
            ramp(ratio, 1.0 - 2.0 * WITHIN, 1.0 - WITHIN / 2.0),
            ramp(third / first.full.share, 1.0 - 2.0 * WITHIN, 1.0 - WITHIN / 2.0),
            self.steady,
            both.min(1.0),
            0.0,
            0.0,
            0.0,
        ];
        let limit = Limiter::Two { first: name(first), second: name(second) };
        Some(Candidate { limit, kind: Kind::Two, signs, about: vec![first.top, second.top] })
    }

    /// Paths beside a full one that carry less: of the same device and sort, sharing the traffic with it.
    fn idle_siblings(&self, group: &Group) -> Vec<usize> {
        let top = self.seen(group.top);
        if top.role != Role::Path {
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
            let signs = [
                1.0,
                full(group.full.share),
                1.0 - fullest / group.full.share,
                lead,
                self.piled(group.top),
                self.steady,
                0.0,
                0.0,
                0.0,
            ];
            let name = |place: &usize| self.seen(*place).name().to_owned();
            let limit = Limiter::PathImbalance {
                hop: name(&group.top),
                idle: idle.iter().map(name).collect(),
            };
            Some(Candidate { limit, kind: Kind::Imbalance, signs, about: vec![group.top] })
        })
    }

    fn drains(&self) -> impl Iterator<Item = Candidate> {
        self.weighed().filter_map(|group| self.drained(group))
    }

    /// A path before a full hop whose places are taken, and which carries more than what goes there.
    fn drained(&self, group: &Group) -> Option<Candidate> {
        let drain = self.step.traffic(self.seen(group.top))?;
        let n = self.step.in_flight?;
        let held = |place: &usize| {
            let hop = self.seen(*place);
            let waits = hop.load.slots_waiting.unwrap_or(0.0) / n;
            let slots = hop.slots.filter(|_| hop.role == Role::Path)?;
            let carries = self.step.traffic(hop)?;
            let victims = 1.0 - drain / carries;
            let unlike = *place != group.top && !group.others.contains(place);
            (unlike && victims > VICTIMS && waits > 0.0).then_some((*place, slots, waits, victims))
        };
        let places = (0..self.step.hops.len()).filter_map(|place| held(&place));
        let (port, slots, waits, victims) = places.max_by(|a, b| a.2.total_cmp(&b.2))?;
        let signs = [
            1.0,
            full(slots.share),
            ramp(waits, 0.0, 0.3),
            full(group.full.share),
            ramp(victims, VICTIMS, 0.4),
            self.steady,
            0.0,
            0.0,
            0.0,
        ];
        let name = |place: usize| self.seen(place).name().to_owned();
        let limit = Limiter::SlowDrain { hop: name(port), drain: Some(name(group.top)) };
        Some(Candidate { limit, kind: Kind::Drain, signs, about: vec![port, group.top] })
    }

    /// The hop at which most of an operation's time passes without waiting, and that part. Hops of one sort that share the
    /// traffic count together; those of one wire are crossed at once, and count once.
    fn dominant(&self) -> Option<(usize, f64)> {
        let n = self.step.in_flight?;
        let hops = &self.step.hops;
        let stays = |hop: &Seen| {
            let waits = hop.waits().unwrap_or(0.0);
            Some(((hop.present? - waits) / n).clamp(0.0, 1.0))
        };
        let of_sort = |hop: &Seen| -> f64 {
            let alike = hops.iter().filter(|other| other.alike == hop.alike);
            alike.filter_map(stays).sum()
        };
        // Of a hop whose limit is not known nobody can say that it is a delay.
        let told = hops.iter().filter(|hop| hop.served.is_some());
        let shares = told.filter_map(|hop| {
            let mine = stays(hop)?;
            let share = if hop.role == Role::Path { mine } else { of_sort(hop).min(1.0) };
            Some((hop.order, share, mine))
        });
        let most =
            shares.max_by(|a, b| a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2)).then(b.0.cmp(&a.0)));
        most.map(|(place, share, _)| (place, share))
    }

    fn latency(&self) -> Option<Candidate> {
        if self.step.loops == Loops::Open {
            return None;
        }
        let (place, share) = self.dominant()?;
        let signs = [
            1.0,
            self.full,
            ramp(share, 0.5, 0.7),
            self.waits,
            ramp(self.fill, 0.5, 0.95),
            self.unexplained,
            self.steady,
            self.pauses,
            self.held,
        ];
        let limit = Limiter::Latency { hop: self.seen(place).name().to_owned() };
        Some(Candidate { limit, kind: Kind::Latency, signs, about: vec![place] })
    }

    /// Answers about the load and who issues it.
    fn load(&self) -> Vec<Candidate> {
        let plain = |limit: Limiter, kind: Kind, signs: [f64; SIGN_COUNT]| Candidate {
            limit,
            kind,
            signs,
            about: Vec::new(),
        };
        let step = self.step;
        let mut out = Vec::new();
        if step.loops != Loops::Open {
            let dominant = self.dominant().map_or(0.0, |(_, share)| ramp(share, 0.5, 0.7));
            let signs = [
                1.0,
                self.full,
                ramp(self.fill, 0.5, 0.95),
                self.waits,
                dominant,
                self.unexplained,
                self.steady,
                self.pauses,
                self.held,
            ];
            out.push(plain(Limiter::Depth, Kind::Depth, signs));
        }
        if step.testified() {
            let generator = &step.generator;
            let verdict = match generator.limit {
                Limit::OwnCost => 1.0,
                Limit::Limited => 0.5 * (1.0 - self.full.max(self.held)),
                _ => 0.0,
            };
            let signs = [
                1.0,
                ramp(generator.own_share, 0.1, 0.6),
                ramp(1.0 - self.fill, 0.1, 0.5),
                ramp(generator.cpu_user_share, 0.4, 0.9),
                self.full.max(self.held),
                verdict,
                ramp(generator.late_share, 0.0, 0.05),
                0.0,
                0.0,
            ];
            out.push(plain(Limiter::Generator, Kind::Generator, signs));
        }
        if step.loops != Loops::Closed && step.offered > 0.0 {
            let short = if self.open > 0.0 { 1.0 - step.iops / step.offered } else { 0.0 };
            let mut signs = [0.0; SIGN_COUNT];
            signs[..4].copy_from_slice(&[1.0, ramp(short, 0.005, 0.05), self.full, self.waits]);
            out.push(plain(Limiter::Rate, Kind::Rate, signs));
        }
        if step.thinking > 0.0 {
            let filled = step.present_share();
            let mut signs = [0.0; SIGN_COUNT];
            signs[..4].copy_from_slice(&[1.0, self.full, ramp(filled, 0.2, 0.8), self.waits]);
            out.push(plain(Limiter::None, Kind::None, signs));
        }
        out
    }

    fn unknown(&self) -> Candidate {
        let step = self.step;
        let blind = step.hops.iter().all(|hop| hop.served.is_none() && hop.slots.is_none());
        let silent = step.hops.iter().any(|hop| hop.served.is_none() && hop.slots.is_none());
        let signs = [
            1.0,
            self.unexplained,
            self.full,
            f64::from(u8::from(silent)),
            f64::from(u8::from(blind)),
            self.open,
            self.held,
            0.0,
            0.0,
        ];
        let limit = Limiter::Unknown { missing: missing(step) };
        Candidate { limit, kind: Kind::Unknown, signs, about: Vec::new() }
    }
}

/// Counters that would tell, by hop.
fn missing(step: &Observed) -> Vec<String> {
    let of = |hop: &Seen| {
        let load = &hop.load;
        let what = match (hop.silent, load.read_bytes_per_s.or(load.write_bytes_per_s)) {
            (true, _) => "its counters",
            (false, Some(_)) => "its rate or utilization",
            (false, None) => "its utilization",
        };
        format!("{}: {what}", hop.name())
    };
    let dark = |hop: &&Seen| hop.served.is_none() && hop.slots.is_none();
    let mut out: Vec<String> = step.hops.iter().filter(dark).take(WEIGHED).map(of).collect();
    if out.is_empty()
        && !step.hops.is_empty()
        && step.unexplained().is_some_and(|share| share > 0.1)
    {
        out.push("a hop that is not in the record".to_owned());
    }
    if step.hops.is_empty() {
        out.push("the counters of any hop".to_owned());
    }
    out
}

/// Hops that are served, by how full they are.
fn groups(step: &Observed) -> Vec<Group> {
    let mut order: Vec<(usize, Full)> = step
        .hops
        .iter()
        .filter_map(|hop| Some((hop.order, hop.served?)))
        .filter(|(_, full)| full.share.is_finite())
        .collect();
    order.sort_by(|a, b| b.1.share.total_cmp(&a.1.share).then(a.0.cmp(&b.0)));
    let mut groups: Vec<Group> = Vec::new();
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
                // One wire has many names: the one nearest to the guests stands for it, whichever counted a little more.
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
                groups.push(Group { top: place, full, others: Vec::new() });
                traffic.push(mine);
            }
            None => {}
        }
    }
    // In the order of the path, so that steps with one answer are told together.
    groups.iter_mut().for_each(|group| group.others.sort_unstable());
    groups
}

/// Whether a hop is the same wire as a group's, seen from elsewhere: the same rate and the same traffic.
fn one_wire(step: &Observed, group: &Group, place: usize, full: Full) -> bool {
    let (top, hop) = (&step.hops[group.top], &step.hops[place]);
    let near = |a: Option<f64>, b: Option<f64>| {
        a.zip(b).is_some_and(|(a, b)| (a / b - 1.0).abs() <= SAME_WIRE)
    };
    let paths = top.role == Role::Path && hop.role == Role::Path;
    let equal =
        paths && full.gauge == group.full.gauge && near(Some(full.share), Some(group.full.share));
    let of = |load: &HopLoad| {
        // A direction that nothing takes is equal to another.
        let carried =
            [load.read_bytes_per_s, load.write_bytes_per_s].map(|of| of.map(|of| of + 1.0));
        [[load.read_rate_bytes_per_s, load.write_rate_bytes_per_s], carried].concat()
    };
    // Time says nothing of a rate: there both directions are looked at.
    let same_time = || of(&top.load).into_iter().zip(of(&hop.load)).all(|(a, b)| near(a, b));
    match full.gauge {
        Gauge::Busy => equal && same_time(),
        gauge => equal && near(full.capacity, group.full.capacity) && why_rate(top.why(gauge)),
    }
}

fn why_rate(why: Why) -> bool {
    why == Why::Rate
}
