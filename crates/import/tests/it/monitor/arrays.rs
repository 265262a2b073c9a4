//! Exports of arrays as other countries, other pages and other people's scripts leave them.

use super::{MS, cut_anywhere, fed, figure, near};
use import::monitor::{Flow, Leg, Map, Measure, MonitorFormat, Options, read};

/// The first interval's end, in seconds since 1970.
fn first(feed: &import::monitor::Feed) -> i64 {
    feed.rows[0].to / 1_000_000_000
}

#[test]
fn thousands_are_no_fractions_where_the_file_shows_it() {
    let nar = |a: &str, b: &str, c: &str| {
        format!(
            "Object Name,Poll Time,Utilization (%),Response Time (ms),Read Throughput (IO/s)\n\
             SP A,05/06/2024 09:00:00,\"{a}\",\"{c}\",\"{b}\"\nSP A,05/06/2024 09:05:00,\"{a}\",\"{c}\",\"{b}\"\n"
        )
    };
    for (a, b, c) in [("45.5", "3,250", "0.8"), ("45,5", "3.250", "0,8"), ("45.5", "3250", ".8")] {
        let feed = fed(nar(a, b, c).as_bytes());
        near(figure(&feed, "SP A", Measure::Ops(Flow::Read)), 3250.0);
        near(figure(&feed, "SP A", Measure::Busy), 0.455);
        near(figure(&feed, "SP A", Measure::Time(Leg::All, Flow::Any)), 0.8 * MS);
        // A NAR archive has the month first, whatever day it is.
        assert_eq!(first(&feed), 1_714_986_000, "2024-05-06 09:00");
    }
    // Nothing tells: said.
    let feed = fed(nar("45", "3,250", "8").as_bytes());
    assert!(feed.notes.iter().any(|note| note.code == "decimal-mark"), "{:?}", feed.notes);
    // Grouped as in France and in Switzerland.
    for thousands in ["3\u{a0}250", "3\u{202f}250", "3'250"] {
        let feed = fed(nar("45", thousands, "8").as_bytes());
        near(figure(&feed, "SP A", Measure::Ops(Flow::Read)), 3250.0);
    }
}

#[test]
fn times_of_places_that_are_listed_one_after_the_other_are_read_together() {
    let map = "kind = \"volume\"\ntime = \"T\"\nplace = \"V\"\nzone = \"Europe/Berlin\"\n[column]\n\"R\" = { measure = \"reads\" }\n";
    let maps = vec![Map::parse("mine", map).unwrap()];
    let rows = |times: &[&str]| {
        let of = |volume: &str| {
            times
                .iter()
                .enumerate()
                .map(|(n, t)| format!("{t},{volume},{}\n", n * 100))
                .collect::<String>()
        };
        format!("T,V,R\n{}{}", of("a"), of("b"))
    };
    let feed = |text: &str| {
        read(
            "f",
            MonitorFormat::Mapped,
            text.as_bytes(),
            &Options { maps: maps.clone(), ..Options::default() },
        )
    };
    // Day and month: the eleventh follows the tenth, at each volume.
    let text = rows(&["10/04/2024 09:00:00", "11/04/2024 09:00:00", "12/04/2024 09:00:00"]);
    let days = feed(&text).unwrap();
    assert_eq!((days.rows.len(), days.rows[1].to - days.rows[0].to), (3, 86_400_000_000_000));
    // The hour that comes twice in October comes twice for each volume.
    let text = rows(&[
        "2024-10-27 02:20:00",
        "2024-10-27 02:40:00",
        "2024-10-27 02:00:00",
        "2024-10-27 02:20:00",
        "2024-10-27 02:40:00",
        "2024-10-27 03:00:00",
    ]);
    let hours = feed(&text).unwrap();
    assert_eq!(hours.rows.len(), 6);
    for volume in ["a", "b"] {
        near(figure(&hours, volume, Measure::Ops(Flow::Read)), 250.0);
    }
}

#[test]
fn seconds_and_milliseconds_since_1970_are_times() {
    let header = "timestamp,StorageGroup,HostReads,HostWrites,HostMBReads,ReadResponseTime\n";
    for unit in [1, 1000] {
        let row = |at: i64| format!("{},sg1,1000,500,7.8125,0.5\n", at * unit);
        let text = format!("{header}{}{}", row(1_715_072_400), row(1_715_072_700));
        let feed = fed(text.as_bytes());
        assert_eq!(first(&feed), 1_715_072_400);
        near(figure(&feed, "sg1", Measure::Bytes(Flow::Read)), 7.8125 * 1024.0 * 1024.0);
        near(figure(&feed, "sg1", Measure::Time(Leg::All, Flow::Read)), 0.5 * MS);
        assert_eq!(feed.rows[0].seconds(), 300.0);
        cut_anywhere(text.as_bytes(), MonitorFormat::Mapped);
    }
}

#[test]
fn an_export_is_the_same_in_utf_16_with_other_line_ends_and_without_columns() {
    let text = "Time,Name,Host IOs/sec,Host MBs Read/sec,Response Time (ms)\n\
                2024-05-07 09:00:00,lun1,1000,10,0.5\n2024-05-07 09:01:00,lun1,1000,10,0.5\n";
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    for bytes in [text.as_bytes(), &wide, marked.as_bytes()] {
        let feed = fed(bytes);
        near(figure(&feed, "lun1", Measure::Ops(Flow::Any)), 1000.0);
        near(figure(&feed, "lun1", Measure::Time(Leg::All, Flow::Any)), 0.5 * MS);
    }
    // A column that is not there is absent, not zero.
    let without = text.replace(",Response Time (ms)", "").replace(",0.5\n", "\n");
    let feed = fed(without.as_bytes());
    assert!(figure(&feed, "lun1", Measure::Time(Leg::All, Flow::Any)).is_nan());
}

#[test]
fn pures_times_with_the_letters_of_a_zone_are_moved_by_it() {
    let pure = |zone: &str| {
        let row = |time: &str| format!("vol1,2024-05-07 {time} {zone},86.04M,0,3.42K,0,688,0\n");
        format!(
            "Name,Time,B/s (read),B/s (write),op/s (read),op/s (write),us/op (read),us/op (write)\n{}{}",
            row("11:00:00"),
            row("11:00:30")
        )
    };
    for (zone, at) in [("CEST", 1_715_072_400), ("+02", 1_715_072_400), ("PDT", 1_715_104_800)] {
        let feed = fed(pure(zone).as_bytes());
        assert_eq!(first(&feed), at, "{zone}");
    }
    let text = pure("CST");
    let feed = read("f", MonitorFormat::Mapped, text.as_bytes(), &Options::default()).unwrap();
    assert!(
        feed.assumed.iter().any(|(_, why)| why.contains("several meanings")),
        "{:?}",
        feed.assumed
    );
}

#[test]
fn a_switch_in_germany_is_read_like_one_in_california() {
    let look = |date: &str, words: u64| {
        format!(
            "sw1:admin> date\n{date}\nsw1:admin> portstats64show 3\nstat64_wtx      0           top_int : 4-byte words transmitted\n                {words}   bottom_int : 4-byte words transmitted\n\n"
        )
    };
    for dates in [
        ["Di 7. Mai 11:00:00 CEST 2024", "Di 7. Mai 11:00:10 CEST 2024"],
        ["Tue May  7 02:00:00 PDT 2024", "Tue May  7 02:00:10 PDT 2024"],
        ["mar. 07 mai 2024 11:00:00 CEST", "mar. 07 mai 2024 11:00:10 CEST"],
    ] {
        let text = look(dates[0], 1000) + &look(dates[1], 500_001_000);
        let feed = fed(text.as_bytes());
        near(figure(&feed, "port 3", Measure::Bytes(Flow::Read)), 2e8);
        assert_eq!(first(&feed), 1_715_072_410, "{dates:?}");
    }
    let every = "sw:admin> portperfshow -t 10\n  0      1\n==========\n 1.2m  500.0k\n\n  0      1\n==========\n 1.2m  500.0k\n";
    assert_eq!(fed(every.as_bytes()).rows[1].seconds(), 10.0);
}

/// Pure prints the sum of all volumes below them; asked for it alone, nothing else.
#[test]
fn the_sum_of_all_volumes_is_no_volume() {
    let row = |name: &str, time: &str, reads: u32| format!("{name},{time},0,0,{reads},0,100,0\n");
    let text = |names: &[(&str, u32)]| {
        let rows = ["2024-05-06 09:00:00", "2024-05-06 09:00:30"]
            .iter()
            .flat_map(|time| names.iter().map(move |(name, reads)| row(name, time, *reads)));
        "Name,Time,B/s (read),B/s (write),op/s (read),op/s (write),us/op (read),us/op (write)\n"
            .to_owned()
            + &rows.collect::<String>()
    };
    let feed = fed(text(&[("v1", 10), ("v2", 20), ("(total)", 30)]).as_bytes());
    let names: Vec<&str> = feed.places.iter().map(|place| place.name.as_str()).collect();
    assert_eq!(names, ["v1", "v2"]);
    near(
        figure(&fed(text(&[("(total)", 30)]).as_bytes()), "(total)", Measure::Ops(Flow::Read)),
        30.0,
    );
}

#[test]
fn objects_that_are_asked_one_after_the_other_are_of_one_poll() {
    let line = |at: u32, name: &str, busy: u32| {
        format!("{name},05/06/2024 09:{:02}:{:02},{busy},1000,2\n", at / 60, at % 60)
    };
    let text: String = (0..6)
        .map(|n| {
            line(n * 300, "SP A", 20)
                + &line(n * 300 + 12, "SP B", 95)
                + &line(n * 300 + 20, "oracle [42; RAID 5]", 40)
        })
        .collect();
    let head = "Object Name,Poll Time,Utilization (%),Read Throughput (IO/s),Response Time (ms)\n";
    let feed = fed((head.to_owned() + &text).as_bytes());
    assert_eq!(feed.rows.len(), 6);
    assert!(feed.rows.iter().all(|row| row.to - row.from == 300_000_000_000));
    near(figure(&feed, "SP B", Measure::Busy), 0.95);
    let kinds: Vec<record::HopKind> = feed.places.iter().map(|place| place.kind).collect();
    use record::HopKind::{Controller, Volume};
    assert_eq!(kinds, [Controller, Controller, Volume], "a LUN may have any name");
    // A line that has what another has.
    let twice = head.to_owned() + &text + &line(1500, "SP A", 30);
    assert!(fed(twice.as_bytes()).notes.iter().any(|note| note.code == "twice"));
}

#[test]
fn a_unit_in_a_cell_is_that_of_the_cell() {
    let map = Map::parse(
        "m",
        "time = \"t\"\nplace = \"n\"\n[column]\n\"ms\" = { measure = \"latency\", unit = \"ms\" }\n\"rate\" = { measure = \"bytes\", unit = \"MB/s\" }\n\"ops\" = { measure = \"operations\" }\n",
    )
    .unwrap();
    let options = Options { maps: vec![map], ..super::options() };
    let read_all = |cells: &str| {
        let text = format!("t,n,ms,rate,ops\n1700000000,v,{cells}\n1700000060,v,{cells}\n");
        read("f", MonitorFormat::Mapped, text.as_bytes(), &options)
    };
    for (cells, ms, rate, ops) in [
        ("2.50,8.19,1000", 2.5, 8.19, 1000.0),
        ("2.50ms,8.19MB/s,1K", 2.5, 8.19, 1000.0),
        ("900 us,8.19 KB/s,1.5k", 0.9, 0.00819, 1500.0),
        ("1.2 ms,1 GiB/s,1000 IOPS", 1.2, 1_073.741_824, 1000.0),
    ] {
        let feed = read_all(cells).unwrap();
        near(figure(&feed, "v", Measure::Time(Leg::All, Flow::Any)), ms * MS);
        near(figure(&feed, "v", Measure::Bytes(Flow::Any)), rate * 1e6);
        near(figure(&feed, "v", Measure::Ops(Flow::Any)), ops);
    }
    let error = read_all("2,5,8,2,1000").unwrap_err();
    assert!(error.text.contains("7 cells in a line of 5 columns"), "{error}");
}

/// A file of moments in seconds, volumes and reads a second.
fn sampled(samples: &[(i64, &str, f64)]) -> import::monitor::Feed {
    let map = "kind = \"volume\"\ntime = \"T\"\nplace = \"V\"\nzone = \"UTC\"\n[column]\n\"R\" = { measure = \"reads\" }\n";
    let line = |(at, volume, reads): &(i64, &str, f64)| {
        format!("{},{volume},{reads}\n", 1_700_000_000 + at)
    };
    let text = format!("T,V,R\n{}", samples.iter().map(line).collect::<String>());
    let maps = vec![Map::parse("mine", map).unwrap()];
    let options = Options { maps, ..Options::default() };
    read("f", MonitorFormat::Mapped, text.as_bytes(), &options).unwrap()
}

/// Volumes that are sampled at moments of their own: a figure holds for all of its time, and what they do is not mixed up.
#[test]
fn figures_hold_from_the_moment_before_whatever_moments_others_have() {
    let samples: Vec<(i64, &str, f64)> = (1..=40_u32)
        .flat_map(|n| {
            let (at, reads) = (i64::from(n) * 300, f64::from(n));
            [(at, "a", 100.0 * reads), (at + 137, "b", 1000.0 * reads)]
        })
        .collect();
    let feed = sampled(&samples);
    for (name, each, late) in [("a", 100.0, 0), ("b", 1000.0, 137)] {
        let place = feed.places.iter().position(|place| place.name == name).unwrap();
        let column = feed.find(place, Measure::Ops(Flow::Read)).unwrap();
        // Operations of its 2nd to 39th sample: of each as many as it says.
        let sum: f64 = (0..feed.rows.len())
            .filter_map(|row| Some((feed.rows[row], column.at(row)?)))
            .map(|(span, rate)| {
                let (from, to) = (span.from / 1_000_000_000, span.to / 1_000_000_000);
                let (begins, ends) = (1_700_000_300 + late, 1_700_000_000 + 39 * 300 + late);
                rate * (to.min(ends) - from.max(begins)).max(0) as f64
            })
            .sum();
        near(sum, (2..=39).map(|n| f64::from(n) * each * 300.0).sum());
    }
}

/// Older data is often coarser; and what is missing is as long as it is.
#[test]
fn an_interval_that_changes_is_no_gap_and_a_gap_is_not_shortened() {
    let coarse = (1..=20).map(|n| (n * 300, "a", 10.0));
    let fine = (1..=60).map(|n| (6000 + n * 60, "a", 10.0));
    let feed = sampled(&coarse.chain(fine).collect::<Vec<_>>());
    let gaps = feed.rows.windows(2).filter(|pair| pair[0].to < pair[1].from).count();
    assert_eq!((feed.rows.len(), gaps), (80, 0));
    assert_eq!(feed.rows[5].seconds(), 300.0);
    // Two samples of ten are missing.
    let holed = [1, 2, 3, 4, 7, 8, 9, 10].map(|n| (n * 300, "a", 10.0));
    let feed = sampled(&holed);
    assert_eq!(feed.rows[4].seconds(), 300.0, "the sample behind a gap is as long as the others");
    assert_eq!((feed.rows[4].from - feed.rows[3].to) / 1_000_000_000, 600);
}
