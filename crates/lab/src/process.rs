//! The processes that hold namespaces, and the way of others into them.

use crate::error::LabError;
use clock::Ns;
use rustix::io::Errno;
use rustix::net::{Shutdown, getsockname, shutdown};
use rustix::process::{
    Pid, PidfdFlags, PidfdGetfdFlags, Signal, kill_process, pidfd_getfd, pidfd_open,
};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Settings of a namespace. An interface answers for its own addresses and no others, since a host may have several in one
/// fabric; version 6 would send packets of its own. Of several routes of one cost, addresses and ports choose, and one whose cable
/// or neighbour is dead is not taken; what comes by another of them than it would leave by is taken in.
const SETTINGS: [(&str, &str); 11] = [
    ("net/ipv4/conf/all/arp_ignore", "1"),
    ("net/ipv4/conf/all/arp_announce", "2"),
    ("net/ipv4/conf/default/arp_ignore", "1"),
    ("net/ipv6/conf/all/disable_ipv6", "1"),
    ("net/ipv6/conf/default/disable_ipv6", "1"),
    ("net/ipv4/fib_multipath_hash_policy", "1"),
    ("net/ipv4/fib_multipath_use_neigh", "1"),
    ("net/ipv4/conf/all/ignore_routes_with_linkdown", "1"),
    ("net/ipv4/conf/default/ignore_routes_with_linkdown", "1"),
    ("net/ipv4/conf/all/rp_filter", "0"),
    ("net/ipv4/conf/default/rp_filter", "0"),
];

/// Gives this process new namespaces.
pub(crate) fn unshare(flags: UnshareFlags) -> io::Result<()> {
    #[expect(
        deprecated,
        reason = "it is sound without UnshareFlags::FILES, and needs no unsafe code"
    )]
    rustix::thread::unshare(flags).map_err(Into::into)
}

/// Makes this process root of a user namespace of its own, so that it may make network namespaces.
pub(crate) fn become_root() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    unshare(UnshareFlags::NEWUSER)?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))
}

/// Holds a network namespace until the standard input ends: the body of a node.
/// # Errors
/// The kernel makes none.
pub fn node() -> Result<(), LabError> {
    unshare(UnshareFlags::NEWNET).map_err(|e| LabError::Forbidden(e.to_string()))?;
    for (name, value) in SETTINGS {
        // A kernel without version 6 has no such file.
        let _ = fs::write(format!("/proc/sys/{name}"), value);
    }
    // Who asked for it may be gone, which the end of the input tells as well.
    let _ = io::stdout().write_all(b"ready\n").and_then(|()| io::stdout().flush());
    let _ = io::stdin().read_to_end(&mut Vec::new());
    Ok(())
}

/// Kills a process; nothing happens where there is none.
pub fn kill(process: u32) {
    if let Some(process) = i32::try_from(process).ok().and_then(Pid::from_raw) {
        // It may have ended meanwhile.
        let _ = kill_process(process, Signal::KILL);
    }
}

/// Lets a process into control groups.
/// # Errors
/// It is gone, or there is no such group.
pub fn regroup(process: u32, groups: &[PathBuf]) -> io::Result<()> {
    groups.iter().try_for_each(|group| fs::write(group, process.to_string()))
}

/// Ends the TCP connections that a process has from any of these addresses, and those that it is just making.
/// # Errors
/// The kernel lets nobody reach into the process, or it goes on making them.
pub fn cut(process: u32, from: &[Ipv4Addr]) -> io::Result<()> {
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let handle = pidfd_open(pid.ok_or(io::ErrorKind::NotFound)?, PidfdFlags::empty())?;
    let deadline = clock::now().plus(CUT_MAX);
    let mut quiet = 0;
    while quiet < CUT_QUIET {
        quiet = if cut_once(process, &handle, from)? { 0 } else { quiet + 1 };
        if clock::now() > deadline {
            return Err(io::Error::other("it goes on connecting from where it was"));
        }
        clock::sleep_until(clock::now().plus(CUT_PAUSE));
    }
    Ok(())
}

/// Whether there were any.
fn cut_once(process: u32, handle: &OwnedFd, from: &[Ipv4Addr]) -> io::Result<bool> {
    let mut any = false;
    for entry in fs::read_dir(format!("/proc/{process}/fd"))?.flatten() {
        let number = entry.file_name().to_str().and_then(|name| name.parse().ok());
        let link = fs::read_link(entry.path()).unwrap_or_default();
        let Some(number) = number.filter(|_| link.to_string_lossy().starts_with("socket:")) else {
            continue;
        };
        // One that was closed meanwhile is gone.
        let socket = match pidfd_getfd(handle, number, PidfdGetfdFlags::empty()) {
            Err(Errno::BADF) => continue,
            other => other?,
        };
        let own = getsockname(&socket).ok().and_then(|own| SocketAddrV4::try_from(own).ok());
        let ours = own.is_some_and(|own| from.contains(own.ip()));
        // It fails where the other end has ended it.
        any |= ours && shutdown(&socket, Shutdown::Both).is_ok();
    }
    Ok(any)
}

/// How long a process may go on making connections from where it was.
const CUT_MAX: Ns = Ns::secs(5);
/// Looks in a row without a connection before there are no more.
const CUT_QUIET: u32 = 5;
const CUT_PAUSE: Ns = Ns::millis(5);

/// What the way into a namespace ends with where there is no such program.
pub(crate) const NO_PROGRAM: u8 = 127;
/// What it ends with where the namespace cannot be entered, or the program not be started.
const NOT_ENTERED: u8 = 126;

/// Enters control groups and the namespace of a process, and becomes another program there. Returns only if that fails: the
/// exit code of a shell, and why.
///
/// To be called before the first thread is started: what the program becomes has been there from its first instruction.
#[must_use]
pub fn enter(process: u32, groups: &[PathBuf], program: &[OsString]) -> (u8, String) {
    let [name, args @ ..] = program else {
        return (NOT_ENTERED, "there is no program to run".to_owned());
    };
    if let Err(problem) = entered(process, groups) {
        return (NOT_ENTERED, problem);
    }
    let problem = Command::new(name).args(args).exec();
    let code = if problem.kind() == io::ErrorKind::NotFound { NO_PROGRAM } else { NOT_ENTERED };
    (code, format!("{}: {problem}", name.to_string_lossy()))
}

fn entered(process: u32, groups: &[PathBuf]) -> Result<(), String> {
    for group in groups {
        fs::write(group, std::process::id().to_string())
            .map_err(|e| format!("{}: {e}", group.display()))?;
    }
    let path = |kind: &str| format!("/proc/{process}/ns/{kind}");
    let own = fs::read_link("/proc/self/ns/user").ok();
    if fs::read_link(path("user")).ok() != own {
        join(&path("user"), LinkNameSpaceType::User)?;
    }
    join(&path("net"), LinkNameSpaceType::Network)
}

fn join(path: &str, kind: LinkNameSpaceType) -> Result<(), String> {
    let failed = |e: io::Error| format!("{path}: {e}");
    let file = File::open(path).map_err(failed)?;
    move_into_link_name_space(file.as_fd(), Some(kind)).map_err(|e| failed(e.into()))
}
