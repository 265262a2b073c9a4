//! Histograms, warm-ups and confidence intervals, on numbers with known results.

use clock::Rng;
use sim::Ps;
use sim::statistics::{
    TimeHistogram, mean, mser5, normal_quantile, ratio, skew, student_quantile, von_neumann,
};

#[test]
fn a_quantile_is_within_its_bin() {
    for (mut histogram, within) in
        [(TimeHistogram::two_digits(), 1.0 / 128.0), (TimeHistogram::three_digits(), 1.0 / 1024.0)]
    {
        let mut rng = Rng::keyed(1, &[]);
        let mut times: Vec<u64> = (0..5000).map(|_| 1000 + rng.exp(3e9) as u64).collect();
        times.iter().for_each(|time| histogram.record(Ps(*time)));
        times.sort_unstable();
        for share in [0.001, 0.5, 0.9, 0.999, 1.0] {
            let rank = (share * times.len() as f64).ceil() as usize;
            let exact = times[rank - 1] as f64;
            let found = histogram.quantile(share).unwrap().0 as f64;
            assert!(found + 1000.0 >= exact && found <= exact * (1.0 + within) + 1000.0, "{share}");
        }
        assert_eq!(histogram.count(), 5000);
    }
}

#[test]
fn bins_contain_their_range() {
    for ps in [0, 999, 1000, 127_999, 128_000, 255_999, 256_000, 1_000_000_007, u64::MAX] {
        let mut histogram = TimeHistogram::two_digits();
        histogram.record(Ps(ps));
        let (from, to, count) = histogram.bins().next().unwrap();
        assert_eq!(count, 1);
        let last = ps >> 42 >= 1000;
        assert!(from <= Ps(ps) && (last || Ps(ps) < to), "{ps}: {from:?} to {to:?}");
    }
    assert_eq!(TimeHistogram::two_digits().quantile(0.5), None);
}

#[test]
fn histograms_are_added_and_subtracted() {
    let times = |step: u64| (1..500).map(move |n| Ps::nanos(n * step));
    let of = |steps: &[u64]| {
        let mut histogram = TimeHistogram::three_digits();
        steps.iter().flat_map(|step| times(*step)).for_each(|time| histogram.record(time));
        histogram
    };
    let (a, b, both) = (of(&[7]), of(&[1300]), of(&[7, 1300]));
    let mut sum = a.clone();
    sum.add(&b);
    assert_eq!(sum, both);
    sum.subtract(&a);
    assert_eq!(sum, b);
    let mut coarse = TimeHistogram::two_digits();
    coarse.add(&both);
    assert_eq!(coarse.count(), both.count());
    let (fine, coarse) = (both.quantile(0.9).unwrap(), coarse.quantile(0.9).unwrap());
    assert!((coarse.0 as f64 / fine.0 as f64 - 1.0).abs() < 1.0 / 64.0);
}

#[test]
fn a_warm_up_is_found() {
    let mut rng = Rng::keyed(2, &[]);
    let mut noise = |level: f64| level + rng.unit();
    let cold: Vec<f64> = (0..40).map(|n| noise(40.0 - f64::from(n))).collect();
    let warm: Vec<f64> = (0..160).map(|_| noise(0.0)).collect();
    let found = mser5(&[cold.as_slice(), &warm].concat());
    assert!((35..=50).contains(&found), "{found}");
    assert!(mser5(&warm) <= 40);
    assert_eq!(mser5(&[1.0; 100]), 0);
    assert_eq!(mser5(&[]), 0);
    // Data that never settles counts as half warm-up.
    let rising: Vec<f64> = (0..200).map(f64::from).collect();
    assert_eq!(mser5(&rising), 100);
}

#[track_caller]
fn near(value: f64, truth: f64) {
    assert!((value - truth).abs() < 1e-3 * truth.abs().max(1.0), "{value} and not {truth}");
}

#[test]
fn quantiles_are_those_of_the_tables() {
    near(student_quantile(0.975, 9.0), 2.2622);
    near(student_quantile(0.995, 31.0), 2.7440);
    near(student_quantile(0.025, 1.0), -12.7062);
    near(normal_quantile(0.975), 1.95996);
}

#[test]
fn an_interval_by_hand() {
    let estimate = mean(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.95).unwrap();
    near(estimate.value, 3.0);
    near(estimate.high - 3.0, 2.7764 * (2.5f64 / 5.0).sqrt());
    near(3.0 - estimate.low, estimate.high - 3.0);
    assert!(estimate.holds(3.0) && !estimate.holds(6.0));
    // Twice the denominator halves the figure and its interval.
    let doubled = ratio(&[1.0, 2.0, 3.0, 4.0, 5.0].map(|n| (n, 2.0)), 0.95, 0.0).unwrap();
    near(doubled.value, 1.5);
    near(doubled.relative(), estimate.relative());
    // Correlation widens the interval, and positive skewness moves it right.
    let correlated = ratio(&[1.0, 2.0, 3.0, 4.0, 5.0].map(|n| (n, 1.0)), 0.95, 0.5).unwrap();
    // By the root of three; and with the quantile of 3 degrees of freedom, the least, instead of 4.
    near(correlated.relative() / estimate.relative(), 3f64.sqrt() * 3.1824 / 2.7764);
    let right = mean(&[1.0, 1.0, 1.2, 1.1, 1.0, 9.0], 0.95).unwrap();
    assert!(right.high - right.value > right.value - right.low);
    assert_eq!(mean(&[1.0, 2.0], 0.95), None);
    assert_eq!(ratio(&[(1.0, 0.0); 5], 0.95, 0.0), None);
}

#[test]
fn skewness_has_its_sign() {
    assert!(skew(&[-1.0, -1.0, -1.0, 3.0]) > 0.0);
    assert!(skew(&[1.0, 1.0, 1.0, -3.0]) < 0.0);
    assert_eq!(skew(&[0.0; 4]), 0.0);
}

#[test]
fn correlation_is_seen() {
    let mut rng = Rng::keyed(3, &[]);
    let mut last = 0.0;
    let mut series = |keep: f64| -> Vec<(f64, f64)> {
        let mut next = || {
            last = keep * last + rng.unit() - 0.5;
            (last, 1.0)
        };
        (0..300).map(|_| next()).collect()
    };
    let (correlation, probability) = von_neumann(&series(0.0)).unwrap();
    assert!(correlation.abs() < 0.15 && probability > 0.01, "{correlation} {probability}");
    let (correlation, probability) = von_neumann(&series(0.7)).unwrap();
    assert!(correlation > 0.5 && probability < 1e-6, "{correlation} {probability}");
    assert_eq!(von_neumann(&[(1.0, 1.0); 20]), None);
    assert_eq!(von_neumann(&[(1.0, 1.0); 3]), None);
}
