//! The route of a job: through the thread and the processors of the sending end, over all wires at once, through those
//! of the receiving end, and back as an acknowledgment or a response.

use super::job::{self, Prices};
use crate::Ps;
use crate::lab::draft::{Draft, Wire};
use crate::lab::front::{NetPath, visit, work};
use crate::model::{Hop, Law, PoolId, Station, StationId};
use crate::plant::StreamJob;

/// The threads of a stream.
#[derive(Clone, Copy)]
pub struct Threads {
    pub writing: PoolId,
    pub reading: PoolId,
}

/// The path of a stream.
pub struct StreamPath<'a> {
    pub course: &'a NetPath,
    /// It goes from the receiver to the sender.
    pub turned: bool,
    pub threads: Threads,
    /// Interrupt coalescing at the receiving adapter: packets, and how long the first waits.
    pub reading: Option<(u32, f64)>,
    /// The cores of the receiving adapter that handle what it receives.
    pub interrupts: Option<PoolId>,
    /// Of the sending host, and of the receiving host.
    pub prices: [Prices; 2],
}

impl StreamPath<'_> {
    /// The route of a job, and its latency without queueing.
    pub fn route(&self, job: &StreamJob, connects: bool, draft: &mut Draft) -> (Vec<Hop>, f64) {
        let burden = job::burden(job, self.course.medium);
        let scale = self.course.scale;
        let units = |bytes: f64| (bytes * scale).round() as u32;
        let (there, back) = match self.turned {
            true => (&self.course.down, &self.course.up),
            false => (&self.course.up, &self.course.down),
        };
        let along: Vec<Wire> = there.iter().chain(&self.course.both).copied().collect();
        // A response is data as well, and crosses the wires that both directions share.
        let against: Vec<Wire> = match job.timed {
            true => back.iter().chain(&self.course.both).copied().collect(),
            false => back.clone(),
        };
        let mut over = self.delays();
        over.extend(draft.cross(&along, scale, units(burden.along)));
        over.extend(self.interrupt(job, draft));
        let mut home = self.delays();
        home.extend(draft.cross(&against, 0.0, units(burden.against)));
        let over = self.living(over);
        let home = self.living(home);
        let (thread, bytes) = (job.thread, f64::from(job.bytes));
        let halves = if job.timed { 0.5 } else { 1.0 };
        let mut route = Vec::new();
        if connects {
            route.extend(self.delays());
            route.extend(self.delays());
        }
        self.serve(0, thread[0] * halves, &mut route);
        self.by_host(0, job, &mut route);
        route.extend(over);
        self.by_host(1, job, &mut route);
        let received = self.receive(job, &mut route);
        self.serve(1, thread[1] - received, &mut route);
        route.extend(home);
        if job.timed {
            self.serve(0, thread[0] * halves, &mut route);
        }
        let trips = if connects { 4.0 } else { 2.0 };
        let one_way: f64 = self.course.delays.iter().map(|(_, seconds)| seconds).sum();
        let wire = |amount: f64| self.course.payload.map_or(0.0, |rate| amount / rate);
        let floor = thread[0]
            + thread[1]
            + trips * one_way
            + wire(bytes + burden.along)
            + wire(burden.against);
        (route, floor)
    }

    /// A thread's work, on one core, at the sending end (0) or at the other.
    fn serve(&self, end: usize, seconds: f64, route: &mut Vec<Hop>) {
        let pool = if end == 0 { self.threads.writing } else { self.threads.reading };
        let station = self.processors(end);
        route.push(Hop::Take { pool, tokens: 1 });
        route.push(work(station, seconds, 0.0));
        route.push(Hop::Give { pool, tokens: 1 });
    }

    /// The packets of a job at the receiving end, where some cores handle those of all streams: their seconds, which
    /// its thread is spared.
    fn receive(&self, job: &StreamJob, route: &mut Vec<Hop>) -> f64 {
        let Some(pool) = self.interrupts else { return 0.0 };
        let seconds = job.packet_time[1];
        route.push(Hop::Take { pool, tokens: 1 });
        route.push(work(self.processors(1), seconds, 0.0));
        route.push(Hop::Give { pool, tokens: 1 });
        seconds
    }

    /// The processors of the thread at an end: the VM's, where a VM sends.
    fn processors(&self, end: usize) -> StationId {
        let machine = usize::from((end == 1) != self.turned);
        match (machine, self.course.guest) {
            (0, Some((_, station, _))) => station,
            _ => self.course.ends[machine].processors.1,
        }
    }

    /// The work of a VM's host: each packet again, and one copy.
    fn by_host(&self, end: usize, job: &StreamJob, route: &mut Vec<Hop>) {
        let machine = usize::from((end == 1) != self.turned);
        if machine == 0 && self.course.guest.is_some() {
            let Prices { packet, byte, .. } = self.prices[0];
            let seconds = job.packets * packet + f64::from(job.bytes) * byte;
            route.push(work(self.course.ends[0].processors.1, seconds, 0.0));
        }
    }

    fn delays(&self) -> Vec<Hop> {
        let delays = self.course.delays.iter().filter(|(_, seconds)| *seconds > 0.0);
        delays.map(|(station, seconds)| visit(*station, *seconds, 0.0)).collect()
    }

    /// Jobs of one interrupt continue together.
    fn interrupt(&self, job: &StreamJob, draft: &mut Draft) -> Option<Hop> {
        let (packets, within) = self.reading?;
        let count = (f64::from(packets) / job.packets.max(1e-9)).ceil() as u32;
        if count < 2 {
            return None;
        }
        let within = Ps::from_secs_f64(within);
        let station = draft.network().station(Station::Batch { count, within });
        Some(Hop::visit(station, Law::ZERO))
    }

    /// If something on the path may fail, I/Os in flight fail with it.
    fn living(&self, hops: Vec<Hop>) -> Vec<Hop> {
        match self.course.selector {
            Some(selector) => vec![Hop::Branch { selector, arms: vec![hops] }],
            None => hops,
        }
    }
}
