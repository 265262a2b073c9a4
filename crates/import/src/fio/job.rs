//! A job's options as typed settings, with fio's defaults and rules.

use super::file::{Section, Setting};
use super::options::{self, Engine, Meaning};
use super::value::{bytes, directions, int, split, time};
use crate::draft::Skewed;
use crate::mistake::Mistakes;
use crate::note::Notes;

/// The two directions that a job may have.
pub(super) const READ: usize = 0;
pub(super) const WRITE: usize = 1;

/// A size or a share of what is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Amount {
    Bytes(u64),
    Percent(f64),
}

/// `rw`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub reads: bool,
    pub writes: bool,
    /// The writes are trims.
    pub trims: bool,
    pub random: bool,
    /// Of a random job, I/Os at each new address; of a sequential one, bytes that are skipped after each I/O.
    pub every: u64,
    pub skip: u64,
}

/// The rate of one direction of one clone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rate {
    Bytes(u64),
    Ios(u64),
}

/// A job.
pub(super) struct Job<'s> {
    pub section: &'s Section,
    pub kind: Kind,
    /// Share of reads, in percent.
    pub read: f64,
    /// Sizes with their shares, by direction; the least is the unit of addresses.
    pub sizes: [Vec<(u64, f64)>; 2],
    pub least: [u64; 2],
    pub align: Option<[u64; 2]>,
    /// Share of random I/Os in percent, by direction.
    pub random: [f64; 2],
    /// Sizes are by sequential and random, and not by direction.
    pub by_order: bool,
    pub skew: Option<Skewed>,
    pub engine: Engine,
    pub depth: u64,
    pub clones: u64,
    pub rates: [Option<Rate>; 2],
    pub poisson: bool,
    pub buffered: bool,
    pub size: Option<Amount>,
    pub offset: u64,
    pub step: Option<Amount>,
}

/// Reads the options of a section.
pub(super) struct Options<'s, 'n, 't> {
    pub section: &'s Section,
    pub notes: &'n mut Notes,
    pub mistakes: &'n mut Mistakes<'t>,
    pub kb_base: u64,
}

impl<'s> Options<'s, '_, '_> {
    pub fn get(&self, name: &str) -> Option<&'s Setting> {
        debug_assert!(options::meaning(name).is_some_and(|(_, m)| m == Meaning::Load), "{name}");
        self.section.settings.get(name)
    }

    /// The text of an option that must have one.
    pub fn text(&mut self, name: &str) -> Option<(&'s str, &'s Setting)> {
        let setting = self.get(name)?;
        match &setting.value {
            Some(value) if !value.is_empty() => Some((value, setting)),
            _ => {
                self.mistakes.add(setting.span.clone(), format!("`{name}` needs a value"));
                None
            }
        }
    }

    fn wrong(&mut self, setting: &Setting, expected: &str) {
        let message = format!("`{}`: expected {expected}", setting.written);
        self.mistakes.add(setting.span.clone(), message);
    }

    /// A value that `parse` understands.
    fn parsed<T>(
        &mut self,
        name: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let (text, setting) = self.text(name)?;
        let value = parse(text);
        match value {
            Some(_) => self.notes.exact(setting.line, &setting.written),
            None => self.wrong(setting, expected),
        }
        value
    }

    pub fn int(&mut self, name: &str) -> Option<u64> {
        let base = self.kb_base;
        self.parsed(name, "a whole number", |text| int(text, base))
    }

    pub fn time(&mut self, name: &str, unit: u64) -> Option<u64> {
        self.parsed(name, "a time such as `10s`", |text| time(text, unit))
    }

    pub fn amount(&mut self, name: &str) -> Option<Amount> {
        let base = self.kb_base;
        self.parsed(name, "a size such as `1g`, or a share such as `20%`", |text| {
            match text.strip_suffix('%') {
                Some(share) => {
                    let share: f64 = share.trim().parse().ok()?;
                    (share > 0.0 && share <= 100.0).then_some(Amount::Percent(share))
                }
                None => bytes(text, base).map(Amount::Bytes),
            }
        })
    }

    /// An option that is on where it stands alone.
    pub fn flag(&mut self, name: &str) -> Option<bool> {
        let setting = self.get(name)?;
        let on = match setting.value.as_deref() {
            None | Some("1" | "yes" | "true") => true,
            Some("0" | "no" | "false") => false,
            Some(_) => {
                self.wrong(setting, "0 or 1");
                return None;
            }
        };
        self.notes.exact(setting.line, &setting.written);
        Some(on)
    }

    /// A value for each direction.
    fn both<T>(
        &mut self,
        name: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> [Option<T>; 2] {
        let Some((text, setting)) = self.text(name) else { return [None, None] };
        let mut wrong = false;
        // fio takes `bs=4k-8k` for `bs=4k,8k`.
        let dashes = if name == "bs" { text.replace('-', ",") } else { text.to_owned() };
        let values = directions(&dashes).map(|part| {
            let value = part.map(&parse);
            wrong |= matches!(value, Some(None));
            value.flatten()
        });
        match wrong {
            true => self.wrong(setting, expected),
            false => self.notes.exact(setting.line, &setting.written),
        }
        values
    }

    fn kind(&mut self) -> Option<Kind> {
        let Some((text, setting)) = self.text("rw") else {
            let (reads, writes, trims, random) = (true, false, false, false);
            return Some(Kind { reads, writes, trims, random, every: 1, skip: 0 });
        };
        let (word, modifier) = match text.split_once(':') {
            Some((word, modifier)) => (word.trim(), Some(modifier.trim())),
            None => (text, None),
        };
        let (reads, writes, random) = match word {
            "read" => (true, false, false),
            "write" => (false, true, false),
            "rw" | "readwrite" => (true, true, false),
            "randread" => (true, false, true),
            "randwrite" => (false, true, true),
            "randrw" => (true, true, true),
            "trim" => (false, true, false),
            "randtrim" => (false, true, true),
            "trimwrite" | "randtrimwrite" => {
                let message = format!(
                    "`{}`: each block is trimmed and then written, which no scenario does",
                    setting.written
                );
                self.mistakes.add(setting.span.clone(), message);
                return None;
            }
            _ => {
                let known =
                    ["read", "write", "rw", "trim", "randread", "randwrite", "randrw", "randtrim"];
                self.mistakes.unknown(setting.span.clone(), "kind of I/O", word, known);
                return None;
            }
        };
        let trims = word.ends_with("trim");
        let mut kind = Kind { reads, writes, trims, random, every: 1, skip: 0 };
        self.notes.exact(setting.line, &setting.written);
        if let Some(modifier) = modifier {
            let base = self.kb_base;
            match (random, bytes(modifier, base)) {
                (true, Some(every @ 1..)) => kind.every = every,
                (false, Some(skip)) => kind.skip = skip,
                _ if modifier.starts_with('-') => {
                    let text = "sequential blocks are taken forwards";
                    self.notes.lost(setting.line, &setting.written, text);
                }
                _ => self.wrong(setting, "a number of I/Os or a size behind the colon"),
            }
        }
        Some(kind)
    }

    /// The share of reads: the later of the two options decides.
    fn mix(&mut self, kind: Kind) -> f64 {
        if !(kind.reads && kind.writes) {
            self.flag_only("rwmixread");
            self.flag_only("rwmixwrite");
            return if kind.reads { 100.0 } else { 0.0 };
        }
        let share = |text: &str| text.parse::<u64>().ok().filter(|share| *share <= 100);
        let read = self.parsed("rwmixread", "a share from 0 to 100", share);
        let write = self.parsed("rwmixwrite", "a share from 0 to 100", share);
        let line = |name| self.get(name).map_or(0, |setting| setting.line);
        match (read, write) {
            (Some(_), Some(write)) if line("rwmixwrite") > line("rwmixread") => 100 - write,
            (Some(read), _) => read,
            (None, Some(write)) => 100 - write,
            (None, None) => 50,
        }
        .min(100) as f64
    }

    /// Notes an option that has no effect here.
    fn flag_only(&mut self, name: &str) {
        if let Some(setting) = self.get(name) {
            self.notes.remark(setting.line, &setting.written, "it has no effect on this job");
        }
    }

    fn sizes(&mut self) -> ([Vec<(u64, f64)>; 2], [u64; 2]) {
        let base = self.kb_base;
        let plain = self.both("bs", "sizes such as `4k` or `4k,8k`", |text| {
            bytes(text, base).filter(|size| *size > 0)
        });
        let range = self.both("bsrange", "ranges of sizes such as `4k-16k`", |text| {
            let (from, to) = text.split_once('-').or_else(|| text.split_once(':'))?;
            let (from, to) = (bytes(from, base)?, bytes(to, base)?);
            (from > 0 && from <= to).then_some((from, to))
        });
        let unaligned = self.flag("bs_unaligned").unwrap_or(false);
        let mut sizes = [0, 1].map(|dir: usize| match range[dir] {
            Some((from, to)) => ranged(from, to),
            None => vec![(plain[dir].unwrap_or(4096), 100.0)],
        });
        if let Some((text, setting)) = self.text("bssplit") {
            self.notes.exact(setting.line, &setting.written);
            let parts = directions(text);
            for dir in [READ, WRITE] {
                let Some(part) = parts[dir] else { continue };
                match splits(part, base) {
                    Ok(mut split) => {
                        let least = split.iter().map(|s| s.0).min().unwrap_or(1);
                        let step = if unaligned { 1 } else { least };
                        split.iter_mut().for_each(|(size, _)| *size -= *size % step);
                        sizes[dir] = split;
                    }
                    Err(why) => {
                        let message = format!("`{}`: {why}", setting.written);
                        self.mistakes.add(setting.span.clone(), message);
                        break;
                    }
                }
            }
        }
        let least = [0, 1].map(|dir: usize| sizes[dir].iter().map(|s| s.0).min().unwrap_or(4096));
        (sizes, least)
    }

    fn rates(&mut self, kind: Kind) -> [Option<Rate>; 2] {
        let base = self.kb_base;
        let expected = "rates such as `10m` or `10m,5m`";
        let by_bytes = self.both("rate", expected, |text| bytes(text, base).filter(|r| *r > 0));
        let by_ios = self.both("rate_iops", "rates such as `500` or `500,200`", |text| {
            int(text, base).filter(|r| *r > 0)
        });
        if let (Some(setting), Some(_)) = (self.get("rate_iops"), self.get("rate")) {
            self.mistakes.add(setting.span.clone(), "`rate` and `rate_iops` exclude each other");
        }
        let issued = [kind.reads, kind.writes];
        [READ, WRITE].map(|dir| {
            let rate = by_bytes[dir].map(Rate::Bytes).or(by_ios[dir].map(Rate::Ios));
            rate.filter(|_| issued[dir])
        })
    }

    fn engine(&mut self) -> Option<Engine> {
        let Some((name, setting)) = self.text("ioengine") else { return Some(Engine::Synchronous) };
        match options::engine(name) {
            Ok(engine) => {
                let text = "Wirespeed chooses its own way to issue I/O; the load is the same";
                self.notes.remark(setting.line, &setting.written, text);
                Some(engine)
            }
            Err(why) => {
                self.mistakes.add(setting.span.clone(), format!("`{}`: {why}", setting.written));
                None
            }
        }
    }

    fn random_shares(&mut self, kind: Kind) -> [f64; 2] {
        if !kind.random {
            return [0.0, 0.0];
        }
        let share = |text: &str| text.parse::<f64>().ok().filter(|s| (0.0..=100.0).contains(s));
        let expected = "shares from 0 to 100";
        let random = self.both("percentage_random", expected, share);
        let sequential = self.both("percentage_sequential", expected, share);
        let every = 100.0 / kind.every as f64;
        [READ, WRITE].map(|dir| {
            random[dir].or(sequential[dir].map(|s| 100.0 - s)).map_or(every, |r| r.min(every))
        })
    }

    /// The job, where its options are right.
    pub fn job(&mut self) -> Option<Job<'s>> {
        let kind = self.kind();
        let engine = self.engine();
        let (sizes, least) = self.sizes();
        let align = self.both("ba", "sizes such as `4k`", {
            let base = self.kb_base;
            move |text| bytes(text, base).filter(|align| *align > 0)
        });
        let clones = self.int("numjobs").unwrap_or(1);
        let depth = self.int("iodepth").unwrap_or(1);
        for (name, value) in [("numjobs", clones), ("iodepth", depth)] {
            if let Some(setting) = self.get(name).filter(|_| !(1..=4096).contains(&value)) {
                self.wrong(setting, "1 to 4096");
            }
        }
        let direct = self.flag("direct");
        let buffered = self.flag("buffered");
        let poisson = self.parsed("rate_process", "`linear` or `poisson`", |text| match text {
            "linear" => Some(false),
            "poisson" => Some(true),
            _ => None,
        });
        let zoned = self.get("zonemode").filter(|s| !matches!(s.value.as_deref(), Some("none")));
        if let Some(setting) = zoned {
            let message = "`zonemode`: zoned access has no counterpart in a scenario";
            self.mistakes.add(setting.span.clone(), message);
        }
        let (kind, engine) = (kind?, engine?);
        let random = self.random_shares(kind);
        Some(Job {
            section: self.section,
            kind,
            read: self.mix(kind),
            align: kind
                .random
                .then(|| align[READ].or(align[WRITE]))
                .flatten()
                .map(|one| [align[READ].unwrap_or(one), align[WRITE].unwrap_or(one)]),
            sizes,
            least,
            random,
            by_order: self.flag("bs_is_seq_rand").unwrap_or(false),
            skew: self.skew(),
            engine,
            depth: if engine == Engine::Synchronous { 1 } else { depth },
            clones,
            rates: self.rates(kind),
            poisson: poisson.unwrap_or(false),
            buffered: direct.map(|d| !d).or(buffered).unwrap_or(true),
            size: self.amount("size"),
            offset: match self.amount("offset") {
                Some(Amount::Bytes(bytes)) => bytes,
                // Where it begins is not carried over, only that it does.
                Some(Amount::Percent(_)) => 1,
                None => 0,
            },
            step: self.amount("offset_increment"),
        })
    }

    fn skew(&mut self) -> Option<Skewed> {
        let (text, setting) = self.text("random_distribution")?;
        let size = match self.section.settings.get("size").and_then(|s| s.value.as_deref()) {
            Some(text) => bytes(text, self.kb_base),
            None => None,
        };
        match super::skew::skew(text, self.kb_base, size) {
            Ok(super::skew::Meant { skew, approximated }) => {
                match approximated {
                    Some(why) => {
                        drop(self.notes.approximated(setting.line, &setting.written, &why))
                    }
                    None => self.notes.exact(setting.line, &setting.written),
                }
                skew
            }
            Err(why) => {
                self.mistakes.add(setting.span.clone(), format!("`{}`: {why}", setting.written));
                None
            }
        }
    }
}

/// The sizes of a range: multiples of the least, as fio rounds them.
fn ranged(from: u64, to: u64) -> Vec<(u64, f64)> {
    // fio draws between `from` and `from + to`, rounds down to multiples of `from`, and takes `to` for all above.
    let top = from.saturating_add(to);
    let count = to / from;
    let one = from as f64 / to as f64 * 100.0;
    let mut sizes: Vec<(u64, f64)> = (1..=count.min(50)).map(|k| (k * from, one)).collect();
    if count > 50 {
        // More rows than a specification has: the range in even steps.
        return (1..=50).map(|k| ((count * k / 50).max(1) * from, 2.0)).collect();
    }
    let covered: f64 = sizes.iter().take(count as usize - 1).map(|s| s.1).sum();
    if to.is_multiple_of(from) {
        if let Some(last) = sizes.last_mut() {
            last.1 = 100.0 - covered;
        }
    } else {
        let last = 100.0 - covered - one;
        sizes.push((to.min(top), last));
    }
    sizes
}

fn splits(part: &str, base: u64) -> Result<Vec<(u64, f64)>, String> {
    let entries = split(part)?;
    let mut sizes = Vec::new();
    for (text, share) in entries {
        match bytes(text, base).filter(|size| *size > 0) {
            Some(size) => sizes.push((size, share)),
            None => return Err(format!("`{text}` is no size")),
        }
    }
    if sizes.len() > 50 {
        return Err(
            "more than 50 sizes: a workload has at most 100 rows, reads and writes together"
                .to_owned(),
        );
    }
    Ok(sizes)
}
