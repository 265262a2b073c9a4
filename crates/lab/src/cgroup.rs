//! Control groups of a lab, in either version of the interface: a directory of ours beneath the mount, one within it for each
//! host and array, one within a host's for its own processes and each of its VMs with a quota.
//!
//! Processes are only in the innermost directories, as version 2 demands.

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
            Ok(()) => return Ok(Groups { base }),
            Err(problem) => {
                why = format!("{}: {problem}", of.at.display());
                remove_at(&base);
            }
        }
    }
    Err(why)
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

/// Microseconds of processor time in each period, and the period.
fn quota(cpus: f64) -> (u64, u64) {
    let period = PERIOD_US.max(QUOTA_MIN_US / cpus).min(PERIOD_MAX_US);
    ((cpus * period).round().max(QUOTA_MIN_US) as u64, period.round() as u64)
}

impl Groups {
    /// The file that a process writes its number into to be held to a quota.
    pub fn entry(&self, quota: &Quota) -> PathBuf {
        let group = directory(&self.base, quota);
        let group = if quota.within.is_none() { group.join(OWN) } else { group };
        group.join("cgroup.procs")
    }
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
