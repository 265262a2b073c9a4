//! A lab that starts at the array's controllers: what is behind them as text, and ways without other hops.

use scenario::topology::{Hop, HopId, HopKind, Route, Topology, Way};
use scenario::{Policy, Scenario, Source, Step};
use sim::Ps;
use sim::engine::{Simulation, Snapshot};
use sim::lab::{LabError, compile};
use sim::plant::Plant;

/// A lab with its load: from `vm1` to the first volume, from `vm2` to the second …
pub struct Rig<'a> {
    /// Parts, the array `a` and its volumes.
    pub lab: &'a str,
    /// Names of the volumes.
    pub volumes: &'a [&'a str],
    /// Disks behind each.
    pub disks: u32,
    /// `[workload.NAME]` tables.
    pub work: &'a str,
    /// Keys of the plan besides its phases.
    pub plan: &'a str,
    /// More disks of each VM, by volume.
    pub also: &'a [&'a str],
    /// Warm-up and measured seconds.
    pub span: (u64, u64),
}

impl Default for Rig<'_> {
    fn default() -> Self {
        let plan = "workload = \"w\"\non = \"vm*\"";
        Rig { lab: "", volumes: &["v"], disks: 1, work: "", plan, also: &[], span: (2, 20) }
    }
}

/// Counts in the measured span.
pub struct Seen {
    pub plant: Plant,
    pub counts: Snapshot,
    pub seconds: f64,
}

impl Rig<'_> {
    pub fn scenario(&self) -> Scenario {
        match scenario::load(&Source { text: self.text(), ..Source::default() }) {
            Ok(scenario) => scenario,
            Err(problems) => panic!("{problems}"),
        }
    }

    pub fn text(&self) -> String {
        let more: String = self.also.iter().map(|v| format!(", {{ lun = \"a/{v}\" }}")).collect();
        let vm = |(number, volume): (usize, &&str)| {
            format!(
                "[[vm]]\nname = \"vm{}\"\ndisks = [{{ lun = \"a/{volume}\" }}{more}]\n",
                number + 1
            )
        };
        let vms: String = self.volumes.iter().enumerate().map(vm).collect();
        let (warmup, measure) = self.span;
        format!(
            "[scenario]\ntitle = \"A rig\"\n{}\n{vms}\n{}\n[plan]\nwarmup = \"{warmup}s\"\nmeasure = \"{measure}s\"\n{}\n",
            self.lab, self.work, self.plan
        )
    }

    pub fn compiled(&self) -> Result<Plant, LabError> {
        let scenario = self.scenario();
        compile(&scenario, &self.topology(), &step(&scenario))
    }

    /// The plant of another step of the scenario, or why there is none.
    pub fn compiled_for(&self, step: &Step) -> Result<Plant, String> {
        compile(&self.scenario(), &self.topology(), step).map_err(|problem| problem.to_string())
    }

    pub fn plant(&self) -> Plant {
        match self.compiled() {
            Ok(plant) => plant,
            Err(problem) => panic!("{problem}"),
        }
    }

    pub fn run(&self) -> Seen {
        self.run_for(Ps::secs(self.span.0), Ps::secs(self.span.1))
    }

    /// With given warm-up and measured time; without a warm-up from the first I/O on.
    pub fn run_for(&self, warmup: Ps, measured: Ps) -> Seen {
        let plant = self.plant();
        let mut simulation = Simulation::new(&plant.network, 7).expect("a simulation");
        let mut before = None;
        if warmup > Ps::ZERO {
            simulation.run_until(warmup).expect("no halt");
            before = Some(simulation.snapshot());
        }
        simulation.run_until(warmup.plus(measured)).expect("no halt");
        let counts = simulation.snapshot();
        let counts = before.map_or(counts.clone(), |before| counts.since(&before));
        Seen { plant, counts, seconds: measured.as_secs_f64() }
    }

    /// Each volume by two controllers that share a cache.
    fn topology(&self) -> Topology {
        let mut topology = Topology::default();
        let mut hop = |name: String, kind, count| {
            let (device, part) = ("a".to_owned(), None);
            topology.hops.push(Hop { name, kind, device, part, count });
            HopId(topology.hops.len() as u32 - 1)
        };
        let controller = hop("a.controller0".to_owned(), HopKind::Controller, 1);
        let cache = hop("a.cache".to_owned(), HopKind::Cache, 1);
        let backend = hop("a.backend".to_owned(), HopKind::Backend, 1);
        let mut names: Vec<&str> = self.volumes.to_vec();
        names.extend(self.also);
        names.dedup();
        let mut store = |name: &&str| match name.starts_with("drive") {
            true => hop(format!("a.{name}"), HopKind::TapeDrive, 1),
            false => hop(format!("a/{name}.disks"), HopKind::Disks, self.disks),
        };
        let stores: Vec<HopId> = names.iter().map(&mut store).collect();
        for (number, volume) in self.volumes.iter().enumerate() {
            for (disk, volume) in (0..).zip(std::iter::once(volume).chain(self.also)) {
                let at = names.iter().position(|name| name == volume).expect("a volume");
                let hops = vec![controller, cache, backend, stores[at]];
                topology.ways.push(Way {
                    member: format!("vm{}", number + 1),
                    disk,
                    volume: format!("a/{volume}"),
                    policy: Policy::Fixed,
                    paths: vec![Route { name: None, hops }],
                });
            }
        }
        topology
    }
}

pub fn step(scenario: &Scenario) -> Step {
    scenario.steps().swap_remove(0)
}

impl Seen {
    /// I/Os a second, all loads and both directions.
    pub fn iops(&self) -> f64 {
        let ended = self.counts.classes.iter().map(|class| class.tally.departures).sum::<u64>();
        ended as f64 / self.seconds
    }

    /// I/Os a second of one load.
    pub fn iops_of(&self, load: u32) -> f64 {
        let of = self.counts.classes.iter().filter(|class| class.load == load);
        of.map(|class| class.tally.departures).sum::<u64>() as f64 / self.seconds
    }

    /// MB/s, all loads and both directions.
    pub fn rate(&self, bytes: u32) -> f64 {
        self.iops() * f64::from(bytes) / 1e6
    }

    /// Mean milliseconds from issue to end.
    pub fn latency(&self) -> f64 {
        let classes = || self.counts.classes.iter();
        let ended = classes().map(|class| class.tally.departures).sum::<u64>();
        classes().map(|class| class.responded).sum::<u128>() as f64 / ended as f64 / 1e9
    }

    /// The share of the tokens of a hop's pool that are held at the end.
    pub fn held(&self, hop: &str) -> f64 {
        let hop = self.plant.hops.iter().find(|known| known.name == hop).expect("a hop");
        let pool = hop.places.iter().find_map(|place| match place {
            sim::plant::HopElement::Pool(pool) => Some(pool.0 as usize),
            _ => None,
        });
        let pool = pool.expect("a pool");
        let tokens = self.plant.network.pools()[pool].tokens;
        f64::from(self.counts.pools[pool].level.busy) / f64::from(tokens)
    }

    /// Visits a second of all elements of a hop, or of those where its traffic is counted.
    pub fn visits(&self, hop: &str) -> f64 {
        let hop = self.plant.hops.iter().find(|known| known.name == hop).expect("a hop");
        let of = |place: &sim::plant::HopElement| match place {
            sim::plant::HopElement::Station(station) => {
                self.counts.stations[station.0 as usize].departures as f64
            }
            _ => 0.0,
        };
        let counted = if hop.passed.is_empty() { &hop.places } else { &hop.passed };
        counted.iter().map(of).sum::<f64>() / self.seconds
    }
}
