//! Why an interface could not be read or set, each with the next action.

use std::io;
use std::net::IpAddr;
use thiserror::Error;

/// What can be wrong with an interface.
#[derive(Debug, Error)]
pub enum InterfaceError {
    /// No interface of that name.
    #[error("{interface}: there is no such interface here; `ip -brief link` lists them")]
    Missing {
        /// The name.
        interface: String,
    },
    /// None has the address.
    #[error("no interface has {address}; `ip -brief address` lists all addresses")]
    NoAddress {
        /// The name.
        address: IpAddr,
    },
    /// It could not be read.
    #[error("{interface}: could not be read: {source}")]
    Unread {
        /// Its name or address.
        interface: String,
        /// What the kernel said.
        source: io::Error,
    },
    /// This process must not change it.
    #[error(
        "{interface}: no permission to change it; run it as root, or with `setcap cap_net_admin+ep` on the program"
    )]
    Forbidden {
        /// Its name.
        interface: String,
    },
    /// The driver has bounds.
    #[error(
        "{interface}: an MTU of {mtu} B is out of the range of its driver, {least} to {most} B"
    )]
    MtuRange {
        /// Its name.
        interface: String,
        /// The name.
        mtu: u32,
        /// The driver's least.
        least: u32,
        /// The driver's greatest.
        most: u32,
    },
    /// The kernel would remove addresses that cannot be restored.
    #[error(
        "{interface}: with an MTU of {mtu} B the kernel would take its IPv6 addresses away for good, since IPv6 needs 1280 \
         B; choose 1280 or more, or an interface without them (`sysctl net.ipv6.conf.{interface}.disable_ipv6=1`)"
    )]
    MtuOfIpv6 {
        /// Its name.
        interface: String,
        /// The name.
        mtu: u32,
    },
    /// The kernel or the driver did not take it.
    #[error("{interface}: {what} could not be set: {source}{advice}")]
    Unset {
        /// Its name.
        interface: String,
        /// What was to be set.
        what: String,
        /// What the kernel said.
        source: io::Error,
        /// What to do, where something is known.
        advice: &'static str,
    },
    /// The kernel accepted it without effect.
    #[error(
        "{interface}: {what} did not become what was asked, though the kernel took it; its driver holds it: choose another \
         interface, or leave `offload` away"
    )]
    Held {
        /// Its name.
        interface: String,
        /// What was to be set.
        what: String,
    },
    /// After a change the link stayed down.
    #[error(
        "{interface}: after the change its link stayed down for {seconds} s; check cable and switch"
    )]
    Down {
        /// Its name.
        interface: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// It was replaced by another one.
    #[error("{interface}: it was replaced since the test began; nothing was restored")]
    Another {
        /// Its name.
        interface: String,
    },
    /// The process that restores it did not start, so nothing was changed.
    #[error(
        "{interface}: not changed, since the process that restores it could not be started: {why}"
    )]
    Unguarded {
        /// Its name.
        interface: String,
        /// What was wrong.
        why: String,
    },
}

impl InterfaceError {
    pub(super) fn reading(interface: &str, source: io::Error) -> InterfaceError {
        let interface = interface.to_owned();
        match source.raw_os_error() {
            Some(libc::ENODEV) => InterfaceError::Missing { interface },
            _ => InterfaceError::Unread { interface, source },
        }
    }

    /// Of setting something at it.
    pub(super) fn setting(interface: &str, what: String, source: io::Error) -> InterfaceError {
        let interface = interface.to_owned();
        let advice = match source.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => return InterfaceError::Forbidden { interface },
            Some(libc::ENODEV) => return InterfaceError::Missing { interface },
            Some(libc::EINVAL) => {
                "; the driver has bounds, which may depend on its queues or an attached program (XDP)"
            }
            Some(libc::ERANGE) => {
                "; a VLAN or a team carries no more than the interfaces below it: set theirs first"
            }
            Some(libc::EBUSY) => "; the interface is in use: release it first",
            Some(libc::EOPNOTSUPP) => "; its driver does not support it",
            _ => "",
        };
        InterfaceError::Unset { interface, what, source, advice }
    }
}
