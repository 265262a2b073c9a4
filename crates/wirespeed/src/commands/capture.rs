//! `wirespeed capture DEVICE`: the I/O of a block device as the kernel itself sees it, into a trace. The kernel tells it by events of
//! its block layer in tracefs, or as blktrace asks for it, in debugfs.

mod events;
mod relay;

pub use events::tracefs;
pub use relay::{debugfs, locked_down, traces_blocks};

use crate::cli::{Capture, CaptureBy, TraceLayer};
use crate::exit::{Exit, Failure};
use crate::{live, out};
use clock::Ns;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use trace::block::{BlockEvent, BlockMatcher};
use trace::{Layer, Origin, TraceWriter};

/// How long it sleeps when the kernel has nothing.
const PAUSE: Ns = Ns::millis(5);

/// What a source of events has.
enum State {
    /// More may follow at once.
    More,
    /// Nothing at the moment.
    Nothing,
    /// Nothing any more.
    Over,
}

/// One way in which the kernel tells what happens on a device. It records from the beginning, and no more when it is dropped.
trait Source {
    /// How the kernel tells it, for the reader of the trace.
    fn way(&self) -> &'static str;

    /// Hands on what there is.
    fn read(&mut self, event: &mut dyn FnMut(BlockEvent)) -> Result<State, Failure>;

    /// Records no more; what was recorded is still to be read.
    fn stop(&mut self) -> Result<(), Failure>;

    /// Events that the kernel's buffers could not hold.
    fn lost(&self) -> u64;
}

/// Begins to record in the way that was asked for, or in the one that this kernel has.
fn begin(args: &Capture, device: &Device) -> Result<Box<dyn Source>, Failure> {
    let by = match (args.by, &args.tracing, &args.debug) {
        (CaptureBy::Auto, Some(_), _) => CaptureBy::Events,
        (CaptureBy::Auto, None, Some(_)) => CaptureBy::Blktrace,
        (by, ..) => by,
    };
    let events = (by != CaptureBy::Blktrace).then(|| tracefs(args.tracing.as_deref())).flatten();
    let relay = (by != CaptureBy::Events).then(|| debugfs(args.debug.as_deref())).flatten();
    let boxed = |source: relay::Relay| -> Box<dyn Source> { Box::new(source) };
    match (events, relay) {
        (Some(tracing), relay) => match events::Events::begin(args, device, &tracing) {
            Ok(events) => Ok(Box::new(events)),
            // The reason why the usual way is closed is the one to be told.
            Err(why) => match relay.map(|debug| relay::Relay::begin(args, device, &debug)) {
                Some(Ok(source)) => Ok(boxed(source)),
                _ => Err(why),
            },
        },
        (None, Some(debug)) => relay::Relay::begin(args, device, &debug).map(boxed),
        (None, None) => Err(Failure::incomplete(nowhere(by))),
    }
}

/// What to do where the kernel tells nothing.
fn nowhere(by: CaptureBy) -> &'static str {
    match by {
        CaptureBy::Blktrace if !traces_blocks() => {
            "this kernel does not trace block devices for blktrace"
        }
        CaptureBy::Blktrace => {
            "debugfs is not to be seen here: `mount -t debugfs none /sys/kernel/debug` as root, or name it by --debug; \
             `wirespeed doctor` says what the kernel allows"
        }
        _ => {
            "the kernel's tracing is not to be seen here: `mount -t tracefs none /sys/kernel/tracing` as root, or name it \
             by --tracing; `wirespeed doctor` says what the kernel allows"
        }
    }
}

pub fn capture(args: &Capture) -> Result<Exit, Failure> {
    let device = Device::of(&args.device)?;
    if !device.requests && args.layer == TraceLayer::Driver {
        return Err(Failure::usage(format!(
            "{} has no requests below the queue: its driver takes what is queued; capture `--layer queue`",
            device.name
        )));
    }
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
    let made = record(args, &device, file);
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

fn record(args: &Capture, device: &Device, file: File) -> Result<trace::TraceFacts, Failure> {
    let layer = match args.layer {
        TraceLayer::Queue => Layer::Queue,
        TraceLayer::Driver => Layer::Driver,
    };
    let cannot =
        |e: std::io::Error| Failure::incomplete(format!("the trace cannot be written: {e}"));
    let control = live::control()?;
    let mut source = begin(args, device)?;
    if !args.output.quiet {
        let (name, way) = (&device.name, source.way());
        out::note(format_args!("recording {name} by {way}; Ctrl-C ends it early"));
    }
    let origin = Origin {
        source: format!("capture of {} by {}", device.name, source.way()),
        layer: layer.describe().to_owned(),
        ..Origin::default()
    };
    let mut writer = TraceWriter::new(file, &origin).map_err(cannot)?;
    let mut matcher = BlockMatcher::new(layer);
    let (mut first, mut latest, mut disordered, mut records) = (None, Ns::ZERO, 0, 0);
    let until = clock::now().plus(args.time.into());
    let mut ended = false;
    let over = loop {
        if !ended
            && (control.stopped() || clock::now() >= until || writer.written() >> 20 >= args.limit)
        {
            ended = true;
            source.stop()?;
        }
        let state = source.read(&mut |event| {
            records += 1;
            disordered += u64::from(event.at < latest);
            latest = latest.max(event.at);
            matcher.push(event);
        })?;
        written(&mut matcher, &mut writer, &mut first, false).map_err(cannot)?;
        match state {
            State::More => {}
            State::Over => break !ended,
            State::Nothing if ended => break false,
            State::Nothing => clock::sleep_until(clock::now().plus(PAUSE).min(until)),
        }
    };
    written(&mut matcher, &mut writer, &mut first, true).map_err(cannot)?;
    let mut tally = matcher.tally().clone();
    (tally.records, tally.disordered) = (records, disordered);
    tally.dropped = source.lost();
    let (name, label, way) = (&device.name, &device.label, source.way());
    tally.notes.push(format!("captured from {name} ({label}) by {way}"));
    if over {
        tally.notes.push("another program ended the capture".to_owned());
    }
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
