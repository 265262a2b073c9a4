//! `wirespeed explain FILE…`: what limited a system, from the files of its monitoring.

mod known;

use crate::cli::{Clocks, ExplainArgs, ResultFormat};
use crate::exit::{Exit, Failure};
use crate::present::{self, Presentation};
use crate::{files, live, out};
use import::monitor::{
    self, COLLECTIONS, Calendar, Collection, Detected, Digested, Feed, HEAD, MonitorFormat,
    NamedWindow, Options, Order, Span, WriteError,
};
use record::{Fact, Level, Record};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

/// Bytes that are read ahead: the head of a file must fit.
const BUFFER: usize = 1 << 20;
/// Files of a folder, and folders in it one within the other, at most.
const FILES_MAX: usize = 5_000;
const FOLDERS_DEEP: usize = 6;
/// Names that a note lists at most.
const LISTED: usize = 5;

pub fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    if args.collect {
        return collect(&args.files);
    }
    args.review.as_deref().map_or(Ok(()), files::results_path)?;
    let page = args.review.as_deref().map(|to| super::review::format_of(to).map(|of| (to, of)));
    let page = page.transpose()?;
    let options = Options {
        calendar: Calendar { order: args.dates, zone: args.tz.clone() },
        interval: args.interval.map(|length| i64::try_from(length.as_nanos()).unwrap_or(i64::MAX)),
        keep_first: args.keep_first,
        maps: maps(&args.map)?,
    };
    let topology = known::known(&args.topology)?;
    let (mut feeds, mut facts) = (Vec::new(), Vec::new());
    all(args, &options, &mut feeds, &mut facts)?;
    monitor::settle(&mut feeds, &topology);
    if args.clocks == Clocks::Align {
        monitor::align(&mut feeds, &topology);
    }
    facts.extend(live::run_facts());
    let stem = args
        .files
        .first()
        .map_or("explain".to_owned(), |path| files::stem(&path.display().to_string()));
    let record_path = files::record_path(args.out.as_deref(), &stem)?;
    let order = Order {
        windows: &windows(args, &feeds, &options)?,
        facts,
        topology: &topology,
        producer: format!("wirespeed {} explain", env!("CARGO_PKG_VERSION")),
        title: title(&args.files),
        feeds: &feeds,
    };
    monitor::write(&record_path, &order).map_err(|error| match error {
        WriteError::Record(error) => Failure::from(error),
        other => Failure::usage(other),
    })?;
    let record = Record::open(&record_path)?;
    let analysis = findings::analyse(&record).map_err(Failure::incomplete)?;
    let format = if args.json { Some(ResultFormat::Json) } else { args.output.format };
    present::print(&record, &analysis, Presentation::of(format))?;
    if let Some((to, format)) = page {
        present::write(&record, &analysis, Presentation::of(Some(format)), to)?;
    }
    if !args.output.quiet {
        out::note(format_args!("record: {}", record_path.display()));
    }
    Ok(live::exit_of(&analysis))
}

/// Reads all files, and those of folders that are known.
fn all(
    args: &ExplainArgs,
    options: &Options,
    feeds: &mut Vec<Feed>,
    facts: &mut Vec<Fact>,
) -> Result<(), Failure> {
    let (mut passed_over, mut summed_up) = (Vec::new(), Vec::new());
    for path in &args.files {
        if !path.is_dir() {
            feeds.push(read(path, args.of, options, facts)?);
            continue;
        }
        let mut known = Vec::new();
        for inner in inside(path)? {
            match kind(&inner, args.of, options)? {
                Some(format) => known.push((inner, format)),
                None => passed_over.push(inner.display().to_string()),
            }
        }
        // A summary says no times, and less than the results beside it.
        let summary = |format: MonitorFormat| format == MonitorFormat::Hcibench;
        let results = known.iter().any(|(_, format)| !summary(*format));
        for (inner, format) in known {
            match results && summary(format) {
                true => summed_up.push(inner.display().to_string()),
                false => feeds.push(read(&inner, args.of, options, facts)?),
            }
        }
    }
    if feeds.is_empty() {
        let named: Vec<String> = args.files.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::usage(format!(
            "no file in {} is a monitoring file or a result that is known by its content",
            named.join(", ")
        )));
    }
    if !passed_over.is_empty() && !args.output.quiet {
        out::note(format_args!(
            "passed over, since they are nothing that is known: {}",
            listed(&passed_over)
        ));
    }
    if !summed_up.is_empty() && !args.output.quiet {
        out::note(format_args!(
            "passed over, since the results beside them say more: {}",
            listed(&summed_up)
        ));
    }
    Ok(())
}

/// Prints what to collect, and by which commands: anywhere, or on the places that are named.
fn collect(places: &[PathBuf]) -> Result<Exit, Failure> {
    let mut text =
        "The same time on all of them, with clocks that agree. Then: wirespeed explain FILE…\n"
            .to_owned();
    let mut add = |title: &str, about: &str, commands: &[String]| {
        text += &format!("\n# {title}: {about}\n");
        commands.iter().for_each(|command| text += &format!("{command}\n"));
    };
    for place in places {
        let (one, name) = place_of(&place.to_string_lossy())?;
        add(&format!("{name}, {}", one.place), one.about, &one.at(&name));
    }
    for one in COLLECTIONS.iter().filter(|_| places.is_empty()) {
        let commands: Vec<String> = one.commands.iter().map(|text| (*text).to_owned()).collect();
        add(&format!("{} ({}:NAME)", one.place, one.word), one.about, &commands);
    }
    out::result(&text)?;
    Ok(Exit::Met)
}

/// A place by what it is and its name: `esxi:esx1`.
fn place_of(text: &str) -> Result<(&'static Collection, String), Failure> {
    let words: Vec<&str> = COLLECTIONS.iter().map(|one| one.word).collect();
    let (word, name) = text.split_once(':').unwrap_or(("", text));
    let Some(one) = Collection::of(word) else {
        return Err(Failure::usage(format!(
            "{text:?} does not say what it is, as in linux:{name}; the words are {}",
            words.join(", ")
        )));
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    if name.is_empty() || !name.chars().all(plain) {
        return Err(Failure::usage(format!("{name:?} is no name or address of a host")));
    }
    Ok((one, name.to_owned()))
}

/// The files of a folder and of those in it, as HCIBench leaves them, in the order of their names.
fn inside(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let fail = |path: &Path, e: std::io::Error| {
        Failure::usage(format!("cannot read {}: {e}", path.display()))
    };
    let (mut files, mut folders) = (Vec::new(), vec![(folder.to_owned(), 0)]);
    while let Some((folder, depth)) = folders.pop() {
        for entry in std::fs::read_dir(&folder).map_err(|e| fail(&folder, e))? {
            let entry = entry.map_err(|e| fail(&folder, e))?;
            let kind = entry.file_type().map_err(|e| fail(&entry.path(), e))?;
            if kind.is_dir() && depth < FOLDERS_DEEP {
                folders.push((entry.path(), depth + 1));
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
        if files.len() > FILES_MAX {
            return Err(Failure::usage(format!(
                "{} holds more than {FILES_MAX} files: name those that count",
                folder.display()
            )));
        }
    }
    files.sort();
    Ok(files)
}

/// What a file of a folder is, if it is one to read.
fn kind(
    path: &Path,
    format: Option<MonitorFormat>,
    options: &Options,
) -> Result<Option<MonitorFormat>, Failure> {
    let fail = |e| Failure::usage(format!("cannot read {}: {e}", path.display()));
    let mut head = Vec::new();
    let file = std::fs::File::open(path).map_err(fail)?;
    let plain = monitor::plain(BufReader::new(file)).map_err(fail)?;
    // What is packed and broken is no file of monitoring.
    if plain.from.take(HEAD as u64).read_to_end(&mut head).is_err() {
        return Ok(None);
    }
    Ok(match monitor::detect(&head) {
        Detected::Is(found) => format.is_none_or(|format| format == found).then_some(found),
        _ if !options.maps.is_empty() => Some(MonitorFormat::Mapped),
        _ => None,
    })
}

/// Some names, and how many more there are.
fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(LISTED);
    let shown = names[..names.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

/// Reads a file as what it is, and keeps its digest.
fn read(
    path: &Path,
    format: Option<MonitorFormat>,
    options: &Options,
    facts: &mut Vec<Fact>,
) -> Result<Feed, Failure> {
    let name = path.display().to_string();
    let fail = |e: std::io::Error| Failure::usage(format!("cannot read {name}: {e}"));
    let file = std::fs::File::open(path).map_err(fail)?;
    let mut file = Digested::new(BufReader::with_capacity(BUFFER, file));
    let mut plain = monitor::plain(&mut file).map_err(fail)?;
    let head = plain.from.fill_buf().map_err(fail)?;
    let format = match (format, monitor::detect(&head[..head.len().min(HEAD)])) {
        (Some(format), _) | (None, Detected::Is(format)) => format,
        // A file that nothing else is may be of a map that the user names.
        (None, Detected::Unknown) if !options.maps.is_empty() => MonitorFormat::Mapped,
        (None, Detected::Refused(why)) => return Err(Failure::usage(format!("{name}: {why}"))),
        (None, Detected::Unknown) => {
            return Err(Failure::usage(format!(
                "{name} is no monitoring file that is known by its content; if it is one, say which by `--as` (docs/explain.md lists them)"
            )));
        }
    };
    let mut feed = monitor::read(&name, format, &mut plain.from, options)
        .map_err(|error| Failure::usage(format!("{name}, {error} ({format})")))?;
    if plain.cut.get() {
        let text = format!("{name}: the compressed file is cut off; what is before is read");
        feed.note(Level::Warning, "cut-off", text);
    }
    drop(plain);
    let value = file.digest().map_err(fail)?;
    facts.push(Fact { subject: name, key: "sha256".to_owned(), value });
    Ok(feed)
}

/// The maps that the user names.
fn maps(paths: &[std::path::PathBuf]) -> Result<Vec<monitor::Map>, Failure> {
    let map = |path: &std::path::PathBuf| {
        let name = path.display().to_string();
        monitor::Map::parse(&name, &text(path, "map")?)
            .map_err(|why| Failure::usage(format!("{name}: {why}")))
    };
    paths.iter().map(map).collect()
}

fn text(path: &Path, what: &str) -> Result<String, Failure> {
    let name = path.display().to_string();
    let file = std::fs::File::open(path)
        .map_err(|e| Failure::usage(format!("cannot read the {what} {name}: {e}")))?;
    files::read_limited(file, what, &name)
}

fn title(paths: &[std::path::PathBuf]) -> String {
    let name = |path: &std::path::PathBuf| {
        path.file_name()
            .map_or_else(|| path.display().to_string(), |name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = paths.iter().take(3).map(name).collect();
    let more = paths.len().saturating_sub(3);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("What limited the system of {}{more}", names.join(", "))
}

/// The windows that the user names: by dates, or by times since the first interval.
fn windows(
    args: &ExplainArgs,
    feeds: &[Feed],
    options: &Options,
) -> Result<Vec<NamedWindow>, Failure> {
    let first =
        feeds.iter().filter_map(|feed| feed.rows.first()).map(|row| row.from).min().unwrap_or(0);
    let moment = |text: &str| {
        let since = units::parse_duration(text).ok().and_then(|d| i64::try_from(d.as_nanos()).ok());
        since.map(|ns| first + ns).or_else(|| monitor::moment(text, &options.calendar, first))
    };
    args.window
        .iter()
        .map(|(name, from, to)| {
            let wrong = |text: &str| {
                Failure::usage(format!(
                    "--window {name}: `{text}` is neither a date nor a time since the beginning"
                ))
            };
            let span = Span {
                from: moment(from).ok_or_else(|| wrong(from))?,
                to: moment(to).ok_or_else(|| wrong(to))?,
            };
            match span.from < span.to {
                true => Ok(NamedWindow { name: name.clone(), span }),
                false => Err(Failure::usage(format!("--window {name} ends before it begins"))),
            }
        })
        .collect()
}
