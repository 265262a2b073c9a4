//! Checks that memory is available before it is allocated: Linux overcommits, and would kill a process later.

use super::VolumeError;
use std::fs;
use std::path::Path;

/// Refuses a size that neither this machine nor this process's control groups have available.
pub(crate) fn suffices(size: u64) -> Result<(), VolumeError> {
    let limits = [
        ("this machine has", machine(&fs::read_to_string("/proc/meminfo").unwrap_or_default())),
        ("the control group of this process has", groups()),
    ];
    for (who, available) in limits {
        if let Some(available) = available.filter(|available| *available < size) {
            let problem = format!(
                "where {who} {} MiB available; ask for less, or for a `thin` volume, which takes memory as it is written",
                available >> 20
            );
            return Err(VolumeError::Memory { size, problem });
        }
    }
    Ok(())
}

/// Bytes that can be taken without swapping, by the kernel's own estimate.
fn machine(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Bytes that the tightest of this process's control groups (version 2) leaves; `None` without a limit.
fn groups() -> Option<u64> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let root = Path::new("/sys/fs/cgroup");
    let of = |folder: &Path| {
        let read =
            |name: &str| fs::read_to_string(folder.join(name)).ok()?.trim().parse::<u64>().ok();
        Some(read("memory.max")?.saturating_sub(read("memory.current")?))
    };
    root.join(own).ancestors().take_while(|folder| folder.starts_with(root)).filter_map(of).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_read_in_bytes() {
        let text = "MemTotal:       24684084 kB\nMemFree:  1 kB\nMemAvailable:   23346844 kB\n";
        assert_eq!(machine(text), Some(23_346_844 << 10));
        assert_eq!(machine("MemTotal: 1 kB\n"), None);
        assert_eq!(machine("MemAvailable: x kB\n"), None);
    }

    #[test]
    fn more_than_there_is_is_refused_with_a_way_out() {
        let error = suffices(1 << 60).expect_err("no machine has an EiB").to_string();
        assert!(error.contains("`thin`"), "{error}");
        assert_eq!(suffices(1), Ok(()));
    }
}
