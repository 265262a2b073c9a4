//! Profiles of applications from the command line: listed, shown with their sources, and asked of a record.

use crate::program::support::Bench;
use serde_json::Value;

#[test]
fn profiles_are_listed_and_shown_with_their_sources() {
    let bench = Bench::new("");
    let list = bench.expect(0, &["profiles"]).stdout;
    assert!(list.lines().count() >= 12, "{list}");
    assert!(list.contains("exchange-2003-heavy") && list.contains("backup"), "{list}");
    let page = bench.expect(0, &["profiles", "show", "exchange-2003-heavy"]).stdout;
    assert!(page.contains("1.50 IOPS") && page.contains("20 ms"), "{page}");
    let json = bench.expect(0, &["profiles", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("one JSON document");
    // What follows the list after an empty line is a hint.
    let listed = list.lines().take_while(|line| !line.is_empty()).count();
    assert_eq!(json["profiles"].as_array().map(Vec::len), Some(listed));
}

#[test]
fn a_misspelt_profile_is_answered_with_the_nearest() {
    let bench = Bench::new("");
    for args in [
        &["profiles", "show", "exchange-2003-heavi"][..],
        &["review", "none.wsr", "--project", "exchange-2003-heavi"],
    ] {
        let said = bench.expect(2, args).stderr;
        assert!(said.contains("exchange-2003-heavy"), "{said}");
    }
}

#[test]
fn a_record_that_did_not_ask_can_be_asked() {
    let bench = Bench::new("");
    let load = ["disk", "d.bin", "--create", "4MiB", "--buffered", "--rate", "200 IOPS"];
    let short = ["--depth", "4", "--warmup", "0s", "--time", "1s", "--quiet", "--out", "r.wsr"];
    bench.expect(0, &[&load[..], &short].concat());
    let plain = bench.expect(0, &["review", "r.wsr"]).stdout;
    assert!(!plain.contains("Exchange"), "{plain}");
    for format in ["text", "markdown", "html", "json"] {
        let args = ["review", "r.wsr", "--project", "exchange-2003-heavy", "--format", format];
        let asked = bench.expect(0, &args).stdout;
        assert!(asked.contains("Exchange Server 2003, heavy"), "{format}: {asked}");
    }
}
