//! Intervals of which a load is not known are none of its idle ones, and those that a program leaves out because nothing was
//! done are: figures by hand.

use super::{MS, cut_anywhere, fed, figure, near, options, recorded};
use import::monitor::{Feed, Flow, Measure, MonitorFormat, Topology, read};
use record::{Completed, Level, StepTotal};

const READS: Measure = Measure::Ops(Flow::Read);

/// The totals of the whole, by load.
fn totals(feeds: &[Feed]) -> Vec<StepTotal> {
    recorded(feeds, &Topology::default()).1.totals(0).unwrap()
}

fn read_of(total: &StepTotal) -> &Completed {
    total.read.as_ref().unwrap()
}

/// `iostat -xdtz`: the report since boot, then one for each list of reads a second, 10 s each; `None` is left out.
fn iostat_z(reports: &[&[(&str, Option<u32>)]]) -> String {
    let mut out = "Linux 6.1.0 (db1) \t2024-05-07 \t_x86_64_\t(4 CPU)\n\n".to_owned();
    for (at, report) in reports.iter().enumerate() {
        out += &format!(
            "2024-05-07 09:00:{:02}\nDevice r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util\n",
            at * 10
        );
        for (name, reads) in report.iter().filter_map(|(name, reads)| Some((name, (*reads)?))) {
            out += &format!("{name} {reads}.00 0.00 {}.00 0.00 2.00 0.00 0.20 20.00\n", reads * 4);
        }
        out += "\n";
    }
    out
}

const BOOT: &[(&str, Option<u32>)] = &[("sda", Some(1)), ("sdb", Some(1))];

#[test]
fn a_disk_that_iostat_leaves_out_was_idle() {
    let text = iostat_z(&[
        BOOT,
        &[("sda", Some(90)), ("sdb", Some(60))],
        &[("sda", None), ("sdb", Some(60))],
        &[("sda", None), ("sdb", None)],
    ]);
    let feed = fed(text.as_bytes());
    assert_eq!(feed.rows.len(), 3, "also the report in which nothing was done");
    near(figure(&feed, "sda", READS), 30.0);
    near(figure(&feed, "sda", Measure::Busy), 0.2 / 3.0);
    near(figure(&feed, "sdb", READS), 40.0);
    for total in totals(&[feed]) {
        assert_eq!(total.measured.as_secs_f64(), 30.0, "the whole time is known");
        // The latency is that of the operations that were done.
        let read = read_of(&total);
        near(read.service_sum.as_secs_f64() / read.ops as f64, 0.002);
    }
    cut_anywhere(text.as_bytes(), MonitorFormat::Iostat);
}

#[test]
fn a_last_report_that_may_be_cut_off_is_left_out() {
    let both: &[_] = &[("sda", Some(90)), ("sdb", Some(60))];
    let text = iostat_z(&[BOOT, both, both]);
    let cut = text.find("sdb 60").and_then(|first| text[first + 1..].find("sdb 60")).unwrap();
    let at = text.find("sdb 60").unwrap() + 1 + cut;
    let feed = fed(&text.as_bytes()[..at]);
    assert_eq!(feed.rows.len(), 1);
    assert!(feed.notes.iter().any(|note| note.code == "cut-off"), "{:?}", feed.notes);
    // Whole but for its empty line.
    assert_eq!(fed(text.trim_end().as_bytes()).rows.len(), 2);
}

#[test]
fn what_json_leaves_out_was_idle() {
    let disk = |name: &str, reads: u32| {
        format!(
            r#"{{"disk_device": "{name}", "r/s": {reads}.00, "w/s": 0.00, "rkB/s": {}.00, "wkB/s": 0.00, "r_await": 2.00, "aqu-sz": 0.40, "util": 37.50}}"#,
            reads * 4
        )
    };
    let report = |disks: &str| format!(r#"{{"disk": [{disks}]}}"#);
    let both = [disk("sda", 90), disk("sdb", 60)].join(",");
    let reports = [report(&both), report(&both), report(&disk("sdb", 60)), report("")].join(",");
    let text = format!(
        r#"{{"sysstat": {{"hosts": [{{"nodename": "db1", "number-of-cpus": 4, "statistics": [{reports}]}}]}}}}"#
    );
    let feed = fed(text.as_bytes());
    assert_eq!((feed.format, feed.rows.len()), (MonitorFormat::IostatJson, 3));
    near(figure(&feed, "sda", READS), 30.0);
    near(figure(&feed, "sdb", READS), 40.0);
}

#[test]
fn sadf_without_a_disk_and_without_its_list_of_disks() {
    let disk = |name: &str| {
        format!(
            r#"{{"disk-device": "{name}", "tps": 90.00, "rkB": 360.00, "wkB": 0.00, "await": 2.00, "aqu-sz": 0.1, "util-percent": 10.00}}"#
        )
    };
    let interval = |at: u32, rest: &str| {
        format!(
            r#"{{"timestamp": {{"date": "2024-05-07", "time": "09:00:{at}", "utc": 1, "interval": 10}}{rest}}}"#
        )
    };
    let both = format!(r#", "disk": [{}, {}]"#, disk("sda"), disk("sdb"));
    let one = format!(r#", "disk": [{}]"#, disk("sdb"));
    let intervals = [interval(10, &both), interval(20, &one), interval(30, r#", "paging": {}"#)];
    let text = format!(
        r#"{{"sysstat": {{"hosts": [{{"nodename": "db1", "number-of-cpus": 4, "statistics": [{}]}}]}}}}"#,
        intervals.join(",\n")
    );
    let feed = fed(text.as_bytes());
    assert_eq!((feed.format, feed.rows.len()), (MonitorFormat::SadfJson, 3));
    // 90 and none of the two intervals that list disks; of the third nothing is known.
    near(figure(&feed, "sda", Measure::Ops(Flow::Any)), 45.0);
    near(figure(&feed, "sdb", Measure::Ops(Flow::Any)), 90.0);
}

/// `sadf -j` of a disk: time of the end, length and operations a second of each interval.
fn sadf(intervals: &[(&str, u32, u32)]) -> String {
    let one = |(time, length, tps): &(&str, u32, u32)| {
        format!(
            r#"{{"timestamp": {{"date": "2024-01-20", "time": "{time}", "utc": 1, "interval": {length}}}, "disk": [{{"disk-device": "sda", "tps": {tps}.00, "rkB": 0.00, "wkB": {}.00, "await": 2.00, "aqu-sz": 0.1, "util-percent": 10.00}}]}}"#,
            4 * tps
        )
    };
    let all: Vec<String> = intervals.iter().map(one).collect();
    format!(
        r#"{{"sysstat": {{"hosts": [{{"nodename": "db1", "number-of-cpus": 4, "statistics": [{}]}}]}}}}"#,
        all.join(",\n")
    )
}

#[test]
fn seconds_that_sadf_rounds_are_neither_overlap_nor_gap() {
    // As real files have it: 58 s that end 57 s after the interval before.
    let feed = fed(sadf(&[("16:00:22", 1, 20), ("16:01:19", 58, 40)]).as_bytes());
    assert!(feed.rows.windows(2).all(|pair| pair[0].to == pair[1].from), "{:?}", feed.rows);
    let feed = fed(
        sadf(&[("10:00:01", 600, 30), ("10:10:01", 601, 50), ("10:20:02", 600, 10)]).as_bytes()
    );
    let (_dir, record) = recorded(std::slice::from_ref(&feed), &Topology::default());
    let written = record.totals(0).unwrap();
    let done = written[0].write.as_ref().unwrap();
    assert_eq!(done.ops, 30 * 600 + 50 * 600 + 10 * 601);
    assert!(feed.notes.is_empty(), "{:?}", feed.notes);
    // More than that is time that is missing, or that was had before.
    let feed = fed(sadf(&[("10:00:00", 60, 30), ("10:01:10", 60, 50)]).as_bytes());
    assert_eq!(feed.rows[1].from - feed.rows[0].to, 10_000_000_000);
    let feed = fed(sadf(&[("10:00:00", 60, 30), ("09:59:30", 60, 50)]).as_bytes());
    assert!(feed.notes.iter().any(|note| note.code == "time-goes-back"), "{:?}", feed.notes);
}

#[test]
fn times_that_a_file_has_twice_are_told() {
    let row = |time: &str| format!("\r\n\"05/07/2024 {time}.000\",\"100\",\"409600\"");
    let header = ["Disk Reads/sec", "Disk Read Bytes/sec"]
        .map(|of| format!(",\"\\\\A\\PhysicalDisk(0 C:)\\{of}\""))
        .concat();
    let times =
        ["09:00:00", "09:00:10", "09:00:20", "09:00:30", "09:00:05", "09:00:15", "09:00:45"];
    let text = format!("\"(PDH-CSV 4.0) (UTC)(0)\"{header}{}\r\n", times.map(row).concat());
    let feed = read("perf.csv", MonitorFormat::Pdh, text.as_bytes(), &options()).unwrap();
    let note = feed.notes.iter().find(|note| note.code == "time-goes-back").unwrap();
    assert!(
        note.text.contains("1 times") && note.text.contains("so are 2 of times"),
        "{}",
        note.text
    );
}

/// Perfmon of one or two disks, 10 s an interval: reads a second, bytes a second, seconds a read; an empty text is no value.
fn perfmon(host: &str, rows: &[&[[&str; 3]]]) -> Feed {
    let counters = ["Disk Reads/sec", "Disk Read Bytes/sec", "Avg. Disk sec/Read"];
    let mut out = "\"(PDH-CSV 4.0) (UTC)(0)\"".to_owned();
    for disk in 0..rows[0].len() {
        let cells = counters.map(|of| format!(",\"\\\\{host}\\PhysicalDisk({disk} C:)\\{of}\""));
        out += &cells.concat();
    }
    for (at, row) in std::iter::once(&rows[0]).chain(rows).enumerate() {
        out += &format!("\r\n\"05/07/2024 09:00:{:02}.000\"", at * 10);
        out += &row.iter().flatten().map(|cell| format!(",\"{cell}\"")).collect::<String>();
    }
    read("perf.csv", MonitorFormat::Pdh, (out + "\r\n").as_bytes(), &options()).unwrap()
}

const FULL: [&str; 3] = ["100", "409600", "0.002"];

#[test]
fn an_interval_that_is_not_known_is_the_mean_of_the_others_and_said() {
    for hole in [["", "409600", "0.002"], ["100", "", "0.002"], ["-1", "", ""], ["", "", ""]] {
        let rows: [&[_]; 4] = [&[FULL, FULL], &[FULL, FULL], &[hole, FULL], &[FULL, FULL]];
        let feeds = [perfmon("w1", &rows)];
        let (_dir, record) = recorded(&feeds, &Topology::default());
        for total in record.totals(0).unwrap() {
            let read = read_of(&total);
            assert_eq!((read.ops, read.bytes), (4000, 4000 * 4096), "{hole:?}");
            near(read.service_sum.as_secs_f64() / read.ops as f64, 0.002);
            assert_eq!(total.measured.as_secs_f64(), 40.0);
        }
        let event = record.events().iter().find(|event| event.code == "intervals-unknown");
        let event = event.unwrap_or_else(|| panic!("{hole:?}: not said"));
        let said = "1 of 4 intervals of the load of 0 C: are not known, and are taken as the mean of the others";
        assert_eq!((event.level, event.text.as_str()), (Level::Warning, said));
    }
    // Nothing is said where all is known.
    let rows: [&[_]; 3] = [&[FULL], &[FULL], &[FULL]];
    let (_dir, record) = recorded(&[perfmon("w1", &rows)], &Topology::default());
    assert!(!record.events().iter().any(|e| e.code == "intervals-unknown"));
}

#[test]
fn a_latency_that_is_not_known_does_not_lower_the_others() {
    let untimed = ["100", "409600", ""];
    let rows: [&[_]; 4] = [&[FULL], &[untimed], &[FULL], &[FULL]];
    let total = totals(&[perfmon("w1", &rows)]);
    near(read_of(&total[0]).service_sum.as_secs_f64() * 1e9 / 4000.0, 2.0 * MS);
    // Of more than half of the operations it is not known: then it is not known.
    let rows: [&[_]; 4] = [&[FULL], &[untimed], &[untimed], &[untimed]];
    let total = totals(&[perfmon("w1", &rows)]);
    assert_eq!((read_of(&total[0]).ops, read_of(&total[0]).service_sum.0), (4000, 0));
}

#[test]
fn where_no_load_is_known_there_is_a_gap() {
    let none = ["", "", ""];
    let rows: [&[_]; 6] = [&[FULL], &[FULL], &[FULL], &[none], &[FULL], &[FULL]];
    let (_dir, record) = recorded(&[perfmon("w1", &rows)], &Topology::default());
    let whole = &record.steps()[0].times;
    assert_eq!(whole.measured().as_secs_f64(), 60.0);
    let void = record.voids(0).unwrap();
    let gap = void.within(whole.measure, whole.cooldown).as_secs_f64();
    assert_eq!((void.spans().len(), gap), (1, 10.0));
    assert_eq!(read_of(&record.totals(0).unwrap()[0]).ops, 5000);
    // Where less than half is known, the whole is a part.
    let rows: [&[_]; 6] = [&[FULL], &[none], &[none], &[none], &[none], &[FULL]];
    let (_dir, record) = recorded(&[perfmon("w1", &rows)], &Topology::default());
    assert_eq!(record.steps()[0].times.measured().as_secs_f64(), 10.0);
    assert_eq!(read_of(&record.totals(0).unwrap()[0]).ops, 1000);
    assert!(record.events().iter().any(|event| event.code == "longest-part"));
}

#[test]
fn what_another_file_counted_is_not_taken_for_granted() {
    let (none, most) = (["", "", ""], ["300", "1228800", "0.002"]);
    let holed: [&[_]; 4] = [&[FULL], &[FULL], &[none], &[FULL]];
    let whole: [&[_]; 4] = [&[most], &[most], &[most], &[most]];
    let feeds = [perfmon("w1", &holed), perfmon("w1", &whole)];
    let total = totals(&feeds);
    assert_eq!(total.len(), 1, "one disk");
    assert_eq!(
        read_of(&total[0]).ops,
        3 * 1000 + 3000,
        "the second file's, where the first has none"
    );
}
