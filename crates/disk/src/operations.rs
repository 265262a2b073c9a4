//! Whether a target has the operations that a run asks of it, besides reads and writes: said by `plan`, and before the load.

use crate::capability::{Unsupported, operation};
use crate::create::folder_of;
use crate::device::discards;
use engine::{EngineError, TargetSpec};
use guard::{PathTarget, Remote, RemoteOperations};
use rustix::fs::FileType;
use std::path::Path;
use workload::{Dir, IoDemand};

/// Whether trims of a file or device leave zeroes: those of a file do, byte by byte.
pub(crate) fn trim_zeroes(found: &PathTarget) -> u64 {
    u64::from(found.kind() == FileType::RegularFile)
}

/// The same of a remote target: its granule where it promises zeroes, otherwise 0.
pub(crate) fn remote_trim_zeroes(remote: &dyn Remote) -> u64 {
    let RemoteOperations { trim_zeroes, trim_granule, .. } = remote.operations();
    if trim_zeroes { trim_granule.max(1) } else { 0 }
}

/// Refuses what a file, a device or a file yet to be created does not have.
pub(crate) fn supported(
    spec: &TargetSpec,
    found: Option<&PathTarget>,
    demand: &IoDemand,
) -> Result<(), EngineError> {
    let [trims, zeroes, _] = demand.without_data;
    if spec.polled
        && let Some(dir) = Dir::WITHOUT_DATA.into_iter().find(|dir| demand.has(*dir))
    {
        let what = format!("polled queues carry no {}; leave `polled` out", dir.name());
        return Err(unsupported(spec, &what));
    }
    if let Some(device) = found.filter(|found| found.kind() == FileType::BlockDevice) {
        return match trims && !discards(device.device()) {
            false => Ok(()),
            true => Err(unsupported(
                spec,
                "the device discards nothing (its queue/discard_max_bytes in sysfs is 0); leave `trim` out",
            )),
        };
    }
    for (asked, dir) in [(trims, Dir::Trim), (zeroes, Dir::Zero)] {
        // Where no file can be created for a trial, the load itself shows it.
        if asked
            && let Err(why @ Unsupported::Operation(..)) =
                operation(folder_of(Path::new(&spec.url)), dir)
        {
            return Err(unsupported(spec, &format!("{why}; leave `{}` out", key(dir))));
        }
    }
    Ok(())
}

/// Refuses what a remote target does not have.
pub(crate) fn supported_remotely(
    spec: &TargetSpec,
    remote: &dyn Remote,
    demand: &IoDemand,
) -> Result<(), EngineError> {
    let has = remote.operations();
    for (dir, most) in [(Dir::Trim, has.trim), (Dir::Zero, has.zeroes)] {
        let what = match most {
            _ if !demand.has(dir) => continue,
            None => format!("the target has no {}; leave `{}` out", dir.name(), key(dir)),
            Some(most) if u64::from(demand.block_max) > most => format!(
                "the target takes {} of at most {most} bytes, not of {}; use smaller blocks",
                dir.name(),
                demand.block_max
            ),
            Some(_) => continue,
        };
        return Err(unsupported(spec, &what));
    }
    match demand.fua && !has.fua {
        true => Err(unsupported(spec, "the target has no FUA (DPOFUA is 0); leave `fua` out")),
        false => Ok(()),
    }
}

fn key(dir: Dir) -> &'static str {
    if dir == Dir::Trim { "trim" } else { "zeroes" }
}

fn unsupported(spec: &TargetSpec, what: &str) -> EngineError {
    EngineError::Unsupported(format!("{} ({}): {what}", spec.name, spec.url))
}
