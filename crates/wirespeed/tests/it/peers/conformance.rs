//! Debian's `iscsi-test-cu`, every suite, against five kinds of volumes with two paths each. No test may fail, and the tests
//! that skip themselves are exactly those of `skips.txt`.
//!
//! Suites run on several targets of a kind at once: some wait for seconds, and others reset the target under their feet, so
//! no two of them may share one.

use crate::peers::report::{Report, Verdict, listed, read};
use crate::peers::served::{Served, here};
use crate::prelude::*;
use std::sync::Mutex;

/// Targets of a kind, each of which runs a suite at a time.
const LANES: usize = 3;

/// Seconds a job may take: a hang guard, twice what the longest takes.
const JOB_LIMIT: &str = "150";

/// What waits for many seconds by itself, and so begins first, the last of these at once. An overwriting SANITIZE takes
/// seconds at the least, and `Reset` looks a minute later whether its own has ended.
const LONG: [(&str, &str); 5] = [
    ("Sanitize", "Readonly"),
    ("iSCSIcmdsn", "*"),
    ("Reserve6", "*"),
    ("Sanitize", "Overwrite"),
    ("Sanitize", "Reset"),
];

/// A suite that takes for granted that blocks are zero which it has not written, and so has a target to itself.
const ALONE: &str = "MultipathIO";

/// Suites whose tests are run one by one, each with sessions of its own: `Reservations` leaves a RESERVE behind on the
/// second path, where one is given, and a new session of its initiator frees it.
const ONE_BY_ONE: [&str; 1] = ["Sanitize"];

/// Complaints of tests that pass, and are right to: the test, what it complains of, and why that is no failure.
const COMPLAINTS: [(&str, &str, &str); 5] = [
    (
        "iSCSIdatasn.iSCSIDataSnInvalid",
        "WRITE10 command failed with status 2",
        "it breaks the protocol on purpose",
    ),
    (
        "Reserve6.LUNReset",
        "UNIT_ATTENTION(6) ASCQ:SCSI_BUS_RESET",
        "it waits for the reset of the test before it",
    ),
    (
        "Reserve6.TargetWarmReset",
        "UNIT_ATTENTION(6) ASCQ:SCSI_BUS_RESET",
        "it waits for the reset of the test before it",
    ),
    (
        "WriteSame10.UnmapVPD",
        "ILLEGAL_REQUEST(0x05) / ASCQ INVALID_FIELD_IN_CDB",
        "it tries UNMAP where there is none",
    ),
    (
        "WriteSame16.UnmapVPD",
        "ILLEGAL_REQUEST(0x05) / ASCQ INVALID_FIELD_IN_CDB",
        "it tries UNMAP where there is none",
    ),
];

/// Where the tests that may skip are listed, and why.
const SKIPS: &str = include_str!("skips.txt");

type Suites = BTreeMap<String, Vec<String>>;

/// What the program has; every family is a part of `ALL`, so that nothing is left out.
fn suites() -> Suites {
    let output = Command::new("iscsi-test-cu")
        .arg("--list")
        .stdin(Stdio::null())
        .output()
        .expect("it starts");
    let list = String::from_utf8_lossy(&output.stdout);
    let all = listed(&list, "ALL");
    let families: BTreeSet<&str> = list.lines().filter_map(|line| line.split('.').next()).collect();
    assert!(families.len() >= 4 && all.len() >= 50, "a list of another form:\n{list}");
    for family in families {
        for (suite, tests) in listed(&list, family) {
            let missing: Vec<_> = tests.iter().filter(|test| !all[&suite].contains(test)).collect();
            assert!(missing.is_empty(), "{family}.{suite} has tests that ALL has not: {missing:?}");
        }
    }
    all
}

/// Whether a suite's destructive and sanitizing tests are run: all of them, but for a volume that cannot be written, where
/// they would fail as they must. There it is reservations, and the suite that shows that nothing is written.
fn destroys(kind: &str, suite: &str) -> bool {
    kind != "ro" || suite == "ReadOnly" || suite.starts_with("Pr")
}

/// Tests that write whatever they are allowed, and so cannot be run where nothing may be written.
fn writes_anyway(suite: &str, test: &str) -> bool {
    (suite == "ProutReserve" && test.starts_with("Access"))
        || (suite.starts_with("WriteVerify") && test == "Dpo")
}

/// The reason why those are not run.
const NOT_RUN: &str = "not run: it writes even when it is not allowed to";

/// What is run at once, on one target: tests of a suite, by the pattern of their names.
struct Job {
    suite: String,
    pattern: String,
    tests: Vec<String>,
}

/// The jobs of a kind of volume, the longest last, and what cannot be run on it.
fn jobs(kind: &str, suites: &Suites) -> (Vec<Job>, Vec<(String, String)>) {
    let (mut jobs, mut left_out) = (Vec::new(), Vec::new());
    for (suite, tests) in suites {
        let mut job = |pattern: &str, tests: &[String]| {
            jobs.push(Job {
                suite: suite.clone(),
                pattern: pattern.to_owned(),
                tests: tests.to_vec(),
            });
        };
        let unfit = |test: &&String| kind == "ro" && writes_anyway(suite, test);
        if !ONE_BY_ONE.contains(&suite.as_str()) && !tests.iter().any(|test| unfit(&test)) {
            job("*", tests);
            continue;
        }
        left_out.extend(tests.iter().filter(unfit).map(|test| (suite.clone(), test.clone())));
        let fit = tests.iter().filter(|test| !unfit(test));
        fit.for_each(|test| job(test, std::slice::from_ref(test)));
    }
    let long = |job: &Job| {
        LONG.iter().position(|(suite, pattern)| *suite == job.suite && *pattern == job.pattern)
    };
    jobs.sort_by_key(|job| long(job).map_or(0, |place| place + 1));
    (jobs, left_out)
}

fn run(kind: &str, job: &Job, target: &Served) -> Report {
    let mut command = Command::new("timeout");
    let which = format!("ALL.{}.{}", job.suite, job.pattern);
    command.args(["-k", "5", JOB_LIMIT, "iscsi-test-cu", "-t", &which]);
    command.args(if destroys(kind, &job.suite) { &["-d", "-S"][..] } else { &[] });
    command.args([target.url(0, 0), target.url(0, 1)]).stdin(Stdio::null());
    let output = command.output().expect("timeout starts");
    let said = [&output.stdout[..], &output.stderr[..]].map(String::from_utf8_lossy);
    let mut report = read(&said[0], output.status.code(), &job.tests);
    if !report.broken.is_empty() {
        report.broken.extend(said[1].lines().take(20).map(|line| format!("stderr: {line}")));
    }
    report
}

/// Runs everything on targets of these arguments; a report a suite.
fn run_all(
    kind: &str,
    suites: &Suites,
    args: &(dyn Fn(usize) -> Vec<String> + Sync),
) -> BTreeMap<String, Report> {
    let (jobs, left_out) = jobs(kind, suites);
    let (queue, done) = (Mutex::new(jobs), Mutex::new(BTreeMap::<String, Report>::new()));
    let add = |suite: &str, report: Report| {
        let mut done = done.lock().expect("no lane has panicked");
        let all = done.entry(suite.to_owned()).or_default();
        all.tests.extend(report.tests);
        all.broken.extend(report.broken);
    };
    std::thread::scope(|scope| {
        for lane in 0..LANES {
            let (queue, add) = (&queue, &add);
            scope.spawn(move || {
                let served = |number| {
                    let args = args(number);
                    Served::two_portals(&args.iter().map(String::as_str).collect::<Vec<_>>())
                };
                let target = served(lane);
                while let Some(job) = { queue.lock().expect("no lane has panicked").pop() } {
                    let report = if job.suite == ALONE {
                        run(kind, &job, &served(LANES))
                    } else {
                        run(kind, &job, &target)
                    };
                    add(&job.suite, report);
                }
            });
        }
    });
    for (suite, test) in left_out {
        let skipped = Verdict::Skipped(BTreeSet::from([NOT_RUN.to_owned()]));
        add(&suite, Report { tests: BTreeMap::from([(test, skipped)]), broken: Vec::new() });
    }
    done.into_inner().expect("no lane has panicked")
}

/// One skip: the test with its suite, the kind of volume, the reason as the program gives it.
type Skip = (String, String, String);

/// The committed list: `TEST | VOLUMES | REASON`, and comments.
fn expected_skips(text: &str) -> Result<BTreeSet<Skip>, String> {
    let mut skips = BTreeSet::new();
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let parts: Vec<&str> = line.split('|').map(str::trim).collect();
        let [test, volumes, reason] = parts[..] else {
            return Err(format!("line {number}: expected `TEST | VOLUMES | REASON`"));
        };
        for volume in volumes.split(' ') {
            if !skips.insert((test.to_owned(), volume.to_owned(), reason.to_owned())) {
                return Err(format!("line {number}: `{test}` stands here twice for `{volume}`"));
            }
        }
    }
    Ok(skips)
}

/// Whether a test that passes may complain of this.
fn foreseen(test: &str, complaint: &str) -> bool {
    COMPLAINTS.iter().any(|(known, what, _)| *known == test && complaint.contains(what))
}

/// Whether a test fails by a fault of the suite: these write 512 bytes to a disk of 4096-byte blocks and expect it to be
/// done. A part of a block is refused, which is what a later version of the suite asks for (`Write10Residuals`).
fn is_fault_of_suite(test: &str, kind: &str, why: &[String]) -> bool {
    let part = |line: &String| {
        line.contains("WRITE10 command") && line.contains("(0x0e03)")
            || line.contains("test_prout_reserve_access.c")
                && line.contains("CU_ASSERT_EQUAL(0,ret)")
    };
    let refused = why.iter().any(|line| line.contains("(0x0e03)"));
    kind == "4k" && test.starts_with("ProutReserve.Access") && refused && why.iter().all(part)
}

/// Failures first, then how the skips of one kind of volume differ from the list.
fn judge(kind: &str, reports: &BTreeMap<String, Report>, expected: &BTreeSet<Skip>) -> Vec<String> {
    let (mut wrong, mut found) = (Vec::new(), BTreeSet::new());
    for (suite, report) in reports {
        wrong.extend(report.broken.iter().map(|what| format!("FAILED {suite}: {what}")));
        for (test, verdict) in &report.tests {
            let name = format!("{suite}.{test}");
            match verdict {
                Verdict::Passed => {}
                Verdict::Failed(why) if is_fault_of_suite(&name, kind, why) => {}
                Verdict::Complained(all) if all.iter().all(|what| foreseen(&name, what)) => {}
                Verdict::Failed(why) | Verdict::Complained(why) => {
                    let shown: Vec<&str> = why.iter().take(5).map(String::as_str).collect();
                    wrong.push(format!("FAILED {name}: {}", shown.join("; ")));
                }
                Verdict::Skipped(reasons) => {
                    found
                        .extend(reasons.iter().map(|r| (name.clone(), kind.to_owned(), r.clone())));
                }
            }
        }
    }
    let listed: BTreeSet<Skip> = expected.iter().filter(|(_, of, _)| of == kind).cloned().collect();
    let show =
        |what: &str, (test, kind, reason): &Skip| format!("{what}: {test} | {kind} | {reason}");
    wrong.extend(found.difference(&listed).map(|skip| show("new skip", skip)));
    wrong.extend(listed.difference(&found).map(|skip| show("skips no longer", skip)));
    wrong
}

#[track_caller]
fn conforms(kind: &str, args: &(dyn Fn(usize) -> Vec<String> + Sync)) {
    if !here("iscsi-test-cu") {
        return;
    }
    let expected = expected_skips(SKIPS).expect("skips.txt is well-formed");
    let suites = suites();
    let reports = run_all(kind, &suites, args);
    for (suite, tests) in &suites {
        assert_eq!(reports[suite].tests.len(), tests.len(), "tests of {suite} were left out");
    }
    let wrong = judge(kind, &reports, &expected);
    assert!(wrong.is_empty(), "on the {kind} volume:\n{}", wrong.join("\n"));
}

fn volume(spec: String) -> Vec<String> {
    vec!["--volume".to_owned(), spec]
}

/// All kinds at once: most of their time the suites wait.
#[test]
fn every_kind_of_volume_conforms() {
    let dir = tempfile::tempdir().expect("a scratch directory");
    let path = |name: String| dir.path().join(name).display().to_string();
    std::fs::File::create(path("ro".to_owned()))
        .and_then(|file| file.set_len(64 << 20))
        .expect("a sparse file");
    std::thread::scope(|scope| {
        scope.spawn(|| conforms("ram", &|_| volume("ram:100MiB,thin".to_owned())));
        scope.spawn(|| conforms("4k", &|_| volume("ram:100MiB,thin,block=4096".to_owned())));
        scope.spawn(|| {
            let thin = |lane| format!("file:{},size=64MiB,thin", path(format!("thin{lane}")));
            conforms("file", &|lane| volume(thin(lane)));
        });
        scope.spawn(|| {
            let full = |lane| format!("file:{},size=64MiB", path(format!("full{lane}")));
            conforms("full", &|lane| volume(full(lane)));
        });
        scope.spawn(|| {
            conforms("ro", &|_| volume(format!("file:{},ro", path("ro".to_owned()))));
        });
    });
}

#[test]
fn skips_are_compared_with_the_list() {
    let skip = |test: &str, kind: &str, reason: &str| {
        (test.to_owned(), kind.to_owned(), reason.to_owned())
    };
    let list = "# why\n\nS.A | ram ro | no A\nS.B | ram | no B\n";
    let expected = expected_skips(list).unwrap();
    let all = [skip("S.A", "ram", "no A"), skip("S.A", "ro", "no A"), skip("S.B", "ram", "no B")];
    assert_eq!(expected, BTreeSet::from(all));
    for wrong in ["S.A | ram", "S.A | ram ram | x", "S.A | ram | x\nS.A | ro ram | x"] {
        assert!(expected_skips(wrong).is_err(), "{wrong}");
    }
    let skipped = |reason: &str| Verdict::Skipped(BTreeSet::from([reason.to_owned()]));
    let check = |a: Verdict, b: Verdict, wrong: &[&str]| {
        let tests = BTreeMap::from([("A".to_owned(), a), ("B".to_owned(), b)]);
        let reports = BTreeMap::from([("S".to_owned(), Report { tests, broken: Vec::new() })]);
        assert_eq!(judge("ram", &reports, &expected), wrong);
    };
    check(skipped("no A"), skipped("no B"), &[]);
    check(skipped("no A"), Verdict::Passed, &["skips no longer: S.B | ram | no B"]);
    check(
        skipped("odd"),
        skipped("no B"),
        &["new skip: S.A | ram | odd", "skips no longer: S.A | ram | no A"],
    );
    let failed = Verdict::Failed(vec!["bad".to_owned()]);
    check(failed, skipped("no B"), &["FAILED S.A: bad", "skips no longer: S.A | ram | no A"]);
    let broken = Report { tests: BTreeMap::new(), broken: vec!["it ran out of time".to_owned()] };
    let wrong = judge("4k", &BTreeMap::from([("S".to_owned(), broken)]), &expected);
    assert_eq!(wrong, ["FAILED S: it ran out of time"]);
}
