//! The disk engine: resolves a step's targets and builds its workers.
//!
//! Everything slow or fallible happens here, on the control plane: creation and filling (in the first step that names a
//! target), the guard, and one open file for each worker and target.

use crate::conditioning::{Conditioning, ConditioningTask};
use crate::copy::{self, CopyWorker, SideOpeners, Turn, Turns};
use crate::create::create;
use crate::file::{FileAccess, FileOpener};
use crate::operations::{remote_trim_zeroes, supported, supported_remotely, trim_zeroes};
use crate::remote::{RemoteAccess, Schemes};
use crate::replay::{self, Traces};
use crate::resident::resident;
use crate::surface::{ReadTarget, WriteSurface};
use crate::target::{
    BLOCK, TargetVerdict, can_poll, cannot_open, extent, facts_of, judge, label, open_to_read,
    request, scheme, ungranted, unreachable,
};
use crate::verify::{StateMemory, TargetState, VerifyPlan, VerifyStates};
use crate::watched::{Watched, WatchedGrant, WatchedTarget};
use crate::{DiskWorker, Fresh, NullOpener, Opener, PayloadOpener};
use clock::{Ns, Rng};
use engine::{
    Crew, CrewSettings, Engine, EngineError, HANG_AFTER, IntervalTx, MeterScope, Phases, Pinning,
    Prepared, StepSpec, Stop, TargetSpec, WorkerSetup, WorkerSpec,
};
use guard::{Grants, MediumId, PathTarget, Remote, RemoteGrant, WriteGrant};
use guard::{remote_id, reopen_to_read};
use record::{Fact, Level, SourceId};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use workload::{Arrivals, Extent, IoDemand, Placement, StreamKey};

/// How long workers wait for what is in flight at the end of a step.
const GRACE: Ns = Ns::secs(5);

/// Purpose of the random stream that makes each worker's data different.
const FRESH: u64 = 0x6672_6573;

/// The live block engine.
#[derive(Debug, Default)]
pub struct DiskEngine {
    pinning: Pinning,
    grants: Grants,
    /// Targets that were created or found by an earlier step: they are not made a second time.
    known: BTreeSet<String>,
    conditioning: Conditioning,
    watch: VerifyStates,
    traces: Traces,
    schemes: Schemes,
    /// Remote targets that an earlier step has found.
    remotes: BTreeMap<String, Arc<dyn Remote>>,
}

/// A target that stands ready to be opened for workers.
struct Resolved {
    extent: Extent,
    how: How,
    facts: Vec<Fact>,
    /// What its blocks must hold, where they are verified.
    state: Option<Arc<TargetState>>,
    identity: Option<MediumId>,
}

/// A target of a worker.
type UsedTarget<'a> = (&'a TargetSpec, &'a Resolved);

enum How {
    Null,
    /// Whether it goes past the page cache.
    Read(OwnedFd, bool),
    Write(WriteGrant),
    Remote(RemoteAccess),
}

impl DiskEngine {
    /// An engine with this pinning of its workers' threads.
    pub fn new(pinning: Pinning) -> DiskEngine {
        DiskEngine { pinning, ..DiskEngine::default() }
    }

    /// Targets of these schemes are served as well.
    #[must_use]
    pub fn with(self, schemes: Schemes) -> DiskEngine {
        DiskEngine { schemes, ..self }
    }

    /// What is verified is remembered in memory that outlives this process.
    #[must_use]
    pub fn remembering(mut self, memory: StateMemory) -> DiskEngine {
        self.watch.memory = Some(memory);
        self
    }

    /// The remote target of a URL; `None` where it is none.
    fn remote(&mut self, spec: &TargetSpec) -> Result<Option<Arc<dyn Remote>>, EngineError> {
        if let Some(known) = self.remotes.get(&spec.url) {
            return Ok(Some(known.clone()));
        }
        let Some(found) = self.schemes.remote(spec) else { return Ok(None) };
        let found = found?;
        self.remotes.insert(spec.url.clone(), found.clone());
        Ok(Some(found))
    }

    /// Makes a remote target ready to be opened for workers.
    fn resolve_remote(
        &mut self,
        errand: &ConditioningTask,
        remote: &Arc<dyn Remote>,
        writes: bool,
    ) -> Result<Resolved, EngineError> {
        let spec = errand.spec;
        supported_remotely(spec, &**remote, &errand.demand)?;
        let extent = Extent { size: remote.size(), block: remote.block() };
        let mut facts = crate::remote::facts_of(&spec.name, &spec.url, &**remote);
        facts.extend(spec.made_as.as_ref().map(|_| errand.fact("lifetime", "this run".to_owned())));
        let grant = match writes {
            true => {
                let grant = RemoteGrant::check(&request(spec), remote, &mut self.grants);
                Some(grant.map_err(|e| ungranted(spec, e))?)
            }
            false => None,
        };
        let thing = ReadTarget::Remote(remote);
        let state = self.watch.state(errand, thing, extent, false)?;
        promise(state.as_deref(), remote_trim_zeroes(&**remote));
        facts.extend(state.iter().map(|state| errand.fact("verification", state.describe())));
        let access = match grant {
            None => {
                if !remote.is_sequential() {
                    facts.extend(self.conditioning.readable(errand, thing, extent));
                }
                RemoteAccess::Read(remote.clone())
            }
            Some(grant) => {
                facts.push(errand.fact("claim", grant.claim().describe()));
                if self.watch.holds(spec) {
                    self.conditioning.note_filled(spec);
                }
                let to = WriteSurface::Remote(&**grant.claim());
                // A tape is written from its beginning: nothing is filled, and nothing behind it can be sampled.
                if !remote.is_sequential() {
                    facts.extend(self.conditioning.writable(errand, thing, to, extent)?);
                }
                RemoteAccess::Write(grant)
            }
        };
        let identity = Some(remote_id(&**remote));
        Ok(Resolved { extent, how: How::Remote(access), facts, state, identity })
    }

    /// Makes a target ready to be opened for workers.
    fn resolve(
        &mut self,
        errand: &ConditioningTask,
        writes: bool,
    ) -> Result<Resolved, EngineError> {
        let spec = errand.spec;
        let writes = writes || self.conditioning.would_write(spec);
        if let Some(remote) = self.remote(spec)? {
            return self.resolve_remote(errand, &remote, writes);
        }
        let mut filled = None;
        let found = match judge(spec, writes, &self.grants)? {
            TargetVerdict::Null { size } => {
                let extent = Extent { size, block: BLOCK };
                let facts = facts_of(spec, None);
                return Ok(Resolved { extent, how: How::Null, facts, state: None, identity: None });
            }
            TargetVerdict::Open(found) => found,
            TargetVerdict::Create { .. } if self.known.contains(&spec.url) => {
                let problem = format!("{} has vanished since an earlier step", spec.url);
                return Err(EngineError::Target { target: spec.name.clone(), problem });
            }
            TargetVerdict::Create { bytes } => {
                supported(spec, None, &errand.demand)?;
                let (found, fact) = self.create(errand, writes, bytes)?;
                filled = Some(fact);
                found
            }
        };
        self.known.insert(spec.url.clone());
        can_poll(spec, &found)?;
        supported(spec, Some(&found), &errand.demand)?;
        let mut facts = facts_of(spec, Some(&found));
        let created = filled.is_some();
        facts.extend(filled);
        if writes {
            let grant = WriteGrant::check(&request(spec), &found, &mut self.grants);
            let grant = grant.map_err(|e| ungranted(spec, e))?;
            let extent = extent(spec, &found, &grant)?;
            let state = self.watch.state(errand, ReadTarget::Found(&found), extent, created)?;
            promise(state.as_deref(), trim_zeroes(&found));
            facts.extend(state.iter().map(|state| errand.fact("verification", state.describe())));
            if self.watch.holds(spec) {
                self.conditioning.note_filled(spec);
            }
            facts.extend(self.conditioning.writable(
                errand,
                ReadTarget::Found(&found),
                WriteSurface::Fd(grant.as_fd()),
                extent,
            )?);
            facts.extend(page_cache(errand, &grant, extent));
            let how = How::Write(grant);
            return Ok(Resolved { extent, how, facts, state, identity: found.id() });
        }
        let fd = open_to_read(spec, &found)?;
        let extent = extent(spec, &found, &fd)?;
        let state = self.watch.state(errand, ReadTarget::Found(&found), extent, created)?;
        facts.extend(state.iter().map(|state| errand.fact("verification", state.describe())));
        facts.extend(self.conditioning.readable(errand, ReadTarget::Found(&found), extent));
        facts.extend(page_cache(errand, &fd, extent));
        let how = How::Read(fd, !spec.buffered);
        Ok(Resolved { extent, how, facts, state, identity: found.id() })
    }

    /// Creates a target's file, and finds it again as any other. The fact says how it was filled.
    fn create(
        &mut self,
        errand: &ConditioningTask,
        writes: bool,
        bytes: u64,
    ) -> Result<(PathTarget, Fact), EngineError> {
        let spec = errand.spec;
        let size = bytes >> 20;
        let text =
            format!("{}: creating {} and filling it with {size} MiB of data", spec.name, spec.url);
        errand.say(Level::Info, "target-created", text);
        let path = Path::new(&spec.url);
        let content = errand.content(0);
        let mut tell = errand.teller("filled");
        let made = create(&spec.name, path, bytes, content, errand.stop, &mut tell);
        if made.is_err() && errand.stop.asked() {
            let text =
                format!("{}: creating {} was stopped; nothing is left behind", spec.name, spec.url);
            errand.say(Level::Warning, "fill-stopped", text);
        }
        let made = made?;
        self.conditioning.note_filled(spec);
        let filled = errand.fact("fill", made.filled.to_string());
        if let Some(file) = made.unmarked {
            self.grants.keep_made(file).map_err(|e| cannot_open(spec, e))?;
            let text = format!(
                "{}: its file system keeps no extended attributes, so the file carries no mark: only this run may write \
                 to it, and a later one cannot reuse it",
                spec.name
            );
            errand.say(Level::Warning, "target-unmarked", text);
        }
        match judge(spec, writes, &self.grants)? {
            TargetVerdict::Open(found) => Ok((found, filled)),
            TargetVerdict::Null { .. } | TargetVerdict::Create { .. } => Err(EngineError::Target {
                target: spec.name.clone(),
                problem: format!("{} has vanished right after it was created", spec.url),
            }),
        }
    }
}

impl Engine for DiskEngine {
    fn prepare(
        &mut self,
        step: &StepSpec,
        notes: &IntervalTx,
        stop: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        engine::check_memory(buffers(step), step.workers.len())?;
        let step = &*self.traces.loaded(step)?;
        let mut resolved = Vec::with_capacity(step.targets.len());
        for (index, target) in step.targets.iter().enumerate() {
            let demands = step.workers.iter().flat_map(|worker| {
                let mine = worker.targets.iter().enumerate();
                mine.filter(|(_, t)| usize::from(**t) == index)
                    .map(|(position, _)| copy::demand(worker, position))
            });
            let asked = demands.fold(IoDemand::default(), IoDemand::and);
            let demand = target.demand.and(asked);
            let errand = ConditioningTask { spec: target, step, demand, notes, stop };
            resolved.push(self.resolve(&errand, asked.writes)?);
        }
        refuse_doubles(step, &resolved)?;
        let states = resolved.iter().map(|r| r.state.clone()).collect();
        let mut plan = self.watch.plan(step, states);
        let watched = watched(step, &resolved)?;
        let laid = laid(step, &resolved)?;
        let turns = Turns::of(step);
        let post = |worker: &WorkerSpec| match &worker.copy {
            Some(_) => post_copy(&self.schemes, step, worker, &resolved, &turns),
            None => post(&self.schemes, step, worker, &resolved, &turns, &mut plan),
        };
        let posts = step.workers.iter().map(post).collect::<Result<_, _>>()?;
        let orders = CrewSettings {
            step: step.index,
            phases: Phases::from(step),
            // Longer than the workers' own, so that they can say what they leave open.
            grace: GRACE.plus(GRACE),
            hang_after: HANG_AFTER,
            pinning: self.pinning,
            facts: resolved.into_iter().flat_map(|r| r.facts).collect(),
        };
        let mut crew = Crew::assemble(orders, posts, notes)?;
        crew.add_facts(queue_facts(step, &crew));
        crew.add_facts(laid);
        Ok(Watched::wrap(step.index, plan.keep(step, Box::new(crew))?, watched))
    }
}

/// Where the traces of a step lie on their targets.
fn laid(step: &StepSpec, targets: &[Resolved]) -> Result<Vec<Fact>, EngineError> {
    let mut all = Vec::new();
    for worker in step.workers.iter().filter(|worker| worker.workload.trace.is_some()) {
        let extents = worker.targets.iter().filter_map(|index| targets.get(usize::from(*index)));
        let place = Placement {
            targets: extents.map(|resolved| resolved.extent).collect(),
            sharer: worker.sharer,
            sharers: worker.sharers,
            start: Ns::ZERO,
        };
        all.extend(replay::fact(worker, &place)?);
    }
    Ok(all)
}

/// Notes of a verified target what a trim leaves there.
fn promise(state: Option<&TargetState>, granule: u64) {
    if let Some(state) = state {
        state.trim_zeroes.store(granule, Ordering::Relaxed);
    }
}

/// Bytes of the buffers of all workers.
fn buffers(step: &StepSpec) -> u64 {
    step.workers.iter().map(copy::buffers).fold(0, u64::saturating_add)
}

/// The targets of a step that are open for writing.
fn watched(step: &StepSpec, targets: &[Resolved]) -> Result<Vec<WatchedTarget>, EngineError> {
    let mut all = Vec::new();
    for (spec, resolved) in step.targets.iter().zip(targets) {
        let grant = match &resolved.how {
            How::Write(grant) => {
                WatchedGrant::Local(grant.another().map_err(|e| cannot_open(spec, e))?)
            }
            How::Remote(RemoteAccess::Write(grant)) => WatchedGrant::Remote(grant.clone()),
            How::Null | How::Read(..) | How::Remote(RemoteAccess::Read(_)) => continue,
        };
        all.push(WatchedTarget { label: label(spec), grant });
    }
    Ok(all)
}

/// Verification cannot hold where one thing is two targets: neither knows what is written to the other.
fn refuse_doubles(step: &StepSpec, targets: &[Resolved]) -> Result<(), EngineError> {
    for (index, one) in targets.iter().enumerate() {
        let is_same = |other: &Resolved| {
            one.identity.is_some()
                && one.identity == other.identity
                && (one.state.is_some() || other.state.is_some())
        };
        if let Some(earlier) = targets[..index].iter().position(is_same) {
            return Err(EngineError::Unsupported(format!(
                "{} and {} are the same file or device, which cannot be verified under two names; use one of them",
                label(&step.targets[earlier]),
                label(&step.targets[index])
            )));
        }
    }
    Ok(())
}

/// How much of a target that goes through the page cache is there before its load begins.
fn page_cache(errand: &ConditioningTask, fd: impl AsFd, extent: Extent) -> Option<Fact> {
    let resident = errand.spec.buffered.then(|| resident(fd, extent.size)).flatten()?;
    Some(errand.fact("page-cache", format!("{resident} of {}", extent.size)))
}

/// What carries the I/O to each target: the same for all of its workers.
fn queue_facts(step: &StepSpec, crew: &Crew) -> Vec<Fact> {
    let fact = |(source, how): (SourceId, &str)| {
        let worker = step.workers.iter().find(|worker| worker.source == source)?;
        let fact = |index: &u16| {
            let subject = step.targets.get(usize::from(*index))?.name.clone();
            Some(Fact { subject, key: "queue".to_owned(), value: how.to_owned() })
        };
        Some(worker.targets.iter().filter_map(fact).collect::<Vec<_>>())
    };
    let mut facts: Vec<Fact> = crew.carriers().filter_map(fact).flatten().collect();
    facts.sort_by(|a, b| a.subject.cmp(&b.subject));
    facts.dedup();
    facts
}

/// Builds one worker, with open files of its own.
fn post(
    schemes: &Schemes,
    step: &StepSpec,
    worker: &WorkerSpec,
    targets: &[Resolved],
    turns: &Turns,
    plan: &mut VerifyPlan,
) -> Result<WorkerSetup, EngineError> {
    let WorkerSpec { source, name, key, sharer, sharers, workload, .. } = worker;
    let used = used(step, worker, targets)?;
    if let Some((tape, _)) = used.iter().find(|target| is_sequential(**target)) {
        return Err(EngineError::Unsupported(format!(
            "worker {name}: {} is a tape, which is read and written in order; load it by a workload of `kind = \"copy\"`",
            label(tape)
        )));
    }
    let demand = IoDemand::of(workload);
    let payload = match worker.verify {
        true => Some(plan.payload(step, worker)?),
        false => demand.writes.then(|| fresh(step, *key, &used)),
    };
    let task = DiskWorker {
        name: name.clone(),
        spec: workload.clone(),
        place: Placement {
            targets: used.iter().map(|(_, resolved)| resolved.extent).collect(),
            sharer: *sharer,
            sharers: *sharers,
            start: Ns::ZERO,
        },
        key: StreamKey { seed: step.seed, step: step.index, worker: *key, slot: 0 },
        opener: opener(schemes, name, &used, &vec![demand.writes; used.len()])?,
        payload,
        grace: GRACE,
        changes: worker.changes.clone(),
        limit: worker.limit,
        turn: turns.turn(worker)?,
    };
    let open_loop = matches!(workload.arrivals, Arrivals::Open { .. });
    let scope = MeterScope {
        reads: demand.reads,
        writes: demand.data,
        others: demand.without_data,
        open_loop,
    };
    let targets = used.iter().map(|(spec, _)| spec.name.clone()).collect();
    Ok(WorkerSetup { source: *source, name: name.clone(), targets, scope, task: Box::new(task) })
}

/// The targets of a worker.
fn used<'a>(
    step: &'a StepSpec,
    worker: &WorkerSpec,
    targets: &'a [Resolved],
) -> Result<Vec<UsedTarget<'a>>, EngineError> {
    let used = worker.targets.iter().map(|index| {
        let index = usize::from(*index);
        let unknown = || {
            let name = &worker.name;
            EngineError::Unsupported(format!("worker {name}: the step has no target {index}"))
        };
        Ok((step.targets.get(index).ok_or_else(unknown)?, targets.get(index).ok_or_else(unknown)?))
    });
    used.collect()
}

/// Whether a target is read and written in order only.
fn is_sequential((_, resolved): UsedTarget<'_>) -> bool {
    match &resolved.how {
        How::Remote(access) => access.remote().is_sequential(),
        How::Null | How::Read(..) | How::Write(_) => false,
    }
}

/// Builds one copy, with open files of its own.
fn post_copy(
    schemes: &Schemes,
    step: &StepSpec,
    worker: &WorkerSpec,
    targets: &[Resolved],
    turns: &Turns,
) -> Result<WorkerSetup, EngineError> {
    let WorkerSpec { source, name, copy, .. } = worker;
    let Turn { board, place, after } = turns.turn(worker)?;
    let used = used(step, worker, targets)?;
    let &[from, to] = used.as_slice() else {
        let problem = "a copy has one source and one destination".to_owned();
        return Err(EngineError::Worker { worker: name.clone(), problem });
    };
    let names = [from, to].map(|(spec, _)| spec.name.clone());
    if from.1.identity.is_some() && from.1.identity == to.1.identity {
        return Err(EngineError::Unsupported(format!(
            "{name}: {} and {} are the same storage: a copy needs another destination",
            label(from.0),
            label(to.0)
        )));
    }
    let is_null = |target: UsedTarget<'_>| matches!(target.1.how, How::Null);
    let sequential = [from, to].map(is_sequential);
    let alike = sequential == [false; 2]
        && is_null(from) == is_null(to)
        && scheme(&from.0.url) == scheme(&to.0.url)
        && (from.0.queue, from.0.polled) == (to.0.queue, to.0.polled);
    let sides = match alike && !is_null(from) {
        true => SideOpeners::One(opener(schemes, name, &used, &[false, true])?),
        false => SideOpeners::Two(
            opener(schemes, name, &[from], &[false])?,
            opener(schemes, name, &[to], &[true])?,
        ),
    };
    let Some(spec) = copy.clone() else {
        return Err(EngineError::Unsupported(format!("worker {name} copies nothing")));
    };
    let task = CopyWorker {
        name: name.clone(),
        spec,
        targets: names.clone(),
        extents: [from.1.extent, to.1.extent],
        sides,
        sequential,
        board,
        place,
        after,
        grace: GRACE,
    };
    let (scope, targets) = (CopyWorker::scope(), names.into());
    Ok(WorkerSetup { source: *source, name: name.clone(), targets, scope, task: Box::new(task) })
}

/// A worker's content, unlike that of all other workers, steps and runs: only requested duplicates are found.
fn fresh(step: &StepSpec, worker: u32, targets: &[UsedTarget<'_>]) -> Box<dyn PayloadOpener> {
    let key = [FRESH, step.index.into(), worker.into(), clock::wall_ns()];
    let salt = Rng::keyed(step.seed, &key).next_u64();
    Box::new(Fresh::new(targets.iter().map(|(spec, _)| spec.data).collect(), salt))
}

/// The queue that carries I/O to all of a worker's targets; `writes`: to which it may write.
fn opener(
    schemes: &Schemes,
    worker: &str,
    targets: &[UsedTarget<'_>],
    writes: &[bool],
) -> Result<Box<dyn Opener>, EngineError> {
    let null = targets.iter().filter(|(_, resolved)| matches!(resolved.how, How::Null)).count();
    if null == targets.len() {
        return Ok(Box::new(NullOpener));
    }
    if null > 0 {
        return Err(EngineError::Unsupported(format!(
            "worker {worker} has `null:` among real targets; give `null:` a worker of its own"
        )));
    }
    if targets.iter().any(|(_, resolved)| matches!(resolved.how, How::Remote(_))) {
        return remote_opener(schemes, worker, targets, writes);
    }
    let (first, _) = targets[0];
    if targets.iter().any(|(spec, _)| (spec.queue, spec.polled) != (first.queue, first.polled)) {
        return Err(EngineError::Unsupported(format!(
            "worker {worker} has targets with different `queue` or `polled`; give each kind a worker of its own"
        )));
    }
    let accesses = targets.iter().zip(writes).map(|((spec, resolved), writes)| {
        let access = match &resolved.how {
            // A target is opened for writing when any worker writes to it; one that only reads gets no such right.
            How::Write(grant) if *writes => grant.another().map(FileAccess::Write),
            How::Write(grant) => grant.to_read().map(FileAccess::Read),
            How::Read(fd, direct) => reopen_to_read(fd.as_fd(), *direct).map(FileAccess::Read),
            // Seen to above: none is left.
            How::Null | How::Remote(_) => Err(Errno::NXIO),
        };
        access.map_err(|e| cannot_open(spec, e))
    });
    let accesses = accesses.collect::<Result<_, _>>()?;
    Ok(Box::new(FileOpener::new(accesses, first.queue, first.polled)))
}

/// The queue that carries I/O to remote targets, which must all be of one scheme.
fn remote_opener(
    schemes: &Schemes,
    worker: &str,
    targets: &[UsedTarget<'_>],
    writes: &[bool],
) -> Result<Box<dyn Opener>, EngineError> {
    let mixed = || {
        EngineError::Unsupported(format!(
            "worker {worker} has targets of different kinds (files, devices, URLs); give each kind a worker of its own"
        ))
    };
    let (first, _) = targets[0];
    let kind = scheme(&first.url);
    let resolver = kind.and_then(|kind| schemes.get(kind)).ok_or_else(mixed)?;
    let access = |((spec, resolved), writes): (&UsedTarget<'_>, &bool)| match &resolved.how {
        _ if scheme(&spec.url) != kind => Err(mixed()),
        // One that only reads gets no right to write.
        How::Remote(access) if *writes => Ok(access.clone()),
        How::Remote(access) => Ok(RemoteAccess::Read(access.remote().clone())),
        _ => Err(mixed()),
    };
    let accesses = targets.iter().zip(writes).map(access).collect::<Result<_, _>>()?;
    resolver.opener(accesses).map_err(|e| unreachable(first, e))
}
