//! Interfaces as the kernel's routing socket tells of them (rtnetlink(7)): their names, MTUs and addresses. A message is a
//! header of 16 bytes, a body that its type decides about, and attributes, each a length, a type and a value, padded to
//! four bytes. What arrives is the kernel's, and is held to its own lengths all the same.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use rustix::net::{recv, sendto, socket_with, sockopt};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;
use std::time::Duration;

/// Bytes of a message's header.
const HEADER: usize = 16;
/// Bytes of the body of a message about a link, and about an address.
const LINK: usize = 16;
const ADDRESS: usize = 8;
/// An interface can have many addresses; the kernel says them in parts that fit here.
const ROOM: usize = 64 << 10;
/// Parts of an answer, at most: an end for a conversation that has lost its own.
const PARTS_MAX: usize = 10_000;
/// How long the kernel may take over an answer: a driver that resets its adapter takes a while.
const PATIENCE: Duration = Duration::from_secs(30);

/// Attributes of links (linux/if_link.h).
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINKINFO: u16 = 18;
const IFLA_CARRIER: u16 = 33;
const IFLA_MIN_MTU: u16 = 50;
const IFLA_MAX_MTU: u16 = 51;
const IFLA_INFO_KIND: u16 = 1;
/// Attributes of addresses (linux/if_addr.h).
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
/// The flags of an attribute's type.
const TYPE: u16 = 0x3fff;

/// A link as the kernel tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Link {
    pub(super) index: u32,
    pub(super) name: String,
    pub(super) mtu: u32,
    /// Least and greatest MTU; 0 where the driver sets no bound.
    pub(super) mtu_range: (u32, u32),
    /// Something is at the other end.
    pub(super) carrier: bool,
    /// The kind of an interface that is made by software (`veth`).
    pub(super) kind: Option<String>,
}

/// Which link is meant.
#[derive(Clone, Copy, Debug)]
pub(super) enum Which<'a> {
    Name(&'a str),
    Index(u32),
}

/// A link of this network namespace.
pub(super) fn link(which: Which<'_>) -> io::Result<Link> {
    let (index, name) = match which {
        Which::Name(name) => (0, Some(name)),
        Which::Index(index) => (index, None),
    };
    let mut request = Request::new(libc::RTM_GETLINK, 0, &link_body(index));
    if let Some(name) = name {
        request.attribute(IFLA_IFNAME, &[name.as_bytes(), &[0]].concat());
    }
    let mut found = None;
    request.ask(|kind, body| {
        if kind == libc::RTM_NEWLINK {
            found = read_link(body);
        }
        // One link is one message.
        true
    })?;
    found.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Sets the MTU of a link.
pub(super) fn set_mtu(index: u32, mtu: u32) -> io::Result<()> {
    let mut request = Request::new(libc::RTM_SETLINK, libc::NLM_F_ACK, &link_body(index));
    request.attribute(IFLA_MTU, &mtu.to_ne_bytes());
    request.ask(|_, _| false)
}

/// All addresses of this network namespace, each with the index of its link.
pub(super) fn addresses() -> io::Result<Vec<(u32, IpAddr)>> {
    let request = Request::new(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; ADDRESS]);
    let mut all = Vec::new();
    request.ask(|kind, body| {
        if kind == libc::RTM_NEWADDR {
            all.extend(read_address(body));
        }
        false
    })?;
    Ok(all)
}

/// `struct ifinfomsg` with nothing but an index.
fn link_body(index: u32) -> [u8; LINK] {
    let mut body = [0; LINK];
    body[4..8].copy_from_slice(&index.to_ne_bytes());
    body
}

fn read_link(body: &[u8]) -> Option<Link> {
    let index = u32::from_ne_bytes(*body.get(4..)?.first_chunk()?);
    let mut link = Link { index, ..Link::default() };
    for (kind, value) in attributes(body.get(LINK..)?) {
        match kind {
            IFLA_IFNAME => link.name = text(value),
            IFLA_MTU => link.mtu = word(value)?,
            IFLA_MIN_MTU => link.mtu_range.0 = word(value)?,
            IFLA_MAX_MTU => link.mtu_range.1 = word(value)?,
            IFLA_CARRIER => link.carrier = value.first() == Some(&1),
            IFLA_LINKINFO => {
                let mut inner = attributes(value);
                let kind = inner.find(|(kind, _)| *kind == IFLA_INFO_KIND);
                link.kind = kind.map(|(_, value)| text(value));
            }
            _ => {}
        }
    }
    (!link.name.is_empty()).then_some(link)
}

/// The address of this end: where an interface has a peer's besides, that is another attribute.
fn read_address(body: &[u8]) -> Option<(u32, IpAddr)> {
    let index = u32::from_ne_bytes(*body.get(4..)?.first_chunk()?);
    let attributes = || body.get(ADDRESS..).into_iter().flat_map(attributes);
    let of = |wanted| attributes().find(|(kind, _)| *kind == wanted).map(|(_, value)| value);
    let value = of(IFA_LOCAL).or_else(|| of(IFA_ADDRESS))?;
    let address = match value.len() {
        4 => IpAddr::V4(Ipv4Addr::from(*value.first_chunk::<4>()?)),
        16 => IpAddr::V6(Ipv6Addr::from(*value.first_chunk::<16>()?)),
        _ => return None,
    };
    Some((index, address))
}

fn word(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn text(value: &[u8]) -> String {
    let bytes = value.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// The attributes in these bytes, up to the first that is longer than they are.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(*bytes.first_chunk()?));
        let kind = u16::from_ne_bytes(*bytes.get(2..)?.first_chunk()?);
        let value = bytes.get(4..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & TYPE, value))
    })
}

/// A request that is being put together.
struct Request(Vec<u8>);

impl Request {
    fn new(kind: u16, flags: libc::c_int, body: &[u8]) -> Request {
        let flags = (libc::NLM_F_REQUEST | flags) as u16;
        let mut bytes = vec![0; 4];
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&flags.to_ne_bytes());
        // A number and a port of its own are for sockets that ask several things at once.
        bytes.extend_from_slice(&[0; 8]);
        bytes.extend_from_slice(body);
        Request(bytes)
    }

    fn attribute(&mut self, kind: u16, value: &[u8]) {
        // Values here are names and words.
        let length = 4 + value.len() as u16;
        self.0.extend_from_slice(&length.to_ne_bytes());
        self.0.extend_from_slice(&kind.to_ne_bytes());
        self.0.extend_from_slice(value);
        self.0.resize(self.0.len().next_multiple_of(4), 0);
    }

    /// Asks, and hands each message of the answer to `take`, until that says that it has what it wants, the answer is
    /// complete, or the kernel says no.
    fn ask(mut self, mut take: impl FnMut(u16, &[u8]) -> bool) -> io::Result<()> {
        let length = (self.0.len() as u32).to_ne_bytes();
        self.0[..4].copy_from_slice(&length);
        let socket = socket()?;
        sendto(&socket, &self.0, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut room = vec![0; ROOM];
        for _ in 0..PARTS_MAX {
            let (got, _) = recv(&socket, &mut room[..], RecvFlags::empty())?;
            for (kind, body) in messages(&room[..got.min(ROOM)]) {
                match libc::c_int::from(kind) {
                    libc::NLMSG_ERROR => return refusal(body),
                    libc::NLMSG_DONE => return Ok(()),
                    _ if take(kind, body) => return Ok(()),
                    _ => {}
                }
            }
        }
        Err(io::ErrorKind::InvalidData.into())
    }
}

fn socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    // Without a protocol it is number 0, the routing socket.
    let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
    sockopt::set_socket_timeout(&socket, sockopt::Timeout::Recv, Some(PATIENCE))?;
    Ok(socket)
}

/// `struct nlmsgerr`: a negative error number, or 0 for done.
fn refusal(body: &[u8]) -> io::Result<()> {
    match body.first_chunk().map(|bytes| i32::from_ne_bytes(*bytes)) {
        Some(0) => Ok(()),
        Some(error) => Err(io::Error::from_raw_os_error(error.saturating_neg())),
        None => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// The messages in these bytes, type and body, up to the first that is longer than they are.
fn messages(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = u32::from_ne_bytes(*bytes.first_chunk()?) as usize;
        let kind = u16::from_ne_bytes(*bytes.get(4..)?.first_chunk()?);
        let body = bytes.get(HEADER..length)?;
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, body))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn loopback_is_found_by_name_index_and_address() {
        let lo = link(Which::Name("lo")).unwrap();
        assert_eq!((lo.name.as_str(), lo.index), ("lo", 1));
        assert_eq!(link(Which::Index(lo.index)).unwrap(), lo);
        assert!(addresses().unwrap().contains(&(1, Ipv4Addr::LOCALHOST.into())));
        let nobody = link(Which::Name("no-such-one")).unwrap_err();
        assert_eq!(nobody.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn an_address_is_that_of_this_end() {
        let mut bytes = Request::new(libc::RTM_NEWADDR, 0, &[2, 24, 0, 0, 7, 0, 0, 0]);
        bytes.attribute(IFA_ADDRESS, &[192, 0, 2, 2]);
        assert_eq!(read_address(&bytes.0[HEADER..]), Some((7, Ipv4Addr::new(192, 0, 2, 2).into())));
        bytes.attribute(IFA_LOCAL, &[192, 0, 2, 1]);
        assert_eq!(read_address(&bytes.0[HEADER..]), Some((7, Ipv4Addr::new(192, 0, 2, 1).into())));
    }

    #[test]
    fn a_link_is_read_from_its_attributes() {
        let mut bytes = Request::new(libc::RTM_NEWLINK, 0, &link_body(9));
        assert_eq!(read_link(&bytes.0[HEADER..]), None, "it has no name");
        bytes.attribute(IFLA_IFNAME, b"eth9\0");
        bytes.attribute(IFLA_MTU, &1500u32.to_ne_bytes());
        bytes.attribute(IFLA_MAX_MTU, &9600u32.to_ne_bytes());
        bytes.attribute(IFLA_CARRIER, &[1]);
        let link = read_link(&bytes.0[HEADER..]).unwrap();
        let expected = Link {
            index: 9,
            name: "eth9".to_owned(),
            mtu: 1500,
            mtu_range: (0, 9600),
            carrier: true,
            kind: None,
        };
        assert_eq!(link, expected);
    }

    proptest! {
        #[test]
        fn no_bytes_do_harm(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for (_, body) in messages(&bytes) {
                let _ = (read_link(body), read_address(body), refusal(body));
            }
            let _ = (read_link(&bytes), read_address(&bytes), attributes(&bytes).count());
        }
    }
}
