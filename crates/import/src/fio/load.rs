//! What a job issues, as workloads.

use super::Importer;
use super::job::{Job, READ, Rate, WRITE};
use super::options::Engine;
use crate::draft::{Comments, Durable, Line, Pace, Work};

/// Operations outstanding of an open loop at most, where the job has fewer.
const ROWS_MAX: usize = 100;

impl Importer<'_> {
    /// The workloads of a job: one, or one for each direction where only one of them has a rate.
    pub(super) fn works(&mut self, job: &Job<'_>) -> Vec<Work> {
        let (read_rate, write_rate) = (rate_of(job, READ), rate_of(job, WRITE));
        let mixed = job.kind.reads && job.kind.writes;
        if mixed && read_rate.is_some() != write_rate.is_some() {
            let both = [(READ, 100.0, "read"), (WRITE, 0.0, "write")];
            let setting = ["rate", "rate_iops"].iter().find_map(|n| job.section.settings.get(*n));
            let text =
                "two loads, of which one has the rate; in fio both directions share one iodepth";
            let (line, written) = setting.map_or((job.section.line, ""), |s| (s.line, &s.written));
            let comment = self.notes.approximated(line, written, text);
            return both
                .map(|(dir, read, word)| {
                    let wanted = format!("{}-{word}", job.section.name);
                    let mut work = self.work(job, &wanted, read, rate_of(job, dir));
                    work.comments.add("", comment.clone());
                    work
                })
                .into();
        }
        let (read, rate) = match (read_rate, write_rate) {
            // Each direction keeps its own rate, so that the rates make the mix.
            (Some(read), Some(write)) => (read / (read + write) * 100.0, Some(read + write)),
            (one, other) => (job.read, one.or(other)),
        };
        if rate.is_some()
            && mixed
            && (read - job.read).abs() > 0.01
            && let Some(setting) = job.section.settings.get("rwmixread")
        {
            let text = "the rates of both directions decide the mix, as in fio";
            self.notes.remark(setting.line, &setting.written, text);
        }
        vec![self.work(job, &job.section.name, read, rate)]
    }

    fn work(&mut self, job: &Job<'_>, wanted: &str, read: f64, rate: Option<f64>) -> Work {
        let mut comments = Comments::default();
        let mut lines = lines(job, read);
        let pace = match rate {
            Some(rate) => Pace::Open { rate, poisson: job.poisson, limit: job.depth },
            None => Pace::Closed { depth: job.depth, think_us: 0 },
        };
        let counted = job.section.settings.get("rate_iops");
        if let Some(setting) =
            counted.filter(|_| job.section.settings.contains_key("bssplit") && !job.poisson)
        {
            let text = "fio counts the smallest block, as version 3.33 does; later ones count I/Os of any size";
            comments.add("rate", self.notes.approximated(setting.line, &setting.written, text));
        }
        self.thinking(job, &mut lines, rate.is_some(), &mut comments);
        self.order(job, read, &lines, &mut comments);
        let uniform = lines.iter().all(|line| line.size == lines[0].size);
        let stride = (job.kind.skip > 0).then(|| {
            let largest = lines.iter().map(|line| line.size).max().unwrap_or(0);
            largest.saturating_add(job.kind.skip)
        });
        if stride.is_some() && !uniform {
            let setting = &job.section.settings["rw"];
            let text = "blocks begin at equal distances; fio skips behind each";
            comments.add("stride", self.notes.approximated(setting.line, &setting.written, text));
        }
        Work {
            name: self.works.give(wanted, "job"),
            lines,
            pace,
            skew: job.skew.filter(|_| job.kind.random),
            stride,
            workers: 1,
            disks_each: false,
            working_set: None,
            own_regions: false,
            verify: self.verified(job, &mut comments),
            durable: self.durable(job, &mut comments),
            comments,
        }
    }

    /// Think time as a pause of each slot.
    fn thinking(&mut self, job: &Job<'_>, lines: &mut [Line], open: bool, comments: &mut Comments) {
        let section = job.section;
        let mut options = self.options(section);
        let think = options.time("thinktime", 1).unwrap_or(0);
        let blocks = options.int("thinktime_blocks").unwrap_or(1).max(1);
        options.time("thinktime_spin", 1);
        options.flag("rate_ignore_thinktime");
        if let Some(setting) = section.settings.get("thinktime_blocks_type") {
            self.notes.exact(setting.line, &setting.written);
        }
        if let Some(setting) = section.settings.get("thinktime_iotime") {
            let text = "pauses come after numbers of I/Os, and not after times";
            comments.add("", self.notes.lost(setting.line, &setting.written, text));
        }
        let Some(setting) = section.settings.get("thinktime").filter(|_| think > 0) else { return };
        if open {
            let text =
                "with a rate, I/Os fall due by the rate alone; fio catches up after its pauses";
            comments.add("rate", self.notes.approximated(setting.line, &setting.written, text));
            return;
        }
        let burst = (blocks / job.depth).max(1);
        for line in lines.iter_mut() {
            (line.delay_us, line.burst) = (think, burst.min(1_000_000));
        }
        if job.depth > 1 {
            let text = "each slot pauses for itself; fio waits for all I/Os before it pauses";
            comments.add("delay", self.notes.approximated(setting.line, &setting.written, text));
        } else if lines.len() > 1 && blocks > 1 {
            let text = "each row counts its own I/Os";
            comments.add("rows", self.notes.approximated(setting.line, &setting.written, text));
        }
    }

    /// In which respects the order of blocks differs from fio's.
    fn order(&mut self, job: &Job<'_>, read: f64, lines: &[Line], comments: &mut Comments) {
        let settings = &job.section.settings;
        let (line, written) = settings
            .get("rw")
            .map_or((job.section.line, "rw=read".to_owned()), |s| (s.line, s.written.clone()));
        let mut say = |notes: &mut crate::note::Notes, key, text: &str| {
            comments.add(key, notes.approximated(line, &written, text));
        };
        let norandommap = settings.get("norandommap");
        if let Some(setting) = norandommap {
            self.notes.exact(setting.line, &setting.written);
        }
        let off = norandommap.is_none_or(|s| s.value.as_deref() == Some("0"));
        let random = lines.iter().any(|line| line.random > 0.0);
        let sequential = lines.iter().any(|line| line.random < 100.0);
        if random && off && job.skew.is_none() && job.align.is_none() {
            let text = "fio takes each block once before any again; here blocks are drawn independently, as \
                 with norandommap";
            say(&mut self.notes, "random", text);
        }
        if random && sequential {
            let text = "sequential I/Os go on where the last sequential one ended; in fio, where the last I/O did";
            say(&mut self.notes, "random", text);
        }
        if sequential && read > 0.0 && read < 100.0 {
            let text = "reads and writes take the blocks of one sequential run in turn; fio has a run for each";
            say(&mut self.notes, "read", text);
        }
        if sequential && lines.iter().any(|line| line.size != lines[0].size) {
            let text = "sequential blocks of several sizes leave gaps between them; fio's do not";
            say(&mut self.notes, "rows", text);
        }
        if let Some(setting) = settings.get("rw_sequencer") {
            let lost = setting.value.as_deref() == Some("identical");
            match lost {
                true => {
                    let text = "no address is repeated";
                    let text = self.notes.lost(setting.line, &setting.written, text);
                    comments.add("", text);
                }
                false => self.notes.exact(setting.line, &setting.written),
            }
        }
        if let Some(setting) = settings.get("bsrange").filter(|_| lines.len() >= ROWS_MAX / 2) {
            let text = "fifty of the sizes in the range";
            comments.add("rows", self.notes.approximated(setting.line, &setting.written, text));
        }
    }

    /// Flushes, and writes that wait for the medium.
    fn durable(&mut self, job: &Job<'_>, comments: &mut Comments) -> Durable {
        if !job.kind.writes {
            return Durable::default();
        }
        let mut options = self.options(job.section);
        let flush_every = ["fdatasync", "fsync"].map(|name| options.int(name).unwrap_or(0));
        let flush_every = flush_every.into_iter().find(|every| *every > 0).unwrap_or(0);
        let settings = &job.section.settings;
        if flush_every > 0 && job.depth > 1 {
            let setting = settings.get("fdatasync").or(settings.get("fsync"));
            let setting = setting.map_or((job.section.line, ""), |s| (s.line, &s.written));
            let text = "each slot counts its own writes; fio counts those of all";
            comments.add("flush_every", self.notes.approximated(setting.0, setting.1, text));
        }
        let fua = settings.get("sync").is_some_and(|setting| {
            let fua = matches!(setting.value.as_deref(), None | Some("1" | "sync" | "dsync"));
            if setting.value.as_deref() == Some("dsync") || !fua {
                self.notes.exact(setting.line, &setting.written);
            } else {
                let text =
                    "each write waits for its data, as with dsync, and not for times of the file";
                comments.add("fua", self.notes.approximated(setting.line, &setting.written, text));
            }
            fua
        });
        Durable { flush_every, fua }
    }

    /// Whether blocks are checked.
    fn verified(&mut self, job: &Job<'_>, comments: &mut Comments) -> bool {
        let settings = &job.section.settings;
        let after = settings.get("do_verify");
        if let Some(setting) = after {
            self.notes.exact(setting.line, &setting.written);
        }
        let Some(setting) = settings.get("verify") else { return false };
        let method = setting.value.as_deref().unwrap_or_default();
        let known = [
            "0",
            "none",
            "md5",
            "crc64",
            "crc32c",
            "crc32c-intel",
            "crc32",
            "crc16",
            "crc7",
            "xxhash",
            "sha512",
            "sha256",
            "sha1",
            "sha3-224",
            "sha3-256",
            "sha3-384",
            "sha3-512",
            "meta",
            "pattern",
            "null",
            "pattern_hdr",
            "crc64-nvme",
        ];
        if !known.contains(&method) {
            self.mistakes.unknown(setting.span.clone(), "method of verification", method, known);
            return false;
        }
        if matches!(method, "0" | "none") {
            self.notes.exact(setting.line, &setting.written);
            return false;
        }
        if job.engine == Engine::Null || method == "null" {
            let text = "there is nothing to check";
            comments.add("", self.notes.lost(setting.line, &setting.written, text));
            return false;
        }
        let text = match job.kind.writes && !job.kind.reads && after.is_none() {
            true => {
                "blocks carry Wirespeed's stamps, each worker its own part; fio's pass of reads after the writes is \
                 not made: add a plan that reads"
            }
            false => {
                "blocks carry Wirespeed's stamps and are checked when read, each worker its own part"
            }
        };
        comments.add("verify", self.notes.approximated(setting.line, &setting.written, text));
        true
    }
}

/// Operations a second of one direction of one clone.
fn rate_of(job: &Job<'_>, dir: usize) -> Option<f64> {
    let rate = job.rates[dir]?;
    let mean: f64 = job.sizes[dir].iter().map(|(size, share)| *size as f64 * share / 100.0).sum();
    let least = job.least[dir] as f64;
    Some(match rate {
        // fio's gaps are those of the least size.
        Rate::Bytes(bytes) if job.poisson => bytes as f64 / least,
        Rate::Ios(ios) if job.poisson => ios as f64,
        Rate::Bytes(bytes) => bytes as f64 / mean,
        // "If the job is given a block size range, the smallest block size is used as the metric."
        Rate::Ios(ios) => ios as f64 * least / mean,
    })
}

/// The rows of the job's mix.
fn lines(job: &Job<'_>, read: f64) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut add = |size: u64, share: f64, read: bool, random: f64, align: Option<u64>| {
        if share <= 0.0 {
            return;
        }
        let same =
            |line: &&mut Line| line.size == size && line.random == random && line.align == align;
        let reads = if read { share } else { 0.0 };
        match lines.iter_mut().find(same) {
            Some(line) => {
                let all = line.share + share;
                line.read = (line.read * line.share / 100.0 + reads) / all * 100.0;
                line.share = all;
            }
            None => {
                let mut line = Line::new(size, share, reads / share * 100.0, random);
                (line.align, line.trim) = (align, job.kind.trims);
                lines.push(line);
            }
        }
    };
    for dir in [READ, WRITE] {
        let share = if dir == READ { read } else { 100.0 - read };
        if job.by_order {
            // Sizes of sequential and of random I/Os, whatever their direction.
            let random = job.random[dir];
            for (order, part) in [(0, 100.0 - random), (1, random)] {
                for (size, of) in &job.sizes[order] {
                    let random = if order == 1 { 100.0 } else { 0.0 };
                    add(*size, share * part / 100.0 * of / 100.0, dir == READ, random, None);
                }
            }
            continue;
        }
        let several = job.sizes[dir].len() > 1;
        let sector = |align: u64| align.is_multiple_of(512).then_some(align);
        let align = match job.align {
            Some(align) => sector(align[dir]),
            None => several.then_some(job.least[dir]).and_then(sector),
        };
        for (size, of) in &job.sizes[dir] {
            add(*size, share * of / 100.0, dir == READ, job.random[dir], align);
        }
    }
    for line in &mut lines {
        line.align = line.align.filter(|align| *align != line.size);
    }
    lines
}
