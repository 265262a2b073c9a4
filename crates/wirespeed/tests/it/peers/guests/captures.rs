//! Both ways of capture at once on a kernel that is not locked down, beside what is known to be read of a loop device.

use super::*;
use crate::program::support::program;
use trace::TraceIo;

/// Captures by both ways what `dd` reads; prints the traces in hexadecimal.
const SCRIPT: &str = "
set -e
mkdir -p /tmp /sys/kernel/debug /sys/kernel/tracing; cd /tmp
grep -q ' /sys ' /proc/mounts || mount -t sysfs none /sys
mount -t debugfs none /sys/kernel/debug
mount -t tracefs none /sys/kernel/tracing
dd if=/dev/zero of=data bs=1M count=4 2>/dev/null
losetup /dev/loop0 data
for by in events blktrace; do
    $WIRESPEED capture /dev/loop0 --by $by --time 1h -o $by.trace 2> $by.said &
    eval $by=$!
    until grep -q '^recording loop0' $by.said; do kill -0 $!; sleep 0.1; done
done
if $WIRESPEED capture /dev/loop0 --by blktrace -o third.trace 2> third.said; then exit 9; fi
grep -q 'another program traces loop0' third.said
test ! -e third.trace
for bs in 4096 8192 65536; do
    dd if=/dev/loop0 of=/dev/null bs=$bs count=40 skip=3 iflag=direct 2>/dev/null
    dd if=/dev/zero of=/dev/loop0 bs=$bs count=20 seek=1 oflag=direct conv=notrunc 2>/dev/null
done
kill -INT $events $blktrace
wait $events; wait $blktrace
for by in events blktrace; do od -An -v -tx1 $by.trace | tr -d ' \\n'; echo; done
$WIRESPEED capture /dev/loop0 --by blktrace --time 1s --quiet -o again.trace
$WIRESPEED doctor | grep 'by its events in /sys/kernel/tracing, or by its trace for blktrace in /sys/kernel/debug'
";

fn trace(hexadecimal: &str) -> Vec<TraceIo> {
    let digit = |digit: u8| (digit as char).to_digit(16).expect("a digit") as u8;
    let bytes: Vec<u8> = hexadecimal
        .as_bytes()
        .chunks_exact(2)
        .map(|pair| digit(pair[0]) << 4 | digit(pair[1]))
        .collect();
    let mut reader = trace::OwnReader::new(std::io::Cursor::new(bytes)).expect("a trace");
    let mut ios = Vec::new();
    while let Some(io) = trace::TraceReader::next(&mut reader).expect("it reads") {
        ios.push(io);
    }
    ios
}

#[test]
#[ignore = "takes a minute where guests are emulated: `make guests`"]
fn both_ways_of_capture_tell_what_dd_does() {
    let Some(kernel) = ready(&["dd", "od"]) else { return };
    let program = program();
    let program = program.to_str().expect("a path");
    let contents = with(&[program, "dd", "od"], &["loop"]);
    let keeper = ["setpriv", "--pdeathsig", "KILL", "--"].map(OsString::from);
    let machine = (&kernel, accelerator(&kernel));
    let shell = Shell::start(machine, &contents, 256 * MIB, Network::default(), &keeper);
    let mut shell = shell.unwrap_or_else(|why| panic!("{why}"));
    let said = shell.run(&format!("WIRESPEED={program}\n{SCRIPT}"), PATIENCE).expect("it runs");
    assert_eq!(said.code, 0, "{}", said.text);
    let mut lines = said.text.lines();
    let mut next = || trace(lines.next().expect("a trace"));
    let (events, blktrace) = (next(), next());
    let mut expected = Vec::new();
    for bs in [4096, 8192, 65536] {
        expected.extend((3..43).map(|n| (workload::Dir::Read, n * u64::from(bs), bs)));
        expected.extend((1..21).map(|n| (workload::Dir::Write, n * u64::from(bs), bs)));
    }
    // What the kernel itself reads or flushes when the device is opened or closed is of no size that is asked for here at that place.
    let of = |io: &TraceIo| (io.dir, io.offset, io.len);
    for (way, seen) in [("events", &events), ("blktrace", &blktrace)] {
        let mut left = expected.iter().peekable();
        for io in seen {
            left.next_if(|wanted| **wanted == of(io));
        }
        assert_eq!(left.next(), None, "{way}: the next that is not seen, of {}", seen.len());
        assert!(seen.iter().all(|io| io.latency.is_some()), "{way}");
    }
    assert_eq!(events.len(), blktrace.len());
    let mut apart: Vec<i64> = Vec::new();
    for (event, record) in events.iter().zip(&blktrace) {
        assert_eq!((of(event), event.issuer), (of(record), record.issuer));
        apart.push(event.at.0 as i64 - record.at.0 as i64);
    }
    // They differ by when each trace began. An emulated processor takes its time between the two stamps of an event now and then.
    apart.sort_unstable();
    let median = apart[apart.len() / 2];
    let near = apart.iter().filter(|time| time.abs_diff(median) <= 50_000).count();
    assert!(near * 2 > apart.len(), "{near} of {} times are the same", apart.len());
}
