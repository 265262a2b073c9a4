//! How often series of known truth are found unsteady: reads the lines of `tests/it/judged/series.py steady` from stdin,
//! and prints a line for each case.

use findings::statistics::{CHANGE_TOLERANCE, LevelCheck};
use std::collections::BTreeMap;
use std::io::BufRead;

fn main() {
    let mut cases: BTreeMap<String, [f64; 4]> = BTreeMap::new();
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Some((case, values)) = line.rsplit_once(';') else { continue };
        let values: Vec<f64> = values.split(' ').filter_map(|v| v.parse().ok()).collect();
        let Some(check) = LevelCheck::of(&values, CHANGE_TOLERANCE) else { continue };
        let found =
            [1.0, f64::from(u8::from(check.changed())), check.detectable[0], check.detectable[1]];
        let sums = cases.entry(case.to_owned()).or_default();
        sums.iter_mut().zip(found).for_each(|(sum, one)| *sum += one);
    }
    println!("case;n;cv;correlation;series;found %;detectable in the middle %;in the last tenth %");
    for (case, [n, found, middle, late]) in cases {
        let percent = |sum: f64| sum * 100.0 / n;
        println!("{case};{n};{:.1};{:.1};{:.1}", percent(found), percent(middle), percent(late));
    }
}
