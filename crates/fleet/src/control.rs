//! The time limits of a coordinator.

use clock::Ns;

/// How long a coordinator waits for agents before it gives them up as lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitLimits {
    /// For the answer to `Hello`.
    pub greet: Ns,
    /// For the answer to `Hello` of an agent that boots first.
    pub boot: Ns,
    /// For an array that is to be made, or to be made ready for a step.
    pub serve: Ns,
    /// For a message while an agent prepares, which may fill files.
    pub prepare: Ns,
    /// For a message while the load is on, and for the end of a step after its time.
    pub silence: Ns,
    /// For the end after `Stop`: engines wait a while themselves for what is in flight.
    pub stop: Ns,
    /// For a message that later ones of the same agent have overtaken.
    pub reorder: Ns,
    /// Between the order to start and the start, so that the order arrives before.
    pub lead: Ns,
    /// Between the order to measure and the measurement, so that the order arrives before; workers run meanwhile.
    pub lead_measure: Ns,
}

impl Default for WaitLimits {
    fn default() -> WaitLimits {
        WaitLimits {
            greet: Ns::secs(10),
            boot: Ns::secs(180),
            serve: Ns::secs(300),
            prepare: Ns::secs(3600),
            silence: Ns::secs(30),
            stop: Ns::secs(30),
            reorder: Ns::secs(5),
            lead: Ns::millis(100),
            lead_measure: Ns::secs(1),
        }
    }
}
