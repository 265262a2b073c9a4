//! Loads that were observed: nobody set them, so that a rate is what was asked for and latency what came of it.
//!
//! Two times of a system are laid over each other by the hours of the week, or else of the day: what every Monday morning brings
//! cancels, and what is left is the difference of the weeks. Latency rises with the load, so it is also compared at equal
//! rates: elements of both sides are put into strata by the rate of their operations (post-stratification; W. G. Cochran,
//! *Sampling Techniques*, 1977, ch. 5A.9), and the ratio of the mean latencies of each stratum is averaged.

use super::SECONDS_MIN;
use super::seconds::{Samples, Second};
use crate::statistics::FigureSample;
use serde::Serialize;
use std::collections::BTreeMap;

const DAY: f64 = 86_400.0;
const WEEK: f64 = 7.0 * DAY;
/// Sides are of the same hours where they share so much of what either has.
const SHARED: f64 = 0.5;
/// Strata of rates at most, elements of each side in one at least, and the part of each side that must be in any.
const STRATA: usize = 50;
const IN_STRATUM: usize = 4;
const OVERLAP: f64 = 0.25;

/// What repeats after such a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Course {
    Week,
    Day,
}

/// What both sides have at the same hours.
pub(super) struct MatchedHours {
    /// The elements in the order of time, as many on each side.
    pub sides: [Samples; 2],
    pub course: Course,
    /// How much of each side that is.
    pub share: [f64; 2],
}

/// The elements of both sides that are of the same hours of the week, or else of the day; `None` where they share too few.
pub(super) fn matched([a, b]: &[Samples; 2]) -> Option<MatchedHours> {
    let length = a.length.max(b.length);
    let begins = a.repetitions.iter().flatten().map(|s| s.at).fold(f64::INFINITY, f64::min);
    [(Course::Week, WEEK), (Course::Day, DAY)].into_iter().find_map(|(course, period)| {
        // Weeks of one side fall onto each other.
        let slots = |of: &Samples| -> BTreeMap<i64, Second> {
            let mut slots: BTreeMap<i64, Second> = BTreeMap::new();
            for second in of.repetitions.iter().flatten() {
                let middle = second.at + of.length / 2.0 - begins;
                let slot = (middle.rem_euclid(period) / length).floor() as i64;
                slots.entry(slot).and_modify(|sum| *sum = sum.plus(second)).or_insert(*second);
            }
            slots
        };
        let (one, mut other) = (slots(a), slots(b));
        let all = [one.len(), other.len()];
        let both = one.into_iter().filter_map(|(slot, one)| Some((one, other.remove(&slot)?)));
        let (one, other): (Vec<Second>, Vec<Second>) = both.unzip();
        let share = all.map(|all| one.len() as f64 / all.max(1) as f64);
        let side = |of: Vec<Second>, from: &Samples| Samples {
            repetitions: vec![of],
            merged: from.merged.clone(),
            length,
        };
        (share[0].max(share[1]) >= SHARED && one.len() >= SECONDS_MIN.min(all[0]).min(all[1]))
            .then(|| MatchedHours { sides: [side(one, a), side(other, b)], course, share })
    })
}

/// Days whose load changed otherwise than that of the other days.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OddDays {
    /// The baseline's day and how its load changed, as a fraction.
    pub days: Vec<(String, f64)>,
    /// How the load of the middle day changed.
    pub usual: f64,
}

/// A day is odd that changed by half more or less than the others, and five times as far as these scatter.
const ODD: f64 = 1.5;
const SCATTERS: f64 = 5.0;
/// Days from which some are usual.
const DAYS_LEAST: usize = 3;
const WEEKDAYS: [&str; 7] =
    ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];

/// The days of matched sides, by the baseline's, that are not as the others: a holiday, an outage.
pub(super) fn odd_days([a, b]: &[Samples; 2]) -> Option<OddDays> {
    let mut days: BTreeMap<i64, [f64; 2]> = BTreeMap::new();
    let rates = |s: &Second| if s.ops > 0.0 { s.ops } else { s.bytes() } / s.time;
    let pairs = a.repetitions.iter().flatten().zip(b.repetitions.iter().flatten());
    for (one, other) in pairs {
        let day = days.entry((one.at / DAY).floor() as i64).or_default();
        (day[0], day[1]) = (day[0] + rates(one), day[1] + rates(other));
    }
    let changes: Vec<(i64, f64)> = days
        .into_iter()
        .map(|(day, [one, other])| (day, (other / one).ln()))
        .filter(|(_, change)| change.is_finite())
        .collect();
    let middle = |mut of: Vec<f64>| {
        of.sort_by(f64::total_cmp);
        of.get(of.len() / 2).copied()
    };
    let usual = middle(changes.iter().map(|(_, change)| *change).collect())?;
    let scatter = middle(changes.iter().map(|(_, change)| (change - usual).abs()).collect())?;
    let far = ODD.ln().max(SCATTERS * scatter);
    let odd: Vec<(String, f64)> = changes
        .iter()
        .filter(|(_, change)| (change - usual).abs() > far)
        .map(|(day, change)| (WEEKDAYS[day.rem_euclid(7) as usize].to_owned(), change.exp_m1()))
        .collect();
    let some = changes.len() >= DAYS_LEAST && !odd.is_empty() && odd.len() * 3 <= changes.len();
    some.then(|| OddDays { days: odd, usual: usual.exp_m1() })
}

/// The mean latencies of both sides at equal rates of operations, or why there are none.
pub(super) fn at_equal_rates(sides: &[Samples; 2]) -> Result<[FigureSample; 2], String> {
    let elements = sides.each_ref().map(|side| {
        let all = side.repetitions.iter().flatten();
        all.map(|s| (s.ops / s.time, *s)).collect::<Vec<(f64, Second)>>()
    });
    let useful =
        |(rate, of): &&(f64, Second)| *rate > 0.0 && of.timed > 0.0 && of.latency_sum_ns > 0.0;
    let count = elements.each_ref().map(|side| side.iter().filter(useful).count());
    let mut rates: Vec<f64> =
        elements.iter().flatten().filter(useful).map(|(rate, _)| *rate).collect();
    rates.sort_by(f64::total_cmp);
    let strata = (count[0].min(count[1]) / (2 * IN_STRATUM)).clamp(1, STRATA);
    let edges: Vec<f64> =
        (1..strata).filter_map(|n| rates.get(n * rates.len() / strata).copied()).collect();
    let stratum = |rate: f64| edges.partition_point(|edge| *edge <= rate);
    let mut sums = vec![[Stratum::default(); 2]; strata];
    for (side, of) in elements.iter().enumerate() {
        for (rate, element) in of.iter().filter(useful) {
            sums[stratum(*rate)][side].add(element);
        }
    }
    // As much as both sides together tell of a stratum.
    let weights: Vec<f64> = sums.iter().map(|[a, b]| Stratum::weight(a, b)).collect();
    let all: f64 = weights.iter().sum();
    let used = |side: usize| -> f64 {
        sums.iter().zip(&weights).filter(|(_, w)| **w > 0.0).map(|(of, _)| of[side].count).sum()
    };
    if (0..2).any(|side| used(side) < OVERLAP * count[side] as f64) || all <= 0.0 {
        return Err("the rates of both sides hardly overlap, so that no times of equal load can be compared".to_owned());
    }
    let figure = |side: usize| {
        let centre = sums.iter().zip(&weights).filter(|(_, w)| **w > 0.0);
        let centre: f64 = centre.map(|(of, w)| w / all * of[side].mean().ln()).sum();
        let number = elements[side].len() as f64;
        let residual = |one: &(f64, Second)| {
            let (rate, element) = one;
            let at = stratum(*rate);
            let of = &sums[at][side];
            if !useful(&one) || weights[at] <= 0.0 {
                return 0.0;
            }
            let more = element.latency_sum_ns - of.mean() * element.timed;
            weights[at] / all * number * more / of.latency_sum_ns
        };
        FigureSample::composed(centre, elements[side].iter().map(residual).collect())
    };
    match (figure(0), figure(1)) {
        (Some(a), Some(b)) => Ok([a, b]),
        _ => Err("no latency is known".to_owned()),
    }
}

/// The elements of one side in a stratum.
#[derive(Clone, Copy, Debug, Default)]
struct Stratum {
    count: f64,
    latency_sum_ns: f64,
    timed: f64,
}

impl Stratum {
    fn add(&mut self, of: &Second) {
        self.count += 1.0;
        self.latency_sum_ns += of.latency_sum_ns;
        self.timed += of.timed;
    }

    fn mean(&self) -> f64 {
        self.latency_sum_ns / self.timed
    }

    /// The weight of two, 0 where one has too few.
    fn weight(a: &Stratum, b: &Stratum) -> f64 {
        let enough = a.count.min(b.count) >= IN_STRATUM as f64;
        if enough { a.count * b.count / (a.count + b.count) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::metric::Compared;
    use crate::statistics::{Difference, FigureSample, Scale};
    use record::Histogram;

    /// Numbers of a generator that shares nothing with the statistics: the sum of twelve uniform ones is nearly normal.
    struct Dice(u64);

    impl Dice {
        fn uniform(&mut self) -> f64 {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1_u64 << 53) as f64
        }

        fn normal(&mut self) -> f64 {
            (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
        }
    }

    /// A week in samples of five minutes: rates with the course of a day and what an hour brings, latency that rises with them.
    fn week(seed: u64, begins: f64, grows: f64, slower: f64) -> Samples {
        let mut dice = Dice(seed);
        let (mut hour, mut all) = (0.0, Vec::new());
        for n in 0..2016 {
            let of_day = f64::from(n % 288) / 288.0 * std::f64::consts::TAU;
            hour = 0.9 * hour + 0.05 * dice.normal();
            let rate = grows * 1500.0 * (1.0 + 0.7 * of_day.sin()) * f64::exp(hour);
            let latency =
                slower * 1e6 / (1.0 - (rate / 8000.0).min(0.9)) * (1.0 + 0.05 * dice.normal());
            let ops = rate * 300.0;
            let mut sample = Second::default();
            (sample.at, sample.time) = (begins + f64::from(n) * 300.0, 300.0);
            (sample.ops, sample.timed, sample.latency_sum_ns) = (ops, ops, ops * latency);
            all.push(sample);
        }
        Samples { repetitions: vec![all], merged: Histogram::new(), length: 300.0 }
    }

    fn metric(sides: &[Samples; 2], metric: Compared) -> Difference {
        let [a, b] = match metric {
            Compared::MeanAtRate => at_equal_rates(sides).expect("rates overlap"),
            _ => sides.each_ref().map(|side| {
                FigureSample::ratio(&side.elements(metric), Scale::Ratio).expect("a figure")
            }),
        };
        Difference::matched(&a, &b).expect("enough").0
    }

    #[test]
    fn what_was_planted_is_covered_and_unbiased() {
        let (grows, slower) = (1.15_f64, 1.03_f64);
        let planted = [(Compared::Iops, grows.ln()), (Compared::MeanAtRate, slower.ln())];
        let weeks = 300;
        let (mut covered, mut sum) = ([0; 2], [0.0; 2]);
        for n in 0..weeks {
            let one = week(2 * n + 1, 1000.0 * DAY, 1.0, 1.0);
            let other = week(2 * n + 2, 1007.0 * DAY, grows, slower);
            let found = matched(&[one, other]).expect("the same hours");
            assert_eq!((found.course, found.share), (Course::Week, [1.0; 2]));
            let sides = found.sides;
            for (at, (of, truth)) in planted.into_iter().enumerate() {
                let found = metric(&sides, of);
                let (low, high) = found.interval(0.95);
                covered[at] += usize::from(low <= truth && truth <= high);
                sum[at] += found.value - truth;
            }
        }
        // 95% of 300 are 285, give or take 11 (three deviations).
        for (covered, bias) in covered.into_iter().zip(sum.map(|sum| sum / weeks as f64)) {
            assert!((270..=298).contains(&covered), "{covered} of {weeks}");
            assert!(bias.abs() < 0.002, "{bias}");
        }
    }
}
