//! Lists of targets: the answer to `SendTargets` (RFC 7143, appendix C), written and read.

use crate::login::{IscsiName, NameError};
use crate::text::{self, TextError};
use std::net::{IpAddr, SocketAddr};

/// Where a target can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Portal {
    /// An address, or a name that has to be resolved; IPv6 without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The portal group; nothing where the target does not say.
    pub group: Option<u16>,
}

/// The TCP port of iSCSI.
pub const PORT: u16 = 3260;

/// What is wrong with a list of targets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// The text is wrong.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The name of a target is wrong.
    #[error("the list names a target wrongly: {0}")]
    Name(#[from] NameError),
    /// An address is wrong.
    #[error("{0:?} is not an address: host[:port][,group], IPv6 in brackets, is expected")]
    Address(String),
    /// An address comes before any target.
    #[error("an address comes before the name of any target")]
    Stray,
}

/// One target of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: IscsiName,
    /// Where it can be reached; empty: where the list comes from.
    pub portals: Vec<Portal>,
}

/// What an initiator asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// `All`: all targets that it may use; in discovery sessions only.
    All,
    /// A name: that target.
    One(IscsiName),
    /// Nothing: the target of this session; in normal sessions only.
    This,
}

impl Which {
    /// Reads the value of `SendTargets`.
    ///
    /// # Errors
    /// It is none of the three.
    pub fn parse(value: &str) -> Result<Which, NameError> {
        match value {
            "All" => Ok(Which::All),
            "" => Ok(Which::This),
            name => name.parse().map(Which::One),
        }
    }
}

impl From<SocketAddr> for Portal {
    fn from(address: SocketAddr) -> Portal {
        Portal { host: address.ip().to_string(), port: address.port(), group: None }
    }
}

impl std::fmt::Display for Portal {
    /// As `TargetAddress` has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port)?,
            false => write!(f, "{}:{}", self.host, self.port)?,
        }
        self.group.map_or(Ok(()), |group| write!(f, ",{group}"))
    }
}

impl std::str::FromStr for Portal {
    type Err = DiscoveryError;

    fn from_str(value: &str) -> Result<Portal, DiscoveryError> {
        let wrong = || DiscoveryError::Address(value.to_owned());
        let (place, group) = match value.split_once(',') {
            Some((place, group)) => (place, Some(group.parse().map_err(|_| wrong())?)),
            None => (value, None),
        };
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(wrong)?;
                // A zone, where there is one, means something only to whoever wrote it.
                let address = host.split('%').next().unwrap_or(host);
                let is_v6 = address.parse::<IpAddr>().is_ok_and(|address| address.is_ipv6());
                (is_v6.then_some(host).ok_or_else(wrong)?, port)
            }
            None => place.find(':').map_or((place, ""), |colon| place.split_at(colon)),
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().map_err(|_| wrong())?,
            None if port.is_empty() => PORT,
            None => return Err(wrong()),
        };
        let plain = |byte: u8| byte.is_ascii_graphic() && !b",[]".contains(&byte);
        if host.is_empty() || !host.bytes().all(plain) || port == 0 {
            return Err(wrong());
        }
        let portal = Portal { host: host.to_owned(), port, group };
        // With the port that it may have left out it must still be a value.
        match portal.to_string().len() {
            0..=text::MAX_PLAIN_VALUE => Ok(portal),
            _ => Err(wrong()),
        }
    }
}

/// Writes a list.
pub fn write<'a>(targets: impl IntoIterator<Item = &'a Listed>) -> Vec<u8> {
    let mut out = Vec::new();
    for target in targets {
        text::push(&mut out, "TargetName", target.name.as_str());
        for portal in &target.portals {
            text::push(&mut out, "TargetAddress", &portal.to_string());
        }
    }
    out
}

/// Reads a list of at most `max_pairs` names and addresses. Other keys are passed over.
///
/// # Errors
/// The first thing that is wrong.
pub fn read(list: &[u8], max_pairs: usize) -> Result<Vec<Listed>, DiscoveryError> {
    let mut targets: Vec<Listed> = Vec::new();
    for (key, value) in text::parse(list, max_pairs)? {
        match key {
            "TargetName" => targets.push(Listed { name: value.parse()?, portals: Vec::new() }),
            "TargetAddress" => {
                let target = targets.last_mut().ok_or(DiscoveryError::Stray)?;
                text::plain(key, value)?;
                target.portals.push(value.parse()?);
            }
            _ => {}
        }
    }
    Ok(targets)
}
