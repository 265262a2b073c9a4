//! Two weeks of one system compared: what was planted is found, whatever the hours, gaps and places that only one week has.

use super::{recorded, volumes};
use findings::comparison::{Against, CompareOptions, Compared, Evidence, MetricPair, Opinion};
use import::monitor::{Feed, NamedWindow, Order, Span, Topology};
use record::Record;
use std::f64::consts::TAU;

/// Monday, 1 June 2026.
const MONDAY: i64 = 1_780_272_000;
const DAY: i64 = 86_400;
const SAMPLE: i64 = 300;

/// A week of volumes that do what `of` says at each sample: reads a second and milliseconds; nothing where it says nothing.
fn week(begins: i64, of: impl Fn(i64, &str) -> Option<[f64; 2]>) -> Feed {
    let mut text = "Time,Volume,Reads,ms,KB/s,Busy\n".to_owned();
    for n in 0..7 * DAY / SAMPLE {
        for volume in ["v1", "v2"] {
            if let Some([reads, ms]) = of(n, volume) {
                let (time, kb, busy) = (begins + n * SAMPLE, reads * 8.0, reads / 50.0);
                text += &format!("{time},{volume},{reads:.3},{ms:.4},{kb:.3},{busy:.2}\n");
            }
        }
    }
    volumes(&text)
}

/// The course of a day, of a week, and something that no other week repeats.
fn rate(n: i64, seed: i64) -> f64 {
    let day = (n as f64 * SAMPLE as f64 / DAY as f64 * TAU).sin();
    let weekend = if n * SAMPLE / DAY >= 5 { 0.4 } else { 1.0 };
    let own = ((n * 7919 + seed * 104_729) % 1009) as f64 / 1009.0 - 0.5;
    1000.0 * weekend * (1.0 + 0.6 * day) * (0.3 * own).exp()
}

/// Latency that rises with the rate.
fn latency(rate: f64, n: i64, seed: i64) -> f64 {
    let own = ((n * 6007 + seed * 611_953) % 997) as f64 / 997.0 - 0.5;
    (1.0 + rate / 2000.0) * (0.1 * own).exp()
}

fn compared(a: &Record, b: &Record) -> Against {
    let analyses = [a, b].map(|record| findings::analyse(record).unwrap());
    let both = [(a, &analyses[0]), (b, &analyses[1])];
    findings::compare(&both, &CompareOptions::default()).unwrap().against.remove(0)
}

#[track_caller]
fn metric(found: &Against, metric: Compared) -> &MetricPair {
    let of = found.steps[0].metrics.iter().find(|m| m.metric == metric);
    of.unwrap_or_else(|| panic!("no {metric:?}"))
}

/// That a change is what was planted, and the interval narrower than `within`.
#[track_caller]
fn is(of: &MetricPair, planted: f64, within: f64) {
    let [low, high] = of.interval.unwrap();
    assert!(low <= planted && planted <= high, "{planted} is not in {low} to {high}");
    assert!(high - low < within, "{low} to {high}");
}

#[test]
fn two_weeks_are_laid_over_each_other() {
    let one = week(MONDAY, |n, volume| {
        let rate = rate(n, 1);
        (volume == "v1").then(|| [rate, latency(rate, n, 1)])
    });
    // A tenth more is asked for, each operation takes a fifth longer at that rate, and six hours are missing.
    let other = week(MONDAY + 7 * DAY, |n, volume| {
        let rate = 1.1 * rate(n, 2);
        let known = volume == "v1" && !(500..572).contains(&n);
        known.then(|| [rate, 1.2 * latency(rate, n, 2)])
    });
    let (_a, one) = recorded(&[one], &Topology::default());
    let (_b, other) = recorded(&[other], &Topology::default());
    let found = compared(&one, &other);
    let whole = &found.steps[0];
    assert_eq!((whole.evidence, &whole.obstacle), (Evidence::SameHoursOfWeek, &None));
    is(metric(&found, Compared::Iops), 0.1, 0.04);
    is(metric(&found, Compared::MeanAtRate), 0.2, 0.02);
    assert_eq!(metric(&found, Compared::MeanAtRate).opinion, Opinion::Differs);
    let percentile = |m: &&MetricPair| [Compared::P50, Compared::P99].contains(&m.metric);
    assert_eq!(whole.metrics.iter().find(percentile), None, "monitoring has none");
    let codes: Vec<&str> = found.cautions.iter().map(|c| c.code).collect();
    assert!(codes.contains(&"observed") && !codes.contains(&"one-after-the-other"), "{codes:?}");
    let advice = found.cautions.iter().any(|c| c.next.contains("wirespeed run"));
    assert!(!advice, "{:?}", found.cautions);
    let place = whole.places.iter().find(|place| place.place.contains("v1")).unwrap();
    assert!(place.utilization[1] > place.utilization[0], "{place:?}");
    // What says only that other files were read is no difference of the systems.
    assert!(found.differing.iter().all(|d| !["sha256", "title"].contains(&d.key.as_str())));
}

#[test]
fn equal_weeks_do_not_differ_though_their_days_do() {
    let of = |seed| {
        week(MONDAY + seed * 7 * DAY, move |n, _| {
            let rate = rate(n, seed);
            Some([rate, latency(rate, n, seed)])
        })
    };
    let (_a, one) = recorded(&[of(1)], &Topology::default());
    let (_b, other) = recorded(&[of(3)], &Topology::default());
    let found = compared(&one, &other);
    assert_eq!(found.steps[0].evidence, Evidence::SameHoursOfWeek);
    let differs = found.steps[0].metrics.iter().find(|m| m.opinion != Opinion::Undecided);
    assert_eq!(differs, None);
    is(metric(&found, Compared::Iops), 0.0, 0.04);
}

#[test]
fn a_place_of_one_week_alone_and_another_mix_are_said() {
    let one = week(MONDAY, |n, volume| (volume == "v1").then(|| [rate(n, 1), 2.0]));
    let other = week(MONDAY + 7 * DAY, |n, _| Some([rate(n, 2), 2.0]));
    let (_a, one) = recorded(&[one], &Topology::default());
    let (_b, other) = recorded(&[other], &Topology::default());
    let found = compared(&one, &other);
    let places = found.cautions.iter().find(|c| c.code == "places-differ").unwrap();
    assert!(places.text.contains("only the other run") && places.text.contains("v2"), "{places:?}");
    is(metric(&found, Compared::Iops), 1.0, 0.2);
}

/// What some volumes do at moments of their own.
fn moments(samples: impl Iterator<Item = (i64, f64, f64)>) -> Feed {
    let mut text = "Time,Volume,Reads,ms,KB/s,Busy\n".to_owned();
    samples.for_each(|(at, reads, ms)| {
        text += &format!("{at},v1,{reads:.3},{ms:.4},{},\n", reads * 8.0)
    });
    volumes(&text)
}

#[test]
fn samples_count_by_their_time() {
    let even = moments((1..=600).map(|n| (MONDAY + n * 300, 1000.0 + (n % 7) as f64, 2.0)));
    let mut at = MONDAY + 7 * DAY;
    let uneven = moments((1..=600).map(|n| {
        at += if n % 2 == 0 { 250 } else { 350 };
        (at, 1000.0 + (n % 7) as f64, 2.0)
    }));
    let (_a, one) = recorded(&[even], &Topology::default());
    let (_b, other) = recorded(&[uneven], &Topology::default());
    let found = compared(&one, &other);
    is(metric(&found, Compared::Iops), 0.0, 0.005);
}

/// Weeks may begin on other days, and of one side there may be several.
#[test]
fn every_hour_of_the_week_has_its_partner() {
    let sample = |begins: i64, n: i64, seed: i64, more: f64| {
        let of_week = (begins - MONDAY).div_euclid(SAMPLE) + n;
        let rate = more * rate(of_week.rem_euclid(2016), seed);
        (begins + n * SAMPLE, rate, latency(rate, n, seed))
    };
    let days = |begins: i64, days: i64, seed: i64, more: f64| {
        moments((1..=days * DAY / SAMPLE).map(move |n| sample(begins, n, seed, more)))
    };
    let wednesday = days(MONDAY + 2 * DAY, 7, 1, 1.0);
    let monday = days(MONDAY + 14 * DAY, 7, 2, 1.1);
    let two = days(MONDAY, 14, 3, 1.0);
    let (_a, wednesday) = recorded(&[wednesday], &Topology::default());
    let (_b, monday) = recorded(&[monday], &Topology::default());
    let (_c, two) = recorded(&[two], &Topology::default());
    for before in [&wednesday, &two] {
        let found = compared(before, &monday);
        assert_eq!(found.steps[0].evidence, Evidence::SameHoursOfWeek);
        is(metric(&found, Compared::Iops), 0.1, 0.04);
        is(metric(&found, Compared::MeanAtRate), 0.0, 0.02);
    }
}

#[test]
fn a_holiday_is_named() {
    let of = |seed: i64, more: f64, holiday: bool| {
        week(MONDAY + seed * 7 * DAY, move |n, volume| {
            let quiet = if holiday && n / 288 == 2 { 0.2 } else { 1.0 };
            let rate = more * quiet * rate(n, seed);
            (volume == "v1").then(|| [rate, latency(rate, n, seed)])
        })
    };
    let (_a, one) = recorded(&[of(1, 1.0, false)], &Topology::default());
    let (_b, other) = recorded(&[of(2, 1.1, true)], &Topology::default());
    let found = compared(&one, &other);
    let odd = found.cautions.iter().find(|c| c.code == "odd-days").unwrap();
    assert!(odd.text.contains("Wednesday −7") && odd.text.contains("+1"), "{odd:?}");
    assert!(!odd.text.contains("Tuesday"), "{odd:?}");
}

/// Latency that is known of half of the operations on one side is not compared with that of all.
#[test]
fn means_of_other_operations_are_not_compared() {
    let of = |seed: i64, known: bool| {
        let mut text = "Time,Volume,Reads,ms,KB/s,Busy\n".to_owned();
        for n in 0..400 {
            let (at, rate) = (MONDAY + seed * 7 * DAY + n * SAMPLE, rate(n, seed));
            let slow = if known { "10" } else { "" };
            text += &format!(
                "{at},v1,{rate},1,{},\n{at},v2,{rate},{slow},{},\n",
                rate * 8.0,
                rate * 8.0
            );
        }
        volumes(&text)
    };
    let (_a, one) = recorded(&[of(1, true)], &Topology::default());
    let (_b, other) = recorded(&[of(2, false)], &Topology::default());
    let found = compared(&one, &other);
    for of in [Compared::Mean, Compared::MeanAtRate] {
        let mean = metric(&found, of);
        assert_eq!(mean.opinion, Opinion::Undecided);
        assert!(mean.reason.as_ref().is_some_and(|why| why.contains("50%")), "{mean:?}");
    }
}

#[test]
fn windows_of_other_hours_are_said_to_be_so() {
    let of = |name: &str, from: i64, hours: i64| {
        let feed = week(MONDAY, |n, volume| (volume == "v1").then(|| [rate(n, 1), 2.0]));
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.wsr");
        let second = 1_000_000_000;
        let (from, hour) = ((MONDAY + from * 3600) * second, 3600 * second);
        let span = Span { from, to: from + hours * hour };
        let order = Order {
            feeds: &[feed],
            windows: &[NamedWindow { name: name.to_owned(), span }],
            facts: Vec::new(),
            topology: &Topology::default(),
            producer: "a test".to_owned(),
            title: "t".to_owned(),
        };
        import::monitor::write(&path, &order).unwrap();
        let record = Record::open(&path).unwrap();
        (dir, record)
    };
    let (monday, noon) = (of("a", 4, 6), of("a", 12, 6));
    let evidence = |found: &Against| found.steps[1].evidence;
    let found = compared(&monday.1, &noon.1);
    assert_eq!(evidence(&found), Evidence::OtherHours);
    assert!(found.cautions.iter().any(|c| c.code == "other-hours"), "{:?}", found.cautions);
    // The same hours of another day of the week are of the same hours of the day.
    let tuesday = of("a", 28, 6);
    assert_eq!(evidence(&compared(&monday.1, &tuesday.1)), Evidence::SameHoursOfDay);
    // Rates of the morning and of the afternoon have nothing in common.
    let of = found.steps[1].metrics.iter().find(|m| m.metric == Compared::MeanAtRate).unwrap();
    assert!(of.reason.as_ref().is_some_and(|why| why.contains("overlap")), "{of:?}");
}
