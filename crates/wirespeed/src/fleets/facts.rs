//! What an agent tells of its machine: who it is, what it has, and how its clock is kept. Devices are told by what stays
//! with them, so that a name that moved is noticed.

use crate::counted;
use fleet::message::MachinePlace;
use record::Fact;
use std::fs;
use std::path::Path;

/// The fact of an agent that says what its machine is known by.
pub const MACHINE: &str = "machine-identities";
/// Identities of a machine that are told, at most.
const IDENTITIES_MAX: usize = 256;

/// The host's name.
pub fn host() -> String {
    let name = read("/proc/sys/kernel/hostname");
    name.unwrap_or_else(|| "agent".to_owned())
}

/// What no other machine has, and this one not after its next start.
pub fn boot() -> String {
    read("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}

/// A place of this machine as a hop that another agent may count too; `None` where the kernel does not say which machine it is.
pub fn place(hop: &str, place: String) -> Option<MachinePlace> {
    let machine = boot();
    (!machine.is_empty()).then(|| MachinePlace { hop: hop.to_owned(), machine, place })
}

/// What tells the interfaces that this process sees from those of other network namespaces of the machine.
pub fn network() -> String {
    let namespace = fs::read_link("/proc/self/ns/net").unwrap_or_default();
    namespace.to_string_lossy().into_owned()
}

/// The facts of this machine; the subject is the agent, or `AGENT/DEVICE`.
pub fn of_machine(agent: &str) -> Vec<Fact> {
    let mut facts = engine::host_facts(agent);
    let fact =
        |key: &str, value: String| Fact { subject: agent.to_owned(), key: key.to_owned(), value };
    facts.push(fact("addresses", addresses().join(" ")));
    facts.extend(read("/etc/machine-id").map(|id| fact("machine-id", id)));
    // By these a coordinator knows that an exporter or an agent of SNMP counts this machine.
    let machine = counted::this_machine();
    let known: Vec<&str> = machine.told().take(IDENTITIES_MAX).map(String::as_str).collect();
    facts.push(fact(MACHINE, known.join(" ")));
    facts.push(fact("boot", boot()));
    let source = read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
    facts.extend(source.map(|source| fact("clock-source", source)));
    facts.push(fact("clock-discipline", discipline()));
    facts.extend(clock::discipline().map(|state| fact("clock-state", kept(state))));
    let ptp = names("/sys/class/ptp").into_iter().map(|ptp| {
        let name = read(format!("/sys/class/ptp/{ptp}/clock_name")).unwrap_or_default();
        format!("{ptp} ({name})")
    });
    let ptp: Vec<String> = ptp.collect();
    if !ptp.is_empty() {
        facts.push(fact("ptp-clocks", ptp.join(", ")));
    }
    for device in names("/sys/block") {
        facts.extend(device_facts(agent, &device));
    }
    facts
}

/// What a block device is: memory disks and what is not there are left out.
fn device_facts(agent: &str, device: &str) -> Vec<Fact> {
    let dir = format!("/sys/block/{device}");
    let sectors: u64 = read(format!("{dir}/size")).and_then(|text| text.parse().ok()).unwrap_or(0);
    if sectors == 0 || ["ram", "loop", "zram"].iter().any(|kind| device.starts_with(kind)) {
        return Vec::new();
    }
    let first = |files: &[&str]| files.iter().find_map(|file| read(format!("{dir}/{file}")));
    let known = [
        ("size", Some(format!("{} bytes", sectors * 512))),
        ("model", first(&["device/model"])),
        (
            "identity",
            first(&["wwid", "device/wwid", "serial", "device/serial", "dm/uuid", "md/uuid"]),
        ),
    ];
    let fact = |(key, value): (&str, Option<String>)| {
        let (subject, key) = (format!("{agent}/{device}"), key.to_owned());
        Some(Fact { subject, key, value: value? })
    };
    known.into_iter().filter_map(fact).collect()
}

/// What keeps the clock: the service that disciplines it, and whether it says that it does.
fn discipline() -> String {
    const KEEPERS: [&str; 7] =
        ["chronyd", "systemd-timesyn", "ntpd", "ntpsec", "ptp4l", "phc2sys", "openntpd"];
    let mut running: Vec<String> = names("/proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|process| read(format!("/proc/{process}/comm")))
        .filter(|name| KEEPERS.contains(&name.as_str()))
        .collect();
    running.sort();
    running.dedup();
    let synchronized = Path::new("/run/systemd/timesync/synchronized").exists();
    match (running.is_empty(), synchronized) {
        (true, _) => "nothing that is known".to_owned(),
        (false, true) => format!("{} (synchronized)", running.join(", ")),
        (false, false) => running.join(", "),
    }
}

/// What the kernel says of the wall clock.
fn kept(state: clock::Discipline) -> String {
    let frequency = state.frequency_ppm;
    match state.synchronized {
        true => {
            let ms = state.error_max.as_secs_f64() * 1e3;
            format!("synchronized within {ms:.1} ms, frequency {frequency:+.3} ppm")
        }
        false => format!("not synchronized, frequency {frequency:+.3} ppm"),
    }
}

/// The addresses of this machine, loopback apart, as the kernel routes them.
fn addresses() -> Vec<String> {
    let mut found = Vec::new();
    let table = fs::read_to_string("/proc/net/fib_trie").unwrap_or_default();
    let mut last = "";
    for line in table.lines() {
        let line = line.trim();
        if let Some(address) = line.strip_prefix("|-- ") {
            last = address;
        } else if line.starts_with("/32 host LOCAL") && !last.starts_with("127.") {
            found.push(last.to_owned());
        }
    }
    for line in fs::read_to_string("/proc/net/if_inet6").unwrap_or_default().lines() {
        // Of global scope only.
        let mut words = line.split_whitespace();
        let (Some(digits), Some("00")) = (words.next(), words.nth(2)) else { continue };
        let groups = digits.as_bytes().chunks(4).filter_map(|four| std::str::from_utf8(four).ok());
        let text = groups.collect::<Vec<_>>().join(":");
        found.extend(text.parse::<std::net::Ipv6Addr>().map(|address| address.to_string()));
    }
    found.sort();
    found.dedup();
    found
}

fn names(dir: &str) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}
