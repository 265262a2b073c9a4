//! What happens to a target's content before its first load: it is sampled, filled where it needs it and may be written,
//! and preconditioned where the plan says so.
//!
//! Reading unwritten data measures nothing, because no device is asked for it. Each target is looked at once a run, over
//! all that any step of the run touches. Nothing here opens a target for writing: the guard has done so.
//!
//! The preset follows the Solid State Storage Performance Test Specification of SNIA (PTS 2.0.2), whose purge is left to
//! the user, since Wirespeed erases nothing unasked.

use crate::content::{BLOCK, ContentMaker};
use crate::fill::{Broken, CHUNK, FillProgress, FillRange};
use crate::sample::{SampleResult, SampleSpec, sample};
use crate::surface::{OpenTarget, ReadTarget, WriteSurface};
use clock::{Ns, Rng};
use engine::{
    EngineError, EventNote, Fill as Rule, IntervalTx, Output, StepSpec, Stop, TargetSpec,
};
use record::{Fact, Level, Sampling};
use rustix::fs::{Advice, fadvise};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ops::Range;
use workload::{Extent, IoDemand};

/// Bytes of one write while preconditioning, as PTS sets them.
const PTS_CHUNK: u32 = 128 << 10;

/// How often PTS writes the whole capacity.
const PTS_PASSES: u64 = 2;

/// Purpose of the random streams that fill targets, apart from those of operations.
const FILLING: u64 = 0x6669_6c6c;

/// The shortest time between reports of progress at first; later one for each twentieth of the time so far, so that a
/// fill of hours does not flood the record.
const TELL_MIN: Ns = Ns::secs(1);

/// And no more seldom than this.
const TELL_MAX: Ns = Ns::secs(30);

/// What a run would write to a target before its first load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filling {
    /// Nothing.
    Nothing,
    /// So many bytes, if samples show that it needs them.
    IfNeeded(u64),
    /// So many bytes.
    Once(u64),
    /// So many bytes, its whole capacity, twice: as SNIA PTS preconditions.
    Twice(u64),
}

impl Filling {
    /// What would be written to a target of `size` bytes; `created` tells whether it would have to be created.
    pub fn of(spec: &TargetSpec, size: u64, created: bool) -> Filling {
        match spec.fill {
            Rule::SniaPts => Filling::Twice(size),
            _ if created => Filling::Once(size),
            _ if !fills(spec) => Filling::Nothing,
            Rule::Always => Filling::Once(reach(spec.demand, size)),
            Rule::Auto | Rule::Never | Rule::Elsewhere => {
                Filling::IfNeeded(reach(spec.demand, size))
            }
        }
    }
}

/// How much of a target of `size` bytes may be touched, in whole blocks.
fn reach(demand: IoDemand, size: u64) -> u64 {
    let blocks = demand.reach.within(size).checked_next_multiple_of(BLOCK as u64);
    blocks.unwrap_or(size).min(size)
}

/// Whether filling a target may be needed.
fn fills(spec: &TargetSpec) -> bool {
    match spec.fill {
        Rule::SniaPts => true,
        Rule::Never | Rule::Elsewhere => false,
        // A target made for this run is empty and holds no foreign data.
        Rule::Auto => spec.demand.writes || spec.made_as.is_some(),
        Rule::Always => spec.demand.writes || spec.create.is_some(),
    }
}

/// Which targets, by URL, have been seen to in this run.
#[derive(Debug, Default)]
pub(crate) struct Conditioning {
    filled: BTreeSet<String>,
    sampled: BTreeSet<String>,
}

/// One target that is about to be used, and the listener for its progress.
pub(crate) struct ConditioningTask<'a> {
    pub spec: &'a TargetSpec,
    pub step: &'a StepSpec,
    /// What the run, or at least this step, asks of the target.
    pub demand: IoDemand,
    pub notes: &'a IntervalTx,
    pub stop: &'a Stop,
}

impl Conditioning {
    /// Whether a target has to be opened for writing before a step that may only read it.
    pub fn would_write(&self, spec: &TargetSpec) -> bool {
        fills(spec) && (spec.fill == Rule::SniaPts || !self.filled.contains(&spec.url))
    }

    /// A target is filled with what is wanted.
    pub fn note_filled(&mut self, spec: &TargetSpec) {
        self.filled.insert(spec.url.clone());
        self.sampled.insert(spec.url.clone());
    }

    /// Sees to a target that may be written. Returns what is worth knowing about its content.
    pub fn writable(
        &mut self,
        errand: &ConditioningTask,
        thing: ReadTarget<'_>,
        to: WriteSurface<'_>,
        extent: Extent,
    ) -> Result<Vec<Fact>, EngineError> {
        let spec = errand.spec;
        match spec.fill {
            Rule::SniaPts => {
                let fact = errand.precondition(to, extent)?;
                self.note_filled(spec);
                return Ok(vec![fact]);
            }
            Rule::Never | Rule::Elsewhere => return Ok(self.readable(errand, thing, extent)),
            _ if self.filled.contains(&spec.url) => return Ok(Vec::new()),
            Rule::Auto | Rule::Always => {}
        }
        let done = |this: &mut Conditioning, fact| {
            this.note_filled(spec);
            Ok(vec![fact])
        };
        if spec.fill == Rule::Auto
            && let Some(seen) = errand.sample(thing, extent)
            && seen.is_filled_with(&errand.content(0))
        {
            let text = format!(
                "{}: carries data already ({} sampled blocks, none unwritten, zero or repeated): not filled",
                spec.name, seen.sampling.blocks
            );
            errand.say(Level::Info, "fill-not-needed", text);
            return done(self, errand.fact(Sampling::FACT, seen.sampling.to_string()));
        }
        let range = 0..reach(errand.demand, extent.size);
        let filled = errand.fill(to, extent, range, CHUNK, 0, "filled")?;
        done(self, errand.fact("fill", filled.to_string()))
    }

    /// Sees to a target that is only read: looks what it holds, once, unless it is being filled elsewhere.
    pub fn readable(
        &mut self,
        errand: &ConditioningTask,
        thing: ReadTarget<'_>,
        extent: Extent,
    ) -> Vec<Fact> {
        let filled_elsewhere = errand.spec.fill == Rule::Elsewhere;
        if filled_elsewhere || !errand.demand.reads || !self.sampled.insert(errand.spec.url.clone())
        {
            return Vec::new();
        }
        let seen = errand.sample(thing, extent).filter(|seen| seen.sampling.blocks > 0);
        seen.into_iter()
            .map(|seen| errand.fact(Sampling::FACT, seen.sampling.to_string()))
            .collect()
    }
}

impl ConditioningTask<'_> {
    /// The planned content of a target. It is unique, as storage that finds duplicates would keep one of them.
    pub fn content(&self, pass: u64) -> ContentMaker {
        let head = [FILLING, pass, clock::wall_ns()];
        let key: Vec<u64> = head.into_iter().chain(self.spec.name.bytes().map(u64::from)).collect();
        ContentMaker::new(self.spec.data, Rng::keyed(self.step.seed, &key).next_u64())
    }

    /// Tells progress now and then.
    pub fn teller(&self, doing: &'static str) -> impl FnMut(FillProgress) {
        let mut next = TELL_MIN;
        move |progress| {
            if progress.elapsed >= next {
                let pause = Ns(progress.elapsed.0 / 20).max(TELL_MIN).min(TELL_MAX);
                next = progress.elapsed.plus(pause);
                let text = format!("{}: {}", self.spec.name, so_far(&progress, doing));
                self.say(Level::Info, "filling", text);
            }
        }
    }

    pub fn say(&self, level: Level, code: &'static str, text: String) {
        let event = EventNote { level, code, text }.event(self.step.index, None);
        let _ = self.notes.send(Output::Event(event));
    }

    pub fn fact(&self, key: &str, value: String) -> Fact {
        Fact { subject: self.spec.name.clone(), key: key.to_owned(), value }
    }

    /// Samples a target; `None`, with a note, if it cannot be read.
    fn sample(&self, thing: ReadTarget<'_>, extent: Extent) -> Option<SampleResult> {
        let spec = |(held, cached): (OpenTarget, bool)| {
            let spec = SampleSpec {
                from: held.source(),
                file: thing.is_file(),
                cached,
                over: reach(self.demand, extent.size),
                align: extent.block,
                seed: self.step.seed,
                content: self.content(0),
            };
            sample(&spec, self.stop)
        };
        match open_to_look(thing).and_then(spec) {
            Ok(seen) => Some(seen),
            Err(e) => {
                let text = format!(
                    "{}: no sample of it could be read ({e}): whether it holds data is not known; see the kernel log \
                     (dmesg)",
                    self.spec.name
                );
                self.say(Level::Warning, "not-sampled", text);
                None
            }
        }
    }

    /// PTS's workload-independent preconditioning: the whole capacity, twice, from front to back.
    fn precondition(&self, to: WriteSurface<'_>, extent: Extent) -> Result<Fact, EngineError> {
        let name = &self.spec.name;
        let text = format!(
            "{name}: writing its whole capacity ({} MiB) {PTS_PASSES} times from front to back in blocks of 128 KiB, as \
             SNIA PTS preconditions",
            extent.size >> 20
        );
        self.say(Level::Info, "preconditioning", text);
        let text = format!(
            "{name}: it was not purged before its preconditioning, as SNIA PTS asks: Wirespeed erases nothing unasked. Purge it \
             yourself before a run (`nvme format`, `blkdiscard`, or the maker's tool) where figures are to be compared \
             with others'"
        );
        self.say(Level::Warning, "not-purged", text);
        let mut all = FillProgress { done: 0, total: 0, elapsed: Ns::ZERO };
        for (pass, doing) in (0..PTS_PASSES).zip(["filled, pass 1 of 2", "filled, pass 2 of 2"]) {
            let one = self.fill(to, extent, 0..extent.size, PTS_CHUNK, pass, doing)?;
            all.done += one.done;
            all.total += one.total;
            all.elapsed = all.elapsed.plus(one.elapsed);
        }
        Ok(self.fact("precondition", format!("{all}, as SNIA PTS does")))
    }

    fn fill(
        &self,
        to: WriteSurface<'_>,
        extent: Extent,
        range: Range<u64>,
        chunk: u32,
        pass: u64,
        doing: &'static str,
    ) -> Result<FillProgress, EngineError> {
        let fill = FillRange {
            to,
            content: self.content(pass),
            range,
            chunk: chunk.next_multiple_of(extent.block.max(1)),
            align: extent.block,
            stop: self.stop,
        };
        let progress = fill.run(&mut self.teller(doing)).map_err(|e| self.broken(e))?;
        if let (true, WriteSurface::Fd(fd)) = (self.spec.buffered, to) {
            // What was filled through the page cache must not be read from there.
            let _ = fadvise(fd, 0, None, Advice::DontNeed);
        }
        Ok(progress)
    }

    fn broken(&self, broken: Broken) -> EngineError {
        let mib = |p: &FillProgress| format!("{} of {} MiB", p.done >> 20, p.total >> 20);
        let problem = match broken {
            Broken::Stopped(p) => {
                let text = format!(
                    "{}: filling was stopped after {}; the rest keeps its old content, and a later run checks it again",
                    self.spec.name,
                    mib(&p)
                );
                self.say(Level::Warning, "fill-stopped", text);
                format!("filling was stopped after {}", mib(&p))
            }
            Broken::Failed(Errno::NOSPC | Errno::DQUOT, p) => format!(
                "its file system is full: {} could be filled; make room, or use less of it (`working_set`)",
                mib(&p)
            ),
            Broken::Failed(e, p) => format!(
                "filling it failed ({e}) after {}; see the kernel log (dmesg), or leave it as it is with `fill = \"never\"`",
                mib(&p)
            ),
        };
        EngineError::Target { target: self.spec.name.clone(), problem }
    }
}

/// Opens a target to look at it, past the page cache where it can be; whether it could not.
fn open_to_look(thing: ReadTarget<'_>) -> Result<(OpenTarget, bool), Errno> {
    match thing.open(true) {
        Ok(held) => Ok((held, false)),
        Err(Errno::INVAL) => Ok((thing.open(false)?, true)),
        Err(e) => Err(e),
    }
}

fn so_far(p: &FillProgress, doing: &str) -> String {
    let (done, total) = (p.done >> 20, p.total >> 20);
    let rate = p.rate() / 1e6;
    format!("{done} of {total} MiB {doing}, {rate:.0} MB/s, {} left", span(p.left()))
}

/// A length of time for people who wait.
pub(crate) fn span(time: Ns) -> String {
    let seconds = time.0.div_ceil(1_000_000_000);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

impl std::fmt::Display for FillProgress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let seconds = self.elapsed.as_secs_f64();
        write!(f, "{} MiB in {seconds:.1} s ({:.0} MB/s)", self.done >> 20, self.rate() / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_readable() {
        for (seconds, text) in
            [(0, "0 s"), (119, "119 s"), (121, "3 min"), (7199, "120 min"), (7260, "2 h 1 min")]
        {
            assert_eq!(span(Ns::secs(seconds)), text);
        }
        assert_eq!(span(Ns(1)), "1 s", "never less than there is");
    }

    #[test]
    fn progress_says_how_far_how_fast_and_how_long() {
        let p = FillProgress { done: 512 << 20, total: 1024 << 20, elapsed: Ns::secs(2) };
        assert_eq!(so_far(&p, "filled"), "512 of 1024 MiB filled, 268 MB/s, 2 s left");
        assert_eq!(p.to_string(), "512 MiB in 2.0 s (268 MB/s)");
    }
}
