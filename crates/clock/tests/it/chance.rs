//! Streams repeat, keys separate them, and their numbers have the documented distributions.

use clock::{Ns, Rng};

fn draws(seed: u64, key: &[u64]) -> Vec<u64> {
    let mut rng = Rng::keyed(seed, key);
    (0..64).map(|_| rng.next_u64()).collect()
}

#[test]
fn equal_names_give_equal_numbers_and_others_do_not() {
    assert_eq!(draws(1, &[2, 3]), draws(1, &[2, 3]));
    for other in [draws(2, &[2, 3]), draws(1, &[3, 2]), draws(1, &[2]), draws(1, &[2, 3, 0])] {
        assert_ne!(draws(1, &[2, 3]), other);
    }
}

#[test]
fn the_numbers_of_a_name_never_change() {
    // A change here changes every seeded run: it must be deliberate.
    let mut rng = Rng::keyed(1, &[0, 0, 0]);
    assert_eq!((rng.next_u64(), rng.below(1000)), FIRST_NUMBERS);
}

const FIRST_NUMBERS: (u64, u64) = (7_825_350_335_610_749_577, 19);

#[test]
fn shapes() {
    let mut rng = Rng::keyed(7, &[]);
    let n = 200_000;
    let mean = |f: &mut dyn FnMut() -> f64| (0..n).map(|_| f()).sum::<f64>() / f64::from(n);
    assert!((mean(&mut || rng.unit()) - 0.5).abs() < 0.005);
    assert!((mean(&mut || rng.exp(3.0)) - 3.0).abs() < 0.05);
    assert!((mean(&mut || f64::from(u8::from(rng.chance(0.67)))) - 0.67).abs() < 0.005);
    assert!((mean(&mut || rng.below(10) as f64) - 4.5).abs() < 0.05);
}

/// Against the distribution function, at its bends and in its tail: a share differs by less than five standard deviations.
#[test]
fn fast_exponential_draws_are_exponential() {
    let mut rng = Rng::keyed(3, &[1]);
    let n = 1_000_000;
    let draws: Vec<f64> = (0..n).map(|_| rng.exp_fast()).collect();
    let count = f64::from(n);
    // Between the last bends of the layers, beyond the last one (7.697), and everywhere else.
    for x in [0.001, 0.01, 0.1, 0.5, 1.0, 2.0, 4.0, 6.0, 6.9, 7.3, 7.69, 7.7, 9.0, 11.0_f64] {
        let share = (-x).exp();
        let beyond = draws.iter().filter(|draw| **draw > x).count() as f64;
        let deviation = (count * share * (1.0 - share)).sqrt();
        assert!((beyond - count * share).abs() < 5.0 * deviation, "beyond {x}: {beyond}");
    }
    for (power, moment) in [(1, 1.0), (2, 2.0), (3, 6.0)] {
        let mean = draws.iter().map(|draw| draw.powi(power)).sum::<f64>() / count;
        assert!((mean / moment - 1.0).abs() < 0.03, "moment {power}: {mean}");
    }
    // Draws that follow each other are independent.
    let products = draws.windows(2).map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0)).sum::<f64>();
    assert!((products / count).abs() < 0.005, "{products}");
}

#[test]
fn clocks_advance_and_sleep_reaches_its_deadline() {
    let at = clock::now().plus(Ns::millis(5));
    clock::sleep_until(at);
    assert!(clock::now() >= at);
    clock::sleep_until(Ns::ZERO);
    let before = clock::thread_cpu();
    let mut x = 0u64;
    while clock::thread_cpu().since(before).user == Ns::ZERO
        && clock::thread_cpu().since(before).system == Ns::ZERO
    {
        x = x.wrapping_add(1);
    }
    assert!(clock::process_cpu().user.0 + clock::process_cpu().system.0 > 0);
}
