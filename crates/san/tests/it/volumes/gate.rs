//! COMPARE AND WRITE and ORWRITE have nothing in between, whatever other threads write, in memory and in files.

use crate::prelude::*;
use crate::volumes::bench::{Bench, extent, open, quick};

fn block(number: u64) -> Vec<u8> {
    number.to_le_bytes().repeat(512 / 8)
}

/// One thread compares and writes while another writes plainly. Whoever of the two came first, the plain write must stand:
/// it fails the comparison, or it overwrites what came before.
fn plain_writes_stand(volume: &Arc<Volume>, rounds: u64) {
    let barrier = Arc::new(Barrier::new(2));
    let writer = {
        let (volume, barrier) = (Arc::clone(volume), Arc::clone(&barrier));
        std::thread::spawn(move || {
            let mut bench = Bench::new(volume, quick());
            for round in 0..rounds {
                barrier.wait();
                bench.write(3, &block(1_000_000 + round));
                barrier.wait();
            }
        })
    };
    let mut bench = Bench::new(Arc::clone(volume), quick());
    for round in 0..rounds {
        bench.write(3, &block(round));
        let both = [block(round), block(2_000_000 + round)].concat();
        let data = Data::Buffer(bench.buffer(&both));
        barrier.wait();
        let done = bench.run(Medium::CompareAndWrite { at: extent(3, 1), durable: false }, data);
        barrier.wait();
        assert!(matches!(done.ending.status, ScsiStatus::Good | ScsiStatus::CheckCondition));
        assert!(bench.read(3, 1) == block(1_000_000 + round), "round {round}: a write was lost");
    }
    writer.join().expect("the writer");
}

/// Threads count up one block by comparing and writing; each success is one.
fn counting(volume: &Arc<Volume>, threads: usize, each: u64) {
    let start = Arc::new(Barrier::new(threads));
    let count = |number: usize| {
        let (volume, start) = (Arc::clone(volume), Arc::clone(&start));
        std::thread::spawn(move || {
            let mut bench = Bench::new(volume, quick());
            start.wait();
            let mut left = each;
            while left > 0 {
                // Copied once: others write here meanwhile, and a read lends the volume's own memory.
                let mut there = vec![0; 512];
                let read = bench.good(Medium::Read(extent(0, 1)), &[]);
                assert_eq!(read.data.copy_to(0, &mut there), 512);
                let next = u64::from_le_bytes(there[..8].try_into().unwrap()) + 1;
                let data = Data::Buffer(bench.buffer(&[there, block(next)].concat()));
                let medium = Medium::CompareAndWrite { at: extent(0, 1), durable: false };
                left -= u64::from(bench.run(medium, data).ending == Ending::GOOD);
                // A bit of its own, and a neighbour's block.
                bench.good(
                    Medium::Or { at: extent(8, 1), durable: false },
                    &block(1 << (number + 8 * left as usize % 56)),
                );
                bench.write(1 + number as u64, &block(left));
            }
        })
    };
    let threads: Vec<_> = (0..threads).map(count).collect();
    let many = threads.len() as u64;
    threads.into_iter().for_each(|thread| thread.join().expect("a thread"));
    let mut bench = Bench::new(Arc::clone(volume), quick());
    assert!(bench.read(0, 1) == block(many * each), "successes are not what was counted");
}

#[test]
fn memory() {
    for text in ["ram:64KiB", "ram:64KiB,thin"] {
        let volume = open(text);
        plain_writes_stand(&volume, 2000);
        counting(&volume, 4, 200);
    }
}

#[test]
fn files() {
    let folder = tempfile::tempdir().expect("a directory");
    let volume = open(&format!("file:{}/data,size=64KiB", folder.path().display()));
    plain_writes_stand(&volume, 200);
    counting(&volume, 3, 40);
}

#[test]
fn giving_back_memory_does_not_lose_what_is_written() {
    // Writes of one block of a page, and the whole page given back: whatever the order, what is there afterwards is what
    // was written or zeros, and the other blocks of the page are zeros.
    let volume = open("ram:1MiB,thin");
    let barrier = Arc::new(Barrier::new(2));
    let rounds = 2000u64;
    let writer = {
        let (volume, barrier) = (Arc::clone(&volume), Arc::clone(&barrier));
        std::thread::spawn(move || {
            let mut bench = Bench::new(volume, quick());
            for round in 0..rounds {
                barrier.wait();
                bench.write(round % 8, &block(round + 1));
                barrier.wait();
            }
        })
    };
    let mut bench = Bench::new(Arc::clone(&volume), quick());
    for round in 0..rounds {
        barrier.wait();
        bench.good(Medium::Unmap(vec![extent(0, 8)]), &[]);
        barrier.wait();
        let page = bench.read(0, 8);
        for (lba, there) in (0..).zip(page.chunks(512)) {
            let zero = there.iter().all(|byte| *byte == 0);
            assert!(
                zero || (lba == round % 8 && there == block(round + 1)),
                "round {round}, block {lba}"
            );
        }
        bench.good(Medium::Unmap(vec![extent(0, 8)]), &[]);
    }
    writer.join().expect("the writer");
}
