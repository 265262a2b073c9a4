//! How many of an application the steps carry, on records in which the answer is known.

use crate::support::{Sketch, Work, valid};
use findings::{Analysis, Carried, CarryLimit, Projection, analyse_for};
use scenario::{Project, Step};

/// A sweep over the depth of one access specification, with what is asked of it.
fn scenario(access: &str, depths: &str, projects: &str) -> String {
    format!(
        r#"
[scenario]
title = "What will it carry?"
[[target]]
name = "t"
file = "t.bin"
create = "1GiB"
[workload.load]
{access}
[plan]
workload = "load"
on = "t"
measure = "2s"
sweep = {{ depth = {depths} }}
{projects}"#
    )
}

const MAIL: &str = "block = \"4KiB\"\nread = 67\nrandom = 100";
const HEAVY: &str = "[[project]]\nprofile = \"exchange-2003-heavy\"\n";

fn depth(step: &Step) -> u64 {
    step.settings.iter().find(|(k, _)| k == "depth").map_or(1, |(_, v)| v.parse().unwrap())
}

/// Operations a second at depths 1, 2, 4 and 8; Little's law makes the latency.
fn mail(at: [u64; 4]) -> impl Fn(&Step, &str) -> Work {
    move |step, _| closed(step, at[depth(step).ilog2() as usize])
}

/// A closed loop that does so many operations a second.
fn closed(step: &Step, ops: u64) -> Work {
    let service_ns = depth(step) as f64 / ops.max(1) as f64 * 1e9;
    Work { ops, block: 4096, read: 67, service_ns, ..Work::default() }
}

#[track_caller]
fn only(analysis: &Analysis) -> &Projection {
    assert_eq!(analysis.projections.len(), 1);
    &analysis.projections[0]
}

/// What is carried, as `least–most limit`, or why it is not known.
fn told(projection: &Projection) -> String {
    match &projection.answer {
        Carried::Known { least, most, limit, step, .. } => {
            let most = most.map_or("…".to_owned(), |m| m.to_string());
            let limit = match limit {
                CarryLimit::Latency { step } => format!("latency at {}", step.label),
                CarryLimit::Work { step } => format!("work at {}", step.label),
                CarryLimit::Generator => "generator".to_owned(),
                CarryLimit::Steps => "steps".to_owned(),
            };
            format!("{least}–{most} at {}, {limit}", step.label)
        }
        Carried::Undecided { reason, next } => format!("? {reason} → {next}"),
    }
}

#[track_caller]
fn check(limit: &str, at: [u64; 4], expected: &str) {
    let text = scenario(MAIL, "[1, 2, 4, 8]", &format!("{HEAVY}limit = \"{limit}\"\n"));
    let analysis = Sketch::of(&text).analyse(mail(at));
    assert_eq!(told(only(&analysis)), expected);
}

#[test]
fn the_last_step_within_the_limit_carries_and_the_next_bounds() {
    // Latencies of 1, 1, 1.3 and 2.2 ms.
    check("2ms", [1000, 2000, 3000, 3600], "2000–2400 at depth 4, latency at depth 8");
    // More load and less work beyond the limit: the bound is what was done.
    check("2ms", [1000, 2000, 3000, 2500], "2000–2000 at depth 4, latency at depth 8");
    // A step that is lucky behind one that was too slow does not count.
    check("2ms", [1000, 2000, 1500, 5000], "1300–1300 at depth 2, latency at depth 4");
}

#[test]
fn a_sweep_that_ends_within_the_limit_gives_a_lower_bound() {
    check("20ms", [1000, 2000, 3000, 3600], "2400–… at depth 8, steps");
}

#[test]
fn work_that_stops_growing_within_the_limit_is_the_end() {
    check("20ms", [1000, 3000, 2900, 2950], "2000–2000 at depth 2, work at depth 4");
}

#[test]
fn figures_are_rounded_down() {
    check("2ms", [1000, 2000, 2800, 2800], "1800–1800 at depth 4, latency at depth 8");
}

#[test]
fn too_slow_from_the_start_asks_for_less_load() {
    check(
        "500us",
        [1000, 2000, 3000, 3600],
        "? depth 1, the step with the least load that is like it, is already at 1.10 ms, beyond 500 us → add steps \
         with less load: a smaller depth, fewer workers, or a lower rate",
    );
}

#[test]
fn a_limited_generator_may_hide_more() {
    let text = scenario(MAIL, "[1, 2]", HEAVY);
    let work = mail([1000, 2000, 0, 0]);
    let limited = |step: &Step, group: &str| Work { own: 0.9, ..work(step, group) };
    let analysis = Sketch::of(&text).analyse(limited);
    assert_eq!(told(only(&analysis)), "1300–… at depth 2, generator");
}

#[test]
fn a_null_target_is_no_storage() {
    let text = scenario(MAIL, "[1, 2]", HEAVY)
        .replace("file = \"t.bin\"\ncreate = \"1GiB\"", "url = \"null:\"\nsize = \"1GiB\"");
    let analysis = Sketch::of(&text).analyse(mail([1000, 2000, 0, 0]));
    let told = told(only(&analysis));
    assert!(told.starts_with("? the target of depth 2 completes at once"), "{told}");
}

#[test]
fn steps_that_say_nothing_are_not_used() {
    let text = scenario(MAIL, "[1, 2]", HEAVY);
    let second = |other: Work| {
        let analysis = Sketch::of(&text)
            .analyse(|s, _| if depth(s) == 2 { other.clone() } else { closed(s, 1000) });
        told(only(&analysis))
    };
    let like = Work { ops: 2000, block: 4096, read: 67, ..Work::default() };
    for other in [
        Work { ops: 0, ..like.clone() },
        Work { seconds: 1, ..like.clone() },
        Work { errors: 1, ..like.clone() },
        // It contradicts Little's law: its figures are unusable.
        Work { in_flight: Some(1.2), ..like.clone() },
    ] {
        assert_eq!(second(other), "660–… at depth 1, steps");
    }
    let none = Sketch::of(&text).analyse(|_, _| Work { ops: 0, ..Work::default() });
    let told = told(only(&none));
    assert!(told.starts_with("? no step completed operations without errors"), "{told}");
}

#[test]
fn a_step_of_another_kind_says_nothing_and_tells_which_would() {
    let access = "block = \"256KiB\"\nread = 100";
    let text = scenario(access, "[1, 2]", HEAVY);
    let analysis = Sketch::of(&text).analyse(|_, _| Work { block: 262_144, ..Work::default() });
    assert_eq!(
        told(only(&analysis)),
        "? no step is like it; the nearest, depth 1, did 256 KiB an operation, 100% read, 0% random → add steps with \
         block = \"4KiB\", read = 67, random = 100, and several depths"
    );
}

/// Equal operations and equal bytes a second bound what another block size would do.
#[test]
fn another_block_size_is_a_range_and_is_said() {
    let access = "block = \"8KiB\"\nread = 100\nrandom = 100";
    let text = scenario(access, "[1, 2]", &format!("{HEAVY}limit = \"1500us\"\n"));
    let ops = |step: &Step| if depth(step) == 1 { 1000 } else { 1200 };
    let analysis = Sketch::of(&text).analyse(|step, _| Work {
        block: 8192,
        read: 100,
        ..closed(step, ops(step))
    });
    let projection = only(&analysis);
    // 1,000 IOPS and 2,000 times 4 KiB a second; beyond the limit 1,200 and 2,400.
    assert_eq!(told(projection), "660–1600 at depth 1, latency at depth 2");
    let Carried::Known { extrapolated: Some(by), .. } = &projection.answer else { panic!() };
    assert_eq!((by.block_ratio, by.read_points, by.random_points), (2.0, 33.0, 0.0));
}

#[test]
fn of_two_kinds_of_steps_the_nearer_answers() {
    let access = "block = \"4KiB\"\nread = 67\nrandom = 100";
    let text = scenario(access, "[1, 2]", HEAVY)
        .replace("sweep = { depth", "sweep = { block = [\"4KiB\", \"8KiB\"], depth");
    let work = |step: &Step, _: &str| {
        let block = if step.settings.iter().any(|(_, v)| v == "4KiB") { 4096 } else { 8192 };
        Work { block, ..closed(step, 1000 * block / 4096) }
    };
    let analysis = Sketch::of(&text).analyse(work);
    let expected = "660–660 at block 4KiB, depth 1, work at block 4KiB, depth 2";
    assert_eq!(told(only(&analysis)), expected);
}

#[test]
fn a_window_is_filled_with_bytes() {
    let access = "block = \"256KiB\"\nread = 100";
    let backup = |keys: &str| {
        let project = format!("[[project]]\nprofile = \"backup\"\n{keys}");
        let text = scenario(access, "[1]", &project);
        // 262.144 MB/s
        let analysis = Sketch::of(&text).analyse(|_, _| Work { block: 262_144, ..Work::default() });
        let projection = only(&analysis).clone();
        (told(&projection), projection.wanted, projection.enough)
    };
    // × 8 h = 7.55 TB
    assert_eq!(backup(""), ("7.5–… at depth 1, steps".into(), None, None));
    assert_eq!(backup("window = \"4h\""), ("3.7–… at depth 1, steps".into(), None, None));
    assert_eq!(backup("size = \"5TB\"").2, Some(true));
    // The effect of more load is not known.
    assert_eq!(backup("size = \"100TB\"").2, None);
}

#[test]
fn what_is_needed_is_judged() {
    let ends = [1000, 2000, 3000, 3600];
    for (count, enough) in
        [(1500, Some(true)), (2000, Some(true)), (2200, None), (2500, Some(false))]
    {
        let text =
            scenario(MAIL, "[1, 2, 4, 8]", &format!("{HEAVY}limit = \"2ms\"\ncount = {count}\n"));
        let analysis = Sketch::of(&text).analyse(mail(ends));
        assert_eq!(only(&analysis).enough, enough, "{count}");
    }
}

#[test]
fn a_scenario_changes_the_figures_of_a_profile() {
    let text = scenario(
        MAIL,
        "[1, 2, 4, 8]",
        &format!("{HEAVY}iops_each = \"3 IOPS\"\nlimit = \"1500us\"\npoint = \"p50\"\nread = 60\n"),
    );
    let analysis = Sketch::of(&text).analyse(mail([1000, 2000, 2400, 3600]));
    let projection = only(&analysis);
    assert_eq!(told(projection), "660–800 at depth 2, latency at depth 4");
    assert_eq!((projection.point.as_deref(), projection.limit_ns), (Some("p50"), Some(1_500_000)));
    let changed = projection.figures.iter().filter(|f| f.source == "set in the scenario").count();
    assert_eq!(changed, 4);
}

#[test]
fn open_loops_are_judged_by_response_time() {
    let text = scenario(&format!("{MAIL}\nrate = \"900 IOPS\""), "[1]", HEAVY)
        .replace("sweep = { depth = [1] }", "");
    let work = |response| {
        move |_: &Step, _: &str| Work {
            ops: 900,
            block: 4096,
            read: 67,
            response,
            ..Work::default()
        }
    };
    assert_eq!(told(only(&Sketch::of(&text).analyse(work(2.0)))), "600–… at the step, steps");
    assert!(told(only(&Sketch::of(&text).analyse(work(30.0)))).starts_with("? the step"));
}

#[test]
fn repetitions_are_one_step_with_their_latencies_merged() {
    let project = format!("{HEAVY}limit = \"1500us\"\n");
    let text = scenario(MAIL, "[1]", &project).replace("measure", "repeat = 2\nmeasure");
    // 1,000 of 1 ms and 10 of 100 ms: the mean of all is 2 ms, and of the two means 50 ms.
    let analysis = Sketch::of(&text).analyse(|step, _| Work {
        read: 100,
        ..closed(step, if step.repetition == 0 { 1000 } else { 10 })
    });
    let told = told(only(&analysis));
    assert!(told.contains("is already at 1.9"), "{told}");
}

#[test]
fn a_record_can_be_projected_that_does_not_ask_for_it() {
    let text = scenario(MAIL, "[1, 2, 4, 8]", "");
    let ends = [1000, 3000, 2900, 2950];
    let (_dir, record) = Sketch::of(&text).record(mail(ends));
    let heavy = scenario::profile::profile("exchange-2003-heavy").expect("it is there");
    let analysis = analyse_for(&record, &[Project::plain(heavy)]).expect("it is analysed");
    valid::check(&serde_json::to_value(&analysis).expect("JSON"));
    assert_eq!(told(only(&analysis)), "2000–2000 at depth 2, work at depth 4");
    let (_dir, broken) = Sketch::of(&text).stored("not TOML [").record(mail(ends));
    let analysis = analyse_for(&broken, &[Project::plain(heavy)]).expect("it is analysed");
    assert!(told(only(&analysis)).starts_with("? the scenario in the record does not say"));
}

/// A published review put about 5,000 mailboxes on 8,200 IOPS of 4 KB, 80% of them reads, at random: 1.0 to 1.6 IOPS
/// each, which is the heavy profile of 2003 and of no later one.
#[test]
fn the_heavy_profile_of_2003_is_the_one_that_a_review_of_2010_used() {
    let projects = "[[project]]\nprofile = \"exchange-2003-heavy\"\n[[project]]\nprofile = \"exchange-2007-heavy\"\n";
    let access = "block = \"4KiB\"\nread = 80\nrandom = 100";
    let text = scenario(access, "[32]", projects);
    let analysis = Sketch::of(&text).analyse(|step, _| Work { read: 80, ..closed(step, 8200) });
    let least: Vec<f64> = analysis
        .projections
        .iter()
        .map(|p| match p.answer {
            Carried::Known { least, .. } => least,
            Carried::Undecided { .. } => 0.0,
        })
        .collect();
    assert!((5000.0..6000.0).contains(&least[0]), "{least:?}");
    assert!(least[1] > 10_000.0, "{least:?}");
}
