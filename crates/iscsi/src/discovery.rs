//! Lists of targets: formats and parses the answer to `SendTargets` (RFC 7143, appendix C).

use crate::login::{IscsiName, NameError};
use crate::text::{self, TextError};
use std::net::{IpAddr, SocketAddr};

/// The address of a target.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DiscoveredPortal {
    /// An address, or a name to be resolved; IPv6 without brackets.
    pub host: String,
    /// The TCP port.
    pub port: u16,
    /// The portal group tag; `None` if the target omits it.
    pub group: Option<u16>,
}

/// The TCP port of iSCSI.
pub const PORT: u16 = 3260;

/// Why a list of targets is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    /// Invalid text.
    #[error(transparent)]
    Text(#[from] TextError),
    /// Invalid target name.
    #[error("the list has an invalid target name: {0}")]
    Name(#[from] NameError),
    /// Invalid address.
    #[error("{0:?} is not an address: host[:port][,group], IPv6 in brackets, is expected")]
    Address(String),
    /// An address precedes the first target.
    #[error("an address comes before the name of any target")]
    Stray,
}

/// One target of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveredTarget {
    /// Its name.
    pub name: IscsiName,
    /// Its addresses; empty: the address that the list came from.
    pub portals: Vec<DiscoveredPortal>,
}

/// The scope of a `SendTargets` request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SendTargetsScope {
    /// `All`: all targets that the initiator may use; in discovery sessions only.
    All,
    /// The named target.
    One(IscsiName),
    /// Empty: the target of this session; in normal sessions only.
    This,
}

impl SendTargetsScope {
    /// Parses the value of `SendTargets`.
    /// # Errors
    /// The value is not a valid target name.
    pub fn parse(value: &str) -> Result<SendTargetsScope, NameError> {
        match value {
            "All" => Ok(SendTargetsScope::All),
            "" => Ok(SendTargetsScope::This),
            name => name.parse().map(SendTargetsScope::One),
        }
    }
}

impl From<SocketAddr> for DiscoveredPortal {
    fn from(address: SocketAddr) -> DiscoveredPortal {
        DiscoveredPortal { host: address.ip().to_string(), port: address.port(), group: None }
    }
}

impl std::fmt::Display for DiscoveredPortal {
    /// In the format of `TargetAddress`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port)?,
            false => write!(f, "{}:{}", self.host, self.port)?,
        }
        self.group.map_or(Ok(()), |group| write!(f, ",{group}"))
    }
}

impl std::str::FromStr for DiscoveredPortal {
    type Err = DiscoveryError;

    fn from_str(value: &str) -> Result<DiscoveredPortal, DiscoveryError> {
        let wrong = || DiscoveryError::Address(value.to_owned());
        let (place, group) = match value.split_once(',') {
            Some((place, group)) => (place, Some(group.parse().map_err(|_| wrong())?)),
            None => (value, None),
        };
        let (host, port) = match place.strip_prefix('[') {
            Some(rest) => {
                let (host, port) = rest.split_once(']').ok_or_else(wrong)?;
                // An IPv6 zone has a meaning on the host that wrote it only.
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
        let portal = DiscoveredPortal { host: host.to_owned(), port, group };
        // With the port that it may have omitted it must still be a valid value.
        match portal.to_string().len() {
            0..=text::MAX_PLAIN_VALUE => Ok(portal),
            _ => Err(wrong()),
        }
    }
}

/// Formats a list.
pub fn write<'a>(targets: impl IntoIterator<Item = &'a DiscoveredTarget>) -> Vec<u8> {
    let mut out = Vec::new();
    for target in targets {
        text::push(&mut out, "TargetName", target.name.as_str());
        for portal in &target.portals {
            text::push(&mut out, "TargetAddress", &portal.to_string());
        }
    }
    out
}

/// Parses a list of at most `max_pairs` names and addresses. Other keys are skipped.
/// # Errors
/// The first error in the list.
pub fn read(list: &[u8], max_pairs: usize) -> Result<Vec<DiscoveredTarget>, DiscoveryError> {
    let mut targets: Vec<DiscoveredTarget> = Vec::new();
    for (key, value) in text::parse(list, max_pairs)? {
        match key {
            "TargetName" => {
                targets.push(DiscoveredTarget { name: value.parse()?, portals: Vec::new() })
            }
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
