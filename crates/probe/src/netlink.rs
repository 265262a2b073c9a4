//! Netlink: what the kernel tells of interfaces, queueing disciplines and TCP sockets, in the network namespace of the calling
//! thread, whatever is mounted on `/sys`. Requests are dumps; answers are read with every length checked.

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, netlink, recv, send, socket};
use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

/// Bytes of one answer at most: some hundred thousand sockets.
const MOST: usize = 64 << 20;
const HEADER: usize = 16;
const DONE: u16 = 3;
const FAILED: u16 = 2;
/// A request for all there is.
const DUMP: u16 = 0x301;

/// The two parts of the kernel that are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    Route,
    Sockets,
}

/// Asks for a dump and returns its messages, one after the other, as the kernel wrote them.
pub(crate) fn dump(family: Family, kind: u16, body: &[u8]) -> Result<Vec<u8>> {
    let protocol = match family {
        // The first of them, which has no number of its own.
        Family::Route => None,
        Family::Sockets => Some(netlink::SOCK_DIAG),
    };
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, protocol)?;
    set_socket_timeout(&socket, Timeout::Recv, Some(Duration::from_secs(2)))?;
    let length = u32::try_from(HEADER + body.len()).map_err(|_| ErrorKind::InvalidInput)?;
    let mut request = Vec::with_capacity(HEADER + body.len());
    request.extend(length.to_ne_bytes());
    request.extend(kind.to_ne_bytes());
    request.extend(DUMP.to_ne_bytes());
    request.extend(1_u32.to_ne_bytes());
    request.extend(0_u32.to_ne_bytes());
    request.extend(body);
    send(&socket, &request, SendFlags::empty())?;
    let (mut all, mut buffer) = (Vec::new(), vec![0_u8; 64 << 10]);
    loop {
        let (length, _) = recv(&socket, &mut buffer[..], RecvFlags::empty())?;
        let part = &buffer[..length.min(buffer.len())];
        let ended = messages(part).any(|(kind, _)| kind == DONE);
        if let Some((_, body)) = messages(part).find(|(kind, _)| *kind == FAILED) {
            let code = field(body, 0).map_or(0, i32::from_ne_bytes);
            return Err(Error::from_raw_os_error(code.saturating_neg()));
        }
        all.extend_from_slice(part);
        if ended {
            return Ok(all);
        }
        if part.is_empty() || all.len() > MOST {
            return Err(Error::from(ErrorKind::InvalidData));
        }
    }
}

/// A field of fixed length, where it is whole.
pub(crate) fn field<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at.checked_add(N)?)?.try_into().ok()
}

/// Numbers of the machine's byte order.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    field(bytes, at).map(u32::from_ne_bytes)
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    field(bytes, at).map(u64::from_ne_bytes)
}

/// Messages by their kind, without their headers. What is cut off ends them.
pub(crate) fn messages(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    chunks(bytes, HEADER, |header| {
        let length = usize::try_from(u32_at(header, 0)?).ok()?;
        Some((length, field(header, 4).map(u16::from_ne_bytes)?))
    })
}

/// Attributes by their kind, without the bits that say how they are nested.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    chunks(bytes, 4, |header| {
        let length = usize::from(u16::from_ne_bytes(field(header, 0)?));
        Some((length, u16::from_ne_bytes(field(header, 2)?) & 0x3fff))
    })
}

/// The value of one attribute.
pub(crate) fn attribute(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(of, _)| *of == kind).map(|(_, value)| value)
}

/// Pieces that begin with their length, header included, each at a multiple of four.
fn chunks(
    mut bytes: &[u8],
    header: usize,
    read: impl Fn(&[u8]) -> Option<(usize, u16)>,
) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = read(bytes.get(..header)?)?;
        let body = bytes.get(header..length)?;
        let next = length.checked_next_multiple_of(4)?.min(bytes.len());
        bytes = &bytes[next..];
        Some((kind, body))
    })
}

/// A text that ends with a zero.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
