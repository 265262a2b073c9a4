//! Turns workers and copies into loads: their routes to the disks and back, when they start, and when they end.

use super::LabError;
use super::draft::Draft;
use super::front::{Front, is_sequential_read, mean_size, range, sizes};
use super::storage::Storage;
use super::usage::VolumeLoad;
use crate::model::{Begin, Class, Hop, Law, Load, LoadId, Operations, Pool, PoolId, Source};
use crate::plant::Issuer;
use clock::Ns;
use record::Loop;
use scenario::crew::{Copier, Worker};
use scenario::topology::Topology;
use scenario::{CopyWorkload, Phase, Step};
use std::collections::BTreeMap;
use units::Bytes;
use workload::{Arrivals, Dir, Placement, Spec, Stream, StreamKey, WorkingSet, pass_bytes};

/// Adds the loads of a step to a draft.
pub struct Issue<'a, 'd> {
    pub topology: &'a Topology,
    pub step: &'a Step,
    pub front: &'d Front,
    pub storage: Storage<'a>,
    pub draft: &'d mut Draft,
}

/// A load as a phase of a job.
struct JobPhase<'a> {
    load: LoadId,
    /// The name by which others wait for it.
    name: &'a str,
    phase: Option<&'a Phase>,
    /// The load before it in its stream.
    follows: Option<LoadId>,
}

impl<'a> Issue<'a, '_> {
    /// Adds all workers, then all copies; a worker's number is its index.
    pub fn all(&mut self, workers: &[Worker<'a>], copiers: &[Copier<'a>]) -> Result<(), LabError> {
        let mut parts = Vec::with_capacity(workers.len() + copiers.len());
        for (number, worker) in (0..).zip(workers) {
            let load = self.worker(number, worker)?;
            let (name, phase) = (&worker.load.workload.name, worker.load.phase);
            parts.push(JobPhase { load, name: name_of(phase, name), phase, follows: None });
        }
        let mut loads = Vec::with_capacity(copiers.len());
        for copier in copiers {
            let load = self.copier(copier);
            let (name, phase) = (&copier.copy.workload.name, copier.copy.phase);
            let follows = copier.follows.and_then(|before| loads.get(before).copied());
            loads.push(load);
            parts.push(JobPhase { load, name: name_of(phase, name), phase, follows });
        }
        self.order(&parts)
    }

    /// Notes a working set that is larger than a disk.
    fn working_set(&mut self, spec: &Spec, place: &Placement, worker: &str) {
        let smallest = place.targets.iter().map(|target| target.size).min().unwrap_or(u64::MAX);
        if let Some(WorkingSet::Bytes(bytes)) = spec.working_set
            && bytes > smallest
        {
            let [asked, there] = [bytes, smallest].map(|bytes| units::size(Bytes(bytes)));
            self.draft.note(format!(
                "{worker}: the working set of {asked} is larger than a disk of {there}, all of which it uses"
            ));
        }
    }

    fn worker(&mut self, number: u32, worker: &Worker<'a>) -> Result<LoadId, LabError> {
        let workload = worker.load.workload;
        let spec = &self.read_ahead(&workload.spec, worker);
        let ways = worker.targets.iter().map(|way| &self.topology.ways[*way]);
        let place = Placement {
            targets: ways.map(|way| self.storage.extent(way, Some(workload))).collect(),
            sharer: worker.sharer,
            sharers: worker.sharers,
            start: Ns::ZERO,
        };
        let key = StreamKey { seed: 0, step: self.step.index, worker: number, slot: 0 };
        let wrong = |problem| LabError::Operations { worker: worker.name.clone(), problem };
        let stream = Stream::new(spec, &place, key).map_err(wrong)?;
        let planned = match worker.limit() {
            None => pass_bytes(spec, &place, key).map_err(wrong)?,
            limit => limit,
        };
        self.working_set(spec, &place, &worker.name);
        if let (Some(trace), Some(how)) = (&spec.trace, stream.laid()) {
            self.draft.note(format!("{}: the trace {}: {how}", worker.name, trace.file));
        }
        let kinds = Operations::kinds(spec);
        let kinds: Vec<_> = kinds.iter().map(|kind| (*kind, sizes(spec, kind.0))).collect();
        let fua = spec.durability.fua;
        let mut thread = None;
        let mut classes = Vec::with_capacity(kinds.len() * worker.targets.len());
        let issues = self.issue_pass(worker.group, spec);
        for way in &worker.targets {
            for ((dir, forced), sizes) in &kinds {
                let dir = *dir;
                let bytes = if dir.moves_data() { spec.largest() } else { range(spec, dir) };
                let unused = dir == Dir::Write && if *forced { fua <= 0.0 } else { fua >= 100.0 };
                let route = match sizes.is_empty() || unused {
                    // Never drawn.
                    true => Vec::new(),
                    false => {
                        let mut route = issues.clone();
                        route.append(&mut self.program(*way, &mut thread));
                        let load = self.storage.load(&self.topology.ways[*way], workload);
                        route.append(&mut self.route(*way, &load, (dir, *forced), sizes));
                        route
                    }
                };
                classes.push(Class { dir, bytes, priority: 0, route });
            }
        }
        let all = [&kinds[0].1[..], &kinds[1].1[..]].concat();
        let operations =
            Operations { spec: spec.clone(), place, step: self.step.index, worker: number };
        let mut load = Load::of(Source::Operations(Box::new(operations)), classes);
        // Of several sizes, as many as they take on average.
        load.total = planned.map(|bytes| {
            (bytes as f64 / mean_size(&all).map_or(1.0, |of| of.max(1.0))).ceil().max(1.0) as u64
        });
        let load = self.draft.load(load);
        self.draft.issuer(Issuer {
            load,
            source: worker.name.clone(),
            group: worker.group.to_owned(),
            workload: workload.name.clone(),
            arrivals: arrivals(spec, self.step),
            ops_per_transaction: spec.ops_per_transaction().unwrap_or(1),
            planned,
        });
        Ok(load)
    }

    /// What the program does for an I/O over a way, on the one thread of its worker, which is made when first used.
    fn program(&mut self, way: usize, thread: &mut Option<PoolId>) -> Vec<Hop> {
        let Some(software) = self.front.software(way) else { return Vec::new() };
        let network = self.draft.network();
        software.program(|| *thread.get_or_insert_with(|| network.pool(Pool { tokens: 1 })))
    }

    /// The operations of a worker: where its file system reads ahead of a sequential reader, so many blocks more are
    /// outstanding.
    fn read_ahead(&mut self, spec: &Spec, worker: &Worker<'a>) -> Spec {
        let ahead = worker.targets.first().and_then(|way| self.front.software(*way)?.read_ahead);
        let mut spec = spec.clone();
        let (Some(ahead), Arrivals::Closed { depth, think }) = (ahead, spec.arrivals) else {
            return spec;
        };
        if !is_sequential_read(&spec) {
            return spec;
        }
        let blocks = ahead.div_ceil(u64::from(spec.largest().max(1)));
        let blocks = u32::try_from(blocks).unwrap_or(u32::MAX);
        self.draft.note(format!("{}: {blocks} blocks are read ahead of the program", worker.name));
        spec.arrivals = Arrivals::Closed { depth: depth.saturating_add(blocks), think };
        spec
    }

    /// An I/O of an open loop takes a pass of its initiator's thread to be issued, which the clock wakes: service time counts
    /// from the moment of submission, response time from before it. In a closed loop the pass that ends an I/O issues the next.
    fn issue_pass(&self, group: &str, spec: &Spec) -> Vec<Hop> {
        let Arrivals::Open { .. } = spec.arrivals else { return Vec::new() };
        let Some(thread) = self.front.initiator(group) else { return Vec::new() };
        vec![Hop::visit(thread, Law::ZERO), Hop::Submit]
    }

    fn copier(&mut self, copier: &Copier<'a>) -> LoadId {
        let of = copier.copy.workload;
        let mut route = self.half(copier.from, (Dir::Read, of.reads()), of);
        route.push(Hop::As { dir: Dir::Write });
        route.extend(self.half(copier.to, (Dir::Write, of.writes()), of));
        let mut load = Load::closed(of.depth, Law::ZERO, Class::read(of.block, route));
        load.total = copier.blocks();
        let load = self.draft.load(load);
        self.draft.issuer(Issuer {
            load,
            source: copier.name.clone(),
            group: copier.group.to_owned(),
            workload: of.name.clone(),
            arrivals: Loop::Closed { depth: of.depth, think: false },
            ops_per_transaction: 1,
            planned: copier.blocks().map(|blocks| blocks.saturating_mul(of.block.into())),
        });
        load
    }

    /// One half of a copy, with so many of its blocks at once. A block that is written may be read back.
    fn half(&mut self, way: usize, (dir, most): (Dir, u32), of: &CopyWorkload) -> Vec<Hop> {
        let mut route = self.passage(way, (dir, dir), of);
        if dir == Dir::Write && of.verify {
            route.push(Hop::As { dir: Dir::Read });
            route.extend(self.passage(way, (dir, Dir::Read), of));
        }
        if of.depth > 1 {
            let pool = self.draft.network().pool(Pool { tokens: most.max(1) });
            route.insert(0, Hop::Take { pool, tokens: 1 });
            route.push(Hop::Give { pool, tokens: 1 });
        }
        route
    }

    /// One pass of a block of a copy that asked to read or to write there, with the work of the file system where files are copied.
    fn passage(&mut self, way: usize, (asked, dir): (Dir, Dir), of: &CopyWorkload) -> Vec<Hop> {
        let load = self.storage.stream(&self.topology.ways[way], asked, of.block);
        let mut route = self.route(way, &load, (dir, false), &[(of.block, 1.0)]);
        let software = self.front.software(way).filter(|_| of.files);
        if let Some(work) = software.and_then(|software| software.file_system(self.draft)) {
            // What was read is copied to the program; what it writes is copied before it leaves.
            let at = if dir == Dir::Read { route.len() } else { 0 };
            route.insert(at, work);
        }
        route
    }

    /// From the guest to the medium and back.
    fn route(
        &mut self,
        way: usize,
        load: &VolumeLoad,
        (dir, fua): (Dir, bool),
        sizes: &[(u32, f64)],
    ) -> Vec<Hop> {
        let of = &self.topology.ways[way];
        let approach = self.front.approach(self.topology, way, dir, sizes, self.draft);
        approach.route(self.storage.behind(self.draft, of, load, (dir, fua)))
    }

    /// Loads that wait for others start when all of these are done.
    fn order(&mut self, parts: &[JobPhase<'a>]) -> Result<(), LabError> {
        let mut by_name: BTreeMap<&str, Vec<LoadId>> = BTreeMap::new();
        for part in parts.iter().filter(|part| part.phase.is_some_and(Phase::ends)) {
            by_name.entry(part.name).or_default().push(part.load);
        }
        for part in parts {
            let mut after: Vec<LoadId> = part.follows.into_iter().collect();
            for name in part.phase.iter().flat_map(|phase| &phase.after) {
                let loads = by_name.get(name.as_str()).ok_or_else(|| LabError::After {
                    load: part.name.to_owned(),
                    after: name.clone(),
                })?;
                after.extend_from_slice(loads);
            }
            if !after.is_empty()
                && let Some(load) = self.draft.network().loads.get_mut(part.load.0 as usize)
            {
                load.begins = Begin::After(after);
            }
        }
        Ok(())
    }
}

/// The name by which others wait for a load.
fn name_of<'a>(phase: Option<&'a Phase>, workload: &'a str) -> &'a str {
    phase.and_then(|phase| phase.name.as_deref()).unwrap_or(workload)
}

/// A worker's loop, as in a record.
fn arrivals(spec: &Spec, step: &Step) -> Loop {
    match (spec.arrivals, spec.offered(step.warmup.into(), step.measure.into())) {
        (Arrivals::Closed { depth, think }, _) => Loop::Closed { depth, think: think > Ns::ZERO },
        (Arrivals::Open { .. }, offered) => Loop::Open { rate: offered.unwrap_or(0.0) },
    }
}
