//! A device that is slower than the tools: the block layer limits the reads a second of a control group's processes.
//! Both tools must then report that rate.

use crate::tools::Problem;
use std::fs;
use std::path::{Path, PathBuf};

/// Where the two versions of control groups keep their block controller, and the form of a limit there.
const PLACES: [(&str, &str, Limit); 2] = [
    ("/sys/fs/cgroup/blkio", "blkio.throttle.read_iops_device", |device, iops| {
        format!("{device} {iops}")
    }),
    ("/sys/fs/cgroup", "io.max", |device, iops| format!("{device} riops={iops}")),
];

type Limit = fn(&str, u32) -> String;

/// A control group with a limit. Dropping it removes it.
pub struct Throttle {
    group: PathBuf,
}

impl Throttle {
    /// Limits the reads a second of `device` (`major:minor`); `None` where there is no block controller.
    pub fn new(device: &str, iops: u32) -> Result<Option<Throttle>, Problem> {
        for (root, file, limit) in PLACES {
            let group = Path::new(root).join("wirespeed-bench");
            // Left over from a bench that was killed.
            let _ = fs::remove_dir(&group);
            if fs::create_dir(&group).is_err() {
                continue;
            }
            let throttle = Throttle { group };
            let file = throttle.group.join(file);
            if file.exists() {
                fs::write(&file, limit(device, iops)).map_err(|e| Problem::file(&file, e))?;
                return Ok(Some(throttle));
            }
        }
        Ok(None)
    }

    /// The file that takes the group's processes.
    pub fn procs(&self) -> PathBuf {
        self.group.join("cgroup.procs")
    }
}

impl Drop for Throttle {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.group);
    }
}
