//! `--set`: what it reaches, and what its values mean. Mistakes in it are among the cases of `bad.rs`.

use crate::support::{good_with, source};
use scenario::{Origin, Scenario, load};

const FILES: &str = include_str!("../good/files.toml");
const SINGLE: &str = "scenario.title = \"t\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
                      [workload.w]\nblock = \"8KiB\"\n[plan]\nname = \"only\"\nworkload = \"w\"\non = \"n\"\n\
                      measure = \"1s\"\n";

fn set(text: &str, key: &str, value: &str) -> Scenario {
    good_with(text, &[(key, value)])
}

#[test]
fn an_override_reaches_every_part() {
    assert_eq!(set(FILES, "scenario.seed", "7").head.seed, 7);
    assert_eq!(set(FILES, "scenario.title", "Another").head.title, "Another");
    assert_eq!(set(FILES, "scenario.source", "here").head.source.as_deref(), Some("here"));
    assert_eq!(
        set(FILES, "target.null.size", "2GiB").lab.targets[2].size.map(|s| s.0),
        Some(2 << 30)
    );
    assert_eq!(
        set(FILES, "target.\"data{1..2}\".create", "1MiB").lab.targets[1].create.map(|s| s.0),
        Some(1 << 20)
    );
    assert_eq!(set(FILES, "plan.both.repeat", "1").steps().len(), 8);
    assert_eq!(set(FILES, "plan.daemons.measure", "250ms").plans[0].measure.as_millis(), 250);
    assert_eq!(set(FILES, "plan.daemons.sweep.depth", "[8]").steps().len(), 9);
    assert_eq!(set(FILES, "workload.load.workers", "3").workloads[0].workers, 3);
    assert_eq!(set(FILES, "workload.new.block", "4KiB").workloads.len(), 3);
    assert_eq!(set(FILES, "workload.load.transaction.page", "16KiB").workloads.len(), 2);
}

#[test]
fn a_single_plan_is_reached_with_and_without_its_name() {
    assert_eq!(set(SINGLE, "plan.measure", "3s").plans[0].measure.as_secs(), 3);
    assert_eq!(set(SINGLE, "plan.only.measure", "3s").plans[0].measure.as_secs(), 3);
    assert_eq!(set(SINGLE, "plan.sweep", "{ depth = [1, 2] }").steps().len(), 2);
    assert_eq!(set(SINGLE, "target.url", "null:x").lab.targets[0].url, "null:x");
}

#[test]
fn a_value_is_toml_or_else_text() {
    let title = |value: &str| set(FILES, "scenario.title", value).head.title;
    assert_eq!(title("\"quoted\""), "quoted");
    assert_eq!(title("2s"), "2s");
    assert_eq!(title("a = b"), "a = b");
    assert_eq!(set(FILES, "workload.stream.read", "67%").workloads.len(), 2);
    assert_eq!(set(FILES, "workload.stream.read", "67").workloads.len(), 2);
}

#[test]
fn the_last_override_wins() {
    let twice = [("scenario.seed", "2"), ("scenario.seed", "3")];
    assert_eq!(good_with(FILES, &twice).head.seed, 3);
}

#[test]
fn an_override_mends_a_mistake_of_the_file() {
    let text = SINGLE.replace("\"1s\"", "1");
    assert!(load(&source(&text, &[])).is_err());
    assert_eq!(set(&text, "plan.measure", "1s").steps().len(), 1);
}

#[test]
fn a_mistake_points_into_its_own_text() {
    let sets = [("scenario.seed", "7"), ("plan.measure", "ten")];
    let mistakes = load(&source(SINGLE, &sets)).expect_err("`ten` is no duration");
    let place = &mistakes.iter().next().expect("a mistake").place;
    assert_eq!(place.origin, Origin::Set(1));
    assert_eq!(mistakes.text(place.origin), "plan.measure=ten");
    assert_eq!(&mistakes.text(place.origin)[place.span.clone()], "ten");
    assert_eq!(mistakes.name(place.origin), "--set");
}
