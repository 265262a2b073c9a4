//! What cannot be read is refused with its place, and with what would help.

use trace::{CsvMap, Histograms, TraceFormat, TraceOptions, open};

#[track_caller]
fn check(format: TraceFormat, text: &str, expected: &str) {
    let bytes = text.as_bytes();
    let mut reader = match open(vec![bytes], bytes, format, &TraceOptions::default()) {
        Ok(reader) => reader,
        Err(error) => return assert_eq!(error.to_string(), expected),
    };
    let error = loop {
        match reader.next() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it was read"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.to_string(), expected);
}

#[test]
fn lines_that_cannot_be() {
    check(
        TraceFormat::Fio,
        "fio version 3 iolog\n5 /dev/a add\n9 /dev/a reed 0 4096\n",
        "line 3: unknown action `reed`; actions are read, write, trim, sync, datasync, wait, add, open, close",
    );
    check(
        TraceFormat::Fio,
        "fio version 2 iolog\n/dev/a read 0\n",
        "line 2: the length is missing",
    );
    check(
        TraceFormat::Msr,
        "128166372016382155,hm,0,Read,1074696192,4096,113\n128166372026382155,hm,0,Read,x,4096,113\n",
        "line 2: the offset `x` is no number",
    );
    check(
        TraceFormat::Msr,
        "128166372016382155,hm,0,Read,1074696192,4096\n",
        "line 1: no column 7 (latency): there are 6",
    );
    check(
        TraceFormat::Alibaba,
        "1,R,0,4096,5\n2,Q,0,4096,5\n",
        "line 2: unknown kind of I/O `Q`; a map names its word under `[kind]`, or leaves others out: `others = \"skip\"`",
    );
    check(
        TraceFormat::Blkparse,
        "8,16 5 2 0.000001850 18615 Q R 1444645666 + 256 [java]\nnonsense\n",
        "line 2: `nonsense` is no event of blkparse; its default format is read: device, CPU, number, time, process, \
         action, kind, `SECTOR + SECTORS`",
    );
    check(
        TraceFormat::Csv,
        "1,2,3",
        "what the columns mean is not known; say it by `--map MAP.toml`",
    );
}

#[track_caller]
fn check_map(text: &str, expected: &str) {
    assert_eq!(CsvMap::parse(text).unwrap_err().to_string(), expected);
}

#[test]
fn maps_that_cannot_be() {
    let columns = "[column]\ntime = 1\nkind = 2\noffset = 3\nsize = 4\n";
    assert!(CsvMap::parse(columns).is_ok());
    check_map("[column]\ntime = 1\n", "`column.kind` is missing");
    check_map(
        &format!("{columns}sise = 5\n"),
        "unknown key `column.sise`; the keys are time, kind, offset, size, latency, device, issuer",
    );
    check_map(
        &format!("{columns}[unit]\ntime = \"min\"\n"),
        "`unit.time` is ns, 100ns, us, ms or s",
    );
    check_map(
        &columns.replace("time = 1", "time = \"Time\""),
        "columns are named, and there is no heading with names; set `header = 1`, or number the columns from 1",
    );
    check_map(
        &format!("time = \"completion\"\n{columns}"),
        "times of completions need a column `latency`",
    );
    check_map("a = \n", "line 1: string values must be quoted, expected literal string");
}

#[test]
fn histograms_have_their_overflow() {
    let text = "Histogram: IO lengths of Read commands,virtual machine worldGroupID : 207,virtual disk handleID : 8192\n\
                min,512\nmax,1048576\nmean,9000\ncount,111\nFrequency,Histogram Bucket Limit\n1,512\n10,4096\n\
                80,524288\n20,524288\n\nHistogram: latency of IOs in Microseconds (us) of Read commands,x\n\
                Frequency,Histogram Bucket Limit\n5,100\n";
    assert!(Histograms::begins(text.as_bytes()));
    let found = Histograms::read(text.as_bytes()).unwrap();
    let first = &found.all[0];
    assert_eq!((first.min, first.mean, first.count), (Some(512), Some(9000.0), Some(111)));
    assert_eq!(first.buckets.last(), Some(&(20, None)), "above the last limit");
    assert_eq!(first.buckets[2], (80, Some(524_288)));
    assert_eq!((first.total(), found.all.len()), (111, 2));
    let error = Histograms::read(&b"1,2\n"[..]).unwrap_err().to_string();
    assert_eq!(
        error,
        "line 1: `1,2` before the first histogram; each begins with `Histogram: WHAT,DISK`"
    );
}
