//! A warm-up that lasts until the load is steady, end to end. The loads fall due by a clock, so that it does not depend
//! on the machine what is steady.

use crate::program::support::{Bench, open};
use clock::Ns;
use record::Phase;

/// A scenario of one worker on a target, with `load` as its workload's arrivals.
fn scenario(target: &str, load: &str, within: &str) -> String {
    format!(
        "[scenario]\ntitle = \"steady\"\n[[target]]\nname = \"t\"\n{target}\n\
         [workload.w]\nblock = \"4KiB\"\n{load}\nlimit = 64\n\
         [plan]\nworkload = \"w\"\non = \"t\"\nwarmup = \"1s\"\nmeasure = \"1s\"\n\
         steady = {{ within = \"{within}\" }}\n"
    )
}

const NULL: &str = "url = \"null:\"\nsize = \"1GiB\"";

/// Runs a scenario and checks which event ended its warm-up, that the record's step and intervals agree about the
/// measured time, and what the review says.
#[track_caller]
fn check(scenario: &str, agent: &str, code: &str, says: &str) -> record::StepTimes {
    let bench = Bench::new(scenario);
    let ended = bench.expect(0, &["run", "s.toml", "--quiet", "--agent", agent, "--out", "r.wsr"]);
    assert!(ended.stdout.contains(says), "{}", ended.stdout);
    let record = open(&bench.path("r.wsr"));
    assert!(record.events().iter().any(|e| e.code == code), "{:?}", record.events());
    let times = record.steps()[0].times;
    let intervals = record.intervals(0).expect("intervals");
    assert!(intervals.iter().all(|i| times.phase_at(i.from) == Some(i.phase)), "{times:?}");
    let measured = intervals.iter().filter(|i| i.phase == Phase::Measure);
    let length: u64 = measured.map(|i| i.to.since(i.from).0).sum();
    assert_eq!((length, times.measured()), (Ns::secs(1).0, Ns::secs(1)));
    times
}

/// Such a load is measured from a whole second on, once there have been five rounds.
#[track_caller]
fn check_steady(target: &str, agent: &str) {
    let scenario = scenario(target, "rate = \"200 IOPS\"", "10min");
    let times = check(&scenario, agent, "steady", "Steady after a warm-up of ");
    assert!(times.measure.0.is_multiple_of(Ns::secs(1).0), "{times:?}");
    assert!(times.measure.since(times.start) >= Ns::millis(4500), "five rounds: {times:?}");
}

#[test]
fn null_is_steady_as_soon_as_there_is_a_window() {
    check_steady(NULL, "in-process");
}

#[test]
fn an_agent_in_a_child_process_is_told_when_to_measure() {
    check_steady(NULL, "child");
}

#[test]
fn a_created_file_becomes_steady() {
    check_steady("file = \"t.dat\"\ncreate = \"4MiB\"", "in-process");
}

#[test]
fn a_load_that_never_becomes_steady_is_measured_in_the_end() {
    let ramp = "ramp = { from = \"100 IOPS\", to = \"2000 IOPS\", over = \"8s\" }";
    let says = "Not steady after a warm-up of 6 s";
    let times = check(&scenario(NULL, ramp, "6s"), "in-process", "never-steady", says);
    assert_eq!(times.measure.since(times.start), Ns::secs(6));
}
