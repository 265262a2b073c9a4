//! The ports of embedded arrays as a step has them: how fast each is at every moment of the measured time.
//!
//! The scenario says it: the speed that a port has or that the step's axis `port` gives it, the array's `scale`, and the
//! faults that slow a port, take it away or bring it back. Nothing here looks at what was counted.

use clock::Ns;
use record::StepTimes;
use scenario::{Embedded, FaultAction, Scenario, Step};

/// A port in one step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PortTraffic {
    /// `ARRAY.PORT`, the name of the hop.
    pub hop: String,
    /// The array.
    pub array: String,
    /// How the scenario calls its speed; `None`: as fast as it goes.
    pub name: Option<String>,
    /// That speed before scaling, in bytes a second and direction.
    pub nominal: Option<f64>,
    /// What all speeds of the array are multiplied by.
    pub scale: f64,
    /// How fast it is, from which moment of the measured time on: rising, beginning at zero. Infinite where it is as fast
    /// as it goes, zero while it is away or answers BUSY.
    pub course: Vec<(Ns, f64)>,
}

/// The ports of every embedded array in a step.
pub(crate) fn wires(scenario: &Scenario, step: &Step, times: &StepTimes) -> Vec<PortTraffic> {
    let arrays = scenario.lab.arrays.iter();
    let embedded = arrays.filter_map(|a| Some((a.name.as_str(), a.embedded.as_ref()?)));
    embedded.flat_map(|(array, embedded)| of_array(array, embedded, step, times)).collect()
}

fn of_array<'a>(
    array: &'a str,
    embedded: &'a Embedded,
    step: &'a Step,
    times: &'a StepTimes,
) -> impl Iterator<Item = PortTraffic> + 'a {
    embedded.ports.iter().map(move |port| {
        let rate = embedded.rate(port, step);
        let base = rate.map_or(f64::INFINITY, |rate| embedded.scaled(rate).0);
        let mine = |f: &&scenario::Fault| f.array == array && f.port == port.name;
        let mut now = PortHealth { rate: base, killed: false, busy: false };
        let mut course = vec![(Ns::ZERO, base)];
        for fault in step.faults.iter().filter(mine) {
            now.take(fault.action, embedded);
            course.push((Ns::from(fault.at).min(times.measured()), now.speed()));
        }
        PortTraffic {
            hop: format!("{array}.{}", port.name),
            array: array.to_owned(),
            name: rate.map(|rate| rate.to_string()),
            nominal: rate.map(|rate| rate.payload().0),
            scale: embedded.scale.fraction(),
            course,
        }
    })
}

/// What faults have made of a port.
struct PortHealth {
    rate: f64,
    killed: bool,
    busy: bool,
}

impl PortHealth {
    fn take(&mut self, action: FaultAction, embedded: &Embedded) {
        match action {
            FaultAction::Kill => self.killed = true,
            FaultAction::Revive => self.killed = false,
            FaultAction::Busy => self.busy = true,
            FaultAction::Ready => self.busy = false,
            FaultAction::Slow(rate) => self.rate = embedded.scaled(rate).0,
        }
    }

    fn speed(&self) -> f64 {
        if self.killed || self.busy { 0.0 } else { self.rate }
    }
}

impl PortTraffic {
    /// The mean speed over the measured time, in bytes a second and direction; `None` where it is as fast as it goes.
    pub fn mean(&self, measured: Ns) -> Option<f64> {
        let ends = self.course.iter().skip(1).map(|(from, _)| *from).chain([measured]);
        let spans = self.course.iter().zip(ends);
        let sum: f64 = spans
            .map(|((from, rate), to)| match to.since(*from) {
                Ns::ZERO => 0.0,
                time => rate * time.as_secs_f64(),
            })
            .sum();
        let seconds = measured.as_secs_f64();
        (seconds > 0.0).then(|| sum / seconds).filter(|rate| rate.is_finite())
    }
}
