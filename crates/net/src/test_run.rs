//! The phases and intervals of a test at one end. Workers cut their own counts ([`Cutter`](crate::plane::Cutter)); here the
//! pages are collected a fixed time after each cut, together with the kernel's figures of sockets and the host, so differences
//! between two cuts cover exactly the time between them.

use crate::figures::{EndFigures, EndStop, StreamFigures};
use crate::grid::{Grid, GridCut};
use crate::host;
use crate::ledger::StreamLedger;
use crate::report::{SideReport, StreamReport, ThreadReport};
use crate::sys::TcpInfo;
use crate::team::StreamTeam;
use crate::test_stream::{SocketSample, TestStream};
use crate::{NetError, plane};
use clock::Ns;
use engine::{OwnStop, OwnStops};
use std::collections::VecDeque;

/// Delay from a cut to its collection; a running thread has delivered its pages by then.
const LAG: Ns = Ns::millis(2);
/// Most cuts that wait for a blocked thread's page; beyond, they are reported without it.
const WAITING_MAX: usize = 64;

/// Whether a test goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It goes on.
    On,
    /// It ends here, in order.
    Stop,
}

/// Serves the control connection during a test, and takes every interval.
pub(crate) trait IntervalSink {
    /// Serves the connection until a moment, or until the test is stopped.
    /// # Errors
    /// Where the test cannot go on.
    fn until(&mut self, at: Ns) -> Result<Decision, NetError>;

    /// An interval has been counted.
    /// # Errors
    /// Where the test cannot go on.
    fn cut(&mut self, figures: EndFigures) -> Result<(), NetError>;

    /// Notices when this process did not run. Asked by the thread that serves the connection.
    fn watch(&mut self) -> &mut StopWatch;
}

/// Notices stops of this process on a thread that means to wake several times a second.
pub(crate) struct StopWatch {
    stops: OwnStops,
    woke: Ns,
    found: Vec<OwnStop>,
}

impl StopWatch {
    /// The longest time between two wakings.
    pub const TICK: Ns = Ns::millis(100);

    pub fn begin() -> StopWatch {
        StopWatch { stops: OwnStops::begin(), woke: clock::now(), found: Vec::new() }
    }

    /// The thread has just woken.
    pub fn woke(&mut self) {
        let now = clock::now();
        let due = std::mem::replace(&mut self.woke, now).plus(StopWatch::TICK);
        self.found.extend(self.stops.woke(due, now));
    }

    /// What was noticed since the last time, since `start`.
    fn take(&mut self, start: Ns) -> Vec<EndStop> {
        let stop = |stop: OwnStop| EndStop {
            from: stop.from.since(start),
            to: stop.to.since(start),
            lasted: stop.lasted,
            why: stop.why().to_owned(),
        };
        self.found.drain(..).filter(|stop| stop.to > start).map(stop).collect()
    }
}

/// What one end counts while a test runs.
pub(crate) struct TestRun {
    grid: Grid,
    ledgers: Vec<StreamLedger>,
    sampler: host::HostSampler,
    /// As they were at the cut before.
    tcp: Vec<Option<TcpInfo>>,
    machine: host::HostSample,
    /// Cuts that have passed and are not reported yet.
    waiting: VecDeque<EndFigures>,
    /// Both edges of the measured time.
    edges: [Option<Edge>; 2],
    /// When the last cut was.
    to: Ns,
}

struct Edge {
    at: Ns,
    lines: Vec<SocketSample>,
    machine: host::HostSample,
}

impl TestRun {
    /// Runs the team through all phases of `grid`; signals its writers to stop at the end.
    pub(crate) fn conduct(
        team: &mut StreamTeam,
        grid: Grid,
        watch: &mut dyn IntervalSink,
    ) -> Result<TestRun, NetError> {
        team.start(grid);
        let waited = watch.until(grid.start())?;
        let threads: Vec<i32> = team.members.iter().map(|member| member.id).collect();
        let mut sampler = host::HostSampler::new(&threads);
        let mut course = TestRun {
            grid,
            ledgers: std::mem::take(&mut team.readers).into_iter().map(StreamLedger::new).collect(),
            tcp: team.lines.iter().map(TestStream::tcp).collect(),
            machine: sampler.sample(),
            sampler,
            waiting: VecDeque::new(),
            edges: [None, None],
            to: Ns::ZERO,
        };
        if waited == Decision::On {
            course.pass(team, watch)?;
        }
        team.signals.stop();
        Ok(course)
    }

    fn pass(&mut self, team: &StreamTeam, watch: &mut dyn IntervalSink) -> Result<(), NetError> {
        let start = self.grid.start();
        self.edge(Ns::ZERO, team);
        for cut in self.grid.cuts() {
            let going = watch.until(start.plus(cut.to).plus(LAG))?;
            let now = clock::now().since(start);
            let cut = GridCut { to: cut.to.min(now), ..cut };
            self.close(cut, team, watch.watch().take(start));
            self.tell(team, false, watch)?;
            if going == Decision::Stop {
                // A measured time that was begun ends here.
                if self.edges[0].is_some() && self.edges[1].is_none() {
                    self.edges[1] = Some(self.look(cut.to, team));
                }
                break;
            }
        }
        Ok(())
    }

    /// Collects what is available at once for a cut.
    fn close(&mut self, cut: GridCut, team: &StreamTeam, stops: Vec<EndStop>) {
        let machine = self.sampler.sample();
        let mut streams = Vec::with_capacity(team.lines.len());
        for (line, before) in team.lines.iter().zip(&mut self.tcp) {
            let now = line.tcp();
            let grown = |of: fn(&TcpInfo) -> u32| match (&now, &*before) {
                (Some(now), Some(before)) => u64::from(of(now).wrapping_sub(of(before))),
                _ => 0,
            };
            let packets = match line.writes {
                true => grown(|tcp| tcp.data_segments_out),
                false => grown(|tcp| tcp.data_segments_in),
            };
            let retransmits = grown(|tcp| tcp.retransmits);
            streams.push(StreamFigures { packets, retransmits, ..StreamFigures::default() });
            *before = now;
        }
        let GridCut { index, phase, from, to } = cut;
        let spent = machine.since(&self.machine);
        self.machine = machine;
        let (probe, machine) = (None, spent);
        let figures = EndFigures { index, phase, from, to, streams, probe, machine, stops };
        self.waiting.push_back(figures);
        self.to = to;
        self.edge(to, team);
    }

    /// Samples everything if a cut is an edge of the measured time.
    fn edge(&mut self, at: Ns, team: &StreamTeam) {
        let (from, to) = self.grid.measured();
        if at == from && self.edges[0].is_none() {
            self.edges[0] = Some(self.look(at, team));
        } else if at == to && self.edges[1].is_none() {
            self.edges[1] = Some(self.look(at, team));
        }
    }

    fn look(&self, at: Ns, team: &StreamTeam) -> Edge {
        let lines = team.lines.iter().map(TestStream::sample).collect();
        Edge { at, lines, machine: self.machine.clone() }
    }

    /// Reports the complete cuts; with `over` all of them, since the threads have ended.
    fn tell(
        &mut self,
        team: &StreamTeam,
        over: bool,
        watch: &mut dyn IntervalSink,
    ) -> Result<(), NetError> {
        let over = over || self.waiting.len() > WAITING_MAX;
        for figures in &mut self.waiting {
            let each = self.ledgers.iter_mut().zip(&team.lines).zip(&mut figures.streams);
            for ((ledger, line), stream) in each {
                ledger.settle(figures.index, figures.phase, line, over, stream);
            }
        }
        let settled = self.ledgers.iter().map(StreamLedger::settled).min().unwrap_or(u32::MAX);
        while let Some(mut figures) = self.waiting.pop_front_if(|figures| figures.index < settled) {
            figures.probe = apart(team, &mut figures.streams);
            watch.cut(figures)?;
        }
        Ok(())
    }

    /// This end's report once all its threads have ended with `ends`; reports the cuts that waited for them.
    pub(crate) fn finish(
        mut self,
        team: &StreamTeam,
        mut ends: Vec<(usize, plane::StreamResult)>,
        watch: &mut dyn IntervalSink,
    ) -> Result<SideReport, NetError> {
        for (index, end) in &mut ends {
            if let (Some(ledger), Some(times)) = (self.ledgers.get_mut(*index), end.times.take()) {
                ledger.rest(*times);
            }
        }
        self.tell(team, true, watch)?;
        let mut streams = self.streams(team, ends);
        let probe = apart(team, &mut streams);
        let (host, kernel) = host::names();
        let [before, after] = &self.edges;
        let both = before.as_ref().zip(after.as_ref());
        let threads = (0..).zip(&team.members).map(|(index, member)| ThreadReport {
            name: member.name.clone(),
            cpu: member.cpu,
            used: both.and_then(|(b, a)| a.machine.thread_since(&b.machine, index)),
        });
        let machine = both.map(|(before, after)| after.machine.since(&before.machine));
        let machine = machine.unwrap_or_default();
        Ok(SideReport { host, kernel, threads: threads.collect(), streams, probe, machine })
    }

    fn streams(
        &self,
        team: &StreamTeam,
        ends: Vec<(usize, plane::StreamResult)>,
    ) -> Vec<StreamReport> {
        let [before, after] = &self.edges;
        let (from, to) = match (before, after) {
            (Some(before), Some(after)) => (before.at, after.at),
            _ => (self.to, self.to),
        };
        let look = |edge: &Option<Edge>, index: usize| {
            edge.as_ref().map_or_else(SocketSample::default, |edge| edge.lines[index])
        };
        let of = |(index, (line, ledger)): (usize, (&TestStream, &StreamLedger))| StreamReport {
            from,
            to,
            measured: ledger.measured(),
            latency: ledger.latency(),
            ..line.report(&look(before, index), &look(after, index))
        };
        let mut streams: Vec<StreamReport> =
            team.lines.iter().zip(&self.ledgers).enumerate().map(of).collect();
        for (index, end) in ends {
            let stream = &mut streams[index];
            stream.datagrams = end.sent;
            stream.tally = end.tally;
            stream.error = end.error.map(|e| e.to_string());
        }
        streams
    }
}

/// Moves the probe's figures out of those of all streams. The answering end has none.
fn apart<T>(team: &StreamTeam, each: &mut Vec<T>) -> Option<T> {
    let line = team.lines.last().filter(|line| line.probe)?;
    each.pop().filter(|_| line.writes)
}
