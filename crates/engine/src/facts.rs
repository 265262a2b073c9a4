//! Facts of the host for a record's provenance, read from `/proc` and `/sys`. Unreadable facts are omitted.

use record::Fact;
use std::fs;

/// Kernel, processors, memory, governor and virtualization of this host, as facts about `subject` (an agent's name).
pub fn host_facts(subject: &str) -> Vec<Fact> {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let facts = [
        ("host", read("/proc/sys/kernel/hostname")),
        ("kernel", read("/proc/sys/kernel/osrelease")),
        ("os", read("/etc/os-release").and_then(|t| assigned(&t, "PRETTY_NAME"))),
        ("cpu-model", cpu_field(&cpuinfo, "model name")),
        ("cpu-count", std::thread::available_parallelism().ok().map(|n| n.to_string())),
        ("cpu-governor", read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")),
        ("memory", read("/proc/meminfo").and_then(|t| memory(&t))),
        ("virtualized", virtualized(&cpuinfo)),
    ];
    let known = facts.into_iter().filter_map(|(key, value)| Some((key, value?)));
    known
        .map(|(key, value)| Fact { subject: subject.to_owned(), key: key.to_owned(), value })
        .collect()
}

/// Reads a small text file and trims it; `None` if it is unreadable or empty.
fn read(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

fn assigned(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find_map(|l| l.strip_prefix(key)?.strip_prefix('='))?;
    Some(line.trim_matches('"').to_owned())
}

fn cpu_field(cpuinfo: &str, key: &str) -> Option<String> {
    let line = cpuinfo.lines().find(|l| l.starts_with(key))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

fn memory(meminfo: &str) -> Option<String> {
    let line = meminfo.lines().find_map(|l| l.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(format!("{} MiB", kib / 1024))
}

/// `no`, or `yes` with the hypervisor's name if it is known.
fn virtualized(cpuinfo: &str) -> Option<String> {
    let flags = cpu_field(cpuinfo, "flags").or_else(|| cpu_field(cpuinfo, "Features"))?;
    let product =
        || read("/sys/hypervisor/type").or_else(|| read("/sys/class/dmi/id/product_name"));
    Some(match flags.split(' ').any(|flag| flag == "hypervisor") {
        true => product().map_or("yes".to_owned(), |name| format!("yes ({name})")),
        false => "no".to_owned(),
    })
}
