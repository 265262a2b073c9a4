//! What an estimate says of a network load: a pair of machines by its streams, each of its machines by its processors, and
//! its probe by its times. The same figures that findings read off a record, as far as means have them.

use crate::figure::{Lack, deviation, latency};
use scenario::{Metric, PROBE, RECEIVER, SENDER};
use sim::estimate::{Flow, HopEstimate, IssuerEstimate};
use sim::plant;

/// What an estimated pair carries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pair {
    /// Payload of each stream in bytes a second: those that come from the receiver, then those that go to it.
    streams: [Vec<f64>; 2],
    /// Messages a second, both ways.
    messages: f64,
    /// Shares of all their processors that the machines are busy: the sender's and the receiver's.
    busy: [f64; 2],
    /// Requests whose answers are waited for: of the loads, and of the probe.
    asked: [Flow; 2],
}

impl Pair {
    /// Of a pair and the estimates of its streams, in its order.
    pub fn of<'a>(
        pair: &plant::Pair,
        streams: &mut impl Iterator<Item = &'a IssuerEstimate>,
        hops: &[HopEstimate],
    ) -> Pair {
        let busy = |machine: &plant::Machine| hops.get(machine.processors).map(|of| of.utilization);
        let mut out = Pair {
            busy: [0, 1].map(|n| busy(&pair.machines[n]).unwrap_or(0.0)),
            ..Pair::default()
        };
        for (number, (stream, of)) in pair.all().zip(streams).enumerate() {
            let jobs = of.flows.iter().map(|flow| flow.ops).sum::<f64>();
            let bytes = jobs * f64::from(stream.job.bytes);
            let asked = Flow { ops: jobs, bytes, time: of.service * jobs };
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

    /// A metric of the pair, or of the `part` of it that a hop's name has behind the pair's.
    pub fn read(&self, part: Option<&str>, metric: &Metric) -> Result<f64, Lack> {
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
            (_, Metric::Errors) => Err(Lack::Errors),
            _ => Err(Lack::Metric),
        }
    }

    /// How far the stream that is furthest from the mean of those that go its way is from it, as a share of it.
    pub fn imbalance(&self) -> Result<f64, Lack> {
        let several = self.streams.iter().filter(|streams| streams.len() > 1);
        several.filter_map(|streams| deviation(streams)).reduce(f64::max).ok_or(Lack::Metric)
    }
}
