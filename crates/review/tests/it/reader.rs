//! Three tasks of a reader who has only the page: the answer to the title, what limits, and what to be careful about. Each
//! is found among what the first screen shows, by what its texts say.

use crate::support::{Sketch, Work};
use clock::Ns;
use findings::evidence;
use record::{Level, Record};
use scenario::Step;

const DEMO: &str = include_str!("../../../../scenarios/demo.toml");
const LAB2: &str = include_str!("../../../../scenarios/lab2-esx-8gb.toml");
const LAB3: &str = include_str!("../../../../scenarios/lab3-backup.toml");
const LAB5: &str = include_str!("../../../../scenarios/lab5-iscsi.toml");
const LAB4: &str = include_str!("../../../../scenarios/lab4-million-iops.toml");
const SAN: &str = include_str!("../../../../scenarios/san.toml");

/// What the first screen of a page says, without what is folded away: from the question to the last warning.
fn first_screen(record: &Record) -> String {
    let analysis = findings::analyse(record).expect("the record is analysed");
    let evidence = evidence(record, &analysis).expect("the evidence is gathered");
    let page = review::html(&analysis, &evidence, &record.head().scenario);
    let (_, page) = page.split_once("<header class=\"question\"").expect("a question");
    let end = ["<section id=\"map\"", "<section id=\"charts-section\"", "<section id=\"steps\""];
    let end = end.iter().filter_map(|mark| page.find(mark)).min().expect("what comes next");
    let mut shown = String::new();
    for part in page[..end].split("<details") {
        shown.push_str(part.split_once("</details>").map_or(part, |(_, rest)| rest));
    }
    plain(&shown)
}

/// A page's words, without tags.
fn plain(html: &str) -> String {
    let words = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text));
    words.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The tasks: each text is on the first screen, the answer before the limit.
#[track_caller]
fn check(shown: &str, answer: &str, limit: &str, caution: &str) {
    let place = |what: &str, text: &str| {
        shown.find(text).unwrap_or_else(|| panic!("the {what} {text:?} is not in: {shown}"))
    };
    assert!(place("answer", answer) < place("limit", limit), "{shown}");
    place("caution", caution);
}

fn block(step: &Step) -> u64 {
    let value = step.settings.iter().find(|(key, _)| key == "block");
    value.map_or(32_768, |(_, value)| units::Bytes::parse(value).unwrap().0)
}

/// So many workers share a rate, and none does more than so many operations a second.
fn shared(rate: f64, workers: f64, block: u64, most: f64) -> Work {
    let ops = (rate / workers / block as f64).min(most);
    Work { ops: ops as u64, block, service_ns: 4.0 / ops * 1e9, ..Work::default() }
}

#[test]
fn the_demo() {
    let rate = |step: &Step| match step.settings.iter().any(|(_, value)| value == "4gfc") {
        true => 413.2e6,
        false => 826.5e6,
    };
    let sketch =
        Sketch::of(DEMO).passed("store.p1", 1.0).busy("host.cpu", |step| match block(step) {
            0..=2048 => 0.995,
            _ => 0.3,
        });
    let (_dir, record) = sketch
        .event(Level::Warning, "over-subscribed", "8 workers share 2 processors")
        .record(|step, _| {
            let block = if step.plan == "ladder" { block(step) } else { 131_072 };
            shared(rate(step), 8.0, block, 12_000.0)
        });
    let shown = first_screen(&record);
    check(
        &shown,
        "8Gb carries 826 MB/s, 4Gb 413 MB/s: 2.00 ×",
        "ladder limited by",
        "8 workers share 2 processors",
    );
    assert!(shown.contains("the host's CPU (host.cpu"), "{shown}");
}

#[test]
fn lab_2() {
    let sketch = Sketch::of(LAB2)
        .fact("run", "simulated", "yes")
        .fact("esx.hba8", "assumed/duplex_rate", "a reason")
        .busy("esx.hba8:0", |step| if block(step) > 8192 { 0.999 } else { 0.5 })
        .event_at(Ns::secs(1), "none", "nothing");
    let (_dir, record) = sketch.record(|step, group| {
        let old = group.starts_with("old") || step.plan.ends_with("old");
        let workers: usize = step.loads.iter().map(|load| load.on.len()).sum();
        shared(if old { 412e6 } else { 825e6 }, workers as f64, block(step), 7500.0)
    });
    let shown = first_screen(&record);
    check(&shown, "8Gb carries 8", "limited by", "Simulated, not measured");
    assert!(shown.contains(", 4Gb 4") && shown.contains(": 2.0"), "{shown}");
    assert!(!shown.contains("path imbalance"), "a planned fault is none: {shown}");
    assert!(shown.contains("esx.hba8:0 failed at 1 s"), "{shown}");
}

#[test]
fn lab_3() {
    let sketch = Sketch::of(LAB3)
        .fact("run", "simulated", "yes")
        .busy("brocade.hba", |step| if step.plan == "duplex-brocade" { 0.999 } else { 0.0 });
    let (_dir, record) = sketch.record(|_, group| {
        let (host, _) = group.split_once('.').unwrap_or((group, ""));
        let rate = match host {
            "brocade" => 1657e6,
            "qlogic" => 1363e6,
            _ => 1281e6,
        };
        shared(rate, 8.0, 262_144, f64::MAX)
    });
    let shown = first_screen(&record);
    let answer =
        "Brocade 815 carries 1657 MB/s, QLogic QLE2560 1361 MB/s, Emulex LPe12000 1279 MB/s";
    check(&shown, answer, "duplex-brocade limited by", "Simulated, not measured");
}

#[test]
fn lab_5() {
    let sketch =
        Sketch::of(LAB5).fact("run", "simulated", "yes").busy("starwind.controller0", |_| 0.999);
    let (_dir, record) = sketch.record(|step, _| {
        let rate = if step.plan == "vm-both" { 656e6 } else { 473e6 };
        let workers: usize = step.loads.iter().map(|load| load.on.len()).sum();
        shared(rate, workers as f64, block(step), f64::MAX)
    });
    let shown = first_screen(&record);
    check(&shown, "Peak throughput: 65", "limited by", "Simulated, not measured");
}

#[test]
fn lab_4() {
    let members = |step: &Step| {
        let value = step.settings.iter().find(|(key, _)| key == "members");
        value.map_or(6.0, |(_, value)| value.parse::<f64>().unwrap())
    };
    // Intervals of a sketch are whole seconds.
    let text = LAB4.replace("\"500ms\"", "\"1s\"");
    let sketch = Sketch::of(&text)
        .fact("run", "simulated", "yes")
        .busy("fabric:0", move |step| if members(step) > 5.0 { 0.999 } else { 0.9 });
    let (_dir, record) = sketch.record(move |step, _| {
        // A hundredth of 225,000 operations a second of each VM, and of 1.2 million in all.
        let all = (2250.0 * members(step)).min(12_030.0);
        Work {
            ops: (all / members(step)) as u64,
            service_ns: 1e6,
            testifies: false,
            ..Work::default()
        }
    });
    let shown = first_screen(&record);
    check(&shown, "the 6th adds", "limited by", "Simulated, not measured");
}

#[test]
fn a_failed_over_run() {
    let sketch = Sketch::of(SAN)
        .passed("store.p1", 0.5)
        .passed("store.p2", 0.5)
        .fact("store.p1", "portal", "127.0.0.1:35867")
        .event_at(Ns::secs(6), "fault-kill", "store.p1 was killed")
        .event_at(Ns::millis(6100), "path-lost", "127.0.0.1:35867: lost (closed)")
        .event_at(Ns::secs(11), "fault-revive", "store.p1 was revived")
        .event_at(Ns::secs(16), "fault-slow", "store.p2 speed changed")
        .each_second(|_, _, second| match second {
            0..5 | 10..15 => Work { ops: 1500, block: 65_536, ..Work::default() },
            5..10 => Work { ops: 750, block: 65_536, service_ns: 3e6, ..Work::default() },
            _ => Work { ops: 300, block: 65_536, ..Work::default() },
        });
    let (_dir, record) = sketch.record(|_, _| Work::default());
    let shown = first_screen(&record);
    check(&shown, "store.p1 was killed at 5 s, until 10 s", "Time to fail over", "Closed loop");
    assert!(shown.contains("Before 197 MB/s, p99"), "{shown}");
    assert!(shown.contains("No I/O failed"), "{shown}");
    assert!(!shown.contains("path imbalance") && !shown.contains("35867"), "{shown}");
}
