//! The hops of guests: inside, the guest's processors, its virtual adapters and its disks; on the host, QEMU's process and the
//! thread of it that carries the I/O.

use super::body::{Done, ask_counts, memory_of, process_now};
use crate::hops::{nothing, readings};
use clock::Ns;
use engine::{AttendedProcess, StepSpec};
use fleet::{HopReading, Sample, SampledHop, Sampler};
use guest::init;
use guest::qmp::BlockCounts;
use probe::block::{self, BlockDevice};
use probe::{cpu, process};
use record::{CounterId, HopKind};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The place of a guest's disk, as its URL says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestDiskName<'a> {
    /// By which it is found.
    pub serial: &'a str,
    /// Its number among the disks of its VM.
    pub number: u32,
    /// The number of its virtual adapter.
    pub controller: u32,
    /// Where the guest's kernel logs in to reach it, where that does: a portal and a target.
    pub login: Option<(&'a str, &'a str)>,
}

impl<'a> GuestDiskName<'a> {
    /// What a URL says, where it is one of a guest's disk.
    pub fn of(url: &'a str) -> Option<GuestDiskName<'a>> {
        let rest = url.strip_prefix(fleet::GUEST_SCHEME)?.strip_prefix(':')?;
        let (place, way) = rest.split_once('@').map_or((rest, None), |(at, way)| (at, Some(way)));
        let mut parts = place.split('/');
        let (serial, number) = (parts.next()?, parts.next()?.parse().ok()?);
        let controller = parts.next()?.parse().ok()?;
        let login = way.map(|way| way.split_once('/'));
        let login = if login == Some(None) { return None } else { login.flatten() };
        Some(GuestDiskName { serial, number, controller, login })
    }
}

/// The hops inside a guest, under the names that the lab's graph gives them.
pub struct Inside {
    vm: String,
    disks: Vec<GuestDevice>,
}

struct GuestDevice {
    number: u32,
    controller: u32,
    device: BlockDevice,
    path: PathBuf,
}

impl Inside {
    /// Of the guest that is this VM.
    pub fn new(vm: &str) -> Inside {
        Inside { vm: vm.to_owned(), disks: Vec::new() }
    }

    /// The disks of each virtual adapter, by their positions.
    fn adapters(&self) -> BTreeMap<u32, Vec<usize>> {
        let mut all: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (place, disk) in self.disks.iter().enumerate() {
            all.entry(disk.controller).or_default().push(place);
        }
        all
    }
}

impl Sampler for Inside {
    fn hops(&mut self, step: &StepSpec) -> Vec<SampledHop> {
        let disk = |url: &str| {
            let GuestDiskName { serial, number, controller, .. } = GuestDiskName::of(url)?;
            let path = init::disk(serial).ok()?;
            let device = block::under(&path).into_iter().next()?;
            Some(GuestDevice { number, controller, device, path })
        };
        self.disks = step.targets.iter().filter_map(|target| disk(&target.url)).collect();
        let fact = |key: &str, value: String| (key.to_owned(), value);
        let mut hops = vec![SampledHop {
            name: format!("{}.cpu", self.vm),
            kind: HopKind::VmCpu,
            facts: vec![],
        }];
        hops.extend(self.adapters().iter().map(|(number, disks)| {
            SampledHop {
                name: format!("{}.scsi{number}", self.vm),
                kind: HopKind::VirtualAdapter,
                facts: driver_of(&self.disks[disks[0]].path)
                    .map(|name| fact("driver", name))
                    .into_iter()
                    .collect(),
            }
        }));
        hops.extend(self.disks.iter().map(|disk| SampledHop {
            name: format!("{}.disk{}", self.vm, disk.number),
            kind: HopKind::VirtualDisk,
            facts: vec![fact("device", disk.path.display().to_string())],
        }));
        hops
    }

    fn sample(&mut self) -> Vec<Sample> {
        let mut samples = vec![processors()];
        // One look each, so that an adapter and its disks tell the same.
        let looks: Vec<_> = self.disks.iter().map(|disk| disk.device.look()).collect();
        samples.extend(self.adapters().values().map(|disks| {
            let own = || disks.iter().map(|place| looks[*place]);
            let at = own().map(|look| look.at).max().unwrap_or(Ns::ZERO);
            let each: Vec<_> = own().filter_map(|look| look.stat).map(readings).collect();
            let sum = match each.len() == disks.len() {
                true => summed(&each),
                false => nothing(),
            };
            Sample { at, readings: with_slots(sum, adapter_slots(&self.disks[disks[0]].path)) }
        }));
        samples.extend(self.disks.iter().zip(&looks).map(|(disk, look)| {
            let own = look.stat.map(readings).unwrap_or_else(nothing);
            Sample { at: look.at, readings: with_slots(own, disk_slots(&disk.path)) }
        }));
        samples
    }
}

/// The guest's processors.
fn processors() -> Sample {
    let look = cpu::look();
    let reading =
        |counter, value: Option<f64>| HopReading { counter, value: value.unwrap_or(f64::NAN) };
    let time = |of: fn(cpu::CpuStat) -> Ns| look.stat.map(|stat| of(stat).0 as f64);
    let readings = vec![
        reading(CounterId::CpuBusy, time(|stat| stat.busy)),
        reading(CounterId::CpuSteal, time(|stat| stat.stolen)),
        reading(CounterId::CpuSoftirq, time(|stat| stat.interrupts)),
        reading(CounterId::CpuCount, look.stat.map(|stat| f64::from(stat.processors))),
    ];
    Sample { at: look.at, readings }
}

/// Counts of several disks as those of one adapter. Times with anything in flight do not add up: they overlap.
fn summed(each: &[Vec<HopReading>]) -> Vec<HopReading> {
    let Some(first) = each.first() else { return nothing() };
    let sum = |(n, reading): (usize, &HopReading)| HopReading {
        value: each.iter().map(|of| of[n].value).sum(),
        ..*reading
    };
    let adds = |reading: &HopReading| each.len() == 1 || reading.counter != CounterId::Busy;
    first.iter().enumerate().map(sum).filter(adds).collect()
}

/// The readings of what serves several commands at once: it is full where its slots are, and never because something is
/// always in flight, so that its busy time is left out.
fn with_slots(mut readings: Vec<HopReading>, slots: Option<u32>) -> Vec<HopReading> {
    readings.retain(|reading| reading.counter != CounterId::Busy);
    let slots = slots.map(|slots| HopReading { counter: CounterId::Slots, value: slots.into() });
    readings.extend(slots);
    readings
}

/// The directory of a disk in `/sys/block`.
fn node(device: &Path) -> PathBuf {
    Path::new("/sys/block").join(device.file_name().unwrap_or_default())
}

/// Commands that a disk may have in flight, by its driver; those of the block layer where that does not say.
fn disk_slots(device: &Path) -> Option<u32> {
    let files = ["device/queue_depth", "queue/nr_requests"];
    let read = |file| fs::read_to_string(node(device).join(file)).ok()?.trim().parse().ok();
    files.into_iter().find_map(read)
}

/// Commands that its adapter may have in flight, of a SCSI disk.
fn adapter_slots(device: &Path) -> Option<u32> {
    let host = fs::canonicalize(node(device).join("device")).ok()?;
    let host = host.ancestors().find_map(|at| {
        let name = at.file_name()?.to_str()?;
        let number = name.strip_prefix("host")?;
        number.parse::<u32>().ok().map(|number| format!("host{number}"))
    })?;
    let file = Path::new("/sys/class/scsi_host").join(host).join("can_queue");
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The kernel's driver of a disk's adapter.
fn driver_of(device: &Path) -> Option<String> {
    let at = fs::canonicalize(node(device).join("device")).ok()?;
    let on_bus = |at: &&Path| {
        let bus = fs::canonicalize(at.join("subsystem"));
        bus.is_ok_and(|bus| bus.ends_with("bus/pci")) && at.join("driver").exists()
    };
    let device = at.ancestors().find(on_bus)?;
    let driver = fs::canonicalize(device.join("driver")).ok()?;
    Some(driver.file_name()?.to_str()?.to_owned())
}

/// How long a QEMU may take to say which disks it has, before a step.
const ASKED: Duration = Duration::from_secs(2);
/// How long one may take to say what they did; one that moves its guest says nothing meanwhile.
const ANSWERS: Duration = Duration::from_millis(100);

/// QEMU's processes on the host: all of their threads, the one that carries the I/O and the adapters' emulation, and what QEMU
/// counts behind the disks that it emulates.
#[derive(Debug, Default)]
pub struct GuestProcesses {
    all: Vec<Attended>,
}

/// A guest, whose process is another one after a move.
#[derive(Debug)]
struct Attended {
    of: AttendedProcess,
    now: u32,
    /// What its processes before this one took, all threads and the one that carries the I/O; and what this one last had.
    before: [Ns; 2],
    last: [Ns; 2],
    /// The numbers of its disks in the VM.
    disks: Vec<usize>,
}

impl Attended {
    /// What QEMU counts behind each of its disks; nothing where it does not answer. A QEMU counts from its beginning.
    fn counts(&self) -> Vec<Option<BlockCounts>> {
        let answer =
            ask_counts(self.of.process).and_then(|answer| answer.recv_timeout(ANSWERS).ok());
        let known = match answer {
            Some(Ok(Done::Counted(known))) => known,
            _ => BTreeMap::new(),
        };
        self.disks.iter().map(|number| known.get(number).copied()).collect()
    }

    /// CPU time so far.
    fn cpu(&mut self) -> [Option<Ns>; 2] {
        let now = process_now(self.of.process);
        if now != self.now {
            let add = |n: usize| self.before[n].plus(self.last[n]);
            (self.before, self.last, self.now) = ([add(0), add(1)], [Ns::ZERO; 2], now);
        }
        let Some(cpu) = process::cpu(now) else { return [None; 2] };
        self.last = [cpu.all, cpu.first];
        [0, 1].map(|n| Some(self.before[n].plus(self.last[n])))
    }
}

impl Sampler for GuestProcesses {
    fn hops(&mut self, step: &StepSpec) -> Vec<SampledHop> {
        let attended = step.attended.iter().map(|of| Attended {
            of: of.clone(),
            now: process_now(of.process),
            before: [Ns::ZERO; 2],
            last: [Ns::ZERO; 2],
            disks: Vec::new(),
        });
        self.all = attended.collect();
        for of in &mut self.all {
            let answer = ask_counts(of.of.process);
            if let Some(Ok(Ok(Done::Counted(known)))) = answer.map(|of| of.recv_timeout(ASKED)) {
                of.disks = known.into_keys().collect();
            }
        }
        let hops = |Attended { of, now, disks, .. }: &Attended| {
            let taken = memory_of(*now).map(units::binary_bytes).unwrap_or_default();
            let facts =
                vec![("process".to_owned(), now.to_string()), ("memory-taken".to_owned(), taken)];
            let (all, one) = (format!("{}.qemu", of.name), format!("{}.io-thread", of.name));
            let kind = HopKind::HostCpu;
            let mut hops = vec![
                SampledHop { name: all, kind, facts },
                SampledHop { name: one, kind, facts: Vec::new() },
            ];
            hops.extend(disks.iter().map(|number| SampledHop {
                name: format!("{}.qemu-disk{number}", of.name),
                kind: HopKind::Other,
                facts: vec![("counted-by".to_owned(), "QEMU, behind the emulated disk".to_owned())],
            }));
            hops
        };
        self.all.iter().flat_map(hops).collect()
    }

    fn sample(&mut self) -> Vec<Sample> {
        let processors = cpu::look().stat.map_or(f64::NAN, |stat| f64::from(stat.processors));
        let samples = |of: &mut Attended| {
            let (at, [all, first]) = (clock::now(), of.cpu());
            let busy = |time: Option<Ns>, count: f64| {
                let value = time.map_or(f64::NAN, |time| time.0 as f64);
                let busy = HopReading { counter: CounterId::CpuBusy, value };
                let count = HopReading { counter: CounterId::CpuCount, value: count };
                Sample { at, readings: vec![busy, count] }
            };
            let mut samples = vec![busy(all, processors), busy(first, 1.0)];
            let at = clock::now();
            let counted = of.counts().into_iter();
            samples.extend(counted.map(|counts| Sample { at, readings: behind_disk(counts) }));
            samples
        };
        self.all.iter_mut().flat_map(samples).collect()
    }
}

/// What QEMU counts behind a disk.
fn behind_disk(counts: Option<BlockCounts>) -> Vec<HopReading> {
    let reading = |counter, of: fn(BlockCounts) -> u64| HopReading {
        counter,
        value: counts.map_or(f64::NAN, |counts| of(counts) as f64),
    };
    vec![
        reading(CounterId::ReadOps, |of| of.ops[0]),
        reading(CounterId::ReadBytes, |of| of.bytes[0]),
        reading(CounterId::ReadTime, |of| of.time[0]),
        reading(CounterId::WriteOps, |of| of.ops[1]),
        reading(CounterId::WriteBytes, |of| of.bytes[1]),
        reading(CounterId::WriteTime, |of| of.time[1]),
        reading(CounterId::Errors, |of| of.failed),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_of_a_guest_is_named_by_its_url() {
        let name = GuestDiskName { serial: "WS12", number: 3, controller: 1, login: None };
        assert_eq!(GuestDiskName::of("serial:WS12/3/1"), Some(name));
        let login = Some(("127.0.0.1:3260", "iqn.x:a"));
        let by_kernel = GuestDiskName { login, ..name };
        assert_eq!(GuestDiskName::of("serial:WS12/3/1@127.0.0.1:3260/iqn.x:a"), Some(by_kernel));
        assert_eq!(GuestDiskName::of("serial:WS12/3/1@127.0.0.1:3260"), None);
        for other in ["/dev/sda", "serial:WS12", "serial:WS12/3", "serial:WS12/x/1", "null:"] {
            assert_eq!(GuestDiskName::of(other), None, "{other}");
        }
    }

    #[test]
    fn a_queue_is_full_by_its_slots_and_not_by_its_busy_time() {
        let of = |counter, value| HopReading { counter, value };
        let readings = vec![of(CounterId::ReadOps, 1.0), of(CounterId::Busy, 5.0)];
        let expected = [of(CounterId::ReadOps, 1.0), of(CounterId::Slots, 64.0)];
        assert_eq!(with_slots(readings, Some(64)), expected);
    }

    #[test]
    fn counts_of_disks_add_up_to_those_of_their_adapter_but_for_busy_time() {
        let of = |counter, value| HopReading { counter, value };
        let disk = |ops| vec![of(CounterId::ReadOps, ops), of(CounterId::Busy, 5.0)];
        assert_eq!(summed(&[disk(1.0), disk(2.0)]), [of(CounterId::ReadOps, 3.0)]);
        assert_eq!(summed(&[disk(1.0)]), disk(1.0));
    }
}
