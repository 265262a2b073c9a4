//! Network loads of a step as loads of the queueing network: streams of jobs from host to host, transactions, and probes.
//!
//! ```text
//! thread ─ processor ─ delays ─ wires ─ thread ─ processor ─ delays, acknowledgment
//! └ sending end ┘               (all at once)  └ receiving end ┘   └ the window has room again
//! ```
//!
//! A stream is carried by one thread at each end, which runs on one core at a time, so a stream may be limited by its
//! processor while the host is not. Its window limits its outstanding jobs: it is a closed loop, or with a rate an open
//! one. Streams have the names of a live run.

mod job;
mod route;

use super::LabError;
use super::draft::Draft;
use super::front::{Front, NetPath, defaults};
use super::sheet::Sheet;
use crate::Ps;
use crate::model::{Class, Law, Load, Pool, PoolId, Source};
use crate::plant::{EndMachine, MachinePair, NetStream, StreamJob};
use job::Prices;
use record::Flow;
use route::{StreamPath, Threads};
use scenario::topology::{HopId, Topology};
use scenario::{NetHop, NetLoad, Scenario, Step};
use std::collections::BTreeMap;
use workload::{Carriage, Network};

/// Seconds between a probe's response and its next request, as in live runs.
const PROBE_PAUSE: f64 = 1e-3;
/// Bytes of a probe's request and of its response.
const PROBE_BYTES: u32 = 64;

/// Adds the network loads of a step to a draft. `topology` must have their ways.
pub fn add(
    scenario: &Scenario,
    topology: &Topology,
    step: &Step,
    front: &Front,
    draft: &mut Draft,
) -> Result<(), LabError> {
    let mut interrupts: Interrupts = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let mut loads: BTreeMap<String, Vec<(NetLoad, NetHop)>> = BTreeMap::new();
    for net in step.net_loads() {
        for hop in net.hops(&scenario.lab) {
            let name = hop.name();
            if !loads.contains_key(&name) {
                order.push(name.clone());
            }
            loads.entry(name).or_default().push((net, hop));
        }
    }
    for name in order {
        let of_pair = loads.remove(&name).unwrap_or_default();
        let Some((_, hop)) = of_pair.first() else { continue };
        let number = topology.nets.iter().position(|net| net.pair == name);
        let course = number.and_then(|number| front.course(topology, number));
        let course = course.ok_or_else(|| no_place(hop))?;
        let site = PairPath::new(scenario, topology, course, &mut interrupts, draft);
        let pair = site.pair(&name, &of_pair, draft);
        draft.pair(pair);
    }
    Ok(())
}

/// Why a pair has no way: the receiver has no host, or no host sends.
fn no_place(hop: &NetHop) -> LabError {
    let receiver = hop.receiver.name.clone();
    match (&hop.receiver.site, hop.vm) {
        (None, _) => LabError::NoPlace { receiver },
        (Some(_), None) => LabError::NoSender { receiver },
        (Some(_), Some(vm)) => LabError::NoHost { vm: vm.to_owned() },
    }
}

/// By adapter: the cores that handle the packets it receives, shared by all of its streams.
type Interrupts = BTreeMap<HopId, PoolId>;

/// Both ends of a pair and the path between them.
struct PairPath {
    course: NetPath,
    machines: [EndMachine; 2],
    prices: [Prices; 2],
    /// Interrupt coalescing at the receiving end of each direction: packets, and how long the first waits.
    coalesce: [Option<(u32, f64)>; 2],
    /// The cores of each end that handle the packets received, where its adapter says so.
    interrupts: [Option<PoolId>; 2],
}

impl PairPath {
    fn new(
        scenario: &Scenario,
        topology: &Topology,
        course: NetPath,
        interrupts: &mut Interrupts,
        draft: &mut Draft,
    ) -> PairPath {
        let sheets = course.ends.map(|end| {
            let (host, adapter) = (topology.hop(end.processors.0), topology.hop(end.adapter));
            let sheet = |part: &Option<String>| Sheet::of(scenario, part.as_deref());
            (sheet(&host.part), sheet(&adapter.part))
        });
        let prices = [0, 1].map(|end| {
            let name = topology.hop(course.ends[end].processors.0).name.clone();
            prices(&sheets[end], &name, course.offload, draft)
        });
        let coalesce = sheets.map(|(_, nic)| {
            let packets = nic.count("coalesce_packets").filter(|packets| *packets > 1)?;
            let name = &topology.hop(course.ends[0].adapter).name;
            let within = defaults::COALESCE.unless(nic.time("coalesce_time"), name, draft);
            Some((packets, within))
        });
        let interrupts = [0, 1].map(|end| {
            let tokens = sheets[end].1.count("interrupt_cores")?;
            let pool = || draft.network().pool(Pool { tokens });
            Some(*interrupts.entry(course.ends[end].adapter).or_insert_with(pool))
        });
        let machine = |end: usize| {
            let of = course.ends[end];
            let (hop, _, cores) = match (end, course.guest) {
                (0, Some(guest)) => guest,
                _ => of.processors,
            };
            EndMachine {
                host: topology.hop(hop).device.clone(),
                processors: hop.0 as usize,
                cores,
                interface: topology.hop(of.adapter).name.clone(),
                speed: course.speeds[end],
            }
        };
        let machines = [machine(0), machine(1)];
        PairPath { course, machines, prices, coalesce, interrupts }
    }

    /// The pair with all of its loads.
    fn pair(&self, name: &str, loads: &[(NetLoad, NetHop)], draft: &mut Draft) -> MachinePair {
        let mut streams = Vec::new();
        for (net, _) in loads {
            // Named as in live runs: with the workload where several run on a pair.
            let workload = &net.workload.name;
            let stem = match loads.len() {
                1 => name.to_owned(),
                _ => format!("{name}/{workload}"),
            };
            self.load(&stem, workload, &net.workload.network, &mut streams, draft);
        }
        let probes = loads.iter().find(|(net, _)| net.workload.network.probe);
        let probe = probes.map(|(net, _)| self.probe(name, &net.workload.name, draft));
        let mtu = job::mtu(self.course.medium);
        MachinePair { name: name.to_owned(), machines: self.machines.clone(), mtu, streams, probe }
    }

    fn load(
        &self,
        stem: &str,
        workload: &str,
        load: &Network,
        streams: &mut Vec<NetStream>,
        draft: &mut Draft,
    ) {
        let (window, by_sender) = window(load, stem, draft);
        let (up, down) = load.ways();
        for (flow, count) in [(Flow::Up, up), (Flow::Down, down)] {
            let threads = if load.threads == 0 { count } else { load.threads.min(count) };
            let pools: Vec<Threads> = (0..threads).map(|_| threads_of(draft)).collect();
            let word = if flow == Flow::Up { "up" } else { "down" };
            for number in 0..count {
                let thread = number % threads.max(1);
                let mut job = job::shape(load, self.course.medium, window);
                job.by_sender = by_sender;
                let name = format!("{stem}/{word}{}", number + 1);
                let threads = pools[usize::from(thread)];
                let (load, job) = self.stream(load, job, flow, threads, draft);
                let workload = workload.to_owned();
                streams.push(NetStream { load, name, workload, flow, number, thread, job });
            }
        }
        self.too_fast(stem, load, streams, draft);
    }

    /// Adds one stream as a load of the network.
    fn stream(
        &self,
        load: &Network,
        mut job: StreamJob,
        flow: Flow,
        threads: Threads,
        draft: &mut Draft,
    ) -> (crate::model::LoadId, StreamJob) {
        let turned = flow == Flow::Down;
        let [near, far] = self.prices;
        job::price(&mut job, load, if turned { [far, near] } else { [near, far] });
        let reading = self.coalesce[usize::from(!turned)];
        let interrupts = self.interrupts[usize::from(!turned)];
        let (course, prices) = (&self.course, self.prices);
        let trail = StreamPath { course, turned, threads, reading, interrupts, prices };
        let connects = matches!(load.carriage, Carriage::Connects { .. });
        let (route, floor) = trail.route(&job, connects, draft);
        job.floor = floor;
        let class = match turned {
            true => Class::read(job.bytes, route),
            false => Class::write(job.bytes, route),
        };
        let outstanding = match job.timed {
            true => 1,
            false => u32::try_from(job.window / u64::from(job.bytes)).unwrap_or(u32::MAX).max(1),
        };
        let load = match job.rate.filter(|_| !job.timed) {
            Some(rate) => {
                let gap = f64::from(job.bytes) / rate.max(1) as f64;
                let gap = Law::Constant(Ps::from_secs_f64(gap));
                Load::of(Source::Open { gap, limit: outstanding, shares: vec![1.0] }, vec![class])
            }
            None => Load::closed(outstanding, Law::ZERO, class),
        };
        (draft.load(load), job)
    }

    /// Adds a probe: a small request and its response, 1 ms after the one before.
    fn probe(&self, pair: &str, workload: &str, draft: &mut Draft) -> NetStream {
        let load = Network {
            carriage: Carriage::Exchange { response: PROBE_BYTES },
            message: PROBE_BYTES,
            ..Network::plain()
        };
        let job = job::shape(&load, self.course.medium, 1 << 16);
        let threads = threads_of(draft);
        let (id, job) = self.stream(&load, job, Flow::Up, threads, draft);
        if let Some(load) = draft.network().loads.get_mut(id.0 as usize)
            && let Source::Closed { think, .. } = &mut load.source
        {
            *think = Law::Constant(Ps::from_secs_f64(PROBE_PAUSE));
        }
        let (name, workload) = (format!("{pair}/{}", scenario::PROBE), workload.to_owned());
        NetStream { load: id, name, workload, flow: Flow::Up, number: 0, thread: 0, job }
    }

    /// Adds a note where datagrams would be lost.
    fn too_fast(&self, stem: &str, load: &Network, streams: &[NetStream], draft: &mut Draft) {
        let Some(rate) = load.rate.filter(|_| matches!(load.carriage, Carriage::Udp { .. })) else {
            return;
        };
        let Some(wire) = self.course.payload else { return };
        let count = streams.iter().filter(|s| s.flow == Flow::Up).count();
        let count = count.max(streams.iter().filter(|s| s.flow == Flow::Down).count());
        let share = streams.last().map_or(1.0, |stream| {
            let burden = job::burden(&stream.job, self.course.medium);
            let bytes = f64::from(stream.job.bytes);
            bytes / (bytes + burden.along)
        });
        let asked = rate as f64 * count as f64;
        if asked > wire * share {
            draft.note(format!(
                "{stem}: datagrams at {:.1} MB/s are more than the wire carries ({:.1} MB/s of them); a live run would lose the \
                 rest, and here they are held back at the sender",
                asked / 1e6,
                wire * share / 1e6
            ));
        }
    }
}

/// A thread at each end of a direction.
fn threads_of(draft: &mut Draft) -> Threads {
    let mut one = || -> PoolId { draft.network().pool(Pool { tokens: 1 }) };
    Threads { writing: one(), reading: one() }
}

/// Bytes in flight of a stream, and whether the send buffer limits them.
fn window(load: &Network, subject: &str, draft: &mut Draft) -> (u32, bool) {
    let (send, receive) = (load.sockets.send_buffer, load.sockets.receive_buffer);
    let given = send.into_iter().chain(receive).min();
    let asked = !load.is_transactions();
    let window = match asked {
        true => defaults::WINDOW.unless(given, subject, draft),
        false => given.unwrap_or(1 << 16),
    };
    (window.max(1), send.is_some() && send == given)
}

/// The packet costs of a host: its own figures, those of its adapter, or defaults.
fn prices((host, nic): &(Sheet, Sheet), name: &str, offload: bool, draft: &mut Draft) -> Prices {
    let time = |figure: &str| host.time(figure).or_else(|| nic.time(figure));
    let packet = match offload {
        true => defaults::PACKET_OFFLOAD.unless(time("cpu_per_packet_offload"), name, draft),
        false => defaults::PACKET.unless(time("cpu_per_packet"), name, draft),
    };
    let byte = host.per_byte("cpu_per_byte").or_else(|| nic.per_byte("cpu_per_byte"));
    Prices {
        message: defaults::MESSAGE.unless(time("cpu_per_message"), name, draft),
        packet,
        byte: defaults::TCP_BYTE.unless(byte, name, draft),
    }
}
