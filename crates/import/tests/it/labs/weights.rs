//! The weights of observed loads: fitted on every second planted lab, scored on the others. `judge.py`, which knows nothing of the
//! rules, says which answers are right. Rerun it after a change of the signs (`make monitoring`), and put what it prints into
//! `crates/findings/src/attribution/model.rs` and `docs/explain.md`.

use super::{here, python, recorded, simulated};
use findings::Limiter;
use findings::attribution::{Candidate, OBSERVED, OBSERVED_MOST, Weights, probabilities, weighed};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Windows that are judged: those in which the load is on.
const WINDOWS: [&str; 3] = ["whole", "busiest", "peak"];
/// Ascents, their length, and the penalty of a weight that leaves where it was.
const ROUNDS: usize = 1_500;
const RATE: f64 = 0.3;
const PENALTY: f64 = 1e-3;

/// What a lab is written as.
struct Form {
    /// As the tables name it.
    name: &'static str,
    /// The words of `write.py`, and a length that is drawn by the lab where it is 0.
    length: u32,
    words: &'static str,
}

/// The forms of every lab. `busy` hosts have their processors taken by others.
const FORMS: &[Form] = &[
    Form { name: "fabric 20 s", length: 20, words: "fabric" },
    Form { name: "fabric 60 s", length: 60, words: "fabric" },
    Form { name: "fabric 300 s", length: 300, words: "fabric" },
    Form { name: "half", length: 0, words: "fabric blind" },
    Form { name: "bursts of 6 s", length: 0, words: "fabric on=6 off=3" },
    Form { name: "hosts alone", length: 0, words: "esxtop" },
    Form { name: "guests alone", length: 0, words: "iostat" },
];

/// A window of a lab as it was monitored.
pub struct Case {
    seed: u64,
    form: &'static str,
    window: String,
    candidates: Vec<Candidate>,
    right: Vec<bool>,
}

fn drawn() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../findings/tests/it/drawn")
}

/// The lines of `write.py` for some labs, each with its folder and form.
fn orders(seeds: &[u64]) -> Vec<(u64, usize, String, String)> {
    let mut out = Vec::new();
    for seed in seeds {
        for (at, form) in FORMS.iter().enumerate() {
            // Lengths and busy hosts in turn, so that each form meets them all.
            let turn = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(at as u64 * 7) >> 3;
            let length = match form.length {
                0 => [20, 60, 300][(turn % 3) as usize],
                length => length,
            };
            let busy = if (turn / 3).is_multiple_of(6) { " busy" } else { "" };
            let folder = format!("{seed}-{at}");
            let line = format!("{seed} {length} {}{busy} into={folder}", form.words);
            out.push((*seed, at, folder, line));
        }
    }
    out
}

/// Explains some labs, whose records are in a folder, in every form.
fn cases(folder: &Path, limits: &Path, seeds: &[u64]) -> Vec<Case> {
    let orders = orders(seeds);
    let lines: Vec<&str> = orders.iter().map(|order| order.3.as_str()).collect();
    let list = folder.join("orders.txt");
    std::fs::write(&list, lines.join("\n")).expect("a file");
    let place = folder.to_str().expect("a path");
    python(here("write.py"), &[place, "all", list.to_str().expect("a path")]);
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((seed, at, name, _)) =
                    orders.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let record = recorded(&folder.join(name));
                    let all = weighed(&record).expect("the record is read");
                    for (step, candidates) in record.steps().iter().zip(all) {
                        let window = step.settings.first().map(|s| s.1.clone()).unwrap_or_default();
                        if WINDOWS.contains(&window.as_str()) {
                            let (seed, form, right) = (*seed, FORMS[*at].name, Vec::new());
                            let case = Case { seed, form, window, candidates, right };
                            done.lock().expect("no panic").push((name.clone(), case));
                        }
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no panic");
    done.sort_by(|a, b| (a.1.seed, &a.0, &a.1.window).cmp(&(b.1.seed, &b.0, &b.1.window)));
    let right = judged(folder, limits, &done);
    done.into_iter().zip(right).map(|((_, case), right)| Case { right, ..case }).collect()
}

/// Which answers are right, as `judge.py` has it. "Not determined" is right where no other answer is.
fn judged(folder: &Path, limits: &Path, cases: &[(String, Case)]) -> Vec<Vec<bool>> {
    let mut child = Command::new("python3")
        .arg(here("judge.py"))
        .args([drawn().as_path(), limits, folder])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 runs");
    let mut to = child.stdin.take().expect("a pipe");
    let lines: Vec<String> = cases
        .iter()
        .map(|(name, case)| {
            let limits: Vec<&Limiter> = case.candidates.iter().map(|of| &of.limit).collect();
            format!("{}\n", json!({ "case": name, "seed": case.seed, "limits": limits }))
        })
        .collect();
    let writer =
        std::thread::spawn(move || lines.iter().try_for_each(|l| to.write_all(l.as_bytes())));
    let out = child.wait_with_output().expect("judge.py ends");
    writer.join().expect("no panic").expect("judge.py reads");
    assert!(out.status.success());
    let text = String::from_utf8(out.stdout).expect("text");
    let flags = |(line, (_, case)): (&str, &(String, Case))| {
        let named: Vec<bool> = line.bytes().map(|b| b == b'1').collect();
        let any = named.contains(&true);
        let unknown = |at: usize| matches!(case.candidates[at].limit, Limiter::Unknown { .. });
        (0..named.len()).map(|at| if unknown(at) { !any } else { named[at] }).collect()
    };
    text.lines().zip(cases).map(flags).collect()
}

/// The answer to a case: its place, and what is stated of it.
fn answer(case: &Case, weights: &Weights, most: f64) -> (usize, f64) {
    let p = probabilities(&case.candidates, weights);
    let best = (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).expect("an answer");
    let unknown = matches!(case.candidates[best].limit, Limiter::Unknown { .. });
    (best, if unknown { p[best] } else { p[best].min(most) })
}

/// How answers were, by form, and by what they state.
#[derive(Debug, Default)]
pub struct Score {
    /// Answers that name something: right, wrong; and "not determined".
    forms: std::collections::BTreeMap<&'static str, [usize; 3]>,
    bins: [(usize, f64, usize); 10],
    /// Named answers that were sure and wrong.
    pub sure_and_wrong: usize,
    /// Sum of squared errors of all answers, of the logarithm of what is stated of the right ones, and their number.
    brier: f64,
    log: f64,
    count: usize,
}

impl Score {
    fn of(cases: &[Case], keep: impl Fn(&Case) -> bool, weights: &Weights, most: f64) -> Score {
        let mut score = Score::default();
        for case in cases.iter().filter(|case| keep(case)) {
            let (best, stated) = answer(case, weights, most);
            let right = case.right[best];
            let p = probabilities(&case.candidates, weights);
            let all: f64 = p.iter().zip(&case.right).filter(|(_, r)| **r).map(|(p, _)| p).sum();
            score.log -= all.max(1e-6).ln();
            score.brier += (stated - f64::from(u8::from(right))).powi(2);
            score.count += 1;
            let unknown = matches!(case.candidates[best].limit, Limiter::Unknown { .. });
            let form = score.forms.entry(case.form).or_default();
            form[if unknown { 2 } else { usize::from(!right) }] += 1;
            if !unknown {
                let bin = &mut score.bins[((stated * 10.0) as usize).min(9)];
                (bin.0, bin.1, bin.2) = (bin.0 + 1, bin.1 + stated, bin.2 + usize::from(right));
                score.sure_and_wrong += usize::from(stated >= 0.9 && !right);
            }
        }
        score
    }

    fn print(&self) {
        let part = |n: usize, of: usize| 100.0 * n as f64 / of.max(1) as f64;
        println!("files            windows   right   wrong   not determined");
        for (form, [right, wrong, unknown]) in &self.forms {
            let all = right + wrong + unknown;
            println!(
                "{form:16} {all:7} {:6.1}% {:6.1}% {:15.1}%",
                part(*right, all),
                part(*wrong, all),
                part(*unknown, all)
            );
        }
        println!("stated     answers  mean stated   right");
        for (at, (count, stated, right)) in self.bins.iter().enumerate().filter(|(_, b)| b.0 > 0) {
            let low = at as f64 / 10.0;
            println!(
                "{low:.1} to {:.1} {count:8} {:12.3} {:6.1}%",
                low + 0.1,
                stated / *count as f64,
                part(*right, *count)
            );
        }
        println!(
            "Brier score {:.4}, log score {:.4}, of {} windows",
            self.brier(),
            self.log / self.count as f64,
            self.count
        );
    }

    fn brier(&self) -> f64 {
        self.brier / self.count.max(1) as f64
    }

    /// The largest gap between what is stated and what is right, in bins of enough answers.
    fn gap(&self, least: usize) -> f64 {
        let gap = |(count, stated, right): &(usize, f64, usize)| {
            (*stated - *right as f64) / (*count).max(1) as f64
        };
        self.bins.iter().filter(|bin| bin.0 >= least).map(gap).fold(0.0, f64::max)
    }
}

/// The slope of the mean logarithm of the probability of what is right.
fn slope(cases: &[&Case], mut weights: Weights) -> Weights {
    let mut slope = Weights::ZERO;
    for case in cases {
        let p = probabilities(&case.candidates, &weights);
        let right: f64 = p.iter().zip(&case.right).filter(|(_, r)| **r).map(|(p, _)| p).sum();
        if right <= 0.0 {
            continue;
        }
        for ((candidate, p), is_right) in case.candidates.iter().zip(&p).zip(&case.right) {
            let share = if *is_right { p / right } else { 0.0 };
            slope.add(&candidate.signs, (share - p) / cases.len() as f64);
        }
    }
    let mut before = OBSERVED;
    let all = slope.each_mut().zip(weights.each_mut()).zip(before.each_mut());
    for ((slope, weight), before) in all {
        *slope -= PENALTY * (*weight - *before);
    }
    slope
}

fn fitted(cases: &[&Case]) -> Weights {
    let (mut weights, mut speed): (Weights, Weights) = (OBSERVED, Weights::ZERO);
    for _ in 0..ROUNDS {
        let mut slope = slope(cases, weights);
        let all = weights.each_mut().zip(speed.each_mut()).zip(slope.each_mut());
        for ((weight, speed), slope) in all {
            *speed = 0.9 * *speed + RATE * *slope;
            *weight += *speed;
        }
    }
    weights
}

/// The first seed of the labs that were drawn after the weights had been fitted.
const UNSEEN: u64 = 6000;

/// The labs of `limits.txt`, or of the file that the environment names, with those of `unseen.txt` where all are wanted;
/// simulated where no record of them is there.
fn labs(folder: &Path, every: usize) -> (PathBuf, Vec<u64>) {
    let given = std::env::var("DRAWN_LIMITS");
    let first = given.map_or_else(|_| drawn().join("limits.txt"), PathBuf::from);
    let mut text = std::fs::read_to_string(first).expect("the limits");
    if every == 1 {
        text += &std::fs::read_to_string(drawn().join("unseen.txt")).expect("more limits");
    }
    let limits = folder.join("limits.txt");
    std::fs::write(&limits, &text).expect("a file");
    let seeds: Vec<u64> = text
        .lines()
        .step_by(every)
        .filter_map(|line| line.split(' ').next()?.parse().ok())
        .collect();
    let place = folder.to_str().expect("a path");
    python(drawn().join("labs.py"), &["texts", place, limits.to_str().expect("a path")]);
    for seed in &seeds {
        if !folder.join(format!("{seed}.wsr")).exists() {
            simulated(folder, &seed.to_string());
        }
    }
    (limits, seeds)
}

/// A few labs in every form: never sure and wrong, and right as often as stated.
#[test]
fn what_monitoring_shows_of_a_few_labs_is_right_as_often_as_stated() {
    let folder = tempfile::tempdir().expect("a directory");
    let (limits, seeds) = labs(folder.path(), 50);
    let cases = cases(folder.path(), &limits, &seeds);
    let score = Score::of(&cases, |_| true, &OBSERVED, OBSERVED_MOST);
    score.print();
    assert!(score.count >= 3 * FORMS.len(), "{} windows", score.count);
    assert_eq!(score.sure_and_wrong, 0);
    assert!(score.brier() <= 0.25, "no better than a coin: {score:?}");
}

/// `make monitoring`: the tables of `docs/explain.md` and the weights of observed loads.
#[test]
#[ignore = "minutes: make monitoring"]
fn the_weights_of_observed_loads_are_fitted() {
    let own = tempfile::tempdir().expect("a directory");
    let folder =
        std::env::var("MONITORED_LABS").map_or_else(|_| own.path().to_owned(), PathBuf::from);
    let (limits, seeds) = labs(&folder, 1);
    let cases = cases(&folder, &limits, &seeds);
    let unseen = |case: &Case| case.seed >= UNSEEN;
    let held = |case: &Case| case.seed % 2 == 1 && !unseen(case);
    let taught: Vec<&Case> = cases.iter().filter(|case| !held(case) && !unseen(case)).collect();
    let weights = fitted(&taught);
    println!("{weights:#.1?}");
    println!("\nas built, labs that no weight was fitted on");
    let built = Score::of(&cases, held, &OBSERVED, OBSERVED_MOST);
    built.print();
    println!("\nfitted anew, the same labs");
    Score::of(&cases, held, &weights, OBSERVED_MOST).print();
    println!("\nfitted anew, the labs that they were fitted on");
    Score::of(&cases, |case| !held(case) && !unseen(case), &weights, OBSERVED_MOST).print();
    println!("\nas built, labs that were drawn after the weights had been fitted");
    let new = Score::of(&cases, unseen, &OBSERVED, OBSERVED_MOST);
    new.print();
    for window in WINDOWS {
        println!("\nas built, window {window}, labs that no weight was fitted on");
        Score::of(&cases, |case| held(case) && case.window == window, &OBSERVED, OBSERVED_MOST)
            .print();
    }
    let sure_and_wrong = built.sure_and_wrong + new.sure_and_wrong;
    assert_eq!(sure_and_wrong, 0, "an answer was sure, and wrong");
    assert!(built.gap(30) <= 0.1, "an answer is right less often than stated: {built:?}");
}
