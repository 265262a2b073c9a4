//! The kernel's events of its block layer in tracefs: an instance of its own holds buffers of a fixed size and only the events of
//! the device; it is removed at the end.

use super::{Device, Source, State};
use crate::cli::Capture;
use crate::exit::Failure;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use trace::block::BlockEvent;
use trace::{ftrace_event, ftrace_lost};

/// Where tracefs is usually mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A mounted tracefs that can have instances; `None` where there is none.
pub fn tracefs(said: Option<&Path>) -> Option<PathBuf> {
    let places = said.map(Path::to_owned).into_iter().chain(PLACES.map(PathBuf::from));
    let mut places = places.take(if said.is_some() { 1 } else { PLACES.len() });
    places.find(|place| place.join("instances").is_dir() && place.join("events/block").is_dir())
}

/// The events of an instance, as text.
pub struct Events {
    pipe: File,
    instance: Instance,
    split: Split,
    buffer: Vec<u8>,
    lost: u64,
}

impl Events {
    pub fn begin(args: &Capture, device: &Device, tracing: &Path) -> Result<Events, Failure> {
        let instance = Instance::begin(args, device, tracing)?;
        let flags = OFlags::NONBLOCK.bits().cast_signed();
        let pipe = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(instance.0.join("trace_pipe"))
            .map_err(|e| Failure::incomplete(format!("trace_pipe: {e}")))?;
        let buffer = vec![0; 1 << 16];
        Ok(Events { pipe, instance, split: Split::default(), buffer, lost: 0 })
    }
}

impl Source for Events {
    fn way(&self) -> &'static str {
        "the kernel's tracing"
    }

    fn read(&mut self, event: &mut dyn FnMut(BlockEvent)) -> Result<State, Failure> {
        match self.pipe.read(&mut self.buffer) {
            Ok(0) => Ok(State::Nothing),
            Ok(n) => {
                let lost = &mut self.lost;
                self.split.each(&self.buffer[..n], |line| {
                    *lost += ftrace_lost(line).unwrap_or(0);
                    if let Some((of, _)) = ftrace_event(line) {
                        event(of);
                    }
                });
                Ok(State::More)
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(State::Nothing)
            }
            Err(e) => Err(Failure::incomplete(format!("trace_pipe: {e}"))),
        }
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.instance.set("tracing_on", "0")
    }

    fn lost(&self) -> u64 {
        self.lost.max(self.instance.lost())
    }
}

/// An instance of the kernel's tracing; goes when it is dropped.
struct Instance(PathBuf);

impl Instance {
    fn begin(args: &Capture, device: &Device, tracing: &Path) -> Result<Instance, Failure> {
        let place = tracing.join("instances").join(format!("wirespeed-{}", std::process::id()));
        fs::create_dir(&place).map_err(|e| {
            let place = place.display();
            Failure::incomplete(format!(
                "the kernel's tracing refuses {place}: {e}; capturing needs root"
            ))
        })?;
        let instance = Instance(place);
        instance.set("trace_clock", "mono")?;
        instance.set("buffer_size_kb", &(u64::from(args.buffer) << 10).to_string())?;
        let complete = if device.requests { "rq_complete" } else { "bio_complete" };
        let mut events = vec!["bio_queue", "bio_backmerge", "bio_frontmerge", "split", complete];
        if device.requests {
            events.extend(["rq_issue", "rq_requeue"]);
        }
        for event in events {
            let event = format!("events/block/block_{event}");
            instance.set(&format!("{event}/filter"), &format!("dev == {}", device.number))?;
            instance.set(&format!("{event}/enable"), "1")?;
        }
        Ok(instance)
    }

    fn set(&self, file: &str, value: &str) -> Result<(), Failure> {
        let failed = |e| {
            Failure::incomplete(format!("the kernel's tracing: {file} takes no `{value}`: {e}"))
        };
        fs::write(self.0.join(file), value).map_err(failed)
    }

    /// Events that the buffers could not hold.
    fn lost(&self) -> u64 {
        let Ok(cpus) = fs::read_dir(self.0.join("per_cpu")) else { return 0 };
        let stats =
            cpus.flatten().filter_map(|cpu| fs::read_to_string(cpu.path().join("stats")).ok());
        stats
            .flat_map(|text| {
                let of = |line: &str| {
                    let (key, value) = line.split_once(": ")?;
                    matches!(key, "overrun" | "dropped events")
                        .then(|| value.trim().parse::<u64>().ok())?
                };
                text.lines().filter_map(of).collect::<Vec<_>>()
            })
            .sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.set("events/enable", "0");
        let _ = fs::remove_dir(&self.0);
    }
}

/// Lines out of what has been read so far.
#[derive(Default)]
struct Split {
    bytes: Vec<u8>,
}

impl Split {
    fn each(&mut self, read: &[u8], mut line: impl FnMut(&str)) {
        self.bytes.extend_from_slice(read);
        let Some(end) = self.bytes.iter().rposition(|b| *b == b'\n') else { return };
        for part in self.bytes[..end].split(|b| *b == b'\n') {
            line(&String::from_utf8_lossy(part));
        }
        self.bytes.drain(..=end);
    }
}
