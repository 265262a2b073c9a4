//! Control groups of a lab, in either version of the interface: a directory of ours beneath the mount, one within it for each
//! host and array, one within a host's for its own processes and each of its VMs with a quota.
//!
//! Processes are only in the innermost directories, as version 2 demands. What they did without is counted there: how often the
//! quota held them back, and, where version 2 is mounted, for how long some of them waited (`pressure`, PSI). Where version 1
//! has the quotas, processes are in groups of both.

use crate::plan::Quota;
use clock::Ns;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Before the tag of a lab in the name of its directory.
const NAME: &str = "wirespeed-lab-";
/// The directory of a host's own processes.
const OWN: &str = "own";
/// Microseconds over which a quota is counted; longer where the kernel's least quota would be more than what is asked for.
const PERIOD_US: f64 = 20_000.0;
/// The kernel's least quota.
const QUOTA_MIN_US: f64 = 1_000.0;
/// The kernel's longest period.
const PERIOD_MAX_US: f64 = 1_000_000.0;
/// How long processes may take to leave by themselves, and then to die.
const GRACE: Ns = Ns::secs(3);
/// How often to look.
const POLL: Ns = Ns::millis(5);

/// A mounted hierarchy with the controller of processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hierarchy {
    /// Where it is mounted.
    pub at: PathBuf,
    /// Whether it is version 2.
    pub unified: bool,
}

/// The groups of a lab.
#[derive(Clone, Debug)]
pub struct Groups {
    base: PathBuf,
    /// In version 2, where version 1 has the quotas.
    beside: Option<PathBuf>,
}

/// What the quota of a group has held back since the group was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods at whose end the quota was used up and something waited.
    pub throttles: u64,
    /// For how long, on all processors together.
    pub throttled: Ns,
}

impl Throttling {
    /// Both together.
    pub fn with(self, other: Throttling) -> Throttling {
        Throttling {
            throttles: self.throttles.saturating_add(other.throttles),
            throttled: self.throttled.plus(other.throttled),
        }
    }
}

/// Every hierarchy of this machine that can hold processors back.
pub fn hierarchies() -> Vec<Hierarchy> {
    fs::read_to_string("/proc/self/mountinfo").map(|text| mounted(&text)).unwrap_or_default()
}

/// The same of a table of mounts.
fn mounted(text: &str) -> Vec<Hierarchy> {
    let of = |line: &str| {
        let (mount, system) = line.split_once(" - ")?;
        let at = PathBuf::from(mount.split(' ').nth(4)?.replace("\\040", " "));
        let mut system = system.split(' ');
        let (kind, options) = (system.next()?, system.nth(1)?);
        match kind {
            "cgroup" if options.split(',').any(|option| option == "cpu") => {
                Some(Hierarchy { at, unified: false })
            }
            "cgroup2" => Some(Hierarchy { at, unified: true }),
            _ => None,
        }
    };
    text.lines().filter_map(of).collect()
}

/// Makes the groups of a lab.
/// # Errors
/// In words: no hierarchy holds processors back, or this user may not.
pub fn make(tag: &str, quotas: &[Quota]) -> Result<Groups, String> {
    let mut why = "the kernel has no controller of processors mounted".to_owned();
    for of in hierarchies() {
        let base = of.at.join(format!("{NAME}{tag}"));
        match fill(&of, &base, quotas) {
            Ok(()) => {
                let beside = if of.unified { None } else { beside(tag, quotas) };
                return Ok(Groups { base, beside });
            }
            Err(problem) => {
                why = format!("{}: {problem}", of.at.display());
                remove_at(&base);
            }
        }
    }
    Err(why)
}

/// The same directories in version 2 for what it counts, beside a version 1 that has the quotas; `None` where it counts nothing.
fn beside(tag: &str, quotas: &[Quota]) -> Option<PathBuf> {
    let of = hierarchies().into_iter().find(|of| of.unified)?;
    let base = of.at.join(format!("{NAME}{tag}"));
    let made = || {
        fs::create_dir(&base)?;
        for quota in quotas {
            fs::create_dir(directory(&base, quota))?;
            if quota.within.is_none() {
                fs::create_dir(directory(&base, quota).join(OWN))?;
            }
        }
        fs::read_to_string(base.join("cpu.pressure"))
    };
    let made: io::Result<String> = made();
    if made.is_err() {
        remove_at(&base);
    }
    made.ok().map(|_| base)
}

fn fill(of: &Hierarchy, base: &Path, quotas: &[Quota]) -> io::Result<()> {
    if of.unified {
        let offered = fs::read_to_string(of.at.join("cgroup.controllers"))?;
        if !offered.split_whitespace().any(|word| word == "cpu") {
            return Err(io::Error::other("it has no controller of processors"));
        }
        delegate(of, &of.at)?;
    }
    fs::create_dir(base)?;
    delegate(of, base)?;
    for quota in quotas {
        let group = directory(base, quota);
        fs::create_dir(&group)?;
        if let Some(cpus) = quota.cpus {
            hold(of, &group, cpus)?;
        }
        if quota.within.is_none() {
            delegate(of, &group)?;
            fs::create_dir(group.join(OWN))?;
        }
    }
    Ok(())
}

/// Lets directories within one have quotas.
fn delegate(of: &Hierarchy, at: &Path) -> io::Result<()> {
    if of.unified { fs::write(at.join("cgroup.subtree_control"), "+cpu") } else { Ok(()) }
}

/// The directory of a quota. A name is only a part of one: that of `..` leads nowhere else.
fn directory(base: &Path, quota: &Quota) -> PathBuf {
    let node = |name: &str| base.join(format!("node-{name}"));
    match &quota.within {
        Some(host) => node(host).join(format!("vm-{}", quota.name)),
        None => node(&quota.name),
    }
}

fn hold(of: &Hierarchy, group: &Path, cpus: f64) -> io::Result<()> {
    let (quota, period) = quota(cpus);
    if of.unified {
        return fs::write(group.join("cpu.max"), format!("{quota} {period}"));
    }
    fs::write(group.join("cpu.cfs_period_us"), period.to_string())?;
    fs::write(group.join("cpu.cfs_quota_us"), quota.to_string())
}

/// The time over which the kernel counts the quota of so many processors.
pub fn period(cpus: f64) -> Ns {
    Ns(quota(cpus).1 * 1000)
}

/// Microseconds of processor time in each period, and the period.
fn quota(cpus: f64) -> (u64, u64) {
    let period = PERIOD_US.max(QUOTA_MIN_US / cpus).min(PERIOD_MAX_US);
    ((cpus * period).round().max(QUOTA_MIN_US) as u64, period.round() as u64)
}

impl Groups {
    /// The files that a process writes its number into to be held to a quota, and to be counted.
    pub fn entries(&self, quota: &Quota) -> Vec<PathBuf> {
        let entry = |base: &PathBuf| {
            let group = directory(base, quota);
            let group = if quota.within.is_none() { group.join(OWN) } else { group };
            group.join("cgroup.procs")
        };
        [&self.base].into_iter().chain(&self.beside).map(entry).collect()
    }
}

/// The directory that a quota is held at, of the file by which processes enter it.
fn group_of(entry: &Path) -> Option<&Path> {
    let group = entry.parent()?;
    if group.file_name().is_some_and(|name| name == OWN) { group.parent() } else { Some(group) }
}

/// What the quota of a group has held back, by the first of the files that processes enter it by.
pub fn throttling(entries: &[PathBuf]) -> Option<Throttling> {
    let text = fs::read_to_string(group_of(entries.first()?)?.join("cpu.stat")).ok()?;
    throttles(&text)
}

/// The same of the text of `cpu.stat`: version 1 counts nanoseconds, version 2 microseconds.
fn throttles(text: &str) -> Option<Throttling> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line?.trim().parse::<u64>().ok()
    };
    let ns = || field("throttled_time");
    let us = || Some(field("throttled_usec")?.saturating_mul(1000));
    Some(Throttling { throttles: field("nr_throttled")?, throttled: Ns(ns().or_else(us)?) })
}

/// The directory of a group with the files of version 2 that say what its processes waited for, by the files that they enter
/// it by; the group of a host is that of its VMs, too.
pub fn waits_of(entries: &[PathBuf]) -> Option<&Path> {
    group_of(entries.last()?)
}

/// Removes the groups of a lab. Their processes get a moment to leave, and are killed then.
pub fn remove(tag: &str) {
    for of in hierarchies() {
        remove_at(&of.at.join(format!("{NAME}{tag}")));
    }
}

fn remove_at(base: &Path) {
    if !base.exists() {
        return;
    }
    let (soft, hard) = (clock::now().plus(GRACE), clock::now().plus(GRACE).plus(GRACE));
    loop {
        let inside = processes(base);
        if inside.is_empty() && remove_tree(base).is_ok() {
            return;
        }
        let now = clock::now();
        if now >= soft {
            for process in inside {
                // It may have ended meanwhile.
                let _ = kill_process(process, Signal::KILL);
            }
        }
        if now >= hard {
            return;
        }
        clock::sleep_until(now.plus(POLL));
    }
}

/// The directories of a tree, the innermost first.
fn tree(at: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(at).into_iter().flatten().filter_map(Result::ok);
    let within = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut all: Vec<PathBuf> = within.flat_map(|entry| tree(&entry.path())).collect();
    all.push(at.to_owned());
    all
}

fn processes(base: &Path) -> Vec<Pid> {
    let of = |at: &PathBuf| fs::read_to_string(at.join("cgroup.procs")).unwrap_or_default();
    let text: String = tree(base).iter().map(of).collect();
    text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)).collect()
}

fn remove_tree(base: &Path) -> io::Result<()> {
    tree(base).iter().try_for_each(fs::remove_dir)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_are_found_among_mounts() {
        let text = "\
26 25 0:23 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755
27 26 0:24 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu
28 26 0:25 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
29 26 0:26 / /sys/fs/cgroup/uni\\040fied rw shared:3 - cgroup2 cgroup2 rw
";
        let all = mounted(text);
        let of = |at: &str, unified| Hierarchy { at: at.into(), unified };
        assert_eq!(all, [of("/sys/fs/cgroup/cpu", false), of("/sys/fs/cgroup/uni fied", true)]);
    }

    #[test]
    fn both_versions_tell_what_a_quota_held_back() {
        let old = "nr_periods 50\nnr_throttled 30\nthrottled_time 1500000\n";
        let new =
            "usage_usec 9\nnr_periods 50\nnr_throttled 30\nthrottled_usec 1500\nnr_bursts 0\n";
        let wanted = Throttling { throttles: 30, throttled: Ns(1_500_000) };
        assert_eq!([old, new].map(throttles), [Some(wanted); 2]);
        for text in ["", "nr_throttled 3", "nr_throttled x\nthrottled_time 1", "throttled_usec 1"] {
            assert_eq!(throttles(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_quota_is_counted_where_it_is_held() {
        let of = |entry: &str| group_of(Path::new(entry)).map(|of| of.display().to_string());
        assert_eq!(of("/cg/lab/node-esx/own/cgroup.procs").as_deref(), Some("/cg/lab/node-esx"));
        let vm = "/cg/lab/node-esx/vm-own/cgroup.procs";
        assert_eq!(of(vm).as_deref(), Some("/cg/lab/node-esx/vm-own"));
    }

    #[test]
    fn no_name_leads_out_of_the_labs_directory() {
        let of = |name: &str, within: Option<&str>| {
            let quota =
                Quota { name: name.into(), within: within.map(str::to_owned), cpus: Some(1.0) };
            directory(Path::new("/cg/lab"), &quota)
        };
        assert_eq!(of("..", None), Path::new("/cg/lab/node-.."));
        assert_eq!(of("..", Some("..")), Path::new("/cg/lab/node-../vm-.."));
    }

    #[test]
    fn a_quota_is_never_below_the_kernels_least() {
        for cpus in [0.01, 0.05, 0.3, 1.0, 2.5] {
            let (quota, period) = quota(cpus);
            assert!(quota >= 1000 && period <= 1_000_000, "{cpus}: {quota} of {period}");
            assert!((quota as f64 / period as f64 / cpus - 1.0).abs() < 0.01, "{cpus}");
        }
    }
}
