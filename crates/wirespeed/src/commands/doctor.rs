//! `wirespeed doctor`: what this machine supports for a measurement, and the command that fixes what it does not.
//!
//! Each check is a function that returns one [`Finding`]; none changes anything but a scratch file in the examined
//! directory, which is removed again.

use super::capture;
use crate::cli::{Doctor, Format};
use crate::counted;
use crate::exit::{Exit, Failure};
use crate::out;
use clock::Ns;
use serde::Serialize;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Health {
    /// As it should be.
    Good,
    /// Measuring works, with a reservation.
    Limited,
    /// Not possible here.
    Missing,
}

/// What one check found.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    health: Health,
    detail: String,
    /// What mends it; a command where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    mend: Option<String>,
}

pub fn doctor(args: &Doctor) -> Result<Exit, Failure> {
    if !args.dir.is_dir() {
        return Err(Failure::usage(format!("--dir {}: not a directory", args.dir.display())));
    }
    let findings = [
        kernel(),
        processors(),
        governor(),
        clock_source(),
        memory(),
        open_files(),
        io_uring(),
        space(&args.dir),
        direct_io(&args.dir),
        marks(&args.dir),
        guests(),
        tracing(),
        counters(),
    ];
    out::result(&match args.output.format {
        Format::Text => text(&findings),
        Format::Json => format!("{:#}\n", serde_json::json!({ "version": 1, "checks": findings })),
    })?;
    let all_possible = findings.iter().all(|f| f.health != Health::Missing);
    Ok(if all_possible { Exit::Met } else { Exit::GoalsNotMet })
}

/// Which hop counters this machine has to read.
fn counters() -> Finding {
    let (there, missing) = counted::readable();
    let detail = there.join(", ");
    match missing.is_empty() {
        true => good("hop counters", detail),
        false => {
            let detail = format!("{detail}; not readable: {}", missing.join("; "));
            limited(
                "hop counters",
                detail,
                "boot with psi=1 for pressure; sandboxes hide netlink and sysfs",
            )
        }
    }
}

/// In which ways the I/O of block devices can be captured.
fn tracing() -> Finding {
    let check = "tracing";
    let open = capture::debugfs(None).filter(|place| !capture::locked_down(place));
    let ways = [(capture::tracefs(None), "its events in"), (open, "its trace for blktrace in")];
    let ways =
        ways.into_iter().filter_map(|(place, by)| Some(format!("{by} {}", place?.display())));
    let ways = ways.collect::<Vec<_>>().join(", or by ");
    if !ways.is_empty() {
        let detail = format!("`wirespeed capture` records block devices as root, by {ways}");
        return good(check, detail);
    }
    let systems = fs::read_to_string("/proc/filesystems").unwrap_or_default();
    let has = |name: &str| systems.lines().any(|line| line.ends_with(name));
    let locked = capture::debugfs(None).is_some_and(|place| capture::locked_down(&place));
    let blktrace = has("debugfs") && capture::traces_blocks() && !locked;
    let (detail, mend) = match (has("tracefs"), blktrace) {
        (true, both) => (
            if both {
                "neither tracefs nor debugfs is mounted, or readable"
            } else {
                "tracefs is not mounted, or not readable"
            },
            "mount -t tracefs none /sys/kernel/tracing",
        ),
        (false, true) => (
            "the kernel has no tracefs, and debugfs is not mounted, or not readable",
            "mount -t debugfs none /sys/kernel/debug",
        ),
        (false, false) => {
            let detail = "the kernel does not trace: block devices cannot be captured".to_owned();
            return Finding { check, health: Health::Limited, detail, mend: None };
        }
    };
    limited(check, format!("{detail}: block devices cannot be captured"), mend)
}

fn text(findings: &[Finding]) -> String {
    let mut out = String::new();
    for f in findings {
        let word = match f.health {
            Health::Good => "good   ",
            Health::Limited => "limited",
            Health::Missing => "missing",
        };
        writeln!(out, "{word}  {:<14} {}", f.check, f.detail).expect("a String takes every line");
        if let Some(mend) = &f.mend {
            writeln!(out, "{:25}→ {mend}", "").expect("a String takes every line");
        }
    }
    out
}

fn good(check: &'static str, detail: String) -> Finding {
    Finding { check, health: Health::Good, detail, mend: None }
}

fn limited(check: &'static str, detail: String, mend: &str) -> Finding {
    Finding { check, health: Health::Limited, detail, mend: Some(mend.to_owned()) }
}

fn missing(check: &'static str, detail: String, mend: &str) -> Finding {
    Finding { check, health: Health::Missing, detail, mend: Some(mend.to_owned()) }
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|s| s.trim().to_owned())
}

fn kernel() -> Finding {
    match read("/proc/sys/kernel/osrelease") {
        Some(release) => good("kernel", format!("Linux {release}")),
        None => missing("kernel", "no /proc: not a Linux host".to_owned(), "live runs need Linux"),
    }
}

fn processors() -> Finding {
    let usable = std::thread::available_parallelism().map_or(1, usize::from);
    let detail = format!("{usable} usable");
    if usable < 2 {
        return limited(
            "processors",
            detail,
            "give the machine a second processor: the load and \
             what it loads share one",
        );
    }
    good("processors", detail)
}

fn governor() -> Finding {
    match read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").as_deref() {
        Some("performance") => good("cpu governor", "performance".to_owned()),
        Some(other) => limited(
            "cpu governor",
            format!("{other}: the clock rate changes while measuring"),
            "cpupower frequency-set -g performance",
        ),
        None => good("cpu governor", "none (fixed, or left to the hypervisor)".to_owned()),
    }
}

/// What virtual machines would need; nothing else does.
fn guests() -> Finding {
    const CHECK: &str = "guests";
    let version = match guest::process::qemu_version() {
        Ok(version) => version,
        Err(why) => return limited(CHECK, why.to_string(), "apt-get install qemu-system-x86"),
    };
    let kernel = match guest::Kernel::find(None) {
        Ok(kernel) => kernel,
        Err(why) => return limited(CHECK, why.to_string(), "apt-get install linux-image-amd64"),
    };
    let lacking = guest::Adapter::ALL.into_iter().filter(|adapter| {
        guest::modules::ModuleTree::of(&kernel)
            .is_ok_and(|tree| !adapter.modules().iter().all(|module| tree.has(module)))
    });
    let lacking: Vec<&str> = lacking.map(guest::Adapter::name).collect();
    let detail = format!("QEMU {version}, kernel {}", kernel.version);
    if !lacking.is_empty() {
        let detail = format!("{detail}, which has no driver for {}", lacking.join(", "));
        return limited(CHECK, detail, "apt-get install linux-image-amd64");
    }
    match guest::Accelerator::best(&kernel) {
        (guest::Accelerator::Kvm, _) => good(CHECK, format!("{detail}, KVM")),
        (guest::Accelerator::Tcg, why) => {
            let detail = format!("{detail}, emulated: {why}");
            limited(CHECK, detail, "guests run, some ten times slower than with KVM")
        }
    }
}

/// The clock is read twice a batch: a slow one shows in every latency.
fn clock_source() -> Finding {
    const READS: u64 = 10_000;
    let name = read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        .unwrap_or_else(|| "unknown".to_owned());
    let start = clock::now();
    let mut last = start;
    for _ in 0..READS {
        last = clock::now();
    }
    let cost = last.since(start).0 / READS;
    let detail = format!("{name}, {cost} ns a reading");
    if Ns(cost) > Ns(300) {
        return limited("clock", detail, "boot with clocksource=tsc (or kvm-clock in a guest)");
    }
    good("clock", detail)
}

fn memory() -> Finding {
    let available = read("/proc/meminfo").and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("MemAvailable:"))?.to_owned();
        line.split_whitespace().nth(1)?.parse::<u64>().ok()
    });
    match available {
        Some(kib) if kib < 256 * 1024 => limited(
            "memory",
            format!("{} available", units::binary_bytes(kib * 1024)),
            "free some: workers at depth need their buffers",
        ),
        Some(kib) => good("memory", format!("{} available", units::binary_bytes(kib * 1024))),
        None => limited("memory", "unknown".to_owned(), "mount /proc"),
    }
}

fn open_files() -> Finding {
    let limit = read("/proc/self/limits").and_then(|text| {
        let line = text.lines().find(|l| l.starts_with("Max open files"))?.to_owned();
        line.split_whitespace().nth(3)?.parse::<u64>().ok()
    });
    match limit {
        Some(n) if n < 1024 => limited("open files", format!("{n} at most"), "ulimit -n 65536"),
        Some(n) => good("open files", format!("{n} at most")),
        None => good("open files", "no limit".to_owned()),
    }
}

fn io_uring() -> Finding {
    match ::disk::io_uring() {
        Ok(how) if how.contains("registered buffers") => good("io_uring", how),
        Ok(how) => {
            limited("io_uring", format!("{how}, buffers not registered"), "ulimit -l unlimited")
        }
        Err(why) => limited(
            "io_uring",
            format!("{why}; `pread` carries one operation a worker at a time"),
            "allow it: sysctl kernel.io_uring_disabled=0, and the container's seccomp profile",
        ),
    }
}

fn space(dir: &Path) -> Finding {
    match ::disk::free_space(dir) {
        Ok(bytes) => {
            good("space", format!("{} free in {}", units::binary_bytes(bytes), dir.display()))
        }
        Err(e) => limited("space", e.to_string(), "choose another --dir"),
    }
}

fn direct_io(dir: &Path) -> Finding {
    match ::disk::direct_io(dir) {
        Ok(()) => good("direct I/O", format!("works in {}", dir.display())),
        Err(e) => limited(
            "direct I/O",
            e.to_string(),
            "put targets on another file system, or say `buffered = true` and measure the page cache",
        ),
    }
}

fn marks(dir: &Path) -> Finding {
    match ::disk::marks(dir) {
        Ok(()) => {
            good("marked files", format!("work in {}: created files are recognized", dir.display()))
        }
        Err(e) => limited(
            "marked files",
            e.to_string(),
            "put created targets on a file system with user extended attributes (ext4, xfs, btrfs)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reservation_says_what_mends_it() {
        for f in [kernel(), processors(), governor(), clock_source(), memory(), open_files()] {
            assert_eq!(f.health == Health::Good, f.mend.is_none(), "{}", f.check);
        }
    }

    #[test]
    fn the_text_has_one_line_a_check_and_one_a_remedy() {
        let out = text(&[good("a", "b".into()), limited("c", "d".into(), "e")]);
        assert_eq!(out.lines().count(), 3);
        assert!(out.contains("limited  c") && out.contains("→ e"));
    }
}
