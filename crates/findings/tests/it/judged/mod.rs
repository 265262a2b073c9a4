//! Steadiness and comparison against made-up measurements whose truth is known: `series.py` draws them, and shares no code
//! with the judges. Those that are ignored measure alarm rates and power as `docs/compare.md` and `docs/steady.md` state
//! them:
//!
//! ```text
//! cargo test --release -p findings --test it judged -- --ignored --nocapture
//! ```

use crate::support::{Sketch, Work};
use findings::comparison::{CompareOptions, Compared, Opinion, compare};
use findings::statistics::{CHANGE_TOLERANCE, LevelCheck};
use record::Record;
use std::collections::BTreeMap;
use std::process::Command;

/// The lines that the generator draws; `None` where there is no Python.
fn drawn(what: &str, count: u32, seed: u32) -> Option<String> {
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/judged/series.py");
    let args = [program, what, &count.to_string(), &seed.to_string()];
    match Command::new("python3").args(args).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(String::from_utf8(output.stdout).expect("numbers"))
        }
        Err(error) => {
            println!("skipped: python3 draws the series: {error}");
            None
        }
    }
}

/// How often something was found, by case.
type Rates = BTreeMap<String, (u32, u32)>;

fn note(rates: &mut Rates, case: &str, found: bool) {
    let (all, hits) = rates.entry(case.to_owned()).or_default();
    (*all, *hits) = (*all + 1, *hits + u32::from(found));
}

fn percent((all, hits): (u32, u32)) -> f64 {
    f64::from(hits) * 100.0 / f64::from(all.max(1))
}

fn show(rates: &Rates) {
    for (case, rate) in rates {
        println!("{case}: {:.1}% of {}", percent(*rate), rate.0);
    }
}

/// How often the series of each case are found unsteady.
fn unsteady(lines: &str, wanted: impl Fn(&str) -> bool) -> Rates {
    let mut rates = Rates::new();
    for line in lines.lines() {
        let (case, values) = line.rsplit_once(';').expect("a case and its values");
        if wanted(case) {
            let values: Vec<f64> =
                values.split(' ').map(|v| v.parse().expect("a number")).collect();
            let check = LevelCheck::of(&values, CHANGE_TOLERANCE).expect("points enough");
            note(&mut rates, case, check.changed());
        }
    }
    rates
}

/// A minute with 1% of noise, whatever its correlation.
#[test]
fn a_step_of_five_percent_is_found_anywhere_and_steady_series_are_steady() {
    let Some(lines) = drawn("steady", 4, 3) else { return };
    let minute =
        |case: &str| case.contains(";60;") && (case.starts_with("none") || case.contains(";0.01;"));
    let mut together = Rates::new();
    for (case, (all, hits)) in unsteady(&lines, minute) {
        let kind = case.split(';').next().expect("a kind").split('-').next().expect("a kind");
        let (a, h) = together.entry(kind.to_owned()).or_default();
        (*a, *h) = (*a + all, *h + hits);
    }
    show(&together);
    for (kind, rate) in &together {
        match kind.as_str() {
            // Of about 90 steady series: more than 11 would be one chance in a hundred at a true rate of 5%.
            "none" => assert!(percent(*rate) <= 12.0, "steady: {rate:?}"),
            _ => assert!(percent(*rate) >= 80.0, "{kind}: {rate:?}"),
        }
    }
    assert_eq!(together.len(), 8, "{together:?}");
}

#[test]
#[ignore = "takes minutes; prints the tables of docs/steady.md"]
fn alarm_rates_and_power_of_steadiness() {
    let Some(lines) = drawn("steady", 60, 7) else { return };
    show(&unsteady(&lines, |_| true));
}

/// The records of a line: of each measurement its side, when it began, and its seconds.
fn judged(line: &str) -> (String, Vec<Opinion>) {
    let mut fields = line.split(';');
    let mut next = || fields.next().expect("case, difference and measurements");
    let (case, difference, measurements) = (next(), next(), next());
    let mut sides: [Vec<(tempfile::TempDir, Record)>; 2] = Default::default();
    for measurement in measurements.split('|') {
        let mut words = measurement.split(' ');
        let side = usize::from(words.next() == Some("B"));
        let start: u64 = words.next().and_then(|w| w.parse().ok()).expect("a start");
        let seconds: Vec<u64> =
            words.map(|w| w.parse::<f64>().expect("a rate").round() as u64).collect();
        let scenario = crate::support::one_target(&format!("{}s", seconds.len()), "");
        let work = Work { by_second: seconds.leak(), in_flight: Some(4.0), ..Work::default() };
        sides[side].push(Sketch::of(&scenario).later(start).record(move |_, _| work.clone()));
    }
    let analyses: Vec<_> = sides
        .iter()
        .flatten()
        .map(|(_, record)| findings::analyse(record).expect("it is analysed"))
        .collect();
    let runs: Vec<_> = sides.iter().flatten().map(|(_, record)| record).zip(&analyses).collect();
    let options = CompareOptions {
        baseline: Some(sides[0].len()),
        metrics: vec![Compared::Iops],
        ..CompareOptions::default()
    };
    let found = compare(&runs, &options).expect("it is compared").against.remove(0);
    let opinions = found.steps[0].metrics.iter().map(|m| m.opinion).collect();
    (format!("{case};{difference}"), opinions)
}

fn told(opinions: &[Opinion]) -> bool {
    opinions.iter().any(|o| [Opinion::Better, Opinion::Worse].contains(o))
}

/// A tenth more on a machine that is always the same is found in turns; equals are called different by no design, whatever
/// the machine does.
#[test]
fn the_machine_is_not_taken_for_the_system() {
    let Some(lines) = drawn("compare", 2, 5) else { return };
    let (mut equal, mut found) = ((0, 0), (0, 0));
    for line in lines.lines() {
        let still = line.starts_with("abba-none;0.1;") || line.starts_with("abab-none;0.1;");
        if still || line.contains(";0.0;") {
            let (_, opinions) = judged(line);
            let of = if still { &mut found } else { &mut equal };
            *of = (of.0 + 1, of.1 + u32::from(told(&opinions)));
        }
    }
    assert!(equal.0 == 40 && equal.1 <= 5, "{equal:?} equals were told apart");
    assert!(found == (4, 4), "{found:?}");
}

#[test]
#[ignore = "takes minutes; prints the tables of docs/compare.md"]
fn alarm_rates_and_power_of_comparison() {
    let Some(lines) = drawn("compare", 20, 11) else { return };
    let (mut rates, mut differs) = (Rates::new(), Rates::new());
    for line in lines.lines() {
        let (case, opinions) = judged(line);
        note(&mut rates, &case, told(&opinions));
        note(
            &mut differs,
            &format!("{case}, or the machine"),
            opinions.contains(&Opinion::Differs),
        );
    }
    show(&rates);
    show(&differs);
}
