//! What is claimed of a system whose truth is known, by the samples that its files would have: no limit that was half full all the
//! time, no room where a sample was full, no neighbour without anybody who suffers.

use super::{Feed, VOLUMES, options, recorded, volumes};
use findings::{Analysis, Limiter};
use import::monitor::{Map, MonitorFormat, NamedWindow, Options, Order, Span, Topology, read};

/// A file of samples of so many seconds: of each the volumes with reads a second, their time in ms, kB/s and how busy they are.
fn feed(
    seconds: i64,
    samples: usize,
    row: impl Fn(usize) -> Vec<(&'static str, [f64; 4])>,
) -> Feed {
    let mut text = "Time,Volume,Reads,ms,KB/s,Busy\n".to_owned();
    for at in 0..samples {
        for (name, [reads, ms, kb, busy]) in row(at) {
            let cell = |value: f64| if value.is_nan() { String::new() } else { value.to_string() };
            let time = 1_700_000_000 + at as i64 * seconds;
            let cells = [reads, ms, kb, busy].map(cell).join(",");
            text += &format!("{time},{name},{cells}\n");
        }
    }
    volumes(&text)
}

fn explained(feed: Feed) -> Analysis {
    let (_dir, record) = recorded(&[feed], &Topology::default());
    findings::analyse(&record).unwrap()
}

/// The statements of a sort, of all windows.
fn said(analysis: &Analysis, code: &str) -> Vec<String> {
    let of = analysis.monitoring.iter().filter(|finding| finding.code == code);
    of.map(|finding| finding.text.clone()).collect()
}

/// A few samples that are missing take no figure away; of what is known in part of the time alone nothing is said.
#[test]
fn a_hop_may_miss_some_samples() {
    for (missing, known) in [(0, Some(0.3)), (5, Some(0.3)), (20, None)] {
        let busy = |at: usize| if (10..10 + missing).contains(&at) { f64::NAN } else { 30.0 };
        let found = explained(feed(60, 60, |at| vec![("v1", [1000.0, 2.0, 8000.0, busy(at)])]));
        let hops = &found.steps[0].attribution.as_ref().unwrap().hops;
        let share = hops.iter().find(|hop| hop.hop == "v1").and_then(|hop| hop.utilization);
        let near = |share: f64| (share * 100.0).round() / 100.0;
        assert_eq!(share.map(near), known, "{missing} of 60 are missing");
    }
}

/// A switch that was looked at for a third of the time: what it counted then is said, and of which time that is.
#[test]
fn credit_and_errors_of_a_part_of_the_window_are_told() {
    let shot = |minute: i64| {
        let time = 1_700_000_000 + (20 + minute) * 60;
        let at = jiff::Timestamp::from_second(time).unwrap().strftime("%a %b %d %H:%M:%S UTC %Y");
        format!(
            "{at}\nsw1:admin> portstatsshow 4\nstat_wtx            {}   4-byte words transmitted\n\
             tim_txcrd_z         {}  Time TX Credit Zero (2.5Us ticks)\n\
             er_crc              {}           Frames with CRC errors\n\n",
            1_000_000_000 + minute * 600_000_000,
            // Half of the time: 30 s a minute.
            1_000_000 + minute * 12_000_000,
            10 + minute,
        )
    };
    let text: String = (0..=20).map(shot).collect();
    let switch = super::fed(text.as_bytes());
    let host = feed(60, 60, |_| vec![("v1", [1000.0, 2.0, 8000.0, 30.0])]);
    let (_dir, record) = recorded(&[host, switch], &Topology::default());
    let found = findings::analyse(&record).unwrap();
    let credit = said(&found, "credit-wait");
    let whole = credit.iter().find(|text| text.contains("of the window that its file covers"));
    let whole = whole.unwrap_or_else(|| panic!("{credit:?}"));
    assert!(whole.contains("50% of the 33% of the window"), "{whole}");
    assert!(
        said(&found, "errors").iter().any(|text| text.contains("20 errors")),
        "{:?}",
        said(&found, "errors")
    );
}

/// A guest's file beside its host's: nothing tells that they count the same, so it is said that they may.
#[test]
fn loads_of_a_host_and_of_what_may_be_its_guest_are_said_to_be_added() {
    let map = |kind: &str| VOLUMES.replace("volume", kind);
    let of = |kind: &str, name: &str| {
        let mut text = "Time,Volume,Reads,ms,KB/s,Busy\n".to_owned();
        (0..20).for_each(|at| text += &format!("{},{name},500,2,4000,\n", 1_700_000_000 + at * 60));
        let maps = vec![Map::parse("m", &map(kind)).unwrap()];
        read(kind, MonitorFormat::Mapped, text.as_bytes(), &Options { maps, ..options() }).unwrap()
    };
    for (one, other, told) in [
        (of("lun-queue", "naa.1"), of("block-device", "sda"), true),
        (of("lun-queue", "naa.1"), of("lun-queue", "naa.2"), false),
    ] {
        let (_dir, record) = recorded(&[one, other], &Topology::default());
        let found = record.events().iter().any(|event| event.code == "loads-perhaps-twice");
        assert_eq!(found, told, "{:?}", record.events());
    }
}

/// Incidents that are no windows are counted.
#[test]
fn incidents_beyond_the_worst_are_told() {
    for (every, told) in [(20, Some("at 6 times")), (40, None)] {
        let ms = |at: usize| if at % every == 7 { 20.0 } else { 2.0 };
        let row = |at: usize| vec![("v1", [1000.0, ms(at), 8000.0, 30.0])];
        let (_dir, record) = recorded(&[feed(60, 120, row)], &Topology::default());
        let events = record.events();
        let of = events.iter().find(|event| event.code == "incidents-left-out");
        let found = of.map(|event| event.text.as_str());
        assert_eq!(found.is_some(), told.is_some(), "{found:?}");
        assert!(told.is_none_or(|words| found.unwrap().contains(words)), "{found:?}");
    }
}

/// Of time that no file covers nothing is assumed: a window over it has the rates of the rest.
#[test]
fn a_gap_counts_neither_for_nor_against_anything() {
    let gap = |at: usize| (20..40).contains(&at);
    let row = |at: usize| if gap(at) { vec![] } else { vec![("v1", [1000.0, 2.0, 8000.0, 30.0])] };
    let second = 1_000_000_000;
    let from = 1_700_000_000 * second;
    let all = NamedWindow {
        name: "all".to_owned(),
        span: Span { from: from - 60 * second, to: from + 59 * 60 * second },
    };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wsr");
    let order = Order {
        feeds: &[feed(60, 60, row)],
        windows: &[all],
        facts: Vec::new(),
        topology: &Topology::default(),
        producer: "a test".to_owned(),
        title: "t".to_owned(),
    };
    import::monitor::write(&path, &order).unwrap();
    let record = record::Record::open(&path).unwrap();
    let found = findings::analyse(&record).unwrap();
    let step = found.steps.iter().find(|step| step.name.contains("all")).unwrap();
    assert_eq!(step.void.len(), 1, "{:?}", step.void);
    assert!((step.total.both.iops - 1000.0).abs() < 1.0, "{}", step.total.both.iops);
    let hop = step.attribution.as_ref().unwrap().hops.iter().find(|hop| hop.hop == "v1").unwrap();
    assert!(hop.utilization.is_some_and(|share| (share - 0.3).abs() < 0.001), "{hop:?}");
    assert!(found.warnings.iter().any(|warning| warning.code == "gaps-left-out"));
}

#[test]
fn what_is_half_full_all_the_time_limits_nothing() {
    for busy in [40.0, 55.0, 70.0] {
        let steady = explained(feed(60, 30, |_| vec![("v1", [1000.0, 2.0, 8000.0, busy])]));
        for step in &steady.steps {
            let limit = &step.attribution.as_ref().unwrap().limit;
            assert!(!matches!(limit, Limiter::Hop { .. }), "{busy}: {limit:?}");
        }
    }
    // Full in the samples in which it is used: nothing else is known, and it is named.
    let bursts = explained(feed(60, 30, |at| {
        let on = f64::from(u8::from(at % 3 != 0));
        vec![("v1", [3000.0 * on, 10.0, 24_000.0 * on, 98.0 * on])]
    }));
    let limit = &bursts.steps[0].attribution.as_ref().unwrap().limit;
    assert!(matches!(limit, Limiter::Hop { hop, .. } if hop == "v1"), "{limit:?}");
}

#[test]
fn room_is_that_of_the_fullest_sample() {
    // A quarter of the samples are full.
    let row = |at: usize| {
        let busy = if at.is_multiple_of(4) { 100.0 } else { 8.0 };
        vec![("v1", [busy * 20.0, 2.0, busy * 160.0, busy])]
    };
    let found = said(&explained(feed(300, 32, row)), "headroom");
    assert!(
        found[0].contains("v1 was full, in its fullest sample of 5 min (31% over"),
        "{found:?}"
    );
    assert!(!found[0].contains("may grow"), "{found:?}");
    let row = |at: usize| {
        let busy = if at.is_multiple_of(4) { 60.0 } else { 20.0 };
        vec![("v1", [busy * 20.0, 2.0, busy * 160.0, busy])]
    };
    let found = said(&explained(feed(20, 32, row)), "headroom");
    assert!(
        found[0]
            .contains("60% in its fullest sample of 20 s (30% over the window), which leaves 40%"),
        "{found:?}"
    );
    assert!(found[0].contains("may grow by 67%"), "{found:?}");
}

#[test]
fn a_mean_latency_is_that_of_the_operations_whose_latency_is_known() {
    let row = |_| {
        vec![("v1", [900.0, f64::NAN, 7200.0, f64::NAN]), ("v2", [100.0, 20.0, 800.0, f64::NAN])]
    };
    let found = explained(feed(60, 12, row));
    let both = &found.steps[0].total.both;
    assert!((both.mean_ns.unwrap() - 20e6).abs() < 1e4, "{:?}", both.mean_ns);
    let told = said(&found, "latency-of-some");
    assert!(told[0].contains("10% of the operations: 20.0 ms"), "{told:?}");
    let all = explained(feed(60, 12, |_| vec![("v1", [900.0, 1.0, 7200.0, f64::NAN])]));
    assert!(said(&all, "latency-of-some").is_empty());
}

#[test]
fn a_neighbour_is_noisy_where_others_are_slower() {
    // In the last sixth one takes most; `others` is their latency then, and small I/Os are many and few bytes.
    let neighbours = |others: f64, size: f64| {
        explained(feed(60, 36, |at| {
            let late = at >= 30;
            let (ops, ms) = if late { (20_000.0, 20.0) } else { (200.0, 1.0) };
            let quiet = [200.0, if late { others } else { 1.0 }, 1600.0, f64::NAN];
            vec![("a", [ops, ms, ops * size, f64::NAN]), ("b", quiet), ("c", quiet)]
        }))
    };
    let found = said(&neighbours(10.0, 8.0), "noisy-neighbour");
    assert!(
        found.iter().any(|text| text.contains("a takes") && text.contains("throughput")),
        "{found:?}"
    );
    assert!(said(&neighbours(1.0, 8.0), "noisy-neighbour").is_empty());
}

/// Windows of a user, in the time that files cover and outside of it.
#[test]
fn a_window_is_no_longer_than_what_is_known() {
    let feeds = [feed(300, 12, |_| vec![("v1", [1000.0, 2.0, 8000.0, 40.0])])];
    let from = 1_700_000_000_000_000_000_i64;
    let span = |from: i64, to: i64| import::monitor::Span { from, to };
    let second = 1_000_000_000;
    let windows = [
        ("long", span(from - 86_400 * second, from + 600 * second)),
        ("short", span(from + 310 * second, from + 320 * second)),
    ];
    let windows: Vec<import::monitor::NamedWindow> = windows
        .into_iter()
        .map(|(name, span)| import::monitor::NamedWindow { name: name.to_owned(), span })
        .collect();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.wsr");
    let order = import::monitor::Order {
        feeds: &feeds,
        windows: &windows,
        facts: Vec::new(),
        topology: &import::monitor::topology(
            "[[hop]]\nname = \"v1\"\noperations = 5000\n[[hop]]\nname = \"v2\"\noperations = 5000\n",
            &|_| Ok(0.0),
        )
        .unwrap(),
        producer: "a test".to_owned(),
        title: "t".to_owned(),
    };
    import::monitor::write(&path, &order).unwrap();
    let record = record::Record::open(&path).unwrap();
    let analysis = findings::analyse(&record).unwrap();
    for step in &analysis.steps {
        assert!((step.total.both.iops - 1000.0).abs() < 1.0, "{}", step.total.both.iops);
    }
    let said = |code: &str| -> Vec<&str> {
        let of = record.events().iter().filter(|event| event.code == code);
        of.map(|event| event.text.as_str()).collect()
    };
    let asked = said("window-as-counted");
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(
        asked[0].contains("of the window long") && asked[0].contains("the files cover 900 s"),
        "{asked:?}"
    );
    assert!(asked[1].contains("10 s of a sample of 300 s"), "{asked:?}");
    assert!(
        said("topology-unused")[0].starts_with("1 of 2 entries"),
        "{:?}",
        said("topology-unused")
    );
}

#[test]
fn a_unit_fits_its_measure() {
    let with = |unit: &str| {
        VOLUMES.replace(
            "measure = \"read-latency\", unit = \"ms\"",
            &format!("measure = \"read-latency\"{unit}"),
        )
    };
    for unit in [", unit = \"MB/s\"", ""] {
        let error = Map::parse("m", &with(unit)).unwrap_err();
        assert!(error.contains("these are: ns, us, ms, s"), "{error}");
    }
    let maps = vec![Map::parse("m", &VOLUMES.replace(", unit = \"%\"", "")).unwrap()];
    let text =
        "Time,Volume,Reads,ms,KB/s,Busy\n1700000000,v1,10,1,80,75\n1700000060,v1,10,1,80,75\n";
    let options = Options { maps, ..options() };
    let error = read("f", MonitorFormat::Mapped, text.as_bytes(), &options).unwrap_err();
    assert!(error.text.contains("`75` is 7500% of the time"), "{error}");
}
