//! The network interface of a test: its properties, and the settings that a test may change.
//!
//! To measure the gain of jumbo frames and offloads, a step can set MTU and offloads at both ends. An interface changes only if
//! it was named beforehand, by the scenario here or at the receiver's start there; and before the first change a separate
//! process has the original settings and restores them however this one ends.
//!
//! No external program is needed: the kernel's routing socket (rtnetlink(7)) reads names, addresses and MTUs and sets MTUs,
//! `ioctl(SIOCETHTOOL)` reads and sets the rest.

mod change;
mod error;
mod guardian;
mod lease;
mod netlink;
mod path;
mod step;

pub use change::Adjusted;
pub use error::InterfaceError;
pub use guardian::{Guardian, keep};
pub use lease::InterfaceLease;
pub(crate) use path::{AdjustPermission, PathInterfaces};
pub(crate) use step::Interfaces;

use crate::sys::Ethtool;
use netlink::LinkSelector;
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};
use std::{fmt, io};

/// Segmentation on the way out, joining on the way in, and checksums, by the kernel's names (net/ethtool/common.c): what is
/// told of an interface, and what "offload on" and "offload off" are about. TCP segmentation with mangled identifiers is
/// not among them; without TCP segmentation it is off by itself.
const OFFLOADS: [&str; 12] = [
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-tcp-ecn-segmentation",
    "tx-generic-segmentation",
    "tx-udp-segmentation",
    "rx-gro",
    "rx-gro-hw",
    RX_LRO,
    "tx-checksum-ipv4",
    "tx-checksum-ipv6",
    "tx-checksum-ip-generic",
    "rx-checksum",
];

/// Joins packets irreversibly, so it must stay off on forwarding hosts: "offload on" leaves it as it is.
const RX_LRO: &str = "rx-lro";

/// Bytes of an interface's name, at most.
const NAME_MAX: usize = libc::IFNAMSIZ - 1;

/// A network interface, as it is at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name, as in `eth0`.
    pub name: String,
    /// Its number. An interface that is recreated has another one.
    pub index: u32,
    /// The greatest packet in bytes, without the frame around it.
    pub mtu: u32,
    /// Least and greatest MTU in bytes, where its driver sets bounds.
    pub mtu_range: Option<(u32, u32)>,
    /// Something is at the other end.
    pub carrier: bool,
    /// What its link carries in bytes a second, before any overhead; `None` where it is down or has no wire.
    pub speed: Option<u64>,
    /// Its driver, or the kind of an interface that is made by software.
    pub driver: Option<String>,
    /// Its offloads, as far as the kernel knows them.
    pub features: Vec<Feature>,
}

/// An offload of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Feature {
    /// The kernel's name for it, as in `tx-tcp-segmentation`.
    pub name: String,
    /// It is on.
    pub on: bool,
    /// It was asked for; it is off all the same where another feature or the driver forbids it.
    pub wanted: bool,
    /// It cannot be changed.
    pub fixed: bool,
}

impl Interface {
    /// Reads what an interface of this network namespace is.
    /// # Errors
    /// [`InterfaceError::Missing`] where there is none of that name.
    pub fn named(name: &str) -> Result<Interface, InterfaceError> {
        let failed = |source: io::Error| InterfaceError::reading(name, source);
        if !is_name(name) {
            return Err(failed(io::Error::from_raw_os_error(libc::ENODEV)));
        }
        Interface::read(netlink::link(LinkSelector::Name(name)).map_err(failed)?)
    }

    /// The interface of this network namespace that has an address; `scope` is the number of the interface where the address
    /// is one of a link (RFC 4007). Where several have it, `preferred` goes before.
    /// # Errors
    /// [`InterfaceError::NoAddress`] where none has it.
    pub fn at(
        address: IpAddr,
        scope: u32,
        preferred: Option<&str>,
    ) -> Result<Interface, InterfaceError> {
        let address = address.to_canonical();
        let failed = |source| InterfaceError::reading(&address.to_string(), source);
        let mut links = Vec::new();
        for (index, one) in netlink::addresses().map_err(failed)? {
            if one == address && (scope == 0 || scope == index) {
                links.push(netlink::link(LinkSelector::Index(index)).map_err(failed)?);
            }
        }
        let wanted = links.iter().position(|link| Some(link.name.as_str()) == preferred);
        // All of 127.0.0.0/8 is the loopback's, though it has but one address.
        if links.is_empty() && address.is_loopback() {
            return Interface::named("lo");
        }
        match wanted.unwrap_or(0) {
            index if index < links.len() => Interface::read(links.swap_remove(index)),
            _ => Err(InterfaceError::NoAddress { address }),
        }
    }

    /// The interface of a connection with this local address.
    /// # Errors
    /// [`InterfaceError::NoAddress`] where none has it.
    pub(crate) fn of(
        local: &SocketAddr,
        preferred: Option<&str>,
    ) -> Result<Interface, InterfaceError> {
        let scope = if let SocketAddr::V6(local) = local { local.scope_id() } else { 0 };
        Interface::at(local.ip(), scope, preferred)
    }

    fn read(link: netlink::LinkInfo) -> Result<Interface, InterfaceError> {
        let failed = |source| InterfaceError::reading(&link.name, source);
        let tool = Ethtool::open(&link.name).map_err(failed)?;
        let driver =
            link.kind.clone().or_else(|| tool.driver().ok()).filter(|name| !name.is_empty());
        // A pair of virtual interfaces says 10 Gb/s whatever it carries; that is a figure in its code and not a wire.
        let told = tool.speed().ok().flatten().filter(|_| driver.as_deref() != Some("veth"));
        let (least, most) = link.mtu_range;
        Ok(Interface {
            index: link.index,
            mtu: link.mtu,
            mtu_range: (most > 0).then_some((least, most)),
            carrier: link.carrier,
            speed: told.map(|megabits| u64::from(megabits) * 125_000),
            driver,
            features: features(&tool).map_err(failed)?,
            name: link.name,
        })
    }

    /// An offload by the kernel's name.
    pub fn feature(&self, name: &str) -> Option<&Feature> {
        self.features.iter().find(|feature| feature.name == name)
    }

    /// Another host's description, fit for a terminal and a record: nothing in it is longer than what can be, or more.
    pub(crate) fn cleaned(mut self) -> Interface {
        let clean = |text: &str| -> String {
            let fit = |c: char| if c.is_ascii_graphic() { c } else { '?' };
            text.chars().take(64).map(fit).collect()
        };
        self.name = clean(&self.name);
        self.driver = self.driver.map(|driver| clean(&driver));
        // What is no offload here is not asked for there.
        self.features.retain(|feature| OFFLOADS.contains(&feature.name.as_str()));
        self.features.truncate(OFFLOADS.len());
        self
    }
}

impl fmt::Display for Interface {
    /// `eth0 (ixgbe)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.driver {
            Some(driver) => write!(f, "{} ({driver})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Which of the kernel's features are offloads, and how they are.
fn features(tool: &Ethtool) -> io::Result<Vec<Feature>> {
    let names = tool.names()?;
    let state = tool.features()?;
    let read = |name: &&str| {
        let bit = names.iter().position(|one| one == name)?;
        let is = |bits: u128| bits >> bit & 1 == 1;
        Some(Feature {
            name: (*name).to_owned(),
            on: is(state.active),
            wanted: is(state.wanted),
            fixed: !is(state.changeable),
        })
    };
    Ok(OFFLOADS.iter().filter_map(read).collect())
}

/// Whether an interface can be called so.
fn is_name(name: &str) -> bool {
    (1..=NAME_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_is_found_by_name_and_address() {
        let lo = Interface::named("lo").unwrap();
        assert_eq!((lo.speed, lo.mtu_range), (None, lo.mtu_range));
        assert!(lo.feature("tx-tcp-segmentation").is_some_and(|one| one.on), "{lo:?}");
        assert!(lo.feature("loopback").is_none(), "it is no offload");
        for address in ["127.0.0.1", "127.9.9.9", "::ffff:127.0.0.1"] {
            let found = Interface::at(address.parse().unwrap(), 0, None).unwrap();
            assert_eq!((found.name, found.index), (lo.name.clone(), lo.index), "{address}");
        }
    }

    #[track_caller]
    fn refused(result: Result<Interface, InterfaceError>, hint: &str) {
        let error = result.expect_err("there is none").to_string();
        assert!(error.contains(hint), "{hint:?} is not in {error:?}");
    }

    #[test]
    fn missing_interfaces_are_errors_with_hints() {
        for name in ["no-such-one", "", "a/b", "a b", "sixteen-letters-"] {
            refused(Interface::named(name), "no such interface");
        }
        refused(Interface::at("192.0.2.77".parse().unwrap(), 0, None), "no interface has");
        refused(Interface::at("fe80::dead".parse().unwrap(), 1, Some("lo")), "no interface has");
    }

    #[test]
    fn another_host_s_words_are_cut() {
        let feature =
            |name: &str| Feature { name: name.to_owned(), on: true, wanted: true, fixed: false };
        let told = Interface {
            name: format!("\u{1b}[2J{}", "x".repeat(1000)),
            driver: Some("a\nb".to_owned()),
            features: [vec![feature("rx-gro"); 100], vec![feature("evil")]].concat(),
            ..Interface::named("lo").unwrap()
        };
        let cleaned = told.cleaned();
        assert_eq!(cleaned.name.len(), 64);
        assert!(cleaned.name.starts_with("?[2J"));
        assert_eq!(cleaned.driver.as_deref(), Some("a?b"));
        assert_eq!(cleaned.features.len(), OFFLOADS.len());
    }
}
