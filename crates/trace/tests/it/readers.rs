//! Every reader against traces that an independent program wrote, with what it says they hold.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use trace::{CsvMap, Layer, Tally, TraceFormat, TraceOptions, TraceReader, detect, open};

/// A folder of traces of a seed, written by `reference/traces.py`; `None` where there is no Python.
pub fn folder(seed: u64) -> Option<PathBuf> {
    static MADE: OnceLock<Option<BTreeMap<u64, tempfile::TempDir>>> = OnceLock::new();
    let made = MADE.get_or_init(|| {
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/reference/traces.py");
        let make = |seed: u64| {
            let folder = tempfile::tempdir().ok()?;
            let mut command = Command::new("python3");
            let status =
                command.arg(&program).arg(folder.path()).arg(seed.to_string()).status().ok()?;
            assert!(status.success(), "traces.py fails");
            Some((seed, folder))
        };
        (1..=3).map(make).collect()
    });
    match made {
        Some(made) => Some(made[&seed].path().to_owned()),
        None => {
            eprintln!("skipped: python3 is not there");
            None
        }
    }
}

fn reader(
    files: &[PathBuf],
    layer: Layer,
    map: Option<&Path>,
) -> (TraceFormat, Box<dyn TraceReader>) {
    let head = std::fs::read(&files[0]).unwrap();
    let head = &head[..head.len().min(4096)];
    let map = map.map(|map| CsvMap::parse(&std::fs::read_to_string(map).unwrap()).unwrap());
    let format = if map.is_some() { TraceFormat::Csv } else { detect(head).expect("it is known") };
    let inputs = files.iter().map(|file| File::open(file).unwrap()).collect();
    let reader = open(inputs, head, format, &TraceOptions { layer, map }).unwrap();
    (format, reader)
}

/// The counts of a tally by the names that the truths have.
fn counts(tally: &Tally) -> BTreeMap<&'static str, u64> {
    let all = [
        ("merged", tally.merged),
        ("partial", tally.partial),
        ("requeued", tally.requeued),
        ("disordered", tally.disordered),
        ("clamped", tally.clamped),
        ("open", tally.open),
        ("stray", tally.stray),
        ("failed", tally.failed),
        ("split", tally.split),
        ("other", tally.other),
    ];
    all.into_iter().filter(|(_, n)| *n > 0).collect()
}

#[track_caller]
fn check(files: &[PathBuf], truth: &Path, format: TraceFormat, layer: Layer, map: Option<&Path>) {
    let (found, mut reader) = reader(files, layer, map);
    assert_eq!(found, format, "{}", files[0].display());
    let truth = std::fs::read_to_string(truth).unwrap();
    let mut lines = truth.lines().filter(|line| !line.starts_with("tally")).enumerate();
    while let Some(io) = reader.next().unwrap() {
        let (number, expected) = lines.next().expect("an I/O too many");
        let device = match reader.devices()[usize::from(io.device)].as_str() {
            "" => "\"\"",
            name => name,
        };
        let latency = io.latency.map_or("-".to_owned(), |latency| latency.0.to_string());
        let line = format!(
            "{} {:?} {} {device} {} {} {latency}",
            io.at.0,
            io.dir,
            u8::from(io.fua),
            io.offset,
            io.len
        );
        assert_eq!(line, expected, "I/O {number} of {}", files[0].display());
    }
    assert_eq!(lines.next(), None, "an I/O is missing");
    let expected: BTreeMap<&str, u64> = truth
        .lines()
        .filter_map(|line| line.strip_prefix("tally "))
        .map(|line| line.split_once(' ').unwrap())
        .map(|(what, n)| (what, n.parse().unwrap()))
        .collect();
    let mut found = counts(&reader.tally());
    if matches!(format, TraceFormat::Blktrace | TraceFormat::Blkparse) {
        // Requests that get memory or are messages: as many as there are, which the truth does not count.
        found.remove("other");
    }
    assert_eq!(found, expected, "{}", files[0].display());
}

#[track_caller]
fn check_all(name: &str, format: TraceFormat) {
    for seed in 1..=3 {
        let Some(folder) = folder(seed) else { return };
        let truth = folder.join(format!("{name}.truth"));
        check(&[folder.join(name)], &truth, format, Layer::Queue, None);
    }
}

#[test]
fn published_tables() {
    check_all("msr.csv", TraceFormat::Msr);
    check_all("alibaba.csv", TraceFormat::Alibaba);
    check_all("tencent.csv", TraceFormat::Tencent);
}

#[test]
fn logs_of_fio() {
    check_all("fio2.log", TraceFormat::Fio);
    check_all("fio3.log", TraceFormat::Fio);
}

#[test]
fn traces_of_vscsistats() {
    for name in ["vscsi1.bin", "vscsi2.bin", "vscsi1.txt", "vscsi2.txt"] {
        check_all(name, TraceFormat::Vscsi);
    }
}

#[test]
fn a_table_by_a_map() {
    for seed in 1..=3 {
        let Some(folder) = folder(seed) else { return };
        let (file, truth) = (folder.join("mapped.csv"), folder.join("mapped.csv.truth"));
        let map = folder.join("mapped.toml");
        check(&[file], &truth, TraceFormat::Csv, Layer::Queue, Some(&map));
    }
}

#[test]
fn blktrace_of_either_byte_order_at_either_layer() {
    for seed in 1..=3 {
        let Some(folder) = folder(seed) else { return };
        for mark in ["le", "be"] {
            let file = |cpu| folder.join(format!("{mark}.blktrace.{cpu}"));
            let files = [file(0), file(1), file(2)];
            for (layer, name) in [(Layer::Queue, "Q"), (Layer::Driver, "D")] {
                let truth = folder.join(format!("{mark}.blktrace.{name}.truth"));
                check(&files, &truth, TraceFormat::Blktrace, layer, None);
            }
        }
    }
}

#[test]
fn text_of_blkparse_at_either_layer() {
    for seed in 1..=3 {
        let Some(folder) = folder(seed) else { return };
        for (layer, name) in [(Layer::Queue, "Q"), (Layer::Driver, "D")] {
            let truth = folder.join(format!("blkparse.txt.{name}.truth"));
            check(&[folder.join("blkparse.txt")], &truth, TraceFormat::Blkparse, layer, None);
        }
    }
}

/// Time, kind, device, offset, bytes and latency of an I/O.
type ReadIo = (u64, String, String, u64, u32, u64);

/// All I/Os that a text holds, and how many other records there are.
fn read_text(text: &str) -> Result<(TraceFormat, Vec<ReadIo>, u64), String> {
    let format = detect(text.as_bytes()).ok_or("it is not known")?;
    let options = TraceOptions::default();
    let mut reader = open(vec![text.as_bytes()], text.as_bytes(), format, &options)
        .map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    while let Some(io) = reader.next().map_err(|e| e.to_string())? {
        let device = reader.devices()[usize::from(io.device)].clone();
        let latency = io.latency.map_or(0, |latency| latency.0);
        out.push((io.at.0, format!("{:?}", io.dir), device, io.offset, io.len, latency));
    }
    Ok((format, out, reader.tally().other))
}

/// xperf writes an I/O when it is done; older and newer versions differ in their columns.
#[test]
fn dumps_of_xperf_are_read_by_their_headings() {
    let dump = |cpu: &str, number: &str| {
        let heading = |kind: &str| {
            format!(
                "{kind:>23},  TimeStamp,     Process Name ( PID),   ThreadID,{cpu}             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum, IrpFlags, DiskSvcTime, I/O Pri,  VolSnap,         FileObject, FileName\r\n"
            )
        };
        let event = |kind: &str, time: u64, offset: &str, size: &str, elapsed: u64, disk: u32| {
            format!(
                "{kind:>23}, {time:>10},            sqlservr.exe (4711),       4120,{number} 0xfffffa8004321010, {offset}, {size}, {elapsed:>10}, {disk:>8}, 0x060043, {elapsed:>10},  Normal, Original, 0xfffff8a001234560, \"D:\\db.mdf\"\r\n"
            )
        };
        format!(
            "BeginHeader\r\n{}{}           DiskReadInit,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr\r\nEndHeader\r\nOS Version: 6.1.7601, Trace Size: 1KB\r\n           DiskReadInit,       1000,            sqlservr.exe (4711),       4120, 0xfffffa8004321010\r\n{}{}",
            heading("DiskRead"),
            heading("DiskWrite"),
            event("DiskRead", 8210, "0x0076a31000", "0x00004000", 7210, 0),
            event("DiskWrite", 9500, "0x0000001000", "0x00000200", 500, 1)
        )
    };
    let expected = vec![
        (0, "Read".to_owned(), "0".to_owned(), 0x76a3_1000, 0x4000, 7_210_000),
        (8_000_000, "Write".to_owned(), "1".to_owned(), 0x1000, 0x200, 500_000),
    ];
    for text in [dump("", ""), dump(" CPU,", "   1,")] {
        let (format, ios, _) = read_text(&text).unwrap();
        assert_eq!((format, ios), (TraceFormat::Xperf, expected.clone()));
    }
    let without = "BeginHeader\n      CSwitch, TimeStamp, New Process Name\nEndHeader\n";
    let error = read_text(without).unwrap_err();
    assert!(error.contains("no line names the columns `DiskRead` and `ByteOffset`"), "{error}");
}

#[test]
fn traces_of_hfplayer_are_in_microseconds_and_blocks_of_512_bytes() {
    let text = "#DUMP_OFFSET.I,ELAPSED_USECS.D,ELAPSED_TICKS.I,CMD.S,INFLIGHT_IOS.I,TS.I,SEQID.I,LUN_SSID.I,OP.I,PHASE.I,LBA.I,NBLKS.I,LATENCY_TICKS.I,HOST_ID.I,HOST_LUN.I,LATENCY_USECS.D\n\
                1,100.5,7,RD_IN,2,7,1,6,0,0,8,16,4,7,6,250.25\n2,350.75,7,RD_OUT,2,7,1,6,2,1,8,16,4,7,6,250.25\n3,400.5,7,WR,2,7,2,9,1,0,24,2,4,7,6,90\n";
    let (format, ios, other) = read_text(text).unwrap();
    assert_eq!((format, other), (TraceFormat::Hfplayer, 1));
    assert_eq!(
        ios,
        [
            (0, "Read".to_owned(), "6".to_owned(), 4096, 8192, 250_250),
            (300_000, "Write".to_owned(), "9".to_owned(), 12_288, 1024, 90_000)
        ]
    );
}
