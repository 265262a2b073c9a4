//! Searches, end to end, over the rate of an open loop, so that the answer does not depend on the machine.

use crate::program::support::{Bench, open};
use serde_json::Value;

fn scenario(search: &str) -> String {
    format!(
        "[scenario]\ntitle = \"search\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
         [workload.w]\nblock = \"4KiB\"\nrate = \"200 IOPS\"\n\
         [plan]\nworkload = \"w\"\non = \"n\"\nwarmup = \"0s\"\nmeasure = \"500ms\"\nsearch = {search}\n"
    )
}

/// A rate of at most 300: nothing but the rate itself decides.
const MOST: &str = "{ most = \"iops\", while = [\"iops <= 300 IOPS\", \"errors <= 0\"], to = \"800 IOPS\", within = \"20%\" }";

#[test]
fn the_edge_of_a_limit_is_found_recorded_and_found_again() {
    let bench = Bench::new(&scenario(MOST));
    let ended = bench.expect(0, &["run", "s.toml", "--out", "r.wsr"]);
    let record = open(&bench.path("r.wsr"));
    let loads: Vec<String> = record
        .steps()
        .iter()
        .map(|step| format!("{}#{}", step.settings[0].1.replace(" IOPS", ""), step.repetition))
        .collect();
    assert_eq!(loads, ["100#0", "400#0", "200#0", "283#0", "336#0", "336#1", "283#1"]);
    assert!(ended.stderr.contains("at most 30] rate=100 IOPS"), "{}", ended.stderr);
    assert!(
        ended.stderr.contains("over rate: holds at 200 IOPS, not at 400 IOPS)"),
        "{}",
        ended.stderr
    );
    let said = record.events().iter().find(|e| e.code == "search-ended").expect("an event");

    let json: Value =
        serde_json::from_str(&bench.expect(0, &["review", "r.wsr", "--format", "json"]).stdout)
            .expect("JSON");
    let search = &json["searches"][0];
    assert_eq!((&search["end"], &search["as_the_rule_asks"]), (&"bracketed".into(), &true.into()));
    assert_eq!(
        (&search["lower"]["load"], &search["upper"]["load"]),
        (&283.0.into(), &336.0.into())
    );
    assert_eq!(json["run"]["steps_planned"], json["run"]["steps_recorded"]);
    let answer = search["answer"].as_str().expect("a sentence");
    assert!(said.text.starts_with(answer), "run: {}\nreview: {answer}", said.text);
}

#[test]
fn a_limit_that_always_holds_is_said_never_to_be_violated() {
    let search = "{ most = \"iops\", while = \"errors <= 0\", to = \"400 IOPS\", repeats = 1 }";
    let bench = Bench::new(&scenario(search));
    let ended =
        bench.expect(0, &["run", "s.toml", "--quiet", "--agent", "child", "--out", "r.wsr"]);
    let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("; never violated up to 400 IOPS."), "{}", ended.stdout);
    assert!(words.contains("increase `to`"), "{}", ended.stdout);
    assert_eq!(open(&bench.path("r.wsr")).steps().len(), 2);
}

#[test]
fn a_limit_that_never_holds_is_said_to_be_out_of_reach() {
    let search = "{ most = \"iops\", while = \"iops >= 1M IOPS\", to = \"400 IOPS\" }";
    let ended =
        Bench::new(&scenario(search)).expect(0, &["run", "s.toml", "--quiet", "--out", "r.wsr"]);
    let words = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(": none; already at rate 100 IOPS"), "{}", ended.stdout);
}

#[test]
fn a_plan_tells_how_long_a_search_takes_at_most() {
    let bench = Bench::new(&scenario(MOST));
    let text = bench.expect(0, &["plan", "s.toml"]).stdout;
    assert!(text.contains("at most 30 steps, 15 s of load, seed 1"), "{text}");
    assert!(
        text.contains("most IOPS while IOPS ≤ 300 IOPS and errors ≤ 0, over rate, from 100 IOPS to 800 IOPS: at most 30"),
        "{text}"
    );
    let json: Value =
        serde_json::from_str(&bench.expect(0, &["plan", "s.toml", "--format", "json"]).stdout)
            .expect("JSON");
    assert_eq!((&json["searches"][0]["steps_max"], &json["load_s"]), (&30.into(), &15.0.into()));
}
