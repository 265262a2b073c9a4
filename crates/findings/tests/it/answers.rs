//! The answers that come first: plans that differ in one part, the end of a sweep, and what limits a plan over its sweep.

use crate::support::{Sketch, Work};
use findings::attribution::Limiter;
use findings::{Analysis, PlanLimits, Unit};
use scenario::Step;

/// Two VMs through an adapter of 8 Gb/s, two through one of 4 Gb/s, and two of another model that is as fast.
fn lab(plans: &str) -> String {
    format!(
        r#"
scenario.title = "Three adapters"
[[array]]
name = "ssd"
part = "ramsan-400"
[[switch]]
name = "fabric"
part = "sanbox-5802v"
[[host]]
name = "esx"
part = "poweredge-6850"
adapters = [
  {{ name = "new", part = "qle2560" }},
  {{ name = "old", part = "qle2460" }},
  {{ name = "other", part = "brocade-815" }},
]
[[link]]
from = "esx.new"
to = "fabric"
[[link]]
from = "esx.old"
to = "fabric"
[[link]]
from = "esx.other"
to = "fabric"
[[link]]
from = "fabric"
to = "ssd"
[[vm]]
name = "new{{1..2}}"
host = "esx"
disks = [{{ lun = "ssd/auto", map = "rdm", adapter = "esx.new" }}]
[[vm]]
name = "old{{1..2}}"
host = "esx"
disks = [{{ lun = "ssd/auto", map = "rdm", adapter = "esx.old" }}]
[[vm]]
name = "other{{1..2}}"
host = "esx"
disks = [{{ lun = "ssd/auto", map = "rdm", adapter = "esx.other" }}]
[workload.load]
block = "64KiB"
{plans}
"#
    )
}

fn plan(name: &str, on: &str) -> String {
    format!(
        "[[plan]]\nname = \"{name}\"\nworkload = \"load\"\non = \"{on}\"\nmeasure = \"2s\"\n\
         sweep = {{ block = [\"8KiB\", \"32KiB\", \"128KiB\"] }}\n"
    )
}

/// Each of two VMs moves what the adapter carries, but no more than 10,000 operations a second.
fn adapters(step: &Step, group: &str) -> Work {
    let block = units::Bytes::parse(&step.settings[0].1).unwrap().0;
    let rate = match group.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "old" => 400e6,
        "other" => 700e6,
        _ => 800e6,
    };
    let ops = (rate / 2.0 / block as f64).min(10_000.0) as u64;
    Work { ops, block, ..Work::default() }
}

#[test]
fn plans_that_differ_in_the_speed_of_a_port_are_named_after_it() {
    let text = lab(&(plan("eight", "new*") + &plan("eight-old", "old*")));
    let analysis = Sketch::of(&text).analyse(adapters);
    let [found] = &analysis.plan_comparisons[..] else { panic!("{:?}", analysis.plan_comparisons) };
    assert!(found.by_part && found.comparable == 3);
    assert_eq!(found.at, [("block".to_owned(), "128KiB".to_owned())]);
    let told: Vec<_> = found.plans.iter().map(|p| (p.plan.as_str(), p.differs.as_str())).collect();
    assert_eq!(told, [("eight", "8Gb"), ("eight-old", "4Gb")]);
    // 3,051 and 1,525 operations of 128 KiB a second by each of two VMs.
    let bytes = [2.0 * 3051.0, 2.0 * 1525.0].map(|ops| ops * 131_072.0);
    assert_eq!(found.plans[0].figure.unit, Unit::BytesPerS);
    assert_eq!([found.plans[0].figure.value, found.plans[1].figure.value], bytes);
    assert_eq!(found.plans[1].ratio, 3051.0 / 1525.0);
}

#[test]
fn parts_of_one_speed_are_named_by_their_model() {
    let text = lab(&(plan("brocade", "other*") + &plan("qlogic", "new*")));
    let analysis = Sketch::of(&text).analyse(adapters);
    let names: Vec<_> =
        analysis.plan_comparisons[0].plans.iter().map(|p| p.differs.as_str()).collect();
    assert_eq!(names, ["QLogic QLE2560", "Brocade 815"], "the best first");
}

/// VMs with one to three virtual adapters, a disk at each.
fn several_adapters() -> String {
    let vm = |n: usize| {
        let disk = |at| {
            format!(
                "{{ lun = \"ssd/auto\", map = \"rdm\", controller = {at}, adapter = \"esx.new\" }}"
            )
        };
        let disks: Vec<String> = (0..n).map(disk).collect();
        let scsi = vec!["\"pvscsi\""; n].join(", ");
        format!(
            "[[vm]]\nname = \"pv{n}\"\nhost = \"esx\"\nscsi = [{scsi}]\ndisks = [{}]\n",
            disks.join(", ")
        )
    };
    let vms: String = (1..4).map(vm).collect();
    let plans = plan("pv1", "pv1") + &plan("pv2", "pv2") + &plan("pv3", "pv3");
    lab(&(vms + &plans))
}

#[test]
fn plans_that_differ_in_how_many_adapters_they_use_say_so() {
    let text = several_adapters();
    let analysis = Sketch::of(&text).analyse(|step, group| {
        let n: u64 = group.trim_start_matches("pv").parse().unwrap();
        Work { ops: 1000 * n, block: 8192, ..adapters(step, group) }
    });
    let [found] = &analysis.plan_comparisons[..] else { panic!("{:?}", analysis.plan_comparisons) };
    let names: Vec<_> = found.plans.iter().map(|p| p.differs.as_str()).collect();
    let one = "VMware Paravirtual SCSI";
    assert_eq!(names, [3, 2, 1].map(|n| format!("{n} × {one}")));
    assert!(!found.by_part);
}

#[test]
fn plans_of_other_loads_are_not_compared() {
    for (plans, why) in [
        (plan("one", "new1") + &plan("two", "old*"), "another number of VMs"),
        (plan("a", "new*") + &plan("b", "new*"), "the same VMs"),
        (plan("a", "new*"), "one plan"),
    ] {
        let analysis = Sketch::of(&lab(&plans)).analyse(adapters);
        assert_eq!(analysis.plan_comparisons, [], "{why}");
    }
}

const SWEEP: &str = r#"
scenario.title = "Members"
target = [{ name = "data{1..4}", file = "data{1..4}.bin", create = "1GiB" }]
workload.load.block = "8KiB"
[plan]
workload = "load"
on = "data*"
measure = "2s"
sweep = { members = [1, 2, 3, 4] }
[[goal]]
name = "enough"
iops = { at_least = "2500 IOPS" }
"#;

/// Each of the first three does 1,000 operations a second; four share 3,210.
fn crowd(step: &Step, _: &str) -> Work {
    let members: u64 = step.settings[0].1.parse().unwrap();
    Work { ops: if members < 4 { 1000 } else { 802 }, ..Work::default() }
}

#[test]
fn the_end_of_a_sweep_says_what_the_last_member_added() {
    let analysis = Sketch::of(SWEEP).analyse(crowd);
    let [end] = &analysis.sweep_ends[..] else { panic!("{:?}", analysis.sweep_ends) };
    assert_eq!(end.counts, "target");
    assert_eq!((end.before.value.as_str(), end.last.value.as_str()), ("3", "4"));
    assert!((end.added - (3208.0 / 3000.0 - 1.0)).abs() < 1e-12, "{}", end.added);
    let reached = end.reached.as_ref().expect("the goal's figure is crossed");
    assert_eq!((reached.at.value.as_str(), reached.figure.value), ("3", 2500.0));
    assert_eq!(reached.goal, "enough");
}

#[test]
fn a_goal_that_every_load_meets_is_not_reached_by_one() {
    let text = SWEEP.replace("2500 IOPS", "900 IOPS");
    let analysis = Sketch::of(&text).analyse(crowd);
    assert_eq!(analysis.sweep_ends[0].reached, None);
    let text = SWEEP.replace("2500 IOPS", "9000 IOPS");
    let analysis = Sketch::of(&text).analyse(crowd);
    assert_eq!(analysis.sweep_ends[0].reached, None, "no load reaches it");
}

/// Depths 1 to 16, where one hop fills up from depth 4 on.
fn filling() -> Analysis {
    let text = SWEEP.replace("members = [1, 2, 3, 4]", "depth = [1, 2, 4, 8, 16]");
    let depth = |step: &Step| step.settings[0].1.parse::<f64>().unwrap();
    let work = move |step: &Step, _: &str| {
        let ops = 100.0 * depth(step).min(4.0);
        Work { ops: ops as u64, service_ns: depth(step) / ops * 1e9, ..Work::default() }
    };
    Sketch::of(&text)
        .busy("store.controller0", move |step| depth(step).min(4.0) / 4.0)
        .analyse(work)
}

#[test]
fn neighbours_with_the_same_limit_are_one_range() {
    let analysis = filling();
    let [PlanLimits { axis, ranges, .. }] = &analysis.plan_limits[..] else {
        panic!("one curve: {:?}", analysis.plan_limits)
    };
    assert_eq!(axis.as_deref(), Some("depth"));
    // Ranges tile the axis, in its order.
    let steps: Vec<u32> = ranges.iter().flat_map(|range| range.steps.clone()).collect();
    assert_eq!(steps, [0, 1, 2, 3, 4]);
    let last = ranges.last().unwrap();
    assert_eq!(last.to, "16");
    assert!(matches!(&last.limit, Limiter::Hop { hop, .. } if hop == "store.controller0"));
    assert_eq!(last.hop_kind.as_deref(), Some("controller"));
    assert!(ranges.windows(2).all(|pair| pair[0].limit != pair[1].limit), "{ranges:?}");
}

/// A machine whose processors alone are counted, and busy for a share of their time.
fn processors(share: f64) -> Vec<PlanLimits> {
    let text = SWEEP.replace("members = [1, 2, 3, 4]", "depth = [1, 2, 4]");
    // A sketch multiplies every figure by the two seconds of the step, also a setting: two processors.
    let counters = [("cpu-busy", share * 2e9), ("cpu-count", 1.0)];
    Sketch::of(&text).hop("host.cpu", &counters).analyse(|_, _| Work::default()).plan_limits
}

#[test]
fn full_processors_of_a_machine_are_the_limit_and_others_say_nothing() {
    let full = processors(0.995);
    let limit = &full[0].ranges[0].limit;
    assert!(matches!(limit, Limiter::Hop { hop, .. } if hop == "host.cpu"), "{full:?}");
    assert_eq!(full[0].ranges[0].hop_kind.as_deref(), Some("host-cpu"));
    assert_eq!(processors(0.3), [], "what is behind the queues is not known");
}

#[test]
fn steps_of_several_plans_bear_their_plans_names() {
    let text = lab(&(plan("eight", "new*") + &plan("eight-old", "old*")));
    let analysis = Sketch::of(&text).analyse(adapters);
    let names: Vec<_> = analysis.steps.iter().map(|step| step.name.as_str()).collect();
    assert_eq!((names[0], names[3]), ("eight, block 8KiB", "eight-old, block 8KiB"));
    let alone = Sketch::of(&lab(&plan("eight", "new*"))).analyse(adapters);
    assert_eq!(alone.steps[0].name, "block 8KiB");
}

/// Plans of other loads: two of large blocks, two of small ones, and one that completes nothing.
fn unlike() -> Analysis {
    let plan = |name: &str, on: &str, blocks: &str| {
        plan(name, on).replace("[\"8KiB\", \"32KiB\", \"128KiB\"]", blocks)
    };
    let text = lab(&(plan("large", "new*", "[\"32KiB\", \"64KiB\"]")
        + &plan("less", "old1", "[\"64KiB\"]")
        + &plan("small", "other*", "[\"8KiB\"]")
        + &plan("smaller", "old2", "[\"8KiB\"]")
        + &plan("none", "new1", "[\"8KiB\"]")));
    Sketch::of(&text)
        .busy("esx.new:0", |step| if step.plan == "large" { 1.0 } else { 0.2 })
        .analyse(|step, group| match step.plan.as_str() {
            "none" => Work { ops: 0, ..Work::default() },
            _ => adapters(step, group),
        })
}

#[test]
fn each_plan_answers_with_its_best_step() {
    let analysis = unlike();
    let found = &analysis.plan_answers;
    let told: Vec<_> = found.iter().map(|of| (of.plan.as_str(), of.step, of.figure.unit)).collect();
    let (bytes, iops) = (Unit::BytesPerS, Unit::Iops);
    assert_eq!(
        told,
        [("large", 1, bytes), ("less", 2, bytes), ("small", 3, iops), ("smaller", 4, iops)]
    );
    // 6,103 operations of 64 KiB a second by each of two VMs, and 3,051 by one; 10,000 of 8 KiB by each of two, and by one.
    let values: Vec<f64> = found.iter().map(|of| of.figure.value).collect();
    assert_eq!(values, [2.0 * 6103.0 * 65_536.0, 3051.0 * 65_536.0, 20_000.0, 10_000.0]);
    let ratios: Vec<f64> = found.iter().map(|of| of.ratio).collect();
    assert_eq!(ratios, [1.0, 2.0 * 6103.0 / 3051.0, 1.0, 2.0], "among those of its unit");
    assert_eq!(found[0].settings, [("block".to_owned(), "64KiB".to_owned())]);
    let limit = |n: usize| found[n].limit.as_ref();
    assert!(matches!(limit(0), Some(Limiter::Hop { hop, .. }) if hop == "esx.new:0"), "{found:?}");
}

#[test]
fn one_plan_has_no_other_beside_it() {
    let analysis = Sketch::of(&lab(&plan("a", "new*"))).analyse(adapters);
    assert_eq!(analysis.plan_answers, []);
}
