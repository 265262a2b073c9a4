//! Disks on embedded arrays: targets that exist only during the run. Their addresses are known once their array is served.

use super::{ARRAY_USER, ArraySpec, Portals, volume_hop};
use engine::RunSecret;
use scenario::{Patience, Policy, SwitchAfter};
use std::collections::BTreeMap;
use std::time::Duration;

/// The scheme of the URL that represents a disk until its array is served.
pub const SCHEME: &str = "array";

/// A volume of an embedded array with the ways to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ArrayDisk<'a> {
    pub array: &'a str,
    pub volume: &'a str,
    /// Names of ports, in order.
    pub ports: &'a [String],
    pub policy: Option<Policy>,
    pub patience: Patience,
}

/// A disk whose array stands.
pub(crate) struct ReachedDisk {
    pub url: String,
    /// Its unit serial number.
    pub serial: String,
    /// What the user that the URL names proves itself with.
    pub secret: Option<RunSecret>,
}

/// A served array with its portals.
#[derive(Clone, Debug)]
pub(crate) struct ReachableArray {
    spec: ArraySpec,
    portals: Portals,
}

impl ReachableArray {
    /// Served arrays by name, or the first that does not match its specification.
    pub fn all(
        specs: Vec<ArraySpec>,
        portals: Vec<Portals>,
    ) -> Result<BTreeMap<String, ReachableArray>, String> {
        let mut portals: BTreeMap<String, Portals> =
            portals.into_iter().map(|portals| (portals.array.clone(), portals)).collect();
        let reachable = specs.into_iter().map(|spec| {
            let name = spec.name.clone();
            let found = portals.remove(&name);
            let right = found.filter(|portals| portals.addresses.len() == spec.ports.len());
            match right {
                Some(portals) => Ok((name, ReachableArray { spec, portals })),
                None => Err(name),
            }
        });
        reachable.collect()
    }
}

impl ArrayDisk<'_> {
    /// The volume as a hop and a target.
    pub fn name(&self) -> String {
        volume_hop(self.array, self.volume)
    }

    /// The ways to it, in words.
    pub fn ways(&self) -> String {
        let policy = self.policy.map(|policy| format!(", {policy}")).unwrap_or_default();
        let told = |(name, time)| format!(", {name} {}", units::duration(time));
        let patience: String = self.patience.given().map(told).collect();
        format!("{}{policy}{patience}", self.ports.join("+"))
    }

    /// The URL that represents it until its array is served: equal for equal disks.
    pub fn url(&self) -> String {
        let options: String =
            self.options(true).iter().map(|option| format!("&{option}")).collect();
        format!("{SCHEME}:{}?ports={}{options}", self.name(), self.ports.join(","))
    }

    /// Where it is reached; `None` where its array does not stand, or has no such volume or port.
    pub fn reached(&self, reachable: &BTreeMap<String, ReachableArray>) -> Option<ReachedDisk> {
        let ReachableArray { spec, portals } = reachable.get(self.array)?;
        let lun = spec.volumes.iter().position(|volume| volume.name == self.volume)?;
        let address = |name: &String| {
            let port = spec.ports.iter().position(|port| port.name == *name)?;
            portals.addresses.get(port).map(ToString::to_string)
        };
        let addresses = self.ports.iter().map(address).collect::<Option<Vec<String>>>()?;
        // Drives follow their changer.
        let (scheme, number, options) = match spec.library {
            Some(_) => ("tape", lun + 1, self.tape_options()),
            None => ("iscsi", lun, self.options(addresses.len() > 1).join("&")),
        };
        let options = if options.is_empty() { options } else { format!("?{options}") };
        // The first portal's user is that of all.
        let user = spec.access.as_ref().map_or(String::new(), |_| format!("{ARRAY_USER}@"));
        let addresses = addresses.join(",");
        let url = format!("{scheme}://{user}{addresses}/{}/{number}{options}", portals.target);
        let secret = spec.access.as_ref().map(|access| access.secret.clone());
        Some(ReachedDisk { url, serial: spec.volumes[lun].serial.clone(), secret })
    }

    /// What the URL of a drive says beside its place: for how long a lost target is looked for.
    fn tape_options(&self) -> String {
        let retry = self.patience.no_path_retry;
        retry.map_or_else(String::new, |time| format!("retry={}", exact(time)))
    }

    /// What a URL says of its ways: the policy, where there are several, and the times that were given.
    fn options(&self, several: bool) -> Vec<String> {
        let policy = match self.policy.filter(|_| several) {
            None => None,
            Some(Policy::RoundRobin(after)) if after != SwitchAfter::USUAL => {
                Some(format!("policy=round-robin&switch_after={after}"))
            }
            Some(policy) => Some(format!("policy={}", policy.word())),
        };
        let time = |(name, time): (&str, Duration)| format!("{name}={}", exact(time));
        policy.into_iter().chain(self.patience.given().map(time)).collect()
    }
}

/// A time for a URL: exact, whatever was written.
fn exact(time: Duration) -> String {
    match time.subsec_nanos() % 1_000_000 {
        0 => format!("{}ms", time.as_millis()),
        _ => format!("{}ns", time.as_nanos()),
    }
}
