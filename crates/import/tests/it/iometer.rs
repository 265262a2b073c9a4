//! Iometer's configurations: versions, sections, cycles, by what Iometer itself reads.

use crate::{Format, Severity, holds, noted, refused, scenario};

/// A configuration of these parts; the test type with what cycles, specifications, workers.
fn icf(version: &str, setup: &str, specs: &str, workers: &str) -> String {
    format!(
        "Version {version}\n'TEST SETUP ====\n'Test Description\n\tlab\n'Run Time\n'\thours minutes seconds\n\t0 1 30\n\
         'Ramp Up Time (s)\n\t5\n{setup}'END test setup\n'RESULTS DISPLAY ====\n'Bar chart 1 statistic\n\tTotal\n\
         'END results display\n'ACCESS SPECIFICATIONS ====\n{specs}'END access specifications\n'MANAGER LIST ====\n\
         'Manager ID, manager name\n\t1,HOST\n'Manager network address\n\t10.0.0.1\n{workers}'End manager\n\
         'END manager list\nVersion {version}\n"
    )
}

fn spec(name: &str, rows: &str) -> String {
    format!(
        "'Access specification name,default assignment\n\t{name},NONE\n'size,% of size,% reads,% random,delay,burst,align,reply\n{rows}\n"
    )
}

fn worker(name: &str, depth: u64, specs: &[&str], targets: &[&str]) -> String {
    let specs: String = specs.iter().map(|s| format!("\t{s}\n")).collect();
    let target = |t: &&str| format!("'Target\n\t{t}\n'Target type\n\tDISK\n'End target\n");
    let targets: String = targets.iter().map(target).collect();
    format!(
        "'Worker\n\t{name}\n'Worker type\n\tDISK\n'Default target settings for worker\n\
         'Number of outstanding IOs,test connection rate,transactions per connection\n\t{depth},DISABLED,1\n\
         'Disk maximum size,starting sector\n\t2048,0\n'End default target settings for worker\n\
         'Assigned access specs\n{specs}'End assigned access specs\n'Target assignments\n{targets}\
         'End target assignments\n'End worker\n"
    )
}

fn plain(setup: &str, workers: &str) -> String {
    icf("1.1.0", setup, &spec("4K", "4096,100,67,100,0,1,0,0"), workers)
}

/// Plans with what runs in each, as `workload@on`, and the depths of their sweeps.
#[track_caller]
fn check_plans(text: &str, expected: &[&str]) {
    let scenario = scenario(text);
    let plans = scenario.steps().into_iter().map(|step| {
        let settings: Vec<String> =
            step.settings.iter().map(|(k, v)| format!("{k}={v} ")).collect();
        let loads = step.loads.iter().map(ToString::to_string);
        let on: Vec<String> = loads
            .map(|load| load.split(':').next().unwrap_or_default().replace(" on ", "@"))
            .collect();
        settings.concat() + &on.join("; ")
    });
    assert_eq!(plans.collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn a_worker_is_a_machine_with_its_disks() {
    let text = plain("", &worker("Worker 1", 16, &["4K"], &["E: \"Data\"", "/dev/sdb"]));
    holds(
        &text,
        &[
            "file = \"e.tst\"",
            "create = \"1MiB\"",
            "device = \"/dev/sdb\"",
            "disks = [{ target = \"e\" }, { target = \"sdb\" }]",
            "disks = \"each\"",
            "depth = 16",
            "block = \"4KiB\"",
            "read = 67",
            "random = 100",
            "align = \"512B\"",
            "working_set = \"1MiB\"",
            "warmup = \"5s\"",
            "measure = \"90s\"",
        ],
    );
    check_plans(&text, &["4K@Worker-1"]);
}

#[test]
fn rows_with_bursts_have_the_shares_of_their_ios() {
    let rows = "8192,80,100,100,0,1,0,0\n4096,20,0,0,10,4,4096,0";
    let text = icf("1.1.0", "", &spec("mix", rows), &worker("w", 1, &["mix"], &["x"]));
    holds(
        &text,
        &[
            "{ size = \"8KiB\", share = 50, read = 100, random = 100, align = \"512B\" },",
            "{ size = \"4KiB\", share = 50, read = 0, random = 0, burst = 4, delay = \"10ms\" },",
        ],
    );
}

#[test]
fn specifications_follow_each_other() {
    let specs = spec("a", "512,100,100,100,0,1,0,0") + &spec("b", "1024,100,0,0,0,1,0,0");
    let workers = worker("w1", 1, &["a", "b"], &["x"]) + &worker("w2", 1, &["Idle", "a"], &["y"]);
    check_plans(&icf("2006.07.27", "", &specs, &workers), &["a@w1", "b@w1; a@w2"]);
}

#[test]
fn cycles() {
    let two = worker("w1", 4, &["4K"], &["x", "y", "z"]) + &worker("w2", 4, &["4K"], &["u"]);
    let setup = |kind: &str, values: &str| format!("{values}'Test Type\n\t{kind}\n");
    let depth = "'Queue Depth Cycling\n'\tstart end step step type\n\t1 10 3 LINEAR\n";
    check_plans(
        &plain(&setup("CYCLE_OUTSTANDING_IOS", depth), &two),
        &["depth=1 4K@w1, w2", "depth=4 4K@w1, w2", "depth=7 4K@w1, w2", "depth=10 4K@w1, w2"],
    );
    let exponential = "'Queue Depth Cycling\n'\tx\n\t1 20 4 EXPONENTIAL\n";
    check_plans(
        &plain(&setup("CYCLE_OUTSTANDING_IOS", exponential), &worker("w", 1, &["4K"], &["x"])),
        &["depth=1 4K@w", "depth=4 4K@w", "depth=16 4K@w"],
    );
    let workers = "'Worker Cycling\n'\tstart step step type\n\t1 1 LINEAR\n";
    check_plans(&plain(&setup("CYCLE_WORKERS", workers), &two), &["4K@w1", "4K@w1, w2"]);
    let disks = "'Disk Cycling\n'\tstart step step type\n\t1 2 EXPONENTIAL\n";
    check_plans(
        &plain(&setup("CYCLE_TARGETS", disks), &two),
        &["4K@w1-1, w2", "4K@w1-2, w2", "4K@w1, w2"],
    );
    check_plans(
        &plain(&setup("INCREMENT_TARGETS_SERIAL", disks), &two),
        &["4K@w1-1", "4K@w1-2", "4K@w1, w2"],
    );
}

#[test]
fn every_version_is_read() {
    let one = worker("w", 1, &["4K"], &["x"]);
    for version in [
        "1998.10.08",
        "1999.10.20",
        "2003.05.10",
        "2004.07.30",
        "2006.07.27",
        "2008.06.22",
        "1.1.0",
    ] {
        let text = icf(version, "", &spec("4K", "4096,100,67,100,0,1,0,0"), &one);
        check_plans(&text, &["4K@w"]);
    }
    // Before May 1998 specifications are rows without names, which end at 100%.
    let old = "Version 1998.01.05\n'ACCESS SPECIFICATIONS ===\n'size\n2048 60 67 100 0 1\n4096 40 100 0 0 1\n\
               8192 100 0 0 0 1\n'END access specifications\n";
    check_plans(old, &["specification-1@worker", "specification-2@worker"]);
    // Numbers for words, and keys of old versions.
    let setup = "'Default Workers to Spawn\n\t0\n'Record Results\n\t0\n'Test Type\n\t0\n";
    check_plans(&plain(setup, &one), &["4K@w"]);
    let cased = plain("", &one).replace("'END TEST", "'end test").replace("'Run Time", "'RUN TIME");
    check_plans(&cased, &["4K@w"]);
}

#[test]
fn network_workers_are_network_loads() {
    let text = plain("", &worker("w", 2, &["4K"], &["10.0.0.9"]))
        .replace("'Worker type\n\tDISK", "'Worker type\n\tNETWORK,TCP")
        .replace("'Disk maximum size,starting sector\n\t2048,0\n", "");
    holds(
        &text,
        &["address = \"10.0.0.9\"", "kind = \"net\"", "streams = 2", "direction = \"receive\""],
    );
    let vi = text.replace("NETWORK,TCP", "NETWORK,VI");
    assert!(refused(None, &vi).contains("nothing to run"));
}

#[test]
fn what_is_lost_is_said() {
    let text = plain("", &worker("w", 1, &["4K"], &["x"])).replace("2048,0", "2048,64");
    assert_eq!(noted(&text, Severity::Lost).len(), 1);
    assert!(noted(&text, Severity::Approximated).iter().any(|n| n.ends_with(" x")));
}

#[test]
fn mistakes_point_at_their_place() {
    let one = worker("w", 1, &["4K"], &["x"]);
    for (text, expected) in [
        (plain("'Rum Time\n\t1\n", &one), "unknown key `'Rum Time`"),
        (plain("", &one).replace("67,100", "67,400"), "expected size, % of size"),
        (plain("", &one).replace("4096,100", "4096,90"), "make up 90%, and not 100%"),
        (plain("'Test Type\n\tCYCLE_WORKER\n", &one), "did you mean `CYCLE_WORKERS`?"),
        (plain("", &worker("w", 1, &["5K"], &["x"])), "unknown access specification `5K`"),
        (plain("", &one).split("'End worker").next().unwrap_or_default().to_owned(), "cut off"),
        (plain("", &one).split("'END test setup").next().unwrap_or_default().to_owned(), "cut off"),
        (plain("", &one).replace("0 1 30", "soon"), "expected hours, minutes and seconds"),
    ] {
        let said = refused(Some(Format::Iometer), &text);
        assert!(said.contains(expected), "{expected}: {said}");
    }
}
