//! Sessions that come and go, half of them in the middle of a command, beside workers that check every block: nothing may be
//! corrupted, leak or get stuck.

use crate::peers::raw::{Break, Initiator};
use crate::peers::served::{IQN, Served};
use clock::{Ns, now, sleep_until};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// Sessions that come and go, on so many threads.
const SESSIONS: u32 = 200;
const CALLERS: u32 = 8;
/// Workers that check what they read; each owns so many blocks of 512 bytes, and visitors have the same room behind them.
const WORKERS: u32 = 8;
const BLOCKS: u64 = 2048;
/// A hang guard for what has to come to rest after the last session.
const REST: Ns = Ns::secs(20);

/// A block's content: a pure function of its place and of how often it was written.
fn block(lba: u64, generation: u64) -> [u8; 512] {
    let mut block = [0; 512];
    for (n, word) in (0_u64..).zip(block.chunks_exact_mut(8)) {
        let mixed = (lba << 32 ^ generation << 8 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        word.copy_from_slice(&mixed.to_le_bytes());
    }
    block
}

/// Writes and reads its own blocks until its end; every block holds the last write. Returns the number of commands.
fn worker(served: &Served, number: u32, end: &AtomicBool) -> u32 {
    let address = served.address(number as usize % 2);
    let name = format!("iqn.2026-11.example.host:worker{number}");
    let mut session = Initiator::login(&address, IQN, &name, number).expect("a worker logs in");
    let mut rng = clock::Rng::keyed(1, &[u64::from(number)]);
    let first = u64::from(number) * BLOCKS;
    let mut generations = vec![0_u64; BLOCKS as usize];
    let mut commands = 0;
    while !end.load(Ordering::Relaxed) || commands < 100 {
        let at = rng.below(BLOCKS - 64);
        let count = 1 + rng.below(64);
        let range = at as usize..(at + count) as usize;
        if rng.below(2) == 0 {
            generations[range.clone()].iter_mut().for_each(|generation| *generation += 1);
            let bytes: Vec<u8> =
                range.flat_map(|b| block(first + b as u64, generations[b])).collect();
            session.write(first + at, &bytes).expect("a write ends well");
        } else {
            let bytes = session.read(first + at, count as u32).expect("a read ends well");
            for (b, found) in range.zip(bytes.chunks_exact(512)) {
                let expected = if generations[b] == 0 {
                    [0; 512]
                } else {
                    block(first + b as u64, generations[b])
                };
                assert!(found == expected, "block {b} of worker {number} is not what was written");
            }
        }
        commands += 1;
    }
    session.logout().expect("a worker logs out");
    commands
}

/// One session that comes and goes; every second one dies on its way.
fn visit(served: &Served, number: u32) {
    let address = served.address(number as usize % 2);
    let name = format!("iqn.2026-11.example.host:visitor{number}");
    let mut session = Initiator::login(&address, IQN, &name, number).expect("a visitor logs in");
    let lba = u64::from(WORKERS) * BLOCKS + u64::from(number % 8) * 128;
    session.write(lba, &[number as u8; 4096]).expect("a visitor writes");
    let how = [Break::Header, Break::Reads, Break::Data][number as usize / 2 % 3];
    match number % 2 {
        0 => session.logout().expect("a visitor logs out"),
        _ => session.break_off(how, lba).expect("a visitor dies as it wants to"),
    }
}

/// Descriptors that the target has open, and KiB of memory that it holds.
fn held(served: &Served) -> (usize, u64) {
    let process = format!("/proc/{}", served.pid());
    let open = std::fs::read_dir(format!("{process}/fd")).expect("the target lives").count();
    let status = std::fs::read_to_string(format!("{process}/status")).expect("the target lives");
    let rss =
        status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("Linux tells it");
    (open, rss.trim().trim_end_matches(" kB").parse().expect("a number"))
}

/// Waits until no more descriptors are open than `most`.
fn at_rest(served: &Served, most: usize) -> (usize, u64) {
    let limit = now().plus(REST);
    loop {
        let held = held(served);
        if held.0 <= most || now() > limit {
            return held;
        }
        sleep_until(now().plus(Ns::millis(10)));
    }
}

/// All sessions of a round, beside the workers.
fn round(served: &Served, from: u32) {
    let (next, end) = (AtomicU32::new(from), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|n| {
                scope.spawn({
                    let end = &end;
                    move || worker(served, n, end)
                })
            })
            .collect();
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| {
                scope.spawn(|| {
                    while let Some(number) =
                        Some(next.fetch_add(1, Ordering::Relaxed)).filter(|n| *n < from + SESSIONS)
                    {
                        visit(served, number);
                    }
                })
            })
            .collect();
        let called =
            callers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>();
        end.store(true, Ordering::Relaxed);
        for worked in workers {
            let commands = worked.join().expect("a worker found nothing wrong");
            assert!(commands >= 100, "a worker did nothing");
        }
        assert!(called.iter().all(Result::is_ok), "a visitor was treated badly");
    });
}

#[test]
fn two_hundred_sessions_come_and_go_beside_verified_workers() {
    let blocks = u64::from(WORKERS) * BLOCKS + 1024;
    let volume = format!("ram:{}KiB,thin", blocks / 2);
    // Memory is compared after the second round with what it was after the first.
    let mut served = Served::two_portals(&["--volume", &volume, "--threads", "2"]);
    let (before, _) = held(&served);
    round(&served, 1000);
    let (_, first) = at_rest(&served, before);
    // The volume holds the first round's data; workers begin with zeros again.
    let mut cleaner =
        Initiator::login(&served.address(0), IQN, "iqn.2026-11.example.host:cleaner", 1)
            .expect("it logs in");
    for lba in (0..blocks).step_by(128) {
        let count = (blocks - lba).min(128) as usize;
        cleaner.write(lba, &vec![0; count * 512]).expect("it writes");
    }
    cleaner.logout().expect("it logs out");
    round(&served, 2000);
    let (open, second) = at_rest(&served, before);
    assert!(
        open <= before,
        "{open} descriptors are open at the end, {before} were at the start\n{}",
        served.log()
    );
    assert!(
        second <= first + 4096,
        "memory grew from {first} to {second} KiB by {SESSIONS} sessions"
    );
    assert!(served.stop().success(), "{}", served.log());
    // The log is whole when the target has ended.
    let log = served.log();
    let count = |what: &str| log.lines().filter(|line| line.contains(what)).count() as u32;
    let sessions = 2 * (SESSIONS + WORKERS) + 1;
    assert_eq!(count("login by"), sessions, "{log}");
    assert_eq!((count("logout of"), count("dropped")), (sessions - SESSIONS, SESSIONS), "{log}");
}
