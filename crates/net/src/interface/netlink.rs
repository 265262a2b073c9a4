//! Interfaces as the kernel's routing socket tells of them (rtnetlink(7)): their names, MTUs and addresses, and the setting
//! of an MTU. `neli` writes and reads the messages; each request has a socket of its own, in the caller's network
//! namespace.

use neli::consts::nl::NlmF;
use neli::consts::rtnl::{Ifa, Ifla, IflaInfo, RtAddrFamily, RtScope, Rtm};
use neli::consts::socket::NlFamily;
use neli::err::{BuilderError, SocketError};
use neli::nl::{NlPayload, Nlmsghdr, NlmsghdrBuilder};
use neli::rtnl::{Ifaddrmsg, IfaddrmsgBuilder, Ifinfomsg, IfinfomsgBuilder, RtattrBuilder};
use neli::socket::synchronous::NlSocketHandle;
use neli::types::{Buffer, RtBuffer};
use neli::utils::Groups;
use neli::{FromBytesWithInput, Size, ToBytes};
use std::fmt::Debug;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Parts of an answer, at most: an end for a conversation that has lost its own.
const PARTS_MAX: usize = 10_000;

/// A link as the kernel tells of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct LinkInfo {
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
pub(super) enum LinkSelector<'a> {
    Name(&'a str),
    Index(u32),
}

/// A link of this network namespace.
pub(super) fn link(which: LinkSelector<'_>) -> io::Result<LinkInfo> {
    let (index, attributes) = match which {
        LinkSelector::Name(name) => (0, attribute(Ifla::Ifname, name)?),
        LinkSelector::Index(index) => (index, RtBuffer::new()),
    };
    let mut found = None;
    let take = |body: &Ifinfomsg| found = read_link(body);
    ask(Rtm::Getlink, NlmF::ACK, link_body(index, attributes)?, take)?;
    found.ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Sets the MTU of a link.
pub(super) fn set_mtu(index: u32, mtu: u32) -> io::Result<()> {
    let body = link_body(index, attribute(Ifla::Mtu, mtu)?)?;
    ask(Rtm::Setlink, NlmF::ACK, body, |_| {})
}

/// All addresses of this network namespace, each with the index of its link.
pub(super) fn addresses() -> io::Result<Vec<(u32, IpAddr)>> {
    let body = IfaddrmsgBuilder::default()
        .ifa_family(RtAddrFamily::Unspecified)
        .ifa_prefixlen(0)
        .ifa_scope(RtScope::Universe)
        .ifa_index(0);
    let body = body.build().map_err(unbuilt)?;
    let mut all = Vec::new();
    ask(Rtm::Getaddr, NlmF::DUMP, body, |body: &Ifaddrmsg| all.extend(read_address(body)))?;
    Ok(all)
}

fn link_body(index: u32, attributes: RtBuffer<Ifla, Buffer>) -> io::Result<Ifinfomsg> {
    let body = IfinfomsgBuilder::default()
        .ifi_family(RtAddrFamily::Unspecified)
        .ifi_index(i32::try_from(index).map_err(io::Error::other)?)
        .rtattrs(attributes);
    body.build().map_err(unbuilt)
}

fn attribute<T>(kind: Ifla, value: T) -> io::Result<RtBuffer<Ifla, Buffer>>
where
    T: Size + ToBytes,
{
    let attribute = RtattrBuilder::default().rta_type(kind).rta_payload(value);
    Ok([attribute.build().map_err(unbuilt)?].into_iter().collect())
}

fn read_link(body: &Ifinfomsg) -> Option<LinkInfo> {
    let index = u32::try_from(*body.ifi_index()).ok()?;
    let mut link = LinkInfo { index, ..LinkInfo::default() };
    for attribute in body.rtattrs().iter() {
        let value = attribute.rta_payload().as_ref();
        match attribute.rta_type() {
            Ifla::Ifname => link.name = text(value),
            Ifla::Mtu => link.mtu = word(value)?,
            Ifla::MinMtu => link.mtu_range.0 = word(value)?,
            Ifla::MaxMtu => link.mtu_range.1 = word(value)?,
            Ifla::Carrier => link.carrier = value.first() == Some(&1),
            Ifla::Linkinfo => {
                let inner = attribute.get_attr_handle::<IflaInfo>().ok()?;
                let kind = inner.get_attribute(IflaInfo::Kind);
                link.kind = kind.map(|kind| text(kind.rta_payload().as_ref()));
            }
            _ => {}
        }
    }
    (!link.name.is_empty()).then_some(link)
}

/// The address of this end: where an interface has a peer's besides, that is another attribute.
fn read_address(body: &Ifaddrmsg) -> Option<(u32, IpAddr)> {
    let of = |wanted| body.rtattrs().iter().find(|attribute| *attribute.rta_type() == wanted);
    let value = of(Ifa::Local).or_else(|| of(Ifa::Address))?.rta_payload().as_ref();
    let address = match value.len() {
        4 => IpAddr::V4(Ipv4Addr::from(*value.first_chunk::<4>()?)),
        16 => IpAddr::V6(Ipv6Addr::from(*value.first_chunk::<16>()?)),
        _ => return None,
    };
    Some((*body.ifa_index(), address))
}

fn word(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|bytes| u32::from_ne_bytes(*bytes))
}

fn text(value: &[u8]) -> String {
    let bytes = value.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(bytes).into_owned()
}

/// Asks, and hands each message of the answer to `take`, until the answer is complete or the kernel says no.
fn ask<P>(kind: Rtm, flags: NlmF, body: P, mut take: impl FnMut(&P)) -> io::Result<()>
where
    P: Size + ToBytes + FromBytesWithInput<Input = usize> + Debug,
{
    let socket = NlSocketHandle::connect(NlFamily::Route, None, Groups::empty()).map_err(failed)?;
    let request = NlmsghdrBuilder::default()
        .nl_type(kind)
        .nl_flags(NlmF::REQUEST | flags)
        .nl_payload(NlPayload::Payload(body));
    socket.send(&request.build().map_err(unbuilt)?).map_err(failed)?;
    for _ in 0..PARTS_MAX {
        let (messages, _) = socket.recv::<Rtm, P>().map_err(failed)?;
        for message in messages {
            let message: Nlmsghdr<Rtm, P> = message.map_err(failed)?;
            match message.nl_payload() {
                NlPayload::Payload(body) => take(body),
                NlPayload::Err(refusal) => return refused(*refusal.error()),
                NlPayload::DumpExtAck(end) => return refused(*end.error()),
                NlPayload::Ack(_) | NlPayload::Empty => return Ok(()),
            }
        }
    }
    Err(io::ErrorKind::InvalidData.into())
}

/// A negative error number, or 0 for done.
fn refused(error: i32) -> io::Result<()> {
    match error {
        0 => Ok(()),
        error => Err(io::Error::from_raw_os_error(error.saturating_neg())),
    }
}

fn failed(error: SocketError) -> io::Error {
    match error {
        SocketError::Io(error) => match error.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::new(error.kind(), error),
        },
        other => io::Error::new(io::ErrorKind::InvalidData, other),
    }
}

fn unbuilt(error: impl Into<BuilderError>) -> io::Error {
    io::Error::other(error.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_found_by_name_index_and_address() {
        let lo = link(LinkSelector::Name("lo")).unwrap();
        assert_eq!((lo.name.as_str(), lo.index), ("lo", 1));
        assert_eq!(link(LinkSelector::Index(lo.index)).unwrap(), lo);
        assert!(addresses().unwrap().contains(&(1, Ipv4Addr::LOCALHOST.into())));
        let nobody = link(LinkSelector::Name("no-such-one")).unwrap_err();
        assert_eq!(nobody.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn an_address_is_that_of_this_end() {
        let of = |attributes: &[(Ifa, [u8; 4])]| {
            let built = |(kind, value): &(Ifa, [u8; 4])| {
                let payload = Buffer::from(value.to_vec());
                RtattrBuilder::default().rta_type(*kind).rta_payload(payload).build().unwrap()
            };
            let body = IfaddrmsgBuilder::default()
                .ifa_family(RtAddrFamily::Inet)
                .ifa_prefixlen(24)
                .ifa_scope(RtScope::Universe)
                .ifa_index(7)
                .rtattrs(attributes.iter().map(built).collect());
            read_address(&body.build().unwrap())
        };
        let (theirs, ours) = ((Ifa::Address, [192, 0, 2, 2]), (Ifa::Local, [192, 0, 2, 1]));
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[theirs]), Some((7, Ipv4Addr::new(192, 0, 2, 2).into())));
        assert_eq!(of(&[theirs, ours]), Some((7, Ipv4Addr::new(192, 0, 2, 1).into())));
    }

    #[test]
    fn a_link_is_read_from_its_attributes() {
        let read = |attributes| read_link(&link_body(9, attributes).unwrap());
        assert_eq!(read(RtBuffer::new()), None, "it has no name");
        let attributes = [
            attribute(Ifla::Ifname, "eth9"),
            attribute(Ifla::Mtu, 1500u32),
            attribute(Ifla::MaxMtu, 9600u32),
            attribute(Ifla::Carrier, 1u8),
        ];
        let attributes = attributes.into_iter().flat_map(Result::unwrap).collect();
        let expected = LinkInfo {
            index: 9,
            name: "eth9".to_owned(),
            mtu: 1500,
            mtu_range: (0, 9600),
            carrier: true,
            kind: None,
        };
        assert_eq!(read(attributes), Some(expected));
    }
}
