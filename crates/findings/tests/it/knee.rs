//! Knees that were planted, with and without noise, and curves that have none.

use findings::knee::{Answer, ELASTICITY, Point, find};
use proptest::prelude::*;

/// Gunther's universal scalability law, in thousands.
fn usl(load: f64, contention: f64, coherency: f64) -> f64 {
    1000.0 * load / (1.0 + contention * (load - 1.0) + coherency * load * (load - 1.0))
}

/// Noise that is the same in every run: within `size` of 1, from a small congruential generator.
fn noise(size: f64) -> impl FnMut() -> f64 {
    let mut state = 0x2545_F491_u32;
    move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        1.0 + size * (f64::from(state) / f64::from(u32::MAX) * 2.0 - 1.0)
    }
}

/// A closed loop's points: latency by Little's law.
fn points(loads: &[f64], repeats: usize, size: f64, work: impl Fn(f64) -> f64) -> Vec<Point> {
    let mut noise = noise(size);
    let point = |&load: &f64| {
        let work: Vec<f64> = (0..repeats).map(|_| work(load) * noise()).collect();
        let mean = work.iter().sum::<f64>() / work.len() as f64;
        Point { value: load.to_string(), load, latency_ns: load / mean * 1e9, work }
    };
    loads.iter().map(point).collect()
}

const DOUBLINGS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// The answer in a word, with the knee and its range.
fn told(answer: &Answer) -> String {
    match answer {
        Answer::At { value, .. } => format!("at {value}"),
        Answer::StillScaling { .. } => "scaling".to_owned(),
        Answer::Flat { .. } => "flat".to_owned(),
        Answer::Undecided { reason } => format!("undecided: {reason}"),
    }
}

#[track_caller]
fn check(points: &[Point], expected: &str) {
    let answer = told(&find(points));
    assert!(answer.starts_with(expected), "expected {expected}, found {answer}");
}

/// The law without coherency has elasticity ¼ at 3·(1−σ)/σ; the nearest doubling to it is planted.
const PLANTED: [(f64, f64); 4] = [(0.5, 4.0), (0.1, 32.0), (0.05, 64.0), (0.02, 128.0)];

fn planted(contention: f64, repeats: usize, size: f64) -> Vec<Point> {
    let loads: Vec<f64> = (0..12).map(|i| f64::from(1 << i)).collect();
    points(&loads, repeats, size, |n| usl(n, contention, 0.0))
}

#[test]
fn planted_knees_are_found() {
    for (contention, knee) in PLANTED {
        check(&planted(contention, 1, 0.0), &format!("at {knee}"));
    }
}

#[test]
fn noise_does_not_move_the_knee_out_of_its_range() {
    for (contention, knee) in PLANTED {
        for (repeats, size) in [(1, 0.01), (3, 0.03), (5, 0.05), (10, 0.1)] {
            let answer = find(&planted(contention, repeats, size));
            let Answer::At { earliest, latest, .. } = &answer else { panic!("{answer:?}") };
            let (from, to): (f64, f64) = (earliest.parse().unwrap(), latest.parse().unwrap());
            assert!(
                from <= knee && knee <= to && to / from <= 8.0,
                "{knee} planted, {from} to {to} found"
            );
        }
    }
}

#[test]
fn curves_that_fall_again_have_their_knee_before_the_peak() {
    // The peak of the law is at √((1−σ)/κ) = 15.4 here.
    check(&points(&DOUBLINGS, 1, 0.0, |n| usl(n, 0.05, 0.004)), "at 8");
    check(&points(&DOUBLINGS, 3, 0.02, |n| usl(n, 0.05, 0.004)), "at 8");
}

#[test]
fn a_corner_is_found_where_it_is() {
    for corner in [2.0, 8.0, 32.0] {
        let work = |n: f64| 1000.0 * n.min(corner);
        check(&points(&DOUBLINGS, 1, 0.01, work), &format!("at {corner}"));
    }
}

#[test]
fn a_straight_line_has_no_knee() {
    check(&points(&DOUBLINGS, 1, 0.02, |n| 1000.0 * n), "scaling");
    check(&points(&DOUBLINGS[..3], 3, 0.05, |n| 1000.0 * n), "scaling");
    // Elasticity ½ throughout: a doubling brings 41%, which is worth it by the definition.
    check(&points(&DOUBLINGS, 1, 0.0, |n| 1000.0 * n.sqrt()), "scaling");
}

#[test]
fn a_flat_line_is_flat_from_its_first_point() {
    check(&points(&DOUBLINGS, 1, 0.02, |_| 5000.0), "flat");
    check(&points(&DOUBLINGS[..3], 4, 0.05, |_| 5000.0), "flat");
}

#[test]
fn one_bad_point_is_not_a_knee() {
    let dip = |n: f64| if n == 4.0 { 1500.0 } else { 1000.0 * n };
    check(&points(&DOUBLINGS, 1, 0.0, dip), "scaling");
}

#[test]
fn few_points_and_none() {
    check(&[], "undecided: no point");
    check(&points(&DOUBLINGS[..1], 1, 0.0, |n| n), "undecided: fewer than three");
    check(&points(&DOUBLINGS[..2], 1, 0.0, |n| n), "undecided: fewer than three");
}

#[test]
fn noise_that_hides_the_answer_is_said() {
    let wild = points(&[1.0, 1.1, 1.2, 1.3], 2, 0.4, |n| 1000.0 * n);
    check(&wild, "undecided: the points differ by less");
    // Elasticity exactly at the threshold: every point scores the same.
    check(
        &points(&DOUBLINGS, 1, 0.0, |n| 1000.0 * n.powf(ELASTICITY)),
        "undecided: the points differ by less",
    );
    // 31 to 32 is too small a step to tell a corner at 31 from none.
    let close: Vec<f64> = (1..=32).map(f64::from).collect();
    check(&points(&close, 1, 0.0, |n| n.min(31.0)), "undecided: the knee is too close");
}

#[test]
fn load_that_did_not_arrive_is_no_knee() {
    // The depth was clamped at 4: neither work nor latency grows after it.
    let mut clamped = points(&DOUBLINGS, 1, 0.0, |n| 1000.0 * n.min(4.0));
    for p in &mut clamped {
        p.latency_ns = 1e6;
    }
    check(&clamped, "undecided: work stops growing at 4 but latency does not rise");
}

#[test]
fn a_ladder_of_blocks_bends_where_the_wire_fills() {
    // Hockney's r∞ and n½: a fixed cost of 20 us and 800 MB/s; three quarters of r∞ are reached at 3·n½ = 48 KB.
    let blocks: Vec<f64> = (0..9).map(|i| 4096.0 * f64::from(1 << i)).collect();
    let rate = |b: f64| b / (20e-6 + b / 800e6);
    check(&points(&blocks, 1, 0.0, rate), "at 65536");
}

#[test]
fn the_range_holds_the_knee_and_grows_with_the_noise() {
    let span = |size| match find(&points(&DOUBLINGS, 3, size, |n| usl(n, 0.1, 0.0))) {
        Answer::At { earliest, latest, .. } => {
            (earliest.parse::<f64>().unwrap(), latest.parse::<f64>().unwrap())
        }
        other => panic!("{other:?}"),
    };
    let (still, noisy) = (span(0.001), span(0.08));
    assert!(still.0 <= 32.0 && still.1 >= 32.0 || still == (16.0, 32.0), "{still:?}");
    assert!(noisy.0 <= still.0 && noisy.1 >= still.1, "{noisy:?} within {still:?}");
}

#[test]
fn points_beyond_the_knee_are_reported() {
    let Answer::At { share_of_peak, work_after, latency_after, .. } =
        find(&points(&DOUBLINGS, 1, 0.0, |n| 1000.0 * n.min(8.0)))
    else {
        panic!("a knee at 8")
    };
    assert_eq!((share_of_peak, work_after, latency_after), (1.0, 1.0, 32.0));
}

proptest! {
    /// Units do not matter, and no points make it panic.
    #[test]
    fn the_answer_does_not_depend_on_units(
        curve in prop::collection::vec((1.0..1e9, 1.0..1e9, 1.0..1e9), 0..12),
        load_unit in 0.001..1000.0, work_unit in 0.001..1000.0,
    ) {
        let mut loads: Vec<f64> = curve.iter().map(|c| c.0).collect();
        loads.sort_by(f64::total_cmp);
        let point = |(i, c): (usize, &(f64, f64, f64)), l: f64, w: f64| Point {
            value: i.to_string(), load: loads[i] * l, work: vec![c.1 * w], latency_ns: c.2,
        };
        let plain: Vec<_> = curve.iter().enumerate().map(|c| point(c, 1.0, 1.0)).collect();
        let scaled: Vec<_> = curve.iter().enumerate().map(|c| point(c, load_unit, work_unit)).collect();
        prop_assert_eq!(told(&find(&plain)), told(&find(&scaled)));
    }
}
