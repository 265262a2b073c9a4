//! The statistics of the benchmark against peers, on numbers whose answer is known.

use crate::estimate::Estimate;

#[track_caller]
fn check(values: &[f64], expected: Option<(f64, f64, f64, f64)>) {
    let found = Estimate::of(values);
    let expected =
        expected.map(|(median, low, high, confidence)| Estimate { median, low, high, confidence });
    assert_eq!(found, expected);
}

/// The integers from 1 to n in an order that is not sorted.
fn ramp(n: u32) -> Vec<f64> {
    (0..n).map(|i| f64::from((i * 7 + 3) % n + 1)).collect()
}

#[test]
fn the_bounds_are_those_of_the_tables() {
    // Ranks and coverages as in every table for the sign test: 6 values (1, 6), 10 values (2, 9), 20 values (6, 15).
    check(&ramp(6), Some((3.5, 1.0, 6.0, 1.0 - 2.0 / 64.0)));
    check(&ramp(10), Some((5.5, 2.0, 9.0, 1.0 - 22.0 / 1024.0)));
    check(&ramp(11), Some((6.0, 2.0, 10.0, 1.0 - 24.0 / 2048.0)));
    check(&ramp(20), Some((10.5, 6.0, 15.0, 1.0 - 43_400.0 / 1_048_576.0)));
}

#[test]
fn too_few_values_say_nothing() {
    check(&[], None);
    check(&ramp(5), None);
}

#[test]
fn one_wild_value_among_ten_moves_no_bound() {
    let mut values = ramp(10);
    let largest = values.iter().position(|v| *v == 10.0).unwrap();
    values[largest] = 1e9;
    check(&values, Some((5.5, 2.0, 9.0, 1.0 - 22.0 / 1024.0)));
}

#[test]
fn equal_values_have_no_width() {
    check(&[2.0; 10], Some((2.0, 2.0, 2.0, 1.0 - 22.0 / 1024.0)));
}
