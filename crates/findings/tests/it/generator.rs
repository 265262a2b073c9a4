//! Whether the generator is seen when it limits the load, and left alone when it does not.

use crate::support::{self, Sketch, Work};
use findings::generator::Limit;

#[track_caller]
fn check(workload: &str, url: &str, work: Work, limit: Limit, reason: &str) {
    let scenario = format!(
        r#"
scenario.title = "One target"
vm = [{{ name = "vm", disks = [{{ target = "data" }}] }}]
[[target]]
name = "data"
{url}
[workload.load]
block = "8KiB"
{workload}
[plan]
workload = "load"
on = "vm"
measure = "2s"
"#
    );
    let analysis = Sketch::of(&scenario).analyse(|_, _| work.clone());
    let generator = &analysis.steps[0].generator;
    let reasons = generator.reasons.join("; ");
    assert_eq!(generator.limit, limit, "{reasons}");
    assert!(reasons.contains(reason), "{reasons}");
    if limit == Limit::NotLimited {
        assert_eq!(reasons, "");
    }
}

const FILE: &str = "file = \"data.bin\"\ncreate = \"1GiB\"";
const NULL: &str = "url = \"null:\"\nsize = \"1GiB\"";

/// One operation in flight at depth 1.
fn quiet() -> Work {
    Work::default()
}

#[test]
fn own_time_and_cpu_time() {
    let on = |work, limit, reason| check("depth = 1", FILE, work, limit, reason);
    on(quiet(), Limit::NotLimited, "");
    on(Work { own: 0.19, cpu_user: 0.49, ..quiet() }, Limit::NotLimited, "");
    on(Work { own: 0.20, ..quiet() }, Limit::Suspect, "overhead 20% of its time");
    on(Work { own: 0.50, ..quiet() }, Limit::Limited, "overhead 50% of its time");
    on(Work { cpu_user: 0.5, ..quiet() }, Limit::Suspect, "50% of their time in user mode");
    on(Work { cpu_user: 0.8, ..quiet() }, Limit::Limited, "80% of their time in user mode");
    on(Work { cpu_system: 0.9, ..quiet() }, Limit::Suspect, "95% busy");
}

/// How busy one worker and its machine's two processors are found, in the first step.
fn found_busy(polled: f64) -> (Limit, f64) {
    // A sketch multiplies every figure by the two seconds of the step, also a setting: two processors.
    let counters = [("cpu-busy", 1.2e9), ("cpu-polled", polled), ("cpu-count", 1.0)];
    let text = support::one_target("2s", "depth = 1");
    let work = Work { cpu_system: 0.94, ..quiet() };
    let analysis = Sketch::of(&text).hop("host.cpu", &counters).analyse(|_, _| work.clone());
    let step = &analysis.steps[0];
    let hops = &step.attribution.as_ref().expect("an attribution").hops;
    let host = hops.iter().find(|hop| hop.hop == "host.cpu").expect("a hop");
    (step.generator.limit, host.utilization.expect("a share"))
}

#[test]
fn looking_for_answers_is_no_work() {
    let (limit, share) = found_busy(0.0);
    assert_eq!((limit, (share * 100.0).round()), (Limit::Suspect, 60.0));
    let (limit, share) = found_busy(0.7e9);
    assert_eq!((limit, (share * 100.0).round()), (Limit::NotLimited, 25.0));
}

#[test]
fn slots_that_stand_empty() {
    let filled = |mean: f64| Work { in_flight: Some(mean), service_ns: mean * 1e6, ..quiet() };
    check("depth = 10", FILE, filled(9.5), Limit::NotLimited, "");
    check("depth = 10", FILE, filled(8.0), Limit::Suspect, "80% of the depth was in flight");
    check("depth = 10", FILE, filled(4.0), Limit::Limited, "40% of the depth was in flight");
    // Slots that think, or an open loop, may well be empty.
    check("depth = 10\nthink = \"1ms\"", FILE, filled(4.0), Limit::NotLimited, "");
    check("rate = \"1000 IOPS\"", FILE, filled(4.0), Limit::NotLimited, "");
}

#[test]
fn late_starts_and_overruns() {
    let open = |work, limit, reason| check("rate = \"1000 IOPS\"", FILE, work, limit, reason);
    open(Work { late: 5, ..quiet() }, Limit::NotLimited, "");
    open(
        Work { late: 100, ..quiet() },
        Limit::Suspect,
        "200 operations started late, by up to 3 ms",
    );
    open(Work { late: 100, cpu_system: 0.9, ..quiet() }, Limit::Limited, "started late");
    open(Work { overruns: 1, ..quiet() }, Limit::Suspect, "2 cuts found no free buffer");
}

#[test]
fn a_null_target_shows_the_generators_own_cost() {
    check("depth = 1", NULL, Work { own: 0.9, ..quiet() }, Limit::OwnCost, "90%");
    check("depth = 1", NULL, quiet(), Limit::OwnCost, "");
}

#[test]
fn a_simulated_run_has_no_testimony() {
    check("depth = 1", FILE, Work { testifies: false, ..quiet() }, Limit::NoTestimony, "");
}
