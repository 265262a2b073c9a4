//! Network interfaces: 64-bit counters, and backlog and drops of their queueing disciplines, by netlink; speed from sysfs.
//!
//! Netlink answers for the namespace of the asking thread and knows what `/sys/class/net` may show of another one. A speed is
//! taken from sysfs only where number and address there are those that netlink gives.

use crate::netlink::{Family, attribute, dump, field, messages, text, u32_at, u64_at};
use crate::source::{Amount, Look, Place, Source, Trouble};
use crate::sysfs;
use hop::HopKind;
use record::CounterId;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const GET_LINK: u16 = 18;
const NEW_LINK: u16 = 16;
const GET_QDISC: u16 = 38;
const NEW_QDISC: u16 = 36;
const ROOT: u32 = 0xffff_ffff;
const LOOPBACK: u32 = 0x8;

/// An interface with its counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interface {
    /// Its number.
    pub index: u32,
    /// Its name.
    pub name: String,
    /// Its alias, where it has one.
    pub alias: String,
    /// Its address, and the one that it was made with.
    pub addresses: Vec<Vec<u8>>,
    /// Largest packet in bytes.
    pub mtu: u32,
    /// Whether it is the loopback.
    pub loopback: bool,
    /// Bytes received and sent.
    pub bytes: [u64; 2],
    /// Errors received and sent.
    pub errors: [u64; 2],
    /// Packets dropped on the way in and out.
    pub dropped: [u64; 2],
    /// Bytes that wait in its queueing discipline, and packets that were dropped there; where there is one that counts.
    pub queue: Option<[u32; 2]>,
}

/// Reads the answer to a request for all interfaces.
pub fn links(bytes: &[u8]) -> Vec<Interface> {
    let of = |body: &[u8]| {
        let (index, flags) = (u32_at(body, 4)?, u32_at(body, 8)?);
        let attributes = body.get(16..)?;
        let stats = attribute(attributes, 23)?;
        let counts = |at: usize| Some([u64_at(stats, at)?, u64_at(stats, at + 8)?]);
        let named = |kind| attribute(attributes, kind).map(text).unwrap_or_default();
        let addresses = [1, 54].into_iter().filter_map(|kind| attribute(attributes, kind));
        Some(Interface {
            index,
            name: named(3),
            alias: named(20),
            addresses: addresses
                .filter(|a| a.iter().any(|b| *b != 0))
                .map(<[u8]>::to_vec)
                .collect(),
            mtu: attribute(attributes, 4).and_then(|of| u32_at(of, 0)).unwrap_or(0),
            loopback: flags & LOOPBACK != 0,
            bytes: counts(16)?,
            errors: counts(32)?,
            dropped: counts(48)?,
            queue: None,
        })
    };
    messages(bytes).filter(|(kind, _)| *kind == NEW_LINK).filter_map(|(_, body)| of(body)).collect()
}

/// Reads the answer to a request for all queueing disciplines: backlog and drops of those at the root, by interface. What is
/// below counts into its root.
pub fn queues(bytes: &[u8]) -> BTreeMap<u32, [u32; 2]> {
    let of = |body: &[u8]| {
        let (index, parent) = (u32_at(body, 4)?, u32_at(body, 12)?);
        let stats = attribute(body.get(20..)?, 7).and_then(|nested| attribute(nested, 3))?;
        (parent == ROOT).then_some((index, [u32_at(stats, 4)?, u32_at(stats, 8)?]))
    };
    messages(bytes)
        .filter(|(kind, _)| *kind == NEW_QDISC)
        .filter_map(|(_, body)| of(body))
        .collect()
}

/// All interfaces of this thread's network namespace.
/// # Errors
/// Where netlink does not answer.
pub fn interfaces() -> std::io::Result<Vec<Interface>> {
    let mut links = links(&dump(Family::Route, GET_LINK, &[0; 16])?);
    // A kernel without traffic control has no queues to tell of.
    let queues = dump(Family::Route, GET_QDISC, &[0; 20]).map(|b| queues(&b)).unwrap_or_default();
    links.iter_mut().for_each(|link| link.queue = queues.get(&link.index).copied());
    Ok(links)
}

/// Interfaces as a source. A packet that is received is read: so it is on a host, and the other way round on an array.
pub struct Interfaces {
    sys: PathBuf,
    names: Vec<String>,
}

impl Interfaces {
    /// With the tree at this root in the place of `/sys`.
    pub fn new(sys: &Path) -> Interfaces {
        Interfaces { sys: sys.to_owned(), names: Vec::new() }
    }

    fn all(&self) -> Result<Vec<Interface>, Trouble> {
        let all = interfaces().map_err(|e| Trouble::Silent(format!("netlink: {e}")))?;
        Ok(all.into_iter().filter(|link| !link.loopback && !link.name.is_empty()).collect())
    }

    /// Bytes a second each way; `None` where the interface has no speed, or sysfs shows another namespace.
    fn speed(&self, link: &Interface) -> Option<f64> {
        speed(&self.sys, link)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
}

fn speed(sys: &Path, link: &Interface) -> Option<f64> {
    let node = sys.join("class/net").join(&link.name);
    let ours = sysfs::number(&node.join("ifindex")) == Some(u64::from(link.index))
        && sysfs::text(&node.join("address")) == link.addresses.first().map(|a| hex(a));
    let megabits = sysfs::number(&node.join("speed")).filter(|mbit| ours && *mbit > 0)?;
    Some(megabits as f64 * 1e6 / 8.0)
}

impl Source for Interfaces {
    fn discover(&mut self) -> Result<Vec<Place>, Trouble> {
        let all = self.all()?;
        self.names = all.iter().map(|link| link.name.clone()).collect();
        let place = |link: &Interface| {
            let mut place = Place::new(HopKind::InitiatorPort, &link.name)
                .known_as(&link.alias)
                .fact("mtu", format!("{} B", link.mtu));
            for address in &link.addresses {
                place = place.known_as(&hex(address));
            }
            match self.speed(link) {
                Some(speed) => place.fact("rate", format!("{speed} B/s")),
                None => place.fact("rate", "unknown"),
            }
        };
        Ok(all.iter().map(place).collect())
    }

    fn look(&mut self) -> Result<Option<Look>, Trouble> {
        let all = self.all()?;
        let at = clock::now();
        let place = |name: &String| {
            let Some(link) = all.iter().find(|link| link.name == *name) else { return Vec::new() };
            let mut out = vec![
                (CounterId::ReadBytes, Amount::wide(link.bytes[0])),
                (CounterId::WriteBytes, Amount::wide(link.bytes[1])),
            ];
            for (id, counts) in
                [(CounterId::Errors, link.errors), (CounterId::Discards, link.dropped)]
            {
                out.extend(counts.map(|count| (id, Amount::wide(count))));
            }
            out.extend(self.speed(link).map(|rate| (CounterId::PortRate, Amount::Level(rate))));
            if let Some([backlog, drops]) = link.queue {
                out.push((CounterId::QdiscBacklog, Amount::Level(f64::from(backlog))));
                let drops = Amount::Grows { raw: drops.into(), bits: 32, unit: 1.0 };
                out.push((CounterId::QdiscDrops, drops));
            }
            out
        };
        Ok(Some(Look { at, life: 0, places: self.names.iter().map(place).collect() }))
    }
}

/// The addresses of a socket in a message of `inet_diag`, kept here with the other fixed layouts: port and address.
pub(crate) fn socket_end(
    body: &[u8],
    family: u8,
    port: usize,
    address: usize,
) -> Option<(std::net::IpAddr, u16)> {
    let port = u16::from_be_bytes(field(body, port)?);
    let address = match family {
        2 => std::net::IpAddr::from(field::<4>(body, address)?),
        _ => std::net::IpAddr::from(field::<16>(body, address)?),
    };
    Some((address, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_speed_of_another_namespace_is_not_taken() {
        let dir = tempfile::tempdir().expect("a directory");
        let node = dir.path().join("class/net/eth1");
        fs::create_dir_all(&node).expect("an interface");
        for (file, text) in
            [("ifindex", "7\n"), ("address", "00:11:22:33:44:55\n"), ("speed", "25000\n")]
        {
            fs::write(node.join(file), text).expect(file);
        }
        let link = |index, last| Interface {
            index,
            name: "eth1".to_owned(),
            addresses: vec![vec![0, 0x11, 0x22, 0x33, 0x44, last]],
            ..Interface::default()
        };
        assert_eq!(speed(dir.path(), &link(7, 0x55)), Some(25e9 / 8.0));
        assert_eq!(speed(dir.path(), &link(8, 0x55)), None);
        assert_eq!(speed(dir.path(), &link(7, 0x56)), None);
        for none in ["-1\n", "0\n", "unknown\n"] {
            fs::write(node.join("speed"), none).expect("no speed");
            assert_eq!(speed(dir.path(), &link(7, 0x55)), None, "{none:?}");
        }
    }

    #[test]
    fn bytes_that_are_cut_off_are_no_interfaces() {
        let whole = dump(Family::Route, GET_LINK, &[0; 16]).expect("netlink");
        let all = links(&whole).len();
        assert!(all >= 1);
        for end in 0..whole.len() {
            assert!(links(&whole[..end]).len() <= all);
        }
    }
}
