//! A small lab: its parts as text, its ways as hops by name, and a device that accepts everything.

use scenario::topology::{Hop as Stop, HopId, HopKind, Route, Topology, Way};
use scenario::{Policy, Scenario, Source, Step};
use sim::Ps;
use sim::engine::{Simulation, Snapshot};
use sim::lab::draft::Draft;
use sim::lab::front::Front;
use sim::model::*;
use sim::plant::{HopElement, Plant};
use workload::Dir;

/// Ways of a lab: the owner, and each path as its hops in order.
pub type Ways<'a> = &'a [(&'a str, &'a [&'a str])];

/// A lab with its load.
pub struct Rig<'a> {
    pub lab: &'a str,
    pub ways: Ways<'a>,
    pub policy: Policy,
    /// Way, direction, bytes, outstanding.
    pub loads: &'a [(usize, Dir, u32, u32)],
    /// Mean service time of the device in microseconds, uniform from 0 to twice that.
    pub device: u64,
    /// What fails when (in milliseconds), and when it recovers.
    pub failure: Option<(&'a str, u64, u64)>,
}

/// A span of 400 ms after 200 ms of warm-up.
pub struct Seen {
    pub plant: Plant,
    pub counts: Snapshot,
    /// Bytes on each link of each station.
    pub carried: Vec<Vec<f64>>,
}

const FROM: Ps = Ps::millis(200);
const SPAN: Ps = Ps::millis(400);

impl Default for Rig<'_> {
    fn default() -> Self {
        Rig { lab: "", ways: &[], policy: Policy::Fixed, loads: &[], device: 10, failure: None }
    }
}

impl Rig<'_> {
    pub fn plant(&self) -> Plant {
        let scenario = scenario(self.lab);
        let topology = topology(&scenario, self.ways, self.policy);
        let step = step(&scenario);
        let mut draft = Draft::new(&topology);
        let failing = self.failure.is_some();
        let front = Front::new(&scenario, &topology, &step, failing, &mut draft);
        let device = draft.network().station(Station::Delay);
        for (way, dir, bytes, outstanding) in self.loads {
            let sizes = [(*bytes, 1.0)];
            let approach = front.approach(&topology, *way, *dir, &sizes, &mut draft);
            let law = Law::Uniform(Ps::ZERO, Ps::micros(2 * self.device));
            let hop = Hop::visit(device, law);
            let arrays = vec![vec![hop]; approach.arms.len()];
            let route = approach.route(arrays);
            let class = Class { dir: *dir, bytes: *bytes, priority: 0, route };
            draft.load(Load::closed(*outstanding, Law::ZERO, class));
        }
        if let Some((what, down, up)) = self.failure {
            let arms = front.through(&topology, what);
            assert!(!arms.is_empty(), "{what} is on a path");
            for (selector, arm) in arms {
                let network = draft.network();
                network.change(Ps::millis(down), Change::ArmDown { selector, arm });
                network.change(Ps::millis(up), Change::ArmUp { selector, arm });
            }
        }
        draft.finish().expect("a plant")
    }

    pub fn run(&self) -> Seen {
        let plant = self.plant();
        let mut simulation = Simulation::new(&plant.network, 1).expect("a simulation");
        simulation.run_until(FROM).expect("no halt");
        let stations = plant.network.stations().len() as u32;
        let before = simulation.snapshot();
        let links = |simulation: &mut Simulation| -> Vec<Vec<f64>> {
            (0..stations).map(|station| simulation.carried(StationId(station))).collect()
        };
        let carried_before = links(&mut simulation);
        simulation.run_until(FROM.plus(SPAN)).expect("no halt");
        let mut carried = links(&mut simulation);
        for (now, then) in carried.iter_mut().flatten().zip(carried_before.iter().flatten()) {
            *now -= then;
        }
        Seen { plant, counts: simulation.snapshot().since(&before), carried }
    }
}

impl Seen {
    /// I/Os a second of a load.
    pub fn iops(&self, load: usize) -> f64 {
        self.counts.classes[load].tally.departures as f64 / SPAN.as_secs_f64()
    }

    /// MB/s of a load of I/Os of so many bytes.
    pub fn rate(&self, load: usize, bytes: u32) -> f64 {
        self.iops(load) * f64::from(bytes) / 1e6
    }

    /// Bytes a second on the wires of a hop, read and written.
    pub fn wires(&self, hop: &str) -> (f64, f64) {
        let hop = self.plant.hops.iter().find(|known| known.name == hop).expect("a hop");
        let on = |station: StationId, link: u16| {
            self.carried[station.0 as usize][usize::from(link)] / SPAN.as_secs_f64()
        };
        let (mut read, mut write) = (0.0, 0.0);
        for place in &hop.places {
            match place {
                HopElement::ReadLink(station, link) => read = on(*station, *link),
                HopElement::WriteLink(station, link) => write = on(*station, *link),
                _ => {}
            }
        }
        (read, write)
    }

    /// Mean tokens in use of a hop's queue limit.
    pub fn slots(&self, hop: &str) -> f64 {
        let hop = self.plant.hops.iter().find(|known| known.name == hop).expect("a hop");
        let pool = hop.places.iter().find_map(|place| match place {
            HopElement::Pool(pool) => Some(*pool),
            _ => None,
        });
        let tally = &self.counts.pools[pool.expect("a pool").0 as usize];
        tally.busy as f64 / SPAN.0 as f64
    }
}

pub fn scenario(lab: &str) -> Scenario {
    let text = format!(
        "[scenario]\ntitle = \"a rig\"\n{lab}\n[workload.w]\nblock = \"8KiB\"\n[plan]\nworkload = \"w\"\non = \"vm1\"\nmeasure = \"1s\"\n"
    );
    let source = Source { name: "rig.toml".to_owned(), text, ..Source::default() };
    scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

pub fn step(scenario: &Scenario) -> Step {
    scenario.steps().into_iter().next().expect("a step")
}

/// The topology of these ways; kinds, devices and parts follow from the hops' names.
pub fn topology(scenario: &Scenario, ways: Ways, policy: Policy) -> Topology {
    let mut topology = Topology::default();
    for (number, (member, paths)) in ways.iter().enumerate() {
        let mut routes = Vec::new();
        for path in *paths {
            let hops =
                path.split_whitespace().map(|name| find_or_add(&mut topology, scenario, name));
            routes.push(Route { name: None, hops: hops.collect() });
        }
        topology.ways.push(Way {
            member: (*member).to_owned(),
            disk: number as u32,
            volume: "a/v".to_owned(),
            policy,
            paths: routes,
        });
    }
    topology
}

fn find_or_add(topology: &mut Topology, scenario: &Scenario, name: &str) -> HopId {
    if let Some(known) = topology.find(name) {
        return known;
    }
    topology.hops.push(stop(scenario, name));
    HopId(topology.hops.len() as u32 - 1)
}

fn stop(scenario: &Scenario, name: &str) -> Stop {
    let lab = &scenario.lab;
    let first = name.split(['.', ':']).next().unwrap_or(name);
    let vm = lab.vms.iter().find(|vm| vm.name == first);
    let host = lab.hosts.iter().find(|host| host.name == first);
    let adapter = || {
        let own = name.strip_prefix(first)?.strip_prefix('.')?.split([':', '.']).next()?;
        host?.adapters.iter().find(|adapter| adapter.name == own)
    };
    let switch = || lab.switches.iter().find(|switch| switch.name == first);
    let (kind, part) = if lab.links.iter().any(|link| link.name == name) || name.contains('-') {
        (HopKind::Link, None)
    } else if name.ends_with(".datastore") {
        (HopKind::Datastore, None)
    } else if name.contains('/') {
        (HopKind::LunQueue, adapter().and_then(|adapter| adapter.part.clone()))
    } else if let Some(vm) = vm {
        match name {
            _ if name.ends_with(".cpu") => (HopKind::VmCpu, None),
            _ if name.contains(".scsi") => (HopKind::VirtualAdapter, vm.scsi.first().cloned()),
            _ => (HopKind::VirtualDisk, None),
        }
    } else if let Some(host) = host {
        let part = adapter().and_then(|adapter| adapter.part.clone());
        match name {
            _ if name.ends_with(".cpu") => (HopKind::HostCpu, host.part.clone()),
            _ if name.contains(':') => (HopKind::InitiatorPort, part),
            _ => (HopKind::Adapter, part),
        }
    } else if let Some(switch) = switch() {
        (HopKind::SwitchPort, switch.part.clone())
    } else {
        let array = lab.arrays.iter().find(|array| array.name == first).expect("an array");
        (HopKind::TargetPort, array.part.clone())
    };
    let device = if kind == HopKind::Link { name } else { first };
    Stop { name: name.to_owned(), kind, device: device.to_owned(), part, count: 1 }
}
