//! A blueprint as a plant: the network that is simulated, under the names that a lab's hops have.

use super::blueprint::{Blueprint, Part, SERVERS, WIRES};
use record::Loop;
use scenario::topology::HopKind;
use sim::Ps;
use sim::model::{
    Begin, Class, Demand, Full, Hop, Law, Load, LoadId, Pool, PoolId, Source, Station, StationId,
};
use sim::plant::{HopElement, HopLimits, Issuer, Plant, PlantHop};

/// How many times each part can do what the blueprint says, by its number; and the load.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub parts: [u32; 13],
    pub load: f64,
    pub delay: f64,
    pub drain: u32,
    /// Paths share evenly.
    pub even: bool,
}

impl Times {
    pub const ONCE: Times = Times { parts: [1; 13], load: 1.0, delay: 1.0, drain: 1, even: false };

    pub fn part(mut self, part: Part, times: u32) -> Times {
        self.parts[part as usize] = times;
        self
    }
}

/// A plant, and where its generators stand: they are no hop.
pub struct Lab {
    pub plant: Plant,
    /// For each VM the station at which its I/Os come to be.
    pub generators: Vec<StationId>,
}

struct Builder<'a> {
    of: &'a Blueprint,
    times: Times,
    plant: Plant,
}

/// Stations and pools that routes go through.
struct Places {
    vm_cpu: Vec<StationId>,
    scsi: Vec<PoolId>,
    host: StationId,
    lun: Vec<PoolId>,
    adapter: StationId,
    credits: Option<PoolId>,
    wires: Vec<StationId>,
    delays: Vec<StationId>,
    controllers: Vec<StationId>,
    disks: Vec<StationId>,
    generators: Vec<StationId>,
}

pub fn build(of: &Blueprint, times: Times) -> Lab {
    let mut builder = Builder { of, times, plant: Plant::default() };
    let places = builder.places();
    (0..of.vms).for_each(|vm| builder.load(vm, &places));
    Lab { plant: builder.plant, generators: places.generators }
}

impl Builder<'_> {
    fn hop(&mut self, name: String, kind: HopKind, device: &str) -> usize {
        let (device, part) = (device.to_owned(), None);
        let (places, limits) = (Vec::new(), HopLimits::default());
        self.plant.hops.push(PlantHop {
            name,
            kind,
            device,
            part,
            places,
            passed: Vec::new(),
            limits,
        });
        self.plant.hops.len() - 1
    }

    fn queue(&mut self, servers: u32) -> StationId {
        self.plant.network.station(Station::Queue { servers, capacity: None, full: Full::Block })
    }

    /// A hop that serves.
    fn server(&mut self, name: String, kind: HopKind, device: &str, part: Part) -> StationId {
        let servers = self.of.servers[part as usize] * self.times.parts[part as usize];
        let hop = self.hop(name, kind, device);
        let station = self.queue(servers);
        self.plant.hops[hop].places.push(HopElement::Station(station));
        self.plant.hops[hop].limits.servers = Some(servers);
        station
    }

    /// A hop that limits how many are under way.
    fn slots(&mut self, name: String, kind: HopKind, device: &str, slots: u32) -> PoolId {
        let pool = self.plant.network.pool(Pool { tokens: slots });
        let hop = self.hop(name, kind, device);
        self.plant.hops[hop].places.push(HopElement::Pool(pool));
        self.plant.hops[hop].limits.slots = Some(slots);
        pool
    }

    fn array(&self, vm: usize) -> &'static str {
        if self.of.drain.is_some() && vm + 1 == self.of.vms { "ssd2" } else { "ssd1" }
    }

    fn places(&mut self) -> Places {
        let of = self.of;
        let times = |part: Part| self.times.parts[part as usize];
        let (scsi_slots, lun_slots) =
            (of.scsi_slots * times(Part::VirtualScsi), of.lun_slots * times(Part::LunQueue));
        let generators = (0..of.vms).map(|_| self.queue(times_of(self, Part::Generator))).collect();
        let each = 0..of.vms;
        let vm_cpu = each.clone().map(|vm| {
            let (name, device) = (format!("vm{}.cpu", vm + 1), format!("vm{}", vm + 1));
            self.server(name, HopKind::VmCpu, &device, Part::VmCpu)
        });
        let vm_cpu = vm_cpu.collect();
        let scsi = each.clone().map(|vm| {
            let (name, device) = (format!("vm{}.scsi0", vm + 1), format!("vm{}", vm + 1));
            self.slots(name, HopKind::VirtualAdapter, &device, scsi_slots)
        });
        let scsi = scsi.collect();
        let host = self.server("esx.cpu".into(), HopKind::HostCpu, "esx", Part::HostCpu);
        let lun = each.clone().map(|vm| {
            let name = format!("esx.hba.{}/lun{vm}", self.array(vm));
            self.slots(name, HopKind::LunQueue, "esx", lun_slots)
        });
        let lun = lun.collect();
        let adapter = self.server("esx.hba".into(), HopKind::Adapter, "esx", Part::Adapter);
        let (wires, delays, credits) = self.wires();
        let controllers = (0..of.controllers).map(|n| {
            let name = format!("ssd1.controller{n}");
            self.server(name, HopKind::Controller, "ssd1", Part::Controller)
        });
        let controllers = controllers.collect();
        let disks = each.map(|vm| {
            let array = self.array(vm);
            self.server(format!("{array}/lun{vm}.disks"), HopKind::Disks, array, Part::Device)
        });
        let disks = disks.collect();
        let mut places = Places {
            vm_cpu,
            scsi,
            host,
            lun,
            adapter,
            credits,
            wires,
            delays,
            controllers,
            disks,
            generators,
        };
        places.delays.extend([Part::Controller, Part::Device].map(|part| self.delay(part)));
        places
    }

    /// A delay at a part, counted at the first of its hops.
    fn delay(&mut self, part: Part) -> StationId {
        let station = self.plant.network.station(Station::Delay);
        if self.of.delay_ns[part as usize] > 0.0 {
            let first = match part {
                Part::Controller => "ssd1.controller0".to_owned(),
                Part::Device => "ssd1/lun0.disks".to_owned(),
                _ => wire(self.of, part, 0).0,
            };
            let hops = self.plant.hops.iter_mut();
            let hop = hops.into_iter().find(|hop| hop.name == first);
            hop.into_iter().for_each(|hop| hop.places.push(HopElement::Station(station)));
        }
        station
    }

    /// The wires of every path: all parts of a path are crossed at once. With a drain there is one path, whose last wire goes
    /// to the first array, and one more wire to the second.
    fn wires(&mut self) -> (Vec<StationId>, Vec<StationId>, Option<PoolId>) {
        let of = self.of;
        let mut stations = Vec::new();
        for path in 0..of.paths {
            let mut rates: Vec<u64> = Vec::new();
            let names: Vec<_> = WIRES.iter().map(|part| wire(of, *part, path)).collect();
            let extra = of.drain.map(|(_, ops)| {
                let rate = ops * f64::from(of.bytes) * of.reads.max(1.0 - of.reads);
                (("ssd2:0".to_owned(), "ssd2".to_owned(), HopKind::TargetPort), rate)
            });
            let known = WIRES
                .iter()
                .map(|part| of.wire(*part) * f64::from(self.times.parts[*part as usize]));
            let known: Vec<f64> = known.collect();
            let drained = extra.iter().map(|(_, rate)| rate * f64::from(self.times.drain));
            let all: Vec<f64> = known.iter().copied().chain(drained).collect();
            all.iter().for_each(|rate| rates.extend([(*rate as u64).max(1); 2]));
            let station = self.plant.network.station(Station::Links { rates });
            let heads = names.into_iter().chain(extra.map(|(head, _)| head));
            for (at, ((name, device, kind), rate)) in heads.zip(all).enumerate() {
                let hop = self.hop(name, kind, &device);
                let hop = &mut self.plant.hops[hop];
                let at = 2 * at as u16;
                hop.places.push(HopElement::ReadLink(station, at));
                hop.places.push(HopElement::WriteLink(station, at + 1));
                hop.limits.read_rate = Some(rate);
                hop.limits.write_rate = Some(rate);
            }
            stations.push(station);
        }
        let credits = of.drain.map(|(credits, _)| {
            let pool = self.plant.network.pool(Pool { tokens: credits });
            let port = self.plant.hops.iter_mut().find(|hop| hop.name == "esx.hba:0");
            port.into_iter().for_each(|hop| {
                hop.places.push(HopElement::Pool(pool));
                hop.limits.slots = Some(credits);
            });
            pool
        });
        let delays = WIRES.map(|part| self.delay(part)).to_vec();
        (stations, delays, credits)
    }

    fn demand(&self, part: Part) -> Demand {
        let mean = Ps::nanos(1).0 as f64 * self.of.service_ns(part);
        let mean = Ps((mean as u64).max(1));
        Demand::of(match self.of.random[part as usize] {
            true => Law::Exponential(mean),
            false => Law::Constant(mean),
        })
    }

    fn load(&mut self, vm: usize, places: &Places) {
        let of = self.of;
        let (mut classes, mut shares) = (Vec::new(), Vec::new());
        for (path, split) in of.split.iter().enumerate() {
            let split = if self.times.even { 1.0 / of.paths as f64 } else { *split };
            for (read, share) in [(true, of.reads), (false, 1.0 - of.reads)] {
                if share > 0.0 {
                    let route = self.route(vm, path, read, places);
                    let class = if read {
                        Class::read(of.bytes, route)
                    } else {
                        Class::write(of.bytes, route)
                    };
                    classes.push(class);
                    shares.push(share * split);
                }
            }
        }
        let depth = (f64::from(of.depth) * self.times.load).round().max(1.0) as u32;
        let (source, arrivals) = match of.offered {
            Some(rate) => {
                let rate = rate * self.times.load / of.vms as f64;
                let gap = Law::Exponential(Ps::from_secs_f64(1.0 / rate));
                (Source::Open { gap, limit: 1 << 14, shares }, Loop::Open { rate })
            }
            None => {
                let think = match of.think_ns {
                    0.0 => Law::ZERO,
                    ns => Law::Exponential(Ps((ns * 1e3) as u64)),
                };
                let arrivals = Loop::Closed { depth, think: of.think_ns > 0.0 };
                (Source::Closed { customers: depth, think, shares }, arrivals)
            }
        };
        let name = format!("vm{}", vm + 1);
        let load: LoadId =
            self.plant.network.load(Load { source, classes, begins: Begin::Now, total: None });
        self.plant.issuers.push(Issuer {
            load,
            source: name.clone(),
            group: name,
            workload: "io".into(),
            arrivals,
            ops_per_transaction: 1,
            planned: None,
        });
    }

    fn route(&self, vm: usize, path: usize, read: bool, places: &Places) -> Vec<Hop> {
        let of = self.of;
        let visit =
            |station: StationId, part: Part| Hop::Visit { station, demand: self.demand(part) };
        let take = |pool: PoolId| Hop::Take { pool, tokens: 1 };
        let give = |pool: PoolId| Hop::Give { pool, tokens: 1 };
        let mut route = vec![
            visit(places.generators[vm], Part::Generator),
            visit(places.vm_cpu[vm], Part::VmCpu),
            take(places.scsi[vm]),
            visit(places.host, Part::HostCpu),
            take(places.lun[vm]),
            visit(places.adapter, Part::Adapter),
        ];
        route.extend(places.credits.map(take));
        let drains = self.array(vm) == "ssd2";
        let links = WIRES.iter().enumerate().map(|(at, part)| match (part, drains) {
            (Part::TargetPort, true) => WIRES.len(),
            _ => at,
        });
        let links = links.map(|at| 2 * at as u16 + u16::from(!read)).collect();
        route.push(Hop::Cross { station: places.wires[path], links, scale: 1.0, extra: 0 });
        route.extend(places.credits.map(give));
        if !drains {
            route.push(visit(places.controllers[(vm + path) % of.controllers], Part::Controller));
        }
        route.push(visit(places.disks[vm], Part::Device));
        let parts = WIRES.iter().chain(&[Part::Controller, Part::Device]);
        for (part, station) in parts.zip(&places.delays) {
            let ns = of.delay_ns[*part as usize] * self.times.delay;
            if ns > 0.0 {
                route.push(Hop::visit(*station, Law::Constant(Ps((ns * 1e3) as u64))));
            }
        }
        route.extend([give(places.lun[vm]), give(places.scsi[vm])]);
        route
    }
}

fn times_of(builder: &Builder<'_>, part: Part) -> u32 {
    builder.of.servers[part as usize] * builder.times.parts[part as usize]
}

/// The name, device and kind of a wire of a path.
fn wire(of: &Blueprint, part: Part, path: usize) -> (String, String, HopKind) {
    let (name, device, kind) = match part {
        Part::HostPort => (format!("esx.hba:{path}"), "esx".to_owned(), HopKind::InitiatorPort),
        Part::Link => {
            let name = format!("esx.hba:{path}-fabric");
            (name.clone(), name, HopKind::Link)
        }
        Part::NearSwitchPort => {
            (format!("fabric:{path}"), "fabric".to_owned(), HopKind::SwitchPort)
        }
        Part::FarSwitchPort => {
            (format!("fabric:{}", of.paths + path), "fabric".to_owned(), HopKind::SwitchPort)
        }
        _ => (format!("ssd1:{path}"), "ssd1".to_owned(), HopKind::TargetPort),
    };
    (name, device, kind)
}

/// The hops of a part.
pub fn names(of: &Blueprint, part: Part) -> Vec<String> {
    let vms = 1..=of.vms;
    match part {
        Part::Generator => Vec::new(),
        Part::VmCpu => vms.map(|vm| format!("vm{vm}.cpu")).collect(),
        Part::VirtualScsi => vms.map(|vm| format!("vm{vm}.scsi0")).collect(),
        Part::HostCpu => vec!["esx.cpu".into()],
        Part::LunQueue => (0..of.vms).map(|n| format!("esx.hba.ssd1/lun{n}")).collect(),
        Part::Adapter => vec!["esx.hba".into()],
        Part::Controller => (0..of.controllers).map(|n| format!("ssd1.controller{n}")).collect(),
        Part::Device => (0..of.vms).map(|n| format!("ssd1/lun{n}.disks")).collect(),
        wires => (0..of.paths).map(|path| wire(of, wires, path).0).collect(),
    }
}

/// Parts that have a capacity, for those who double them all: those that serve, wires, queue limits and the generator.
pub fn all_parts() -> impl Iterator<Item = Part> {
    let rest = [Part::Generator, Part::VirtualScsi, Part::LunQueue];
    SERVERS.into_iter().chain(WIRES).chain(rest)
}
