//! The library: what lies in the folder, found by what people look for, taken along unchanged.

use super::http::Served;
use super::short_run;
use crate::prelude::*;
use crate::program::support::{Bench, slow_null};

/// The program's own forms of a record are those that the page gives.
#[test]
fn a_record_is_taken_along_as_the_program_writes_it() {
    let bench = Bench::new("");
    short_run(&bench, "a.wsr");
    let served = Served::start(&bench, &[]);
    let id = served.records(1)[0]["id"].as_str().expect("an identifier").to_owned();
    let take = |form: &str| served.get(&format!("/records/{id}/download/{form}"));
    assert_eq!(take("record").body, fs::read(bench.path("a.wsr")).expect("the record"));
    for (form, format) in [
        ("json", "json"),
        ("csv", "csv"),
        ("markdown", "markdown"),
        ("junit", "junit"),
        ("review", "html"),
    ] {
        let printed = bench.run(&["review", "a.wsr", "--format", format]).stdout;
        assert_eq!(take(form).text(), printed, "{form}");
    }
    let rows = bench.run(&["review", "a.wsr", "--format", "csv", "--rows", "interval"]).stdout;
    assert_eq!(take("intervals").text(), rows);
    let table = ["review", "a.wsr", "--rows", "interval", "-q", "-o", "a.parquet"];
    bench.expect(0, &table);
    assert_eq!(take("parquet").body, fs::read(bench.path("a.parquet")).expect("the table"));
    assert_eq!(take("shell").status, 404);
    let disposition = take("csv").header("content-disposition").map(str::to_owned);
    assert_eq!(disposition.as_deref(), Some("attachment; filename=\"a.csv\""));
    let review = served.get(&format!("/records/{id}/review"));
    assert_eq!(review.text(), take("review").text());
}

#[test]
fn records_are_found_by_what_people_look_for() {
    let bench = Bench::new(&slow_null("200ms").replace("slow", "Slow lab"));
    short_run(&bench, "a.wsr");
    fs::create_dir(bench.path("week")).expect("a folder");
    bench.expect(0, &["run", "s.toml", "-q", "--out", "week/b.wsr"]);
    fs::write(bench.path("broken.wsr"), b"SQLite format 3\0").expect("a file");
    fs::write(bench.path("other.txt"), b"text").expect("a file");
    let served = Served::start(&bench, &[]);
    let all = served.records(2);
    let id = |name: &str| {
        let one = all.iter().find(|one| one["name"] == json!(name)).expect(name);
        one["id"].as_str().expect("an identifier").to_owned()
    };
    let (a, b) = (id("a.wsr"), id("week/b.wsr"));
    let notes = json!({ "tags": ["weekly", "san"], "notes": "after the firmware" });
    assert_eq!(served.send("PUT", &format!("/api/v1/records/{b}/notes"), &notes).status, 200);
    let check = |query: &str, expected: &[&str]| {
        let found = served.document(&format!("/api/v1/records?{query}"));
        let names: Vec<&str> = found["records"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|one| one["name"].as_str())
            .collect();
        assert_eq!(names, expected, "{query}");
    };
    check("sort=title&q=", &["a.wsr", "week/b.wsr"]);
    check("q=slow+LAB", &["week/b.wsr"]);
    check("q=firmware", &["week/b.wsr"]);
    check("tag=weekly", &["week/b.wsr"]);
    check("q=slow+nowhere", &[]);
    check("verdict=no-goals&sort=title", &["a.wsr", "week/b.wsr"]);
    check("verdict=failed", &[]);
    check("producer=simulated", &[]);
    check("to=2001-01-01", &[]);
    check("from=2001-01-01&q=b.wsr", &["week/b.wsr"]);
    // What people say lies beside the record, which is as it was.
    let beside = fs::read_to_string(bench.path("week/b.wsr.notes.json")).expect("notes");
    assert!(beside.contains("after the firmware"), "{beside}");
    let compared = served.get(&format!("/compare?id={a}&id={b}"));
    assert!(compared.status == 200 && compared.text().contains("<!DOCTYPE html>"));
    assert_eq!(served.get(&format!("/compare?id={a}")).status, 400);
    let trend = served.get(&format!("/trend?id={a}&id={b}"));
    assert_eq!(trend.status, 200);
    assert!(trend.text().contains("no step in common") && !trend.text().contains("<table"));
    // The folder is watched.
    fs::remove_file(bench.path("a.wsr")).expect("it is ours");
    served.records(1);
    assert_eq!(served.get(&format!("/records/{a}")).status, 404);
}

/// Summaries are kept: a library of a thousand records is there at once. How long that takes is printed, not judged.
#[test]
fn a_library_of_a_thousand_records_is_there_at_once() {
    let bench = Bench::new("");
    short_run(&bench, "r0.wsr");
    for n in 1..1000 {
        fs::copy(bench.path("r0.wsr"), bench.path(&format!("r{n}.wsr"))).expect("room");
    }
    let served = Served::start(&bench, &["--read-only"]);
    let whole = |served: &Served| {
        let page = served.get("/").text();
        page.contains("1000 records") && !page.contains("still being read")
    };
    for _ in 0..1200 {
        if whole(&served) {
            break;
        }
        clock::sleep_until(clock::now().plus(Ns::millis(100)));
    }
    assert!(whole(&served), "all records are read");
    let kept = bench.path(".wirespeed-library.json");
    for _ in 0..300 {
        let text = fs::read_to_string(&kept).unwrap_or_default();
        if text.matches("\"stamp\"").count() == 1000 {
            break;
        }
        clock::sleep_until(clock::now().plus(Ns::millis(100)));
    }
    drop(served);
    let served = Served::start(&bench, &["--read-only"]);
    let from = clock::now();
    assert!(whole(&served), "the summaries were kept");
    let took = clock::now().since(from).0 / 1_000_000;
    println!("first page of 1,000 records: {took} ms, {} kB of memory", served.memory_kb());
}
