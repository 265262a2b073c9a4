//! Reads what Debian's `iscsi-test-cu` (libiscsi, a CUnit program) prints.
//!
//! Its exit code and its summary are not enough: a test that skips itself counts as passed there, a helper that complains
//! (`[FAILED]`) need not fail the test that called it, and a test program that crashes or is killed has no summary at all.
//! So every test that the program lists must show its own verdict here, and whatever is not understood is a failure.

use std::collections::{BTreeMap, BTreeSet};

/// What became of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It ran, and found nothing.
    Passed,
    /// It did not run, or not to its end, for these reasons.
    Skipped(BTreeSet<String>),
    /// It passed, but something that it called complained.
    Complained(Vec<String>),
    /// It found something, crashed, hung or never ran.
    Failed(Vec<String>),
}

/// What became of a suite.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Every test by its name.
    pub tests: BTreeMap<String, Verdict>,
    /// What is wrong beyond single tests.
    pub broken: Vec<String>,
}

const TEST: &str = "  Test: ";

/// Reads the output of one suite. `listed` are its tests; `code` is the exit code, `None` where a signal ended it.
pub fn read(output: &str, code: Option<i32>, listed: &[String]) -> Report {
    let mut report = Report::default();
    let body = output.split("\nRun Summary:").next().unwrap_or_default();
    let mut blocks = body.split("\n  Test: ");
    // The first block stands before all tests; the program's own errors are here.
    report.broken.extend(troubles(blocks.next().unwrap_or_default()));
    for block in blocks {
        let Some((name, text)) = block.split_once(" ...") else {
            report.broken.push(format!("not understood: `{TEST}{}`", first_line(block)));
            continue;
        };
        let verdict = verdict(text);
        report.broken.extend(troubles(text));
        if !listed.iter().any(|known| known == name) {
            report.broken.push(format!("`{name}` ran, which is not listed"));
        } else if report.tests.insert(name.to_owned(), verdict).is_some() {
            report.broken.push(format!("`{name}` ran twice"));
        }
    }
    for name in listed {
        let never = || Verdict::Failed(vec!["it never ran".to_owned()]);
        report.tests.entry(name.clone()).or_insert_with(never);
    }
    report.broken.extend(end(output, code, &report.tests));
    report
}

/// Lines of CUnit or of the program that concern no single test.
fn troubles(text: &str) -> Vec<String> {
    let bad = |line: &&str| {
        line.starts_with("WARNING - Suite")
            || line.starts_with("error:")
            || line.starts_with("Failed to connect")
    };
    text.lines().filter(bad).map(str::to_owned).collect()
}

/// The verdict stands at the start of a line, or directly behind the name; messages stand before it. What follows `passed`
/// is the clean-up of the suite, which may meet a unit attention that the test has raised.
fn verdict(text: &str) -> Verdict {
    let mut said = Vec::new();
    let mut lines = text.lines();
    let ended = lines.by_ref().find_map(|line| {
        if line.starts_with("passed") {
            return Some(true);
        }
        if line.starts_with("FAILED") {
            return Some(false);
        }
        said.push(line.trim());
        None
    });
    let of = |mark: &'static str| {
        let marked = said.iter().filter_map(move |line| line.strip_prefix(mark));
        marked.map(|what| what.trim().to_owned())
    };
    let complaints: Vec<String> = of("[FAILED]").collect();
    let skips: BTreeSet<String> = of("[SKIPPED]").collect();
    match ended {
        None => {
            let mut why = vec!["it began and never ended: a crash, or out of time".to_owned()];
            why.extend(said.iter().filter(|line| !line.is_empty()).map(|line| (*line).to_owned()));
            Verdict::Failed(why)
        }
        Some(false) => {
            let assertions = lines
                .map(str::trim)
                .take_while(|line| line.starts_with(|c: char| c.is_ascii_digit()));
            Verdict::Failed(complaints.into_iter().chain(assertions.map(str::to_owned)).collect())
        }
        Some(true) if !complaints.is_empty() => Verdict::Complained(complaints),
        Some(true) if !skips.is_empty() => Verdict::Skipped(skips),
        Some(true) => Verdict::Passed,
    }
}

/// How the program ended, and whether its own count is that of the tests that were seen.
fn end(output: &str, code: Option<i32>, tests: &BTreeMap<String, Verdict>) -> Vec<String> {
    let mut broken = Vec::new();
    match code {
        // 1 says that a test failed; which one stands in the output.
        Some(0 | 1) => {}
        Some(124 | 137) => broken.push("it ran out of time".to_owned()),
        Some(code) => broken.push(format!("it ended with exit code {code}")),
        None => broken.push("a signal ended it".to_owned()),
    }
    let failed = tests.values().any(|verdict| matches!(verdict, Verdict::Failed(_)));
    match counted(output) {
        None => broken.push("it printed no summary".to_owned()),
        Some((ran, _)) if ran != tests.len() => {
            broken.push(format!("its summary counts {ran} tests, listed are {}", tests.len()));
        }
        Some((_, 0)) if code != Some(1) => {}
        Some(_) if failed => {}
        Some((_, count)) => broken.push(format!("it counts {count} failures, and none was seen")),
    }
    broken
}

/// Tests that ran, and that failed, by the summary: `tests  TOTAL  RAN  PASSED  FAILED  INACTIVE`.
fn counted(output: &str) -> Option<(usize, usize)> {
    let summary = output.split("\nRun Summary:").nth(1)?;
    let line = summary.lines().find_map(|line| line.trim().strip_prefix("tests "))?;
    let numbers: Vec<usize> =
        line.split_whitespace().map(str::parse).collect::<Result<_, _>>().ok()?;
    let [_, ran, _, failed, _] = numbers[..] else { return None };
    Some((ran, failed))
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// The suites of the program with their tests, from what `--list` prints: `FAMILY.SUITE.TEST`. The family `ALL` holds every
/// suite; that the others hold nothing else is checked by the caller.
pub fn listed(list: &str, family: &str) -> BTreeMap<String, Vec<String>> {
    let mut suites: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in list.lines() {
        let mut parts = line.splitn(3, '.');
        if let (Some(of), Some(suite), Some(test)) = (parts.next(), parts.next(), parts.next())
            && of == family
        {
            suites.entry(suite.to_owned()).or_default().push(test.to_owned());
        }
    }
    suites
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "\n\n     CUnit - A unit testing framework for C - Version 2.1-3\n     http://cunit.sourceforge.net/\n\n\nSuite: S";

    fn tail(ran: u32, failed: u32) -> String {
        let passed = ran - failed;
        format!(
            "\n\nRun Summary:    Type  Total    Ran Passed Failed Inactive\n              suites      1      1    n/a      0        0\n               \
             tests      {ran}      {ran}      {passed}      {failed}        0\n             asserts     14     14     14      0      n/a\n\n\
             Elapsed time =    0.003 seconds\nTests completed with return value: 0\n"
        )
    }

    fn skipped(reasons: &[&str]) -> Verdict {
        Verdict::Skipped(reasons.iter().map(|r| (*r).to_owned()).collect())
    }

    fn failed(reasons: &[&str]) -> Verdict {
        Verdict::Failed(reasons.iter().map(|r| (*r).to_owned()).collect())
    }

    /// A suite of the tests A and B: A prints `a`, B passes.
    #[track_caller]
    fn check(a: &str, code: Option<i32>, failures: u32, expected: Verdict, broken: &[&str]) {
        let output = format!("{HEAD}\n  Test: A ...{a}\n  Test: B ...passed{}", tail(2, failures));
        let report = read(&output, code, &["A".to_owned(), "B".to_owned()]);
        assert_eq!(report.tests["A"], expected, "{output}");
        assert_eq!(report.tests["B"], Verdict::Passed, "{output}");
        assert_eq!(report.broken, broken, "{output}");
    }

    #[test]
    fn every_way_to_end_a_test_is_told_apart() {
        check("passed", Some(0), 0, Verdict::Passed, &[]);
        check("    [INFO] as it should be\npassed", Some(0), 0, Verdict::Passed, &[]);
        let twice = "    [SKIPPED] SANITIZE is not implemented.\n    [SKIPPED] SANITIZE is not implemented.\npassed";
        check(twice, Some(0), 0, skipped(&["SANITIZE is not implemented."]), &[]);
        let two = "    [SKIPPED] b\n    [INFO] x\n    [SKIPPED] a\npassed";
        check(two, Some(0), 0, skipped(&["a", "b"]), &[]);
        let assertions =
            "FAILED\n    1. t.c:45  - CU_ASSERT_EQUAL(a,b)\n    2. t.c:46  - CU_FAIL(\"x\")";
        check(
            assertions,
            Some(1),
            1,
            failed(&["1. t.c:45  - CU_ASSERT_EQUAL(a,b)", "2. t.c:46  - CU_FAIL(\"x\")"]),
            &[],
        );
        let both = "    [FAILED] wrong sense\nFAILED\n    1. t.c:9  - CU_ASSERT_EQUAL(ret,0)";
        check(
            both,
            Some(1),
            1,
            failed(&["wrong sense", "1. t.c:9  - CU_ASSERT_EQUAL(ret,0)"]),
            &[],
        );
    }

    #[test]
    fn a_complaint_in_a_passed_test_is_no_pass() {
        let complained = || Verdict::Complained(vec!["went wrong".to_owned()]);
        check("    [FAILED] went wrong\npassed", Some(0), 0, complained(), &[]);
        let skipping = "    [FAILED] went wrong\n    [SKIPPED] so what\npassed";
        check(skipping, Some(0), 0, complained(), &[]);
    }

    #[test]
    fn what_the_cleanup_of_a_suite_meets_is_no_failure() {
        check("passed    [FAILED] PRIN command: UNIT_ATTENTION", Some(0), 0, Verdict::Passed, &[]);
        check("passed    \n    [SKIPPED] late", Some(0), 0, Verdict::Passed, &[]);
    }

    #[test]
    fn a_program_that_did_not_end_well_is_broken() {
        check("passed", Some(10), 0, Verdict::Passed, &["it ended with exit code 10"]);
        check("passed", Some(0), 1, Verdict::Passed, &["it counts 1 failures, and none was seen"]);
        check("passed", Some(1), 0, Verdict::Passed, &["it counts 0 failures, and none was seen"]);
        let warned = "passed\nWARNING - Suite cleanup failed for 'S'.";
        check(warned, Some(0), 0, Verdict::Passed, &["WARNING - Suite cleanup failed for 'S'."]);
    }

    #[track_caller]
    fn check_cut(output: &str, code: Option<i32>, a: Verdict, b: Verdict, broken: &[&str]) {
        let report = read(output, code, &["A".to_owned(), "B".to_owned()]);
        assert_eq!((&report.tests["A"], &report.tests["B"]), (&a, &b), "{output}");
        assert_eq!(report.broken, broken, "{output}");
    }

    #[test]
    fn crashes_time_outs_and_truncated_output_are_failures() {
        let never = || failed(&["it never ran"]);
        let hung = |more: &[&str]| {
            failed(&[&["it began and never ended: a crash, or out of time"], more].concat())
        };
        let none = "it printed no summary";
        check_cut("", Some(10), never(), never(), &["it ended with exit code 10", none]);
        check_cut("", Some(0), never(), never(), &[none]);
        let refused = "Failed to connect to SCSI device 0\n";
        check_cut(
            refused,
            Some(0),
            never(),
            never(),
            &["Failed to connect to SCSI device 0", none],
        );
        let crash = format!("{HEAD}\n  Test: A ...");
        check_cut(&crash, None, hung(&[]), never(), &["a signal ended it", none]);
        let late = format!("{HEAD}\n  Test: A ...passed\n  Test: B ...    [INFO] waiting\n");
        check_cut(
            &late,
            Some(124),
            Verdict::Passed,
            hung(&["[INFO] waiting"]),
            &["it ran out of time", none],
        );
        let no_verdict = format!("{HEAD}\n  Test: A ...passe\n  Test: B ...passed{}", tail(2, 0));
        check_cut(&no_verdict, Some(0), hung(&["passe"]), Verdict::Passed, &[]);
        let no_init =
            format!("{HEAD}\nWARNING - Suite initialization failed for 'S'.{}", tail(0, 0));
        check_cut(
            &no_init,
            Some(0),
            never(),
            never(),
            &[
                "WARNING - Suite initialization failed for 'S'.",
                "its summary counts 0 tests, listed are 2",
            ],
        );
    }

    #[test]
    fn tests_that_nobody_listed_are_told() {
        let output = format!(
            "{HEAD}\n  Test: A ...passed\n  Test: A ...passed\n  Test: C ...passed{}",
            tail(3, 0)
        );
        let report = read(&output, Some(0), &["A".to_owned()]);
        let counts = "its summary counts 3 tests, listed are 1";
        assert_eq!(report.broken, ["`A` ran twice", "`C` ran, which is not listed", counts]);
    }

    #[test]
    fn suites_are_read_off_the_list() {
        let list = "ALL\nALL.Read6\nALL.Read6.Simple\nALL.Read6.BeyondEol\nALL.Unmap\nALL.Unmap.VPD\nSCSI\nSCSI.X\nSCSI.X.Y\n";
        let suites = listed(list, "ALL");
        assert_eq!(suites.len(), 2);
        assert_eq!(suites["Read6"], ["Simple", "BeyondEol"]);
        assert_eq!(listed(list, "SCSI")["X"], ["Y"]);
        assert!(listed(list, "iSCSI").is_empty());
    }
}
