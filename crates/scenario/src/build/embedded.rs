//! Embedded arrays: their ports, the requirements of a volume on one, and the ways of a disk to it.

use super::lab::{LabBuilder, expanded};
use super::{complain, count_u32, place};
use crate::datum::{Datum, Decoded};
use crate::diagnostics::{At, Class, Mistake, Sink, Span};
use crate::directory::NameKind;
use crate::embedded::{Embedded, EmbeddedPort, Patience, Policy, SwitchAfter};
use crate::fields::WAYS;
use crate::model::Backing;
use crate::nearest::join;
use std::collections::BTreeMap;
use std::time::Duration;
use units::{LinkRate, Percent};

/// Ports of one embedded array at most: each is a socket that listens, and a path of every disk.
const PORTS_MAX: usize = 64;

/// The longest delay of a port or a volume.
const LATENCY_MOST: Duration = Duration::from_secs(10);

/// The least share of a processor that a thread can serve with, in percent.
const CPU_LEAST: f64 = 1.0;

/// The ways of a disk to its array: the ports by name, and how they are used.
pub(super) type DiskWays = (Vec<String>, Option<Policy>);

impl LabBuilder<'_> {
    /// Enters the embedded array of a definition and the names of its ports, for each of the arrays that it defines.
    pub(super) fn embedded(&mut self, record: &Decoded, names: &[String]) {
        if !record.has("embedded") {
            return;
        }
        let at = record.record("embedded").map_or(record.at, |table| place(table, "ports"));
        let built = record.record("embedded").and_then(|table| embedded(table, self.sink));
        let ports = built.as_ref().map_or(0, |embedded| embedded.ports.len());
        let room = self.directory.afford(ports.saturating_mul(names.len()), at, self.sink);
        // A wrong one is entered all the same, so that references to it are not wrong as well.
        let built = built.filter(|_| room);
        for name in names {
            for port in built.iter().flat_map(|embedded| &embedded.ports) {
                let full = format!("{name}.{}", port.name);
                self.directory.declare(full, NameKind::Port, at, self.sink);
            }
            self.directory.embedded.insert(name.clone(), built.clone());
        }
    }

    /// Reports what a volume lacks, or has too much of, on its array.
    pub(super) fn volume_fits(&mut self, record: &Decoded, name: &str, array: &str) {
        if self.directory.libraries.contains(array) {
            self.drive_fits(record, name, array);
        }
        if !self.directory.embedded.contains_key(array) {
            for key in ["block", "thin", "rate", "iops", "latency"]
                .into_iter()
                .filter(|key| record.has(key))
            {
                let problem =
                    format!("it applies only to embedded arrays, and `{array}` is not embedded");
                complain(record, key, problem, self.sink);
            }
            return;
        }
        if !record.has("size") {
            let what = match self.directory.libraries.contains(array) {
                true => "a drive of the embedded library",
                false => "a volume on the embedded array",
            };
            self.sink.push(|| {
                Mistake::new(record.at, format!("{what} `{array}` needs `size`"))
                    .class(Class::Absence)
                    .help("add `size = \"256MiB\"`; it uses that much of this machine's memory")
            });
        }
        let block = record.size("block").map_or(512, |at| at.value.0);
        if record.size("size").is_some_and(|size| !size.value.0.is_multiple_of(block)) {
            let problem = format!("it must be a whole number of blocks of {block} bytes");
            complain(record, "size", problem, self.sink);
        }
        if record.has("mask") {
            let problem = "an embedded array shows its volumes to all initiators";
            complain(record, "mask", problem, self.sink);
        }
    }

    /// Reports what a drive of a tape library cannot have, and a name that is another hop's.
    fn drive_fits(&mut self, record: &Decoded, name: &str, array: &str) {
        for key in
            ["block", "thin", "rate", "iops", "latency"].into_iter().filter(|k| record.has(k))
        {
            let problem = "a tape drive has none; its library's part has a `drive_rate`";
            complain(record, key, problem, self.sink);
        }
        let embedded = self.directory.embedded.get(array).and_then(Option::as_ref);
        let port = embedded.and_then(|embedded| embedded.port(name)).is_some();
        let numbered = name.strip_prefix("controller");
        let controller = numbered.is_some_and(|n| n.bytes().all(|digit| digit.is_ascii_digit()));
        if port || controller || ["cache", "backend"].contains(&name) {
            let problem =
                format!("`{array}.{name}` is another part of the library; choose another");
            complain(record, "name", problem, self.sink);
        }
    }

    /// The ways of a disk in each VM of its definition. Each array is checked once, however many VMs use it.
    pub(super) fn ways(&mut self, disk: &Decoded, backings: &[Option<Backing>]) -> Vec<DiskWays> {
        let mut known: BTreeMap<String, DiskWays> = BTreeMap::new();
        let mut all = Vec::with_capacity(backings.len());
        for backing in backings {
            let Some(Backing::Lun { array, volume }) = backing else {
                all.push((Vec::new(), None));
                continue;
            };
            if !known.contains_key(array) {
                let ways = self.ways_to(array, volume.is_none(), disk);
                known.insert(array.clone(), ways);
            }
            let ways = known.get(array).cloned().unwrap_or_default();
            let room = self.directory.afford(ways.0.len(), disk.at, self.sink);
            all.push(if room { ways } else { DiskWays::default() });
        }
        all
    }

    fn ways_to(&mut self, array: &str, auto: bool, disk: &Decoded) -> DiskWays {
        let Some(embedded) = self.directory.embedded.get(array) else {
            for key in WAYS.iter().filter(|key| disk.has(key)) {
                self.sink.push(|| not_embedded(place(disk, key), key, array));
            }
            return DiskWays::default();
        };
        let Some(embedded) = embedded.clone() else { return DiskWays::default() };
        if auto {
            self.sink.push(|| {
                let message =
                    format!("lun: the embedded array `{array}` does not provide volumes itself");
                Mistake::new(place(disk, "lun"), message).help(format!(
                    "define a [[volume]] with `array = \"{array}\"` and a `size`, and name it"
                ))
            });
        }
        if disk.has("size") {
            let problem = "the disk has the size of its volume";
            complain(disk, "size", problem, self.sink);
        }
        let ports = match disk.has("ports") {
            true => self.ports_of(array, &embedded, disk),
            false => embedded.ports.iter().map(|port| port.name.clone()).collect(),
        };
        if self.directory.libraries.contains(array) {
            self.way_to_drive(array, &ports, disk);
        }
        // Wrong ports have been reported, and are independent of the policy.
        let several = ports.len() > 1 || ports.is_empty();
        (ports, Some(policy(disk, several, self.sink)))
    }

    /// Reports what a tape drive cannot have as a disk: several paths, and times that only sessions with disks keep.
    fn way_to_drive(&mut self, array: &str, ports: &[String], disk: &Decoded) {
        if ports.len() > 1 {
            let key = if disk.has("ports") { "ports" } else { "lun" };
            let message = format!(
                "{key}: a tape drive is reached by one port, and `{array}` has {}",
                ports.len()
            );
            let help = format!("name one: `ports = [\"{}\"]`", ports[0]);
            self.sink.push(|| Mistake::new(place(disk, key), message).help(help));
        }
        for key in ["path_timeout", "command_timeout"].into_iter().filter(|key| disk.has(key)) {
            complain(disk, key, "a tape drive has none; it has `no_path_retry`", self.sink);
        }
    }

    /// The ports that a disk names, each once, in its order.
    fn ports_of(&mut self, array: &str, embedded: &Embedded, disk: &Decoded) -> Vec<String> {
        let prefix = format!("{array}.");
        let mut ports: Vec<String> = Vec::new();
        for text in disk.texts("ports") {
            let full = match text.value.starts_with(&prefix) {
                true => text.value.clone(),
                false => format!("{prefix}{}", text.value),
            };
            let found = self.directory.find(&At::new(text.at, full), &[NameKind::Port], self.sink);
            for name in found.map(|found| found.names).unwrap_or_default() {
                let Some(port) = name.strip_prefix(&prefix).and_then(|name| embedded.port(name))
                else {
                    continue;
                };
                if ports.contains(&port.name) {
                    let message = format!("ports: `{}` is named twice", port.name);
                    self.sink.push(|| Mistake::new(text.at, message));
                } else {
                    ports.push(port.name.clone());
                }
            }
        }
        ports
    }
}

/// A key of a disk that has a meaning on embedded arrays only.
fn not_embedded(at: Span, key: &str, array: &str) -> Mistake {
    let message = format!("{key}: the array `{array}` is not embedded, so its ports have no names");
    Mistake::new(at, message)
        .help("give the array `embedded = { ports = [{ name = \"p1\" }] }`; paths through a lab are [[path]]")
}

/// The embedded form of an array; `None` where its ports are wrong, which has been reported.
fn embedded(table: &Decoded, sink: &mut Sink) -> Option<Embedded> {
    let scale = table.percent("scale").map_or(Percent(100.0), |at| at.value);
    if scale.0 <= 0.0 {
        complain(table, "scale", "ports without speed carry nothing; write more than 0%", sink);
    }
    if table.get("ports").is_some() && table.records("ports").is_empty() {
        complain(table, "ports", "the list is empty; an array needs at least one", sink);
    }
    let mut ports: Vec<EmbeddedPort> = Vec::new();
    let mut places: BTreeMap<String, Span> = BTreeMap::new();
    for record in table.records("ports") {
        let at = place(record, "name");
        let rate = record.link("rate").map(|at| at.value);
        if let Some(rate) = rate
            && let Err(problem) = scaled_fits(rate, scale)
        {
            complain(record, "rate", problem, sink);
        }
        let latency = held_up(record, sink);
        for name in expanded(record) {
            if let Some(first) = places.get(&name).copied() {
                sink.push(|| {
                    Mistake::new(at, format!("the port `{name}` is given twice"))
                        .label("the second")
                        .related(first, "first given here")
                });
                continue;
            }
            if ports.len() == PORTS_MAX {
                let problem = format!("an embedded array has at most {PORTS_MAX} ports");
                complain(table, "ports", problem, sink);
                return None;
            }
            places.insert(name.clone(), at);
            ports.push(EmbeddedPort { name, rate, latency });
        }
    }
    let threads = count_u32(table, "threads");
    let cpu = table.percent("cpu").map(|at| at.value);
    if cpu.is_some_and(|cpu| cpu.0 < CPU_LEAST) {
        complain(table, "cpu", format!("a thread needs at least {CPU_LEAST}%"), sink);
    }
    (!ports.is_empty()).then_some(Embedded { ports, scale, threads, cpu })
}

/// How long a port or a volume holds up each I/O.
pub(super) fn held_up(record: &Decoded, sink: &mut Sink) -> Duration {
    let latency = record.time("latency").map_or(Duration::ZERO, |at| at.value);
    if latency > LATENCY_MOST {
        let most = units::duration(LATENCY_MOST);
        complain(record, "latency", format!("expected a time up to {most}"), sink);
    }
    latency
}

/// Whether a speed is positive after scaling. A scale of zero has been reported.
pub(super) fn scaled_fits(rate: LinkRate, scale: Percent) -> Result<(), String> {
    let scaled = rate.scaled(scale).0;
    if scale.0 <= 0.0 || scaled >= LinkRate::MIN as f64 {
        return Ok(());
    }
    Err(format!("scaled to {}% it is below 1 KB/s, the minimum for a port", scale.0))
}

/// The path timeouts of a disk's initiator.
pub(super) fn patience(disk: &Decoded, sink: &mut Sink) -> Patience {
    let mut time = |key, least: Duration| {
        let time = disk.time(key)?.value;
        if time < least || time > Patience::LONGEST {
            let problem = match least.is_zero() {
                true => "expected a time up to 24h".to_owned(),
                false => format!("expected a time from {} to 24h", units::duration(least)),
            };
            complain(disk, key, problem, sink);
        }
        Some(time)
    };
    Patience {
        no_path_retry: time("no_path_retry", Duration::ZERO),
        path_timeout: time("path_timeout", Patience::SHORTEST),
        command_timeout: time("command_timeout", Patience::SHORTEST),
    }
}

/// The value of `switch_after`, if given.
pub(super) fn turn(record: &Decoded) -> Option<SwitchAfter> {
    match &record.get("switch_after")?.value {
        Datum::Count(n) => Some(SwitchAfter::Ios(u32::try_from(*n).unwrap_or(u32::MAX))),
        Datum::Size(size) => Some(SwitchAfter::Bytes(*size)),
        _ => None,
    }
}

/// The multipath policy of a disk.
fn policy(disk: &Decoded, several: bool, sink: &mut Sink) -> Policy {
    let after = turn(disk).unwrap_or(SwitchAfter::USUAL);
    let word = disk.word("policy").map(|at| at.value);
    let policy = match word {
        Some("fixed") => Policy::Fixed,
        Some("least-queue") => Policy::LeastQueue,
        Some("active-passive") => Policy::ActivePassive,
        None if !several => Policy::Fixed,
        _ => Policy::RoundRobin(after),
    };
    if let Some(word) = word.filter(|_| !several && policy != Policy::Fixed) {
        let problem = format!("`{word}` needs several ports, and the disk has one");
        complain(disk, "policy", problem, sink);
    } else if disk.has("switch_after") && !matches!(policy, Policy::RoundRobin(_)) {
        let problem = match several {
            true => format!(
                "only `round-robin` switches in turn, and the policy is `{}`",
                policy.word()
            ),
            false => "the disk has only one port".to_owned(),
        };
        complain(disk, "switch_after", problem, sink);
    }
    policy
}

/// The embedded arrays at which a speed of the sweep would be zero, in words; `None` where there is none such.
pub(super) fn too_slow(
    rate: LinkRate,
    arrays: &BTreeMap<String, Option<Embedded>>,
) -> Option<String> {
    let slow = |(name, embedded): (&String, &Option<Embedded>)| {
        let scale = embedded.as_ref()?.scale;
        scaled_fits(rate, scale).is_err().then(|| format!("`{name}`"))
    };
    let names: Vec<String> = arrays.iter().filter_map(slow).take(8).collect();
    (!names.is_empty()).then(|| join(&names, "and"))
}
