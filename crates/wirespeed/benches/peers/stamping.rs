//! The error of one time stamp a batch: the same reads stamped twice, once as Wirespeed does (one clock read before a
//! batch is submitted and one after a batch was reaped) and once individually, submitted and polled one after the
//! other. The difference is the error of the batch's stamps; it only ever makes latency look longer.

use crate::tools::Problem;
use crate::zram::SIZE;
use clock::{Ns, Rng};
use disk::{Arena, FileAccess, FileOpener, Io, NullOpener, Opener, Queue};
use engine::QueueKind;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use workload::Dir;

const BATCHES: usize = 3_000;
const BLOCK: u32 = 8 << 10;
/// Bypasses the page cache; the flag has this value on every machine that has fio and zram.
const O_DIRECT: i32 = 0o40000;

/// Prints the error at depths 1 and 32, on a null target and on a device.
pub fn report(device: Option<&Path>) -> Result<(), Problem> {
    println!("\n(g) the stamping error of batched clocks, {BATCHES} batches of 8 KiB random reads");
    println!("  target       depth    own stamps       batch's     error: mean       p99");
    for depth in [1, 32] {
        line("null:", depth, Box::new(NullOpener))?;
        if let Some(path) = device {
            let file = std::fs::OpenOptions::new().read(true).custom_flags(O_DIRECT).open(path);
            let target = FileAccess::Read(OwnedFd::from(file.map_err(|e| Problem::file(path, e))?));
            let opener = FileOpener::new(vec![target], QueueKind::Auto, false);
            line(&path.display().to_string(), depth, Box::new(opener))?;
        }
    }
    Ok(())
}

fn line(name: &str, depth: u32, opener: Box<dyn Opener>) -> Result<(), Problem> {
    let failed = |message: String| Problem::Failed { command: format!("reads of {name}"), message };
    let arena = Arena::new(depth, BLOCK).map_err(|e| failed(e.to_string()))?;
    let mut queue = opener.open(&arena).map_err(|e| failed(e.to_string()))?;
    let mut rng = Rng::keyed(1, &[]);
    let mut own = Vec::with_capacity(BATCHES * depth as usize);
    let mut errors = Vec::with_capacity(own.capacity());
    for _ in 0..BATCHES {
        let io = |slot| {
            let offset = rng.below(SIZE / u64::from(BLOCK)) * u64::from(BLOCK);
            Io { fua: false, slot, dir: Dir::Read, target: 0, offset, len: BLOCK }
        };
        let ios: Vec<Io> = (0..depth).map(io).collect();
        batch(&mut *queue, &ios, &mut own, &mut errors);
    }
    let batches = own.iter().zip(&errors).map(|(own, error)| own + error).sum::<u64>();
    let mean = |sum: u64| units::duration(std::time::Duration::from_nanos(sum / own.len() as u64));
    errors.sort_unstable();
    let p99 = errors[errors.len() * 99 / 100];
    println!(
        "  {name:12} {depth:5} {:>13} {:>13} {:>15} {:>9}",
        mean(own.iter().sum()),
        mean(batches),
        mean(errors.iter().sum()),
        units::duration(std::time::Duration::from_nanos(p99)),
    );
    Ok(())
}

/// Carries one batch; for each read appends its latency by its own stamps, and the error of a batch's stamps.
fn batch(queue: &mut dyn Queue, ios: &[Io], own: &mut Vec<u64>, errors: &mut Vec<u64>) {
    let mut submitted = vec![Ns::ZERO; ios.len()];
    let mut seen = vec![Ns::ZERO; ios.len()];
    let mut done = Vec::with_capacity(ios.len());
    let mut left = ios.len();
    let begin = clock::now();
    let mut look = |queue: &mut dyn Queue, min, left: &mut usize| {
        queue.reap(min, if min == 0 { Ns::ZERO } else { Ns::MAX }, &mut done);
        let now = clock::now();
        *left -= done.len();
        for completion in done.drain(..) {
            seen[completion.slot as usize] = now;
        }
    };
    for io in ios {
        submitted[io.slot as usize] = clock::now();
        queue.submit(std::slice::from_ref(io));
        look(queue, 0, &mut left);
    }
    while left > 0 {
        look(queue, 1, &mut left);
    }
    let end = clock::now();
    for (from, to) in submitted.iter().zip(&seen) {
        own.push(to.since(*from).0);
        errors.push(from.since(begin).0 + end.since(*to).0);
    }
}
