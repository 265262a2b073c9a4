//! The figures of the last second, for live display. They are not recorded: a review computes its own.

use clock::Ns;
use record::{Completed, Flow, Histogram, Interval, SourceId, StreamEnd, StreamLoad};
use std::collections::{BTreeMap, BTreeSet};

/// Recent rates of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RecentRates {
    /// All workers together; `None` where none has reported.
    pub disk: Option<DiskRates>,
    /// All network streams together; `None` where none has reported.
    pub net: Option<NetRates>,
    /// How far the copies of its job are; `None` where it has none that end.
    pub job: Option<JobRates>,
}

/// How far the loads of a step that end are, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JobRates {
    /// Bytes moved: written by copies; read, written, trimmed and zeroed by others.
    pub moved: u64,
    /// Bytes to be moved.
    pub amount: u64,
    /// Bytes moved per second.
    pub bytes_per_s: f64,
    /// Whether the step ends with it.
    pub ends_step: bool,
}

impl JobRates {
    /// Whether all is moved.
    pub fn is_done(&self) -> bool {
        self.moved >= self.amount
    }

    /// When it ends at this rate; `None` while nothing moves.
    pub fn remaining(&self) -> Option<Ns> {
        let left = self.amount.saturating_sub(self.moved) as f64;
        (self.bytes_per_s > 0.0).then(|| Ns((left / self.bytes_per_s * 1e9) as u64))
    }
}

/// Recent rates of all workers together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DiskRates {
    /// Reads and writes per second; operations per second of a load that only trims, zeroes or flushes.
    pub iops: f64,
    /// Bytes per second, both directions.
    pub bytes_per_s: f64,
    /// Failed operations.
    pub errors: u64,
    /// The median of response time; `None` where nothing completed.
    pub p50: Option<Ns>,
    /// The 99th percentile of response time; `None` where nothing completed.
    pub p99: Option<Ns>,
}

/// Recent rates of all network streams together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetRates {
    /// Bytes per second to receivers, as received there; `None` without such streams.
    pub up_bytes_per_s: Option<f64>,
    /// Bytes per second from receivers, as received here; `None` without such streams.
    pub down_bytes_per_s: Option<f64>,
    /// Transactions per second with the 99th percentile of their latency; `None` if there were none.
    pub transactions: Option<(f64, Ns)>,
    /// The 99th percentile of the probes' latency; `None` if there were none.
    pub probe_p99: Option<Ns>,
    /// Messages, datagrams or transactions that failed.
    pub errors: u64,
}

/// The role of a network source in the display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NetworkRole {
    /// The receiving end, whose bytes count.
    Received(Flow),
    /// The sending end, which may issue requests.
    Sent,
    Probe,
}

/// Gathers intervals until it is read.
#[derive(Default)]
pub struct RateMeter {
    parts: BTreeMap<SourceId, NetworkRole>,
    disk: Gathered,
    up: Gathered,
    down: Gathered,
    asked: Gathered,
    probe: Gathered,
    /// Workers that copy: of them what they write counts.
    copiers: BTreeSet<SourceId>,
    /// Workers that end, and after how many bytes.
    planned: BTreeMap<SourceId, u64>,
    moved: Gathered,
    job: JobRates,
}

#[derive(Default)]
struct Gathered {
    by_source: BTreeMap<SourceId, RateSum>,
    errors: u64,
    latency: Histogram,
}

#[derive(Default)]
struct RateSum {
    ops: u64,
    bytes: u64,
    covered: Ns,
}

impl RateMeter {
    /// A meter of a step with these streams and probes; all other sources are workers.
    pub fn new(streams: &[StreamLoad], probes: impl Iterator<Item = SourceId>) -> RateMeter {
        let part = |stream: &StreamLoad| match stream.end {
            StreamEnd::Received => (stream.source, NetworkRole::Received(stream.flow)),
            StreamEnd::Sent => (stream.source, NetworkRole::Sent),
        };
        let probes = probes.map(|source| (source, NetworkRole::Probe));
        RateMeter {
            parts: streams.iter().map(part).chain(probes).collect(),
            ..RateMeter::default()
        }
    }

    /// The same with a job: of these workers, which copy, what they write counts; the step may end with it.
    #[must_use]
    pub fn with_job(self, copiers: BTreeSet<SourceId>, ends_step: bool) -> RateMeter {
        RateMeter { copiers, job: JobRates { ends_step, ..JobRates::default() }, ..self }
    }

    /// These workers end after so many bytes: they are the job.
    pub fn plan(&mut self, planned: impl IntoIterator<Item = (SourceId, u64)>) {
        self.planned.extend(planned);
        self.job.amount = self.planned.values().fold(0, |all, bytes| all.saturating_add(*bytes));
    }

    /// Adds an interval of a source.
    pub fn add(&mut self, interval: &Interval) {
        let ends = self.planned.contains_key(&interval.source);
        match ends.then(|| self.copiers.contains(&interval.source)) {
            None => {}
            Some(true) => {
                let written = interval.write.as_ref().map_or(0, |done| done.bytes);
                self.job.moved = self.job.moved.saturating_add(written);
                self.moved.add(&Interval {
                    read: None,
                    others: Default::default(),
                    ..interval.clone()
                });
            }
            Some(false) => {
                let moved: u64 = interval.tallies().map(|done| done.bytes).sum();
                self.job.moved = self.job.moved.saturating_add(moved);
                self.moved.add(interval);
            }
        }
        match self.parts.get(&interval.source) {
            None => &mut self.disk,
            Some(NetworkRole::Received(Flow::Up)) => &mut self.up,
            Some(NetworkRole::Received(Flow::Down)) => &mut self.down,
            Some(NetworkRole::Sent) => &mut self.asked,
            Some(NetworkRole::Probe) => &mut self.probe,
        }
        .add(interval);
    }

    /// The figures since the last call; `None` without a new interval.
    pub fn take(&mut self) -> Option<RecentRates> {
        let (disk, net) = (self.take_disk(), self.take_net());
        if let Some((_, bytes_per_s)) = self.moved.take() {
            self.job.bytes_per_s = bytes_per_s;
        }
        let job = (self.job.amount > 0).then_some(self.job);
        (disk.is_some() || net.is_some()).then_some(RecentRates { disk, net, job })
    }

    fn take_disk(&mut self) -> Option<DiskRates> {
        let p50 = self.disk.latency.percentile(50.0);
        let (errors, p99) = (std::mem::take(&mut self.disk.errors), self.disk.p99());
        let (iops, bytes_per_s) = self.disk.take()?;
        Some(DiskRates { iops, bytes_per_s, errors, p50, p99 })
    }

    fn take_net(&mut self) -> Option<NetRates> {
        let ends = [&mut self.up, &mut self.down, &mut self.asked, &mut self.probe];
        let errors = ends.into_iter().map(|end| std::mem::take(&mut end.errors)).sum();
        let (asked, probe_p99) = (self.asked.p99(), self.probe.p99());
        let [up, down, sent, probe] =
            [&mut self.up, &mut self.down, &mut self.asked, &mut self.probe].map(Gathered::take);
        let any = [up, down, sent, probe].iter().any(Option::is_some);
        any.then(|| NetRates {
            up_bytes_per_s: up.map(|(_, bytes)| bytes),
            down_bytes_per_s: down.map(|(_, bytes)| bytes),
            transactions: sent.zip(asked).map(|((ops, _), p99)| (ops, p99)),
            probe_p99,
            errors,
        })
    }
}

impl Gathered {
    fn add(&mut self, interval: &Interval) {
        let sum = self.by_source.entry(interval.source).or_default();
        sum.covered = sum.covered.plus(interval.to.since(interval.from));
        for tally in interval.work() {
            let Completed { ops, bytes, errors, .. } = tally;
            sum.ops = sum.ops.saturating_add(*ops);
            sum.bytes = sum.bytes.saturating_add(*bytes);
            self.errors = self.errors.saturating_add(*errors);
            self.latency.merge(tally.response());
        }
    }

    /// The 99th percentile since the last look.
    fn p99(&mut self) -> Option<Ns> {
        let p99 = self.latency.percentile(99.0);
        self.latency.clear();
        p99
    }

    /// Operations and bytes a second since the last look; `None` where no interval has come.
    fn take(&mut self) -> Option<(f64, f64)> {
        if self.by_source.is_empty() {
            return None;
        }
        let (mut ops, mut bytes) = (0.0, 0.0);
        // Each source by its own time: intervals of one cut need not arrive between the same two looks.
        for sum in std::mem::take(&mut self.by_source).into_values() {
            let seconds = sum.covered.as_secs_f64();
            if seconds > 0.0 {
                ops += sum.ops as f64 / seconds;
                bytes += sum.bytes as f64 / seconds;
            }
        }
        Some((ops, bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Phase;

    fn interval(source: u32, read: Option<Completed>, write: Option<Completed>) -> Interval {
        let (from, to) = (Ns::secs(1), Ns::millis(1500));
        let source = SourceId(source);
        let phase = Phase::Measure;
        Interval {
            others: Default::default(),
            source,
            step: 0,
            phase,
            from,
            to,
            read,
            write,
            testimony: None,
        }
    }

    fn moved(ops: u64, times: &[u64]) -> Option<Completed> {
        let mut tally = Completed::empty(false);
        times.iter().for_each(|us| tally.success(100, Ns(us * 1000), Ns(us * 1000)));
        Some(Completed { ops, bytes: ops * 100, ..tally })
    }

    #[test]
    fn bytes_of_streams_count_where_they_were_received() {
        let end = |id, flow, end| {
            let (source, hop) = (SourceId(id), SourceId(9));
            StreamLoad { source, workload: "w".into(), hop, flow, end, number: 0 }
        };
        let streams = [
            end(0, Flow::Up, StreamEnd::Sent),
            end(1, Flow::Up, StreamEnd::Received),
            end(2, Flow::Down, StreamEnd::Sent),
            end(3, Flow::Down, StreamEnd::Received),
        ];
        let mut meter = RateMeter::new(&streams, [SourceId(4)].into_iter());
        assert_eq!(meter.take(), None);
        meter.add(&interval(0, None, moved(500, &[])));
        meter.add(&interval(1, moved(100, &[]), None));
        meter.add(&interval(3, moved(7, &[]), None));
        meter.add(&interval(4, None, moved(1, &[60])));
        let rates = meter.take().expect("they reported");
        let net = rates.net.expect("streams reported");
        assert_eq!((net.up_bytes_per_s, net.down_bytes_per_s), (Some(20_000.0), Some(1400.0)));
        assert_eq!((net.transactions, rates.disk), (None, None));
        assert!(net.probe_p99.is_some());
        assert_eq!(meter.take(), None, "it was taken");
    }

    #[test]
    fn a_load_of_trims_alone_has_a_rate_and_flushes_between_writes_do_not_count() {
        let mut meter = RateMeter::new(&[], [].into_iter());
        let trims = Interval { others: [moved(50, &[10]), None, None], ..interval(0, None, None) };
        meter.add(&trims);
        let disk = meter.take().and_then(|rates| rates.disk).expect("it reported");
        assert_eq!((disk.iops, disk.bytes_per_s), (100.0, 10_000.0));
        assert!(disk.p99.is_some());
        let flushed = Interval {
            others: [None, None, moved(50, &[1000])],
            ..interval(0, None, moved(7, &[10]))
        };
        meter.add(&flushed);
        let disk = meter.take().and_then(|rates| rates.disk).expect("it reported");
        assert_eq!(disk.iops, 14.0);
    }

    /// Two copiers at 20 kB/s each (10 kB in half a second); a worker of the same step is no part of the job.
    #[test]
    fn a_job_is_as_far_as_its_copiers_have_written() {
        let mut meter = RateMeter::new(&[], [].into_iter());
        meter.add(&interval(0, moved(100, &[5]), moved(100, &[5])));
        assert_eq!(meter.take().and_then(|rates| rates.job), None);
        let mut meter = meter.with_job([0, 1].map(SourceId).into(), true);
        meter.plan([(SourceId(0), 60_000)]);
        meter.plan([(SourceId(1), 40_000)]);
        for source in [0, 1, 2] {
            meter.add(&interval(source, moved(300, &[5]), moved(100, &[5])));
        }
        let job = meter.take().and_then(|rates| rates.job).expect("a job");
        assert_eq!((job.moved, job.amount, job.bytes_per_s), (20_000, 100_000, 40_000.0));
        assert!(job.ends_step);
        assert_eq!(job.remaining(), Some(Ns::secs(2)));
        assert_eq!(JobRates { bytes_per_s: 0.0, ..job }.remaining(), None);
    }

    #[test]
    fn workers_and_transactions_are_apart() {
        let (source, hop) = (SourceId(0), SourceId(9));
        let (flow, end) = (Flow::Up, StreamEnd::Sent);
        let asks = StreamLoad { source, workload: "w".into(), hop, flow, end, number: 0 };
        let mut meter = RateMeter::new(&[asks], std::iter::empty());
        let failed = moved(2, &[10, 20]).map(|tally| Completed { errors: 3, ..tally });
        meter.add(&interval(0, None, failed));
        meter.add(&interval(7, moved(50, &[5]), None));
        let rates = meter.take().expect("they reported");
        let (net, disk) = (rates.net.expect("a stream"), rates.disk.expect("a worker"));
        assert_eq!((net.transactions.map(|(ops, _)| ops), net.errors), (Some(4.0), 3));
        assert_eq!((disk.iops, disk.bytes_per_s, disk.errors), (100.0, 10_000.0, 0));
    }
}
