//! The kernel's trace as blktrace(8) asks for it: binary records in a file of debugfs for each processor.
//!
//! Each file has a thread that runs on the processor of the file: there it never sees a record that is half written, and all that
//! happened before it looked is in what it reads. What was read of all processors is put in order of time.

use super::{Device, Source, State};
use crate::cli::Capture;
use crate::exit::Failure;
use clock::Ns;
use disk::BlockTracing;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use trace::blktrace_events;
use trace::block::BlockEvent;

/// Where debugfs is usually mounted.
const PLACE: &str = "/sys/kernel/debug";

/// Bytes of one of the kernel's buffers: a reader is woken when one is full.
const BUFFER: u32 = 512 << 10;

/// How long a reader waits at most for such a buffer.
const PATIENCE: Duration = Duration::from_millis(20);

/// What may still be missing of a processor that is read from another one.
const AWAY: Ns = Ns::millis(100);

/// Events that wait for those of other processors.
const KEPT: usize = 1 << 20;

/// The folder of traces in a mounted debugfs, where this kernel traces block devices; `None` where it does not.
pub fn debugfs(said: Option<&Path>) -> Option<PathBuf> {
    let place = said.unwrap_or(Path::new(PLACE)).join("block");
    (place.is_dir() && traces_blocks()).then_some(place)
}

/// Whether the kernel is locked down, which closes the files of debugfs to all: one that could be written is not even read then.
pub fn locked_down(debug: &Path) -> bool {
    let disks = fs::read_dir(debug).into_iter().flatten().flatten();
    let mut opened = disks.map(|disk| File::open(disk.path().join("state")));
    opened.any(|file| file.is_err_and(|e| is_closed(&e)))
}

/// What a file that is closed by lockdown answers, to root too.
fn is_closed(e: &std::io::Error) -> bool {
    e.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error())
}

/// Whether this kernel traces block devices for blktrace.
pub fn traces_blocks() -> bool {
    let disks = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    disks.into_iter().any(|disk| disk.path().join("trace/enable").exists())
}

/// What a reader hands on: bytes of its processor, or that all is known up to a moment.
enum Said {
    Bytes(usize, Vec<u8>),
    Known(usize, Ns),
}

/// The events of all processors.
pub struct Relay {
    tracing: BlockTracing,
    folder: PathBuf,
    stop: Arc<AtomicBool>,
    from: Receiver<Said>,
    lanes: Vec<Lane>,
    threads: Vec<JoinHandle<()>>,
}

/// What a processor has told.
#[derive(Default)]
struct Lane {
    /// The start of a record.
    rest: Vec<u8>,
    waiting: VecDeque<BlockEvent>,
    /// No event before this is missing.
    known: Ns,
}

impl Relay {
    pub fn begin(args: &Capture, device: &Device, debug: &Path) -> Result<Relay, Failure> {
        let buffers = args.buffer * ((1 << 20) / BUFFER);
        let tracing = BlockTracing::prepare(&args.device, BUFFER, buffers);
        let tracing = tracing.map_err(|e| refused(device, args, &e))?;
        let folder = debug.join(tracing.name());
        let files = files(&folder).map_err(|e| {
            let (name, shown) = (&device.name, folder.display());
            Failure::incomplete(match is_closed(&e) {
                true => "this kernel is locked down, which closes debugfs: capture `--by events`, from tracefs".to_owned(),
                false => format!("the kernel traces {name}, but not to {shown}: {e}"),
            })
        })?;
        let stop = Arc::new(AtomicBool::new(false));
        let (to, from) = sync_channel(64);
        let lanes = files.iter().map(|_| Lane::default()).collect();
        tracing.start().map_err(|e| refused(device, args, &e))?;
        let reader = |(lane, (cpu, file)): (usize, (usize, File))| {
            let (to, stop) = (to.clone(), Arc::clone(&stop));
            std::thread::spawn(move || read(lane, cpu, file, &stop, &to))
        };
        let threads = files.into_iter().enumerate().map(reader).collect();
        Ok(Relay { tracing, folder, stop, from, lanes, threads })
    }

    /// Hands on what no other processor can be before, or all.
    fn release(&mut self, all: bool, event: &mut dyn FnMut(BlockEvent)) {
        let known = self.lanes.iter().map(|lane| lane.known).min().unwrap_or(Ns::ZERO);
        let full = self.lanes.iter().map(|lane| lane.waiting.len()).sum::<usize>() > KEPT;
        let mut ready = Vec::new();
        for lane in &mut self.lanes {
            let early = |of: &BlockEvent| all || full || of.at <= known;
            while let Some(of) = lane.waiting.pop_front_if(|of| early(of)) {
                ready.push(of);
            }
        }
        ready.sort_by_key(|of| of.at);
        ready.into_iter().for_each(event);
    }
}

fn refused(device: &Device, args: &Capture, e: &std::io::Error) -> Failure {
    let (name, shown) = (&device.name, args.device.display());
    let why = match e.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::BUSY) => {
            format!(
                "another program traces {name}; `blktrace -d {shown} -k` ends what was left behind"
            )
        }
        Some(rustix::io::Errno::NOTTY) => format!("this kernel does not trace {name} for blktrace"),
        Some(rustix::io::Errno::PERM | rustix::io::Errno::ACCESS) => {
            format!("the kernel refuses to trace {name}: {e}; capturing needs root")
        }
        _ => format!("the kernel does not trace {name} for blktrace: {e}"),
    };
    Failure::incomplete(why)
}

/// The files of a trace with their processors.
fn files(folder: &Path) -> std::io::Result<Vec<(usize, File)>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let cpu = name.to_str().and_then(|name| name.strip_prefix("trace")?.parse().ok());
        let Some(cpu) = cpu else { continue };
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        files.push((cpu, OpenOptions::new().read(true).custom_flags(flags).open(entry.path())?));
    }
    if files.is_empty() {
        return Err(std::io::Error::other("no trace0 is there; is this debugfs?"));
    }
    files.sort_by_key(|(cpu, _)| *cpu);
    Ok(files)
}

/// Reads a processor's file on that processor until the trace ends.
fn read(lane: usize, cpu: usize, mut file: File, stop: &AtomicBool, to: &SyncSender<Said>) {
    let mut here = CpuSet::new();
    here.set(cpu);
    let behind = if sched_setaffinity(None, &here).is_ok() { Ns::ZERO } else { AWAY };
    let mut buffer = vec![0; 1 << 16];
    loop {
        let (ended, now) = (stop.load(Ordering::Acquire), clock::now());
        let said = match file.read(&mut buffer) {
            Ok(0) => Said::Known(lane, Ns(now.0.saturating_sub(behind.0))),
            Ok(n) => Said::Bytes(lane, buffer[..n].to_vec()),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return,
        };
        let nothing = matches!(said, Said::Known(..));
        if to.send(said).is_err() || (nothing && ended) {
            return;
        }
        if nothing {
            let patience = Timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as i64 };
            let mut fds = [PollFd::new(&file, PollFlags::IN)];
            let _ = poll(&mut fds, Some(&patience));
            if fds[0].revents().contains(PollFlags::ERR) {
                return;
            }
        }
    }
}

impl Source for Relay {
    fn way(&self) -> &'static str {
        "blktrace"
    }

    fn read(&mut self, event: &mut dyn FnMut(BlockEvent)) -> Result<State, Failure> {
        let said = match self.from.recv_timeout(PATIENCE) {
            Ok(said) => said,
            Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                return Ok(State::More);
            }
            Err(RecvTimeoutError::Timeout) => return Ok(State::Nothing),
            Err(RecvTimeoutError::Disconnected) => {
                self.release(true, event);
                return Ok(State::Over);
            }
        };
        match said {
            Said::Known(lane, known) => {
                let lane = &mut self.lanes[lane];
                lane.known = lane.known.max(known);
            }
            Said::Bytes(number, bytes) => {
                let lane = &mut self.lanes[number];
                lane.rest.extend_from_slice(&bytes);
                let waiting = &mut lane.waiting;
                let whole = blktrace_events(&lane.rest, |of| {
                    // What is neither issued nor completed, merged nor split has no use here.
                    if of.action != trace::block::BlockAction::Other {
                        waiting.push_back(of);
                    }
                });
                let whole = whole.map_err(|e| {
                    Failure::incomplete(format!("the kernel's trace of processor {number}: {e}"))
                })?;
                lane.rest.drain(..whole);
                lane.known = lane.waiting.back().map_or(lane.known, |of| lane.known.max(of.at));
            }
        }
        self.release(false, event);
        Ok(State::More)
    }

    fn stop(&mut self) -> Result<(), Failure> {
        let stopped = self.tracing.stop();
        self.stop.store(true, Ordering::Release);
        stopped.map_err(|e| Failure::incomplete(format!("the kernel's trace does not end: {e}")))
    }

    fn lost(&self) -> u64 {
        let text = fs::read_to_string(self.folder.join("dropped")).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        let _ = self.tracing.stop();
        // Readers that wait for room in the channel are let go of by its other end.
        let (_, none) = sync_channel(1);
        drop(std::mem::replace(&mut self.from, none));
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
