//! Examination of a target that Wirespeed did not create: its users, its data, and its token. All of it from one opened
//! descriptor, so that what was examined is what is written.

use crate::grant::{is_examinable, is_own, unopened};
use crate::locks;
use crate::made;
use crate::media::{OpenedMedium, ReadableMedium};
use crate::ownership::{own_file, stamp};
use crate::reservations::{self, Reservation, ReservationQuerier, ReserveInAction, Scsi};
use crate::token::TargetIdentity;
use crate::uses::System;
use crate::{Grants, PathTarget, Remote, samples, signatures};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, SeekFrom, StatxFlags};
use rustix::fs::{fstat, ioctl_blksszget, major, minor, openat, seek, statx};
use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What was found at a target that a workload would write to and that Wirespeed did not make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// The device or file in words: kind, name, model, size in bytes.
    pub what: String,
    /// Its token; useless while the target is in use.
    pub token: String,
    /// Who uses it: one sentence each. No token and no flag helps against these.
    pub uses: Vec<String>,
    /// What would be lost: signatures or foreign data. The second flag gives it up.
    pub carries: Vec<String>,
    /// What the token is made of: the target, and what it carries.
    pub(crate) identity: TargetIdentity,
    /// The same if it carried nothing.
    pub(crate) blank: TargetIdentity,
}

/// What is at a path that Wirespeed did not make, for `plan`; `None` where there is nothing to examine. The
/// error is why it cannot be examined. `serves`: it would be served.
pub fn examine(
    found: &PathTarget,
    grants: &Grants,
    serves: bool,
) -> Option<Result<Examined, String>> {
    if !is_examinable(found) || is_own(found, grants, serves) {
        return None;
    }
    Some(match found.open_to_read(false) {
        Ok(fd) => Examined::new(found, fd.as_fd(), false),
        Err(e) => Err(unopened(e)),
    })
}

/// What a remote target is, for `plan`.
/// # Errors
///
/// Why it cannot be examined.
pub fn examine_remote(remote: &dyn Remote) -> Result<Examined, String> {
    let uses = uses_of(remote)?;
    let content = content(remote).map_err(|e| format!("it cannot be examined ({e})"))?;
    Ok(Examined::of(remote.what(), identity_of(remote), uses, content))
}

impl Examined {
    /// Looks at what was found, through a readable descriptor. A reading error is a refusal: the content is unknown.
    /// `claimed`: the locks are this process's own.
    pub(crate) fn new(
        found: &PathTarget,
        fd: BorrowedFd<'_>,
        claimed: bool,
    ) -> Result<Examined, String> {
        let unread = |e: io::Error| format!("it cannot be examined ({e})");
        let size = seek(fd, SeekFrom::End(0)).map_err(|e| unread(e.into()))?;
        let medium = OpenedMedium::new(&fd, size);
        let (what, identity, uses) = match found.kind() {
            FileType::BlockDevice => device(found, fd, size, claimed)?,
            FileType::RegularFile => file(found, fd, size, claimed).map_err(unread)?,
            _ => return Err(format!("it is {}", found.kind_name())),
        };
        Ok(Examined::of(what, identity, uses, content(&medium).map_err(unread)?))
    }

    /// The token is bound to the target and to what was found on it: what comes there later is another matter.
    fn of(what: String, blank: TargetIdentity, uses: Vec<String>, content: Content) -> Examined {
        let mut identity = blank.clone();
        if !content.carries.is_empty() {
            identity.push("content", content.digest);
        }
        let token = identity.token();
        Examined { what, token, uses, carries: content.carries, identity, blank }
    }
}

/// Why a remote target must not be written now.
pub(crate) fn uses_of(remote: &dyn Remote) -> Result<Vec<String>, String> {
    let mut uses = remote.forbids();
    match reservations::foreign(&ReservationQuery(remote)) {
        Ok(None) => {}
        Ok(Some(reservation)) => uses.push(format!("it is reserved by another: {reservation}")),
        Err(e) => return Err(format!("its reservations cannot be read ({e})")),
    }
    Ok(uses)
}

/// What a remote target is, whatever its address.
pub(crate) fn identity_of(remote: &dyn Remote) -> TargetIdentity {
    let mut identity = TargetIdentity::default();
    identity.push("kind", "remote");
    for (name, value) in remote.identity() {
        identity.push(name, value);
    }
    identity.push("size", remote.size());
    identity.push("block", remote.block());
    identity
}

/// A remote target as it is asked for reservations.
struct ReservationQuery<'a>(&'a dyn Remote);

impl ReservationQuerier for ReservationQuery<'_> {
    fn persistent_reserve_in(&self, action: ReserveInAction) -> io::Result<Option<Vec<u8>>> {
        self.0.persistent_reserve_in(&action.command())
    }

    fn is_ours(&self, key: u64) -> bool {
        self.0.is_ours(key)
    }
}

/// What a medium carries that Wirespeed did not write.
struct Content {
    /// In words; nothing where it is blank or ours.
    carries: Vec<String>,
    /// Of all foreign samples and of what bears a signature, in hexadecimal.
    digest: String,
}

/// Signatures; and where there are none, whether samples show data that Wirespeed did not write.
fn content(medium: &dyn ReadableMedium) -> io::Result<Content> {
    let signatures = signatures::signatures(medium)?;
    let survey = samples::survey(medium, stamp::is_ours)?;
    let mut digest = Sha256::new();
    digest.update(survey.digest);
    for signature in &signatures {
        let mut page = [0; 4096];
        let there = (medium.size() - signature.offset).min(page.len() as u64) as usize;
        medium.read_at(signature.offset, &mut page[..there])?;
        digest.update(signature.to_string());
        digest.update(page);
    }
    let mut carries: Vec<String> = signatures.iter().map(ToString::to_string).collect();
    if carries.is_empty()
        && let Some(offset) = survey.foreign
    {
        carries.push(format!("data that Wirespeed did not write, at byte {offset} for one"));
    }
    let digest = digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Content { carries, digest })
}

type Parts = (String, TargetIdentity, Vec<String>);

fn device(
    found: &PathTarget,
    fd: BorrowedFd<'_>,
    size: u64,
    claimed: bool,
) -> Result<Parts, String> {
    let system = System::default();
    let number = found.stat().st_rdev;
    let node = system.node(number).ok_or("it is a block device that /sys does not know")?;
    let disk = match node.join("partition").exists() {
        true => node.parent().map_or_else(|| node.clone(), Path::to_path_buf),
        false => node.clone(),
    };
    let mut identity = TargetIdentity::default();
    identity.push("kind", "block device");
    let lasting = ["wwid", "device/wwid", "serial", "device/serial", "dm/uuid", "md/uuid"];
    let lasting: Vec<_> = lasting.iter().filter_map(|f| Some((*f, read(&disk.join(f))?))).collect();
    for (name, value) in &lasting {
        identity.push(name, value);
    }
    if lasting.is_empty() {
        // What has no name of its own is known by its place, and by a number that the kernel never gives twice.
        identity.push("number", format!("{}:{}", major(number), minor(number)));
        identity.push("sequence", read(&disk.join("diskseq")).unwrap_or_default());
        identity.push("behind", read(&disk.join("loop/backing_file")).unwrap_or_default());
    }
    for name in ["partition", "start"] {
        identity.push(name, read(&node.join(name)).unwrap_or_default());
    }
    let model = ["device/model", "dm/name", "loop/backing_file", "md/level"];
    let model = model.iter().find_map(|file| read(&disk.join(file)));
    identity.push("model", model.clone().unwrap_or_default());
    identity.push("size", size);
    identity.push("block", ioctl_blksszget(fd).unwrap_or_default());

    let mut uses = uses_of_device(&system, number, &node, fd, claimed);
    match reserved(fd, &node, &disk) {
        Ok(None) => {}
        Ok(Some(reservation)) => uses.push(format!("it is reserved by another: {reservation}")),
        Err(e) => return Err(format!("its reservations cannot be read ({e})")),
    }
    let name = node.file_name().map_or(String::new(), |n| n.to_string_lossy().into_owned());
    let part = if disk == node { "" } else { "a partition of " };
    let model = model.map_or(String::new(), |model| format!(" ({part}{model})"));
    Ok((format!("the block device {name}{model} of {size} bytes"), identity, uses))
}

/// Who uses a device on this machine. `claimed`: the locks are this process's own.
fn uses_of_device(
    system: &System,
    number: u64,
    node: &Path,
    fd: BorrowedFd<'_>,
    claimed: bool,
) -> Vec<String> {
    let mut uses = system.uses_of_device(number);
    if read(&node.join("ro")).is_some_and(|flag| flag == "1") {
        uses.push("it is read-only".to_owned());
    }
    if !claimed {
        uses.extend(locked_device(fd, number, node));
    }
    uses
}

/// Whether a device is the very disk that was made for this run under a serial number, and nothing on this machine uses it.
/// No other host reaches it, so that its reservations are not asked for: virtual adapters have none, or fail at the question.
pub(crate) fn is_made(
    serial: &str,
    found: &PathTarget,
    fd: BorrowedFd<'_>,
    claimed: bool,
) -> Result<(), String> {
    let (system, number) = (System::default(), found.stat().st_rdev);
    let node = system.node(number).ok_or("it is a block device that /sys does not know")?;
    let name = node.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
    let uses = uses_of_device(&system, number, &node, fd, claimed);
    let own = made::serial_of(&node);
    made::is_made(serial, own.as_deref(), &format!("the block device {name}"), &uses)
}

/// Another's reservation. A partition's disk is asked, because the kernel passes no command through for a part of one.
fn reserved(fd: BorrowedFd<'_>, node: &Path, disk: &Path) -> io::Result<Option<Reservation>> {
    if node == disk {
        return reservations::foreign(&Scsi::new(&fd));
    }
    let name = disk.file_name().unwrap_or_default();
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let whole = openat(CWD, Path::new("/dev").join(name), flags, Mode::empty())?;
    reservations::foreign(&Scsi::new(&whole))
}

/// Another's lock on a device, by this node or by the one that programs of the system use.
fn locked_device(fd: BorrowedFd<'_>, number: u64, node: &Path) -> Option<String> {
    if let Err(why) = locks::free(fd) {
        return Some(why);
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let usual = Path::new("/dev").join(node.file_name()?);
    let usual = openat(CWD, usual, flags, Mode::empty()).ok()?;
    let same = fstat(&usual).is_ok_and(|stat| stat.st_rdev == number);
    same.then(|| locks::free(usual.as_fd()).err()).flatten()
}

fn file(found: &PathTarget, fd: BorrowedFd<'_>, size: u64, claimed: bool) -> io::Result<Parts> {
    let stat = found.stat();
    let born = statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME)?.stx_btime;
    let mut identity = TargetIdentity::default();
    identity.push("kind", "file");
    identity.push("device", stat.st_dev);
    identity.push("inode", stat.st_ino);
    identity.push("born", format!("{}.{:09}", born.tv_sec, born.tv_nsec));
    identity.push("size", size);
    let uses = uses_of_file(found, fd, claimed);
    let why = own_file(fd, &Grants::default(), false).err().unwrap_or_default();
    let why = why.trim_start_matches("it ");
    Ok((format!("a regular file of {size} bytes that {why}"), identity, uses))
}

/// Who uses a file. `claimed`: the locks are this process's own, which has it open for writing.
pub(crate) fn uses_of_file(found: &PathTarget, fd: BorrowedFd<'_>, claimed: bool) -> Vec<String> {
    let system = System::default();
    let (device, inode) = (found.stat().st_dev, found.stat().st_ino);
    let mut uses = system.uses_of_file(device, inode);
    if claimed {
        return uses;
    }
    uses.extend(locks::free(fd).err());
    if uses.is_empty() && !system.own_writer(device, inode) && locks::is_written(fd) {
        uses.push("it is open for writing by a program that is not visible here".to_owned());
    }
    uses
}

fn read(path: &PathBuf) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
