//! `wirespeed import TRACE`: another program's trace into Wirespeed's own form, or what it holds.

use super::table;
use crate::cli::{Format, ImportArgs, ImportFormat, TraceArgs, TraceLayer};
use crate::exit::{Exit, Failure};
use crate::{files, out};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use trace::{
    CsvMap, Histograms, Layer, Origin, Summary, Tally, TraceError, TraceFacts, TraceFormat,
    TraceOptions, TraceReader, TraceWriter,
};
use units::Bytes;
use workload::Dir;

/// Bytes by which a file shows whose it is.
const HEAD: u64 = 4096;

/// A trace that is open.
pub struct OpenTrace {
    /// Its name, for messages.
    pub name: String,
    pub format: TraceFormat,
    pub layer: Layer,
    pub reader: Box<dyn TraceReader>,
    /// How many files it has.
    pub files: usize,
}

/// Reads a trace where the file is one; `None` leaves it to those who read workloads.
pub fn import(args: &ImportArgs) -> Result<Option<Exit>, Failure> {
    if let Some(histograms) = histograms(&args.file, args.program)? {
        return Ok(Some(show_histograms(args, &histograms)?));
    }
    let Some(opened) = open(&args.file, args.program, &args.trace)? else { return Ok(None) };
    let name = opened.name.clone();
    let (format, files) = (opened.format, opened.files);
    let layer = match format {
        TraceFormat::Blktrace | TraceFormat::Blkparse => opened.layer.describe(),
        _ => "as the program recorded them",
    };
    let facts = match &args.out {
        Some(path) => write(opened, path, layer)?,
        None if args.check => summarised(opened)?,
        None => {
            return Err(Failure::usage(format!(
                "{name} is a trace ({format}): say where it goes by `-o x.trace`, or look at it by `--check`"
            )));
        }
    };
    match args.output.format {
        Format::Json => {
            let document = document(format, layer, &facts);
            out::result(&format!("{document:#}\n"))?;
        }
        Format::Text if args.check => out::result(&report(format, layer, files, &facts))?,
        Format::Text if !args.output.quiet => {
            let path = args.out.as_deref().unwrap_or(Path::new("")).display();
            out::note(format_args!("{path}: {}", headline(&facts)));
            for (what, count) in facts.tally.rows() {
                out::note(format_args!("  {} {what}", units::count(count as f64)));
            }
            for note in &facts.tally.notes {
                out::note(format_args!("  {note}"));
            }
        }
        Format::Text => {}
    }
    Ok(Some(Exit::Met))
}

fn failed(name: &str, error: &TraceError) -> Failure {
    Failure::usage(format!("{name}: {error}"))
}

/// The file at a path, with how it begins.
fn head_of(path: &Path) -> Result<(File, Vec<u8>), Failure> {
    let cannot = |e| Failure::usage(format!("cannot read {}: {e}", path.display()));
    let mut head = Vec::new();
    let file = File::open(path).map_err(cannot)?;
    file.take(HEAD).read_to_end(&mut head).map_err(cannot)?;
    Ok((File::open(path).map_err(cannot)?, head))
}

/// Opens a trace; `None` where the file is none that is known and nothing says that it is one.
pub fn open(
    path: &Path,
    program: Option<ImportFormat>,
    args: &TraceArgs,
) -> Result<Option<OpenTrace>, Failure> {
    let said = match program.map(ImportFormat::kind) {
        Some(Ok(_)) => return Ok(None),
        Some(Err(format)) => Some(format),
        None => args.map.as_ref().map(|_| TraceFormat::Csv),
    };
    let name = path.display().to_string();
    let layer = match args.layer {
        TraceLayer::Queue => Layer::Queue,
        TraceLayer::Driver => Layer::Driver,
    };
    let options = TraceOptions { layer, map: args.map.as_deref().map(map).transpose()? };
    if path == Path::new("-") {
        let Some(format) = said else { return Ok(None) };
        let mut head = Vec::new();
        let mut input = std::io::stdin();
        let read = (&mut input).take(HEAD).read_to_end(&mut head);
        read.map_err(|e| Failure::usage(format!("cannot read stdin: {e}")))?;
        let whole = std::io::Cursor::new(head.clone()).chain(input);
        let name = "<stdin>".to_owned();
        let reader = trace::open(vec![whole], &head, format, &options);
        let reader = reader.map_err(|e| failed(&name, &e))?;
        return Ok(Some(OpenTrace { name, format, layer, reader, files: 1 }));
    }
    let (file, head) = head_of(path)?;
    let Some(format) = said.or_else(|| trace::detect(&head)) else { return Ok(None) };
    let mut inputs = vec![file];
    if format == TraceFormat::Blktrace {
        for other in siblings(path) {
            inputs.push(head_of(&other)?.0);
        }
    }
    let files = inputs.len();
    let reader = trace::open(inputs, &head, format, &options).map_err(|e| failed(&name, &e))?;
    Ok(Some(OpenTrace { name, format, layer, reader, files }))
}

fn map(path: &Path) -> Result<CsvMap, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|e| Failure::usage(format!("cannot read {name}: {e}")))?;
    let text = files::read_limited(file, "map", &name)?;
    CsvMap::parse(&text).map_err(|e| failed(&name, &e))
}

/// blktrace's files of the other CPUs, `NAME.blktrace.N`.
fn siblings(path: &Path) -> Vec<PathBuf> {
    let stem = |path: &Path| {
        let name = path.file_name()?.to_str()?;
        let (stem, cpu) = name.rsplit_once('.')?;
        let all_digits = !cpu.is_empty() && cpu.bytes().all(|b| b.is_ascii_digit());
        (all_digits && stem.ends_with(".blktrace")).then(|| stem.to_owned())
    };
    let Some(own) = stem(path) else { return Vec::new() };
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let others = entries.flatten().map(|entry| entry.path());
    let mut all: Vec<PathBuf> = others
        .filter(|other| stem(other).as_ref() == Some(&own) && other.file_name() != path.file_name())
        .collect();
    all.sort();
    all
}

/// Reads a trace to its end, each I/O to a sink.
pub fn drain(
    trace: &mut OpenTrace,
    mut each: impl FnMut(trace::TraceIo) -> Result<(), Failure>,
) -> Result<(Vec<String>, Tally), Failure> {
    while let Some(io) = trace.reader.next().map_err(|e| failed(&trace.name, &e))? {
        each(io)?;
    }
    Ok((trace.reader.devices().to_vec(), trace.reader.tally()))
}

fn summarised(mut trace: OpenTrace) -> Result<TraceFacts, Failure> {
    let mut summary = Summary::default();
    let (devices, tally) = drain(&mut trace, |io| {
        summary.add(&io);
        Ok(())
    })?;
    let mut facts = summary.finish(&devices, &tally);
    // One of our own names its digest at its end, which reading it has checked.
    let own = (trace.format == TraceFormat::Own).then(|| File::open(&trace.name).ok()).flatten();
    let end = own.and_then(|mut file| trace::facts_of(&mut file).ok().flatten());
    facts.digest = end.map(|end| end.digest).unwrap_or_default();
    Ok(facts)
}

fn write(mut trace: OpenTrace, path: &Path, layer: &str) -> Result<TraceFacts, Failure> {
    let shown = path.display();
    let cannot = |e: std::io::Error| Failure::incomplete(format!("cannot write {shown}: {e}"));
    let file = File::create_new(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::usage(format!(
            "{shown} exists; a trace is never overwritten: choose another `-o`"
        )),
        _ => Failure::usage(format!("cannot write {shown}: {e}")),
    })?;
    let origin = Origin {
        source: format!("{} {}", trace.format, trace.name),
        layer: layer.to_owned(),
        ..Origin::default()
    };
    let made = (|| {
        let mut writer = TraceWriter::new(file, &origin).map_err(cannot)?;
        let (devices, tally) = drain(&mut trace, |io| writer.push(io).map_err(cannot))?;
        writer.finish(&devices, &tally).map_err(cannot)
    })();
    if made.is_err() {
        // Half a trace is none.
        let _ = std::fs::remove_file(path);
    }
    made
}

/// `1,200 I/Os in 1.5 s, 66.7% reads, 4.7 MB`
fn headline(facts: &TraceFacts) -> String {
    let bytes = facts.bytes.iter().sum();
    format!(
        "{} I/Os in {}, {} reads, {}",
        units::count(facts.ios as f64),
        units::duration(facts.span.into()),
        share(facts.of(Dir::Read), facts.ios),
        units::size(Bytes(bytes)),
    )
}

fn share(part: u64, whole: u64) -> String {
    units::percent(if whole > 0 { part as f64 * 100.0 / whole as f64 } else { 0.0 })
}

/// What a trace holds, as a table.
fn report(format: TraceFormat, layer: &str, files: usize, facts: &TraceFacts) -> String {
    let seconds = facts.span.as_secs_f64();
    let rate = |n: f64| if seconds > 0.0 { n / seconds } else { 0.0 };
    let row = |key: &str, value: String| vec![key.to_owned(), value];
    let mut rows = vec![
        row(
            "trace",
            match files {
                1 => format.to_string(),
                n => format!("{format}, {n} files"),
            },
        ),
        row("I/Os", format!("{layer}: {}", units::count(facts.ios as f64))),
        row("time", units::duration(facts.span.into())),
        row(
            "rate",
            format!(
                "{} IOPS, {} reads, {} writes",
                units::count(rate(facts.ios as f64)),
                units::rate(rate(facts.bytes[0] as f64)),
                units::rate(rate(facts.bytes[1] as f64)),
            ),
        ),
    ];
    let kinds: Vec<String> = TraceFacts::DIRS
        .iter()
        .filter(|dir| facts.of(**dir) > 0)
        .map(|dir| format!("{} {}", share(facts.of(*dir), facts.ios), dir.name()))
        .collect();
    rows.push(row("kinds", kinds.join(", ")));
    rows.extend(sizes(facts));
    let moved = facts.of(Dir::Read) + facts.of(Dir::Write);
    rows.push(row(
        "sequential",
        format!("{} follow one of the last 64 runs", share(facts.sequential, moved)),
    ));
    rows.push(row(
        "alignment",
        format!("all offsets and lengths are multiples of {}", Bytes(facts.granule)),
    ));
    rows.push(row(
        "concurrency",
        match facts.concurrency() {
            Some(mean) => {
                format!("{} on average, {} at most", units::count(mean), facts.outstanding)
            }
            None => "not known: the trace holds no latencies".to_owned(),
        },
    ));
    rows.extend(devices(facts));
    for (what, count) in facts.tally.rows() {
        rows.push(row(what, units::count(count as f64)));
    }
    for note in &facts.tally.notes {
        rows.push(row("note", note.clone()));
    }
    if !facts.digest.is_empty() {
        rows.push(row("digest", format!("sha256:{}", facts.digest)));
    }
    table::rows(&rows, &[], table::WIDTH)
}

/// The most frequent sizes of each kind.
fn sizes(facts: &TraceFacts) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for dir in TraceFacts::DIRS {
        let of: Vec<_> =
            facts.sizes.iter().filter(|size| size.dir == dir && size.len > 0).collect();
        let all: u64 = of.iter().map(|size| size.count).sum();
        let one =
            |s: &&trace::SizeCount| format!("{} {}", share(s.count, all), Bytes(s.len.into()));
        let mut shown: Vec<String> = of.iter().take(5).map(one).collect();
        if of.len() > 5 {
            shown.push(format!("{} more", of.len() - 5));
        }
        if all > 0 {
            rows.push(vec![format!("sizes of {}", dir.name()), shown.join(", ")]);
        }
    }
    rows
}

/// What of each device is accessed.
fn devices(facts: &TraceFacts) -> Vec<Vec<String>> {
    let row = |key: &str, value: String| vec![key.to_owned(), value];
    let mut rows = Vec::new();
    for device in facts.devices.iter().take(20) {
        let name = if device.name.is_empty() { "device" } else { &device.name };
        rows.push(row(
            name,
            format!(
                "{} I/Os, {} touched, up to {}",
                units::count(device.ios as f64),
                units::binary_bytes(device.touched),
                units::binary_bytes(device.end),
            ),
        ));
    }
    if facts.devices.len() > 20 {
        rows.push(row("", format!("{} more devices", facts.devices.len() - 20)));
    }
    rows
}

fn document(format: TraceFormat, layer: &str, facts: &TraceFacts) -> Value {
    let kinds: serde_json::Map<String, Value> =
        TraceFacts::DIRS.iter().map(|dir| (dir.name().to_owned(), json!(facts.of(*dir)))).collect();
    let sizes: Vec<Value> = facts
        .sizes
        .iter()
        .map(|s| json!({ "kind": s.dir.name(), "bytes": s.len, "count": s.count }))
        .collect();
    let devices: Vec<Value> = facts
        .devices
        .iter()
        .map(|d| json!({ "name": d.name, "ios": d.ios, "end": d.end, "touched": d.touched }))
        .collect();
    let counted: serde_json::Map<String, Value> =
        facts.tally.rows().iter().map(|(what, n)| ((*what).to_owned(), json!(n))).collect();
    json!({
        "format": format.word(),
        "layer": layer,
        "ios": facts.ios,
        "span_ns": facts.span.0,
        "bytes_read": facts.bytes[0],
        "bytes_written": facts.bytes[1],
        "kinds": kinds,
        "fua": facts.fua,
        "sizes": sizes,
        "largest": facts.largest,
        "granule": facts.granule,
        "sequential": facts.sequential,
        "touched": facts.touched(),
        "concurrency": facts.concurrency(),
        "outstanding_max": (facts.timed > 0).then_some(facts.outstanding),
        "latency_mean_ns": (facts.timed > 0).then(|| facts.latency.0 / facts.timed),
        "issuers": facts.issuers,
        "devices": devices,
        "counted": counted,
        "notes": facts.tally.notes,
        "digest": (!facts.digest.is_empty()).then(|| format!("sha256:{}", facts.digest)),
    })
}

/// vscsiStats' histograms, where the file holds such.
fn histograms(path: &Path, program: Option<ImportFormat>) -> Result<Option<Histograms>, Failure> {
    if path == Path::new("-") || !matches!(program, None | Some(ImportFormat::Vscsi)) {
        return Ok(None);
    }
    let (file, head) = head_of(path)?;
    if !Histograms::begins(&head) {
        return Ok(None);
    }
    let read = Histograms::read(file);
    read.map(Some).map_err(|e| failed(&path.display().to_string(), &e))
}

fn show_histograms(args: &ImportArgs, found: &Histograms) -> Result<Exit, Failure> {
    if args.out.is_some() || !args.check {
        return Err(Failure::usage(format!(
            "{} holds histograms of vscsiStats, which are no trace: `--check` shows them",
            args.file.display()
        )));
    }
    if args.output.format == Format::Json {
        let one = |h: &trace::Histogram| json!({ "what": h.what, "disk": h.disk, "min": h.min, "max": h.max, "mean": h.mean, "buckets": h.buckets });
        let all: Vec<Value> = found.all.iter().map(one).collect();
        out::result(&format!(
            "{:#}\n",
            json!({ "format": "vscsi-histograms", "histograms": all })
        ))?;
        return Ok(Exit::Met);
    }
    let mut text = String::from(
        "histograms of vscsiStats: each is a marginal; how they go together is not known\n\n",
    );
    for histogram in found.all.iter().filter(|h| h.total() > 0) {
        let all = histogram.total();
        text += &format!("{} ({}): {}\n", histogram.what, histogram.disk, units::count(all as f64));
        let last = histogram.buckets.iter().rev().find_map(|(_, limit)| *limit);
        let row = |(count, limit): &(u64, Option<i64>)| {
            let limit = match (limit, last) {
                (Some(limit), _) => format!("up to {limit}"),
                (None, Some(last)) => format!("above {last}"),
                (None, None) => "all".to_owned(),
            };
            vec![format!("  {limit}"), share(*count, all)]
        };
        let rows: Vec<_> = histogram.buckets.iter().filter(|b| b.0 > 0).map(row).collect();
        text += &table::rows(&rows, &[], table::WIDTH);
    }
    out::result(&text)?;
    Ok(Exit::Met)
}
