//! `wirespeed capture DEVICE`: the I/O of a block device as the kernel's own tracing sees it, into a trace.
//!
//! An instance of its own in tracefs holds buffers of a fixed size and only the events of the device; it is removed at the end.

use crate::cli::{Capture, TraceLayer};
use crate::exit::{Exit, Failure};
use crate::{live, out};
use clock::Ns;
use rustix::fs::OFlags;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use trace::block::BlockMatcher;
use trace::{Layer, Origin, TraceWriter, ftrace_event, ftrace_lost};

/// How long it sleeps when the kernel has nothing.
const PAUSE: Ns = Ns::millis(5);

/// Where tracefs is usually mounted.
const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A mounted tracefs that can have instances; `None` where there is none.
pub fn tracefs(said: Option<&Path>) -> Option<PathBuf> {
    let places = said.map(Path::to_owned).into_iter().chain(PLACES.map(PathBuf::from));
    let mut places = places.take(if said.is_some() { 1 } else { PLACES.len() });
    places.find(|place| place.join("instances").is_dir() && place.join("events/block").is_dir())
}

pub fn capture(args: &Capture) -> Result<Exit, Failure> {
    let device = Device::of(&args.device)?;
    let tracing = tracefs(args.tracing.as_deref()).ok_or_else(|| {
        Failure::incomplete(
            "the kernel's tracing is not to be seen here: `mount -t tracefs none /sys/kernel/tracing` as root, or name it \
             by --tracing; `wirespeed doctor` says what the kernel allows",
        )
    })?;
    let path = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{}.trace", device.name)));
    let shown = path.display();
    if disk::disk_under(&path).is_some_and(|disk| disk == device.name) {
        return Err(Failure::usage(format!(
            "{shown} lies on the captured device, which would record its own writing: choose another `-o`"
        )));
    }
    let file = File::create_new(&path).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => Failure::usage(format!(
            "{shown} exists; a trace is never overwritten: choose another `-o`"
        )),
        _ => Failure::usage(format!("cannot write {shown}: {e}")),
    })?;
    let made = record(args, &device, &tracing, file);
    match made {
        Ok(facts) => {
            if !args.output.quiet {
                let (ios, span) =
                    (units::count(facts.ios as f64), units::duration(facts.span.into()));
                out::note(format_args!("{shown}: {ios} I/Os in {span}"));
                for (what, count) in facts.tally.rows() {
                    out::note(format_args!("  {} {what}", units::count(count as f64)));
                }
                for note in &facts.tally.notes {
                    out::note(format_args!("  {note}"));
                }
            }
            Ok(if facts.tally.dropped > 0 { Exit::GoalsNotMet } else { Exit::Met })
        }
        Err(failure) => {
            let _ = fs::remove_file(&path);
            Err(failure)
        }
    }
}

/// The device whose I/O is recorded.
struct Device {
    name: String,
    /// As the kernel's filters have it: 20 bits of minor number.
    number: u64,
    label: String,
    /// Its driver takes requests and not bios alone.
    requests: bool,
}

impl Device {
    fn of(path: &Path) -> Result<Device, Failure> {
        let shown = path.display();
        let meta = fs::metadata(path).map_err(|e| Failure::usage(format!("{shown}: {e}")))?;
        if !meta.file_type().is_block_device() {
            return Err(Failure::usage(format!("{shown} is no block device")));
        }
        let (major, minor) = (rustix::fs::major(meta.rdev()), rustix::fs::minor(meta.rdev()));
        let label = format!("{major},{minor}");
        let place = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"));
        let place =
            place.map_err(|e| Failure::incomplete(format!("{shown} is not in sysfs: {e}")))?;
        let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if place.join("partition").exists() {
            let disk = place.parent().and_then(Path::file_name).unwrap_or_default();
            let disk = disk.to_string_lossy();
            return Err(Failure::usage(format!(
                "{shown} is a partition, whose I/O the kernel reports for the disk: capture /dev/{disk}"
            )));
        }
        let requests = place.join("mq").is_dir();
        Ok(Device { name, number: u64::from(major) << 20 | u64::from(minor), label, requests })
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
        } else if args.layer == TraceLayer::Driver {
            return Err(Failure::usage(format!(
                "{} has no requests below the queue: its driver takes what is queued; capture `--layer queue`",
                device.name
            )));
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

fn record(
    args: &Capture,
    device: &Device,
    tracing: &Path,
    file: File,
) -> Result<trace::TraceFacts, Failure> {
    let layer = match args.layer {
        TraceLayer::Queue => Layer::Queue,
        TraceLayer::Driver => Layer::Driver,
    };
    let origin = Origin {
        source: format!("capture of {} by the kernel's tracing", device.name),
        layer: layer.describe().to_owned(),
        ..Origin::default()
    };
    let cannot =
        |e: std::io::Error| Failure::incomplete(format!("the trace cannot be written: {e}"));
    let mut writer = TraceWriter::new(file, &origin).map_err(cannot)?;
    let control = live::control()?;
    let instance = Instance::begin(args, device, tracing)?;
    let pipe = instance.0.join("trace_pipe");
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let pipe = OpenOptions::new().read(true).custom_flags(flags).open(&pipe);
    let mut pipe = pipe.map_err(|e| Failure::incomplete(format!("trace_pipe: {e}")))?;
    let (mut matcher, mut split) = (BlockMatcher::new(layer), Split::default());
    let (mut first, mut latest, mut lost, mut disordered) = (None, Ns::ZERO, 0, 0);
    let mut records = 0;
    let until = clock::now().plus(args.time.into());
    let mut buffer = vec![0; 1 << 16];
    let mut ended = false;
    loop {
        if !ended
            && (control.stopped() || clock::now() >= until || writer.written() >> 20 >= args.limit)
        {
            ended = true;
            instance.set("tracing_on", "0")?;
        }
        match pipe.read(&mut buffer) {
            Ok(0) => {}
            Ok(n) => {
                split.each(&buffer[..n], |line| {
                    lost += ftrace_lost(line).unwrap_or(0);
                    let Some((event, _)) = ftrace_event(line) else { return };
                    records += 1;
                    disordered += u64::from(event.at < latest);
                    latest = latest.max(event.at);
                    matcher.push(event);
                });
                written(&mut matcher, &mut writer, &mut first, false).map_err(cannot)?;
                continue;
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(e) => return Err(Failure::incomplete(format!("trace_pipe: {e}"))),
        }
        if ended {
            break;
        }
        clock::sleep_until(clock::now().plus(PAUSE).min(until));
    }
    written(&mut matcher, &mut writer, &mut first, true).map_err(cannot)?;
    let mut tally = matcher.tally().clone();
    (tally.records, tally.disordered) = (records, disordered);
    tally.dropped = lost.max(instance.lost());
    tally.notes.push(format!("captured from {} ({})", device.name, device.label));
    writer.finish(std::slice::from_ref(&device.name), &tally).map_err(cannot)
}

/// Writes what is complete, or all; the first I/O is at time 0.
fn written(
    matcher: &mut BlockMatcher,
    writer: &mut TraceWriter<File>,
    first: &mut Option<Ns>,
    all: bool,
) -> std::io::Result<()> {
    while let Some(io) = matcher.pop(all) {
        let first = *first.get_or_insert(io.at);
        writer.push(trace::TraceIo { at: io.at.since(first), ..io })?;
    }
    Ok(())
}
