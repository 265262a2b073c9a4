//! Searches on made-up systems: the rule ends, finds what is there, takes few steps, and says what it did not find.

use crate::language::support::good;
use proptest::prelude::*;
use scenario::knee::Answer;
use scenario::search::{
    Aim, Limit, Over, Search, SearchAnswer, SearchNext, SearchRange, SearchStop, Seen,
};
use scenario::{Bound, Metric, Stage};
use units::Percent;

/// The most IOPS over depths from 1 to 256 while the 99th percentile is at most 5 ms.
fn within_5_ms() -> Search {
    let limit = Limit::parse("p99 <= 5 ms").expect("a limit");
    Search {
        key: "depth".into(),
        range: SearchRange::usual(Over::Depth),
        aim: Aim::Most { metric: Metric::Iops, limits: vec![limit] },
        repeats: 3,
        within: Percent(0.0),
        steps: 40,
    }
}

fn knee(over: Over) -> Search {
    let (aim, within) = (Aim::Knee, Search::WITHIN_KNEE);
    Search { key: over.to_string(), range: SearchRange::usual(over), aim, within, ..within_5_ms() }
}

/// A step of a system that did so much work, with this 99th percentile.
fn seen(search: &Search, load: f64, iops: f64, p99_ns: f64) -> Seen {
    let readings: Vec<Option<f64>> = search.limits().iter().map(|_| Some(p99_ns)).collect();
    Seen {
        load,
        work: iops,
        latency_ns: Some(if iops > 0.0 { load / iops * 1e9 } else { 1e6 }),
        ops: (iops * 10.0) as u64,
        held: search.limits().iter().all(|limit| limit.holds(p99_ns)),
        readings,
        carried: 1.0,
        is_carried: true,
        complete: true,
    }
}

/// Lets a search run on a system, which is told the load and the number of the step.
#[track_caller]
fn hunt(search: &Search, mut system: impl FnMut(f64, usize) -> Seen) -> (SearchAnswer, Vec<f64>) {
    let mut all: Vec<Seen> = Vec::new();
    loop {
        assert!(all.len() <= search.steps as usize, "more steps than it may take");
        match search.next(&all) {
            SearchNext::Run { load, repetition, .. } => {
                let SearchRange { from, to, .. } = search.range;
                assert!((from..=to).contains(&load), "{load} is out of {from} to {to}");
                let before = all.iter().filter(|one| one.load == load).count();
                assert_eq!(before, repetition as usize, "the number of the run");
                assert!(before < search.repeats as usize, "{load} is run too often");
                all.push(system(load, all.len()));
            }
            SearchNext::Stop(found) => {
                assert_eq!(search.so_far(&all), *found);
                assert!(!search.answer(&found).is_empty() && !search.reason(&found).is_empty());
                return (*found, all.iter().map(|one| one.load).collect());
            }
        }
    }
}

/// A cliff: the limit holds up to a depth, and not beyond.
fn cliff(search: &Search, last: f64) -> impl FnMut(f64, usize) -> Seen {
    move |load, _| seen(search, load, load.min(last) * 1000.0, if load <= last { 1e6 } else { 9e6 })
}

fn ends(found: &SearchAnswer) -> (Option<f64>, Option<f64>) {
    let load = |one: &Option<scenario::search::Tried>| one.as_ref().map(|one| one.load);
    (load(&found.lower), load(&found.upper))
}

#[test]
fn a_cliff_is_found_between_two_neighbours_wherever_it_is() {
    let search = within_5_ms();
    for last in 1..256 {
        let (found, loads) = hunt(&search, cliff(&search, f64::from(last)));
        assert_eq!(found.end, Some(SearchStop::Bracketed), "{last}");
        assert_eq!(ends(&found), (Some(f64::from(last)), Some(f64::from(last + 1))));
        let edges = [&found.lower, &found.upper].map(|one| one.as_ref().map(|one| one.runs()));
        assert_eq!(edges, [Some(2), Some(2)], "two runs that agree settle a majority of three");
        // 9 doublings, 8 halvings of a factor of two, two more runs.
        assert!(loads.len() <= 9 + 8 + 2, "{last}: {loads:?}");
    }
}

#[test]
fn the_tolerance_ends_the_search_early() {
    let search = Search { within: Percent(5.0), ..within_5_ms() };
    for last in [3.0, 77.0, 200.0, 255.0] {
        let (found, loads) = hunt(&search, cliff(&search, last));
        let (Some(low), Some(high)) = ends(&found) else { panic!("{found:?}") };
        assert!(low <= last && last < high, "{last}: {low} to {high}");
        assert!(high - low <= 1.0 || high <= low * 1.05, "{low} to {high}");
        assert!(loads.len() <= 17, "{loads:?}");
    }
}

#[test]
fn the_way_of_a_search() {
    let search = within_5_ms();
    let (found, loads) = hunt(&search, cliff(&search, 11.0));
    assert_eq!(loads, [1.0, 2.0, 4.0, 8.0, 16.0, 11.0, 13.0, 12.0, 12.0, 11.0]);
    assert_eq!(
        search.answer(&found),
        "Most IOPS while p99 ≤ 5 ms, over depth: 11,000 IOPS at depth 11 (p99 1 ms in 2 runs); not at depth 12 (p99 9 ms \
         in 2 runs)"
    );
    assert_eq!(
        search.reason(&found),
        "it holds at 11 and not at 12, and no load lies between them"
    );
    assert!(found.is_bracketed() && found.irregular.is_empty());
}

#[test]
fn no_answer_is_an_answer() {
    let search = within_5_ms();
    let (found, loads) = hunt(&search, cliff(&search, 1000.0));
    assert_eq!((found.end, ends(&found)), (Some(SearchStop::NeverViolated), (Some(256.0), None)));
    assert!(
        search.answer(&found).ends_with("; never violated up to 256"),
        "{}",
        search.answer(&found)
    );
    assert_eq!(loads.len(), 10, "nine doublings and one repeat: {loads:?}");

    let (found, loads) = hunt(&search, cliff(&search, 0.0));
    assert_eq!((found.end, ends(&found)), (Some(SearchStop::NeverHeld), (None, Some(1.0))));
    assert_eq!(loads, [1.0, 1.0]);
    assert!(
        search.answer(&found).contains(": none; already at depth 1"),
        "{}",
        search.answer(&found)
    );

    let dead = |load, _| Seen {
        ops: 0,
        held: false,
        readings: vec![None],
        ..seen(&search, load, 0.0, 0.0)
    };
    let (found, _) = hunt(&search, dead);
    assert!(
        search.answer(&found).contains("no p99, nothing completed"),
        "{}",
        search.answer(&found)
    );

    let short = Search { steps: 3, ..within_5_ms() };
    let (found, loads) = hunt(&short, cliff(&short, 100.0));
    assert_eq!((found.end, loads.len()), (Some(SearchStop::StepsSpent), 3));
    assert!(short.answer(&found).ends_with("not yet violated"), "{}", short.answer(&found));

    let lost = |load, n| Seen { complete: n < 4, ..seen(&search, load, load, 1e6) };
    let (found, loads) = hunt(&search, lost);
    assert_eq!((found.end, loads.len()), (Some(SearchStop::Incomplete), 5));
}

#[test]
fn what_is_not_carried_does_not_hold() {
    let search = within_5_ms();
    // A queue that carries one operation at a time.
    let clamped = |load: f64, _| {
        let ok = load <= 1.0;
        Seen { carried: 1.0 / load, is_carried: ok, held: ok, ..seen(&search, load, 500.0, 1e6) }
    };
    let (found, _) = hunt(&search, clamped);
    assert_eq!(ends(&found), (Some(1.0), Some(2.0)));
    assert!(
        search.answer(&found).contains("50% of the load was carried"),
        "{}",
        search.answer(&found)
    );
}

#[test]
fn a_single_outlier_does_not_decide() {
    let search = within_5_ms();
    // A hiccup in any one step: the others settle it.
    for hiccup in 0..18 {
        let mut system = cliff(&search, 100.0);
        let (found, loads) = hunt(&search, |load, n| match n == hiccup {
            true => seen(&search, load, 1000.0, 50e6),
            false => system(load, n),
        });
        assert_eq!(
            ends(&found),
            (Some(100.0), Some(101.0)),
            "a hiccup in step {hiccup}: {loads:?}"
        );
    }
}

#[test]
fn a_response_that_is_not_monotone_is_said() {
    let search = within_5_ms();
    // A dip from 20 to 40: what is found is its lower edge, and that 64 held is told where it was seen.
    let (found, _) = hunt(&search, |load, _| {
        let bad = (20.0..40.0).contains(&load) || load > 100.0;
        seen(&search, load, load, if bad { 9e6 } else { 1e6 })
    });
    let (Some(low), Some(high)) = ends(&found) else { panic!("{found:?}") };
    assert!((low, high) == (19.0, 20.0) || (low, high) == (100.0, 101.0), "{low} to {high}");
    if low == 100.0 {
        return; // The doublings stepped over the dip.
    }
    assert_eq!(found.irregular.is_empty(), !found.tried.iter().any(|t| t.load > high && t.holds()));
}

#[test]
fn loads_that_held_above_the_bracket_are_listed() {
    let search = within_5_ms();
    let step = |load: f64, held: bool| seen(&search, load, load, if held { 1e6 } else { 9e6 });
    let all =
        [step(1.0, true), step(2.0, false), step(4.0, true), step(2.0, false), step(1.0, true)];
    let SearchNext::Stop(found) = search.next(&all) else { panic!("it goes on") };
    assert_eq!((ends(&found), &found.irregular[..]), ((Some(1.0), Some(2.0)), &[4.0][..]));
    let text = search.answer(&found);
    assert!(text.ends_with("it held again at 4: the response is not monotone"), "{text}");
}

#[test]
fn more_work_below_the_edge_is_the_answer() {
    let search = within_5_ms();
    // Past depth 16 a controller thrashes, long before the limit is reached.
    let (found, _) = hunt(&search, |load, _| {
        let iops = if load <= 16.0 { load * 100.0 } else { 1600.0 - load };
        seen(&search, load, iops, if load <= 60.0 { 1e6 } else { 9e6 })
    });
    assert_eq!(found.best.as_ref().map(|one| one.load), Some(16.0));
    assert_eq!(ends(&found), (Some(60.0), Some(61.0)));
    assert!(search.answer(&found).contains("1,600 IOPS at depth 16"), "{}", search.answer(&found));
    assert!(
        search.answer(&found).contains("the limit holds up to 60"),
        "{}",
        search.answer(&found)
    );
}

/// A closed loop on a station that takes `1/most` seconds for an operation, with think-free delay beside it.
fn queue(search: &Search, most: f64, corner: f64, noise: f64) -> impl FnMut(f64, usize) -> Seen {
    move |load, n| {
        let wobble = 1.0 + noise * ((n as f64 * 12.9898).sin() * 43758.5453).fract();
        // A smooth minimum of the two asymptotes of a closed queue.
        let iops = most * (load / corner) / (1.0 + (load / corner).powi(4)).powf(0.25);
        seen(search, load, iops * wobble, 1e6)
    }
}

#[test]
fn the_knee_of_a_queue_is_near_its_corner() {
    let search = knee(Over::Depth);
    for corner in [4.0, 7.0, 16.0, 23.0, 50.0] {
        for noise in [0.0, 0.005] {
            let (found, loads) = hunt(&search, queue(&search, 50_000.0, corner, noise));
            assert_eq!(found.end, Some(SearchStop::Knee), "{corner}: {loads:?} {:?}", found.knee);
            let Some(Answer::At { .. }) = &found.knee else { panic!("{:?}", found.knee) };
            let (Some(low), Some(high)) = ends(&found) else { panic!("{found:?}") };
            // The score x^(3/4) / (1 + x^4)^(1/4) is largest where x^4 = 3.
            let truth = corner * 3_f64.powf(0.25);
            assert!(
                low * 0.85 <= truth && truth <= high * 1.15,
                "{truth} in {low} to {high}: {loads:?}"
            );
            assert!(loads.len() <= 30, "{} steps: {loads:?}", loads.len());
        }
    }
}

#[test]
fn without_a_knee_it_says_why() {
    let search = knee(Over::Depth);
    let (found, loads) = hunt(&search, |load, _| seen(&search, load, load * 100.0, 1e6));
    assert_eq!(found.end, Some(SearchStop::NoKnee));
    assert!(matches!(found.knee, Some(Answer::StillScaling { .. })), "{:?}", found.knee);
    assert_eq!(loads.len(), 9);
    assert!(search.answer(&found).contains("none up to 256"), "{}", search.answer(&found));

    let (found, loads) = hunt(&search, |load, _| seen(&search, load, 1000.0, 1e6));
    assert!(matches!(found.knee, Some(Answer::Flat { .. })), "{:?}", found.knee);
    assert!(loads.len() <= 9, "{loads:?}");
    assert!(
        search.answer(&found).contains("the first load, 1, already reached the peak"),
        "{}",
        search.answer(&found)
    );

    let (found, _) = hunt(&search, |load, _| seen(&search, load, 0.0, 1e6));
    assert!(matches!(found.knee, Some(Answer::Undecided { .. })), "{:?}", found.knee);
}

#[test]
fn blocks_double_and_rates_have_three_digits() {
    let search =
        Search { range: SearchRange::usual(Over::Block), key: "block".into(), ..within_5_ms() };
    let (found, _) = hunt(&search, cliff(&search, 50_000.0));
    assert_eq!(ends(&found), (Some(32768.0), Some(65536.0)));

    let range = SearchRange::usual(Over::Rate);
    let search = Search { range, key: "rate".into(), within: Percent(5.0), ..within_5_ms() };
    let (found, loads) = hunt(&search, cliff(&search, 12_345.0));
    let (Some(low), Some(high)) = ends(&found) else { panic!("{found:?}") };
    assert!(low <= 12_345.0 && 12_345.0 < high && high <= low * 1.05, "{low} to {high}");
    assert!(loads.len() <= 14, "{loads:?}");
    for load in loads {
        let shown = search.setting(load).to_string();
        assert!(shown.trim_end_matches(" IOPS").trim_end_matches('0').len() <= 3, "{shown}");
    }
}

#[test]
fn limits_in_words() {
    for (text, shown) in [
        ("p99 <= 5 ms", "p99 ≤ 5 ms"),
        ("service p99.9<=800us", "service p99.9 ≤ 800 us"),
        ("response mean <= 1s", "mean ≤ 1 s"),
        ("max <= 20ms", "max ≤ 20 ms"),
        ("errors <= 0", "errors ≤ 0"),
        ("iops >= 20000", "IOPS ≥ 20,000 IOPS"),
        ("total >= 100 MB/s", "total ≥ 100 MB/s"),
    ] {
        assert_eq!(
            Limit::parse(text).map(|limit| limit.to_string()),
            Ok(shown.to_owned()),
            "{text}"
        );
    }
    let limit = Limit::parse("read >= 1 MB/s").expect("a limit");
    assert_eq!((limit.bound, limit.base()), (Bound::AtLeast, 1e6));
    assert!(limit.holds(1e6) && !limit.holds(999_999.0) && !limit.holds(f64::NAN));
    for wrong in [
        "",
        "p99",
        "p99 < 5 ms",
        "p99 <= 5",
        "p100 <= 5 ms",
        "p99 <= 0 s",
        "errors <= -1",
        "speed >= 1",
        "iops >= many",
        "read <= 5 ms",
        "errors >= 1",
        "<= 5 ms",
        "p99 <=",
        "\u{1b}[0m <= 1",
    ] {
        assert!(Limit::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_plan_with_a_search_is_one_stage_for_each_combination_of_its_sweep() {
    let text = "[scenario]\ntitle = \"t\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
                [workload.w]\nblock = \"8KiB\"\n[[plan]]\nname = \"find\"\nworkload = \"w\"\non = \"n\"\n\
                measure = \"2s\"\nsweep = { block = [\"4KiB\", \"64KiB\"] }\n\
                search = { over = \"workers\", to = 8, steps = 9 }\n\
                [[plan]]\nname = \"after\"\nworkload = \"w\"\non = \"n\"\nmeasure = \"2s\"\n";
    let scenario = good(text);
    let stages = scenario.stages();
    let (Stage::Search(hunt), Stage::Search(_), Stage::Step(after)) =
        (&stages[0], &stages[1], &stages[2])
    else {
        panic!("{stages:?}")
    };
    assert_eq!((after.index, scenario.steps().len()), (0, 1), "only what is known beforehand");
    assert_eq!((stages[0].steps_max(), stages[0].duration_max().as_secs()), (9, 36));
    let step = hunt.step(7, 4.0, 1, false);
    assert_eq!((step.index, step.name().as_str()), (7, "find block=4KiB workers=4 #2"));
    let workers = |step: &scenario::Step| step.loads[0].workload.disk().map(|w| w.workers);
    assert_eq!(workers(&step), Some(4));
    assert_eq!(hunt.load_of(&step.plan, &step.settings), Some(4.0));
    assert_eq!(hunt.load_of("after", &step.settings), None);
    let examples: Vec<_> = stages[0].examples().iter().map(workers).collect();
    assert_eq!(examples, [Some(1), Some(8)]);
}

#[test]
fn a_search_over_members_ends_with_those_that_there_are() {
    #[track_caller]
    fn check(search: &str, expected: (f64, f64)) {
        let text = format!(
            "[scenario]\ntitle = \"t\"\n[[target]]\nname = \"n{{1..6}}\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
             [workload.w]\nblock = \"8KiB\"\n[plan]\nworkload = \"w\"\non = \"n*\"\nmeasure = \"1s\"\nsearch = {search}\n"
        );
        let stages = good(&text).stages();
        let [Stage::Search(hunt)] = stages.as_slice() else { panic!("{stages:?}") };
        let range = hunt.search.range;
        assert_eq!((range.from, range.to), expected, "{search}");
        let step = hunt.step(0, 2.0, 0, true);
        assert_eq!(step.loads[0].on, ["n1", "n2"]);
        assert_eq!(hunt.load_of(&step.plan, &step.settings), Some(2.0));
        let all: Vec<usize> = stages[0].examples().iter().map(|s| s.loads[0].on.len()).collect();
        assert_eq!(all, [range.from as usize, range.to as usize]);
    }
    check("{ most = \"iops\", while = \"p99 <= 5 ms\", over = \"members\" }", (1.0, 6.0));
    check("{ over = \"members\", from = 2, to = 4 }", (2.0, 4.0));
    check("{ over = \"w.members\", to = 5 }", (1.0, 5.0));
}

proptest! {
    /// Whatever the steps show, the rule ends, and says something.
    #[test]
    fn it_always_ends(
        seed in prop::collection::vec((any::<bool>(), 0.0..1e6, 1.0..1e9), 40),
        knee in any::<bool>(),
        over in prop::sample::select(vec![Over::Depth, Over::Workers, Over::Members, Over::Rate, Over::Block]),
        repeats in 1_u32..6,
        within in 0.0..100.0,
    ) {
        let base = if knee { self::knee(over) } else { within_5_ms() };
        let range = SearchRange::usual(over);
        let search = Search { range, repeats, within: Percent(within), ..base };
        hunt(&search, |load, n| {
            let (held, work, ns) = seed[n % seed.len()];
            Seen { held, latency_ns: Some(ns), ..seen(&search, load, work, 1e6) }
        });
    }

    /// Readings that scatter by a tenth around a latency that rises with the load: the bracket is not far from the truth,
    /// and steps are few where noise cannot decide.
    #[test]
    fn noise_moves_the_edge_by_no_more_than_its_size(
        noise in prop::collection::vec(0.9..1.1, 40),
        truth in 4.0..200.0,
    ) {
        let search = Search { within: Percent(5.0), ..within_5_ms() };
        let (found, loads) = hunt(&search, |load, n| {
            seen(&search, load, load, 5e6 * load / truth * noise[n % noise.len()])
        });
        prop_assert_eq!(found.end, Some(SearchStop::Bracketed));
        let (Some(low), Some(high)) = ends(&found) else { panic!("{found:?}") };
        prop_assert!(low <= truth * 1.13 && truth / 1.13 <= high, "{} in {} to {}", truth, low, high);
        // Doubling and bisecting pass over loads that noise cannot turn; those in doubt are run as often as is allowed.
        let in_doubt = |load: f64| (0.9..=1.1).contains(&(truth / load));
        let sure = loads.iter().filter(|&&load| !in_doubt(load)).count();
        prop_assert!(sure <= 18, "{:?}", loads);
        prop_assert!(loads.len() <= 36, "{:?}", loads);
    }

    /// Steps that the rule did not choose, as a made-up record may hold them.
    #[test]
    fn foreign_steps_are_answered(
        steps in prop::collection::vec((any::<f64>(), any::<f64>(), any::<f64>(), any::<bool>(), any::<u64>()), 0..20),
        knee in any::<bool>(),
    ) {
        let search = if knee { self::knee(Over::Rate) } else { within_5_ms() };
        let all: Vec<Seen> = steps.into_iter().map(|(load, work, ns, held, ops)| Seen {
            load,
            work,
            latency_ns: Some(ns),
            ops,
            readings: vec![Some(ns)],
            carried: ns,
            is_carried: held,
            held,
            complete: true,
        }).collect();
        let found = search.so_far(&all);
        let _ = (search.next(&all), search.answer(&found), search.reason(&found), search.progress(&found));
    }
}
