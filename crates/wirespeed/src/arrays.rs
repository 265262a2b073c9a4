//! Embedded arrays, as an agent serves them: iSCSI targets with volumes in memory, on loopback unless agents of other machines
//! are to reach them.
//!
//! `fleet` says what is wanted and when a port is to be troubled; `san` knows how. This only translates. Nothing is written
//! to anything that was there before: a volume is memory of this process and ends with it.

use crate::control::server::{CarriedOut, ControlSocket, Controlled, open_or_say};
use crate::control::{ArrayNames, PortState};
use crate::hops::taken;
use clock::Ns;
use engine::EngineError;
use fleet::HopReading;
use fleet::arrays::{
    ARRAY_USER, ArrayAccess, ArrayPart, ArrayServer, ArraySpec, ArrayTraffic, ArrayVolume,
    PortOrder, ServedArray, TapeSpec,
};
use iscsi::chap::{Credentials, Secret};
use probe::process::WatchedProcess;
use record::{CounterId, Lever};
use san::server::{
    Auth, PortRate, PortalConfig, ServedPortal, TargetControl, TargetLimits, TargetServer,
    TargetSettings, VolumeLimit,
};
use san::volume::{
    GENERATIONS, LibrarySettings, MemoryDrive, Pace, Volume, VolumeError, VolumeKind,
};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Before the name of an array in its target's iSCSI name.
const NAME: &str = "iqn.2026-11.localhost:wirespeed-array-";

/// The longest iSCSI name in bytes (RFC 7143, section 4.2.7.1).
const NAME_MAX: usize = 223;

/// How long the end of a run waits for initiators that have not taken their leave: less than a coordinator waits for an agent.
const STOP_TIME: Duration = Duration::from_millis(500);

/// Sessions at an array at most: each worker has one for each path, and each agent one beside them for each LUN.
const SESSIONS: usize = 4096;

/// Speeds that a port can have, in bytes a second.
const SPEEDS: std::ops::RangeInclusive<u64> = 1_000..=1_000_000_000_000;

/// Serves arrays in this process.
pub struct Arrays {
    alone: bool,
    /// Where ports listen, by name; the others on loopback.
    listens: BTreeMap<String, IpAddr>,
}

impl Arrays {
    /// In a process that does nothing else: its CPU time is theirs.
    pub fn alone() -> Arrays {
        Arrays { alone: true, listens: BTreeMap::new() }
    }

    /// In a process that also carries workers, whose CPU time tells nothing of the arrays.
    pub fn beside_workers() -> Arrays {
        Arrays { alone: false, listens: BTreeMap::new() }
    }

    /// In a namespace, where its ports have addresses of their own.
    pub fn at(listens: BTreeMap<String, IpAddr>) -> Arrays {
        Arrays { listens, ..Arrays::alone() }
    }
}

impl ArrayServer for Arrays {
    fn serve(&mut self, spec: &ArraySpec) -> Result<Box<dyn ServedArray>, EngineError> {
        let failed = |problem: String| EngineError::Target { target: spec.name.clone(), problem };
        let volumes = match spec.library {
            Some(drives) => library(spec, drives),
            None => spec.volumes.iter().map(volume).collect(),
        };
        let volumes = volumes.map_err(|e| failed(e.to_string()))?;
        let usual = spec.access.as_ref().map_or(Ipv4Addr::LOCALHOST.into(), |of| of.address);
        let address = |port: &str| self.listens.get(port).copied().unwrap_or(usual);
        let portals = spec.ports.iter().zip(1u16..).map(|(port, group)| PortalConfig {
            // Each a port of its own to initiators, so that a session belongs to one of them.
            group,
            ..PortalConfig::new(SocketAddr::new(address(&port.name), 0))
        });
        let mut config = TargetSettings::new(&name(&spec.name), portals.collect(), volumes);
        // Addresses are given in the namespaces of an emulated lab alone.
        config.isolated = !self.listens.is_empty();
        config.for_a_run = true;
        config.threads = spec.threads as usize;
        // Who comes belongs to the run: many agents of a fleet, perhaps all on one machine and at once.
        config.limits = TargetLimits {
            logins: SESSIONS,
            logins_per_address: SESSIONS,
            sessions: SESSIONS,
            sessions_per_address: SESSIONS,
            sessions_per_initiator: SESSIONS,
            connections: 2 * SESSIONS,
            stop_time: STOP_TIME,
            ..TargetLimits::default()
        };
        if let Some(access) = &spec.access {
            config.auth = auth(access).map_err(failed)?;
        }
        let target = TargetServer::start(config).map_err(|e| failed(e.to_string()))?;
        let orders = Arc::<Mutex<Vec<PortOrder>>>::default();
        let told = Arc::clone(&orders);
        let keep = move |done: CarriedOut| {
            let CarriedOut::Port { port, state, .. } = done else { return };
            let stopped = state == PortState::Stopped;
            let order = PortOrder { at: clock::now(), port, stopped };
            told.lock().unwrap_or_else(PoisonError::into_inner).push(order);
        };
        // An array that cannot be asked serves nevertheless.
        let control = open_or_say(controlled(spec, target.control()), true, keep);
        let process = self.alone.then(|| Mutex::new(WatchedProcess::new(std::process::id())));
        let first = usize::from(spec.library.is_some());
        Ok(Box::new(RunningArray { _control: control, target, first, process, orders }))
    }
}

/// What agents of other machines have to prove.
fn auth(access: &ArrayAccess) -> Result<Auth, String> {
    let secret = Secret::new(access.secret.reveal().as_bytes()).map_err(|e| e.to_string())?;
    let user = Credentials { name: ARRAY_USER.to_owned(), secret };
    Ok(Auth::Chap { users: vec![user], target: None })
}

/// An array under the names of its scenario, for those that ask it.
fn controlled(spec: &ArraySpec, target: TargetControl) -> Controlled {
    let ports = spec.ports.iter().map(|port| format!("{}.{}", spec.name, port.name)).collect();
    let changer = spec.library.map(|_| format!("changer of {}", spec.name));
    let volumes = spec.volumes.iter().map(|volume| format!("{}/{}", spec.name, volume.name));
    let volumes = changer.into_iter().chain(volumes);
    let array = ArrayNames { name: spec.name.clone(), ports };
    Controlled { target, volumes: volumes.collect(), array: Some(array) }
}

fn volume(spec: &ArrayVolume) -> Result<Arc<Volume>, VolumeError> {
    let ArrayVolume { size, block, thin, serial, .. } = spec;
    let wanted = san::volume::VolumeSpec {
        kind: VolumeKind::Ram { size: *size },
        thin: *thin,
        read_only: false,
        block: *block,
        serial: Some(serial.clone()),
        write_through: false,
        write_token: None,
        overwrite: false,
    };
    Volume::open(&wanted, serial)
}

/// A tape library: its changer, and a drive for each volume, with a cartridge in memory. Its tapes move evenly and compress
/// nothing, so that what they take follows from their rate.
fn library(spec: &ArraySpec, drives: TapeSpec) -> Result<Vec<Arc<Volume>>, VolumeError> {
    let [.., newest] = &GENERATIONS;
    let settings = LibrarySettings {
        directory: PathBuf::new(),
        generation: newest,
        drives: 0,
        slots: 0,
        mailslots: 0,
        cartridges: 0,
        capacity: None,
        pace: drives.bytes_per_s.map(Pace::Even),
        compress: false,
        target: name(&spec.name),
    };
    let drive =
        |volume: &ArrayVolume| MemoryDrive { serial: volume.serial.clone(), capacity: volume.size };
    let drives: Vec<MemoryDrive> = spec.volumes.iter().map(drive).collect();
    let serial = spec.volumes.first().map_or("", |volume| &volume.serial);
    Volume::open_library_in_memory(&settings, serial, &drives)
}

/// The nearest speed that a port can have.
fn rate(bytes_per_s: u64) -> PortRate {
    let bytes_per_s = bytes_per_s.clamp(*SPEEDS.start(), *SPEEDS.end());
    PortRate::new(bytes_per_s).expect("the range is that of ports")
}

/// The target's iSCSI name, whose letters are fewer than a scenario's.
fn name(array: &str) -> String {
    let lower = array.to_lowercase();
    let letters = lower.chars().map(|c| match c {
        'a'..='z' | '0'..='9' | '-' | '.' => c,
        _ => '-',
    });
    format!("{NAME}{}", letters.take(NAME_MAX - NAME.len()).collect::<String>())
}

/// An array that is served.
struct RunningArray {
    /// Closed before the target stops.
    _control: Option<ControlSocket>,
    target: TargetServer,
    /// The first of its volumes: behind the changer of a library.
    first: usize,
    /// Its process, where that does nothing else.
    process: Option<Mutex<WatchedProcess>>,
    /// What the user has told it by hand.
    orders: Arc<Mutex<Vec<PortOrder>>>,
}

impl RunningArray {
    fn at(&self, port: usize, act: impl FnOnce(ServedPortal<'_>)) {
        if let Some(portal) = self.target.portal(port) {
            act(portal);
        }
    }
}

impl ServedArray for RunningArray {
    fn target(&self) -> String {
        self.target.name().to_owned()
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.target.addresses()
    }

    fn port(&self, port: usize) -> ArrayTraffic {
        let counts = self.target.counts(port).unwrap_or_default();
        ArrayTraffic {
            read_ops: counts.reads,
            read_bytes: counts.bytes_out,
            write_ops: counts.writes,
            write_bytes: counts.bytes_in,
            queue: counts.queue,
            connections: counts.connections,
        }
    }

    fn volume(&self, volume: usize) -> ArrayTraffic {
        let counters =
            self.target.volumes().get(self.first + volume).map(|volume| volume.counters());
        let counters = counters.unwrap_or_default();
        ArrayTraffic {
            read_ops: counters.reads,
            read_bytes: counters.bytes_read,
            write_ops: counters.writes,
            write_bytes: counters.bytes_written,
            queue: counters.in_flight,
            connections: 0,
        }
    }

    fn speed(&self, port: usize) -> Option<u64> {
        Some(self.target.portal(port)?.rate()?.bytes_per_s())
    }

    fn process(&self) -> Option<Vec<HopReading>> {
        let process = self.process.as_ref()?;
        let cpu = clock::process_cpu();
        let cpu = HopReading { counter: CounterId::Cpu, value: cpu.user.plus(cpu.system).0 as f64 };
        let look = process.lock().unwrap_or_else(PoisonError::into_inner).look();
        Some([cpu].into_iter().chain(taken(look)).collect())
    }

    fn rested(&self) -> Ns {
        self.target.rested()
    }

    fn set_speed(&self, port: usize, bytes_per_s: Option<u64>) {
        self.at(port, |portal| portal.set_rate(bytes_per_s.map(rate)));
    }

    fn kill(&self, port: usize) {
        self.at(port, |portal| portal.kill());
    }

    fn revive(&self, port: usize) -> Result<(), String> {
        let Some(portal) = self.target.portal(port) else { return Ok(()) };
        portal.revive().map_err(|e| e.to_string())
    }

    fn set_busy(&self, port: usize, busy: bool) {
        self.at(port, |portal| portal.set_busy(busy));
    }

    fn orders(&self) -> Vec<PortOrder> {
        std::mem::take(&mut *self.orders.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn limit(&self, part: ArrayPart, lever: Lever, value: Option<f64>) {
        let amount = value.unwrap_or(0.0);
        let delay = Ns(amount.round() as u64);
        match (part, lever) {
            (ArrayPart::Port(port), Lever::Rate) => {
                self.set_speed(port, value.map(|rate| rate.round() as u64));
            }
            (ArrayPart::Port(port), Lever::Latency) => {
                self.at(port, |portal| portal.set_delay(delay))
            }
            (ArrayPart::Volume(volume), Lever::Rate) => {
                self.target.limit_volume(self.first + volume, VolumeLimit::Rate(amount));
            }
            (ArrayPart::Volume(volume), Lever::Ops) => {
                self.target.limit_volume(self.first + volume, VolumeLimit::Ops(amount));
            }
            (ArrayPart::Volume(volume), Lever::Latency) => {
                self.target.limit_volume(self.first + volume, VolumeLimit::Latency(delay));
            }
            (ArrayPart::Threads, Lever::Cpu) => self.target.limit_cpu(value.unwrap_or(1.0)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_a_name_that_initiators_take() {
        assert_eq!(name("store"), "iqn.2026-11.localhost:wirespeed-array-store");
        assert_eq!(name("Store_1 ü"), "iqn.2026-11.localhost:wirespeed-array-store-1--");
        assert_eq!(name(&"x".repeat(1000)).len(), NAME_MAX);
    }

    #[test]
    fn a_speed_beyond_what_ports_have_is_the_nearest_one() {
        assert_eq!(rate(1).bytes_per_s(), 1_000);
        assert_eq!(rate(123_456).bytes_per_s(), 123_456);
        assert_eq!(rate(u64::MAX).bytes_per_s(), 1_000_000_000_000);
    }
}
