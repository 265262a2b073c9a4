//! Which of several links between two switches the ways take: in turn.
//!
//! A switch spreads what it has over equal links, by the exchange or by the port where it came in. A way has one link in a
//! model, so the ways are spread: the ports that come from one switch begin with one link after the other, and of one
//! port's targets each has the next.

use super::super::fabric::NodeId;
use std::collections::BTreeMap;

/// A port of a device.
type DevicePort = (NodeId, u32);
/// A switch and the one that follows.
type Between = (NodeId, NodeId);

/// What comes from a port to a switch and goes on to another.
struct FromPort {
    turn: usize,
    targets: Vec<DevicePort>,
}

/// The turns so far.
#[derive(Default)]
pub(in super::super) struct TrunkTurns {
    /// How many ports have come from the first switch to the second.
    ports: BTreeMap<Between, usize>,
    from: BTreeMap<(Between, DevicePort), FromPort>,
}

impl TrunkTurns {
    /// The turn of the ways from a port to a target between two switches.
    pub(in super::super) fn turn(
        &mut self,
        switches: Between,
        from: DevicePort,
        target: DevicePort,
    ) -> usize {
        let of = self.from.entry((switches, from)).or_insert_with(|| {
            let ports = self.ports.entry(switches).or_default();
            *ports += 1;
            FromPort { turn: *ports - 1, targets: Vec::new() }
        });
        let known = of.targets.iter().position(|known| *known == target);
        let at = known.unwrap_or_else(|| {
            of.targets.push(target);
            of.targets.len() - 1
        });
        of.turn + at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four ports that each prefer another of four targets use four links; one port with four targets does so too.
    #[test]
    fn ways_are_spread_over_equal_links() {
        let mut turns = TrunkTurns::default();
        let mut preferred = Vec::new();
        for port in 0..4 {
            let target = |at: u32| (9, (port + at) % 4);
            preferred.push(turns.turn((7, 8), (port as NodeId, 0), target(0)) % 4);
            (1..4).for_each(|at| {
                turns.turn((7, 8), (port as NodeId, 0), target(at));
            });
        }
        preferred.sort_unstable();
        assert_eq!(preferred, [0, 1, 2, 3]);
        let mut of_one: Vec<usize> =
            (0..4).map(|target| turns.turn((7, 8), (2, 0), (9, target)) % 4).collect();
        of_one.sort_unstable();
        assert_eq!(of_one, [0, 1, 2, 3]);
    }
}
