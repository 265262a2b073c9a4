//! The course of a test at one end: its phases and intervals. The workers only count; here the counters are read, each with
//! the moment at which it was read, so that no figure depends on how punctually this thread wakes.

use crate::host;
use crate::line::Look;
use crate::plane;
use crate::report::{Counts, Interval, Phase, SideReport, StreamReport, ThreadReport};
use crate::team::Team;
use crate::{NetError, Spec};
use clock::Ns;

/// Who goes along with a test: holds the control connection meanwhile, and hears of every interval.
pub(crate) trait Watch {
    /// Minds other things until a moment.
    ///
    /// # Errors
    /// Where the test shall end early.
    fn until(&mut self, at: Ns) -> Result<(), NetError>;

    /// An interval has been counted.
    ///
    /// # Errors
    /// Where the test shall end early.
    fn cut(&mut self, interval: &Interval) -> Result<(), NetError>;
}

/// What was seen at the two edges of the measured time.
pub(crate) struct Measured {
    start: Ns,
    before: Edge,
    after: Edge,
}

struct Edge {
    lines: Vec<Look>,
    machine: host::Look,
}

/// What the counters stood at when an interval began.
struct Mark {
    at: Ns,
    written: Counts,
    read: Counts,
    retransmits: u64,
    cpu: Ns,
}

/// Lets the team work from `start` on through all phases. Its writers are told to stop at the end.
pub(crate) fn conduct(
    team: &mut Team,
    spec: &Spec,
    start: Ns,
    watch: &mut dyn Watch,
) -> Result<Measured, NetError> {
    team.signals.enter(plane::Phase::Warmup);
    team.start(start);
    watch.until(start)?;
    let mut mark = Mark::take(team);
    let mut gauge = gauge(team);
    let measure = start.plus(spec.warmup);
    let cooldown = measure.plus(spec.measure);
    pass(team, spec, Phase::Warmup, (start, measure), start, &mut mark, watch)?;
    team.signals.enter(plane::Phase::Measured);
    let before = Edge::look(team, &mut gauge);
    pass(team, spec, Phase::Measured, (measure, cooldown), start, &mut mark, watch)?;
    team.signals.enter(plane::Phase::Cooldown);
    let after = Edge::look(team, &mut gauge);
    let end = cooldown.plus(spec.cooldown);
    pass(team, spec, Phase::Cooldown, (cooldown, end), start, &mut mark, watch)?;
    team.signals.stop();
    Ok(Measured { start, before, after })
}

/// One phase, cut into its intervals.
fn pass(
    team: &Team,
    spec: &Spec,
    phase: Phase,
    (from, to): (Ns, Ns),
    start: Ns,
    mark: &mut Mark,
    watch: &mut dyn Watch,
) -> Result<(), NetError> {
    let mut next = from;
    while next < to {
        next = next.plus(spec.interval).min(to);
        watch.until(next)?;
        let now = Mark::take(team);
        let interval = now.since(mark, phase, start);
        *mark = now;
        watch.cut(&interval)?;
    }
    Ok(())
}

impl Mark {
    fn take(team: &Team) -> Mark {
        let sum = |writes| {
            let mine = team.lines.iter().filter(|line| line.writes == writes);
            mine.fold(Counts::default(), |sum, line| sum.plus(line.counts()))
        };
        let cpu = clock::process_cpu();
        Mark {
            at: clock::now(),
            written: sum(true),
            read: sum(false),
            retransmits: team
                .lines
                .iter()
                .filter_map(|line| line.tcp())
                .map(|tcp| u64::from(tcp.retransmits))
                .sum(),
            cpu: cpu.user.plus(cpu.system),
        }
    }

    fn since(&self, before: &Mark, phase: Phase, start: Ns) -> Interval {
        Interval {
            phase,
            from: before.at.since(start),
            to: self.at.since(start),
            written: self.written.since(before.written),
            read: self.read.since(before.read),
            retransmits: self.retransmits.saturating_sub(before.retransmits),
            cpu: self.cpu.since(before.cpu),
        }
    }
}

/// What watches the machine while the team works.
fn gauge(team: &Team) -> host::Gauge {
    let threads: Vec<i32> = team.members.iter().map(|member| member.id).collect();
    host::Gauge::new(&threads)
}

impl Edge {
    fn look(team: &Team, gauge: &mut host::Gauge) -> Edge {
        let lines = team.lines.iter().map(|line| line.look()).collect();
        Edge { lines, machine: gauge.look() }
    }
}

impl Measured {
    /// What this end has to report, once all its threads have ended; `ends` are what they ended in.
    pub(crate) fn report(&self, team: &Team, ends: Vec<(usize, plane::End)>) -> SideReport {
        let mut streams: Vec<StreamReport> = team
            .lines
            .iter()
            .zip(self.before.lines.iter().zip(&self.after.lines))
            .map(|(line, (before, after))| line.report(self.start, before, after))
            .collect();
        for (index, end) in ends {
            let stream = &mut streams[index];
            stream.datagrams = end.sent;
            stream.tally = end.tally;
            stream.latency = end.latency;
            stream.error = end.error.map(|e| e.to_string());
        }
        let (before, after) = (&self.before.machine, &self.after.machine);
        let threads = (0..).zip(&team.members).map(|(index, member)| ThreadReport {
            name: member.name.clone(),
            cpu: member.cpu,
            used: after.thread_since(before, index),
        });
        let (host, kernel) = host::names();
        SideReport {
            host,
            kernel,
            threads: threads.collect(),
            streams,
            machine: after.since(before),
        }
    }
}
