//! Results as scripts leave them: many runs in a file, many files in a folder, both ends of a transfer, reports of a run that goes
//! on, and text around it all. Each run counts once, and by itself.

use super::{Feed, Topology, fed, figure, near, options, recorded};
use import::monitor::{Flow, Measure, MonitorFormat, read, settle};

/// A report of fio: when it was written, what it ran for, and its jobs with their reads.
fn fio(at_ms: u64, ms: u64, jobs: &[(&str, u64)]) -> String {
    let job = |(name, ios): &(&str, u64)| {
        format!(
            r#"{{"jobname":"{name}","groupid":0,"error":0,"eta":0,"elapsed":{},"read":{{"io_bytes":{},"runtime":{ms},"total_ios":{ios},"lat_ns":{{"mean":0.0,"N":0}},"clat_ns":{{"mean":2000000.0}}}},"write":{{"io_bytes":0,"runtime":0,"total_ios":0}},"trim":{{"total_ios":0}}}}"#,
            ms.div_ceil(1000),
            ios * 4096
        )
    };
    let jobs: Vec<String> = jobs.iter().map(job).collect();
    format!(
        "{{\n\"fio version\":\"fio-3.28\",\"timestamp_ms\":{at_ms},\"jobs\":[{}]\n}}\n",
        jobs.join(",")
    )
}

/// The tests of files with their operations a second, without the whole.
fn tests(feeds: &[Feed]) -> Vec<(String, f64)> {
    let (_dir, record) = recorded(feeds, &Topology::default());
    let of = |step: &record::StepHead| {
        let totals = record.totals(step.index).unwrap();
        let ops = |side: &Option<record::Completed>| side.as_ref().map_or(0, |side| side.ops);
        let sum: u64 = totals.iter().map(|t| ops(&t.read) + ops(&t.write)).sum();
        let seconds = step.times.end.since(step.times.start).0 as f64 / 1e9;
        (step.settings[0].1.clone(), sum as f64 / seconds)
    };
    let all: Vec<(String, f64)> = record.steps().iter().map(of).collect();
    if all.len() > 1 { all[1..].to_vec() } else { all }
}

#[track_caller]
fn are(found: &[(String, f64)], expected: &[(&str, f64)]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((name, rate), (of, expected)) in found.iter().zip(expected) {
        assert!(name == of && (rate - expected).abs() < 1.0, "{found:?} is not {expected} of {of}");
    }
}

const T: u64 = 1_700_000_000_000;

#[test]
fn runs_of_one_file_that_follow_each_other_are_tests() {
    let runs = [
        fio(T + 10_000, 10_000, &[("seq", 10_000)]),
        fio(T + 30_000, 10_000, &[("rand", 20_000)]),
        fio(T + 50_000, 10_000, &[("rand", 30_000)]),
    ];
    let expected = [("seq", 1000.0), ("rand", 2000.0), ("rand (2)", 3000.0)];
    are(&tests(&[fed(runs.concat().as_bytes())]), &expected);
    // In a list, in another program's document, behind what a terminal shows.
    are(&tests(&[fed(format!("[{}]", runs.join(",")).as_bytes())]), &expected);
    let within = runs.map(|run| format!("^C{{\n\"result\":{run}}}\n"));
    are(&tests(&[fed(within.concat().as_bytes())]), &expected);
    // Several jobs are one test, which has their names.
    let both = fio(T + 10_000, 10_000, &[("a", 10_000), ("b", 5_000)])
        + &fio(T + 30_000, 10_000, &[("a", 1_000), ("b", 1_000), ("c", 1_000), ("d", 1_000)]);
    are(&tests(&[fed(both.as_bytes())]), &[("a + b", 1500.0), ("a + b + 2 more", 400.0)]);
}

#[test]
fn runs_at_the_same_time_are_one_test() {
    let a = fio(T + 10_000, 10_000, &[("a", 10_000)]);
    let b = fio(T + 10_100, 10_000, &[("b", 20_000)]);
    let one = fed((a.clone() + &b).as_bytes());
    assert_eq!(one.rows.len(), 1);
    near(figure(&one, "a", Measure::Ops(Flow::Read)), 1000.0);
    near(figure(&one, "b", Measure::Ops(Flow::Read)), 2000.0);
    // The same job twice is two.
    let twice = fed((a.clone() + &a.replace("10000,\"lat", "10000 ,\"lat")).as_bytes());
    assert!(twice.places.iter().any(|place| place.name == "a (2)") || twice.places.len() == 1);
    // Of two files and of two names, with a run of one of them after it.
    let later = fio(T + 90_000, 10_000, &[("b", 5_000)]);
    let feeds = [fed(a.as_bytes()), fed((b + &later).as_bytes())];
    let (_dir, record) = recorded(&feeds, &Topology::default());
    let names: Vec<String> = record.steps().iter().map(|step| step.settings[0].1.clone()).collect();
    assert_eq!(names, ["whole", "a and b", "b"]);
}

#[test]
fn reports_of_a_run_that_goes_on_are_the_last_one() {
    // `--status-interval`: each holds those before it.
    let going = [(1, 1_000), (2, 2_100), (3, 3_000)];
    let text: String =
        going.iter().map(|(s, ios)| fio(T + s * 1000, s * 1000, &[("a", *ios)])).collect();
    let feed = fed(text.as_bytes());
    assert_eq!((feed.rows.len(), feed.tests.len()), (1, 1));
    near(figure(&feed, "a", Measure::Ops(Flow::Read)), 1000.0);
    // With `disable_lat` the time of the device is what there is.
    near(figure(&feed, "a", Measure::Time(import::monitor::Leg::All, Flow::Read)), 2e6);
}

#[test]
fn trims_are_left_out_and_that_is_said() {
    let run = fio(T + 10_000, 10_000, &[("a", 1_000)]);
    let some = run.replace("\"trim\":{\"total_ios\":0}", "\"trim\":{\"total_ios\":7}");
    assert!(fed(some.as_bytes()).notes.iter().any(|note| note.text.contains("7 trims")));
    let all = some.replace("\"runtime\":10000,\"total_ios\":1000", "\"runtime\":0,\"total_ios\":0");
    let error = read("f", MonitorFormat::FioJson, all.as_bytes(), &options()).unwrap_err();
    assert!(error.text.contains("trims alone"), "{error}");
}

/// As many jobs as a fleet has are one load, whatever stands beside them.
#[test]
fn nothing_of_many_jobs_is_lost() {
    let names: Vec<String> = (0..400).map(|at| format!("job{at}")).collect();
    let jobs: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1_000)).collect();
    let many = fed(fio(T + 10_000, 10_000, &jobs).as_bytes());
    // A long file of another program.
    let report = |s: u32| {
        format!(
            "{}\nDevice r/s rkB/s %util\nsda 1.00 8.00 0.10\n\n",
            format_args!("2023-11-14T22:{:02}:{:02}", s / 60 % 60, s % 60)
        )
    };
    let long: String = (0..3000).map(report).collect();
    let banner = "Linux 6.1.0 (db1) \t11/14/2023 \t_x86_64_\t(4 CPU)\n\n";
    let long = fed((banner.to_owned() + &long).as_bytes());
    let (_dir, record) = recorded(&[many, long], &Topology::default());
    let totals = record.totals(0).unwrap();
    let ops: u64 = totals.iter().filter_map(|t| t.read.as_ref()).map(|side| side.ops).sum();
    assert_eq!(ops, 400_000);
    // More than a record has room for are left out, and that is said.
    let names: Vec<String> = (0..1300).map(|at| format!("job{at}")).collect();
    let jobs: Vec<(&str, u64)> = names.iter().map(|name| (name.as_str(), 1_000)).collect();
    let many = fed(fio(T + 10_000, 10_000, &jobs).as_bytes());
    let (_dir, record) = recorded(&[many], &Topology::default());
    let said = record.events().iter().find(|event| event.code == "places-left-out");
    assert!(said.is_some_and(|event| event.text.contains("50 places with 3.85%")), "{said:?}");
}

#[test]
fn more_tests_than_are_shown_are_counted() {
    let text: String = (0..205).map(|n| fio(T + n * 20_000, 10_000, &[("a", 1_000 + n)])).collect();
    let (_dir, record) = recorded(&[fed(text.as_bytes())], &Topology::default());
    let said = record.events().iter().find(|event| event.code == "tests-left-out");
    assert!(said.is_some_and(|event| event.text.contains("205 tests")), "{said:?}");
}

/// What one end of a transfer of iperf3 writes.
fn iperf3(at: u64, ends: [&str; 2], cookie: &str, sends: bool, end: &str) -> String {
    let [local, remote] = ends;
    let serves = if sends { "" } else { "\"accepted_connection\":{}," };
    format!(
        "{{\n\"start\":{{\"version\":\"iperf 3.12\",\"timestamp\":{{\"timesecs\":{at}}},{serves}\"cookie\":\"{cookie}\",\"connected\":[{{\"local_host\":\"{local}\",\"remote_host\":\"{remote}\"}}],\"test_start\":{{\"protocol\":\"TCP\",\"reverse\":0}}}},\"intervals\":[{{\"sum\":{{\"start\":0,\"end\":2,\"bytes\":2000000,\"omitted\":false,\"sender\":{sends}}}}}],\"end\":{{{end}}}\n}}\n"
    )
}

#[test]
fn both_ends_of_a_transfer_are_one() {
    let client = |at, cookie| fed(iperf3(at, ["a", "b"], cookie, true, "").as_bytes());
    let server = |at, cookie| fed(iperf3(at, ["b", "a"], cookie, false, "").as_bytes());
    let bytes = |mut feeds: Vec<Feed>| -> u64 {
        settle(&mut feeds, &Topology::default());
        let (_dir, record) = recorded(&feeds, &Topology::default());
        let totals = record.totals(0).unwrap();
        totals.iter().flat_map(|t| [&t.read, &t.write]).flatten().map(|side| side.bytes).sum()
    };
    let mut second = server(1_700_000_000, "x");
    second.name = "server".to_owned();
    assert_eq!(bytes(vec![client(1_700_000_000, "x"), second]), 2_000_000);
    let mut other = server(1_700_000_000, "y");
    other.name = "server".to_owned();
    assert_eq!(bytes(vec![client(1_700_000_000, "x"), other]), 4_000_000);
}

#[test]
fn runs_of_iperf3_are_tests() {
    let run = |at: u64, sends: bool, end: &str| iperf3(at, ["a", "b"], "c", sends, end);
    // An end that does not know what arrived writes zero.
    let zero = r#""sum_sent":{"bytes":2000000},"sum_received":{"bytes":0},"cpu_utilization_percent":{"host_total":250.0,"remote_total":12.5}"#;
    let text = run(1_700_000_100, false, "") + &run(1_700_000_000, true, zero);
    for text in [text.clone(), format!("Warning: --bidir option is in use\n{text}")] {
        let feed = fed(text.as_bytes());
        let names: Vec<&str> = feed.tests.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!((names, feed.rows.len()), (vec!["TCP sends", "TCP receives"], 2));
        near(feed.mean(0, Measure::Bytes(Flow::Write), 0..1).unwrap(), 1e6);
        near(feed.mean(0, Measure::Bytes(Flow::Read), 1..2).unwrap(), 1e6);
        // Two and a half cores, of an unknown number.
        assert!(feed.places.iter().all(|place| place.name != "a.iperf3"));
        near(feed.mean(1, Measure::Cpu, 0..1).unwrap(), 0.125);
        assert!(feed.mean(1, Measure::Cpu, 1..2).is_none(), "of the other run");
    }
    // `--json-stream`.
    let stream = concat!(
        r#"{"event":"start","data":{"version":"iperf 3.17","timestamp":{"timesecs":1700000000},"connected":[{"local_host":"a","remote_host":"b"}],"test_start":{"protocol":"UDP","reverse":0}}}"#,
        "\n",
        r#"{"event":"interval","data":{"sum":{"start":0,"end":1,"bytes":1000000,"omitted":false,"sender":true}}}"#,
        "\n",
        r#"{"event":"interval","data":{"sum":{"start":1,"end":2,"bytes":3000000,"omitted":false,"sender":true}}}"#,
        "\n",
        r#"{"event":"end","data":{"sum":{"bytes":4000000,"lost_percent":50.0}}}"#,
        "\n"
    );
    let feed = fed(stream.as_bytes());
    assert_eq!((feed.rows.len(), feed.tests[0].0.as_str()), (2, "UDP sends"));
    near(figure(&feed, "a-b", Measure::Bytes(Flow::Write)), 1e6);
}
