//! A bad scenario on the command line: exit code 2, every mistake with its place, nothing made.

use crate::program::support::Bench;

#[track_caller]
fn refused(scenario: &str, args: &[&str], expected: &[&str]) {
    let bench = Bench::new(scenario);
    for command in ["run", "plan"] {
        let ended = bench.expect(2, &[&[command, "s.toml"], args].concat());
        for text in expected {
            assert!(ended.stderr.contains(text), "no {text:?} in\n{}", ended.stderr);
        }
        assert_eq!(ended.stdout, "", "mistakes are no result");
    }
    assert_eq!(std::fs::read_dir(bench.path("")).unwrap().count(), 1, "nothing was made");
}

#[test]
fn all_mistakes_are_reported_at_once_with_their_places() {
    let text = "[scenario]\ntitel = \"x\"\n[workload.w]\nblock = 8\n[plan]\nworkload = \"v\"\non = \"n\"\nmeasure = \"2\"\n";
    refused(
        text,
        &[],
        &["s.toml:2:1", "did you mean `title`", "s.toml:4:9", "s.toml:6:12", "s.toml:8:11"],
    );
}

#[test]
fn mistakes_in_overrides_point_into_them() {
    let text = "[scenario]\ntitle = \"x\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n[workload.w]\nblock = \"8KiB\"\n\
                [plan]\nworkload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n";
    refused(text, &["--set", "plan.mesure=2s"], &["--set", "measure"]);
    refused(text, &["--set", "plan.measure=2"], &["--set:14", "such as `10s`"]);
}

#[test]
fn what_is_no_scenario_at_all_is_said_plainly() {
    refused("", &[], &["title"]);
    refused("\u{0}\u{1}", &[], &["s.toml:1:3", "not TOML"]);
    let bench = Bench::new("");
    let missing = bench.expect(2, &["run", "nothing.toml"]);
    assert!(missing.stderr.contains("nothing.toml"), "{}", missing.stderr);
    bench.expect(2, &["run", "."]);
    for (bytes, says) in [
        (
            &b"[scenario]\ntitle = \"\xff\"\n"[..],
            "(line 2, byte 20): not a scenario; save it as UTF-8",
        ),
        (&b"\xff\xfe[\0"[..], "it begins as UTF-16 does: save it as UTF-8"),
    ] {
        std::fs::write(bench.path("s.toml"), bytes).unwrap();
        // By either name of the command.
        for command in ["plan", "check"] {
            let ended = bench.expect(2, &[command, "s.toml"]);
            assert!(ended.stderr.contains(says), "{}", ended.stderr);
        }
    }
}

/// In fio a share of reads means nothing where the pattern only reads or only writes: it is not taken for an order to write.
#[test]
fn a_pattern_and_a_share_of_reads_that_contradict_each_other_are_refused() {
    let bench = Bench::new("");
    for (rw, share, right) in [
        ("randread", "10", false),
        ("read", "99.5", false),
        ("randwrite", "70", false),
        ("trim", "50", false),
        ("randread", "100", true),
        ("write", "0", true),
        ("randrw", "70", true),
    ] {
        let args = ["disk", "t", "--create", "1MiB", "--rw", rw, "--rwmixread", share, "--plan"];
        let ended = bench.expect(if right { 0 } else { 2 }, &args);
        assert_eq!(
            ended.stderr.contains("leave one out"),
            !right,
            "{rw} {share}: {}",
            ended.stderr
        );
    }
}
