//! The statistics of comparison shown right on made-up series: what an interval covers, how often equals are called
//! different, and whether the recommended length sees what it promises.

use clock::{Ns, Rng};
use findings::statistics::{
    ALPHA, CONFIDENCE, Difference, Element, FigureSample, POWER, Scale, Spread, autocorrelated,
    clusters, detectable, holm, independent, needed, quantile, two_sided,
};
use proptest::prelude::*;
use record::Histogram;

const SERIES: u64 = 2000;

/// A number of the standard normal distribution.
fn gauss(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.unit()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
}

/// A series whose neighbours are correlated by `phi`, with a standard deviation of 1 and a mean of 0.
fn ar1(rng: &mut Rng, n: usize, phi: f64) -> Vec<f64> {
    let fresh = (1.0 - phi * phi).sqrt();
    let mut x = gauss(rng);
    let mut next = || {
        x = phi * x + fresh * gauss(rng);
        x
    };
    (0..n).map(|_| next()).collect()
}

/// Seconds of a load with a mean of `mean`, each off by a share of `noise`.
fn seconds(rng: &mut Rng, n: usize, phi: f64, mean: f64, noise: f64) -> Vec<Element> {
    let off = ar1(rng, n, phi);
    off.iter().map(|x| Element { part: mean * (1.0 + noise * x), whole: 1.0 }).collect()
}

fn figure(elements: &[Element]) -> (FigureSample, Spread) {
    let figure = FigureSample::ratio(elements, Scale::Ratio).expect("a positive ratio");
    let spread = autocorrelated(&figure.residuals).expect("enough seconds");
    (figure, spread)
}

/// Share of `SERIES` for which `hit` holds, in percent.
fn percent_of(mut hit: impl FnMut(u64) -> bool) -> f64 {
    (0..SERIES).filter(|i| hit(*i)).count() as f64 * 100.0 / SERIES as f64
}

#[track_caller]
fn covers(share: f64, of: &str) {
    assert!((93.0..=97.0).contains(&share), "{of}: the truth is covered {share}% of the time");
}

/// Two short, strongly correlated series: the difference may be covered more often, and never less.
#[track_caller]
fn covers_with_care(share: f64, of: &str) {
    assert!((93.0..=98.0).contains(&share), "{of}: the truth is covered {share}% of the time");
}

const GRID: [(usize, f64); 12] = [
    (60, 0.0),
    (60, 0.3),
    (60, 0.6),
    (60, 0.8),
    (120, 0.0),
    (120, 0.3),
    (120, 0.6),
    (120, 0.8),
    (600, 0.0),
    (600, 0.3),
    (600, 0.6),
    (600, 0.8),
];

#[test]
fn the_interval_of_a_rate_covers_the_truth() {
    for (n, phi) in GRID {
        let share = percent_of(|i| {
            let mut rng = Rng::keyed(1, &[n as u64, (phi * 10.0) as u64, i]);
            let (figure, spread) = figure(&seconds(&mut rng, n, phi, 500.0, 0.05));
            let t = quantile(0.5 + CONFIDENCE / 2.0, spread.dof);
            (figure.centre - 500.0_f64.ln()).abs() <= t * spread.error
        });
        covers(share, &format!("{n} seconds, correlation {phi}"));
    }
}

#[test]
fn the_interval_of_a_difference_covers_the_truth() {
    for (n, phi) in GRID {
        let share = percent_of(|i| {
            let mut rng = Rng::keyed(2, &[n as u64, (phi * 10.0) as u64, i]);
            let a = figure(&seconds(&mut rng, n, phi, 500.0, 0.05));
            let b = figure(&seconds(&mut rng, n, phi, 550.0, 0.05));
            let (low, high) = Difference::apart([a, b]).interval(CONFIDENCE);
            (low..=high).contains(&1.1_f64.ln())
        });
        let check = if phi == 0.8 && n < 600 { covers_with_care } else { covers };
        check(share, &format!("difference, {n} seconds, correlation {phi}"));
    }
}

/// Not only first-order series: a load with a beat of five seconds, and one whose errors linger over moving windows.
#[test]
fn other_correlations_are_covered_too() {
    let moving = |rng: &mut Rng, n: usize| -> Vec<f64> {
        let raw: Vec<f64> = (0..n + 4).map(|_| gauss(rng)).collect();
        raw.windows(5).map(|w| w.iter().sum::<f64>()).collect()
    };
    let share = percent_of(|i| {
        let mut rng = Rng::keyed(3, &[i]);
        let elements: Vec<Element> =
            moving(&mut rng, 240).iter().map(|x| Element { part: 100.0 + x, whole: 1.0 }).collect();
        let (figure, spread) = figure(&elements);
        let t = quantile(0.975, spread.dof);
        (figure.centre - 100.0_f64.ln()).abs() <= t * spread.error
    });
    covers(share, "moving averages");
}

/// Draws of one distribution by table, so that millions are cheap.
fn normal_table() -> Vec<f64> {
    (0..4096).map(|i| quantile((f64::from(i) + 0.5) / 4096.0, 1e6)).collect()
}

/// Spread of latencies within a second, and of seconds, both as logarithms.
const WITHIN: f64 = 0.5;
const BETWEEN: f64 = 0.15;

/// A side's percentile over seconds whose latencies rise and fall together.
fn latencies(rng: &mut Rng, table: &[f64], n: usize, phi: f64, scale: f64, p: f64) -> FigureSample {
    let mut merged = Histogram::new();
    let mut all: Vec<Vec<u64>> = Vec::with_capacity(n);
    for level in ar1(rng, n, phi) {
        let ops = 100;
        let draw = |_| {
            let x = table[rng.below(table.len() as u64) as usize];
            (scale * (BETWEEN * level + WITHIN * x).exp()) as u64
        };
        let second: Vec<u64> = (0..ops).map(draw).collect();
        second.iter().for_each(|ns| merged.record(Ns(*ns)));
        all.push(second);
    }
    let at = merged.percentile(p).expect("something was recorded").0;
    let elements: Vec<Element> = all
        .iter()
        .map(|s| Element {
            part: s.iter().filter(|ns| **ns <= at).count() as f64,
            whole: s.len() as f64,
        })
        .collect();
    FigureSample::percentile(&merged, p, &elements).expect("enough beyond the percentile")
}

#[track_caller]
fn percentile_covers(p: f64, n: usize, phi: f64) {
    let table = normal_table();
    let z = quantile(p / 100.0, 1e6);
    let truth = 1e6_f64.ln() + z * WITHIN.hypot(BETWEEN);
    let (mut one, mut two) = (0, 0);
    for i in 0..SERIES / 2 {
        let mut rng = Rng::keyed(4, &[p as u64, n as u64, (phi * 10.0) as u64, i]);
        let sides = [1e6, 1.1e6].map(|scale| {
            let figure = latencies(&mut rng, &table, n, phi, scale, p);
            let spread = autocorrelated(&figure.residuals).expect("enough seconds");
            (figure, spread)
        });
        let shift = [0.0, 1.1_f64.ln()];
        for ((figure, spread), shift) in sides.iter().zip(shift) {
            let t = quantile(0.975, spread.dof);
            let (down, up) = figure.reach(spread, t);
            one +=
                u64::from((figure.centre - down..=figure.centre + up).contains(&(truth + shift)));
        }
        let (low, high) = Difference::apart(sides).interval(CONFIDENCE);
        two += u64::from((low..=high).contains(&1.1_f64.ln()));
    }
    let percent = |hits: u64, of: u64| hits as f64 * 100.0 / of as f64;
    covers(percent(one, SERIES), &format!("p{p}, {n} seconds, correlation {phi}"));
    covers(
        percent(two, SERIES / 2),
        &format!("difference of p{p}, {n} seconds, correlation {phi}"),
    );
}

#[test]
fn the_interval_of_a_percentile_covers_the_truth() {
    for (p, n, phi) in [(50.0, 60, 0.3), (50.0, 120, 0.6), (99.0, 60, 0.0), (99.0, 120, 0.6)] {
        percentile_covers(p, n, phi);
    }
}

/// Few repetitions, each off by its own run: two, three and five a side, also where one side scatters more.
#[test]
fn the_scatter_of_few_repetitions_covers_the_truth() {
    for (n, noise) in [(2, 0.02), (3, 0.02), (5, 0.02), (3, 0.06)] {
        let share = percent_of(|i| {
            let mut rng = Rng::keyed(5, &[n as u64, (noise * 100.0) as u64, i]);
            let sides = [(500.0, 0.02), (550.0, noise)].map(|(mean, noise)| {
                let figure =
                    FigureSample::ratio(&seconds(&mut rng, n, 0.0, mean, noise), Scale::Ratio);
                let figure = figure.expect("a positive ratio");
                let spread = independent(&figure.residuals).expect("two or more");
                (figure, spread)
            });
            let (low, high) = Difference::apart(sides).interval(CONFIDENCE);
            (low..=high).contains(&1.1_f64.ln())
        });
        covers(share, &format!("{n} repetitions, noise {noise}"));
    }
}

/// Moments of rounds whose order changes each time: A B B A.
fn turns(rounds: usize) -> [&'static [f64]; 2] {
    const A: [f64; 8] = [0.0, 3.0, 4.0, 7.0, 8.0, 11.0, 12.0, 15.0];
    const B: [f64; 8] = [1.0, 2.0, 5.0, 6.0, 9.0, 10.0, 13.0, 14.0];
    [&A[..rounds], &B[..rounds]]
}

/// Two systems that drift together while they are measured in turn: what both share cancels.
#[test]
fn rounds_cancel_what_both_sides_share() {
    for rounds in [4, 8] {
        let (mut apart, mut paired) = (0.0, 0.0);
        let share = percent_of(|i| {
            let mut rng = Rng::keyed(6, &[rounds as u64, i]);
            let drift: Vec<f64> = (0..rounds).map(|r| 1.0 + 0.1 * r as f64).collect();
            let sides = [500.0, 550.0].map(|mean| {
                let own = seconds(&mut rng, rounds, 0.0, mean, 0.01);
                let drifted: Vec<Element> = own
                    .iter()
                    .zip(&drift)
                    .map(|(e, d)| Element { part: e.part * d, ..*e })
                    .collect();
                FigureSample::ratio(&drifted, Scale::Ratio).expect("a positive ratio")
            });
            let [a, b] = &sides;
            let together =
                Difference::paired(a, b, turns(rounds), [None; 2]).expect("rounds enough");
            paired += together.error;
            let spread = |f: &FigureSample| independent(&f.residuals).expect("two or more");
            apart += Difference::apart([(a.clone(), spread(a)), (b.clone(), spread(b))]).error;
            let (low, high) = together.interval(CONFIDENCE);
            (low..=high).contains(&1.1_f64.ln())
        });
        covers(share, &format!("{rounds} rounds"));
        assert!(paired * 4.0 < apart, "the drift is still there: {paired} of {apart}");
    }
}

/// The whole family at once: sixteen comparisons of equals, and any of them called different is a mistake.
#[test]
fn equals_are_called_different_in_at_most_one_of_twenty_families() {
    let mut wrong = 0;
    let families = 500;
    for i in 0..families {
        let mut rng = Rng::keyed(7, &[i]);
        let p_values: Vec<f64> = (0..16)
            .map(|k| {
                let phi = [0.0, 0.3, 0.6, 0.8][k % 4];
                let a = figure(&seconds(&mut rng, 120, phi, 500.0, 0.05));
                let b = figure(&seconds(&mut rng, 120, phi, 500.0, 0.05));
                Difference::apart([a, b]).p_value()
            })
            .collect();
        wrong += u64::from(holm(&p_values).iter().any(|p| *p < ALPHA));
    }
    assert!(wrong * 20 <= families, "{wrong} of {families} families");
}

/// A pilot of a minute recommends a length; measured for that long, a difference of 3% is found in four of five.
#[test]
fn the_recommended_length_sees_the_difference() {
    let (phi, noise, family, sought) = (0.6, 0.08, 8, 0.03);
    let trials = 300;
    let mut found = 0;
    for i in 0..trials {
        let mut rng = Rng::keyed(8, &[i]);
        let mut pair = |n: usize, ratio: f64| {
            let a = figure(&seconds(&mut rng, n, phi, 500.0, noise));
            let b = figure(&seconds(&mut rng, n, phi, 500.0 * ratio, noise));
            Difference::apart([a, b])
        };
        let pilot = pair(60, 1.0);
        let factor = needed(f64::ln_1p(sought), pilot.error, pilot.dof, family).expect("a length");
        let length = (60.0 * factor).ceil() as usize;
        let p = pair(length.max(20), 1.0 + sought).p_value();
        found += u64::from(p * f64::from(family as u32) < ALPHA);
    }
    let share = found as f64 / trials as f64;
    assert!(share >= POWER, "a difference of 3% was found in {share} of the trials");
}

#[test]
fn the_smallest_difference_is_what_the_recommendation_inverts() {
    let (error, dof, family) = (0.02, 30.0, 5);
    let seen = detectable(error, dof, family);
    // A difference that can just be seen needs no more than the margin for an error that is itself estimated.
    let factor = needed(seen, error, dof, family).expect("a length");
    assert!((1.0..2.0).contains(&factor), "{factor}");
    assert!(detectable(error, dof, 50) > seen && detectable(error, 3.0, family) > seen);
    for hopeless in [0.0, -1.0, f64::NAN, 1e-9] {
        assert_eq!(needed(hopeless, error, dof, family), None, "{hopeless}");
    }
}

#[test]
fn holm_by_hand() {
    let check = |p: &[f64], expected: &[f64]| {
        let found = holm(p);
        let near = found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-12);
        assert!(near && found.len() == expected.len(), "{p:?} → {found:?}, not {expected:?}");
    };
    check(&[], &[]);
    check(&[0.04], &[0.04]);
    check(&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]);
    check(&[0.6, 0.9], &[1.0, 1.0]);
}

/// Values of printed tables (W. S. Gosset's distribution).
#[test]
fn the_t_distribution_is_that_of_the_tables() {
    for (p, dof, t) in
        [(0.975, 1.0, 12.706), (0.975, 2.0, 4.303), (0.975, 10.0, 2.228), (0.8, 5.0, 0.920)]
    {
        let found = quantile(p, dof);
        assert!((found - t).abs() < 6e-4, "{p} {dof}: {found}");
    }
    assert!((two_sided(2.228, 10.0) - 0.05).abs() < 1e-4);
    assert_eq!((two_sided(0.0, 5.0), two_sided(f64::INFINITY, 5.0)), (1.0, 0.0));
    for nonsense in [0.0, -1.0, f64::NAN] {
        assert_eq!((quantile(0.975, nonsense), two_sided(2.0, nonsense)), (f64::INFINITY, 1.0));
    }
}

proptest! {
    /// Merged percentiles are those of all values together, within the digits of the histogram.
    #[test]
    fn merged_percentiles_are_exact_within_their_digits(
        parts in prop::collection::vec(prop::collection::vec(1u64..3_000_000_000, 1..200), 1..8),
        p in 0.0..100.0f64,
    ) {
        for digits in [3, 2] {
            let mut merged = Histogram::new();
            for part in &parts {
                let mut histogram = Histogram::new();
                part.iter().for_each(|ns| histogram.record(Ns(*ns)));
                merged.merge(&if digits == 2 { histogram.to_two_digits() } else { histogram });
            }
            let mut all: Vec<u64> = parts.concat();
            all.sort_unstable();
            let rank = ((all.len() as f64 * p / 100.0).ceil() as usize).max(1);
            let exact = all[rank - 1] as f64;
            let read = merged.percentile(p).expect("something was recorded").0 as f64;
            let off = (read - exact).abs();
            prop_assert!(off <= exact * 10f64.powi(-digits) + 0.5, "p{} is {}, read {}", p, exact, read);
        }
    }

    /// Whatever comes in, no panic and no interval that excludes its own estimate.
    #[test]
    fn any_series_is_survived(
        a in prop::collection::vec((prop::num::f64::ANY, prop::num::f64::ANY), 0..40),
        b in prop::collection::vec((0.0..1e3f64, 0.0..2.0f64), 0..40),
    ) {
        let figure = |e: &[(f64, f64)]| {
            let elements: Vec<Element> = e.iter().map(|(part, whole)| Element { part: *part, whole: *whole }).collect();
            FigureSample::ratio(&elements, Scale::Ratio)
        };
        if let (Some(a), Some(b)) = (figure(&a), figure(&b)) {
            if let (Some(sa), Some(sb)) = (autocorrelated(&a.residuals), autocorrelated(&b.residuals)) {
                let difference = Difference::apart([(a.clone(), sa), (b.clone(), sb)]);
                let (low, high) = difference.interval(CONFIDENCE);
                prop_assert!(!(low > difference.value || high < difference.value));
                let p = difference.p_value();
                prop_assert!((0.0..=1.0).contains(&p));
            }
            let at: Vec<f64> = (0..a.residuals.len()).map(|i| i as f64).collect();
            let _ = Difference::paired(&a, &b, [&at, &at], [None; 2]).map(|d| d.p_value());
        }
    }
}

/// Exceedances of one in a thousand of 1000 operations a second: alone, or in bursts of `size` that begin by chance.
fn exceedances(rng: &mut Rng, seconds: usize, size: f64) -> Vec<Element> {
    let each = |_| {
        // Poisson's counts, by multiplying.
        let (least, mut product, mut count) = ((-1.0 / size).exp(), rng.unit(), 0.0);
        while product > least {
            product *= rng.unit();
            count += 1.0;
        }
        Element { part: 1000.0 - count * size, whole: 1000.0 }
    };
    (0..seconds).map(each).collect()
}

#[test]
fn clusters_are_counted_and_not_exceedances() {
    for (size, expected) in [(1.0, 120.0), (10.0, 12.0), (40.0, 3.0)] {
        let mut all: Vec<f64> = (0..301)
            .map(|i| {
                let mut rng = Rng::keyed(9, &[size as u64, i]);
                clusters(&[exceedances(&mut rng, 120, size)], 0.001)
            })
            .collect();
        all.sort_by(f64::total_cmp);
        let middle = all[150];
        assert!((0.6..1.5).contains(&(middle / expected)), "bursts of {size}: {middle} clusters");
    }
    // One burst of eight seconds is one cluster, whatever it holds.
    let burst = |i: usize| if (20..28).contains(&i) { 15.0 } else { 0.0 };
    let one: Vec<Element> =
        (0..120).map(|i| Element { part: 1000.0 - burst(i), whole: 1000.0 }).collect();
    assert!(clusters(&[one], 0.001) <= 1.0);
    assert_eq!(clusters(&[], 0.001), 0.0);
    assert_eq!(clusters(&[vec![Element::default(); 9]], 0.001), 0.0);
}
