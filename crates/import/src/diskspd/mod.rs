//! diskspd's command lines, and its XML profiles, which VMFleet uses too.

mod line;
mod mapping;
mod xml;

use crate::draft::{Draft, Skewed};
use crate::mistake::Mistakes;
use crate::note::Notes;
use scenario::Diagnostics;

/// Command lines or a profile as a scenario.
pub(crate) fn read(name: &str, text: &str) -> Result<(Draft, Notes), Diagnostics> {
    let (mut notes, mut mistakes) = (Notes::default(), Mistakes::new(text));
    let spans = match text.trim_start().starts_with('<') {
        true => xml::spans(text, &mut notes, &mut mistakes),
        false => line::spans(text, &mut notes, &mut mistakes),
    };
    if spans.is_empty() && mistakes.is_empty() {
        mistakes
            .add(0..1, "nothing to run: no command line of diskspd, and no TimeSpan of a profile");
    }
    let draft = mapping::draft(name, &spans, &mut notes);
    mistakes.finish(name)?;
    Ok((draft, notes))
}

/// How fast a thread may be at a target.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Limit {
    /// Bytes a millisecond.
    Bytes(f64),
    Ios(f64),
}

/// Who keeps written data before the disk has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Caching {
    /// The page cache is not used.
    unbuffered: bool,
    write_through: bool,
    mapped: bool,
    remote: bool,
}

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Content {
    /// 0, 1, … 255, over and over.
    #[default]
    Pattern,
    Zero,
    Random,
}

/// The load on one target.
#[derive(Clone, Debug)]
struct Aim {
    path: String,
    line: usize,
    block: u64,
    threads: u64,
    outstanding: u64,
    write: f64,
    /// Random I/Os in percent.
    random: f64,
    /// Of random addresses, or the distance of sequential ones; `None`: the block.
    align: Option<u64>,
    interlocked: bool,
    thread_stride: u64,
    base: u64,
    length: Option<u64>,
    create: Option<u64>,
    limit: Option<Limit>,
    caching: Caching,
    content: Content,
    burst: u64,
    pause_ms: u64,
    skew: Option<Skewed>,
    /// What was approximated on the way, by the key that it is of.
    remarks: Vec<(&'static str, String)>,
}

impl Default for Aim {
    fn default() -> Aim {
        Aim {
            path: String::new(),
            line: 1,
            block: 64 << 10,
            threads: 1,
            outstanding: 2,
            write: 0.0,
            random: 0.0,
            align: None,
            interlocked: false,
            thread_stride: 0,
            base: 0,
            length: None,
            create: None,
            limit: None,
            caching: Caching::default(),
            content: Content::default(),
            burst: 0,
            pause_ms: 0,
            skew: None,
            remarks: Vec::new(),
        }
    }
}

/// One invocation, or one time span of a profile.
#[derive(Clone, Debug)]
struct Span {
    line: usize,
    duration_s: u64,
    warmup_s: u64,
    cooldown_s: u64,
    seed: Option<u64>,
    /// Threads over all targets, and what each has outstanding.
    total_threads: u64,
    per_thread: u64,
    aims: Vec<Aim>,
}

impl Default for Span {
    fn default() -> Span {
        Span {
            line: 1,
            duration_s: 10,
            warmup_s: 5,
            cooldown_s: 0,
            seed: None,
            total_threads: 0,
            per_thread: 0,
            aims: Vec::new(),
        }
    }
}

/// `4k`, `1G`, `8b` (blocks): binary units in either case.
fn size(text: &str, block: u64) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let factor = match &text[end..] {
        "" => 1,
        "k" | "K" => 1 << 10,
        "m" | "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        "t" | "T" => 1 << 40,
        "b" | "B" => block,
        _ => return None,
    };
    number.checked_mul(factor)
}

/// Ranges of a target with their accesses as one hot spot, and whether that comes only near. What is left of the accesses
/// falls on what is left of the target.
fn distribution(ranges: &[(f64, f64)]) -> Option<(Option<Skewed>, bool)> {
    let mut zones = ranges.to_vec();
    let sum = |zones: &[(f64, f64)]| zones.iter().fold((0.0, 0.0), |s, z| (s.0 + z.0, s.1 + z.1));
    let (accesses, blocks) = sum(&zones);
    if accesses > 100.001 || blocks > 100.001 || zones.iter().any(|z| z.0 < 0.0 || z.1 <= 0.0) {
        return None;
    }
    if blocks < 100.0 {
        zones.push((100.0 - accesses, 100.0 - blocks));
    }
    Some((crate::draft::hot_spot(&zones), zones.len() > 2))
}
