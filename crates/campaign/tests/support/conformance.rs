//! What every implementation of `campaign::Stepper` must do with the same figures: the scenario, what its lab shows, and the
//! steps and events that the record holds then. Shared by the tests of all implementations.

#![allow(dead_code)] // Each test binary uses its own part.

use record::{Event, StepHead};
use scenario::{Scenario, Source, Step};

/// A sweep, a search for the depth up to which the mean is at most 5 ms, and a step after it.
pub fn scenario() -> Scenario {
    let plan = |name: &str, rest: &str| {
        format!(
            "[[plan]]\nname = \"{name}\"\nworkload = \"w\"\non = \"t0\"\nwarmup = \"0s\"\nmeasure = \"1s\"\n{rest}\n"
        )
    };
    let search = "search = { most = \"iops\", while = \"mean <= 5 ms\", over = \"depth\" }";
    let text = [
        "scenario.title = \"t\"\n[workload.w]\nblock = \"8KiB\"\n[[target]]\nname = \"t0\"\nurl = \"null:\"\n\
         size = \"1GiB\"\n",
        &plan("grid", "sweep = { depth = [2, 5] }\nrepeat = 2"),
        &plan("find", search),
        &plan("after", ""),
    ];
    let source = Source { name: "t.toml".into(), text: text.concat(), ..Source::default() };
    scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The depth of a step of this scenario.
pub fn depth(step: &Step) -> u32 {
    step.settings.last().map_or(1, |(_, value)| value.parse().expect("a depth"))
}

/// The latency that its workers see at this depth, in milliseconds: what the lab is to show.
pub fn latency_ms(depth: u32) -> u64 {
    if depth <= 11 { 1 } else { 9 }
}

/// Holds what a record has of this scenario's run.
#[track_caller]
pub fn check<'a>(
    steps: impl IntoIterator<Item = &'a StepHead>,
    events: impl IntoIterator<Item = &'a Event>,
) {
    let name = |step: &StepHead| {
        let value = step.settings.last().map_or("-", |(_, value)| value);
        format!("{} {} {value}#{}", step.index, step.plan, step.repetition)
    };
    let steps: Vec<String> = steps.into_iter().map(name).collect();
    let expected = [
        "0 grid 2#0",
        "1 grid 5#0",
        "2 grid 2#1",
        "3 grid 5#1",
        "4 find 1#0",
        "5 find 2#0",
        "6 find 4#0",
        "7 find 8#0",
        "8 find 16#0",
        "9 find 11#0",
        "10 find 13#0",
        "11 find 12#0",
        "12 find 12#1",
        "13 find 11#1",
        "14 after -#0",
    ];
    assert_eq!(steps, expected);
    let of_run = events.into_iter().filter(|event| event.step.is_none());
    let told: Vec<(&str, &str)> = of_run
        .map(|event| (event.code.as_str(), event.text.rsplit(": ").next().unwrap_or_default()))
        .collect();
    let reason = "it holds at 11 and not at 12, and no load lies between them";
    assert_eq!(told, [("search-ended", reason)]);
}
