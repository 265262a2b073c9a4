//! What went through the ports of embedded arrays in a step, against what they can carry.
//!
//! A port is full duplex: each direction has the whole speed, so that each has a share of its own. The speed is the payload
//! rate of the standard that the scenario names, times the array's `scale`; faults lower its mean over the measured time.

use crate::counters::CounterReading;
use crate::step::StepData;
use crate::wires::PortTraffic;
use clock::Ns;
use record::CounterId;
use serde::Serialize;

/// From this share of its speed in a direction a port is saturated: pacing leaves only gaps of an idle host.
pub const SATURATED_FROM: f64 = 0.95;

/// One port in one step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PortLoad {
    /// The hop, `ARRAY.PORT`.
    pub port: String,
    /// How the scenario calls its speed; `None`: as fast as it goes.
    pub rate_name: Option<String>,
    /// That speed before scaling, in bytes a second and direction.
    pub nominal_bytes_per_s: Option<f64>,
    /// What the array's speeds are multiplied by, 0 to 1.
    pub scale: f64,
    /// What it could carry in each direction: its scaled speed, as a mean over the measured time where faults changed it.
    pub rate_bytes_per_s: Option<f64>,
    /// How fast it is from which moment of the measured time on; faults make more than one.
    pub course: Vec<PortSpeed>,
    /// Data read through it.
    pub read: Option<PortFlow>,
    /// Data written through it.
    pub write: Option<PortFlow>,
    /// Mean number of commands under way at the moments at which it was looked at.
    pub queue: Option<f64>,
    /// Whether either direction was full.
    pub saturated: bool,
}

/// The speed of a port from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PortSpeed {
    /// Since the beginning of the measured time.
    pub from_ns: u64,
    /// Bytes a second and direction: zero while it is away or answers BUSY, `None` where it is as fast as it goes.
    pub bytes_per_s: Option<f64>,
}

/// One direction of a port.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PortFlow {
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// The same as a share of what the port could carry.
    pub share: Option<f64>,
}

impl PortLoad {
    /// The share of the fuller direction.
    pub fn fullest(&self) -> Option<f64> {
        let shares = [self.read, self.write].into_iter().flatten().filter_map(|flow| flow.share);
        shares.max_by(f64::total_cmp)
    }
}

/// The ports of a step that counted.
pub(crate) fn loads(step: &StepData) -> Vec<PortLoad> {
    step.wires.iter().filter_map(|wire| load(step, wire)).collect()
}

fn load(step: &StepData, wire: &PortTraffic) -> Option<PortLoad> {
    let measured = step.head.times.measured();
    let rate = wire.mean(measured);
    let flow = |id: CounterId| {
        let CounterReading::Whole(bytes) = step.integrals.counted(&wire.hop, id) else {
            return None;
        };
        let bytes_per_s = bytes / measured.as_secs_f64();
        let share = rate.filter(|r| *r > 0.0).map(|r| bytes_per_s / r);
        Some(PortFlow { bytes_per_s, share })
    };
    let (read, write) = (flow(CounterId::ReadBytes), flow(CounterId::WriteBytes));
    if read.is_none() && write.is_none() {
        return None;
    }
    let mut load = PortLoad {
        port: wire.hop.clone(),
        rate_name: wire.name.clone(),
        nominal_bytes_per_s: wire.nominal,
        scale: wire.scale,
        rate_bytes_per_s: rate,
        course: wire.course.iter().map(speed).collect(),
        read,
        write,
        queue: step.integrals.level(&wire.hop, CounterId::QueueDepthEnd),
        saturated: false,
    };
    load.saturated = load.fullest().is_some_and(|share| share >= SATURATED_FROM);
    Some(load)
}

fn speed((from, bytes_per_s): &(Ns, f64)) -> PortSpeed {
    PortSpeed { from_ns: from.0, bytes_per_s: Some(*bytes_per_s).filter(|rate| rate.is_finite()) }
}
