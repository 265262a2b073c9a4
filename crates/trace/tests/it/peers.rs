//! Traces that other programs wrote, and how those programs read them.

use crate::readers::folder;
use std::fs::File;
use std::process::Command;
use trace::{Layer, TraceFormat, TraceIo, TraceOptions, TraceReader, detect, open};
use workload::Dir;

fn all(reader: &mut dyn TraceReader) -> Vec<TraceIo> {
    std::iter::from_fn(|| reader.next().unwrap()).collect()
}

#[test]
fn blkparse_prints_of_a_trace_what_is_read_of_it() {
    let Some(folder) = folder(2) else { return };
    let Ok(text) = Command::new("blkparse").arg("-i").arg(folder.join("le")).output() else {
        return eprintln!("skipped: blkparse is not there");
    };
    assert_eq!(detect(&text.stdout), Some(TraceFormat::Blkparse));
    for layer in [Layer::Queue, Layer::Driver] {
        let options = TraceOptions { layer, map: None };
        let files =
            (0..3).map(|cpu| File::open(folder.join(format!("le.blktrace.{cpu}"))).unwrap());
        let binary =
            all(&mut *open(files.collect(), b"", TraceFormat::Blktrace, &options).unwrap());
        let reader = open(vec![&text.stdout[..]], b"", TraceFormat::Blkparse, &options);
        assert_eq!(all(&mut *reader.unwrap()), binary);
        assert!(binary.len() > 800);
    }
}

#[test]
fn a_log_of_fio_holds_what_fio_says_it_did() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let mut fio = Command::new("fio");
    fio.current_dir(folder.path()).args([
        "--name=job",
        "--size=4m",
        "--filename=file",
        "--rw=randrw",
        "--rwmixread=70",
        "--bssplit=4k/50:8k/30:64k/20",
        "--number_ios=300",
        "--fdatasync=16",
        "--write_iolog=log",
        "--output-format=terse",
        "--terse-version=3",
    ]);
    let Ok(ran) = fio.output() else { return eprintln!("skipped: fio is not there") };
    assert!(ran.status.success(), "{ran:?}");
    let head = std::fs::read(&log).unwrap();
    assert_eq!(detect(&head), Some(TraceFormat::Fio));
    let reader = open(vec![&head[..]], &head, TraceFormat::Fio, &TraceOptions::default());
    let ios = all(&mut *reader.unwrap());
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    let fields: Vec<&str> =
        text.lines().find(|line| line.starts_with("3;")).unwrap().split(';').collect();
    let kib = |field: usize| fields[field].parse::<u64>().unwrap() * 1024;
    let bytes =
        |dir| ios.iter().filter(|io| io.dir == dir).map(|io| u64::from(io.len)).sum::<u64>();
    assert_eq!((bytes(Dir::Read), bytes(Dir::Write)), (kib(5), kib(46)));
    assert!(ios.iter().any(|io| io.dir == Dir::Flush), "every sixteenth write is followed by one");
}
