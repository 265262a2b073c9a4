//! The backing file or device of a volume of a target, open for longer than a worker's. The guard decides whether it may be
//! written; this module never opens anything for writing by itself.

use crate::create;
use crate::device::logical_block;
use crate::target::{TargetVerdict, judge, judge_for, open_to_read, request, ungranted};
use engine::{EngineError, TargetSpec};
use guard::{Grants, PathTarget, WriteGrant, WriteRequest, own_file};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, FileType, FlockOperation, SeekFrom, StatxFlags};
use rustix::fs::{flock, fstat, ioctl_blksszget, seek, statx};
use rustix::io::Errno;
use std::path::Path;

/// What is to be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackingSpec {
    /// What messages call it.
    pub name: String,
    /// A file or a block device.
    pub path: String,
    /// Bytes of the file that is made where there is none. What is there must have this size.
    pub size: Option<u64>,
    /// A file that is made takes no space before it is written.
    pub sparse: bool,
    /// Not to be written, whatever the guard would say.
    pub read_only: bool,
    /// The token that allows writing, where Wirespeed did not create the target.
    pub write_token: Option<String>,
    /// Whether what it carries may be lost.
    pub overwrite: bool,
    /// Bytes: every access is a multiple of it, and lies at one. Direct I/O is used where this is enough for it.
    pub unit: u32,
}

/// Why it is not opened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BackingError {
    /// The guard says no. Exit code 4.
    #[error("refused: {0}")]
    Refused(String),
    /// It cannot be opened or made; the text leads to the next action.
    #[error("{0}")]
    Unopened(String),
}

/// An opened file or block device, with the right to write it or without.
#[derive(Debug)]
pub struct OpenedBacking {
    held: Descriptor,
    size: u64,
    device: bool,
    direct: bool,
    read_only: Option<String>,
}

#[derive(Debug)]
enum Descriptor {
    Read(OwnedFd),
    Write(WriteGrant),
}

impl OpenedBacking {
    /// Opens what is there, or makes it. What the guard would only let be written with a token is opened for reading where
    /// none is given; a token that does not open it is a refusal.
    /// # Errors
    /// The guard refuses it, or it cannot be opened as specified.
    pub fn open(spec: &BackingSpec) -> Result<OpenedBacking, BackingError> {
        let mut target = TargetSpec::new(&spec.name, &spec.path);
        target.write_token.clone_from(&spec.write_token);
        target.overwrite = spec.overwrite;
        target.create = spec.size;
        let own = Grants::default();
        let there = PathTarget::at(Path::new(&spec.path), true)
            .map_err(|e| trouble(spec, format!("it cannot be opened ({e})")))?;
        let Some(there) = there else {
            return OpenedBacking::make(spec, &target, &own);
        };
        if there.kind() == FileType::BlockDevice && spec.size.is_some() {
            return Err(trouble(spec, "a block device has a size of its own; leave `size` out"));
        }
        let why = match spec.read_only {
            true => Some("it was asked to be".to_owned()),
            false if spec.write_token.is_some() || is_own(&there) => None,
            false => Some(format!(
                "it is {} that Wirespeed did not make, and no write token was given",
                there.kind_name()
            )),
        };
        // An existing target has its size; nothing is left to create.
        target.create = None;
        let TargetVerdict::Open(found) = judge_for(&served(&target), &target, why.is_none(), &own)
            .map_err(BackingError::from)?
        else {
            return Err(trouble(spec, "it is neither a file nor a block device"));
        };
        OpenedBacking::held(spec, &mut target, &found, why)
    }

    fn make(
        spec: &BackingSpec,
        target: &TargetSpec,
        own: &Grants,
    ) -> Result<OpenedBacking, BackingError> {
        let Some(bytes) = spec.size else {
            let advice = if spec.path.starts_with("/dev/") {
                "it does not exist; `lsblk` lists the devices of this machine"
            } else {
                "it does not exist; give a size to make it (`size=10GiB`)"
            };
            return Err(trouble(spec, advice));
        };
        if spec.read_only {
            return Err(trouble(
                spec,
                "it does not exist, and a new one that is only read holds nothing",
            ));
        }
        // The room is a matter of files whose space is taken at once.
        if !spec.sparse {
            judge(target, true, own).map_err(BackingError::from)?;
        }
        let file = create::create_empty(&spec.path, bytes, spec.sparse)
            .map_err(|problem| trouble(spec, problem))?;
        let direct = spec.unit.is_multiple_of(alignment(file.as_fd(), None));
        let (grant, direct) = file.into_grant(direct).map_err(|why| {
            BackingError::Refused(format!("{} ({}): {why}", spec.name, spec.path))
        })?;
        let backing = OpenedBacking {
            held: Descriptor::Write(grant),
            size: bytes,
            device: false,
            direct,
            read_only: None,
        };
        backing.lock(spec)?;
        Ok(backing)
    }

    fn held(
        spec: &BackingSpec,
        target: &mut TargetSpec,
        found: &PathTarget,
        why: Option<String>,
    ) -> Result<OpenedBacking, BackingError> {
        let device = found.kind() == FileType::BlockDevice;
        let looked = found
            .open_to_read(false)
            .map_err(|e| trouble(spec, format!("it cannot be opened ({e})")))?;
        let align = alignment(looked.as_fd(), Some(found));
        if device && align > spec.unit {
            let problem = format!("its logical blocks have {align} bytes; say `block={align}`");
            return Err(trouble(spec, problem));
        }
        target.buffered = !spec.unit.is_multiple_of(align);
        let size = seek(&looked, SeekFrom::End(0))
            .map_err(|e| trouble(spec, format!("it has no size ({e})")))?;
        if let Some(wanted) = spec.size.filter(|wanted| *wanted != size) {
            let problem =
                format!("it has {size} bytes, where {wanted} are asked for; leave `size` out");
            return Err(trouble(spec, problem));
        }
        let open = |target: &TargetSpec| match why {
            Some(_) => open_to_read(target, found).map(Descriptor::Read),
            None => WriteGrant::check(&served(target), found, &mut Grants::default())
                .map(Descriptor::Write)
                .map_err(|e| ungranted(target, e)),
        };
        let held = match open(target) {
            // Some file systems say only now that they have no direct I/O.
            Err(EngineError::Target { .. }) if !target.buffered && !device => {
                target.buffered = true;
                open(target)?
            }
            other => other?,
        };
        let direct = !target.buffered;
        let backing = OpenedBacking { held, size, device, direct, read_only: why };
        backing.lock(spec)?;
        Ok(backing)
    }

    /// A writer of a file excludes others, by its grant; readers share it.
    fn lock(&self, spec: &BackingSpec) -> Result<(), BackingError> {
        let Descriptor::Read(fd) = &self.held else { return Ok(()) };
        if self.device {
            return Ok(());
        }
        match flock(fd, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => Err(BackingError::Refused(format!(
                "{} ({}): another serves it",
                spec.name, spec.path
            ))),
            // A file system without locks has none to respect.
            _ => Ok(()),
        }
    }

    /// Whether what is written still has its name and its size.
    /// # Errors
    /// What happened to it, in words.
    pub fn still_there(&self) -> Result<(), String> {
        match &self.held {
            Descriptor::Read(_) => Ok(()),
            Descriptor::Write(grant) => grant.still_there(),
        }
    }

    /// Makes a file longer; `sparse`: the new part takes no space before it is written.
    /// # Errors
    /// What is in the way, in words; its size is as before.
    pub fn grow(&self, to: u64, sparse: bool) -> Result<(), String> {
        match &self.held {
            Descriptor::Read(_) => Err("it is only read".to_owned()),
            Descriptor::Write(_) if self.device => {
                Err("a device has the size that its driver says".to_owned())
            }
            Descriptor::Write(grant) => grant.grow(to, sparse),
        }
    }

    /// Bytes, when it was opened.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether it is a block device.
    pub fn is_device(&self) -> bool {
        self.device
    }

    /// Whether it is opened past the page cache.
    pub fn is_direct(&self) -> bool {
        self.direct
    }

    /// Why it may only be read; `None` where it may be written.
    pub fn read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }
}

impl AsFd for OpenedBacking {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.held {
            Descriptor::Read(fd) => fd.as_fd(),
            Descriptor::Write(grant) => grant.as_fd(),
        }
    }
}

impl From<EngineError> for BackingError {
    fn from(error: EngineError) -> BackingError {
        match error {
            EngineError::Refused(why) => BackingError::Refused(why),
            other => BackingError::Unopened(other.to_string()),
        }
    }
}

fn trouble(spec: &BackingSpec, problem: impl AsRef<str>) -> BackingError {
    BackingError::Unopened(format!("{} ({}): {}", spec.name, spec.path, problem.as_ref()))
}

/// What the guard is asked about what will be served.
fn served(target: &TargetSpec) -> WriteRequest<'_> {
    WriteRequest { serves: true, ..request(target) }
}

fn is_own(found: &PathTarget) -> bool {
    found.kind() == FileType::RegularFile
        && found
            .open_to_read(false)
            .is_ok_and(|fd| own_file(fd.as_fd(), &Grants::default(), true).is_ok())
}

/// What direct I/O wants offsets to be multiples of: for a device its logical block, for a file what its file system says.
fn alignment(fd: BorrowedFd<'_>, found: Option<&PathTarget>) -> u32 {
    if found.is_some_and(|found| found.kind() == FileType::BlockDevice) {
        return ioctl_blksszget(fd).unwrap_or(512);
    }
    let device = fstat(fd).ok().map(|stat| stat.st_dev);
    statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN)
        .ok()
        .filter(|s| s.stx_mask & StatxFlags::DIOALIGN.bits() != 0 && s.stx_dio_offset_align > 0)
        .map(|s| s.stx_dio_offset_align)
        .or_else(|| device.and_then(logical_block))
        .unwrap_or(512)
}
