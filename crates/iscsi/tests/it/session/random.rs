//! Commands on several connections, with bytes in arbitrary portions and an owner that works in any order: in every
//! interleaving each byte arrives at its place, and nothing is left over.

use std::collections::BTreeMap;

use iscsi::pdu::{Lun, Residual};
use iscsi::target::{Limits, SessionParams};
use proptest::prelude::*;

use super::initiator::{Initiator, blocks, pattern};
use super::rig::{BLOCK, Rig, Setup};

/// Each command uses a region of this many blocks, one at a time, so that the expected content is known.
const REGION: u16 = 16;
const REGIONS: u32 = 12;

#[derive(Clone, Debug)]
enum Step {
    Write { link: usize, region: u32, len: u16 },
    Read { link: usize, region: u32 },
    Feed { link: usize, grain: usize, times: usize },
    Work { at: usize },
    Pull { link: usize, budget: usize },
    Listen,
    Abort { link: usize, nth: usize },
    Reset { link: usize },
    Ping { link: usize },
    Cut { link: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let link = 0..3_usize;
    let step = prop_oneof![
        6 => (link.clone(), 0..REGIONS, 1..=REGION).prop_map(|(link, region, len)| Step::Write { link, region, len }),
        4 => (link.clone(), 0..REGIONS).prop_map(|(link, region)| Step::Read { link, region }),
        12 => (link.clone(), 1..3000_usize, 1..12_usize).prop_map(|(link, grain, times)| Step::Feed { link, grain, times }),
        6 => (0..8_usize).prop_map(|at| Step::Work { at }),
        6 => (link.clone(), 1..5000_usize).prop_map(|(link, budget)| Step::Pull { link, budget }),
        5 => Just(Step::Listen),
        1 => (link.clone(), 0..3_usize).prop_map(|(link, nth)| Step::Abort { link, nth }),
        1 => link.clone().prop_map(|link| Step::Reset { link }),
        1 => link.clone().prop_map(|link| Step::Ping { link }),
        1 => link.prop_map(|link| Step::Cut { link }),
    ];
    prop::collection::vec(step, 1..160)
}

fn setups() -> impl Strategy<Value = Setup> {
    let sizes = prop::sample::select(vec![(512, 512), (600, 1700), (4096, 4096), (65536, 262_144)]);
    let segments = prop::sample::select(vec![512, 700, 8192]);
    (
        any::<[bool; 4]>(),
        sizes,
        1..5_u16,
        1..4_u16,
        segments.clone(),
        segments,
        prop::sample::select(vec![12, 128]),
    )
        .prop_map(
            |(
                flags,
                (first_burst, max_burst),
                r2ts,
                connections,
                max_receive,
                max_send,
                window,
            )| Setup {
                session: SessionParams {
                    initial_r2t: flags[0],
                    immediate_data: flags[1],
                    first_burst,
                    max_burst,
                    max_outstanding_r2t: r2ts,
                    max_connections: connections,
                },
                limits: Limits { window, ..Limits::default() },
                header_digest: flags[2],
                data_digest: flags[3],
                max_receive,
                max_send,
                connections,
                ..Setup::default()
            },
        )
}

/// The effects of outstanding commands on their regions.
enum Deed {
    Write(Vec<u8>),
    Read,
}

struct World {
    rig: Rig,
    initiator: Initiator,
    /// The content of each region; `None` if an aborted write may or may not have been applied.
    model: Vec<Option<Vec<u8>>>,
    deeds: BTreeMap<u32, (u32, Deed)>,
    cut: bool,
}

impl World {
    fn new(setup: Setup) -> World {
        let mut rig = Rig::new(setup);
        rig.lazy = true;
        let initiator = Initiator::new(&rig);
        let model = vec![Some(vec![0; blocks(REGION)]); REGIONS as usize];
        World { rig, initiator, model, deeds: BTreeMap::new(), cut: false }
    }

    fn is_free(&self, region: u32) -> bool {
        // An initiator respects the window.
        let window = usize::from(self.rig.setup.limits.window);
        self.deeds.len() < window && self.deeds.values().all(|(busy, _)| *busy != region)
    }

    fn step(&mut self, step: &Step) {
        let links = self.rig.links.len();
        let open = |world: &World, link: usize| !world.rig.links[link % links].shut;
        match *step {
            Step::Write { link, region, len } if open(self, link) && self.is_free(region) => {
                let data = pattern(blocks(len), self.initiator.cmd_sn);
                let lba = region * u32::from(REGION);
                let tag = self.initiator.write(&mut self.rig, link % links, lba, len, &data);
                self.deeds.insert(tag, (region, Deed::Write(data)));
            }
            Step::Read { link, region } if open(self, link) && self.is_free(region) => {
                let (lba, expected) = (region * u32::from(REGION), blocks(REGION) as u32);
                let tag = self.initiator.read(&mut self.rig, link % links, lba, REGION, expected);
                self.deeds.insert(tag, (region, Deed::Read));
            }
            Step::Feed { link, grain, times } if open(self, link) => {
                self.rig.grain = grain;
                for _ in 0..times {
                    self.rig.feed_once(link % links);
                    self.rig.look();
                }
            }
            Step::Work { at } if !self.rig.jobs.is_empty() => {
                let at = at % self.rig.jobs.len();
                self.rig.work_on(at);
            }
            Step::Pull { link, budget } => _ = self.rig.drain(link % links, budget),
            Step::Listen => self.listen(),
            Step::Abort { link, nth } if open(self, link) => {
                if let Some(tag) = self.initiator.running_on(link % links, nth) {
                    self.initiator.abort(&mut self.rig, link % links, Some(tag));
                }
            }
            Step::Reset { link } if open(self, link) => {
                self.initiator.abort(&mut self.rig, link % links, None)
            }
            Step::Ping { link } => {
                let id = self.rig.links[link % links].id;
                let _ = self.rig.session.ping(id);
            }
            // A session with one connection keeps its last one.
            Step::Cut { link } if links > 1 && !self.cut => {
                self.rig.cut(link % links);
                self.cut = true;
            }
            _ => {}
        }
    }

    fn listen(&mut self) {
        self.initiator.listen(&mut self.rig);
        self.judge();
    }

    /// Compares the results of ended commands with the expected ones.
    fn judge(&mut self) {
        for (tag, end) in std::mem::take(&mut self.initiator.ended) {
            let (region, deed) = self.deeds.remove(&tag).expect("a command of ours");
            assert_eq!((end.status, end.residual), (0, Residual::None));
            let known = &mut self.model[region as usize];
            match (deed, known) {
                (Deed::Write(data), Some(known)) => known[..data.len()].copy_from_slice(&data),
                (Deed::Write(_), None) => {}
                (Deed::Read, Some(known)) => assert!(end.data == *known, "region {region}"),
                (Deed::Read, None) => assert_eq!(end.data.len(), blocks(REGION)),
            }
        }
        for tag in std::mem::take(&mut self.initiator.dropped) {
            let (region, deed) = self.deeds.remove(&tag).expect("a command of ours");
            if let Deed::Write(_) = deed {
                self.model[region as usize] = None;
            }
        }
    }

    fn finish(mut self) {
        self.rig.lazy = false;
        self.rig.grain = usize::MAX;
        if !self.cut {
            self.initiator.run(&mut self.rig);
            self.judge();
            assert!(self.initiator.is_idle() && self.deeds.is_empty(), "everything has ended");
            let memory = &self.rig.memory[&Lun::default()];
            for (region, known) in self.model.iter().enumerate() {
                let there = &memory[region * blocks(REGION)..][..blocks(REGION)];
                assert!(known.as_ref().is_none_or(|known| known == there), "region {region}");
            }
            assert_eq!(self.rig.session.tasks(), 0);
        }
        for link in 0..self.rig.links.len() {
            self.rig.cut(link);
        }
        self.rig.run();
        assert!(self.rig.over, "nothing is left");
        assert!(memory_is_quiet(&self.rig));
    }
}

/// The space behind all regions was never written.
fn memory_is_quiet(rig: &Rig) -> bool {
    let end = REGIONS as usize * usize::from(REGION) * BLOCK;
    rig.memory[&Lun::default()][end..].iter().all(|&byte| byte == 0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_interleaving_moves_every_byte_to_its_place(setup in setups(), steps in steps()) {
        let mut world = World::new(setup);
        for step in &steps {
            world.step(step);
        }
        world.finish();
    }
}
