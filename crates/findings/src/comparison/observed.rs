//! Loads that were observed: nobody set them, so that a rate is what was asked for and latency what came of it.
//!
//! Two times of a system are laid over each other by the hours of the week, or else of the day: what every Monday morning brings
//! cancels, and what is left is the difference of the weeks. Latency rises with the load, so it is also compared at equal
//! rates: elements of both sides are put into strata by the rate of their operations (post-stratification; W. G. Cochran,
//! *Sampling Techniques*, 1977, ch. 5A.9), and the ratio of the mean latencies of each stratum is averaged.

use super::seconds::{Samples, Second};
use crate::statistics::FigureSample;
use std::collections::BTreeMap;

const DAY: f64 = 86_400.0;
const WEEK: f64 = 7.0 * DAY;
/// Windows are of the same hours where they share so much of the longer one.
const SHARED: f64 = 0.8;
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

/// The elements of both sides that are of the same hours, in the order of time, as many on each; `None` where the sides are
/// not of the same hours.
pub(super) fn matched([a, b]: &[Samples; 2]) -> Option<([Samples; 2], Course)> {
    let ([one], [other]) = (&a.repetitions[..], &b.repetitions[..]) else { return None };
    let length = a.length.max(b.length);
    let span = |of: &[Second], length: f64| Some((of.first()?.at, of.last()?.at + length));
    let (one_lies, other_lies) = (span(one, a.length)?, span(other, b.length)?);
    let longer = (one_lies.1 - one_lies.0).max(other_lies.1 - other_lies.0);
    let of = |course: Course, period: f64| {
        let shift = ((other_lies.0 - one_lies.0) / period).round() * period;
        let shared =
            (one_lies.1 + shift).min(other_lies.1) - (one_lies.0 + shift).max(other_lies.0);
        (shared >= SHARED * longer).then_some((course, shift))
    };
    let (course, shift) = of(Course::Week, WEEK).or_else(|| of(Course::Day, DAY))?;
    let origin = one_lies.0 + shift;
    let slots = |of: &[Second], samples: f64, shift: f64| -> BTreeMap<i64, Second> {
        let mut slots: BTreeMap<i64, Second> = BTreeMap::new();
        for second in of {
            let middle = second.at + shift + samples / 2.0;
            let slot = ((middle - origin) / length).floor() as i64;
            slots.entry(slot).and_modify(|sum| *sum = sum.plus(second)).or_insert(*second);
        }
        slots
    };
    let (one, mut other) = (slots(one, a.length, shift), slots(other, b.length, 0.0));
    let both = one.into_iter().filter_map(|(slot, one)| Some((one, other.remove(&slot)?)));
    let (one, other): (Vec<Second>, Vec<Second>) = both.unzip();
    let side = |of: Vec<Second>, from: &Samples| Samples {
        repetitions: vec![of],
        merged: from.merged.clone(),
        length,
    };
    Some(([side(one, a), side(other, b)], course))
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
            let (sides, course) = matched(&[one, other]).expect("the same hours");
            assert_eq!(course, Course::Week);
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
