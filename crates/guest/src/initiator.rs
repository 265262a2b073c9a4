//! The iSCSI initiator of a guest's kernel: what of open-iscsi an image needs, and a guest's logins.
//!
//! The daemon `iscsid` logs in and, after a loss, logs in again; `iscsiadm` tells it what to do. Both are the host's. The way to
//! the target is the guest's network, which is the host's loopback ([`Network`]).

use crate::init::{self, InitError};
use crate::machine::Network;
use crate::program::{self, GuestFile, ProgramError};
use crate::shell;
use clock::Ns;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::{fs, mem};
use thiserror::Error;

/// The modules that it needs, beside those of the network.
pub const MODULES: [&str; 4] = ["iscsi_tcp", "crc32c_generic", "libcrc32c", "sd_mod"];
/// The programs, of the package `open-iscsi`.
const PROGRAMS: [&str; 2] = ["iscsid", "iscsiadm"];
/// The guest's interface.
const INTERFACE: &str = "eth0";

/// How long the daemon may take to listen, and a login to succeed.
const PATIENCE: Ns = Ns::secs(30);
const POLL: Ns = Ns::millis(200);

/// Why a guest does not reach a LUN by its kernel's initiator.
#[derive(Debug, Error)]
pub enum InitiatorError {
    /// A program is not on the host.
    #[error("`{0}` is not here; on Debian it is in the package open-iscsi")]
    NoProgram(&'static str),
    /// One cannot be put into a guest.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// The guest's network or a file.
    #[error("the guest's initiator: {0}")]
    Io(#[from] io::Error),
    /// The network's interface does not appear.
    #[error(transparent)]
    Init(#[from] InitError),
    /// The login failed.
    #[error("the guest's initiator cannot log in to {target} at {portal}: {said}")]
    Login {
        /// The target's name.
        target: String,
        /// `HOST:PORT`.
        portal: String,
        /// What `iscsiadm` said.
        said: String,
    },
}

/// The programs with their libraries, as the host has them.
/// # Errors
/// One is not there.
pub fn files() -> Result<Vec<GuestFile>, InitiatorError> {
    let mut all = Vec::new();
    for name in PROGRAMS {
        let path = shell::find(name).ok_or(InitiatorError::NoProgram(name))?;
        all.extend(program::libraries(&path)?);
        all.push(GuestFile::new(place(name), program::loadable(&path)?));
    }
    Ok(all)
}

/// Where a program is in the guest.
fn place(name: &str) -> PathBuf {
    PathBuf::from("/usr/sbin").join(name)
}

/// The initiator of this guest.
pub struct KernelInitiator(());

impl KernelInitiator {
    /// Brings the network up and starts the daemon, under the name of an initiator.
    /// # Errors
    /// The interface does not appear, or a program does not run.
    pub fn start(name: &str) -> Result<KernelInitiator, InitiatorError> {
        network_up()?;
        for directory in ["/etc/iscsi", "/run/lock/iscsi", "/var/lib/iscsi"] {
            fs::create_dir_all(directory)?;
        }
        fs::write("/etc/iscsi/initiatorname.iscsi", format!("InitiatorName={name}\n"))?;
        fs::write("/etc/iscsi/iscsid.conf", "node.startup = manual\n")?;
        // The daemon asks who talks to it, by name.
        fs::write("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n")?;
        fs::write("/etc/group", "root:x:0:\n")?;
        // The daemon keeps what it inherits.
        let mut daemon = Command::new(place("iscsid"));
        let none = || Stdio::null();
        let status = daemon.stdin(none()).stdout(none()).stderr(none()).status()?;
        match status.success() {
            true => Ok(KernelInitiator(())),
            false => Err(io::Error::other(format!("iscsid ended with {status}")).into()),
        }
    }

    /// Logs in to a target by one of its portals.
    /// # Errors
    /// The target does not let it.
    pub fn log_in(&self, portal: &str, target: &str) -> Result<(), InitiatorError> {
        let deadline = clock::now().plus(PATIENCE);
        let find = ["-m", "discovery", "-t", "sendtargets", "-p", portal];
        let enter = ["-m", "node", "-T", target, "-p", portal, "--login"];
        loop {
            // The daemon may not listen yet.
            let said = match asked(&find)? {
                Ok(()) => asked(&enter)?,
                failed => failed,
            };
            match said {
                Ok(()) => return Ok(()),
                Err(said) if clock::now() >= deadline => {
                    let (target, portal) = (target.to_owned(), portal.to_owned());
                    return Err(InitiatorError::Login { target, portal, said });
                }
                Err(_) => clock::sleep_until(clock::now().plus(POLL)),
            }
        }
    }
}

/// Runs `iscsiadm`; what it said where it failed.
fn asked(arguments: &[&str]) -> io::Result<Result<(), String>> {
    let output = Command::new(place("iscsiadm")).args(arguments).stdin(Stdio::null()).output()?;
    if output.status.success() {
        return Ok(Ok(()));
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    Ok(Err(format!("{line} ({})", output.status)))
}

/// Gives the guest's interface its address.
fn network_up() -> Result<(), InitiatorError> {
    init::interface(INTERFACE)?;
    fs::write("/proc/sys/net/ipv4/conf/all/route_localnet", "1")?;
    let address: Ipv4Addr = Network::GUEST.parse().map_err(io::Error::other)?;
    let socket =
        rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::DGRAM, None)
            .map_err(io::Error::from)?;
    set(&socket, libc::SIOCSIFADDR, |ask| ask.ifr_ifru.ifru_addr = of(address))?;
    let mask = Ipv4Addr::new(255, 0, 0, 0);
    set(&socket, libc::SIOCSIFNETMASK, |ask| ask.ifr_ifru.ifru_netmask = of(mask))?;
    let up = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    set(&socket, libc::SIOCSIFFLAGS, |ask| ask.ifr_ifru.ifru_flags = up)?;
    Ok(())
}

/// An address as these requests have it: port, address, and zeroes, behind the family.
fn of(address: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0; 14];
    for (to, from) in data[2..6].iter_mut().zip(address.octets()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: data }
}

/// Changes the interface.
fn set(
    socket: &OwnedFd,
    request: libc::Ioctl,
    fill: impl FnOnce(&mut libc::ifreq),
) -> io::Result<()> {
    // SAFETY: a structure of numbers, of which all zeroes are a value.
    let mut ask: libc::ifreq = unsafe { mem::zeroed() };
    for (to, from) in ask.ifr_name.iter_mut().zip(INTERFACE.bytes()) {
        *to = libc::c_char::from_ne_bytes([from]);
    }
    fill(&mut ask);
    // SAFETY: the descriptor is open, and the kernel reads one such structure.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), request, &ask) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
