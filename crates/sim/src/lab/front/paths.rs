//! Several paths to one volume: where they diverge, the selector that chooses, and which of them go through something
//! that fails.

use super::defaults;
use super::index::LabIndex;
use crate::Ps;
use crate::lab::draft::Draft;
use crate::model::{Policy, Selector, SelectorId};
use scenario::topology::{HopId, HopKind, Topology, Way};
use scenario::{Patience, SwitchAfter};

/// How many hops at the start all paths of a way share within the host: the path is chosen after them.
pub fn shared(topology: &Topology, way: &Way) -> usize {
    let within = |kind| {
        matches!(
            kind,
            HopKind::VmCpu
                | HopKind::VirtualAdapter
                | HopKind::VirtualDisk
                | HopKind::HostCpu
                | HopKind::Datastore
        )
    };
    let first = &way.paths[0].hops;
    let alike = |(at, hop): &(usize, &HopId)| {
        within(topology.hop(**hop).kind)
            && way.paths.iter().all(|path| path.hops.get(*at) == Some(*hop))
    };
    first.iter().enumerate().take_while(alike).count()
}

/// These hops in the order in which an I/O meets them: a guest gives it to the disk's queue before the adapter's, so a
/// disk whose queue is full takes no slots of the adapter's.
pub fn in_order(topology: &Topology, hops: &[HopId]) -> Vec<HopId> {
    let mut hops = hops.to_vec();
    for at in 1..hops.len() {
        let kind = |at: usize| topology.hop(hops[at]).kind;
        if kind(at - 1) == HopKind::VirtualAdapter && kind(at) == HopKind::VirtualDisk {
            hops.swap(at - 1, at);
        }
    }
    hops
}

/// The selector of each way; `None` where there is one path that cannot fail.
pub fn selectors(atlas: &LabIndex, may_fail: bool, draft: &mut Draft) -> Vec<Option<SelectorId>> {
    let of = |way: &Way| {
        if way.paths.len() < 2 && !may_fail {
            return None;
        }
        let selector = match may_fail {
            true => patient(atlas, way, draft),
            false => Selector::new(policy(&way.policy)),
        };
        Some(draft.network().selector(selector))
    };
    atlas.topology.ways.iter().map(of).collect()
}

fn policy(of: &scenario::Policy) -> Policy {
    match of {
        scenario::Policy::Fixed => Policy::Fixed,
        scenario::Policy::RoundRobin(SwitchAfter::Ios(ios)) => {
            Policy::RoundRobin { ios: (*ios).max(1) }
        }
        scenario::Policy::RoundRobin(SwitchAfter::Bytes(bytes)) => {
            Policy::RoundRobinBytes { bytes: bytes.0.max(1) }
        }
        scenario::Policy::LeastQueue => Policy::LeastQueue,
        scenario::Policy::ActivePassive => Policy::ActivePassive,
    }
}

/// A selector with the timeouts of the disk.
fn patient(atlas: &LabIndex, way: &Way, draft: &mut Draft) -> Selector {
    let given = atlas.disk_of(way).map_or(Patience::default(), |disk| disk.patience);
    let subject = format!("{} disk {}", way.member, way.disk);
    let seconds = |time: Option<std::time::Duration>| time.map(|time| time.as_secs_f64());
    let silence = defaults::PATH_TIMEOUT.unless(seconds(given.path_timeout), &subject, draft);
    let retry = defaults::NO_PATH_RETRY.unless(seconds(given.no_path_retry), &subject, draft);
    Selector {
        policy: policy(&way.policy),
        patience: Ps::from_secs_f64(silence),
        give_up: Ps::from_secs_f64(retry),
    }
}

/// Whether a path goes through what a scenario calls `what`: a hop by its name, or all of a switch, array or adapter. A
/// port that is the only one in use of its adapter has the adapter's hop; its cable tells which port it is.
pub fn goes_through(topology: &Topology, path: &scenario::topology::Route, what: &str) -> bool {
    let port =
        what.rsplit_once(':').filter(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    path.hops.iter().map(|hop| topology.hop(*hop)).any(|hop| {
        let ends = || {
            hop.kind == HopKind::Link
                && (hop.name.strip_prefix(what).is_some_and(|rest| rest.starts_with('-'))
                    || hop.name.strip_suffix(what).is_some_and(|rest| rest.ends_with('-')))
        };
        hop.name == what || hop.device == what || port.is_some() && ends()
    })
}
