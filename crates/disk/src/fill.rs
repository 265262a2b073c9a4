//! Filling: writes content over a part of an opened target, with several large writes in flight.
//!
//! It decides nothing: the guard says what may be written, and `conditioning` what needs it.

use crate::Arena;
use crate::content::ContentMaker;
use crate::surface::WriteSurface;
use clock::Ns;
use engine::Stop;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fsync};
use rustix::io::Errno;
use std::convert::Infallible;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, Builder};
use std::time::Duration;

/// Writes in flight: one a thread. Enough to keep an SSD busy with large ones.
const LANES: u64 = 4;

/// How often progress is reported.
const TICK: Duration = Duration::from_millis(500);

/// Bytes of one write while filling.
pub(crate) const CHUNK: u32 = 1 << 20;

/// A part of an opened target that is to be filled.
pub(crate) struct FillRange<'a> {
    pub to: WriteSurface<'a>,
    pub content: ContentMaker,
    /// Bytes, from the target's start.
    pub range: Range<u64>,
    /// Bytes of one write, a multiple of `align`.
    pub chunk: u32,
    /// What direct writes are multiples of.
    pub align: u32,
    pub stop: &'a Stop,
}

/// How far a fill has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FillProgress {
    /// Bytes written.
    pub done: u64,
    /// Bytes to be written.
    pub total: u64,
    /// Since it began.
    pub elapsed: Ns,
}

/// Why a fill ended before its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// It was called off.
    Stopped(FillProgress),
    /// A write failed.
    Failed(Errno, FillProgress),
}

/// What the lanes share.
struct Lanes<'a> {
    fill: &'a FillRange<'a>,
    /// The end of what is written in whole `align`s.
    end: u64,
    next: AtomicU64,
    done: AtomicU64,
    /// A lane has failed: the others stop.
    over: AtomicBool,
}

impl FillRange<'_> {
    /// Fills, syncs, and reports progress.
    pub fn run(&self, tell: &mut dyn FnMut(FillProgress)) -> Result<FillProgress, Broken> {
        let began = clock::now();
        let end = self.range.end - self.range.end % u64::from(self.align.max(1));
        let lanes = Lanes {
            fill: self,
            end: end.max(self.range.start),
            next: AtomicU64::new(self.range.start),
            done: AtomicU64::new(0),
            over: AtomicBool::new(false),
        };
        let progress = || FillProgress {
            done: lanes.done.load(Ordering::Relaxed),
            total: self.range.end - self.range.start,
            elapsed: clock::now().since(began),
        };
        lanes
            .run(&mut || tell(progress()))
            .and_then(|()| if self.stop.asked() { Ok(()) } else { lanes.tail() })
            .map_err(|e| Broken::Failed(e, progress()))?;
        if progress().done < progress().total {
            return Err(Broken::Stopped(progress()));
        }
        if let WriteSurface::Fd(fd) = self.to {
            fsync(fd).map_err(|e| Broken::Failed(e, progress()))?;
        }
        Ok(progress())
    }
}

impl Lanes<'_> {
    /// Runs the lanes to their end and calls `tick` meanwhile.
    fn run(&self, tick: &mut dyn FnMut()) -> Result<(), Errno> {
        let chunks = (self.end - self.fill.range.start).div_ceil(self.fill.chunk.into());
        thread::scope(|scope| {
            let (alive, ended) = mpsc::channel::<Infallible>();
            let mut threads = Vec::new();
            for _ in 0..LANES.min(chunks) {
                let alive = alive.clone();
                let lane = move || {
                    // Held until the lane ends, however it ends.
                    let _alive = alive;
                    let result = self.lane();
                    self.over.fetch_or(result.is_err(), Ordering::Relaxed);
                    result
                };
                match Builder::new().name("fill".to_owned()).spawn_scoped(scope, lane) {
                    Ok(thread) => threads.push(thread),
                    // Fewer lanes fill as well; none at all cannot.
                    Err(_) if !threads.is_empty() => break,
                    Err(_) => return Err(Errno::AGAIN),
                }
            }
            drop(alive);
            while ended.recv_timeout(TICK) == Err(RecvTimeoutError::Timeout) {
                tick();
            }
            let join = |thread: thread::ScopedJoinHandle<'_, Result<(), Errno>>| {
                thread.join().unwrap_or_else(|panic| resume_unwind(panic))
            };
            threads.into_iter().map(join).fold(Ok(()), Result::and)
        })
    }

    /// Takes chunk after chunk, each the next free one.
    fn lane(&self) -> Result<(), Errno> {
        let FillRange { to, content, chunk, stop, .. } = self.fill;
        let arena = Arena::new(1, *chunk).map_err(|_| Errno::NOMEM)?;
        let base = arena.slot(0).ok_or(Errno::NOMEM)?;
        // SAFETY: the slot is mapped, `chunk` long, and used by this lane alone.
        let buffer = unsafe { std::slice::from_raw_parts_mut(base, *chunk as usize) };
        while !stop.asked() && !self.over.load(Ordering::Relaxed) {
            let at = self.next.fetch_add((*chunk).into(), Ordering::Relaxed);
            if at >= self.end {
                break;
            }
            let len = (self.end - at).min((*chunk).into());
            let data = &mut buffer[..len as usize];
            content.write(at, data);
            to.write_all(data, at)?;
            self.done.fetch_add(len, Ordering::Relaxed);
        }
        Ok(())
    }

    /// What is no whole `align` cannot be written directly; it goes last and through the cache.
    fn tail(&self) -> Result<(), Errno> {
        let FillRange { to, content, range, .. } = self.fill;
        let len = range.end.saturating_sub(self.end);
        // What is remote has whole blocks only.
        let WriteSurface::Fd(fd) = to else { return Ok(()) };
        if len == 0 {
            return Ok(());
        }
        // From the start of the block that the tail lies in: content is made in whole blocks.
        let skip = self.end % crate::BLOCK as u64;
        let mut data = vec![0; (skip + len) as usize];
        content.write(self.end - skip, &mut data);
        let flags = fcntl_getfl(fd)?;
        fcntl_setfl(fd, flags - OFlags::DIRECT)?;
        let written = to.write_all(&data[skip as usize..], self.end);
        fcntl_setfl(fd, flags)?;
        written?;
        self.done.fetch_add(len, Ordering::Relaxed);
        Ok(())
    }
}

impl FillProgress {
    /// Bytes a second.
    pub fn rate(&self) -> f64 {
        self.done as f64 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Until the end, at the rate so far.
    pub fn left(&self) -> Ns {
        let seconds = (self.total - self.done.min(self.total)) as f64 / self.rate().max(1.0);
        Ns((seconds * 1e9) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;
    use std::fs::{File, OpenOptions};
    use std::os::unix::fs::{FileExt, OpenOptionsExt};
    use std::process::Command;
    use workload::Reduction;

    const MIB: u64 = 1 << 20;

    fn content() -> ContentMaker {
        ContentMaker::new(Reduction { compress: 2.0, dedupe: 1.5 }, 5)
    }

    fn fill(file: &File, range: Range<u64>, stop: &Stop) -> Result<FillProgress, Broken> {
        let fill = FillRange {
            to: WriteSurface::Fd(file.as_fd()),
            content: content(),
            range,
            chunk: 64 << 10,
            align: 512,
            stop,
        };
        fill.run(&mut |_| {})
    }

    #[test]
    fn a_range_is_filled_and_nothing_else_is_touched() {
        for range in [0..MIB, 4096..MIB + 512, 8192..8192, 0..MIB + 4096 + 700, 512 << 10..MIB] {
            let file = tempfile::tempfile().expect("a file");
            file.set_len(2 * MIB).expect("room");
            assert_eq!(
                fill(&file, range.clone(), &Stop::default()).map(|p| p.done),
                Ok(range.end - range.start)
            );
            let mut found = vec![1; 2 * MIB as usize];
            file.read_exact_at(&mut found, 0).expect("readable");
            let mut expected = vec![0; range.end as usize];
            content().write(0, &mut expected);
            expected[..range.start as usize].fill(0);
            expected.resize(2 * MIB as usize, 0);
            assert!(found == expected, "{range:?}");
        }
    }

    /// What the guard grants of a device is a descriptor like this one.
    #[test]
    fn a_device_is_filled_past_the_page_cache_to_its_last_sector() {
        let backing = tempfile::NamedTempFile::new().expect("a file");
        backing.as_file().set_len(MIB + 512).expect("room");
        let made = Command::new("losetup").args(["-f", "--show"]).arg(backing.path()).output();
        let Some(made) = made.ok().filter(|out| out.status.success()) else {
            return println!("skipped: no loop device can be set up");
        };
        let device = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        let mut options = OpenOptions::new();
        let flags = OFlags::DIRECT.bits() as i32;
        let filled = options.write(true).custom_flags(flags).open(&device).map(|device| {
            fill(&device, 0..MIB + 512, &Stop::default()).map(|progress| progress.done)
        });
        let detached = Command::new("losetup").arg("-d").arg(&device).status();
        assert!(detached.is_ok_and(|status| status.success()));
        assert_eq!(filled.expect("our own device"), Ok(MIB + 512));
        let mut expected = vec![0; MIB as usize + 512];
        content().write(0, &mut expected);
        assert!(std::fs::read(backing.path()).expect("readable") == expected);
    }

    #[test]
    fn a_fill_that_is_called_off_says_how_far_it_came() {
        let file = tempfile::tempfile().expect("a file");
        let stop = Stop::default();
        stop.ask();
        match fill(&file, 0..MIB, &stop) {
            Err(Broken::Stopped(FillProgress { done: 0, total: MIB, .. })) => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_write_that_fails_ends_it() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("data");
        std::fs::write(&path, [0; 4096]).expect("written");
        let read_only = File::open(&path).expect("readable");
        match fill(&read_only, 0..MIB, &Stop::default()) {
            Err(Broken::Failed(Errno::BADF, _)) => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn time_left_is_reckoned_from_the_rate_so_far() {
        let half = FillProgress { done: 500, total: 1000, elapsed: Ns::secs(10) };
        assert_eq!((half.rate(), half.left()), (50.0, Ns::secs(10)));
        let none = FillProgress { done: 0, total: 1000, elapsed: Ns::ZERO };
        assert_eq!(none.left(), Ns::secs(1000));
    }
}
