//! Labs with a bottleneck that was planted: figures of every part, drawn at random, with one of them too small.
//!
//! Whatever is not planted has room: at least a fifth more than what is. Nothing here knows how attribution reasons; that
//! the planted part does limit is confirmed by trying ([`super::trial`]).

use clock::Rng;

/// What was planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Planted {
    Depth,
    Generator,
    VmCpu,
    HostCpu,
    VirtualScsi,
    LunQueue,
    Adapter,
    NearSwitchPort,
    FarSwitchPort,
    Link,
    TargetPort,
    Controller,
    Device,
    PathImbalance,
    HighLatency,
    SlowDrain,
    TwoAtOnce,
    HiddenCounter,
    Nothing,
}

pub const PLANTED: [Planted; 19] = [
    Planted::Depth,
    Planted::Generator,
    Planted::VmCpu,
    Planted::HostCpu,
    Planted::VirtualScsi,
    Planted::LunQueue,
    Planted::Adapter,
    Planted::NearSwitchPort,
    Planted::FarSwitchPort,
    Planted::Link,
    Planted::TargetPort,
    Planted::Controller,
    Planted::Device,
    Planted::PathImbalance,
    Planted::HighLatency,
    Planted::SlowDrain,
    Planted::TwoAtOnce,
    Planted::HiddenCounter,
    Planted::Nothing,
];

/// A part that has a capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Part {
    Generator,
    VmCpu,
    VirtualScsi,
    HostCpu,
    LunQueue,
    Adapter,
    HostPort,
    Link,
    NearSwitchPort,
    FarSwitchPort,
    TargetPort,
    Controller,
    Device,
}

pub const PARTS: [Part; 13] = [
    Part::Generator,
    Part::VmCpu,
    Part::VirtualScsi,
    Part::HostCpu,
    Part::LunQueue,
    Part::Adapter,
    Part::HostPort,
    Part::Link,
    Part::NearSwitchPort,
    Part::FarSwitchPort,
    Part::TargetPort,
    Part::Controller,
    Part::Device,
];

/// Parts that are wires: they carry bytes.
pub const WIRES: [Part; 5] =
    [Part::HostPort, Part::Link, Part::NearSwitchPort, Part::FarSwitchPort, Part::TargetPort];
/// Parts that serve, one I/O after the other at each server.
pub const SERVERS: [Part; 5] =
    [Part::VmCpu, Part::HostCpu, Part::Adapter, Part::Controller, Part::Device];

/// How the record is written where a record may be written in several ways.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Whether workers testify.
    pub testimony: bool,
    /// Whether hops of one wire each count who crosses it, the fullest alone does, or none.
    pub crossing: Crossing,
    /// Whether there is a step with a quarter of the load before it.
    pub neighbour: bool,
    /// What a hidden hop leaves.
    pub hidden: Hidden,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Crossing {
    Each,
    Fullest,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hidden {
    /// Its name, and no counter.
    Silent,
    /// What went through it, and not how much it can carry.
    Rateless,
    /// It is not in the record.
    Absent,
}

/// A lab.
#[derive(Clone, Debug)]
pub struct Blueprint {
    pub seed: u64,
    pub planted: Planted,
    /// The parts that are to limit: none for a load, two for two at once.
    pub parts: Vec<Part>,
    pub vms: usize,
    pub paths: usize,
    pub controllers: usize,
    pub bytes: u32,
    /// Share of reads.
    pub reads: f64,
    /// I/Os a second that each part carries, by its number.
    pub capacity: [f64; 13],
    /// Servers of each instance of a part.
    pub servers: [u32; 13],
    /// Whether its service times are exponential rather than constant.
    pub random: [bool; 13],
    /// A delay besides, in nanoseconds.
    pub delay_ns: [f64; 13],
    /// Slots of a VM's adapter and of a LUN.
    pub scsi_slots: u32,
    pub lun_slots: u32,
    /// Outstanding I/Os of each VM.
    pub depth: u32,
    /// Pause between I/Os of closed loops, in nanoseconds.
    pub think_ns: f64,
    /// I/Os a second of all VMs together, in an open loop.
    pub offered: Option<f64>,
    /// The part of the I/O that each path carries.
    pub split: Vec<f64>,
    /// Credits of the host's port; the last VM's I/O goes to a second array, whose port is this fast in I/Os a second.
    pub drain: Option<(u32, f64)>,
    pub style: Style,
}

/// Draws.
pub struct Dice(Rng);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(Rng::keyed(seed, &[0xa77]))
    }

    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.unit()
    }

    /// Evenly over magnitudes.
    pub fn magnitude(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    pub fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.0.below(of.len() as u64) as usize]
    }

    pub fn chance(&mut self, p: f64) -> bool {
        self.0.chance(p)
    }
}

impl Blueprint {
    /// A lab of this seed with this bottleneck.
    pub fn draw(seed: u64, planted: Planted) -> Blueprint {
        let dice = &mut Dice::new(seed);
        let mut lab = Blueprint::roomy(seed, planted, dice);
        lab.plant(dice);
        lab
    }

    /// A lab whose parts all carry more than its measure, and whose load is not decided.
    fn roomy(seed: u64, planted: Planted, dice: &mut Dice) -> Blueprint {
        let measure = dice.magnitude(3e3, 2e5);
        let vms = dice.one(&[1, 2, 3, 4]);
        let paths = if planted == Planted::PathImbalance {
            dice.one(&[2, 4])
        } else {
            dice.one(&[1, 1, 2])
        };
        let mut capacity = [0.0; 13];
        capacity.iter_mut().for_each(|c| *c = measure * dice.between(1.2, 4.0));
        let mut servers = [1; 13];
        for (part, of) in [
            (Part::VmCpu, &[1, 2, 4][..]),
            (Part::HostCpu, &[2, 4, 8, 16]),
            (Part::Controller, &[1, 2, 4]),
            (Part::Device, &[4, 8, 16, 32]),
        ] {
            servers[part as usize] = dice.one(of);
        }
        let mut random = [false; 13];
        random.iter_mut().for_each(|r| *r = dice.chance(0.5));
        let style = Style {
            testimony: planted == Planted::Generator || dice.chance(0.5),
            crossing: dice.one(&[Crossing::Each, Crossing::Fullest, Crossing::None]),
            neighbour: dice.chance(0.5),
            hidden: dice.one(&[Hidden::Silent, Hidden::Rateless, Hidden::Absent]),
        };
        Blueprint {
            seed,
            planted,
            parts: Vec::new(),
            vms,
            paths,
            // Evenly shared: an uneven one would be a second bottleneck.
            controllers: if vms.is_multiple_of(2) { dice.one(&[1, 2]) } else { 1 },
            bytes: dice.one(&[4096, 8192, 16384, 65536]),
            reads: dice.one(&[1.0, 0.0, 0.7, 0.5]),
            capacity,
            servers,
            random,
            delay_ns: [0.0; 13],
            scsi_slots: u32::MAX,
            lun_slots: u32::MAX,
            depth: 0,
            think_ns: 0.0,
            offered: None,
            split: vec![1.0 / paths as f64; paths],
            drain: None,
            style,
        }
    }

    /// What all parts carry, in I/Os a second, but for those that are planted.
    fn measure(&self) -> f64 {
        self.capacity.iter().copied().fold(f64::INFINITY, f64::min) / 1.2
    }

    fn plant(&mut self, dice: &mut Dice) {
        let full = |of: Part| vec![of];
        self.parts = match self.planted {
            Planted::VmCpu => full(Part::VmCpu),
            Planted::HostCpu => full(Part::HostCpu),
            Planted::VirtualScsi => full(Part::VirtualScsi),
            Planted::LunQueue => full(Part::LunQueue),
            Planted::Adapter => full(Part::Adapter),
            Planted::NearSwitchPort => full(Part::NearSwitchPort),
            Planted::FarSwitchPort => full(Part::FarSwitchPort),
            Planted::Link => full(Part::Link),
            Planted::TargetPort => full(Part::TargetPort),
            Planted::Controller => full(Part::Controller),
            Planted::Device => full(Part::Device),
            Planted::Generator => full(Part::Generator),
            Planted::PathImbalance => full(dice.one(&WIRES)),
            Planted::HiddenCounter => full(dice.one(&[&WIRES[..], &SERVERS[..]].concat())),
            Planted::TwoAtOnce => {
                let all = [&WIRES[..], &SERVERS[..]].concat();
                let first = dice.one(&all);
                let rest: Vec<Part> = all.into_iter().filter(|part| *part != first).collect();
                vec![first, dice.one(&rest)]
            }
            _ => Vec::new(),
        };
        let measure = self.measure();
        let margin = dice.between(0.98, 0.995);
        for (n, part) in self.parts.clone().into_iter().enumerate() {
            self.capacity[part as usize] = if n == 0 { measure } else { measure / margin };
        }
        match self.planted {
            Planted::HighLatency => {
                let part =
                    dice.one(&[Part::Link, Part::FarSwitchPort, Part::Controller, Part::Device]);
                self.delay_ns[part as usize] = self.alone_ns() * dice.between(4.0, 12.0);
            }
            Planted::PathImbalance => self.unbalance(dice),
            Planted::SlowDrain => self.drain(dice),
            _ => {}
        }
        self.load(dice, measure);
    }

    fn unbalance(&mut self, dice: &mut Dice) {
        let hot = dice.between(0.72, 0.95);
        self.split = vec![(1.0 - hot) / (self.paths - 1) as f64; self.paths];
        let at = dice.one(&(0..self.paths).collect::<Vec<_>>());
        self.split[at] = hot;
    }

    fn drain(&mut self, dice: &mut Dice) {
        (self.paths, self.split) = (1, vec![1.0]);
        self.vms = self.vms.max(2);
        self.drain = Some((dice.one(&[8, 16, 32]), self.measure() * dice.between(0.02, 0.12)));
    }

    /// Decides the load: deep enough to fill what was planted, or shallow where the load itself is what limits.
    fn load(&mut self, dice: &mut Dice, measure: f64) {
        let within = measure * self.alone_ns() / 1e9;
        let mut total = within * dice.between(2.5, 6.0) + 6.0;
        match self.planted {
            Planted::Depth | Planted::HighLatency => total = within * dice.between(0.1, 0.3),
            Planted::Nothing if dice.chance(0.5) => {
                self.offered = Some(measure * dice.between(0.15, 0.6));
            }
            Planted::Nothing => {
                self.think_ns = self.alone_ns() * dice.between(8.0, 20.0);
                total = dice.between(0.2, 0.6) * measure * (self.alone_ns() + self.think_ns) / 1e9;
            }
            Planted::VirtualScsi => {
                let slots = (within * dice.between(0.25, 0.55) / self.vms as f64).ceil().max(1.0);
                self.scsi_slots = slots as u32;
                total = slots * self.vms as f64 * dice.between(2.5, 5.0);
            }
            Planted::LunQueue => {
                let slots = (within * dice.between(0.25, 0.55) / self.vms as f64).ceil().max(1.0);
                self.lun_slots = slots as u32;
                total = slots * self.vms as f64 * dice.between(2.5, 5.0);
            }
            Planted::SlowDrain => {
                let credits = self.drain.map_or(0, |(credits, _)| credits);
                total = f64::from(credits) * self.vms as f64 * dice.between(3.0, 5.0);
            }
            _ => {}
        }
        self.depth = (total / self.vms as f64).round().clamp(1.0, 4096.0) as u32;
        for slots in [&mut self.scsi_slots, &mut self.lun_slots] {
            if *slots == u32::MAX {
                *slots = if dice.chance(0.5) { self.depth.max(32) } else { 4 * self.depth };
            }
        }
        if self.offered.is_some() {
            (self.scsi_slots, self.lun_slots) = (1024, 1024);
        }
    }

    /// Service time of a part that serves, in nanoseconds.
    pub fn service_ns(&self, part: Part) -> f64 {
        let instances = match part {
            Part::VmCpu | Part::Device | Part::Generator => self.vms,
            Part::Controller => self.controllers,
            _ => 1,
        };
        let servers = f64::from(self.servers[part as usize]) * instances as f64;
        servers / self.capacity[part as usize] * 1e9
    }

    /// Bytes a second of a wire in each direction.
    pub fn wire(&self, part: Part) -> f64 {
        let hot = self.split.iter().copied().fold(0.0, f64::max);
        let most = self.reads.max(1.0 - self.reads);
        self.capacity[part as usize] * hot * most * f64::from(self.bytes)
    }

    /// The time of an I/O that is alone, in nanoseconds.
    pub fn alone_ns(&self) -> f64 {
        let served: f64 = SERVERS.iter().map(|part| self.service_ns(*part)).sum();
        let slowest = WIRES.iter().map(|part| self.wire(*part)).fold(f64::INFINITY, f64::min);
        served + f64::from(self.bytes) / slowest * 1e9 + self.delay_ns.iter().sum::<f64>()
    }
}
