//! Goals and claims that speak of network loads: what was received, of the wire, of processors, of streams, of times. What
//! is missing leaves them undecided.

use crate::support::net::{NetLoad, NetSketch};
use clock::Ns;
use findings::{Analysis, ClaimOutcome, GoalOutcome, Score, Status, analyse};

/// A scenario of one plan over frames, with goals or claims.
fn scenario(sweep: &str, rest: &str) -> String {
    format!(
        r#"
scenario.title = "Streams between two hosts"
receiver = [{{ name = "far", address = "192.0.2.2", token_env = "TOKEN", adjust = "eth1" }}]
workload.wire = {{ kind = "net", message = "64KiB", direction = "both", streams = 2, probe = true }}
[plan]
workload = "wire"
on = "far"
measure = "10s"
{sweep}
{rest}
"#
    )
}

#[track_caller]
fn analysed(text: &str, steps: &[(&[(&str, &str)], NetLoad)]) -> Analysis {
    let mut sketch = NetSketch::of(text);
    for (settings, load) in steps {
        sketch = sketch.step(settings, 0, std::slice::from_ref(load));
    }
    let (_dir, record) = sketch.record();
    let analysis = analyse(&record).expect("the record is analysed");
    assert_eq!(analysis.run.scenario_error, None);
    analysis
}

#[track_caller]
fn goal(goal: &str, load: NetLoad) -> GoalOutcome {
    let text = scenario("", &format!("[[goal]]\n{goal}"));
    analysed(&text, &[(&[], load)]).goals[0].clone()
}

/// Two streams each way that fill most of the wire, and a probe beside them.
fn load() -> NetLoad {
    let probe = Some((Ns(180_000), 50));
    NetLoad { up: 2, down: 2, rates: vec![600e6, 606e6], probe, ..NetLoad::tcp() }
}

#[test]
fn goals_of_each_kind() {
    #[track_caller]
    fn check(text: &str, status: Status, observed: &str) {
        let found = goal(text, load());
        let shown = found.observed.map(|q| q.to_string()).unwrap_or_default();
        assert_eq!((found.status, shown.as_str()), (status, observed), "{text}: {found:#?}");
    }
    check("hop = \"far\"\nwrite = { at_least = \"1200 MB/s\" }", Status::Met, "1206 MB/s");
    check("hop = \"far\"\nread = { at_least = \"1210 MB/s\" }", Status::Failed, "1206 MB/s");
    check("hop = \"far\"\ntotal = { at_least = \"2400 MB/s\" }", Status::Met, "2412 MB/s");
    // 10GbE with jumbo frames and timestamps carries 1,237.6 MB/s each way.
    check("hop = \"far\"\nwrite = { at_least = \"97% of wire\" }", Status::Met, "1206 MB/s");
    check("hop = \"far\"\nwrite = { at_least = \"98% of wire\" }", Status::Failed, "1206 MB/s");
    check("hop = \"far\"\ntotal = { at_least = \"97% of wire\" }", Status::Met, "2412 MB/s");
    check("hop = \"far\"\niops = { at_least = \"36000 IOPS\" }", Status::Met, "36,804 IOPS");
    check("hop = \"far\"\nerrors = { at_most = 0 }", Status::Met, "0");
    check("hop = \"far/sender\"\ncpu = { at_most = \"15%\" }", Status::Met, "15%");
    check("hop = \"far/receiver\"\ncpu = { at_most = \"15%\" }", Status::Failed, "45%");
    check(
        "hop = \"far/probe\"\nlatency = { point = \"p99\", at_most = \"200us\" }",
        Status::Met,
        "180 us",
    );
    check("balance = { streams = \"far\", within = \"0.5%\" }", Status::Met, "0.50%");
    check("balance = { streams = \"far\", within = \"0.3%\" }", Status::Failed, "0.50%");
}

#[test]
fn nothing_missing_passes() {
    #[track_caller]
    fn check(text: &str, load: NetLoad, why: &str) {
        let found = goal(text, load);
        assert_eq!(found.status, Status::Undecided, "{found:#?}");
        assert!(found.reason.contains(why), "{}", found.reason);
    }
    let short = || NetLoad { seconds: 9, ..load() };
    check(
        "hop = \"far\"\nwrite = { at_least = \"1 MB/s\" }",
        short(),
        "reported 90% of the measured",
    );
    check(
        "balance = { streams = \"far\", within = \"90%\" }",
        short(),
        "reported 90% of the measured",
    );
    check("hop = \"far\"\nerrors = { at_most = 0 }", short(), "reported 90% of the measured");
    let wire = "hop = \"far\"\nwrite = { at_least = \"1% of wire\" }";
    check(wire, load().without("interface-speed"), "the wire rate of hop far is not known");
    check(wire, load().without("tcp-timestamps"), "no counter `tcp-timestamps`");
    let cpu = "hop = \"far/sender\"\ncpu = { at_most = \"99%\" }";
    check(cpu, load().without("host-irq"), "far/sender did not count its processors");
    check(cpu, load().without("processors"), "far/sender did not count its processors");
    let probe = "hop = \"far/probe\"\nlatency = { point = \"p99\", at_most = \"1s\" }";
    check(probe, NetLoad { probe: None, ..load() }, "no probe ran beside the streams of far");
    let one_way = NetLoad { down: 0, ..load() };
    check("hop = \"far\"\nread = { at_most = \"1 MB/s\" }", one_way, "no stream went from far");
    let single = NetLoad { up: 1, down: 1, ..load() };
    check("balance = { streams = \"far\", within = \"90%\" }", single, "needs two streams");
    // A pair of which the record knows nothing at all.
    let elsewhere = NetLoad { pair: "other", ..load() };
    check(
        "hop = \"far\"\nwrite = { at_least = \"1 MB/s\" }",
        elsewhere.clone(),
        "no counter `write-bytes`",
    );
    check(
        "balance = { streams = \"far\", within = \"90%\" }",
        elsewhere,
        "no stream ran on hop far",
    );
    // Errors only grow: what is there already breaks the bound for good.
    let failed = goal("hop = \"far\"\nerrors = { at_most = 0 }", NetLoad { errors: 1, ..short() });
    assert_eq!(failed.status, Status::Failed, "{failed:#?}");
}

#[test]
fn the_scenario_names_a_wire_that_no_interface_tells() {
    #[track_caller]
    fn check(rate: &str, payload: f64, says: &str) {
        let text = scenario("", "").replace("adjust = \"eth1\"", &format!("rate = \"{rate}\""));
        let analysis = analysed(&text, &[(&[], load().without("interface-speed"))]);
        let direction = &analysis.steps[0].network[0].directions[0];
        assert_eq!(direction.wire.payload_bytes_per_s.map(f64::round), Some(payload));
        assert!(direction.wire.text.contains(says), "{}", direction.wire.text);
        assert_eq!((direction.message, direction.batch), (Some(65536), Some(1)));
    }
    check("10gbe", 1_237_552_556.0, "99.0% of 1,250 MB/s = 1,238 MB/s");
    // A figure is what it carries of payload.
    check("1300 MB/s", 1_300_000_000.0, "the scenario's wire carries 1,300 MB/s of payload");
}

#[test]
fn a_configured_rate_is_a_limit() {
    let text = scenario("", "").replace("probe = true", "rate = \"600 MB/s\"");
    let analysis = analysed(&text, &[(&[], load())]);
    let limit = &analysis.steps[0].network[0].directions[0].limit;
    assert_eq!(limit.by, findings::network::NetLimit::Rate);
    assert!(limit.text.contains("1,206 MB/s of the configured 1,200 MB/s"), "{}", limit.text);
}

/// Ratios hold one step against another, as goals and as claims.
#[test]
fn ratios_between_steps() {
    let at = |mb: f64| NetLoad { up: 1, down: 0, rates: vec![mb * 1e6], ..NetLoad::tcp() };
    let steps: [(&[(&str, &str)], NetLoad); 4] = [
        (&[("message", "4KiB"), ("mtu", "1500")], at(500.0)),
        (&[("message", "4KiB"), ("mtu", "9000")], at(950.0)),
        (&[("message", "8KiB"), ("mtu", "1500")], at(1000.0)),
        (&[("message", "8KiB"), ("mtu", "9000")], at(1020.0)),
    ];
    let sweep = "sweep = { message = [\"4KiB\", \"8KiB\"], mtu = [1500, 9000] }";
    let of = "hop = \"far\"\nof = \"write\"";
    let claim = |size: &str, is: &str| {
        format!(
            "[[claim]]\nstep = {{ message = \"{size}\", mtu = 9000 }}\nhop = \"far\"\n\
             ratio = {{ to = {{ mtu = 1500 }}, of = \"write\", is = {is} }}\nkind = \"held-out\"\n"
        )
    };
    let goals = format!(
        "[[goal]]\nname = \"jumbo\"\nstep = {{ message = \"4KiB\", mtu = 9000 }}\n{}\n{}{}{}",
        of.replace("\nof = \"write\"", ""),
        "ratio = { to = { mtu = 1500 }, of = \"write\", is = 1.9, within = \"5%\" }\n",
        claim("4KiB", "1.9"),
        claim("8KiB", "1.16"),
    );
    let analysis = analysed(&scenario(sweep, &goals), &steps);
    assert_eq!(analysis.goals[0].status, Status::Met, "{:#?}", analysis.goals[0]);
    let shown =
        |claim: &ClaimOutcome| (claim.score, claim.ours.map(|q| q.to_string()).unwrap_or_default());
    assert_eq!(shown(&analysis.claims[0]), (Score::Met, "1.90 ×".to_owned()));
    assert_eq!(shown(&analysis.claims[1]), (Score::Missed, "1.02 ×".to_owned()));
    // Without the other step there is nothing to hold it against.
    let alone = analysed(&scenario(sweep, &goals), &steps[1..2]);
    assert_eq!(alone.goals[0].status, Status::Undecided);
    assert_eq!(alone.claims[0].score, Score::Undecided);
}

#[test]
fn claims_of_each_kind() {
    #[track_caller]
    fn check(claim: &str, score: Score, ours: &str) {
        let text = scenario("", &format!("[[claim]]\nkind = \"held-out\"\n{claim}"));
        let found = analysed(&text, &[(&[], load())]).claims[0].clone();
        let shown = found.ours.map(|q| q.to_string()).unwrap_or_default();
        assert_eq!((found.score, shown.as_str()), (score, ours), "{found:#?}");
    }
    check("hop = \"far\"\nwrite = \"97% of wire\"", Score::Met, "1206 MB/s");
    check("hop = \"far/sender\"\ncpu = \"15%\"", Score::Met, "15%");
    check("hop = \"far/receiver\"\ncpu = \"15%\"", Score::Missed, "45%");
    check("balance = { streams = \"far\", within = \"3%\" }", Score::Met, "0.50%");
    check("balance = { streams = \"far\", within = \"0.3%\" }", Score::Missed, "0.50%");
}

/// Two runs of network loads are compared by what was received, and by the times of what was asked.
#[test]
fn two_runs_side_by_side() {
    use findings::comparison::{CompareOptions, Compared, Opinion, compare};
    let text = scenario("", "");
    let run = |load: NetLoad| {
        let mut sketch = NetSketch::of(&text);
        // The rate moves a little from run to run, so that there is an error to speak of.
        for (repetition, factor) in (0..).zip([0.999, 1.0, 1.001, 1.0]) {
            let rates = load.rates.iter().map(|rate| rate * factor).collect();
            sketch = sketch.step(&[], repetition, &[NetLoad { rates, ..load.clone() }]);
        }
        sketch.record()
    };
    let check = |before: NetLoad, after: NetLoad, metric: Compared, expected: Option<Opinion>| {
        let [(_a, before), (_b, after)] = [run(before), run(after)];
        let records = [&before, &after];
        let analyses = records.map(|record| analyse(record).expect("analysed"));
        let both: Vec<_> = records.into_iter().zip(&analyses).collect();
        let found = compare(&both, &CompareOptions::default()).expect("compared");
        let metrics = &found.against[0].steps[0].metrics;
        let opinion = metrics.iter().find(|m| m.metric == metric).map(|m| m.opinion);
        assert_eq!(opinion, expected, "{metric:?}: {metrics:#?}");
    };
    let at = |mb: f64| NetLoad { up: 2, down: 0, rates: vec![mb * 1e6], ..NetLoad::tcp() };
    check(at(500.0), at(600.0), Compared::Total, Some(Opinion::Better));
    check(at(500.0), at(400.0), Compared::Total, Some(Opinion::Worse));
    check(at(500.0), at(400.0), Compared::Read, None);
    check(at(500.0), at(400.0), Compared::P99, None);
    let asking = |ns: u64| NetLoad { message: 64, takes: Some(Ns(ns)), ..at(0.064) };
    check(asking(200_000), asking(300_000), Compared::Mean, Some(Opinion::Worse));
}
