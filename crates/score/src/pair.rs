//! Figures of a network load, read off an estimate: the streams of a pair of machines, the CPU of each machine, and the
//! latency of its probe. The same figures that `findings` reads off a record, as far as means provide them.

use crate::figure::{NoElasticity, deviation, latency};
use scenario::{Metric, PROBE, RECEIVER, SENDER};
use sim::estimate::{DirectionRates, HopEstimate, IssuerEstimate};
use sim::plant;

/// The estimated traffic of a pair of machines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairEstimate {
    /// Payload of each stream in bytes a second: first those from the receiver, then those to it.
    streams: [Vec<f64>; 2],
    /// Messages a second, both ways.
    messages: f64,
    /// CPU utilization of the sender and of the receiver, over all cores.
    busy: [f64; 2],
    /// Requests with responses: of the loads, and of the probe.
    asked: [DirectionRates; 2],
}

impl PairEstimate {
    /// The traffic of a pair, from the estimates of its streams in order.
    pub fn of<'a>(
        pair: &plant::MachinePair,
        streams: &mut impl Iterator<Item = &'a IssuerEstimate>,
        hops: &[HopEstimate],
    ) -> PairEstimate {
        let busy =
            |machine: &plant::EndMachine| hops.get(machine.processors).map(|of| of.utilization);
        let mut out = PairEstimate {
            busy: [0, 1].map(|n| busy(&pair.machines[n]).unwrap_or(0.0)),
            ..PairEstimate::default()
        };
        for (number, (stream, of)) in pair.all().zip(streams).enumerate() {
            let jobs = of.flows.iter().map(|flow| flow.ops).sum::<f64>();
            let bytes = jobs * f64::from(stream.job.bytes);
            let asked = DirectionRates { ops: jobs, bytes, time: of.service * jobs };
            if number >= pair.streams.len() {
                out.asked[1] = asked;
                continue;
            }
            out.streams[usize::from(stream.is_up())].push(bytes);
            if stream.job.timed {
                out.messages += jobs;
                out.asked[0].ops += asked.ops;
                out.asked[0].time += asked.time;
            } else {
                out.messages += bytes / f64::from(stream.job.message.max(1));
            }
        }
        out
    }

    /// A metric of the pair, or of the `part` of it that the hop's name has after the pair's.
    pub fn read(&self, part: Option<&str>, metric: &Metric) -> Result<f64, NoElasticity> {
        match (part, metric) {
            (Some(SENDER), Metric::Cpu) => Ok(self.busy[0]),
            (Some(RECEIVER), Metric::Cpu) => Ok(self.busy[1]),
            (Some(PROBE), Metric::Iops) => Ok(self.asked[1].ops),
            (Some(PROBE), Metric::Latency { .. }) => latency(&self.asked[1]),
            (None, Metric::ReadRate) => Ok(self.streams[0].iter().sum()),
            (None, Metric::WriteRate) => Ok(self.streams[1].iter().sum()),
            (None, Metric::TotalRate) => Ok(self.streams.iter().flatten().sum()),
            (None, Metric::Iops) => Ok(self.messages),
            (None, Metric::Latency { .. }) => latency(&self.asked[0]),
            (_, Metric::Errors) => Err(NoElasticity::Errors),
            _ => Err(NoElasticity::Metric),
        }
    }

    /// The greatest deviation of a stream from the mean of its direction, as a share of that mean.
    pub fn imbalance(&self) -> Result<f64, NoElasticity> {
        let several = self.streams.iter().filter(|streams| streams.len() > 1);
        several
            .filter_map(|streams| deviation(streams))
            .reduce(f64::max)
            .ok_or(NoElasticity::Metric)
    }
}
