//! Network loads in the record: sources, intervals and counters of a pair, its machines, streams and probe, under the names of
//! a live run (`docs/record.md`).
//!
//! A job counts at both ends at once, so sent equals received; one in flight at a cut counts on each side of it by the share
//! of its transfer there, in whole jobs.

use super::confidence;
use super::meter::{Meter, StreamCounts};
use super::record_writer::{RecordBook, counter};
use super::step_event::Reading;
use crate::engine::Simulation;
use crate::model::{Station, StationId};
use crate::plant::{EndMachine, HopElement, MachinePair, NetStream, Plant, StreamJob};
use clock::Ns;
use record::{
    Completed, Confidence, Counter, CounterId, Fact, Flow, Histogram, HopKind, Interval, Phase,
    RecordError, SourceId, SourceKind, StreamEnd, StreamLoad, Writer,
};

/// The window limits a stream from this share of one window per unloaded round trip.
const BY_WINDOW: f64 = 0.9;

/// A pair of the step that is being written.
pub(super) struct OpenPair {
    pair: MachinePair,
    hop: SourceId,
    machines: [SourceId; 2],
    /// The ends of each stream: the writing one, the reading one.
    ends: Vec<(SourceId, SourceId)>,
    probe: Option<SourceId>,
    /// Jobs of each stream, the probe's behind them: ever, and in the measured time.
    jobs: Vec<[u64; 2]>,
}

/// The step, the phase, and from when to when.
type When = (u32, Phase, (Ns, Ns));

impl RecordBook {
    /// The sources of the pairs of a step, and what it says of their streams.
    pub(super) fn open_pairs(
        &mut self,
        pairs: Vec<MachinePair>,
    ) -> Result<(Vec<OpenPair>, Vec<StreamLoad>), RecordError> {
        let (mut open, mut loads) = (Vec::with_capacity(pairs.len()), Vec::new());
        for pair in pairs {
            self.facts(facts(&pair))?;
            let mut hop =
                |name: String, kind| self.number(&name, name.clone(), SourceKind::Hop(kind));
            let id = hop(pair.name.clone(), HopKind::NetworkPair)?;
            let machines = [
                hop(format!("{}/{}", pair.name, scenario::SENDER), HopKind::NetworkHost)?,
                hop(format!("{}/{}", pair.name, scenario::RECEIVER), HopKind::NetworkHost)?,
            ];
            let mut ends = Vec::with_capacity(pair.streams.len());
            for stream in &pair.streams {
                let mut end = |word: &str, end: StreamEnd| {
                    let name = format!("{}/{word}", stream.name);
                    let source = self.number(&name, pair.name.clone(), SourceKind::Stream)?;
                    let workload = stream.workload.clone();
                    let (flow, number) = (stream.flow, stream.number);
                    loads.push(StreamLoad { source, workload, hop: id, flow, end, number });
                    Ok::<_, RecordError>(source)
                };
                ends.push((end("sent", StreamEnd::Sent)?, end("received", StreamEnd::Received)?));
            }
            let probe = pair
                .probe
                .as_ref()
                .map(|probe| self.number(&probe.name, pair.name.clone(), SourceKind::Stream));
            let (probe, jobs) = (probe.transpose()?, vec![[0; 2]; pair.all().count()]);
            open.push(OpenPair { pair, hop: id, machines, ends, probe, jobs });
        }
        Ok((open, loads))
    }
}

/// What is known of both ends.
fn facts(pair: &MachinePair) -> Vec<Fact> {
    let [sender, receiver] = &pair.machines;
    let values = [
        ("ip-version", "ipv4".to_owned()),
        ("sender-host", sender.host.clone()),
        ("sender-interface", sender.interface.clone()),
        ("receiver-host", receiver.host.clone()),
        ("receiver-interface", receiver.interface.clone()),
    ];
    let fact = |(key, value): (&str, String)| Fact {
        subject: pair.name.clone(),
        key: key.to_owned(),
        value,
    };
    values.into_iter().map(fact).collect()
}

impl OpenPair {
    /// Writes what happened between two cuts; takes the pair's own streams.
    pub fn cut(
        &mut self,
        when: When,
        streams: &mut impl Iterator<Item = StreamCounts>,
        busy: [f64; 2],
        writer: &mut Writer,
    ) -> Result<(), RecordError> {
        let mut came = [[0.0; 2]; 2];
        let mut packets = [0.0; 2];
        let mut process = [0.0; 2];
        let ends = self.ends.iter().map(|ends| (ends.0, Some(ends.1)));
        let ends: Vec<_> = ends.chain(self.probe.map(|probe| (probe, None))).collect();
        let all: Vec<&NetStream> = self.pair.all().collect();
        for (((stream, jobs), ends), carried) in
            all.into_iter().zip(&mut self.jobs).zip(ends).zip(streams)
        {
            let before = messages(&stream.job, jobs[0]);
            jobs[0] += carried.jobs;
            jobs[1] += if when.1 == Phase::Measure { carried.jobs } else { 0 };
            let ops = messages(&stream.job, jobs[0]) - before;
            let of = Written { job: &stream.job, ops, carried, ends };
            if ends.1.is_some() {
                let way = usize::from(stream.flow == Flow::Up);
                came[way][0] += ops as f64;
                came[way][1] += of.bytes() as f64;
                let back = of.carried.jobs as f64 * f64::from(stream.job.back);
                came[1 - way][0] += if stream.job.timed { ops as f64 } else { 0.0 };
                came[1 - way][1] += back;
            }
            for (end, machine) in [(0, stream.flow == Flow::Down), (1, stream.flow == Flow::Up)] {
                let machine = usize::from(machine);
                packets[machine] += of.carried.jobs as f64 * stream.job.packet_time[end];
                let thread = stream.job.thread[end] - stream.job.packet_time[end];
                process[machine] += of.carried.jobs as f64 * thread;
            }
            of.write(when, writer)?;
        }
        let (step, _, span) = when;
        let mut say =
            |source, reading: Reading| writer.counter(&counter(source, step, span, &reading));
        for (way, [ops, bytes]) in [
            [CounterId::ReadOps, CounterId::ReadBytes],
            [CounterId::WriteOps, CounterId::WriteBytes],
        ]
        .into_iter()
        .enumerate()
        {
            say(self.hop, (ops, came[way][0]))?;
            say(self.hop, (bytes, came[way][1]))?;
        }
        for (machine, source) in self.machines.iter().enumerate() {
            let soft = packets[machine].min(busy[machine]);
            say(*source, (CounterId::CpuUser, 0.0))?;
            say(*source, (CounterId::CpuSystem, process[machine].min(busy[machine] - soft) * 1e9))?;
            say(*source, (CounterId::HostUser, 0.0))?;
            say(*source, (CounterId::HostSystem, (busy[machine] - soft) * 1e9))?;
            say(*source, (CounterId::HostSoftirq, soft * 1e9))?;
            say(*source, (CounterId::HostIrq, 0.0))?;
        }
        Ok(())
    }

    /// Writes what is known once the step is over: over the measured time.
    pub fn done(&self, step: u32, span: (Ns, Ns), writer: &mut Writer) -> Result<(), RecordError> {
        let seconds = span.1.since(span.0).as_secs_f64();
        let mut part = |source, id: CounterId, part, value: f64| {
            let (from, to) = span;
            let (step, kind) = (Some(step), id.into());
            writer.counter(&Counter { source, step, from, to, kind, part, value })
        };
        for (machine, source) in self.pair.machines.iter().zip(self.machines) {
            let EndMachine { cores, speed, .. } = machine;
            part(source, CounterId::Processors, None, f64::from(*cores))?;
            part(source, CounterId::InterfaceMtu, None, f64::from(self.pair.mtu))?;
            if let Some(speed) = speed {
                part(source, CounterId::InterfaceSpeed, None, *speed)?;
            }
        }
        for (name, end, source, used) in self.threads() {
            debug_assert!(end < 2, "a thread is at one of two ends");
            part(source, CounterId::ThreadCpu, Some(name), used * 1e9)?;
        }
        for ((stream, ends), [_, jobs]) in self.pair.streams.iter().zip(&self.ends).zip(&self.jobs)
        {
            for (id, value) in self.socket(&stream.job, *jobs, seconds) {
                part(ends.0, id, None, value)?;
            }
            let window = stream.job.window as f64;
            part(ends.1, CounterId::ReceiveBuffer, None, window)?;
            if stream.job.datagrams && !stream.job.timed {
                let count = messages(&stream.job, *jobs) as f64;
                part(ends.0, CounterId::DatagramsSent, None, count)?;
                part(ends.1, CounterId::DatagramsReceived, None, count)?;
                part(ends.1, CounterId::DatagramsLost, None, 0.0)?;
            }
        }
        part(self.hop, CounterId::WriteUndelivered, None, 0.0)?;
        part(self.hop, CounterId::ReadUndelivered, None, 0.0)
    }

    /// The counters of the writing end's socket.
    fn socket(&self, job: &StreamJob, jobs: u64, seconds: f64) -> Vec<Reading> {
        let moved = jobs as f64 * f64::from(job.bytes);
        let mut all = vec![(CounterId::SendBuffer, job.window as f64)];
        if job.datagrams {
            return all;
        }
        all.push((CounterId::Mss, f64::from(job.segment)));
        all.push((CounterId::PathMtu, f64::from(self.pair.mtu)));
        all.push((CounterId::TcpTimestamps, 0.0));
        all.push((CounterId::Multipath, 0.0));
        // By Little's law, where as much as the window allows is always under way.
        let floor = job.floor.max(1e-9);
        let full = job.rate.is_none() && !job.timed && moved > 0.0;
        let trip = if full { (job.window as f64 * seconds / moved).max(floor) } else { floor };
        all.push((CounterId::Rtt, trip * 1e9));
        all.push((CounterId::RttMin, floor * 1e9));
        if full {
            let limited = moved / seconds >= BY_WINDOW * job.window as f64 / floor;
            let held =
                |by_sender| if limited && by_sender == job.by_sender { seconds } else { 0.0 };
            all.push((CounterId::TcpBusy, seconds * 1e9));
            all.push((CounterId::ReceiverLimited, held(false) * 1e9));
            all.push((CounterId::BufferLimited, held(true) * 1e9));
        }
        all
    }

    /// The threads of both machines: name, which end of their streams, the machine, and seconds of the measured time that they
    /// worked.
    fn threads(&self) -> Vec<(String, usize, SourceId, f64)> {
        let mut all: Vec<(String, usize, SourceId, f64)> = Vec::new();
        for (stream, [_, jobs]) in self.pair.streams.iter().zip(&self.jobs) {
            let flow = if stream.flow == Flow::Up { "up" } else { "down" };
            let load = stream.name.strip_prefix(&self.pair.name).unwrap_or(&stream.name);
            let load = load.trim_start_matches('/').rsplit_once('/').map(|(load, _)| load);
            let load = load.map_or(String::new(), |load| format!("{load}-"));
            for end in [0, 1] {
                let word = if end == 0 { "send" } else { "receive" };
                let name = format!("{load}{flow}-{word}-{}", stream.thread + 1);
                let machine = usize::from((end == 1) == (stream.flow == Flow::Up));
                let used = *jobs as f64 * stream.job.thread[end];
                let known = |(other, _, source, _): &&mut (String, usize, SourceId, f64)| {
                    *other == name && *source == self.machines[machine]
                };
                match all.iter_mut().find(known) {
                    Some(thread) => thread.3 += used,
                    None => all.push((name, end, self.machines[machine], used)),
                }
            }
        }
        all
    }
}

/// Messages that so many jobs have ended: those whose last byte is among theirs.
fn messages(job: &StreamJob, jobs: u64) -> u64 {
    match job.timed {
        true => jobs,
        false => jobs.saturating_mul(job.bytes.into()) / u64::from(job.message.max(1)),
    }
}

/// A stream between two cuts.
struct Written<'a> {
    job: &'a StreamJob,
    ops: u64,
    carried: StreamCounts,
    /// The writing end, and the reading one, which a probe has not.
    ends: (SourceId, Option<SourceId>),
}

impl Written<'_> {
    fn bytes(&self) -> u64 {
        self.carried.jobs.saturating_mul(self.job.bytes.into())
    }

    fn write(&self, (step, phase, span): When, writer: &mut Writer) -> Result<(), RecordError> {
        let (from, to) = span;
        let (sent, received) = self.ends;
        let tally = |timed: Option<&Completed>| Completed {
            ops: self.ops,
            bytes: self.bytes(),
            errors: self.carried.lost,
            service_sum: timed.map_or(Ns::ZERO, |times| times.service_sum),
            service: timed.map_or_else(Histogram::new, |times| times.service.clone()),
            response: None,
        };
        let interval = |source, read, write| Interval {
            others: Default::default(),
            source,
            step,
            phase,
            from,
            to,
            read,
            write,
            testimony: None,
        };
        let times = self.carried.times.as_ref();
        writer.interval(&interval(sent, None, Some(tally(times))))?;
        if let Some(received) = received {
            writer.interval(&interval(received, Some(tally(None)), None))?;
        }
        let jobs = self.carried.jobs as f64;
        let mut all = vec![
            (CounterId::Calls, (jobs * self.job.calls).round()),
            (CounterId::Packets, (jobs * self.job.packets).round()),
        ];
        if self.job.timed {
            all.push((CounterId::BackBytes, jobs * f64::from(self.job.back)));
        }
        if !self.job.datagrams {
            all.push((CounterId::Retransmits, 0.0));
        }
        for reading in all {
            writer.counter(&counter(sent, step, span, &reading))?;
        }
        Ok(())
    }
}

/// The scatter of pairs and of how busy their machines are, batch by batch.
pub(super) struct NetBatches {
    pairs: Vec<MachinePair>,
    /// By pair, by stream: its jobs until the last batch.
    seen: Vec<Vec<u64>>,
    /// By pair: messages and bytes from and to the receiver, of each batch.
    moved: Vec<Vec<[f64; 4]>>,
    /// By pair, by machine.
    busy: Vec<[Busy; 2]>,
}

/// A machine's processors, the picoseconds that they had worked, and the share of each batch.
type Busy = (Option<StationId>, u128, Vec<f64>);

impl NetBatches {
    /// Of a plant that has not moved yet.
    pub fn new(plant: &Plant) -> NetBatches {
        let station = |machine: &EndMachine| {
            let hop = plant.hops.get(machine.processors)?;
            let queues = hop.places.iter().filter_map(|place| match place {
                HopElement::Station(id) => Some(*id),
                _ => None,
            });
            let is_queue = |id: &StationId| {
                let station = plant.network.stations().get(id.0 as usize);
                matches!(station, Some(Station::Queue { .. }))
            };
            queues.into_iter().find(is_queue)
        };
        let machines =
            |pair: &MachinePair| [0, 1].map(|end| (station(&pair.machines[end]), 0, Vec::new()));
        NetBatches {
            seen: plant.pairs.iter().map(|pair| vec![0; pair.all().count()]).collect(),
            moved: plant.pairs.iter().map(|_| Vec::new()).collect(),
            busy: plant.pairs.iter().map(machines).collect(),
            pairs: plant.pairs.clone(),
        }
    }

    /// The measured time begins.
    pub fn begin(&mut self, simulation: &mut Simulation<Meter>) {
        if !self.pairs.is_empty() {
            self.look(simulation);
            self.moved.iter_mut().for_each(Vec::clear);
            self.busy.iter_mut().flatten().for_each(|(.., shares)| shares.clear());
        }
    }

    /// Batches so far.
    pub fn batches(&self) -> usize {
        self.moved.first().map_or(0, Vec::len)
    }

    /// A batch is over.
    pub fn look(&mut self, simulation: &mut Simulation<Meter>) {
        if self.pairs.is_empty() {
            return;
        }
        let worked = simulation.snapshot().stations;
        let mut jobs = simulation.observer().jobs().iter();
        for (number, pair) in self.pairs.iter().enumerate() {
            let mut moved = [0.0; 4];
            let streams = pair.all().zip(&mut self.seen[number]).zip(&mut jobs);
            for (at, ((stream, seen), now)) in streams.enumerate() {
                let new = now.saturating_sub(*seen) as f64;
                *seen = *now;
                if at < pair.streams.len() {
                    let way = 2 * usize::from(stream.flow == Flow::Up);
                    let bytes = new * f64::from(stream.job.bytes);
                    moved[way] +=
                        if stream.job.timed { new } else { bytes / f64::from(stream.job.message) };
                    moved[way + 1] += bytes;
                }
            }
            self.moved[number].push(moved);
            for (station, before, shares) in &mut self.busy[number] {
                let tally = station.and_then(|id| worked.get(id.0 as usize));
                let now = tally.map_or(0, |tally| tally.busy);
                shares.push(now.saturating_sub(*before) as f64 / 1e12);
                *before = now;
            }
        }
    }

    /// The intervals of all pairs and machines, from batches of so many seconds.
    pub fn intervals(&self, step: u32, seconds: f64) -> Vec<Confidence> {
        let mut all = Vec::new();
        for ((pair, moved), busy) in self.pairs.iter().zip(&self.moved).zip(&self.busy) {
            let sums = |of: fn(&[f64; 4]) -> f64| -> Vec<(f64, f64)> {
                moved.iter().map(|batch| (of(batch), seconds)).collect()
            };
            let figures = [
                (("iops", "1/s"), sums(|b| b[0] + b[2])),
                (("total-rate", "B/s"), sums(|b| b[1] + b[3])),
                (("read-rate", "B/s"), sums(|b| b[1])),
                (("write-rate", "B/s"), sums(|b| b[3])),
            ];
            let name = Some(pair.name.as_str());
            all.extend(
                figures.iter().filter_map(|(of, sums)| confidence::interval(step, name, *of, sums)),
            );
            for (end, (.., shares)) in busy.iter().enumerate() {
                let word = [scenario::SENDER, scenario::RECEIVER][end];
                let name = format!("{}/{word}", pair.name);
                let whole = seconds * f64::from(pair.machines[end].cores) / 100.0;
                let sums: Vec<(f64, f64)> = shares.iter().map(|busy| (*busy, whole)).collect();
                all.extend(confidence::interval(step, Some(&name), ("cpu", "%"), &sums));
            }
        }
        all
    }
}
