//! What other programs get: exports of records written by hand, whole and in odd states.

use crate::support::{Sketch, Work};
use export::{csv, fio_json, iometer};
use insta::assert_snapshot;
use record::{Record, Status};
use scenario::Step;
use serde_json::Value;

/// Two steps; in each a closed loop that reads and writes on two VMs, and an open loop that reads a target.
const MIXED: &str = r#"
scenario.title = "A mix, and a log"
target = [{ name = "data", file = "data.bin", create = "1GiB" }, { name = "log", file = "log.bin" }]
vm = [{ name = "vm{1..2}", disks = [{ target = "data" }] }]
workload.mix = { block = "8KiB", read = 70, random = 100, depth = 4 }
workload.tail = { block = "64KiB", rate = "100 IOPS", limit = 8 }
[plan]
name = "day"
warmup = "0s"
measure = "2s"
cooldown = "0s"
load = [{ workload = "mix", on = "vm*" }, { workload = "tail", on = "log" }]
sweep = { "mix.block" = ["4KiB", "8KiB"] }
"#;

fn mixed(_: &Step, group: &str) -> Work {
    match group {
        "log" => {
            Work { ops: 100, block: 65_536, response: 1.5, service_ns: 3e6, ..Work::default() }
        }
        _ => Work { ops: 200, read: 70, service_ns: 250_000.0, ..Work::default() },
    }
}

/// One step of two seconds, one worker.
fn one(workload: &str) -> String {
    format!(
        r#"
scenario.title = "One"
target = [{{ name = "data", file = "data.bin", create = "1GiB" }}]
[workload.w]
{workload}
[plan]
workload = "w"
on = "data"
warmup = "0s"
measure = "2s"
cooldown = "0s"
"#
    )
}

const READS: &str = "block = \"4KiB\"";

fn fio(record: &Record) -> Value {
    serde_json::from_str(&fio_json(record, None).expect("an export")).expect("JSON")
}

fn rows(record: &Record) -> String {
    let mut out = Vec::new();
    csv::intervals(record, None, &mut out).expect("rows");
    String::from_utf8(out).expect("text")
}

fn steps(record: &Record) -> String {
    csv::steps(&findings::analyse(record).expect("an analysis"), None).expect("rows")
}

/// The fields of each line of CSV in which no line break is quoted.
fn cells(text: &str) -> Vec<Vec<String>> {
    let line = |line: &str| {
        let (mut fields, mut quoted) = (vec![String::new()], false);
        for c in line.chars() {
            match c {
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                c => fields.last_mut().expect("a field").push(c),
            }
        }
        fields
    };
    text.lines().map(line).collect()
}

/// A cell of a row, by its column's name.
#[track_caller]
fn cell<'a>(table: &'a [Vec<String>], row: usize, column: &str) -> &'a str {
    let at = table[0].iter().position(|name| name == column);
    &table[row][at.unwrap_or_else(|| panic!("no column {column}"))]
}

#[test]
fn fio_has_a_job_for_each_workload_of_each_step() {
    let (_dir, record) = Sketch::of(MIXED).record(mixed);
    let all = fio(&record);
    let names: Vec<_> = all["jobs"].as_array().unwrap().iter().map(|j| &j["jobname"]).collect();
    assert_eq!(
        names,
        [
            "day mix.block 4KiB mix",
            "day mix.block 4KiB tail",
            "day mix.block 8KiB mix",
            "day mix.block 8KiB tail"
        ]
    );
    assert_snapshot!(fio_json(&record, Some(1)).expect("one step"));
}

#[test]
fn iometer_has_a_block_for_each_step() {
    let (_dir, record) = Sketch::of(MIXED).record(mixed);
    let text = iometer(&record, None).expect("an export");
    assert_snapshot!(text);
    let of = |kind: &str| text.lines().filter(|l| l.starts_with(kind)).collect::<Vec<_>>();
    let rows = [of("ALL,"), of("MANAGER,"), of("WORKER,"), of("DISK,")];
    assert_eq!(rows.each_ref().map(Vec::len), [2, 2, 6, 6]);
    for row in rows.iter().flatten().chain(&of("'Target Type")) {
        assert_eq!(row.split(',').count(), 80, "{row}");
    }
}

#[test]
fn csv_has_a_row_a_step() {
    let (_dir, record) = Sketch::of(MIXED).record(mixed);
    let text = steps(&record);
    assert_snapshot!(text);
    let table = cells(&text);
    assert!(table.iter().all(|row| row.len() == table[0].len()));
    assert_eq!(cell(&table, 2, "setting_mix.block"), "8KiB");
    assert_eq!(cell(&table, 1, "loop"), "mixed");
    assert_eq!(cell(&table, 1, "iops"), "500");
}

#[test]
fn csv_has_a_row_an_interval_of_a_worker() {
    let (_dir, record) = Sketch::of(MIXED).record(mixed);
    let text = rows(&record);
    assert_snapshot!(text);
    let table = cells(&text);
    assert!(table.iter().all(|row| row.len() == table[0].len()));
    assert_eq!(table.len(), 1 + 2 * 2 * 3);
    // What never writes has empty cells, and what is closed has no response time.
    let row = |worker: &str| table.iter().position(|r| r[1] == worker).expect("a worker");
    let (log, vm) = (row("log/tail/0"), row("vm1/mix/0"));
    assert_eq!((cell(&table, log, "write_ops"), cell(&table, vm, "write_ops")), ("", "60"));
    assert_eq!(cell(&table, vm, "read_response_p50_us"), "");
    assert_ne!(cell(&table, log, "read_response_p50_us"), "");
}

#[test]
fn a_step_that_is_not_there_is_named() {
    let (_dir, record) = Sketch::of(MIXED).record(mixed);
    let analysis = findings::analyse(&record).expect("an analysis");
    let errors = [
        fio_json(&record, Some(2)).expect_err("no such step").to_string(),
        iometer(&record, Some(2)).expect_err("no such step").to_string(),
        csv::steps(&analysis, Some(2)).expect_err("no such step").to_string(),
        csv::intervals(&record, Some(2), &mut Vec::new()).expect_err("no such step").to_string(),
    ];
    for error in errors {
        assert_eq!(error, "the record has no step 3; it holds steps 1 to 2");
    }
}

/// Every export of a record: fio's jobs, Iometer's text, rows of steps, rows of intervals.
fn everything(record: &Record) -> (Vec<Value>, String, usize, usize) {
    let jobs = fio(record)["jobs"].as_array().expect("jobs").clone();
    let lines = |text: String| text.lines().count() - 1;
    (jobs, iometer(record, None).expect("an export"), lines(steps(record)), lines(rows(record)))
}

#[test]
fn a_step_of_which_nothing_was_heard_is_zeros() {
    let (_dir, record) = Sketch::of(&one(READS))
        .status(Status::Running)
        .record(|_, _| Work { seconds: 0, ..Work::default() });
    let (jobs, text, steps, intervals) = everything(&record);
    assert_eq!((jobs.len(), steps, intervals), (1, 1, 0));
    let read = &jobs[0]["read"];
    assert_eq!((&read["iops"], &read["clat_ns"]["N"]), (&0.0.into(), &0.into()));
    assert!(read["clat_ns"].get("percentile").is_none(), "of nothing there is no percentile");
    assert!(jobs[0]["usr_cpu"].is_null(), "no generator reported");
    assert!(text.contains("\nALL,All,w,1,1,1,0.000000,"), "{text}");
}

#[test]
fn a_record_without_steps_is_empty() {
    let (_dir, record) = Sketch::of(&one(READS)).steps(0).record(|_, _| Work::default());
    let (jobs, text, steps, intervals) = everything(&record);
    assert_eq!((jobs.len(), steps, intervals), (0, 0, 0));
    assert!(!text.contains("'Results"));
    let error = fio_json(&record, Some(0)).expect_err("no such step").to_string();
    assert_eq!(error, "the record has no step 1; it holds none");
}

#[test]
fn a_killed_run_gives_what_was_measured() {
    let (_dir, record) = Sketch::of(&one(READS))
        .status(Status::Running)
        .record(|_, _| Work { seconds: 1, ..Work::default() });
    let (jobs, _, _, intervals) = everything(&record);
    assert_eq!(intervals, 1);
    assert_eq!(jobs[0]["read"]["runtime"], 1000, "rates are over what was measured");
    assert_eq!(jobs[0]["read"]["iops"], 1000.0);
    let table = cells(&steps(&record));
    assert_eq!((cell(&table, 1, "measured_s"), cell(&table, 1, "complete")), ("1", "false"));
}

#[test]
fn errors_alone_are_counted_and_have_no_latency() {
    let (_dir, record) =
        Sketch::of(&one(READS)).record(|_, _| Work { ops: 0, errors: 3, ..Work::default() });
    let (jobs, text, ..) = everything(&record);
    assert_eq!((&jobs[0]["error"], &jobs[0]["total_err"]), (&5.into(), &6.into()));
    assert_eq!(jobs[0]["read"]["lat_ns"]["N"], 0);
    let all: Vec<&str> = text.lines().find(|l| l.starts_with("ALL,")).unwrap().split(',').collect();
    assert_eq!(all[27..30], ["6", "6", "0"]);
    let table = cells(&steps(&record));
    assert_eq!((cell(&table, 1, "errors"), cell(&table, 1, "service_p50_us")), ("6", ""));
    let table = cells(&rows(&record));
    let read = |column: &str| cell(&table, 1, &format!("read_{column}"));
    assert_eq!((read("errors"), read("service_mean_us"), read("iops")), ("3", "", "0"));
}

#[test]
fn writes_alone_leave_the_reads_empty() {
    let (_dir, record) = Sketch::of(&one("block = \"4KiB\"\nread = 0"))
        .record(|_, _| Work { read: 0, ..Work::default() });
    let job = &everything(&record).0[0];
    assert_eq!((&job["read"]["total_ios"], &job["read"]["runtime"]), (&0.into(), &0.into()));
    assert_eq!(job["write"]["total_ios"], 2000);
}

#[test]
fn a_scenario_that_cannot_be_read_leaves_the_figures() {
    let (_dir, record) = Sketch::of(&one(READS)).stored("[scenario").record(|_, _| Work::default());
    let (jobs, text, ..) = everything(&record);
    assert_eq!(jobs[0]["read"]["iops"], 1000.0);
    let options = jobs[0]["job options"].as_object().expect("options");
    assert_eq!((options["iodepth"].as_str(), options.get("bs")), (Some("1"), None));
    assert!(!text.contains("\nDISK,"), "no disk is known");
    assert!(text.contains("\nWORKER,data/w/0,w,"), "{text}");
}

#[test]
fn names_cannot_break_a_format() {
    let (_dir, record) = Sketch::of(&one(READS))
        .title("a,b\n'Results")
        .rename("data", "d,a\n\"t\"a")
        .record(|_, _| Work::default());
    let (_, text, ..) = everything(&record);
    assert!(text.starts_with("'Test Type,Test Description\n0,a;b 'Results\n"), "{text}");
    assert!(text.contains("\nWORKER,d;a \"t\"a/w/0,w,"), "{text}");
    assert!(rows(&record).contains("\n0,\"d,a\n\"\"t\"\"a/w/0\","));
}

#[test]
fn options_are_in_fios_words() {
    #[track_caller]
    fn check(workload: &str, expected: &[(&str, &str)]) {
        let (_dir, record) = Sketch::of(&one(workload)).record(|_, _| Work::default());
        let options = fio(&record)["jobs"][0]["job options"].clone();
        for (key, value) in expected {
            assert_eq!(options[key], *value, "{workload}: {options}");
        }
    }
    check(READS, &[("rw", "read"), ("bs", "4k"), ("iodepth", "1"), ("numjobs", "1")]);
    check("block = \"1MiB\"\nread = 0\nrandom = 100", &[("rw", "randwrite"), ("bs", "1m")]);
    check("block = \"4KiB\"\nread = 0", &[("rw", "write")]);
    check(
        "block = \"512B\"\nread = 30\nrandom = 20\nworkers = 3\ndepth = 7",
        &[("rw", "randrw"), ("rwmixread", "30"), ("percentage_random", "20"), ("bs", "512")],
    );
    check(
        "block = \"4KiB\"\nread = 30\nworkers = 3\ndepth = 7",
        &[("rw", "rw"), ("numjobs", "3"), ("iodepth", "7")],
    );
    check(
        "block = \"4KiB\"\nrate = \"250 IOPS\"\nlimit = 16",
        &[("rate_iops", "250"), ("iodepth", "16"), ("runtime", "2000ms")],
    );
    check("preset = \"oblload\"", &[("rw", "randread")]);
    check("preset = \"file-server\"", &[("bs", "512-64k"), ("rwmixread", "80")]);
}

/// What a file of another program asks for.
#[track_caller]
fn spec_of(text: &str, format: import::Format) -> workload::Spec {
    let around = import::Surroundings { variable: &|_| None, processors: 1 };
    let imported = import::import("file", text.as_bytes(), Some(format), &around);
    let scenario = imported.unwrap_or_else(|e| panic!("{e}\nof\n{text}")).scenario;
    let source = scenario::Source { text: scenario, ..scenario::Source::default() };
    let scenario = scenario::load(&source).unwrap_or_else(|e| panic!("{e}"));
    let steps = scenario.steps();
    let load = steps[0].disk_loads().next().expect("a load");
    load.workload.spec.clone()
}

/// Rows as they are issued, the alignment written out.
fn plain(spec: &workload::Spec) -> Vec<workload::Row> {
    let workload::WorkloadKind::Access(access) = &spec.kind else { panic!("rows") };
    let mut rows = access.rows.clone();
    rows.iter_mut().filter(|row| row.align == 0).for_each(|row| row.align = row.size);
    rows
}

/// What is exported and imported again means the same: every row, pace, skew and working set.
#[test]
fn exported_workloads_come_back_the_same() {
    #[track_caller]
    fn check(workload: &str, iometer_too: bool) {
        let (_dir, record) = Sketch::of(&one(workload)).record(|_, _| Work::default());
        let asked = scenario::load(&scenario::Source {
            text: one(workload),
            ..scenario::Source::default()
        });
        let steps = asked.unwrap_or_else(|e| panic!("{e}")).steps();
        let asked = steps[0].disk_loads().next().expect("a load").workload.spec.clone();
        let options = fio(&record)["jobs"][0]["job options"].clone();
        let lines = options.as_object().expect("options").iter();
        let job: String =
            lines.map(|(k, v)| format!("{k}={}\n", v.as_str().unwrap_or_default())).collect();
        let back = spec_of(&format!("[w]\nfilename=x\n{job}"), import::Format::Fio);
        assert_eq!(plain(&back), plain(&asked), "{workload}: {job}");
        assert_eq!(back.arrivals, asked.arrivals, "{workload}: {job}");
        assert_eq!(back.working_set, asked.working_set, "{workload}: {job}");
        assert_eq!(back.durability, asked.durability, "{workload}: {job}");
        let skew = |spec: &workload::Spec| match &spec.kind {
            workload::WorkloadKind::Access(access) => (access.skew, access.stride),
            workload::WorkloadKind::Transaction(_) => panic!("rows"),
        };
        assert_eq!(skew(&back), skew(&asked), "{workload}: {job}");
        if iometer_too {
            let text = iometer(&record, None).expect("Iometer's text");
            assert_eq!(
                plain(&spec_of(&text, import::Format::Iometer)),
                plain(&asked),
                "{workload}: {text}"
            );
        }
    }
    check("block = \"4KiB\"", true);
    check("block = \"8KiB\"\nread = 70\nrandom = 100\ndepth = 16", true);
    check("block = \"64KiB\"\nread = 0\nrandom = 30\nalign = \"4KiB\"", true);
    check("block = \"4KiB\"\nrandom = 100\ndelay = \"10ms\"\nburst = 8", true);
    check(
        "rows = [{ size = \"4KiB\", share = 60, read = 70, random = 100, align = \"4KiB\" }, \
           { size = \"8KiB\", share = 40, read = 70, random = 100, align = \"4KiB\" }]",
        true,
    );
    check(
        "rows = [{ size = \"4KiB\", share = 70, read = 100, random = 100 }, \
           { size = \"8KiB\", share = 30, read = 0, random = 100 }]",
        true,
    );
    check("block = \"4KiB\"\nread = 50\nrandom = 100\nrate = 1000\nlimit = 8", true);
    check("block = \"4KiB\"\nrandom = 100\nrate = 500\narrivals = \"poisson\"\nlimit = 8", true);
    check("block = \"4KiB\"\nrandom = 100\nskew = { zipf = 1.2 }\nworking_set = \"512KiB\"", true);
    check(
        "block = \"4KiB\"\nrandom = 100\nskew = { hot = 10, accesses = 90 }\nworking_set = \"20%\"",
        true,
    );
    check("block = \"4KiB\"\nstride = \"64KiB\"", false);
    check("block = \"4KiB\"\nread = 0\nflush_every = 32\nfua = \"100%\"", false);
    check("block = \"64KiB\"\nread = 0\nrandom = 100\ntrim = \"100%\"", false);
}
