//! Whether an answer is right, and how well many of them do.

use super::blueprint::{Blueprint, PLANTED, Part, Planted};
use super::lab::names;
use findings::attribution::{Attribution, HopLimit, HopLoad, Limiter, SURE};
use std::collections::BTreeMap;

/// Whether an answer says what was planted.
pub fn is_right(of: &Blueprint, limit: &Limiter) -> bool {
    let is = |hop: &str, part: Part| names(of, part).iter().any(|name| name == hop);
    let planted = |hop: &str| of.parts.iter().any(|part| is(hop, *part));
    let slots = matches!(of.planted, Planted::VirtualScsi | Planted::LunQueue);
    match (of.planted, limit) {
        (Planted::Depth, Limiter::Depth)
        | (Planted::Generator, Limiter::Generator)
        | (Planted::HiddenCounter, Limiter::Unknown { .. }) => true,
        (Planted::Nothing, Limiter::Rate) => of.offered.is_some(),
        (Planted::Nothing, Limiter::None) => of.offered.is_none(),
        (Planted::HighLatency, Limiter::Latency { hop }) => {
            (0..13).any(|n| of.delay_ns[n] > 0.0 && is(hop, super::blueprint::PARTS[n]))
        }
        (Planted::PathImbalance, Limiter::PathImbalance { hop, .. }) => {
            let hot = of.split.iter().position(|split| *split > 1.0 / of.paths as f64);
            hot.is_some_and(|hot| of.parts.iter().any(|part| names(of, *part)[hot] == *hop))
        }
        (Planted::SlowDrain, Limiter::SlowDrain { hop, drain }) => {
            hop == "esx.hba:0" && drain.as_deref() == Some("ssd2:0")
        }
        (Planted::TwoAtOnce, Limiter::Two { first, second }) => {
            let part = |hop: &str| of.parts.iter().position(|part| is(hop, *part));
            part(first).zip(part(second)).is_some_and(|(first, second)| first != second)
        }
        (
            Planted::TwoAtOnce
            | Planted::HiddenCounter
            | Planted::PathImbalance
            | Planted::Generator,
            _,
        ) => false,
        (_, Limiter::Hop { hop, why, .. }) => planted(hop) && slots == (*why == HopLimit::Slots),
        _ => false,
    }
}

/// "Highest utilization wins": right where it names the hop that was planted, or one of two.
pub fn naive_is_right(of: &Blueprint, hops: &[HopLoad]) -> bool {
    let share = |hop: &&HopLoad| hop.utilization.unwrap_or(0.0);
    let Some(top) = hops.iter().max_by(|a, b| share(a).total_cmp(&share(b))) else { return false };
    let is = |part: &Part| names(of, *part).contains(&top.hop);
    match of.planted {
        Planted::HiddenCounter | Planted::Generator => false,
        Planted::SlowDrain => top.hop == "ssd2:0",
        _ => of.parts.iter().any(is),
    }
}

/// What many labs showed.
#[derive(Default)]
pub struct Score {
    labs: u32,
    right: u32,
    naive: u32,
    brier: f64,
    sure_and_wrong: u32,
    bins: [(u32, f64, u32); 10],
    rows: BTreeMap<Planted, (u32, u32, u32)>,
    confusion: BTreeMap<(Planted, &'static str), u32>,
    pub wrong: Vec<String>,
}

impl Score {
    pub fn add(&mut self, seed: u64, of: &Blueprint, found: &Attribution) {
        let (right, naive) = (is_right(of, &found.limit), naive_is_right(of, &found.hops));
        let p = found.probability;
        self.labs += 1;
        self.right += u32::from(right);
        self.naive += u32::from(naive);
        self.brier += (p - f64::from(u8::from(right))).powi(2);
        let bin = &mut self.bins[((p * 10.0) as usize).min(9)];
        *bin = (bin.0 + 1, bin.1 + p, bin.2 + u32::from(right));
        let row = self.rows.entry(of.planted).or_default();
        *row = (row.0 + 1, row.1 + u32::from(right), row.2 + u32::from(naive));
        *self.confusion.entry((of.planted, kind(&found.limit))).or_default() += 1;
        if !right {
            self.sure_and_wrong += u32::from(p > SURE);
            let planted = of.parts.iter().map(|part| format!("{part:?}")).collect::<Vec<_>>();
            self.wrong.push(format!(
                "seed {seed:#x}, {:?} {}: {}",
                of.planted,
                planted.join(" "),
                found.line()
            ));
        }
    }

    pub fn accuracy(&self) -> f64 {
        f64::from(self.right) / f64::from(self.labs)
    }

    pub fn naive(&self) -> f64 {
        f64::from(self.naive) / f64::from(self.labs)
    }

    pub fn sure_and_wrong(&self) -> u32 {
        self.sure_and_wrong
    }

    /// The tables.
    pub fn print(&self) {
        let part = |n: u32, of: u32| 100.0 * f64::from(n) / f64::from(of.max(1));
        println!(
            "{:<16} {:>5} {:>7} {:>20}  answers",
            "planted", "labs", "right", "highest utilization"
        );
        for planted in PLANTED {
            let Some((labs, right, naive)) = self.rows.get(&planted).copied() else { continue };
            let answers = self.confusion.iter().filter(|((of, _), _)| *of == planted);
            let answers: Vec<String> =
                answers.map(|((_, kind), n)| format!("{kind} {n}")).collect();
            let name = format!("{planted:?}");
            let (right, naive) = (part(right, labs), part(naive, labs));
            println!("{name:<16} {labs:>5} {right:>6.1}% {naive:>19.1}%  {}", answers.join(", "));
        }
        let (right, naive) = (part(self.right, self.labs), part(self.naive, self.labs));
        println!("{:<16} {:>5} {right:>6.1}% {naive:>19.1}%", "all", self.labs);
        println!("\nstated probability   labs   mean stated   right");
        for (n, (labs, sum, right)) in self.bins.iter().enumerate().filter(|(_, bin)| bin.0 > 0) {
            let (low, mean) = (n as f64 / 10.0, sum / f64::from(*labs));
            let right = part(*right, *labs);
            println!("{low:.1} to {:.1}         {labs:>7} {mean:>13.3} {right:>6.1}%", low + 0.1);
        }
        println!("Brier score {:.4}", self.brier / f64::from(self.labs));
        println!("stated above {SURE} and wrong: {}", self.sure_and_wrong);
    }
}

fn kind(limit: &Limiter) -> &'static str {
    match limit {
        Limiter::Hop { why: HopLimit::Slots, .. } => "queue limit",
        Limiter::Hop { .. } => "hop",
        Limiter::Depth => "depth",
        Limiter::Generator => "generator",
        Limiter::Rate => "rate",
        Limiter::Two { .. } => "two",
        Limiter::Latency { .. } => "latency",
        Limiter::PathImbalance { .. } => "path imbalance",
        Limiter::SlowDrain { .. } => "slow drain",
        Limiter::Unknown { .. } => "unknown",
        Limiter::None => "none",
    }
}
