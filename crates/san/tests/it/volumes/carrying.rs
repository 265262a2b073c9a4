//! How commands are carried: many at once and out of order, in bounded memory, in slices, and to a clean end.

use crate::prelude::*;
use crate::volumes::bench::{Bench, bytes, extent, open, quick};
use rustix::event::{PollFd, PollFlags};
use san::volume::{
    Data, FinishedCommand, Handle, IoConfig, MAX_TRANSFER, VolumeExecutor, VolumeJob,
};

fn start(bench: &mut Bench, token: u64, medium: Medium, data: Data) -> Option<FinishedCommand> {
    bench.io.start(VolumeJob { token, volume: bench.volume.clone(), medium, data })
}

fn file(folder: &tempfile::TempDir, options: &str) -> String {
    format!("file:{}/data,size=16MiB{options}", folder.path().display())
}

#[test]
fn many_are_in_flight_and_each_is_answered_once() {
    let folder = tempfile::tempdir().expect("a directory");
    for ring in [true, false] {
        let _ = std::fs::remove_file(folder.path().join("data"));
        let volume = open(&file(&folder, ""));
        let mut bench = Bench::new(volume, IoConfig { ring, ..quick() });
        assert_eq!(bench.io.how(), if ring { "io_uring" } else { "helper threads" });
        let mut done = Vec::new();
        for token in 0..2000u64 {
            let data = Data::Buffer(bench.buffer(&vec![token as u8; 4096]));
            let medium = Medium::Write { to: extent(token * 8, 8), durable: false };
            done.extend(start(&mut bench, token, medium, data));
        }
        assert!(bench.volume.counters().in_flight > 1000);
        bench.until(2000, &mut done);
        let mut tokens: Vec<u64> = done.drain(..).map(|d| d.token).collect();
        tokens.sort_unstable();
        assert_eq!(tokens, (0..2000).collect::<Vec<_>>());
        for token in 0..2000u64 {
            let medium = Medium::Read(extent(token * 8, 8));
            done.extend(start(&mut bench, token, medium, Data::None));
        }
        bench.until(2000, &mut done);
        assert!(done.iter().all(|d| bytes(&d.data) == vec![d.token as u8; 4096]));
        let counters = bench.volume.counters();
        assert_eq!((counters.reads, counters.writes), (2000, 2000));
        assert_eq!((counters.bytes_read, counters.bytes_written), (2000 << 12, 2000 << 12));
        assert_eq!((counters.in_flight, counters.failed), (0, 0));
    }
}

/// A thread that sleeps on the descriptor sleeps: what was over has been read away with its result.
#[test]
fn at_rest_nothing_is_readable() {
    let folder = tempfile::tempdir().expect("a directory");
    for ring in [true, false] {
        let mut bench = Bench::new(open(&file(&folder, "")), IoConfig { ring, ..quick() });
        for lba in 0..50 {
            let to = extent(lba * 8, 8);
            bench.good(Medium::Write { to, durable: true }, &[1; 4096]);
            bench.good(Medium::Read(to), &[]);
            let mut done = Vec::new();
            // One call may find that there is nothing.
            bench.io.reap(&mut done);
            let fd = bench.io.fd();
            let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            let mut fds = [PollFd::new(&fd, PollFlags::IN)];
            let readable = rustix::event::poll(&mut fds, Some(&now)).expect("polled");
            assert_eq!((readable, done.len(), bench.io.open()), (0, 0, 0), "ring: {ring}");
        }
    }
}

#[test]
fn memory_is_bounded_and_waited_for_in_order() {
    let folder = tempfile::tempdir().expect("a directory");
    let volume = open(&file(&folder, ""));
    let memory = MAX_TRANSFER as usize;
    let mut bench = Bench::new(volume, IoConfig { memory, ..quick() });
    let held = bench.io.buffer(memory).expect("all of it");
    assert!(bench.io.buffer(1).is_none(), "more than the bound");
    for token in 0..3 {
        let len = if token == 0 { 8192 } else { 8 };
        assert!(start(&mut bench, token, Medium::Read(extent(0, len)), Data::None).is_none());
    }
    bench.io.submit();
    let mut done = Vec::new();
    bench.io.reap(&mut done);
    assert!(done.is_empty());
    drop(held);
    // The first wants all of it, so the others come when it has been sent.
    bench.until(1, &mut done);
    assert_eq!((done.len(), done[0].token), (1, 0));
    done.clear();
    bench.until(2, &mut done);
    drop(done);
    assert!(bench.io.buffer(memory).is_some(), "memory was lost");
}

#[test]
fn an_executor_that_goes_away_waits_for_the_kernel() {
    let folder = tempfile::tempdir().expect("a directory");
    for ring in [true, false] {
        let _ = std::fs::remove_file(folder.path().join("data"));
        let volume = open(&file(&folder, ""));
        for round in 0..20 {
            let mut bench = Bench::new(Arc::clone(&volume), IoConfig { ring, ..quick() });
            for token in 0..100 {
                let data = Data::Buffer(bench.buffer(&[7; 65_536]));
                let to = extent(token * 128, 128);
                start(&mut bench, token, Medium::Write { to, durable: round % 2 == 0 }, data);
                start(
                    &mut bench,
                    token,
                    Medium::CompareAndWrite { at: extent(1, 1), durable: false },
                    Data::None,
                );
            }
            if round % 3 == 0 {
                bench.io.submit();
            }
        }
        // Nobody has left the gate locked.
        Bench::new(volume, quick())
            .good(Medium::Or { at: extent(0, 8), durable: false }, &[0; 4096]);
    }
}

/// Long work goes on in slices: another command is answered before it is over.
#[track_caller]
fn sliced(long: Medium, data: &[u8]) {
    let volume = open("ram:128MiB,thin");
    let name = [1; 16];
    let volumes = vec![(name, Arc::clone(&volume))];
    let mut bench = Bench::new(volume, IoConfig { volumes, ..quick() });
    for lba in (0..262_144).step_by(8192) {
        bench.write(lba, &vec![1; 4 << 20]);
    }
    let data = if data.is_empty() { Data::None } else { Data::Buffer(bench.buffer(data)) };
    assert!(start(&mut bench, 1, long.clone(), data).is_none(), "{long:?} held the thread");
    let mut done = Vec::new();
    let mut turns = 0;
    while done.is_empty() {
        assert_eq!(bench.read(262_143, 1).len(), 512);
        bench.io.submit();
        bench.io.reap(&mut done);
        turns += 1;
    }
    assert_eq!(done[0].ending, Ending::GOOD);
    assert!(turns > 5, "{long:?} took only {turns} turns");
}

#[test]
fn long_work_lets_others_have_their_turn() {
    let all = extent(0, 262_144);
    let half = BlockRange { lba: 0, blocks: 131_072 };
    let name = [1; 16];
    sliced(Medium::Same { to: all, zero: false, unmap: false, durable: false }, &[3; 512]);
    sliced(Medium::Same { to: all, zero: true, unmap: false, durable: false }, &[]);
    sliced(Medium::Unmap(vec![all]), &[]);
    sliced(Medium::Sanitize { pattern: vec![9] }, &[]);
    sliced(Medium::Compare { with: all, one: true }, &[1; 512]);
    let copy = CopySegment { from: name, source: half, to: name, lba: 131_072 };
    sliced(Medium::Copy(vec![copy]), &[]);
}

#[test]
fn long_work_can_be_abandoned() {
    let mut bench = Bench::of("ram:256MiB,thin");
    let medium = Medium::Sanitize { pattern: vec![1] };
    assert!(start(&mut bench, 5, medium, Data::None).is_none());
    bench.io.abandon(5);
    let mut done = Vec::new();
    bench.until(1, &mut done);
    let aborted = Ending::check(Sense::new(SenseKey::AbortedCommand, 0));
    assert_eq!((done[0].token, done[0].ending), (5, aborted));
    assert!(bench.volume.taken().expect("told") < 64 << 20);
}

#[test]
fn sanitize_takes_its_time() {
    let config = IoConfig { sanitize: clock::Ns::millis(300), ..quick() };
    let mut bench = Bench::new(open("ram:1MiB"), config);
    let begun = clock::now();
    bench.good(Medium::Sanitize { pattern: Vec::new() }, &[]);
    assert!(clock::now().since(begun) >= clock::Ns::millis(300));
}

#[test]
fn places_that_are_not_there_are_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    for text in ["ram:1MiB,thin", &format!("file:{}/data,size=1MiB", folder.path().display())] {
        let mut bench = Bench::of(text);
        let out = Some(Sense::new(SenseKey::IllegalRequest, 0x2100));
        for at in [extent(2048, 1), extent(2047, 2), extent(u64::MAX, 1), extent(1, u64::MAX)] {
            for medium in [
                Medium::Read(at),
                Medium::Verify(at),
                Medium::Write { to: at, durable: false },
                Medium::CompareAndWrite { at, durable: false },
                Medium::Unmap(vec![at]),
                Medium::Prefetch(at),
            ] {
                assert_eq!(bench.run(medium, Data::None).ending.sense, out, "{text} {at:?}");
            }
        }
        assert_eq!(
            bench.run(Medium::LbaStatus { lba: 2048, len: 64 }, Data::None).ending.sense,
            out
        );
        assert_eq!(bench.run(Medium::Read(extent(2048, 0)), Data::None).ending, Ending::GOOD);
    }
}

#[test]
fn what_came_is_written_where_less_came() {
    for text in ["ram:1MiB", "ram:1MiB,thin"] {
        let mut bench = Bench::of(text);
        bench.write(0, &[1; 4096]);
        let medium = Medium::Write { to: extent(0, 8), durable: false };
        bench.good(medium, &[2; 3 * 512 + 100]);
        let there = bench.read(0, 8);
        assert!(there[..1536].iter().all(|byte| *byte == 2));
        assert!(there[1536..].iter().all(|byte| *byte == 1));
    }
}

#[test]
fn copies_go_between_volumes_by_name() {
    let (one, two) = (open("ram:1MiB"), open("ram:1MiB,thin,block=4096"));
    let volumes = vec![([1; 16], Arc::clone(&one)), ([2; 16], Arc::clone(&two))];
    let mut bench = Bench::new(one, IoConfig { volumes, ..quick() });
    bench.write(8, &[6; 8192]);
    let segment = |to: u8, blocks, lba| {
        let source = extent(8, blocks);
        Medium::Copy(vec![CopySegment { from: [1; 16], source, to: [to; 16], lba }])
    };
    bench.good(segment(2, 16, 3), &[]);
    let failed = |code| Some(Sense::new(SenseKey::CopyAborted, code));
    assert_eq!(bench.run(segment(3, 8, 0), Data::None).ending.sense, failed(0x0d02));
    assert_eq!(bench.run(segment(2, 8, 256), Data::None).ending.sense, failed(0x0d01));
    assert_eq!(bench.run(segment(2, 7, 0), Data::None).ending.sense, failed(0x0d01));
    bench.volume = Handle::new(two);
    assert_eq!(bench.read(3, 2), [6; 8192]);
}

#[test]
fn pieces_of_a_part_are_the_part() {
    let mut bench = Bench::of("ram:1MiB,thin");
    let whole: Vec<u8> =
        (0..65_536u32).map(|n| if n / 4096 % 3 == 0 { 0 } else { n as u8 }).collect();
    for page in (0..16).filter(|page| page % 3 != 0) {
        bench.write(page * 8, &whole[page as usize * 4096..][..4096]);
    }
    let done = bench.good(Medium::Read(extent(0, 128)), &[]);
    for (offset, len) in
        [(0, 65_536), (1, 5000), (4095, 2), (12_288, 4096), (65_000, 9999), (70_000, 1)]
    {
        let mut pieces = Vec::new();
        done.data.pieces(offset, len, &mut pieces);
        let told: usize = pieces.iter().map(|piece| piece.iov_len).sum();
        let mut copy = vec![0xee; len];
        let copied = done.data.copy_to(offset, &mut copy);
        assert_eq!(told, copied);
        let part = whole.get(offset..).unwrap_or_default();
        assert!(
            copy[..copied] == part[..copied] && copied == len.min(part.len()),
            "{offset} {len}"
        );
    }
}

#[test]
fn threads_come_and_go() {
    // More than have a place of their own.
    let volume = open("ram:1MiB");
    let all: Vec<VolumeExecutor> = (0..80)
        .map(|_| VolumeExecutor::new(IoConfig { memory: 1, ..quick() }).expect("one"))
        .collect();
    let mut bench = Bench::new(Arc::clone(&volume), quick());
    bench.write(0, &[1; 512]);
    bench.good(Medium::Or { at: extent(0, 1), durable: false }, &[2; 512]);
    drop(all);
    assert_eq!(bench.read(0, 1), [3; 512]);
    assert_eq!(volume.counters().writes, 1);
}
