//! What a target is, what a step would do with it, and whether it may: one decision, for `plan` and for the run.

use crate::conditioning::Filling;
use crate::create::{folder_of, room_in, short_of_room};
use crate::device::{device_facts, logical_block, mount_facts, polled_queues};
use crate::operations::{supported, supported_remotely};
use crate::remote::{self, Schemes, Unreachable};
use engine::{EngineError, QueueKind, TargetSpec};
use guard::{Examined, GrantError, Grants, PathTarget, Remote, WriteRequest};
use record::Fact;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, SeekFrom, StatxFlags, ioctl_blksszget, seek, statx};
use rustix::io::Errno;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use workload::Extent;

/// The logical block of targets that have none by themselves, in bytes.
pub(crate) const BLOCK: u32 = 512;

/// The size of `null:` where none is given, in bytes.
const NULL_SIZE: u64 = 1 << 40;

/// What a step would do with a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub enum Use {
    /// Nothing is there; I/O completes at once.
    Null,
    /// Read it.
    Read,
    /// Write to it (and perhaps read it).
    Write,
    /// Create it, then read it.
    CreateAndRead,
    /// Create it, then write to it (and perhaps read it).
    CreateAndWrite,
}

/// What `plan` says of a target.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetReport {
    /// Its name.
    pub name: String,
    /// Its path or URL.
    pub url: String,
    /// What is at the path, with an article: `a regular file`, `nothing yet`.
    pub what: String,
    /// Its size in bytes, or the size that it will have.
    pub size: Option<u64>,
    /// Its logical block in bytes, of which every I/O is a multiple.
    pub block: Option<u32>,
    /// What would be done with it; `Err` says why it cannot be or may not be
    /// ([`EngineError::Refused`] where the guard forbids it).
    pub fate: Result<Use, EngineError>,
    /// What would be written to it before that.
    pub filling: Filling,
    /// Where it would be written and Wirespeed did not make it: what the guard found, or why it could not look.
    pub examined: Option<Result<Examined, String>>,
    /// Device, queue settings, file system, free space.
    pub facts: Vec<Fact>,
}

/// Examines a target as a step would, without opening it for writing or creating it. `writes`: a workload writes.
pub fn inspect(spec: &TargetSpec, writes: bool) -> TargetReport {
    Schemes::default().inspect(spec, writes)
}

/// Examines what would be served as a volume, for reading or also for writing.
pub fn inspect_served(spec: &TargetSpec, writes: bool) -> TargetReport {
    inspect_local(&WriteRequest { serves: true, ..request(spec) }, spec, writes)
}

impl Schemes {
    /// [`inspect`], with targets of these schemes as well.
    pub fn inspect(&self, spec: &TargetSpec, writes: bool) -> TargetReport {
        match self.remote(spec) {
            None => inspect_local(&request(spec), spec, writes),
            Some(found) => inspect_remote(spec, writes, found),
        }
    }

    /// The target of a URL of these schemes; `None` where it is a path or of another scheme.
    pub(crate) fn remote(&self, spec: &TargetSpec) -> Option<Result<Arc<dyn Remote>, EngineError>> {
        let resolver = self.get(scheme(&spec.url)?)?;
        Some(plain(spec).and_then(|()| {
            resolver.find(&spec.url, spec.secret.as_ref()).map_err(|e| unreachable(spec, e))
        }))
    }
}

/// Settings of files and devices mean nothing for a remote target.
fn plain(spec: &TargetSpec) -> Result<(), EngineError> {
    let given = [
        (spec.create.is_some(), "create"),
        (spec.buffered, "buffered"),
        (spec.polled, "polled"),
        (spec.queue != QueueKind::Auto, "queue"),
    ];
    match given.iter().find(|(given, _)| *given) {
        None => Ok(()),
        Some((_, name)) => Err(EngineError::Unsupported(format!(
            "{}: `{name}` is for files and devices; leave it out for {}",
            spec.name, spec.url
        ))),
    }
}

/// A target that a resolver cannot find or use.
pub(crate) fn unreachable(spec: &TargetSpec, why: Unreachable) -> EngineError {
    match why {
        Unreachable::Url(why) => EngineError::Unsupported(format!("{}: {why}", spec.name)),
        Unreachable::Target(problem) => trouble(spec, problem),
    }
}

fn inspect_remote(
    spec: &TargetSpec,
    writes: bool,
    found: Result<Arc<dyn Remote>, EngineError>,
) -> TargetReport {
    let report = |what: &str, fate| TargetReport {
        name: spec.name.clone(),
        url: spec.url.clone(),
        what: what.to_owned(),
        size: None,
        block: None,
        fate,
        filling: Filling::Nothing,
        examined: None,
        facts: Vec::new(),
    };
    let remote = match found {
        Ok(remote) => remote,
        Err(e) => return report("nothing that can be reached", Err(e)),
    };
    let own = Grants::default();
    let fate = match writes {
        false => Ok(Use::Read),
        true => guard::may_write_remote(&request(spec), &*remote, &own)
            .map(|()| Use::Write)
            .map_err(|e| ungranted(spec, e)),
    };
    let fate =
        fate.and_then(|fate| supported_remotely(spec, &*remote, &spec.demand).map(|()| fate));
    TargetReport {
        size: Some(remote.size()),
        block: Some(remote.block()),
        filling: match &fate {
            Ok(_) => Filling::of(spec, remote.size(), false),
            Err(_) => Filling::Nothing,
        },
        examined: writes.then(|| guard::examine_remote(&*remote)),
        facts: remote::facts_of(&spec.name, &spec.url, &*remote),
        ..report(&remote.what(), fate)
    }
}

fn inspect_local(request: &WriteRequest<'_>, spec: &TargetSpec, writes: bool) -> TargetReport {
    let own = Grants::default();
    let judged = judge_for(request, spec, writes, &own);
    let found = PathTarget::at(Path::new(&spec.url), true).ok().flatten();
    let what = match (&found, &judged) {
        (_, Ok(TargetVerdict::Null { .. })) => "nothing: I/O completes at once",
        (Some(found), _) => found.kind_name(),
        (None, _) => "nothing yet",
    };
    let size = match &judged {
        Ok(TargetVerdict::Null { size }) => Some(*size),
        Ok(TargetVerdict::Create { bytes }) => Some(*bytes),
        _ => found.as_ref().and_then(size_unopened),
    };
    let judged = judged.and_then(|verdict| match verdict {
        TargetVerdict::Null { .. } => Ok(verdict),
        other => supported(spec, found.as_ref(), &spec.demand).map(|()| other),
    });
    let filling = match &judged {
        Ok(TargetVerdict::Create { bytes }) => Filling::of(spec, *bytes, true),
        Ok(TargetVerdict::Open(_)) => Filling::of(spec, size.unwrap_or(0), false),
        Ok(TargetVerdict::Null { .. }) | Err(_) => Filling::Nothing,
    };
    let fate = judged.map(|verdict| match verdict {
        TargetVerdict::Null { .. } => Use::Null,
        TargetVerdict::Create { .. } if writes => Use::CreateAndWrite,
        TargetVerdict::Create { .. } => Use::CreateAndRead,
        TargetVerdict::Open(_) if writes => Use::Write,
        TargetVerdict::Open(_) => Use::Read,
    });
    let facts = facts_of(spec, found.as_ref());
    TargetReport {
        name: spec.name.clone(),
        url: spec.url.clone(),
        what: what.to_owned(),
        size,
        block: block_unopened(spec, found.as_ref()),
        fate,
        filling,
        examined: if writes { examined(spec, &own, request.serves) } else { None },
        facts,
    }
}

/// The logical block of a file or device, or of the disk that a file would be created on.
fn block_unopened(spec: &TargetSpec, found: Option<&PathTarget>) -> Option<u32> {
    if spec.buffered || spec.url == "null:" {
        return Some(BLOCK);
    }
    let device = match found {
        Some(found) => found.device(),
        None => std::fs::metadata(folder_of(Path::new(&spec.url))).ok()?.dev(),
    };
    Some(logical_block(device).unwrap_or(BLOCK))
}

/// What the guard finds at a target that is there and that Wirespeed did not make.
fn examined(spec: &TargetSpec, own: &Grants, serves: bool) -> Option<Result<Examined, String>> {
    guard::examine(&find(Path::new(&spec.url), true).ok()??, own, serves)
}

/// What is to be done with a target.
pub(crate) enum TargetVerdict {
    Null { size: u64 },
    Create { bytes: u64 },
    Open(PathTarget),
}

/// Decides on a target: what it is, and whether the step may have it.
pub(crate) fn judge(
    spec: &TargetSpec,
    writes: bool,
    own: &Grants,
) -> Result<TargetVerdict, EngineError> {
    judge_for(&request(spec), spec, writes, own)
}

/// The same for a request of another kind.
pub(crate) fn judge_for(
    request: &WriteRequest<'_>,
    spec: &TargetSpec,
    writes: bool,
    own: &Grants,
) -> Result<TargetVerdict, EngineError> {
    if spec.url == "null:" {
        let size = spec.size.unwrap_or(NULL_SIZE);
        return Ok(TargetVerdict::Null { size });
    }
    if let Some(scheme) = scheme(&spec.url) {
        return Err(EngineError::Unsupported(format!(
            "{}: targets of the kind `{scheme}:` are not known here; give a path or `null:`",
            spec.name
        )));
    }
    let path = Path::new(&spec.url);
    let found = find(path, writes || spec.create.is_some());
    match (found.map_err(|e| cannot_open(spec, e))?, spec.create) {
        (None, None) => Err(trouble(
            spec,
            format!(
                "{} does not exist; give a path that does, or a size to `create` it",
                path.display()
            ),
        )),
        (None, Some(bytes)) => creatable(spec, path, bytes),
        (Some(found), Some(bytes)) => reusable(request, spec, found, bytes, writes, own),
        (Some(found), None) => usable(request, spec, found, writes, own),
    }
}

/// A target by its name and its place, for messages that do not repeat the place.
pub(crate) fn label(spec: &TargetSpec) -> String {
    format!("{} ({})", spec.name, spec.url)
}

/// What the guard is asked about a target.
pub(crate) fn request(spec: &TargetSpec) -> WriteRequest<'_> {
    WriteRequest {
        token: spec.write_token.as_deref(),
        overwrite: spec.overwrite,
        buffered: spec.buffered,
        serves: false,
        made_as: spec.made_as.as_deref(),
    }
}

/// What the guard has answered, or what the kernel says of direct I/O.
pub(crate) fn ungranted(spec: &TargetSpec, why: GrantError) -> EngineError {
    match why {
        GrantError::Refused(why) => {
            EngineError::Refused(format!("writing to {}: {why}", label(spec)))
        }
        GrantError::NoDirectIo => EngineError::Target {
            target: label(spec),
            problem:
                "its file system refuses direct I/O; set `buffered = true` on the target to go through the page cache"
                    .to_owned(),
        },
    }
}

/// A link may be read through, but a file that is created or written must be named directly; only devices have links
/// for names (`/dev/disk/by-id/…`).
fn find(path: &Path, changes: bool) -> Result<Option<PathTarget>, Errno> {
    let found = PathTarget::at(path, !changes)?;
    if found.as_ref().is_some_and(|found| found.kind() == FileType::Symlink)
        && let Ok(Some(device)) = PathTarget::at(path, true)
        && device.kind() == FileType::BlockDevice
    {
        return Ok(Some(device));
    }
    Ok(found)
}

fn creatable(spec: &TargetSpec, path: &Path, bytes: u64) -> Result<TargetVerdict, EngineError> {
    let folder = folder_of(path);
    if bytes == 0 {
        return Err(trouble(
            spec,
            "a file of 0 bytes cannot be measured; `create` at least one block".to_owned(),
        ));
    }
    if !folder.is_dir() {
        let problem = format!("{} is not a directory; create it first", folder.display());
        return Err(trouble(spec, problem));
    }
    match room_in(folder) {
        Some(room) if room < bytes => Err(trouble(spec, short_of_room(folder, bytes, room))),
        _ => Ok(TargetVerdict::Create { bytes }),
    }
}

/// Something stands where a file is to be created: reused if it is the very file that was created before.
fn reusable(
    request: &WriteRequest<'_>,
    spec: &TargetSpec,
    found: PathTarget,
    bytes: u64,
    writes: bool,
    own: &Grants,
) -> Result<TargetVerdict, EngineError> {
    let refused = |what: String| {
        Err(EngineError::Refused(format!(
            "{}: {} exists and {what}; name another path to `create`, or leave `create` out to read what is there",
            spec.name, spec.url
        )))
    };
    if found.kind() != FileType::RegularFile {
        return refused(format!("is {}", found.kind_name()));
    }
    let file = found.open_to_read(false).map_err(|e| cannot_open(spec, e))?;
    let made = match writes {
        true => guard::own_file(file.as_fd(), own, request.serves),
        // What it holds by now is what a run that only reads is to find out.
        false => guard::made_file(file.as_fd(), own),
    };
    if let Err(why) = made {
        return refused(format!("is protected: {why}"));
    }
    let size = found.stat().st_size;
    if u64::try_from(size) != Ok(bytes) {
        return refused(format!(
            "is a file of {size} bytes that Wirespeed made, where {bytes} are asked for"
        ));
    }
    Ok(TargetVerdict::Open(found))
}

fn usable(
    request: &WriteRequest<'_>,
    spec: &TargetSpec,
    found: PathTarget,
    writes: bool,
    own: &Grants,
) -> Result<TargetVerdict, EngineError> {
    if writes {
        // Examined here without opening it for writing; the grant repeats the check on the descriptor it holds.
        guard::may_write(request, &found, own).map_err(|e| ungranted(spec, e))?;
    }
    match found.kind() {
        FileType::RegularFile if found.stat().st_size == 0 => Err(trouble(
            spec,
            "is an empty file; give one with data, or a new path and a size to `create`".to_owned(),
        )),
        FileType::RegularFile | FileType::BlockDevice => Ok(TargetVerdict::Open(found)),
        _ => Err(trouble(spec, format!("is {}; give a file or a block device", found.kind_name()))),
    }
}

/// Opens what was found for reading.
pub(crate) fn open_to_read(spec: &TargetSpec, found: &PathTarget) -> Result<OwnedFd, EngineError> {
    found.open_to_read(!spec.buffered).map_err(|e| match e {
        Errno::INVAL if !spec.buffered => ungranted(spec, GrantError::NoDirectIo),
        e => cannot_open(spec, e),
    })
}

/// Whether completions can be polled for: io_uring takes the wish on any device, and lets I/Os fail later.
pub(crate) fn can_poll(spec: &TargetSpec, found: &PathTarget) -> Result<(), EngineError> {
    if !spec.polled || polled_queues(found.device()) {
        return Ok(());
    }
    Err(trouble(
        spec,
        format!(
            "polled completion was asked for, and the device of {} has no polled queues (its queue/io_poll in sysfs is \
             0; for NVMe load the driver with `nvme.poll_queues=4`); leave `polled` out",
            spec.url
        ),
    ))
}

/// Size and logical block of an opened file or device.
pub(crate) fn extent(
    spec: &TargetSpec,
    found: &PathTarget,
    fd: impl AsFd,
) -> Result<Extent, EngineError> {
    let fd = fd.as_fd();
    let size = seek(fd, SeekFrom::End(0)).map_err(|e| cannot_open(spec, e))?;
    let block = match found.kind() {
        FileType::BlockDevice => ioctl_blksszget(fd).ok(),
        _ if spec.buffered => None,
        _ => statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
            .ok()
            .filter(|s| s.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && s.stx_dio_offset_align > 0)
            .map(|s| s.stx_dio_offset_align)
            .or_else(|| logical_block(found.device())),
    };
    Ok(Extent { size, block: block.unwrap_or(BLOCK) })
}

/// Provenance of a target: what it is, its device, its file system.
pub(crate) fn facts_of(spec: &TargetSpec, found: Option<&PathTarget>) -> Vec<Fact> {
    let mut pairs = vec![("url", spec.url.clone())];
    if let Some(found) = found {
        pairs.push(("kind", found.kind_name().to_owned()));
        pairs.push(("cache", if spec.buffered { "buffered" } else { "direct" }.to_owned()));
        pairs.extend(device_facts(found.device()));
    }
    // The file system of a device is that of its node, which says nothing of the device.
    let device = found.is_some_and(|found| found.kind() == FileType::BlockDevice);
    if spec.url != "null:" && !device {
        let path = Path::new(&spec.url);
        pairs.extend(mount_facts(if found.is_some() { path } else { folder_of(path) }));
    }
    pairs.extend(spec.verify_state.iter().map(|path| ("verify-state", path.clone())));
    let fact = |(key, value): (&str, String)| Fact {
        subject: spec.name.clone(),
        key: key.to_owned(),
        value,
    };
    pairs.into_iter().map(fact).collect()
}

/// The size of something that is not to be opened.
fn size_unopened(found: &PathTarget) -> Option<u64> {
    match found.kind() {
        FileType::RegularFile => u64::try_from(found.stat().st_size).ok(),
        FileType::BlockDevice => crate::device::size(found.device()),
        _ => None,
    }
}

/// The scheme of a URL. A path with a colon in its first part is written with `./` in front.
pub(crate) fn scheme(url: &str) -> Option<&str> {
    let (scheme, _) = url.split_once(':')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    (scheme.len() > 1 && scheme.chars().all(plain)).then_some(scheme)
}

fn trouble(spec: &TargetSpec, problem: String) -> EngineError {
    EngineError::Target { target: spec.name.clone(), problem }
}

pub(crate) fn cannot_open(spec: &TargetSpec, e: Errno) -> EngineError {
    let hint = match e {
        Errno::ACCESS | Errno::PERM => "; run as a user who may read it",
        _ => "",
    };
    trouble(spec, format!("{} cannot be opened ({e}){hint}", spec.url))
}
